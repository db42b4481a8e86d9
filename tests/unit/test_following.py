"""Followers: replay and sync, waiting and ending, several readers, predicates that fail, and async for."""

from __future__ import annotations

import asyncio
import gc
import threading
from queue import Empty
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    Deleted,
    FieldIndexer,
    FollowerTooSlow,
    InCommitError,
    LabelIndexer,
    QueryError,
    Store,
    Updated,
)
from kindex.feed import Feed
from tests.pods import Pod, key, pod, versioned
from tests.running import DEADLINE, Bell, Beside, passed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kindex import Delta, Follower

by_app = LabelIndexer("app")


def filled(*names: str) -> Store[Pod]:
    """Make a store of pods of these names."""
    store: Store[Pod] = Store(name="pods", indexers=[by_app])
    store.replace([pod(name, app="web") for name in names])
    return store


def names(deltas: list[Delta[Pod]]) -> list[str]:
    """Say in short what *deltas* are."""
    signs = {Added: "+", Updated: "~", Deleted: "-"}
    return [signs[type(delta)] + delta.key.name for delta in deltas]


# Replay


def test_what_there_is_comes_first() -> None:
    """A follower gets an Added for each object that there is, under the present revision, and then what changes."""
    store = filled("a", "b")
    store.put(pod("c"))
    follower = store.follow()
    first = follower.take()
    assert sorted(first, key=lambda delta: delta.key) == [
        Added(key("a"), pod("a", app="web"), 2),
        Added(key("b"), pod("b", app="web"), 2),
        Added(key("c"), pod("c"), 2),
    ]
    store.delete(key("b"))
    assert follower.take() == [Deleted(key("b"), pod("b", app="web"), revision=3)]


def test_what_came_before_the_first_look_is_part_of_the_replay() -> None:
    """Writes between follow() and the first look are not told twice, and not as what they were."""
    for query in ({}, {"label_selector": "app=web"}):
        store = filled("a", "b")
        follower = store.follow(**query)  # type: ignore[arg-type]  # none, or a selector
        store.delete(key("a"))
        store.put(pod("b", app="web", tier="gold"))
        store.put(pod("c", app="web"))
        assert sorted(names(follower.take())) == ["+b", "+c"]


@pytest.mark.parametrize("look", ["next", "take"])
def test_a_replay_is_right_when_the_indexers_have_changed_since(look: str) -> None:
    """Between follow() and the first look indexers may go and others take their places."""
    store: Store[Pod] = Store(indexers=[FieldIndexer("spec.nodeName"), by_app])
    store.replace([pod("a", app="web", node="db"), pod("b", app="db", node="web")])
    followers = [store.follow(label_selector="app=web"), store.follow(field_selector="spec.nodeName=web")]
    store.remove_indexer("spec.nodeName")
    store.remove_indexer("app")
    store.add_indexers(LabelIndexer("tier"), FieldIndexer("spec.nodeName"))
    for follower, name in zip(followers, "ab", strict=True):
        told = [follower.next(0)] if look == "next" else follower.take()
        assert [delta.key for delta in told if delta is not None] == [key(name)]


def test_without_a_replay_only_changes_come() -> None:
    """With replay=False the present state is known, and the first change of an object is an Updated or a Deleted."""
    store = filled("a", "b")
    follower = store.follow(replay=False)
    assert follower.synced
    assert follower.take() == []
    store.put(pod("a", app="db"))
    store.delete(key("b"))
    assert follower.take() == [
        Updated(key("a"), pod("a", app="web"), pod("a", app="db"), 2),
        Deleted(key("b"), pod("b", app="web"), revision=3),
    ]


@pytest.mark.parametrize("overflow", ["merge", "close"])
def test_a_follower_is_synced_when_more_is_asked_for(overflow: Any) -> None:
    """It is synced when the replay has been given, and the next delta is asked for: then it has been worked off."""
    store = filled("a", "b")
    follower = store.follow(overflow=overflow)
    seen = []
    for _ in "ab":
        seen.append(follower.synced)
        assert follower.next(0) is not None
    seen.append(follower.synced)
    assert follower.next(0) is None
    assert [*seen, follower.synced] == [False, False, False, True]
    nothing = filled()
    empty = nothing.follow()
    assert not empty.synced
    assert empty.take() == []
    assert empty.synced


