"""Tools: functions of the host that programs may call.

A program declares `tool wiki(q: str) -> str`; what it means, and that it may be called at all, is up to the host: the
tools that a run is given are its allow-list, and nothing else can be reached.

    @tool
    async def wiki(q: str) -> str:
        "Search an encyclopedia."
        return await search(q)

    frontend_lang.run(source, runtime=runtime, tools=[wiki])
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, TypeAlias, get_type_hints, overload

from frontend_lang.threads import in_thread

ToolFunction: TypeAlias = Callable[..., Any]


@dataclass(frozen=True)
class ToolParameter:
    """One parameter. `type` is its Python annotation, None where there is none."""

    name: str
    type: object | None
    required: bool


@dataclass(frozen=True)
class Tool:
    """A function that programs may call; calling the tool calls the function.

    `timeout_s`: seconds one call may take; None = as long as the run. A program's own `timeout=` can only shorten it.
    """

    name: str
    doc: str
    parameters: tuple[ToolParameter, ...]
    returns: object | None
    function: ToolFunction
    timeout_s: float | None = None

    def __post_init__(self) -> None:
        """What `help` and `inspect` say of the tool is what they say of the function."""
        module = getattr(self.function, "__module__", None)
        self.__dict__.update(__name__=self.name, __doc__=self.doc, __module__=module, __wrapped__=self.function)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """What the function gives: for an async function, a coroutine."""
        return self.function(*arguments, **named)

    async def call(self, arguments: Mapping[str, object]) -> object:
        """Call the function: an async one on this loop, any other in a thread of its own.

        A thread cannot be ended from outside: if this call is cancelled, what the function still does goes unseen.
        """
        if inspect.iscoroutinefunction(self.function):
            return await self.function(**arguments)
        result = await in_thread(functools.partial(self.function, **arguments), f"tool {self.name}")
        return await result if inspect.isawaitable(result) else result


@overload
def tool(function: ToolFunction, /) -> Tool: ...
@overload
def tool(*, name: str | None = None, timeout_s: float | None = None) -> Callable[[ToolFunction], Tool]: ...
def tool(
    function: ToolFunction | None = None,
    /,
    *,
    name: str | None = None,
    timeout_s: float | None = None,
    **others: Any,
) -> Tool | Callable[[ToolFunction], Tool]:
    """Make a function a tool: `@tool`, or `@tool(name="wiki", timeout_s=10)`.

    Name, description and types are the function's unless said otherwise. Raises TypeError for a function that a program
    cannot call: one with positional-only or `*` parameters, a generator, or one without a name.
    """
    check_options("@tool", others, ("name", "timeout_s"))
    _check_settings(name, timeout_s)
    if function is None:
        return lambda decorated: tool_of(decorated, name, timeout_s)
    return tool_of(function, name, timeout_s)


def tool_of(function: ToolFunction, name: str | None = None, timeout_s: float | None = None) -> Tool:
    """The tool that a function is; a tool keeps all that is not given. Raises TypeError and ValueError as `tool`."""
    _check_settings(name, timeout_s)
    if isinstance(function, Tool):
        return replace(
            function, name=name or function.name, timeout_s=function.timeout_s if timeout_s is None else timeout_s
        )
    if not callable(function):
        raise TypeError(f"a tool is {function!r:.60}, expected a function, as in @tool or tools=[wiki]")
    name = name or str(getattr(function, "__name__", ""))
    if not name.isidentifier():
        raise TypeError(f"a tool needs a name that programs can write, found {name!r}: give @tool(name=…)")
    check_function(function, f"tool {name}")
    hints = _hints(function)
    parameters = tuple(_parameter(item, hints, name) for item in inspect.signature(function).parameters.values())
    return Tool(name, inspect.getdoc(function) or "", parameters, hints.get("return"), function, timeout_s)


def _check_settings(name: object, timeout_s: object) -> None:
    """Raise TypeError for a setting of another type, ValueError for a time that is none."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f'a tool of name={name!r:.60}, expected a text: @tool(name="wiki")')
    if timeout_s is None:
        return
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, (int, float)):
        raise TypeError(f"a tool of timeout_s={timeout_s!r:.60}, expected a number of seconds: @tool(timeout_s=10)")
    if not timeout_s > 0:
        raise ValueError(f"timeout_s={timeout_s} of a tool, expected more than 0")


class ToolSet:
    """The tools of a run by name."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for item in tools:
            if item.name in self._tools:
                raise ValueError(f"two tools are named {item.name!r}")
            self._tools[item.name] = item

    @classmethod
    def of(cls, given: HostTools) -> ToolSet:
        """Tools given as a set, as functions by name, or as a sequence of tools or functions.

        Raises TypeError for what no program can call, ValueError for two tools of one name.
        """
        if isinstance(given, ToolSet):
            return given
        if isinstance(given, Mapping):
            return cls(tool_of(function, name) for name, function in given.items())
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            name = name_of(given)
            hint = f"tools=[{name}]" if callable(given) else "tools=[wiki]"
            raise TypeError(f"tools={name:.60}, expected a list of functions: {hint}")
        return cls(map(_listed, given))

    @property
    def names(self) -> tuple[str, ...]:
        """Names in the order in which the tools were given."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """The tool of this name."""
        return self._tools.get(name)


def _listed(function: Any) -> Tool:
    if callable(function):
        return tool_of(function)
    hint = f"tools=[{function}]" if isinstance(function, str) and function.isidentifier() else "tools=[wiki]"
    raise TypeError(f"tools has {function!r:.60}, expected a function, marked with @tool or not: {hint}")


def name_of(value: object) -> str:
    """What a function is called; the repr of anything else."""
    return str(getattr(value, "__name__", None) or repr(value)) if callable(value) else repr(value)


def check_options(what: str, others: Iterable[str], known: Sequence[str]) -> None:
    """Raise TypeError for the first keyword that is no option, with the one that is meant."""
    for name in others:
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"options: {', '.join(known)}"
        raise TypeError(f"{what} has no option {name!r}: {hint}")


def check_function(function: Callable[..., Any], what: str) -> None:
    """Raise TypeError for what is no function, or one with `yield`: in Python that would make a generator."""
    if not callable(function):
        raise TypeError(f"{what} is {function!r:.60}, expected a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"{what} is a generator function: `return` its value, do not `yield` it")


HostTools: TypeAlias = "ToolSet | Mapping[str, ToolFunction] | Sequence[Tool | ToolFunction]"
"""How a host gives tools to a run: as a set, as functions by name, or one after the other."""


def _parameter(item: inspect.Parameter, hints: Mapping[str, object], name: str) -> ToolParameter:
    if item.kind not in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY):
        raise TypeError(f"tool {name}: parameter {item} cannot be given by name; programs give every argument by name")
    return ToolParameter(item.name, hints.get(item.name), item.default is inspect.Parameter.empty)


def _hints(function: ToolFunction) -> Mapping[str, object]:
    """Annotations; where one names something that cannot be found, as written."""
    try:
        return get_type_hints(function)
    except Exception:  # noqa: BLE001 - evaluating an annotation runs the host's code
        return dict(getattr(function, "__annotations__", {}))
