"""Schema: what a store files each object under, compiled from its indexers.

A schema is a constant. Adding or removing an indexer makes another one, so a write that computed its filings against
one schema can tell at its commit whether they still fit, and a plan that was made for one is never run on another.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, Union, cast

import attrs

from kindex.answers import REMEMBERED
from kindex.column_index import ColumnIndex
from kindex.errors import IndexConflictError, IndexerError, IndexFunctionError, UnknownIndexError
from kindex.families import FamilyIndex
from kindex.indexers.base import AnyIndexer, Indexer, NamespaceIndexer
from kindex.indexers.labels import LabelIndexer, LabelKey
from kindex.indexers.selecting import SelectorIndexer
from kindex.indexers.sorted import SortedIndexer
from kindex.map_index import NO_INDEX, MapIndex
from kindex.objects import label_text
from kindex.paths import JsonPath, map_at
from kindex.selector_index import SelectorIndex
from kindex.sorted_index import SortedIndex

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kindex.budgets import Budget, Drop
    from kindex.column_index import Twins
    from kindex.families import Index
    from kindex.keys import ObjectKey
    from kindex.values import Filing

T = TypeVar("T")

Filings: TypeAlias = "list[Any]"
"""Where one object is filed, for each index in the order of the schema: a Filing, or labels for a family."""

NAMESPACE = 0
"""The place of the namespace index, which every schema has first."""

_AT_ONCE = 300
"""The labels of so many objects are read together."""

_TEXT = {str}


class Family:
    """The identity of the indexes of all keys of one map."""

    __slots__ = ("deny", "path")

    def __init__(self, path: str, deny: frozenset[str]) -> None:
        self.path = path
        self.deny = deny

    @property
    def name(self) -> str:
        """What the keys have in common."""
        return f"{self.path}[*]"

    def covers(self, label: object) -> bool:
        """Tell whether *label* is one of its keys."""
        return isinstance(label, LabelKey) and label.path == self.path and label.key not in self.deny

    def keys_among(self, identities: Iterable[object]) -> Iterator[str]:
        """Give those of *identities* that are keys of this family."""
        return (each.key for each in identities if isinstance(each, LabelKey) and self.covers(each))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Family) and (self.path, self.deny) == (other.path, other.deny)

    def __hash__(self) -> int:
        return hash((self.path, self.deny))


Spot: TypeAlias = "tuple[int, str | None]"
"""Where an index is: its place in the schema, and its key within it where it is one of a family."""

Identity: TypeAlias = Union["Indexer[Any, Any]", LabelKey, Family]
"""What an index is known by: its plain indexer, the label key that several may share, or all keys of a map."""


@attrs.frozen
class Limit:
    """A budget, and the places whose indexes it is for: each of them, or all together."""

    budget: Budget
    scope: str
    places: frozenset[int]
    each: bool


class Schema(Generic[T]):
    """The indexers of a store, and one place for each index that they need.

    Two LabelIndexers that name one key of one map share its place.
    """

    __slots__ = (
        "_blanked",
        "_families",
        "_functions",
        "_label_groups",
        "budget",
        "dropped",
        "hidden",
        "indexers",
        "limits",
        "order",
        "places",
        "programs",
        "remember_bytes",
        "sorted_places",
        "store",
    )

    def __init__(
        self,
        indexers: Iterable[AnyIndexer[T]] = (),
        *,
        budget: Budget | None = None,
        remember_bytes: int = REMEMBERED,
        hidden: frozenset[Identity] = frozenset(),
        dropped: Mapping[Identity, Drop] | None = None,
        store: str = "",
    ) -> None:
        """Compile *indexers*; equal ones count once.

        Args:
            indexers: the namespace indexer comes first by itself.
            budget: for all indexes together.
            remember_bytes: what answers that are kept for the next who asks may take.
            hidden: indexes that writes keep but queries do not see: one that is added late is built beside.
            dropped: indexes that broke a budget: they keep their place, and hold nothing.
            store: its name, for errors.

        Raises:
            IndexConflictError: two different ones have one name.
            IndexerError: one of them is no indexer.
        """
        self.store = store
        named: dict[str, AnyIndexer[T]] = {}
        for indexer in (NamespaceIndexer(), *indexers):
            if not isinstance(indexer, AnyIndexer):
                raise IndexerError(
                    f"{indexer!r} is no indexer; give Indexer(name, function) or one of the built-in ones"
                )
            present = named.setdefault(indexer.name, indexer)
            if present != indexer:
                raise IndexConflictError(indexer.name, present, indexer, store)
        self.indexers = tuple(named.values())
        keys: dict[str, dict[str, None]] = {}
        families: list[Family] = []
        functions: list[Indexer[T, Any]] = []
        for indexer in self.indexers:
            if isinstance(indexer, LabelIndexer):
                if indexer.takes_all:
                    families.append(Family(indexer.path, indexer.deny))
                else:
                    keys.setdefault(indexer.path, {}).update(dict.fromkeys(indexer.keys))
            elif isinstance(indexer, Indexer) and not isinstance(indexer, NamespaceIndexer):
                functions.append(indexer)
        self._label_groups = [_LabelGroup(path, tuple(group)) for path, group in keys.items()]
        identities: list[Identity] = [
            NamespaceIndexer(),
            *(LabelKey(path, key) for path, group in keys.items() for key in group),
            *dict.fromkeys(families),
            *functions,
        ]
        self.order = tuple(identities)
        families = list(dict.fromkeys(families))
        self.dropped = {
            identity: drop
            for identity, drop in (dropped or {}).items()
            if identity in identities or any(family.covers(identity) for family in families)
        }
        # What a family has dropped stays so where the same key is declared by itself later.
        self.hidden = (hidden & set(identities)) - self.dropped.keys()
        self.places: dict[Identity, int] = {
            identity: place
            for place, identity in enumerate(identities)
            if identity not in self.hidden and identity not in self.dropped
        }
        self._families = [
            (map_at(JsonPath.parse(family.path)), family.deny.union(family.keys_among(self.dropped)))
            for family in families
        ]
        self._functions = [None if indexer in self.dropped else indexer for indexer in functions]
        self._blanked = [place for place, identity in enumerate(identities) if identity in self.dropped]
        self.budget = budget
        self.remember_bytes = remember_bytes
        self.limits = self._limits(budget)
        self.sorted_places = [
            (indexer, place)
            for place, indexer in enumerate(identities)
            if isinstance(indexer, SortedIndexer) and indexer not in self.dropped
        ]
        self.programs: dict[Any, Any] = {}  # Any: compiled queries, kept by plans.program_of

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the indexers, sorted."""
        return tuple(sorted(indexer.name for indexer in self.indexers))

    def find(self, identity: Indexer[Any, Any] | LabelKey) -> Spot | None:
        """Find an index that queries may use; None if there is none."""
        place = self.places.get(identity)
        if place is not None:
            return place, None
        if isinstance(identity, LabelKey) and identity not in self.dropped:
            for family, place in self.places.items():
                if isinstance(family, Family) and family.covers(identity):
                    return place, identity.key
        return None

    def spot_of(self, identity: Indexer[Any, Any] | LabelKey) -> Spot:
        """Find an index that queries may use.

        Raises:
            UnknownIndexError: there is none.
        """
        spot = self.find(identity)
        if spot is None:
            there = (indexer.name for indexer in self.indexers if self.hidden.isdisjoint(parts_of(indexer)))
            raise UnknownIndexError(identity.name, there, self.store)
        return spot

    def filings(self, key: ObjectKey, obj: T) -> Filings:
        """Compute where *obj* belongs in each index; runs the user's index functions, so never under a lock.

        Raises:
            IndexFunctionError: one of them failed.
        """
        filings: Filings = [key.namespace or None]
        for group in self._label_groups:
            filings += group.filings(group.read(obj))
        for read, deny in self._families:
            filings.append(_all_labels(read(obj), deny))
        try:
            for indexer in self._functions:
                filings.append(None if indexer is None else indexer.filing_of(obj, key))
        except IndexFunctionError as error:
            raise error.of_store(self.store) from error.__cause__
        for place in self._blanked:
            filings[place] = None
        return filings

    def columns(self, keys: Sequence[ObjectKey], objects: Sequence[T]) -> list[list[Any]]:
        """Compute ``filings`` of many objects, index by index: what ``build`` takes.

        The same values at a third of the cost, and without a list for each object, which the collector would visit.

        Raises:
            IndexFunctionError: an index function failed.
        """
        columns: list[list[Any]] = [[key.namespace or None for key in keys]]
        for group in self._label_groups:
            columns += group.columns(objects)
        columns += [[_all_labels(read(obj), deny) for obj in objects] for read, deny in self._families]
        try:
            columns += [
                [None] * len(keys)
                if indexer is None
                else [indexer.filing_of(obj, key) for key, obj in zip(keys, objects, strict=True)]
                for indexer in self._functions
            ]
        except IndexFunctionError as error:
            raise error.of_store(self.store) from error.__cause__
        for place in self._blanked:
            columns[place] = [None] * len(keys)
        return columns

    def blank(self) -> Filings:
        """Give the filings of a slot that holds nothing."""
        return [{} if isinstance(identity, Family) else None for identity in self.order]

    def build(self, columns: Sequence[Sequence[Any]], slots: Sequence[int]) -> list[Index]:
        """Build every index over the filings of slots 0, 1, 2 ...; the postings share the int objects of *slots*."""
        twins: Twins = {}
        return [
            NO_INDEX if identity in self.dropped else built(identity, column, slots, twins)
            for identity, column in zip(self.order, columns, strict=True)
        ]

    def plus(self, indexers: Iterable[AnyIndexer[T]]) -> Schema[T]:
        """Give a schema that has *indexers* too; the indexes that they bring are hidden.

        Raises:
            IndexConflictError: one of them has the name of another; the message names both.
        """
        grown = self._with(indexers=(*self.indexers, *indexers))
        return grown._with(hidden=self.hidden | (set(grown.order) - set(self.order)))  # noqa: SLF001 - one of the same

    def readmitting(self, identity: Identity) -> Schema[T]:
        """Give the same schema with an index that was dropped."""
        return self._with(dropped={each: drop for each, drop in self.dropped.items() if each != identity})

    def revealing(self, identities: Iterable[Identity]) -> Schema[T]:
        """Give the same schema with *identities* visible."""
        return self._with(hidden=self.hidden.difference(identities))

    def dropping(self, drops: Mapping[Identity, Drop]) -> Schema[T]:
        """Give the same schema without the indexes in *drops*; everything keeps its place."""
        return self._with(hidden=self.hidden.difference(drops), dropped={**self.dropped, **drops})

    def minus(self, *names: str) -> Schema[T]:
        """Give a schema without the indexers called *names*.

        Raises:
            UnknownIndexError: there is none of this name.
            IndexerError: it is the namespace index, which every store has.
        """
        for name in names:
            if name not in self.names:
                raise UnknownIndexError(name, self.names, self.store)
            if name == self.indexers[NAMESPACE].name:
                raise IndexerError("the namespace index cannot be removed; every store has it")
        return self._with(indexers=[indexer for indexer in self.indexers if indexer.name not in names])

    def sources(self, other: Schema[T]) -> list[int | None]:
        """Tell where in *other* each index of this schema is; None: nowhere, or dropped.

        Compares index functions, which may be anybody's, so it never runs under the lock.
        """
        there = {identity: place for place, identity in enumerate(other.order) if identity not in other.dropped}
        return [None if identity in self.dropped else there.get(identity) for identity in self.order]

    def empty(self, place: int) -> Index:
        """Make the index of *place*, with nothing in it."""
        return NO_INDEX if place in self._blanked else _layout(self.order[place])()

    def identity_at(self, spot: Spot) -> Indexer[Any, Any] | LabelKey:
        """Give the identity of the index at *spot*."""
        place, member = spot
        identity = self.order[place]
        if isinstance(identity, Family):
            return LabelKey(identity.path, cast("str", member))
        return identity

    def spots(self, identity: Identity) -> list[Spot]:
        """Give where an index is or would be, whether queries see it or not; the reverse of ``identity_at``.

        More than one place where a family keeps a key that has an index of its own, too.

        Raises:
            UnknownIndexError: there is no such index.
        """
        found: list[Spot] = []
        for place, known in enumerate(self.order):
            if known == identity:
                found.append((place, None))
            elif isinstance(known, Family) and known.covers(identity):
                found.append((place, cast("LabelKey", identity).key))
        if not found:
            raise UnknownIndexError(identity.name, self.names, self.store)
        return found

    def _with(
        self,
        *,
        indexers: Iterable[AnyIndexer[T]] | None = None,
        hidden: frozenset[Identity] | None = None,
        dropped: Mapping[Identity, Drop] | None = None,
    ) -> Schema[T]:
        return Schema(
            self.indexers if indexers is None else indexers,
            budget=self.budget,
            remember_bytes=self.remember_bytes,
            hidden=self.hidden if hidden is None else hidden,
            dropped=self.dropped if dropped is None else dropped,
            store=self.store,
        )

    def _limits(self, budget: Budget | None) -> list[Limit]:
        """List the budgets of the indexers, and of the store."""
        place_of = {identity: place for place, identity in enumerate(self.order)}
        limits = []
        for indexer in self.indexers:
            places = frozenset(place_of[identity] for identity in parts_of(indexer))
            if isinstance(indexer, LabelIndexer) and indexer.key_budget is not None:
                limits.append(Limit(indexer.key_budget, f"each key of indexer {indexer.name!r}", places, each=True))
            if indexer.budget is not None:
                limits.append(Limit(indexer.budget, f"indexer {indexer.name!r}", places, each=False))
        if budget is not None:
            everything = frozenset(place_of.values()) - {NAMESPACE}
            limits.append(Limit(budget, "the store", everything, each=False))
        return limits


