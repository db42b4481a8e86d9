"""SelectorIndexer: what is filed where, what is looked at, and what is refused."""

from __future__ import annotations

import warnings
from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from kubernetes.client import V1LabelSelector, V1ObjectMeta, V1Pod, V1Service, V1ServiceSpec

from kindex import (
    Advisor,
    Budget,
    FieldIndexer,
    IndexerError,
    IndexFunctionError,
    LabelIndexer,
    LabelSelector,
    ObjectKey,
    PartialObjectError,
    Requirement,
    SelectorIndexer,
    SkippedWarning,
    Store,
    forecast,
)
from kindex.decoding import LazyDecoder
from kindex.indexers.reading import paths_read
from kindex.selector_index import SelectorIndex
from kindex.selector_places import placed, plainest
from kindex.transforms import keep_paths
from tests.interruptions import interrupted_at
from tests.pods import pod

selecting = SelectorIndexer("spec.selector")
applying = SelectorIndexer("spec.podSelector")


def service(name: str, selector: object, namespace: str = "prod") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": namespace}, "spec": {"selector": selector}}


def policy(name: str, selector: object) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "prod"}, "spec": {"podSelector": selector}}


def of_services(**selectors: object) -> Store[Any]:
    store: Store[Any] = Store(name="services", indexers=[selecting])
    store.replace([service(name, selector) for name, selector in selectors.items()])
    return store


def names(store: Any, *terms: Any, **more: Any) -> list[str]:
    return sorted(key.name for key in store.keys(*terms, **more))


def places(selector: str, crowd: dict[tuple[str, ...], int] | None = None) -> set[tuple[str, ...]]:
    return set(placed(LabelSelector.parse(selector), lambda place: (crowd or {}).get(place, 0)).places)


# What is filed where


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("app=web", {("app", "web")}),
        ("a,app in (db,web),z=1", {("z", "1")}),
        ("a,app in (db,web)", {("app", "db"), ("app", "web")}),
        ("a,!b", {("a",)}),
        ("app,app notin (db)", {("app",)}),
        ("app in (db,web),app notin (db)", {("app", "web")}),
        ("app in (a,b),app in (b,c)", {("app", "b")}),
        ("!a,b notin (c)", {()}),
        ("", {()}),
        ("b=1,a=1", {("a", "1")}),
    ],
)
def test_a_selector_is_filed_under_its_most_restrictive_requirement(
    selector: str, expected: set[tuple[str, ...]]
) -> None:
    """An equality before ``in`` before ``exists``, and what only forbids in the rest."""
    assert places(selector) == expected


def test_of_several_equalities_the_rarest_is_taken() -> None:
    """What all selectors have in common tells none of them from another."""
    assert places("a=all,z=own", {("a", "all"): 5, ("z", "own"): 1}) == {("z", "own")}
    store: Store[Any] = Store(indexers=[selecting])
    for number in range(100):
        store.put(service(f"s{number}", {"a": "all", "z": f"own-{number}"}))
    plan = store.explain(selecting.matching({"a": "all", "z": "own-7"}))
    assert (plan.returned, plan.steps[0].candidates) == (1, 2)  # the first was put when nothing was there


@pytest.mark.parametrize(
    "selector",
    ["a in (b),a in (c)", "a=b,!a", "a,!a", "a=b,a!=b", "a in (b,c),a notin (b,c)", "x=1,a=b,a=c"],
)
def test_a_selector_that_can_match_nothing_is_not_filed(selector: str) -> None:
    """It is no value, takes no place, and cannot be looked up."""
    assert plainest(LabelSelector.parse(selector)) is None
    expressions = [
        {
            "key": each.key,
            "operator": {"in": "In", "=": "In", "notin": "NotIn", "!=": "NotIn", "exists": "Exists"}.get(
                each.operator, "DoesNotExist"
            ),
            "values": list(each.values),
        }
        for each in LabelSelector.parse(selector).requirements
    ]
    assert applying.values_of(policy("p", {"matchExpressions": expressions})) == ()
    with pytest.raises(IndexerError, match="does not file selectors that can match nothing"):
        applying.at(selector)


