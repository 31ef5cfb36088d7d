"""`radixkv fmt`: programs in the one layout."""

from __future__ import annotations

import difflib
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from radixkv.cli.program_source import STDIN, ProgramSource, program_paths, read_program
from radixkv.cli.terminal import print_json, say

if TYPE_CHECKING:
    from frontend_lang.diagnostics import Diagnostic


@dataclass(frozen=True)
class Formatted:
    """What became of one program; `text` is None if it does not parse."""

    source: ProgramSource
    text: str | None
    changed: bool
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def is_file(self) -> bool:
        """Whether there is a file to write."""
        return self.source.file != "<stdin>"

    def diff(self) -> Iterator[str]:
        """Lines of a unified diff; none if nothing but line endings changes, or if the program does not parse."""
        if self.text is None:
            return
        before, after = self.source.text.splitlines(keepends=True), self.text.splitlines(keepends=True)
        for line in difflib.unified_diff(before, after, self.source.file, self.source.file):
            yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


@click.command("fmt")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--check", "only_check", is_flag=True, help="Write nothing, list what would change; exit code 1 if any.")
@click.option("--diff", "only_diff", is_flag=True, help="Write nothing, print the changes as a unified diff.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: files, diagnostics.")
def command(files: tuple[str, ...], only_check: bool, only_diff: bool, as_json: bool) -> int:
    """Format programs in place. A folder stands for all .rkv files below it, - for stdin, which goes to stdout.

    Text and comments stay as they are, and the program means the same. What does not parse is left alone, with exit
    code 1.

    \b
    radixkv fmt examples/judge.rkv
    radixkv fmt --check examples
    echo 'user: Hi' | radixkv fmt -
    """
    results = [_formatted(read_program(path, None)) for path in program_paths(files)]
    if not (only_check or only_diff):
        for result in results:
            if result.is_file and result.changed:
                _replace(Path(result.source.file), result.text or "")
    if as_json:
        print_json(_json_form(results, with_text=STDIN in files))
    else:
        _present(results, only_check, only_diff)
    failed = any(result.text is None or (only_check and result.changed) for result in results)
    return 1 if failed else 0


def _formatted(source: ProgramSource) -> Formatted:
    from frontend_lang import ProgramRejected
    from frontend_lang.formatting import format_source

    try:
        text = format_source(source.text, source.file)
    except ProgramRejected as error:
        return Formatted(source, None, False, error.diagnostics)
    return Formatted(source, text, _differs(source, text))


def _differs(source: ProgramSource, text: str) -> bool:
    """Line endings and a byte-order mark count too, which the text of a source no longer shows."""
    return text != source.text if source.file == "<stdin>" else text.encode() != Path(source.file).read_bytes()


def _replace(path: Path, text: str) -> None:
    """The whole file at once: who is stopped here, or reads it now, has the old text or the new."""
    target = path.resolve()  # a symbolic link stays one
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        shutil.copymode(target, name)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _json_form(results: list[Formatted], with_text: bool) -> dict[str, object]:
    files = [
        {"file": result.source.file, "changed": result.changed}
        | ({"text": result.text} if with_text and not result.is_file else {})
        for result in results
    ]
    found = [diagnostic.to_dict() for result in results for diagnostic in result.diagnostics]
    return {"files": files, "diagnostics": found}


def _present(results: list[Formatted], only_check: bool, only_diff: bool) -> None:
    from frontend_lang.diagnostics import render

    for result in results:
        for diagnostic in result.diagnostics:
            say(render(diagnostic, result.source.text), err=True)
        if only_diff:
            say("".join(result.diff()), end="")
        elif not result.is_file and not only_check:
            say(result.text or "", end="")
        elif result.changed:
            say(f"would change {result.source.file}" if only_check else f"changed {result.source.file}")
    if not only_diff and (only_check or any(result.is_file for result in results)):
        say(_summary(results, only_check), err=not only_check and not all(result.is_file for result in results))


def _summary(results: list[Formatted], only_check: bool) -> str:
    failed = sum(result.text is None for result in results)
    changed = sum(result.changed for result in results)
    kept = len(results) - failed - changed
    verb = "would change" if only_check else "changed"
    rest = f"{kept} as {'it' if kept == 1 else 'they'} should be"
    return f"{_files(changed)} {verb}, {rest}" + (f", {failed} not readable" if failed else "")


def _files(count: int) -> str:
    return f"{count} file" if count == 1 else f"{count} files"
