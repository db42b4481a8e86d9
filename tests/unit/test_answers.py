"""Remembered answers: right after every write, bounded, counted, and no work for who does not ask twice."""

from __future__ import annotations

import sys
import tracemalloc
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from pyroaring import BitMap

from kindex import Budget, FieldIndexer, IndexerError, LabelIndexer, LabelSelector, ObjectKey, OwnerIndexer, Store
from kindex.answers import Answers
from kindex.map_index import MapIndex
from tests.interruptions import interrupted_at
from tests.pods import Pod, pod

if TYPE_CHECKING:
    from collections.abc import Callable

PODS = 200
by_app, by_zone = LabelIndexer("app"), FieldIndexer("spec.zone")


def pods_of(app: str, n: int = PODS, start: int = 0) -> list[Pod]:
    return [{**pod(f"pod-{number:03d}", app=app), "spec": {"zone": "a"}} for number in range(start, start + n)]


def filled(n: int = PODS, **arguments: Any) -> Store[Pod]:
    store: Store[Pod] = Store(name="pods", indexers=[by_app, by_zone], **arguments)
    store.replace(pods_of("web", n))
    return store


def remembered(store: Store[Pod]) -> int:
    return store.memory().remembered_bytes


def asked(store: Store[Pod], times: int = 2) -> list[Pod]:
    found: list[Pod] = []
    for _ in range(times):
        found = store.select(label_selector="app=web")
        assert found == store.select(where=lambda obj: obj["metadata"]["labels"].get("app") == "web")
        assert store.keys(label_selector="app=web") == [
            ObjectKey(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found
        ]
    return found


def test_an_answer_is_remembered_when_it_is_asked_again() -> None:
    """The first question keeps nothing, the second does."""
    store = filled()
    store.select(label_selector="app=web")
    assert remembered(store) == 0
    first = store.select(label_selector="app=web")
    size = remembered(store)
    assert size > 40 * PODS
    second = store.select(label_selector="app=web")
    assert first == second
    assert first is not second
    assert remembered(store) == size


def test_small_answers_and_those_of_several_indexes_are_not() -> None:
    """What is remembered is a posting, and a large one."""
    store = filled()
    store.put(pod("other", app="db"))
    for _ in range(3):
        assert len(store.select(label_selector="app=db")) == 1
        assert len(store.select(by_zone.at("a"), label_selector="app=web")) == PODS
        assert len(store.select(label_selector="app in (web,db)")) == PODS + 1
        assert len(store.select(label_selector="app!=db")) == PODS
        assert len(store.select(label_selector="app=web", limit=70)) == 70
    assert remembered(store) == 0


def test_every_index_that_has_postings_remembers() -> None:
    """Namespaces, fields, owners, families: whatever gives the answer alone."""
    by_owner = OwnerIndexer()
    store: Store[Pod] = Store(indexers=[by_zone, by_owner, LabelIndexer.all(budget=Budget(max_values=1000))])
    owner = {"apiVersion": "v1", "kind": "X", "name": "x", "uid": "u"}
    for each in pods_of("web"):
        each["metadata"]["ownerReferences"] = [owner]
        store.put(each)
    questions: list[Callable[[], list[Pod]]] = [
        lambda: store.select(namespace="prod"),
        lambda: store.select(by_zone.at("a")),
        lambda: store.select(field_selector="spec.zone=a"),
        lambda: store.select(by_owner.at("u")),
        lambda: store.select(label_selector=LabelSelector.parse("app=web")),
    ]
    sizes = []
    for question in questions:
        assert len(question()) == len(question()) == len(question()) == PODS
        sizes.append(remembered(store))
    assert sizes[0] < sizes[1] == sizes[2] < sizes[3] < sizes[4]  # the field selector asks what the term did
    store.delete(ObjectKey("prod", "pod-000"))
    assert remembered(store) == 0
    for question in questions:
        assert len(question()) == len(question()) == len(question()) == PODS - 1


def change_label(store: Store[Pod]) -> None:
    store.put({**pod("pod-007", app="db"), "spec": {"zone": "a"}})


def add(store: Store[Pod]) -> None:
    store.put(pod("more", app="web"))


def add_another(store: Store[Pod]) -> None:
    store.put(pod("more", app="db"))


def take_away(store: Store[Pod]) -> None:
    store.delete(ObjectKey("prod", "pod-100"))


def put_in_its_place(store: Store[Pod]) -> None:
    store.put({**pod("pod-007", app="web"), "spec": {"zone": "a"}, "status": "new"})


def transact(store: Store[Pod]) -> None:
    with store.transaction() as txn:
        txn.delete(ObjectKey("prod", "pod-001"))
        txn.put(pod("pod-002", app="db"))
        txn.put(pod("more", app="web"))


def relist_some(store: Store[Pod]) -> None:
    store.replace([*pods_of("web", PODS - 20), *pods_of("db", 10, PODS - 20)])


def relist_most(store: Store[Pod]) -> None:
    store.replace(pods_of("web", PODS, PODS // 2 + 20))


def relist_none(store: Store[Pod]) -> None:
    store.replace([])


def add_an_indexer(store: Store[Pod]) -> None:
    store.add_indexers(OwnerIndexer())


def remove_an_indexer(store: Store[Pod]) -> None:
    store.remove_indexer(by_app.name)


WRITES = [
    change_label,
    add,
    add_another,
    take_away,
    put_in_its_place,
    transact,
    relist_some,
    relist_most,
    relist_none,
    add_an_indexer,
    remove_an_indexer,
]


@pytest.mark.parametrize("write", WRITES)
def test_a_remembered_answer_is_right_after_every_write(write: Callable[[Store[Pod]], None]) -> None:
    """It is asked by scan beside, and every object is the one that is stored."""
    store = filled()
    asked(store)
    assert remembered(store)
    write(store)
    store._check()
    asked(store, 3)
    store._check()


def test_an_object_that_is_put_in_its_place_leaves_the_answer_remembered() -> None:
    """A status that changes moves no pod, so nothing is made anew; and the new object is given."""
    store = filled()
    asked(store)
    size = remembered(store)
    put_in_its_place(store)
    assert remembered(store) == size
    assert sum("status" in each for each in asked(store)) == 1


def test_a_column_that_becomes_a_map_tells_of_changes_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """The postings move to the other layout, and so does who is to be told."""
    monkeypatch.setattr("kindex.column_index._WIDEST", 2)
    store = filled()
    asked(store)
    store.put(pod("more-1", app="a"))
    store.put(pod("more-2", app="b"))  # the third value: one more than the column can number
    generation = store._core.generation
    assert type(generation.index_at(generation.schema.spot_of(by_app.key("app")))) is MapIndex
    change_label(store)
    asked(store, 3)
    store._check()


def test_an_interrupt_at_any_point_of_a_commit_leaves_no_stale_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever comes next finishes the commit, and forgets what it changed."""
    monkeypatch.setattr("kindex.generation.LARGE", 3)
    monkeypatch.setattr("kindex.core._VALIDATE", False)  # the test checks by itself
    points = 0
    for number in count():
        store = filled(5)
        asked(store)
        if not interrupted_at(number, lambda: transact(store), inside="Generation.apply"):  # noqa: B023 - called here
            break
        assert {each["metadata"]["name"] for each in asked(store)} == {"pod-000", "pod-003", "pod-004", "more"}
        store._check()
        points += 1
    assert points > 20


def test_an_interrupt_while_an_answer_is_made_costs_no_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it left counted too much is counted again when there seems to be no room."""
    monkeypatch.setattr("kindex.generation.LARGE", 3)
    room = 320 + 40 * 5
    for number in count():
        store = filled(5, remember_bytes=room)
        store.select(label_selector="app=web")
        if not interrupted_at(
            number,
            lambda: store.select(label_selector="app=web"),  # noqa: B023 - called here
            inside="Answers.getter",
        ):
            break
        asked(store)
        assert remembered(store) == room
        store._check()
    assert number > 5


def test_the_oldest_goes_when_there_is_no_room() -> None:
    """The bound holds after each question; what was made last is there."""
    postings = [BitMap(range(start, start + 100)) for start in range(10)]
    answers = Answers(3 * (320 + 40 * 100))
    objects = list(range(200))
    for posting in postings:
        assert answers.getter(posting) is None
        getter = answers.getter(posting)
        assert getter is not None
        assert getter(objects) == tuple(posting)
        answers._check()
    kept = [number for number, posting in enumerate(postings) if id(posting) in answers._kept]
    assert kept == [7, 8, 9]
    assert answers.size_bytes == answers.max_bytes


def test_an_answer_larger_than_the_room_drives_nothing_out() -> None:
    """It is copied out as ever."""
    answers = Answers(320 + 40 * 100)
    small, large = BitMap(range(100)), BitMap(range(101))
    for posting in (small, small, large, large, large):
        answers.getter(posting)
    assert answers.getter(large) is None
    assert answers.getter(small) is not None


def test_nothing_is_remembered_where_it_is_not_wanted() -> None:
    """``remember_bytes=0``."""
    store = filled(remember_bytes=0)
    asked(store, 3)
    assert remembered(store) == 0


def test_sizes_are_numbers_or_text() -> None:
    """As for budgets; what makes no sense is refused."""
    store = filled(remember_bytes="1KiB")
    asked(store, 3)
    assert remembered(store) == 0  # 200 objects take more
    for wrong in (-1, "many", None, 1.5):
        with pytest.raises(IndexerError, match="size"):
            Store(remember_bytes=wrong)  # type: ignore[arg-type]  # what is tested


def test_what_is_asked_only_once_is_bounded_too() -> None:
    """Ten thousand different questions leave a few thousand marks, and no answer."""
    answers = Answers(1 << 20)
    postings = [BitMap(range(start, start + 2)) for start in range(10_000)]
    for posting in postings:
        answers.getter(posting)
    assert len(answers._asked) <= 4_096
    assert answers.size_bytes == 0


def test_answers_are_counted_as_they_are() -> None:
    """What ``memory()`` says of them is what the process takes, within a tenth."""
    store = filled(3_000)
    store.select(label_selector="app=web")
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        store.select(label_selector="app=web")
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert remembered(store) == pytest.approx(taken, rel=0.1)


def test_what_a_snapshot_keeps_of_a_state_that_went_counts_with_it() -> None:
    """Its answers are not the store's any more, and not lost from the report either."""
    kept = []
    for room in (0, 1 << 20):
        store = filled(remember_bytes=room)
        asked(store)
        size = remembered(store)
        with store.snapshot():
            relist_most(store)
            report = store.memory()
            kept.append(report.snapshot_bytes)
            assert report.remembered_bytes == 0
    assert size > 0
    assert kept[1] - kept[0] == size


def test_no_object_is_kept() -> None:
    """What was replaced or deleted is held by nobody."""
    store = filled()
    asked(store)
    old = store.require(ObjectKey("prod", "pod-007"))
    held = sys.getrefcount(old)
    put_in_its_place(store)
    assert sys.getrefcount(old) == held - 1