def test_synced_does_not_wait_for_a_quiet_moment() -> None:
    """Changes that come in during the replay do not put it off."""
    store = filled("a", "b")
    follower = store.follow()
    assert follower.next(0) is not None
    store.put(pod("c"))
    assert follower.next(0) is not None
    store.put(pod("d"))
    assert not follower.synced
    assert follower.next(0) is not None
    assert follower.synced


@pytest.mark.parametrize("indexed", [False, True])
def test_objects_that_were_edited_in_place_are_told_as_they_are(indexed: bool) -> None:
    """A reader's edit is no commit: it is told when the object is next written, and then once."""
    store: Store[Pod] = Store(indexers=[by_app] if indexed else [])
    web, db = pod("web", app="web"), pod("db", app="db")
    store.put(web)
    store.put(db)
    follower = store.follow(label_selector="app=web")
    everything = store.follow(replay=False)
    assert names(follower.take()) == ["+web"]
    web["metadata"]["labels"]["app"], db["metadata"]["labels"]["app"] = "db", "web"
    assert follower.take() == []
    store.put(web)
    store.put(db)
    assert follower.take() == [Deleted(key("web"), web, revision=3), Added(key("db"), db, 4)]
    assert everything.take() == [Updated(key("web"), web, web, 3), Updated(key("db"), db, db, 4)]
    store.replace([web, db])
    assert follower.take() == everything.take() == []
    store.delete(key("db"))
    store.delete(key("web"))
    assert follower.take() == [Deleted(key("db"), db, revision=5)]


def test_a_relist_of_an_empty_store_is_told() -> None:
    """A follower that was there before the first list gets it as Added, whatever it follows."""
    store: Store[Pod] = Store(indexers=[by_app])
    followers = [store.follow(), store.follow(label_selector="app=web"), store.follow(overflow="close")]
    for follower in followers:
        assert follower.take() == []
    store.replace([pod("a", app="web"), pod("b", app="web")], "1")
    for follower in followers:
        assert sorted(names(follower.take())) == ["+a", "+b"]


# Waiting


def test_next_waits_for_a_commit_of_another_thread() -> None:
    """A thread that waits is woken by the commit that concerns it, and by no other."""
    store = filled()
    follower = store.follow(label_selector="app=web")
    bell = follower._inbox.bell = Bell()
    waiting = Beside(follower.next)
    bell.waited()
    store.put(pod("x", app="db"))
    assert bell.empty()
    store.put(pod("a", app="web"))
    assert waiting.result() == Added(key("a"), pod("a", app="web"), 2)


@pytest.mark.parametrize("overflow", ["merge", "close"])
def test_a_relist_wakes_who_waits(overflow: Any) -> None:
    """A swap of everything is told to all, also to those whom no index finds in it."""
    store = filled("a", "b")
    followers = [store.follow(replay=False, overflow=overflow), store.follow(label_selector="app=web", replay=False)]
    waiting = []
    for follower in followers:
        bell = follower._inbox.bell = Bell()
        waiting.append(Beside(follower.next))
        bell.waited()
    store.replace([pod("c", app="web")])
    assert [thread.result() for thread in waiting] == [Added(key("c"), pod("c", app="web"), 2)] * 2


def test_take_waits_for_the_first() -> None:
    """take() waits for one delta and gives all that there are then."""
    store = filled()
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    waiting = Beside(lambda: follower.take(None))
    bell.waited()
    with store.transaction() as txn:
        txn.put(pod("a"))
        txn.put(pod("b"))
    assert names(waiting.result()) == ["+a", "+b"]
    assert follower.take() == []
    assert follower.next(0) is None


class Still:
    """A bell that nobody rings, and a clock that moves on as one waits for it."""

    def __init__(self, *, early: float | None = None) -> None:
        self.now = 100.0
        self.early = early
        self.asked: list[float | None] = []

    def monotonic(self) -> float:
        return self.now

    def empty(self) -> bool:
        return True

    def put(self, _nothing: None) -> None:
        pass

    def get(self, timeout: float | None) -> None:
        assert timeout is not None
        self.asked.append(timeout)
        if self.early is not None:
            self.now += self.early
            self.early = None
            return
        self.now += timeout
        raise Empty

    def get_nowait(self) -> None:
        raise Empty


