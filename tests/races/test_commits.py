"""Commits: cut short at every point, met by readers, finalizers and signal handlers; and no user code under the lock.

Interruptions and meetings are made to happen at named places. Nothing here waits for luck.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Budget,
    FieldIndexer,
    FilterIndexer,
    InCommitError,
    Indexer,
    LabelIndexer,
    ObjectKey,
    OwnerIndexer,
    SortedIndexer,
    Store,
)
from kindex.column_index import ColumnIndex
from kindex.core import Core
from kindex.generation import Generation
from kindex.map_index import MapIndex
from kindex.schema import Schema
from kindex.slots import SlotTable
from tests.interruptions import Interrupt, interrupted_at
from tests.locks import NoLock, owned
from tests.pods import Pod, key, pod, versioned

if TYPE_CHECKING:
    from collections.abc import Callable

by_labels = LabelIndexer("app", "tier")
by_node = FieldIndexer("spec.nodeName")
by_value: Indexer[Pod, Any] = Indexer("value", lambda obj: obj.get("value"))
by_size: SortedIndexer[Pod, Any] = SortedIndexer("size", lambda obj: obj.get("size"))
by_any_label = LabelIndexer.all(budget=Budget(max_values=1000))

INDEXERS = (by_labels, by_node, by_value, by_size, by_any_label)


def pods_of_the_start() -> list[Pod]:
    """Make pods with an index value in each layout, some values of one object and some of several."""
    return [
        {**pod("a", app="web", tier="gold", only="a", node="n1"), "value": ["x", 1, True], "size": 1},
        {**pod("b", app="web", node="n1"), "value": "x", "size": [1, 2]},
        {**pod("c", "test", app="db", tier="gold"), "value": [("x", "y"), "x"], "size": 3},
        pod("d", "test"),
    ]


SCHEMA: Schema[Pod] = Schema(INDEXERS)


def filled() -> Store[Pod]:
    """Make a store of them; with one schema for all, since thousands are made."""
    store: Store[Pod] = Store(name="pods")
    pods = pods_of_the_start()
    keys = [key(each["metadata"]["name"], each["metadata"]["namespace"]) for each in pods]
    store._core.generation = Generation.build(SCHEMA, keys, pods, SCHEMA.columns(keys, pods))
    store.bookmark("1")
    return store


def state_of(store: Store[Pod]) -> tuple[Any, ...]:
    """Take down all that is kept; the first question finishes a commit that was cut short.

    ``_check`` compares the forward sides with the reverse sides, so these tell all.
    """
    objects = store.get_many(store.keys())
    generation = store._core.generation
    filings = {found: generation.filings(generation.slots.slot_of[found]) for found in objects}
    return objects, filings, store.resource_version(), store.revision


def put_new(store: Store[Pod]) -> None:
    store.put({**pod("e", "new", app="new", tier="gold", new="x", node="n9"), "value": ["y", 2], "size": [0, 9]})


def put_over(store: Store[Pod]) -> None:
    store.put({**pod("a", app="db", new="x", node="n2"), "value": ["x", 1, "z"], "size": 2})


def put_bare(store: Store[Pod]) -> None:
    store.put(pod("a"))


def delete(store: Store[Pod]) -> None:
    store.delete(key("a"))


def transact(store: Store[Pod]) -> None:
    with store.transaction() as txn:
        txn.delete(key("a"))
        txn.put({**pod("b", app="db", new="x"), "value": "y", "size": 1})
        txn.put({**pod("e", "far", app="web"), "value": "x", "size": 7})


def replace_by_diff(store: Store[Pod]) -> None:
    """Change less than half of the keys, so that the commit is a diff in place."""
    a, b, *_ = pods_of_the_start()
    store.replace([a, b, {**pod("c", "test", app="new"), "value": "only", "size": 4}], "2")


def replace_by_generation(store: Store[Pod]) -> None:
    """Change more than half of the keys, so that the commit swaps in a fresh generation."""
    store.replace([{**pod(name, app="new", new="x"), "value": name, "size": 1} for name in "efgh"], "2")


# What comes before a commit has thousands of points, most of them in the user's time: every one in `make stress`.
STEP = 1 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 13

WRITES = (put_new, put_over, put_bare, delete, transact, replace_by_diff, replace_by_generation)
IN_PLACE = WRITES[:-1]


@pytest.mark.parametrize("write", IN_PLACE)
def test_a_commit_that_was_cut_short_is_finished_by_whoever_comes_next(
    write: Callable[[Store[Pod]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an interrupt hits a commit, the next reader or writer finds all of it done."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)  # the test checks by itself
    expected = filled()
    write(expected)
    after = state_of(expected)
    # A transaction is the same steps a few times over: every third of its points, but all in `make stress`.
    for number in count(step=min(STEP, 3) if write is transact else 1):
        store = filled()
        if not interrupted_at(number, partial(write, store), inside="Generation.apply"):
            break
        if number % 2:  # a writer; else a reader
            store.delete(ObjectKey("", "not there"))
            store._core.generation._check()
        assert state_of(store) == after, f"interrupted at point {number}"
        store._check()
    assert number > 10


def test_the_test_above_finds_a_commit_that_nobody_finishes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were a commit that was cut short not done again, half of it would be seen."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    monkeypatch.setattr(Core, "settle", lambda _self: None)
    expected = filled()
    put_over(expected)
    before, after = state_of(filled()), state_of(expected)
    torn = 0
    for number in count(step=STEP):
        store = filled()
        if not interrupted_at(number, partial(put_over, store), inside="Generation.apply"):
            break
        store._core.pending = None
        torn += state_of(store) not in (before, after)
    assert torn > 5


CALLS = {
    put_new: "Store.put",
    put_over: "Store.put",
    put_bare: "Store.put",
    delete: "Store.delete",
    transact: "Transaction.__exit__",
    replace_by_diff: "Store.replace",
    replace_by_generation: "Store.replace",
}


@pytest.mark.parametrize("write", WRITES)
def test_a_write_that_was_cut_short_is_done_or_not_done(
    write: Callable[[Store[Pod]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an interrupt hits a write, the store is as before it or as after it, and goes on working."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    expected = filled()
    write(expected)
    before, after = state_of(filled()), state_of(expected)
    outcomes = set()
    for number in count(step=STEP):
        store = filled()
        if not interrupted_at(number, partial(write, store), inside=CALLS[write]):
            break
        found = state_of(store)
        store._check()
        assert found in (before, after), f"interrupted at point {number}"
        outcomes.add(found == before)
        write(store)
        assert state_of(store)[:-1] == after[:-1], f"interrupted at point {number}"  # the revision may be one more
    assert outcomes == {True, False}


@pytest.mark.parametrize("error", [MemoryError, KeyboardInterrupt])
def test_a_commit_fails_with_what_cut_it_short(error: type[BaseException], monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer gets the exception; the commit is complete for everybody else."""
    store = filled()

    def fail(*_arguments: object) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(ColumnIndex, "file", fail)
        with pytest.raises(error):
            put_over(store)
    assert store.get("a", namespace="prod")["metadata"]["labels"]["app"] == "db"  # type: ignore[index]
    expected = filled()
    put_over(expected)
    assert state_of(store) == state_of(expected)
    store._check()


