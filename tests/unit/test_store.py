"""Store: what each write does, what it gives back, and that a refused one changes nothing."""

from __future__ import annotations

import copy
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    Deleted,
    FieldIndexer,
    IndexConflictError,
    Indexer,
    IndexerError,
    IndexFunctionError,
    IndexValueError,
    InvalidObjectError,
    KindexError,
    LabelIndexer,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    QueryError,
    ScopeError,
    SortedIndexer,
    Store,
    StoreView,
    Transaction,
    UnknownIndexError,
    Updated,
)
from tests.pods import Pod, key, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Callable

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")


def pods(*made: Pod, **options: Any) -> Store[Pod]:
    """Make a store of pods, with two indexers."""
    store: Store[Pod] = Store(name="pods", indexers=[by_labels, by_node], **options)
    for each in made:
        store.put(each)
    return store


def state_of(store: StoreView[Any]) -> object:
    """Take down all that can be seen of a store, to tell whether anything changed."""
    generation = store._core.generation
    return (
        store.revision,
        {found: id(store.get(found)) for found in store.keys()},  # noqa: SIM118 - no dict
        store.index_names,
        [generation.filings(slot) for slot in generation.slots.live()],
        store.resource_version(),
        len(store._core.journals),
        store._core.pending,
    )


# Writes


def test_put_says_what_it_did() -> None:
    """An object is added, then updated; each put is a commit, also one that changes nothing."""
    store = pods()
    first, second = pod("a", app="web"), pod("a", app="web")
    assert store.put(first) == (Added(key("a"), first, revision=1),)
    assert store.put(second) == (Updated(key("a"), old=first, new=second, revision=2),)
    assert store.put(second) == (Updated(key("a"), old=second, new=second, revision=3),)
    assert store.revision == 3
    assert store.get(key("a")) is second
    store._check()


def test_delete_says_what_went() -> None:
    """Deleting by key or by object gives a Deleted with the stored object; of a missing one nothing, and no commit."""
    a, b = pod("a", app="web"), pod("b")
    store = pods(a, b)
    assert store.delete(key("a")) == Deleted(key("a"), a, final_state_known=True, revision=3)
    assert store.delete(pod("b", app="other")) == Deleted(key("b"), b, revision=4)
    assert store.revision == 4
    assert store.delete(key("a")) is None
    assert store.delete(pod("b")) is None
    assert store.revision == 4
    assert (len(store), store.index_values(by_labels.key("app"))) == (0, [])
    store._check()


def test_another_uid_under_one_key_is_another_object() -> None:
    """A UID that changed is a Deleted and an Added; an object without one is taken for the same."""
    first, second, third = versioned(pod("a"), "u1"), versioned(pod("a"), "u2"), pod("a")
    store = pods(first)
    assert store.put(second) == (Deleted(key("a"), first, revision=2), Added(key("a"), second, revision=2))
    assert store.put(third) == (Updated(key("a"), second, third, revision=3),)
    assert store.put(first) == (Updated(key("a"), third, first, revision=4),)
    assert (len(store), store.revision) == (1, 4)
    store._check()


def test_deltas_are_values_that_match() -> None:
    """A delta is frozen, equal by its parts, and taken apart by ``match``."""
    store = pods()
    (delta,) = store.put(pod("a"))
    match delta:
        case Added(key=found, new=new):
            assert (found, new) == (key("a"), pod("a"))
        case _:
            pytest.fail("a new object is an Added")
    with pytest.raises(AttributeError):
        delta.new = pod("b")
    assert Deleted(key("a"), 1) == Deleted(key("a"), 1, final_state_known=True)
    assert Deleted(key("a"), 1) != Deleted(key("a"), 1, final_state_known=False)


