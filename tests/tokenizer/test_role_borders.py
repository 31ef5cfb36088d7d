"""Opening and closing roles one at a time gives the template's text for the whole chat."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_templates import TEMPLATES
from radixkv.errors import ChatTemplateError
from radixkv.tokenizer import ChatTemplate, Message, Segment
from radixkv.tokenizer.added_tokens import AddedTokenFinder
from radixkv.tokenizer.vocabulary import AddedToken
from tokenizer_files import byte_level_tokenizer

quick = settings(max_examples=30, deadline=None, derandomize=True)

TOKENS = [AddedToken(i, t.content) for i, t in byte_level_tokenizer().get_added_tokens_decoder().items()]
FINDER = AddedTokenFinder(TOKENS)
COMPILED = {
    name: ChatTemplate(source, {"bos_token": "<|bos|>", "eos_token": "<|eos|>"}, FINDER.atoms)
    for name, source in TEMPLATES.items()
}
# These write a message differently when another one follows, or add text where nothing follows.
STABLE = sorted(TEMPLATES.keys() - {"qwen3", "phi3", "mistral system last"})
orders = st.lists(st.sampled_from(["system", "user", "assistant"]), min_size=1, max_size=6)


def text_of(segments: list[Segment]) -> str:
    assert all(segment.trusted or segment.text.startswith("c") for segment in segments)
    return "".join(segment.text for segment in segments)


def one_at_a_time(template: ChatTemplate, roles: list[str]) -> str:
    text = ""
    for i, role in enumerate(roles):
        text += text_of(template.open_role(roles[:i], role)) + f"c{i}"
        text += text_of(template.close_role(roles[:i], role))
    return text


def whole(template: ChatTemplate, roles: list[str], prompted: bool = False) -> str | None:
    chat = [Message(role, f"c{i}") for i, role in enumerate(roles)]
    try:
        return text_of(template.render(chat, add_generation_prompt=prompted))
    except ChatTemplateError:
        return None


@pytest.mark.parametrize("name", STABLE)
@given(roles=orders)
@quick
def test_role_by_role_equals_the_whole(name: str, roles: list[str]) -> None:
    template = COMPILED[name]
    expected = whole(template, roles)
    if expected is None or any(f"c{i}" not in expected for i in range(len(roles))):
        return
    assert one_at_a_time(template, roles) == expected


@pytest.mark.parametrize("name", sorted(TEMPLATES.keys() - {"mistral", "llama2", "zephyr", "mistral system last"}))
@given(roles=orders)
@quick
def test_opening_the_assistant_equals_the_generation_prompt(name: str, roles: list[str]) -> None:
    template = COMPILED[name]
    expected = whole(template, roles, prompted=True)
    if name == "qwen3" and roles[-1] == "assistant":
        return  # it writes an assistant's message differently while it is the last
    if expected is not None and "system" not in roles[1:]:
        assert one_at_a_time(template, roles) + text_of(template.open_role(roles, "assistant")) == expected


@pytest.mark.parametrize("name", ["qwen3", "phi3"])
@given(roles=orders)
@quick
def test_a_template_that_writes_the_last_message_differently_is_followed_as_if_another_came(
    name: str, roles: list[str]
) -> None:
    expected = whole(COMPILED[name], [*roles, "user"])
    assert expected is not None
    text = one_at_a_time(COMPILED[name], roles)
    assert expected.startswith(text)
    assert expected.removeprefix(text).startswith(text_of(COMPILED[name].open_role(roles, "user")))


def test_no_special_token_is_cut_between_a_closing_and_the_next_opening() -> None:
    assert COMPILED["phi3"].close_role(["user"], "assistant") == [Segment("<|end|>\n", True)]


def test_an_order_that_the_template_refuses_is_refused_in_its_words() -> None:
    with pytest.raises(ChatTemplateError, match=r"^Conversation roles must alternate"):
        COMPILED["mistral"].open_role(["user"], "user")
    with pytest.raises(ChatTemplateError, match=r"^System role not supported$"):
        COMPILED["refuses system"].open_role([], "system")


def test_a_template_that_moves_earlier_messages_is_refused() -> None:
    template = COMPILED["mistral system last"]
    roles = ["system", "user", "assistant"]
    assert one_at_a_time(template, roles[:2]) == whole(template, roles[:2])
    with pytest.raises(ChatTemplateError, match="moves or rewrites an earlier message"):
        template.open_role(roles, "user")


def test_long_histories_need_no_deep_recursion() -> None:
    roles = ["user", "assistant"] * 150
    assert COMPILED["chatml"].open_role(roles, "user") == [Segment("<|im_start|>user\n", True)]
