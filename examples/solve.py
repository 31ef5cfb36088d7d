"""Self-consistency, as in solve.rkv: eight attempts share one prompt, the most frequent answer wins.

python examples/solve.py "A box holds 12 eggs. How many eggs are in 3 boxes?"
"""

from __future__ import annotations

import sys

from frontend_lang import State, gen, prompt, use_runtime
from radixkv.programs import local_runtime

QUESTION = "A box holds 12 eggs. How many eggs are in 3 boxes?"


@prompt
def solve(s: State, q: str = QUESTION) -> int:
    s.user(f"{q}\nThink step by step. End with 'Answer: <integer>'.")

    def attempt(b: State) -> object:
        with b.assistant():
            b += gen("why", max=60, stop="Answer:")
            b += "Answer: "
            b += gen("a", type=int, max=6)
        return b["a"]

    return s.fork(8, attempt, temp=0.6).vote()


if __name__ == "__main__":
    with local_runtime() as runtime, use_runtime(runtime):
        print(solve(*sys.argv[1:]))
