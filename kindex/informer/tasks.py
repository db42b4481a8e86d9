"""TaskDriver: a driver with a task of its own, which asks an AsyncSource and waits.

This module is imported where an AsyncInformer is made: whoever has none does not load asyncio.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeVar

from kindex.informer.bells import Bells
from kindex.informer.blocking import in_thread
from kindex.informer.clocks import Clock, SystemClock
from kindex.informer.commands import Replace, Wait
from kindex.informer.driving import Asked, Driver
from kindex.informer.events import Ended, Event, Opened, Silent, Woken
from kindex.informer.reflector import Reflector
from kindex.sources.base import AsyncSource, AsyncStream, ListRequest, WatchEvent, WatchRequest
from kindex.store import Store

T = TypeVar("T")
R = TypeVar("R")

_MANY: Final = 1_000
"""Lists of more objects are put into the store by a thread: the loop must not stand still for that."""

_CLOSING_SECONDS: Final = 1.0
"""How long closing a stream may take; then it is left to itself."""


class TaskDriver(Driver[T]):
    """Keeps a store equal to an AsyncSource, in a task of the running loop."""

    def __init__(
        self,
        name: str,
        reflector: Reflector[T],
        store: Store[T],
        source: AsyncSource[T],
        *,
        clock: Clock,
        **settings: Any,  # noqa: ANN401 - as Driver takes them
    ) -> None:
        """Prepare to drive."""
        super().__init__(name, reflector, store, clock=clock, **settings)
        self._source = source
        self._stream: AsyncStream[T] | None = None
        self._left: AsyncStream[T] | None = None
        self._events: AsyncIterator[WatchEvent[T]] | None = None
        self._silence_seconds = 0.0
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the running loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name=f"kindex-{self.name}")

    def cancel(self) -> None:
        """Let the task come to its end, without waiting; in its loop. May be done again."""
        if self._task is not None and not self.over:
            self._task.cancel()

    async def stop(self) -> None:
        """Come to the end, at once. May be done again."""
        self.cancel()
        if self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def hang_up(self) -> None:
        """Let go of the stream, as the next thing."""
        self._left, self._stream, self._events = self._stream, None, None

    async def _run(self) -> None:
        failure: BaseException | None = None
        try:
            asked = self.begin()
            while True:
                asked = self.tell(await self._answer(asked))
        except asyncio.CancelledError:
            pass  # by stop, or by a loop that ends
        except BaseException as error:  # noqa: BLE001 - nobody awaits this task to hear of it
            failure = error
        finally:
            if self._stream is not None:
                self.hang_up()
            self.end(failure)
            await self._close()

    async def _answer(self, asked: Asked[T] | None) -> Event[T]:
        """Do what was asked, and say what came of it."""
        if self._left is not None:
            await self._close()
        match asked:
            case None:
                return await self._read()
            case Replace():
                if len(asked.objects) <= _MANY:
                    return self.replace(asked)
                return await asyncio.to_thread(self.replace, asked)
            case Wait(seconds=seconds):
                await pause(self._clock, seconds)
                return Woken()
            case _:
                try:
                    return await self._ask(asked)
                except Exception as error:  # noqa: BLE001 - a source may raise anything
                    return self.failed(error)

    async def _ask(self, request: ListRequest | WatchRequest) -> Event[T]:
        if isinstance(request, ListRequest):
            return self.taken_in(await self._source.list_page(request))
        self._stream = await self._source.watch(request)
        self._events = aiter(self._stream)
        self._silence_seconds = request.silence_seconds
        return Opened()

    async def _read(self) -> Event[T]:
        """Wait for what the stream gives next."""
        assert self._events is not None, "no stream is open"
        try:
            async with asyncio.timeout(self._silence_seconds):
                event = await anext(self._events)
        except StopAsyncIteration:
            return Ended()
        except TimeoutError:
            return Silent()
        except Exception as error:  # noqa: BLE001 - a source may raise anything
            return self.failed(error)
        return self.taken_in(event)

    async def _close(self) -> None:
        """Close the stream that was hung up."""
        left, self._left = self._left, None
        with suppress(Exception):  # it may be anybody's, and it is over for us
            if left is not None:
                async with asyncio.timeout(_CLOSING_SECONDS):
                    await left.aclose()


async def wait_until(bells: Bells, ready: Callable[[], bool], timeout_seconds: float | None) -> bool:
    """Wait until *ready* says so; it is asked again when *bells* ring. False if that took too long."""
    rung = asyncio.Event()
    with bells.hung(partial(asyncio.get_running_loop().call_soon_threadsafe, rung.set)):
        try:
            async with asyncio.timeout(timeout_seconds):
                while not ready():
                    rung.clear()
                    if ready():  # again: it may have become so before the bell was cleared
                        break
                    await rung.wait()
        except TimeoutError:
            return ready()
    return True


async def pause(clock: Clock, seconds: float) -> None:
    """Let time pass, as *clock* goes."""
    if isinstance(clock, SystemClock):
        await asyncio.sleep(seconds)
        return
    interrupt = clock.interrupt()
    try:
        await in_thread(interrupt.wait, seconds)
    finally:
        interrupt.set()
