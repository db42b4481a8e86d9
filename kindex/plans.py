"""Plans: the cheapest way from a query to a posting.

A query is a conjunction. ``program_of`` turns each of its parts, once for a schema, into an operation on postings, or
into a check on objects where no index answers it. Indexes narrow, the selector decides: what an index answered is not
checked again, what it did not is checked on each object that is left, with the selector's own ``matches``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from kindex.column_index import ColumnIndex
from kindex.errors import QueryError, UnknownIndexError
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import LABELS, LabelKey
from kindex.indexers.selecting import SelectorIndexer
from kindex.indexers.terms import (
    Absent,
    AllOf,
    AnyOf,
    At,
    Edge,
    Not,
    Prefix,
    Range,
    Satisfying,
    Selecting,
    Term,
    asks_edge,
)
from kindex.map_index import MapIndex
from kindex.objects import labels_of
from kindex.operations import (
    FEW,
    Combined,
    Filed,
    Named,
    NotEmpty,
    Nothing,
    Operation,
    Passing,
    Present,
    Selected,
)
from kindex.paths import JsonPath, field_path, field_text
from kindex.programs import Check, Program
from kindex.scans import LabelCheck
from kindex.schema import NAMESPACE
from kindex.selectors import FieldRequirement, FieldSelector, LabelSelector, Requirement
from kindex.shapes import ON_NAMESPACE, Condition, conditions_of, on_label
from kindex.sorted_index import SortedIndex

if TYPE_CHECKING:
    from kindex.budgets import Drop
    from kindex.indexers.base import Indexer
    from kindex.indexers.labels import LabelIndexer
    from kindex.schema import Identity, Schema, Spot
    from kindex.values import ValueKey

Names: TypeAlias = "tuple[str, ...] | None"

_KEPT_PROGRAMS = 1024
_A_MAP = "\0a map of labels"  # no selector is a tuple, and no label has such a key
_LONGEST_KEPT = 1000


def program_of(
    schema: Schema[Any],
    terms: tuple[Term[Any], ...],
    namespace: object,
    label_selector: object,
    field_selector: object,
) -> Program:
    """Give the program of a query for stores of *schema*; recent ones are kept, and found by the arguments.

    Reads the caller's selector objects, so it never runs under the lock.

    Raises:
        QueryError: an argument makes no sense.
        SelectorError: a selector cannot be understood.
        UnknownIndexError: a term's index is not in the schema.
    """
    asked = _hashable(label_selector) if type(label_selector) is dict else label_selector
    try:
        known = schema.programs.get((terms, namespace, asked, field_selector))
    except TypeError:  # a dict or a list cannot be looked up
        known = None
    if known is not None:
        return known  # type: ignore[no-any-return]
    names = names_of(namespace)
    labels = None if label_selector is None else LabelSelector.of(label_selector)
    fields = None if field_selector is None else FieldSelector.of(field_selector)  # type: ignore[arg-type]  # it checks
    for term in terms:
        if not isinstance(term, Term):
            raise no_term(term)
    program = _Compiler(schema).program(terms, names, labels, fields)
    if _worth_keeping(terms, namespace, asked, field_selector):
        programs = schema.programs
        if len(programs) >= _KEPT_PROGRAMS:
            _drop_oldest(programs)
        programs[terms, namespace, asked, field_selector] = program
    return program


def no_term(what: object) -> QueryError:
    """Say that *what* is no term, and where it may be meant to stand."""
    selector = isinstance(what, (str, dict, LabelSelector, FieldSelector))
    elsewhere = "; a selector is given by label_selector= or field_selector=" if selector else ""
    return QueryError(f"{what!r} is no term; make one with an indexer, such as by_node.at('n1'){elsewhere}")


def _hashable(labels: dict[Any, Any]) -> object:
    """Give what stands for a map of labels among the kept programs: controllers ask with the same services' again."""
    return (_A_MAP, *chain.from_iterable(labels.items())) if len(labels) < FEW // 2 else labels


def _drop_oldest(programs: dict[Any, Any]) -> None:
    try:
        programs.pop(next(iter(programs), None), None)
    except RuntimeError:  # another thread keeps a program at this moment
        programs.clear()


