"""What a Kubernetes API server does: ApiServer always, and a real one where KINDEX_TEST_KUBECONFIG names it.

On a real cluster everything happens in a namespace that is made for the run and deleted after it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from kindex.testing import ApiServer
from tests.raw_clusters import JSON_PATCH, MERGE, RawCluster, pod, policy, secret

KUBECONFIG = os.environ.get("KINDEX_TEST_KUBECONFIG", "")
POLICIES = "networking.k8s.io/v1/networkpolicies"
METADATA_OF_LISTS = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

CLUSTERS = ["ApiServer", "real"] if KUBECONFIG else ["ApiServer"]


@pytest.fixture(scope="session")
def real_cluster() -> Iterator[RawCluster]:
    """A namespace of its own in the real cluster."""
    cluster = RawCluster.at(KUBECONFIG)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster.namespace}}
    assert cluster.ask("POST", "/api/v1/namespaces", namespace).status == 201
    try:
        events = cluster.watch(cluster.path("serviceaccounts"))  # without its default one no pod can be created
        next(event for event in events if event["object"]["metadata"]["name"] == "default")
        yield cluster
    finally:
        cluster.ask("DELETE", f"/api/v1/namespaces/{cluster.namespace}")


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Iterator[RawCluster]:
    """Each cluster that has to fulfil the contract, without objects of earlier cases."""
    if request.param == "real":
        cluster = request.getfixturevalue("real_cluster")
        yield cluster
        for resource in ("secrets", "pods", POLICIES):
            cluster.ask("DELETE", cluster.path(resource), gracePeriodSeconds=0)
    else:
        with ApiServer() as server:
            yield RawCluster.of(server)


def names(body: Any) -> list[str]:
    return [item["metadata"]["name"] for item in body["items"]]


def told(event: Any) -> tuple[str, str]:
    return event["type"], event["object"]["metadata"]["name"]


def version_of(obj: Any) -> int:
    return int(obj["metadata"]["resourceVersion"])


@pytest.fixture
def three(cluster: RawCluster) -> list[Any]:
    """Three secrets, a b c; the second is the odd one."""
    made = [secret("a", app="web"), secret("b", app="db"), secret("c", app="web")]
    return [cluster.create("secrets", each) for each in made]


# --- lists ------------------------------------------------------------------------------------------------------------


def test_items_do_not_say_their_kind(cluster: RawCluster, three: list[Any]) -> None:
    """A list has kind, apiVersion and a version no older than its items; they say neither kind nor apiVersion."""
    body = cluster.ask("GET", cluster.path("secrets")).body
    assert (body["kind"], body["apiVersion"]) == ("SecretList", "v1")
    assert names(body) == ["a", "b", "c"]
    assert [set(item) & {"kind", "apiVersion"} for item in body["items"]] == [set(), set(), set()]
    assert version_of(body) >= version_of(three[-1])


@pytest.mark.usefixtures("three")
def test_pages_add_up(cluster: RawCluster) -> None:
    """Pages of a limit hold each object once, all at the first page's version; what remains is counted."""
    first = cluster.ask("GET", cluster.path("secrets"), limit=2).body
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 1
    last = cluster.ask("GET", cluster.path("secrets"), limit=2, continue_=first["metadata"]["continue"]).body
    assert names(last) == ["c"]
    assert not last["metadata"].get("continue")
    assert "remainingItemCount" not in last["metadata"]
    assert version_of(last) == version_of(first)


@pytest.mark.usefixtures("three")
def test_pages_show_one_state(cluster: RawCluster) -> None:
    """What is created and deleted between two pages does not show on the second."""
    first = cluster.ask("GET", cluster.path("secrets"), limit=1).body
    cluster.ask("DELETE", cluster.path("secrets", "b"))
    cluster.create("secrets", secret("bb"))
    rest = cluster.ask("GET", cluster.path("secrets"), continue_=first["metadata"]["continue"]).body
    assert names(rest) == ["b", "c"]


