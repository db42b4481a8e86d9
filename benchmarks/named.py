"""The workloads of the suite, by name: what each is for, and questions whose answers are small, middle and large.

The *anchors* have the parameters of client-go's measurements: ten independent uniform labels, of 10 values (a broad
label: 15,000 of 150,000 pods) or 1,000 (a narrow one: 150), in one namespace or a hundred. They are asked at all sizes.
The others change one thing each, at one size:

* one, five and twenty labels: what a label more costs each write;
* values by ``P(k) ~ (1 + k) ** -1.1``: real labels have one large value and a long tail;
* labels that go together: a workload's pods have the same ones and are neighbours, as in a cluster;
* a thousand namespaces: one for each team or preview, with few pods each;
* ten more labels that are unique to each pod: the worst that an index of labels can be given;
* a generated cluster with the label styles of public repositories, and nothing uniform about it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal, TypeAlias

import attrs

from benchmarks.workloads import Distribution, RawObject, pods
from kindex.testing.clusters import generate_cluster

Operator: TypeAlias = Literal["in", "notin", "exists"]

SIZES = (1_000, 10_000, 150_000)
HUGE = 500_000
PODS_PER_OWNER = 30
MARKED = "marked"
"""The label that one pod of a thousand has, for ``exists``."""


@attrs.frozen
class Requirement:
    """One condition on a label."""

    label: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.label
            case "in" if len(self.values) == 1:
                return f"{self.label}={self.values[0]}"
            case _:
                return f"{self.label} {self.operator} ({','.join(self.values)})"

    def matches(self, labels: dict[str, str]) -> bool:
        """Tell whether labels meet it."""
        match self.operator:
            case "exists":
                return self.label in labels
            case "in":
                return labels.get(self.label) in self.values
            case "notin":
                return labels.get(self.label) not in self.values


@attrs.frozen
class Question:
    """What is asked: conditions that all must hold. An owner is the UID of a ReplicaSet."""

    labels: tuple[Requirement, ...] = ()
    namespace: str | None = None
    node: str | None = None
    owner: str | None = None

    @property
    def selector(self) -> str | None:
        """The label selector."""
        return ",".join(map(str, self.labels)) or None

    def matches(self, pod: RawObject) -> bool:
        """Tell whether a pod is in the answer; the slow and plain way."""
        metadata = pod["metadata"]
        owners = [each["uid"] for each in metadata.get("ownerReferences", ())]
        return (
            self.namespace in (None, metadata["namespace"])
            and self.node in (None, pod["spec"].get("nodeName"))
            and (self.owner is None or self.owner in owners)
            and all(each.matches(metadata["labels"]) for each in self.labels)
        )


def equal(label: str, value: str) -> Requirement:
    """Require one value."""
    return Requirement(label, "in", (value,))


@attrs.frozen
class Workload:
    """Pods by the parameters of ``workloads.pods``; with none for *labels*, those of a generated cluster."""

    name: str
    labels: int = 10
    values: int = 10
    namespaces: int = 1
    distribution: Distribution = "uniform"
    together: bool = False
    unique: int = 0

    def __str__(self) -> str:
        return self.name

    def pods(self, size: int) -> list[RawObject]:
        """Make so many."""
        if not self.labels:
            cluster = generate_cluster(pods=size).pods
            for pod in cluster:
                pod["metadata"].setdefault("labels", {})
            return cluster
        made = pods(
            size,
            namespaces=self.namespaces,
            labels=self.labels,
            values=self.values,
            distribution=self.distribution,
            together=self.together,
            unique_labels=self.unique,
            per_owner=PODS_PER_OWNER,
        )
        for pod in made[::1_000]:
            pod["metadata"]["labels"][MARKED] = "yes"
        return made


ANCHORS = (
    Workload("1 namespace, 10 values"),
    Workload("1 namespace, 1,000 values", values=1_000),
    Workload("100 namespaces, 10 values", namespaces=100),
    Workload("100 namespaces, 1,000 values", namespaces=100, values=1_000),
)
OTHERS = (
    Workload("1 label", labels=1, values=1_000),
    Workload("5 labels", labels=5, values=1_000),
    Workload("20 labels", labels=20, values=1_000),
    Workload("zipf, 10 values", distribution="zipf"),
    Workload("zipf, 1,000 values", distribution="zipf", values=1_000),
    Workload("labels go together", values=1_000, together=True),
    Workload("1,000 namespaces", namespaces=1_000),
    Workload("10 unique labels more", unique=10),
    Workload("generated cluster", labels=0),
)


def indexed_labels(made: list[RawObject], most: int = 31) -> tuple[str, ...]:
    """Give the labels that subjects index: the most frequent ones, sorted."""
    counted = Counter(label for pod in made for label in pod["metadata"]["labels"])
    return tuple(sorted(label for label, _ in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))[:most]))


def questions(made: list[RawObject]) -> dict[str, Question]:
    """Give the questions by name, all of which the middle pod answers, but for those that need what it has not."""
    probe: dict[str, Any] = made[len(made) // 2]
    metadata = probe["metadata"]
    pairs = [(label, value) for label, value in sorted(metadata["labels"].items()) if label != MARKED]
    equals = [equal(label, value) for label, value in pairs]
    asked = {f"{count} label{'s' * (count > 1)}": Question(tuple(equals[:count])) for count in (1, 2, 3)}
    asked = {name: question for name, question in asked.items() if len(question.labels) == int(name.split()[0])}
    if not pairs:
        return asked
    label, value = pairs[0]
    others = sorted({pod["metadata"]["labels"].get(label, value) for pod in made[:1_000]} - {value})[:2]
    asked["in"] = Question((Requirement(label, "in", (value, *others)),))
    if len(pairs) > 1 and others:
        asked["notin"] = Question((equals[1], Requirement(label, "notin", tuple(others))))
    asked["exists"] = Question((Requirement(MARKED, "exists"),))
    asked["namespace"] = Question(namespace=metadata["namespace"])
    for count, name in ((1, "label"), (2, "2 labels"), (3, "3 labels")):
        if len(equals) >= count:
            asked[f"namespace and {name}"] = Question(tuple(equals[:count]), namespace=metadata["namespace"])
    if node := probe["spec"].get("nodeName"):
        asked["field"] = Question(node=node)
    if references := metadata.get("ownerReferences"):
        asked["owner"] = Question(owner=references[0]["uid"])
    return asked
