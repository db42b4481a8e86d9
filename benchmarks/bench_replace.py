"""Lists: the first one, and a relist with one object of a hundred changed, of 150,000 pods with ten label indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kindex import Store

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.conftest import Subject


def bench_first_list(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """Into an empty store; the collector is on."""

    def empty() -> tuple[tuple[Store[dict[str, Any]]], dict[str, Any]]:
        return (Store(indexers=[subject.by_labels]),), {}

    def first_list(store: Store[dict[str, Any]]) -> None:
        assert len(store.replace(subject.pods)) == len(subject.pods)

    benchmark.pedantic(first_list, setup=empty, rounds=3)


def bench_relist(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """One of a hundred has a new resource version and another label."""
    key = max(subject.probe["metadata"]["labels"])
    number = 0

    def relisted() -> tuple[tuple[list[dict[str, Any]]], dict[str, Any]]:
        nonlocal number
        number += 1
        pods = list(subject.pods)
        for slot in range(0, len(pods), 100):
            metadata = pods[slot]["metadata"]
            labels = {**metadata["labels"], key: f"relisted-{number}"}
            pods[slot] = {**pods[slot], "metadata": {**metadata, "labels": labels, "resourceVersion": f"9{number}"}}
        return (pods,), {}

    def relist(pods: list[dict[str, Any]]) -> None:
        assert len(subject.store.replace(pods)) == len(pods) // 100

    benchmark.pedantic(relist, setup=relisted, rounds=3)
    subject.store.replace(subject.pods)
