"""Plans against scans: thousands of random queries, each answered once more by going over every object.

The scan is that of ``tests.strategies``, in plain Python over plain JSON, and knows nothing of kindex's selectors. The
stores differ in size, history and indexes, and hold official models as well as dicts.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import settings

from kindex import (
    Budget,
    LabelIndexer,
    LazyObject,
    ObjectKey,
    QueryError,
    ScanRefusedError,
    SortedIndexer,
    Store,
)
from tests.strategies import (
    FUNCTION_INDEXERS,
    INDEXERS,
    NAMESPACES,
    PLENTY,
    TIGHT_INDEXERS,
    VALUES,
    Asker,
    Plain,
    Question,
    by_all,
    by_app,
    by_disk,
    by_host,
    by_mixed,
    by_node,
    by_number,
    by_owner,
    by_phase,
    by_selector,
    by_two,
    by_weight,
    created,
    letters,
    may_pass,
    pod,
    priority,
    seeded,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

QUESTIONS = 36 * settings().max_examples // 5
"""For each store; more under ``make stress``."""


class Shape(NamedTuple):
    """What a store is to be like."""

    name: str
    size: int
    indexers: Sequence[Any]
    models: bool = False
    churned: bool = False


SHAPES = [
    Shape("empty", 0, INDEXERS),
    Shape("one", 1, INDEXERS),
    Shape("few, all indexes", 12, INDEXERS),
    Shape("few, churned", 14, [by_app, by_all, *FUNCTION_INDEXERS], churned=True),
    Shape("no index", 150, []),
    Shape("some label keys", 200, [by_app, by_node, by_mixed], churned=True),
    Shape("other keys", 150, [by_weight, by_disk, by_phase, by_owner, created]),
    Shape("all label keys", 200, [by_all, by_selector, by_two, priority, letters]),
    Shape("all label keys, churned", 180, [by_all, by_host, by_number, created], churned=True),
    Shape("all indexes", 320, INDEXERS),
    Shape("all indexes, churned", 280, INDEXERS, churned=True),
    Shape("models, no index", 70, [], models=True),
    Shape("models, some indexes", 80, [by_app, by_node, by_owner, created], models=True, churned=True),
    Shape("models, all indexes", 100, INDEXERS, models=True),
]
TIGHT = [Shape("tight", 120, TIGHT_INDEXERS), Shape("tight, churned", 120, TIGHT_INDEXERS, churned=True)]


class Filled(NamedTuple):
    """A store, and what it holds in plain JSON, row by row."""

    store: Store[Any]
    keys: list[ObjectKey]
    plain: list[Plain]
    objects: list[Any]
    indexers: Sequence[Any]

    def seen(self, where: str, what: str) -> tuple[Sequence[Plain], bool]:
        """Nobody edits these objects, so indexes and objects say the same."""
        match where:
            case "index":
                return self.plain, True
            case "field":
                return self.plain, any([str(path) for path in getattr(i, "paths", ())] == [what] for i in self.indexers)
        labels = [i for i in self.indexers if isinstance(i, LabelIndexer) and i.path == where]
        return self.plain, any(what in i.keys or (not i.keys and what not in i.deny) for i in labels)

    def asker(self, seed: object) -> Asker:
        return Asker(seeded(seed), self.keys, self.indexers, self.seen)

    def chosen(self, rows: int) -> list[int]:
        return [row for row in range(len(self.keys)) if rows >> row & 1]


def model(plain: Plain) -> Any:
    """Make the official client's model, as every version of it can."""
    return LazyObject.from_dict(plain).to_model("V1Pod")


@cache
def filled(name: str) -> Filled:
    """Make the store of one shape."""
    shape = next(shape for shape in (*SHAPES, *TIGHT) if shape.name == name)
    random = seeded(shape.name)
    names = [(random.choice(NAMESPACES), f"p{number}") for number in range(shape.size)]
    names += [(random.choice(["default", "prod"]), key[1]) for key in names[::7] if key[0] == ""]  # namesakes
    keys = [ObjectKey(*key) for key in dict.fromkeys(names)]
    plain = [pod(random, *key, odd=not shape.models) for key in keys]
    make: Callable[[Plain], Any] = model if shape.models else lambda obj: obj
    objects = [make(obj) for obj in plain]
    store: Store[Any] = Store(name=shape.name, indexers=shape.indexers[: 2 if shape.churned else None])
    if shape.churned:
        churn(store, random, keys, objects, make)
        store.add_indexers(*shape.indexers)
    store.replace(objects)
    store._check()
    return Filled(store, keys, plain, objects, shape.indexers)


