"""Budgets: what breaks them, what follows, and how an index comes back."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kindex import (
    Budget,
    BudgetExceededError,
    Drop,
    FieldIndexer,
    Indexer,
    LabelIndexer,
    ObjectKey,
    ScanRefusedError,
    SortedIndexer,
    Store,
    UnknownIndexError,
)
from kindex.column_index import ColumnIndex
from kindex.prices import measured
from kindex.schema import NAMESPACE

by_name = SortedIndexer("name", "metadata.name", budget=Budget(max_values=3))


def pod(number: int, **labels: object) -> dict[str, Any]:
    texts = {key: str(value) for key, value in labels.items()}
    return {"metadata": {"name": f"p{number:05}", "namespace": "x", "labels": texts}}


def values_of(store: Store[Any], key: str) -> int:
    generation = store._core.generation
    return len(generation.index_at(generation.schema.spot_of(LabelIndexer(key).key(key))))


def bytes_of(store: Store[Any]) -> int:
    return sum(sum(measured(index)) for index in store._core.generation.indexes[NAMESPACE + 1 :])  # type: ignore[arg-type]


def test_max_values_holds_exactly() -> None:
    """The value that would be one too many drops the index before it is written; up to there it stays."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app", "hash", key_budget=Budget(max_values=10))])
    for number in range(10):
        store.put(pod(number, app=number % 2, hash=number))
    assert (values_of(store, "hash"), store.dropped) == (10, ())
    store.put(pod(10, app=0, hash=10))
    store._check()
    assert [(drop.index, drop.reason, drop.revision) for drop in store.dropped] == [
        ("hash", "11 values, max_values=10", 11)
    ]
    assert values_of(store, "app") == 2
    with pytest.raises(UnknownIndexError):
        values_of(store, "hash")


def test_moving_the_only_object_of_a_value_is_not_a_value_more() -> None:
    """At the limit, an object may take a new value if its old one goes with it."""
    store: Store[Any] = Store(indexers=[LabelIndexer("hash", budget=Budget(max_values=3))])
    store.replace([pod(number, hash=number) for number in range(3)])
    store.put(pod(0, hash="new"))
    with store.transaction() as txn:
        txn.put(pod(1, hash="newer"))
        txn.put(pod(2, hash="newest"))
    assert (values_of(store, "hash"), store.dropped) == (3, ())
    with store.transaction() as txn:
        txn.put(pod(1, hash="a"))
        txn.put(pod(3, hash="b"))
    assert [drop.reason for drop in store.dropped] == ["4 values, max_values=3"]
    store._check()


