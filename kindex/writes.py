"""Writes: what a put, a delete or a batch of them becomes: entries for one commit, and deltas.

User code (key and index functions, reading a UID, ``==``) runs first, without the lock, on the state as it was seen.
Under the lock that state is compared again by identity; if anything that mattered has changed, the write starts over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from kindex.beside import readmit_in_time, tidy
from kindex.deltas import Deleted, deltas_of
from kindex.errors import InvalidObjectError
from kindex.generation import Entry, Generation, admit
from kindex.keys import ObjectKey
from kindex.limits import breaches, drop
from kindex.objects import uid_changed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kindex.core import Core
    from kindex.deltas import Delta
    from kindex.schema import Filings, Schema

T = TypeVar("T")


def put(
    core: Core[T],
    obj: T,
    refuses: Callable[[T | None], bool] | None = None,
    versions: Mapping[str | None, str] | None = None,
) -> tuple[Delta[T], ...]:
    """File one object; ``write`` for one, and the hot path.

    Args:
        core: the store.
        obj: the object.
        refuses: asked of what is there now, without the lock: True ends it, and nothing is committed.
        versions: the resource versions that the commit sets.
    """
    core.check_may_write()
    key = checked_key(core, obj)
    schema: Schema[T] | None = None
    filings: Filings = []
    while True:
        seen = core.generation
        revision, slots = seen.revision, seen.slots
        slot = slots.slot_of.get(key)
        old = None if slot is None else slots.objects[slot]
        if refuses is not None and refuses(old):
            return ()
        if seen.schema is not schema:
            schema = seen.schema
            filings = schema.filings(key, obj)
        renewed = old is not None and uid_changed(old, obj)
        times = core.lock_times
        asked = 0.0 if times is None else times.clock()
        with core.lock:
            got = 0.0 if times is None else times.clock()
            core.settle()
            if core.generation is not seen:
                continue
            if seen.revision != revision:
                slot = slots.slot_of.get(key)  # the same object may be in another slot by now
                if (None if slot is None else slots.objects[slot]) is not old:
                    continue
            admit(seen.schema, seen.indexes, [(key, filings)])
            if slot is None:
                entry = Entry(slots.unused(1)[0], key, obj, seen.first_changes(filings))
            else:
                entry = Entry(slot, key, obj, seen.changes(slot, filings))
            broken = breaches(seen.schema, seen.indexes, (entry,)) if seen.schema.limits else ()
            revision = 0 if broken else core.commit((entry,), versions, renewed=(key,) if renewed else ())
            if times is not None:
                times.note("write", asked, got)
        if broken:
            drop(core, broken)
            continue
        if core.feed is not None:
            core.ring()
        if seen.schema.dropped:
            readmit_in_time(core)
        return deltas_of(key, old, obj, revision, renewed=renewed)


def delete(
    core: Core[T],
    key: ObjectKey,
    refuses: Callable[[T | None], bool] | None = None,
    versions: Mapping[str | None, str] | None = None,
) -> Deleted[T] | None:
    """Remove one object; None, and no commit, when it is not there. *refuses* and *versions* as for ``put``."""
    for delta in write(core, {key: None}, {}, None, refuses, versions):
        assert isinstance(delta, Deleted)
        return delta
    return None


def write(
    core: Core[T],
    writes: Mapping[ObjectKey, T | None],
    filings: Mapping[ObjectKey, Filings],
    schema: Schema[T] | None,
    refuses: Callable[[T | None], bool] | None = None,
    versions: Mapping[str | None, str] | None = None,
) -> tuple[Delta[T], ...]:
    """Do many writes in one commit, each key once: an object is put, None deletes.

    Args:
        core: the store.
        writes: the last word on each key, in the order of the deltas.
        filings: of the objects, as *schema* files them; computed anew if the store has another schema by now.
        schema: what *filings* were computed for; None for none.
        refuses: asked of what is there under each key, as ``put`` does.
        versions: the resource versions that the commit sets.
    """
    core.check_may_write()
    while True:
        seen = core.generation
        if schema is None or seen.schema is not schema:
            schema = seen.schema
            filings = {key: schema.filings(key, obj) for key, obj in writes.items() if obj is not None}
        olds = {key: seen.slots.get(key) for key in writes}
        if refuses is not None and any(map(refuses, olds.values())):
            return ()
        renewed = {key for key, obj in writes.items() if obj is not None and uid_changed(olds[key], obj)}
        times = core.lock_times
        asked = 0.0 if times is None else times.clock()
        with core.lock:
            got = 0.0 if times is None else times.clock()
            core.settle()
            generation = core.generation
            slots = generation.slots
            if generation.schema is not schema or any(slots.get(key) is not old for key, old in olds.items()):
                continue
            entries = entries_for(generation, writes, filings)
            if not entries:
                return ()
            broken = breaches(schema, generation.indexes, entries)
            revision = 0 if broken else core.commit(entries, versions, renewed=renewed)
            if times is not None:
                times.note("write", asked, got)
        if broken:
            drop(core, broken)
            continue
        core.ring()
        tidy(core)
        readmit_in_time(core)
        deltas: list[Delta[T]] = []
        for key, obj in writes.items():
            deltas += deltas_of(key, olds[key], obj, revision, renewed=key in renewed)
        return tuple(deltas)


def entries_for(
    generation: Generation[T], writes: Mapping[ObjectKey, T | None], filings: Mapping[ObjectKey, Filings]
) -> list[Entry]:
    """Make the entries of a commit; deleting what is not there makes none. The caller holds the lock.

    Slots that are freed here are not used again here: each slot has one entry, so the commit can be applied again.
    """
    admit(generation.schema, generation.indexes, filings.items())
    slots = generation.slots
    new = iter(slots.unused(sum(obj is not None and key not in slots.slot_of for key, obj in writes.items())))
    entries = []
    for key, obj in writes.items():
        slot = slots.slot_of.get(key)
        if obj is None:
            if slot is not None:
                entries.append(Entry(slot, key, None, generation.cleared(slot)))
        elif slot is None:
            entries.append(Entry(next(new), key, obj, generation.first_changes(filings[key])))
        else:
            entries.append(Entry(slot, key, obj, generation.changes(slot, filings[key])))
    return entries


def checked_key(core: Core[T], obj: T) -> ObjectKey:
    """Give the key of an object that is to be stored.

    Raises:
        InvalidObjectError: it is None, or has no usable key.
        ScopeError: it has a namespace where objects have none, or the other way round.
    """
    if obj is None:
        raise InvalidObjectError(f"None cannot be stored in {core.name!r}; to remove an object, delete its key")
    try:
        key: ObjectKey = core.key_of(obj)
    except InvalidObjectError as error:
        raise InvalidObjectError(f"{error} (store {core.name!r})") from error
    # Checked, since a key function may be anybody's.
    if type(key) is not ObjectKey or type(key[0]) is not str or type(key[1]) is not str or not key[1]:
        key = _plain_key(core, key)
    if core.scope is not None:
        core.check_scope(key)
    return key


def key_meant(core: Core[T], what: ObjectKey | T) -> ObjectKey:
    """Give the key that is to be deleted: *what* itself, or the key of this object.

    Raises:
        InvalidObjectError, ScopeError: as ``checked_key``.
    """
    if not isinstance(what, ObjectKey):
        return checked_key(core, what)
    core.check_scope(what)
    return what


def _plain_key(core: Core[Any], key: object) -> ObjectKey:
    """Make text of its subclasses, whose hash and ``==`` would be user code under the lock; refuse anything else."""
    if isinstance(key, ObjectKey) and isinstance(key.namespace, str) and isinstance(key.name, str) and key.name:
        return ObjectKey(str.__str__(key.namespace), str.__str__(key.name))
    raise InvalidObjectError(
        f"the key function of store {core.name!r} gave {key!r}, not an ObjectKey of two texts, the name not empty"
    )
