"""A vocabulary from the tokenizer files of a Hugging Face folder."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import tokenizers

from radixkv.errors import BadModelFile, UnsupportedModel
from radixkv.tokenizer.decoders import TokenDecoder, token_decoder
from radixkv.tokenizer.vocabulary import AddedToken, PlainEncoders, Vocabulary, surviving_merges

Json = dict[str, Any]

_BYTE_TOKEN: Final = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_SPECIAL_NAMES: Final = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


def folder_vocabulary(name: str, folder: Path) -> Vocabulary:
    """Build from tokenizer.json and, if present, tokenizer_config.json, special_tokens_map.json, chat_template.jinja.

    Raises BadModelFile (a file that is missing or does not parse) and UnsupportedModel (a tokenizer that is not BPE).
    """
    file = folder / "tokenizer.json"
    if not file.is_file():
        raise BadModelFile(str(file), "tokenizer", "a tokenizer.json in the model folder", "no such file")
    spec = _read_json(file)
    config = _read_json(folder / "special_tokens_map.json") | _read_json(folder / "tokenizer_config.json")
    model = spec.get("model") or {}
    _check_model(str(file), model)
    added = tuple(_added_tokens(spec, config))
    decoder = token_decoder(str(file), spec)
    special_texts = _special_texts(config)
    bos = _beginning(spec, config, special_texts, added)
    return Vocabulary(
        name=name,
        plain=_plain_encoders(str(file), spec, added),
        token_bytes=_token_bytes(model["vocab"], added, decoder),
        added=added,
        bos_id=bos[0],
        adds_bos=bos[1],
        strips_first_space=decoder.strips_first_space,
        chat_template=_chat_template(folder, config),
        special_texts=special_texts,
    )


def _read_json(file: Path) -> Json:
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadModelFile(str(file), "content", "JSON", str(error)) from error
    if not isinstance(value, dict):
        raise BadModelFile(str(file), "content", "a JSON object", type(value).__name__)
    return value


def _check_model(file: str, model: Json) -> None:
    kind = model.get("type")
    if kind != "BPE":
        raise UnsupportedModel(f"{file}: tokenizer model {kind!r} is not supported; supported: BPE")
    for entry, shape in (("vocab", dict), ("merges", list)):
        if not isinstance(model.get(entry), shape):
            raise BadModelFile(file, f"model.{entry}", shape.__name__, type(model.get(entry)).__name__)


def _added_tokens(spec: Json, config: Json) -> Iterator[AddedToken]:
    """Those of tokenizer.json, then those that only tokenizer_config.json lists."""
    listed = {entry["id"]: entry for entry in spec.get("added_tokens") or []}
    extra = {int(key): entry for key, entry in (config.get("added_tokens_decoder") or {}).items()}
    for token_id, entry in sorted((extra | listed).items()):
        yield AddedToken(
            token_id=token_id,
            text=entry["content"],
            special=bool(entry.get("special")),
            lstrip=bool(entry.get("lstrip")),
            rstrip=bool(entry.get("rstrip")),
            single_word=bool(entry.get("single_word")),
        )


def _plain_encoders(file: str, spec: Json, added: tuple[AddedToken, ...]) -> PlainEncoders:
    plain = {
        **spec,
        "added_tokens": [],
        "post_processor": None,
        "truncation": None,
        "padding": None,
        "model": _without_added(spec["model"], added),
    }
    pre_tokenizer, normalizer = plain.get("pre_tokenizer"), plain.get("normalizer")
    after_token = plain | {"pre_tokenizer": _unprefixed(pre_tokenizer, {"Metaspace": "first"})}
    going_on = plain | {
        "pre_tokenizer": _unprefixed(pre_tokenizer, {"Metaspace": None, "ByteLevel": None}),
        "normalizer": _unprefixed(normalizer, {"Prepend": None}),
    }
    first = _build(file, plain)
    return PlainEncoders(
        at_start=first,
        after_token=first if after_token == plain else _build(file, after_token),
        going_on=first if going_on == plain else _build(file, going_on),
    )


def _build(file: str, spec: Json) -> tokenizers.Tokenizer:
    try:
        return tokenizers.Tokenizer.from_str(json.dumps(spec, ensure_ascii=False))
    except Exception as error:  # the library raises no narrower class
        raise BadModelFile(file, "content", "a tokenizer that the tokenizers library reads", str(error)) from error


def _without_added(model: Json, added: tuple[AddedToken, ...]) -> Json:
    """The BPE model with no way to reach an added token: entries and merges that end in one are gone.

    Base symbols (single characters, byte tokens) and the unknown token stay: plain text needs them.
    """
    kept = {model.get("unk_token")} if not model.get("ignore_merges") else set()
    gone = {
        token.text
        for token in added
        if len(token.text) > 1 and not _BYTE_TOKEN.fullmatch(token.text) and token.text not in kept
    }
    if gone.isdisjoint(model["vocab"]):
        return model
    vocab = {text: token_id for text, token_id in model["vocab"].items() if text not in gone}
    pairs = ((line[0], line[1]) if isinstance(line, list) else _pair(line) for line in model["merges"])
    return {**model, "vocab": vocab, "merges": surviving_merges(pairs, vocab)}


def _pair(line: str) -> tuple[str, str]:
    left, _, right = line.partition(" ")
    return left, right


def _unprefixed(step: Any, kinds: Mapping[str, str | None]) -> Any:
    """A normalizer or pre-tokenizer that puts nothing before the first word; only steps of these kinds are changed.

    A kind's value, if any, is the `prepend_scheme` that it must have.
    """
    if not isinstance(step, dict):
        return step
    kind = str(step.get("type"))
    if kind == "Sequence":
        parts = "pretokenizers" if "pretokenizers" in step else "normalizers"
        return step | {parts: [_unprefixed(part, kinds) for part in step[parts]]}
    if kind not in kinds or kinds[kind] not in (None, step.get("prepend_scheme")):
        return step
    if kind == "Prepend":
        return {"type": "Sequence", "normalizers": []}
    if kind == "Metaspace":
        return step | {"prepend_scheme": "never"}
    return step | {"add_prefix_space": False}


def _token_bytes(vocab: Mapping[str, int], added: tuple[AddedToken, ...], decoder: TokenDecoder) -> tuple[bytes, ...]:
    size = 1 + max([*vocab.values(), *(token.token_id for token in added)], default=-1)
    table = [b""] * size
    for text, token_id in vocab.items():
        table[token_id] = decoder.token_bytes(text)
    for token in added:
        table[token.token_id] = token.text.encode()
    return tuple(table)


def _special_texts(config: Json) -> dict[str, str]:
    texts = {}
    for name in _SPECIAL_NAMES:
        value = config.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        if isinstance(text, str):
            texts[name] = text
    return texts


def _beginning(
    spec: Json, config: Json, special_texts: Mapping[str, str], added: tuple[AddedToken, ...]
) -> tuple[int | None, bool]:
    """The BOS id, and whether plain prompts begin with it.

    `add_bos_token` of tokenizer_config.json decides; without it, whether the post-processor puts a token in front.
    """
    ids = {token.text: token.token_id for token in added}
    in_front = _token_in_front(spec.get("post_processor"))
    bos_text = special_texts.get("bos_token", in_front)
    bos_id = None if bos_text is None else ids.get(bos_text, spec["model"]["vocab"].get(bos_text))
    asked = config.get("add_bos_token")
    adds = asked if isinstance(asked, bool) else in_front is not None and in_front == bos_text
    return bos_id, adds and bos_id is not None


def _token_in_front(post_processor: Any) -> str | None:
    """The special token that a TemplateProcessing post-processor puts before a single text."""
    if not isinstance(post_processor, dict):
        return None
    if post_processor.get("type") == "Sequence":
        found = (_token_in_front(part) for part in post_processor["processors"])
        return next((text for text in found if text is not None), None)
    if post_processor.get("type") != "TemplateProcessing" or not post_processor.get("single"):
        return None
    special = post_processor["single"][0].get("SpecialToken")
    return None if special is None else str(special["id"])


def _chat_template(folder: Path, config: Json) -> str | None:
    file = folder / "chat_template.jinja"
    if file.is_file():
        return file.read_text(encoding="utf-8")
    template = config.get("chat_template") or _read_json(folder / "chat_template.json").get("chat_template")
    if isinstance(template, list):  # several by name
        template = {entry["name"]: entry["template"] for entry in template}.get("default")
    return template if isinstance(template, str) else None
