"""Threads of tests: run something beside, and know when it waits. Nothing sleeps; what hangs fails at a deadline."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

R = TypeVar("R")

DEADLINE = 60.0
"""Seconds. No claim: a test that passes does not come near it, however busy the machine is."""


class Beside(Generic[R]):
    """A call in a thread of its own."""

    def __init__(self, act: Callable[[], R]) -> None:
        self._outcome: Future[R] = Future()
        self.thread = threading.Thread(target=self._run, args=(act,), daemon=True)
        self.thread.start()

    def result(self) -> R:
        """Wait for what the call gives or raises."""
        return self._outcome.result(DEADLINE)

    def _run(self, act: Callable[[], R]) -> None:
        try:
            self._outcome.set_result(act())
        except BaseException as error:  # noqa: BLE001 - whoever asks for the result gets it
            self._outcome.set_exception(error)


class Bell(SimpleQueue[None]):
    """The bell of a follower or of somebody who waits, which counts those who are about to wait for it."""

    def __init__(self) -> None:
        super().__init__()
        self._waits = threading.Semaphore(0)

    def get(self, block: bool = True, timeout: float | None = None) -> None:
        """Wait, and tell so before."""
        self._waits.release()
        super().get(block, timeout)

    def waited(self) -> None:
        """Return once another thread waits."""
        assert self._waits.acquire(timeout=DEADLINE)


def passed(event: threading.Event) -> None:
    """Return once *event* is set."""
    assert event.wait(DEADLINE)
