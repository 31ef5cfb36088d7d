"""Builtins of a program that is not run."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast

from frontend_lang.builtin_functions.arguments import a_text, an_int
from frontend_lang.builtins import BOUND_PARAMETERS, BUILTINS
from frontend_lang.chunking import chunks
from frontend_lang.errors import ProgramError
from frontend_lang.explain.abstract import Abstract, Unknown, is_known, known, pieces_of, ready, text_from
from frontend_lang.explain.counting import TokenCounter, Tokens
from frontend_lang.explain.expressions import Expressions
from frontend_lang.explain.state import State
from frontend_lang.rows import CsvRows, JsonRows, Rows
from frontend_lang.sources import TextSource
from frontend_lang.syntax import ast
from frontend_lang.values import MAX_TEXT, Value

_T = TypeVar("_T")
_KEEP_TEXT = frozenset({"str", "strip", "split"})  # what comes out has at most the text that goes in
_CHANGE_TEXT = frozenset({"lower", "json", "replace", "fence"})
_NUMBERS = frozenset({"int", "float", "round", "len", "sum", "mean", "min", "max", "prob", "logprob", "ntok"})
_PROBABILITY = "0.1234567890123456"


class Functions(Expressions):
    """Builtins: computed by the real ones where the arguments are known. `data`: files that the program may read."""

    def __init__(self, counter: TokenCounter, data: TextSource) -> None:
        super().__init__(counter)
        self._data = data
        self._bound: Mapping[str, Callable[[Mapping[str, Value]], object]] = {
            "ntok": lambda given: self.size(a_text("ntok", given["text"])),
            "chunk": self._chunk,
            "read": self._read,
            "jsonl": lambda given: JsonRows(self._data, a_text("jsonl", given["path"])),
            "csv": lambda given: CsvRows(
                self._data, a_text("csv", given["path"]), a_text("csv", given.get("sep", ","))
            ),
        }

    def builtin(
        self, node: ast.Call, name: str, positional: list[Abstract], named: dict[str, Abstract], state: State
    ) -> Abstract:
        """What a builtin gives. Raises ProgramError as in a run."""
        if name in ("probs", "raw"):
            return self._left_with_name(name, node, state)
        given = [*positional, *named.values()]
        state.wait(max(map(ready, given), default=0))
        if name in BUILTINS or name in self._bound:
            if all(map(is_known, given)):
                return self._computed(name, [known(value) for value in positional], _all_known(named))
            if name == "len" and isinstance(given[0], list):
                return len(given[0])
        elif name not in BOUND_PARAMETERS:
            raise ProgramError("E0304", f"`{name}` cannot be called" if name else "only a def can be called")
        return self._shaped(name, given, state.clock)

    def _computed(self, name: str, positional: list[Value], named: dict[str, Value]) -> Abstract:
        if name in BUILTINS:
            return cast("Abstract", BUILTINS[name].call(positional, named))
        return cast("Abstract", self._bound[name](BOUND_PARAMETERS[name].bind(positional, named)))

    def _shaped(self, name: str, given: list[Abstract], at: int) -> Abstract:
        """Of an unknown result, the size of its text."""
        if name in _NUMBERS:
            return self.number(at)
        if name == "concat" and isinstance(given[0], list):
            return self.concatenated(given[0], given[1] if len(given) > 1 else "")
        if not given or name not in _KEEP_TEXT | _CHANGE_TEXT:
            return Unknown(ready=at)
        text = text_from(pieces_of(given[0]), self.size)
        if not isinstance(text, Unknown):
            return Unknown(ready=at)
        return Unknown(text.tokens.about() if name in _CHANGE_TEXT else text.tokens.at_most(), at)

    def concatenated(self, items: list[Abstract], separator: Abstract) -> Abstract:
        """Texts of items with a separator between them."""
        pieces = []
        for index, item in enumerate(items):
            pieces += [*(pieces_of(separator) if index else []), *pieces_of(item)]
        return text_from(pieces, self.size)

    def _left_with_name(self, name: str, node: ast.Call, state: State) -> Abstract:
        """What select or gen left with a name."""
        argument = node.arguments[0].value if len(node.arguments) == 1 else None
        frame = state.find(argument.name) if isinstance(argument, ast.Name) else None
        if frame is None or not isinstance(argument, ast.Name):
            raise ProgramError("E0307", f"`{name}` needs the name of a gen or select", f"{name}(x)")
        value = frame.names[argument.name]
        state.wait(ready(value))
        if name == "raw":
            return value
        options = frame.selected.get(argument.name, ())
        probability = Unknown(Tokens(self.size(_PROBABILITY)).about(), ready(value))
        return dict.fromkeys(options, probability) if options else Unknown(ready=ready(value))

    def _chunk(self, given: Mapping[str, Value]) -> object:
        text, size = a_text("chunk", given["text"]), an_int("chunk", given["size"], low=1, high=MAX_TEXT)
        overlap = an_int("chunk", given.get("overlap", 0), low=0, high=MAX_TEXT)
        if overlap >= size:
            raise ProgramError("E0401", f"`chunk`: overlap={overlap} with size={size}")

        async def count(piece: str) -> int:
            return self.counter.count(piece)

        return _finished(chunks(text, size, overlap, count))

    def _read(self, given: Mapping[str, Value]) -> object:
        with self._data.open(a_text("read", given["path"])) as stream:
            return stream.read(MAX_TEXT)


def _all_known(named: Mapping[str, Abstract]) -> dict[str, Value]:
    return {name: known(value) for name, value in named.items()}


def _finished(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        result: _T = end.value
        return result
    raise RuntimeError("counting tokens had to wait")


def is_rows(value: Abstract) -> bool:
    """Whether it is the rows of a data file."""
    return isinstance(value, Rows)
