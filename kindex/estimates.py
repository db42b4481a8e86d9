"""Estimates: what a sample of objects says of an index over all of them."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil, sqrt
from random import Random
from typing import TYPE_CHECKING, Final

import attrs

from kindex.frequencies import Frequencies
from kindex.prices import CONTAINER, Outline, Postings, key_bytes, tuple_bytes
from kindex.values import Several, keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kindex.values import Filing, ValueKey

_NEIGHBOURS: Final = 3
"""One in so many of the sampled objects is taken for being the neighbour of another in key order."""

_OFTEN: Final = 10
"""A value that is seen so often is known well enough to be reckoned by itself."""

_DEVIATIONS: Final = 2.0
"""A range reaches so many standard deviations to each side."""

_FORMULA: Final = 0.04
"""How far the bytes may be from those of an index that is just as reckoned."""


@attrs.frozen
class Drawn:
    """The objects that are looked at, by their place in key order.

    Attributes:
        rows: the places; the first *draws* were drawn one by one, the others are neighbours of some of them.
        draws: how many were drawn.
        pairs: neighbours, each as two positions in *rows*.
        share: of the population, that the draws are.
        capacity: the population: the slots of the store to come.
        slots: where in that store each draw would be.
        grow: how many times the objects there will be.
    """

    rows: Sequence[int]
    draws: int
    pairs: Sequence[tuple[int, int]]
    share: float
    capacity: float
    slots: Sequence[int]
    grow: float

    @classmethod
    def all(cls, count: int, grow: float) -> Drawn:
        """Look at all of *count* objects."""
        rows = range(count)
        return cls(rows, count, list(pairwise(rows)), 1 / grow, count * grow, _slots(rows, grow), grow)

    @classmethod
    def by_chance(cls, count: int, sample: int, grow: float, seed: int) -> Drawn:
        """Look at *sample* of *count* objects."""
        neighbours = sample // _NEIGHBOURS
        draws = sample - neighbours
        drawn = Random(seed).sample(range(count), draws)  # noqa: S311 - a sample, not a secret
        rows = drawn + [(row + 1) % count for row in drawn[:neighbours]]
        pairs = [(first, draws + first) for first in range(neighbours)]
        return cls(rows, draws, pairs, draws / (count * grow), count * grow, _slots(drawn, grow), grow)


def _slots(rows: Sequence[int], grow: float) -> Sequence[int]:
    return rows if grow == 1 else [int(row * grow) for row in rows]


class Estimate:
    """What a sample says of one index.

    Args:
        drawn: the sample.
        column: the filings of its rows.
        columnar: as for an Outline.
        in_order: the same.
        beside_bytes: the same.
    """

    def __init__(
        self,
        drawn: Drawn,
        column: Sequence[Filing],
        *,
        columnar: bool,
        in_order: bool,
        beside_bytes: float = 0.0,
    ) -> None:
        self._drawn = drawn
        filings = column[: drawn.draws]
        filed = [(value, slot) for filing, slot in zip(filings, drawn.slots, strict=True) for value in keys_in(filing)]
        self._counts = Counter(value for value, _ in filed)
        self._frequencies = Frequencies.of(self._counts.values(), drawn.share)
        self._seen = sum(1 for filing in filings if keys_in(filing))
        # How often neighbours share a value tells how long runs are.
        self._first: Counter[ValueKey] = Counter()
        self._same: Counter[ValueKey] = Counter()
        for first, second in drawn.pairs:
            values, others = keys_in(column[first]), keys_in(column[second])
            self._first.update(values)
            self._same.update(value for value in values if value in others)
        # How often two objects with one value are in one container tells over how many a value is spread.
        self._containers = max(1, ceil(drawn.capacity / CONTAINER))
        self._near: Counter[ValueKey] = Counter()
        if self._containers > 1:
            for (value, _), count in Counter((value, slot // CONTAINER) for value, slot in filed).items():
                self._near[value] += count * (count - 1) // 2
        rare = [value for value, count in self._counts.items() if count < _OFTEN]
        self._rare_draws = sum(self._counts[value] for value in rare)
        self._rare_pairs = sum(self._first[value] for value in rare)
        self._run = _ratio(self._same.total(), self._first.total())
        self._rare_run = _ratio(sum(self._same[value] for value in rare), self._rare_pairs)
        pairs = sum(self._counts[value] * (self._counts[value] - 1) // 2 for value in rare)
        self._rare_spread = self._spread(pairs, sum(self._near[value] for value in rare))
        self._columnar = columnar
        self._in_order = in_order
        self._beside_bytes = beside_bytes
        self._key_bytes = sum(map(key_bytes, self._counts)) / max(1, len(self._counts))
        # Objects with the same several values share one tuple of them, so these are counted as values are.
        sets = Counter(filing for filing in filings if type(filing) is Several and filing)
        mean = sum(tuple_bytes(len(each)) for each in sets) / max(1, len(sets))
        different = min(Frequencies.of(sets.values(), drawn.share).values(), sets.total() / drawn.share)
        self._filing_bytes = mean * different
        often = [(value, count) for value, count in self._counts.items() if count >= _OFTEN]
        self._often = [self._often_posting(value, count) for value, count in often]
        between = [
            self._often_posting(value, count, 1).bytes - self._often_posting(value, count, -1).bytes
            for value, count in often
        ]
        self._often_spread = sqrt(sum(each**2 for each in between)) / 2

        self.objects = round(self._seen / drawn.share)
        self.outline = self._outline(self._frequencies)
        number, singles = self._values(self._frequencies)
        self.values, self.singles, self.largest = round(number), round(singles), self._largest(number)

    def bytes_range(self) -> tuple[int, int]:
        """Say from where to where the bytes may be: two standard deviations to either side of either law."""
        drawn, frequencies = self._drawn, self._frequencies
        runs = self._outline(frequencies, run=1).bytes - self._outline(frequencies, run=-1).bytes
        # How many objects have a value at all is a matter of chance too.
        missing = sqrt(max(0.0, 1 - self._seen / drawn.draws) * (1 - drawn.share) / max(1, self._seen))
        others = (runs / 2) ** 2 + (missing * self.outline.forward) ** 2 + self._often_spread**2
        ends = self._ends(lambda each, even: self._outline(each, even=even).bytes, others)
        ends += [self._outline(frequencies, values=number).bytes for number in self._if_grown()]
        # Never less than with those values alone that were seen, and without their postings.
        least = attrs.evolve(self.outline, values=len(self._counts), postings=()).bytes
        return round(max(least, min(ends)) * (1 - _FORMULA)), round(max(ends) * (1 + _FORMULA))

    def values_range(self) -> tuple[int, int]:
        """Say from where to where the number of values may be; there are at least those that were seen."""
        ends = self._ends(lambda each, even: self._values(each, even=even)[0]) + self._if_grown()
        return max(len(self._counts), round(min(ends))), round(max(ends))

    def _ends(self, result: Callable[[Frequencies, bool], float], others: float = 0.0) -> list[float]:
        """Give how far *result* reaches by chance, which is in the frequencies, and in a variance of *others*."""
        ends = []
        for even in (False, True):
            middle = result(self._frequencies, even)
            chances = [result(high, even) - result(low, even) for low, high in self._frequencies.shaken()]
            spread = _DEVIATIONS * sqrt(sum(chance**2 for chance in chances) / 4 + others)
            ends += [middle - spread, middle + spread]
        return ends

    def _if_grown(self) -> list[float]:
        """Give the values if those that are here get more objects each, and if ever more come of the size of these."""
        drawn = self._drawn
        if drawn.grow == 1:
            return []
        here = attrs.evolve(self._frequencies, share=min(1.0, drawn.share * drawn.grow)).values()
        return [here, here * drawn.grow]

    def _values(self, frequencies: Frequencies, *, even: bool = False) -> tuple[float, float]:
        """Give values and singles, within what is possible."""
        slots = frequencies.draws / frequencies.share
        values = min(frequencies.values(even=even), frequencies.seen + slots - frequencies.draws)
        rare, rare_slots = self._rare(frequencies, values)
        # Each value that is no single has two objects at least.
        singles = min(max(frequencies.singles(even=even), 2 * rare - rare_slots), rare)
        return values, max(0.0, singles)

    def _rare(self, frequencies: Frequencies, values: float) -> tuple[float, float]:
        """Give how many values there are of those that were not seen often, and their objects."""
        return max(0.0, values - len(self._often)), self._rare_draws / frequencies.share

    def _outline(
        self, frequencies: Frequencies, *, even: bool = False, values: float | None = None, run: float = 0
    ) -> Outline:
        """Reckon what the index would be like.

        Args:
            frequencies: of the values.
            even: whether to take rare values for equally frequent.
            values: how many there are, if not as many as the frequencies say.
            run: by how many standard deviations runs differ from what was seen.
        """
        share, capacity = self._drawn.share, self._drawn.capacity
        estimated, singles = self._values(frequencies, even=even)
        if values is None:
            values = estimated
        postings = self._often.copy()
        rare, slots = self._rare(frequencies, values)
        singles = min(singles, rare)
        shared = rare - singles
        if shared >= 0.5:
            again = _shifted(self._rare_run, self._rare_pairs, run)
            size = max(2.0, (slots - singles) / shared)
            postings.append(self._posting(shared, size, again, self._rare_spread))
        objects = self._seen / share
        # One run when it is full. Else no runs: an index makes it by taking away those that have no value.
        present = Postings(1, objects, self._containers, 1 if self._seen == self._drawn.draws else None)
        return Outline(
            capacity=capacity,
            values=values,
            postings=postings,
            present=present,
            columnar=self._columnar,
            in_order=self._in_order,
            key_bytes=self._key_bytes,
            filing_bytes=self._filing_bytes,
            beside_bytes=self._beside_bytes,
        )

    def _often_posting(self, value: ValueKey, count: int, run: float = 0) -> Postings:
        # The rest of the sample has a say about runs, as much as ten pairs.
        seen = self._first[value] + _OFTEN
        again = _shifted((self._same[value] + _OFTEN * self._run) / seen, seen, run)
        spread = self._spread(count * (count - 1) // 2, self._near[value])
        return self._posting(1, count / self._drawn.share, again, spread)

    def _posting(self, count: float, size: float, again: float, spread: float) -> Postings:
        """Give postings of so many slots, whose neighbours have the same value with the chance *again*."""
        drawn = self._drawn
        by_chance = min(1.0, size / drawn.capacity)
        if drawn.grow > 1 and again > by_chance and by_chance < 1:
            # There will be others between those that are neighbours now.
            again = by_chance + (1 - by_chance) * ((again - by_chance) / (1 - by_chance)) ** (1 / drawn.grow)
        containers = spread * (1 - (1 - 1 / spread) ** size)
        return Postings(count, size, containers, max(containers, size * (1 - again)))

    def _spread(self, pairs: int, near: int) -> float:
        """Give the number of containers over which slots seem spread, when *near* of *pairs* share one."""
        if not pairs or near >= pairs:
            return 1.0
        return min(float(self._containers), pairs / max(near, 0.5))

    def _largest(self, values: float) -> int:
        top = max(self._counts.values(), default=0)
        share = self._drawn.share
        if top >= _OFTEN or not top:
            return round(top / share)
        rare, slots = self._rare(self._frequencies, values)
        return max(1, round(max(slots / max(rare, 1.0), (top - sqrt(top)) / share)))


def _shifted(share: float, seen: int, deviations: float) -> float:
    """Shift a share of so many by standard deviations."""
    return min(1.0, max(0.0, share + deviations * sqrt(share * (1 - share) / max(1, seen))))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0
