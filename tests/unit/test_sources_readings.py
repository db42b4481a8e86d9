"""Reading: pages and events of bytes, whatever the decoder makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from kindex import DecodeError, ObjectKey
from kindex.decoding import Decoder, DictDecoder, LazyDecoder, TypeDecoder
from kindex.sources import BookmarkEvent, ErrorEvent, ErrorKind, ObjectEvent, Page, Reading, SkippedEvent, SourceError


class Named(msgspec.Struct):
    name: str


class Sparse(msgspec.Struct):
    """A type that keeps no version."""

    metadata: Named


class Placed(msgspec.Struct):
    """A type that not every object is of."""

    place: str


MAKERS: dict[str, Callable[[], Decoder[Any]]] = {
    "lazy": LazyDecoder,
    "paths": lambda: LazyDecoder(["spec.nodeName", "spec.containers[*].image"]),
    "dict": DictDecoder,
    "type": lambda: TypeDecoder(Sparse),
}
every_decoder = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def event(event_type: object, obj: object) -> bytes:
    return json.dumps({"type": event_type, "object": obj}).encode()


def line(event_type: str, **metadata: Any) -> bytes:
    return event(event_type, {"kind": "Pod", "metadata": metadata})


@every_decoder
@pytest.mark.parametrize("change", ["ADDED", "MODIFIED", "DELETED"])
def test_an_event_brings_its_object_and_the_version_of_the_line(make: Any, change: str) -> None:
    """An event has its version even if the type of its object keeps none, so a watch can be resumed from it."""
    found = Reading(make()).event(line(change, name="a", resourceVersion="7") + b"\n")
    assert isinstance(found, ObjectEvent)
    name = found.obj.metadata.name if isinstance(found.obj, Sparse) else found.obj["metadata"]["name"]
    assert (found.type, name, found.resource_version) == (change, "a", "7")


@every_decoder
@pytest.mark.parametrize("version", [None, "", {}, []])
def test_a_version_that_is_none(make: Any, version: Any) -> None:
    """An object without a version has the empty one: never is it the text of what is no version."""
    found = Reading(make()).event(line("ADDED", name="a", resourceVersion=version))
    assert isinstance(found, ObjectEvent)
    assert found.resource_version == ""


def test_odd_metadata() -> None:
    """Metadata that is no object has no version, if the decoder lets it pass at all."""
    found = Reading(DictDecoder()).event(b'{"type": "ADDED", "object": {"metadata": [1]}}')
    assert found == ObjectEvent("ADDED", {"metadata": [1]}, "")


JOB = {"kind": "Job", "metadata": {"resourceVersion": "9"}, "spec": {"template": {"spec": {"containers": None}}}}


@every_decoder
@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (JOB, BookmarkEvent("9")),
        ({"metadata": {"resourceVersion": "9", "annotations": None}}, BookmarkEvent("9")),
        (
            {"metadata": {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}},
            BookmarkEvent("9", initial_events_end=True),
        ),
        ({"metadata": {"annotations": {"k8s.io/initial-events-end": "false"}}}, BookmarkEvent("")),
        ({"metadata": "odd"}, BookmarkEvent("")),
        ({}, BookmarkEvent("")),
    ],
)
def test_a_bookmark_is_never_an_object(make: Any, obj: object, expected: BookmarkEvent) -> None:
    """Only its version and whether the initial events end are read, whatever else it has or lacks."""
    assert Reading(make()).event(event("BOOKMARK", obj)) == expected


@every_decoder
def test_an_error_is_what_its_status_tells(make: Any) -> None:
    """An ERROR's object is a Status; one without a Status is an error all the same."""
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    found = Reading(make()).event(event("ERROR", gone))
    assert isinstance(found, ErrorEvent)
    assert (found.error.kind, str(found.error)) == (ErrorKind.EXPIRED, "410 Expired: too old")
    for odd in (None, "boom", {"code": "410", "details": 5}):
        found = Reading(make()).event(event("ERROR", odd))
        assert isinstance(found, ErrorEvent)
        assert found.error.kind is ErrorKind.PROTOCOL


