from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, normalizers
from tokenizers.models import WordPiece

from chat_templates import CHATML, SMOLLM2
from radixkv.errors import BadModelFile, ModelError, UnsupportedModel
from radixkv.models import ModelFiles
from radixkv.tokenizer import Message, Segment, load_tokenizer
from tokenizer_files import byte_level_tokenizer, metaspace_tokenizer, write_tokenizer

Change = Callable[[dict[str, Any]], object]


def load(folder: Path) -> Any:
    return load_tokenizer(ModelFiles("tiny", folder, "safetensors"))


def edit(folder: Path, change: Change) -> None:
    file = folder / "tokenizer.json"
    spec = json.loads(file.read_text(encoding="utf-8"))
    change(spec)
    file.write_text(json.dumps(spec), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "error", "names"),
    [
        (lambda spec: spec.update(model={"type": "Unigram", "vocab": []}), UnsupportedModel, ["'Unigram'", "BPE"]),
        (lambda spec: spec["model"].pop("merges"), BadModelFile, ["model.merges", "list"]),
        (lambda spec: spec.update(decoder={"type": "CTC"}), UnsupportedModel, ["CTC", "ByteLevel"]),
        (lambda spec: spec.update(pre_tokenizer={"type": "Martian"}), BadModelFile, ["tokenizers library"]),
    ],
)
def test_a_tokenizer_json_that_cannot_be_used_is_refused_by_name(
    tmp_path: Path, change: Change, error: type[ModelError], names: list[str]
) -> None:
    folder = write_tokenizer(tmp_path, byte_level_tokenizer())
    edit(folder, change)
    with pytest.raises(error) as caught:
        load(folder)
    assert all(name in str(caught.value) for name in [*names, "tokenizer.json"])


def test_files_that_are_missing_or_broken_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match=r"tokenizer\.json.*no such file"):
        load(tmp_path)
    for broken in ("{", "[]"):
        (tmp_path / "tokenizer.json").write_text(broken, encoding="utf-8")
        with pytest.raises(BadModelFile, match=r"tokenizer\.json: content: expected"):
            load(tmp_path)


def test_word_pieces_are_refused(tmp_path: Path) -> None:
    library = Tokenizer(WordPiece({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    with pytest.raises(UnsupportedModel, match="'WordPiece'"):
        load(write_tokenizer(tmp_path, library))


def test_the_template_file_comes_before_the_config_and_the_default_of_several(tmp_path: Path) -> None:
    several = [{"name": "tool_use", "template": "x"}, {"name": "default", "template": CHATML}]
    folder = write_tokenizer(tmp_path, byte_level_tokenizer(), chat_template=several)
    assert load(folder).chat_template.source == CHATML
    (folder / "chat_template.jinja").write_text(SMOLLM2, encoding="utf-8")
    assert load(folder).chat_template.source == SMOLLM2


def test_without_a_template_there_is_none(tmp_path: Path) -> None:
    tokenizer = load(write_tokenizer(tmp_path, byte_level_tokenizer()))
    assert tokenizer.chat_template is None
    assert tokenizer.turn_end_ids == ()


def test_special_tokens_reach_the_template_as_text_or_object(tmp_path: Path) -> None:
    template = "{{ bos_token }}{{ messages[0].content }}{{ eos_token }}{{ pad_token }}"
    folder = write_tokenizer(
        tmp_path, byte_level_tokenizer(), chat_template=template, eos_token={"content": "<|end|>", "lstrip": False}
    )
    tokenizer = load(folder)
    segments = tokenizer.chat_template.render([Message("user", "u")], add_generation_prompt=False)
    assert segments == [Segment("<|bos|>", True), Segment("u"), Segment("<|end|>", True)]


def test_special_tokens_map_is_read_where_the_config_says_nothing(tmp_path: Path) -> None:
    folder = write_tokenizer(tmp_path, byte_level_tokenizer())
    (folder / "tokenizer_config.json").unlink()
    (folder / "special_tokens_map.json").write_text('{"bos_token": "<|user|>"}', encoding="utf-8")
    tokenizer = load(folder)
    assert tokenizer.token_bytes(tokenizer.bos_id) == b"<|user|>"


def test_plain_text_cannot_reach_an_added_token_that_is_in_the_vocabulary_with_merges(tmp_path: Path) -> None:
    library = metaspace_tokenizer(legacy=True)
    assert 2 in library.encode("</s>", add_special_tokens=False).ids
    tokenizer = load(write_tokenizer(tmp_path, library, bos_token="<s>"))
    assert 2 not in tokenizer.encode("x</s>y")
    assert tokenizer.decode(tokenizer.encode("x</s>y")) == "x</s>y"


def test_ids_without_a_token_stand_for_nothing(tmp_path: Path) -> None:
    library = byte_level_tokenizer()
    size = library.get_vocab_size()
    folder = write_tokenizer(
        tmp_path, library, added_tokens_decoder={str(size + 5): {"content": "<late>", "special": False}}
    )
    tokenizer = load(folder)
    assert tokenizer.vocab_size == size + 6
    assert tokenizer.token_bytes(size + 1) == b""
    assert tokenizer.encode_segments([Segment("<late>", True)]).tolist() == [size + 5]
    assert tokenizer.decode([size + 1, size + 5]) == "<late>"


def test_a_normalizer_is_kept(tmp_path: Path) -> None:
    library = byte_level_tokenizer()
    library.normalizer = normalizers.NFC()
    library.decoder = decoders.Sequence([decoders.ByteLevel()])
    tokenizer = load(write_tokenizer(tmp_path, library))
    assert tokenizer.decode(tokenizer.encode("e\u0301")) == "é"


def test_whole_words_that_are_added_tokens_are_not_taken_when_merges_are_ignored(tmp_path: Path) -> None:
    library = byte_level_tokenizer([AddedToken("assistant", special=True)], ignore_merges=True)
    tokenizer = load(write_tokenizer(tmp_path, library))
    assert not tokenizer.special_ids & set(tokenizer.encode("assistant"))
    assert len(tokenizer.encode_segments([Segment("assistant", True)])) == 1
