"""Seeded pods with the parameters of client-go's measurements, so that both sides answer the same questions.

The figures to compare with were taken on 150,000 pods with 1, 5 or 10 labels of 10 or 1,000 values each, in 1 or 100
namespaces, on 5,000 nodes; values uniform or by ``P(k) ~ (1 + k) ** -1.1``; and once with ten more labels that are
unique to each pod.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

RawObject: TypeAlias = dict[str, Any]  # Any: JSON, as a client's raw list gives it
Distribution: TypeAlias = Literal["uniform", "zipf"]

# How many pods one workload has where labels go together; a workload's pods are neighbours, as in a list call.
_PODS_PER_WORKLOAD = 10
_PODS_PER_TEXT = 1_000


def pods(n: int = 150_000, **shape: Any) -> list[RawObject]:
    """Make *n* small pods, the same for the same arguments, which are those of ``pod_lists``.

    Labels are ``label-0`` ... with values ``value-0`` ...; each is drawn on its own, or, with *together*, once for the
    ten pods of a workload, which are then in one namespace too. *unique_labels* more, ``unique-0`` ..., have a value
    that no other pod has. With *per_owner*, so many pods that are made one after the other name one ReplicaSet as
    their owner.

    They come in key order, by namespace and name, as a list of a server does; and since they are parsed in that order,
    neighbours in the list are neighbours in memory. A store visits pods in key order: were they made in another one,
    it would jump about in memory, and a scan take four times as long as after a real list.

    Every label value, name and UID is a string of its own: the pods are written as JSON and parsed, as those of a
    server are. Pods that shared their strings would take less memory than real ones do, and be compared faster, since
    Python asks for identity first. Keys are shared, as the parser's cache does it with real ones.

    O(n x labels): 150,000 pods with ten labels take about four seconds.

    >>> pod, other = pods(2, namespaces=100, labels=2, unique_labels=1)
    >>> pod["metadata"]["labels"]
    {'label-0': 'value-8', 'label-1': 'value-7', 'unique-0': 'pod-000000-0'}
    >>> pod["metadata"]["namespace"], pod["spec"]["nodeName"]
    ('namespace-13', 'node-1275')
    """
    return [pod for text in pod_lists(n, **shape) for pod in msgspec.json.decode(text)]


def pod_lists(
    n: int = 150_000,
    *,
    namespaces: int = 1,
    labels: int = 5,
    values: int = 10,
    distribution: Distribution = "uniform",
    together: bool = False,
    unique_labels: int = 0,
    nodes: int = 5_000,
    per_owner: int = 0,
    seed: int = 1,
) -> list[bytes]:
    """Make the pods of ``pods`` as JSON: lists of some thousands."""
    draw = random.Random(seed).random  # noqa: S311 - a shape, not a secret
    draw_value = _drawer(draw, values, distribution)
    names = [f"label-{number}" for number in range(labels)]
    rows: list[RawObject] = []
    namespace, shared = "", dict[str, str]()
    for number in range(n):
        name = f"pod-{number:06d}"
        if not together or number % _PODS_PER_WORKLOAD == 0:
            namespace = f"namespace-{int(draw() * namespaces)}"
            shared = {label: f"value-{draw_value()}" for label in names}
        unique = {f"unique-{label}": f"{name}-{label}" for label in range(unique_labels)}
        owner = f"replicas-{number // per_owner:06d}" if per_owner else ""
        rows.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": name,
                    "namespace": namespace,
                    "uid": f"{seed:08x}-0000-4000-a000-{number:012x}",
                    "resourceVersion": str(1_000_000 + number),
                    "labels": shared | unique,
                    **({"ownerReferences": [_reference(owner)]} if owner else {}),
                },
                "spec": {"nodeName": f"node-{int(draw() * nodes)}"},
                "status": {"phase": "Running"},
            }
        )
    rows.sort(key=lambda pod: (pod["metadata"]["namespace"], pod["metadata"]["name"]))
    return [msgspec.json.encode(rows[first : first + _PODS_PER_TEXT]) for first in range(0, n, _PODS_PER_TEXT)]


def _reference(owner: str) -> RawObject:
    return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}


def _drawer(draw: Callable[[], float], values: int, distribution: Distribution) -> Callable[[], int]:
    if distribution == "uniform":
        return lambda: int(draw() * values)
    cumulative = list(accumulate((1 + value) ** -1.1 for value in range(values)))
    return lambda: bisect_right(cumulative, draw() * cumulative[-1], hi=values - 1)
