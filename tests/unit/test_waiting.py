"""Waiting until a predicate holds, and until the store has seen a resource version."""

from __future__ import annotations

import threading
from functools import partial
from itertools import count
from queue import Empty
from typing import TYPE_CHECKING, Any

import pytest

from kindex import InCommitError, KindexError, LabelIndexer, NotReachedError, ObjectKey, QueryError, Store, StoreView
from tests.interruptions import interrupted_at
from tests.locks import owned
from tests.pods import Pod, key, pod, versioned
from tests.running import DEADLINE, Bell, Beside, passed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def store() -> Iterator[Store[Pod]]:
    """Make an empty store, which nobody waits for or follows afterwards."""
    made: Store[Pod] = Store(name="pods", indexers=[LabelIndexer("app")])
    yield made
    assert made._core.feed is None


class Bells:
    """The bells of those who wait, in the order in which they came."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.made: list[Bell] = []
        self._new = threading.Semaphore(0)
        patched.setattr("kindex.waiting.SimpleQueue", self._make)

    def _make(self) -> Bell:
        self.made.append(Bell())
        self._new.release()
        return self.made[-1]

    def waited(self) -> None:
        """Return once one more waits."""
        assert self._new.acquire(timeout=DEADLINE)
        self.made[-1].waited()


@pytest.fixture
def bells(monkeypatch: pytest.MonkeyPatch) -> Bells:
    return Bells(monkeypatch)


def test_what_holds_already_is_given_at_once(store: Store[Pod]) -> None:
    """The predicate gets the view that was asked, and what it returns is given back."""
    store.put(pod("a"))
    view = store.view()
    asked: list[StoreView[Pod]] = []

    def names(there: StoreView[Pod]) -> list[str]:
        asked.append(there)
        return [each.name for each in there.keys()]  # noqa: SIM118 - no dict

    assert view.wait_until(names, 0) == ["a"]
    assert store.wait_until(names) == ["a"]
    assert asked == [view, store]


WAKING: dict[str, Callable[[Store[Pod]], object]] = {
    "put": lambda store: store.put(pod("a")),
    "delete": lambda store: store.delete(key("old")),
    "a relist by a diff": lambda store: store.replace([*store, pod("a")]),
    "a relist beside": lambda store: store.replace([pod(f"n{number}") for number in range(30)]),
    "a relist of the same": lambda store: store.replace(list(store), "9"),
    "bookmark": lambda store: store.bookmark("9"),
    "observe": lambda store: store.observe("ADDED", versioned(pod("a"), "u1", "9")),
    "observed bookmark": lambda store: store.observe("BOOKMARK", versioned(pod("a"), "u1", "9")),
}


@pytest.mark.parametrize("name", WAKING)
def test_whatever_changes_wakes_who_waits(name: str, store: Store[Pod], bells: Bells) -> None:
    """Each commit and each new resource version of another thread lets the predicate be asked again."""
    store.replace([pod("old"), *(pod(f"m{number}") for number in range(9))])
    before = (store.revision, store.resource_version())

    def changed(there: StoreView[Pod]) -> bool:
        assert not owned(store)
        return (there.revision, there.resource_version()) != before

    waiting = Beside(lambda: store.wait_until(changed))
    bells.waited()
    WAKING[name](store)
    assert waiting.result() is True


def test_it_is_asked_again_until_it_holds(store: Store[Pod], bells: Bells) -> None:
    """A commit that does not bring it about is one more question, in the thread that waits."""
    asked: list[int] = []
    threads: set[int] = set()

    def three(there: StoreView[Pod]) -> bool:
        asked.append(len(there))
        threads.add(threading.get_ident())
        return len(there) == 3

    waiting = Beside(lambda: (threading.get_ident(), store.wait_until(three)))
    bells.waited()
    for name in "abc":
        store.put(pod(name))
        if name != "c":
            bells.made[0].waited()
    thread, reached = waiting.result()
    assert reached is True
    assert threads == {thread}
    assert asked == [0, 1, 2, 3]


def test_several_wait_for_one_store(store: Store[Pod], bells: Bells) -> None:
    """Each has a bell of its own, and one commit wakes them all."""
    waiting = []
    for _ in range(4):
        waiting.append(Beside(lambda: store.wait_until(len)))
        bells.waited()
    store.put(pod("a"))
    assert [each.result() for each in waiting] == [1] * 4


def test_commits_during_a_question_are_looked_at_once(store: Store[Pod], bells: Bells) -> None:
    """A thousand commits while a predicate runs are one more question, and one thing in the bell."""
    began, go_on = threading.Event(), threading.Event()
    asked: list[int] = []

    def slow(there: StoreView[Pod]) -> bool:
        asked.append(len(there))
        began.set()
        passed(go_on)
        return asked[-1] > 0

    waiting = Beside(lambda: store.wait_until(slow))
    passed(began)
    for _ in range(1000):
        store.put(pod("a"))
    assert bells.made[0].qsize() == 1
    go_on.set()
    assert waiting.result() is True
    assert asked == [0, 1]


def test_the_last_object_of_a_namespace_that_goes_wakes(store: Store[Pod], bells: Bells) -> None:
    """Deleted in a batch, by a relist or by itself: whoever waits for a namespace to be empty is woken."""
    acts: list[Callable[[], object]] = [
        lambda: store.replace([], namespace="a"),
        lambda: store.replace([pod(f"b{number}", "b") for number in range(9)]),
        lambda: delete_all(store, "a"),
        lambda: store.delete(ObjectKey("a", "last")),
    ]
    for act in acts:
        store.replace([pod("last", "a"), *(pod(f"b{number}", "b") for number in range(9))])
        waiting = Beside(lambda: store.wait_until(lambda there: there.count(namespace="a") == 0))
        bells.waited()
        act()
        assert waiting.result() is True


def delete_all(store: Store[Pod], namespace: str) -> None:
    with store.transaction() as txn:
        for found in store.keys(namespace=namespace):
            txn.delete(found)
        txn.put(pod("more", "b"))


def test_a_predicate_that_raises_ends_the_wait(store: Store[Pod]) -> None:
    """What it raises is for whoever waits, and nobody waits any more."""
    with pytest.raises(ZeroDivisionError):
        store.wait_until(lambda there: 1 / len(there))


def test_a_predicate_may_use_the_store(store: Store[Pod]) -> None:
    """It may write, follow, and wait itself."""

    def busy(there: StoreView[Pod]) -> bool:
        number = len(there)
        store.put(pod(f"p{number}"))
        assert there.wait_until(len, 0) == number + 1
        with there.follow() as follower:
            return len(follower.take()) == 3

    assert store.wait_until(busy, DEADLINE) is True


def test_waiting_leaves_followers_alone(store: Store[Pod]) -> None:
    """Waiting and following use one feed, which is there while anybody does either."""
    with store.follow() as follower:
        store.put(pod("a"))
        assert store.wait_until(len, 0) == 1
        assert len(follower.take()) == 1
        assert store._core.feed is not None


# Timeouts


class Clock:
    """A clock that moves on as one waits, and bells that nobody rings."""

    def __init__(self, patched: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.asked: list[float | None] = []
        self.act: Callable[[], object] | None = None
        patched.setattr("kindex.deadlines.monotonic", lambda: self.now)
        patched.setattr("kindex.waiting.SimpleQueue", lambda: self)

    def empty(self) -> bool:
        return True

    def put(self, _nothing: None) -> None:
        pass

    def get(self, timeout: float | None) -> None:
        assert timeout is not None
        self.asked.append(timeout)
        if self.act is not None:
            self.now += 2
            act, self.act = self.act, None
            act()
            return
        self.now += timeout
        raise Empty


def test_what_does_not_come_in_time_is_an_error(store: Store[Pod], monkeypatch: pytest.MonkeyPatch) -> None:
    """NotReachedError is a TimeoutError that says what there is; commits meanwhile do not begin the time anew."""
    clock = Clock(monkeypatch)
    with pytest.raises(
        NotReachedError, match=r"^what was waited for in store 'pods' did not come in 5 s: it is at revision 0$"
    ) as caught:
        store.wait_until(len, 5)
    assert isinstance(caught.value, (TimeoutError, KindexError))
    assert clock.asked == [5]
    clock.asked.clear()
    clock.act = lambda: store.put(pod("a"))
    with pytest.raises(NotReachedError, match="in 5 s: it is at revision 1"):
        store.wait_until(lambda there: len(there) == 2, 5)
    assert clock.asked == [5, 3]


@pytest.mark.parametrize("timeout", [0, -1])
def test_no_time_is_one_question(timeout: int, store: Store[Pod]) -> None:
    """With no time to wait the predicate is asked once."""
    asked: list[int] = []
    with pytest.raises(NotReachedError):
        store.wait_until(lambda there: asked.append(len(there)), timeout)
    assert asked == [0]


# Resource versions


@pytest.mark.parametrize(
    ("present", "wanted", "reached"),
    [
        ("12", "12", True),
        ("12", "11", True),
        ("12", "13", False),
        ("1000000", "999999", True),
        ("999999", "1000000", False),
        ("9" * 40, "8" * 40, True),
        ("abc", "abc", True),
        ("abc", "xyz", False),
        ("abc", "12", False),
        ("12", "abc", False),
        ("12", "007", False),
        ("007", "007", True),
        ("0", "0", True),
        (None, "1", False),
        (None, "0", False),
    ],
)
def test_versions_are_compared_as_kubernetes_does(
    present: str | None, wanted: str, reached: bool, store: Store[Pod]
) -> None:
    """The same or a newer one is reached; of forms that are no numbers, only the same."""
    if present is not None:
        store.bookmark(present)
    if reached:
        store.wait_version(wanted, 0)
        return
    with pytest.raises(NotReachedError, match="did not come in 0 s") as caught:
        store.wait_version(wanted, 0)
    seen = "none yet" if present is None else repr(present)
    sentence = (
        f"what was waited for in store 'pods' did not come in 0 s: resource version {wanted!r}; it has seen {seen}"
    )
    assert str(caught.value) == sentence


@pytest.mark.parametrize("version", ["", "None", "null", None, 12, b"12"])
def test_what_is_no_version_is_refused(version: Any, store: Store[Pod]) -> None:
    """A None that became text, or none at all, would wait for ever."""
    with pytest.raises(QueryError, match="is no resource version"):
        store.wait_version(version, 0)


def test_versions_of_one_namespace_are_its_own(store: Store[Pod]) -> None:
    """What one namespace has seen is none of another's, nor of the whole."""
    store.bookmark("7", namespace="prod")
    store.wait_version("7", 0, namespace="prod")
    for namespace in ("test", None):
        with pytest.raises(NotReachedError, match="resource version '7'; it has seen none yet"):
            store.wait_version("7", 0, namespace=namespace)