@pytest.mark.parametrize("shared", [False, True])
def test_a_dropped_index_gives_its_memory_back_at_once(shared: bool) -> None:
    """After the drop nothing of the index is left, and others are as they were."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app"), LabelIndexer("hash", budget=Budget(max_bytes="64k"))])
    for number in range(3_000):
        store.put(pod(number, app=number % 3, hash=number // 2 if shared else number))
        if not store.dropped:
            assert bytes_of(store) < 64_000 + 20_000  # app's column, and one container
    assert [drop.index for drop in store.dropped] == ["hash"]
    assert bytes_of(store) < 20_000
    assert store.count(label_selector="app=1") == 1_000
    store._check()


def test_queries_on_a_dropped_index_scan_and_stay_right() -> None:
    """Selectors, terms, tally, order: all answer as before; the plan names the drop, and scan="error" lets it pass."""
    by_hash = LabelIndexer("hash", budget=Budget(max_values=2))
    by_node = FieldIndexer("spec.nodeName", budget=Budget(max_values=2))
    store: Store[Any] = Store(indexers=[by_hash, by_node, by_name], scan="error")
    objects = [pod(number, hash=number % 100) | {"spec": {"nodeName": f"n{number}"}} for number in range(300)]
    store.replace(objects)
    assert {drop.index for drop in store.dropped} == {"hash", "spec.nodeName", "name"}
    key = by_hash.key("hash")
    assert (
        store.count(label_selector="hash=7")
        == store.count(key.at("7"))
        == store.count(by_hash.satisfying("hash=7"))
        == 3
    )
    assert store.count(~key.among(["7", "8"])) == 294
    assert store.count(key.at("7") | by_node.at("n1")) == 4
    assert store.count(field_selector="spec.nodeName=n9") == store.count(by_node.at("n9")) == 1
    assert store.count(by_name.between("p00010", "p00012")) == store.count(by_name.starting_with("p0001")) - 7 == 3
    assert store.tally(key)["7"] == 3
    assert store.index_values(by_node)[:2] == ["n0", "n1"]
    assert [each.name for each in store.keys(order_by=by_name.descending(), limit=2)] == ["p00299", "p00298"]
    plan = store.explain(label_selector="hash=7")
    assert (plan.scans, [drop.index for drop in plan.dropped]) == (True, ["hash"])
    assert "dropped index 'hash' at revision 1: 100 values, max_values=2" in str(plan)
    with pytest.raises(ScanRefusedError, match="nope=1"):
        store.count(label_selector="hash=7,nope=1")


def test_a_drop_is_logged_once_counted_and_told(caplog: pytest.LogCaptureFixture) -> None:
    """One warning, one more in the counter, one call with the Drop, after the write's lock is free."""
    told: list[Drop] = []

    def on_budget(drop: Drop) -> None:
        assert not store._core.lock._is_owned()  # type: ignore[attr-defined]
        store.count(label_selector="hash=1")
        told.append(drop)

    store: Store[Any] = Store(
        name="pods", indexers=[LabelIndexer("hash", budget=Budget(max_values=1))], on_budget=on_budget
    )
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            store.put(pod(number, hash=number))
    assert [str(drop) for drop in told] == caplog.messages
    why = "2 values, max_values=1 (budget of indexer 'hash')"
    assert caplog.messages == [f"store 'pods' dropped index 'hash' at revision 2: {why}; its queries scan"]
    assert (store._core.drops, len(store)) == (1, 5)


def test_a_callback_that_fails_does_not_fail_the_write(caplog: pytest.LogCaptureFixture) -> None:
    """What on_budget raises is logged; the write is done."""

    def broken(_drop: Drop) -> None:
        raise RuntimeError("boom")

    store: Store[Any] = Store(indexers=[LabelIndexer("hash", budget=Budget(max_values=1))], on_budget=broken)
    store.replace([pod(0, hash=0), pod(1, hash=1)])
    assert (len(store), len(store.dropped)) == (2, 1)
    assert "boom" in caplog.text


def test_raise_changes_nothing() -> None:
    """With on_budget="raise", put, transaction, replace by diff, first list and late index fail whole."""
    store: Store[Any] = Store(indexers=[LabelIndexer("hash", budget=Budget(max_values=3))], on_budget="raise")
    with pytest.raises(BudgetExceededError, match="'hash' would break the budget of indexer 'hash': 4 values"):
        store.replace([pod(number, hash=number) for number in range(4)])
    assert (len(store), store.revision) == (0, 0)
    store.replace([pod(number, hash=number) for number in range(3)])
    with pytest.raises(BudgetExceededError):
        store.put(pod(3, hash=3))
    with pytest.raises(BudgetExceededError), store.transaction() as txn:
        txn.put(pod(3, hash=3))
    with pytest.raises(BudgetExceededError):
        store.replace([pod(number, hash=number) for number in range(4)])
    with pytest.raises(BudgetExceededError):
        store.add_indexers(FieldIndexer("metadata.name", budget=Budget(max_values=2)))
    assert (len(store), store.revision, store.dropped, values_of(store, "hash")) == (3, 1, (), 3)
    assert store.index_names == ("hash", "namespace")
    store._check()


