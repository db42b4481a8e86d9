"""What a server had, and what a handler was told of it: the one has to be a shortened form of the other."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from kindex import Added, Deleted, ObjectKey, StoreView, Updated
from kindex.objects import key_of, resource_version_of, uid_of
from kindex.testing import ApiServer
from tests.pods import Pod, pod

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kindex.deltas import Delta

State: TypeAlias = tuple[str, str] | None
"""UID and resource version of an object; None where there is none."""


def state_of(obj: Any) -> State:
    """Read it."""
    return str(uid_of(obj)), str(resource_version_of(obj))


def states_of(objects: Iterable[Any]) -> dict[ObjectKey, State]:
    """Read those of all."""
    return {key_of(obj): state_of(obj) for obj in objects}


def full(name: str, **labels: str) -> Pod:
    """A pod as a server takes it."""
    return {"apiVersion": "v1", "kind": "Pod", **pod(name, **labels)}


class Recorded:
    """A server whose pods are changed here, and all the states that each of them had.

    Attributes:
        had: the states, by key.
    """

    def __init__(self, server: ApiServer) -> None:
        self.server = server
        self.had: dict[ObjectKey, list[State]] = {at: [state] for at, state in self.now.items()}

    @property
    def now(self) -> dict[ObjectKey, State]:
        """What is there."""
        return states_of(self.server.objects("pods"))

    def create(self, made: Pod) -> None:
        self._had(self.server.create(made))

    def update(self, made: Pod) -> None:
        self._had(self.server.update(made))

    def delete(self, name: str, namespace: str = "prod") -> None:
        self.server.delete("pods", name, namespace=namespace)
        self.had[ObjectKey(namespace, name)].append(None)

    def _had(self, made: Pod) -> None:
        self.had.setdefault(key_of(made), []).append(state_of(made))


class Told:
    """A handler that keeps what its deltas make of nothing, and finds those that do not fit what was told before.

    Args:
        whole: whether to keep all that was told, and not only the last.

    Attributes:
        states: of each key, what it was told.
        wrong: deltas that do not fit.
    """

    def __init__(self, *, whole: bool = True) -> None:
        self._whole = whole
        self.states: dict[ObjectKey, list[State]] = {}
        self.wrong: list[Delta[Any]] = []
        self._changed = threading.Condition()

    def __call__(self, delta: Delta[Any]) -> None:
        with self._changed:
            states = self.states.setdefault(delta.key, [])
            before = states[-1] if states else None
            match delta:
                case Added(new=new):
                    fits = before is None
                    states.append(state_of(new))
                case Updated(old=old, new=new):
                    fits = before == state_of(old)
                    states.append(state_of(new))
                case Deleted(old=old):
                    fits = before == state_of(old)
                    states.append(None)
            if not self._whole:
                del states[:-1]
                if states == [None]:
                    del self.states[delta.key]
            if not fits:
                self.wrong.append(delta)
            self._changed.notify_all()

    @property
    def now(self) -> dict[ObjectKey, State]:
        """What is there, as far as it was told."""
        return {at: states[-1] for at, states in self.states.items() if states[-1] is not None}

    def wait_for(self, wanted: dict[ObjectKey, State], timeout_seconds: float) -> None:
        """Wait until this is what is there."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.now == wanted, timeout_seconds), (self.now, wanted)

    def listen(self, view: StoreView[Any]) -> None:
        """Hear of everything in *view*."""
        view.add_event_handler(self, self, self)

    def check_net_changes(self, had: dict[ObjectKey, list[State]]) -> None:
        """Assert that nothing was told that was not so: states may be left out, and not be repeated or turned round.

        Between two objects of one name there is none: a handler is told so even where that was left out of *had*.
        """
        assert self.wrong == []
        for at, states in self.states.items():
            left = iter(had[at])
            for place, state in enumerate(states):
                if state is None and _replaced(states, place):
                    continue
                assert state in left, f"{at} had {had[at]}, and the handler was told {states}"


def _replaced(states: list[State], place: int) -> bool:
    """Tell whether the object before *place* gave way to another of the same name."""
    if not 0 < place < len(states) - 1:
        return False
    before, after = states[place - 1], states[place + 1]
    return before is not None and after is not None and before[0] != after[0]
