"""Generation: all state of a store, on one object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast

from kindex.errors import IndexValueError
from kindex.indexers.base import Indexer
from kindex.indexes import ColumnIndex, FamilyIndex, MapIndex, SortedIndex
from kindex.slots import SlotTable
from kindex.values import SKIPPED, decoded, keys_in, ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kindex.indexes import Index
    from kindex.keys import ObjectKey
    from kindex.schema import Filings, Identity, Schema, Spot

T = TypeVar("T")

_EMPTY = MapIndex()


class Entry(NamedTuple):
    """What a commit does to one slot: afterwards it holds *obj*, filed as *changes* say; None frees it.

    It says what shall be, not what to do, so applying it again completes an application that was cut short.
    """

    slot: int
    key: ObjectKey
    obj: Any  # Any: a NamedTuple of 3.11 that is generic costs more to make
    changes: Sequence[tuple[int, Any]]


class Generation(Generic[T]):
    """Objects, indexes and revision that belong together.

    Readers take it from the store under the lock and leave it before the lock is free. A change that touches most of
    the state (a first list, a late index, a table that became sparse) builds another generation beside and swaps it in.
    """

    __slots__ = ("indexes", "resource_versions", "revision", "schema", "slots")

    def __init__(
        self,
        schema: Schema[T],
        slots: SlotTable[T],
        indexes: list[Index],
        revision: int = 0,
        resource_versions: dict[str | None, str] | None = None,
    ) -> None:
        self.schema = schema
        self.slots = slots
        self.indexes = indexes
        self.revision = revision
        self.resource_versions = {} if resource_versions is None else resource_versions

    @classmethod
    def build(
        cls, schema: Schema[T], keys: Sequence[ObjectKey], objects: Sequence[T], filings: Sequence[Filings]
    ) -> Generation[T]:
        """Build one from scratch: slots 0, 1, 2 ... in the order given. O(objects x indexes).

        In key order a namespace is one run of slots, and its bitmap tiny.

        Raises:
            IndexValueError: a sorted index would hold values of two types.
        """
        admit(schema, (), zip(keys, filings, strict=True))
        slots = SlotTable(keys, objects)
        # One int object a slot serves every posting.
        indexes = schema.build(filings, list(slots.slot_of.values()))
        return cls(schema, slots, indexes)

    def index_at(self, spot: Spot) -> MapIndex | ColumnIndex:
        """Give an index; a label key of a family that no object has is an empty one."""
        place, member = spot
        index = self.indexes[place]
        if type(index) is FamilyIndex:
            return index.members.get(cast("str", member), _EMPTY)
        return cast("MapIndex | ColumnIndex", index)

    def changes(self, slot: int, filings: Filings) -> list[tuple[int, Any]]:
        """List the indexes in which *slot* is to be moved, with the new filing."""
        return [
            (place, filing)
            for place, (index, filing) in enumerate(zip(self.indexes, filings, strict=True))
            if not index.holds(slot, filing)
        ]

    def first_changes(self, filings: Filings) -> list[tuple[int, Any]]:
        """The same for a slot that is free now."""
        return [(place, filing) for place, filing in enumerate(filings) if filing is not None]

    def cleared(self, slot: int) -> list[tuple[int, Any]]:
        """List the indexes in which *slot* is filed, with the filing of a slot that holds nothing."""
        return [
            (place, blank)
            for place, (index, blank) in enumerate(zip(self.indexes, self.schema.blank(), strict=True))
            if not index.holds(slot, blank)
        ]

    def filings(self, slot: int) -> Filings:
        """Tell where *slot* is filed in each index."""
        return [index.filing(slot) for index in self.indexes]

    def reader(self) -> Callable[[int], Filings]:
        """Give ``filings`` as they are now, to be used without the lock. O(slots x indexes), in C."""
        readers = [index.reader() for index in self.indexes]
        return lambda slot: [read(slot) for read in readers]

    def under(self, schema: Schema[T], built: Mapping[Identity, Index] | None = None) -> Generation[T]:
        """Give the same state under another *schema*; indexes that it has not in common are empty, or *built*."""
        present = dict(zip(self.schema.order, self.indexes, strict=True)) | dict(built or {})
        indexes = schema.arrange(present)
        for index in indexes:
            index.reserve(self.slots.capacity)
        return Generation(schema, self.slots, indexes, self.revision, self.resource_versions)

    def apply(self, entries: Iterable[Entry]) -> None:
        """Bring the state to what *entries* say. May be done again, from the first one, after an interruption."""
        slots, indexes = self.slots, self.indexes
        for slot, key, obj, changes in entries:
            if slot >= len(slots.objects):
                for index in indexes:
                    index.reserve(slot + 1)
            if obj is None:
                slots.release(slot, key)
            else:
                slots.assign(slot, key, obj)
            for place, filing in changes:
                index = indexes[place]
                if type(index) is ColumnIndex and index.full(filing):
                    indexes[place] = index = index.as_map()
                index.file(slot, filing)
                index.shrink()

    def skipped(self) -> dict[str, int]:
        """Count, for each index whose function may fail, the objects on which it did. O(slots)."""
        return {
            identity.name: self.indexes[place].filed.count(SKIPPED)  # type: ignore[union-attr]  # functions have maps
            for identity, place in self.schema.places.items()
            if isinstance(identity, Indexer) and identity.on_error == "skip"
        }

    def _check(self) -> None:
        """Assert the invariants."""
        self.slots._check()  # noqa: SLF001 - its own checker
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
        indexes: its indexes; none for a new generation.
        filings: of the objects to be put.

    Raises:
        IndexValueError: a value is of another type; with ``on_error="skip"`` its object is filed under none.
    """
    if not schema.sorted_places:
        return
    filings = list(filings)
    for indexer, place in schema.sorted_places:
        index = indexes[place] if indexes else None
        kept = index.ordered[0] if isinstance(index, SortedIndex) and index.ordered else None
        for key, filed in filings:
            for value in keys_in(filed[place]):
                kept = value if kept is None else kept
                if ordering(value)[0] == ordering(kept)[0]:
                    continue
                if indexer.on_error == "raise":
                    kinds = [type(decoded(each)).__name__ for each in (value, kept)]
                    reason = (
                        f"a sorted index holds one type: {decoded(value)!r} is {kinds[0]}, the others are {kinds[1]}"
                    )
                    raise IndexValueError(indexer.name, key, reason)
                filed[place] = SKIPPED
