"""Forecasts: what an index would take, against what it takes once a store has built it."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from kindex import (
    NEAR_UNIQUE,
    AnnotationIndexer,
    Budget,
    FieldIndexer,
    Forecast,
    Indexer,
    IndexFunctionError,
    LabelIndexer,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    QueryError,
    SortedIndexer,
    Store,
    forecast,
)
from kindex.testing import generate_cluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.indexers.base import AnyIndexer

Pod: TypeAlias = dict[str, Any]  # Any: JSON

PLENTY = Budget(max_bytes="1GiB")
EVERY_LABEL = LabelIndexer.all(budget=PLENTY, deny=())
CLUSTER = generate_cluster(pods=6_000, namespaces=20, seed=3)


def _pods(count: int, value_of: Callable[[int], str | None], namespaces: int = 7) -> list[Pod]:
    """Make pods whose label ``x`` has the value that *value_of* gives for their place in key order."""
    made = []
    for number in range(count):
        value = value_of(number)
        metadata: Pod = {"name": f"p{number:06d}", "namespace": f"n{number * namespaces // count:03d}"}
        made.append({"metadata": metadata | ({"labels": {"x": value}} if value is not None else {})})
    return made


def _drawn(values: int, seed: int = 1, *, together: int = 1, zipf: bool = False) -> Callable[[int], str]:
    """Give a function that draws a value, anew after every so many pods."""
    random = Random(seed)  # noqa: S311 - a shape, not a secret
    weights = [1 / (1 + rank) ** 1.1 if zipf else 1.0 for rank in range(values)]
    drawn = random.choices(range(values), weights, k=20_000)
    return lambda number: f"value-{drawn[number // together]}"


def _workloads(replicas: int) -> Callable[[int], str]:
    return lambda number: f"app-{number // replicas}"


SHAPES: dict[str, tuple[list[Pod], AnyIndexer[Any]]] = {
    "ten values": (_pods(6_000, _drawn(10)), LabelIndexer("x")),
    "ten values that go together": (_pods(6_000, _drawn(10, together=10)), LabelIndexer("x")),
    "many values": (_pods(6_000, _drawn(300)), LabelIndexer("x")),
    "many values that go together": (_pods(6_000, _drawn(300, together=10)), LabelIndexer("x")),
    "uneven values": (_pods(6_000, _drawn(300, zipf=True)), LabelIndexer("x")),
    "uneven values that go together": (_pods(6_000, _drawn(300, together=10, zipf=True)), LabelIndexer("x")),
    "unique": (_pods(6_000, lambda number: f"pod-{number}"), LabelIndexer("x")),
    "constant": (_pods(6_000, lambda _: "Helm"), LabelIndexer("x")),
    "half have it": (_pods(6_000, lambda number: f"v{number % 40}" if number % 2 else None), LabelIndexer("x")),
    "the app of a cluster": (CLUSTER.pods, LabelIndexer("app")),
    "the rollouts of a cluster": (CLUSTER.pods, LabelIndexer("pod-template-hash")),
    "the nodes of a cluster": (CLUSTER.pods, FieldIndexer("spec.nodeName")),
    "the owners of a cluster": (CLUSTER.pods, OwnerIndexer()),
}


def _built(objects: list[Pod], indexer: AnyIndexer[Any]) -> dict[str, Any]:
    store: Store[Pod] = Store(indexers=[indexer])
    store.replace(objects)
    return {index.name: index for index in store.memory().indexes}


@pytest.mark.parametrize(
    ("objects", "indexer"),
    [
        (CLUSTER.pods, LabelIndexer("app", "tier", "pod-template-hash")),
        (CLUSTER.pods, EVERY_LABEL),
        (CLUSTER.services, LabelIndexer("app", "tier", path="spec.selector")),
        (CLUSTER.pods, FieldIndexer("spec.nodeName")),
        (CLUSTER.pods, FieldIndexer("spec.containers[*].image")),
        (CLUSTER.pods, OwnerIndexer()),
        (CLUSTER.pods, Indexer("length", lambda pod: len(pod["metadata"]["name"]))),
        (_pods(6_000, _drawn(300)), LabelIndexer("x")),
        (_pods(70_000, lambda number: f"pod-{number}"), LabelIndexer("x")),
    ],
    ids=["labels", "all", "selectors", "field", "several", "owners", "numbers", "independent", "no column"],
)
def test_all_objects_tell_exactly_what_a_store_will_say(objects: list[Pod], indexer: AnyIndexer[Any]) -> None:
    """From all objects the forecast is what ``memory()`` says of the index once it is built, in every number."""
    told = forecast(objects, indexer)
    built = _built(objects, indexer)
    assert told.indexes
    for index in told.indexes:
        there = built[index.name]
        assert (index.values, index.singles, index.largest) == (
            there.values,
            there.single_values,
            there.largest_posting,
        )
        assert (index.forward_bytes, index.reverse_bytes) == (there.forward_bytes, there.reverse_bytes)
        assert index.values_range == (index.values, index.values)
        assert index.bytes_range == (index.bytes, index.bytes)
    assert told.bytes == pytest.approx(sum(built[name].index_bytes for name in built if name != "namespace"), rel=0.01)


def test_namespaces_and_sorted_indexes_can_be_told_too() -> None:
    """The index that every store has is told exactly, one in order within a hundredth."""
    by_namespace = forecast(CLUSTER.pods, NamespaceIndexer()).index("namespace")
    assert by_namespace.bytes == _built(CLUSTER.pods, LabelIndexer("app"))["namespace"].index_bytes
    by_name = SortedIndexer("name", "metadata.name")
    built = _built(CLUSTER.pods, by_name)["name"]
    assert forecast(CLUSTER.pods, by_name).bytes == pytest.approx(built.index_bytes, rel=0.01)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_sample_tells_bytes_within_15_percent_and_its_range_holds(shape: str) -> None:
    """From a third of the objects the bytes are within 15 % on average, and at least 9 of 10 ranges hold the truth."""
    objects, indexer = SHAPES[shape]
    truth = forecast(objects, indexer)
    told = [forecast(objects, indexer, sample=2_000, seed=seed) for seed in range(10)]
    assert sum(abs(each.bytes - truth.bytes) for each in told) / 10 < 0.15 * truth.bytes
    assert sum(each.bytes_range[0] <= truth.bytes <= each.bytes_range[1] for each in told) >= 9
    values = [each.indexes[0].values_range for each in told]
    assert sum(low <= truth.values <= high for low, high in values) >= 8
    assert all(each.bytes_range[0] <= each.bytes <= each.bytes_range[1] for each in told)
    objects_told = sum(each.indexes[0].objects for each in told) / 10
    assert objects_told == pytest.approx(truth.indexes[0].objects, rel=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_growth_tells_the_population_that_a_sample_is_of(shape: str) -> None:
    """A random tenth, said to grow tenfold, tells the bytes of the whole within 15 %; the range holds them."""
    objects, indexer = SHAPES[shape]
    truth = forecast(objects, indexer)
    tenths = [Random(seed).sample(objects, 600) for seed in range(6)]  # noqa: S311 - a shape, not a secret
    told = [forecast(tenth, indexer, grow=10) for tenth in tenths]
    assert {each.objects for each in told} == {6_000}
    assert sum(each.bytes for each in told) / 6 == pytest.approx(truth.bytes, rel=0.15)
    assert sum(each.bytes_range[0] <= truth.bytes <= each.bytes_range[1] for each in told) >= 5


def test_growth_spans_more_replicas_and_more_workloads() -> None:
    """Nobody knows how a cluster will grow: both the same values and ten times as many are within the range."""
    objects = _pods(3_000, _workloads(10))
    told = forecast(objects, LabelIndexer("x"), grow=10)
    low, high = told.index("x").values_range
    assert low <= 300
    assert high >= 3_000
    for replicas in (10, 100):
        grown = forecast(_pods(30_000, _workloads(replicas)), LabelIndexer("x"))
        assert told.bytes_range[0] <= grown.bytes <= told.bytes_range[1]


def test_growth_of_unique_values_is_in_proportion() -> None:
    """Ten times the objects have ten times the values when each has its own, beyond what a column holds too."""
    told = forecast(_pods(7_000, lambda number: f"pod-{number}"), LabelIndexer("x"), grow=10)
    built = _built(_pods(70_000, lambda number: f"pod-{number}"), LabelIndexer("x"))["x"]
    assert told.values == told.singles == 70_000
    assert told.bytes == pytest.approx(built.index_bytes, rel=0.02)


@pytest.mark.parametrize("shape", ["uneven values", "unique", "the owners of a cluster"])
def test_absurd_growth_has_a_forecast(shape: str) -> None:
    """Whatever the growth, the numbers are finite and in order."""
    objects, indexer = SHAPES[shape]
    for grow in (1.0001, 1e6, 1e12):
        told = forecast(objects[:400], indexer, sample=300, grow=grow)
        low, high = told.bytes_range
        assert 0 < low <= told.bytes <= high < 1e6 * told.objects
        assert told.singles <= told.values <= 2 * told.objects


def test_a_sample_asks_no_more_objects_than_it_says() -> None:
    """The index function sees the sample only, each object once."""
    asked: list[str] = []

    def name_of(pod: Pod) -> str:
        asked.append(pod["metadata"]["name"])
        return "a"

    objects = _pods(1_000, lambda _: "a")
    told = forecast(objects, Indexer("asked", name_of), sample=90)
    assert len(asked) == 90
    assert told.sampled == 90
    assert len(set(asked)) > 60


def test_a_seed_gives_the_same_sample() -> None:
    """The same seed tells the same, another seed something else, and the order of the objects does not matter."""
    objects, indexer = SHAPES["uneven values"]
    shuffled = Random(1).sample(objects, len(objects))  # noqa: S311 - a shape, not a secret
    first = forecast(objects, indexer, sample=500, seed=4)
    assert forecast(shuffled, indexer, sample=500, seed=4) == first
    assert forecast(objects, indexer, sample=500, seed=5) != first


def test_a_sample_of_everything_is_no_sample() -> None:
    """With as many objects in the sample as there are, they are counted."""
    objects, indexer = SHAPES["many values"]
    assert forecast(objects, indexer, sample=len(objects)) == forecast(objects, indexer)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sample": 11}, "sample=11 is more than the 10 objects there are; leave it out for all"),
        ({"sample": 0}, "sample=0: how many objects to look at is a whole number from 1 on"),
        ({"sample": -5}, "sample=-5: how many objects to look at is a whole number from 1 on"),
        ({"sample": 2.5}, "sample=2.5: how many objects to look at is a whole number from 1 on"),
        ({"sample": True}, "sample=True: how many objects to look at is a whole number from 1 on"),
        ({"grow": 0.5}, "grow=0.5: how many times the objects there would be is a number from 1 on"),
        ({"grow": 0}, "grow=0: how many times the objects there would be is a number from 1 on"),
        ({"grow": float("nan")}, "grow=nan: how many times the objects there would be is a number from 1 on"),
        ({"grow": float("inf")}, "grow=inf: how many times the objects there would be is a number from 1 on"),
        ({"grow": "10"}, "grow='10': how many times the objects there would be is a number from 1 on"),
    ],
)
def test_arguments_that_cannot_be_are_told_in_a_sentence(arguments: dict[str, Any], message: str) -> None:
    """A sample or a growth that makes no sense is an error that says what would."""
    with pytest.raises(QueryError) as refused:
        forecast(_pods(10, lambda _: "a"), LabelIndexer("x"), **arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize("grow", [1, 10])
@pytest.mark.parametrize("indexer", [LabelIndexer("x"), FieldIndexer("spec.nodeName"), OwnerIndexer()])
def test_no_objects_have_a_forecast(indexer: AnyIndexer[Any], grow: float) -> None:
    """Nothing to index is an answer: no values, and no more than an empty index."""
    told = forecast([], indexer, grow=grow)
    assert (told.objects, told.values, told.singles, told.largest) == (0, 0, 0, 0)
    assert 0 <= told.bytes < 1_000
    assert forecast([], EVERY_LABEL).indexes == ()
    assert "0 objects" in str(told)


@pytest.mark.parametrize("arguments", [{}, {"sample": 40}, {"grow": 10}, {"sample": 1}, {"sample": 2}])
def test_objects_without_labels_have_a_forecast(arguments: dict[str, Any]) -> None:
    """A key that no object has costs its column; all keys of such objects are none."""
    objects = _pods(100, lambda _: None)
    index = forecast(objects, LabelIndexer("x"), **arguments).index("x")
    assert (index.objects, index.values, index.singles, index.largest) == (0, 0, 0, 0)
    assert index.reverse_bytes >= 100
    assert forecast(objects, EVERY_LABEL, **arguments).indexes == ()


def test_the_last_object_of_a_key_counts() -> None:
    """As in a store, a second object under a key takes the place of the first."""
    objects = [*_pods(10, lambda _: "old"), *_pods(10, lambda number: f"v{number}")]
    told = forecast(objects, LabelIndexer("x"))
    assert (told.objects, told.values) == (10, 10)


def test_an_index_function_that_fails_is_named() -> None:
    """What an index function raises comes out as from a store."""
    with pytest.raises(IndexFunctionError, match="'broken'"):
        forecast(_pods(3, lambda _: "a"), Indexer("broken", lambda pod: pod["no such"]["part"]))


def test_any_objects_can_have_a_forecast() -> None:
    """Objects of a store with a key function of its own are read by that function."""
    names = [f"team-{number % 3}:{number}" for number in range(50)]
    by_team: Indexer[str, str] = Indexer("team", lambda name: name.partition(":")[0])
    told = forecast(names, by_team, key=lambda name: ObjectKey("", name))
    assert told.index("team").values == 3


def test_a_label_called_namespace_can_be_told() -> None:
    """Labels may be called as indexes are."""
    objects = [{"metadata": {"name": f"s{n}", "labels": {"namespace": f"v{n % 4}"}}} for n in range(40)]
    assert forecast(objects, EVERY_LABEL).index("namespace").values == 4


def test_all_keys_leave_out_those_that_kubernetes_makes_unique() -> None:
    """Without a word about it, ``LabelIndexer.all`` denies the near-unique keys; with ``deny=()`` it does not."""
    pods = CLUSTER.pods[::6]
    told, everything = forecast(pods, LabelIndexer.all(budget=PLENTY)), forecast(pods, EVERY_LABEL)
    names, every = ({index.name for index in each.indexes} for each in (told, everything))
    assert {"app", "apps.kubernetes.io/pod-index"} <= names
    assert not names & NEAR_UNIQUE.keys()
    assert {"pod-template-hash", "controller-revision-hash", "statefulset.kubernetes.io/pod-name"} <= every - names
    assert told.bytes < everything.bytes
    annotation = AnnotationIndexer.all(budget=PLENTY)
    assert not annotation.covers("kubectl.kubernetes.io/last-applied-configuration")


def test_a_denied_key_says_why() -> None:
    """Asking a near-unique key of an index of all keys gives the reason, and the way to have it."""
    with pytest.raises(ValueError, match=r"does not index key 'job-name': one value for each Job.*; with deny=\(\)"):
        LabelIndexer.all(budget=PLENTY).key("job-name")


def test_a_forecast_is_a_table() -> None:
    """The most expensive index is first, then a total; ranges are there when they are estimates."""
    told = forecast(CLUSTER.pods, LabelIndexer("tier", "app"))
    lines = str(told).splitlines()
    assert lines[0].startswith("tier,app: ")
    assert lines[0].endswith(" KiB for 6,000 objects")
    assert lines[1].split() == ["index", "objects", "values", "singles", "largest", "bytes"]
    assert [line.split()[0] for line in lines[2:]] == ["app", "tier", "total"]
    assert len({len(line) for line in lines[1:]}) == 1
    estimated = str(forecast(CLUSTER.pods, LabelIndexer("tier", "app"), sample=600, grow=2)).splitlines()
    assert estimated[0].endswith(" for 12,000 objects, 2 times those given, estimated from 600 of them")
    assert estimated[1].split()[-2:] == ["from", "to"]


def test_a_forecast_is_plain_values() -> None:
    """``to_dict`` is JSON, and adds up."""
    told = forecast(CLUSTER.pods, EVERY_LABEL, sample=600)
    plain = json.loads(json.dumps(told.to_dict()))
    assert plain["bytes"] == told.bytes == sum(index["bytes"] for index in plain["indexes"]) + plain["shared_bytes"]
    assert plain["bytes_range"] == list(told.bytes_range)
    assert plain["sampled"] == 600
    assert isinstance(told, Forecast)
    with pytest.raises(KeyError, match="no-such"):
        told.index("no-such")
