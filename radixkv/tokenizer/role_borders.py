"""Opening and closing roles one at a time, so that the text equals the template's for the whole chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import takewhile
from typing import Final

from radixkv.errors import ChatTemplateError

_CACHED_HISTORIES: Final = 1024
_CACHED_VIEWS: Final = 16  # a role's views are looked at when it opens, when it closes and when the next one opens
_ROLES: Final = ("user", "assistant", "system")


class RoleBorders:
    """Splits the text between two contents into what closes the first and what opens the second.

    A template writes a whole chat at once, so it may write a message differently depending on what follows.
    Therefore each history is seen in several *views*: going on with each role, ending there, and ending with a
    generation prompt. What closes a role is what all views agree on (whole special tokens only); what opens the
    next is the rest. Results are kept per history of roles; one costs five runs of the template.

    `probe(roles, add_generation_prompt)` runs the template with `mark(i)` as the content of message i;
    `marker` finds any of them.
    """

    def __init__(
        self,
        probe: Callable[[tuple[str, ...], bool], str],
        mark: Callable[[int], str],
        marker: re.Pattern[str],
        atoms: Callable[[str], list[str]],
    ) -> None:
        self._probe = probe
        self._mark = mark
        self._marker = marker
        self._atoms = atoms
        self._opened = lru_cache(_CACHED_HISTORIES)(self._find_opened)
        self._closed = lru_cache(_CACHED_HISTORIES)(self._find_closed)
        self._try = lru_cache(_CACHED_VIEWS)(self._run)

    def opening(self, history: tuple[str, ...], role: str) -> str:
        """Text between the closing of `history` and the content of a message of `role`."""
        before = self._closed_text(history)
        opened = self._opened(history, role)
        return opened[len(before) : -len(self._mark(len(history)))]

    def closing(self, roles: tuple[str, ...]) -> str:
        """Text that closes the last of `roles`."""
        closed = self._closed_text(roles)
        return closed[len(self._opened(roles[:-1], roles[-1])) :]

    def _closed_text(self, roles: tuple[str, ...]) -> str:
        for length in range(1, len(roles)):  # shortest first, so that each finds its predecessor in the cache
            self._closed(roles[:length])
        return self._closed(roles)

    def _find_opened(self, history: tuple[str, ...], role: str) -> str:
        """Text of the chat, markers for contents, up to and with the marker of the new message."""
        before, mark = self._closed(history), self._mark(len(history))
        wanted = (*history, role)
        if role == "assistant":
            prompted = self._try(history, True)
            adds = len(prompted) > len(before) and prompted.startswith(before)
            if adds and any(view.startswith(prompted + mark) for view in self._views(wanted)):
                return prompted + mark
        for view in self._views(wanted):
            head, found, _ = view[len(before) :].partition(mark)
            if found and view.startswith(before) and self._marker.search(head) is None:
                return before + head + mark
        return self._refuse(history, role)

    def _find_closed(self, roles: tuple[str, ...]) -> str:
        """Text of the chat, markers for contents, up to where the next role opens."""
        if not roles:
            return ""
        opened = self._opened(roles[:-1], roles[-1])
        tails = [view[len(opened) :] for view in self._views(roles) if view.startswith(opened)]
        ending = self._try(roles, False).rpartition(self._mark(len(roles) - 1))
        if ending[1]:  # how the chat ends there counts even if the template writes what comes before differently
            tails.append(ending[2])
        atoms = [self._atoms(self._marker.split(tail, 1)[0]) for tail in tails]
        return opened + "".join(_common_start(atoms))

    def _views(self, roles: tuple[str, ...]) -> Iterator[str]:
        """Texts of chats that begin with these roles, the likeliest continuation first; empty if refused."""
        likeliest = "assistant" if roles[-1] == "user" else "user"
        yield self._try((*roles, likeliest), False)
        yield self._try(roles, False)
        for other in _ROLES:
            if other != likeliest:
                yield self._try((*roles, other), False)
        yield self._try(roles, True)

    def _run(self, roles: tuple[str, ...], add_generation_prompt: bool) -> str:
        try:
            return self._probe(roles, add_generation_prompt)
        except ChatTemplateError:
            return ""

    def _refuse(self, history: tuple[str, ...], role: str) -> str:
        roles = (*history, role)
        self._probe(roles, False)  # raises what the template has to say
        raise ChatTemplateError(
            f"the model's chat template cannot be followed role by role: with roles {', '.join(roles)} it leaves out, "
            "moves or rewrites an earlier message"
        )


def _common_start(sequences: list[list[str]]) -> list[str]:
    equal = takewhile(lambda column: len(set(column)) == 1, zip(*sequences, strict=False))
    return [column[0] for column in equal]
