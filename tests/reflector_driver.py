"""A driver of one reflector, in one thread and by a manual clock: what an informer does, a thing at a time."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Generic, TypeVar, assert_never

from kindex.errors import KindexError
from kindex.informer.commands import Apply, Bookmark, Hangup, Replace, Report, Wait
from kindex.informer.events import Ended, Opened, Refused, Replaced, Silent, Woken
from kindex.informer.reflector import Reflector
from kindex.informer.states import Gathering, Watching
from kindex.sources import ErrorEvent, ListRequest, SourceError, WatchRequest

if TYPE_CHECKING:
    from kindex import Store
    from kindex.deltas import Delta
    from kindex.informer.commands import Command
    from kindex.informer.events import Event
    from kindex.informer.states import State
    from kindex.testing.clocks import ManualClock
    from kindex.testing.fake_source import FakeSource
    from kindex.testing.fake_streams import FakeStream

T = TypeVar("T")

_ENOUGH = 10_000
"""Turns after which something goes round in circles."""


class Play(Generic[T]):
    """A reflector that a test tells, event by event, what happened."""

    def __init__(self, reflector: Reflector[T] | None = None, *, at: float = 0.0, seed: int = 0) -> None:
        self.reflector: Reflector[T] = Reflector() if reflector is None else reflector
        self.at = at
        self.state: State[T]
        self.commands: tuple[Command[T], ...]
        self.state, self.commands = self.reflector.begin(at, seed)

    def tell(self, *events: Event[T], after: float = 0.0) -> tuple[Command[T], ...]:
        """Let time pass, then tell the events; give the commands that the last one led to."""
        self.at += after
        for event in events:
            errors = dict(self.state.stats.errors)  # the one part of a state that could be changed in place
            step = self.reflector.step(self.state, event, self.at)
            assert self.state.stats.errors == errors, "a step changed the state that it was given"
            again = self.reflector.step(self.state, event, self.at)
            assert repr(again) == repr(step), "a step is a function of its arguments"
            self.state, self.commands = step
        return self.commands

    def wait(self) -> tuple[Command[T], ...]:
        """Let the time of the Wait pass that was commanded."""
        return self.tell(Woken(), after=self.waits)

    @property
    def asks(self) -> Any:  # Any: whichever command it is
        """The command that is to be answered."""
        return self.commands[-1]

    @property
    def waits(self) -> float:
        """For how long a wait was commanded."""
        assert isinstance(self.asks, Wait)
        return self.asks.seconds

    @property
    def reports(self) -> list[str]:
        """What was said by the last step."""
        return [command.text for command in self.commands if isinstance(command, Report)]


class Driver:
    """Runs a reflector against a FakeSource and a store."""

    def __init__(
        self,
        source: FakeSource,
        store: Store[Any],
        clock: ManualClock,
        reflector: Reflector[Any] | None = None,
        *,
        seed: int = 0,
    ) -> None:
        self.source = source
        self.store = store
        self.clock = clock
        self.reflector: Reflector[Any] = reflector or Reflector(watch_list=source.offers_watch_list)
        self.stream: FakeStream | None = None
        self.asked: Command[Any] | None = None
        self.wake_at = 0.0
        self.deltas: list[Delta[Any]] = []
        self.reports: list[Report] = []
        self.state: State[Any]
        self.state, commands = self.reflector.begin(clock.now(), seed)
        self._do(commands)

    @property
    def live(self) -> bool:
        """Whether the reflector says that it follows the source now."""
        return self.state.live(self.clock.now())

    def turn(self) -> bool:
        """Do one thing; False if there is nothing to do until time passes or the source says something."""
        event = self._event()
        if event is None:
            return False
        self._tell(event)
        return True

    def settle(self) -> None:
        """Do all that can be done without time passing."""
        for _ in range(_ENOUGH):
            if not self.turn():
                return
        raise AssertionError(f"no end in sight: {self.state}")

    @property
    def due_at(self) -> float:
        """When there is something to do again, if the source says nothing."""
        if isinstance(self.asked, Wait):
            return self.wake_at
        return -inf if self.asked is not None or self.stream is None else self.stream.due_at

    def _event(self) -> Event[Any] | None:
        """Find out what happened."""
        match self.asked:
            case ListRequest() as request:
                try:
                    return self.source.list_page(request)
                except Exception as error:  # noqa: BLE001 - a source may raise anything
                    return ErrorEvent(SourceError.of(error))
            case WatchRequest() as request:
                try:
                    self.stream = self.source.watch(request)
                except Exception as error:  # noqa: BLE001 - a source may raise anything
                    return ErrorEvent(SourceError.of(error))
                return Opened()
            case Replace(namespace=namespace, objects=objects, resource_version=version):
                try:
                    self.deltas += self.store.replace(objects, version, namespace=namespace)
                except KindexError as error:
                    return Refused(error)
                return Replaced()
            case Wait():
                return Woken() if self.clock.now() >= self.due_at else None
            case None:
                return self._read()
            case _:
                raise AssertionError(f"{self.asked} is not answered")

    def _read(self) -> Event[Any] | None:
        """Read the stream, if it has something to say."""
        assert isinstance(self.state, (Watching, Gathering)), "nothing was asked, and no watch is open"
        assert self.stream is not None
        if self.clock.now() < self.due_at:
            return None
        try:
            return next(self.stream)
        except StopIteration:
            return Ended()
        except TimeoutError:
            return Silent()
        except Exception as error:  # noqa: BLE001 - a source may raise anything
            return ErrorEvent(SourceError.of(error))

    def _tell(self, event: Event[Any]) -> None:
        """Give an event to the reflector, and do what it wants."""
        self.asked = None
        self.state, commands = self.reflector.step(self.state, event, self.clock.now())
        self._do(commands)

    def _do(self, commands: tuple[Command[Any], ...]) -> None:
        """Do commands, up to one that is to be answered."""
        for command in commands:
            assert self.asked is None, "only the last command may be answered"
            match command:
                case ListRequest() | WatchRequest() | Replace():
                    self.asked = command
                case Wait(seconds=seconds):
                    self.asked = command
                    self.wake_at = self.clock.now() + seconds
                case Apply(namespace=namespace, type=event_type, obj=obj):
                    try:
                        self.deltas += self.store.observe(event_type, obj, namespace=namespace)
                    except KindexError as error:
                        self._tell(Refused(error))
                        return
                case Bookmark(namespace=namespace, resource_version=version):
                    self.store.bookmark(version, namespace=namespace)
                case Hangup():
                    assert self.stream is not None
                    self.stream.close()
                    self.stream = None
                case Report():
                    self.reports.append(command)
                case _:
                    assert_never(command)


def run(seconds: float, *drivers: Driver) -> None:
    """Let time pass for drivers with one clock, and let them do what there is to do meanwhile."""
    clock = drivers[0].clock
    end = clock.now() + seconds
    while True:
        for driver in drivers:
            driver.settle()
        if clock.now() >= end:
            return
        clock.advance(min(end, *(driver.due_at for driver in drivers)) - clock.now())
