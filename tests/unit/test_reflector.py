"""The reflector, one transition at a time: what happened, and what is to be done then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import InvalidObjectError, KindexError, ObjectKey
from kindex.informer.commands import Apply, Bookmark, Forget, Hangup, Replace, Report, Wait
from kindex.informer.events import Ended, Opened, Refused, Replaced, Silent, Woken
from kindex.informer.reflector import Reflector
from kindex.informer.retries import RetryPolicy
from kindex.informer.settings import SettingError
from kindex.informer.states import Gathering, Listing, Opening, Replacing, Waiting, Watching
from kindex.sources import (
    BookmarkEvent,
    ErrorEvent,
    ErrorKind,
    ListRequest,
    ObjectEvent,
    Page,
    SkippedEvent,
    SourceError,
    WatchRequest,
)
from tests.reflector_driver import Play

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.informer.events import Event

STEADY = RetryPolicy(jitter=0.0)
"""Delays that a test can name: 1, 2, 4, 8, 16, 30 seconds."""


def error(status: int, **more: Any) -> ErrorEvent:
    return ErrorEvent(SourceError("as the test says", status=status, **more))


def broken(kind: ErrorKind = ErrorKind.NETWORK) -> ErrorEvent:
    return ErrorEvent(SourceError("as the test says", kind=kind))


EXPIRED = error(410, reason="Expired")
AHEAD = ErrorEvent(SourceError("Too large resource version", status=504, kind=ErrorKind.AHEAD))


def listing(**settings: Any) -> Play[str]:
    """Begin, with lists; no jitter."""
    return Play(Reflector(**{"retry": STEADY, **settings}))


def watching(**settings: Any) -> Play[str]:
    """Go on to a watch from version 100 of a store with "a", opened at 0."""
    play = listing(**settings)
    play.tell(Page(["a"], "100"), Replaced(), Opened())
    assert isinstance(play.state, Watching)
    return play


def gathering(**settings: Any) -> Play[Any]:
    """Begin with a WatchList that was accepted; no jitter."""
    play: Play[Any] = Play(Reflector(watch_list=True, **{"retry": STEADY, **settings}))
    play.tell(Opened())
    assert isinstance(play.state, Gathering)
    return play


def added(obj: Any, version: str | None) -> ObjectEvent[Any]:
    return ObjectEvent("ADDED", obj, version)


# Lists


def test_it_begins_with_the_first_page_of_the_newest_list() -> None:
    """The first request is a page of 500 of the newest state, in one namespace or in all."""
    assert listing().commands == (ListRequest(limit=500),)
    assert listing(namespace="prod").commands == (ListRequest("prod", limit=500),)
    assert listing(page_size=0).commands == (ListRequest(),)


def test_any_state_is_asked_for_once() -> None:
    """With first_list="any" the first list, and no later one, may be of any age."""
    play = listing(first_list="any")
    assert play.asks.resource_version == "0"
    play.tell(error(500))
    assert play.wait()[-1] == ListRequest(resource_version="0", limit=500)
    play.tell(Page(["a"], "100"), Replaced(), Opened())
    assert play.tell(EXPIRED)[-1] == ListRequest(resource_version="100", limit=500)
    restarted = listing(first_list="any")
    assert restarted.tell(EXPIRED)[-1] == ListRequest(limit=500)


def test_pages_are_one_replace_at_the_end() -> None:
    """Each page asks for the next; the store is told of all of them together, with the version of the list."""
    play = listing(page_size=2)
    assert play.tell(Page(["a", "b"], "100", "t1")) == (ListRequest(continuation="t1", limit=2),)
    assert play.tell(Page(["c", "d"], "100", "t2")) == (ListRequest(continuation="t2", limit=2),)
    assert play.tell(Page(["e"], "100")) == (Replace(None, ["a", "b", "c", "d", "e"], "100"),)
    assert not play.state.synced
    assert play.state.stats.pages == 3


def test_synced_is_what_the_store_has_taken() -> None:
    """It is synced once the store has taken the first list, not before; then it watches from the list's version."""
    play = listing(namespace="prod")
    play.tell(Page(["a"], "100"))
    assert not play.state.synced
    commands = play.tell(Replaced())
    assert play.state.synced
    assert isinstance(commands[-1], WatchRequest)
    assert (commands[-1].namespace, commands[-1].resource_version) == ("prod", "100")
    assert play.reports == ["synced: 1 objects, version 100"]


def test_an_empty_list_is_a_list() -> None:
    """A store without objects is synced as well, and watched."""
    play = listing()
    assert play.tell(Page([], "100")) == (Replace(None, [], "100"),)
    play.tell(Replaced(), Opened())
    assert (play.state.synced, play.state.live(0.0), play.state.resource_version) == (True, True, "100")


def test_a_token_that_expires_restarts_the_list() -> None:
    """Nothing of the first try is published; the list begins again at once, and the second time in one piece."""
    play = listing(page_size=1)
    play.tell(Page(["a"], "100", "t1"))
    commands = play.tell(EXPIRED)
    assert isinstance(commands[0], Report)
    assert commands[1:] == (ListRequest(limit=1),)
    play.tell(Page(["a"], "101", "t2"), EXPIRED)
    assert play.waits == 1.0
    assert play.wait() == (ListRequest(),)
    assert play.tell(Page(["a", "b"], "102")) == (Replace(None, ["a", "b"], "102"),)
    play.tell(Replaced(), Opened())
    assert play.tell(Ended(), after=20)[-1].resource_version == "102"
    play.tell(Opened(), EXPIRED)
    assert play.asks == ListRequest(resource_version="102", limit=1), "later lists come in pages again"
    assert play.state.stats.expired == 3


