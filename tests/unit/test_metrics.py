"""Metrics: what a scrape shows, of what, and for how long."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from kindex import AsyncInformer, Budget, FieldIndexer, Indexer, Informer, InformerGroup, LabelIndexer, Store
from kindex.metrics import Metrics, MetricsError
from kindex.metrics.queries import QueryCounts
from kindex.metrics.subjects import Subject
from kindex.metrics.table import METRICS
from kindex.testing import FakeSource
from tests.informers import fails, no_thread_left, until
from tests.pods import pod, versioned

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "docs" / "metrics.md"
MONITORING = ROOT / "docs" / "monitoring"
by_node = FieldIndexer("spec.nodeName")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _scraped(registry: CollectorRegistry) -> dict[tuple[str, ...], float]:
    """Scrape as Prometheus does, by text; give the values by name and label values, none of them twice."""
    found: dict[tuple[str, ...], float] = {}
    for family in text_string_to_metric_families(generate_latest(registry).decode()):
        for sample in family.samples:
            key = sample.name, *sample.labels.values()
            assert key not in found
            found[key] = sample.value
    return found


def _store(count: int = 0, **settings: Any) -> Store[Any]:
    store: Store[Any] = Store(**{"name": "pods", "indexers": [LabelIndexer("app"), by_node]} | settings)
    for i in range(count):
        store.put(pod(f"pod-{i}", node=f"n{i % 2}", app=f"app-{i % 10}", tier="x"))
    return store


def test_a_store_is_shown_as_it_is_when_scraped() -> None:
    """Objects, revision and the sizes of indexes are those of the moment."""
    store, registry = _store(100), CollectorRegistry()
    with Metrics(store, registry=registry):
        found = _scraped(registry)
        assert found["kindex_store_objects", "pods"] == 100
        assert found["kindex_store_revision", "pods"] == 100
        assert found["kindex_index_values", "app", "pods"] == 10
        assert found["kindex_index_postings", "spec.nodeName", "pods"] == 100
        store.delete(pod("pod-0"))
        assert _scraped(registry)["kindex_store_objects", "pods"] == 99


def test_queries_are_counted_by_the_index_that_narrows_most() -> None:
    """Fetched against returned objects tells which index leaves much to look at; each query counts once."""
    store, registry = _store(100), CollectorRegistry()
    store.select(label_selector="app=app-1")  # before: not counted
    with Metrics(store, registry=registry):
        for _ in range(3):
            store.select(label_selector="app=app-1", field_selector="spec.nodeName=n1")
        store.select(label_selector="tier=x", field_selector="spec.nodeName=n1")
        store.select(label_selector="tier=nobody")
        found = _scraped(registry)
    assert found["kindex_queries_total", "app", "pods"] == 3
    assert found["kindex_query_fetched_objects_total", "app", "pods"] == 30
    assert found["kindex_query_returned_objects_total", "app", "pods"] == 30
    assert found["kindex_queries_total", "spec.nodeName", "pods"] == 1
    assert found["kindex_index_uses_total", "spec.nodeName", "pods"] == 4
    assert found["kindex_queries_total", "(none)", "pods"] == 1
    assert found["kindex_query_fetched_objects_total", "(none)", "pods"] == 100
    assert found["kindex_query_returned_objects_total", "(none)", "pods"] == 0
    assert found["kindex_scans_total", "pods"] == 1


def test_reading_a_whole_index_is_a_use_and_no_query() -> None:
    """``tally`` needs its index, so that must not look useless."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry):
        store.tally(by_node)
        found = _scraped(registry)
    assert found["kindex_index_uses_total", "spec.nodeName", "pods"] == 1
    assert not [key for key in found if key[0] == "kindex_queries_total"]


def test_without_metrics_nobody_watches() -> None:
    """A store pays for the counting of queries only from ``add`` until ``close``."""
    store, registry = _store(), CollectorRegistry()
    metrics = Metrics(store, registry=registry)
    assert len(store._core.watchers) == 1
    metrics.close()
    gc.collect()
    assert store._core.watchers == []