@pytest.mark.parametrize(
    ("timeout", "early", "asked"), [(0, None, []), (-1, None, []), (5, None, [5]), (5, 2, [5, 3]), (5, 7, [5])]
)
def test_timeouts_are_kept(
    timeout: float, early: float | None, asked: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing within the time is None or an empty list; a bell that rang for nothing does not begin it anew."""
    store = filled("a")
    follower = store.follow(replay=False)
    for act, nothing in ((follower.next, None), (follower.take, [])):
        still = Still(early=early)
        monkeypatch.setattr("kindex.deadlines.monotonic", still.monotonic)
        follower._inbox.bell = still  # type: ignore[assignment]  # as far as it is used
        assert act(timeout) == nothing
        assert still.asked == asked


def test_what_is_there_is_given_without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout is for waiting only: what is there comes at once, also with a timeout of nothing."""
    store = filled("a", "b")
    follower = store.follow()
    still = Still()
    monkeypatch.setattr("kindex.deadlines.monotonic", still.monotonic)
    follower._inbox.bell = still  # type: ignore[assignment]  # as far as it is used
    assert follower.next(0) is not None
    assert follower.next(-1) is not None
    store.put(pod("c"))
    assert follower.next(5) is not None
    store.put(pod("d"))
    assert follower.next(None) is not None
    assert still.asked == []


# Ending


def test_iterating_ends_when_the_follower_is_closed() -> None:
    """A loop ends on close(), from the same thread or another one, also while it waits; and so does each later one."""
    store = filled("a", "b")
    follower = store.follow()
    seen = []
    for delta in follower:
        seen.append(delta)
        if len(seen) == 2:
            follower.close()
    assert len(seen) == 2
    assert list(follower) == []
    assert follower.next() is None
    assert follower.take(None) == []
    with store.follow(replay=False) as another:
        bell = another._inbox.bell = Bell()
        waiting = Beside(lambda: list(another))
        bell.waited()
        another.close()
        assert waiting.result() == []
    assert another.closed


def test_closing_drops_what_waits() -> None:
    """Nothing is given after close(): not what waits, what was taken, or the second delta of a change of UID."""
    store: Store[Pod] = Store()
    store.put(versioned(pod("a"), "u1"))
    follower = store.follow(replay=False)
    store.put(versioned(pod("a"), "u2"))
    store.put(pod("b"))
    assert isinstance(follower.next(0), Deleted)
    follower.close()
    store.put(pod("c"))
    assert follower.take() == []


def test_iterating_ends_when_the_store_is_gone() -> None:
    """A follower does not keep its store: when nobody else does, a thread that waits comes back."""
    store = filled("a")
    follower = store.follow()
    assert names(follower.take()) == ["+a"]
    bell = follower._inbox.bell = Bell()
    waiting = Beside(lambda: list(follower))
    bell.waited()
    assert not follower.closed
    del store
    gc.collect()
    assert waiting.result() == []
    assert follower.closed
    follower.close()


@pytest.mark.parametrize("ends", ["closed", "gone"])
def test_all_threads_that_wait_come_back(ends: str) -> None:
    """Several threads may wait for one follower; when it ends, none is left behind."""
    store = filled()
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    waiting = [Beside(follower.next) for _ in range(3)]
    for _ in waiting:
        bell.waited()
    if ends == "closed":
        follower.close()
    else:
        del store
        gc.collect()
    assert [thread.result() for thread in waiting] == [None] * 3


def test_threads_share_the_deltas_of_one_commit() -> None:
    """A commit of three objects serves three threads that wait for one delta each, though it rings once."""
    store = filled()
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    waiting = [Beside(follower.next) for _ in range(3)]
    for _ in waiting:
        bell.waited()
    with store.transaction() as txn:
        for name in "abc":
            txn.put(pod(name))
    told = [thread.result() for thread in waiting]
    assert sorted(names([delta for delta in told if delta is not None])) == ["+a", "+b", "+c"]


def test_one_thread_does_not_take_away_what_another_waits_for() -> None:
    """Who looks without waiting takes all that there is, and lets those know who wait for the rest of it."""
    store = filled()
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    waiting = Beside(follower.next)
    bell.waited()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Feed, "ring", lambda _feed, _core: None)  # the writer has not come to it yet
        with store.transaction() as txn:
            txn.put(pod("a"))
            txn.put(pod("b"))
    mine = follower.next(0)
    theirs = waiting.result()
    assert mine is not None
    assert theirs is not None
    assert names([mine, theirs]) == ["+a", "+b"]


