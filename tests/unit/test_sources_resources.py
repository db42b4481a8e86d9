"""Resource and Kind: paths, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kindex.errors import KindexError
from kindex.sources.resources import Kind, Resource, ResourceError

PODS = Resource("v1", "pods")

PATHS = [
    ("/api/v1/pods", PODS),
    ("/api/v1/namespaces", Resource("v1", "namespaces")),
    ("/api/v1/namespaces/prod/pods", Resource("v1", "pods", "prod", namespaced=True)),
    ("/apis/apps/v1/deployments", Resource("apps/v1", "deployments")),
    ("/apis/acme.io/v1alpha1/namespaces/a/widgets", Resource("acme.io/v1alpha1", "widgets", "a", namespaced=True)),
]


@pytest.mark.parametrize(("path", "resource"), PATHS)
def test_a_path_names_a_resource(path: str, resource: Resource) -> None:
    """The path of a list is read, and written again as it was."""
    assert Resource.parse(path) == resource
    assert resource.path() == path


@pytest.mark.parametrize(
    "path",
    [
        "",
        "pods",
        "/api/v1",
        "/api/v1/",
        "/api//pods",
        "/api/v1/pods/",
        "/api/v1/pods/web-1",
        "/api/v1/namespaces//pods",
        "/api/v1/namespaces/prod/",
        "/api/v1/namespaces/prod/pods/web-1",
        "/api/v1/namespaces/prod/pods/web-1/log",
        "/apis/apps/v1",
        "/apis//v1/widgets",
        "/version",
        "/api/v1/watch/pods",
    ],
)
def test_what_is_no_list_is_refused(path: str) -> None:
    """Paths of single objects, of discovery and of anything else say which paths there are."""
    with pytest.raises(ResourceError, match="is not the path of a list; such paths are /api/v1/pods"):
        Resource.parse(path)


def test_a_path_may_select() -> None:
    """Selectors in the query are kept; an empty one selects nothing, and is left out."""
    text = "/api/v1/pods?labelSelector=app%20in%20(a%2Cb)&fieldSelector=spec.nodeName%3Dn%2B1&shardSelector="
    assert Resource.parse(text).selectors == (("labelSelector", "app in (a,b)"), ("fieldSelector", "spec.nodeName=n+1"))


@pytest.mark.parametrize("query", ["limit=500", "watch=true", "resourceVersion=7", "timeoutSeconds=", "continue=x"])
def test_what_the_informer_asks_is_not_for_a_path(query: str) -> None:
    """What pages and watches are made of is refused, and the sentence says whose business it is."""
    with pytest.raises(ResourceError, match=f"{query} is for whoever lists and watches to say; leave it out"):
        Resource.parse(f"/api/v1/pods?{query}")


def test_parts_of_a_path_are_quoted() -> None:
    """What is no letter of a path is quoted, so a name can never lead elsewhere."""
    odd = Resource("acme.io/v1", "wid?gets", "a b")
    assert odd.path() == "/apis/acme.io/v1/namespaces/a%20b/wid%3Fgets"
    assert Resource.parse(odd.path()).plural == "wid?gets"


def test_a_namespace_of_the_request_goes_first() -> None:
    """One resource serves several namespaces."""
    assert Resource("v1", "pods", "prod").path("test") == "/api/v1/namespaces/test/pods"
    assert Resource("v1", "pods", "prod").path() == "/api/v1/namespaces/prod/pods"


def test_named_with_a_plural_or_without() -> None:
    """With a plural a name is a Resource at once; without one it is a Kind, which discovery makes a Resource."""
    of = Resource.named
    assert of("apps/v1", "Deployment", plural="deployments") == Resource("apps/v1", "deployments")
    kind = of("apps/v1", "Deployment", namespace="prod", label_selector="app=web", field_selector="metadata.name=a")
    assert isinstance(kind, Kind)
    selectors = (("labelSelector", "app=web"), ("fieldSelector", "metadata.name=a"))
    assert kind == Kind("apps/v1", "Deployment", "prod", selectors=selectors)
    assert kind.discovery_path == "/apis/apps/v1"
    served = {"name": "deployments", "kind": "Deployment", "namespaced": True, "verbs": ["get", "list"]}
    found = Resource("apps/v1", "deployments", "prod", namespaced=True, selectors=selectors)
    assert kind.found_in({"resources": [served]}) == found


def test_a_kind_is_found_among_others() -> None:
    """Subresources and what cannot be listed are not taken for the kind, though they are called so."""
    document = {
        "resources": [
            {"name": "pods/eviction", "kind": "Pod", "namespaced": True, "verbs": ["create", "list"]},
            {"name": "podreviews", "kind": "Pod", "namespaced": False, "verbs": ["create"]},
            "garbage",
            {"name": "pods", "kind": "Pod", "namespaced": True},
        ]
    }
    assert Kind("v1", "Pod").found_in(document) == Resource("v1", "pods", namespaced=True)


@pytest.mark.parametrize("document", [None, [], {}, {"resources": None}, {"resources": [{"kind": "Node"}]}])
def test_discovery_without_the_kind(document: Any) -> None:
    """Whatever else discovery tells, the error names the kind."""
    with pytest.raises(ResourceError, match="no kind 'Pod' in v1 that can be listed; there are: none"):
        Kind("v1", "Pod").found_in(document)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Resource("", "pods"), "an API version is 'v1' or a group and a version"),
        (lambda: Resource("apps/v1/x", "pods"), "an API version is 'v1' or a group and a version"),
        (lambda: Resource("v1", ""), "the plural of a resource is a name"),
        (lambda: Resource("v1", "pods/log"), "the plural of a resource is a name"),
        (lambda: Resource("v1", "pods", ""), "a namespace is a name, or None for all of them, not ''"),
        (lambda: Resource("v1", "pods", "a/b"), "a namespace is a name, or None for all of them"),
        (lambda: Resource("v1", "nodes", "prod", namespaced=False), "namespace 'prod': the objects .* have no namesp"),
        (lambda: Resource("v1", "nodes", namespaced=False).path("prod"), "namespace 'prod': the objects"),
        (lambda: PODS.path(""), "a namespace is a name"),
        (lambda: Kind("v1", ""), "a kind is a name such as 'Pod', not ''"),
        (lambda: Kind("v1", "pods/log"), "a kind is a name such as 'Pod'"),
        (lambda: Kind("", "Pod"), "an API version"),
        (lambda: Kind("v1", "Pod", ""), "a namespace is a name"),
    ],
)
def test_slips_get_a_sentence(make: Callable[[], object], sentence: str) -> None:
    """What cannot be is refused where it is said, as a KindexError that is a ValueError."""
    with pytest.raises(ResourceError, match=sentence) as caught:
        make()
    assert isinstance(caught.value, KindexError)
    assert isinstance(caught.value, ValueError)