def test_one_selector_in_many_words_is_one_value() -> None:
    """The order, an ``In`` of one value and repetitions make no other selector."""
    store: Store[Any] = Store(indexers=[applying])
    expression = {"key": "app", "operator": "In", "values": ["web", "web"]}
    store.put(policy("labels", {"matchLabels": {"tier": "gold", "app": "web"}}))
    store.put(policy("both", {"matchLabels": {"tier": "gold"}, "matchExpressions": [expression, expression]}))
    store.put(policy("model", V1LabelSelector(match_labels={"app": "web", "tier": "gold"})))
    assert store.tally(applying) == {"app=web,tier=gold": 3}
    assert names(store, applying.at("tier=gold,app in (web)")) == ["both", "labels", "model"]
    assert names(store, applying.at({"app": "web"})) == []
    assert names(store, applying.among(["app=web", LabelSelector.parse("app=web,tier=gold")])) == [
        "both",
        "labels",
        "model",
    ]


@pytest.mark.parametrize("selector", [None, {}])
def test_a_plain_map_that_is_null_or_empty_selects_nothing(selector: object) -> None:
    """As a Service that a cluster shows: ``not`` finds it, no labels do."""
    store = of_services(by_hand=selector, web={"app": "web"})
    assert names(store, selecting.matching({"app": "web"})) == ["web"]
    assert names(store, selecting.matching({})) == []
    assert names(store, ~selecting.matching({"app": "web"})) == ["by_hand"]


def test_a_selector_object_that_is_empty_selects_everything_and_null_what_the_api_says() -> None:
    """A NetworkPolicy that leaves its podSelector out has an empty one; elsewhere null selects nothing."""
    store: Store[Any] = Store(indexers=[applying])
    store.put(policy("empty", {}))
    store.put(policy("null", None))
    store.put(policy("nulls", {"matchLabels": None, "matchExpressions": None}))
    assert names(store, applying.matching({})) == ["empty", "null", "nulls"]
    of_budgets = SelectorIndexer("spec.selector", form="object")
    assert of_budgets.values_of(service("pdb", None)) == ()
    assert of_budgets.values_of(service("pdb", {})) == ("",)
    assert SelectorIndexer("spec.selector", form="object", null="everything").values_of(service("x", None)) == ("",)


def test_a_peer_without_a_namespace_selector_has_none() -> None:
    """With ``[*]`` an object has as many selectors as there are, and each is looked at."""
    by_namespaces = SelectorIndexer("spec.ingress[*].from[*].namespaceSelector")
    peers = [{"podSelector": {}}, {"namespaceSelector": {"matchLabels": {"team": "a"}}}, {"namespaceSelector": None}]
    ingress = [{"from": peers}, {"from": [{"namespaceSelector": {"matchLabels": {"team": "b"}}}]}, {}]
    store: Store[Any] = Store(indexers=[by_namespaces])
    store.put({"metadata": {"name": "p", "namespace": "x"}, "spec": {"ingress": ingress}})
    found = [names(store, by_namespaces.matching({"team": team})) for team in "abc"]
    assert found == [["p"], ["p"], []]
    # Both match one of its selectors: it neither gains nor loses.
    assert names(store, by_namespaces.matching_differs({"team": "a"}, {"team": "b"})) == []
    assert names(store, by_namespaces.matching_differs({"team": "a"}, {"team": "c"})) == ["p"]


# Asking


