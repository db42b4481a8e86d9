"""The endpoints of each service: which pods are behind it, and which of these are ready.

Kubernetes' own endpoints controller finds the services of a pod by walking those of its namespace, and the pods of a
service by walking those. Here two indexes answer: ``SelectorIndexer`` over the services, ``LabelIndexer`` over the
pods.

What this cannot promise: it tells what the Endpoints should be and writes nothing, since a cluster has a controller
that does. Endpoints of more than 1,000 addresses are not cut. The family of addresses is the service's first.

    python -m examples.endpoints --file examples/manifests.yaml
    python -m examples.endpoints --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

from examples.running import Kind, Results, Views, controller_main
from kindex import Budget, Delta, JsonPath, LabelIndexer, LabelSelector, ObjectKey, SelectorIndexer
from kindex.errors import SelectorObjectError
from kindex.indexers.derived import parts, texts
from kindex.objects import key_of, labels_of, text_of

selecting = SelectorIndexer("spec.selector", on_error="skip")
by_labels = LabelIndexer.all(budget=Budget("1GiB"))


class Port(NamedTuple):
    """A port of a service, with the number that it has in a pod."""

    name: str
    number: int
    protocol: str


class Address(NamedTuple):
    """A pod behind a service; without ports for a headless service that has none."""

    pod: str
    ip: str
    ports: tuple[Port, ...]

    def __str__(self) -> str:
        return ",".join(f"{self.ip}:{port.number}" for port in self.ports) or self.ip


class Endpoints(NamedTuple):
    """The addresses of a service, in the order of their pods' names."""

    ready: tuple[Address, ...]
    not_ready: tuple[Address, ...]

    def __str__(self) -> str:
        ready, rest = (" ".join(map(str, part)) or "none" for part in self)
        return f"ready {ready}; not ready {rest}"


class EndpointsController:
    """Tell the endpoints of each service, as services and pods change."""

    kinds: ClassVar[tuple[Kind, ...]] = (Kind("v1", "Service", (selecting,)), Kind("v1", "Pod", (by_labels,)))

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.services, self.pods = views["Service"], views["Pod"]
        self.results = Results(tell)

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at a service that changed, and at all that a pod which changed is or was behind."""
        if kind == "Service":
            self.settle(delta.key)
            return
        # Either, not those that differ: a pod that turns ready keeps its labels.
        for key in self.services.keys(selecting.matching_either(delta.old, delta.new), namespace=delta.key.namespace):
            self.settle(key)

    def settle(self, key: ObjectKey) -> None:
        """Make the endpoints of one service."""
        service = self.services.get(key)
        selector = None if service is None else pod_selector_of(service)
        if selector is None:
            self.results.drop(key)
            return
        pods = self.pods.select(namespace=key.namespace, label_selector=selector)
        self.results.put(key, self.made_of(service, pods))

    def made_of(self, service: object, pods: Iterable[object]) -> object:
        """Make what is told of a service out of the pods that it selects."""
        return endpoints_of(service, pods)


def pod_selector_of(service: object) -> LabelSelector | None:
    """Read the selector of a service; None where endpoints are somebody else's: none, ExternalName, one that is bad."""
    if _type.first(service) == "ExternalName":
        return None
    try:
        selector = LabelSelector.of_service(service)
    except SelectorObjectError:  # the API would refuse it; the index has said so
        return None
    return None if selector.selects_nothing else selector


def endpoints_of(service: object, pods: Iterable[object]) -> Endpoints:
    """Make the endpoints of a service out of the pods that it selects."""
    all_count, families = publishes_not_ready(service), families_of(service)[:1]
    ready: list[Address] = []
    not_ready: list[Address] = []
    for pod in pods:
        ip = ip_of(pod, families)
        if not ip or is_over(pod) or (is_terminating(pod) and not all_count):
            continue
        ports = ports_of(service, pod)
        if ports or is_without_ports(service):
            (ready if all_count or is_ready(pod) else not_ready).append(Address(key_of(pod).name, ip, ports))
    return Endpoints(tuple(sorted(ready)), tuple(sorted(not_ready)))