def churn(
    store: Store[Any], random: Random, keys: list[ObjectKey], objects: list[Any], make: Callable[[Plain], Any]
) -> None:
    """Bring the store near its final state by way of others, so that slots are reused, in disorder, with gaps."""
    odd = make is not model
    gone = [("default", f"gone{number}") for number in range(len(keys) // 2)]
    first = [make(pod(random, *key, odd=odd)) for key in [*gone, *random.sample(keys, k=len(keys))]]
    write_all(store, first)
    store.remove_indexer(next(name for name in store.index_names if name != "namespace"))
    write_all(store, [ObjectKey(*key) for key in random.sample(gone, k=len(gone) // 2)])
    write_all(store, random.sample(objects, k=len(objects) * 3 // 4))
    store._check()


def write_all(store: Store[Any], writes: Sequence[Any], batch: int = 16) -> None:
    """Put objects and delete keys, some at a time."""
    for start in range(0, len(writes), batch):
        with store.transaction() as txn:
            for what in writes[start : start + batch]:
                (txn.delete if isinstance(what, ObjectKey) else txn.put)(what)


@pytest.mark.parametrize("churned", [False, True])
def test_a_budget_that_is_hit_changes_no_answer(churned: bool) -> None:
    """Dropped indexes are scanned for: same objects, count, keys, order, also of what is smallest and largest."""
    one = filled(TIGHT[churned].name)
    asker, dropped = one.asker(TIGHT[churned].name), set[str]()

    for _ in range(QUESTIONS // 3):
        question = asker.question()
        check_answers(one, question)
        check_short_answers(one, question)
        check_cut_and_order(one, question, asker.random)
        dropped.update(drop.index for drop in one.store.explain(*question.terms, **question.query).dropped)
    assert len(dropped) >= 5


@pytest.mark.parametrize("own", [[], [LabelIndexer("app", key_budget=Budget(max_values=3))]], ids=["family", "both"])
def test_a_late_index_that_breaks_its_budget_at_once_is_dropped_for_good(own: list[Any]) -> None:
    """Writes go on, whether the key is one of all, has an index of its own, or both."""
    store: Store[Plain] = Store()
    store.replace([labelled(number, app=f"a{number}") for number in range(20)])
    store.add_indexers(*own, LabelIndexer.all(budget=Budget(max_values=10)))
    store._check()

    for number in range(15, 25):
        store.put(labelled(number, app="new"))
        store._check()
    assert store.count(label_selector="app=new") == 10
    assert [drop.index for drop in store.explain(label_selector="app=new").dropped] == ["app"]


def test_a_key_that_came_back_is_answered_by_the_family_when_its_own_index_goes() -> None:
    """An index that was dropped in two places is built anew in both."""
    own = LabelIndexer("app", key_budget=Budget(max_values=3), name="own")
    store: Store[Plain] = Store(indexers=[own, LabelIndexer.all(budget=PLENTY)])
    store.replace([labelled(number, app=f"a{number}") for number in range(9)])
    assert store.explain(label_selector="app=a1").dropped

    store.replace([labelled(number, app="web") for number in range(9)])
    store.readmit(own.key("app"))
    for name in ("own", None):
        plan = store.explain(label_selector="app=web")
        assert (plan.returned, plan.scanned, plan.dropped) == (9, 0, ())
        if name is not None:
            store.remove_indexer(name)
        store._check()


def labelled(number: int, **labels: str) -> Plain:
    return {"metadata": {"name": f"p{number}", "labels": labels}}


def test_an_iterator_of_namespaces_is_refused() -> None:
    """A query may have to read its arguments twice, and an iterator would be empty then, and find nothing."""
    store = filled("some label keys").store

    for ask in (store.select, store.count, store.keys, store.first, store.any, store.explain):
        with pytest.raises(QueryError, match="namespace is a name"):
            ask(namespace=iter(["prod"]), label_selector="env=prod")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [shape.name for shape in SHAPES])
def test_every_way_to_ask_gives_what_a_scan_gives(name: str) -> None:
    """Objects, count, keys, any, first and the plan agree with a scan, whatever indexes there are."""
    one = filled(name)
    asker = one.asker(name)

    for number in range(QUESTIONS):
        question = asker.question(exact=number % 3 == 0)
        check_answers(one, question)
        match number % 4:
            case 0:
                check_short_answers(one, question)
            case 1:
                check_cut_and_order(one, question, asker.random)
            case _:
                check_plan(one, question)


def test_the_stores_are_asked_ten_thousand_questions() -> None:
    """The sample is large enough for rare combinations."""
    assert len(SHAPES) * QUESTIONS >= 10_000


def check_answers(one: Filled, question: Question) -> None:
    store, terms, query = one.store, question.terms, question.query
    rows = one.chosen(question.rows)
    found = store.select(*terms, **query)

    assert len(found) == len(rows), question
    assert set(map(id, found)) == {id(one.objects[row]) for row in rows}, question
    assert store.count(*terms, **query) == len(rows), question


def check_short_answers(one: Filled, question: Question) -> None:
    store, terms, query = one.store, question.terms, question.query
    rows = one.chosen(question.rows)
    first = store.first(*terms, **query)

    assert (first is None) if not rows else any(first is one.objects[row] for row in rows), question
    assert store.any(*terms, **query) is bool(rows), question
    assert sorted(store.keys(*terms, **query)) == sorted(one.keys[row] for row in rows), question


def check_plan(one: Filled, question: Question) -> None:
    store, terms, query = one.store, question.terms, question.query
    plan = store.explain(*terms, **query)
    rows, candidates = question.rows.bit_count(), question.candidates.bit_count()
    looked_at = candidates if question.checked else 0
    scans = looked_at > max(64, 4 * rows)

    assert plan.objects == len(one.keys), question
    assert plan.returned == rows, question
    assert plan.scanned == looked_at, question
    assert plan.scans is scans, question
    left = [step.left for step in plan.steps]
    assert left == sorted(left, reverse=True), question
    assert left[-1:] in ([], [rows]), question
    for before, step in zip([len(one.keys), *left], plan.steps, strict=False):
        assert (before - step.left if step.kind == "subtract" else step.left) <= step.estimate, (question, plan)
    counted = store.scans
    if scans:
        with pytest.raises(ScanRefusedError) as caught:
            store.select(*terms, **query, scan="error")
        assert (caught.value.scanned, caught.value.returned) == (candidates, rows), question
    else:
        assert len(store.select(*terms, **query, scan="error")) == rows, question
    assert store.scans - counted == scans, question


def check_cut_and_order(one: Filled, question: Question, random: Random) -> None:
    store, terms, query = one.store, question.terms, dict(question.query)
    rows = one.chosen(question.rows)
    if random.random() < 0.5:
        query["where"] = may_pass
        rows = [row for row in rows if may_pass(one.objects[row])]
        assert store.count(*terms, **query) == len(rows), question
        assert store.any(*terms, **query) is bool(rows), question
        assert store.explain(*terms, **query).returned == len(rows), question
    limit = random.choice([None, 0, 1, 2, 5, 1000])
    orders: list[Any] = [None, "key", *(i for i in one.indexers if isinstance(i, SortedIndexer))]
    order = random.choice(orders)
    descending = isinstance(order, SortedIndexer) and random.random() < 0.5
    query["order_by"] = order.descending() if descending else order
    found = store.keys(*terms, **query, limit=limit)
    explained = store.explain(*terms, **query, limit=limit)

    assert explained.returned == len(found) == min(len(rows), len(rows) if limit is None else limit), question
    assert explained.scans is (explained.scanned > max(64, 4 * matched(explained))), question
    expected = in_order(one, rows, order, descending=descending)
    if order is None:
        assert len(set(found)) == len(found), question
        assert set(found) <= set(expected), question
    else:
        assert found == expected[:limit], (question, order, descending)
        first = store.first(*terms, **query)
        assert first is (None if not rows else store.get(expected[0])), question


def matched(plan: Any) -> int:
    """Give how many objects the checks let through."""
    return next((step.left for step in plan.steps if step.kind == "check"), 0)


def in_order(
    one: Filled, rows: Sequence[int], order: SortedIndexer[Any, Any] | str | None, *, descending: bool
) -> list[ObjectKey]:
    """Order rows by value and then key; those without a value last."""
    keys = sorted(rows, key=lambda row: one.keys[row])
    if order is not None and not isinstance(order, str):
        values = {row: VALUES[order.name](one.plain[row]) for row in keys}
        valued = [row for row in keys if values[row]]
        valued.sort(key=lambda row: (max if descending else min)(values[row]), reverse=descending)
        keys = valued + [row for row in keys if not values[row]]
    return [one.keys[row] for row in keys]
