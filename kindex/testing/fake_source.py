"""FakeSource: a source in memory, for tests of what is built on an informer; it fails when it is told to."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from copy import deepcopy
from typing import Literal, NamedTuple, TypeAlias

import attrs

from kindex.informer.clocks import Clock, SystemClock
from kindex.keys import ObjectKey
from kindex.objects import key_of
from kindex.sources.base import (
    BookmarkEvent,
    ErrorEvent,
    ListRequest,
    ObjectEvent,
    ObjectEventType,
    Page,
    WatchEvent,
    WatchRequest,
)
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing.fake_streams import Change, FakeStream
from kindex.testing.manifests import RawObject

Asked: TypeAlias = Literal["list", "page", "watch"]
"""The first page of a list, a later one, or a watch."""

_FIRST_VERSION = 1_000


class Sent(NamedTuple):
    """A request that a FakeSource got, and when."""

    request: ListRequest | WatchRequest
    at: float


class FakeSnapshot(NamedTuple):
    """The state of a FakeSource, kept for ``restore``."""

    objects: dict[ObjectKey, RawObject]
    version: int


@attrs.define
class _Fault:
    asked: Asked
    error: SourceError
    times: int | None
    namespace: str | None


class FakeSource:
    """Lists and watches objects that a test adds, updates and deletes; fails as servers and networks do.

    It behaves as an API server: every write raises the version, pages come from one snapshot, a watch starts anywhere
    in the history that is kept, a version that is forgotten is answered by 410, the initial events of a WatchList end
    when they have been read, and changes that come meanwhile are among them. Objects are copied on their way in and
    out. Each method may be called from any thread; those about open watches reach the watches that are open then.

    Args:
        objects: that are there at the beginning.
        name: what it lists.
        watch_list: whether it offers WatchList, and does not refuse it.
        gone: how a watch from a forgotten version is answered: by HTTP status 410, or by an ERROR event in a stream
            that was opened; servers do both.
        clock: by which watches time out, and are silent.

    >>> source = FakeSource([{"metadata": {"namespace": "prod", "name": "web-1"}}])
    >>> page = source.list_page(ListRequest())
    >>> stream = source.watch(WatchRequest(resource_version=page.resource_version))
    >>> _ = source.add({"metadata": {"namespace": "prod", "name": "web-2"}})
    >>> source.end_watches()
    >>> [(event.type, event.obj["metadata"]["name"]) for event in stream]
    [('ADDED', 'web-2')]
    >>> source.fail("list", 500)
    >>> source.list_page(ListRequest())
    Traceback (most recent call last):
    ...
    kindex.sources.errors.SourceError: 500: as the test said
    """

    def __init__(
        self,
        objects: Iterable[RawObject] = (),
        *,
        name: str = "objects",
        watch_list: bool = False,
        gone: Literal["status", "event"] = "event",
        clock: Clock | None = None,
    ) -> None:
        self.name = name
        self.offers_watch_list = watch_list
        self.requests: list[Sent] = []
        self._gone = gone
        self._clock = SystemClock() if clock is None else clock
        self._lock = threading.RLock()
        self._objects: dict[ObjectKey, RawObject] = {}
        self._version = self._oldest = _FIRST_VERSION
        self._uids = 0
        self._history: list[Change] = []
        self._losing = 0
        self._snapshots: dict[str, tuple[list[RawObject], str]] = {}
        self._streams: list[FakeStream] = []
        self._faults: list[_Fault] = []
        for obj in objects:
            self.add(obj)

    # What a test does to the objects

    @property
    def objects(self) -> list[RawObject]:
        """The objects, sorted by key."""
        with self._lock:
            return deepcopy(self._in(None))

    @property
    def resource_version(self) -> str:
        """The version of the last change."""
        return str(self._version)

    def add(self, obj: RawObject) -> RawObject:
        """Create an object; give it as it is stored, with a UID and a resource version.

        Raises:
            SourceError: it is there already (409).
        """
        with self._lock:
            key = key_of(obj)
            if key in self._objects:
                raise SourceError(f"{key} is there already", status=409, reason="AlreadyExists")
            self._uids += 1
            return self._write("ADDED", key, obj, f"uid-{self._uids}")

    def update(self, obj: RawObject) -> RawObject:
        """Change an object; give it as it is stored.

        Raises:
            SourceError: it is not there (404).
        """
        with self._lock:
            key = key_of(obj)
            return self._write("MODIFIED", key, obj, self._stored(key)["metadata"]["uid"])

    def delete(self, what: RawObject | ObjectKey) -> RawObject:
        """Delete an object; give it as it was, with the version of its end.

        Raises:
            SourceError: it is not there (404).
        """
        with self._lock:
            key = what if isinstance(what, ObjectKey) else key_of(what)
            last = self._stored(key)
            return self._write("DELETED", key, last, last["metadata"]["uid"])

    # What a test does to watches

    @property
    def watches(self) -> int:
        """How many watches are open."""
        return len(self._streams)

    def bookmark(self) -> None:
        """Send a bookmark to each open watch."""
        self.send(BookmarkEvent(self.resource_version))

    def send(self, event: WatchEvent[RawObject], *, namespace: str | None = None) -> None:
        """Send any event to each open watch: a repeated one, one without a version, an ErrorEvent.

        With a namespace, to the watches that it concerns.
        """
        with self._lock:
            for stream in self._streams:
                if namespace is None or stream.concerns(namespace):
                    stream.put(event)

    def end_watches(self) -> None:
        """End each open watch in good order."""
        with self._lock:
            for stream in tuple(self._streams):
                stream.finish()

    def cut_watches(self, error: Exception | None = None) -> None:
        """Break each open watch, by *error* or a ConnectionResetError."""
        with self._lock:
            for stream in tuple(self._streams):
                stream.finish(error or ConnectionResetError("the test cut the watch"))

    def stall_watches(self) -> None:
        """Let each open watch give nothing more, nor end: as behind a peer that is gone."""
        with self._lock:
            for stream in self._streams:
                stream.stall()

    def lose(self, changes: int = 1) -> None:
        """Let the next changes reach no watch, ever."""
        self._losing += changes

    # What a test does to the server

    def expire(self) -> None:
        """Forget all versions and tokens that anybody knows; open watches go on."""
        with self._lock:
            self._version += 1  # as if something of another kind had changed
            self._oldest = self._version
            self._history.clear()
            self._snapshots.clear()

    def snapshot(self) -> FakeSnapshot:
        """Keep the present state, for ``restore``."""
        with self._lock:
            return FakeSnapshot(dict(self._objects), self._version)

    def restore(self, snapshot: FakeSnapshot) -> None:
        """Go back to a state that was kept, version included, as from a backup; open watches are cut."""
        with self._lock:
            self.cut_watches()
            self._objects = dict(snapshot.objects)
            self._version = self._oldest = snapshot.version
            self._history.clear()
            self._snapshots.clear()

    def fail(
        self, asked: Asked, error: SourceError | int, *, times: int | None = 1, namespace: str | None = None
    ) -> None:
        """Answer the next requests of a sort by an error.

        Args:
            asked: ``"list"`` for the first page of a list, ``"page"`` for later ones, ``"watch"``.
            error: or its HTTP status.
            times: how often; None until ``heal``.
            namespace: that of the requests; None for any.
        """
        if isinstance(error, int):
            error = SourceError("as the test said", status=error)
        with self._lock:
            self._faults.append(_Fault(asked, error, times, namespace))

    def heal(self) -> None:
        """Fail no more."""
        with self._lock:
            self._faults.clear()
            self._losing = 0

    # What an informer does

    def list_page(self, request: ListRequest) -> Page[RawObject]:
        """Get one page."""
        with self._lock:
            self.requests.append(Sent(request, self._clock.now()))
            self._fail_if_told("page" if request.continuation else "list", request.namespace)
            if request.continuation:
                name, _, start = request.continuation.rpartition("/")
                if name not in self._snapshots:
                    raise SourceError("The provided continue parameter is too old", status=410, reason="Expired")
                objects, version = self._snapshots[name]
            else:
                self._check_known(request.resource_version)
                name, start = f"list-{len(self.requests)}", "0"
                objects, version = self._in(request.namespace), self.resource_version
            end = len(objects)
            if request.limit and request.resource_version != "0":  # as servers do, which answer "any" from memory
                end = min(end, int(start) + request.limit)
            page = deepcopy(objects[int(start) : end])
            if end == len(objects):
                return Page(page, version)
            self._snapshots[name] = (objects, version)
            return Page(page, version, f"{name}/{end}")

    def watch(self, request: WatchRequest) -> FakeStream:
        """Open a watch."""
        with self._lock:
            self.requests.append(Sent(request, self._clock.now()))
            self._fail_if_told("watch", request.namespace)
            if request.initial_events and not self.offers_watch_list:
                raise SourceError("sendInitialEvents is forbidden for watch", status=422, reason="Invalid")
            initial = request.initial_events or request.resource_version in ("", "0")
            if initial:
                self._check_known(request.resource_version)
            after = self._version if initial else int(request.resource_version)
            stream = FakeStream(request, after, self._clock, self._forget)
            self._streams.append(stream)
            if after < self._oldest:
                gone = SourceError(f"too old resource version: {after} ({self._oldest})", status=410, reason="Expired")
                stream.put(ErrorEvent(gone))
                stream.finish()
                if self._gone == "status":
                    raise gone
            if initial:
                for obj in self._in(request.namespace):
                    stream.put(ObjectEvent("ADDED", deepcopy(obj), obj["metadata"]["resourceVersion"]))
            for change in self._history:
                stream.tell(change)
            return stream

    def _write(self, event_type: ObjectEventType, key: ObjectKey, obj: RawObject, uid: str) -> RawObject:
        """Do a write, and tell the watches. The caller holds the lock."""
        self._version += 1
        stored = deepcopy(obj)
        stored["metadata"] |= {"uid": uid, "resourceVersion": self.resource_version}
        if event_type == "DELETED":
            del self._objects[key]
        else:
            self._objects[key] = stored
        if self._losing:
            self._losing -= 1
        else:
            change = Change(self._version, event_type, key.namespace, stored)
            self._history.append(change)
            for stream in self._streams:
                stream.tell(change)
        return deepcopy(stored)

    def _stored(self, key: ObjectKey) -> RawObject:
        """Give a stored object. The caller holds the lock."""
        if key not in self._objects:
            raise SourceError(f"{key} is not there", status=404, reason="NotFound")
        return self._objects[key]

    def _in(self, namespace: str | None) -> list[RawObject]:
        """Give the objects of a namespace, sorted by key. The caller holds the lock."""
        return [obj for key, obj in sorted(self._objects.items()) if namespace in (None, key.namespace)]

    def _check_known(self, version: str) -> None:
        """Refuse a version that is yet to come. The caller holds the lock."""
        if version and int(version) > self._version:
            sentence = f"Too large resource version: {version}, current: {self._version}"
            raise SourceError(sentence, status=504, reason="Timeout", retry_after_seconds=1, kind=ErrorKind.AHEAD)

    def _fail_if_told(self, asked: Asked, namespace: str | None) -> None:
        """Answer by an error, if the test wants it. The caller holds the lock."""
        for fault in self._faults:
            if fault.asked == asked and fault.namespace in (None, namespace):
                if fault.times is not None:
                    fault.times -= 1
                    if not fault.times:
                        self._faults.remove(fault)
                raise fault.error.with_traceback(None)  # else it would keep the frames of every time before

    def _forget(self, stream: FakeStream) -> None:
        """Count a watch as open no longer."""
        with self._lock:
            if stream in self._streams:
                self._streams.remove(stream)