def scan(services: Iterable[object], pods: Iterable[object]) -> dict[ObjectKey, Endpoints]:
    """Make the endpoints of all services by walking everything: what the controller must agree with."""
    found = {}
    everything = list(pods)
    for service in services:
        selector, key = pod_selector_of(service), key_of(service)
        if selector is not None:
            found[key] = endpoints_of(service, selected_by_scan(selector, key.namespace, everything))
    return found


def selected_by_scan(selector: LabelSelector, namespace: str, pods: Iterable[object]) -> list[object]:
    """Walk all pods for those of a namespace that a selector matches."""
    matches = selector.matches
    return [pod for pod in pods if key_of(pod).namespace == namespace and matches(labels_of(pod))]


# What a pod is


def is_over(pod: object) -> bool:
    """Tell whether a pod has run to its end."""
    return _phase.first(pod) in ("Succeeded", "Failed")


def is_terminating(pod: object) -> bool:
    """Tell whether a pod was asked to end."""
    return _deleted.first(pod) is not None


def is_ready(pod: object) -> bool:
    """Tell whether a pod says that it can serve."""
    return any(
        _condition.first(each) == "Ready" and _status.first(each) == "True" for each in parts(_conditions.values(pod))
    )


def ip_of(pod: object, families: Iterable[str] = ()) -> str:
    """Give a pod's address of the first of these families that it has, its first one for no family, or ``""``."""
    ips = texts(_ips.values(pod)) or texts([_ip.first(pod)])
    wanted = list(families)
    of_family = [ip for family in wanted for ip in ips if (":" in ip) == (family == "IPv6")]
    return next(iter(of_family if wanted else ips), "")


# What a service asks for


def publishes_not_ready(service: object) -> bool:
    """Tell whether a service wants all its pods to be taken for ready."""
    return _publish_not_ready.first(service) is True


def families_of(service: object) -> list[str]:
    """Give the address families of a service, the first one first; none where it does not say."""
    ip = text_of(_cluster_ip.first(service))
    by_ip = [] if ip in ("", "None") else ["IPv6" if ":" in ip else "IPv4"]
    return texts(_families.values(service)) or by_ip


def is_without_ports(service: object) -> bool:
    """Tell whether a service is headless and names no port, so that its addresses are all that is asked for."""
    return _cluster_ip.first(service) == "None" and not parts(_ports.values(service))


def ports_of(service: object, pod: object) -> tuple[Port, ...]:
    """Give the ports of a service with their numbers in *pod*; one that *pod* does not have by name is left out."""
    found = []
    for port in parts(_ports.values(service)):
        protocol = text_of(_protocol.first(port)) or "TCP"
        target = _target.first(port) or _port.first(port)
        number = _number_in(pod, target, protocol) if isinstance(target, str) else target
        if isinstance(number, int):
            found.append(Port(text_of(_name.first(port)), number, protocol))
    return tuple(found)


def _number_in(pod: object, name: str, protocol: str) -> object:
    containers = parts(_containers.values(pod))
    containers += [each for each in parts(_init_containers.values(pod)) if _restarts.first(each) == "Always"]
    for container in containers:
        for port in parts(_ports_inside.values(container)):
            if _name.first(port) == name and (text_of(_protocol.first(port)) or "TCP") == protocol:
                return _container_port.first(port)
    return None


_path = JsonPath.parse
_type, _families, _cluster_ip = _path("spec.type"), _path("spec.ipFamilies[*]"), _path("spec.clusterIP")
_publish_not_ready, _ports = _path("spec.publishNotReadyAddresses"), _path("spec.ports[*]")
_port, _target, _protocol, _name = _path("port"), _path("targetPort"), _path("protocol"), _path("name")
_phase, _deleted, _conditions = (
    _path("status.phase"),
    _path("metadata.deletionTimestamp"),
    _path("status.conditions[*]"),
)
_condition, _status, _ip, _ips = _path("type"), _path("status"), _path("status.podIP"), _path("status.podIPs[*].ip")
_containers, _init_containers = _path("spec.containers[*]"), _path("spec.initContainers[*]")
_ports_inside, _container_port, _restarts = _path("ports[*]"), _path("containerPort"), _path("restartPolicy")

if __name__ == "__main__":
    controller_main(EndpointsController)