class _Compiler:
    """Turns the parts of one query into operations and checks."""

    def __init__(self, schema: Schema[Any]) -> None:
        self._schema = schema
        self._operations: list[Operation] = []
        self._checks: list[Check] = []

    def program(
        self,
        terms: tuple[Term[Any], ...],
        names: Names,
        labels: LabelSelector | None,
        fields: FieldSelector | None,
    ) -> Program:
        if names is not None:
            what = f"namespace = {names[0]}" if len(names) == 1 else f"namespace in ({', '.join(names)})"
            self._operate(Filed(what, "namespace", (NAMESPACE, None), names), ON_NAMESPACE)
        if labels is not None:
            self._select_labels(labels, LABELS, labels_of)
        for requirement in () if fields is None else fields.requirements:
            self._select_field(requirement)
        for term in terms:
            for part in term.terms if isinstance(term, AllOf) else (term,):
                self._select_term(part)
        return Program(self._operations, self._checks)

    def _operate(self, operation: Operation, *conditions: Condition) -> None:
        operation.conditions = conditions
        self._operations.append(operation)

    def _select_labels(self, selector: LabelSelector, path: str, read: Callable[[Any], Any]) -> None:
        if selector.selects_nothing:
            self._operations.append(Nothing("a selector that selects nothing", "none"))
        # Kept apart by whether an index was dropped: such a part may be scanned for where others may not.
        left: dict[tuple[Drop, ...], list[Requirement]] = {}
        for requirement in selector.requirements:
            operation = self._required(path, requirement)
            if operation is None:
                dropped = self._dropped(LabelKey(path, requirement.key))
                left.setdefault(dropped, []).append(requirement)
            else:
                self._operate(operation, on_label(path, requirement))
        for dropped, requirements in left.items():
            rest = LabelSelector(tuple(requirements))
            what = str(rest) if path == LABELS else f"{path} satisfies {str(rest)!r}"
            conditions = tuple(on_label(path, requirement) for requirement in requirements)
            self._checks.append(Check(what, LabelCheck(rest, read), conditions, dropped))

    def _select_field(self, requirement: FieldRequirement) -> None:
        what, negative = str(requirement), requirement.operator == "!="
        path = field_path(requirement.field)
        condition = Condition("field", path.text, "", requirement.operator)
        if path.text == "metadata.name":
            self._operate(Named(what, requirement.value, negative=negative), condition)
            return
        spot = self._field_spot(path)
        if spot is None:
            dropped = self._dropped(*(each for each in self._schema.dropped if _is_field(each, path)))
            matches = requirement.matches_text
            self._checks.append(Check(what, lambda obj: matches(field_text(obj, path)), (condition,), dropped))
        elif requirement.value:
            self._operate(Filed(what, path.text, spot, (requirement.value,), negative=negative), condition)
        else:
            self._operate(NotEmpty(what, path.text, spot, negative=not negative), condition)

    def _field_spot(self, path: JsonPath) -> Spot | None:
        if path.text == "metadata.namespace":
            return NAMESPACE, None
        for identity, place in self._schema.places.items():
            if _is_field(identity, path):
                return place, None
        return None

    def _select_term(self, term: Term[Any]) -> None:
        if isinstance(term, Satisfying):
            self._require(term.indexer)
            self._select_labels(term.selector, term.indexer.path, term.indexer.labels_of)
            return
        operation = self._operation(term)
        if operation is None:
            dropped, edge = self._dropped(*parts_of_term(term)), term if asks_edge(term) else None
            self._checks.append(Check(str(term), term.matches, conditions_of(term), dropped, edge))
        else:
            self._operate(operation)  # what it asks is in the term, and hardly ever wanted

    def _operation(self, term: Term[Any]) -> Operation | None:
        """Give the operation that answers *term* exactly, or None when a part of it needs the objects."""
        what, spot_of = term, self._schema.spot_of
        if isinstance(term, (At, Absent, Range, Prefix, Edge, Selecting)) and term.index in self._schema.dropped:
            return None
        match term:
            case At(index=index, keys=()):
                spot_of(index)
                return Nothing(what, index.name)
            case At(index=index, keys=keys):
                return Filed(what, index.name, spot_of(index), keys)
            case Absent(index=index):
                return Present(what, index.name, spot_of(index), negative=True)
            case Range() | Prefix() | Edge():
                return _in_order(what, term, spot_of(term.index))
            case Selecting(index=index, sides=sides, differs=differs):
                return Selected(what, index.name, spot_of(index), sides, differs=differs)
            case Not(term=inner):
                return self._negated(what, inner)
            case AllOf(terms=terms) | AnyOf(terms=terms):
                parts = [self._operation(part) for part in terms]
                if any(part is None for part in parts):
                    return None
                exact = [part for part in parts if part is not None]
                return Combined(what, exact, unite=isinstance(term, AnyOf))
            case Satisfying(indexer=indexer, selector=selector):
                return self._satisfying(what, indexer, selector)
            case _:
                raise QueryError(f"{term!r} is no term that a store can answer")

    def _negated(self, what: object, inner: Term[Any]) -> Operation | None:
        operation = self._operation(inner)
        if operation is not None:
            operation.what = what
            operation.negative = not operation.negative
        return operation

    def _satisfying(self, what: object, indexer: LabelIndexer, selector: LabelSelector) -> Operation | None:
        """Do as ``_select_labels``, inside ``|`` or ``~``: there a part that needs the objects spoils the whole."""
        self._require(indexer)
        if selector.selects_nothing:
            return Nothing(what, indexer.name)
        parts: list[Operation] = []
        for requirement in selector.requirements:
            part = self._required(indexer.path, requirement)
            if part is None:
                return None
            parts.append(part)
        if not parts:
            return Nothing(what, indexer.name, negative=True)
        return Combined(what, parts, unite=False)

    def _dropped(self, *identities: Identity | Indexer[Any, Any]) -> tuple[Drop, ...]:
        """Give the drops of these indexes."""
        dropped = self._schema.dropped
        return tuple(dropped[identity] for identity in identities if identity in dropped)

    def _required(self, path: str, requirement: Requirement) -> Operation | None:
        """Give the operation that answers a requirement on labels, or None when its key is not indexed."""
        label = LabelKey(path, requirement.key)
        spot = self._schema.find(label)
        return None if spot is None else _label_operation(requirement, label.name, spot)

    def _require(self, indexer: LabelIndexer) -> None:
        """Refuse a LabelIndexer that this store does not have: a scan would hide the slip."""
        if indexer in self._schema.indexers:
            return
        known = (indexer.key(key) for key in indexer.keys)
        if indexer.takes_all or any(
            self._schema.find(key) is None and key not in self._schema.dropped for key in known
        ):
            raise UnknownIndexError(indexer.name, self._schema.names, self._schema.store)


