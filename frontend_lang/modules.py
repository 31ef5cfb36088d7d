"""A program together with the modules that it imports: what is checked and run as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from frontend_lang.syntax import ast


@dataclass(frozen=True)
class Module:
    """One parsed file. `imports` maps each alias to its module, `schemas` each `schema(file=…)` path to its text.

    Modules are compared by identity: the same file imported twice is one module.
    """

    program: ast.Program
    imports: Mapping[str, Module] = field(default_factory=dict)
    schemas: Mapping[str, str] = field(default_factory=dict)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other

    def family(self) -> list[Module]:
        """The module and all that it imports, each once."""
        found, seen = [self], {self}
        for module in found:  # which grows
            fresh = [imported for imported in dict.fromkeys(module.imports.values()) if imported not in seen]
            seen.update(fresh)
            found += fresh
        return found

    @property
    def file(self) -> str:
        """The name that diagnostics and errors give it."""
        return self.program.file

    @cached_property
    def defs(self) -> Mapping[str, ast.Def]:
        """Defs by name."""
        return {node.name: node for node in self.program.statements if isinstance(node, ast.Def)}

    @cached_property
    def tools(self) -> Mapping[str, ast.Tool]:
        """Declared tools by name."""
        return {node.name: node for node in self.program.statements if isinstance(node, ast.Tool)}

    @cached_property
    def type_definitions(self) -> Mapping[str, ast.Type]:
        """Types by name."""
        return {node.name: node.type for node in self.program.statements if isinstance(node, ast.TypeDefinition)}
