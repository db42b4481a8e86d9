"""Generated clusters: the same everywhere, sound, and shaped like real ones."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import pytest

from kindex.testing import Cluster, generate_cluster


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """One cluster for all questions of shape; no test edits it."""
    return generate_cluster(pods=6_000, namespaces=30, seed=1)


def _quantile(numbers: list[int], share: float) -> int:
    return sorted(numbers)[int(len(numbers) * share)]


def _label_counts(cluster: Cluster) -> list[int]:
    return [len(pod["metadata"].get("labels", {})) for pod in cluster.pods]


def _mutable_parts(value: object) -> list[int]:
    if isinstance(value, dict):
        return [id(value), *(part for inner in value.values() for part in _mutable_parts(inner))]
    if isinstance(value, list):
        return [id(value), *(part for inner in value for part in _mutable_parts(inner))]
    return []


def test_a_seed_gives_one_cluster_and_another_seed_another() -> None:
    """The same arguments give equal objects; a different seed does not."""
    first, again, other = (generate_cluster(pods=700, namespaces=7, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.pods != other.pods


def test_every_version_of_python_makes_the_same_cluster() -> None:
    """The digest of a small cluster is a constant: no version of Python, nor of this file, changes it silently."""
    text = json.dumps(list(generate_cluster(pods=700, namespaces=7, seed=3).objects()), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "3d1cbed7467ec1e8"


@pytest.mark.parametrize(
    ("pods", "namespaces", "nodes"), [(0, 1, 1), (1, 1, 1), (10, 2, None), (499, 3, 90), (777, 80, 2)]
)
def test_there_are_as_many_objects_as_asked_for(pods: int, namespaces: int, nodes: int | None) -> None:
    """A cluster has exactly the pods, namespaces and nodes asked for, however few."""
    cluster = generate_cluster(pods=pods, namespaces=namespaces, nodes=nodes)
    assert (len(cluster.pods), len(cluster.namespaces)) == (pods, namespaces)
    assert len(cluster.nodes) == (3 if nodes is None else nodes)


@pytest.mark.parametrize("wrong", [{"pods": -1}, {"namespaces": 0}, {"nodes": 0}])
def test_impossible_sizes_are_refused(wrong: dict[str, int]) -> None:
    """A negative number of pods, no namespace and no node are errors."""
    with pytest.raises(ValueError, match="a cluster needs"):
        generate_cluster(**wrong)


def test_nothing_is_there_twice(cluster: Cluster) -> None:
    """Kind and key, UID, and resource version are unique over all objects, and so is each pod's address."""
    metadata = [(obj["kind"], obj["metadata"]) for obj in cluster.objects()]
    for facts in (
        [(kind, meta.get("namespace"), meta["name"]) for kind, meta in metadata],
        [meta["uid"] for _, meta in metadata],
        [meta["resourceVersion"] for _, meta in metadata],
        [pod["status"]["podIP"] for pod in cluster.pods if "podIP" in pod["status"]],
        [
            service["spec"]["clusterIP"]
            for service in cluster.services
            if service["spec"].get("clusterIP", "None") != "None"
        ],
    ):
        assert len(facts) > 100
        assert [fact for fact, times in Counter(facts).items() if times > 1] == []


def test_no_two_objects_share_a_part() -> None:
    """Every dict and list belongs to one object alone, so that editing one object leaves the others as they are."""
    parts = [part for obj in generate_cluster(pods=600, namespaces=5).objects() for part in _mutable_parts(obj)]
    assert len(parts) == len(set(parts)) > 10_000


def test_what_a_pod_refers_to_exists(cluster: Cluster) -> None:
    """Owners exist under kind, name and UID in the pod's namespace (nodes in none); so do nodes and namespaces."""
    there = {
        (obj["kind"], obj["metadata"].get("namespace", ""), obj["metadata"]["name"], obj["metadata"]["uid"])
        for obj in cluster.objects()
    }
    kinds = Counter[str]()
    for obj in [*cluster.pods, *cluster.replica_sets]:
        for owner in obj["metadata"].get("ownerReferences", []):
            namespace = "" if owner["kind"] == "Node" else obj["metadata"]["namespace"]
            assert (owner["kind"], namespace, owner["name"], owner["uid"]) in there
            kinds[owner["kind"]] += 1
    assert set(kinds) == {"ReplicaSet", "Deployment", "StatefulSet", "DaemonSet", "Job", "Node"}
    nodes = {node["metadata"]["name"] for node in cluster.nodes}
    assert {pod["spec"].get("nodeName") for pod in cluster.pods} <= nodes | {None}
    namespaces = {namespace["metadata"]["name"] for namespace in cluster.namespaces}
    assert {pod["metadata"]["namespace"] for pod in cluster.pods} == namespaces


