"""Random concurrent histories of one store, each explained by some order of its calls, one at a time.

Threads write and read a few keys, and note when each call began and what it answered and when. A history is
linearizable if its calls can be put in one line, each between its beginning and its end, in which a sequential model
gives the same answers. The search is Wing and Gong's: take any call that began before every other one has ended, see
whether the model agrees, go on with the rest, and come back where that leads nowhere; what is left and the state, once
met, need not be met again.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pytest

from kindex import Added, Deleted, Indexer, LabelIndexer, Store, Updated
from kindex.core import Core
from tests.locks import NoLock
from tests.pods import Pod, key, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kindex.deltas import Delta

HISTORIES = 5_000 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 300
APPS = ("web", "db")

State: TypeAlias = "tuple[frozenset[tuple[str, str]], int]"
"""The versions by name, and the revision. A version is text that no other write has; its first word is its app."""


class Call(NamedTuple):
    """One call of a thread.

    A get has a name, a select or a count an app or None, a write what it leaves under each name (None for nothing), a
    replace all that it leaves, a snapshot nothing.
    """

    kind: str
    argument: Any  # Any: as above
    answer: object = None
    began: int = 0
    ended: int = 0


def answered(state: State, call: Call) -> tuple[object, State]:
    """Be the model: give the answer to *call* when the store is asked one thing at a time, and the state after it."""
    pairs, revision = state
    held = dict(pairs)
    if call.kind == "get":
        return held.get(call.argument), state
    if call.kind == "snapshot":
        return (pairs, len(pairs), revision), state
    if call.kind in ("select", "count"):
        found = frozenset(pair for pair in pairs if call.argument in (None, pair[1].split()[0]))
        return found if call.kind == "select" else len(found), state
    written = dict(call.argument) if call.kind == "write" else {**dict.fromkeys(held), **dict(call.argument)}
    changes = [(name, held.get(name), new) for name, new in written.items() if new is not None or name in held]
    if not changes:
        return frozenset(), state
    after = {**held, **{name: new for name, _, new in changes}}
    left = frozenset((name, version) for name, version in after.items() if version is not None)
    return frozenset((*change, revision + 1) for change in changes), (left, revision + 1)


def linearizable(calls: Iterable[Call]) -> bool:
    """Tell whether some order of the calls explains their answers, from an empty store."""
    met: set[tuple[frozenset[Call], State]] = set()
    stack: list[tuple[frozenset[Call], State]] = [(frozenset(calls), (frozenset(), 0))]
    while stack:
        node = stack.pop()
        if node in met:
            continue
        met.add(node)
        left, state = node
        if not left:
            return True
        first_end = min(call.ended for call in left)
        for call in left:
            if call.began < first_end:
                answer, after = answered(state, call)
                if answer == call.answer:
                    stack.append((left - {call}, after))
    return False


def test_the_search_finds_an_order_where_there_is_one() -> None:
    """Calls that overlap may be put in either order; the same calls, one after the other, may not."""
    put = Call("write", (("a", "web 1"),), frozenset({("a", None, "web 1", 1)}), 0, 5)
    before, after = Call("get", "a", None, 1, 2), Call("get", "a", "web 1", 3, 4)
    assert linearizable([put, before, after])
    assert not linearizable([put, before._replace(began=3, ended=4), after._replace(began=1, ended=2)])
    assert not linearizable([put, before._replace(began=6, ended=7)])
    assert linearizable([put, Call("count", None, 0, 1, 2), Call("select", "web", frozenset({("a", "web 1")}), 1, 2)])
    assert not linearizable([put, Call("count", "db", 1, 1, 2)])


def test_the_search_knows_what_a_transaction_is() -> None:
    """Half of a transaction is no state that can be seen."""
    deltas = frozenset({("a", None, "web 1", 1), ("b", None, "web 2", 1)})
    both = Call("write", (("a", "web 1"), ("b", "web 2")), deltas, 0, 9)
    assert linearizable([both, Call("count", "web", 2, 1, 2)])
    assert linearizable([both, Call("count", "web", 0, 1, 2)])
    assert not linearizable([both, Call("count", "web", 1, 1, 2)])
    assert not linearizable([both, Call("get", "a", "web 1", 1, 2), Call("get", "b", None, 3, 4)])


def program(draw: random.Random) -> list[list[Call]]:
    """Draw what three or four threads do: four to six calls each, on two or three names."""
    names = "abc"[: draw.randint(2, 3)]
    versions = count()

    def written(name: str) -> tuple[str, str | None]:
        return name, None if draw.random() < 0.3 else f"{draw.choice(APPS)} {next(versions)}"

    def call() -> Call:
        match draw.choice(["get", "select", "count", "snapshot", "write", "write", "transaction", "replace"]):
            case "get":
                return Call("get", draw.choice(names))
            case "select" | "count" as kind:
                return Call(kind, draw.choice([*APPS, None]))
            case "snapshot":
                return Call("snapshot", None)
            case "write":
                return Call("write", (written(draw.choice(names)),))
            case "replace":
                return Call("replace", tuple(pair for pair in map(written, names) if pair[1] is not None))
            case _:
                return Call("write", tuple(written(name) for name in draw.sample(names, 2)))

    return [[call() for _ in range(draw.randint(4, 6))] for _ in range(draw.randint(3, 4))]


def made(name: str, version: str) -> Pod:
    """Make the pod of a version."""
    return {**pod(name, app=version.split(maxsplit=1)[0]), "version": version}


class Caller:
    """Calls a store as a program says."""

    def __init__(self, store: Store[Pod]) -> None:
        self.store = store

    def call(self, call: Call) -> object:
        """Ask the store, and put its answer in the words of the model."""
        match call.kind:
            case "get":
                return self.get(call.argument)
            case "select":
                return pairs_in(self.store.select(label_selector=asked(call)))
            case "count":
                return self.store.count(label_selector=asked(call))
            case "snapshot":
                with self.store.snapshot() as snap:
                    return pairs_in(snap.select()), snap.count(), snap.revision
            case "replace":
                return frozenset(map(told, self.store.replace([made(*pair) for pair in call.argument])))
            case _:
                return frozenset(map(told, self.write(call.argument)))

    def get(self, name: str) -> object:
        """Give the version of one name."""
        found = self.store.get(key(name))
        return None if found is None else found["version"]

    def write(self, written: tuple[tuple[str, str | None], ...]) -> tuple[Delta[Pod], ...]:
        """Write one name by itself, and several in a transaction."""
        if len(written) > 1:
            with self.store.transaction() as txn:
                for name, version in written:
                    if version is None:
                        txn.delete(key(name))
                    else:
                        txn.put(made(name, version))
            return txn.deltas
        ((name, version),) = written
        if version is not None:
            return self.store.put(made(name, version))
        deleted = self.store.delete(key(name))
        return () if deleted is None else (deleted,)


class RememberingCaller(Caller):
    """One that is wrong: a get answers what it answered last time."""

    def __init__(self, store: Store[Pod]) -> None:
        super().__init__(store)
        self.remembered: dict[str, object] = {}

    def get(self, name: str) -> object:
        return self.remembered.setdefault(name, super().get(name))


def pairs_in(pods: list[Pod]) -> frozenset[tuple[str, str]]:
    """Put an answer in the words of the model."""
    found = frozenset((each["metadata"]["name"], each["version"]) for each in pods)
    assert len(found) == len(pods), "an object was found twice"
    return found


def asked(call: Call) -> str | None:
    """Make the selector of a query."""
    return None if call.argument is None else f"app={call.argument}"


def told(delta: Delta[Pod]) -> tuple[str, str | None, str | None, int]:
    """Put a delta in the words of the model."""
    match delta:
        case Added(key=at, new=new):
            return at.name, None, new["version"], delta.revision
        case Updated(key=at, old=old, new=new):
            return at.name, old["version"], new["version"], delta.revision
        case Deleted(key=at, old=old):
            return at.name, old["version"], None, delta.revision


def history(seed: int, caller: Callable[[Store[Pod]], Caller] = Caller, *, locked: bool = True) -> list[Call]:
    """Run a program in threads, and write down what happened; a call that raised has its exception for an answer."""
    store: Store[Pod] = Store(name="pods", indexers=[LabelIndexer("app")])
    if not locked:
        store._core.lock = NoLock()  # type: ignore[assignment]
    client, clock, calls = caller(store), count(), list[Call]()
    threads = program(random.Random(seed))  # noqa: S311 - no secret
    start = threading.Barrier(len(threads))

    def run(todo: list[Call]) -> None:
        start.wait()
        for call in todo:
            began = next(clock)
            try:
                answer = client.call(call)
            except Exception as error:  # noqa: BLE001 - without a lock anything may be raised
                answer = repr(error)
            calls.append(call._replace(answer=answer, began=began, ended=next(clock)))

    running = [threading.Thread(target=run, args=(todo,), daemon=True) for todo in threads]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)  # a deadline, not a duration
        assert not thread.is_alive()
    return calls


def histories(**arguments: Any) -> Iterator[list[Call]]:  # Any: as history has them
    """Run many programs, while Python lets another thread run as often as it can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for seed in range(HISTORIES):
            yield history(seed, **arguments)
    finally:
        sys.setswitchinterval(before)


