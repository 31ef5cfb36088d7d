"""Ids of byte-level tokenizers: plain, with special tokens, over segment borders, with BOS."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken

from radixkv.errors import InvalidRequest
from radixkv.models import ModelFiles
from radixkv.tokenizer import Segment, Tokenizer, load_tokenizer
from tokenizer_files import byte_level_tokenizer, split_tokenizer, write_tokenizer

quick = settings(max_examples=80, deadline=None, derandomize=True)

MakeTokenizer = Callable[..., Tokenizer]

KINDS = (
    AddedToken("<think>", special=False, normalized=False),
    AddedToken("<norm>", special=False, normalized=True),
    AddedToken("<left>", special=False, lstrip=True, normalized=False),
    AddedToken("<right>", special=True, rstrip=True, normalized=False),
    AddedToken("<both>", special=True, lstrip=True, rstrip=True, normalized=True),
    AddedToken("word", special=False, single_word=True, normalized=False),
    AddedToken("<th", special=False, normalized=False),
    AddedToken("assistant", special=True, normalized=False),  # also what merges lead to
)
SPELLINGS = [token.content for token in KINDS] + ["<|im_start|>", "<|im_end|>", "[INST]", "<|bos|>"]
parts_of_text = st.one_of(st.sampled_from([*SPELLINGS, " ", "\n", "a", "_", "<", "the"]), st.text(max_size=4))
tricky = st.lists(parts_of_text, max_size=8).map("".join)
segments = st.lists(st.builds(Segment, tricky, st.booleans()), max_size=6)


@pytest.fixture(scope="module", params=[False, True], ids=["merging", "ignoring merges"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """Ours and the library's, with added tokens of every kind."""
    library = byte_level_tokenizer(KINDS, ignore_merges=request.param)
    folder = write_tokenizer(tmp_path_factory.mktemp("kinds"), library)
    return load_tokenizer(ModelFiles("kinds", folder, "safetensors")), library


@given(text=tricky)
@quick
def test_any_text_comes_back_and_holds_no_added_token(both: tuple, text: str) -> None:
    ours, library = both
    ids = ours.encode(text)
    assert isinstance(ids, array)
    assert ids.typecode == "i"
    assert ours.decode(ids, skip_special=False) == text
    assert not set(library.get_added_tokens_decoder()) & set(ids)


@given(text=tricky)
@quick
def test_trusted_text_gets_the_ids_of_the_full_tokenizer(both: tuple, text: str) -> None:
    ours, library = both
    assert ours.encode_segments([Segment(text, True)]).tolist() == library.encode(text, add_special_tokens=False).ids


@given(pieces=st.lists(tricky, max_size=5))
@quick
def test_adjoining_untrusted_text_is_one_text(both: tuple, pieces: list[str]) -> None:
    ours, _ = both
    assert ours.encode_segments([Segment(piece) for piece in pieces]) == ours.encode("".join(pieces))


@given(parts=segments)
@quick
def test_r134_added_tokens_come_from_trusted_segments_and_span_no_border(both: tuple, parts: list[Segment]) -> None:
    ours, library = both
    added = library.get_added_tokens_decoder().keys()
    alone = [library.encode(part.text, add_special_tokens=False).ids for part in parts if part.trusted]
    # `word` depends on its neighbours, which another segment may hold
    word = library.token_to_id("word")
    expected = [token_id for ids in alone for token_id in ids if token_id in added and token_id != word]
    ids = ours.encode_segments(parts)
    assert [token_id for token_id in ids if token_id in added and token_id != word] == expected


def test_plain_text_next_to_a_trusted_border_is_encoded_together_with_it(tiny: Tokenizer) -> None:
    parts = [Segment("<|im_start|>user\nass", True), Segment("istant"), Segment("<|im_end|>", True)]
    joined = tiny.encode_segments([Segment("<|im_start|>user\nassistant<|im_end|>", True)])
    assert tiny.encode_segments(parts) == joined
    assert len(joined) < sum(len(tiny.encode_segments([part])) for part in parts)


def test_whitespace_that_a_token_swallows_may_lie_in_the_next_segment(make_tokenizer: MakeTokenizer) -> None:
    library = byte_level_tokenizer(KINDS)
    ours = make_tokenizer(library)
    parts = [Segment("x "), Segment("<both>", True), Segment(" \n y")]
    assert ours.encode_segments(parts).tolist() == library.encode("x <both> \n y", add_special_tokens=False).ids


@pytest.mark.parametrize("template_bos", [True, False])
@pytest.mark.parametrize("tokenizer_bos", [True, False])
def test_r125_one_bos_if_template_or_tokenizer_wants_one(
    make_tokenizer: MakeTokenizer, template_bos: bool, tokenizer_bos: bool
) -> None:
    tokenizer = make_tokenizer(add_bos_token=tokenizer_bos)
    chat = [Segment("<|bos|>", True)] * template_bos + [Segment("<|user|>", True), Segment("<|bos|>hi")]
    assert tokenizer.bos_id is not None
    ids = tokenizer.chat_ids(chat)
    assert ids.count(tokenizer.bos_id) == (template_bos or tokenizer_bos)
    assert tokenizer.prompt_ids("<|bos|>hi").count(tokenizer.bos_id) == tokenizer_bos
    assert (tokenizer.prompt_ids("")[:1].tolist() == [tokenizer.bos_id]) == tokenizer_bos
    assert tokenizer.adds_bos == tokenizer_bos


def test_a_post_processor_that_puts_bos_in_front_counts_unless_the_config_says_otherwise(tmp_path: Path) -> None:
    for name, config, expected in (("a", {}, True), ("b", {"add_bos_token": False}, False)):
        folder = write_tokenizer(tmp_path / name, byte_level_tokenizer(add_bos=True), **config)
        assert load_tokenizer(ModelFiles("m", folder, "safetensors")).adds_bos == expected


def test_r011_ids_beyond_the_vocabulary_are_refused_by_position(tiny: Tokenizer) -> None:
    assert tiny.validate_ids([0, 1, tiny.vocab_size - 1]) == array("i", [0, 1, tiny.vocab_size - 1])
    assert tiny.validate_ids(array("i")) == array("i")
    for bad in (tiny.vocab_size, -1, 2**40, "3", 1.5, True, None):
        with pytest.raises(InvalidRequest, match=r"prompt\[1\]: got .* expected a token id from 0 to"):
            tiny.validate_ids([0, bad, 1])  # type: ignore[list-item]


def test_a_lone_surrogate_is_refused_by_position(tiny: Tokenizer) -> None:
    with pytest.raises(InvalidRequest, match="character 2"):
        tiny.encode("ab\ud83d")


@pytest.mark.parametrize("pattern", [r"\p{N}", r"\s+(?!\S)|\S+"])
def test_a_pre_tokenizer_of_its_own_is_kept(make_tokenizer: MakeTokenizer, pattern: str) -> None:
    library = split_tokenizer(pattern)
    text = "In 2024, the 3 assistants  think."
    assert make_tokenizer(library).encode(text).tolist() == library.encode(text).ids


def test_ids_come_in_any_sequence_of_ints_and_bytes_are_none(tiny: Tokenizer) -> None:
    for ids in ((1, 2), [1, 2], array("i", [1, 2]), np.array([1, 2])):
        assert tiny.validate_ids(ids) == array("i", [1, 2])
    for wrong in (b"hell", b"hello", "12", None, {1: 2}, 5):
        with pytest.raises(InvalidRequest, match=r"prompt: got .* expected a sequence of ids"):
            tiny.validate_ids(wrong)  # type: ignore[arg-type]
