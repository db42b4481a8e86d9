"""What a source is: something that lists objects in pages, and tells how they change from a resource version on.

Requests, pages and events are values. A source keeps no state between calls and decides nothing: when to ask, from
which version, and what to do about an error is up to the reflector.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar

import msgspec

from kindex.envelopes import Page as Page  # noqa: PLC0414 - a value of sources: said so to type checkers
from kindex.keys import ObjectKey
from kindex.sources.errors import SourceError

T = TypeVar("T")

ObjectEventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED"]


class ListRequest(msgspec.Struct, frozen=True):
    """Ask for one page of a list.

    Attributes:
        namespace: of the objects; None for all.
        resource_version: ``""`` for the newest state, ``"0"`` for any; else the list is at least that new.
        continuation: the token that the page before gave; ``""`` for the first page.
        limit: how many objects at most; 0 for all.

    >>> ListRequest(resource_version="7", limit=500).query()
    {'limit': '500', 'resourceVersion': '7', 'resourceVersionMatch': 'NotOlderThan'}
    """

    namespace: str | None = None
    resource_version: str = ""
    continuation: str = ""
    limit: int = 0

    def query(self) -> dict[str, str]:
        """Give the query parameters of Kubernetes for it."""
        query = {}
        if self.limit:
            query["limit"] = str(self.limit)
        if self.continuation:
            query["continue"] = self.continuation  # which carries the version: the server refuses both
        elif self.resource_version:
            query["resourceVersion"] = self.resource_version
            # Without it a server takes a version and a limit for exactly that version, which soon expires.
            query["resourceVersionMatch"] = "NotOlderThan"
        return query


class WatchRequest(msgspec.Struct, frozen=True):
    """Ask for what happens after a resource version.

    Attributes:
        namespace: of the objects; None for all.
        resource_version: after which; with *initial_events*, as that of a ListRequest.
        timeout_seconds: when the server shall end the watch.
        silence_seconds: a stream that gave nothing for so long is to raise TimeoutError; longer than the timeout.
        initial_events: first send each object, then a bookmark that says that this was all (WatchList).

    >>> WatchRequest(resource_version="7", timeout_seconds=300, silence_seconds=315).query()
    {'watch': 'true', 'allowWatchBookmarks': 'true', 'timeoutSeconds': '300', 'resourceVersion': '7'}
    """

    namespace: str | None = None
    resource_version: str = ""
    timeout_seconds: int = 300
    silence_seconds: float = 315.0
    initial_events: bool = False

    def query(self) -> dict[str, str]:
        """Give the query parameters of Kubernetes for it."""
        query = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(self.timeout_seconds)}
        if self.resource_version:
            query["resourceVersion"] = self.resource_version
        if self.initial_events:
            query |= {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return query


class ObjectEvent(msgspec.Struct, Generic[T], frozen=True):
    """What happened to one object.

    Attributes:
        type: ``"ADDED"``, ``"MODIFIED"`` or ``"DELETED"``.
        obj: as it is now, or as it was last.
        resource_version: its ``metadata.resourceVersion``, as text; None or ``""`` if it has none.

    >>> event = ObjectEvent("ADDED", {"metadata": {"name": "a"}}, "7")
    >>> event.type, event.resource_version
    ('ADDED', '7')
    """

    type: ObjectEventType
    obj: T
    resource_version: str | None


class BookmarkEvent(msgspec.Struct, frozen=True):
    """All up to a resource version has been sent.

    Attributes:
        resource_version: up to which.
        initial_events_end: whether these were the initial events (annotation ``k8s.io/initial-events-end``).

    >>> BookmarkEvent("42", initial_events_end=True)
    BookmarkEvent(resource_version='42', initial_events_end=True)
    """

    resource_version: str | None
    initial_events_end: bool = False


class ErrorEvent(msgspec.Struct, frozen=True):
    """The server ends the watch with an error; a stream may raise the error as well.

    >>> from kindex.sources import SourceError
    >>> ErrorEvent(SourceError("too old resource version", status=410)).error.kind
    <ErrorKind.EXPIRED: 'expired'>
    """

    error: SourceError


class SkippedEvent(msgspec.Struct, frozen=True):
    """Something happened to an object that is now none of those that are kept, such as one that cannot be decoded.

    Whatever was known of it is out of date: it is let go of, as a list would leave it out.

    Attributes:
        type: as that of an ObjectEvent.
        key: of the object; None if it has no name, so that there is nothing to let go of.
        resource_version: its ``metadata.resourceVersion``, as text; None or ``""`` if it has none.
        error: why it is left out.

    >>> from kindex import ObjectKey
    >>> event = SkippedEvent("MODIFIED", ObjectKey("x", "a"), "7", ValueError("no such phase"))
    >>> str(event.key)
    'x/a'
    """

    type: ObjectEventType
    key: ObjectKey | None
    resource_version: str | None
    error: Exception


WatchEvent: TypeAlias = ObjectEvent[T] | SkippedEvent | BookmarkEvent | ErrorEvent
"""One of the four; take it apart with ``match``."""


class Stream(Protocol[T]):
    """An open watch: its events, until the server ends it.

    >>> from kindex.sources import WatchRequest
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource(name="pods")
    >>> stream = source.watch(WatchRequest(resource_version=source.resource_version))
    >>> _ = source.add({"metadata": {"name": "a", "namespace": "x"}})
    >>> next(iter(stream)).type
    'ADDED'
    >>> stream.close()
    """

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        """Give the events as they come; ends when the server ended the watch in good order.

        Raises:
            TimeoutError: nothing came for the ``silence_seconds`` of the request.
            SourceError, or anything else: it broke.
        """
        ...

    def close(self) -> None:
        """Let go of the connection. Called from any thread, once or more; ends an iteration that waits."""
        ...


class Source(Protocol[T]):
    """Lists objects and watches them.

    A source of ten lines, which tells of one object that never changes:

    >>> class Constant:
    ...     name = "greetings"
    ...     offers_watch_list = False
    ...     def list_page(self, request):
    ...         return Page([{"metadata": {"name": "hello", "resourceVersion": "1"}}], resource_version="1")
    ...     def watch(self, request):
    ...         return Nothing()
    >>> class Nothing:
    ...     def __iter__(self):
    ...         return iter(())
    ...     def close(self):
    ...         pass
    >>> source: Source[dict[str, object]] = Constant()
    >>> source.list_page(ListRequest()).resource_version
    '1'
    """

    @property
    def name(self) -> str:
        """What it lists, such as ``pods``; for logs and the names of threads."""
        ...

    @property
    def offers_watch_list(self) -> bool:
        """Whether to try watches with initial events; a server that refuses them is asked for lists."""
        ...

    def list_page(self, request: ListRequest) -> Page[T]:
        """Get one page. Nobody interrupts it, so it keeps a deadline of its own.

        Raises:
            SourceError: the server refused; what else is raised is taken for an error of the network (OSError) or of
                the protocol.
        """
        ...

    def watch(self, request: WatchRequest) -> Stream[T]:
        """Open a watch; returns when the server has accepted it. It keeps a deadline of its own, as ``list_page``.

        Raises:
            SourceError: as ``list_page``.
        """
        ...


class AsyncStream(Protocol[T]):
    """An open watch, as ``Stream``; whoever iterates keeps the deadline for silence.

    >>> class Replay:
    ...     def __init__(self, events):
    ...         self._events = events
    ...     async def __aiter__(self):
    ...         for event in self._events:
    ...             yield event
    ...     async def aclose(self):
    ...         pass
    >>> async def types_of(stream):
    ...     return [event.type async for event in stream]
    >>> import asyncio
    >>> asyncio.run(types_of(Replay([ObjectEvent("ADDED", {"metadata": {"name": "a"}}, "7")])))
    ['ADDED']
    """

    def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        """Give the events as they come; ends when the server ended the watch in good order."""
        ...

    async def aclose(self) -> None:
        """Let go of the connection."""
        ...


class AsyncSource(Protocol[T]):
    """Lists objects and watches them, as ``Source``, in an event loop.

    >>> import asyncio
    >>> from kindex import AsyncInformer
    >>> from kindex.sources import Page
    >>> class Fixed:
    ...     name, offers_watch_list = "pods", False
    ...     async def list_page(self, request):
    ...         return Page(({"metadata": {"name": "a"}},), resource_version="7")
    ...     async def watch(self, request):
    ...         await asyncio.Event().wait()  # nothing changes
    ...     async def aclose(self):
    ...         pass
    >>> async def main():
    ...     async with AsyncInformer(Fixed()) as pods:
    ...         return len(pods)
    >>> asyncio.run(main())
    1
    """

    @property
    def name(self) -> str:
        """What it lists, such as ``pods``; for logs and the names of tasks."""
        ...

    @property
    def offers_watch_list(self) -> bool:
        """Whether to try watches with initial events."""
        ...

    async def list_page(self, request: ListRequest) -> Page[T]:
        """Get one page; raises as ``Source.list_page``."""
        ...

    async def watch(self, request: WatchRequest) -> AsyncStream[T]:
        """Open a watch; returns when the server has accepted it; raises as ``Source.watch``."""
        ...