@pytest.mark.parametrize("selector", [{"labelSelector": "app"}, {"fieldSelector": "metadata.name!=x"}])
@pytest.mark.usefixtures("three")
def test_what_remains_is_not_counted_under_a_selector(cluster: RawCluster, selector: dict[str, str]) -> None:
    """A page of a selection has a token, but no count of what remains."""
    body = cluster.ask("GET", cluster.path("secrets"), limit=1, **selector).body
    assert names(body) == ["a"]
    assert body["metadata"]["continue"]
    assert "remainingItemCount" not in body["metadata"]


@pytest.mark.usefixtures("three")
def test_version_0_ignores_the_limit(cluster: RawCluster) -> None:
    """A list at resourceVersion=0 is whole, whatever the limit."""
    body = cluster.ask("GET", cluster.path("secrets"), limit=1, resourceVersion=0).body
    assert names(body) == ["a", "b", "c"]
    assert not body["metadata"].get("continue")


def test_a_list_can_show_the_past(cluster: RawCluster, three: list[Any]) -> None:
    """resourceVersionMatch=Exact shows the state at a version, NotOlderThan one no older; a limit alone means Exact."""
    then = cluster.version()
    cluster.ask("DELETE", cluster.path("secrets", "b"))
    cluster.create("secrets", secret("d"))
    exact = cluster.ask("GET", cluster.path("secrets"), resourceVersion=then, resourceVersionMatch="Exact").body
    assert (names(exact), exact["metadata"]["resourceVersion"]) == (["a", "b", "c"], then)
    newer = cluster.ask("GET", cluster.path("secrets"), resourceVersion=version_of(three[0]))
    assert version_of(newer.body) >= version_of(three[0])
    now = cluster.version()
    newest = cluster.ask("GET", cluster.path("secrets"), resourceVersion=now, resourceVersionMatch="NotOlderThan").body
    assert names(newest) == ["a", "c", "d"]
    limited = cluster.ask("GET", cluster.path("secrets"), resourceVersion=then, limit=10).body
    assert names(limited) == ["a", "b", "c"]


def test_a_list_cannot_show_the_future(cluster: RawCluster) -> None:
    """A version that has not been reached is 504 Timeout with the cause ResourceVersionTooLarge."""
    future = int(cluster.version()) + 10**6
    answer = cluster.ask("GET", cluster.path("secrets"), resourceVersion=future)
    assert (answer.status, answer.body["reason"], answer.body["code"]) == (504, "Timeout", 504)
    assert [cause["reason"] for cause in answer.body["details"]["causes"]] == ["ResourceVersionTooLarge"]
    assert "Too large resource version" in answer.body["message"]


@pytest.mark.usefixtures("three")
def test_an_expired_token_brings_another(cluster: RawCluster) -> None:
    """An expired continue token is 410 Expired, with a fresh token for what remains, at another version."""
    token = cluster.forgotten_token("secrets")
    answer = cluster.ask("GET", cluster.path("secrets"), limit=2, continue_=token)
    assert (answer.status, answer.body["reason"], answer.body["kind"]) == (410, "Expired", "Status")
    fresh = answer.body["metadata"]["continue"]
    rest = cluster.ask("GET", cluster.path("secrets"), continue_=fresh)
    assert rest.status == 200
    assert names(rest.body)[-1] == "c"


def test_the_past_is_forgotten(cluster: RawCluster) -> None:
    """An exact list at a compacted version is 410 Expired."""
    version = cluster.forgotten_version()
    answer = cluster.ask("GET", cluster.path("secrets"), resourceVersion=version, resourceVersionMatch="Exact")
    assert (answer.status, answer.body["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"resourceVersionMatch": "NotOlderThan"}, 422),
        ({"resourceVersionMatch": "Exact", "resourceVersion": "0"}, 422),
        ({"resourceVersionMatch": "Newest", "resourceVersion": "1"}, 422),
        ({"sendInitialEvents": "true"}, 422),
        ({"continue": "no token"}, 400),
        ({"limit": "many"}, 400),
        ({"labelSelector": "app in web"}, 400),
        ({"labelSelector": "app=web,,,("}, 400),
        ({"labelSelector": "-app"}, 400),
        ({"fieldSelector": "spec.nodeName"}, 400),
        ({"fieldSelector": "spec.nodeName=n1"}, 400),
        ({"fieldSelector": "status.phase=Running"}, 400),
    ],
)
def test_what_makes_no_list_is_refused(cluster: RawCluster, query: dict[str, str], status: int) -> None:
    """Parameters that contradict one another are 422; malformed ones and fields that a kind does not offer are 400."""
    answer = cluster.ask("GET", cluster.path("secrets"), **query)
    assert (answer.status, answer.body["status"]) == (status, "Failure")