def test_length_membership_and_iteration_are_those_of_a_collection() -> None:
    """``len``, ``in`` with a key, and iteration over objects, detached from the store."""
    a, b = pod("a"), pod("b", "test")
    store = pods(a, b)
    assert len(store) == 2
    assert key("a") in store
    assert key("a", "test") not in store
    seen = []
    for each in store:
        store.delete(each)
        seen.append(each)
    assert sorted(each["metadata"]["name"] for each in seen) == ["a", "b"]
    assert len(store) == 0


def test_in_takes_a_key_and_nothing_else() -> None:
    """``"a" in store`` would be False for ever, so it is an error that says how to ask."""
    store = pods(pod("a"))
    for slip in ("a", "prod/a", ("prod", "a"), pod("a"), None):
        with pytest.raises(QueryError, match=r"is no ObjectKey; make one with ObjectKey\(namespace, name\) or"):
            slip in store  # noqa: B015 - raises


def test_an_empty_store_is_a_store() -> None:
    """Nothing in it answers nothing, and gives no error."""
    store = pods()
    assert (len(store), list(store), store.revision, store.keys(), store.count(), store.first()) == (
        0,
        [],
        0,
        [],
        0,
        None,
    )
    assert store.get("a") is None
    assert store.get("a", namespace="prod") is None
    assert (store.index_values(by_node), store.tally(NamespaceIndexer()), store.skipped()) == ([], {}, {})
    assert store.replace([]) == ()
    assert store.revision == 0
    store._check()


def test_a_view_reads_and_does_not_write() -> None:
    """``view()`` has the queries and none of the writes, and follows the store."""
    store = pods()
    view = store.view()
    assert type(view) is StoreView
    for write in ("put", "delete", "replace", "transaction", "bookmark", "add_indexers", "remove_indexer"):
        assert not hasattr(view, write)
    store.put(pod("a"))
    assert (len(view), view.name, view.revision, view.index_names) == (1, "pods", 1, store.index_names)
    assert (repr(view), repr(store)) == ("StoreView('pods', 1 objects)", "Store('pods', 1 objects)")


def test_bookmark_sets_the_resource_version_only() -> None:
    """A bookmark is no commit; versions are kept for all and for each namespace."""
    store = pods(pod("a"))
    assert store.resource_version() is None
    store.bookmark("7")
    store.bookmark("9", namespace="prod")
    assert (store.resource_version(), store.resource_version(namespace="prod")) == ("7", "9")
    assert store.resource_version(namespace="test") is None
    assert store.revision == 1
    store._check()


def test_a_store_is_not_copied() -> None:
    """A copy would share or lose the lock, so copying and pickling are refused, and say what to do."""
    store = pods(pod("a"))
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError) as refused:
            attempt(store)
        assert str(refused.value) == "store 'pods' cannot be pickled or copied; take its objects: snapshot().to_list()"


@pytest.mark.parametrize("objects", [["", "x"], [0, 1], [(), ((),)]])
def test_objects_may_be_false(objects: list[Any]) -> None:
    """An object that is false in Python is an object: only None is none."""
    store: Store[Any] = Store(key=lambda obj: ObjectKey("", repr(obj)))
    store.replace(objects)
    for obj in objects:
        assert store.get(ObjectKey("", repr(obj))) == obj
        assert store.require(repr(obj)) == obj
    assert len(store.get_many([ObjectKey("", repr(obj)) for obj in objects])) == 2
    assert len(store.select()) == 2
    assert store.delete(ObjectKey("", repr(objects[0]))) == Deleted(
        ObjectKey("", repr(objects[0])), objects[0], revision=2
    )
    assert store.put(objects[1]) == (Updated(ObjectKey("", repr(objects[1])), objects[1], objects[1], revision=3),)
    store._check()


# Refused writes


