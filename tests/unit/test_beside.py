"""Building beside: indexes for a filled store, and smaller tables for one that has emptied, while others write."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap

from kindex import (
    FieldIndexer,
    IndexConflictError,
    Indexer,
    IndexFunctionError,
    IndexValueError,
    LabelIndexer,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    SortedIndexer,
    Store,
    UnknownIndexError,
)
from tests.pods import Pod, key, names_of, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

by_node = FieldIndexer("spec.nodeName")
by_labels = LabelIndexer("app", "tier")


def filled(count: int = 6, **options: Any) -> Store[Pod]:
    """Make a store of pods a0, a1 ..., half of them on each of two nodes."""
    store: Store[Pod] = Store(name="pods", **options)
    store.replace([pod(f"a{number}", node=f"n{number % 2}", app=f"app{number}") for number in range(count)])
    return store


class Meanwhile:
    """An index function during whose first call something else happens, as another thread might do it."""

    def __init__(self, *acts: Callable[[], object], read: Callable[[Pod], Any] | None = None) -> None:
        self.acts = list(acts)
        self.read = read if read is not None else lambda obj: obj.get("spec", {}).get("nodeName")
        self.calls = 0

    def __call__(self, obj: Pod) -> Any:
        self.calls += 1
        while self.acts:
            self.acts.pop(0)()
        return self.read(obj)


def names(store: Store[Pod], indexer: Indexer[Any, Any], value: Any) -> list[str]:
    """Ask an index that must be there."""
    assert not store.explain(indexer.at(value)).scanned
    return names_of(store.select(indexer.at(value)))


# Late indexes


def test_a_late_index_is_complete() -> None:
    """An indexer that is added to a filled store answers at once, without a scan, as if it had been there."""
    store = filled()
    store.delete(key("a2"))
    late = [by_node, by_labels, OwnerIndexer(), SortedIndexer("name", "metadata.name"), NamespaceIndexer()]
    store.add_indexers(*late)
    store._check()
    assert names(store, by_node, "n0") == ["a0", "a4"]
    assert names_of(store.select(label_selector="app in (app3,app2)")) == ["a3"]
    assert not store.explain(label_selector="app=app3").scanned
    assert store.count(OwnerIndexer().orphans()) == 5
    assert store.revision == 2
    store.put(pod("new", node="n0"))
    assert names(store, by_node, "n0") == ["a0", "a4", "new"]
    store._check()


def test_writes_during_the_build_are_neither_lost_nor_doubled() -> None:
    """What is put, changed and deleted while the index is built is filed once, where it is at the end."""
    store = filled()

    def write() -> None:
        store.put(pod("new", node="n0"))
        store.put(pod("a0", node="n1"))
        store.put(pod("a1"))
        store.delete(key("a2"))
        store.put(pod("in-its-place", node="n1"))
        store.delete(key("a3"))
        with store.transaction() as txn:
            txn.put(pod("a4", node="n9"))
            txn.put(pod("b", node="n1"))

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(write))
    store.add_indexers(late)
    store._check()
    expected = {"n0": ["new"], "n1": ["a0", "a5", "b", "in-its-place"], "n9": ["a4"]}
    assert {value: names(store, late, value) for value in store.index_values(late)} == expected


@pytest.mark.parametrize("gone", [list(range(6)), [0, 1, 2, 3, 4]])
def test_a_store_that_empties_during_the_build(gone: list[int]) -> None:
    """Deleting most or all objects while an index is built leaves it right, and small after the next write."""
    store = filled()
    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(lambda: [store.delete(key(f"a{number}")) for number in gone]))
    store.add_indexers(late)
    store._check()
    left = ["a5"] if len(gone) == 5 else []
    assert names_of(store.select(late.among(["n0", "n1"]))) == left
    store.replace([])
    assert store._core.generation.slots.capacity == 0
    store._check()


@pytest.mark.parametrize("count", [1, 20])
def test_a_replace_during_the_build(count: int) -> None:
    """A relist that comes while an index is built, small or large, is in the index."""
    store = filled()
    wanted = [pod(f"b{number}", node="n7") for number in range(count)]
    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(lambda: store.replace(wanted)))
    store.add_indexers(late)
    store._check()
    assert store.index_values(late) == ["n7"]
    assert len(names(store, late, "n7")) == count


def test_an_index_is_not_seen_before_it_is_complete() -> None:
    """Until the build is done, its terms are unknown, and a selector that it will answer scans."""
    store = filled()
    seen: list[object] = []

    def look() -> None:
        with pytest.raises(UnknownIndexError):
            store.select(late.at("n0"))
        with pytest.raises(UnknownIndexError):
            store.tally(by_labels.key("app"))
        seen.append(store.explain(label_selector="app=app3").scanned)
        seen.append(names_of(store.select(label_selector="app=app3")))
        seen.append(store.skipped())

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(look), on_error="skip")
    store.add_indexers(late, by_labels)
    assert seen == [6, ["a3"], {}]
    assert store.explain(label_selector="app=app3").scanned == 0
    assert store.skipped() == {"late": 0}


def test_an_unknown_index_is_not_listed_among_those_there_are() -> None:
    """While an index is built, the error does not say that the store has it."""
    store = filled()
    said: list[str] = []

    def look() -> None:
        with pytest.raises(UnknownIndexError) as unknown:
            store.select(late.at("n0"))
        said.append(str(unknown.value))

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(look))
    store.add_indexers(late)
    assert said == [
        "no index 'late' in store 'pods' (it has: namespace); declare it with indexers=[...], or add_indexers()"
    ]


def fails_on(name: str, error: Exception) -> Callable[[Pod], str]:
    """Make an index function that fails on one pod."""

    def function(obj: Pod) -> str:
        if obj["metadata"]["name"] == name:
            raise error
        return "v"

    return function


def test_a_late_index_that_cannot_be_built_is_not_there() -> None:
    """All of the indexers or none: one that fails takes back the others, also those that shared what was there."""
    store = filled(indexers=[LabelIndexer("app"), LabelIndexer("tier")])
    before = store.index_names
    bad: Indexer[Pod, Any] = Indexer("bad", fails_on("a3", ZeroDivisionError("odd")))
    with pytest.raises(IndexFunctionError, match="index 'bad' failed on prod/a3: ZeroDivisionError: odd"):
        store.add_indexers(by_node, by_labels, LabelIndexer("app", "zone"), bad)
    assert store.index_names == before
    assert (store._core.journals, store._core.generation.schema.hidden) == ([], frozenset())
    assert len(store._core.generation.indexes) == 3
    store._check()
    store.put(pod("a3", node="n1"))
    store.delete(key("a3"))
    store.add_indexers(by_node, by_labels, bad)
    assert names(store, bad, "v") == ["a0", "a1", "a2", "a4", "a5"]
    store._check()


def test_a_failing_late_index_takes_back_nothing_that_was_there() -> None:
    """An indexer that the store had before, and that is named again, stays when another one fails."""
    store = filled(indexers=[by_node])
    with pytest.raises(IndexFunctionError):
        store.add_indexers(by_node, NamespaceIndexer(), Indexer("bad", fails_on("a3", KeyError("x"))))
    assert store.index_names == ("namespace", "spec.nodeName")
    assert names(store, by_node, "n0") == ["a0", "a2", "a4"]


def test_a_late_index_skips_what_it_may_skip() -> None:
    """With on_error="skip" an object on which the function fails is counted, also in a late index."""
    store = filled()
    late: Indexer[Pod, Any] = Indexer("late", fails_on("a3", KeyError("x")), on_error="skip")
    store.add_indexers(late)
    assert store.skipped() == {"late": 1}
    assert len(names(store, late, "v")) == 5
    store._check()


def size_of(obj: Pod) -> Any:
    return obj["size"]


def sized(name: str, size: object) -> Pod:
    return {**pod(name), "size": size}


def test_a_late_sorted_index_holds_one_type() -> None:
    """Objects of two types that are there already fail the build, as they would have failed the write."""
    store: Store[Pod] = Store()
    store.replace([sized("a", 1), sized("b", "1")])
    with pytest.raises(IndexValueError, match=r"^index 'size' failed on prod/b: a sorted index holds one type"):
        store.add_indexers(SortedIndexer("size", size_of))
    assert store.index_names == ("namespace",)
    store.add_indexers(SortedIndexer("size", size_of, on_error="skip"))
    assert store.skipped() == {"size": 1}
    store._check()


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_write_of_another_type_during_the_build(on_error: Any) -> None:
    """A value of another type that comes while a sorted index is built does not slip in beside the others."""
    store: Store[Pod] = Store()
    store.replace([sized("a", 1), sized("b", 2)])
    late: SortedIndexer[Pod, Any] = SortedIndexer(
        "size", Meanwhile(lambda: store.put(sized("c", "3")), read=size_of), on_error=on_error
    )
    if on_error == "raise":
        with pytest.raises(IndexValueError, match=r"^index 'size' failed on prod/c: a sorted index holds one type"):
            store.add_indexers(late)
        assert store.index_names == ("namespace",)
    else:
        store.add_indexers(late)
        assert (store.skipped(), store.index_values(late)) == ({"size": 1}, [1, 2])
    assert len(store) == 3
    store._check()


def test_a_write_that_fails_in_an_index_that_is_being_built() -> None:
    """From the moment an indexer is named, writes that it cannot file are refused; nothing of them is kept."""
    store = filled()
    refused: list[int] = []

    def write() -> None:
        with pytest.raises(IndexFunctionError):
            store.put(pod("bad"))
        refused.append(1)

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(write, read=fails_on("bad", KeyError("x"))))
    store.add_indexers(late)
    assert refused == [1]
    assert ObjectKey("prod", "bad") not in store
    assert len(names(store, late, "v")) == 6
    store._check()


# Two at a time


def test_two_may_add_the_same_indexer_at_once() -> None:
    """Two components that add an equal indexer both get it, complete, however they meet."""
    store = filled()
    function = Meanwhile(lambda: store.add_indexers(Indexer("late", function)))
    late: Indexer[Pod, Any] = Indexer("late", function)
    store.add_indexers(late)
    store._check()
    assert names(store, late, "n0") == ["a0", "a2", "a4"]
    assert store.index_names == ("late", "namespace")


def test_two_may_add_different_indexers_at_once() -> None:
    """Each build knows its own writes: what is written after one of them ended is not lost to the other."""
    store = filled()

    def others() -> None:
        store.add_indexers(by_labels)
        store.put(pod("new", node="n0", app="x"))
        store.delete(key("a0"))

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(others))
    store.add_indexers(late)
    store._check()
    assert names(store, late, "n0") == ["a2", "a4", "new"]
    assert names_of(store.select(label_selector="app=x")) == ["new"]


def test_a_relist_and_a_build_do_not_take_each_others_notes() -> None:
    """A write after the relist, during the build, is in the index: the relist stopped its own notes alone."""
    store = filled()

    def others() -> None:
        store.replace([*store.select(), pod("b", node="n0")])
        store.put(pod("new", node="n0"))

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(others))
    store.add_indexers(late)
    store._check()
    assert names(store, late, "n0") == ["a0", "a2", "a4", "b", "new"]


def test_the_notes_of_two_builders_are_told_apart_though_they_are_equal() -> None:
    """Two builders with nothing noted yet have equal notes; the first to end takes its own."""
    store = filled()
    inner: Indexer[Pod, Any] = Indexer("inner", Meanwhile())

    def others() -> None:
        store.add_indexers(inner)  # ends while the outer one has noted nothing
        store.put(pod("new", node="n0"))

    outer: Indexer[Pod, Any] = Indexer("outer", Meanwhile(others))
    store.add_indexers(outer)
    store._check()
    for late in (inner, outer):
        assert names(store, late, "n0") == ["a0", "a2", "a4", "new"]
    assert store._core.journals == []


def test_an_indexer_that_is_removed_and_added_again_during_its_build() -> None:
    """What was written while it was gone is in it at the end all the same."""
    store = filled()
    function = Meanwhile()
    late: Indexer[Pod, Any] = Indexer("late", function)

    def again() -> None:
        store.remove_indexer("late")
        store.put(pod("new", node="n0"))
        store.put(pod("a0", node="n1"))
        # The second build stops before it is complete, where the first one goes on.
        function.acts = [stop]
        with pytest.raises(KeyboardInterrupt):
            store.add_indexers(late)

    def stop() -> None:
        raise KeyboardInterrupt

    function.acts = [again]
    store.add_indexers(late)
    store._check()
    assert names(store, late, "n0") == ["a2", "a4", "new"]


def test_an_indexer_that_somebody_else_begins_to_add_anew_is_still_complete() -> None:
    """The first builder must not reveal what the second one has only begun."""
    store = filled()
    steps: list[str] = []

    def outer_meanwhile() -> None:
        store.remove_indexer("late")
        store.put(pod("new", node="n0"))
        store.replace([pod(f"b{number}", node="n0") for number in range(20)] + [pod("new", node="n0")])
        # Begin again, as another thread that stops in the middle of its build.
        schema = store._core.generation.schema.plus([late])
        generation = store._core.generation
        store._core.generation = generation.under(schema, schema.sources(generation.schema))
        steps.append("begun")

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(outer_meanwhile))
    store.add_indexers(late)
    store._check()
    assert steps == ["begun"]
    assert len(names(store, late, "n0")) == 21


def test_removing_an_indexer_while_it_is_added() -> None:
    """Whoever adds an indexer has it when the call returns; a removal in the middle came before."""
    store = filled()
    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(lambda: store.remove_indexer("late")))
    store.add_indexers(late)
    assert names(store, late, "n1") == ["a1", "a3", "a5"]
    store._check()


def test_a_conflict_during_the_build() -> None:
    """Another indexer of the same name is refused while the first is being built."""
    store = filled()
    refused: list[str] = []

    def conflict() -> None:
        with pytest.raises(IndexConflictError) as caught:
            store.add_indexers(Indexer("late", lambda _obj: "other"))
        refused.append(str(caught.value))

    late: Indexer[Pod, Any] = Indexer("late", Meanwhile(conflict))
    store.add_indexers(late)
    assert len(refused) == 1
    assert names(store, late, "n0") == ["a0", "a2", "a4"]


def test_an_equal_indexer_again_builds_nothing() -> None:
    """A no-op runs no index function and touches no index."""
    function = Meanwhile()
    late: Indexer[Pod, Any] = Indexer("late", function)
    store = filled(indexers=[late])
    calls, generation = function.calls, store._core.generation
    store.add_indexers(Indexer("late", function))
    store.add_indexers()
    assert (function.calls, store._core.generation) == (calls, generation)


def test_a_late_column_that_fills_up_during_the_build() -> None:
    """A label that passes 65,535 values just then becomes a map, and nothing is lost."""
    store: Store[Any] = Store(key=lambda obj: ObjectKey("", obj["n"]))
    store.replace([{"n": str(number), "metadata": {"labels": {"id": str(number)}}} for number in range(0xFFFF)])
    by_id = LabelIndexer("id")
    meanwhile = Meanwhile(lambda: store.put({"n": "new", "metadata": {"labels": {"id": "new"}}}), read=lambda _obj: "v")
    store.add_indexers(by_id, Indexer("late", meanwhile))
    assert store.keys(label_selector="id=new") == [ObjectKey("", "new")]
    assert store.keys(label_selector="id=77") == [ObjectKey("", "77")]
    assert not store.explain(label_selector="id=new").scanned
    assert len(store.index_values(by_id)) == 0x10000


# Memory, without a clock


def tables_of(store: Store[Any]) -> int:
    """Add up the bytes of every table of a store that grows with its objects or values."""
    generation = store._core.generation
    slots = generation.slots
    tables: list[object] = [slots.slot_of, slots.keys, slots.objects]
    for index in generation.indexes:
        for name in ("forward", "filed", "ids", "values", "postings", "column", "counts", "members"):
            table = getattr(index, name, None)
            if table is not None:
                tables.append(table)
        for bitmap in (index.present,) if hasattr(index, "present") else ():
            assert len(bitmap) <= len(slots)
    return sum(map(sys.getsizeof, tables))


def churned(fresh: Sequence[Pod], indexers: Sequence[Any]) -> Store[Any]:
    """Let objects with values of their own come and go, one at a time."""
    store: Store[Any] = Store(indexers=indexers)
    for obj in fresh:
        store.put(obj)
    for obj in fresh:
        store.delete(obj)
    return store


@pytest.fixture
def unvalidated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check at the end only: thousands of small writes would be checked for minutes."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)


@pytest.mark.usefixtures("unvalidated")
def test_a_store_that_emptied_is_as_small_as_a_new_one() -> None:
    """100,000 objects with values of their own leave no value, no slot, and tables of a few hundred bytes."""
    indexers = [LabelIndexer("app"), by_node, Indexer("name", lambda obj: obj["metadata"]["name"])]
    store: Store[Any] = Store(indexers=indexers)
    for start in range(0, 100_000, 5_000):
        fresh = [
            pod(f"p{number}", f"ns{number}", node=f"n{number}", app=f"v{number}")
            for number in range(start, start + 5_000)
        ]
        store.replace(fresh)
        with store.transaction() as txn:
            for obj in fresh:
                txn.delete(obj)
    empty: Store[Any] = Store(indexers=indexers)
    assert len(store) == 0
    assert store._core.generation.slots.capacity == 0
    assert type(store._core.generation.slots.free) is BitMap
    assert [store.index_values(index) for index in (LabelIndexer("app"), by_node, NamespaceIndexer())] == [[], [], []]
    assert tables_of(store) == tables_of(empty)
    store._check()


@pytest.mark.usefixtures("unvalidated")
def test_objects_that_come_and_go_one_by_one_leave_nothing() -> None:
    """The same by single puts and deletes, where tables shrink on the way."""
    fresh = [pod(f"p{number}", f"ns{number % 7}", node=f"n{number}", app=f"v{number}") for number in range(5_000)]
    store = churned(fresh, [LabelIndexer("app"), by_node])
    assert tables_of(store) == tables_of(Store(indexers=[LabelIndexer("app"), by_node]))
    store._check()


def test_a_relist_to_a_few_objects_leaves_tables_for_a_few() -> None:
    """From 50,000 to 10: the tables are those of ten objects, and every answer is right."""
    indexers = [LabelIndexer("app"), by_node, SortedIndexer("name", "metadata.name")]
    few = [pod(f"p{number}", node=f"n{number}", app=f"v{number}") for number in range(10)]
    store: Store[Any] = Store(indexers=indexers)
    store.replace([pod(f"p{number}", node=f"n{number}", app=f"v{number}") for number in range(50_000)])
    deltas = store.replace(few)
    assert len(deltas) == 49_990
    small: Store[Any] = Store(indexers=indexers)
    small.replace(few)
    assert store._core.generation.slots.capacity <= 64
    assert tables_of(store) <= 2 * tables_of(small)
    assert store.keys(by_node.at("n7"), label_selector="app=v7") == [key("p7")]
    store._check()


@pytest.mark.usefixtures("unvalidated")
def test_a_store_shrinks_when_less_than_a_quarter_is_left() -> None:
    """Deleting down to 100 of 1,000 rebuilds in fewer slots; objects, values, revision and versions are kept."""
    store = filled(1_000, indexers=[by_node, by_labels, SortedIndexer("name", "metadata.name")])
    store.bookmark("77")
    capacities = []
    for number in range(900):
        store.delete(key(f"a{number}"))
        capacities.append(store._core.generation.slots.capacity)
        assert len(store) * 4 >= capacities[-1]
    assert capacities[0] == 1_000
    assert capacities[-1] < 400
    assert (len(store), store.revision, store.resource_version()) == (100, 901, "77")
    assert names(store, by_node, "n1") == sorted(f"a{number}" for number in range(901, 1_000, 2))
    assert store.keys(label_selector="app=app950") == [key("a950")]
    store._check()
    for number in range(50):
        store.put(pod(f"b{number}", node="n1"))
    assert len(names(store, by_node, "n1")) == 100
    store._check()


def test_writes_during_a_rebuild_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rebuild takes no lock while it builds; what is written meanwhile is in the new tables."""
    from kindex.generation import Generation

    store = filled(300, indexers=[by_node])
    original = Generation.build.__func__  # type: ignore[attr-defined]
    happened = []

    def build(cls: type[Generation[Any]], *arguments: Any) -> Generation[Any]:
        if not happened:
            happened.append(1)
            store.put(pod("new", node="n9"))
            store.put(pod("a299", node="n9"))
            store.delete(key("a298"))
        return original(cls, *arguments)  # type: ignore[no-any-return]

    with store.transaction() as txn:
        for number in range(250):
            txn.delete(key(f"a{number}"))
        monkeypatch.setattr(Generation, "build", classmethod(build))
    assert happened == [1]
    store._check()
    assert len(store) == 50
    assert store._core.generation.slots.capacity < 100
    assert names(store, by_node, "n9") == ["a299", "new"]
    assert key("a298") not in store
    assert store.revision == 5
