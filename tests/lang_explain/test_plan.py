"""What a plan says about programs, token for token on the scripted runtime's rule: a word is a token."""

from __future__ import annotations

from typing import Any

import pytest

from frontend_lang import ProgramError
from frontend_lang.explain import Plan, PlannedSite, explain
from frontend_lang.linking import link
from frontend_lang.sources import MappingSource
from word_counter import WordCounter

SOLVE = """def solve(q: str) -> int {
  user "@{q}\\nThink step by step. End with 'Answer: <integer>'."
  return fork 8 with temp=0.8 {
    assistant { gen why with max=300, stop="Answer:"; "Answer: "; gen a: int with max=6 }
    yield a
  } join vote
}"""


def plan_of(source: str, args: Any = None, **settings: Any) -> Plan:
    files = MappingSource(settings.pop("files", {}))
    linked = link(source, "program.rkv", files)
    assert linked.module is not None, linked.diagnostics
    return explain(linked.module, args, counter=WordCounter(), data=files, **settings)


def row(plan: Plan, site: str, op: str = "") -> PlannedSite:
    found = [each for each in plan.sites if each.site == site and each.op.startswith(op)]
    assert len(found) == 1, found
    return found[0]


def shown(site: PlannedSite) -> tuple[str, str, str, str]:
    return site.op, site.path, str(site.prefix), str(site.new)


def test_a_fork_is_one_row_whose_prefix_is_computed_once() -> None:
    plan = plan_of(SOLVE, {"q": "17*23?"})
    assert [shown(site) for site in plan.sites] == [
        ("open", "solve", "0", "11"),
        ("fork ×8 (temp 0.8)", "solve[0..7]", "11", "0"),
        ("gen why max=300", "solve[i]", "12", "≤300"),
        ("gen a: int max=6", "solve[i]", "≤314", "≤6"),
        ("join vote", "solve", "11", "0"),
    ]
    fork, gen, join = row(plan, "solve.fork1", "fork"), row(plan, "solve.gen1"), row(plan, "solve.fork1", "join")
    assert fork.note == "prefill 11 once, not 88"
    assert (gen.shared_with, str(gen.shared), str(gen.times)) == ("solve.fork1", "11", "8")
    assert join.note == "cancels when decided"


def test_totals_of_a_fork() -> None:
    totals = plan_of(SOLVE, {"q": "17*23?"}).totals
    assert str(totals.decode) == "≤2 448"
    assert str(totals.branches) == "≤8"
    assert str(totals.gens) == "≤16"
    assert totals.critical_path == 2
    assert str(totals.kv_peak) == f"≤{11 + 8 * (1 + 300 + 2 + 6):,}".replace(",", " ")


def test_a_missing_argument_makes_lengths_unknown_and_no_more() -> None:
    plan = plan_of(SOLVE)
    assert plan.missing == ("q",)
    assert [str(site.prefix) for site in plan.sites] == ["0", "?", "?", "?", "?"]
    assert str(plan.totals.decode) == "≤2 448"
    assert str(row(plan, "solve.gen1").prefill) == "1"  # the assistant's border, whatever came before


def test_rounds_of_a_loop_are_one_row() -> None:
    plan = plan_of('for q in ["one", "two words"] { user q; assistant gen a with max=5 }')
    gen = row(plan, "gen1")
    assert (str(gen.prefix), str(gen.prefix_most), str(gen.times)) == ("4", "≤15", "2")
    assert plan.totals.critical_path == 2


def test_independent_calls_overlap_on_the_critical_path() -> None:
    source = """def f(x: str) -> str { user x; assistant gen a with max=5; return a }
let a = f("one")
let b = f("two")
let c = f("@{a} @{b}")
return c"""
    plan = plan_of(source)
    assert plan.totals.critical_path == 2
    assert str(plan.totals.gens) == "≤3"


def test_a_strict_use_makes_what_follows_wait() -> None:
    source = """def f(x: str) -> str { user x; assistant gen a with max=5; return a }
let a = f("one")
if a == "x" { "y" }
let b = f("two")
return b"""
    assert plan_of(source).totals.critical_path == 2


def test_a_condition_that_is_not_known_takes_both_sides_and_the_dearest_counts() -> None:
    plan = plan_of(
        '"P"; gen a with max=3; if a == "x" { gen b with max=10 } else { gen c with max=7 }; gen d with max=1'
    )
    assert [row(plan, site).notes for site in ("gen1", "gen2", "gen3", "gen4")] == [(), ("maybe",), ("maybe",), ()]
    assert str(plan.totals.decode) == "≤14"
    assert str(row(plan, "gen4").prefix) == "≤14"


def test_a_known_condition_takes_one_side() -> None:
    plan = plan_of('param deep: bool = false\n"P"; if deep { gen b } else { gen c with max=7 }')
    assert [site.site for site in plan.sites if site.site] == ["gen2"]
    assert str(plan.totals.decode) == "≤7"


def test_recursion_is_shown_once_and_said_to_be_unbounded() -> None:
    source = """def f(x: str) -> str { user x; assistant gen a with max=5
if a == "again" { return f(a) }
return a }"""
    plan = plan_of(source, {"x": "P"}, entry="f")
    assert row(plan, "f.call1").notes == ("calls itself: unbounded", "maybe")
    assert str(plan.totals.decode) == "?"