def test_a_pod_that_turns_ready_keeps_its_labels() -> None:
    """So the difference alone leaves its endpoints stale; the union finds the services to look at again."""
    waiting, ready = pod("a", app="web"), pod("a", app="web")
    ready["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    services = of_services(web={"app": "web"}, db={"app": "db"})
    pods: Store[Any] = Store(name="pods")
    pods.put(waiting)
    addresses = {"web": [], "db": []}

    def is_ready(obj: dict[str, Any]) -> bool:
        return any(each["status"] == "True" for each in obj.get("status", {}).get("conditions", ()))

    def refresh(asked: list[Any]) -> None:
        for each in asked:
            name, selector = each["metadata"]["name"], LabelSelector.of_service(each)
            addresses[name] = [p["metadata"]["name"] for p in pods.select(label_selector=selector, where=is_ready)]

    (delta,) = pods.put(ready)
    refresh(services.select(selecting.matching_differs(delta.old, delta.new), namespace="prod"))
    assert addresses == {"web": [], "db": []}  # stale: the pod is ready
    refresh(services.select(selecting.matching_either(delta.old, delta.new), namespace="prod"))
    assert addresses == {"web": ["a"], "db": []}


def test_none_is_no_object() -> None:
    """What was added had no state before; what was deleted has none after: even what selects everything gains it."""
    store: Store[Any] = Store(indexers=[applying])
    store.put(policy("all", {}))
    store.put(policy("web", {"matchLabels": {"app": "web"}}))
    web = pod("a", app="web")
    for ask in (applying.matching_differs, applying.matching_either):
        assert names(store, ask(None, web)) == names(store, ask(web, None)) == ["all", "web"]
        assert names(store, ask(None, None)) == []
    assert names(store, applying.matching_differs({}, web)) == ["web"]


@pytest.mark.parametrize(
    "asked",
    [
        {"app": "web", "tier": "x"},
        pod("a", app="web"),
        V1Pod(metadata=V1ObjectMeta(name="a", labels={"app": "web"})),
        LazyDecoder().decode(b'{"metadata":{"name":"a","labels":{"app":"web"}}}'),
        LazyDecoder().decode(b'{"metadata":{"name":"a","labels":{"app":"web"}}}').metadata.labels,  # type: ignore[union-attr]
        {"app": "web", "odd": 3, "null": None, "metadata": "a label of this name"},
        SimpleNamespace(metadata=SimpleNamespace(labels={"app": "web"})),
    ],
)
def test_labels_and_objects_are_asked_with_alike(asked: object) -> None:
    """A map of labels, or an object of any client; what is no label is left out."""
    assert names(of_services(web={"app": "web"}, db={"app": "db"}), selecting.matching(asked)) == ["web"]


@pytest.mark.parametrize("slip", [None, "app=web", 7, ["app"], {"spec": {"nodeName": "n1"}}, {"app": ["web"]}])
def test_a_slip_for_labels_is_refused(slip: object) -> None:
    """It would find nothing, or only what selects everything."""
    with pytest.raises(IndexerError, match="neither a map of labels nor an object with metadata"):
        selecting.matching(slip)


def test_only_candidates_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 10,000 selectors a pod with ten labels meets those that share what they are filed under."""
    store: Store[Any] = Store(indexers=[selecting])
    labels = {f"label-{number}": "value" for number in range(10)}
    close = [{"label-0": "value", "label-1": "value" if number < 3 else f"other-{number}"} for number in range(20)]
    far = [{"app": f"app-{number}", "label-0": "value"} for number in range(9_980)]
    store.replace([service(f"s{number}", selector) for number, selector in enumerate(far + close)])
    plan = store.explain(selecting.matching(labels))
    assert (plan.returned, plan.objects, plan.scanned, plan.scans) == (3, 10_000, 0, False)
    step = plan.steps[0]
    assert step.candidates <= 20
    assert f"{step.candidates} candidates, {step.evaluated} evaluated, at most 10,000, 3 left" in str(plan)
    counted = 0
    meant = Requirement.matches_value

    def counting(self: Requirement, value: str | None) -> bool:
        nonlocal counted
        counted += 1
        return meant(self, value)

    monkeypatch.setattr(Requirement, "matches_value", counting)
    assert len(store.select(selecting.matching(labels))) == 3
    assert 0 < counted <= step.evaluated


def test_explain_adds_up_what_combined_terms_look_at() -> None:
    """A union, and the two sides of an update."""
    store = of_services(web={"app": "web", "tier": "x"}, db={"app": "db"})
    either = store.explain(selecting.matching_either({"app": "web"}, {"app": "db"})).steps[0]
    assert (either.candidates, either.evaluated, either.left) == (2, 1, 1)
    union = store.explain(selecting.matching({"app": "web"}) | ~selecting.matching({"app": "db"})).steps[0]
    assert (union.candidates, union.evaluated, union.left) == (2, 1, 1)


def test_a_pods_labels_drive_no_other_query_out() -> None:
    """Programs are kept for questions that come again, and each pod has labels of its own."""
    store = of_services(web={"app": "web"})
    kept = store._core.generation.schema.programs
    for number in range(5):
        store.select(selecting.matching({"pod": f"p-{number}"}))
        store.select(~(selecting.matching({"pod": f"p-{number}"}) & selecting.at("app=web")))
    assert not kept
    store.select(namespace="prod")
    assert len(kept) == 1


# The other direction


def test_services_whose_selector_contains_a_gateways() -> None:
    """A LabelIndexer over ``spec.selector`` answers it, wherever the gateway's selector leaves keys out."""
    by_selector = LabelIndexer("istio", "app", path="spec.selector")
    store: Store[Any] = Store(indexers=[by_selector])
    store.put(service("both", {"istio": "ingress", "app": "gw"}))
    store.put(service("more", {"istio": "ingress", "app": "gw", "revision": "1"}))
    store.put(service("half", {"istio": "ingress"}))
    store.put(service("other", {"istio": "egress", "app": "gw"}))
    store.put(service("none", None))

    def selected(gateway: dict[str, str]) -> list[str]:
        return names(store, by_selector.satisfying(gateway), scan="error")

    assert selected({"istio": "ingress", "app": "gw"}) == ["both", "more"]  # an index of whole selectors misses "more"
    assert selected({"istio": "ingress"}) == ["both", "half", "more"]
    assert selected({"istio": "gone"}) == []
    # A key that is not indexed is checked on what the others leave.
    assert selected({"istio": "ingress", "revision": "1"}) == ["more"]
    assert names(store, by_selector.satisfying("istio,!app")) == ["half"]
    store.put(service("more", {"istio": "ingress"}))
    store.delete(ObjectKey("prod", "both"))
    assert selected({"istio": "ingress", "app": "gw"}) == []
    store._check()


# Bad input


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ({"matchExpressions": [{"key": "a", "operator": "Near"}]}, "must be In, NotIn, Exists or DoesNotExist"),
        ({"matchLabels": ["app"]}, "matchLabels: must be a map, not list"),
        ({"matchLabels": {"app": 7}}, "must be text, not int"),
        ({"matchExpressions": {"key": "a"}}, "matchExpressions: must be a list, not dict"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}, "needs at least one"),
        ("app=web", "must be a map or a model"),
    ],
)
def test_a_selector_that_the_api_would_refuse_fails_the_write(selector: object, reason: str) -> None:
    """The error names the object and the member; nothing is changed."""
    store: Store[Any] = Store(indexers=[applying])
    store.put(policy("bad", {}))
    with pytest.raises(IndexFunctionError, match="failed on prod/bad: SelectorObjectError: selector object") as caught:
        store.put(policy("bad", selector))
    assert reason in str(caught.value)
    assert names(store, applying.matching({})) == ["bad"]
    store._check()


