"""The feed: commits cut short at every point, met by followers in the middle, hunted by threads, and forked.

Interruptions and meetings are made to happen at named places. The hunts run real threads that take turns as often as
they can, and are bounded by counts; ``make stress`` runs more of them.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import traceback
import warnings
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kindex import FieldIndexer, LabelIndexer, ObjectKey, Store
from kindex.feed import Inbox
from tests.interruptions import interrupted_at
from tests.locks import owned
from tests.pods import Pod, key, pod, versioned
from tests.promises.histories import quick_switches
from tests.races.test_commits import seen_in_mid_commit
from tests.running import DEADLINE, Bell, Beside, passed
from tests.strategies import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex import Delta, Follower, Registration

STRESS = os.environ.get("HYPOTHESIS_PROFILE") == "stress"
HUNTS = 40 if STRESS else 2

by_app = LabelIndexer("app")


# Commits that are cut short

OLD = {name: versioned(pod(name, app="web"), f"u-{name}") for name in "abcdefghij"}
NEW = {name: versioned(pod(name, app="web", new="x"), f"u-{name}", "2") for name in "abcdefghij"}
LEFT = {name: versioned(pod(name, app="db", new="x"), f"u-{name}", "3") for name in "abcdefghij"}
REBORN = {name: versioned(pod(name, app="web"), f"v-{name}", "4") for name in "abcdefghijk"}


class Followed:
    """A store with followers of every kind, which have not taken yet what some commits did."""

    def __init__(self) -> None:
        self.store: Store[Pod] = Store(name="pods", indexers=[by_app])
        store = self.store
        store.replace(list(OLD.values()))
        queries: list[dict[str, Any]] = [{}, {"label_selector": "app=web"}, {"where": lambda obj: "uid" in str(obj)}]
        self.followers = [
            store.follow(replay=False, overflow=overflow, **query)
            for query in queries
            for overflow in ("merge", "close")
        ]
        self.followers.append(store.follow(label_selector="app=web"))  # it has not looked at all
        store.put(REBORN["k"])
        store.put(NEW["a"])
        store.put(LEFT["b"])
        store.replace([pod for name, pod in self.present().items() if name != "c"])
        self.woken: set[int] = set()
        for number, follower in enumerate(self.followers):
            follower._inbox._silence()  # as if it had just begun to wait, as a thread and as a task
            follower._inbox.wakers[partial(self.woken.add, number)] = None

    def present(self) -> dict[str, Pod]:
        return {str(found.name): obj for found, obj in self.store.get_many(self.store.keys()).items()}

    def told(self) -> list[list[Delta[Pod]]]:
        return [follower.take() for follower in self.followers]

    def unheard(self) -> list[int]:
        """Number the followers for whom something waits, and whose bell says nothing."""
        inboxes = [follower._inbox for follower in self.followers]
        return [number for number, inbox in enumerate(inboxes) if inbox.waiting and inbox.bell.empty()]


def put(followed: Followed) -> None:
    followed.store.put(NEW["d"])


def put_again(followed: Followed) -> None:
    followed.store.put(REBORN["c"])  # a relist found that another one had gone


def delete(followed: Followed) -> None:
    followed.store.delete(key("k"))  # which was not taken yet: it came and went


def transact(followed: Followed) -> None:
    with followed.store.transaction() as txn:
        txn.delete(key("k"))
        txn.put(LEFT["a"])
        txn.put(REBORN["c"])
        txn.put(NEW["b"])
        txn.delete(key("e"))


def relist(followed: Followed) -> None:
    kept = followed.present()
    followed.store.replace([obj for name, obj in kept.items() if name not in "fk"] + [REBORN["c"]])


def swap(followed: Followed) -> None:
    followed.store.replace([REBORN[name] for name in "abcdefgh"] + [OLD["i"]])


def swap_and_swap(followed: Followed) -> None:
    followed.store.replace([NEW[name] for name in "abcdefgh"])
    followed.store.replace([REBORN[name] for name in "abcdefgh"])


CASES = [
    *((act, place) for act in (put, put_again, delete, transact, relist) for place in ("Core.commit", "Core.ring")),
    *((act, place) for act in (swap, swap_and_swap) for place in ("Core.swap", "Core.ring")),
]
"""Core.commit calls Feed.told and Inbox.note, Core.swap calls Inbox.fall_behind: their points count, too."""


class Outcome(NamedTuple):
    """Where a store is, and what its followers have been told."""

    revision: int
    present: dict[str, Pod]
    told: list[list[Delta[Pod]]]

    @classmethod
    def of(cls, followed: Followed) -> Outcome:
        present = followed.present()  # the first question finishes a commit that was cut short
        return cls(followed.store.revision, present, followed.told())


def outcomes(act: Callable[[Followed], None]) -> list[Outcome]:
    """Give what there is before *act*, after each of its commits, and what is told of it."""
    found = [Outcome.of(Followed())]
    if act is swap_and_swap:
        half = Followed()
        half.store.replace([NEW[name] for name in "abcdefgh"])
        found.append(Outcome.of(half))
    done = Followed()
    act(done)
    return [*found, Outcome.of(done)]


@pytest.mark.parametrize(("act", "place"), CASES)
def test_nothing_is_lost_or_told_twice_by_a_commit_that_was_cut_short(
    act: Callable[[Followed], None], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever an interrupt hits, followers of every kind are told just what was done, once, when all is well again.

    And each of them is woken by the next commit, if not by this one.
    """
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    expected = {outcome.revision: outcome for outcome in outcomes(act)}
    hit = 0
    for number in count():
        followed = Followed()
        store = followed.store
        if not interrupted_at(number, partial(act, followed), inside=place):
            break
        hit += 1
        if number % 2:  # a writer; else a reader
            store.delete(ObjectKey("", "not there"))
        found = Outcome.of(followed)
        assert found == expected[found.revision], f"interrupted at point {number}"
        last = versioned(pod("last", app="web"), "u-last")
        store.put(last)
        assert followed.unheard() == [], f"interrupted at point {number}"
        assert followed.woken == set(range(7)), f"interrupted at point {number}"
        assert {delta.new is last for told in followed.told() for delta in told} == {True}
        store._check()
    assert hit > 3


