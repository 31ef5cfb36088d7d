"""Traces: reading them, timelines, the page, replays."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from frontend_lang import Event, ProgramError, run
from frontend_lang.linking import link
from frontend_lang.modules import Module
from frontend_lang.runtime import ContextId
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import NoSource
from frontend_lang.tracing import Replay, Timeline, TraceError, read_trace, replay, timeline, trace_page

PROGRAM = """tool twice(n: int) -> int
def judge(text: str) -> float {
  user "Is it good? @{text}"
  assistant select verdict from ["yes", "no"]
  return probs(verdict)["yes"]
}
user "Write a line."
let best = fork 3 with temp=1 {
  assistant gen line with max=5
  yield line
} join best by judge(line) keep
let n = twice(4)
emit { n: n }
check n == 8, "twice"
user "Go on @{n}"
assistant gen rest with max=4
return { best: best, rest: rest, n: n }
"""


async def twice(n: int) -> int:
    return 2 * n


def module_of(source: str) -> Module:
    module = link(source, "program.rkv", NoSource()).module
    assert module is not None
    return module


def traced(source: str = PROGRAM, runtime: ScriptedRuntime | None = None, **settings: Any) -> list[Event]:
    """The events of a run as they come out of a file."""
    events: list[Event] = []
    try:
        run(module_of(source), runtime=runtime or scripted(), seed=3, on_event=events.append, **settings)
    except ProgramError:
        assert events[-1].event == "error"
    return list(read_trace(lines_of(events)).events)


def scripted(delay: Callable[[str, ContextId], float] | None = None) -> ScriptedRuntime:
    answers: Callable[..., str] = lambda prompt, call: f"w{call.params.seed % 97} w{call.params.seed % 89}"  # noqa: E731
    return ScriptedRuntime(answers, scores=lambda prompt, options: [float(len(prompt) % 5), 1.0], delay=delay)


def lines_of(events: Sequence[Event]) -> list[str]:
    return [json.dumps(event.to_dict()) + "\n" for event in events]


def timeline_of(source: str = PROGRAM, **settings: Any) -> Timeline:
    return timeline(traced(source, **settings))


def replayed(events: Sequence[Event], source: str = PROGRAM, **settings: Any) -> Replay:
    return asyncio.run(replay(events, module_of(source), **settings))


TOOLS = {"tools": {"twice": twice}}


def test_a_track_per_path_in_the_order_of_the_tree() -> None:
    tracks = timeline_of(**TOOLS).tracks
    assert [(track.path, track.depth) for track in tracks] == [
        ("main", 0),
        ("main[0]", 1),
        ("main[0].judge", 2),
        ("main[1]", 1),
        ("main[1].judge", 2),
        ("main[2]", 1),
        ("main[2].judge", 2),
    ]
    assert [track.won for track in tracks].count(True) == 1
    assert {track.status for track in tracks} == {"ok"}


def test_spans_and_what_the_model_and_the_program_wrote() -> None:
    found = timeline_of(**TOOLS)
    assert [len(found.spans(kind)) for kind in ("gen", "select", "tool")] == [4, 3, 1]
    assert all(span.status == "ok" and span.start_ms <= span.end_ms <= found.wall_ms for span in found.spans())
    main = found.tracks[0].segments
    assert [(part.role, part.source) for part in main][:1] == [("user", "text")]
    assert main[-1].source == "rest"
    assert [note.event for note in found.notes] == ["emit", "check"]


def test_the_summary_counts() -> None:
    events = traced(**TOOLS)
    summary = timeline(events).summary()
    assert (summary["gens"], summary["selects"], summary["tools"], summary["branches"]) == (4, 3, 1, 3)
    assert (summary["status"], summary["seed"], summary["error"]) == ("ok", 3, None)
    assert summary["usage"] == events[-1].data["usage"]
    assert summary["saved_tokens"] == summary["usage"]["cached_tokens"]  # type: ignore[index]


def test_the_critical_path_has_only_spans_one_after_the_other() -> None:
    delays = {"generate": 0.02, "score": 0.01}
    found = timeline_of(runtime=scripted(lambda verb, context: delays.get(verb, 0.0)), **TOOLS)
    path = found.critical_path()
    assert [span.kind for span in path if span.ms > 5] == ["gen", "select", "gen"]
    assert all(a.end_ms <= b.start_ms + 1e-6 for a, b in itertools.pairwise(path))


def test_cancelled_branches_show_until_when_they_ran() -> None:
    slow = scripted(lambda verb, context: 30.0 if context == "c2" and verb == "generate" else 0.0)
    found = timeline_of('"P"\nreturn fork 2 { gen a\nyield a } join first', runtime=slow)
    branch = next(track for track in found.tracks if track.path == "main[0]")
    assert (branch.status, [span.status for span in branch.spans]) == ("cancelled", ["cancelled"])
    assert found.summary()["cancelled"] == 1


def test_a_run_that_died_still_shows() -> None:
    events = traced(**TOOLS)
    cut = next(index for index, event in enumerate(events) if event.event == "gen.start") + 1
    found = timeline(events[:cut])
    assert (found.status, found.value) == ("running", None)
    assert [span.status for span in found.spans("gen")] == ["running"]


def test_a_run_that_failed_shows_its_error() -> None:
    found = timeline_of('"P"\ngen a\nlet n = int(a)')
    assert (found.status, found.summary()["error"]) == ("E0406", {"code": "E0406", "message": found.error["message"]})  # type: ignore[index]


def test_a_track_says_how_many_of_its_calls_ran_side_by_side() -> None:
    source = 'def f(x) {\n  user "@{x}"\n  assistant gen a\n  return a\n}\n'
    waiting = scripted(delay=lambda prompt, ctx: 0.02)
    together = timeline_of(source + "let x = f(1)\nlet y = f(2)\nreturn [x, y]", runtime=waiting)
    in_turn = timeline_of(source + "let x = f(1)\nreturn f(x)", runtime=waiting)
    assert [max(track.at_once for track in found.tracks) for found in (together, in_turn)] == [2, 1]


@pytest.mark.parametrize(
    ("lines", "line", "what"),
    [
        ([], 1, "empty"),
        (["hello\n"], 1, "no JSON"),
        (['{"seq": 0}\n'], 1, "`event` is nothing"),
        (["[1]\n"], 1, "found list"),
        (["VALID", '{"seq": "x"}\n'], 2, '`seq` is "x"'),
        (["VALID", '{"a": \n', "VALID"], 2, "no JSON"),
        (["VALID", "[" * 100_000 + "\n"], 2, "no JSON"),
        (["VALID", '{"seq": 1, "event": "text", "run": "r", "ctx": "", "path": "", "t_ms": -1}\n'], 2, "`t_ms` is -1"),
        (
            ['{"seq": 0, "event": "click", "run": "r", "ctx": "", "path": "", "t_ms": 1}\n'],
            1,
            "no event of a run: `click`",
        ),
    ],
)
def test_a_file_that_is_no_trace_is_an_error_with_its_line(lines: list[str], line: int, what: str) -> None:
    valid = lines_of(traced('"P"\ngen a'))[0]
    with pytest.raises(TraceError, match=re.escape(f"t.jsonl:{line}: ")) as caught:
        read_trace([valid if each == "VALID" else each for each in lines], "t.jsonl")
    assert what in str(caught.value)
    assert caught.value.line == line


def test_a_last_line_that_is_cut_off_is_left_out() -> None:
    lines = lines_of(traced('"P"\ngen a'))
    trace = read_trace([*lines[:3], lines[3][:20]])
    assert (len(trace.events), trace.cut_line) == (3, 4)


def test_runs_of_one_file_are_told_apart() -> None:
    lines = lines_of([*traced('"P"\ngen a'), *traced('"Q"\ngen a')])
    assert [len(events) for events in read_trace(lines).runs()] == [len(lines) // 2] * 2


HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \u2028 \x1b[2J"


def test_nothing_in_a_prompt_becomes_markup_of_the_page() -> None:
    source = f"text {json.dumps(HOSTILE)}\ngen a\nreturn a".replace("\\u2028", "x").replace("\\u001b", "y")
    runtime = ScriptedRuntime(lambda prompt, call: HOSTILE)
    page = trace_page([timeline(traced(source, runtime))], HOSTILE)
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "<img" not in page
    assert "innerHTML" not in page
    assert "http" not in page.replace("http-equiv", "")
    inside = re.search(r'<script type="application/json" id="trace">(.*?)</script>', page, re.DOTALL)
    assert inside is not None
    data = json.loads(inside.group(1))
    assert data["title"] == HOSTILE
    assert data["runs"][0]["value"] == HOSTILE


def test_ten_thousand_events_make_a_page() -> None:
    source = 'let rows = map i in range(1000) with width=8 { "P@{i}"; gen a; yield a }\nreturn len(rows)'
    runtime = ScriptedRuntime(lambda prompt, call: "a b c d e f")
    events = traced(source, runtime)
    assert len(events) > 10_000
    page = trace_page([timeline(events)], "large")
    assert len(page) < 5_000_000


def test_a_replay_gives_the_recorded_value_without_a_model_or_tools() -> None:
    events = traced(**TOOLS)
    again = replayed(events)
    assert again.divergence is None
    assert again.result is not None
    assert again.result.value == events[-1].data["value"]


def test_a_replay_finds_answers_whatever_the_schedule_was() -> None:
    source = """def f(x: str) -> str { "@{x}"; gen a; "then @{x} @{a}"; gen b; return b }
