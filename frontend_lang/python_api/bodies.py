"""Running the bodies that Python programs are made of: prompts, branches, keys, joins."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from frontend_lang.python_api.failures import carried, placing_in_body
from frontend_lang.python_api.scopes import Scope, entered
from frontend_lang.python_api.settling import settled
from frontend_lang.threads import in_thread


async def run_body(
    function: Callable[..., Any], scope: Scope, arguments: Sequence[Any], named: Mapping[str, Any] | None = None
) -> Any:
    """What the function returns, every promise in it waited for. An async one runs here, any other in a thread.

    If this is cancelled, a sync body is told so where it waits or, at the latest, when it next uses its run.
    """
    call = partial(function, *arguments, **(named or {}))
    with entered(scope):
        scope.strand.start_all()
        if inspect.iscoroutinefunction(inspect.unwrap(function)):
            with placing_in_body(scope.path):
                value = await call()
            return await settled(value)
        try:
            result = await in_thread(partial(carried, call, scope.path), f"body of {scope.path}")
        except asyncio.CancelledError:
            scope.cancel()
            raise
        return await settled(await result if inspect.iscoroutine(result) else result)
