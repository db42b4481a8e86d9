"""What blocks, in an event loop: calls in threads of their own, and a Source as an AsyncSource."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeVar

from kindex.sources.base import AsyncSource, AsyncStream, ListRequest, Page, Source, Stream, WatchEvent, WatchRequest

T = TypeVar("T")
R = TypeVar("R")

_AHEAD: Final = 1_000
"""So many events may wait for the loop; then nothing is read."""


async def in_thread(function: Callable[..., R], *args: object, unwanted: Callable[[R], object] | None = None) -> R:
    """Call a function that blocks in a thread of its own, a daemon; nobody waits for it when the loop ends.

    Args:
        function: to be called.
        args: its arguments.
        unwanted: what to do with a result that comes after this call was cancelled.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def settle(result: R | None, error: BaseException | None) -> None:
        if not done.done():
            if error is None:
                done.set_result(result)  # type: ignore[arg-type]  # there is one, if there is no error
            else:
                done.set_exception(error)
        elif error is None and unwanted is not None:
            unwanted(result)  # type: ignore[arg-type]  # the same

    def run() -> None:
        result: R | None = None
        failure: BaseException | None = None
        try:
            result = function(*args)
        except BaseException as error:  # noqa: BLE001 - whoever awaits gets it
            failure = error
        if isinstance(failure, StopIteration):  # which no future can hold
            failure = StopAsyncIteration()
        try:
            loop.call_soon_threadsafe(settle, result, failure)
        except RuntimeError:  # the loop is closed
            if failure is None and unwanted is not None:
                unwanted(result)  # type: ignore[arg-type]  # the same

    threading.Thread(target=run, name=f"kindex-{getattr(function, '__name__', 'call')}", daemon=True).start()
    return await done


class ThreadedSource(AsyncSource[T]):
    """A Source as an AsyncSource: threads wait where it blocks."""

    def __init__(self, source: Source[T]) -> None:
        """Ask *source*."""
        self._source = source

    @property
    def name(self) -> str:
        """What it lists."""
        return self._source.name

    @property
    def offers_watch_list(self) -> bool:
        """Whether to try watches with initial events."""
        return self._source.offers_watch_list

    async def list_page(self, request: ListRequest) -> Page[T]:
        """Get one page."""
        return await in_thread(self._source.list_page, request)

    async def watch(self, request: WatchRequest) -> AsyncStream[T]:
        """Open a watch."""
        stream = await in_thread(self._source.watch, request, unwanted=lambda late: late.close())
        return _ThreadedStream(stream)


class _ThreadedStream(AsyncStream[T]):
    """A Stream as an AsyncStream: a thread reads it, some events ahead."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Queue[WatchEvent[T] | BaseException] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        threading.Thread(target=self._run, name="kindex-stream", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        return self

    async def __anext__(self) -> WatchEvent[T]:
        arrived = await self._arrived.get()
        self._room.release()
        if isinstance(arrived, BaseException):
            raise arrived
        return arrived

    async def aclose(self) -> None:
        """Let go of the connection; the thread ends."""
        self._stream.close()
        self._room.release()

    def _run(self) -> None:
        end: BaseException = StopAsyncIteration()
        try:
            for event in self._stream:
                self._room.acquire()
                if not self._put(event):
                    self._stream.close()
                    return
        except BaseException as error:  # noqa: BLE001 - whoever reads gets it, and must not wait for ever
            end = error
        self._put(end)

    def _put(self, arrived: WatchEvent[T] | BaseException) -> bool:
        """Give something to whoever reads; False if the loop is closed, so that nobody does."""
        try:
            self._loop.call_soon_threadsafe(self._arrived.put_nowait, arrived)
        except RuntimeError:
            return False
        return True
