"""FakeStream: an open watch of a FakeSource."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from math import inf
from typing import NamedTuple

from kindex.informer.clocks import Clock
from kindex.sources.base import BookmarkEvent, ObjectEvent, ObjectEventType, WatchEvent, WatchRequest
from kindex.testing.manifests import RawObject


class Change(NamedTuple):
    """What happened to one object, at which version."""

    version: int
    type: ObjectEventType
    namespace: str
    obj: RawObject

    def event(self) -> ObjectEvent[RawObject]:
        """Make the event that tells of it, with an object of its own."""
        return ObjectEvent(self.type, deepcopy(self.obj), str(self.version))


class FakeStream:
    """The events of one watch. It is its own iterator; one thread reads it, others may put events and close it.

    Args:
        request: that opened it.
        after: a version; changes up to it are not told.
        clock: by which it times out.
        on_close: called once, when it gives nothing new any more.
    """

    def __init__(
        self, request: WatchRequest, after: int, clock: Clock, on_close: Callable[[FakeStream], object]
    ) -> None:
        self._request = request
        self._version = after  # of the last change that this watch was told of, or that does not concern it
        self._initial_end_due = request.initial_events
        self._clock = clock
        self._on_close = on_close
        self._lock = threading.RLock()
        self._arrived = clock.interrupt()
        self._queue: deque[WatchEvent[RawObject]] = deque()
        self._error: Exception | None = None
        self._ended = self._closed = self._stalled = False
        self._ends_at = clock.now() + request.timeout_seconds
        self._silent_at = clock.now() + request.silence_seconds

    # What the source does

    def tell(self, change: Change) -> None:
        """Send a change, if it concerns this watch."""
        with self._lock:
            if change.version > self._version:
                self._version = change.version
                if self.concerns(change.namespace):
                    self.put(change.event())

    def concerns(self, namespace: str) -> bool:
        """Tell whether it watches the objects of this namespace."""
        return self._request.namespace in (None, namespace)

    def put(self, event: WatchEvent[RawObject]) -> None:
        """Send an event."""
        with self._lock:
            if not (self._stalled or self._ended):
                self._queue.append(event)
                self._arrived.set()

    def finish(self, error: Exception | None = None) -> None:
        """End, in good order or by *error*, after what was sent."""
        with self._lock:
            self._ended, self._error = True, error
        self._leave()

    def stall(self) -> None:
        """Give nothing any more, nor end by itself."""
        with self._lock:
            self._stalled, self._initial_end_due = True, False
            self._queue.clear()
            self._ends_at = inf

    # What an informer does

    @property
    def due_at(self) -> float:
        """When ``next`` has something to say, if nothing more is sent; ``-inf`` if it has now."""
        with self._lock:
            now = self._queue or self._initial_end_due or self._ended or self._closed
            return -inf if now else min(self._ends_at, self._silent_at)

    def __iter__(self) -> Iterator[WatchEvent[RawObject]]:
        return self

    def __next__(self) -> WatchEvent[RawObject]:
        while True:
            self._arrived.clear()  # before looking: what arrives after that is not slept through
            with self._lock:
                now = self._clock.now()
                if self._closed:
                    raise StopIteration
                if self._queue:
                    self._silent_at = now + self._request.silence_seconds
                    return self._queue.popleft()
                if self._ended and self._error is not None:
                    raise self._error
                if self._initial_end_due and not self._ended:  # after the changes that came amid the initial events
                    self._initial_end_due = False
                    return BookmarkEvent(str(self._version), initial_events_end=True)
                if self._ended or now >= self._ends_at:
                    break
                if now >= self._silent_at:
                    raise TimeoutError(f"nothing came for {self._request.silence_seconds:g} s")
                patience = min(self._ends_at, self._silent_at) - now
            self._arrived.wait(patience)
        self.close()
        raise StopIteration

    def close(self) -> None:
        """Let go of the watch; ends an iteration that waits."""
        with self._lock:
            self._closed = True
        self._leave()

    def _leave(self) -> None:
        self._arrived.set()
        self._on_close(self)
