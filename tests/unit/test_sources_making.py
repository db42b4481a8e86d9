"""source_of and async_source_of: what is listed, and by which client."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kindex.decoding import LazyDecoder
from kindex.sources import async_source_of, source_of
from kindex.sources.base import ListRequest
from kindex.sources.client import ClientSource
from kindex.sources.resources import Kind, Resource, ResourceError
from kindex.testing import ApiServer
from tests.sources import ASYNC_PACKAGES, SYNC, connected, plain_config

PODS = Resource("v1", "pods")


@pytest.fixture
def client() -> Iterator[Any]:
    """An ApiClient of the official client, for a server that is not there."""
    with connected(SYNC, plain_config("http://127.0.0.1:1")) as made:
        yield made.client


def listed(what: Any, **arguments: Any) -> Resource:
    return source_of(what, decoder=LazyDecoder(), **arguments).resource()


def test_what_can_be_listed(client: Any) -> None:
    """A list function, a path, a resource, and a kind with its plural name the same."""
    from kubernetes.client import CoreV1Api

    of_function = listed(CoreV1Api(client).list_pod_for_all_namespaces)
    assert (of_function.api_version, of_function.plural, of_function.namespaced) == ("v1", "pods", True)
    assert listed("/api/v1/pods", client=client) == PODS
    assert listed(PODS, client=client) == PODS
    assert listed(Resource.named("v1", "Pod", plural="pods"), client=client) == PODS


def test_a_kind_without_its_plural() -> None:
    """A kind is looked up by the client that is given."""
    with ApiServer() as server, server.api_client() as api:
        assert listed(Resource.named("v1", "Pod"), client=api) == Resource("v1", "pods", namespaced=True)
        assert listed(Kind("v1", "Node"), client=api) == Resource("v1", "nodes", namespaced=False)


def test_narrowing(client: Any) -> None:
    """Namespace and selectors narrow whatever is listed, in the same words."""
    from kubernetes.client import CoreV1Api

    narrow = {"namespace": "prod", "label_selector": "app=web", "field_selector": "spec.nodeName=n1"}
    wanted = (("labelSelector", "app=web"), ("fieldSelector", "spec.nodeName=n1"))
    for what in (CoreV1Api(client).list_namespaced_pod, "/api/v1/pods", PODS):
        resource = listed(what, **({} if callable(what) else {"client": client}), **narrow)
        assert (resource.path(), sorted(resource.selectors)) == ("/api/v1/namespaces/prod/pods", sorted(wanted))


def test_what_is_said_twice(client: Any) -> None:
    """The same word twice is no error; two that differ are, since one would be dropped in silence."""
    path = "/api/v1/namespaces/prod/pods?labelSelector=app%3Dweb"
    assert listed(path, client=client, namespace="prod", label_selector="app=web") == Resource.parse(path)
    with pytest.raises(ResourceError, match="labelSelector is 'app=web' already, so it cannot be 'app=db'"):
        listed(path, client=client, label_selector="app=db")
    with pytest.raises(ResourceError, match="the namespace is 'prod' already, so it cannot be 'test'"):
        listed(path, client=client, namespace="test")


def test_a_function_for_several_namespaces(client: Any) -> None:
    """Where requests name the namespace, a list function of one need not be given any."""
    from kubernetes.client import CoreV1Api

    function = CoreV1Api(client).list_namespaced_pod
    assert listed(function, each_namespace=True).path("prod") == "/api/v1/namespaces/prod/pods"
    with pytest.raises(ResourceError, match="missing a required argument: 'namespace'"):
        listed(function)


def test_the_default_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a client a path is asked of the server that the default configuration names."""
    from kubernetes.client import Configuration

    with ApiServer([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]) as server:
        default = Configuration()
        default.host = server.url
        monkeypatch.setattr(Configuration, "_default", default)
        source = source_of("/api/v1/pods", decoder=LazyDecoder())
        assert len(source.list_page(ListRequest()).objects) == 1
        source.close()


def test_how_the_server_is_asked(client: Any) -> None:
    """What is said of the form of answers reaches the source; what nobody knows is a TypeError."""
    source = source_of(PODS, client=client, decoder=LazyDecoder(), watch_list=True, metadata_only=True)
    assert isinstance(source, ClientSource)
    assert source.offers_watch_list
    with pytest.raises(TypeError, match="zip"):
        source_of(PODS, client=client, decoder=LazyDecoder(), zip=True)  # type: ignore[call-arg]  # on purpose


@pytest.mark.parametrize("what", [7, None, print, "pods", object()])
def test_what_cannot_be_listed(client: Any, what: Any) -> None:
    """Anything else is refused by a sentence about what can be listed."""
    with pytest.raises(ResourceError, match=r"is no list function of a client|is not the path of a list"):
        listed(what, client=client)


@pytest.mark.parametrize("package", ASYNC_PACKAGES)
def test_sources_for_asyncio(package: str) -> None:
    """They are made of the same things, but for a default client, which somebody would have to close."""
    with ApiServer() as server, connected(package, server.config()) as made:
        import importlib

        v1 = importlib.import_module(f"{package}.client").CoreV1Api(made.client)
        source = async_source_of(v1.list_namespaced_pod, namespace="prod", decoder=LazyDecoder())
        assert made.loop is not None
        assert made.loop.run(source.list_page(ListRequest())).objects == []
        assert server.requests[0].path == "/api/v1/namespaces/prod/pods"
        with pytest.raises(ResourceError, match="'/api/v1/pods' needs client=: an ApiClient for asyncio"):
            async_source_of("/api/v1/pods", decoder=LazyDecoder())