VERSIONED: dict[str, Callable[[Store[Pod]], object]] = {
    "bookmark": lambda store: store.bookmark("9"),
    "observe": lambda store: store.observe("MODIFIED", versioned(pod("a"), "u1", "9")),
    "observed deletion": lambda store: store.observe("DELETED", versioned(pod("a"), "u1", "9")),
    "observed repeat": lambda store: store.observe("ADDED", versioned(pod("b"), "u2", "9")),
    "observed bookmark": lambda store: store.observe("BOOKMARK", {"metadata": {"resourceVersion": "9"}}),
    "a relist": lambda store: store.replace([pod("a")], "9"),
    "a relist of the same": lambda store: store.replace(list(store), "10"),
}


@pytest.mark.parametrize("name", VERSIONED)
def test_a_version_is_reached_by_whatever_says_it(name: str, store: Store[Pod], bells: Bells) -> None:
    """Events, repeats, bookmarks and relists: whoever wrote version 9 waits until the cache has it."""
    store.replace([versioned(pod("a"), "u1", "5"), versioned(pod("b"), "u2", "9")], "5")
    waiting = Beside(lambda: store.wait_version("9"))
    bells.waited()
    VERSIONED[name](store)
    waiting.result()
    assert store.resource_version() in ("9", "10")


