"""The DNS records of Istio's Gateways: which names lead to which load balancers, as external-dns finds them.

A Gateway's targets are what its annotation says; or those of the Ingress that another annotation names; or those of all
services whose selector has the pairs of the Gateway's. external-dns walks all services for each gateway, and asks the
server for each ingress. Here an index finds the services, and for a service or an ingress that changed its gateways.

What this cannot promise: it tells records and writes none. Of external-dns' options it has none: all namespaces, the
usual annotation keys. TTLs and provider-specific annotations are not read.

    python -m examples.external_dns_gateway --file examples/manifests.yaml
    python -m examples.external_dns_gateway --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from examples.running import Kind, Results, Views, controller_main
from kindex import Delta, JsonPath, LabelSelector, ObjectKey, SelectorIndexer, StoreView
from kindex.errors import SelectorObjectError
from kindex.indexers.derived import parts, texts
from kindex.indexers.networking import (
    INGRESS_ANNOTATION,
    IngressAnnotationIndexer,
    IstioGatewaySelectorIndexer,
    ServiceSelectorIndexer,
    ingress_of,
)
from kindex.indexers.networking.hosts import host_text
from kindex.objects import annotations_of, key_of, text_of

PREFIX = "external-dns.alpha.kubernetes.io/"

selecting = SelectorIndexer("spec.selector", on_error="skip")
by_gateway_pair = IstioGatewaySelectorIndexer()
by_ingress = IngressAnnotationIndexer()
by_service_pair = ServiceSelectorIndexer()

GATEWAY = Kind("networking.istio.io/v1", "Gateway", (selecting, by_gateway_pair, by_ingress))
SERVICE = Kind("v1", "Service", (by_service_pair,))
INGRESS = Kind("networking.k8s.io/v1", "Ingress")

Pairs: TypeAlias = Mapping[str, str]


class Targets(NamedTuple):
    """Where a name leads, in order, and what is wrong with that."""

    targets: tuple[str, ...]
    wrong: str = ""


class Records(tuple[tuple[str, tuple[str, ...]], ...]):
    """Names, in order, and where each leads."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(f"{name} -> {' '.join(targets)}" for name, targets in self) or "no records"


class Edge:
    """What there is at the edge of a mesh: gateways, services and ingresses, and who stands behind whom."""

    def __init__(self, views: Views) -> None:
        self.gateways: StoreView[Any] = views["Gateway"]
        self.services: StoreView[Any] = views["Service"]
        self.ingresses: StoreView[Any] = views["Ingress"]

    def targets_of(self, gateway: object) -> Targets:
        """Find where a gateway leads."""
        return targets_of(gateway, self.ingresses.get, self.services_with)

    def services_with(self, pairs: Pairs) -> list[object]:
        """Find the services whose selector has these pairs, and perhaps more."""
        return self.services.select(by_service_pair.holding(pairs))

    def gateways_touched(self, kind: str, delta: Delta[Any]) -> list[ObjectKey]:
        """Find the gateways that a changed object may lead elsewhere."""
        match kind:
            case "Gateway":
                return [delta.key]
            case "Ingress":
                return self.gateways.keys(by_ingress.of(delta.key))
            case _ if _edge_of(delta.old) == _edge_of(delta.new):  # as most changes of a service
                return []
            case _:
                old, new = (None if each is None else pairs_of(each) or {} for each in (delta.old, delta.new))
                return self.gateways.keys(selecting.matching_either(old, new) | by_gateway_pair.without())


