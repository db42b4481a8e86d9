"""Store: a view that also writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from kindex.answers import REMEMBERED
from kindex.beside import add_indexers, readmit
from kindex.budgets import Budget, bytes_of
from kindex.core import Core
from kindex.errors import BudgetExceededError, IndexerError, QueryError, UnknownIndexError
from kindex.indexers.base import several
from kindex.keys import ObjectKey
from kindex.objects import key_of
from kindex.observing import observe
from kindex.queries import Scan, checked_scan
from kindex.replacing import replace
from kindex.store_views import StoreView
from kindex.transactions import Transaction
from kindex.writes import delete, key_meant, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kindex.budgets import Drop
    from kindex.deltas import Deleted, Delta
    from kindex.indexers.base import AnyIndexer, Indexer
    from kindex.indexers.labels import LabelKey
    from kindex.observing import EventType

T = TypeVar("T")

Scope: TypeAlias = Literal["namespaced", "cluster"]


class Store(StoreView[T]):
    """Objects of one kind, filed under their key and under every index.

    Invariants, true whenever the lock is free:

    * every object is in exactly the postings under which it was filed;
    * no posting is empty;
    * ``revision`` has grown by one per commit, and by nothing else.

    Objects are borrowed: read them, do not edit them. One that is edited in place all the same stays findable under
    what it was filed under, until it is written again; no index is harmed.

    Locking: one leaf lock. No user code is called while it is held: key and index functions run before it is taken,
    predicates after it is free. What Python itself may run there, a finalizer or a signal handler, finds the lock
    re-entrant, may read inside a read, and otherwise gets InCommitError. The store has no threads and does no I/O.

    Args:
        name: what to call it in plans, errors and reports.
        indexers: what to file objects under; the index by namespace is always there.
        key: object -> ObjectKey, where objects have no ``metadata``.
        scope: ``"namespaced"`` or ``"cluster"``; inferred from what is stored when not given.
        scan: what to do when a query scans: ``"allow"``, ``"warn"`` (ScanWarning) or ``"error"`` (ScanRefusedError).
        budget: what all indexes together may take; the one that takes most is dropped when it is broken.
        remember_bytes: what answers may take that are kept for the next who asks: a number, or text such as
            ``"8MiB"``; 0 keeps none. An answer of 64 objects and more is kept when an index alone gives it and it is
            asked again before it changes; copying it out is then about twice as fast.
        on_budget: a function to call with the Drop when an index broke a budget, without the lock, after the drop; or
            ``"raise"``: then the write raises BudgetExceededError, and changes nothing.

    Raises:
        IndexConflictError: two different indexers have one name.
        IndexerError, QueryError: an argument is none of what it may be; the sentence says which.

    >>> from kindex import Indexer, ObjectKey, Store
    >>> by_team = Indexer("team", lambda obj: obj.split(":")[0])
    >>> store = Store(key=lambda obj: ObjectKey("", obj), indexers=[by_team])
    >>> store.put("red:a"), store.revision
    ((Added(key=ObjectKey(namespace='', name='red:a'), new='red:a', revision=1),), 1)
    >>> store.select(by_team.at("red"))
    ['red:a']
    """

    __slots__ = ()

    def __init__(
        self,
        *,
        name: str = "store",
        indexers: Iterable[AnyIndexer[T]] = (),
        key: Callable[[T], ObjectKey] = key_of,
        scope: Scope | None = None,
        scan: Scan = "allow",
        budget: Budget | None = None,
        remember_bytes: int | str = REMEMBERED,
        on_budget: Literal["raise"] | Callable[[Drop], object] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise QueryError(f"the name of a store is text, not {name!r}")
        if budget is not None and not isinstance(budget, Budget):
            raise IndexerError(f"the budget of a store is a Budget or None, not {budget!r}")
        remembered = bytes_of(remember_bytes)
        if remembered < 0:
            raise IndexerError(f"remember_bytes is a size, 0 or more, not {remember_bytes!r}")
        if on_budget is not None and on_budget != "raise" and not callable(on_budget):
            raise QueryError(f"on_budget is a function of a Drop, 'raise', or None, not {on_budget!r}")
        if scope not in (None, "namespaced", "cluster"):
            raise QueryError(f"scope is 'namespaced', 'cluster' or None, not {scope!r}")
        super().__init__(
            Core(
                name=name,
                indexers=several(indexers),
                key_of=key,
                scope=scope,
                scan=checked_scan(scan),
                budget=budget,
                remember_bytes=remembered,
                on_budget=on_budget,
            )
        )

    def view(self) -> StoreView[T]:
        """Give the read side, to hand to everybody who must not write."""
        return StoreView(self._core)

    # Writes

    def put(self, obj: T) -> tuple[Delta[T], ...]:
        """File *obj* under its key and index values, in place of any earlier object.

        Always commits, also when nothing changed. Gives an Added or an Updated; a Deleted and an Added when the UID
        changed under the key. Each index function runs once; an index in which no value changed is not touched.
        O(index values of the old and the new object).

        Raises:
            InvalidObjectError: it is None or has no name.
            ScopeError: it has a namespace where the store's objects have none, or the other way round.
            IndexFunctionError: an index function failed; the store is unchanged.
            InCommitError: this is a finalizer or signal handler that runs inside the store.
        """
        return put(self._core, obj)

    def delete(self, what: ObjectKey | T) -> Deleted[T] | None:
        """Remove the object of this key, or of this object's key; None, and no commit, if it is not there.

        Never asks the stored object: it is removed from where it was filed. O(its index values).

        Raises:
            InvalidObjectError: *what* is neither a key nor an object that has one.
            ScopeError: by its declared scope the store cannot have it.
        """
        self._core.check_may_write()
        return delete(self._core, key_meant(self._core, what))

    def replace(
        self, objects: Iterable[T], resource_version: str | None = None, *, namespace: str | None = None
    ) -> tuple[Delta[T], ...]:
        """Make the store, or its part in *namespace*, equal to *objects*, in one commit.

        What did not change (same UID and resource version; equal, where an object has none) stays and gives no delta;
        if nothing changed, nothing is committed. Objects that are gone give a Deleted with
        ``final_state_known=False``. Of two objects with one key the last counts. O(objects), without the lock.

        Raises:
            InvalidObjectError, ScopeError, IndexFunctionError: one of the objects cannot be stored; nothing changed.
        """
        return replace(self._core, objects, resource_version, namespace)

    def transaction(self) -> Transaction[T]:
        """Begin a transaction: ``with store.transaction() as txn``, many writes, one commit."""
        return Transaction(self._core)

    def bookmark(self, resource_version: str, *, namespace: str | None = None) -> None:
        """Note that the source has sent all up to *resource_version*; changes no object and no revision."""
        self._core.check_may_write()
        with self._core.lock:
            self._core.settle()
            self._core.generation.resource_versions[namespace] = resource_version
        self._core.ring()

    def observe(self, event_type: EventType, obj: T, *, namespace: str | None = None) -> tuple[Delta[T], ...]:
        """Write what one event of a watch says, and note its resource version; for those who bring their own watch.

        As ``put`` and ``delete``, but nothing is committed for what is late or said twice; ``ignored`` counts it:

        * the version that is there already, or an older one (by apimachinery's comparison; of versions that are no
          numbers any is taken for new),
        * the deletion of an object that has been created anew since, by its UID.

        The resource version never goes back here. An object that went and came back unseen, with another UID, gives a
        Deleted and an Added.

        Args:
            event_type: ``"ADDED"``, ``"MODIFIED"``, ``"DELETED"``, or ``"BOOKMARK"``, which changes no object.
            obj: of the event.
            namespace: whose watch it is, where each has its own.

        Raises:
            QueryError: it is another type; an ERROR is for whoever lists and watches.
            InvalidObjectError, ScopeError, IndexFunctionError: the object cannot be stored.

        >>> from kindex import Store
        >>> pods = Store(name="pods")
        >>> pod = {"metadata": {"name": "a", "namespace": "x", "uid": "u1", "resourceVersion": "12"}}
        >>> len(pods.observe("ADDED", pod)), len(pods.observe("ADDED", pod)), pods.ignored.repeats
        (1, 0, 1)
        """
        return observe(self._core, event_type, obj, namespace)

    # Indexers

    def add_indexers(self, *indexers: AnyIndexer[T]) -> None:
        """Add indexers, at any time; all of them or none. Those that are there already are left as they are.

        The indexes are built without the lock while others read and write, and are complete from the first query that
        can use them. O(objects), as many index function calls.

        Raises:
            IndexConflictError: another indexer has the same name; the message names both.
            IndexFunctionError: an index function failed on a stored object.
        """
        self._core.check_may_write()
        add_indexers(self._core, indexers)

    def remove_indexer(self, name: str) -> None:
        """Remove an indexer, and every index that no other indexer shares.

        Raises:
            UnknownIndexError: there is none of this name.
            IndexerError: it is the namespace index, which every store has.
        """
        core = self._core
        core.check_may_write()
        while True:
            schema = core.generation.schema
            left = schema.minus(name)
            sources = left.sources(schema)
            with core.lock:
                core.settle()
                before = core.generation  # dropped after the lock
                if before.schema is schema:
                    core.generation = before.under(left, sources)
                    return

    def readmit(self, index: str | Indexer[Any, Any] | LabelKey) -> None:
        """Build an index again that broke its budget, if it keeps it now. O(objects), without the lock.

        Args:
            index: its indexer or label key, or its name as ``dropped`` gives it.

        Raises:
            UnknownIndexError: no such index was dropped.
            BudgetExceededError: it would break its budget again; it stays dropped.
        """
        core = self._core
        core.check_may_write()
        dropped = core.generation.schema.dropped
        for identity, drop in dropped.items():
            if index in (identity, identity.name):
                reason = readmit(core, identity, asked=True)
                if reason is not None:
                    raise BudgetExceededError(drop.index, drop.scope, reason, core.name)
                return
        named = index if isinstance(index, str) else index.name
        raise UnknownIndexError(named, (drop.index for drop in dropped.values()), core.name, "dropped indexes")
