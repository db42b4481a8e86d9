"""Measuring: what a store and each of its indexes take, counted on the structures themselves.

Counting takes the lock for a slice of about a thousand postings at a time, so writers pass in between; the report is
then a little of before and a little of after. Nobody's code runs: all that is looked at is made of Python's own types.

Text is a matter of its own. A label's value is usually the very string that the object holds too, and then costs the
index nothing; when the object has gone, or made the string just for the index, only the index keeps it. Reference
counts tell: the index knows how many references are its own, and if there are no others, nobody else holds the text.
"""

from __future__ import annotations

import sys
from operator import itemgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import attrs
from pyroaring import BitMap

from kindex.column_index import ColumnIndex
from kindex.families import FamilyIndex
from kindex.footprints import (
    CACHED_INTS,
    INT_BYTES,
    PAIR_BYTES,
    allocated,
    bitmap_bytes,
    ids_bytes,
    object_bytes,
    shallow_bytes,
)
from kindex.indexers.base import Indexer
from kindex.indexers.labels import LabelKey
from kindex.keys import ObjectKey
from kindex.lazy import LazyObject
from kindex.map_index import NoIndex
from kindex.memory import IndexMemory, IndexSize, MemoryReport
from kindex.selector_index import SelectorIndex
from kindex.sorted_index import SortedIndex
from kindex.values import SKIPPED, Several

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kindex.core import Core
    from kindex.families import Index
    from kindex.feed import Inbox
    from kindex.generation import Generation
    from kindex.map_index import MapIndex
    from kindex.schema import Identity, Schema
    from kindex.slots import SlotTable
    from kindex.snapshots import Past

_SLICE = 1_000
"""How many postings are counted while the lock is held."""

_LONG_SLICE = 20_000
"""How many slots, which are counted in C."""

_A_KEY = ObjectKey("", "")

_CHANGE_BYTES = allocated(sys.getsizeof((None,) * 5)) + INT_BYTES
"""A change that a follower has not taken: key, two objects, revision, a flag."""


def measure(core: Core[Any]) -> MemoryReport:
    """Count all that *core* holds, slice by slice. O(values + slots)."""
    core.check_may_read()
    with core.lock:
        core.settle()
        generation = core.generation
        slots = generation.slots
        placed = list(zip(generation.schema.order, generation.indexes, strict=True))
        grown = _over_allocated(slots.keys)
        remembered = generation.answers.size_bytes
    schema = generation.schema
    indexes = tuple(
        attrs.evolve(_counted(core, name, kind, index, grown=grown), budget=_budgets_of(schema, place))
        for place, name, kind, index in _parts(core, placed)
    )
    objects, slot_bytes, slot_text = _slots_counted(core, slots)
    pasts = [past for each in tuple(core.pasts) if (past := each()) is not None]
    followers, follower_bytes = _followers_counted(core)
    return MemoryReport(
        core.name,
        objects,
        slots.capacity,
        _objects_counted(core, slots),
        slot_bytes,
        slot_text,
        indexes,
        remembered,
        snapshots=len(pasts),
        snapshot_bytes=sum(_past_counted(core, past, generation) for past in pasts),
        followers=followers,
        follower_bytes=follower_bytes,
        dropped=tuple(schema.dropped.values()),
    )


def _budgets_of(schema: Schema[Any], place: int) -> str | None:
    """Say which budgets bound the index at *place*."""
    found = []
    for limit in schema.limits:
        if place in limit.places:
            bounds = {"max_bytes": limit.budget.max_bytes, "max_values": limit.budget.max_values}
            told = ", ".join(f"{name}={bound:,}" for name, bound in bounds.items() if bound is not None)
            found.append(f"{told} of {limit.scope}")
    return "; ".join(found) or None


def sizes(core: Core[Any]) -> tuple[IndexSize, ...]:
    """Give values and postings of each index. O(1) for labels and namespaces, O(values) for the others."""
    core.check_may_read()
    with core.lock:
        core.settle()
        generation = core.generation
        placed = list(zip(generation.schema.order, generation.indexes, strict=True))
    found = []
    for _, name, kind, index in _parts(core, placed):
        if isinstance(index, FamilyIndex):
            continue
        with core.lock:
            if isinstance(index, ColumnIndex) or kind in ("label", "namespace"):
                postings = len(index.present)
            else:
                postings = sum(1 if isinstance(posting, int) else len(posting) for posting in index.forward.values())
            found.append(IndexSize(name, kind, len(index), postings))
    return tuple(found)


