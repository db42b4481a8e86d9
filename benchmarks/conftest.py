"""What the benchmarks share: stores of 150,000 pods, one for each shape, and the same pods as a plain list."""

from __future__ import annotations

import gc
import random
import shlex
from functools import lru_cache
from typing import Any

import attrs
import pytest

from benchmarks.workloads import pods
from kindex import FieldIndexer, LabelIndexer, Store

SIZE = 150_000
QUICK = 15_000


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    parser.addoption("--quick", action="store_true", help="small sizes only")
    parser.addoption("--huge", action="store_true", help="500,000 pods as well")


def pytest_benchmark_update_json(config: pytest.Config, output_json: dict[str, Any]) -> None:
    """Say in the figures how they were made."""
    output_json["command"] = f"python -m pytest {shlex.join(config.invocation_params.args)}"


@attrs.frozen
class Shape:
    """One of client-go's measured parameter sets, all with ten labels."""

    namespaces: int
    values: int
    together: bool = False

    def __str__(self) -> str:
        return f"{self.namespaces}ns-{self.values}v{'-together' if self.together else ''}"


@attrs.frozen
class Subject:
    """A shape's pods, the store that holds them, and selectors that match its middle pod."""

    shape: Shape
    pods: list[dict[str, Any]]
    store: Store[dict[str, Any]]
    by_labels: LabelIndexer
    by_node: FieldIndexer

    @property
    def probe(self) -> dict[str, Any]:
        """A pod that every selector below matches."""
        return self.pods[len(self.pods) // 2]

    def selector(self, labels: int) -> str:
        """Give a label selector of so many equalities that matches the probe."""
        pairs = sorted(self.probe["metadata"]["labels"].items())[:labels]
        return ",".join(f"{key}={value}" for key, value in pairs)

    def some(self, count: int) -> list[dict[str, Any]]:
        """Give pods at random keys, the same for each run."""
        return random.Random(7).sample(self.pods, min(count, len(self.pods)))  # noqa: S311 - a shape, not a secret


SHAPES = [Shape(1, 10), Shape(1, 1_000), Shape(100, 10), Shape(1, 1_000, together=True)]


def size_of(config: pytest.Config) -> int:
    """Say how many pods are to be made."""
    return QUICK if config.getoption("--quick") else SIZE


@lru_cache(maxsize=1)  # a store of 150,000 takes half a gigabyte: one at a time
def subject_of(shape: Shape, size: int = SIZE) -> Subject:
    """Build the store of a shape."""
    made = pods(size, namespaces=shape.namespaces, labels=10, values=shape.values, together=shape.together)
    by_labels = LabelIndexer(*sorted(made[0]["metadata"]["labels"]))
    by_node = FieldIndexer("spec.nodeName")
    store: Store[dict[str, Any]] = Store(name=str(shape), indexers=[by_labels, by_node])
    store.replace(made)
    gc.collect()
    return Subject(shape, made, store, by_labels, by_node)


@pytest.fixture(params=SHAPES, ids=str, scope="session")
def subject(request: pytest.FixtureRequest) -> Subject:
    """Give each shape in turn."""
    return subject_of(request.param, size_of(request.config))
