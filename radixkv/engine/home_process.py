"""An engine lives in the process that started it: its threads do not come along when that process forks."""

from __future__ import annotations

import os

from radixkv.errors import EngineClosed


class HomeProcess:
    """Remembers the process that it was made in."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        """Whether this is that process, and not a child that it forked."""
        return os.getpid() == self._pid

    def check(self) -> None:
        """Raises EngineClosed in a forked child, where nobody would ever answer."""
        if not self.is_here:
            raise EngineClosed(
                f"this engine was started by process {self._pid}, whose threads a forked process does not have; "
                f"start one in this process ({os.getpid()})"
            )