def test_what_has_no_key_is_refused_and_nothing_changes() -> None:
    """None, an object without metadata or name, and a list are refused by each way of writing."""
    store = pods(pod("a"))
    before = state_of(store)
    sentences = {
        "None cannot be stored in 'pods'; to remove an object, delete its key": None,
        "an object of type dict has no metadata, and so no key": {},
        "an object of type dict and kind Pod has no metadata.name, and so no key": {
            "kind": "Pod",
            "metadata": {"name": ""},
        },
        "an object of type dict and kind PodList is a list and has no key; hand over its items": {
            "kind": "PodList",
            "metadata": {},
            "items": [],
        },
        "an object of type str has no metadata, and so no key": "prod/a",
    }
    writes: list[Callable[[Any], object]] = [
        store.put,
        store.delete,
        lambda obj: store.replace([pod("b"), obj]),
        lambda obj: in_transaction(store, lambda txn: txn.put(obj)),
        lambda obj: in_transaction(store, lambda txn: txn.delete(obj)),
    ]
    for sentence, obj in sentences.items():
        for write in writes:
            with pytest.raises(InvalidObjectError) as refused:
                write(obj)
            named = sentence if "'pods'" in sentence else f"{sentence} (store 'pods')"
            assert str(refused.value) == named
            assert isinstance(refused.value, ValueError)
    assert state_of(store) == before
    store._check()


def in_transaction(store: Store[Any], act: Callable[[Transaction[Any]], object]) -> None:
    """Run *act* in a transaction of its own."""
    with store.transaction() as txn:
        act(txn)


@pytest.mark.parametrize(
    "odd",
    [
        "prod/a",
        ("prod", "a"),
        None,
        ObjectKey("prod", ""),
        ObjectKey(None, "a"),  # type: ignore[arg-type]
        ObjectKey("prod", 7),  # type: ignore[arg-type]
        ObjectKey("prod", ["a"]),  # type: ignore[arg-type]
    ],
)
def test_a_key_function_gives_object_keys_of_text(odd: Any) -> None:
    """A key function that gives anything else fails the write, and is named by its store."""
    store: Store[Any] = Store(name="things", key=lambda _obj: odd)
    for write in (store.put, lambda obj: store.replace([obj]), lambda obj: in_transaction(store, lambda t: t.put(obj))):
        with pytest.raises(
            InvalidObjectError,
            match=f"^the key function of store 'things' gave {odd!r}, not".replace("[", r"\[")
            .replace("]", r"\]")
            .replace("(", r"\(")
            .replace(")", r"\)"),
        ):
            write("x")
    assert (len(store), store.revision) == (0, 0)


def test_a_key_function_that_raises_changes_nothing() -> None:
    """What the user's key function raises comes through."""

    def key_of(obj: str) -> ObjectKey:
        if obj == "bad":
            raise ZeroDivisionError
        return ObjectKey("", obj)

    store = Store(key=key_of)
    store.put("a")
    before = state_of(store)
    for write in (store.put, lambda obj: store.replace(["b", obj])):
        with pytest.raises(ZeroDivisionError):
            write("bad")
    assert state_of(store) == before


def bad_value(obj: Pod) -> Any:
    return obj["value"]


@pytest.mark.parametrize("value", [{"a": 1}, [["x"]], 1.5, b"x", [("a", None)], [1, True, "1", None], [object()]])
def test_an_unusable_index_value_fails_the_write_whole(value: Any) -> None:
    """No index, no object, no revision and no version changes, however many indexes came before."""
    store: Store[Pod] = Store(indexers=[by_labels, Indexer("bad", bad_value), by_node])
    store.put({**pod("a", app="web"), "value": "v"})
    before = state_of(store)
    bad = {**pod("a", app="db", node="n1"), "value": value}
    other = {**pod("c", app="db", node="n1"), "value": value}
    good = {**pod("b", app="db"), "value": ["v", 1, True]}
    writes: list[Callable[[], object]] = [
        lambda: store.put(bad),
        lambda: store.put(other),
        lambda: store.replace([good, bad], "99"),
        lambda: in_transaction(store, lambda txn: [txn.put(good), txn.put(bad)]),
    ]
    for write in writes:
        with pytest.raises(
            IndexValueError, match=r"^index 'bad' failed on prod/[ac]: .*; nothing was changed"
        ) as refused:
            write()
        assert isinstance(refused.value, TypeError)
    assert state_of(store) == before
    store._check()


