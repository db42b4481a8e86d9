"""Informers of clients: list functions, paths and kinds, over HTTP, by threads and in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from kubernetes.client import ApiClient, CoreV1Api

from kindex import (
    AsyncInformer,
    AsyncInformerGroup,
    FieldIndexer,
    Informer,
    InformerGroup,
    LabelIndexer,
    ObjectKey,
    ScopeError,
    SyncTimeoutError,
)
from kindex.informer.retries import RetryPolicy
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.resources import ResourceError
from kindex.testing import ApiServer, Resource
from tests.informers import PATIENCE, no_thread_left, until, until_async
from tests.pods import Pod, pod

by_app, by_node = LabelIndexer("app"), FieldIndexer("spec.nodeName")
SOON = RetryPolicy(first_seconds=0.01)
GATEWAYS = Resource("networking.istio.io/v1", "Gateway", plural="gateways")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def full(name: str, namespace: str = "prod", **labels: str) -> Pod:
    """A pod as a server takes it."""
    return {"apiVersion": "v1", "kind": "Pod", **pod(name, namespace, node="n1", **labels)}


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A server with two pods."""
    with ApiServer([full("a", app="web"), full("b", "test", app="db")], resources=[GATEWAYS]) as server:
        yield server


@pytest.fixture
def client(server: ApiServer) -> ApiClient:
    """The official client, for that server."""
    return server.api_client()


def names(view: Any) -> list[str]:
    return sorted(kept.name for kept in view)


def test_a_list_function_becomes_a_live_view(server: ApiServer, client: ApiClient) -> None:
    """Its objects are LazyObjects that know their kind, indexed, and followed."""
    informer = Informer(CoreV1Api(client).list_pod_for_all_namespaces, indexers=[by_app, by_node], page_size=1)
    with informer as pods:
        assert pods.name == "pods"
        assert names(pods.select(by_node.at("n1"))) == ["a", "b"]
        assert pods.require("a", namespace="prod").kind == "Pod"
        server.create(full("c", app="web"))
        server.update(full("b", "test", app="web"))
        server.delete("pods", "a", namespace="prod")
        pods.wait_version(server.resource_version, PATIENCE)
        assert names(pods.select(label_selector="app=web")) == ["b", "c"]
        until(informer, lambda: informer.live)
        informer.wait_current(PATIENCE)
        assert informer.stats.pages == 2


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ({"namespace": "prod"}, ["a"]),
        ({"namespaces": ["prod", "test"]}, ["a", "b"]),
        ({"namespace": "prod", "label_selector": "app=db"}, []),
        ({"namespace": "test", "label_selector": {"app": "db"}}, ["b"]),
        ({"namespace": "test", "field_selector": "metadata.name=b"}, ["b"]),
    ],
)
def test_a_list_function_takes_its_arguments(client: ApiClient, settings: Any, found: list[str]) -> None:
    """A namespace, or several; and selectors, which the server applies."""
    with Informer(CoreV1Api(client).list_namespaced_pod, **settings) as pods:
        assert names(pods) == found


def test_the_scope_of_a_list_function_is_the_stores(client: ApiClient) -> None:
    """So a key of the wrong scope is an error rather than an object that is not there."""
    with Informer(CoreV1Api(client).list_pod_for_all_namespaces) as pods, pytest.raises(ScopeError):
        pods.get("a")
    with Informer(CoreV1Api(client).list_node) as nodes, pytest.raises(ScopeError):
        nodes.get("n1", namespace="prod")
    with Informer("/api/v1/configmaps", client=client) as empty:
        assert empty.get("a") is None  # a path does not tell, nor does an object


@pytest.mark.parametrize("objects", ["lazy", "dict", "metadata"])
@pytest.mark.parametrize("watch_list", [False, True])
def test_objects_come_in_the_form_that_is_wanted(client: ApiClient, objects: Any, watch_list: bool) -> None:
    """By lists and by WatchLists; of metadata alone the server sends no more."""
    with Informer("/api/v1/pods", client=client, objects=objects, watch_list=watch_list) as pods:
        assert {tuple(key) for key in pods.keys()} == {("prod", "a"), ("test", "b")}  # noqa: SIM118 - a view is no dict
        kept = pods.require("a", namespace="prod")
        assert kept["kind"] == ("PartialObjectMetadata" if objects == "metadata" else "Pod")


@pytest.mark.parametrize("plural", [None, "gateways"])
def test_any_kind_can_be_kept(server: ApiServer, client: ApiClient, plural: str | None) -> None:
    """By its plural, or found by discovery; a kind that comes later is waited for."""
    server.create({"apiVersion": "networking.istio.io/v1", "kind": "Gateway", **pod("g")})
    with Informer.of("networking.istio.io/v1", "Gateway", plural=plural, client=client) as gateways:
        assert names(gateways) == ["g"]
        assert gateways.first(order_by="key") == gateways.get(ObjectKey("prod", "g"))
    later = Informer.of("acme.io/v1", "Widget", client=client, retry=SOON)
    later.start()
    until(later, lambda: later.last_error)
    assert isinstance(later.last_error, SourceError)
    assert later.last_error.kind is ErrorKind.MISSING
    server.add_resource(Resource("acme.io/v1", "Widget", plural="widgets"))
    later.wait_synced(PATIENCE)
    later.stop()


