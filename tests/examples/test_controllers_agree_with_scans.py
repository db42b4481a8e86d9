"""The example controllers and their scan twins: the same answer, whatever happened in whatever order."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.running import Controller
from kindex.testing import Cluster, generate_cluster
from tests.controller_objects import OBJECTS
from tests.controllers import SCANS, running, skipping

MADE = sorted(SCANS, key=lambda make: make.__name__)


@pytest.mark.parametrize("make", MADE)
@settings(max_examples=40)
@given(choices=st.data())
def test_a_controller_agrees_with_a_scan(make: type[Controller], choices: st.DataObject) -> None:
    """Objects, odd ones among them, come, change and go; the controller is told of some kinds before others."""
    kinds = [kind.kind for kind in make.kinds]
    step = st.one_of(
        *[st.tuples(st.just("put"), OBJECTS[kind]) for kind in kinds],
        *[st.tuples(st.just("delete"), OBJECTS[kind]) for kind in kinds],
        st.tuples(st.just("tell"), st.sampled_from(kinds)),
    )
    with skipping():  # and each controller warns of what it cannot use, in the log
        run = running(make)
        for what, value in choices.draw(st.lists(step, min_size=10, max_size=40)):
            match what:
                case "put":
                    run.put(value)
                case "delete":
                    run.delete(value)
                case _:
                    run.loop.tell(value)
        run.settled()


@pytest.mark.parametrize("make", MADE)
@given(seed=st.integers(0, 1_000))
@settings(max_examples=5)
def test_a_controller_agrees_with_a_scan_of_a_generated_cluster(make: type[Controller], seed: int) -> None:
    """Objects of a cluster come in random order, change their labels and readiness, and go; and so do added ones."""
    chance = random.Random(seed)  # noqa: S311 - it keeps nothing secret
    cluster = generate_cluster(pods=150, namespaces=4, seed=seed)
    with skipping():
        run = running(make)
        there = [obj for obj in (*cluster.objects(), *edge_of(cluster)) if obj["kind"] in run.stores]
        chance.shuffle(there)
        for obj in there:
            run.put(obj)
            if chance.random() < 0.1:
                run.loop.tell(chance.choice(list(run.stores)))
        for _ in range(100):
            obj, other = chance.choice(there), chance.choice(there)
            match chance.randrange(4):
                case 0:
                    run.delete(obj)
                case 1:
                    run.put({**obj, "metadata": {**obj["metadata"], "labels": other["metadata"].get("labels")}})
                case 2 if obj["kind"] == "Pod":
                    run.put({**obj, "status": {**obj["status"], "conditions": []}})
                case _:
                    run.put(obj)
            if chance.random() < 0.2:
                run.loop.tell(chance.choice(list(run.stores)))
        assert run.settled()


def edge_of(cluster: Cluster) -> Iterator[dict[str, Any]]:
    """Give what else controllers look at: a policy, a budget, a gateway and a route for each service."""
    for service in cluster.services:
        metadata = {"name": service["metadata"]["name"], "namespace": service["metadata"]["namespace"]}
        labels = service["spec"].get("selector") or {}
        selector = {"matchLabels": labels}
        yield {**service, "status": {"loadBalancer": {"ingress": [{"ip": service["spec"].get("clusterIP")}]}}}
        peers = [{"podSelector": selector}, {"namespaceSelector": {}, "podSelector": selector}]
        spec: dict[str, Any] = {"podSelector": selector, "ingress": [{"from": peers}]}
        yield {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}
        spec = {"selector": selector, "maxUnavailable": "30%"}
        yield {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}
        host = f"{metadata['name']}.example.com"
        spec = {"selector": dict(list(labels.items())[:1]), "servers": [{"hosts": ["*.example.com", host]}]}
        yield {"apiVersion": "networking.istio.io/v1", "kind": "Gateway", "metadata": metadata, "spec": spec}
        spec = {"hosts": [host], "gateways": [metadata["name"]]}
        yield {"apiVersion": "networking.istio.io/v1", "kind": "VirtualService", "metadata": metadata, "spec": spec}
