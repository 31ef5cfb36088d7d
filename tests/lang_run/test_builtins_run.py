"""Builtins that ask the run: tokens, chunks, and what a gen or select left with its name."""

from __future__ import annotations

import asyncio
import math
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frontend_lang.chunking import chunks
from frontend_lang.errors import ProgramError
from frontend_lang.scripted import SCRIPTED_LOGPROB
from scripted_programs import failure_of, value_of

# A tokenizer with the habits that matter here: pieces of words, and pairs that merge across any cut.
_PIECES = re.compile(r"ab|cd|\s?[a-z]{1,4}|\s+|.", re.DOTALL)
PROSE = st.lists(
    st.sampled_from(["word", "alphabet", "a", "ab", "cd", "e\u0301", "end. ", "?\n", "\n\n", " ", "。", "\U0001f600"])
).map("".join)


class Counter:
    """Counts tokens and its own calls."""

    def __init__(self) -> None:
        self.calls = 0

    async def __call__(self, text: str) -> int:
        self.calls += 1
        return len(_PIECES.findall(text))


def cut(text: str, size: int, overlap: int = 0) -> list[str]:
    return asyncio.run(chunks(text, size, overlap, Counter()))


def tokens(text: str) -> int:
    return len(_PIECES.findall(text))


@given(PROSE, st.integers(1, 12))
@settings(max_examples=300)
def test_chunks_join_to_the_text_and_none_is_larger_than_asked(text: str, size: int) -> None:
    pieces = cut(text, size)
    assert "".join(pieces) == text
    assert all(piece and tokens(piece) <= size for piece in pieces)


@given(st.lists(st.sampled_from(["word ", "a ", "end. ", "?\n", "\n\n", "。"])), st.integers(8, 20), st.integers(1, 7))
@settings(max_examples=300)
def test_chunks_with_overlap_cover_the_text_in_order(words: list[str], size: int, overlap: int) -> None:
    text = "".join([f"{index:03}{word}" for index, word in enumerate(words)])  # so that a piece stands at one place
    end = 0
    for piece in cut(text, size, overlap):
        start = next(at for at in range(end, -1, -1) if text.startswith(piece, at))
        assert end < start + len(piece)
        assert tokens(piece) <= size
        assert tokens(text[start:end]) <= overlap
        end = start + len(piece)
    assert end == len(text)


def test_chunks_end_at_the_largest_border_that_is_near() -> None:
    paragraph = "One two three. Four five six.\n\n"
    assert cut(paragraph * 4, tokens(paragraph) + 5) == [paragraph] * 4
    assert cut("One two three. Four five six. Seven.", 14)[0].endswith(". ")
    assert cut("one two three four five six", 3)[0].endswith(" ")


def test_chunks_never_cut_inside_a_character() -> None:
    pieces = cut("e\u0301" * 40, 5)
    assert all(not piece.startswith("\u0301") for piece in pieces)


def test_chunks_are_nearly_full() -> None:
    text = "lorem ipsum dolor sit amet consectetur " * 2000
    pieces = cut(text, 500)
    assert len(pieces) <= 1.1 * tokens(text) / 500


def test_the_number_of_counts_grows_with_the_chunks_and_not_with_the_words() -> None:
    counter = Counter()
    text = "Some words of a sentence. " * 4000
    pieces = asyncio.run(chunks(text, 1000, 0, counter))
    assert counter.calls <= 8 * len(pieces) + 2


def test_a_character_of_more_tokens_than_a_chunk_may_have_is_an_error() -> None:
    async def bytes_of(text: str) -> int:
        return len(text.encode())

    with pytest.raises(ProgramError) as caught:
        asyncio.run(chunks("ab\U0001f600", 3, 0, bytes_of))
    assert caught.value.code == "E0401"


def test_too_many_chunks_are_refused_after_one_count() -> None:
    counter = Counter()
    with pytest.raises(ProgramError) as caught:
        asyncio.run(chunks("a b " * 200_000, 1, 0, counter))
    assert (caught.value.code, counter.calls) == ("E0808", 1)


def test_chunk_and_ntok_in_a_program() -> None:
    assert value_of('return ntok("a b  c")') == 3
    assert value_of('return chunk("a b c d e", 3)') == ["a b ", "c d e"]
    assert value_of('return chunk("", size=5)') == []
    assert value_of('return chunk("a b c d e f", 4, overlap=2)') == ["a b c ", "c d e f"]


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("chunk('a', 0)", "E0401"),
        ("chunk('a', 2, overlap=2)", "E0401"),
        ("chunk('a', 2, -1)", "E0401"),
        ("chunk(1, 2)", "E0402"),
        ("chunk('a', '2')", "E0402"),
        ("chunk('a')", "E0307"),
        ("ntok(3)", "E0402"),
        ("ntok(words='a')", "E0307"),
        ("usage(1)", "E0307"),
        ("raw('a')", "E0307"),
        ("raw(one)", "E0611"),
        ("prob(one)", "E0611"),
        ("logprob(one)", "E0611"),
        ("tokens(one)", "E0611"),
        ("finish(one)", "E0611"),
        ("probs(one)", "E0608"),
        ("finish(nothing)", "E0301"),
    ],
)
def test_wrong_call_is_an_error(call: str, code: str) -> None:
    error = failure_of(f"let one = 1\nreturn {call}")
    assert (error.code, error.span is not None and error.span.line) == (code, 2)


def after_gen(expression: str, options: str = "") -> Any:
    return value_of(f'"Say:"\ngen x with max=2{options}\nreturn {expression}', ["one two three"])


def test_what_a_gen_leaves_with_its_name() -> None:
    assert after_gen("raw(x)") == "one two"
    assert after_gen("finish(x)") == "length"
    assert len(after_gen("tokens(x)")) == 2
    assert after_gen("logprob(x)", ", logprobs=0") == 2 * SCRIPTED_LOGPROB
    assert after_gen("prob(x)", ", logprobs=1") == pytest.approx(math.exp(2 * SCRIPTED_LOGPROB))


def test_log_probabilities_that_were_not_asked_for_are_an_error_that_says_how() -> None:
    for name in ("prob", "logprob"):
        error = failure_of(f'"Say:"\ngen x\nreturn {name}(x)', ["one"])
        assert (error.code, error.hint) == ("E0611", "gen x with logprobs=1")


def after_select(expression: str) -> Any:
    return value_of(f'"Say:"\nselect x from ["a", "b"]\nreturn {expression}', scores={"a": -1.0, "b": 0.0})


def test_what_a_select_leaves_with_its_name() -> None:
    likelier = 1 / (1 + math.exp(-1))
    assert after_select("raw(x)") == "b"
    assert after_select("prob(x)") == pytest.approx(likelier)
    assert after_select("logprob(x)") == pytest.approx(math.log(likelier))
    assert after_select("probs(x)") == pytest.approx({"a": 1 - likelier, "b": likelier})


@pytest.mark.parametrize("name", ["tokens", "finish"])
def test_what_a_select_has_not_is_an_error(name: str) -> None:
    assert failure_of(f'"Say:"\nselect x from ["a"]\nreturn {name}(x)').code == "E0611"


def test_a_gen_has_no_distribution() -> None:
    assert failure_of('"Say:"\ngen x\nreturn probs(x)', ["a"]).code == "E0608"


def test_a_name_that_is_bound_anew_has_lost_what_the_gen_left() -> None:
    assert failure_of('"Say:"\ngen x\nx = "b"\nreturn raw(x)', ["a"]).code == "E0611"
    assert value_of('"Say:"\ngen x\n" "\ngen x\nreturn raw(x)', ["a", "b"]) == "b"
