"""One output followed through a grammar: what may come next, and what must."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np
from llguidance import LLMatcher
from llguidance.numpy import fill_next_token_bitmask

from radixkv.constraints.diagnosis import outgrown, over_budget
from radixkv.step_plan import Continuation

STEP_SECONDS: Final = 0.5  # one token's share; more ends the request

Bits: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"


class Matcher:
    """Where an output stands in its grammar. `allowed`: one bit for each token that may come next, low bits first.

    A step is bounded by the limits of `native`, some 20 ms, and takes mostly far under 1 ms.
    `not_eos`: all bits but those of end-of-sequence ids; shared, never written.
    """

    def __init__(self, native: LLMatcher, field: str, not_eos: Bits) -> None:
        self._native = native
        self._field = field
        self._not_eos = not_eos
        self.allowed = not_eos  # (4 * words,), until it has begun

    def copy(self) -> Matcher:
        """One that goes on from here by itself."""
        other = Matcher(self._native.deep_copy(), self._field, self._not_eos)
        other.allowed = self.allowed
        return other

    def begin(self) -> Continuation:
        """What comes first."""
        return self._go_on(time.perf_counter())

    def advance(self, token_id: int) -> Continuation:
        """Take the sampled token and those that it forces; whether anything can follow them."""
        begin = time.perf_counter()
        self._native.consume_token(token_id)
        return self._go_on(begin)

    def _go_on(self, begin: float) -> Continuation:
        native = self._native
        forced = () if native.is_stopped() else tuple(native.compute_ff_tokens())
        if forced:
            native.consume_tokens(list(forced))
        complete = native.is_stopped() or not self._look_ahead()
        if native.is_error():
            return Continuation(error=outgrown(self._field, native.get_error()))
        if complete and not native.is_accepting():
            return Continuation(error=over_budget(self._field, "it leads to where no token fits"))
        seconds = time.perf_counter() - begin
        if seconds > STEP_SECONDS:
            return Continuation(error=over_budget(self._field, f"a step takes {seconds:.1f} s"))
        return Continuation(forced, complete)

    def _look_ahead(self) -> bool:
        """Fill `allowed`; whether more may come than the end of the text."""
        words = np.zeros((1, len(self._not_eos) // 4), np.int32)
        fill_next_token_bitmask(self._native, words)
        self.allowed = words.view(np.uint8)[0]
        return bool((self.allowed & self._not_eos).any())


def all_but(vocab_size: int, token_ids: Iterable[int]) -> Bits:
    """Bits of all tokens of a vocabulary but some, whole 32-bit words."""
    bits = np.zeros((vocab_size + 31) // 32 * 32, np.uint8)
    bits[:vocab_size] = 1
    bits[list(token_ids)] = 0
    return np.packbits(bits, bitorder="little")
