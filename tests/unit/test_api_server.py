"""ApiServer as tests use it: starting and stopping, the hand in the cluster, and what only this server can show."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from kindex.testing import ApiError, ApiServer, Resource, TlsFiles, generate_cluster
from kindex.testing.api_server import states
from tests.raw_clusters import JSON_PATCH, MERGE, RawCluster, pod, secret

SECRETS = "/api/v1/namespaces/prod/secrets"
FIRST, SECOND = "first", "second"
WIDGET = Resource("acme.io/v1", "Widget", fields=("spec.color",))


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server with a custom resource."""
    with ApiServer(resources=[WIDGET]) as server:
        yield server


@pytest.fixture
def cluster(server: ApiServer) -> RawCluster:
    """The server, asked as raw HTTP."""
    return RawCluster.of(server)


def connected(server: ApiServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2])), timeout=10)


def in_prod(obj: dict[str, Any]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "namespace": "prod"}}


def widget(name: str, color: str = "red") -> dict[str, Any]:
    return in_prod({"apiVersion": "acme.io/v1", "kind": "Widget", "metadata": {"name": name}, "spec": {"color": color}})


def told(event: Any) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"].get("name", "")


# --- running ----------------------------------------------------------------------------------------------------------


def never_reads(server: ApiServer) -> str:
    server.load([secret(f"s-{number}", text="x" * 60) | {"data": {"d": "x" * 4000}} for number in range(5_000)])
    return "GET /api/v1/secrets HTTP/1.1\r\n\r\n"


def watches(_: ApiServer) -> str:
    return "GET /api/v1/secrets?watch=1 HTTP/1.1\r\n\r\n"


def is_stalled(server: ApiServer) -> str:
    server.faults.add("stall", verb="watch")
    return "GET /api/v1/secrets?watch=1 HTTP/1.1\r\n\r\n"


def has_slow_headers(server: ApiServer) -> str:
    server.faults.add("slow_headers")
    return "GET /api/v1/secrets HTTP/1.1\r\n\r\n"


def sends_half_a_request(_: ApiServer) -> str:
    return "POST /api/v1/namespaces/prod/secrets HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"


def says_nothing(_: ApiServer) -> str:
    return ""


@pytest.mark.parametrize(
    "client", [never_reads, watches, is_stalled, has_slow_headers, sends_half_a_request, says_nothing]
)
def test_stopping_leaves_no_thread(client: Callable[[ApiServer], str]) -> None:
    """Whatever a client does or does not do, stop() cuts it off, and returns when all threads are gone."""
    before = set(threading.enumerate())
    server = ApiServer()
    server.start()
    text = client(server)
    with connected(server) as connection:
        connection.sendall(text.encode())
        if text.startswith("GET"):
            server.wait_for(lambda: server.requests)
        server.stop()
        assert set(threading.enumerate()) <= before
        with pytest.raises(OSError, match="refused"):
            connected(server)
    server.stop()


def test_latency_does_not_hold_a_stop_up() -> None:
    """A request that waits out the latency is cut off by stop(); a short latency is waited out."""
    with ApiServer(latency_seconds=0.001) as server:
        assert RawCluster.of(server).ask("GET", SECRETS).status == 200
    with ApiServer(latency_seconds=3600) as server, connected(server) as connection:
        connection.sendall(b"GET /api HTTP/1.1\r\n\r\n")
        server.wait_for(lambda: server.requests)
        server.stop()
        assert connection.recv(1) == b""


def test_a_server_that_was_not_started_can_be_stopped() -> None:
    """stop() without start() frees the port."""
    server = ApiServer()
    server.stop()
    with pytest.raises(OSError, match="refused"):
        connected(server)


def test_a_watch_ends_with_its_client(server: ApiServer, cluster: RawCluster) -> None:
    """The server notices at once that the client of a waiting watch left."""
    server.create(secret("a"))
    events = cluster.watch("/api/v1/secrets")
    assert told(next(events)) == ("ADDED", "a")
    assert [request.path for request in server.watches] == ["/api/v1/secrets"]
    events.close()  # type: ignore[attr-defined]
    server.wait_for(lambda: not server.watches)


