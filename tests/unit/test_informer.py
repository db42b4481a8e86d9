"""Informer: from a source to a live view, and what it says of itself."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from math import inf
from typing import Any

import pytest

from kindex import (
    Added,
    Deleted,
    Indexer,
    IndexerError,
    IndexFunctionError,
    Informer,
    InformerError,
    LabelIndexer,
    NotSyncedError,
    QueryError,
    ScopeError,
    Store,
    SyncTimeoutError,
    Updated,
)
from kindex.informer.retries import RetryPolicy
from kindex.informer.settings import SettingError
from kindex.sources.base import BookmarkEvent, ListRequest, ObjectEvent, Page
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, Heard, caught_up, fails, listen, no_thread_left, until
from tests.pods import Pod, key, names_of, pod

by_app = LabelIndexer("app")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(*pods: Pod, **settings: Any) -> FakeSource:
    return FakeSource(pods, name="pods", **settings)


# What it keeps


def test_a_block_begins_with_all_that_is_there() -> None:
    """In the with block the view has every object of the first list, indexed."""
    with Informer(source_of(pod("a", app="web"), pod("b", app="db")), indexers=[by_app]) as pods:
        assert names_of(pods.select(label_selector="app=web")) == ["a"]
        assert not pods.explain(label_selector="app=web").scans


def test_what_changes_is_followed() -> None:
    """Additions, updates and deletions reach the view, and its indexes."""
    source = source_of(pod("a", app="web"), pod("b", app="web"))
    with Informer(source, indexers=[by_app]) as pods:
        source.add(pod("c", app="web"))
        source.update(pod("b", app="db"))
        source.delete(key("a"))
        caught_up(pods, source)
        assert names_of(pods.select(label_selector="app=web")) == ["c"]
        assert len(pods) == 2


@pytest.mark.parametrize("watch_list", [False, True])
def test_the_first_objects_may_come_by_a_watch(watch_list: bool) -> None:
    """Where the source offers WatchList, it is used, unless that is switched off."""
    source = source_of(pod("a"), watch_list=True)
    with Informer(source, watch_list=None if watch_list else False) as pods:
        source.add(pod("b"))
        caught_up(pods, source)
        assert len(pods) == 2
        assert any(isinstance(sent.request, ListRequest) for sent in source.requests) is not watch_list


def test_long_lists_come_in_pages() -> None:
    """All pages are put together before anybody sees one (B53)."""
    source = source_of(*[pod(f"p{number}") for number in range(7)])
    informer = Informer(source, page_size=3)
    with informer as pods:
        assert len(pods) == 7
        assert pods.revision == 1
        assert informer.stats.pages == 3


def test_handlers_hear_of_each_change() -> None:
    """Handlers are called as those of a store, also those that were added before the start."""
    source = source_of(pod("a"))
    informer, heard = Informer(source), Heard()
    listen(informer.view, heard)
    with informer:
        assert isinstance(heard.next(), Added)
        source.update(pod("a", app="web"))
        updated = heard.next()
        assert isinstance(updated, Updated)
        assert updated.new["metadata"]["labels"] == {"app": "web"}
        source.delete(key("a"))
        deleted = heard.next()
        assert isinstance(deleted, Deleted)
        assert deleted.final_state_known


def test_a_relist_becomes_the_changes_since() -> None:
    """After an expired version handlers hear what has changed, and nothing of what has not (B34, B35, B36)."""
    source = source_of(pod("same"), pod("changes"), pod("goes"))
    informer = Informer(source)
    with informer as pods:
        heard = Heard()
        assert listen(pods, heard).wait_synced(PATIENCE)
        assert [type(heard.next()) for _ in range(3)] == [Added] * 3
        source.lose(2)
        source.update(pod("changes", app="web"))
        source.delete(key("goes"))
        source.expire()
        source.end_watches()
        until(informer, lambda: informer.stats.relists)
        caught_up(pods, source)
        told = [heard.next(), heard.next()]
        assert {(type(delta), delta.key.name) for delta in told} == {(Updated, "changes"), (Deleted, "goes")}
        assert [delta.final_state_known for delta in told if isinstance(delta, Deleted)] == [False]
        assert heard.nothing


def test_a_clean_end_of_a_watch_leads_to_no_list() -> None:
    """A watch that ends in good order is resumed (B82)."""
    source = source_of(pod("a"))
    informer = Informer(source)
    with informer as pods:
        source.add(pod("b"))
        caught_up(pods, source)
        source.end_watches()
        source.add(pod("c"))
        caught_up(pods, source)
        assert informer.stats.lists == 1
        assert informer.stats.watches == 2


def test_repeats_older_versions_and_late_deletes_change_nothing() -> None:
    """What a watch says late or twice is dropped, and counted (B26, B32, B33)."""
    source = source_of(pod("a", app="web"))
    informer = Informer(source)
    with informer as pods:
        until(informer, lambda: source.watches)
        (old,) = source.objects
        new = source.update(pod("a", app="db"))
        caught_up(pods, source)
        revision = pods.revision
        source.send(ObjectEvent("MODIFIED", old, old["metadata"]["resourceVersion"]))
        source.send(ObjectEvent("ADDED", new, new["metadata"]["resourceVersion"]))
        other = {"metadata": {**old["metadata"], "uid": "another"}}
        source.send(ObjectEvent("DELETED", other, old["metadata"]["resourceVersion"]))
        source.send(BookmarkEvent("2000"))
        pods.wait_version("2000", PATIENCE)
        assert pods.revision == revision
        assert pods.ignored == (1, 1, 1)


def test_an_object_that_cannot_be_stored_does_not_end_it() -> None:
    """An index function that fails makes the source be listed again, after a delay, until it works (B5, B51)."""
    clock = ManualClock()
    source = source_of(pod("a"), pod("b"))
    broken = {"b"}

    def name_unless_broken(obj: Pod) -> str:
        if obj["metadata"]["name"] in broken:
            raise ValueError("broken")
        return str(obj["metadata"]["name"])

    informer = Informer(source, indexers=[Indexer("name", name_unless_broken)], clock=clock)
    informer.start()
    clock.until_waiting()
    assert isinstance(informer.last_error, IndexFunctionError)
    assert informer.stats.errors == {ErrorKind.STORE: 1}
    broken.clear()
    clock.advance(1)
    informer.wait_synced(PATIENCE)
    assert len(informer.view) == 2
    informer.stop()


def test_a_resync_gives_each_object_again() -> None:
    """resync() asks nobody: handlers and followers get each object as an Updated of itself."""
    source = source_of(pod("a"), pod("b"))
    informer = Informer(source)
    with informer as pods:
        heard = Heard()
        assert listen(pods, heard).wait_synced(PATIENCE)
        follower = pods.follow(label_selector="app=none")
        assert {heard.next().key.name, heard.next().key.name} == {"a", "b"}
        asked = len(source.requests)
        informer.resync()
        again = [heard.next(), heard.next()]
        assert {delta.key.name for delta in again} == {"a", "b"}
        assert all(isinstance(delta, Updated) and delta.old is delta.new for delta in again)
        assert follower.take() == []
        assert len(source.requests) == asked


def test_a_resync_may_happen_by_the_clock() -> None:
    """With resync_seconds it happens by itself."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer, heard = Informer(source, resync_seconds=30, clock=clock), Heard()
    listen(informer.view, heard)
    with informer:
        assert isinstance(heard.next(), Added)
        clock.until_waiting(2)
        for _ in range(2):
            clock.advance(30)
            assert isinstance(heard.next(), Updated)
            clock.until_waiting(2)


