"""Traps that public issues of other caches, indexes and watchers describe; tests have their numbers in our list."""

from __future__ import annotations

import copy
import sys
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    AnnotationIndexer,
    Deleted,
    FieldIndexer,
    FilterIndexer,
    IndexConflictError,
    Indexer,
    IndexFunctionError,
    IndexValueError,
    InvalidObjectError,
    LabelIndexer,
    LabelSelector,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    ScopeError,
    Store,
)
from tests.pods import Pod, key, names_of, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Iterator

by_app = LabelIndexer("app")
by_node = FieldIndexer("spec.nodeName")


def test_b1_short_lived_values_leave_nothing() -> None:
    """Objects with a namespace and a value of their own come and go; no value, slot or table is left."""
    store: Store[Pod] = Store(indexers=[by_app, Indexer("uid", lambda obj: obj["metadata"]["uid"])])
    for number in range(3_000):
        obj = versioned(pod("a", f"ns-{number}", app=f"v{number}"), f"uid-{number}")
        store.put(obj)
        store.delete(obj)
    generation = store._core.generation
    assert [len(index) for index in generation.indexes] == [0, 0, 0]
    assert store.index_values(NamespaceIndexer()) == []
    assert (generation.slots.capacity, len(generation.slots.free)) == (0, 0)
    assert sys.getsizeof(generation.slots.slot_of) < 500
    store._check()


def test_b2_an_object_that_moves_leaves_no_trail() -> None:
    """One object through 10,000 values leaves one value, on update as on delete."""
    by_uid: Indexer[Pod, str] = Indexer("phase", lambda obj: obj["phase"])
    store: Store[Pod] = Store(indexers=[by_app, by_uid])
    for number in range(10_000):
        store.put({**pod("a", app=f"v{number}"), "phase": f"p{number}"})
    assert store.index_values(by_app) == ["v9999"]
    assert store.index_values(by_uid) == ["p9999"]
    assert sys.getsizeof(store._core.generation.indexes[1].values) < 2_000  # type: ignore[union-attr]
    store._check()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_b5_an_index_function_that_fails_on_one_object(on_error: Any) -> None:
    """A relist of 1,000 with one odd object: by policy nothing changes, or all are stored and one is counted."""
    by_team: Indexer[Pod, str] = Indexer("team", lambda obj: obj["metadata"]["labels"]["team"], on_error=on_error)
    store: Store[Pod] = Store(indexers=[by_team, by_app])
    pods = [pod(f"p{number}", app="web", team="red") for number in range(1_000)]
    del pods[500]["metadata"]["labels"]["team"]
    if on_error == "raise":
        with pytest.raises(IndexFunctionError, match="index 'team' failed on prod/p500"):
            store.replace(pods)
        assert (len(store), store.revision, store.index_values(by_app)) == (0, 0, [])
    else:
        store.replace(pods)
        assert (len(store), store.count(by_team.at("red")), store.skipped()) == (1_000, 999, {"team": 1})
    store._check()


def test_b6_an_object_that_a_reader_edited() -> None:
    """A label changed in place, then the real update and delete: the old value is emptied, and there is no ghost."""
    store: Store[Pod] = Store(indexers=[by_app, by_node])
    store.put(pod("a", app="web", node="n1"))
    borrowed = store.require(key("a"))
    borrowed["metadata"]["labels"]["app"] = "edited"
    borrowed["spec"]["nodeName"] = "edited"
    assert names_of(store.select(label_selector="app=web")) == ["a"]
    store.put(pod("a", app="db", node="n2"))
    assert (store.index_values(by_app), store.index_values(by_node)) == (["db"], ["n2"])
    store.require(key("a"))["metadata"]["labels"].clear()
    del store.require(key("a"))["spec"]
    store.delete(key("a"))
    assert (store.index_values(by_app), store.index_values(by_node), len(store)) == ([], [], 0)
    store._check()


