"""The example controllers against what the controllers of Kubernetes answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from examples import endpoint_slices, endpoints
from examples.running import Loop, stores_of
from kindex import ObjectKey
from tests.vectors_reader import read_vectors

ENDPOINTS = read_vectors("endpoints")


def with_port(service: dict[str, Any]) -> dict[str, Any]:
    """Give a service the port that each of them had when the controllers were asked."""
    return {**service, "apiVersion": "v1", "kind": "Service", "spec": {**service["spec"], "ports": [{"port": 80}]}}


def settled(make: type[endpoints.EndpointsController], case: dict[str, Any]) -> dict[ObjectKey, Any]:
    pods = [{**pod, "apiVersion": "v1", "kind": "Pod"} for pod in case["pods"]]
    stores = stores_of(make, [*map(with_port, case["services"]), *pods])
    controller = make(stores, lambda _: None)
    Loop(controller, stores).settle()
    scan = endpoint_slices.scan if make is endpoint_slices.EndpointSlicesController else endpoints.scan
    found: dict[ObjectKey, Any] = controller.results.values()
    assert found == scan(stores["Service"].select(), stores["Pod"].select())
    return found


def expected(case: dict[str, Any], what: str) -> dict[str, Any]:
    """Give the answers of a case; an API server stores an empty selector as none, and such a service is left alone."""
    empty = {
        str(ObjectKey(each["metadata"]["namespace"], each["metadata"]["name"]))
        for each in case["services"]
        if each["spec"].get("selector") == {}
    }
    of_services = case["expect"]["services"].items()
    return {name: said[what] for name, said in of_services if said[what] is not None and name not in empty}


def as_endpoints(found: endpoints.Endpoints) -> dict[str, list[str]]:
    return {"ready": [each.pod for each in found.ready], "notReady": [each.pod for each in found.not_ready]}


def as_letters(found: endpoint_slices.Slices) -> dict[str, str]:
    every = [endpoint for each in found for endpoint in each.endpoints]
    return {each.pod: "r" * each.ready + "s" * each.serving + "t" * each.terminating for each in every}


@pytest.mark.parametrize("tag", ENDPOINTS.tags())
@pytest.mark.parametrize(
    ("make", "what", "shown"),
    [
        (endpoints.EndpointsController, "endpoints", as_endpoints),
        (endpoint_slices.EndpointSlicesController, "endpointslice", as_letters),
    ],
)
def test_endpoints_are_those_of_kubernetes(
    make: type[endpoints.EndpointsController], what: str, shown: Callable[[Any], Any], tag: str
) -> None:
    """The desired state of each service of each cluster is what the controller of Kubernetes wrote."""
    cases = ENDPOINTS.of_tag(tag)
    for case in cases:
        found = {str(key): shown(value) for key, value in settled(make, case).items()}
        assert found == expected(case, what), case["id"]
    assert cases
