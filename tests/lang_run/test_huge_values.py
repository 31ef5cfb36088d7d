"""Values that share their parts: forty lines make 2^40 of them. What walks one refuses it or puts it in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from frontend_lang import operators, tool
from frontend_lang.builtins import BUILTINS
from frontend_lang.errors import ProgramError
from frontend_lang.events import Event
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sizes import Sizes, check_size
from frontend_lang.tools import ToolSet
from frontend_lang.values import Value, from_python, json_text, to_json_safe, vote_key
from scripted_programs import failure_of, run_on

HUGE = "let x = [1]\nrepeat 40 { x = [x, x] }\n"


def doubled(times: int, value: Value = 1) -> Value:
    """A value of 2^times parts in so many lists."""
    for _ in range(times):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "use",
    [
        "return x",
        "emit x",
        'return "@{x}"',
        "return str(x)",
        "return x == [x]",
        "return x in [x, [x, x]]",
        "return unique([x])",
        "return concat([x])",
        "let y: list[list[list[int]]] = x",
        "fork 3 { yield x } join vote",
    ],
)
def test_what_walks_a_huge_value_refuses_it(use: str) -> None:
    if use == "return x == [x]":
        use = "let y = [1]\nrepeat 40 { y = [y, y] }\nreturn x == y"
    assert failure_of(HUGE + use).code in ("E0808", "E0402")


def test_a_huge_value_may_be_bound_passed_and_taken_apart() -> None:
    source = "def g(x: json) { return len(x) }\n" + HUGE + "let y: json = x\nreturn [g(x), len(y[0])]"
    assert run_on(ScriptedRuntime(), source).value == [2, 2]


def test_a_huge_argument_of_a_tool_is_refused() -> None:
    @tool
    def look(x: Any) -> int:
        return 1

    source = "tool look(x: json) -> int\n" + HUGE + "return look(x)"
    with pytest.raises(ProgramError, match="argument `x` of tool `look`") as caught:
        run_on(ScriptedRuntime(), source, tools=ToolSet([look]))
    assert caught.value.code == "E0808"


def test_a_listener_changes_nothing_and_huge_names_are_in_words() -> None:
    events: list[Event] = []
    result = run_on(ScriptedRuntime(), HUGE + "return 1", on_event=events.append)
    assert json.loads(json.dumps(result.to_dict()))["vars"] == {"x": "a list with more than 2000000 parts"}
    assert failure_of(HUGE + "emit x", on_event=events.append).code == "E0808"


def test_a_long_text_often_repeated_is_huge_too() -> None:
    source = "let t = 'abcdefgh'\nrepeat 15 { t = t + t }\nlet x = [t]\nrepeat 14 { x = [x, x] }\nreturn x"
    assert failure_of(source).code == "E0808"


def test_sizes_count_every_repetition_and_see_circles() -> None:
    assert Sizes().of(doubled(10, "ab")).parts == 2**11 - 1
    assert Sizes().of(doubled(10, "ab")).characters == 2**11
    assert Sizes().of({"a": [1, {"b": "xy"}]}).depth == 3
    circle: list[Any] = [1]
    circle.append(circle)
    for endless in (circle, doubled(40)):
        with pytest.raises(ProgramError, match="E0808"):
            check_size(endless)


def test_a_wide_list_of_one_list_is_measured_once() -> None:
    wide = [doubled(3)] * 100_000
    assert Sizes().of([wide] * 100_000).parts == 1 + 100_000 * (1 + 100_000 * 15)


@pytest.mark.parametrize("walk", [from_python, json_text, vote_key, BUILTINS["json"].function])
def test_every_walk_has_a_bound(walk: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontend_lang.values.MAX_PARTS", 10_000)
    with pytest.raises(ProgramError, match="E0808"):
        walk(doubled(40))


def test_containment_has_one_bound_for_all_items() -> None:
    wide: Value = [[0] * 1000] * 10_000
    with pytest.raises(ProgramError, match="E0808"):
        operators.contains(wide, [0] * 999 + [1])


def test_what_is_shown_of_a_value_too_deep_is_words() -> None:
    deep: Value = 1
    for _ in range(500):
        deep = [deep]
    assert to_json_safe({"a": deep, "b": [1, float("nan")]}) == {
        "a": "a list nested deeper than 64 levels",
        "b": [1, None],
    }