def _past_counted(core: Core[Any], past: Past[Any], present: Generation[Any]) -> int:
    """Count what is kept for a snapshot, beyond what the *present* state has anyway."""
    with core.lock:
        total = bitmap_bytes(past.touched, grown=True) + shallow_bytes(past.images) + shallow_bytes(past.origins)
        for image in past.images.values():
            filings = image[2]
            total += shallow_bytes(image) + shallow_bytes(filings)
            total += sum(shallow_bytes(labels) for labels in filings if type(labels) is dict)
    restored = past.restored
    if restored is not None:
        total += _state_counted(core, restored, restored.indexes)
    if past.base.slots is not present.slots:
        with core.lock:
            total += past.base.answers.size_bytes
        total += _state_counted(core, past.base, past.base.indexes)
    else:
        shared = set(map(id, present.indexes))
        total += _indexes_counted(core, past.base, [index for index in past.base.indexes if id(index) not in shared])
    return total


def _state_counted(core: Core[Any], generation: Generation[Any], indexes: Sequence[Index]) -> int:
    _, slot_bytes, slot_text = _slots_counted(core, generation.slots)
    return slot_bytes + slot_text + _indexes_counted(core, generation, indexes)


def _indexes_counted(core: Core[Any], generation: Generation[Any], indexes: Sequence[Index]) -> int:
    wanted = set(map(id, indexes))
    pairs = zip(generation.schema.order, generation.indexes, strict=True)
    placed = [(identity, index) for identity, index in pairs if id(index) in wanted]
    counted = (_counted(core, name, kind, index, grown=True) for _, name, kind, index in _parts(core, placed))
    return sum(index.index_bytes + index.text_bytes for index in counted)


def _followers_counted(core: Core[Any]) -> tuple[int, int]:
    """Count the followers, and what they have not taken."""
    with core.lock:
        inboxes = [] if core.feed is None else core.feed.inboxes()
    return len(inboxes), sum(map(_inbox_bytes, inboxes))


def _inbox_bytes(inbox: Inbox[Any]) -> int:
    waiting = len(inbox)
    total = shallow_bytes(inbox) + shallow_bytes(inbox.pending) + waiting * _CHANGE_BYTES
    behind = inbox.behind
    if behind is not None and len(behind):
        total += sum(map(shallow_bytes, (behind, behind.slot_of, behind.keys, behind.objects)))
    return total


def _parts(
    core: Core[Any], placed: Iterable[tuple[Identity, MapIndex | ColumnIndex | FamilyIndex]]
) -> Iterator[tuple[int, str, str, MapIndex | ColumnIndex | FamilyIndex]]:
    """Name each index, and each key of those that take all, with its place."""
    for place, (identity, index) in enumerate(placed):
        if isinstance(index, NoIndex):
            continue
        if isinstance(identity, Indexer):
            kind = type(identity).__name__.removesuffix("Indexer").lower() or "function"
            yield place, identity.name, kind, index
        elif isinstance(identity, LabelKey):
            yield place, identity.name, "label", index
        else:
            yield place, LabelKey(identity.path, "*").name, "labels", index
            assert isinstance(index, FamilyIndex)
            with core.lock:
                members = list(index.members.items())
            for key, member in members:
                yield place, LabelKey(identity.path, key).name, "label", member


