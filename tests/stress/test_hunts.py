"""Hunts: threads write and read one store as fast as they can, while Python switches between them as often as it can.

Two writers change a store of some two hundred pods, and leave true what the readers check:

* a *pair* is two pods that are moved in one transaction, so they are never seen apart;
* of those that have a *side*, as many are red as blue; two of them change sides in one transaction, so no count of a
  side ever changes;
* neither of these ever goes, so no answer lacks one or has it twice. *Guests* come and go, and so slots are used again.

They also relist everything, which swaps the whole state, and add and remove an index. A *read* is one object, count or
delta that was compared with what has to hold: an answer of twenty pods is twenty reads. All hunts together do more than
ten million of them in ``make stress``, and a fiftieth of that in an ordinary run. KINDEX_HUNT_SECONDS, where it is set,
ends them after that long, all together, however far they have come.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

import pytest

from kindex import Added, Deleted, FieldIndexer, LabelIndexer, ObjectKey, Store, Updated
from kindex.core import Core
from tests.locks import NoLock
from tests.pods import Pod, key, pod

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kindex import Follower, Registration
    from kindex.deltas import Delta

TIMES = 50 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 1
"""So many times the reads of an ordinary run are more than ten million."""

SECONDS = float(os.environ.get("KINDEX_HUNT_SECONDS", "inf"))

PAIRS, PLACES, SIDED, GUESTS = 40, 5, 60, 20
WRITERS, READERS = 2, 2

by_labels = LabelIndexer("pair", "place", "side")
by_node = FieldIndexer("spec.nodeName")
by_move = LabelIndexer("move")

ALWAYS_THERE = {key(f"pair-{number}", side) for number in range(PAIRS) for side in ("left", "right")} | {
    key(f"sided-{number}", "sided") for number in range(SIDED)
}


class Arena:
    """The store, and what is done to it.

    Each writer has its own pods with a side, and knows which are red. A relist changes them all, so it takes the turns
    of all writers; apart from that they write at the same time.
    """

    def __init__(self, *, locked: bool) -> None:
        self.store: Store[Pod] = Store(name="arena", indexers=[by_labels, by_node])
        if not locked:
            self.store._core.lock = NoLock()  # type: ignore[assignment]
        self.done = threading.Event()
        self._moves = count()
        self._red = [
            {f"sided-{number}": number < SIDED // 2 for number in range(writer, SIDED, WRITERS)}
            for writer in range(WRITERS)
        ]
        self._turns = [threading.Lock() for _ in range(WRITERS)]
        self.relist(random.Random(0))  # noqa: S311 - no secret

    def write(self, writer: int) -> None:
        """Write until it is done."""
        draw = random.Random(writer)  # noqa: S311 - no secret
        while not self.done.is_set():
            number = draw.randrange(50)
            if number == 0 and writer == 0:
                self.relist(draw)
            elif number == 1 and writer == 0:
                self.store.add_indexers(by_move)
            elif number == 2 and writer == 0 and by_move.name in self.store.index_names:
                self.store.remove_indexer(by_move.name)
            else:
                with self._turns[writer]:
                    (self.move, self.swap, self.invite)[number % 3](draw, writer)

    def move(self, draw: random.Random, _writer: int) -> None:
        """Move a pair."""
        with self.store.transaction() as txn:
            for each in self._pair(draw.randrange(PAIRS), draw.randrange(PLACES)):
                txn.put(each)

    def swap(self, draw: random.Random, writer: int) -> None:
        """Let a red pod and a blue one change sides."""
        red = self._red[writer]
        names = [draw.choice([name for name, is_red in red.items() if is_red is side]) for side in (True, False)]
        with self.store.transaction() as txn:
            for name in names:
                red[name] = not red[name]
                txn.put(_sided(name, red=red[name]))

    def invite(self, draw: random.Random, _writer: int) -> None:
        """Let a guest come or go, or all of them be others."""
        name = f"guest-{draw.randrange(GUESTS)}"
        if draw.random() < 0.1:
            self.store.replace(self._guests(draw), namespace="guests")
        elif key(name, "guests") in self.store:
            self.store.delete(key(name, "guests"))
        else:
            self.store.put(pod(name, "guests", kind="guest"))

    def relist(self, draw: random.Random) -> None:
        """Move every pair, let all change sides, and some guests be there."""
        for turn in self._turns:
            turn.acquire()
        try:
            pods = [each for number in range(PAIRS) for each in self._pair(number, draw.randrange(PLACES))]
            for red in self._red:
                for name in red:
                    red[name] = not red[name]
                    pods.append(_sided(name, red=red[name]))
            self.store.replace(pods + self._guests(draw))
        finally:
            for turn in self._turns:
                turn.release()

    def _pair(self, number: int, place: int) -> list[Pod]:
        labels = {"kind": "pair", "pair": str(number), "place": str(place), "move": str(next(self._moves))}
        return [pod(f"pair-{number}", namespace, node=f"n{place}", **labels) for namespace in ("left", "right")]

    @staticmethod
    def _guests(draw: random.Random) -> list[Pod]:
        return [pod(f"guest-{number}", "guests", kind="guest") for number in range(GUESTS) if draw.random() < 0.3]


def _sided(name: str, *, red: bool) -> Pod:
    return pod(name, "sided", kind="sided", side="red" if red else "blue")


def key_of(obj: Pod) -> ObjectKey:
    """Read the key."""
    return ObjectKey(obj["metadata"]["namespace"], obj["metadata"]["name"])


def labels_of(obj: Pod) -> dict[str, str]:
    """Read the labels."""
    labels: dict[str, str] = obj["metadata"]["labels"]
    return labels


def check_pairs(pods: Iterable[Pod]) -> int:
    """Assert that no pod is without its twin, nor elsewhere."""
    labels: dict[str, list[dict[str, str]]] = {}
    for each in pods:
        labels.setdefault(each["metadata"]["name"], []).append(labels_of(each))
    for name, both in labels.items():
        assert len(both) == 2, f"{name} was found {len(both)} times"
        assert both[0] == both[1], f"{name} is in two places: {both}"
    return 2 * len(labels)


def check_all_there(keys: Iterable[ObjectKey]) -> int:
    """Assert that there is all that never goes, and nothing twice."""
    found = list(keys)
    once = set(found)
    assert len(found) == len(once), "an object was found twice"
    assert once >= ALWAYS_THERE, f"missing: {sorted(ALWAYS_THERE - once)}"
    return len(found)


class Reader:
    """Looks at the store once: asserts what must hold, and gives the number of reads."""

    def __init__(self, store: Store[Pod], number: int) -> None:
        self.store = store
        self.draw = random.Random(100 + number)  # noqa: S311 - no secret

    def look(self) -> int:
        raise NotImplementedError

    def finish(self) -> None:
        """Look for the last time, when nobody writes any more."""

    def close(self) -> None:
        """Leave nothing behind; may be done again."""


class PairReader(Reader):
    """Looks for pairs that are seen apart."""

    def look(self) -> int:
        store, number, place = self.store, self.draw.randrange(PAIRS), self.draw.randrange(PLACES)
        both = store.get_many([key(f"pair-{number}", namespace) for namespace in ("left", "right")])
        reads = check_pairs(both.values()) + check_pairs(store.select(label_selector=f"pair={number}"))
        reads += check_pairs(store.select(label_selector=f"place={place}"))
        reads += check_pairs(store.select(by_node.at(f"n{place}"), label_selector=f"place in ({place})"))
        assert store.count(label_selector=f"place={place}") % 2 == 0
        assert (
            store.keys(label_selector=f"place={place}", where=lambda each: labels_of(each)["place"] != str(place)) == []
        )
        return reads + 1


class CountReader(Reader):
    """Looks for a count that changes."""

    def look(self) -> int:
        store, side = self.store, self.draw.choice(["red", "blue"])
        half = SIDED // 2
        assert store.count(label_selector=f"side={side}") == half
        assert store.count(label_selector=f"side={side}", namespace="sided") == half
        assert store.count(label_selector=f"side,side!={side}") == half
        assert store.tally(by_labels.key("side")) == {"red": half, "blue": half}
        assert store.count(label_selector="pair") == 2 * PAIRS
        assert store.count(label_selector="pair", namespace="left") == PAIRS
        assert store.count(namespace=("left", "right")) == 2 * PAIRS
        assert store.count(label_selector="kind=sided") == SIDED  # a scan
        assert store.count(label_selector="kind=sided", where=lambda each: labels_of(each)["side"] == side) == half
        return 10


class WholeReader(Reader):
    """Looks for an object that is missing, or there twice."""

    def look(self) -> int:
        store = self.store
        kind = self.draw.randrange(5)
        if kind == 0:
            return check_all_there(store.keys())
        if kind == 1:
            return check_all_there(map(key_of, store.select(label_selector="kind")))  # a scan
        if kind == 2:
            keys = store.keys(order_by="key")
            assert keys == sorted(keys)
            return check_all_there(keys)
        if kind == 3:
            return check_all_there(map(key_of, store))
        pairs = store.select(label_selector=f"place in ({','.join(map(str, range(PLACES)))})")
        sides = store.select(label_selector="side in (red,blue)")
        return check_all_there(map(key_of, pairs + sides))


class SnapshotReader(Reader):
    """Looks for a snapshot that changes, or that was never true."""

    def look(self) -> int:
        reads = 0
        with self.store.snapshot() as snap:
            first = {key_of(each): each for each in snap.select()}
            for _ in range(4):
                reads += check_all_there(snap.keys()) + check_pairs(snap.select(label_selector="pair"))
                assert snap.count(label_selector="side=red") == snap.count(label_selector="side=blue") == SIDED // 2
                place = self.draw.randrange(PLACES)
                moved = snap.select(by_node.at(f"n{place}"))
                reads += check_pairs(moved) + 2
                assert all(first[key_of(each)] is each for each in moved)
                name = self.draw.choice(sorted(ALWAYS_THERE))
                assert snap.get(name) is first[name]
            again = {key_of(each): each for each in snap.select()}
            assert again == first
            return reads + len(again)


class Mirror:
    """What a follower makes of the deltas it is given."""

    def __init__(self) -> None:
        self.objects: dict[ObjectKey, Pod] = {}

    def apply(self, delta: Delta[Pod]) -> None:
        """Do what a delta says, and assert that it says what was there before."""
        match delta:
            case Added(key=at, new=new):
                assert at not in self.objects, f"{at} was added twice"
                self.objects[at] = new
            case Updated(key=at, old=old, new=new):
                assert self.objects[at] is old, f"{at} was not what its delta says"
                self.objects[at] = new
            case Deleted(key=at, old=old):
                assert self.objects.pop(at) is old, f"{at} was not what its delta says"


class FollowerReader(Reader):
    """Looks for deltas that are lost, wrong, or half of a commit; among followers that come and go."""

    def __init__(self, store: Store[Pod], number: int) -> None:
        super().__init__(store, number)
        self.follow()

    def follow(self) -> None:
        """Begin anew, with what is there."""
        self.all, self.red = Mirror(), Mirror()
        self.followers: tuple[Follower[Pod], Follower[Pod]] = (
            self.store.follow(),
            self.store.follow(label_selector="side=red"),
        )

    def close(self) -> None:
        """Follow no more."""
        for follower in self.followers:
            follower.close()

    def look(self) -> int:
        if self.draw.random() < 0.02:
            self.close()
            self.follow()
        return self.catch_up()

    def catch_up(self) -> int:
        """Take all that waits, which is all of some commits, and look at what that makes of the mirrors."""
        reads = 0
        for follower, mirror in zip(self.followers, (self.all, self.red), strict=True):
            for delta in follower.take():
                mirror.apply(delta)
                reads += 1
        if not reads:
            return 0
        held, red = self.all.objects, self.red.objects
        reads += check_pairs(each for at, each in held.items() if at.namespace in ("left", "right"))
        reads += check_all_there(held)
        assert len(red) == SIDED // 2
        assert all(labels_of(each)["side"] == "red" for each in red.values())
        return reads + len(red)

    def finish(self) -> None:
        self.catch_up()
        assert self.catch_up() == 0
        assert self.all.objects == self.store.get_many(self.store.keys())
        self.close()


class HandlerReader(Reader):
    """Looks for the same in handlers, which run in threads of their own; what they raise is kept."""

    def __init__(self, store: Store[Pod], number: int) -> None:
        super().__init__(store, number)
        self.mirror = Mirror()
        self.counted = 0
        self.errors: list[Exception] = []
        self.heard = {key(f"end-{number}-{part}", "guests"): threading.Event() for part in range(2)}
        self.registration: Registration[Pod] = store.add_event_handler(
            self.handle, self.handle, self.handle, on_error=lambda error, _delta: self.errors.append(error)
        )

    def handle(self, delta: Delta[Pod]) -> None:
        """Handle each delta; read the store in between, as handlers do."""
        self.mirror.apply(delta)
        assert self.store.count(label_selector="side=red") == SIDED // 2
        if delta.key in self.heard:
            self.heard[delta.key].set()

    def look(self) -> int:
        assert self.store.count(label_selector="side=blue") == SIDED // 2
        assert self.errors == []
        before, self.counted = self.counted, self.registration.handled
        return 1 + 2 * (self.counted - before)  # a delta and a count each

    def close(self) -> None:
        """Leave no thread behind."""
        self.registration.remove()
        self.registration.join()

    def finish(self) -> None:
        for end, heard in self.heard.items():  # two, since the first may be part of what a relist has changed
            self.store.put(pod(end.name, "guests", kind="guest"))
            assert heard.wait(60)  # a deadline, not a duration
        self.close()
        assert self.errors == []
        assert self.mirror.objects == self.store.get_many(self.store.keys())


HUNTERS: dict[type[Reader], int] = {
    PairReader: 50_000,
    CountReader: 5_000,
    WholeReader: 50_000,
    SnapshotReader: 50_000,
    FollowerReader: 50_000,
    HandlerReader: 5_000,
}
"""How many reads each does in an ordinary run: a count is a query, where an object is one of many in an answer."""


def hunt(hunter: type[Reader], reads: int, *, locked: bool = True) -> list[BaseException]:
    """Write and read until there were so many *reads*, or something was found; give what was found."""
    arena = Arena(locked=locked)
    found: list[BaseException] = []
    end = monotonic() + SECONDS / len(HUNTERS)
    hunters = [hunter(arena.store, number) for number in range(READERS)]

    def read(reader: Reader) -> None:
        made = 0
        while made < reads / READERS and not found and monotonic() < end:
            made += reader.look()

    def run(act: Callable[..., object], *arguments: object) -> None:
        try:
            act(*arguments)
        except BaseException as error:  # noqa: BLE001 - what a thread raises is what was looked for
            found.append(error)

    writers = [threading.Thread(target=run, args=(arena.write, number), daemon=True) for number in range(WRITERS)]
    readers = [threading.Thread(target=run, args=(read, reader), daemon=True) for reader in hunters]
    for thread in (*writers, *readers):
        thread.start()
    for thread in readers:
        thread.join()
    arena.done.set()
    for thread in writers:
        thread.join()
    for reader in hunters:
        if not found:
            run(reader.finish)
        reader.close()
    if not found:
        run(arena.store._check)
    return found


@pytest.fixture(autouse=True)
def _hunting(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Switch between threads as often as Python can; check the store at the end, not after each commit."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("hunter", HUNTERS)
def test_a_hunt_finds_nothing(hunter: type[Reader]) -> None:
    """Pairs are never apart, counts that cannot change do not, nothing is missing or twice, no delta is lost."""
    assert hunt(hunter, HUNTERS[hunter] * TIMES) == []


@pytest.mark.parametrize("hunter", HUNTERS)
def test_a_hunt_finds_a_missing_lock(hunter: type[Reader], monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: without the lock one hunt of two finds something, and of a hundred one does."""
    # Without a lock a thread would finish the commit of another one by itself, and hide the tear.
    monkeypatch.setattr(Core, "settle", lambda _self: None)
    assert any(hunt(hunter, HUNTERS[hunter], locked=False) for _ in range(100))
