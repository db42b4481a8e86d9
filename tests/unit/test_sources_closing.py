"""ClientSource.close: what is under way in any thread ends at once."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kindex.sources.base import ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from tests.sources import LIST_HEAD, SYNC, WATCH_HEAD, ScriptedServer, chunk, connected

EVENT = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "a", "resourceVersion": "7"}}}).encode() + b"\n"


class Asked(threading.Event):
    """Stands in an answer, keeps nobody waiting, and tells that the server has come to it."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - it does not wait
        self.reached.set()
        return True


def caught(call: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        call()
    return caught.value


@pytest.mark.parametrize("answer", [[], [LIST_HEAD], [LIST_HEAD + b"Content-Length: 9\r\n\r\n{"]])
def test_closing_a_source_ends_what_is_under_way(answer: list[Any]) -> None:
    """Whoever waits for headers or for a body gets an error at once, though the server says nothing more."""
    asked, never = Asked(), threading.Event()
    errors = []
    with ScriptedServer([asked, *answer, never]) as server, connected(SYNC, server.config) as client:
        source = client.source()

        def ask() -> None:
            errors.append(caught(lambda: source.list_page(ListRequest())))

        asking = threading.Thread(target=ask)
        asking.start()
        assert asked.reached.wait(10)
        source.close()
        asking.join(10)
        never.set()
        errors.append(caught(lambda: source.watch(WatchRequest())))
    assert [(error.kind, str(error)) for error in errors] == [(ErrorKind.NETWORK, "the source is closed")] * 2


def test_closing_a_source_ends_its_watches() -> None:
    """A watch of a source that is closed breaks."""
    never = threading.Event()
    with (
        ScriptedServer([WATCH_HEAD, chunk(EVENT), never]) as server,
        connected(SYNC, server.config) as client,
    ):
        source = client.source()
        events = iter(source.watch(WatchRequest()))
        next(events)
        source.close()
        assert str(caught(lambda: next(events))) == "the source is closed"
        never.set()


def test_closing_a_source_that_connects(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that comes about after the close is not used."""
    look_up = socket.getaddrinfo

    def close_meanwhile(*args: Any, **named: Any) -> Any:
        source.close()
        return look_up(*args, **named)

    with ScriptedServer([]) as server, connected(SYNC, server.config) as client:
        source = client.source()
        monkeypatch.setattr(socket, "getaddrinfo", close_meanwhile)
        assert str(caught(lambda: source.list_page(ListRequest()))) == "the source is closed"
        assert server.heads in ([], [""])