def parts_of_term(term: Term[Any]) -> Iterator[Indexer[Any, Any] | LabelKey]:
    """Give the indexes that a term asks, however deep."""
    match term:
        case AllOf(terms=terms) | AnyOf(terms=terms):
            for part in terms:
                yield from parts_of_term(part)
        case Not(term=inner):
            yield from parts_of_term(inner)
        case Satisfying(indexer=indexer, selector=selector):
            yield from (LabelKey(indexer.path, requirement.key) for requirement in selector.requirements)
        case At() | Absent() | Range() | Prefix() | Edge() | Selecting():
            yield term.index


def _is_field(identity: object, path: JsonPath) -> bool:
    return isinstance(identity, FieldIndexer) and identity.paths == (path,) and not path.plural


def _label_operation(requirement: Requirement, name: str, spot: Spot) -> Operation:
    what = str(requirement)
    match requirement.operator:
        case "=" | "==" | "in":
            return Filed(what, name, spot, tuple(dict.fromkeys(requirement.values)))
        case "!=" | "notin":
            return Filed(what, name, spot, tuple(dict.fromkeys(requirement.values)), negative=True)
        case "exists":
            return Present(what, name, spot)
        case "!":
            return Present(what, name, spot, negative=True)
        case "gt" | "lt":
            matches = requirement.matches_value
            return Passing(what, name, spot, lambda index: _texts_passing(matches, index))


def _in_order(what: object, term: Range[Any] | Prefix[Any] | Edge[Any], spot: Spot) -> Operation:
    """Give the operation that answers a term of a sorted index."""
    name = term.index.name
    match term:
        case Range(low=low, high=high):
            return Passing(what, name, spot, lambda found: _sorted(found).keys_between(low, high))
        case Prefix(prefix=prefix):
            return Passing(what, name, spot, lambda found: _sorted(found).keys_starting_with(prefix))
        case Edge(largest=largest):
            edge = slice(-1, None) if largest else slice(1)
            return Passing(what, name, spot, lambda found: _sorted(found).ordered[edge])


def _sorted(index: MapIndex | ColumnIndex) -> SortedIndex:
    assert isinstance(index, SortedIndex)
    return index


def _texts_passing(test: Callable[[str], bool], index: MapIndex | ColumnIndex) -> list[ValueKey]:
    return [key for key in index.keys() if test(cast("str", key))]  # noqa: SIM118 - an index is no dict


def names_of(namespace: object) -> Names:
    """Read what a query says of namespaces: None is all of them.

    Raises:
        QueryError: it is neither a name nor names.
    """
    if namespace is None:
        return None
    names = (namespace,) if isinstance(namespace, str) else namespace
    if not isinstance(names, Collection):  # no iterator: a query may read it twice
        raise QueryError(f"namespace is a name, several names, or None for all, not {namespace!r}")
    names = tuple(dict.fromkeys(names))
    for name in names:
        if not isinstance(name, str):
            raise QueryError(f"namespace is a name, several names, or None for all, not {namespace!r}")
        if not name:
            raise QueryError('namespace "" names no namespace; for all namespaces use None')
    return names


def _worth_keeping(terms: tuple[Term[Any], ...], *rest: object) -> bool:
    """Tell whether a query is small, hashable, and immutable for certain."""
    # The labels of pods are different each time, and would drive out what comes again.
    if any(type(term) is Selecting for term in terms):
        return False
    if any(isinstance(index, SelectorIndexer) for term in terms for index in parts_of_term(term)):
        return False
    if any(isinstance(term, At) and len(term.keys) > FEW for term in terms):
        return False
    for argument in rest:
        if isinstance(argument, str):
            if len(argument) > _LONGEST_KEPT:
                return False
        elif isinstance(argument, tuple):
            if len(argument) > FEW or not all(type(name) is str for name in argument):
                return False
        elif not (argument is None or isinstance(argument, (LabelSelector, FieldSelector))):
            return False
    return True
