"""Informer with namespaces: each by itself, and rights in each are enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kindex import Deleted, Informer, InformerError, NotSyncedError, SyncTimeoutError
from kindex.informer.retries import RetryPolicy
from kindex.informer.settings import SettingError
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, Blocking, Heard, fails, listen, no_thread_left, until
from tests.pods import key, names_of, pod


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(**settings: Any) -> FakeSource:
    return FakeSource([pod("a", "red"), pod("b", "blue"), pod("c", "green")], name="pods", **settings)


def test_only_these_are_watched() -> None:
    """The view holds the objects of the namespaces that were named, and follows each by itself."""
    source = source_of()
    informer = Informer(source, namespaces=["red", "blue"])
    with informer as pods:
        assert names_of(pods.select()) == ["a", "b"]
        assert informer.namespaces == ("red", "blue")
        until(informer, lambda: source.watches == 2)
        source.add(pod("d", "blue"))
        source.add(pod("e", "green"))
        pods.wait_version("1004", PATIENCE, namespace="blue")
        assert names_of(pods.select(namespace="blue")) == ["b", "d"]
        assert {sent.request.namespace for sent in source.requests} == {"red", "blue"}


def test_a_refused_one_does_not_stop_the_others() -> None:
    """The first list is complete when the others have theirs; the refusal is told, and does not spoil live."""
    clock = ManualClock()
    source = source_of(clock=clock)
    fails(source, "list", namespace="blue")
    informer = Informer(source, namespaces=["red", "blue"], clock=clock)
    with informer as pods:
        assert names_of(pods.select()) == ["a"]
        until(informer, lambda: informer.live)
        assert informer.ready()
        assert informer.refused == ("blue",)
        error = informer.errors["blue"]
        assert isinstance(error, SourceError)
        assert error.kind is ErrorKind.RIGHTS
        assert informer.last_error is error


def test_a_read_that_names_a_refused_one_is_an_error() -> None:
    """By name it must not look empty; nor must a namespace that nobody watches."""
    clock = ManualClock()
    source = source_of(clock=clock)
    fails(source, "list", namespace="blue")
    with Informer(source, namespaces=["red", "blue"], clock=clock) as pods:
        assert pods.get("a", namespace="red") is not None
        for read in (
            lambda: pods.select(namespace="blue"),
            lambda: pods.select(namespace=["red", "blue"]),
            lambda: pods.get("b", namespace="blue"),
            lambda: pods.get(key("b", "blue")),
            lambda: pods.get_many([key("a", "red"), key("b", "blue")]),
            lambda: key("b", "blue") in pods,
        ):
            with pytest.raises(NotSyncedError, match="has not listed namespace 'blue': 403"):
                read()
        with pytest.raises(NotSyncedError, match=r"does not watch namespace 'green', but red, blue; add_namespace"):
            pods.count(namespace="green")


def test_a_refused_one_comes_when_the_rights_do() -> None:
    """It is asked again after delays, and its objects are Added then."""
    clock = ManualClock()
    source = source_of(clock=clock)
    fails(source, "list", namespace="blue")
    informer = Informer(source, namespaces=["red", "blue"], clock=clock, retry=RetryPolicy(jitter=0))
    with informer as pods:
        with pytest.raises(SyncTimeoutError, match="403"):
            informer.wait_synced(0, namespace="blue")
        source.heal()
        clock.until_waiting(2)
        clock.advance(1)
        informer.wait_synced(PATIENCE, namespace="blue")
        assert names_of(pods.select(namespace="blue")) == ["b"]
        assert informer.refused == ()


def test_where_all_are_refused_there_is_nothing() -> None:
    """Without rights in any namespace it never syncs."""
    clock = ManualClock()
    source = source_of(clock=clock)
    fails(source, "list")
    informer = Informer(source, namespaces=["red", "blue"], clock=clock).start()
    clock.until_waiting(2)
    assert not informer.synced
    with pytest.raises(SyncTimeoutError, match=r"namespace 'red': 403.*; namespace 'blue': 403"):
        informer.wait_synced(0)
    assert len(informer.ready().reasons) == 2
    informer.stop()


def test_another_error_than_a_refusal_is_waited_for() -> None:
    """Only rights are a matter of one namespace; a server that fails may know more in a moment."""
    clock = ManualClock()
    source = source_of(clock=clock)
    source.fail("list", 500, namespace="blue")
    informer = Informer(source, namespaces=["red", "blue"], clock=clock).start()
    clock.until_waiting(2)
    assert not informer.synced
    clock.advance(1)
    informer.wait_synced(PATIENCE)
    assert names_of(informer.view.select()) == ["a", "b"]
    informer.stop()


def test_rights_that_are_lost_are_not_a_refusal() -> None:
    """What was once listed and cannot be watched any more is stale, and so not live."""
    clock = ManualClock()
    source = source_of(clock=clock)
    informer = Informer(source, namespaces=["red"], clock=clock)
    with informer as pods:
        until(informer, lambda: source.watches)
        fails(source, "list", "watch")
        source.cut_watches()
        until(informer, lambda: isinstance(informer.last_error, SourceError))
        assert informer.refused == ()
        assert not informer.live
        assert len(pods) == 1


def test_namespaces_come_and_go() -> None:
    """One that is added is listed and watched; of one that is removed each object is Deleted."""
    source = source_of()
    informer = Informer(source, namespaces=["red"])
    with informer as pods:
        heard = Heard()
        assert listen(pods, heard).wait_synced(PATIENCE)
        assert heard.next().key == key("a", "red")
        informer.add_namespace("blue")
        informer.add_namespace("blue")
        assert heard.next().key == key("b", "blue")
        informer.wait_synced(PATIENCE, namespace="blue")
        assert informer.namespaces == ("red", "blue")
        informer.remove_namespace("red")
        deleted = heard.next()
        assert isinstance(deleted, Deleted)
        assert deleted.key == key("a", "red")
        assert names_of(pods.select()) == ["b"]
        with pytest.raises(NotSyncedError, match="does not watch namespace 'red'"):
            pods.select(namespace="red")
        assert pods.resource_version(namespace="red") == ""
        informer.remove_namespace("red")
        stats = informer.stats
        assert (stats.lists, stats.pages) == (2, 2)


def test_it_may_begin_with_none() -> None:
    """An empty list of namespaces is synced at once; those that come later are waited for by name."""
    source = source_of()
    informer = Informer(source, namespaces=[])
    with informer as pods:
        assert (len(pods), informer.synced, informer.live, informer.age_seconds) == (0, True, True, 0.0)
        informer.add_namespace("red")
        informer.wait_synced(PATIENCE, namespace="red")
        assert names_of(pods.select()) == ["a"]


def test_namespaces_are_named_before_the_start_too() -> None:
    """What is added or removed before the start counts from the start on."""
    source = source_of()
    informer = Informer(source, namespaces=["red", "green"])
    informer.add_namespace("blue")
    informer.remove_namespace("green")
    with informer as pods:
        assert names_of(pods.select()) == ["a", "b"]


def test_what_a_removed_one_was_about_to_say_is_not_heard() -> None:
    """A list that is answered after its namespace was removed brings nothing back."""
    source = Blocking([pod("a", "red")], lists=True)
    informer = Informer(source, namespaces=["red"]).start()
    assert source.asked.wait(PATIENCE)
    informer.remove_namespace("red")
    source.answer.set()
    assert informer.namespaces == ()
    informer.stop()
    assert len(informer._store) == 0


def test_who_waits_for_one_that_is_removed_need_not() -> None:
    """When the last namespace goes that had not been listed, the rest has synced."""
    clock = ManualClock()
    source = source_of(clock=clock)
    fails(source, "list", status=500, namespace="blue")
    informer = Informer(source, namespaces=["red", "blue"], clock=clock).start()
    clock.until_waiting(2)
    assert not informer.synced
    informer.remove_namespace("blue")
    informer.wait_synced(0)
    with pytest.raises(NotSyncedError, match="does not watch namespace 'blue'"):
        informer.wait_synced(0, namespace="blue")
    informer.stop()


def test_one_that_watches_all_has_none_to_add() -> None:
    """The error says how to have them."""
    informer = Informer(source_of())
    assert informer.namespaces is None
    with pytest.raises(InformerError, match=r"namespaces=\[...\]"):
        informer.add_namespace("red")
    with pytest.raises(InformerError, match=r"namespaces=\[...\]"):
        informer.remove_namespace("red")


def test_a_namespace_is_a_name() -> None:
    """An empty one is no name."""
    with pytest.raises(SettingError, match="the name of one"):
        Informer(source_of(), namespaces=[]).add_namespace("")


def test_each_has_a_thread_that_says_so() -> None:
    """Threads are daemons, and named by informer and namespace."""
    informer = Informer(source_of(), namespaces=["red", "blue"])
    with informer:
        threads = informer._threads()
        assert sorted(thread.name for thread in threads) == ["kindex-pods-blue", "kindex-pods-red"]
        assert all(thread.daemon for thread in threads)
