"""Which resources the server has: those that a cluster brings, and those that tests and definitions add."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

import attrs

from kindex.testing.api_server.statuses import ApiError

if TYPE_CHECKING:
    from kindex.testing.manifests import RawObject


def _texts(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(values)


def _guessed_plural(resource: Resource) -> str:
    """Guess as English has it: policies, gateways, ingresses."""
    word = resource.kind.lower()
    if word.endswith("endpoints"):
        return word
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


@attrs.frozen
class Resource:
    """One resource: its names, and what differs between resources.

    Attributes:
        api_version: group and version as objects say them: ``v1``, ``apps/v1``.
        kind: what objects call themselves.
        plural: its name in paths; guessed from the kind where it is not given.
        namespaced: whether its objects have a namespace.
        fields: the paths that field selectors may ask for, beside ``metadata.name`` and ``metadata.namespace``.
        short_names: what kubectl calls it too.
        status: whether ``status`` is written at ``/status`` alone.
        generation: whether the server counts changes of all but metadata and status.
        custom: whether a CustomResourceDefinition would declare it: such items of a list say their kind.
        returns_deleted: whether a delete answers the object rather than a Status.

    >>> widgets = Resource("acme.io/v1", "Widget", fields=("spec.color",))
    >>> widgets.plural, widgets.group, widgets.name
    ('widgets', 'acme.io', 'widgets.acme.io')
    """

    api_version: str
    kind: str
    plural: str = attrs.field(default=attrs.Factory(_guessed_plural, takes_self=True), kw_only=True)
    namespaced: bool = attrs.field(default=True, kw_only=True)
    fields: tuple[str, ...] = attrs.field(default=(), converter=_texts, kw_only=True)
    short_names: tuple[str, ...] = attrs.field(default=(), converter=_texts, kw_only=True)
    status: bool = attrs.field(default=True, kw_only=True)
    generation: bool = attrs.field(default=True, kw_only=True)
    custom: bool = attrs.field(default=True, kw_only=True)
    returns_deleted: bool = attrs.field(default=False, kw_only=True)

    @property
    def group(self) -> str:
        """The API group; ``""`` is the core's."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version without the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def name(self) -> str:
        """Plural and group: what the versions of one resource, and so their objects, have in common."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


class Registry:
    """The resources that the server has at the moment; safe for threads."""

    def __init__(self, resources: tuple[Resource, ...] = ()) -> None:
        self._lock = threading.Lock()
        self._resources: dict[tuple[str, str], Resource] = {}  # by api_version and plural; guarded by _lock
        for resource in (*BUILT_IN, *resources):
            self.add(resource)

    def __iter__(self) -> Iterator[Resource]:
        """Give all resources."""
        with self._lock:
            return iter(list(self._resources.values()))

    def add(self, resource: Resource) -> None:
        """Serve *resource*, in place of what was at its path."""
        with self._lock:
            self._resources[resource.api_version, resource.plural] = resource

    def remove(self, resource: Resource) -> None:
        """Serve *resource* no longer."""
        with self._lock:
            self._resources.pop((resource.api_version, resource.plural), None)

    def at(self, api_version: str, plural: str) -> Resource | None:
        """Give the resource at a path, or None."""
        with self._lock:
            return self._resources.get((api_version, plural))

    def of_object(self, obj: RawObject) -> Resource:
        """Give the resource of *obj* by its apiVersion and kind; one that is not known is added, by guess."""
        api_version, kind = obj.get("apiVersion"), obj.get("kind")
        if not isinstance(api_version, str) or not isinstance(kind, str) or not api_version or not kind:
            raise ApiError(400, f"an object needs apiVersion and kind, to say what it is: {sorted(obj)}")
        for resource in self:
            if (resource.api_version, resource.kind) == (api_version, kind):
                return resource
        metadata = obj.get("metadata")
        namespaced = isinstance(metadata, dict) and bool(metadata.get("namespace"))
        guessed = Resource(api_version, kind, namespaced=namespaced)
        self.add(guessed)
        return guessed

    def named(self, name: str | Resource) -> Resource:
        """Give the resource that is called *name*: ``pods``, ``Pod``, ``po``, ``deployments.apps``.

        Raises:
            ApiError: there is none (404), or there are several in different groups (400).
        """
        if isinstance(name, Resource):
            return name
        found = [each for each in self if name in (each.plural, each.name, each.kind, *each.short_names)]
        groups = {each.name for each in found}
        if not found:
            raise ApiError(404, f"the server has no resource called {name!r}; add it with ApiServer(resources=...)")
        if len(groups) > 1:
            raise ApiError(400, f"{name!r} is one of {', '.join(sorted(groups))}; say which")
        return found[0]


def _built_in(
    api_version: str,
    kind: str,
    *short_names: str,
    namespaced: bool = True,
    simple: bool = False,
    status: bool = True,
    generation: bool = True,
    fields: tuple[str, ...] = (),
    returns_deleted: bool = False,
) -> Resource:
    """Declare what a cluster brings; *simple* is without status and generation."""
    return Resource(
        api_version,
        kind,
        namespaced=namespaced,
        fields=fields,
        short_names=short_names,
        status=status and not simple,
        generation=generation and not simple,
        custom=False,
        returns_deleted=returns_deleted,
    )


_POD_FIELDS = (
    "spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
    "status.nominatedNodeName", "status.phase", "status.podIP",
)  # fmt: skip
_EVENT_FIELDS = (
    "involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
    "involvedObject.namespace", "involvedObject.resourceVersion", "involvedObject.uid", "reason",
    "reportingComponent", "source", "type",
)  # fmt: skip

BUILT_IN: Final = (
    _built_in("v1", "ConfigMap", "cm", simple=True),
    _built_in("v1", "Endpoints", "ep", simple=True),
    _built_in("v1", "Event", "ev", simple=True, fields=_EVENT_FIELDS),
    _built_in("v1", "Namespace", "ns", namespaced=False, generation=False, fields=("status.phase",)),
    _built_in("v1", "Node", "no", namespaced=False, generation=False, fields=("spec.unschedulable",)),
    _built_in("v1", "PersistentVolume", "pv", namespaced=False, generation=False, returns_deleted=True),
    _built_in("v1", "PersistentVolumeClaim", "pvc", generation=False, returns_deleted=True),
    _built_in("v1", "Pod", "po", fields=_POD_FIELDS, returns_deleted=True),
    _built_in("v1", "ReplicationController", "rc", fields=("status.replicas",)),
    _built_in("v1", "ResourceQuota", "quota", generation=False, returns_deleted=True),
    _built_in("v1", "Secret", simple=True, fields=("type",)),
    _built_in("v1", "Service", "svc", generation=False, returns_deleted=True, fields=("spec.clusterIP", "spec.type")),
    _built_in("v1", "ServiceAccount", "sa", simple=True, returns_deleted=True),
    _built_in("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", namespaced=False, status=False),
    _built_in("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", namespaced=False, status=False),
    _built_in("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crd", "crds", namespaced=False),
    _built_in("apps/v1", "ControllerRevision", simple=True),
    _built_in("apps/v1", "DaemonSet", "ds"),
    _built_in("apps/v1", "Deployment", "deploy"),
    _built_in("apps/v1", "ReplicaSet", "rs", fields=("status.replicas",)),
    _built_in("apps/v1", "StatefulSet", "sts"),
    _built_in("autoscaling/v2", "HorizontalPodAutoscaler", "hpa", generation=False),
    _built_in("batch/v1", "CronJob", "cj"),
    _built_in("batch/v1", "Job", fields=("status.successful",)),
    _built_in("coordination.k8s.io/v1", "Lease", simple=True),
    _built_in("discovery.k8s.io/v1", "EndpointSlice", status=False),
    _built_in("networking.k8s.io/v1", "Ingress", "ing"),
    _built_in("networking.k8s.io/v1", "IngressClass", namespaced=False, status=False),
    _built_in("networking.k8s.io/v1", "NetworkPolicy", "netpol", status=False),
    _built_in("policy/v1", "PodDisruptionBudget", "pdb"),
    _built_in("rbac.authorization.k8s.io/v1", "ClusterRole", namespaced=False, simple=True),
    _built_in("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", namespaced=False, simple=True),
    _built_in("rbac.authorization.k8s.io/v1", "Role", simple=True),
    _built_in("rbac.authorization.k8s.io/v1", "RoleBinding", simple=True),
    _built_in("scheduling.k8s.io/v1", "PriorityClass", "pc", namespaced=False, status=False),
    _built_in("storage.k8s.io/v1", "StorageClass", "sc", namespaced=False, simple=True, returns_deleted=True),
)  # fmt: skip