def test_adding_an_indexer_that_was_cut_short_is_done_or_not_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever an interrupt hits it, the indexers are all there and complete, or none is; and it can be done again."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    owner, again = OwnerIndexer(), LabelIndexer("app", "new")
    outcomes = set()

    def interrupted(number: int) -> bool:
        store = filled()
        if not interrupted_at(number, partial(store.add_indexers, owner, again), inside="_added"):
            return False
        there = [name in store.index_names for name in (owner.name, again.name)]
        assert there in ([True, True], [False, False]), f"interrupted at point {number}"
        assert store._core.generation.schema.hidden == frozenset(), f"interrupted at point {number}"
        outcomes.add(there[0])
        if there[0]:
            assert store.count(owner.orphans()) == 4
        put_new(store)
        store.add_indexers(owner, again)
        assert store.count(owner.orphans()) == 5
        assert not store.explain(label_selector="new=x").scanned
        store._check()
        return True

    end = next(number for number in count(step=STEP) if not interrupted(number))
    for number in range(max(0, end - 2 * STEP), end):  # what comes after the swap is a few points, which a step misses
        interrupted(number)
    assert outcomes == {True, False}


# Who runs inside the lock


def at_the_nth_call(number: int, original: Callable[..., Any], act: Callable[[], None]) -> Callable[..., Any]:
    """Wrap a method, so that *act* runs at one call of it, once, before it does its work."""
    left = [number]

    def wrapped(*arguments: Any) -> Any:
        if left[0] == 0:
            left[0] = -1
            act()
        elif left[0] > 0:
            left[0] -= 1
        return original(*arguments)

    return wrapped


