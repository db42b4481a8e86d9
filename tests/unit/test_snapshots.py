"""Snapshots: whatever is written meanwhile, they answer what the store answered; what that costs; and how they end."""

from __future__ import annotations

import copy
import gc
import pickle
from contextlib import nullcontext, suppress
from itertools import count
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from kindex import (
    Budget,
    BudgetExceededError,
    FieldIndexer,
    Indexer,
    IndexerError,
    IndexFunctionError,
    KindexError,
    LabelIndexer,
    LabelSelector,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    Plan,
    QueryError,
    ScanRefusedError,
    ScanWarning,
    ScopeError,
    Snapshot,
    SnapshotClosedError,
    SortedIndexer,
    Store,
    UnknownIndexError,
)
from kindex.column_index import ColumnIndex
from kindex.generation import Generation
from kindex.map_index import MapIndex
from kindex.snapshots import Past
from kindex.watching import watch
from tests.locks import owned
from tests.pods import Pod, key, names_of, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kindex.views import View
    from kindex.watching import Answered

PLENTY = Budget(max_values=10_000)


def value_of(obj: Pod) -> Any:
    """Be an index function."""
    return obj.get("value")


def fault_of(obj: Pod) -> Any:
    """Be an index function that fails on some pods."""
    return {"good": 1}[obj["fault"]] if "fault" in obj else None


by_labels = LabelIndexer("app", "tier")
by_rollout = LabelIndexer("rollout", key_budget=Budget(max_values=4))
by_every = LabelIndexer.all(budget=PLENTY, deny=["app", "nowhere"], name="every")
by_selector = LabelIndexer.all(budget=PLENTY, key_budget=Budget(max_values=3), path="spec.selector")
by_node = FieldIndexer("spec.nodeName")
by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", lambda obj: obj.get("size"))
by_title: SortedIndexer[Pod, Any] = SortedIndexer("title", lambda obj: obj.get("title"), budget=Budget(max_values=12))
by_value: Indexer[Pod, Any] = Indexer("value", value_of)
by_fault: Indexer[Pod, Any] = Indexer("fault", fault_of, on_error="skip")
by_owner = OwnerIndexer()
by_late = LabelIndexer("late", "app", name="late")
by_late_title: SortedIndexer[Pod, Any] = SortedIndexer("late title", lambda obj: obj.get("title"))
by_late_notes = LabelIndexer.all(budget=PLENTY, path="metadata.annotations", name="notes")

INDEXERS: list[Any] = [
    by_labels, by_rollout, by_every, by_selector, by_node, by_size, by_title, by_value, by_fault
]  # fmt: skip
LATE: list[Any] = [by_late, by_late_title, by_late_notes, by_owner]


def full(name: str, namespace: str | None = "prod", *, selector: Pod | None = None, **parts: Any) -> Pod:
    """Make a pod with labels, a node, and values for the other indexers."""
    labels = {part: parts.pop(part) for part in ("app", "tier", "rollout", "late", "only") if part in parts}
    made = {**pod(name, namespace, node=parts.pop("node", None), **labels), **parts}
    if selector is not None:
        made.setdefault("spec", {})["selector"] = selector
    return made


def filled() -> Store[Pod]:
    """Make a store with every index in play, a few free slots, and objects of each kind."""
    store: Store[Pod] = Store(name="pods", indexers=INDEXERS)
    store.replace(
        [
            full("a", app="web", tier="gold", rollout="r1", node="n1", size=3, title="web-a", value="x"),
            full("b", app="web", tier="silver", rollout="r1", node="n2", size=[1, 5], title="web-b", value=["x", 1]),
            full("c", app="db", tier="gold", node="n1", size=1, title=["db", "db-c"], value=[True, 1], fault="good"),
            full("d", app="db", node="n3", selector={"app": "web", "zone": "z1"}, fault="bad"),
            full("e", app="api", rollout="r2", size=2, value=("x", 1), selector={"zone": "z2"}, fault="bad"),
            full("a", "test", app="web", tier="gold", only="here", node="n2", size=3, title="web-t", late="yes"),
            full("b", "test", app="cache", node="n4", value="y", fault="bad"),
            full("c", "test"),
            full("d", "test", tier="", title="", value=""),
            full("gone", "test", app="web", only="gone"),
            full("gone", "stage", app="web", size=9),
            full("e", "test", app="web", node="n1", size=4, title="web-e", selector={"zone": "z1"}),
        ],
        "7",
    )
    store.delete(key("gone", "test"))
    store.delete(key("gone", "stage"))
    store.bookmark("8", namespace="prod")
    return store


# What is asked


def with_all_arguments(ask: str, **extra: Any) -> Callable[[View[Pod]], Any]:
    """Ask with one argument of each kind."""

    def asked(view: View[Pod]) -> Any:
        terms = (by_size.between(1, 4), ~by_node.at("n3") | by_value.at("x"))
        return getattr(view, ask)(
            *terms,
            namespace=["prod", "test"],
            label_selector="app notin (cache),only!=gone",
            field_selector="metadata.name!=c",
            where=lambda obj: obj["metadata"]["name"] != "e",
            **extra,
        )

    return asked


