"""Traps of lists and watches that public issues describe; tests have their numbers in our list.

Where one is about sockets, what it comes to without them is shown here: what the source tells, and what is done then.
"""

from __future__ import annotations

from typing import Any

import pytest

from kindex import Deleted, Indexer, IndexFunctionError, Store, Updated
from kindex.informer.commands import Replace
from kindex.informer.events import Ended, Opened, Replaced
from kindex.informer.reflector import Reflector
from kindex.informer.retries import RetryPolicy
from kindex.objects import key_of, resource_version_of
from kindex.sources import (
    BookmarkEvent,
    ErrorEvent,
    ErrorKind,
    ListRequest,
    ObjectEvent,
    Page,
    SourceError,
    WatchRequest,
    event_of,
    page_of,
)
from kindex.testing import FakeSource, ManualClock
from tests.pods import Pod, key, pod
from tests.reflector_driver import Driver, Play, run

STATUS_410 = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "too old resource version: 1000 (1003)",
    "reason": "Expired",
    "code": 410,
}


class Rig:
    """A server with some pods, an empty store, and a reflector between them that has not begun."""

    def __init__(self, *names: str, reflector: Reflector[Any] | None = None, **source: Any) -> None:
        self.clock = ManualClock()
        self.source = FakeSource([pod(name, app="web") for name in names], clock=self.clock, **source)
        self.store: Store[Pod] = Store(name="pods")
        self.driver = Driver(self.source, self.store, self.clock, reflector)

    def run(self, seconds: float = 0.0) -> Rig:
        """Let time pass, and do what there is to do."""
        run(seconds, self.driver)
        return self

    @property
    def names(self) -> list[str]:
        """What the store holds."""
        return [found.name for found in self.store.keys(order_by="key")]

    @property
    def asked(self) -> list[ListRequest | WatchRequest]:
        """What the server was asked so far."""
        return [sent.request for sent in self.source.requests]

    @property
    def lists(self) -> int:
        """How many lists were begun."""
        return sum(isinstance(request, ListRequest) and not request.continuation for request in self.asked)


def test_b26_a_late_delete_of_an_earlier_object() -> None:
    """An object is deleted and made anew under its name; the late delete of the first does not remove the second."""
    rig = Rig("a").run()
    gone = rig.source.delete(key("a"))
    rig.source.add(pod("a", app="new"))
    rig.source.send(ObjectEvent("DELETED", gone, resource_version_of(gone)))
    rig.run()
    assert rig.names == ["a"]
    assert rig.store.require(key("a"))["metadata"]["labels"] == {"app": "new"}


def test_b28_versions_are_no_text() -> None:
    """From 999999 to 1000000 the watch goes forward."""
    play: Play[str] = Play()
    play.tell(Page([], "999999"), Replaced(), Opened(), ObjectEvent("ADDED", "a", "1000000"))
    assert play.state.resource_version == "1000000"


@pytest.mark.parametrize(("version", "later"), [("abc", "abb"), ("007", "006"), ("9" * 40, "1" * 41), ("1a", "1")])
def test_b29_versions_may_be_anything(version: str, later: str) -> None:
    """An opaque version is taken as it comes, from a list and from an event; numbers may be of any length."""
    play: Play[str] = Play()
    play.tell(Page([], version), Replaced())
    assert play.asks.resource_version == version
    play.tell(Opened(), ObjectEvent("ADDED", "a", later))
    assert play.state.resource_version == later


