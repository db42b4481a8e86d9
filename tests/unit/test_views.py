"""StoreView: look-ups and queries, their arguments, and that an answer is one state, detached from the store."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    FieldIndexer,
    FieldSelector,
    Indexer,
    IndexerError,
    LabelIndexer,
    LabelSelector,
    NamespaceIndexer,
    ObjectKey,
    QueryError,
    ScanRefusedError,
    ScanWarning,
    ScopeError,
    SelectorError,
    SelectorSyntaxError,
    SortedIndexer,
    Store,
    UnknownIndexError,
)
from tests.pods import Pod, key, names_of, pod

if TYPE_CHECKING:
    from collections.abc import Callable

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")
by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", lambda obj: obj.get("size"))


def made(name: str, namespace: str | None, size: object = None, **labels: Any) -> Pod:
    """Make a pod with a size."""
    return {**pod(name, namespace, **labels), "size": size}


def filled(**options: Any) -> Store[Pod]:
    """Make a store of five pods in two namespaces."""
    store: Store[Pod] = Store(name="pods", indexers=[by_labels, by_node, by_size], **options)
    store.replace(
        [
            made("a", "prod", 3, app="web", tier="gold", node="n1"),
            made("b", "prod", 1, app="web", tier="silver", node="n2"),
            made("c", "prod", 2, app="db", tier="gold", node="n1"),
            made("d", "test", [1, 5], app="web", other="x"),
            made("e", "test", None, node="n2"),
        ]
    )
    return store


# Look-ups


def test_one_object_is_found_by_its_key_in_each_way_of_saying_it() -> None:
    """Name and namespace, or an ObjectKey; missing is None; the stored object itself is given."""
    store = filled()
    found = store.get("a", namespace="prod")
    assert found is store.get(key("a"))
    assert found is store.get(ObjectKey.parse("prod/a"))
    assert store.get("a", namespace="test") is None
    assert store.get(key("a", "test")) is None
    assert store.get_many([key("a"), key("missing"), key("d", "test")]) == {
        key("a"): found,
        key("d", "test"): store.get(key("d", "test")),
    }
    assert store.get_many(iter([key("a")])) == {key("a"): found}
    assert store.get_many([]) == {}


@pytest.mark.parametrize(
    ("name", "namespace", "sentence"),
    [
        ("prod/a", None, "'prod/a' is no name; for the text of a key use ObjectKey.parse('prod/a')"),
        ("a/b", "prod", "'a/b' is no name; for the text of a key use ObjectKey.parse('a/b')"),
        ("", "prod", "an object is named by text or an ObjectKey, not ''"),
        (None, "prod", "an object is named by text or an ObjectKey, not None"),
        (("prod", "a"), None, "an object is named by text or an ObjectKey, not ('prod', 'a')"),
        ("a", "", "namespace='' is no namespace; for an object that has none, leave it out"),
        ("a", 7, "namespace=7 is no namespace; for an object that has none, leave it out"),
        (key("a"), "prod", "ObjectKey(namespace='prod', name='a') says its namespace; leave namespace= out"),
    ],
)
def test_a_name_that_can_be_none_is_refused(name: Any, namespace: Any, sentence: str) -> None:
    """A slip in the name is an error: "not there" would mean delete, or create a second one."""
    store = filled()
    for ask in (store.get, store.require):
        with pytest.raises(QueryError) as refused:
            ask(name, namespace=namespace)
        assert str(refused.value) == sentence
        assert isinstance(refused.value, ValueError)


@pytest.mark.parametrize("slip", ["prod/a", ("prod", "a"), None, {"metadata": {"name": "a"}}])
def test_many_objects_are_asked_for_by_keys(slip: Any) -> None:
    """Anything else than keys is refused before the store is looked at."""
    with pytest.raises(QueryError, match="is no ObjectKey; make one with"):
        filled().get_many([key("a"), slip])
    with pytest.raises(QueryError, match="'prod' is no ObjectKey"):
        filled().get_many(key("a"))  # type: ignore[arg-type]  # one key is no list of keys


# Queries


def test_each_query_method_asks_the_same_question() -> None:
    """select, keys, first, any, count and explain agree, for each argument."""
    store = filled()
    questions: list[tuple[list[str], tuple[Any, ...], dict[str, Any]]] = [
        (["a", "b", "c", "d", "e"], (), {}),
        (["a", "b", "c"], (), {"namespace": "prod"}),
        (["a", "b", "c", "d", "e"], (), {"namespace": ["prod", "test", "prod", "none"]}),
        ([], (), {"namespace": []}),
        ([], (), {"namespace": "none"}),
        (["a", "b", "d"], (), {"label_selector": "app=web"}),
        (["a", "b"], (), {"label_selector": {"app": "web"}, "namespace": ("prod",)}),
        (["a"], (), {"label_selector": LabelSelector.parse("app=web,tier in (gold)")}),
        (["c"], (), {"label_selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["db"]}]}}),
        (["a", "b", "c", "d", "e"], (), {"label_selector": ""}),
        (["a", "b", "c", "d", "e"], (), {"label_selector": {}}),
        ([], (), {"label_selector": LabelSelector.from_object(None)}),
        (["d", "e"], (), {"label_selector": "!tier"}),
        (["d"], (), {"label_selector": "other"}),
        (["a", "c"], (), {"field_selector": "spec.nodeName=n1"}),
        (["d"], (), {"field_selector": "spec.nodeName="}),
        (["a"], (), {"field_selector": {"metadata.name": "a"}}),
        (["d", "e"], (), {"field_selector": FieldSelector.parse("metadata.namespace!=prod")}),
        (["a"], (by_node.at("n1"),), {"label_selector": "app=web"}),
        (["c"], (by_node.at("n1"), by_labels.key("app").at("db")), {}),
        (["b", "d", "e"], (~by_node.at("n1"),), {}),
        (["b", "d"], (by_size.between(1, 1),), {}),
        (["b", "d"], (by_size.smallest(),), {}),
        (["d"], (by_size.largest(),), {}),
        (["a", "d"], (), {"where": lambda obj: obj["metadata"]["name"] in "ad"}),
        (["d"], (by_labels.satisfying("other=x"),), {"namespace": "test"}),
    ]
    for expected, terms, options in questions:
        assert names_of(store.select(*terms, **options)) == expected
        assert [each.name for each in store.keys(*terms, **options, order_by="key")] == expected
        assert store.count(*terms, **options) == len(expected)
        assert store.any(*terms, **options) is bool(expected)
        first = store.first(*terms, **options, order_by="key")
        assert (first["metadata"]["name"] if first else None) == (expected[0] if expected else None)
        plan = store.explain(*terms, **options)
        assert (plan.returned, plan.objects, plan.store) == (len(expected), 5, "pods")
    store._check()


def test_an_answer_is_a_fresh_list_in_an_order_that_stays() -> None:
    """Two queries of one revision give two lists in the same order; changing one changes nothing."""
    store = filled()
    for options in ({}, {"label_selector": "app=web"}, {"namespace": "prod"}, {"where": bool}):
        first, second = store.select(**options), store.select(**options)  # type: ignore[arg-type]
        assert first == second
        assert first is not second
        first.clear()
        assert store.select(**options) == second  # type: ignore[arg-type]
    keys = store.keys()
    keys.clear()
    assert len(store.keys()) == 5


def test_an_answer_is_detached_from_the_store() -> None:
    """Writing while iterating over any answer disturbs neither."""
    store = filled()
    for answer in (
        store.select(),
        store.keys(),
        store.select(label_selector="app=web"),
        iter(store),
        store.get_many(store.keys()),
    ):
        for number, _ in enumerate(answer):
            store.put(pod(f"new{number}"))
            store.delete(key(f"new{number}"))
    assert len(store) == 5
    store._check()


def test_order_by_key_is_by_namespace_then_name() -> None:
    """Keys order as pairs: a-b/x comes after a/y."""
    store: Store[Pod] = Store()
    for name, namespace in (("x", "a-b"), ("y", "a"), ("x", "a"), ("z", "b")):
        store.put(pod(name, namespace))
    expected = [ObjectKey("a", "x"), ObjectKey("a", "y"), ObjectKey("a-b", "x"), ObjectKey("b", "z")]
    assert store.keys(order_by="key") == expected
    assert [each["metadata"]["name"] for each in store.select(order_by="key")] == ["x", "y", "x", "z"]


def test_order_by_value() -> None:
    """By value, then by key; by its first value in this order where an object has several; without one last."""
    store = filled()
    store.put(made("aa", "prod", 3))
    assert [each.name for each in store.keys(order_by=by_size)] == ["b", "d", "c", "a", "aa", "e"]
    assert [each.name for each in store.keys(order_by=by_size.descending())] == ["d", "a", "aa", "c", "b", "e"]
    assert [each.name for each in store.keys(order_by=by_size, limit=2)] == ["b", "d"]
    assert [each.name for each in store.keys(by_node.at("n1"), order_by=by_size.descending())] == ["a", "c"]
    largest = store.first(order_by=by_size.descending(), where=lambda obj: obj["metadata"]["name"] != "d")
    assert largest is not None
    assert largest["metadata"]["name"] == "a"


def test_limit_counts_after_the_predicate() -> None:
    """``limit`` is how many objects at most pass everything; 0 is none, more than there are is all."""
    store = filled()
    for limit, expected in ((0, 0), (1, 1), (2, 2), (3, 3), (99, 3)):
        assert len(store.select(label_selector="app=web", limit=limit)) == expected
        assert len(store.keys(label_selector="app=web", limit=limit)) == expected
        assert len(store.select(where=lambda obj: "app" in obj["metadata"].get("labels", {}), limit=limit)) == min(
            limit, 4
        )
        assert len(store.select(limit=limit)) == min(limit, 5)
    assert [each.name for each in store.keys(order_by="key", limit=2)] == ["a", "b"]


def test_limit_stops_early() -> None:
    """A predicate is not asked about objects after the limit is reached."""
    store: Store[Pod] = Store(indexers=[by_labels])
    store.replace([pod(f"p{number}", app="web", other="x") for number in range(1_000)])
    for options in ({"label_selector": "app=web"}, {}, {"label_selector": "other=x"}):
        calls: list[int] = []
        assert len(store.select(**options, where=lambda _obj, calls=calls: calls.append(1) or True, limit=3)) == 3  # type: ignore[arg-type]
        assert len(calls) == 3
    calls = []
    assert store.first(where=lambda _obj: calls.append(1) or True) is not None
    assert store.any(where=lambda _obj: calls.append(1) or True)
    assert len(calls) == 2
    assert store.explain(label_selector="other=x", limit=5).scanned == 5


@pytest.mark.parametrize("indexed", [True, False])
def test_a_field_selector_means_the_same_with_an_index_and_without(*, indexed: bool) -> None:
    """Booleans are true and false, numbers decimal; absent, null and empty are one; a map is as if absent."""
    paths = ("spec.on", "spec.replicas", "spec.share", "spec.text", "spec.odd")
    store: Store[Any] = Store(indexers=[FieldIndexer(path) for path in paths] if indexed else [])
    specs = {
        "a": {"on": True, "replicas": 3, "share": 0.5, "text": "x", "odd": {"a": 1}},
        "b": {"on": False, "replicas": 0, "text": "", "odd": [1]},
        "c": {"on": None, "text": None},
        "d": {},
    }
    store.replace([{**pod(name), "spec": spec} for name, spec in specs.items()])
    expected = {
        "spec.on=true": ["a"],
        "spec.on=false": ["b"],
        "spec.on=": ["c", "d"],
        "spec.on!=": ["a", "b"],
        "spec.on!=true": ["b", "c", "d"],
        "spec.replicas=3": ["a"],
        "spec.replicas=0": ["b"],
        "spec.replicas!=0": ["a", "c", "d"],
        "spec.share=0.5": ["a"],
        "spec.text=": ["b", "c", "d"],
        "spec.text!=": ["a"],
        "spec.odd=": ["a", "b", "c", "d"],
        "spec.on=true,spec.text=x,metadata.name!=b": ["a"],
    }
    assert {text: names_of(store.select(field_selector=text)) for text in expected} == expected
    assert {text: store.count(field_selector=text) for text in expected} == {k: len(v) for k, v in expected.items()}
    assert store.explain(field_selector="spec.on=,spec.replicas!=3").scanned == (0 if indexed else 4)


# Arguments that make no query


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"namespace": ""}, QueryError, 'namespace "" names no namespace; for all namespaces use None'),
        ({"namespace": ["prod", ""]}, QueryError, 'namespace "" names no namespace; for all namespaces use None'),
        ({"namespace": 7}, QueryError, "namespace is a name, several names, or None for all, not 7"),
        (
            {"namespace": ["prod", None]},
            QueryError,
            "namespace is a name, several names, or None for all, not ['prod', None]",
        ),
        ({"namespace": True}, QueryError, "namespace is a name, several names, or None for all, not True"),
        ({"limit": -1}, QueryError, "limit is a number of objects, 0 or more, not -1"),
        ({"limit": "10"}, QueryError, "limit is a number of objects, 0 or more, not '10'"),
        ({"limit": True}, QueryError, "limit is a number of objects, 0 or more, not True"),
        ({"limit": 1.0}, QueryError, "limit is a number of objects, 0 or more, not 1.0"),
        ({"order_by": "name"}, QueryError, "order_by is 'key', a SortedIndexer or its descending(), not 'name'"),
        ({"order_by": by_node}, QueryError, f"order_by is 'key', a SortedIndexer or its descending(), not {by_node!r}"),
        ({"scan": "Error"}, QueryError, "scan is 'allow', 'warn' or 'error', not 'Error'"),
        ({"scan": True}, QueryError, "scan is 'allow', 'warn' or 'error', not True"),
        ({"where": "app=web"}, QueryError, "where is a predicate, a function of one object, not 'app=web'"),
        (
            {"order_by": SortedIndexer("other", "a.b")},
            UnknownIndexError,
            (
                "no index 'other' in store 'pods' (it has: app,tier, namespace, size, spec.nodeName);"
                " declare it with indexers=[...], or add_indexers()"
            ),
        ),
        ({"label_selector": "app in web"}, SelectorSyntaxError, None),
        ({"label_selector": {"matchlabels": {"app": "web"}}}, SelectorError, None),
        ({"label_selector": 7}, SelectorError, None),
        ({"field_selector": "spec.nodeName"}, SelectorSyntaxError, None),
        ({"field_selector": 7}, SelectorError, None),
        ({"field_selector": {"spec.nodeName": None}}, SelectorError, None),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(options: Any, error: type[Exception], sentence: str | None) -> None:
    """Whether or not anything would have been found, a slip is an error that says what was meant."""
    for store in (filled(), Store[Pod](name="pods", indexers=[by_labels, by_node, by_size])):
        asks: list[Callable[..., object]] = [store.select, store.keys]
        asks += [store.first] if "limit" not in options else []
        asks += [store.any, store.count] if not {"limit", "order_by"} & options.keys() else []
        asks += [store.explain] if "scan" not in options else []
        for ask in asks:
            with pytest.raises(error) as refused:
                ask(**options)
            assert sentence is None or str(refused.value) == sentence
            assert isinstance(refused.value, (ValueError, LookupError))


@pytest.mark.parametrize("slip", ["app=web", by_node, by_labels, by_labels.key("app"), None, {"app": "web"}, ("n1",)])
def test_a_term_is_made_by_an_indexer(slip: Any) -> None:
    """A selector or an indexer as a positional argument is no term."""
    store = filled()
    for ask in (store.select, store.keys, store.first, store.any, store.count, store.explain):
        with pytest.raises(QueryError) as refused:
            ask(slip)
        sentence = f"{slip!r} is no term; make one with an indexer, such as by_node.at('n1')"
        if isinstance(slip, (str, dict)):
            sentence += "; a selector is given by label_selector= or field_selector="
        assert str(refused.value) == sentence


def test_an_index_that_the_store_does_not_have_is_named() -> None:
    """A term of another store's indexer is an error in every query; wherever in the query it stands."""
    store = filled()
    other = FieldIndexer("spec.hostIP")
    unknown = [
        other.at("1"),
        ~other.at("1"),
        by_node.at("n1") & other.at("1"),
        by_node.at("n1") | other.at("1"),
        LabelIndexer("zone").key("zone").exists(),
        LabelIndexer("app", path="spec.selector").key("app").at("web"),
        LabelIndexer("zone").satisfying("app=web"),
        LabelIndexer("zone").satisfying(""),
        SortedIndexer("other", "a.b").largest(),
        other.among([]),
    ]
    for term in unknown:
        for ask in (store.select, store.count, store.explain, store.any):
            with pytest.raises(
                UnknownIndexError, match=r"in store 'pods' \(it has: app,tier, namespace, size, spec.nodeName\)"
            ):
                ask(term)  # type: ignore[operator]


