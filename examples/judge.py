"""A jury, as in judge.rkv: the essay is computed once, every judge continues from it.

python examples/judge.py examples/essay.txt
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from frontend_lang import State, gen, prompt, select, use_runtime
from radixkv.programs import local_runtime

ESSAY = Path(__file__).with_name("essay.txt")


@prompt
def judge(s: State, essay: str, dims: Sequence[str] = ("clarity", "evidence", "style")) -> dict[str, Any]:
    s.system("You are a strict editor.")
    s.user(essay)

    def one(b: State, dim: str) -> dict[str, Any]:
        b.user(f"Judge the {dim} in one sentence, then give a score from 1 to 5.")
        with b.assistant():
            b += gen("why", max=60, stop="\n")
            b += "\nScore: "
            b += select("score", ["1", "2", "3", "4", "5"])
        return {"dim": dim, "score": int(b["score"]), "why": b["why"].strip()}

    marks = s.fork_over(dims, one).all()
    s.user("Write a one-line verdict given:\n", marks)
    s.assistant(gen("verdict", max=60))
    return {"mean": mean(mark["score"] for mark in marks), "marks": marks, "verdict": s["verdict"].strip()}


if __name__ == "__main__":
    with local_runtime() as runtime, use_runtime(runtime):
        print(json.dumps(judge(Path(sys.argv[1] if sys.argv[1:] else ESSAY).read_text("utf-8")), indent=2))