def test_it_may_list_again_now_and_then() -> None:
    """With relist_seconds a change that a watch lost is found at the end of a watch (B50)."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer = Informer(source, relist_seconds=600, clock=clock)
    with informer as pods:
        until(informer, lambda: source.watches)
        source.lose()
        source.delete(key("a"))
        source.bookmark()
        clock.advance(600)
        source.end_watches()
        pods.wait_until(lambda view: not len(view), PATIENCE)


@pytest.mark.parametrize("namespaced", [True, False])
def test_a_source_that_knows_its_scope_tells_it(namespaced: bool) -> None:
    """So a name without a namespace, or with one, is a slip and not "not there", also where there is nothing yet."""

    class Scoped(FakeSource):
        pass

    source = Scoped(name="pods")
    source.namespaced = namespaced  # type: ignore[attr-defined]  # what a source may have
    with Informer(source) as pods, pytest.raises(ScopeError):
        pods.get("a", namespace=None if namespaced else "prod")


# What it says of itself


def test_before_it_has_listed_it_says_so() -> None:
    """It is neither synced nor live, and ready() says why."""
    informer = Informer(source_of())
    assert (informer.synced, informer.live, informer.age_seconds, informer.last_error) == (False, False, inf, None)
    assert informer.ready().reasons == ("pods: not started",)
    assert repr(informer) == "Informer('pods', not started)"
    assert informer.stats.lists == 0


def test_it_is_live_as_long_as_the_source_speaks() -> None:
    """A silent watch is not live any more, by the clock alone, whatever the thread that reads it does (B48, B49)."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer = Informer(source, clock=clock)
    with informer:
        clock.until_waiting()
        assert (informer.synced, informer.live, informer.age_seconds) == (True, True, 0)
        assert informer.ready()
        source.stall_watches()
        clock.advance(200)
        assert (informer.live, informer.age_seconds) == (True, 200)
        clock.advance(200)
        assert (informer.synced, informer.live) == (True, False)
        assert "pods: not live, heard 400 s ago" in str(informer.ready())