QUERIES: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}),
    ((), {"namespace": "prod"}),
    ((), {"namespace": ["test", "stage", "none"]}),
    ((), {"namespace": []}),
    ((), {"label_selector": "app=web"}),
    ((), {"label_selector": {"app": "web"}, "namespace": "test"}),
    ((), {"label_selector": "app in (web,db),tier!=gold"}),
    ((), {"label_selector": "app,!tier"}),
    ((), {"label_selector": "tier notin (gold,silver)"}),
    ((), {"label_selector": "tier="}),
    ((), {"label_selector": "rollout in (r1,r2,r3,n7)"}),
    ((), {"label_selector": "only"}),
    ((), {"label_selector": "!only,late!=no"}),
    ((), {"label_selector": "nowhere=x"}),
    ((), {"label_selector": LabelSelector.from_object(None)}),
    ((), {"label_selector": "app in (web,db,other)", "field_selector": "spec.nodeName!=n1"}),
    ((), {"field_selector": "spec.nodeName=n1"}),
    ((), {"field_selector": "spec.nodeName="}),
    ((), {"field_selector": "spec.nodeName!=", "namespace": "test"}),
    ((), {"field_selector": "metadata.name=a"}),
    ((), {"field_selector": "metadata.name!=a"}),
    ((), {"field_selector": "metadata.namespace!=prod"}),
    ((), {"field_selector": "title=web-a"}),
    ((by_node.at("n1"),), {}),
    ((by_node.among(["n1", "n2", "n9"]),), {"label_selector": "app=web"}),
    ((~by_node.among(["n1", "n9"]),), {"label_selector": "app=web"}),
    ((by_node.at("n1") | by_size.between(4, None),), {}),
    ((~(by_node.at("n1") & by_labels.key("app").at("web")),), {"namespace": "prod"}),
    ((by_value.at("x"),), {}),
    ((by_value.at(1) | by_value.at(value=True) | by_value.at(("x", 1)),), {}),
    ((by_labels.key("tier").absent(),), {}),
    ((by_labels.satisfying("app=db"),), {}),
    ((by_selector.satisfying("zone in (z1,z9)"),), {}),
    ((~by_selector.key("zone").exists(),), {}),
    ((by_size.smallest(),), {}),
    ((by_size.largest(),), {}),
    ((~by_size.smallest(),), {"namespace": "test"}),
    ((by_size.smallest() | by_size.largest() | by_node.at("n4"),), {}),
    ((by_title.smallest(),), {}),
    ((by_title.starting_with("web-"),), {}),
    ((by_title.between("db", "web-b"),), {}),
    ((by_size.between(None, 2),), {}),
    ((by_fault.at(1),), {}),
    ((by_late.key("late").at("yes"),), {}),
    ((by_late_title.starting_with("web"),), {}),
    ((by_owner.orphans(),), {}),
]


def asking(ask: str, terms: tuple[Any, ...], query: dict[str, Any], **extra: Any) -> Callable[[View[Pod]], Any]:
    return lambda view: getattr(view, ask)(*terms, **query, **extra)


QUESTIONS: dict[str, Callable[[View[Pod]], Any]] = {
    "get": lambda view: view.get("a", namespace="prod"),
    "get by key": lambda view: view.get(key("e")),
    "get what is not there": lambda view: view.get("gone", namespace="test"),
    "get what comes later": lambda view: view.get("new", namespace="prod"),
    "get without a namespace": lambda view: view.get("a"),
    "get without a name": lambda view: view.get(""),
    "require": lambda view: view.require(key("b", "test")),
    "require what is not there": lambda view: view.require(key("new")),
    "get_many": lambda view: view.get_many([key(name, of) for name in ("a", "new", "gone") for of in ("prod", "test")]),
    "in": lambda view: [each in view for each in (key("a"), key("new"), key("gone", "test"), key("c", "test"))],
    "in, but no key": lambda view: "a" in view,
    "len": len,
    "bool": bool,
    "iteration": list,
    "revision": lambda view: view.revision,
    "name": lambda view: view.name,
    "index_names": lambda view: view.index_names,
    "resource_version": lambda view: (view.resource_version(), view.resource_version(namespace="prod")),
    "skipped": lambda view: view.skipped(),
    "an argument that makes no sense": lambda view: view.select(scan="perhaps"),  # type: ignore[arg-type]
    "what is no term": lambda view: view.count("app=web"),  # type: ignore[arg-type]
    "keys by key": lambda view: view.keys(order_by="key"),
    "keys by size": lambda view: view.keys(order_by=by_size),
    "select by size, descending": lambda view: view.select(order_by=by_size.descending(), limit=3),
    "select by title": lambda view: view.select(label_selector="app", order_by=by_title),
    "select some": lambda view: [view.select(limit=limit) for limit in (0, 1, 3, 100)],
    "keys of some": lambda view: [view.keys(label_selector="app=web", limit=limit) for limit in (0, 1, 2, 9)],
    "count of some": lambda view: view.count(where=lambda obj: "fault" in obj),
    "first": lambda view: view.first(),
    "first by size": lambda view: view.first(order_by=by_size.descending(), where=lambda obj: obj.get("size") != 5),
    "any": lambda view: [view.any(label_selector=text) for text in ("app=web", "app=none", "only=gone")],
    "select, scan refused": lambda view: view.select(label_selector="nowhere=x", scan="error"),
    **{
        f"{ask} with everything": with_all_arguments(ask, **extra)
        for ask, extra in {
            "select": {"order_by": "key", "limit": 4},
            "keys": {"order_by": by_size, "scan": "allow"},
            "first": {"order_by": by_title.descending()},
            "any": {},
            "count": {},
            "explain": {"limit": 2},
        }.items()
    },
    **{
        f"{ask} {', '.join(map(str, terms))} {query}": asking(ask, terms, query)
        for terms, query in QUERIES
        for ask in ("select", "keys", "count", "explain")
    },
    **{
        f"{ask} of {index.name}": asking(ask, (index,), {})
        for ask in ("index_values", "tally")
        for index in [
            NamespaceIndexer(), by_labels.key("app"), by_labels.key("tier"), by_rollout, by_every.key("only"),
            by_every, by_selector.key("zone"), by_node, by_size, by_title, by_value, by_fault, by_late.key("late"),
            by_late_title,
        ]
    },
}  # fmt: skip


def plain(answer: Any) -> Any:
    """Give what can be compared: pods by identity, 1 and True as two, a plan by its numbers."""
    if isinstance(answer, dict) and "metadata" in answer:
        return f"pod {answer['metadata']['name']} {id(answer)}"
    if isinstance(answer, list):
        return list(map(plain, answer))
    if isinstance(answer, dict):
        return [(repr(name), plain(each)) for name, each in answer.items()]
    if isinstance(answer, Plan):
        return answer.store, answer.objects, answer.returned, answer.scanned, answer.scans, answer.dropped
    return repr(answer)


def answers(view: View[Pod], asked: Iterable[str] = QUESTIONS) -> dict[str, Any]:
    """Ask everything, or what is named; a refusal is an answer, too."""
    found: dict[str, Any] = {}
    for name in asked:
        try:
            found[name] = plain(QUESTIONS[name](view))
        except KindexError as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


