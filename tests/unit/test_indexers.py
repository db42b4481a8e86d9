"""Indexers: what a declaration says, what it refuses, and the terms that it makes."""

from __future__ import annotations

import operator
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    AnnotationIndexer,
    Budget,
    FieldIndexer,
    FilterIndexer,
    Indexer,
    IndexerError,
    IndexFunctionError,
    IndexValueError,
    LabelIndexer,
    LabelSelector,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    PathSyntaxError,
    QueryError,
    SelectorError,
    SortedIndexer,
    Store,
    Term,
)
from tests.pods import names_of, pod

if TYPE_CHECKING:
    from collections.abc import Callable


def node_of(obj: dict[str, Any]) -> Any:
    return obj["spec"]["nodeName"]


def other(obj: dict[str, Any]) -> Any:
    return obj["spec"]["other"]


class Zone(StrEnum):
    A = "a"


# Declarations


@pytest.mark.parametrize(
    ("declare", "sentence"),
    [
        (lambda: Indexer("", node_of), "an indexer needs a name that is not empty, not ''"),
        (lambda: Indexer(None, node_of), "an indexer needs a name that is not empty, not None"),  # type: ignore[call-overload]
        (lambda: Indexer("node", None), "indexer 'node' needs an index function, not None"),  # type: ignore[call-overload]
        (lambda: Indexer("node", "spec.nodeName"), "indexer 'node' needs an index function, not 'spec.nodeName'"),  # type: ignore[call-overload]
        (lambda: Indexer("n", node_of, on_error="ignore"), "indexer 'n': on_error is 'raise' or 'skip', not 'ignore'"),  # type: ignore[call-overload]
        (
            LabelIndexer,
            "LabelIndexer needs a key, such as LabelIndexer('app'); for all keys, LabelIndexer.all(budget=...)",
        ),
        (lambda: LabelIndexer("app", ""), "a label key is text that is not empty, not ''"),
        (lambda: LabelIndexer(["app"]), "a label key is text that is not empty, not ['app']"),  # type: ignore[arg-type]
        (lambda: LabelIndexer("app", "tier", "app"), "LabelIndexer: a key is given twice in app, tier, app"),
        (
            lambda: LabelIndexer("app", path="spec.x[*].labels"),
            "path 'spec.x[*].labels' leads to many maps; a LabelIndexer reads one",
        ),
        (
            lambda: LabelIndexer.all(budget=None),  # type: ignore[arg-type]
            (
                "LabelIndexer.all() needs budget=Budget(...), not None: labels are unbounded and change, so"
                " what indexing all of them may cost has to be said"
            ),
        ),
        (
            lambda: LabelIndexer.all(budget=Budget(1), deny="app"),
            "deny takes several keys, such as ['app'], not one text",
        ),
        (FieldIndexer, "FieldIndexer needs a path, such as FieldIndexer('spec.nodeName')"),
        (lambda: FieldIndexer("a.b", "a['b']"), "FieldIndexer: a path is given twice in a.b, a['b']"),
        (
            lambda: FilterIndexer("watched"),
            "FilterIndexer 'watched' needs a label_selector, an annotation_filter or a predicate",
        ),
    ],
)
def test_a_wrong_declaration_says_what_to_write(declare: Callable[[], object], sentence: str) -> None:
    """Each slip in a declaration is an IndexerError whose sentence names it and says what is right."""
    with pytest.raises(IndexerError) as refused:
        declare()
    assert str(refused.value) == sentence
    assert isinstance(refused.value, ValueError)


def test_a_path_that_cannot_be_read_shows_where() -> None:
    """A bad path fails when the indexer is declared, not when the first object comes."""
    for declare in (FieldIndexer, lambda path: LabelIndexer("a", path=path), lambda path: SortedIndexer("s", path)):
        with pytest.raises(PathSyntaxError) as refused:
            declare("spec..nodeName")
        assert refused.value.position == 4


