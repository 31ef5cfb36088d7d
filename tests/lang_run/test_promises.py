"""Promises: what overlaps, what waits, what is cancelled, whose error counts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from frontend_lang import Limits, ProgramError, run_async
from frontend_lang.running.promises import Derived, Promise
from frontend_lang.running.strands import Strand
from frontend_lang.runtime import Constraint, ContextId, Delta, GenParams, GenResult, RuntimeFailure
from frontend_lang.scripted import Delay, ScriptedCall, ScriptedRuntime
from scripted_programs import failure_of, parsed, run_on, value_of

ASK = "def ask(x: str) -> str { user x\nassistant gen a\nreturn a }\n"


class Counting(ScriptedRuntime):
    """Knows how many generations run at once."""

    def __init__(self, delay: Delay | None = None) -> None:
        super().__init__(answer, delay=delay or (lambda verb, context: 0.001 if verb == "delta" else 0.0))
        self.running = self.peak = 0

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult]:
        self.running += 1
        self.peak = max(self.peak, self.running)
        try:
            async for item in super().generate(context, params, constraint):
                yield item
        finally:
            self.running -= 1


def answer(prompt: str, call: ScriptedCall) -> str:
    """Depends on the prompt alone."""
    return f"<{len(prompt)}>"


def peak_of(source: str, limits: Limits | None = None) -> int:
    """The largest number of generations that ran at once."""
    runtime = Counting()
    run_on(runtime, source, limits=limits or Limits())
    return runtime.peak


@pytest.mark.parametrize(
    "source",
    [
        'let a = ask("1")\nlet b = ask("2")\nreturn a + b',
        'return [ask("1"), ask("2")]',
        'return {a: ask("1"), b: ask("2")}',
        'return concat([ask(x) for x in ["1", "2"]])',
        'return "@{ask("1")}@{ask(\'2\')}"'.replace('ask("1")', "ask('1')"),
        'return ask("@{ask("1")}@{ask("2")}")'.replace('("1")', "('1')").replace('("2")', "('2')"),
        '"p"\ngen a\nlet b = ask("2")\nreturn a + b',
        '"p"\nlet f = fork 1 { gen a }\nlet b = ask("2")\nreturn [f, b]',
        'let m = map x in ["1"] { yield ask(x) }\nlet b = ask("2")\nreturn [m, b]',
        '"p"\nlet f = fork 1 { gen a }\ngen b\nreturn [f, b]',
        'let c = [ask(x) for x in ["1"]]\nlet b = ask("2")\nreturn [c, b]',
    ],
)
def test_what_does_not_depend_on_one_another_runs_at_once(source: str) -> None:
    assert peak_of(ASK + source) == 2


@pytest.mark.parametrize(
    "source",
    [
        'let a = ask("1")\nlet b = ask(a)\nreturn b',
        '"p"\ngen a\ngen b\nreturn b',
        '"p"\nlet a = ask("1")\n"@{a}"\ngen b\nreturn b',
        'let a = ask("1")\nif a == "" { return 0 }\nlet b = ask("2")\nreturn b',
        '"p"\nlet f = fork 1 { gen a } join all keep\ngen b\nreturn b',
        '"p"\nlet f = fork 1 { gen a } join first keep\ngen b\nreturn b',
        'ask("1")\nask("2")',
    ],
)
def test_what_depends_on_one_another_runs_in_order(source: str) -> None:
    assert peak_of(ASK + source) == 1


NESTED = (
    ASK
    + """def deep(n: int) -> str {
  if n == 0 { return ask("z") }
  let a = deep(n - 1)
  let f = fork 2 as i { user "@{a}@{i}"; assistant gen t; yield t }
  user "@{f}"
  assistant gen b
  fork 2 as i { user "k@{i}"; let c = ask(b); assistant { "@{c}"; gen d } } join best by i keep
  gen e
  return "@{a}@{b}@{e}"
}
let x = deep(2)
let y = map r in [1, 2, 3] { let q = ask("@{r}@{x}"); yield "@{q}@{deep(1)}" }
user "@{x} @{y}"
assistant gen z
return [x, y, z]"""
)


@pytest.mark.parametrize("live", [1, 2, 3, 64])
def test_nothing_deadlocks_however_strands_wait_for_one_another(live: int) -> None:
    async def main() -> object:
        runtime = Counting()
        limits = Limits(live_branches=live)
        result = await asyncio.wait_for(run_async(parsed(NESTED), runtime=runtime, seed=1, limits=limits), 30)
        assert runtime.live == 0
        return result.value

    assert asyncio.run(main()) == value_of(NESTED, answer, seed=1)


def test_text_of_a_promise_stands_where_it_was_appended() -> None:
    source = ASK + 'let a = ask("long")\n"1@{a}2"\nselect v from ["x", "y"]\n"3@{a}@{v}"\ngen b\n"4"\ngen c\nreturn c'
    runtime = ScriptedRuntime(answer)
    run_on(runtime, source)
    asked = answer("<|user|>long<|end|><|assistant|>", None)  # type: ignore[arg-type]
    assert runtime.prompts[1] == f"1{asked}2x3{asked}x"
    assert runtime.prompts[2].startswith(runtime.prompts[1])
    assert runtime.prompts[2].endswith("4")


def test_value_that_a_def_does_not_return_is_never_asked_for() -> None:
    source = (
        ASK + 'def f() -> str { user "q"\nassistant gen a\nlet lost = ask("x")\nassistant gen b\nreturn a }\nreturn f()'
    )
    runtime = ScriptedRuntime(answer)
    run_on(runtime, source)
    assert "<|user|>q<|end|><|assistant|>" in runtime.prompts
    assert all(prompt.count("<|assistant|>") == 1 for prompt in runtime.prompts)


@pytest.mark.parametrize("soon", [True, False])
def test_misfit_that_nobody_needs_is_none_whenever_it_shows(soon: bool) -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "word", delay=lambda verb, context: 0.0 if soon else 0.01)
    wait = "ask('b')\nask('c')" if soon else ""
    source = ASK + f"def f() {{ let a: int = ask('a')\n{wait}\nlet b = [a]\nlet c = \"@{{b}}\"\nreturn 1 }}\nreturn f()"
    assert run_on(runtime, source).value == 1
    assert failure_of(source.replace("return 1", "return c"), lambda prompt, call: "word").code == "E0402"


def test_what_a_used_def_has_queued_belongs_to_the_caller() -> None:
    source = ASK + 'def part() { let a = ask("1")\n"[@{a}]"\ngen b }\nuse part()\n"!"\ngen c\nreturn c'
    runtime = ScriptedRuntime(answer)
    run_on(runtime, source)
    assert len(runtime.prompts) == 3
    assert runtime.prompts[-1].startswith("[<")
    assert runtime.prompts[-1].endswith("!")


def test_branch_without_a_yield_is_worth_all_its_text_late_parts_too() -> None:
    source = ASK + 'return fork 1 { let a = ask("1")\n"(@{a})"\ngen b\n")" }'
    (text,) = value_of(source, lambda prompt, call: "w")
    assert text == "(w)w)"


def test_adopted_branch_brings_text_that_came_late() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "w")
    run_on(
        runtime, ASK + '"p"\nfork 2 as i { let a = ask("1")\n"@{i}@{a}" yield i } join best by i keep\ngen b\nreturn b'
    )
    assert runtime.prompts[-1] == "p1w"


def test_branches_of_a_fork_that_runs_on_see_the_names_as_they_were() -> None:
    source = 'let n = 1\nlet f = fork 2 { "x"\ngen a\nyield n }\nn = 2\nlet g = map x in [1] { yield n }\nn = 3\n'
    source += "return [f, g, n]"
    assert value_of(source, lambda prompt, call: "a") == [[1, 1], [2], 3]


def test_until_sees_the_names_as_they_were() -> None:
    source = '"p"\nlet want = "b"\ngen a until a == want\nwant = "c"\nreturn a'
    assert value_of(source, ["a", "b", "c"]) == "b"


def test_until_that_calls_a_def_is_settled_in_its_turn() -> None:
    source = ASK + '"p"\ngen a until ask(a) == "yes"\ngen b\nreturn [a, b]'
    runtime = ScriptedRuntime(["x", "no", "y", "yes", "z"])
    assert run_on(runtime, source, limits=Limits(live_branches=1)).value == ["y", "z"]


ORDER = ASK + "def num(x: str) -> int { user x\nassistant gen a\nreturn int(a) }\n"


@pytest.mark.parametrize("slow", ["first", "second", "none"])
@pytest.mark.parametrize(
    "rest",
    [
        "let b = num('second')\nreturn 1 / 0",
        "let b = num('second')\nreturn b",
        "'q'\ngen c with timeout=1ms\nreturn c",
        "let b = fork 2 { let z = 1 / 0 }\nreturn b",
        "return fork 2 { yield num('second') }",
        "fail 'mine'",
    ],
)
def test_of_errors_the_earliest_in_the_program_counts(rest: str, slow: str) -> None:
    def delay(verb: str, context: ContextId) -> float:
        return 0.01 if verb == "delta" and slow in runtime.context_text(context) else 0.0

    runtime = ScriptedRuntime(lambda prompt, call: "word", delay=delay)
    with pytest.raises(ProgramError) as caught:
        run_on(runtime, f"{ORDER}let a = num('first')\n{rest}")
    assert (caught.value.code, caught.value.path) == ("E0406", "main.num")
    assert "first" in " ".join(runtime.prompts)


def test_later_operations_end_as_the_one_before_them_has() -> None:
    error = failure_of('"p"\ngen a\ngen b\nreturn b', lambda prompt, call: [][0] if prompt == "p" else "b")
    assert (error.code, error.span and error.span.line) == ("E0701", 2)


def test_error_of_what_was_begun_before_a_try_is_not_caught_in_it() -> None:
    source = ORDER + "let a = num('x')\ntry { let b = a + 1 } catch e { return e.code }\nreturn 1"
    assert failure_of(source, lambda prompt, call: "word").code == "E0406"


def test_error_inside_a_try_leaves_the_context_as_far_as_it_was_done() -> None:
    def script(prompt: str, call: ScriptedCall) -> str:
        if prompt.endswith("bad"):
            raise RuntimeFailure("E0601", "no")
        return "g"

    source = (
        '"a"\ntry { "b"\ngen x\n"bad"\ngen y\n"never"\ngen z } catch e { "<@{e.code}>" }\n'
        "assistant gen w\nreturn w".replace("assistant ", "")
    )
    runtime = ScriptedRuntime(script)
    assert run_on(runtime, source).value == "g"
    assert runtime.prompts[-1] == "abgbad<E0601>"


def test_strand_that_has_caught_an_error_works_within_the_limit_again() -> None:
    source = "fork 4 { try { let b = fork 1 { let z = 1 / 0 }\nlet c = b } catch e { }\ngen d }"
    assert peak_of(source, Limits(live_branches=1)) == 1


def test_failed_try_leaves_names_as_they_were() -> None:
    source = '"p"\nlet a = 1\ntry { gen a: int } catch e { }\nreturn a'
    assert value_of(source, ["none"]) == 1


def test_select_that_fails_in_a_try_appends_nothing() -> None:
    def scores(prompt: str, options: object) -> list[float]:
        raise RuntimeFailure("E0601", "no")

    source = '"a"\ntry { user "q"\nassistant select v from ["x"] } catch e { "c" }\ngen w\nreturn w'
    runtime = ScriptedRuntime(["g"], scores=scores)
    assert run_on(runtime, source).value == "g"
    assert runtime.prompts == ["a<|user|>q<|end|><|assistant|><|end|>c"]


def test_program_waits_for_all_that_it_has_begun() -> None:
    runtime = ScriptedRuntime(answer)
    run_on(runtime, ASK + '"p"\ngen a\nlet b = ask("1")\ndef unused() { }')
    assert len(runtime.prompts) == 2
    entry = ScriptedRuntime(answer)
    run_on(entry, 'def main() { "p"\ngen a\n"end" }')
    assert entry.history == ["p" + answer("p", None) + "end"]  # type: ignore[arg-type]


def test_text_events_of_a_context_stay_in_order() -> None:
    told: list[tuple[str, object]] = []

    def listener(event) -> None:  # type: ignore[no-untyped-def]
        if event.event in ("text", "gen.end") and event.path == "main":
            told.append((event.event, event.data.get("text", event.data.get("value"))))

    source = ASK + '"1"\nlet a = ask("x")\n"2@{a}"\n"3"\ngen b\n"4"\ngen c\n"5@{a}"'
    run_on(ScriptedRuntime(lambda prompt, call: "w"), source, on_event=listener)
    texts = [("text", "1"), ("text", "2w"), ("text", "3"), ("gen.end", "w"), ("text", "4"), ("gen.end", "w")]
    assert told == [*texts, ("text", "5w")]


def test_typed_gen_binds_the_parsed_value_and_keeps_the_text() -> None:
    source = '"n="\ngen n: int with max=5\n" m="\ngen m: {a: int, b?: str}\nreturn [n + 1, m.a, raw(m), finish(n)]'
    runtime = ScriptedRuntime(["41", '{"a":2}'])
    assert run_on(runtime, source).value == [42, 2, '{"a":2}', "stop"]
    assert runtime.prompts[1] == "n=41 m="
    assert all(call.constraint is not None for call in runtime.generations)


def test_typed_gen_that_was_cut_names_what_cut_it() -> None:
    cut = '"q"\ngen m: {a: str} with max=2\nreturn m'
    error = failure_of(cut, lambda prompt, call: '{"a":"one two three"}')
    assert error.code == "E0609"
    assert "max=2" in error.message


def test_typed_gen_with_tries_tries_again_from_the_same_snapshot() -> None:
    source = '"q"\ngen m: {a: str} with max=2, tries=2\nreturn m'
    runtime = ScriptedRuntime(['{"a":"one two three"}', '{"a":"b"}'])
    assert run_on(runtime, source).value == {"a": "b"}
    assert runtime.prompts == ["q", "q"]
    error = failure_of(source, lambda prompt, call: '{"a":"one two three"}')
    assert (error.code, "2 tries" in error.message) == ("E0609", True)


@pytest.mark.parametrize(
    ("growth", "code"),
    [
        ('repeat 26 { t = "@{t}@{t}" }', "E0808"),
        ("repeat 20 { t = [t, t] }", None),
        ("repeat 60 { t = {l: t, r: t} }", None),
    ],
)
def test_what_values_share_is_looked_at_and_made_once(growth: str, code: str | None) -> None:
    source = f'{ASK}let a = ask("1"); let t = a; {growth}\nlet z = ask("2"); if z == "r" {{ text "@{{t}}" }}\nreturn z'
    if code is None:
        assert value_of(f"def run() {{ {source.removeprefix(ASK)} }}\n{ASK}return run()", answer).startswith("<")
    else:
        assert failure_of(source, answer).code == code


def test_a_promise_of_promises_a_thousand_deep_is_made_without_recursion() -> None:
    chain = 'let t = ""\nuser { for x in range(1000) { "x"; gen a with max=3; t = "@{t}@{a}" } }\nreturn len(t)'
    assert value_of(chain, lambda prompt, call: "abc") == 3000
    nested = 'let t = []\nuser { for x in range(1000) { "x"; gen a; t = [t, a] } }\nreturn t[1]'
    assert value_of(nested, lambda prompt, call: "abc") == "abc"


def test_a_derived_value_asks_its_sources_as_often_as_they_end() -> None:
    asked = 0

    class Source(Promise[str]):
        ended = False

        def done(self) -> bool:
            nonlocal asked
            asked += 1
            return self.ended

        @property
        def failed(self) -> bool:
            return False

        def result(self) -> str:
            return "s"

        async def wait(self, strand: Strand) -> str:
            raise AssertionError

    source = Source()
    top: Promise[str] = source
    for _ in range(60):
        lower = top
        top = Derived((lower, lower), lambda lower=lower: lower.result())  # type: ignore[misc]
    assert not top.done()
    assert not top.done()
    source.ended = True
    assert top.done()
    assert top.result() == "s"
    assert asked < 200
