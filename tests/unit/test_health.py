"""Probes: what they answer, and for how long they have patience."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from wsgiref.validate import validator

import pytest

from kindex import AsyncInformerGroup, Informer, InformerError, InformerGroup
from kindex.health import probe
from kindex.testing import FakeSource
from tests.informers import Blocking, fails, no_thread_left, until
from tests.pods import pod


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


class _Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def _asked(application: Any, method: str = "GET") -> tuple[str, dict[str, str], str]:
    """Ask as a server does, which checks what it is given."""
    answered: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: Any = None) -> Any:
        answered[:] = [status, dict(headers)]
        return lambda _: None

    environ = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": "/readyz",
        "QUERY_STRING": "",
        "SERVER_NAME": "x",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": _Stream(),
        "wsgi.errors": _Stream(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    body = validator(application)(environ, start_response)
    try:
        text = b"".join(body).decode()
    finally:
        body.close()  # type: ignore[attr-defined]  # the validator gives one that has it
    return answered[0], answered[1], text


class _Stream:
    """As much of a stream as the validator looks for."""

    def read(self) -> None: ...
    def readline(self) -> None: ...
    def readlines(self) -> None: ...
    def __iter__(self) -> Iterator[bytes]:
        return iter(())

    def flush(self) -> None: ...
    def write(self) -> None: ...
    def writelines(self) -> None: ...


def test_ready_from_the_first_list_to_the_stop() -> None:
    """A readiness probe refuses before an informer has synced and after it was stopped, and says why."""
    informer = Informer(FakeSource([pod("a")], name="pods"))
    ready = probe(informer)
    assert _asked(ready)[::2] == ("503 Service Unavailable", "pods: not started\n")
    with informer:
        until(informer, lambda: informer.live)
        status, headers, text = _asked(ready)
        assert (status, text) == ("200 OK", "ok\n")
        assert headers["Content-Type"].startswith("text/plain")
        assert headers["Cache-Control"] == "no-store"
    assert _asked(ready)[::2] == ("503 Service Unavailable", "pods: stopped\n")


def test_a_group_gives_every_reason() -> None:
    """Of a group, and of several informers, each that is wrong has a line."""
    group = InformerGroup()
    group.informer(FakeSource(name="pods"))
    group.informer(FakeSource(name="nodes"))
    text = _asked(probe(group, Informer(FakeSource(name="jobs"))))[2]
    assert text == "pods: not started\nnodes: not started\njobs: not started\n"


def test_an_informer_that_joins_a_group_later_counts() -> None:
    """A probe of a group asks those that are there when it is asked."""
    group = InformerGroup()
    ready = probe(group)
    assert _asked(ready)[0] == "200 OK"
    group.informer(FakeSource(name="pods"))
    assert _asked(ready)[0] == "503 Service Unavailable"


def test_live_does_not_mind_a_first_list_that_takes_long() -> None:
    """A liveness probe must not end a process that is still listing; a readiness probe waits for it."""
    source = Blocking([pod("a")], lists=True)
    informer = Informer(source, name="pods").start()
    try:
        assert source.asked.wait(10)
        assert _asked(probe(informer, check="live"))[0] == "200 OK"
        assert _asked(probe(informer))[2] == "pods: not synced\n"
    finally:
        source.answer.set()
        informer.stop()
    assert _asked(probe(informer, check="live"))[0] == "503 Service Unavailable"


def test_live_notices_an_informer_that_cannot_go_on() -> None:
    """An informer whose thread has ended will never be live, and a liveness probe says so though it never synced."""
    informer = Informer(
        FakeSource([pod("a")], name="pods"), object_budget=1, on_object_budget="stop", objects="dict"
    ).start()
    try:
        until(informer, lambda: informer.over)
        status, _, text = _asked(probe(informer, check="live"))
        assert status == "503 Service Unavailable"
        assert "object_budget" in text
    finally:
        informer.stop()


def test_the_reason_is_one_line() -> None:
    """What a server says stands in the answer, and breaks no line."""
    source = FakeSource(name="pods")
    fails(source, "list", status=403)
    informer = Informer(source).start()
    try:
        until(informer, lambda: informer.last_error)
        text = _asked(probe(informer))[2]
        assert text.startswith("pods: not synced: 403")
        assert text.count("\n") == 1
    finally:
        informer.stop()


def test_patience_counts_from_when_it_went_wrong() -> None:
    """Within its patience a probe answers 200 and says what is wrong; what mends itself begins anew."""
    clock, group = _Clock(), InformerGroup()
    ready = probe(group, patience_seconds=60, clock=clock)
    informer = group.informer(FakeSource([pod("a")], name="pods"))
    assert _asked(ready)[::2] == ("200 OK", "for 0 s, of 60:\npods: not started\n")
    clock.now = 59.0
    assert _asked(ready)[0] == "200 OK"
    clock.now = 60.0
    assert _asked(ready)[0] == "503 Service Unavailable"
    with group:
        until(informer, lambda: informer.live)
        assert _asked(ready)[2] == "ok\n"
    clock.now = 1_000.0
    assert _asked(ready)[0] == "200 OK"


def test_head_has_no_body_and_other_methods_are_refused() -> None:
    """HEAD is answered as GET, without the body; a POST is not a probe."""
    ready = probe(Informer(FakeSource(name="pods")))
    status, headers, text = _asked(ready, "HEAD")
    assert (status, text) == ("503 Service Unavailable", "")
    assert headers["Content-Length"] == str(len("pods: not started\n"))
    assert _asked(ready, "POST")[0] == "405 Method Not Allowed"


def test_a_group_of_asyncio() -> None:
    """A probe may ask from another thread than the loop's."""

    async def main() -> tuple[str, dict[str, str], str]:
        group = AsyncInformerGroup()
        await group.informer(FakeSource([pod("a")], name="pods"))
        async with group:
            return await asyncio.to_thread(_asked, probe(group))

    assert asyncio.run(main())[0] == "200 OK"


@pytest.mark.parametrize(
    ("what", "settings", "sentence"),
    [
        ((), {}, "there is none"),
        (("pods",), {}, "not 'pods'"),
        ((InformerGroup(),), {"check": "healthy"}, "not 'healthy'"),
    ],
)
def test_a_probe_of_nothing_is_refused(what: tuple[Any, ...], settings: dict[str, Any], sentence: str) -> None:
    """What cannot be asked is refused when the probe is made."""
    with pytest.raises(InformerError, match=sentence):
        probe(*what, **settings)