def test_a_filter_that_is_no_selector_fails_when_it_is_declared() -> None:
    """The selector of a FilterIndexer is read at once."""
    with pytest.raises(SelectorError):
        FilterIndexer("watched", label_selector="a in")


def test_equal_indexers_have_the_same_class_and_configuration() -> None:
    """What is declared twice alike is one indexer; any difference makes another."""
    same = [
        (Indexer("node", node_of), Indexer("node", node_of)),
        (LabelIndexer("app", "tier"), LabelIndexer("app", "tier")),
        (LabelIndexer.all(budget=Budget(9), deny=["a", "b"]), LabelIndexer.all(budget=Budget(9), deny=["b", "a"])),
        (FieldIndexer("spec.nodeName"), FieldIndexer("spec['nodeName']")),
        (OwnerIndexer(), OwnerIndexer()),
        (SortedIndexer("s", "a.b"), SortedIndexer("s", "a.b")),
        (FilterIndexer("f", label_selector="a=b"), FilterIndexer("f", label_selector={"a": "b"})),
        (AnnotationIndexer("a"), AnnotationIndexer("a")),
        (NamespaceIndexer(), NamespaceIndexer()),
    ]
    different = [
        (Indexer("node", node_of), Indexer("node", other)),
        (Indexer("node", node_of), Indexer("node2", node_of)),
        (Indexer("node", node_of), Indexer("node", node_of, on_error="skip")),
        (Indexer("node", node_of), SortedIndexer("node", node_of)),
        (LabelIndexer("app", "tier"), LabelIndexer("app")),
        (LabelIndexer("app"), LabelIndexer("app", path="spec.selector", name="app")),
        (LabelIndexer.all(budget=Budget(9)), LabelIndexer.all(budget=Budget(8))),
        (FieldIndexer("a"), FieldIndexer("a", "b", name="a")),
        (OwnerIndexer(), OwnerIndexer(controller_only=True)),
        (FilterIndexer("f", label_selector="a=b"), FilterIndexer("f", annotation_filter="a=b")),
    ]
    for left, right in same:
        assert left == right
        assert hash(left) == hash(right)
    for left, right in different:
        assert left != right


def test_an_indexer_is_a_constant() -> None:
    """A declaration cannot be changed afterwards: stores would not know."""
    for indexer in (
        Indexer("n", node_of),
        LabelIndexer("a"),
        FieldIndexer("a"),
        OwnerIndexer(),
        SortedIndexer("s", "a"),
    ):
        with pytest.raises(AttributeError):
            indexer.name = "other"  # type: ignore[misc]


def test_an_indexer_shows_how_it_was_declared() -> None:
    """Errors name both of two conflicting indexers, so their text has to tell them apart."""
    shown = [
        repr(each)
        for each in (
            Indexer("node", node_of),
            FieldIndexer("a.b"),
            OwnerIndexer(),
            NamespaceIndexer(),
            LabelIndexer("a"),
        )
    ]
    assert shown[:4] == [
        "Indexer('node', node_of)",
        "FieldIndexer('a.b')",
        "OwnerIndexer(controller_only=False)",
        "NamespaceIndexer()",
    ]
    assert "'a'" in shown[4]
    assert "metadata.labels" in shown[4]


# Values


def test_values_of_gives_what_an_object_would_be_filed_under() -> None:
    """``values_of`` is public, and gives values as the index function meant them."""
    obj = {
        "metadata": {"name": "a", "namespace": "x", "labels": {"app": "web", "n": None, "odd": 7}},
        "spec": {"nodeName": "n1", "on": True, "replicas": 3, "map": {"a": 1}},
    }
    assert Indexer("several", lambda _obj: ["a", 1, True, ("a", 2)]).values_of(obj) == ("a", 1, True, ("a", 2))  # type: ignore[list-item, return-value, comparison-overlap]
    assert Indexer("text", lambda _obj: "web").values_of(obj) == ("web",)
    assert NamespaceIndexer().values_of(obj) == ("x",)
    assert NamespaceIndexer().values_of({"metadata": {"name": "a"}}) == ()
    assert FieldIndexer("spec.on").values_of(obj) == ("true",)
    assert FieldIndexer("spec.replicas", "spec.nodeName").values_of(obj) == ("3", "n1")
    assert FieldIndexer("spec.map").values_of(obj) == ("",)
    assert FieldIndexer("spec.missing", "spec.map.b").values_of(obj) == ()
    assert LabelIndexer("n", "odd", "app", "missing").values_of(obj) == (("n", ""), ("app", "web"))
    assert LabelIndexer.all(budget=Budget(9), deny=["app"]).values_of(obj) == (("n", ""),)


