"""Snapshots: several queries on one state, while writers go on.

A snapshot copies nothing when it is taken. It shares the present state, and keeps what a slot held before the first
commit that touches it: key, object and filings, its *image*. A query asks the shared state but for the touched slots,
and the images, which are indexed as the store is. So taking one is O(1); a commit pays for the first touch of a slot
only; a snapshot takes memory for what changed since, and none when it is gone.

Where the store swaps in another state altogether (a relist of most objects, a table that has emptied), the old one is
left to the snapshot: nothing touches it any more.
"""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, cast
from weakref import ref

from pyroaring import BitMap

from kindex.errors import InCommitError, SnapshotClosedError
from kindex.generation import Entry, Generation
from kindex.indexers.terms import At, asks_edge, settled
from kindex.operations import Operation
from kindex.postings import normal, size, slots_in, without
from kindex.programs import Narrowing
from kindex.slots import SlotTable
from kindex.values import ordering
from kindex.views import View

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager
    from types import TracebackType

    from kindex.core import Core
    from kindex.indexers.terms import Edge, Term
    from kindex.keys import ObjectKey
    from kindex.lock_times import LockTimes
    from kindex.postings import Posting
    from kindex.programs import Program
    from kindex.queries import Scan
    from kindex.schema import Filings, Schema, Spot
    from kindex.values import Filing, ValueKey

T = TypeVar("T")
R = TypeVar("R")

_AT_ONCE = 64
"""So many images are indexed while the lock is held."""


