"""Envelopes: what an API server puts around objects: lists, and the events of a watch."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET

from kindex.errors import DecodeError
from kindex.lazy import NO_TABLE
from kindex.objects import text_of
from kindex.path_decoding import JSON_ERRORS, NOT_OBJECTS, SCALARS, plain_json

if TYPE_CHECKING:
    from kindex.keys import ObjectKey

T = TypeVar("T")


Change: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class ObjectEvent(msgspec.Struct, Generic[T], frozen=True):
    """A watch said what became of an object; of a deleted one this is the last state."""

    type: Change
    object: T


class BookmarkEvent(msgspec.Struct, frozen=True):
    """A watch said up to which resource version all was sent; *initial_events_end* marks the end of the list part."""

    resource_version: str
    initial_events_end: bool = False


class Status(msgspec.Struct, frozen=True):
    """What an API server says of a failure; ``raw`` has all of it."""

    code: int
    reason: str
    message: str
    retry_after_seconds: int | None = None
    raw: Any = None  # Any: JSON


class ErrorEvent(msgspec.Struct, frozen=True):
    """A watch failed."""

    status: Status


class SkippedEvent(msgspec.Struct, frozen=True):
    """A watch sent an object that could not be decoded, where that is allowed; *error* says why."""

    type: Change
    key: ObjectKey
    resource_version: str
    error: DecodeError


WatchEvent: TypeAlias = ObjectEvent[T] | BookmarkEvent | ErrorEvent | SkippedEvent
"""One line of a watch."""


# Lists


class ListBody(NamedTuple):
    """A list whose items are still text: views of the body."""

    items: list[msgspec.Raw]
    list_kind: str
    api_version: str
    resource_version: str
    continue_token: str
    remaining: int | None


class _ListMeta(msgspec.Struct, frozen=True):
    # Any: what the server sends, right or not.
    resource_version: Any = msgspec.field(name="resourceVersion", default=None)
    next: Any = msgspec.field(name="continue", default=None)
    remaining: Any = msgspec.field(name="remainingItemCount", default=None)


class _NoList(msgspec.Struct, frozen=True):
    """An object where items should be."""


class _Envelope(msgspec.Struct, frozen=True):
    # Any: as above.
    items: _NoList | list[msgspec.Raw] | SCALARS = UNSET
    metadata: _ListMeta | NOT_OBJECTS = _ListMeta()
    kind: Any = ""
    api_version: Any = msgspec.field(name="apiVersion", default="")


_decode_envelope = msgspec.json.Decoder(_Envelope).decode


def list_of(body: bytes) -> ListBody:
    """Decode what stands around the items of a list.

    Raises:
        DecodeError: it is no list; says what it is.
    """
    try:
        envelope = _decode_envelope(body)
        if envelope.kind == "Status":
            status = status_of(body)
            raise DecodeError("a Status instead of a list", f"{status.code} {status.reason}: {status.message}")
    except JSON_ERRORS as error:
        raise _broken_list(body, error) from error
    kind, items, metadata = text_of(envelope.kind), envelope.items, envelope.metadata
    if kind == "Table":
        raise DecodeError("a Table", NO_TABLE)
    if items is UNSET:
        raise DecodeError(f"{kind or 'an object without kind'} instead of a list", "it has no items")
    if items is None:  # how Go writes a list that was never made
        items = []
    if not isinstance(items, list):
        raise DecodeError(kind or "a list", "its items are no list")
    if not isinstance(metadata, _ListMeta):
        metadata = _ListMeta()
    return ListBody(
        items,
        kind,
        text_of(envelope.api_version),
        text_of(metadata.resource_version),
        text_of(metadata.next),
        metadata.remaining if type(metadata.remaining) is int else None,
    )


def of_item(reason: str, position: int, kind: str, text: bytes) -> DecodeError:
    """Say which item of a list is wrong, by its position and, where it has one, its name."""
    name = _NAME.search(text)
    shown = f" ({name[1].decode('utf-8', 'replace')})" if name else ""
    return DecodeError(f"item {position} of {kind or 'a list'}{shown}", reason, position)


def _broken_list(body: bytes, error: Exception) -> DecodeError:
    """Say at which item a body is broken, if it gets as far as the items."""
    text = body.decode("utf-8", "surrogateescape")
    start = _ITEMS.search(text)
    if start is None:
        return DecodeError(f"a list {_excerpt(body)}", str(error))
    kind = _LIST_KIND.search(text)
    scanner = json.JSONDecoder()
    at, position = start.end(), 0
    while not text.startswith("]", at):
        end = at
        try:
            _, end = scanner.raw_decode(text, at)
            plain_json(text[at:end])  # Python's own decoder admits more
        except (ValueError, *JSON_ERRORS) as wrong:
            seen = text[at : wrong.pos if isinstance(wrong, json.JSONDecodeError) else end]
            return of_item(str(error), position, kind[1] if kind else "", seen.encode("utf-8", "surrogateescape"))
        at = len(text) - len(text[end:].lstrip(" \t\n\r,"))
        position += 1
    return DecodeError(f"a list {_excerpt(body)}", str(error))


_ITEMS = re.compile(r'"items"\s*:\s*\[\s*')
_LIST_KIND = re.compile(r'"kind"\s*:\s*"(\w*List)"')
_NAME = re.compile(rb'"name"\s*:\s*"([^"\\\x00-\x1f]*)"')
"""A name in JSON text: metadata's comes first, and in a message another one does little harm."""


