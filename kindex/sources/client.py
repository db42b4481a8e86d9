"""ClientSource: lists and watches by the official client, as bytes; nothing is parsed into its models."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from typing import Final, Generic, TypeVar

from kindex.decoding import Decoder
from kindex.sources.api_clients import AnyApiClient
from kindex.sources.asking import Asking
from kindex.sources.base import ListRequest, Page, WatchEvent, WatchRequest
from kindex.sources.connections import Connections, Response, cut
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.lines import LineSplitter
from kindex.sources.questions import Questions
from kindex.sources.readings import Reading
from kindex.sources.resources import Listed, Resource

T = TypeVar("T")

_PIECE: Final = 1 << 16


class ClientSource(Generic[T]):
    """Lists and watches a resource with an ApiClient of the official client. Any thread may call any method.

    The client's configuration says where the server is, how to trust it, and who it is itself: tokens and the hook
    that renews them, exec plugins, client certificates, proxies. Certificates are read from their files again after
    the server refused them, or their check failed. Its timeouts and retries are not used: what failed raises.

    Args:
        listed: what to list. Where it is a Kind, the first request is preceded by discovery.
        client: an ApiClient, of any version from 28 on.
        decoder: makes the objects.
        metadata_only: ask for the objects' metadata alone (PartialObjectMetadata).
        gzip: let lists come compressed. It pays where the network gives less than some 500 Mbit/s.
        watch_list: whether to say that watches with initial events are to be tried. Servers before 1.27 do not refuse
            them, but never say when these events are at their end.
        connect_seconds: how long connecting may take.
        answer_seconds: how long the server may be silent before and in an answer; it gives up by itself after 60.

    Raises:
        ResourceError: *client* is none, or is for asyncio.

    >>> from kindex.decoding import DictDecoder
    >>> from kindex.testing import ApiServer
    >>> with ApiServer([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}}]) as server:
    ...     source = ClientSource(Resource("v1", "pods"), server.api_client(), decoder=DictDecoder())
    ...     page = source.list_page(ListRequest())
    ...     source.close()
    >>> [pod["metadata"]["name"] for pod in page.objects], page.resource_version
    (['web-1'], '1001')
    """

    def __init__(
        self,
        listed: Listed,
        client: AnyApiClient,
        *,
        decoder: Decoder[T],
        metadata_only: bool = False,
        gzip: bool = False,
        watch_list: bool = False,
        connect_seconds: float = 10.0,
        answer_seconds: float = 75.0,
    ) -> None:
        self.offers_watch_list = watch_list
        self._questions = Questions(listed, metadata_only=metadata_only, gzip=gzip)
        self._reading = Reading(decoder)
        self._asking = Asking(client, connect_seconds=connect_seconds, answer_seconds=answer_seconds)

    @property
    def name(self) -> str:
        """What it lists: the plural, or the kind while that is not known."""
        return self._questions.name

    @property
    def namespaced(self) -> bool | None:
        """Whether the objects have namespaces; None where that is not known before discovery, or not at all."""
        return self._questions.namespaced

    def resource(self) -> Resource:
        """Give what is listed, looked up by discovery if need be.

        Raises:
            SourceError: the server does not tell; of kind MISSING where it has no such kind.
        """
        if (question := self._questions.discovery) is not None:
            self._questions.learn(self._asking.body(question))
        return self._questions.resource

    def list_page(self, request: ListRequest) -> Page[T]:
        """Get one page; raises as ``Source.list_page`` says."""
        self.resource()
        return self._reading.page(self._asking.body(self._questions.about(request)))

    def watch(self, request: WatchRequest) -> ClientStream[T]:
        """Open a watch; raises as ``Source.watch`` says."""
        self.resource()
        response = self._asking.answer(self._questions.about(request))
        return ClientStream(response, self._reading, self._asking.connections, request.silence_seconds)

    def close(self) -> None:
        """Cut what is under way, in whichever thread, and ask no more: all raise SourceError."""
        self._asking.connections.close()


class ClientStream(Generic[T]):
    """The events of one watch, to be iterated over once, by one thread; any thread may close it."""

    def __init__(
        self, response: Response, reading: Reading[T], connections: Connections, silence_seconds: float
    ) -> None:
        self._response = response
        # urllib3's own methods wait until a piece is full, or its chunk; in its version 1 there is no other.
        self._bytes: http.client.HTTPResponse = response._fp  # noqa: SLF001 - see above
        self._socket = response.connection.opened
        self._socket.settimeout(silence_seconds)
        self._silence_seconds = silence_seconds
        self._reading = reading
        self._connections = connections
        self._lock = threading.Lock()  # held by whoever uses the response
        self._closed = False

    def __iter__(self) -> Iterator[WatchEvent[T]]:
        """Give the events as they come; raises as ``Stream.__iter__`` says."""
        splitter = LineSplitter()
        try:
            while piece := self._read():
                for line in splitter.feed(piece):
                    if self._closed:
                        return
                    yield self._reading.event(line)
            if self._closed:
                return
            self._connections.check_open()
            if splitter.rest:
                raise SourceError("the watch broke off within a line", kind=ErrorKind.NETWORK)
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the connection. Called from any thread, once or more; ends an iteration that waits."""
        self._closed = True
        cut(self._socket)
        # Whoever reads it now notices that it was cut, and closes it: it is not made for two threads.
        if self._lock.acquire(blocking=False):
            try:
                self._response.close()
            finally:
                self._lock.release()

    def _read(self) -> bytes:
        """Give what comes next; nothing at the end, and when it was closed."""
        with self._lock:
            piece, error = b"", None
            try:
                if not self._closed:
                    piece = self._bytes.read1(_PIECE)
            except (http.client.HTTPException, OSError) as caught:
                error = caught
            if self._closed:
                self._response.close()
                return b""
        match error:
            case None:
                return piece
            case TimeoutError():
                raise TimeoutError(f"the watch gave nothing for {self._silence_seconds:g} s") from error
            case _:
                failure = self._connections.failure(error)
                raise failure from failure.__cause__