class Past(Generic[T]):
    """The state that a snapshot sees. All of it is guarded by the lock of the store.

    Invariant: an object of this state is in ``base``, in a slot that is not in ``touched``, or it has one image.

    Attributes:
        base: what is shared with the store, or was left by it.
        touched: slots of ``base`` that commits have touched.
        images: what these slots held: key, object and filings, as far as it is not indexed yet.
        indexing: whether an image is being indexed.
        restored: the images that are indexed, by slots of its own.
        origins: for each slot of ``restored``, the slot of ``base`` that it was.
    """

    __slots__ = (
        "__weakref__",
        "_count",
        "base",
        "images",
        "indexing",
        "namespaced",
        "origins",
        "resource_versions",
        "restored",
        "revision",
        "schema",
        "touched",
    )

    def __init__(self, base: Generation[T]) -> None:
        """See *base* as it is now. The caller holds the lock."""
        self.base = base
        self.schema: Schema[T] = base.schema
        self.revision = base.revision
        self.resource_versions = base.resource_versions.copy()
        self.namespaced = base.namespaced
        self.touched = BitMap()
        self.images: dict[int, tuple[ObjectKey, T, Filings]] = {}
        self.indexing = False
        self.origins = array("I")
        self.restored: Generation[T] | None = None
        self._count = len(base)

    def shows(self, generation: Generation[T]) -> bool:
        """Tell whether it is *generation* as that is now. The caller holds the lock."""
        return (
            self.base is generation
            and self.revision == generation.revision
            and self.resource_versions == generation.resource_versions  # a bookmark makes no revision
        )

    def remember(self, generation: Generation[T], entries: Iterable[Entry]) -> None:
        """Keep what *entries*, which are about to be applied to *generation*, touch for the first time."""
        slots = self.base.slots
        if generation.slots is not slots:
            return  # another state was swapped in: this one stays as it is
        for entry in entries:
            slot = entry.slot
            if slot in self.touched:
                continue
            key = slots.keys[slot] if slot < slots.capacity else None
            if key is not None:
                self.images[slot] = key, cast("T", slots.objects[slot]), self.base.filings(slot)
            self.touched.add(slot)

    def index(self, most: int | None = None) -> None:
        """File *most* images, or all, under what they were filed under. May be done again after an interruption.

        All reading begins with it.
        """
        # An index that the store has removed since knows nothing of slots that came later.
        self.base.reserve(self.base.slots.capacity)
        if not self.images:
            return
        self.indexing = True
        try:
            restored = self._restored()
            for slot in list(islice(self.images, most)):
                key, obj, filings = self.images[slot]
                place = restored.slots.slot_of.get(key)
                if place is None:
                    place = restored.slots.unused(1)[0]
                if place == len(self.origins):
                    self.origins.append(slot)
                restored.apply([Entry(place, key, obj, restored.first_changes(filings))])
                del self.images[slot]
        finally:
            self.indexing = False

    # Reading, as a State

    def __len__(self) -> int:
        return self._count

    @property
    def indexed(self) -> Generation[T]:
        """What estimates are made on."""
        return self.base

    def __contains__(self, key: object) -> bool:
        self.index()
        slot = self.base.slots.slot_of.get(cast("ObjectKey", key))
        if slot is not None and slot not in self.touched:
            return True
        return self.restored is not None and key in self.restored

    def get(self, key: ObjectKey) -> T | None:
        """Give the object under *key*, or None."""
        self.index()
        slot = self.base.slots.slot_of.get(key)
        if slot is not None and slot not in self.touched:
            return self.base.slots.objects[slot]
        return None if self.restored is None else self.restored.get(key)

    def held(self) -> list[T]:
        """Copy references to all objects."""
        self.index()
        if not self.touched:
            return self.base.held()
        objects = self.base.slots.objects.copy()
        for slot in self.touched:
            objects[slot] = None
        for slot, obj in zip(self.origins, self._restored().slots.objects, strict=True):
            objects[slot] = obj
        return [obj for obj in objects if obj is not None]

    def objects_of(self, program: Program) -> list[T]:
        """Copy references to the objects that *program* leaves."""
        self.index()
        if not self.touched:
            return self.base.objects_of(program)
        if program.takes_all:
            return self.held()
        posting = self._untouched(program.narrowed(self.base))
        slots, back = self._in_order(posting, program.narrowed(self._restored()))
        return self._objects(slots, back)

    def found(
        self, program: Program, limit: int | None, spot: Spot | None, trace: list[Narrowing] | None
    ) -> tuple[list[ObjectKey], list[T], list[Filing]]:
        """Give the keys and objects that *program* leaves, at most *limit*, and where they are filed at *spot*."""
        self.index()
        if not self.touched:
            return self.base.found(program, limit, spot, trace)
        posting = self._untouched(program.narrowed(self.base, trace))
        restored = self._restored()
        rest = program.narrowed(restored)
        if trace is not None:
            taken = Operation(f"what did not change since revision {self.revision}", "snapshot", negative=True)
            trace.append(Narrowing(taken, len(self.touched), size(posting)))
            trace.append(Narrowing(_Restoring(self.revision), len(restored), size(posting) + size(rest)))
        slots, back = self._in_order(posting, rest, limit)
        keys = cast("list[ObjectKey]", _read(slots, back, self.base.slots.keys, restored.slots.keys))
        filings: list[Filing] = []
        if spot is not None:
            of_shared, of_restored = self.base.index_at(spot).filing, restored.index_at(spot).filing
            filings = [of_restored(back[slot]) if slot in back else of_shared(slot) for slot in slots]
        return keys, self._objects(slots, back), filings

    def counted(self, program: Program) -> int:
        """Count the objects that *program* leaves."""
        self.index()
        if not self.touched:
            return self.base.counted(program)
        if program.takes_all:
            return self._count
        return size(self._untouched(program.narrowed(self.base))) + self._restored().counted(program)

    def sizes_at(self, spot: Spot) -> list[tuple[ValueKey, int]]:
        """Give the keys of an index with the sizes of their postings."""
        self.index()
        if not self.touched:
            return self.base.sizes_at(spot)
        index = self.base.index_at(spot)
        sizes = Counter({key: count - self._touched_of(index.posting(key)) for key, count in index.sizes()})
        sizes.update(dict(self._restored().sizes_at(spot)))
        return [(key, count) for key, count in sizes.items() if count]

    def skipped(self) -> dict[str, int]:
        """Count, for each index whose function may fail, the objects on which it did. O(slots)."""
        self.index()
        if not self.touched:
            return self.base.skipped()
        restored = self._restored().skipped()
        return {name: count + restored[name] for name, count in self.base.skipped(but=self.touched).items()}

    def edge(self, spot: Spot, *, largest: bool) -> ValueKey | None:
        """Give the smallest or largest value of a sorted index. O(values) where most of them were touched."""
        keys = [key for key, _ in self.sizes_at(spot)]
        return (max if largest else min)(keys, key=ordering, default=None)

    def _restored(self) -> Generation[T]:
        if self.restored is None:
            self.restored = _nothing(self.schema)
        return self.restored

    def _in_order(
        self, posting: Posting | None, rest: Posting | None, limit: int | None = None
    ) -> tuple[list[int], dict[int, int]]:
        """Give the slots of ``base`` that hold an answer, or did, ascending: two queries have one order.

        Args:
            posting: slots that still hold theirs.
            rest: slots of ``restored``; with each slot of ``base`` that one was, it is given beside.
            limit: how many at most.
        """
        origins = self.origins
        back = {origins[place]: place for place in slots_in(rest)}
        return sorted([*islice(slots_in(posting), limit), *back])[:limit], back

    def _objects(self, slots: list[int], back: dict[int, int]) -> list[T]:
        return cast("list[T]", _read(slots, back, self.base.slots.objects, self._restored().slots.objects))

    def _touched_of(self, posting: Posting | None) -> int:
        if isinstance(posting, BitMap):
            return posting.intersection_cardinality(self.touched)
        return int(posting is not None and posting in self.touched)

    def _untouched(self, posting: Posting | None) -> Posting | None:
        return without(normal(posting) if isinstance(posting, BitMap) else posting, self.touched)

    def _check(self) -> None:
        """Assert the invariants."""
        self.index()
        restored = self._restored()
        restored._check()  # noqa: SLF001 - its own checker
        shared = [key for key, slot in self.base.slots.slot_of.items() if slot not in self.touched]
        assert len(shared) + len(restored) == self._count
        assert restored.slots.slot_of.keys().isdisjoint(shared)


