"""Token ids to text, as they come."""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Sequence
from typing import Final

NO_IDS: Final[frozenset[int]] = frozenset()


class Detokenizer:
    """Turns a stream of ids into text that is final: what was returned never changes.

    Works on bytes: characters that are incomplete stay back until their last byte has come. Bytes that
    cannot be UTF-8 become U+FFFD, one for each maximal part of a character (Unicode 15, section 3.9), so
    the pieces joined equal the decoding of all bytes at once and never hold a lone surrogate.

    `token_bytes[id]`: bytes by id. `hidden`: ids that show no text. `strip_space`: one space at the very
    start is dropped. Cost: linear in the bytes.
    """

    def __init__(
        self, token_bytes: Sequence[bytes], *, hidden: frozenset[int] = NO_IDS, strip_space: bool = False
    ) -> None:
        self._token_bytes = token_bytes
        self._hidden = hidden
        self._strip_space = strip_space
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, ids: Iterable[int]) -> str:
        """Text that these ids complete. Raises IndexError for an id outside the vocabulary."""
        table, hidden = self._token_bytes, self._hidden
        data = b"".join([table[token_id] for token_id in ids if token_id not in hidden])
        if self._strip_space and data:
            self._strip_space = False
            data = data.removeprefix(b" ")
        return self._decoder.decode(data)

    @property
    def pending(self) -> bool:
        """Whether the last id ended inside a character, whose first bytes are held back."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """What an incomplete character at the end leaves: U+FFFD or nothing. A second call gives nothing."""
        text = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return text
