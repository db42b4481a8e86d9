"""Reading: pages and events of bytes, whatever the decoder makes of them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from kindex.decoding import DictDecoder, LazyDecoder, Page, TypeDecoder
from kindex.sources.base import BookmarkEvent, ErrorEvent, ObjectEvent
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.readings import Reading


class Named(msgspec.Struct):
    name: str


class Sparse(msgspec.Struct):
    """A type that keeps no version."""

    metadata: Named


class Placed(msgspec.Struct):
    """A type that not every object is of."""

    place: str


def line(event_type: str, **metadata: Any) -> bytes:
    return json.dumps({"type": event_type, "object": {"kind": "Pod", "metadata": metadata}}).encode()


@pytest.mark.parametrize("decoder", [LazyDecoder(), DictDecoder(), TypeDecoder(Sparse)])
def test_the_version_is_that_of_the_line(decoder: Any) -> None:
    """An event has its version even if the type of its object keeps none, so a watch can be resumed from it."""
    event = Reading(decoder).event(line("MODIFIED", name="a", resourceVersion="7"))
    assert isinstance(event, ObjectEvent)
    assert (event.type, event.resource_version) == ("MODIFIED", "7")


@pytest.mark.parametrize("version", [None, "", {}, []])
@pytest.mark.parametrize("decoder", [LazyDecoder(), DictDecoder(), TypeDecoder(Sparse)])
def test_a_version_that_is_none(decoder: Any, version: Any) -> None:
    """An object without a version has the empty one: never is it the text of what is no version."""
    event = Reading(decoder).event(line("ADDED", name="a", resourceVersion=version))
    assert isinstance(event, ObjectEvent)
    assert event.resource_version == ""


def test_odd_metadata() -> None:
    """Metadata that is no object has no version, if the decoder lets it pass at all."""
    event = Reading(DictDecoder()).event(b'{"type": "ADDED", "object": {"metadata": [1]}}')
    assert event == ObjectEvent("ADDED", {"metadata": [1]}, "")


def test_a_bookmark_is_no_object() -> None:
    """A bookmark whose object breaks the schema of its kind counts as well as any other."""
    text = line("BOOKMARK", resourceVersion="9", annotations={"k8s.io/initial-events-end": "true"})
    assert Reading(TypeDecoder(Sparse)).event(text) == BookmarkEvent("9", initial_events_end=True)


def test_an_object_that_is_skipped() -> None:
    """What the decoder skips moves the watch on, and is no error that would come again and again."""
    reading = Reading(TypeDecoder(Placed, on_decode_error="skip"))
    assert reading.event(line("MODIFIED", name="a", resourceVersion="8")) == BookmarkEvent("8")


def test_an_error_event() -> None:
    """An ERROR event is the error that its Status tells."""
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    event = Reading(LazyDecoder()).event(json.dumps({"type": "ERROR", "object": status}).encode())
    assert isinstance(event, ErrorEvent)
    assert (event.error.kind, str(event.error)) == (ErrorKind.EXPIRED, "410 Expired: too old")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"[]", b"null", b'{"type": "PATCHED", "object": {}}', b'{"type": "ADDED"}']
)
def test_what_is_no_event(text: bytes) -> None:
    """Anything else is an error of the protocol."""
    with pytest.raises(SourceError) as caught:
        Reading(LazyDecoder()).event(text)
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
    assert (page.objects, page.resource_version, page.continuation) == (
        [{"apiVersion": "v1", "kind": "Pod", "metadata": {}}],
        "7",
        "next",
    )


def test_a_decoder_serves_one_thread_at_a_time() -> None:
    """Decoders are not made for threads, so whoever decodes holds the lock of the reading."""
    held = []

    class Watched(DictDecoder):
        def decode_list(self, body: bytes) -> Page[dict[str, Any]]:
            held.append(reading._lock.locked())
            return super().decode_list(body)

        def decode_event(self, line: bytes, **given: Any) -> Any:
            held.append(reading._lock.locked())
            return super().decode_event(line, **given)

    reading = Reading(Watched())
    reading.page(b'{"items": []}')
    reading.event(line("ADDED", name="a"))
    assert held == [True, True]
    assert not reading._lock.locked()
