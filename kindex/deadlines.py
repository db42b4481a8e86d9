"""Deadlines: how long there still is to wait."""

from __future__ import annotations

from threading import TIMEOUT_MAX
from time import monotonic


class Deadline:
    """A moment so many seconds from now; None is never.

    >>> Deadline(0).left, Deadline(None).left
    (0.0, None)
    """

    __slots__ = ("_at",)

    def __init__(self, timeout_seconds: float | None) -> None:
        self._at = None if timeout_seconds is None else monotonic() + timeout_seconds

    @property
    def left(self) -> float | None:
        """How many seconds are left, in what a lock or queue takes: none is 0, and no more than it can count; or None.

        >>> Deadline(float("inf")).left == TIMEOUT_MAX
        True
        """
        return None if self._at is None else min(max(0.0, self._at - monotonic()), TIMEOUT_MAX)
