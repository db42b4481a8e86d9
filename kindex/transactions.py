"""Transaction: many writes, one commit."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar
from weakref import ref

from kindex.core import Core
from kindex.errors import QueryError, TransactionError
from kindex.generation import Generation
from kindex.indexers.terms import asks_edge
from kindex.keys import ObjectKey
from kindex.queries import Query
from kindex.views import View, key_named, namespace_missing
from kindex.writes import checked_key, key_meant, write

if TYPE_CHECKING:
    from types import TracebackType

    from kindex.deltas import Delta
    from kindex.indexers.terms import Term
    from kindex.queries import Fields, Labels, Names, Scan, Where
    from kindex.schema import Filings, Schema

T = TypeVar("T")


_latest: ContextVar[ref[Transaction[Any]] | None] = ContextVar("latest transaction", default=None)
"""What this thread or task began last. Weak, since an interrupt may come before its block begins."""


class Transaction(Generic[T]):
    """Writes that are buffered, and become one commit and one revision at the end of its ``with`` block.

    Key and index functions run at ``put``, so a bad object fails there. Reads see the transaction's own writes on top
    of the present state of the store. The last write of a key wins. An exception in the block applies nothing.

    Attributes:
        deltas: what the commit did; empty until then.

    >>> from kindex import ObjectKey, Store
    >>> store = Store()
    >>> with store.transaction() as txn:
    ...     txn.put({"metadata": {"name": "a", "namespace": "x"}})
    ...     txn.put({"metadata": {"name": "b", "namespace": "x"}})
    ...     txn.delete(ObjectKey("x", "a"))
    ...     len(txn.select(namespace="x")), len(store)
    (1, 0)
    >>> store.revision, len(txn.deltas)
    (1, 1)
    """

    def __init__(self, core: Core[T]) -> None:
        """Write to *core*; ``Store.transaction()`` makes one."""
        self._core = core
        self._writes: dict[ObjectKey, T | None] = {}
        self._filings: dict[ObjectKey, Filings] = {}
        self._schema: Schema[T] | None = None
        self._open = False
        self.deltas: tuple[Delta[T], ...] = ()

    def __enter__(self) -> Transaction[T]:
        if self._schema is not None:
            raise TransactionError(
                f"a transaction is used once; start another of store {self._core.name!r} with transaction()"
            )
        latest = _latest.get()
        outer = None if latest is None else latest()
        if outer is not None and outer._open and outer._core is not self._core:  # noqa: SLF001 - of the same class
            raise TransactionError(
                f"a transaction is of one store: that of {outer._core.name!r} is open here, and {self._core.name!r}"  # noqa: SLF001 - as above
                " cannot join it, since two stores do not change in one moment; end the one before the other"
            )
        _latest.set(ref(self))
        self._schema = self._core.generation.schema
        self._open = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open = False
        if kind is None and self._writes:
            self.deltas = write(self._core, self._writes, self._filings, self._schema)

    def put(self, obj: T) -> None:
        """File *obj*, when the block ends.

        Raises:
            IndexFunctionError: an index function failed; this write is not part of the transaction.
            InvalidObjectError, ScopeError: it cannot be stored here.
            TransactionError: the block has ended, or not begun.
        """
        self._check_open()
        key = checked_key(self._core, obj)
        self._follow_schema()
        assert self._schema is not None
        self._filings[key] = self._schema.filings(key, obj)
        self._write(key, obj)

    def delete(self, what: ObjectKey | T) -> None:
        """Remove the object of this key, or this object's key, when the block ends; it need not be there.

        Raises:
            TransactionError: the block has ended, or not begun.
        """
        self._check_open()
        key = key_meant(self._core, what)
        self._filings.pop(key, None)
        self._write(key, None)

    def replace(self, *_objects: object, **_options: object) -> NoReturn:
        """Refuse: a replace is relative to all of the state at its commit; call it on the store."""
        raise TransactionError(
            f"replace() is a commit of its own; call it on store {self._core.name!r}, outside the transaction"
        )

    def get(self, name: str | ObjectKey, *, namespace: str | None = None) -> T | None:
        """Give the object of this name as the transaction would leave it. Takes and raises what ``StoreView.get`` does.

        Raises:
            TransactionError: the block has ended, or not begun.
        """
        self._check_open()
        key = name if isinstance(name, ObjectKey) else key_named(name, namespace)
        present = View(self._core).get(name, namespace=namespace)
        bare = key is not name and not key.namespace and self._core.scope is None
        if bare and any(own.namespace for own, obj in self._writes.items() if obj is not None):
            raise namespace_missing(self._core, key)  # as a store that holds what was put
        return self._writes.get(key, present)

    def select(
        self,
        *terms: Term[T],
        namespace: Names = None,
        label_selector: Labels = None,
        field_selector: Fields = None,
        where: Where[T] = None,
        scan: Scan | None = None,
    ) -> list[T]:
        """Give the objects that would answer a query after the transaction. O(answer + own writes).

        Raises:
            TransactionError: the block has ended, or not begun.
            QueryError: a term asks for the smallest or largest value, which no part of the state can tell alone.
        """
        self._check_open()
        for term in terms:
            if asks_edge(term):
                raise QueryError(f"a transaction cannot tell what is smallest or largest ({term}); ask the store")
        self._follow_schema()
        arguments = (terms, namespace, label_selector, field_selector)
        present = Query(self._core, *arguments).pairs(where, None, None, scan)
        own = Query(self._own_writes(), *arguments).pairs(where, None, None, "allow")
        return [obj for key, obj in present if key not in self._writes] + [obj for _, obj in own]

    def _own_writes(self) -> Core[T]:
        """Make a store of the objects that were put, with the same indexes, so that the same plans answer."""
        core = self._core
        own: Core[T] = Core(name=core.name, indexers=(), key_of=core.key_of, scope="namespaced", scan="allow")
        puts = {key: obj for key, obj in self._writes.items() if obj is not None}
        assert self._schema is not None
        columns = [list(column) for column in zip(*(self._filings[key] for key in puts), strict=True)]
        columns = columns or self._schema.columns((), ())
        own.generation = Generation.build(self._schema, list(puts), list(puts.values()), columns)
        return own

    def _write(self, key: ObjectKey, obj: T | None) -> None:
        self._writes.pop(key, None)  # the last write of a key also has its place in the order of the deltas
        self._writes[key] = obj

    def _follow_schema(self) -> None:
        """File anew what was put, if an indexer was added or removed meanwhile."""
        schema = self._core.generation.schema
        if schema is not self._schema:
            self._schema = schema
            self._filings = {key: schema.filings(key, obj) for key, obj in self._writes.items() if obj is not None}

    def _check_open(self) -> None:
        if not self._open:
            raise TransactionError(
                f"this transaction of store {self._core.name!r} is not open; use it inside its with block"
            )
