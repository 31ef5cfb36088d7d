"""What one running body has: its scope, its context, the names that it has bound, what it has yet to account for."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.promises import Promise, is_over, making_of
from frontend_lang.python_api.scopes import Scope
from frontend_lang.running.contexts import Appended, Context
from frontend_lang.running.generating import Asked
from frontend_lang.running.operations import Where, tell
from frontend_lang.running.promises import Begun, Spawned
from frontend_lang.running.promises import Promise as Making
from frontend_lang.seeds import Place
from frontend_lang.tools import ToolSet
from frontend_lang.values import Value


@dataclass(frozen=True)
class Author:
    """The prompt whose body it is: its name, which begins the sites of its gens, and the tools that it may call."""

    name: str
    tools: ToolSet


@dataclass(frozen=True)
class Named:
    """What a name is bound to."""

    promise: Promise
    asked: Asked


@dataclass(eq=False)
class Frame:
    """All but `scope.do` runs on the loop's thread, or while that thread waits for the body's."""

    scope: Scope
    context: Context
    author: Author
    outer: Frame | None = None
    defaults: dict[str, Value] = field(default_factory=dict)
    names: dict[str, Named] = field(default_factory=dict)
    _begun: deque[Promise] = field(default_factory=deque)
    _effects: deque[Promise] = field(default_factory=deque)

    def site(self, what: str) -> str:
        """The site of something in this prompt."""
        return f"{self.author.name}.{what}"

    def where(self, place: Place | None = None) -> Where:
        """Where an operation is queued."""
        scope = self.scope
        return Where(self.context, scope.strand, place or scope.place, scope.path, scope.begun)

    def round(self, site: str) -> Place:
        """The place of the next thing at this site: each time another one."""
        return self.scope.place.loop(self.scope.ordinal(site))

    def find(self, name: str) -> Named:
        """What the name is bound to here or in a body around. Raises E0301."""
        frame: Frame | None = self
        while frame is not None:
            if name in frame.names:
                return frame.names[name]
            frame = frame.outer
        known = ", ".join(self.names) or "none"
        raise ProgramError("E0301", f"unknown name `{name}`", f"bound so far: {known}")

    def prepare(self) -> None:
        """Before an operation is queued: the context goes on after an error that the body has been told of."""
        self.scope.strand.steps.step()
        if self.scope.told_of_failure:
            self.scope.told_of_failure = False
            if self.context.last is not None and self.context.last.done() and self.context.last.failed:
                self.context.recover()

    def promise(self, making: Making[Any], name: str) -> Promise:
        """The promise of something begun; it is accounted for at the end."""
        self.scope.strand.start_all()
        return self._account(self._begun, Promise(making, name, self.scope))

    def effect(self, name: str, work: Callable[[], Awaitable[Any]]) -> Promise:
        """Do something that can be seen from outside, after all such things before it have ended."""
        self.prepare()
        before = making_of(self._effects[-1]) if self._effects else None

        async def in_turn() -> Any:
            if isinstance(before, Begun):
                await before.ended()
            return await work()

        making = Spawned(self.scope.run.spawn(in_turn()))
        self.scope.begun.add(making)
        self.scope.strand.start_all()
        return self._account(self._effects, Promise(making, name, self.scope))

    def _account(self, unaccounted: deque[Promise], promise: Promise) -> Promise:
        while unaccounted and is_over(unaccounted[0]):
            unaccounted.popleft()
        unaccounted.append(promise)
        return promise

    async def settle_effects(self) -> None:
        """Wait for effects. Raises an error that the body has not been told of."""
        await self._settle(self._effects)

    async def settle_all(self) -> None:
        """Wait for all that was begun, and for the context."""
        await self._settle(self._begun)
        await self._settle(self._effects)
        if self.context.last is None or not self.context.last.failed:
            await self.context.drain(self.scope.strand)

    async def _settle(self, unaccounted: deque[Promise]) -> None:
        for promise in tuple(unaccounted):
            if not is_over(promise):
                await making_of(promise).wait(self.scope.strand)

    def tell_text(self, appended: Appended) -> None:
        """The event of what was appended: now, or when all that stands before it is known."""
        if self.context.up_to_date():
            tell(self.scope.run, self.context, [appended])
        else:
            self.context.tell_later(appended)

    def tell(self, event: str, data: Mapping[str, object]) -> None:
        """Emit an event of this body."""
        if self.scope.run.events.active:
            self.scope.run.events.emit(event, data, ctx=self.context.id or "", path=self.scope.path)
