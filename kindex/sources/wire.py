"""Reading what a server sends: the envelope of a list and the lines of a watch, as decoded JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from kindex.sources.base import BookmarkEvent, ErrorEvent, ObjectEvent, ObjectEventType, Page, WatchEvent
from kindex.sources.errors import ErrorKind, SourceError

Json: TypeAlias = dict[str, Any]
"""A decoded object; Any: JSON."""

_INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def page_of(envelope: object) -> Page[Json]:
    """Read one page of a list.

    Items get the kind and the version of the API from the envelope, as servers leave them out. O(items).

    Raises:
        SourceError: it is no list: a Status object, a Table, a single object, or something else. It is never taken for
            an empty list, which would empty the store.

    >>> page_of({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [{}]})
    Page(objects=[{'kind': 'Pod', 'apiVersion': 'v1'}], resource_version='7', continuation='')
    """
    envelope_map = _map(envelope)
    kind, items = envelope_map.get("kind"), envelope_map.get("items", "none")
    if kind == "Status":
        raise SourceError.of_status(envelope)
    if items is None:  # as Go writes an empty list
        items = []
    if kind == "Table" or not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise _unexpected("list", envelope)
    common = {}
    if isinstance(kind, str) and kind not in ("", "List"):  # a bare "List" says nothing of its items
        common = {"kind": kind.removesuffix("List"), "apiVersion": envelope_map.get("apiVersion")}
    metadata = _map(envelope_map.get("metadata"))
    return Page(
        [{**common, **item} for item in items], _text(metadata.get("resourceVersion")), _text(metadata.get("continue"))
    )


def event_of(line: object) -> WatchEvent[Json]:
    """Read one line of a watch. Never raises: a line that is none is an ErrorEvent of kind PROTOCOL.

    A bookmark is read for its version alone; a Status object is an error, whatever the line says that it is.

    >>> event_of({"type": "BOOKMARK", "object": {"kind": "Job", "metadata": {"resourceVersion": "9"}, "spec": None}})
    BookmarkEvent(resource_version='9', initial_events_end=False)
    """
    line_map = _map(line)
    event_type, obj = line_map.get("type"), line_map.get("object")
    if event_type == "ERROR":
        return ErrorEvent(SourceError.of_status(obj))
    if event_type is None and line_map.get("kind") == "Status":  # a proxy's way to say no
        return ErrorEvent(SourceError.of_status(line))
    if event_type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK") or not isinstance(obj, dict):
        return ErrorEvent(_unexpected("line of a watch", line))
    kind, metadata = obj.get("kind"), _map(obj.get("metadata"))
    if kind == "Status" and obj.get("apiVersion") == "v1":
        return ErrorEvent(SourceError.of_status(obj))
    version = _text(metadata.get("resourceVersion")) or None
    if event_type == "BOOKMARK":
        return BookmarkEvent(version, _map(metadata.get("annotations")).get(_INITIAL_EVENTS_END) == "true")
    if kind == "Table":
        return ErrorEvent(_unexpected("object", obj))
    return ObjectEvent(cast("ObjectEventType", event_type), obj, version)


def _map(value: object) -> Mapping[str, Any]:  # Any: JSON
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _unexpected(what: str, found: object) -> SourceError:
    kind = _map(found).get("kind")
    named = f"kind {kind!r:.200}" if kind else f"{found!r:.200}"
    return SourceError(f"the server sent no {what} but {named}", kind=ErrorKind.PROTOCOL)
