"""replace: equal to a list in one commit, by a diff or by a fresh generation, whatever happens meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import (
    Added,
    Deleted,
    FieldIndexer,
    Indexer,
    IndexFunctionError,
    LabelIndexer,
    ObjectKey,
    QueryError,
    ScopeError,
    Store,
    Updated,
)
from tests.pods import Pod, key, names_of, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

by_labels = LabelIndexer("app")
by_node = FieldIndexer("spec.nodeName")


def filled(count: int = 10, **options: Any) -> Store[Pod]:
    """Make a store of pods p0, p1 ... with UIDs and versions."""
    options.setdefault("indexers", [by_labels, by_node])
    store: Store[Pod] = Store(name="pods", **options)
    store.replace([versioned(pod(f"p{number}", app="web"), f"u{number}") for number in range(count)], "1")
    return store


def kinds(deltas: Iterable[Any]) -> list[tuple[str, str]]:
    """Give the type and the name of each delta, sorted."""
    return sorted((type(delta).__name__, delta.key.name) for delta in deltas)


@pytest.mark.parametrize("kept", [9, 1])
def test_a_relist_says_what_changed(kept: int) -> None:
    """New, changed and gone, by the diff and by the fresh generation alike; what did not change gives no delta."""
    store = filled()
    old = {found: store.get(found) for found in store.keys()}  # noqa: SIM118 - no dict
    wanted = [versioned(pod(f"p{number}", app="web"), f"u{number}") for number in range(kept)]
    wanted[0] = versioned(pod("p0", app="db"), "u0", "2")
    new = versioned(pod("new"), "u")
    deltas = store.replace([*wanted, new], "7")
    assert set(map(repr, deltas)) == set(
        map(
            repr,
            [
                Updated(key("p0"), old[key("p0")], wanted[0], revision=2),
                Added(key("new"), new, revision=2),
                *(
                    Deleted(key(f"p{n}"), old[key(f"p{n}")], final_state_known=False, revision=2)
                    for n in range(kept, 10)
                ),
            ],
        )
    )
    assert (store.revision, store.resource_version(), len(store)) == (2, "7", kept + 1)
    assert store.get(key("p0")) is wanted[0]
    assert names_of(store.select(label_selector="app=db")) == ["p0"]
    store._check()


def test_a_relist_that_equals_the_store_commits_nothing() -> None:
    """Same keys, UIDs and versions: no delta, no revision, the stored objects stay; the version is taken over."""
    store = filled()
    before = store.get(key("p3"))
    same = [versioned(pod(f"p{number}", app="ignored"), f"u{number}") for number in range(10)]
    assert store.replace(same, "2") == ()
    assert (store.revision, store.resource_version()) == (1, "2")
    assert store.get(key("p3")) is before


def test_objects_without_uid_or_version_are_compared_by_value() -> None:
    """Plain objects that are equal are the same; any difference is an update."""
    store: Store[Pod] = Store()
    store.replace([pod("a", app="x"), pod("b", app="x"), versioned(pod("c"), "", "")])
    assert store.replace([pod("a", app="x"), pod("b", app="x"), versioned(pod("c"), "", "")]) == ()
    assert kinds(store.replace([pod("a", app="x"), pod("b", app="y"), versioned(pod("c"), "u", "")])) == [
        ("Updated", "b"),
        ("Updated", "c"),
    ]
    assert store.revision == 2


def test_a_version_that_differs_is_an_update_whichever_is_larger() -> None:
    """After a restore of the server versions go back; a relist is the truth."""
    store = filled(1)
    assert kinds(store.replace([versioned(pod("p0"), "u0", "0")])) == [("Updated", "p0")]


@pytest.mark.parametrize("others", [0, 9])
def test_a_uid_that_changed_is_two_deltas(others: int) -> None:
    """The old object is a tombstone, the new one is added."""
    store = filled(others + 1)
    old = store.get(key("p0"))
    new = versioned(pod("p0"), "another")
    rest = [versioned(pod(f"p{number}", app="web"), f"u{number}") for number in range(1, others + 1)]
    assert store.replace([new, *rest]) == (
        Deleted(key("p0"), old, final_state_known=False, revision=2),
        Added(key("p0"), new, revision=2),
    )
    store._check()


def test_of_two_objects_with_one_key_the_last_counts() -> None:
    """As in a map; an earlier one leaves no trace in any index."""
    store: Store[Pod] = Store(indexers=[by_labels])
    first, last = pod("a", app="first"), pod("a", app="last")
    assert store.replace([first, pod("b"), last]) == (Added(key("a"), last, 1), Added(key("b"), pod("b"), 1))
    assert store.index_values(by_labels) == ["last"]
    store._check()


def test_a_replace_takes_any_iterable_once() -> None:
    """A generator, a tuple or a view of a map are all lists of objects."""
    for objects in ((pod(name) for name in "ab"), (pod("a"), pod("b")), {1: pod("a"), 2: pod("b")}.values()):
        store: Store[Pod] = Store()
        store.replace(objects)
        assert names_of(list(store)) == ["a", "b"]


def test_an_iterable_that_fails_changes_nothing() -> None:
    """A list that breaks off is no list: its first half must not delete the rest."""

    def broken() -> Iterable[Pod]:
        yield pod("p0")
        raise ConnectionError("lost")

    store = filled()
    with pytest.raises(ConnectionError):
        store.replace(broken(), "2")
    assert (len(store), store.revision, store.resource_version(), store._core.journals) == (10, 1, "1", [])


def failing_on(name: str) -> Callable[[Pod], str]:
    """Make an index function that fails on one pod."""

    def function(obj: Pod) -> str:
        if obj["metadata"]["name"] == name:
            raise KeyError(name)
        return "v"

    return function


@pytest.mark.parametrize("present", [0, 1_000])
def test_one_bad_object_of_a_thousand_changes_nothing(present: int) -> None:
    """An index function that fails in the middle leaves objects, indexes, versions and revision as they were."""
    store: Store[Pod] = Store(indexers=[by_labels, Indexer("bad", failing_on("p500")), by_node])
    store.replace([pod(f"p{number}", app="old") for number in range(present) if number != 500], "1")
    before = store.revision, store.resource_version(), store.tally(by_labels), set(map(id, store))
    with pytest.raises(IndexFunctionError, match="index 'bad' failed on prod/p500: KeyError: 'p500'"):
        store.replace([pod(f"p{number}", app="new") for number in range(1_000)], "2")
    assert (store.revision, store.resource_version(), store.tally(by_labels), set(map(id, store))) == before
    assert store._core.journals == []
    store._check()


@pytest.mark.parametrize("present", [0, 1_000])
def test_one_bad_object_of_a_thousand_may_be_skipped(present: int) -> None:
    """With on_error="skip" all are stored, 999 are filed, and one is counted."""
    bad: Indexer[Pod, str] = Indexer("bad", failing_on("p500"), on_error="skip")
    store: Store[Pod] = Store(indexers=[by_labels, bad, by_node])
    store.replace([pod(f"p{number}", app="old") for number in range(present)], "1")
    store.replace([pod(f"p{number}", app="new") for number in range(1_000)], "2")
    assert (len(store), store.count(bad.at("v")), store.skipped()) == (1_000, 999, {"bad": 1})
    assert store.count(label_selector="app=new") == 1_000
    store._check()


def test_each_index_function_runs_once_for_each_object() -> None:
    """Into an empty store for all; in a diff for what is new or changed only."""
    calls: list[str] = []

    def name_of(obj: Pod) -> str:
        calls.append(obj["metadata"]["name"])
        return calls[-1]

    store = filled(0, indexers=[Indexer("name", name_of)])
    wanted = [versioned(pod(f"p{number}"), f"u{number}") for number in range(10)]
    store.replace(wanted)
    assert sorted(calls) == sorted(f"p{number}" for number in range(10))
    calls.clear()
    store.replace([*wanted[:8], versioned(pod("p8"), "u8", "2"), versioned(pod("new"), "u")])
    assert sorted(calls) == ["new", "p8"]


# One namespace


def test_a_namespace_is_replaced_alone() -> None:
    """Objects of other namespaces stay, by identity; versions are kept for each."""
    store: Store[Pod] = Store(indexers=[by_labels])
    store.replace([pod("a", "one", app="x"), pod("b", "one"), pod("a", "two", app="x"), pod("c", "three")], "1")
    other = store.get(key("a", "two"))
    for wanted in ([pod("a", "one", app="y")], [pod(f"n{number}", "one") for number in range(20)], []):
        deltas = store.replace(wanted, "9", namespace="one")
        assert {delta.key.namespace for delta in deltas} == {"one"}
        assert names_of(store.select(namespace="one")) == sorted(each["metadata"]["name"] for each in wanted)
        assert store.get(key("a", "two")) is other
        assert names_of(store.select(label_selector="app=x")) == ["a"]
        store._check()
    assert (store.resource_version(), store.resource_version(namespace="one")) == ("1", "9")
    assert len(store) == 2


def test_an_object_of_another_namespace_is_refused() -> None:
    """It would not be found again by the next replace of this namespace; nothing changes."""
    store = filled()
    with pytest.raises(ScopeError) as refused:
        store.replace([pod("x", "prod"), pod("y", "test")], "2", namespace="prod")
    assert str(refused.value) == "replace(namespace='prod') of store 'pods' was given test/y; nothing was changed"
    assert (len(store), store.revision) == (10, 1)
    for wrong in ("", 7, ["prod"]):
        with pytest.raises(QueryError) as unclear:
            store.replace([], namespace=wrong)  # type: ignore[arg-type]
        assert str(unclear.value) == f"namespace={wrong!r} is no namespace; to replace everything, leave it out"


# Meanwhile


class Meanwhile:
    """An iterable of objects and an index function, which do something at one moment."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.acts = [act]

    def __call__(self, _obj: Pod) -> str:
        while self.acts:
            self.acts.pop()()
        return "v"


