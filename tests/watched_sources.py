"""Informers over the official clients whose every request is noted, by a clock that never lets anyone wait."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import attrs
from msgspec.structs import replace

from kindex import AsyncInformer, Informer
from kindex.decoding import LazyDecoder
from kindex.informer.clocks import Clock
from kindex.sources.base import ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing import ApiServer
from tests.sources import PODS, Loop

AnyOfBoth = Informer[Any] | AsyncInformer[Any]


class SkippingClock:
    """A clock whose waits are over at once: they move the time, and nothing else does. So a minute of retries is none.

    No request takes any of its time, so requests come as close to each other by it as they ever can.

    Attributes:
        on_wait: called before a wait.
    """

    def __init__(self) -> None:
        self.on_wait: Callable[[], None] = lambda: None
        self._now = 0.0
        self._lock = threading.Lock()

    def now(self) -> float:
        return self._now

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds

    def interrupt(self) -> Skipping:
        return Skipping(self)


class Skipping(threading.Event):
    """An interrupt of it."""

    def __init__(self, clock: SkippingClock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            return super().wait()
        if not self.is_set():
            self._clock.on_wait()
            self._clock.advance(timeout)
        return self.is_set()


class Word(NamedTuple):
    """What an informer says of itself.

    Attributes:
        live: whether it is.
        error: the kind of its ``last_error``.
    """

    live: bool
    error: ErrorKind | None


@attrs.frozen
class Asked:
    """A request that an informer made, and what it said of itself at that moment.

    Attributes:
        at: the time.
        request: as the source got it.
        hits: how often the fault had happened.
        word: the informer's.
    """

    at: float
    request: ListRequest | WatchRequest
    hits: int
    word: Word


@attrs.define
class Notebook:
    """Notes what an informer asks of a server, by a clock that is the informer's, too.

    Attributes:
        server: which counts by itself.
        clock: the time.
        hits: says how often a fault has happened.
        asked: all requests.
        waits: what the informer said of itself whenever it began to wait.
        informer: the one.
    """

    server: ApiServer
    clock: Clock
    hits: Callable[[], int] = lambda: 0
    asked: list[Asked] = attrs.field(factory=list)
    waits: list[Word] = attrs.field(factory=list)
    informer: AnyOfBoth | None = None

    def word(self) -> Word:
        """Ask the informer how it is."""
        informer = self.informer
        assert informer is not None
        error = informer.last_error
        assert error is None or isinstance(error, SourceError), repr(error)
        return Word(informer.live, None if error is None else error.kind)

    def note_wait(self) -> None:
        """Note what it says while it waits."""
        self.waits.append(self.word())

    def note(self, request: ListRequest | WatchRequest) -> None:
        """Note what it asks."""
        self.asked.append(Asked(self.clock.now(), request, self.hits(), self.word()))

    def busiest_second(self) -> int:
        """Count the requests of the busiest second, both its ends included.

        Pages after the first of a list are progress, and do not count.
        """
        return max(sum(begin <= time <= begin + 1 for time in self.times) for begin in self.times)

    @property
    def times(self) -> list[float]:
        """When it asked, but for those pages."""
        return [
            each.at for each in self.asked if not (isinstance(each.request, ListRequest) and each.request.continuation)
        ]

    @property
    def repeated(self) -> int:
        """How many requests the client made that nobody asked it for."""
        return len(self.server.requests) - len(self.asked)


@attrs.define
class Noting:
    """A source that notes what it is asked; silence is noticed by the deadline that it is given."""

    source: Any
    notebook: Notebook
    silence_seconds: float | None

    @property
    def name(self) -> str:
        return str(self.source.name)

    offers_watch_list = False

    def list_page(self, request: ListRequest) -> Any:
        self.notebook.note(request)
        return self.source.list_page(request)

    def watch(self, request: WatchRequest) -> Any:
        self.notebook.note(request)
        return self.source.watch(self._hasty(request))

    def _hasty(self, request: WatchRequest) -> WatchRequest:
        return request if self.silence_seconds is None else replace(request, silence_seconds=self.silence_seconds)


class AsyncNoting(Noting):
    """The same for an event loop."""

    async def list_page(self, request: ListRequest) -> Any:
        self.notebook.note(request)
        return await self.source.list_page(request)

    async def watch(self, request: WatchRequest) -> Any:
        self.notebook.note(request)
        return await self.source.watch(self._hasty(request))


@contextmanager
def informing(
    notebook: Notebook, loop: Loop | None, *, silence_seconds: float | None = None, **settings: Any
) -> Iterator[AnyOfBoth]:
    """Make an informer of the pods of a server, in an event loop or by threads; it is stopped in the end."""
    deadlines = {} if silence_seconds is None else dict.fromkeys(("connect_seconds", "answer_seconds"), silence_seconds)
    server, settings = notebook.server, settings | {"clock": notebook.clock}
    with ExitStack() as closing:
        informer: AnyOfBoth
        if loop is None:
            from kindex.sources.client import ClientSource

            client = closing.enter_context(server.api_client())
            source = ClientSource(PODS, client, decoder=LazyDecoder(), **deadlines)
            closing.callback(source.close)
            informer = Informer(Noting(source, notebook, silence_seconds), **settings)
            closing.callback(informer.stop, 10.0)
        else:
            from kubernetes.aio.config import new_client_from_config_dict

            from kindex.sources.async_client import AsyncClientSource

            client = loop.run(new_client_from_config_dict(server.config()))
            closing.callback(lambda: loop.run(client.close()))
            async_source = AsyncClientSource(PODS, client, decoder=LazyDecoder(), **deadlines)
            informer = AsyncInformer(AsyncNoting(async_source, notebook, silence_seconds), **settings)
            closing.callback(lambda: loop.run(informer.stop(10.0)))
        notebook.informer = informer
        yield informer


def start(informer: AnyOfBoth, loop: Loop | None) -> None:
    """Start it."""
    if isinstance(informer, AsyncInformer):
        assert loop is not None
        loop.run(informer.start())
    else:
        informer.start()
