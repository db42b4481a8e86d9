"""States: what a reflector waits for, and what it remembers meanwhile.

::

    Waiting -> Listing ----------------> Replacing -> Opening -> Watching     by list
    Waiting -> Opening -> Gathering ---> Replacing ------------> Watching     by WatchList
       ^                                                            |
       └── an error, or an end: to list again, or to watch on ──────┘

States are values: a step makes another one. What a watch counts is kept in the state and not in its memory, so that an
event costs one small object.
"""

from __future__ import annotations

from math import inf
from random import Random
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec.structs import replace

from kindex.informer.retries import Pace
from kindex.sources.base import ListRequest, ObjectEvent, Page, SkippedEvent, WatchRequest
from kindex.sources.errors import ErrorKind

T = TypeVar("T")

_CHUNK = 128


class Stats(msgspec.Struct, frozen=True):
    """What happened since the beginning.

    Attributes:
        lists: begun, with pages or by WatchList.
        relists: those of them that were begun after the store was synced.
        pages: received.
        watches: asked for, also by WatchList.
        short_watches: that ended within a second and brought nothing.
        events: of objects, without the initial ones of a WatchList.
        bookmarks: received.
        expired: how often the server no longer knew a resource version or a continue token, or not yet.
        errors: by kind.
    """

    lists: int = 0
    relists: int = 0
    pages: int = 0
    watches: int = 0
    short_watches: int = 0
    events: int = 0
    bookmarks: int = 0
    expired: int = 0
    errors: dict[ErrorKind, int] = {}


class Memory(msgspec.Struct, frozen=True):
    """What outlasts a request.

    Attributes:
        seed: of the jitter.
        draws: how many random numbers were taken.
        resource_version: up to which the store is equal to the source; ``""`` if there is none to watch from.
        synced: whether a list has been applied.
        listed_at: when that was, the last time.
        failures: in a row.
        expirations: in a row, without a watch of some length in between.
        fruitless: watches in a row that gave nothing but silence or garbage.
        unfinished: WatchLists in a row that did not come to the end of their initial events.
        plain_lists: whether WatchList is not to be tried again.
        whole_lists: whether lists are not to come in pages, since their tokens expire.
        pace: of the requests.
        error: the last one, until a watch is open.
        stats: so far.
    """

    seed: int
    draws: int = 0
    resource_version: str = ""
    synced: bool = False
    listed_at: float = -inf
    failures: int = 0
    expirations: int = 0
    fruitless: int = 0
    unfinished: int = 0
    plain_lists: bool = False
    whole_lists: bool = False
    pace: Pace = Pace()
    error: Exception | None = None
    stats: Stats = Stats()

    def luck(self) -> float:
        """Give a number from 0 to 1 that depends on the seed and on how many were drawn, and on nothing else."""
        return Random(f"{self.seed}/{self.draws}").random()  # noqa: S311 - it spreads delays, and hides nothing


class _State(msgspec.Struct, frozen=True):
    """What every state tells."""

    memory: Memory

    @property
    def synced(self) -> bool:
        """Whether the store has been equal to the source, ever."""
        return self.memory.synced

    @property
    def resource_version(self) -> str:
        """From which a watch would be resumed; ``""`` if none can be."""
        return self.memory.resource_version

    @property
    def error(self) -> Exception | None:
        """Why there is no watch; None while there is one, and as long as nothing went wrong."""
        return self.memory.error

    @property
    def stats(self) -> Stats:
        """What happened so far."""
        return self.memory.stats

    def live(self, at: float) -> bool:  # noqa: ARG002 - by default it does not depend on the time
        """Tell whether the store follows the source at this time: a watch is open and not overdue.

        Also in the moment between a list, or a watch that ended in good order, and the next watch.
        """
        return False


class Listing(_State, Generic[T], frozen=True):
    """A page was asked for.

    Attributes:
        request: for it.
        pages: that came before it; nobody else has seen them yet.
    """

    request: ListRequest
    pages: tuple[Page[T], ...] = ()


class Opening(_State, frozen=True):
    """A watch was asked for.

    Attributes:
        request: for it.
        live_until: how long what came before it, a list or a watch, counts as going on; ``-inf`` where that broke.
    """

    request: WatchRequest
    live_until: float = -inf

    def live(self, at: float) -> bool:
        """Tell whether a list, or the watch before it, ended in good order, and only just."""
        return at < self.live_until


class Gathering(_State, Generic[T], frozen=True):
    """The initial events of a WatchList come in; nobody else has seen them yet.

    Attributes:
        request: of the watch.
        opened_at: when it was accepted.
        chunks: of the events, all of one length, so that adding one does not copy the others.
        rest: of the events.
    """

    request: WatchRequest
    opened_at: float
    chunks: tuple[tuple[ObjectEvent[T] | SkippedEvent, ...], ...] = ()
    rest: tuple[ObjectEvent[T] | SkippedEvent, ...] = ()

    def plus(self, event: ObjectEvent[T] | SkippedEvent) -> Gathering[T]:
        """Add an event."""
        rest = (*self.rest, event)
        if len(rest) < _CHUNK:
            return Gathering(self.memory, self.request, self.opened_at, self.chunks, rest)
        return Gathering(self.memory, self.request, self.opened_at, (*self.chunks, rest))

    @property
    def events(self) -> list[ObjectEvent[T] | SkippedEvent]:
        """All of them, in their order."""
        return [event for chunk in (*self.chunks, self.rest) for event in chunk]


class Replacing(_State, frozen=True):
    """The store takes a list.

    Attributes:
        listed: the resource version of the list.
        count: of its objects.
        request: of the watch that is open already; None after a list with pages.
        opened_at: when it was accepted.
    """

    listed: str
    count: int
    request: WatchRequest | None = None
    opened_at: float = 0.0


class Watching(_State, frozen=True):
    """A watch is open.

    Attributes:
        request: of the watch.
        version: up to which the store is equal to the source.
        opened_at: when it was accepted.
        heard_at: when it gave something last.
        events: of objects that it gave.
        bookmarks: that it gave.
    """

    request: WatchRequest
    version: str
    opened_at: float
    heard_at: float
    events: int = 0
    bookmarks: int = 0

    @property
    def resource_version(self) -> str:
        """From which it would be resumed."""
        return self.version

    @property
    def stats(self) -> Stats:
        """What happened so far, this watch included."""
        stats = self.memory.stats
        return replace(stats, events=stats.events + self.events, bookmarks=stats.bookmarks + self.bookmarks)

    def live(self, at: float) -> bool:
        """Tell whether it gave something lately: by time, since the thread that reads it may be blocked."""
        return at - self.heard_at <= self.request.silence_seconds


class Waiting(_State, Generic[T], frozen=True):
    """Nothing is asked for until some time.

    Attributes:
        goal: what is asked for then, and its memory is this one's.
        until: when.
    """

    goal: Listing[T] | Opening
    until: float

    def live(self, at: float) -> bool:
        """Tell as what comes next does."""
        return self.goal.live(at)


State: TypeAlias = Waiting[T] | Listing[T] | Opening | Gathering[T] | Replacing | Watching
"""Take it apart with ``match``."""
