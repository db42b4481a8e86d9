"""The demo's questions to a cluster that stands still, answered by indexes and by looking at every pod."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs
from rich.table import Table

from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import LabelIndexer
from kindex.indexers.owners import OwnerIndexer
from kindex.selectors import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kindex.store import Store
    from kindex.testing import Cluster

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
RawStore: TypeAlias = "Store[RawObject]"
Found: TypeAlias = "list[RawObject]"

_SERVICES: Final = 30  # enough to tell, few enough to wait for

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")
by_owner = OwnerIndexer(controller_only=True)


@attrs.frozen
class Asked:
    """A question, and both ways to its answer."""

    text: str
    by_index: Callable[[], Found]
    by_scan: Callable[[], Found]


def questions_table(cluster: Cluster, store: RawStore) -> Table:
    """Ask each question in both ways, and give what came of it as a table.

    Both ways must find the same pods; it would be a bug in kindex if not, and the demo would end with it.
    """
    table = Table("question", title="The same pods, by index and by looking at every pod", title_justify="left")
    for heading in ("pods", "by index", "by scan", "times faster"):
        table.add_column(heading, justify="right")
    for question in questions(cluster, store):
        found, wanted = question.by_index(), question.by_scan()
        assert sorted(map(id, found)) == sorted(map(id, wanted)), question.text
        quick, slow = seconds_of(question.by_index, least=0.05), seconds_of(question.by_scan, least=0.0)
        table.add_row(question.text, f"{len(found):,}", duration(quick), duration(slow), f"{slow / quick:,.0f}")
    return table


def questions(cluster: Cluster, store: RawStore) -> Iterator[Asked]:
    """Give the questions to a cluster, whose pods *store* has; it has the indexers of this module."""
    pods = cluster.pods
    app, namespace = most_common_app(cluster)
    yield Asked(
        f"app={app}",
        lambda: store.select(label_selector=f"app={app}"),
        lambda: [pod for pod in pods if _labels(pod).get("app") == app],
    )
    yield Asked(
        f"app={app} in namespace {namespace}",
        lambda: store.select(namespace=namespace, label_selector=f"app={app}"),
        lambda: [pod for pod in pods if _in(pod, namespace) and _labels(pod).get("app") == app],
    )
    yield Asked(
        "tier in (backend,cache),app",
        lambda: store.select(label_selector="tier in (backend,cache),app"),
        lambda: [pod for pod in pods if _labels(pod).get("tier") in ("backend", "cache") and "app" in _labels(pod)],
    )
    node = Counter(pod["spec"]["nodeName"] for pod in pods if "nodeName" in pod["spec"]).most_common(1)
    node_name = node[0][0] if node else ""
    yield Asked(
        f"on node {node_name}",
        lambda: store.select(by_node.at(node_name)),
        lambda: [pod for pod in pods if pod["spec"].get("nodeName") == node_name],
    )
    owner = max(cluster.replica_sets, key=lambda owner: int(owner["spec"]["replicas"]), default=None)
    if owner is not None:
        yield Asked(
            f"of ReplicaSet {owner['metadata']['name']}",
            lambda: store.select(by_owner.at(owner)),
            lambda: [pod for pod in pods if _is_controlled_by(pod, owner["metadata"]["uid"])],
        )
    services = [service for service in cluster.services if service["spec"].get("selector")][:_SERVICES]
    if services:
        yield Asked(
            f"of {len(services)} services, one by one",
            lambda: [pod for service in services for pod in _selected_by(service, store)],
            lambda: [pod for service in services for pod in _selected_among(service, pods)],
        )


def most_common_app(cluster: Cluster) -> tuple[str, str]:
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


def seconds_of(call: Callable[[], object], *, least: float) -> float:
    """Give the median of three runs at least, and of as many as fit into *least* seconds."""
    times: list[float] = []
    total = 0.0
    while len(times) < 3 or total < least:
        started = time.perf_counter()
        call()
        took = time.perf_counter() - started
        times.append(took)
        total += took
    return median(times)


def duration(seconds: float) -> str:
    """Give a time as people read it.

    >>> duration(0.0000125), duration(0.0125), duration(1.25)
    ('12.5 µs', '12.5 ms', '1.2 s')
    """
    if seconds >= 1:
        return f"{seconds:,.1f} s"
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.1f} ms"
