"""Random types as a program writes them, values of them, and texts that a constraint allows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from frontend_lang.grammars import Grammar
from frontend_lang.modules import Module
from frontend_lang.syntax import ast, parse
from frontend_lang.types import TypeSystem

END = 256


@dataclass(frozen=True)
class Typed:
    """A type's source and what draws values of it."""

    source: str
    values: st.SearchStrategy[Any]


def types_of(definitions: str, **module: Any) -> tuple[TypeSystem, dict[str, ast.Type]]:
    """The types that a program of `type` definitions makes."""
    parsed = parse(definitions)
    assert parsed.program is not None, parsed.diagnostics
    made = Module(parsed.program, **module)
    return TypeSystem(made), dict(made.type_definitions)


def one_type(source: str, **module: Any) -> tuple[TypeSystem, ast.Type]:
    """One type as it is written."""
    types, definitions = types_of(f"type T = {source}", **module)
    return types, definitions["T"]


TEXTS = st.text(max_size=6)
INTS = st.integers(-(9 * 10**18), 9 * 10**18)
FRACTIONS = st.floats(-1e9, 1e9, allow_nan=False).filter(lambda number: not number.is_integer())

_LEAVES = st.sampled_from(
    [
        Typed("bool", st.booleans()),
        Typed("none", st.none()),
        Typed("str", TEXTS),
        Typed("float", FRACTIONS),
        Typed("int", st.integers(-(10**18) + 1, 10**18 - 1)),
        Typed("int(min=-3, max=12)", st.integers(-3, 12)),
        Typed("int(min=1)", st.integers(1, 10**18)),
        Typed("float(min=0, max=1)", st.floats(0.001, 0.999, allow_subnormal=False)),
        Typed("str(max=3)", st.text(max_size=3)),
        Typed("str(min=1, max=2)", st.text(min_size=1, max_size=2)),
        Typed("re'[a-c]{1,3}|é'", st.from_regex(r"([a-c]{1,3}|é)\Z", fullmatch=True)),
        Typed("'EUR'", st.just("EUR")),
        Typed("'да' | '\"'", st.sampled_from(["да", '"'])),
        Typed("7", st.just(7)),
    ]
)


def _lists(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    return st.one_of(
        inner.map(lambda item: Typed(f"list[{item.source}]", st.lists(item.values, max_size=3))),
        inner.map(
            lambda item: Typed(f"list(of={item.source}, min=1, max=2)", st.lists(item.values, min_size=1, max_size=2))
        ),
    )


def _record(fields: list[tuple[Typed, bool]]) -> Typed:
    names = [f"k{index}" for index in range(len(fields), 0, -1)]
    source = ", ".join(
        f"{name}{'?' * optional}: {item.source}" for name, (item, optional) in zip(names, fields, strict=True)
    )
    required = {name: item.values for name, (item, optional) in zip(names, fields, strict=True) if not optional}
    absent = {name: item.values for name, (item, optional) in zip(names, fields, strict=True) if optional}
    return Typed("{" + source + "}", st.fixed_dictionaries(required, optional=absent))


def _composed(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    records = st.lists(st.tuples(inner, st.booleans()), min_size=1, max_size=3).map(_record)
    unions = st.tuples(inner, inner).map(
        lambda pair: Typed(f"{pair[0].source} | {pair[1].source}", st.one_of(pair[0].values, pair[1].values))
    )
    return st.one_of(_lists(inner), records, unions)


TYPES = st.recursive(_LEAVES, _composed, max_leaves=5)
ANY_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), INTS, FRACTIONS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.sampled_from(["k1", "k2", "k3", "z"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def walked_text(grammar: Grammar, seed: int, most: int = 400) -> str | None:
    """A text that the grammar allows, drawn byte by byte; None if it did not end within `most` bytes."""
    noise = random.Random(seed)
    matcher = grammar._start.deep_copy()
    text = bytearray()
    while len(text) < most:
        bits = int.from_bytes(matcher.compute_bitmask(), "little")
        allowed = [byte for byte in range(END) if bits >> byte & 1]
        if matcher.is_accepting() and (not allowed or noise.random() < 0.3):
            return text.decode()
        ending = [byte for byte in allowed if byte in b'"]},']
        byte = noise.choice(ending if ending and noise.random() < 0.4 else allowed)
        assert matcher.consume_token(byte)
        text.append(byte)
    return None