def test_an_expired_first_page_does_not_stop_paging() -> None:
    """Only a token that expires twice makes lists come in one piece."""
    play = listing()
    play.tell(EXPIRED, EXPIRED)
    assert play.wait() == (ListRequest(limit=500),)


def test_pages_of_several_versions_are_no_list() -> None:
    """Two snapshots are not mixed: the list begins again, as after an expired token."""
    play = listing(page_size=1)
    play.tell(Page(["a"], "100", "t1"))
    assert play.tell(Page(["b"], "101"))[-1] == ListRequest(limit=1)
    assert play.reports == ["listing again: pages of one list have versions 100 and 101"]
    assert play.state.stats.expired == 1


def test_only_the_first_page_needs_a_version() -> None:
    """A later page without a version belongs to the list."""
    play = listing(page_size=1)
    play.tell(Page(["a"], "100", "t1"))
    assert play.tell(Page(["b"], "")) == (Replace(None, ["a", "b"], "100"),)


@pytest.mark.parametrize("version", ["", "0", "None"])
def test_a_list_without_a_version_is_an_error(version: str) -> None:
    """Nothing can be watched from there, so nothing is published."""
    play = listing()
    play.tell(Page(["a"], version))
    assert play.waits == 1.0
    assert play.state.stats.errors == {ErrorKind.PROTOCOL: 1}
    assert play.reports == [
        f"a list with resource version {version!r} cannot be watched from (failure 1; trying again in 1.0 s)"
    ]
    assert play.wait() == (ListRequest(limit=500),)


@pytest.mark.parametrize("tokens", [["t1", "t1"], ["t1", "t2", "t1"]])
def test_a_token_that_leads_back_is_an_error(tokens: list[str]) -> None:
    """Pages in a circle would be asked for without end."""
    play = listing(page_size=1)
    play.tell(*(Page(["a"], "100", token) for token in tokens))
    assert play.state.stats.errors == {ErrorKind.PROTOCOL: 1}
    assert play.wait() == (ListRequest(limit=1),)


@pytest.mark.parametrize("failure", [broken(), error(500), error(429), error(403), error(401)])
def test_a_page_that_fails_is_asked_for_again(failure: ErrorEvent) -> None:
    """The pages before it are kept: its token is still good."""
    play = listing(page_size=1)
    play.tell(Page(["a"], "100", "t1"), failure)
    assert play.wait() == (ListRequest(continuation="t1", limit=1),)
    assert play.tell(Page(["b"], "100")) == (Replace(None, ["a", "b"], "100"),)
    assert play.state.stats.lists == 1


def test_a_token_that_the_server_does_not_understand_restarts_the_list() -> None:
    """400 to a token is an error like others, but the list begins again; 400 to the list itself is tried again."""
    play = listing(page_size=1)
    play.tell(Page(["a"], "100", "t1"), error(400))
    assert play.wait() == (ListRequest(limit=1),)
    assert play.tell(error(400))[-1] == Wait(None, 2.0)


def test_a_version_that_the_server_does_not_understand_is_dropped() -> None:
    """400 to a watch or to a list from a version would be the answer for ever: the newest state, after a delay."""
    play = watching()
    play.tell(Ended(), after=20)
    assert play.tell(error(400))[-1] == Wait(None, 1.0)
    assert play.wait() == (ListRequest(limit=500),)
    play = watching()
    play.tell(EXPIRED)
    assert play.tell(error(400))[-1] == Wait(None, 1.0)
    assert play.wait() == (ListRequest(limit=500),)


def test_a_list_that_the_store_refuses_is_listed_again() -> None:
    """The store is unchanged and not synced; the next list comes after a delay, however often it fails."""
    play = listing()
    for delay in (1.0, 2.0, 4.0):
        play.tell(Page([""], "100"), Refused(InvalidObjectError("no name")))
        assert (play.waits, play.state.synced) == (delay, False)
        assert isinstance(play.state.error, InvalidObjectError)
        assert play.wait()[-1] == ListRequest(limit=500)
    assert play.state.stats.errors == {ErrorKind.STORE: 3}


# Watches


def test_a_watch_asks_for_bookmarks_and_an_end() -> None:
    """The server is to send bookmarks and to end the watch; silence counts only after that."""
    play = listing(grace_seconds=10.0)
    request = play.tell(Page(["a"], "100"), Replaced())[-1]
    assert isinstance(request, WatchRequest)
    assert request.query()["allowWatchBookmarks"] == "true"
    assert 240 <= request.timeout_seconds <= 300
    assert request.silence_seconds == request.timeout_seconds + 10.0