def test_two_threads_get_each_delta_once() -> None:
    """Threads that read one follower share what it gives: all of it, and nothing twice."""
    store = filled(*(f"p{number}" for number in range(300)))
    follower = store.follow()
    told: list[str] = []
    all_told = threading.Event()

    def read() -> int:
        count = 0
        for delta in follower:
            told.extend(names([delta]))
            count += 1
            if len(told) == 600:
                all_told.set()
        return count

    readers = [Beside(read) for _ in range(2)]
    for number in range(300):
        store.put(pod(f"q{number}"))
    passed(all_told)
    follower.close()
    assert sum(reader.result() for reader in readers) == 600
    assert sorted(told) == sorted(f"+{letter}{number}" for letter in "pq" for number in range(300))


# Inside the lock, and misuse


@pytest.mark.parametrize("act", ["next", "take"])
def test_nothing_is_taken_inside_the_lock(act: str) -> None:
    """A finalizer that runs inside the store's lock gets an error: to wait there for another reader would hang."""
    store = filled("a")
    follower = store.follow()
    with store._core.lock, pytest.raises(InCommitError):
        getattr(follower, act)(0)
    assert names(follower.take()) == ["+a"]


def test_nobody_begins_to_follow_inside_the_lock() -> None:
    """follow() is refused where the store cannot be asked, and leaves nothing behind."""
    store = filled("a")
    with store._core.lock, pytest.raises(InCommitError):
        store.follow()
    assert store._core.feed is None


def test_closing_inside_the_lock_is_allowed() -> None:
    """A signal handler may close a follower at any time; the feed is cleared up by the next commit."""
    store = filled("a")
    follower = store.follow()
    bell = follower._inbox.bell = Bell()
    follower.take()
    waiting = Beside(follower.next)
    bell.waited()
    with store._core.lock:
        follower.close()
        follower.close()
    assert waiting.result() is None
    assert follower.closed
    store.put(pod("b"))
    assert store._core.feed is None


def test_only_two_ways_to_overflow() -> None:
    """A slip in overflow= is an error that names both."""
    store = filled("a")
    with pytest.raises(QueryError, match="'merge' or 'close', not 'drop'"):
        store.follow(overflow="drop")  # type: ignore[arg-type]  # that is the point
    assert store._core.feed is None


# Predicates that fail


class Moody:
    """A predicate that raises for pods that say so, and else lets pass who is web."""

    def __init__(self) -> None:
        self.raised: list[str] = []

    def __call__(self, obj: Pod) -> bool:
        labels = obj["metadata"].get("labels", {})
        if "bad" in labels:
            self.raised.append(obj["metadata"]["name"])
            raise ZeroDivisionError(obj["metadata"]["name"])
        return bool(labels.get("app") == "web")


def test_a_predicate_that_raises_costs_one_delta() -> None:
    """next() raises what the predicate raised; the deltas before and after it come, and membership stays right."""
    store = filled()
    moody = Moody()
    follower = store.follow(where=moody)
    for name in "abcd":
        store.put(pod(name, app="web", **({"bad": "x"} if name == "b" else {})))
    assert names([follower.next(0)]) == ["+a"]  # type: ignore[list-item]  # it is there
    with pytest.raises(ZeroDivisionError, match="b"):
        follower.next(0)
    assert names(follower.take()) == ["+c", "+d"]
    assert follower.synced
    store.put(pod("b", app="web"))
    store.put(pod("c", app="web", bad="x"))
    store.put(pod("d", app="db"))
    assert names([follower.next(0)]) == ["+b"]  # type: ignore[list-item]  # it is there
    with pytest.raises(ZeroDivisionError):
        follower.next(0)
    assert names(follower.take()) == ["-d"]
    store.delete(key("c"))  # it was inside when last it could be told
    store.delete(key("d"))
    store.delete(key("b"))
    assert names(follower.take()) == ["-c", "-b"]
    assert moody.raised == ["b", "c"]


def test_what_was_taken_before_a_predicate_raised_is_not_lost() -> None:
    """take() that raises keeps what it had for the next call, in order."""
    store = filled()
    follower = store.follow(where=Moody())
    for name in "abcd":
        store.put(pod(name, app="web", **({"bad": "x"} if name == "c" else {})))
    with pytest.raises(ZeroDivisionError):
        follower.take()
    assert names(follower.take()) == ["+a", "+b", "+d"]


def test_a_predicate_that_raises_while_the_present_is_learned_fails_the_call() -> None:
    """Without a replay the predicate sees what there is at once, so follow() raises, and leaves nothing behind."""
    store = filled()
    store.put(pod("a", bad="x"))
    with pytest.raises(ZeroDivisionError):
        store.follow(where=Moody(), replay=False)
    gc.collect()
    store.put(pod("b"))
    assert store._core.feed is None