def test_a_silent_watch_is_given_up() -> None:
    """After its deadline it counts as dead, and another one is opened."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer = Informer(source, clock=clock, retry=RetryPolicy(jitter=0))
    with informer as pods:
        clock.until_waiting()
        source.stall_watches()
        clock.advance(400)
        until(informer, lambda: informer.last_error)
        assert isinstance(informer.last_error, SourceError)
        assert informer.last_error.kind is ErrorKind.SILENCE
        clock.until_waiting()
        clock.advance(1)
        source.add(pod("b"))
        caught_up(pods, source)
        assert informer.live
        assert informer.last_error is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (401, ErrorKind.CREDENTIALS),
        (403, ErrorKind.RIGHTS),
        (404, ErrorKind.MISSING),
        (429, ErrorKind.THROTTLED),
        (500, ErrorKind.SERVER),
    ],
)
def test_the_last_error_tells_what_can_be_done(status: int, kind: ErrorKind) -> None:
    """Rights, credentials and the rest are told apart, and the error of a wait carries what went wrong (B44)."""
    source, clock = source_of(), ManualClock()
    fails(source, "list", status=status)
    informer = Informer(source, clock=clock).start()
    clock.until_waiting()
    with pytest.raises(SyncTimeoutError) as raised:
        informer.wait_synced(0)
    cause = raised.value.__cause__
    assert isinstance(cause, SourceError)
    assert cause.kind is kind
    assert informer.last_error is cause
    assert str(raised.value) == f"informer 'pods' has not synced in 0 s: {status}: as the test said"
    assert not informer.live
    assert informer.ready().reasons == (f"pods: not synced: {status}: as the test said",)
    source.heal()
    clock.advance(300)
    informer.wait_synced(PATIENCE)
    informer.stop()


def test_the_network_is_told_apart() -> None:
    """What a source raises that is an OSError is the network's fault."""

    class Cut(FakeSource):
        def list_page(self, _request: ListRequest) -> Page[Pod]:
            raise ConnectionRefusedError("nobody there")

    clock = ManualClock()
    informer = Informer(Cut(name="pods"), clock=clock).start()
    clock.until_waiting()
    error = informer.last_error
    assert isinstance(error, SourceError)
    assert error.kind is ErrorKind.NETWORK
    assert isinstance(error.__cause__, ConnectionRefusedError)
    assert error.__cause__.__traceback__ is None, "a traceback keeps what the frames hold, such as a whole list"
    informer.stop()


