"""What a server's bytes say: pages and events, their objects made by a decoder."""

from __future__ import annotations

import threading
from typing import Any, Generic, TypeVar

import msgspec

from kindex.decoding import Decoder
from kindex.envelopes import Page, bookmark_of, event_of, of_line
from kindex.errors import DecodeError
from kindex.lazy import LazyObject
from kindex.objects import resource_version_of, text_of
from kindex.path_decoding import JSON_ERRORS
from kindex.sources.base import BookmarkEvent, ErrorEvent, ObjectEvent, ObjectEventType, SkippedEvent, WatchEvent
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
                return self._decoder.decode_list(body)
        except DecodeError as error:
            raise (_status_in(body) or _protocol_error(error)) from error

    def event(self, line: bytes) -> WatchEvent[T]:
        """Read one line of a watch. A bookmark is never taken for an object, nor is an error's Status.

        Raises:
            SourceError: it is no event, or its object is none; a bare Status is the error that it tells.
        """
        try:
            event_type, text = event_of(line)
            match event_type:
                case "BOOKMARK":
                    return BookmarkEvent(*bookmark_of(text))
                case "ERROR":
                    return ErrorEvent(SourceError.of_status(_decode_json(text)))
                case change:
                    return self._changed(change, bytes(text))
        except DecodeError as error:
            raise (_status_in(line) or _protocol_error(error)) from error
        except JSON_ERRORS as error:
            raise _protocol_error(of_line(line, str(error))) from error

    def _changed(self, change: ObjectEventType, text: bytes) -> ObjectEvent[T] | SkippedEvent:
        """Make the event of a change to an object."""
        with self._lock:
            try:
                obj = self._decoder.decode(text)
            except DecodeError as error:
                left_out = self._decoder.leave_out(text)
                if left_out is None:
                    raise
                key = left_out.key if left_out.name else None
                return SkippedEvent(change, key, left_out.resource_version, error)
        return ObjectEvent(change, obj, _version_of(obj, text))


class _Metadata(msgspec.Struct):
    resource_version: Any = msgspec.field(name="resourceVersion", default=None)  # Any: what was sent


class _Object(msgspec.Struct):
    metadata: _Metadata | None = None


_decode_object = msgspec.json.Decoder(_Object).decode
_decode_json = msgspec.json.Decoder().decode


def _version_of(obj: object, text: bytes) -> str:
    """Give the version of an object from its text: what a decoder makes of it need not have one."""
    if type(obj) is LazyObject:
        return resource_version_of(obj)
    try:
        metadata = _decode_object(text).metadata
    except msgspec.MsgspecError:  # odd metadata, which the decoder let pass
        return resource_version_of(obj)
    return text_of(metadata.resource_version) if metadata else ""


def _status_in(text: bytes) -> SourceError | None:
    """Give the error that a Status tells where something else was due; proxies answer so with status 200."""
    try:
        found = _decode_json(text) if b'"Status"' in text else None
    except (msgspec.MsgspecError, RecursionError):
        return None
    return SourceError.of_status(found) if isinstance(found, dict) and found.get("kind") == "Status" else None


def _protocol_error(error: DecodeError) -> SourceError:
    return SourceError(str(error), kind=ErrorKind.PROTOCOL)
