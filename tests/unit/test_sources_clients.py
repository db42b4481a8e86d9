"""Sources over each client, against ApiServer: what they ask, what they give, what they raise."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from typing import Any

import pytest

from kindex.decoding import DictDecoder, LazyDecoder
from kindex.sources.base import BookmarkEvent, ErrorEvent, ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.resources import Kind, Resource, ResourceError
from kindex.testing import ApiServer
from kindex.testing import Resource as Served
from tests.sources import PACKAGES, PODS, SYNC, Connected, connected, plain_config

WIDGET = Served("acme.io/v1", "Widget")
FIRST, SECOND = "first", "second"

pytestmark = pytest.mark.parametrize("package", PACKAGES)


def pod(name: str, namespace: str = "prod", app: str = "web") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"}}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """Three pods of two namespaces."""
    with ApiServer([pod("a"), pod("b"), pod("c", "test", app="db")]) as server:
        yield server


@pytest.fixture
def client(server: ApiServer, package: str) -> Iterator[Connected]:
    """A client of the server."""
    with connected(package, server.config()) as client:
        yield client


def names(objects: Any) -> list[str]:
    return [obj.metadata.name for obj in objects]


def seen(event: Any) -> tuple[str, str, str]:
    return event.type, event.obj.metadata.name, event.resource_version


def caught(call: Callable[[], object]) -> SourceError:
    with pytest.raises(SourceError) as caught:
        call()
    return caught.value


# --- what is asked, and given -----------------------------------------------------------------------------------------


def test_a_list_comes_in_pages(server: ApiServer, client: Connected) -> None:
    """Each page has as many objects as were asked for, the list's version, and the token for the next one."""
    source = client.source()
    first = source.list_page(ListRequest(limit=2))
    assert (names(first.objects), first.resource_version, bool(first.continuation)) == (["a", "b"], "1003", True)
    last = source.list_page(ListRequest(limit=2, continuation=first.continuation))
    assert (names(last.objects), last.resource_version, last.continuation) == (["c"], "1003", "")
    assert [request.query for request in server.requests] == [
        {"limit": "2"},
        {"limit": "2", "continue": first.continuation},
    ]


def test_objects_are_what_the_decoder_makes(client: Connected) -> None:
    """Items have the kind of their list, and the decoder decides what an object is."""
    lazy = client.source(decoder=LazyDecoder(["spec.nodeName"])).list_page(ListRequest()).objects[0]
    assert (lazy.kind, lazy.api_version, lazy.path("spec.nodeName")) == ("Pod", "v1", "n1")
    raw = client.source(decoder=DictDecoder()).list_page(ListRequest()).objects[0]
    assert (raw["kind"], raw["spec"]) == ("Pod", {"nodeName": "n1"})


def test_selectors_and_namespaces_are_asked_of_the_server(server: ApiServer, client: Connected) -> None:
    """Lists and watches have the selectors of the resource; a request's namespace goes before the resource's."""
    selectors = (("labelSelector", "app in (web)"), ("fieldSelector", "spec.nodeName=n1"))
    source = client.source(Resource("v1", "pods", "prod", selectors=selectors))
    assert names(source.list_page(ListRequest()).objects) == ["a", "b"]
    assert names(source.list_page(ListRequest(namespace="test")).objects) == []
    with closing(source.watch(WatchRequest(resource_version="1003"))):
        server.wait_for(lambda: server.watches)
    assert [request.path for request in server.requests] == [
        "/api/v1/namespaces/prod/pods",
        "/api/v1/namespaces/test/pods",
        "/api/v1/namespaces/prod/pods",
    ]
    assert all(dict(selectors).items() <= request.query.items() for request in server.requests)


def test_a_watch_tells_what_happens(server: ApiServer, client: Connected) -> None:
    """Objects come with their versions, bookmarks with theirs; a watch that the server ends, ends."""
    server.faults.add("end", after_events=4)
    stream = client.source().watch(WatchRequest(resource_version="1003", timeout_seconds=300))
    server.create(pod("d"))
    server.update(pod("d", app="db"))
    server.delete("pods", "d", namespace="prod")
    server.bookmark()
    *changes, bookmark = stream
    assert [seen(event) for event in changes] == [
        ("ADDED", "d", "1004"),
        ("MODIFIED", "d", "1005"),
        ("DELETED", "d", "1006"),
    ]
    assert bookmark == BookmarkEvent("1006")
    assert server.requests[0].query == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "300",
        "resourceVersion": "1003",
    }