def test_the_budget_of_an_indexer_drops_the_key_that_takes_most() -> None:
    """A common budget: the key with the most goes, the others stay, also when another key's write broke it."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app", "hash", budget=Budget(max_values=10))])
    for number in range(9):
        store.put(pod(number, hash=number))
    store.put(pod(10, app="a"))
    assert store.dropped == ()
    store.put(pod(11, app="b"))
    assert [drop.index for drop in store.dropped] == ["hash"]
    assert store.count(label_selector="app=b") == 1


def test_the_budget_of_a_store_is_for_all_its_indexes() -> None:
    """Whatever index takes most is dropped; the namespace index never is."""
    store: Store[Any] = Store(
        indexers=[LabelIndexer("app"), FieldIndexer("metadata.name")], budget=Budget(max_bytes="40k")
    )
    for number in range(2_000):
        store.put(pod(number, app=number % 3))
    assert [drop.index for drop in store.dropped] == ["metadata.name"]
    assert store.count(namespace="x", label_selector="app=1") == 667


def test_all_labels_under_a_budget_drop_keys_one_by_one() -> None:
    """LabelIndexer.all keeps what fits; a dropped key is not opened again, its objects stay right."""
    every = LabelIndexer.all(budget=Budget(max_bytes="60k"), deny=())
    store: Store[Any] = Store(indexers=[every])
    for number in range(2_000):
        store.put(pod(number, app=number % 3, tier=number % 7, hash=number))
        if number % 500 == 0:
            store._check()
    assert [drop.index for drop in store.dropped] == ["hash"]
    store.put(pod(5, app=1, hash="again"))
    store.delete(ObjectKey("x", "p00006"))
    store._check()
    assert (store.count(label_selector="hash=again,app=1"), store.count(label_selector="hash=6")) == (1, 0)
    assert store.tally(every.key("tier"))["3"] == 286
    assert sum(store.tally(every.key("hash")).values()) == 1_999


def test_a_first_list_that_breaks_a_budget_is_stored_without_the_index() -> None:
    """Replace finds it out before the swap: the list is there, the index is not, and each function ran."""
    store: Store[Any] = Store(indexers=[LabelIndexer("hash", budget=Budget(max_values=50)), LabelIndexer("app")])
    assert len(store.replace([pod(number, app=number % 2, hash=number) for number in range(51)])) == 51
    assert [drop.index for drop in store.dropped] == ["hash"]
    assert store.count(label_selector="app=1,hash=7") == 1
    store._check()


@pytest.mark.parametrize("every", [True, False])
def test_a_first_list_counts_values_before_it_builds(every: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """No index of more values than its budget is ever built, not even beside."""
    built: list[int] = []
    build = ColumnIndex.build

    def counting(filings: Any, *rest: Any) -> Any:
        built.append(len(set(filings) - {None}))
        return build(filings, *rest)

    monkeypatch.setattr(ColumnIndex, "build", counting)
    most = Budget(max_values=50)
    indexer = (
        LabelIndexer.all(budget=Budget(max_bytes="1G"), key_budget=most, deny=())
        if every
        else LabelIndexer("app", "hash", key_budget=most)
    )
    store: Store[Any] = Store(indexers=[indexer])
    store.replace([pod(number, app=number % 3, hash=number) for number in range(500)])
    assert [(drop.index, drop.reason) for drop in store.dropped] == [("hash", "500 values, max_values=50")]
    assert max(built) == 3
    assert store.count(label_selector="hash=7") == 1


def test_a_late_index_that_breaks_its_budget_is_dropped_at_once() -> None:
    """add_indexers succeeds; the index is dropped, told, and its queries scan."""
    store: Store[Any] = Store()
    store.replace([pod(number, hash=number) for number in range(20)])
    store.add_indexers(LabelIndexer("hash", budget=Budget(max_values=19)), by_name)
    assert {drop.index for drop in store.dropped} == {"hash", "name"}
    assert store.count(label_selector="hash=7") == 1
    store.remove_indexer("hash")
    assert [drop.index for drop in store.dropped] == ["name"]
    store._check()


def test_an_index_comes_back_by_hand() -> None:
    """Readmit builds it again when it keeps its budget; else it says why not, and changes nothing."""
    by_hash = LabelIndexer("hash", budget=Budget(max_values=10))
    store: Store[Any] = Store(indexers=[by_hash])
    store.replace([pod(number, hash=number) for number in range(11)])
    with pytest.raises(BudgetExceededError, match="11 values, max_values=10"):
        store.readmit("hash")
    store.delete(ObjectKey("x", "p00000"))
    assert len(store.dropped) == 1  # above readmit_below: only by hand
    store.readmit(by_hash.key("hash"))
    assert (store.dropped, values_of(store, "hash")) == ((), 10)
    assert not store.explain(label_selector="hash=7").scanned
    with pytest.raises(UnknownIndexError, match="among the dropped indexes"):
        store.readmit("hash")
    store._check()


@pytest.mark.parametrize("readmit_below", [0.7, 0])
def test_an_index_comes_back_by_itself_with_hysteresis(readmit_below: float) -> None:
    """At 70 % of its budget a dropped index is built again, after as many writes as there are objects; at 71 % not."""
    budget = Budget(max_values=100, readmit_below=readmit_below)
    store: Store[Any] = Store(indexers=[LabelIndexer("hash", budget=budget)])
    store.replace([pod(number, hash=number) for number in range(101)])
    for number in range(3_000):
        store.put(pod(number % 101, hash=number % 101 % 71))
    assert len(store.dropped) == 1
    for number in range(3_000):
        store.put(pod(number % 101, hash=number % 101 % 70))
    assert (store.dropped == ()) is bool(readmit_below)
    assert store.count(label_selector="hash=7") == 2
    store._check()


def test_a_key_of_all_labels_comes_back() -> None:
    """Also one of LabelIndexer.all, with the objects written meanwhile."""
    every = LabelIndexer.all(budget=Budget(max_values=20), deny=())
    store: Store[Any] = Store(indexers=[every])
    store.replace([pod(number, app=number % 3, hash=number) for number in range(30)])
    assert [drop.index for drop in store.dropped] == ["hash"]
    store.replace([pod(number, app=number % 3, hash=number % 4) for number in range(30)])
    store.put(pod(99, hash="last"))
    store.readmit("hash")
    store._check()
    assert store.tally(every.key("hash")) == {"0": 8, "1": 8, "2": 7, "3": 7, "last": 1}
    assert not store.explain(label_selector="hash=last").scanned


def test_an_index_that_failed_to_come_back_leaves_all_as_it_was() -> None:
    """An index function that raises during readmit fails it; the index stays dropped, the store works."""
    failing = False

    def values(obj: dict[str, Any]) -> str:
        if failing:
            raise RuntimeError("boom")
        return str(obj["metadata"]["name"])

    store: Store[Any] = Store(indexers=[Indexer("n", values, budget=Budget(max_values=2))])
    store.replace([pod(number) for number in range(3)])
    store.delete(ObjectKey("x", "p00000"))
    failing = True
    with pytest.raises(ValueError, match="boom"):
        store.readmit("n")
    assert len(store.dropped) == 1
    store.put(pod(7))  # the function of a dropped index is not run
    failing = False
    store.delete(ObjectKey("x", "p00001"))
    store.readmit("n")
    assert store.dropped == ()
    store._check()


def test_a_key_that_a_family_dropped_can_be_declared_by_itself() -> None:
    """It stays dropped, nothing is left half added, and its queries scan until it comes back."""
    every = LabelIndexer.all(budget=Budget(max_values=5), deny=())
    store: Store[Any] = Store(indexers=[every])
    store.replace([pod(number, hash=number) for number in range(6)])
    store.add_indexers(LabelIndexer("hash", "app"))
    store._check()
    assert ([drop.index for drop in store.dropped], store._core.generation.schema.hidden) == (["hash"], frozenset())
    assert (store.count(label_selector="hash=3"), store.count(label_selector="!app")) == (1, 6)


def test_an_index_that_fails_to_come_back_by_itself_fails_no_write(caplog: pytest.LogCaptureFixture) -> None:
    """The function of a dropped index may fail on what was stored meanwhile: that is logged, and the write is done."""

    def values(obj: dict[str, Any]) -> str:
        return str(obj["metadata"]["labels"]["hash"])

    store: Store[Any] = Store(indexers=[Indexer("n", values, budget=Budget(max_values=5))])
    store.replace([pod(number, hash=number) for number in range(6)])
    store.put(pod(7))  # has no such label; the function of a dropped index is not run
    for number in range(1_100):
        assert len(store.put(pod(number % 6, hash=0))) == 1
    assert len(store.dropped) == 1
    assert "'n' failed on x/p00007" in caplog.text
    store._check()


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 9), st.integers(0, 3)), max_size=60),
    st.integers(1, 8),
    st.booleans(),
)
def test_whatever_is_written_budgets_hold_and_answers_are_right(
    writes: list[tuple[int, int, int]], most: int, every: bool
) -> None:
    """After each write no index has more values than its budget, and each query answers as a scan does."""
    budget = Budget(max_values=most)
    indexer = (
        LabelIndexer.all(budget=Budget(max_bytes="1M"), key_budget=budget, deny=())
        if every
        else LabelIndexer("a", "b", key_budget=budget)
    )
    store: Store[Any] = Store(indexers=[indexer])
    model: dict[int, dict[str, str]] = {}
    for number, value, kind in writes:
        if kind == 0:
            store.delete(ObjectKey("x", f"p{number:05}"))
            model.pop(number, None)
        elif kind == 1:
            store.replace([pod(number, a=value), pod(number + 1, a=value + 1, b=1)])
            model = {number: {"a": str(value)}, number + 1: {"a": str(value + 1), "b": "1"}}
        else:
            store.put(pod(number, a=value, b=value % 4))
            model[number] = {"a": str(value), "b": str(value % 4)}
        store._check()
        for key in ("a", "b"):
            spot = store._core.generation.schema.find(indexer.key(key))
            assert spot is None or len(store._core.generation.index_at(spot)) <= most
            for wanted in ("0", "3"):
                scanned = sorted(f"p{n:05}" for n, labels in model.items() if labels.get(key) == wanted)
                assert sorted(each.name for each in store.keys(label_selector=f"{key}={wanted}")) == scanned


def test_memory_says_what_was_dropped_and_what_bounds_the_rest() -> None:
    """The report has each drop, in its table too, and of each index the budgets that it is under."""
    tier = LabelIndexer("tier", key_budget=Budget(max_values=9))
    node = FieldIndexer("spec.nodeName")
    low: Store[Any] = Store(name="pods", indexers=[LabelIndexer("app", budget=Budget(max_values=1)), tier, node])
    for number in range(2):
        low.put(pod(number, app=f"app-{number}", tier="x"))
    report = low.memory()
    assert report.dropped == low.dropped
    assert [drop.index for drop in report.dropped] == ["app"]
    assert str(report).endswith(f"dropped: {low.dropped[0]}")
    assert {index.name: index.budget for index in report.indexes} == {
        "namespace": None,
        "tier": "max_values=9 of each key of indexer 'tier'",
        "spec.nodeName": None,
    }
    every: Store[Any] = Store(indexers=[LabelIndexer.all(budget=Budget("1MiB")), node], budget=Budget("2MiB"))
    every.put(pod(1, app="web"))
    bounds = {index.name: index.budget for index in every.memory().indexes}
    assert bounds["app"] == bounds["*"] == "max_bytes=1,048,576 of indexer '*'; max_bytes=2,097,152 of the store"
    assert (bounds["spec.nodeName"], bounds["namespace"]) == ("max_bytes=2,097,152 of the store", None)
