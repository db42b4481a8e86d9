"""Sources over each client, against bytes that a test wrote: how an answer is cut into pieces, and odd answers."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Callable

import pytest

from kindex.sources.base import ErrorEvent, ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from tests.sources import (
    LIST_HEAD,
    PACKAGES,
    SYNC,
    WATCH_END,
    WATCH_HEAD,
    QuittingServer,
    ScriptedServer,
    body,
    chunk,
    connected,
)

pytestmark = pytest.mark.parametrize("package", PACKAGES)


def line(name: str, filler: str = "") -> bytes:
    metadata = {"name": name, "resourceVersion": "7", "annotations": {"filler": filler}}
    pod = {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}
    return json.dumps({"type": "ADDED", "object": pod}).encode() + b"\n"


def pod_list(*names: str) -> bytes:
    items = [{"metadata": {"name": name}} for name in names]
    return json.dumps(
        {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "7"}, "items": items}
    ).encode()


def watched(server: ScriptedServer, package: str) -> list[str]:
    """Read a whole watch, and give the names of its objects."""
    with connected(package, server.config) as client:
        return [event.obj.metadata.name for event in client.source().watch(WatchRequest())]


def caught(call: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        call()
    return caught.value


# --- pieces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
def test_events_are_cut_anywhere(package: str, size: int) -> None:
    """Lines are put together from the pieces in which they come, whether these hold several lines or parts of one."""
    text = line("a") + line("b") + b"\n" + line("c")
    pieces = [chunk(text[start : start + size]) for start in range(0, len(text), size)]
    with ScriptedServer([WATCH_HEAD, *pieces, WATCH_END]) as server:
        assert watched(server, package) == ["a", "b", "c"]


def test_an_event_of_megabytes(package: str) -> None:
    """A line is as long as it is."""
    text = line("big", filler="x" * 3_000_000) + line("small")
    with ScriptedServer([WATCH_HEAD, chunk(text[:1_000_000]), chunk(text[1_000_000:]), WATCH_END]) as server:
        assert watched(server, package) == ["big", "small"]


def test_an_event_comes_when_it_is_sent(package: str) -> None:
    """An event is given at once, also by a proxy that does not send in chunks: none waits for the next."""
    more = threading.Event()
    with (
        ScriptedServer([b"HTTP/1.0 200 OK\r\n\r\n" + line("a"), more, line("b")]) as server,
        connected(package, server.config) as client,
    ):
        events = iter(client.source().watch(WatchRequest()))
        assert next(events).obj.metadata.name == "a"
        more.set()
        assert [event.obj.metadata.name for event in events] == ["b"]


@pytest.mark.parametrize("head", [WATCH_HEAD, b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_watch_that_ends_within_a_line(package: str, head: bytes) -> None:
    """A watch that ends in the middle of a line broke off, however well its body ended."""
    chunked = head == WATCH_HEAD
    pieces = [line("a"), line("b")[:40]]
    answer = [head, *(chunk(piece) for piece in pieces), WATCH_END] if chunked else [head, *pieces]
    with ScriptedServer(answer) as server, connected(package, server.config) as client:
        events = iter(client.source().watch(WatchRequest()))
        assert next(events).obj.metadata.name == "a"
        error = caught(lambda: next(events))
    assert (error.kind, str(error)) == (ErrorKind.NETWORK, "the watch broke off within a line")


def test_a_list_that_is_too_short(package: str) -> None:
    """A body with fewer bytes than its head promised is no list."""
    text = pod_list("a", "b")
    with (
        ScriptedServer([LIST_HEAD + b"Content-Length: %d\r\n\r\n" % (len(text) + 1) + text]) as server,
        connected(package, server.config) as client,
    ):
        assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.NETWORK


def test_a_list_that_comes_compressed(package: str) -> None:
    """Lists are asked for compressed only if the source is told so, and watches never."""
    packed = gzip.compress(pod_list("a"))
    answers = [
        body(pod_list("a")),
        body(packed, LIST_HEAD + b"Content-Encoding: gzip\r\n"),
        [WATCH_HEAD, chunk(line("a")), WATCH_END],
    ]
    with ScriptedServer(*answers) as server, connected(package, server.config) as client:
        plain, compressed = client.source(), client.source(gzip=True)
        assert len(plain.list_page(ListRequest()).objects) == 1
        assert len(compressed.list_page(ListRequest()).objects) == 1
        assert len(list(compressed.watch(WatchRequest()))) == 1
    asked = [head.lower().partition("accept-encoding: ")[2].partition("\r\n")[0] for head in server.heads]
    assert asked == ["identity", "gzip", "identity"]


def test_a_connection_that_the_server_closed_meanwhile(package: str) -> None:
    """Whoever sends by a connection that was kept learns only then that the server has closed it: it is sent again."""
    (answer,) = body(pod_list("a"))
    with QuittingServer(answer, answer, answer) as server, connected(package, server.config) as client:
        source = client.source()
        assert [len(source.list_page(ListRequest()).objects) for _ in range(3)] == [1, 1, 1]
    assert server.requests == 5  # two of them in vain


def test_a_new_connection_that_the_server_closes(package: str) -> None:
    """What fails by a new connection is the server's fault, and no reason to ask at once again and again."""
    with QuittingServer() as server, connected(package, server.config) as client:
        assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.NETWORK
    assert server.requests == 1 if package == SYNC else server.requests <= 2  # aiohttp asks once more by itself


