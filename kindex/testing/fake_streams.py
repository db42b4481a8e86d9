"""FakeStream: an open watch of a FakeSource."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from copy import deepcopy
from math import inf
from typing import NamedTuple

from kindex.informer.clocks import Clock
from kindex.sources.base import ObjectEvent, ObjectEventType, WatchEvent, WatchRequest
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
        request: that opened it; changes up to *after* are not told.
        after: a version.
        clock: by which it times out.
        on_close: called once, when it gives nothing new any more.
    """

    def __init__(
        self, request: WatchRequest, after: int, clock: Clock, on_close: Callable[[FakeStream], object]
    ) -> None:
        self._request = request
        self._after = after
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
        if change.version > self._after and self._request.namespace in (None, change.namespace):
            self.put(change.event())

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
            self._stalled = True
            self._queue.clear()
            self._ends_at = inf

    # What an informer does

    @property
    def ready(self) -> bool:
        """Whether ``next`` has something to say at once."""
        now = self._clock.now()
        with self._lock:
            return bool(self._queue) or self._ended or self._closed or now >= min(self._ends_at, self._silent_at)

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
