"""Every error that radixkv raises on purpose.

    RadixKVError
    |-- InvalidRequest           a field of a request is wrong: field, value, allowed
    |   |-- RequestTooLarge      a request that can never fit: the numbers and the way out
    |   `-- ConstraintError      a constraint is malformed, needs too much, or uses what is not supported
    |-- ConfigurationError       a setting is wrong or cannot be met at start
    |   `-- NotInThisVersion     a setting that only a later version will have
    |-- ModelError               a model file cannot be used
    |   |-- UnsupportedModel     architecture, vocabulary or feature that we do not have
    |   `-- BadModelFile         missing, truncated or contradictory data: file, tensor, expected, found
    |-- ChatTemplateError        the model's chat template refused the messages
    |-- OutOfBlocks              the pool is short: needed, free, evictable
    |-- RequestFailed            a running request ended by an error inside the engine
    `-- EngineClosed             the engine no longer takes work

Errors carry their facts as attributes; the message is made from them, so that a
server or a command line can present them its own way.
"""

from __future__ import annotations

from enum import StrEnum


class RadixKVError(Exception):
    """Base of all errors raised on purpose; its text is fit to show to a user."""


class _Described(RadixKVError):
    """An error whose text is made of its facts. It keeps the facts as `args`, so that it can be pickled."""

    def __init__(self, message: str, *facts: object) -> None:
        super().__init__(*facts)
        self.message = message

    def __str__(self) -> str:
        return self.message


class InvalidRequest(_Described):
    """A field of a request has a value outside its range."""

    def __init__(self, field: str, value: object, allowed: str) -> None:
        super().__init__(f"{field}: got {value!r}, expected {allowed}", field, value, allowed)
        self.field = field
        self.value = value
        self.allowed = allowed


class RequestTooLarge(InvalidRequest):
    """A request needs more tokens than the pool or the context can ever hold."""

    def __init__(self, field: str, needed: int, available: int, limit: str, way_out: str) -> None:
        super().__init__(field, needed, f"at most {available} tokens ({limit}); {way_out}")
        self.args = (field, needed, available, limit, way_out)
        self.needed = needed
        self.available = available


class ConstraintKind(StrEnum):
    """What is wrong with a constraint."""

    INVALID = "invalid"  # it is no regex, schema or grammar, or allows no text at all
    BUDGET = "budget"  # compiling it, or following it while generating, takes too much time or memory
    UNSUPPORTED = "unsupported"  # it uses a keyword that we would have to ignore


class ConstraintError(InvalidRequest):
    """A constraint cannot be used. `field`: `regex`, `json_schema`, `lark` or `choice`; `detail`: why and where.

    It is never ignored: nothing is generated, or what runs under it ends.
    """

    def __init__(self, kind: ConstraintKind, field: str, detail: str) -> None:
        super().__init__(field, "", "")
        self.args = (kind, field, detail)
        self.kind = kind
        self.detail = detail
        self.message = f"{field}: {detail}"


class ConfigurationError(RadixKVError):
    """A setting is wrong, or the machine cannot meet it."""


class NotInThisVersion(ConfigurationError):
    """A setting that is part of the design and that this version does not have."""


class ModelError(RadixKVError):
    """A model file cannot be used."""


class UnsupportedModel(ModelError):
    """The file is fine, but it asks for something that radixkv does not have."""


class BadModelFile(_Described, ModelError):
    """The file is missing, truncated or contradicts itself."""

    def __init__(self, file: str, subject: str, expected: str, found: str) -> None:
        super().__init__(f"{file}: {subject}: expected {expected}, found {found}", file, subject, expected, found)
        self.file = file
        self.subject = subject
        self.expected = expected
        self.found = found


class ChatTemplateError(RadixKVError):
    """The model's chat template refused the messages; the text is the template's own."""


class OutOfBlocks(_Described):
    """The block pool cannot give the blocks that were asked for."""

    def __init__(self, needed: int, free: int, evictable: int) -> None:
        super().__init__(
            f"out of KV blocks: {needed} needed, {free} free, {evictable} evictable; "
            "raise --kv-memory or lower --max-running",
            needed,
            free,
            evictable,
        )
        self.needed = needed
        self.free = free
        self.evictable = evictable


class RequestFailed(RadixKVError):
    """A running request was ended by an error inside the engine; `__cause__` has it."""


class EngineClosed(RadixKVError):
    """The engine was closed and takes no more work."""
