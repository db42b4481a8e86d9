"""Forecasts: what an index would take, before it is built into a store."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import ceil, sqrt
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from kindex.errors import QueryError
from kindex.frequencies import Frequencies
from kindex.indexers.base import NamespaceIndexer
from kindex.indexers.labels import LabelIndexer, LabelKey
from kindex.indexers.sorted import SortedIndexer
from kindex.indexes import FamilyIndex
from kindex.objects import key_of
from kindex.postings import size
from kindex.prices import CONTAINER, Outline, Postings, key_bytes, measured, tuple_bytes
from kindex.schema import Schema
from kindex.values import Several, keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kindex.indexers.base import AnyIndexer
    from kindex.keys import ObjectKey
    from kindex.values import Filing, ValueKey

T = TypeVar("T")

_NEIGHBOURS: Final = 3
"""One in so many of the sampled objects is taken for being the neighbour of another in key order."""

_OFTEN: Final = 10
"""A value that is seen so often is known well enough to be reckoned by itself."""

_DEVIATIONS: Final = 2.0
"""A range reaches so many standard deviations to each side."""

_FORMULA: Final = 0.04
"""How far the bytes may be from those of an index that is just as reckoned."""

_FAMILY_SLOT: Final = 2
"""What the index of all keys keeps for each slot besides: how many keys it has."""


@attrs.frozen
class IndexForecast:
    """What one index would take: that of a label key, or of any other indexer.

    Attributes:
        name: of the label key or the indexer.
        objects: those that have a value.
        values: the distinct values.
        singles: the values of one object only.
        largest: the objects of the most frequent value.
        forward_bytes: what queries read.
        reverse_bytes: what updates compare.
        values_range: from where to where the values may be; twice the same where they were counted.
        bytes_range: the same for all bytes.
    """

    name: str
    objects: int
    values: int
    singles: int
    largest: int
    forward_bytes: int
    reverse_bytes: int
    values_range: tuple[int, int]
    bytes_range: tuple[int, int]

    @property
    def bytes(self) -> int:
        """All its bytes."""
        return self.forward_bytes + self.reverse_bytes

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values."""
        return attrs.asdict(self) | {"bytes": self.bytes}


@attrs.frozen
class Forecast:
    """What an indexer would take, index by index, the most expensive first; ``str()`` is a table.

    Attributes:
        name: of the indexer.
        objects: in the store that the forecast is for.
        sampled: how many were looked at; None when all were.
        grow: how many times the objects given there would be.
        indexes: one for each label key of a LabelIndexer, else one.
        shared_bytes: what the index of all keys takes for itself.
    """

    name: str
    objects: int
    sampled: int | None
    grow: float
    indexes: tuple[IndexForecast, ...]
    shared_bytes: int = 0

    @property
    def bytes(self) -> int:
        """All bytes of all indexes."""
        return sum(index.bytes for index in self.indexes) + self.shared_bytes

    @property
    def bytes_range(self) -> tuple[int, int]:
        """From where to where all bytes may be."""
        low, high = (sum(index.bytes_range[end] for index in self.indexes) for end in (0, 1))
        return low + self.shared_bytes, high + self.shared_bytes

    @property
    def values(self) -> int:
        """The distinct values of all indexes."""
        return sum(index.values for index in self.indexes)

    @property
    def singles(self) -> int:
        """The values of one object only."""
        return sum(index.singles for index in self.indexes)

    @property
    def largest(self) -> int:
        """The objects of the most frequent value."""
        return max((index.largest for index in self.indexes), default=0)

    def index(self, name: str) -> IndexForecast:
        """Give the forecast of one label key.

        Raises:
            KeyError: no object has it.
        """
        for index in self.indexes:
            if index.name == name:
                return index
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """Give the same as plain values, such as JSON takes."""
        return {
            "name": self.name,
            "objects": self.objects,
            "sampled": self.sampled,
            "grow": self.grow,
            "bytes": self.bytes,
            "bytes_range": list(self.bytes_range),
            "values": self.values,
            "singles": self.singles,
            "largest": self.largest,
            "shared_bytes": self.shared_bytes,
            "indexes": [index.to_dict() for index in self.indexes],
        }

    def __str__(self) -> str:
        """Give a table, with a total where there are several indexes."""
        estimated = self.sampled is not None or self.grow > 1
        heads = ["index", "objects", "values", "singles", "largest", "bytes", *(["from", "to"] if estimated else [])]
        rows = [_cells(index.name, index, estimated=estimated) for index in self.indexes]
        if self.shared_bytes:
            rows.append(["(all keys)", "", "", "", "", size_text(self.shared_bytes), *(["", ""] if estimated else [])])
        if len(rows) > 1:
            rows.append(_cells("total", self, estimated=estimated))
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(cells))
            for cells in (list(zip(row, widths, strict=True)) for row in (heads, *rows))
        ]
        return "\n".join([self._title, *lines])

    @property
    def _title(self) -> str:
        parts = [f"{self.name}: {size_text(self.bytes)} for {self.objects:,} objects"]
        if self.grow > 1:
            parts.append(f"{self.grow:g} times those given")
        if self.sampled is not None:
            parts.append(f"estimated from {self.sampled:,} of them")
        return ", ".join(parts)


