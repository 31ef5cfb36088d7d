"""What a scripted runtime is made of, looked at when it is made: each error says what was expected."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence

from frontend_lang.runtime import RuntimeFailure

MAX_SHOWN = 60  # characters of a value in a message
_ANSWERS = "a list of texts, or a function of prompt and call"
_BY_NAME = "a runtime does not know the names of gens; a program's tests do: test … with mock={…}"


def check_answers(answers: object) -> None:
    """Raise TypeError unless it is a list of texts, or a function `(prompt, call) -> text`."""
    if callable(answers):
        _check_function("answers", answers, "prompt", "call")
    elif isinstance(answers, str):
        raise TypeError(f"answers={_shown(answers)}, expected {_ANSWERS}: one answer is [{_shown(answers)}]")
    elif isinstance(answers, Mapping):
        raise TypeError(f"answers={_shown(answers)}, expected {_ANSWERS}: {_BY_NAME}")
    elif isinstance(answers, Sequence) and not isinstance(answers, (bytes, bytearray)):
        for index, answer in enumerate(answers):
            if not isinstance(answer, str):
                raise TypeError(f"answers[{index}]={_shown(answer)}, expected a text: {_as_written(answer)}")
    else:
        raise TypeError(f"answers={_shown(answers)}, expected {_ANSWERS}: {_listed(answers)}")


def check_scores(scores: object) -> None:
    """Raise TypeError unless it is None, numbers by option, or a function `(prompt, options) -> numbers`."""
    if callable(scores):
        _check_function("scores", scores, "prompt", "options")
    elif isinstance(scores, Mapping):
        for option, score in scores.items():
            if not isinstance(option, str) or not _is_score(score):
                raise TypeError(f"scores[{_shown(option)}]={_shown(score)}, expected a number for an option's text")
    elif scores is not None:
        expected = "a dict of numbers by option, or a function of prompt and options"
        raise TypeError(f"scores={_shown(scores)}, expected {expected}: scores={{'yes': 0, 'no': -1}}")


def check_hooks(delay: object, on_call: object) -> None:
    """Raise TypeError unless each is None or a function that can be called."""
    if delay is not None:
        _check_function("delay", delay, "verb", "context")
    if on_call is not None:
        _check_function("on_call", on_call, "count", "verb")


def as_answer(given: object, index: int) -> str:
    """What a function gave to the generation of this index. Raises E0601 if it is no text."""
    if isinstance(given, str):
        return given
    raise RuntimeFailure("E0601", f"the script gave {_shown(given)} to generation {index + 1}, expected a text")


def as_scores(given: object, count: int) -> Sequence[float]:
    """What a function gave to so many options. Raises E0601 if it is not as many numbers."""
    if isinstance(given, Sequence) and len(given) == count and all(map(_is_score, given)):
        return given
    raise RuntimeFailure(
        "E0601", f"the script's scores gave {_shown(given)}, expected {count} numbers, one for each option"
    )


def _is_score(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _check_function(name: str, function: object, *parameters: str) -> None:
    called = ", ".join(parameters)
    if not callable(function):
        raise TypeError(f"{name}={_shown(function)}, expected a function of {' and '.join(parameters)}")
    if inspect.iscoroutinefunction(function):
        raise TypeError(f"{name} is an async function, expected a plain one: def {name}({called})")
    try:
        inspect.signature(function).bind(*parameters)
    except ValueError:  # a function of C that does not tell its parameters
        return
    except TypeError as error:
        message = f"{name} cannot be called with {called} ({error}): lambda {called}: …"
        raise TypeError(message) from None


def _as_written(answer: object) -> str:
    """What to write for an answer that is no text."""
    try:
        return f"a model would write {_shown(json.dumps(answer, ensure_ascii=False))}"
    except (TypeError, ValueError):
        return "what a model would write"


def _listed(answers: object) -> str:
    return f"one answer is [{_shown(str(answers))}]" if _is_score(answers) else "['first answer', 'second answer']"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
