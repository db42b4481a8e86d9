"""Plans: what is done, in which order, how little of it, and how it reads; work is counted, never timed."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from kindex import (
    Budget,
    FieldIndexer,
    FilterIndexer,
    Indexer,
    LabelIndexer,
    LabelSelector,
    ObjectKey,
    PathSyntaxError,
    SelectorObjectError,
    SortedIndexer,
    Store,
    column_index,
    map_index,
)
from kindex import operations as operations_module
from kindex import plans as plans_module
from kindex import postings as postings_module
from kindex.column_index import ColumnIndex
from kindex.families import FamilyIndex
from kindex.map_index import MapIndex
from kindex.operations import Filed, Operation, Passing, Present
from kindex.sorted_index import SortedIndex
from tests.pods import Pod, key, names_of, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")


def filled(count: int = 100, **options: Any) -> Store[Pod]:
    """Make a store of pods: four apps, two tiers, ten nodes, and a zone that is not indexed."""
    options.setdefault("indexers", [by_labels, by_node])
    store: Store[Pod] = Store(name="pods", **options)
    store.replace(
        [
            pod(
                f"p{number}",
                "prod" if number % 2 else "test",
                app=f"a{number % 4}",
                tier="gold" if number % 5 else "silver",
                zone=f"z{number}",
                node=f"n{number % 10}",
            )
            for number in range(count)
        ]
    )
    return store


# How it reads


def test_a_plan_says_what_was_done() -> None:
    """Each step with its index, what was expected, what was left; and the verdict."""
    plan = filled().explain(
        ~by_node.at("n3"), namespace="prod", label_selector="app=a1,tier!=silver,zone!=z5", where=len
    )
    assert str(plan) == (
        "15 of 100 objects in store 'pods'\n"
        "  1. take app=a1  [index app]: at most 25, 25 left\n"
        "  2. take namespace = prod  [index namespace]: at most 50, 25 left\n"
        "  3. keep tier!=silver  [index tier]: at most 20 fewer, 20 left\n"
        "  4. keep not spec.nodeName = 'n3'  [index spec.nodeName]: at most 10 fewer, 15 left\n"
        "  5. check zone!=z5: 15 looked at, 15 left\n"
        "  6. where len: 15 looked at, 15 left\n"
        "  no scan: a selector was evaluated on 15 objects"
    )


def test_a_scan_reads_as_one() -> None:
    """The verdict names what no index answers."""
    plan = filled().explain(label_selector="zone=z7", field_selector="spec.x=1")
    assert str(plan) == (
        "0 of 100 objects in store 'pods'\n"
        "  1. check zone=z7, spec.x=1: 100 looked at, 0 left\n"
        "  a scan: looked at 100 objects; no index answers zone=z7, spec.x=1"
    )
    assert (plan.scans, plan.scanned, plan.returned, plan.objects) == (True, 100, 0, 100)


def test_a_question_for_everything_reads_as_one() -> None:
    """There are no steps, and it is no scan."""
    assert str(filled().explain()) == (
        "100 of 100 objects in store 'pods'\n  every object, as asked\n  no scan: a selector was evaluated on 0 objects"
    )


def test_a_plan_is_plain_data() -> None:
    """``to_dict`` goes into JSON, and says the same."""
    plan = filled().explain(by_node.at("n3"), limit=2)
    said = json.loads(json.dumps(plan.to_dict()))
    assert said == {
        **said,
        "steps": [
            {
                "kind": "index",
                "what": "spec.nodeName = 'n3'",
                "index": "spec.nodeName",
                "estimate": 10,
                "left": 10,
                "candidates": 0,
                "evaluated": 0,
            }
        ],
        "returned": 2,
        "scans": False,
        "scanned": 0,
        "objects": 100,
        "store": "pods",
    }


def test_explain_changes_nothing_and_refuses_nothing() -> None:
    """It is a question about a question: no scan is counted, and a store that refuses scans still explains."""
    store = filled(scan="error")
    assert store.explain(label_selector="zone=z7").scans
    assert (store.scans, store.revision) == (0, 1)


@pytest.mark.parametrize(
    ("options", "indexes"),
    [
        ({"label_selector": "app=a1"}, ["app"]),
        ({"label_selector": "app in (a1,a2)"}, ["app"]),
        ({"label_selector": "app notin (a1,a2)"}, ["app"]),
        ({"label_selector": "app"}, ["app"]),
        ({"label_selector": "!app"}, ["app"]),
        ({"label_selector": "app!=a1"}, ["app"]),
        ({"label_selector": "tier>5"}, ["tier"]),
        ({"label_selector": {"app": "a1", "tier": "gold"}}, ["app", "tier"]),
        ({"field_selector": "spec.nodeName=n1"}, ["spec.nodeName"]),
        ({"field_selector": "spec.nodeName!=n1"}, ["spec.nodeName"]),
        ({"field_selector": "spec.nodeName="}, ["spec.nodeName"]),
        ({"field_selector": "spec.nodeName!="}, ["spec.nodeName"]),
        ({"field_selector": "metadata.name=p1"}, ["key"]),
        ({"field_selector": "metadata.namespace=prod"}, ["metadata.namespace"]),
        ({"namespace": ["prod", "test"]}, ["namespace"]),
    ],
)
def test_what_an_index_answers_looks_at_no_object(options: Any, indexes: list[str]) -> None:
    """Each operator on an indexed key, and each field of an indexed path, is answered by its index alone."""
    plan = filled().explain(**options)
    assert sorted(step.index for step in plan.steps) == indexes
    assert {step.kind for step in plan.steps} <= {"index", "subtract"}
    assert plan.scanned == 0


@pytest.mark.parametrize("indexed", [True, False])
@pytest.mark.parametrize("ask", ["select", "count", "explain", "first", "any", "keys", "follow"])
def test_a_plural_path_answers_terms_only(ask: str, indexed: bool) -> None:
    """A field selector has one value, so with ``[*]``, indexed or not, it is refused and not asked of the first."""
    images = FieldIndexer("spec.containers[*].image")
    store: Store[Any] = Store(indexers=[images] if indexed else [])
    store.put({**pod("a"), "spec": {"containers": [{"image": "x"}, {"image": "y"}]}})
    if indexed:
        assert store.count(images.at("y")) == 1
    for selector in (
        "spec.containers[*].image=x",
        {"spec.containers[*].image": "x"},
        "a=b,spec.containers[*].image!=x",
    ):
        with pytest.raises(
            PathSyntaxError, match=r"compares one value, and \[\*\] stands for many; FieldIndexer"
        ) as bad:
            getattr(store, ask)(field_selector=selector)
        assert (bad.value.text, bad.value.position) == ("spec.containers[*].image", len("spec.containers"))


def test_two_paths_answer_terms_only() -> None:
    """Nor does an index over two paths know of which one a value is."""
    store: Store[Any] = Store()
    store.put(pod("a"))
    two = FieldIndexer("spec.a", "spec.b")
    store.add_indexers(two)
    assert store.explain(field_selector="spec.a=").scanned == 1


# How little is done


class CountedLabels(dict[str, str]):
    """Labels that count who reads them."""

    reads: ClassVar[Counter[str]] = Counter()

    def get(self, name: str, default: Any = None) -> Any:
        """Give a label, and count it."""
        CountedLabels.reads[name] += 1
        return super().get(name, default)

    def __getitem__(self, name: str) -> str:
        CountedLabels.reads[name] += 1
        return super().__getitem__(name)


class CountedObjects(list[Any]):
    """The objects of a store, counted as they are taken out."""

    taken: list[int]

    def __getitem__(self, slot: Any) -> Any:
        self.taken.append(slot)
        return super().__getitem__(slot)

    def __iter__(self) -> Iterator[Any]:
        self.taken.extend(range(len(self)))
        return super().__iter__()

    def copy(self) -> list[Any]:
        """Give them all."""
        self.taken.extend(range(len(self)))
        return super().copy()


def counted_objects(store: Store[Any]) -> list[int]:
    """Have the store's object list note the slots that are taken out of it."""
    slots = store._core.generation.slots
    objects = CountedObjects(slots.objects)
    objects.taken = []
    slots.objects = objects
    return objects.taken


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        ({"label_selector": "app=a1,tier=silver"}, 5),
        ({"label_selector": "app=a1,tier=silver", "namespace": "prod"}, 5),
        ({"label_selector": "app=a1,tier!=gold", "field_selector": "spec.nodeName!=n5"}, 5 - 5),
        ({"label_selector": "app=a1,tier=none"}, 0),
        ({"label_selector": "app notin (a0,a1,a2),!none"}, 25),
    ],
)
def test_a_query_takes_no_object_outside_its_answer(options: Any, answer: int) -> None:
    """A conjunction that indexes answer touches the objects it gives, each once, and no other."""
    store = filled(indexers=[by_labels, by_node, LabelIndexer("none")])
    expected = len(store.select(**options))
    for ask in (store.select, store.keys):
        taken = counted_objects(store)
        assert len(ask(**options)) == expected
        assert len(taken) == len(set(taken)) == expected
    assert expected in (answer, 5)


