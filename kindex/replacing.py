"""Replace: make the store equal to a list, by a diff or by a fresh generation, in one commit.

The list is compared with the store without the lock, while a journal collects what commits touch meanwhile. Under the
lock only that is left to look at; while there is any, it is compared too, and the lock is tried again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import attrs

from kindex.beside import catch_up, readmit_in_time, tidy
from kindex.deltas import Added
from kindex.errors import QueryError, ScopeError
from kindex.generation import Generation
from kindex.limits import breaches, drop, foreseen
from kindex.objects import resource_version_of, uid_of
from kindex.writes import checked_key, deltas_of, entries_for, uid_changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kindex.core import Core
    from kindex.deltas import Delta
    from kindex.keys import ObjectKey
    from kindex.limits import Breach
    from kindex.schema import Filings, Schema

T = TypeVar("T")


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
            raise ScopeError(f"replace(namespace={namespace!r}) was given {key}; nothing was changed")
        wanted[key] = obj  # the last one of a key wins, as in a map
    replacement = _Replacement(core, wanted, namespace)
    versions = None if resource_version is None else {namespace: resource_version}
    while True:
        deltas = replacement.attempt(versions)
        if deltas is not None:
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
        self._columns: list[list[Any]] | None = None

    def attempt(self, versions: dict[str | None, str] | None) -> tuple[Delta[T], ...] | None:
        """Do it, and give the deltas; None when the store has another generation by then."""
        core = self._core
        journal: set[int] = set()
        try:
            with core.lock:
                core.settle()
                before = core.generation
                keys, objects = before.slots.keys.copy(), before.slots.objects.copy()
                columns_of = None if self._namespace is None else before.reader()
                core.journals.append(journal)
            if self._schema is not before.schema:
                self._schema, self._filings, self._columns = before.schema, {}, None
            slot_of = {key: slot for slot, key in enumerate(keys) if key is not None}
            changes = _Changes(
                {key: cast("T", objects[slot]) for key, slot in slot_of.items() if self._concerns(key)}, self._wanted
            )
            fresh: Generation[T] | None = None
            broken: Sequence[Breach] = ()
            if changes.big(len(slot_of)) and not before.schema.hidden:
                rest: _Rest[T] = _Rest([], [], before.schema.columns((), ()))
                if columns_of is not None:
                    others = {key: slot for key, slot in slot_of.items() if not self._concerns(key)}
                    slots = list(others.values())
                    rest = _Rest(list(others), cast("list[T]", [objects[slot] for slot in slots]), columns_of(slots))
                columns = self._columns_with(before.schema, rest)
                broken = foreseen(before.schema, columns)
                if not broken:
                    fresh = self._built(before.schema, rest, columns)
                    broken = breaches(fresh.schema, fresh.indexes)
                if broken:
                    drop(core, broken)
                    return None
            while True:
                if fresh is None:
                    self._file(changes.puts)
                with core.lock:
                    core.settle()
                    if core.generation is not before:
                        return None
                    touched = {keys[slot] for slot in journal if slot < len(keys)}
                    touched.update([before.slots.keys[slot] for slot in journal])
                    touched.discard(None)
                    mine = {key: before.slots.get(key) for key in touched if key is not None and self._concerns(key)}
                    if changes.foresaw(mine):
                        broken = self._commit(before, changes, fresh, touched - mine.keys(), versions)
                        break
                for key, obj in mine.items():
                    changes.look_at(key, obj)
            if broken:
                drop(core, broken)
                return None
            return tuple(changes.deltas())
        finally:
            core.forget(journal)

    def _concerns(self, key: ObjectKey) -> bool:
        return self._namespace is None or key.namespace == self._namespace

    def _file(self, puts: dict[ObjectKey, T]) -> None:
        """Compute filings, once for each object."""
        assert self._schema is not None
        for key, obj in puts.items():
            if key not in self._filings:
                self._filings[key] = self._schema.filings(key, obj)

    def _columns_with(self, schema: Schema[T], rest: _Rest[T]) -> list[list[Any]]:
        """Compute the filings of what is wanted, and add those of the *rest*."""
        if self._columns is None:
            self._columns = schema.columns(list(self._wanted), list(self._wanted.values()))
        return [mine + other for mine, other in zip(self._columns, rest.columns, strict=True)]

    def _built(self, schema: Schema[T], rest: _Rest[T], columns: list[list[Any]]) -> Generation[T]:
        """Build a generation of what is wanted and of the *rest*."""
        keys, objects = list(self._wanted), list(self._wanted.values())
        return Generation.build(schema, keys + rest.keys, objects + rest.objects, columns)

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
            fresh.revision = before.revision + 1
            fresh.resource_versions = {**before.resource_versions, **(versions or {})}
            core.generation = fresh
        elif changes.puts or changes.gone:
            writes: dict[ObjectKey, T | None] = {**changes.puts, **dict.fromkeys(changes.gone)}
            filings = {key: self._filings[key] for key in changes.puts}
            entries = entries_for(before, writes, filings)
            broken = breaches(before.schema, before.indexes, entries)
            if broken:
                return broken
            core.commit(entries, versions)
        elif versions is not None:
            before.resource_versions.update(versions)
        return ()


@attrs.frozen
class _Rest(Generic[T]):
    """What a replace of one namespace leaves as it is, with its filings, index by index."""

    keys: list[ObjectKey]
    objects: list[T]
    columns: list[list[Any]]


class _Changes(Generic[T]):
    """How what is wanted differs from what is present."""

    def __init__(self, present: dict[ObjectKey, T], wanted: dict[ObjectKey, T]) -> None:
        self._present = present
        self._wanted = wanted
        self.gone = dict.fromkeys(key for key in present if key not in wanted)
        self.puts = (
            {key: obj for key, obj in wanted.items() if not _same(present.get(key), obj)} if present else dict(wanted)
        )
        self._renewed = {key for key in present if key in self.puts and uid_changed(present[key], self.puts[key])}

    def big(self, held: int) -> bool:
        """Tell whether more than half of all keys are new or gone, of a store that holds *held*."""
        added = len(self.puts.keys() - self._present.keys())
        return 2 * (added + len(self.gone)) > held + added

    def foresaw(self, now: dict[ObjectKey, T | None]) -> bool:
        """Tell whether these keys hold what was compared. The caller holds the lock."""
        return all(self._present.get(key) is obj for key, obj in now.items())

    def look_at(self, key: ObjectKey, now: T | None) -> None:
        """Compare one key again, which holds *now* by now."""
        for found in (self.gone, self.puts):
            found.pop(key, None)
        self._renewed.discard(key)
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
                self._renewed.add(key)

    def deltas(self) -> Iterator[Delta[T]]:
        """Say what happened, deletions last; a relist does not know the last state of what is gone."""
        for key, obj in self.puts.items():
            old = self._present.get(key)
            if old is None:
                yield Added(key, obj)
            else:
                yield from deltas_of(key, old, obj, renewed=key in self._renewed, final_state_known=False)
        for key in self.gone:
            yield from deltas_of(key, self._present[key], None, renewed=False, final_state_known=False)


def _same(old: object, new: object) -> bool:
    """Tell whether a relisted object is the stored one: by UID and resource version, or by value where it has none."""
    if old is None or old is new:
        return old is new
    uid, version = uid_of(new), resource_version_of(new)
    if uid and version:
        return uid == uid_of(old) and version == resource_version_of(old)
    return bool(old == new)
