"""What a body handles and what is no value itself: neither a text can have it in it, nor what the body returns."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, ClassVar

from frontend_lang.errors import ProgramError


class Handle:
    """Refuses to be made text: an f-string or a `%s` with it would put its name into a prompt. Its repr stays."""

    called: ClassVar[str]  # what it is, in words
    for_text: ClassVar[str]  # what to do where text is wanted
    for_value: ClassVar[str]  # what to return instead

    def __str__(self) -> str:
        raise ProgramError("E0402", f"{self.called} in a text", self.for_text)

    def __format__(self, spec: str) -> str:
        return str(self)

    def outcome(self) -> Awaitable[Any]:
        """What it stands for where values are waited for. Raises E0402 if that is nothing."""
        raise ProgramError("E0402", f"{self.called} is no value", self.for_value)
