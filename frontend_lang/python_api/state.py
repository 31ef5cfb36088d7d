"""`s`: the context of a prompt as its body sees it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar, overload

from frontend_lang.errors import ProgramError
from frontend_lang.interpreter.bound_builtins import OF_DETAILS
from frontend_lang.python_api import effects
from frontend_lang.python_api.asking import ask
from frontend_lang.python_api.failures import call_site, placing_in_body
from frontend_lang.python_api.forking import Branch, Branches, Forking
from frontend_lang.python_api.frames import Author, Frame
from frontend_lang.python_api.handles import Handle
from frontend_lang.python_api.instructions import Gen, Select
from frontend_lang.python_api.keywords import FORK_KEYWORDS, SET_KEYWORDS, check_keywords
from frontend_lang.python_api.plain import plain_value
from frontend_lang.python_api.promises import Promise, making_of, plain
from frontend_lang.python_api.scopes import Scope, current_scope
from frontend_lang.running.contexts import Appended
from frontend_lang.running.details import GenDetail
from frontend_lang.running.options import fork_settings, gen_settings
from frontend_lang.running.promises import Derived
from frontend_lang.running.run import usage_record
from frontend_lang.runtime import Role
from frontend_lang.tools import check_function, name_of
from frontend_lang.types.words import shortened
from frontend_lang.values import Value, checked_text, text_of

if TYPE_CHECKING:
    from frontend_lang.python_api.prompts import Prompt

P = ParamSpec("P")
T = TypeVar("T")
Content = str | Gen | Select | Promise | int | float | bool | list[Any] | dict[str, Any] | None


class State(Handle):
    """A growing prompt and the names that it has bound.

    `s += x`, `s.user(x)` and the like append text, `gen(…)`, `select(…)`, a promise (which never waits) or any other
    value as its text. `s["name"]` is the promise of what `gen` or `select` has bound. Only the body that was given a
    context may use it, and only while it runs.
    """

    called: ClassVar[str] = "a context"
    for_text: ClassVar[str] = "s.text() is what it has so far"
    for_value: ClassVar[str] = 'return s.text(), or s["name"]'

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._forking: Forking | None = None

    def __iadd__(self, content: Content) -> Self:
        """Append. Raises ProgramError for an option or a name that is wrong."""
        self._append(content)
        return self

    def __getitem__(self, name: str) -> Any:
        """The promise of what the name is bound to, here or in a body around. Raises E0301."""
        return self._frame.find(name).promise

    def __repr__(self) -> str:
        return f"<context of {self._frame.scope.path}>"

    @overload
    def system(self) -> AbstractContextManager[Self]: ...
    @overload
    def system(self, *content: Content) -> None: ...
    def system(self, *content: Content) -> AbstractContextManager[Self] | None:
        """A system message of this content, one piece after the other; without any, `with s.system(): …`."""
        return self._role(Role.SYSTEM, content)

    @overload
    def user(self) -> AbstractContextManager[Self]: ...
    @overload
    def user(self, *content: Content) -> None: ...
    def user(self, *content: Content) -> AbstractContextManager[Self] | None:
        """A user message."""
        return self._role(Role.USER, content)

    @overload
    def assistant(self) -> AbstractContextManager[Self]: ...
    @overload
    def assistant(self, *content: Content) -> None: ...
    def assistant(self, *content: Content) -> AbstractContextManager[Self] | None:
        """An assistant message."""
        return self._role(Role.ASSISTANT, content)

    def set(self, **options: Value) -> None:
        """Defaults for the gens that follow in this body and its branches, by the names that `gen` gives them."""
        self._ready()
        check_keywords("set", options, SET_KEYWORDS)
        gen_settings(options)
        self._frame.defaults.update(options)

    def text(self) -> Any:
        """The promise of what this body has appended so far, without role markers."""
        self._ready()
        written = tuple(self._frame.context.written)
        sources = tuple(piece for piece in written if not isinstance(piece, str))

        def joined() -> str:
            return checked_text("".join([p if isinstance(p, str) else text_of(p.result()) for p in written]))

        return Promise(Derived(sources, joined), "the text", self._frame.scope)

    def fork(
        self,
        n: int | Mapping[str, Callable[[State], Any]],
        branch: Callable[..., Any] | None = None,
        *,
        width: int | None = None,
        timeout: float | None = None,
        on_error: str | None = None,
        **defaults: Value,
    ) -> Forking:
        """N branches that share this context: `branch(b)`, or `branch(b, index)` if it takes two arguments; or named
        arms: `s.fork({"pro": f, "con": g})`. A branch's value is what its function returns, else the text it appended.

        `width`: live at once; `timeout` in seconds; `on_error`: "fail", "drop" or "none"; others are gen options.
        """
        options: dict[str, Value] = {"width": width, "timeout": timeout, "on_error": on_error}
        if isinstance(n, Mapping):
            return self._fork([Branch(name, _body_of(arm)) for name, arm in n.items()], options, defaults, arms=True)
        count = plain(n)
        if branch is None or type(count) is not int or count < 0:
            message = f"`fork` of {count!r:.40}, expected a count that is not negative and a function"
            raise ProgramError("E0402", message, "s.fork(3, branch)")
        function = _body_of(branch)
        numbered = _takes_two(function)
        each = [Branch(index, function, (index,) if numbered else ()) for index in range(count)]
        return self._fork(each, options, defaults)

    def fork_over(
        self,
        items: Iterable[T],
        branch: Callable[[State, T], Any],
        *,
        width: int | None = None,
        timeout: float | None = None,
        on_error: str | None = None,
        **defaults: Value,
    ) -> Forking:
        """One branch per item, `branch(b, item)`; otherwise as `fork`."""
        options: dict[str, Value] = {"width": width, "timeout": timeout, "on_error": on_error}
        if not isinstance(plain(items), Iterable):
            message = f"`fork_over` of {items!r:.40}, expected a list or another iterable"
            raise ProgramError("E0402", message, "s.fork_over(items, branch)")
        function = _body_of(branch)
        return self._fork([Branch(plain(item), function, (item,)) for item in items], options, defaults)

    def use(self, prompt: Prompt[P, Any], *args: P.args, **kwargs: P.kwargs) -> Any:
        """Run a prompt's body in this context: what it returns, of an async one a coroutine. Its names are its own."""
        self._ready()
        if not _is_prompt(prompt):
            hint = "its arguments come after it, since a call of it is its value: s.use(solve, question)"
            found = shortened(name_of(prompt), 60)
            raise TypeError(f"`use` of {found}, expected a prompt: a function with @prompt; {hint}")
        prompt._check(args, kwargs)
        inner = self._inner(prompt)
        with placing_in_body(self._frame.scope.path):
            result = prompt.function(inner, *args, **kwargs)
        inner.end()
        return result.outcome() if isinstance(result, Forking) else result

    def invoke(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Call a tool of the prompt; the promise of its result. Tools are called in the order of the program.

        The name may be a promise, of a `select` between tools.
        """
        where = call_site()
        if not isinstance(name, Promise):
            effects.tool_name(name)
        what = "the tool" if isinstance(name, Promise) else f"tool `{name}`"
        return self._effect(what, lambda: effects.invoke(self._frame, name, args, kwargs, where))

    def emit(self, value: Any) -> None:
        """Tell the listener of a value, in the order of the program."""
        self._effect("emit", lambda: effects.emit(self._frame, value))

    def check(self, holds: Any, message: str = "") -> None:
        """Record in the result whether something holds: True, False, or the promise of one."""
        where = call_site()
        if not isinstance(holds, Promise):
            effects.truth(holds)
        self._effect("check", lambda: effects.check(self._frame, holds, message, where))

    def usage(self) -> dict[str, Value]:
        """Tokens that the run has used by now."""
        return self._frame.scope.do(lambda: usage_record(self._frame.scope.run.usage))

    def raw(self, name: str) -> Any:
        """The promise of the text that a gen or select gave, before it was made a value."""
        return self._detail("raw", name)

    def prob(self, name: str) -> Any:
        """The promise of the probability of what was chosen, or generated with `logprobs`."""
        return self._detail("prob", name)

    def probs(self, name: str) -> Any:
        """After select: the promise of option -> probability."""
        return self._detail("probs", name)

    def logprob(self, name: str) -> Any:
        """The promise of the logarithm of `prob`."""
        return self._detail("logprob", name)

    def tokens(self, name: str) -> Any:
        """After gen: the promise of its token ids."""
        return self._detail("tokens", name)

    def finish(self, name: str) -> Any:
        """After gen: the promise of why it ended."""
        return self._detail("finish", name)

    def _ready(self) -> None:
        """Before anything is done: only the body itself may, and a fork that was not joined is joined now."""
        scope = self._frame.scope
        if current_scope() is not scope or (scope.over and not scope.cancelled):  # a cancelled one is told so
            raise _misused(self._frame.scope)
        if self._forking is not None:
            forking, self._forking = self._forking, None
            if not forking.joined:
                forking.all()

    def _append(self, content: Content) -> None:
        self._ready()
        if isinstance(content, (Gen, Select)):
            ask(self._frame, content)
        elif isinstance(content, Promise):
            making = making_of(content)
            self._append_piece(Derived((making,), lambda: text_of(plain_value(making.result()))))
        else:
            self._append_piece(text_of(plain_value(content)))

    def _append_piece(self, piece: str | Derived[str]) -> None:
        context = self._frame.context
        if isinstance(piece, str):
            context.add_text(piece, trusted=True)
        else:
            context.add_promise(piece)
        if self._frame.scope.run.events.active:
            appended = Appended([piece], context.role, self._frame.scope.path)
            self._frame.scope.do(lambda: self._frame.tell_text(appended))

    def _role(self, role: Role, content: tuple[Content, ...]) -> AbstractContextManager[Self] | None:
        if not content:
            return self._in_role(role)
        with self._in_role(role):
            for piece in content:
                self._append(piece)
        return None

    @contextmanager
    def _in_role(self, role: Role) -> Iterator[Self]:
        self._ready()
        self._frame.context.open_role(role)
        try:
            yield self
        finally:
            self._frame.context.close_role()

    def _fork(
        self, each: list[Branch], options: dict[str, Value], defaults: dict[str, Value], *, arms: bool = False
    ) -> Forking:
        self._ready()
        check_keywords("fork", defaults, FORK_KEYWORDS)
        gen_settings(defaults)
        branches = Branches(each, arms, fork_settings(options), defaults)
        self._forking = Forking(self._frame, branches, call_site(), State)
        return self._forking

    def _effect(self, name: str, work: Callable[[], Any]) -> Promise:
        self._ready()
        return self._frame.scope.do(lambda: self._frame.effect(name, work))

    def _detail(self, what: str, name: str) -> Promise:
        asked, read = self._frame.find(name).asked, OF_DETAILS[what]

        def found() -> Value:
            return read(asked.detail or GenDetail(""))

        return Promise(Derived((asked.promise,), found), f"{what} of `{name}`", self._frame.scope)

    def _inner(self, prompt: Prompt[Any, Any]) -> State:
        frame = self._frame
        author = prompt.author
        return State(Frame(frame.scope, frame.context, author, None, dict(frame.defaults)))

    def end(self) -> None:
        """The body has ended: join what it has not joined."""
        if self._forking is not None and not self._forking.joined:
            self._forking.all()


def _misused(scope: Scope) -> ProgramError:
    """Who is not the body that was given a context uses it."""
    what = f"the context of {scope.path}"
    if scope.over:
        hint = 's["name"] and s.text() can be returned: they give their values'
        return ProgramError("E0702", f"{what} is used after its body has ended", hint)
    if current_scope() is None:
        return ProgramError(
            "E0702", f"{what} is used in a thread that the body began", "s.fork has branches side by side"
        )
    return ProgramError("E0702", f"{what} belongs to another body", "use the context that this function was given")


def _is_prompt(function: object) -> bool:
    return isinstance(getattr(function, "author", None), Author)


def _body_of(branch: Callable[..., Any]) -> Callable[..., Any]:
    """The function of a branch's context; a prompt's body is run in that context."""
    if not _is_prompt(branch):
        return branch

    @wraps(branch.function)  # type: ignore[attr-defined]
    def used(context: State, *arguments: Any) -> Any:
        return context.use(branch, *arguments)  # type: ignore[arg-type]

    return used


def _takes_two(function: Callable[..., Any]) -> bool:
    check_function(function, "a branch")
    parameters = inspect.signature(function).parameters.values()
    positional = [item for item in parameters if item.kind in (item.POSITIONAL_ONLY, item.POSITIONAL_OR_KEYWORD)]
    return len([item for item in positional if item.default is item.empty]) >= 2