def test_values_of_different_types_stay_apart_in_a_store() -> None:
    """1, True and "1" are three values, in queries, tallies and updates."""
    by_value: Indexer[Pod, Any] = Indexer("value", bad_value)
    store: Store[Pod] = Store(indexers=[by_value])
    for name, value in {
        "int": 1,
        "bool": True,
        "str": "1",
        "all": [1, True, "1"],
        "tuple": [(1,)],
        "inner": [(True,)],
    }.items():
        store.put({**pod(name), "value": value})

    def found(value: Any) -> list[str]:
        return sorted(each.name for each in store.keys(by_value.at(value)))

    assert (found(1), found(True), found("1")) == (["all", "int"], ["all", "bool"], ["all", "str"])
    assert (found((1,)), found((True,)), found(0), found(False)) == (["tuple"], ["inner"], [], [])
    assert [(type(each), each) for each in store.index_values(by_value)] == [
        (bool, True),
        (int, 1),
        (str, "1"),
        (tuple, (True,)),
        (tuple, (1,)),
    ]
    store.put({**pod("int"), "value": True})
    assert (found(1), found(True)) == (["all"], ["all", "bool", "int"])
    store._check()


def test_a_failing_index_function_fails_the_write_whole() -> None:
    """With on_error="raise" the object that fails is named and nothing changes; the function's error is the cause."""
    store: Store[Pod] = Store(indexers=[Indexer("value", bad_value), by_labels])
    store.put({**pod("a", app="web"), "value": "v"})
    before = state_of(store)
    with pytest.raises(IndexFunctionError, match="index 'value' failed on prod/b: KeyError: 'value'") as failed:
        store.put(pod("b"))
    assert isinstance(failed.value.__cause__, KeyError)
    assert state_of(store) == before


def test_a_skipped_object_is_stored_and_counted() -> None:
    """With on_error="skip" it is filed under no value of that index, and counted until it is written again or goes."""
    by_value: Indexer[Pod, Any] = Indexer("value", bad_value, on_error="skip")
    store: Store[Pod] = Store(indexers=[by_value, by_labels])
    store.put(pod("a", app="web"))
    store.put({**pod("b", app="web"), "value": 1.5})
    store.put({**pod("c", app="web"), "value": "v"})
    store.put({**pod("d", app="web"), "value": None})
    assert store.skipped() == {"value": 2}
    assert store.count(label_selector="app=web") == 4
    assert store.keys(by_value.at("v")) == [key("c")]
    assert sorted(each.name for each in store.keys(~by_value.at("v"))) == ["a", "b", "d"]
    store.put({**pod("a", app="web"), "value": "v"})
    assert store.skipped() == {"value": 1}
    store.delete(key("b"))
    assert store.skipped() == {"value": 0}
    store._check()


# Scope


def test_a_declared_scope_refuses_the_other_kind() -> None:
    """Objects with a namespace do not enter a cluster-scoped store, nor the other way round."""
    nodes, namespaced = Store[Pod](name="nodes", scope="cluster"), pods(scope="namespaced")
    nodes.put(pod("n1", None))
    namespaced.put(pod("a"))
    for store, wrong, sentence in (
        (nodes, pod("x"), "prod/x has namespace 'prod', but store 'nodes' is declared scope='cluster'"),
        (namespaced, pod("x", None), "x has no namespace, but store 'pods' is declared scope='namespaced'"),
        (namespaced, pod("x", ""), "x has no namespace, but store 'pods' is declared scope='namespaced'"),
    ):
        before = state_of(store)
        for write in (
            store.put,
            store.delete,
            lambda obj, store=store: store.replace([obj]),
            lambda obj, store=store: in_transaction(store, lambda txn: txn.put(obj)),
        ):
            with pytest.raises(ScopeError) as refused:
                write(wrong)
            assert str(refused.value) == sentence
        assert state_of(store) == before


