"""Connections by urllib3, made as a client's configuration says, that any thread can cut.

They are not the client's own, so that watches, which last, do not take those that it has for other things. And its own
would retry by themselves: up to three times, asleep for as long as the server asks for by Retry-After.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import weakref
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from urllib3 import Retry, Timeout
from urllib3.exceptions import HTTPError, ProtocolError

from kindex.sources.api_clients import AnyApiClient, url_of
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.failures import connection_error

if TYPE_CHECKING:
    from urllib3 import PoolManager

Response: TypeAlias = Any
"""A response of urllib3, whose declared types differ between its versions 1 and 2."""

_REDIRECTS: Final = 5


class Connections:
    """The connections of one source to its server. Any thread may call any method.

    Args:
        client: an ApiClient of the official client, whose configuration says how to connect.
        connect_seconds: how long connecting may take, and TLS.
        answer_seconds: how long the server may be silent before and in an answer.
    """

    def __init__(self, client: AnyApiClient, *, connect_seconds: float, answer_seconds: float) -> None:
        self._client = client
        self._timeout = Timeout(connect=connect_seconds, read=answer_seconds)
        self._lock = threading.Lock()
        self._manager: PoolManager | None = None  # guarded by _lock, as are the next two
        self._closed = False
        self._sockets: weakref.WeakSet[Any] = weakref.WeakSet()  # Any: sockets, of ssl's or another library's
        self._here = threading.local()  # opened: whether this thread's request opened a connection

    def get(self, target: str, headers: dict[str, str]) -> Response:
        """Send a GET request; give the response when its headers are there. Its body is still to be read.

        A connection that was kept may have been closed by the server just before: that tells nothing of the server, so
        the request is sent again, by the next connection or a new one.

        Raises:
            SourceError: there is no connection, or no answer.
        """
        retries = Retry(
            _REDIRECTS,
            connect=0,
            read=0,
            redirect=_REDIRECTS,
            status=0,
            other=0,
            respect_retry_after_header=False,
            raise_on_status=False,
        )
        while True:
            self._here.opened = False
            try:
                return self._pools().request(
                    "GET",
                    url_of(self._client, target),
                    headers=headers,
                    timeout=self._timeout,
                    retries=retries,
                    preload_content=False,
                )
            except (HTTPError, OSError) as error:
                # urllib3 drops a connection that failed: each time there are fewer that were kept, and none in the end.
                if not self._here.opened and isinstance(getattr(error, "reason", error), ProtocolError):
                    continue
                failure = self.failure(error)
                raise failure from failure.__cause__

    def failure(self, error: Exception) -> SourceError:
        """Say why a request or the reading of an answer failed with *error*."""
        with self._lock:
            return _closed() if self._closed else connection_error(error)

    def check_open(self) -> None:
        """Check that an answer which came to its end was not cut there: not every answer says how long it is.

        Raises:
            SourceError: the source is closed.
        """
        with self._lock:
            if self._closed:
                raise _closed()

    def renew(self) -> None:
        """Connect anew from now on: certificates and keys are read from their files again."""
        with self._lock:
            manager, self._manager = self._manager, None
        if manager is not None:
            manager.clear()

    def close(self) -> None:
        """Cut all connections, and make no more: whoever waits for one gets a SourceError at once."""
        with self._lock:
            self._closed = True
            sockets = list(self._sockets)
        for each in sockets:
            cut(each)
        self.renew()

    def note_opening(self) -> None:
        """Remember that the request of this thread is not sent by a connection that was kept."""
        self._here.opened = True

    def note(self, opened: Any) -> None:  # noqa: ANN401 - a socket
        """Remember a socket that was opened.

        Raises:
            ConnectionAbortedError: the source was closed meanwhile.
        """
        with self._lock:
            self._sockets.add(opened)
            if self._closed:
                raise ConnectionAbortedError("the source is closed")

    def _pools(self) -> PoolManager:
        with self._lock:
            if self._closed:
                raise _closed()
            if self._manager is None:
                # Made by the client's own code, which knows what its configuration means: TLS, proxies, keep-alive.
                sender = type(self._client.rest_client)(self._client.configuration)
                manager: PoolManager = sender.pool_manager
                manager.pool_classes_by_scheme = {
                    scheme: _noting(pool, self) for scheme, pool in manager.pool_classes_by_scheme.items()
                }
                self._manager = manager
            return self._manager


def cut(opened: Any) -> None:  # noqa: ANN401 - a socket, of ssl's or another library's
    """End what waits for a socket, in whichever thread."""
    plain = getattr(opened, "socket", opened)  # TLS within the TLS of a proxy wraps one that is none itself
    with contextlib.suppress(OSError):
        # Not an SSLSocket's own shutdown, which would drop the session under the thread that uses it.
        socket.socket.shutdown(plain, socket.SHUT_RDWR)


def _closed() -> SourceError:
    """Say that a source was closed."""
    return SourceError("the source is closed", kind=ErrorKind.NETWORK)


def _noting(pool: Any, connections: Connections) -> Any:  # noqa: ANN401 - classes that are not known before
    """Make a pool class like *pool*, whose connections tell which sockets they open.

    They keep them as ``opened``: http.client forgets a socket, while it is read, where no other answer will follow.
    """

    class Connection(pool.ConnectionCls):  # type: ignore[misc]  # whichever the client's configuration calls for
        opened: Any = None

        def connect(self) -> None:
            connections.note_opening()
            super().connect()
            self.opened = self.sock
            connections.note(self.sock)

    class Pool(pool):  # type: ignore[misc]  # as above
        ConnectionCls = Connection

    return Pool
