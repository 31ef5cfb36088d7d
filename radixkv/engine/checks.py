"""Types of what a caller gives, checked at the edge: the engine thread must never be the one to find out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from radixkv.engine.verbs import Norm, Part, RoleClose, RoleOpen, Text
from radixkv.errors import InvalidRequest
from radixkv.request import SamplingParams

_LARGEST: Final = 2**31 - 1


def check_text(field: str, value: object) -> None:
    """Raises InvalidRequest unless it is a text."""
    if not isinstance(value, str):
        raise InvalidRequest(field, value, "a text")


def check_int(field: str, value: object, low: int, high: int = _LARGEST) -> None:
    """Raises InvalidRequest unless it is an integer of that range; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidRequest(field, value, f"an integer from {low} to {high}")


def check_priority(value: object) -> None:
    """Raises InvalidRequest unless it is an integer, 32 bits with sign."""
    check_int("priority", value, -_LARGEST)


def check_sampling(value: object) -> None:
    """Raises InvalidRequest unless it is a SamplingParams."""
    if not isinstance(value, SamplingParams):
        raise InvalidRequest("sampling", value, "a SamplingParams, such as SamplingParams(max_tokens=16)")


def checked_parts(parts: object) -> Sequence[Part]:
    """The parts of an append. Raises InvalidRequest for one that is none."""
    allowed = "a list of Text, RoleOpen and RoleClose, of texts"
    if not isinstance(parts, list | tuple):
        raise InvalidRequest("parts", parts, allowed)
    for index, part in enumerate(parts):
        match part:
            case Text(str()) | RoleOpen(str()) | RoleClose():
                continue
        raise InvalidRequest(f"parts[{index}]", part, allowed)
    return parts


def check_options(options: object) -> None:
    """Raises InvalidRequest unless they are a list of texts, at least one, none empty."""
    allowed = "a list of at least one text, none of them empty"
    if not isinstance(options, list | tuple) or not options:
        raise InvalidRequest("options", options, allowed)
    for index, option in enumerate(options):
        if not isinstance(option, str) or not option:
            raise InvalidRequest(f"options[{index}]", option, allowed)


def checked_norm(norm: object) -> Norm:
    """The norm, by itself or by its name. Raises InvalidRequest."""
    if isinstance(norm, str) and norm in list(Norm):
        return Norm(norm)
    raise InvalidRequest("norm", norm, f"one of {', '.join(Norm)}")
