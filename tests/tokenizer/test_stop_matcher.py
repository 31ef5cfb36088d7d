from __future__ import annotations

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from radixkv.tokenizer import StopMatcher

quick = settings(max_examples=200, deadline=None, derandomize=True)


@dataclass(frozen=True)
class Outcome:
    text: str
    matched: str | None


def by_definition(text: str, enabled: list[bool], stops: tuple[str, ...]) -> Outcome:
    """The stop whose last character comes first, in text where stops may complete; of several, the longest."""
    for end in range(1, len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending and enabled[end - 1]:
            stop = max(ending, key=len)
            return Outcome(text[: end - len(stop)], stop)
    return Outcome(text, None)


def longest_pending(text: str, stops: tuple[str, ...]) -> int:
    return max((n for stop in stops for n in range(len(stop)) if text.endswith(stop[:n])), default=0)


def run(matcher: StopMatcher, pieces: list[str]) -> list[str]:
    return [*(matcher.push(piece) for piece in pieces), matcher.finish()]


letters = st.text("ab", max_size=12)
stop_lists = st.lists(st.text("ab", min_size=1, max_size=5), min_size=1, max_size=4).map(tuple)


@given(st.lists(st.tuples(letters, st.booleans()), max_size=8), stop_lists)
@quick
def test_matches_its_definition_for_any_pieces_and_any_ignored_stretch(
    pieces: list[tuple[str, bool]], stops: tuple[str, ...]
) -> None:
    text = "".join(piece for piece, _ in pieces)
    enabled = [match for piece, match in pieces for _ in piece]
    matcher = StopMatcher(stops)
    shown = "".join(matcher.push(piece, match) for piece, match in pieces) + matcher.finish()
    assert Outcome(shown, matcher.matched) == by_definition(text, enabled, stops)


@given(st.lists(letters, max_size=8), stop_lists)
@quick
def test_holds_back_exactly_the_longest_proper_prefix_of_a_stop(pieces: list[str], stops: tuple[str, ...]) -> None:
    matcher, fed, shown = StopMatcher(stops), "", ""
    for piece in pieces:
        fed += piece
        shown += matcher.push(piece)
        if matcher.matched is not None:
            return
        assert shown == fed[: len(fed) - longest_pending(fed, stops)]


@given(st.lists(letters, max_size=8), stop_lists)
@quick
def test_include_stop_shows_the_stop_and_nothing_after(pieces: list[str], stops: tuple[str, ...]) -> None:
    matcher = StopMatcher(stops, include_stop=True)
    shown = "".join(run(matcher, pieces))
    expected = by_definition("".join(pieces), [True] * len("".join(pieces)), stops)
    assert shown == expected.text + (expected.matched or "")


def test_r005_held_back_text_is_flushed_when_the_text_ends() -> None:
    for pieces, text in ((["ple", "as"], "pleas"), (["x", "assi"], "xassi")):
        matcher = StopMatcher(("assistant",))
        assert "".join(run(matcher, pieces)) == text
        assert matcher.matched is None
        assert matcher.finish() == ""


def test_r007_no_part_of_a_stop_is_shown_and_a_near_miss_is_shown_whole() -> None:
    hit, miss = StopMatcher(("DEFGHIJ",)), StopMatcher(("DEFGHIJ",))
    assert "".join(run(hit, list("ABCDEFGHIJK"))) == "ABC"
    assert hit.matched == "DEFGHIJ"
    assert "".join(run(miss, list("ABCDEFGHIX"))) == "ABCDEFGHIX"


def test_r009_letters_that_begin_no_stop_are_shown_at_once() -> None:
    matcher = StopMatcher(("<|very-long-stop-marker|>",))
    assert [matcher.push(letter) for letter in "abcdefghijklmnopqrst"] == list("abcdefghijklmnopqrst")
    assert matcher.push("<|ve") == ""
    assert matcher.finish() == "<|ve"
    assert matcher.finish() == ""


def test_r015_stops_before_min_tokens_are_ignored_for_good() -> None:
    matcher = StopMatcher(("\n",))
    shown = "".join(matcher.push(char, match=position >= 5) for position, char in enumerate("a\nb\nc\nd"))
    assert (shown, matcher.matched) == ("a\nb\nc", "\n")


def test_a_stop_that_begins_in_ignored_text_counts_when_it_completes_later() -> None:
    matcher = StopMatcher(("END",))
    assert matcher.push("xEN", match=False) + matcher.push("Dy") == "x"
    assert matcher.matched == "END"


def test_without_stops_everything_passes() -> None:
    assert run(StopMatcher(()), ["a", "", "b"]) == ["a", "", "b", ""]


def test_stops_with_characters_that_mean_something_to_regular_expressions() -> None:
    for stop in ("]", "^", "-", "\\", "[a]", "😀"):
        matcher = StopMatcher((stop, "x-"))
        assert matcher.push(f"ab{stop}c") == "ab"
        assert matcher.matched == stop
