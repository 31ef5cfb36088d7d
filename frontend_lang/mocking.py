"""What a `test` block says about the model and the tools, turned into answers, scores and tools of a scripted run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from frontend_lang.errors import ProgramError
from frontend_lang.events import Event
from frontend_lang.interpreter.tools import declared_tools
from frontend_lang.modules import Module
from frontend_lang.runtime import ContextId, RuntimeFailure
from frontend_lang.scripted import Answers, ScoreRule, ScriptedCall
from frontend_lang.seeds import MAX_SEED
from frontend_lang.syntax import ast
from frontend_lang.syntax.tree.nodes import walk
from frontend_lang.tools import Tool, ToolParameter
from frontend_lang.values import Value, is_number, json_text, type_name

MAX_SHOWN = 60  # characters of a text in a message
_MAX_NAMES = 20
_LOSES = -100.0  # the score of an option that the test does not want


class Recorder:
    """Listens to the events of a run: which gen asks in which context, what gens have written, what checks found.

    `by_seed` has what gens have written by their seeds, which are different for all gens of a run.
    """

    def __init__(self) -> None:
        self.checks: list[Mapping[str, object]] = []
        self.by_seed: dict[int, str] = {}
        self._asking: dict[str, _Asking] = {}
        self._texts: list[str | None] = []

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        if event.event == "gen.start":
            self._asking[event.ctx] = _Asking.of(event, len(self._texts))
            self._texts.append(None)
        elif event.event == "gen.end":
            gen, text = self._asking[event.ctx], str(event.data.get("text", event.data["value"]))
            self._texts[gen.index] = self.by_seed[gen.seed] = text
        elif event.event == "check":
            self.checks.append(event.data)

    @property
    def written(self) -> list[str]:
        """Texts of the gens that have ended, in the order of their start."""
        return [text for text in self._texts if text is not None]

    def asking(self, context: ContextId) -> _Asking:
        """The gen that runs in a context."""
        return self._asking[context]


@dataclass(frozen=True, slots=True)
class _Asking:
    """A gen that has started, the `index`th of the run."""

    site: str
    name: str
    seed: int
    index: int

    @classmethod
    def of(cls, event: Event, index: int) -> _Asking:
        """From `gen.start`."""
        data = event.data
        return cls(str(data["site"]), str(data["name"]), int(str(data["seed"])), index)


class _Supply:
    """A list, used up in order, or one value for ever."""

    def __init__(self, given: Value, what: str) -> None:
        self._given = given
        self._what = what
        self._used = 0

    def take(self) -> Value:
        """The next value. Raises E0601 when there is none."""
        if not isinstance(self._given, list):
            return self._given
        if self._used == len(self._given):
            raise RuntimeFailure("E0601", f"{self._what} has {self._used} items, but another one is asked for")
        self._used += 1
        return self._given[self._used - 1]

    def check_used(self) -> None:
        """Raises E0601 when a list has items that nobody asked for."""
        if isinstance(self._given, list) and self._used < len(self._given):
            count = len(self._given)
            message = f"{self._what} has {count} item{'s' * (count != 1)}, of which {self._used} were used"
            raise ProgramError("E0601", message, "leave out what is not asked for")


@dataclass(frozen=True)
class KnownNames:
    """What a test may name: gens of the program and its imports by name and site, and the tools that they declare."""

    gens: Sequence[str]
    sites: Sequence[str]
    tools: Sequence[str]

    @classmethod
    def of(cls, module: Module) -> KnownNames:
        """The names of a module that is about to run."""
        gens = [node for each in module.family() for node in walk(each.program) if isinstance(node, ast.Gen)]
        names = dict.fromkeys(gen.name for gen in gens)
        tools = dict.fromkeys(bound.declaration.name for bound in declared_tools(module))
        return cls(tuple(names), tuple(dict.fromkeys(gen.site for gen in gens)), tuple(tools))

    def check(self, option: str, value: Value) -> None:
        """Raises E0303 for a name that nothing has."""
        if not isinstance(value, dict) or option not in ("mock", "tools"):
            return
        what, names = ("gen", [*self.gens, *self.sites]) if option == "mock" else ("tool", self.tools)
        for name in value:
            if name not in names:
                shown = ", ".join(f"`{known}`" for known in names[:_MAX_NAMES]) or "none"
                message = f"the test's {option} names `{name}`, and there is no such {what}"
                raise ProgramError("E0303", message, f"{what}s: {shown}{', …' * (len(names) > _MAX_NAMES)}")


@dataclass(frozen=True)
class Mocks:
    """The options of one test."""

    mock: Value = field(default_factory=list)
    scores: Value = None
    tools: Mapping[str, Value] = field(default_factory=dict)
    seed: int = 0
    _supplies: list[tuple[str, _Supply]] = field(default_factory=list)  # by the option that they belong to
    _offered: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, given: Mapping[str, Value], options: Sequence[ast.Option], known: KnownNames) -> Mocks:
        """Options that have been evaluated. Raises E0303 and E0402 at the option."""
        spans = {option.name: option.span for option in options}
        try:
            for name, value in given.items():
                _check_option(name, value)
                known.check(name, value)
        except ProgramError as error:
            raise error.at(spans[name], "") from None
        return cls(**given)  # type: ignore[arg-type]

    def check_used(self, options: Sequence[ast.Option]) -> None:
        """Raises E0601, at the option, for what a run that has ended never asked for."""
        spans = {option.name: option.span for option in options}
        for option, supply in self._supplies:
            try:
                supply.check_used()
            except ProgramError as error:
                raise error.at(spans[option], "") from None
        unknown = [text for text in self.scores if text not in self._offered] if isinstance(self.scores, dict) else []
        if unknown:
            offered = ", ".join(map(repr, sorted(self._offered)))[:200] or "none: nothing was selected"
            message = f"the test's scores name {unknown[0]!r}, which no select had as an option; options: {offered}"
            raise ProgramError("E0601", message).at(spans["scores"], "")

    def _supply(self, option: str, given: Value, what: str) -> _Supply:
        supply = _Supply(given, what)
        self._supplies.append((option, supply))
        return supply

    def answers(self, recorder: Recorder) -> Answers:
        """What gens write; `recorder` knows which gen is asking."""
        if not isinstance(self.mock, dict):
            supply = self._supply("mock", self.mock, "the test's mock")
            return lambda prompt, call: _as_text(supply.take())
        supplies = {key: self._supply("mock", value, f"the test's mock of `{key}`") for key, value in self.mock.items()}

        def answer(prompt: str, call: ScriptedCall) -> str:
            gen = recorder.asking(call.context)
            supply = supplies.get(gen.site) or supplies.get(gen.name)
            if supply is None:
                known = ", ".join(f"`{key}`" for key in supplies) or "nothing"
                raise RuntimeFailure("E0601", f"no mock for gen `{gen.name}` at site `{gen.site}`; there is {known}")
            return _as_text(supply.take())

        return answer

    def score_rule(self) -> ScoreRule:
        """What selects find."""
        if isinstance(self.scores, dict):
            return self._scored({option: float(score) for option, score in self.scores.items()})  # type: ignore[arg-type]
        return None if self.scores is None else _chosen(self._supply("scores", self.scores, "the test's scores"))

    def _scored(self, given: Mapping[str, float]) -> ScoreRule:
        def scores(prompt: str, options: Sequence[str]) -> Sequence[float]:
            self._offered.update(options)
            return [given.get(option, _LOSES) for option in options]

        return scores

    def tool(self, declared: ast.Tool) -> Tool:
        """A declared tool that gives what the test says, or says that it is not given."""
        name = declared.name
        what = f"the test's tool `{name}`"
        supply = self._supply("tools", self.tools[name], what) if name in self.tools else None

        async def function(**arguments: object) -> Value:
            if supply is None:
                raise LookupError(f"the test says nothing about it; with tools={{{name}: …}} it does")
            return supply.take()

        parameters = tuple(ToolParameter(item.name, None, item.default is None) for item in declared.parameters)
        return Tool(name, "", parameters, None, function)


def _chosen(supply: _Supply) -> Callable[[str, Sequence[str]], Sequence[float]]:
    def scores(prompt: str, options: Sequence[str]) -> Sequence[float]:
        wanted = supply.take()
        if wanted not in options:
            offered = ", ".join(map(repr, options))[:200]
            raise RuntimeFailure("E0601", f"the test's scores choose {wanted!r}, but the options are {offered}")
        return [0.0 if option == wanted else _LOSES for option in options]

    return scores


def _as_text(value: Value) -> str:
    return value if isinstance(value, str) else json_text(value)


def _check_option(name: str, value: Value) -> None:
    if name == "mock":
        _expect(isinstance(value, (list, dict)), name, "a list of answers, or a record of them", value)
    elif name == "scores":
        numbers = isinstance(value, dict) and all(map(is_number, value.values()))
        texts = isinstance(value, list) and all(isinstance(item, str) for item in value)
        _expect(numbers or texts, name, "a record of numbers, or a list of the options to choose", value)
    elif name == "tools":
        _expect(isinstance(value, dict), name, "a record of what each tool gives", value)
    elif name == "seed":
        _expect(type(value) is int and 0 <= value <= MAX_SEED, name, "an int of at least 0", value)
    else:
        raise ProgramError("E0303", f"test has no option `{name}`", "options: mock, scores, tools, seed")


def _expect(fits: bool, name: str, expected: str, found: Value) -> None:
    if not fits:
        raise ProgramError("E0402", f"option `{name}` of a test needs {expected}, found {type_name(found)}")
