"""One service event among 150,000 pods, by walking and by index: ``python -m benchmarks.bench_endpoints``.

Kubernetes' endpoints controllers answer each event of a service by listing the pods of its namespace with its selector:
all pods of the namespace are looked at while the cache's lock is held. Here three caches of the same pods answer:

* **walk**: a dict by namespace under a lock, walked while it is held, as theirs is;
* **scan**: kindex without an index on labels: references are copied under the lock, and looked at after it;
* **index**: kindex with the labels indexed.

And the other way round, for an event of a pod: which of 5,000 services select it, by walking those of its namespace,
and by ``SelectorIndexer``. For each there is the time of an answer, and how long the lock was held for it.

Options: ``--pods N``, ``--json FILE``, ``--markdown``.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import threading
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any

import attrs
from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.bench_memory import circumstances
from benchmarks.lock_holds import TimedLock
from benchmarks.workloads import pods
from kindex import LabelIndexer, SelectorIndexer, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.workloads import Distribution

RawObject = dict[str, Any]

RESULTS = Path(__file__).parent / "results" / "endpoints.json"
SERVICES, EVENTS = 5_000, 40
selecting = SelectorIndexer("spec.selector")


@attrs.frozen
class Shape:
    """What pods there are; with *values* of each label."""

    namespaces: int
    labels: int
    distribution: Distribution
    values: int = 1_000

    def __str__(self) -> str:
        where = "one namespace" if self.namespaces == 1 else f"{self.namespaces} namespaces"
        return f"{where}, {self.labels} label{'s' if self.labels > 1 else ''}, {self.distribution}"


SHAPES = [
    Shape(namespaces, labels, distribution)
    for namespaces in (1, 100)
    for labels in (1, 5, 10)
    for distribution in ("uniform", "zipf")
]
LOSING = [
    ("100 pods in all", Shape(1, 1, "uniform", values=10), 100),
    ("a label that all pods share", Shape(1, 1, "uniform", values=1), 150_000),
]


class Walked:
    """Objects by namespace under a lock, walked while it is held."""

    def __init__(self, objects: Sequence[RawObject]) -> None:
        self.lock: Any = threading.RLock()
        self._by_namespace: dict[str, dict[str, RawObject]] = {}
        for obj in objects:
            metadata = obj["metadata"]
            self._by_namespace.setdefault(metadata["namespace"], {})[metadata["name"]] = obj

    def pods_of(self, service: RawObject) -> list[RawObject]:
        """Walk the pods of the service's namespace."""
        wanted = service["spec"]["selector"].items()
        with self.lock:
            there = self._by_namespace.get(service["metadata"]["namespace"], {})
            return [pod for pod in there.values() if wanted <= pod["metadata"]["labels"].items()]

    def services_of(self, pod: RawObject) -> list[RawObject]:
        """Walk the services of the pod's namespace."""
        labels = pod["metadata"]["labels"].items()
        with self.lock:
            there = self._by_namespace.get(pod["metadata"]["namespace"], {})
            return [service for service in there.values() if service["spec"]["selector"].items() <= labels]


def services(made: Sequence[RawObject], count: int = SERVICES) -> list[RawObject]:
    """Make services, each with the first label of some pod of its namespace."""
    draw = random.Random(3)  # noqa: S311 - a shape, not a secret
    found = []
    for number, pod in enumerate(draw.choices(made, k=count)):
        selector = {"label-0": pod["metadata"]["labels"]["label-0"]}
        metadata = {"name": f"service-{number}", "namespace": pod["metadata"]["namespace"]}
        found.append({"kind": "Service", "metadata": metadata, "spec": {"selector": selector}})
    return found


def answered(answer: Callable[[RawObject], list[RawObject]], asked: Sequence[RawObject], lock: Any) -> dict[str, float]:
    """Take the time of answers, and of the lock, in microseconds; medians. Each is asked twice, and first warmed up."""
    timed = TimedLock(lock.lock)
    lock.lock = timed
    took, held, size = [], [], []
    for obj in asked[:3]:
        answer(obj)
    for obj in asked:
        timed.forget()
        began = perf_counter()
        found = answer(obj)
        took.append(perf_counter() - began)
        held.append(max(timed.holds))
        size.append(len(found))
    gc.callbacks.remove(timed._collected)
    lock.lock = timed._lock
    return {"us": median(took) * 1e6, "held_us": median(held) * 1e6, "answer": median(size)}


