from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixkv.errors import BadModelFile, ModelError, UnsupportedModel
from radixkv.tokenizer import Segment, Tokenizer
from radixkv.tokenizer.gguf_vocabulary import gguf_vocabulary
from radixkv.tokenizer.pre_tokenizers import PRE_TOKENIZER_KINDS, PreTokenizerKind, pre_tokenizer_kind
from radixkv.tokenizer.vocabulary import byte_symbols
from tokenizer_files import MERGES

FIXTURES = json.loads((Path(__file__).parent / "data" / "smollm2_ids.json").read_text(encoding="utf-8"))["cases"]
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = 1, 2, 3, 4, 5


def metadata(extra: Mapping[str, Any] | None = None, **special: int) -> dict[str, Any]:
    """Keys of a small vocabulary; `special` are further tokens with their types."""
    tokens = list(byte_symbols())
    tokens += dict.fromkeys(left + right for left, right in MERGES)
    types = [NORMAL] * len(tokens) + list(special.values())
    return {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": [*tokens, *special],
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": [f"{left} {right}" for left, right in MERGES],
        **(extra or {}),
    }


def load(**arguments: Any) -> Tokenizer:
    return Tokenizer(gguf_vocabulary("m.gguf", metadata(**arguments)))


@pytest.mark.model
@pytest.mark.parametrize("case", FIXTURES, ids=range(len(FIXTURES)))
def test_ids_of_the_default_model_are_those_of_llama_cpp(smollm2: Tokenizer, case: dict[str, Any]) -> None:
    assert smollm2.encode(case["text"]).tolist() == case["ids_plain"]
    assert smollm2.encode_segments([Segment(case["text"], True)]).tolist() == case["ids_parse_special"]
    assert smollm2.decode(case["ids_parse_special"], skip_special=False) == case["text"]


@pytest.fixture(scope="module")
def unwritable(smollm2: Tokenizer) -> set[int]:
    """Bytes that no token of the default model stands for."""
    spelled = map(smollm2.token_bytes, range(smollm2.vocab_size))
    return set(range(256)) - {data[0] for data in spelled if len(data) == 1}


@pytest.mark.model
@given(text=st.text())
@settings(deadline=None, derandomize=True)
def test_text_comes_back_from_the_default_model_but_for_bytes_that_it_has_no_token_for(
    smollm2: Tokenizer, unwritable: set[int], text: str
) -> None:
    assert unwritable & set(range(128)) == {0x04, 0x06, 0x13, 0x14, 0x16, 0x1D}
    kept = bytes(byte for byte in text.encode() if byte not in unwritable)
    assert smollm2.decode(smollm2.encode(text)) == kept.decode("utf-8", "replace")


@pytest.mark.model
def test_the_default_model_names_its_special_tokens(smollm2: Tokenizer) -> None:
    assert (smollm2.vocab_size, smollm2.bos_id, smollm2.adds_bos, smollm2.turn_end_ids) == (49152, 1, False, (2,))
    assert smollm2.special_ids == frozenset(range(17))


def test_padding_rows_at_the_end_are_no_tokens() -> None:
    size = load().vocab_size
    padded = load(**{"<eos>": CONTROL, "[PAD300]": UNUSED, "[PAD301]": USER_DEFINED})
    assert padded.vocab_size == size + 1


def test_control_tokens_are_hidden_and_user_defined_ones_are_shown() -> None:
    tokenizer = load(**{"<eos>": CONTROL, "<think>": USER_DEFINED, "<unk>": UNKNOWN})
    ids = tokenizer.encode_segments([Segment("<think>the<eos>", True)])
    assert len(ids) == 3 or len(ids) == 2 + len(tokenizer.encode("the"))
    assert tokenizer.decode(ids) == "<think>the"
    assert len(tokenizer.special_ids) == 2


