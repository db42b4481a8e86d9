"""Snapshots among threads, finalizers, signals, interrupts and forks; each race with its control.

Meetings are made to happen at named places; the hunt at the end is bounded by counts, not by time.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
from functools import partial
from itertools import chain, count, cycle
from typing import TYPE_CHECKING, Any

import pytest

from kindex import InCommitError, LabelIndexer, Snapshot, SortedIndexer, Store
from kindex.column_index import ColumnIndex
from kindex.core import Core
from kindex.generation import Generation
from kindex.map_index import MapIndex
from kindex.slots import SlotTable
from kindex.snapshots import Past
from tests.interruptions import _points, interrupted_at
from tests.locks import NoLock, owned
from tests.pods import Pod, key, pod
from tests.races.test_commits import (
    READS,
    STEP,
    WRITES,
    ArrivingLock,
    Finalized,
    at_the_nth_call,
    by_labels,
    by_node,
    by_size,
    by_value,
    delete,
    delete_in_transaction,
    filled,
    put_new,
    put_over,
    replace_by_diff,
    replace_by_generation,
    transact,
)
from tests.running import DEADLINE, Beside, passed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType, FrameType

    from kindex.views import View


def seen(view: View[Any]) -> tuple[Any, ...]:
    """Ask something of every index; equal for two views exactly if they show one state."""
    by_app = by_labels.key("app")
    return (
        view.keys(),
        list(map(id, view.select(label_selector="app"))),
        list(map(id, view.select())),
        view.tally(by_app),
        view.index_values(by_node),
        view.index_values(by_size),
        view.keys(by_value.at("x"), order_by="key"),
        view.keys(label_selector="app in (web,db,new),!only"),
        view.count(label_selector="tier=gold", namespace="prod"),
        view.keys(by_size.largest() | by_node.at("n1")),
        view.revision,
        view.resource_version(),
        len(view),
        id(view.get(key("a"))),
    )


def relist_one_namespace(store: Store[Pod]) -> None:
    store.replace([pod("c", "test", app="new"), pod("f", "test")], "3", namespace="test")


def empty(store: Store[Pod]) -> None:
    """Delete everything: a commit, and then another table is swapped in."""
    delete_in_transaction(store, *store.keys())


ALL_WRITES = (*WRITES, relist_one_namespace, empty)

# Interrupts


@pytest.mark.parametrize("write", ALL_WRITES)
@pytest.mark.parametrize("indexed", [False, True])
def test_a_commit_that_was_cut_short_changes_no_snapshot(
    write: Callable[[Store[Pod]], None], indexed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an interrupt hits a commit or a swap, open snapshots answer as before, and later ones as the store.

    One snapshot has nothing kept yet, of another one the half is *indexed* when the commit comes. And to take in what
    is kept is cut short, too.
    """
    monkeypatch.setattr("kindex.core._VALIDATE", False)  # the test checks by itself
    for inside in ("Core.commit", "Core.swap"):
        for number in count(step=STEP):
            store = filled()
            first, before = store.snapshot(), seen(store)
            if indexed:
                store.put(pod("b", app="db"))
                assert seen(first) == before
            second, between = store.snapshot(), seen(store)
            if not interrupted_at(number, partial(write, store), inside=inside):
                break
            interrupted_at(number % 97, lambda first=first: seen(first), inside="Past.index")  # type: ignore[misc]
            if number % 2:
                assert seen(first) == before, f"{inside} interrupted at point {number}"
            third, after = store.snapshot(), seen(store)
            write(store)
            for snapshot, expected in ((first, before), (second, between), (third, after)):
                assert seen(snapshot) == expected, f"{inside} interrupted at point {number}"
            store._check()
    assert number == 0 or write is not put_over


