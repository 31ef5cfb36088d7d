"""One context: a program's growing token sequence, its roles, its buffer and its hold on KV. No waiting here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from radixkv.engine.checks import check_int
from radixkv.engine.prompts import template_of
from radixkv.engine.verbs import Part, RoleClose, RoleOpen, Text
from radixkv.errors import InvalidRequest
from radixkv.request import Namespace
from radixkv.tokenizer import Segment, Tokenizer
from radixkv.tokens import TokenArray, token_array


@dataclass
class Hold:
    """KV kept in the core under a name; contexts that a fork made share it."""

    name: str
    users: int = 1


@dataclass(frozen=True)
class RoleState:
    """Roles that were opened so far, and whether the last one still is."""

    history: tuple[str, ...] = ()
    is_open: bool = False


@dataclass(frozen=True)
class LastText:
    """The text of a context's tokens from `start` on."""

    start: int
    text: str = ""


@dataclass(frozen=True)
class Replaced:
    """Ids from `start` on that a generation took up again, and where text began then."""

    start: int
    ids: TokenArray
    text_start: int


@dataclass
class Context:
    """State of one context. `tokens[text_start:]` are ids of text, which may be tokenised again; before come ids
    that a generation sampled or that belong to a role's border, which never are.
    """

    context_id: str
    namespace: Namespace
    tokenizer: Tokenizer
    tokens: TokenArray = field(default_factory=token_array)
    text_start: int = 0
    roles: RoleState = RoleState()
    buffer: list[Segment] = field(default_factory=list)
    marks: list[tuple[int, RoleState]] = field(default_factory=list)  # (length, roles) at each commit
    hold: Hold | None = None
    held_tokens: int = 0  # leading tokens that the hold covers, unless it was revoked
    running: set[str] = field(default_factory=set)  # ids of its requests that have not ended
    released: bool = False
    replaced: Replaced | None = None  # by the generation that came last

    def append(self, parts: Iterable[Part]) -> None:
        """Buffer parts. Raises InvalidRequest for a role opened or closed out of turn, ChatTemplateError."""
        for part in parts:
            match part:
                case Text(text):
                    self._buffer(Segment(text, trusted=False))
                case RoleOpen(role):
                    self._open_role(role)
                case RoleClose():
                    self._close_role()

    @property
    def last_token(self) -> int | None:
        """The last committed id, which text that comes next follows."""
        return self.tokens[-1] if self.tokens else None

    def commit(self) -> int:
        """Tokenise the buffer, all of it together; the length in tokens."""
        if self.buffer:
            ends_in_text = not self.buffer[-1].trusted
            new = self.tokenizer.encode_segments(self.buffer, previous=self.last_token)
            self.tokens = self.tokens + new if self.tokens else self.tokenizer.with_bos(new)
            self.replaced = None
            self.buffer = []
            if not ends_in_text:
                self.text_start = len(self.tokens)
        self._mark()
        return len(self.tokens)

    def settle(self, start: int, sampled: Iterable[int], remainder: str) -> None:
        """Append what a generation from `start` on has sampled; ids of text after `start` are in it already."""
        self.replaced = Replaced(start, self.tokens[start:], self.text_start)
        self.cut(start)
        self.extend(sampled, remainder)

    def extend(self, sampled: Iterable[int], remainder: str) -> None:
        """Append sampled ids as they are; `remainder` is text of a token that a stop string split."""
        self.tokens = self.tokens + token_array(sampled)
        self.text_start = len(self.tokens)
        self._mark()
        self._buffer(Segment(remainder, trusted=False))

    def last_text(self) -> LastText:
        """The last text token, more tokens only where a character would be split.

        At least one token stays before it. None where the context ends in a sampled token or a role's border.
        """
        first = max(self.text_start, 1)
        end, raw = len(self.tokens), b""
        while end > first and self.tokens[end - 1] not in self.tokenizer.special_ids:
            end -= 1
            raw = self.tokenizer.token_bytes(self.tokens[end]) + raw
            try:
                return LastText(end, raw.decode("utf-8"))
            except UnicodeDecodeError:
                continue
        return LastText(len(self.tokens))

    def reopen(self) -> str:
        """Take the last text token back into the buffer; its text."""
        last = self.last_text()
        if last.text:
            self.cut(last.start)
            self.buffer.insert(0, Segment(last.text, trusted=False))
        return last.text

    def truncate(self, length: int) -> None:
        """Forget tokens from `length` on, and the buffer; roles are those of the last commit that fits.

        Where the generation that came last has re-opened text before `length`, that text stands there again.
        """
        before = self.replaced
        end = 0 if before is None else before.start + len(before.ids)
        check_int("length", length, 0, max(end, len(self.tokens)))
        if before is not None and before.start <= length <= end:
            self.cut(before.start)
            self.tokens, self.text_start = self.tokens + before.ids, before.text_start
        self.replaced = None
        self.cut(length)
        self.text_start = min(self.text_start, length)
        self.buffer = []
        self.marks = [mark for mark in self.marks if mark[0] <= length]
        self.roles = self.marks[-1][1] if self.marks else RoleState()

    def copy(self, context_id: str) -> Context:
        """A context that goes on from here; token ids are shared, they never change."""
        return Context(
            context_id,
            self.namespace,
            self.tokenizer,
            self.tokens,
            self.text_start,
            self.roles,
            list(self.buffer),
            list(self.marks),
            self.hold,
            self.held_tokens,
        )

    def become(self, other: Context) -> None:
        """Take over the state of another context, its hold included."""
        self.tokens, self.text_start, self.roles = other.tokens, other.text_start, other.roles
        self.buffer, self.marks = other.buffer, other.marks
        self.hold, self.held_tokens = other.hold, other.held_tokens

    def cut(self, length: int) -> None:
        """Drop tokens; what is appended in their place is not what the hold covers there."""
        self.tokens = self.tokens[:length]
        self.held_tokens = min(self.held_tokens, length)

    def _buffer(self, segment: Segment) -> None:
        if segment.text:
            self.buffer.append(segment)

    def _open_role(self, role: str) -> None:
        if self.roles.is_open:
            raise InvalidRequest("role", role, f"the open role `{self.roles.history[-1]}` to be closed first")
        for segment in template_of(self.tokenizer).open_role(self.roles.history, role):
            self._buffer(segment)
        self.roles = RoleState((*self.roles.history, role), is_open=True)

    def _close_role(self) -> None:
        if not self.roles.is_open:
            raise InvalidRequest("role", "close", "an open role")
        *before, role = self.roles.history
        for segment in template_of(self.tokenizer).close_role(before, role):
            self._buffer(segment)
        self.roles = RoleState(self.roles.history, is_open=False)

    def _mark(self) -> None:
        mark = (len(self.tokens), self.roles)
        if not self.marks or self.marks[-1] != mark:
            self.marks.append(mark)
