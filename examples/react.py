"""An agent, as in react.rkv: it thinks, calls a tool, reads what came back, until it finishes.

python examples/react.py "What is 12 * 7?"
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from frontend_lang import ProgramError, State, fence, gen, prompt, use_runtime
from radixkv.programs import local_runtime

sys.path.append(str(Path(__file__).parent))
from react_tools import calc, wiki


@dataclass
class Step:
    thought: Annotated[str, msgspec.Meta(max_length=120)]
    act: Literal["wiki", "calc", "finish"]
    input: Annotated[str, msgspec.Meta(max_length=60)]


@prompt(tools=[wiki, calc])
async def react(s: State, q: str = "What is 12 * 7?") -> dict[str, Any]:
    s.system("Answer by steps. Each step is JSON: thought, act (wiki, calc or finish), input.")
    s.user(q)
    for turn in range(5):
        s.assistant(gen("step", type=Step, max=140, temp=0.3))
        step = await s["step"]
        if step.act == "finish":
            return {"answer": step.input, "steps": turn + 1}
        try:
            s.user(f"Observation: {fence(await s.invoke(step.act, step.input))}")
        except ProgramError as problem:
            s.user(f"Observation: error {problem.code}: {problem.message}")
    return {"answer": None, "steps": 5}


if __name__ == "__main__":
    with local_runtime() as runtime, use_runtime(runtime):
        print(react(*sys.argv[1:]))
