"""Event handlers: called with each delta, one at a time, in a thread that ends; errors go no further; no deadlock."""

from __future__ import annotations

import functools
import gc
import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from kindex import (
    Added,
    Deleted,
    FieldIndexer,
    FollowerTooSlow,
    LabelIndexer,
    QueryError,
    Registration,
    Store,
    Updated,
)
from kindex.feed import Inbox
from tests.locks import owned
from tests.pods import Pod, key, pod, versioned
from tests.running import DEADLINE, Beside, passed

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex import Delta

by_app = LabelIndexer("app")


@pytest.fixture
def store() -> Store[Pod]:
    """Make an empty store."""
    return Store(name="pods", indexers=[by_app])


class Seen:
    """Functions for a registration that note what they are called with, and a way to wait for the n-th call."""

    def __init__(self) -> None:
        self.deltas: list[Delta[Pod]] = []
        self._called = threading.Condition()

    def __call__(self, delta: Delta[Pod]) -> None:
        with self._called:
            self.deltas.append(delta)
            self._called.notify_all()

    def wait(self, count: int) -> list[Delta[Pod]]:
        """Give the deltas once there are so many."""
        with self._called:
            assert self._called.wait_for(lambda: len(self.deltas) >= count, DEADLINE)
            return list(self.deltas)


def added(store: Store[Pod], *functions: Callable[[Any], object], **options: Any) -> Registration[Pod]:
    """Register one function for all deltas, or three functions."""
    on_add, on_update, on_delete = functions if len(functions) == 3 else functions * 3
    return store.add_event_handler(on_add, on_update, on_delete, **options)


def end(*registrations: Registration[Pod]) -> None:
    """Remove registrations, and wait for the end of their threads."""
    for registration in registrations:
        registration.remove()
        registration.join(DEADLINE)
        assert not registration._thread.is_alive()
        assert not registration.active


# What is called


def test_each_delta_calls_its_function(store: Store[Pod]) -> None:
    """Added, Updated and Deleted call their own function, in the order of the commits."""
    seen = {name: Seen() for name in ("add", "update", "delete")}
    old, new = pod("a"), pod("a", app="web")
    store.put(old)
    registration = added(store, seen["add"], seen["update"], seen["delete"])
    assert seen["add"].wait(1) == [Added(key("a"), old, 1)]
    assert registration.wait_synced(DEADLINE)
    store.put(new)
    assert seen["update"].wait(1) == [Updated(key("a"), old, new, 2)]
    store.delete(key("a"))
    assert seen["delete"].wait(1) == [Deleted(key("a"), new, revision=3)]
    end(registration)
    assert (registration.handled, registration.errors, registration.lag) == (3, 0, 0)
    assert [len(each.deltas) for each in seen.values()] == [1, 1, 1]
    assert repr(registration) == "Registration('Seen', removed, 3 handled, 0 errors)"


def test_functions_that_are_not_given_are_not_missed(store: Store[Pod]) -> None:
    """One function is enough; the other deltas pass, and count as handled."""
    seen = Seen()
    store.put(pod("a"))
    registration = store.add_event_handler(on_delete=seen)
    assert registration.wait_synced(DEADLINE)
    assert registration.handled == 1
    store.put(pod("a", app="web"))
    store.delete(key("a"))
    assert [delta.key for delta in seen.wait(1)] == [key("a")]
    end(registration)
    assert registration.handled in (2, 3)


def test_it_is_synced_when_all_that_there_was_was_worked_off(store: Store[Pod]) -> None:
    """``synced`` comes after the functions were called with all of the beginning, not before."""
    store.replace([pod(f"p{number}") for number in range(20)])
    go_on, seen = threading.Event(), Seen()
    began = threading.Event()

    def slowly(delta: Delta[Pod]) -> None:
        began.set()
        passed(go_on)
        seen(delta)

    registration = added(store, slowly)
    passed(began)
    assert not registration.synced
    assert not registration.wait_synced(0)
    go_on.set()
    assert registration.wait_synced(DEADLINE)
    assert registration.synced
    assert len(seen.deltas) == 20
    end(registration)
    assert registration.synced


def test_an_empty_store_is_synced_at_once(store: Store[Pod]) -> None:
    """So is one whose present state is not asked for."""
    store.put(pod("a"))
    for options in ({"replay": False}, {"label_selector": "app=web"}):
        registration = added(store, print, **options)
        assert registration.wait_synced(DEADLINE)
        end(registration)
        assert registration.handled == 0


