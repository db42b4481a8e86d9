"""Selectors that objects carry, against a scan that evaluates each of them as Kubernetes does.

The scan is plain Python over plain JSON, and knows nothing of kindex's selectors; the vectors are the Go libraries'.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import Budget, LazyObject, ObjectKey, SelectorIndexer, SkippedWarning, Store
from kindex.decoding import LazyDecoder
from kindex.indexers.reading import paths_read
from tests.vectors_reader import read_vectors

Labels: TypeAlias = dict[str, str]
Raw: TypeAlias = dict[str, Any]

KEYS = st.sampled_from(["app", "tier", "in", "x.y/z"])
VALUES = st.sampled_from(["", "a", "b", "notin"])
LABELS = st.dictionaries(KEYS, VALUES, max_size=4)


def expressions(operator: str, least: int, most: int) -> st.SearchStrategy[Raw]:
    values = st.lists(VALUES, min_size=least, max_size=most)
    return st.builds(lambda key, some: {"key": key, "operator": operator, "values": some}, KEYS, values)


EXPRESSIONS = st.one_of(
    expressions("In", 1, 3), expressions("NotIn", 1, 3), expressions("Exists", 0, 0), expressions("DoesNotExist", 0, 0)
)
OBJECTS = st.fixed_dictionaries(
    {}, optional={"matchLabels": st.none() | LABELS, "matchExpressions": st.lists(EXPRESSIONS, max_size=4)}
)
MAPS = st.none() | LABELS

of_service = SelectorIndexer("spec.selector")
of_policy = SelectorIndexer("spec.podSelector")
of_budget = SelectorIndexer("spec.budget", form="object")
of_peers = SelectorIndexer("spec.ingress[*].from[*].namespaceSelector")
INDEXERS = [of_service, of_policy, of_budget, of_peers]


def map_matches(selector: Labels | None, labels: Labels) -> bool:
    return bool(selector) and all(labels.get(key) == value for key, value in (selector or {}).items())


def expression_matches(expression: Raw, labels: Labels) -> bool:
    key, value = expression["key"], labels.get(expression["key"])
    match expression["operator"]:
        case "In":
            return value in expression["values"]
        case "NotIn":
            return value not in expression["values"]
        case "Exists":
            return key in labels
    return key not in labels


def object_matches(selector: Raw | None, labels: Labels, *, null: bool = False) -> bool:
    if selector is None:
        return null
    pairs = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in pairs.items()) and all(
        expression_matches(each, labels) for each in selector.get("matchExpressions") or ()
    )


def peers_of(spec: Raw) -> list[Raw]:
    selectors = [peer.get("namespaceSelector") for rule in spec["ingress"] for peer in rule["from"]]
    return [selector for selector in selectors if selector is not None]


def answers(obj: Raw, labels: Labels) -> dict[str, bool]:
    """Say for each index whether *obj* is to be found."""
    spec = obj["spec"]
    return {
        of_service.name: map_matches(spec.get("selector"), labels),
        of_policy.name: object_matches(spec.get("podSelector"), labels, null=True),
        of_budget.name: object_matches(spec.get("budget"), labels),
        of_peers.name: any(object_matches(each, labels) for each in peers_of(spec)),
    }


PEERS = st.lists(
    st.builds(
        lambda peers: {"from": peers}, st.lists(st.fixed_dictionaries({}, optional={"namespaceSelector": OBJECTS}))
    ),
    max_size=3,
)
SPECS = st.fixed_dictionaries(
    {"ingress": PEERS}, optional={"selector": MAPS, "podSelector": st.none() | OBJECTS, "budget": st.none() | OBJECTS}
)
# What is to stand under a key next; None deletes it.
WRITES = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | SPECS), max_size=14)

decoder = LazyDecoder(paths_read(*INDEXERS))


def carrier(name: str, spec: Raw) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Any",
        "metadata": {"name": name, "namespace": f"ns-{name < 'd'}"},
        "spec": spec,
    }


def names(keys: list[ObjectKey]) -> list[str]:
    return sorted(key.name for key in keys)


def compare(store: Any, there: dict[str, Raw], old: Labels, new: Labels) -> None:
    """Ask *store*, or a snapshot of one, everything that there is to ask of each index."""
    for index in INDEXERS:
        before = {name for name, obj in there.items() if answers(obj, old)[index.name]}
        after = {name for name, obj in there.items() if answers(obj, new)[index.name]}
        assert names(store.keys(index.matching(old))) == sorted(before)
        assert names(store.keys(index.matching({"metadata": {"labels": new}}))) == sorted(after)
        assert names(store.keys(~index.matching(old))) == sorted(there.keys() - before)
        assert names(store.keys(index.matching_either(old, new))) == sorted(before | after)
        assert names(store.keys(index.matching_differs(old, new))) == sorted(before ^ after)
        assert names(store.keys(index.matching_differs(None, new))) == sorted(after)
        assert names(store.keys(index.matching_either(old, None))) == sorted(before)
        assert names(store.keys(index.matching(old) & ~index.matching(new))) == sorted(before - after)
        assert names(store.keys(index.matching(old) | of_service.matching(new))) == sorted(
            before | {name for name, obj in there.items() if answers(obj, new)[of_service.name]}
        )
        assert store.count(index.matching(new)) == len(after)
        in_one = {name for name in after if name < "d"}
        if any(name < "d" for name in there):
            assert names(store.keys(index.matching(new), namespace="ns-True")) == sorted(in_one)


@given(WRITES, WRITES, LABELS, LABELS, st.booleans())
def test_answers_are_those_of_a_scan(
    first: list[tuple[str, Raw | None]],
    then: list[tuple[str, Raw | None]],
    old: Labels,
    new: Labels,
    lazy: bool,
) -> None:
    """Whatever was added, changed and deleted, and in a snapshot taken in between; on dicts and on LazyObjects."""
    store: Store[Any] = Store(indexers=INDEXERS)
    there: dict[str, Raw] = {}

    def write(writes: list[tuple[str, Raw | None]]) -> None:
        for name, spec in writes:
            key = ObjectKey(f"ns-{name < 'd'}", name)
            if spec is None:
                store.delete(key)
                there.pop(name, None)
            else:
                there[name] = carrier(name, spec)
                store.put(lazy_of(there[name]) if lazy else there[name])
            store._check()

    write(first)
    compare(store, there, old, new)
    with store.snapshot() as snapshot:
        before = dict(there)
        write(then)
        compare(snapshot, before, old, new)
    compare(store, there, old, new)
    store.replace(list(there.values()))
    store._check()
    compare(store, there, old, new)


def lazy_of(obj: Raw) -> LazyObject:
    made = decoder.decode(msgspec.json.encode(obj))
    assert isinstance(made, LazyObject)
    return made


@given(st.lists(SPECS, min_size=1, max_size=8), LABELS, LABELS)
def test_a_dropped_index_changes_no_answer(specs: list[Raw], old: Labels, new: Labels) -> None:
    """Nor do the terms themselves, asked of one object."""
    tight = [
        SelectorIndexer(str(index.path), form="map" if index is of_service else "object", budget=Budget(max_values=1))
        for index in INDEXERS
    ]
    store: Store[Any] = Store(indexers=INDEXERS)
    dropping: Store[Any] = Store(indexers=tight)
    objects = [carrier(name, spec) for name, spec in zip("abcdefgh", specs, strict=False)]
    store.replace(objects)
    dropping.replace(objects)
    for index, small in zip(INDEXERS, tight, strict=True):
        for make in ("matching_either", "matching_differs"):
            term = getattr(index, make)(old, new)
            expected = names(store.keys(term))
            assert names(dropping.keys(getattr(small, make)(old, new))) == expected
            assert sorted(obj["metadata"]["name"] for obj in objects if term.matches(obj)) == expected


VECTORS = read_vectors("label-selector-objects")


def test_the_index_answers_as_go_does() -> None:
    """Each selector of the vectors, asked with each map of labels that the Go libraries were asked with."""
    index = SelectorIndexer("spec.labelSelector")
    cases = [case for case in VECTORS.cases if case["ok"] and (case["hit"] or case["miss"])]
    assert cases
    store: Store[Any] = Store(indexers=[index])
    store.replace([carrier(case["id"], {"labelSelector": case["selector"]}) for case in cases])
    store._check()
    maps = VECTORS.header["maps"]
    hits: dict[str, list[str]] = {}
    misses: dict[str, set[str]] = {}
    for case in cases:
        for number in case["hit"]:
            hits.setdefault(str(number), []).append(case["id"])
        for number in case["miss"]:
            misses.setdefault(str(number), set()).add(case["id"])
    for number in {*hits, *misses}:
        found = {key.name for key in store.keys(index.matching(maps[number]))}
        assert found.issuperset(hits.get(number, ()))
        assert found.isdisjoint(misses.get(number, ()))


@pytest.mark.parametrize("case", [case for case in VECTORS.cases if not case["ok"]], ids=lambda case: str(case["id"]))
def test_what_go_refuses_is_left_out_with_a_warning(case: Raw) -> None:
    """An unknown operator, values that are missing or too many, a member of the wrong type; the rest goes on."""
    index = SelectorIndexer("spec.labelSelector", on_error="skip")
    store: Store[Any] = Store(indexers=[index])
    store.put(carrier("good", {"labelSelector": {}}))
    with pytest.warns(SkippedWarning, match=f"leaves out ns-False/{case['id']}: "):
        store.put(carrier(case["id"], {"labelSelector": case["selector"]}))
    assert store.skipped() == {index.name: 1}
    assert names(store.keys(index.matching({}))) == ["good"]
    store._check()