def test_a_predicate_may_close_its_follower() -> None:
    """Then nothing is given any more, not even what it was asked about."""
    store = filled("a", "b")

    def last(_obj: Pod) -> bool:
        follower.close()
        return True

    follower = store.follow(where=last)
    assert follower.take() == []
    assert store._core.feed is None


def test_a_writer_that_never_rests_does_not_keep_who_takes() -> None:
    """take() and next() come back though each look finds something new: here each question writes the next object."""
    for act in ("take", "next"):
        store = filled()

        def writes(obj: Pod, store: Store[Pod] = store) -> bool:
            store.put(pod(f"{len(store)}", app="web"))
            return obj["metadata"]["labels"]["app"] == "db"

        busy = store.follow(where=writes)
        store.put(pod("0", app="web"))
        assert getattr(busy, act)(0) in ([], None)
        assert len(store) == 2
        every = store.follow(where=lambda _obj, store=store: store.put(pod(f"{len(store)}", app="db")))
        assert len(every.take()) == len(every.take()) == 4  # what there was, and what that brought


def test_a_predicate_may_use_the_store() -> None:
    """It runs without any lock of the store: it may read, write and follow."""
    store = filled()

    def busy(obj: Pod) -> bool:
        if obj["metadata"]["name"] == "a":
            store.put(pod("b"))
            with store.follow() as inner:
                assert len(inner.take()) == 2
        return store.get(key("b")) is not None

    follower = store.follow(where=busy)
    store.put(pod("a"))
    assert names(follower.take()) == ["+a", "+b"]


# async for


