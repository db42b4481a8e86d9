"""Writes to a store of 150,000 pods with ten label indexes and one of nodes, at random keys."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from kindex import Store

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.conftest import Subject

ROUNDS = 5
WRITES = 2_000


def parsed_anew(pod: dict[str, Any], **metadata: object) -> dict[str, Any]:
    """Copy a pod as a watch event would bring it, with some metadata changed."""
    labels = dict(pod["metadata"]["labels"])
    return {**pod, "metadata": {**pod["metadata"], "labels": labels, **metadata}}


def put_all(benchmark: BenchmarkFixture, store: Store[dict[str, Any]], made: Callable[[int], list[Any]]) -> None:
    """Put 2,000 objects a round; a figure is for all of them."""

    def objects() -> tuple[tuple[list[Any]], dict[str, Any]]:
        nonlocal number
        number += 1
        return (made(number),), {}

    def put_each(batch: list[Any]) -> None:
        for pod in batch:
            store.put(pod)

    number = 0
    benchmark.extra_info["writes"] = WRITES
    benchmark.pedantic(put_each, setup=objects, rounds=ROUNDS)
    store._check()


def bench_put_unchanged(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """No indexed value changes."""
    put_all(benchmark, subject.store, lambda _: [parsed_anew(pod) for pod in subject.some(WRITES)])


def bench_put_one_label_changed(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """One label of ten takes another value."""
    key = max(subject.probe["metadata"]["labels"])
    values = subject.store.index_values(subject.by_labels.key(key))

    def changed(number: int) -> list[dict[str, Any]]:
        draw = random.Random(number)  # noqa: S311 - a shape, not a secret
        pods = [parsed_anew(pod) for pod in subject.some(WRITES)]
        for pod in pods:
            pod["metadata"]["labels"][key] = draw.choice(values)
        return pods

    put_all(benchmark, subject.store, changed)
    subject.store.replace(subject.pods)


def bench_put_new(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """A key that was not there."""

    def new(number: int) -> list[dict[str, Any]]:
        return [
            parsed_anew(pod, name=f"{pod['metadata']['name']}-{number}", uid=f"{pod['metadata']['uid']}-{number}")
            for pod in subject.some(WRITES)
        ]

    put_all(benchmark, subject.store, new)
    subject.store.replace(subject.pods)