def commit_transaction(store: Store[Pod]) -> None:
    """Write in a transaction, which also reads nothing."""
    txn = store.transaction()
    with txn:
        txn._writes[key("z")] = None


READS: list[Callable[[Store[Pod]], object]] = [
    lambda store: store.get("a", namespace="prod"),
    lambda store: store.get(key("a")),
    lambda store: store.require(key("a")),
    lambda store: store.get_many([key("a")]),
    lambda store: key("a") in store,
    len,
    list,
    lambda store: store.select(label_selector="app=web"),
    lambda store: store.keys(namespace="prod"),
    lambda store: store.first(by_node.at("n1")),
    lambda store: store.any(),
    lambda store: store.count(label_selector="app=web"),
    lambda store: store.count(where=bool),
    lambda store: store.explain(),
    lambda store: store.index_values(by_node),
    lambda store: store.tally(by_node),
    lambda store: store.skipped(),
    lambda store: store.resource_version(),
]
INNER_WRITES: list[Callable[[Store[Pod]], object]] = [
    lambda store: store.put(pod("z")),
    lambda store: store.delete(key("a")),
    lambda store: store.delete(pod("a")),
    lambda store: store.replace([]),
    lambda store: store.bookmark("9"),
    lambda store: store.add_indexers(OwnerIndexer()),
    lambda store: store.remove_indexer(by_node.name),
    commit_transaction,
]


