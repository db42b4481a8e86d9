"""Where objects come from: what a source is, and what it gives. No client is imported here."""

from kindex.sources.base import (
    AsyncSource,
    AsyncStream,
    BookmarkEvent,
    ErrorEvent,
    ListRequest,
    ObjectEvent,
    Page,
    Source,
    Stream,
    WatchEvent,
    WatchRequest,
)
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.wire import event_of, page_of

__all__ = [
    "AsyncSource",
    "AsyncStream",
    "BookmarkEvent",
    "ErrorEvent",
    "ErrorKind",
    "ListRequest",
    "ObjectEvent",
    "Page",
    "Source",
    "SourceError",
    "Stream",
    "WatchEvent",
    "WatchRequest",
    "event_of",
    "page_of",
]
