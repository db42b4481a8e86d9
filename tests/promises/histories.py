"""Histories: what really happened to a store that several threads write to, and what followers were told of it.

Each promise to followers is checked on such histories by a function that tells what breaks it; and each has a control,
a history that was tampered with, in which the function must find something.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from kindex import LabelIndexer, ObjectKey, Store
from kindex.core import Core
from tests.pods import Pod, key, pod, versioned
from tests.running import Beside
from tests.strategies import seeded

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from random import Random

    from kindex import Delta, Follower

State = dict[ObjectKey, Pod]

SEEDS: Final = range(4)
WRITES: Final = 120
"""Of each of two writers."""

NAMES: Final = [f"p{number}" for number in range(12)]
LEFT, RIGHT, LAST = key("left"), key("right"), key("last")
"""A pair that is only ever written in one transaction, to equal numbers; and what is written at the very end."""


def everything(_key: ObjectKey, _obj: Pod) -> bool:
    return True


def is_web(_key: ObjectKey, obj: Pod) -> bool:
    return bool(obj["metadata"]["labels"]["app"] == "web")


def is_even(_key: ObjectKey, obj: Pod) -> bool:
    return int(obj["metadata"]["labels"]["number"]) % 2 == 0


class Witness(NamedTuple):
    """One follower: its filter, whether it wants each commit, and what it took each time."""

    name: str
    wanted: Callable[[ObjectKey, Pod], bool]
    each: bool
    takes: list[list[Delta[Pod]]]

    @property
    def deltas(self) -> list[Delta[Pod]]:
        return [delta for taken in self.takes for delta in taken]


class History(NamedTuple):
    """The state after each revision, and the witnesses."""

    states: dict[int, State]
    witnesses: list[Witness]

    def wanted(self, witness: Witness, revision: int) -> dict[ObjectKey, int]:
        """Tell which objects there were at a revision for a witness, by identity."""
        return {key: id(obj) for key, obj in self.states[revision].items() if witness.wanted(key, obj)}


def recorded(seed: int) -> History:
    """Let two threads write and six follow, and give what happened and what was told."""
    states: dict[int, State] = {}
    store: Store[Pod] = Store(name="pods", indexers=[LabelIndexer("app")])
    with pytest.MonkeyPatch.context() as patched, quick_switches():
        for name in ("commit", "swap"):
            patched.setattr(Core, name, _recording(getattr(Core, name), states))
        store.replace([_made(seeded(seed), name, number) for number, name in enumerate(NAMES)])
        witnesses = [
            Witness("all", everything, False, []),
            Witness("web", is_web, False, []),
            Witness("even", is_even, False, []),
            Witness("each", everything, True, []),
            Witness("each web", is_web, True, []),
            Witness("each, one by one", everything, True, []),
        ]
        readers = [Beside(_reading(store, witness, one=witness.name.endswith("one"))) for witness in witnesses]
        writers = [Beside(_writing(store, seeded(f"{seed} {number}"), number)) for number in range(2)]
        for writer in writers:
            writer.result()
        store.put(pod("last", app="web", number="0"))
        for reader in readers:
            reader.result()
    return History(states, witnesses)


@contextmanager
def quick_switches() -> Iterator[None]:
    """Let threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _recording(commit: Callable[..., Any], states: dict[int, State]) -> Callable[..., Any]:
    def record(core: Core[Pod], *arguments: Any, **options: Any) -> Any:
        done = commit(core, *arguments, **options)
        slots = core.generation.slots
        states[core.generation.revision] = {
            found: obj for found, slot in slots.slot_of.items() if (obj := slots.objects[slot]) is not None
        }
        return done

    return record


def _made(random: Random, name: str, number: int) -> Pod:
    made = pod(name, app=random.choice(["web", "db"]), number=str(number))
    return versioned(made, f"{name} {random.randrange(2)}", f"{number}{random.randrange(1000)}")


def _writing(store: Store[Pod], random: Random, writer: int) -> Callable[[], None]:
    def write() -> None:
        for number in range(WRITES):
            _write(store, random, writer * WRITES + number)

    return write


def _write(store: Store[Pod], random: Random, number: int) -> None:
    """Write something: one object, several, a relist, or the pair."""
    kind = random.randrange(20)
    if kind < 8:
        store.put(_made(random, random.choice(NAMES), number))
    elif kind < 11:
        store.delete(key(random.choice(NAMES)))
    elif kind < 15:
        with store.transaction() as txn:
            txn.put(pod("left", app="web", number=str(number)))
            txn.put(_made(random, random.choice(NAMES), number))
            txn.put(pod("right", app="web", number=str(number)))
    elif kind == 15:
        with store.transaction() as txn:
            txn.delete(RIGHT)
            txn.delete(LEFT)
    elif kind == 16:
        pair = [pod(name, app="web", number=str(number)) for name in ("left", "right")]
        store.replace([*(_made(random, name, number) for name in NAMES), *pair], str(number))
    elif kind == 17:
        store.replace([pod(f"o{random.randrange(3)}", "other", app="web", number="1")], namespace="other")
    elif kind == 18:
        store.observe("MODIFIED", _made(random, random.choice(NAMES), number))
    else:
        store.bookmark(str(number))


def _reading(store: Store[Pod], witness: Witness, *, one: bool) -> Callable[[], None]:
    query: dict[str, Any] = {}
    if witness.wanted is is_web:
        query["label_selector"] = "app=web"
    if witness.wanted is is_even:
        query["where"] = lambda obj: is_even(LAST, obj)
    follower: Follower[Pod] = store.follow(overflow="close" if witness.each else "merge", **query)

    def read() -> None:
        with follower:
            while not (witness.takes and any(delta.key == LAST for delta in witness.takes[-1])):
                delta = follower.next() if one else None
                witness.takes.append([delta] if delta is not None else follower.take(None))

    return read


def tampered(history: History, tamper: Callable[[list[list[Delta[Pod]]]], object]) -> History:
    """Give the same history with other testimonies."""
    witnesses = []
    for witness in history.witnesses:
        takes = [list(taken) for taken in witness.takes]
        tamper(takes)
        witnesses.append(witness._replace(takes=takes))
    return history._replace(witnesses=witnesses)


def learn(seen: State, delta: Delta[Pod]) -> None:
    """Apply a delta to what a follower has seen."""
    if delta.new is None:
        seen.pop(delta.key, None)
    else:
        seen[delta.key] = delta.new


def known(seen: State) -> dict[ObjectKey, int]:
    """Tell what was seen, by identity."""
    return {found: id(obj) for found, obj in seen.items()}