def test_filters_are_those_of_follow(store: Store[Pod]) -> None:
    """Terms, selectors, namespaces and predicates decide what the functions are called with."""
    store.add_indexers(by_node := FieldIndexer("spec.nodeName"))
    seen = Seen()
    registration = store.add_event_handler(
        seen,
        seen,
        seen,
        by_node.at("n1"),
        namespace="prod",
        label_selector="app=web",
        field_selector="metadata.name!=z",
        where=lambda obj: "bad" not in obj,
    )
    inside = pod("a", app="web", node="n1")
    store.put(inside)
    for outside in (
        pod("b", app="web", node="n2"),
        pod("c", app="db", node="n1"),
        pod("d", "test", app="web", node="n1"),
        pod("z", app="web", node="n1"),
        {**pod("e", app="web", node="n1"), "bad": 1},
    ):
        store.put(outside)
    gone = pod("a", app="db", node="n1")
    assert len(seen.wait(1)) == 1
    store.put(gone)
    assert seen.wait(2) == [Added(key("a"), inside, seen.deltas[0].revision), Deleted(key("a"), inside, revision=7)]
    end(registration)


def test_calls_come_one_at_a_time_in_the_registrations_own_thread(store: Store[Pod]) -> None:
    """The functions of one registration never overlap; each registration has one thread, a daemon with its name."""
    inside: list[str] = []
    overlaps: list[str] = []
    threads: set[threading.Thread] = set()
    seen = Seen()

    def alone(delta: Delta[Pod]) -> None:
        overlaps.extend(inside)
        inside.append(str(delta.key))
        threads.add(threading.current_thread())
        assert not owned(store)
        inside.clear()
        seen(delta)

    registration = added(store, alone, name="mine")
    for number in range(50):
        store.put(pod(f"p{number}"))
    seen.wait(50)
    assert overlaps == []
    assert threads == {registration._thread}
    assert registration._thread.daemon
    assert registration._thread.name == "kindex-pods-mine"
    end(registration)


@pytest.mark.parametrize(
    ("function", "name"),
    [(Seen(), "Seen"), (print, "print"), (end, "end"), (functools.partial(print), "partial"), (Seen.wait, "Seen.wait")],
)
def test_a_registration_is_named_by_its_first_function(store: Store[Pod], function: Any, name: str) -> None:
    """Without a name the log shows the function's, or its class's."""
    registration = store.add_event_handler(on_delete=function)
    assert registration.name == name
    end(registration)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({}, "on_add, on_update, on_delete"),
        ({"on_add": 7}, "on_add is a function of a delta, or None, not 7"),
        ({"on_add": print, "on_delete": "print"}, "on_delete"),
        ({"on_add": print, "on_error": "log"}, "on_error"),
        ({"on_add": print, "name": 7}, "name of a handler is text"),
        ({"on_add": print, "overflow": "drop"}, "'merge' or 'close'"),
    ],
)
def test_what_cannot_be_called_is_refused(store: Store[Pod], arguments: dict[str, Any], sentence: str) -> None:
    """A slip is an error where it is made, and starts no thread."""
    before = threading.active_count()
    with pytest.raises(QueryError, match=sentence):
        store.add_event_handler(**arguments)
    assert threading.active_count() == before
    assert store._core.feed is None


# Errors


class Sad(Exception):  # noqa: N818 - what a handler of a test raises
    """What the functions of the tests raise."""


def sad(delta: Delta[Pod]) -> None:
    raise Sad(str(delta.key))


def test_errors_are_counted_logged_and_go_no_further(store: Store[Pod], caplog: pytest.LogCaptureFixture) -> None:
    """A function that raises is called with the next delta all the same; the log names the handler and the delta."""
    seen = Seen()

    def sometimes(delta: Delta[Pod]) -> None:
        seen(delta)
        if delta.key.name in "ac":
            sad(delta)

    with caplog.at_level(logging.ERROR, "kindex.handlers"):
        store.replace([pod(name) for name in "ab"])
        registration = added(store, sometimes, name="moody")
        assert registration.wait_synced(DEADLINE)  # an error in the replay does not keep it from being synced
        store.put(pod("c"))
        store.put(pod("d"))
        seen.wait(4)
        end(registration)
    assert (registration.handled, registration.errors) == (4, 2)
    assert [record.getMessage() for record in caplog.records] == [
        "handler 'moody' of store 'pods' failed on Added of prod/a",
        "handler 'moody' of store 'pods' failed on Added of prod/c",
    ]
    assert all(record.exc_info is not None and record.exc_info[0] is Sad for record in caplog.records)