def _nothing(schema: Schema[T]) -> Generation[T]:
    """Give an empty state; not built as any other, since that hashes index functions, which may be anybody's."""
    return Generation(schema, SlotTable(), [schema.empty(place) for place in range(len(schema.order))])


def _read(slots: list[int], back: dict[int, int], shared: list[R], restored: list[R]) -> list[R]:
    """Read for each of *slots* what is *shared*, or what is *restored* if it is there."""
    if not back:
        return list(map(shared.__getitem__, slots))
    return [restored[back[slot]] if slot in back else shared[slot] for slot in slots]


class _Restoring(Operation):
    """The step of a plan that brings back what was there."""

    __slots__ = ()

    def __init__(self, revision: int) -> None:
        super().__init__(f"what these were at revision {revision}", "snapshot")

    @property
    def kind(self) -> str:
        return "add"


class Moment(Generic[T]):
    """What a snapshot's view reads: the past of a store, under the store's lock."""

    __slots__ = ("_core", "_past", "name", "scan", "scope")

    def __init__(self, core: Core[T], past: Past[T]) -> None:
        self._core = core
        self._past: Past[T] | None = past
        self.name = core.name
        self.scan: Scan = core.scan
        self.scope = core.scope

    @property
    def generation(self) -> Past[T]:
        """The past.

        Raises:
            SnapshotClosedError: it was closed.
        """
        if self._past is None:
            raise SnapshotClosedError(self.name)
        return self._past

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """The lock of the store; another one in a forked child."""
        return self._core.lock

    @property
    def pending(self) -> object:
        """What is being applied to the store."""
        return self._core.pending

    @property
    def watchers(self) -> list[ref[Any]]:
        """Who is told of each query of the store."""
        return self._core.watchers

    @property
    def lock_times(self) -> LockTimes | None:
        """How long the lock of the store was waited for and held."""
        return self._core.lock_times

    @property
    def closed(self) -> bool:
        """Whether the past was let go of."""
        return self._past is None

    def close(self) -> None:
        """Let the past go."""
        # Not in the middle of a commit: it would be the last to hold the past, and let objects go under the lock.
        with self._core.lock:
            past, self._past = self._past, None
        del past

    def check_may_read(self) -> None:
        """Refuse to read inside a commit; else index most of what is to be, in steps, so that writers pass in between.

        Raises:
            InCommitError: as the store; or this thread is indexing what this snapshot is to keep.
            SnapshotClosedError: it was closed.
        """
        self._core.check_may_read()
        past = self.generation
        if past.indexing and self._core.lock._is_owned():  # type: ignore[attr-defined]  # noqa: SLF001 - as in Core
            raise InCommitError(
                f"a snapshot of store {self.name!r} is being read by this thread, and takes in what has changed since;"
                " code that Python runs at any time (finalizers, signal handlers) cannot read it there: note what to"
                " do, and do it later"
            )
        while len(past.images) > _AT_ONCE:
            with self._core.lock:
                self._core.settle()
                past.index(_AT_ONCE)

    def check_scope(self, key: ObjectKey) -> None:
        """Refuse a key that cannot be there."""
        self._core.check_scope(key)

    def settle(self) -> None:
        """Finish a commit that was cut short. The caller holds the lock."""
        self._core.settle()

    def count_scan(self) -> None:
        """Count a query that scanned."""
        self._core.count_scan()

    def settles(self, terms: tuple[Term[Any], ...]) -> tuple[Term[Any], ...]:
        """Put the smallest and largest values of this state, which stay the same, into terms that ask for them."""
        if not any(map(asks_edge, terms)):
            return terms
        return tuple(settled(term, self._value_of) for term in terms)

    def _value_of(self, edge: Edge[Any]) -> Term[Any]:
        past, index = self.generation, edge.index
        if index in past.schema.dropped:
            return edge  # the objects are asked, as for any index that broke its budget
        spot = past.schema.spot_of(index)
        self.check_may_read()
        with self.lock:
            self.settle()
            key = past.edge(spot, largest=edge.largest)
        return At(index, () if key is None else (key,))