def test_b30_initial_events_come_in_the_order_of_names() -> None:
    """The last object seen is not the newest: the watch is resumed from the bookmark, or from the list."""
    versions = ("835745", "797550", "746039")
    initial: Play[str] = Play(Reflector(watch_list=True))
    initial.tell(Opened(), *(ObjectEvent("ADDED", version, version) for version in versions))
    initial.tell(BookmarkEvent("900000", initial_events_end=True), Replaced())
    assert initial.tell(ErrorEvent(SourceError("reset")))[-1].seconds > 0
    assert initial.wait()[-1].resource_version == "900000"
    # A server that sends all objects at the beginning of each watch, though nobody asked.
    replayed: Play[str] = Play()
    replayed.tell(Page(["a"], "900000"), Replaced(), Opened())
    replayed.tell(*(ObjectEvent("ADDED", version, version) for version in versions))
    assert replayed.state.resource_version == "900000"


def test_b31_a_delete_carries_an_older_version() -> None:
    """It is applied, and the version does not go back."""
    rig = Rig("a", "b").run()
    old = rig.store.require(key("a"))
    rig.source.update(pod("b", app="new"))
    rig.run()
    version = rig.driver.state.resource_version
    rig.source.lose()
    rig.source.delete(key("a"))
    rig.source.send(ObjectEvent("DELETED", old, resource_version_of(old)))
    rig.run()
    assert rig.names == ["b"]
    assert rig.driver.state.resource_version == version


def test_b34_a_change_during_a_disconnection_is_told_as_one() -> None:
    """A relist that finds an object changed gives an Updated, with the old and the new one."""
    rig = Rig("a").run()
    old = rig.store.require(key("a"))
    rig.source.cut_watches()
    new = rig.source.update(pod("a", app="new"))
    rig.source.expire()
    rig.driver.deltas.clear()
    rig.run(60)
    assert rig.driver.deltas == [Updated(key("a"), old, new, revision=2)]


def test_b36_a_delete_during_a_disconnection_is_told_once() -> None:
    """A, B, C are listed; B is deleted while nobody watches; the relist tells of it once, as a tombstone."""
    rig = Rig("a", "b", "c").run()
    old = rig.store.require(key("b"))
    rig.source.cut_watches()
    rig.source.delete(key("b"))
    rig.source.expire()
    rig.driver.deltas.clear()
    rig.run(60)
    assert rig.driver.deltas == [Deleted(key("b"), old, final_state_known=False, revision=2)]
    assert rig.names == ["a", "c"]


def test_b41_a_status_is_no_object() -> None:
    """An ADDED, then an ERROR with a Status that has no metadata: no object of the store, which is listed again."""
    rig = Rig("a").run()
    rig.source.add(pod("b", app="web"))
    rig.source.send(event_of({"type": "ERROR", "object": STATUS_410}))
    rig.run()
    assert rig.names == ["a", "b"]
    assert rig.lists == 2
    for line in (
        {"type": "ERROR", "object": STATUS_410},
        {"type": "ADDED", "object": STATUS_410},
        {"type": "MODIFIED", "object": STATUS_410},
        {"type": "BOOKMARK", "object": STATUS_410},
        STATUS_410,
    ):
        event = event_of(line)
        assert isinstance(event, ErrorEvent)
        assert event.error.kind is ErrorKind.EXPIRED
    with pytest.raises(SourceError, match="410 Expired: too old resource version"):
        page_of(STATUS_410)


def test_b42_a_version_that_expires_again_is_dropped() -> None:
    """Two 410 running on one version: the next list is of the newest state, after a delay that grows."""
    rig = Rig("a").run()
    rig.source.fail("watch", SourceError("too old", status=410), times=None)
    rig.source.cut_watches()
    rig.run(600)
    versions = [request.resource_version for request in rig.asked if isinstance(request, ListRequest)]
    assert versions[:2] == ["", rig.source.resource_version]
    assert set(versions[2:]) == {""}
    assert 15 < len(versions) < 40, "some at first, then two or three a minute"


