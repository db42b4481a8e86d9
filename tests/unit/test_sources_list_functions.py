"""List functions of each client: what they list is found without a request."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kindex.sources.list_functions import read_list_function
from kindex.sources.resources import Resource, ResourceError
from tests.sources import PACKAGES, connected, plain_config

FIRST = "first"


class Apis:
    """The API classes of one package, with one client."""

    def __init__(self, package: str, client: Any) -> None:
        self.client = client
        self._classes = importlib.import_module(f"{package}.client")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._classes, name)(self.client)


@pytest.fixture(params=PACKAGES)
def apis(request: pytest.FixtureRequest) -> Iterator[Apis]:
    """A client whose server is not there, and whose credentials must not be asked for."""
    with connected(request.param, plain_config("http://127.0.0.1:1/clusters/c-1", token=FIRST)) as made:
        made.client.configuration.refresh_api_key_hook = never
        yield Apis(request.param, made.client)


def never(_: object) -> None:
    raise AssertionError("a hook was called")


def of(function: Any, *args: Any, **arguments: Any) -> Resource:
    return read_list_function(function, *args, **arguments).resource


def test_functions_of_built_in_resources(apis: Apis) -> None:
    """Group, version, plural, namespace and scope are those of the request that the function would make."""
    v1 = apis.CoreV1Api
    assert of(v1.list_pod_for_all_namespaces) == Resource("v1", "pods", namespaced=True)
    assert of(v1.list_namespaced_pod, "prod") == Resource("v1", "pods", "prod", namespaced=True)
    assert of(v1.list_namespaced_pod, namespace="prod") == Resource("v1", "pods", "prod", namespaced=True)
    assert of(v1.list_node) == Resource("v1", "nodes", namespaced=False)
    assert of(v1.list_namespace) == Resource("v1", "namespaces", namespaced=False)
    assert of(apis.AppsV1Api.list_deployment_for_all_namespaces).api_version == "apps/v1"
    assert of(apis.NetworkingV1Api.list_namespaced_ingress, "prod").path().endswith("/namespaces/prod/ingresses")


def test_functions_of_custom_objects(apis: Apis) -> None:
    """CustomObjectsApi is told group, version and plural; whether they have namespaces it does not know."""
    custom = apis.CustomObjectsApi
    assert of(custom.list_cluster_custom_object, "acme.io", "v1", "widgets") == Resource("acme.io/v1", "widgets")
    by_name = of(
        custom.list_namespaced_custom_object, group="acme.io", version="v1", namespace="prod", plural="widgets"
    )
    assert by_name == Resource("acme.io/v1", "widgets", "prod", namespaced=True)


def test_selectors(apis: Apis) -> None:
    """Selectors are taken as the function would send them; None is none."""
    resource = of(apis.CoreV1Api.list_namespaced_pod, "prod", label_selector="app in (a, b)", field_selector=None)
    assert resource.selectors == (("labelSelector", "app in (a, b)"),)


def test_a_function_whose_requests_name_the_namespace(apis: Apis) -> None:
    """Where each request names a namespace the function need not be given one; what it is given stays."""
    v1, custom = apis.CoreV1Api, apis.CustomObjectsApi
    assert of(v1.list_namespaced_pod, each_namespace=True) == Resource("v1", "pods", namespaced=True)
    assert of(v1.list_namespaced_pod, "prod", each_namespace=True).namespace == "prod"
    assert of(v1.list_node, each_namespace=True) == Resource("v1", "nodes", namespaced=False)
    place = {"group": "acme.io", "version": "v1", "plural": "widgets"}
    found = of(custom.list_namespaced_custom_object, **place, each_namespace=True)
    assert found == Resource("acme.io/v1", "widgets", namespaced=True)


def test_a_partial(apis: Apis) -> None:
    """A function may come with its arguments."""
    partial = functools.partial(apis.CoreV1Api.list_namespaced_pod, "prod", label_selector="app=web")
    assert of(partial).selectors == (("labelSelector", "app=web"),)
    assert of(functools.partial(partial, label_selector="app=db")).selectors == (("labelSelector", "app=db"),)


def test_the_client_comes_along(apis: Apis) -> None:
    """The client of the function is given, as it was."""
    before = dict(vars(apis.client))
    assert read_list_function(apis.CoreV1Api.list_node).client is apis.client
    assert vars(apis.client) == before


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda v1: of(v1.list_namespaced_pod), "list_namespaced_pod: missing a required argument: 'namespace'"),
        (lambda v1: of(v1.list_namespaced_pod, ""), "list_namespaced_pod: a namespace is a name, not ''"),
        (lambda v1: of(v1.list_namespaced_pod, namespace=7), "list_namespaced_pod: a namespace is a name, not 7"),
        (lambda v1: of(v1.list_node, limit=5), "list_node: limit=5 is for whoever lists and watches to say"),
        (lambda v1: of(v1.list_node, watch=True), "list_node: watch is for whoever lists and watches to say"),
        (lambda v1: of(v1.list_node, _request_timeout=5), "list_node: _request_timeout is for whoever lists"),
        (lambda v1: of(v1.list_node, async_req=True), "list_node: async_req is for whoever lists"),
        (lambda v1: of(v1.list_node, nonsense=1), "list_node.*nonsense"),
        (lambda v1: of(v1.read_namespaced_pod, "a", "b"), "read_namespaced_pod: '.*/pods/a' is not the path of a list"),
        (lambda v1: of(v1.delete_collection_namespaced_pod, "a"), "does not list: it sends DELETE"),
        (lambda v1: of(v1.api_client.close), "close is no list function of a client, such as"),
        (lambda _: of(print), "print is no list function"),
        (lambda _: of(lambda: None), "<lambda> is no list function"),
        (lambda _: of("/api/v1/pods"), "'/api/v1/pods' is no list function"),
    ],
)
def test_what_is_no_call_of_a_list_function(apis: Apis, ask: Callable[[Any], object], sentence: str) -> None:
    """Slips get a sentence with the name of the function, whatever its client would raise."""
    with pytest.raises(ResourceError, match=sentence) as caught:
        ask(apis.CoreV1Api)
    assert "\n" not in str(caught.value)


def test_an_api_whose_function_sends_nothing(apis: Apis) -> None:
    """A subclass that does something else than to ask the server is refused."""

    class Odd(type(apis.CoreV1Api)):  # type: ignore[misc]  # a class that is not known before
        def list_nothing(self) -> list[object]:
            return []

    with pytest.raises(ResourceError, match="list_nothing sends no request"):
        of(Odd(apis.client).list_nothing)
