"""What a server's bytes say: pages and events, their objects made by a decoder."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

import msgspec

from kindex import envelopes
from kindex.decoding import Decoder
from kindex.errors import DecodeError
from kindex.lazy import LazyObject
from kindex.objects import resource_version_of, text_of
from kindex.sources.base import BookmarkEvent, ErrorEvent, ObjectEvent, Page, WatchEvent
from kindex.sources.errors import ErrorKind, SourceError

T = TypeVar("T")


class Reading(Generic[T]):
    """Reads the bodies of lists and the lines of watches. Any thread may ask; the decoder serves one at a time.

    Args:
        decoder: makes the objects.

    >>> from kindex.decoding import DictDecoder
    >>> reading = Reading(DictDecoder())
    >>> reading.event(b'{"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "9"}}}')
    BookmarkEvent(resource_version='9', initial_events_end=False)
    """

    def __init__(self, decoder: Decoder[T]) -> None:
        self._decoder = decoder
        self._lock = threading.Lock()  # a decoder is for one thread at a time

    def page(self, body: bytes) -> Page[T]:
        """Read one page of a list.

        Raises:
            SourceError: it is no list, or an item is no object; a Status is the error that it tells.
        """
        try:
            with self._lock:
                page = self._decoder.decode_list(body)
        except DecodeError as error:
            raise (_status_in(body) or _protocol_error(error)) from error
        return Page(page.objects, page.resource_version, page.continue_token)

    def event(self, line: bytes) -> WatchEvent[T]:
        """Read one line of a watch.

        An object that the decoder skips counts as a bookmark: the watch is past it, and the store keeps what it has.

        Raises:
            SourceError: it is no event, or its object is none; a bare Status is the error that it tells.
        """
        try:
            with self._lock:
                event = self._decoder.decode_event(line)
        except DecodeError as error:
            raise (_status_in(line) or _protocol_error(error)) from error
        match event:
            case envelopes.ObjectEvent(type=change, object=obj):
                return ObjectEvent(change, obj, _version_of(obj, line))
            case envelopes.BookmarkEvent(resource_version=version, initial_events_end=ends):
                return BookmarkEvent(version, ends)
            case envelopes.SkippedEvent(resource_version=version):
                return BookmarkEvent(version)
            case envelopes.ErrorEvent(status=status):
                return ErrorEvent(SourceError.of_status(status.raw))


class _Metadata(msgspec.Struct):
    resource_version: Any = msgspec.field(name="resourceVersion", default=None)  # Any: what was sent


class _Object(msgspec.Struct):
    metadata: _Metadata | None = None


class _Line(msgspec.Struct):
    object: _Object | None = None


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_json = msgspec.json.Decoder().decode


def _version_of(obj: object, line: bytes) -> str:
    """Give the version of an object from its line: what a decoder makes of it need not have one."""
    if type(obj) is LazyObject:
        return resource_version_of(obj)
    try:
        decoded = _decode_line(line).object
    except msgspec.MsgspecError:  # odd metadata, which the decoder let pass
        return resource_version_of(obj)
    return text_of(decoded.metadata.resource_version) if decoded and decoded.metadata else ""


def _status_in(text: bytes) -> SourceError | None:
    """Give the error that a Status tells where something else was due; proxies answer so with status 200."""
    try:
        found = _decode_json(text) if b'"Status"' in text else None
    except (msgspec.MsgspecError, RecursionError):
        return None
    return SourceError.of_status(found) if isinstance(found, dict) and found.get("kind") == "Status" else None


def _protocol_error(error: DecodeError) -> SourceError:
    return SourceError(str(error), kind=ErrorKind.PROTOCOL)
