"""FakeSource: it behaves as a server does, and fails when it is told to."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from kindex.objects import resource_version_of, uid_of
from kindex.sources import BookmarkEvent, ErrorEvent, ErrorKind, ListRequest, ObjectEvent, SourceError, WatchRequest
from kindex.testing import FakeSource, ManualClock
from tests.pods import key, names_of, pod


def from_now(source: FakeSource, **more: Any) -> WatchRequest:
    return WatchRequest(resource_version=source.resource_version, **more)


def told(stream: Any) -> list[tuple[str, str, str | None]]:
    """Read a stream to its end: types, names and versions."""
    return [(event.type, event.obj["metadata"]["name"], event.resource_version) for event in stream]


def refusal(source: FakeSource, request: ListRequest | WatchRequest) -> SourceError:
    try:
        answer = source.list_page(request) if isinstance(request, ListRequest) else source.watch(request)
    except SourceError as error:
        return error
    raise AssertionError(f"not refused: {answer}")


# Objects


def test_writes_raise_the_version() -> None:
    """Each object has a UID for its life, and the version of its last write; what was deleted, that of its end."""
    source = FakeSource(name="pods")
    first = source.add(pod("a"))
    second = source.update(pod("a", app="web"))
    gone = source.delete(key("a"))
    anew = source.add(pod("a"))
    assert [resource_version_of(obj) for obj in (first, second, gone, anew)] == ["1001", "1002", "1003", "1004"]
    assert uid_of(first) == uid_of(second) == uid_of(gone) != uid_of(anew)
    assert gone["metadata"]["labels"] == {"app": "web"}
    assert (source.resource_version, source.objects, source.name) == ("1004", [anew], "pods")


def test_objects_are_nobody_elses() -> None:
    """Whoever edits what was given, or what was put in, edits his own."""
    mine = pod("a", app="web")
    source = FakeSource([mine])
    stream = source.watch(WatchRequest(resource_version="1000"))
    for obj in (mine, source.objects[0], source.list_page(ListRequest()).objects[0], next(stream).obj):  # type: ignore[union-attr]  # an object event
        obj["metadata"]["labels"]["app"] = "edited"
    assert source.objects[0]["metadata"]["labels"] == {"app": "web"}


def test_writes_that_cannot_be_are_refused() -> None:
    """As a server does: what is there is not added, what is not there is neither changed nor deleted."""
    source = FakeSource([pod("a")])
    for write, status in (
        (lambda: source.add(pod("a")), 409),
        (lambda: source.update(pod("b")), 404),
        (lambda: source.delete(pod("b")), 404),
    ):
        with pytest.raises(SourceError) as refused:
            write()
        assert refused.value.status == status
    assert source.resource_version == "1001"


# Lists


def test_pages_are_of_one_state() -> None:
    """What changes between two pages is not in them; each carries the version of the list."""
    source = FakeSource([pod(name) for name in "abcde"])
    first = source.list_page(ListRequest(limit=2))
    source.delete(key("d"))
    source.add(pod("f"))
    second = source.list_page(ListRequest(continuation=first.continuation, limit=2))
    third = source.list_page(ListRequest(continuation=second.continuation, limit=2))
    pages = (first, second, third)
    assert [names_of(list(page.objects)) for page in pages] == [["a", "b"], ["c", "d"], ["e"]]
    assert {page.resource_version for page in pages} == {"1005"}
    assert third.continuation == ""
    assert source.list_page(ListRequest(limit=5)).continuation == ""


def test_a_list_is_of_one_namespace_or_of_all() -> None:
    """Sorted by key; "any" state comes in one piece, whatever the limit."""
    source = FakeSource([pod("b", "test"), pod("b"), pod("a")])
    assert [obj["metadata"]["name"] for obj in source.list_page(ListRequest("prod")).objects] == ["a", "b"]
    assert len(source.list_page(ListRequest(resource_version="0", limit=1)).objects) == 3


def test_versions_of_the_future_and_tokens_of_the_past_are_refused() -> None:
    """504 with its cause, and 410."""
    source = FakeSource([pod("a"), pod("b")])
    assert refusal(source, ListRequest(resource_version="1003")).kind is ErrorKind.AHEAD
    token = source.list_page(ListRequest(limit=1)).continuation
    source.expire()
    assert refusal(source, ListRequest(continuation=token, limit=1)).kind is ErrorKind.EXPIRED
    assert refusal(source, ListRequest(continuation="garbage", limit=1)).kind is ErrorKind.EXPIRED


# Watches


def test_a_watch_begins_where_it_is_asked_to() -> None:
    """Anywhere in the history, and tells what happened since in its namespace."""
    source = FakeSource([pod("a")])
    source.update(pod("a", app="web"))
    source.add(pod("b", "test"))
    all_of_it = source.watch(WatchRequest(resource_version="1000"))
    one = source.watch(WatchRequest("prod", resource_version="1001"))
    source.delete(key("a"))
    assert source.watches == 2
    source.end_watches()
    assert told(all_of_it) == [
        ("ADDED", "a", "1001"),
        ("MODIFIED", "a", "1002"),
        ("ADDED", "b", "1003"),
        ("DELETED", "a", "1004"),
    ]
    assert told(one) == [("MODIFIED", "a", "1002"), ("DELETED", "a", "1004")]
    assert source.watches == 0


@pytest.mark.parametrize("version", ["", "0"])
def test_a_watch_from_anywhere_begins_with_all_objects(version: str) -> None:
    """As a server does when it is not told from where: synthetic events, in the order of keys."""
    source = FakeSource([pod("b"), pod("a")])
    source.update(pod("b", app="web"))
    stream = source.watch(WatchRequest(resource_version=version))
    source.end_watches()
    assert told(stream) == [("ADDED", "a", "1002"), ("ADDED", "b", "1003")]


def test_a_watch_from_the_future_is_silent() -> None:
    """Until its version is reached."""
    source = FakeSource()
    stream = source.watch(WatchRequest(resource_version="1001"))
    source.add(pod("a"))
    source.add(pod("b"))
    source.end_watches()
    assert told(stream) == [("ADDED", "b", "1002")]


def test_initial_events_end_after_the_changes_among_them() -> None:
    """The bookmark that ends them says up to where everything was told."""
    source = FakeSource([pod("a")], watch_list=True)
    stream = source.watch(WatchRequest(initial_events=True))
    source.delete(key("a"))
    source.add(pod("c", "test"))
    events = [next(stream) for _ in range(4)]
    assert [event.type for event in events[:3] if isinstance(event, ObjectEvent)] == ["ADDED", "DELETED", "ADDED"]
    assert events[3] == BookmarkEvent("1003", initial_events_end=True)
    source.add(pod("d"))
    source.end_watches()
    assert told(stream) == [("ADDED", "d", "1004")]


def test_initial_events_may_be_refused() -> None:
    """422, as by a server that does not have them."""
    error = refusal(FakeSource(), WatchRequest(initial_events=True))
    assert (error.status, error.kind) == (422, ErrorKind.REQUEST)


@pytest.mark.parametrize("gone", ["status", "event"])
def test_a_forgotten_version_is_answered_in_both_ways(gone: Any) -> None:
    """By a status, or by an event in a stream that ends then. Open watches go on."""
    source = FakeSource([pod("a")], gone=gone)
    before = from_now(source)
    stays = source.watch(before)
    source.expire()
    if gone == "status":
        assert refusal(source, before).kind is ErrorKind.EXPIRED
    else:
        (event,) = source.watch(before)
        assert isinstance(event, ErrorEvent)
        assert event.error.kind is ErrorKind.EXPIRED
    assert source.watches == 1
    source.add(pod("b"))
    source.end_watches()
    assert told(stays) == [("ADDED", "b", "1003")]


def test_watches_end_as_the_test_wants() -> None:
    """In good order, or by an error, after what was sent before."""
    source = FakeSource()
    well, badly = source.watch(from_now(source)), source.watch(from_now(source))
    source.bookmark()
    source.end_watches()
    assert list(well) == [BookmarkEvent("1000")]
    assert list(badly) == [BookmarkEvent("1000")]
    stream = source.watch(from_now(source))
    source.add(pod("a"))
    source.cut_watches()
    assert isinstance(next(stream), ObjectEvent)
    with pytest.raises(ConnectionResetError):
        next(stream)
    stream = source.watch(from_now(source))
    source.cut_watches(SourceError("no", status=500))
    with pytest.raises(SourceError, match="500: no"):
        next(stream)


def test_anything_can_be_sent() -> None:
    """To all watches, or to those that a namespace concerns."""
    source = FakeSource()
    everywhere, elsewhere = source.watch(from_now(source)), source.watch(from_now(source, namespace="test"))
    source.send(ObjectEvent("ADDED", pod("a"), None), namespace="prod")
    source.send(BookmarkEvent(None))
    source.end_watches()
    assert [type(event) for event in everywhere] == [ObjectEvent, BookmarkEvent]
    assert [type(event) for event in elsewhere] == [BookmarkEvent]


def test_changes_can_be_lost() -> None:
    """As many as were said, for open watches and for later ones; a list has them."""
    source = FakeSource()
    start = from_now(source)
    stream = source.watch(start)
    source.lose(2)
    source.add(pod("a"))
    source.add(pod("b"))
    source.add(pod("c"))
    later = source.watch(start)
    source.end_watches()
    assert told(stream) == told(later) == [("ADDED", "c", "1003")]
    assert len(source.list_page(ListRequest()).objects) == 3


def test_a_watch_ends_when_its_time_is_over() -> None:
    """By the clock, in good order."""
    clock = ManualClock()
    source = FakeSource(clock=clock)
    stream = source.watch(from_now(source, timeout_seconds=60, silence_seconds=90))
    assert stream.due_at == 60
    clock.advance(60)
    assert list(stream) == []
    assert source.watches == 0


def test_a_watch_that_is_stalled_is_silent() -> None:
    """It neither speaks nor ends; after the time that it may be silent, it says so."""
    clock = ManualClock()
    source = FakeSource(clock=clock)
    stream = source.watch(from_now(source, timeout_seconds=60, silence_seconds=90))
    source.add(pod("a"))
    clock.advance(10)
    next(stream)
    source.add(pod("b"))
    source.stall_watches()
    source.add(pod("c"))
    assert stream.due_at == 100
    clock.advance(90)
    with pytest.raises(TimeoutError, match="nothing came for 90 s"):
        next(stream)


def test_a_reader_waits_for_what_comes() -> None:
    """In its own thread: it sleeps until something is sent, and until the watch is closed under it."""
    clock = ManualClock()
    source = FakeSource(clock=clock)
    stream = source.watch(from_now(source))
    read: list[Any] = []
    reader = threading.Thread(target=lambda: read.extend(stream))
    reader.start()
    clock.until_waiting(1)
    source.add(pod("a"))
    clock.until_waiting(1)
    source.add(pod("b"))
    clock.until_waiting(1)
    stream.close()
    reader.join()
    assert [event.obj["metadata"]["name"] for event in read] == ["a", "b"]
    assert source.watches == 0
    stream.close()


# Failures


def test_requests_fail_as_often_as_the_test_says() -> None:
    """By sort, by namespace, so many times, or until it is healed."""
    source = FakeSource([pod("a"), pod("b")])
    source.fail("list", 503, times=2)
    source.fail("page", SourceError("reset"))
    source.fail("watch", 403, times=None, namespace="prod")
    for _ in range(2):
        assert refusal(source, ListRequest(limit=1)).status == 503
    token = source.list_page(ListRequest(limit=1)).continuation
    assert refusal(source, ListRequest(continuation=token)).kind is ErrorKind.NETWORK
    assert len(source.list_page(ListRequest(continuation=token)).objects) == 1
    for _ in range(5):
        assert refusal(source, from_now(source, namespace="prod")).status == 403
        source.watch(from_now(source)).close()
    source.heal()
    source.watch(from_now(source, namespace="prod")).close()


def test_a_server_goes_back_in_time() -> None:
    """A restored one has the objects and the version of then; its watches are cut, and it knows no later version."""
    source = FakeSource([pod("a")])
    backup = source.snapshot()
    stream = source.watch(from_now(source))
    source.add(pod("b"))
    source.delete(key("a"))
    source.restore(backup)
    assert (names_of(source.objects), source.resource_version) == (["a"], "1001")
    assert [event.type for event in (next(stream), next(stream)) if isinstance(event, ObjectEvent)] == [
        "ADDED",
        "DELETED",
    ]
    with pytest.raises(ConnectionResetError):
        next(stream)
    assert refusal(source, ListRequest(resource_version="1003")).kind is ErrorKind.AHEAD


def test_requests_are_remembered() -> None:
    """What was asked, and when, those that failed too."""
    clock = ManualClock()
    source = FakeSource(clock=clock)
    source.fail("list", 500)
    refusal(source, ListRequest())
    clock.advance(1.5)
    source.watch(from_now(source))
    assert source.requests == [(ListRequest(), 0.0), (from_now(source), 1.5)]
