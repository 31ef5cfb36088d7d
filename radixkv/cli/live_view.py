"""A program's run as it happens, on a terminal: the main context streams, branches have a line each until they join.

What the program wrote is dim, what the model wrote is not. Text is never taken for markup, and control characters are
shown as symbols, so neither a prompt nor a model can disturb the terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from frontend_lang.events import Event
from frontend_lang.values import Value, to_json_safe
from radixkv.cli.terminal import visible

PROMPT = "dim"
NOTE = "dim italic"
GENERATED = ""
CHOSEN = "bold"
MAX_PROMPT_LINES = 6
MAX_VALUE = 200  # characters
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
REFRESHES_PER_SECOND = 12


def excerpt(text: str) -> str:
    """At most MAX_PROMPT_LINES lines of a text."""
    lines = text.split("\n")
    hidden = len(lines) - MAX_PROMPT_LINES
    return text if hidden <= 0 else "\n".join([*lines[: MAX_PROMPT_LINES - 1], f"… {hidden + 1} more lines"])


@dataclass
class Transcript:
    """Styled text of one context; a new role begins with its name on a new line."""

    role: str | None = None
    text: Text = field(default_factory=Text)

    def add(self, text: str, style: str, role: str | None) -> Text:
        """Append; returns what was appended, with the line break and the role's name where the role is another."""
        piece = Text()
        if role is not None and role != self.role:
            piece.append("\n" if self.text and not self.text.plain.endswith("\n") else "")
            piece.append(f"{role} › ", style=NOTE)
        self.role = role
        piece.append(visible(text), style=style)
        self.text.append_text(piece)
        return piece


@dataclass
class Branch:
    """One branch of the forks that are open."""

    label: str
    transcript: Transcript = field(default_factory=Transcript)
    status: str = "running"

    def heading(self) -> Text:
        """Its label, in its colour."""
        colour = COLOURS[sum(map(ord, self.label)) % len(COLOURS)]
        mark = "" if self.status in ("ok", "running") else f" {self.status}"
        return Text.assemble((f"{self.label}{mark} ", colour))

    def line(self, width: int) -> Text:
        """The end of its text, cut to one line."""
        heading = self.heading()
        shown = self.transcript.text[-4 * width :].copy()
        shown = Text(" ⏎ ").join(shown.split("\n"))
        room = max(width - heading.cell_len, 8)
        if shown.cell_len > room:
            shown = Text("…") + shown[-(room - 1) :]
        heading.append_text(shown)
        heading.truncate(width)
        return heading


@dataclass
class ProgramView:
    """Shows the events of a run on `console`. Call it with each event; `close` when the run has ended in any way."""

    console: Console
    _main: Transcript = field(default_factory=Transcript)
    _branches: dict[str, Branch] = field(default_factory=dict)
    _children: set[str] = field(default_factory=set)  # contexts of branches
    _live: Live | None = None

    def __call__(self, event: Event) -> None:
        """Show one event; unknown ones are passed over."""
        show = getattr(self, "_on_" + event.event.replace(".", "_"), None)
        if show is not None:
            show(event)

    def close(self) -> None:
        """Leave the terminal in order."""
        self._stop_live()
        self._end_line()

    def _on_text(self, event: Event) -> None:
        self._add(event, excerpt(str(event.data["text"])), PROMPT)

    def _on_gen_start(self, event: Event) -> None:
        attempt = event.data.get("attempt")
        if isinstance(attempt, int) and attempt > 0:  # what is above was rejected by `until`
            self._add(event, f"\n↻ try {attempt + 1}\n", NOTE, keep_role=True)
            return
        self._add(event, "", GENERATED)

    def _on_gen_delta(self, event: Event) -> None:
        self._add(event, str(event.data["text"]), GENERATED, keep_role=True)

    def _on_select_end(self, event: Event) -> None:
        self._add(event, str(event.data["value"]), CHOSEN)

    def _on_fork(self, event: Event) -> None:
        children = event.data["children"]
        if isinstance(children, list):
            self._children.update(map(str, children))
        if not _in_branch(event.path):
            self._end_line()
            self._note(f"fork ×{event.data['n']} · {event.data['shared_tokens']} tokens shared")
        if self._live is None:
            self._live = Live(
                console=self.console,
                refresh_per_second=REFRESHES_PER_SECOND,
                transient=True,
                get_renderable=self._table,
            )
            self._live.start()

    def _on_branch_end(self, event: Event) -> None:
        branch = self._branches.get(event.path)
        if branch is not None:
            branch.status = str(event.data["status"])

    def _on_join(self, event: Event) -> None:
        if _in_branch(event.path):
            inside = event.path + "["
            self._branches = {path: branch for path, branch in self._branches.items() if not path.startswith(inside)}
            return
        finished, self._branches = self._branches, {}
        self._stop_live()
        for branch in finished.values():
            self.console.print(branch.heading() + branch.transcript.text)
        self._note(_join_note(event.data))

    def _on_emit(self, event: Event) -> None:
        self._tell(event, f"emit {_in_short(event.data['value'])}")

    def _on_tool_call(self, event: Event) -> None:
        self._tell(event, f"tool {event.data['name']} {_in_short(event.data['args'])}")

    def _on_tool_end(self, event: Event) -> None:
        if "error" in event.data:
            self._tell(event, str(event.data["error"]))

    def _tell(self, event: Event, text: str) -> None:
        """A line of its own; what happens in branches goes by."""
        if not _in_branch(event.path):
            self._end_line()
            self._note(visible(text))

    def _add(self, event: Event, text: str, style: str, *, keep_role: bool = False) -> None:
        """To a branch only what it appends to itself: a def that it calls has a context of its own."""
        if not _in_branch(event.path):
            role = self._main.role if keep_role else _role(event)
            self.console.print(self._main.add(text, style, role), end="", soft_wrap=True)
        elif event.ctx in self._children:
            label = event.path[event.path.index("[") :]
            transcript = self._branches.setdefault(event.path, Branch(label)).transcript
            transcript.add(text, style, transcript.role if keep_role else _role(event))

    def _table(self) -> Group:
        room = max(self.console.size.height - 3, 1)
        rows = list(self._branches.values())
        lines = [branch.line(self.console.width) for branch in rows[:room]]
        if len(rows) > room:
            lines.append(Text(f"… and {len(rows) - room} more branches", style=NOTE))
        return Group(*lines)

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _note(self, text: str) -> None:
        self.console.print(Text(text, style=NOTE))

    def _end_line(self) -> None:
        if self._main.text and not self._main.text.plain.endswith("\n"):
            self.console.print()
        self._main = Transcript()


def _in_short(value: object) -> str:
    """A value in one line, cut where it is long."""
    text = json.dumps(to_json_safe(cast("Value", value)), ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def _in_branch(path: str) -> bool:
    return "[" in path


def _role(event: Event) -> str | None:
    role = event.data.get("role")
    return None if role is None else str(role)


def _join_note(data: Mapping[str, object]) -> str:
    winner = data.get("winner")
    return f"join {data['policy']}" + ("" if winner is None else f" · branch {winner} wins")
