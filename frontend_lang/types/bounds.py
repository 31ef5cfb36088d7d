"""`int(min=1, max=5)`, `str(max=80)`, `list(of=T, max=6)`, `schema(file='x.json')`: what the options say."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.syntax import ast
from frontend_lang.values import MAX_ITEMS, MAX_TEXT

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "int": ("min", "max"),
    "float": ("min", "max"),
    "str": ("min", "max"),
    "list": ("min", "max"),
    "schema": ("file",),
}
_SIZES: Mapping[str, int] = {"str": MAX_TEXT, "list": MAX_ITEMS}


@dataclass(frozen=True)
class Bounds:
    """One bounded type. `minimum` and `maximum` are inclusive: of the number, of the characters, of the items."""

    minimum: float | None = None
    maximum: float | None = None
    file: str | None = None

    def allow(self, size: float) -> bool:
        """Whether a number or a size is within them; nan is not."""
        return (self.minimum is None or size >= self.minimum) and (self.maximum is None or size <= self.maximum)


def read_bounds(declared: ast.BoundedType) -> Bounds:
    """What the options say. Raises, at the option: E0303, E0309 or E0401; E0403 for a type that takes none."""
    known = OPTIONS.get(declared.name)
    if known is None:
        hint = f"{', '.join(f'{name}({options[0]}=…)' for name, options in OPTIONS.items())} do"
        raise ProgramError("E0403", f"`{declared.name}` takes no bounds", hint, span=declared.span)
    if declared.element is not None and declared.name != "list":
        raise ProgramError(
            "E0303", f"`{declared.name}` has no bound `of`", "list(of=T) has", span=declared.element.span
        )
    given: dict[str, ast.Option] = {}
    for option in declared.options:
        _check_name(declared.name, option, known, given)
        given[option.name] = option
    if declared.name == "schema":
        return Bounds(file=_file(declared, given.get("file")))
    minimum, maximum = (_number(declared.name, given.get(name)) for name in ("min", "max"))
    if minimum is not None and maximum is not None and minimum > maximum:
        raise ProgramError("E0401", f"min={minimum} is more than max={maximum}", "swap them", span=declared.span)
    return Bounds(minimum, maximum)


def _check_name(name: str, option: ast.Option, known: tuple[str, ...], given: Mapping[str, ast.Option]) -> None:
    if option.name in given:
        raise ProgramError("E0309", f"option `{option.name}` is given twice", "remove one", span=option.span)
    if option.name not in known:
        close = difflib.get_close_matches(option.name, known, 1, 0.65)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
        raise ProgramError("E0303", f"`{name}` has no bound `{option.name}`", hint, span=option.span)


def _number(name: str, option: ast.Option | None) -> float | None:
    if option is None:
        return None
    value = written_value(option.value)
    if name == "float" and type(value) in (int, float):
        return value  # type: ignore[return-value]
    if type(value) is not int:
        what = "a number" if name == "float" else "an int"
        raise ProgramError("E0401", f"`{option.name}` of {name} is {what} that is written out", span=option.span)
    most = _SIZES.get(name)
    if most is not None and not 0 <= value <= most:
        raise ProgramError("E0401", f"`{option.name}` of {name} is from 0 to {most}, found {value}", span=option.span)
    return value


def _file(declared: ast.BoundedType, option: ast.Option | None) -> str:
    value = written_value(option.value) if option else None
    if isinstance(value, str):
        return value
    raise ProgramError("E0401", "`file` is a path that is written out", "schema(file='x.json')", span=declared.span)


def written_value(node: ast.Expression) -> str | int | float | None:
    """The text or number that an option is given, if it is written out."""
    if isinstance(node, ast.Template):
        return node.literal
    if isinstance(node, ast.Unary) and node.operator == "-":
        value = written_value(node.operand)
        return None if isinstance(value, str) or value is None else -value
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return node.value
    return None