def test_watches_do_not_all_end_together() -> None:
    """The time for which a watch is asked depends on the seed, and on how many there were; the same seed, the same."""

    def timeouts(seed: int) -> list[int]:
        play: Play[str] = Play(Reflector(), seed=seed)
        play.tell(Page(["a"], "100"), Replaced())
        found = [play.asks.timeout_seconds]
        for _ in range(5):
            play.tell(Opened())
            found.append(play.tell(Ended(), after=250)[-1].timeout_seconds)
        return found

    assert timeouts(1) == timeouts(1)
    assert timeouts(1) != timeouts(2)
    assert len(set(timeouts(1))) > 3


def test_an_event_is_applied_and_moves_the_version() -> None:
    """The store is told what the source said, and the watch is resumed from there."""
    play = watching(namespace="prod")
    assert play.tell(ObjectEvent("MODIFIED", "b", "105")) == (Apply("prod", "MODIFIED", "b", "105"),)
    assert play.state.resource_version == "105"
    assert play.tell(Ended(), after=20)[-1].resource_version == "105"
    assert play.state.stats.events == 1


@pytest.mark.parametrize("version", [None, "", "0", "None", "null", "99", "7"])
def test_an_event_never_takes_the_version_back(version: str | None) -> None:
    """Neither one without a version nor an older object moves it; the object is applied all the same."""
    play = watching()
    assert play.tell(ObjectEvent("DELETED", "a", version)) == (Apply(None, "DELETED", "a", "100"),)
    assert play.state.resource_version == "100"


def test_versions_are_compared_as_kubernetes_does() -> None:
    """By length, then digits; among numbers one that is none is not believed."""
    play = watching()
    play.tell(added("b", "999999"), added("c", "1000000"))
    assert play.state.resource_version == "1000000"
    play.tell(added("d", "abc"), added("e", "007"))
    assert play.state.resource_version == "1000000"


def test_versions_that_are_no_numbers_are_taken_as_they_come() -> None:
    """Where the list has such a one, nobody can say which is older."""
    play = listing()
    play.tell(Page(["a"], "abc"), Replaced(), Opened())
    for version in ("abx", "aaa", "007", "abx"):
        play.tell(added("b", version))
        assert play.state.resource_version == version


def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    """The store notes it; one that is not newer, or has no version, is counted and no more."""
    play = watching(namespace="prod")
    assert play.tell(BookmarkEvent("200")) == (Bookmark("prod", "200"),)
    for version in ("200", "150", "", None):
        assert play.tell(BookmarkEvent(version)) == ()
    assert (play.state.resource_version, play.state.stats.bookmarks) == ("200", 5)
    assert play.tell(Ended(), after=20)[-1].resource_version == "200"


def test_a_watch_that_ends_is_resumed_at_once() -> None:
    """After a clean end nothing is listed and nothing waited for, and it stays live until the next watch is open."""
    play = watching()
    commands = play.tell(Ended(), after=280)
    assert commands[0] == Hangup(None)
    assert isinstance(commands[1], WatchRequest)
    assert len(commands) == 2
    assert (play.state.live(play.at), play.state.live(play.at + 60)) == (True, False)
    play.tell(Opened())
    assert play.state.live(play.at)
    assert (play.state.stats.lists, play.state.stats.watches) == (1, 2)


def test_a_short_watch_is_counted_and_waited_for() -> None:
    """A server that ends watches at once, and brings nothing, is asked less and less often, from the same version."""
    play = watching()
    for count, delay in enumerate((1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0), 1):
        play.tell(Ended(), after=0.5)
        assert (play.waits, play.state.stats.short_watches) == (delay, count)
        assert not play.state.live(play.at)
        assert play.wait()[-1].resource_version == "100"
        play.tell(Opened())
    assert play.state.stats.errors == {}
    play.tell(Ended(), after=20)
    assert play.tell(Opened(), Ended(), after=0.5)[-1] == Wait(None, 1.0)


def test_a_short_watch_that_brought_something_is_resumed() -> None:
    """It is progress; only the rate bounds it."""
    play = watching()
    play.tell(added("b", "101"), Ended(), after=0.1)
    assert isinstance(play.state, Opening)
    assert play.state.stats.short_watches == 0


def test_a_watch_that_lived_a_little_and_brought_nothing_is_resumed() -> None:
    """Not short, not healthy: no delay, and the row of failures goes on."""
    play = watching()
    play.tell(broken())
    play.wait()
    play.tell(Opened())
    play.tell(Ended(), after=5)
    assert isinstance(play.state, Opening)
    assert play.state.memory.failures == 1


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (error(401), ErrorKind.CREDENTIALS),
        (error(403), ErrorKind.RIGHTS),
        (error(404), ErrorKind.MISSING),
        (error(429), ErrorKind.THROTTLED),
        (error(500), ErrorKind.SERVER),
        (broken(), ErrorKind.NETWORK),
        (broken(ErrorKind.PROTOCOL), ErrorKind.PROTOCOL),
    ],
)
def test_a_watch_that_fails_is_tried_again_from_its_version(failure: ErrorEvent, kind: ErrorKind) -> None:
    """Refused or broken off, by whatever error: counted, told, and opened again after a delay; nothing is listed."""
    play = watching()
    play.tell(added("b", "101"))
    commands = play.tell(failure, after=1)
    assert commands[0] == Hangup(None)
    assert play.waits == 1.0
    assert not play.state.live(play.at)
    assert isinstance(play.state.error, SourceError)
    assert play.wait()[-1].resource_version == "101"
    assert play.tell(failure)[-1] == Wait(None, 2.0)
    assert play.wait()[-1].resource_version == "101"
    assert play.state.stats.errors == {kind: 2}
    assert play.state.stats.lists == 1
    play.tell(Opened())
    assert (play.state.live(play.at), play.state.error) == (True, None)


