"""Storage: the objects of all resources, one count of versions over them, and what happened since the compaction."""

from __future__ import annotations

import threading
from bisect import bisect_left, bisect_right
from collections import OrderedDict, defaultdict
from typing import TYPE_CHECKING, Final, TypeAlias

import attrs

from kindex.testing.api_server.states import ObjectState
from kindex.testing.api_server.statuses import expired, too_large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kindex.keys import ObjectKey
    from kindex.testing.api_server.inboxes import Inbox
    from kindex.testing.manifests import RawObject

_SNAPSHOTS_KEPT: Final = 16


@attrs.frozen(eq=False)
class Change:
    """What one write did to one object: *before* is None for a new one, *after* for a deleted one."""

    version: int
    before: ObjectState | None
    after: ObjectState | None


@attrs.frozen
class BookmarkDue:
    """All changes up to *version* have been handed over before this."""

    version: int


Message: TypeAlias = Change | BookmarkDue


@attrs.frozen(eq=False)
class Snapshot:
    """The objects of one resource as they were at one version, in the order of their paths."""

    version: int
    paths: list[str]
    states: list[ObjectState]

    def part(self, namespace: str | None, after: str = "") -> list[ObjectState]:
        """Give the states of *namespace* (None: of all) whose path comes after *after*."""
        start, end = 0, len(self.paths)
        if namespace is not None:
            # Among the paths of a namespace, "/" follows its name; "0" is the character after "/".
            start, end = bisect_left(self.paths, f"{namespace}/"), bisect_left(self.paths, f"{namespace}0")
        return self.states[max(start, bisect_right(self.paths, after)) : end]


class Storage:
    """All objects, by resource name and key.

    Whoever reads and then writes holds ``lock`` meanwhile; it is re-entrant, and nothing else is taken under it.
    """

    def __init__(self, version: int) -> None:
        self.lock = threading.RLock()
        self.version = version
        self.oldest = version  # earlier states are forgotten
        self._objects: defaultdict[str, dict[ObjectKey, ObjectState]] = defaultdict(dict)
        self._history: defaultdict[str, list[Change]] = defaultdict(list)
        self._inboxes: defaultdict[str, list[Inbox[Message]]] = defaultdict(list)
        self._current: dict[str, Snapshot] = {}
        self._past: OrderedDict[tuple[str, int], Snapshot] = OrderedDict()

    def get(self, name: str, key: ObjectKey) -> ObjectState | None:
        """Give the state of one object, or None."""
        with self.lock:
            return self._objects[name].get(key)

    def commit(self, name: str, key: ObjectKey, obj: RawObject | None) -> ObjectState:
        """Write *obj*, or with None delete what is there, as the next version; give what was written or deleted.

        The state of a deleted object is its last one, with the version of the deletion.
        """
        with self.lock:
            version = self.version + 1
            before = self._objects[name].get(key)
            if obj is not None:
                written = self._objects[name][key] = ObjectState.of(obj, version)
                change = Change(version, before, after=written)
            else:
                before = self._objects[name].pop(key)
                written = before.at_version(version)
                change = Change(version, before, after=None)
            self.version = version
            self._current.pop(name, None)
            self._history[name].append(change)
            for inbox in self._inboxes[name]:
                inbox.put(change)
            return written

    def snapshot(self, name: str, version: int | None = None) -> Snapshot:
        """Give all objects as they are, or were at *version*.

        O(1) while nothing changes; O(objects) after a change, or for a version that was not asked for lately.

        Raises:
            ApiError: *version* is compacted (410), or in the future (504).
        """
        with self.lock:
            if version is None or version == self.version:
                if name not in self._current:
                    self._current[name] = _sorted(self.version, self._objects[name].values())
                return attrs.evolve(self._current[name], version=self.version)
            self.refuse_compacted(version)
            self.refuse_future(version)
            if (name, version) not in self._past:
                self._past[name, version] = self._undone(name, version)
                if len(self._past) > _SNAPSHOTS_KEPT:
                    self._past.popitem(last=False)
            return self._past[name, version]

    def refuse_compacted(self, version: int) -> None:
        """Raise ApiError (410) for a *version* whose history is forgotten."""
        with self.lock:
            if version < self.oldest:
                raise expired(version, self.oldest)

    def refuse_future(self, version: int) -> None:
        """Raise ApiError (504) for a *version* that has not been reached."""
        with self.lock:
            if version > self.version:
                raise too_large(version, self.version)

    def changes_since(self, name: str, version: int) -> list[Change]:
        """Give what happened after *version*, oldest first.

        Raises:
            ApiError: *version* is compacted (410).
        """
        with self.lock:
            self.refuse_compacted(version)
            history = self._history[name]
            return history[bisect_right(history, version, key=lambda change: change.version) :]

    def subscribe(self, name: str, inbox: Inbox[Message]) -> None:
        """Put every further change of *name* into *inbox*."""
        with self.lock:
            self._inboxes[name].append(inbox)

    def unsubscribe(self, name: str, inbox: Inbox[Message]) -> None:
        """Put no more into *inbox*."""
        with self.lock:
            self._inboxes[name].remove(inbox)

    def bookmark(self, inbox: Inbox[Message] | None = None) -> None:
        """Make a bookmark due for *inbox*, or for everyone who is subscribed."""
        with self.lock:
            for each in [inbox] if inbox else [each for inboxes in self._inboxes.values() for each in inboxes]:
                each.put(BookmarkDue(self.version))

    def compact(self) -> int:
        """Forget all that was, and give the oldest version that can still be read.

        The count goes up by one before, as by a write elsewhere in the cluster: whatever a client knows is too old.
        """
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self._history.clear()
            self._past.clear()
            return self.oldest

    def _undone(self, name: str, version: int) -> Snapshot:
        """Go back from the present to *version*. The caller holds the lock."""
        objects = dict(self._objects[name])
        for change in reversed(self.changes_since(name, version)):
            match change:
                case Change(before=None, after=ObjectState(key=key)):
                    del objects[key]
                case Change(before=ObjectState() as before):
                    objects[before.key] = before
        return _sorted(version, objects.values())


def _sorted(version: int, states: Iterable[ObjectState]) -> Snapshot:
    by_path = {state.path: state for state in states}
    paths = sorted(by_path)
    return Snapshot(version, paths, [by_path[path] for path in paths])