@pytest.mark.parametrize("wanted", [9, 1, 30])
def test_writes_meanwhile_come_before_the_replace(wanted: int) -> None:
    """A replace is relative to the state at its commit: what came meanwhile is replaced as well, and said so."""
    meanwhile = Meanwhile(lambda: None)
    store = filled(indexers=[by_labels, Indexer("late", meanwhile)])
    added, changed = versioned(pod("added", app="db"), "ua"), versioned(pod("p0", app="db"), "u0", "5")

    def write() -> None:
        store.put(added)
        store.put(changed)
        store.delete(key("p1"))

    meanwhile.acts = [write]
    objects = [versioned(pod(f"p{number}", app="new"), f"u{number}", "9") for number in range(wanted)]
    deltas = store.replace(objects, "2")
    store._check()
    assert {found: store.get(found) for found in store.keys()} == {key(f"p{n}"): objects[n] for n in range(wanted)}  # noqa: SIM118
    assert store.index_values(by_labels) == ["new"]
    assert Deleted(key("added"), added, final_state_known=False, revision=5) in deltas
    assert Updated(key("p0"), changed, objects[0], revision=5) in deltas
    if wanted > 1:
        assert Added(key("p1"), objects[1], revision=5) in deltas
    assert store.revision == 5


def test_writes_elsewhere_meanwhile_are_kept() -> None:
    """While one namespace is replaced, others go on, whichever way the replace is done."""
    for wanted in (3, 40):
        meanwhile = Meanwhile(lambda: None)
        store: Store[Pod] = Store(indexers=[by_labels, Indexer("late", meanwhile)])
        store.replace([pod(f"p{number}", "one") for number in range(4)] + [pod("q", "two"), pod("r", "two")])

        def write(store: Store[Pod] = store) -> None:
            store.put(pod("q", "two", app="changed"))
            store.delete(key("r", "two"))
            store.put(pod("s", "two", app="new"))

        meanwhile.acts = [write]
        store.replace([pod(f"p{number}", "one", app="mine") for number in range(wanted)], namespace="one")
        store._check()
        assert names_of(store.select(namespace="two")) == ["q", "s"]
        assert names_of(store.select(label_selector="app in (changed,new)")) == ["q", "s"]
        assert store.count(namespace="one", label_selector="app=mine") == wanted