@pytest.mark.parametrize("head", [LIST_HEAD + b"Content-Length: 0\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_watch_that_is_empty(package: str, head: bytes) -> None:
    """A watch without a body has no events."""
    with ScriptedServer([head]) as server:
        assert watched(server, package) == []


# --- odd answers ------------------------------------------------------------------------------------------------------

FORBIDDEN = b'{"kind": "Status", "apiVersion": "v1", "code": 403, "reason": "Forbidden", "message": "no"}'


def test_a_status_instead_of_a_list(package: str) -> None:
    """A proxy may refuse with status 200: what the Status says counts."""
    with ScriptedServer(body(FORBIDDEN)) as server, connected(package, server.config) as client:
        error = caught(lambda: client.source().list_page(ListRequest()))
    assert (error.kind, error.status) == (ErrorKind.RIGHTS, 403)


def test_a_status_instead_of_an_event(package: str) -> None:
    """The same holds for a watch, where the Status may stand on a line of its own or in an ERROR event."""
    in_event = b'{"type": "ERROR", "object": %s}\n' % FORBIDDEN
    answers = [[WATCH_HEAD, chunk(text), WATCH_END] for text in (FORBIDDEN + b"\n", in_event)]
    with ScriptedServer(*answers) as server, connected(package, server.config) as client:
        bare = caught(lambda: list(client.source().watch(WatchRequest())))
        (event,) = client.source().watch(WatchRequest())
    assert isinstance(event, ErrorEvent)
    for error in (bare, event.error):
        assert (error.kind, error.status) == (ErrorKind.RIGHTS, 403)


def test_a_proxy_that_answers_in_html(package: str) -> None:
    """A page where a list was due is an error of the protocol; with a status of an error it is that."""
    page = b"<html>come back later</html>"
    bad_gateway = body(page, b"HTTP/1.1 502 Bad Gateway\r\nRetry-After: 3\r\n")
    with ScriptedServer(body(page), bad_gateway) as server, connected(package, server.config) as client:
        first, second = (caught(lambda: client.source().list_page(ListRequest())) for _ in range(2))
    assert first.kind is ErrorKind.PROTOCOL
    assert (second.kind, second.message, second.retry_after_seconds) == (ErrorKind.SERVER, page.decode(), 3.0)


def test_a_table_is_no_list(package: str) -> None:
    """Tables are for people: one is refused, in lists and in watches."""
    table = b'{"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {}, "rows": []}'
    event = b'{"type": "ADDED", "object": %s}\n' % table
    with (
        ScriptedServer(body(table), [WATCH_HEAD, chunk(event), WATCH_END]) as server,
        connected(package, server.config) as client,
    ):
        assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.PROTOCOL
        assert caught(lambda: list(client.source().watch(WatchRequest()))).kind is ErrorKind.PROTOCOL


def test_discovery_that_is_none(package: str) -> None:
    """An answer to discovery that is no JSON is an error of the protocol."""
    from kindex.sources.resources import Kind

    with ScriptedServer(body(b"<html>")) as server, connected(package, server.config) as client:
        error = caught(lambda: client.source(Kind("v1", "Pod")).list_page(ListRequest()))
    assert (error.kind, "discovery gave no JSON" in str(error)) == (ErrorKind.PROTOCOL, True)


def test_a_redirect_is_followed(package: str) -> None:
    """A server that has moved is found."""
    with ScriptedServer(body(pod_list("a"))) as there:
        moved = body(b"", b"HTTP/1.1 307 Temporary Redirect\r\nLocation: %s/api/v1/pods\r\n" % there.url.encode())
        with ScriptedServer(moved) as here, connected(package, here.config) as client:
            assert len(client.source().list_page(ListRequest()).objects) == 1


def test_a_host_that_ends_in_a_slash(package: str) -> None:
    """A URL with a path, with or without a slash at its end, is where the server's paths begin."""
    with ScriptedServer(body(pod_list("a"))) as server, connected(package, server.config) as client:
        client.client.configuration.host += "/clusters/c-1/"
        client.source().list_page(ListRequest())
    assert server.heads[0].startswith("GET /clusters/c-1/api/v1/pods HTTP/1.1\r\n")
