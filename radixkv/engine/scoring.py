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
Step: TypeAlias = tuple[Ids, int]  # a token after a beginning of an option
StepLogprobs: TypeAlias = Mapping[Step, float]


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
        return tuple(ScoreTarget(context_length - 1 + len(before), token_id) for before, token_id in self.steps)


def plan_runs(options: Sequence[Ids]) -> list[ScoringRun]:
    """The requests that answer every step of all options, none twice.

    The beginnings of the options form a trie: one run for each of its longest paths, each step asked in the first
    run that passes it. Growth: number of options times their length squared.
    """
    wanted: dict[Ids, set[int]] = {}
    for option in options:
        for depth, token_id in enumerate(option):
            wanted.setdefault(option[:depth], set()).add(token_id)
    inner = {path[:-1] for path in wanted if path}
    asked: set[Ids] = set()
    runs = []
    for path in sorted(path for path in wanted if path not in inner):
        new = [beginning for depth in range(len(path) + 1) if (beginning := path[:depth]) not in asked]
        asked.update(new)
        runs.append(ScoringRun(path, tuple((before, token) for before in new for token in sorted(wanted[before]))))
    return runs


def option_logprobs(option: Ids, answers: StepLogprobs) -> tuple[float, ...]:
    """Log-probability of each token of an option."""
    return tuple(answers[option[:depth], token_id] for depth, token_id in enumerate(option))


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
