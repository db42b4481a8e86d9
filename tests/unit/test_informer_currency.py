"""wait_current: until all is there that the server has now."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kindex import Informer, NotReachedError, Store, SyncTimeoutError
from kindex.informer.currency import Comparison
from kindex.sources.base import ListRequest, ObjectEvent, Page
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, Blocking, fails, no_thread_left, until
from tests.pods import Pod, key, pod, versioned


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def test_what_is_current_is_not_waited_for() -> None:
    """Where the store is as far as the server, it returns at once; the list is not kept, nor counted."""
    source = FakeSource([pod("a"), pod("b")], name="pods")
    informer = Informer(source, page_size=1)
    with informer as pods:
        revision = pods.revision
        informer.wait_current(PATIENCE)
        assert pods.revision == revision
        assert informer.stats.lists == 1


def test_a_change_that_is_on_its_way_is_waited_for() -> None:
    """It returns when the watch has brought what the list showed."""
    source = FakeSource([pod("a"), pod("goes")], name="pods")
    informer = Informer(source)
    with informer as pods:
        until(informer, lambda: source.watches)
        source.lose(3)  # the test sends them itself, later
        added, updated = source.add(pod("b")), source.update(pod("a", app="web"))
        deleted = source.delete(key("goes"))
        waiting = threading.Thread(target=informer.wait_current, args=(PATIENCE,))
        waiting.start()
        source.send(ObjectEvent("ADDED", added, added["metadata"]["resourceVersion"]))
        source.send(ObjectEvent("MODIFIED", updated, updated["metadata"]["resourceVersion"]))
        assert waiting.is_alive()
        source.send(ObjectEvent("DELETED", deleted, deleted["metadata"]["resourceVersion"]))
        waiting.join(PATIENCE)
        assert not waiting.is_alive()
        assert len(pods) == 2


def test_a_change_that_was_lost_is_told() -> None:
    """What does not come in time is an error that says how much is missing."""
    source = FakeSource([pod("a")], name="pods")
    informer = Informer(source)
    with informer:
        until(informer, lambda: source.watches)
        source.lose(2)
        source.add(pod("b"))
        source.add(pod("c"))
        with pytest.raises(NotReachedError, match="has not caught up: 2 objects are not as they were at version 1003"):
            informer.wait_current(0.05)


def test_a_server_that_does_not_answer_is_not_waited_for_longer() -> None:
    """The wait ends in time, whatever the request does."""
    source = Blocking([pod("a")])
    informer = Informer(source)
    with informer:
        until(informer, lambda: source.watches)
        source._blocks = (True, False)
        with pytest.raises(NotReachedError, match="the server did not say what is there"):
            informer.wait_current(0.05)
        source.answer.set()


def test_an_error_is_tried_again_and_told() -> None:
    """The cause is what the server said."""
    source = FakeSource([pod("a")], name="pods")
    informer = Informer(source)
    with informer:
        until(informer, lambda: source.watches)
        fails(source, "list", status=500)
        with pytest.raises(NotReachedError, match="500: as the test said"):
            informer.wait_current(0.05)


def test_it_syncs_first() -> None:
    """One that has not listed anything is not current."""
    clock, source = ManualClock(), FakeSource(name="pods")
    fails(source, "list")
    informer = Informer(source, clock=clock).start()
    clock.until_waiting()
    with pytest.raises(SyncTimeoutError):
        informer.wait_current(0)
    informer.stop()


def test_a_stop_ends_the_wait() -> None:
    """Whoever waits without end is told."""
    source = FakeSource([pod("a")], name="pods")
    informer = Informer(source).start()
    until(informer, lambda: source.watches)
    source.lose()
    source.add(pod("b"))
    failed: list[Exception] = []

    def wait() -> None:
        try:
            informer.wait_current()
        except NotReachedError as error:
            failed.append(error)

    waiting = threading.Thread(target=wait)
    waiting.start()
    until(informer, lambda: len(source.requests) == 3)
    informer.stop()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    assert len(failed) == 1


def compared(listed: list[Pod], stored: list[Pod], *, version: str = "10", seen: str | None = None) -> bool:
    store: Store[Pod] = Store(name="pods")
    for each in stored:
        store.put(each)
    if seen is not None:
        store.bookmark(seen)
    comparison: Comparison[Pod] = Comparison(None, 0)
    comparison.take(Page(listed, version))
    return comparison.caught_up(store)


def of(version: str, name: str = "a") -> Pod:
    return versioned(pod(name), f"uid-{name}", version)


def test_a_version_that_is_as_far_is_enough() -> None:
    """Then nothing is compared: bookmarks tell."""
    assert compared([of("9")], [], seen="10")
    assert not compared([of("9")], [], seen="9")


@pytest.mark.parametrize(
    ("listed", "stored", "caught_up"),
    [
        ([of("9")], [of("9")], True),
        ([of("9")], [of("8")], False),
        ([of("9")], [of("12")], True),  # changed after the list
        ([], [of("9")], False),  # its deletion is on its way
        ([], [of("12")], True),  # created after the list
        ([of("9")], [], False),
        ([of("x")], [of("x")], True),
        ([of("x")], [of("y")], False),
        ([of("9")], [pod("a")], True),  # a type that does not keep its version
        ([], [], True),
    ],
)
def test_objects_are_compared_by_version(listed: list[Pod], stored: list[Pod], caught_up: bool) -> None:
    """What is as new as the list says, or newer, has been heard of."""
    assert compared(listed, stored) is caught_up


def test_a_list_begins_anew_after_an_error() -> None:
    """What came of it before is forgotten."""
    comparison: Comparison[Pod] = Comparison("prod", 1)
    comparison.take(Page([of("5")], "6", "token"))
    assert comparison.request == ListRequest("prod", continuation="token", limit=1)
    comparison.restart(OSError("cut"))
    assert comparison.request == ListRequest("prod", limit=1)
    comparison.take(Page([], "7"))
    assert (comparison.request, comparison.version) == (None, "7")
    assert comparison.caught_up(Store(name="pods"))
