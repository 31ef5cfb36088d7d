"""JSON schemas before the grammar compiler sees them: bounded in size, and nothing in them is dropped silently.

Keywords: JSON Schema 2020-12 (core and validation), with the older `definitions` and `items` as a list. What
constrained generation cannot honour is E0506 with the place in the schema; annotations and unknown keywords pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from frontend_lang.errors import ProgramError
from frontend_lang.schema_branches import are_disjoint, endless
from frontend_lang.schema_faults import unknown_type

MAX_SCHEMA = 64 << 10  # bytes
MAX_DEPTH = 64  # nesting of the document
MAX_PATTERNS = 8  # patterns and formats that one value has to match together
MAX_PATTERN_TEXT = 4 << 10  # characters of all patterns together
MAX_CONJUNCTION = 200  # schemas that one value has to fit together
MAX_MULTIPLE = 10_000  # of multipleOf, without its decimal point: the automaton has about as many states
MAX_OPTIONAL = 400  # properties of one object that may be absent
MAX_WHOLE = 9 * 10**18  # what is generated as an integer stays within 64 bits; the compiler knows such bounds exactly
EXACT = 1 << 53  # beyond it the compiler rounds numbers

Schema = dict[str, Any]

_REFUSED: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames", "dependencies",
            "dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef",
            "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor", "extends", "disallow",
        ),
        "a text cannot be kept to it while it is generated: leave it out and test the value, as with `until`",
    ),
    "divisibleBy": "write multipleOf",
    "nullable": 'write "type": [..., "null"]',
    "x-guidance": "whitespace and leniency are not the schema's to choose",
}  # fmt: skip
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_MAPS = ("properties", "patternProperties")
_SINGLE = ("items", "additionalItems", "additionalProperties")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_COUNTS = ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties")
_PAIRS = (
    ("minimum", "maximum"),
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)


def prepared_schema(text: str, check_pattern: Callable[[str], None]) -> str:
    """The schema in the form in which the grammar compiler takes it; `prepared_schema` of that is itself.

    `oneOf` becomes `anyOf` where its branches surely exclude one another, `uniqueItems: false` goes, integers without
    bounds get those of 64 bits. `check_pattern` raises for a pattern that cannot be read.
    Raises E0504 (no schema), E0505 (too large), E0506 (not supported), E0507.
    """
    schema = parsed_schema(text)
    _Audit(schema, check_pattern).run()
    return json.dumps(schema, ensure_ascii=False)


def parsed_schema(text: str) -> Schema:
    """The JSON object of a schema, its keys in order. `true` is the empty schema."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_SCHEMA:
        raise ProgramError("E0505", f"a JSON schema of more than {MAX_SCHEMA} bytes", "make it smaller")
    try:
        schema = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except ValueError as error:
        raise ProgramError("E0504", f"bad JSON schema: {error}") from None
    except RecursionError:
        raise _too_deep() from None
    _check_depth(schema)
    if schema is True:
        return {}
    if not isinstance(schema, dict):
        raise ProgramError("E0504", 'a JSON schema is an object, as in {"type": "integer"}')
    return schema


def _unique(pairs: list[tuple[str, Any]]) -> Schema:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is given twice")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_depth(document: Any) -> None:
    level, depth = [document], 0
    while level:
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = [child for node in level for child in _inner(node)]
        depth += 1


def _inner(node: Any) -> list[Any]:
    return list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []


def _too_deep() -> ProgramError:
    return ProgramError("E0505", f"a JSON schema nested deeper than {MAX_DEPTH} levels", "flatten it with $defs")


def resolved(root: Schema, pointer: str) -> Any:
    """What a local reference (`#`, `#/$defs/Name`) points to; KeyError if there is nothing."""
    node: Any = root
    for part in pointer.split("/")[1:]:
        key = unquote(part).replace("~1", "/").replace("~0", "~")
        if isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        elif isinstance(node, dict):
            node = node[key]
        else:
            raise KeyError(key)
    return node