@pytest.mark.usefixtures("three")
def test_a_continued_list_has_its_version(cluster: RawCluster) -> None:
    """A token together with a resourceVersion is 400, with a resourceVersionMatch 422."""
    first = cluster.ask("GET", cluster.path("secrets"), limit=1).body["metadata"]
    version, token = first["resourceVersion"], first["continue"]
    assert cluster.ask("GET", cluster.path("secrets"), resourceVersion=version, continue_=token).status == 400
    match = cluster.ask(
        "GET",
        cluster.path("secrets"),
        resourceVersion=version,
        continue_=token,
        resourceVersionMatch="Exact",
    )
    assert match.status == 422


@pytest.mark.parametrize("watch", [{}, {"watch": "true"}])
def test_a_version_is_a_number(cluster: RawCluster, watch: dict[str, str]) -> None:
    """A version that is no number is an error of the client, or of the server, but an error."""
    assert cluster.ask("GET", cluster.path("secrets"), resourceVersion="abc", **watch).status in (400, 422, 500)


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ({"labelSelector": "app=web"}, ["a", "c"]),
        ({"labelSelector": "app!=web"}, ["b"]),
        ({"labelSelector": "app in (db, cache)"}, ["b"]),
        ({"labelSelector": "!app"}, []),
        ({"fieldSelector": "metadata.name=b"}, ["b"]),
        ({"fieldSelector": "metadata.name!=b"}, ["a", "c"]),
        ({"fieldSelector": "type=kindex.dev/contract", "labelSelector": "app=web"}, ["a", "c"]),
        ({"fieldSelector": "type=Opaque"}, []),
    ],
)
@pytest.mark.usefixtures("three")
def test_selectors_select(cluster: RawCluster, selector: dict[str, str], found: list[str]) -> None:
    """Label and field selectors select, together what both select."""
    assert names(cluster.ask("GET", cluster.path("secrets"), **selector).body) == found


@pytest.mark.usefixtures("three")
def test_a_list_of_the_cluster_holds_all_namespaces(cluster: RawCluster) -> None:
    """A list without a namespace holds the objects of this one too."""
    body = cluster.ask("GET", "/api/v1/secrets", fieldSelector=f"metadata.namespace={cluster.namespace}").body
    assert names(body) == ["a", "b", "c"]
    assert {item["metadata"]["namespace"] for item in body["items"]} == {cluster.namespace}


@pytest.mark.usefixtures("three")
def test_metadata_can_be_all(cluster: RawCluster) -> None:
    """PartialObjectMetadata(List) has the metadata and nothing else, in lists, in one object and in watches."""
    body = cluster.ask("GET", cluster.path("secrets"), accept=METADATA_OF_LISTS).body
    assert (body["kind"], body["apiVersion"]) == ("PartialObjectMetadataList", "meta.k8s.io/v1")
    assert names(body) == ["a", "b", "c"]
    assert all(not set(item) & {"type", "data"} for item in body["items"])
    one = cluster.ask("GET", cluster.path("secrets", "a"), accept=METADATA).body
    assert (one["kind"], set(one)) == ("PartialObjectMetadata", {"kind", "apiVersion", "metadata"})
    (event,) = islice(cluster.watch(cluster.path("secrets"), accept=METADATA), 1)
    assert (event["object"]["kind"], event["object"]["metadata"]["name"]) == ("PartialObjectMetadata", "a")


