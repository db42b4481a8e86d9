"""Indexes: the forward side that queries read, the reverse side that updates compare.

Forward, every index maps an index value's key to its posting. Reverse, it remembers where each slot was filed, so that
removal never asks an object again: a reader who edits a stored object cannot corrupt an index.

Two layouts of one interface:

* ``MapIndex`` keeps each slot's filing as it is, 8 bytes a slot; an object may have several values.
* ``ColumnIndex``, for label keys, numbers the values and keeps one column of value ids: 1 byte a slot up to 255 values,
  2 bytes up to 65,535. Beyond that a map is smaller: ``file`` raises ColumnFull, and ``as_map`` gives it.

``file`` says what shall be: doing it again after an interruption (KeyboardInterrupt, MemoryError) completes it. Hence
its order: the new posting first, the old one next, the reverse side last.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import compress, takewhile
from typing import TYPE_CHECKING, Any, cast

from pyroaring import BitMap
from sortedcontainers import SortedKeyList

from kindex.postings import Posting, adding, from_slots, removing, size, slots_in
from kindex.values import SKIPPED, Several, keys_in, ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kindex.answers import Answers
    from kindex.values import Filing, ValueKey

_NARROW = 0xFF
"""The largest value id that a column of bytes holds."""

_WIDEST = 0xFFFF
"""The largest value id that a column holds; from there on a map takes less memory."""

_SPARSE = 4
"""A table is rebuilt when it has room for more than this many times what it holds."""

_SMALL = 64
"""Tables of up to this many values are never rebuilt."""


class MapIndex:
    """An index that keeps each slot's filing as it is.

    Invariants: slot s is in the posting of k exactly when k is among the keys of ``filed[s]``; ``present`` holds
    the slots with a filing; no posting is empty.

    Attributes:
        moves: how often an object moved from one value to another.
        bitmap_bound: at most so many bytes are in bitmaps; None is not known. Kept for budgets.
        answers: who is to be told of postings that change; None until one of them was a large answer.
    """

    __slots__ = ("_peak", "answers", "bitmap_bound", "filed", "forward", "moves", "present")

    def __init__(self) -> None:
        self.answers: Answers | None = None
        self.moves = 0
        self.bitmap_bound: int | None = None
        self.forward: dict[ValueKey, Posting] = {}
        self.filed: list[Filing] = []
        self.present = BitMap()
        self._peak = _SMALL

    @classmethod
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> MapIndex:
        """Index ``filings[i]`` for each of *slots*, which are 0, 1, 2 ...; O(values)."""
        index = cls()
        groups = _grouped(filings, slots)
        absent = [slot for none in (None, SKIPPED) for slot in _listed(groups.pop(none, []))]
        index.present = BitMap(range(len(slots))) - BitMap(absent)
        several = [filing for filing in groups if type(filing) is Several]
        if several:
            spread: defaultdict[ValueKey, list[int]] = defaultdict(list)
            for filing in several:
                group = _listed(groups.pop(filing))
                for key in filing:
                    spread[key] += group
            for key, group in spread.items():
                groups[key] = _listed(groups.get(key, [])) + group
        index.forward = {cast("ValueKey", key): _posting_of(group) for key, group in groups.items()}
        own = {key: key for key in index.forward}
        index.filed = [
            filing
            if filing is None or filing is SKIPPED
            else Several(map(own.__getitem__, filing))
            if type(filing) is Several
            else own[filing]
            for filing in filings
        ].copy()  # which has no room to spare
        index._peak = max(_SMALL, len(index.forward))
        return index

    def __len__(self) -> int:
        """Count the distinct values."""
        return len(self.forward)

    def keys(self) -> Iterable[ValueKey]:
        """Iterate over the keys of all values, in no order."""
        return self.forward

    def posting(self, key: ValueKey) -> Posting | None:
        """Give the slots filed under *key*."""
        return self.forward.get(key)

    def sizes(self) -> list[tuple[ValueKey, int]]:
        """Give the keys of all values, with the sizes of their postings. O(values)."""
        postings = self.forward.values()
        sizes = [1 if type(posting) is int else len(cast("BitMap", posting)) for posting in postings]
        return list(zip(self.forward, sizes, strict=True))

    def filing(self, slot: int) -> Filing:
        """Tell where *slot* is filed."""
        return self.filed[slot]

    def filings(self, slots: Iterable[int]) -> list[Filing]:
        """Tell where each of *slots* is filed. In C."""
        return list(map(self.filed.__getitem__, slots))

    def holds(self, slot: int, filing: Filing) -> bool:
        """Tell whether *slot* is filed just so; values have no order."""
        filed = self.filed[slot]
        if filed == filing:
            return True
        return type(filed) is Several and type(filing) is Several and frozenset(filed) == frozenset(filing)

    def reader(self) -> Callable[[int], Filing]:
        """Give ``filing`` as it is now, to be used without the lock. A copy of the reverse side: O(slots), in C."""
        return self.filed.copy().__getitem__

    def reserve(self, capacity: int) -> None:
        """Make room for slots below *capacity*."""
        missing = capacity - len(self.filed)
        if missing > 0:
            self.filed.extend([None] * missing)

    def file(self, slot: int, filing: Filing) -> None:
        """Move *slot* from where it is filed to *filing*. O(values of both)."""
        filing = self._own(filing)
        old, new = keys_in(self.filed[slot]), keys_in(filing)
        forward, answers = self.forward, self.answers
        if new and old and new != old:
            self.moves += 1
        closed = False
        for key in new:
            posting = forward.get(key)
            forward[key] = adding(posting, slot)
            if answers is not None:
                answers.forget(posting)
            self._opened(key)
        for key in old:
            if key in new:
                continue
            posting = forward.get(key)
            remaining = removing(posting, slot)
            if answers is not None:
                answers.forget(posting)
            if remaining is None:
                # Dropped when empty: an index over short-lived values (pod IPs) would grow for ever.
                self._closed(key)
                forward.pop(key, None)
                closed = True
            else:
                forward[key] = remaining
        if new:
            self.present.add(slot)
        self.filed[slot] = filing
        if not new:
            self.present.discard(slot)  # last, as in a column
        if closed:
            self._shrink()
        elif len(forward) > self._peak:
            self._peak = len(forward)

    def _own(self, filing: Filing) -> Filing:
        """Give *filing* made of the keys that are filed already.

        Index functions make most values anew for each object; kept as they come, these would take 64 bytes a slot.
        """
        if type(filing) is Several:
            return Several(map(self._own_key, filing)) if filing else filing
        return None if filing is None else self._own_key(filing)

    def _own_key(self, key: ValueKey) -> ValueKey:
        posting = self.forward.get(key)
        if posting is None:
            return key
        filed = self.filed[posting if isinstance(posting, int) else posting.min()]
        return next((known for known in keys_in(filed) if known == key), key)

    def _shrink(self) -> None:
        """Give memory back when most values have gone: a dict does not shrink by itself."""
        if self._peak > _SMALL and len(self.forward) * _SPARSE < self._peak:
            self.forward = dict(self.forward)
            self._peak = max(_SMALL, len(self.forward))

    def _opened(self, key: ValueKey) -> None:
        """Note that *key* has a posting now, perhaps its first."""

    def _closed(self, key: ValueKey) -> None:
        """Note that *key* is about to lose its posting."""

    def _check(self, live: BitMap) -> None:
        """Assert the invariants; *live* are the slots that hold objects."""
        expected: defaultdict[ValueKey, list[int]] = defaultdict(list)
        for slot, filing in enumerate(self.filed):
            for key in keys_in(filing):
                expected[key].append(slot)
        assert {key: list(slots_in(posting)) for key, posting in self.forward.items()} == expected
        assert all(isinstance(posting, int) or len(posting) > 1 for posting in self.forward.values())
        assert self.present == BitMap(slot for slot, filing in enumerate(self.filed) if keys_in(filing))
        assert self.present <= live


class ColumnFull(Exception):  # noqa: N818 - never leaves kindex: says that an index needs the other layout
    """A column cannot number another value; ``as_map`` gives the layout that can."""


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
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> ColumnIndex | MapIndex:
        """Index ``filings[i]`` for each of *slots*, which are 0, 1, 2 ...; O(values). Chooses the layout that fits."""
        groups = _grouped(filings, slots)
        absent = _listed(groups.pop(None, []))
        if len(groups) > _WIDEST:
            return MapIndex.build(filings, slots)
        index = cls()
        index.ids = {cast("ValueKey", key): number for number, key in enumerate(groups, 1)}
        index.values = [None, *index.ids]
        index.postings = [None, *map(_posting_of, groups.values())]
        id_of: dict[Any, int] = {None: 0, **index.ids}  # Any: a Filing; dicts are invariant
        # Made of a list, and a bitmap at once: neither has room to spare then.
        index.column = array(_typecode(len(groups)), list(map(id_of.__getitem__, filings)))
        index.present = BitMap(range(len(slots))) if not absent else BitMap(compress(slots, index.column))
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
            key = cast("ValueKey", filing)
            new = self.ids.get(key, 0)
            posting = postings[new]
            if posting is None:
                new = self._open(key)
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


def _grouped(filings: Sequence[Filing], slots: Sequence[int]) -> dict[Filing, int | list[int]]:
    """Group *slots* by where they are filed.

    A slot that is alone stays bare. A list for each of 150,000 values made the collector take most of the time of a
    build, and left holes in Python's memory as large as the index.
    """
    groups: dict[Filing, int | list[int]] = {}
    for slot, filing in zip(slots, filings, strict=True):
        group = groups.get(filing)
        if group is None:
            groups[filing] = slot
        elif isinstance(group, list):
            group.append(slot)
        else:
            groups[filing] = [group, slot]
    return groups


def _listed(group: int | list[int]) -> list[int]:
    return group if isinstance(group, list) else [group]


def _posting_of(group: int | list[int]) -> Posting:
    return cast("Posting", from_slots(group)) if isinstance(group, list) else group


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


class SortedIndex(MapIndex):
    """A MapIndex that also keeps its values in order.

    Invariant: ``ordered`` holds the keys of ``forward``, in the order of ``values.ordering``.
    """

    __slots__ = ("_torn", "ordered")

    def __init__(self) -> None:
        super().__init__()
        self._torn = False  # whether an edit of ``ordered``, which is not idempotent, was cut short
        self.ordered: SortedKeyList[ValueKey, tuple[object, ...]] = SortedKeyList(key=ordering)

    @classmethod
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> SortedIndex:
        """Index ``filings[i]`` for each of *slots*; O(values log values)."""
        index = super().build(filings, slots)
        assert isinstance(index, cls)
        index.ordered.update(index.forward)
        return index

    def keys_between(self, low: ValueKey | None, high: ValueKey | None) -> Iterator[ValueKey]:
        """Iterate over the keys from *low* to *high*, both included; None is open. O(log values + keys)."""
        if self.ordered:
            kind = ordering(self.ordered[0])[0]
            if any(bound is not None and ordering(bound)[0] != kind for bound in (low, high)):
                return iter(())  # an end of another type: no value compares with it
        return self.ordered.irange(low, high)

    def keys_starting_with(self, prefix: str) -> Iterator[ValueKey]:
        """Iterate over the text keys that start with *prefix*. O(log values + keys)."""
        return takewhile(lambda key: type(key) is str and key.startswith(prefix), self.ordered.irange(prefix))

    def file(self, slot: int, filing: Filing) -> None:
        """Move *slot* from where it is filed to *filing*. O(values of both x log values)."""
        if self._torn:
            self.ordered = SortedKeyList(self.forward, key=ordering)
            self._torn = False
        super().file(slot, filing)

    def _opened(self, key: ValueKey) -> None:
        if key not in self.ordered:
            self._torn = True
            self.ordered.add(key)
            self._torn = False

    def _closed(self, key: ValueKey) -> None:
        self._torn = True
        self.ordered.discard(key)
        self._torn = False

    def _check(self, live: BitMap) -> None:
        super()._check(live)
        self.ordered._check()  # type: ignore[attr-defined]  # noqa: SLF001 - its own checker
        assert list(self.ordered) == sorted(self.forward, key=ordering)


class NoIndex(MapIndex):
    """What stands in the place of an index that broke its budget: it holds nothing, whatever is filed."""

    __slots__ = ()

    def filing(self, slot: int) -> Filing:  # noqa: ARG002 - an index
        """Say that nothing is filed."""
        return None

    def filings(self, slots: Iterable[int]) -> list[Filing]:
        """Say that nothing is filed."""
        return [None for _ in slots]

    def holds(self, slot: int, filing: Filing) -> bool:  # noqa: ARG002 - an index
        """Say that nothing is filed."""
        return filing is None

    def reader(self) -> Callable[[int], Filing]:
        """Give ``filing``."""
        return self.filing

    def reserve(self, capacity: int) -> None:
        """Make no room."""

    def file(self, slot: int, filing: Filing) -> None:
        """File nothing."""


NO_INDEX = NoIndex()
