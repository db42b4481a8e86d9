"""Advisor: what it counts, what it proposes, and that it goes without a trace."""

from __future__ import annotations

import gc
import json
import sys
import threading
import weakref
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Advisor,
    AnnotationIndexer,
    Budget,
    FieldIndexer,
    Indexer,
    LabelIndexer,
    QueryError,
    ScanRefusedError,
    SortedIndexer,
    Store,
)
from kindex.measuring import measure
from tests.locks import owned
from tests.pods import Pod, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kindex import Advice, StoreView
    from kindex.advice import Asked

BY_TIER = LabelIndexer("tier")
BY_NODE = FieldIndexer("spec.nodeName")


def fleet(size: int, *indexers: Any, **options: Any) -> Store[Pod]:
    """Make a store of pods: 50 apps, 2 tiers, 20 nodes; a build of its own each."""
    store: Store[Pod] = Store(name="pods", indexers=indexers, **options)
    store.replace(
        pod(
            f"p{i}",
            f"ns{i % 4}",
            node=f"n{i % 20}",
            app=f"app-{i % 50}",
            tier=("gold", "silver")[i % 2],
            build=f"b{i}",
            region="north",
            **{"pod-template-hash": f"h{i % 50}"},
        )
        for i in range(size)
    )
    return store


def ticking() -> Callable[[], float]:
    """Make a clock that is a second later each time it is read."""
    ticks = count()
    return lambda: float(next(ticks))


def counts(advice: Advice) -> dict[str, tuple[int, int, int, int]]:
    """Give asked, scans, scanned and returned of each shape."""
    return {each.shape: _numbers(each) for each in advice.shapes}


def _numbers(each: Asked) -> tuple[int, int, int, int]:
    return each.asked, each.scans, each.scanned, each.returned


def declarations(advice: Advice) -> list[str]:
    """Give what it would add."""
    return [each.declaration for each in advice.add]


def reasons(advice: Advice) -> dict[str, str]:
    """Give what it would drop, and why."""
    return {each.index: each.reason for each in advice.drop}


# Counting


def test_counts_are_exact_for_a_known_series() -> None:
    """Asked, scans, scanned and returned are those of the queries that were made, shape by shape."""
    store = fleet(200, BY_TIER, BY_NODE)
    with Advisor(store) as advisor:
        for app in range(3):
            store.select(namespace="ns1", label_selector=f"app=app-{app}")
        store.select(label_selector="app=app-7")
        store.count(label_selector="app=app-7")
        store.keys(label_selector="app=app-7", where=lambda _: True)
        store.count(label_selector="tier=gold")
        store.count(BY_TIER.key("tier").at("silver"))
        store.select(BY_NODE.at("n3"))
        store.select(BY_NODE.at("n4") | ~BY_NODE.at("n5"))
        assert list(store)
    assert counts(advisor.report()) == {
        "namespace, [app =]": (3, 0, 150, 2),
        "[app =]": (2, 2, 400, 8),
        "[app =] where": (1, 1, 200, 4),
        "tier =": (2, 0, 0, 200),
        "spec.nodeName at": (1, 0, 0, 10),
        "spec.nodeName at, spec.nodeName not at": (1, 0, 0, 190),
        "every object": (1, 0, 0, 200),
    }
    total = advisor.report().total
    assert _numbers(total) == (11, 3, 750, 614)


def test_first_and_any_count_what_they_looked_at() -> None:
    """A query that stops early is counted with the objects it looked at, not with those that it might have."""
    store = fleet(200)
    with Advisor(store) as advisor:
        assert store.first(label_selector="app=app-0") is not None
        assert store.any(label_selector="tier=silver")
        assert not store.any(label_selector="tier=bronze")
    looked = counts(advisor.report())
    assert looked["[app =]"][0] == looked["[app =]"][3] == 1
    assert 1 <= looked["[app =]"][2] < 200
    assert looked["[tier =]"][0] == 2
    assert 201 <= looked["[tier =]"][2] < 400