def test_a_failing_index_function_is_named_with_object_and_cause() -> None:
    """The error has index, key and cause as attributes, and tells of the other policy."""
    with pytest.raises(IndexFunctionError) as failed:
        Indexer("node", node_of).values_of(pod("web-1"))
    error = failed.value
    assert str(error) == (
        "index 'node' failed on prod/web-1: KeyError: 'spec'; nothing was changed"
        ' (on_error="skip" files such objects under no value)'
    )
    assert (error.index, error.key, error.reason) == ("node", ObjectKey("prod", "web-1"), "KeyError: 'spec'")
    assert isinstance(error.__cause__, KeyError)
    assert isinstance(error, ValueError)


def test_an_unusable_value_is_a_type_error_with_the_value() -> None:
    """IndexValueError says what the function gave."""
    with pytest.raises(IndexValueError, match=r"dict {'a': 1} cannot be an index value") as failed:
        Indexer("bad", lambda _obj: [{"a": 1}]).values_of(pod("web-1"))
    assert isinstance(failed.value, TypeError)
    assert isinstance(failed.value, IndexFunctionError)


def test_a_generator_that_fails_halfway_is_a_failing_function() -> None:
    """What raises while the values are taken is the user's code, whatever it raises; also a TypeError."""

    def values_of(_obj: object) -> Any:
        yield "a"
        raise TypeError("mine")

    with pytest.raises(IndexFunctionError, match="mine") as failed:
        Indexer("gen", values_of).values_of(pod("web-1"))
    assert isinstance(failed.value.__cause__, TypeError)


def test_skip_files_under_no_value() -> None:
    """With on_error="skip" a failing function gives no value."""
    assert Indexer("node", node_of, on_error="skip").values_of(pod("a")) == ()


def test_an_interrupt_is_never_skipped() -> None:
    """on_error is for exceptions of index functions, not for Ctrl-C."""

    def interrupted(_obj: object) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Indexer("node", interrupted, on_error="skip").values_of(pod("a"))


# Labels and annotations


def test_a_label_indexer_names_its_keys_and_path() -> None:
    """The name says what is indexed; another map than the labels is named."""
    assert LabelIndexer("app", "tier").name == "app,tier"
    assert LabelIndexer("app", path="spec.selector").name == "spec.selector[app]"
    assert LabelIndexer.all(budget=Budget(9)).name == "*"
    assert LabelIndexer("app", name="apps").name == "apps"
    assert AnnotationIndexer("team").path == "metadata.annotations"


def test_all_annotations_are_annotations() -> None:
    """``AnnotationIndexer.all`` reads annotations, not labels."""
    every = AnnotationIndexer.all(budget=Budget(9))
    assert every.path == "metadata.annotations"
    assert every.values_of({"metadata": {"labels": {"a": "label"}, "annotations": {"b": "note"}}}) == (("b", "note"),)


def test_a_label_key_is_one_of_those_that_are_indexed() -> None:
    """``key`` refuses a key that is not indexed, and lists those that are."""
    with pytest.raises(IndexerError) as refused:
        LabelIndexer("app", "tier").key("zone")
    assert str(refused.value) == "indexer 'app,tier' does not index key 'zone'; it indexes app, tier"
    every = LabelIndexer.all(budget=Budget(9), deny=["hash"])
    assert every.key("zone").key == "zone"
    with pytest.raises(IndexerError, match="does not index key 'hash'; it indexes all but hash"):
        every.key("hash")


