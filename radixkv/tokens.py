"""Token ids travel as int32 arrays that are made once and never changed after."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final, TypeAlias

TokenArray: TypeAlias = "array[int]"  # typecode "i": 4 bytes an id, sliced and compared in C


def token_array(ids: Iterable[int] = ()) -> TokenArray:
    """An array of token ids. Raises OverflowError for an id outside int32, TypeError for what is no integer."""
    if isinstance(ids, bytes | bytearray):  # which array() would take for the memory of another array
        raise TypeError("token ids: got bytes, expected integers")
    return array("i", ids)


NO_TOKENS: Final = token_array()
