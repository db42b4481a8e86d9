"""Traps of what objects are made of and how much of it there is; tests have their numbers in our list."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kindex import FieldIndexer, Informer, LabelIndexer, LazyObject, NotSyncedError, ObjectBudgetError, Store
from kindex.decoding import DictDecoder, LazyDecoder
from kindex.footprints import object_bytes
from kindex.testing import ApiServer
from kindex.transforms import intern_strings, keep_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kubernetes.client import ApiClient

RawObject = dict[str, Any]

PATIENCE = 20.0


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with ApiServer() as started:
        yield started


@pytest.fixture
def client(server: ApiServer) -> Iterator[ApiClient]:
    with server.api_client() as made:
        yield made


def pod(name: str, *, labels: Mapping[str, str] | None = None, **metadata: Any) -> RawObject:
    metadata = {"name": name, "namespace": "prod", "labels": dict(labels or {}), **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"nodeName": "n1"}, "status": {}}


# B64


class Sized(msgspec.Struct):
    """A model that not every object fulfils."""

    metadata: dict[str, Any]
    size: int


def test_b64_one_object_that_violates_a_model_fails_no_list(server: ApiServer, client: ApiClient) -> None:
    """Raw objects need no model: all are there, and the odd one is queried like the others."""
    server.load([{**pod("a"), "size": 1}, {**pod("odd"), "size": "many", "spec": None}, {**pod("c"), "size": 3}])
    with Informer("/api/v1/pods", client=client, indexers=[FieldIndexer("spec.nodeName")]) as pods:
        assert sorted(kept.name for kept in pods.select()) == ["a", "c", "odd"]
        assert pods.count(field_selector="spec.nodeName=n1") == 2
    with Informer("/api/v1/pods", client=client, decode=Sized, on_decode_error="skip") as sized:
        assert sorted(kept.size for kept in sized.select()) == [1, 3]


# B69

EVENTS, SCOPE = 3_000, 30
"""Of each hundred Events one matters."""


def event(number: int) -> RawObject:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"e{number:05}", "namespace": "prod"},
        "type": "Warning" if number % (EVENTS // SCOPE) == 0 else "Normal",
        "message": f"{number} " + "Readiness probe failed: " * 60,
        "involvedObject": {"kind": "Pod", "name": f"web-{number % 50}"},
    }


def test_b69_a_stream_of_events_is_bounded_before_it_is_kept(server: ApiServer, client: ApiClient) -> None:
    """Objects are cut to what is read as they come in, by list and by watch; no more of them is kept."""
    server.load([event(number) for number in range(EVENTS)])
    whole = Informer("/api/v1/events", client=client)
    cut = Informer("/api/v1/events", client=client, transform=keep_paths("involvedObject.name", "type"))
    with whole as everything, cut as events:
        for number in range(EVENTS, EVENTS + 100):
            server.create(event(number))
        for view in (everything, events):
            view.wait_version(server.resource_version, PATIENCE)
            assert view.count() == EVENTS + 100
        kept, sent = (sum(object_bytes(obj) or 0 for obj in view.select()) for view in (events, everything))
        assert kept < sent / 1.8
        assert events.count(field_selector="type=Warning") == SCOPE + 1


def test_b69_an_alarm_comes_before_the_memory_is_gone(server: ApiServer, client: ApiClient) -> None:
    """A budget for the objects' bytes stops the list within its pages, long before all of it is there."""
    server.load([event(number) for number in range(EVENTS)])
    informer = Informer("/api/v1/events", client=client, page_size=100, object_budget=200_000, on_object_budget="stop")
    with pytest.raises(NotSyncedError, match="object_budget=200,000; narrow it"), informer:
        raise AssertionError("it came to be synced")
    assert isinstance(informer.last_error, ObjectBudgetError)
    pages = [request for request in server.requests if request.verb == "list"]
    assert 1 <= len(pages) <= 10
    assert informer.stats.object_bytes < 300_000


# B70

MANAGER = {
    "manager": "kube-controller-manager",
    "operation": "Update",
    "fieldsV1": {f"f:field-{number}": {"f:name": {}, "f:value": {}} for number in range(100)},
}


def test_b70_managed_fields_are_dropped_at_the_door(server: ApiServer, client: ApiClient) -> None:
    """By default none is kept, of lists and of watches, and the bytes that this saved are counted."""
    managed = len(json.dumps(MANAGER, separators=(",", ":")))
    server.load([pod(f"p{number}", managedFields=[MANAGER]) for number in range(50)])
    informer = Informer("/api/v1/pods", client=client)
    with informer as pods:
        server.create(pod("new", managedFields=[MANAGER]))
        pods.wait_version(server.resource_version, PATIENCE)
        assert not any(b"managedFields" in obj.raw for obj in pods.select())
        assert informer.stats.saved_bytes >= 51 * managed
        kept = pods.require("new", namespace="prod")
        server.update(kept.to_dict() | {"spec": {"nodeName": "n2"}})
        pods.wait_version(server.resource_version, PATIENCE)
        assert informer.stats.saved_bytes >= 51 * managed
    assert "managedFields" in server.get("pods", "p0", namespace="prod")["metadata"]  # the server keeps its own
    with Informer("/api/v1/pods", client=client, strip=None) as pods:
        assert b"managedFields" in pods.require("p0", namespace="prod").raw


# B71


def test_b71_equal_labels_are_kept_once() -> None:
    """Keys and values of thousands of pods are one text each, in the index, and with intern_strings in objects."""
    texts = [
        json.dumps(pod(f"p{number}", labels={"app": f"application-{number % 50:04}", "tier": "web"})).encode()
        for number in range(2_000)
    ]
    decoder = DictDecoder(transform=intern_strings)
    labels = [decoder.decode(text)["metadata"]["labels"] for text in texts]
    assert len({id(value) for each in labels for value in each.values()}) == 51
    assert len({id(key) for each in labels for key in each}) == 2

    lazy = [LazyDecoder(transform=intern_strings).decode(text) for text in texts]
    assert len({id(obj.namespace) for obj in lazy}) == 1

    def index_bytes(count: int) -> int:
        store: Store[LazyObject] = Store(name="pods", indexers=[LabelIndexer("app")])
        store.replace(lazy[:count])
        index = store.memory().index("app")
        assert index is not None
        assert index.values == 50
        return index.index_bytes

    # A thousand pods more of values that are there cost less than the values did.
    assert index_bytes(2_000) - index_bytes(1_000) < index_bytes(50)
