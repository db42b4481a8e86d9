"""Filter: which objects a follower wants, said with the arguments of a query."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from kindex.errors import QueryError
from kindex.indexers.terms import Term, asks_edge
from kindex.objects import labels_of
from kindex.operations import Filed
from kindex.paths import field_path, field_text
from kindex.plans import names_of, no_term, program_of
from kindex.schema import NAMESPACE
from kindex.selectors import FieldSelector, LabelSelector

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kindex.keys import ObjectKey
    from kindex.programs import Program
    from kindex.schema import Schema, Spot
    from kindex.selectors import FieldRequirement
    from kindex.values import ValueKey

T = TypeVar("T")


class Route(NamedTuple):
    """How commits of one schema find who wants something.

    Attributes:
        schema: for which it holds.
        spot: the index in which objects that are wanted are filed under one of *keys*; None where none tells.
        keys: of index values.
        program: the query as this schema answers it; None where it cannot.
    """

    schema: Schema[Any]
    spot: Spot | None = None
    keys: tuple[ValueKey, ...] = ()
    program: Program | None = None


class Filter(Generic[T]):
    """Which objects a follower wants.

    Args:
        terms: conditions made by indexers.
        namespace: a name, several names, or None for all.
        label_selector: as for ``select``.
        field_selector: as for ``select``.
        where: a predicate, or a term, or a label selector.

    Raises:
        QueryError: an argument makes no sense, or asks for the smallest or largest value, which changes with others.
        SelectorError: a selector cannot be understood.
    """

    __slots__ = ("_arguments", "_tests", "everything")

    def __init__(
        self,
        terms: tuple[Term[T], ...] = (),
        namespace: object = None,
        label_selector: object = None,
        field_selector: object = None,
        where: object = None,
    ) -> None:
        selectors = [] if label_selector is None else [LabelSelector.of(label_selector)]
        predicate: Callable[[T], object] | None = None
        if isinstance(where, Term):
            terms = (*terms, where)
        elif callable(where):
            predicate = where
        elif where is not None:
            selectors.append(LabelSelector.of(where))
        names = names_of(namespace)
        fields = None if field_selector is None else FieldSelector.of(field_selector)  # type: ignore[arg-type]  # it checks
        for term in terms:
            if not isinstance(term, Term):
                raise no_term(term)
            if asks_edge(term):
                raise QueryError(f"a follower cannot tell what is smallest or largest ({term}): it changes with others")
        self._arguments = (terms, names, selectors[0] if selectors else None, fields)
        tests: list[Callable[[ObjectKey, T], object]] = []
        if names is not None:
            among = frozenset(names)
            tests.append(lambda key, _obj: key.namespace in among)
        tests += [_labels_test(selector.matcher()) for selector in selectors]
        tests += [_field_test(requirement) for requirement in (fields.requirements if fields is not None else ())]
        tests += [_object_test(term.matches) for term in terms]
        if predicate is not None:
            tests.append(_object_test(predicate))
        self._tests = tests
        self.everything = not tests

    def matches(self, key: ObjectKey, obj: T) -> bool:
        """Tell whether an object is wanted; runs users' code."""
        return all(test(key, obj) for test in self._tests)

    def route(self, schema: Schema[T]) -> Route:
        """Find the index that tells best who wants an object. Runs users' code: it hashes index functions.

        Raises:
            UnknownIndexError: a term's indexer is not in *schema*.
        """
        program = program_of(schema, *self._arguments)
        filed = [each for each in program.selecting if type(each) is Filed]
        if not filed:
            return Route(schema, program=program)
        best = min(filed, key=lambda each: (each.spot[0] == NAMESPACE, len(each.keys)))
        return Route(schema, best.spot, best.keys, program)

    def unindexed(self, schema: Schema[T]) -> Route:
        """Say that no index tells."""
        return Route(schema)


def _labels_test(test: Callable[[Mapping[str, object]], bool]) -> Callable[[ObjectKey, Any], object]:
    return lambda _key, obj: test(labels_of(obj))


def _object_test(test: Callable[[Any], object]) -> Callable[[ObjectKey, Any], object]:
    return lambda _key, obj: test(obj)


def _field_test(requirement: FieldRequirement) -> Callable[[ObjectKey, Any], object]:
    path, test = field_path(requirement.field), requirement.matches_text
    if path.text == "metadata.name":
        return lambda key, _obj: test(key.name)
    if path.text == "metadata.namespace":
        return lambda key, _obj: test(key.namespace)
    return lambda _key, obj: test(field_text(obj, path))
