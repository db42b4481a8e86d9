"""Shapes: what queries ask, without the values that they ask for.

``app=web`` and ``app=db`` have one shape. All of it is text and truth values: a shape keeps no object, no term and no
index function alive, and is compared without running anybody's code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from kindex.indexers.labels import LabelKey
from kindex.indexers.terms import Absent, AllOf, AnyOf, At, Edge, Not, Prefix, Range, Satisfying, Selecting, Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kindex.indexers.base import Indexer
    from kindex.selectors import Requirement

ConditionOn: TypeAlias = Literal["namespace", "label", "field", "index"]


class Condition(NamedTuple):
    """One condition of a query, without its values.

    Attributes:
        on: ``"namespace"`` for the argument of that name, ``"label"``, ``"field"``, or ``"index"`` for a term.
        name: the path of the map of labels, the path of the field, or the name of the term's index.
        key: the label key, else empty.
        operator: as a selector writes it, or as the method that makes the term is called.
    """

    on: ConditionOn
    name: str
    key: str
    operator: str

    def __str__(self) -> str:
        match self.on:
            case "namespace":
                return "namespace"
            case "label":
                name = LabelKey(self.name, self.key).name
                return {"exists": name, "!": f"!{name}"}.get(self.operator, f"{name} {self.operator}")
            case _:
                return f"{self.name} {self.operator}"


class Shape(NamedTuple):
    """What the queries of one shape have in common.

    Attributes:
        answered: the conditions that indexes answered, sorted, each once.
        checked: those that were checked on the objects.
        order_by: ``"key"`` or the name of the index; empty without an order.
        where: whether there was a predicate.
    """

    answered: tuple[Condition, ...] = ()
    checked: tuple[Condition, ...] = ()
    order_by: str = ""
    where: bool = False

    @property
    def length(self) -> int:
        """How many characters of text it keeps alive, to bound what a shape may take."""
        return sum(len(condition.name) + len(condition.key) for condition in (*self.answered, *self.checked))

    def __str__(self) -> str:
        parts = [str(condition) for condition in self.answered]
        parts += [f"[{condition}]" for condition in self.checked]
        text = ", ".join(parts) or "every object"
        return f"{text}{' where' if self.where else ''}{f' order by {self.order_by}' if self.order_by else ''}"


ON_NAMESPACE = Condition("namespace", "", "", "")


def on_label(path: str, requirement: Requirement) -> Condition:
    """Give the condition that *requirement* puts on the map of labels at *path*."""
    operator = "=" if requirement.operator == "==" else requirement.operator
    return Condition("label", path, requirement.key, operator)


def conditions_of(term: Term[Any]) -> tuple[Condition, ...]:
    """Give the conditions in *term*, however they are combined; each once."""
    return tuple(dict.fromkeys(_conditions(term)))


def _conditions(term: Term[Any]) -> Iterator[Condition]:
    match term:
        case AllOf(terms=terms) | AnyOf(terms=terms):
            for part in terms:
                yield from _conditions(part)
        case Not(term=inner):
            for condition in _conditions(inner):
                yield condition._replace(operator=_opposite(condition.operator))
        case Satisfying(indexer=indexer, selector=selector):
            for requirement in selector.requirements:
                yield on_label(indexer.path, requirement)
        case At(index=index, keys=keys):
            yield _on_index(index, "=" if len(keys) == 1 else "in", "at" if len(keys) == 1 else "among")
        case Absent(index=index):
            yield _on_index(index, "!", "absent")
        case Range(index=index):
            yield _on_index(index, "", "between")
        case Prefix(index=index):
            yield _on_index(index, "", "starting_with")
        case Edge(index=index, largest=largest):
            yield _on_index(index, "", "largest" if largest else "smallest")
        case _:
            yield from _on_selectors(term)


def _on_selectors(term: Term[Any]) -> Iterator[Condition]:
    match term:
        case Selecting(index=index, differs=True):
            yield _on_index(index, "", "matching_differs")
        case Selecting(index=index, sides=sides):
            yield _on_index(index, "", "matching" if len(sides) == 1 else "matching_either")


def _on_index(index: Indexer[Any, Any] | LabelKey, label_operator: str, operator: str) -> Condition:
    """Name a condition on a label as a selector would: it is the same question."""
    if isinstance(index, LabelKey):
        return Condition("label", index.path, index.key, label_operator)
    return Condition("index", index.name, "", operator)


_OPPOSITES = {"=": "!=", "!=": "=", "in": "notin", "notin": "in", "!": "exists", "exists": "!"}


def _opposite(operator: str) -> str:
    return _OPPOSITES.get(operator) or (operator[4:] if operator.startswith("not ") else f"not {operator}")
