"""Resyncing: replaying what is there to all who follow, now and then; no I/O."""

from __future__ import annotations

import threading
from collections.abc import Callable

from kindex.informer.clocks import Clock


class Resyncing:
    """Calls a function every so many seconds, in a thread of its own, until it is stopped.

    >>> from kindex.informer.clocks import SystemClock
    >>> resyncing = Resyncing(print, 600, name="kindex-pods-resync", clock=SystemClock())
    >>> resyncing.stop()
    """

    def __init__(self, resync: Callable[[], None], seconds: float, *, name: str, clock: Clock) -> None:
        """Begin."""
        self._resync = resync
        self._seconds = seconds
        self._interrupt = clock.interrupt()
        self.thread = threading.Thread(target=self._run, name=name, daemon=True)
        self.thread.start()

    def stop(self) -> None:
        """Call it no more; from any thread, without waiting."""
        self._interrupt.set()

    def _run(self) -> None:
        while not self._interrupt.wait(self._seconds):
            self._resync()
