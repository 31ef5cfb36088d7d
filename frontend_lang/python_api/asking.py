"""gen and select of a body, as the run's machinery takes them."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import lru_cache
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.generation import option_texts
from frontend_lang.python_api.failures import call_site, carrying
from frontend_lang.python_api.frames import Frame, Named
from frontend_lang.python_api.instructions import Gen, Select
from frontend_lang.python_api.promises import plain
from frontend_lang.python_types import PythonType, value_type_of
from frontend_lang.running.details import GenDetail
from frontend_lang.running.generating import Accepts, Asked, GenRequest, SelectRequest, queue_gen, queue_select
from frontend_lang.running.options import gen_settings, norm_setting
from frontend_lang.running.places import Placed


def ask(frame: Frame, wanted: Gen | Select) -> None:
    """Queue it on the frame's context and bind its name."""
    where = call_site()

    def on_loop() -> None:
        frame.prepare()
        site, placed = frame.site(wanted.name), where.placed(frame.scope.path)
        asked = _gen(frame, wanted, site, placed) if isinstance(wanted, Gen) else _select(frame, wanted, site, placed)
        frame.names[wanted.name] = Named(frame.promise(asked.promise, f"`{wanted.name}`"), asked)

    frame.scope.do(on_loop)


def _gen(frame: Frame, gen: Gen, site: str, placed: Placed) -> Asked:
    settings = gen_settings({**frame.defaults, **gen.options})
    frame.scope.run.counters.gen_max(settings.params.max_tokens)
    declared = None if gen.type is None else _declared(gen.type)
    request = GenRequest(gen.name, site, settings, placed, declared, _accepts(gen))
    return queue_gen(frame.scope.run, frame.where(frame.round(site)), request)


def _declared(python_type: Any) -> PythonType:
    try:
        return _known(python_type)
    except TypeError:  # a type that cannot be hashed, such as a schema with lists in it
        return value_type_of(python_type)


_known = lru_cache(maxsize=256)(value_type_of)


def _accepts(gen: Gen) -> Accepts | None:
    until = gen.until
    if until is None:
        return None

    async def accepts(attempt: int, value: Any, detail: GenDetail) -> bool:
        with carrying():
            judged = until(value)
            holds = plain(await judged if isinstance(judged, Awaitable) else judged)
            if isinstance(holds, bool):
                return holds
            hint = "return a comparison, or bool(…)"
            raise ProgramError("E0402", f"`until` of `{gen.name}` gave {holds!r:.60}, expected True or False", hint)

    return accepts


def _select(frame: Frame, select: Select, site: str, placed: Placed) -> Asked:
    options = option_texts(list(select.options))
    norm = norm_setting({} if select.norm is None else {"norm": select.norm})
    request = SelectRequest(select.name, site, options, norm, placed)
    return queue_select(frame.scope.run, frame.where(frame.round(site)), request)
