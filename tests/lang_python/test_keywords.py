"""Keywords that are no options: each error names the one that is meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from frontend_lang import ProgramError, ScriptedRuntime, State, gen, prompt, select


def branch(b: State) -> None:
    pass


GENS = "max, temp, top_p, top_k, min_p, stop, seed, logprobs"
WRONG: list[tuple[Callable[[Any], Any], str]] = [
    (lambda s: s.set(tempp=0), "`set` has no option `tempp` (did you mean `temp`?)"),
    (lambda s: s.set(temperature=0), "`set` has no option `temperature` (write `temp`)"),
    (lambda s: s.set(trys=0), "`set` has no option `trys` (did you mean `tries`?)"),
    (lambda s: s.set(zzz=0), f"`set` has no option `zzz` (known: {GENS}, timeout, tries)"),
    (lambda s: s.set(type=int), '`set` has no option `type` (gen("a", type=int))'),
    (lambda s: s.set(until=len), '`set` has no option `until` (gen("a", until=lambda a: …))'),
    (lambda s: s.fork(2, branch, tmp=3), "`fork` has no option `tmp` (did you mean `temp`?)"),
    (lambda s: s.fork(2, branch, widht=3), "`fork` has no option `widht` (did you mean `width`?)"),
    (lambda s: s.fork_over([1], branch, onerror="drop"), "`fork` has no option `onerror` (did you mean `on_error`?)"),
    (lambda s: s.fork({"a": branch}, zzz=3), f"`fork` has no option `zzz` (known: width, timeout, on_error, {GENS}, t"),
    (lambda s: gen("a", maxx=3), "`gen` has no option `maxx` (did you mean `max`?)"),  # type: ignore[call-arg]
    (lambda s: gen("a", max_tokens=3), "`gen` has no option `max_tokens` (write `max`)"),  # type: ignore[call-arg]
    (lambda s: gen("a", untill=len), "`gen` has no option `untill` (did you mean `until`?)"),  # type: ignore[call-arg]
    (lambda s: gen("a", zzz=3), f"`gen` has no option `zzz` (known: {GENS}, timeout, tries, type, until)"),  # type: ignore[call-arg]
    (lambda s: select("a", ["x"], nrm="sum"), "`select` has no option `nrm` (did you mean `norm`?)"),  # type: ignore[call-arg]
    (lambda s: select("a", ["x"], temp=1), "`select` has no option `temp` (known: options, norm)"),  # type: ignore[call-arg]
]


@pytest.mark.parametrize(("act", "said"), WRONG)
def test_a_keyword_that_is_no_option_names_the_one_that_is_meant(act: Callable[[State], Any], said: str) -> None:
    with pytest.raises(ProgramError) as caught:
        prompt(lambda s: act(s))(runtime=ScriptedRuntime())
    assert caught.value.code == "E0303"
    assert said in str(caught.value)


def test_gen_and_select_show_their_parameters() -> None:
    assert [*inspect.signature(gen).parameters][:3] == ["name", "max", "temp"]
    assert [*inspect.signature(select).parameters] == ["name", "options", "norm"]
    assert gen(name="a").name == "a"