def test_a_connection_is_used_again_after_a_watch(server: ApiServer) -> None:
    """A watch that ended leaves nothing behind for the next one on its connection."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=10)
    with closing(connection):
        server.faults.add("end", stage="busy", times=None)
        for name in ("a", "b"):
            connection.request("GET", f"/api/v1/secrets?watch=1&resourceVersion={server.resource_version}")
            answer = connection.getresponse()
            for number in range(3):
                server.create(secret(f"{name}-{number}"))
            assert answer.read() == b""


def test_every_watch_sees_every_write(server: ApiServer, cluster: RawCluster) -> None:
    """Several watches see what several threads write at the same time: all of it, in one order."""
    streams = [cluster.watch("/api/v1/secrets") for _ in range(3)]
    writers = [
        threading.Thread(target=lambda name=name: [server.create(secret(f"{name}-{i}")) for i in range(100)])
        for name in "ab"
    ]
    for writer in writers:
        writer.start()
    seen = [[event["object"]["metadata"] for event in islice(stream, 200)] for stream in streams]
    for writer in writers:
        writer.join()
    versions = [int(metadata["resourceVersion"]) for metadata in seen[0]]
    assert versions == sorted(set(versions))
    assert seen[0] == seen[1] == seen[2]


# --- who may come in --------------------------------------------------------------------------------------------------


def test_a_token_can_be_asked_for() -> None:
    """Without the server's bearer token it is 401 Unauthorized; the token can change while clients run."""
    with ApiServer(token=FIRST) as server:
        cluster = RawCluster.of(server)
        answer = cluster.ask("GET", SECRETS)
        assert (answer.status, answer.body["reason"]) == (401, "Unauthorized")
        for scheme in ("bearer", "Bearer"):  # in a pod the official client writes the one, elsewhere the other
            cluster.headers["Authorization"] = f"{scheme} {FIRST}"
            assert cluster.ask("GET", SECRETS).status == 200
        for none in (f"Basic {FIRST}", FIRST, "Bearer", ""):
            cluster.headers["Authorization"] = none
            assert cluster.ask("GET", SECRETS).status == 401
        cluster.headers["Authorization"] = f"Bearer {FIRST}"
        server.token = SECOND
        assert cluster.ask("GET", SECRETS).status == 401
        assert server.config()["users"][0]["user"] == {"token": SECOND}


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> TlsFiles:
    """A certificate that signs itself, made for the run."""
    pytest.importorskip("cryptography")
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "kindex")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return TlsFiles(folder / "cert.pem", folder / "key.pem")


def test_it_speaks_tls(tls: TlsFiles) -> None:
    """With TLS files clients of its kubeconfig trust it: lists, watches, and watches whose client leaves."""
    from kubernetes import watch
    from kubernetes.client import CoreV1Api

    with ApiServer([secret("a")], tls=tls, token=FIRST) as server, server.api_client() as client:
        assert server.url.startswith("https://127.0.0.1:")
        v1 = CoreV1Api(client)
        assert len(v1.list_secret_for_all_namespaces().items) == 1
        for event in watch.Watch().stream(v1.list_secret_for_all_namespaces, timeout_seconds=10):
            assert event["object"].metadata.name == "a"
            break
    with ApiServer([secret("a")], tls=tls) as server:
        cluster = RawCluster.of(server)
        cluster.pool.connection_pool_kw |= {"ca_certs": str(tls.certificate)}
        events = cluster.watch("/api/v1/secrets")
        assert told(next(events)) == ("ADDED", "a")
        events.close()  # type: ignore[attr-defined]
        server.wait_for(lambda: not server.watches)


def test_a_client_that_shakes_no_hands_does_not_hold_a_stop_up(tls: TlsFiles) -> None:
    """A connection without a TLS handshake neither keeps others waiting nor the server from stopping."""
    with ApiServer(tls=tls) as server, server.api_client() as client:
        from kubernetes.client import VersionApi

        with connected(server):
            assert VersionApi(client).get_code().major == "1"
            server.stop()


