"""Building beside: new indexes for a filled store, and a smaller table for one that has emptied.

Both take long, and so are built without the lock, while a journal collects the slots that commits touch meanwhile.
At the end the lock is held for those slots only, and the result is swapped in.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, TypeVar, cast

from kindex.column_index import filed
from kindex.errors import IndexFunctionError
from kindex.families import FamilyIndex
from kindex.generation import Entry, Generation, admit_columns, admit_one_type
from kindex.indexers.labels import LabelKey
from kindex.indexers.sorted import SortedIndexer
from kindex.limits import alone, breaches, drop, too_much
from kindex.schema import Schema, built, parts_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from kindex.column_index import ColumnIndex, Twins
    from kindex.core import Core
    from kindex.families import Index
    from kindex.indexers.base import AnyIndexer
    from kindex.keys import ObjectKey
    from kindex.map_index import MapIndex
    from kindex.schema import Family, Identity, Spot
    from kindex.sorted_index import SortedIndex
    from kindex.values import Filing

T = TypeVar("T")

_log = logging.getLogger(__name__)

_SPARSE = 4
"""A store is rebuilt when it has room for more than this many times what it holds."""

_SMALL = 64
"""A store of up to this capacity is never rebuilt, unless it is empty."""

_SOON = 1_000
"""A dropped index is not looked at before so many writes."""

_TRIES = 100
"""So often is an index that broke its budget brought up to date before other writers are left their way."""


def add_indexers(core: Core[T], indexers: Sequence[AnyIndexer[T]]) -> None:
    """Add *indexers* to a store that may hold objects, and be written to meanwhile.

    Empty indexes join first, hidden from queries; from then on writes file into them. Complete ones are built beside,
    from the objects of that moment. Then what writes filed meanwhile is copied over, and they become visible.

    Schemas are made and compared without the lock: index functions, which may be anybody's, are part of them.
    """
    late = Schema(indexers, store=core.name)
    while not _added(core, late):
        pass


def _added(core: Core[T], late: Schema[T]) -> bool:
    """Try once; False when somebody else changed the indexers meanwhile."""
    seen = core.generation.schema
    grown = seen.plus(late.indexers)
    wanted = [identity for identity in late.order if identity in grown.hidden]
    sources = grown.sources(seen)
    if not wanted and grown.names == seen.names:
        return True
    journal: set[int] = set()
    try:
        with core.lock:
            core.settle()
            before = core.generation
            if before.schema is not seen:
                return False
            start = core.generation = before.under(grown, sources)
            if not wanted:
                return True
            keys, objects = start.slots.keys.copy(), start.slots.objects.copy()
            taken = list(start.slots.slot_of.values())
            core.journals.append(journal)
        complete = _shorn(_built(late, wanted, keys, objects, taken), grown.dropped)
        places = {identity: grown.order.index(identity) for identity in wanted}
        broken = breaches(grown, _with(start.indexes, {places[identity]: complete[identity] for identity in wanted}))
        if broken:
            drop(core, broken)
            dropped = {breach.identity for breach in broken}
            wanted = [identity for identity in wanted if identity not in dropped]
            complete = _shorn(complete, dropped)
        hidden = {identity: start.indexes[places[identity]] for identity in wanted}
        return _revealed(core, complete, hidden, journal)
    except BaseException:
        _withdraw(core, [indexer for indexer in late.indexers if indexer.name not in seen.names], wanted)
        raise
    finally:
        core.forget(journal)


def _revealed(
    core: Core[T], complete: dict[Identity, Index], hidden: dict[Identity, Index], journal: Iterable[int]
) -> bool:
    """Let queries see the *complete* indexes; False when somebody else did, or began anew."""
    while True:
        schema = core.generation.schema
        if not schema.hidden.issuperset(hidden):
            return schema.places.keys() >= hidden.keys()
        revealing = schema.revealing(hidden)
        sources = revealing.sources(schema)
        places = {place: identity for place, identity in enumerate(revealing.order) if identity in hidden}
        pairs = [(place, complete[identity], hidden[identity], identity) for place, identity in places.items()]
        with core.lock:
            core.settle()
            current = core.generation
            if current.schema is not schema:
                continue
            # One that was removed and added again meanwhile has another hidden index, which lacks what came between.
            if any(current.indexes[cast("int", sources[place])] is not mine for place, _, mine, _ in pairs):
                return False
            built = {place: _merged(current, index, mine, identity, journal) for place, index, mine, identity in pairs}
            core.generation = current.under(revealing, sources, built)
            return True


def _with(indexes: Sequence[Index], others: Mapping[int, Index]) -> list[Index]:
    return [others.get(place, index) for place, index in enumerate(indexes)]


def _built(
    late: Schema[T],
    wanted: Sequence[Identity],
    keys: Sequence[ObjectKey | None],
    objects: Sequence[T | None],
    taken: Iterable[int],
) -> dict[Identity, Index]:
    """Build the *wanted* indexes of *late* over slots 0, 1, 2 ..., some of which are free. Runs index functions.

    Where they hold a slot that is *taken*, it is this int object.
    """
    live = [slot for slot, key in enumerate(keys) if key is not None]
    some_free = len(live) < len(keys)
    keys_there, objects_there = keys, objects
    if some_free:
        keys_there, objects_there = [keys[slot] for slot in live], [objects[slot] for slot in live]
    columns = late.columns(cast("list[ObjectKey]", keys_there), cast("list[T]", objects_there))
    admit_columns(late, cast("list[ObjectKey]", keys_there), columns)
    if some_free:
        spread = [[blank] * len(keys) for blank in late.blank()]
        for wide, column in zip(spread, columns, strict=True):
            for slot, filing in zip(live, column, strict=True):
                wide[slot] = filing
        columns = spread
    slots = list(range(len(keys)))
    for slot in taken:
        slots[slot] = slot
    twins: Twins = {}
    return {
        identity: built(identity, column, slots, twins)
        for identity, column in zip(late.order, columns, strict=True)
        if identity in wanted
    }


def _shorn(indexes: dict[Identity, Index], dropped: Collection[Identity]) -> dict[Identity, Index]:
    """Take out of families the keys that were *dropped*, which writes do not file any more."""
    shorn = dict(indexes)
    for identity, index in indexes.items():
        for key in index.members if isinstance(index, FamilyIndex) else ():
            if LabelKey(cast("Family", identity).path, key) in dropped:
                shorn[identity] = cast("FamilyIndex", shorn[identity]).with_member(key, None)
    return shorn


def _merged(
    current: Generation[Any], complete: Index, hidden: Index, identity: Identity, journal: Iterable[int]
) -> Index:
    """Move what writes filed meanwhile into the *hidden* index to the *complete* one. The caller holds the lock.

    Raises:
        IndexValueError: the two hold values of two types, and the index is sorted.
    """
    complete.reserve(current.slots.capacity)
    slots = list(journal)
    column = [hidden.filing(slot) for slot in slots]
    if isinstance(identity, SortedIndexer):
        index = cast("SortedIndex", complete)
        for slot in slots:
            index.file(slot, None)
        keys = cast("list[ObjectKey]", [current.slots.keys[slot] for slot in slots])
        admit_one_type(identity, index.ordered[0] if index.ordered else None, keys, column, current.schema.store)
    for slot, filing in zip(slots, column, strict=True):
        if isinstance(complete, FamilyIndex):
            complete.file(slot, cast("dict[str, str]", filing))
        else:
            complete = filed(complete, slot, cast("Filing", filing))
    return complete


def _withdraw(core: Core[T], added: Sequence[AnyIndexer[T]], wanted: Sequence[Identity]) -> None:
    """Take back the indexers that were *added*, unless somebody else could build what they *wanted*."""
    parts = {indexer.name: set(parts_of(indexer)).intersection(wanted) for indexer in added}
    while True:
        schema = core.generation.schema
        failed = schema.hidden.intersection(wanted)
        if wanted and not failed:
            return
        gone = [name for name, its in parts.items() if name in schema.names and (not its or its & failed)]
        if not gone:
            return
        kept = schema.minus(*gone)
        sources = kept.sources(schema)
        with core.lock:
            core.settle()
            before = core.generation  # dropped after the lock
            if before.schema is schema:
                core.generation = before.under(kept, sources)
                return


def readmit_in_time(core: Core[Any]) -> None:
    """Look after as many writes as there are objects whether a dropped index would be small enough again."""
    dropped = core.generation.schema.dropped
    if not dropped:
        return
    core.writes_since_drop += 1
    if core.writes_since_drop >= max(_SOON, len(core.generation.slots)):
        core.writes_since_drop = 0
        for identity in dropped:
            try:
                readmit(core, identity, asked=False)
            except IndexFunctionError as error:  # of an object that was stored meanwhile; the writer did nothing wrong
                _log.warning("index %r of store %r cannot come back: %s", identity.name, core.name, error)


def readmit(core: Core[T], identity: Identity, *, asked: bool) -> str | None:
    """Build an index again that broke its budget; say why not when it would still take too much.

    Args:
        core: the store.
        identity: of the index.
        asked: whether somebody asked for it: then the budget itself counts, else its ``readmit_below``.
    """
    late = Schema([alone(identity)], store=core.name)
    for _ in range(_TRIES):
        schema = core.generation.schema
        if identity not in schema.dropped:
            return None
        back = schema.readmitting(identity)
        sources, spots = back.sources(schema), back.spots(identity)
        journal: set[int] = set()
        try:
            with core.lock:
                core.settle()
                before = core.generation
                if before.schema is not schema:
                    continue
                keys, objects = before.slots.keys.copy(), before.slots.objects.copy()
                taken = list(before.slots.slot_of.values())
                core.journals.append(journal)
            indexes = {}
            for spot in spots:
                index = cast("MapIndex | ColumnIndex", _built(late, [identity], keys, objects, taken)[identity])
                reason = too_much(back, before.indexes, spot, index, asked=asked)
                if reason is not None:
                    return reason
                indexes[spot] = index
            if _swapped_in(core, before, late, back, sources, indexes, journal):
                return None
        finally:
            core.forget(journal)
    return "other writes came in between each time; try again"


def _swapped_in(
    core: Core[T],
    before: Generation[T],
    late: Schema[T],
    back: Schema[T],
    sources: Sequence[int | None],
    indexes: dict[Spot, MapIndex | ColumnIndex],
    journal: set[int],
) -> bool:
    """Put *indexes* in their places, once they have all that was written meanwhile; False when that does not end."""
    for _ in range(_TRIES):
        with core.lock:
            core.settle()
            if core.generation is not before:
                return False
            touched = [(slot, before.slots.keys[slot], before.slots.objects[slot]) for slot in journal]
            journal.clear()
            if touched and late.sorted_places:
                return False  # whether all values are of one type is found out where all of them are looked at
            if not touched:
                built: dict[int, Index] = {}
                for (place, member), index in indexes.items():
                    family = before.indexes[place]
                    index.reserve(before.slots.capacity)
                    built[place] = index if member is None else cast("FamilyIndex", family).with_member(member, index)
                core.generation = before.under(back, sources, built)
                return True
        for slot, key, obj in touched:
            filing = None if key is None else late.filings(key, cast("T", obj))[-1]
            for spot, index in indexes.items():
                index.reserve(slot + 1)
                indexes[spot] = filed(index, slot, filing)
    return False


def tidy(core: Core[Any]) -> None:
    """Give memory back when most objects have gone: build the same state beside, in fewer slots, and swap it in."""
    while _sparse(core.generation):
        _rebuild(core)


def _sparse(generation: Generation[Any]) -> bool:
    held, capacity = len(generation.slots), generation.slots.capacity
    if generation.schema.hidden:  # these indexes are not complete yet, and must not be taken for it
        return False
    return (not held and capacity > 0) or (capacity > _SMALL and held * _SPARSE < capacity)


def _rebuild(core: Core[T]) -> None:
    """Try once; does nothing when another generation is swapped in meanwhile."""
    journal: set[int] = set()
    try:
        with core.lock:
            core.settle()
            before = core.generation
            slot_of, keys = before.slots.slot_of.copy(), before.slots.keys.copy()
            objects, columns_of = before.slots.objects.copy(), before.reader()
            core.journals.append(journal)
        slots = list(slot_of.values())
        fresh = Generation.build(
            before.schema, list(slot_of), cast("list[T]", [objects[slot] for slot in slots]), columns_of(slots)
        )
        with core.lock:
            core.settle()
            if core.generation is before:
                touched = {keys[slot] for slot in journal if slot < len(keys)}
                touched.update(before.slots.keys[slot] for slot in journal)
                catch_up(fresh, before, touched)
                fresh.revision, fresh.resource_versions = before.revision, before.resource_versions
                core.generation = fresh
    finally:
        core.forget(journal)


def catch_up(fresh: Generation[T], current: Generation[T], keys: Iterable[ObjectKey | None]) -> None:
    """Let *fresh*, which nobody else sees yet, hold under *keys* what *current* holds. The caller holds the lock."""
    for key in keys:
        if key is None:
            continue
        slot, source = fresh.slots.slot_of.get(key), current.slots.slot_of.get(key)
        if source is not None:
            slot = fresh.slots.unused(1)[0] if slot is None else slot
            changes = list(enumerate(current.filings(source)))
            fresh.apply([Entry(slot, key, current.slots.objects[source], changes)])
        elif slot is not None:
            fresh.apply([Entry(slot, key, None, fresh.cleared(slot))])
