"""Random programs of calls, gens, selects, forks, maps and texts that refer to one another."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

DEFS = """def ask(x) -> str { user x
assistant gen a
return a }
def pair(x, y) -> str { let p = ask(x)
user "@{y}"
assistant gen q
"(@{p})"
gen r
return "@{p}@{r}" }
def part(x) { "[@{x}]"
gen own
"@{own}" }
"""


def _statement(names: Sequence[str], new: str, draw: st.DrawFn, depth: int, context: bool) -> list[str]:
    """Statements that bind `new`; with `context` they may append to it."""
    name = st.sampled_from(names)
    one, two = draw(name), draw(name)
    choices = [
        f'let {new} = ask("@{{{one}}}")',
        f'let {new} = pair({one}, "@{{{two}}}x")',
        f'let {new} = "@{{{one}}}-@{{{two}}}"',
        f'let {new} = concat([ask(x) for x in [{one}, {two}]], "+")',
        f"let {new} = if {one} == {two} then {one} else ask({two})",
        f'let {new} = map m in [{one}, {two}] {{ yield ask("m@{{m}}") }}',
    ]
    if context:
        choices += [
            f'"@{{{one}}}"\ngen {new} with max=3',
            f'"s"\nselect {new} from ["@{{{one}}}a", "@{{{two}}}b"]',
            f"gen {new} until {new} != {one}",
            f'let {new} = "u"\nuse part({one})',
        ]
    if depth > 0:
        body = "\n".join(_body([*names, "i"], f"{new}_", draw, depth - 1, 2))
        last = draw(st.sampled_from([f"yield {new}_0", f"yield {one}", f'"@{{{new}_0}}"']))
        join = draw(st.sampled_from(["", "join all", "join vote", "join concat by ';'", "join best by len(str(i))"]))
        keep = draw(st.sampled_from(["", " keep"])) if context and join else ""
        choices += [f"let {new} = fork 2 as i {{\n{body}\n{last} }} {join}{keep}"] * 4
    return [draw(st.sampled_from(choices))]


def _body(names: Sequence[str], prefix: str, draw: st.DrawFn, depth: int, most: int) -> list[str]:
    known, lines = list(names), ['"t"']
    for index in range(draw(st.integers(1, most))):
        new = f"{prefix}{index}"
        lines += _statement(known, new, draw, depth, context=True)
        known.append(new)
    return lines


@st.composite
def programs(draw: st.DrawFn, *, depth: int = 2, most: int = 5) -> str:
    """A program that runs to its end, whatever the model answers."""
    lines = ['let s = "s"', *_body(["s"], "v", draw, depth, most)]
    return DEFS + "\n".join(lines) + "\nreturn [v0, s]"