def test_b43_a_watch_that_fails_at_once_is_no_hot_loop() -> None:
    """A hundred failures take the better part of an hour, and never come five in a second."""
    rig = Rig("a", reflector=Reflector(retry=RetryPolicy(jitter=0.0))).run()
    rig.source.fail("watch", 500, times=100)
    rig.source.cut_watches()
    rig.run(60)
    assert len(rig.asked) == 2 + 5, "after 1, 2, 4, 8 and 16 seconds"
    rig.run(3000)
    assert rig.driver.state.stats.errors == {ErrorKind.NETWORK: 1, ErrorKind.SERVER: 100}
    times = [sent.at for sent in rig.source.requests]
    assert min(later - earlier for earlier, later in zip(times, times[4:], strict=False)) > 1.0
    assert rig.driver.live


def test_b43_watches_that_end_at_once_are_no_hot_loop() -> None:
    """A server that ends each watch as it begins is asked less and less often."""
    play: Play[str] = Play(Reflector(retry=RetryPolicy(jitter=0.0)))
    play.tell(Page(["a"], "100"), Replaced())
    for _ in range(100):
        play.tell(Opened(), Ended())
        assert play.wait()[-1].resource_version == "100"
    assert play.at > 2_800
    assert play.state.stats.short_watches == 100


@pytest.mark.parametrize("status", [401, 403, 500])
def test_b44_errors_are_waited_for_and_shown(status: int) -> None:
    """A watch that is refused for ever: few requests, not live, and the error is there to be read."""
    rig = Rig("a").run()
    rig.source.fail("watch", status, times=None)
    rig.source.cut_watches()
    rig.run(600)
    assert len(rig.asked) < 40
    assert (rig.driver.state.synced, rig.driver.live) == (True, False)
    assert isinstance(rig.driver.state.error, SourceError)
    assert rig.driver.state.error.status == status
    assert rig.names == ["a"]
    rig.source.heal()
    rig.run(60)
    assert rig.driver.live
    assert rig.driver.state.error is None
    assert rig.lists == 1


@pytest.mark.parametrize("version", [None, "", "None"])
def test_b45_an_object_without_a_version(version: str | None) -> None:
    """The last good version is kept, and the watch resumed from there."""
    rig = Rig("a").run()
    rig.source.send(ObjectEvent("ADDED", pod("b", app="web"), version))
    rig.source.end_watches()
    rig.run()
    assert rig.names == ["a", "b"]
    assert rig.asked[-1].resource_version == rig.source.resource_version


def test_b46_a_bookmark_is_read_for_its_version_alone() -> None:
    """What else is in it fits no model; nothing is stored, and the watch goes on from there."""
    template = {"spec": {"containers": None}}
    line = {
        "type": "BOOKMARK",
        "object": {"kind": "Job", "metadata": {"resourceVersion": "2000"}, "spec": {"template": template}},
    }
    rig = Rig("a").run()
    rig.source.send(event_of(line))
    rig.run()
    assert (rig.names, rig.driver.state.resource_version) == (["a"], "2000")
    assert rig.store.resource_version() == "2000"


def test_b48_a_peer_that_vanished_is_noticed() -> None:
    """Nothing comes, not even an end: by its deadline the watch is opened anew, and what was missed is there."""
    rig = Rig("a").run()
    rig.source.stall_watches()
    rig.source.add(pod("b", app="web"))
    rig.run(240)
    assert (rig.names, rig.driver.live) == (["a"], True)
    rig.run(100)
    assert (rig.names, rig.driver.live) == (["a", "b"], True)
    assert rig.driver.state.stats.errors == {ErrorKind.SILENCE: 1}
    assert rig.lists == 1


def test_b49_synced_is_not_live() -> None:
    """While the thread that reads is blocked, live turns false by the clock; synced stays true."""
    rig = Rig("a").run()
    rig.source.stall_watches()
    assert (rig.driver.state.synced, rig.driver.live) == (True, True)
    rig.clock.advance(3600)  # and nobody takes a turn
    assert (rig.driver.state.synced, rig.driver.live) == (True, False)