def test_queries_can_be_left_out() -> None:
    """With ``queries=False`` nobody watches the store; scans are counted by itself."""
    store, registry = _store(100), CollectorRegistry()
    with Metrics(store, registry=registry, queries=False):
        assert store._core.watchers == []
        store.select(label_selector="tier=nobody")
        found = _scraped(registry)
    assert found["kindex_scans_total", "pods"] == 1
    assert not [key for key in found if key[0] == "kindex_queries_total"]


def test_bytes_are_counted_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapes within ``memory_seconds`` count bytes once; each index and key has its own."""
    measured: list[object] = []
    from kindex.metrics import subjects

    real = subjects.measure
    monkeypatch.setattr(subjects, "measure", lambda core: measured.append(core) or real(core))
    clock, store, registry = _Clock(), _store(100), CollectorRegistry()
    with Metrics(store, registry=registry, memory_seconds=60, clock=clock):
        report = store.memory()
        for clock.now in (0.0, 30.0, 59.0):
            found = _scraped(registry)
        assert len(measured) == 1
        assert found["kindex_store_bytes", "pods"] == report.total_bytes
        for index in report.indexes:
            assert found["kindex_index_bytes", index.name, "pods"] == index.index_bytes + index.text_bytes
        clock.now = 60.0
        _scraped(registry)
        assert len(measured) == 2


def test_bytes_can_be_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ``memory_seconds=None`` no scrape counts bytes."""
    from kindex.metrics import subjects

    monkeypatch.delattr(subjects, "measure")
    registry = CollectorRegistry()
    with Metrics(_store(3), registry=registry, memory_seconds=None):
        assert not [key for key in _scraped(registry) if key[0].endswith("_bytes")]


class _Ticking(_Clock):
    """Each look at it takes a second."""

    def __call__(self) -> float:
        self.now += 1
        return self.now


class _Awaited:
    """A lock that lets everybody wait for ten seconds of a clock."""

    def __init__(self, lock: Any, clock: _Clock) -> None:
        self._lock = lock
        self._clock = clock

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lock, name)

    def __enter__(self) -> bool:
        self._clock.now += 10
        return bool(self._lock.__enter__())

    def __exit__(self, *error: object) -> None:
        self._lock.__exit__(*error)


def _lock_times(registry: CollectorRegistry, by: str) -> tuple[float, ...]:
    found = _scraped(registry)
    counted = ("takes", "wait_seconds", "hold_seconds")
    return tuple(found[f"kindex_store_lock_{each}_total", by, "pods"] for each in counted)


def _in_one_commit(store: Store[Any]) -> None:
    with store.transaction() as txn:
        txn.put(pod("a"))
        txn.put(pod("b"))


QUERIES = [
    lambda store: store.select(),
    lambda store: store.select(label_selector="app=app-1", order_by="key", limit=1),
    lambda store: store.keys(by_node.at("n1")),
    lambda store: store.count(label_selector="app=app-1"),
    lambda store: store.first(label_selector="app=app-1"),
    lambda store: store.any(label_selector="tier=y"),
]
WRITES = [
    lambda store: store.put(pod("new")),
    lambda store: store.put(pod("pod-1", app="changed")),
    lambda store: store.delete(pod("pod-1")),
    lambda store: store.replace([pod("other")]),
    lambda store: store.replace([*store, pod("other")]),
    _in_one_commit,
]


@pytest.mark.parametrize("call", [*QUERIES, *WRITES])
def test_waits_for_the_lock_and_holds_are_measured(call: Any) -> None:
    """Each query and each write adds to the sums of its sort: a take, its wait for the lock, and its hold."""
    store, registry, clock = _store(10), CollectorRegistry(), _Ticking()
    by, other = ("query", "write") if call in QUERIES else ("write", "query")
    store._core.lock = _Awaited(store._core.lock, clock)  # type: ignore[assignment]
    with Metrics(store, registry=registry, memory_seconds=None, clock=clock):
        assert _lock_times(registry, by) == (0, 0, 0)
        call(store)
        takes, waited, held = _lock_times(registry, by)
        assert (takes, waited) == (1, 11), "the ten of the lock, and one look at the clock"
        assert held >= 1
        if call in QUERIES:
            assert _lock_times(registry, other) == (0, 0, 0)


