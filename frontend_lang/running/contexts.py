"""The contexts of a run: text is buffered here and reaches the runtime at the next commit point, all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field

from frontend_lang.errors import ProgramError
from frontend_lang.runtime import ContextId, Fork, Part, Role, RoleClose, RoleOpen, Runtime, RuntimeFailure, Text
from frontend_lang.values import checked_text


@dataclass(slots=True)
class Context:
    """A growing prompt. `id` is None until the runtime has to know it; a def that only computes never opens one.

    `pending` has not reached the runtime; `written` is all text that was appended in this branch, without roles.
    """

    id: ContextId | None = None
    role: Role | None = None
    pending: list[Part] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def add_text(self, text: str, trusted: bool) -> None:
        """Append text."""
        if text:
            self.pending.append(Text(text, trusted))
            self.written.append(text)

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

    def text(self) -> str:
        """What this branch has appended. Raises E0808 beyond the size of a string."""
        return checked_text("".join(self.written))

    def take_over(self, child: Context) -> None:
        """Go on as `child`, whose runtime context has been adopted."""
        self.pending, self.role = child.pending, child.role
        self.written.extend(child.written)
        child.id = None


class ContextPool:
    """Every live context of a run is known here, so that none outlives it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._live: set[ContextId] = set()
        self._releasing: set[asyncio.Task[None]] = set()

    async def flush(self, context: Context) -> ContextId:
        """Open the context if need be and hand over what is pending; its id."""
        if context.id is None:
            context.id = await self._runtime.open()
            self._live.add(context.id)
        if context.pending:
            parts, context.pending = context.pending, []
            await self._runtime.append(context.id, parts)
        return context.id

    async def fork(self, context: Context, count: int) -> tuple[list[Context], Fork]:
        """`count` children of a context, in its open role."""
        parent = await self.flush(context)
        forked = await self._runtime.fork(parent, count)
        self._live.update(forked.children)
        return [Context(child, context.role) for child in forked.children], forked

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
