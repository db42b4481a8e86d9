"""Watches: what is sent when, and where in it faults happen."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Final

import attrs

from kindex.testing.api_server.listing import check_versions
from kindex.testing.api_server.states import error_event
from kindex.testing.api_server.statuses import ApiError
from kindex.testing.api_server.storage import BookmarkDue, Change

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.testing.api_server.activity import Activity
    from kindex.testing.api_server.bodies import WatchBody
    from kindex.testing.api_server.faults import Fault, Faults, Stage
    from kindex.testing.api_server.inboxes import Inbox
    from kindex.testing.api_server.requests import Request
    from kindex.testing.api_server.selection import Selection
    from kindex.testing.api_server.states import EventType, ObjectState, Rendering
    from kindex.testing.api_server.storage import Message, Storage

_GARBAGE: Final = b'{"type":"MODIFIED","object":{"kind":\n'


class Ended(Exception):  # noqa: N818 - no error: watches end
    """The stream ends cleanly."""


class Reset(Exception):  # noqa: N818 - an order, from a fault to the connection
    """The connection is to be reset."""


class Truncated(Exception):  # noqa: N818 - an order, from a fault to the connection
    """The connection is to be closed in the middle of a chunk."""


@attrs.frozen
class WatchOptions:
    """What a watch was asked for, beside its selection.

    Attributes:
        version: where it starts; 0 is anywhere.
        initial: whether the objects that are there come first.
        initial_end: whether a bookmark says where they end.
        bookmarks: whether the client wants bookmarks.
        timeout_seconds: after which it ends; None is never.
    """

    version: int
    initial: bool
    initial_end: bool
    bookmarks: bool
    timeout_seconds: int | None

    @classmethod
    def of(cls, request: Request) -> WatchOptions:
        """Read the parameters of *request*.

        Raises:
            ApiError: they contradict one another (422), or are no numbers (400).
        """
        check_versions(request)
        version = request.whole_number("resourceVersion") or 0
        asked = request.flag("sendInitialEvents")
        bookmarks = bool(request.flag("allowWatchBookmarks"))
        return cls(
            version,
            initial=version == 0 if asked is None else asked,
            initial_end=bool(asked) and bookmarks,
            bookmarks=bookmarks,
            timeout_seconds=request.whole_number("timeoutSeconds") or None,
        )


@attrs.define(eq=False)
class Watch:
    """One running watch: it turns changes into the events that this client sees."""

    request: Request
    options: WatchOptions
    selection: Selection
    rendering: Rendering
    storage: Storage
    faults: Faults
    activity: Activity
    inbox: Inbox[Message]
    body: WatchBody
    bookmark_seconds: float
    send_headers: Callable[[], None]
    pause: Callable[[Fault], None]
    _events: int = 0

    def run(self) -> None:
        """Send until the watch ends.

        Raises:
            HungUp: the client left, or the server stops.
            Reset: a fault says that the connection is to be reset.
            Truncated: a fault says that it is to be closed as it is.
        """
        name = self.rendering.resource.name
        try:
            with self.storage.lock:
                initial, newest = self._opening()
                self.storage.subscribe(name, self.inbox)
        except ApiError as error:
            self.send_headers()
            self.body.write(error_event(error))
            self.body.end()
            return
        try:
            # What a client does after it saw the headers happens after the watch began.
            with self.activity.watching(self.request), contextlib.suppress(Ended):
                self.send_headers()
                self._send_initial(initial, newest)
                self._follow()
        finally:
            self.storage.unsubscribe(name, self.inbox)
            self.inbox.clear()  # its connection may be used again
        self.body.end()

    def _opening(self) -> tuple[list[ObjectState], int]:
        """Give the objects to begin with and their version; changes to begin with go to the inbox.

        The caller holds the lock.
        """
        version = self.options.version
        if self.options.initial:
            self.storage.refuse_future(version)
            snapshot = self.storage.snapshot(self.rendering.resource.name)
            states = snapshot.part(self.selection.namespace)
            return [state for state in states if self.selection.matches_selectors(state)], snapshot.version
        if version:
            for change in self.storage.changes_since(self.rendering.resource.name, version):
                self.inbox.put(change)
        return [], version or self.storage.version

    def _send_initial(self, states: list[ObjectState], version: int) -> None:
        for state in states:
            self._send(self.rendering.event("ADDED", state), "initial")
        if self.options.initial_end:
            self._send(self.rendering.bookmark(version, initial_events_end=True), "initial")

    def _follow(self) -> None:
        started = time.monotonic()
        timeout = self.options.timeout_seconds
        ends = started + timeout if timeout is not None else float("inf")
        bookmark_at = started + self.bookmark_seconds if self.options.bookmarks else float("inf")
        while (now := time.monotonic()) < ends:
            match self.inbox.take():
                case Change() as change if change.version > self.options.version:
                    self._send_change(change)
                case BookmarkDue(version) if self.options.bookmarks and version >= self.options.version:
                    self._send(self.rendering.bookmark(version), "bookmark")
                case None:
                    due = self.faults.take(self.request, "idle", self._events)
                    self._meet(due)
                    self.body.flush()
                    if not self.inbox.empty or any(fault.kind == "stall" for fault in due):
                        continue  # a stall may have swallowed the wake for what came meanwhile
                    if now >= bookmark_at:
                        bookmark_at = now + self.bookmark_seconds
                        self.storage.bookmark(self.inbox)
                    next_at = min(ends, bookmark_at)
                    self.inbox.wait(next_at - now if next_at < float("inf") else None)

    def _send_change(self, change: Change) -> None:
        """Send what *change* is to this client: objects that enter or leave its selection are added or deleted."""
        before, after = change.before, change.after
        was_selected = before is not None and self.selection.matches(before)
        kind: EventType
        if after is not None and self.selection.matches(after):
            kind, shown = ("MODIFIED" if was_selected else "ADDED"), after
        elif before is not None and was_selected:
            kind, shown = "DELETED", before.at_version(change.version)
        else:
            return
        self._send(self.rendering.event(kind, shown), "busy")

    def _send(self, line: bytes, stage: Stage) -> None:
        for _ in range(self._meet(self.faults.take(self.request, stage, self._events))):
            self.body.write(line)
        self._events += 1

    def _meet(self, faults: list[Fault]) -> int:
        """Let the *faults* happen, and give how often the line that comes next is to be sent."""
        times = 1
        for fault in faults:
            match fault.kind:
                case "lose":
                    times = 0
                case "repeat":
                    times = 2
                case "compact":
                    self.storage.compact()
                case "garbage":
                    self.body.write(_GARBAGE)
                case "blank":
                    self.body.write(b"\n")
                case "stall":
                    self.body.flush()
                    self.pause(fault)
                case "error":
                    self.body.write(error_event(fault.error))
                    raise Ended
                case "end":
                    raise Ended
                case "truncate":
                    self.body.truncate()
                    raise Truncated
                case "reset":
                    self.body.flush()
                    raise Reset
        return times
