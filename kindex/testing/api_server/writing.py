"""Writes: what the server makes of an object that is created, replaced, patched or deleted."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs

from kindex.keys import ObjectKey
from kindex.testing.api_server.definitions import DEFINITIONS, established, resources_of
from kindex.testing.api_server.states import ObjectState
from kindex.testing.api_server.statuses import ApiError, invalid, not_found

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.testing.api_server.resources import Registry, Resource
    from kindex.testing.api_server.storage import Storage
    from kindex.testing.manifests import RawObject

Part: TypeAlias = Literal["", "status"]

# What Kubernetes makes its random suffixes of: no vowels, so no words.
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
# What no client can change.
_KEPT: Final = (
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "namespace",
    "uid",
)
# What each member of metadata is, where the server itself reads it.
_SHAPES: Final[Mapping[str, type]] = {
    "annotations": dict,
    "creationTimestamp": str,
    "deletionTimestamp": str,
    "finalizers": list,
    "generateName": str,
    "generation": int,
    "labels": dict,
    "name": str,
    "namespace": str,
    "resourceVersion": str,
    "uid": str,
}
_NOT_COUNTED: Final = ("apiVersion", "kind", "metadata", "status")


@attrs.frozen(eq=False)
class Writer:
    """Writes to one storage as the API's rules have it.

    Whoever is *trusted*, a test that calls the server in Python, may say what clients may not: uid, creation time,
    and status together with the rest.
    """

    storage: Storage
    registry: Registry
    _random: random.Random = attrs.field(factory=lambda: random.Random(0))  # noqa: S311 - names, not secrets

    def create(
        self, resource: Resource, obj: RawObject, *, namespace: str | None = None, trusted: bool = False
    ) -> ObjectState:
        """Create *obj*, in the *namespace* of the path if there is one.

        Raises:
            ApiError: it is no object of this resource (400), has no name (422), or is there already (409).
        """
        metadata = _metadata_of(resource, obj)
        made = {**obj, "metadata": metadata}
        if not trusted:
            _drop_what_is_the_servers(resource, made)
        _place(resource, metadata, namespace, trusted=trusted)
        with self.storage.lock:
            metadata["name"] = self._name_for(resource, metadata)
            key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
            if self.storage.get(resource.name, key) is not None:
                raise ApiError(409, f'{resource.name} "{key.name}" already exists', reason="AlreadyExists")
            metadata["uid"] = metadata.get("uid") or str(uuid.UUID(int=self._random.getrandbits(128), version=4))
            metadata["creationTimestamp"] = metadata.get("creationTimestamp") or _now()
            if resource.generation:
                metadata["generation"] = metadata.get("generation") or 1
            if resource.name == DEFINITIONS:
                self._serve(made)
                made = established(made)
            return self.storage.commit(resource.name, key, made)

    def update(
        self,
        resource: Resource,
        key: ObjectKey,
        change: Callable[[RawObject], RawObject],
        *,
        part: Part = "",
        trusted: bool = False,
        unconditional: bool = True,
    ) -> ObjectState:
        """Put what *change* makes of the object in its place, and give that.

        A change of nothing keeps the version. Taking the last finalizer from an object that is being deleted deletes
        it; watches then see the state before, as a real server has it.

        Args:
            resource: whose object it is.
            key: which one.
            change: gets a fresh dict, with kind and apiVersion, and gives what is to be stored.
            part: ``status`` takes that alone, ``""`` all else.
            trusted: takes both.
            unconditional: False demands a resourceVersion.

        Raises:
            ApiError: there is no such object (404), it was changed meanwhile (409), or it would become another (400).
        """
        with self.storage.lock:
            state = self.storage.get(resource.name, key)
            if state is None:
                raise not_found(resource.name, key.name)
            old = {"apiVersion": resource.api_version, "kind": resource.kind, **state.obj}
            new = change({"apiVersion": resource.api_version, "kind": resource.kind, **state.obj})
            new = {**new, "metadata": _metadata_of(resource, new)}
            _check_names(key, new)
            if not trusted:
                _check_preconditions(resource, old, new, unconditional=unconditional)
            made = _merged(resource, old, new, part=part, trusted=trusted)
            metadata = made["metadata"]
            if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
                return ObjectState.of(made, self._remove(resource, key).version)
            if made == old:
                return state
            if resource.name == DEFINITIONS:
                self._serve(made, instead_of=old)
            return self.storage.commit(resource.name, key, made)

    def delete(self, resource: Resource, key: ObjectKey, preconditions: RawObject | None = None) -> ObjectState:
        """Delete the object, or mark it where finalizers hold it.

        Raises:
            ApiError: there is no such object (404), or it is not what the *preconditions* say (409).
        """
        with self.storage.lock:
            state = self.storage.get(resource.name, key)
            if state is None:
                raise not_found(resource.name, key.name)
            obj = state.obj
            metadata = obj["metadata"]
            for member in ("uid", "resourceVersion"):
                wanted = (preconditions or {}).get(member)
                if wanted and wanted != metadata[member]:
                    raise ApiError(409, f"precondition failed: {member} is {metadata[member]}, not {wanted}")
            if not metadata.get("finalizers"):
                return self._remove(resource, key)
            if metadata.get("deletionTimestamp"):
                return state
            metadata |= {"deletionTimestamp": _now(), "deletionGracePeriodSeconds": 0}
            if resource.generation:
                metadata["generation"] = metadata.get("generation", 0) + 1
            return self.storage.commit(resource.name, key, obj)

    def _remove(self, resource: Resource, key: ObjectKey) -> ObjectState:
        """Delete the object, and with a definition all that it defines. The caller holds the lock."""
        removed = self.storage.commit(resource.name, key, None)
        if resource.name == DEFINITIONS:
            for declared in resources_of(removed.obj):
                self.registry.remove(declared)
                for state in self.storage.snapshot(declared.name).states:
                    self.storage.commit(declared.name, state.key, None)
        return removed

    def _serve(self, definition: RawObject, *, instead_of: RawObject | None = None) -> None:
        """Serve what *definition* declares, and no longer what an earlier one did. The caller holds the lock."""
        declared = resources_of(definition)
        for resource in resources_of(instead_of) if instead_of is not None else ():
            self.registry.remove(resource)
        for resource in declared:
            self.registry.add(resource)

    def _name_for(self, resource: Resource, metadata: RawObject) -> str:
        """Give the object's name, or make one. The caller holds the lock."""
        if metadata.get("name"):
            return str(metadata["name"])
        stem = metadata.get("generateName")
        if not stem:
            raise invalid("metadata.name", "a name is needed, or a generateName", cause="FieldValueRequired")
        while True:
            made: str = stem + "".join(self._random.choices(_SUFFIX_LETTERS, k=5))
            if self.storage.get(resource.name, ObjectKey(metadata.get("namespace", ""), made)) is None:
                return made


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _metadata_of(resource: Resource, obj: RawObject) -> RawObject:
    """Give a copy of the metadata of *obj*, if that is an object of *resource*."""
    for member, wanted in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if obj.get(member) not in (None, "", wanted):
            raise ApiError(400, f"{member} of the object is {obj[member]!r}, and here are {wanted}")
    metadata = obj.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise ApiError(400, "metadata of the object is no map")
    for member, value in metadata.items():
        if value is not None and not isinstance(value, _SHAPES.get(member, object)):
            raise ApiError(400, f"metadata.{member} of the object cannot be of type {type(value).__name__}")
    texts = (*(metadata.get("labels") or {}).values(), *(metadata.get("annotations") or {}).values())
    if not all(isinstance(text, str | None) for text in (*texts, *(metadata.get("finalizers") or ()))):
        raise ApiError(400, "labels, annotations and finalizers of the object are texts")
    return dict(metadata)


