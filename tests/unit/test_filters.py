"""Filters of followers: every way to say what is wanted, what enters and leaves it, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    AnnotationIndexer,
    Deleted,
    FieldIndexer,
    FieldSelector,
    FilterIndexer,
    Indexer,
    KindexError,
    LabelIndexer,
    LabelSelector,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    QueryError,
    SelectorError,
    SelectorSyntaxError,
    SortedIndexer,
    Store,
    UnknownIndexError,
    Updated,
)
from kindex.filters import Filter
from kindex.schema import Schema
from tests.pods import Pod, key, pod

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex import Delta

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")
by_team = AnnotationIndexer("team")
by_owner = OwnerIndexer()
by_value: Indexer[Pod, Any] = Indexer("value", lambda obj: obj.get("value"))
by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", lambda obj: obj.get("size"))
gold: FilterIndexer[Pod] = FilterIndexer("gold", label_selector="tier=gold")
TERMS = (by_team, by_owner, by_value, by_size, gold)
INDEXERS = (by_labels, by_node, *TERMS)

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u-r", "controller": True}


def made(*, namespace: str = "prod", name: str = "a", **parts: Any) -> Pod:
    """Make a pod that is in every filter below, but for the *parts* that are given."""
    labels = {"app": parts.get("app", "web"), "tier": parts.get("tier", "gold")}
    obj = pod(name, namespace, node=parts.get("node", "n1"), **labels)
    obj["metadata"]["annotations"] = {"team": parts.get("team", "red")}
    obj["metadata"]["ownerReferences"] = parts.get("owners", [OWNER])
    return {**obj, "value": parts.get("value", ["x", 1]), "size": parts.get("size", 5)}


OTHER_APP = {"app": "db"}

KINDS: dict[str, tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]] = {
    "text": ((), {"label_selector": "app=web"}, OTHER_APP),
    "parsed": ((), {"label_selector": LabelSelector.parse("app in (web),!never")}, OTHER_APP),
    "map": ((), {"label_selector": {"app": "web"}}, OTHER_APP),
    "object": (
        (),
        {"label_selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["db"]}]}},
        OTHER_APP,
    ),
    "negative": ((), {"label_selector": "app!=db"}, OTHER_APP),
    "set": ((), {"label_selector": "app in (web,api),tier notin (silver)"}, {"tier": "silver"}),
    "field": ((), {"field_selector": "spec.nodeName=n1"}, {"node": "n2"}),
    "not field": ((), {"field_selector": "spec.nodeName!=n2"}, {"node": "n2"}),
    "parsed field": ((), {"field_selector": FieldSelector.parse("spec.nodeName=n1")}, {"node": "n2"}),
    "field map": ((), {"field_selector": {"spec.nodeName": "n1"}}, {"node": ""}),
    "no field": ((), {"field_selector": "spec.nodeName!="}, {"node": ""}),
    "term": ((by_node.at("n1"),), {}, {"node": "n2"}),
    "terms": ((by_node.at("n1"), by_value.at(1)), {}, {"value": [True]}),
    "and": ((by_node.at("n1") & by_team.key("team").at("red"),), {}, {"team": "blue"}),
    "or": ((by_node.at("n7") | by_value.at("x"),), {}, {"value": "y"}),
    "not": ((~by_value.at(2),), {}, {"value": [2]}),
    "owner": (
        (by_owner.at({"metadata": {"name": "r", "uid": "u-r", "namespace": "prod"}, **OWNER}),),
        {},
        {"owners": []},
    ),
    "range": ((by_size.between(3, 7),), {}, {"size": 8}),
    "passing": ((gold.passing(),), {}, {"tier": "silver"}),
    "satisfying": ((by_labels.satisfying("app=web"),), {}, OTHER_APP),
    "where": ((), {"where": lambda obj: obj["size"] > 4}, {"size": 4}),
    "where term": ((), {"where": by_value.at("x")}, {"value": None}),
    "where text": ((), {"where": "app=web"}, OTHER_APP),
    "where selector": ((), {"where": LabelSelector.parse("app=web")}, OTHER_APP),
    "all": (
        (by_node.at("n1"),),
        {
            "namespace": "prod",
            "label_selector": "app=web",
            "field_selector": "metadata.name=a",
            "where": lambda obj: obj["size"] == 5,
        },
        {"size": 6},
    ),
    "two selectors": ((), {"label_selector": "app=web", "where": "tier=gold"}, {"tier": "silver"}),
}


def kinds(name: str) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    return KINDS[name]


@pytest.mark.parametrize("replay", [True, False])
@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_entering_is_added_and_leaving_is_deleted(kind: str, indexed: bool, replay: bool) -> None:
    """By every kind of filter, with an index or without one, with a replay or without: what is inside is followed."""
    terms, query, other = kinds(kind)
    store: Store[Pod] = Store(indexers=INDEXERS if indexed else TERMS + ((by_node, by_labels) if terms else ()))
    there, out = made(), made(**other)
    store.put(there)
    store.put(
        made(name="b", namespace="elsewhere", node="n3", app="api", tier="none", value=3, size=0, team="", owners=[])
    )
    bystander = store.get(ObjectKey("elsewhere", "b"))
    assert bystander is not None
    followed = store.follow(*terms, replay=replay, **query)
    first = [delta for delta in followed.take() if delta.new is not bystander]
    assert first == ([Added(key("a"), there, 2)] if replay else [])
    again, inside, once_more = made(), made(), made()
    steps: list[tuple[Callable[[], object], list[Delta[Pod]]]] = [
        (lambda: store.put(again), [Updated(key("a"), there, again, 3)]),
        (lambda: store.put(out), [Deleted(key("a"), again, revision=4)]),
        (lambda: store.put(made(**other)), []),
        (lambda: store.put(inside), [Added(key("a"), inside, 6)]),
        (lambda: store.put(once_more), [Updated(key("a"), inside, once_more, 7)]),
        (lambda: store.delete(key("a")), [Deleted(key("a"), once_more, revision=8)]),
        (lambda: store.put(out), []),
        (lambda: store.delete(key("a")), []),
        (lambda: store.put(there), [Added(key("a"), there, 11)]),
    ]
    for number, (write, expected) in enumerate(steps):
        write()
        assert followed.take() == expected, number
    # Merged: out and in again is an update; in and out again is nothing.
    store.put(out)
    store.put(inside)
    assert followed.take() == [Updated(key("a"), there, inside, 13)]
    store.put(out)
    followed.take()
    store.put(inside)
    store.put(out)
    assert followed.take() == []


@pytest.mark.parametrize(
    ("query", "inside", "outside"),
    [
        ({"namespace": "prod"}, [("prod", "a")], [("test", "a"), ("", "a")]),
        ({"namespace": ["prod", "test"]}, [("prod", "a"), ("test", "b")], [("dev", "a"), ("", "a")]),
        ({"namespace": []}, [], [("prod", "a"), ("", "a")]),
        ({"field_selector": "metadata.name=a"}, [("prod", "a"), ("", "a")], [("prod", "b")]),
        ({"field_selector": "metadata.name!=a"}, [("prod", "b")], [("prod", "a"), ("", "a")]),
        ({"field_selector": "metadata.namespace=prod"}, [("prod", "a")], [("test", "a"), ("", "a")]),
        ({"field_selector": "metadata.namespace!=prod"}, [("test", "a"), ("", "a")], [("prod", "a")]),
        ({"field_selector": "metadata.namespace="}, [("", "a")], [("prod", "a")]),
        ({"namespace": "prod", "field_selector": "metadata.name=a"}, [("prod", "a")], [("prod", "b"), ("test", "a")]),
    ],
)
@pytest.mark.parametrize("own_key", [False, True])
def test_keys_are_filtered_by_what_the_store_says(
    query: dict[str, Any], inside: list[tuple[str, str]], outside: list[tuple[str, str]], own_key: bool
) -> None:
    """Names and namespaces are those of the key, also where a key function finds it in objects of another form."""
    store: Store[Any] = Store(key=lambda obj: ObjectKey(*obj.split("/"))) if own_key else Store()
    follower = store.follow(**query)
    for namespace, name in (*inside, *outside):
        store.put(f"{namespace}/{name}" if own_key else pod(name, namespace or None))
    assert sorted(delta.key for delta in follower.take()) == sorted(inside)
    with store.transaction() as txn:
        for each in (*inside, *outside):
            txn.delete(ObjectKey(*each))
    assert sorted(delta.key for delta in follower.take()) == sorted(inside)


def test_a_selector_that_selects_nothing_follows_nothing() -> None:
    """As in queries: None as a selector object selects nothing, a blank selector everything."""
    store: Store[Pod] = Store()
    store.put(pod("a", app="web"))
    for selector, count in ((LabelSelector.from_object(None), 0), ("", 1), ({}, 1), (LabelSelector(), 1)):
        with store.follow(label_selector=selector) as follower, store.follow(where=LabelSelector.of(selector)) as other:
            store.put(pod("a"))
            assert len(follower.take()) == len(other.take()) == count
            store.delete(key("a"))
            assert len(follower.take()) == len(other.take()) == count


def test_objects_of_any_client_are_filtered() -> None:
    """Labels and fields are read from models as from dicts."""

    def model(app: str, node: str) -> Any:
        metadata = SimpleNamespace(name="a", namespace="prod", labels={"app": app}, uid=None)
        return SimpleNamespace(metadata=metadata, spec=SimpleNamespace(node_name=node))

    store: Store[Any] = Store()
    follower = store.follow(label_selector="app=web", field_selector="spec.nodeName=n1")
    told = []
    for app, node in (("web", "n1"), ("web", "n2"), ("db", "n1"), ("web", "n1")):
        store.put(model(app, node))
        told.append([type(delta) for delta in follower.take()])
    assert told == [[Added], [Deleted], [], [Added]]


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"namespace": ""}, QueryError, "namespace"),
        ({"namespace": 7}, QueryError, "namespace"),
        ({"label_selector": "app in web"}, SelectorSyntaxError, "app in web"),
        ({"label_selector": 7}, SelectorError, "int"),
        ({"field_selector": "spec.nodeName"}, SelectorSyntaxError, "spec.nodeName"),
        ({"where": "app in web"}, SelectorSyntaxError, "app in web"),
        ({"where": 7}, SelectorError, "int"),
        ({"where": by_size.largest()}, QueryError, "smallest or largest"),
        ({"terms": (by_size.smallest(),)}, QueryError, "smallest or largest"),
        ({"terms": (by_node.at("n1") & ~by_size.smallest(),)}, QueryError, "smallest or largest"),
        ({"terms": (by_node.at("n1") | by_size.smallest(),)}, QueryError, "smallest or largest"),
        ({"terms": ("app=web",)}, QueryError, "is no term"),
        ({"terms": (by_node,)}, QueryError, "is no term"),
        ({"terms": (by_node.at("n1"),)}, UnknownIndexError, "spec.nodeName"),
        ({"where": by_node.at("n1")}, UnknownIndexError, "spec.nodeName"),
    ],
)
def test_what_makes_no_filter_is_refused_at_once(
    arguments: dict[str, Any], error: type[KindexError], sentence: str
) -> None:
    """follow() and add_event_handler() refuse, before anything is told, and leave nothing behind."""
    store: Store[Pod] = Store(indexers=[by_labels, by_size])
    terms = arguments.pop("terms", ())
    with pytest.raises(error, match=sentence):
        store.follow(*terms, **arguments)
    with pytest.raises(error, match=sentence):
        store.add_event_handler(print, None, None, *terms, **arguments)
    assert store._core.feed is None


def test_a_filter_chooses_the_index_that_tells_most() -> None:
    """A value of few comes before a namespace, one value before several; without an equality no index tells."""
    schema: Schema[Pod] = Schema(INDEXERS)
    namespace = schema.spot_of(NamespaceIndexer())
    app, node = schema.spot_of(by_labels.key("app")), schema.spot_of(by_node)
    routes: list[tuple[Filter[Pod], Any, tuple[Any, ...]]] = [
        (Filter(), None, ()),
        (Filter(namespace="prod"), namespace, ("prod",)),
        (Filter(namespace="prod", label_selector="app=web"), app, ("web",)),
        (Filter(label_selector="app in (web,db)", field_selector="spec.nodeName=n1"), node, ("n1",)),
        (Filter((by_node.among(["n1", "n2"]),), label_selector="app=web"), app, ("web",)),
        (Filter((by_value.at(1),), namespace=["prod"]), schema.spot_of(by_value), (("int", 1),)),
        (Filter(label_selector="app!=web,tier"), None, ()),
        (Filter(field_selector="spec.nodeName="), None, ()),
        (Filter(label_selector="never=x"), None, ()),
        (Filter((by_node.at("n1") | by_node.at("n2"),)), None, ()),
        (Filter(where=bool), None, ()),
    ]
    for wanted, spot, keys in routes:
        route = wanted.route(schema)
        assert (route.schema, route.spot, set(route.keys)) == (schema, spot, set(keys))
        assert wanted.unindexed(schema)[1:] == (None, (), None)
    assert [wanted.everything for wanted, _, _ in routes] == [True] + [False] * 10
