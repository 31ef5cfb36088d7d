"""Seeds depend on the place in the program alone."""

from __future__ import annotations

import random
from hashlib import blake2b

import pytest

from frontend_lang.runtime import ContextId
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from frontend_lang.seeds import MAX_SEED, Place, encode, request_seed
from scripted_programs import failure_of, run_on


def test_canonical_encoding() -> None:
    place = Place().branch("main.fork1", 2).loop(5).call("f").loop(1)
    expected = (
        b"\x07" + bytes(7)
        + b"\x05\0\0\0" b"gen12"
        + b"\x02\0\0\0"
        + b"\x0a\0\0\0main.fork1" + b"\x02\0\0\0"
        + b"\x01\0\0\0f" + b"\0\0\0\0"
        + b"\x02\0\0\0" + b"\x05\0\0\0" + b"\x01\0\0\0"
        + b"\x03\0\0\0"
    )  # fmt: skip
    assert encode(7, "gen12", place, 3) == expected
    assert request_seed(7, "gen12", place, 3) == int.from_bytes(blake2b(expected).digest()[:8], "little") & MAX_SEED


def test_golden_seeds() -> None:
    """Once released, these never change: a seed that a user wrote down must keep its meaning."""
    assert [
        request_seed(0, "gen1", Place()),
        request_seed(7, "solve.gen1", Place().branch("solve.fork1", 3), 1),
        request_seed(MAX_SEED, "f.gen2", Place().call("call1").loop(9)),
    ] == [6163383632741092740, 2892244774855105674, 3921584657576847674]


PROGRAM = """def f(x: str) -> str { user x
assistant gen a
return a }
let p = f("1")
let q = f("1")
for x in range(3) as i { fork 3 { gen a
repeat 2 { gen b } } }
fork y in ["u", "v"] { let r = [f(y) for k in range(2)]
yield r }
gen c with tries=2 until usage().forks == usage().forks
return [p, q]"""


def seeds_of(runtime: ScriptedRuntime, seed: int) -> list[int]:
    run_on(runtime, PROGRAM, seed=seed)
    return sorted(call.params.seed for call in runtime.generations)


def test_seeds_do_not_depend_on_the_schedule() -> None:
    draw = random.Random(5)

    def jitter(verb: str, context: ContextId) -> float:
        return draw.random() * 0.002

    plain = seeds_of(ScriptedRuntime(lambda prompt, call: "a b"), 7)
    assert len(plain) == 2 + 9 * 3 + 4 + 1
    assert len(set(plain)) == len(plain)
    assert all(0 <= seed <= MAX_SEED for seed in plain)
    for _ in range(3):
        assert seeds_of(ScriptedRuntime(lambda prompt, call: "a b", delay=jitter), 7) == plain
    assert not set(seeds_of(ScriptedRuntime(lambda prompt, call: "a b"), 8)) & set(plain)


def test_results_that_depend_on_seeds_do_not_depend_on_the_schedule() -> None:
    def answer(prompt: str, call: ScriptedCall) -> str:
        return str(call.params.seed % 5)

    def value(delay: float) -> object:
        runtime = ScriptedRuntime(answer, delay=lambda verb, context: delay * (hash((verb, context)) % 3))
        return run_on(runtime, "return fork 9 { gen a\nyield a } join vote", seed=3).value

    assert len({str(value(delay)) for delay in (0.0, 0.0005, 0.001)}) == 1


def test_layout_and_other_defs_leave_seeds_alone() -> None:
    def seeds(source: str) -> list[int]:
        runtime = ScriptedRuntime(lambda prompt, call: "a")
        run_on(runtime, source, seed=1, entry="f")
        return [call.params.seed for call in runtime.generations]

    plain = seeds("def f() { gen a }")
    assert seeds("# comment\n\ndef g() { gen z }\ndef f() {\n  gen a\n}") == plain


def test_seed_option_takes_the_place_of_the_run_seed() -> None:
    def seeds(run_seed: int) -> list[int]:
        runtime = ScriptedRuntime(lambda prompt, call: "a")
        run_on(runtime, "fork 3 { gen a with seed=5 }", seed=run_seed)
        return sorted(call.params.seed for call in runtime.generations)

    assert seeds(1) == seeds(2)
    assert len(set(seeds(1))) == 3


def test_run_seed_is_drawn_once_and_reported() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a")
    first = run_on(runtime, "gen a")
    again = run_on(runtime, "gen a", seed=first.seed)
    assert again.seed == first.seed
    assert runtime.generations[0].params.seed == runtime.generations[1].params.seed


@pytest.mark.parametrize("seed", [-1, MAX_SEED + 1])
def test_run_seed_out_of_range(seed: int) -> None:
    assert failure_of("gen a", seed=seed).code == "E0401"