@pytest.mark.usefixtures("three")
def test_the_first_form_that_there_is_is_taken(cluster: RawCluster) -> None:
    """Of several accepted forms the first is taken that the server has; with none of them it is 406."""
    accept = "application/json;as=NoSuchForm;g=meta.k8s.io;v=v1,application/json"
    assert cluster.ask("GET", cluster.path("secrets"), accept=accept).body["kind"] == "SecretList"
    assert cluster.ask("GET", cluster.path("secrets"), accept="text/html").status == 406


# --- watches ----------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("three")
def test_a_watch_goes_on_where_a_list_ended(cluster: RawCluster) -> None:
    """From a list's version a watch tells what happens after it, in order, whole objects with growing versions."""
    version = cluster.version()
    cluster.create("secrets", secret("d"))
    events = cluster.watch(cluster.path("secrets"), resourceVersion=version)
    seen = [next(events)]
    cluster.ask("PATCH", cluster.path("secrets", "d"), {"metadata": {"labels": {"x": "y"}}}, content_type=MERGE)
    cluster.ask("DELETE", cluster.path("secrets", "d"))
    seen += islice(events, 2)
    assert [told(event) for event in seen] == [("ADDED", "d"), ("MODIFIED", "d"), ("DELETED", "d")]
    assert [event["object"]["kind"] for event in seen] == ["Secret"] * 3
    versions = [version_of(event["object"]) for event in seen]
    assert versions == sorted(set(versions))
    assert seen[2]["object"]["metadata"]["labels"] == {"x": "y"}


@pytest.mark.parametrize("query", [{}, {"resourceVersion": "0"}])
@pytest.mark.usefixtures("three")
def test_a_watch_without_a_version_begins_with_what_is_there(cluster: RawCluster, query: dict[str, str]) -> None:
    """Without a version, or at 0, each object is ADDED first; then it goes on."""
    events = cluster.watch(cluster.path("secrets"), **query)
    assert [told(event) for event in islice(events, 3)] == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    cluster.ask("DELETE", cluster.path("secrets", "a"))
    assert told(next(events)) == ("DELETED", "a")


def test_a_watch_from_the_forgotten_past_is_an_error_event(cluster: RawCluster) -> None:
    """From a compacted version: HTTP 200, one ERROR event with code 410 and reason Expired, and the end."""
    (event,) = cluster.watch(cluster.path("secrets"), resourceVersion=cluster.forgotten_version())
    assert event["type"] == "ERROR"
    status = event["object"]
    assert (status["kind"], status["code"], status["reason"]) == ("Status", 410, "Expired")
    assert not status["metadata"].get("resourceVersion")


@pytest.mark.usefixtures("three")
def test_a_watch_from_the_future_is_silent(cluster: RawCluster) -> None:
    """From a version that has not been reached nothing comes, until timeoutSeconds ends the stream."""
    future = int(cluster.version()) + 10**6
    events = cluster.watch(cluster.path("secrets"), resourceVersion=future, timeoutSeconds=1)
    cluster.create("secrets", secret("d"))
    assert list(events) == []


@pytest.mark.usefixtures("three")
def test_objects_enter_and_leave_a_selection(cluster: RawCluster) -> None:
    """An object that begins to fit a selector is ADDED, one that ceases is DELETED, at the version of the change."""
    events = cluster.watch(cluster.path("secrets"), labelSelector="app=web", resourceVersion=cluster.version())
    changed = []
    for app in ("web", "web2", "db"):
        patch = {"metadata": {"labels": {"app": app[:3]}, "annotations": {"was": app}}}
        changed.append(cluster.ask("PATCH", cluster.path("secrets", "b"), patch, content_type=MERGE).body)
    cluster.ask("DELETE", cluster.path("secrets", "b"))
    cluster.ask("DELETE", cluster.path("secrets", "a"))
    seen = list(islice(events, 4))
    assert [told(event) for event in seen] == [("ADDED", "b"), ("MODIFIED", "b"), ("DELETED", "b"), ("DELETED", "a")]
    assert version_of(seen[2]["object"]) == version_of(changed[2])
    assert seen[2]["object"]["metadata"]["labels"] == {"app": "web"}