@pytest.mark.parametrize("scope", ["Cluster", "Namespaced", "", "namespace", True])
def test_a_scope_is_one_of_two_words(scope: Any) -> None:
    """A misspelled scope would be no scope."""
    with pytest.raises(QueryError, match=f"^scope is 'namespaced', 'cluster' or None, not {scope!r}$"):
        Store(scope=scope)


@pytest.mark.parametrize("scan", ["Error", "deny", "", None, True])
def test_a_scan_policy_is_one_of_three_words(scan: Any) -> None:
    """A misspelled policy would allow everything."""
    with pytest.raises(QueryError, match=f"^scan is 'allow', 'warn' or 'error', not {scan!r}$"):
        Store(scan=scan)


def test_a_slip_about_the_scope_is_never_not_there() -> None:
    """Where objects have namespaces a bare name is an error, and where they have none a namespace is."""
    namespaced, nodes, mixed = pods(pod("a")), pods(pod("n1", None)), pods(pod("a"), pod("n1", None))
    for store in (namespaced, mixed):
        with pytest.raises(ScopeError) as refused:
            store.get("a")
        assert str(refused.value) == (
            "the objects of store 'pods' have namespaces; say which 'a': get(name, namespace=...)"
        )
    with pytest.raises(ScopeError) as refused:
        nodes.get("n1", namespace="prod")
    assert str(refused.value) == "the objects of store 'pods' have no namespace; leave namespace= out"
    assert mixed.get(ObjectKey("", "n1")) == pod("n1", None)
    assert mixed.get("a", namespace="prod") == pod("a")
    assert namespaced.get(ObjectKey("", "a")) is None
    nodes.delete(ObjectKey("", "n1"))
    assert nodes.get("n1", namespace="prod") is None


@pytest.mark.parametrize(
    ("scope", "wrong", "right"),
    [
        ("cluster", ObjectKey("prod", "x"), ObjectKey("", "x")),
        ("namespaced", ObjectKey("", "x"), ObjectKey("prod", "x")),
    ],
)
def test_a_declared_scope_refuses_keys_of_the_other_kind(scope: Any, wrong: ObjectKey, right: ObjectKey) -> None:
    """Asking for, or deleting, a key that cannot be there is a slip, not an absence."""
    store = pods(scope=scope)
    asks: list[Callable[[ObjectKey], object]] = [
        store.get,
        lambda found: found in store,
        lambda found: store.get_many([found]),
        store.delete,
        lambda found: in_transaction(store, lambda txn: txn.get(found)),
        lambda found: in_transaction(store, lambda txn: txn.delete(found)),
    ]
    for ask in asks:
        assert not ask(right)
        with pytest.raises(ScopeError):
            ask(wrong)


def test_require_raises_what_a_look_up_raises() -> None:
    """``require`` names the key and the store, and is a LookupError."""
    store = pods(pod("a"))
    assert store.require("a", namespace="prod") == pod("a")
    with pytest.raises(LookupError) as missing:
        store.require("b", namespace="prod")
    assert isinstance(missing.value, KindexError)
    assert str(missing.value) == "no object prod/b in store 'pods'"
    with pytest.raises(ScopeError):
        store.require("a")


# Indexers of a store


def test_one_name_is_one_indexer() -> None:
    """An equal indexer again is a no-op; another one of the same name is an error that names both, and adds nothing."""
    store = pods()
    store.add_indexers(FieldIndexer("spec.nodeName"), LabelIndexer("app", "tier"), NamespaceIndexer())
    assert store.index_names == ("app,tier", "namespace", "spec.nodeName")
    before = state_of(store)
    with pytest.raises(IndexConflictError) as refused:
        store.add_indexers(OwnerIndexer(), FieldIndexer("spec.node", name="spec.nodeName"))
    assert str(refused.value) == (
        "two different indexers are called 'spec.nodeName' in store 'pods': FieldIndexer('spec.nodeName') is there,"
        " FieldIndexer('spec.node') was to be added; give one of them another name"
    )
    assert isinstance(refused.value, ValueError)
    assert state_of(store) == before
    for declare in (
        lambda: Store(indexers=[by_node, FieldIndexer("spec.node", name="spec.nodeName")]),
        lambda: Store(indexers=[Indexer("namespace", lambda _obj: "x")]),
        lambda: store.add_indexers(Indexer("namespace", lambda _obj: "x")),
        lambda: store.add_indexers(Indexer("new", lambda _obj: "x"), Indexer("new", lambda _obj: "x")),
    ):
        with pytest.raises(IndexConflictError):
            declare()


