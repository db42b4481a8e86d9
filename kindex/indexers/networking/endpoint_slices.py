"""The index over EndpointSlices: by Service."""

from __future__ import annotations

from typing import Final

from kindex.budgets import Budget
from kindex.indexers.networking.references import LocalReferenceIndexer, names

SERVICE_NAME: Final = "kubernetes.io/service-name"


class EndpointSliceServiceIndexer(LocalReferenceIndexer):
    """An index by the label ``kubernetes.io/service-name`` of EndpointSlice (discovery.k8s.io/v1): whose?

    >>> from kindex import ObjectKey, Store
    >>> by_service = EndpointSliceServiceIndexer()
    >>> slices = Store(indexers=[by_service])
    >>> labels = {"kubernetes.io/service-name": "web"}
    >>> _ = slices.put({"metadata": {"name": "web-x7k2p", "namespace": "prod", "labels": labels}})
    >>> slices.keys(by_service.of(ObjectKey("prod", "web")))
    [ObjectKey(namespace='prod', name='web-x7k2p')]
    """

    _kind = "Service"

    def __init__(self, *, name: str = "endpoint slice service", budget: Budget | None = None) -> None:
        super().__init__(name, [f"metadata.labels['{SERVICE_NAME}']"], names, budget=budget)
