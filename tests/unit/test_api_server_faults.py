"""Faults of ApiServer: each kind, at each place where it can be ordered; and that nothing else is hit."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

import pytest

from kindex.testing import ApiServer

PODS = "/api/v1/namespaces/prod/pods"
WATCH_LIST = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
SECONDS = 10  # after which a test fails that would otherwise hang


def pod(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "prod"}}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Three pods, a b c."""
    with ApiServer([pod(name) for name in "abc"]) as server:
        yield server


class Client:
    """One connection; what it asks is answered by bytes that it reads as it likes."""

    def __init__(self, server: ApiServer) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=SECONDS)
        self.connection.connect()
        self.socket = self.connection.sock
        self._answers: list[http.client.HTTPResponse] = []

    def get(self, path: str) -> http.client.HTTPResponse:
        self.connection.request("GET", path)
        self._answers.append(self.connection.getresponse())
        return self._answers[-1]

    def watch(self, query: str = "?watch=1") -> Iterator[bytes]:
        """Begin a watch, and give its lines as they come."""
        answer = self.get(PODS + query)
        assert answer.status == 200
        return iter(answer.readline, b"")

    def hears_nothing(self) -> bool:
        """Whether not a byte is there to be read."""
        self.socket.settimeout(0)
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        finally:
            self.socket.settimeout(SECONDS)
        return False

    def close(self) -> None:
        for answer in self._answers:
            answer.close()
        self.connection.close()


@pytest.fixture
def connect(server: ApiServer) -> Iterator[Callable[[], Client]]:
    """Make connections, and close them after the test."""
    with ExitStack() as opened:
        yield lambda: opened.enter_context(closing(Client(server)))


def told(line: bytes) -> tuple[str, str]:
    event = json.loads(line)
    return event["type"], event["object"].get("metadata", {}).get("name", "")


def ask(server: ApiServer, path: str = PODS) -> tuple[int, Any]:
    with closing(Client(server)) as client:
        answer = client.get(path)
        return answer.status, json.loads(answer.read())


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (410, "Expired"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
    ],
)
def test_a_request_gets_a_status_instead_of_its_answer(server: ApiServer, code: int, reason: str) -> None:
    """A status that is ordered comes once, as HTTP and as a Status, and the next request is answered."""
    fault = server.faults.add("status", code=code)
    status, body = ask(server)
    assert (status, body["code"], body["reason"], body["kind"]) == (code, code, reason, "Status")
    assert fault.hits == 1
    assert ask(server)[0] == 200


def test_too_many_requests_say_when_to_come_again(server: ApiServer, connect: Callable[[], Client]) -> None:
    """429 has Retry-After as a header and in the Status: a second, or what was ordered."""
    server.faults.add("status", code=429)
    server.faults.add("status", code=429, retry_after=7, skip=0)
    for seconds in (1, 7):
        answer = connect().get(PODS)
        assert answer.headers["Retry-After"] == str(seconds)
        assert json.load(answer)["details"]["retryAfterSeconds"] == seconds


def test_a_status_has_the_reason_that_was_ordered(server: ApiServer) -> None:
    """A reason and a message of one's own take the place of the code's."""
    server.faults.add("status", code=409, reason="AlreadyExists", message="it is there")
    body = ask(server)[1]
    assert (body["reason"], body["message"]) == ("AlreadyExists", "it is there")