def test_labels_are_as_many_as_on_real_pods(cluster: Cluster) -> None:
    """Labels per pod have the p50 2, p90 5 and p99 8 of live pods, a mean near 2.7, and about 4 % have none."""
    counts = _label_counts(cluster)
    assert [_quantile(counts, share) for share in (0.25, 0.5, 0.9, 0.99)] == [2, 2, 5, 8]
    assert 2.5 < sum(counts) / len(counts) < 3.0
    assert 0.03 < counts.count(0) / len(counts) < 0.07


def test_the_pods_of_a_workload_share_all_labels_but_what_tells_pods_apart(cluster: Cluster) -> None:
    """Within one owner, labels differ only in the pod's name and its ordinal."""
    by_owner: dict[str, list[dict[str, str]]] = {}
    for pod in cluster.pods:
        for owner in pod["metadata"].get("ownerReferences", []):
            if owner["kind"] != "Node":
                by_owner.setdefault(owner["uid"], []).append(pod["metadata"]["labels"])
    own = {"statefulset.kubernetes.io/pod-name", "apps.kubernetes.io/pod-index"}
    shared = [
        {tuple(sorted((k, v) for k, v in labels.items() if k not in own)) for labels in group}
        for group in by_owner.values()
    ]
    assert {len(group) for group in shared} == {1}
    assert max(len(group) for group in by_owner.values()) >= 100


def test_namespaces_and_workloads_are_skewed(cluster: Cluster) -> None:
    """The largest namespace has several times the mean, and most Deployments have one or two pods."""
    sizes = Counter(pod["metadata"]["namespace"] for pod in cluster.pods).most_common()
    assert sizes[0][1] > 3 * len(cluster.pods) / len(cluster.namespaces) > 10 * sizes[-1][1]
    replicas = [deployment["spec"]["replicas"] for deployment in cluster.deployments]
    assert _quantile(replicas, 0.5) <= 2
    assert max(replicas) == 120


def test_a_daemon_set_has_one_pod_on_each_node(cluster: Cluster) -> None:
    """DaemonSets' pods are one to a node."""
    nodes = sorted(node["metadata"]["name"] for node in cluster.nodes)
    placed: dict[str, list[str]] = {}
    for pod in cluster.pods:
        for owner in pod["metadata"].get("ownerReferences", []):
            if owner["kind"] == "DaemonSet":
                placed.setdefault(owner["name"], []).append(pod["spec"]["nodeName"])
    assert len(placed) == len(cluster.daemon_sets) >= 2
    assert all(sorted(names) == nodes for names in placed.values())


def test_services_select_something(cluster: Cluster) -> None:
    """Every selector of a Service has one to four keys and matches a pod of its namespace; a few Services have none."""
    pods: dict[str, list[dict[str, str]]] = {}
    for pod in cluster.pods:
        pods.setdefault(pod["metadata"]["namespace"], []).append(pod["metadata"].get("labels", {}))
    selecting = [service for service in cluster.services if "selector" in service["spec"]]
    for service in selecting:
        selector = service["spec"]["selector"]
        assert 1 <= len(selector) <= 4
        assert any(selector.items() <= labels.items() for labels in pods[service["metadata"]["namespace"]])
    assert 3 <= len(cluster.services) - len(selecting) < len(cluster.services) / 5


def test_services_are_of_all_sorts(cluster: Cluster) -> None:
    """About 64 % of Services are labelled; there are headless ones, ExternalNames, and every type."""
    labelled = sum("labels" in service["metadata"] for service in cluster.services)
    assert 0.55 < labelled / len(cluster.services) < 0.72
    types = {service["spec"]["type"] for service in cluster.services}
    assert types == {"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"}
    assert any(service["spec"].get("clusterIP") == "None" for service in cluster.services)


def test_pods_are_in_every_phase_and_pending_ones_lack_what_they_would_lack(cluster: Cluster) -> None:
    """Every phase occurs; a pending pod has no address, and only pending pods may have no node."""
    phases = Counter(pod["status"]["phase"] for pod in cluster.pods)
    assert set(phases) == {"Running", "Pending", "Succeeded", "Failed"}
    assert phases["Running"] > len(cluster.pods) * 0.8
    assert all(("podIP" in pod["status"]) == (pod["status"]["phase"] != "Pending") for pod in cluster.pods)
    unscheduled = {pod["status"]["phase"] for pod in cluster.pods if "nodeName" not in pod["spec"]}
    assert unscheduled == {"Pending"}


def test_pods_have_a_realistic_size(cluster: Cluster) -> None:
    """A pod is 1 to 4 kB of JSON, 2 kB as a rule."""
    sizes = [len(json.dumps(pod, separators=(",", ":"))) for pod in cluster.pods]
    assert 1_000 < min(sizes) <= 1_500 < _quantile(sizes, 0.5) < 2_500 < max(sizes) < 4_000


def test_lists_are_in_the_order_of_the_server(cluster: Cluster) -> None:
    """Each list is sorted by namespace, then name, as a list call answers."""
    keys = [(pod["metadata"]["namespace"], pod["metadata"]["name"]) for pod in cluster.pods]
    assert keys == sorted(keys)
    assert repr(cluster) == "Cluster(30 namespaces, 150 nodes, 6000 pods, ...)"