def test_explaining_is_not_asking() -> None:
    """explain(), get(), tally() and len() are not counted as queries, nor is the advisor's own reading."""
    store = fleet(200, BY_TIER)
    with Advisor(store) as advisor:
        store.explain(label_selector="app=app-1")
        store.get("p1", namespace="ns1")
        store.tally(BY_TIER.key("tier"))
        assert len(store) == 200
        advisor.report()
    assert advisor.report().total.asked == 0
    assert advisor.report().verdict == "no query was seen"


def test_a_refused_scan_counts() -> None:
    """A scan that is refused was made all the same, and a query that makes no sense was not."""
    store = fleet(200)
    with Advisor(store) as advisor:
        with pytest.raises(ScanRefusedError):
            store.select(label_selector="app=app-1", scan="error")
        with pytest.raises(QueryError):
            store.select(namespace="")
    assert counts(advisor.report()) == {"[app =]": (1, 1, 200, 4)}


def test_seconds_are_those_of_the_given_clock() -> None:
    """Each query takes what the clock says between its begin and its end."""
    store = fleet(10)
    with Advisor(store, clock=ticking()) as advisor:
        store.select(label_selector="app=app-1")
        store.count()
        store.explain()
    advice = advisor.report()
    assert {each.shape: each.seconds for each in advice.shapes} == {"[app =]": 1.0, "every object": 1.0}
    assert advice.total.seconds == 2.0


@pytest.mark.parametrize(
    ("asked", "shape"),
    [
        ({"label_selector": "app==x"}, "[app =]"),
        ({"label_selector": "app in (x,y),!zone,tier"}, "tier, [app in], [!zone]"),
        ({"label_selector": "app notin (x),n>3"}, "[app notin], [n gt]"),
        ({"label_selector": {"app": "x"}}, "[app =]"),
        ({"label_selector": None}, "every object"),
        ({"field_selector": "spec.nodeName=x"}, "spec.nodeName ="),
        ({"field_selector": "spec.nodeName!="}, "spec.nodeName !="),
        ({"field_selector": "status.phase!=x,metadata.name=y"}, "metadata.name =, [status.phase !=]"),
        ({"namespace": ["a", "b"]}, "namespace"),
    ],
)
def test_a_shape_is_what_was_asked_without_the_values(asked: dict[str, Any], shape: str) -> None:
    """A shape has keys, paths and operators, no values; what no index answered stands in brackets."""
    store = fleet(10, BY_TIER, BY_NODE)
    with Advisor(store) as advisor:
        store.select(**asked)
    assert [each.shape for each in advisor.report().shapes] == [shape]


def test_shapes_of_terms_name_their_indexes() -> None:
    """Terms are told by the names of their indexes and by what was asked of them, in whatever order."""
    by_size = SortedIndexer[Pod, str]("size", lambda each: each["metadata"]["name"])
    by_tier = LabelIndexer("tier", name="tiers")
    store = fleet(10, by_tier, BY_NODE, by_size)
    with Advisor(store) as advisor:
        store.select(BY_NODE.at("n1"), by_size.between("a", "b"))
        store.select(by_size.between("a", None), BY_NODE.at("n2"))
        store.select(by_size.starting_with("p"), order_by=by_size.descending())
        store.select(by_size.largest() | by_size.smallest(), order_by="key", where=bool)
        store.select(~by_tier.key("tier").absent(), ~by_tier.key("tier").among(["a", "b"]))
        store.select(by_tier.satisfying("tier=gold,app=web"))
        store.select(by_tier.satisfying("app=web") | BY_NODE.among(["n1", "n2"]))
    assert {each.shape: each.asked for each in advisor.report().shapes} == {
        "size between, spec.nodeName at": 2,
        "size starting_with order by size descending": 1,
        "size largest, size smallest where order by key": 1,
        "tier, tier notin": 1,
        "tier =, [app =]": 1,
        "[spec.nodeName among], [app =]": 1,
    }


def test_shapes_are_bounded() -> None:
    """Beyond max_shapes those asked least are counted together, and nothing is lost of the sums."""
    store = fleet(100)
    with Advisor(store, max_shapes=10) as advisor:
        for _ in range(5):
            store.select(label_selector="app=app-1")
        for key in range(100):
            store.select(label_selector=f"key-{key}=x")
    advice = advisor.report()
    assert len(advice.shapes) <= 10
    assert counts(advice)["[app =]"] == (5, 5, 500, 10)
    everything = [advice.others, *advice.shapes]
    assert sum(each.asked for each in everything) == advice.total.asked == 105
    assert sum(each.scanned for each in everything) == advice.total.scanned == 10_500
    assert advice.others.shape == "other shapes"
    assert "other shapes" in str(advice)


