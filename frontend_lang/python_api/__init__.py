"""Prompt programs as Python functions.

from frontend_lang import gen, prompt, use_runtime

@prompt
def ask(s, question: str) -> str:
s.user(question)
s.assistant(gen("answer", max=60))
return s["answer"]

with use_runtime(runtime):
ask("Why is the sky blue?")
"""
