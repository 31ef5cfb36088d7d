"""Names of a running program."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from frontend_lang.errors import ProgramError
from frontend_lang.modules import Module
from frontend_lang.running.contexts import Context
from frontend_lang.running.details import GenDetail
from frontend_lang.running.strands import Strand
from frontend_lang.seeds import Place
from frontend_lang.values import Value

Promise = asyncio.Task[Value]


class Frame:
    """Names of the program, a def call, a branch or a comprehension; `outer` is what a branch may read, not change.

    A name may be bound to a promise: a call that runs while the frame goes on. Whoever uses the name waits for it.
    """

    def __init__(self, names: Mapping[str, Value] | None = None, outer: Frame | None = None) -> None:
        self.names: dict[str, Value | Promise] = dict(names or {})
        self._outer = outer
        self._details: dict[str, GenDetail] = {}
        self._promises: list[Promise] = []

    def bind(self, name: str, value: Value | Promise, detail: GenDetail | None = None) -> None:
        """Declare or rebind a name of this frame; gen and select bring a detail."""
        self.names[name] = value
        self._details.pop(name, None)
        if detail is not None:
            self._details[name] = detail

    def assign(self, name: str, value: Value | Promise) -> None:
        """Change a declared name."""
        self.check_assignable(name)
        self.bind(name, value)

    def check_assignable(self, name: str) -> None:
        """Raises E0312 for a name of an outer frame, E0305 for one that nothing declares."""
        if name in self.names:
            return
        if self._outer is not None and self._outer.find(name) is not None:
            raise ProgramError("E0312", f"a branch cannot change the outer name `{name}`", "yield the value instead")
        raise ProgramError("E0305", f"`{name}` is not declared", f"let {name} = …")

    def find(self, name: str) -> Frame | None:
        """The innermost frame that has the name."""
        frame: Frame | None = self
        while frame is not None and name not in frame.names:
            frame = frame._outer
        return frame

    def lookup(self, name: str) -> Value | Promise:
        """What the name is bound to. Raises E0301."""
        frame = self.find(name)
        if frame is None:
            raise ProgramError("E0301", f"unknown name `{name}`")
        return frame.names[name]

    def detail(self, name: str) -> GenDetail | None:
        """What the gen or select that bound the name has left with it."""
        frame = self.find(name)
        return None if frame is None else frame._details.get(name)

    def own(self, promise: Promise) -> Promise:
        """Take over a promise: it ends with this frame at the latest."""
        self._promises.append(promise)
        return promise

    @property
    def begun(self) -> int:
        """How many promises this frame has taken over; what to give to `settle` and `close` for those that follow."""
        return len(self._promises)

    async def settle(self, since: int = 0) -> None:
        """Wait for all promises in the order of their start; the first error, in this order, is raised."""
        for task in self._promises[since:]:
            await asyncio.shield(task)

    async def close(self, since: int = 0) -> None:
        """Cancel what still runs and wait until it has ended. Errors of promises that nobody asked for are dropped."""
        ending, self._promises[since:] = self._promises[since:], []
        for task in ending:
            task.cancel()
        if ending:
            await asyncio.wait(ending)
            for task in ending:
                if not task.cancelled():
                    task.exception()  # mark it as seen


@dataclass(frozen=True, slots=True)
class Env:
    """Where a node is run: its module (defs, types, file of errors), names, context, place for seeds, strand, path,
    call depth, gen defaults (`set`, fork options).
    """

    module: Module
    frame: Frame
    context: Context
    place: Place
    strand: Strand
    path: str
    depth: int = 0
    defaults: Mapping[str, Value] = field(default_factory=dict)

    def looped(self, index: int) -> Env:
        """Inside round `index` of a loop."""
        return replace(self, place=self.place.loop(index))

    def with_defaults(self, options: Mapping[str, Value]) -> Env:
        """With further gen defaults."""
        return replace(self, defaults={**self.defaults, **options})
