"""ObjectState: one object at one resource version, as bytes; and how such states are shown to a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import attrs
import msgspec

from kindex.keys import ObjectKey
from kindex.objects import labels_of, uid_of
from kindex.testing.api_server.statuses import ApiError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kindex.testing.api_server.resources import Resource
    from kindex.testing.manifests import RawObject

EventType: TypeAlias = Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]

_METADATA_HEAD: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",'
_PARTIAL: Final = ("PartialObjectMetadata", "PartialObjectMetadataList")
_ANY_JSON: Final = ("application/json", "application/*", "*/*")

encoded = msgspec.json.Encoder().encode
decoded = msgspec.json.Decoder().decode


@attrs.frozen(eq=False)
class ObjectState:
    """One object as it was at one resource version; it never changes.

    Kept as JSON without kind and apiVersion, so that every answer is made of bytes that are there: a list of 20,000
    pods is a join. ``obj`` decodes it anew each time, and what that gives belongs to the caller.

    Attributes:
        key: its namespace and name.
        version: its resource version.
        uid: its uid.
        labels: its labels, for selectors.
        tail: its JSON, from behind the opening brace.
    """

    key: ObjectKey
    version: int
    uid: str
    labels: Mapping[str, object]
    tail: bytes

    @classmethod
    def of(cls, obj: RawObject, version: int) -> ObjectState:
        """Keep *obj* as it is now, with *version* as its resource version; O(size).

        Raises:
            ApiError: it holds what JSON has not (400).
        """
        metadata = {**obj["metadata"], "resourceVersion": str(version)}
        parts = {"metadata": metadata} | {
            name: part for name, part in obj.items() if name not in ("apiVersion", "kind", "metadata")
        }
        try:
            tail = encoded(parts)[1:]
        except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as cause:
            raise ApiError(400, f"an object is JSON: {cause}") from cause
        key = ObjectKey(metadata.get("namespace") or "", metadata["name"])
        return cls(key, version, uid_of(obj), dict(labels_of(obj)), tail)

    @property
    def path(self) -> str:
        """What states are ordered by. As in etcd, a text: ``a-b/x`` comes before ``a/x``."""
        return str(self.key)

    @property
    def obj(self) -> RawObject:
        """The object without kind and apiVersion; a fresh dict each time."""
        made: RawObject = decoded(b"{" + self.tail)
        return made

    def at_version(self, version: int) -> ObjectState:
        """Give the same object with another resource version, as events of deletion show it."""
        return ObjectState.of(self.obj, version)


def _head_of(rendering: Rendering) -> bytes:
    """Give what stands before a state's tail in a whole object."""
    if rendering.metadata_only:
        return _METADATA_HEAD
    resource = rendering.resource
    return b'{"kind":%s,"apiVersion":%s,' % (encoded(resource.kind), encoded(resource.api_version))


@attrs.frozen
class Rendering:
    r"""How states are shown to one client: as objects of *resource*, or their metadata alone.

    >>> from kindex.testing.api_server.resources import Resource
    >>> rendering = Rendering.accepted("application/json", Resource("acme.io/v1", "Widget"))
    >>> rendering.bookmark(7)
    b'{"type":"BOOKMARK","object":{"kind":"Widget","apiVersion":"acme.io/v1","metadata":{"resourceVersion":"7"}}}\n'
    """

    resource: Resource
    metadata_only: bool = False
    head: bytes = attrs.field(init=False, default=attrs.Factory(_head_of, takes_self=True))

    @classmethod
    def accepted(cls, accept: str, resource: Resource) -> Rendering:
        """Choose by an Accept header: the first of its forms that the server has.

        Raises:
            ApiError: it has none of them (406), such as a Table or protobuf.
        """
        for media_range in accept.split(",") if accept.strip() else ("*/*",):
            media_type, *texts = (part.strip() for part in media_range.split(";"))
            parameters = {name: value for name, _, value in (text.partition("=") for text in texts)}
            form = parameters.get("as", "")
            if media_type in _ANY_JSON and (not form or (form in _PARTIAL and parameters.get("v") == "v1")):
                return cls(resource, metadata_only=bool(form))
        raise ApiError(406, f"this server has application/json and PartialObjectMetadata(List), not {accept}")

    def whole(self, state: ObjectState) -> bytes:
        """Give the JSON of one object."""
        return self.head + self._tail(state)

    def many(self, states: list[ObjectState], metadata: RawObject) -> bytes:
        """Give the JSON of a list; items say their kind only where a real server lets them."""
        if self.metadata_only:
            kind, api_version = "PartialObjectMetadataList", "meta.k8s.io/v1"
        else:
            kind, api_version = f"{self.resource.kind}List", self.resource.api_version
        envelope = encoded({"kind": kind, "apiVersion": api_version, "metadata": metadata})
        head = self.head if self.metadata_only or self.resource.custom else b"{"
        items = (b"," + head).join([self._tail(state) for state in states])
        return b"".join((envelope[:-1], b',"items":[', head if states else b"", items, b"]}\n"))

    def event(self, kind: EventType, state: ObjectState) -> bytes:
        """Give the line of a watch that says what happened to one object."""
        return b'{"type":"%s","object":%s%s}\n' % (kind.encode(), self.head, self._tail(state))

    def bookmark(self, version: int, *, initial_events_end: bool = False) -> bytes:
        """Give the line that says: everything up to *version* was sent."""
        metadata: RawObject = {"resourceVersion": str(version)}
        if initial_events_end:
            metadata["annotations"] = {"k8s.io/initial-events-end": "true"}
        return b'{"type":"BOOKMARK","object":%s"metadata":%s}}\n' % (self.head, encoded(metadata))

    def _tail(self, state: ObjectState) -> bytes:
        if not self.metadata_only:
            return state.tail
        return b'"metadata":%s}' % encoded(state.obj["metadata"])


def error_event(error: ApiError) -> bytes:
    """Give the line of a watch that says it cannot go on."""
    return b'{"type":"ERROR","object":%s}\n' % encoded(error.status())
