"""The bytes that a token of a tokenizer.json stands for, by the decoder that the file names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from radixkv.errors import UnsupportedModel
from radixkv.tokenizer.vocabulary import byte_level_bytes

_BYTE_TOKEN: Final = re.compile(r"<0x([0-9A-Fa-f]{2})>")


@dataclass(frozen=True)
class TokenDecoder:
    """`byte_level`: tokens are spelled in byte symbols. Otherwise `replacements` are made in their text,
    and with `byte_fallback` a token such as <0x0A> is that byte.
    """

    byte_level: bool = False
    replacements: tuple[tuple[str, str], ...] = ()
    byte_fallback: bool = False
    strips_first_space: bool = False

    def token_bytes(self, text: str) -> bytes:
        """Bytes of one token, as in the middle of a text."""
        if self.byte_level:
            return byte_level_bytes(text)
        byte = _BYTE_TOKEN.fullmatch(text) if self.byte_fallback else None
        if byte is not None:
            return bytes([int(byte[1], 16)])
        for old, new in self.replacements:
            text = text.replace(old, new)
        return text.encode()


def token_decoder(file: str, spec: dict[str, Any]) -> TokenDecoder:
    """The decoder of a tokenizer.json; raises UnsupportedModel for a step that we cannot follow by bytes."""
    steps = list(_steps(spec.get("decoder")))
    kinds = {step["type"] for step in steps}
    if "ByteLevel" in kinds or not steps:
        return TokenDecoder(byte_level=True)
    replacements, strips = [], False
    for step in steps:
        match step:
            case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)}:
                replacements.append((old, new))
            case {"type": "Metaspace", "replacement": str(old)}:
                replacements.append((old, " "))
                strips = strips or _prepends(step)
            case {"type": "Strip", "content": " ", "start": int(start), "stop": 0} if start <= 1:
                strips = strips or start == 1
            case {"type": "ByteFallback" | "Fuse"}:
                pass
            case _:
                raise UnsupportedModel(
                    f"{file}: decoder step {step!r} is not supported; supported: ByteLevel, Metaspace, Replace of a "
                    "string, ByteFallback, Fuse, Strip of one leading space"
                )
    return TokenDecoder(
        replacements=tuple(replacements), byte_fallback="ByteFallback" in kinds, strips_first_space=strips
    )


def _steps(decoder: Any) -> Iterator[dict[str, Any]]:
    if not isinstance(decoder, dict):
        return
    if decoder.get("type") == "Sequence":
        for part in decoder["decoders"]:
            yield from _steps(part)
    else:
        yield decoder


def _prepends(step: dict[str, Any]) -> bool:
    """Whether a Metaspace step put a space before the first word (older files say `add_prefix_space`)."""
    scheme = step.get("prepend_scheme")
    return bool(step.get("add_prefix_space", True)) if scheme is None else scheme != "never"
