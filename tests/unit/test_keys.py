"""ObjectKey: parts, text, order; and reading it from text."""

from __future__ import annotations

import pickle

import pytest

from kindex.errors import InvalidKeyError, KindexError
from kindex.keys import ObjectKey


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("prod/web-1", ObjectKey("prod", "web-1")),
        ("node-1", ObjectKey("", "node-1")),
        ("/node-1", ObjectKey("", "node-1")),
        ("a/ ", ObjectKey("a", " ")),
        ("é/ü.v1:x", ObjectKey("é", "ü.v1:x")),
    ],
)
def test_parse_reads_namespace_and_name(text: str, key: ObjectKey) -> None:
    """A key's text is its namespace, a slash and its name, or the bare name."""
    assert ObjectKey.parse(text) == key


@pytest.mark.parametrize("key", [ObjectKey("prod", "web-1"), ObjectKey("", "node-1"), ObjectKey("é", " a.b:c ")])
def test_parse_reads_back_what_str_wrote(key: ObjectKey) -> None:
    """Text and back is the same key, so work queues may keep the text."""
    assert ObjectKey.parse(str(key)) == key


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the name is empty"),
        ("/", "the name is empty"),
        ("prod/", "the name is empty"),
        ("a/b/c", "more than one slash"),
        ("//", "more than one slash"),
    ],
)
def test_text_that_is_no_key_is_refused_with_its_reason(text: str, reason: str) -> None:
    """Parse refuses a missing name and a second slash, and says which it was."""
    with pytest.raises(InvalidKeyError) as refused:
        ObjectKey.parse(text)
    assert refused.value.reason == reason
    assert refused.value.text == text
    assert isinstance(refused.value, (KindexError, ValueError))


@pytest.mark.parametrize("odd", [None, 7, b"prod/web-1", ("prod", "web-1")])
def test_parse_refuses_what_is_not_text(odd: object) -> None:
    """What is not text is a clear error, not an AttributeError."""
    with pytest.raises(InvalidKeyError, match="not text"):
        ObjectKey.parse(odd)  # type: ignore[arg-type]


def test_keys_with_the_same_joined_text_differ() -> None:
    """A slash inside a name makes no other key: keys are pairs, not joined text."""
    assert ObjectKey("", "a/b") != ObjectKey("a", "b")
    assert len({ObjectKey("", "a/b"), ObjectKey("a", "b")}) == 2


def test_keys_sort_by_namespace_then_name() -> None:
    """Order is by namespace first, though joined texts would sort otherwise."""
    keys = [ObjectKey("a-b", "x"), ObjectKey("a", "y"), ObjectKey("", "z"), ObjectKey("a", "x")]
    assert sorted(keys) == [ObjectKey("", "z"), ObjectKey("a", "x"), ObjectKey("a", "y"), ObjectKey("a-b", "x")]
    assert sorted(keys, key=str) != sorted(keys)


def test_a_key_is_its_pair() -> None:
    """A key unpacks, equals the plain pair with its hash, and survives pickling."""
    namespace, name = key = ObjectKey("prod", "web-1")
    assert (namespace, name) == key
    assert hash(key) == hash(("prod", "web-1"))
    assert pickle.loads(pickle.dumps(key)) == key  # noqa: S301 - our own bytes
