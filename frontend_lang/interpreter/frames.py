"""Names of a running program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from frontend_lang.errors import ProgramError
from frontend_lang.modules import Module
from frontend_lang.running.contexts import Context
from frontend_lang.running.details import GenDetail
from frontend_lang.running.generating import Asked
from frontend_lang.running.operations import Where
from frontend_lang.running.promises import Promise, Undertakings
from frontend_lang.running.strands import Strand
from frontend_lang.seeds import Place
from frontend_lang.values import Value

Eventual = Value | Promise[Value]
"""A value, or the promise of one."""


class Frame:
    """Names of the program, a def call, a branch or a comprehension; `outer` is what a branch may read, not change.

    A name may be bound to a promise: what makes its value runs while the frame goes on, and whoever uses the name waits
    for it. `begun` is all that the frame has begun; it ends with the frame at the latest.
    """

    __slots__ = ("_details", "_outer", "begun", "names")

    def __init__(
        self,
        names: Mapping[str, Eventual] | None = None,
        outer: Frame | None = None,
        begun: Undertakings | None = None,
    ) -> None:
        self.names: dict[str, Eventual] = dict(names or {})
        self.begun = begun or Undertakings()
        self._outer = outer
        self._details: dict[str, GenDetail | Asked] = {}

    def snapshot(self) -> Frame:
        """What the names are now, for those who read them while this frame goes on."""
        frame = Frame(self.names, self._outer)
        frame._details = dict(self._details)
        return frame

    def bind(self, name: str, value: Eventual, detail: GenDetail | Asked | None = None) -> None:
        """Declare or rebind a name of this frame; gen and select bring a detail."""
        self.names[name] = value
        self._details.pop(name, None)
        if detail is not None:
            self._details[name] = detail

    def assign(self, name: str, value: Eventual) -> None:
        """Change a declared name."""
        self.check_assignable(name)
        self.bind(name, value)

    def check_assignable(self, name: str) -> None:
        """Raises E0312 for a name of an outer frame, E0305 for one that nothing declares."""
        if name in self.names:
            return
        if self._outer is not None and self._outer.find(name) is not None:
            raise ProgramError("E0312", f"a branch cannot change the outer name `{name}`", "yield the value instead")
        raise ProgramError("E0305", f"`{name}` is not declared", f"let {name} = …")

    def find(self, name: str) -> Frame | None:
        """The innermost frame that has the name."""
        frame: Frame | None = self
        while frame is not None and name not in frame.names:
            frame = frame._outer
        return frame

    def lookup(self, name: str) -> Eventual:
        """What the name is bound to. Raises E0301."""
        frame = self.find(name)
        if frame is None:
            raise ProgramError("E0301", f"unknown name `{name}`")
        return frame.names[name]

    def detail(self, name: str) -> GenDetail | None:
        """What the gen or select that bound the name has left with it; there as soon as the value is."""
        frame = self.find(name)
        detail = None if frame is None else frame._details.get(name)
        return detail.detail if isinstance(detail, Asked) else detail


@dataclass(frozen=True, slots=True)
class Env:
    """Where a node is run: its module, names, context, place for seeds, strand, path, call depth, gen defaults.

    The module gives defs, types and the file of errors. Gen defaults are those of `set` and of fork options.
    `in_steps`: every statement is settled before the next one begins, so that a failure leaves nothing half done.
    """

    module: Module
    frame: Frame
    context: Context
    place: Place
    strand: Strand
    path: str
    depth: int = 0
    defaults: Mapping[str, Value] = field(default_factory=dict)
    in_steps: bool = False

    def where(self) -> Where:
        """Where an operation is queued."""
        return Where(self.context, self.strand, self.place, self.path, self.frame.begun)

    def looped(self, index: int) -> Env:
        """Inside round `index` of a loop."""
        return replace(self, place=self.place.loop(index))

    def with_defaults(self, options: Mapping[str, Value]) -> Env:
        """With further gen defaults."""
        return replace(self, defaults={**self.defaults, **options})
