"""ThreadDriver: a driver with a thread of its own, which asks a Source and waits."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from kindex.informer.clocks import Clock
from kindex.informer.commands import Replace, Wait
from kindex.informer.driving import Asked, Driver
from kindex.informer.events import Ended, Event, Opened, Silent, Woken
from kindex.informer.reflector import Reflector
from kindex.sources.base import ListRequest, Source, Stream, WatchEvent, WatchRequest
from kindex.store import Store

T = TypeVar("T")


class ThreadDriver(Driver[T]):
    """Keeps a store equal to a Source, in a thread.

    The thread is a daemon. ``stop`` ends it at any moment: it wakes it from a wait, and closes the stream, and the
    source if that is its own, under a thread that reads it. A request to a source that cannot be closed goes on until
    it is answered; then nothing is done with the answer.
    """

    def __init__(
        self,
        name: str,
        reflector: Reflector[T],
        store: Store[T],
        source: Source[T],
        *,
        clock: Clock,
        close: Callable[[], None] | None,
        **settings: Any,  # noqa: ANN401 - as Driver takes them
    ) -> None:
        """Prepare to drive; *close* closes the source, if nobody else uses it."""
        super().__init__(name, reflector, store, clock=clock, **settings)
        self._source = source
        self._close_source = close
        self._stream: Stream[T] | None = None
        self._events: Iterator[WatchEvent[T]] = iter(())
        self._stopping = False
        self._interrupt = clock.interrupt()
        self.thread = threading.Thread(target=self._run, name=f"kindex-{name.replace(' in ', '-')}", daemon=True)

    def stop(self) -> None:
        """Let the thread come to its end; from any thread, without waiting for it. May be done again."""
        if self.over:
            return
        self._stopping = True
        self._interrupt.set()
        stream = self._stream
        with suppress(Exception):  # it may be anybody's, and it is over for us
            if stream is not None:
                stream.close()
        with suppress(Exception):  # the same
            if self._close_source is not None:
                self._close_source()

    def hang_up(self) -> None:
        """Let go of the stream, if one is open."""
        stream, self._stream = self._stream, None
        self._events = iter(())
        with suppress(Exception):  # it may be anybody's, and it is over for us
            if stream is not None:
                stream.close()

    def _run(self) -> None:
        failure: BaseException | None = None
        try:
            asked = self.begin()
            while not self._stopping:
                event = self._answer(asked)
                if self._stopping:
                    break
                asked = self.tell(event)
        except BaseException as error:  # noqa: BLE001 - index functions may raise SystemExit; nobody would hear of it
            failure = error
        finally:
            self.hang_up()
            self.end(failure)

    def _answer(self, asked: Asked[T] | None) -> Event[T]:
        """Do what was asked, and say what came of it."""
        match asked:
            case None:
                return self._read()
            case Replace():
                return self.replace(asked)
            case Wait(seconds=seconds):
                self._interrupt.wait(seconds)
                return Woken()
            case _:
                try:
                    return self._ask(asked)
                except Exception as error:  # noqa: BLE001 - a source may raise anything
                    return self.failed(error)

    def _ask(self, request: ListRequest | WatchRequest) -> Event[T]:
        if isinstance(request, ListRequest):
            return self.taken_in(self._source.list_page(request))
        self._stream = self._source.watch(request)
        self._events = iter(self._stream)
        return Opened()

    def _read(self) -> Event[T]:
        """Wait for what the stream gives next."""
        try:
            event = next(self._events)
        except StopIteration:
            return Ended()
        except TimeoutError:
            return Silent()
        except Exception as error:  # noqa: BLE001 - a source may raise anything
            return self.failed(error)
        return self.taken_in(event)
