"""Running a program again with the answers of a trace, and finding where it goes another way.

Every gen and select of a run has a seed that names its place, so an answer is found by its seed, in any schedule. The
model's answers, the tools' results and the texts come from the trace; nothing of the host is called.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from frontend_lang.api import run_async
from frontend_lang.errors import ProgramError
from frontend_lang.events import Event
from frontend_lang.modules import Module
from frontend_lang.result import RunResult
from frontend_lang.runtime import (
    CallUsage,
    Constraint,
    ContextId,
    Delta,
    Fork,
    GenParams,
    GenResult,
    Norm,
    Part,
    RuntimeFailure,
    RuntimeInfo,
    Scores,
)
from frontend_lang.sources import TextSource
from frontend_lang.tools import Tool, ToolParameter

DIVERGED = "E0701"


@dataclass(frozen=True)
class Replay:
    """What became of a replay: the result, or the first divergence in words; `not_compared`: what the trace lacks."""

    result: RunResult | None
    divergence: str | None
    not_compared: tuple[str, ...] = ()


@dataclass
class Recording:
    """Answers of one run: ends of gens and selects by seed, results of tools by name in order, texts by path.

    `sampling` has the options of gens by seed; traces of earlier versions lack it.
    """

    seed: int
    model: str
    value: Any
    ended: bool
    gens: dict[int, deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    selects: dict[int, deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    tools: dict[str, deque[tuple[Any, Event]]] = field(default_factory=lambda: defaultdict(deque))
    texts: dict[str, deque[Event]] = field(default_factory=lambda: defaultdict(deque))
    sampling: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    stopped: set[str] = field(default_factory=set)

    def left_over(self, stopped: set[str]) -> Event | None:
        """The first gen or select that nobody asked for. Branches that were stopped, then or now, may lack some."""
        ends = [end for answers in (self.gens, self.selects) for queued in answers.values() for end in queued]
        missed = [end for end in ends if not any(_is_within(end.path, path) for path in stopped | self.stopped)]
        return min(missed, key=lambda end: end.seq, default=None)


def _is_within(path: str, outer: str) -> bool:
    return path == outer or path.startswith((outer + "[", outer + "."))


def recording(events: Sequence[Event]) -> Recording:
    """What a run's events say. Raises ValueError for a trace that lacks the run's seed."""
    start = next((event for event in events if event.event == "run.start"), None)
    if start is None or type(start.data.get("seed")) is not int:
        raise ValueError("the trace has no run.start with a seed")
    end = next((event for event in events if event.event == "run.end"), None)
    value = None if end is None else end.data.get("value")
    found = Recording(int(str(start.data["seed"])), str(start.data.get("model", "")), value, end is not None)
    started: dict[tuple[str, str, object], Event] = {}
    for event in events:
        _record(found, started, event)
    return found


def _record(found: Recording, started: dict[tuple[str, str, object], Event], event: Event) -> None:
    key = (event.path, event.ctx, event.data.get("site", event.data.get("call_id")))
    match event.event:
        case "gen.start":
            started[key] = event
            if isinstance(event.data.get("sampling"), dict):
                found.sampling[_seed(event)] = event.data["sampling"]  # type: ignore[assignment]
        case "tool.call":
            started[key] = event
        case "branch.end" if event.data.get("status") != "ok":
            found.stopped.add(event.path)
        case "gen.end" if key in started:
            found.gens[_seed(started.pop(key))].append(event)
        case "select.end" if "seed" in event.data:
            found.selects[_seed(event)].append(event)
        case "tool.end" if key in started:
            call = started.pop(key)
            found.tools[str(call.data.get("name"))].append((call.data.get("args"), event))
        case "text":
            found.texts[event.path].append(event)


def _seed(event: Event) -> int:
    seed = event.data.get("seed")
    return seed if type(seed) is int else -1


async def replay(
    events: Sequence[Event],
    module: Module,
    args: Mapping[str, object] | None = None,
    *,
    entry: str | None = None,
    data: TextSource | None = None,
    count: Callable[[str], int] | None = None,
) -> Replay:
    """Run the program with the answers of a trace of one run.

    `count` counts tokens for `ntok` and `chunk`. Raises ValueError for a trace without a seed, ProgramError for
    arguments that do not fit. The first difference ends the replay and is told.
    """
    recorded = recording(events)
    player = _Player(recorded, count)
    try:
        result = await run_async(
            module,
            args,
            runtime=player,
            entry=entry,
            seed=recorded.seed,
            on_event=player.watch,
            data=data,
            tools=_recorded_tools(module, player),
        )
    except ProgramError as error:
        if player.divergence is None and _ended_alike(events, error):
            return Replay(None, None, player.not_compared)
        place = "" if error.span is None else f" ({error.file}:{error.span.line})"
        return Replay(None, player.divergence or f"the program ends with {error.code}: {error.message}{place}")
    if recorded.ended and result.to_dict()["value"] != recorded.value:
        return Replay(result, "the value differs from the recorded one")
    return Replay(result, player.divergence or player.left_over(), player.not_compared)


def _ended_alike(events: Sequence[Event], error: ProgramError) -> bool:
    """Whether the recorded run ended with the same error."""
    return any(event.event == "error" and event.data.get("code") == error.code for event in events)


def _recorded_tools(module: Module, player: _Player) -> list[Tool]:
    """Every tool that the program and its imports declare, answering from the trace."""
    declared = {name: node for each in _modules(module) for name, node in each.tools.items()}
    return [
        Tool(
            name,
            "",
            tuple(ToolParameter(item.name, None, item.default is None) for item in node.parameters),
            None,
            player.tool(name),
        )
        for name, node in declared.items()
    ]


def _modules(module: Module) -> list[Module]:
    found, pending = [module], [module]
    while pending:
        for other in pending.pop().imports.values():
            if other not in found:
                found.append(other)
                pending.append(other)
    return found


class _Player:
    """A runtime that answers from a recording. The first difference is kept and ends the run."""

    def __init__(self, recorded: Recording, count: Callable[[str], int] | None) -> None:
        self._recorded = recorded
        self._count = count
        self._contexts: dict[ContextId, int] = {}
        self._selecting: dict[str, Event] = {}
        self._asking: dict[str, Event] = {}
        self._stopped: set[str] = set()
        self._lacks_sampling = False
        self._opened = 0
        self.divergence: str | None = None

    @property
    def info(self) -> RuntimeInfo:
        """The recorded model."""
        return RuntimeInfo(self._recorded.model, True)

    def watch(self, event: Event) -> None:
        """Hold the events of the replay against the recorded ones."""
        if event.event == "select.start":
            self._selecting[event.ctx] = event
        if event.event == "gen.start":
            self._asking[event.ctx] = event
        if event.event == "branch.end" and event.data.get("status") != "ok":
            self._stopped.add(event.path)
        if event.event == "text":
            self._hold_text_against(self._recorded.texts[event.path], event)

    @property
    def not_compared(self) -> tuple[str, ...]:
        """What the trace does not have."""
        return ("the options of gens, which the trace does not have",) if self._lacks_sampling else ()

    def left_over(self) -> str | None:
        """The difference that answers were recorded which nobody has asked for."""
        end = self._recorded.left_over(self._stopped) if self._recorded.ended else None
        if end is None:
            return None
        return f"{end.path}: the recorded {end.event.split('.')[0]} `{end.data.get('name')}` is never asked for"

    def _hold_sampling_against(self, event: Event) -> None:
        """Find the first option of a gen that is not as it was."""
        before, now = self._recorded.sampling.get(_seed(event)), event.data["sampling"]
        if before is None or not isinstance(now, dict):
            self._lacks_sampling = True
            return
        for name, value in now.items():
            if name in before and before[name] != value:
                what = "what constrains its text" if name == "constraint" else f"`{name}`"
                shown = "" if name == "constraint" else f": recorded {before[name]!r}, now {value!r}"
                raise self._diverged(f"{event.path}: gen `{event.data.get('name')}`: {what} differs{shown}")

    def _hold_text_against(self, recorded: deque[Event], event: Event) -> None:
        """Find the text among those of its path: calls that overlap share a path, so their order may differ."""
        text = event.data["text"]
        found = next((index for index, before in enumerate(recorded) if before.data.get("text") == text), None)
        if found is not None:
            del recorded[found]
        elif recorded:
            what = f"recorded {_short(recorded[0].data.get('text'))}, now {_short(text)}"
            raise self._diverged(f"{event.path}: the text differs: {what}")
        else:
            raise self._diverged(f"{event.path}: text that the trace does not have: {_short(text)}")

    def _diverged(self, what: str) -> RuntimeFailure:
        self.divergence = self.divergence or what
        return RuntimeFailure(DIVERGED, f"the replay goes another way: {what}")

    async def open(self, namespace: str = "", model: str | None = None) -> ContextId:
        """A fresh, empty context."""
        return self._new(0)

    async def append(self, context: ContextId, parts: Sequence[Part]) -> None:
        """Nothing: texts are compared as events."""
        self._contexts[context] += len(parts)

    async def commit(self, context: ContextId) -> int:
        """A length that grows with what was appended."""
        return self._contexts[context]

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult]:
        """The recorded tokens of the gen with this seed."""
        ends = self._recorded.gens.get(params.seed)
        if not ends:
            raise self._diverged(f"a gen that the trace does not have (seed {params.seed})")
        if context in self._asking:
            self._hold_sampling_against(self._asking.pop(context))
        data = ends.popleft().data
        ids, text = tuple(_ints(data.get("token_ids"))), str(data.get("value", ""))
        self._contexts[context] += 1
        yield Delta(text, ids)
        logprobs = data.get("logprobs")
        kept = tuple(map(float, logprobs)) if isinstance(logprobs, list) else None
        yield GenResult(text, ids, str(data.get("finish_reason", "stop")), _usage(data.get("usage")), kept)

    async def score(self, context: ContextId, options: Sequence[str], norm: Norm = Norm.TOKENS) -> Scores:
        """The recorded distribution of the select that is about to be made on this context."""
        event = self._selecting.pop(context, None)
        ends = self._recorded.selects.get(-1 if event is None else _seed(event))
        if event is None or not ends:
            raise self._diverged("a select that the trace does not have")
        data = ends.popleft().data
        probs = data.get("probs")
        if not isinstance(probs, dict) or set(probs) != set(options):
            raise self._diverged(f"{event.path}: select `{event.data.get('name')}` has other options than recorded")
        chances = [float(probs[option] or 0.0) / options.count(option) for option in options]
        scores = tuple(math.log(chance) if chance > 0 else -math.inf for chance in chances)
        return Scores(scores, tuple(chances), options.index(str(data.get("value"))), _usage(data.get("usage")))

    def tool(self, name: str) -> Callable[..., Any]:
        """A function that gives the recorded results of a tool for the same arguments."""

        async def answer(**arguments: Any) -> Any:
            calls = self._recorded.tools[name]
            for call in calls:
                if call[0] == arguments:
                    calls.remove(call)
                    return _result_of(call[1])
            raise self._diverged(f"tool `{name}` is called with other arguments than recorded")

        return answer

    async def fork(self, context: ContextId, n: int) -> Fork:
        """Children that go on from here."""
        children = tuple(self._new(self._contexts[context]) for _ in range(n))
        return Fork(children, CallUsage(forks=n), self._contexts[context])

    async def adopt(self, parent: ContextId, child: ContextId) -> None:
        """The parent goes on as the child."""
        self._contexts[parent] = self._contexts.pop(child)

    async def truncate(self, context: ContextId, length: int) -> None:
        """Back to a length."""
        self._contexts[context] = length

    async def release(self, context: ContextId) -> None:
        """Forget the context."""
        self._contexts.pop(context, None)

    async def tokens(self, context: ContextId) -> list[int]:
        """Not recorded."""
        raise RuntimeFailure(DIVERGED, "a trace does not have the tokens of a context")

    async def count(self, text: str) -> int:
        """Tokens of a text, if somebody can count."""
        if self._count is None:
            raise RuntimeFailure(DIVERGED, "counting tokens needs the model's tokenizer")
        return self._count(text)

    def _new(self, length: int) -> ContextId:
        self._opened += 1
        context = ContextId(f"r{self._opened}")
        self._contexts[context] = length
        return context


def _result_of(end: Event) -> Any:
    if "error" in end.data:
        raise RuntimeError(str(end.data["error"]))
    return end.data.get("value")


def _ints(value: object) -> list[int]:
    return [item for item in value if type(item) is int] if isinstance(value, list) else []


def _usage(value: object) -> CallUsage:
    known = CallUsage.__dataclass_fields__
    numbers = {name: item for name, item in value.items() if name in known} if isinstance(value, dict) else {}
    return CallUsage(**numbers)


def _short(text: object) -> str:
    shown = repr(text)
    return shown if len(shown) <= 60 else shown[:59] + "…"
