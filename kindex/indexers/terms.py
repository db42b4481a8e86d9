"""Terms: query values that an indexer makes, combined with ``&``, ``|`` and ``~``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

import msgspec

from kindex.errors import QueryError
from kindex.selectors import LabelSelector
from kindex.values import decoded, keys_in, ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kindex.indexers.base import Indexer
    from kindex.indexers.labels import LabelIndexer, LabelKey
    from kindex.values import ValueKey

T_contra = TypeVar("T_contra", contravariant=True)
S = TypeVar("S")


class Term(msgspec.Struct, Generic[T_contra], frozen=True):
    """One condition on objects, which an index answers.

    Terms are immutable values: build one once, use it in any query of any store that has its indexer.

    >>> from kindex import FieldIndexer
    >>> by_node = FieldIndexer("spec.nodeName")
    >>> print(by_node.at("n1") | by_node.at("n2") & ~by_node.at("n3"))
    (spec.nodeName = 'n1' or (spec.nodeName = 'n2' and not spec.nodeName = 'n3'))
    """

    def matches(self, obj: T_contra) -> bool:
        """Tell whether *obj*, as it is now, fulfils the term; runs its index function."""
        raise NotImplementedError

    @overload
    def __and__(self, other: Term[T_contra]) -> Term[T_contra]: ...
    @overload
    def __and__(self: Term[object], other: Term[S]) -> Term[S]: ...
    def __and__(self, other: Term[Any]) -> Term[Any]:  # Any: the overloads say it
        """Both."""
        return AllOf(_joined(AllOf, self, other)) if isinstance(other, Term) else NotImplemented

    @overload
    def __or__(self, other: Term[T_contra]) -> Term[T_contra]: ...
    @overload
    def __or__(self: Term[object], other: Term[S]) -> Term[S]: ...
    def __or__(self, other: Term[Any]) -> Term[Any]:  # Any: the overloads say it
        """Either, or both."""
        return AnyOf(_joined(AnyOf, self, other)) if isinstance(other, Term) else NotImplemented

    def __invert__(self) -> Term[T_contra]:
        """The others, including objects that have no value."""
        return Not(self)

    def __bool__(self) -> bool:
        """Refuse: ``a and b`` would silently be ``b``."""
        raise QueryError(f"a term has no truth value; combine terms with & | ~, not and/or/not ({self})")


class At(Term[T_contra], frozen=True):
    """Objects that are filed under one of the values."""

    index: Indexer[Any, Any] | LabelKey  # Any: the term's own parameter says what it takes
    keys: tuple[ValueKey, ...]

    def matches(self, obj: T_contra) -> bool:
        return any(key in self.keys for key in keys_in(self.index.filing_of(obj)))

    def __str__(self) -> str:
        shown = [repr(decoded(key)) for key in self.keys]
        return f"{self.index.name} = {shown[0]}" if len(shown) == 1 else f"{self.index.name} in ({', '.join(shown)})"


class Absent(Term[T_contra], frozen=True):
    """Objects that are filed under no value."""

    index: Indexer[Any, Any] | LabelKey  # Any: as above

    def matches(self, obj: T_contra) -> bool:
        return not keys_in(self.index.filing_of(obj))

    def __str__(self) -> str:
        return f"{self.index.name} is absent"


class Range(Term[T_contra], frozen=True):
    """Objects with a value of the same type from *low* to *high*, both included; None is open."""

    index: Indexer[Any, Any]  # Any: as above
    low: ValueKey | None
    high: ValueKey | None

    def holds(self, key: ValueKey) -> bool:
        """Tell whether *key* is in the range."""
        at = ordering(key)
        low = None if self.low is None else ordering(self.low)
        high = None if self.high is None else ordering(self.high)
        return (low is None or (low[0] == at[0] and low <= at)) and (high is None or (high[0] == at[0] and at <= high))

    def matches(self, obj: T_contra) -> bool:
        return any(map(self.holds, keys_in(self.index.filing_of(obj))))

    def __str__(self) -> str:
        low = "" if self.low is None else f"{decoded(self.low)!r} <= "
        high = "" if self.high is None else f" <= {decoded(self.high)!r}"
        return f"{low}{self.index.name}{high}"


class Prefix(Term[T_contra], frozen=True):
    """Objects with a text value that starts with *prefix*."""

    index: Indexer[Any, Any]  # Any: as above
    prefix: str

    def holds(self, key: ValueKey) -> bool:
        """Tell whether *key* starts so."""
        return type(key) is str and key.startswith(self.prefix)

    def matches(self, obj: T_contra) -> bool:
        return any(map(self.holds, keys_in(self.index.filing_of(obj))))

    def __str__(self) -> str:
        return f"{self.index.name} starts with {self.prefix!r}"


class Edge(Term[T_contra], frozen=True):
    """Objects at the smallest value that the store has, or at the largest."""

    index: Indexer[Any, Any]  # Any: as above
    largest: bool

    def matches(self, obj: T_contra) -> bool:  # noqa: ARG002 - a Term
        raise QueryError(f"whether one object is at the {self} depends on the others: ask a store")

    def __str__(self) -> str:
        return f"{'largest' if self.largest else 'smallest'} {self.index.name}"


class Satisfying(Term[T_contra], frozen=True):
    """Objects whose map of labels, wherever it is, satisfies a label selector."""

    indexer: LabelIndexer
    selector: LabelSelector

    def matches(self, obj: T_contra) -> bool:
        return self.selector.matches(self.indexer.labels_of(obj))

    def __str__(self) -> str:
        return f"{self.indexer.path} satisfies {str(self.selector)!r}"


class Selecting(Term[T_contra], frozen=True):
    """Objects that carry a selector which matches one of some labels; where it *differs*, one of two and not both."""

    index: Indexer[Any, Any]  # Any: as above
    sides: tuple[tuple[tuple[str, str], ...], ...]
    differs: bool = False

    def __hash__(self) -> int:
        return hash(self.sides)  # asked for once a query, and an indexer's takes longer than all of them

    def matches(self, obj: T_contra) -> bool:
        selectors = [LabelSelector.parse(cast("str", key)) for key in keys_in(self.index.filing_of(obj))]
        answers = [any(selector.matches(labels) for selector in selectors) for labels in map(dict, self.sides)]
        return any(answers) and not (self.differs and all(answers))

    def __str__(self) -> str:
        shown = [f"{{{','.join(f'{key}={value}' for key, value in labels)}}}" for labels in self.sides]
        return f"{self.index.name} matches {' or '.join(shown)}{', not both' if self.differs else ''}"


class AllOf(Term[T_contra], frozen=True):
    """Objects that fulfil every one of the terms."""

    terms: tuple[Term[Any], ...]  # Any: checked where they were joined

    def matches(self, obj: T_contra) -> bool:
        return all(term.matches(obj) for term in self.terms)

    def __str__(self) -> str:
        return f"({' and '.join(map(str, self.terms))})"


class AnyOf(Term[T_contra], frozen=True):
    """Objects that fulfil at least one of the terms."""

    terms: tuple[Term[Any], ...]  # Any: as above

    def matches(self, obj: T_contra) -> bool:
        return any(term.matches(obj) for term in self.terms)

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.terms))})"


class Not(Term[T_contra], frozen=True):
    """Objects that do not fulfil the term."""

    term: Term[T_contra]

    def matches(self, obj: T_contra) -> bool:
        return not self.term.matches(obj)

    def __invert__(self) -> Term[T_contra]:
        return self.term

    def __str__(self) -> str:
        return f"not {self.term}"


def asks_edge(term: Term[Any]) -> bool:
    """Tell whether *term* asks, somewhere in it, for the smallest or largest value."""
    match term:
        case Edge():
            return True
        case Not(term=inner):
            return asks_edge(inner)
        case AllOf(terms=parts) | AnyOf(terms=parts):
            return any(map(asks_edge, parts))
        case _:
            return False


def settled(term: Term[Any], value_of: Callable[[Edge[Any]], Term[Any]]) -> Term[Any]:
    """Put terms that *value_of* gives in place of those that ask for the smallest or largest value."""
    match term:
        case Edge():
            return value_of(term)
        case Not(term=inner):
            return Not(settled(inner, value_of))
        case AllOf(terms=parts):
            return AllOf(tuple(settled(part, value_of) for part in parts))
        case AnyOf(terms=parts):
            return AnyOf(tuple(settled(part, value_of) for part in parts))
        case _:
            return term


def settled_among(term: Term[Any], objects: Sequence[Any]) -> Term[Any]:
    """Put into *term* the values that are smallest and largest among *objects*; runs their index functions.

    O(objects) for each.
    """

    def value_of(edge: Edge[Any]) -> Term[Any]:
        keys = {key for obj in objects for key in keys_in(edge.index.filing_of(obj))}
        return At(edge.index, ((max if edge.largest else min)(keys, key=ordering),) if keys else ())

    return settled(term, value_of)


def _joined(kind: type[AllOf[Any] | AnyOf[Any]], *terms: Term[Any]) -> tuple[Term[Any], ...]:
    """Flatten, so that a thousand terms joined one by one stay one level deep."""
    parts: list[Term[Any]] = []
    for term in terms:
        parts.extend(term.terms if type(term) is kind else (term,))
    return tuple(parts)