def test_a_replace_meanwhile_comes_before_the_replace() -> None:
    """Of two at once the one that commits last is what the store equals."""
    meanwhile = Meanwhile(lambda: None)
    store = filled(indexers=[Indexer("late", meanwhile), by_labels])
    meanwhile.acts = [lambda: store.replace([pod(f"inner{number}") for number in range(40)], "5")]
    store.replace([pod(f"outer{number}", app="x") for number in range(40)], "6")
    store._check()
    assert names_of(list(store)) == sorted(f"outer{number}" for number in range(40))
    assert (store.resource_version(), store.count(label_selector="app=x"), store.revision) == ("6", 40, 3)


def test_an_indexer_that_comes_meanwhile_is_complete() -> None:
    """Objects of the replace are filed under it as well."""
    for wanted in (9, 40):
        meanwhile = Meanwhile(lambda: None)
        store = filled(indexers=[Indexer("late", meanwhile)])
        meanwhile.acts = [lambda store=store: store.add_indexers(by_labels)]
        store.replace([versioned(pod(f"p{number}", app="new"), f"u{number}", "2") for number in range(wanted)])
        store._check()
        assert store.tally(by_labels) == {"new": wanted}


def test_a_replace_that_has_become_equal_commits_nothing() -> None:
    """When others bring about meanwhile what was wanted, there is nothing to commit."""
    meanwhile = Meanwhile(lambda: None)
    store: Store[Pod] = Store(indexers=[Indexer("late", meanwhile)])
    wanted = [versioned(pod(f"p{number}"), f"u{number}") for number in range(3)]
    meanwhile.acts = [lambda: [store.put(obj) for obj in wanted]]
    assert store.replace(wanted, "5") == ()
    assert (store.revision, store.resource_version(), len(store)) == (3, "5", 3)
    store._check()


