"""Arguments of a call, held to what is called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from frontend_lang.checker.report import closest
from frontend_lang.python_api.runtimes import RUN_OPTIONS


def bound_arguments(
    what: str, signature: inspect.Signature, arguments: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Arguments by parameter. Raises TypeError that names the argument which nothing takes, before what is missing."""
    parameters = signature.parameters
    if all(parameter.kind is not parameter.VAR_KEYWORD for parameter in parameters.values()):
        for name in named:
            if name not in parameters:
                near = closest(name, [*parameters, *RUN_OPTIONS])
                hint = f": did you mean {near}?" if near else ""
                raise TypeError(f"{what}{signature}: no parameter is named {name!r}{hint}")
    try:
        return signature.bind(*arguments, **named).arguments
    except TypeError as error:
        raise TypeError(f"{what}{signature}: {error}") from None


def is_unbound_method(function: Callable[..., Any]) -> bool:
    """Whether it is a function of a class, with `self`, that is no object's."""
    if not inspect.isfunction(function):
        return False
    home = function.__qualname__.rpartition(".")[0]
    return bool(home) and not home.endswith("<locals>") and function.__code__.co_varnames[:1] == ("self",)
