"""From source text to the same program in the one layout."""

from __future__ import annotations

from frontend_lang.formatting.printer import Printer
from frontend_lang.formatting.statements import StatementLayout
from frontend_lang.syntax.parser import grammar, parse


def format_source(source: str, file: str = "<string>") -> str:
    """The program with one statement a line, two spaces a block, at most one empty line; text and comments as they are.

    A block that stands on one line, and fits 100 columns, stays there; so does a list, record or call that does not
    begin with a newline. Line endings become single newlines, a byte-order mark goes. Formatting the result changes
    nothing, and it parses to the same tree. Time grows with the length of the source.

    Raises ProgramRejected with the diagnostics if the source does not parse.
    """
    from frontend_lang import ProgramRejected

    parsed = parse(source, file)
    if parsed.program is None:
        raise ProgramRejected(parsed.diagnostics)
    layout = StatementLayout(parsed.source)
    return Printer().print(layout.program(grammar(complete=True).parse(parsed.source, "start")))
