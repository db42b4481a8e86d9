"""Sources over each client that is installed, all with one face; and a server that sends what a test wrote."""

from __future__ import annotations

import asyncio
import importlib
import socket
import ssl
import struct
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Self, TypeAlias, TypeVar

import attrs
import pytest

from kindex.decoding import Decoder, LazyDecoder
from kindex.sources.base import ListRequest, Page, WatchEvent, WatchRequest
from kindex.sources.resources import Listed, Resource

R = TypeVar("R")

SYNC = "kubernetes"
PACKAGES = (SYNC, "kubernetes.aio", "kubernetes_asyncio")
ASYNC_PACKAGES = PACKAGES[1:]
PODS = Resource("v1", "pods")
PATIENCE_SECONDS = 30


class Loop:
    """An event loop in a thread of its own, for whoever waits outside of it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="loop of a test")
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE_SECONDS)

    def stop(self) -> None:
        self.run(self._abort())
        self.run(self.loop.shutdown_asyncgens())
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    async def _abort(self) -> None:
        """Abort connections of clients that are closed: TLS would take its leave of the server first."""
        for transport in list(getattr(self.loop, "_transports", {}).values()):
            transport.abort()
        await asyncio.sleep(0)  # each is gone in the next turn of the loop


@attrs.define
class BlockingStream:
    """An AsyncStream as a Stream."""

    stream: Any
    loop: Loop

    def __iter__(self) -> Iterator[WatchEvent[Any]]:
        events = aiter(self.stream)

        async def following() -> list[WatchEvent[Any]]:
            async for event in events:
                return [event]
            return []

        while found := self.loop.run(following()):
            yield from found

    def close(self) -> None:
        self.loop.run(self.stream.aclose())


@attrs.define
class BlockingSource:
    """An AsyncSource as a Source."""

    source: Any
    loop: Loop

    @property
    def name(self) -> str:
        return str(self.source.name)

    @property
    def offers_watch_list(self) -> bool:
        return bool(self.source.offers_watch_list)

    def resource(self) -> Resource:
        return self.loop.run(self.source.resource())

    def list_page(self, request: ListRequest) -> Page[Any]:
        return self.loop.run(self.source.list_page(request))

    def watch(self, request: WatchRequest) -> BlockingStream:
        return BlockingStream(self.loop.run(self.source.watch(request)), self.loop)


@attrs.define
class Connected:
    """An ApiClient of one of the packages, and sources that use it."""

    client: Any
    loop: Loop | None
    closing: ExitStack

    def source(self, listed: Listed = PODS, decoder: Decoder[Any] | None = None, **options: Any) -> Any:
        decoder = LazyDecoder() if decoder is None else decoder
        if self.loop is None:
            from kindex.sources.client import ClientSource

            source = ClientSource(listed, self.client, decoder=decoder, **options)
            self.closing.callback(source.close)
            return source
        from kindex.sources.async_client import AsyncClientSource

        return BlockingSource(AsyncClientSource(listed, self.client, decoder=decoder, **options), self.loop)


@contextmanager
def connected(package: str, kubeconfig: dict[str, Any]) -> Iterator[Connected]:
    """Give a client of *package* for the content of a kubeconfig; where it is not installed, the test is skipped."""
    pytest.importorskip(package)
    make = importlib.import_module(f"{package}.config").new_client_from_config_dict
    with ExitStack() as closing:
        if package == SYNC:
            client = make(kubeconfig)
            closing.callback(client.close)
            yield Connected(client, None, closing)
            return
        loop = Loop()
        closing.callback(loop.stop)
        client = loop.run(make(config_dict=kubeconfig))
        closing.callback(lambda: loop.run(client.close()))
        yield Connected(client, loop, closing)


def plain_config(url: str, **user: Any) -> dict[str, Any]:
    """Give the content of a kubeconfig for the server at *url*."""
    return {
        "clusters": [{"name": "test", "cluster": {"server": url}}],
        "users": [{"name": "test", "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "current-context": "test",
    }


# A server that sends what a test wrote

Answer: TypeAlias = Sequence[bytes | threading.Event]
"""Bytes to be sent one after another; where an event stands, the server waits for it first."""

LIST_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
WATCH_HEAD = LIST_HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
WATCH_END = b"0\r\n\r\n"


def body(text: bytes, head: bytes = LIST_HEAD) -> list[bytes]:
    """Give an answer with a body."""
    return [head + b"Content-Length: %d\r\n\r\n" % len(text) + text]


def chunk(text: bytes) -> bytes:
    """Give a part of a body as HTTP sends it in pieces."""
    return b"%x\r\n%s\r\n" % (len(text), text)


class ScriptedServer:
    """Gives each request the next of its answers and then hangs up, whatever was asked.

    Args:
        answers: one for each request.
        context: with which to speak TLS.
    """

    def __init__(self, *answers: Answer, context: ssl.SSLContext | None = None) -> None:
        self.heads: list[str] = []
        self._answers = answers
        self._context = context
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="ScriptedServer")
        self._stopping = threading.Event()
        self.url = f"http{'' if context is None else 's'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        with suppress(OSError):
            socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()

    @property
    def config(self) -> dict[str, Any]:
        return plain_config(self.url)

    def _serve(self) -> None:
        for answer in self._answers:
            with self._listener.accept()[0] as accepted, suppress(OSError):  # the client may leave at any time
                accepted.settimeout(PATIENCE_SECONDS)
                with self._wrapped(accepted) as connection:
                    head = b""
                    while not head.endswith(b"\r\n\r\n"):
                        if not (piece := connection.recv(65536)):
                            break
                        head += piece
                    self.heads.append(head.decode())
                    for part in answer:
                        if isinstance(part, bytes):
                            connection.sendall(part)
                        else:
                            part.wait(PATIENCE_SECONDS)
            if self._stopping.is_set():
                return

    def _wrapped(self, connection: socket.socket) -> socket.socket:
        return connection if self._context is None else self._context.wrap_socket(connection, server_side=True)


class QuittingServer:
    """Answers the first request of each connection, and resets the connection when the next one comes.

    So a connection that is kept always turns out to be closed when it is used again, which else is a matter of luck.

    Args:
        answers: one for each connection, whose length its head says; a connection without one is reset at once.
    """

    def __init__(self, *answers: bytes) -> None:
        self.requests = 0
        self._answers = answers
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, name="QuittingServer")
        self._stopping = threading.Event()
        self._serving: list[threading.Thread] = []
        self.config = plain_config(f"http://127.0.0.1:{self._listener.getsockname()[1]}")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        with suppress(OSError):
            socket.create_connection(self._listener.getsockname()).close()
        self._thread.join()
        self._listener.close()
        for thread in self._serving:
            thread.join()

    def _serve(self) -> None:
        answers = iter(self._answers)
        while True:
            connection = self._listener.accept()[0]
            if self._stopping.is_set():
                connection.close()
                return
            thread = threading.Thread(target=self._answer, args=(connection, next(answers, None)), name="a connection")
            self._serving.append(thread)
            thread.start()

    def _answer(self, connection: socket.socket, answer: bytes | None) -> None:
        connection.settimeout(PATIENCE_SECONDS)
        with connection, suppress(OSError):
            if connection.recv(65536):
                self.requests += 1
                if answer is not None:
                    connection.sendall(answer)
                    self.requests += bool(connection.recv(65536))
            # Closed so, it is reset rather than ended.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
