"""Faults in data files: the file, the line and the column where they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from frontend_lang.errors import ProgramError
from frontend_lang.scripted import ScriptedRuntime
from frontend_lang.sources import FolderSource
from scripted_programs import failure_of, run_on


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        ("jsonl", b"1\n2\n\n[3, \xff]\n", "d:4:5: not UTF-8 text: the byte 0xFF"),
        ("csv", b"a,b\n1,2\n3,\xe9\n", "d:3:3: not UTF-8 text: the byte 0xE9"),
        ("read", b"one\ntwo \x80", "d:2:5: not UTF-8 text: the byte 0x80"),
        ("jsonl", b'1\n\n2\n{"a": }\n', "d:4:7: not valid JSON: Expecting value"),
        ("jsonl", b'{"a": 1, "b": 2, "a": 3}\n', "d:1: not valid JSON: the key 'a' is given twice"),
        ("jsonl", b"[1e999]\n", "d:1: not valid JSON: 1e999 is beyond the range of a float"),
        ("jsonl", b"[-Infinity]\n", "d:1: not valid JSON: -Infinity is no number of JSON"),
        ("jsonl", b"1\n99999999999999999999\n", "d:2: an int beyond 64 bits"),
        ("csv", b'a,b\n1,2\n3,"x ""y\nz,5\n6,7\n', "d:3:3: a quoted field that is not closed"),
        ("csv", b'a,b\n"p\nq",5" disk\n3,"\n', "d:4:3: a quoted field that is not closed"),
        ("csv", b'a,b\n1,"x\ny" z\n', "d:3: ',' expected after '\"', in the row that begins in line 2"),
        ("csv", b"a,b\n1,2\n3\n", "d:3: 1 fields where the header has 2"),
    ],
)
def test_a_fault_has_its_place(tmp_path: Path, read: str, content: bytes, message: str) -> None:
    (tmp_path / "d").write_bytes(content)
    with pytest.raises(ProgramError) as caught:
        run_on(
            ScriptedRuntime(),
            f"for x in [x for x in [{read}('d')]] {{ for y in x {{ }} }}",
            data=FolderSource(tmp_path),
        )
    assert (caught.value.code, caught.value.message) == ("E0705", message)


def test_a_bad_byte_far_into_a_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "d").write_bytes(b'{"a": "x"}\n' * 5000 + b'{"a": "\xff"}\n')
    source = "let n = 0\nlet r = [1 for x in jsonl('d')]\nreturn len(r)"
    with pytest.raises(ProgramError, match=r"d:5001:8: not UTF-8"):
        run_on(ScriptedRuntime(), source, data=FolderSource(tmp_path))


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', "1e999", "[NaN]", '{"a":{"b":1,"b":1}}'])
def test_parse_takes_no_repeated_key_and_no_number_beyond_floats(text: str) -> None:
    assert failure_of(f"return parse('{text}')").code == "E0406"