def run(act: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine to its end, within the deadline."""

    async def bounded() -> Any:
        async with asyncio.timeout(DEADLINE):
            return await act()

    return asyncio.run(bounded())


async def collect(follower: Follower[Pod], seen: list[Delta[Pod]], until: int | None = None) -> None:
    """Note each delta; end after *until* of them, or with the follower."""
    async for delta in follower:
        seen.append(delta)
        if len(seen) == until:
            return


async def until(holds: Callable[[], bool]) -> None:
    """Let others run until something holds."""
    while not holds():  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0)


async def waits(follower: Follower[Pod], tasks: int = 1) -> None:
    """Return once so many tasks wait for the follower."""
    await until(lambda: len(follower._inbox.wakers) >= tasks)


def test_async_for_gives_what_there_is_and_what_comes() -> None:
    """A task gets the replay, then waits, and is woken by a commit of another thread."""
    store = filled("a", "b")
    follower = store.follow()
    seen: list[Delta[Pod]] = []

    async def main() -> None:
        task = asyncio.create_task(collect(follower, seen, 4))
        await waits(follower)
        assert len(seen) == 2
        assert follower.synced
        writer = Beside(lambda: store.put(pod("c")))
        await asyncio.to_thread(writer.result)
        await until(lambda: len(seen) == 3)
        await waits(follower)
        store.put(pod("d"))
        await task

    run(main)
    assert names(seen) == ["+a", "+b", "+c", "+d"]
    assert follower._inbox.wakers == {}


@pytest.mark.parametrize("tasks", [1, 3])
@pytest.mark.parametrize("by", ["thread", "task"])
def test_async_for_ends_when_the_follower_is_closed(by: str, tasks: int) -> None:
    """All tasks that wait come back when it is closed, by a thread or in the loop itself."""
    store = filled()
    follower = store.follow()

    async def main() -> None:
        waiting = [asyncio.create_task(collect(follower, [])) for _ in range(tasks)]
        await waits(follower, tasks)
        if by == "thread":
            await asyncio.to_thread(follower.close)
        else:
            follower.close()
        await asyncio.gather(*waiting)

    run(main)
    assert store._core.feed is None


def test_async_for_ends_when_the_store_is_gone() -> None:
    """A task that waits for a store that nobody keeps comes back."""
    stores = [filled("a")]
    follower = stores[0].follow()
    seen: list[Delta[Pod]] = []

    async def main() -> None:
        task = asyncio.create_task(collect(follower, seen))
        await waits(follower)
        stores.clear()
        gc.collect()
        await task

    run(main)
    assert names(seen) == ["+a"]


@pytest.mark.parametrize("what", ["close", "put", "gone"])
def test_nothing_is_missed_by_a_task_that_is_about_to_wait(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens between its last look and its wait is seen before it waits."""
    stores = [filled()]
    follower = stores[0].follow()
    event = asyncio.Event
    acts: dict[str, Callable[[], object]] = {
        "close": follower.close,
        "put": lambda: stores[0].put(pod("a")),
        "gone": stores.clear,
    }

    def now() -> asyncio.Event:
        if acts:
            acts.pop(what)()
            acts.clear()
        return event()

    seen: list[Delta[Pod]] = []

    async def main() -> None:
        with monkeypatch.context() as patched:
            patched.setattr(asyncio, "Event", now)
            await collect(follower, seen, 1)

    run(main)
    assert names(seen) == (["+a"] if what == "put" else [])


def test_tasks_share_the_deltas_of_one_commit() -> None:
    """Two tasks that wait for one follower are both served by a commit of two objects."""
    store = filled()
    follower = store.follow()
    seen: list[Delta[Pod]] = []

    async def main() -> None:
        tasks = [asyncio.create_task(anext(follower)) for _ in range(2)]  # type: ignore[arg-type]  # a coroutine
        await waits(follower, 2)
        with store.transaction() as txn:
            txn.put(pod("a"))
            txn.put(pod("b"))
        seen.extend(await asyncio.gather(*tasks))

    run(main)
    assert names(seen) == ["+a", "+b"]


def test_a_task_that_is_cancelled_takes_nothing_along() -> None:
    """Cancelling a task that waits leaves the follower as it was, and no waker behind."""
    store = filled()
    follower = store.follow()
    seen: list[Delta[Pod]] = []

    async def main() -> None:
        task = asyncio.create_task(collect(follower, seen))
        await waits(follower)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert follower._inbox.wakers == {}
        store.put(pod("a"))
        await collect(follower, seen, 1)
        task = asyncio.create_task(collect(follower, seen))
        await waits(follower)
        store.put(pod("b"))
        task.cancel()  # it was woken, and has not run yet
        with pytest.raises(asyncio.CancelledError):
            await task
        await collect(follower, seen, 2)

    run(main)
    assert names(seen) == ["+a", "+b"]


def test_a_long_replay_lets_other_tasks_run() -> None:
    """After some deltas at once the others of the loop have their turn."""
    store = filled(*(f"p{number}" for number in range(1000)))
    follower = store.follow()
    turns = [0]

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(other())
        await collect(follower, [], 1000)
        task.cancel()

    run(main)
    assert turns[0] >= 10


def test_a_replay_of_which_little_is_wanted_lets_other_tasks_run() -> None:
    """Also while a filter passes over what there is, the others of the loop have their turn."""
    store = filled(*(f"p{number}" for number in range(2000)), "wanted")
    turns = [0]

    def rarely(obj: Pod) -> bool:
        passed_over.append(turns[0])
        return obj["metadata"]["name"] == "wanted"

    passed_over: list[int] = []
    follower = store.follow(where=rarely)

    async def other() -> None:
        while True:
            turns[0] += 1
            await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(other())
        await collect(follower, [], 1)
        task.cancel()

    run(main)
    assert max(passed_over.count(turn) for turn in set(passed_over)) <= 128
    assert turns[0] >= 15


def test_a_loop_that_was_closed_is_no_trouble_for_the_writer() -> None:
    """A task that waits when its loop is closed is woken by nobody; the follower can be read elsewhere."""
    store = filled()
    follower = store.follow()
    loop = asyncio.new_event_loop()
    coroutine = collect(follower, [])
    task = loop.create_task(coroutine)
    loop.run_until_complete(waits(follower))
    loop.close()
    store.put(pod("a"))
    store.put(pod("b"))
    assert names(follower.take()) == ["+a", "+b"]
    assert follower._inbox.wakers == {}
    store.put(pod("c"))
    seen: list[Delta[Pod]] = []
    run(lambda: collect(follower, seen, 1))
    assert names(seen) == ["+c"]
    task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is left behind on purpose
    coroutine.close()


def test_async_for_raises_what_next_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that is too slow, and a predicate that fails, raise in the loop that reads."""
    monkeypatch.setattr("kindex.following.LIMIT", 2)
    store = filled()
    slow = store.follow(overflow="close", replay=False)
    moody = store.follow(where=Moody())
    for name in "abc":
        store.put(pod(name, app="web", **({"bad": "x"} if name == "b" else {})))
    with pytest.raises(FollowerTooSlow):
        run(lambda: collect(slow, []))
    seen: list[Delta[Pod]] = []
    with pytest.raises(ZeroDivisionError):
        run(lambda: collect(moody, seen))
    run(lambda: collect(moody, seen, 2))
    assert names(seen) == ["+a", "+c"]
