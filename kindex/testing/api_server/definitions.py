"""CustomResourceDefinitions: what they declare, and how a cluster answers that it took one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kindex.testing.api_server.resources import Resource
from kindex.testing.api_server.statuses import invalid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kindex.testing.manifests import RawObject

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def resources_of(definition: RawObject) -> list[Resource]:
    """Give the resource of each version that *definition* serves.

    Raises:
        ApiError: it lacks what names a resource (422).
    """
    spec = _map(definition.get("spec"), "spec")
    names = _map(spec.get("names"), "spec.names")
    versions = [_map(version, "spec.versions") for version in _list(spec.get("versions"), "spec.versions")]
    return [
        Resource(
            f"{_text(spec, 'group', 'spec')}/{_text(version, 'name', 'spec.versions')}",
            _text(names, "kind", "spec.names"),
            plural=_text(names, "plural", "spec.names"),
            namespaced=spec.get("scope", "Namespaced") == "Namespaced",
            short_names=_list(names.get("shortNames", []), "spec.names.shortNames"),
            fields=[
                _text(_map(field, "selectableFields"), "jsonPath", "selectableFields").lstrip(".")
                for field in _list(version.get("selectableFields", []), "selectableFields")
            ],
            status="status" in _map(version.get("subresources", {}), "subresources"),
        )
        for version in versions
        if version.get("served", True)
    ]


def established(definition: RawObject) -> RawObject:
    """Give *definition* with the status by which clients see that they may go on."""
    accepted = [
        {"type": kind, "status": "True", "reason": kind, "message": ""} for kind in ("NamesAccepted", "Established")
    ]
    spec = definition["spec"]
    stored = [version["name"] for version in spec["versions"] if version.get("storage")]
    return {**definition, "status": {"conditions": accepted, "acceptedNames": spec["names"], "storedVersions": stored}}


def _map(value: object, member: str) -> RawObject:
    if not isinstance(value, dict):
        raise invalid(member, "a map is required")
    return value


def _list(value: object, member: str) -> Sequence[Any]:  # Any: JSON
    if not isinstance(value, list):
        raise invalid(member, "a list is required")
    return value


def _text(part: RawObject, name: str, where: str) -> str:
    value = part.get(name)
    if not isinstance(value, str) or not value:
        raise invalid(f"{where}.{name}", "a text is required")
    return value
