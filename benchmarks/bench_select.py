"""Queries on 150,000 pods, beside the scan that they replace: a list comprehension over plain dicts."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kindex import ObjectKey, Store

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.conftest import Subject


def scanned(subject: Subject, labels: int) -> list[dict[str, Any]]:
    """Answer as a controller without an index does."""
    wanted = dict(pair.split("=") for pair in subject.selector(labels).split(","))
    return [
        pod for pod in subject.pods if all(pod["metadata"]["labels"].get(key) == value for key, value in wanted.items())
    ]


@pytest.mark.parametrize("labels", [1, 2, 3])
def bench_select(benchmark: BenchmarkFixture, subject: Subject, labels: int) -> None:
    """One, two or three labels, by index."""
    selector = subject.selector(labels)
    found = benchmark(subject.store.select, label_selector=selector)
    benchmark.extra_info["answer"] = len(found)
    assert len(found) == len(scanned(subject, labels))


def bench_select_with_new_selectors(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """Two labels, in words that were never asked before: parsed, compiled and answered. A figure is for 1,000."""
    namespace, selector = subject.probe["metadata"]["namespace"], subject.selector(1)
    numbers = count()

    def words() -> tuple[tuple[list[str]], dict[str, Any]]:
        number = next(numbers)
        return ([f"{selector},label-9!=none-{number}-{each}" for each in range(1_000)],), {}

    def ask(selectors: list[str]) -> None:
        for each in selectors:
            subject.store.select(namespace=namespace, label_selector=each)

    benchmark.pedantic(ask, setup=words, rounds=5)


@pytest.mark.parametrize("labels", [1, 2, 3])
def bench_count(benchmark: BenchmarkFixture, subject: Subject, labels: int) -> None:
    """The same, counted only."""
    selector = subject.selector(labels)
    assert benchmark(subject.store.count, label_selector=selector) == len(scanned(subject, labels))


def bench_select_in_namespace(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """Namespace and one label."""
    namespace = subject.probe["metadata"]["namespace"]
    found = benchmark(subject.store.select, namespace=namespace, label_selector=subject.selector(1))
    benchmark.extra_info["answer"] = len(found)
    assert subject.probe in found


def bench_select_by_node(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """One node: about 30 pods."""
    term = subject.by_node.at(subject.probe["spec"]["nodeName"])
    found = benchmark(subject.store.select, term)
    benchmark.extra_info["answer"] = len(found)
    assert subject.probe in found


def bench_get(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """One warm key."""
    key = ObjectKey(subject.probe["metadata"]["namespace"], subject.probe["metadata"]["name"])
    assert benchmark(subject.store.get, key) is subject.probe


def bench_scan_by_kindex(benchmark: BenchmarkFixture, subject: Subject) -> None:
    """A label selector that no index answers, on a store without indexes."""
    store: Store[dict[str, Any]] = Store()
    store.replace(subject.pods)
    selector = subject.selector(1)
    found = benchmark.pedantic(store.select, kwargs={"label_selector": selector}, rounds=5, warmup_rounds=1)
    assert len(found) == len(scanned(subject, 1))


@pytest.mark.parametrize("labels", [1, 2, 3])
def bench_scan_by_hand(benchmark: BenchmarkFixture, subject: Subject, labels: int) -> None:
    """The rival: a list comprehension."""
    found = benchmark.pedantic(scanned, args=(subject, labels), rounds=5, warmup_rounds=1)
    assert subject.probe in found
