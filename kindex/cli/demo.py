"""The demo: a generated cluster, and the same questions answered by indexes and by looking at every pod."""

from __future__ import annotations

import gc
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
from rich.table import Table

from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import LabelIndexer
from kindex.indexers.owners import OwnerIndexer
from kindex.selectors import LabelSelector
from kindex.store import Store
from kindex.testing import Cluster, generate_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
RawStore: TypeAlias = "Store[RawObject]"
Found: TypeAlias = "list[RawObject]"

_SERVICES: Final = 30  # enough to tell, few enough to wait for

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")
by_owner = OwnerIndexer(controller_only=True)


@attrs.frozen
class _Question:
    text: str
    by_index: Callable[[], Found]
    by_scan: Callable[[], Found]


def run_demo(*, pods: int, namespaces: int, seed: int, console: Console) -> None:
    """Make a cluster, index it, ask, and print what came of it; a few seconds for 20,000 pods.

    Both ways must find the same pods; it would be a bug in kindex if not, and the demo would end with it.
    """
    with _without_collector():
        started = time.perf_counter()
        cluster = generate_cluster(pods=pods, namespaces=namespaces, seed=seed)
        generated = time.perf_counter()
        store: RawStore = Store(name="pods", indexers=[by_labels, by_node, by_owner])
        store.replace(cluster.pods)
        indexed = time.perf_counter()
    console.print(
        f"A cluster of {pods:,} pods, {len(cluster.services):,} services and {len(cluster.nodes):,} nodes in"
        f" {namespaces:,} namespaces, made in {generated - started:.1f} s."
    )
    console.print(f"Pods indexed by namespace, app, tier, node and owner in {indexed - generated:.2f} s.\n")
    table = Table("question", title="The same pods, by index and by looking at every pod", title_justify="left")
    for heading in ("pods", "by index", "by scan", "times faster"):
        table.add_column(heading, justify="right")
    for question in _questions(cluster, store):
        found, wanted = question.by_index(), question.by_scan()
        assert sorted(map(id, found)) == sorted(map(id, wanted)), question.text
        quick, slow = _seconds(question.by_index, least=0.05), _seconds(question.by_scan, least=0.0)
        table.add_row(question.text, f"{len(found):,}", _shown(quick), _shown(slow), f"{slow / quick:,.0f}")
    console.print(table)
    app, namespace = _most_common(cluster)
    plan = store.explain(namespace=namespace, label_selector=f"app={app},tier!=cache")
    console.print(f"\nexplain(namespace={namespace!r}, label_selector='app={app},tier!=cache'):", highlight=False)
    console.print(str(plan), markup=False, highlight=False)


def _questions(cluster: Cluster, store: RawStore) -> Iterator[_Question]:
    pods = cluster.pods
    app, namespace = _most_common(cluster)
    yield _Question(
        f"app={app}",
        lambda: store.select(label_selector=f"app={app}"),
        lambda: [pod for pod in pods if _labels(pod).get("app") == app],
    )
    yield _Question(
        f"app={app} in namespace {namespace}",
        lambda: store.select(namespace=namespace, label_selector=f"app={app}"),
        lambda: [pod for pod in pods if _in(pod, namespace) and _labels(pod).get("app") == app],
    )
    yield _Question(
        "tier in (backend,cache),app",
        lambda: store.select(label_selector="tier in (backend,cache),app"),
        lambda: [pod for pod in pods if _labels(pod).get("tier") in ("backend", "cache") and "app" in _labels(pod)],
    )
    node = Counter(pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]).most_common(1)
    node_name = node[0][0] if node else ""
    yield _Question(
        f"on node {node_name}",
        lambda: store.select(by_node.at(node_name)),
        lambda: [pod for pod in pods if pod["spec"].get("nodeName") == node_name],
    )
    owner = max(cluster.replica_sets, key=lambda owner: int(owner["spec"]["replicas"]), default=None)
    if owner is not None:
        yield _Question(
            f"of ReplicaSet {owner['metadata']['name']}",
            lambda: store.select(by_owner.at(owner)),
            lambda: [pod for pod in pods if _is_controlled_by(pod, owner["metadata"]["uid"])],
        )
    services = [service for service in cluster.services if service["spec"].get("selector")][:_SERVICES]
    if services:
        yield _Question(
            f"of {len(services)} services, one by one",
            lambda: [pod for service in services for pod in _selected_by(service, store)],
            lambda: [pod for service in services for pod in _selected_among(service, pods)],
        )


def _most_common(cluster: Cluster) -> tuple[str, str]:
    """Give the label ``app`` that most pods have, and the namespace where most of those are."""
    places = Counter((_labels(pod).get("app", ""), pod["metadata"]["namespace"]) for pod in cluster.pods)
    places = Counter({place: count for place, count in places.items() if place[0]} or places)
    return places.most_common(1)[0][0]


def _labels(pod: RawObject) -> dict[str, str]:
    labels: dict[str, str] = pod["metadata"].get("labels") or {}
    return labels


def _in(pod: RawObject, namespace: str) -> bool:
    return bool(pod["metadata"]["namespace"] == namespace)


def _is_controlled_by(pod: RawObject, uid: str) -> bool:
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(owner["uid"] == uid and owner.get("controller") for owner in owners)


def _selected_by(service: RawObject, store: RawStore) -> Found:
    return store.select(namespace=service["metadata"]["namespace"], label_selector=LabelSelector.of_service(service))


def _selected_among(service: RawObject, pods: Found) -> Found:
    namespace, wanted = service["metadata"]["namespace"], service["spec"]["selector"].items()
    return [pod for pod in pods if _in(pod, namespace) and wanted <= _labels(pod).items()]


def _seconds(call: Callable[[], object], *, least: float) -> float:
    """Give the median of three runs at least, and of as many as fit into *least* seconds."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < least:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return median(times)


def _shown(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the collector away from what is made and stays: most of the time would be its."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
