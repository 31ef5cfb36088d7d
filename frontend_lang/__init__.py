"""The prompt-program language, independent of any engine.

    import frontend_lang
    from frontend_lang.scripted import ScriptedRuntime
    from frontend_lang.tools import Tool, tool
    frontend_lang.run('user "Hi"; assistant gen a; return a', {}, runtime=ScriptedRuntime(["Hello."])).value

Names are imported when they are first used, so that `import frontend_lang` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frontend_lang.api import ProgramRejected, load, run, run_async
    from frontend_lang.errors import ProgramError
    from frontend_lang.events import Event
    from frontend_lang.result import RunResult
    from frontend_lang.running.limits import Limits
    from frontend_lang.scripted import ScriptedRuntime

__all__ = [
    "Event",
    "Limits",
    "ProgramError",
    "ProgramRejected",
    "RunResult",
    "ScriptedRuntime",
    "Tool",
    "load",
    "run",
    "run_async",
    "tool",
]

_HOMES = {
    "Event": "events",
    "Limits": "running.limits",
    "ProgramError": "errors",
    "ProgramRejected": "api",
    "RunResult": "result",
    "ScriptedRuntime": "scripted",
    "Tool": "tools",
    "load": "api",
    "run": "api",
    "run_async": "api",
    "tool": "tools",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
