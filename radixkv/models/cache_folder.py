"""The user's cache folder: what can be made again, written so that no reader ever sees half a file."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

_FRESH_SECONDS: Final = 2.0  # a file as young as this may change again within one tick of its clock
_WORTH_REMEMBERING: Final = 1 << 24  # bytes: hashing less takes less than opening another file
_T = TypeVar("_T")


def cache_folder() -> Path:
    """`RADIXKV_CACHE`, or `radixkv` in the user's cache folder. Not made here."""
    if chosen := os.environ.get("RADIXKV_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "radixkv"


@contextmanager
def atomic_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write, which takes `target`'s place when the block ends well and vanishes when it raises.

    Several processes may write one target at once: each writes its own file, the last rename wins.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


class _Sealed(msgspec.Struct):
    """A JSON file that carries the digest of its own content."""

    sha256: str
    content: msgspec.Raw


def write_sealed(target: Path, content: object) -> None:
    """Write `content` as JSON with a digest, atomically."""
    encoded = msgspec.json.encode(content)
    sealed = _Sealed(hashlib.sha256(encoded).hexdigest(), msgspec.Raw(encoded))
    with atomic_file(target) as file:
        file.write(msgspec.json.encode(sealed))


def read_sealed(path: Path, content_type: type[_T]) -> _T | None:
    """What `write_sealed` wrote, or None if it is missing or damaged in any way."""
    try:
        sealed = msgspec.json.decode(path.read_bytes(), type=_Sealed)
        if hashlib.sha256(sealed.content).hexdigest() != sealed.sha256:
            return None
        return msgspec.json.decode(sealed.content, type=content_type)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return None


class _Remembered(msgspec.Struct):
    """The digest of a file as it was at that size and time."""

    path: str
    size: int
    mtime_ns: int
    sha256: str


def file_digest(path: Path) -> str:
    """SHA-256 of a file, hex; a large file's is remembered by (path, size, time of change), as it takes 1.6 s a GB."""
    path = path.resolve()
    status = path.stat()
    if status.st_size < _WORTH_REMEMBERING:
        return _hash(path)
    memory = cache_folder() / "digests" / f"{hashlib.sha256(os.fsencode(path)).hexdigest()[:32]}.json"
    known = read_sealed(memory, _Remembered)
    if known and (known.path, known.size, known.mtime_ns) == (str(path), status.st_size, status.st_mtime_ns):
        return known.sha256
    digest = _hash(path)
    if time.time() - status.st_mtime > _FRESH_SECONDS:
        _remember(memory, _Remembered(str(path), status.st_size, status.st_mtime_ns, digest))
    return digest


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remember(memory: Path, entry: _Remembered) -> None:
    try:
        write_sealed(memory, entry)
    except OSError:  # a cache that cannot be written costs time, nothing else
        return
