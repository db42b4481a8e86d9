"""A reflector against a server that changes, and fails at random: what the store holds, what is told, what is asked.

The model keeps what the server held at every version. Whenever a watch is open, the store holds what the server held at
the version from which it would be resumed; when the server is well again, it soon holds what the server holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kindex import Added, Deleted, Indexer, ObjectKey, Store, Updated
from kindex.informer.commands import Wait
from kindex.informer.reflector import Reflector
from kindex.informer.states import Watching
from kindex.objects import key_of, resource_version_of, uid_of
from kindex.sources import BookmarkEvent, ErrorEvent, ListRequest, ObjectEvent, SourceError
from kindex.testing import FakeSource, ManualClock
from tests.pods import Pod, pod
from tests.reflector_driver import Driver, run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kindex.testing.fake_source import Asked, FakeSnapshot

NAMESPACES = ("prod", "test")
RELIST_SECONDS = 5_000.0

fastidious = Indexer[Pod, str]("app", lambda obj: {"web": "w", "db": "d"}[obj["metadata"]["labels"]["app"]])
"""Objects with another label are refused by the store."""

keys = st.builds(ObjectKey, st.sampled_from(NAMESPACES), st.sampled_from(["a", "b", "c", "d"]))
errors = st.one_of(
    st.sampled_from([400, 401, 403, 404, 410, 422, 500, 501, 503]).map(lambda status: SourceError("no", status=status)),
    st.just(SourceError("slower", status=429, retry_after_seconds=7.0)),
    st.just(SourceError("Too large resource version: 9, current: 8", status=504, reason="Timeout")),
    st.just(SourceError.of(ConnectionRefusedError("nobody there"))),
    st.just(SourceError.of(ValueError("no JSON"))),
)

State = dict[ObjectKey, tuple[str, str]]
"""UID and resource version of each object."""


def state_of(objects: Iterable[Pod]) -> State:
    return {key_of(obj): (uid_of(obj), resource_version_of(obj)) for obj in objects}


def part_of(state: State, namespace: str | None) -> State:
    return {key: value for key, value in state.items() if namespace in (None, key.namespace)}


class ReflectorMachine(RuleBasedStateMachine):
    """A server, one store, and a reflector for all namespaces or one for each."""

    @initialize(
        watch_list=st.booleans(),
        gone=st.sampled_from(["status", "event"]),
        page_size=st.sampled_from([0, 1, 2, 500]),
        namespaces=st.sampled_from([(None,), (None,), NAMESPACES]),
        first=st.sets(keys),
        seed=st.integers(0, 2**32),
    )
    def begin(
        self,
        watch_list: bool,
        gone: Any,
        page_size: int,
        namespaces: tuple[str | None, ...],
        first: set[ObjectKey],
        seed: int,
    ) -> None:
        self.clock = ManualClock()
        objects = [pod(key.name, key.namespace, app="web") for key in sorted(first)]
        self.source = FakeSource(objects, watch_list=watch_list, gone=gone, clock=self.clock)
        self.store: Store[Pod] = Store(name="pods", indexers=[fastidious])
        self.held: dict[int, State] = {}
        self.told: State = {}
        self.events: list[ObjectEvent[Pod]] = []
        self.snapshots: list[FakeSnapshot] = []
        self.doubt = False
        self.take_down()
        self.drivers = [
            Driver(
                self.source,
                self.store,
                self.clock,
                Reflector(namespace=namespace, watch_list=True, page_size=page_size, relist_seconds=RELIST_SECONDS),
                seed=seed + number,
            )
            for number, namespace in enumerate(namespaces)
        ]
        self.read = [0] * len(self.drivers)

    def take_down(self) -> None:
        """Note what the server holds now."""
        self.held[int(self.source.resource_version)] = state_of(self.source.objects)

    # What happens

    @rule(
        changes=st.lists(st.tuples(keys, st.sampled_from(["web", "db", None])), min_size=1),
        turns=st.integers(0, 12),
        echo=st.booleans(),
    )
    def change(self, changes: list[tuple[ObjectKey, str | None]], turns: int, echo: bool) -> None:
        """Objects come, change and go, and the drivers read meanwhile, or fall behind; old events may come again."""
        for key, app in changes:
            there = key in {key_of(obj) for obj in self.source.objects}
            if app is not None:
                obj = pod(key.name, key.namespace, app=app)
                self.note("MODIFIED" if there else "ADDED", self.source.update(obj) if there else self.source.add(obj))
            elif there:
                self.note("DELETED", self.source.delete(key))
            if echo:
                for event in [event for event in self.events if key_of(event.obj) == key][-3:]:
                    self.repeat(event)
            for driver in self.drivers:
                for _ in range(turns):
                    driver.turn()

    @rule(key=keys)
    def spoil(self, key: ObjectKey) -> None:
        """An object becomes one that the store refuses."""
        if key in {key_of(obj) for obj in self.source.objects}:
            self.note("MODIFIED", self.source.update(pod(key.name, key.namespace, app="bad")))

    def note(self, event_type: Any, obj: Pod) -> None:
        self.events.append(ObjectEvent(event_type, obj, resource_version_of(obj)))
        self.take_down()

    def repeat(self, event: ObjectEvent[Pod]) -> None:
        """Send an old event again, of an object that is still there, or was made anew under its name.

        A change of what is gone would raise it from the dead, and nobody could tell; no server does that.
        """
        uid, _ = state_of(self.source.objects).get(key_of(event.obj), ("", ""))
        if uid and not self.doubt and (uid == uid_of(event.obj)) is (event.type != "DELETED"):
            namespace = event.obj["metadata"]["namespace"]
            self.source.send(event, namespace=namespace)
            self.source.send(ObjectEvent(event.type, event.obj, None), namespace=namespace)

    @rule(count=st.integers(1, 6))
    def turn(self, count: int) -> None:
        """The drivers do a little, and stop amid a list or the initial events of a WatchList."""
        for driver in self.drivers:
            for _ in range(count):
                driver.turn()

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.5, 3.0, 40.0, 400.0]))
    def run(self, seconds: float) -> None:
        """Time passes, and the drivers do what there is to do."""
        run(seconds, *self.drivers)

    @rule(seconds=st.sampled_from([0.01, 1.0, 30.0, 400.0]))
    def sleep(self, seconds: float) -> None:
        """Time passes in which nobody does anything: drivers that are late to read, or to wake."""
        if all(driver.asked is None or isinstance(driver.asked, Wait) for driver in self.drivers):
            self.clock.advance(seconds)

    @rule(what=st.sampled_from(["end", "cut", "stall", "bookmark", "expire"]))
    def happen(self, what: str) -> None:
        """Something happens to each open watch, or to what the server remembers."""
        match what:
            case "end":
                self.source.end_watches()
            case "cut":
                self.source.cut_watches()
            case "stall":
                self.source.stall_watches()
            case "bookmark":
                self.source.bookmark()
            case _:
                self.source.expire()
                self.take_down()

    @rule(turns=st.integers(3, 10), key=keys, forget=st.booleans())
    def relist(self, turns: int, key: ObjectKey, forget: bool) -> None:
        """Versions expire, and amid the list that follows an object goes, and the tokens may expire as well."""
        self.happen("expire")
        self.source.cut_watches()
        self.run(0.0)
        self.sleep(30.0)
        self.turn(turns)
        self.change([(key, None)], 0, echo=False)
        if forget:
            self.happen("expire")

    @rule(event=st.one_of(errors.map(ErrorEvent), st.sampled_from([None, "", "None", "0", "1"]).map(BookmarkEvent)))
    def send(self, event: BookmarkEvent | ErrorEvent) -> None:
        """Each open watch gets an error, or a bookmark that says nothing."""
        self.source.send(event)

    @rule(
        asked=st.sampled_from(["list", "page", "watch"]),
        error=errors,
        times=st.integers(1, 4),
        namespace=st.sampled_from([None, "prod"]),
    )
    def fail(self, asked: Asked, error: SourceError, times: int, namespace: str | None) -> None:
        """Requests will fail."""
        self.source.fail(asked, error, times=times, namespace=namespace)

    @rule(choice=st.integers(0, 5))
    def disaster(self, choice: int) -> None:
        """The server is backed up, goes back to an earlier backup, or will lose a change."""
        if not choice:
            self.source.lose()
            self.doubt = True
        elif choice <= len(self.snapshots):
            self.source.restore(self.snapshots[choice - 1])
            self.doubt = True
        else:
            self.snapshots.append(self.source.snapshot())

    # What holds

    @rule()
    def all_is_well_again(self) -> None:
        """The server is well: before long the store holds what it holds, and live says so."""
        self.source.heal()
        for obj in self.source.objects:
            if obj["metadata"]["labels"]["app"] == "bad":
                self.note("DELETED", self.source.delete(obj))
        if self.doubt:  # a loss and a restored server show in the next list only
            self.run(RELIST_SECONDS)
            self.source.end_watches()
        self.run(1_000.0)
        assert state_of(self.store) == state_of(self.source.objects)
        assert all(driver.live and driver.state.error is None for driver in self.drivers)
        assert self.source.watches == len(self.drivers)
        if self.doubt:  # they have all listed since
            self.held.clear()
            self.take_down()
            self.doubt = False
        self.snapshots.clear()
        self.events.clear()

    @invariant()
    def a_watch_is_at_its_version(self) -> None:
        """With a watch open, the store holds what the server held at the version of the watch."""
        if self.doubt:
            return
        for driver in self.drivers:
            state = driver.state
            if isinstance(state, Watching):
                namespace = driver.reflector.namespace
                held = self.held[int(state.resource_version)]
                assert part_of(state_of(self.store), namespace) == part_of(held, namespace)

    @invariant()
    def live_tells_the_truth(self) -> None:
        """Live is a watch that is open and not overdue, or one that ended well a moment ago."""
        for driver in self.drivers:
            if driver.live:
                assert driver.state.synced
                if isinstance(driver.state, Watching):
                    assert driver.stream is not None
            elif isinstance(driver.state, Watching):
                assert self.clock.now() - driver.state.heard_at > driver.state.request.silence_seconds

    @invariant()
    def deltas_tell_all_that_changed(self) -> None:
        """Each delta fits the one before it, and together they lead to what is there."""
        for number, driver in enumerate(self.drivers):
            for delta in driver.deltas[self.read[number] :]:
                match delta:
                    case Added(key=key, new=new):
                        assert key not in self.told
                        self.told[key] = state_of([new])[key]
                    case Updated(key=key, old=old, new=new):
                        assert self.told[key] == state_of([old])[key]
                        self.told[key] = state_of([new])[key]
                    case Deleted(key=key, old=old):
                        assert self.told.pop(key) == state_of([old])[key]
            self.read[number] = len(driver.deltas)
        assert self.told == state_of(self.store)

    @invariant()
    def watches_are_hung_up(self) -> None:
        """No reflector leaves a watch open that it does not read."""
        assert self.source.watches <= sum(driver.stream is not None for driver in self.drivers)

    @invariant()
    def requests_are_few(self) -> None:
        """No second, both ends included, sees five requests of one reflector; pages that go on do not count."""
        for driver in self.drivers:
            times = [
                sent.at
                for sent in self.source.requests
                if sent.request.namespace == driver.reflector.namespace
                and not (isinstance(sent.request, ListRequest) and sent.request.continuation)
            ]
            assert [pair for pair in zip(times, times[4:], strict=False) if pair[1] - pair[0] <= 1.0] == []


TestReflectorMachine = ReflectorMachine.TestCase
TestReflectorMachine.settings = settings(stateful_step_count=40)
