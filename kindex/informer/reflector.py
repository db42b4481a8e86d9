"""Reflector: the rules by which lists and watches keep a store equal to a source, as a function.

``step(state, event, at)`` gives the next state and the commands to do. There is no thread, clock or socket here:
whoever drives it reads the clock, asks the source, tells the store, and says what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import Generic, Literal, TypeAlias, TypeVar, assert_never

import attrs
from msgspec.structs import replace

from kindex.informer.commands import Apply, Bookmark, Command, Forget, Hangup, Replace, Report, Wait
from kindex.informer.events import Ended, Event, Opened, Refused, Replaced, Silent, Woken
from kindex.informer.retries import RetryPolicy
from kindex.informer.settings import SettingError, number
from kindex.informer.states import (
    Gathering,
    Listing,
    Memory,
    Opening,
    Replacing,
    State,
    Waiting,
    Watching,
)
from kindex.objects import key_of
from kindex.resource_versions import compare
from kindex.resource_versions import usable as is_version
from kindex.sources.base import BookmarkEvent, ErrorEvent, ListRequest, ObjectEvent, Page, SkippedEvent, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError

T = TypeVar("T")

Step: TypeAlias = tuple[State[T], tuple[Command[T], ...]]
"""The next state, and what is to be done."""

_SHORT_SECONDS = 1.0
_RESUME_SECONDS = 10.0  # so long after a list, or a watch that ended in good order, it is live without a watch
_TINY_SECONDS = 0.001  # a clock that wakes us so early has rounded


@attrs.frozen(kw_only=True)
class Reflector(Generic[T]):
    """Keeps a store, or its part in one namespace, equal to a source.

    * The first list, or WatchList, becomes one Replace at its end. What comes before the end is seen by nobody.
    * Then the changes are watched from the version of the list. A watch that ends in good order is resumed from the
      last version; nothing is listed again.
    * A version that the server no longer knows (410 in both forms) leads to a list that is at least as new; one that
      the server does not know yet, or two in a row, to a list without a version.
    * After any other error the same is tried again, after a delay by the policy; where the server refuses the request
      as such, without the version. What was known stays in the store.
    * There are never five requests in a second, whatever happens: neither after errors, nor where a server answers
      well, and at once, for ever. Pages after one that brought objects do not count: they are progress.
    * The version goes forward with each event and bookmark that has one and is not older; the version of an object
      never takes it back. Objects are not looked at.

    A reflector is a value: it keeps nothing, and one may serve several states. For several namespaces take one each.

    Args:
        namespace: of the objects; None for all.
        watch_list: whether to try WatchList. A server that refuses it, or twice does not come to its end, is asked for
            lists from then on.
        page_size: how many objects a page may have; 0 for lists in one piece.
        first_list: ``"newest"``, or ``"any"`` state that the server has at hand, which may be an older one and comes in
            one piece.
        shortest_watch_seconds, longest_watch_seconds: between them lies when the server shall end a watch.
        grace_seconds: how long after that a watch that gives nothing counts as dead.
        relist_seconds: after which the end of a watch leads to a list; None: never. It repairs what a source lost, and
            is the only way out where a server was restored to a time before the last version: to a watch from there it
            is silent, not wrong.
        retry: when to ask again after errors.
        key_of: identity of an object; asked only where a WatchList deletes one before its end.

    >>> reflector = Reflector(page_size=0)
    >>> state, commands = reflector.begin(at=0.0)
    >>> commands
    (ListRequest(namespace=None, resource_version='', continuation='', limit=0),)
    >>> state, commands = reflector.step(state, Page(["a", "b"], resource_version="7"), at=0.1)
    >>> commands
    (Replace(namespace=None, objects=['a', 'b'], resource_version='7'),)
    >>> state, commands = reflector.step(state, Replaced(), at=0.2)
    >>> commands[-1].resource_version, state.synced, state.live(0.2)
    ('7', True, True)
    >>> state, commands = reflector.step(state, Opened(), at=0.3)
    >>> state, commands = reflector.step(state, ObjectEvent("ADDED", "c", "8"), at=0.4)
    >>> commands, state.live(0.5)
    ((Apply(namespace=None, type='ADDED', obj='c', resource_version='8'),), True)
    """

    namespace: str | None = None
    watch_list: bool = False
    page_size: int = attrs.field(default=500, validator=number(whole=True))
    first_list: Literal["newest", "any"] = "newest"
    shortest_watch_seconds: int = attrs.field(default=240, validator=number(least=1, whole=True))
    longest_watch_seconds: int = attrs.field(default=300, validator=number(least=1, whole=True))
    grace_seconds: float = attrs.field(default=15.0, validator=number())
    relist_seconds: float | None = attrs.field(default=None, validator=number(optional=True))
    retry: RetryPolicy = attrs.field(factory=RetryPolicy)
    key_of: Callable[[T], Hashable] = key_of

    def __attrs_post_init__(self) -> None:
        if self.namespace is not None and (not isinstance(self.namespace, str) or not self.namespace):
            raise SettingError("namespace", self.namespace, "the name of one, or None for all")
        if self.first_list not in ("newest", "any"):
            raise SettingError("first_list", self.first_list, "'newest' or 'any'")
        if self.longest_watch_seconds < self.shortest_watch_seconds:
            wanted = f"at least shortest_watch_seconds={self.shortest_watch_seconds}"
            raise SettingError("longest_watch_seconds", self.longest_watch_seconds, wanted)

    def begin(self, at: float, seed: int = 0) -> Step[T]:
        """Give the first state and the first commands.

        Args:
            at: the time, in seconds; that of every step is no earlier than that of the one before.
            seed: a random number, from which all jitter follows. A state and its events always give the same.
        """
        return self._ask(self._list(Memory(seed)), at)

    def step(self, state: State[T], event: Event[T], at: float) -> Step[T]:
        """Give the next state and what is to be done. O(1), and O(objects) at the end of a list.

        Raises:
            AssertionError: *event* is no answer to what was commanded.
        """
        match state:
            case Watching():
                return self._watching(state, event, at)
            case Gathering():
                return self._gathering(state, event, at)
            case Listing():
                return self._listing(state, event, at)
            case Opening():
                return self._opening(state, event, at)
            case Replacing():
                return self._replacing(state, event, at)
            case Waiting():
                return self._waiting(state, event, at)
            case _:
                assert_never(state)

    # One state each

    def _waiting(self, state: Waiting[T], event: Event[T], at: float) -> Step[T]:
        match event:
            case Woken():
                left = state.until - at
                if left > _TINY_SECONDS:
                    return state, (Wait(self.namespace, left),)
                return self._send(state.goal, at)
            case _:
                raise _out_of_turn(state, event)

    def _listing(self, state: Listing[T], event: Event[T], at: float) -> Step[T]:
        match event:
            case Page():
                return self._turned(state, event, at)
            case ErrorEvent(error=error):
                memory = state.memory
                if error.kind in (ErrorKind.EXPIRED, ErrorKind.AHEAD):
                    return self._expired(memory, error, at, paging=bool(state.pages))
                if error.kind is ErrorKind.REQUEST:  # it may be the token or the version that is refused
                    return self._failed(self._list(replace(memory, resource_version="")), error, at)
                return self._failed(state, error, at)  # the same page: those before it are still good
            case _:
                raise _out_of_turn(state, event)

    def _turned(self, state: Listing[T], page: Page[T], at: float) -> Step[T]:
        stats = state.memory.stats
        memory = replace(state.memory, stats=replace(stats, pages=stats.pages + 1))
        first = state.pages[0] if state.pages else page
        if not _usable(first.resource_version):
            return self._failed(self._list(memory), _no_version("list", first.resource_version), at)
        if _usable(page.resource_version) and page.resource_version != first.resource_version:
            sentence = f"pages of one list have versions {first.resource_version} and {page.resource_version}"
            return self._expired(memory, SourceError(sentence, kind=ErrorKind.EXPIRED), at, paging=True)
        pages = (*state.pages, page)
        if not page.continuation:
            objects = [obj for each in pages for obj in each.objects]
            return self._replace(Replacing(memory, first.resource_version, len(objects)), objects)
        if any(page.continuation == each.continuation for each in state.pages):
            sentence = "the token for the next page is that of an earlier one"
            return self._failed(self._list(memory), SourceError(sentence, kind=ErrorKind.PROTOCOL), at)
        following = Listing(memory, replace(state.request, continuation=page.continuation), pages)
        return (following, (following.request,)) if page.objects else self._ask(following, at)

    def _opening(self, state: Opening, event: Event[T], at: float) -> Step[T]:
        match event:
            case Opened():
                if state.request.initial_events:
                    return Gathering(state.memory, state.request, at), ()
                return self._opened(state.memory, state.request, state.request.resource_version, at, at)
            case ErrorEvent(error=error):
                if error.kind in (ErrorKind.EXPIRED, ErrorKind.AHEAD):
                    return self._expired(state.memory, error, at)
                refused = error.kind is ErrorKind.REQUEST
                if state.request.initial_events:
                    if refused:
                        return self._without_watch_list(state.memory, error, at)
                    blame = error.kind in (ErrorKind.SERVER, ErrorKind.PROTOCOL)
                    return self._unfinished(state.memory, error, at, blame=blame)
                if refused:  # it may be the version that is refused, and then for ever
                    return self._failed(self._list(replace(state.memory, resource_version="")), error, at)
                return self._failed(self._watch(state.memory), error, at)
            case _:
                raise _out_of_turn(state, event)

    def _gathering(self, state: Gathering[T], event: Event[T], at: float) -> Step[T]:
        match event:
            case ObjectEvent() | SkippedEvent():
                return state.plus(event), ()
            case BookmarkEvent(resource_version=version, initial_events_end=True):
                return self._gathered(state, version, at)
            case BookmarkEvent():
                return state, ()
            case ErrorEvent(error=error):
                return self._hung_up(self._broke_off(state, error, at))
            case Ended():
                error = SourceError("a WatchList ended before its initial events did", kind=ErrorKind.PROTOCOL)
                return self._hung_up(self._broke_off(state, error, at))
            case Silent():
                return self._hung_up(self._broke_off(state, _silence(state.request), at))
            case _:
                raise _out_of_turn(state, event)

    def _gathered(self, state: Gathering[T], version: str | None, at: float) -> Step[T]:
        if version is None or not _usable(version):
            return self._hung_up(self._broke_off(state, _no_version("bookmark", version), at))
        try:
            objects = _objects_of(state.events, self.key_of)
        except Exception as raised:  # noqa: BLE001 - the key function is anybody's
            error = SourceError.of(raised)
            return self._hung_up(self._broke_off(state, error, at))
        replacing = Replacing(state.memory, version, len(objects), state.request, state.opened_at)
        return self._replace(replacing, objects)

    def _broke_off(self, state: Gathering[T], error: SourceError, at: float) -> Step[T]:
        if error.kind in (ErrorKind.EXPIRED, ErrorKind.AHEAD):
            return self._expired(state.memory, error, at)
        innocent = (ErrorKind.RIGHTS, ErrorKind.CREDENTIALS, ErrorKind.MISSING, ErrorKind.THROTTLED)
        return self._unfinished(state.memory, error, at, blame=error.kind not in innocent)

    def _replacing(self, state: Replacing, event: Event[T], at: float) -> Step[T]:
        match event:
            case Replaced():
                was_synced = state.memory.synced
                memory = replace(
                    state.memory,
                    resource_version=state.listed,
                    synced=True,
                    listed_at=at,
                    unfinished=0,
                    whole_lists=False,
                )
                text = f"{'listed again' if was_synced else 'synced'}: {state.count} objects, version {state.listed}"
                report = Report(self.namespace, "info", text)
                if state.request is None:
                    # What was listed just now is as good as watched, unless something has failed on the way.
                    live_until = at + _RESUME_SECONDS if memory.error is None else -inf
                    following, commands = self._ask(replace(self._watch(memory), live_until=live_until), at)
                else:
                    following, commands = self._opened(memory, state.request, state.listed, state.opened_at, at)
                return following, (report, *commands)
            case Refused(error=error):
                step = self._failed(self._list(state.memory), error, at)
                return step if state.request is None else self._hung_up(step)
            case _:
                raise _out_of_turn(state, event)

    def _watching(self, state: Watching, event: Event[T], at: float) -> Step[T]:
        match event:
            case ObjectEvent(type=event_type, obj=obj, resource_version=seen):
                version = _later(state.version, seen)
                return (
                    Watching(
                        state.memory, state.request, version, state.opened_at, at, state.events + 1, state.bookmarks
                    ),
                    (Apply(self.namespace, event_type, obj, version),),
                )
            case SkippedEvent(key=key, resource_version=seen):
                version = _later(state.version, seen)
                command = (
                    Bookmark(self.namespace, version) if key is None else Forget(self.namespace, key, seen, version)
                )
                return (
                    Watching(
                        state.memory, state.request, version, state.opened_at, at, state.events + 1, state.bookmarks
                    ),
                    (command,),
                )
            case BookmarkEvent(resource_version=seen):
                version = _later(state.version, seen)
                return (
                    Watching(
                        state.memory, state.request, version, state.opened_at, at, state.events, state.bookmarks + 1
                    ),
                    () if version == state.version else (Bookmark(self.namespace, version),),
                )
            case Ended():
                return self._hung_up(self._ended(state, at))
            case ErrorEvent(error=error):
                memory = self._closed(state, until=at)
                if error.kind in (ErrorKind.EXPIRED, ErrorKind.AHEAD):
                    return self._hung_up(self._expired(memory, error, at))
                goal = self._after_nothing(memory) if error.kind is ErrorKind.PROTOCOL else self._watch(memory)
                return self._hung_up(self._failed(goal, error, at))
            case Silent():
                memory = self._closed(state, until=state.heard_at)
                return self._hung_up(self._failed(self._after_nothing(memory), _silence(state.request), at))
            case Refused(error=error):  # what it refused will not come again
                memory = self._closed(state, until=at)
                return self._hung_up(self._failed(self._list(memory), error, at))
            case _:
                raise _out_of_turn(state, event)

    def _ended(self, state: Watching, at: float) -> Step[T]:
        memory = self._closed(state, until=at)
        if self.relist_seconds is not None and at - memory.listed_at >= self.relist_seconds:
            return self._ask(self._list(memory), at)
        if state.events or state.bookmarks or at - state.opened_at >= _SHORT_SECONDS:
            return self._ask(replace(self._watch(memory), live_until=at + _RESUME_SECONDS), at)
        memory = replace(memory, stats=replace(memory.stats, short_watches=memory.stats.short_watches + 1))
        error = SourceError("a watch ended within a second and brought nothing", kind=ErrorKind.SERVER)
        return self._failed(self._watch(memory), error, at, counted=False)

    # What several states lead to

    def _opened(self, memory: Memory, request: WatchRequest, version: str, opened_at: float, at: float) -> Step[T]:
        """Watch."""
        watching = Watching(replace(memory, error=None), request, version, opened_at, at)
        if memory.error is None:
            return watching, ()
        return watching, (Report(self.namespace, "info", f"watching from version {version}"),)

    def _closed(self, state: Watching, *, until: float) -> Memory:
        """Give the memory after a watch, which was good *until* then."""
        lasting = until - state.opened_at >= self.retry.healthy_seconds
        heard = state.events + state.bookmarks > 0
        memory = state.memory
        return replace(
            memory,
            resource_version=state.version,
            failures=0 if lasting or heard else memory.failures,
            # Not reset by what a watch brings: a server that lets every watch expire would be listed without end.
            expirations=0 if lasting else memory.expirations,
            fruitless=0 if heard else memory.fruitless,
            stats=state.stats,
        )

    def _after_nothing(self, memory: Memory) -> Listing[T] | Opening:
        """Watch again, or list if the last watch gave nothing either.

        Silence may be the answer to a version that a restored server does not know yet, and an event that cannot be
        read comes again with every watch from the version before. A list goes past both.
        """
        memory = replace(memory, fruitless=memory.fruitless + 1)
        return self._watch(memory) if memory.fruitless < 2 else self._list(replace(memory, fruitless=0))

    def _expired(self, memory: Memory, error: SourceError, at: float, *, paging: bool = False) -> Step[T]:
        """List again: at once and at least as new the first time, then after delays and without a version."""
        row = memory.expirations + 1
        stats = memory.stats
        memory = replace(
            memory,
            expirations=row,
            resource_version="" if row > 1 or error.kind is ErrorKind.AHEAD else memory.resource_version,
            whole_lists=memory.whole_lists or (paging and row > 1),
            stats=replace(stats, expired=stats.expired + 1),
        )
        if row == 1:
            step = self._ask(self._list(_noting(memory, error)), at)
            return self._telling(step, Report(self.namespace, "info", f"listing again: {error}", error))
        # Not less than its own row: a watch that brought something has ended the row of failures.
        return self._failed(self._list(memory), error, at, row=max(row - 1, memory.failures + 1))

    def _unfinished(self, memory: Memory, error: SourceError, at: float, *, blame: bool) -> Step[T]:
        """Try again after a WatchList failed; by list when it failed twice, and it may be to *blame*."""
        memory = replace(memory, unfinished=memory.unfinished + blame)
        if memory.unfinished < 2:
            return self._failed(self._list(memory), error, at)
        return self._failed(self._list(replace(memory, plain_lists=True)), error, at)

    def _without_watch_list(self, memory: Memory, error: SourceError, at: float) -> Step[T]:
        """List with pages from now on, and at once."""
        step = self._ask(self._list(replace(_noting(memory, error), plain_lists=True)), at)
        return self._telling(step, Report(self.namespace, "info", f"no WatchList here, so lists: {error}", error))

    def _failed(
        self, goal: Listing[T] | Opening, error: Exception, at: float, *, row: int | None = None, counted: bool = True
    ) -> Step[T]:
        """Ask for *goal* after the delay that so many failures in a *row* call for."""
        before = goal.memory
        memory = replace(_noting(before, error, counted=counted), failures=before.failures + 1, draws=before.draws + 1)
        retry_after = error.retry_after_seconds if isinstance(error, SourceError) else None
        row = memory.failures if row is None else row
        delay = memory.pace.earliest(at + self.retry.delay_seconds(row, before.luck(), retry_after)) - at
        step = self._ask(replace(goal, memory=memory), at, delay)
        if before.error is not None and _kind_of(before.error) is _kind_of(error) and row & (row - 1):
            return step  # said before, and again at powers of two only
        text = f"{error} (failure {row}; trying again in {delay:.1f} s)"
        return self._telling(step, Report(self.namespace, "warning", text, error))

    def _list(self, memory: Memory) -> Listing[T] | Opening:
        """Say how to list now."""
        version = memory.resource_version
        if self.first_list == "any" and not memory.synced and not memory.expirations:
            version = "0"
        if self.watch_list and not memory.plain_lists:
            return self._watch(memory, version, initial_events=True)
        limit = 0 if memory.whole_lists else self.page_size
        return Listing(memory, ListRequest(self.namespace, version, limit=limit))

    def _watch(self, memory: Memory, version: str | None = None, *, initial_events: bool = False) -> Opening:
        """Say how to watch now."""
        assert initial_events or memory.resource_version, "a watch from no version would miss what was deleted"
        spread = self.longest_watch_seconds - self.shortest_watch_seconds
        timeout = self.shortest_watch_seconds + round(spread * memory.luck())
        request = WatchRequest(
            self.namespace,
            memory.resource_version if version is None else version,
            timeout,
            timeout + self.grace_seconds,
            initial_events,
        )
        return Opening(replace(memory, draws=memory.draws + 1), request)

    def _ask(self, goal: Listing[T] | Opening, at: float, delay: float = 0.0) -> Step[T]:
        """Send the request of *goal*, now or when the delay has passed and the rate allows it."""
        until = goal.memory.pace.earliest(at + delay)
        if until <= at:
            return self._send(goal, at)
        return Waiting(goal.memory, goal, until), (Wait(self.namespace, until - at),)

    def _send(self, goal: Listing[T] | Opening, at: float) -> Step[T]:
        """Send the request of *goal*."""
        memory, stats = goal.memory, goal.memory.stats
        lists = not goal.pages if isinstance(goal, Listing) else goal.request.initial_events
        stats = replace(
            stats,
            lists=stats.lists + lists,
            relists=stats.relists + (lists and memory.synced),
            watches=stats.watches + isinstance(goal, Opening),
        )
        sent = replace(goal, memory=replace(memory, pace=memory.pace.sent(at), stats=stats))
        return sent, (sent.request,)

    def _replace(self, state: Replacing, objects: list[T]) -> Step[T]:
        """Tell the store of a whole list."""
        return state, (Replace(self.namespace, objects, state.listed),)

    def _hung_up(self, step: Step[T]) -> Step[T]:
        """Close the stream first."""
        return step[0], (Hangup(self.namespace), *step[1])

    def _telling(self, step: Step[T], report: Report) -> Step[T]:
        """Say it first."""
        return step[0], (report, *step[1])


def _usable(version: str | None) -> bool:
    """Tell whether a version is one to watch from: "0" means any, so it would go back in time."""
    return is_version(version) and version != "0"


def _later(version: str, seen: str | None) -> str:
    """Give the version that an event leaves: its own, if it has one that is not older.

    Where versions are numbers, one that is none is not believed; where they are not, each is taken as it comes.
    """
    if seen is None or not _usable(seen):
        return version
    match compare(seen, version):
        case -1:
            return version
        case None if compare(version, "1") is not None:
            return version
        case _:
            return seen


def _objects_of(events: list[ObjectEvent[T] | SkippedEvent], key_of: Callable[[T], Hashable]) -> list[T]:
    """Give what is left after the initial events; changes may be among them."""
    objects = [event.obj for event in events if isinstance(event, ObjectEvent) and event.type != "DELETED"]
    if len(objects) == len(events):
        return objects  # of two with one key the last one counts anyway
    left: dict[Hashable, T] = {}
    for event in events:
        match event:
            case SkippedEvent(key=key):
                left.pop(key, None)
            case ObjectEvent(type="DELETED", obj=obj):
                left.pop(key_of(obj), None)
            case ObjectEvent(obj=obj):
                left[key_of(obj)] = obj
    return list(left.values())


def _noting(memory: Memory, error: Exception, *, counted: bool = True) -> Memory:
    """Remember an error, and count it."""
    stats = memory.stats
    if counted:
        kind = _kind_of(error)
        stats = replace(stats, errors={**stats.errors, kind: stats.errors.get(kind, 0) + 1})
    return replace(memory, error=error, stats=stats)


def _kind_of(error: Exception) -> ErrorKind:
    return error.kind if isinstance(error, SourceError) else ErrorKind.STORE


def _silence(request: WatchRequest) -> SourceError:
    return SourceError(f"the watch gave nothing for {request.silence_seconds:g} s", kind=ErrorKind.SILENCE)


def _no_version(what: str, version: str | None) -> SourceError:
    return SourceError(f"a {what} with resource version {version!r} cannot be watched from", kind=ErrorKind.PROTOCOL)


def _out_of_turn(state: object, event: object) -> AssertionError:
    return AssertionError(f"{type(event).__name__} is no answer while {type(state).__name__}")