def test_other_handlers_do_not_notice(store: Store[Pod], caplog: pytest.LogCaptureFixture) -> None:
    """Errors of one registration reach neither the writer nor another registration."""
    seen, seen_by_bad = Seen(), Seen()

    def fail(delta: Delta[Pod]) -> None:
        seen_by_bad(delta)
        sad(delta)

    bad, good = added(store, fail), added(store, seen)
    for name in "abc":
        store.put(pod(name))
    for each in (seen, seen_by_bad):
        assert [delta.key.name for delta in each.wait(3)] == ["a", "b", "c"]
    end(bad, good)
    assert (good.errors, bad.errors) == (0, 3)
    assert len(caplog.records) == 3


def test_on_error_is_told_instead_of_the_log(store: Store[Pod], caplog: pytest.LogCaptureFixture) -> None:
    """It gets the exception and the delta."""
    told: list[tuple[Exception, Any]] = []
    called = threading.Event()

    def on_error(error: Exception, delta: Delta[Pod] | None) -> None:
        told.append((error, delta))
        called.set()

    registration = added(store, sad, on_error=on_error)
    store.put(pod("a"))
    passed(called)
    end(registration)
    assert [(type(error), str(error), delta) for error, delta in told] == [
        (Sad, "prod/a", Added(key("a"), pod("a"), 1))
    ]
    assert registration.errors == 1
    assert caplog.records == []


def test_on_error_may_fail_itself(store: Store[Pod], caplog: pytest.LogCaptureFixture) -> None:
    """Then that is logged, and the next delta comes."""
    seen = Seen()

    def on_error(_error: Exception, delta: Delta[Pod] | None) -> None:
        assert delta is not None
        seen(delta)
        raise LookupError("nobody to tell")

    registration = added(store, sad, on_error=on_error, name="moody")
    store.put(pod("a"))
    store.put(pod("b"))
    seen.wait(2)
    end(registration)
    assert (registration.handled, registration.errors) == (2, 2)
    assert [record.getMessage() for record in caplog.records] == [
        "on_error of handler 'moody' of store 'pods' failed on Added of prod/a",
        "on_error of handler 'moody' of store 'pods' failed on Added of prod/b",
    ]
    assert all(record.exc_info is not None and record.exc_info[0] is LookupError for record in caplog.records)


def test_a_filter_that_fails_is_an_error_of_the_registration(
    store: Store[Pod], caplog: pytest.LogCaptureFixture
) -> None:
    """What the predicate raised is logged, or given to on_error without a delta; other deltas come."""

    def moody(obj: Pod) -> bool:
        if obj["metadata"]["name"] == "b":
            raise Sad("b")
        return True

    told: list[tuple[str, Any]] = []
    for on_error in (None, lambda error, delta: told.append((str(error), delta))):
        seen = Seen()
        store.replace([])
        registration = added(store, seen, where=moody, name="m", on_error=on_error)
        with store.transaction() as txn:
            for name in "abc":
                txn.put(pod(name))
        assert [delta.key.name for delta in seen.wait(2)] == ["a", "c"]
        assert registration.wait_synced(DEADLINE)
        end(registration)
        assert (registration.handled, registration.errors) == (2, 1)
    assert [record.getMessage() for record in caplog.records] == ["handler 'm' of store 'pods' failed on its filter"]
    assert told == [("b", None)]


