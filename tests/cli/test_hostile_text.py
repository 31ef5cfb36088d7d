"""What a model, a prompt or a file's name contains cannot drive a terminal; a pipe gets it as it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from forced_decoder import ForcedDecoder
from radixkv.engine import startup
from radixkv.models import LoadedModel, ModelFiles

PROMPT, HOSTILE, SHOWN = "q", "a\x1b[2J\x07b", "a␛[2J␇b"


@pytest.fixture
def hostile_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model answers the prompt with an escape sequence."""
    load_model = startup.load_model

    def load(files: ModelFiles, dtype: str, *, progress: Any) -> LoadedModel:
        model = load_model(files, dtype, progress=progress)
        decoder = ForcedDecoder(model.decoder)
        tokenizer = startup.load_tokenizer(files)
        decoder.force(tokenizer.encode(PROMPT), [*tokenizer.encode(HOSTILE), model.config.eos_token_ids[0]])
        return replace(model, decoder=decoder)

    monkeypatch.setattr(startup, "load_model", load)


@pytest.mark.usefixtures("hostile_model")
@pytest.mark.parametrize("n", ["1", "2"])
def test_model_output_is_shown_as_symbols_on_a_terminal(radixkv, tiny, n: str) -> None:
    outcome = radixkv("generate", PROMPT, "--n", n, *tiny, terminal=True)
    assert outcome.code == 0, outcome.err
    assert outcome.out.count(SHOWN) == int(n)
    assert "\x1b" not in outcome.out


@pytest.mark.usefixtures("hostile_model")
@pytest.mark.parametrize("n", ["1", "2"])
def test_model_output_goes_unchanged_into_a_pipe(radixkv, tiny, n: str) -> None:
    assert radixkv("generate", PROMPT, "--n", n, *tiny).out.count(HOSTILE) == int(n)


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_hostile_file_name_and_its_text_are_shown_as_symbols(radixkv, tmp_path: Path, command: str) -> None:
    path = tmp_path / f"{HOSTILE}.rkv"
    for text in (None, f"let a = '{HOSTILE}", f"return {HOSTILE}"):
        if text is not None:
            path.write_text(text, encoding="utf-8")
        outcome = radixkv(command, str(path), terminal=True)
        assert outcome.code != 0
        assert "\x1b" not in outcome.out + outcome.err
        assert "[2J" in outcome.err


@pytest.mark.parametrize("command", ["models", "doctor"])
def test_a_hostile_cache_folder_is_shown_as_symbols(radixkv, tiny, tmp_path, monkeypatch, command: str) -> None:
    from radixkv.models import known_models

    folder = tmp_path / HOSTILE
    monkeypatch.setenv("RADIXKV_CACHE", str(folder))
    (model,) = known_models()
    model.destination.parent.mkdir(parents=True)
    with model.destination.open("wb") as sparse:
        sparse.truncate(model.num_bytes)
    outcome = radixkv(command, *(tiny if command == "doctor" else ()), terminal=True)
    assert outcome.code == 0, outcome.err
    assert SHOWN in outcome.out
    assert "\x1b" not in outcome.out
