"""The example controllers under test: their scan twins, stores, and what changes there in any order."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

from examples import (
    endpoint_slices,
    endpoints,
    external_dns_gateway,
    external_dns_virtualservice,
    network_policy,
    owner_gc,
    pod_disruption,
)
from examples.running import Controller, Loop, stores_of
from kindex import ObjectKey, SkippedWarning, Store
from kindex.objects import key_of

if TYPE_CHECKING:
    from collections.abc import Iterator

RawObject: TypeAlias = dict[str, Any]

SCANS: dict[type[Controller], Callable[..., Any]] = {
    endpoints.EndpointsController: endpoints.scan,
    endpoint_slices.EndpointSlicesController: endpoint_slices.scan,
    external_dns_gateway.GatewayDnsController: external_dns_gateway.scan,
    external_dns_virtualservice.VirtualServiceDnsController: external_dns_virtualservice.scan,
    network_policy.NetworkPolicyController: network_policy.scan,
    owner_gc.OwnerController: owner_gc.scan,
    pod_disruption.PodDisruptionController: pod_disruption.scan,
}
"""Each controller, and the plain function that it must agree with."""


@contextmanager
def skipping() -> Iterator[list[str]]:
    """Collect what indexes warn of, in place of failing."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", SkippedWarning)
        yield said
        said += [str(each.message) for each in caught]


@attrs.define
class Running:
    """A controller with its stores; changes reach it when it is told of them."""

    make: type[Controller]
    stores: dict[str, Store[Any]]
    controller: Any
    loop: Loop
    told: list[str]

    def put(self, *objects: RawObject) -> None:
        for obj in objects:
            self.stores[obj["kind"]].put(obj)

    def delete(self, obj: RawObject) -> None:
        self.stores[obj["kind"]].delete(key_of(obj))

    def outcome(self) -> Any:
        """Give what the controller has made of everything."""
        made = self.controller.results.values()
        left_over = getattr(self.controller, "left_over", None)
        return made if left_over is None else (made, left_over.values())

    def scanned(self) -> Any:
        """Give what a walk over everything makes of it."""
        return SCANS[self.make](*[self.stores[kind.kind].select() for kind in self.make.kinds])

    def settled(self) -> Any:
        """Tell of everything; the outcome, which is the same as that of a walk."""
        self.loop.settle()
        found = self.outcome()
        assert found == self.scanned()
        return found

    def of(self, name: str, namespace: str = "prod") -> Any:
        """Give what was made of one object, after everything was told."""
        self.settled()
        return self.controller.results.get(ObjectKey(namespace, name))


def running(make: type[Controller], objects: Iterable[RawObject] = (), **settings: Any) -> Running:
    """Make a controller, with *objects* already there."""
    told: list[str] = []
    stores = stores_of(make, objects, **settings)
    controller = make(stores, told.append)
    return Running(make, stores, controller, Loop(controller, stores), told)