@pytest.mark.parametrize("selector", [["app"], "app=web", {"app": 7}, {"app": {"x": 1}}, {"not a key": "x"}])
def test_a_map_that_is_none_is_left_out_with_one_warning(selector: object) -> None:
    """With ``on_error="skip"``: its key is told, once however often it comes, and the others go on."""
    lenient = SelectorIndexer("spec.selector", on_error="skip")
    store: Store[Any] = Store(indexers=[lenient])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            store.replace([service("bad", selector), service("good", {"app": "web"})])
            store.put(service("bad", selector))
    assert [str(each.message).startswith("index 'spec.selector' leaves out prod/bad: ") for each in told] == [True]
    assert [each.category for each in told] == [SkippedWarning]
    assert names(store, lenient.matching({"app": "web"})) == ["good"]
    assert store.skipped() == {"spec.selector": 1}
    store.put(service("bad", {"app": "web"}))
    assert names(store, lenient.matching({"app": "web"})) == ["bad", "good"]
    assert store.skipped() == {"spec.selector": 0}


def test_a_selector_object_at_the_path_of_a_map_is_told() -> None:
    """The commonest slip of a declaration: a Deployment's selector is no Service's."""
    with pytest.raises(IndexFunctionError, match=r"read by SelectorIndexer\(\.\.\., form='object'\)"):
        selecting.values_of(service("d", {"matchLabels": {"app": "web"}}))