def _drop_what_is_the_servers(resource: Resource, new: RawObject) -> None:
    """Take from a *new* object what a client cannot say."""
    if new["metadata"].get("resourceVersion"):
        raise ApiError(500, "an object that is to be created has no resourceVersion yet", reason="")
    for member in ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"):
        new["metadata"].pop(member, None)
    if resource.status:
        new.pop("status", None)


def _place(resource: Resource, metadata: RawObject, namespace: str | None, *, trusted: bool) -> None:
    """Put a new object into the *namespace* of the path, or into its own."""
    own = metadata.pop("namespace", None)
    if resource.namespaced:
        metadata["namespace"] = namespace or own or "default"
        if own not in (None, "", metadata["namespace"]):
            raise ApiError(400, f"the object's namespace {own!r} is not the path's, {namespace!r}")
    elif own and trusted:  # a slip of a test; of clients it is forgiven
        raise ApiError(400, f"{resource.name} have no namespace here; declare them with ApiServer(resources=...)")


def _check_names(key: ObjectKey, new: RawObject) -> None:
    """Refuse a *new* object that names itself otherwise than the path does."""
    metadata = new["metadata"]
    for member, wanted in (("name", key.name), ("namespace", key.namespace)):
        if metadata.get(member) not in (None, "", wanted):
            raise ApiError(400, f"the object's {member} {metadata[member]!r} is not the path's, {wanted!r}")


def _check_preconditions(resource: Resource, old: RawObject, new: RawObject, *, unconditional: bool) -> None:
    """Refuse a *new* object that is made from another object of this name, or from an older state."""
    held, metadata = old["metadata"], new["metadata"]
    if metadata.get("uid") not in (None, "", held["uid"]):
        raise ApiError(409, f"uid is {held['uid']}, not {metadata['uid']}: it is another object now")
    version = metadata.get("resourceVersion")
    if not version and not unconditional:
        raise invalid("metadata.resourceVersion", "a replacement says which version it replaces")
    if version and version != held["resourceVersion"]:
        raise ApiError(
            409, f'{resource.name} "{held["name"]}" was modified meanwhile; apply the change to its latest state'
        )


def _merged(resource: Resource, old: RawObject, new: RawObject, *, part: Part, trusted: bool) -> RawObject:
    """Give what is stored when *new* comes in place of *old*."""
    if part == "status":
        made = {name: value for name, value in old.items() if name != "status"}
        return {**made, "status": new["status"]} if "status" in new else made
    held = old["metadata"]
    metadata = {name: value for name, value in new["metadata"].items() if name not in _KEPT}
    metadata |= {name: held[name] for name in (*_KEPT, "name", "resourceVersion") if name in held}
    made = {"apiVersion": resource.api_version, "kind": resource.kind, **new, "metadata": metadata}
    if resource.status and not trusted:
        made.pop("status", None)
        if "status" in old:
            made["status"] = old["status"]
    if held.get("deletionTimestamp"):
        added = set(metadata.get("finalizers") or ()) - set(held.get("finalizers") or ())
        if added:
            raise invalid("metadata.finalizers", f"none can be added once it is being deleted: {sorted(added)}")
    if resource.generation and _counted(made) != _counted(old):
        metadata["generation"] = held.get("generation", 0) + 1
    return made


def _counted(obj: RawObject) -> RawObject:
    return {name: value for name, value in obj.items() if name not in _NOT_COUNTED}
