"""Imports: where files are looked up, what is shared, what is reported and in which file."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontend_lang import ProgramRejected
from frontend_lang.api import load
from frontend_lang.checking import CheckReport, check_source
from frontend_lang.linking import MAX_IMPORT_DEPTH, MAX_MODULES, link
from frontend_lang.sources import FolderSource, MappingSource

LIB = "type Label = 'a' | 'b'\ntool wiki(q)\ndef f(x, y=1) { return x }\nparam hidden = 1\n"


def check(source: str, modules: dict[str, str] | None = None, file: str = "main.rkv") -> CheckReport:
    return check_source(source, file, modules=MappingSource(modules or {}))


def codes(report: CheckReport) -> list[tuple[str, str, int]]:
    return [(found.file, found.code, found.line) for found in report.diagnostics]


# --- what linking gives ---


def test_an_alias_leads_to_the_module_with_its_defs_tools_and_types():
    linked = link('import "lib.rkv" as lib', "main.rkv", MappingSource({"lib.rkv": LIB}))
    assert linked.diagnostics == ()
    assert linked.module is not None
    lib = linked.module.imports["lib"]
    assert (list(lib.defs), list(lib.tools), list(lib.type_definitions)) == (["f"], ["wiki"], ["Label"])
    assert linked.sources == {"main.rkv": 'import "lib.rkv" as lib', "lib.rkv": LIB}


def test_a_path_is_relative_to_the_folder_of_the_file_that_imports():
    modules = {
        "deep/a.rkv": 'import "b.rkv" as b\nimport "../c.rkv" as c\ndef f() { return b.f() + c.f() }',
        "deep/b.rkv": "def f() { return 1 }",
        "c.rkv": "def f() { return 2 }",
    }
    report = check('import "deep/a.rkv" as a\nreturn a.f()', modules)
    assert report.ok, report.diagnostics
    assert set(report.sources) == {"main.rkv", "deep/a.rkv", "deep/b.rkv", "c.rkv"}


def test_the_same_file_is_one_module_however_it_is_written():
    modules = {"x.rkv": "def f() { return 1 }", "d/y.rkv": 'import "../x.rkv" as x\ndef g() { return x.f() }'}
    linked = link(
        'import "x.rkv" as a\nimport "./d/../x.rkv" as b\nimport "d/y.rkv" as y', "m.rkv", MappingSource(modules)
    )
    assert linked.module is not None
    imports = linked.module.imports
    assert imports["a"] is imports["b"] is imports["y"].imports["x"]


def test_a_module_is_named_as_seen_from_where_the_program_was_named(tmp_path: Path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.rkv").write_text("let x = y", "utf-8")
    file = str(tmp_path / "main.rkv")
    report = check_source('import "lib/a.rkv" as a', file, modules=FolderSource(tmp_path))
    assert codes(report) == [(str(tmp_path / "lib" / "a.rkv"), "E0301", 1)]


def test_schema_files_are_read_where_the_module_lies():
    modules = {"d/lib.rkv": "type T = schema(file='t.json')", "d/t.json": '{"type": "integer"}'}
    linked = link('import "d/lib.rkv" as lib', "m.rkv", MappingSource(modules))
    assert linked.module is not None
    assert linked.module.imports["lib"].schemas == {"t.json": '{"type": "integer"}'}


def test_load_gives_the_linked_module():
    module = load('import "lib.rkv" as lib\nreturn lib.f(1)', modules=MappingSource({"lib.rkv": LIB}))
    assert list(module.imports) == ["lib"]


# --- what goes wrong with the files ---


@pytest.mark.parametrize(
    ("source", "modules", "code", "words"),
    [
        ('import "lib" as lib', {"lib.rkv": LIB}, "E0703", 'did you mean "lib.rkv"?'),
        ('import "x.rkv" as x', {"lib.rkv": LIB}, "E0703", "what there is: lib.rkv"),
        ('import "../x.rkv" as x', {}, "E0703", "climbs out"),
        ('import "/etc/passwd" as x', {}, "E0703", "paths are relative"),
        ('import "C:\\\\x" as x', {}, "E0703", "paths are relative"),
        ('import "" as x', {}, "E0703", "paths are relative"),
        ('import "." as x', {}, "E0703", "cannot open"),
        ('import "@{1}.rkv" as x', {}, "E0402", "written out"),
        ("type T = schema(file='t.json')", {}, "E0703", "what there is: none"),
    ],
)
def test_a_file_that_is_not_given_is_an_error_at_the_path(source, modules, code, words):
    found = next(item for item in check(source, modules).diagnostics if item.code == code)
    assert words in f"{found.message} {found.hint}"
    assert source[found.col - 1] in "\"'"


def test_a_host_without_files_says_so():
    (found,) = check_source('import "x.rkv" as x\nreturn x.f(1)').diagnostics
    assert (found.code, found.line) == ("E0703", 1)
    assert "gives programs no files" in found.message


def test_files_of_a_folder_are_utf8_text_within_it(tmp_path: Path):
    inner = tmp_path / "inner"
    inner.mkdir()
    (tmp_path / "secret.rkv").write_text("def f() { return 1 }", "utf-8")
    (inner / "link.rkv").symlink_to(tmp_path / "secret.rkv")
    (inner / "latin.rkv").write_bytes(b"# caf\xe9\n")
    (inner / "marked.rkv").write_bytes(b"\xef\xbb\xbfdef f() { return 1 }\r\n")
    source = 'import "link.rkv" as a\nimport "latin.rkv" as b\nimport "marked.rkv" as c\nreturn c.f()'
    report = check_source(source, "main.rkv", modules=FolderSource(inner))
    assert codes(report) == [("main.rkv", "E0703", 1), ("main.rkv", "E0703", 2)]
    assert ["leads out of" in report.diagnostics[0].message, "not UTF-8" in report.diagnostics[1].message] == [True] * 2


@pytest.mark.parametrize(
    ("modules", "ring"),
    [
        ({"a.rkv": 'import "a.rkv" as a'}, "a.rkv -> a.rkv"),
        ({"a.rkv": 'import "main.rkv" as m'}, "main.rkv -> a.rkv -> main.rkv"),
        ({"a.rkv": 'import "d/b.rkv" as b', "d/b.rkv": 'import "../a.rkv" as a'}, "a.rkv -> d/b.rkv -> a.rkv"),
    ],
)
def test_a_circle_of_imports_is_shown_as_a_ring(modules, ring):
    (found,) = check('import "a.rkv" as a', modules).diagnostics
    assert found.code == "E0308"
    assert found.message.endswith(f"in a circle: {ring}")


def test_imports_nest_so_deep_and_not_deeper():
    modules = {f"m{i}.rkv": f'import "m{i + 1}.rkv" as m' for i in range(1, MAX_IMPORT_DEPTH + 1)}
    last = f"m{MAX_IMPORT_DEPTH}.rkv"
    assert codes(check('import "m1.rkv" as m', {**modules, last: ""})) == []
    modules[f"m{MAX_IMPORT_DEPTH + 1}.rkv"] = ""
    assert codes(check('import "m1.rkv" as m', modules)) == [(last, "E0308", 1)]


def test_a_program_has_so_many_modules_and_not_more():
    modules = {f"m{i}.rkv": "" for i in range(MAX_MODULES)}
    lines = [f'import "m{i}.rkv" as m{i}' for i in range(MAX_MODULES)]
    assert codes(check("\n".join(lines[: MAX_MODULES - 1]), modules)) == []
    assert codes(check("\n".join(lines), modules)) == [("main.rkv", "E0308", MAX_MODULES)]


def test_each_module_has_the_size_limit_of_a_program():
    report = check('import "big.rkv" as big', {"big.rkv": "#" * 300_000})
    assert codes(report) == [("big.rkv", "E0501", 1)]


# --- errors in the modules ---


def test_mistakes_of_a_module_are_reported_in_its_own_file_and_nothing_misleads_in_the_importer():
    modules = {"bad.rkv": "def f( { }", "wrong.rkv": "# x\ndef g() { return y }"}
    source = 'import "bad.rkv" as bad\nimport "wrong.rkv" as wrong\nlet a = bad.f(1) + bad.x\nlet b: bad.T = wrong.g()'
    report = check(source, modules)
    assert codes(report) == [("bad.rkv", "E0201", 1), ("wrong.rkv", "E0301", 2)]
    assert [report.shown(found).split("\n")[2] for found in report.diagnostics] == [
        " 1 | def f( { }",
        " 2 | def g() { return y }",
    ]


def test_what_is_wrong_in_the_program_itself_comes_first():
    report = check('let a = b\nimport "x.rkv" as x\nimport "y.rkv" as y\nlet c = d', {"x.rkv": "let e = f"})
    assert [(file, line) for file, _, line in codes(report)] == [
        ("main.rkv", 1),
        ("main.rkv", 3),
        ("main.rkv", 4),
        ("x.rkv", 1),
    ]
    with pytest.raises(ProgramRejected) as caught:
        load("import 'x.rkv' as x", modules=MappingSource({"x.rkv": "let e = f"}))
    assert (caught.value.file, caught.value.sources["x.rkv"]) == ("x.rkv", "let e = f")


def test_a_module_may_have_statements_and_several_defs_without_an_entry():
    modules = {"lib.rkv": "def f() { return 1 }\ndef g() { return 2 }"}
    assert load('import "lib.rkv" as lib\nreturn lib.f()', modules=MappingSource(modules))


# --- what an import offers ---


@pytest.mark.parametrize(
    ("use", "code", "words"),
    [
        ("return lib.f()", "E0307", "it is lib.f(x, y=…)"),
        ("return lib.f(1, 2, 3)", "E0307", "`lib.f` takes 2 arguments"),
        ("return lib.f(1, z=2)", "E0307", "known: x, y"),
        ("return lib.ff(1)", "E0317", "did you mean `f`?"),
        ("return lib.hidden", "E0317", "imports give def, type and tool"),
        ("return lib.f", "E0304", "call it: lib.f(…)"),
        ("return lib.Label", "E0304", "is a type, not a value"),
        ("return lib.Label(1)", "E0304", "is a type"),
        ("return lib", "E0304", "is an import, not a value"),
        ("return lib(1)", "E0304", "cannot be called"),
        ("lib = 1", "E0305", "is an import"),
        ("let lib = 1", "E0302", "rename one"),
        ("return lob.f(1)", "E0301", "did you mean `lib`"),
        ("let a: lib.Labl = 'a'", "E0317", "did you mean `Label`?"),
        ("let a: lob.Label = 'a'", "E0301", "did you mean `lib`?"),
        ("use lib.f()", "E0307", "needs an argument `x`"),
        ('import "lib.rkv" as lib', "E0302", "line 1"),
        ('if true { import "lib.rkv" as b }', "E0206", "top level"),
        ("def g(lib) { return lib.f(1) }", "E0304", "only a def"),
    ],
)
def test_what_a_program_takes_from_an_import_is_checked(use, code, words):
    (found,) = check(f'import "lib.rkv" as lib\n{use}', {"lib.rkv": LIB}).diagnostics
    assert (found.code, found.line) == (code, 2)
    assert words in f"{found.message} {found.hint}"


@pytest.mark.parametrize(
    "use",
    [
        "return lib.f(1, y=2)",
        "def g(a: lib.Label) -> list[lib.Label] { return lib.f(a) }",
        "use lib.f(1)",
        "return lib.wiki('x')",
        "type Mine = {a: lib.Label | none}",
        "def g(lib) { return lib.x }",
        "map x in [1] { yield lib.f(x) }",
        "fork 2 { user: hi\n assistant gen a\n } join best by lib.f(a)",
        "test 't' { assert lib.f(1) == 1 }",
        'user "@{lib.f(1)}"',
    ],
)
def test_what_an_import_offers_can_be_used_everywhere(use):
    assert codes(check(f'import "lib.rkv" as lib\n{use}', {"lib.rkv": LIB})) == []


def test_the_worst_case_counts_what_imported_defs_do():
    modules = {"lib.rkv": "def f() { gen a with max=10; return g() }\ndef g() { fork 2 { gen b with max=1 } }"}
    report = check('import "lib.rkv" as lib\nlet a = [lib.f() for i in range(3)]', modules)
    assert report.worst_case is not None
    assert report.worst_case.to_dict() == {"branches": 6, "tokens": 36}
    report = check('import "lib.rkv" as lib\ndef h() { lib.f(); h() }\nh()', modules)
    assert report.worst_case is not None
    assert report.worst_case.to_dict() == {"branches": None, "tokens": None}


def test_set_reaches_an_imported_def_that_is_used_and_not_one_that_is_called():
    modules = {"lib.rkv": "def f() { gen a }"}
    for statement, tokens in (("use lib.f()", 5), ("lib.f()", 256)):
        report = check(f'import "lib.rkv" as lib\nset max=5\n{statement}', modules)
        assert report.worst_case is not None
        assert report.worst_case.tokens == tokens
