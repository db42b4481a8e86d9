"""Selection: which objects of a resource a request is about."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import attrs

from kindex.errors import SelectorError
from kindex.objects import text_of
from kindex.paths import JsonPath
from kindex.selectors import FieldSelector, LabelSelector
from kindex.testing.api_server.sharding import ShardSelector
from kindex.testing.api_server.statuses import ApiError

if TYPE_CHECKING:
    from kindex.testing.api_server.requests import Request
    from kindex.testing.api_server.resources import Resource
    from kindex.testing.api_server.states import ObjectState
    from kindex.testing.manifests import RawObject

_OF_EVERY_KIND: Final = ("metadata.name", "metadata.namespace")
# Where the real server selects by another path than it says.
_REALLY_AT: Final[Mapping[str, str]] = {"source": "source.component"}
# What an absent field is to the real server, where that is not "".
_IF_ABSENT: Final[Mapping[str, str]] = {
    "spec.hostNetwork": "false",
    "spec.unschedulable": "false",
    "status.replicas": "0",
    "status.successful": "0",
}


@attrs.frozen
class Selection:
    """A namespace (None: all), a label selector, a field selector and a shard selector.

    Attributes:
        namespace: the one that the path names.
        labels: the label selector.
        fields: the field selector.
        shard: the shard selector, or None.
    """

    namespace: str | None
    labels: LabelSelector
    fields: FieldSelector
    shard: ShardSelector | None

    @classmethod
    def of(cls, request: Request, resource: Resource) -> Selection:
        """Read the selectors of *request*.

        Raises:
            ApiError: one is malformed, or asks for a field that this resource does not offer (400).
        """
        try:
            labels = LabelSelector.parse(request.query.get("labelSelector", ""))
            fields = FieldSelector.parse(request.query.get("fieldSelector", ""))
        except SelectorError as cause:
            raise ApiError(400, str(cause)) from cause
        for requirement in fields.requirements:
            if requirement.field not in (*_OF_EVERY_KIND, *resource.fields):
                raise ApiError(400, f"{resource.name} cannot be selected by {requirement.field}")
        shard = request.query.get("shardSelector")
        return cls(request.namespace, labels, fields, ShardSelector.parse(shard) if shard else None)

    @property
    def by_selector(self) -> bool:
        """Whether anything but the namespace is asked."""
        return not (self.labels.empty and self.fields.empty and self.shard is None)

    def matches(self, state: ObjectState) -> bool:
        """Tell whether the object is one of these. Only a field selector decodes it."""
        if self.namespace is not None and state.key.namespace != self.namespace:
            return False
        return self.matches_selectors(state)

    def matches_selectors(self, state: ObjectState) -> bool:
        """Tell whether the selectors admit the object, whatever its namespace."""
        if not self.labels.matches(state.labels):
            return False
        if self.shard is not None and not self.shard.matches(state):
            return False
        if self.fields.empty:
            return True
        obj = state.obj
        return self.fields.matches({each.field: _text_at(obj, each.field) for each in self.fields.requirements})


def _text_at(obj: RawObject, field: str) -> str:
    path = JsonPath.parse(_REALLY_AT.get(field, field))
    return text_of(path.first(obj)) or _IF_ABSENT.get(field, "")
