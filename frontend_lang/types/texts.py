"""Types all of whose values are texts: they are generated as they are, not as JSON strings."""

from __future__ import annotations

from collections.abc import Iterator

from frontend_lang.grammars import alternatives
from frontend_lang.runtime import Choice, Constraint, Regex
from frontend_lang.syntax import ast
from frontend_lang.types.names import TypeNames


def is_text(declared: ast.Type, names: TypeNames) -> bool:
    """Whether all values are texts. Raises E0403 and E0507."""
    return all(_is_text(option) for option, _ in options_of(declared, names))


def options_of(declared: ast.Type, names: TypeNames) -> Iterator[tuple[ast.Type, TypeNames]]:
    """The type without the names and unions around it."""
    if isinstance(declared, ast.UnionType):
        for option in declared.options:
            yield from options_of(option, names)
        return
    defined = names.defined(declared) if isinstance(declared, ast.NamedType) else None
    if defined is None:
        yield declared, names
    else:
        yield from options_of(defined.type, defined.names)


def _is_text(declared: ast.Type) -> bool:
    if isinstance(declared, ast.LiteralType):
        return isinstance(declared.value, str)
    named = isinstance(declared, (ast.NamedType, ast.BoundedType)) and declared.name == "str"
    return named or isinstance(declared, ast.RegexType)


def text_constraint(declared: ast.Type, names: TypeNames) -> Constraint | None:
    """What a text of the type looks like; None if it may be any text. `is_text(declared, names)` holds."""
    options = list(options_of(declared, names))
    if any(isinstance(option, ast.NamedType) for option, _ in options):
        return None
    literals = tuple(str(option.value) for option, _ in options if isinstance(option, ast.LiteralType))
    if len(literals) == len(options) and all(literals):
        return Choice(tuple(dict.fromkeys(literals)))
    if len(options) == 1 and isinstance(options[0][0], ast.RegexType):
        return Regex(options[0][0].pattern)
    return Regex("|".join(_pattern(option, inner) for option, inner in options))


def _pattern(option: ast.Type, names: TypeNames) -> str:
    if isinstance(option, ast.LiteralType):
        return alternatives(Choice((str(option.value),)))
    if isinstance(option, ast.RegexType):
        return f"(?:{option.pattern})"
    bounds = names.bounds(option) if isinstance(option, ast.BoundedType) else None
    least = int(bounds.minimum or 0) if bounds else 0
    most = int(bounds.maximum) if bounds and bounds.maximum is not None else ""
    return f"(?s:.{{{least},{most}}})"
