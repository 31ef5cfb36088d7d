"""Types that contain themselves in a way that has no end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from frontend_lang.syntax import ast
from frontend_lang.types.bounds import written_value

Definitions = Mapping[str, ast.Type]


def circular(definitions: Definitions) -> frozenset[str]:
    """Names whose values would never end (`type A = {a: A}`) or that are defined by themselves (`type A = A | int`).

    Names of other modules end: imports make no circles.
    """
    return _without_end(definitions) | _by_themselves(definitions)


def _without_end(definitions: Definitions) -> frozenset[str]:
    """All but the least fixed point of "has an end"."""
    waiting = dict(definitions)
    while True:
        ending = [name for name, declared in waiting.items() if _ends(declared, waiting)]
        if not ending:
            return frozenset(waiting)
        for name in ending:
            del waiting[name]


def _ends(declared: ast.Type, waiting: Definitions) -> bool:
    if isinstance(declared, ast.NamedType):
        return declared.name not in waiting
    if isinstance(declared, ast.UnionType):
        return any(_ends(option, waiting) for option in declared.options)
    if isinstance(declared, ast.RecordType):
        return all(item.optional or _ends(item.type, waiting) for item in declared.fields)
    return not isinstance(declared, ast.BoundedType) or _list_ends(declared, waiting)


def _list_ends(declared: ast.BoundedType, waiting: Definitions) -> bool:
    least = next((written_value(option.value) for option in declared.options if option.name == "min"), 0)
    return declared.element is None or least == 0 or _ends(declared.element, waiting)


def _by_themselves(definitions: Definitions) -> frozenset[str]:
    """Names from which names alone, and unions of them, lead back."""
    return frozenset(name for name in definitions if name in _reached(name, definitions))


def _reached(name: str, definitions: Definitions) -> set[str]:
    found: set[str] = set()
    pending = list(_same_level(definitions[name]))
    while pending:
        other = pending.pop()
        if other not in found and other in definitions:
            found.add(other)
            pending += _same_level(definitions[other])
    return found


def _same_level(declared: ast.Type) -> Iterator[str]:
    if isinstance(declared, ast.NamedType):
        yield declared.name
    elif isinstance(declared, ast.UnionType):
        for option in declared.options:
            yield from _same_level(option)
