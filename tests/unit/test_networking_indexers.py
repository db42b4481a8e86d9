"""Networking indexers: what slips and odd objects get, beside the terms, which are tested against scans."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from kubernetes.client import V1Node, V1ObjectMeta

from kindex import IndexerError, ObjectKey, Store
from kindex.indexers import networking as net
from kindex.indexers.networking.hosts import host_text
from tests.networks import CASES, ODD

if TYPE_CHECKING:
    from collections.abc import Callable


def made(namespace: str = "prod", **parts: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "namespace": namespace}, **parts}


# The package


def test_public_names_are_sorted_and_there() -> None:
    """`__all__` is sorted, and each name is there."""
    assert list(net.__all__) == sorted(set(net.__all__))
    assert [name for name in net.__all__ if not hasattr(net, name)] == []


@pytest.mark.parametrize("name", [name for name in net.__all__ if name.endswith("Indexer") and name != "HostIndexer"])
def test_every_indexer_has_an_example_and_names_its_field(name: str) -> None:
    """Its docstring has an example that runs, and the API version of what it reads."""
    text = inspect.getdoc(getattr(net, name)) or ""
    assert ">>> " in text
    assert name in ("NameIndexer", "DomainIndexer", "IngressAnnotationIndexer") or "v1)" in text


def test_the_guide_has_every_indexer() -> None:
    """Each has its row in the table, and is used in an example."""
    guide = (Path(__file__).parents[2] / "docs" / "networking.md").read_text()
    indexers = [name for name in net.__all__ if name.endswith("Indexer") and name != "HostIndexer"]
    assert [name for name in indexers if f"| `{name}" not in guide or f"{name}(" not in guide] == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.indexer.name)
def test_equal_declarations_are_one_index(case: Any) -> None:
    """An indexer that is declared twice is the same one, and adding it again does nothing."""
    if isinstance(case.indexer, net.DomainIndexer):
        by_host: Any = next(each.indexer for each in CASES if case.indexer.name == f"domain of {each.indexer.name}")
        again: Any = net.DomainIndexer(by_host)
    elif isinstance(case.indexer, net.IngressAnnotationIndexer):
        again = net.IngressAnnotationIndexer(case.indexer.name.removesuffix(" annotation"))
    else:
        again = type(case.indexer)()
    assert again == case.indexer
    assert repr(again) == repr(case.indexer)
    store: Store[Any] = Store(indexers=[case.indexer])
    store.add_indexers(again)


# Slips


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (
            lambda: net.IngressHostIndexer().for_host("https://a.example.com"),
            (
                "indexer 'ingress host' is asked for a host such as 'a.example.com', without scheme and port,"
                " not 'https://a.example.com'"
            ),
        ),
        (lambda: net.IngressHostIndexer().for_host("a.example.com:443"), "not 'a.example.com:443'"),
        (lambda: net.IngressHostIndexer().for_host(""), "not ''"),
        (lambda: net.IngressHostIndexer().for_host("."), "not '.'"),
        (lambda: net.IngressHostIndexer().at(None), "indexer 'ingress host'"),
        (lambda: net.RouteHostIndexer().for_host(None), "not None"),  # type: ignore[arg-type]
        (lambda: net.IstioGatewayHostIndexer().for_host("prod/a.example.com"), "not 'prod/a.example.com'"),
        (
            lambda: net.IstioGatewayHostIndexer().for_host("a.b", namespace=""),
            "a namespace is text, not ''; None asks for all",
        ),
        (
            lambda: net.VirtualServiceHostIndexer().for_host("reviews"),
            ("'reviews' means another Service in each namespace; ask for_service(ObjectKey(namespace, 'reviews'))"),
        ),
        (
            lambda: net.DomainIndexer(net.RouteHostIndexer()).below("*.example.com"),
            "below() of 'domain of route host' takes a domain, such as 'example.com', not '*.example.com'",
        ),
        (lambda: net.DomainIndexer(net.NameIndexer()), "DomainIndexer takes an indexer of hosts"),  # type: ignore[arg-type]
        (
            lambda: net.SecretRefIndexer().of("prod/cert"),
            "'prod/cert' is no Secret; give the object, or ObjectKey(namespace, name)",
        ),
        (
            lambda: net.SecretRefIndexer().of({"kind": "ConfigMap", "metadata": {"name": "c", "namespace": "x"}}),
            "ConfigMap 'x/c' is no Secret",
        ),
        (
            lambda: net.SecretRefIndexer().of(ObjectKey("", "cert")),
            "Secret 'cert' has no namespace, and a reference to one always means one",
        ),
        (lambda: net.IngressAnnotationIndexer().of({"metadata": {"name": "a"}}), "Ingress 'a' has no namespace"),
        (lambda: net.IngressAnnotationIndexer(""), "an annotation key is text that is not empty, not ''"),
        (lambda: net.VirtualServiceGatewayIndexer().of("main"), "'main' is no Gateway; give the object"),
        (lambda: net.RouteParentIndexer().of("main"), "'main' is no Gateway; give the object"),
        (
            lambda: net.RouteParentIndexer().of(ObjectKey("", "main")),
            "Gateway 'main' has no namespace, and a parent of a route always has one",
        ),
        (
            lambda: net.ListenerPortIndexer().at("https"),  # type: ignore[arg-type]
            "indexer 'listener port' is asked for a port number, not 'https'",
        ),
        (
            lambda: net.ServiceSelectorIndexer().pair("app", None),  # type: ignore[arg-type]
            "pair() of 'service selector' takes a key and a value as text, not 'app' and None",
        ),
        (lambda: net.PodNodeIndexer().of("n1"), "of() of 'spec.nodeName' takes a Node, not 'n1'; for a name, use at()"),
    ],
)
def test_slips_are_errors(ask: Callable[[], object], sentence: str) -> None:
    """A question that nothing could answer is refused, with what to ask instead."""
    with pytest.raises(IndexerError) as caught:
        ask()
    assert sentence in str(caught.value)


def test_models_without_kind_are_taken() -> None:
    """Items of typed lists lack their kind; they are taken for what the indexer asks about."""
    node = V1Node(metadata=V1ObjectMeta(name="n1"))
    assert str(net.PodNodeIndexer().of(node)) == "spec.nodeName = 'n1'"
    secret = V1ObjectMeta(name="cert", namespace="prod")
    term = net.IngressTlsSecretIndexer().of({"metadata": secret})
    assert term.matches(made(spec={"tls": [{"secretName": "cert"}]}))


# Odd objects


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_odd_sections_fail_no_write(odd: Any) -> None:
    """Whatever stands for spec and status, the object is stored, and found by its key."""
    indexers = list({case.indexer.name: case.indexer for case in CASES}.values())
    store: Store[Any] = Store(indexers=indexers)
    store.put(made(spec=odd, status=odd))
    for part in ("rules", "tls", "servers", "listeners", "parentRefs", "hostnames", "hosts", "gateways", "volumes"):
        store.put(made(spec={part: odd, "type": odd, "selector": odd}, status={"podIP": odd, "podIPs": odd}))
        store.put(made(spec={part: [odd, {part: odd}]}, status={"podIPs": [odd]}))
    assert len(store) == 1


def test_the_other_parts_of_an_odd_object_are_found() -> None:
    """One wrong rule does not hide the next."""
    rules = [None, "x", {"host": 5}, {"host": ["a"]}, {"host": "A.Example.com"}]
    assert net.IngressHostIndexer().values_of(made(spec={"rules": rules})) == ("a.example.com",)


@pytest.mark.parametrize("selector", [None, {}, [], "app=web", {"app": 5}])
def test_a_gateway_without_selector_is_without(selector: Any) -> None:
    """Null, empty and unreadable selectors have no pair."""
    by_pair = net.IstioGatewaySelectorIndexer()
    gateways: Store[Any] = Store(indexers=[by_pair])
    gateways.put(made(spec={"selector": selector}))
    assert gateways.count(by_pair.without()) == 1
    assert gateways.count(by_pair.holding(None)) == 1  # every selector holds all of nothing
    assert gateways.count(by_pair.pair("app", "web")) == 0


@pytest.mark.parametrize("annotation", [None, "", "a/b/c", "/a", "a/", "/", 5, ["a"]])
def test_an_annotation_that_names_no_ingress_is_none(annotation: Any) -> None:
    """What is neither a name nor a namespace and a name means no Ingress."""
    gateway = made()
    gateway["metadata"]["annotations"] = {net.INGRESS_ANNOTATION: annotation}
    assert net.ingress_of(gateway) is None
    assert net.IngressAnnotationIndexer().values_of(gateway) == ()


def test_an_ingress_that_is_missing_is_asked_about_all_the_same() -> None:
    """The gateways that name it are found before it is there."""
    by_ingress = net.IngressAnnotationIndexer("acme.io/ingress")
    gateway = made("edge")
    gateway["metadata"]["annotations"] = {"acme.io/ingress": "gone"}
    gateways: Store[Any] = Store(indexers=[by_ingress])
    gateways.put(gateway)
    assert net.ingress_of(gateway, "acme.io/ingress") == ("edge", "gone")
    assert gateways.keys(by_ingress.of(ObjectKey("edge", "gone"))) == [ObjectKey("edge", "a")]


@pytest.mark.parametrize("gateways", [None, []])
def test_a_virtual_service_without_gateways_holds_in_the_mesh(gateways: Any) -> None:
    """Null and empty mean mesh; what is no list means nothing."""
    by_gateway = net.VirtualServiceGatewayIndexer()
    assert by_gateway.values_of(made(spec={"gateways": gateways})) == ("mesh",)
    assert by_gateway.values_of(made(spec={"gateways": "main"})) == ()


@pytest.mark.parametrize(
    ("host", "text"), [("A.B", "a.b"), ("a.b.", "a.b"), ("\N{KELVIN SIGN}.b", "\N{KELVIN SIGN}.b"), (".", "")]
)
def test_hosts_are_compared_as_dns_does(host: str, text: str) -> None:
    """Letters of ASCII have two cases, others do not; one dot at the end is dropped."""
    assert host_text(host) == text


def test_a_host_in_capitals_is_found_by_one_in_capitals() -> None:
    """In objects and in questions, of Ingress, gateway, route and Service."""
    for indexer, spec in (
        (net.IngressHostIndexer(), {"rules": [{"host": "A.EXAMPLE.COM"}]}),
        (net.IstioGatewayHostIndexer(), {"servers": [{"hosts": ["./A.EXAMPLE.COM"]}]}),
        (net.VirtualServiceHostIndexer(), {"hosts": ["A.EXAMPLE.COM"]}),
        (net.ListenerHostIndexer(), {"listeners": [{"hostname": "A.EXAMPLE.COM"}]}),
        (net.RouteHostIndexer(), {"hostnames": ["A.EXAMPLE.COM"]}),
    ):
        assert indexer.for_host("a.Example.Com.").matches(made(spec=spec))
        assert indexer.at("A.example.com").matches(made(spec=spec))
        assert not indexer.for_host("b.example.com").matches(made(spec=spec))


def test_another_cluster_domain() -> None:
    """Short names of VirtualServices end as the cluster's names do."""
    by_host = net.VirtualServiceHostIndexer(cluster_domain="corp.Example")
    assert by_host.values_of(made(spec={"hosts": ["web", "10.0.0.1", "FD00::0:1"]})) == (
        "web.prod.svc.corp.example",
        "10.0.0.1",
        "fd00::1",
    )


def test_a_look_up_visits_no_other_object() -> None:
    """Whatever the number of gateways, one question looks only at those that answer it."""
    by_host = net.RouteHostIndexer()
    routes: Store[Any] = Store(indexers=[by_host], scan="error")
    routes.replace(
        {"metadata": {"name": f"r{i}", "namespace": "prod"}, "spec": {"hostnames": [f"h{i}.example.com"]}}
        for i in range(500)
    )
    seen: list[str] = []
    found = routes.select(
        by_host.for_host("h7.example.com"), where=lambda obj: not seen.append(obj["metadata"]["name"])
    )
    assert [obj["metadata"]["name"] for obj in found] == seen == ["r7"]
