"""Replace: make the store equal to a list, by a diff or by a fresh generation, in one commit.

The list is compared with the store without the lock, while a journal collects what commits touch meanwhile. Under the
lock only that is left to look at; while there is any, it is compared too, and the lock is tried again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from kindex.beside import catch_up, readmit_in_time, tidy
from kindex.deltas import Added, deltas_of
from kindex.errors import QueryError, ScopeError
from kindex.generation import Entry, Generation, admit
from kindex.limits import breaches, drop, foreseen
from kindex.objects import resource_version_of, uid_changed, uid_of
from kindex.writes import checked_key, entries_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from kindex.core import Core
    from kindex.deltas import Delta
    from kindex.keys import ObjectKey
    from kindex.limits import Breach
    from kindex.schema import Filings, Schema

T = TypeVar("T")

_MANY = 5_000
"""To change more objects in place would hold the lock for more than some 50 ms."""


def replace(
    core: Core[T], objects: Iterable[T], resource_version: str | None, namespace: str | None
) -> tuple[Delta[T], ...]:
    """Make the store, or its part in *namespace*, equal to *objects*."""
    core.check_may_write()
    if namespace is not None and (not isinstance(namespace, str) or not namespace):
        raise QueryError(f"namespace={namespace!r} is no namespace; to replace everything, leave it out")
    wanted: dict[ObjectKey, T] = {}
    for obj in objects:
        key = checked_key(core, obj)
        if namespace is not None and key.namespace != namespace:
            raise ScopeError(
                f"replace(namespace={namespace!r}) of store {core.name!r} was given {key}; nothing was changed"
            )
        wanted[key] = obj  # the last one of a key wins, as in a map
    replacement = _Replacement(core, wanted, namespace)
    versions = None if resource_version is None else {namespace: resource_version}
    while True:
        deltas = replacement.attempt(versions)
        if deltas is not None:
            core.ring()
            tidy(core)
            readmit_in_time(core)
            return deltas


class _Replacement(Generic[T]):
    """One call of ``replace``; ``attempt`` is made until no other change of generation comes in between."""

    def __init__(self, core: Core[T], wanted: dict[ObjectKey, T], namespace: str | None) -> None:
        self._core = core
        self._wanted = wanted
        self._namespace = namespace
        self._schema: Schema[T] | None = None
        self._filings: dict[ObjectKey, Filings] = {}
        self._columns: tuple[Collection[ObjectKey], list[list[Any]]] | None = None
        self._revision = 0

    def attempt(self, versions: dict[str | None, str] | None) -> tuple[Delta[T], ...] | None:
        """Do it, and give the deltas; None when the store has another generation by then."""
        core = self._core
        journal: set[int] = set()
        try:
            with core.lock:
                core.settle()
                before = core.generation
                keys, objects = before.slots.keys.copy(), before.slots.objects.copy()
                core.journals.append(journal)
            if self._schema is not before.schema:
                self._schema, self._filings, self._columns = before.schema, {}, None
            slot_of = {key: slot for slot, key in enumerate(keys) if key is not None}
            changes = _Changes(
                {key: cast("T", objects[slot]) for key, slot in slot_of.items() if self._concerns(key)}, self._wanted
            )
            fresh: Generation[T] | None = None
            if changes.big(len(slot_of)) and not before.schema.hidden:
                fresh = self._beside(before, changes, slot_of, objects)
                if fresh is None:
                    return None
            broken: Sequence[Breach] = ()
            looked: set[ObjectKey | None] = set()  # at which keys again; one that came and has gone is in no slot
            while True:
                if fresh is None:
                    self._file(changes.puts)
                times = core.lock_times
                asked = 0.0 if times is None else times.clock()
                with core.lock:
                    got = 0.0 if times is None else times.clock()
                    core.settle()
                    if core.generation is not before:
                        return None
                    touched = looked.union([keys[slot] for slot in journal if slot < len(keys)])
                    touched.update([before.slots.keys[slot] for slot in journal])
                    touched.discard(None)
                    mine = {key: before.slots.get(key) for key in touched if key is not None and self._concerns(key)}
                    if changes.foresaw(mine):
                        broken = self._commit(before, changes, fresh, touched - mine.keys(), versions)
                        if times is not None:
                            times.note("write", asked, got)
                        break
                looked.update(mine)
                for key, obj in mine.items():
                    changes.look_at(key, obj)
                self._renew(fresh, changes, mine)
            if broken:
                drop(core, broken)
                return None
            return tuple(changes.deltas(self._revision))
        finally:
            core.forget(journal)

    def _beside(
        self,
        before: Generation[T],
        changes: _Changes[T],
        slot_of: dict[ObjectKey, int],
        objects: list[T | None],
    ) -> Generation[T] | None:
        """Build another generation; None when it would break a budget, whose index is dropped, or comes too late."""
        core = self._core
        stay = {key: slot for key, slot in slot_of.items() if changes.leaves(key)}
        with core.lock:
            core.settle()
            if core.generation is not before:
                return None
            filings_of = before.reader()  # as they are by now: what is touched meanwhile is looked at again
        columns = self._columns_of(before.schema, changes.puts, filings_of(list(stay.values())))
        broken = foreseen(before.schema, columns)
        if not broken:
            kept = cast("list[T]", [objects[slot] for slot in stay.values()])
            keys = [*changes.puts, *stay]
            fresh = Generation.build(before.schema, keys, [*changes.puts.values(), *kept], columns)
            broken = breaches(fresh.schema, fresh.indexes)
            if not broken:
                return fresh
        drop(core, broken)
        return None

    def _concerns(self, key: ObjectKey) -> bool:
        return self._namespace is None or key.namespace == self._namespace

    def _file(self, puts: dict[ObjectKey, T]) -> None:
        """Compute filings, once for each object."""
        assert self._schema is not None
        for key, obj in puts.items():
            if key not in self._filings:
                self._filings[key] = self._schema.filings(key, obj)

    def _columns_of(self, schema: Schema[T], puts: dict[ObjectKey, T], rest: list[list[Any]]) -> list[list[Any]]:
        """Compute the filings of what is put, index by index, and add those of the *rest*."""
        if self._columns is None or self._columns[0] != puts.keys():
            self._columns = puts.keys(), schema.columns(list(puts), list(puts.values()))
        return [mine + other for mine, other in zip(self._columns[1], rest, strict=True)]

    def _renew(self, fresh: Generation[T] | None, changes: _Changes[T], keys: Iterable[ObjectKey]) -> None:
        """Let *fresh* hold what shall be under *keys*, which were compared again."""
        if fresh is None:
            return
        for key in keys:
            if key in self._wanted:
                obj = changes.object_of(key)
                filings = fresh.schema.filings(key, obj)
                admit(fresh.schema, fresh.indexes, [(key, filings)])
                slot = fresh.slots.slot_of[key]
                fresh.apply([Entry(slot, key, obj, fresh.changes(slot, filings))])

    def _commit(
        self,
        before: Generation[T],
        changes: _Changes[T],
        fresh: Generation[T] | None,
        others: Iterable[ObjectKey | None],
        versions: dict[str | None, str] | None,
    ) -> Sequence[Breach]:
        """Bring it about, or say which budget it would break.

        The caller holds the lock, and keeps *before* until the lock is free.
        """
        core = self._core
        if fresh is not None and (changes.puts or changes.gone):
            catch_up(fresh, before, others)
            fresh.revision = self._revision = before.revision + 1
            fresh.resource_versions = {**before.resource_versions, **(versions or {})}
            core.swap(fresh)
        elif changes.puts or changes.gone:
            writes: dict[ObjectKey, T | None] = {**changes.puts, **dict.fromkeys(changes.gone)}
            filings = {key: self._filings[key] for key in changes.puts}
            entries = entries_for(before, writes, filings)
            broken = breaches(before.schema, before.indexes, entries)
            if broken:
                return broken
            self._revision = core.commit(entries, versions, renewed=changes.renewed, final_states_known=False)
        elif versions is not None:
            before.resource_versions.update(versions)
        return ()


class _Changes(Generic[T]):
    """How what is wanted differs from what is present."""

    def __init__(self, present: dict[ObjectKey, T], wanted: dict[ObjectKey, T]) -> None:
        self._present = present
        self._wanted = wanted
        self.gone = dict.fromkeys(key for key in present if key not in wanted)
        self.puts = (
            {key: obj for key, obj in wanted.items() if not _same(present.get(key), obj)} if present else dict(wanted)
        )
        self.renewed = {key for key in present if key in self.puts and uid_changed(present[key], self.puts[key])}

    def big(self, held: int) -> bool:
        """Tell whether many keys are new, changed or gone, of a store that holds *held*: more than half, or thousands.

        Then it is built beside: to change them in place would hold the lock for as long as that takes.
        """
        added, touched = len(self.puts.keys() - self._present.keys()), len(self.puts) + len(self.gone)
        return 2 * touched > held + added or touched > _MANY

    def leaves(self, key: ObjectKey) -> bool:
        """Tell whether what is there under *key* stays."""
        return key not in self.puts and key not in self.gone

    def object_of(self, key: ObjectKey) -> T:
        """Give what shall be under *key*, which is wanted: what is there, if it is the same."""
        return self._wanted[key] if key in self.puts else self._present[key]

    def foresaw(self, now: dict[ObjectKey, T | None]) -> bool:
        """Tell whether these keys hold what was compared. The caller holds the lock."""
        return all(self._present.get(key) is obj for key, obj in now.items())

    def look_at(self, key: ObjectKey, now: T | None) -> None:
        """Compare one key again, which holds *now* by now."""
        for found in (self.gone, self.puts):
            found.pop(key, None)
        self.renewed.discard(key)
        if now is None:
            self._present.pop(key, None)
        else:
            self._present[key] = now
        if key not in self._wanted:
            if now is not None:
                self.gone[key] = None
        elif not _same(now, self._wanted[key]):
            self.puts[key] = self._wanted[key]
            if uid_changed(now, self._wanted[key]):
                self.renewed.add(key)

    def deltas(self, revision: int) -> Iterator[Delta[T]]:
        """Say what happened, deletions last; a relist does not know the last state of what is gone."""
        for key, obj in self.puts.items():
            old = self._present.get(key)
            if old is None:
                yield Added(key, obj, revision)
            else:
                yield from deltas_of(key, old, obj, revision, renewed=key in self.renewed, final_state_known=False)
        for key in self.gone:
            yield from deltas_of(key, self._present[key], None, revision, renewed=False, final_state_known=False)


def _same(old: object, new: object) -> bool:
    """Tell whether a relisted object is the stored one: by UID and resource version, or by value where it has none."""
    if old is None or old is new:
        return old is new
    uid, version = uid_of(new), resource_version_of(new)
    if uid and version:
        return uid == uid_of(old) and version == resource_version_of(old)
    return bool(old == new)
