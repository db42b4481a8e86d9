"""Faults: what goes wrong, at which request and where in it. How a connection is broken is not said here."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import attrs

from kindex.testing.api_server.listing import page_number
from kindex.testing.api_server.statuses import ApiError

if TYPE_CHECKING:
    from kindex.testing.api_server.requests import Request

Kind: TypeAlias = Literal[
    "blank", "compact", "end", "error", "garbage", "lose", "repeat", "reset", "slow_headers", "stall", "status",
    "truncate",
]  # fmt: skip
Stage: TypeAlias = Literal["request", "body", "initial", "busy", "idle", "bookmark"]

_IN_WATCHES: Final[frozenset[Stage]] = frozenset({"initial", "busy", "idle", "bookmark"})
_AT_REQUEST: Final[frozenset[Stage]] = frozenset({"request"})
_IN_BODY: Final[frozenset[Stage]] = frozenset({"body"})
_AT_EVENTS: Final[frozenset[Stage]] = frozenset({"initial", "busy"})
_NOWHERE: Final[frozenset[Stage]] = frozenset()
# Where each kind happens when no stage is ordered, in a watch and elsewhere.
_USUAL_STAGES: Final[Mapping[Kind, tuple[frozenset[Stage], frozenset[Stage]]]] = {
    "blank": (_IN_WATCHES, _NOWHERE),
    "compact": (_AT_REQUEST, _AT_REQUEST),
    "end": (_IN_WATCHES, _NOWHERE),
    "error": (_IN_WATCHES, _NOWHERE),
    "garbage": (_IN_WATCHES, _IN_BODY),
    "lose": (_AT_EVENTS, _NOWHERE),
    "repeat": (_AT_EVENTS, _NOWHERE),
    "reset": (_IN_WATCHES, _AT_REQUEST),
    "slow_headers": (_AT_REQUEST, _AT_REQUEST),
    "stall": (_IN_WATCHES, _IN_BODY),
    "status": (_AT_REQUEST, _AT_REQUEST),
    "truncate": (_IN_WATCHES, _IN_BODY),
}
# After these nothing more of an answer comes.
_ENDING: Final = frozenset({"end", "error", "reset", "status", "truncate"})
# Where it may happen when that is ordered, beside the usual stages.
_OTHER_STAGES: Final[Mapping[Kind, frozenset[Stage]]] = {
    "compact": _IN_WATCHES,
    "lose": frozenset({"bookmark"}),
    "repeat": frozenset({"bookmark"}),
    "reset": _AT_REQUEST | _IN_BODY,
}


@attrs.define(eq=False)
class Fault:
    """One fault that was ordered: which requests it hits, and what became of it.

    Made by ``Faults.add``, which says what the arguments mean.

    >>> from kindex.testing import ApiServer
    >>> with ApiServer() as server:
    ...     fault = server.faults.add("status", verb="list", code=503)
    ...     fault.kind, fault.hits
    ('status', 0)
    """

    kind: Kind
    verb: str | None
    resource: str | None
    namespace: str | None
    page: int | None
    relist: bool
    stage: Stage | None
    skip: int
    after_events: int
    times: int | None
    error: ApiError
    seconds: float | None
    on_change: Callable[[], None]
    _hits: int = 0
    _from_number: int = 0  # requests before this one are let through
    _released: bool = False
    _hit: threading.Condition = attrs.field(factory=threading.Condition)

    @property
    def hits(self) -> int:
        """How often it happened."""
        return self._hits

    @property
    def released(self) -> bool:
        """Whether a stall, or slow headers, may go on."""
        return self._released

    def wait(self, *, hits: int = 1, timeout_seconds: float = 10.0) -> None:
        """Return when it has happened *hits* times.

        Raises:
            TimeoutError: it did not.
        """
        with self._hit:
            if not self._hit.wait_for(lambda: self._hits >= hits, timeout_seconds):
                raise TimeoutError(f"{self.kind} happened {self._hits} times in {timeout_seconds} s, not {hits}")

    def release(self) -> None:
        """Let what stalls go on, where the client is still there, and stall no more."""
        self._released = True
        self.times = 0
        self.on_change()

    def cancel(self) -> None:
        """Let it happen no more."""
        self.times = 0

    def let_through(self, request: Request, *, relist: bool) -> None:
        """Count *request* among those that ``skip`` lets through, if it fits."""
        if self.skip > 0 and self._fits(request, relist=relist):
            self.skip -= 1
            self._from_number = request.number + 1

    def due(self, request: Request, stage: Stage, events: int, *, relist: bool) -> bool:
        """Tell whether it happens to *request* now that it is at *stage* and has sent so many *events*."""
        return (
            self.times != 0
            and self.skip == 0
            and request.number >= self._from_number
            and events >= self.after_events
            and self._happens_at(stage, watch=request.verb == "watch")
            and self._fits(request, relist=relist)
        )

    def happen(self) -> None:
        """Count that it happens."""
        with self._hit:
            self._hits += 1
            if self.times is not None:
                self.times -= 1
            self._hit.notify_all()

    def _fits(self, request: Request, *, relist: bool) -> bool:
        return (
            (self.verb is None or self.verb == request.verb)
            and (self.resource is None or self.resource == request.resource)
            and (self.namespace is None or self.namespace == request.namespace)
            and (self.page is None or self.page == page_number(request))
            and (relist or not self.relist)
        )

    def _happens_at(self, stage: Stage, *, watch: bool) -> bool:
        if self.stage is not None:
            return self.stage == stage
        in_watches, elsewhere = _USUAL_STAGES[self.kind]
        return stage in (in_watches if watch else elsewhere)


class Faults:
    """The faults of one server; safe for threads.

    >>> import urllib.error, urllib.request
    >>> from kindex.testing import ApiServer
    >>> with ApiServer() as server:
    ...     fault = server.faults.add("status", verb="list", code=503)
    ...     try:
    ...         urllib.request.urlopen(f"{server.url}/api/v1/pods")
    ...     except urllib.error.HTTPError as error:
    ...         error.code, fault.hits
    (503, 1)
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []  # guarded by _lock, as are the next two
        self._listed: set[tuple[str, str, str | None]] = set()
        self._relists: set[int] = set()
        self._on_change = on_change

    def add(
        self,
        kind: Kind,
        *,
        verb: str | None = None,
        resource: str | None = None,
        namespace: str | None = None,
        page: int | None = None,
        relist: bool = False,
        stage: Stage | None = None,
        skip: int = 0,
        after_events: int = 0,
        times: int | None = 1,
        code: int = 500,
        reason: str | None = None,
        message: str = "ordered by the test",
        retry_after: int | None = None,
        seconds: float | None = None,
    ) -> Fault:
        """Order a fault: *kind* happens to the next requests that fit, *times* times (None: to all).

        Kinds: ``reset`` the connection; ``truncate`` a chunk or a body and close; ``end`` a watch cleanly; ``stall``,
        a socket that stays open and silent; ``garbage``, a line (or the body of a list) that is no JSON; ``blank``
        line; ``error``, an ERROR event with *code*; ``status``, an HTTP answer with *code* (and ``Retry-After``);
        ``slow_headers``, no answer for a while; ``compact`` the history first; ``lose`` or ``repeat`` one event.

        Args:
            kind: what goes wrong.
            verb: ``list``, ``watch``, ``get``, ``create`` ...; a WatchList is a watch.
            resource: the plural.
            namespace: the one in the path.
            page: of a list, from 1.
            relist: only where the same was listed before: page 1 of a list, or a WatchList.
            stage: ``request`` before anything is answered, ``body`` in the middle of a list's; in a watch
                ``initial`` events up to their bookmark, ``busy`` before a later event, ``idle`` when all is sent,
                ``bookmark`` before one. Where none is ordered, a watch is hit at the first stage that comes, and
                one that already runs is hit at once; a list is reset at ``request`` and cut in its ``body``.
            skip: requests that fit and are let through first; the next one is hit.
            after_events: events (initial ones and bookmarks too) that the watch sends first.
            times: how often it happens.
            code: for ``status`` and ``error``.
            reason: the API's word, where the code's own will not do.
            message: for ``status`` and ``error``.
            retry_after: seconds, sent as header and in the Status; 429 has 1 by itself.
            seconds: how long ``stall`` and ``slow_headers`` last; None until ``release()``.

        Raises:
            ValueError: there is no such kind, or it cannot happen at that stage.

        >>> from kindex.testing import ApiServer
        >>> with ApiServer() as server:
        ...     fault = server.faults.add("reset", verb="watch", after_events=3)
        ...     fault.hits
        0
        """
        _check(kind, stage)
        if retry_after is None and code == 429:
            retry_after = 1
        fault = Fault(
            kind=kind,
            verb=verb,
            resource=resource,
            namespace=namespace,
            page=page,
            relist=relist,
            stage=stage,
            skip=skip,
            after_events=after_events,
            times=times,
            error=ApiError(code, message, reason=reason, retry_after=retry_after),
            seconds=seconds,
            on_change=self._on_change,
        )
        with self._lock:
            self._faults.append(fault)
        self._on_change()
        return fault

    def clear(self) -> None:
        """Let no ordered fault happen any more, and what stalls go on."""
        with self._lock:
            faults, self._faults = self._faults, []
        for fault in faults:
            fault.release()

    def note(self, request: Request) -> None:
        """Count *request*, before anything is done for it."""
        with self._lock:
            relist = False
            if page_number(request) == 1 or request.flag("sendInitialEvents"):
                place = (request.api_version, request.resource, request.namespace)
                relist = place in self._listed
                self._listed.add(place)
            if relist:
                self._relists.add(request.number)
            for fault in self._faults:
                fault.let_through(request, relist=relist)

    def take(self, request: Request, stage: Stage, events: int = 0) -> list[Fault]:
        """Give what goes wrong now, in the order in which it was ordered; each is thereby counted as happened.

        One of each kind, and none after one that ends the answer: what else was ordered has its turn later.
        """
        with self._lock:
            if not self._faults:
                return []
            relist = request.number in self._relists
            due: dict[Kind, Fault] = {}
            for fault in self._faults:
                if fault.kind not in due and fault.due(request, stage, events, relist=relist):
                    due[fault.kind] = fault
                    fault.happen()
                    if fault.kind in _ENDING:
                        break
            self._faults = [fault for fault in self._faults if fault.times != 0]
            return list(due.values())


def _check(kind: Kind, stage: Stage | None) -> None:
    if kind not in _USUAL_STAGES:
        raise ValueError(f"no fault is called {kind!r}; there are {', '.join(get_args(Kind))}")
    if stage is not None:
        in_watches, elsewhere = _USUAL_STAGES[kind]
        possible = in_watches | elsewhere | _OTHER_STAGES.get(kind, _NOWHERE)
        if stage not in possible:
            raise ValueError(f"{kind} cannot happen at {stage!r}; it can at {', '.join(sorted(possible))}")
