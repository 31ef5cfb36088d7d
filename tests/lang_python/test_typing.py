"""What a type checker sees of the API."""

from __future__ import annotations

from pathlib import Path

from mypy import api

PROGRAM = """
from collections.abc import Sequence
from frontend_lang import Prompt, ScriptedRuntime, State, gen, prompt, select, tool, use_runtime

@tool
async def wiki(q: str) -> str:
    return q

@prompt
def one(s: State, q: str, n: int = 1) -> int:
    s.user(q, gen("a"))
    with s.assistant():
        s += select("v", ["a", "b"])
    s += s["a"]
    return int(s["v"])

@prompt(tools=[wiki])
async def two(s: State) -> Sequence[str]:
    s.set(temp=0)
    return [await s["a"], await s.invoke("wiki", "q"), str(await one.a("q"))]

runtime = ScriptedRuntime([])
reveal_type(one("q"))
reveal_type(one("q", runtime=runtime, seed=1))
reveal_type(two())
async def main() -> None:
    reveal_type(await one.a("q", n=2))
    reveal_type(await two.a())
    async for event in one.a.stream("q"):
        reveal_type(event.event)
reveal_type(one.run("q").value)
async def second() -> None:
    reveal_type((await one.a.run("q")).value)
with use_runtime(runtime) as chosen:
    one("q")
one(3)
one("q", m=2)
"""


def test_types_of_prompts_are_those_of_their_functions(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    out, err, _ = api.run(["--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"), str(program)])
    assert err == ""
    revealed = [line.split('"')[1] for line in out.splitlines() if "Revealed type" in line]
    assert [kind.replace("builtins.", "").replace("typing.", "") for kind in revealed] == [
        "int",
        "int",
        "Sequence[str]",
        "int",
        "Sequence[str]",
        "str",
        "int",
        "int",
    ]
    errors = [line for line in out.splitlines() if ": error:" in line]
    assert len(errors) == 2, out
    assert all('"__call__" of "Runnable"' in error or "No overload" in error for error in errors)