@pytest.mark.parametrize("change", ["ADDED", "MODIFIED", "DELETED"])
def test_an_object_that_is_left_out(change: str) -> None:
    """The event still says which object it was and its version, so that nothing has to be listed again."""
    decoder = TypeDecoder(Placed, on_decode_error="skip")
    found = Reading(decoder).event(line(change, name="a", namespace="prod", resourceVersion="8"))
    assert isinstance(found, SkippedEvent)
    assert (found.type, found.key, found.resource_version) == (change, ObjectKey("prod", "a"), "8")
    assert isinstance(found.error, DecodeError)
    assert decoder.skipped == 1
    with pytest.raises(SourceError):
        Reading(TypeDecoder(Placed)).event(line(change, name="a", resourceVersion="8"))


def test_an_object_without_a_name_that_is_left_out() -> None:
    """It cannot be in the store; its version counts nevertheless."""
    found = Reading(TypeDecoder(Placed, on_decode_error="skip")).event(line("MODIFIED", resourceVersion="8"))
    assert isinstance(found, SkippedEvent)
    assert (found.key, found.resource_version) == (None, "8")


@every_decoder
@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\n",
        b"garbage",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b'{"object": {}}',
        b'{"type": "ADDED"}',
        b'{"type": "ADDED", "object": 5}',
        b'{"type": "ADDED", "object": {"metadata": {"name": "a\xff"}}}',
        b'{"type": "ADDED", "object": {"kind": "Table"}}',
        b'{"type": "PATCHED", "object": {}}',
        b'{"type": 5, "object": {}}',
        b'{"type": [], "object": {}}',
        b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "\xff"}}}',
        b'{"type": "BOOKMARK", "object": 5}',
        b'{"type": "BOOKMARK"}',
        b'{"type": "ERROR", "object": {"message": "\xff"}}',
    ],
)
def test_what_is_no_event(make: Any, text: bytes) -> None:
    """Blank lines, other JSON, unknown types and broken objects are errors of the protocol, nothing else."""
    with pytest.raises(SourceError) as caught:
        Reading(make()).event(text)
    assert caught.value.kind is ErrorKind.PROTOCOL


DEEP = b"[" * 100_000 + b'"Status"'


@pytest.mark.parametrize(
    "text", [b"", b"<html>", b"[]", b'{"items": {}}', b'{"kind": "Pod"}', b'{"items": [1]}', b'"Status"', DEEP]
)
def test_what_is_no_list(text: bytes) -> None:
    """A body that is no list is an error of the protocol: an empty page would delete everything."""
    with pytest.raises(SourceError) as caught:
        Reading(LazyDecoder()).page(text)
    assert caught.value.kind is ErrorKind.PROTOCOL


def test_a_page() -> None:
    """A page has the version of the list and the token for the next."""
    metadata = {"resourceVersion": "7", "continue": "next"}
    text = json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": [{"metadata": {}}]})
    page = Reading(DictDecoder()).page(text.encode())
    assert page == Page([{"apiVersion": "v1", "kind": "Pod", "metadata": {}}], "7", "next")


def test_a_decoder_serves_one_thread_at_a_time() -> None:
    """Decoders are not made for threads, so whoever decodes holds the lock of the reading."""
    held = []

    class Watched(DictDecoder):
        def decode_list(self, body: bytes) -> Page[dict[str, Any]]:
            held.append(reading._lock.locked())
            return super().decode_list(body)

        def decode(self, text: bytes, **given: Any) -> Any:
            held.append(reading._lock.locked())
            return super().decode(text, **given)

    reading = Reading(Watched())
    reading.page(b'{"items": []}')
    reading.event(line("ADDED", name="a"))
    assert held == [True, True]
    assert not reading._lock.locked()
