"""The example controllers against what the controllers of Kubernetes answered."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from examples import endpoint_slices, endpoints, network_policy
from examples.running import Loop, stores_of
from kindex import ObjectKey, SkippedWarning
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


# Network policies


POLICIES = read_vectors("networkpolicy")
NOBODY = {"podSelector": {"matchLabels": {"no": "pod"}}}


def policy_of(case: dict[str, Any]) -> dict[str, Any]:
    """Make the policy that asks what a case asks; an affinity term is asked as the peers that mean the same."""
    asked = case["in"]
    match case["kind"]:
        case "applies-to":
            spec = {"podSelector": asked}
        case "peer":
            spec = {**NOBODY, "ingress": [{"from": [asked]}]}
        case _:
            which = {"podSelector": asked["labelSelector"]} if asked.get("labelSelector") is not None else None
            peers = []
            if which is not None:
                if asked.get("namespaces"):
                    named = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": asked["namespaces"]}
                    peers.append({**which, "namespaceSelector": {"matchExpressions": [named]}})
                if asked.get("namespaceSelector") is not None:
                    peers.append({**which, "namespaceSelector": asked["namespaceSelector"]})
            spec = {**NOBODY, "egress": [{"to": (peers or [which]) if which else [NOBODY]}]}
    metadata = {"name": case["id"], "namespace": case["namespace"]}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("cluster", sorted(POLICIES.header["clusters"]))
def test_policies_mean_the_pods_that_kubernetes_selects(cluster: str) -> None:
    """Each case is a policy, asked from both ends; what the API refuses means nothing and is warned of once."""
    cases = [case for case in POLICIES.cases if case["cluster"] == cluster]
    objects = POLICIES.header["clusters"][cluster]
    made = [{**each, "apiVersion": "v1", "kind": "Namespace"} for each in objects["namespaces"]]
    made += [{**each, "apiVersion": "v1", "kind": "Pod"} for each in objects["pods"]]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", SkippedWarning)
        stores = stores_of(network_policy.NetworkPolicyController, [*made, *map(policy_of, cases)])
    controller = network_policy.NetworkPolicyController(stores, lambda _: None)
    Loop(controller, stores).settle()
    found = controller.results.values()
    assert found == network_policy.scan(*(stores[kind].select() for kind in ("Namespace", "NetworkPolicy", "Pod")))
    refused = [case for case in cases if not case["ok"]]
    assert len(said) == len(refused)
    for case in refused:
        key = ObjectKey(case["namespace"], case["id"])
        assert key not in found, case
        assert [str(each.message) for each in said if f" {key}:" in str(each.message)], case
    for case in cases:
        if case["ok"]:
            meaning = found[ObjectKey(case["namespace"], case["id"])]
            pods = meaning.pods if case["kind"] == "applies-to" else meaning.peers
            assert sorted(map(str, pods)) == case["pods"], case
    for pod in stores["Pod"].select():
        holding, letting = controller.policies_of(pod)
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        for case in cases:
            where = ObjectKey(case["namespace"], case["id"])
            expected_there = holding if case["kind"] == "applies-to" else letting
            assert (where in expected_there) == (key in case.get("pods", ())), case
