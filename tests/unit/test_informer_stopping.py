"""Informer.stop: at whatever moment, from wherever; and what a forked child has."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from queue import Queue
from typing import Any

import pytest

from kindex import Indexer, Informer, InformerError, NotSyncedError, SyncTimeoutError
from kindex.informer import origins
from kindex.sources.base import WatchRequest
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, Blocking, Unclosable, fails, no_thread_left, of_kindex, until
from tests.pods import Pod, pod

LONG = 10 * PATIENCE
"""A stop that waited so long would be noticed."""


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(*pods: Pod, **settings: Any) -> FakeSource:
    return FakeSource(pods, name="pods", **settings)


def promptly(stop: Callable[[], object]) -> None:
    """Call *stop* in a thread, and assert that it returns."""
    thread = threading.Thread(target=stop, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def watching() -> Informer[Pod]:
    """An informer whose watch is idle."""
    informer = Informer(source_of(pod("a"))).start()
    until(informer, lambda: informer.live)
    return informer


def waiting() -> Informer[Pod]:
    """An informer that waits to try again, by a clock that stands still."""
    clock, source = ManualClock(), source_of()
    fails(source, "list")
    informer = Informer(source, clock=clock).start()
    clock.until_waiting()
    return informer


def stalled() -> Informer[Pod]:
    """An informer whose watch has gone silent."""
    source = source_of(pod("a"))
    informer = Informer(source).start()
    until(informer, lambda: informer.live)
    source.stall_watches()
    return informer


@pytest.mark.parametrize("state", [watching, waiting, stalled])
def test_it_stops_at_once(state: Callable[[], Informer[Pod]]) -> None:
    """In each state in which a thread may be; it may be stopped again, and its threads are gone."""
    informer = state()
    promptly(lambda: informer.stop(LONG))
    informer.stop(LONG)
    assert not informer.live
    assert of_kindex() == set()
    assert informer.ready().reasons == ("pods: stopped",)
    assert repr(informer) == "Informer('pods', stopped)"


@pytest.mark.parametrize("blocked", ["lists", "watches"])
def test_it_does_not_wait_for_a_server_that_does_not_answer(blocked: str) -> None:
    """A request that cannot be cut goes on by itself; nothing is done with its answer."""
    source = Blocking([pod("a")], **{blocked: True})
    informer = Informer(source).start()
    assert source.asked.wait(PATIENCE)
    synced = informer.synced
    promptly(informer.stop)
    source.answer.set()
    for thread in informer._threads():
        thread.join(PATIENCE)
    assert informer.synced is synced
    assert source.watches == 0, "the watch that was opened late is closed"


def test_a_source_of_its_own_is_closed_under_its_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that waits for its headers is cut by closing the source, which nobody else uses."""
    made: list[Blocking] = []

    class Closable(Blocking):
        def close(self) -> None:
            self.closed = True
            self.answer.set()

    def source_of_it(_what: object, **_arguments: object) -> Closable:
        made.append(Closable(lists=True))
        return made[-1]

    monkeypatch.setattr(origins, "source_of", source_of_it)
    informer = Informer("/api/v1/pods").start()
    until(informer, lambda: len(made) == 2)
    asked = made[1]  # the first one is for what is not kept
    assert asked.asked.wait(PATIENCE)
    informer.stop()
    assert [source.closed for source in made] == [True, True]
    assert of_kindex() == set()


def test_a_stream_that_cannot_be_closed_is_left_to_itself() -> None:
    """What a source's stream does is no reason to hang."""
    stream = Unclosable()

    class Odd(FakeSource):
        def watch(self, _request: WatchRequest) -> Any:
            return stream

    informer = Informer(Odd([pod("a")], name="pods")).start()
    assert stream.reading.wait(PATIENCE)
    promptly(informer.stop)
    stream.end.set()


def test_a_handler_may_stop_it() -> None:
    """From inside a handler there is no waiting for the handler itself, and no deadlock."""
    informer = Informer(source_of(pod("a")))
    done = threading.Event()

    def stop(_delta: object) -> None:
        informer.stop(LONG)
        done.set()

    registration = informer.view.add_event_handler(stop)
    informer.start()
    assert done.wait(PATIENCE)
    registration.join(PATIENCE)
    assert not registration.active
    assert not informer.live