def test_a_registration_that_is_too_slow_is_closed(store: Store[Pod], monkeypatch: pytest.MonkeyPatch) -> None:
    """With overflow="close" it ends with FollowerTooSlow, which on_error gets; the feed forgets it."""
    monkeypatch.setattr("kindex.following.LIMIT", 2)
    began, go_on, over = threading.Event(), threading.Event(), threading.Event()
    told: list[Exception] = []

    def slowly(_delta: Delta[Pod]) -> None:
        began.set()
        passed(go_on)

    def on_error(error: Exception, delta: Delta[Pod] | None) -> None:
        assert delta is None
        told.append(error)
        over.set()

    registration = added(store, slowly, overflow="close", replay=False, on_error=on_error)
    store.put(pod("a"))
    passed(began)
    for name in "bcd":
        store.put(pod(name))
    go_on.set()
    passed(over)
    registration.join(DEADLINE)
    assert isinstance(told[0], FollowerTooSlow)
    assert not registration.active
    assert registration.handled == 1
    assert store._core.feed is None


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
def test_a_function_that_ends_its_thread_ends_the_registration(store: Store[Pod], error: type[BaseException]) -> None:
    """Nothing waits for a thread that is not there: it is no longer active, and the feed forgets it."""

    def leave(_delta: Delta[Pod]) -> None:
        raise error

    store.put(pod("a"))
    registration = added(store, leave)
    registration.join(DEADLINE)
    assert not registration.active
    assert store._core.feed is None
    assert not registration.wait_synced()


# The end


def test_nothing_is_called_after_remove(store: Store[Pod]) -> None:
    """remove() and join() end it: what waits is dropped, and both may be done again."""
    began, go_on, seen = threading.Event(), threading.Event(), Seen()

    def slowly(delta: Delta[Pod]) -> None:
        began.set()
        passed(go_on)
        seen(delta)

    registration = added(store, slowly)
    store.put(pod("a"))
    passed(began)
    store.put(pod("b"))
    registration.remove()
    assert not registration.active
    assert store._core.feed is None
    store.put(pod("c"))
    go_on.set()  # the call that is under way goes on
    registration.join(DEADLINE)
    registration.remove()
    registration.join()
    assert [delta.key.name for delta in seen.deltas] == ["a"]


def test_a_function_may_remove_its_own_registration(store: Store[Pod]) -> None:
    """Then it was the last call: also where one change is two deltas."""
    registrations: list[Registration[Pod]] = []
    seen = Seen()

    def last(delta: Delta[Pod]) -> None:
        registrations[0].remove()
        registrations[0].join()  # this very call asks: at once
        assert registrations[0].wait_synced() is registrations[0].synced  # the same
        seen(delta)

    store.put(versioned(pod("a"), "u1"))
    registrations.append(added(store, last, replay=False))
    with store.transaction() as txn:
        txn.put(versioned(pod("a"), "u2"))
        txn.put(pod("b"))
    registrations[0].join(DEADLINE)
    assert [type(delta) for delta in seen.deltas] == [Deleted]
    assert store._core.feed is None


def test_who_waits_for_a_registration_that_is_removed_comes_back(store: Store[Pod]) -> None:
    """wait_synced() is False when it will never be synced."""
    store.put(pod("a"))
    began, go_on = threading.Event(), threading.Event()

    def slowly(_delta: Delta[Pod]) -> None:
        began.set()
        passed(go_on)

    registration = added(store, slowly)
    passed(began)
    waiting = Beside(registration.wait_synced)
    registration.remove()
    go_on.set()
    assert waiting.result() is False
    registration.join(DEADLINE)


@pytest.mark.parametrize("kept", [True, False])
def test_the_thread_ends_with_the_store(kept: bool) -> None:
    """A store that nobody keeps takes its registrations along, also those that nobody keeps."""
    store: Store[Pod] = Store()
    seen = Seen()
    registration = added(store, seen)
    thread = registration._thread
    store.put(pod("a"))
    seen.wait(1)
    if not kept:
        del registration
    del store
    gc.collect()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    if kept:
        assert not registration.active
        end(registration)


def test_an_idle_thread_keeps_no_object_alive(store: Store[Any]) -> None:
    """What a handler was called with can go as soon as the store lets it go."""

    class Mortal:
        """A pod that says when it goes."""

        def __init__(self) -> None:
            self.metadata = {"name": "a", "namespace": "prod"}

        def __del__(self) -> None:
            gone.set()

    gone, called = threading.Event(), threading.Event()
    registration = added(store, lambda _delta: called.set())
    store.put(Mortal())
    passed(called)
    called.clear()
    store.delete(key("a"))
    passed(called)
    passed(gone)
    end(registration)


def test_many_registrations_come_and_go(store: Store[Pod]) -> None:
    """Each has a thread while it is there, and leaves neither thread nor inbox."""
    before = threading.active_count()
    registrations = [added(store, print, label_selector=f"app=a{number}", replay=False) for number in range(40)]
    assert threading.active_count() == before + 40
    end(*registrations)
    assert threading.active_count() == before
    assert store._core.feed is None


