"""The EndpointSlices of each service: unlike Endpoints they say which pods serve while they end.

The controller is that of ``endpoints.py``, with the same two indexes; what it makes of a service and its pods differs.

What this cannot promise: it tells what the slices should hold and writes nothing, since a cluster has a controller that
does. It fills slices anew each time, where Kubernetes' leaves an endpoint in the slice that it is in. There are no
topology hints and no zones.

    python -m examples.endpoint_slices --file examples/manifests.yaml
    python -m examples.endpoint_slices --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from examples.endpoints import (
    EndpointsController,
    Port,
    families_of,
    ip_of,
    is_over,
    is_ready,
    is_terminating,
    pod_selector_of,
    ports_of,
    publishes_not_ready,
    selected_by_scan,
)
from examples.running import controller_main
from kindex import ObjectKey
from kindex.objects import key_of

MOST = 100
"""So many endpoints are in one slice, as Kubernetes has it unless told otherwise."""


class Endpoint(NamedTuple):
    """A pod in a slice, and its three conditions."""

    pod: str
    ip: str
    ready: bool
    serving: bool
    terminating: bool

    def __str__(self) -> str:
        said = [name for name in ("ready", "serving", "terminating") if getattr(self, name)]
        return f"{self.ip} ({' '.join(said) or 'not ready'})"


class Slice(NamedTuple):
    """Endpoints of one family with the same ports; no ports where a headless service has none, or a pod lacks them."""

    family: str
    ports: tuple[Port, ...]
    endpoints: tuple[Endpoint, ...]

    def __str__(self) -> str:
        ports = ",".join(str(port.number) for port in self.ports) or "none"
        return f"{self.family} ports {ports}: {', '.join(map(str, self.endpoints))}"


class Slices(tuple[Slice, ...]):
    """All slices of one service."""

    __slots__ = ()

    def __str__(self) -> str:
        return "; ".join(map(str, self)) or "no endpoints"


class EndpointSlicesController(EndpointsController):
    """Tell the endpoint slices of each service, as services and pods change."""

    def made_of(self, service: object, pods: Iterable[object]) -> Slices:
        """Make the slices of a service out of the pods that it selects."""
        return slices_of(service, pods)


def slices_of(service: object, pods: Iterable[object]) -> Slices:
    """Make the slices of a service out of the pods that it selects."""
    all_count = publishes_not_ready(service)
    alike: dict[tuple[str, tuple[Port, ...]], list[Endpoint]] = {}
    for pod in pods:
        if is_over(pod):
            continue
        serving, terminating = is_ready(pod), is_terminating(pod)
        ready = all_count or (serving and not terminating)
        for family in families_of(service) or ("IPv4", "IPv6"):
            if ip := ip_of(pod, [family]):
                endpoint = Endpoint(key_of(pod).name, ip, ready, serving, terminating)
                alike.setdefault((family, ports_of(service, pod)), []).append(endpoint)
    return Slices(
        Slice(family, ports, tuple(sorted(endpoints)[first : first + MOST]))
        for (family, ports), endpoints in sorted(alike.items())
        for first in range(0, len(endpoints), MOST)
    )


def scan(services: Iterable[object], pods: Iterable[object]) -> dict[ObjectKey, Slices]:
    """Make the slices of all services by walking everything: what the controller must agree with."""
    found = {}
    everything = list(pods)
    for service in services:
        selector, key = pod_selector_of(service), key_of(service)
        if selector is not None:
            found[key] = slices_of(service, selected_by_scan(selector, key.namespace, everything))
    return found


if __name__ == "__main__":
    controller_main(EndpointSlicesController)