# What comes in between


def put_new(store: Store[Pod]) -> None:
    store.put(
        full("new", app="web", tier="gold", rollout="r1", only="new", node="n1", size=0, title="web-n", value="x")
    )


def put_another_kind(store: Store[Pod]) -> None:
    store.put(full("new", None, app="web", node="n1", value=[1, True], fault="bad"))


def put_over(store: Store[Pod]) -> None:
    store.put(full("a", app="db", tier="silver", node="n9", size=[7, 9], title="zzz", value=["y", 2], fault="bad"))
    store.put(full("a", "test"))


def put_the_same(store: Store[Pod]) -> None:
    for obj in store.select():
        store.put(obj)


def delete(store: Store[Pod]) -> None:
    for each in (key("b"), key("d"), key("a", "test"), key("nobody")):
        store.delete(each)


def reuse_slots(store: Store[Pod]) -> None:
    """Let other keys have the slots of deleted ones, and these come back elsewhere."""
    delete(store)
    for name in ("x", "y", "z"):
        store.put(full(name, app="web", node="n2", size=1, value=True, title="web-x"))
    store.put(full("b", app="web"))
    store.put(full("d", app="db", fault="good"))


def transact(store: Store[Pod]) -> None:
    with store.transaction() as txn:
        txn.put(full("a", "test", app="api", size=5))
        txn.delete(key("c"))
        txn.put(full("late", app="web", late="yes", rollout="r3"))
        txn.put(full("c", app="web", value=1))


def relist_by_diff(store: Store[Pod]) -> None:
    kept = [obj for obj in store.select() if obj["metadata"]["name"] != "e"]
    store.replace([*kept, full("new", app="web", size=8, title="web-r")], "20")


def relist_by_generation(store: Store[Pod]) -> None:
    store.replace(
        [full(name, app="web", node="n1", size=1, title="t", value="x", only="new") for name in "avwxyz"], "21"
    )


def relist_nothing_new(store: Store[Pod]) -> None:
    store.replace(store.select(), "22")


def relist_one_namespace(store: Store[Pod]) -> None:
    kept = store.select(where=lambda obj: in_test(obj) and obj["metadata"]["name"] in "bcd")
    store.replace([*kept, full("u", "test", app="web", size=2, fault="bad")], "23", namespace="test")


def relist_most_of_it(store: Store[Pod]) -> None:
    """Let one namespace have so many others that the whole state is built anew."""
    store.replace([full(f"m{n}", "test", app="web", only=f"{n}", size=n) for n in range(20)], "24", namespace="test")


def in_test(obj: Pod) -> bool:
    return bool(obj["metadata"].get("namespace") == "test")


def bookmark(store: Store[Pod]) -> None:
    store.bookmark("30")
    store.bookmark("31", namespace="prod")


def empty(store: Store[Pod]) -> None:
    """Delete all, one by one: the store swaps in an empty table."""
    for each in store.keys():  # noqa: SIM118 - no dict
        store.delete(each)


def grow(store: Store[Pod]) -> None:
    """Bring more slots than any index has room for."""
    with store.transaction() as txn:
        for number in range(80):
            txn.put(full(f"m{number}", app="other", size=number % 3))
    store.put(full("m", app="web", node="n1"))


def shrink(store: Store[Pod]) -> None:
    """Bring many and let them go, so that tables become sparse: a smaller one is swapped in."""
    grow(store)
    with store.transaction() as txn:
        for each in store.keys():  # noqa: SIM118 - no dict
            if each.name.startswith("m"):
                txn.delete(each)


def widen(store: Store[Pod]) -> None:
    """Bring more values than a narrow column of these tests can number."""
    with store.transaction() as txn:
        for number in range(8):
            txn.put(full(f"w{number}", app=f"w{number}", only=f"w{number}", selector={"app": f"w{number % 3}"}))


def narrow(store: Store[Pod]) -> None:
    """Let values come and go, so that their numbers are given anew."""
    for number in range(70):
        store.put(full("n", app=f"v{number}", only=f"v{number}", value=number, title="n", node=f"m{number}"))
    store.delete(key("n"))


def add_indexers(store: Store[Pod]) -> None:
    store.add_indexers(*LATE)
    store.put(full("late", app="web", late="yes", title="web-late"))


def remove_indexers(store: Store[Pod]) -> None:
    for name in store.index_names:
        if name != "namespace":
            store.remove_indexer(name)


def remove_and_add(store: Store[Pod]) -> None:
    """Remove some indexers, write meanwhile, and add them again."""
    some = [each for each in INDEXERS[::2] if each.name in store.index_names]
    for each in some:
        store.remove_indexer(each.name)
    put_new(store)
    store.put(full("e", app="web", node="n2", size=3, title="e"))
    store.add_indexers(*some)
    store.put(full("d", app="web", node="n2", title="d"))


def break_budgets(store: Store[Pod]) -> None:
    """Bring values that break the budgets of a key, of a key of all labels, and of a sorted index."""
    for number in range(14):
        store.put(full(f"b{number}", rollout=f"n{number}", selector={"zone": f"y{number}"}, title=f"b{number:02}"))


def readmit(store: Store[Pod]) -> None:
    """Take away what broke the budgets, and let the indexes come back."""
    for number in range(14):
        store.delete(key(f"b{number}"))
    for each in store.dropped:
        with suppress(BudgetExceededError):
            store.readmit(each.index)
    store.put(full("c", rollout="r2", selector={"zone": "z1"}, title="back"))


def fail_to_write(store: Store[Pod]) -> None:
    """Let writes fail: a commit that does not come about leaves nothing behind."""
    bad: Indexer[Pod, Any] = Indexer("bad", lambda obj: obj["nothing"])
    with pytest.raises(IndexFunctionError) if len(store) else nullcontext():
        store.add_indexers(bad)
    if "bad" in store.index_names:
        store.remove_indexer("bad")
    with pytest.raises(ScopeError):
        store.replace([full("x", "prod")], namespace="test")
    with suppress(ZeroDivisionError), store.transaction() as txn:
        txn.put(full("a"))
        raise ZeroDivisionError


