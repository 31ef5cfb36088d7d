"""What can be called, and whether a call fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from frontend_lang.builtins import PARAMETERS
from frontend_lang.checker.report import Report, span_at, suggestion
from frontend_lang.modules import Module
from frontend_lang.syntax import ast

# Builtins that tell what a gen or select left with a name.
DETAILS = frozenset({"raw", "prob", "probs", "logprob", "tokens", "finish"})


@dataclass(frozen=True)
class Signature:
    """Parameters in order; those in `needed` must be given. `kind` is def, tool or builtin."""

    name: str
    kind: str
    parameters: tuple[str, ...]
    needed: frozenset[str]
    variadic: bool = False

    def __str__(self) -> str:
        shown = [name if name in self.needed else f"{name}=…" for name in self.parameters]
        return f"{self.name}({', '.join([*shown, '…'] if self.variadic else shown)})"


def signature_of(node: ast.Def | ast.Tool) -> Signature:
    """The signature of a def or tool."""
    kind = "def" if isinstance(node, ast.Def) else "tool"
    needed = frozenset(parameter.name for parameter in node.parameters if parameter.default is None)
    return Signature(node.name, kind, tuple(parameter.name for parameter in node.parameters), needed)


def declared_signatures(module: Module) -> Mapping[str, Signature]:
    """The defs and tools of a module."""
    tools = {name: signature_of(node) for name, node in module.tools.items()}
    return {**tools, **{name: signature_of(node) for name, node in module.defs.items()}}


def imported_signature(alias: str, name: str, module: Module) -> Signature | None:
    """The signature of `alias.name`, a def or tool of an import."""
    signature = declared_signatures(module).get(name)
    return None if signature is None else replace(signature, name=f"{alias}.{name}")


def exports(module: Module) -> Iterator[str]:
    """The names that an import offers."""
    yield from module.defs
    yield from module.type_definitions
    yield from module.tools


def builtin_signatures() -> Mapping[str, Signature]:
    """All builtins."""
    table = {
        name: Signature(name, "builtin", known.names, frozenset(known.names[: known.required]), known.variadic)
        for name, known in PARAMETERS.items()
    }
    return {**table, "invoke": Signature("invoke", "builtin", ("tool",), frozenset({"tool"}), variadic=True)}


def check_call(signature: Signature, arguments: Sequence[ast.Argument], span: ast.Span, report: Report) -> None:
    """Report arguments that do not fit: too many, unknown, twice, missing, positional after named."""
    fits = f"it is {signature}"
    positional = [argument for argument in arguments if argument.name is None]
    if len(positional) > len(signature.parameters) and not signature.variadic:
        extra = positional[len(signature.parameters)]
        count = len(signature.parameters)
        message = f"`{signature.name}` takes {count} argument{'' if count == 1 else 's'}, got {len(positional)}"
        report.add("E0307", extra.span, message, fits)
        return
    given = set(signature.parameters[: len(positional)])
    for argument in arguments:
        if argument.name is not None:
            _check_named(argument, argument.name, signature, given, report)
    _check_order(arguments, report)
    missing = [name for name in signature.parameters if name in signature.needed and name not in given]
    if missing:
        report.add("E0307", span, f"`{signature.name}` needs an argument `{missing[0]}`", fits)


def _check_named(argument: ast.Argument, name: str, signature: Signature, given: set[str], report: Report) -> None:
    span = span_at(argument.span, len(name))
    if signature.variadic or name not in signature.parameters:
        hint = suggestion(name, signature.parameters) or f"it is {signature}"
        report.add("E0307", span, f"`{signature.name}` has no parameter `{name}`", hint)
    elif name in given:
        report.add("E0309", span, f"argument `{name}` is given twice", f"it is {signature}")
    given.add(name)


def _check_order(arguments: Sequence[ast.Argument], report: Report) -> None:
    named = False
    for argument in arguments:
        named = named or argument.name is not None
        if named and argument.name is None:
            report.add("E0307", argument.span, "a positional argument follows a named one", "name this one too")
            return
