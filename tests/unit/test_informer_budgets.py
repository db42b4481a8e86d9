"""object_budget: what the objects take, counted while they come in."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from kindex import Informer, NotSyncedError, ObjectBudgetError
from kindex.footprints import object_bytes
from kindex.informer.object_budgets import ObjectGauge, deep_bytes
from kindex.sources.base import ListRequest
from kindex.testing import FakeSource
from tests.informers import PATIENCE, caught_up, no_thread_left, until
from tests.pods import Pod, key, pod


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def big(name: str, kilobytes: int = 10) -> Pod:
    """A pod of some size."""
    made = pod(name)
    made["data"] = name[0] * kilobytes * 1_000
    return made


def source_of(count: int, **settings: Any) -> FakeSource:
    return FakeSource([big(f"p{number}") for number in range(count)], name="pods", **settings)


@pytest.mark.parametrize("watch_list", [False, True])
@pytest.mark.parametrize("objects", ["lazy", "dict"])
def test_it_stops_before_all_is_there(objects: Any, watch_list: bool) -> None:
    """During the first list, by pages or by WatchList, it stops, says why, and lets go of what it had."""
    source = source_of(100, watch_list=watch_list)
    informer = Informer(source, objects=objects, object_budget="200kB", on_object_budget="stop", page_size=10).start()
    with pytest.raises(NotSyncedError, match="was stopped before it synced: the objects of informer 'pods' take"):
        informer.wait_synced(PATIENCE)
    error = informer.last_error
    assert isinstance(error, ObjectBudgetError)
    assert (error.budget, error.informer) == (200_000, "pods")
    assert 200_000 < error.size < 320_000
    assert not informer.live
    pages = [sent for sent in source.requests if isinstance(sent.request, ListRequest)]
    assert len(pages) == (0 if watch_list else 2)
    informer.stop()


def test_it_stops_while_it_watches() -> None:
    """What is there can still be read."""
    source = source_of(10)
    informer = Informer(source, objects="lazy", object_budget="200kB", on_object_budget="stop")
    with informer as pods:
        until(informer, lambda: source.watches)
        for number in range(20):
            source.add(big(f"q{number}"))
        until(informer, lambda: informer.last_error)
        assert isinstance(informer.last_error, ObjectBudgetError)
        assert not informer.live
        assert 10 < len(pods) < 21


def test_it_stops_in_all_namespaces() -> None:
    """The budget is the informer's: when one namespace breaks it, the others do not go on filling what there is."""
    source = FakeSource([big("a"), {**big("b", 500), "metadata": {"name": "b", "namespace": "huge"}}], name="pods")
    informer = Informer(
        source, namespaces=["prod", "huge"], objects="lazy", object_budget="200kB", on_object_budget="stop"
    ).start()
    until(informer, informer._over)
    assert isinstance(informer.errors["huge"], ObjectBudgetError)
    informer.stop()


def test_it_warns_once(caplog: pytest.LogCaptureFixture) -> None:
    """A warning when the budget breaks, and another only after the objects took clearly less."""
    caplog.set_level(logging.WARNING, logger="kindex")
    source = source_of(10)
    informer = Informer(source, objects="lazy", object_budget="150kB")
    with informer as pods:
        for number in range(10):
            source.add(big(f"q{number}"))
        caught_up(pods, source)
        assert len(caplog.records) == 1
        assert "pods: the objects take" in caplog.text
        assert informer.stats.object_bytes > 150_000
        for number in range(10):
            source.delete(key(f"q{number}"))
        caught_up(pods, source)
        assert informer.stats.object_bytes < 150_000
        for number in range(10):
            source.add(big(f"r{number}"))
        caught_up(pods, source)
        assert len(caplog.records) == 2


def test_what_is_counted_follows_the_store() -> None:
    """Additions, updates, deletions, relists and removed namespaces leave what the objects take."""
    source = source_of(3)
    informer = Informer(source, namespaces=["prod"], objects="lazy", object_budget="1GB")
    with informer as pods:
        source.update(big("p1", 50))
        source.delete(key("p2"))
        source.add(big("new", 20))
        pods.wait_version(source.resource_version, PATIENCE, namespace="prod")
        counted, there = informer.stats.object_bytes, sum(map(object_bytes, pods))
        assert abs(counted - there) < 100, "of an update only the difference of the JSON is counted"
        source.expire()
        source.end_watches()
        until(informer, lambda: informer.stats.relists and informer.live)
        assert informer.stats.object_bytes == sum(map(object_bytes, pods))
        informer.remove_namespace("prod")
        assert informer.stats.object_bytes == 0


def test_a_list_that_begins_anew_is_not_counted_twice() -> None:
    """Pages that were thrown away do not count any more."""
    source = source_of(20)
    source.fail("page", 410)
    informer = Informer(source, objects="lazy", object_budget="1GB", page_size=10)
    with informer as pods:
        assert informer.stats.object_bytes == sum(map(object_bytes, pods))
        assert len(pods) == 20


def test_without_a_budget_nothing_is_counted() -> None:
    """Counting costs microseconds for each object, so it is done where somebody asks for it."""
    informer = Informer(source_of(3), objects="lazy")
    with informer:
        assert informer.stats.object_bytes == 0


def test_memory_knows_the_objects_and_what_was_saved() -> None:
    """The report of a view has what LazyObjects take, and how much JSON transforms dropped."""
    made = big("a")
    made["metadata"]["managedFields"] = [{"manager": "x" * 5_000}]
    with Informer(FakeSource([made], name="pods"), objects="lazy") as pods:
        report = pods.memory()
        assert report.object_bytes == sum(map(object_bytes, pods))
        assert 5_000 < report.saved_bytes < 5_100
        assert "objects 10." in str(report)
        assert "transforms dropped 4.9 KiB of JSON" in str(report)
    with Informer(FakeSource([made], name="pods")) as pods:
        assert pods.memory().object_bytes is None


class Struct(msgspec.Struct):
    text: str


@pytest.mark.parametrize("wrap", [lambda text: {"a": [text]}, lambda text: SimpleNamespace(a=text), Struct])
def test_other_objects_are_measured_whole(wrap: Any) -> None:
    """Dicts, structs and plain objects, with all that is in them, each part once."""
    assert deep_bytes(wrap("x" * 10_000)) - deep_bytes(wrap("x" * 1_000)) == 9_000


def test_of_many_objects_some_are_measured() -> None:
    """The others are taken for like them."""
    tally = ObjectGauge("pods", 1 << 40, "warn").tally()
    tally.came([{"data": "x" * 1_000}] * 1_000)
    assert 1_000_000 < tally.coming < 1_500_000
    assert tally._measured < 100