class GatewayDnsController:
    """Tell the DNS records of each Istio Gateway, as gateways, services and ingresses change."""

    kinds: ClassVar[tuple[Kind, ...]] = (GATEWAY, SERVICE, INGRESS)

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.edge = Edge(views)
        self.results = Results(tell)

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at each gateway that a change concerns."""
        for key in self.edge.gateways_touched(kind, delta):
            self.settle(key)

    def settle(self, key: ObjectKey) -> None:
        """Find the records of one gateway."""
        gateway = self.edge.gateways.get(key)
        if gateway is None or not is_ours(gateway):
            self.results.drop(key)
            return
        found = self.edge.targets_of(gateway)
        self.results.put(key, records_of(gateway, found.targets), wrong=found.wrong)


# What objects say


def is_ours(obj: object) -> bool:
    """Tell whether external-dns is to look at an object: its annotation names no other controller."""
    return annotations_of(obj).get(f"{PREFIX}controller") in (None, "", "dns-controller")


def records_of(gateway: object, targets: tuple[str, ...]) -> Records:
    """Make the records of a gateway."""
    return Records((name, targets) for name in gateway_names(gateway) if targets)


def gateway_names(gateway: object) -> list[str]:
    """Give the names that a gateway takes, without the namespaces that may stand in front, in order."""
    hosts = [host.rpartition("/")[2] for host in texts(_hosts.values(gateway))]
    return names_in(hosts + annotated(gateway, "hostname"))


def names_in(hosts: Iterable[str]) -> list[str]:
    """Give hosts as names of records: in lower case, once, in order, without the one that stands for all."""
    return sorted({host_text(host) for host in hosts} - {"", "*"})


def annotated(obj: object, name: str) -> list[str]:
    """Give what an annotation of external-dns lists between commas."""
    said = annotations_of(obj).get(PREFIX + name)
    return [text for part in said.split(",") if (text := host_text(part.strip()))] if isinstance(said, str) else []


def targets_of(
    gateway: object,
    ingress_called: Callable[[ObjectKey], object],
    services_with: Callable[[Pairs], Iterable[object]],
) -> Targets:
    """Find where a gateway leads: by its annotation, by the ingress in front of it, by the services behind it."""
    if said := annotated(gateway, "target"):
        return Targets(in_order(said))
    if annotations_of(gateway).get(INGRESS_ANNOTATION):
        key = ingress_of(gateway)
        ingress = None if key is None else ingress_called(key)
        if ingress is None:
            named = f"ingress {key} is not there" if key else "its annotation names no ingress"
            return Targets((), f"{named}, so it leads nowhere")
        return Targets(in_order(balancers_of(ingress)))
    pairs = pairs_of(gateway)
    services = [] if pairs is None else services_with(pairs)  # no pair at all: all services, as external-dns has it
    return Targets(in_order(target for service in services for target in addresses_of(service)))


def in_order(targets: Iterable[str]) -> tuple[str, ...]:
    """Give each target once, in order."""
    return tuple(sorted(set(targets)))


def pairs_of(obj: object) -> dict[str, str] | None:
    """Read the plain selector of a Gateway or Service; None where the API would refuse it, which the index has said."""
    try:
        selector = LabelSelector.of_service(obj)
    except SelectorObjectError:
        return None
    return {requirement.key: requirement.values[0] for requirement in selector.requirements}


def addresses_of(service: object) -> list[str]:
    """Give where a service can be reached from outside; an ExternalName can only be called otherwise."""
    if _type.first(service) == "ExternalName":
        return []
    return texts(_external_ips.values(service)) or balancers_of(service)


def balancers_of(obj: object) -> list[str]:
    """Give the addresses of the load balancers of a Service or Ingress: of each its IP, or else its name."""
    found = [text_of(_ip.first(each)) or text_of(_hostname.first(each)) for each in parts(_balancers.values(obj))]
    return [host_text(target) for target in found if target]


def _edge_of(service: object) -> tuple[object, ...]:
    """Give what gateways use of a service, if it can be reached from outside at all."""
    found = [] if service is None else addresses_of(service)
    return (found, pairs_of(service)) if found else ()


# The same without indexes


def scan(
    gateways: Iterable[object], services: Iterable[object], ingresses: Iterable[object]
) -> dict[ObjectKey, Records]:
    """Find the records of all gateways by walking everything: what the controller must agree with."""
    ask = walking(services, ingresses)
    return {key_of(each): records_of(each, targets_of(each, *ask).targets) for each in gateways if is_ours(each)}


def walking(
    services: Iterable[object], ingresses: Iterable[object]
) -> tuple[Callable[[ObjectKey], object], Callable[[Pairs], list[object]]]:
    """Make the two questions that a gateway asks answer by walking."""
    every, fronts = list(services), list(ingresses)

    def ingress_called(key: ObjectKey) -> object:
        return next((each for each in fronts if key_of(each) == key), None)

    def services_with(pairs: Pairs) -> list[object]:
        return [each for each in every if pairs.items() <= (pairs_of(each) or {}).items()]

    return ingress_called, services_with


_path = JsonPath.parse
_hosts, _type, _external_ips = _path("spec.servers[*].hosts[*]"), _path("spec.type"), _path("spec.externalIPs[*]")
_balancers, _ip, _hostname = _path("status.loadBalancer.ingress[*]"), _path("ip"), _path("hostname")

if __name__ == "__main__":
    controller_main(GatewayDnsController)
