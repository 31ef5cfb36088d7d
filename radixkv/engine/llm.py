"""The sync engine, for scripts and notebooks."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, Self

from radixkv.config import DEFAULT_MODEL, engine_config
from radixkv.constraint import Constraint
from radixkv.engine.engine import GREEDY, Engine
from radixkv.engine.loop_thread import LoopThread
from radixkv.engine.prompts import Prompt, checked_message, is_message, is_token_id, plain_list
from radixkv.engine.startup import Notify, ProgressReport
from radixkv.engine.tasks import gather_or_cancel
from radixkv.errors import InvalidRequest
from radixkv.request import Completion, SamplingParams
from radixkv.tokenizer import Message

Prompts = str | Sequence[Prompt]


class LLM:
    """A model to call: `LLM().generate("The sky is")[0].text`.

    `settings` are those of EngineConfig and SchedulerConfig by name (`kv_memory` may be text such as "2GiB");
    `progress` and `notify` are those of Engine.start.
    Works inside a running event loop too, as in notebooks, since it has a loop of its own in a thread. May be called
    from several threads. Left without `close`, it ends with the object.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = DEFAULT_MODEL,
        *,
        progress: ProgressReport | None = None,
        notify: Notify | None = None,
        **settings: Any,
    ) -> None:
        self.engine = Engine.start(engine_config(model, settings), progress=progress, notify=notify)
        self._loop = LoopThread("radixkv-llm")
        weakref.finalize(self, self._loop.abandon)

    def generate(
        self,
        prompts: Prompts,
        sampling: SamplingParams | Sequence[SamplingParams] | None = None,
        *,
        constraint: Constraint | None = None,
    ) -> list[Completion]:
        """Complete one prompt or several at once; the completions in order.

        A prompt is a text or token ids (messages: see `chat`). `sampling`: one for all or one each; greedy when left
        out. `constraint`: what every text must be. Ctrl-C, or the failure of one, aborts all. Raises InvalidRequest
        (ConstraintError too), RequestFailed, and EngineClosed, also when another thread closes the engine meanwhile.
        """
        return self._loop.run(self._generate(_prompt_list(prompts), sampling, constraint))

    def chat(
        self,
        messages: Sequence[Message | Mapping[str, str]],
        sampling: SamplingParams | None = None,
        *,
        constraint: Constraint | None = None,
    ) -> Completion:
        """The assistant's answer to a conversation, by the model's chat template. Raises ChatTemplateError too."""
        items = plain_list("messages", messages, "a list of messages")
        if not items:
            raise InvalidRequest("messages", messages, "at least one message")
        checked = [checked_message(f"messages[{index}]", item) for index, item in enumerate(items)]
        params = GREEDY if sampling is None else sampling
        return self._loop.run(self.engine.submit(checked, params, constraint=constraint))

    def close(self) -> None:
        """Give everything back; calls that other threads are in raise EngineClosed. Harmless when done before."""
        self.engine.close_now()
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def _generate(
        self,
        prompts: Sequence[Prompt],
        sampling: SamplingParams | Sequence[SamplingParams] | None,
        constraint: Constraint | None,
    ) -> list[Completion]:
        each = _sampling_list(sampling, len(prompts))
        return await gather_or_cancel(
            self.engine.submit(prompt, params, constraint=constraint)
            for prompt, params in zip(prompts, each, strict=True)
        )


def _prompt_list(prompts: Prompts) -> Sequence[Prompt]:
    """Several prompts from one or several: a text and a list of ids are one."""
    if isinstance(prompts, str):
        return [prompts]
    items = plain_list("prompts", prompts, "a text, token ids, or a list of such prompts")
    if items and is_message(items[0]):
        raise InvalidRequest("prompts", prompts, "texts or token ids; `chat` takes messages")
    return [items] if items and is_token_id(items[0]) else items


def _sampling_list(sampling: SamplingParams | Sequence[SamplingParams] | None, count: int) -> Sequence[SamplingParams]:
    if sampling is None or isinstance(sampling, SamplingParams):
        return [sampling or GREEDY] * count
    if not isinstance(sampling, list | tuple):
        raise InvalidRequest("sampling", sampling, "a SamplingParams, or a list of them")
    if len(sampling) != count:
        raise InvalidRequest("sampling", f"{len(sampling)} entries", f"one, or one for each of {count} prompts")
    return sampling
