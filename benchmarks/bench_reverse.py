"""Which of 10,000 selectors match a pod of ten labels, beside the scan that it replaces.

The pod's labels are new each time, as they are when pods change: nothing but the index is remembered. ``candidates`` is
how many selectors share what they are filed under with the pod; half of them match.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kindex import SelectorIndexer, Store

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

SIZE = 10_000
NAMESPACES = 100

selecting = SelectorIndexer("spec.selector")


def selectors(candidates: int) -> list[dict[str, str]]:
    """Make the selectors; candidates want a label that the pod has, and another that every second one gives it."""
    made = [
        {"label-0": "value", f"label-{1 + number // 2 % 8}": "value" if number % 2 else f"other-{number}"}
        for number in range(candidates)
    ]
    # Two labels each as well; filed under what is their own.
    return made + [{"app": f"app-{number}", "part-of": "shop"} for number in range(SIZE - candidates)]


def services(candidates: int) -> list[dict[str, Any]]:
    """Make a service for each selector."""
    return [
        {
            "metadata": {"name": f"service-{number}", "namespace": f"namespace-{number % NAMESPACES}"},
            "spec": {"selector": selector},
        }
        for number, selector in enumerate(selectors(candidates))
    ]


def pod_labels(number: int) -> dict[str, str]:
    """Give ten labels, one of them the pod's own."""
    return {f"label-{label}": "value" for label in range(9)} | {"pod": f"pod-{number}"}


@pytest.mark.parametrize("candidates", [0, 4, 20])
@pytest.mark.parametrize("namespace", [None, "namespace-1"], ids=["everywhere", "in a namespace"])
def bench_reverse(benchmark: BenchmarkFixture, candidates: int, namespace: str | None) -> None:
    """By index."""
    store: Store[Any] = Store(indexers=[selecting])
    store.replace(services(candidates))
    step = store.explain(selecting.matching(pod_labels(0))).steps[0]
    benchmark.extra_info.update(candidates=step.candidates, evaluated=step.evaluated)
    numbers = count()
    found = benchmark(lambda: store.select(selecting.matching(pod_labels(next(numbers))), namespace=namespace))
    assert len(found) == len(scanned(services(candidates), namespace))


def bench_reverse_by_hand(benchmark: BenchmarkFixture) -> None:
    """The rival: a list comprehension over every service."""
    made = services(20)
    found = benchmark.pedantic(scanned, args=(made, None), rounds=10, warmup_rounds=1)
    assert len(found) == 10


def scanned(made: list[dict[str, Any]], namespace: str | None) -> list[dict[str, Any]]:
    """Answer as a controller without an index does."""
    labels = pod_labels(0)
    return [
        each
        for each in made
        if namespace in (None, each["metadata"]["namespace"])
        and all(labels.get(key) == value for key, value in each["spec"]["selector"].items())
    ]
