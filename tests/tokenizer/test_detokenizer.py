from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radixkv.models import ModelFiles
from radixkv.tokenizer import Detokenizer, Segment, Tokenizer, load_tokenizer
from tokenizer_files import metaspace_tokenizer, write_tokenizer

quick = settings(max_examples=100, deadline=None, derandomize=True)

BYTES = [bytes([value]) for value in range(256)]
texts = st.text(max_size=40)


def stream(pieces: Sequence[bytes]) -> list[str]:
    detokenizer = Detokenizer(BYTES)
    return [*(detokenizer.push(piece) for piece in pieces), detokenizer.finish()]


def cut(data: bytes, borders: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(border % (len(data) + 1) for border in borders)})
    return [data[a:b] for a, b in pairwise(places)]


@pytest.mark.parametrize("streams", [1, 4])
def test_r001_characters_over_several_tokens_arrive_whole_in_each_of_several_streams(streams: int) -> None:
    text = "a😀ž—é"
    detokenizers = [Detokenizer(BYTES) for _ in range(streams)]
    deltas = [[detokenizer.push([byte]) for detokenizer in detokenizers] for byte in text.encode()]
    for number, detokenizer in enumerate(detokenizers):
        mine = [delta[number] for delta in deltas]
        assert "".join(mine) + detokenizer.finish() == text
        assert all(delta in ("", *text) for delta in mine)


def test_r003_bad_bytes_cost_one_replacement_and_finish_flushes_once() -> None:
    assert "".join(stream([b"\xe4\xbd", b" x", b"\xc3", b"\xa9"])) == "\ufffd xé"
    detokenizer = Detokenizer(BYTES)
    assert not detokenizer.pending
    assert [detokenizer.push([byte]) for byte in b"\xf0\x9f\x98"] == ["", "", ""]
    assert detokenizer.pending
    assert [detokenizer.finish(), detokenizer.finish()] == ["\ufffd", ""]


@given(st.binary(max_size=30), st.lists(st.integers(0, 1000), max_size=6))
@quick
def test_pieces_joined_are_the_whole_decoding_with_no_surrogate(data: bytes, borders: list[int]) -> None:
    deltas = stream(cut(data, borders))
    assert "".join(deltas) == data.decode("utf-8", "replace")
    assert all(not "\ud800" <= char <= "\udfff" for delta in deltas for char in delta)


@given(texts, st.lists(st.integers(0, 1000), max_size=6))
@quick
def test_streaming_ids_gives_what_decoding_them_at_once_gives(tiny: Tokenizer, text: str, borders: list[int]) -> None:
    ids = tiny.encode(text)
    places = sorted({0, len(ids), *(border % (len(ids) + 1) for border in borders)})
    detokenizer = tiny.detokenizer()
    deltas = [detokenizer.push(ids[a:b]) for a, b in pairwise(places)]
    assert "".join(deltas) + detokenizer.finish() == tiny.decode(ids) == text


def test_special_tokens_are_left_out_unless_asked_for(tiny: Tokenizer) -> None:
    (end,) = tiny.turn_end_ids or (min(tiny.special_ids),)
    ids = [*tiny.encode("hi"), end]
    assert tiny.decode(ids) == "hi"
    assert tiny.decode(ids, skip_special=False) == "hi" + tiny.token_bytes(end).decode()


@pytest.mark.parametrize("legacy", [True, False])
class TestMetaspace:
    @given(ids=st.lists(st.integers(0, 297), max_size=12))
    @quick
    def test_valid_text_is_decoded_as_the_library_does(self, metaspace: dict, legacy: bool, ids: list[int]) -> None:
        tokenizer, library = metaspace[legacy]
        ids = [token_id for token_id in ids if token_id < tokenizer.vocab_size]
        # The library's Metaspace decoder is odd in two places: drops both spaces of a first `▁▁`, and none of <0x20>.
        odd = set() if legacy else {library.token_to_id("▁▁"), library.token_to_id("<0x20>")}
        ids = [token_id for token_id in ids if token_id not in odd]
        data = b"".join(tokenizer.token_bytes(token_id) for token_id in ids if token_id not in tokenizer.special_ids)
        if "\ufffd" not in data.decode("utf-8", "replace"):
            assert tokenizer.decode(ids) == library.decode(ids)

    @given(text=st.text(st.one_of(st.sampled_from(" the<>/s"), st.characters(codec="utf-8", exclude_characters="▁"))))
    @quick
    def test_any_text_comes_back(self, metaspace: dict, legacy: bool, text: str) -> None:
        tokenizer, _ = metaspace[legacy]
        if not legacy:  # Metaspace adds a space only where the text does not begin with one
            text = text.lstrip(" ")
        assert tokenizer.decode(tokenizer.encode(text)) == text

    def test_the_first_space_is_dropped_at_the_start_of_text_only(self, metaspace: dict, legacy: bool) -> None:
        tokenizer, library = metaspace[legacy]
        the = library.token_to_id("▁the")
        assert tokenizer.decode([1, the, the]) == "the the"
        for prompt, text in (([], "the"), ([1], "the"), ([1, the], " the")):
            assert tokenizer.detokenizer(prompt).push([the]) == text

    def test_text_that_goes_on_gets_no_space_of_its_own(self, metaspace: dict, legacy: bool) -> None:
        tokenizer, _ = metaspace[legacy]
        text = [Segment("the in")]
        begun, going_on = tokenizer.encode_segments(text), tokenizer.encode_segments(text, previous=5)
        assert tokenizer.detokenizer([5]).push(begun) == " the in"
        assert tokenizer.detokenizer([5]).push(going_on) == "the in"
        whole = tokenizer.encode_segments([Segment("<s>", True), *text])
        assert tokenizer.encode_segments(text, previous=1) == whole[1:]

    def test_byte_tokens_join_to_characters_across_pushes(self, metaspace: dict, legacy: bool) -> None:
        tokenizer, _ = metaspace[legacy]
        detokenizer = tokenizer.detokenizer()
        deltas = [detokenizer.push([3 + byte]) for byte in "é😀".encode()]
        assert deltas == ["", "é", "", "", "", "😀"]


@pytest.fixture(scope="module")
def metaspace(tmp_path_factory: pytest.TempPathFactory) -> dict:
    made = {}
    for legacy in (True, False):
        library = metaspace_tokenizer(legacy=legacy)
        folder = write_tokenizer(tmp_path_factory.mktemp("metaspace"), library, bos_token="<s>", eos_token="</s>")
        made[legacy] = (load_tokenizer(ModelFiles("llama2", folder, "safetensors")), library)
    return made