def test_delays_grow_to_a_cap() -> None:
    """Each failure in a row doubles the delay, up to 30 seconds, for ever."""
    play = listing()
    delays = []
    for _ in range(1_200):
        play.tell(error(503))
        delays.append(play.waits)
        play.wait()
    assert delays[:7] == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    assert set(delays[7:]) == {30.0}


def test_jitter_spreads_delays() -> None:
    """Two reflectors that fail together do not come back together, and never later than the delay without jitter."""

    def delays(seed: int) -> list[float]:
        play: Play[str] = Play(Reflector(), seed=seed)
        found = []
        for _ in range(6):
            play.tell(error(503))
            found.append(play.waits)
            play.wait()
        return found

    assert delays(1) != delays(2)
    full = [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert all(limit / 2 <= delay <= limit for delay, limit in zip(delays(1), full, strict=True))


def test_what_the_server_asks_for_is_kept() -> None:
    """Retry-After lengthens a delay, never shortens it, and is believed up to five minutes."""
    play = listing()
    assert play.tell(error(429, retry_after_seconds=17.0))[-1] == Wait(None, 17.0)
    play.wait()
    play.tell(error(429), after=0)
    play.wait()
    assert play.tell(error(429, retry_after_seconds=1.0))[-1] == Wait(None, 4.0)
    play.wait()
    assert play.tell(error(503, retry_after_seconds=86_400.0))[-1] == Wait(None, 300.0)


@pytest.mark.parametrize(
    ("healthy", "delay"),
    [
        ((Ended(), 11.0), 1.0),
        ((Ended(), 9.0), 8.0),
        ((added("b", "101"), 0.0), 1.0),
        ((BookmarkEvent("101"), 0.0), 1.0),
    ],
)
def test_a_healthy_watch_ends_the_row_of_failures(healthy: tuple[Event[str], float], delay: float) -> None:
    """A watch that lived for ten seconds, or brought something, makes the next delay the first one again."""
    play = watching()
    for _ in range(3):
        play.tell(broken())
        play.wait()
    play.tell(Opened())
    event, after = healthy
    play.tell(event, after=after)
    if isinstance(event, Ended):
        play.tell(Opened())
    assert play.tell(broken())[-1] == Wait(None, delay)


# Versions that the server does not know


def test_a_forgotten_version_is_listed_again_at_once() -> None:
    """410, when the watch is opened or as an event in it: the same commands, and a list that is at least as new."""
    in_stream, as_answer = watching(), watching()
    in_stream.tell(Ended(), after=20)
    as_answer.tell(Ended(), after=20)
    as_answer.tell(EXPIRED)
    in_stream.tell(Opened(), EXPIRED)
    assert in_stream.commands == (Hangup(None), *as_answer.commands)
    assert as_answer.asks == ListRequest(resource_version="100", limit=500)
    assert in_stream.state.stats == as_answer.state.stats
    assert in_stream.state.stats.relists == 1


def test_what_a_relist_finds_is_one_replace() -> None:
    """The store compares; the reflector gives it all objects, and goes on from the new version."""
    play = watching()
    play.tell(EXPIRED)
    assert play.tell(Page(["a", "b"], "300")) == (Replace(None, ["a", "b"], "300"),)
    assert play.state.resource_version == "100"
    assert play.tell(Replaced())[-1].resource_version == "300"
    assert play.reports == ["listed again: 2 objects, version 300"]
    assert not play.state.live(play.at)
    play.tell(Opened())
    assert play.state.live(play.at)


def test_a_second_forgotten_version_is_dropped() -> None:
    """Two 410 in a row: the next list is of the newest state, and delays grow while it goes on."""
    play = watching()
    play.tell(EXPIRED)
    assert play.asks.resource_version == "100"
    delays = []
    for _ in range(4):
        play.tell(Page(["a"], "300"), Replaced(), Opened(), added("b", "301"), EXPIRED)
        delays.append(play.waits)
        assert play.state.resource_version == ""
        assert play.wait() == (ListRequest(limit=500),)
    assert delays == [1.25, 2.0, 4.0, 8.0], "the first one by the rate of requests"
    assert play.state.stats.expired == 5


def test_a_watch_of_some_length_ends_the_row_of_410() -> None:
    """A version that expires once an hour is no row."""
    play = watching()
    for _ in range(3):
        play.tell(EXPIRED, after=3600)
        assert play.asks == ListRequest(resource_version="100", limit=500)
        play.tell(Page(["a"], "100"), Replaced(), Opened())


def test_a_version_that_is_yet_to_come_is_dropped() -> None:
    """504 "too large", from a server that was restored or lags: a list without a version, at once; that may go back."""
    play = watching()
    play.tell(Ended(), after=20)
    assert play.tell(AHEAD)[-1] == ListRequest(limit=500)
    play.tell(Page(["a"], "50"), Replaced())
    assert play.asks.resource_version == "50"
    play.tell(Opened(), EXPIRED)
    play.wait()
    assert play.tell(AHEAD)[-1] == Wait(None, 2.0)


def test_a_list_at_least_as_new_may_be_too_new() -> None:
    """504 on the list after a 410 is the second in a row: the version is dropped, after a delay."""
    play = watching()
    play.tell(EXPIRED)
    play.tell(AHEAD)
    assert play.waits == 1.0
    assert play.wait() == (ListRequest(limit=500),)


# Silence


def test_a_silent_watch_is_opened_again() -> None:
    """Nothing by the deadline: hung up, and watched from the same version after a delay."""
    play = watching()
    commands = play.tell(Silent(), after=300)
    assert commands[0] == Hangup(None)
    assert play.state.stats.errors == {ErrorKind.SILENCE: 1}
    assert play.wait()[-1].resource_version == "100"


def test_a_second_silence_leads_to_a_list() -> None:
    """A server that does not know the version yet is silent as well, and says so only to a list."""
    play = watching()
    play.tell(Silent(), after=300)
    play.wait()
    play.tell(Opened())
    play.tell(Silent(), after=300)
    assert play.wait() == (ListRequest(resource_version="100", limit=500),)


def test_an_event_that_cannot_be_read_leads_to_a_list() -> None:
    """It would come again with every watch from the version before, and what follows it would never be seen."""
    play = watching()
    play.tell(added("b", "101"))
    play.tell(broken(ErrorKind.PROTOCOL))
    assert play.wait()[-1].resource_version == "101"
    play.tell(Opened())
    play.tell(broken(ErrorKind.PROTOCOL))
    assert play.wait() == (ListRequest(resource_version="101", limit=500),)


def test_connections_that_break_lead_to_no_list() -> None:
    """However often: nothing says that what was missed cannot be had."""
    play = watching()
    for _ in range(5):
        play.tell(broken(ErrorKind.NETWORK))
        assert isinstance(play.wait()[-1], WatchRequest)
        play.tell(Opened())


def test_a_watch_that_spoke_before_it_fell_silent_is_no_second_silence() -> None:
    """What it brought shows that the server knows the version."""
    play = watching()
    for version in range(101, 105):
        play.tell(added("b", str(version)), after=10)
        play.tell(Silent(), after=300)
        assert play.wait()[-1].resource_version == str(version)
        play.tell(Opened())


def test_a_silent_watch_was_healthy_only_while_it_spoke() -> None:
    """Silence is no sign of health: the row of failures goes on."""
    play = watching(relist_seconds=None)
    delays = []
    for _ in range(4):
        play.tell(Silent(), after=300)
        delays.append(play.waits)
        play.wait()
        if isinstance(play.state, Listing):
            play.tell(Page(["a"], "100"), Replaced())
        play.tell(Opened())
    assert delays == [1.0, 2.0, 4.0, 8.0]


def test_live_is_measured_by_time() -> None:
    """Whoever asks after the deadline is told, even if the thread that reads is still blocked."""
    play = watching()
    assert isinstance(play.state, Watching)
    deadline = play.state.request.silence_seconds
    assert play.state.live(deadline)
    assert not play.state.live(deadline + 1)
    play.tell(BookmarkEvent("101"), after=100)
    assert play.state.live(deadline + 1)
    assert not play.state.live(deadline + 101)


# The store refuses, and repairs


def test_an_event_that_the_store_refuses_leads_to_a_list() -> None:
    """It will not come again, so the watch is of no use: hang up, and list at least as new after a delay."""
    play = watching()
    play.tell(added("", "101"))
    commands = play.tell(Refused(InvalidObjectError("no name")))
    assert commands[0] == Hangup(None)
    assert (play.waits, play.state.live(play.at)) == (1.0, False)
    assert play.wait() == (ListRequest(resource_version="101", limit=500),)
    assert play.state.stats.errors == {ErrorKind.STORE: 1}


def test_a_relist_now_and_then_repairs_what_was_lost() -> None:
    """With relist_seconds the end of a watch leads to a list, once so much time has passed since the last one."""
    play = watching(relist_seconds=500)
    play.tell(Ended(), after=280)
    assert isinstance(play.asks, WatchRequest)
    play.tell(Opened())
    assert play.tell(Ended(), after=280) == (Hangup(None), ListRequest(resource_version="100", limit=500))
    play.tell(Page(["a"], "100"), Replaced(), Opened())
    play.tell(Ended(), after=280)
    assert isinstance(play.asks, WatchRequest)


# WatchList


def test_a_watch_list_is_asked_for_first() -> None:
    """Where the source offers it, the first request is a watch with initial events, of the newest state."""
    play: Play[str] = Play(Reflector(watch_list=True, namespace="prod"))
    assert play.asks.initial_events
    assert (play.asks.namespace, play.asks.resource_version) == ("prod", "")
    assert play.asks.query()["sendInitialEvents"] == "true"
    assert play.asks.query()["resourceVersionMatch"] == "NotOlderThan"


def test_initial_events_are_one_replace_at_their_end() -> None:
    """They are kept until the bookmark that ends them; then the same watch goes on, from the bookmark's version."""
    play = gathering()
    for number in range(1_000):
        assert play.tell(added(f"a{number}", str(900 - number))) == ()
    assert not play.state.synced
    assert play.tell(BookmarkEvent("5000", initial_events_end=True)) == (
        Replace(None, [f"a{number}" for number in range(1_000)], "5000"),
    )
    commands = play.tell(Replaced())
    assert [type(command) for command in commands] == [Report]
    assert isinstance(play.state, Watching)
    assert (play.state.synced, play.state.live(0.0), play.state.resource_version) == (True, True, "5000")
    assert (play.state.stats.lists, play.state.stats.watches, play.state.stats.events) == (1, 1, 0)


def test_changes_among_the_initial_events_count() -> None:
    """An object that is deleted before the end is not in the list; of one that is modified the last state is."""
    play = gathering(key_of=lambda obj: obj[0])
    for event_type, obj in (
        ("ADDED", "a1"),
        ("ADDED", "b1"),
        ("ADDED", "c1"),
        ("MODIFIED", "b2"),
        ("DELETED", "a1"),
        ("DELETED", "x1"),
        ("DELETED", "c1"),
        ("ADDED", "c2"),
    ):
        play.tell(ObjectEvent(event_type, obj, "1"))  # type: ignore[arg-type]  # pairs are of one type
    assert play.tell(BookmarkEvent("9", initial_events_end=True)) == (Replace(None, ["b2", "c2"], "9"),)


def test_a_key_function_that_fails_is_an_error() -> None:
    """It is the user's; the list is tried again, and nothing is published."""
    play = gathering()
    play.tell(ObjectEvent("DELETED", {"no": "name"}, "1"))
    play.tell(BookmarkEvent("9", initial_events_end=True))
    assert play.state.stats.errors == {ErrorKind.PROTOCOL: 1}
    assert isinstance(play.state, Waiting)


def test_another_bookmark_does_not_end_the_initial_events() -> None:
    """Only the one that says so does."""
    play = gathering()
    play.tell(added("a", "1"))
    assert play.tell(BookmarkEvent("9")) == ()
    assert isinstance(play.state, Gathering)


def test_an_end_without_a_version_is_an_error() -> None:
    """The watch could not be resumed from there."""
    play = gathering()
    assert play.tell(BookmarkEvent(None, initial_events_end=True))[0] == Hangup(None)
    assert play.state.stats.errors == {ErrorKind.PROTOCOL: 1}


@pytest.mark.parametrize("status", [400, 405, 422, 501])
def test_a_refused_watch_list_becomes_a_list(status: int) -> None:
    """The list is asked for at once; and later lists are not tried as WatchLists again."""
    play: Play[str] = Play(Reflector(watch_list=True, retry=STEADY))
    assert play.tell(error(status))[-1] == ListRequest(limit=500)
    assert play.reports[0].startswith("no WatchList here, so lists: ")
    play.tell(Page(["a"], "100"), Replaced(), Opened())
    assert play.tell(EXPIRED)[-1] == ListRequest(resource_version="100", limit=500)


@pytest.mark.parametrize("failure", [error(401), error(403), error(404), error(429), broken()])
def test_other_errors_say_nothing_about_watch_list(failure: ErrorEvent) -> None:
    """Rights, credentials, a missing kind, throttling, and a server that is not there: it is tried again."""
    play: Play[str] = Play(Reflector(watch_list=True, retry=STEADY))
    for _ in range(5):
        play.tell(failure)
        assert play.wait()[-1].initial_events


@pytest.mark.parametrize("failure", [Ended(), Silent(), broken(), error(500)])
def test_a_watch_list_that_twice_does_not_end_becomes_a_list(failure: Event[Any]) -> None:
    """A server that does not know the parameter, or a proxy that cuts it, gives no end: the second time, lists."""
    play = gathering()
    assert play.tell(added("a", "1"), failure, after=60)[0] == Hangup(None)
    assert play.wait()[-1].initial_events
    play.tell(Opened(), added("a", "1"))
    play.tell(failure, after=60)
    assert play.wait() == (ListRequest(limit=500),)


@pytest.mark.parametrize("failure", [error(500), broken(ErrorKind.PROTOCOL)])
def test_a_watch_list_that_fails_twice_becomes_a_list(failure: ErrorEvent) -> None:
    """A server that answers it with 500 may well have lists."""
    play: Play[str] = Play(Reflector(watch_list=True, retry=STEADY))
    play.tell(failure)
    assert play.wait()[-1].initial_events
    play.tell(failure)
    assert play.wait() == (ListRequest(limit=500),)


def test_a_watch_list_that_came_to_its_end_clears_the_count() -> None:
    """Two in a row, not two ever."""
    play = gathering()
    for _ in range(3):
        play.tell(Ended(), after=60)
        play.wait()
        play.tell(Opened(), BookmarkEvent("9", initial_events_end=True), Replaced())
        play.tell(EXPIRED, after=60)
        assert play.asks.initial_events
        play.tell(Opened())


@pytest.mark.parametrize("failure", [EXPIRED, AHEAD])
def test_a_watch_list_whose_version_is_not_known_begins_again(failure: ErrorEvent) -> None:
    """At once, without what came before, and still as a WatchList."""
    play = gathering()
    play.tell(added("a", "1"))
    commands = play.tell(failure)
    assert commands[0] == Hangup(None)
    assert (play.asks.initial_events, play.asks.resource_version) == (True, "")
    play.tell(Opened())
    assert play.tell(BookmarkEvent("9", initial_events_end=True)) == (Replace(None, [], "9"),)


def test_a_watch_list_that_the_store_refuses_is_hung_up() -> None:
    """The watch is of no use without its beginning."""
    play = gathering()
    play.tell(BookmarkEvent("9", initial_events_end=True))
    assert play.tell(Refused(InvalidObjectError("no name")))[0] == Hangup(None)
    assert play.wait()[-1].initial_events


def test_a_relist_by_watch_list_is_at_least_as_new() -> None:
    """It carries the version, as a list does."""
    play = gathering()
    play.tell(BookmarkEvent("100", initial_events_end=True), Replaced())
    play.tell(EXPIRED)
    assert (play.asks.initial_events, play.asks.resource_version) == (True, "100")


# The rate


def test_a_wait_that_was_cut_short_goes_on() -> None:
    """Whoever wakes early waits for what is left; a clock that rounds is not asked twice."""
    play = listing()
    play.tell(error(500))
    assert play.tell(Woken(), after=0.25) == (Wait(None, 0.75),)
    assert play.tell(Woken(), after=0.7499) == (ListRequest(limit=500),)


def test_empty_pages_count_as_requests() -> None:
    """A server that gives empty pages for ever is asked for four, and then as the rate allows."""
    play = listing()
    for number in range(3):
        assert isinstance(play.tell(Page([], "100", f"t{number}"))[-1], ListRequest)
    assert play.tell(Page([], "100", "t3")) == (Wait(None, 1.25),)
    assert play.wait() == (ListRequest(continuation="t3", limit=500),)


def test_pages_with_objects_are_not_slowed_down() -> None:
    """They are progress, however many there are."""
    play = listing()
    for number in range(300):
        assert isinstance(play.tell(Page(["a"], "100", f"t{number}"))[-1], ListRequest)


ANSWERS: dict[type, list[Event[Any]]] = {
    Listing: [
        Page(["a"], "100"),
        Page([], "100", "t"),
        Page([], "100", "u"),
        EXPIRED,
        AHEAD,
        error(400),
        error(429, retry_after_seconds=0.01),
        broken(),
    ],
    Opening: [Opened(), EXPIRED, AHEAD, error(422), error(500), broken()],
    Gathering: [
        Ended(),
        Silent(),
        added("a", "7"),
        BookmarkEvent("100", initial_events_end=True),
        BookmarkEvent("", initial_events_end=True),
        EXPIRED,
        broken(),
    ],
    Replacing: [Replaced(), Refused(KindexError("no"))],
    Watching: [
        Ended(),
        Silent(),
        added("a", "101"),
        BookmarkEvent("102"),
        EXPIRED,
        AHEAD,
        error(500),
        broken(),
        Refused(KindexError("no")),
    ],
    Waiting: [Woken()],
}


@given(
    st.lists(st.tuples(st.integers(0, 20), st.sampled_from([0.0, 0.0, 0.0, 0.001, 0.3, 1.0, 20.0])), max_size=200),
    st.booleans(),
    st.sampled_from([RetryPolicy(), RetryPolicy(first_seconds=0.0, cap_seconds=0.0), RetryPolicy(healthy_seconds=0.0)]),
    st.sampled_from([None, 0.0]),
)
def test_no_second_sees_five_requests(
    answers: list[tuple[int, float]], watch_list: bool, retry: RetryPolicy, relist_seconds: float | None
) -> None:
    """Whatever a server answers, however fast, and whatever the policy: no second, both ends included, has five."""
    play: Play[Any] = Play(Reflector(watch_list=watch_list, retry=retry, relist_seconds=relist_seconds))
    sent = [play.at]
    progress = False
    for choice, after in answers:
        possible = ANSWERS[type(play.state)]
        event = possible[choice % len(possible)]
        play.tell(event, after=play.waits if isinstance(event, Woken) else after)
        progress = isinstance(event, Page) and bool(event.objects)
        if play.commands and isinstance(play.asks, (ListRequest, WatchRequest)) and not progress:
            sent.append(play.at)
    assert [times for times in zip(sent, sent[4:], strict=False) if times[1] - times[0] <= 1.0] == []


# What it tells


def test_the_same_error_is_told_now_and_then() -> None:
    """The first of a row, another kind of error, and then at powers of two: a log stays readable."""
    play = listing()
    told = []
    for number in range(1, 20):
        play.tell(error(403))
        told += [number] * len(play.reports)
        play.wait()
    assert told == [1, 2, 4, 8, 16]
    play.tell(error(500))
    assert play.reports == ["500: as the test says (failure 20; trying again in 30.0 s)"]
    play.wait()
    play.tell(error(500))
    assert play.reports == []


def test_recovery_is_told() -> None:
    """That a watch is open again is said once."""
    play = watching()
    play.tell(broken())
    play.wait()
    play.tell(Opened())
    assert play.reports == ["watching from version 100"]
    play.tell(Ended(), after=20)
    play.tell(Opened())
    assert play.reports == []


def test_reports_say_how_bad_it_is() -> None:
    """Trouble is a warning with the error; the rest is information."""
    play = watching()
    play.tell(EXPIRED)
    (expired,) = (command for command in play.commands if isinstance(command, Report))
    assert (expired.severity, expired.error) == ("info", EXPIRED.error)
    play.tell(error(403))
    (trouble,) = (command for command in play.commands if isinstance(command, Report))
    assert (trouble.severity, str(trouble.error)) == ("warning", "403: as the test says")


def test_statistics_count_what_happened() -> None:
    """Each counter, over one history."""
    play = watching()
    play.tell(added("b", "101"), added("c", "102"), BookmarkEvent("103"))
    assert play.state.stats.events == 2, "of the watch that is open, too"
    play.tell(EXPIRED, after=1)
    play.tell(Page(["a"], "200", "t"), Page(["b"], "200"), Replaced(), Opened(), added("d", "201"))
    play.tell(error(500), after=1)
    play.wait()
    stats = play.state.stats
    assert (stats.lists, stats.relists, stats.pages, stats.watches) == (2, 1, 3, 3)
    assert (stats.events, stats.bookmarks, stats.expired, stats.short_watches) == (3, 1, 1, 0)
    assert stats.errors == {ErrorKind.EXPIRED: 1, ErrorKind.SERVER: 1}


def test_nothing_is_live_before_the_first_watch() -> None:
    """Waiting, listing, gathering, replacing and opening for the first time are not live."""
    play = listing()
    seen: list[type] = []
    for event in (error(500), Woken(), Page(["a"], "100"), Replaced()):
        assert not play.state.live(play.at)
        seen.append(type(play.state))
        play.tell(event, after=1.0)
    assert seen == [Listing, Waiting, Listing, Replacing]
    assert isinstance(play.state, Opening)
    assert not play.state.live(play.at)
    assert not gathering().state.live(0.0)


# What is no use of it


@pytest.mark.parametrize(
    ("play", "event"),
    [
        (listing, Opened()),
        (listing, Woken()),
        (gathering, Page([], "1")),
        (watching, Replaced()),
        (watching, Opened()),
    ],
)
def test_an_event_out_of_turn_is_a_bug(play: Callable[[], Play[Any]], event: Event[Any]) -> None:
    """What was not asked for is not answered: a driver that does so is wrong, and is told."""
    with pytest.raises(AssertionError, match=rf"{type(event).__name__} is no answer while "):
        play().tell(event)


def test_every_state_refuses_what_it_did_not_ask_for() -> None:
    """Also those that are passed through quickly."""
    play = listing()
    play.tell(Page(["a"], "1"))
    with pytest.raises(AssertionError, match="Woken is no answer while Replacing"):
        play.tell(Woken())
    play.tell(Replaced())
    with pytest.raises(AssertionError, match="Ended is no answer while Opening"):
        play.tell(Ended())
    play.tell(error(500))
    with pytest.raises(AssertionError, match="Ended is no answer while Waiting"):
        play.tell(Ended())


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"page_size": -1}, "page_size is a whole number from 0, not -1"),
        ({"page_size": 1.5}, "page_size is a whole number from 0, not 1.5"),
        ({"namespace": ""}, "namespace is the name of one, or None for all, not ''"),
        ({"first_list": "0"}, "first_list is 'newest' or 'any', not '0'"),
        ({"shortest_watch_seconds": 0}, "shortest_watch_seconds is a whole number from 1, not 0"),
        (
            {"longest_watch_seconds": 100},
            "longest_watch_seconds is at least shortest_watch_seconds=240, not 100",
        ),
        ({"grace_seconds": float("nan")}, "grace_seconds is a number from 0, not nan"),
        ({"relist_seconds": -1}, "relist_seconds is a number from 0 or None, not -1"),
        ({"relist_seconds": True}, "relist_seconds is a number from 0 or None, not True"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, Any], sentence: str) -> None:
    """They are refused where they are given, with what is taken instead."""
    with pytest.raises(SettingError) as refused:
        Reflector(**settings)
    assert str(refused.value) == sentence