@pytest.mark.usefixtures("three")
def test_a_watch_of_one_name(cluster: RawCluster) -> None:
    """A field selector narrows a watch as it does a list."""
    events = cluster.watch(cluster.path("secrets"), fieldSelector="metadata.name=b", resourceVersion=cluster.version())
    for name in ("a", "b"):
        cluster.ask("DELETE", cluster.path("secrets", name))
    assert told(next(events)) == ("DELETED", "b")


def test_initial_events_end_with_a_bookmark(cluster: RawCluster, three: list[Any]) -> None:
    """A WatchList gives each object, then a bookmark with an annotation, a version and no name; then it goes on."""
    events = cluster.watch(
        cluster.path("secrets"),
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    *initial, bookmark = islice(events, 4)
    assert sorted(told(event) for event in initial) == [("ADDED", "a"), ("ADDED", "b"), ("ADDED", "c")]
    assert bookmark["type"] == "BOOKMARK"
    assert set(bookmark["object"]) == {"kind", "apiVersion", "metadata"}
    assert (bookmark["object"]["kind"], bookmark["object"]["apiVersion"]) == ("Secret", "v1")
    metadata = bookmark["object"]["metadata"]
    assert metadata["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert set(metadata) == {"resourceVersion", "annotations"}
    assert version_of(bookmark["object"]) >= version_of(three[-1])
    cluster.ask("DELETE", cluster.path("secrets", "a"))
    assert told(next(event for event in events if event["type"] != "BOOKMARK")) == ("DELETED", "a")


@pytest.mark.usefixtures("three")
def test_initial_events_can_be_declined(cluster: RawCluster) -> None:
    """With sendInitialEvents=false a watch without a version begins with what happens next."""
    events = cluster.watch(
        cluster.path("secrets"), sendInitialEvents="false", resourceVersionMatch="NotOlderThan", timeoutSeconds=10
    )
    cluster.ask("DELETE", cluster.path("secrets", "c"))
    assert told(next(events)) == ("DELETED", "c")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"sendInitialEvents": "true"}, 422),
        ({"sendInitialEvents": "true", "resourceVersionMatch": "Exact"}, 422),
        ({"resourceVersionMatch": "NotOlderThan", "resourceVersion": "1"}, 422),
        ({"labelSelector": "app in web"}, 400),
        ({"fieldSelector": "spec.nodeName=n1"}, 400),
    ],
)
def test_what_makes_no_watch_is_refused(cluster: RawCluster, query: dict[str, str], status: int) -> None:
    """A watch that cannot be is refused before it begins, with an HTTP status."""
    assert cluster.ask("GET", cluster.path("secrets"), watch="true", **query).status == status


HALVES = (
    "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')",
    "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')",
)


def test_shards_add_up(cluster: RawCluster) -> None:
    """Two halves of the hashes hold each object once, joined ones hold all; a list says its selector again."""
    for number in range(20):
        cluster.create("secrets", secret(f"s-{number:02d}"))
    lists = [cluster.ask("GET", cluster.path("secrets"), shardSelector=half).body for half in HALVES]
    if "shardInfo" not in lists[0]["metadata"]:
        pytest.skip("this cluster has no ShardedListAndWatch")
    assert [body["metadata"]["shardInfo"]["selector"] for body in lists] == list(HALVES)
    assert sorted(names(lists[0]) + names(lists[1])) == [f"s-{number:02d}" for number in range(20)]
    assert all(names(body) for body in lists)
    joined = cluster.ask("GET", cluster.path("secrets"), shardSelector=" || ".join(HALVES)).body
    assert len(names(joined)) == 20
    watched = cluster.watch(cluster.path("secrets"), shardSelector=HALVES[1])
    assert [told(event)[1] for event in islice(watched, len(names(lists[1])))] == names(lists[1])
    assert cluster.ask("GET", cluster.path("secrets"), shardSelector="uid < 5").status == 400


