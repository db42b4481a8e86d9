"""Indexes over Istio's Gateways: by selector pair, host, port, and the Ingress that an annotation names."""

from __future__ import annotations

from typing import Final

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.derived import texts
from kindex.indexers.networking.hosts import HostIndexer, host_text, text_wildcards
from kindex.indexers.networking.ports import PortIndexer, ports
from kindex.indexers.networking.references import Reference, ReferenceIndexer, reference_in
from kindex.indexers.networking.selector_pairs import SelectorPairIndexer, pairs
from kindex.indexers.terms import At, Term
from kindex.keys import ObjectKey
from kindex.objects import text_of
from kindex.path_syntax import text_of_steps
from kindex.paths import JsonPath

INGRESS_ANNOTATION: Final = "external-dns.alpha.kubernetes.io/ingress"
"""The annotation by which external-dns is told that an Ingress stands in front of a Gateway."""

_ANY_NAMESPACE: Final = "*"
_NAMESPACE: Final = JsonPath.parse("metadata.namespace")


class IstioGatewaySelectorIndexer(SelectorPairIndexer):
    """An index by the pairs of ``spec.selector`` of Istio's Gateway (networking.istio.io/v1).

    ``without()`` selects the gateways that any workload may serve.

    >>> by_pair = IstioGatewaySelectorIndexer()
    >>> by_pair.values_of({"spec": {"selector": {"istio": "ingressgateway"}}}), by_pair.values_of({"spec": {}})
    ((('istio', 'ingressgateway'),), ())
    """

    def __init__(self, *, name: str = "istio gateway selector", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.selector"], pairs, budget=budget)


class IstioGatewayHostIndexer(HostIndexer):
    """An index by ``spec.servers[*].hosts`` of Istio's Gateway (networking.istio.io/v1): which take this host?

    A ``*`` at the front stands for any text: ``*.example.com`` covers ``a.b.example.com``. In front of a host may stand
    the namespace from which VirtualServices may use it, ``.`` for the gateway's own: ``prod/a.example.com``. Gateways
    are filed by host, and by namespace and host.

    >>> from kindex import Store
    >>> by_host = IstioGatewayHostIndexer()
    >>> gateways = Store(indexers=[by_host])
    >>> for name, host in ("a", "prod/*.example.com"), ("b", "./a.example.com"), ("c", "*"):
    ...     spec = {"servers": [{"hosts": [host]}]}
    ...     _ = gateways.put({"metadata": {"name": name, "namespace": "edge"}, "spec": spec})
    >>> [key.name for key in gateways.keys(by_host.for_host("a.example.com"), order_by="key")]
    ['a', 'b', 'c']
    >>> [key.name for key in gateways.keys(by_host.for_host("a.example.com", namespace="prod"), order_by="key")]
    ['a', 'c']
    """

    _wildcards = text_wildcards

    def __init__(self, *, name: str = "istio gateway host", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.servers[*].hosts[*]"], _hosts, budget=budget)

    def for_host(self, host: str, *, catch_all: bool = True, namespace: str | None = None) -> Term[object]:
        """Select the gateways that take *host*, by name or by a wildcard that covers it.

        Args:
            host: a name or a wildcard, without scheme, port, path and namespace.
            catch_all: whether gateways count that take ``*``.
            namespace: count only hosts that VirtualServices of this namespace may use.

        Raises:
            IndexerError: *host* is not one.
        """
        if namespace is None:
            return super().for_host(host, catch_all=catch_all)
        if not isinstance(namespace, str) or not namespace:
            raise IndexerError(f"a namespace is text, not {namespace!r}; None asks for all")
        found = self._covering(host, catch_all=catch_all)
        return At(self, tuple((place, name) for place in (namespace, _ANY_NAMESPACE) for name in found))


class IstioGatewayPortIndexer(PortIndexer):
    """An index by ``spec.servers[*].port.number`` of Istio's Gateway (networking.istio.io/v1).

    >>> by_port = IstioGatewayPortIndexer()
    >>> by_port.values_of({"spec": {"servers": [{"port": {"number": 443}}, {"port": {"number": "80"}}, {}]}})
    (443, 80)
    """

    def __init__(self, *, name: str = "istio gateway port", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.servers[*].port.number"], ports, budget=budget)


class IngressAnnotationIndexer(ReferenceIndexer):
    """An index by the Ingress that an annotation of any object names: which gateways stand behind this one?

    Reads ``metadata.annotations``, unless told otherwise external-dns' ``external-dns.alpha.kubernetes.io/ingress``:
    ``namespace/name``, or the name of an Ingress in the object's own namespace. It may name one that is not there.

    >>> from kindex import ObjectKey, Store
    >>> by_ingress = IngressAnnotationIndexer()
    >>> gateways = Store(indexers=[by_ingress])
    >>> annotations = {"external-dns.alpha.kubernetes.io/ingress": "edge/main"}
    >>> _ = gateways.put({"metadata": {"name": "a", "namespace": "prod", "annotations": annotations}})
    >>> gateways.keys(by_ingress.of(ObjectKey("edge", "main")))
    [ObjectKey(namespace='prod', name='a')]
    """

    _kind = "Ingress"

    def __init__(
        self, annotation: str = INGRESS_ANNOTATION, *, name: str | None = None, budget: Budget | None = None
    ) -> None:
        if not isinstance(annotation, str) or not annotation:
            raise IndexerError(f"an annotation key is text that is not empty, not {annotation!r}")
        path = text_of_steps(("metadata", "annotations", annotation))
        super().__init__(name if name is not None else f"{annotation} annotation", [path], _references, budget=budget)


def ingress_of(gateway: object, annotation: str = INGRESS_ANNOTATION) -> ObjectKey | None:
    """Give the key of the Ingress that the annotation of *gateway* names; None if it names none.

    >>> annotations = {"external-dns.alpha.kubernetes.io/ingress": "main"}
    >>> ingress_of({"metadata": {"name": "a", "namespace": "prod", "annotations": annotations}})
    ObjectKey(namespace='prod', name='main')
    """
    named = JsonPath("metadata", "annotations", annotation).first(gateway)
    reference = reference_in(named, text_of(_NAMESPACE.first(gateway)))
    return None if reference is None else ObjectKey(*reference)


def _hosts(own: str, hosts: tuple[object, ...]) -> list[str | Reference]:
    found: list[str | Reference] = []
    for text in texts(hosts):
        namespace, slash, host = text.rpartition("/")
        name = host_text(host)
        if name and (namespace or not slash) and "/" not in namespace:
            found += [name, (own if namespace == "." else namespace or _ANY_NAMESPACE, name)]
    return found


def _references(namespace: str, annotations: tuple[object, ...]) -> list[Reference]:
    return [reference for text in annotations if (reference := reference_in(text, namespace)) is not None]