def forecast(
    objects: Iterable[T],
    indexer: AnyIndexer[T],
    *,
    sample: int | None = None,
    grow: float = 1,
    seed: int = 0,
    key: Callable[[T], ObjectKey] = key_of,
) -> Forecast:
    """Say what *indexer* would take in a store of *objects* that a list has just filled.

    From all objects the numbers are those of the index itself: each is built as a store would build it, asked, and
    dropped again, one at a time. From a sample they are estimates, with a range that holds nineteen times in twenty:
    the number of values by a law that fits those seen once, twice and thrice, from below by Chao and Lin's estimator;
    singles by a thinning argument; runs from pairs of neighbours in key order. Two thirds of a sample are objects drawn
    one by one, the rest are neighbours of those. The estimate of bytes is mostly within 15 %; where nearly all values
    are rare and few were seen twice, it may be off by half, and the range is as wide.

    Growth takes the objects for a random sample of a population *grow* times as large, in which they are as near each
    other as they are here. What nobody can know from a cluster as it is: whether it will grow by more replicas (then
    there will be the values that there are, with more objects each) or by more workloads (then there will be more
    values, of the same size). Both are within the range.

    Keys that only objects outside the sample have are not in it. Text is not counted where the objects hold it too.
    A store that is updated object by object takes somewhat more than one that was filled by a list: up to a tenth.

    O(objects x label keys) from all objects; from a sample all keys are read and sorted, but index functions see the
    sample only.

    Args:
        objects: of one kind; of two with one key the last one counts.
        indexer: what would index them.
        sample: how many of the objects to look at; all of them when left out.
        grow: how many times the objects there would be.
        seed: another one draws another sample.
        key: the key function of the store.

    Raises:
        QueryError: a sample below 1 or larger than the list, or a *grow* below 1.
        IndexFunctionError: an index function failed on an object.

    >>> from kindex import LabelIndexer
    >>> names = ("web", "api", "db")
    >>> pods = [{"metadata": {"name": f"p{n}", "namespace": "x", "labels": {"app": names[n % 3]}}} for n in range(900)]
    >>> app = forecast(pods, LabelIndexer("app")).index("app")
    >>> app.values, app.singles, app.largest
    (3, 0, 300)
    >>> forecast(pods, LabelIndexer("app"), grow=10).values
    3
    """
    listed = list(objects)
    _check(listed, sample, grow)
    by_key = {key(obj): obj for obj in listed}
    keys = sorted(by_key)
    if sample is not None and sample < len(keys):
        drawn = _Drawn.by_chance(len(keys), sample, grow, seed)
    else:
        drawn, sample = _Drawn.all(len(keys), grow), None
    rows = drawn.rows
    looked_at = [keys[row] for row in rows]
    chosen = [by_key[each] for each in looked_at]
    parts: Iterable[tuple[str, AnyIndexer[T]]] = [(indexer.name, indexer)]
    shared = 0
    if isinstance(indexer, LabelIndexer):
        names = indexer.keys or tuple(dict.fromkeys(name for obj in chosen for name, _ in indexer.values_of(obj)))
        path = indexer.path
        # Under a name of their own, since a label may be called as the namespace index is.
        parts = ((LabelKey(path, name).name, LabelIndexer(name, path=path, name="forecast")) for name in names)
        shared = round(_FAMILY_SLOT * drawn.capacity) if indexer.takes_all else 0
    indexes = []
    for name, part in parts:
        schema = Schema((part,))
        place = 0 if isinstance(part, NamespaceIndexer) else 1
        column = schema.columns(looked_at, chosen)[place]
        if sample is None and grow == 1:
            indexes.append(_counted(name, schema, place, column))
        else:
            indexes.append(_Estimate(drawn, column, part).forecast(name))
    indexes.sort(key=lambda index: (-index.bytes, index.name))
    return Forecast(indexer.name, round(drawn.capacity), sample, grow, tuple(indexes), shared)