def test_a_kubeconfig_is_written(server: ApiServer, tmp_path: Path) -> None:
    """The file is what clients read, and the path comes back."""
    from kubernetes import config
    from kubernetes.client import CoreV1Api

    server.create(secret("a"))
    path = server.kubeconfig(tmp_path / "config")
    with config.new_client_from_config(config_file=str(path)) as client:
        assert [item.metadata.name for item in CoreV1Api(client).list_namespaced_secret("default").items] == ["a"]


# --- the test's hand --------------------------------------------------------------------------------------------------


def test_what_a_test_creates_keeps_what_it_says(server: ApiServer) -> None:
    """uid, creation time, generation and status are kept; the version is the server's; a namespace is there."""
    given = in_prod(pod("p")) | {"status": {"phase": "Running"}}
    given["metadata"] |= {"uid": "u1", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 7}
    made = server.create({**given, "metadata": {**given["metadata"], "resourceVersion": "5"}})
    assert made == {**given, "metadata": {**given["metadata"], "resourceVersion": server.resource_version}}
    assert server.get("pods", "p", namespace="prod") == made
    assert server.create(pod("q"))["metadata"]["namespace"] == "default"
    with pytest.raises(ApiError, match="already exists") as caught:
        server.create(given)
    assert (caught.value.code, caught.value.reason) == (409, "AlreadyExists")


def test_what_a_test_gives_and_gets_is_its_own(server: ApiServer) -> None:
    """Editing what was given to the server, or what it gave, changes nothing there."""
    given = in_prod(pod("p"))
    made = server.create(given)
    given["spec"].clear()
    server.get("pods", "p", namespace="prod")["spec"].clear()
    server.objects("pods")[0]["spec"].clear()
    assert server.objects("pods") == [made]
    assert made["spec"]["schedulerName"]


def test_a_test_updates_as_it_likes(server: ApiServer) -> None:
    """update() takes status and all, whatever version the object says; nothing changed is nothing written."""
    made = server.create(in_prod(pod("p")))
    running = server.update(made | {"status": {"phase": "Running"}})
    assert running["status"] == {"phase": "Running"}
    failed = server.update(made | {"status": {"phase": "Failed"}})
    assert server.update(failed) == failed
    assert failed["metadata"]["uid"] == made["metadata"]["uid"]
    assert failed["metadata"]["resourceVersion"] == server.resource_version == "1003"
    with pytest.raises(ApiError, match="not found"):
        server.update(pod("none"))
    with pytest.raises(ApiError, match="have no namespace here"):
        server.create(in_prod({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}))


def test_a_test_deletes(server: ApiServer) -> None:
    """delete() takes an object, or a resource and a name; one with finalizers is marked."""
    server.load([secret("a"), in_prod(secret("a")), secret("held")])
    server.delete("secrets", "a", namespace="prod")
    server.delete(secret("a"))
    held = secret("held")
    held["metadata"]["finalizers"] = ["acme.io/hold"]
    server.update(held)
    server.delete(held)
    assert server.get("secrets", "held")["metadata"]["deletionTimestamp"]
    held["metadata"]["finalizers"] = []
    server.update(held)
    assert server.objects("secrets") == []
    with pytest.raises(ApiError, match="not found"):
        server.delete("secrets", "a")


def test_resources_have_the_names_that_kubectl_knows(server: ApiServer) -> None:
    """A resource is found by plural, kind, short name, with its group, and as itself; what is ambiguous is an error."""
    server.create(widget("w"))
    for name in ("widgets", "Widget", "widgets.acme.io", WIDGET):
        assert len(server.objects(name)) == 1
    assert server.objects("deploy") == []
    with pytest.raises(ApiError, match="no resource called 'wodgets'"):
        server.objects("wodgets")
    server.add_resource(Resource("other.io/v1", "Widget"))
    with pytest.raises(ApiError, match=r"widgets\.acme\.io, widgets\.other\.io"):
        server.objects("widgets")


