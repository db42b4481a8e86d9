"""SortedIndexer: ranges, prefixes and order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar, overload

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.base import Indexer, OnError
from kindex.indexers.fields import FieldValues
from kindex.indexers.terms import Edge, Prefix, Range, Term
from kindex.paths import JsonPath
from kindex.values import IndexValue, ordering

T_contra = TypeVar("T_contra", contravariant=True)
S = TypeVar("S")
K = TypeVar("K", bound=IndexValue)


@attrs.frozen(init=False, repr=False)
class SortedIndexer(Indexer[T_contra, K], Generic[T_contra, K]):
    """An index whose values are kept in order, for ranges, prefixes, the first and last, and ``order_by=``.

    All values of one index are of one type; text orders by code point, which for RFC 3339 times in UTC is by time.

    Args:
        name: as for Indexer.
        function: an index function, or the text of a JSON path, whose values are then filed as text.
        on_error: as for Indexer.
        budget: as for Indexer.

    Raises:
        IndexerError: as for Indexer.
        PathSyntaxError: the text is no path.

    >>> from kindex import Store
    >>> created = SortedIndexer("created", "metadata.creationTimestamp")
    >>> store = Store(indexers=[created])
    >>> for day in (3, 1, 2):
    ...     _ = store.put({"metadata": {"name": f"d{day}", "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}})
    >>> [key.name for key in store.keys(created.between("2026-01-02", None), order_by=created)]
    ['d2', 'd3']
    >>> store.first(order_by=created.descending())["metadata"]["name"]
    'd3'
    """

    @overload
    def __init__(
        self: SortedIndexer[object, str],
        name: str,
        function: str,
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: SortedIndexer[S, str],
        name: str,
        function: Callable[[S], str | Iterable[str] | None],
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: SortedIndexer[S, int],
        name: str,
        function: Callable[[S], int | Iterable[int] | None],
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        function: Callable[[T_contra], Iterable[K] | None],
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    def __init__(
        self,
        name: str,
        function: Any,  # Any: the overloads say it
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None:
        if isinstance(function, str):
            function = FieldValues((JsonPath.parse(function),))
        super().__init__(name, function, on_error=on_error, budget=budget)

    def between(self, low: K | None, high: K | None) -> Term[T_contra]:
        """Select the objects with a value from *low* to *high*, both included; None leaves an end open.

        Raises:
            IndexerError: the ends are of two types.
        """
        keys = [None if bound is None else self._key(bound) for bound in (low, high)]
        kinds = {ordering(key)[0] for key in keys if key is not None}
        if len(kinds) > 1:
            raise IndexerError(f"between({low!r}, {high!r}) of {self.name!r}: both ends must be of one type")
        return Range(self, *keys)

    def starting_with(self: SortedIndexer[T_contra, str], prefix: str) -> Term[T_contra]:
        """Select the objects with a text value that starts with *prefix*."""
        if not isinstance(prefix, str):
            raise IndexerError(f"starting_with() of {self.name!r} takes text, not {prefix!r}")
        return Prefix(self, prefix)

    def smallest(self) -> Term[T_contra]:
        """Select the objects at the smallest value in the store."""
        return Edge(self, largest=False)

    def largest(self) -> Term[T_contra]:
        """Select the objects at the largest value in the store."""
        return Edge(self, largest=True)

    def descending(self) -> Descending[T_contra]:
        """Give the opposite order, for ``order_by=``."""
        return Descending(self)


@attrs.frozen
class Descending(Generic[T_contra]):
    """An order: largest value first."""

    indexer: SortedIndexer[T_contra, Any]  # Any: an order does not depend on the type of the values
