"""Scenarios: from one state of a cluster to another, by whichever way, comes to the same.

Each ordered pair of the states is a test. The ways: events of an open watch; events of one that is resumed after it
broke; and lists, in pages or streamed, where the server forgot what happened meanwhile. The store then holds the same,
finds it under the same, and who follows was told the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

import attrs
import pytest

from kindex import Added, Deleted, FieldIndexer, Informer, LabelIndexer, ObjectKey, Updated
from kindex.deltas import Delta
from kindex.objects import key_of, uid_of
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, no_thread_left, until
from tests.pods import Pod, key, pod

by_app, by_node = LabelIndexer("app"), FieldIndexer("spec.nodeName")

LONG: Final = 3600
"""Seconds: longer than any delay."""


class Life(NamedTuple):
    """A pod in a state.

    Attributes:
        app: its label.
        node: where it runs.
        birth: pods of one name and another birth are not the same.
    """

    app: str = "web"
    node: str = "n1"
    birth: int = 1


State: TypeAlias = Mapping[ObjectKey, Life]

MANY: Final = {key(f"p{number}", f"ns-{number % 3}"): Life(node=f"n{number % 5}") for number in range(60)}

STATES: Final[Mapping[str, State]] = {
    "empty": {},
    "one pod": {key("a"): Life()},
    "relabelled": {key("a"): Life(app="db")},
    "moved to another node": {key("a"): Life(node="n2")},
    "recreated": {key("a"): Life(birth=2)},
    "recreated and relabelled": {key("a"): Life(app="db", birth=3)},
    "of that name elsewhere": {key("a", "test"): Life()},
    "one more": {key("a"): Life(), key("b"): Life()},
    "another one": {key("b"): Life()},
    "many": MANY,
    "many, and one less": dict(list(MANY.items())[1:]),
    "many, relabelled": {at: life._replace(app="db") for at, life in MANY.items()},
    "many, every second recreated": {
        at: life._replace(birth=1 + number % 2) for number, (at, life) in enumerate(MANY.items())
    },
}

WAYS: Final = ("open watch", "resumed watch", "pages", "WatchList")


def change(source: FakeSource, before: State, after: State) -> None:
    """Do what leads from one state to another, in the same order each time."""
    for at in sorted(before.keys() | after.keys()):
        old, new = before.get(at), after.get(at)
        if old is not None and (new is None or new.birth != old.birth):
            source.delete(at)
            old = None
        if new is not None and old is None:
            source.add(made(at, new))
        elif new != old and new is not None:
            source.update(made(at, new))


def made(at: ObjectKey, life: Life) -> Pod:
    """Make the pod."""
    return pod(at.name, at.namespace, node=life.node, app=life.app)


@attrs.frozen
class Outcome:
    """What is seen in the end.

    Attributes:
        objects: in the store.
        found: what the indexes find, by label and by node.
        told: to a follower, sorted by key: what, which object it was, and what it is.
        known: of what was deleted, whether its last state was known.
    """

    objects: dict[ObjectKey, Pod]
    found: dict[str, list[ObjectKey]]
    told: list[tuple[ObjectKey, str, str, Pod | None]]
    known: frozenset[bool]


def outcome(before: State, after: State, way: str) -> Outcome:
    """Go from one state to another, and look."""
    clock = ManualClock()
    source = FakeSource(name="pods", watch_list=way == "WatchList", clock=clock)
    change(source, {}, before)
    informer = Informer(source, indexers=[by_app, by_node], page_size=7, clock=clock)
    with informer as pods, pods.follow(replay=False) as follower:
        until(informer, lambda: informer.live)
        if way != "open watch":
            source.cut_watches()
            clock.until_waiting()
            assert not informer.live
        change(source, before, after)
        if way in ("pages", "WatchList"):
            source.expire()
        clock.advance(LONG if way != "open watch" else 0)
        pods.wait_version(source.resource_version, PATIENCE)
        assert informer.stats.relists == (way in ("pages", "WatchList"))
        kept = {key_of(each): each for each in pods}
        assert kept == {key_of(each): each for each in source.objects}
        deltas = follower.take()
        return Outcome(
            objects=kept,
            found={f"{index.name}/{value}": sorted(keys) for index, value, keys in finds(pods)},
            told=sorted(map(summary, deltas), key=lambda each: each[0]),
            known=frozenset(delta.final_state_known for delta in deltas if isinstance(delta, Deleted)),
        )


def finds(pods: Any) -> Iterator[tuple[Any, object, list[ObjectKey]]]:
    """Ask the indexes for all that they hold."""
    for index in (by_app.key("app"), by_node):
        for value in pods.index_values(index):
            yield index, value, pods.keys(index.at(value))


def summary(delta: Delta[Pod]) -> tuple[ObjectKey, str, str, Pod | None]:
    """Say what a delta says, but for how it came to be known."""
    match delta:
        case Added(key=at, new=new):
            return at, "added", "", new
        case Updated(key=at, old=old, new=new):
            return at, "updated", uid_of(old), new
        case Deleted(key=at, old=old):
            return at, "deleted", uid_of(old), None


def expected(before: State, after: State) -> list[tuple[ObjectKey, str]]:
    """Say what has to be told, in the order of keys."""
    told = []
    for at in sorted(before.keys() | after.keys()):
        old, new = before.get(at), after.get(at)
        if old is not None and (new is None or new.birth != old.birth):
            told.append((at, "deleted"))
            old = None
        if new is not None and new != old:
            told.append((at, "added" if old is None else "updated"))
    return told


@pytest.mark.parametrize("second", STATES)
@pytest.mark.parametrize("first", STATES)
def test_one_state_then_another(first: str, second: str) -> None:
    """By watch and by list: the same store, the same answers, the same deltas."""
    before, after = STATES[first], STATES[second]
    with no_thread_left():
        outcomes = {way: outcome(before, after, way) for way in WAYS}
    seen = outcomes["open watch"]
    assert [(at, what) for at, what, *_ in seen.told] == expected(before, after)
    for way, each in outcomes.items():
        assert each.objects == seen.objects, way
        assert each.found == seen.found, way
        assert each.told == seen.told, way
        assert each.known <= {way in ("open watch", "resumed watch")}, way
