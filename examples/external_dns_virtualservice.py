"""The DNS records of Istio's VirtualServices: which names lead to the load balancers of their gateways.

A VirtualService is bound to gateways by name, and each name of it leads where the gateways lead that take the name. The
gateways' targets are those of ``external_dns_gateway.py``. For a service or an ingress that changed, indexes find the
gateways, and for these the VirtualServices.

What this cannot promise: what ``external_dns_gateway.py`` cannot either.

    python -m examples.external_dns_virtualservice --file examples/manifests.yaml
    python -m examples.external_dns_virtualservice --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from examples.external_dns_gateway import (
    GATEWAY,
    INGRESS,
    SERVICE,
    Edge,
    Records,
    Targets,
    annotated,
    in_order,
    is_ours,
    names_in,
    targets_of,
    walking,
)
from examples.running import Kind, Results, Views, controller_main
from kindex import Delta, JsonPath, ObjectKey
from kindex.indexers.derived import texts
from kindex.indexers.networking import VirtualServiceGatewayIndexer
from kindex.indexers.networking.hosts import host_text
from kindex.objects import key_of

by_gateway = VirtualServiceGatewayIndexer()


class VirtualServiceDnsController:
    """Tell the DNS records of each Istio VirtualService, as it, gateways, services and ingresses change."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("networking.istio.io/v1", "VirtualService", (by_gateway,)),
        GATEWAY,
        SERVICE,
        INGRESS,
    )

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.routes, self.edge = views["VirtualService"], Edge(views)
        self.results = Results(tell)

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at each VirtualService that a change concerns."""
        if kind == "VirtualService":
            self.settle(delta.key)
            return
        gateways = self.edge.gateways_touched(kind, delta)
        for key in {key for gateway in gateways for key in self.routes.keys(by_gateway.of(gateway))}:
            self.settle(key)

    def settle(self, key: ObjectKey) -> None:
        """Find the records of one VirtualService."""
        route = self.routes.get(key)
        if route is None or not is_ours(route):
            self.results.drop(key)
            return
        records, wrong = records_of(route, self.edge.gateways.get, self.edge.targets_of)
        self.results.put(key, records, wrong=wrong)


def records_of(
    route: object, gateway_called: Callable[[ObjectKey], object], targets_by: Callable[[object], Targets]
) -> tuple[Records, str]:
    """Make the records of a VirtualService, and say what is wrong with its gateways."""
    names = names_in([host.rpartition("/")[2] for host in texts(_hosts.values(route))] + annotated(route, "hostname"))
    if said := in_order(annotated(route, "target")):
        return Records((name, said) for name in names), ""
    wrong: list[str] = []
    found: list[tuple[object, Targets]] = []
    for key in gateways_of(route):
        gateway = gateway_called(key)
        if gateway is None:
            wrong.append(f"gateway {key} is not there")
            continue
        targets = targets_by(gateway)
        wrong += [f"gateway {key}: {targets.wrong}"] if targets.wrong else []
        found.append((gateway, targets))
    leading = [
        (name, in_order(target for gateway, each in found if binds(route, gateway, name) for target in each.targets))
        for name in names
    ]
    return Records((name, targets) for name, targets in leading if targets), "; ".join(wrong)


def gateways_of(route: object) -> list[ObjectKey]:
    """Give the keys of the gateways that a VirtualService is bound to; none for ``mesh``, which no gateway means, too.

    >>> spec = {"gateways": ["mesh", "main", "edge/main"]}
    >>> [str(key) for key in gateways_of({"metadata": {"name": "a", "namespace": "prod"}, "spec": spec})]
    ['prod/main', 'edge/main']
    """
    own = key_of(route).namespace
    found = []
    for text in texts(_gateways.values(route)):
        if text == "mesh":
            continue
        if "/" in text:
            namespace, _, name = text.partition("/")
        elif "." in text:  # name.namespace.svc.cluster.local, which Istio still takes
            name, namespace = text.split(".")[:2]
        else:
            namespace, name = own, text
        if name and namespace and "/" not in name:
            found.append(ObjectKey(own if namespace == "." else namespace, name))
    return list(dict.fromkeys(found))


def binds(route: object, gateway: object, name: str) -> bool:
    """Tell whether a gateway takes a name of a VirtualService: by its hosts, from the VirtualService's namespace."""
    own, edge = key_of(route).namespace, key_of(gateway).namespace
    exported = texts(_export_to.values(route))
    if exported and not any(each in ("*", edge) or (each == "." and own == edge) for each in exported):
        return False
    for text in texts(_server_hosts.values(gateway)):
        namespace, slash, host = text.rpartition("/")
        host = host_text(host)
        if "/" in namespace or (slash and namespace not in ("*", own) and (namespace != "." or own != edge)):
            continue
        if host in ("*", name) or (host.startswith("*.") and name.endswith(host[1:])):
            return True
    return False


def scan(
    routes: Iterable[object], gateways: Iterable[object], services: Iterable[object], ingresses: Iterable[object]
) -> dict[ObjectKey, Records]:
    """Find the records of all VirtualServices by walking everything: what the controller must agree with."""
    every, ask = list(gateways), walking(services, ingresses)

    def gateway_called(key: ObjectKey) -> object:
        return next((each for each in every if key_of(each) == key), None)

    return {
        key_of(route): records_of(route, gateway_called, lambda gateway: targets_of(gateway, *ask))[0]
        for route in routes
        if is_ours(route)
    }


_path = JsonPath.parse
_hosts, _gateways, _export_to = _path("spec.hosts[*]"), _path("spec.gateways[*]"), _path("spec.exportTo[*]")
_server_hosts = _path("spec.servers[*].hosts[*]")

if __name__ == "__main__":
    controller_main(VirtualServiceDnsController)