def _check(objects: Sequence[object], sample: object, grow: object) -> None:
    if isinstance(grow, bool) or not isinstance(grow, int | float) or not 1 <= grow < float("inf"):
        raise QueryError(f"grow={grow!r}: how many times the objects there would be is a number from 1 on")
    if sample is None:
        return
    if isinstance(sample, bool) or not isinstance(sample, int) or sample < 1:
        raise QueryError(f"sample={sample!r}: how many objects to look at is a whole number from 1 on")
    if sample > len(objects):
        raise QueryError(f"sample={sample:,} is more than the {len(objects):,} objects there are; leave it out for all")


@attrs.frozen
class _Drawn:
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
    def all(cls, count: int, grow: float) -> _Drawn:
        rows = range(count)
        return cls(rows, count, list(pairwise(rows)), 1 / grow, count * grow, _slots(rows, grow), grow)

    @classmethod
    def by_chance(cls, count: int, sample: int, grow: float, seed: int) -> _Drawn:
        neighbours = sample // _NEIGHBOURS
        draws = sample - neighbours
        drawn = Random(seed).sample(range(count), draws)  # noqa: S311 - a sample, not a secret
        rows = drawn + [(row + 1) % count for row in drawn[:neighbours]]
        pairs = [(first, draws + first) for first in range(neighbours)]
        return cls(rows, draws, pairs, draws / (count * grow), count * grow, _slots(drawn, grow), grow)


def _slots(rows: Sequence[int], grow: float) -> Sequence[int]:
    return rows if grow == 1 else [int(row * grow) for row in rows]


def _counted(name: str, schema: Schema[Any], place: int, column: list[Filing]) -> IndexForecast:
    """Build an index as a store would, and count it."""
    columns: list[list[Any]] = [[None] * len(column) for _ in schema.order]
    columns[place] = column
    index = schema.build(columns, range(len(column)))[place]
    assert not isinstance(index, FamilyIndex)
    postings = [index.posting(key) for key in index.keys()]  # noqa: SIM118 - an index is no dict
    sizes = Counter(map(size, postings))
    forward, reverse = measured(index)
    return IndexForecast(
        name=name,
        objects=len(index.present),
        values=len(postings),
        singles=sizes[1],
        largest=max(sizes, default=0),
        forward_bytes=forward,
        reverse_bytes=reverse,
        values_range=(len(postings), len(postings)),
        bytes_range=(forward + reverse, forward + reverse),
    )