# --- writes -----------------------------------------------------------------------------------------------------------


def test_what_is_created_gets_what_the_server_gives(cluster: RawCluster) -> None:
    """A new object has a uid, a creation time, a version and, with generateName, a name; 201 says so."""
    wanted = {**secret(""), "metadata": {"generateName": "made-", "uid": "mine"}}
    answer = cluster.ask("POST", cluster.path("secrets"), wanted)
    metadata = answer.body["metadata"]
    assert (answer.status, answer.body["kind"]) == (201, "Secret")
    assert metadata["name"].startswith("made-")
    assert len(metadata["name"]) > len("made-")
    assert metadata["uid"] not in ("", "mine")
    assert metadata["creationTimestamp"]
    assert metadata["namespace"] == cluster.namespace
    assert cluster.ask("GET", cluster.path("secrets", metadata["name"])).body == answer.body


@pytest.mark.parametrize(
    ("wrong", "status", "reason"),
    [
        (secret("a"), 409, "AlreadyExists"),
        ({**secret(""), "metadata": {}}, 422, "Invalid"),
        ({**secret("d"), "metadata": {"name": "d", "namespace": "another"}}, 400, "BadRequest"),
        ({**secret("d"), "kind": "ConfigMap"}, 400, "BadRequest"),
        (b'{"kind":', 400, "BadRequest"),
    ],
)
@pytest.mark.usefixtures("three")
def test_what_cannot_be_created_is_refused(cluster: RawCluster, wrong: Any, status: int, reason: str) -> None:
    """A name that is taken is 409, none at all 422; another namespace or kind than the path's, or no JSON, is 400."""
    answer = cluster.ask("POST", cluster.path("secrets"), wrong)
    assert (answer.status, answer.body["reason"]) == (status, reason)


def test_what_is_not_there_is_not_found(cluster: RawCluster) -> None:
    """Reading, writing and deleting a missing object is 404 NotFound, and says which."""
    for method, body in (("GET", None), ("PUT", secret("none")), ("DELETE", None)):
        answer = cluster.ask(method, cluster.path("secrets", "none"), body)
        assert (answer.status, answer.body["reason"]) == (404, "NotFound")
        assert (answer.body["details"]["name"], answer.body["details"]["kind"]) == ("none", "secrets")
    assert cluster.ask("PATCH", cluster.path("secrets", "none"), {}, content_type=MERGE).status == 404
    assert cluster.ask("GET", "/api/v1/nosuchthings").status == 404


def test_a_put_replaces(cluster: RawCluster, three: list[Any]) -> None:
    """A PUT of the newest version replaces, and so does one without; of an older one it is 409 Conflict."""
    new = {**three[0], "metadata": {**three[0]["metadata"], "labels": {"app": "new"}}}
    replaced = cluster.ask("PUT", cluster.path("secrets", "a"), new)
    assert (replaced.status, replaced.body["metadata"]["labels"]) == (200, {"app": "new"})
    assert version_of(replaced.body) > version_of(three[0])
    assert replaced.body["metadata"]["uid"] == three[0]["metadata"]["uid"]
    conflict = cluster.ask("PUT", cluster.path("secrets", "a"), three[0])
    assert (conflict.status, conflict.body["reason"]) == (409, "Conflict")
    assert cluster.ask("PUT", cluster.path("secrets", "a"), secret("a")).status == 200
    assert cluster.ask("PUT", cluster.path("secrets", "a"), secret("b")).status == 400


def test_a_write_of_nothing_keeps_the_version(cluster: RawCluster, three: list[Any]) -> None:
    """A PUT and a patch that change nothing keep the version, and no watch tells of them."""
    events = cluster.watch(cluster.path("secrets"), resourceVersion=cluster.version())
    put = cluster.ask("PUT", cluster.path("secrets", "a"), three[0])
    patch = {"metadata": {"labels": {"app": "web", "absent": None}}}
    patched = cluster.ask("PATCH", cluster.path("secrets", "a"), patch, content_type=MERGE)
    assert (put.body, patched.body) == (three[0], three[0])
    cluster.ask("DELETE", cluster.path("secrets", "c"))
    assert told(next(events)) == ("DELETED", "c")


