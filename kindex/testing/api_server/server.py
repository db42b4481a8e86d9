"""ApiServer: a Kubernetes API server for tests, as its users handle it."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from kindex.keys import ObjectKey
from kindex.objects import key_of
from kindex.testing.api_server.activity import Activity
from kindex.testing.api_server.connections import Connection, Shared
from kindex.testing.api_server.faults import Faults
from kindex.testing.api_server.inboxes import Inbox
from kindex.testing.api_server.kubeconfigs import TlsFiles, kubeconfig
from kindex.testing.api_server.resources import Registry, Resource
from kindex.testing.api_server.statuses import not_found
from kindex.testing.api_server.storage import Storage
from kindex.testing.api_server.writing import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from kubernetes.client import ApiClient

    from kindex.testing.api_server.requests import Request
    from kindex.testing.api_server.states import ObjectState
    from kindex.testing.api_server.storage import Message
    from kindex.testing.manifests import RawObject

_HOST: Final = "127.0.0.1"
_WAITING_CLIENTS: Final = 128


class ApiServer:
    """A list/watch Kubernetes API server on a free port of the loopback, with faults on order.

    It answers as kube-apiserver does: lists with pages and versions, watches with bookmarks, selectors, initial events
    and expiry; enough writes for a controller's test. It has no admission, no defaults and no controllers of its own.
    The methods here are the test's hand in the cluster: they may say what clients may not, such as uid and status.

    A daemon thread for each connection; all are gone when ``stop`` returns, which is prompt at any moment.

    Args:
        objects: what is there at the beginning.
        resources: what there is beside the built-in ones; a CustomResourceDefinition that is created adds its own, and
            so does, by guess, an object of an unknown kind that a method here is given.
        resource_version: where the count of versions begins.
        token: the bearer token that clients must send; None lets everyone in.
        tls: files to speak HTTPS with; None is plain HTTP.
        latency_seconds: added before each answer.
        bookmark_seconds: how often a watch that wants bookmarks gets one; ``bookmark()`` sends one at once.

    Raises:
        ApiError: one of *objects* is none.

    >>> with ApiServer([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}}]) as server:
    ...     [pod["metadata"]["name"] for pod in server.objects("pods")]
    ['web-1']
    """

    def __init__(
        self,
        objects: Iterable[RawObject] = (),
        *,
        resources: Iterable[Resource] = (),
        resource_version: int = 1000,
        token: str | None = None,
        tls: TlsFiles | None = None,
        latency_seconds: float = 0.0,
        bookmark_seconds: float = 60.0,
    ) -> None:
        self._storage = Storage(resource_version)
        self._registry = Registry(tuple(resources))
        self._writer = Writer(self._storage, self._registry)
        self._activity = Activity()
        self._faults = Faults(self._wake)
        self._shared = Shared(
            storage=self._storage,
            registry=self._registry,
            writer=self._writer,
            faults=self._faults,
            activity=self._activity,
            token=token,
            latency_seconds=latency_seconds,
            bookmark_seconds=bookmark_seconds,
        )
        self._tls = tls
        self._context = _context(tls) if tls is not None else None
        self._lock = threading.Lock()
        self._stopping = False
        # guarded by _lock
        self._connections: dict[threading.Thread, tuple[socket.socket, Inbox[Message]]] = {}
        self.load(objects)
        self._listener = socket.create_server((_HOST, 0), backlog=_WAITING_CLIENTS)
        self._port: int = self._listener.getsockname()[1]
        self._accepting = threading.Thread(target=self._accept, name="kindex ApiServer", daemon=True)

    # --- running --------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        """Start it."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop it."""
        self.stop()

    def start(self) -> None:
        """Answer from now on. Until then clients can connect, and wait."""
        self._accepting.start()

    def stop(self) -> None:
        """Cut all connections, and return when no thread is left; again, it does nothing."""
        if self._stopping:
            return
        self._stopping = True
        if self._accepting.ident is not None:
            # accept() is not woken by closing its socket everywhere; by a client it is.
            with contextlib.suppress(OSError):
                socket.create_connection((_HOST, self._port)).close()
            self._accepting.join()
        self._listener.close()
        with self._lock:
            connections = dict(self._connections)
        for connection, _ in connections.values():
            with contextlib.suppress(OSError):
                # Not SSLSocket's own, which would drop the session under the thread that uses it.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        for thread in connections:
            thread.join()

    @property
    def url(self) -> str:
        """Where it is, such as ``http://127.0.0.1:41873``."""
        return f"{'http' if self._tls is None else 'https'}://{_HOST}:{self._port}"

    @property
    def token(self) -> str | None:
        """The bearer token that clients must send; another one can be set at any time."""
        return self._shared.token

    @token.setter
    def token(self, token: str | None) -> None:
        self._shared.token = token

    # --- clients --------------------------------------------------------------------------------------------------

    def config(self) -> RawObject:
        """Give the content of a kubeconfig file for this server, with its token and authority."""
        return kubeconfig(self.url, token=self.token, tls=self._tls)

    def kubeconfig(self, path: str | PathLike[str]) -> Path:
        """Write a kubeconfig file for this server to *path*, and give that.

        For clients that read ``KUBECONFIG`` or take a path.
        """
        written = Path(path)
        written.write_text(json.dumps(self.config(), indent=2))
        return written

    def api_client(self) -> ApiClient:
        """Make an ApiClient of the official client for this server; that must be installed.

        >>> from kubernetes.client import CoreV1Api
        >>> with ApiServer() as server, server.api_client() as client:
        ...     CoreV1Api(client).list_namespaced_pod("default").items
        []
        """
        from kindex.testing.api_server.official_client import api_client_for  # noqa: PLC0415 - it takes a second

        return api_client_for(self.config())

    # --- objects --------------------------------------------------------------------------------------------------

    @property
    def resource_version(self) -> str:
        """The version of the newest write."""
        with self._storage.lock:
            return str(self._storage.version)

    def objects(self, resource: str | Resource, *, namespace: str | None = None) -> list[RawObject]:
        """Give the objects of *resource*, called as kubectl calls it (``pods``, ``Pod``, ``deployments.apps``).

        Fresh dicts, in the order of a list call.

        Raises:
            ApiError: there is no such resource.
        """
        found = self._registry.named(resource)
        return [_whole(found, state) for state in self._storage.snapshot(found.name).part(namespace)]

    def get(self, resource: str | Resource, name: str, *, namespace: str | None = None) -> RawObject:
        """Give one object, as a fresh dict; *namespace* None is ``default`` where the resource has namespaces.

        Raises:
            ApiError: there is none.
        """
        found = self._registry.named(resource)
        key = _key(found, name, namespace)
        state = self._storage.get(found.name, key)
        if state is None:
            raise not_found(found.name, name)
        return _whole(found, state)

    def create(self, obj: RawObject) -> RawObject:
        """Create *obj*, and give what is stored. Without a namespace it goes to ``default``.

        uid, creationTimestamp, generation and status are taken as they are, and made where they are not given; the
        resourceVersion is always the server's.

        Raises:
            ApiError: it is there already, or is no object.

        >>> with ApiServer() as server:
        ...     made = server.create({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"generateName": "w-"}})
        ...     made["metadata"]["resourceVersion"]
        '1001'
        """
        resource = self._registry.of_object(obj)
        return _whole(resource, self._writer.create(resource, obj, trusted=True))

    def update(self, obj: RawObject) -> RawObject:
        """Put *obj* in place of the one that is there, status included; give what is stored.

        Whatever version *obj* says. One that changes nothing keeps the version.

        Raises:
            ApiError: there is none.
            InvalidObjectError: it has no name.
        """
        resource = self._registry.of_object(obj)
        namespace, name = key_of(obj)
        key = _key(resource, name, namespace)
        return _whole(resource, self._writer.update(resource, key, lambda _: obj, trusted=True))

    def delete(self, resource: RawObject | str | Resource, name: str = "", *, namespace: str | None = None) -> None:
        """Delete an object: itself, or by resource and name. One with finalizers is marked, as by a client.

        Raises:
            ApiError: there is none.
            InvalidObjectError: it has no name.
        """
        if isinstance(resource, dict):
            found, (namespace, name) = self._registry.of_object(resource), key_of(resource)
        else:
            found = self._registry.named(resource)
        self._writer.delete(found, _key(found, name, namespace))

    def load(self, objects: Iterable[RawObject]) -> None:
        """Create many objects at once; 20,000 pods of 2 kB take 0.7 s.

        Raises:
            ApiError: as ``create``; the objects before are there then.
        """
        with self._storage.lock:
            for obj in objects:
                self._writer.create(self._registry.of_object(obj), obj, trusted=True)

    def add_resource(self, resource: Resource) -> None:
        """Serve *resource* too."""
        self._registry.add(resource)

    # --- what happens to clients, and what they did -----------------------------------------------------------------

    @property
    def faults(self) -> Faults:
        """The faults: ``faults.add("reset", verb="watch", after_events=3)``."""
        return self._faults

    def compact(self) -> int:
        """Forget the history: whatever version a client knows is expired. Give the oldest that can be read.

        Watches that run go on.
        """
        return self._storage.compact()

    def bookmark(self) -> None:
        """Send a bookmark to each running watch that wants them."""
        self._storage.bookmark()

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in the order in which they came."""
        return self._activity.requests

    @property
    def watches(self) -> list[Request]:
        """The requests of those watches that run now."""
        return self._activity.watches

    def wait_for(self, predicate: Callable[[], object], *, timeout_seconds: float = 10.0) -> None:
        """Return when *predicate* is true, such as ``lambda: server.watches``: a test need not sleep.

        It is asked again when a request comes, when one is answered, and when a watch begins or ends.

        Raises:
            TimeoutError: it did not become true.
        """
        self._activity.wait_for(predicate, timeout_seconds)

    # --- threads --------------------------------------------------------------------------------------------------

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            if self._stopping:
                connection.close()
                return
            if self._context is not None:
                # The handshake is the connection's own affair: a client that is slow with it keeps nobody waiting.
                try:
                    connection = self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                except OSError:  # already gone
                    continue
            inbox: Inbox[Message] = Inbox(connection)
            thread = threading.Thread(
                target=self._converse, args=(connection, inbox), name="kindex ApiServer", daemon=True
            )
            with self._lock:
                self._connections[thread] = (connection, inbox)
            thread.start()

    def _converse(self, connection: socket.socket, inbox: Inbox[Message]) -> None:
        try:
            with contextlib.suppress(OSError):
                if isinstance(connection, ssl.SSLSocket):
                    connection.do_handshake()
                Connection(connection, self._shared, inbox)
        finally:
            connection.close()
            with self._lock:
                del self._connections[threading.current_thread()]
            inbox.close()

    def _wake(self) -> None:
        """Let all connections look again at what concerns them."""
        with self._lock:
            inboxes = [inbox for _, inbox in self._connections.values()]
        for inbox in inboxes:
            inbox.wake()


def _whole(resource: Resource, state: ObjectState) -> RawObject:
    return {"apiVersion": resource.api_version, "kind": resource.kind, **state.obj}


def _key(resource: Resource, name: str, namespace: str | None) -> ObjectKey:
    return ObjectKey((namespace or "default") if resource.namespaced else "", name)


def _context(tls: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tls.certificate, tls.private_key)
    return context