@pytest.mark.parametrize(
    ("kind", "plural"),
    [("Policy", "policies"), ("Gateway", "gateways"), ("Ingress", "ingresses"), ("Box", "boxes"), ("Dish", "dishes")],
)
def test_unknown_kinds_are_served_by_guess(server: ApiServer, cluster: RawCluster, kind: str, plural: str) -> None:
    """An object of a kind that nobody declared is served, under the plural that Kubernetes would guess."""
    server.create({"apiVersion": "new.io/v1", "kind": kind, "metadata": {"name": "x", "namespace": "prod"}})
    assert cluster.ask("GET", f"/apis/new.io/v1/namespaces/prod/{plural}/x").status == 200
    server.create({"apiVersion": "new.io/v1", "kind": f"Cluster{kind}", "metadata": {"name": "x"}})
    assert cluster.ask("GET", f"/apis/new.io/v1/cluster{plural}/x").status == 200


@pytest.mark.parametrize(
    "obj",
    [
        {},
        {"kind": "Pod", "metadata": {"name": "p"}},
        {"apiVersion": "v1", "kind": "Pod"},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {}},
        {"apiVersion": "v1", "kind": "Pod", "metadata": ["p"]},
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": object()},
    ],
)
def test_what_is_no_object_is_refused(server: ApiServer, obj: dict[str, Any]) -> None:
    """An object without kind, metadata or name, or with what JSON has not, is an ApiError."""
    with pytest.raises(ApiError):
        server.create(obj)


def test_a_generated_cluster_is_served(server: ApiServer, cluster: RawCluster) -> None:
    """All objects of a generated cluster can be loaded, and are listed with their own uids in order."""
    made = generate_cluster(pods=600, namespaces=5)
    server.load(made.objects())
    items = cluster.ask("GET", "/api/v1/pods").body["items"]
    keys = [f"{item['metadata']['namespace']}/{item['metadata']['name']}" for item in items]
    assert keys == sorted(keys)
    assert {item["metadata"]["uid"] for item in items} == {each["metadata"]["uid"] for each in made.pods}
    assert server.resource_version == str(1000 + len(list(made.objects())))


