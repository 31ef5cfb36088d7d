"""Text with its trust, and chat messages."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Segment:
    """A stretch of text. Special and added tokens are recognised in trusted text only."""

    text: str
    trusted: bool = False


@dataclass(frozen=True)
class Message:
    """One message of a chat. `content` is untrusted text."""

    role: str
    content: str
