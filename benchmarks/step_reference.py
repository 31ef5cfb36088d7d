"""Time of whole steps on the reference backend, random weights of SmolLM2-135M's shape.

    python benchmarks/step_reference.py [--json FILE] [--quick]

Per dtype: milliseconds per decode step at 1 and 16 rows over a context of 256 and of 1024 tokens, with the parts that
attention and sampling take, and prefill tokens per second. Best of several runs. Before any timing, a row of
the batch is compared with the same sequence run alone.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from radixkv.models import Biases, Decoder, ModelConfig, Rope
from radixkv.request import SamplingParams
from radixkv.runner import Runner
from radixkv.step_plan import SamplingState, SequencePlan, StepPlan
from radixkv.tokens import token_array
from radixkv_kernels.protocols import AttentionBatch, AttentionSpec, KVLayout
from radixkv_kernels.reference import ReferenceAttention

VOCAB_SIZE = 49152
SHAPE = ModelConfig(
    architecture="LlamaForCausalLM",
    vocab_size=VOCAB_SIZE,
    hidden_size=576,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
    intermediate_size=1536,
    norm_eps=1e-5,
    rope=Rope(theta=100_000.0),
    windows=(None,) * 30,
    biases=Biases(),
    qk_norm=False,
    tied=True,
    max_context=8192,
)
SAMPLINGS = {
    "greedy": SamplingParams(temperature=0.0),
    "temperature": SamplingParams(),
    "top_p": SamplingParams(temperature=0.8, top_p=0.95),
    "penalties": SamplingParams(temperature=0.0, repetition_penalty=1.1, frequency_penalty=0.1),
    "logprobs": SamplingParams(temperature=0.0, logprobs=5),
}


class TimedAttention(ReferenceAttention):
    """The reference, with a clock on plan, write_kv and run."""

    seconds = 0.0

    def _timed(self, call: Callable[[], Tensor | None]) -> Tensor | None:
        start = time.perf_counter()
        result = call()
        self.seconds += time.perf_counter() - start
        return result

    def plan(self, batch: AttentionBatch) -> None:
        self._timed(lambda: super(TimedAttention, self).plan(batch))

    def write_kv(self, layer: int, key: Tensor, value: Tensor) -> None:
        self._timed(lambda: super(TimedAttention, self).write_kv(layer, key, value))

    def run(self, layer: int, query: Tensor, spec: AttentionSpec) -> Tensor:
        result = self._timed(lambda: super(TimedAttention, self).run(layer, query, spec))
        assert result is not None
        return result


def make_runner(dtype: torch.dtype, num_blocks: int) -> tuple[Runner, TimedAttention]:
    torch.manual_seed(0)
    decoder = Decoder(SHAPE)
    for parameter in decoder.parameters():
        torch.nn.init.normal_(parameter, std=0.02) if parameter.dim() == 2 else torch.nn.init.ones_(parameter)
    layout = KVLayout(SHAPE.num_layers, num_blocks, 16, SHAPE.num_kv_heads, SHAPE.head_dim, dtype)
    attention = TimedAttention(layout)
    attention.storage.blocks.normal_()  # decode steps are timed over contexts that nobody had to compute
    return Runner(decoder.to(dtype), attention, vocab_size=VOCAB_SIZE), attention


def blocks_of(row: int, context: int) -> tuple[int, ...]:
    count = context // 16 + 1
    return tuple(range(row * count, (row + 1) * count))


def sequence(row: int, context: int, start: int, count: int, params: SamplingParams | None) -> SequencePlan:
    ids = token_array((7919 * (row + 1) * (i + 1)) % VOCAB_SIZE for i in range(start, start + count))
    state = None
    if params is not None:
        history = token_array((31 * i) % VOCAB_SIZE for i in range(200)) if params.repetition_penalty != 1 else ids
        state = SamplingState(params, row, 0, start, prompt_ids=history, output_ids=history)
    return SequencePlan(row, ids, start, blocks_of(row, context), state)


def best_ms(call: Callable[[], object], runs: int) -> float:
    best = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def time_prefill(runner: Runner, context: int, chunk: int) -> int:
    """Fill one sequence in chunks; tokens per second."""
    start = time.perf_counter()
    for first in range(0, context, chunk):
        count = min(chunk, context - first)
        runner.run(StepPlan(0, (sequence(0, context, first, count, None),)))
    return round(context / (time.perf_counter() - start))


def time_decode(
    runner: Runner, attention: TimedAttention, rows: int, context: int, params: SamplingParams, runs: int
) -> dict[str, float]:
    plan = StepPlan(0, tuple(sequence(row, context, context, 1, params) for row in range(rows)))
    runner.run(plan)
    attention.seconds = 0.0
    total = best_ms(lambda: runner.run(plan), runs)
    return {"step_ms": round(total, 2), "attention_ms": round(attention.seconds / runs * 1000, 2)}


def check_batch(runner: Runner, context: int, rows: int) -> None:
    """A row of a batch is the same sequence alone."""
    params = SamplingParams(temperature=0.0, logprobs=0)
    batch = tuple(sequence(row, context, context, 1, params) for row in range(rows))
    together = runner.run(StepPlan(0, batch)).sequences[rows - 1].logprobs[0].logprob
    alone = runner.run(StepPlan(0, batch[-1:])).sequences[0].logprobs[0].logprob
    if abs(together - alone) > 1e-3:
        raise SystemExit(f"a row of a batch has log-probability {together}, alone {alone}")


def measure(dtype: torch.dtype, runs: int, contexts: tuple[int, ...]) -> dict[str, object]:
    rows = 16
    results: dict[str, object] = {}
    for context in contexts:
        runner, attention = make_runner(dtype, rows * (context // 16 + 1))
        results[f"prefill_tokens_per_s_of_{context}"] = max(time_prefill(runner, context, 512) for _ in range(2))
        if dtype == torch.float32:
            check_batch(runner, context, rows)
        for count in (1, rows):
            results[f"decode_{count}_rows_context_{context}"] = time_decode(
                runner, attention, count, context, SAMPLINGS["greedy"], runs
            )
    for name, params in SAMPLINGS.items():
        timed = time_decode(runner, attention, rows, contexts[-1], params, runs)
        results[f"decode_{rows}_rows_{name}_ms"] = timed["step_ms"]
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true", help="one context, few runs")
    options = parser.parse_args()
    runs, contexts = (3, (256,)) if options.quick else (10, (256, 1024))
    results: dict[str, object] = {"threads": torch.get_num_threads()}
    for dtype in (torch.float32, torch.bfloat16):
        results[str(dtype).removeprefix("torch.")] = measure(dtype, runs, contexts)
    text = json.dumps(results, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
