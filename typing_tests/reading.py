"""What type checkers must say of what a store tells: checked by mypy and pyright, never run; see ``api.py``."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, assert_type
from wsgiref.types import WSGIApplication

from prometheus_client import CollectorRegistry

from kindex import (
    NEAR_UNIQUE,
    Added,
    Advice,
    Advisor,
    AsyncInformer,
    Deleted,
    Delta,
    Drop,
    FieldRequirement,
    FieldSelector,
    Follower,
    Forecast,
    Ignored,
    Indexer,
    IndexForecast,
    IndexMemory,
    IndexSize,
    Informer,
    InformerGroup,
    InformerStats,
    JsonPath,
    LabelSelector,
    LazyObject,
    MemoryReport,
    ObjectKey,
    PlanStep,
    Readiness,
    Registration,
    Requirement,
    Snapshot,
    Store,
    Updated,
    View,
    forecast,
)
from kindex.health import probe
from kindex.metrics import Metrics


class Pod:
    """Stands for an official model."""

    name: str


class Node:
    """Another kind."""


def name_of(pod: Pod) -> str:
    return pod.name


by_name = Indexer("name", name_of)
pods: Store[Pod] = Store(indexers=[by_name])
nodes: Store[Node] = Store()

# Whatever reads a store says of which objects it is.

assert_type(pods.snapshot(), Snapshot[Pod])
assert_type(pods.snapshot().select(by_name.at("a")), list[Pod])
assert_type(pods.view().snapshot().first(), Pod | None)
nodes.snapshot().select(by_name.at("a"))  # type: ignore[arg-type]


def newest(view: View[Pod]) -> Pod | None:
    """Take whatever reads pods."""
    return view.first()


newest(pods)
newest(pods.view())
newest(pods.snapshot())
newest(nodes)  # type: ignore[arg-type]

# Followers and handlers get deltas of these objects.

assert_type(pods.follow(), Follower[Pod])
assert_type(next(pods.follow()), Delta[Pod])
assert_type(pods.follow().take(), list[Delta[Pod]])
pods.follow(by_name.at("a"), where=lambda pod: pod.name == "a")
pods.follow(overflow="drop")  # type: ignore[arg-type]


def saw(delta: Added[Pod]) -> None:
    """Handle a pod that is new."""


def changed(delta: Updated[Pod]) -> None:
    """Handle a pod that is another one."""


def went(delta: Deleted[Pod]) -> None:
    """Handle a pod that is gone."""


assert_type(pods.add_event_handler(on_add=saw, on_update=changed, on_delete=went), Registration[Pod])
pods.add_event_handler(on_add=went)  # type: ignore[arg-type]
nodes.add_event_handler(on_add=saw)  # type: ignore[arg-type]
assert_type(pods.wait_until(len, 10), int)
assert_type(pods.wait_until(newest, 10), Pod | None)


async def followed(informer: AsyncInformer[Pod]) -> None:
    """Follow in an event loop, too."""
    async with informer as view:
        async for delta in view.follow():
            assert_type(delta, Delta[Pod])


# Reports are not of a type of objects.

assert_type(pods.memory(), MemoryReport)
assert_type(pods.memory().indexes, tuple[IndexMemory, ...])
assert_type(pods.memory().dropped, tuple[Drop, ...])
assert_type(pods.index_sizes(), tuple[IndexSize, ...])
assert_type(pods.ignored, Ignored)
assert_type(pods.explain(by_name.at("a")).steps, tuple[PlanStep, ...])
assert_type(Advisor(pods).report(), Advice)
assert_type(forecast([Pod()], by_name), Forecast)
assert_type(forecast([Pod()], by_name).indexes, tuple[IndexForecast, ...])
forecast([Node()], by_name)  # type: ignore[misc]

# Selectors and paths are values.

assert_type(LabelSelector.parse("app=web").requirements, tuple[Requirement, ...])
assert_type(FieldSelector.parse("a=b").requirements, tuple[FieldRequirement, ...])
Requirement("app", "is", ("web",))  # type: ignore[arg-type]
assert_type(JsonPath.parse("a.b").values({}), tuple[object, ...])
assert_type(NEAR_UNIQUE, Mapping[str, str])
assert_type(ObjectKey.parse("prod/web-1"), ObjectKey)

# Probes and metrics take what they say.


def watched(informer: Informer[LazyObject], group: InformerGroup, registry: CollectorRegistry) -> None:
    """Any informer, of whatever objects; a probe takes no store."""
    assert_type(informer.stats, InformerStats)
    assert_type(informer.ready(), Readiness)
    assert_type(probe(informer, group, check="live"), WSGIApplication)
    probe(pods)  # type: ignore[arg-type]
    probe(group, check="healthy")  # type: ignore[arg-type]
    with Metrics(pods, pods.view(), informer, group, registry=registry) as metrics:
        metrics.add(nodes, name="nodes")
        assert_type(metrics, Metrics)
    Metrics("pods", registry=registry)  # type: ignore[arg-type]
    Metrics(pods)  # type: ignore[call-arg]


def kind_of(delta: Delta[Pod]) -> Literal["there", "gone"]:
    """Take a delta apart, without a case left over."""
    match delta:
        case Added(new=pod) | Updated(new=pod):
            assert_type(pod, Pod)
            return "there"
        case Deleted(old=pod):
            assert_type(pod, Pod)
            return "gone"