def test_counting_takes_no_object() -> None:
    """count, tally, index_values and ``in`` are about slots and values alone."""
    store = filled()
    taken = counted_objects(store)
    assert store.count(label_selector="app=a1,tier=silver", namespace="prod") == 5
    assert store.count() == 100
    assert store.count(~by_node.at("n1"), namespace=["prod"]) == 40
    assert store.tally(by_node)["n1"] == 10
    assert store.index_values(by_labels.key("app")) == ["a0", "a1", "a2", "a3"]
    assert len(store) == 100
    assert key("p1") in store
    assert taken == []


def test_what_an_index_answered_is_not_checked_again() -> None:
    """Of a selector with one indexed key, only the other key is read, on what the index left."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app")])
    store.replace(
        [{"metadata": {"name": f"p{n}", "labels": CountedLabels(app=f"a{n % 4}", zone=f"z{n % 3}")}} for n in range(40)]
    )
    CountedLabels.reads.clear()
    assert len(store.select(label_selector="app=a1,zone=z1")) == 4
    assert CountedLabels.reads["app"] == 0
    assert CountedLabels.reads["zone"] <= 20
    CountedLabels.reads.clear()
    assert len(store.select(label_selector="app=none,zone=z1")) == 0
    assert not CountedLabels.reads


def test_the_smallest_posting_comes_first() -> None:
    """Whatever the order of the question, the operation that leaves the least is done first."""
    store = filled()
    for text in ("tier=gold,app=a1", "app=a1,tier=gold"):
        plan = store.explain(by_node.at("n1"), label_selector=text, namespace="prod")
        assert [step.index for step in plan.steps] == ["spec.nodeName", "app", "namespace", "tier"]
        estimates = [step.estimate for step in plan.steps]
        assert estimates == sorted(estimates)


def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each operation whose postings are looked up."""
    done: list[str] = []
    for kind in (Filed, Present, Passing):

        def slots(self: Operation, generation: Any, original: Callable[..., Any] = kind.slots) -> Any:
            done.append(str(self.what))
            return original(self, generation)

        monkeypatch.setattr(kind, "slots", slots)
    return done


