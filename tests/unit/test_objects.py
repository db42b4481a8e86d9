"""Keys, labels and owners of odd objects, and the text of scalars."""

from __future__ import annotations

import sys
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum, IntEnum, StrEnum
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.errors import InvalidObjectError, KindexError
from kindex.keys import ObjectKey
from kindex.objects import (
    annotations_of,
    api_version_of,
    key_of,
    kind_of,
    label_text,
    labels_of,
    owner_references_of,
    resource_version_of,
    text_of,
    uid_of,
)


class Text(str):
    """A subclass of text, as some libraries make."""

    __slots__ = ()

    def __str__(self) -> str:
        """Give something else, as enums do."""
        return "not the value"


class Phase(StrEnum):
    """An enum that is text."""

    RUNNING = "Running"


class Colour(str, Enum):  # noqa: UP042 - its str() is not its value, unlike a StrEnum's
    """An enum whose str() is not its value."""

    RED = "red"


class Level(IntEnum):
    """An enum that is a number."""

    HIGH = 3


class Odd(Enum):
    """An enum of values that are not all scalars."""

    NESTED = Phase.RUNNING
    PAIR = (1, 2)


@pytest.mark.parametrize(
    ("metadata", "key"),
    [
        ({"namespace": "prod", "name": "web-1"}, ("prod", "web-1")),
        ({"namespace": "", "name": "node-1"}, ("", "node-1")),
        ({"namespace": None, "name": "node-1"}, ("", "node-1")),
        ({"name": "node-1"}, ("", "node-1")),
        ({"namespace": "a/b", "name": "c/d"}, ("a/b", "c/d")),
        ({"name": " "}, ("", " ")),
    ],
)
def test_the_key_is_namespace_and_name(metadata: dict[str, object], key: tuple[str, str]) -> None:
    """A missing, null or empty namespace is none; names are taken as they are, odd ones too."""
    assert key_of({"metadata": metadata}) == key
    assert key_of(OrderedDict(metadata=OrderedDict(metadata))) == key
    assert type(key_of({"metadata": metadata})) is ObjectKey


def test_a_key_holds_plain_text() -> None:
    """Subclasses of str do not get into a key, whatever they print as."""
    key = key_of({"metadata": {"namespace": Colour.RED, "name": Text("web-1")}})
    assert key == ("red", "web-1")
    assert [type(part) for part in key] == [str, str]


@pytest.mark.parametrize(
    ("obj", "sentence"),
    [
        (None, "None is no Kubernetes object, and has no key"),
        ({}, "an object of type dict has no metadata, and so no key"),
        ({"metadata": None}, "an object of type dict has no metadata, and so no key"),
        ("prod/web-1", "an object of type str has no metadata, and so no key"),
        (7, "an object of type int has no metadata, and so no key"),
        ([{}], "an object of type list has no metadata, and so no key"),
        (object(), "an object of type object has no metadata, and so no key"),
        (SimpleNamespace(kind="Pod"), "an object of type SimpleNamespace and kind Pod has no metadata, and so no key"),
        ({"metadata": {}}, "an object of type dict has no metadata.name, and so no key"),
        ({"metadata": "x"}, "an object of type dict has no metadata.name, and so no key"),
        ({"metadata": {"name": ""}}, "an object of type dict has no metadata.name, and so no key"),
        ({"metadata": {"namespace": "a"}}, "an object of type dict has no metadata.name, and so no key"),
        (
            {"kind": "Pod", "metadata": {"generateName": "web-"}},
            (
                "an object of type dict and kind Pod has no metadata.name, and so no key;"
                " the server makes it from generateName"
            ),
        ),
        (
            {"metadata": {"name": 7}},
            "an object of type dict has no key: its metadata.name is of type int, not text",
        ),
        (
            {"metadata": {"name": "x", "namespace": ["a"]}},
            "an object of type dict has no key: its metadata.namespace is of type list, not text",
        ),
        (
            {"kind": "PodList", "metadata": {}, "items": []},
            "an object of type dict and kind PodList is a list and has no key; hand over its items",
        ),
    ],
)
def test_an_object_without_a_key_is_refused_in_one_sentence(obj: object, sentence: str) -> None:
    """What has no name, or one that is not text, is an error that says what is wrong; never key ""."""
    with pytest.raises(InvalidObjectError) as refused:
        key_of(obj)
    assert str(refused.value) == sentence
    assert isinstance(refused.value, (KindexError, ValueError))


