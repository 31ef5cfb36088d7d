"""The sync engine, for scripts and notebooks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Self, TypeVar

from radixkv.config import DEFAULT_MODEL, engine_config
from radixkv.engine.engine import GREEDY, Engine
from radixkv.engine.prompts import Prompt
from radixkv.engine.startup import Notify, ProgressReport
from radixkv.engine.tasks import gather_or_cancel
from radixkv.errors import EngineClosed, InvalidRequest
from radixkv.request import Completion, SamplingParams
from radixkv.tokenizer import Message

Result = TypeVar("Result")
Prompts = str | Sequence[Prompt]


class LLM:
    """A model to call: `LLM().generate("The sky is")[0].text`.

    `settings` are those of EngineConfig and SchedulerConfig by name (`kv_memory` may be text such as "2GiB");
    `progress` and `notify` are those of Engine.start.
    Works inside a running event loop too, as in notebooks, since it has a loop of its own in a thread.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        progress: ProgressReport | None = None,
        notify: Notify | None = None,
        **settings: Any,
    ) -> None:
        self.engine = Engine.start(engine_config(model, settings), progress=progress, notify=notify)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="radixkv-llm", daemon=True)
        self._thread.start()

    def generate(
        self, prompts: Prompts, sampling: SamplingParams | Sequence[SamplingParams] | None = None
    ) -> list[Completion]:
        """Complete one prompt or several at once; the completions in order.

        A prompt is a text or token ids. `sampling`: one for all or one each; greedy when left out. Ctrl-C, or the
        failure of one, aborts all. Raises InvalidRequest, RequestFailed, EngineClosed.
        """
        return self._run(self._generate(_prompt_list(prompts), sampling))

    def chat(
        self, messages: Sequence[Message | Mapping[str, str]], sampling: SamplingParams | None = None
    ) -> Completion:
        """The assistant's answer to a conversation, by the model's chat template. Raises ChatTemplateError too."""
        return self._run(self.engine.submit([_message(message) for message in messages], sampling or GREEDY))

    def close(self) -> None:
        """Give everything back; harmless when done before."""
        self.engine.close_now()
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    async def _generate(
        self, prompts: Sequence[Prompt], sampling: SamplingParams | Sequence[SamplingParams] | None
    ) -> list[Completion]:
        each = _sampling_list(sampling, len(prompts))
        return await gather_or_cancel(
            self.engine.submit(prompt, params) for prompt, params in zip(prompts, each, strict=True)
        )

    def _run(self, coroutine: Coroutine[Any, Any, Result]) -> Result:
        if self._loop.is_closed():
            coroutine.close()
            raise EngineClosed("the engine is closed")
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _prompt_list(prompts: Prompts) -> Sequence[Prompt]:
    """Several prompts from one or several: a text and a list of ids are one."""
    if isinstance(prompts, str):
        return [prompts]
    if len(prompts) and isinstance(prompts[0], int):
        return [prompts]  # type: ignore[list-item]
    return prompts


def _sampling_list(sampling: SamplingParams | Sequence[SamplingParams] | None, count: int) -> Sequence[SamplingParams]:
    if sampling is None or isinstance(sampling, SamplingParams):
        return [sampling or GREEDY] * count
    if len(sampling) != count:
        raise InvalidRequest("sampling", f"{len(sampling)} entries", f"one, or one for each of {count} prompts")
    return sampling


def _message(message: Message | Mapping[str, str]) -> Message:
    if isinstance(message, Message):
        return message
    if set(message) != {"role", "content"} or not all(isinstance(value, str) for value in message.values()):
        raise InvalidRequest("messages", message, "objects with the texts `role` and `content`")
    return Message(message["role"], message["content"])
