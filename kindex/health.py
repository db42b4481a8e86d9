"""Health: what a probe of Kubernetes asks, as a WSGI application."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from kindex.errors import InformerError
from kindex.forks import tell_when_forked
from kindex.informer.grouping import AnyGroup
from kindex.informer.informing import AnyInformer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

Probed: TypeAlias = AnyInformer[Any, Any] | AnyGroup[Any]  # Any: of whatever objects
Check: TypeAlias = Literal["ready", "live"]


def probe(
    *what: Probed,
    check: Check = "ready",
    patience_seconds: float = 0.0,
    clock: Callable[[], float] = time.monotonic,
) -> WSGIApplication:
    r"""Make a WSGI application that answers a probe: 200 if all is well, else 503 and the reasons as text.

    It answers any path, to GET and HEAD, at once and without I/O. Any server of WSGI serves it, such as ``wsgiref``;
    a framework mounts it.

    Args:
        what: informers and groups.
        check: ``"ready"``: all is synced and live, as ``ready()`` says; for a readiness or startup probe. ``"live"``:
            what has synced follows its source; what has not synced yet is no fault. For a liveness probe, and with some
            patience: a new process does not mend a server that is down, and has to list everything again.
        patience_seconds: for so long something may be wrong, by *clock*, before the answer is 503.
        clock: gives seconds.

    Raises:
        InformerError: *what* is no informer or group, or *check* is neither of the two.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> ready = probe(Informer(FakeSource(name="pods")))
    >>> ready({"REQUEST_METHOD": "GET"}, lambda status, headers: print(status))
    503 Service Unavailable
    [b'pods: not started\n']
    """
    if check not in ("ready", "live"):
        raise InformerError(f"check is 'ready' or 'live', not {check!r}")
    for each in what:
        if not isinstance(each, AnyInformer | AnyGroup):
            raise InformerError(f"a probe asks informers and groups, not {each!r}")
    if not what:
        raise InformerError("a probe asks one informer or group, or several; there is none")
    return _Probe(what, check, patience_seconds, clock)


class _Probe:
    """The application; remembers since when something is wrong."""

    def __init__(
        self, what: Sequence[Probed], check: Check, patience_seconds: float, clock: Callable[[], float]
    ) -> None:
        self._what = what
        self._check = check
        self._patience_seconds = patience_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._wrong_since: float | None = None  # guarded by it
        tell_when_forked(self)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        method = environ.get("REQUEST_METHOD", "GET")
        if method not in ("GET", "HEAD"):
            status, text, allow = "405 Method Not Allowed", "GET or HEAD\n", [("Allow", "GET, HEAD")]
        else:
            status, text = self._answer()
            allow = []
        body = text.encode()
        start_response(
            status,
            [
                ("Content-Type", "text/plain; charset=utf-8"),
                ("Content-Length", str(len(body))),
                ("Cache-Control", "no-store"),
                *allow,
            ],
        )
        return [] if method == "HEAD" else [body]

    def forked(self) -> None:
        """Go on in a child process, where no other thread answers."""
        self._lock = threading.Lock()

    def _answer(self) -> tuple[str, str]:
        reasons = [reason for informer in self._informers() for reason in self._wrong(informer)]
        with self._lock:
            now = self._clock()
            if not reasons:
                self._wrong_since = None
                return "200 OK", "ok\n"
            if self._wrong_since is None:
                self._wrong_since = now
            waited = now - self._wrong_since
        text = "".join(f"{' '.join(reason.split())}\n" for reason in reasons)
        if waited < self._patience_seconds:
            return "200 OK", f"for {waited:.0f} s, of {self._patience_seconds:.0f}:\n{text}"
        return "503 Service Unavailable", text

    def _informers(self) -> list[AnyInformer[Any, Any]]:
        return [
            informer for each in self._what for informer in (each.informers if isinstance(each, AnyGroup) else (each,))
        ]

    def _wrong(self, informer: AnyInformer[Any, Any]) -> tuple[str, ...]:
        """Say what is wrong with *informer*."""
        reasons = informer.ready().reasons
        if self._check == "ready":
            return reasons
        # A thread that has ended does not come back, synced or not.
        return reasons if informer.synced or informer.over else ()
