"""The shapes of which memory is measured, and what client-go's cache takes for the same pods."""

from __future__ import annotations

from typing import Any

import attrs

SIZE = 150_000

CLIENT_GO_SOURCE = (
    "Heap of the label index alone: Kubernetes 1.36.2's client-go, Go 1.27.3, 150,000 v1.Pods, an index function that"
    " gives one value ns:<namespace>/label:<key>=<value> a label, as proposed upstream; medians of 5"
)
CLIENT_GO_MB = {
    (1, "uniform", 10, 1, 0): 8.4,
    (1, "uniform", 10, 5, 0): 41.8,
    (1, "uniform", 10, 10, 0): 83.7,
    (1, "uniform", 1_000, 1, 0): 6.7,
    (1, "uniform", 1_000, 5, 0): 33.5,
    (1, "uniform", 1_000, 10, 0): 67.1,
    (1, "zipf", 10, 10, 0): 61.3,
    (1, "zipf", 1_000, 10, 0): 64.6,
    (1, "uniform", 10, 10, 10): 619.5,
    (100, "uniform", 10, 1, 0): 6.7,
    (100, "uniform", 10, 5, 0): 33.5,
    (100, "uniform", 10, 10, 0): 67.1,
    (100, "uniform", 1_000, 1, 0): 27.1,
    (100, "uniform", 1_000, 5, 0): 131.9,
    (100, "uniform", 1_000, 10, 0): 264.1,
    (100, "zipf", 10, 10, 0): 71.9,
    (100, "zipf", 1_000, 10, 0): 160.9,
    (100, "uniform", 10, 10, 10): 602.5,
}
"""MB by namespaces, distribution, values, labels, and labels unique to each pod; its index cannot tell whether labels
go together."""


@attrs.frozen
class Shape:
    """Pods: how many namespaces they are in, and what labels they have; as ``workloads.pods`` takes it."""

    namespaces: int = 1
    distribution: str = "uniform"
    values: int = 10
    labels: int = 10
    unique: int = 0
    together: bool = False
    n: int = SIZE

    def __str__(self) -> str:
        return (
            f"{self.namespaces} / {self.distribution} / {self.values} / {self.labels}"
            f"{f'+{self.unique}u' if self.unique else ''}{' together' if self.together else ''}"
        )

    @property
    def arguments(self) -> dict[str, Any]:
        """Say it to ``workloads.pods``."""
        return {
            "n": self.n,
            "namespaces": self.namespaces,
            "labels": self.labels,
            "values": self.values,
            "distribution": self.distribution,
            "together": self.together,
            "unique_labels": self.unique,
        }

    @property
    def keys(self) -> tuple[str, ...]:
        """Name the labels, the unique ones last."""
        return (*(f"label-{each}" for each in range(self.labels)), *(f"unique-{each}" for each in range(self.unique)))

    @property
    def client_go_mb(self) -> float | None:
        """What client-go takes, where that was measured."""
        return CLIENT_GO_MB.get((self.namespaces, self.distribution, self.values, self.labels, self.unique))

    @property
    def bound(self) -> int | None:
        """By how many times less kindex has to take than client-go; None where nothing was promised."""
        if self.unique:
            return 7
        if self.labels < 10 or self.values != 10 or self.distribution != "uniform":
            return None
        return 10 if self.together else 5


def shapes(n: int = SIZE) -> list[Shape]:
    """Give every shape that is promised to be true, of *n* pods."""
    mixed = [
        Shape(namespaces, distribution, values, labels, 0, together, n)
        for namespaces in (1, 100)
        for distribution in ("uniform", "zipf")
        for values in (10, 1_000)
        for labels in (1, 5, 10)
        for together in (False, True)
    ]
    return [*mixed, *(Shape(namespaces, unique=10, n=n) for namespaces in (1, 100))]
