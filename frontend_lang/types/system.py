"""The types of one module: fitting values to them, generating values of them."""

from __future__ import annotations

from frontend_lang.errors import ProgramError
from frontend_lang.grammars import Grammar, check_pattern
from frontend_lang.json_schemas import prepared_schema
from frontend_lang.modules import Module
from frontend_lang.runtime import Constraint, JsonSchema, Regex
from frontend_lang.syntax import ast
from frontend_lang.types.fitting import Fitting, Misfit
from frontend_lang.types.names import TypeNames
from frontend_lang.types.schemas import json_schema
from frontend_lang.types.texts import is_text, options_of, text_constraint
from frontend_lang.types.value_type import ValueType
from frontend_lang.types.words import describe
from frontend_lang.values import Value, from_json, from_python

INT_PATTERN = "-?(0|[1-9][0-9]{0,17})"  # within 64 bits


class TypeSystem:
    """Types as the code of `module` names them. Types are looked up by identity, so pass nodes of that module."""

    def __init__(self, module: Module) -> None:
        self.names = TypeNames(module)
        self._generated: dict[int, ValueType] = {}

    def fit(self, value: Value, declared: ast.Type | None, what: str) -> Value:
        """The value as one of the type: an int becomes a float where a float is declared. No type: the value itself.

        Raises E0402, which says where inside the value; E0403 and E0507 for the type; E0808 for a value that is huge.
        """
        if declared is None:
            return value
        fitted = Fitting().fit(value, declared, self.names)
        if isinstance(fitted, Misfit):
            raise ProgramError("E0402", f"{what} is declared {_words(fitted, declared)}")
        return fitted

    def from_argument(self, raw: object, declared: ast.Type | None, what: str) -> Value:
        """An argument of a run: text for types of texts, JSON for others; what is no str is a value already."""
        if not isinstance(raw, str) or declared is None or is_text(declared, self.names):
            return self.fit(from_python(raw), declared, what)
        try:
            return self.fit(from_json(raw), declared, what)
        except ProgramError as error:
            message = error.message if error.message.startswith(what) else f"{what}: {error.message}"
            raise ProgramError(error.code, message, f"{describe(declared)} is given as JSON") from None

    def gen_type(self, declared: ast.Type) -> ValueType:
        """What generates a value of the type; compiled once. Raises E0403, E0504, E0505, E0506, E0507, E0703."""
        found = self._generated.get(id(declared))
        if found is None:
            found = self._generated[id(declared)] = self._value_type(declared)
        return found

    def _value_type(self, declared: ast.Type) -> ValueType:
        text = is_text(declared, self.names)
        constraint = text_constraint(declared, self.names) if text else self._json(declared)
        if constraint is not None:
            Grammar.of(constraint)
        return ValueType(describe(declared), constraint, lambda raw: self._read(raw, declared, text))

    def _json(self, declared: ast.Type) -> Constraint:
        options = [option for option, _ in options_of(declared, self.names)]
        if len(options) == 1 and isinstance(options[0], ast.NamedType) and options[0].name == "int":
            return Regex(INT_PATTERN)
        return JsonSchema(prepared_schema(json_schema(declared, self.names), check_pattern))

    def _read(self, raw: str, declared: ast.Type, text: bool) -> Value:
        value = from_python(raw) if text else from_json(raw)
        fitted = Fitting().fit(value, declared, self.names)
        if isinstance(fitted, Misfit):
            raise ProgramError("E0402", f"{fitted.place}: {fitted.reason}".removeprefix(": "))
        return fitted


def _words(misfit: Misfit, declared: ast.Type) -> str:
    described = describe(declared)
    if misfit.place:
        return f"{described}; {misfit.place}: {misfit.reason}"
    return misfit.reason if misfit.reason.startswith(described) else f"{described}: {misfit.reason}"
