"""Indexes over Istio's VirtualServices: by gateway and by host."""

from __future__ import annotations

from typing import Any, Final

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.derived import DerivedIndexer, items, texts, unsaid
from kindex.indexers.networking.addresses import ip_text
from kindex.indexers.networking.hosts import ANY_HOST, HostIndexer, host_text, text_wildcards
from kindex.indexers.networking.references import Reference, key_named, reference_in
from kindex.indexers.terms import Term

MESH: Final = "mesh"


class VirtualServiceGatewayIndexer(DerivedIndexer[Any]):  # Any: "mesh", or namespace and name
    """An index by ``spec.gateways`` of VirtualService (networking.istio.io/v1): which are bound to this Gateway?

    A bare name is a gateway in the VirtualService's own namespace, as is ``./name``; ``namespace/name`` is one
    anywhere, and so is the old ``name.namespace.svc.cluster.local``. ``mesh`` stands for all sidecars, and no gateway
    at all means ``mesh``.

    >>> from kindex import ObjectKey, Store
    >>> by_gateway = VirtualServiceGatewayIndexer()
    >>> services = Store(indexers=[by_gateway])
    >>> for name, gateways in ("a", ["main"]), ("b", ["prod/main", "mesh"]), ("c", None):
    ...     _ = services.put({"metadata": {"name": name, "namespace": "prod"}, "spec": {"gateways": gateways}})
    >>> [key.name for key in services.keys(by_gateway.of(ObjectKey("prod", "main")), order_by="key")]
    ['a', 'b']
    >>> [key.name for key in services.keys(by_gateway.mesh(), order_by="key")]
    ['b', 'c']
    """

    def __init__(self, *, name: str = "virtual service gateway", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.gateways"], _gateways, budget=budget)

    def of(self, gateway: object) -> Term[object]:
        """Select the VirtualServices that are bound to *gateway*, a stored object or an ObjectKey.

        Raises:
            IndexerError: it is no Gateway, or has no namespace.
        """
        return self.at(key_named(gateway, "Gateway"))

    def mesh(self) -> Term[object]:
        """Select the VirtualServices that hold inside the mesh."""
        return self.at(MESH)


class VirtualServiceHostIndexer(HostIndexer):
    """An index by ``spec.hosts`` of VirtualService (networking.istio.io/v1): which say where this host leads?

    A ``*`` at the front stands for any text: ``*.example.com`` covers ``a.b.example.com``. A name without a dot is a
    Service in the VirtualService's own namespace, and filed in full: ``web.prod.svc.cluster.local``.

    Args:
        cluster_domain: what ends the full names of Services.

    >>> from kindex import Store
    >>> by_host = VirtualServiceHostIndexer()
    >>> services = Store(indexers=[by_host])
    >>> for name, host in ("a", "web"), ("b", "*.prod.svc.cluster.local"), ("c", "web.example.com"):
    ...     _ = services.put({"metadata": {"name": name, "namespace": "prod"}, "spec": {"hosts": [host]}})
    >>> web = {"kind": "Service", "metadata": {"name": "web", "namespace": "prod"}}
    >>> [key.name for key in services.keys(by_host.for_service(web), order_by="key")]
    ['a', 'b']
    >>> services.count(by_host.for_host("web.example.com"))
    1
    """

    _wildcards = text_wildcards

    def __init__(
        self,
        *,
        cluster_domain: str = "cluster.local",
        name: str = "virtual service host",
        budget: Budget | None = None,
    ) -> None:
        super().__init__(name, ["spec.hosts[*]"], _FullHosts(host_text(cluster_domain)), budget=budget)

    def for_service(self, service: object, *, catch_all: bool = True) -> Term[object]:
        """Select the VirtualServices for the full name of a Service, a stored object or an ObjectKey.

        Raises:
            IndexerError: it is no Service, or has no namespace.
        """
        namespace, name = key_named(service, "Service")
        function = self.values.derive
        assert isinstance(function, _FullHosts)
        return self.for_host(function.full(name, namespace), catch_all=catch_all)

    def _host(self, host: object) -> str:
        name = super()._host(host)
        if _is_short(name):
            raise IndexerError(
                f"{host!r} means another Service in each namespace; ask for_service(ObjectKey(namespace, {host!r}))"
            )
        return name


@attrs.frozen
class _FullHosts:
    domain: str

    def __call__(self, namespace: str, hosts: tuple[object, ...]) -> list[str]:
        found = [host for text in texts(hosts) if (host := host_text(text))]
        return [self.full(host, namespace) if _is_short(host) else ip_text(host) for host in found]

    def full(self, name: str, namespace: str) -> str:
        return f"{name}.{namespace}.svc.{self.domain}"


def _is_short(host: str) -> bool:
    return "." not in host and ":" not in host and host != ANY_HOST


def _gateways(namespace: str, gateways: tuple[object, ...]) -> list[str | Reference]:
    if unsaid(gateways):
        return [MESH]
    return [gateway for text in texts(items(gateways)) if (gateway := _gateway(text, namespace)) is not None]


def _gateway(text: str, namespace: str) -> str | Reference | None:
    if text == MESH:
        return MESH
    if "/" not in text and "." in text:  # name.namespace.svc.cluster.local, as Istio reads it
        name, other = text.split(".")[:2]
        return (other, name) if name and other else None
    reference = reference_in(text, namespace)
    return (namespace, reference[1]) if reference is not None and reference[0] == "." else reference
