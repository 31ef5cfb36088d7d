"""gen, until, select, probs."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from frontend_lang import Limits, ProgramError
from frontend_lang.runtime import Constraint, ContextId, Delta, GenParams, GenResult, Norm, RuntimeFailure
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime
from scripted_programs import failure_of, run_on, value_of


def test_gen_sees_the_prompt_so_far_and_binds_its_text() -> None:
    runtime = ScriptedRuntime(["Paris", " yes"])
    assert run_on(runtime, 'user "Q"\nassistant gen a\nuser "Sure?"\nassistant gen b\nreturn [a, b]').value == [
        "Paris",
        " yes",
    ]
    assert runtime.prompts == [
        "<|user|>Q<|end|><|assistant|>",
        "<|user|>Q<|end|><|assistant|>Paris<|end|><|user|>Sure?<|end|><|assistant|>",
    ]


def test_options_reach_the_runtime() -> None:
    runtime = ScriptedRuntime(["a"])
    options = "max=7, temp=0.5, top_p=0.9, top_k=3, min_p=0.1, stop=['x', 'y'], logprobs=2, timeout=10s"
    run_on(runtime, f"gen a with {options}")
    params = runtime.generations[0].params
    assert (params.max_tokens, params.temperature, params.top_p, params.top_k) == (7, 0.5, 0.9, 3)
    assert (params.min_p, params.stop, params.logprobs, params.timeout_s) == (0.1, ("x", "y"), 2, 10.0)


@pytest.mark.parametrize("options", ["", "with temp=none, max=none, stop=none", "with stop=[]", "with stop=''"])
def test_r156_gen_with_absent_options_then_select_uses_the_defaults(options: str) -> None:
    runtime = ScriptedRuntime(["a"])
    assert run_on(runtime, f'gen a {options}\nselect h from ["x", "y"]\nreturn h').value == "x"
    params = runtime.generations[0].params
    assert (params.temperature, params.max_tokens, params.stop) == (1.0, 256, ())


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("temp=-1", "E0401"),
        ("temp='a'", "E0402"),
        ("temp=true", "E0402"),
        ("top_p=0", "E0401"),
        ("top_p=1.5", "E0401"),
        ("top_k=1.5", "E0402"),
        ("max=0", "E0401"),
        ("max=5000", "E0401"),
        ("stop=[1]", "E0402"),
        ("seed=-1", "E0401"),
        ("tries=0", "E0401"),
        ("timeout=0", "E0401"),
        ("lable=1", "E0303"),
    ],
)
def test_bad_option_names_itself(options: str, code: str) -> None:
    error = failure_of(f"gen a with {options}", ["x"])
    assert error.code == code
    assert options.split("=")[0] in error.message


def test_stop_text_is_cut_from_value_and_context() -> None:
    runtime = ScriptedRuntime(["one two END three"])
    assert run_on(runtime, 'gen a with stop="END"\n"!"\nreturn a').value == "one two "
    assert runtime.history == ["one two !"]


def test_r167_marker_inside_a_line_splits_the_fields() -> None:
    source = 'gen a with stop="[[b]]"\n"[[b]]"\ngen b\nreturn {a: a, b: b}'
    assert value_of(source, ["temp 5[[b]] ok", " ok"]) == {"a": "temp 5", "b": " ok"}
    assert value_of('gen t\nlet p = split(t, "[[b]]")\nreturn p', ["temp 5[[b]] ok"]) == ["temp 5", " ok"]


def test_until_tries_again_from_the_same_snapshot_with_the_next_seed() -> None:
    runtime = ScriptedRuntime(["no", "no", "yes", "end"])
    result = run_on(runtime, '"Q: "\ngen a until a == "yes"\ngen b\nreturn a')
    assert result.value == "yes"
    assert runtime.prompts == ["Q: ", "Q: ", "Q: ", "Q: yes"]
    assert len({call.params.seed for call in runtime.generations}) == 4
    assert result.usage.completion_tokens == 4


@pytest.mark.parametrize(("options", "tries"), [("", 3), ("with tries=5", 5), ("with tries=1", 1)])
def test_until_that_never_holds(options: str, tries: int) -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "no")
    with pytest.raises(Exception, match=f"{tries} tries") as caught:
        run_on(runtime, f'gen a {options} until a == "yes"')
    assert caught.value.code == "E0603"  # type: ignore[attr-defined]
    assert len(runtime.generations) == tries


def test_until_condition_must_be_a_bool() -> None:
    assert failure_of("gen a until a", ["x"]).code == "E0402"


@pytest.mark.parametrize("norm", list(Norm))
def test_select_appends_and_binds_the_likeliest_option(norm: Norm) -> None:
    seen: list[Norm] = []

    class Recording(ScriptedRuntime):
        async def score(self, context, options, norm=Norm.TOKENS):  # type: ignore[no-untyped-def]
            seen.append(norm)
            return await super().score(context, options, norm)

    runtime = Recording(scores={"no": 0.5, "yes": 1.5})
    assert run_on(runtime, f'"Q:"\nselect v from ["no", "yes", "maybe"] with norm="{norm}"\nreturn v').value == "yes"
    assert runtime.history == ["Q:yes"]
    assert seen == [norm]


def test_probs_gives_the_distribution_of_a_select() -> None:
    source = 'select v from ["no", "yes"]\nlet w = probs(v)\n'
    source += 'return {v: v, sum: sum([w["no"], w["yes"]]), more: w["yes"] > w["no"]}'
    result = value_of(source, scores={"no": 0.0, "yes": 1.0})
    assert result["v"] == "yes"
    assert result["sum"] == pytest.approx(1.0)
    assert result["more"] is True


def test_probs_of_a_name_that_was_rebound_is_an_error() -> None:
    assert failure_of('select v from ["a"]\nv = "b"\nreturn probs(v)').code == "E0608"
    assert failure_of("let v = 1\nreturn probs(v)").code == "E0608"


def test_probs_is_known_inside_a_branch() -> None:
    assert value_of('select v from ["a"]\nreturn fork 1 { yield probs(v) }') == [{"a": 1.0}]


def test_options_of_select_may_be_numbers() -> None:
    assert value_of("select v from [1, 2.5, true]\nreturn v", scores={"2.5": 1.0}) == "2.5"


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("select v from []", "E0607"),
        ('select v from ["a", ""]', "E0607"),
        ('select v from "ab"', "E0402"),
        ("select v from [none]", "E0402"),
        ('select v from ["a"] with norm="best"', "E0401"),
        ('select v from ["a"] with temp=1', "E0303"),
    ],
)
def test_select_that_cannot_be(source: str, code: str) -> None:
    assert failure_of(source).code == code


def test_gen_timeout_ends_with_an_error_and_frees_the_context() -> None:
    runtime = ScriptedRuntime(["a b c"], delay=lambda verb, context: 5.0 if verb == "delta" else 0.0)
    with pytest.raises(Exception, match="took longer") as caught:
        run_on(runtime, "gen a with timeout=20ms")
    assert caught.value.code == "E0803"  # type: ignore[attr-defined]


def test_error_of_the_runtime_carries_the_place_of_the_gen() -> None:
    error = failure_of('"a"\ngen a\ngen b', ["x"])
    assert (error.code, error.span and error.span.line) == ("E0601", 3)


def test_runtime_that_raises_anything_else_is_e0701() -> None:
    def broken(prompt: str, call: ScriptedCall) -> str:
        raise KeyError("lost")

    error = failure_of("gen a", broken)
    assert error.code == "E0701"
    assert isinstance(error.__cause__, KeyError)


def test_token_budget_cuts_and_ends_the_run() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "a b c d e")
    assert run_on(runtime, "gen a with max=5", limits=Limits(tokens=5)).usage.completion_tokens == 5
    with pytest.raises(Exception, match="budget") as caught:
        run_on(runtime, "gen a with max=5", limits=Limits(tokens=4))
    assert caught.value.code == "E0809"  # type: ignore[attr-defined]


def test_usage_is_summed_over_calls_and_readable_in_the_program() -> None:
    source = '"a b"\ngen x\nselect y from ["p", "q"]\nlet u = usage()\nfork 2 { gen z }\nreturn u'
    runtime = ScriptedRuntime(lambda prompt, call: " c d")
    result = run_on(runtime, source)
    seen = result.value
    assert isinstance(seen, dict)
    assert seen["prompt_tokens"] == 2 + (4 + 2)
    assert seen["cached_tokens"] == 0 + 4
    assert seen["completion_tokens"] == 2
    assert result.usage.forks == 2
    assert result.usage.prompt_tokens == result.usage.cached_tokens + result.usage.computed_tokens
    assert result.to_dict()["usage"]["completion_tokens"] == 6  # type: ignore[index]


class Bare(ScriptedRuntime):
    """Refuses to continue from nothing, as models without a beginning-of-sequence token do."""

    async def generate(
        self, context: ContextId, params: GenParams, constraint: Constraint | None = None
    ) -> AsyncIterator[Delta | GenResult, None]:
        if await self.commit(context) == 0:
            raise RuntimeFailure("E0702", f"context: got {context}, allowed: some text")
        async for item in super().generate(context, params, constraint):
            yield item


def test_a_gen_in_an_empty_context_is_told_to_write_text_first() -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(Bare(["x"]), "gen a")
    assert (caught.value.code, caught.value.message) == (
        "E0702",
        "gen `a` has nothing to continue: the context is empty",
    )
    assert "write some text" in (caught.value.hint or "")
    assert run_on(Bare(["x"]), "text: P\ngen a\nreturn a").value == "x"
