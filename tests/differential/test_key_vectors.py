"""Keys against the answers of client-go."""

from __future__ import annotations

import pytest

from kindex.errors import InvalidKeyError, InvalidObjectError
from kindex.keys import ObjectKey
from kindex.objects import key_of
from tests.vectors_reader import Case, read_vectors

VECTORS = read_vectors("keyfunc")


def _cases(kind: str) -> list[Case]:
    return [case for case in VECTORS.cases if case["kind"] == kind]


def test_every_case_that_the_header_counts_is_read() -> None:
    """A cut file would be noticed."""
    assert {tag: len(VECTORS.of_tag(tag)) for tag in VECTORS.tags()} == VECTORS.header["tags"]
    assert len(VECTORS.cases) == VECTORS.header["cases"]
    assert {case["kind"] for case in VECTORS.cases} == {
        *("key", "split", "join"),
        # Go types that kindex does not have.
        *("explicit", "tombstone", "tombstone-plain"),
    }


def test_an_object_has_the_key_that_go_gives_it() -> None:
    """A named object's key prints as Go's does; where namespace or name is missing or no text, see the next test."""
    differences = {
        case["id"]: (case["key"], str(key_of(case["obj"])))
        for case in _cases("key")
        if case["ok"] and _is_well_named(case["obj"]) and str(key_of(case["obj"])) != case["key"]
    }

    assert differences == {}


def test_an_object_that_cannot_be_told_from_others_has_no_key() -> None:
    """What Go refuses, what has no name, and what has a name or namespace that is no text is an error."""
    without_key = [case["obj"] for case in _cases("key") if not case["ok"] or not _is_well_named(case["obj"])]

    assert len(without_key) > 20
    for obj in without_key:
        with pytest.raises(InvalidObjectError):
            key_of(obj)


def test_a_key_is_split_where_go_splits_it() -> None:
    """A text with at most one slash and a name is the pair that Go gives; any other text is an error."""
    pairs = {case["in"]: (case["ns"], case["name"]) for case in _cases("split") if case["ok"] and case["name"]}
    refused = [case["in"] for case in _cases("split") if case["in"] not in pairs]

    assert {text: tuple(ObjectKey.parse(text)) for text in pairs} == pairs
    assert any("/" in text for text in pairs)
    assert "a/b/c" in refused
    for text in refused:
        with pytest.raises(InvalidKeyError):
            ObjectKey.parse(text)


def test_a_key_prints_as_go_joins_it() -> None:
    """Namespace and name are joined by a slash, and no namespace is the bare name."""
    joined = {(case["ns"], case["name"]): case["key"] for case in _cases("join")}

    assert joined == {(namespace, name): str(ObjectKey(namespace, name)) for namespace, name in joined}


def _is_well_named(obj: object) -> bool:
    """Tell whether *obj* has a name that is text and not empty, and a namespace that is text or missing."""
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    if not isinstance(metadata, dict):
        return False
    name, namespace = metadata.get("name"), metadata.get("namespace")
    return isinstance(name, str) and bool(name) and (namespace is None or isinstance(namespace, str))
