"""Networking indexers against scans: each term, over random objects of every form, against a predicate of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from kubernetes.dynamic.resource import ResourceInstance

from kindex import IndexFunctionError, LazyObject, PartialObjectError, Store
from kindex.decoding import LazyDecoder
from kindex.indexers.reading import paths_read
from kindex.transforms import keep_paths
from tests.networks import CASES, Case, Maker, Plain
from tests.strategies import randoms, seeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

KINDS = list(dict.fromkeys(case.kind for case in CASES))
# What a list call of the official client gives; the other kinds have no model.
MODELS = {
    "Ingress": "V1Ingress",
    "Service": "V1Service",
    "EndpointSlice": "V1EndpointSlice",
    "Pod": "V1Pod",
}
OBJECTS = 120
QUESTIONS = 3 * settings().max_examples // 10


def cases_of(kind: str) -> list[Case]:
    return [case for case in CASES if case.kind == kind]


def knowing(kind: str) -> LazyDecoder:
    """Make the decoder that reads in the same pass what the indexers of this kind read."""
    return LazyDecoder(paths_read(*[case.indexer for case in cases_of(kind)]))


def stored(kind: str, objects: list[Any]) -> Store[Any]:
    store: Store[Any] = Store(indexers=list({case.indexer.name: case.indexer for case in cases_of(kind)}.values()))
    store.replace(objects)
    return store


def objects_of(kind: str, random: Random, *, odd: bool, number: int = OBJECTS) -> list[Plain]:
    maker = Maker(random, odd=odd)
    return [maker.make(kind, f"o{i}") for i in range(number)]


def disagreements(kind: str, plain: list[Plain], objects: list[Any], random: Random, questions: int) -> list[str]:
    """Ask the store of *objects*, and the predicates of *plain*; give the questions whose answers differ."""
    store = stored(kind, objects)
    wrong = []
    for case in cases_of(kind):
        for _ in range(questions):
            term, means = case.ask(random)
            expected = {obj["metadata"]["name"] for obj in plain if means(obj)}
            found = {key.name for key in store.keys(term)}
            scanned = {obj["metadata"]["name"] for obj, each in zip(plain, objects, strict=True) if term.matches(each)}
            if not (found == expected == scanned):
                wrong.append(f"{term}: found {found ^ expected} or scanned {scanned ^ expected} wrongly")
            assert store.explain(term).scans == 0
    return wrong


FORMS: dict[str, Callable[[str, list[Plain]], list[Any]]] = {
    "dicts": lambda _kind, plain: plain,
    "lazy": lambda _kind, plain: [LazyObject.from_dict(obj) for obj in plain],
    "decoded with their paths": lambda kind, plain: [
        knowing(kind).decode(LazyObject.from_dict(obj).raw) for obj in plain
    ],
}


@pytest.mark.parametrize("odd", [False, True], ids=["valid", "odd"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_term_finds_what_its_predicate_does(kind: str, form: str, odd: bool) -> None:
    """The index, the term by itself and a predicate of plain Python agree, for valid and odd objects of each form."""
    random = seeded(f"{kind} {odd}")
    plain = objects_of(kind, random, odd=odd)
    assert disagreements(kind, plain, FORMS[form](kind, plain), random, QUESTIONS) == []


@pytest.mark.parametrize("kind", MODELS)
def test_every_term_finds_models(kind: str) -> None:
    """Official models answer as the dicts of the same JSON."""
    random = seeded(f"{kind} models")
    plain = objects_of(kind, random, odd=False)
    models = [LazyObject.from_dict(obj).to_model(MODELS[kind]) for obj in plain]
    assert disagreements(kind, plain, models, random, QUESTIONS) == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_term_finds_objects_of_the_dynamic_client(kind: str) -> None:
    """What has no model comes from the official dynamic client, whose maps are no dicts."""
    random = seeded(f"{kind} dynamic")
    plain = objects_of(kind, random, odd=True)
    dynamic = [ResourceInstance(None, {"kind": kind, **obj}) for obj in plain]
    assert disagreements(kind, plain, dynamic, random, QUESTIONS) == []


@pytest.mark.parametrize("kind", KINDS)
@given(random=randoms)
def test_a_few_random_objects(kind: str, random: Random) -> None:
    """As above, small enough for Hypothesis to shrink."""
    plain = objects_of(kind, random, odd=True, number=4)
    assert disagreements(kind, plain, plain, random, 1) == []


@pytest.mark.parametrize("kind", KINDS)
def test_questions_have_answers(kind: str) -> None:
    """The control: the questions above are not all answered by nothing, nor by everything."""
    random = seeded(f"{kind} control")
    plain = objects_of(kind, random, odd=False)
    for case in cases_of(kind):
        sizes = [sum(map(case.ask(random).means, plain)) for _ in range(60)]
        assert any(0 < size < OBJECTS for size in sizes), case.indexer.name


@pytest.mark.parametrize("kind", KINDS)
def test_writes_one_by_one_end_where_a_list_does(kind: str) -> None:
    """Objects that change one by one, and go again, are filed as those that come in one list."""
    random = seeded(f"{kind} churn")
    before, after = (objects_of(kind, random, odd=True) for _ in "12")
    for obj, new in zip(before, after, strict=True):
        new["metadata"]["namespace"] = obj["metadata"]["namespace"]
    store = stored(kind, before)
    for obj in after[::2]:
        store.put(obj)
    for obj in before[1::4]:
        store.delete(obj)
    left = [*after[::2], *before[3::4]]
    listed = stored(kind, left)
    for case in cases_of(kind):
        assert store.index_values(case.indexer) == listed.index_values(case.indexer)  # type: ignore[arg-type]
        for _ in range(5):
            term = case.ask(random).term
            assert sorted(store.keys(term)) == sorted(listed.keys(term))


METADATA_ONLY = ("metadata.name", "endpoint slice service", "owner")
"""Indexers of what every LazyObject keeps."""


@pytest.mark.parametrize(
    "case", list({case.indexer.name: case for case in CASES}.values()), ids=lambda case: case.indexer.name
)
def test_what_a_transform_dropped_is_an_error(case: Case) -> None:
    """An object that lost the field is refused; one whose field was read before that is filed all the same."""
    plain = objects_of(case.kind, seeded("partial"), odd=False, number=30)
    raw = [LazyObject.from_dict(obj).raw for obj in plain]
    expected = [case.indexer.values_of(obj) for obj in plain]
    early = LazyDecoder(paths_read(case.indexer), transform=keep_paths())
    assert [case.indexer.values_of(early.decode(text)) for text in raw] == expected
    late = LazyDecoder(transform=keep_paths()).decode(raw[0])
    if case.indexer.name in METADATA_ONLY:
        assert case.indexer.values_of(late) == expected[0]
    else:
        with pytest.raises(IndexFunctionError) as caught:
            case.indexer.values_of(late)
        assert isinstance(caught.value.__cause__, PartialObjectError)
