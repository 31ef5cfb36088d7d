"""Python types as types of what is generated: builtin and typing ones, dataclasses, models, and bounds of our own.

msgspec reads standard types (dataclasses, TypedDict, NamedTuple, Enum, Literal, `Annotated` with `msgspec.Meta`);
pydantic models describe and check themselves. Whatever a constraint cannot keep is refused, never dropped.
"""

from __future__ import annotations

import enum
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar, check_pattern
from frontend_lang.json_schemas import MAX_WHOLE, prepared_schema
from frontend_lang.json_schemas import Schema as JsonObject
from frontend_lang.runtime import Choice, Constraint, JsonSchema
from frontend_lang.runtime import Regex as RegexConstraint
from frontend_lang.types.system import INT_PATTERN
from frontend_lang.types.value_type import not_parsed
from frontend_lang.types.words import shortened
from frontend_lang.values import from_json


@dataclass(frozen=True)
class Int:
    """Whole numbers from `min` to `max`, both inclusive: `Int(1, 5)`."""

    min: int | None = None
    max: int | None = None

    def __post_init__(self) -> None:
        _check_fields(self, "a whole number", int)


@dataclass(frozen=True)
class Float:
    """Numbers from `min` to `max`, both inclusive."""

    min: float | None = None
    max: float | None = None

    def __post_init__(self) -> None:
        _check_fields(self, "a number", int, float)


@dataclass(frozen=True)
class Str:
    """Text of `min` to `max` characters: `Str(max=80)`."""

    max: int | None = None
    min: int = 0

    def __post_init__(self) -> None:
        _check_fields(self, "a whole number", int)


@dataclass(frozen=True)
class Regex:
    """Text that matches the pattern whole: `Regex(r"\\d{4}")`."""

    pattern: str

    def __post_init__(self) -> None:
        _check_fields(self, "a pattern", str)


@dataclass(frozen=True)
class List:
    """`min` to `max` values of one type: `List(Step, max=6)`."""

    of: Any
    max: int | None = None
    min: int = 0

    def __post_init__(self) -> None:
        _check_fields(self, "a whole number", int)


@dataclass(frozen=True)
class Schema:
    """JSON valid under a schema, as plain Python values: `Schema({"type": "object", …})`."""

    schema: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.schema, Mapping):
            raise TypeError(f"{self!r:.60}: expected a dict: Schema({{'type': 'integer'}})")


def _check_fields(declared: Any, expected: str, *kinds: type) -> None:
    """Raise TypeError for a bound of another type."""
    for item in fields(declared):
        if item.name == "of":
            continue
        value = getattr(declared, item.name)
        if type(value) not in kinds and not (value is None and item.default is None):
            raise TypeError(f"{declared!r:.60}: {item.name} is {value!r:.40}, expected {expected}")


@dataclass(frozen=True)
class PythonType:
    """A Python type that can be generated. `constraint` is None where any text will do."""

    description: str
    constraint: Constraint | None
    _read: Callable[[str], object] = field(repr=False)

    def parse(self, text: str) -> object:
        """The Python value that the text stands for. Raises E0609 with the text and what was expected."""
        try:
            return self._read(text)
        except ProgramError as error:
            raise not_parsed(text, self.description, error.message) from None
        except ValueError as error:  # msgspec's and pydantic's validation errors are ValueErrors
            raise not_parsed(text, self.description, str(error)) from None


def value_type_of(python_type: Any) -> PythonType:
    """What generates values of the type. Raises E0504, E0505, E0506 or E0507, naming the type and the place in it."""
    description = described(python_type)
    try:
        _check_annotations(python_type)
        found = _text_type(python_type, description)
        if found is None:
            shape = _shape(python_type)
            constraint: Constraint = JsonSchema(prepared_schema(json.dumps(_whole(shape)), check_pattern))
            if python_type is int:
                constraint = RegexConstraint(INT_PATTERN)
            found = PythonType(description, constraint, lambda text: shape.convert(from_json(text)))
        if found.constraint is not None:
            Grammar.of(found.constraint)
    except ProgramError as error:
        raise ProgramError(error.code, f"type {description}: {error.message}", error.hint) from None
    return found


