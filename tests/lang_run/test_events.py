"""Events of a run."""

from __future__ import annotations

import itertools
import json
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from frontend_lang import Event, ProgramError
from frontend_lang.runtime import Constraint, ContextId, Delta, GenParams, GenResult
from frontend_lang.scripted import ScriptedRuntime
from scripted_programs import run_on

PROGRAM = """user "P"
assistant { gen a; fork 2 as i { "x@{i}"; select s from ["u", "v"] } join best by i keep }
return a"""


def events_of(source: str, runtime: ScriptedRuntime) -> list[Event]:
    events: list[Event] = []
    run_on(runtime, source, seed=5, on_event=events.append)
    return events


def test_events_of_a_run_in_order() -> None:
    events = events_of(PROGRAM, ScriptedRuntime(["one two"]))
    names = [event.event for event in events]
    assert names[:7] == ["run.start", "text", "gen.start", "gen.delta", "gen.delta", "gen.end", "fork"]
    assert sorted(names[7:-3]) == ["branch.end"] * 2 + ["select.end"] * 2 + ["select.start"] * 2 + ["text"] * 2
    assert names[-3:] == ["join", "usage", "run.end"]
    assert [event.seq for event in events] == list(range(len(events)))
    assert all(a.t_ms <= b.t_ms for a, b in itertools.pairwise(events))
    assert len({event.run for event in events}) == 1


def test_what_events_say() -> None:
    events = {event.event: event for event in events_of(PROGRAM, ScriptedRuntime(["one two"]))}
    assert events["run.start"].data["seed"] == 5
    assert events["run.start"].data["model"] == "scripted"
    end = events["gen.end"]
    assert (end.data["name"], end.data["value"], end.data["tokens"]) == ("a", "one two", 2)
    assert (len(end.data["token_ids"]), end.data["finish_reason"]) == (2, "stop")  # type: ignore[arg-type]
    assert events["fork"].data["n"] == 2
    assert events["fork"].data["shared_tokens"] == 6
    assert (events["join"].data["policy"], events["join"].data["winner"], events["join"].data["value"]) == (
        "best",
        1,
        "x1u",
    )
    assert {event.path for event in events.values()} >= {"main", "main[1]"}
    assert events["select.end"].data["value"] == "u"
    assert events["run.end"].data["value"] == "one two"
    assert events["text"].data == {"role": "assistant", "text": "x1"}


def test_events_are_json_lines() -> None:
    for event in events_of(PROGRAM, ScriptedRuntime(["one two"])):
        line = json.loads(json.dumps(event.to_dict()))
        assert list(line)[:6] == ["seq", "event", "run", "ctx", "path", "t_ms"]


def test_paths_name_calls_and_branches() -> None:
    source = "def f() { gen a\nreturn a }\nfork { left { f() } right { fork 2 { f() } } }"
    events = events_of(source, ScriptedRuntime(lambda prompt, call: "a"))
    paths = {event.path for event in events if event.event == "gen.end"}
    assert paths == {"main[left].f", "main[right][0].f", "main[right][1].f"}


def test_failure_is_an_event_too() -> None:
    events: list[Event] = []
    with pytest.raises(ProgramError):
        run_on(ScriptedRuntime(["a"]), "fork 1 { gen a\nlet n = int(a) }", on_event=events.append)
    assert [event.event for event in events][-2:] == ["branch.end", "error"]
    assert events[-2].data["status"] == "E0406"
    assert (events[-1].data["code"], events[-1].data["line"], events[-1].path) == ("E0406", 2, "main[0]")


def test_losing_branches_end_as_cancelled() -> None:
    runtime = ScriptedRuntime(
        lambda prompt, call: "a", delay=lambda verb, context: 30.0 if context == "c2" and verb == "delta" else 0.0
    )
    events = events_of("return fork 2 { gen a\nyield a } join first", runtime)
    ended = {event.data["index"]: event.data["status"] for event in events if event.event == "branch.end"}
    assert ended == {0: "cancelled", 1: "ok"}


class WithLogprobs(ScriptedRuntime):
    """Adds a log-probability for each token where a gen asks for them."""

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult, None]:
        async for item in super().generate(context, params, constraint):
            if isinstance(item, GenResult) and params.logprobs is not None:
                yield replace(item, logprobs=tuple([-0.5] * len(item.token_ids)))
            else:
                yield item


def test_gen_end_has_log_probabilities_where_they_were_asked_for() -> None:
    source = "text: P\ngen a with logprobs=3\ngen b"
    first, second = [event for event in events_of(source, WithLogprobs(["one two", "x"])) if event.event == "gen.end"]
    assert first.data["logprobs"] == [-0.5, -0.5]
    assert "logprobs" not in second.data


def test_nan_in_an_event_is_null_in_its_json_form() -> None:
    events = events_of("let a = fork 1 { yield float('nan') } join all\nreturn a", ScriptedRuntime())
    lines = [json.loads(json.dumps(event.to_dict(), allow_nan=False)) for event in events]
    assert [line["value"] for line in lines if "value" in line] == [None, [None], [None]]


@pytest.mark.parametrize("source", ["fork 2 { gen a; yield a }", "map x in [1, 2] { gen a; yield a }"])
def test_the_end_of_a_branch_or_row_names_its_own_context(source: str) -> None:
    events = events_of(f'"p"\nlet v = {source}', ScriptedRuntime(lambda prompt, call: prompt or "a"))
    generated = {event.ctx for event in events if event.event == "gen.end"}
    ended = {event.ctx for event in events if event.event == "branch.end"}
    assert len(ended) == 2
    assert ended == generated
