"""read, jsonl, csv: files of the host, read row by row."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend_lang.errors import ProgramError
from frontend_lang.rows import CsvRows, JsonRows, Rows, iterated
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import FolderSource, MappingSource
from frontend_lang.values import MAX_TEXT
from scripted_programs import run_on

CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\0"), max_size=6)


class WatchedSource:
    """Keeps every stream that was opened."""

    def __init__(self, **texts: str) -> None:
        self._texts = MappingSource(texts)
        self.opened: list[TextIO] = []

    def open(self, path: str) -> TextIO:
        self.opened.append(self._texts.open(path))
        return self.opened[-1]

    @property
    def all_closed(self) -> bool:
        return bool(self.opened) and all(stream.closed for stream in self.opened)


def rows_of(text: str, kind: type[Rows] = JsonRows, **settings: Any) -> list[Any]:
    return list(kind(MappingSource({"f": text}), "f", **settings))


def row_failure(text: str, kind: type[Rows] = JsonRows) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        rows_of(text, kind)
    assert caught.value.code == "E0705"
    return caught.value


def value_with(source: str, **texts: str) -> Any:
    data = WatchedSource(**texts)
    try:
        return run_on(ScriptedRuntime(), source, data=data).value
    finally:
        assert data.all_closed


def failure_with(source: str, **texts: str) -> ProgramError:
    with pytest.raises(ProgramError) as caught:
        value_with(source, **texts)
    return caught.value


def test_jsonl_gives_one_value_per_line_and_skips_blank_lines() -> None:
    assert rows_of('{"a": 1}\n\n  \n[2]\n"x"\nnull') == [{"a": 1}, [2], "x", None]
    assert rows_of("") == []
    assert rows_of("\ufeff1\r\n2\r\n") == [1, 2]


@given(st.lists(st.dictionaries(st.text("ab"), st.integers(-9, 9) | CELL)))
def test_jsonl_reads_back_what_was_written(rows: list[dict[str, Any]]) -> None:
    assert rows_of("".join([json.dumps(row) + "\n" for row in rows])) == rows


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 1}\n{"a": \n', 2),
        ("1\n\n2 3\n", 3),
        ("NaN", 1),
        ("1\n" + "9" * 30, 2),
        ("[" * 100 + "]" * 100, 1),
        ('"' + "x" * (MAX_TEXT + 10) + '"', 1),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(text: str, line: int) -> None:
    assert row_failure(text).message.startswith(f"f:{line}:")


def test_csv_gives_records_of_texts_named_by_the_header() -> None:
    assert rows_of("q,a\n1,x\n\n2,\n", CsvRows) == [{"q": "1", "a": "x"}, {"q": "2", "a": ""}]
    assert rows_of("", CsvRows) == []
    assert rows_of("q,a\n", CsvRows) == []
    assert rows_of("q;a\n1;x,y", CsvRows, separator=";") == [{"q": "1", "a": "x,y"}]


def test_csv_fields_in_quotes_may_hold_separators_quotes_and_line_ends() -> None:
    assert rows_of('q,a\n"1,2","say ""hi""\nthere"\n', CsvRows) == [{"q": "1,2", "a": 'say "hi"\nthere'}]


@given(st.lists(st.tuples(CELL, CELL), max_size=5))
def test_csv_reads_back_what_was_written(rows: list[tuple[str, str]]) -> None:
    stream = io.StringIO()
    writer = csv.writer(stream, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([("a", "b"), *rows])
    assert rows_of(stream.getvalue(), CsvRows) == [{"a": a, "b": b} for a, b in rows]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "f:3: 1 fields where the header has 2"),
        ("a,b\n1,2,3\n", "f:2: 3 fields where the header has 2"),
        ("a,a\n", "f:1: 2 columns are named 'a'"),
        ("a,\n", "f:1: column 2 has no name in the header"),
        ('a\n"open', "f:2:1: a quoted field that is not closed"),
        ('a\n"x"y\n', "f:2: ',' expected after '\"'"),
    ],
)
def test_a_bad_row_is_named_by_file_and_line(text: str, message: str) -> None:
    assert row_failure(text, CsvRows).message == message


def test_a_quote_that_never_closes_does_not_read_the_file_into_memory() -> None:
    row_failure('a\n"' + "x\n" * MAX_TEXT, CsvRows)


def test_a_csv_field_may_be_as_long_as_a_string_and_the_limit_of_other_readers_stays() -> None:
    before = csv.field_size_limit()
    assert rows_of("a\n" + "x" * 200_000, CsvRows) == [{"a": "x" * 200_000}]
    assert csv.field_size_limit() == before


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b'"ok"\n"\xff"\n')
    source = FolderSource(tmp_path)
    with pytest.raises(ProgramError) as caught:
        list(JsonRows(source, "f"))
    assert caught.value.code == "E0705"
    assert "UTF-8" in caught.value.message


def test_rows_are_read_as_they_are_needed() -> None:
    data = WatchedSource(f="1\n2\nbroken")
    with iterated(JsonRows(data, "f"), "`for`") as rows:  # type: ignore[arg-type]
        reader: Iterator[Any] = iter(rows)
        assert [next(reader), next(reader)] == [1, 2]
    assert data.all_closed


def test_for_and_comprehension_go_through_rows() -> None:
    assert value_with("return [r.n * 2 for r in jsonl('f') if r.n > 1]", f='{"n": 1}\n{"n": 2}') == [4]
    source = "let all = []\nfor r in csv('f') as i { all = all + [\"@{i}@{r.q}\"] }\nreturn all"
    assert value_with(source, f="q\nx\ny") == ["0x", "1y"]


def test_rows_can_be_gone_through_twice() -> None:
    source = "let rows = jsonl('f')\nreturn [r for r in rows] + [r for r in rows]"
    assert value_with(source, f="1\n2") == [1, 2, 1, 2]


def test_the_file_is_closed_when_a_loop_ends_early_or_fails() -> None:
    assert value_with("for r in jsonl('f') { if r == 2 { return r } }\nreturn 0", f="1\n2\n3") == 2
    assert failure_with("for r in jsonl('f') { let x = 1 / (r - 2) }", f="1\n2\n3").code == "E0407"
    assert failure_with("return [1 / (r - 2) for r in jsonl('f')]", f="1\n2\n3").code == "E0407"
    error = failure_with("for r in jsonl('f') { }", f="1\n{\n3")
    assert (error.code, error.span is not None and error.span.line) == ("E0705", 1)


def test_a_loop_over_rows_keeps_to_the_limit_of_rounds() -> None:
    assert failure_with("for r in jsonl('f') { }", f="1\n" * 1001).code == "E0805"


@pytest.mark.parametrize(
    "use", ["len(rows)", "rows[0]", "rows + [1]", '"@{rows}"', "sort(rows)", "json(rows)", "rows.a"]
)
def test_rows_are_no_list_and_the_error_says_so(use: str) -> None:
    error = failure_with(f"let rows = jsonl('f')\nreturn {use}", f="1")
    assert error.code == "E0402"
    assert "rows" in error.message


def test_rows_among_the_names_of_a_run_are_said_in_words() -> None:
    result = run_on(ScriptedRuntime(), "let rows = jsonl('f')", data=MappingSource({"f": "1"}))
    assert json.loads(json.dumps(result.to_dict()))["vars"] == {"rows": "rows of f"}


def test_read_gives_the_whole_text() -> None:
    assert value_with("return read('f')", f="a\n b\n") == "a\n b\n"
    assert failure_with("return read('f')", f="x" * (MAX_TEXT + 1)).code == "E0808"


@pytest.mark.parametrize("call", ["read('g')", "jsonl('g')", "csv('g')", "read('../f')", "jsonl('/etc/passwd')"])
def test_a_file_that_the_host_does_not_give_is_an_error_where_it_is_named(call: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), f"let x = 1\nlet rows = {call}", data=MappingSource({"f": "1"}))
    assert caught.value.code == "E0703"
    assert caught.value.span is not None
    assert caught.value.span.line == 2


def test_a_host_that_gives_no_files_gives_none() -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), "return read('f')")
    assert caught.value.code == "E0703"


@pytest.mark.parametrize("separator", ["''", "',,'", '"\\n"', "'\"'"])
def test_csv_takes_one_plain_character_as_separator(separator: str) -> None:
    with pytest.raises(ProgramError) as caught:
        run_on(ScriptedRuntime(), f"let rows = csv('f', sep={separator})", data=MappingSource({"f": "a"}))
    assert caught.value.code == "E0401"
