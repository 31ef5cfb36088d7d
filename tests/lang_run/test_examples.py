"""Whole programs of the language's documentation, checked and run on scripted answers."""

from __future__ import annotations

import frontend_lang
from frontend_lang import RunResult
from frontend_lang.scripted import ScriptedCall, ScriptedRuntime

CHAT = """param city: str = "Oslo"
system: You are a terse guide. Don't use {braces} or "quotes"... or do, it's just text.
user: What should I see in @{city}?
assistant gen reply with max=120
"""

SENTIMENT = """def sentiment(review: str) -> str {
  line: Label each review as positive, negative or mixed.
  for s in [{t: "Loved it", l: "positive"}, {t: "Broke in a day", l: "negative"}] {
    line "Review: @{s.t}\\nLabel: @{s.l}"
  }
  line: Review: @{review}
  "Label:"
  select label from [" positive", " negative", " mixed"]
  return strip(label)
}
"""

TOT = """def promise(task: str, step: str) -> float {
  user "Task: @{task}\\nStep: @{step}\\nWill this lead to a solution?"
  assistant select v from ["yes", "maybe", "no"]
  return probs(v)["yes"] + 0.5 * probs(v)["maybe"]
}
def tot(task: str, depth: int = 3) -> str {
  user "@{task}\\nWork in small numbered steps."
  assistant {
    repeat depth {
      fork 4 with temp=0.9 { gen step with max=80, stop="\\n"; "\\n" } join best by promise(task, step) keep
    }
    "Final answer: "; gen answer with max=60
  }
  return answer
}
"""

SKELETON = """param question: str
user "@{question}\\nGive 3 to 6 very short points, one per line."
assistant gen outline with max=100
let points = [strip(p) for p in split(outline, "\\n") if strip(p) != ""]
return fork p in points with width=6, max=150 {
  user: Write two sentences on: @{p}
  assistant gen t
  yield "## @{p}\\n@{t}"
} join concat by "\\n\\n"
"""

JUDGE = """def judge(essay: str) -> json {
  system: You are a strict editor.
  user essay
  let marks = fork d in ["clarity", "evidence", "style"] {
    user: Judge the @{d} in one sentence, then a score from 1 to 5.
    assistant { gen why with max=60, stop="\\n"; "\\nScore: "; select s from [1, 2, 3, 4, 5] }
    yield { dim: d, score: int(s), why: why }
  } join all
  user "Write a one-line verdict given:\\n@{json(marks)}"
  assistant gen verdict with max=60
  return { mean: mean([m.score for m in marks]), marks: marks, verdict: verdict }
}
"""

DEBATE = """def pick(r: json) -> str { return if len(r.pro) >= len(r.con) then r.pro else r.con }
def debate(claim: str) -> str {
  user: Claim: @{claim}
  return fork {
    pro { user "Argue for it."; assistant gen t with max=80; yield t }
    con { user "Argue against it."; assistant gen t with max=80; yield t }
  } join pick
}
"""

INTERVIEW = """param questions: list[str]
system: You are Ada Lovelace. Two sentences per answer.
let log = []
for q in questions as i {
  user q
  assistant gen a with max=80
  log = log + [{ q: q, a: a }]
}
return log
"""


def play(source: str, runtime: ScriptedRuntime, args: dict[str, object], file: str) -> RunResult:
    """Check and run."""
    result = frontend_lang.run(source, args, runtime=runtime, file=file, seed=1)
    assert runtime.live == 0
    return result


def test_chat() -> None:
    runtime = ScriptedRuntime(["The fjord."])
    result = play(CHAT, runtime, {"city": "Bergen"}, "chat.rkv")
    assert (result.value, result.vars) == (None, {"reply": "The fjord."})
    system = "You are a terse guide. Don't use {braces} or \"quotes\"... or do, it's just text."
    asked = f"<|system|>{system}<|end|><|user|>What should I see in Bergen?<|end|><|assistant|>"
    assert runtime.prompts == [asked]


def test_sentiment() -> None:
    prompts: list[str] = []

    def scores(prompt: str, options: object) -> list[float]:
        prompts.append(prompt)
        return [0.0, 2.0, 1.0]

    result = play(SENTIMENT, ScriptedRuntime(scores=scores), {"review": "Meh."}, "sentiment.rkv")
    assert result.value == "negative"
    assert prompts[0].startswith(
        "Label each review as positive, negative or mixed.\nReview: Loved it\nLabel: positive\n"
    )
    assert prompts[0].endswith("Review: Meh.\nLabel:")


def test_tree_of_thoughts_goes_on_from_the_best_branch() -> None:
    def answer(prompt: str, call: ScriptedCall) -> str:
        if prompt.endswith("Final answer: "):
            return "42"
        return f"step {call.context}\nmore"

    def scores(prompt: str, options: object) -> list[float]:
        return [5.0, 0.0, 0.0] if "Step: step c3" in prompt or "Step: step c9" in prompt else [0.0, 0.0, 5.0]

    runtime = ScriptedRuntime(answer, scores=scores)
    result = play(TOT, runtime, {"task": "T", "depth": "2"}, "tot.rkv")
    assert result.value == "42"
    assert result.usage.forks == 8
    final = runtime.prompts[-1].removeprefix(
        "<|user|>T\nWork in small numbered steps.<|end|><|assistant|>step c3\nstep "
    )
    assert final.endswith("\nFinal answer: ")


def test_skeleton() -> None:
    def answer(prompt: str, call: ScriptedCall) -> str:
        return "One\n\n Two \n" if prompt.endswith("per line.<|end|><|assistant|>") else "text " + prompt[-23]

    result = play(SKELETON, ScriptedRuntime(answer), {"question": "Q?"}, "skeleton.rkv")
    assert isinstance(result.value, str)
    assert [part.split("\n")[0] for part in result.value.split("\n\n")] == ["## One", "## Two"]
    assert result.vars == {"outline": "One\n\n Two \n", "points": ["One", "Two"]}


def test_judge_reads_the_essay_once() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "Well said.\nNo.", scores={"4": 1.0})
    essay = "word " * 500
    result = play(JUDGE, runtime, {"essay": essay}, "judge.rkv")
    assert isinstance(result.value, dict)
    assert result.value["mean"] == 4.0
    marks = result.value["marks"]
    assert isinstance(marks, list)
    assert marks[1] == {"dim": "evidence", "score": 4, "why": "Well said."}
    assert '{"dim":"clarity","score":4,"why":"Well said."}' in runtime.prompts[-1]
    assert 500 < result.usage.computed_tokens < 700


def test_debate_with_a_custom_join() -> None:
    runtime = ScriptedRuntime(lambda prompt, call: "short" if "for it" in prompt else "a longer reply")
    assert play(DEBATE, runtime, {"claim": "x"}, "debate.rkv").value == "a longer reply"


def test_interview_grows_one_context_turn_by_turn() -> None:
    runtime = ScriptedRuntime(["A1", "A2"])
    result = play(INTERVIEW, runtime, {"questions": '["Q1", "Q2"]'}, "interview.rkv")
    assert result.value == [{"q": "Q1", "a": "A1"}, {"q": "Q2", "a": "A2"}]
    assert runtime.prompts[1].endswith("<|user|>Q1<|end|><|assistant|>A1<|end|><|user|>Q2<|end|><|assistant|>")