def test_a_namespace_where_objects_have_none() -> None:
    """In a store of cluster scope, declared or by what it holds, a namespace is a slip."""
    declared: Store[Pod] = Store(name="nodes", scope="cluster", indexers=[by_labels])
    inferred: Store[Pod] = Store(name="nodes", indexers=[by_labels])
    inferred.put(pod("n1", None, app="web"))
    for store in (declared, inferred):
        for options in ({"namespace": "prod"}, {"namespace": ["prod"], "label_selector": "app=web"}):
            for ask in (store.select, store.count, store.keys, store.explain, store.any, store.first):
                with pytest.raises(ScopeError) as refused:
                    ask(**options)
                assert str(refused.value) == "the objects of store 'nodes' have no namespace; leave namespace= out"
    inferred.put(pod("x", "prod", app="web"))
    assert names_of(inferred.select(namespace="prod", label_selector="app=web")) == ["x"]


# Scans


def big(scan: Any = "allow", count: int = 300) -> Store[Pod]:
    """Make a store in which one of many pods has a label that is not indexed."""
    store: Store[Pod] = Store(name="pods", indexers=[by_labels], scan=scan)
    store.replace([pod(f"p{number}", app="web", zone=f"z{number}") for number in range(count)])
    return store


def test_a_scan_is_counted_and_refused_or_told_as_the_store_or_the_call_says() -> None:
    """The call's word comes before the store's; an allowed scan is counted all the same."""
    store = big()
    assert len(store.select(label_selector="zone=z7")) == 1
    assert store.scans == 1
    with pytest.raises(ScanRefusedError) as refused:
        store.select(label_selector="zone=z7", scan="error")
    assert str(refused.value) == (
        "store 'pods' looked at 300 objects to find 1, since no index answers zone=z7; add an indexer for it,"
        " or allow the scan with scan='allow'"
    )
    assert (refused.value.scanned, refused.value.returned) == (300, 1)
    with pytest.warns(ScanWarning, match="looked at 300 objects to find 1"):
        store.keys(label_selector="zone=z7", scan="warn")
    assert store.scans == 3
    strict = big("error")
    asks: list[Callable[[], object]] = [
        lambda: strict.select(label_selector="zone=z7"),
        lambda: strict.keys(label_selector="zone=z7"),
        lambda: strict.first(label_selector="zone=z299"),
        lambda: strict.any(field_selector="spec.nodeName=n1"),
        lambda: strict.count(label_selector="zone=z7"),
        lambda: strict.count(label_selector="zone=z7", where=bool),
    ]
    for ask in asks:
        with pytest.raises(ScanRefusedError):
            ask()
    assert len(strict.select(label_selector="zone=z7", scan="allow")) == 1
    assert strict.explain(label_selector="zone=z7").scans


