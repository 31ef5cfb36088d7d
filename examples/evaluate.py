"""Batch evaluation, as in eval.rkv: one prompt on every row of a file, 64 at a time; a bad row loses no other.

python examples/evaluate.py examples/reviews.jsonl
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import mean

from frontend_lang import State, prompt, select, use_runtime
from radixkv.programs import local_runtime

REVIEWS = Path(__file__).with_name("reviews.jsonl")
SHOTS = [("Loved it", "positive"), ("Broke in a day", "negative"), ("Great sound, poor battery", "mixed")]


@prompt
def sentiment(s: State, review: str) -> str:
    s += "Label each review as positive, negative or mixed.\n"
    for text, label in SHOTS:
        s += f"Review: {text}\nLabel: {label}\n"
    s += f"Review: {review}\n"
    s += "Label:"
    s += select("label", [" positive", " negative", " mixed"])
    return s["label"].strip()


def evaluate(file: Path = REVIEWS) -> dict[str, float]:
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    labels = sentiment.batch([{"review": row["text"]} for row in rows], width=64)
    hits = [label == row["label"] for label, row in zip(labels, rows, strict=True) if isinstance(label, str)]
    return {"n": len(hits), "accuracy": mean(hits)}


if __name__ == "__main__":
    with local_runtime() as runtime, use_runtime(runtime):
        print(evaluate(*map(Path, sys.argv[1:2])))
