"""What a run starts with: the entry of a program and the arguments given to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from frontend_lang.errors import ProgramError
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.tools import ToolSet

_DECLARATIONS = (ast.Def, ast.TypeDefinition, ast.Tool, ast.Import, ast.Test, ast.Param)
_CHOOSING = '--entry NAME, or entry="NAME" in Python'


@dataclass(frozen=True)
class Inputs:
    """What a program is given: arguments by name; its files and tools, None = those of the run.

    `texts`: an argument that is a str is taken as on a command line, as text where the parameter is one and as JSON
    elsewhere; if not, it is that str.
    """

    arguments: Mapping[str, object]
    texts: bool = True
    data: TextSource | None = None
    tools: ToolSet | None = None


def choose_entry(program: ast.Program, name: str | None) -> ast.Def | None:
    """The def to run; None = the top-level statements.

    `name` if given; else the top-level statements if there are any; else the def named like the file; else the only
    def; else E0306.
    """
    defs = {node.name: node for node in program.statements if isinstance(node, ast.Def)}
    if name is not None:
        return _named(defs, name)
    if not defs or any(not isinstance(node, _DECLARATIONS) for node in program.statements):
        return None
    stem = PurePath(program.file).stem
    if stem in defs:
        return defs[stem]
    if len(defs) == 1:
        return next(iter(defs.values()))
    raise ProgramError("E0306", f"no entry: choose one of {', '.join(defs)}", _CHOOSING)


def _named(defs: Mapping[str, ast.Def], name: str) -> ast.Def:
    if name in defs:
        return defs[name]
    raise ProgramError("E0306", f"no def `{name}`; there are: {', '.join(defs) or 'none'}", _CHOOSING)


def parameters(program: ast.Program, entry: ast.Def | None) -> list[ast.Param | ast.Parameter]:
    """Parameters of the entry: those of the def, or every top-level `param`."""
    if entry is not None:
        return list(entry.parameters)
    return [node for node in program.statements if isinstance(node, ast.Param)]


def as_options(names: Iterable[str]) -> str:
    """How a command line gives arguments."""
    return " ".join(f"-a {name}=…" for name in names)


def as_args(names: Iterable[str]) -> str:
    """How `run` is given arguments."""
    return "args={" + ", ".join(f'"{name}": …' for name in names) + "}"


def as_keywords(names: Iterable[str]) -> str:
    """How a def of a module is given arguments."""
    return ", ".join(f"{name}=…" for name in names)


def check_arguments(
    known: Iterable[ast.Param | ast.Parameter],
    arguments: Mapping[str, object],
    way: Callable[[Iterable[str]], str] = as_args,
) -> None:
    """Raises E0307 that names every argument that is missing, and the `way` to give it, or that nothing takes."""
    known = list(known)
    names = [parameter.name for parameter in known]
    missing = [node for node in known if node.default is None and node.name not in arguments]
    unknown = [name for name in arguments if name not in names]
    if missing:
        what = ", ".join(f"`{node.name}`" for node in missing) + (f"; {_unknown(unknown)}" if unknown else "")
        hint = way([node.name for node in missing])
        raise ProgramError("E0307", f"missing arguments: {what}", hint, span=missing[0].span)
    if unknown:
        raise ProgramError("E0307", _unknown(unknown), f"the program takes: {', '.join(names) or 'none'}")


def _unknown(names: Iterable[str]) -> str:
    return "unknown arguments: " + ", ".join(f"`{name}`" for name in names)
