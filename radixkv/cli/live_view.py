"""A program's run as it happens, on a terminal: the main context streams, branches have a line each until they join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from frontend_lang.events import Event

MAX_PROMPT_LINES = 6
COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_CONTROL = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"} | {0x7F: "\u2421"}
_CONTROL |= dict.fromkeys(range(128, 160), "�")
_CONTROL |= dict.fromkeys((*range(8234, 8239), *range(8294, 8298), 8206, 8207), "�")


def visible(text: str) -> str:
    """Text that cannot move a terminal's cursor or colours: control characters become symbols."""
    return text.translate(_CONTROL)


@dataclass
class Branch:
    """One branch of the forks that are open: what it has appended so far."""

    label: str
    text: str = ""
    status: str = "running"

    def line(self, width: int) -> Text:
        """The end of its text, cut to one line."""
        shown = Text(visible(self.text).replace("\n", " ⏎ "))
        room = max(width - len(self.label) - 4, 10)
        if shown.cell_len > room:
            shown = Text("…") + shown[-(room - 1) :]
        colour = COLOURS[sum(map(ord, self.label)) % len(COLOURS)]
        return Text.assemble((f"{self.label} ", colour), shown, no_wrap=True, overflow="crop")


@dataclass
class ProgramView:
    """Shows the events of a run on `console`. Call it with each event; `close` when the run has ended in any way."""

    console: Console
    _branches: dict[str, Branch] = field(default_factory=dict)
    _children: set[str] = field(default_factory=set)
    _live: Live | None = None
    _at_line_start: bool = True

    def __call__(self, event: Event) -> None:
        """Show one event; unknown ones are passed over."""
        show = getattr(self, "_on_" + event.event.replace(".", "_"), None)
        if show is not None:
            show(event)

    def close(self) -> None:
        """Leave the terminal in order."""
        if self._live is not None:
            self._live.stop()
            self._live = None
        self._end_line()

    def _on_text(self, event: Event) -> None:
        if _in_branch(event.path):
            self._append(event, str(event.data["text"]))
            return
        lines = visible(str(event.data["text"])).split("\n")
        hidden = len(lines) - MAX_PROMPT_LINES
        if hidden > 0:
            lines = [*lines[: MAX_PROMPT_LINES - 1], f"… {hidden + 1} more lines"]
        role = event.data.get("role")
        head = f"{role} › " if role and self._at_line_start else ""
        self._write(Text(head + "\n".join(lines), style="dim"))

    def _on_gen_delta(self, event: Event) -> None:
        text = str(event.data["text"])
        if _in_branch(event.path):
            self._append(event, text)
        else:
            self._write(Text(visible(text)))

    def _on_select_end(self, event: Event) -> None:
        text = str(event.data["value"])
        if _in_branch(event.path):
            self._append(event, text)
        else:
            self._write(Text(visible(text), style="bold"))

    def _on_fork(self, event: Event) -> None:
        self._end_line()
        self._children.update(_strings(event.data["children"]))
        note = f"fork ×{event.data['n']}"
        if event.data.get("shared_tokens"):
            note += f" · {event.data['shared_tokens']} tokens shared"
        if not _in_branch(event.path):
            self.console.print(Text(note, style="dim italic"))
        if self._live is None:
            self._live = Live(console=self.console, refresh_per_second=12, transient=True, get_renderable=self._table)
            self._live.start()

    def _on_branch_end(self, event: Event) -> None:
        branch = self._branches.get(event.path)
        if branch is not None:
            branch.status = str(event.data["status"])

    def _on_join(self, event: Event) -> None:
        if _in_branch(event.path):
            self._forget_below(event.path)
            return
        finished, self._branches = self._branches, {}
        if self._live is not None:
            self._live.stop()
            self._live = None
        for branch in finished.values():
            self._print_result(branch)
        self.console.print(Text(_join_note(event.data), style="dim italic"))

    def _append(self, event: Event, text: str) -> None:
        """Only what a branch appends to itself: a def that it calls has a context of its own."""
        if event.ctx in self._children:
            label = event.path[event.path.index("[") :]
            self._branches.setdefault(event.path, Branch(label)).text += text

    def _forget_below(self, path: str) -> None:
        self._branches = {other: branch for other, branch in self._branches.items() if not other.startswith(path + "[")}

    def _table(self) -> Group:
        room = max(self.console.size.height - 3, 1)
        rows = list(self._branches.values())
        lines = [branch.line(self.console.width) for branch in rows[:room]]
        if len(rows) > room:
            lines.append(Text(f"… and {len(rows) - room} more branches", style="dim"))
        return Group(*lines)

    def _print_result(self, branch: Branch) -> None:
        mark = "" if branch.status in ("ok", "running") else f" ({branch.status})"
        self.console.print(Text(f"{branch.label}{mark} {visible(branch.text).strip()}"))

    def _write(self, text: Text) -> None:
        self.console.print(text, end="", soft_wrap=True)
        self._at_line_start = text.plain.endswith("\n") if text.plain else self._at_line_start

    def _end_line(self) -> None:
        if not self._at_line_start:
            self.console.print()
            self._at_line_start = True


def _in_branch(path: str) -> bool:
    return "[" in path


def _strings(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _join_note(data: Mapping[str, object]) -> str:
    note = f"join {data['policy']}"
    winner = data.get("winner")
    return note if winner is None else f"{note} · winner {winner}"
