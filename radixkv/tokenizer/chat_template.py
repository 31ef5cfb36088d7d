"""A model's chat template: messages to segments, with the template's own text trusted and contents not."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from functools import lru_cache
from typing import Any, Final

from radixkv.errors import ChatTemplateError, InvalidRequest
from radixkv.tokenizer.role_borders import RoleBorders
from radixkv.tokenizer.segments import Message, Segment
from radixkv.tokenizer.template_environment import Program

_ROLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")  # templates copy it into trusted text
_RESERVED: Final = frozenset(("messages", "add_generation_prompt", "raise_exception", "strftime_now"))

Pieces = list["str | int"]  # text of the template, and the number of the message whose content stands there


def _local_time() -> datetime:
    return datetime.now().astimezone()


class ChatTemplate:
    """A compiled template. Immutable; may be used from several threads.

    Where contents stand is found by a probe: the template is run with a marker in place of each content. It is
    then run with the real contents, and the result must be the probe's text with contents (as they are, trimmed,
    or as the template changes each by itself) in place of the markers. So the text is exactly the template's,
    and no content is ever taken for template text. Blank contents need no protection and stand in both runs.

    `special_texts`: variables such as bos_token. `atoms` cuts text into special tokens and characters.
    `clock` is what the template's `strftime_now` shows.
    """

    def __init__(
        self,
        source: str,
        special_texts: Mapping[str, str] | None = None,
        atoms: Callable[[str], list[str]] = list,
        clock: Callable[[], datetime] = _local_time,
    ) -> None:
        self.source = source
        self._program = Program(source)
        self._constants: dict[str, Any] = {"tools": None, "documents": None, **(special_texts or {})}
        self._nonce = f"rkv{secrets.token_hex(8)}"
        self._marker = re.compile(f"{self._nonce}n([0-9]+)z")
        self._atoms = atoms
        self._clock = clock
        self._borders = lru_cache(1)(self._borders_on)

    def render(
        self,
        messages: Sequence[Message],
        /,
        *,
        add_generation_prompt: bool,
        continue_final_message: bool = False,
        **variables: Any,
    ) -> list[Segment]:
        """Segments of a chat: template text trusted, contents not.

        `add_generation_prompt` ends with the opening of an assistant's message. `continue_final_message` ends
        with the content of the last message, trimmed if the template trims, without what closes it. `variables`
        are passed to the template.

        Raises InvalidRequest (no messages, a bad role, both flags) and ChatTemplateError: the template's own
        message if it refuses the messages, or that it changes a content in a way that cannot be followed.
        """
        _check(messages, add_generation_prompt, continue_final_message, variables)
        run = self._run(variables, add_generation_prompt, self._clock())
        last = len(messages) - 1
        marks = [self._mark(i) for i in range(len(messages))]
        marked = {i for i, m in enumerate(messages) if m.content.strip() or (continue_final_message and i == last)}
        probe = [Message(m.role, marks[i]) if i in marked else m for i, m in enumerate(messages)]
        real = list(messages) if messages[last].content.strip() else [*messages[:-1], probe[last]]
        pieces = self._pieces(run(probe))
        shown = _Contents(run, probe, real, marks).follow(pieces)
        if continue_final_message:
            pieces = _up_to(pieces, last)
            shown[last] = shown[last] if messages[last].content.strip() else messages[last].content
        return [
            segment
            for piece in pieces
            if (segment := Segment(piece, True) if isinstance(piece, str) else Segment(shown[piece])).text
        ]

    def open_role(self, history: Sequence[str], role: str) -> list[Segment]:
        """What stands before the content of the next message, given the roles so far; all trusted.

        At the start that includes BOS and the default system prompt, if the template has them. For an assistant
        it is the generation prompt. Opening and closing role by role gives the text of `render`, contents
        trimmed if the template trims. Raises ChatTemplateError if the template refuses that order of roles, or
        moves or changes earlier messages because of the new one.
        """
        text = self._borders(self._clock().date()).opening(_roles(history), _role(role))
        return [Segment(text, True)] if text else []

    def close_role(self, history: Sequence[str], role: str) -> list[Segment]:
        """What stands after the content of a message of `role` after `history`, whatever comes next; all trusted."""
        text = self._borders(self._clock().date()).closing((*_roles(history), _role(role)))
        return [Segment(text, True)] if text else []

    def _run(self, variables: Mapping[str, Any], add_generation_prompt: bool, now: datetime) -> _Run:
        flags = {"add_generation_prompt": add_generation_prompt}
        return _Run(self._program, {**self._constants, **variables, **flags}, now)

    def _mark(self, index: int) -> str:
        return f"{self._nonce}n{index}z"

    def _pieces(self, text: str) -> Pieces:
        parts = self._marker.split(text)
        return [int(part) if at % 2 else part for at, part in enumerate(parts)]

    def _borders_on(self, _day: date) -> RoleBorders:
        """Borders for a day: templates may name the date, and what was found for one history serves the next."""
        now = self._clock()

        def probe(roles: tuple[str, ...], add_generation_prompt: bool) -> str:
            run = self._run({}, add_generation_prompt, now)
            return run([Message(role, self._mark(i)) for i, role in enumerate(roles)])

        return RoleBorders(probe, self._mark, self._marker, self._atoms)


class _Run:
    """The template with everything fixed but the messages, the clock included."""

    def __init__(self, program: Program, variables: Mapping[str, Any], now: datetime) -> None:
        self._program = program
        self._variables = variables
        self._now = now

    def __call__(self, messages: Sequence[Message]) -> str:
        plain = [{"role": message.role, "content": message.content} for message in messages]
        return self._program.run({**self._variables, "messages": plain}, self._now)


class _Contents:
    """What a template makes of each content."""

    def __init__(self, run: _Run, probe: Sequence[Message], real: Sequence[Message], marks: Sequence[str]) -> None:
        self._run = run
        self._probe = probe
        self._real = real
        self._marks = marks

    def follow(self, pieces: Pieces) -> list[str]:
        """Contents as shown, one per message; raises ChatTemplateError if they cannot be told."""
        truth = self._run(self._real)
        contents = [message.content for message in self._real]
        for shown in (contents, [content.strip() for content in contents]):
            if _joined(pieces, shown) == truth:
                return shown
        shown = [self._alone(index) if index in pieces else "" for index in range(len(contents))]
        if _joined(pieces, shown) != truth:
            raise ChatTemplateError(
                "the model's chat template writes other text of its own depending on what the messages say, "
                "which cannot be told apart from their contents"
            )
        return shown

    def _alone(self, index: int) -> str:
        """What the template shows of one content while the others are markers."""
        before, *_, after = self._run(self._probe).split(self._marks[index])
        text = self._run([*self._probe[:index], self._real[index], *self._probe[index + 1 :]])
        if len(text) < len(before) + len(after) or not (text.startswith(before) and text.endswith(after)):
            raise ChatTemplateError(
                f"messages[{index}]: the model's chat template writes other text of its own around this content, "
                "which cannot be told apart from it"
            )
        return text[len(before) : len(text) - len(after)]


def _joined(pieces: Pieces, contents: Sequence[str]) -> str:
    return "".join(piece if isinstance(piece, str) else contents[piece] for piece in pieces)


def _up_to(pieces: Pieces, index: int) -> Pieces:
    if index not in pieces:
        raise ChatTemplateError("the model's chat template does not show the final message, so it cannot be continued")
    return pieces[: len(pieces) - pieces[::-1].index(index)]


def _check(
    messages: Sequence[Message], add_generation_prompt: bool, continue_final_message: bool, variables: Mapping[str, Any]
) -> None:
    if not messages:
        raise InvalidRequest("messages", list(messages), "at least one message")
    for index, message in enumerate(messages):
        _role(message.role, f"messages[{index}].role")
        if not isinstance(message.content, str):
            raise InvalidRequest(f"messages[{index}].content", type(message.content).__name__, "text")
    if add_generation_prompt and continue_final_message:
        raise InvalidRequest(
            "continue_final_message",
            True,
            "false when add_generation_prompt is true",
        )
    for name in variables.keys() & _RESERVED:
        raise InvalidRequest("chat_template_kwargs", name, f"none of {', '.join(sorted(_RESERVED))}")


def _role(role: object, field: str = "role") -> str:
    if not isinstance(role, str) or not _ROLE.fullmatch(role):
        raise InvalidRequest(field, role, "a name of letters, digits, _ and -")
    return role


def _roles(history: Sequence[str]) -> tuple[str, ...]:
    return tuple(map(_role, history))
