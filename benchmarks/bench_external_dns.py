"""A loop of external-dns over Istio's objects, by walking and by index: ``python -m benchmarks.bench_external_dns``.

3,000 gateways and as many virtual services, 2,000 services, 1,000 ingresses. For each gateway the loop needs the
addresses behind it: a third says them in an annotation, a third names an ingress, a third has a selector that services
are compared with. For each virtual service it needs those of its gateway. external-dns' sources ``istio-gateway`` and
``istio-virtualservice`` walked all services for each gateway, and asked the API server for each ingress: here a
function that sleeps for the 2 ms of a round trip. More workers wait for several answers at once. Newer versions keep
ingresses as well, and walk the services as before. With kindex one worker asks indexes which an informer would keep.

The program that walks is Python as well, and its comparisons are the cheapest that Python has: the ratio is the
algorithm's, not the language's. Calls are counted. Options: ``--share N`` (of all sizes, by which to divide), ``--json
FILE``, ``--markdown``.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import attrs
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.bench_memory import circumstances
from kindex import Store
from kindex.indexers.networking import (
    INGRESS_ANNOTATION,
    IstioGatewaySelectorIndexer,
    ServiceSelectorIndexer,
    ingress_of,
)
from kindex.keys import ObjectKey
from kindex.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RawObject = dict[str, Any]

RESULTS = Path(__file__).parent / "results" / "external_dns.json"
TARGET_ANNOTATION = "external-dns.alpha.kubernetes.io/target"
ROUND_TRIP_SECONDS = 0.002
NAMESPACES, APPS = 50, 400
ROUNDS = 3
by_pair = ServiceSelectorIndexer()


@attrs.frozen
class Mesh:
    """The objects of a cluster."""

    gateways: list[RawObject]
    routes: list[RawObject]
    services: list[RawObject]
    ingresses: list[RawObject]

    @classmethod
    def of(cls, share: int, seed: int = 11) -> Mesh:
        """Make them, with the whole sizes divided by *share*."""
        draw = random.Random(seed)  # noqa: S311 - a shape, not a secret

        def named(name: str) -> RawObject:
            return {"name": name, "namespace": f"namespace-{draw.randrange(NAMESPACES)}", "annotations": {}}

        def balanced(number: int) -> RawObject:
            return {"loadBalancer": {"ingress": [{"ip": f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"}]}}

        services = [
            {
                "metadata": named(f"service-{number}"),
                "spec": {"selector": {"app": f"app-{draw.randrange(APPS)}", "part": "edge"}},
                "status": balanced(number),
            }
            for number in range(2_000 // share)
        ]
        ingresses = [
            {"metadata": named(f"ingress-{number}"), "status": balanced(number)} for number in range(1_000 // share)
        ]
        gateways: list[RawObject] = []
        for number in range(3_000 // share):
            metadata = named(f"gateway-{number}")
            spec = {
                "selector": {"app": f"app-{draw.randrange(APPS)}"},
                "servers": [{"hosts": [f"www-{number}.example.com"]}],
            }
            if number % 3 == 0:
                metadata["annotations"][TARGET_ANNOTATION] = f"192.0.2.{number % 250}"
            elif number % 3 == 1:
                key = key_of(draw.choice(ingresses))
                metadata["annotations"][INGRESS_ANNOTATION] = f"{key.namespace}/{key.name}"
            gateways.append({"metadata": metadata, "spec": spec})
        routes = []
        for number in range(3_000 // share):
            gateway = key_of(draw.choice(gateways))
            spec = {"hosts": [f"api-{number}.example.com"], "gateways": [f"{gateway.namespace}/{gateway.name}"]}
            routes.append({"metadata": named(f"route-{number}"), "spec": spec})
        return cls(gateways, routes, services, ingresses)


def targets_in(obj: RawObject) -> list[str]:
    """Give the addresses of the load balancers of a service or ingress."""
    return [each["ip"] for each in obj["status"]["loadBalancer"]["ingress"]]


class Loop:
    """One loop over all gateways and virtual services; the subclasses say how objects are found.

    Attributes:
        requests: to the API server, so far.
    """

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.requests = 0
        self._counting = threading.Lock()

    def services_of(self, gateway: RawObject) -> Iterable[RawObject]:
        """Find the services whose selector has the pairs of a gateway's."""
        raise NotImplementedError

    def ingress_called(self, key: ObjectKey) -> RawObject | None:
        """Find an ingress."""
        raise NotImplementedError

    def gateway_called(self, key: ObjectKey) -> RawObject | None:
        """Find a gateway."""
        raise NotImplementedError

    def of_gateway(self, gateway: RawObject) -> list[str]:
        """Find the addresses behind a gateway."""
        annotations = gateway["metadata"]["annotations"]
        if said := annotations.get(TARGET_ANNOTATION):
            return [said]
        if annotations.get(INGRESS_ANNOTATION):
            key = ingress_of(gateway)
            ingress = None if key is None else self.ingress_called(key)
            return [] if ingress is None else targets_in(ingress)
        return sorted({target for service in self.services_of(gateway) for target in targets_in(service)})

    def of_route(self, route: RawObject) -> list[str]:
        """Find the addresses behind a virtual service."""
        found: list[str] = []
        for name in route["spec"]["gateways"]:
            gateway = self.gateway_called(ObjectKey.parse(name))
            found += [] if gateway is None else self.of_gateway(gateway)
        return found

    def run(self, workers: int = 1) -> list[list[str]]:
        """Do one loop."""
        if workers == 1:
            return [*map(self.of_gateway, self.mesh.gateways), *map(self.of_route, self.mesh.routes)]
        with ThreadPoolExecutor(workers) as pool:
            return [*pool.map(self.of_gateway, self.mesh.gateways), *pool.map(self.of_route, self.mesh.routes)]