def test_what_a_transform_dropped_is_no_odd_data() -> None:
    """It would be missing from all objects, so it is an error in spite of ``on_error="skip"``."""
    decoder = LazyDecoder(transform=keep_paths("spec.type"))
    obj = decoder.decode(b'{"metadata":{"name":"a","namespace":"x"},"spec":{"selector":{"app":"web"}}}')
    with pytest.raises(IndexFunctionError) as caught:
        SelectorIndexer("spec.selector", on_error="skip").values_of(obj)
    assert isinstance(caught.value.__cause__, PartialObjectError)


@pytest.mark.parametrize(
    ("declare", "message"),
    [
        (lambda: SelectorIndexer("spec.selector", form="text"), "form is 'map' or 'object', not 'text'"),
        (lambda: SelectorIndexer("spec.podSelector", null="all"), "null is 'nothing' or 'everything', not 'all'"),
        (lambda: SelectorIndexer("spec.selector", null="everything"), "null= is for form='object'"),
        (lambda: SelectorIndexer("spec.selector", on_error="log"), "on_error is 'raise' or 'skip'"),
        (lambda: selecting.among("app=web"), "takes several selectors; for one, use at"),
    ],
)
def test_a_wrong_declaration_is_refused(declare: Any, message: str) -> None:
    """At once, not by an answer that is empty."""
    with pytest.raises(IndexerError, match=message):
        declare()


def test_declarations_are_values() -> None:
    """Equal by path, form and what null means; the form goes by the name at the end of the path."""
    assert SelectorIndexer("spec.selector") == SelectorIndexer(path="spec.selector", form="map")
    assert SelectorIndexer("spec.selector") != SelectorIndexer("spec.selector", form="object")
    assert applying == SelectorIndexer("spec.podSelector", form="object", null="everything")
    assert repr(applying) == "SelectorIndexer('spec.podSelector', form='object', null='everything')"
    assert applying.path.text == applying.name == "spec.podSelector"
    assert SelectorIndexer("spec.selector", name="who").name == "who"


# Models, memory, interruptions


def bytes_of(store: Store[Any]) -> int:
    row = store.memory().index("spec.selector")
    assert row is not None
    return row.forward_bytes + row.reverse_bytes


def test_models_are_read_as_dicts_are() -> None:
    """A V1Service by its JSON names."""
    store: Store[Any] = Store(indexers=[selecting])
    store.put(V1Service(metadata=V1ObjectMeta(name="a", namespace="x"), spec=V1ServiceSpec(selector={"app": "web"})))
    store.put(V1Service(metadata=V1ObjectMeta(name="b", namespace="x"), spec=V1ServiceSpec()))
    assert names(store, selecting.matching({"app": "web"})) == ["a"]


def test_a_decoder_has_selectors_at_hand() -> None:
    """The path is decoded in the same pass as the metadata."""
    assert paths_read(selecting, applying) == ("spec.selector", "spec.podSelector")


