"""Prices: the bytes of an index that is not there, from what it would be like.

What is said of postings may be an average over many, so its numbers may be fractions.
"""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import attrs

from kindex.column_index import ColumnIndex
from kindex.footprints import (
    BITMAP_BYTES,
    PAIR_BYTES,
    allocated,
    column_bytes,
    containers_bytes,
    dict_bytes,
    ids_bytes,
    list_bytes,
    posting_bytes,
    shallow_bytes,
)
from kindex.selector_index import SelectorIndex
from kindex.sorted_index import SortedIndex
from kindex.values import SKIPPED, Several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kindex.map_index import MapIndex
    from kindex.values import Filing, ValueKey

CONTAINER: Final = 1 << 16
"""How many slots a container of a bitmap spans."""

_ARRAY_SLOTS: Final = 4_096
_BITSET: Final = 8_192
_WIDEST_COLUMN: Final = 65_535  # values; with more of them an index is a map
_TUPLE: Final = 40  # and 8 for each part
_OBJECT: Final = 96  # the index itself


@attrs.frozen
class Postings:
    """So many postings of one kind: the slots, containers and runs of each; all may be means."""

    count: float
    slots: float
    containers: float = 1.0
    runs: float | None = None

    @property
    def bytes(self) -> float:
        """The bytes of all of them; a posting of one slot is the slot's own number, and takes none."""
        if self.slots <= 1 or self.count <= 0:
            return 0.0
        containers = min(max(1.0, self.containers), self.slots)
        whole = int(containers)
        part = containers - whole
        size = (1 - part) * self._bytes_in(whole)
        return self.count * (size + part * self._bytes_in(whole + 1) if part else size)

    def _bytes_in(self, containers: int) -> float:
        slots = self.slots / containers
        runs = None if self.runs is None else max(1, ceil(self.runs / containers))
        if runs is not None and 4 * runs + 2 < min(2 * slots, _BITSET):
            return containers_bytes(run_containers=containers, runs=runs * containers)
        if slots <= _ARRAY_SLOTS:
            return containers_bytes(arrays=containers, array_slots=ceil(self.slots))
        return containers_bytes(bitsets=containers)


@attrs.frozen
class Outline:
    """What an index is like, as far as its bytes depend on it.

    Attributes:
        capacity: how many slots there are.
        values: the distinct values.
        postings: those of the values that have more than one object.
        present: the slots that are filed under any value, as one posting.
        columnar: whether it may be a column, as those of label keys and of the namespace.
        in_order: whether the values are kept in order too.
        key_bytes: the mean over the values of what the index makes to file each, where that is no text.
        filing_bytes: of all the tuples that hold the several values of slots.
        beside_bytes: the mean over the values of what stands beside the postings, as parsed selectors do.
    """

    capacity: float
    values: float
    postings: Sequence[Postings]
    present: Postings
    columnar: bool = True
    in_order: bool = False
    key_bytes: float = 0.0
    filing_bytes: float = 0.0
    beside_bytes: float = 0.0

    @property
    def forward(self) -> float:
        """The bytes of what queries read."""
        values = round(self.values)
        size = _OBJECT + sum(postings.bytes for postings in self.postings) + (self.present.bytes or BITMAP_BYTES)
        size += dict_bytes(values, text=not self.key_bytes) + self.values * self.key_bytes
        if self._is_column:
            size += 2 * list_bytes(values + 1) + ids_bytes(values) + BITMAP_BYTES
        size += self.values * self.beside_bytes
        return size + (self.values * _IN_ORDER if self.in_order else 0)

    @property
    def reverse(self) -> float:
        """The bytes of what updates compare."""
        if self._is_column:
            return column_bytes(round(self.capacity), round(self.values))
        return list_bytes(round(self.capacity)) + self.filing_bytes

    @property
    def bytes(self) -> float:
        """All its bytes."""
        return self.forward + self.reverse

    @property
    def _is_column(self) -> bool:
        return self.columnar and self.values <= _WIDEST_COLUMN


_IN_ORDER: Final = 2 * 8 * 1.06 + PAIR_BYTES
"""A sorted list of the values, and another of what orders them."""


def tuple_bytes(parts: int) -> int:
    """Predict a tuple, without its parts.

    >>> from kindex.footprints import shallow_bytes
    >>> tuple_bytes(3) == shallow_bytes((1, 2, 3))
    True
    """
    return allocated(_TUPLE + 8 * parts)


def key_bytes(key: ValueKey) -> int:
    """Give the bytes of what an index makes to file a value: none for text.

    >>> key_bytes("web"), key_bytes(("int", 7)), key_bytes(("tuple", ("a", ("int", 7))))
    (0, 64, 192)
    """
    if isinstance(key, str):
        return 0
    return shallow_bytes(key) + sum(key_bytes(part) for part in key if type(part) is tuple)


def measured(index: MapIndex | ColumnIndex) -> tuple[int, int]:
    """Give the bytes that an index takes which was just built: forward, and reverse. O(values)."""
    forward = shallow_bytes(index) + posting_bytes(index.present)
    if isinstance(index, ColumnIndex):
        forward += sum(map(posting_bytes, index.postings)) + posting_bytes(index.free) + ids_bytes(len(index.ids))
        forward += sum(map(shallow_bytes, (index.ids, index.values, index.postings)))
        return forward, shallow_bytes(index.column)
    forward += shallow_bytes(index.forward)
    forward += sum(map(posting_bytes, index.forward.values())) + sum(map(key_bytes, index.forward))
    if isinstance(index, SortedIndex):
        forward += round(len(index.forward) * _IN_ORDER)
    if isinstance(index, SelectorIndex):
        forward += index.beside_bytes()
    several = {id(filing): filing for filing in index.filed if type(filing) is Several and filing}
    return forward, shallow_bytes(index.filed) + sum(map(shallow_bytes, several.values()))


_UPPER: Final = 1.04
"""How far an index of a given outline may take more than it is reckoned to."""

_BLOCKS: Final = 128
"""How much more small blocks may take."""


def built_bytes(column: Sequence[Filing], *, columnar: bool) -> tuple[int, int]:
    """Give the distinct values of *column*, and an upper estimate of the bytes of its index once built.

    Upper, since it does not look at where the slots are: every posting is taken to be spread over all containers, and
    to have no runs. O(filings), nearly all of it in C: 10 ms for 150,000 label values.

    Args:
        column: the filings of slots 0, 1, 2 ...
        columnar: whether the index may be a column, as those of label keys and of the namespace.

    >>> built_bytes(["a", "b", "a", None], columnar=True)[0]
    2
    """
    counts: Counter[Any] = Counter(column)  # Any: a Filing, and then the keys in it
    absent = counts.pop(None, 0)
    filing_bytes = 0
    for filing in [filing for filing in counts if type(filing) is Several]:
        times = counts.pop(filing)
        if filing == SKIPPED:
            absent += times
            continue
        filing_bytes += tuple_bytes(len(filing))
        for key in filing:
            counts[key] += times
    containers = max(1, ceil(len(column) / CONTAINER))
    outline = Outline(
        capacity=len(column),
        values=len(counts),
        postings=[Postings(count, size, containers) for size, count in Counter(counts.values()).items()],
        present=Postings(1, len(column) - absent, containers),
        columnar=columnar,
        key_bytes=sum(map(key_bytes, counts)) / len(counts) if set(map(type, counts)) - {str} else 0.0,
        filing_bytes=filing_bytes,
    )
    return len(counts), ceil(outline.bytes * _UPPER) + _BLOCKS