class Walking(Loop):
    """Walks services, and has the rest by name."""

    def __init__(self, mesh: Mesh) -> None:
        super().__init__(mesh)
        self._gateways = {key_of(obj): obj for obj in mesh.gateways}
        self._ingresses = {key_of(obj): obj for obj in mesh.ingresses}

    def ingress_called(self, key: ObjectKey) -> RawObject | None:
        """Look an ingress up."""
        return self._ingresses.get(key)

    def gateway_called(self, key: ObjectKey) -> RawObject | None:
        """Look a gateway up."""
        return self._gateways.get(key)

    def services_of(self, gateway: RawObject) -> Iterable[RawObject]:
        """Walk all services."""
        wanted = gateway["spec"]["selector"].items()
        return [service for service in self.mesh.services if wanted <= service["spec"]["selector"].items()]


class Asking(Walking):
    """Walks services, and asks the API server for ingresses."""

    def ingress_called(self, key: ObjectKey) -> RawObject | None:
        """Ask for an ingress."""
        with self._counting:
            self.requests += 1
        time.sleep(ROUND_TRIP_SECONDS)
        return super().ingress_called(key)


class Indexed(Loop):
    """Asks indexes."""

    def __init__(self, mesh: Mesh) -> None:
        super().__init__(mesh)
        self._gateways: Store[RawObject] = Store(name="gateways", indexers=[IstioGatewaySelectorIndexer()])
        self._services: Store[RawObject] = Store(name="services", indexers=[by_pair])
        self._ingresses: Store[RawObject] = Store(name="ingresses")
        self._gateways.replace(mesh.gateways)
        self._services.replace(mesh.services)
        self._ingresses.replace(mesh.ingresses)

    def ingress_called(self, key: ObjectKey) -> RawObject | None:
        """Look an ingress up."""
        return self._ingresses.get(key)

    def gateway_called(self, key: ObjectKey) -> RawObject | None:
        """Look a gateway up."""
        return self._gateways.get(key)

    def services_of(self, gateway: RawObject) -> Iterable[RawObject]:
        """Look up the services that have its pairs."""
        return self._services.select(by_pair.holding(gateway["spec"]["selector"]))


def timed(make: Callable[[], Loop], workers: int, rounds: int) -> dict[str, Any]:
    """Take the median of some loops; each begins with what is there, and an index is made once."""
    loop = make()
    gc.collect()
    took = []
    for _ in range(rounds):
        before = loop.requests
        began = time.perf_counter()
        loop.run(workers)
        took.append(time.perf_counter() - began)
    return {"seconds": median(took), "requests": loop.requests - before}


def main() -> None:
    """Measure, print a table, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--markdown", action="store_true", help="print a table for a document")
    options = parser.parse_args()
    mesh = Mesh.of(options.share)
    small = Mesh.of(100)
    assert Asking(small).run() == Walking(small).run() == Indexed(small).run()
    began = time.perf_counter()
    Indexed(mesh)
    building = time.perf_counter() - began
    rows = [
        {"way": f"walked, ingresses asked for, {workers} workers", **timed(lambda: Asking(mesh), workers, rounds)}
        for workers, rounds in ((1, 1), (4, ROUNDS), (16, ROUNDS))
    ]
    rows.append({"way": "walked, ingresses kept", **timed(lambda: Walking(mesh), 1, ROUNDS)})
    rows.append({"way": "kindex", **timed(lambda: Indexed(mesh), 1, ROUNDS)})
    few = [
        {"way": "30 gateways, 20 services: walked, ingresses kept", **timed(lambda: Walking(small), 1, 101)},
        {"way": "30 gateways, 20 services: kindex", **timed(lambda: Indexed(small), 1, 101)},
    ]
    table = Table("", box=box.MARKDOWN if options.markdown else box.SIMPLE_HEAD)
    for heading in ("a loop, ms", "requests", "times faster"):
        table.add_column(heading, justify="right")
    for group in (rows, few):
        for row in group:
            faster = group[0]["seconds"] / row["seconds"]
            table.add_row(row["way"], f"{row['seconds'] * 1e3:,.2f}", f"{row['requests']:,}", f"{faster:,.1f}")
    console = Console(width=120)
    console.print(table)
    console.print(f"The indexes are built once, in {building * 1e3:.0f} ms.")
    found = {**circumstances(), "share": options.share, "building_seconds": building, "rows": rows, "few": few}
    options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
