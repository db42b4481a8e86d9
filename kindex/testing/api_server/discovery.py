"""Discovery: how clients find out which resources there are."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kindex.testing.api_server.resources import Registry, Resource
    from kindex.testing.manifests import RawObject

_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
_OF_STATUS: Final = ("get", "patch", "update")
# No newer than clients know: some warn of a release that they do not.
VERSION: Final[RawObject] = {
    "major": "1",
    "minor": "35",
    "gitVersion": "v1.35.0+kindex",
    "gitCommit": "",
    "gitTreeState": "",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def document_at(path: str, registry: Registry) -> RawObject | None:
    """Give the discovery document at *path*, or None where there is none. O(resources).

    >>> from kindex.testing.api_server.resources import Registry
    >>> document_at("/api", Registry())
    {'kind': 'APIVersions', 'apiVersion': 'v1', 'versions': ['v1'], 'serverAddressByClientCIDRs': []}
    >>> document_at("/apis/acme.io", Registry()) is None
    True
    """
    match [part for part in path.split("/") if part]:
        case ["version"]:
            return VERSION
        case ["api"]:
            return {"kind": "APIVersions", "apiVersion": "v1", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["apis"]:
            groups = [_group(name, versions) for name, versions in _versions_by_group(registry).items()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case ["apis", group]:
            versions = _versions_by_group(registry).get(group)
            return {"kind": "APIGroup", "apiVersion": "v1", **_group(group, versions)} if versions else None
        case ["api", version]:
            return _resource_list(version, registry)
        case ["apis", group, version]:
            return _resource_list(f"{group}/{version}", registry)
    return None


def _versions_by_group(registry: Registry) -> dict[str, list[str]]:
    versions: defaultdict[str, list[str]] = defaultdict(list)
    for resource in registry:
        if resource.group and resource.version not in versions[resource.group]:
            versions[resource.group].append(resource.version)
    return versions


def _group(name: str, versions: list[str]) -> RawObject:
    documents = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": documents, "preferredVersion": documents[0]}


def _resource_list(api_version: str, registry: Registry) -> RawObject | None:
    found = [resource for resource in registry if resource.api_version == api_version]
    if not found:
        return None
    documents = [document for resource in found for document in _documents(resource)]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": api_version, "resources": documents}


def _documents(resource: Resource) -> list[RawObject]:
    common: RawObject = {"namespaced": resource.namespaced, "kind": resource.kind}
    document = {"name": resource.plural, "singularName": resource.kind.lower(), **common, "verbs": list(_VERBS)}
    if resource.short_names:
        document["shortNames"] = list(resource.short_names)
    if not resource.status:
        return [document]
    status = {"name": f"{resource.plural}/status", "singularName": "", **common, "verbs": list(_OF_STATUS)}
    return [document, status]