def test_the_test_above_finds_a_commit_that_is_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: an inbox that does not know what it has noted is told twice what is applied again."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    note = Inbox.note

    def forgetful(inbox: Inbox[Any], changes: Any, revision: int) -> None:
        note(inbox, changes, revision)
        if inbox.queue is not None:
            inbox.queue[-1] = (-1, inbox.queue[-1][1])

    monkeypatch.setattr(Inbox, "note", forgetful)
    expected = {outcome.revision: outcome for outcome in outcomes(put)}
    wrong = 0
    for number in count():
        followed = Followed()
        if not interrupted_at(number, partial(put, followed), inside="Core.commit"):
            break
        found = Outcome.of(followed)
        wrong += found != expected[found.revision]
    assert wrong > 5


def test_whoever_finishes_a_commit_wakes_those_whom_it_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that was cut short rings no bell; a reader that completes its commit does."""
    store: Store[Pod] = Store()
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    waiting = Beside(follower.next)
    bell.waited()
    with monkeypatch.context() as patched:
        patched.setattr(Inbox, "note", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.put(pod("a"))
    assert bell.empty()
    assert store.get(key("a")) is not None
    delta = waiting.result()
    assert delta is not None
    assert delta.key == key("a")


def interrupt(*_arguments: object) -> None:
    raise KeyboardInterrupt


class Mortal:
    """A pod that notes, when it goes, whether the lock of its store is held by whoever lets it go."""

    def __init__(self, stores: list[Store[Any]], seen: list[bool]) -> None:
        self.metadata = {"name": "a", "namespace": "prod"}
        self.stores, self.seen = stores, seen

    def __del__(self) -> None:
        self.seen.append(owned(self.stores[0]))


def test_what_a_cut_commit_took_away_is_finalized_when_the_lock_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also an object that came and went for the only one who was told of it, and is finished by somebody else."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    for number in count():
        seen: list[bool] = []
        stores: list[Store[Any]] = [Store()]
        with stores[0].follow(replay=False) as follower:
            stores[0].put(Mortal(stores, seen))
            hit = interrupted_at(number, partial(stores[0].delete, key("a")), inside="Core.commit")
            gc.collect()
            if len(stores[0]):
                stores[0].delete(key("a"))
            follower.take()
            assert seen == [False], f"interrupted at point {number}"
        if not hit:
            break
    assert number > 20


@pytest.mark.parametrize("kind", range(7))
def test_an_interrupt_of_a_reader_costs_one_delta_at_most(kind: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever take() is cut short, the next one gives all but the delta that was being handed over, and none twice."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    followed = Followed()
    expected = followed.followers[kind].take()
    costs = []
    for number in count(step=1 if STRESS else 4):
        followed = Followed()
        follower = followed.followers[kind]
        if not interrupted_at(number, follower.take, inside="Follower.take"):
            break
        left = follower.take()
        assert left == [delta for delta in expected if delta in left], f"interrupted at point {number}"
        costs.append(len(expected) - len(left))
        followed.store.put(LEFT["j"])
        assert followed.unheard() == [], f"interrupted at point {number}"
    assert set(costs) == {0, 1}


# Followers that look in the middle of a commit


@pytest.mark.parametrize(("locked", "torn"), [(True, False), (False, True)])
@pytest.mark.parametrize("query", [{}, {"label_selector": "app=web"}])
def test_who_has_taken_all_knows_what_a_query_sees(
    query: dict[str, Any], locked: bool, torn: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A query shows nothing that the feed does not tell; the control, without the lock, sees one before the other."""
    followers: list[Follower[Pod]] = []

    def write(store: Store[Pod]) -> None:
        followers.append(store.follow(replay=False, **query))
        store.put(pod("new", app="web"))

    def ask(store: Store[Pod]) -> tuple[bool, int]:
        return key("new") in store, len(followers[0].take())

    seen = seen_in_mid_commit(monkeypatch, write, (Inbox, "note", 0), ask, locked=locked)
    assert seen == ((True, 0) if torn else (True, 1))