DISTURBANCES = [
    put_new, put_another_kind, put_over, put_the_same, delete, reuse_slots, transact, relist_by_diff,
    relist_by_generation, relist_nothing_new, relist_one_namespace, relist_most_of_it, bookmark, empty, grow, shrink,
    widen, narrow, add_indexers, remove_indexers, remove_and_add, break_budgets, readmit, fail_to_write,
]  # fmt: skip


@pytest.mark.parametrize("first", DISTURBANCES)
def test_a_snapshot_answers_what_the_store_answered(
    first: Callable[[Store[Pod]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever comes after it, and whatever after that: each answer is the store's of that moment, and in its order.

    After each pair an eighth of the questions is asked; of each first one all of them, in the end.
    """
    for number, then in enumerate(DISTURBANCES, DISTURBANCES.index(first)):
        # Label indexes change their layout at once, or not.
        monkeypatch.setattr("kindex.column_index._WIDEST", 5 if number // 8 % 2 else 0xFFFF)
        some = list(QUESTIONS)[number % 8 :: 8]
        store = filled()
        before = answers(store, some)
        start, asked_late = store.snapshot(), store.snapshot()
        first(store)
        if number % 3:  # else it is asked after two disturbances at once
            assert answers(start, some) == before
        between = answers(store, some)
        middle = store.snapshot()
        then(store)
        for name, snapshot, expected in (("start", start, before), ("middle", middle, between)):
            assert answers(snapshot, some) == expected, f"{name}, {then.__name__}"
        assert answers(asked_late, some) == before
        store._check()


def test_the_test_above_disturbs_what_it_means_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: each disturbance does what it is for, and the store's own answers change."""

    def changed(act: Callable[[Store[Pod]], None]) -> set[str]:
        store = filled()
        before = answers(store)
        act(store)
        after = answers(store)
        return {name for name in before if before[name] != after[name]}

    assert changed(fail_to_write) == set()
    assert all(changed(act) for act in DISTURBANCES if act not in (fail_to_write, put_the_same))
    for act, swaps in (
        (relist_by_generation, True),
        (relist_by_diff, False),
        (relist_most_of_it, True),
        (relist_one_namespace, False),
        (empty, True),
        (shrink, True),
    ):
        store = filled()
        slots = store._core.generation.slots
        act(store)
        assert (store._core.generation.slots is not slots) is swaps, act
    store = filled()
    break_budgets(store)
    assert {drop.index for drop in store.dropped} == {"rollout", "spec.selector['zone']", "title"}
    readmit(store)
    assert store.dropped == ()
    store = filled()
    narrow(store)
    spot = store._core.generation.schema.spot_of(by_labels.key("app"))
    assert len(store._core.generation.index_at(spot).values) < 70  # type: ignore[union-attr]  # a column
    for widest, layout in ((0xFFFF, ColumnIndex), (5, MapIndex)):
        monkeypatch.setattr("kindex.column_index._WIDEST", widest)
        store = filled()
        widen(store)
        assert type(store._core.generation.index_at(spot)) is layout


def test_many_snapshots_of_many_moments() -> None:
    """Snapshots of every state on the way are open together; each answers a part of the questions now and then."""
    store, moments = filled(), list[tuple[Snapshot[Pod], dict[str, Any]]]()

    def check(number: int) -> None:
        snapshot, expected = moments[number]
        some = list(QUESTIONS)[(number + len(moments)) % 5 :: 5]
        assert answers(snapshot, some) == {name: expected[name] for name in some}, number

    for disturb in [*DISTURBANCES, *reversed(DISTURBANCES)]:
        moments.append((store.snapshot(), answers(store)))
        disturb(store)
        for number in range(len(moments) % 5, len(moments), 5):
            check(number)
    store._check()
    for number in range(len(moments)):
        check(number)
    assert len(store._core.pasts) <= len(moments)
    for snapshot, _ in moments:
        snapshot.close()
    assert store._core.pasts == []


# What a moment is


def test_a_bookmark_is_no_revision_but_another_moment() -> None:
    """A snapshot taken after a bookmark, or a relist of the same, tells what that said; an earlier one does not."""
    store = filled()
    first = store.snapshot()
    store.bookmark("30")
    second = store.snapshot()
    store.replace(store.select(), "31")
    third = store.snapshot()
    assert [each.resource_version() for each in (first, second, third)] == ["7", "30", "31"]
    assert {each.revision for each in (first, second, third)} == {store.revision}


def test_an_index_that_was_removed_since_knows_nothing_of_later_slots() -> None:
    """A query that goes from a living index to one that was removed or dropped meets slots beyond its end."""
    for remove in (lambda store: store.remove_indexer(by_node.name), add_indexers, break_budgets, widen):
        store = filled()
        for number in range(10):
            store.put(full(f"n{number}", node="n1", rollout="r1", title="t"))
        snapshot, expected = store.snapshot(), answers(store)
        remove(store)
        grow(store)
        assert answers(snapshot) == expected


def test_two_queries_of_one_snapshot_give_one_order() -> None:
    """The keys and the objects of one question go together, and the first of them stays it, whatever is written."""
    store = filled()
    snapshot = store.snapshot()
    keys, objects = snapshot.keys(label_selector="app"), snapshot.select(label_selector="app")
    for act in (put_over, reuse_slots, transact, delete, relist_by_generation):
        act(store)
        assert snapshot.keys(label_selector="app") == keys
        assert list(map(id, snapshot.select(label_selector="app"))) == list(map(id, objects))
        for limit in range(len(keys) + 2):
            assert snapshot.keys(label_selector="app", limit=limit) == keys[:limit]
        assert snapshot.first(label_selector="app") is objects[0]
    assert [key(obj["metadata"]["name"], obj["metadata"]["namespace"]) for obj in objects] == keys


def test_names_mean_what_they_meant() -> None:
    """Whether objects have namespaces is a part of the moment: what a bare name means is, too."""
    store: Store[Pod] = Store(name="nodes")
    empty_one = store.snapshot()
    store.put(pod("a", None))
    cluster = store.snapshot()
    store.delete(ObjectKey("", "a"))
    store.put(pod("a", "prod"))
    assert empty_one.get("a") is None
    assert empty_one.select(namespace="prod") == []
    assert cluster.require("a") == pod("a", None)
    with pytest.raises(ScopeError, match="the objects of store 'nodes' have no namespace"):
        cluster.select(namespace="prod")
    with pytest.raises(ScopeError):
        cluster.get("a", namespace="prod")
    with pytest.raises(ScopeError, match="the objects of store 'nodes' have namespaces"):
        store.snapshot().get("a")
    with pytest.raises(ScopeError):
        Store[Pod](scope="namespaced").snapshot().get(ObjectKey("", "a"))


@pytest.mark.parametrize(("widest", "values"), [(5, 12), (0xFFFF, 300)])
def test_more_values_than_a_column_can_number(widest: int, values: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is kept changes its layout, too, in an index of one key and in one of all: and is filed as it was."""
    monkeypatch.setattr("kindex.column_index._WIDEST", widest)
    store: Store[Pod] = Store(indexers=[by_labels, by_every])

    def write(app: str, only: str) -> None:
        with store.transaction() as txn:
            for number in range(values):
                txn.put(full(f"p{number}", app=app.format(number), only=only.format(number)))

    write("one", "one")
    column = store.snapshot()
    write("a{}", "o{}")
    snapshot = store.snapshot()
    write("all", "all")
    assert snapshot.tally(by_labels.key("app")) == {f"a{number}": 1 for number in sorted(range(values), key=str)}
    assert snapshot.index_values(by_every.key("only")) == sorted(f"o{number}" for number in range(values))
    assert snapshot.count(label_selector="app,only notin (o1,o2)") == values - 2
    assert column.tally(by_labels.key("app")) == column.tally(by_every.key("only")) == {"one": values}
    store._check()


def test_objects_that_were_edited_in_place_stay_where_they_were_filed() -> None:
    """What a slot was filed under is kept, not what the object would be filed under by now."""
    store = filled()
    snapshot = store.snapshot()
    edited = store.require("a", namespace="prod")
    edited["metadata"]["labels"]["app"] = "edited"
    store.put(full("a", app="new"))
    assert edited in snapshot.select(label_selector="app=web")
    assert not snapshot.any(label_selector="app=edited")
    assert snapshot.get("a", namespace="prod") is edited


@pytest.mark.parametrize("at", [0, 5, -1])
def test_a_snapshot_that_is_taken_while_indexers_are_built(at: int) -> None:
    """It does not know the new indexes, keeps to that, and keeps apart what is written meanwhile."""
    store = filled()
    during: list[tuple[Snapshot[Pod], dict[str, Any]]] = []
    calls, when = count(), at % len(store)

    def title_of(obj: Pod) -> Any:
        if next(calls) == when:
            during.append((store.snapshot(), answers(store)))
            put_over(store)
            store.delete(key("b"))
        return obj.get("title")

    hidden: SortedIndexer[Pod, Any] = SortedIndexer("hidden", title_of)
    moments = [(store.snapshot(), answers(store))]
    store.add_indexers(hidden, by_late, by_late_notes)
    moments += [*during, (store.snapshot(), answers(store))]
    assert store.index_values(hidden) == moments[2][0].index_values(hidden) == store.index_values(by_title)
    for act in (put_new, put_over, empty):
        act(store)
        for snapshot, expected in moments:
            assert answers(snapshot) == expected
    for snapshot, _ in moments[:2]:
        with pytest.raises(UnknownIndexError):
            snapshot.index_values(hidden)
    store._check()


def test_predicates_and_index_functions_may_write() -> None:
    """What a query calls without the lock may change the store, and ask and close the snapshot that calls it."""
    store = filled()
    snapshot, expected = store.snapshot(), answers(store)

    def write(obj: Pod) -> bool:
        store.put(full(obj["metadata"]["name"], obj["metadata"]["namespace"], app="written"))
        assert snapshot.count(label_selector="app=web") == 4
        return True

    assert len(snapshot.select(where=write)) == len(snapshot)
    assert store.count(label_selector="app=written") == len(store)
    assert answers(snapshot) == expected

    def close(_obj: Pod) -> bool:
        snapshot.close()
        return True

    assert len(snapshot.keys(label_selector="app=web", where=close)) == 4
    assert snapshot.closed


# What a plan says


def test_a_plan_says_what_was_kept() -> None:
    """Two steps more, where anything has changed: what did not, and what is brought back."""
    store = filled()
    snapshot = store.snapshot()
    live = str(store.explain(label_selector="app=web", namespace="prod"))
    assert str(snapshot.explain(label_selector="app=web", namespace="prod")) == live
    store.put(full("b", app="db"))
    store.put(full("new", app="web"))
    plan = snapshot.explain(label_selector="app=web,nowhere!=x", namespace="prod")
    assert str(plan) == (
        "2 of 10 objects in store 'pods'\n"
        "  1. take app=web  [index app]: at most 4, 4 left\n"
        "  2. take namespace = prod  [index namespace]: at most 6, 2 left\n"
        "  3. keep what did not change since revision 3  [index snapshot]: at most 2 fewer, 1 left\n"
        "  4. add what these were at revision 3  [index snapshot]: at most 1, 2 left\n"
        "  5. check nowhere!=x: 2 looked at, 2 left\n"
        "  no scan: a selector was evaluated on 2 objects"
    )
    assert [step.kind for step in plan.steps] == ["index", "index", "subtract", "add", "check"]


def test_scans_are_counted_refused_and_told_as_the_store_does() -> None:
    """A snapshot scans where the store would; it counts in the store, and follows the store's word, or the call's."""
    store: Store[Pod] = Store(name="pods", scan="error")
    for number in range(70):
        store.put(pod(f"p{number}", app="web"))
    snapshot = store.snapshot()
    store.put(pod("p1", app="db"))
    store.delete(key("p2"))
    with pytest.raises(ScanRefusedError) as refused:
        snapshot.select(label_selector="app=db")
    assert refused.value.scanned == 70
    assert store.scans == 1
    with pytest.warns(ScanWarning, match="app=db"):
        assert snapshot.count(label_selector="app=db", scan="warn") == 0
    assert snapshot.select(label_selector="app=db", scan="allow") == []
    assert store.scans == 3
    assert snapshot.explain(label_selector="app=db").scans


def test_who_watches_a_store_is_told_of_its_snapshots_queries() -> None:
    """An advisor learns from them as from the store's own."""

    class Listener:
        def __init__(self) -> None:
            self.heard: list[Answered] = []
            self.read_whole: list[tuple[str, str]] = []

        def begin(self) -> Callable[[Answered], None]:
            return self.heard.append

        def read(self, index: tuple[str, str]) -> None:
            self.read_whole.append(index)

    store, listener = filled(), Listener()
    snapshot = store.snapshot()
    put_over(store)
    remove_indexers(store)
    watch(store._core, listener)
    snapshot.select(label_selector="app=web")
    snapshot.count(label_selector="app=web")
    snapshot.keys(label_selector="nowhere=x", limit=3)
    snapshot.tally(by_node)
    assert [(each.returned, each.scanned) for each in listener.heard] == [(4, 0), (4, 0), (0, len(snapshot))]
    assert [use.of for use in listener.heard[0].uses] == [("metadata.labels", "app")]
    assert listener.read_whole == [("", "spec.nodeName")]


# How it ends


SLIPS = (
    "get without a name",
    "in, but no key",
    "an argument that makes no sense",
    "index_values of every",
    "tally of every",
)
"""They are refused before anything is looked at."""


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_closed_snapshot_says_so(question: str) -> None:
    """Each question to a closed snapshot is a SnapshotClosedError; its name can still be told."""
    store = filled()
    with store.snapshot() as snapshot:
        assert not snapshot.closed
    assert snapshot.closed
    if question == "name":
        assert QUESTIONS[question](snapshot) == "pods"
        return
    expected: Any = pytest.raises(SnapshotClosedError)
    if question in SLIPS:
        expected = pytest.raises((QueryError, IndexerError))
    with expected as closed:
        QUESTIONS[question](snapshot)
    if closed.type is SnapshotClosedError:
        assert (closed.value.store, str(closed.value)) == (
            "pods",
            "this snapshot of store 'pods' is closed; take another with snapshot()",
        )
        assert isinstance(closed.value, RuntimeError)
        assert isinstance(closed.value, KindexError)


def test_closing_is_done_again_at_will() -> None:
    """Closing twice, and leaving a block that was closed, also by an exception, is no error; others stay open."""
    store = filled()
    other = store.snapshot()
    snapshot = store.snapshot()
    snapshot.close()
    snapshot.close()
    with snapshot as again:
        assert again is snapshot
        assert again.closed
    with pytest.raises(ZeroDivisionError), store.snapshot() as failing:
        raise ZeroDivisionError
    assert failing.closed
    assert answers(other) == answers(store)


def test_a_snapshot_says_what_it_is() -> None:
    """Its text tells the store, the revision and the size, or that it is closed."""
    store = filled()
    snapshot = store.snapshot()
    empty(store)
    assert repr(snapshot) == "Snapshot('pods', revision 3, 10 objects)"
    snapshot.close()
    assert repr(snapshot) == "Snapshot('pods', closed)"


@pytest.mark.parametrize("attempt", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_snapshot_is_not_copied(attempt: Callable[[object], object]) -> None:
    """It shares the store's lock, so copying and pickling are refused, and say what to do; what they say works."""
    store = filled()
    for snapshot in (store.snapshot(), store.view().snapshot()):
        with pytest.raises(TypeError) as refused:
            attempt(snapshot)
        sentence = "a snapshot of store 'pods' cannot be pickled or copied; take its objects: to_list()"
        assert str(refused.value) == sentence
        put_over(store)
        assert copy.deepcopy(snapshot.to_list()) == snapshot.select(order_by="key")
        assert len(pickle.loads(pickle.dumps(snapshot.to_list()))) == 10  # noqa: S301 - made here


def test_a_snapshot_does_not_write() -> None:
    """A snapshot has the query methods of a store, and none that writes, follows or waits."""
    snapshot = filled().snapshot()
    for name in ("put", "delete", "replace", "transaction", "bookmark", "add_indexers", "follow", "snapshot"):
        assert not hasattr(snapshot, name)
    with pytest.raises(AttributeError):
        snapshot.extra = 1  # type: ignore[attr-defined]  # it has no room for it


# What it costs


class Kept(dict[str, Any]):
    """A pod whose end can be seen."""


def kept(name: str, **labels: str) -> Kept:
    return Kept(pod(name, **labels))


@pytest.fixture
def without_the_collector() -> Iterator[None]:
    """Let only what nobody refers to go: nothing here may wait for the collector."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def let_go(snapshots: list[Snapshot[Any]]) -> None:
    snapshots.clear()


def close(snapshots: list[Snapshot[Any]]) -> None:
    for snapshot in snapshots:
        snapshot.close()


@pytest.mark.usefixtures("without_the_collector")
@pytest.mark.parametrize("end", [close, let_go])
@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("times", [1, 3])
def test_what_is_kept_goes_with_the_snapshot(
    end: Callable[[list[Snapshot[Any]]], None], asked: bool, times: int
) -> None:
    """Old objects, and a state that was swapped out, live as long as the snapshots of them, and not a moment longer."""
    store: Store[Any] = Store(indexers=[by_labels, by_every])
    for name in "abc":
        store.put(kept(name, app="web"))
    old = [ref(obj) for obj in store]
    snapshots = [store.snapshot() for _ in range(times)]
    store.put(kept("a", app="db"))
    store.delete(key("b"))
    if asked:
        assert snapshots[0].count(label_selector="app=web") == 3
    store.replace([kept(name, app="new") for name in "xyz"])
    swapped = [ref(obj) for obj in store]
    store.replace([kept(name, app="newer") for name in "uvw"])
    assert [obj() for obj in swapped] == [None] * 3
    assert [names_of([obj()]) for obj in old] == [["a"], ["b"], ["c"]]  # type: ignore[list-item]  # it is there
    assert len(store._core.pasts) == 1
    end(snapshots)
    assert [obj() for obj in old] == [None] * 3
    assert store._core.pasts == []
    store._check()


def test_what_is_kept_is_counted() -> None:
    """The report on memory tells how many states are held, and what that takes, as long as they are."""
    store = filled()
    first, same = store.snapshot(), store.snapshot()
    sizes = [store.memory().snapshot_bytes]
    for act in (put_over, delete, remove_indexers, relist_by_generation):
        act(store)
        answers(same, QUESTIONS if act is delete else ())
        sizes.append(store.memory().snapshot_bytes)
    assert sizes == sorted(set(sizes))
    with store.snapshot():
        assert store.memory().snapshots == 2
    first.close()
    assert (store.memory().snapshots, store.memory().snapshot_bytes) == (1, sizes[-1])
    same.close()
    assert (store.memory().snapshots, store.memory().snapshot_bytes) == (0, 0)


@pytest.mark.usefixtures("without_the_collector")
def test_a_held_snapshot_keeps_its_own_state_only() -> None:
    """Twenty relists while one is open: the nineteen states in between are gone."""
    store: Store[Any] = Store(indexers=[by_labels])
    store.replace([kept(name, app="0") for name in "abc"])
    with store.snapshot() as snapshot:
        seen: list[ref[Any]] = []
        for number in range(1, 21):
            store.replace([kept(f"{name}{number}", app=f"{number}") for name in "abc"])
            seen += [ref(obj) for obj in store]
        assert sum(obj() is not None for obj in seen) == 3
        assert names_of(snapshot.select(label_selector="app=0")) == ["a", "b", "c"]
    assert store._core.pasts == []


@pytest.mark.usefixtures("without_the_collector")
def test_no_answer_keeps_a_snapshot() -> None:
    """What a question leaves behind, also one that is refused, does not refer to the state that was asked."""
    store = filled()
    grow(store)  # a scan of few is never refused
    kept_by: list[str] = []
    for question in QUESTIONS:
        with store.snapshot() as snapshot:
            put_over(store)
            answers(snapshot, [question])
        if store._core.pasts:
            kept_by.append(question)
            store._core.pasts.clear()
    assert kept_by == []


@pytest.mark.usefixtures("without_the_collector")
def test_a_snapshot_outlives_its_store() -> None:
    """It keeps what it reads, as long as it is there, also when nobody else knows the store."""
    store: Store[Any] = Store(indexers=[by_labels])
    store.put(kept("a", app="web"))
    core, obj, snapshot = ref(store._core), ref(store.select()[0]), store.snapshot()
    store.put(kept("a", app="db"))
    del store
    assert snapshot.select(label_selector="app=web") == [obj()]
    del snapshot
    assert (core(), obj()) == (None, None)


def test_snapshots_of_one_revision_share_what_they_keep() -> None:
    """Two of one revision have one past, so a commit pays once; of another revision, each has its own."""
    store = filled()
    first, second = store.snapshot(), store.view().snapshot()
    assert len(store._core.pasts) == 1
    put_new(store)
    third, fourth = store.snapshot(), store.snapshot()
    assert len(store._core.pasts) == 2
    store.add_indexers(by_owner)  # the same revision, but other indexes
    fifth = store.snapshot()
    assert len(store._core.pasts) == 3
    first.close()
    assert len(store._core.pasts) == 3
    assert len(second) == len(third) - 1 == len(fourth) - 1 == len(fifth) - 1
    for snapshot in (second, third, fourth, fifth):
        snapshot.close()
    assert store._core.pasts == []


def test_taking_one_copies_nothing() -> None:
    """It shares the present state as it is; nothing is kept before the first write, and nothing for reads."""
    store = filled()
    snapshot = store.snapshot()
    past = snapshot._core.generation
    assert past.base is store._core.generation
    answers(snapshot)
    assert (len(past.touched), past.images, past.restored) == (0, {}, None)
    store.bookmark("99")
    store.replace(store.select())
    assert (len(past.touched), past.images, past.restored) == (0, {}, None)
    store.put(full("new", app="web"))  # in a slot that is free: there is nothing to keep
    assert (len(past.touched), past.images, past.restored) == (1, {}, None)


def test_a_commit_keeps_a_slot_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commit that touches an object pays for it; a hundred more writes of it do not."""
    store = filled()
    snapshot = store.snapshot()
    read: list[int] = []
    filings = Generation.filings

    def counted(self: Generation[Any], slot: int) -> list[Any]:
        read.append(slot)
        return filings(self, slot)

    monkeypatch.setattr(Generation, "filings", counted)
    for number in range(100):
        store.put(full("a", app=f"v{number % 7}", size=number))
        if number % 10 == 3:
            assert snapshot.count(label_selector="app=web") == 4
    assert read == [0]
    store.delete(key("a"))
    store.put(full("x"))
    assert read == [0]
    store.put(full("b"))
    assert read == [0, 1]
    past = snapshot._core.generation
    assert (len(past.images), len(snapshot), len(past.images)) == (1, 10, 1)  # to count them all takes no index
    assert snapshot.count(label_selector="app=web") == 4
    assert (len(past.images), len(past.restored or ())) == (0, 2)


def test_a_store_without_open_snapshots_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the last one is closed, commits pay nothing for it."""
    store = filled()
    store.snapshot().close()
    monkeypatch.setattr(Past, "remember", None)
    for act in DISTURBANCES:
        act(store)
    assert store._core.pasts == []


def test_what_is_kept_is_indexed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many images are not indexed under one hold of the lock, so that writers pass in between."""
    store: Store[Pod] = Store(indexers=[by_labels])
    store.replace([pod(f"p{number}", app="web") for number in range(300)])
    first, second = store.snapshot(), store.snapshot()
    with store.transaction() as txn:
        for number in range(250):
            txn.delete(key(f"p{number}"))
    done: list[int] = []
    index = Past.index

    def counted(self: Past[Any], most: int | None = None) -> None:
        before = len(self.images)
        index(self, most)
        done.append(before - len(self.images))

    monkeypatch.setattr(Past, "index", counted)
    assert first.count(label_selector="app=web") == 300
    assert sum(done) == 250
    assert max(done) <= 64
    assert second.count(label_selector="app=web") == 300
    assert sum(done) == 250
    store._check()


def test_no_index_function_runs_for_what_is_kept() -> None:
    """An image is filed as it was filed: neither keeping nor indexing it calls anybody's function."""
    calls: list[str] = []

    def counted(obj: Pod) -> Any:
        calls.append(obj["metadata"]["name"])
        return obj.get("value")

    counting: Indexer[Pod, Any] = Indexer("counting", counted)
    in_order: SortedIndexer[Pod, Any] = SortedIndexer("in order", counted)
    store: Store[Pod] = Store(indexers=[counting, in_order])
    for name in "abc":
        store.put(full(name, value=name))
    snapshot = store.snapshot()
    store.put(full("a", value="z"))
    store.delete(key("b"))
    before = len(calls)
    assert [each.name for each in snapshot.keys(in_order.between("a", "b"), order_by=in_order)] == ["a", "b"]
    assert snapshot.tally(counting) == {"a": 1, "b": 1, "c": 1}
    assert names_of(snapshot.select(in_order.largest())) == ["c"]
    assert len(calls) == before


class Mute:
    """An object that does not let itself be looked at any more."""

    silent = False

    def __init__(self, name: str, app: str) -> None:
        self.name, self.app = name, app

    @property
    def metadata(self) -> Pod:
        assert not self.silent, "an object was looked at"
        return {"name": self.name, "namespace": "prod", "labels": {"app": self.app}}


def test_counts_look_at_no_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """What indexes answer is answered by what is filed, on what changed as on what did not."""
    store: Store[Any] = Store(key=lambda obj: key(obj.name), indexers=[by_labels])
    for number in range(9):
        store.put(Mute(f"p{number}", f"a{number % 3}"))
    snapshot = store.snapshot()
    for number in range(4):
        store.put(Mute(f"p{number}", "new"))
    store.delete(key("p5"))
    monkeypatch.setattr(Mute, "silent", True)
    assert [snapshot.count(label_selector=f"app=a{number}") for number in range(4)] == [3, 3, 3, 0]
    assert snapshot.count(label_selector="app!=a1", namespace="prod") == 6
    assert (snapshot.count(), len(snapshot), snapshot.any(), key("p5") in snapshot) == (9, 9, True, True)
    assert snapshot.tally(by_labels.key("app")) == {"a0": 3, "a1": 3, "a2": 3}
    assert snapshot.index_values(by_labels.key("app")) == ["a0", "a1", "a2"]
    assert len(snapshot.keys(label_selector="app in (a0,a1)")) == 6
    assert len(snapshot.select(field_selector="metadata.name=p5")) == 1


class Guarded:
    """An index function whose hash, ``==`` and text are user code, and say when they run under the lock."""

    def __init__(self) -> None:
        self.stores: list[Store[Any]] = []
        self.asked = 0

    def free(self) -> None:
        self.asked += 1
        assert not any(map(owned, self.stores)), "user code runs under the lock"

    def __call__(self, obj: Pod) -> Any:
        self.free()
        return obj.get("value")

    def __eq__(self, other: object) -> bool:
        self.free()
        return self is other

    def __hash__(self) -> int:
        self.free()
        return 7

    def __repr__(self) -> str:
        self.free()
        return "Guarded()"


def test_no_user_code_runs_under_the_lock() -> None:
    """Index functions are neither called nor hashed nor compared there when a snapshot is taken, kept for and asked."""
    guard = Guarded()
    guarded: Indexer[Pod, Any] = Indexer("guarded", guard)
    in_order: SortedIndexer[Pod, Any] = SortedIndexer("in order", guard)
    lenient: Indexer[Pod, Any] = Indexer("lenient", guard, on_error="skip")
    store: Store[Pod] = Store(indexers=[guarded, in_order, lenient, by_labels])
    guard.stores.append(store)
    for name in "abc":
        store.put(full(name, app="web", value=name))
    acts: list[Callable[[], object]] = [
        lambda: store.put(full("a", app="db", value="z")),
        lambda: store.delete(key("b")),
        lambda: store.add_indexers(by_late),
        lambda: store.put(full("c", value=["x", "y"])),
        lambda: store.remove_indexer("lenient"),
        lambda: store.put(full("c", value="v")),
        lambda: store.replace([full(name, value=name) for name in "xyz"]),
    ]
    for act in acts:
        snapshot = store.snapshot()
        act()
        snapshot.select(guarded.among(["a", "b"]), in_order.smallest() | guarded.at("c"))
        snapshot.keys(label_selector="app=web", order_by=in_order.descending())
        snapshot.count(~guarded.at("a"))
        snapshot.explain(in_order.between("a", None))
        snapshot.tally(guarded)
        snapshot.index_values(in_order)
        snapshot.skipped()
        snapshot.close()
    assert guard.asked > 100
    with pytest.raises(AssertionError), store._core.lock:
        guard.free()  # the control


@pytest.mark.parametrize("validates", [True, False])
def test_it_is_the_same_with_and_without_validation(validates: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether invariants are asserted after each commit changes neither answers nor what is kept."""
    monkeypatch.setattr("kindex.core._VALIDATE", validates)
    store = filled()
    snapshot, expected = store.snapshot(), answers(store)
    for act in (put_over, reuse_slots, transact):
        act(store)
    past = snapshot._core.generation
    assert len(past.images) == 5
    assert set(past.images) < set(past.touched)
    assert answers(snapshot) == expected
    store._check()


def test_a_check_finds_a_past_that_is_wrong() -> None:
    """The store's own check looks at what snapshots hold: an object that is lost, or there twice, is found."""
    for harm in ("touched", "restored"):
        store = filled()
        snapshot = store.snapshot()
        put_over(store)
        assert len(snapshot.select()) == 10
        past = snapshot._core.generation
        if harm == "touched":
            past.touched.add(4)
        else:
            past.touched.discard(0)
        with pytest.raises(AssertionError):
            store._check()
