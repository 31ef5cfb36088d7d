"""The builtin functions: strict in their argument types, bounded in what they produce, never quadratic.

`BUILTINS` are pure. `BOUND_PARAMETERS` lists those that need the run, or what a gen or select left with a name: the
interpreter has them (`interpreter.bound_builtins`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from frontend_lang.builtin_functions import collections, numbers, texts
from frontend_lang.builtin_functions.signatures import BOUND_PARAMETERS, Builtin, Parameters, builtin
from frontend_lang.values import Value

__all__ = ["BOUND_PARAMETERS", "BUILTINS", "PARAMETERS", "Builtin", "Parameters", "steps_of"]

ITEMS_PER_STEP = 500  # of lists and records that a builtin goes through
CHARACTERS_PER_STEP = 8_000

BUILTINS: Mapping[str, Builtin] = {
    item.parameters.name: item
    for item in (
        builtin("len", ("x",), collections.length),
        builtin("str", ("x",), texts.text),
        builtin("int", ("x",), numbers.to_int),
        builtin("float", ("x",), numbers.to_float),
        builtin("round", ("x", "digits"), numbers.round_to),
        builtin("json", ("x",), texts.to_json),
        builtin("parse", ("text",), texts.parse),
        builtin("strip", ("text",), texts.strip),
        builtin("lower", ("text",), texts.lower),
        builtin("matches", ("text", "pattern"), texts.matches, required=2),
        builtin("split", ("text", "sep"), texts.split),
        builtin("concat", ("items", "sep"), texts.concat),
        builtin("replace", ("text", "old", "new"), texts.replace, required=3),
        builtin("fence", ("x",), texts.fence),
        builtin("range", ("stop",), numbers.int_range, variadic=True),
        builtin("zip", ("a", "b"), collections.zip_lists, required=2, variadic=True),
        builtin("sum", ("items",), numbers.total),
        builtin("mean", ("items",), numbers.mean),
        builtin("min", ("items",), numbers.least, variadic=True),
        builtin("max", ("items",), numbers.greatest, variadic=True),
        builtin("sort", ("items", "desc", "by"), collections.sort),
        builtin("unique", ("items",), collections.unique),
        builtin("keys", ("record",), collections.keys),
        builtin("values", ("record",), collections.values),
    )
}
PARAMETERS: Mapping[str, Parameters] = {
    **{name: item.parameters for name, item in BUILTINS.items()},
    **BOUND_PARAMETERS,
}
"""Parameters of every builtin by name."""


def steps_of(values: Iterable[Value]) -> int:
    """How many statements a builtin counts as that reads or makes these: none where they are small."""
    found = list(values)
    items = sum(len(value) for value in found if isinstance(value, (list, dict)))
    return items // ITEMS_PER_STEP + sum(len(value) for value in found if isinstance(value, str)) // CHARACTERS_PER_STEP