@attrs.define
class _Tally:
    """What was counted so far of one index."""

    values: int = 0
    postings: int = 0
    singles: int = 0
    largest: int = 0
    forward: int = 0
    reverse: int = 0
    text: int = 0

    def add(
        self,
        keys: Sequence[Any],  # Any: a ValueKey, or None where a column has no value
        postings: list[Any],  # Any: a Posting or None
        own: int,
        *,
        filed: bool,
        grown: bool,
    ) -> None:
        """Count some postings. The caller holds the lock, and holds neither *keys* nor *postings* otherwise.

        Args:
            keys: of the values.
            postings: one for each.
            own: how many references to a key the index has itself.
            filed: whether it has another one for each slot.
            grown: as for ``bitmap_bytes``.
        """
        kinds = list(map(type, postings))
        if kinds.count(int) == len(kinds):
            numbers, counts = postings, [1] * len(kinds)
        else:
            numbers = [posting for posting in postings if type(posting) is int]
            bitmaps = [posting for posting in postings if type(posting) is BitMap]
            counts = [0 if posting is None else 1 if type(posting) is int else len(posting) for posting in postings]
            postings.clear()
            self.forward += sum(bitmap_bytes(bitmap, grown=grown) for bitmap in bitmaps)
        self.values += len(counts) - counts.count(0)
        self.postings += sum(counts)
        self.singles += counts.count(1)
        self.largest = max(self.largest, *counts)
        # Usually the number is the slot table's own; one that is only here is the index's.
        self.forward += INT_BYTES * _references(numbers).count(_IN_A_LIST + 1)
        self._add_keys(keys, counts, own, filed=filed)

    def _add_keys(self, keys: Sequence[Any], counts: list[int], own: int, *, filed: bool) -> None:  # Any: as above
        references = _references(keys)
        own += _IN_A_LIST
        if tuple not in set(map(type, keys)) and min(references) > own + (max(counts) if filed else 0):
            return  # as usual: somebody else holds each of them
        for key, others, count in zip(keys, references, counts, strict=True):
            if type(key) is tuple:
                structure, text = _tuple_bytes(key)
                self.forward += structure
                self.text += text
            elif count and others <= own + (count if filed else 0):
                self.text += allocated(sys.getsizeof(key))


def _counted(
    core: Core[Any], name: str, kind: str, index: MapIndex | ColumnIndex | FamilyIndex, *, grown: bool
) -> IndexMemory:
    """Count one index."""
    tally = _Tally()
    if isinstance(index, FamilyIndex):
        with core.lock:
            tally.forward = shallow_bytes(index) + shallow_bytes(index.members)
            tally.reverse = shallow_bytes(index.counts)
        return _row_of(name, kind, tally, 0)
    moves: int = getattr(index, "moves", 0)
    grown = grown or moves > len(index)
    keys: list[Any]
    postings: list[Any]
    with core.lock:
        tally.forward = shallow_bytes(index) + bitmap_bytes(index.present, grown=grown)
        if isinstance(index, ColumnIndex):
            own, filed = 2, False  # in ``ids`` and in ``values``
            keys, postings = index.values.copy(), index.postings.copy()
            tally.forward += sum(map(shallow_bytes, (index.ids, index.values, index.postings)))
            tally.forward += ids_bytes(len(index.ids)) + bitmap_bytes(index.free, grown=grown)
            tally.reverse = shallow_bytes(index.column)
        else:
            own, filed = 3 if isinstance(index, SortedIndex | SelectorIndex) else 1, True
            keys, postings = list(index.forward), list(index.forward.values())
            tally.forward += shallow_bytes(index.forward)
            tally.reverse = shallow_bytes(index.filed)
    while keys and postings:
        with core.lock:
            some, theirs = keys[-_SLICE:], postings[-_SLICE:]
            del keys[-_SLICE:], postings[-_SLICE:]
            tally.add(some, theirs, own, filed=filed, grown=grown)
    if not isinstance(index, ColumnIndex):
        tally.reverse += _several_bytes(core, index)
    if isinstance(index, SelectorIndex):
        with core.lock:
            tally.forward += index.beside_bytes()
    if isinstance(index, SortedIndex):
        tally.forward += _ordered_bytes(core, index)
    return _row_of(name, kind, tally, moves)


def _row_of(name: str, kind: str, tally: _Tally, moves: int) -> IndexMemory:
    return IndexMemory(
        name,
        kind,
        tally.values,
        tally.postings,
        tally.singles,
        tally.largest,
        tally.forward,
        tally.reverse,
        tally.text,
        moves,
    )


def _several_bytes(core: Core[Any], index: MapIndex) -> int:
    """Count the tuples of objects that have several values; some objects share one."""
    counted: set[int] = set()
    total = 0
    for start in range(0, len(index.filed), _LONG_SLICE):
        with core.lock:
            some = index.filed[start : start + _LONG_SLICE]
        if Several in set(map(type, some)):
            tuples = {id(each): each for each in some if type(each) is Several and each is not SKIPPED}
            total += sum(shallow_bytes(each) for number, each in tuples.items() if number not in counted)
            counted.update(tuples)
    return total


