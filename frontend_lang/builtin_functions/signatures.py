"""What a builtin takes: its parameters, and how arguments are matched to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from frontend_lang.errors import ProgramError
from frontend_lang.values import Value


@dataclass(frozen=True)
class Parameters:
    """Parameter names in order, how many are required, and whether more arguments may follow."""

    name: str
    names: tuple[str, ...]
    required: int
    variadic: bool = False

    def bind(self, arguments: Sequence[Value], named: Mapping[str, Value]) -> dict[str, Value]:
        """Arguments by parameter name. Raises E0307 for arguments that do not fit."""
        if len(arguments) > len(self.names) and not self.variadic:
            raise self.misused(f"takes at most {len(self.names)} arguments, got {len(arguments)}")
        bound = dict(zip(self.names, arguments, strict=False))
        for name, value in named.items():
            if self.variadic or name not in self.names or name in bound:
                raise self.misused(f"has no free parameter `{name}`")
            bound[name] = value
        missing = [name for name in self.names[: self.required] if name not in bound]
        if missing:
            raise self.misused(f"needs an argument `{missing[0]}`")
        return bound

    def misused(self, what: str) -> ProgramError:
        """The error of a call that does not fit."""
        return ProgramError("E0307", f"`{self.name}` {what}", f"{self.name}({', '.join(self.names)})")


@dataclass(frozen=True)
class Builtin:
    """A pure builtin: its value depends on its arguments alone."""

    parameters: Parameters
    function: Callable[..., Value]

    def call(self, arguments: Sequence[Value], named: Mapping[str, Value]) -> Value:
        """Run it. Raises E0307 for wrong arguments, E04xx for wrong values, E0808 for a result that is too large."""
        bound = self.parameters.bind(arguments, named)
        return self.function(*arguments) if self.parameters.variadic else self.function(**bound)


def builtin(
    name: str, names: tuple[str, ...], function: Callable[..., Value], *, required: int = 1, variadic: bool = False
) -> Builtin:
    """A pure builtin."""
    return Builtin(Parameters(name, names, required, variadic), function)


_NAMED = tuple(Parameters(name, ("name",), 1) for name in ("raw", "prob", "probs", "logprob", "tokens", "finish"))
BOUND_PARAMETERS: Mapping[str, Parameters] = {
    item.name: item
    for item in (
        Parameters("usage", (), 0),
        Parameters("ntok", ("text",), 1),
        Parameters("chunk", ("text", "size", "overlap"), 2),
        Parameters("read", ("path",), 1),
        Parameters("jsonl", ("path",), 1),
        Parameters("csv", ("path", "sep"), 1),
        *_NAMED,
    )
}
