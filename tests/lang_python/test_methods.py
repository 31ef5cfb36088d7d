"""Prompts as methods and as branches, and contexts in hands that they were not given to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import ProgramError, ScriptedRuntime, State, gen, prompt, tool


def five() -> ScriptedRuntime:
    return ScriptedRuntime(lambda text, call: "5")


@tool
def double(n: int) -> int:
    return 2 * n


class Judge:
    level = 3

    @prompt  # type: ignore[arg-type]
    def sync(self, s: State, x: int) -> Any:
        s += f"{x}"
        s += gen("a")
        return [self.level, x, s["a"]]

    @prompt(tools=[double])  # type: ignore[arg-type]
    async def on_loop(self, s: State, x: int) -> Any:
        return [self.level, await s.invoke("double", x)]

    @prompt
    @staticmethod
    def static(s: State, x: int) -> Any:
        return x

    @classmethod
    @prompt  # type: ignore[arg-type]
    def of_class(cls, s: State, x: int) -> Any:
        return [cls.level, x]


def test_a_method_is_a_prompt_of_its_object() -> None:
    judge, runtime = Judge(), five()
    assert judge.sync(1, runtime=runtime) == [3, 1, "5"]
    assert judge.sync.run(1, runtime=runtime).value == [3, 1, "5"]
    assert judge.sync.batch([{"x": 1}, {"x": 2}], runtime=runtime) == [[3, 1, "5"], [3, 2, "5"]]
    assert judge.on_loop(2, runtime=runtime) == [3, 4]
    assert judge.static(1, runtime=runtime) == 1
    assert Judge.of_class(1, runtime=runtime) == [3, 1]
    assert "sync(x" in repr(judge.sync)
    with pytest.raises(TypeError, match=r"prompt sync\(x.*missing a required argument: 'x'"):
        judge.sync(runtime=runtime)


@prompt(tools=[double])
def doubled(s: State, n: int = 4) -> Any:
    s += f"Say {n}: "
    s += gen("a")
    return [s.invoke("double", n), s["a"]]


@prompt
async def doubled_on_loop(s: State, n: int) -> Any:
    s += gen("a")
    return [2 * n, await s["a"]]


FORKS: list[tuple[Callable[[State], Any], Any]] = [
    (lambda s: s.fork(2, doubled).all(), [[8, "5"], [8, "5"]]),
    (lambda s: s.fork(2, doubled_on_loop).all(), [[0, "5"], [2, "5"]]),
    (lambda s: s.fork_over([4, 6], doubled).all(), [[8, "5"], [12, "5"]]),
    (lambda s: s.fork({"a": doubled}).all(), {"a": [8, "5"]}),
]


@pytest.mark.parametrize(("fork", "value"), FORKS)
def test_a_prompt_is_a_branch_in_the_context_of_the_branch(fork: Callable[[State], Any], value: Any) -> None:
    runtime = five()

    @prompt
    def outer(s: State) -> Any:
        s += "Before. "
        return fork(s)

    assert outer(runtime=runtime) == value
    assert runtime.live == 0


def test_a_prompt_as_a_branch_goes_on_where_its_parent_was() -> None:
    seen: list[str] = []

    def answer(text: str, call: object) -> str:
        seen.append(text)
        return "5"

    @prompt
    def outer(s: State) -> Any:
        s += "Before. "
        return s.fork(1, doubled).all()

    outer(runtime=ScriptedRuntime(answer))
    assert seen == ["Before. Say 4: "]


WRONG: list[tuple[Callable[[State], Any], type[Exception], str]] = [
    (lambda s: s.fork("x", doubled), ProgramError, "`fork` of 'x', expected a count"),  # type: ignore[arg-type]
    (lambda s: s.fork(2.0, doubled), ProgramError, "`fork` of 2.0, expected a count"),  # type: ignore[arg-type]
    (lambda s: s.fork(-1, doubled), ProgramError, "`fork` of -1, expected a count"),
    (lambda s: s.fork(2), ProgramError, "a function (s.fork(3, branch))"),
    (lambda s: s.fork(2, 3), TypeError, "a branch is 3, expected a function"),  # type: ignore[arg-type]
    (lambda s: s.fork({"a": 3}), TypeError, "a branch is 3, expected a function"),  # type: ignore[dict-item]
    (lambda s: s.fork_over(3, doubled), ProgramError, "`fork_over` of 3, expected a list"),  # type: ignore[arg-type]
    (lambda s: s.fork_over([1], 3), TypeError, "a branch is 3, expected a function"),  # type: ignore[arg-type]
    (lambda s: s.fork(1, doubled).best(3), TypeError, "the key of `best` is 3, expected a function"),  # type: ignore[arg-type]
    (lambda s: s.fork(1, doubled).join(3), TypeError, "what joins the branches is 3"),  # type: ignore[arg-type]
    (lambda s: s.use(3), TypeError, "`use` of 3, expected a prompt: a function with @prompt"),  # type: ignore[arg-type]
    (lambda s: s.use(s), TypeError, "`use` of <context of outer>, expected a prompt"),  # type: ignore[arg-type]
    (lambda s: s.use(doubled, m=1), TypeError, "prompt doubled(n: 'int' = 4)"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("act", "error", "said"), WRONG)
def test_what_is_no_branch_or_prompt_is_refused(act: Callable[[State], Any], error: type[Exception], said: str) -> None:
    @prompt
    def outer(s: State) -> Any:
        return act(s)

    with pytest.raises(error) as caught:
        outer(runtime=five())
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (3, "a prompt is 3, expected a function"),
        (int, "prompt int: no signature found"),
        (doubled, "prompt doubled is one already: call it, or `s.use` it"),
    ],
)
def test_what_is_no_function_cannot_be_a_prompt(function: Any, said: str) -> None:
    with pytest.raises(TypeError) as caught:
        prompt(function)
    assert said in str(caught.value)


USES: list[Callable[[State], Any]] = [
    lambda s: s.user("x"),
    lambda s: s.assistant(gen("a")),
    lambda s: s.text(),
    lambda s: s.fork(1, doubled),
    lambda s: s.emit(1),
]


@pytest.mark.parametrize("use", USES)
def test_a_context_says_whether_its_body_is_over_or_another_thread_has_it(use: Callable[[State], Any]) -> None:
    kept: list[State] = []
    errors: list[str] = []

    @prompt
    def outer(s: State) -> None:
        def elsewhere() -> None:
            with pytest.raises(ProgramError) as caught:
                use(s)
            errors.append(str(caught.value))

        kept.append(s)
        s.fork(1, kept.append).all().value  # noqa: B018 - waits
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        with pytest.raises(ProgramError, match=r"context of outer\[0\] is used after its body has ended"):
            use(kept[1])

    outer(runtime=five())
    with pytest.raises(ProgramError, match="context of outer is used after its body has ended"):
        use(kept[0])
    assert errors == [
        "E0702: the context of outer is used in a thread that the body began (s.fork has branches side by side)"
    ]
