"""Core: the state of a store, the one lock, and what may happen inside it.

The lock is a leaf and is held for set algebra, for copying references and for commits; user code never runs under it.
Python itself may run code anywhere, though: the collector calls finalizers, and a signal handler comes between any two
instructions of the main thread. Hence the rules:

* The lock is re-entrant, so such code does not hang.
* Inside the lock nobody may write, and nobody may read while a commit is being applied: ``InCommitError``. A read
  inside a read is fine.
* A commit is a list of entries that say what shall be. It is kept in ``pending`` until the last one is applied. If
  KeyboardInterrupt or MemoryError cut it short, whoever next enters the lock applies it again from the start.
* Replaced objects stay referenced (by the deltas) until the lock is free: their ``__del__`` is user code.

A commit also tells followers what it changed, under the lock and as a part of it, so that none is lost or told twice
when it is cut short; whoever committed wakes them when the lock is free. Likewise snapshots remember what a slot held
before it is first touched.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from weakref import ref

import msgspec

from kindex.answers import REMEMBERED
from kindex.errors import InCommitError, ScopeError
from kindex.forks import survive_forks
from kindex.generation import Generation
from kindex.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kindex.budgets import Budget, Drop
    from kindex.feed import Feed, Inbox, Told
    from kindex.generation import Entry
    from kindex.indexers.base import AnyIndexer
    from kindex.keys import ObjectKey
    from kindex.lock_times import LockTimes
    from kindex.queries import Scan
    from kindex.slots import SlotTable
    from kindex.snapshots import Past

T = TypeVar("T")

_VALIDATE = os.environ.get("KINDEX_VALIDATE") == "1"
"""Whether to assert the invariants after each commit, as all tests do."""

_VALIDATED = 1_000
"""Up to this many slots; a check of all is O(slots), and larger stores are checked by the tests that make them."""


class Commit(msgspec.Struct, frozen=True, gc=False):
    """What is to be done in one step, on the generation that it was prepared for."""

    generation: Generation[Any]  # Any: of any object type
    entries: Sequence[Entry]
    revision: int
    resource_versions: Mapping[str | None, str] | None
    told: Sequence[Told[Any]]
    pasts: list[ref[Past[Any]]]  # of the core, and no copy: a finalizer may have taken a snapshot a moment ago

    def apply(self) -> None:
        """Do it; may be done again."""
        for each in tuple(self.pasts):
            past = each()
            if past is not None:
                past.remember(self.generation, self.entries)
        self.generation.apply(self.entries)
        if self.resource_versions is not None:
            self.generation.resource_versions.update(self.resource_versions)
        self.generation.revision = self.revision
        for inbox, changes in self.told:
            inbox.note(changes, self.revision)

    def replaced(self) -> list[object]:
        """Give the objects that it takes away, as far as they are still there."""
        objects = self.generation.slots.objects
        return [objects[entry.slot] for entry in self.entries if entry.slot < len(objects)]


class Swap(msgspec.Struct, frozen=True, gc=False):
    """Another generation in place of the present one, in one step."""

    core: Core[Any]  # Any: of any object type
    fresh: Generation[Any]
    before: SlotTable[Any]
    after: tuple[list[ObjectKey | None], list[Any]]  # keys and objects, where a follower wants each commit; else empty
    told: Sequence[Inbox[Any]]

    def apply(self) -> None:
        """Do it; may be done again."""
        for inbox in self.told:
            inbox.fall_behind(self.before, self.after, self.fresh.revision)
        self.core.generation = self.fresh

    def replaced(self) -> list[object]:
        """Give what it takes away."""
        return [self.before]


class Core(Generic[T]):
    """What a store, its views and its transactions share.

    Invariants, true whenever the lock is free and no exception cut a commit short:

    * ``pending`` is None;
    * the generation's own invariants hold;
    * ``generation.revision`` has grown by one per commit, and by nothing else.

    Attributes:
        lock: guards all else.
        lock_times: how long queries and writes waited for it and held it; None while nobody measures that.
        generation: the present state; read it under the lock, and leave it before the lock is free.
        pending: the commit that is being applied.
        journals: each collects the slots that commits touch, for whoever is building beside.
        pasts: weak references to the states that snapshots hold; a list, as ``watchers``.
        feed: whom commits tell; None until somebody follows.
        scans: how many queries scanned.
        ignored: how many events changed nothing, by the reason.
        on_budget: what to do when an index breaks its budget: a function to call after the drop, or ``"raise"``.
        drops: how many indexes were dropped, in all.
        writes_since_drop: commits since an index was dropped, or was last considered to be built again.
        watchers: weak references to those who are told of each query; a list, so that one who goes is taken out in one
            step, without the lock.
    """

    __slots__ = (
        "__weakref__",
        "drops",
        "feed",
        "generation",
        "ignored",
        "journals",
        "key_of",
        "lock",
        "lock_times",
        "name",
        "on_budget",
        "pasts",
        "pending",
        "scan",
        "scans",
        "scope",
        "watchers",
        "writes_since_drop",
    )

    def __init__(
        self,
        *,
        name: str,
        indexers: Iterable[AnyIndexer[T]],
        key_of: Callable[[T], ObjectKey],
        scope: str | None,
        scan: Scan,
        budget: Budget | None = None,
        remember_bytes: int = REMEMBERED,
        on_budget: Literal["raise"] | Callable[[Drop], object] | None = None,
    ) -> None:
        self.name = name
        self.key_of = key_of
        self.scope = scope
        self.scan: Scan = scan
        self.lock = threading.RLock()
        self.lock_times: LockTimes | None = None
        schema = Schema(indexers, budget=budget, remember_bytes=remember_bytes, store=name)
        self.generation: Generation[T] = _empty(schema)
        self.on_budget = on_budget
        self.drops = 0
        self.writes_since_drop = 0
        self.pending: Commit | Swap | None = None
        self.journals: list[set[int]] = []
        self.pasts: list[ref[Past[T]]] = []
        self.feed: Feed[T] | None = None
        self.scans = 0
        self.ignored: dict[str, int] = {}
        self.watchers: list[ref[Any]] = []  # Any: a Watcher, of the room above
        survive_forks(self)

    @property
    def settles(self) -> None:
        """Terms are asked as they are: the smallest value is an index's to know."""
        return

    def count_ignored(self, reason: str) -> None:
        """Count an event that changed nothing."""
        with self.lock:
            self.ignored[reason] = self.ignored.get(reason, 0) + 1

    def count_scan(self) -> None:
        """Count a query that scanned."""
        with self.lock:
            self.scans += 1

    def check_may_read(self) -> None:
        """Refuse to read inside a commit of this very thread.

        Raises:
            InCommitError: this thread is applying a commit: a finalizer or a signal handler is asking.
        """
        # ``_is_owned`` is what threading.Condition uses; asked only when a commit is under way or was cut short.
        if self.pending is None:
            return
        if self.lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001
            raise InCommitError(
                f"store {self.name!r} is in the middle of a commit of this thread; code that Python runs at any time"
                " (finalizers, signal handlers) cannot read it there: note what to do, and do it later"
            )
        self.finish()

    def check_may_write(self) -> None:
        """Refuse to write inside the lock.

        Raises:
            InCommitError: this thread is inside the lock: a finalizer or a signal handler is asking.
        """
        if self.lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001 - as above
            raise InCommitError(
                f"store {self.name!r} is being read or written by this thread; code that Python runs at any time"
                " (finalizers, signal handlers) cannot write to it there: note what to do, and do it later"
            )
        if self.pending is not None:
            self.finish()

    def check_scope(self, key: ObjectKey) -> None:
        """Refuse a key that cannot be there, by the scope that was declared.

        Raises:
            ScopeError: it has a namespace where objects have none, or the other way round.
        """
        if self.scope is not None and (self.scope == "namespaced") is not bool(key.namespace):
            has = f"namespace {key.namespace!r}" if key.namespace else "no namespace"
            raise ScopeError(f"{key} has {has}, but store {self.name!r} is declared scope={self.scope!r}")

    def finish(self) -> None:
        """Settle, and let replaced objects go when the lock is free: their ``__del__`` is user code."""
        replaced: list[object] = []  # lives until the end of the call
        with self.lock:
            if self.pending is not None:
                replaced += [self.pending, *self.pending.replaced()]  # what it tells followers holds objects, too
            self.settle()
        self.ring()

    def ring(self) -> None:
        """Wake those whom commits have told something. The caller does not hold the lock."""
        feed = self.feed  # once: another thread may close the last follower at any time
        if feed is not None:
            feed.ring(self)

    def forget(self, journal: set[int]) -> None:
        """Collect no more into *journal*; told from others by identity, since two may be equal."""
        with self.lock:
            self.journals = [each for each in self.journals if each is not journal]

    def settle(self) -> None:
        """Finish a commit that an exception cut short. The caller holds the lock."""
        if self.pending is not None:
            self.pending.apply()
            self.pending = None

    def commit(
        self,
        entries: Sequence[Entry],
        resource_versions: Mapping[str | None, str] | None = None,
        *,
        renewed: Collection[ObjectKey] = (),
        final_states_known: bool = True,
    ) -> int:
        """Apply *entries* as one revision, and give it. The caller holds the lock, has settled, and rings after it.

        For followers: *renewed* are the keys under which another object is put, by its UID, and what goes has its last
        state known or not.
        """
        generation = self.generation
        revision = generation.revision + 1
        for journal in self.journals:
            journal.update([entry.slot for entry in entries])
        told = () if self.feed is None else self.feed.told(generation, entries, revision, renewed, final_states_known)
        commit = Commit(generation, entries, revision, resource_versions, told, self.pasts)
        self.pending = commit
        commit.apply()
        self.pending = None
        if _VALIDATE and generation.slots.capacity <= _VALIDATED:
            generation._check()  # noqa: SLF001 - its own checker
        return revision

    def swap(self, fresh: Generation[T]) -> None:
        """Put another state in place of the present one. The caller holds the lock, has settled, and rings after it."""
        told = () if self.feed is None else self.feed.all()
        each = any(inbox.queue is not None for inbox in told)
        after = (fresh.slots.keys.copy(), fresh.slots.objects.copy()) if each else ([], [])
        swap = Swap(self, fresh, self.generation.slots, after, told)
        self.pending = swap
        swap.apply()
        self.pending = None

    def _check(self) -> None:
        """Assert the invariants."""
        with self.lock:
            self.settle()
            self.generation._check()  # noqa: SLF001 - its own checker
            for each in tuple(self.pasts):
                past = each()
                if past is not None:
                    past._check()  # noqa: SLF001 - its own checker


def _empty(schema: Schema[T]) -> Generation[T]:
    return Generation.build(schema, (), (), schema.columns((), ()))