def test_a_scan_warning_names_the_line_that_asked() -> None:
    """The warning points at the caller's code, not at kindex's, for each way of asking."""
    store = big("warn")
    asks: list[Callable[[], object]] = [
        lambda: store.select(label_selector="zone=z7"),
        lambda: store.keys(label_selector="zone=z7"),
        lambda: store.first(label_selector="zone=z299"),
        lambda: store.count(label_selector="zone=z7"),
        lambda: store.view().any(label_selector="zone=none"),
    ]
    for ask in asks:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            ask()
        assert [(each.category, each.filename) for each in caught] == [(ScanWarning, __file__)]


@pytest.mark.parametrize(
    ("options", "scans"),
    [
        ({}, False),  # everything was asked for
        ({"namespace": "prod"}, False),
        ({"where": lambda _obj: False}, False),  # a predicate is the caller's own
        ({"label_selector": "app=web"}, False),
        ({"label_selector": "app=none,zone=z7"}, False),
        ({"label_selector": "zone"}, False),  # all of them: a scan would find as many
        ({"label_selector": "zone=z7"}, True),
        ({"label_selector": "zone=z7", "namespace": "prod"}, True),
        ({"label_selector": "app=web,zone=z7"}, True),
        ({"field_selector": "spec.nodeName=n1"}, True),
    ],
)
def test_what_is_a_scan(options: Any, scans: bool) -> None:
    """A selector that is evaluated on more than 64 objects and on four times its answer is; nothing else is."""
    assert big().explain(**options).scans is scans