def test_b7_one_reader_does_not_poison_the_index_for_others() -> None:
    """An annotation that a reader adds in place is in no index, until the object is written."""
    by_note = AnnotationIndexer("note")
    store: Store[Pod] = Store(indexers=[by_note, by_app])
    store.put(pod("a", app="web"))
    store.require(key("a"))["metadata"]["annotations"] = {"note": "mine"}
    assert store.index_values(by_note) == []
    assert store.count(by_note.key("note").exists()) == 0
    assert store.count(by_app.key("app").at("web")) == 1
    store._check()


def test_b8_an_object_that_was_renamed_in_place() -> None:
    """The key is fixed when an object is put: no answer holds a None, and the object is still found and removed."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.put(pod("a", app="web"))
    edited = store.require(key("a"))
    edited["metadata"] |= {"namespace": "other", "name": "b"}
    assert store.keys(namespace="prod") == [key("a")]
    assert store.select(namespace="prod") == [edited]
    assert store.select(namespace="other") == []
    assert store.keys(field_selector="metadata.name=a") == [key("a")]
    store.put(pod("a", app="db"))
    store.put(edited)
    assert sorted(map(str, store.keys())) == ["other/b", "prod/a"]
    assert None not in store.select()
    assert store.delete(key("a")) is not None
    assert store.keys(label_selector="app=web") == [key("b", "other")]
    store._check()


def test_b10_one_call_is_one_state() -> None:
    """get_many and select give objects of one state, whatever is deleted between two calls."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod("a", app="web"), pod("b", app="web")])
    keys = store.keys(label_selector="app=web", order_by="key")
    store.delete(keys[0])
    found = store.get_many(keys)
    assert list(found) == [key("b")]
    pairs = zip(store.keys(label_selector="app=web"), store.select(label_selector="app=web"), strict=True)
    assert all(found.name == obj["metadata"]["name"] for found, obj in pairs)


def test_b12_two_components_add_the_same_index() -> None:
    """The same definition again is a no-op, from wherever it comes; another one of that name names both."""
    store: Store[Pod] = Store(indexers=[by_node])
    store.put(pod("a", node="n1"))
    store.add_indexers(FieldIndexer("spec.nodeName"), LabelIndexer("app"))
    store.add_indexers(LabelIndexer("app"), FieldIndexer("spec.nodeName"))
    assert store.index_names == ("app", "namespace", "spec.nodeName")
    with pytest.raises(
        IndexConflictError, match=r"FieldIndexer\('spec.nodeName'\) is there.*Indexer\('spec.nodeName', "
    ):
        store.add_indexers(Indexer("spec.nodeName", len))


