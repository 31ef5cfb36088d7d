"""test blocks: scripted answers, scores and tools, and what is said of a test that fails."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang.mock_update import literal, with_mocks
from frontend_lang.modules import Module
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import MappingSource
from frontend_lang.testing import TestHost, TestOutcome, find_tests, record_async, run_tests, title_of
from frontend_lang.tools import tool
from scripted_programs import parsed, value_of

DEBATE = """
def pick(r: json) -> str { return if len(r.pro) >= len(r.con) then r.pro else r.con }
def debate(claim: str) -> str {
  user: Claim: @{claim}
  return fork {
    pro { user "Argue for it."; assistant gen t with max=80; yield t }
    con { user "Argue against it."; assistant gen u with max=80; yield u }
  } join pick
}
"""


def outcomes(source: str, host: TestHost | None = None) -> list[TestOutcome]:
    return run_tests(Module(parsed(source, "debate.rkv")), host=host)


def outcome(source: str, host: TestHost | None = None) -> TestOutcome:
    (only,) = outcomes(source, host)
    return only


def test_list_of_answers_is_used_up_in_the_order_in_which_gens_start() -> None:
    passed = outcome(
        DEBATE + 'test "longer" with mock=["short", "a longer reply"] { assert debate("x") == "a longer reply" }'
    )
    assert passed.ok
    assert (passed.title, passed.file, passed.line, passed.gens) == ("longer", "debate.rkv", 10, 2)
    assert passed.written == ("short", "a longer reply")


@pytest.mark.parametrize("key", ['"debate.gen1": "yes", u', "t: ['yes'], u", '"debate.gen1": ["yes"], t: 7, u'])
def test_record_of_answers_names_gens_by_site_or_name(key: str) -> None:
    assert outcome(DEBATE + f'test "t" with mock={{{key}: "no"}} {{ assert debate("x") == "yes" }}').ok


def test_one_answer_in_a_record_serves_every_gen_of_the_name() -> None:
    source = 'def f() -> str { "q"\ngen t\nreturn t }\ntest "t" with mock={t: "a"} { assert [f(), f()] == ["a", "a"] }'
    assert outcome(source).gens == 2


def test_answer_that_is_no_text_is_written_as_json() -> None:
    source = 'test "t" with mock=[{a: 1, b: [true]}, 7] { "q"\ngen r: {a: int, b: list[bool]}\ngen n: int\n'
    assert outcome(source + "assert r.a == 1 and r.b[0]; assert n == 7 }").error is None


def test_answer_that_the_type_does_not_allow_says_which_one_and_why() -> None:
    failed = outcome('test "t" with mock=["1", "seven"] { "q"\ngen a: int\ngen n: int(max=9) }')
    assert failed.error.code == "E0601"
    assert failed.error.message.startswith("answer 2 of the script, 'seven', is not ")


def test_too_few_answers_and_answers_for_other_gens() -> None:
    failed = outcome('test "t" with mock=["a"] { "q"\ngen a\ngen b }')
    assert (failed.error.code, failed.error.span.line) == ("E0601", 2 + 1)
    assert failed.error.message == "the test's mock has 1 items, but another one is asked for"
    failed = outcome('test "t" with mock={x: "a"} { "q"\ngen a\ngen x }')
    assert failed.error.message == "no mock for gen `a` at site `test1.gen1`; there is `x`"


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        ('mock={aa: "x"}', "E0303", "mock names `aa`, and there is no such gen"),
        ('mock={a: "x", f.gen2: "y"}'.replace("f.gen2", '"f.gen2"'), "E0303", "names `f.gen2`"),
        ("mock=['x'], tools={lok: 1}".replace("'", '"'), "E0303", "tools names `lok`, and there is no such tool"),
        ('mock=["x", "y", "z"]', "E0601", "the test's mock has 3 items, of which 1 were used"),
        ('mock={a: ["x", "y"]}', "E0601", "the test's mock of `a` has 2 items, of which 1 were used"),
        ('mock=["x"], tools={look: [1, 2]}', "E0601", "tool `look` has 2 items, of which 1 were used"),
        ('mock=["x"], scores={no: 1, noo: 2}', "E0601", "name 'noo', which no select had as an option; options: 'no'"),
        ('mock=["x"], scores=["no", "yes"]', "E0601", "scores has 2 items, of which 1 were used"),
    ],
)
def test_what_a_test_names_in_vain_or_gives_too_much_of_fails_it(options: str, code: str, said: str) -> None:
    @tool
    def look() -> int:
        return 1

    program = 'tool look() -> int\ndef f() { "q"\ngen a\nselect s from ["no", "yes"]\nreturn s }\n'
    failed = outcome(f'{program}test "t" with {options} {{\nassert f() == "no"\nlook() }}', TestHost(tools=[look]))
    assert failed.error is not None
    assert (failed.error.code, failed.error.span.line) == (code, 6)
    assert said in failed.error.message
    assert code == "E0601" or "`a`, `f.gen1`" in failed.error.hint or "`look`" in failed.error.hint


def test_failing_assert_is_placed_in_the_test() -> None:
    failed = outcome('test "sum" {\n  assert 1 + 1 == 3\n}')
    assert not failed.ok
    assert (failed.error.code, failed.error.file, failed.error.span.line) == ("E0604", "debate.rkv", 2)


def test_check_that_does_not_hold_fails_the_test_which_goes_on() -> None:
    failed = outcome('test "t" with mock=["a"] { check 1 == 2, "one"\ncheck true\n"q"\ngen a }')
    assert (failed.ok, failed.error, failed.gens) == (False, None, 1)
    assert [check["ok"] for check in failed.checks] == [False, True]


def test_scores_choose_what_select_finds() -> None:
    source = 'def f() -> str { "q"\nselect x from ["yes", "no"]\nreturn x }\n'
    assert outcome(source + 'test "t" { assert f() == "yes" }').ok
    assert outcome(source + 'test "t" with scores={no: 1.5} { assert f() == "no" }').ok
    assert outcome(
        source + 'test "t" with scores=["no", "yes"] { let a = f()\nassert a == "no"\nassert f() == "yes" }'
    ).ok
    assert "options are 'yes', 'no'" in outcome(source + 'test "t" with scores=["maybe"] { f() }').error.message


def test_tools_are_mocked_or_the_hosts_or_missing_only_where_they_are_called() -> None:
    source = 'tool wiki(q: str) -> str\ndef f() -> str { return wiki("a") }\n'

    @tool
    def wiki(q: str) -> str:
        return q * 3

    assert outcome(source + 'test "t" with tools={wiki: ["x", "y"]} { assert f() + f() == "xy" }').ok
    assert outcome(source + 'test "t" { assert f() == "aaa" }', TestHost(tools=[wiki])).ok
    assert outcome(source + 'test "t" { assert 1 == 1 }').ok
    failed = outcome(source + 'test "t" { f() }')
    assert (failed.error.code, failed.error.span.line) == ("E0704", 2)
    assert "with tools={wiki: …} it does" in failed.error.message


def test_seed_and_data_reach_the_run() -> None:
    host = TestHost(MappingSource({"x.txt": "text"}))
    assert outcome('test "t" { assert read("x.txt") == "text" }', host).ok


@pytest.mark.parametrize(
    ("options", "code"),
    [("mock=1", "E0402"), ("scores=[1]", "E0402"), ("seed=-1", "E0402"), ("tools=[]", "E0402"), ("mocks=[]", "E0303")],
)
def test_bad_option_is_an_error_at_the_option(options: str, code: str) -> None:
    failed = outcome(f'test "t" with {options} {{ }}')
    assert (failed.error.code, failed.error.span.col, failed.error.file) == (code, 15, "debate.rkv")


def test_options_are_expressions_and_may_call_defs() -> None:
    source = 'def many(n: int) -> list[str] { return ["a" for i in range(n)] }\n'
    assert outcome(source + 'test "t" with mock=many(2) + ["b"] { "q"\ngen x\ngen y\ngen z\nassert z == "b" }').ok


def test_tests_run_apart_and_are_found_by_title() -> None:
    source = 'test "First" with mock=["a"] { "q"\ngen a }\ntest "second" { assert true }\ntest "bad" { fail "x" }'
    assert [result.ok for result in outcomes(source)] == [True, True, False]
    module = Module(parsed(source))
    assert [title_of(test) for test in find_tests(module, "FIRST")] == ["First"]
    assert [result.title for result in run_tests(module, find_tests(module, "s"))] == ["First", "second"]


def test_tests_are_no_part_of_a_run() -> None:
    assert value_of('test "t" { fail "x" }\nreturn 1') == 1


def test_live_test_generates_instead_of_its_mock() -> None:
    live = ScriptedRuntime(lambda prompt, call: "LIVE")
    source = 'test "t" with mock=["a"] { "q"\ngen a\nassert a == "LIVE" }'
    assert outcome(source, TestHost(live=live)).written == ("LIVE",)


def test_recorded_answers_mock_the_same_run_though_gens_started_in_another_order() -> None:
    source = """test "t" with mock=[] {
  "q"
  let r = fork 2 as i { "@{i}"; gen a; gen b; yield [a, b] }
  check r == [["0-", "00--"], ["1-", "11--"]]
}
"""

    def delay(verb: str, context: str) -> float:
        return 0.02 if verb == "delta" and live.context_text(context).startswith("q0") else 0  # type: ignore[arg-type]

    live = ScriptedRuntime(lambda prompt, call: prompt[1:] + "-", delay=delay)
    module = Module(parsed(source))
    (test,) = find_tests(module)
    seen, answers = asyncio.run(record_async(module, test, TestHost(live=live)))
    assert (seen.ok, seen.written) == (True, ("0-", "1-", "11--", "00--"))
    updated = with_mocks(source, [(test, answers)])
    (again,) = run_tests(Module(parsed(updated)))
    assert (again.ok, again.written) == (True, ("0-", "1-", "00--", "11--"))


def test_updated_source_differs_in_the_mocks_alone() -> None:
    source = (
        '\ufeff# a comment\r\ntest "a" with seed=1, mock=[ "old" ] { }\r\n\r\n'
        'test "b"  { }\r\ntest "é" with  seed=2 { "x" }\r\n# end'
    )
    tests = find_tests(Module(parsed(source)))
    assert with_mocks(source, [(test, ["x", 'say "@{hi}"\n']) for test in tests]) == (
        '\ufeff# a comment\r\ntest "a" with seed=1, mock=["x", "say \\"@@{hi}\\"\\n"] { }\r\n\r\n'
        'test "b" with mock=["x", "say \\"@@{hi}\\"\\n"]  { }\r\n'
        'test "é" with  mock=["x", "say \\"@@{hi}\\"\\n"], seed=2 { "x" }\r\n# end'
    )
    assert with_mocks(source, []) == source


@given(st.text())
def test_written_text_is_read_again_as_it_was(text: str) -> None:
    assert value_of(f"return {literal(text)}") == text
