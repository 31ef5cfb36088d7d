"""A plan agrees with what runs do: exact numbers are met, bounds hold."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontend_lang import Event, run
from frontend_lang.explain import Certainty, Plan, PlannedSite, Tokens, explain
from frontend_lang.linking import link
from frontend_lang.modules import Module
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from frontend_lang.sources import FolderSource
from word_counter import WordCounter

EXAMPLES = Path(__file__).parents[2] / "examples"
ESSAY = (EXAMPLES / "essay.txt").read_text(encoding="utf-8")


def module_of(source: str, file: str = "program.rkv") -> Module:
    linked = link(source, file, FolderSource(EXAMPLES))
    assert linked.module is not None, linked.diagnostics
    return linked.module


def answer(prompt: str, call: ScriptedCall) -> str:
    """A few words, as the prompt decides."""
    return " ".join(["word"] * (len(prompt) % 7))


@dataclass
class Seen:
    """What a run did: prompt lengths of gens by site and path with its indices as i, and totals."""

    prompts: dict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))
    branches: int = 0

    def __call__(self, event: Event) -> None:
        if event.event == "gen.end":
            usage = event.data["usage"]
            assert isinstance(usage, dict)
            self.prompts[str(event.data["site"]), alike(event.path)].append(int(usage["prompt_tokens"]))
        if event.event == "branch.end":
            self.branches += 1


def alike(path: str) -> str:
    return re.sub(r"\[\d+\]", "[i]", path)


def check(plan: Plan, seen: Seen) -> None:
    """Every gen of the run is in the plan, with a prompt that the plan allows."""
    rows = defaultdict(list)
    for row in plan.sites:
        rows[row.site, alike(row.path)].append(row)
    for place, lengths in seen.prompts.items():
        allowed = [row for row in rows[place] if row.op.startswith("gen")]
        for length in lengths:
            assert any(allows(row, length) for row in allowed), (place, length, [str(row.prefix) for row in allowed])


def allows(row: PlannedSite, length: int) -> bool:
    """Whether a prompt may be so long: exactly so long where the plan says so."""
    if row.prefix == row.prefix_most and row.prefix.certainty is Certainty.EXACT:
        return length == row.prefix.count
    return at_most(length, row.prefix_most)


def at_most(number: int, bound: Tokens) -> bool:
    return bound.count is None or bound.certainty is Certainty.ESTIMATE or number <= bound.count


def compare(module: Module, arguments: dict[str, object], answers: Callable[[str, ScriptedCall], str] = answer) -> Plan:
    plan = explain(module, arguments, counter=WordCounter(), data=FolderSource(EXAMPLES))
    seen = Seen()
    usage = run(
        module, arguments, runtime=ScriptedRuntime(answers), seed=1, on_event=seen, data=FolderSource(EXAMPLES)
    ).usage
    check(plan, seen)
    totals = plan.totals
    assert at_most(usage.prompt_tokens, totals.prompt)
    assert at_most(usage.completion_tokens, totals.decode)
    assert at_most(sum(map(len, seen.prompts.values())), totals.gens)
    assert at_most(seen.branches, totals.branches)
    return plan


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("chat", {}),
        ("sentiment", {}),
        ("judge", {"essay": ESSAY}),
        ("skeleton", {}),
        ("tot", {}),
        ("demo", {}),
    ],
)
def test_examples_run_as_planned(name: str, arguments: dict[str, object]) -> None:
    module = module_of((EXAMPLES / f"{name}.rkv").read_text(encoding="utf-8"), f"{name}.rkv")
    assert compare(module, arguments).warnings == ()


def test_a_program_without_gens_is_planned_exactly() -> None:
    source = """for w in ["a", "b c"] { line "@{w} is" }
"Label:"
let xs = fork w in ["x", "y z", "u"] {
  "in @{w}"
  select s from [" one", " two three"]
  yield s
} join concat by "," keep"""
    module = module_of(source)
    assert run(module, runtime=ScriptedRuntime()).usage.prompt_tokens == compare(module, {}).totals.prompt.count


texts = st.sampled_from(['"one"', '"two words"', '" lead"', "line \"l @{len('x')}\"", '"n@{v}"'])
gens = st.integers(0, 6).map(lambda most: f"gen v with max={most + 1}")
selects = st.just('select s from ["yes", "no no", " maybe"]')
simple = st.one_of(texts, gens, selects)


def nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    blocks = st.lists(inner, min_size=1, max_size=3).map("; ".join)
    count = st.integers(1, 3)
    policies = st.sampled_from(["", "join all keep", 'join concat by " - " keep', "join best by 1 keep", "join vote"])
    return st.one_of(
        st.builds("fork {} {{ let v = 'q'; {} }} {}".format, count, blocks, policies),
        st.builds("fork {} as k {{ let v = 'q'; \"k@{{k}}\"; {} }} {}".format, count, blocks, policies),
        st.builds("for x in range({}) {{ {} }}".format, count, blocks),
        st.builds("repeat {} {{ {}; if v == 'word' {{ break }} }}".format, count, blocks),
        st.builds("if v == 'word' {{ {} }} else {{ {} }}".format, blocks, blocks),
        st.builds("if len(v) > 2 {{ {} }}".format, blocks),
        st.builds('v = f("a @{{v}}"); {}'.format, blocks),
        st.builds("use g({}); {}".format, count, blocks),
    )


programs = st.lists(st.recursive(simple, nested, max_leaves=8), min_size=1, max_size=5).map("\n".join)
HEAD = """def f(x: str) -> str { "F @{x}"; gen r with max=4; return r }
def g(n: int) { "G @{n}"; gen r with max=2 }
let v = "start"
"""


@settings(max_examples=60, deadline=None)
@given(programs)
def test_bounds_hold_for_any_program(body: str) -> None:
    compare(module_of(HEAD + body), {})


def test_paths_of_the_plan_are_those_of_events() -> None:
    source = """def f() -> str { "P"; gen a with max=1; return a }
return fork {
  left { yield f() }
  right { yield fork 2 { yield f() } }
}"""
    plan = compare(module_of(source), {})
    assert [row.path for row in plan.sites if row.op.startswith("gen")] == ["main[left].f", "main[right][i].f"]