@pytest.mark.parametrize("inside", ["Past.remember", "Past.index", "take", "Moment.close", "Moment.check_may_read"])
def test_every_point_of_a_snapshots_own_work_may_be_cut_short(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """To take one, to keep for it, to take in what is kept, to close it: done again, it is as if never cut short."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)

    def act(store: Store[Pod], first: Snapshot[Pod]) -> None:
        store.snapshot().close()  # some Pythons trace a function from its second call on
        transact(store)
        second = store.snapshot()
        put_over(store)
        seen(first)
        second.close()

    # To index a few images has a thousand points, much alike: all in `make stress`.
    for number in count(step=min(STEP, 5) if inside == "Past.index" else 1):
        store = filled()
        first, before = store.snapshot(), seen(store)
        if not interrupted_at(number, partial(act, store, first), inside=inside):
            break
        assert seen(first) == before, f"interrupted at point {number}"
        third, after = store.snapshot(), seen(store)
        act(store, first)
        assert (seen(first), seen(third)) == (before, after), f"interrupted at point {number}"
        store._check()
        first.close()
        third.close()
        assert store._core.pasts == []
    assert number > 1


def test_the_tests_above_find_what_is_kept_too_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were a slot kept after it was touched, snapshots would show what came later."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    remember, apply = Past.remember, Generation.apply
    late: list[Callable[[], None]] = []
    monkeypatch.setattr(Past, "remember", lambda *arguments: late.append(lambda: remember(*arguments)))

    def apply_first(self: Generation[Any], entries: Any) -> None:
        apply(self, entries)
        for each in late:
            each()
        late.clear()

    monkeypatch.setattr(Generation, "apply", apply_first)
    for write in (put_over, delete, transact, replace_by_diff):
        store = filled()
        snapshot, before = store.snapshot(), seen(store)
        write(store)
        assert seen(snapshot) != before


def test_a_snapshot_finishes_what_was_cut_short() -> None:
    """To take or to ask one is to enter the lock: the commit that an interrupt left half done is completed first."""
    for enter in (lambda store, _: store.snapshot(), lambda _, snapshot: len(snapshot)):
        store = filled()
        first, before = store.snapshot(), seen(store)
        assert interrupted_at(3, partial(put_over, store), inside="Generation.apply")
        enter(store, first)
        assert store._core.pending is None
        assert store.snapshot().tally(by_labels.key("app")) == {"db": 2, "web": 1}
        assert seen(first) == before


# Finalizers and signal handlers


def visited_at(number: int, act: Callable[[], object], visit: Callable[[], None], *, inside: str) -> bool:
    """Run *act*, and *visit* at the *number*-th point inside functions of this name, as ``interrupted_at`` counts them.

    A finalizer or a signal handler may run there. Gives whether there was such a point.
    """
    left, depth = number, 0

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal left, depth
        code: CodeType = frame.f_code
        if event == "return" and code.co_qualname == inside:
            depth -= 1
        if event == "opcode" and depth and frame.f_lasti in _points(code):
            left -= 1
            if left == -1:
                visit()
        return local

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal depth
        if "/kindex/" not in frame.f_code.co_filename:
            return None
        depth += frame.f_code.co_qualname == inside
        if not depth:
            return None
        frame.f_trace_opcodes = True
        return local

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        act()
    finally:
        sys.settrace(before)
    return left < 0


@pytest.mark.parametrize("write", [put_over, put_new, delete, transact, replace_by_generation, empty])
def test_a_snapshot_that_a_finalizer_takes_or_asks_in_a_commit_is_right_or_refused(
    write: Callable[[Store[Pod]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At each point of a commit: what it sees is one state, then and later, or it is told that it cannot look."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    refused, looked = 0, 0
    for inside in ("Core.commit", "Core.swap"):
        for number in chain(range(40), count(40, STEP)):  # all that come before the commit is pending, and some more
            store, taken = filled(), list[tuple[Snapshot[Pod], Any]]()
            before = seen(store)
            first = store.snapshot() if number % 2 else None

            def visit(store: Any = store, first: Any = first, taken: Any = taken) -> None:
                nonlocal refused, looked
                for look in ((lambda: first), store.snapshot):
                    try:
                        snapshot = look()
                        if snapshot is not None:
                            taken.append((snapshot, seen(snapshot)))
                            looked += 1
                    except InCommitError:
                        refused += 1

            if not visited_at(number, partial(write, store), visit, inside=inside):
                break
            after = seen(store)
            for snapshot, then in taken:
                assert then in (before, after), f"{inside}, point {number}"
                assert seen(snapshot) == then, f"{inside}, point {number}"
            assert first is None or seen(first) == before, f"{inside}, point {number}"
            store._check()
    if write is not replace_by_generation:  # one swap, in which some Pythons trace nothing, as above
        assert refused > 1
        assert looked > 1


@pytest.mark.parametrize("question", [len, seen, lambda snapshot: snapshot.count(label_selector="app=web")])
def test_a_snapshot_that_is_asked_inside_its_own_query_is_right_or_refused(
    question: Callable[[Snapshot[Pod]], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it takes in what was kept, a finalizer that asks it is refused; neither answer is ever wrong."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    refused, answered, sentences = 0, 0, set[str]()
    for inside in ("Past.counted", "Past.found", "Past.held", "Past.get"):
        for number in count(step=min(STEP, 7)):
            store = filled()
            snapshot, before = store.snapshot(), seen(store)
            expected, also = question(snapshot), store.snapshot()
            transact(store)
            now = seen(store)

            def visit(snapshot: Any = snapshot, store: Any = store, expected: Any = expected, now: Any = now) -> None:
                nonlocal refused, answered
                assert seen(store) == now  # the store may be asked, and others of its snapshots taken
                with store.snapshot() as other:
                    assert seen(other) == now
                try:
                    found = question(snapshot)
                except InCommitError as error:
                    refused += 1
                    sentences.add(str(error))
                else:
                    answered += 1
                    assert found == expected

            if not visited_at(number, partial(seen, snapshot), visit, inside=inside):
                break
            assert seen(snapshot) == before
            assert seen(also) == before
            store._check()
    assert refused > 5
    assert answered > 5
    (sentence,) = sentences
    assert sentence == (
        "a snapshot of store 'pods' is being read by this thread, and takes in what has changed since; code that Python"
        " runs at any time (finalizers, signal handlers) cannot read it there: note what to do, and do it later"
    )


@pytest.mark.parametrize("inner", READS)
@pytest.mark.parametrize(
    "where", [(Past, "remember"), (Generation, "apply"), (SlotTable, "assign"), (ColumnIndex, "file")]
)
def test_no_snapshot_is_read_or_taken_inside_a_commit(
    inner: Callable[[Any], object], where: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a finalizer or signal handler asks in mid-commit is an InCommitError, and harms nothing."""
    store, expected = filled(), filled()
    snapshot, before = store.snapshot(), seen(store)
    refused: list[InCommitError] = []

    def ask() -> None:
        for each in (inner, lambda _: store.snapshot()):
            with pytest.raises(InCommitError) as caught:
                each(snapshot)
            refused.append(caught.value)

    put_over(expected)
    with monkeypatch.context() as patched:
        patched.setattr(where[0], where[1], at_the_nth_call(0, getattr(where[0], where[1]), ask))
        put_over(store)
    assert len(refused) == 2
    assert seen(snapshot) == before
    assert store.tally(by_labels.key("app")) == expected.tally(by_labels.key("app"))
    store._check()


@pytest.mark.parametrize("inner", READS)
def test_a_snapshot_is_read_and_taken_inside_a_read(
    inner: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer that comes during a query, of the store or of a snapshot, gets what anybody would."""
    store = filled()
    snapshot = store.snapshot()
    put_over(store)
    expected = [inner(snapshot)]  # which takes in what is kept
    for outer in (store, snapshot):
        answers: list[object] = []
        taken: list[Snapshot[Pod]] = []

        def ask(answers: list[object] = answers, taken: list[Snapshot[Pod]] = taken) -> None:
            answers.append(inner(snapshot))
            taken.append(store.snapshot())

        with monkeypatch.context() as patched:
            patched.setattr(Generation, "index_at", at_the_nth_call(0, Generation.index_at, ask))
            assert len(outer.select(label_selector="app=web")) == (1 if outer is store else 2)
        assert answers == expected
        assert inner(taken[0]) == inner(store)
    store._check()


def test_the_collector_may_run_a_finalizer_that_asks_a_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that the collector calls under the lock does not hang: it is refused, and query and commit complete."""
    store = filled()
    snapshot, before = store.snapshot(), seen(store)
    heard: list[str] = []

    def ask(_obj: Finalized) -> None:
        for look in (len, Snapshot.to_list, seen, lambda _: store.snapshot()):
            try:
                look(snapshot)
                heard.append("answered")
            except InCommitError:
                heard.append("refused")

    def litter() -> None:
        cycle = Finalized("litter", ask)
        cycle.metadata["self"] = cycle  # type: ignore[assignment]  # it is to be found by the collector
        del cycle
        gc.collect()

    for number, act in enumerate((lambda: put_over(store), lambda: seen(snapshot))):
        with monkeypatch.context() as patched:
            patched.setattr(ColumnIndex, "file", at_the_nth_call(1, ColumnIndex.file, litter))
            act()
        assert heard[4 * number :] == ["refused"] * (4 if number == 0 else 3) + ["answered"] * number
    assert seen(snapshot) == before
    store._check()


def test_a_signal_handler_that_asks_a_snapshot_cuts_its_query_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """The query fails with InCommitError where it cannot go on; asked again, the snapshot is as it was."""
    store = filled()
    snapshot, before = store.snapshot(), seen(store)
    put_over(store)
    earlier = signal.signal(signal.SIGUSR1, lambda *_: snapshot.keys())
    try:
        with monkeypatch.context() as patched:
            patched.setattr(
                MapIndex, "file", at_the_nth_call(0, MapIndex.file, lambda: signal.raise_signal(signal.SIGUSR1))
            )
            with pytest.raises(InCommitError, match="a snapshot of store 'pods' is being read by this thread"):
                snapshot.select()
    finally:
        signal.signal(signal.SIGUSR1, earlier)
    assert seen(snapshot) == before
    store._check()


# Threads that meet


def meeting(
    monkeypatch: pytest.MonkeyPatch,
    seam: tuple[type, str, int],
    act: Callable[[Store[Pod], Snapshot[Pod]], Any],
    other: Callable[[Store[Pod], Snapshot[Pod]], Any],
    *,
    locked: bool,
    touched: bool = False,
) -> tuple[Any, Any, Any]:
    """Stop *act* at a seam until another thread, which does *other*, waits for the lock or has done it.

    Gives what the snapshot showed at first, and what the two gave; an exception counts as what it gave.
    """
    store = filled()
    arrived = threading.Event()
    snapshot, before = store.snapshot(), seen(store)
    if touched:
        transact(store)
    beside: list[Beside[Any]] = []

    def given(ask: Callable[[Store[Pod], Snapshot[Pod]], Any]) -> Any:
        try:
            return ask(store, snapshot)
        except Exception as error:  # noqa: BLE001 - what a race throws
            return error

    def reach() -> Any:
        try:
            return given(other)
        finally:
            arrived.set()

    def stop() -> None:
        beside.append(Beside(reach))
        passed(arrived)

    with monkeypatch.context() as patched:
        patched.setattr(store._core, "lock", ArrivingLock(store._core.lock, arrived) if locked else NoLock())
        patched.setattr(seam[0], seam[1], at_the_nth_call(seam[2], getattr(seam[0], seam[1]), stop))
        if not locked:
            # Without a lock whoever comes would finish the commit by itself, and hide that it did not wait.
            patched.setattr(Core, "settle", lambda _self: None)
            patched.setattr("kindex.core._VALIDATE", False)
        mine = given(act)
        theirs = beside[0].result()
    beside[0].thread.join(DEADLINE)
    assert not beside[0].thread.is_alive()
    return before, mine, theirs


def ask_all(_store: Store[Pod], snapshot: Snapshot[Pod]) -> Any:
    return seen(snapshot)


@pytest.mark.parametrize("locked", [True, False])
@pytest.mark.parametrize("seam", [(Past, "remember", 0), (SlotTable, "assign", 0), (ColumnIndex, "file", 0)])
def test_a_query_of_a_snapshot_waits_for_the_commit_in_progress(
    monkeypatch: pytest.MonkeyPatch, seam: tuple[type, str, int], locked: bool
) -> None:
    """Nothing is being applied when it answers; the control, without the lock, answers in mid-commit."""

    def ask(store: Store[Pod], snapshot: Snapshot[Pod]) -> Any:
        return seen(snapshot), store._core.pending is None

    before, _, (answer, waited) = meeting(monkeypatch, seam, lambda store, _: put_over(store), ask, locked=locked)
    assert waited is locked
    assert answer == before or not locked


@pytest.mark.parametrize(("locked", "torn"), [(True, False), (False, True)])
@pytest.mark.parametrize("seam", [(Past, "_in_order", 0), (Past, "_objects", 1), (Past, "_untouched", 0)])
def test_a_commit_waits_for_the_query_of_a_snapshot(
    monkeypatch: pytest.MonkeyPatch, seam: tuple[type, str, int], locked: bool, torn: bool
) -> None:
    """What a query has found is copied before anybody changes it; in the control, without the lock, it is not."""

    def overwrite(store: Store[Pod], _snapshot: Snapshot[Pod]) -> None:
        delete_in_transaction(store, *store.keys())

    before, answer, _ = meeting(monkeypatch, seam, ask_all, overwrite, locked=locked, touched=True)
    assert (answer != before) is torn


@pytest.mark.parametrize(("locked", "torn"), [(True, False), (False, True)])
@pytest.mark.parametrize("seam", [(Generation, "apply", 0), (SlotTable, "assign", 0), (ColumnIndex, "file", 1)])
def test_two_threads_that_share_a_snapshot_take_turns(
    monkeypatch: pytest.MonkeyPatch, seam: tuple[type, str, int], locked: bool, torn: bool
) -> None:
    """While one takes in what was kept, the other waits; in the control both do, and get in each other's way."""
    before, mine, theirs = meeting(monkeypatch, seam, ask_all, ask_all, locked=locked, touched=True)
    assert ((mine, theirs) != (before, before)) is torn


@pytest.mark.parametrize("locked", [True, False])
def test_what_a_snapshot_kept_is_let_go_when_the_lock_is_free(monkeypatch: pytest.MonkeyPatch, locked: bool) -> None:
    """Closed by another thread while a commit keeps something for it: no ``__del__`` of an object runs in the commit.

    In the control, where closing does not wait for the lock, the commit is the last that holds it.
    """
    store: Store[Any] = Store(name="pods", indexers=[by_labels])
    inside: list[bool] = []
    arrived = threading.Event()
    store.put(Finalized("a", lambda _obj: inside.append(owned(store))))
    snapshot = store.snapshot()
    store.put(pod("a"))
    monkeypatch.setattr(store._core, "lock", ArrivingLock(store._core.lock, arrived))
    if not locked:
        monkeypatch.setattr("kindex.snapshots.Moment.close", lambda self: setattr(self, "_past", None))
    beside: list[Beside[None]] = []

    def close() -> None:
        snapshot.close()
        arrived.set()

    def stop() -> None:
        beside.append(Beside(close))
        passed(arrived)

    with monkeypatch.context() as patched:
        patched.setattr(Past, "remember", at_the_nth_call(0, Past.remember, stop))
        store.put(pod("b"))
    beside[0].result()
    assert inside == [not locked]
    assert store._core.pasts == []


def test_to_take_one_waits_for_the_commit_in_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """A snapshot that is taken in the middle of another thread's commit shows all of it, and goes on to do so."""
    for seam in ((Past, "remember", 0), (SlotTable, "assign", 0), (MapIndex, "file", 0)):

        def take(store: Store[Pod], _snapshot: Snapshot[Pod]) -> Any:
            snapshot, expected = store.snapshot(), seen(store)
            delete_in_transaction(store, *store.keys())
            return seen(snapshot) == expected

        _, _, right = meeting(monkeypatch, seam, lambda store, _: transact(store), take, locked=True)
        assert right is True


# Forks


class ForkedLock(ArrivingLock):
    """The same, which a fork takes and gives back."""

    def acquire(self, *, timeout: float) -> bool:
        self.arrived.set()
        return bool(self.lock.acquire(timeout=timeout))

    def release(self) -> None:
        self.lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("indexing", [False, True])
def test_a_child_has_its_snapshots(indexing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a child they are as they were, go on to be kept for, and close; also if another thread was just asking one."""
    store = filled()
    snapshot, before = store.snapshot(), seen(store)
    put_over(store)
    beside: list[Beside[Any]] = []
    if indexing:
        stopped, forking = threading.Event(), threading.Event()
        monkeypatch.setattr(store._core, "lock", ForkedLock(store._core.lock, forking))

        def stop() -> None:
            stopped.set()
            passed(forking)  # which waits for the lock then

        monkeypatch.setattr(ColumnIndex, "file", at_the_nth_call(1, ColumnIndex.file, stop))
        beside.append(Beside(lambda: seen(snapshot)))
        passed(stopped)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forking with threads, which is the point
        child = os.fork()
    if child == 0:
        code = 1
        try:
            assert seen(snapshot) == before
            now = store.snapshot(), seen(store)
            delete_in_transaction(store, *store.keys())
            assert (seen(snapshot), seen(now[0])) == (before, now[1])
            store._check()
            now[0].close()
            snapshot.close()
            assert store._core.pasts == []
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    for each in beside:
        assert each.result() == before
    assert seen(snapshot) == before


# The hunt

PAIRS = 30
LOOKS = 300 * (20 if STEP == 1 else 1)
"""So often each reader looks; more in `make stress`."""

by_side = LabelIndexer("side")
by_number: SortedIndexer[Pod, Any] = SortedIndexer("number", lambda obj: obj["number"])


@pytest.fixture
def restless() -> Iterator[None]:
    """Let Python switch between threads as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


class Hunt:
    """Pairs of pods that one thread moves from side to side, each pair in one transaction, while others ask snapshots.

    Attributes:
        wrong: what was seen that never was, and what threads failed with.
    """

    def __init__(self) -> None:
        self.store: Store[Pod] = Store(name="pods", indexers=[by_side, by_number])
        self.store.replace([each for number in range(PAIRS) for each in self.pair(number, "left")])
        self.wrong: list[object] = []

    def run(self, *readers: Callable[[], object]) -> list[object]:
        """Let readers look so many times each, and the writer write until they have; give what is wrong."""
        begin = threading.Barrier(len(readers) + 1)
        reading = set(range(len(readers)))

        def write() -> None:
            sides = ["left"] * PAIRS
            for number in cycle(range(PAIRS)):
                if not reading:
                    break
                sides[number] = "right" if sides[number] == "left" else "left"
                with self.store.transaction() as txn:
                    for each in self.pair(number, sides[number]):
                        txn.put(each)

        def read(number: int) -> None:
            try:
                for _ in range(LOOKS):
                    readers[number]()
                    if self.wrong:
                        break
            finally:
                reading.discard(number)

        def run(act: Callable[[], None]) -> None:
            begin.wait(DEADLINE)
            try:
                act()
            except Exception as error:  # noqa: BLE001 - what a race throws
                self.wrong.append(error)

        for each in [Beside(partial(run, act)) for act in (write, *(partial(read, each) for each in reading))]:
            each.result()
            each.thread.join(DEADLINE)
            assert not each.thread.is_alive()
        return self.wrong

    def look(self) -> None:
        """Ask a new snapshot for both sides, twice."""
        with self.store.snapshot() as snapshot:
            first = self.sides_of(snapshot)
            if self.sides_of(snapshot) != first or sorted(first[0] + first[1]) != list(range(PAIRS)):
                self.wrong.append(first)

    def look_again(self, snapshot: Snapshot[Pod]) -> None:
        """Ask one that was taken before all began."""
        found = self.sides_of(snapshot)
        if found != (list(range(PAIRS)), [], 2 * PAIRS):
            self.wrong.append(found)

    @staticmethod
    def pair(number: int, side: str) -> list[Pod]:
        return [{**pod(f"{name}{number}", side=side), "number": number} for name in "ab"]

    @staticmethod
    def sides_of(snapshot: Snapshot[Pod]) -> tuple[list[int], list[int], int]:
        """Ask for the pairs on each side, a query each, and the count of all; a pair that is not together is -1."""
        sides = []
        for side in ("left", "right"):
            pods = snapshot.select(label_selector=f"side={side}", order_by=by_number)
            numbers = [obj["number"] for obj in pods]
            together = numbers[::2] == numbers[1::2] and all(obj["metadata"]["labels"]["side"] == side for obj in pods)
            sides.append(numbers[::2] if together else [-1])
        return sides[0], sides[1], snapshot.count(by_side.key("side").exists())


@pytest.mark.usefixtures("restless")
def test_no_snapshot_is_ever_torn() -> None:
    """Two queries of one snapshot agree: each pair is together, on one side, and none is lost or there twice."""
    hunt = Hunt()
    assert hunt.run(hunt.look, hunt.look, hunt.look) == []
    hunt.store._check()
    assert hunt.store._core.pasts == []


@pytest.mark.usefixtures("restless")
def test_a_snapshot_that_threads_share_never_changes() -> None:
    """Several threads ask one snapshot, which takes in what a writer changes meanwhile: all see what was at first."""
    hunt = Hunt()
    with hunt.store.snapshot() as snapshot:
        again = partial(hunt.look_again, snapshot)
        assert hunt.run(again, again, hunt.look) == []
    hunt.store._check()
    assert hunt.store._core.pasts == []


@pytest.mark.usefixtures("restless")
def test_the_hunt_finds_a_missing_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without a lock it finds torn snapshots, or threads that fail in each other's work.

    Of forty hunts all did; up to twenty are made here.
    """
    monkeypatch.setattr("kindex.core._VALIDATE", False)

    def wrong() -> list[object]:
        hunt = Hunt()
        with monkeypatch.context() as patched:
            patched.setattr(hunt.store._core, "lock", NoLock())
            return hunt.run(hunt.look, hunt.look, hunt.look)

    assert any(wrong() for _ in range(20))
