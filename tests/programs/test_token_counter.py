"""Plans made with the tokenizer alone agree with the engine, token for token."""

from __future__ import annotations

from pathlib import Path

import pytest

import frontend_lang
from frontend_lang.explain import Plan, explain
from frontend_lang.linking import link
from frontend_lang.modules import Module
from frontend_lang.runtime import Role, RoleOpen, RuntimeFailure, Text
from frontend_lang.sources import NoSource
from radixkv.models import locate_model
from radixkv.programs.token_counter import TokenCounter
from radixkv.tokenizer import load_tokenizer
from recording_runtime import RecordingRuntime

JURY = """param essay: str
system: You are strict.
user essay
let marks = fork d in ["clarity", "a longer dimension"] {
  user: Judge the @{d}.
  assistant { "Score: "; select score from ["1", "2", "10"] }
  yield score
} join all
return marks"""

CHAT = """system: You are terse.
user: Hello there.
assistant gen reply with max=5, temp=0
user: Go on.
assistant gen more with max=5, temp=0"""

MERGING = """for w in ["the", "re", " and", "on"] { text w }
"ing the "
gen a with max=4, temp=0"""


@pytest.fixture
def counter(long_llama: Path) -> TokenCounter:
    return TokenCounter(load_tokenizer(locate_model(str(long_llama))))


def module_of(source: str) -> Module:
    module = link(source, "program.rkv", NoSource()).module
    assert module is not None
    return module


def planned(counter: TokenCounter, source: str, **args: object) -> Plan:
    return explain(module_of(source), args, counter=counter)


def test_a_program_of_forks_and_selects_costs_what_the_plan_says(
    runtime: RecordingRuntime, counter: TokenCounter
) -> None:
    plan = planned(counter, JURY, essay="An essay. " * 20)
    usage = frontend_lang.run(JURY, {"essay": "An essay. " * 20}, runtime=runtime, seed=1).usage
    assert usage.prompt_tokens == plan.totals.prompt.count
    assert usage.computed_tokens <= (plan.totals.prefill.count or 0)
    fork = next(site for site in plan.sites if site.op.startswith("fork"))
    assert runtime.usages[0].computed_tokens == fork.prefix.count


@pytest.mark.parametrize("source", [CHAT, MERGING])
def test_prompts_of_gens_are_exact_until_something_is_generated(
    runtime: RecordingRuntime, counter: TokenCounter, source: str
) -> None:
    lengths: list[int] = []

    def watch(event: frontend_lang.Event) -> None:
        if event.event == "gen.end":
            lengths.append(event.data["usage"]["prompt_tokens"])  # type: ignore[index]

    plan = planned(counter, source)
    usage = frontend_lang.run(source, runtime=runtime, seed=1, on_event=watch).usage
    gens = [site for site in plan.sites if site.op.startswith("gen")]
    assert lengths[0] == gens[0].prefix.count
    assert all(length <= (site.prefix.count or 0) for length, site in zip(lengths, gens, strict=True))
    assert usage.computed_tokens <= (plan.totals.prefill.count or 0)
    assert usage.completion_tokens <= (plan.totals.decode.count or 0)


def test_a_role_inside_a_role_is_a_failure_of_the_runtime(counter: TokenCounter) -> None:
    context = counter.open()
    context.append([RoleOpen(Role.USER), Text("x")])
    with pytest.raises(RuntimeFailure, match="user"):
        context.append([RoleOpen(Role.USER)])


def test_copies_are_independent_and_unknown_text_is_marked(counter: TokenCounter) -> None:
    context = counter.open()
    context.append([Text("abc")])
    other = context.copy()
    context.opaque()
    assert list(context.tokens())[-1] == -1
    assert (context.commit(), other.commit()) == (4, 3)