@pytest.mark.parametrize(
    "wrong", ["spec.nodeName", None, by_node.at("n1"), by_labels.key("app"), [by_node], FieldIndexer]
)
def test_what_is_no_indexer_is_refused(wrong: Any) -> None:
    """The sentence says what to give instead."""
    store = pods()
    for declare in (lambda: Store(indexers=[wrong]), lambda: store.add_indexers(wrong)):
        with pytest.raises(IndexerError, match=r"is no indexer; give Indexer\(name, function\) or one of the built-in"):
            declare()


def test_removing_an_indexer() -> None:
    """Its terms are unknown from then on; the namespace index cannot go, and a name that is not there is an error."""
    store = pods(pod("a", node="n1"))
    store.remove_indexer("spec.nodeName")
    assert store.index_names == ("app,tier", "namespace")
    with pytest.raises(UnknownIndexError) as unknown:
        store.select(by_node.at("n1"))
    assert str(unknown.value) == (
        "no index 'spec.nodeName' in store 'pods' (it has: app,tier, namespace);"
        " declare it with indexers=[...], or add_indexers()"
    )
    assert isinstance(unknown.value, LookupError)
    before = state_of(store)
    with pytest.raises(UnknownIndexError):
        store.remove_indexer("spec.nodeName")
    with pytest.raises(IndexerError, match="the namespace index cannot be removed; every store has it"):
        store.remove_indexer("namespace")
    assert state_of(store) == before
    assert store.count(field_selector="spec.nodeName=n1") == 1
    store.add_indexers(by_node)
    assert store.count(by_node.at("n1")) == 1
    store._check()


# Order of values


def test_a_sorted_index_holds_one_type() -> None:
    """The first value says which; another one fails the write, or is skipped and counted."""
    by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", bad_value)
    store: Store[Pod] = Store(indexers=[by_size])
    store.put({**pod("a"), "value": 1})
    before = state_of(store)
    for write in (
        lambda: store.put({**pod("b"), "value": "1"}),
        lambda: store.put({**pod("b"), "value": [2, True]}),
        lambda: store.replace([{**pod("a"), "value": 1}, {**pod("b"), "value": "1"}]),
        lambda: in_transaction(store, lambda txn: txn.put({**pod("b"), "value": "1"})),
    ):
        with pytest.raises(IndexValueError, match=r"^index 'size' failed on prod/b: .*a sorted index holds one type"):
            write()
    assert state_of(store) == before
    skipping: Store[Pod] = Store(indexers=[SortedIndexer("size", bad_value, on_error="skip")])
    skipping.replace([{**pod("a"), "value": 1}, {**pod("b"), "value": "1"}, {**pod("c"), "value": 2}])
    assert skipping.skipped() == {"size": 1}
    skipping.put({**pod("d"), "value": True})
    assert skipping.skipped() == {"size": 2}
    skipping._check()
    store._check()


def test_a_sorted_index_may_change_its_type_with_its_last_object() -> None:
    """The type is that of the values that are there, so an index without others takes any."""
    by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", bad_value)
    store: Store[Pod] = Store(indexers=[by_size])
    store.put({**pod("a"), "value": 1})
    store.delete(key("a"))
    store.put({**pod("a"), "value": "1"})
    assert store.index_values(by_size) == ["1"]
    store._check()