def described(python_type: Any) -> str:
    """The type's name, in short."""
    name = (
        python_type.__qualname__ if isinstance(python_type, type) and not get_args(python_type) else repr(python_type)
    )
    return shortened(name.replace("typing.", ""), 100)


def _text_type(python_type: Any, description: str) -> PythonType | None:
    """Types all of whose values are texts: they are generated as they are, not as JSON strings."""
    if python_type is str:
        return PythonType(description, None, str)
    if isinstance(python_type, Regex):
        return PythonType(description, RegexConstraint(python_type.pattern), str)
    if isinstance(python_type, Str):
        bound = "" if python_type.max is None else python_type.max
        return PythonType(description, RegexConstraint(f"(?s:.{{{python_type.min},{bound}}})"), str)
    values, convert = _choices(python_type)
    if values and all(isinstance(value, str) and value for value in values):
        return PythonType(description, Choice(tuple(values)), convert)
    return None


def _choices(python_type: Any) -> tuple[Sequence[Any], Callable[[Any], object]]:
    """The values of a Literal or an Enum, and what makes one of the JSON value."""
    if get_origin(python_type) is Literal:
        return _scalars(get_args(python_type), "the Enum itself can, or a Literal of its values"), lambda value: value
    if isinstance(python_type, type) and issubclass(python_type, enum.Enum):
        values = [member.value for member in python_type]
        return _scalars(values, "an Enum of texts or numbers can"), python_type
    return (), lambda value: value


def _scalars(values: Sequence[Any], hint: str) -> Sequence[Any]:
    for value in values:
        if type(value) not in (str, int, float, bool, type(None)):
            raise ProgramError("E0506", f"the value {value!r:.60} cannot be generated", hint)
    return values


@dataclass(frozen=True)
class _Shape:
    """A JSON schema, what makes the Python value of the JSON value, and the definitions that the schema refers to."""

    schema: JsonObject
    convert: Callable[[Any], object]
    definitions: JsonObject = field(default_factory=dict)


def _whole(shape: _Shape) -> JsonObject:
    return {**shape.schema, "$defs": shape.definitions} if shape.definitions else shape.schema


def _shape(python_type: Any) -> _Shape:
    own = _OWN.get(type(python_type))
    if own is not None:
        return own(python_type)
    if isinstance(python_type, typing.TypeVar):
        raise ProgramError("E0506", "a type variable stands for no type of its own", "name the type")
    if hasattr(python_type, "model_json_schema"):
        return _described_shape(python_type.model_json_schema(), _pydantic(python_type))
    values, convert = _choices(python_type)
    if values:
        return _Shape({"enum": list(values)}, convert)
    try:
        schema = msgspec.json.schema(python_type)
    except (TypeError, RuntimeError, NameError) as error:
        return _combined(python_type, str(error).splitlines()[-1])
    return _described_shape(schema, lambda value: msgspec.convert(value, python_type))


def _pydantic(model: Any) -> Callable[[Any], object]:
    return lambda value: typing.cast("object", model.model_validate_json(json.dumps(value)))


def _described_shape(schema: JsonObject, convert: Callable[[Any], object]) -> _Shape:
    closed = _closed(schema)
    return _Shape(closed, convert, closed.pop("$defs", {}))


