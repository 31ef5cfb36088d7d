"""The table of diagnostic codes: code -> title and one line on it; docs/language-reference.md shows it too."""

from __future__ import annotations

from types import MappingProxyType
from typing import NamedTuple


class CodeInfo(NamedTuple):
    """What a code means, whatever the single case says."""

    title: str
    explanation: str


CODES = MappingProxyType(
    {
        "E0101": CodeInfo("unclosed text", "A quote or a fence of quotes opens text that never ends."),
        "E0102": CodeInfo("unexpected character", "A character that has no meaning at this place."),
        "E0103": CodeInfo("bad escape", r'In "…" only \n \t \" \\ and \u{…} are escapes.'),
        "E0104": CodeInfo("unclosed @{", "The expression of @{…} has no closing brace in this text."),
        "E0105": CodeInfo("not Unicode text", "The source contains half of a surrogate pair, which is no character."),
        "E0201": CodeInfo("syntax error", "The program cannot go on like this here."),
        "E0202": CodeInfo("unclosed bracket", "A brace, bracket or parenthesis that is never closed."),
        "E0203": CodeInfo(
            "expression without effect", "Only text and calls can stand alone; often a mistyped keyword."
        ),
        "E0204": CodeInfo("missing ;", "Two statements on one line are separated by a semicolon."),
        "E0205": CodeInfo("keyword as a variable", "A keyword cannot be assigned to or read as a variable."),
        "E0206": CodeInfo(
            "statement in the wrong place", "def, param, type, tool, import and test stand at top level."
        ),
        "E0299": CodeInfo("not in this version", "Part of the language, but not built yet."),
        "E0301": CodeInfo("unknown name", "Nothing with this name is declared here."),
        "E0302": CodeInfo("declared twice", "The name is declared more than once at the same place."),
        "E0303": CodeInfo("unknown option", "The construct has no option of this name."),
        "E0304": CodeInfo("not callable", "Only a def or a builtin can be called, used or join branches."),
        "E0305": CodeInfo("assignment without let", "`=` changes a declared name; `let` declares one."),
        "E0306": CodeInfo("no entry", "Nothing says which def to run."),
        "E0307": CodeInfo("wrong arguments", "The call does not fit the parameters."),
        "E0308": CodeInfo("circular import", "Modules import one another in a circle, too deep, or too many of them."),
        "E0309": CodeInfo("given twice", "The same option, argument, key or branch name is given more than once."),
        "E0310": CodeInfo("yield outside a branch", "`yield` ends a branch of a fork or map; a def uses `return`."),
        "E0311": CodeInfo("not in a loop", "`break` and `continue` belong to for or repeat."),
        "E0312": CodeInfo("outer name assigned in a branch", "A branch reads outer names but cannot change them."),
        "E0314": CodeInfo("jump out of a branch", "`return`, `break` and `continue` cannot leave a branch."),
        "E0315": CodeInfo("wrong join", "The join policy does not take, or lacks, its `by`."),
        "E0316": CodeInfo("role inside a role", "A role is closed before another one opens."),
        "E0317": CodeInfo("not exported", "The module has no def, type or tool of this name."),
        "E0318": CodeInfo(
            "tool without implementation", "A tool is declared that the host of this run does not provide."
        ),
        "E0401": CodeInfo("value out of range", "The option does not take this value."),
        "E0402": CodeInfo("wrong type", "The value can never have the type that is needed here."),
        "E0403": CodeInfo("unknown type", "No type has this name."),
        "E0404": CodeInfo("index out of range", "A list or str has no item at this index."),
        "E0405": CodeInfo("no such field", "The record has no field of this name."),
        "E0406": CodeInfo("not parseable", "The text is no number or JSON, or the value has no JSON form."),
        "E0407": CodeInfo("division by zero", "The right side of /, // or % is zero."),
        "E0408": CodeInfo("number out of range", "An int has at most 64 bits, a float about 308 digits."),
        "E0410": CodeInfo("empty list", "mean, min and max need at least one item."),
        "E0501": CodeInfo("source too large", "A program has at most 256 KiB."),
        "E0502": CodeInfo("nested too deeply", "Blocks and expressions nest at most 64 deep."),
        "E0503": CodeInfo("over a static limit", "A count written in the program is beyond what a run may do."),
        "E0504": CodeInfo("bad pattern or schema", "The pattern, JSON schema or grammar cannot be read."),
        "E0505": CodeInfo(
            "constraint too costly", "The pattern, schema or type needs more time or memory than a constraint may."
        ),
        "E0506": CodeInfo(
            "schema keyword not supported",
            "JSON Schema has the keyword, constrained generation has not; nothing is dropped silently.",
        ),
        "E0507": CodeInfo("circular type", "The type contains itself in a way that has no end."),
        "E0601": CodeInfo("generation failed", "The runtime could not generate, or refused to."),
        "E0602": CodeInfo("chat template refused", "The model's chat template does not take these roles."),
        "E0603": CodeInfo("until never held", "No attempt met the condition; `tries` says how many there are."),
        "E0604": CodeInfo("assertion failed", "The condition of an assert is false."),
        "E0605": CodeInfo("no branch succeeded", "The join needs at least one branch that succeeds."),
        "E0606": CodeInfo("context too long", "The context does not fit the model or its memory."),
        "E0607": CodeInfo("nothing to select", "select needs options that are not empty."),
        "E0608": CodeInfo("no distribution", "probs takes a name that select has bound."),
        "E0609": CodeInfo(
            "text does not fit its type", "What was generated is no value of the type, mostly since `max` cut it off."
        ),
        "E0610": CodeInfo("failed by the program", "The program ended itself with `fail`."),
        "E0611": CodeInfo(
            "no such detail",
            "raw, prob, logprob, tokens and finish take a name that gen or select has bound, and what was asked for.",
        ),
        "E0701": CodeInfo("runtime failed", "The runtime raised an error that it does not explain."),
        "E0702": CodeInfo("context misused", "The runtime was asked for something that this context cannot do."),
        "E0703": CodeInfo("file not given", "The host gives the program no file of this name."),
        "E0704": CodeInfo("tool failed", "The host's tool raised an error or gave a value that does not fit."),
        "E0705": CodeInfo("bad data", "A row of a data file cannot be read."),
        "E0801": CodeInfo("stopped", "The runtime was closed or the run was cancelled."),
        "E0802": CodeInfo("run took too long", "The run's wall-clock limit is over."),
        "E0803": CodeInfo("timeout", "A gen or a fork took longer than its timeout."),
        "E0804": CodeInfo("too many steps", "The run has executed more steps than its limit."),
        "E0805": CodeInfo("too many rounds", "A loop has more rounds than the limit."),
        "E0806": CodeInfo("calls too deep", "Calls of defs are nested deeper than the limit."),
        "E0807": CodeInfo("too many branches", "The run has forked more branches than the limit."),
        "E0808": CodeInfo("value too large", "A string, a list or the nesting of a value is beyond its limit."),
        "E0809": CodeInfo("token budget spent", "The run has used all tokens that it may."),
        "E0810": CodeInfo("loop already running", "The sync call was made inside a running event loop."),
        "E0811": CodeInfo("too many tool calls", "The run has called more tools than its limit."),
        "W0206": CodeInfo("name shadows a keyword", "The name is also a keyword, which makes it awkward to use."),
        "W0211": CodeInfo("text swallows a brace", "Text after a colon runs to the end of the line, braces included."),
        "W0212": CodeInfo("call across lines", "A line that starts with ( or [ goes on the expression before it."),
        "W0213": CodeInfo(
            "text swallows a statement", "Text after a colon runs to the end of the line, statements included."
        ),
        "W0301": CodeInfo("name may have no value", "A `try` declares the name, and may have failed before it."),
        "W0304": CodeInfo("name of a builtin", "A builtin has this name too, which confuses readers."),
        "W0305": CodeInfo("roles and bare text mixed", "A context is either a chat or plain text to complete."),
        "W0308": CodeInfo("result depends on timing", "`join first` takes whichever branch is ready first."),
        "W0313": CodeInfo("never reached", "The statement before always leaves the block."),
        "W0402": CodeInfo("trailing space before gen", "Many tokenizers sample badly after a space."),
    }
)