def test_a_query_of_a_snapshot_waits_for_the_same_lock() -> None:
    """What a snapshot is asked counts as a query of its store."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry, clock=_Ticking()), store.snapshot() as moment:
        moment.select(label_selector="app=app-1")
        assert _lock_times(registry, "query") == (1, 1, 1)


def test_the_lock_is_measured_while_somebody_shows_it() -> None:
    """Nobody looks at a clock before the first Metrics and after the last, nor for one that was refused."""
    store, first, second = _store(1), CollectorRegistry(), CollectorRegistry()
    assert store._core.lock_times is None
    with Metrics(store, registry=first):
        with pytest.raises(MetricsError):
            Metrics(store, registry=first)
        with pytest.raises(MetricsError):
            Metrics(store, store, registry=second)
        with Metrics(store, registry=second, queries=False):
            store.put(pod("b"))
            store.select()
        assert store._core.lock_times is not None
        assert _lock_times(first, "write")[0] == 1
    assert store._core.lock_times is None
    assert store._core.watchers == []


def test_a_stopped_informer_measures_no_more() -> None:
    """The scrape after its end lets go of its store."""
    registry = CollectorRegistry()
    informer = Informer(FakeSource([pod("a")], name="pods"))
    with Metrics(informer, registry=registry):
        with informer as pods:
            assert pods._core.lock_times is not None
        _scraped(registry)
        assert informer.view._core.lock_times is None


def test_a_subject_begins_once_and_never_after_its_end() -> None:
    """Scrapes and close() come from any threads: whatever their order, nobody measures for what was closed."""

    def made(store: Store[Any]) -> Subject:
        return Subject("pods", store._core, None, memory_seconds=None, max_indexes=9, queries=True, clock=_Clock())

    store = _store(1)
    first, second = made(store), made(store)
    for subject in (first, first, second):
        subject.begin()
    assert store._core.lock_times is not None
    assert store._core.lock_times.measurers == 2
    for subject in (second, second):
        subject.close()
    assert store._core.lock_times is not None
    first.close()
    first.begin()
    early = made(store)
    early.close()
    early.begin()
    assert store._core.lock_times is None
    last = made(store)
    del store
    last.begin()
    last.close()
    assert last.gone


def test_times_of_the_lock_with_queries_left_out() -> None:
    """Writes alone are measured then."""
    store, registry = _store(1), CollectorRegistry()
    with Metrics(store, registry=registry, queries=False):
        store.select()
        assert {key[1] for key in _scraped(registry) if key[0] == "kindex_store_lock_takes_total"} == {"write"}


def test_budgets_and_drops() -> None:
    """A budget shows its limits, and an index that broke it that it is gone."""
    store: Store[Any] = Store(
        name="pods", indexers=[LabelIndexer("app", budget=Budget(max_values=5))], budget=Budget(max_bytes="1MiB")
    )
    registry = CollectorRegistry()
    with Metrics(store, registry=registry):
        for i in range(10):
            store.put(pod(f"pod-{i}", app=f"app-{i}"))
        found = _scraped(registry)
    assert found["kindex_index_dropped", "app", "pods"] == 1
    assert found["kindex_index_drops_total", "pods"] == 1
    assert found["kindex_budget_bytes", "the store", "pods"] == 2**20
    assert [value for key, value in found.items() if key[0] == "kindex_budget_values"] == [5]


def test_followers_that_lag() -> None:
    """What followers have not taken is shown, of all together and of the slowest."""
    store, registry = _store(), CollectorRegistry()
    with Metrics(store, registry=registry), store.follow() as first, store.follow(label_selector="app=b"):
        first.take()
        store.put(pod("a", app="a"))
        store.put(pod("b", app="b"))
        found = _scraped(registry)
    assert found["kindex_store_followers", "pods"] == 2
    assert found["kindex_store_queued_items_max", "pods"] == 2
    assert found["kindex_store_queued_items", "pods"] in (2, 3)


def test_events_that_change_nothing() -> None:
    """Repeated events are counted by their reason."""
    store, registry = _store(), CollectorRegistry()
    with Metrics(store, registry=registry):
        for _ in range(3):
            store.observe("ADDED", versioned(pod("a"), "u1", "7"))
        assert _scraped(registry)["kindex_store_ignored_events_total", "repeats", "pods"] == 2


def test_an_informer_shows_what_it_does() -> None:
    """Lists, watches, errors by kind, its age and its state; and all of its store."""
    source, registry = FakeSource([pod("a", app="web")], name="pods"), CollectorRegistry()
    informer = Informer(source, indexers=[LabelIndexer("app")])
    with Metrics(informer, registry=registry):
        found = _scraped(registry)
        assert found["kindex_informer_synced", "pods"] == found["kindex_informer_live", "pods"] == 0
        assert found["kindex_informer_age_seconds", "pods"] == float("inf")
        with informer as pods:
            until(informer, lambda: informer.live and source.watches)
            assert pods.count(label_selector="app=web") == 1
            found = _scraped(registry)
            assert found["kindex_informer_synced", "pods"] == found["kindex_informer_live", "pods"] == 1
            assert 0 <= found["kindex_informer_age_seconds", "pods"] < 60
            assert found["kindex_reflector_lists_total", "pods"] == informer.stats.lists == 1
            assert found["kindex_reflector_watches_total", "pods"] >= 1
            assert found["kindex_store_objects", "pods"] == 1
            assert found["kindex_queries_total", "app", "pods"] == 1
            version = pods.resource_version()
            assert version is not None
            assert found["kindex_informer_store_resource_version", "pods"] == int(version)


def test_errors_have_their_kind() -> None:
    """A list that is refused for want of rights counts there."""
    source, registry = FakeSource([pod("a")], name="pods"), CollectorRegistry()
    fails(source, "list", status=403)
    with Metrics(registry=registry) as metrics:
        informer = Informer(source).start()
        metrics.add(informer)
        try:
            until(informer, lambda: informer.last_error)
            found = _scraped(registry)
            assert found["kindex_reflector_errors_total", "rights", "pods"] >= 1
            assert found["kindex_informer_refused_namespaces", "pods"] == 1
        finally:
            informer.stop()


def test_a_stopped_informer_is_not_shown() -> None:
    """Its series end with it, and its name may be taken by the next one."""
    registry = CollectorRegistry()
    first = Informer(FakeSource([pod("a")], name="pods"))
    with Metrics(first, registry=registry) as metrics:
        with first:
            assert _scraped(registry)["kindex_store_objects", "pods"] == 1
        assert _scraped(registry) == {}
        second = Informer(FakeSource([pod("a"), pod("b")], name="pods"))
        metrics.add(second)
        with second:
            assert _scraped(registry)["kindex_store_objects", "pods"] == 2


def test_a_store_that_nobody_uses_is_not_shown() -> None:
    """Metrics keep nothing alive."""
    store, registry = _store(1), CollectorRegistry()
    with Metrics(store, registry=registry):
        assert _scraped(registry)
        del store
        gc.collect()
        assert _scraped(registry) == {}


def test_close_leaves_the_registry() -> None:
    """After ``close`` there is no trace of it, and another may come; twice does no harm."""
    store, registry = _store(1), CollectorRegistry()
    metrics = Metrics(store, registry=registry)
    metrics.close()
    metrics.close()
    assert generate_latest(registry) == b""
    with Metrics(store, registry=registry):
        assert _scraped(registry)


def test_one_that_was_unregistered_by_hand_closes() -> None:
    """Whoever owns the registry may take it out there, too."""
    registry = CollectorRegistry()
    metrics = Metrics(registry=registry)
    registry.unregister(metrics)
    metrics.close()


def test_two_stores_of_one_name() -> None:
    """They are refused with a sentence that says what to do, and told apart by another name."""
    first, second, registry = _store(1), _store(2), CollectorRegistry()
    with Metrics(first, registry=registry) as metrics:
        with pytest.raises(MetricsError, match="two of one name cannot be told apart; make one with another name="):
            metrics.add(second)
        metrics.add(second, name="pods of the other cluster")
        found = _scraped(registry)
        assert found["kindex_store_objects", "pods"] == 1
        assert found["kindex_store_objects", "pods of the other cluster"] == 2
        with pytest.raises(MetricsError, match="here already, as 'pods'"):
            metrics.add(first.view(), name="again")


def test_two_collectors_on_one_registry() -> None:
    """The second is refused: a scrape must not name a metric twice."""
    registry = CollectorRegistry()
    with Metrics(_store(), registry=registry), pytest.raises(MetricsError, match="this registry has"):
        Metrics(_store(name="nodes"), registry=registry)


def test_a_metric_of_the_application_with_our_name() -> None:
    """A name that somebody else has is refused when registering, not at each scrape."""
    registry = CollectorRegistry()
    Gauge("kindex_store_objects", "of somebody else", registry=registry)
    with pytest.raises(MetricsError):
        Metrics(registry=registry)


def test_informers_of_one_name_in_a_group_are_numbered() -> None:
    """A group may have two informers of pods, with different selectors; both are shown, also one that comes later."""
    group, registry = InformerGroup(), CollectorRegistry()
    group.informer(FakeSource([pod("a")], name="pods"))
    with Metrics(group, registry=registry), group:
        group.informer(FakeSource([pod("a"), pod("b")], name="pods"))
        group.wait_synced(10)
        found = _scraped(registry)
        assert found["kindex_store_objects", "pods"] == 1
        assert found["kindex_store_objects", "pods-2"] == 2


@pytest.mark.parametrize(
    ("what", "settings"), [(["pods"], {}), ([None], {}), ([], {"max_indexes": 0}), ([], {"max_indexes": True})]
)
def test_what_has_no_metrics_is_refused(what: list[Any], settings: dict[str, Any]) -> None:
    """Anything else is refused, and nothing is registered then."""
    registry = CollectorRegistry()
    with pytest.raises(MetricsError):
        Metrics(*what, registry=registry, **settings)
    assert generate_latest(registry) == b""


def test_a_group_has_no_name() -> None:
    """One name for several informers is refused."""
    with Metrics(registry=CollectorRegistry()) as metrics, pytest.raises(MetricsError, match="no name of its own"):
        metrics.add(InformerGroup(), name="all")


def test_no_label_comes_from_an_object() -> None:
    """Names, namespaces, label values and node names of objects are in no series."""
    registry = CollectorRegistry()
    store = _store(0)
    with Metrics(store, registry=registry):
        store.put(pod("secret-name", "secret-namespace", node="secret-node", app="secret-app"))
        store.select(label_selector="app=secret-app", namespace="secret-namespace")
        store.select(field_selector="spec.nodeName=secret-node,metadata.name=secret-name")
        assert b"secret" not in generate_latest(registry)


def test_keys_of_labels_are_bounded() -> None:
    """An indexer of every label takes its keys from objects; beyond ``max_indexes`` they are summed up."""
    store = _store(0, indexers=[LabelIndexer(*(f"key-{i}" for i in range(50)))])
    registry = CollectorRegistry()
    with Metrics(store, registry=registry, max_indexes=10):
        store.put(pod("a", **{f"key-{i}": "x" for i in range(50)}))
        for i in range(50):
            store.select(label_selector=f"key-{i}=x")
        found = _scraped(registry)
        for metric in ("kindex_index_postings", "kindex_index_bytes", "kindex_queries_total"):
            named = {key[1]: value for key, value in found.items() if key[0] == metric}
            assert len(named) <= 11
            assert "(others)" in named
        queries = [value for key, value in found.items() if key[0] == "kindex_queries_total"]
        assert sum(queries) == 50


def test_a_thousand_indexes() -> None:
    """A scrape of a thousand indexes has each once."""
    indexers = [Indexer(f"index-{i}", lambda obj, i=i: obj["metadata"]["name"] + str(i)) for i in range(1_000)]
    store, registry = _store(0, indexers=indexers), CollectorRegistry()
    store.put(pod("a"))
    with Metrics(store, registry=registry, max_indexes=2_000):
        found = _scraped(registry)
        assert found["kindex_index_values", "index-999", "pods"] == 1
        assert len([key for key in found if key[0] == "kindex_index_values"]) == 1_001


def test_a_store_that_is_replaced_while_it_is_scraped() -> None:
    """A scrape gets through beside writers that replace everything, and never sees half a store."""
    store, registry = _store(0), CollectorRegistry()
    small, large = [pod("a", app="a")], [pod(f"b-{i}", app=f"b-{i}") for i in range(500)]
    done, failed = threading.Event(), []

    def replacing() -> None:
        while not done.is_set():
            store.replace(small)
            store.replace(large)

    store.replace(small)
    writer = threading.Thread(target=replacing)
    with Metrics(store, registry=registry, memory_seconds=0):
        writer.start()
        try:
            for _ in range(30):
                found = _scraped(registry)
                if found["kindex_store_objects", "pods"] not in (1, 500):
                    failed.append(found)
        finally:
            done.set()
            writer.join()
    assert failed == []


def test_queries_of_many_threads_are_all_counted() -> None:
    """No query is lost, whichever thread counts it."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry):

        def asking() -> None:
            for _ in range(500):
                store.count(label_selector="app=app-1")

        threads = [threading.Thread(target=asking) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert _scraped(registry)["kindex_queries_total", "app", "pods"] == 2_000


def test_a_query_while_another_thread_counts_waits_for_nobody() -> None:
    """A query that finds the counts taken leaves a note, which is counted later."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry) as metrics:
        counts: QueryCounts = metrics._subjects[0]._counts
        taken, done = threading.Event(), threading.Event()

        def holding() -> None:
            with counts._lock:
                taken.set()
                done.wait(10)

        holder = threading.Thread(target=holding)
        holder.start()
        assert taken.wait(10)
        store.count(label_selector="app=app-1")
        assert len(counts._told) == 1
        done.set()
        holder.join()
        assert _scraped(registry)["kindex_queries_total", "app", "pods"] == 1


def test_a_query_amid_the_counting_is_counted_too() -> None:
    """A finalizer that queries while its thread counts neither hangs nor gets lost."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry) as metrics:
        counts: QueryCounts = metrics._subjects[0]._counts
        real = counts._name

        def finalizing(use: Any) -> str:
            counts._name = real  # type: ignore[method-assign]  # once
            store.count(label_selector="app=app-2")
            return real(use)

        counts._name = finalizing  # type: ignore[method-assign]  # as the collector might call anything there
        store.count(label_selector="app=app-1")
        assert _scraped(registry)["kindex_queries_total", "app", "pods"] == 2


def test_a_child_process_counts_on() -> None:
    """A fork while another thread counts, measures or registers leaves no lock taken in the child."""
    store, registry = _store(10), CollectorRegistry()
    with Metrics(store, registry=registry) as metrics:
        [subject] = metrics._subjects
        taken, done = threading.Event(), threading.Event()

        def holding() -> None:
            with metrics._lock, subject._lock, subject._counts._lock:
                taken.set()
                done.wait(10)

        holder = threading.Thread(target=holding)
        holder.start()
        assert taken.wait(10)
        for each in (metrics, subject, subject._counts):
            each.forked()  # as in a child, where the holder is not
        store.count(label_selector="app=app-1")
        assert _scraped(registry)["kindex_queries_total", "app", "pods"] == 1
        done.set()
        holder.join()


def test_an_informer_of_asyncio() -> None:
    """It has the same metrics, and a scrape may come from another thread than its loop's."""
    registry = CollectorRegistry()

    async def main() -> dict[tuple[str, ...], float]:
        informer = AsyncInformer(FakeSource([pod("a")], name="pods"))
        with Metrics(informer, registry=registry):
            async with informer:
                return await asyncio.to_thread(_scraped, registry)

    found = asyncio.run(main())
    assert found["kindex_informer_synced", "pods"] == found["kindex_store_objects", "pods"] == 1


def test_a_version_that_is_no_number_is_not_shown() -> None:
    """Resource versions are text; a gauge takes those that are numbers."""
    registry = CollectorRegistry()
    informer = Informer(FakeSource([pod("a")], name="pods"))
    with Metrics(informer, registry=registry), informer:
        informer._store.bookmark("v-12")
        assert ("kindex_informer_store_resource_version", "pods") not in _scraped(registry)


def test_without_the_extra_the_import_says_what_to_install() -> None:
    """Where prometheus-client is missing, the error names the extra; kindex itself does not need it."""
    code = (
        "import sys; sys.modules['prometheus_client'] = None; import kindex; kindex.Store\n"
        "try:\n    import kindex.metrics\nexcept ModuleNotFoundError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert "pip install 'kube-kindex[metrics]'" in done.stdout


# What is written about them


def _named_in(text: str) -> set[str]:
    return set(re.findall(r"\bkindex_[a-z_]+\b", text))


def test_the_document_has_the_table() -> None:
    """docs/metrics.md lists each metric with its type, labels and words, and no other."""
    rows = [f"| `{each.name}` | {each.type} | {', '.join(each.labels)} | {each.says} |" for each in METRICS]
    found = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("| `kindex_")]
    assert found == rows


def test_every_metric_is_given_by_something() -> None:
    """No row of the table is only written there: a store and an informer in trouble have them all."""
    registry = CollectorRegistry()
    source = FakeSource([pod("a", app="x"), pod("b", app="y")], name="pods")
    source.fail("list", 500)
    budgets = {"max_bytes": 10**6, "max_values": 1}
    informer = Informer(source, indexers=[LabelIndexer("app", budget=Budget(**budgets)), by_node])
    extra: Store[Any] = _store(1, name="extra")
    for _ in range(2):
        extra.observe("ADDED", versioned(pod("a"), "u1", "7"))
    with Metrics(informer, extra, registry=registry), informer as pods:
        pods.select(by_node.at("n1"))
        given = {key[0] for key in _scraped(registry)}
    assert {each.name for each in METRICS} - given == set()


def test_names_and_words_are_in_order() -> None:
    """Counters end in _total, gauges do not; each metric has a sentence, and no name comes twice."""
    assert len({each.name for each in METRICS}) == len(METRICS)
    for each in METRICS:
        assert each.name.endswith("_total") is (each.type == "counter")
        assert each.says.endswith(".")
        assert each.labels[0] == "store"


def test_the_dashboard_is_json_and_knows_our_metrics() -> None:
    """The dashboard has what Grafana needs of one, and each expression is of metrics that there are."""
    dashboard = json.loads((MONITORING / "dashboard.json").read_text())
    assert {"title", "panels", "schemaVersion", "templating", "uid"} <= set(dashboard)
    identifiers = [panel["id"] for panel in dashboard["panels"]]
    assert len(set(identifiers)) == len(identifiers)
    known = {each.name for each in METRICS}
    for panel in dashboard["panels"]:
        assert panel["title"]
        grid = panel["gridPos"]
        assert grid["x"] + grid["w"] <= 24
        if panel["type"] == "row":
            continue
        assert panel["targets"]
        for target in panel["targets"]:
            assert _named_in(target["expr"])
            _check_expression(target["expr"])
    assert _named_in(json.dumps(dashboard)) <= known


def test_the_alerts_are_rules_and_know_our_metrics() -> None:
    """The file has groups of rules with expression, severity and words, of metrics that there are."""
    text = (MONITORING / "alerts.yaml").read_text()
    groups = yaml.safe_load(text)["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    assert len({rule["alert"] for rule in rules}) == len(rules) > 5
    for rule in rules:
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert re.fullmatch(r"[A-Z][A-Za-z]+", rule["alert"])
        assert re.fullmatch(r"\d+[smh]", rule.get("for", "0s"))
        assert rule["labels"]["severity"] in ("warning", "critical")
        assert set(rule["annotations"]) == {"summary", "description"}
        assert _named_in(rule["expr"])
        _check_expression(rule["expr"])
    assert _named_in(text) <= {each.name for each in METRICS}


def _check_expression(expression: str) -> None:
    """Assert what can be asserted of PromQL without its parser: brackets close, counters are rated, labels exist."""
    stack: list[str] = []
    for letter in re.sub(r'"[^"]*"', "", expression):
        if letter in "([{":
            stack.append({"(": ")", "[": "]", "{": "}"}[letter])
        elif letter in ")]}":
            assert stack.pop() == letter, expression
    assert not stack, expression
    labels_of = {each.name: set(each.labels) for each in METRICS}
    for name, selected in re.findall(r"\b(kindex_[a-z_]+)(?:\{([^}]*)\})?", expression):
        assert set(re.findall(r"(\w+)\s*(?:=|!=|=~|!~)", selected)) <= labels_of[name] | {"job", "namespace"}
    for name in re.findall(r"\b(kindex_[a-z_]+_total)\b", expression):
        assert re.search(rf"\b(?:rate|increase)\({name}(?:\{{[^}}]*\}})?\[", expression), expression