def of_pods(made: list[RawObject], shape: Shape) -> dict[str, dict[str, float]]:
    """Answer events of services."""
    labels = [f"label-{number}" for number in range(shape.labels)]
    walked = Walked(made)
    plain: Store[RawObject] = Store(name="pods")
    indexed: Store[RawObject] = Store(name="pods", indexers=[LabelIndexer(*labels)])
    for store in (plain, indexed):
        store.replace(made)
    asked = services(made, EVENTS)

    def by_store(store: Store[RawObject]) -> Callable[[RawObject], list[RawObject]]:
        def answer(service: RawObject) -> list[RawObject]:
            return store.select(namespace=service["metadata"]["namespace"], label_selector=service["spec"]["selector"])

        return answer

    for service in asked[:5]:
        wanted = sorted(pod["metadata"]["name"] for pod in walked.pods_of(service))
        for store in (plain, indexed):
            assert sorted(pod["metadata"]["name"] for pod in by_store(store)(service)) == wanted
    return {
        "walk": answered(walked.pods_of, asked, walked),
        "scan": answered(by_store(plain), asked, plain._core),
        "index": answered(by_store(indexed), asked, indexed._core),
    }


def of_services(made: list[RawObject]) -> dict[str, dict[str, float]]:
    """Answer events of pods."""
    there = services(made, min(SERVICES, len(made)))
    walked = Walked(there)
    indexed: Store[RawObject] = Store(name="services", indexers=[selecting])
    indexed.replace(there)
    asked = random.Random(5).choices(made, k=EVENTS)  # noqa: S311 - as above

    def by_index(pod: RawObject) -> list[RawObject]:
        return indexed.select(selecting.matching(pod), namespace=pod["metadata"]["namespace"])

    for pod in asked[:5]:
        names = [sorted(each["metadata"]["name"] for each in answer(pod)) for answer in (walked.services_of, by_index)]
        assert names[0] == names[1]
    return {
        "walk": answered(walked.services_of, asked, walked),
        "index": answered(by_index, asked, indexed._core),
    }


def main() -> None:
    """Measure all shapes, print tables, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=150_000)
    parser.add_argument("--json", type=Path, default=RESULTS)
    parser.add_argument("--markdown", action="store_true", help="print tables for a document")
    options = parser.parse_args()
    cases = [(str(shape), shape, options.pods) for shape in SHAPES]
    rows: list[dict[str, Any]] = []
    for name, shape, count in [*cases, *((name, shape, min(count, options.pods)) for name, shape, count in LOSING)]:
        made = pods(
            count,
            namespaces=shape.namespaces,
            labels=shape.labels,
            values=shape.values,
            distribution=shape.distribution,
        )
        gc.collect()
        gc.freeze()
        rows.append({"case": name, "pods": count, "service event": of_pods(made, shape)})
        if shape.labels == 10:
            rows[-1]["pod event"] = of_services(made)
        gc.unfreeze()
    console = Console(width=160)
    for event in ("service event", "pod event"):
        console.print(shown(event, [row for row in rows if event in row], markdown=options.markdown))
    options.json.write_text(json.dumps({**circumstances(), "services": SERVICES, "rows": rows}, indent=1) + "\n")


def shown(event: str, rows: list[dict[str, Any]], *, markdown: bool) -> Table:
    """Make a table of rows: microseconds."""
    ways = list(rows[0][event])
    title = None if markdown else f"{event}: microseconds"
    table = Table("", title=title, title_justify="left", box=box.MARKDOWN if markdown else box.SIMPLE_HEAD)
    for way in ("found", *ways, *(f"{way}, lock held" for way in ways), "times faster"):
        table.add_column(way, justify="right")
    for row in rows:
        by = row[event]
        times = [f"{by[way]['us']:,.1f}" for way in ways]
        holds = [f"{by[way]['held_us']:,.1f}" for way in ways]
        table.add_row(
            row["case"],
            f"{by['index']['answer']:,.0f}",
            *times,
            *holds,
            f"{by['walk']['us'] / by['index']['us']:,.1f}",
        )
    return table


if __name__ == "__main__":
    main()
