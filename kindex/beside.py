"""Building beside: new indexes for a filled store, and a smaller table for one that has emptied.

Both take long, and so are built without the lock, while a journal collects the slots that commits touch meanwhile.
At the end the lock is held for those slots only, and the result is swapped in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

from kindex.generation import Entry, Generation
from kindex.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kindex.core import Core
    from kindex.indexers.base import AnyIndexer
    from kindex.indexes import Index
    from kindex.keys import ObjectKey
    from kindex.schema import Identity

T = TypeVar("T")

_SPARSE = 4
"""A store is rebuilt when it has room for more than this many times what it holds."""

_SMALL = 64
"""A store of up to this capacity is never rebuilt, unless it is empty."""


def add_indexers(core: Core[T], indexers: Sequence[AnyIndexer[T]]) -> None:
    """Add *indexers* to a store that may hold objects, and be written to meanwhile.

    Empty indexes join first, hidden from queries; from then on writes file into them. Complete ones are built beside,
    from the objects of that moment. Then what writes filed meanwhile is copied over, and they become visible.
    """
    late = Schema(indexers)
    while not _added(core, late):
        pass


def _added(core: Core[T], late: Schema[T]) -> bool:
    """Try once; False when somebody else added or removed one of the same indexes meanwhile."""
    with core.lock:
        core.settle()
        schema = core.generation.schema.plus(late.indexers)
        wanted = [identity for identity in late.order if identity in schema.hidden]
        if schema.indexers != core.generation.schema.indexers:
            core.generation = core.generation.under(schema)
        if not wanted:
            return True
        start = core.generation
        keys, objects = start.slots.keys.copy(), start.slots.objects.copy()
        journal: set[int] = set()
        core.journals.append(journal)
    try:
        complete = _built(late, keys, objects)
    except BaseException:
        with core.lock:
            core.settle()
            core.journals.remove(journal)
            _withdraw(core, late, wanted)
        raise
    with core.lock:
        core.settle()
        core.journals.remove(journal)
        current = core.generation
        if not current.schema.hidden.issuperset(wanted):
            return current.schema.places.keys() >= set(wanted)
        # After a replace that built another generation, the hidden indexes are complete themselves.
        built = _merged(current, {identity: complete[identity] for identity in wanted}, journal)
        core.generation = current.under(
            current.schema.revealing(wanted), built if current.slots is start.slots else None
        )
    return True


def _built(late: Schema[T], keys: Sequence[ObjectKey | None], objects: Sequence[T | None]) -> dict[Identity, Index]:
    """Build the indexes of *late* over slots 0, 1, 2 ..., some of which are free. Runs index functions."""
    live = [slot for slot, key in enumerate(keys) if key is not None]
    columns = late.columns(
        cast("list[ObjectKey]", [keys[slot] for slot in live]), cast("list[T]", [objects[slot] for slot in live])
    )
    if len(live) < len(keys):
        spread = [[blank] * len(keys) for blank in late.blank()]
        for wide, column in zip(spread, columns, strict=True):
            for slot, filing in zip(live, column, strict=True):
                wide[slot] = filing
        columns = spread
    return dict(zip(late.order, late.build(columns, range(len(keys))), strict=True))


def _merged(current: Generation[Any], complete: dict[Identity, Index], journal: Iterable[int]) -> dict[Identity, Index]:
    """Move what writes filed meanwhile into the *complete* indexes. The caller holds the lock."""
    hidden = dict(zip(current.schema.order, current.indexes, strict=True))
    for identity, index in complete.items():
        index.reserve(current.slots.capacity)
        for slot in journal:
            index.file(slot, cast("Any", hidden[identity].filing(slot)))  # Any: each layout has its own filings
    return complete


def _withdraw(core: Core[T], late: Schema[T], wanted: Iterable[Identity]) -> None:
    """Take back what could not be built, unless somebody else could. The caller holds the lock."""
    schema = core.generation.schema
    failed = schema.hidden.intersection(wanted)
    if failed:
        named = {indexer.name for indexer in late.indexers if failed.intersection(Schema([indexer]).order)}
        kept = Schema((indexer for indexer in schema.indexers if indexer.name not in named), schema.hidden)
        core.generation = core.generation.under(kept)


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
    with core.lock:
        core.settle()
        before = core.generation
        slot_of, keys = before.slots.slot_of.copy(), before.slots.keys.copy()
        objects, columns_of = before.slots.objects.copy(), before.reader()
        core.journals.append(journal)
    try:
        slots = list(slot_of.values())
        fresh = Generation.build(
            before.schema, list(slot_of), cast("list[T]", [objects[slot] for slot in slots]), columns_of(slots)
        )
    except BaseException:
        with core.lock:
            core.journals.remove(journal)
        raise
    with core.lock:
        core.settle()
        core.journals.remove(journal)
        if core.generation is before:
            touched = {keys[slot] for slot in journal if slot < len(keys)}
            touched.update(before.slots.keys[slot] for slot in journal)
            catch_up(fresh, before, touched)
            fresh.revision, fresh.resource_versions = before.revision, before.resource_versions
            core.generation = fresh


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
