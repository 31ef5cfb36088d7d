"""Python objects as values of the language."""

from __future__ import annotations

import inspect
from typing import Any

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.handles import Handle
from frontend_lang.python_api.promises import Promise
from frontend_lang.sizes import MAX_DEPTH
from frontend_lang.values import Value, from_python

_SCALARS = (str, int, float, bool, type(None))
_WAYS_OUT = {
    "function": "call it",
    "Prompt": "call it, or s.use(it)",
    "coroutine": "await it",
}
_BYTES = (bytes, bytearray, memoryview)  # they stay what they are, which is no value, and do not become base64


def plain_value(value: object) -> Value:
    """The object as text, number, bool, list, record or none: dataclasses, enums, named tuples, dates and pydantic
    models become what they are in JSON. Raises E0402 for what has no such form, E0808 for what is too deep.
    """
    if type(value) not in _SCALARS:
        try:
            value = msgspec.to_builtins(value, builtin_types=_BYTES, str_keys=True, enc_hook=_model)
        except RecursionError:
            raise ProgramError("E0808", f"a value nested deeper than {MAX_DEPTH} levels, or in itself") from None
        except TypeError as error:
            raise ProgramError("E0402", f"a Python {type(value).__name__} is no value: {error}") from None
    return from_python(value)


def _model(value: Any) -> object:
    if isinstance(value, Promise):
        return value.value
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    if isinstance(value, Handle):
        raise ProgramError("E0402", f"{value.called} is no value that can be written", value.for_text)
    if inspect.iscoroutine(value):
        value.close()  # or Python warns that nobody awaits it
    kind = type(value).__name__
    raise ProgramError("E0402", f"a Python {kind} is no value: it has no JSON form", _WAYS_OUT.get(kind))
