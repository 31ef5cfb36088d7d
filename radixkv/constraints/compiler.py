"""Constraints compiled: once per distinct one, tried in another process first, bounded in number and memory."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from llguidance import LLTokenizer

from radixkv.constraint import Constrained, Constraint
from radixkv.constraints.diagnosis import dead_end, diagnose, over_budget
from radixkv.constraints.grammar import field_of, native_grammar
from radixkv.constraints.matcher import Bits, Matcher, all_but
from radixkv.constraints.native import TokenVocabulary, native_matcher, native_tokenizer
from radixkv.constraints.trial import Trial, TrialFailed
from radixkv.errors import ConstraintError, ConstraintKind
from radixkv.tokens import token_array

MAX_COMPILED: Final = 256
BUDGET_SECONDS: Final = 60.0
MAX_BYTES_KEPT: Final = 256 * 2**20

Key: TypeAlias = tuple[Constraint, str]


@dataclass(frozen=True)
class CompiledConstraint:
    """A constraint that is ready. `matcher` stands behind the opening; sequences get copies of it."""

    constrained: Constrained
    matcher: Matcher
    bytes_kept: int


@dataclass(frozen=True)
class _Refusal:
    """A constraint that cannot be used, until a time of the monotonic clock."""

    error: ConstraintError
    until: float

    @classmethod
    def of(cls, error: ConstraintError) -> _Refusal:
        """For ever, but what was over budget may fit another time."""
        passing = error.kind is ConstraintKind.BUDGET
        return cls(error, time.monotonic() + BUDGET_SECONDS if passing else math.inf)


class ConstraintCompiler:
    """Compiles constraints and remembers them, those that cannot be used too. May be used from several threads."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        self.vocabulary = vocabulary
        self._trial = Trial(vocabulary)
        self._lock = threading.Lock()
        self._known: OrderedDict[Key, CompiledConstraint | _Refusal] = OrderedDict()
        self._bytes_kept = 0
        self.compiled = 0  # how many were compiled, found again ones not counted

    def find(self, constraint: Constraint, prefix: str = "") -> CompiledConstraint | None:
        """A constraint that was compiled before; None where it has to be. Raises the ConstraintError it had then."""
        with self._lock:
            known = self._known.get((constraint, prefix))
            if known is not None:
                self._known.move_to_end((constraint, prefix))
        if not isinstance(known, _Refusal):
            return known
        if time.monotonic() > known.until:
            return None
        raise ConstraintError(known.error.kind, known.error.field, known.error.detail)

    def compile(self, constraint: Constraint, prefix: str = "") -> CompiledConstraint:
        """The constraint, ready; the text before what it governs is `prefix`. Takes at most some 2 s, mostly a few ms.

        Raises ConstraintError, also where other constraints took the time. One over budget is refused without a trial
        for the next BUDGET_SECONDS: a busy machine may have been the cause.
        """
        known = self.find(constraint, prefix)
        if known is not None:
            return known
        try:
            compiled = self._compile(constraint, prefix)
        except ConstraintError as error:
            if not isinstance(error.__cause__, TrialFailed) or not error.__cause__.busy:
                self._remember((constraint, prefix), _Refusal.of(error))
            raise
        self._remember((constraint, prefix), compiled)
        return compiled

    def close(self) -> None:
        """End the processes in which constraints are tried."""
        self._trial.close()

    def _compile(self, constraint: Constraint, prefix: str) -> CompiledConstraint:
        grammar = native_grammar(constraint, prefix)
        bytes_kept = self._try(constraint, prefix, grammar)
        with self._lock:
            self.compiled += 1
            tokenizer, not_eos = self._tokenizer, self._not_eos
        matcher = Matcher(native_matcher(tokenizer, grammar), field_of(constraint), not_eos)
        opening = matcher.begin()
        if opening.error is not None:
            raise opening.error
        constrained = Constrained(constraint, prefix, token_array(opening.forced), opening.complete)
        return CompiledConstraint(constrained, matcher, bytes_kept)

    @cached_property
    def _tokenizer(self) -> LLTokenizer:
        return native_tokenizer(self.vocabulary)

    @cached_property
    def _not_eos(self) -> Bits:
        return all_but(self._tokenizer.vocab_size, self._tokenizer.eos_tokens)

    def _try(self, constraint: Constraint, prefix: str, grammar: str) -> int:
        """Try the grammar; bytes that it takes."""
        try:
            report = self._trial.run(grammar)
        except TrialFailed as error:
            raise over_budget(field_of(constraint), str(error)) from error
        if report.error or report.warnings:
            raise diagnose(constraint, report.error or report.warnings[0])
        if report.slow:
            raise over_budget(field_of(constraint), f"a step takes {report.slow:.1f} s")
        if report.dead:
            raise dead_end(constraint, prefix)
        return report.bytes_kept

    def _remember(self, key: Key, found: CompiledConstraint | _Refusal) -> None:
        with self._lock:
            self._forget(self._known.pop(key, None))
            self._known[key] = found
            self._bytes_kept += found.bytes_kept if isinstance(found, CompiledConstraint) else 0
            while len(self._known) > MAX_COMPILED or (self._bytes_kept > MAX_BYTES_KEPT and len(self._known) > 1):
                self._forget(self._known.popitem(last=False)[1])

    def _forget(self, known: CompiledConstraint | _Refusal | None) -> None:
        if isinstance(known, CompiledConstraint):
            self._bytes_kept -= known.bytes_kept