# Whatever comes


@given(
    present=st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("xyz")),
    wanted=st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("xyz")),
)
def test_a_replace_is_a_diff(present: dict[str, str], wanted: dict[str, str]) -> None:
    """From any list to any other: the store equals the list, and the deltas are exactly the difference."""
    store: Store[Pod] = Store(indexers=[by_labels])
    store.replace([pod(name, app=app) for name, app in present.items()])
    revision = store.revision
    deltas = store.replace([pod(name, app=app) for name, app in wanted.items()])
    store._check()
    assert {found.name: store.require(found)["metadata"]["labels"]["app"] for found in store.keys()} == wanted  # noqa: SIM118
    changed = {name for name in present.keys() & wanted.keys() if present[name] != wanted[name]}
    expected = [("Added", name) for name in wanted.keys() - present.keys()]
    expected += [("Updated", name) for name in changed]
    expected += [("Deleted", name) for name in present.keys() - wanted.keys()]
    assert kinds(deltas) == sorted(expected)
    assert store.revision == revision + bool(expected)
    for app in "xyz":
        assert names_of(store.select(label_selector=f"app={app}")) == sorted(n for n, a in wanted.items() if a == app)


def test_slots_of_what_is_kept_stay_in_a_diff() -> None:
    """Kept objects keep their slots, and new ones take free slots: indexes of what did not change are not touched."""
    store = filled()
    before = dict(store._core.generation.slots.slot_of)
    kept = [versioned(pod(f"p{number}", app="web"), f"u{number}") for number in range(1, 10)]
    store.replace([*kept, versioned(pod("new"), "u")])
    after = store._core.generation.slots.slot_of
    assert {found: slot for found, slot in after.items() if found in before} == {
        found: slot for found, slot in before.items() if found != key("p0")
    }


def test_a_first_list_is_in_the_order_of_keys() -> None:
    """Into an empty store a namespace is a run of slots, whatever the order of the list."""
    store: Store[Pod] = Store()
    store.replace([pod(f"p{number}", f"ns{number % 3}") for number in range(9)])
    assert list(store._core.generation.slots.slot_of) == sorted(store._core.generation.slots.slot_of)
    assert [store._core.generation.slots.keys[slot] for slot in range(3)] == [
        ObjectKey("ns0", f"p{n}") for n in (0, 3, 6)
    ]