def test_b13_an_index_that_is_added_while_writers_run() -> None:
    """Several threads write during the build; at its first visible query the index is complete, without doubles."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod(f"p{number}", app="web", node=f"n{number % 3}") for number in range(30)])

    def write(writer: int) -> None:
        for number in range(writer, 30, 3):
            if number % 2:
                store.put(pod(f"p{number}", app="db", node="moved"))
            else:
                store.delete(key(f"p{number}"))
            store.put(pod(f"new{number}", node="new"))

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    seen: list[object] = []

    def node_of(obj: Pod) -> str | None:
        if not seen:  # the build has begun: all of the writing happens now
            seen.append(store.index_names)
            for writer in writers:
                writer.start()
            for writer in writers:
                writer.join()
        node: str | None = obj.get("spec", {}).get("nodeName")
        return node

    late: Indexer[Pod, str] = Indexer("late", node_of)
    store.add_indexers(late)
    store._check()
    assert store.tally(late) == {"moved": 15, "new": 30}
    assert names_of(store.select(late.at("moved"))) == sorted(f"p{number}" for number in range(1, 30, 2))


def test_b14_two_extractors_under_one_name() -> None:
    """They do not share an index silently: the second is refused."""
    store: Store[Pod] = Store(indexers=[Indexer("owner", lambda _obj: "one")])
    with pytest.raises(IndexConflictError):
        store.add_indexers(Indexer("owner", lambda _obj: "two"))
    with pytest.raises(IndexConflictError):
        Store(indexers=[OwnerIndexer(), Indexer("owner", lambda _obj: "two")])


def test_b16_objects_without_metadata_are_stored_or_refused() -> None:
    """With a key function they are stored and found; without one, they are refused loudly; never silently dropped."""
    by_kind: Indexer[dict[str, str], str] = Indexer("kind", lambda obj: obj["kind"])
    store = Store(key=lambda obj: ObjectKey("", obj["id"]), indexers=[by_kind, by_app, by_node, OwnerIndexer()])
    store.put({"id": "1", "kind": "a"})
    assert store.select(by_kind.at("a")) == [{"id": "1", "kind": "a"}]
    assert store.count(label_selector="!app") == 1
    assert store.count(OwnerIndexer().orphans()) == 1
    store._check()
    for odd in ({"id": "1"}, SimpleNamespace(id="1"), "1", 7):
        with pytest.raises(InvalidObjectError, match="has no metadata, and so no key"):
            Store[Any]().put(odd)


def test_b18_owned_and_ownerless_but_not_foreign() -> None:
    """One query gives what an owner owns and the orphans of the namespace, without what others own."""
    by_controller = OwnerIndexer(controller_only=True)
    store: Store[Pod] = Store(indexers=[by_controller])
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "prod", "uid": "u1"},
    }
    for name, namespace, uid in (
        ("mine", "prod", "u1"),
        ("foreign", "prod", "u2"),
        ("orphan", "prod", ""),
        ("far", "test", ""),
    ):
        obj = pod(name, namespace)
        if uid:
            reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid, "controller": True}
            obj["metadata"]["ownerReferences"] = [reference]
        store.put(obj)
    found = store.select(by_controller.at(owner) | by_controller.orphans(), namespace="prod")
    assert names_of(found) == ["mine", "orphan"]


def test_b19_an_object_that_stops_to_match_leaves_the_index() -> None:
    """An index function that gives None, and a filter that no longer passes, take the object out."""
    ready: FilterIndexer[Pod] = FilterIndexer("ready", predicate=lambda obj: obj["ready"])
    by_phase: Indexer[Pod, str] = Indexer("phase", lambda obj: obj.get("phase"))
    store: Store[Pod] = Store(indexers=[ready, by_phase])
    store.put({**pod("a"), "ready": True, "phase": "Running"})
    assert (store.count(ready.passing()), store.index_values(by_phase)) == (1, ["Running"])
    store.put({**pod("a"), "ready": False, "phase": None})
    assert (store.count(ready.passing()), store.index_values(by_phase), len(store)) == (0, [], 1)
    assert store.index_values(ready) == []
    store._check()


def test_b20_one_name_under_two_uids_is_one_entry() -> None:
    """A delete that was missed and an object that was made anew: one entry, and both are told."""
    store: Store[Pod] = Store(indexers=[by_app])
    old, new = versioned(pod("a", app="old"), "u1"), versioned(pod("a", app="new"), "u2")
    store.put(old)
    assert store.put(new) == (Deleted(key("a"), old, revision=2), Added(key("a"), new, 2))
    assert (len(store), store.index_values(by_app)) == (1, ["new"])
    with store.transaction() as txn:
        txn.put(old)
    assert txn.deltas == (Deleted(key("a"), new, revision=3), Added(key("a"), old, 3))
    assert store.replace([new]) == (
        Deleted(key("a"), old, final_state_known=False, revision=4),
        Added(key("a"), new, revision=4),
    )
    store._check()


def test_b21_a_result_is_detached() -> None:
    """Writing while iterating over a result, or over the store itself, disturbs neither."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod(f"p{number}", app="web") for number in range(200)])
    for number, obj in enumerate(store):
        store.delete(obj)
        store.put(pod(f"n{number}", app="db"))
    assert store.tally(by_app) == {"db": 200}
    for obj in store.select(label_selector="app=db"):
        store.put({**obj, "status": "seen"})
    assert store.count(where=lambda obj: obj.get("status") == "seen") == 200
    store._check()