def test_b50_a_lost_event_is_repaired() -> None:
    """A MODIFIED that never came: a list now and then finds it, and nothing else changes."""
    rig = Rig("a", "b", reflector=Reflector(relist_seconds=1_000.0)).run()
    rig.source.lose()
    new = rig.source.update(pod("a", app="new"))
    rig.run(500)
    rig.driver.deltas.clear()
    assert rig.store.require(key("a")) != new
    rig.run(1_000)
    assert rig.store.require(key("a")) == new
    assert [(type(delta), delta.key) for delta in rig.driver.deltas] == [(Updated, key("a"))]
    assert rig.lists == 2


def test_b51_a_store_that_refuses_once_is_told_again() -> None:
    """One failing replace is counted, and the next list is taken."""
    failing = [True]

    def app_of(obj: Pod) -> str:
        if failing:
            failing.pop()
            raise KeyError("app")
        return str(obj["metadata"]["labels"]["app"])

    rig = Rig("a")
    rig.store.add_indexers(Indexer[Pod, str]("app", app_of))
    rig.run()
    assert not rig.driver.state.synced
    assert isinstance(rig.driver.state.error, IndexFunctionError)
    rig.run(10)
    assert (rig.driver.state.synced, rig.names) == (True, ["a"])
    assert rig.driver.state.stats.errors == {ErrorKind.STORE: 1}


def test_b52_a_continue_token_expires_amid_a_list() -> None:
    """The whole list begins again; no half of one is published, and no two snapshots are mixed."""
    rig = Rig("a", "b", "c", reflector=Reflector(page_size=1))
    rig.driver.turn()
    rig.source.expire()
    rig.source.delete(key("a"))
    rig.source.add(pod("d", app="web"))
    rig.driver.turn()
    assert (len(rig.store), rig.store.revision) == (0, 0)
    rig.run()
    assert (rig.names, rig.store.revision) == (["b", "c", "d"], 1)


def test_b53_part_of_a_list_deletes_nothing() -> None:
    """A relist that stops after its first page leaves the store as it was, until all pages are there."""
    rig = Rig("a", "b", "c", reflector=Reflector(page_size=1)).run()
    rig.source.fail("page", 500, times=5)
    rig.source.cut_watches()
    rig.source.delete(key("c"))
    rig.source.expire()
    rig.driver.deltas.clear()
    rig.run(10)
    assert (rig.names, rig.driver.deltas) == (["a", "b", "c"], [])
    rig.run(60)
    assert (rig.names, len(rig.driver.deltas)) == (["a", "b"], 1)


def test_b54_410_comes_in_two_forms() -> None:
    """As a status of HTTP and as an event in a stream: the same requests, and the same store."""

    def asked(gone: Any) -> list[ListRequest | WatchRequest]:
        rig = Rig("a", gone=gone).run()
        rig.source.cut_watches()
        rig.source.add(pod("b", app="web"))
        rig.source.expire()
        rig.run(60)
        assert rig.names == ["a", "b"]
        return rig.asked

    assert asked("status") == asked("event")


def test_b55_a_version_from_the_future() -> None:
    """After the server was restored, a list at least as new is refused; one without a version takes the store back."""
    rig = Rig("a").run()
    kept = rig.source.snapshot()
    rig.source.add(pod("b", app="web"))
    rig.run()
    assert rig.names == ["a", "b"]
    rig.source.restore(kept)
    rig.source.fail("watch", SourceError("too old", status=410))
    rig.run(60)
    assert rig.names == ["a"]
    assert rig.driver.state.resource_version == rig.source.resource_version
    assert rig.driver.state.stats.errors[ErrorKind.AHEAD] == 1
    rig.source.add(pod("c", app="web"))
    rig.run()
    assert rig.names == ["a", "c"]


