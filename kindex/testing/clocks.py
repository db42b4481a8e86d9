"""ManualClock: time that passes when a test says so."""

from __future__ import annotations

import threading
from math import inf

from kindex.errors import KindexError
from kindex.informer.clocks import Interrupt

_PATIENCE_SECONDS = 10.0
"""Of the real clock: a test that waits longer for another thread waits in vain."""


class ClockError(KindexError, TimeoutError):
    """A test waited in vain for other threads to come to rest."""


class ManualClock:
    """A clock that stands still until it is told to go on, for tests without sleeping.

    Whoever waits by it waits until ``advance`` has brought the time, or its interrupt is set.

    >>> clock = ManualClock()
    >>> clock.advance(30)
    >>> clock.now()
    30.0
    >>> interrupt = clock.interrupt()
    >>> interrupt.set()
    >>> interrupt.wait(3600)
    True
    """

    def __init__(self, now: float = 0.0) -> None:
        """Begin at *now*, in seconds."""
        self._time = _Time(now)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(now={self.now():g}, waiting={self.waiting})"

    def now(self) -> float:
        """Give the time, in seconds."""
        return self._time.now

    def advance(self, seconds: float) -> None:
        """Let time pass, and wake those whose time has come.

        Raises:
            ClockError: *seconds* is negative: no clock goes back.
        """
        if not seconds >= 0:
            raise ClockError(f"a clock goes forward, so not by {seconds!r} seconds")
        with self._time.changed:
            self._time.now += seconds
            self._time.changed.notify_all()

    def interrupt(self) -> Interrupt:
        """Make an interrupt whose waits last as this clock goes."""
        return _ManualInterrupt(self._time)

    @property
    def waiting(self) -> int:
        """How many threads wait by this clock now; one that is about to wake is none of them."""
        with self._time.changed:
            return len(self._time.deadlines())

    @property
    def next_deadline(self) -> float:
        """When the first of those who wait is woken; ``inf`` when none is."""
        with self._time.changed:
            return min(self._time.deadlines(), default=inf)

    def until_waiting(self, threads: int = 1) -> None:
        """Block until so many threads wait by this clock, and so will do nothing more until it goes on.

        Raises:
            ClockError: they do not, for ten seconds of real time.
        """
        with self._time.changed:
            if not self._time.changed.wait_for(lambda: self.waiting >= threads, _PATIENCE_SECONDS):
                raise ClockError(f"{self.waiting} threads wait by this clock, not {threads}")


class _Time:
    """What a clock and its interrupts share; ``changed`` guards it."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.changed = threading.Condition()
        self.waits: list[_Wait] = []

    def deadlines(self) -> list[float]:
        """Give the deadlines of those who go on to wait. The caller holds the condition."""
        return [wait.deadline for wait in self.waits if not wait.over(self.now)]


class _Wait:
    """A thread that waits."""

    def __init__(self, interrupt: _ManualInterrupt, deadline: float) -> None:
        self.interrupt = interrupt
        self.deadline = deadline

    def over(self, now: float) -> bool:
        return self.interrupt.is_set() or now >= self.deadline


class _ManualInterrupt:
    """An interrupt of a ManualClock, used as a ``threading.Event``."""

    def __init__(self, time: _Time) -> None:
        self._time = time
        self._set = False

    def set(self) -> None:
        with self._time.changed:
            self._set = True
            self._time.changed.notify_all()

    def clear(self) -> None:
        with self._time.changed:
            self._set = False

    def is_set(self) -> bool:
        return self._set

    def wait(self, timeout: float | None = None) -> bool:
        time = self._time
        with time.changed:
            wait = _Wait(self, inf if timeout is None else time.now + timeout)
            time.waits.append(wait)
            time.changed.notify_all()  # for whoever counts those who wait
            try:
                time.changed.wait_for(lambda: wait.over(time.now))
            finally:
                time.waits.remove(wait)
            return self._set