@pytest.mark.parametrize(("locked", "lost"), [(True, False), (False, True)])
def test_who_looks_in_the_middle_of_a_swap_misses_nothing(
    locked: bool, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relist is taken whole or later; in the control a follower compares it with itself, and never hears of it."""
    followers: list[Follower[Pod]] = []
    taken: list[Delta[Pod]] = []

    def write(store: Store[Pod]) -> None:
        followers.extend([store.follow(replay=False), store.follow(replay=False)])
        store.replace([pod(name) for name in "vwxyz"])

    def ask(store: Store[Pod]) -> int:
        taken.extend(followers[0].take())
        stores.append(store)
        return len(taken)

    stores: list[Store[Pod]] = []
    seen_in_mid_commit(monkeypatch, write, (Inbox, "fall_behind", 1), ask, locked=locked)
    taken += followers[0].take()
    names = {delta.key.name for delta in taken if delta.new is not None}
    assert names == (set() if lost else set("vwxyz"))
    assert len(stores[0]) == 5
    assert len(followers[1].take()) == 9


# Hunts


def patient(store: Store[Pod]) -> Follower[Pod]:
    """Follow each commit, however many a writer is ahead while this thread does not run: how far is no claim here."""
    follower = store.follow(overflow="close")
    follower._inbox.limit = 1_000_000
    return follower


class Known:
    """What a follower or a handler has been told."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen: dict[ObjectKey, Pod] = {}
        self.problems: list[str] = []
        self.last = threading.Event()

    def learn(self, delta: Delta[Pod]) -> None:
        if delta.old is not self.seen.get(delta.key):
            self.problems.append(f"{self.name}: {delta.key} at {delta.revision} was another")
        if delta.new is None:
            self.seen.pop(delta.key, None)
        else:
            self.seen[delta.key] = delta.new
        if delta.key.name == "last":
            self.last.set()

    def read(self, follower: Follower[Pod], gates: list[threading.Event] = []) -> None:  # noqa: B006 - not changed
        """Learn until the last pod is there; with *gates*, look only when one has been opened."""
        with follower:
            for gate in gates:
                passed(gate)
                self.learn_all(follower.take())
            while not self.last.is_set():
                taken = follower.take(DEADLINE)
                assert taken, self.name
                self.learn_all(taken)

    def learn_all(self, deltas: list[Delta[Pod]]) -> None:
        for delta in deltas:
            self.learn(delta)

    def same_as(self, pods: list[Pod]) -> bool:
        return sorted(map(id, self.seen.values())) == sorted(map(id, pods))


WRITES = 200


def write_at_random(store: Store[Pod], seed: object, gates: list[threading.Event]) -> None:
    """Write as controllers do, and open a gate now and then."""
    random = seeded(seed)
    for number in range(WRITES):
        if number % (WRITES // len(gates)) == 0:
            gates[number * len(gates) // WRITES].set()
        obj = versioned(
            pod(f"p{random.randrange(15)}", app=random.choice(["web", "db"])),
            f"u{random.randrange(3)}",
            f"{seed}-{number}",
        )
        kind = random.randrange(12)
        if kind < 6:
            store.put(obj)
        elif kind < 9:
            store.delete(obj)
        elif kind < 11:
            with store.transaction() as txn:
                txn.put(obj)
                txn.delete(key(f"p{random.randrange(15)}"))
        else:
            store.replace([pod(f"p{n}", app=random.choice(["web", "db"]), at=f"{seed}-{number}") for n in range(12)])


@pytest.mark.parametrize("hunt", range(HUNTS))
def test_followers_of_a_busy_store_know_it_in_the_end(hunt: int) -> None:
    """Two writers, a quick follower, a slow one, a filtered one, one of each commit and a handler: all end up equal."""
    store: Store[Pod] = Store(name="pods", indexers=[by_app])
    known = {name: Known(name) for name in ("quick", "slow", "web", "each", "handler", "web handler")}
    gates = [threading.Event() for _ in range(5)]

    with quick_switches():
        learn, learn_web = known["handler"].learn, known["web handler"].learn
        registrations: list[Registration[Pod]] = [
            store.add_event_handler(learn, learn, learn),
            store.add_event_handler(learn_web, learn_web, learn_web, label_selector="app=web"),
        ]
        readers = [
            Beside(partial(known["quick"].read, store.follow())),
            Beside(partial(known["web"].read, store.follow(label_selector="app=web"))),
            Beside(partial(known["each"].read, patient(store))),
            Beside(partial(known["slow"].read, store.follow(), gates)),
        ]
        writers = [Beside(partial(write_at_random, store, f"{hunt}-{number}", gates)) for number in range(2)]
        for writer in writers:
            writer.result()
        store.put(pod("last", app="web"))
        for reader in readers:
            reader.result()
        for name in ("handler", "web handler"):
            passed(known[name].last)
        for registration in registrations:
            registration.remove()
            registration.join(DEADLINE)
    pods, web = store.select(), store.select(label_selector="app=web")
    for name, each in known.items():
        assert each.problems == []
        assert each.same_as(web if "web" in name else pods), name
    assert [registration.errors for registration in registrations] == [0, 0]
    assert store._core.feed is None
    store._check()


@pytest.mark.parametrize("hunt", range(HUNTS))
def test_followers_come_and_go_while_others_write(hunt: int) -> None:
    """Following, closing, forgetting, waiting and adding indexers race with writers, and trouble nobody."""
    store: Store[Pod] = Store(name="pods", indexers=[by_app])
    stays = Known("stays")
    follower = store.follow(label_selector="app=web")
    over = threading.Event()

    def come_and_go(seed: str) -> int:
        random, came = seeded(seed), 0
        while not over.is_set() or came < 20:
            came += 1
            query = random.choice([{}, {"label_selector": f"app={random.choice(['web', 'db'])}"}, {"where": bool}])
            another = store.follow(**query, overflow=random.choice(["merge", "close"]))
            seen = Known("guest")
            seen.learn_all(another.take())
            assert seen.problems == []
            if random.random() < 0.7:
                another.close()
            store.wait_until(lambda _: True, 0)
        return came

    def change_indexers() -> None:
        by_tier, by_node = LabelIndexer("tier"), FieldIndexer("spec.nodeName")
        while not over.is_set():
            store.add_indexers(by_tier, by_node)
            store.remove_indexer(by_tier.name)
            store.remove_indexer(by_node.name)

    with quick_switches():
        gates = [threading.Event()]
        guests = [Beside(partial(come_and_go, f"{hunt}-{number}")) for number in range(2)]
        indexers = Beside(change_indexers)
        writers = [Beside(partial(write_at_random, store, f"{hunt}-{number}", gates)) for number in range(2)]
        for writer in writers:
            writer.result()
        over.set()
        assert all(guest.result() >= 20 for guest in guests)
        indexers.result()
    stays.learn_all(follower.take())
    assert stays.problems == []
    assert stays.same_as(store.select(label_selector="app=web"))
    follower.close()
    gc.collect()
    store.put(pod("last"))
    assert store._core.feed is None
    store._check()


# Forks

forking = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


def in_child(act: Callable[[], object]) -> None:
    """Run *act* in a forked child, and fail if it fails or hangs there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forking with threads, which is the point
        child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(round(DEADLINE))
            act()
            code = 0
        except BaseException:  # noqa: BLE001 - a child of a test has nobody above it
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def names(deltas: list[Delta[Pod]]) -> list[str]:
    return [delta.key.name for delta in deltas]


@forking
def test_a_follower_goes_on_in_a_child_by_itself() -> None:
    """A child's copy gives what waited at the fork, and then what the child writes; the parent's gives the parent's."""
    store: Store[Pod] = Store(indexers=[by_app])
    followers = [store.follow(), store.follow(label_selector="app=web"), store.follow(overflow="close")]
    for follower in followers:
        assert follower.take() == []
    store.put(pod("a", app="web"))
    woken: list[int] = []
    for follower in followers:
        follower._inbox.wakers[partial(woken.append, 1)] = None  # of a task of the parent

    def act() -> None:
        store.put(pod("b", app="web"))
        assert woken == []
        for follower in followers:
            assert names(follower.take()) == ["a", "b"]
        waiting = Beside(followers[0].next)
        store.put(pod("c"))
        assert waiting.result() is not None
        for follower in followers:
            follower.close()
        assert store._core.feed is None

    in_child(act)
    store.put(pod("d", app="web"))
    for follower in followers:
        assert names(follower.take()) == ["a", "d"]


@forking
def test_a_child_has_no_thread_for_a_registration() -> None:
    """It says that it is not active there, keeps nothing, and another one can be added; the parent's goes on."""
    store: Store[Pod] = Store(indexers=[by_app])
    known = Known("handler")
    registration = store.add_event_handler(known.learn, known.learn, known.learn)
    assert registration.wait_synced(DEADLINE)

    def act() -> None:
        assert not registration.active
        assert registration.synced
        registration.join(DEADLINE)
        for number in range(10):
            store.put(pod(f"p{number}"))
        assert registration.lag == 0
        assert registration.handled == 0
        registration.remove()
        assert store._core.feed is None
        mine = Known("mine")
        another = store.add_event_handler(mine.learn, mine.learn, mine.learn)
        store.put(pod("last"))
        passed(mine.last)
        another.remove()
        another.join(DEADLINE)
        assert mine.same_as(store.select())

    in_child(act)
    assert registration.active
    store.put(pod("last"))
    passed(known.last)
    registration.remove()
    registration.join(DEADLINE)
    assert known.same_as(store.select())


@forking
def test_a_follower_that_another_thread_was_reading_is_closed_in_the_child() -> None:
    """It may be in the middle of anything there; nobody waits for it, and the store can be followed anew."""
    store: Store[Pod] = Store()
    inside, go_on = threading.Event(), threading.Event()

    def slow(_obj: Pod) -> bool:
        inside.set()
        passed(go_on)
        return True

    follower = store.follow(where=slow)
    store.put(pod("a"))
    reading = Beside(follower.next)
    passed(inside)

    def act() -> None:
        assert follower.closed
        assert follower.next() is None
        assert follower.take(None) == []
        follower.close()
        with store.follow() as another:
            store.put(pod("b"))
            assert sorted(names(another.take())) == ["a", "b"]
        assert store._core.feed is None

    in_child(act)
    go_on.set()
    assert reading.result() is not None
    assert not follower.closed


@forking
def test_whoever_waited_at_the_fork_is_not_in_the_child(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads that wait for a commit or for a delta stay in the parent, and leave nothing locked in the child."""
    waiters_bell = Bell()
    store: Store[Pod] = Store()
    follower = store.follow()
    follower._inbox.bell = bell = Bell()
    reading = Beside(follower.next)
    bell.waited()
    monkeypatch.setattr("kindex.waiting.SimpleQueue", lambda: waiters_bell)
    waiting = Beside(lambda: store.wait_until(len))
    waiters_bell.waited()

    def act() -> None:
        assert store._core.feed is not None
        assert store._core.feed.waiters == []
        store.put(pod("child"))
        assert names(follower.take()) == ["child"]
        assert store.wait_until(len, 0) == 1

    in_child(act)
    store.put(pod("parent"))
    assert waiting.result() == 1
    delta = reading.result()
    assert delta is not None
    assert delta.key == key("parent")


@forking
def test_children_of_a_busy_store_are_told_whole_commits() -> None:
    """Forked while threads write and read, a child's followers know its store."""
    store: Store[Pod] = Store(indexers=[by_app])
    over = threading.Event()
    follower = store.follow()
    each = patient(store)
    known, known_each = Known("all"), Known("each")

    def write(seed: int) -> None:
        number = 0
        while not over.is_set():
            write_at_random(store, f"{seed}-{number}", [threading.Event()])
            number += 1

    def act() -> None:
        for reader, told in ((follower, known), (each, known_each)):
            told.learn_all(reader.take())
            assert told.problems == []
            assert told.same_as(store.select())

    writers = [Beside(partial(write, seed)) for seed in range(2)]
    try:
        for _ in range(10):
            for reader, told in ((follower, known), (each, known_each)):
                told.learn_all(reader.take())
            in_child(act)
    finally:
        over.set()
        for writer in writers:
            writer.result()
