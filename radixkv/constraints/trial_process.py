"""The process in which a grammar is tried before the engine's own process touches it.

    python -m radixkv.constraints.trial_process

Compiling is native code that nothing in the same process can interrupt, and some small grammars take minutes or
gigabytes of it. Here the system does: this process may take so much memory, and so much processor time per grammar,
and is ended at the limit. Messages are msgpack behind a length of 4 bytes: first a VocabularyMessage, then
grammars (text), each answered by a TrialReport.
"""

from __future__ import annotations

import resource
import signal
import sys
import time
from pathlib import Path
from typing import IO, Final

import msgspec
from llguidance import LLMatcher, LLTokenizer

from radixkv.constraints.native import TokenVocabulary, native_matcher, native_tokenizer

CPU_SECONDS: Final = 0.8  # for compiling and trying a grammar; the engine's own compilation then takes no longer
MEMORY: Final = 192 * 2**20  # bytes that a grammar may take
WALK_STEPS: Final = 24
STEP_SECONDS: Final = 0.1  # of processor time
_LENGTH: Final = 4


class VocabularyMessage(msgspec.Struct, frozen=True):
    """A TokenVocabulary without its encoder."""

    tokens: list[bytes]
    special_ids: list[int]
    eos_ids: list[int]


class TrialReport(msgspec.Struct, frozen=True):
    """What came of a grammar. `slow`: a step took so many seconds; `dead`: no text satisfies it."""

    error: str = ""
    warnings: list[str] = []
    slow: float = 0.0
    dead: bool = False
    bytes_kept: int = 0


def read_message(stream: IO[bytes]) -> bytes:
    """The next message; empty at the end of the stream."""
    return stream.read(int.from_bytes(stream.read(_LENGTH), "little"))


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Send a message."""
    stream.write(len(data).to_bytes(_LENGTH, "little") + data)
    stream.flush()


def main() -> None:
    """Serve until the parent closes the stream."""
    tokenizer = _tokenizer(msgspec.msgpack.decode(read_message(sys.stdin.buffer), type=VocabularyMessage))
    _limit_memory()
    write_message(sys.stdout.buffer, msgspec.msgpack.encode(TrialReport()))
    while data := read_message(sys.stdin.buffer):
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)  # nobody handles its signal, which ends the process
        report = _try(tokenizer, data.decode())
        signal.setitimer(signal.ITIMER_PROF, 0)
        write_message(sys.stdout.buffer, msgspec.msgpack.encode(report))


def _tokenizer(given: VocabularyMessage) -> LLTokenizer:
    """Forced text is tokenised by the longest tokens here, which needs no model's tokenizer."""

    def encode(text: str) -> list[int]:
        return tokenizer.greedy_tokenize(text)

    tokenizer = native_tokenizer(TokenVocabulary(given.tokens, given.special_ids, given.eos_ids, encode))
    return tokenizer


def _try(tokenizer: LLTokenizer, grammar: str) -> TrialReport:
    before = _status("VmRSS:")
    matcher = native_matcher(tokenizer, grammar)
    if matcher.is_error():
        return TrialReport(matcher.get_error())
    warnings = matcher.get_grammar_warnings()
    slow, dead = _walk(tokenizer, matcher)
    return TrialReport("", warnings, slow, dead, max(0, _status("VmRSS:") - before))


def _walk(tokenizer: LLTokenizer, matcher: LLMatcher) -> tuple[float, bool]:
    """Follow a grammar for some tokens; how long its slowest step took if too long, and whether it cannot begin.

    A choice goes through the vocabulary in strides, so that different tokens come.
    """
    for step in range(WALK_STEPS):
        begin = time.process_time()
        matcher.compute_ff_bytes()
        mask = bytearray(matcher.compute_bitmask()) if not matcher.is_stopped() else bytearray()
        seconds = time.process_time() - begin
        if seconds > STEP_SECONDS:
            return seconds, False
        token_id = _pick(mask, tokenizer, step)
        if token_id is None:
            return 0.0, not step and not matcher.is_accepting()
        matcher.consume_token(token_id)
    return 0.0, False


def _pick(mask: bytearray, tokenizer: LLTokenizer, step: int) -> int | None:
    """An allowed token that is no end of sequence."""
    for token_id in tokenizer.eos_tokens:
        if token_id // 8 < len(mask):
            mask[token_id // 8] &= ~(1 << token_id % 8)
    start = step * 7919 % (len(mask) or 1)
    turned = mask[start:] + mask[:start]
    zeros = len(turned) - len(turned.lstrip(b"\0"))
    if zeros == len(turned):
        return None
    bits = turned[zeros]
    return (start + zeros) % len(mask) * 8 + (bits & -bits).bit_length() - 1


def _limit_memory() -> None:
    taken = _status("VmSize:")
    if taken:
        resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def _status(name: str) -> int:
    """Bytes of an entry of this process's status; 0 where the system has none."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


if __name__ == "__main__":
    main()
