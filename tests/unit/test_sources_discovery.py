"""Discovery of a word: what servers say, odd documents among it."""

from __future__ import annotations

from typing import Any

import pytest

from kindex.sources.discovery import Discovery
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.resources import ResourceError
from kindex.testing import ApiServer, Resource


class _Documents(Discovery):
    """Finds words in documents that are given."""

    def __init__(self, documents: dict[str, Any]) -> None:
        self._known = documents

    def _document(self, path: str) -> Any:
        if path not in self._known:
            raise SourceError("no", status=404)
        return self._known[path]


def _resources(*resources: Any) -> dict[str, Any]:
    return {"resources": list(resources)}


def test_the_core_comes_first_and_then_the_order_of_the_server() -> None:
    """Of several groups that have the word the core is meant, then the first that the server names."""
    events = ["v1", "events.k8s.io/v1"]
    widgets = [Resource("b.io/v1", "Widget"), Resource("a.io/v1", "Widget")]
    with ApiServer(resources=widgets) as server, server.api_client() as client:
        discovery = Discovery(client)
        assert discovery.find("events").resource.api_version == events[0]
        assert len(server.requests) == 1  # of the others nothing was asked
        assert discovery.find("widgets").resource.api_version == "b.io/v1"
        assert discovery.find("widgets.a.io").resource.api_version == "a.io/v1"
        asked = [each.path for each in server.requests]
        assert len(asked) == len(set(asked))  # what was read is kept
        discovery.close()
        with pytest.raises(SourceError, match="closed"):
            discovery.find("widgets.v2.a.io")


def test_the_preferred_version_and_another() -> None:
    """A group is looked at in the version that it prefers, or in the one that stands in the word."""
    versions = [{"groupVersion": f"a.io/{version}", "version": version} for version in ("v1", "v2beta1")]
    group = {"name": "a.io", "versions": versions, "preferredVersion": versions[0]}
    kinds = {f"/apis/a.io/{name}": _resources({"name": "cogs", "kind": "Cog"}) for name in ("v1", "v2beta1")}
    discovery = _Documents({"/api/v1": {}, "/apis": {"groups": [group]}, **kinds})
    assert discovery.find("cogs").resource.api_version == "a.io/v1"
    assert discovery.find("cog.v2beta1.a.io").resource.api_version == "a.io/v2beta1"
    with pytest.raises(ResourceError, match=r"'cogs\.v3\.a\.io'"):
        discovery.find("cogs.v3.a.io")


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"resources": None},
        {"resources": "pods"},
        _resources(None, 7, {}, {"name": "pods/status", "kind": "Pod"}, {"name": "pods", "verbs": ["create"]}),
    ],
)
def test_odd_documents_have_no_resource(document: Any) -> None:
    """What is no list of resources, or of none that can be listed, has not the word."""
    groups = {"groups": [None, {}, {"name": "a.io"}, {"name": "a.io", "versions": [{}]}]}
    with pytest.raises(ResourceError, match="no resource 'pods' that can be listed"):
        _Documents({"/api/v1": document, "/apis": groups}).find("pods")
    with pytest.raises(ResourceError, match="no resource 'pods' that can be listed"):
        _Documents({"/api/v1": document, "/apis": {}}).find("pods")


def test_what_is_no_json_is_an_error_of_the_protocol() -> None:
    """An answer that cannot be read is not taken for one that has no resources."""
    with ApiServer() as server, server.api_client() as client:
        server.faults.add("garbage", verb="get")
        with pytest.raises(SourceError) as caught:
            Discovery(client).find("frobs")
    assert caught.value.kind is ErrorKind.PROTOCOL