class Snapshot(View[T]):
    """Reads a store as it was at one moment: the query methods of a view, all on one state.

    Use it in a ``with`` block, or close it: an open one keeps what has changed since. One that is let go of is closed.
    Its answers are those that the store gave at that moment, also in their order.

    O(1) to take. The first commit that touches an object while a snapshot is open keeps its old state, a few
    microseconds; a query is as fast as the store's, and looks at what has changed too.

    >>> from kindex import LabelIndexer, ObjectKey, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web"}}})
    >>> with pods.snapshot() as before:
    ...     _ = pods.delete(ObjectKey("x", "a"))
    ...     before.count(label_selector="app=web"), pods.count(label_selector="app=web")
    (1, 0)
    """

    __slots__ = ()

    _core: Moment[T]

    def __enter__(self) -> Snapshot[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"revision {self.revision}, {len(self)} objects"
        return f"Snapshot({self.name!r}, {state})"

    @property
    def closed(self) -> bool:
        """Whether it was closed, and cannot be read any more."""
        return self._core.closed

    def close(self) -> None:
        """Let the state go, with all that is kept for it; may be done again."""
        self._core.close()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied."""
        raise TypeError(f"a snapshot of store {self.name!r} cannot be pickled or copied; take its objects: to_list()")

    def to_list(self) -> list[T]:
        """Give all objects, ordered by key: what to pickle, to copy or to write to a file."""
        return self.select(order_by="key")


def take(core: Core[T]) -> Snapshot[T]:
    """Take a snapshot of *core*; two of one revision share what they keep. O(1)."""
    core.check_may_read()
    with core.lock:
        core.settle()
        generation = core.generation
        for each in reversed(core.pasts):
            past = each()
            if past is not None and past.shows(generation):
                break
        else:
            past = Past(generation)
            # No lock in the callback: the collector calls it, maybe inside the lock.
            core.pasts.append(ref(past, core.pasts.remove))
    return Snapshot(Moment(core, past))
