"""What an open snapshot costs writers and readers, and its bytes; on 150,000 pods with ten label indexes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.bench_put import parsed_anew
from benchmarks.conftest import Shape, size_of, subject_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.conftest import Subject
    from kindex import Snapshot

ROUNDS = 5
WRITES = 2_000
TOUCHED = [0, 1_000, 100_000]
CHANGED = "label-9"


@pytest.fixture(scope="module")
def subject(request: pytest.FixtureRequest) -> Subject:
    """Give one shape: labels of 1,000 values, so an answer is 150 objects."""
    return subject_of(Shape(1, 1_000), size_of(request.config))


def updates(subject: Subject, count: int, seed: int) -> list[dict[str, Any]]:
    """Give pods at random keys, as updates would bring them: one label has another value."""
    draw = random.Random(seed)  # noqa: S311 - a shape, not a secret
    pods = [parsed_anew(pod) for pod in subject.some(count)]
    for pod in pods:
        pod["metadata"]["labels"][CHANGED] = f"value-{int(draw.random() * 1_000)}"
    return pods


def put_each(subject: Subject, pods: list[dict[str, Any]]) -> None:
    """Put them."""
    for pod in pods:
        subject.store.put(pod)


def bench_snapshot_taken(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """Take one of a state of which there is none, and close it."""

    def take() -> None:
        subject.store.snapshot().close()

    benchmark(take)


def bench_snapshot_taken_again(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """Take one beside an open one of the same revision."""
    with subject.store.snapshot():
        benchmark(lambda: subject.store.snapshot().close())


@pytest.mark.parametrize("put", ["without", "first", "later"])
def bench_put_beside_snapshot(benchmark: BenchmarkFixture, subject: Subject, put: str) -> None:
    """Put 2,000 objects a round: no snapshot is open, or one that they have not touched, or one that they have."""
    opened: list[Snapshot[dict[str, Any]]] = []
    number = 0

    def ready() -> tuple[tuple[Subject, list[dict[str, Any]]], dict[str, Any]]:
        nonlocal number
        number += 1
        for snapshot in opened:
            snapshot.close()
        opened.clear()
        if put != "without":
            opened.append(subject.store.snapshot())
        if put == "later":
            put_each(subject, updates(subject, WRITES, -number))
        return (subject, updates(subject, WRITES, number)), {}

    benchmark.extra_info["writes"] = WRITES
    benchmark.pedantic(put_each, setup=ready, rounds=ROUNDS)
    for snapshot in opened:
        snapshot.close()
    subject.store.replace(subject.pods)


@pytest.fixture(params=TOUCHED, ids=lambda touched: f"{touched}-touched")
def snapshot(request: pytest.FixtureRequest, subject: Subject) -> Iterator[Snapshot[dict[str, Any]]]:
    """Open one, and touch so many objects."""
    with subject.store.snapshot() as opened:
        put_each(subject, updates(subject, request.param, 1))
        yield opened
    subject.store.replace(subject.pods)


def bench_snapshot_select(benchmark: BenchmarkFixture, subject: Subject, snapshot: Snapshot[dict[str, Any]]) -> None:
    """Select 150."""
    found = benchmark(snapshot.select, label_selector=subject.selector(1))
    assert len(found) == len(subject.store.select(label_selector=subject.selector(1)))


def bench_snapshot_count(benchmark: BenchmarkFixture, subject: Subject, snapshot: Snapshot[dict[str, Any]]) -> None:
    """Count the same."""
    counted = benchmark(snapshot.count, label_selector=subject.selector(1))
    assert counted == subject.store.count(label_selector=subject.selector(1))


@pytest.mark.parametrize("touched", TOUCHED[1:])
def bench_snapshot_first_query(benchmark: BenchmarkFixture, subject: Subject, touched: int) -> None:
    """Ask a snapshot for the first time since so many objects were touched; what is kept for it is indexed then."""
    opened: list[Snapshot[dict[str, Any]]] = []
    number = 0

    def ready() -> None:
        nonlocal number
        number += 1
        for each in opened:
            each.close()
        opened[:] = [subject.store.snapshot()]
        put_each(subject, updates(subject, touched, number))

    benchmark.pedantic(lambda: opened[0].count(label_selector=subject.selector(1)), setup=ready, rounds=3)
    report = subject.store.memory()
    benchmark.extra_info["kept_bytes"] = report.snapshot_bytes
    assert report.snapshots == 1
    opened[0].close()
    subject.store.replace(subject.pods)
