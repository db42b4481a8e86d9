"""NameIndexer: by name, whatever the namespace."""

from __future__ import annotations

from kindex.budgets import Budget
from kindex.indexers.fields import FieldIndexer


class NameIndexer(FieldIndexer):
    """An index by ``metadata.name`` (every kind): which objects are called so, in all namespaces?

    A store finds an object by namespace and name without it. It also answers ``field_selector="metadata.name=..."``.

    >>> from kindex import Store
    >>> by_name = NameIndexer()
    >>> ingresses = Store(indexers=[by_name])
    >>> for namespace in ("a", "b"):
    ...     _ = ingresses.put({"metadata": {"name": "web", "namespace": namespace}})
    >>> ingresses.count(by_name.at("web")), ingresses.count(by_name.at("web"), namespace="a")
    (2, 1)
    """

    def __init__(self, *, name: str | None = None, budget: Budget | None = None) -> None:
        super().__init__("metadata.name", name=name, budget=budget)

    def __repr__(self) -> str:
        return f"NameIndexer(name={self.name!r})"
