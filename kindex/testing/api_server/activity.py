"""Activity: what clients asked so far, and which watches run."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kindex.testing.api_server.requests import Request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


class Activity:
    """The record of one server, which tests read and wait for; safe for threads.

    >>> activity = Activity()
    >>> activity.record("GET", "/api/v1/pods?limit=5", {}).query
    {'limit': '5'}
    >>> activity.wait_for(lambda: activity.requests, 0)
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.RLock())
        self._requests: list[Request] = []  # guarded by _changed, as is the next
        self._watches: list[Request] = []

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in the order in which they came."""
        with self._changed:
            return list(self._requests)

    @property
    def watches(self) -> list[Request]:
        """The requests of those watches that run now."""
        with self._changed:
            return list(self._watches)

    def record(self, method: str, target: str, headers: Mapping[str, str], body: bytes = b"") -> Request:
        """Add a request."""
        with self._changed:
            request = Request.parse(len(self._requests), method, target, headers, body)
            self._requests.append(request)
            self._changed.notify_all()
            return request

    def answered(self) -> None:
        """Let those who wait look again: a request has had its effect."""
        with self._changed:
            self._changed.notify_all()

    @contextmanager
    def watching(self, request: Request) -> Iterator[None]:
        """Count *request* as a running watch inside the block."""
        with self._changed:
            self._watches.append(request)
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._watches.remove(request)
                self._changed.notify_all()

    def wait_for(self, predicate: Callable[[], object], timeout_seconds: float) -> None:
        """Return when *predicate* is true.

        It is asked again when a request comes, when one is answered, and when a watch begins or ends.

        Raises:
            TimeoutError: it did not become true.
        """
        with self._changed:
            if not self._changed.wait_for(predicate, timeout_seconds):
                what_came = f"{len(self._requests)} requests came, the last: {self._requests[-1:]}"
                raise TimeoutError(f"what was waited for did not happen in {timeout_seconds} s; {what_came}")