@dataclass
class _Audit:
    """Visits each subschema that counts once, and changes those that have another way to be said."""

    root: Schema
    check_pattern: Callable[[str], None]
    pattern_text: int = 0
    _seen: dict[int, Schema] = field(default_factory=dict)

    def run(self) -> None:
        """Raise for the first fault, in the order of the document."""
        pending: list[tuple[str, Any]] = [("", self.root)]
        while pending:
            place, node = pending.pop()
            if id(node) in self._seen or isinstance(node, bool):
                continue
            if not isinstance(node, dict):
                raise _bad(place, "a schema is an object, true or false")
            self._seen[id(node)] = node
            self._check(place, node)
            pending.extend(reversed(list(self._below(place, node))))
        self._check_whole()

    def _check_whole(self) -> None:
        nodes = list(self._seen.values())
        if endless(self.root, nodes, self.target):
            raise ProgramError("E0507", "no JSON that ends fits the schema: it refers to itself without a way out")
        for node in nodes:
            self._check_conjunction(node)
        for node in nodes:
            self._simplify(node)

    def _check_conjunction(self, node: Schema) -> None:
        """What one value has to match together multiplies the states of the automaton."""
        found, pending, strict = {id(node)}, [node], 0
        while pending:
            part = pending.pop()
            strict += len(part.keys() & {"pattern", "format"})
            if strict > MAX_PATTERNS or len(found) > MAX_CONJUNCTION:
                raise ProgramError("E0505", "JSON schema: too much that one value has to match, by allOf and $ref")
            for other in (*part.get("allOf", ()), self.target(part)):
                if isinstance(other, dict) and id(other) not in found:
                    found.add(id(other))
                    pending.append(other)

    def target(self, node: Schema) -> Any:
        """What the node's `$ref` points to, or None."""
        reference = node.get("$ref")
        try:
            return resolved(self.root, reference) if isinstance(reference, str) else None
        except KeyError:  # reported where the reference itself is looked at
            return None

    def _check(self, place: str, node: Schema) -> None:
        for key, value in node.items():
            if key in _REFUSED:
                raise _unsupported(f"{place}/{key}", f"the keyword {key!r} is not supported", _REFUSED[key])
            if key in _CHECKS:
                _CHECKS[key](self, f"{place}/{key}", value)
        _check_pairs(place, node)
        if len(node.get("properties", ())) - len(node.get("required", ())) > MAX_OPTIONAL:
            raise ProgramError("E0505", f"{_at(place)}: more than {MAX_OPTIONAL} properties that may be absent")

    def _below(self, place: str, node: Schema) -> Iterator[tuple[str, Any]]:
        for key in _LISTS:
            yield from ((f"{place}/{key}/{index}", item) for index, item in enumerate(node.get(key, ())))
        for key in _MAPS:
            yield from ((f"{place}/{key}/{_pointer(name)}", item) for name, item in node.get(key, {}).items())
        for key in _SINGLE:
            value = node.get(key, True)
            if isinstance(value, list):
                yield from ((f"{place}/{key}/{index}", item) for index, item in enumerate(value))
            else:
                yield f"{place}/{key}", value
        if "$ref" in node:
            yield node["$ref"].removeprefix("#"), self.target(node)

    def _simplify(self, node: Schema) -> None:
        if node.get("uniqueItems") is False:
            del node["uniqueItems"]
        _bound_integers(node)
        branches = node.get("oneOf")
        if branches and are_disjoint(branches, self.target):
            if "anyOf" in node:
                node.setdefault("allOf", []).append({"anyOf": branches})
                del node["oneOf"]
            else:
                node["anyOf"] = node.pop("oneOf")

    def reference(self, place: str, value: Any) -> None:
        """`$ref`: local, and to something."""
        if not isinstance(value, str) or (value != "#" and not value.startswith("#/")):
            raise _unsupported(place, f"the reference {value!r} leads out of the schema", "use #/$defs/Name")
        try:
            resolved(self.root, value)
        except KeyError:
            raise _bad(place, f"{value!r} refers to nothing") from None

    def pattern(self, place: str, value: Any) -> None:
        """`pattern`, and each key of `patternProperties`."""
        if not isinstance(value, str):
            raise _bad(place, f"a pattern is a string, found {value!r}")
        self.pattern_text += len(value)
        if self.pattern_text > MAX_PATTERN_TEXT:
            raise ProgramError("E0505", f"{_at(place)}: patterns of more than {MAX_PATTERN_TEXT} characters together")
        try:
            self.check_pattern(value)
        except ProgramError as error:
            raise ProgramError(error.code, f"{_at(place)}: {error.message} in {value!r}", error.hint) from None

    def patterns(self, place: str, value: Any) -> None:
        """`patternProperties`."""
        _expect_object(place, value)
        for pattern in value:
            self.pattern(f"{place}/{_pointer(pattern)}", pattern)

    def identifier(self, place: str, value: Any) -> None:
        """`$id` below the root would move what `#` means."""
        if place != "/$id" and isinstance(value, str):
            raise _unsupported(place, "$id inside a schema is not supported", "refer to #/$defs/Name")

    def unique(self, place: str, value: Any) -> None:
        """`uniqueItems`."""
        if value is not False:
            raise _unsupported(place, "the keyword 'uniqueItems' is not supported", _REFUSED["not"])

    def one_of(self, place: str, value: Any) -> None:
        """`oneOf`: branches that may overlap cannot be told apart while the text is generated."""
        _expect_list(place, value)
        if not are_disjoint(value, self.target):
            raise _unsupported(
                place,
                "'oneOf' with branches that may overlap is not supported",
                "use anyOf, or a constant that differs",
            )

    def number(self, place: str, value: Any) -> None:
        """Bounds: numbers that the compiler does not round."""
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise _unsupported(place, f"a bound is a number, found {value!r}", "exclusiveMinimum too is a number")
        _check_exact(place, value)
        if abs(value) > MAX_WHOLE:
            raise _unsupported(place, f"the number {value!r} is beyond 64 bits", "bounds stay within 9*10^18")

    def count(self, place: str, value: Any) -> None:
        """Lengths and numbers of items."""
        if type(value) is not int or value < 0:
            raise _bad(place, f"needs an integer that is not negative, found {value!r}")

    def multiple(self, place: str, value: Any) -> None:
        """`multipleOf`."""
        self.number(place, value)
        digits = f"{value:f}".rstrip("0").replace(".", "").lstrip("0") if isinstance(value, float) else str(value)
        if value <= 0:
            raise _bad(place, f"multipleOf is more than 0, found {value!r}")
        if int(digits or 0) > MAX_MULTIPLE:
            raise ProgramError("E0505", f"{_at(place)}: multipleOf {value!r}; at most {MAX_MULTIPLE}")

    def constants(self, place: str, value: Any) -> None:
        """`enum`."""
        _expect_list(place, value)
        for index, item in enumerate(value):
            self.constant(f"{place}/{index}", item)

    def constant(self, place: str, value: Any) -> None:
        """`const`."""
        pending = [value]
        while pending:
            item = pending.pop()
            if isinstance(item, (int, float)):
                _check_exact(place, item)
            pending.extend(_inner(item))

    def format(self, place: str, value: Any) -> None:
        """`format`: of those that the compiler knows."""
        if value not in FORMATS:
            raise _unsupported(place, f"the format {value!r} is not supported", f"known: {', '.join(FORMATS)}")

    def kind(self, place: str, value: Any) -> None:
        """`type`."""
        if (fault := unknown_type(value)) is not None:
            raise _bad(place, fault)

    def schemas(self, place: str, value: Any) -> None:
        """A list of schemas."""
        _expect_list(place, value)

    def named_schemas(self, place: str, value: Any) -> None:
        """Schemas by name."""
        _expect_object(place, value)

    def names(self, place: str, value: Any) -> None:
        """`required`."""
        _expect_list(place, value)
        if not all(isinstance(name, str) for name in value):
            raise _bad(place, "required is a list of names")