class _Estimate:
    """What a sample says of one index."""

    def __init__(self, drawn: _Drawn, column: list[Filing], part: AnyIndexer[Any]) -> None:
        self._drawn = drawn
        filings = column[: drawn.draws]
        filed = [(value, slot) for filing, slot in zip(filings, drawn.slots, strict=True) for value in keys_in(filing)]
        self._counts = Counter(value for value, _ in filed)
        self._frequencies = Frequencies.of(self._counts.values(), drawn.share)
        self._objects = sum(1 for filing in filings if keys_in(filing))
        # How often neighbours share a value tells how long runs are.
        self._first: Counter[ValueKey] = Counter()
        self._same: Counter[ValueKey] = Counter()
        self._present_first = self._present_both = 0
        for first, second in drawn.pairs:
            values, others = keys_in(column[first]), keys_in(column[second])
            self._first.update(values)
            self._same.update(value for value in values if value in others)
            self._present_first += bool(values)
            self._present_both += bool(values and others)
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
        self._is_column = isinstance(part, LabelIndexer | NamespaceIndexer)
        self._in_order = isinstance(part, SortedIndexer)
        self._key_bytes = sum(map(key_bytes, self._counts)) / max(1, len(self._counts))
        several = sum(tuple_bytes(len(filing)) for filing in filings if type(filing) is Several and filing)
        self._filing_bytes = several / drawn.share
        often = [(value, count) for value, count in self._counts.items() if count >= _OFTEN]
        self._often = [self._often_posting(value, count) for value, count in often]
        between = [
            self._often_posting(value, count, 1).bytes - self._often_posting(value, count, -1).bytes
            for value, count in often
        ]
        self._often_spread = sqrt(sum(each**2 for each in between)) / 2

    def forecast(self, name: str) -> IndexForecast:
        """Give the estimate, and its range."""
        drawn, frequencies = self._drawn, self._frequencies
        outline = self._outline(frequencies)
        values, singles = self._values(frequencies)
        ends, ends_of_values = [], [float(len(self._counts))]
        runs = abs(self._outline(frequencies, run=-1).bytes - self._outline(frequencies, run=1).bytes) / 2
        # How many objects have a value at all is a matter of chance too.
        missing = sqrt(max(0.0, 1 - self._objects / drawn.draws) * (1 - drawn.share) / max(1, self._objects))
        others = runs**2 + (missing * outline.forward) ** 2 + self._often_spread**2
        for even in (False, True):
            size, spread = self._chance(lambda each, even=even: self._outline(each, even=even).bytes)
            spread = _DEVIATIONS * sqrt(spread**2 + others)
            ends += [size - spread, size + spread]
            number, spread = self._chance(lambda each, even=even: self._values(each, even=even)[0])
            ends_of_values += [max(number - _DEVIATIONS * spread, len(self._counts)), number + _DEVIATIONS * spread]
        if drawn.grow > 1:
            # As many values as there are now, each larger; or ever more of them, of the size that they have now.
            here = attrs.evolve(frequencies, share=min(1.0, drawn.share * drawn.grow)).values()
            for number in (here, here * drawn.grow):
                ends_of_values.append(number)
                ends.append(self._outline(frequencies, values=number).bytes)
        return IndexForecast(
            name=name,
            objects=round(self._objects / drawn.share),
            values=round(values),
            singles=round(singles),
            largest=self._largest(values),
            forward_bytes=round(outline.forward),
            reverse_bytes=round(outline.reverse),
            values_range=(round(min(ends_of_values[1:])), round(max(ends_of_values))),
            bytes_range=(round(max(0.0, min(ends) * (1 - _FORMULA))), round(max(ends) * (1 + _FORMULA))),
        )

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
        objects = self._objects / share
        present = self._posting(1, objects, _ratio(self._present_both, self._present_first), self._containers)
        return Outline(
            capacity=capacity,
            values=values,
            postings=postings,
            present=present,
            columnar=self._is_column,
            in_order=self._in_order,
            key_bytes=self._key_bytes,
            filing_bytes=self._filing_bytes,
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

    def _chance(self, result: Callable[[Frequencies], float]) -> tuple[float, float]:
        """Give *result*, and its standard deviation from the chance that is in the frequencies."""
        spreads = [result(high) - result(low) for low, high in self._frequencies.shaken()]
        return result(self._frequencies), sqrt(sum(spread**2 for spread in spreads)) / 2

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


# The table


def _cells(name: str, row: IndexForecast | Forecast, *, estimated: bool) -> list[str]:
    objects = f"{row.objects:,}" if isinstance(row, IndexForecast) else ""
    cells = [name, objects, f"{row.values:,}", f"{row.singles:,}", f"{row.largest:,}", size_text(row.bytes)]
    return [*cells, *map(size_text, row.bytes_range)] if estimated else cells


def size_text(count: float) -> str:
    """Give bytes as people read them.

    >>> size_text(512), size_text(20_480), size_text(3 * 1024**2)
    ('512 B', '20.0 KiB', '3.0 MiB')
    """
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < _KIBI:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIBI
    return f"{amount:.1f} GiB"


_KIBI: Final = 1024
