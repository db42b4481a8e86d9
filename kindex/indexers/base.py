"""Indexers: a name and an index function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast, overload

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError, IndexFunctionError, IndexValueError, PartialObjectError
from kindex.indexers.terms import At, Term
from kindex.objects import key_of
from kindex.values import SKIPPED, Filing, IndexValue, ValueKey, decoded, encoded, filing_of, keys_in

if TYPE_CHECKING:
    from kindex.keys import ObjectKey

T_contra = TypeVar("T_contra", contravariant=True)
S = TypeVar("S")
K = TypeVar("K", bound=IndexValue)

OnError: TypeAlias = Literal["raise", "skip"]


def _check_name(_indexer: object, _attribute: object, value: str) -> None:
    if not isinstance(value, str) or not value:
        raise IndexerError(f"an indexer needs a name that is not empty, not {value!r}")


def _check_budget(indexer: AnyIndexer[Any], _attribute: object, value: object) -> None:
    if value is not None and not isinstance(value, Budget):
        raise IndexerError(f"the budget of indexer {indexer.name!r} is a Budget or None, not {value!r}")


@attrs.frozen
class AnyIndexer(Generic[T_contra]):
    """What a store can be given: something that files objects of type T under index values."""

    name: str = attrs.field(validator=_check_name)
    budget: Budget | None = attrs.field(default=None, kw_only=True, validator=_check_budget)

    def values_of(self, obj: T_contra) -> tuple[Any, ...]:  # Any: each kind of indexer has values of its own
        """Give the index values under which *obj* would be filed."""
        raise NotImplementedError


@attrs.frozen(init=False, repr=False)
class Indexer(AnyIndexer[T_contra], Generic[T_contra, K]):
    """An index by a plain function, from an object to none, one or many index values.

    A bare value is one; None is none; a list, tuple, set or generator holds several (so a value that is itself a
    tuple goes into a list). The function runs once for each write, outside the lock.

    Declare it once, as a constant; two are equal when name, function and *on_error* are.

    Args:
        name: says what it is in plans, errors and reports.
        function: the index function.
        on_error: what a function that raises does to the write: ``"raise"`` fails it, unchanged, with
            IndexFunctionError; ``"skip"`` files the object under no value of this index, and counts it.
        budget: what the index may cost; one that breaks it is dropped, and its queries scan.

    Raises:
        IndexerError: the name is empty, *function* is none, or another argument is none of its words.

    >>> from kindex import Store
    >>> by_image = Indexer("image", lambda pod: [c["image"] for c in pod["spec"]["containers"]])
    >>> pod = {"metadata": {"name": "a", "namespace": "x"}, "spec": {"containers": [{"image": "nginx:1"}]}}
    >>> by_image.values_of(pod)
    ('nginx:1',)
    >>> store = Store(indexers=[by_image])
    >>> _ = store.put(pod)
    >>> store.count(by_image.at("nginx:1"))
    1
    """

    function: Callable[[T_contra], object]
    on_error: OnError = "raise"

    @overload
    def __init__(
        self: Indexer[S, str],
        name: str,
        function: Callable[[S], str | Iterable[str] | None],
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Indexer[S, bool],
        name: str,
        function: Callable[[S], bool | Iterable[bool] | None],
        *,
        on_error: OnError = "raise",
        budget: Budget | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Indexer[S, int],
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
        self, name: str, function: Callable[[Any], object], *, on_error: OnError = "raise", budget: Budget | None = None
    ) -> None:
        if not callable(function):
            raise IndexerError(f"indexer {name!r} needs an index function, not {function!r}")
        if on_error not in ("raise", "skip"):
            raise IndexerError(f"indexer {name!r}: on_error is 'raise' or 'skip', not {on_error!r}")
        init = self.__attrs_init__  # pyright: ignore[reportAttributeAccessIssue]  # attrs makes it
        init(name, function, on_error, budget=budget)

    def __repr__(self) -> str:
        shown = getattr(self.function, "__qualname__", None) or repr(self.function)
        return f"{type(self).__name__}({self.name!r}, {shown})"

    def at(self, value: K) -> Term[T_contra]:
        """Select the objects that are filed under *value*.

        Raises:
            IndexerError: *value* cannot be an index value.
        """
        return At(self, (self._key(value),))

    def among(self, values: Iterable[K]) -> Term[T_contra]:
        """Select the objects that are filed under at least one of *values*; none for no values."""
        if isinstance(values, str):
            raise IndexerError(f"among() of {self.name!r} takes several values; for one, use at({values!r})")
        return At(self, tuple(dict.fromkeys(map(self._key, values))))

    def values_of(self, obj: T_contra) -> tuple[K, ...]:
        """Give the index values under which *obj* would be filed.

        Raises:
            IndexFunctionError: the index function raised, or gave what cannot be an index value.
        """
        return cast("tuple[K, ...]", tuple(map(decoded, keys_in(self.filing_of(obj)))))

    def filing_of(self, obj: T_contra, key: ObjectKey | None = None) -> Filing:
        """Tell where *obj*, stored under *key*, would be filed; kindex's own form of ``values_of``."""
        try:
            result = self.function(obj)
        except Exception as error:  # noqa: BLE001 - a user's function may raise anything
            return self._failed(IndexFunctionError, obj, key, error)
        if result is None or type(result) is str:
            return result
        try:
            return filing_of(result)
        except TypeError as error:
            return self._failed(IndexValueError, obj, key, error)
        except Exception as error:  # noqa: BLE001 - a generator runs the user's code here
            return self._failed(IndexFunctionError, obj, key, error)

    def _failed(self, kind: type[IndexFunctionError], obj: object, key: ObjectKey | None, error: Exception) -> Filing:
        # What a transform dropped is not odd data of one object: it would be missing from all of them.
        if self.on_error == "skip" and not isinstance(error, PartialObjectError):
            return SKIPPED
        reason = str(error) if kind is IndexValueError else f"{type(error).__name__}: {error}"
        raise kind(self.name, key if key is not None else _shown_key(obj), reason) from error

    def _key(self, value: object) -> ValueKey:
        try:
            return encoded(value)
        except TypeError as error:
            raise IndexerError(f"indexer {self.name!r}: {error}") from None


@attrs.frozen(init=False, repr=False)
class NamespaceIndexer(Indexer[object, str]):
    """The index by namespace that every store has; name it for ``tally`` and ``index_values``.

    Cluster-scoped objects have no value.

    >>> from kindex import Store
    >>> store = Store()
    >>> _ = store.put({"metadata": {"name": "a", "namespace": "prod"}})
    >>> store.tally(NamespaceIndexer())
    {'prod': 1}
    """

    def __init__(self) -> None:
        super().__init__("namespace", _namespace_of)

    def __repr__(self) -> str:
        return "NamespaceIndexer()"


def _namespace_of(obj: object) -> str | None:
    return key_of(obj).namespace or None


def _shown_key(obj: object) -> object:
    try:
        return key_of(obj)
    except Exception:  # noqa: BLE001 - only to name the object in a message
        return f"a {type(obj).__name__}"


def several(indexers: Iterable[AnyIndexer[T_contra]]) -> tuple[AnyIndexer[T_contra], ...]:
    """Take the indexers that an argument of this name is given.

    Raises:
        IndexerError: it is one indexer, and not several.
    """
    if isinstance(indexers, AnyIndexer):
        raise IndexerError(f"indexers takes several, or a list of one: indexers=[{indexers!r}]")
    return tuple(indexers)
