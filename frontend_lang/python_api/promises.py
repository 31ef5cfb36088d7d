"""Values that may still be in the making, as the bodies of Python prompts see them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.failures import unwrapped
from frontend_lang.python_api.scopes import Scope, current_scope
from frontend_lang.running import promises


class Promise:
    """A value that will be there.

    Appended to a context it never waits. Everything else that a value can do (`str(p)`, `p == 2`, `p["key"]`,
    `p.field`, `p + 1`, `for x in p`, …) is the value's own and waits for it in a sync body. In an async body say
    `await p` first: using a value that is not there raises ProgramError E0810. `p.value` is the value itself, of its
    own type, which `p` only stands for. Waiting raises what the making has raised.
    """

    __slots__ = ("_making", "_name", "_scope", "_seen")

    def __init__(self, making: promises.Promise[Any], name: str, scope: Scope) -> None:
        self._making = making
        self._name = name
        self._scope = scope
        self._seen = False

    @property
    def value(self) -> Any:
        """The value, waited for."""
        if self._making.done():
            with self._noticing(), unwrapped():
                return self._making.result()
        scope = current_scope() or self._scope
        if self._scope.on_loop:
            raise ProgramError("E0810", f"the value of {self._name} is not there yet", "await it before it is used")
        with unwrapped():
            return scope.wait(self._wait_on_loop)

    async def _wait(self) -> Any:
        with unwrapped():
            return await self._wait_on_loop()

    async def _wait_on_loop(self) -> Any:
        with self._noticing():
            return await self._making.wait((current_scope() or self._scope).strand)

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """An error that somebody has been told of need not be told again when the body ends."""
        try:
            yield
        except Exception:
            self._seen = True
            self._scope.told_of_failure = True
            raise

    def __await__(self) -> Generator[Any, None, Any]:
        return self._wait().__await__()

    def __repr__(self) -> str:
        if self._making.done() and not self._making.failed:
            return f"<Promise {self._name}: {self._making.result()!r}>"
        return f"<Promise {self._name}: {'failed' if self._making.failed else 'not there yet'}>"

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return self.value.__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self.value)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __contains__(self, item: object) -> bool:
        return plain(item) in self.value

    def __getitem__(self, key: Any) -> Any:
        return self.value[plain(key)]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __lt__(self, other: Any) -> Any:
        return self.value < plain(other)

    def __le__(self, other: Any) -> Any:
        return self.value <= plain(other)

    def __gt__(self, other: Any) -> Any:
        return self.value > plain(other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= plain(other)

    def __add__(self, other: Any) -> Any:
        return self.value + plain(other)

    def __radd__(self, other: Any) -> Any:
        return other + self.value

    def __sub__(self, other: Any) -> Any:
        return self.value - plain(other)

    def __rsub__(self, other: Any) -> Any:
        return other - self.value

    def __mul__(self, other: Any) -> Any:
        return self.value * plain(other)

    def __rmul__(self, other: Any) -> Any:
        return other * self.value

    def __truediv__(self, other: Any) -> Any:
        return self.value / plain(other)

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value

    def __floordiv__(self, other: Any) -> Any:
        return self.value // plain(other)

    def __mod__(self, other: Any) -> Any:
        return self.value % plain(other)

    def __neg__(self) -> Any:
        return -self.value


def making_of(promise: Promise) -> promises.Promise[Any]:
    """What makes the value."""
    return promise._making


def is_over(promise: Promise) -> bool:
    """Whether nothing is left to tell: it has ended well, or its error has been raised somewhere."""
    return promise._seen or (promise._making.done() and not promise._making.failed)


def plain(value: Any) -> Any:
    """The value that a promise stands for; anything else as it is."""
    return value.value if isinstance(value, Promise) else value


async def settled(value: Any) -> Any:
    """The value with every promise in it waited for: in lists, tuples, dicts and sets, however deep."""
    if isinstance(value, Promise):
        return await settled(await value)
    if type(value) in (list, tuple, set):
        return type(value)([await settled(item) for item in value])
    if type(value) is dict:
        return {key: await settled(item) for key, item in value.items()}
    return value
