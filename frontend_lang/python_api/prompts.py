"""Prompts: Python functions as programs, and whatever else can be called like them."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from frontend_lang.errors import ProgramError
from frontend_lang.events import Event, Listener
from frontend_lang.performing import RunSettings, Work, perform
from frontend_lang.python_api.arguments import bound_arguments, is_unbound_method
from frontend_lang.python_api.batches import BatchSettings, OnError, batch_async, checked_row, checked_rows, row_seeds
from frontend_lang.python_api.failures import unwrapped
from frontend_lang.python_api.frames import Author
from frontend_lang.python_api.promises import Promise
from frontend_lang.python_api.runs import Call, run_call, run_entry
from frontend_lang.python_api.runtimes import RUN_OPTIONS, RunOptions, taken_options, use_runtime
from frontend_lang.python_api.scopes import Scope, current_scope
from frontend_lang.python_api.state import State
from frontend_lang.python_api.streams import stream, stream_async
from frontend_lang.result import RunResult
from frontend_lang.running.limits import Limits
from frontend_lang.running.promises import Spawned
from frontend_lang.runtime import Runtime
from frontend_lang.seeds import Place
from frontend_lang.tools import HostTools, ToolSet, check_function, check_options

P = ParamSpec("P")
T = TypeVar("T")


class Runnable(ABC, Generic[P, T]):
    """Something that runs when it is called: `f(…)`, `await f.a(…)`, `f.run(…)`, `f.batch(rows)`, `f.stream(…)`.

    Every call takes keywords beside those of f: `runtime`, `seed`, `limits`, `on_event`, `data` (see RunOptions).
    Called within the body of a prompt it is a part of that run, in a fresh context, and takes none of them.
    Errors are ProgramErrors; exceptions that a Python body raises come out as they are. Whatever happens, when the
    call is over every context that it has opened is released.
    """

    name: str

    @abstractmethod
    def _check(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        """Raise TypeError for arguments that do not fit."""

    @abstractmethod
    def _work(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Work:
        """The work of a run of its own."""

    @abstractmethod
    async def _within(self, caller: Scope, place: Place, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        """The value of a call within a run."""

    def _settings(self, options: RunOptions) -> RunSettings:
        """What a run of its own is given."""
        return RunSettings(options.chosen_runtime, options.seed, options.limits, options.on_event, options.data)

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T: ...
    @overload
    def __call__(
        self,
        *args: Any,
        runtime: Runtime,
        seed: int | None = None,
        limits: Limits | None = None,
        on_event: Listener | None = None,
        **kwargs: Any,
    ) -> T: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The value. Raises E0810 inside a running event loop: there it is `await f.a(…)`."""
        scope = current_scope()
        if scope is not None and not scope.on_loop:
            with unwrapped():
                return scope.wait(self._nested(scope, args, kwargs))
        self._check_no_loop("")
        return self._run_sync(args, kwargs).value

    def run(self, *args: Any, **kwargs: Any) -> RunResult[T]:
        """A run of its own: value, names that were bound, usage, checks, seed, timing."""
        self._check_no_loop(".run")
        return self._run_sync(args, kwargs)

    def batch(
        self,
        rows: Iterable[Mapping[str, Any]],
        *,
        width: int = 64,
        on_error: OnError = "keep",
        **options: Any,
    ) -> list[Any]:
        """One run per row of keyword arguments, at most `width` at a time, and no more than the limit `live_branches`;
        values in the order of rows.

        A row that fails loses no other: its place holds the exception (`on_error="keep"`), None ("none"), or nothing
        ("drop"); "fail" ends the batch with it. Rows are pulled as they are needed; each draws its own seed from
        `seed`.
        """
        self._check_no_loop(".batch")
        return asyncio.run(self._batch(rows, width, on_error, options))

    def stream(self, *args: Any, **kwargs: Any) -> Iterator[Event]:
        """Run and give each event as it happens; `run.end` has the value. Leaving the loop early cancels the run."""
        self._check_no_loop(".stream")
        return stream(lambda listener: self._start(args, {**kwargs, "on_event": listener}))

    @property
    def a(self) -> AsyncFace[P, T]:
        """The same for async code."""
        return AsyncFace(self)

    def start(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Within the body of a prompt: begin the call and go on; the promise of its value."""
        scope = current_scope()
        if scope is None:
            raise ProgramError("E0702", f"`{self.name}.start` outside a prompt", f"{self.name}(…)")
        work = self._nested(scope, args, kwargs)

        def begin() -> Promise:
            making = Spawned(scope.run.spawn(work()))
            scope.begun.add(making)
            return Promise(making, f"`{self.name}`", scope)

        return scope.do(begin)

    def _nested(
        self, scope: Scope, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Callable[[], Coroutine[Any, Any, Any]]:
        """A call within a run; its place among the calls of the body is taken now."""
        self._check_no_options(kwargs)
        self._check(args, kwargs)
        site = f"{scope.path}.{self.name}"
        place = scope.place.branch(self.name, scope.ordinal(site))
        return lambda: self._within(scope, place, args, kwargs)

    def _check_no_options(self, named: Mapping[str, Any]) -> None:
        for option in RUN_OPTIONS:
            if option in named and option not in inspect.signature(self).parameters:
                hint = f"{self.name}.run(…, {option}=…) is a run of its own"
                raise TypeError(
                    f"{self.name} in the body of a prompt is part of its run and takes no {option!r}: {hint}"
                )

    def _run_sync(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunResult:
        return asyncio.run(self._start(args, kwargs))

    async def _start(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> RunResult:
        named = dict(kwargs)
        options = taken_options(named)
        self._check(args, named)
        return await _performed(self._settings(options), self._work(args, named))

    async def _batch(
        self, rows: Iterable[Mapping[str, Any]], width: int, on_error: OnError, options: dict[str, Any]
    ) -> list[Any]:
        chosen = taken_options(options)
        if options:
            raise TypeError(f"{self.name}.batch takes no {next(iter(options))!r}: rows have the arguments")
        runner = self._row_runner(chosen)
        settings = BatchSettings(width, on_error, (chosen.limits or Limits()).live_branches)
        return await batch_async(runner, checked_rows(rows), settings)

    def _row_runner(self, chosen: RunOptions) -> Callable[[Mapping[str, Any], int], Awaitable[Any]]:
        seeds = row_seeds(self.name, chosen.seed)
        settings = self._settings(chosen)

        async def one(row: Mapping[str, Any], index: int) -> Any:
            self._check((), checked_row(row, index))
            return (await _performed(replace(settings, seed=seeds(index)), self._work((), row))).value

        return one

    def _check_no_loop(self, method: str) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        call = f"{self.name}.a{method}(…)"
        hint = f"async for event in {call}" if method == ".stream" else f"await {call}"
        raise ProgramError("E0810", f"`{self.name}{method}` inside a running event loop", hint)


async def _performed(settings: RunSettings, work: Work) -> RunResult:
    """A run of its own, whose runtime is that of the runs which its bodies begin."""
    with unwrapped(), use_runtime(settings.runtime):
        return await perform(settings, work)


class AsyncFace(Generic[P, T]):
    """A runnable's async side: `await f.a(…)`, `await f.a.run(…)`, `await f.a.batch(rows)`, `f.a.stream(…)`."""

    def __init__(self, runnable: Runnable[P, T]) -> None:
        self._runnable = runnable

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, T]: ...
    @overload
    def __call__(
        self,
        *args: Any,
        runtime: Runtime,
        seed: int | None = None,
        limits: Limits | None = None,
        on_event: Listener | None = None,
        **kwargs: Any,
    ) -> Coroutine[Any, Any, T]: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        """The value. Within the body of a prompt, a call within its run."""
        scope = current_scope()
        if scope is None:
            return self._value(args, kwargs)
        if not scope.on_loop:
            name = self._runnable.name
            raise ProgramError("E0810", f"`{name}.a` in a sync body, which has no event loop", f"{name}(…)")
        return _unwrapping(self._runnable._nested(scope, args, kwargs))

    async def _value(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return (await self._runnable._start(args, kwargs)).value

    async def run(self, *args: Any, **kwargs: Any) -> RunResult[T]:
        """A run of its own."""
        return await self._runnable._start(args, kwargs)

    async def batch(
        self, rows: Iterable[Mapping[str, Any]], *, width: int = 64, on_error: OnError = "keep", **options: Any
    ) -> list[Any]:
        """See `Runnable.batch`."""
        return await self._runnable._batch(rows, width, on_error, options)

    def stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Event]:
        """See `Runnable.stream`."""
        return stream_async(lambda listener: self._runnable._start(args, {**kwargs, "on_event": listener}))


