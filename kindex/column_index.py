"""ColumnIndex: values are numbered, and where each slot is filed is one column of numbers.

1 byte a slot up to 255 values, 2 bytes up to 65,535; for label keys and namespaces, of which an object has one value at
most. Beyond that a map is smaller: ``file`` raises ColumnFull, and ``as_map`` gives it.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import compress, count
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from pyroaring import BitMap

from kindex.grouping import postings_of
from kindex.map_index import MapIndex
from kindex.postings import Posting, adding, removing, size, slots_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kindex.answers import Answers
    from kindex.values import Filing, ValueKey

_NARROW = 0xFF
"""The largest value id that a column of bytes holds."""

_WIDEST = 0xFFFF
"""The largest value id that a column holds; from there on a map takes less memory."""

_SPARSE = 4
"""Ids are given anew when there are more than this many times those in use."""

_SMALL = 64
"""Up to so many ids they never are."""


class ColumnFull(Exception):  # noqa: N818 - never leaves kindex: says that an index needs the other layout
    """A column cannot number another value; ``as_map`` gives the layout that can."""


Twins: TypeAlias = "dict[int, ColumnIndex]"
"""Indexes that are built together, by the hash of their columns."""


class ColumnIndex:
    """An index of at most one value an object: one column, slot -> value id.

    Invariants: ``ids``, ``values`` and ``postings`` describe the same values; id 0 is no value; slot s is in the
    posting of id i exactly when ``column[s] == i``; ids without a value are in ``free``; no posting is empty.
    """

    __slots__ = ("answers", "bitmap_bound", "column", "free", "ids", "moves", "postings", "present", "values")

    def __init__(self) -> None:
        self.answers: Answers | None = None
        self.moves = 0
        self.bitmap_bound: int | None = None
        self.ids: dict[ValueKey, int] = {}
        self.values: list[ValueKey | None] = [None]
        self.postings: list[Posting | None] = [None]
        self.column = array("B")
        self.free = BitMap()
        self.present = BitMap()

    @classmethod
    def build(
        cls, filings: Sequence[Filing], slots: Sequence[int], twins: Twins | None = None
    ) -> ColumnIndex | MapIndex:
        """Index ``filings[i]`` for each of *slots*, which are 0, 1, 2 ...; O(values). Chooses the layout that fits.

        Values get their ids in the order in which they come, so labels that go together have equal columns, and then
        equal postings, which are copied from the index that is in *twins* already.
        """
        id_of: defaultdict[Any, int] = defaultdict(count(1).__next__, {None: 0})  # Any: a Filing
        numbers = list(map(id_of.__getitem__, filings))
        del id_of[None]
        if len(id_of) > _WIDEST:
            del id_of, numbers  # first: what stays must not be made in between them, which would leave holes
            return MapIndex.build(filings, slots)
        index = cls()
        index.ids = {key: number for key, number in id_of.items()}  # noqa: C416 - a copy would have its room for None
        index.values = [None, *index.ids]
        # Made of a list, and a bitmap at once: neither has room to spare then.
        index.column = array(_typecode(len(id_of)), numbers)
        twin = None if twins is None else twins.setdefault(hash(index.column.tobytes()), index)
        if twin is not None and twin is not index and twin.column == index.column:
            index.postings = [each.copy() if type(each) is BitMap else each for each in twin.postings]
            index.present = twin.present.copy()
            return index
        index.postings = [None, *postings_of(numbers, len(id_of), slots)]
        index.present = BitMap(range(len(slots))) if 0 not in numbers else BitMap(compress(slots, numbers))
        return index

    def __len__(self) -> int:
        """Count the distinct values."""
        return len(self.ids)

    def keys(self) -> Iterable[ValueKey]:
        """Iterate over the keys of all values, in no order."""
        return self.ids

    def posting(self, key: ValueKey) -> Posting | None:
        """Give the slots filed under *key*."""
        number = self.ids.get(key)
        return None if number is None else self.postings[number]

    def sizes(self) -> list[tuple[ValueKey, int]]:
        """Give the keys of all values, with the sizes of their postings. O(values)."""
        postings = self.postings
        return [(key, size(postings[number])) for key, number in self.ids.items()]

    def filing(self, slot: int) -> Filing:
        """Tell where *slot* is filed."""
        return self.values[self.column[slot]]

    def filings(self, slots: Iterable[int]) -> list[Filing]:
        """Tell where each of *slots* is filed. In C."""
        return list(map(self.values.__getitem__, map(self.column.__getitem__, slots)))

    def holds(self, slot: int, filing: Filing) -> bool:
        """Tell whether *slot* is filed just so."""
        return self.values[self.column[slot]] == filing

    def reader(self) -> Callable[[int], Filing]:
        """Give ``filing`` as it is now, to be used without the lock. A copy of the reverse side: O(slots), in C."""
        column, values = self.column[:], self.values.copy()
        return lambda slot: values[column[slot]]

    def reserve(self, capacity: int) -> None:
        """Make room for slots below *capacity*."""
        missing = capacity - len(self.column)
        if missing > 0:
            self.column.frombytes(bytes(missing * self.column.itemsize))

    def file(self, slot: int, filing: Filing) -> None:
        """Move *slot* from where it is filed to *filing*, which is no value or one. O(1).

        Raises:
            ColumnFull: it would be a value more than a column can number; nothing was changed.
        """
        postings = self.postings
        old, new = self.column[slot], 0
        posting = left = None
        if filing is not None:
            new = self.ids.get(filing, 0)
            posting = postings[new]
            if posting is None:
                new = self._open(cast("ValueKey", filing))
            if type(posting) is BitMap:
                posting.add(slot)
            else:
                postings[new] = adding(posting, slot)
            if not old:
                self.present.add(slot)
        closed = False
        if old and old != new:
            if new:
                self.moves += 1
            left = postings[old]
            remaining = removing(left, slot)
            postings[old] = remaining
            if remaining is None:
                self._close(old)
                closed = True
        if self.answers is not None:
            self.answers.forget(posting)
            self.answers.forget(left)
        try:
            self.column[slot] = new
        except OverflowError:
            self.column = array(_typecode(new), self.column)
            self.column[slot] = new
        if not new:
            self.present.discard(slot)  # last: a family looks here whether there is anything left to do
        if closed:
            self._shrink()

    def as_map(self) -> MapIndex:
        """Give the same index in the other layout. O(slots)."""
        index = MapIndex()
        index.forward = {key: cast("Posting", self.postings[number]) for key, number in self.ids.items()}
        index.filed = [self.values[number] for number in self.column]
        index.present, index.moves, index.answers = self.present, self.moves, self.answers
        index._peak = len(index.forward)  # noqa: SLF001 - a layout of the same
        return index

    def _shrink(self) -> None:
        """Give memory back when most values have gone: renumber those that are left. O(slots), then rarely."""
        if len(self.values) <= _SMALL or len(self.ids) * _SPARSE >= len(self.values):
            return
        renumbered = {number: new for new, number in enumerate(self.ids.values(), 1)}
        renumbered[0] = 0
        column = array(_typecode(len(self.ids)), map(renumbered.__getitem__, self.column))
        postings = [None, *(self.postings[number] for number in self.ids.values())]
        # One tuple assignment, without a call between its stores, so that no signal handler can come in between.
        ids, values, free = {key: new for new, key in enumerate(self.ids, 1)}, [None, *self.ids], BitMap()
        self.column, self.ids, self.values, self.postings, self.free = column, ids, values, postings, free

    def _open(self, key: ValueKey) -> int:
        """Give a new value an id, or finish what was cut short while one was given; each line may be done again."""
        number = self.ids.get(key)
        if number is None:
            if len(self.ids) >= _WIDEST:
                raise ColumnFull
            if not self.free:
                self.free.add(len(self.values))
            number = self.free.min()
            while len(self.values) <= number:
                self.values.append(None)
            while len(self.postings) <= number:
                self.postings.append(None)
            self.ids[key] = number
        self.values[number] = key
        self.free.discard(number)
        return number

    def _close(self, number: int) -> None:
        """Forget a value that lost its last slot: label values come and go, and their ids are used again."""
        key = self.values[number]
        if key is not None:
            self.ids.pop(key, None)
            self.values[number] = None
        self.free.add(number)

    def _check(self, live: BitMap) -> None:
        """Assert the invariants; *live* are the slots that hold objects."""
        assert len(self.values) == len(self.postings)
        assert self.ids == {key: number for number, key in enumerate(self.values) if key is not None}
        assert self.free == BitMap(number for number, key in enumerate(self.values) if number and key is None)
        expected: defaultdict[int, list[int]] = defaultdict(list)
        for slot, number in enumerate(self.column):
            expected[number].append(slot)
        expected.pop(0, None)
        assert expected == {n: list(slots_in(p)) for n, p in enumerate(self.postings) if p is not None}
        assert all(p is None or isinstance(p, int) or len(p) > 1 for p in self.postings)
        assert self.present == BitMap(slot for slot, number in enumerate(self.column) if number)
        assert self.present <= live


def _typecode(top: int) -> str:
    """Name the narrowest column that holds ids up to *top*."""
    return "B" if top <= _NARROW else "H"


def filed(index: MapIndex | ColumnIndex, slot: int, filing: Filing) -> MapIndex | ColumnIndex:
    """File *slot*, and give the index: another one, if the first had to change its layout."""
    try:
        index.file(slot, filing)
    except ColumnFull:
        index = cast("ColumnIndex", index).as_map()
        index.file(slot, filing)
    return index
