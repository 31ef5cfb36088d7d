"""Running a model's chat template in a sandbox, within bounds of time and size."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final, TypeVar

import jinja2
from jinja2 import nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from radixkv.errors import ChatTemplateError

MAX_SECONDS: Final = 5.0
MAX_CHARACTERS: Final = 64_000_000
_MAX_PRODUCT: Final = 1_000_000  # length of a repeated string or list, and of a number in digits
_TICK: Final = "radixkv_tick"
_TICKING: Final = "radixkv_ticking"
T = TypeVar("T")
_FAILURES: Final = (
    jinja2.TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


class _Generation(Extension):
    """`{% generation %}` marks what an assistant said, for training; here its body counts as plain template text."""

    tags = {"generation"}  # noqa: RUF012  jinja2 reads the class attribute

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Sandbox(ImmutableSandboxedEnvironment):
    """The sandbox of jinja2, in which a product cannot become huge."""

    intercepted_binops = frozenset(("*", "**"))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if operator == "**" and max(abs(left), abs(right)) > 1000:
            raise ValueError(f"{left} ** {right} is too large")
        if operator == "*" and _product_size(left, right) > _MAX_PRODUCT:
            raise ValueError("a repeated string is too long")
        return super().call_binop(context, operator, left, right)


def _product_size(left: Any, right: Any) -> int:
    sized, times = (right, left) if isinstance(left, int) else (left, right)
    return len(sized) * times if hasattr(sized, "__len__") and isinstance(times, int) else 0


class Program:
    """A compiled template. Jinja as the field runs it: trim_blocks, lstrip_blocks, loop controls, no HTML escaping.

    Loops, every 64 turns, and every call of a macro check the clock.
    """

    def __init__(self, source: str) -> None:
        environment = _Sandbox(
            trim_blocks=True, lstrip_blocks=True, autoescape=False, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.filters["tojson"] = _to_json
        environment.globals["raise_exception"] = _raise_exception
        try:
            tree = environment.parse(source)
            _insert_ticks(tree)
            self._template = jinja2.Template.from_code(
                environment, environment.compile(tree), environment.make_globals(None)
            )
        except (jinja2.TemplateError, RecursionError) as error:
            raise ChatTemplateError(f"the model's chat template does not compile: {error}") from error

    def run(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The rendered text; `now` is what the template's clock says.

        Raises ChatTemplateError: the template's own message if it refuses, else what went wrong.
        """
        try:
            return "".join(self._bounded({**variables, "strftime_now": now.strftime, **_clock()}))
        except _Refusal as refusal:
            raise ChatTemplateError(str(refusal)) from refusal
        except _FAILURES as error:
            raise ChatTemplateError(f"the model's chat template failed: {type(error).__name__}: {error}") from error

    def _bounded(self, variables: Mapping[str, Any]) -> Iterator[str]:
        size = 0
        for piece in self._template.generate(variables):
            size += len(piece)
            if size > MAX_CHARACTERS:
                raise _Refusal(f"the model's chat template wrote more than {MAX_CHARACTERS} characters")
            yield piece


class _Refusal(jinja2.TemplateError):
    """What `raise_exception` raises."""


def _raise_exception(message: object) -> None:
    raise _Refusal(str(message))


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """As transformers has it: nothing is escaped for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _clock() -> dict[str, Callable[..., object]]:
    deadline = time.monotonic() + MAX_SECONDS

    def tick() -> None:
        if time.monotonic() > deadline:
            raise _Refusal(f"the model's chat template ran for more than {MAX_SECONDS:g} seconds")

    def ticking(items: Iterable[T]) -> Iterator[T]:
        for count, item in enumerate(items):
            if count % 64 == 0:
                tick()
            yield item

    return {_TICK: tick, _TICKING: ticking}


def _insert_ticks(tree: nodes.Template) -> None:
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Call(nodes.Name(_TICKING, "load"), [loop.iter], [], None, None)
    for macro in tree.find_all(nodes.Macro):
        call = nodes.Call(nodes.Name(_TICK, "load"), [], [], None, None)
        macro.body.insert(0, nodes.ExprStmt(call, lineno=macro.lineno))