def test_memory_counts_what_stands_beside_the_postings_and_gives_it_back() -> None:
    """More selectors take more; none take what an empty index takes."""
    store: Store[Any] = Store(indexers=[selecting, FieldIndexer("spec.type")])
    empty = bytes_of(store)
    many = [service(f"s{n}", {"app": f"a{n}", "tier": f"t{n % 7}"}) for n in range(2_000)]
    store.replace(many)
    row = store.memory().index("spec.selector")
    index = store._core.generation.indexes[1]
    assert isinstance(index, SelectorIndex)
    assert row is not None
    assert (row.kind, row.values) == ("selector", 2_000)
    assert bytes_of(store) > empty + index.beside_bytes() > empty + 2_000 * 200
    assert forecast(many, selecting).bytes == pytest.approx(bytes_of(store), rel=0.1)
    for each in many:
        store.delete(ObjectKey("prod", each["metadata"]["name"]))
    store._check()
    assert bytes_of(store) <= empty + 64_000


def test_a_budget_in_bytes_counts_them_too() -> None:
    """The index is dropped before the write that would break it, and answers stay."""
    small = SelectorIndexer("spec.selector", budget=Budget(max_bytes=60_000))
    store: Store[Any] = Store(indexers=[small])
    for number in range(300):
        store.put(service(f"s{number}", {"app": f"a{number}", "tier": "x"}))
        if not store.explain(small.matching({})).dropped:
            assert bytes_of(store) <= 60_000
    plan = store.explain(small.matching({"app": "a7", "tier": "x"}))
    assert (plan.dropped != (), plan.returned) == (True, 1)


def test_the_advisor_names_what_was_asked() -> None:
    """By the methods that make the terms."""
    store = of_services(web={"app": "web"})
    with Advisor(store) as advisor:
        store.select(selecting.matching({"app": "web"}))
        store.select(selecting.matching_either({"app": "web"}, {}))
        store.select(selecting.matching_differs({"app": "web"}, {}))
        asked = [each.shape for each in advisor.report().shapes]
    methods = ("matching", "matching_differs", "matching_either")
    assert sorted(asked) == [f"spec.selector {method}" for method in methods]


def test_a_follower_filters_by_a_term() -> None:
    """Who selects these labels now, and who stops to."""
    store = of_services(web={"app": "web"})
    with store.follow(selecting.matching({"app": "web"}), replay=False) as follower:
        store.put(service("new", {"app": "web"}))
        store.put(service("web", {"app": "db"}))
        store.put(service("other", {"app": "db"}))
        assert [type(delta).__name__ for delta in follower.take()] == ["Added", "Deleted"]


WRITES = {
    "a first selector of its place": ("new", {"z": "1"}),
    "a second selector of a place": ("new", {"app": "web", "tier": "x", "more": "y"}),
    "a selector that is there": ("new", {"app": "db"}),
    "another selector": ("a", {"z": "1", "app": "db"}),
    "no selector": ("a", None),
}


@pytest.mark.parametrize("what", WRITES)
def test_a_write_that_was_cut_short_is_finished(what: str) -> None:
    """Wherever an interrupt hits the commit, the next write finds postings and places that agree."""
    name, selector = WRITES[what]
    number = 0
    for number in count():
        store = of_services(a={"app": "web"}, b={"app": "web", "tier": "gold"}, c={"app": "db"}, d={"tier": "gold"})
        write = partial(store.put, service(name, selector))
        if not interrupted_at(number, write, inside="Generation.apply"):
            break
        store.delete(ObjectKey("prod", "not there"))  # whoever writes next finishes it
        store._check()
        assert store.require(ObjectKey("prod", name))["spec"]["selector"] == selector
        assert names(store, selecting.matching({"z": "1", "app": "db"})) == sorted(
            {"c", *([name] if selector in ({"z": "1"}, {"app": "db"}, {"z": "1", "app": "db"}) else [])}
        )
    assert number > 10


@pytest.mark.parametrize("sample", [400])
def test_a_forecast_from_a_sample_counts_what_stands_beside_the_postings(sample: int) -> None:
    """Within a third of what the index takes when it is built."""
    many = [service(f"s{n:04}", {"app": f"a{n}", "tier": f"t{n % 7}"}) for n in range(3_000)]
    store: Store[Any] = Store(indexers=[selecting])
    store.replace(many)
    assert forecast(many, selecting, sample=sample).bytes == pytest.approx(bytes_of(store), rel=0.34)
