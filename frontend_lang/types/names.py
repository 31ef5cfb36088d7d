"""Which type a name means, in the module that uses it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from functools import cached_property

from frontend_lang.errors import ProgramError
from frontend_lang.modules import Module
from frontend_lang.syntax import ast
from frontend_lang.types.bounds import Bounds, read_bounds
from frontend_lang.types.circular import circular

BUILTIN_TYPES = ("str", "int", "float", "bool", "none", "json", "list", "record")


@dataclass(frozen=True)
class Defined:
    """A type that a name stands for, and the names that it is to be read with."""

    name: str
    type: ast.Type
    names: TypeNames


@dataclass(frozen=True)
class TypeNames:
    """The names of one module. Its own types win over nothing: builtin names cannot be defined anew."""

    module: Module
    _imports: dict[str, TypeNames] = field(default_factory=dict, compare=False)
    _bounds: dict[int, Bounds] = field(default_factory=dict, compare=False)

    @cached_property
    def circular(self) -> frozenset[str]:
        """Names of types that have no end."""
        return circular(self.module.type_definitions)

    def defined(self, declared: ast.NamedType) -> Defined | None:
        """What a name of the program's own stands for; None for a builtin. Raises E0403 and E0507."""
        if declared.name in BUILTIN_TYPES:
            return None
        alias, _, name = declared.name.rpartition(".")
        names = self._imported(alias) if alias else self
        type_ = names.module.type_definitions.get(name) if names else None
        if names is None or type_ is None:
            raise self._unknown(declared)
        if name in names.circular:
            raise ProgramError(
                "E0507",
                f"type `{declared.name}` contains itself without an end",
                "make a field optional (`next?: T`), or use list[T] or `T | none`",
                span=declared.span,
            )
        return Defined(name, type_, names)

    def bounds(self, declared: ast.BoundedType) -> Bounds:
        """The bounds of a type of this module, read once."""
        found = self._bounds.get(id(declared))
        if found is None:
            found = self._bounds[id(declared)] = read_bounds(declared)
        return found

    def schema(self, declared: ast.BoundedType) -> str:
        """The JSON schema that `schema(file=…)` names. Raises E0703."""
        file = self.bounds(declared).file or ""
        text = self.module.schemas.get(file)
        if text is None:
            raise ProgramError("E0703", f"the schema {file!r} is not there", span=declared.span)
        return text

    def _imported(self, alias: str) -> TypeNames | None:
        module = self.module.imports.get(alias)
        if module is None:
            return None
        return self._imports.setdefault(alias, TypeNames(module))

    def _unknown(self, declared: ast.NamedType) -> ProgramError:
        exported = [
            f"{alias}.{name}" for alias, module in self.module.imports.items() for name in module.type_definitions
        ]
        known = [*BUILTIN_TYPES, *self.module.type_definitions, *exported]
        close = difflib.get_close_matches(declared.name, known, 1, 0.65)
        if declared.name in ("true", "false"):
            close = []
            known = ["bool, which has both; texts and numbers alone are literal types"]
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known[:16])}"
        return ProgramError("E0403", f"unknown type `{declared.name}`", hint, span=declared.span)
