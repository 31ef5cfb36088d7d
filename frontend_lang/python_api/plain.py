"""Python objects as values of the language."""

from __future__ import annotations

from typing import Any

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.promises import Promise
from frontend_lang.values import Value, from_python

_SCALARS = (str, int, float, bool, type(None))
_WAYS_OUT = {
    "Forking": "say how it is joined: fork.all()",
    "function": "call it",
    "Prompt": "call it, or s.use(it)",
    "State": "s.text() is what it has so far",
}
_BYTES = (bytes, bytearray, memoryview)  # they stay what they are, which is no value, and do not become base64


def plain_value(value: object) -> Value:
    """The object as text, number, bool, list, record or none: dataclasses, enums, named tuples, dates and pydantic
    models become what they are in JSON. Raises E0402 for what has no such form.
    """
    if type(value) not in _SCALARS:
        try:
            value = msgspec.to_builtins(value, builtin_types=_BYTES, str_keys=True, enc_hook=_model)
        except (TypeError, NotImplementedError) as error:
            kind = type(value).__name__
            raise ProgramError("E0402", f"a Python {kind} is no value: {error}", _WAYS_OUT.get(kind)) from None
    return from_python(value)


def _model(value: Any) -> object:
    if isinstance(value, Promise):
        return value.value
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
