"""Bells: waiting for something that other threads bring about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from kindex.deadlines import Deadline

Bell = Callable[[], object]


class Bells:
    """Those who wait for news, each with a bell.

    >>> bells = Bells()
    >>> bells.wait_until(lambda: True, None), bells.wait_until(lambda: False, 0)
    (True, False)
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a signal handler may ring, wherever its thread is
        self._bells: tuple[Bell, ...] = ()

    def ring(self) -> None:
        """Let all who wait look again; from any thread."""
        for bell in self._bells:
            with suppress(RuntimeError):  # its loop is closed: nobody waits there
                bell()

    @contextmanager
    def hung(self, bell: Bell) -> Iterator[None]:
        """Let *bell* be rung in the block."""
        with self._lock:
            self._bells = (*self._bells, bell)
        try:
            yield
        finally:
            with self._lock:
                self._bells = tuple(each for each in self._bells if each is not bell)

    def wait_until(self, ready: Callable[[], bool], timeout_seconds: float | None) -> bool:
        """Wait until *ready* says so; it is asked again when they ring. False if that took too long."""
        deadline = Deadline(timeout_seconds)
        bell: SimpleQueue[None] = SimpleQueue()  # not an Event: a signal handler may ring while this thread waits
        with self.hung(lambda: bell.put(None)):
            while not ready():
                left = deadline.left
                if left == 0:
                    return False
                with suppress(Empty):
                    bell.get(timeout=left)
        return True

    def forked(self) -> None:
        """Go on in a child process, where nobody waits."""
        self._lock = threading.RLock()
        self._bells = ()
