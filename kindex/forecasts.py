"""Forecasts: what an index would take, before it is built into a store."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, TypeVar

import attrs

from kindex.errors import QueryError
from kindex.estimates import Drawn, Estimate
from kindex.families import FamilyIndex
from kindex.footprints import dict_bytes
from kindex.indexers.base import NamespaceIndexer
from kindex.indexers.labels import LabelIndexer, LabelKey
from kindex.indexers.selecting import SelectorIndexer
from kindex.indexers.sorted import SortedIndexer
from kindex.objects import key_of
from kindex.postings import size
from kindex.prices import measured
from kindex.schema import Schema
from kindex.selector_index import SelectorIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kindex.indexers.base import AnyIndexer
    from kindex.keys import ObjectKey
    from kindex.values import Filing

T = TypeVar("T")

_FAMILY: Final = 144
"""What the index of all keys takes before it has any."""

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

    >>> from kindex import LabelIndexer, forecast
    >>> pods = [{"metadata": {"name": f"p{n}", "labels": {"app": f"a{n % 9}"}}} for n in range(91)]
    >>> (app,) = forecast(pods, LabelIndexer("app")).indexes
    >>> app.objects, app.values, app.singles, app.largest, app.values_range
    (91, 9, 0, 11, (9, 9))
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

    >>> from kindex import LabelIndexer, forecast
    >>> pods = [{"metadata": {"name": f"p{n}", "labels": {"app": f"a{n % 9}", "tier": "x"}}} for n in range(90)]
    >>> found = forecast(pods, LabelIndexer("app", "tier"))
    >>> [(index.name, index.values) for index in found.indexes]
    [('app', 9), ('tier', 1)]
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
        drawn = Drawn.by_chance(len(keys), sample, grow, seed)
    else:
        drawn, sample = Drawn.all(len(keys), grow), None
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
        if indexer.takes_all:
            shared = _FAMILY + dict_bytes(len(names), text=True) + round(_FAMILY_SLOT * drawn.capacity)
    indexes = []
    for name, part in parts:
        schema = Schema((part,))
        place = 0 if isinstance(part, NamespaceIndexer) else 1
        column = schema.columns(looked_at, chosen)[place]
        if sample is None and (grow == 1 or not keys):
            indexes.append(_counted(name, schema, place, column))
        else:
            indexes.append(_estimated(name, drawn, part, column))
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


def _estimated(name: str, drawn: Drawn, part: AnyIndexer[Any], column: list[Filing]) -> IndexForecast:
    estimate = Estimate(
        drawn,
        column,
        columnar=isinstance(part, LabelIndexer | NamespaceIndexer),
        in_order=isinstance(part, SortedIndexer),
        beside_bytes=_beside_bytes(column) if isinstance(part, SelectorIndexer) else 0.0,
    )
    return IndexForecast(
        name=name,
        objects=estimate.objects,
        values=estimate.values,
        singles=estimate.singles,
        largest=estimate.largest,
        forward_bytes=round(estimate.outline.forward),
        reverse_bytes=round(estimate.outline.reverse),
        values_range=estimate.values_range(),
        bytes_range=estimate.bytes_range(),
    )


def _beside_bytes(column: list[Filing]) -> float:
    """Give the mean bytes of what a selector takes beside its posting."""
    index = SelectorIndex.build(column, range(len(column)))
    return index.beside_bytes() / max(1, len(index))


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
