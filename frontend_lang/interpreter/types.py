"""Checking values against the types that a program declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.syntax import ast
from frontend_lang.values import Value, equal, from_json, from_python, json_text, type_name

MAX_SHOWN = 40  # characters of a value in a message

Types = Mapping[str, ast.Type]


class TypeChecker:
    """Fits values to types; `types` are the program's own definitions."""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._fitters: Mapping[type, Callable[[Value, Any], bool]] = {
            ast.NamedType: self._named,
            ast.GenericType: self._generic,
            ast.BoundedType: self._bounded,
            ast.LiteralType: self._literal,
            ast.RegexType: self._regex,
            ast.RecordType: self._record,
            ast.UnionType: self._union,
        }

    def fit(self, value: Value, declared: ast.Type | None, what: str) -> Value:
        """The value as one of the type: an int becomes a float where a float is declared. Raises E0402."""
        if declared is None:
            return value
        if type(value) is int and isinstance(declared, ast.NamedType) and declared.name == "float":
            return float(value)
        if self._fits(value, declared):
            return value
        raise ProgramError("E0402", f"{what} is declared {describe(declared)}, found {shown(value)}")

    def from_argument(self, raw: object, declared: ast.Type | None, what: str) -> Value:
        """An argument of a run: text for str types, JSON for others; what is no str is a value already."""
        if not isinstance(raw, str) or declared is None or self._is_text(declared):
            return self.fit(from_python(raw), declared, what)
        try:
            return self.fit(from_json(raw), declared, what)
        except ProgramError as error:
            message = error.message if error.message.startswith(what) else f"{what}: {error.message}"
            raise ProgramError(error.code, message, f"{describe(declared)} is given as JSON") from None

    def _is_text(self, declared: ast.Type) -> bool:
        if isinstance(declared, ast.UnionType):
            return all(map(self._is_text, declared.options))
        if isinstance(declared, ast.LiteralType):
            return isinstance(declared.value, str)
        if isinstance(declared, ast.NamedType) and declared.name in self._types:
            return self._is_text(self._types[declared.name])
        return isinstance(declared, ast.RegexType) or getattr(declared, "name", None) == "str"

    def _fits(self, value: Value, declared: ast.Type) -> bool:
        return self._fitters[type(declared)](value, declared)

    def _named(self, value: Value, declared: ast.NamedType) -> bool:
        if declared.name == "json":
            return True
        if declared.name == "float":
            return type_name(value) in ("float", "int")
        if declared.name in self._types:
            return self._fits(value, self._types[declared.name])
        if declared.name not in ("str", "int", "bool", "none", "list", "record"):
            raise ProgramError("E0403", f"unknown type `{declared.name}`")
        return type_name(value) == declared.name

    def _generic(self, value: Value, declared: ast.GenericType) -> bool:
        return isinstance(value, list) and all(self._fits(item, declared.argument) for item in value)

    def _bounded(self, value: Value, declared: ast.BoundedType) -> bool:
        raise ProgramError("E0299", f"bounds of `{declared.name}(…)` are not in this version")

    def _literal(self, value: Value, declared: ast.LiteralType) -> bool:
        return equal(value, declared.value)

    def _regex(self, value: Value, declared: ast.RegexType) -> bool:
        raise ProgramError("E0299", "regular expressions as types are not in this version")

    def _record(self, value: Value, declared: ast.RecordType) -> bool:
        if not isinstance(value, dict) or value.keys() - {item.name for item in declared.fields}:
            return False
        return all(
            self._fits(value[item.name], item.type) if item.name in value else item.optional for item in declared.fields
        )

    def _union(self, value: Value, declared: ast.UnionType) -> bool:
        return any(self._fits(value, option) for option in declared.options)


def shown(value: Value) -> str:
    """The type of a value and, in short, the value."""
    if value is None:
        return "none"
    try:
        text = json_text(value, limit=MAX_SHOWN * 100)
    except ProgramError:  # too large, or a float without JSON form
        return type_name(value) if isinstance(value, (str, list, dict)) else f"{type_name(value)} {value}"
    return f"{type_name(value)} {text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + '…'}"


def describe(declared: ast.Type) -> str:
    """The type as it is written, in short."""
    if isinstance(declared, ast.GenericType):
        return f"{declared.name}[{describe(declared.argument)}]"
    if isinstance(declared, ast.UnionType):
        return " | ".join(map(describe, declared.options))
    if isinstance(declared, ast.LiteralType):
        return repr(declared.value)
    if isinstance(declared, ast.RecordType):
        return "{" + ", ".join(f"{item.name}: {describe(item.type)}" for item in declared.fields) + "}"
    return getattr(declared, "name", "re'…'")
