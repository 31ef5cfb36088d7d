"""`radixkv generate`: one completion, streamed."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from radixkv.cli.program_source import read_stdin
from radixkv.cli.settings import engine_settings
from radixkv.cli.terminal import print_json, say
from radixkv.constraint import Constraint, JsonSchema, Regex
from radixkv.request import Completion, SamplingParams

if TYPE_CHECKING:
    from radixkv.engine import CompletionDelta, Engine


@click.command("generate")
@click.argument("prompt", required=False)
@click.option("--temperature", type=float, default=0.0, show_default=True, help="0 takes the likeliest token.")
@click.option("--max-tokens", type=int, default=256, show_default=True, help="Tokens to generate at most.")
@click.option("--top-p", type=float, default=1.0, help="Keep the likeliest tokens of this much probability.")
@click.option("--top-k", type=int, default=0, help="Keep this many tokens; 0: all.")
@click.option("--stop", multiple=True, help="End at this text (not printed); may be given several times.")
@click.option("--chat", is_flag=True, help="Put the prompt into the model's chat template as a user message.")
@click.option("--n", type=int, default=1, help="Number of completions.")
@click.option("--logprobs", type=int, help="With --json: log-probability of each token and of this many others.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--regex", metavar="REGEX", help="The text matches this whole.")
@click.option("--json-schema", metavar="FILE|JSON", help="The text is compact JSON valid under this schema.")
@engine_settings
def command(prompt: str | None, as_json: bool, chat: bool, **settings: Any) -> None:
    """Continue PROMPT (or stdin), streaming the text.

    The prompt is plain text: special tokens spelled out in it, such as <|im_start|>, are text too. --chat applies the
    model's chat template.

    \b
    radixkv generate "The capital of France is"
    echo "Name three colours." | radixkv generate --chat --max-tokens 40
    radixkv generate "The year of the moon landing: " --regex "19[0-9]{2}"
    """
    constraint = _constraint(settings["regex"], settings["json_schema"])
    text = prompt if prompt is not None else _stdin()
    sampling = sampling_params(settings)
    _check_options(sampling, as_json)
    from radixkv.cli.session import with_engine

    show = _print_delta if sampling.n == 1 and not as_json else None
    generate = partial(_generate, _prompt(text, chat), sampling, constraint, show)
    completion, timing, model = with_engine(settings, generate)
    if as_json:
        print_json(_to_dict(completion, timing, model, sampling))
    else:
        _present(completion, streamed=show is not None, drawn=settings["seed"] is None and not sampling.greedy)


def _constraint(regex: str | None, schema: str | None) -> Constraint | None:
    """What the text must be. Raises click.UsageError for two constraints at once and for a file that cannot be read."""
    if regex is not None and schema is not None:
        raise click.UsageError("--regex and --json-schema: give only one of them", click.get_current_context())
    if regex is not None:
        return Regex(regex)
    return None if schema is None else JsonSchema(_schema_text(schema))


def _schema_text(given: str) -> str:
    """JSON text as it was given, of whatever kind, or the text of a file."""
    if given.lstrip().startswith(("{", "[", '"')) or given.strip() in ("true", "false"):
        return given
    try:
        return Path(given).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        if _is_json(given):  # `3` may be a file, and else is JSON, which is told what a schema is
            return given
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        message = f"--json-schema: {given!r} is neither JSON nor a file that can be read ({reason})"
        raise click.UsageError(message, click.get_current_context()) from error


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _check_options(sampling: SamplingParams, as_json: bool) -> None:
    if sampling.logprobs is not None and not as_json:
        raise click.UsageError("--logprobs: only the JSON form shows them; add --json", click.get_current_context())
    if sampling.greedy and sampling.n > 1:
        say(f"note: at temperature 0 all {sampling.n} completions are equal; raise --temperature", err=True)


def sampling_params(settings: dict[str, Any]) -> SamplingParams:
    """The sampling options of the command. Raises InvalidRequest."""
    names = ("temperature", "max_tokens", "top_p", "top_k", "n", "logprobs", "seed")
    return SamplingParams(stop=tuple(settings["stop"]), **{name: settings[name] for name in names})


def _stdin() -> str:
    if sys.stdin.isatty():
        raise click.UsageError("no prompt: give it as an argument or on stdin", click.get_current_context())
    return read_stdin("prompt")


def _prompt(text: str, chat: bool) -> Any:
    if not chat:
        return text
    from radixkv.tokenizer import Message

    return [Message("user", text)]


async def _generate(
    prompt: Any,
    sampling: SamplingParams,
    constraint: Constraint | None,
    show: Callable[[int, str], None] | None,
    engine: Engine,
) -> tuple[Completion, dict[str, float], str]:
    """The completion, its timing, and the model's name."""
    start = time.perf_counter()
    stream = engine.stream(prompt, sampling, constraint=constraint)
    completion, first = await _read(stream, show)
    timing = {"wall_s": round(time.perf_counter() - start, 4), "ttft_s": round(first - start, 4)}
    return completion, timing, engine.model.files.name


def _present(completion: Completion, *, streamed: bool, drawn: bool) -> None:
    from radixkv.cli.session import tell_seed

    if streamed:
        click.echo()
    else:
        for choice in completion.choices:
            say(f"[{choice.index}] {choice.text}")
    if drawn:
        tell_seed(completion.seed)


async def _read(
    stream: AsyncGenerator[CompletionDelta | Completion, None], show: Callable[[int, str], None] | None
) -> tuple[Completion, float]:
    """The completion, and when its first token came."""
    first: float | None = None
    async with aclosing(stream) as events:
        async for event in events:
            first = first or time.perf_counter()
            if isinstance(event, Completion):
                return event, first
            if show is not None and event.text:
                show(event.choice, event.text)
    raise RuntimeError("the stream ended without a completion")


def _print_delta(_choice: int, text: str) -> None:
    say(text, end="")


def _to_dict(
    completion: Completion, timing: dict[str, float], model: str, sampling: SamplingParams
) -> dict[str, object]:
    first = completion.choices[0]
    result: dict[str, object] = {
        "text": first.text,
        "usage": asdict(completion.usage),
        "timing": timing,
        "finish_reason": first.finish_reason.value,
        "model": model,
        "seed": completion.seed,
    }
    if sampling.logprobs is not None:
        result["logprobs"] = [asdict(entry) for entry in first.logprobs or ()]
    if sampling.n > 1:
        result["choices"] = [
            {"text": choice.text, "finish_reason": choice.finish_reason.value, "seed": completion.seed}
            for choice in completion.choices
        ]
    return result
