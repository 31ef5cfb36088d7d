"""Python types: what they are constrained to, what the text becomes, what is refused."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Optional, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Field

from frontend_lang import ProgramError
from frontend_lang.grammars import Grammar
from frontend_lang.python_types import Float, Int, List, Regex, Schema, Str, value_type_of
from frontend_lang.runtime import Choice, JsonSchema
from frontend_lang.runtime import Regex as RegexConstraint


@dataclass
class Step:
    thought: str
    count: Annotated[int, msgspec.Meta(ge=1)]
    note: str | None = None
    kids: list[Step] = field(default_factory=list)


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Mixed(enum.Enum):
    A = "a"
    TWO = 2


class Movie(TypedDict):
    title: str


class Pair(NamedTuple):
    a: int
    b: str


class Struct(msgspec.Struct):
    a: int


class User(BaseModel):
    age: int = Field(ge=1, le=150)
    kind: Literal["x", "y"]
    score: Optional[float] = None  # noqa: UP045 - both spellings are in use
    friends: list[User] = []


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]
    age: int


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Unique(BaseModel):
    tags: set[str]


@dataclass
class Unchecked:
    age: Annotated[int, Field(ge=1)]


@pytest.mark.parametrize(
    ("python_type", "text", "value"),
    [
        (int, "-5", -5),
        (float, "3", 3.0),
        (bool, "true", True),
        (None, "null", None),
        (str | None, '"a"', "a"),
        (list[int], "[1,2]", [1, 2]),
        (dict, '{"a":[1]}', {"a": [1]}),
        (dict[str, int], '{"a":1}', {"a": 1}),
        (dict[str, User], '{"a":{"age":2,"kind":"x"}}', {"a": User(age=2, kind="x")}),
        (Any, "[null]", [None]),
        (Literal["a", 1], "1", 1),
        (Literal["a", "b"], "b", "b"),
        (Colour, "blue", Colour.BLUE),
        (Mixed, "2", Mixed.TWO),
        (Annotated[int, msgspec.Meta(ge=1, le=5)], "5", 5),
        (Step, '{"thought":"x","count":1,"kids":[{"thought":"y","count":2}]}', Step("x", 1, None, [Step("y", 2)])),
        (Movie, '{"title":"x"}', {"title": "x"}),
        (Pair, '[1,"a"]', Pair(1, "a")),
        (Struct, '{"a":1}', Struct(1)),
        (User, '{"age":2,"kind":"x"}', User(age=2, kind="x")),
        (list[User], '[{"age":2,"kind":"x"}]', [User(age=2, kind="x")]),
        (User | None, "null", None),
        (User | Struct, '{"a":1}', Struct(1)),
        (Owner, '{"pet":{"kind":"dog","age":3}}', Owner(pet=Dog(kind="dog", age=3))),
        (Int(1, 5), "3", 3),
        (Float(min=0), "0.5", 0.5),
        (Str(max=3), "a\n", "a\n"),
        (Regex(r"\d{4}"), "2020", "2020"),
        (List(User, max=1), "[]", []),
        (List(Str(max=2)), '["ab"]', ["ab"]),
        (Schema({"type": "array", "items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "integer"}}}), "[1]", [1]),
        (List(Schema({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}})), "[1]", [1]),
    ],
)
def test_the_text_that_a_type_allows_becomes_its_value(python_type: Any, text: str, value: object) -> None:
    found = value_type_of(python_type)
    assert found.constraint is not None
    assert Grammar.of(found.constraint).matches(text)
    assert found.parse(text) == value


def test_types_of_texts_are_generated_as_they_are() -> None:
    assert value_type_of(str).constraint is None
    assert value_type_of(str).parse('"a"') == '"a"'
    assert value_type_of(Str(max=3)).constraint == RegexConstraint("(?s:.{0,3})")
    assert value_type_of(Colour).constraint == Choice(("red", "blue"))
    assert isinstance(value_type_of(Literal["a", 1]).constraint, JsonSchema)


@pytest.mark.parametrize(
    ("python_type", "text"),
    [
        (Int(1, 5), "6"),
        (List(int, max=1), "[1,2]"),
        (Step, '{"thought":"x","count":0}'),
        (Step, '{"thought":"x","count":1,"more":1}'),
        (User, '{"age":151,"kind":"x"}'),
        (Owner, '{"pet":{"kind":"cat","age":3}}'),
        (Colour, "green"),
    ],
)
def test_what_does_not_fit_cannot_be_generated(python_type: Any, text: str) -> None:
    constraint = value_type_of(python_type).constraint
    assert constraint is not None
    assert not Grammar.of(constraint).matches(text)


@pytest.mark.parametrize(
    ("python_type", "words"),
    [
        (Unique, "type Unique: JSON schema, at /properties/tags/uniqueItems"),
        (Unchecked, "type Unchecked: age: the annotation"),
        (bytes, "type bytes"),
        (object, "type object: it cannot be generated"),
        (list[bytes], "bytes"),
        (Schema({"properties": {"a": {"not": {}}}}), "/properties/a/not"),
    ],
)
def test_what_cannot_be_kept_is_refused_naming_type_and_field(python_type: Any, words: str) -> None:
    with pytest.raises(ProgramError) as caught:
        value_type_of(python_type)
    assert caught.value.code == "E0506"
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("python_type", "text", "words"),
    [
        (Step, '{"thought":', "is no Step"),
        (User, '{"age":151,"kind":"x"}', "less than or equal to 150"),
        (Step, '{"thought":"x","count":0}', "$.count"),
        (Colour, "green", "Colour"),
        (int, "x", "is no int"),
    ],
)
def test_a_text_that_is_no_value_shows_itself_and_what_was_expected(python_type: Any, text: str, words: str) -> None:
    with pytest.raises(ProgramError) as caught:
        value_type_of(python_type).parse(text)
    assert caught.value.code == "E0609"
    assert words in caught.value.message