# Events


def event_of(line: bytes) -> BookmarkEvent | ErrorEvent | tuple[Change, bytes]:
    """Decode a line of a watch; of a change to an object, its kind and the object's text, which is a copy.

    Raises:
        DecodeError: it is no event.
    """
    try:
        event = _decode_line(line)
        match event.type:
            case "ADDED" | "MODIFIED" | "DELETED" as change:
                return change, bytes(event.object)
            case "BOOKMARK":
                return _bookmark_of(event.object)
            case "ERROR":
                return ErrorEvent(status_of(event.object))
    except JSON_ERRORS as error:
        raise DecodeError(f"a watch event {_excerpt(line)}", str(error)) from error
    raise DecodeError(f"a watch event {_excerpt(line)}", f"its type is {event.type!r}")


class _Line(msgspec.Struct, frozen=True):
    type: Any = None  # Any: what was sent
    object: msgspec.Raw = msgspec.Raw(b"null")


class _BookmarkMeta(msgspec.Struct, frozen=True):
    resource_version: Any = msgspec.field(name="resourceVersion", default="")  # Any: what was sent, here and below
    annotations: Any = None


class _BookmarkObject(msgspec.Struct, frozen=True):
    metadata: _BookmarkMeta | NOT_OBJECTS = _BookmarkMeta()


_decode_line = msgspec.json.Decoder(_Line).decode
_decode_bookmark = msgspec.json.Decoder(_BookmarkObject).decode


def _bookmark_of(text: msgspec.Raw) -> BookmarkEvent:
    """Read the metadata of a bookmark, and nothing else: its object is none, and may lack what others must have."""
    metadata = _decode_bookmark(text).metadata
    if not isinstance(metadata, _BookmarkMeta):
        return BookmarkEvent("")
    annotations = metadata.annotations
    ends = isinstance(annotations, dict) and annotations.get("k8s.io/initial-events-end") == "true"
    return BookmarkEvent(text_of(metadata.resource_version), ends)


def status_of(text: bytes | msgspec.Raw) -> Status:
    """Read a Status, or whatever stands in its place.

    Raises:
        JSON_ERRORS: *text* is no JSON.
    """
    raw = plain_json(text)
    status = raw if isinstance(raw, dict) else {}
    details = status.get("details")
    code, delay = status.get("code"), details.get("retryAfterSeconds") if isinstance(details, dict) else None
    return Status(
        code if type(code) is int else 0,
        text_of(status.get("reason")),
        text_of(status.get("message")),
        delay if type(delay) is int else None,
        raw,
    )


def _excerpt(text: bytes) -> str:
    shown = text[:60].decode("utf-8", "replace")
    return f"({shown!r}{'...' if len(text) > len(shown) else ''})"
