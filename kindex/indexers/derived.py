"""DerivedIndexer: by what is made of the values at some JSON paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

import attrs

from kindex.budgets import Budget
from kindex.indexers.base import Indexer
from kindex.objects import text_of
from kindex.paths import JsonPath
from kindex.values import IndexValue

K = TypeVar("K", bound=IndexValue)

_NAMESPACE = JsonPath.parse("metadata.namespace")


@attrs.frozen
class DerivedValues(Generic[K]):
    """The index function of a DerivedIndexer.

    Attributes:
        paths: all that it reads, beside the namespace.
        derive: namespace, and for each path a tuple of the values there -> index values. It gives no value for what
            it cannot read, and does not raise.
    """

    paths: tuple[JsonPath, ...]
    derive: Callable[..., Iterable[K]]

    def __call__(self, obj: object) -> Iterable[K]:
        """Give the index values of *obj*."""
        return self.derive(text_of(_NAMESPACE.first(obj)), *[path.values(obj) for path in self.paths])


class DerivedIndexer(Indexer[object, K], Generic[K]):
    """An index by what a function makes of the values at some JSON paths.

    What stands at those paths is decoded in the same pass as the object, and if a transform dropped it, filing the
    object is an error. Odd data is filed under no value: one wrong object fails no write.

    >>> def tags(namespace, images):
    ...     return [image.partition(":")[2] for image in texts(images)]
    >>> by_tag = DerivedIndexer("tag", ["spec.containers[*].image"], tags)
    >>> by_tag.values_of({"spec": {"containers": [{"image": "web:1"}, {"image": 3}, {"image": "db:2"}]}})
    ('1', '2')
    """

    def __init__(
        self, name: str, paths: Iterable[str], derive: Callable[..., Iterable[K]], *, budget: Budget | None = None
    ) -> None:
        super().__init__(name, DerivedValues(tuple(map(JsonPath.parse, paths)), derive), budget=budget)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @property
    def values(self) -> DerivedValues[K]:
        """The index function, which says what it reads."""
        function = self.function
        assert isinstance(function, DerivedValues)
        return function


def texts(values: Iterable[object]) -> list[str]:
    """Give those of *values* that are text and not empty.

    >>> texts(["a", "", None, 3, ["b"]])
    ['a']
    """
    return [str.__str__(value) for value in values if isinstance(value, str) and value]


def items(values: Iterable[object]) -> list[object]:
    """Give the items of those of *values* that are lists.

    >>> items([["a", 1], "b"])
    ['a', 1]
    """
    return [item for value in values if isinstance(value, (list, tuple)) for item in value]


def parts(values: Iterable[object]) -> list[object]:
    """Give those of *values* that may have members: maps, models.

    >>> parts([{"host": "a"}, None, "b", ["c"]])
    [{'host': 'a'}]
    """
    return [value for value in values if value is not None and not isinstance(value, (str, int, float, list, tuple))]


def unsaid(values: Iterable[object]) -> bool:
    """Tell whether a list is missing, null or empty, given all values at its path.

    >>> unsaid(()), unsaid([[]]), unsaid([["a"]]), unsaid(["odd"])
    (True, True, False, False)
    """
    return all(isinstance(value, (list, tuple)) and not value for value in values)