def test_a_label_indexer_has_no_at_of_its_own() -> None:
    """Several keys make no single value: a term is made of one key."""
    assert not hasattr(LabelIndexer("app"), "at")


def test_the_values_of_labels_are_text() -> None:
    """Asking for a label with a number is a slip that would find nothing."""
    app = LabelIndexer("app").key("app")
    for ask in (lambda: app.at(7), lambda: app.at(None), lambda: app.among(["a", 7])):  # type: ignore[arg-type, list-item]
        with pytest.raises(IndexerError, match=r"^label 'app' has text values, not (int|NoneType) (7|None)$"):
            ask()
    with pytest.raises(IndexerError, match=r"takes several values; for one, use at\('web'\)"):
        app.among("web")
    assert app.at(Zone.A) == app.at("a")


def test_two_label_indexers_of_one_key_share_its_index() -> None:
    """A key that two LabelIndexers name is indexed once, and stays until the last of them is removed."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app"), LabelIndexer("app", "tier")])
    assert len(store._core.generation.indexes) == 3  # the namespaces, app, tier
    store.put(pod("a", app="web", tier="gold"))
    store.remove_indexer("app")
    assert not store.explain(label_selector="app=web").scanned
    store.remove_indexer("app,tier")
    assert store.explain(label_selector="app=web").scanned
    assert len(store._core.generation.indexes) == 1
    store._check()


# Fields, owners, filters, order


def test_asking_for_a_field_takes_numbers_and_booleans() -> None:
    """Fields are filed as text, so 3 asks for "3" and True for "true"."""
    by_field = FieldIndexer("spec.x")
    assert by_field.at(3) == by_field.at("3")  # type: ignore[arg-type]
    assert by_field.at(True) == by_field.at("true")  # type: ignore[arg-type]
    with pytest.raises(IndexerError, match=r"indexer 'spec\.x': NoneType None cannot be an index value"):
        by_field.at(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "described"),
    [(None, "NoneType None"), (1.5, "float 1.5"), (["a"], r"list \['a'\]"), (("a", None), "NoneType None")],
)
def test_a_term_needs_an_index_value(value: Any, described: str) -> None:
    """What cannot be an index value finds nothing for ever, so asking for it is an error."""
    by_node = Indexer("node", node_of)
    for ask in (by_node.at, lambda each: by_node.among([each])):
        with pytest.raises(IndexerError, match=f"^indexer 'node': {described} cannot be an index value"):
            ask(value)


def test_among_takes_several_values() -> None:
    """One text would be taken apart into its characters."""
    with pytest.raises(IndexerError) as refused:
        Indexer("node", node_of).among("n1")
    assert str(refused.value) == "among() of 'node' takes several values; for one, use at('n1')"


def owned_by(name: str, *owners: dict[str, Any]) -> dict[str, Any]:
    made = pod(name)
    if owners:
        made["metadata"]["ownerReferences"] = list(owners)
    return made


def reference(name: str, uid: str, *, controller: bool = True, kind: str = "ReplicaSet") -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": uid, "controller": controller}


def test_an_owner_is_found_by_uid_and_by_name_and_both_must_agree() -> None:
    """Children of a namesake that was deleted, or of one in another namespace, are not the owner's."""
    by_owner = OwnerIndexer()
    store: Store[Any] = Store(indexers=[by_owner])
    store.put(owned_by("mine", reference("web", "u2")))
    store.put(owned_by("of-the-old-one", reference("web", "u1")))
    store.put(owned_by("orphan"))
    owner = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": "web", "namespace": "prod", "uid": "u2"},
    }
    assert names_of(store.select(by_owner.at(owner))) == ["mine"]
    assert names_of(store.select(by_owner.at("u2"))) == ["mine"]
    assert names_of(store.select(by_owner.at(reference("web", "u2")))) == ["mine"]
    without_uid = {**owner, "metadata": {"name": "web", "namespace": "prod"}}
    assert names_of(store.select(by_owner.at(without_uid))) == ["mine", "of-the-old-one"]
    assert names_of(store.select(by_owner.named("ReplicaSet", "web", namespace="prod", group="apps"))) == [
        "mine",
        "of-the-old-one",
    ]
    for wrong in (
        {"namespace": "test", "group": "apps"},
        {"namespace": "prod"},
        {"namespace": "prod", "group": "batch"},
    ):
        assert store.select(by_owner.named("ReplicaSet", "web", **wrong)) == []
    assert names_of(store.select(by_owner.orphans())) == ["orphan"]


