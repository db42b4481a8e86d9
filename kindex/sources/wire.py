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
        SourceError: it is no list: a Status object, a Table, or something else.

    >>> page_of({"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [{}]})
    Page(objects=[{'kind': 'Pod', 'apiVersion': 'v1'}], resource_version='7', continuation='')
    """
    if not isinstance(envelope, Mapping):
        raise _unexpected("a list", envelope)
    kind = envelope.get("kind")
    if kind == "Status":
        raise SourceError.of_status(envelope)
    items = envelope.get("items")
    if kind == "Table" or not (items is None or isinstance(items, list)):
        raise _unexpected("a list", envelope)
    metadata = envelope.get("metadata") or {}
    common = {}
    if isinstance(kind, str) and kind not in ("", "List"):  # a bare "List" says nothing of its items
        common = {"kind": kind.removesuffix("List"), "apiVersion": envelope.get("apiVersion")}
    return Page(
        [{**common, **item} for item in items or ()],
        str(metadata.get("resourceVersion") or ""),
        metadata.get("continue") or "",
    )


def event_of(line: object) -> WatchEvent[Json]:
    """Read one line of a watch. Never raises: a line that is none is an ErrorEvent of kind PROTOCOL.

    A bookmark is read for its version alone; a Status object is an error, whatever the line says that it is.

    >>> event_of({"type": "BOOKMARK", "object": {"kind": "Job", "metadata": {"resourceVersion": "9"}, "spec": None}})
    BookmarkEvent(resource_version='9', initial_events_end=False)
    """
    if not isinstance(line, Mapping):
        return ErrorEvent(_unexpected("a line of a watch", line))
    event_type, obj = line.get("type"), line.get("object")
    if event_type == "ERROR":
        return ErrorEvent(SourceError.of_status(obj))
    if event_type is None and line.get("kind") == "Status":  # a proxy's way to say no
        return ErrorEvent(SourceError.of_status(line))
    if event_type not in ("ADDED", "MODIFIED", "DELETED", "BOOKMARK") or not isinstance(obj, dict):
        return ErrorEvent(_unexpected("a line of a watch", line))
    kind = obj.get("kind")
    if kind == "Status" and obj.get("apiVersion") == "v1":
        return ErrorEvent(SourceError.of_status(obj))
    metadata = obj.get("metadata") or {}
    version = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    version = None if version is None else str(version)
    if event_type == "BOOKMARK":
        annotations = metadata.get("annotations") or {}
        return BookmarkEvent(version, annotations.get(_INITIAL_EVENTS_END) == "true")
    if kind == "Table":
        return ErrorEvent(_unexpected("an object", obj))
    return ObjectEvent(cast("ObjectEventType", event_type), obj, version)


def _unexpected(what: str, found: object) -> SourceError:
    named = f"kind {found['kind']!r}" if isinstance(found, Mapping) and found.get("kind") else f"{found!r:.200}"
    return SourceError(f"the server sent no {what.split(' ', 1)[1]} but {named}", kind=ErrorKind.PROTOCOL)