let xs = [f("one"), f("two"), f("three")]
return xs"""
    slow = scripted(lambda verb, context: 0.02 if context == "c1" else 0.0)
    events = traced(source, slow)
    again = replayed(events, source)
    assert again.divergence is None
    assert again.result is not None
    assert again.result.value == events[-1].data["value"]


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("Write a line.", "Write a verse.", "main: the text differs"),
        ('["yes", "no"]', '["yes", "maybe"]', "other options"),
        ("twice(4)", "twice(5)", "other arguments"),
        ("fork 3", "fork 4", "a gen that the trace does not have"),
        ("rest: rest, n: n }", "rest: rest }", "the value differs"),
        ('user "Go on @{n}"', 'user "Go on @{n}"\nuser "more"', "text that the trace does not have"),
    ],
)
def test_a_replay_tells_the_first_difference(before: str, after: str, what: str) -> None:
    assert before in PROGRAM
    again = replayed(traced(**TOOLS), PROGRAM.replace(before, after))
    assert again.divergence is not None
    assert what in again.divergence


OPTIONS = '"P"\ngen a: int with max=8, temp=0.5, stop=["."]\n"Q"\ngen b\nreturn a'


@pytest.mark.parametrize(
    ("before", "after", "what"),
    [
        ("max=8", "max=9", "main: gen `a`: `max` differs: recorded 8, now 9"),
        ("temp=0.5", "temp=0.6", "`temp` differs: recorded 0.5, now 0.6"),
        ('["."]', '["!"]', "`stop` differs: recorded ['.'], now ['!']"),
        ("a: int", "a: float", "what constrains its text differs"),
        ("\ngen b", "", "main: the recorded gen `b` is never asked for"),
    ],
)
def test_a_replay_compares_how_gens_sample_and_that_all_are_asked_for(before: str, after: str, what: str) -> None:
    events = traced(OPTIONS, ScriptedRuntime(["7", "b"]))
    assert replayed(events, OPTIONS).divergence is None
    assert what in str(replayed(events, OPTIONS.replace(before, after)).divergence)


def test_a_replay_says_what_an_old_trace_does_not_have() -> None:
    events = [
        replace(event, data={name: value for name, value in event.data.items() if name != "sampling"})
        for event in traced(OPTIONS, ScriptedRuntime(["7", "b"]))
    ]
    again = replayed(events, OPTIONS.replace("max=8", "max=9"))
    assert (again.divergence, again.not_compared) == (None, ("the options of gens, which the trace does not have",))


def test_a_replay_of_a_run_that_failed_fails_alike() -> None:
    source = '"P"\ngen a\nlet n = int(a)'
    assert replayed(traced(source), source) == Replay(None, None)


def test_replays_need_the_seed() -> None:
    with pytest.raises(ValueError, match="seed"):
        replayed(traced('"P"\ngen a')[1:], '"P"\ngen a')


def test_rejected_tries_of_until_are_replayed_too() -> None:
    source = '"P"\ngen a with tries=9 until len(a) == 5\nreturn a'
    runtime = ScriptedRuntime(["no", "nope", "right"])
    events = traced(source, runtime)
    again = replayed(events, source)
    assert again.result is not None
    assert (again.divergence, again.result.value) == (None, "right")
