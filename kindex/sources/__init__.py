"""Where objects come from: what a source is, and what it gives. A client is imported only when one is used."""

from kindex.sources.base import (
    AsyncSource,
    AsyncStream,
    BookmarkEvent,
    ErrorEvent,
    ListRequest,
    ObjectEvent,
    Page,
    SkippedEvent,
    Source,
    Stream,
    WatchEvent,
    WatchRequest,
)
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.making import async_source_of, source_of
from kindex.sources.readings import Reading
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
    "Reading",
    "SkippedEvent",
    "Source",
    "SourceError",
    "Stream",
    "WatchEvent",
    "WatchRequest",
    "async_source_of",
    "event_of",
    "page_of",
    "source_of",
]