def test_a_relist_says_what_was_there_when_it_was_committed() -> None:
    """What came and went again while a relist compared its list is Added by it, not Updated."""
    stays, wanted, other = made("c", "web 0"), made("b", "web 1"), made("d", "web 4")

    left: list[Callable[[], object]] = [lambda: store.delete(key("b")), lambda: store.put(made("b", "db 2"))]

    def value_of(obj: Pod) -> None:
        if obj is wanted and left:
            left.pop()()

    store: Store[Pod] = Store(indexers=[Indexer("value", value_of)])
    store.put(stays)
    deltas = store.replace([stays, wanted, other])
    assert left == []
    assert set(map(told, deltas)) == {("b", None, "web 1", 4), ("d", None, "web 4", 4)}


def overlaps(calls: list[Call]) -> int:
    """Count the pairs of calls of which neither was over when the other one began."""
    pairs = ((one, other) for number, one in enumerate(calls) for other in calls[:number])
    return sum(one.began < other.ended and other.began < one.ended for one, other in pairs)


def test_every_history_has_an_order_that_explains_it() -> None:
    """Writes, transactions, relists, gets, queries and snapshots of several threads are as if done one at a time."""
    overlapping = 0
    for seed, calls in enumerate(histories()):
        assert linearizable(calls), f"program {seed}: {sorted(calls, key=lambda call: call.began)}"
        overlapping += overlaps(calls)
    assert overlapping > HISTORIES  # else nothing was tried


def test_the_test_above_finds_a_missing_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the lock, most of these programs have histories that nothing explains."""
    # Without a lock a thread would finish the commit of another one by itself, and hide the tear.
    monkeypatch.setattr(Core, "settle", lambda _self: None)
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    assert not all(map(linearizable, histories(locked=False)))


def test_the_test_above_finds_a_stale_answer() -> None:
    """Another control: a get that answers from memory is found out, although the store is as it should be."""
    assert not all(map(linearizable, histories(caller=RememberingCaller)))
