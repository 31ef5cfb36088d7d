"""Types as JSON schemas: the values that a type has, as JSON that is generated."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.json_schemas import MAX_WHOLE, Schema, parsed_schema
from frontend_lang.syntax import ast
from frontend_lang.types.names import Defined, TypeNames

_BUILTIN: Mapping[str, Schema] = {
    "str": {"type": "string"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "none": {"type": "null"},
    "json": {},
    "list": {"type": "array"},
    "record": {"type": "object"},
    "int": {"type": "integer", "minimum": -MAX_WHOLE, "maximum": MAX_WHOLE},
}


def json_schema(declared: ast.Type, names: TypeNames) -> str:
    """The JSON schema of a type; keys in declared order, no others allowed. Raises E0403, E0504, E0507, E0703."""
    writer = _Writer()
    schema = writer.schema(declared, names)
    return json.dumps({**schema, "$defs": writer.definitions} if writer.definitions else schema, ensure_ascii=False)


class _Writer:
    """Named types become `$defs`, each once, so that they may refer to themselves and to each other."""

    def __init__(self) -> None:
        self.definitions: dict[str, Schema] = {}
        self._references: dict[tuple[int, str], str] = {}
        self._writers: Mapping[type, Callable[[Any, TypeNames], Schema]] = {
            ast.NamedType: self._named,
            ast.GenericType: lambda node, names: {"type": "array", "items": self.schema(node.argument, names)},
            ast.BoundedType: self._bounded,
            ast.LiteralType: lambda node, names: {"const": node.value},
            ast.RegexType: lambda node, names: {"type": "string", "pattern": f"^(?:{node.pattern})$"},
            ast.RecordType: self._record,
            ast.UnionType: lambda node, names: {"anyOf": [self.schema(option, names) for option in node.options]},
        }

    def schema(self, declared: ast.Type, names: TypeNames) -> Schema:
        """The schema of one type."""
        return self._writers[type(declared)](declared, names)

    def _named(self, declared: ast.NamedType, names: TypeNames) -> Schema:
        defined = names.defined(declared)
        return dict(_BUILTIN[declared.name]) if defined is None else self._reference(defined)

    def _reference(self, defined: Defined) -> Schema:
        key = (id(defined.names.module), defined.name)
        if key not in self._references:
            name = self._free_name(defined.name)
            self._references[key] = name
            self.definitions[name] = {}
            self.definitions[name] = self.schema(defined.type, defined.names)
        return {"$ref": f"#/$defs/{self._references[key]}"}

    def _free_name(self, name: str) -> str:
        taken = sum(used.rstrip("0123456789").removesuffix(".") == name for used in self.definitions)
        return f"{name}.{taken + 1}" if taken else name

    def _bounded(self, declared: ast.BoundedType, names: TypeNames) -> Schema:
        bounds = names.bounds(declared)
        if declared.name == "schema":
            return self._file(bounds.file or "", names.schema(declared))
        schema = dict(_BUILTIN[declared.name])
        least, most = {"str": ("minLength", "maxLength"), "list": ("minItems", "maxItems")}.get(
            declared.name, ("minimum", "maximum")
        )
        if bounds.minimum is not None:
            schema[least] = bounds.minimum
        if bounds.maximum is not None:
            schema[most] = bounds.maximum
        if declared.element is not None:
            schema["items"] = self.schema(declared.element, names)
        return schema

    def _file(self, file: str, text: str) -> Schema:
        """The schema of a file becomes a definition; what it refers to moves with it."""
        name = self._free_name(file.replace("/", ".").replace("~", ".").replace("%", "."))
        try:
            schema = _moved(parsed_schema(text), f"#/$defs/{name}")
        except ProgramError as error:
            raise ProgramError(error.code, f"{file}: {error.message}", error.hint) from None
        for key in ("$id", "$schema"):
            schema.pop(key, None)
        self.definitions[name] = schema
        return {"$ref": f"#/$defs/{name}"}

    def _record(self, declared: ast.RecordType, names: TypeNames) -> Schema:
        seen = [item.name for item in declared.fields]
        if len(set(seen)) < len(seen):
            name = next(name for name in seen if seen.count(name) > 1)
            raise ProgramError("E0309", f"the record type has two fields `{name}`", "remove or rename one")
        return {
            "type": "object",
            "properties": {item.name: self.schema(item.type, names) for item in declared.fields},
            "required": [item.name for item in declared.fields if not item.optional],
            "additionalProperties": False,
        }


def _moved(node: Any, root: str) -> Any:
    if isinstance(node, list):
        return [_moved(item, root) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: root + value[1:]
        if key == "$ref" and isinstance(value, str) and value.startswith("#")
        else _moved(value, root)
        for key, value in node.items()
    }