def test_what_index_values_gives_can_be_asked_for() -> None:
    """Each value of an owner index, a UID or four texts, finds the objects that were filed under it."""
    by_owner = OwnerIndexer()
    store: Store[Any] = Store(indexers=[by_owner])
    store.put(owned_by("a", reference("web", "u1")))
    values = store.index_values(by_owner)
    assert values == ["u1", ("prod", "apps", "ReplicaSet", "web")]
    assert [store.count(by_owner.at(value)) for value in values] == [1, 1]


def test_a_controller_is_the_owner_that_says_so() -> None:
    """With controller_only an owner without the mark owns nothing, and its objects are orphans."""
    by_controller = OwnerIndexer(controller_only=True)
    store: Store[Any] = Store(indexers=[by_controller, OwnerIndexer()])
    store.put(owned_by("a", reference("web", "u1"), reference("x", "u2", controller=False)))
    store.put(owned_by("b", reference("x", "u2", controller=False)))
    assert names_of(store.select(by_controller.at("u1"))) == ["a"]
    assert store.select(by_controller.at("u2")) == []
    assert names_of(store.select(by_controller.orphans())) == ["b"]
    assert names_of(store.select(OwnerIndexer().at("u2"))) == ["a", "b"]


@pytest.mark.parametrize("nobody", [{}, {"kind": "ReplicaSet", "metadata": {"name": "web"}}, None, {"name": "web"}])
def test_an_owner_that_says_nothing_is_refused(nobody: object) -> None:
    """An owner without UID, kind or namespace cannot be told from others; finding nothing would mean "no children"."""
    with pytest.raises(
        IndexerError, match=r"cannot look up an owner without uid.*named\(kind, name, namespace=\.\.\.\)"
    ):
        OwnerIndexer().at(nobody)


@pytest.mark.parametrize("slip", ["", ObjectKey("prod", "web"), ("ReplicaSet", "web"), (), ("a", "b", "c", 1)])
def test_a_slip_for_an_owner_is_refused(slip: Any) -> None:
    """An empty UID or a key would find nothing, and a controller would create its children again."""
    with pytest.raises(IndexerError):
        OwnerIndexer().at(slip)


def test_a_filter_wants_all_of_its_parts() -> None:
    """Labels, annotations and predicate all have to pass; ``~`` gives the others."""
    watched: FilterIndexer[dict[str, Any]] = FilterIndexer(
        "watched",
        label_selector={"team": "a"},
        annotation_filter="ignore!=yes",
        predicate=lambda obj: obj["metadata"]["name"] != "c",
    )
    store: Store[Any] = Store(indexers=[watched])
    for name in "abc":
        store.put(pod(name, team="a"))
    ignored = pod("d", team="a")
    ignored["metadata"]["annotations"] = {"ignore": "yes"}
    store.put(ignored)
    store.put(pod("e", team="b"))
    assert names_of(store.select(watched.passing())) == ["a", "b"]
    assert names_of(store.select(~watched.passing())) == ["c", "d", "e"]
    store.put(pod("a", team="b"))
    assert names_of(store.select(watched.passing())) == ["b"]
    store._check()


FILTERS = {
    "": "abcdef",
    "zone=x": "a",
    "zone==x": "a",
    "zone=": "b",
    "zone": "abc",
    "!zone": "def",
    "zone!=x": "bcdef",
    "zone in (x,y)": "ac",
    "zone in (x,)": "ab",
    "zone notin (x)": "bcdef",
    "zone notin (x,),zone": "c",
    "zone,kubernetes.io/ingress.class in (nginx)": "c",
    "!zone,!kubernetes.io/ingress.class": "ef",
}
"""What external-dns takes as --label-filter and --annotation-filter, and which objects pass."""


