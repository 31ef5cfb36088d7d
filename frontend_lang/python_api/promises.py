"""Values that may still be in the making, as the bodies of Python prompts see them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any

from frontend_lang.errors import ProgramError
from frontend_lang.python_api.failures import unwrapped
from frontend_lang.python_api.scopes import Scope, current_scope
from frontend_lang.running import promises


def _of(operation: Callable[..., Any]) -> Callable[..., Any]:
    """The method that does it with the value."""

    def method(self: Promise, *others: Any) -> Any:
        return operation(self.value, *map(plain, others))

    return method


def _reflected(operation: Callable[..., Any]) -> Callable[..., Any]:
    """The method that does it with the value as the right operand."""

    def method(self: Promise, other: Any) -> Any:
        return operation(other, self.value)

    return method


def _itself(value: Any) -> Any:
    """What a pickled promise is made of."""
    return value


class Promise:
    """A value that will be there.

    Appended to a context it never waits. Everything else that a value can do (`str(p)`, `p == 2`, `p["key"]`,
    `p.field`, `p + 1`, `for x in p`, …) is the value's own and waits for it in a sync body. In an async body say
    `await p` first: using a value that is not there raises ProgramError E0810. `p.value` is the value itself, of its
    own type, which `p` only stands for. Waiting raises what the making has raised.

    In an async body a promise is hashed as itself, so that asyncio can wait for several: to look one up in a set or a
    dict, say `p.value`. A copy of a promise, and what it is pickled as, is its value.
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
        """In a body that of the value, so that no list of promises puts anything else into a prompt; elsewhere, for
        who debugs, how far it is.
        """
        if current_scope() is not None:
            return repr(self.value)
        if self._making.done() and not self._making.failed:
            return f"<Promise {self._name}: {self._making.result()!r}>"
        return f"<Promise {self._name}: {'failed' if self._making.failed else 'not there yet'}>"

    def __hash__(self) -> int:
        """Of the value in a sync body; on the event loop of the promise, since asyncio keys what it waits for."""
        return id(self) if (current_scope() or self._scope).on_loop else hash(self.value)

    def __copy__(self) -> Any:
        return copy(self.value)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return deepcopy(self.value, memo)

    def __reduce__(self) -> tuple[Any, ...]:
        return _itself, (self.value,)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == plain(other))

    __str__ = _of(str)
    __format__ = _of(format)
    __bool__ = _of(bool)
    __int__ = _of(int)
    __float__ = _of(float)
    __complex__ = _of(complex)
    __index__ = _of(operator.index)
    __len__ = _of(len)
    __iter__ = _of(iter)
    __reversed__ = _of(reversed)
    __contains__ = _of(operator.contains)
    __getitem__ = _of(operator.getitem)
    __lt__, __le__ = _of(operator.lt), _of(operator.le)
    __gt__, __ge__ = _of(operator.gt), _of(operator.ge)
    __add__, __radd__ = _of(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _of(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _of(operator.mul), _reflected(operator.mul)
    __truediv__, __rtruediv__ = _of(operator.truediv), _reflected(operator.truediv)
    __floordiv__, __rfloordiv__ = _of(operator.floordiv), _reflected(operator.floordiv)
    __mod__, __rmod__ = _of(operator.mod), _reflected(operator.mod)
    __divmod__, __rdivmod__ = _of(divmod), _reflected(divmod)
    __pow__, __rpow__ = _of(pow), _reflected(pow)
    __and__, __rand__ = _of(operator.and_), _reflected(operator.and_)
    __or__, __ror__ = _of(operator.or_), _reflected(operator.or_)
    __xor__, __rxor__ = _of(operator.xor), _reflected(operator.xor)
    __lshift__, __rlshift__ = _of(operator.lshift), _reflected(operator.lshift)
    __rshift__, __rrshift__ = _of(operator.rshift), _reflected(operator.rshift)
    __neg__, __pos__ = _of(operator.neg), _of(operator.pos)
    __abs__, __invert__ = _of(abs), _of(operator.invert)
    __round__ = _of(round)
    __trunc__, __floor__, __ceil__ = _of(math.trunc), _of(math.floor), _of(math.ceil)


def making_of(promise: Promise) -> promises.Promise[Any]:
    """What makes the value."""
    return promise._making


def is_over(promise: Promise) -> bool:
    """Whether nothing is left to tell: it has ended well, or its error has been raised somewhere."""
    return promise._seen or (promise._making.done() and not promise._making.failed)


def plain(value: Any) -> Any:
    """The value that a promise stands for; anything else as it is."""
    return value.value if isinstance(value, Promise) else value
