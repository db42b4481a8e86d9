"""StoreView: the side of a store that reads, as it is now and as it changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from kindex.filters import Filter
from kindex.following import Follower
from kindex.handlers import Handlers, Registration, checked_handlers, name_of
from kindex.keys import ObjectKey
from kindex.measuring import measure, sizes
from kindex.memory import IndexSize, MemoryReport
from kindex.observing import Ignored
from kindex.snapshots import Snapshot, take
from kindex.views import View, check_scope, key_named
from kindex.waiting import wait_until, wait_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.budgets import Drop
    from kindex.core import Core
    from kindex.deltas import Added, Deleted, Updated
    from kindex.following import Overflow
    from kindex.handlers import OnError
    from kindex.indexers.terms import Term
    from kindex.queries import Fields, Labels, Names
    from kindex.selectors import LabelSelector

T = TypeVar("T")
R = TypeVar("R")


class StoreView(View[T]):
    """Reads a store: what to hand to everybody but the one who writes.

    Besides the query methods, which answer for the present state: ``snapshot`` for several queries on one state,
    ``follow`` and ``add_event_handler`` for what changes, ``wait_until`` and ``wait_version`` to wait for it, and what
    all of it costs.

    >>> from kindex import LabelIndexer, Store
    >>> store = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> _ = store.put({"metadata": {"name": "a", "namespace": "prod", "labels": {"app": "web"}}})
    >>> pods = store.view()
    >>> [pod["metadata"]["name"] for pod in pods.select(namespace="prod", label_selector="app=web")]
    ['a']
    """

    __slots__ = ()

    _core: Core[T]

    def __init__(self, core: Core[T]) -> None:
        """Read *core*; ``Store.view()`` makes one."""
        super().__init__(core)

    @property
    def scans(self) -> int:
        """How many queries scanned: looked at more than 64 objects and at more than four times their answer."""
        return self._core.scans

    @property
    def ignored(self) -> Ignored:
        """How many events ``Store.observe`` was given that changed nothing, and why."""
        return Ignored(**self._core.ignored)

    @property
    def dropped(self) -> tuple[Drop, ...]:
        """The indexes that broke a budget and are not back: which, when and why; their queries scan."""
        return tuple(self._core.generation.schema.dropped.values())

    def get(self, name: str | ObjectKey, *, namespace: str | None = None) -> T | None:
        """Give the object of this name, or None if it is not there. O(1), and inlined: it is what is asked most.

        Raises:
            ScopeError: a name without a namespace where objects have one, or with one where they have none.
            QueryError: a name with a slash in it, or an empty namespace.
        """
        core = self._core
        bare = type(name) is not ObjectKey
        if bare or namespace is not None:
            name = key_named(name, namespace)
        if core.pending is not None:
            core.check_may_read()
        with core.lock:
            if core.pending is not None:
                core.settle()
            generation = core.generation
            if bare or core.scope is not None:
                check_scope(core, generation, name)  # type: ignore[arg-type]  # a key by now
            slot = generation.slots.slot_of.get(name)  # type: ignore[arg-type]  # a key by now
            return None if slot is None else generation.slots.objects[slot]

    def snapshot(self) -> Snapshot[T]:
        """Give the present state to read as often as one likes, while writers go on: ``with pods.snapshot() as snap``.

        O(1). While it is open, the first commit that touches an object keeps its old state for it.
        """
        return take(self._core)

    # What changes

    def follow(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Callable[[T], object] | Term[T] | LabelSelector | str | None = None,
        replay: bool = True,
        overflow: Overflow = "merge",
    ) -> Follower[T]:
        """Give the changes to come as an iterator of deltas; see ``Follower`` for what it promises.

        The arguments of a query filter them: an object that enters the filter is Added, one that leaves it Deleted.
        A commit looks at the followers that it concerns, if their filter asks for a value that is indexed.

        Args:
            terms: conditions made by indexers, all of which must hold.
            namespace: a name, several names, or None for all.
            label_selector: as for ``select``.
            field_selector: as for ``select``.
            where: a predicate, which runs where the follower is read; or a term, or a label selector.
            replay: whether an Added for each object comes first, as it is when the follower is first asked.
            overflow: ``"merge"`` the changes of a key that were not taken yet, or ``"close"`` when many wait.

        Raises:
            QueryError, SelectorError, UnknownIndexError: as for ``select``.

        >>> from kindex import LabelIndexer, Store
        >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
        >>> with pods.follow(label_selector="app=web") as web:
        ...     _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web"}}})
        ...     came = web.take()
        ...     _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "db"}}})
        ...     [(type(delta).__name__, delta.revision) for delta in came + web.take()]
        [('Added', 1), ('Deleted', 2)]
        """
        wanted = Filter(terms, namespace, label_selector, field_selector, where)
        return Follower(self._core, wanted, replay=replay, overflow=overflow)

    def add_event_handler(
        self,
        on_add: Callable[[Added[T]], object] | None = None,
        on_update: Callable[[Updated[T]], object] | None = None,
        on_delete: Callable[[Deleted[T]], object] | None = None,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Callable[[T], object] | Term[T] | LabelSelector | str | None = None,
        on_error: OnError[T] | None = None,
        replay: bool = True,
        overflow: Overflow = "merge",
        name: str | None = None,
    ) -> Registration[T]:
        """Call functions with each delta, from a thread that the registration owns; see ``Registration``.

        Args:
            on_add: called with each Added.
            on_update: called with each Updated.
            on_delete: called with each Deleted.
            terms: as for ``follow``, like the other arguments of a query.
            namespace: as for ``follow``.
            label_selector: as for ``follow``.
            field_selector: as for ``follow``.
            where: as for ``follow``.
            on_error: called with what a function raised, and its delta, instead of the log; the delta is None where the
                filter raised, or the registration was closed since it was too slow.
            replay: as for ``follow``.
            overflow: as for ``follow``.
            name: what the log and the thread are called; by default as the first function is.

        Raises:
            QueryError, SelectorError, UnknownIndexError: as for ``follow``; also when there is nothing to call.

        >>> from kindex import Store
        >>> pods, seen = Store(name="pods"), []
        >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
        >>> registration = pods.add_event_handler(on_add=lambda delta: seen.append(str(delta.key)))
        >>> registration.wait_synced(10), seen
        (True, ['x/a'])
        >>> registration.remove()
        """
        functions = {"on_add": on_add, "on_update": on_update, "on_delete": on_delete}
        checked_handlers(name, on_error, **functions)
        wanted = Filter(terms, namespace, label_selector, field_selector, where)
        called = name or name_of(*functions.values())
        handlers = Handlers(called, self.name, on_add, on_update, on_delete, on_error)
        return Registration(self._core, wanted, handlers, replay=replay, overflow=overflow)

    def wait_until(self, predicate: Callable[[StoreView[T]], R], timeout_seconds: float | None = None) -> R:
        """Wait until *predicate*, called with this view, is true; give what it returned.

        It is called at once, and after each commit and bookmark, in this thread and without the lock; several commits
        may be one call.

        Raises:
            NotReachedError: *timeout_seconds* were over.
            InCommitError: this is a finalizer or signal handler that runs inside the store.

        >>> from kindex import Store
        >>> pods = Store(name="pods")
        >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
        >>> pods.wait_until(len, 10)
        1
        """
        return wait_until(self._core, lambda: predicate(self), timeout_seconds)

    def wait_version(
        self, resource_version: str, timeout_seconds: float | None = None, *, namespace: str | None = None
    ) -> None:
        """Wait until the store has seen *resource_version* or a later one: what one has just written oneself.

        Versions are compared as Kubernetes does; of those that are no numbers only equality counts.

        Args:
            resource_version: as the server gave it.
            timeout_seconds: None is for ever.
            namespace: where each has a source, and a resource version, of its own.

        Raises:
            NotReachedError: *timeout_seconds* were over; it says where the store is.
            QueryError: *resource_version* is no version.

        >>> from kindex import Store
        >>> pods = Store(name="pods")
        >>> pods.bookmark("1000")
        >>> pods.wait_version("999", 10)
        """
        wait_version(self._core, resource_version, timeout_seconds, namespace)

    # What it costs

    def memory(self) -> MemoryReport:
        """Count what the store and each index take, in bytes; ``print`` it for a table.

        The lock is held for slices of a thousand postings, so writers pass in between. O(values + slots): a few
        milliseconds, and up to a second for 150,000 objects with ten labels that no two of them share.

        >>> from kindex import LabelIndexer, Store
        >>> pods = Store(indexers=[LabelIndexer("app")])
        >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web"}}})
        >>> pods.memory().index("app").postings
        1
        """
        return measure(self._core)

    def index_sizes(self) -> tuple[IndexSize, ...]:
        """Give the numbers of values and postings of each index: what a gauge needs, in microseconds.

        O(1) for labels and namespaces, O(values) for the other indexes.

        >>> from kindex import Store
        >>> store = Store()
        >>> _ = store.put({"metadata": {"name": "a", "namespace": "x"}})
        >>> store.index_sizes()
        (IndexSize(name='namespace', kind='namespace', values=1, postings=1),)
        """
        return sizes(self._core)

    def _check(self) -> None:
        """Assert the invariants of the store."""
        self._core._check()  # noqa: SLF001 - the same check, one room down