def _ordered_bytes(core: Core[Any], index: SortedIndex) -> int:
    """Count the values in order: a list of lists of them, and the same of what they are ordered by."""
    ordered: Any = index.ordered  # Any: its attributes are sortedcontainers' own
    with core.lock:
        total = shallow_bytes(ordered)
        total += sum(map(shallow_bytes, (ordered._lists, ordered._keys, ordered._maxes, ordered._index)))  # noqa: SLF001 - no other way to see them
        total += INT_BYTES * len(ordered._index)  # noqa: SLF001 - as above
        inner = [*zip(ordered._lists, ordered._keys, strict=True)]  # noqa: SLF001 - as above
    for values, orderings in inner:
        with core.lock:
            total += shallow_bytes(values) + shallow_bytes(orderings)
            total += sum(map(_ordering_bytes, orderings))
    return total


def _ordering_bytes(ordering: tuple[Any, ...]) -> int:
    """Count what a value is ordered by: a pair of a rank and the value, or of a rank and pairs."""
    held = ordering[1]
    if type(held) is not tuple:
        return PAIR_BYTES
    return PAIR_BYTES + allocated(sys.getsizeof(held)) + sum(map(_ordering_bytes, held))


def _objects_counted(core: Core[Any], slots: SlotTable[Any]) -> int | None:
    """Count the objects, if all of them are such that it can be known."""
    with core.lock:
        objects = [obj for obj in slots.objects if obj is not None]
    if not objects or any(type(obj) is not LazyObject for obj in objects):
        return None
    return sum(object_bytes(obj) or 0 for obj in objects)


def _slots_counted(core: Core[Any], slots: SlotTable[Any]) -> tuple[int, int, int]:
    """Count the slot table: its objects, its bytes, and the text that only keys hold."""
    with core.lock:
        objects = len(slots)
        total = sum(map(shallow_bytes, (slots, slots.slot_of, slots.keys, slots.objects))) + bitmap_bytes(slots.free)
        keys = slots.keys.copy()
    total += objects * shallow_bytes(_A_KEY) + INT_BYTES * max(0, objects - CACHED_INTS)
    text, own = 0, _IN_A_LIST + 1
    while keys:
        some = [key for key in keys[-_LONG_SLICE:] if key is not None]
        del keys[-_LONG_SLICE:]
        for part in (0, 1):
            texts = list(map(itemgetter(part), some))
            references = _references(texts)
            if min(references, default=own) <= own:
                pairs = zip(texts, references, strict=True)
                text += sum(allocated(sys.getsizeof(each)) for each, count in pairs if each and count <= own)
    return objects, total, text


def _over_allocated(table: list[Any]) -> bool:
    """Tell whether a list has grown since it was made at once; then so have the bitmaps."""
    return sys.getsizeof(table) > sys.getsizeof([]) + 8 * (len(table) + 1)


# References


def _references(objects: Sequence[object]) -> list[int]:
    """Count the references to each, with ``_IN_A_LIST`` for the one in *objects* and those of passing."""
    return list(map(getrefcount, objects))


def _tuple_bytes(key: tuple[Any, ...]) -> tuple[int, int]:
    """Count a key that is a tuple, which kindex has made: the tuples and numbers, and the text that only they hold."""
    total, text = allocated(sys.getsizeof(key)), 0
    for part in key:
        if type(part) is tuple:
            inner, inner_text = _tuple_bytes(part)
            total, text = total + inner, text + inner_text
        elif getrefcount(part) <= _IN_A_TUPLE:
            if type(part) is str:
                text += allocated(sys.getsizeof(part))
            else:
                total += allocated(sys.getsizeof(part))
    return total, text


def _seen_in_a_tuple(key: tuple[object, ...]) -> int:
    """Count references just as ``_tuple_bytes`` does, where there is one: how many are of passing depends on Python."""
    count = 0
    for part in key:
        count = getrefcount(part)
    return count


_IN_A_LIST = _references([object()])[0]
_IN_A_TUPLE = _seen_in_a_tuple((object(),))
