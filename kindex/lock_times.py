"""How long a store's lock was waited for and held, where somebody measures it.

It is measured around the lock and inside of it, and not by a lock of its own: between taking the real one and giving it
back, code of Python's can be interrupted, and the lock would stay taken for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

By: TypeAlias = Literal["query", "write"]


class Times:
    """Sums, of those who took the lock for one purpose."""

    __slots__ = ("held_seconds", "takes", "waited_seconds")

    def __init__(self) -> None:
        self.takes = 0
        self.waited_seconds = 0.0
        self.held_seconds = 0.0

    @property
    def sums(self) -> tuple[int, float, float]:
        """How often it was taken, and how long it was waited for and held."""
        return self.takes, self.waited_seconds, self.held_seconds


class LockTimes:
    """The sums of one store. Guarded by its lock: who has it takes note before giving it back.

    >>> seconds = iter([1.0, 3.0, 8.0])
    >>> times = LockTimes(lambda: next(seconds))
    >>> asked, got = times.clock(), times.clock()
    >>> times.note("write", asked, got)
    >>> times.of["write"].waited_seconds, times.of["write"].held_seconds
    (2.0, 5.0)
    """

    __slots__ = ("clock", "measurers", "of")

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.measurers = 0
        self.of: dict[By, Times] = {"query": Times(), "write": Times()}

    def note(self, by: By, asked: float, got: float) -> None:
        """Take note of when the lock was asked for and got; it is given back now. The caller holds the lock."""
        times = self.of[by]
        times.takes += 1
        times.waited_seconds += got - asked
        times.held_seconds += self.clock() - got