def test_a_watch_list(client: Connected) -> None:
    """Initial events come before the bookmark that says that these were all."""
    source = client.source(watch_list=True)
    assert source.offers_watch_list
    with closing(source.watch(WatchRequest(initial_events=True))) as stream:
        *initial, end = islice(stream, 4)
    assert [seen(event)[:2] for event in initial] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert end == BookmarkEvent("1003", initial_events_end=True)


def test_watch_lists_are_not_offered_unless_told(client: Connected) -> None:
    """An old server would never say that the initial events are at their end, so somebody has to know better."""
    assert not client.source().offers_watch_list


def test_metadata_alone(client: Connected) -> None:
    """With metadata_only lists and watches bring objects that have metadata and nothing else."""
    source = client.source(metadata_only=True)
    listed = source.list_page(ListRequest()).objects[0]
    with closing(source.watch(WatchRequest())) as stream:
        (watched,) = islice(stream, 1)
    for obj in (listed, watched.obj):
        assert (obj.kind, sorted(obj.to_dict())) == ("PartialObjectMetadata", ["apiVersion", "kind", "metadata"])
        assert obj.metadata.labels == {"app": "web"}


# --- discovery --------------------------------------------------------------------------------------------------------


def test_a_kind_is_looked_up_once(server: ApiServer, client: Connected) -> None:
    """The first request for a kind is preceded by discovery; then the source is called as its plural."""
    source = client.source(Kind("v1", "Pod", "prod"))
    assert source.name == "Pod"
    assert names(source.list_page(ListRequest()).objects) == ["a", "b"]
    source.list_page(ListRequest())
    assert [request.path for request in server.requests] == ["/api/v1", *["/api/v1/namespaces/prod/pods"] * 2]
    assert (source.name, source.resource()) == ("pods", Resource("v1", "pods", "prod", namespaced=True))


