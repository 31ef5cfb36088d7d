"""What the cache's bookkeeping costs: acquire and release of a cached prompt, eviction, in a small and in a full tree.

    python benchmarks/bookkeeping_cache.py [--json benchmarks/results/bookkeeping_cache.json]

Times are process time in microseconds: medians over many repetitions, so that other load on the machine matters less.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median

from radixkv.cache import Lease, PrefixCache
from radixkv.request import Namespace
from radixkv.tokens import TokenArray, token_array

BLOCK_SIZE = 16
VOCABULARY = 50_000
PROMPT = 8_192
PATH_NODES = 64
LEAF_TOKENS = 100
EVICTED = 64
REPETITIONS = 300
NAMESPACE = Namespace(model="benchmark")


def add_prompt(cache: PrefixCache, tokens: TokenArray) -> None:
    """Put a whole prompt into the tree, as a request would."""
    lease = cache.acquire(tokens, NAMESPACE, owner="fill")
    rest = tokens[lease.length :]
    cache.extend(lease, len(rest))
    cache.take_copies()
    cache.commit(lease, rest)
    cache.release(lease)


def random_tokens(random: Random, count: int) -> TokenArray:
    return token_array(random.choices(range(VOCABULARY), k=count))


def long_prompt(cache: PrefixCache, random: Random, length: int) -> TokenArray:
    """A prompt whose path has up to PATH_NODES nodes: other prompts branch off at as many places."""
    prompt = random_tokens(random, length)
    add_prompt(cache, prompt)
    step = length // (PATH_NODES - 1)
    for cut in range(step, length - step, step):
        add_prompt(cache, prompt[: cut - cut % BLOCK_SIZE] + random_tokens(random, BLOCK_SIZE))
    return prompt


def filled_cache(num_tokens: int, num_leaves: int) -> tuple[PrefixCache, TokenArray]:
    """A cache that is full: a long prompt, and prompts that share one of some system prompts, to `num_tokens`."""
    random = Random(num_tokens)
    blocks = num_tokens // BLOCK_SIZE
    cache = PrefixCache(blocks + num_leaves, BLOCK_SIZE)
    prompt = long_prompt(cache, random, PROMPT)
    systems = [random_tokens(random, 512) for _ in range(max(1, num_leaves // 400))]
    while cache.stats().cached_tokens < num_tokens:
        shared = systems[random.randrange(len(systems))] if random.random() < 0.9 else token_array()
        add_prompt(cache, shared + random_tokens(random, LEAF_TOKENS))
    return cache, prompt


def microseconds(action: Callable[[], object], prepare: Callable[[], object] = lambda: None) -> float:
    """Median process time of `action`; `prepare` runs before each repetition and is not counted."""
    times = []
    for _ in range(REPETITIONS):
        prepare()
        started = time.process_time_ns()
        action()
        times.append(time.process_time_ns() - started)
    return median(times) / 1_000


def measure(num_tokens: int, num_leaves: int) -> dict[str, float]:
    cache, prompt = filled_cache(num_tokens, num_leaves)
    leases: list[Lease] = []

    def acquire() -> None:
        leases.append(cache.acquire(prompt, NAMESPACE, owner="benchmark"))

    def release() -> None:
        while leases:
            cache.release(leases.pop())
        cache.take_copies()

    random = Random(1)

    def refill() -> None:
        while cache.stats().cached_tokens < num_tokens:
            add_prompt(cache, random_tokens(random, LEAF_TOKENS))

    acquire()
    facts = {
        "cached_tokens": cache.stats().cached_tokens,
        "leaves": len(cache.tree.order) + 1,
        "path_nodes": len(cache.tree.path(leases[0].tip)),
        "hit_tokens": leases[0].length,
    }
    release()
    gc.collect()
    times = {
        "acquire_us": microseconds(acquire, prepare=release),
        "release_us": microseconds(release, prepare=lambda: (release(), acquire())),
        "lookup_us": microseconds(lambda: cache.lookup(prompt, NAMESPACE)),
        "evict_64_blocks_us": microseconds(lambda: cache.evict(EVICTED), prepare=refill),
    }
    cache.check_integrity()
    return facts | {name: round(value, 1) for name, value in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    arguments = parser.parse_args()
    small = measure(num_tokens=10_000, num_leaves=100)
    full = measure(num_tokens=1_100_000, num_leaves=11_000)
    growth = {name: round(full[name] / small[name], 2) for name in full if name.endswith("_us")}
    targets = {"acquire_us": 100, "evict_64_blocks_us": 200, "growth": 2}
    note = "process time, medians; the garbage collector runs as it does by default, the tree not frozen"
    machine = {"load_average": round(os.getloadavg()[0], 1), "cores": os.cpu_count()}
    result = {"small": small, "full": full, "growth": growth, "targets": targets, "note": note, "machine": machine}
    print(json.dumps(result, indent=2))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
