"""What tests of informers share: sources that block, and the claim that no thread is left over."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from queue import Queue
from typing import TYPE_CHECKING, Any, NoReturn

from kindex.informer.tasks import wait_until
from kindex.sources.errors import SourceError
from kindex.testing import FakeSource

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex import Delta, Registration, StoreView
    from kindex.informer.informing import AnyInformer
    from kindex.sources.base import ListRequest, Page, WatchEvent, WatchRequest
    from kindex.testing.fake_streams import FakeStream
    from tests.pods import Pod

PATIENCE = 10.0
"""For what happens at once, and on a busy machine soon."""


def of_kindex() -> set[threading.Thread]:
    """Give the threads that kindex has started."""
    return {thread for thread in threading.enumerate() if thread.name.startswith("kindex-")}


@contextmanager
def no_thread_left() -> Iterator[None]:
    """Assert that the threads that begin in the block end with it."""
    before = of_kindex()
    yield
    for thread in of_kindex() - before:
        thread.join(PATIENCE)
    assert of_kindex() - before == set()


class Blocking(FakeSource):
    """A source whose requests block, as behind a server that never answers, until it is closed or told to answer.

    Args:
        objects: as for FakeSource.
        lists: whether lists block.
        watches: whether watches block before they are open.
    """

    def __init__(self, objects: list[Pod] | None = None, *, lists: bool = False, watches: bool = False) -> None:
        super().__init__(objects or [], name="pods")
        self.asked = threading.Event()
        self.answer = threading.Event()
        self.closed = False
        self._blocks = (lists, watches)

    def list_page(self, request: ListRequest) -> Page[Pod]:
        self._block(self._blocks[0])
        return super().list_page(request)

    def watch(self, request: WatchRequest) -> FakeStream:
        self._block(self._blocks[1])
        return super().watch(request)

    def _block(self, blocks: bool) -> None:
        if blocks:
            self.asked.set()
            assert self.answer.wait(PATIENCE)
        if self.closed:
            raise SourceError("closed")


class Unclosable:
    """A stream that does not end when it is closed: nothing should depend on how well a source behaves."""

    def __init__(self) -> None:
        self.reading = threading.Event()
        self.end = threading.Event()

    def __iter__(self) -> Iterator[NoReturn]:
        self.reading.set()
        assert self.end.wait(PATIENCE)
        yield from ()

    def close(self) -> None:
        raise OSError("no")


def fails(source: FakeSource, *asked: Any, status: int = 403, namespace: str | None = None) -> None:
    """Let requests of these sorts fail until the source is healed."""
    for each in asked:
        source.fail(each, status, times=None, namespace=namespace)


class Heard:
    """What a handler was called with, to be waited for."""

    def __init__(self) -> None:
        self._deltas: Queue[Delta[Any]] = Queue()

    def __call__(self, delta: Delta[Any]) -> None:
        self._deltas.put(delta)

    def next(self) -> Delta[Any]:
        """Wait for the next one."""
        return self._deltas.get(timeout=PATIENCE)

    @property
    def nothing(self) -> bool:
        """Whether there is none now."""
        return self._deltas.empty()


def listen(view: StoreView[Any], heard: Heard) -> Registration[Any]:
    """Let *heard* hear of everything."""
    return view.add_event_handler(heard, heard, heard)


def until(informer: AnyInformer[Any, Any], holds: Callable[[], object]) -> None:
    """Wait until something holds that the informer says of itself."""
    assert informer._bells.wait_until(lambda: bool(holds()), PATIENCE), f"{informer}: {informer.errors}"


def caught_up(view: StoreView[Any], source: FakeSource) -> None:
    """Wait until the view has all that the source has said."""
    view.wait_version(source.resource_version, PATIENCE)


async def until_async(informer: AnyInformer[Any, Any], holds: Callable[[], object]) -> None:
    """Wait as ``until`` does, in an event loop."""
    assert await wait_until(informer._bells, lambda: bool(holds()), PATIENCE), f"{informer}: {informer.errors}"


class InLoop:
    """A FakeSource as an AsyncSource without threads; its streams are looked at again whenever something was done.

    Attributes:
        hangs: what never answers: lists, watches, or the closing of a stream.
    """

    offers_watch_list = False

    def __init__(self, source: FakeSource, *, hangs: frozenset[str] = frozenset()) -> None:
        self.source = source
        self.name = source.name
        self.hangs = hangs
        self.closed = 0

    async def list_page(self, request: ListRequest) -> Page[Pod]:
        await asyncio.sleep(3600 if "list" in self.hangs else 0)
        return self.source.list_page(request)

    async def watch(self, request: WatchRequest) -> InLoopStream:
        await asyncio.sleep(3600 if "watch" in self.hangs else 0)
        return InLoopStream(self, self.source.watch(request))


class InLoopStream:
    """A stream of such a source."""

    def __init__(self, source: InLoop, stream: FakeStream) -> None:
        self._source = source
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[WatchEvent[Pod]]:
        while True:
            while self._stream.due_at > self._source.source._clock.now():  # noqa: ASYNC110 - nobody tells when a FakeStream is ready
                await asyncio.sleep(0)
            try:
                event = next(self._stream)
            except StopIteration:
                return
            yield event

    async def aclose(self) -> None:
        self._source.closed += 1
        self._stream.close()
        await asyncio.sleep(3600 if "close" in self._source.hangs else 0)