def test_a_connection_is_reset(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A reset comes as one, not as an end: before an answer, in its body, and in a watch after some events."""
    server.faults.add("reset", verb="list")
    with pytest.raises(ConnectionResetError):
        ask(server)
    server.faults.add("reset", verb="list", stage="body")
    answer = connect().get(PODS)
    assert answer.status == 200
    with pytest.raises(ConnectionResetError):
        answer.read()
    server.faults.add("reset", verb="watch", after_events=2)
    lines = connect().watch()
    assert [told(next(lines)) for _ in range(2)] == [("ADDED", "a"), ("ADDED", "b")]
    with pytest.raises(ConnectionResetError):
        next(lines)


def test_a_body_is_cut(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A list, and a chunk of a watch, end before the length that was announced."""
    server.faults.add("truncate", verb="list")
    with pytest.raises(http.client.IncompleteRead):
        connect().get(PODS).read()
    server.faults.add("truncate", verb="watch", stage="busy")
    lines = connect().watch()
    assert [told(next(lines)) for _ in range(3)][-1] == ("ADDED", "c")
    server.delete("pods", "a", namespace="prod")
    with pytest.raises(http.client.IncompleteRead):
        list(lines)


def test_a_watch_ends_cleanly(server: ApiServer, connect: Callable[[], Client]) -> None:
    """An ordered end is a clean one: the connection answers the next request."""
    server.faults.add("end", after_events=1)
    client = connect()
    assert [told(line) for line in client.watch()] == [("ADDED", "a")]
    assert client.get(PODS).status == 200
    assert len(server.requests) == 2


def test_a_socket_falls_silent(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A stalled watch sends nothing, whatever happens, until it is released; then all of it comes."""
    fault = server.faults.add("stall", verb="watch", after_events=3)
    client = connect()
    lines = client.watch()
    assert [told(next(lines)) for _ in range(3)] == [("ADDED", name) for name in "abc"]
    fault.wait()
    server.create(pod("d"))
    assert ask(server)[0] == 200
    assert client.hears_nothing()
    fault.release()
    assert told(next(lines)) == ("ADDED", "d")


def test_a_list_falls_silent(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A stalled list stops in the middle of its body, and goes on when it is released."""
    fault = server.faults.add("stall", verb="list")
    answer = connect().get(PODS)
    fault.wait()
    half = answer.read(10)
    fault.release()
    assert len(json.loads(half + answer.read())["items"]) == 3


def test_a_stall_can_last_some_time_only(server: ApiServer) -> None:
    """With seconds a stall, and slow headers, go on by themselves."""
    server.faults.add("stall", verb="list", seconds=0.01)
    server.faults.add("slow_headers", verb="list", seconds=0.01)
    assert ask(server)[0] == 200


def test_headers_are_slow(server: ApiServer, connect: Callable[[], Client]) -> None:
    """Slow headers: the request is taken, and nothing at all is answered until it is released."""
    fault = server.faults.add("slow_headers", verb="watch")
    client = connect()
    client.connection.request("GET", PODS + "?watch=1")
    fault.wait()
    assert ask(server)[0] == 200
    assert client.hears_nothing()
    fault.release()
    assert told(client.connection.getresponse().readline()) == ("ADDED", "a")


def test_lines_are_no_events(server: ApiServer, connect: Callable[[], Client]) -> None:
    """Garbage and blank lines come between events, which are all there; a list can be garbage too."""
    server.faults.add("garbage", verb="watch", after_events=1)
    server.faults.add("blank", after_events=2)
    lines = connect().watch()
    assert told(next(lines)) == ("ADDED", "a")
    with pytest.raises(json.JSONDecodeError):
        json.loads(next(lines))
    assert told(next(lines)) == ("ADDED", "b")
    assert next(lines) == b"\n"
    assert told(next(lines)) == ("ADDED", "c")
    server.faults.add("garbage", verb="list")
    with pytest.raises(json.JSONDecodeError):
        ask(server)


def test_a_watch_gets_an_error_event(server: ApiServer, connect: Callable[[], Client]) -> None:
    """An ERROR event has a Status, and ends the stream."""
    server.faults.add("error", code=410, after_events=3)
    lines = [json.loads(line) for line in connect().watch()]
    assert [line["type"] for line in lines] == ["ADDED"] * 3 + ["ERROR"]
    assert (lines[-1]["object"]["code"], lines[-1]["object"]["reason"]) == (410, "Expired")


def test_history_is_compacted_between_two_pages(server: ApiServer) -> None:
    """A compaction that is ordered for page 2 expires the token of page 1."""
    server.faults.add("compact", verb="list", page=2)
    first = ask(server, f"{PODS}?limit=1")[1]
    token = first["metadata"]["continue"]
    status, body = ask(server, f"{PODS}?limit=1&continue={token}")
    assert (status, body["reason"]) == (410, "Expired")
    status, body = ask(server, f"{PODS}?continue={body['metadata']['continue']}")
    assert [item["metadata"]["name"] for item in body["items"]] == ["b", "c"]


def test_history_is_compacted_under_a_watch(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A compaction in a watch leaves the watch alone, and expires what the client knows."""
    fault = server.faults.add("compact", verb="watch", stage="idle")
    version = server.resource_version
    lines = connect().watch()
    assert [told(next(lines)) for _ in range(3)][-1] == ("ADDED", "c")
    fault.wait()
    server.create(pod("d"))
    assert told(next(lines)) == ("ADDED", "d")
    (error,) = connect().watch(f"?watch=1&resourceVersion={version}")
    assert json.loads(error)["object"]["code"] == 410


def test_an_event_is_lost_and_one_repeated(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A lost event never comes, a repeated one comes twice, and those around them once."""
    server.faults.add("lose", after_events=1)
    server.faults.add("repeat", stage="busy")
    lines = connect().watch()
    assert [told(next(lines)) for _ in range(2)] == [("ADDED", "a"), ("ADDED", "c")]
    server.create(pod("d"))
    server.create(pod("e"))
    assert [told(next(lines)) for _ in range(3)] == [("ADDED", "d"), ("ADDED", "d"), ("ADDED", "e")]


def test_a_bookmark_is_lost(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A fault that is ordered for bookmarks hits them alone."""
    fault = server.faults.add("lose", stage="bookmark")
    lines = connect().watch("?watch=1&allowWatchBookmarks=1")
    assert [told(next(lines)) for _ in range(3)][-1] == ("ADDED", "c")
    server.bookmark()
    fault.wait()
    server.create(pod("d"))
    assert told(next(lines)) == ("ADDED", "d")
    server.bookmark()
    assert told(next(lines))[0] == "BOOKMARK"


def test_initial_events_are_cut_short(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A reset in a WatchList's initial events comes before the bookmark that would end them."""
    server.faults.add("reset", stage="initial", after_events=3)
    lines = connect().watch(WATCH_LIST)
    assert [told(next(lines)) for _ in range(3)][-1] == ("ADDED", "c")
    with pytest.raises(ConnectionResetError):
        next(lines)
    assert [told(line)[0] for line in islice(connect().watch(WATCH_LIST), 4)] == ["ADDED"] * 3 + ["BOOKMARK"]


def test_a_watch_that_runs_is_hit_at_once(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A fault hits a watch that waits already, without any event."""
    lines = connect().watch()
    assert [told(next(lines)) for _ in range(3)][-1] == ("ADDED", "c")
    server.faults.add("end", stage="idle").wait()
    assert next(lines, None) is None


def test_only_a_relist_is_hit(server: ApiServer, connect: Callable[[], Client]) -> None:
    """relist= spares the first list, also its other pages, and hits the next; a WatchList counts as a list."""
    server.faults.add("status", relist=True, code=500)
    first = ask(server, f"{PODS}?limit=2")
    assert first[0] == 200
    assert ask(server, f"{PODS}?limit=2&continue={first[1]['metadata']['continue']}")[0] == 200
    assert ask(server, "/api/v1/namespaces/other/pods")[0] == 200
    assert ask(server)[0] == 500
    server.faults.add("end", relist=True, stage="initial")
    assert list(connect().watch(WATCH_LIST)) == []


@pytest.mark.parametrize(
    "fits",
    [
        {"verb": "list"},
        {"resource": "pods"},
        {"namespace": "prod"},
        {"page": 1},
    ],
)
def test_only_what_fits_is_hit(server: ApiServer, connect: Callable[[], Client], fits: dict[str, Any]) -> None:
    """Verb, resource, namespace and page each spare the requests that are otherwise."""
    server.faults.add("status", **fits)
    watch = connect().get("/api/v1/services?watch=1&timeoutSeconds=1")
    assert watch.status == 200
    assert ask(server)[0] == 500


def test_the_third_request_is_hit(server: ApiServer) -> None:
    """skip= lets requests that fit through first, and does not count others."""
    server.faults.add("status", verb="list", skip=2)
    answers = [ask(server, path)[0] for path in (PODS, f"{PODS}/a", PODS, f"{PODS}/a", PODS, PODS)]
    assert answers == [200, 200, 200, 200, 500, 200]


def test_a_fault_can_last(server: ApiServer) -> None:
    """times= is how often; None is always, until it is cancelled."""
    twice = server.faults.add("status", times=2)
    assert [ask(server)[0] for _ in range(3)] == [500, 500, 200]
    always = server.faults.add("status", times=None)
    assert [ask(server)[0] for _ in range(3)] == [500] * 3
    always.cancel()
    assert ask(server)[0] == 200
    assert (twice.hits, always.hits) == (2, 3)


def test_all_faults_can_be_cleared(server: ApiServer, connect: Callable[[], Client]) -> None:
    """clear() forgets what was ordered, and lets go what stalls."""
    stall = server.faults.add("stall", verb="list")
    answer = connect().get(PODS)
    stall.wait()
    server.faults.add("status", times=None)
    server.faults.add("stall", verb="list", times=None)
    server.faults.clear()
    assert ask(server)[0] == 200
    stall.release()
    assert len(json.load(answer)["items"]) == 3


def test_several_faults_come_together(server: ApiServer) -> None:
    """Faults of one place happen in the order in which they were ordered."""
    server.faults.add("compact", verb="list")
    server.faults.add("status", verb="list", code=500)
    before = server.resource_version
    assert ask(server)[0] == 500
    assert int(server.resource_version) == int(before) + 1


@pytest.mark.parametrize(
    ("kind", "stage"), [("explode", None), ("status", "busy"), ("lose", "idle"), ("end", "body"), ("blank", "request")]
)
def test_what_cannot_happen_cannot_be_ordered(server: ApiServer, kind: Any, stage: Any) -> None:
    """An unknown kind, and a stage at which a kind cannot happen, are errors that say what there is."""
    with pytest.raises(ValueError, match=r"there are|it can at"):
        server.faults.add(kind, stage=stage)


def test_waiting_for_a_fault_has_an_end(server: ApiServer) -> None:
    """A fault that does not happen is a TimeoutError, not a test that hangs."""
    with pytest.raises(TimeoutError, match="reset happened 0 times"):
        server.faults.add("reset").wait(timeout_seconds=0)


def test_a_client_that_leaves_a_stall_is_noticed(server: ApiServer, connect: Callable[[], Client]) -> None:
    """A client that closes its end while the server is silent ends its watch there too."""
    fault = server.faults.add("stall", verb="watch")
    client = connect()
    client.get(PODS + "?watch=1")
    fault.wait()
    assert len(server.watches) == 1
    client.socket.shutdown(socket.SHUT_RDWR)
    server.wait_for(lambda: not server.watches)