def _closed(node: Any) -> Any:
    """The schema with nothing left open: no other properties than the declared, whole numbers within 64 bits."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("contentEncoding"), str):
        raise ProgramError("E0506", "bytes are not generated as JSON", "use str")
    closed = {
        key: value if key in ("default", "const", "enum", "examples") else _closed(value) for key, value in node.items()
    }
    if closed.get("type") == "object" and isinstance(closed.get("properties"), dict):
        closed.setdefault("additionalProperties", False)
    if closed.get("type") == "integer":
        closed.setdefault("minimum", -MAX_WHOLE)
        closed.setdefault("maximum", MAX_WHOLE)
    return closed


def _combined(python_type: Any, why: str) -> _Shape:
    """Lists, records and unions of types that msgspec does not know."""
    origin, arguments = get_origin(python_type), get_args(python_type)
    if origin is list and len(arguments) == 1:
        return _list_shape(List(arguments[0]))
    if origin in (Union, types.UnionType):
        return _union(arguments)
    if origin is dict and len(arguments) == 2 and arguments[0] is str:
        inner = _shape(arguments[1])
        schema = {"type": "object", "additionalProperties": inner.schema}
        return _Shape(
            schema, lambda value: {key: inner.convert(part) for key, part in value.items()}, inner.definitions
        )
    if origin is Annotated:
        return _shape(next((note for note in arguments[1:] if type(note) in _OWN), arguments[0]))
    raise ProgramError("E0506", f"it cannot be generated: {why}", "dataclasses, TypedDict and pydantic models can")


def _list_shape(declared: List) -> _Shape:
    inner = _shape(declared.of)
    schema: JsonObject = {"type": "array", "items": inner.schema, "minItems": declared.min}
    if declared.max is not None:
        schema["maxItems"] = declared.max
    return _Shape(schema, lambda value: [inner.convert(item) for item in value], inner.definitions)


def _union(options: Sequence[Any]) -> _Shape:
    shapes = [_shape(option) for option in options]
    definitions: JsonObject = {}
    for shape in shapes:
        for name, schema in shape.definitions.items():
            if definitions.setdefault(name, schema) != schema:
                raise ProgramError("E0506", f"two different types are named {name}", "rename one")
    return _Shape({"anyOf": [shape.schema for shape in shapes]}, lambda value: _first(shapes, value), definitions)


def _first(shapes: Sequence[_Shape], value: Any) -> object:
    """The value as the first type that takes it."""
    for shape in shapes[:-1]:
        try:
            return shape.convert(value)
        except (ValueError, TypeError, AttributeError):
            continue
    return shapes[-1].convert(value)


def _number(kind: type, least: Any, most: Any) -> _Shape:
    given = {"minimum": least, "maximum": most}
    schema = {"type": "integer" if kind is int else "number"} | {key: v for key, v in given.items() if v is not None}
    return _Shape(_closed(schema), lambda value: msgspec.convert(value, kind))


def _given(schema: JsonObject) -> _Shape:
    return _Shape(schema, lambda value: value, schema.pop("$defs", {}))


def _text(schema: JsonObject) -> _Shape:
    return _Shape({"type": "string", **schema}, lambda value: msgspec.convert(value, str))


_OWN: Mapping[type, Callable[[Any], _Shape]] = {
    Int: lambda declared: _number(int, declared.min, declared.max),
    Float: lambda declared: _number(float, declared.min, declared.max),
    Str: lambda declared: _text(
        {"minLength": declared.min} | ({} if declared.max is None else {"maxLength": declared.max})
    ),
    Regex: lambda declared: _text({"pattern": f"^(?:{declared.pattern})$"}),
    List: _list_shape,
    Schema: lambda declared: _given(dict(declared.schema)),
}


def _check_annotations(python_type: Any) -> None:
    """Raise E0506 for a bound in `Annotated` that msgspec would pass over, such as pydantic's Field."""
    pending, seen = [("", python_type)], set[int]()
    while pending:
        place, found = pending.pop()
        if id(found) in seen or hasattr(found, "model_json_schema"):
            continue
        seen.add(id(found))
        if get_origin(found) is Annotated:
            _check_notes(place, get_args(found)[1:])
        pending += [(place, argument) for argument in get_args(found) if get_origin(found) is not Literal]
        pending += [(f"{place}.{name}", inner) for name, inner in _hints(found).items()]


def _check_notes(place: str, notes: Sequence[Any]) -> None:
    for note in notes:
        if not isinstance(note, (msgspec.Meta, str, *_OWN)):
            where = f"{place.removeprefix('.')}: " if place else ""
            raise ProgramError("E0506", f"{where}the annotation {note!r} is not supported", "use msgspec.Meta")


def _hints(found: Any) -> dict[str, Any]:
    if not isinstance(found, type) or issubclass(found, enum.Enum) or not getattr(found, "__annotations__", None):
        return {}
    try:
        return typing.get_type_hints(found, include_extras=True)
    except (NameError, TypeError):  # said by msgspec
        return {}