@pytest.mark.parametrize("inner", [*READS, *INNER_WRITES])
@pytest.mark.parametrize("where", [(Generation, "apply"), (SlotTable, "assign"), (ColumnIndex, "file")])
def test_nothing_is_read_or_written_inside_a_commit(
    inner: Callable[[Store[Pod]], object], where: tuple[type, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a finalizer or signal handler asks in mid-commit is an InCommitError, and the commit is not harmed."""
    store, expected = filled(), filled()
    refused: list[InCommitError] = []

    def ask() -> None:
        with pytest.raises(InCommitError) as caught:
            inner(store)
        refused.append(caught.value)

    put_over(expected)
    with monkeypatch.context() as patched:
        patched.setattr(where[0], where[1], at_the_nth_call(0, getattr(where[0], where[1]), ask))
        put_over(store)
    assert len(refused) == 1
    assert "note what to do, and do it later" in str(refused[0])
    assert isinstance(refused[0], RuntimeError)
    assert state_of(store) == state_of(expected)
    store._check()


@pytest.mark.parametrize("inner", INNER_WRITES)
def test_nothing_is_written_inside_a_read(
    inner: Callable[[Store[Pod]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A write by this thread while it reads would tear the answer; it is refused, and the read goes on."""
    store, expected = filled(), state_of(filled())
    refused = []

    def ask() -> None:
        with pytest.raises(InCommitError, match="is being read or written by this thread"):
            inner(store)
        refused.append(1)

    with monkeypatch.context() as patched:
        patched.setattr(Generation, "index_at", at_the_nth_call(0, Generation.index_at, ask))
        assert len(store.select(label_selector="app=web")) == 2
    assert refused == [1]
    assert state_of(store) == expected
    store._check()


@pytest.mark.parametrize("inner", READS)
def test_a_read_inside_a_read_is_allowed(
    inner: Callable[[Store[Pod]], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A finalizer that comes during a query may ask, and gets the answer that anybody would."""
    store = filled()
    answers: list[object] = []
    with monkeypatch.context() as patched:
        patched.setattr(
            Generation, "index_at", at_the_nth_call(0, Generation.index_at, lambda: answers.append(inner(store)))
        )
        assert len(store.select(label_selector="app=web")) == 2
    assert answers == [inner(store)]
    store._check()


class Finalized:
    """A pod that does something when it goes; a cycle with itself when the collector is to find it."""

    def __init__(self, name: str, act: Callable[[Finalized], None]) -> None:
        self.metadata = {"name": name, "namespace": "prod", "labels": {"app": name}}
        self.act = act

    def __del__(self) -> None:
        self.act(self)


def test_replaced_objects_are_finalized_when_the_lock_is_free() -> None:
    """``__del__`` is user code: it may read and write the store, whichever way its object went."""
    store: Store[Any] = Store(indexers=[by_labels])
    gone: list[str] = []

    def act(obj: Finalized) -> None:
        assert not owned(store)
        assert len(store) >= 0
        gone.append(obj.metadata["name"])  # type: ignore[arg-type]
        store.put(pod(f"after-{obj.metadata['name']}"))

    def fill() -> None:
        for name in "abcdef":
            store.put(Finalized(name, act))

    writes: list[Callable[[], object]] = [
        lambda: store.put(pod("a")),
        lambda: store.delete(key("b")),
        lambda: store.replace([*store.select(where=lambda obj: obj_name(obj) != "c")]),
        lambda: delete_in_transaction(store, key("d")),
        lambda: store.replace([pod("x")]),
    ]
    fill()
    for write in writes:
        write()
        gc.collect()
        store._check()
    assert sorted(gone) == list("abcdef")
    assert sorted(each.name for each in store.keys()) == ["after-e", "after-f", "x"]  # noqa: SIM118 - no dict


def obj_name(obj: Any) -> str:
    """Read the name of a pod of either kind."""
    return str(obj.metadata["name"] if isinstance(obj, Finalized) else obj["metadata"]["name"])


def delete_in_transaction(store: Store[Any], *keys: ObjectKey) -> None:
    """Delete in one commit."""
    with store.transaction() as txn:
        for each in keys:
            txn.delete(each)


def test_objects_of_a_commit_that_was_cut_short_are_finalized_when_the_lock_is_free(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever finishes the commit lets the replaced objects go after the lock, too."""
    store: Store[Any] = Store(indexers=[by_labels])
    seen: list[bool] = []
    store.put(Finalized("a", lambda _obj: seen.append(owned(store))))
    store.put(Finalized("b", lambda _obj: seen.append(owned(store))))

    def interrupted(*_arguments: object) -> None:
        raise Interrupt

    def cut_short() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(Generation, "apply", interrupted)
            with pytest.raises(Interrupt):
                delete_in_transaction(store, key("a"), key("b"))

    cut_short()
    gc.collect()
    assert seen == []
    assert len(store) == 0
    assert seen == [False, False]
    store._check()


def test_the_collector_may_run_a_finalizer_inside_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finalizer that the collector calls under the lock does not hang: it is refused, and the commit completes."""
    store, expected = filled(), filled()
    heard: list[str] = []

    def ask(_obj: Finalized) -> None:
        for each in (len, lambda store: store.put(pod("z"))):
            try:
                each(store)
            except InCommitError as error:
                heard.append(type(error).__name__)

    def litter() -> None:
        cycle = Finalized("litter", ask)
        cycle.metadata["self"] = cycle  # type: ignore[assignment]
        del cycle
        gc.collect()

    put_over(expected)
    with monkeypatch.context() as patched:
        patched.setattr(ColumnIndex, "file", at_the_nth_call(1, ColumnIndex.file, litter))
        put_over(store)
    assert heard == ["InCommitError", "InCommitError"]
    assert state_of(store) == state_of(expected)
    store._check()


def test_a_signal_handler_may_come_inside_a_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handler that asks the store in mid-commit cuts it short with InCommitError; nothing of the commit is lost."""
    store, expected = filled(), filled()
    put_over(expected)
    before = signal.signal(signal.SIGUSR1, lambda *_: store.keys())
    try:
        with monkeypatch.context() as patched:
            patched.setattr(
                ColumnIndex, "file", at_the_nth_call(1, ColumnIndex.file, lambda: signal.raise_signal(signal.SIGUSR1))
            )
            with pytest.raises(InCommitError):
                put_over(store)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert state_of(store) == state_of(expected)
    store._check()


# No user code under the lock


class Watched:
    """An object all of whose parts note whether the store's lock is held when they are asked."""

    def __init__(self, name: str, store: list[Store[Any]], found: set[str], version: str = "1") -> None:
        self.name, self.store, self.found, self.version = name, store, found, version

    def note(self, what: str) -> None:
        """Say that user code runs."""
        assert not owned(self.store[0]), what
        self.found.add(what)

    @property
    def metadata(self) -> dict[str, Any]:
        self.note("metadata")
        return {"name": self.name, "namespace": "prod", "labels": {"app": "web"}}

    @property
    def value(self) -> str:
        self.note("value")
        return "v" + self.version

    def __eq__(self, other: object) -> bool:
        self.note("==")
        return isinstance(other, Watched) and self.version == other.version

    def __hash__(self) -> int:
        self.note("hash")
        return hash(self.name)

    def __repr__(self) -> str:
        self.note("repr")
        return f"Watched({self.name!r})"

    def __bool__(self) -> bool:
        self.note("bool")
        return True

    def __len__(self) -> int:
        self.note("len")
        return 1


class WatchedFunction:
    """An index function with a hash, an ``==`` and a text of its own, which are user code as well."""

    def __init__(self, store: list[Store[Any]], number: int = 0) -> None:
        self.store, self.number = store, number

    def free(self) -> None:
        """Assert that the lock is free, once there is a store."""
        assert not self.store or not owned(self.store[0])

    def __call__(self, obj: Watched) -> Any:
        self.free()
        return [obj.value, "x"]

    def __eq__(self, other: object) -> bool:
        self.free()
        return isinstance(other, WatchedFunction) and self.number == other.number

    def __hash__(self) -> int:
        self.free()
        return hash(self.number)

    def __repr__(self) -> str:
        self.free()
        return f"WatchedFunction({self.number})"

    def __del__(self) -> None:
        self.free()


def watched_key(obj: Watched) -> ObjectKey:
    obj.note("key function")
    return ObjectKey("prod", obj.name)


def test_the_test_below_can_tell_that_the_lock_is_held() -> None:
    """The control: user code that does run under the lock is noticed."""
    store: Store[Any] = Store()
    function = WatchedFunction([store])
    with store._core.lock, pytest.raises(AssertionError):
        function.free()
    assert not owned(store)


def test_no_user_code_runs_under_the_lock() -> None:
    """Key and index functions, predicates, ``==``, UIDs, texts and finalizers: the lock is free when one runs."""
    holder: list[Store[Any]] = []
    found: set[str] = set()
    by_function: Indexer[Any, Any] = Indexer("function", WatchedFunction(holder))
    watched: FilterIndexer[Any] = FilterIndexer("watched", predicate=lambda obj: obj.note("predicate") or True)
    store: Store[Any] = Store(key=watched_key, indexers=[by_function, watched])
    holder.append(store)

    def made(name: str, version: str = "1") -> Watched:
        return Watched(name, holder, found, version)

    for name in "abcd":
        store.put(made(name))
    store.put(made("a", "2"))
    store.replace([made("a", "2"), made("b"), made("c", "3")], "1")
    store.replace([made("a", "2"), made("x"), made("y"), made("z")])
    store.delete(made("x"))
    with store.transaction() as txn:
        txn.put(made("y", "4"))
        txn.delete(made("z"))
        assert len(txn.select(by_function.at("x"), where=lambda obj: obj.note("txn where") or True)) == 2
    where = {"where": lambda obj: obj.note("where") or True}
    store.select(by_function.at("x"), label_selector="app=web", field_selector="metadata.name!=q", **where)
    store.select(by_function.at("x") & watched.passing(), order_by="key", **where)
    store.count(by_function.at("x"), **where)
    store.count(~by_function.at("x"))
    store.keys(label_selector={"app": "web"}, **where)
    store.explain(by_function.at("x"), label_selector="app=web", **where)
    store.tally(by_function)
    store.index_values(by_function)
    store.add_indexers(Indexer("function", WatchedFunction(holder)))
    store.add_indexers(Indexer("late", WatchedFunction(holder, 1)))
    with pytest.raises(ValueError, match="two different indexers"):
        store.add_indexers(Indexer("late", WatchedFunction(holder, 2)))
    with pytest.raises(LookupError):
        store.tally(Indexer("other", WatchedFunction(holder, 3)))
    store.remove_indexer("late")
    gc.collect()
    assert {"key function", "==", "where", "txn where", "metadata", "value", "predicate"} <= found
    assert not {"bool", "len", "hash"} & found
    store._check()


def test_a_write_that_the_objects_own_code_interferes_with_starts_over() -> None:
    """Reading a UID is user code; what it does to the store meanwhile, also to the slot itself, is not lost."""

    class Interfering:
        """A pod whose UID, when it is first read, moves another pod into its slot."""

        def __init__(self, act: Callable[[], None]) -> None:
            self.acts = [act]

        @property
        def metadata(self) -> dict[str, Any]:
            if self.acts and len(calls) == 1:  # the key was read; this is the UID
                self.acts.pop()()
            calls.append(1)
            return {"name": "a", "namespace": "prod", "labels": {"app": "new"}, "uid": "u1"}

    calls: list[int] = []
    old = versioned(pod("a", app="old"), "u1")
    store: Store[Any] = Store(
        key=lambda obj: key("a") if isinstance(obj, Interfering) else key(obj_name(obj)), indexers=[by_labels]
    )
    for each in (old, pod("b"), pod("c"), pod("d")):
        store.put(each)

    def move() -> None:
        store.delete(key("a"))
        store.put(pod("e", app="other"))
        store.put(old)

    store.put(Interfering(move))
    assert len(calls) > 1
    store._check()
    assert sorted(each.name for each in store.keys()) == ["a", "b", "c", "d", "e"]  # noqa: SIM118 - no dict
    assert store.keys(label_selector="app=new") == [key("a")]
    assert store.keys(label_selector="app=other") == [key("e")]


# Readers that arrive in mid-commit


class ArrivingLock:
    """The store's own lock, which tells that a thread is about to wait for it."""

    def __init__(self, lock: Any, arrived: threading.Event) -> None:
        self.lock, self.arrived, self.writer = lock, arrived, threading.get_ident()

    def __enter__(self) -> Any:
        if threading.get_ident() != self.writer:
            self.arrived.set()
        return self.lock.__enter__()

    def __exit__(self, *error: object) -> None:
        self.lock.__exit__(*error)

    def acquire(self, **options: Any) -> bool:
        return bool(self.lock.acquire(**options))

    def release(self) -> None:
        self.lock.release()

    def _is_owned(self) -> bool:
        return bool(self.lock._is_owned())


def seen_in_mid_commit(
    monkeypatch: pytest.MonkeyPatch,
    act: Callable[[Store[Pod]], object],
    seam: tuple[type, str, int],
    ask: Callable[[Store[Pod]], Any],
    *,
    locked: bool,
) -> Any:
    """Stop *act* at a seam, let another thread *ask*, and give its answer."""
    store = filled()
    arrived = threading.Event()
    answers: list[Any] = []
    store._core.lock = ArrivingLock(store._core.lock, arrived) if locked else NoLock()  # type: ignore[assignment]

    def reader() -> None:
        answers.append(ask(store))
        arrived.set()

    thread = threading.Thread(target=reader, daemon=True)

    def stop() -> None:
        thread.start()
        assert arrived.wait(20)  # a deadline, not a duration: it is over when the reader waits or has its answer

    with monkeypatch.context() as patched:
        patched.setattr(seam[0], seam[1], at_the_nth_call(seam[2], getattr(seam[0], seam[1]), stop))
        if not locked:
            # Without a lock a reader would finish the commit by itself, and hide the tear.
            patched.setattr(Core, "settle", lambda _self: None)
            patched.setattr("kindex.core._VALIDATE", False)
        act(store)
    thread.join(20)
    assert not thread.is_alive()
    return answers[0]


def torn_answers(store: Store[Pod]) -> list[str]:
    """Look for pods that are filed under one state's label and another's node, or that are found and not there."""
    problems = []
    old = {each.name for each in store.keys(by_node.at("n1"))}
    for app in ("web", "db"):
        for found in store.keys(by_labels.key("app").at(app)):
            obj = store.get(found)
            if obj is None or obj["metadata"].get("labels", {}).get("app") != app:
                problems.append(f"{found} found under app={app}")
            elif found.name == "a" and (found.name in old) is not (app == "web"):
                problems.append(f"{found} under app={app} and another node")
    return problems


SEAMS = [(SlotTable, "assign", 0), (ColumnIndex, "file", 0), (ColumnIndex, "file", 1), (MapIndex, "file", 0)]


@pytest.mark.parametrize("seam", SEAMS)
def test_a_reader_waits_for_the_commit_in_progress(
    monkeypatch: pytest.MonkeyPatch, seam: tuple[type, str, int]
) -> None:
    """No reader sees a pod filed under its new label and its old node, or its new self under its old labels."""
    assert seen_in_mid_commit(monkeypatch, put_over, seam, torn_answers, locked=True) == []


@pytest.mark.parametrize("seam", SEAMS[1:])
def test_the_test_above_finds_a_missing_lock(monkeypatch: pytest.MonkeyPatch, seam: tuple[type, str, int]) -> None:
    """The control: a race test that passes without the lock proves nothing."""
    assert seen_in_mid_commit(monkeypatch, put_over, seam, torn_answers, locked=False) != []


@pytest.mark.parametrize(("locked", "torn"), [(True, False), (False, True)])
def test_a_relist_by_diff_is_seen_whole(monkeypatch: pytest.MonkeyPatch, *, locked: bool, torn: bool) -> None:
    """A reader in the middle of a diff waits for all of it; the control, without the lock, sees half."""

    def half(store: Store[Pod]) -> list[str]:
        apps = store.tally(by_labels.key("app"))
        names = {each.name for each in store.keys()}  # noqa: SIM118 - no dict
        whole = ({"db": 1, "web": 2}, set("abcd")), ({"new": 1, "web": 2}, set("abc"))
        return [] if (apps, names) in whole else [f"{apps} {names}"]

    seam = (SlotTable, "release", 0)
    assert bool(seen_in_mid_commit(monkeypatch, replace_by_diff, seam, half, locked=locked)) is torn


def test_a_relist_is_swapped_in_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader in the middle of a relist that builds anew sees the old list, without waiting for anything."""

    def names(store: Store[Pod]) -> list[str]:
        return sorted(each.name for each in store.keys(label_selector="app"))

    for locked in (True, False):
        seam = (Generation, "__init__", 0)
        assert seen_in_mid_commit(monkeypatch, replace_by_generation, seam, names, locked=locked) == ["a", "b", "c"]


@pytest.mark.parametrize(("locked", "torn"), [(True, False), (False, True)])
def test_a_late_index_is_swapped_in_whole(monkeypatch: pytest.MonkeyPatch, *, locked: bool, torn: bool) -> None:
    """A writer in the last step of add_indexers waits for the swap; in the control its pod is not in the index."""
    by_name = FieldIndexer("metadata.name")
    found: list[list[ObjectKey]] = []

    def add(store: Store[Pod]) -> None:
        store.add_indexers(by_name)

    def write(store: Store[Pod]) -> None:
        store.put(pod("last"))
        found.append(store.keys(label_selector=""))
        stores.append(store)

    stores: list[Store[Pod]] = []
    seen_in_mid_commit(monkeypatch, add, (Generation, "under", 1), write, locked=locked)
    assert key("last") in found[0]
    assert (stores[0].keys(by_name.at("last")) == []) is torn
    assert stores[0].keys(by_name.at("a")) == [key("a")]
