"""Limits of the source itself, and limits of a run that are seen to be broken where a program writes it out."""

from __future__ import annotations

import pytest

from frontend_lang.checking import CheckReport, check_source
from frontend_lang.sources import MappingSource
from frontend_lang.syntax.limits import MAX_NESTING, MAX_SOURCE_BYTES


def codes(report: CheckReport) -> list[str]:
    return [found.code for found in report.diagnostics if found.severity == "error"]


@pytest.mark.parametrize(
    ("head", "opening", "inner", "closing", "tail"),
    [
        # blocks
        ("", "if true { ", "", "}", ""),
        ("", "if true { } else { ", "", "}", ""),
        ("", "repeat 1 { ", "", "}", ""),
        ("", "for x in [1] { ", "", "}", ""),
        ("", "fork 1 { ", "", "}", ""),
        ("", "fork y in [1] { ", "", "}", ""),
        ("", "fork { arm { ", "", "} }", ""),
        ("", "map x in [1] { ", "", "}", ""),
        ("", "let v = map x in [1] { ", "", "}", ""),
        ("", "try { ", "", "} catch e { }", ""),
        ("", "try { } catch e { ", "", "}", ""),
        # expressions
        ("let a = ", "[", "1", "]", ""),
        ("let a = ", "{k: ", "1", "}", ""),
        ("let a = ", "not ", "true", "", ""),
        ("let a = ", "-", "1", "", ""),
        ("let a = ", "len(", "'x'", ")", ""),
        ("let a = ", "1 + (", "1", ")", ""),
        ("let a = ", "1 == (", "1", ")", ""),
        ("let a = ", "true and (", "true", ")", ""),
        ("let a = ", "if true then 1 else (", "1", ")", ""),
        ("let a = ", "[x for x in ", "[1]", "]", ""),
        ("let b = [1]\nlet a = b", "[0]", "", "", ""),
        ("let b = [1]\nlet a = b", "[0:1]", "", "", ""),
        ("let b = {c: 1}\nlet a = b", ".c", "", "", ""),
        ("gen a until ", "not ", "true", "", ""),
        ("assert ", "not ", "true", "", ""),
        ("test 't' { assert ", "not ", "true", "", " }"),
        # types
        ("type T = ", "list[", "int", "]", ""),
        ("type T = ", "{k: ", "int", "}", ""),
        ("type T = ", "list(of=", "int", ")", ""),
        ("param p: ", "list[", "int", "]", " = none"),
        ("tool f(a: ", "list[", "int", "]", ")"),
    ],
)
def test_r164_every_construct_nests_deeply_with_one_clean_error(head, opening, inner, closing, tail):
    def nested(depth: int) -> CheckReport:
        return check_source(head + opening * depth + inner + closing * depth + tail, "x.rkv")

    assert "E0502" not in codes(nested(MAX_NESTING // 3))
    for depth in (MAX_NESTING + 1, 1500):
        report = nested(depth)
        assert codes(report) == ["E0502"]
        assert "^" in report.shown(report.diagnostics[0])


def test_r164_deep_interpolation_is_one_clean_error():
    source = 'text "@{' + "[" * 100 + "1" + "]" * 100 + '}"'
    assert codes(check_source(source)) == ["E0502"]


@pytest.mark.parametrize(
    "source",
    [
        "let a = [" + ", ".join("1" * 20_000) + "]",
        "let a = {" + ", ".join(f"k{i}: 1" for i in range(5_000)) + "}",
        "let a = min(" + ", ".join("1" * 20_000) + ")",
        "type T = " + " | ".join(f"'{i}'" for i in range(5_000)),
        "\n".join(f"let a{i} = 1" for i in range(10_000)),
        "\n".join(f"def f{i}() {{ return 1 }}" for i in range(5_000)),
        "fork { " + " ".join(f"a{i} {{ yield 1 }}" for i in range(3_000)) + " }",
        "if true { }" + " elif true { }" * 5_000,
        'text "' + "@{1}" * 20_000 + '"',
        '"' + "x" * 250_000 + '"',
        "# c\n" * 60_000,
        "\n" * 200_000,
        ";" * 50_000,
    ],
    ids=lambda source: source[:20].replace("\n", " "),
)
def test_r164_wide_programs_work(source):
    assert codes(check_source(source)) == []


def test_a_source_has_at_most_256_kib():
    assert codes(check_source("#" * MAX_SOURCE_BYTES)) == []
    assert codes(check_source("#" * (MAX_SOURCE_BYTES + 1))) == ["E0501"]
    assert codes(check_source("#" + "é" * (MAX_SOURCE_BYTES // 2))) == ["E0501"]
    modules = MappingSource({"big.rkv": "#" * (MAX_SOURCE_BYTES + 1)})
    assert codes(check_source('import "big.rkv" as b', modules=modules)) == ["E0501"]


@pytest.mark.parametrize(
    ("within", "beyond", "code"),
    [
        ("gen a with max=4096", "gen a with max=4097", "E0401"),
        ("set max=4096", "set max=4097", "E0401"),
        ("fork 2 with max=4096 { gen a }", "fork 2 with max=4097 { gen a }", "E0401"),
        ("map x in [1] with max=4096 { gen a }", "map x in [1] with max=4097 { gen a }", "E0401"),
        ("repeat 1000 { }", "repeat 1001 { }", "E0503"),
        ("for x in range(1000) { }", "for x in range(1001) { }", "E0503"),
        ("fork 4096 { }", "fork 4097 { }", "E0503"),
        ("fork x in range(4096) { }", "fork x in range(4097) { }", "E0503"),
        ("let a = 999999999999999999", "let a = 1999999999999999999", "E0503"),
        ("gen a with tries=1000", "gen a with tries=1001", "E0401"),
        ("gen a with timeout=24h", "gen a with timeout=25h", "E0401"),
        ("gen a with temp=100", "gen a with temp=101", "E0401"),
    ],
)
def test_a_number_that_is_written_out_is_held_to_its_limit(within, beyond, code):
    assert codes(check_source(within)) == []
    assert codes(check_source(beyond)) == [code]