def test_b22_one_update_runs_one_objects_functions() -> None:
    """Among 10,000 objects an update, and a delete, ask no other object."""
    calls: list[str] = []

    def name_of(obj: Pod) -> str:
        calls.append(obj["metadata"]["name"])
        return calls[-1]

    store: Store[Pod] = Store(indexers=[Indexer("name", name_of), by_app])
    store.replace([pod(f"p{number}") for number in range(10_000)])
    calls.clear()
    store.put(pod("p77", app="new"))
    store.delete(key("p78"))
    assert calls == ["p77"]


def test_b23_a_predicate_may_read_and_write_the_store() -> None:
    """``where``, key and index functions run outside the lock: they may use the store, and see it as it is by then."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod(f"p{number}", app="web") for number in range(5)])

    def where(obj: Pod) -> bool:
        store.put(pod(f"from-{obj['metadata']['name']}"))
        store.delete(obj)
        store.add_indexers(by_node)
        return len(store) > 0

    other = threading.Thread(target=lambda: store.select(where=where, label_selector="app=web"), daemon=True)
    other.start()
    other.join(20)
    assert not other.is_alive()
    assert names_of(list(store)) == [f"from-p{number}" for number in range(5)]
    by_size: Indexer[Pod, int] = Indexer("size", lambda _obj: len(store))
    store.add_indexers(by_size)
    store.put(pod("x"))
    assert store.index_values(by_size) == [5]
    store._check()


def test_b26_a_late_delete_of_the_old_object_is_told_apart_by_who_asks() -> None:
    """``delete`` is by key; what holds the new object's UID is to be seen in the delta."""
    store: Store[Pod] = Store()
    store.put(versioned(pod("a"), "u2"))
    deleted = store.delete(versioned(pod("a"), "u1"))
    assert deleted is not None
    assert deleted.old["metadata"]["uid"] == "u2"


@pytest.mark.parametrize("scope", ["cluster", None])
def test_b37_a_node_that_is_asked_for_with_a_namespace(scope: Any) -> None:
    """It is an error by the scope, declared or not, and never a second key."""
    store: Store[Pod] = Store(name="nodes", scope=scope)
    store.put(pod("n1", None))
    with pytest.raises(ScopeError, match="the objects of store 'nodes' have no namespace; leave namespace= out"):
        store.get("n1", namespace="prod")
    assert store.require("n1") == pod("n1", None)
    store.put({**pod("n1", ""), "again": True})
    assert (len(store), store.keys()) == (1, [ObjectKey("", "n1")])


def test_b39_objects_without_a_name_do_not_share_a_key() -> None:
    """Each is refused; nothing is stored under an empty key."""
    store: Store[Any] = Store()
    for nameless in (
        {},
        {"metadata": {}},
        {"metadata": {"name": ""}},
        {"metadata": {"name": None, "namespace": "prod"}},
    ):
        with pytest.raises(InvalidObjectError):
            store.put(nameless)
        with pytest.raises(InvalidObjectError):
            store.replace([pod("a"), nameless])
    assert (len(store), store.revision) == (0, 0)


def test_b40_keys_are_pairs_inside() -> None:
    """Slashes, spaces and any other character in a name make no other key, and need no splitting."""
    names = ["a/b", "b", " ", "ü/λ", "a\x00b", "a,b=c"]
    store: Store[Any] = Store(key=lambda obj: ObjectKey(*obj))
    objects = [(namespace, name) for namespace in ("", "a", "a/b") for name in names]
    store.replace(objects)
    assert len(store) == len(objects)
    for obj in objects:
        assert store.require(ObjectKey(*obj)) == obj
    assert sorted(each.name for each in store.keys(namespace="a")) == sorted(names)
    assert [each.namespace for each in store.keys(field_selector={"metadata.name": "a/b"}, order_by="key")] == [
        "",
        "a",
        "a/b",
    ]
    store._check()


