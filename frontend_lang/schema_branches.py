"""What can be told about JSON schemas without an instance: whether branches exclude one another, whether an end exists.

`target` gives what the `$ref` of a node points to, or None.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

Schema = dict[str, Any]
Target = Callable[[Schema], Any]

TYPES = frozenset({"string", "number", "boolean", "null", "array", "object"})  # an integer is a number
MAX_BRANCHES = 300


def are_disjoint(branches: Sequence[Any], target: Target) -> bool:
    """Whether surely no value fits two branches: their types, constants, or those of a required property differ."""
    if len(branches) > MAX_BRANCHES:
        return False
    shapes = [_resolved(branch, target) for branch in branches]
    return all(_exclude(a, b, target) for a, b in combinations(shapes, 2))


def _resolved(branch: Any, target: Target) -> Schema:
    """The branch behind a chain of lone references; {} where nothing is known."""
    for _ in range(16):
        if not isinstance(branch, dict):
            return {}
        if "$ref" not in branch:
            return branch
        branch = target(branch)
    return {}


def _exclude(a: Schema, b: Schema, target: Target) -> bool:
    if not _types(a) & _types(b):
        return True
    first, second = _constants(a), _constants(b)
    if first is not None and second is not None:
        return not first & second
    return _types(a) & _types(b) == {"object"} and any(
        _differ(_property(a, name, target), _property(b, name, target)) for name in _required(a) & _required(b)
    )


def _differ(a: Schema, b: Schema) -> bool:
    first, second = _constants(a), _constants(b)
    return first is not None and second is not None and not first & second


def _property(node: Schema, name: str, target: Target) -> Schema:
    return _resolved(node["properties"][name], target)


def _required(node: Schema) -> set[str]:
    required, properties = node.get("required"), node.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return set()
    return {name for name in required if isinstance(name, str) and name in properties}


def _types(node: Schema) -> frozenset[str]:
    constants = _values(node)
    if constants is not None:
        return frozenset(map(_type_of, constants))
    declared = node.get("type")
    names = [declared] if isinstance(declared, str) else declared if isinstance(declared, list) else None
    return frozenset("number" if name == "integer" else str(name) for name in names) if names else TYPES


def _type_of(value: Any) -> str:
    kinds = ((bool, "boolean"), ((int, float), "number"), (str, "string"), (list, "array"), (dict, "object"))
    return next((name for kind, name in kinds if isinstance(value, kind)), "null")


def _values(node: Schema) -> list[Any] | None:
    if "const" in node:
        return [node["const"]]
    values = node.get("enum")
    return values if isinstance(values, list) else None


def _constants(node: Schema) -> frozenset[str] | None:
    values = _values(node)
    return None if values is None else frozenset(map(_canonical, values))


def _canonical(value: Any) -> str:
    """Equal JSON values have one form: 1 and 1.0 are one number."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, sort_keys=True)


def endless(root: Schema, nodes: Sequence[Schema], target: Target) -> bool:
    """Whether each instance of `root` contains another without end. `nodes` are all subschemas that count.

    The least fixed point of "has an end": a node is known to end once all that an instance must contain is.
    """
    waiting, ending = list(nodes), set[int]()
    while True:
        left = [node for node in reversed(waiting) if not _ends(node, ending, target)]
        ending.update({id(node) for node in waiting} - {id(node) for node in left})
        if len(left) == len(waiting):
            return id(root) not in ending
        waiting = left[::-1]


def _ends(node: Schema, ending: set[int], target: Target) -> bool:
    def ends(other: Any) -> bool:
        return other is True or id(other) in ending

    if _values(node) is not None:
        return True
    if "$ref" in node and not ends(target(node)):
        return False
    if not all(map(ends, node.get("allOf", ()))):
        return False
    if any(key in node and not any(map(ends, node[key])) for key in ("anyOf", "oneOf")):
        return False
    kinds = _types(node)
    if kinds - {"array", "object"}:
        return True
    return ("object" in kinds and _object_ends(node, ends)) or ("array" in kinds and _array_ends(node, ends))


def _object_ends(node: Schema, ends: Callable[[Any], bool]) -> bool:
    properties = node.get("properties", {})
    return all(ends(properties[name]) for name in node.get("required", ()) if name in properties)


def _array_ends(node: Schema, ends: Callable[[Any], bool]) -> bool:
    least = node.get("minItems", 0)
    first = node.get("prefixItems", [])
    items = node.get("items", True)
    return all(map(ends, first[:least])) and (least <= len(first) or isinstance(items, list) or ends(items))