@pytest.mark.parametrize("labels", [None, "text", 7, ["app"], SimpleNamespace(app="web")])
def test_labels_that_are_no_map_are_no_labels(labels: object) -> None:
    """None, missing and odd labels are the same: an empty map."""
    for read, member in ((labels_of, "labels"), (annotations_of, "annotations")):
        assert dict(read({"metadata": {member: labels}})) == {}
        assert dict(read(SimpleNamespace(metadata={member: labels}))) == {}
        assert dict(read({"metadata": {}})) == dict(read({})) == dict(read(None)) == {}


def test_labels_are_handed_out_as_they_are() -> None:
    """Values are neither copied, checked nor changed."""
    labels: dict[str, Any] = {"app": None, "port": 8080}
    assert labels_of({"metadata": {"labels": labels}}) is labels
    assert annotations_of({"metadata": {"annotations": labels}}) is labels


@pytest.mark.parametrize("references", [None, "text", {}, 7])
def test_owners_that_are_no_list_are_no_owners(references: object) -> None:
    """Missing and odd owner references are none."""
    assert tuple(owner_references_of({"metadata": {"ownerReferences": references}})) == ()
    assert tuple(owner_references_of(SimpleNamespace(metadata={"ownerReferences": references}))) == ()
    assert tuple(owner_references_of(None)) == ()


@pytest.mark.parametrize("read", [uid_of, resource_version_of, api_version_of, kind_of])
@pytest.mark.parametrize("obj", [None, {}, {"metadata": None, "kind": None}, {"metadata": []}, "text"])
def test_what_is_missing_is_the_empty_text(read: Any, obj: object) -> None:
    """No UID, version or kind is "", also on what is no object at all."""
    assert read(obj) == ""


def test_a_version_that_yaml_read_as_a_number_is_its_text() -> None:
    """An unquoted resource version in a file is the same version."""
    assert resource_version_of({"metadata": {"resourceVersion": 1234}}) == "1234"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", "web"),
        ("", ""),
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-8080, "-8080"),
        (2**80, "1208925819614629174706176"),
        (0.5, "0.5"),
        (1.0, "1.0"),
        (float("nan"), ""),
        (float("-inf"), ""),
        pytest.param(10 ** (sys.int_info.default_max_str_digits + 1), "", id="too-long"),
        (Text("web"), "web"),
        (Phase.RUNNING, "Running"),
        (Colour.RED, "red"),
        (Level.HIGH, "3"),
        (Odd.NESTED, "Running"),
        (Odd.PAIR, ""),
        (date(2026, 1, 13), "2026-01-13"),
        (datetime(2026, 1, 13, 18, 38, 4, tzinfo=UTC), "2026-01-13T18:38:04Z"),
        (datetime(2026, 1, 13, 18, 38, 4, 120, tzinfo=UTC), "2026-01-13T18:38:04.000120Z"),
        (datetime(2026, 1, 13, 19, 38, 4, tzinfo=timezone(timedelta(hours=1))), "2026-01-13T18:38:04Z"),
        (datetime(2026, 1, 13, 18, 38, 4), "2026-01-13T18:38:04Z"),  # noqa: DTZ001 - naive on purpose
        (datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))), ""),
        ({}, ""),
        ([], ""),
        (("a",), ""),
        (b"web", ""),
        (object(), ""),
        (timedelta(1), ""),
    ],
)
def test_the_text_of_a_scalar(value: object, text: str) -> None:
    """Scalars have the text that Kubernetes gives them; everything else has none."""
    assert text_of(value) == text
    assert type(text_of(value)) is str


@given(
    st.none()
    | st.text()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.datetimes(timezones=st.none() | st.timezones())
    | st.dates()
    | st.binary()
    | st.lists(st.integers())
    | st.dictionaries(st.text(), st.none())
)
def test_text_of_never_raises(value: object) -> None:
    """Any value has a text, if an empty one."""
    assert type(text_of(value)) is str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("web", "web"),
        ("", ""),
        (None, ""),
        (Text("web"), "web"),
        (Colour.RED, "red"),
        (8080, None),
        (True, None),
        (1.5, None),
        (Level.HIGH, None),
        (["web"], None),
        ({}, None),
    ],
)
def test_the_text_of_a_label(value: object, text: str | None) -> None:
    """Null is the empty value, and what is not text is no label."""
    assert label_text(value) == text
    assert type(label_text(value)) in (str, type(None))
