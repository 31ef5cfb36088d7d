"""What can be called, and whether a call fits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from frontend_lang.builtins import BUILTINS
from frontend_lang.checker.report import Report, span_at, suggestion
from frontend_lang.syntax import ast

UNBUILT_BUILTINS = frozenset(
    {
        *("parse", "replace", "zip", "round", "sort", "unique", "keys", "values", "matches", "ntok", "chunk", "read"),
        *("jsonl", "csv", "fence", "raw", "prob", "logprob", "tokens", "finish", "invoke"),
    }
)


@dataclass(frozen=True)
class Signature:
    """Parameters in order; the first `required` of them, or those in `needed`, must be given."""

    name: str
    parameters: tuple[str, ...]
    needed: frozenset[str]
    variadic: bool = False

    def __str__(self) -> str:
        shown = [name if name in self.needed else f"{name}=…" for name in self.parameters]
        return f"{self.name}({', '.join([*shown, '…'] if self.variadic else shown)})"


def signature_of(node: ast.Def | ast.Tool) -> Signature:
    """The signature of a def or tool."""
    needed = frozenset(parameter.name for parameter in node.parameters if parameter.default is None)
    return Signature(node.name, tuple(parameter.name for parameter in node.parameters), needed)


def builtin_signatures() -> Mapping[str, Signature]:
    """The builtins of this version."""
    table = {
        name: Signature(name, builtin.parameters, frozenset(builtin.parameters[: builtin.required]), builtin.variadic)
        for name, builtin in BUILTINS.items()
    }
    return {
        **table,
        "usage": Signature("usage", (), frozenset()),
        "probs": Signature("probs", ("name",), frozenset({"name"})),
    }


def check_call(signature: Signature, call: ast.Call, report: Report) -> None:
    """Report arguments that do not fit: too many, unknown, twice, missing, positional after named."""
    fits = f"it is {signature}"
    positional = [argument for argument in call.arguments if argument.name is None]
    if len(positional) > len(signature.parameters) and not signature.variadic:
        extra = positional[len(signature.parameters)]
        count = len(signature.parameters)
        message = f"`{signature.name}` takes {count} argument{'' if count == 1 else 's'}, got {len(positional)}"
        report.add("E0307", extra.span, message, fits)
        return
    given = set(signature.parameters[: len(positional)])
    for argument in call.arguments:
        if argument.name is not None:
            _check_named(argument, argument.name, signature, given, report)
    _check_order(call.arguments, report)
    missing = [name for name in signature.parameters if name in signature.needed and name not in given]
    if missing:
        report.add("E0307", call.span, f"`{signature.name}` needs an argument `{missing[0]}`", fits)


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
