"""Envelopes: what an API server puts around objects: lists, and the events of a watch."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

import msgspec
from msgspec import UNSET

from kindex.errors import DecodeError
from kindex.lazy import NO_TABLE
from kindex.objects import text_of
from kindex.path_decoding import JSON_ERRORS, NOT_OBJECTS, SCALARS, plain_json

T = TypeVar("T")


# Lists


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list.

    Attributes:
        objects: in it.
        resource_version: of the list, from which to watch; ``""`` if it has none.
        continuation: the token for the next page; ``""`` in the last one.

    >>> from kindex.sources import ListRequest
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource([{"metadata": {"name": name, "namespace": "x"}} for name in "abc"], name="pods")
    >>> page = source.list_page(ListRequest(limit=2))
    >>> len(page.objects), bool(page.continuation)
    (2, True)
    """

    objects: Sequence[T]
    resource_version: str
    continuation: str = ""


class ListBody(NamedTuple):
    """A list whose items are still text: views of the body."""

    items: list[msgspec.Raw]
    list_kind: str
    api_version: str
    resource_version: str
    continuation: str


class _ListMeta(msgspec.Struct, frozen=True):
    # Any: what the server sends, right or not.
    resource_version: Any = msgspec.field(name="resourceVersion", default=None)
    next: Any = msgspec.field(name="continue", default=None)


class _NoList(msgspec.Struct, frozen=True):
    """An object where items should be."""


class _Envelope(msgspec.Struct, frozen=True):
    # Any: as above.
    items: _NoList | list[msgspec.Raw] | SCALARS = UNSET
    metadata: _ListMeta | NOT_OBJECTS = _ListMeta()
    kind: Any = ""
    api_version: Any = msgspec.field(name="apiVersion", default="")


class _Status(msgspec.Struct, frozen=True):
    # Any: as above.
    code: Any = None
    reason: Any = ""
    message: Any = ""


_decode_envelope = msgspec.json.Decoder(_Envelope).decode
_decode_status = msgspec.json.Decoder(_Status).decode


def list_of(body: bytes) -> ListBody:
    """Decode what stands around the items of a list.

    Raises:
        DecodeError: it is no list; says what it is.
    """
    try:
        envelope = _decode_envelope(body)
        if envelope.kind == "Status":
            status = _decode_status(body)
            told = f"{text_of(status.code)} {text_of(status.reason)}: {text_of(status.message)}"
            raise DecodeError("a Status instead of a list", told)
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

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]


class EventBody(NamedTuple):
    """An event of a watch whose object is still text: a view of the line."""

    type: EventType
    text: msgspec.Raw


def event_of(line: bytes) -> EventBody:
    """Decode what stands around the object of an event.

    Raises:
        DecodeError: it is no event.

    >>> event_of(b'{"type": "ADDED", "object": {"metadata": {"name": "a"}}}').type
    'ADDED'
    """
    try:
        event = _decode_line(line)
    except JSON_ERRORS as error:
        raise of_line(line, str(error)) from error
    if not isinstance(event.type, str) or event.type not in _EVENT_TYPES:
        raise of_line(line, f"its type is {event.type!r}")
    return EventBody(cast("EventType", event.type), event.object)


def of_line(line: bytes, reason: str) -> DecodeError:
    """Say what is wrong with an event, and how it begins."""
    return DecodeError(f"a watch event {_excerpt(line)}", reason)


class Bookmark(NamedTuple):
    """Up to which version all was sent, and whether these were the initial events."""

    resource_version: str
    initial_events_end: bool


def bookmark_of(text: bytes | msgspec.Raw) -> Bookmark:
    """Read the metadata of a bookmark, and nothing else: its object is none, and may lack what others must have.

    Raises:
        JSON_ERRORS: *text* is no JSON object.

    >>> bookmark_of(b'{"kind": "Job", "metadata": {"resourceVersion": "9"}, "spec": null}')
    Bookmark(resource_version='9', initial_events_end=False)
    """
    metadata = _decode_bookmark(text).metadata
    if not isinstance(metadata, _BookmarkMeta):
        return Bookmark("", initial_events_end=False)
    annotations = metadata.annotations
    ends = isinstance(annotations, dict) and annotations.get("k8s.io/initial-events-end") == "true"
    return Bookmark(text_of(metadata.resource_version), ends)


_EVENT_TYPES: Final = frozenset(get_args(EventType))


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


def _excerpt(text: bytes) -> str:
    shown = text[:60].decode("utf-8", "replace")
    return f"({shown!r}{'...' if len(text) > len(shown) else ''})"
