"""Types and values in messages."""

from __future__ import annotations

from frontend_lang.errors import ProgramError
from frontend_lang.syntax import ast
from frontend_lang.types.bounds import written_value
from frontend_lang.values import Value, json_text, type_name

MAX_SHOWN = 40  # characters of a value in a message
MAX_DESCRIBED = 100  # characters of a type


def shown(value: Value) -> str:
    """The type of a value and, in short, the value."""
    if value is None:
        return "none"
    try:
        text = json_text(value, limit=MAX_SHOWN * 100)
    except ProgramError:  # too large, or a float without JSON form
        return type_name(value) if isinstance(value, (str, list, dict)) else f"{type_name(value)} {value}"
    return f"{type_name(value)} {shortened(text)}"


def shortened(text: str, most: int = MAX_SHOWN) -> str:
    """The text, or its beginning and an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def describe(declared: ast.Type) -> str:
    """The type as it is written, in one line and in short."""
    return shortened(_described(declared), MAX_DESCRIBED)


def _described(declared: ast.Type) -> str:
    if isinstance(declared, ast.GenericType):
        return f"{declared.name}[{_described(declared.argument)}]"
    if isinstance(declared, ast.UnionType):
        return " | ".join(map(_described, declared.options))
    if isinstance(declared, ast.LiteralType):
        return repr(declared.value)
    if isinstance(declared, ast.RecordType):
        return "{" + ", ".join(map(_field, declared.fields)) + "}"
    if isinstance(declared, ast.RegexType):
        return f"re'{declared.pattern}'"
    if isinstance(declared, ast.BoundedType):
        element = [f"of={_described(declared.element)}"] if declared.element else []
        return f"{declared.name}({', '.join([*element, *map(_option, declared.options)])})"
    return declared.name


def _field(item: ast.TypeField) -> str:
    return f"{item.name}{'?' * item.optional}: {_described(item.type)}"


def _option(option: ast.Option) -> str:
    value = written_value(option.value)
    return f"{option.name}={'…' if value is None else repr(value)}"