def test_a_merge_patch_merges(cluster: RawCluster, three: list[Any]) -> None:
    """A merge patch changes what it names and removes what it says is null; an old version in it is 409."""
    patch = {"metadata": {"labels": {"app": None, "tier": "gold"}}}
    patched = cluster.ask("PATCH", cluster.path("secrets", "a"), patch, content_type=MERGE)
    assert patched.body["metadata"]["labels"] == {"tier": "gold"}
    old = {"metadata": {"resourceVersion": three[0]["metadata"]["resourceVersion"], "labels": {"x": "y"}}}
    assert cluster.ask("PATCH", cluster.path("secrets", "a"), old, content_type=MERGE).status == 409


@pytest.mark.usefixtures("three")
def test_a_json_patch_is_applied(cluster: RawCluster) -> None:
    """A JSON patch is applied; one whose test fails is 422, one that is no patch 400, and neither changes anything."""
    path = cluster.path("secrets", "a")
    patch = [
        {"op": "test", "path": "/metadata/labels/app", "value": "web"},
        {"op": "add", "path": "/metadata/labels/a~1b", "value": "c"},
        {"op": "remove", "path": "/metadata/labels/app"},
    ]
    assert cluster.ask("PATCH", path, patch, content_type=JSON_PATCH).body["metadata"]["labels"] == {"a/b": "c"}
    assert cluster.ask("PATCH", path, patch, content_type=JSON_PATCH).status == 422
    assert cluster.ask("PATCH", path, {"op": "remove"}, content_type=JSON_PATCH).status == 400
    assert cluster.ask("GET", path).body["metadata"]["labels"] == {"a/b": "c"}


def test_generation_counts_what_is_asked_for(cluster: RawCluster) -> None:
    """The generation is 1 at first; a change of spec raises it, one of metadata does not."""
    created = cluster.create(POLICIES, policy("p"))
    path = cluster.path(POLICIES, "p")
    labelled = cluster.ask("PATCH", path, {"metadata": {"labels": {"x": "y"}}}, content_type=MERGE).body
    patch = {"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}
    changed = cluster.ask("PATCH", path, patch, content_type=MERGE).body
    assert [each["metadata"]["generation"] for each in (created, labelled, changed)] == [1, 1, 2]


def test_status_is_written_by_itself(cluster: RawCluster) -> None:
    """What is written at the object leaves its status alone, and what is written at /status leaves the rest."""
    cluster.create("pods", {**pod("p"), "status": {"message": "created"}})
    path = cluster.path("pods", "p")
    both = {"metadata": {"annotations": {"a": "b"}}, "status": {"message": "at the object"}}
    at_object = cluster.ask("PATCH", path, both, content_type=MERGE).body
    assert at_object["metadata"]["annotations"] == {"a": "b"}
    assert "message" not in at_object.get("status", {})
    both = {"spec": {"activeDeadlineSeconds": 5}, "status": {"message": "at the status"}}
    at_status = cluster.ask("PATCH", f"{path}/status", both, content_type=MERGE).body
    assert at_status["status"]["message"] == "at the status"
    assert "activeDeadlineSeconds" not in at_status["spec"]
    assert version_of(at_status) > version_of(at_object)
    assert cluster.ask("GET", f"{path}/status").body == cluster.ask("GET", path).body


def test_finalizers_hold_what_is_deleted(cluster: RawCluster) -> None:
    """A delete marks an object that has finalizers and answers it; taking the last one away deletes it."""
    held = secret("held")
    held["metadata"]["finalizers"] = ["kindex.dev/hold"]
    cluster.create("secrets", held)
    path = cluster.path("secrets", "held")
    events = cluster.watch(cluster.path("secrets"), resourceVersion=cluster.version())
    answer = cluster.ask("DELETE", path)
    assert (answer.status, answer.body["kind"]) == (200, "Secret")
    assert answer.body["metadata"]["deletionTimestamp"]
    again = cluster.ask("DELETE", path)
    assert again.body["metadata"]["resourceVersion"] == answer.body["metadata"]["resourceVersion"]
    more = {"metadata": {"finalizers": ["kindex.dev/hold", "kindex.dev/more"]}}
    assert cluster.ask("PATCH", path, more, content_type=MERGE).status == 422
    freed = cluster.ask("PATCH", path, {"metadata": {"finalizers": None}}, content_type=MERGE)
    assert (freed.status, freed.body["metadata"].get("finalizers")) == (200, None)
    assert cluster.ask("GET", path).status == 404
    assert [told(event) for event in islice(events, 2)] == [("MODIFIED", "held"), ("DELETED", "held")]


def test_a_delete_answers_a_status_or_the_object(cluster: RawCluster, three: list[Any]) -> None:
    """Deleting a secret answers a Status of success, deleting a service account the account."""
    answer = cluster.ask("DELETE", cluster.path("secrets", "a"))
    assert (answer.status, answer.body["kind"], answer.body["status"]) == (200, "Status", "Success")
    assert answer.body["details"]["uid"] == three[0]["metadata"]["uid"]
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}}
    cluster.create("serviceaccounts", account)
    answer = cluster.ask("DELETE", cluster.path("serviceaccounts", "robot"))
    assert (answer.status, answer.body["kind"]) == (200, "ServiceAccount")
    assert cluster.ask("GET", cluster.path("serviceaccounts", "robot")).status == 404


