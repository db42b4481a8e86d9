"""The selector index against the answers of the endpoints controllers, and of policies, peers and affinity terms."""

from __future__ import annotations

from typing import Any

import pytest

from kindex import ObjectKey, SelectorIndexer, Store
from tests.vectors_reader import read_vectors

ENDPOINTS = read_vectors("endpoints")
POLICIES = read_vectors("networkpolicy")

selecting = SelectorIndexer("spec.selector")
applying = SelectorIndexer("spec.podSelector")
by_pods = SelectorIndexer("spec.ingress[*].from[*].podSelector", name="pods")
by_namespaces = SelectorIndexer("spec.ingress[*].from[*].namespaceSelector", name="namespaces")
near = SelectorIndexer("spec.affinity[*].labelSelector")


def shown(keys: list[ObjectKey]) -> list[str]:
    return sorted(map(str, keys))


@pytest.mark.parametrize("tag", ENDPOINTS.tags())
def test_services_that_select_a_pod_are_those_of_the_controllers(tag: str) -> None:
    """For each pod of each cluster, in its namespace."""
    asked = 0
    for case in ENDPOINTS.of_tag(tag):
        services = services_of(case)
        pods = {str(ObjectKey(p["metadata"]["namespace"], p["metadata"]["name"])): p for p in case["pods"]}
        for name, expected in case["expect"]["pods"].items():
            found = services.keys(selecting.matching(pods[name]), namespace=pods[name]["metadata"]["namespace"])
            assert shown(found) == there(services, expected), case["id"]
            asked += 1
    assert asked


@pytest.mark.parametrize("tag", ENDPOINTS.tags())
def test_services_that_an_update_concerns_are_those_of_the_controllers(tag: str) -> None:
    """Who gains or loses a pod whose labels alone changed, and all who select a pod that changed otherwise."""
    asked = 0
    for case in ENDPOINTS.of_tag(tag):
        services = services_of(case)
        for update in case["expect"]["updates"]:
            old, new = update["old_labels"] or {}, update["new_labels"] or {}
            ask = selecting.matching_either if update["pod_changed"] else selecting.matching_differs
            found = services.keys(ask(old, new), namespace=ObjectKey.parse(update["pod"]).namespace)
            assert shown(found) == there(services, update["services"] or ()), (case["id"], update)
            asked += 1
    assert asked


def services_of(case: dict[str, Any]) -> Store[Any]:
    """Store the services of *case*, with an empty selector left out as an API server does."""
    store: Store[Any] = Store(name="services", scope="namespaced", indexers=[selecting])
    store.replace(case["services"])
    return store


def there(services: Store[Any], names: Any) -> list[str]:
    """Give *names* but for services whose empty selector an API server stores as none: they select nothing."""
    return sorted(name for name in names if services.require(ObjectKey.parse(name))["spec"].get("selector"))


def case_object(case: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": case["id"], "namespace": case["namespace"]}, "spec": spec}


def test_pods_of_policies_and_affinity_terms_are_those_of_go() -> None:
    """All cases in one store, asked with each pod of each cluster, and with the labels of its namespace."""
    store: Store[Any] = Store(indexers=[applying, by_pods, by_namespaces, near])
    answered = [case for case in POLICIES.cases if case["ok"]]
    for case in answered:
        match case["kind"]:
            case "applies-to":
                store.put(case_object(case, {"podSelector": case["in"]}))
            case "peer":
                store.put(
                    case_object(
                        case, {"podSelector": {"matchLabels": {"no": "pod"}}, "ingress": [{"from": [case["in"]]}]}
                    )
                )
            case _:
                store.put(case_object(case, {"podSelector": {"matchLabels": {"no": "pod"}}, "affinity": [case["in"]]}))
    store._check()
    cases = {ObjectKey(case["namespace"], case["id"]): case for case in answered}
    asked = 0
    for name, cluster in POLICIES.header["clusters"].items():
        namespaces = {each["metadata"]["name"]: each for each in cluster["namespaces"]}
        for pod in cluster["pods"]:
            key = ObjectKey(pod["metadata"]["namespace"], pod["metadata"]["name"])
            applied = set(store.keys(applying.matching(pod), namespace=key.namespace))
            of_pod, of_namespace = (
                set(store.keys(index.matching(obj)))
                for index, obj in ((by_pods, pod), (by_namespaces, namespaces[key.namespace]))
            )
            alike = set(store.keys(near.matching(pod)))
            for where, case in cases.items():
                if case["cluster"] != name:
                    continue
                if case["kind"] == "applies-to":
                    found = where in applied
                elif case["kind"] == "peer":
                    peer = case["in"]
                    anywhere = peer.get("namespaceSelector") is not None
                    in_namespace = where in of_namespace if anywhere else where.namespace == key.namespace
                    in_pods = where in of_pod if peer.get("podSelector") is not None else anywhere
                    found = in_namespace and in_pods
                elif "namespaceSelector" in case["in"] or "namespaces" in case["in"]:
                    continue  # its namespaces add up, which is the scheduler's business
                else:
                    found = where in alike and where.namespace == key.namespace
                assert found == (str(key) in case["pods"]), (case, key)
                asked += 1
    assert asked > 1_000
