"""Counts: what queries came to, added up."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kindex.advice import Asked

if TYPE_CHECKING:
    from kindex.shapes import Shape
    from kindex.watching import Answered, IndexId


class Count:
    """What some queries came to."""

    __slots__ = ("asked", "returned", "scanned", "scans", "seconds")

    def __init__(self) -> None:
        self.asked = self.scans = self.scanned = self.returned = 0
        self.seconds = 0.0

    def add(self, answered: Answered, seconds: float) -> None:
        """Count one query."""
        self.asked += 1
        self.scans += answered.scans
        self.scanned += answered.scanned
        self.returned += answered.returned
        self.seconds += seconds

    def merge(self, other: Count) -> None:
        """Count all that *other* has counted."""
        self.asked += other.asked
        self.scans += other.scans
        self.scanned += other.scanned
        self.returned += other.returned
        self.seconds += other.seconds

    def copy(self) -> Count:
        """Give another of the same."""
        count = Count()
        count.merge(self)
        return count

    def as_asked(self, shape: str) -> Asked:
        """Give what a report shows."""
        return Asked(shape, self.asked, self.scans, self.scanned, self.returned, self.seconds)


class UseCount:
    """How often an index was used, and how often its answer alone would have left most of the store."""

    __slots__ = ("uses", "wide")

    def __init__(self) -> None:
        self.uses = self.wide = 0


class Seen(NamedTuple):
    """A copy of all counts, to be worked on without a lock.

    Attributes:
        total: of all queries.
        others: of the shapes that are not told apart.
        shapes: the rest, by shape.
        uses: of each index, how often, and how often widely.
        since: how many queries had been seen when each index was seen first.
        all_uses: whether the uses of every index are among them.
    """

    total: Count
    others: Count
    shapes: dict[Shape, Count]
    uses: dict[IndexId, tuple[int, int]]
    since: dict[IndexId, int]
    all_uses: bool