def test_a_list_is_made_of_bytes_that_are_there(
    server: ApiServer, cluster: RawCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a list nor a watch encodes or decodes an object: only envelopes are made."""
    server.load([secret(f"s-{number}", app="web") for number in range(100)])
    calls = []
    for name in ("encoded", "decoded"):
        original = getattr(states, name)
        monkeypatch.setattr(states, name, lambda value, original=original: calls.append(value) or original(value))
    assert len(cluster.ask("GET", "/api/v1/secrets", labelSelector="app").body["items"]) == 100
    assert len(list(islice(cluster.watch("/api/v1/secrets"), 100))) == 100
    assert len([call for call in calls if isinstance(call, bytes)]) == 0
    assert len(calls) < 10  # envelopes


# --- what was asked ---------------------------------------------------------------------------------------------------


def test_requests_are_recorded(server: ApiServer, cluster: RawCluster) -> None:
    """Method, path, query, headers and body are there, in order, with what they mean; also of refused requests."""
    cluster.ask("GET", SECRETS, limit=5, labelSelector="app=web")
    cluster.ask("PATCH", f"{SECRETS}/a", {"x": 1}, content_type=MERGE)
    cluster.ask("GET", "/apis/acme.io/v1/widgets?watch=true&timeoutSeconds=0&labelSelector=(")
    listed, patched, watched = server.requests
    assert (listed.number, listed.method, listed.path, listed.query) == (
        0,
        "GET",
        SECRETS,
        {"limit": "5", "labelSelector": "app=web"},
    )
    assert (listed.verb, listed.api_version, listed.resource, listed.namespace) == ("list", "v1", "secrets", "prod")
    assert (patched.verb, patched.name, json.loads(patched.body)) == ("patch", "a", {"x": 1})
    assert patched.headers["content-type"] == MERGE
    assert (watched.verb, watched.resource, watched.namespace) == ("watch", "widgets", None)


def test_waiting_has_an_end(server: ApiServer) -> None:
    """What does not happen is a TimeoutError."""
    with pytest.raises(TimeoutError, match="0 requests"):
        server.wait_for(lambda: server.requests, timeout_seconds=0)


# --- bookmarks --------------------------------------------------------------------------------------------------------


def test_a_bookmark_can_be_ordered(server: ApiServer, cluster: RawCluster) -> None:
    """bookmark() sends one to each watch that wants them, with the newest version, after what came before it."""
    wants = cluster.watch("/api/v1/secrets", allowWatchBookmarks="true", resourceVersion=server.resource_version)
    does_not = cluster.watch("/api/v1/secrets", resourceVersion=server.resource_version)
    server.create(secret("a"))
    server.create(pod("elsewhere"))
    server.bookmark()
    server.create(secret("b"))
    seen = list(islice(wants, 3))
    assert [told(event) for event in seen] == [("ADDED", "a"), ("BOOKMARK", ""), ("ADDED", "b")]
    assert seen[1]["object"] == {"kind": "Secret", "apiVersion": "v1", "metadata": {"resourceVersion": "1002"}}
    assert [told(event) for event in islice(does_not, 2)] == [("ADDED", "a"), ("ADDED", "b")]


def test_bookmarks_come_by_themselves() -> None:
    """A watch that wants bookmarks gets one each bookmark_seconds."""
    with ApiServer(bookmark_seconds=0.01) as server:
        events = RawCluster.of(server).watch("/api/v1/secrets", allowWatchBookmarks="true")
        assert [event["type"] for event in islice(events, 2)] == ["BOOKMARK"] * 2


def test_initial_events_without_bookmarks(server: ApiServer, cluster: RawCluster) -> None:
    """Who asks for initial events and not for bookmarks gets no bookmark at their end."""
    server.create(secret("a"))
    events = cluster.watch("/api/v1/secrets", sendInitialEvents="true", resourceVersionMatch="NotOlderThan")
    assert told(next(events)) == ("ADDED", "a")
    server.create(secret("b"))
    assert told(next(events)) == ("ADDED", "b")


def test_initial_events_of_the_future(server: ApiServer, cluster: RawCluster) -> None:
    """A WatchList at a version that has not been reached is an ERROR event with 504; at a forgotten one it is whole."""
    query = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
    (event,) = cluster.watch("/api/v1/secrets", resourceVersion="5000", **query)
    assert (event["type"], event["object"]["code"]) == ("ERROR", 504)
    server.create(secret("a"))
    server.compact()
    assert told(next(cluster.watch("/api/v1/secrets", resourceVersion="1000", **query))) == ("ADDED", "a")


# --- custom resources -------------------------------------------------------------------------------------------------


def definition() -> dict[str, Any]:
    versions = [
        {"name": "v1", "served": True, "storage": True, "selectableFields": [{"jsonPath": ".spec.size"}]},
        {"name": "v1beta1", "served": True, "storage": False, "subresources": {"status": {}}},
        {"name": "v1alpha1", "served": False, "storage": False},
    ]
    names = {"plural": "gadgets", "kind": "Gadget", "shortNames": ["gg"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.acme.io"},
        "spec": {"group": "acme.io", "scope": "Cluster", "names": names, "versions": versions},
    }


def test_a_definition_makes_a_resource(cluster: RawCluster) -> None:
    """A definition that is created is established, and its versions are served, with one set of objects."""
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = cluster.ask("POST", crds, definition()).body
    assert {condition["type"] for condition in made["status"]["conditions"]} == {"NamesAccepted", "Established"}
    gadget = {"apiVersion": "acme.io/v1", "kind": "Gadget", "metadata": {"name": "g"}, "spec": {"size": 3}}
    assert cluster.ask("POST", "/apis/acme.io/v1/gadgets", gadget).status == 201
    beta = cluster.ask("GET", "/apis/acme.io/v1beta1/gadgets").body
    assert [item["apiVersion"] for item in beta["items"]] == ["acme.io/v1beta1"]
    assert cluster.ask("GET", "/apis/acme.io/v1alpha1/gadgets").status == 404
    assert len(cluster.ask("GET", "/apis/acme.io/v1/gadgets", fieldSelector="spec.size=3").body["items"]) == 1
    assert cluster.ask("GET", "/apis/acme.io/v1beta1/gadgets", fieldSelector="spec.size=3").status == 400
    assert cluster.ask("GET", "/apis/acme.io/v1/gadgets/g/status").status == 404
    assert cluster.ask("GET", "/apis/acme.io/v1beta1/gadgets/g/status").status == 200
    discovered = {each["name"] for each in cluster.ask("GET", "/apis/acme.io/v1").body["resources"]}
    assert discovered == {"widgets", "widgets/status", "gadgets"}


def test_a_definition_changes_and_goes(server: ApiServer, cluster: RawCluster) -> None:
    """A version that a definition serves no longer is gone; with the definition its objects are deleted."""
    server.create(definition())
    server.create({"apiVersion": "acme.io/v1", "kind": "Gadget", "metadata": {"name": "g"}})
    events = cluster.watch("/apis/acme.io/v1/gadgets")
    assert told(next(events)) == ("ADDED", "g")
    changed = definition()
    changed["spec"]["versions"][1]["served"] = False
    server.update(changed)
    assert cluster.ask("GET", "/apis/acme.io/v1beta1/gadgets").status == 404
    server.delete(changed)
    assert told(next(events)) == ("DELETED", "g")
    assert cluster.ask("GET", "/apis/acme.io/v1/gadgets").status == 404


@pytest.mark.parametrize("missing", ["spec", "group", "plural", "kind"])
def test_a_definition_says_what_it_defines(cluster: RawCluster, missing: str) -> None:
    """A definition without group, plural or kind is 422, and is not there."""
    wrong = definition()
    for part in (wrong, wrong.get("spec", {}), wrong["spec"]["names"]):
        part.pop(missing, None)
    crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert cluster.ask("POST", crds, wrong).status == 422
    assert cluster.ask("GET", crds).body["items"] == []


def test_custom_items_say_their_kind(server: ApiServer, cluster: RawCluster) -> None:
    """Items of a list of custom resources have kind and apiVersion, as a real server has it."""
    server.create(widget("w"))
    (item,) = cluster.ask("GET", "/apis/acme.io/v1/widgets").body["items"]
    assert (item["kind"], item["apiVersion"]) == ("Widget", "acme.io/v1")


def test_custom_objects_are_replaced_with_their_version(server: ApiServer, cluster: RawCluster) -> None:
    """A PUT of a custom object without a version is 422; a patch needs none."""
    path = "/apis/acme.io/v1/namespaces/prod/widgets/w"
    made = server.create(widget("w"))
    assert cluster.ask("PUT", path, widget("w", "blue")).status == 422
    blue = {**made, "spec": {"color": "blue"}}
    assert cluster.ask("PUT", path, blue).body["metadata"]["generation"] == 2
    patch = [{"op": "replace", "path": "/spec/color", "value": "green"}]
    assert cluster.ask("PATCH", path, patch, content_type=JSON_PATCH).status == 200
    assert server.objects(WIDGET)[0]["spec"] == {"color": "green"}


# --- odds and ends ----------------------------------------------------------------------------------------------------


def test_namespaces_are_kept_apart(server: ApiServer, cluster: RawCluster) -> None:
    """A list and a watch of one namespace know nothing of another, whose name begins alike."""
    server.load([widget("a"), {**widget("b"), "metadata": {"name": "b", "namespace": "prod-2"}}])
    path = "/apis/acme.io/v1/namespaces/prod/widgets"
    assert [item["metadata"]["name"] for item in cluster.ask("GET", path).body["items"]] == ["a"]
    events = cluster.watch(path)
    server.update({**widget("b", "blue"), "metadata": {"name": "b", "namespace": "prod-2"}})
    server.update(widget("a", "blue"))
    assert [told(event) for event in islice(events, 2)] == [("ADDED", "a"), ("MODIFIED", "a")]


@pytest.mark.parametrize(
    ("resource", "selector"),
    [
        ("pods", "spec.hostNetwork=false"),
        ("pods", "spec.nodeName="),
        ("nodes", "spec.unschedulable=false"),
        ("events", "source=kubelet,involvedObject.kind=Pod"),
    ],
)
def test_absent_fields_are_what_they_are_to_a_real_server(
    server: ApiServer, cluster: RawCluster, resource: str, selector: str
) -> None:
    """A field selector knows the zero value of a field that is absent, and where a field really stands."""
    event = {"source": {"component": "kubelet"}, "involvedObject": {"kind": "Pod"}}
    server.load(
        [
            pod("p"),
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "spec": {}},
            {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, **event},
        ]
    )
    assert len(cluster.ask("GET", f"/api/v1/{resource}", fieldSelector=selector).body["items"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "content_type", "status"),
    [
        ("PATCH", f"{SECRETS}/a", "application/strategic-merge-patch+json", 415),
        ("PATCH", f"{SECRETS}/a", "application/apply-patch+yaml", 415),
        ("POST", SECRETS, "application/vnd.kubernetes.protobuf", 415),
        ("GET", f"{SECRETS}/a/log", "application/json", 404),
        ("GET", f"{SECRETS}/a/status", "application/json", 404),
        ("GET", "/api/v1/namespaces/prod/nodes", "application/json", 404),
        ("GET", "/nothing/here", "application/json", 404),
        ("POST", "/api/v1/secrets", "application/json", 405),
        ("DELETE", f"{SECRETS}/a?dryRun=All", "application/json", 400),
    ],
)
def test_what_it_does_not_have_is_said(
    server: ApiServer, cluster: RawCluster, method: str, path: str, content_type: str, status: int
) -> None:
    """Patches, forms, paths and methods that this server lacks are refused with a Status that names them."""
    server.create(in_prod(secret("a")))
    path, _, query = path.partition("?")
    answer = cluster.ask(method, path, {}, content_type=content_type, **dict(parse_qsl(query)))
    assert (answer.status, answer.body["kind"]) == (status, "Status")
    assert answer.body["message"]
    assert len(server.objects("secrets")) == 1


def test_a_table_is_not_to_be_had(cluster: RawCluster) -> None:
    """A Table alone is 406; with plain JSON after it, as kubectl asks, plain JSON comes."""
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    assert cluster.ask("GET", SECRETS, accept=table).status == 406
    assert cluster.ask("GET", SECRETS, accept=f"{table},application/json").body["kind"] == "SecretList"


def test_clients_cannot_say_what_the_server_says(server: ApiServer, cluster: RawCluster) -> None:
    """A version at creation is an error, as a real server has it; uid and creation time cannot be changed."""
    new = in_prod(secret("a"))
    new["metadata"]["resourceVersion"] = "5"
    assert cluster.ask("POST", SECRETS, new).status == 500
    made = server.create(in_prod(secret("a")))
    patch = {"metadata": {"creationTimestamp": "2000-01-01T00:00:00Z", "labels": {"x": "y"}}}
    patched = cluster.ask("PATCH", f"{SECRETS}/a", patch, content_type=MERGE).body
    assert patched["metadata"]["creationTimestamp"] == made["metadata"]["creationTimestamp"]
    patch = {"metadata": {"uid": "another"}}
    assert cluster.ask("PATCH", f"{SECRETS}/a", patch, content_type=MERGE).status == 409


def test_a_patch_leaves_an_object(server: ApiServer, cluster: RawCluster) -> None:
    """A patch after which there is no object with metadata is 422."""
    server.create(in_prod(secret("a")))
    for patch in ([{"op": "remove", "path": "/metadata"}], [{"op": "replace", "path": "", "value": 1}]):
        assert cluster.ask("PATCH", f"{SECRETS}/a", patch, content_type=JSON_PATCH).status == 422


@pytest.mark.parametrize(
    "metadata",
    [
        ["a"],
        {"name": 5},
        {"name": "a", "labels": ["x"]},
        {"name": "a", "labels": {"x": 1}},
        {"name": "a", "annotations": {"x": True}},
        {"name": "a", "finalizers": "acme.io/hold"},
        {"name": "a", "finalizers": [1]},
        {"name": "a", "resourceVersion": 7},
    ],
)
def test_metadata_has_its_shape(server: ApiServer, cluster: RawCluster, metadata: Any) -> None:
    """Metadata of the wrong shape is 400, whether it is created, replaced or patched in, and nothing is changed."""
    made = server.create(in_prod(secret("a")))
    wrong = {**secret("a"), "metadata": metadata}
    assert cluster.ask("POST", SECRETS, wrong).status == 400
    assert cluster.ask("PUT", f"{SECRETS}/a", wrong).status == 400
    patch = [{"op": "replace", "path": "/metadata", "value": metadata}]
    assert cluster.ask("PATCH", f"{SECRETS}/a", patch, content_type=JSON_PATCH).status in (400, 422)
    assert server.objects("secrets") == [made]


@pytest.mark.parametrize(
    ("method", "body", "status"),
    [
        ("POST", b"[]", 400),
        ("POST", b"[" * 5_000, 400),
        ("POST", b"\xff", 400),
        ("PUT", b"{}", 200),
        ("DELETE", b"[]", 200),
        ("DELETE", b'{"preconditions": 5}', 400),
        ("DELETE", b"{", 400),
    ],
)
def test_odd_bodies_are_answered(server: ApiServer, cluster: RawCluster, method: str, body: bytes, status: int) -> None:
    """Whatever JSON or bytes a body is, there is an answer: a Status, or what the API makes of an empty object."""
    server.create(in_prod(secret("a")))
    assert cluster.ask(method, SECRETS if method == "POST" else f"{SECRETS}/a", body).status == status


@pytest.mark.parametrize("header", ["Transfer-Encoding: chunked", "Content-Length: many", "Content-Length: -1"])
def test_a_body_has_a_length(server: ApiServer, header: str) -> None:
    """A body without a Content-Length that says how long it is cannot be read: 411, and the connection ends."""
    with connected(server) as connection, connection.makefile("rb") as answer:
        connection.sendall(f"POST {SECRETS} HTTP/1.1\r\n{header}\r\n\r\n".encode())
        assert answer.readline().split()[1] == b"411"
        assert b'"LengthRequired"' in answer.read()


@pytest.mark.parametrize("value", ["", "0", "f", "False", "1", "T", "true", "TRUE"])
def test_flags_are_as_go_reads_them(server: ApiServer, cluster: RawCluster, value: str) -> None:
    """Every spelling of true and false is understood, and others are 400."""
    server.create(secret("a"))
    query = {"resourceVersionMatch": "NotOlderThan", "watch": "1"}
    assert cluster.ask("GET", "/api/v1/secrets", sendInitialEvents="maybe", **query).status == 400
    with closing(cluster.watch("/api/v1/secrets", **query, sendInitialEvents=value)) as events:
        server.wait_for(lambda: server.watches)
        server.create(secret("b"))
        assert told(next(events))[1] == ("a" if value.lower() in ("1", "t", "true") else "b")


def test_a_large_watch_comes_in_chunks(server: ApiServer, cluster: RawCluster) -> None:
    """Initial events that are more than one chunk are all there."""
    server.load([secret(f"s-{number:03d}", text="x" * 2_000) for number in range(200)])
    names = [told(event)[1] for event in islice(cluster.watch("/api/v1/secrets"), 200)]
    assert names == [f"s-{number:03d}" for number in range(200)]


def test_the_fixture_is_there_for_who_asks(tmp_path: Path) -> None:
    """With the plugin a test of a user's gets a running server as api_server."""
    (tmp_path / "test_it.py").write_text(
        'def test_it(api_server):\n    "Works."\n    assert api_server.objects("pods") == []\n'
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "kindex.testing.pytest_plugin", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)  # noqa: S603
    assert "1 passed" in done.stdout, done.stdout + done.stderr
