"""The code keeps the shape that docs/contributing.md promises: small files, small functions, full hints."""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("radixkv", "frontend_lang", "kernels/radixkv_kernels")
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MEDIAN_FUNCTION_LINES = 8

Function = ast.FunctionDef | ast.AsyncFunctionDef


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from (ROOT / package).rglob("*.py")


def functions() -> Iterator[tuple[Path, Function]]:
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, Function):
                yield path, node


def length(function: Function) -> int:
    """Lines of the body, the docstring aside."""
    body = function.body
    first = body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        body = body[1:]
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def test_files_are_small() -> None:
    long = {
        str(path): lines for path in sources() if (lines := len(path.read_text("utf-8").splitlines())) > MAX_FILE_LINES
    }
    assert not long


def test_functions_are_small() -> None:
    lengths = {f"{path}:{function.name}": length(function) for path, function in functions()}
    assert not {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES}
    assert statistics.median(lengths.values()) <= MEDIAN_FUNCTION_LINES


def test_kernels_folder_is_no_package() -> None:
    assert not (ROOT / "kernels" / "__init__.py").exists()
