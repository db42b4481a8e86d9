"""Generation: all state of a store, on one object."""

from __future__ import annotations

from itertools import islice
from operator import le
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec
from pyroaring import BitMap

from kindex.answers import LARGE, Answers
from kindex.column_index import ColumnFull, ColumnIndex, filed
from kindex.errors import IndexValueError
from kindex.families import FamilyIndex
from kindex.indexers.base import Indexer
from kindex.map_index import NO_INDEX, MapIndex
from kindex.postings import slots_in
from kindex.schema import NAMESPACE
from kindex.slots import SlotTable
from kindex.sorted_index import SortedIndex
from kindex.values import SKIPPED, decoded, keys_in, ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kindex.families import Index
    from kindex.indexers.sorted import SortedIndexer
    from kindex.keys import ObjectKey
    from kindex.postings import Posting
    from kindex.programs import Narrowing, Program
    from kindex.schema import Filings, Schema, Spot
    from kindex.values import Filing, ValueKey

T = TypeVar("T")

_RESERVE = 16
"""Indexes make room for a sixteenth more slots than there are, when they have to."""


class Entry(msgspec.Struct, frozen=True, gc=False):
    """What a commit does to one slot: afterwards it holds *obj*, filed as *changes* say; None frees it.

    It says what shall be, not what to do, so applying it again completes an application that was cut short.
    """

    slot: int
    key: ObjectKey
    obj: Any  # Any: an object of the store, whatever it keeps
    changes: Sequence[tuple[int, Any]]  # Any: a Filing, or the labels of a family


