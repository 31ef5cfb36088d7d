"""The cache folder: atomic, checked, remade when damaged, and safe between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from radixkv.models import LoadedModel, converted, gguf_file, gguf_metadata, load_model, locate_model
from radixkv.models.cache_folder import atomic_file, cache_folder, file_digest, read_sealed, write_sealed
from tiny_gguf import write_tiny_gguf

LARGE = bytes(1 << 24)  # digests of smaller files are not remembered


def test_the_folder_is_chosen_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADIXKV_CACHE", "/somewhere/else")
    assert cache_folder() == Path("/somewhere/else")
    monkeypatch.delenv("RADIXKV_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert cache_folder() == Path("/caches/radixkv")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "radixkv"


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "file"

    def write_half() -> None:
        with atomic_file(target) as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_half()
    assert list(target.parent.iterdir()) == []
    with atomic_file(target) as file:
        file.write(b"whole")
        assert not target.exists()
    assert [path.read_bytes() for path in target.parent.iterdir()] == [b"whole"]


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"sha256":"0","content":{"a":1}}', None])
def test_a_sealed_file_is_read_only_if_undamaged(damage: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "file.json"
    write_sealed(path, {"a": 1})
    assert read_sealed(path, dict[str, int]) == {"a": 1}
    path.write_bytes(path.read_bytes().replace(b'"a":1', b'"a":2') if damage is None else damage)
    assert read_sealed(path, dict[str, int]) is None


def test_a_digest_is_remembered_until_the_file_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(LARGE + b"one")
    os.utime(path, (1_000_000, 1_000_000))
    first = file_digest(path)
    with monkeypatch.context() as patch:
        patch.setattr("hashlib.file_digest", lambda *_: pytest.fail("hashed again"))
        assert file_digest(path) == first
    path.write_bytes(LARGE + b"two")
    os.utime(path, (1_000_001, 1_000_001))
    assert file_digest(path) != first


def test_a_file_that_has_just_changed_is_not_remembered(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(LARGE + b"one")
    first = file_digest(path)
    times = path.stat().st_mtime_ns
    path.write_bytes(LARGE + b"two")
    os.utime(path, ns=(times, times))  # the clock has not ticked
    assert file_digest(path) != first


def test_a_gguf_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _gguf(tmp_path)
    first = _load(path)
    monkeypatch.setattr(gguf_file, "_read", lambda *_: pytest.fail("read again"))
    monkeypatch.setattr(converted, "build_parameters", lambda *_: pytest.fail("converted again"))
    assert _same(first, _load(path))
    assert gguf_metadata(path)["general.architecture"] == "llama"


def test_each_dtype_has_a_copy_of_its_own(tmp_path: Path) -> None:
    path = _gguf(tmp_path)
    assert _load(path).dtype == torch.float32
    assert load_model(locate_model(str(path)), "bfloat16").decoder.norm.weight.dtype == torch.bfloat16
    names = sorted(copy.name for copy in _entry(path).iterdir())
    assert names == ["bfloat16-v1.safetensors", "float32-v1.safetensors", "metadata-v1.json"]


@pytest.mark.parametrize("name", ["float32-v1.safetensors", "metadata-v1.json"])
@pytest.mark.parametrize("kind", ["cut", "empty", "flipped", "gone"])
def test_a_damaged_copy_is_made_again(name: str, kind: str, tmp_path: Path) -> None:
    path = _gguf(tmp_path)
    first = _load(path)
    copy = _entry(path) / name
    data = copy.read_bytes()
    copy.unlink()  # the first model still has the old one mapped
    if kind != "gone":
        middle = len(data) * 2 // 3
        flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
        copy.write_bytes({"cut": data[:-1], "empty": b"", "flipped": flipped}[kind])
    assert _same(first, _load(path))
    assert copy.read_bytes() == data


def test_a_copy_for_another_config_is_made_again(tmp_path: Path) -> None:
    path = _gguf(tmp_path)
    first = _load(path)
    write_tiny_gguf(tmp_path / "other.gguf", layers=2)
    os.replace(_entry(_loaded(tmp_path / "other.gguf")) / "float32-v1.safetensors", _copy(path))
    assert _same(first, _load(path))


def test_without_a_writable_folder_the_model_loads_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    path = _gguf(tmp_path)
    first = _load(path)
    (tmp_path / "file").touch()
    monkeypatch.setenv("RADIXKV_CACHE", str(tmp_path / "file" / "cache"))
    assert _same(first, _load(path))
    assert "cannot keep the converted weights" in caplog.text


@pytest.mark.processes
def test_processes_that_convert_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    path = _gguf(tmp_path)
    code = "import sys; from radixkv.models import *; load_model(locate_model(sys.argv[1]), 'float32')"
    running = [subprocess.Popen([sys.executable, "-c", code, str(path)]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert sorted(copy.name for copy in _entry(path).iterdir()) == ["float32-v1.safetensors", "metadata-v1.json"]
    assert _load(path).weights_bytes > 0


def _gguf(folder: Path) -> Path:
    write_tiny_gguf(folder / "model.gguf", tensor_type="Q8_0")
    return folder / "model.gguf"


def _load(path: Path) -> LoadedModel:
    return load_model(locate_model(str(path)), "float32")


def _loaded(path: Path) -> Path:
    _load(path)
    return path


def _entry(path: Path) -> Path:
    return cache_folder() / "converted" / file_digest(path)


def _copy(path: Path) -> Path:
    return _entry(path) / "float32-v1.safetensors"


def _same(one: LoadedModel, other: LoadedModel) -> bool:
    pairs = zip(one.decoder.state_dict().values(), other.decoder.state_dict().values(), strict=True)
    return one.digest == other.digest and all(torch.equal(a, b) for a, b in pairs)
