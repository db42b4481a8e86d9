"""How costs grow: one thing is made larger, all else stays; the page fits a power to each curve and plots it.

Where a power is near nought, the cost does not depend on what grew; near one, it is in proportion to it.
``tests/unit/test_growth.py`` counts the work of queries, which no machine changes; here are the times.
"""

from __future__ import annotations

import gc
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.bench_put import parsed_anew
from benchmarks.bench_suite import in_rounds
from benchmarks.workloads import pods
from kindex import LabelIndexer, Store

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.workloads import RawObject

SIZE = 20_000
WRITES = 500
ANSWER = 100
OBJECTS = (1_000, 3_000, 10_000, 30_000, 100_000)
LABELS = (1, 2, 5, 10, 20)
VALUES = (10, 100, 1_000, 10_000)
NAMESPACES = (1, 10, 100, 1_000)
ANSWERS = (1, 10, 100, 1_000, 10_000)
FOLLOWERS = (1, 10, 100, 1_000)
by_labels = {count: LabelIndexer(*(f"label-{at}" for at in range(count))) for count in LABELS}


@lru_cache(maxsize=1)
def filled(
    n: int = SIZE, labels: int = 5, values: int = ANSWER * 2, namespaces: int = 1
) -> tuple[Store[RawObject], list[RawObject]]:
    """Fill a store."""
    made = pods(n, labels=labels, values=values, namespaces=namespaces)
    store: Store[RawObject] = Store(name="pods", indexers=[by_labels[labels]])
    store.replace(made)
    gc.collect()
    return store, made


def note(benchmark: BenchmarkFixture, grows: str, to: int, operation: str, **more: Any) -> None:
    """Say what a figure is of."""
    benchmark.extra_info.update(grows=grows, to=to, operation=operation, **more)


def put_with_one_label_changed(benchmark: BenchmarkFixture, store: Store[RawObject], made: list[RawObject]) -> None:
    """Let the first label take values that others have."""
    some = made[:: max(1, len(made) // WRITES)]
    values = [pod["metadata"]["labels"]["label-0"] for pod in some]

    def changed(number: int) -> list[RawObject]:
        batch = [parsed_anew(pod) for pod in some]
        for pod, value in zip(batch, values[number:] + values[:number], strict=True):
            pod["metadata"]["labels"]["label-0"] = value
        return batch

    benchmark.extra_info["per"] = len(some)
    in_rounds(benchmark, store.put, changed)
    for pod in some:
        store.put(pod)


def first_list(benchmark: BenchmarkFixture, made: list[RawObject], labels: int) -> None:
    """Fill empty stores; a figure is for one object."""

    def fill() -> None:
        store: Store[RawObject] = Store(indexers=[by_labels[labels]])
        store.replace(made)

    benchmark.extra_info["per"] = len(made)
    benchmark.pedantic(fill, rounds=3)


@pytest.mark.parametrize("operation", ["select 100", "count", "put: one label", "first list, each object"])
@pytest.mark.parametrize("to", OBJECTS)
def bench_objects(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """More objects, with more values of each label, so that answers stay at about a hundred."""
    store, made = filled(n=to, values=to // ANSWER)
    note(benchmark, "objects", to, operation)
    match operation:
        case "select 100":
            benchmark(store.select, label_selector="label-0=value-1")
        case "count":
            benchmark(store.count, label_selector="label-0=value-1,label-1=value-2")
        case "put: one label":
            put_with_one_label_changed(benchmark, store, made)
        case _:
            first_list(benchmark, made, 5)


@pytest.mark.parametrize("operation", ["select 100", "put: one label", "first list, each object"])
@pytest.mark.parametrize("to", LABELS)
def bench_labels(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """More labels on each object, all indexed."""
    store, made = filled(labels=to)
    note(benchmark, "labels", to, operation)
    match operation:
        case "select 100":
            benchmark(store.select, label_selector="label-0=value-1")
        case "put: one label":
            put_with_one_label_changed(benchmark, store, made)
        case _:
            first_list(benchmark, made, to)


@pytest.mark.parametrize("operation", ["tally", "put: one label", "first list, each object"])
@pytest.mark.parametrize("to", VALUES)
def bench_values(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """More values of each label."""
    store, made = filled(values=to)
    note(benchmark, "values", to, operation)
    match operation:
        case "tally":
            benchmark(store.tally, by_labels[5].key("label-0"))
        case "put: one label":
            put_with_one_label_changed(benchmark, store, made)
        case _:
            first_list(benchmark, made, 5)


@pytest.mark.parametrize("operation", ["namespace and label", "count in a namespace", "put: one label"])
@pytest.mark.parametrize("to", NAMESPACES)
def bench_namespaces(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """More namespaces for the same objects."""
    store, made = filled(namespaces=to)
    note(benchmark, "namespaces", to, operation)
    namespace = made[0]["metadata"]["namespace"]
    match operation:
        case "namespace and label":
            benchmark(store.select, namespace=namespace, label_selector="label-0=value-1")
        case "count in a namespace":
            benchmark(store.count, namespace=namespace)
        case _:
            put_with_one_label_changed(benchmark, store, made)


@lru_cache(maxsize=1)
def of_all_sizes() -> Store[RawObject]:
    """Fill a store in which so many objects have one value as each answer shall have."""
    made = pods(SIZE, labels=1)
    sizes = iter([size for size in ANSWERS for _ in range(size)])
    for pod in made:
        pod["metadata"]["labels"]["size"] = str(next(sizes, 0))
    store: Store[RawObject] = Store(name="pods", indexers=[LabelIndexer("size")])
    store.replace(made)
    gc.collect()
    return store


@pytest.mark.parametrize("operation", ["select", "select, after a change", "count"])
@pytest.mark.parametrize("to", ANSWERS)
def bench_answers(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """Larger answers from one store."""
    store = of_all_sizes()
    note(benchmark, "answer", to, operation)
    if operation == "count":
        assert benchmark(store.count, label_selector=f"size={to}") == to
        return
    if operation == "select":
        assert len(benchmark(store.select, label_selector=f"size={to}")) == to
        return
    first = store.select(label_selector=f"size={to}")[0]

    def changed() -> None:
        # Out of the posting and in again: nothing of the last answer is of use.
        moved = parsed_anew(first)
        moved["metadata"]["labels"]["size"] = "none"
        store.put(moved)
        store.put(first)

    def select() -> None:
        assert len(store.select(label_selector=f"size={to}")) == to

    benchmark.pedantic(select, setup=changed, rounds=30)


@pytest.mark.parametrize("operation", ["put: others follow", "put: all are told"])
@pytest.mark.parametrize("to", FOLLOWERS)
def bench_followers(benchmark: BenchmarkFixture, to: int, operation: str) -> None:
    """More followers: of other objects, by a selector, or of all."""
    store, made = filled()
    note(benchmark, "followers", to, operation)
    others = operation == "put: others follow"
    follow = [store.follow(label_selector=f"label-1=none-{at}" if others else None, replay=False) for at in range(to)]
    put_with_one_label_changed(benchmark, store, made)
    for each in follow:
        each.close()