# No deadlock, whatever a function does


def replaced(store: Store[Pod]) -> None:
    store.replace([*store, *(pod(f"r{number}") for number in range(20))])


def transacted(store: Store[Pod]) -> None:
    with store.transaction() as txn:
        txn.put(pod("t1"))
        txn.delete(key("t2"))
        assert len(txn.select(namespace="prod")) >= 1


def followed(store: Store[Pod]) -> None:
    with store.follow() as follower:
        assert follower.take()


def registered(store: Store[Pod]) -> None:
    seen = Seen()
    registration = added(store, seen)
    seen.wait(1)
    end(registration)


def snapped(store: Store[Pod]) -> None:
    with store.snapshot() as snap:
        assert len(snap) >= 1


def waited(store: Store[Pod]) -> None:
    writer = Beside(lambda: store.put(pod("w")))
    store.wait_until(lambda view: view.get(key("w")), DEADLINE)
    writer.result()


BUSY: list[Callable[[Store[Pod]], object]] = [
    lambda store: store.select(label_selector="app=web", where=bool),
    lambda store: store.put(pod("more", app="db")),
    lambda store: store.delete(key("other")),
    lambda store: store.add_indexers(FieldIndexer("spec.nodeName")),
    lambda store: store.remove_indexer("app"),
    lambda store: store.bookmark("7"),
    replaced,
    transacted,
    followed,
    registered,
    snapped,
    waited,
]


@pytest.mark.parametrize("act", BUSY)
@pytest.mark.parametrize("in_replay", [True, False])
def test_a_function_may_do_anything_with_its_store(
    act: Callable[[Store[Pod]], object], in_replay: bool, store: Store[Pod]
) -> None:
    """Read, write, add handlers and indexers, relist, follow, wait: nothing deadlocks, in the replay or later."""
    done = threading.Event()

    def busy(delta: Delta[Pod]) -> None:
        if delta.key.name == "go":
            act(store)
            done.set()

    store.put(pod("other"))
    if in_replay:
        store.put(pod("go"))
    registration = added(store, busy, label_selector="!never")
    if not in_replay:
        assert registration.wait_synced(DEADLINE)
        store.put(pod("go"))
    passed(done)
    last = threading.Event()
    another = store.add_event_handler(on_add=lambda delta: last.set() if delta.key.name == "last" else None)
    store.put(pod("last"))
    passed(last)
    end(registration, another)
    assert registration.errors == 0
    store._check()


def test_a_handler_that_writes_is_told_of_its_own_writes(store: Store[Pod]) -> None:
    """Each write is one more delta, after the one that caused it."""
    seen = Seen()

    def count_down(delta: Delta[Pod]) -> None:
        number = int(delta.key.name)
        if number:
            store.put(pod(str(number - 1)))
        seen(delta)

    registration = added(store, count_down)
    store.put(pod("20"))
    assert [delta.key.name for delta in seen.wait(21)] == [str(number) for number in range(20, -1, -1)]
    end(registration)


def test_two_handlers_may_write_to_each_others_stores() -> None:
    """Two stores whose handlers write to the other one do not wait for each other."""
    stores: list[Store[Pod]] = [Store(name="left"), Store(name="right")]
    seen = [Seen(), Seen()]

    def pass_on(place: int, delta: Delta[Pod]) -> None:
        number = int(delta.key.name)
        if number:
            stores[1 - place].put(pod(str(number - 1)))
        seen[place](delta)

    registrations = [added(each, functools.partial(pass_on, place)) for place, each in enumerate(stores)]
    for each in stores:
        each.put(pod("20"))
    for each in seen:
        each.wait(21)
    end(*registrations)


def test_an_error_that_would_come_again_ends_a_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not raised by the filter, for one change, is reported once: nothing spins."""
    store: Store[Pod] = Store(name="pods")
    errors: list[Exception] = []

    def broken(*_arguments: object) -> bool:
        raise ValueError("broken")

    monkeypatch.setattr(Inbox, "take", broken)
    registration = store.add_event_handler(print, on_error=lambda error, _delta: errors.append(error))
    registration.join(20)
    assert (registration.active, registration.errors, list(map(str, errors))) == (False, 1, ["broken"])
