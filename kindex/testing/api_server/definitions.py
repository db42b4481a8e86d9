"""CustomResourceDefinitions: what they declare, and how a cluster answers that it took one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kindex.testing.api_server.resources import Resource
from kindex.testing.api_server.statuses import invalid

if TYPE_CHECKING:
    from kindex.testing.manifests import RawObject

DEFINITIONS: Final = "customresourcedefinitions.apiextensions.k8s.io"


def resources_of(definition: RawObject) -> list[Resource]:
    """Give the resource of each version that *definition* serves.

    Raises:
        ApiError: it lacks what names a resource (422).
    """
    spec = _map(definition.get("spec"), "spec")
    names = _map(spec.get("names"), "spec.names")
    for member, value in (("spec.group", spec.get("group")), ("spec.names.plural", names.get("plural"))):
        if not isinstance(value, str) or not value:
            raise invalid(member, "is required")
    if not isinstance(names.get("kind"), str):
        raise invalid("spec.names.kind", "is required")
    return [
        Resource(
            f"{spec['group']}/{version['name']}",
            names["kind"],
            plural=names["plural"],
            namespaced=spec.get("scope", "Namespaced") == "Namespaced",
            short_names=names.get("shortNames") or (),
            fields=[each["jsonPath"].lstrip(".") for each in version.get("selectableFields") or ()],
            status="status" in (version.get("subresources") or {}),
        )
        for version in spec.get("versions") or ()
        if version.get("served", True)
    ]


def established(definition: RawObject) -> RawObject:
    """Give *definition* with the status by which clients see that they may go on."""
    accepted = [
        {"type": kind, "status": "True", "reason": kind, "message": ""} for kind in ("NamesAccepted", "Established")
    ]
    spec = definition["spec"]
    stored = [version["name"] for version in spec.get("versions") or () if version.get("storage")]
    return {**definition, "status": {"conditions": accepted, "acceptedNames": spec["names"], "storedVersions": stored}}


def _map(value: object, member: str) -> RawObject:
    if not isinstance(value, dict):
        raise invalid(member, "is required")
    return value
