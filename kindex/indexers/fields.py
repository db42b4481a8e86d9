"""FieldIndexer: by the values at JSON paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.base import Indexer
from kindex.objects import text_of
from kindex.paths import JsonPath
from kindex.values import encoded

if TYPE_CHECKING:
    from kindex.values import ValueKey


@attrs.frozen
class FieldValues:
    """The index function of a FieldIndexer: the texts at some paths."""

    paths: tuple[JsonPath, ...]

    def __call__(self, obj: object) -> str | list[str] | None:
        """Give the texts at all the paths of *obj*; the one text, or None, where there is one path to one value."""
        paths = self.paths
        if len(paths) == 1 and not paths[0].plural:  # as nearly always: no list for each object
            value = paths[0].first(obj)
            return value if value is None or type(value) is str else text_of(value)
        return [text_of(value) for path in self.paths for value in path.values(obj)]


@attrs.frozen(init=False, repr=False)
class FieldIndexer(Indexer[object, str]):
    """An index by the scalars at one JSON path or several, as text.

    Over a single path without ``[*]`` it also answers ``field_selector=``; of any other path terms ask. Booleans are
    ``true`` and ``false``, whole numbers decimal; what is no scalar has no text and is filed under ``""``. Paths are
    JSON names for every kind of object: ``spec.nodeName`` also finds ``spec.node_name`` on an official model.

    Raises:
        PathSyntaxError: a path cannot be read.
        IndexerError: there is no path, or one is given twice.

    >>> from kindex import Store
    >>> by_node = FieldIndexer("spec.nodeName")
    >>> pods = Store(indexers=[by_node])
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}, "spec": {"nodeName": "n1"}})
    >>> pods.count(by_node.at("n1")), pods.count(field_selector="spec.nodeName=n1")
    (1, 1)
    >>> FieldIndexer("spec.volumes[*].configMap.name").values_of(
    ...     {"spec": {"volumes": [{"configMap": {"name": "a"}}, {"emptyDir": {}}, {"configMap": {"name": "b"}}]}}
    ... )
    ('a', 'b')
    """

    def __init__(self, *paths: str, name: str | None = None, budget: Budget | None = None) -> None:
        parsed = tuple(map(JsonPath.parse, paths))
        if not parsed:
            raise IndexerError("FieldIndexer needs a path, such as FieldIndexer('spec.nodeName')")
        if len(set(parsed)) < len(parsed):
            raise IndexerError(f"FieldIndexer: a path is given twice in {', '.join(paths)}")
        texts = [path.text for path in parsed]
        super().__init__(name if name is not None else " | ".join(texts), FieldValues(parsed), budget=budget)

    def __repr__(self) -> str:
        return f"FieldIndexer({', '.join(repr(path.text) for path in self.paths)})"

    @property
    def paths(self) -> tuple[JsonPath, ...]:
        """The paths whose values it files."""
        function = self.function
        assert isinstance(function, FieldValues)
        return function.paths

    def _key(self, value: object) -> ValueKey:
        return text_of(value) if isinstance(value, (int, float)) else encoded(super()._key(value))