FORMATS = ("date", "date-time", "time", "duration", "email", "hostname", "ipv4", "ipv6", "uri", "uuid")

_CHECKS: Mapping[str, Callable[[_Audit, str, Any], None]] = {
    "type": _Audit.kind,
    "$ref": _Audit.reference,
    "$id": _Audit.identifier,
    "pattern": _Audit.pattern,
    "patternProperties": _Audit.patterns,
    "uniqueItems": _Audit.unique,
    "oneOf": _Audit.one_of,
    "anyOf": _Audit.schemas,
    "prefixItems": _Audit.schemas,
    "allOf": _Audit.schemas,
    "properties": _Audit.named_schemas,
    "required": _Audit.names,
    "enum": _Audit.constants,
    "const": _Audit.constant,
    "format": _Audit.format,
    **dict.fromkeys(_NUMBERS, _Audit.number),
    **dict.fromkeys(_COUNTS, _Audit.count),
    "multipleOf": _Audit.multiple,
}


def _bound_integers(node: Schema) -> None:
    """Integers without bounds of their own get those of 64 bits, which is all that a program can hold."""
    kinds = node.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "integer" not in kinds or "number" in kinds or node.keys() & {"const", "enum"}:
        return
    if "minimum" not in node and "exclusiveMinimum" not in node:
        node["minimum"] = min(-MAX_WHOLE, node.get("maximum", 0), node.get("exclusiveMaximum", 0))
    if "maximum" not in node and "exclusiveMaximum" not in node:
        node["maximum"] = max(MAX_WHOLE, node.get("minimum", 0), node.get("exclusiveMinimum", 0))


def _check_pairs(place: str, node: Schema) -> None:
    for least, most in _PAIRS:
        low, high = node.get(least), node.get(most)
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            raise _bad(place, f"{least} {low!r} is more than {most} {high!r}")


def _check_exact(place: str, value: float) -> None:
    if abs(value) > EXACT and int(float(value)) != int(value):
        raise _unsupported(place, f"the number {value!r} is beyond what is exact (2^53)", "use a smaller one")


def _expect_list(place: str, value: Any) -> None:
    if not isinstance(value, list):
        raise _bad(place, f"needs a list, found {value!r:.40}")


def _expect_object(place: str, value: Any) -> None:
    if not isinstance(value, dict):
        raise _bad(place, f"needs an object, found {value!r:.40}")


def _pointer(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _at(place: str) -> str:
    return f"JSON schema, at {place or '/'}"


def _bad(place: str, what: str) -> ProgramError:
    return ProgramError("E0504", f"{_at(place)}: {what}")


def _unsupported(place: str, what: str, hint: str) -> ProgramError:
    return ProgramError("E0506", f"{_at(place)}: {what}", hint)