def test_b56_zero_is_any_and_nothing_else() -> None:
    """A watch is never resumed from "0", whatever events say, and only a first list may ask for any state."""
    rig = Rig("a", reflector=Reflector(first_list="any")).run()
    rig.source.send(ObjectEvent("ADDED", pod("b", app="web"), "0"))
    rig.source.send(BookmarkEvent("0"))
    for happen in (rig.source.end_watches, rig.source.cut_watches, rig.source.expire, rig.source.cut_watches):
        happen()
        rig.run(60)
    assert [request.resource_version for request in rig.asked].count("0") == 1
    assert rig.asked[0].resource_version == "0"


@pytest.mark.parametrize("kind", ["PodList", "PartialObjectMetadataList"])
def test_b57_b59_lists_are_read_by_their_shape(kind: str) -> None:
    """Whatever the kind, items get the one of the envelope; a Table is refused clearly, in a list and in a watch."""
    envelope = {"kind": kind, "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": [pod("a")]}
    (item,) = page_of(envelope).objects
    assert (item["kind"], key_of(item)) == (kind.removesuffix("List"), key("a"))
    table = {"kind": "Table", "metadata": {"resourceVersion": "7"}, "rows": []}
    with pytest.raises(SourceError, match="the server sent no list but kind 'Table'"):
        page_of(table)
    event = event_of({"type": "ADDED", "object": table})
    assert isinstance(event, ErrorEvent)
    assert event.error.kind is ErrorKind.PROTOCOL


def test_b58_the_version_is_kept_without_typed_objects() -> None:
    """Objects are not looked at: bytes, text or None, the version is what the source says beside them."""
    play: Play[object] = Play()
    play.tell(Page([b"{}"], "100"), Replaced(), Opened())
    play.tell(ObjectEvent("ADDED", b"{", "101"), ObjectEvent("MODIFIED", None, "102"))
    assert play.state.resource_version == "102"


def test_b82_an_hour_of_watches_lists_nothing() -> None:
    """Watches that end when their time is over are resumed; the server is never asked for a list again."""
    rig = Rig("a").run(3600)
    assert rig.lists == 1
    watches = [request for request in rig.asked if isinstance(request, WatchRequest)]
    assert 12 <= len(watches) <= 16
    assert {request.resource_version for request in watches} == {rig.source.resource_version}
    assert rig.driver.live


def test_one_namespace_without_rights_does_not_stop_the_others() -> None:
    """Each namespace has a reflector and a version of its own; the store has all that could be had."""
    clock = ManualClock()
    source = FakeSource([pod("a", "prod", app="web"), pod("b", "test", app="web")], clock=clock)
    source.fail("list", 403, times=None, namespace="test")
    store: Store[Pod] = Store(name="pods")
    prod, test = (Driver(source, store, clock, Reflector(namespace=name)) for name in ("prod", "test"))
    run(100, prod, test)
    assert (prod.live, test.live, test.state.synced) == (True, False, False)
    assert sorted(map(str, store.keys())) == ["prod/a"]
    assert isinstance(test.state.error, SourceError)
    assert test.state.error.kind is ErrorKind.RIGHTS
    source.add(pod("c", "prod", app="web"))
    source.heal()
    run(100, prod, test)
    assert (prod.live, test.live) == (True, True)
    assert sorted(map(str, store.keys())) == ["prod/a", "prod/c", "test/b"]
    assert prod.state.stats.lists == 1


def test_b41_to_b56_nothing_is_published_before_the_end() -> None:
    """Of a list that breaks at any of its pages the store sees nothing; of one that does not, one Replace."""
    for broken_at in range(4):
        play: Play[str] = Play(Reflector(page_size=1))
        seen: list[Any] = []
        for number in range(4):
            if number == broken_at:
                seen += play.tell(ErrorEvent(SourceError("reset")))
                seen += play.wait()
            seen += play.tell(Page([f"p{number}"], "7", "" if number == 3 else f"t{number}"))
        replaces = [command for command in seen if isinstance(command, Replace)]
        assert replaces == [Replace(None, ["p0", "p1", "p2", "p3"], "7")]