@pytest.mark.parametrize("method", ["select", "keys", "count", "any", "explain"])
def test_an_empty_posting_ends_the_query(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once nothing is left, no further operation is evaluated, and no check or predicate runs."""
    store = filled()
    done = evaluated(monkeypatch)
    getattr(store, method)(
        by_node.at("none"), namespace="prod", label_selector="app in (a1,a2),tier>3,app!=a3,zone=z1", **where(method)
    )
    assert done == ["spec.nodeName = 'none'"]


def where(method: str) -> dict[str, Any]:
    """Give a predicate that must not be called, to the methods whose way to the answer it does not change."""
    return {} if method == "count" else {"where": pytest.fail}


def test_an_empty_posting_ends_a_count_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counting where two sets meet has a way of its own; it stops as early."""
    store = filled()
    done = evaluated(monkeypatch)
    assert store.count(by_node.at("none"), label_selector="app in (a1,a2,a3)") == 0
    assert store.count(by_node.at("none"), label_selector="tier>3") == 0
    assert done == ["spec.nodeName = 'none'"] * 2


MANY = [f"z{number}" for number in range(0, 1_000, 2)]


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("method", ["select", "count", "keys", "explain"])
def test_many_values_on_a_small_set_are_not_united(
    method: str,
    negative: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """``zone in (500 values)`` on ten objects asks the ten where they are filed; no union of 500 postings is made."""
    store = filled(1_000, indexers=[LabelIndexer("zone"), by_node, FieldIndexer("metadata.name")])
    selector = LabelSelector.parse(f"zone {'notin' if negative else 'in'} ({','.join(MANY)})")
    few = by_node.at("n1") & FieldIndexer("metadata.name").among([f"p{number}" for number in range(1, 100, 10)])
    united: list[int] = []

    def either(parts: Any, original: Callable[..., Any] = postings_module.either) -> Any:
        parts = list(parts)
        united.append(len(parts))
        return original(parts)

    looked_up: list[Any] = []
    with monkeypatch.context() as patched:
        patched.setattr(operations_module, "either", either)
        patched.setattr(
            ColumnIndex,
            "posting",
            lambda self, key, original=ColumnIndex.posting: looked_up.append(key) or original(self, key),
        )
        answer = getattr(store, method)(few, label_selector=selector)
    size = answer.returned if method == "explain" else answer if method == "count" else len(answer)
    assert size == (10 if negative else 0)
    assert max(united, default=0) <= 64
    assert len([name for name in looked_up if name in MANY]) <= len(MANY)


def test_many_values_on_a_small_namespace_are_not_united(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for a namespace and one requirement, which a count would answer by where two sets meet."""
    store = filled(1_000, indexers=[LabelIndexer("zone")])
    store.put(pod("x", "small", zone="z7"))
    store.put(pod("y", "small", zone="other"))
    united: list[int] = []

    def either(parts: Any, original: Callable[..., Any] = postings_module.either) -> Any:
        parts = list(parts)
        united.append(len(parts))
        return original(parts)

    monkeypatch.setattr(operations_module, "either", either)
    zones = f"zone in ({','.join(f'z{number}' for number in range(500))})"
    assert store.count(namespace="small", label_selector=zones) == 1
    assert names_of(store.select(namespace="small", label_selector=zones)) == ["x"]
    assert max(united, default=0) <= 64


def test_a_union_is_made_at_once_not_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """500 values that are alone in the question are one union, not 500 growing ones."""
    store = filled(1_000, indexers=[LabelIndexer("zone")])
    calls: list[int] = []

    def either(parts: Any, original: Callable[..., Any] = postings_module.either) -> Any:
        calls.append(1)
        return original(parts)

    monkeypatch.setattr(operations_module, "either", either)
    assert len(store.select(label_selector=f"zone in ({','.join(MANY)})")) == 500
    assert calls == [1]


# How little a write does


class Touches:
    """Counts what a write does to indexes and postings."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.done: Counter[str] = Counter()
        for layout in (MapIndex, SortedIndex, ColumnIndex, FamilyIndex):
            if "file" in vars(layout):
                monkeypatch.setattr(layout, "file", self.counted(f"{layout.__name__}.file", layout.file))
        for name in ("adding", "removing"):
            counted = self.counted(name, getattr(postings_module, name))
            for module in (column_index, map_index):
                monkeypatch.setattr(module, name, counted)

    def counted(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function, so that its calls are counted."""

        def wrapped(*arguments: Any) -> Any:
            self.done[name] += 1
            return original(*arguments)

        return wrapped


def full_store(calls: Counter[str], count: int = 10) -> Store[Pod]:
    """Make a store with every layout, whose index functions count their calls."""

    def counting(name: str, read: Callable[[Pod], Any]) -> Callable[[Pod], Any]:
        def function(obj: Pod) -> Any:
            calls[name] += 1
            return read(obj)

        return function

    store: Store[Pod] = Store(
        indexers=[
            by_labels,
            LabelIndexer.all(budget=Budget(max_values=10_000)),
            Indexer("values", counting("values", lambda obj: obj.get("values"))),
            SortedIndexer("size", counting("size", lambda obj: obj.get("size"))),
            FilterIndexer("filter", predicate=counting("filter", lambda obj: obj.get("size", 0) > 5)),
        ]
    )
    store.replace([full_pod(number) for number in range(count)])
    calls.clear()
    return store


def full_pod(number: int, **changes: Any) -> Pod:
    """Make a pod for it."""
    made = pod(f"p{number}", app=f"a{number % 4}", tier="gold", other=f"o{number}")
    return {**made, "values": ["x", 1, f"v{number}"], "size": number, **changes}


def test_an_update_that_changes_no_indexed_value_touches_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each index function runs exactly once, on the new object alone, and no posting is touched."""
    calls: Counter[str] = Counter()
    store = full_store(calls)
    touches = Touches(monkeypatch)
    store.put(full_pod(3, status={"phase": "Running"}))
    assert calls == {"values": 1, "size": 1, "filter": 1}
    assert touches.done == {}
    with store.transaction() as txn:
        txn.put(full_pod(3, status={"phase": "Failed"}))
        txn.put(full_pod(4, status={"phase": "Failed"}))
    store.replace([full_pod(number, status={"phase": "New"}) for number in range(10)])
    assert calls == {"values": 13, "size": 13, "filter": 13}
    assert touches.done == {}
    store._check()


def test_the_same_values_in_another_order_touch_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """Index functions often give sets, whose order may differ between two equal ones."""
    calls: Counter[str] = Counter()
    store = full_store(calls)
    touches = Touches(monkeypatch)
    store.put(full_pod(3, values=["v3", 1, "x", "x"]))
    assert touches.done == {}


def test_an_update_touches_the_indexes_that_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """One value of three that moves is one posting less and one more; the others are left alone."""
    calls: Counter[str] = Counter()
    store = full_store(calls)
    touches = Touches(monkeypatch)
    changed = full_pod(3)
    changed["metadata"]["labels"]["app"] = "new"
    store.put(changed)
    assert touches.done["ColumnIndex.file"] <= 1 + 3  # the key's own index, and the family's members
    assert (touches.done["MapIndex.file"], touches.done["FamilyIndex.file"]) == (0, 1)
    touches.done.clear()
    store.put({**changed, "values": ["x", 1, "other"]})
    assert touches.done["MapIndex.file"] == 1
    assert (touches.done["ColumnIndex.file"], touches.done["FamilyIndex.file"]) == (0, 0)
    assert touches.done["removing"] == 1
    assert calls == {"values": 2, "size": 2, "filter": 2}
    store._check()


def test_a_write_runs_each_index_function_once() -> None:
    """A new object, an update and each object of a list: once. A delete asks no object at all."""
    calls: Counter[str] = Counter()
    store = full_store(calls)
    store.put(full_pod(99))
    assert calls == {"values": 1, "size": 1, "filter": 1}
    store.put(full_pod(99, size=1, values="y"))
    assert calls == {"values": 2, "size": 2, "filter": 2}
    store.delete(key("p99"))
    store.delete(full_pod(1))
    store.replace([full_pod(number) for number in range(2, 10)])
    store.remove_indexer("size")
    assert calls == {"values": 2, "size": 2, "filter": 2}
    store._check()


# What is kept


def test_a_query_is_compiled_once_for_a_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same question again, in the same words, is not compiled again; another set of indexers makes it anew."""
    store = filled()
    compiled: list[int] = []
    original = plans_module._Compiler.program

    def program(self: Any, *arguments: Any) -> Any:
        compiled.append(1)
        return original(self, *arguments)

    monkeypatch.setattr(plans_module._Compiler, "program", program)
    for _ in range(3):
        store.select(by_node.at("n1"), namespace="prod", label_selector="app=a1")
        store.count(FieldIndexer("spec.nodeName").at("n1"), namespace="prod", label_selector="app=a1")
    assert len(compiled) == 1
    assert store.explain(label_selector="zone=z1").scanned == 100
    store.add_indexers(LabelIndexer("zone"))
    assert store.explain(label_selector="zone=z1").scanned == 0
    store.remove_indexer("zone")
    assert store.explain(label_selector="zone=z1").scanned == 100


def test_kept_queries_are_bounded_and_told_apart() -> None:
    """5,000 different questions keep about a thousand; questions that look alike are not mixed up."""
    store = filled(indexers=[by_labels, by_node, Indexer("mixed", lambda _obj: [1, True, "1"])])
    for number in range(5_000):
        assert store.count(label_selector=f"app=a{number}") == (25 if number < 4 else 0)
    assert len(store._core.generation.schema.programs) <= 1_024
    mixed: Indexer[Any, Any] = Indexer("mixed", lambda _obj: [1, True, "1"])
    store = filled(indexers=[mixed])
    store.put(pod("x"))
    for value in (1, True, "1", 1, True):
        assert str(store.explain(mixed.at(value)).steps[0].what) == f"mixed = {value!r}"
    long = f"app in ({','.join(f'a{number}' for number in range(1_000))})"
    store.count(label_selector=long)
    assert not any(long in map(str, kept) for kept in store._core.generation.schema.programs)


def test_a_selector_object_may_change_after_the_query() -> None:
    """What is compiled from a dict or a list is not kept under it."""
    store = filled()
    labels, names = {"app": "a1"}, ["prod"]
    assert store.count(label_selector=labels, namespace=names) == 25
    labels["app"], names[0] = "a0", "test"
    assert store.count(label_selector=labels, namespace=names) == 25
    labels["app"] = "a1"
    assert store.count(label_selector=labels, namespace=names) == 0


def test_two_threads_that_fill_the_kept_queries_do_not_meet() -> None:
    """Making room while another thread makes room is no error: the oldest may be gone already, or a new one come."""
    store = filled(10)
    programs = store._core.generation.schema.programs

    class Busy(dict[Any, Any]):
        """Kept queries that another thread changes whenever somebody begins to go over them."""

        def __iter__(self) -> Iterator[Any]:
            oldest = super().__iter__()
            self[object()] = None
            return oldest

    for number in range(1_100):
        programs[number] = None
    store._core.generation.schema.programs = Busy(programs)
    for number in range(20):
        assert store.count(label_selector=f"app=b{number}") == 0


# Whatever the plan


def test_terms_of_any_shape_answer_as_the_objects_do() -> None:
    """Unions, intersections and complements in each other, over each kind of index, equal a check of every object."""
    created: SortedIndexer[Any, Any] = SortedIndexer("size", lambda obj: len(obj["metadata"]["name"]))
    store = filled(60, indexers=[by_labels, by_node, created])
    store.put({"metadata": {"name": "bare", "namespace": "x"}})
    app = by_labels.key("app")
    simple: list[Any] = [
        app.at("a1"),
        app.among(["a1", "a2", "none"]),
        app.absent(),
        ~by_node.at("n3"),
        created.between(2, 2),
        by_labels.satisfying("app!=a2,tier"),
        by_labels.satisfying("zone=z7"),
        by_labels.satisfying(""),
        by_node.among([]),
    ]
    questions = list(simple)
    for left in simple:
        for right in simple:
            questions += [left & right, left | right, ~(left & ~right), ~(left | right) & app.at("a1")]
    everything = store.select()
    for term in questions:
        expected = sorted(each["metadata"]["name"] for each in everything if term.matches(each))
        assert names_of(store.select(term)) == expected, str(term)
        assert store.count(term) == len(expected), str(term)
        assert names_of(store.select(term, namespace="prod")) == sorted(
            each["metadata"]["name"]
            for each in everything
            if each["metadata"]["namespace"] == "prod" and term.matches(each)
        )


def test_a_scan_reads_objects_as_they_are_and_an_index_as_they_were_filed() -> None:
    """An object that somebody edited in place stays where it was filed until its next write."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app")])
    obj = pod("a", app="web", zone="z1")
    store.put(obj)
    obj["metadata"]["labels"] |= {"app": "db", "zone": "z2"}
    assert store.keys(label_selector="app=web") == [ObjectKey("prod", "a")]
    assert store.keys(label_selector="app=db") == []
    assert store.keys(label_selector="zone=z2") == [ObjectKey("prod", "a")]
    store.put(obj)
    assert store.keys(label_selector="app=db,zone=z2") == [ObjectKey("prod", "a")]
    assert store.index_values(LabelIndexer("app")) == ["db"]
    store._check()


def test_a_map_of_labels_is_understood_once() -> None:
    """Controllers ask with the maps of services: an equal one finds the program again, another finds its own."""
    store: Store[Any] = Store(indexers=[LabelIndexer("app")])
    pods = [pod(name, app=app) for name, app in (("a", "web"), ("b", "db"))]
    store.replace(pods)
    programs = store._core.generation.schema.programs
    programs.clear()
    for _ in range(2):
        assert store.select(label_selector={"app": "web"}) == pods[:1]
        assert store.select(label_selector={"app": "db"}) == pods[1:]
    assert len(programs) == 2
    assert store.select(label_selector={"app": "web", "tier": "x"}) == []
    selector = {"app": "web"}
    assert store.count(label_selector=selector) == 1
    selector["app"] = "db"  # the caller's, who may edit it
    assert store.select(label_selector=selector) == pods[1:]
    with pytest.raises(SelectorObjectError):
        store.select(label_selector={"app": ["web"]})
    with pytest.raises(SelectorObjectError):
        store.select(label_selector={"app": None})
    large = {f"key-{number}": "value" for number in range(100)}
    assert store.select(label_selector=large) == []
    assert all(len(asked) < 100 for _, _, asked, _ in programs if isinstance(asked, tuple))