def test_a_delete_has_preconditions(cluster: RawCluster, three: list[Any]) -> None:
    """A delete that names another uid than the object's is 409; with the right one it deletes."""
    path = cluster.path("secrets", "a")
    options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}}
    assert cluster.ask("DELETE", path, options).status == 409
    options["preconditions"]["uid"] = three[0]["metadata"]["uid"]
    assert cluster.ask("DELETE", path, options).status == 200


@pytest.mark.usefixtures("three")
def test_many_are_deleted_at_once(cluster: RawCluster) -> None:
    """A delete of the collection deletes what its selector selects, and nothing else."""
    assert cluster.ask("DELETE", cluster.path("secrets"), labelSelector="app=web").status == 200
    assert names(cluster.ask("GET", cluster.path("secrets")).body) == ["b"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "POST"])
def test_a_method_that_a_path_has_not(cluster: RawCluster, method: str) -> None:
    """A collection cannot be replaced or patched, and an object is not created at its own path: 405."""
    path = cluster.path("secrets", "a") if method == "POST" else cluster.path("secrets")
    content_type = MERGE if method == "PATCH" else "application/json"
    assert cluster.ask(method, path, secret("a"), content_type=content_type).status == 405


# --- discovery --------------------------------------------------------------------------------------------------------


def test_resources_can_be_discovered(cluster: RawCluster) -> None:
    """The discovery documents name groups, versions and resources, with scope, kind and verbs."""
    assert cluster.ask("GET", "/api").body["versions"] == ["v1"]
    groups = {group["name"]: group for group in cluster.ask("GET", "/apis").body["groups"]}
    assert groups["apps"]["preferredVersion"]["groupVersion"] == "apps/v1"
    assert cluster.ask("GET", "/apis/apps").body["kind"] == "APIGroup"
    core = {each["name"]: each for each in cluster.ask("GET", "/api/v1").body["resources"]}
    assert (core["pods"]["kind"], core["pods"]["namespaced"], core["nodes"]["namespaced"]) == ("Pod", True, False)
    assert {"list", "watch", "get", "create"} <= set(core["pods"]["verbs"])
    assert "pods/status" in core
    apps = {each["name"]: each for each in cluster.ask("GET", "/apis/apps/v1").body["resources"]}
    assert "deploy" in apps["deployments"]["shortNames"]
    assert cluster.ask("GET", "/version").body["major"] == "1"
    assert cluster.ask("GET", "/healthz").body == "ok"
    assert cluster.ask("GET", "/apis/nosuch.dev/v1").status == 404