def test_few_objects_are_never_a_scan() -> None:
    """Up to 64 objects may be looked at without an index."""
    assert not big(count=64).explain(label_selector="zone=z7").scans
    assert big(count=65).explain(label_selector="zone=z7").scans
    big("error", count=64).select(label_selector="zone=z7")


# Values of indexes


def test_values_and_tallies_are_sorted() -> None:
    """index_values and tally give each value that objects have now, sorted, with its objects counted."""
    store = filled()
    assert store.index_values(by_node) == ["n1", "n2"]
    assert store.tally(by_node) == {"n1": 2, "n2": 2}
    assert list(store.tally(by_labels.key("app")).items()) == [("db", 1), ("web", 3)]
    assert store.index_values(NamespaceIndexer()) == ["prod", "test"]
    assert store.index_values(by_size) == [1, 2, 3, 5]
    assert store.tally(by_size) == {1: 2, 2: 1, 3: 1, 5: 1}
    assert store.index_values(LabelIndexer("app")) == ["db", "web"]
    for found in store.keys():  # noqa: SIM118 - no dict
        store.delete(found)
    assert store.index_values(by_node) == []


@pytest.mark.parametrize(
    ("index", "error", "sentence"),
    [
        (by_labels, IndexerError, "'app,tier' indexes app, tier; name one of them, such as by_labels.key('app')"),
        (
            LabelIndexer("zone"),
            UnknownIndexError,
            (
                "no index 'zone' in store 'pods' (it has: app,tier, namespace, size, spec.nodeName);"
                " declare it with indexers=[...], or add_indexers()"
            ),
        ),
        ("app", IndexerError, "'app' is no index; give an indexer, or a key of one: by_labels.key('app')"),
        (None, IndexerError, "None is no index; give an indexer, or a key of one: by_labels.key('app')"),
    ],
)
def test_values_of_what_is_no_index(index: Any, error: type[Exception], sentence: str) -> None:
    """Several keys, an index that is not there, or its name: each is an error that says what to give."""
    for ask in (filled().index_values, filled().tally):
        with pytest.raises(error) as refused:
            ask(index)
        assert str(refused.value) == sentence


def test_a_tally_that_python_would_merge_is_refused() -> None:
    """1 and True are two values, but one key of a dict: the tally says so, and index_values tells them apart."""
    mixed: Indexer[Pod, Any] = Indexer("mixed", lambda obj: obj["size"])
    store: Store[Pod] = Store(indexers=[mixed])
    store.replace([made("a", "prod", 1), made("b", "prod", True), made("c", "prod", [1, True])])
    assert [type(value) for value in store.index_values(mixed)] == [bool, int]
    assert (store.count(mixed.at(1)), store.count(mixed.at(True))) == (2, 2)
    with pytest.raises(IndexerError, match="has values that a dict cannot tell apart, such as 1 and True"):
        store.tally(mixed)
