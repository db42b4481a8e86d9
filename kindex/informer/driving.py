"""Driving: what follows from a reflector's commands, but for asking the source and waiting.

A driver holds the state of one reflector, does to the store what it says, and gives what is to be asked of the source.
Threads and tasks ask, and tell it what they heard. There is no policy here.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from math import inf
from threading import RLock
from typing import Generic, TypeAlias, TypeVar, assert_never

import msgspec

from kindex.deltas import Delta
from kindex.errors import KindexError
from kindex.informer.clocks import Clock
from kindex.informer.commands import Apply, Bookmark, Command, Forget, Hangup, Replace, Report, Wait
from kindex.informer.events import Ended, Event, Opened, Refused, Replaced
from kindex.informer.keeping import LeftOut, TakeIn
from kindex.informer.object_budgets import ObjectTally
from kindex.informer.reflector import Reflector
from kindex.informer.states import Gathering, Opening, State, Stats, Waiting
from kindex.objects import resource_version_of
from kindex.resource_versions import compare
from kindex.sources.base import (
    BookmarkEvent,
    ErrorEvent,
    ListRequest,
    ObjectEvent,
    Page,
    SkippedEvent,
    WatchEvent,
    WatchRequest,
)
from kindex.sources.errors import ErrorKind, SourceError
from kindex.store import Store

T = TypeVar("T")

Asked: TypeAlias = ListRequest | WatchRequest | Replace[T] | Wait
"""What is to be answered by an event; where nothing is, the stream is to be read."""

_SAID = (Page, Opened, ObjectEvent, SkippedEvent, BookmarkEvent, Ended)
"""What a source says when all is well."""

_LINKS = 10
"""How far a chain of causes is followed: nothing forbids that it is a ring."""

_log = logging.getLogger(__name__)


class Driver(Generic[T]):
    """Keeps a store, or its part in one namespace, equal to a source; the subclasses ask the source.

    One thread, or task, runs it. What it says of itself may be read from any thread.

    Attributes:
        name: for the log: the informer's, with the namespace.
        namespace: whose objects it keeps; None for all.
        failure: what it could not go on after.
        heard_at: when the source said something last, an error aside; ``-inf`` if never.
    """

    def __init__(
        self,
        name: str,
        reflector: Reflector[T],
        store: Store[T],
        *,
        clock: Clock,
        seed: int,
        take_in: TakeIn[T] | None,
        tally: ObjectTally | None,
        on_change: Callable[[], None],
    ) -> None:
        """Prepare to drive.

        Args:
            name: for the log.
            reflector: which decides.
            store: that is kept equal.
            clock: the time for it.
            seed: of its jitter.
            take_in: makes of an object of the source what is kept.
            tally: counts what objects take.
            on_change: called when something about it has changed that others may wait for; without any lock.
        """
        self.name = name
        self.namespace = reflector.namespace
        self.failure: BaseException | None = None
        self.heard_at = -inf
        self._reflector = reflector
        self._store = store
        self._clock = clock
        self._seed = seed
        self._take_in = take_in
        self._tally = tally
        self._on_change = on_change
        self._state: State[T] | None = None
        self._turn = RLock()  # held while it writes to the store
        self._shut_out = False  # guarded by _turn
        self._over = False

    # What it says of itself

    @property
    def synced(self) -> bool:
        """Whether the first list has been applied."""
        return self._state is not None and self._state.synced

    @property
    def live(self) -> bool:
        """Whether it follows the source now, by the clock."""
        state = self._state
        return state is not None and not self._over and state.live(self._clock.now())

    @property
    def age_seconds(self) -> float:
        """How long ago the source said something."""
        return self._clock.now() - self.heard_at

    @property
    def error(self) -> BaseException | None:
        """What is wrong; None when nothing is."""
        return self.failure or (None if self._state is None else self._state.error)

    @property
    def refused(self) -> bool:
        """Whether it has never listed anything, for want of rights."""
        error = self.error
        return not self.synced and isinstance(error, SourceError) and error.kind is ErrorKind.RIGHTS

    @property
    def stats(self) -> Stats:
        """What happened so far."""
        return Stats() if self._state is None else self._state.stats

    @property
    def over(self) -> bool:
        """Whether it has come to its end."""
        return self._over

    # What whoever asks the source tells it

    def begin(self) -> Asked[T] | None:
        """Begin; give what is to be asked first."""
        self._state, commands = self._reflector.begin(self._clock.now(), self._seed)
        return self._done(commands)

    def tell(self, event: Event[T]) -> Asked[T] | None:
        """Do what follows from *event*; give what is to be asked next, None to read the stream on.

        Raises:
            ObjectBudgetError: the objects take more than they may.
        """
        before = self._state
        assert before is not None, "begin comes first"
        at = self._clock.now()
        if isinstance(event, _SAID):
            self.heard_at = at
            if self._tally is not None:
                self._count(event, self._tally)
        state, commands = self._reflector.step(before, event, at)
        self._state = state
        if state.memory is not before.memory:
            self._on_change()
        return self._done(commands)

    def replace(self, command: Replace[T]) -> Event[T]:
        """Do a Replace; say what came of it.

        Raises:
            ObjectBudgetError: the objects take more than they may.
        """
        try:
            with self._turn:
                if not self._shut_out:
                    self._store.replace(command.objects, command.resource_version, namespace=command.namespace)
        except Exception as error:  # noqa: BLE001 - key and index functions are anybody's
            self._let_go(error)
            return Refused(error)
        if self._tally is not None:
            self._tally.replaced()
        return Replaced()

    def taken_in(self, event: Page[T] | WatchEvent[T]) -> Event[T]:
        """Make of the objects of *event* what is kept."""
        if self._take_in is None:
            return event
        try:
            match event:
                case Page(objects=objects):
                    taken = map(self._take_in, objects)
                    kept = [obj for obj in taken if type(obj) is not LeftOut]
                    return msgspec.structs.replace(event, objects=kept)
                case ObjectEvent(type=change, obj=obj, resource_version=version):
                    kept_or_not = self._take_in(obj)
                    if isinstance(kept_or_not, LeftOut):
                        return SkippedEvent(change, kept_or_not.key, version, kept_or_not.error)
                    return ObjectEvent(change, kept_or_not, version)
                case _:
                    return event
        except Exception as error:  # noqa: BLE001 - a transform is anybody's
            return self.failed(error)

    def failed(self, error: Exception) -> ErrorEvent:
        """Make an event of what the source raised."""
        found = SourceError.of(error)
        self._let_go(found)
        return ErrorEvent(found)

    def hang_up(self) -> None:
        """Let go of the stream, if one is open; the subclass does, at once or as the next thing."""
        raise NotImplementedError

    def end(self, failure: BaseException | None = None) -> None:
        """Take note that nobody drives any more, and let go of what was listed and not applied."""
        match failure:
            case None:
                pass
            case KindexError():
                _log.error("%s: stopped: %s", self.name, failure)
            case _:  # nobody expected it
                _log.error("%s: stopped by an error", self.name, exc_info=failure)
        if failure is not None:
            self._let_go(failure)
        state = self._state
        if state is not None:
            memory = msgspec.structs.replace(
                state.memory, stats=state.stats, resource_version=state.resource_version, error=state.error
            )
            self._state = Waiting(memory, Opening(memory, WatchRequest(self.namespace)), until=inf)
        self.failure = failure
        self._over = True
        self._on_change()

    def forget(self) -> None:
        """Write nothing more, and remove from the store what was brought."""
        with self._turn:
            self._shut_out = True
            self._store.replace((), namespace=self.namespace)
            self._store.bookmark("", namespace=self.namespace)
        if self._tally is not None:
            self._tally.clear()

    def forked(self, failure: Exception) -> None:
        """Be over in a child process, where nobody drives; its sockets are the parent's, too, and are left alone."""
        self._over = True
        self.failure = failure
        self._turn = RLock()

    # Commands

    def _done(self, commands: tuple[Command[T], ...]) -> Asked[T] | None:
        """Do commands; give the last one, if it is to be answered."""
        for command in commands:
            match command:
                case Apply() | Forget():
                    refused = self._apply(command) if isinstance(command, Apply) else self._forget(command)
                    if refused is not None:  # the rest is not to be done
                        return self.tell(refused)
                case ListRequest(continuation="") | WatchRequest():
                    if self._tally is not None:
                        self._tally.begin()
                    return command
                case ListRequest() | Replace() | Wait():
                    return command
                case Bookmark(resource_version=version):
                    self._bookmark(version)
                case Hangup():
                    self.hang_up()
                case Report():
                    self._report(command)
                case _:
                    assert_never(command)
        return None

    def _apply(self, command: Apply[T]) -> Refused | None:
        """Tell the store of one object; say so if it refused."""
        obj, version = command.obj, command.resource_version
        deltas: Sequence[Delta[T]] = ()
        try:
            with self._turn:
                if not self._shut_out:
                    deltas = self._store.observe(command.type, obj, namespace=self.namespace)
        except Exception as error:  # noqa: BLE001 - key and index functions are anybody's
            self._let_go(error)
            return Refused(error)
        if resource_version_of(obj) != version:  # a type that does not keep it, or events out of order
            self._bookmark(version)
        if self._tally is not None:
            self._tally.changed(deltas)
        return None

    def _forget(self, command: Forget) -> Refused | None:
        """Remove one object, but no newer one; say so if the store refused."""
        removed: Delta[T] | None = None
        try:
            with self._turn:
                there = None if self._shut_out else self._store.get(command.key)
                if there is not None and compare(resource_version_of(there), command.seen or "") != 1:
                    removed = self._store.delete(command.key)
        except Exception as error:  # noqa: BLE001 - index functions and scopes are anybody's
            self._let_go(error)
            return Refused(error)
        self._bookmark(command.resource_version)
        if self._tally is not None and removed is not None:
            self._tally.changed((removed,))
        return None

    def _bookmark(self, version: str) -> None:
        with self._turn:
            if not self._shut_out:
                self._store.bookmark(version, namespace=self.namespace)

    def _let_go(self, error: BaseException) -> None:
        """Drop the tracebacks of an error that is to be remembered: their frames hold whole lists."""
        _log.debug("%s: %s", self.name, error, exc_info=error)
        linked: BaseException | None = error
        for _ in range(_LINKS):
            if linked is None:
                break
            linked.__traceback__ = None
            linked = linked.__cause__ or linked.__context__

    def _count(self, event: Event[T], tally: ObjectTally) -> None:
        """Count what comes of a list."""
        match event:
            case Page(objects=objects):
                tally.came(objects)
            case ObjectEvent(obj=obj) if isinstance(self._state, Gathering):
                tally.came((obj,))

    def _report(self, report: Report) -> None:
        level = logging.INFO if report.severity == "info" else logging.WARNING
        _log.log(level, "%s: %s", self.name, report.text)