def test_what_was_written_is_there_once_its_version_is_reached(store: Store[Pod], bells: Bells) -> None:
    """A controller that has written an object waits for the version it got, and does not create it twice."""
    store.replace([], "5")
    created = versioned(pod("a"), "u1", "6")  # as the server answered

    def reconcile() -> Pod | None:
        store.wait_version(created["metadata"]["resourceVersion"])
        return store.get(key("a"))

    worker = Beside(reconcile)
    bells.waited()
    store.observe("ADDED", created)
    assert worker.result() is created


# Inside the lock, and interrupted


def test_nobody_waits_inside_the_lock(store: Store[Pod]) -> None:
    """A finalizer that waits inside the store's lock would wait for itself; it gets an error."""
    store.bookmark("1")
    with store._core.lock:
        with pytest.raises(InCommitError):
            store.wait_until(len, 0)
        with pytest.raises(InCommitError):
            store.wait_version("1", 0)


def test_a_wait_that_is_interrupted_leaves_nobody_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever an interrupt hits before the end is reached, the store rings no bell that nobody hears."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    ended = 0
    for number in count():
        store: Store[Pod] = Store()
        done = threading.Event()

        def reached(there: StoreView[Pod], store: Store[Pod] = store, done: threading.Event = done) -> bool:
            if len(there):
                done.set()
                return True
            store.put(pod("a"))
            return False

        if not interrupted_at(number, partial(store.wait_until, reached, DEADLINE), inside="wait_until"):
            break
        if done.is_set():
            ended += 1  # an interrupt in the clearing up itself
        else:
            assert store._core.feed is None or store._core.feed.waiters == [], f"interrupted at point {number}"
    assert number > 50
    assert ended < 30