def test_a_watch_that_breaks_keeps_what_is_there() -> None:
    """While there is no watch the view answers as before, and live says no."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer = Informer(source, clock=clock)
    with informer as pods:
        until(informer, lambda: source.watches)
        fails(source, "list", "watch", status=500)
        source.cut_watches()
        until(informer, lambda: informer.last_error)
        assert len(pods) == 1
        assert (informer.synced, informer.live) == (True, False)


def test_each_change_of_state_is_one_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Starting, syncing, an error, recovery, stopping: a line each, and none for an event."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    caplog.set_level(logging.INFO, logger="kindex")
    informer = Informer(source, clock=clock, retry=RetryPolicy(jitter=0))
    with informer as pods:
        until(informer, lambda: source.watches)
        for number in range(20):
            source.add(pod(f"p{number}"))
        caught_up(pods, source)
        source.cut_watches()
        until(informer, lambda: informer.last_error)
        clock.until_waiting()
        clock.advance(1)
        source.add(pod("z"))
        caught_up(pods, source)
    lines = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert [level for level, _ in lines] == ["INFO", "INFO", "WARNING", "INFO", "INFO"]
    assert lines[0] == ("INFO", "pods: started")
    assert lines[-1] == ("INFO", "pods: stopped")
    assert all(text.startswith("pods: ") for _, text in lines)


def test_statistics_are_summed_up() -> None:
    """What the reflector counts can be read while it runs."""
    source = source_of(pod("a"), pod("b"))
    informer = Informer(source)
    with informer as pods:
        source.add(pod("c"))
        caught_up(pods, source)
        stats = informer.stats
        assert (stats.lists, stats.relists, stats.watches, stats.events) == (1, 0, 1, 1)


# How it is used


def test_a_block_that_does_not_sync_raises_and_leaves_nothing() -> None:
    """The error names the cause; no thread goes on."""
    source = source_of()
    fails(source, "list", status=403)
    with (
        pytest.raises(SyncTimeoutError, match="informer 'pods' has not synced in 0 s"),
        Informer(source, sync_timeout=0),
    ):
        raise AssertionError("not reached")


def test_it_runs_once() -> None:
    """Started again it goes on; after its end it says that another one is needed."""
    informer = Informer(source_of(pod("a")))
    with informer as pods:
        assert informer.start() is informer
        assert len(pods) == 1
    with pytest.raises(InformerError, match="runs once"):
        informer.start()


def test_nobody_waits_for_what_was_not_started() -> None:
    """Waiting before the start is an error, not a hang."""
    with pytest.raises(InformerError, match="was not started"):
        Informer(source_of()).wait_synced()


def test_who_waits_for_a_stopped_one_is_told() -> None:
    """A wait ends when nobody will bring about what it waits for."""
    source = source_of()
    fails(source, "list")
    informer = Informer(source).start()
    informer.stop()
    with pytest.raises(NotSyncedError, match="was stopped before it synced"):
        informer.wait_synced()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objects": "json"}, "objects is 'lazy', 'dict' or 'metadata', not 'json'"),
        ({"on_decode_error": "drop"}, "on_decode_error is 'raise' or 'skip'"),
        ({"on_decode_error": "skip"}, "for decode= alone"),
        ({"decode": dict, "objects": "dict"}, "decode is left out beside"),
        ({"namespaces": "prod"}, r"several names, such as \['prod'\]"),
        ({"namespaces": [""]}, "namespace is the name of one"),
        ({"namespace": "prod"}, "left to a Source object"),
        ({"label_selector": "app=web"}, "left to a Source object"),
        ({"name": ""}, "name is text"),
        ({"retry": 5}, "retry is a RetryPolicy"),
        ({"namespace": 7}, "namespace is the name of one"),
        ({"namespace": "prod", "namespaces": ["test"]}, "left out where there are namespaces"),
        ({"field_selector": {"spec.nodeName": "n1"}}, "field_selector is left to a Source object"),
        ({"client": object()}, "client is left to a Source object"),
        ({"on_object_budget": "die"}, "on_object_budget is 'warn' or 'stop'"),
        ({"page_size": -1}, "page_size is a whole number"),
        ({"sync_timeout": -1}, "sync_timeout is a number"),
        ({"relist_seconds": "x"}, "relist_seconds is a number"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], message: str) -> None:
    """At once, and with the name of the setting."""
    with pytest.raises(SettingError, match=message):
        Informer(source_of(), **settings)


def test_a_setting_that_there_is_not_is_refused() -> None:
    """A slip in a name is a TypeError, as for any call, and names what is near."""
    with pytest.raises(TypeError, match=r"^an informer takes no argument 'indexer'; 'indexers' is meant, perhaps$"):
        Informer(source_of(), indexer=[by_app])  # type: ignore[call-overload]  # the slip
    with pytest.raises(TypeError, match=r"^an informer takes no argument 'zzz'$"):
        Informer(source_of(), zzz=1)  # type: ignore[call-overload]  # the same


def test_one_indexer_alone_is_no_list_of_them() -> None:
    """The brackets that are easily forgotten are asked for, of an informer as of a store."""
    forgotten: Any = by_app
    brackets = r"^indexers takes several, or a list of one: indexers=\[LabelIndexer\("
    with pytest.raises(IndexerError, match=brackets):
        Informer(source_of(), indexers=forgotten)
    with pytest.raises(IndexerError, match=brackets):
        Store(indexers=forgotten)
    with pytest.raises(QueryError, match=r"^the name of a store is text, not 5$"):
        Store(name=5)  # type: ignore[arg-type]


def test_a_name_of_its_own() -> None:
    """It is called as one says, in the view, the log and the threads."""
    informer = Informer(source_of(), name="workers")
    assert (informer.name, informer.view.name) == ("workers", "workers")