@pytest.mark.parametrize("text", FILTERS)
@pytest.mark.parametrize("over", ["labels", "annotations"])
def test_filters_of_a_configuration_mean_what_selectors_do(over: str, text: str) -> None:
    """Over labels and annotations alike; a key that is absent is not one that is empty, and blank passes all."""
    ingress = "kubernetes.io/ingress.class"
    maps: dict[str, dict[str, str] | None] = {
        "a": {"zone": "x"},
        "b": {"zone": "", ingress: "https://no-label/value"},
        "c": {"zone": "y", ingress: "nginx"},
        "d": {ingress: "nginx"},
        "e": {},
        "f": None,
    }
    watched: FilterIndexer[Any] = (
        FilterIndexer("watched", label_selector=text)
        if over == "labels"
        else FilterIndexer("watched", label_selector="", annotation_filter=text)
    )
    store: Store[Any] = Store(indexers=[watched])
    store.replace([{"metadata": {"name": name, "namespace": "prod", over: held}} for name, held in maps.items()])
    assert "".join(names_of(store.select(watched.passing(), scan="error"))) == FILTERS[text]
    assert "".join(names_of(store.select(~watched.passing()))) == "".join(sorted(set("abcdef") - set(FILTERS[text])))


def test_what_a_filter_leaves_out_is_never_walked() -> None:
    """A predicate runs on what passes and on nothing else; an object that changes sides is walked or not."""
    watched: FilterIndexer[Any] = FilterIndexer("watched", label_selector="team=a", annotation_filter="!ignore")
    store: Store[Any] = Store(indexers=[watched])
    store.replace([pod(f"p{number}", team="b") for number in range(50)] + [pod("mine", team="a")])
    walked: list[str] = []

    def walk(obj: dict[str, Any]) -> bool:
        walked.append(obj["metadata"]["name"])
        return True

    store.select(watched.passing(), where=walk)
    store.put(pod("p7", team="a"))
    ignored = pod("mine", team="a")
    ignored["metadata"]["annotations"] = {"ignore": ""}
    store.put(ignored)
    store.select(watched.passing(), where=walk)
    assert walked == ["mine", "p7"]
    store._check()


@pytest.mark.parametrize(("low", "high"), [("a", 1), (1, True), (("a",), "a")])
def test_the_ends_of_a_range_are_of_one_type(low: Any, high: Any) -> None:
    """A range from text to a number holds nothing, so it is an error."""
    size: SortedIndexer[Any, Any] = SortedIndexer("size", lambda obj: obj["size"])
    with pytest.raises(IndexerError, match="both ends must be of one type"):
        size.between(low, high)


def test_a_prefix_is_text() -> None:
    """Numbers do not start with anything."""
    with pytest.raises(IndexerError, match=r"starting_with\(\) of 'created' takes text, not 20"):
        SortedIndexer("created", "metadata.creationTimestamp").starting_with(20)  # type: ignore[arg-type]


# Terms


def test_terms_are_values() -> None:
    """Terms that say the same are equal and hash alike; they cannot be changed."""
    by_node, by_labels = FieldIndexer("spec.nodeName"), LabelIndexer("app")
    made = [
        (by_node.at("n1"), FieldIndexer("spec.nodeName").at("n1")),
        (by_labels.key("app").at("web"), LabelIndexer("app", "tier").key("app").at("web")),
        (by_node.at("a") & by_node.at("b"), by_node.at("a") & by_node.at("b")),
        (by_labels.satisfying("app=web"), by_labels.satisfying({"app": "web"})),
        (~by_node.at("n1"), ~by_node.at("n1")),
    ]
    for left, right in made:
        assert left == right
        assert hash(left) == hash(right)
    assert by_node.at("n1") != by_node.at("n2")
    assert Indexer("x", lambda _o: 1).at(1) != Indexer("x", lambda _o: True).at(True)
    with pytest.raises(AttributeError):
        by_node.at("n1").keys = ()  # type: ignore[attr-defined]