def test_two_handlers_may_stop_it_at_the_same_time() -> None:
    """They do not wait for each other."""
    informer = Informer(source_of(pod("a")))
    both, done = threading.Barrier(2), Queue[None]()

    def stop(_delta: object) -> None:
        both.wait(PATIENCE)
        informer.stop(LONG)
        done.put(None)

    for _ in range(2):
        informer.view.add_event_handler(stop)
    informer.start()
    for _ in range(2):
        done.get(timeout=PATIENCE)


def test_an_index_function_may_stop_it() -> None:
    """The driver's own thread does not wait for itself."""
    done = threading.Event()

    def stops(_obj: Pod) -> str:
        informer.stop(LONG)
        done.set()
        return "stopped"

    informer: Informer[Pod] = Informer(source_of(pod("a")), indexers=[Indexer("stops", stops)])
    informer.start()
    assert done.wait(PATIENCE)
    until(informer, informer._over)


def test_a_handler_in_the_middle_of_a_call_is_not_waited_for_long() -> None:
    """The call goes on; its registration ends with it."""
    informer = Informer(source_of(pod("a")))
    called, go_on = threading.Event(), threading.Event()

    def slow(_delta: object) -> None:
        called.set()
        assert go_on.wait(PATIENCE)

    registration = informer.view.add_event_handler(slow)
    with informer:
        assert called.wait(PATIENCE)
        promptly(informer.stop)
        go_on.set()
    registration.join(PATIENCE)


def test_a_signal_handler_may_stop_it_while_its_thread_waits() -> None:
    """The main thread waits for the first list, and is told that it will not come."""
    source = source_of()
    fails(source, "list")
    informer = Informer(source, clock=ManualClock()).start()
    before = signal.signal(signal.SIGTERM, lambda *_: informer.stop())

    def send_when_it_waits() -> None:
        while not informer._bells._bells:
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    try:
        threading.Thread(target=send_when_it_waits, daemon=True).start()
        with pytest.raises(NotSyncedError, match="was stopped before it synced"):
            informer.wait_synced(PATIENCE)
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_block_that_fails_leaves_nothing() -> None:
    """Whatever the block raises comes through, and no thread goes on."""
    with pytest.raises(ZeroDivisionError), Informer(source_of(pod("a"))):
        _ = 1 / 0
    assert of_kindex() == set()
    source = source_of()
    fails(source, "list")
    with pytest.raises(SyncTimeoutError), Informer(source, sync_timeout=0):
        raise AssertionError("not reached")
    assert of_kindex() == set()


def test_a_thousand_that_were_never_started_cost_no_thread() -> None:
    """Making one starts nothing (B68)."""
    informers = [Informer(source_of()) for _ in range(1_000)]
    assert of_kindex() == set()
    for informer in informers[:10]:
        informer.stop()


def test_a_driver_that_fails_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """What nobody expected ends it; it is in the log, in last_error and in every wait."""

    def exits(_obj: Pod) -> str:
        raise SystemExit(3)

    informer: Informer[Pod] = Informer(source_of(pod("a")), indexers=[Indexer("exits", exits)]).start()
    with pytest.raises(NotSyncedError, match="was stopped before it synced: 3"):
        informer.wait_synced(PATIENCE)
    assert isinstance(informer.last_error, SystemExit)
    assert not informer.live
    assert "pods: stopped by an error" in caplog.text
    informer.stop()


# Forks


def exit_code_of_child(check: Callable[[], bool]) -> int:
    """Fork; 0 if *check* holds in the child."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 warns of forking with threads, which is the point
        child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_can_read_what_there_was_and_is_not_live() -> None:
    """Nobody follows in a forked child, and it says so; the parent goes on as before."""
    source = source_of(pod("a"))
    informer = Informer(source)
    with informer as pods:
        until(informer, lambda: informer.live)

        def check() -> bool:
            error = informer.last_error
            told = isinstance(error, InformerError) and "forked" in str(error)
            try:
                informer.wait_synced(1)
            except InformerError:
                told = told and not informer.ready()
            informer.stop()
            return told and not informer.live and len(pods) == 1

        assert exit_code_of_child(check) == 0
        assert informer.live
        source.add(pod("b"))
        pods.wait_version(source.resource_version, PATIENCE)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_child_may_start_what_was_not_started() -> None:
    """An informer that was made before the fork, and started after it, is as any other."""
    informer = Informer(source_of(pod("a")))

    def check() -> bool:
        with informer as pods:
            return len(pods) == 1

    assert exit_code_of_child(check) == 0
    with informer as pods:
        assert len(pods) == 1