def test_a_kind_may_come_later(server: ApiServer, client: Connected) -> None:
    """A kind that the server does not know, or not in that group, is missing until it does."""
    source, typo = client.source(Kind("acme.io/v1", "Widget")), client.source(Kind("v1", "Pods"))
    assert caught(lambda: source.list_page(ListRequest())).kind is ErrorKind.MISSING
    error = caught(lambda: typo.watch(WatchRequest()))
    assert error.kind is ErrorKind.MISSING
    assert str(error).startswith("the server has no kind 'Pods' in v1 that can be listed; there are: ")
    assert "Pod," in str(error)
    server.add_resource(WIDGET)
    server.create({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": "w"}})
    assert names(source.list_page(ListRequest()).objects) == ["w"]


def test_a_namespace_of_what_has_none(client: Connected) -> None:
    """Asking for a namespace of a resource that is known to have none is refused, and not sent."""
    error = caught(lambda: client.source(Kind("v1", "Node")).list_page(ListRequest(namespace="prod")))
    assert (error.kind, "have no namespaces" in str(error)) == (ErrorKind.REQUEST, True)


# --- what goes wrong --------------------------------------------------------------------------------------------------

STATUSES = {
    401: ErrorKind.CREDENTIALS,
    403: ErrorKind.RIGHTS,
    404: ErrorKind.MISSING,
    410: ErrorKind.EXPIRED,
    429: ErrorKind.THROTTLED,
    500: ErrorKind.SERVER,
    503: ErrorKind.SERVER,
    504: ErrorKind.SERVER,
}


@pytest.mark.parametrize("code", STATUSES)
def test_a_refusal(server: ApiServer, client: Connected, code: int) -> None:
    """Lists and watches that are refused raise at once what the server said, and are not sent again."""
    server.faults.add("status", code=code, message="not now", retry_after=7, times=None)
    source = client.source()
    for call in (lambda: source.list_page(ListRequest()), lambda: source.watch(WatchRequest())):
        error = caught(call)
        assert (error.status, error.kind, error.retry_after_seconds) == (code, STATUSES[code], 7.0)
        assert error.message == "not now"
    assert len(server.requests) == 2


def test_a_version_that_is_forgotten(server: ApiServer, client: Connected) -> None:
    """A watch from a forgotten version is opened, and tells that it expired."""
    server.compact()
    (event,) = client.source().watch(WatchRequest(resource_version="1000"))
    assert isinstance(event, ErrorEvent)
    assert (event.error.kind, event.error.status) == (ErrorKind.EXPIRED, 410)


def test_a_token_that_is_forgotten(server: ApiServer, client: Connected) -> None:
    """A page whose token has expired is refused as such: never is half a list given for a whole one."""
    source = client.source()
    token = source.list_page(ListRequest(limit=1)).continuation
    server.compact()
    error = caught(lambda: source.list_page(ListRequest(limit=1, continuation=token)))
    assert (error.kind, error.status) == (ErrorKind.EXPIRED, 410)


@pytest.mark.parametrize("fault", ["reset", "truncate"])
def test_a_watch_that_breaks(server: ApiServer, client: Connected, fault: Any) -> None:
    """A connection that breaks is told from a watch that ended: what came before counts."""
    stream = iter(client.source().watch(WatchRequest()))
    assert [seen(next(stream))[1] for _ in range(3)] == ["a", "b", "c"]
    server.faults.add(fault)
    assert caught(lambda: next(stream)).kind is ErrorKind.NETWORK


@pytest.mark.parametrize("fault", ["reset", "truncate"])
def test_a_list_that_breaks(server: ApiServer, client: Connected, fault: Any) -> None:
    """A list that breaks off in its body is an error of the network, never a short list."""
    server.faults.add(fault, verb="list", stage="body")
    assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.NETWORK


def test_garbage_in_a_watch(server: ApiServer, client: Connected) -> None:
    """A line that is no event is an error of the protocol; a blank one is nothing."""
    server.faults.add("blank", verb="watch")
    server.faults.add("garbage", verb="watch", after_events=2)
    stream = iter(client.source().watch(WatchRequest()))
    assert [seen(next(stream))[1] for _ in range(2)] == ["a", "b"]
    assert caught(lambda: next(stream)).kind is ErrorKind.PROTOCOL


def test_garbage_for_a_list(server: ApiServer, client: Connected) -> None:
    """A body that is no list is an error of the protocol."""
    server.faults.add("garbage", verb="list")
    assert caught(lambda: client.source().list_page(ListRequest())).kind is ErrorKind.PROTOCOL


def test_a_watch_that_is_silent(client: Connected) -> None:
    """A watch that gives nothing for the silence of its request raises TimeoutError."""
    stream = client.source().watch(WatchRequest(resource_version="1003", silence_seconds=0.05))
    with pytest.raises(TimeoutError, match=r"gave nothing for 0\.05 s"):
        list(stream)


def test_a_server_that_does_not_answer(server: ApiServer, client: Connected) -> None:
    """A list whose answer does not begin in time is an error of the network."""
    server.faults.add("slow_headers")
    error = caught(lambda: client.source(answer_seconds=0.05).list_page(ListRequest()))
    assert (error.kind, str(error)) == (ErrorKind.NETWORK, "no answer in time")
    assert isinstance(error.__cause__, TimeoutError)


def test_a_port_that_nobody_listens_at(package: str) -> None:
    """A connection that is refused says so."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with connected(package, plain_config(f"http://127.0.0.1:{port}")) as client:
        error = caught(lambda: client.source().list_page(ListRequest()))
    assert (error.kind, str(error)) == (ErrorKind.NETWORK, "the connection was refused")


def test_a_host_that_has_no_address(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that is not found is told from one that does not answer."""

    def nowhere(*_: object, **__: object) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with connected(package, plain_config("http://kindex.invalid:80")) as client:
        source = client.source()
        monkeypatch.setattr(socket, "getaddrinfo", nowhere)
        error = caught(lambda: source.list_page(ListRequest()))
    assert (error.kind, str(error)) == (ErrorKind.NETWORK, "the host has no address: Name or service not known")
    assert isinstance(error.__cause__, socket.gaierror)


def test_plain_text_where_tls_is_due(server: ApiServer, package: str) -> None:
    """A server that speaks no TLS is told from one that is away."""
    with connected(package, plain_config(server.url.replace("http:", "https:"))) as client:
        error = caught(lambda: client.source().list_page(ListRequest()))
    assert error.kind is ErrorKind.NETWORK
    assert str(error).startswith("TLS failed: ")
    assert isinstance(error.__cause__, ssl.SSLError)


# --- letting go -------------------------------------------------------------------------------------------------------


def test_closing_ends_a_watch_that_waits(server: ApiServer, client: Connected) -> None:
    """A stream that is closed from another thread, or task, ends without an error, though nothing comes."""
    stream = client.source().watch(WatchRequest())
    first, ended = threading.Event(), []

    def read() -> None:
        for event in stream:
            ended.append(seen(event)[1])
            if len(ended) == 3:
                first.set()
        ended.append("end")

    reader = threading.Thread(target=read)
    reader.start()
    assert first.wait(10)
    stream.close()
    reader.join(10)
    assert ended == ["a", "b", "c", "end"]
    stream.close()
    server.wait_for(lambda: not server.watches)


def test_closing_what_was_not_read(server: ApiServer, client: Connected) -> None:
    """A stream that nobody iterates over gives its connection back when it is closed, and is empty then."""
    stream = client.source().watch(WatchRequest())
    server.wait_for(lambda: server.watches)
    stream.close()
    server.wait_for(lambda: not server.watches)
    assert list(stream) == []


def test_closing_between_two_events(client: Connected) -> None:
    """After a close no event comes, not even one that has been received."""
    stream = client.source().watch(WatchRequest())
    events = iter(stream)
    next(events)
    stream.close()
    assert list(events) == []


def test_a_list_leaves_its_connection_to_the_next(server: ApiServer, client: Connected) -> None:
    """Pages of a list share a connection."""
    source = client.source()
    accepted = 0

    def counting(self: Any, *args: Any) -> Any:
        nonlocal accepted
        accepted += 1
        return original(self, *args)

    original = ApiServer._converse
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ApiServer, "_converse", counting)
        for _ in range(3):
            source.list_page(ListRequest(limit=1))
    assert (accepted, len(server.requests)) == (1, 3)


# --- credentials ------------------------------------------------------------------------------------------------------


def test_a_token_that_is_renewed(server: ApiServer, client: Connected) -> None:
    """The client's hook is asked before each request, so a new token is sent as soon as there is one."""
    tokens = iter([FIRST, SECOND])

    def renew(configuration: Any) -> None:
        token = next(tokens)
        configuration.api_key |= {"BearerToken": token, "authorization": token}  # as versions call it

    configuration = client.client.configuration
    configuration.api_key |= {"BearerToken": "none yet", "authorization": "none yet"}
    configuration.api_key_prefix |= {"BearerToken": "Bearer", "authorization": "Bearer"}
    configuration.refresh_api_key_hook = renew
    source = client.source()
    server.token = FIRST
    assert names(source.list_page(ListRequest()).objects) == ["a", "b", "c"]
    server.token = SECOND
    assert names(source.list_page(ListRequest()).objects) == ["a", "b", "c"]
    assert [request.headers["authorization"] for request in server.requests] == ["Bearer first", "Bearer second"]


def test_a_token_that_cannot_be_renewed(server: ApiServer, client: Connected) -> None:
    """A hook that fails is an error of the credentials, and nothing is sent."""

    def fail(_: object) -> None:
        raise RuntimeError("the identity provider is away")

    client.client.configuration.api_key |= {"BearerToken": "old", "authorization": "old"}
    client.client.configuration.refresh_api_key_hook = fail
    error = caught(lambda: client.source().list_page(ListRequest()))
    assert (error.kind, error.message) == (
        ErrorKind.CREDENTIALS,
        "no credentials: RuntimeError: the identity provider is away",
    )
    assert server.requests == []


def test_what_the_client_says_of_itself(server: ApiServer, client: Connected) -> None:
    """User agent, default headers and cookie of the client are sent."""
    client.client.user_agent = "web-controller/1"
    client.client.set_default_header("X-Team", "web")
    client.client.cookie = "session=7"
    client.source().list_page(ListRequest())
    headers = server.requests[0].headers
    assert (headers["user-agent"], headers["x-team"], headers["cookie"]) == ("web-controller/1", "web", "session=7")


def test_a_client_of_the_other_sort(client: Connected, package: str) -> None:
    """A source refuses a client that it cannot use, when it is made."""
    from kindex.sources.client import ClientSource

    if package == SYNC:
        pytest.importorskip("aiohttp")
        from kindex.sources.async_client import AsyncClientSource

        with pytest.raises(ResourceError, match="AsyncClientSource takes a client for asyncio"):
            AsyncClientSource(PODS, client.client, decoder=LazyDecoder())
    else:
        with pytest.raises(ResourceError, match="ClientSource takes a client without asyncio"):
            ClientSource(PODS, client.client, decoder=LazyDecoder())