def test_a_query_of_a_thousand_keys_is_not_kept() -> None:
    """A shape whose text is long is counted with the others: one query can name any number of keys."""
    store = fleet(10)
    with Advisor(store) as advisor:
        store.select(label_selector=",".join(f"key-{i}=x" for i in range(1_000)))
    assert advisor.report().shapes == ()
    assert advisor.report().others.asked == 1


def test_counts_are_exact_with_several_threads() -> None:
    """No query of any thread is lost or counted twice, also while another asks for reports."""
    store = fleet(20, BY_TIER)
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with Advisor(store, max_shapes=3) as advisor:
            start = threading.Barrier(5)

            def ask(number: int) -> None:
                start.wait()
                for i in range(300):
                    store.select(label_selector=f"k{number}-{i % 5}=x")
                    store.count(label_selector="tier=gold")

            def report() -> None:
                start.wait()
                for _ in range(20):
                    advisor.report()

            threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
            threads.append(threading.Thread(target=report))
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(switch)
    advice = advisor.report()
    everything = [advice.others, *advice.shapes]
    assert _numbers(advice.total) == (2_400, 0, 24_000, 12_000)
    assert sum(each.asked for each in everything) == 2_400
    assert sum(each.scanned for each in everything) == 24_000


def test_the_advisor_is_told_without_the_lock() -> None:
    """Neither the clock nor the counting runs while the lock of the store is held."""
    store = fleet(100, BY_TIER)
    held: list[bool] = []

    def clock() -> float:
        held.append(owned(store))
        return 0.0

    with Advisor(store, clock=clock) as advisor:
        store.select(label_selector="app=app-1")
        store.select(label_selector="tier=gold")
        store.count(label_selector="tier=gold")
        store.keys(order_by="key")
    assert held == [False] * 8
    assert advisor.report().total.asked == 4


def test_a_query_never_waits_for_the_advisor() -> None:
    """While another thread holds the advisor's lock queries go on, and are counted afterwards."""
    store = fleet(10)
    with Advisor(store) as advisor:
        inside, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with advisor._lock:
                inside.set()
                leave.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        assert store.count() == 10
        assert advisor._total.asked == 0
        leave.set()
        thread.join()
        assert advisor.report().total.asked == 1


def test_a_query_made_amid_counting_is_counted() -> None:
    """A finalizer or signal handler may query while its thread counts: it is counted after that, and hurts nothing."""
    store = fleet(10)
    with Advisor(store) as advisor:
        advisor._counting = True  # as when the handler comes in
        store.count()
        assert advisor._total.asked == 0
        advisor._counting = False
        store.count()
        assert advisor._total.asked == 2


# Watching


def test_a_stopped_advisor_is_not_called() -> None:
    """After stop() queries call nothing of it, and the counts stay."""
    store = fleet(10)
    calls: list[float] = []

    def clock() -> float:
        calls.append(0.0)
        return 0.0

    advisor = Advisor(store, clock=clock)
    store.count()
    seen = len(calls)
    advisor.stop()
    advisor.stop()
    store.select(label_selector="app=app-1")
    assert len(calls) == seen
    assert store._core.watchers == []
    assert advisor.report().total.asked == 1


