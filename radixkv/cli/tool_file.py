"""`--tools FILE.py`: the tools that a program may call are the `@tool` functions of one Python file."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click

from radixkv.cli.outcome import USAGE, CommandFailure

if TYPE_CHECKING:
    from frontend_lang.tools import ToolSet

MODULE_NAME = "radixkv_tools"


def read_tools(file: str | None) -> ToolSet:
    """The tools of a Python file, which is run as it is; none without a file.

    The file may import what lies beside it. Raises click.UsageError if it cannot be read or has no tools, and
    CommandFailure if it fails.
    """
    from frontend_lang.tools import Tool, ToolSet

    if file is None:
        return ToolSet()
    path = Path(file)
    if not path.is_file():
        raise click.UsageError(f"--tools: cannot read {file}: {'it is a folder' if path.is_dir() else 'no such file'}")
    try:
        names = vars(_imported(path))
    except (Exception, SystemExit) as error:
        raise CommandFailure(_what_failed(error, path), kind="tools", exit_code=USAGE) from error
    tools = {id(value): value for value in names.values() if isinstance(value, Tool)}
    if not tools:
        raise click.UsageError(f"--tools: {file} has no tools{_hint(names)}")
    try:
        return ToolSet(tools.values())
    except ValueError as error:
        raise click.UsageError(f"--tools: {file}: {error}") from error


def _imported(path: Path) -> ModuleType:
    """Run the file as a module, its folder first on the path, as `python FILE.py` has it."""
    spec = importlib.util.spec_from_file_location(MODULE_NAME, path)
    if spec is None or spec.loader is None:
        raise click.UsageError(f"--tools: {path} is no Python file; its name ends with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE_NAME] = module  # dataclasses and annotations look their module up
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _what_failed(error: BaseException, path: Path) -> str:
    """One line: what, and in which line of the file."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path.absolute()]
    line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
    return f"--tools: {path}{'' if line is None else f':{line}'}: {what}"


def _hint(names: Mapping[str, object]) -> str:
    functions = [
        name for name, value in names.items() if callable(value) and getattr(value, "__module__", "") == MODULE_NAME
    ]
    marked = f"; mark the functions that programs may call, such as {functions[0]}" if functions else ""
    return f"{marked}: `from frontend_lang import tool`, then `@tool` above a function"
