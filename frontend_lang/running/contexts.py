"""The contexts of a run: text is buffered here and reaches the runtime at the next commit point, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from frontend_lang.errors import ProgramError
from frontend_lang.running.promises import Promise
from frontend_lang.running.strands import Strand
from frontend_lang.runtime import ContextId, Fork, Part, Role, RoleClose, RoleOpen, Runtime, RuntimeFailure, Text
from frontend_lang.values import checked_text, text_of

if TYPE_CHECKING:
    from frontend_lang.running.operations import Operation


@dataclass(frozen=True, slots=True)
class LateText:
    """The text of a value that is still being made, at the place where it will stand."""

    promise: Promise[Any]

    def known(self) -> Text:
        """The text, once the promise is done. Raises its error."""
        return Text(text_of(self.promise.result()), trusted=False)


@dataclass(frozen=True, slots=True)
class Appended:
    """Marks the end of what one statement has appended, for the event that tells of it; `pieces` is its text."""

    pieces: Sequence[str | Promise[Any]]
    role: Role | None
    path: str

    def text(self) -> str:
        """The text, once all promises in it are done."""
        return "".join([piece if isinstance(piece, str) else text_of(piece.result()) for piece in self.pieces])


Pending: TypeAlias = Part | LateText | Appended


@dataclass(slots=True)
class Context:
    """A growing prompt. `id` is None until the runtime has to know it; a def that only computes never opens one.

    `last` is the operation that was queued last, `pending` what was appended since then, `written` all text that was
    appended in this branch, without roles. `carried` is what operations have left for the next one to append first.
    """

    id: ContextId | None = None
    role: Role | None = None
    pending: list[Pending] = field(default_factory=list)
    written: list[str | Promise[Any]] = field(default_factory=list)
    carried: list[Part] = field(default_factory=list)
    last: Operation[Any] | None = None
    late: bool = False  # `pending` has something that cannot be told of yet

    def add_text(self, text: str, trusted: bool) -> None:
        """Append text."""
        if text:
            self.pending.append(Text(text, trusted))
            self.written.append(text)

    def add_promise(self, promise: Promise[Any]) -> None:
        """Append the text of a value, whatever it will be."""
        self.pending.append(LateText(promise))
        self.written.append(promise)
        self.late = True

    def open_role(self, role: Role) -> None:
        """Open a role. Raises E0316 inside another one."""
        if self.role is not None:
            raise ProgramError("E0316", f"`{role}` inside `{self.role}`", "close the outer role before it")
        self.role = role
        self.pending.append(RoleOpen(role))

    def close_role(self) -> None:
        """Close the open role."""
        self.role = None
        self.pending.append(RoleClose())

    def up_to_date(self) -> bool:
        """Whether nothing that was appended or queued is still to be told of."""
        return not self.late and (self.last is None or self.last.done())

    def tell_later(self, appended: Appended) -> None:
        """The event of a statement's text has to wait for what stands before it or in it."""
        self.pending.append(appended)
        self.late = True

    def take(self) -> list[Pending]:
        """What is pending, which is the taker's from now on."""
        taken, self.pending, self.late = self.pending, [], False
        return taken

    async def drain(self, strand: Strand) -> None:
        """Wait until every operation has ended and every pending text is known. Raises the first error."""
        if self.last is not None:
            await self.last.wait(strand)
        for part in self.pending:
            if isinstance(part, LateText):
                await part.promise.wait(strand)

    async def text(self, strand: Strand) -> str:
        """What this branch has appended. Raises E0808 beyond the size of a string."""
        pieces = [
            piece if isinstance(piece, str) else text_of(await piece.wait(strand)) for piece in tuple(self.written)
        ]
        return checked_text("".join(pieces))

    def recover(self) -> None:
        """Go on after an error that has been caught: what has failed has appended nothing.

        Every operation must have ended.
        """
        self.last = None
        self.pending = [part for part in self.pending if not isinstance(part, LateText) or _well(part.promise)]
        self.written = [piece for piece in self.written if isinstance(piece, str) or _well(piece)]

    def take_over(self, child: Context) -> None:
        """Go on as `child`, whose runtime context has been adopted and in which everything is settled."""
        self.carried = child.carried + settled_parts(child.take())
        child.id = None


class ContextPool:
    """Every live context of a run is known here, so that none outlives it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._live: set[ContextId] = set()
        self._releasing: set[asyncio.Task[None]] = set()

    async def flush(self, context: Context, parts: Sequence[Part] = ()) -> ContextId:
        """Open the context if need be and hand over what is carried and `parts`; its id."""
        if context.id is None:
            context.id = await self._runtime.open()
            self._live.add(context.id)
        if context.carried or parts:
            ready, context.carried = [*context.carried, *parts], []
            await self._runtime.append(context.id, ready)
        return context.id

    async def fork(self, parent: ContextId, role: Role | None, count: int) -> tuple[list[Context], Fork]:
        """`count` children of a context that has been flushed; `role` is the one that was open there."""
        forked = await self._runtime.fork(parent, count)
        self._live.update(forked.children)
        return [Context(child, role) for child in forked.children], forked

    async def adopt(self, parent: Context, child: Context) -> None:
        """The parent goes on as the child. The child's pending text stays pending."""
        target, gone = await self.flush(parent), child.id
        if gone is not None:
            await self._runtime.adopt(target, gone)
            self._live.discard(gone)
            parent.take_over(child)

    async def release(self, contexts: Iterable[Context]) -> None:
        """Release contexts; those that never opened or are gone cost nothing.

        Goes on if the caller is cancelled; `close` waits for it.
        """
        ids = [context.id for context in contexts if context.id is not None and context.id in self._live]
        if not ids:
            return
        self._live.difference_update(ids)
        releasing = asyncio.get_running_loop().create_task(self._release(ids))
        self._releasing.add(releasing)
        releasing.add_done_callback(self._releasing.discard)
        await asyncio.shield(releasing)

    async def close(self) -> None:
        """Release whatever is still live and wait for releases that are under way."""
        while self._releasing:
            await asyncio.wait(self._releasing)
        ids = list(self._live)
        self._live.clear()
        await self._release(ids)

    async def _release(self, ids: Iterable[ContextId]) -> None:
        for context in ids:
            with suppress(RuntimeFailure):  # a runtime that is gone has released everything
                await self._runtime.release(context)


def _well(promise: Promise[Any]) -> bool:
    """Whether it has ended with a value."""
    return promise.done() and not promise.failed


def settled_parts(pending: Iterable[Pending]) -> list[Part]:
    """Parts as the runtime takes them, once every promise in them is done."""
    return [part.known() if isinstance(part, LateText) else part for part in pending if not isinstance(part, Appended)]