def test_recursion_with_known_arguments_is_followed() -> None:
    source = 'def f(n: int) -> int { if n == 0 { return 0 }; user "@{n}"; assistant gen a with max=5; return f(n - 1) }'
    plan = plan_of(source, {"n": 4}, entry="f")
    assert str(plan.totals.decode) == "≤20"


def test_keep_makes_the_winner_part_of_the_parent() -> None:
    plan = plan_of('"P"; fork 3 { gen a with max=9 } join best by len(a) keep; gen b with max=1')
    assert "adopts winner" in row(plan, "fork1", "join").notes
    assert str(row(plan, "gen2").prefix) == "≤10"
    assert str(row(plan, "gen2").prefill) == "≤1"  # only the last sampled token


def test_tries_of_until_are_counted() -> None:
    plan = plan_of('"P"; gen a with max=9, tries=4 until a == "x"')
    assert row(plan, "gen1").notes == ("until: ≤4 tries",)
    assert str(plan.totals.decode) == "≤36"
    assert str(plan.totals.gens) == "≤4"


def test_masks_of_typed_gens_are_shown() -> None:
    plan = plan_of('"P"; gen a: "x" | "y"; gen b: {n: int}; gen c: re\'a+\'')
    notes = [row(plan, site).notes for site in ("gen1", "gen2", "gen3")]
    assert notes == [("mask: one of 2 texts",), ("mask: JSON schema",), ("mask: a+",)]


def test_map_over_a_file_counts_its_rows() -> None:
    files = {"dev.jsonl": '{"t": "one"}\n{"t": "two words"}\n'}
    plan = plan_of('let x = map r in jsonl("dev.jsonl") { user r.t; assistant gen a with max=3; yield a }', files=files)
    assert shown(row(plan, "map1")) == ("map ×2", "main[0..1]", "0", "0")
    assert (str(row(plan, "gen1").prefix), str(row(plan, "gen1").prefix_most)) == ("4", "5")
    assert str(plan.totals.branches) == "≤2"


def test_a_list_that_is_not_known_makes_one_row_of_unknown_times() -> None:
    plan = plan_of('"P"; gen a with max=8; fork p in split(a, "x") { gen b with max=2 }')
    assert row(plan, "fork1", "fork").op == "fork ×?"
    assert str(row(plan, "gen2").times) == "?"
    assert str(plan.totals.decode) == "?"


def test_contexts_with_a_common_head_share_it() -> None:
    head = " ".join(f"w{index}" for index in range(30))
    source = (
        f'def f(x: str) -> str {{ "{head} @{{x}}"; gen a with max=2; return a }}\nlet a = f("one"); let b = f("two")'
    )
    opened = [site for site in plan_of(source).sites if site.op == "open"]
    assert [(site.shared_with, str(site.shared), str(site.times)) for site in opened] == [("f.gen1", "30", "2")]


def test_a_program_that_fails_for_certain_is_planned_up_to_there() -> None:
    plan = plan_of('"P"; gen a with max=8; let n = int("x"); gen b')
    assert [site.site for site in plan.sites if site.site] == ["gen1"]
    assert "E0406" in plan.warnings[0]


def test_a_caught_failure_goes_on_with_the_handler() -> None:
    plan = plan_of('"P"; try { fail "no" } catch e { gen b with max=3 }')
    assert plan.warnings == ()
    assert str(plan.totals.decode) == "≤3"


def test_tools_are_rows_and_what_they_give_is_unknown() -> None:
    plan = plan_of('tool wiki(q: str) -> str\n"P"; let a = wiki("x"); "@{a}"; gen b with max=3')
    assert row(plan, "call1").op == "tool wiki"
    assert str(row(plan, "gen1").prefix) == "?"


def test_imported_defs_are_walked_in_their_own_module() -> None:
    files = {"lib.rkv": 'def g() -> str { user "hi"; assistant gen a with max=4; return a }'}
    plan = plan_of('import "lib.rkv" as lib\nlet x = lib.g()', files=files)
    assert shown(row(plan, "g.gen1")) == ("gen a max=4", "main.g", "4", "≤4")


def test_loops_of_many_rounds_are_not_walked_one_by_one() -> None:
    source = "for a in range(900) { for b in range(900) { for c in range(900) { line 'x' } } }\ngen z with max=2"
    assert str(plan_of(source).totals.decode) == "≤2"


@pytest.mark.parametrize(
    ("args", "entry", "code"), [({"nope": 1}, "f", "E0307"), ({"n": "x"}, "f", "E0406"), ({}, "g", "E0306")]
)
def test_arguments_and_entries_that_do_not_fit_are_errors(args: Any, entry: str, code: str) -> None:
    with pytest.raises(ProgramError) as caught:
        plan_of("def f(n: int) -> int { return n }", args, entry=entry)
    assert caught.value.code == code


def test_the_json_form_has_every_number_with_its_certainty() -> None:
    plan = plan_of(SOLVE, {"q": "17*23?"}).to_dict()
    assert set(plan) == {"sites", "totals", "missing", "warnings"}
    assert plan["sites"][3]["prefix"] == {"count": 314, "certainty": "bound"}  # type: ignore[index]
    assert plan["totals"]["critical_path"] == 2  # type: ignore[index]