async def _unwrapping(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with unwrapped():
        return await work()


class Prompt(Runnable[P, T]):
    """A Python function as a program; made by `@prompt`. The function's first parameter is the context, a method's
    the second.
    """

    def __init__(self, function: Callable[Concatenate[State, P], Any], name: str | None, tools: HostTools) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f'prompt of name={name!r:.60}, expected a text: @prompt(name="solve")')
        name = name or getattr(function, "__name__", None)
        check_function(function, f"prompt {name}" if name else "a prompt")
        self.name = name or "prompt"
        self.function = function
        self.__name__ = self.name
        self.__doc__ = inspect.cleandoc(function.__doc__ or "") or None
        self.__module__ = function.__module__
        self.author = Author(self.name, ToolSet.of(tools))
        self.__signature__ = _without_context(function, self.name)

    def __get__(self, instance: object, owner: type | None = None) -> Prompt[Any, T]:
        """The prompt of a method, `@prompt def ask(self, s, …)`, bound to its object as a function is."""
        bind = getattr(self.function, "__get__", None)
        if instance is None or bind is None:
            return self
        return Prompt(bind(instance, owner), self.name, self.author.tools)

    def __repr__(self) -> str:
        return f"<prompt {self.name}{self.__signature__}>"

    def _check(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> None:
        if is_unbound_method(self.function):
            raise TypeError(f"prompt {self.name} is a method: call it of an object, not of its class")
        bound_arguments(f"prompt {self.name}", self.__signature__, arguments, named)

    def _work(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> Work:
        call = Call(self.function, self.author, arguments, named)
        return lambda run: run_entry(run, call)

    async def _within(self, caller: Scope, place: Place, arguments: Sequence[Any], named: Mapping[str, Any]) -> Any:
        return await run_call(caller, Call(self.function, self.author, arguments, named), place)


def _without_context(function: Callable[..., Any], name: str) -> inspect.Signature:
    """The parameters that a caller gives. Raises TypeError for a function that cannot be a prompt."""
    if isinstance(function, Runnable):
        raise TypeError(f"prompt {name} is one already: call it, or `s.use` it in another context")
    try:
        signature = inspect.signature(function)
    except ValueError as error:
        raise TypeError(f"prompt {name}: {error}") from None
    first, *rest = signature.parameters.values() or (None,)
    reserved = [item.name for item in rest if item is not None and item.name in RUN_OPTIONS]
    if first is None or reserved:
        what = f"parameter {reserved[0]!r} is the run's" if reserved else "the first parameter is the context"
        raise TypeError(f"prompt {name}: {what}")
    return signature.replace(parameters=[item for item in rest if item is not None])


@overload
def prompt(function: Callable[Concatenate[State, P], Coroutine[Any, Any, T]], /) -> Prompt[P, T]: ...
@overload
def prompt(function: Callable[Concatenate[State, P], T], /) -> Prompt[P, T]: ...
@overload
def prompt(*, name: str | None = None, tools: HostTools = ()) -> PromptMaker: ...
def prompt(
    function: Callable[..., Any] | None = None, /, *, name: str | None = None, tools: HostTools = (), **others: Any
) -> Any:
    """Make a function a prompt: `@prompt`, or `@prompt(tools=[wiki])`. Its body may be sync or async.

    `name` begins the sites that seeds are drawn from; `tools` are what the body may `invoke`.
    Raises TypeError for a generator, for a function without a context, or with a parameter named as a run option.
    """
    check_options("@prompt", others, ("name", "tools"))
    maker = PromptMaker(name, tools)
    return maker if function is None else maker(function)


class PromptMaker:
    """`@prompt(…)`."""

    def __init__(self, name: str | None, tools: HostTools) -> None:
        self._name = name
        self._tools = tools

    @overload
    def __call__(self, function: Callable[Concatenate[State, P], Coroutine[Any, Any, T]], /) -> Prompt[P, T]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[State, P], T], /) -> Prompt[P, T]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        """The prompt that a function is."""
        return Prompt(function, self._name, self._tools)
