"""Imports: from one source to the modules that it needs, each parsed, checked and shared.

A path is relative to the folder of the file that imports, and stays within the root of the source of texts; the
program itself lies at that root. The same path is one module, however often it is imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath
from typing import TypeVar

from frontend_lang.diagnostics import Diagnostic, diagnose
from frontend_lang.errors import ProgramError
from frontend_lang.modules import Module
from frontend_lang.sources import NoSource, TextSource, inner_path, refused
from frontend_lang.syntax import ast, parse
from frontend_lang.syntax.fragments import Fragment
from frontend_lang.syntax.limits import MAX_SOURCE_BYTES

MAX_IMPORT_DEPTH = 16  # imports of imports
MAX_MODULES = 64  # of one program, itself included
_T = TypeVar("_T")


@dataclass(frozen=True)
class Linked:
    """A program and what was found while its imports were gathered.

    `module` is None if the program itself does not parse. `diagnostics` has its syntax errors and those of what did
    parse, what is wrong with its imports, and all findings about the imported modules; the check of a program that
    parses is still to be done. An import that could not be read or parsed is missing from `module.imports`. `sources`
    is the text of each file by the name that diagnostics give it.
    """

    module: Module | None
    diagnostics: tuple[Diagnostic, ...]
    sources: Mapping[str, str]


@dataclass(frozen=True)
class _File:
    """A file: its path in the source of texts, the name that diagnostics give it, how many imports lead to it."""

    path: PurePosixPath
    shown: str
    depth: int = 0


def link(source: str, file: str = "<string>", modules: TextSource | None = None) -> Linked:
    """Parse a program and, through `modules`, all that it imports. Raises nothing.

    Reports E0308 (a circle, too deep, too many), E0703 (not given) and everything that `check` says about an imported
    module, under that module's own name.
    """
    linker = _Linker(PurePath(file), modules or NoSource())
    module = linker.module(source, _File(PurePosixPath(PurePath(file).name), file))
    return Linked(module, tuple(linker.found), linker.sources)


@dataclass
class _Linker:
    main: PurePath
    texts: TextSource
    found: list[Diagnostic] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    known: dict[PurePosixPath, Module | None] = field(default_factory=dict)
    open: list[PurePosixPath] = field(default_factory=list)  # files whose imports are being gathered, outermost first

    def module(self, source: str, file: _File) -> Module | None:
        """One file with all that it imports."""
        from frontend_lang.checker import check_fragment

        parsed = parse(source, file.shown)
        self.sources[file.shown] = parsed.source
        self.found += parsed.diagnostics
        if parsed.program is not None:
            return self._linked(parsed.program, file)
        if parsed.fragment is not None:
            self.found += check_fragment(self._linked(parsed.fragment.program, file, parsed.fragment), parsed.fragment)
        return None

    def _linked(self, program: ast.Program, file: _File, fragment: Fragment | None = None) -> Module:
        sure = [node for node in _imports(program) if fragment is None or not fragment.is_doubtful(node.path.span)]
        self.open.append(file.path)
        imports = {node.name: self._import(node, file) for node in sure}
        self.open.pop()
        linked = {name: module for name, module in imports.items() if module is not None}
        return Module(program, linked, self._schemas(program, file))

    def _reporting(self, file: _File, span: ast.Span, attempt: Callable[[], _T | None]) -> _T | None:
        """What the attempt gives; a ProgramError is reported at the span."""
        try:
            return attempt()
        except ProgramError as error:
            self.found.append(diagnose(error.code, error.message, span, file.shown, error.hint))
            return None

    def _import(self, node: ast.Import, importer: _File) -> Module | None:
        return self._reporting(importer, node.path.span, lambda: self._imported(node.path, importer))

    def _imported(self, written: ast.Template, importer: _File) -> Module | None:
        if written.literal is None:
            raise ProgramError("E0402", "the path of an import is written out, without @{…}", 'import "lib.rkv" as lib')
        path = _resolved(written.literal, importer)
        if path in self.open:
            ring = " -> ".join(str(open_path) for open_path in [*self.open[self.open.index(path) :], path])
            raise ProgramError("E0308", f"modules import one another in a circle: {ring}", "part what both need")
        if path not in self.known:
            self.known[path] = self._loaded(path, importer)
        return self.known[path]

    def _loaded(self, path: PurePosixPath, importer: _File) -> Module | None:
        from frontend_lang.checker import check

        if importer.depth == MAX_IMPORT_DEPTH:
            raise ProgramError("E0308", f"imports nest more than {MAX_IMPORT_DEPTH} deep", "import the module directly")
        if len(self.known) + 1 >= MAX_MODULES:
            raise ProgramError("E0308", f"a program of more than {MAX_MODULES} modules", "put small modules together")
        shown = str(self.main.parent / path)
        module = self.module(self._text(path), _File(path, shown, importer.depth + 1))
        if module is not None:
            self.found += check(module)
        return module

    def _schemas(self, program: ast.Program, file: _File) -> Mapping[str, str]:
        texts: dict[str, str | None] = {}
        for written, span in _schema_files(program):
            if written not in texts:
                texts[written] = self._reporting(file, span, lambda path=written: self._text(_resolved(path, file)))  # type: ignore[misc]
        return {written: text for written, text in texts.items() if text is not None}

    def _text(self, path: PurePosixPath) -> str:
        """A text: at most one character more than a source may have, by which the limit is noticed."""
        try:
            with self.texts.open(str(path)) as stream:
                return stream.read(MAX_SOURCE_BYTES + 1)
        except UnicodeDecodeError as error:
            raise refused(str(path), f"it is not UTF-8 text (byte {error.start})") from error
        except ProgramError as error:
            if error.hint is None and path.name and not path.suffix and self._is_given(path.with_suffix(".rkv")):
                error.hint = f'did you mean "{path}.rkv"?'
            raise

    def _is_given(self, path: PurePosixPath) -> bool:
        try:
            self.texts.open(str(path)).close()
        except ProgramError:
            return False
        return True


def _resolved(written: str, importer: _File) -> PurePosixPath:
    """The path within the source of texts. Raises E0703."""
    return inner_path(str(importer.path.parent / written.replace("\\", "/")) if written.strip() else "")


def _imports(program: ast.Program) -> Iterator[ast.Import]:
    return (node for node in program.statements if isinstance(node, ast.Import))


def _schema_files(program: ast.Program) -> Iterator[tuple[str, ast.Span]]:
    """Each `schema(file='…')`: the path as written, and where."""
    for node in ast.walk(program):
        if isinstance(node, ast.BoundedType) and node.name == "schema":
            for option in node.options:
                if option.name == "file" and isinstance(option.value, ast.Template) and option.value.literal:
                    yield option.value.literal, option.value.span
