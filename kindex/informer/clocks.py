"""Clocks: the only way in which an informer knows the time, and waits."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Interrupt(Protocol):
    """What ends a wait early, from another thread; ``threading.Event`` is one."""

    def set(self) -> None:
        """End the wait that is under way, and every later one, until ``clear``."""
        ...

    def clear(self) -> None:
        """Let later waits wait again."""
        ...

    def is_set(self) -> bool:
        """Tell whether it was set."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, for *timeout* seconds at most; tell whether it was set."""
        ...


class Clock(Protocol):
    """Tells the time, and makes interrupts that wait by it."""

    def now(self) -> float:
        """Give the seconds since some moment; never goes back."""
        ...

    def interrupt(self) -> Interrupt:
        """Make an interrupt whose waits last as this clock goes."""
        ...


class SystemClock:
    """The clock of the machine, which no change of the date moves.

    >>> clock = SystemClock()
    >>> clock.now() <= clock.now()
    True
    >>> clock.interrupt().wait(0)
    False
    """

    __slots__ = ()

    def now(self) -> float:
        """Give the seconds since some moment; never goes back."""
        return time.monotonic()

    def interrupt(self) -> Interrupt:
        """Make an interrupt: a ``threading.Event`` that waits for any time, also for longer than a lock can count."""
        return _Event()


class _Event(threading.Event):
    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(None if timeout is None else min(timeout, threading.TIMEOUT_MAX))
