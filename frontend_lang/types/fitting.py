"""Fitting values to types: the value as one of the type, or where inside it something does not fit."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from operator import is_not
from typing import Any, TypeAlias

from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.runtime import Regex
from frontend_lang.sizes import MAX_DEPTH
from frontend_lang.syntax import ast
from frontend_lang.types.names import TypeNames
from frontend_lang.types.schema_values import schema_misfit
from frontend_lang.types.words import describe, shown
from frontend_lang.values import Value, equal, type_name

MAX_STEPS = 1_000_000  # parts of a value that are looked at, once for each option of a union


class Misfit:
    """A part of a value does not fit. Words are made only when they are asked for: a union tries many options."""

    def __init__(self, words: Callable[[], str]) -> None:
        self._words = words
        self._path: list[int | str] = []  # innermost first

    def within(self, part: int | str) -> Misfit:
        """The same, noting that it is in this item or field."""
        self._path.append(part)
        return self

    @property
    def is_inside(self) -> bool:
        """Whether it is a part that does not fit, not the value as a whole."""
        return bool(self._path)

    @property
    def reason(self) -> str:
        """What was expected and what is there."""
        return self._words()

    @property
    def place(self) -> str:
        """`items[2].qty`; empty for the value itself."""
        parts = [f".{part}" if isinstance(part, str) else f"[{part}]" for part in reversed(self._path)]
        return "".join(parts).removeprefix(".")


Fitted: TypeAlias = "Value | Misfit"


class Fitting:
    """Fits one value; made anew for each."""

    def __init__(self) -> None:
        self._left = MAX_STEPS
        self._depth = 0
        self._fitters: Mapping[type, Callable[[Value, Any, TypeNames], Fitted]] = {
            ast.NamedType: self._named,
            ast.GenericType: self._generic,
            ast.BoundedType: self._bounded,
            ast.LiteralType: self._literal,
            ast.RegexType: self._regex,
            ast.RecordType: self._record,
            ast.UnionType: self._union,
        }

    def fit(self, value: Value, declared: ast.Type, names: TypeNames) -> Fitted:
        """The value itself, or with ints as floats where floats are declared, or why not. Raises E0808 if it is huge.

        O(parts of the value), times the options of the unions on the way.
        """
        self._left -= 1
        if self._left < 0:
            raise ProgramError("E0808", "the value is too large to be held against its type")
        return self._fitters[type(declared)](value, declared, names)

    def _named(self, value: Value, declared: ast.NamedType, names: TypeNames) -> Fitted:
        defined = names.defined(declared)
        if defined is not None:
            return self.fit(value, defined.type, defined.names)
        if declared.name == "json" or type_name(value) == declared.name:
            return value
        if declared.name == "float" and type(value) is int:
            return float(value)
        return _misfit(value, declared)

    def _generic(self, value: Value, declared: ast.GenericType, names: TypeNames) -> Fitted:
        if declared.name != "list":
            raise ProgramError("E0403", f"`{declared.name}` takes no type in brackets", "list[T] does")
        if not isinstance(value, list):
            return _misfit(value, declared)
        return self._items(value, declared.argument, names)

    def _items(self, value: list[Value], item: ast.Type, names: TypeNames) -> Fitted:
        fitted: list[Value] = []
        for index, part in enumerate(value):
            found = self._part(part, item, names, index)
            if isinstance(found, Misfit):
                return found
            fitted.append(found)
        return fitted if any(map(is_not, fitted, value)) else value

    def _part(self, part: Value, declared: ast.Type, names: TypeNames, key: int | str) -> Fitted:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ProgramError("E0808", f"a value nested deeper than {MAX_DEPTH} levels")
        fitted = self.fit(part, declared, names)
        self._depth -= 1
        return fitted.within(key) if isinstance(fitted, Misfit) else fitted

    def _bounded(self, value: Value, declared: ast.BoundedType, names: TypeNames) -> Fitted:
        bounds = names.bounds(declared)
        if declared.name == "schema":
            reason = schema_misfit(value, names.schema(declared))
            if reason is not None:
                return Misfit(lambda: f"{describe(declared)}, found {shown(value)}: {reason}")
            return value
        if declared.name == "float" and type(value) is int:
            value = float(value)
        size = _size(value, declared.name)
        if size is None or not bounds.allow(size):
            return _misfit(value, declared)
        return self._items(value, declared.element, names) if isinstance(value, list) and declared.element else value

    def _literal(self, value: Value, declared: ast.LiteralType, _: TypeNames) -> Fitted:
        if isinstance(value, (list, dict)) or not equal(value, declared.value):
            return _misfit(value, declared)
        return float(value) if type(value) is int and type(declared.value) is float else value

    def _regex(self, value: Value, declared: ast.RegexType, _: TypeNames) -> Fitted:
        if not isinstance(value, str) or not Grammar.of(Regex(declared.pattern)).matches(value):
            return _misfit(value, declared)
        return value

    def _record(self, value: Value, declared: ast.RecordType, names: TypeNames) -> Fitted:
        if not isinstance(value, dict):
            return _misfit(value, declared)
        fields = {item.name: item for item in declared.fields}
        for name, item in fields.items():
            if name not in value and not item.optional:
                return _missing(name)
        fitted: dict[str, Value] = {}
        for name, part in value.items():
            if name not in fields:
                return _undeclared(name, fields)
            found = self._part(part, fields[name].type, names, name)
            if isinstance(found, Misfit):
                return found
            fitted[name] = found
        return fitted if any(map(is_not, fitted.values(), value.values())) else value

    def _union(self, value: Value, declared: ast.UnionType, names: TypeNames) -> Fitted:
        misfits: list[Misfit] = []
        changed: list[Value] = []
        for option in declared.options:
            fitted = self.fit(value, option, names)
            if fitted is value:
                return value
            if isinstance(fitted, Misfit):
                misfits.append(fitted)
            else:
                changed.append(fitted)
        if changed:
            return changed[0]
        inner = [misfit for misfit in misfits if misfit.is_inside]
        return inner[0] if len(inner) == 1 else _misfit(value, declared)


def _misfit(value: Value, declared: ast.Type) -> Misfit:
    return Misfit(lambda: f"{describe(declared)}, found {shown(value)}")


def _missing(name: str) -> Misfit:
    return Misfit(lambda: f"field `{name}` is missing")


def _undeclared(name: str, fields: Mapping[str, ast.TypeField]) -> Misfit:
    return Misfit(lambda: f"field `{name}` is not declared{_meant(name, fields)}")


def _size(value: Value, name: str) -> float | None:
    """What bounds of a type count: the number, the characters, the items. None if it is no such value."""
    if type_name(value) != name:
        return None
    return len(value) if isinstance(value, (str, list)) else value  # type: ignore[return-value]


def _meant(name: str, fields: Mapping[str, ast.TypeField]) -> str:
    close = difflib.get_close_matches(name, fields, 1, 0.65)
    return f" (did you mean `{close[0]}`?)" if close else ""