@pytest.mark.parametrize("kind", dict.fromkeys(PRE_TOKENIZER_KINDS.values()), ids=str)
@given(text=st.text())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_every_kind_keeps_all_of_the_text(kind: PreTokenizerKind, text: str) -> None:
    pieces = kind.build().pre_tokenize_str(text)
    symbols = byte_symbols()
    assert bytes(symbols[char] for piece, _ in pieces for char in piece).decode() == text


def words(kind: str, text: str) -> list[str]:
    pieces = pre_tokenizer_kind("m.gguf", kind).build().pre_tokenize_str(text)
    return [text[begin:end] for _, (begin, end) in pieces]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("gpt-2", ["I", "'ll", " say", " 12345", "!!", "  ", "\n", "XyZ"]),
        ("smollm", ["I", "'ll", " say", " ", "1", "2", "3", "4", "5", "!!", "  ", "\n", "XyZ"]),
        ("llama-bpe", ["I", "'ll", " say", " ", "123", "45", "!!", "  \n", "XyZ"]),
        ("qwen2", ["I", "'ll", " say", " ", "1", "2", "3", "4", "5", "!!", "  \n", "XyZ"]),
        ("tekken", ["I", "'ll", " say", " ", "1", "2", "3", "4", "5", "!!", "  \n", "Xy", "Z"]),
        ("gpt-4o", ["I'll", " say", " ", "123", "45", "!!", "  \n", "Xy", "Z"]),
        ("default", ["I", "'", "ll", " say", " ", "123", "45", "!!", "  ", "\n", "XyZ"]),
    ],
)
def test_kinds_cut_words_as_their_models_do(kind: str, expected: list[str]) -> None:
    assert words(kind, "I'll say 12345!!  \nXyZ") == expected


def test_a_kind_that_ignores_merges_takes_a_whole_word_and_adds_bos() -> None:
    llama = {"tokenizer.ggml.pre": "llama-bpe", "tokenizer.ggml.bos_token_id": 5}
    assert load(extra=llama).adds_bos
    assert not load(extra=llama | {"tokenizer.ggml.add_bos_token": False}).adds_bos
    keys = metadata({"tokenizer.ggml.pre": "llama-bpe"}, xyz=NORMAL)
    assert len(Tokenizer(gguf_vocabulary("m", keys)).encode("xyz")) == 1
    assert len(Tokenizer(gguf_vocabulary("m", keys | {"tokenizer.ggml.pre": "qwen2"})).encode("xyz")) == 3


@pytest.mark.parametrize(
    ("changes", "error", "names"),
    [
        ({"tokenizer.ggml.model": "llama"}, UnsupportedModel, ["m.gguf", "'llama'", "SentencePiece"]),
        ({"tokenizer.ggml.model": "t5"}, UnsupportedModel, ["'t5'"]),
        ({"tokenizer.ggml.model": "new"}, UnsupportedModel, ["'new'"]),
        ({"tokenizer.ggml.model": None}, BadModelFile, ["tokenizer.ggml.model", "nothing"]),
        ({"tokenizer.ggml.pre": "martian"}, UnsupportedModel, ["'martian'", "smollm"]),
        ({"tokenizer.ggml.tokens": None}, BadModelFile, ["tokenizer.ggml.tokens"]),
        ({"tokenizer.ggml.merges": None}, BadModelFile, ["tokenizer.ggml.merges"]),
        ({"tokenizer.ggml.merges": ["t h", "the"]}, BadModelFile, ["tokenizer.ggml.merges[1]", "'the'"]),
        ({"tokenizer.ggml.token_type": [1, 1]}, BadModelFile, ["tokenizer.ggml.token_type", "found 2"]),
        ({"tokenizer.ggml.eos_token_id": 99999}, BadModelFile, ["tokenizer.ggml.eos_token_id", "99999"]),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(
    changes: dict[str, Any], error: type[ModelError], names: list[str]
) -> None:
    with pytest.raises(error) as caught:
        load(extra=changes)
    assert all(name in str(caught.value) for name in names)
