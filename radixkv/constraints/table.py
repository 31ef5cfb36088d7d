"""The matchers of the engine's live sequences, by request and choice."""

from __future__ import annotations

from collections.abc import Sequence

from radixkv.constraints.compiler import CompiledConstraint, ConstraintCompiler
from radixkv.constraints.matcher import Bits, Matcher
from radixkv.request import Request
from radixkv.step_plan import ConstraintId, Continuation


class ConstraintTable:
    """What the runner asks about constraints. Belongs to the engine's thread.

    A choice gets its matcher at its first step and keeps it while it is preempted.
    """

    def __init__(self, compiler: ConstraintCompiler) -> None:
        self.compiler = compiler
        self._open: dict[str, CompiledConstraint] = {}
        self._matchers: dict[ConstraintId, Matcher] = {}

    def __len__(self) -> int:
        return len(self._matchers)

    def open(self, request: Request) -> None:
        """A request begins. Its constraint was compiled by who submitted it. Raises ConstraintError."""
        if request.constraint is not None:
            compiled = self.compiler.compile(request.constraint.constraint, request.constraint.prefix)
            self._open[request.request_id] = compiled

    def close(self, request_id: str) -> None:
        """A request has ended, all choices of it; harmless when it had no constraint."""
        if self._open.pop(request_id, None) is not None:
            self._matchers = {key: matcher for key, matcher in self._matchers.items() if key[0] != request_id}

    def forget(self, request_id: str, choice: int) -> None:
        """A choice has ended."""
        self._matchers.pop((request_id, choice), None)

    def allowed(self, constraint_id: ConstraintId) -> Bits:
        """One bit for each token that may come next, (ceil(vocab_size / 8),) uint8, low bits first."""
        return self._matcher(constraint_id).allowed

    def advance(self, sampled: Sequence[tuple[ConstraintId, int]]) -> list[Continuation]:
        """What follows each sampled token."""
        return [self._matcher(constraint_id).advance(token_id) for constraint_id, token_id in sampled]

    def _matcher(self, constraint_id: ConstraintId) -> Matcher:
        matcher = self._matchers.get(constraint_id)
        if matcher is None:
            matcher = self._matchers[constraint_id] = self._open[constraint_id[0]].matcher.copy()
        return matcher
