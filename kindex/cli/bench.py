"""``kindex bench``: what an index is worth on this machine, and what it costs."""

from __future__ import annotations

import json
import os
import platform
from enum import Enum
from typing import TYPE_CHECKING, Any

import attrs
from rich.table import Table

from kindex.cli.collector import without_collector
from kindex.cli.demo_questions import by_labels, by_node, by_owner, duration, questions, seconds_of
from kindex.store import Store
from kindex.testing import generate_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from kindex.cli.demo_questions import RawObject, RawStore
    from kindex.testing import Cluster

_NAMESPACES = 60
_WRITES = 1_000
_ASKED_SECONDS = 0.2


class BenchOutput(Enum):
    """The form of the figures."""

    TABLE = "table"
    JSON = "json"


@attrs.frozen
class Answered:
    """What one question took, by index and by scan, in seconds."""

    pods: int
    question: str
    found: int
    index_seconds: float
    scan_seconds: float

    @property
    def times_faster(self) -> float:
        """How many scans fit into the time."""
        return self.scan_seconds / self.index_seconds


@attrs.frozen
class Written:
    """What writing a pod took, in seconds, and what the indexes take in bytes for each."""

    indexes: str
    put_seconds: float
    bytes_per_pod: float


def run_bench(*, pods: int, seed: int, output: BenchOutput, console: Console, progress: Console) -> None:
    """Measure, and print the figures on *console*; *progress* shows how far it is, if it is a terminal.

    Both ways to an answer must find the same; it would be a bug in kindex if not, and the bench would end with it.
    """
    answered: list[Answered] = []
    written: list[Written] = []
    with progress.status("") as status, without_collector():
        for size in sorted({max(1, pods // 100), max(1, pods // 10), pods}):
            status.update(f"{size:,} pods: making them")
            cluster = generate_cluster(pods=size, namespaces=_NAMESPACES, seed=seed)
            store: RawStore = Store(name="pods", indexers=[by_labels, by_node, by_owner])
            store.replace(cluster.pods)
            status.update(f"{size:,} pods: asking")
            answered += _asked(size, cluster, store)
            if size == pods:
                status.update(f"{size:,} pods: writing")
                written = list(_written(cluster.pods))
    if output is BenchOutput.JSON:
        console.print(json.dumps(_as_data(answered, written), indent=2), markup=False, soft_wrap=True)
        return
    console.print(_machine(), markup=False, soft_wrap=not console.is_terminal)
    console.print(_answers_table(answered))
    console.print(_writes_table(written))


def _asked(size: int, cluster: Cluster, store: RawStore) -> Iterator[Answered]:
    for question in questions(cluster, store):
        found, wanted = question.by_index(), question.by_scan()
        assert sorted(map(id, found)) == sorted(map(id, wanted)), question.text
        quick = seconds_of(question.by_index, least=_ASKED_SECONDS)
        yield Answered(size, question.text, len(found), quick, seconds_of(question.by_scan, least=_ASKED_SECONDS))


def _written(pods: list[RawObject]) -> Iterator[Written]:
    """Write some of the pods again, in a store with indexes and in one without."""
    some = pods[:: max(1, len(pods) // _WRITES)]
    for text, indexers in (("namespace alone", []), ("app, tier, node, owner", [by_labels, by_node, by_owner])):
        store: RawStore = Store(name="pods", indexers=indexers)
        store.replace(pods)
        report = store.memory()

        def write(store: RawStore = store) -> None:
            for pod in some:
                store.delete(pod)
                store.put(pod)

        each = seconds_of(write, least=_ASKED_SECONDS) / (2 * len(some))
        yield Written(text, each, (report.index_bytes + report.text_bytes) / len(pods))


def _machine() -> str:
    return (
        f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}, {os.cpu_count()} CPUs"
    )


def _answers_table(answered: list[Answered]) -> Table:
    table = Table("pods", "question", title="The same pods, by index and by looking at every pod", title_justify="left")
    for heading in ("found", "by index", "by scan", "times faster"):
        table.add_column(heading, justify="right")
    before = answered[0].pods
    for each in answered:
        if each.pods != before:
            table.add_section()
            before = each.pods
        times = duration(each.index_seconds), duration(each.scan_seconds)
        table.add_row(f"{each.pods:,}", each.question, f"{each.found:,}", *times, f"{each.times_faster:,.0f}")
    return table


def _writes_table(written: list[Written]) -> Table:
    table = Table("indexes", title="What they cost", title_justify="left")
    table.add_column("a write", justify="right")
    table.add_column("bytes for each pod", justify="right")
    for each in written:
        table.add_row(each.indexes, duration(each.put_seconds), f"{each.bytes_per_pod:,.0f}")
    return table


def _as_data(answered: list[Answered], written: list[Written]) -> dict[str, Any]:  # Any: JSON
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "questions": [attrs.asdict(each) for each in answered],
        "writes": [attrs.asdict(each) for each in written],
    }