def parts_of(indexer: AnyIndexer[Any]) -> tuple[Identity, ...]:
    """Give the identities of the indexes that *indexer* needs."""
    if isinstance(indexer, LabelIndexer):
        if indexer.takes_all:
            return (Family(indexer.path, indexer.deny),)
        return tuple(LabelKey(indexer.path, key) for key in indexer.keys)
    return (indexer,) if isinstance(indexer, Indexer) else ()


def built(identity: Identity, column: Sequence[Any], slots: Sequence[int], twins: Twins) -> Index:
    """Build one index; *twins* are the columns that were built with it."""
    layout = _layout(identity)
    return layout.build(column, slots, twins) if layout is ColumnIndex else layout.build(column, slots)


def _layout(identity: Identity) -> type[ColumnIndex | FamilyIndex | MapIndex]:
    match identity:
        case LabelKey() | NamespaceIndexer():
            return ColumnIndex
        case Family():
            return FamilyIndex
        case SortedIndexer():
            return SortedIndex
        case SelectorIndexer():
            return SelectorIndex
        case _:
            return MapIndex


class _LabelGroup:
    """The label keys of one map, read together: most objects have them all, as text, and that case is quick."""

    __slots__ = ("_keys", "_texts", "_values", "read")

    def __init__(self, path: str, keys: tuple[str, ...]) -> None:
        self.read = map_at(JsonPath.parse(path))
        self._keys = keys
        self._values = itemgetter(*keys) if len(keys) > 1 else None
        self._texts = (str,) * len(keys)

    def filings(self, labels: Mapping[str, object]) -> Sequence[Filing]:
        """File one object's labels, in the order of the keys."""
        if self._values is not None and len(labels) >= len(self._keys):  # else one is missing
            try:
                values = self._values(labels)
            except KeyError:
                pass
            else:
                if tuple(map(type, values)) == self._texts:
                    return values  # type: ignore[no-any-return]
        get = labels.get
        return [value if type(value := get(key)) is str else _odd(labels, key, value) for key in self._keys]

    def columns(self, objects: Sequence[object]) -> list[list[Filing]]:
        """File many objects' labels, key by key; a few hundred objects at a time, which the processor's cache holds."""
        columns: list[list[Filing]] = [[] for _ in self._keys]
        for start in range(0, len(objects), _AT_ONCE):
            maps = list(map(self.read, objects[start : start + _AT_ONCE]))
            for column, key, part in zip(columns, self._keys, self._parts(maps), strict=True):
                if set(map(type, part)) == _TEXT:
                    column.extend(part)
                    continue
                pairs = zip(part, maps, strict=True)
                column.extend([value if type(value) is str else _odd(labels, key, value) for value, labels in pairs])
        return columns

    def _parts(self, maps: Sequence[Mapping[str, object]]) -> Iterable[Sequence[Any]]:  # Any: a Filing, once checked
        """Read labels, key by key, as they are."""
        if self._values is not None:
            try:
                return list(zip(*map(self._values, maps), strict=True))
            except KeyError:
                pass
        return [[labels.get(key) for labels in maps] for key in self._keys]


def _odd(labels: Mapping[str, object], key: str, value: object) -> Filing:
    """File a *value* that is no text: it is odd, or null, or there is none under *key*."""
    return label_text(value) if value is not None or key in labels else None


def _all_labels(labels: Mapping[str, object], deny: frozenset[str]) -> dict[str, str]:
    texts = ((key, label_text(value)) for key, value in labels.items() if key not in deny)
    return {key: text for key, text in texts if text is not None}
