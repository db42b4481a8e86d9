"""View: the query methods, on whatever state they are asked of."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeAlias, TypeVar

from kindex.errors import IndexerError, ObjectNotFound, QueryError, ScopeError
from kindex.indexers.base import Indexer
from kindex.indexers.labels import LabelIndexer, LabelKey
from kindex.keys import ObjectKey
from kindex.queries import Fields, Labels, Names, Order, Query, Scan, Where, check_namespaced, check_scan
from kindex.values import decoded, keys_in, ordering
from kindex.watching import index_id, watchers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kindex.explain import Plan
    from kindex.indexers.terms import Term
    from kindex.schema import Schema, Spot
    from kindex.states import Readable, State
    from kindex.values import IndexValue, ValueKey

T = TypeVar("T")
R = TypeVar("R")

Countable: TypeAlias = "Indexer[Any, Any] | LabelIndexer | LabelKey"


class View(Generic[T]):
    """Reads objects: what a store's view and a snapshot have in common.

    Each call sees one state, and what it returns is detached from the store: a fresh list of borrowed objects. Borrowed
    means: read them, do not edit them.

    The query methods take the same arguments:

    * *terms*: conditions made by indexers, all of which must hold.
    * *namespace*: a name, several names (their union), or None for all.
    * *label_selector*: text, a LabelSelector, a selector object (a dict or a model), or a plain map of labels.
    * *field_selector*: text, a FieldSelector, or a map of paths to values; a field that is absent equals an empty one.
      A path with ``[*]`` has many values and is refused: a term of ``FieldIndexer(path)`` asks for any of them.
    * *where*: any predicate on an object; runs without the lock, on what is left.
    * *order_by*: ``"key"``, a SortedIndexer, or its ``descending()``; objects without a value come last.
    * *limit*: how many objects at most, counted after *where*.
    * *scan*: what to do when no index answers: ``"allow"``, ``"warn"`` or ``"error"``; by default what the store says.

    They raise QueryError for arguments that make no sense, SelectorError for a selector that cannot be understood,
    PathSyntaxError for a field that is no path or has many values, UnknownIndexError for a term whose indexer the store
    does not have, ScopeError for a namespace where objects have none, ScanRefusedError where a scan is refused, and
    InCommitError in a finalizer or signal handler that comes in the middle of a commit.

    >>> from kindex import LabelIndexer, Store
    >>> store = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> _ = store.put({"metadata": {"name": "a", "namespace": "prod", "labels": {"app": "web"}}})
    >>> pods = store.view()
    >>> [pod["metadata"]["name"] for pod in pods.select(namespace="prod", label_selector="app=web")]
    ['a']
    """

    __slots__ = ("_core",)

    def __init__(self, core: Readable[T]) -> None:
        """Read *core*; ``Store.view()`` and ``snapshot()`` make one."""
        self._core = core

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self)} objects)"

    @property
    def name(self) -> str:
        """What the store is called in plans, errors and reports."""
        return self._core.name

    @property
    def revision(self) -> int:
        """How many commits there were."""
        return self._core.generation.revision

    @property
    def index_names(self) -> tuple[str, ...]:
        """The names of the indexers, sorted."""
        return self._core.generation.schema.names

    def resource_version(self, *, namespace: str | None = None) -> str | None:
        """Give the resource version of the last ``replace`` or ``bookmark``, of one namespace if it is named."""
        return self._state(lambda state: state.resource_versions.get(namespace))

    # One object

    def get(self, name: str | ObjectKey, *, namespace: str | None = None) -> T | None:
        """Give the object of this name, or None if it is not there. O(1).

        Raises:
            ScopeError: a name without a namespace where objects have one, or with one where they have none.
            QueryError: a name with a slash in it, or an empty namespace.
        """
        bare = not isinstance(name, ObjectKey)
        key = key_named(name, namespace)

        def found(state: State[T]) -> T | None:
            if bare or self._core.scope is not None:
                check_scope(self._core, state, key)
            return state.get(key)

        return self._state(found)

    def require(self, name: str | ObjectKey, *, namespace: str | None = None) -> T:
        """Give the object of this name, as ``get``.

        Raises:
            ObjectNotFound: it is not there.
        """
        found = self.get(name, namespace=namespace)
        if found is None:
            raise ObjectNotFound(key_named(name, namespace), self.name)
        return found

    def get_many(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, T]:
        """Give those of *keys* that are there, with their objects, from one state. O(keys)."""
        wanted = [_checked_key(self._core, key) for key in keys]

        def found(state: State[T]) -> dict[ObjectKey, T]:
            pairs = ((key, state.get(key)) for key in wanted)
            return {key: obj for key, obj in pairs if obj is not None}

        return self._state(found)

    def __contains__(self, key: object) -> bool:
        checked = _checked_key(self._core, key)
        return self._state(lambda state: checked in state)

    def __len__(self) -> int:
        return self._state(len)

    def __iter__(self) -> Iterator[T]:
        return iter(self.select())

    # Queries

    def select(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        order_by: Order = None,
        limit: int | None = None,
        scan: Scan | None = None,
    ) -> list[T]:
        """Give the objects that answer a query, as a fresh list.

        In no stated order without *order_by*, but the same for two queries of one revision. O(answer) with an index
        for each part; a part without one is checked on each object that the others leave.
        """
        query = Query(self._core, terms, namespace, label_selector, field_selector)
        if where is None and order_by is None and limit is None:
            return query.objects(scan)
        return [obj for _, obj in query.pairs(where, order_by, limit, scan)]

    def keys(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        order_by: Order = None,
        limit: int | None = None,
        scan: Scan | None = None,
    ) -> list[ObjectKey]:
        """Give the keys of the objects that ``select`` would give."""
        query = Query(self._core, terms, namespace, label_selector, field_selector)
        keys = query.keys(limit, scan) if where is None and order_by is None else None
        return [key for key, _ in query.pairs(where, order_by, limit, scan)] if keys is None else keys

    def first(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        order_by: Order = None,
        scan: Scan | None = None,
    ) -> T | None:
        """Give one object that answers the query, the first by *order_by* if that is given; None if there is none."""
        query = Query(self._core, terms, namespace, label_selector, field_selector)
        return next((obj for _, obj in query.pairs(where, order_by, 1, scan)), None)

    def any(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        scan: Scan | None = None,
    ) -> bool:
        """Tell whether any object answers the query."""
        query = Query(self._core, terms, namespace, label_selector, field_selector)
        return bool(query.pairs(where, None, 1, scan))

    def count(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        scan: Scan | None = None,
    ) -> int:
        """Count the objects that answer a query. Where indexes answer all of it, no object is touched."""
        query = Query(self._core, terms, namespace, label_selector, field_selector)
        check_scan(scan)
        counted = query.count() if where is None else None
        return len(query.pairs(where, None, None, scan)) if counted is None else counted

    def explain(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        order_by: Order = None,
        limit: int | None = None,
    ) -> Plan:
        """Answer the query, and tell how: each step with its index, what was expected, what was left, what was scanned.

        Refuses no scan; it says that it is one.
        """
        return Query(self._core, terms, namespace, label_selector, field_selector).plan(where, order_by, limit)

    # Indexes

    def index_values(self, index: Countable) -> list[IndexValue]:
        """Give the values of an index, sorted: bool < int < str < tuple. O(values log values).

        Raises:
            UnknownIndexError: the store does not have it.
            IndexerError: a LabelIndexer over several keys; name one with ``key()``.
        """
        return [decoded(key) for key, _ in self._sizes(index)]

    def tally(self, index: Countable) -> dict[Any, int]:  # Any: the values are of the type that the indexer says
        """Count the objects under each value of an index, sorted as ``index_values``. No object is touched.

        Raises:
            UnknownIndexError, IndexerError: as ``index_values``; also where 1 and True would become one key.

        >>> from kindex import LabelIndexer, Store
        >>> by_app = LabelIndexer("app")
        >>> pods = Store(indexers=[by_app])
        >>> for name, app in (("a", "web"), ("b", "db"), ("c", "web")):
        ...     _ = pods.put({"metadata": {"name": name, "namespace": "x", "labels": {"app": app}}})
        >>> pods.tally(by_app.key("app"))
        {'db': 1, 'web': 2}
        """
        sizes = self._sizes(index)
        tally = {decoded(key): count for key, count in sizes}
        if len(tally) < len(sizes):
            raise IndexerError(
                f"{index.name!r} has values that a dict cannot tell apart, such as 1 and True;"
                " take index_values(), and count() each"
            )
        return tally

    def skipped(self) -> dict[str, int]:
        """Count the objects on which an index function failed, by indexer with ``on_error="skip"``. O(objects)."""
        return self._state(lambda state: state.skipped())

    def _sizes(self, index: Countable) -> list[tuple[ValueKey, int]]:
        """Give the keys of an index with the sizes of their postings, in the order of the values."""
        one = _only_key(index) if isinstance(index, LabelIndexer) else index
        if not isinstance(one, (Indexer, LabelKey)):
            raise IndexerError(f"{one!r} is no index; give an indexer, or a key of one: by_labels.key('app')")
        while True:
            schema = self._core.generation.schema
            if one in schema.dropped:  # it broke its budget: the objects are asked, as a query on it would
                filings = (one.filing_of(obj) for obj in self.select())
                return sorted(Counter(key for filing in filings for key in keys_in(filing)).items(), key=_order_of)
            spot = schema.spot_of(one)  # not under the lock: it hashes the index function, which may be anybody's
            sizes = self._state(partial(_sizes, schema, spot))
            if sizes is not None:
                for watcher in watchers_of(self._core):
                    watcher.read(index_id(one))
                return sorted(sizes, key=_order_of)

    def _state(self, read: Callable[[State[T]], R]) -> R:
        """Run *read*, which is kindex's own code, on the present state, under the lock."""
        core = self._core
        core.check_may_read()
        with core.lock:
            core.settle()
            state = core.generation  # the last to hold it may be this thread, which then lets it go after the lock
            return read(state)

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied."""
        raise TypeError(f"store {self.name!r} cannot be pickled or copied; take its objects: snapshot().to_list()")


def key_named(name: str | ObjectKey, namespace: str | None) -> ObjectKey:
    """Make the key of what the caller names.

    Raises:
        QueryError: it names nothing.
    """
    if isinstance(name, ObjectKey):
        if namespace is not None:
            raise QueryError(f"{name!r} says its namespace; leave namespace= out")
        return name
    if not isinstance(name, str) or not name:
        raise QueryError(f"an object is named by text or an ObjectKey, not {name!r}")
    if "/" in name:
        raise QueryError(f"{name!r} is no name; for the text of a key use ObjectKey.parse({name!r})")
    if namespace is None:
        return ObjectKey("", name)
    if not isinstance(namespace, str) or not namespace:
        raise QueryError(f"namespace={namespace!r} is no namespace; for an object that has none, leave it out")
    return ObjectKey(namespace, name)


def _checked_key(core: Readable[Any], key: object) -> ObjectKey:
    if not isinstance(key, ObjectKey):
        raise QueryError(f"{key!r} is no ObjectKey; make one with ObjectKey(namespace, name) or ObjectKey.parse(text)")
    core.check_scope(key)
    return key


def check_scope(core: Readable[Any], state: State[Any], key: ObjectKey) -> None:
    """Refuse a name that cannot be meant so: "not there" must not come of a slip. The caller holds the lock."""
    if key.namespace:
        check_namespaced(core, state)
    elif core.scope == "namespaced" or (core.scope is None and state.namespaced):
        raise namespace_missing(core, key)


def namespace_missing(core: Readable[Any], key: ObjectKey) -> ScopeError:
    """Say that a name without a namespace means nothing here."""
    return ScopeError(
        f"the objects of store {core.name!r} have namespaces; say which {key.name!r}: get(name, namespace=...)"
    )


def _order_of(pair: tuple[ValueKey, int]) -> tuple[Any, ...]:  # Any: a sort key
    return ordering(pair[0])


def _only_key(indexer: LabelIndexer) -> LabelKey:
    if len(indexer.keys) != 1:
        there = ", ".join(indexer.keys) or "all keys"
        raise IndexerError(f"{indexer.name!r} indexes {there}; name one of them, such as by_labels.key('app')")
    return indexer.key(indexer.keys[0])


def _sizes(schema: Schema[Any], spot: Spot, state: State[Any]) -> list[tuple[ValueKey, int]] | None:
    """Give the keys of an index with their sizes; None under another schema. The caller holds the lock."""
    return state.sizes_at(spot) if state.schema is schema else None