class Generation(Generic[T]):
    """Objects, indexes and revision that belong together.

    Readers take it from the store under the lock and leave it before the lock is free. A change that touches most of
    the state (a first list, a late index, a table that became sparse) builds another generation beside and swaps it in.
    """

    __slots__ = ("_reserved", "answers", "indexes", "resource_versions", "revision", "schema", "slots")

    def __init__(
        self,
        schema: Schema[T],
        slots: SlotTable[T],
        indexes: list[Index],
        revision: int = 0,
        resource_versions: dict[str | None, str] | None = None,
        answers: Answers | None = None,
    ) -> None:
        self.schema = schema
        self.slots = slots
        self.indexes = indexes
        self.revision = revision
        self._reserved = slots.capacity
        self.answers = Answers(schema.remember_bytes) if answers is None else answers
        self.resource_versions = {} if resource_versions is None else resource_versions

    @classmethod
    def build(
        cls, schema: Schema[T], keys: Sequence[ObjectKey], objects: Sequence[T], columns: Sequence[list[Any]]
    ) -> Generation[T]:
        """Build one from scratch: slots 0, 1, 2 ... in the order of the keys. O(objects x indexes).

        In this order a namespace is one run of slots, and its bitmap tiny.

        Args:
            schema: what to file under.
            keys: of the objects, in any order, all different.
            objects: one for each key.
            columns: their filings, index by index, as ``Schema.columns`` gives them.

        Raises:
            IndexValueError: a sorted index would hold values of two types.
        """
        if not all(map(le, keys, islice(keys, 1, None))):
            order = sorted(range(len(keys)), key=keys.__getitem__)
            keys, objects = [keys[i] for i in order], [objects[i] for i in order]
            columns = [[column[i] for i in order] for column in columns]
            del order  # its ints leave their place to those of the slots
        admit_columns(schema, keys, columns)
        slots = SlotTable(keys, objects)
        # One int object a slot serves every posting.
        indexes = schema.build(columns, list(slots.slot_of.values()))
        return cls(schema, slots, indexes)

    def index_at(self, spot: Spot) -> MapIndex | ColumnIndex:
        """Give an index; a label key of a family that no object has is an empty one."""
        place, member = spot
        index = self.indexes[place]
        if type(index) is FamilyIndex:
            return index.members.get(member, NO_INDEX)  # type: ignore[arg-type]  # in a family there is one
        return index  # type: ignore[return-value]  # no cast: this is the way of every query

    def changes(self, slot: int, filings: Filings) -> Sequence[tuple[int, Any]]:
        """List the indexes in which *slot* is to be moved, with the new filing."""
        filed = [index.filing(slot) for index in self.indexes]
        if filed == filings:
            return ()
        pairs = zip(filed, filings, strict=True)
        # Asked again where they differ: a set may give the same values in another order.
        return [
            (place, new)
            for place, (old, new) in enumerate(pairs)
            if old != new and not self.indexes[place].holds(slot, new)
        ]

    def first_changes(self, filings: Filings) -> list[tuple[int, Any]]:
        """The same for a slot that is free now."""
        return [change for change in enumerate(filings) if change[1] is not None]

    def cleared(self, slot: int) -> Sequence[tuple[int, Any]]:
        """List the indexes in which *slot* is filed, with the filing of a slot that holds nothing."""
        pairs = zip(self.indexes, self.schema.blank(), strict=True)
        return [(place, blank) for place, (index, blank) in enumerate(pairs) if index.filing(slot) != blank]

    def filings(self, slot: int) -> Filings:
        """Tell where *slot* is filed in each index."""
        return [index.filing(slot) for index in self.indexes]

    def reader(self) -> Callable[[Sequence[int]], list[list[Any]]]:
        """Give ``filings`` as they are now, for many slots, index by index, to be used without the lock.

        Copies the reverse sides, in C: O(slots x indexes).
        """
        readers = [index.reader() for index in self.indexes]
        return lambda slots: [list(map(read, slots)) for read in readers]

    def under(
        self, schema: Schema[T], sources: Sequence[int | None], built: Mapping[int, Index] | None = None
    ) -> Generation[T]:
        """Give the same state under another *schema*.

        Args:
            schema: the other one.
            sources: what ``schema.sources(self.schema)`` gives; indexes that come from nowhere are empty.
            built: indexes to take instead, by their place in *schema*.
        """
        indexes = [
            schema.empty(place) if source is None else self.indexes[source] for place, source in enumerate(sources)
        ]
        for place, index in (built or {}).items():
            indexes[place] = index
        for index in indexes:
            index.reserve(self.slots.capacity)
        self.answers.clear()  # shared, since indexes are; those of an index that has gone would stay
        return Generation(schema, self.slots, indexes, self.revision, self.resource_versions, self.answers)

    def apply(self, entries: Iterable[Entry]) -> None:
        """Bring the state to what *entries* say. May be done again, from the first one, after an interruption."""
        slots, indexes = self.slots, self.indexes
        for entry in entries:
            slot = entry.slot
            if slot >= self._reserved:
                # In steps, so that a new object does not have to visit every index.
                self.reserve(slot + slot // _RESERVE + _RESERVE)
            if entry.obj is None:
                slots.release(slot, entry.key)
            else:
                slots.assign(slot, entry.key, entry.obj)
            for place, filing in entry.changes:
                try:
                    indexes[place].file(slot, filing)
                except ColumnFull:
                    indexes[place] = filed(cast("ColumnIndex", indexes[place]), slot, filing)

    def reserve(self, capacity: int) -> None:
        """Make room in every index for slots below *capacity*."""
        if capacity > self._reserved:
            for index in self.indexes:
                index.reserve(capacity)
            self._reserved = capacity

    # Reading, as a State

    def __len__(self) -> int:
        return len(self.slots.slot_of)

    def __contains__(self, key: object) -> bool:
        return key in self.slots.slot_of

    @property
    def indexed(self) -> Generation[T]:
        """What estimates are made on."""
        return self

    @property
    def namespaced(self) -> bool:
        """Whether any object has a namespace."""
        return bool(self.indexes[NAMESPACE].present)  # type: ignore[union-attr]  # never a family

    def get(self, key: ObjectKey) -> T | None:
        """Give the object under *key*, or None."""
        return self.slots.get(key)

    def held(self) -> list[T]:
        """Copy references to all objects."""
        slots = self.slots
        return self.at(slots.live()) if slots.free else cast("list[T]", slots.objects.copy())

    def at(self, posting: Posting | None) -> list[T]:
        """Copy references to the objects in the slots of *posting*."""
        objects: list[T] = self.slots.objects  # type: ignore[assignment]  # in these slots there are some
        if posting is None:
            return []
        if isinstance(posting, int):
            return [objects[posting]]
        return [objects[slot] for slot in posting]

    def objects_of(self, program: Program) -> list[T]:
        """Copy references to the objects that *program* leaves."""
        if program.takes_all:
            return self.held()
        posting = program.narrowed(self)
        if program.stored_at is None or type(posting) is not BitMap or len(posting) < LARGE:
            return self.at(posting)
        getter = self._getter(program.stored_at, posting)
        return self.at(posting) if getter is None else list(getter(self.slots.objects))

    def found(
        self, program: Program, limit: int | None, spot: Spot | None, trace: list[Narrowing] | None
    ) -> tuple[list[ObjectKey], list[T], list[Filing]]:
        """Give the keys and objects that *program* leaves, at most *limit*, and where they are filed at *spot*."""
        table = self.slots
        if program.takes_all and limit is None and spot is None and not table.free:
            return cast("list[ObjectKey]", table.keys.copy()), cast("list[T]", table.objects.copy()), []
        posting = program.narrowed(self, trace)
        whole = limit is None and spot is None
        if whole and program.stored_at is not None and type(posting) is BitMap and len(posting) >= LARGE:
            getter = self._getter(program.stored_at, posting)
            if getter is not None:
                return list(getter(table.keys)), list(getter(table.objects)), []
        slots = list(islice(slots_in(posting), limit))
        keys = cast("list[ObjectKey]", list(map(table.keys.__getitem__, slots)))
        objects = cast("list[T]", list(map(table.objects.__getitem__, slots)))
        return keys, objects, [] if spot is None else self.index_at(spot).filings(slots)

    def _getter(self, spot: Spot, posting: BitMap) -> Callable[[Any], tuple[Any, ...]] | None:
        """Give what copies the items at the slots of *posting*, which the index at *spot* has, if it is remembered."""
        self.index_at(spot).answers = self.answers
        return self.answers.getter(posting)

    def counted(self, program: Program) -> int:
        """Count the objects that *program* leaves."""
        return program.counted(self)

    def sizes_at(self, spot: Spot) -> list[tuple[ValueKey, int]]:
        """Give the keys of an index with the sizes of their postings."""
        return self.index_at(spot).sizes()

    def skipped(self, *, but: Iterable[int] = ()) -> dict[str, int]:
        """Count, for each index whose function may fail, the objects on which it did, *but* these slots. O(slots)."""
        skipped = {}
        for identity, place in self.schema.places.items():
            if isinstance(identity, Indexer) and identity.on_error == "skip":
                filed = cast("MapIndex", self.indexes[place]).filed  # functions have maps
                others = sum(filed[slot] is SKIPPED for slot in but if slot < len(filed))
                skipped[identity.name] = filed.count(SKIPPED) - others
        return skipped

    def _check(self) -> None:
        """Assert the invariants."""
        self.slots._check()  # noqa: SLF001 - its own checker
        self.answers._check()  # noqa: SLF001 - its own checker
        live = self.slots.live()
        assert len(self.indexes) == len(self.schema.order)
        for index in self.indexes:
            index._check(live)  # noqa: SLF001 - its own checker
        namespaces = self.indexes[0]
        for key, slot in self.slots.slot_of.items():
            assert namespaces.filing(slot) == (key.namespace or None)


def admit(schema: Schema[Any], indexes: Sequence[Index], filings: Iterable[tuple[ObjectKey, Filings]]) -> None:
    """Check what one object's values alone cannot tell: all values of one sorted index are of one type.

    Costs nothing without a sorted index.

    Args:
        schema: of the generation that is to take the objects.
        indexes: its indexes.
        filings: of the objects to be put.

    Raises:
        IndexValueError: a value is of another type; with ``on_error="skip"`` its object is filed under none.
    """
    if not schema.sorted_places:
        return
    filings = list(filings)
    for indexer, place in schema.sorted_places:
        index = cast("SortedIndex", indexes[place])
        column = [filing[place] for _, filing in filings]
        admit_one_type(
            indexer, index.ordered[0] if index.ordered else None, [key for key, _ in filings], column, schema.store
        )
        for (_, filings_of_one), filing in zip(filings, column, strict=True):
            filings_of_one[place] = filing


def admit_columns(schema: Schema[Any], keys: Sequence[ObjectKey], columns: Sequence[list[Any]]) -> None:
    """Check the same for all of the objects that indexes are built for, whose filings are given index by index."""
    for indexer, place in schema.sorted_places:
        admit_one_type(indexer, None, keys, columns[place], schema.store)


def admit_one_type(
    indexer: SortedIndexer[Any, Any], like: ValueKey | None, keys: Sequence[ObjectKey], column: list[Any], store: str
) -> None:
    """Check that the values in *column* are of the type of *like*, or else of the first of them; *store* for errors."""
    for i, (key, filing) in enumerate(zip(keys, column, strict=True)):
        for value in keys_in(filing):
            like = value if like is None else like
            if ordering(value)[0] == ordering(like)[0]:
                continue
            if indexer.on_error == "raise":
                kinds = [type(decoded(each)).__name__ for each in (value, like)]
                reason = f"a sorted index holds one type: {decoded(value)!r} is {kinds[0]}, the others are {kinds[1]}"
                raise IndexValueError(indexer.name, key, reason, store)
            column[i] = SKIPPED
