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
        self._matchers: dict[str, dict[int, Matcher]] = {}  # by request, then choice

    def __len__(self) -> int:
        return sum(map(len, self._matchers.values()))

    def open(self, request: Request) -> None:
        """A request begins. Its constraint was compiled by who submitted it. Raises ConstraintError."""
        if request.constraint is not None:
            compiled = self.compiler.compile(request.constraint.constraint, request.constraint.prefix)
            self._open[request.request_id] = compiled

    def close(self, request_id: str) -> None:
        """A request has ended, all choices of it; harmless when it had no constraint."""
        self._open.pop(request_id, None)
        self._matchers.pop(request_id, None)

    def forget(self, request_id: str, choice: int) -> None:
        """A choice has ended."""
        self._matchers.get(request_id, {}).pop(choice, None)

    def allowed(self, constraint_id: ConstraintId) -> Bits:
        """One bit for each token that may come next, (ceil(vocab_size / 8),) uint8, low bits first."""
        return self._matcher(constraint_id).allowed

    def advance(self, sampled: Sequence[tuple[ConstraintId, int]]) -> list[Continuation]:
        """What follows each sampled token."""
        return [self._matcher(constraint_id).advance(token_id) for constraint_id, token_id in sampled]

    def _matcher(self, constraint_id: ConstraintId) -> Matcher:
        request_id, choice = constraint_id
        matchers = self._matchers.setdefault(request_id, {})
        matcher = matchers.get(choice)
        if matcher is None:
            matcher = matchers[choice] = self._open[request_id].matcher.copy()
        return matcher