def test_b62_null_and_empty_selectors() -> None:
    """A null LabelSelector selects nothing, an empty one everything; an empty service selector nothing."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod("a", app="web"), pod("b")])
    everything: list[Any] = [
        {},
        {"matchLabels": {}},
        {"matchExpressions": []},
        {"matchLabels": None},
        "",
        LabelSelector(),
    ]
    for selector in everything:
        assert names_of(store.select(label_selector=selector)) == ["a", "b"]
        assert store.count(label_selector=selector, namespace="prod") == 2
    nothing = [
        LabelSelector.from_object(None),
        LabelSelector.of_service({"spec": {"selector": {}}}),
        LabelSelector.of_service({"spec": {}}),
    ]
    for selector in nothing:
        assert store.select(label_selector=selector) == []
        assert store.count(label_selector=selector) == 0
        assert store.count(by_app.satisfying(selector)) == 0
        assert store.count(~by_app.satisfying(selector)) == 2
    both = {"matchLabels": {"app": "web"}, "matchExpressions": []}
    assert names_of(store.select(label_selector=both)) == ["a"]


@pytest.mark.parametrize("indexers", [[by_app], []])
def test_b63_a_label_with_an_empty_value_is_there(indexers: list[LabelIndexer]) -> None:
    """The empty text is a value like any other, with an index and without; null is it; a number is no label."""
    store: Store[Any] = Store(indexers=indexers)
    store.replace(
        [pod("empty", app=""), pod("absent"), pod("web", app="web"), pod("null", app=None), pod("number", app=7)]
    )  # type: ignore[arg-type]
    expected = {
        "app=": ["empty", "null"],
        "app": ["empty", "null", "web"],
        "!app": ["absent", "number"],
        "app in ()": ["empty", "null"],
        "app in (,web)": ["empty", "null", "web"],
        "app!=": ["absent", "number", "web"],
        "app notin (web)": ["absent", "empty", "null", "number"],
    }
    assert {text: names_of(store.select(label_selector=text)) for text in expected} == expected
    if indexers:
        assert store.index_values(by_app) == ["", "web"]
        assert names_of(store.select(by_app.key("app").at(""))) == ["empty", "null"]
        assert names_of(store.select(by_app.key("app").absent())) == ["absent", "number"]


SHAPED: Pod = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1",
        "namespace": "prod",
        "uid": "u-1",
        "resourceVersion": "7",
        "creationTimestamp": "2026-01-13T18:38:04Z",
        "labels": {"app": "web", "a.b/c": "x"},
        "annotations": {"team": "red"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-0", "controller": True}
        ],
    },
    "spec": {"nodeName": "n1", "hostNetwork": True, "containers": [{"name": "a", "image": "img"}]},
    "status": {"phase": "Running", "podIP": "10.0.0.1"},
}


def shapes() -> Iterator[tuple[str, Any]]:
    """Give the same pod as each client has it; clients that are not installed are left out."""
    yield "dict", copy.deepcopy(SHAPED)
    kubernetes = pytest.importorskip("kubernetes.client")
    response = SimpleNamespace(data=__import__("json").dumps(SHAPED))
    yield "V1Pod", kubernetes.ApiClient().deserialize(*typed(kubernetes, response))
    lightkube = pytest.importorskip("lightkube.resources.core_v1")
    yield "lightkube", lightkube.Pod.from_dict(copy.deepcopy(SHAPED))
    box = pytest.importorskip("box")
    yield "Box", box.Box(copy.deepcopy(SHAPED))
    yield "object", namespaced(SHAPED)


def typed(kubernetes: Any, response: Any) -> tuple[Any, ...]:
    """Give the arguments of ``deserialize``, which took a response up to client 35, and text and its type since."""
    import inspect

    parameters = inspect.signature(kubernetes.ApiClient.deserialize).parameters
    return (response.data, "V1Pod", "application/json") if "content_type" in parameters else (response, "V1Pod")


def namespaced(value: Any) -> Any:
    """Make objects with attributes of maps, but leave the maps of labels."""
    if isinstance(value, dict):
        return SimpleNamespace(
            **{name: item if name in ("labels", "annotations") else namespaced(item) for name, item in value.items()}
        )
    return [namespaced(item) for item in value] if isinstance(value, list) else value


def kr8s_pod() -> Any:
    """Make a kr8s pod, which needs no cluster to be made."""
    pytest.importorskip("kr8s")
    from kr8s.asyncio.objects import Pod as Kr8sPod

    return Kr8sPod(copy.deepcopy(SHAPED), api=SimpleNamespace(namespace="prod", _url=""))


def test_b65_one_pod_in_every_clients_shape() -> None:
    """The same pod has one key, the same labels and the same index values, whatever client read it."""
    indexers = [
        LabelIndexer("app", "a.b/c"),
        AnnotationIndexer("team"),
        by_node,
        FieldIndexer("spec.hostNetwork", "status.podIP", "metadata.creationTimestamp"),
        FieldIndexer("spec.containers[*].image"),
        OwnerIndexer(),
        FilterIndexer[Any]("watched", label_selector="app=web", annotation_filter="team"),
    ]
    raw = copy.deepcopy(SHAPED)
    expected = [indexer.values_of(raw) for indexer in indexers]
    assert expected[2:5] == [("n1",), ("true", "10.0.0.1", "2026-01-13T18:38:04Z"), ("img",)]
    store: Store[Any] = Store(indexers=indexers)
    store.put(raw)
    revision = 1
    for shape, obj in [*shapes(), ("kr8s", kr8s_pod())]:
        assert [indexer.values_of(obj) for indexer in indexers] == expected, shape
        store.put(obj)
        revision += 1
        assert (store.keys(), store.revision) == ([ObjectKey("prod", "web-1")], revision), shape
        assert store.count(by_node.at("n1"), label_selector="app=web,a.b/c=x", namespace="prod") == 1, shape
        assert (
            store.count(label_selector="app=web,zone!=x", field_selector="status.phase=Running,metadata.uid=u-1") == 1
        )
        store._check()


@pytest.mark.parametrize("value", [["x"], {"a": 1}, None, 1.0, b"x", object()])
def test_b72_values_that_cannot_be_keys(value: Any) -> None:
    """[1, True, "1", odd]: a typed error before any change; without the odd one, three values that never merge."""
    by_value: Indexer[Pod, Any] = Indexer("value", lambda obj: obj["value"])
    store: Store[Pod] = Store(indexers=[by_app, by_value])
    with pytest.raises(IndexValueError, match="cannot be an index value") as refused:
        store.put({**pod("a", app="web"), "value": [1, True, "1", value]})
    assert isinstance(refused.value, (TypeError, ValueError))
    assert (len(store), store.revision, store.index_values(by_app), store.index_values(by_value)) == (0, 0, [], [])
    store.put({**pod("a"), "value": [1, True, "1"]})
    assert [type(each) for each in store.index_values(by_value)] == [bool, int, str]
    store._check()


def test_b73_generators_and_text() -> None:
    """A generator's values are taken once, and text is one value, not its characters."""

    def images_of(obj: Pod) -> Iterator[str]:
        yield from obj["images"]

    by_image: Indexer[Pod, str] = Indexer("image", images_of)
    by_text: Indexer[Pod, str] = Indexer("text", lambda obj: obj["images"][0])
    store: Store[Pod] = Store(indexers=[by_image, by_text])
    for _ in range(2):
        store.put({**pod("a"), "images": ["nginx", "envoy"]})
        assert (store.index_values(by_image), store.index_values(by_text)) == (["envoy", "nginx"], ["nginx"])
    store.put({**pod("b"), "images": ["nginx"]})
    assert store.tally(by_image) == {"envoy": 1, "nginx": 2}
    store._check()


def test_b81_a_union_of_many_values_does_not_touch_the_objects() -> None:
    """``app in (500 values)`` is one union of bitmaps, or none at all on a small set, as tests of plans count."""
    store: Store[Pod] = Store(indexers=[by_app])
    store.replace([pod(f"p{number}", f"ns{number % 100}", app=f"v{number}") for number in range(2_000)])
    some = f"app in ({','.join(f'v{number}' for number in range(0, 2_000, 4))})"
    assert store.count(label_selector=some) == 500
    assert store.count(label_selector=some, namespace="ns8") == 20
    assert store.count(label_selector=some, namespace="ns9") == 0
    assert store.explain(label_selector=some, namespace="ns8").scanned == 0