@pytest.mark.parametrize("query", ["select", "count", "keys"])
def test_an_unwatched_query_makes_no_watch(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody watches nothing is made to watch with; the control: where somebody does it is."""
    store = fleet(10)
    made: list[object] = []

    def watch(core: object) -> None:
        made.append(core)

    monkeypatch.setattr("kindex.queries.Watch", watch)
    getattr(store, query)(label_selector="app=app-1")
    assert made == []
    advisor = Advisor(store)
    getattr(store, query)(label_selector="app=app-1")
    assert made
    advisor.stop()


def test_several_advisors_count_for_themselves() -> None:
    """Each of several advisors on one store counts from its own begin to its own end."""
    store = fleet(10)
    first = Advisor(store)
    store.count()
    with Advisor(store.view()) as second:
        store.count()
    store.count()
    assert (first.report().total.asked, second.report().total.asked) == (3, 1)
    assert len(store._core.watchers) == 1
    first.stop()


def test_an_advisor_that_nobody_refers_to_is_gone() -> None:
    """A store holds no advisor: one that is collected leaves nothing behind, stopped or not."""
    store = fleet(10)
    for stopped in (False, True):
        advisor = Advisor(store)
        store.count()
        if stopped:
            advisor.stop()
        gone = weakref.ref(advisor)
        del advisor
        gc.collect()
        assert gone() is None
        assert store._core.watchers == []
    store.count()


def test_an_advisor_keeps_no_object_and_no_predicate() -> None:
    """What was stored, asked for or given as a predicate goes when its owner lets it go."""

    class Thing:
        def __init__(self, name: str) -> None:
            self.metadata = {"name": name, "namespace": "x", "labels": {"app": "web"}}

        def passes(self, _obj: object) -> bool:
            return True

    store: Store[Thing] = Store()
    store.put(Thing("a"))
    with Advisor(store) as advisor:
        asker = Thing("b")
        store.select(label_selector="app=web", where=asker.passes)
        by_asker = Indexer[Thing, bool]("asker", asker.passes)
        store.add_indexers(by_asker)
        store.select(by_asker.at(True), label_selector="app=web")
        store.remove_indexer("asker")
        advisor.report()
        found = store.get("a", namespace="x")
        assert found is not None
        gone = [weakref.ref(asker), weakref.ref(found)]
        store.replace([])
        del asker, by_asker, found
        gc.collect()
        assert [each() for each in gone] == [None, None]
        assert advisor.report().total.asked == 2


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "10", None])
def test_a_number_of_shapes_is_positive(bad: Any) -> None:
    """max_shapes is a whole number above zero."""
    with pytest.raises(QueryError, match="max_shapes"):
        Advisor(fleet(0), max_shapes=bad)


def test_only_stores_are_watched() -> None:
    """An advisor of what is no store is refused."""
    with pytest.raises(QueryError, match="watches a store"):
        Advisor([pod("a")])  # type: ignore[arg-type]


# What to add


def test_the_key_that_was_scanned_for_is_proposed() -> None:
    """A label and a field that queries scanned for are proposed, with the bytes and scans, best ratio first."""
    store = fleet(1_000)
    with Advisor(store) as advisor:
        for i in range(40):
            store.select(label_selector=f"app=app-{i}")
        for i in range(20):
            store.select(field_selector=f"spec.nodeName=n{i}", namespace="ns1")
    advice = advisor.report()
    app = advice.add[0]
    assert (app.declaration, app.index, app.values) == ("LabelIndexer('app')", "app", 50)
    assert (app.asked, app.scans, app.scanned) == (40, 40, 40_000)
    assert declarations(advice) == ["LabelIndexer('app')"]  # the field's scans come to 5,000 objects
    assert advice.verdict == "add LabelIndexer('app')"
    with advisor:
        pass
    store.add_indexers(LabelIndexer("app"))
    built = next(each for each in measure(store._core).indexes if each.name == "app")
    assert abs(app.bytes - built.index_bytes) < 0.15 * built.index_bytes


def test_what_is_proposed_spares_the_scans() -> None:
    """With the proposed indexes the same queries look at no object, and nothing more is proposed."""
    store = fleet(1_000)

    def ask() -> None:
        for i in range(40):
            store.select(label_selector=f"app=app-{i}")
            store.select(field_selector=f"spec.nodeName=n{i % 20}")
            store.count(label_selector="tier=gold")

    with Advisor(store) as before:
        ask()
    advice = before.report()
    assert set(declarations(advice)) == {"LabelIndexer('app')", "FieldIndexer('spec.nodeName')", "LabelIndexer('tier')"}
    ratios = [each.scanned / each.bytes for each in advice.add]
    assert ratios == sorted(ratios, reverse=True)
    assert sum(each.scanned for each in advice.add) == advice.total.scanned == 120_000
    store.add_indexers(*(eval(each) for each in declarations(advice)))  # noqa: S307 - a declaration is to be copied
    with Advisor(store) as after:
        ask()
    assert after.report().total.scanned == 0
    assert after.report().add == ()
    assert before.report().add == ()  # they are there by now


def test_one_index_of_two_may_do() -> None:
    """Where one index leaves next to nothing to look at, the second is not proposed."""
    store = fleet(1_000)
    with Advisor(store) as advisor:
        for i in range(50):
            store.select(label_selector=f"app=app-{i},tier=gold")
    (only,) = advisor.report().add
    assert only.index == "app"
    assert 40_000 < only.scanned < 50_000
    assert only.scans == 50


def test_maps_of_labels_have_declarations_of_their_own() -> None:
    """Keys of annotations and of other maps are proposed with the indexer that reads them."""
    there = AnnotationIndexer("there")
    by_selector = LabelIndexer("there", path="spec.selector")
    store: Store[Any] = Store(indexers=[there, by_selector])
    for i in range(300):
        made = pod(f"p{i}")
        made["metadata"]["annotations"] = {"class": f"c{i % 7}"}
        made["spec"] = {"selector": {"app": f"a{i % 9}"}}
        store.put(made)
    with Advisor(store) as advisor:
        for _ in range(50):
            store.select(there.satisfying("class=c1"))
            store.select(by_selector.satisfying("app=a1"))
    assert set(declarations(advisor.report())) == {
        "AnnotationIndexer('class')",
        "LabelIndexer('app', path='spec.selector')",
    }


def test_a_large_store_is_sampled() -> None:
    """The forecast of a proposal for a large store comes from a sample, and is near what is built."""
    store = fleet(12_000)
    with Advisor(store) as advisor:
        store.select(label_selector="app=app-1")
        store.select(label_selector="app=app-2")
    (app,) = advisor.report().add
    store.add_indexers(LabelIndexer("app"))
    built = next(each for each in measure(store._core).indexes if each.name == "app")
    assert abs(app.bytes - built.index_bytes) < 0.15 * built.index_bytes
    assert app.values == 50


def test_nothing_is_proposed_on_a_small_store() -> None:
    """Below a hundred objects no index is worth it, however often it is scanned, nor one in the way."""
    store = fleet(60, BY_NODE)
    with Advisor(store) as advisor:
        for _ in range(300):
            store.select(label_selector="app=app-1")
    advice = advisor.report()
    assert (advice.add, advice.drop, advice.cautions) == ((), (), ())
    assert advice.verdict == "no index is worth it: with fewer than 100 objects a scan costs next to nothing"


def test_few_scans_are_not_worth_an_index() -> None:
    """Scans that cost next to nothing in all propose nothing, and the advice says so."""
    store = fleet(1_000)
    with Advisor(store) as advisor:
        for _ in range(9):
            store.select(label_selector="app=app-1")
    advice = advisor.report()
    assert (advice.add, advice.cautions) == ((), ())
    assert advice.verdict == "no index is worth it: all queries together looked at 9,000 objects"


def test_indexed_queries_need_nothing() -> None:
    """Where indexes answer everything there is nothing to do."""
    store = fleet(200, BY_TIER)
    with Advisor(store) as advisor:
        store.select(label_selector="tier=gold")
    assert advisor.report().verdict == "nothing to do: indexes answer every query"


def test_scans_for_many_things_are_not_worth_an_index() -> None:
    """Scans that add up, but none of whose keys does, propose nothing."""
    store = fleet(1_000)
    with Advisor(store) as advisor:
        for i in range(20):
            store.select(label_selector=f"key-{i}=x")
    assert advisor.report().add == ()
    assert advisor.report().verdict == "no index is worth it: none would spare much"


def test_near_unique_keys_get_a_warning() -> None:
    """A key that is known for it, or found so, is warned of with the reason, and not proposed."""
    store = fleet(1_000)
    with Advisor(store) as advisor:
        for i in range(20):
            store.select(label_selector=f"pod-template-hash=h{i}")
            store.select(label_selector=f"build=b{i}")
    advice = advisor.report()
    assert advice.add == ()
    assert {each.index: (each.asked, each.scanned) for each in advice.cautions} == {
        "pod-template-hash": (20, 20_000),
        "build": (20, 20_000),
    }
    why = {each.index: each.reason for each in advice.cautions}
    assert "rollout" in why["pod-template-hash"]
    assert why["build"] == "1,000 values on 1,000 objects: hardly two objects share one"
    assert advice.verdict == "no index is worth it: what was scanned for makes no good index"


def test_a_field_that_finds_one_object_is_proposed() -> None:
    """Near-unique fields are proposed: to find one object by it is what such an index is for."""
    store = fleet(300)
    for i in range(300):
        made = pod(f"p{i}", f"ns{i % 4}")
        made["status"] = {"podIP": f"10.0.{i // 250}.{i % 250}"}
        store.put(made)
    with Advisor(store) as advisor:
        for i in range(50):
            store.select(field_selector=f"status.podIP=10.0.0.{i}")
    assert declarations(advisor.report()) == ["FieldIndexer('status.podIP')"]


def test_an_index_that_a_budget_dropped_is_not_proposed_again() -> None:
    """Queries that scan since a budget dropped their index get its reason instead of a proposal."""
    by_build = LabelIndexer("build", budget=Budget(max_values=10))
    by_node = FieldIndexer("spec.nodeName", budget=Budget(max_values=10))
    store = fleet(300, by_build, by_node)
    with Advisor(store) as advisor:
        for i in range(50):
            store.select(by_build.key("build").at(f"b{i}"))
            store.select(by_node.at("n1"))
            store.select(field_selector="spec.nodeName=n1")
    advice = advisor.report()
    assert advice.add == ()
    assert {each.index: (each.asked, each.scanned) for each in advice.cautions} == {
        "build": (50, 15_000),
        "spec.nodeName": (100, 30_000),
    }
    assert all("max_values=10" in each.reason for each in advice.cautions)


# What to drop


def test_an_index_that_is_never_used_is_to_be_dropped() -> None:
    """After enough queries an index that none of them used is to be dropped, with the bytes it gives back."""
    store = fleet(400, BY_TIER, BY_NODE)
    with Advisor(store) as advisor:
        for _ in range(99):
            store.count(label_selector="tier=gold", namespace="ns0")
        assert "spec.nodeName" not in reasons(advisor.report())
        store.count()
    advice = advisor.report()
    assert reasons(advice)["spec.nodeName"] == "none of 100 queries used it"
    node = next(each for each in advice.drop if each.index == "spec.nodeName")
    memory = next(each for each in measure(store._core).indexes if each.name == "spec.nodeName")
    assert node.bytes == memory.index_bytes + memory.text_bytes
    assert "drop spec.nodeName" in advice.verdict


@pytest.mark.parametrize("use", ["term", "field", "order", "tally", "values", "union"])
def test_every_way_of_use_counts(use: str) -> None:
    """An index that answers a selector or a term, orders, or is read as a whole is used."""
    by_name = SortedIndexer[Pod, str]("name", lambda each: each["metadata"]["name"])
    store = fleet(400, BY_NODE, by_name)

    def ways() -> Iterator[tuple[str, Callable[[], object]]]:
        yield "term", lambda: store.count(BY_NODE.at("n1"), by_name.starting_with("p1"))
        yield "field", lambda: store.count(~by_name.at("p1"), field_selector="spec.nodeName=n1")
        yield "order", lambda: store.select(BY_NODE.at("n1"), order_by=by_name)
        yield "tally", lambda: (store.tally(BY_NODE), store.tally(by_name))
        yield "values", lambda: (store.index_values(BY_NODE), store.index_values(by_name))
        yield "union", lambda: store.count(BY_NODE.at("n1") | by_name.at("p1"))

    with Advisor(store) as advisor:
        dict(ways())[use]()
        for _ in range(120):
            store.count()
    assert reasons(advisor.report()) == {}


def test_an_index_is_judged_from_when_it_came() -> None:
    """An index that was added late is not called unused for the queries before it."""
    store = fleet(400)
    with Advisor(store) as advisor:
        for _ in range(200):
            store.count()
        store.add_indexers(BY_NODE)
        assert reasons(advisor.report()) == {}
        for _ in range(100):
            store.count()
        assert reasons(advisor.report()) == {"spec.nodeName": "none of 100 queries used it"}


def test_a_label_with_one_value_narrows_nothing() -> None:
    """An index that files nearly every object under one value is to be dropped when that value is asked for."""
    store = fleet(400, LabelIndexer("region"))
    with Advisor(store) as advisor:
        for _ in range(20):
            store.select(label_selector="region=north", namespace="ns1")
    assert reasons(advisor.report()) == {"region": "400 of 400 objects have one value, so it narrows nothing"}


def test_an_index_that_leaves_most_of_the_store_is_to_be_dropped() -> None:
    """An index whose answers are mostly more than half of the store is no better than a scan."""
    store = fleet(400, LabelIndexer("tier"))
    for i in range(100):  # gold becomes three quarters
        store.put(pod(f"p{2 * i + 1}", f"ns{(2 * i + 1) % 4}", tier="gold"))
    with Advisor(store) as advisor:
        for i in range(20):
            store.select(label_selector="tier=gold" if i % 4 else "tier=silver")
    assert reasons(advisor.report()) == {
        "tier": "in 15 of 20 uses it left more than half of the store: a scan does as well"
    }


def test_rare_values_of_a_constant_label_are_worth_it() -> None:
    """An index of nearly one value stays when the others are asked for: that is what it is for."""
    store = fleet(400, LabelIndexer("region"))
    store.put(pod("odd", region="south"))
    with Advisor(store) as advisor:
        for _ in range(120):
            store.select(label_selector="region=south")
            store.select(label_selector="region!=north")
    assert reasons(advisor.report()) == {}


def test_keys_of_an_index_over_all_are_judged_one_by_one() -> None:
    """Of LabelIndexer.all() each key is used or unused by itself."""
    store = fleet(400, LabelIndexer.all(budget=Budget(max_bytes="10MiB")))
    with Advisor(store) as advisor:
        for _ in range(120):
            store.select(label_selector="app=app-1")
    unused = reasons(advisor.report())
    assert set(unused) == {"build", "region", "tier"}
    assert set(unused.values()) == {"none of 120 queries used it"}


def test_those_that_take_most_are_dropped_first() -> None:
    """Indexes to drop are listed by what they give back."""
    store = fleet(400, LabelIndexer("build"), LabelIndexer("region"), BY_TIER)
    with Advisor(store) as advisor:
        for _ in range(120):
            store.count()
    sizes = [each.bytes for each in advisor.report().drop]
    assert len(sizes) == 3
    assert sizes == sorted((size or 0 for size in sizes), reverse=True)
    assert all(sizes)


# The report


def test_advice_is_json_and_text() -> None:
    """An advice is plain data, and text that names what to do, what to beware of and what was asked."""
    store = fleet(400, BY_NODE)
    with Advisor(store, clock=ticking()) as advisor:
        for i in range(100):
            store.select(label_selector=f"app=app-{i % 50}")
            store.select(label_selector="build=b1")
    advice = advisor.report()
    plain = json.loads(json.dumps(advice.to_dict()))
    assert plain["add"][0]["declaration"] == "LabelIndexer('app')"
    assert plain["total"]["asked"] == 200
    text = str(advice)
    for part in ("400 objects", "add LabelIndexer('app')", "drop spec.nodeName", "beware:", "[app =]", "200 queries"):
        assert part in text


def test_a_report_shows_the_costliest_shapes_first() -> None:
    """Shapes are listed by the objects looked at; the text shows ten and says how many more there are."""
    store = fleet(100)
    with Advisor(store) as advisor:
        for i in range(12):
            for _ in range(i + 1):
                store.select(label_selector=f"key-{i}=x")
    advice = advisor.report()
    assert [each.scanned for each in advice.shapes] == [100 * i for i in range(12, 0, -1)]
    assert "and 2 more shapes" in str(advice)
    assert repr(advisor) == "Advisor('pods', 78 queries seen)"


def test_an_empty_store_has_an_advice() -> None:
    """An advisor of an empty store, of which nothing was asked, says so."""
    store: StoreView[Pod] = fleet(0)
    with Advisor(store) as advisor:
        advice = advisor.report()
    assert (advice.objects, advice.verdict) == (0, "no query was seen")
    assert "no query was seen" in str(advice)
