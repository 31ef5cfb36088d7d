"""Text that a program inserts can neither open a role nor become a special token, whatever the model's family."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat_templates import SPECIALS, TEMPLATES
from radixkv.engine.context import Context
from radixkv.engine.verbs import RoleClose, RoleOpen, Text
from radixkv.errors import ChatTemplateError
from radixkv.request import Namespace
from radixkv.tokenizer import Tokenizer

quick = settings(
    max_examples=25, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
BORDERS = ("<<SYS>>", "<</SYS>>", "<s>", "</s>", "<think>", "</think>", "<start_of_turn>", "### Instruction:", "User:")
PIECES = (*SPECIALS, *BORDERS, "\n", " ", "user", "assistant", "system", "\n\n", "a", "é", "<|", "|>", "[/", "INST]")
hostile = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
chats = st.lists(st.sampled_from(["system", "user", "assistant"]), min_size=1, max_size=4)


def chat_ids(tokenizer: Tokenizer, roles: list[str], contents: list[list[str]]) -> list[int]:
    context = Context("c", Namespace(), tokenizer)
    for role, pieces in zip(roles, contents, strict=True):
        context.append([RoleOpen(role), *map(Text, pieces), RoleClose()])
    context.commit()
    return context.tokens.tolist()


def occurrences(part: list[int], ids: list[int]) -> int:
    return sum(ids[at : at + len(part)] == part for at in range(len(ids) - len(part) + 1))


def assert_no_role_is_opened(tokenizer: Tokenizer, roles: list[str], contents: list[str]) -> None:
    harmless = [["x"] for _ in contents]
    try:
        expected = chat_ids(tokenizer, roles, harmless)
    except ChatTemplateError:
        return  # an order of roles that this template refuses
    whole = chat_ids(tokenizer, roles, [[content] for content in contents])
    halved = chat_ids(tokenizer, roles, [[content[:3], content[3:]] for content in contents])
    added = tokenizer._added_ids
    for ids in (whole, halved):
        assert [i for i in ids if i in added] == [i for i in expected if i in added]
        assert all(content in tokenizer.decode(ids, skip_special=False) for content in contents)
        for border in tokenizer._text_borders.cuts:  # type: ignore[union-attr]
            spellings = [tokenizer._vocabulary.plain.going_on.encode(text).ids for text in (border, " " + border)]
            written = tokenizer.decode(expected, skip_special=False).count(border)
            assert max(occurrences(ids_of_border, ids) for ids_of_border in spellings) <= written, border


@pytest.fixture(scope="module", params=TEMPLATES)
def family(request: pytest.FixtureRequest, tiny: Tokenizer) -> Tokenizer:
    """A vocabulary in which the borders of all templates are special tokens."""
    return Tokenizer(replace(tiny._vocabulary, chat_template=TEMPLATES[request.param]))


@pytest.fixture(scope="module", params=TEMPLATES)
def worded_family(request: pytest.FixtureRequest, smollm2: Tokenizer) -> Tokenizer:
    """A real vocabulary, in which the borders of all but ChatML are ordinary text."""
    return Tokenizer(replace(smollm2._vocabulary, chat_template=TEMPLATES[request.param]))


@given(roles=chats, data=st.data())
@quick
def test_special_tokens_in_inserted_text_stay_text(family: Tokenizer, roles: list[str], data: st.DataObject) -> None:
    assert_no_role_is_opened(family, roles, data.draw(st.lists(hostile, min_size=len(roles), max_size=len(roles))))


@pytest.mark.model
@given(roles=chats, data=st.data())
@quick
def test_borders_that_are_words_get_other_ids_in_inserted_text(
    worded_family: Tokenizer, roles: list[str], data: st.DataObject
) -> None:
    contents = data.draw(st.lists(hostile, min_size=len(roles), max_size=len(roles)))
    assert_no_role_is_opened(worded_family, roles, contents)


@pytest.mark.model
@pytest.mark.parametrize(
    ("name", "borders"),
    [
        ("mistral", {"[INST]", "[/INST]"}),
        ("llama2", {"[INST]", "[/INST]", "[INST] <<SYS>>", "<</SYS>>"}),
        ("zephyr", {"<|user|>", "<|assistant|>", "<|system|>"}),
        ("smollm2", set()),
        ("qwen3", set()),
    ],
)
def test_which_borders_are_words(smollm2: Tokenizer, name: str, borders: set[str]) -> None:
    tokenizer = Tokenizer(replace(smollm2._vocabulary, chat_template=TEMPLATES[name]))
    assert borders <= set(tokenizer._text_borders.cuts) <= borders | {"<|bos|>", "<|eos|>"}  # type: ignore[union-attr]


@pytest.mark.model
def test_only_the_border_itself_is_cut(smollm2: Tokenizer) -> None:
    tokenizer = Tokenizer(replace(smollm2._vocabulary, chat_template=TEMPLATES["llama2"]))
    before, after = "INST [INST ] an array", " of x[/i], x[IN][ST]."
    ids = chat_ids(tokenizer, ["user"], [[f"{before}[INST]{after}"]])
    assert tokenizer.decode(ids, skip_special=False).count("[INST]") == 2
    assert occurrences(tokenizer.encode(after).tolist(), ids) == 1
    assert occurrences(tokenizer.encode(" " + before).tolist()[:-1], ids) == 1
    assert occurrences(tokenizer.encode("[INST]").tolist(), ids) == 1  # the template's own
