"""Inbox: what the thread of a connection waits for, with its client's hanging up among it."""

from __future__ import annotations

import contextlib
import selectors
import socket
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class HungUp(Exception):  # noqa: N818 - no error: a client may leave at any time
    """The client closed its end, or the server is stopping."""


class Inbox(Generic[T]):
    """A queue of what other threads have for one connection.

    A queue of the standard library cannot be waited for together with a socket, and a watch that waits must notice
    at once that its client left.

    >>> from contextlib import closing
    >>> ours, clients = socket.socketpair()
    >>> with ours, clients, closing(Inbox(ours)) as inbox:
    ...     inbox.put("event")
    ...     inbox.wait(None)
    ...     inbox.take(), inbox.take()
    ('event', None)
    """

    def __init__(self, connection: socket.socket) -> None:
        self._items: deque[T] = deque()  # its append and popleft are atomic
        self._woken, self._waker = socket.socketpair()
        self._woken.settimeout(0)
        self._waker.settimeout(0)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._selector.register(connection, selectors.EVENT_READ)

    def close(self) -> None:
        """Free what it holds of the system; nobody waits any more."""
        self._selector.close()
        self._woken.close()
        self._waker.close()

    def put(self, item: T) -> None:
        """Add *item*, and wake who waits; from any thread."""
        self._items.append(item)
        self.wake()

    def wake(self) -> None:
        """Let ``wait`` return, since something else changed; from any thread."""
        # BlockingIOError: many wakes are still unread, so one more says nothing. OSError: the connection has ended.
        with contextlib.suppress(OSError):
            self._waker.send(b"!")

    def take(self) -> T | None:
        """Give the oldest item, or None."""
        try:
            return self._items.popleft()
        except IndexError:
            return None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to take."""
        return not self._items

    def clear(self) -> None:
        """Drop what has not been taken."""
        self._items.clear()

    def wait(self, timeout_seconds: float | None) -> None:
        """Return when there may be news, or after the timeout.

        Raises:
            HungUp: the client closed its end. One that waits for an answer sends nothing, so whatever it sends is that.
        """
        for key, _ in self._selector.select(timeout_seconds):
            if key.fileobj is not self._woken:
                raise HungUp
            with contextlib.suppress(BlockingIOError):
                while self._woken.recv(4096):
                    pass
