"""Scoring options as continuations of a context: which rows to ask for, and what to make of the answers.

An option's tokens come from tokenising it together with the re-opened end of the context. Leading tokens that
all options share tell nothing about the choice and count as context, so "Label: " + "good" and "Label:" + " good"
score the same, in every vocabulary. (Of a single option only the re-opened text's own tokens count as context.)
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from radixkv.engine.verbs import Norm
from radixkv.request import Namespace, ScoreTarget
from radixkv.tokens import TokenArray, token_array

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True)
class Step:
    """A token after a beginning of an option: `depth` is that beginning's length, `node` names the two together."""

    depth: int
    token_id: int
    node: int


@dataclass(frozen=True)
class ScoringRun:
    """One request of a scoring: the context continued by `path`, with the steps that its rows answer, by position."""

    path: Ids
    steps: tuple[Step, ...]

    def prompt(self, context: TokenArray) -> TokenArray:
        """The request's prompt."""
        return context + token_array(self.path)

    def targets(self, context_length: int) -> tuple[ScoreTarget, ...]:
        """The request's targets, sorted by position; a step's row is the last token before it."""
        return tuple(ScoreTarget(context_length - 1 + step.depth, step.token_id) for step in self.steps)


class OptionTrie:
    """The beginnings of some options, each a numbered node; 0 is the empty one. Built in time linear in the tokens."""

    def __init__(self, options: Sequence[Ids]) -> None:
        self._next: list[dict[int, int]] = [{}]  # of each node: token -> the node of the beginning with that token
        for option in options:
            self._insert(option)

    def runs(self) -> list[ScoringRun]:
        """The requests that answer every step of all options, none twice.

        One run for each of the longest paths that tokens follow on, smallest tokens first; each step is asked in the
        first run that passes it. Growth: the tokens of the trie and of the runs' paths.
        """
        runs: list[ScoringRun] = []
        path: list[int] = []
        steps: list[Step] = []
        ahead: list[tuple[int, int, int]] = [(0, 0, 0)]  # node, its depth, its last token
        while ahead:
            node, depth, token_id = ahead.pop()
            if depth:
                path[depth - 1 :] = [token_id]
            following = sorted(self._next[node].items())
            steps += [Step(depth, token, child) for token, child in following]
            inner = [(child, depth + 1, token) for token, child in following if self._next[child]]
            ahead += reversed(inner)
            if not inner:
                runs.append(ScoringRun(tuple(path), tuple(steps)))
                steps = []
        return runs

    def logprobs(self, option: Ids, answers: Mapping[int, float]) -> tuple[float, ...]:
        """Log-probability of each token of an option; `answers` are those of all steps, by node."""
        node, logprobs = 0, []
        for token_id in option:
            node = self._next[node][token_id]
            logprobs.append(answers[node])
        return tuple(logprobs)

    def _insert(self, option: Ids) -> None:
        node = 0
        for token_id in option:
            child = self._next[node].get(token_id)
            if child is None:
                child = self._next[node][token_id] = len(self._next)
                self._next.append({})
            node = child


def num_shared_tokens(options: Sequence[Ids]) -> int:
    """Leading tokens that all of them have in common, leaving each at least one."""
    count = 0
    for column in zip(*(option[:-1] for option in options), strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    return count


def normalise(
    norm: Norm, options: Sequence[Ids], logprobs: Sequence[Sequence[float]], prior: Sequence[float]
) -> list[float]:
    """One score per option; `prior` (sums without the context) is looked at by Norm.PRIOR alone."""
    match norm:
        case Norm.TOKENS:
            return [math.fsum(row) / len(row) for row in logprobs]
        case Norm.SUM:
            return [math.fsum(row) for row in logprobs]
        case Norm.PRIOR:
            return [math.fsum(row) - base for row, base in zip(logprobs, prior, strict=True)]
        case Norm.GREEDY:
            return _greedy(options, logprobs)


def _greedy(options: Sequence[Ids], logprobs: Sequence[Sequence[float]]) -> list[float]:
    """Rounds that an option survives, plus exp(mean) / 2 to order those that fall in the same round.

    In each round the options whose next token is the likeliest stay, those that have ended stay too.
    """
    rounds = [0] * len(options)
    alive = list(range(len(options)))
    for depth in range(max(map(len, options))):
        ongoing = [index for index in alive if depth < len(options[index])]
        if not ongoing:
            break
        best = max(logprobs[index][depth] for index in ongoing)
        alive = [index for index in alive if depth >= len(options[index]) or logprobs[index][depth] == best]
        for index in alive:
            rounds[index] += 1
    return [count + math.exp(math.fsum(row) / len(row)) / 2 for count, row in zip(rounds, logprobs, strict=True)]


def softmax(scores: Sequence[float]) -> tuple[float, ...]:
    """Probabilities of the scores; all equal where every score is minus infinity."""
    top = max(scores)
    weights = [1.0 if score == top else math.exp(score - top) for score in scores]
    total = math.fsum(weights)
    return tuple(weight / total for weight in weights)


class ScoreMemo:
    """Log-probabilities of options scored before, the least recently used forgotten first.

    KV cannot give them again without computing the options' rows, so a repeated program would pay for them.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[tuple[Namespace, bytes, Ids], tuple[float, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, namespace: Namespace, context: bytes, option: Ids) -> tuple[float, ...] | None:
        """What the option scored after the context of that digest."""
        key = (namespace, context, option)
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, namespace: Namespace, context: bytes, option: Ids, logprobs: tuple[float, ...]) -> None:
        """Remember."""
        self._entries[namespace, context, option] = logprobs
        if len(self._entries) > self._capacity:
            self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget all."""
        self._entries.clear()


def context_digest(context: TokenArray) -> bytes:
    """SHA-256 of the ids."""
    return hashlib.sha256(context.tobytes()).digest()
