"""The prompt-program language, independent of any engine: programs as text, and as Python functions.

    import frontend_lang
    from frontend_lang import ScriptedRuntime, gen, prompt

    runtime = ScriptedRuntime(lambda prompt, call: "Hello.")
    frontend_lang.run('user "Hi"; assistant gen a; return a', {}, runtime=runtime).value

    @prompt
    def greet(s, name):
        s.user(f"Greet {name}.")
        s.assistant(gen("a"))
        return s["a"]

    greet("Ada", runtime=runtime)

Names are imported when they are first used, so that `import frontend_lang` stays cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from frontend_lang.api import ProgramRejected, run, run_async
    from frontend_lang.errors import ProgramError
    from frontend_lang.events import Event
    from frontend_lang.python_api.failures import Fail
    from frontend_lang.python_api.instructions import Gen, Select, gen, select
    from frontend_lang.python_api.modules import load
    from frontend_lang.python_api.promises import Promise
    from frontend_lang.python_api.prompts import Prompt, prompt
    from frontend_lang.python_api.runtimes import use_runtime
    from frontend_lang.python_api.state import State
    from frontend_lang.python_api.texts import fence
    from frontend_lang.python_types import Float, Int, List, Regex, Schema, Str
    from frontend_lang.result import RunResult
    from frontend_lang.running.limits import Limits
    from frontend_lang.scripted import ScriptedRuntime
    from frontend_lang.tools import Tool, tool

__all__ = [
    "Event",
    "Fail",
    "Float",
    "Gen",
    "Int",
    "Limits",
    "List",
    "ProgramError",
    "ProgramRejected",
    "Promise",
    "Prompt",
    "Regex",
    "RunResult",
    "Schema",
    "ScriptedRuntime",
    "Select",
    "State",
    "Str",
    "Tool",
    "fence",
    "gen",
    "load",
    "prompt",
    "run",
    "run_async",
    "select",
    "tool",
    "use_runtime",
]

_HOMES = {
    "Event": "events",
    "Fail": "python_api.failures",
    "Float": "python_types",
    "Gen": "python_api.instructions",
    "Int": "python_types",
    "Limits": "running.limits",
    "List": "python_types",
    "ProgramError": "errors",
    "ProgramRejected": "api",
    "Promise": "python_api.promises",
    "Prompt": "python_api.prompts",
    "Regex": "python_types",
    "RunResult": "result",
    "Schema": "python_types",
    "ScriptedRuntime": "scripted",
    "Select": "python_api.instructions",
    "State": "python_api.state",
    "Str": "python_types",
    "Tool": "tools",
    "fence": "python_api.texts",
    "gen": "python_api.instructions",
    "load": "python_api.modules",
    "prompt": "python_api.prompts",
    "run": "api",
    "run_async": "api",
    "select": "python_api.instructions",
    "tool": "tools",
    "use_runtime": "python_api.runtimes",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