# Objects that are left out


def test_what_is_left_out_of_a_watch_is_forgotten() -> None:
    """The watch goes on from its version, and the store is told to let go of what it has."""
    play = watching()
    key = ObjectKey("prod", "a")
    assert play.tell(SkippedEvent("MODIFIED", key, "120", ValueError("odd"))) == (Forget(None, key, "120", "120"),)
    assert play.tell(SkippedEvent("DELETED", key, "110", ValueError("odd"))) == (Forget(None, key, "110", "120"),)
    assert play.tell(SkippedEvent("ADDED", None, "130", ValueError("odd"))) == (Bookmark(None, "130"),)
    assert play.tell(Refused(ValueError("no")))[-1] == Wait(None, 1.0)


def test_what_is_left_out_of_a_watch_list_is_not_listed() -> None:
    """Nor is what came before of the same object."""
    play = gathering(key_of=lambda obj: ObjectKey("", obj))
    play.tell(added("a", "100"), added("b", "101"))
    play.tell(SkippedEvent("MODIFIED", ObjectKey("", "a"), "102", ValueError("odd")))
    commands = play.tell(
        SkippedEvent("ADDED", None, "103", ValueError("odd")),
        added("c", "104"),
        BookmarkEvent("200", initial_events_end=True),
    )
    assert commands[-1] == Replace(None, ["b", "c"], "200")