def test_terms_combine_and_read_as_what_they_mean() -> None:
    """The text of a term is a sentence, with brackets where they matter."""
    created = SortedIndexer("created", "metadata.creationTimestamp")
    by_labels, by_node = LabelIndexer("app"), FieldIndexer("spec.nodeName")
    app = by_labels.key("app")
    shown = {
        app.at("web") & app.absent() | ~by_node.among(["n1", "n2"]): "((app = 'web' and app is absent) or not"
        " spec.nodeName in ('n1', 'n2'))",
        app.exists(): "not app is absent",
        ~~app.at("web"): "app = 'web'",
        created.between("2026", None): "'2026' <= created",
        created.between(None, "2027"): "created <= '2027'",
        created.starting_with("2026-01"): "created starts with '2026-01'",
        created.largest(): "largest created",
        by_labels.satisfying("app in (b,a),!x"): "metadata.labels satisfies 'app in (a,b),!x'",
        Indexer("i", lambda _o: 1).at(1): "i = 1",
    }
    assert {str(term): text for term, text in shown.items() if str(term) != text} == {}


@pytest.mark.parametrize("combine", [operator.and_, operator.or_])
def test_a_thousand_terms_stay_one_level_deep(combine: Callable[[Any, Any], Any]) -> None:
    """Terms joined in a loop do not nest, so neither text nor answer runs out of stack."""
    by_node = FieldIndexer("spec.nodeName")
    term: Term[object] = by_node.at("n0")
    for number in range(1, 5_000):
        term = combine(term, by_node.at(f"n{number}"))
    store: Store[Any] = Store(indexers=[by_node])
    store.put(pod("a", node="n7"))
    assert "n4999" in str(term)
    assert store.count(term) == (1 if combine is operator.or_ else 0)


@pytest.mark.parametrize("use", [bool, lambda term: term and term, lambda term: not term, lambda term: term or None])
def test_a_term_has_no_truth_value(use: Callable[[Any], object]) -> None:
    """``a and b`` would silently be ``b``; the error says which operators there are."""
    with pytest.raises(QueryError) as refused:
        use(FieldIndexer("spec.nodeName").at("n1"))
    assert str(refused.value) == (
        "a term has no truth value; combine terms with & | ~, not and/or/not (spec.nodeName = 'n1')"
    )


@pytest.mark.parametrize("combine", [operator.and_, operator.or_])
def test_a_term_combines_with_terms_only(combine: Callable[[Any, Any], Any]) -> None:
    """Anything else is a TypeError, as for other operators of Python."""
    for wrong in ("app=web", None, LabelSelector.parse("app=web"), True):
        with pytest.raises(TypeError):
            combine(FieldIndexer("spec.nodeName").at("n1"), wrong)


def test_terms_match_objects_on_their_own() -> None:
    """A term can be asked about an object without a store; at the edge of a store it cannot."""
    by_node, by_labels = FieldIndexer("spec.nodeName"), LabelIndexer("app")
    created: SortedIndexer[Any, int] = SortedIndexer("size", lambda obj: len(obj["metadata"]["name"]))
    obj = pod("abc", node="n1", app="web")
    app = by_labels.key("app")
    true = [
        by_node.at("n1"),
        by_node.among(["n0", "n1"]),
        ~by_node.at("n2"),
        app.exists(),
        app.at("web") & by_node.at("n1"),
        app.at("db") | by_node.at("n1"),
        created.between(3, 3),
        by_labels.satisfying("app!=db"),
    ]
    assert [str(term) for term in true if not term.matches(obj)] == []
    assert [str(term) for term in true if (~term).matches(obj)] == []
    with pytest.raises(QueryError, match="depends on the others: ask a store"):
        created.largest().matches(obj)