def test_rights_in_namespaces_are_enough(server: ApiServer, client: ApiClient) -> None:
    """A refusal in one of them does not stop the other."""
    server.faults.add("status", code=403, namespace="test", times=None)
    informer = Informer(CoreV1Api(client).list_namespaced_pod, namespaces=["prod", "test"])
    with informer as pods:
        assert names(pods) == ["a"]
        assert informer.refused == ("test",)


def test_credentials_are_told_apart(server: ApiServer, client: ApiClient) -> None:
    """A token that the server does not know is not a matter of rights."""
    server.token = "another"  # noqa: S105 - of a test
    informer = Informer(CoreV1Api(client).list_pod_for_all_namespaces, sync_timeout=0.2)
    with pytest.raises(SyncTimeoutError, match="401 Unauthorized"), informer:
        raise AssertionError("not reached")
    assert isinstance(informer.last_error, SourceError)
    assert informer.last_error.kind is ErrorKind.CREDENTIALS


@pytest.mark.parametrize("kind", ["slow_headers", "stall"])
@pytest.mark.parametrize("verb", ["list", "watch"])
def test_it_stops_while_a_socket_is_silent(server: ApiServer, client: ApiClient, kind: Any, verb: str) -> None:
    """Whatever the server keeps it waiting for; no thread is left."""
    fault = server.faults.add(kind, verb=verb)
    informer = Informer(CoreV1Api(client).list_pod_for_all_namespaces).start()
    fault.wait()
    informer.stop(wait_seconds=PATIENCE)
    assert not any(thread.is_alive() for thread in informer._threads())


def test_an_expired_version_leads_to_the_changes_since(server: ApiServer, client: ApiClient) -> None:
    """Nothing is announced that has not changed."""
    informer = Informer(CoreV1Api(client).list_pod_for_all_namespaces, retry=SOON)
    with informer as pods:
        until(informer, lambda: informer.live)
        with pods.follow(replay=False) as follower:
            server.faults.add("lose", verb="watch")
            server.delete("pods", "a", namespace="prod")
            server.faults.add("error", verb="watch", code=410)
            until(informer, lambda: informer.stats.relists)
            delta = follower.next(PATIENCE)
            assert delta is not None
            assert delta.key == ObjectKey("prod", "a")
            assert follower.take() == []


def test_what_cannot_be_listed_is_refused() -> None:
    """At once, where it is said."""
    with pytest.raises(ResourceError, match="is not the path of a list"):
        Informer("/api/v1/namespaces/prod/pods/web-1")
    with pytest.raises(ResourceError, match="no list function"):
        Informer(print)


def test_a_group_shares_what_two_components_ask_for(server: ApiServer, client: ApiClient) -> None:
    """List functions of two API objects of one client are one watch."""
    group = InformerGroup()
    pods = group.informer(CoreV1Api(client).list_pod_for_all_namespaces, indexers=[by_app])
    assert group.informer(CoreV1Api(client).list_pod_for_all_namespaces, indexers=[by_node]) is pods
    gateways = group.of("networking.istio.io/v1", "Gateway", client=client)
    assert group.of("networking.istio.io/v1", "Gateway", client=client) is gateways
    with group:
        assert pods.view.count(by_node.at("n1"), label_selector="app=web") == 1
        assert len(gateways.view) == 0
        group.wait_current(PATIENCE)
        server.wait_for(lambda: len(server.watches) == 2)


aio = pytest.importorskip("kubernetes.aio.client", reason="clients before 36 have none for asyncio")


def test_an_event_loop_has_its_own(server: ApiServer) -> None:
    """The list functions of kubernetes.aio, paths and kinds; a silent socket does not hold it up."""

    async def main() -> None:
        configuration = aio.Configuration()
        configuration.host = server.url
        async with aio.ApiClient(configuration) as client:
            list_pods = aio.CoreV1Api(client).list_pod_for_all_namespaces
            informer = AsyncInformer(list_pods, indexers=[by_app])
            async with informer as pods:
                assert names(pods.select(label_selector="app=web")) == ["a"]
                await until_async(informer, lambda: informer.live)
                await asyncio.to_thread(server.create, full("c", app="web"))
                async for delta in pods.follow(label_selector="app=web"):
                    if delta.key.name == "c":
                        break
                await informer.wait_current(PATIENCE)
            async with AsyncInformerGroup(client=client) as group:
                gateways = await group.of("networking.istio.io/v1", "Gateway", plural="gateways")
                await gateways.wait_synced(PATIENCE)
                meta = await group.informer("/api/v1/pods", objects="metadata")
                await meta.wait_synced(PATIENCE)
                assert names(meta.view) == ["a", "b", "c"]
            fault = server.faults.add("slow_headers", verb="list")
            stuck = await AsyncInformer(list_pods).start()
            await asyncio.to_thread(fault.wait)
            await stuck.stop()

    asyncio.run(main())


def test_an_event_loop_may_use_the_blocking_client(client: ApiClient) -> None:
    """Who has the official client only makes a source of it, and threads wait for that."""
    from kindex.decoding import LazyDecoder
    from kindex.sources import source_of

    async def main() -> None:
        source = source_of(CoreV1Api(client).list_pod_for_all_namespaces, decoder=LazyDecoder())
        async with AsyncInformer(source) as pods:
            assert names(pods) == ["a", "b"]
        source.close()

    asyncio.run(main())
