"""Metadata: what a LazyObject has parsed of its metadata, and what it decodes of it when asked.

What is read all the time is parsed once, with the object. Annotations, owner references, finalizers and managed fields
are kept as the JSON text that they are, a view of the object's own bytes, and decoded at each access, in about a
microsecond: parsed, they would add a seventh to what an object takes.
"""

from __future__ import annotations

import copy
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from kindex.errors import DecodeError, PartialObjectError, ReadOnlyError
from kindex.path_decoding import JSON_ERRORS, plain_json, value_at
from kindex.read_only import Json, text_map

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kindex.lazy import LazyObject
    from kindex.path_syntax import Steps

    Text = str | None
    Number = int | None
    Flag = bool | None
    JsonText = msgspec.Raw | str | None
else:
    # Any JSON is admitted, so that an odd object is stored and found as it is.
    Text = Number = Flag = Any
    JsonText = msgspec.Raw

DROPPED: Final = "dropped by a transform"
"""Stands in a Metadata for the text of what a transform has dropped."""


class OwnerReference(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """One owner of an object.

    >>> from kindex import LazyObject
    >>> pod = LazyObject.from_json(b'{"metadata": {"name": "a", "ownerReferences": [{"kind": "Job", "name": "b"}]}}')
    >>> [owner.name for owner in pod.metadata.owner_references]
    ['b']
    """

    api_version: Text = None
    kind: Text = None
    name: Text = None
    uid: Text = None
    controller: Flag = None
    block_owner_deletion: Flag = None


class Metadata(msgspec.Struct, frozen=True, rename="camel", gc=False, eq=False):
    """The metadata of a LazyObject, under the names that the official client uses; None is what is absent.

    Times are text, as in JSON. The rest of the metadata is in ``obj["metadata"]``.

    >>> from kindex import LazyObject
    >>> pod = LazyObject.from_json(b'{"metadata": {"name": "a", "labels": {"app": "web"}, "finalizers": ["x/y"]}}')
    >>> pod.metadata.name, pod.metadata.labels["app"], pod.metadata.finalizers, pod.metadata.deletion_timestamp
    ('a', 'web', ('x/y',), None)
    """

    name: Text = None
    namespace: Text = None
    uid: Text = None
    resource_version: Text = None
    generation: Number = None
    creation_timestamp: Text = None
    deletion_timestamp: Text = None
    generate_name: Text = None
    # Any: JSON. Below it, a view of the text, None if there is none, or DROPPED.
    _labels: Any = msgspec.field(name="labels", default=None)
    _annotations: JsonText = msgspec.field(name="annotations", default=None)
    _owner_references: JsonText = msgspec.field(name="ownerReferences", default=None)
    _finalizers: JsonText = msgspec.field(name="finalizers", default=None)
    _managed_fields: JsonText = msgspec.field(name="managedFields", default=None)

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels, read-only; empty if there are none."""
        return text_map(self._labels)

    @property
    def annotations(self) -> Mapping[str, str]:
        """The annotations, read-only and decoded anew; empty if there are none.

        Raises:
            PartialObjectError: a transform dropped them.
        """
        return text_map(annotations_in(self))

    @property
    def owner_references(self) -> tuple[OwnerReference, ...]:
        """The owner references, decoded anew; what is no object in the list is left out."""
        found = _decoded(self._owner_references)
        references = found if type(found) is list else ()
        return tuple(msgspec.convert(each, OwnerReference) for each in references if type(each) is dict)

    @property
    def finalizers(self) -> tuple[str, ...]:
        """The finalizers, decoded anew."""
        found = _decoded(self._finalizers)
        return tuple(found) if type(found) is list else ()

    def __repr__(self) -> str:
        where = f"{self.namespace}/" if self.namespace else ""
        return f"<Metadata {where}{self.name}>"


def annotations_in(metadata: Metadata) -> Json:
    """Decode the annotations as they are in JSON.

    Raises:
        PartialObjectError: a transform dropped them.
    """
    text = metadata._annotations  # noqa: SLF001 - this module's own
    if text is DROPPED:
        raise PartialObjectError("metadata.annotations", "them", "name that path in keep_paths(...)")
    return _decoded(text)


def reader_in(name: str, rest: Steps) -> Callable[[LazyObject], Json] | None:
    """Make the function that reads the metadata's member which JSON calls *name*, and in it the path *rest*.

    None if a Metadata does not hold the member.
    """
    attribute = _ATTRIBUTES.get(name)
    if attribute is None:
        return None
    held: Callable[[LazyObject], Json] = attrgetter(f"metadata.{attribute}")
    if attribute not in _TEXTS:
        return (lambda obj: value_at(held(obj), rest)) if rest else held
    if rest:
        return lambda obj: value_at(_decoded(held(obj)), rest)
    return lambda obj: _decoded(held(obj))


def without_managed_fields(metadata: Metadata) -> tuple[bytes, Metadata]:
    """Give the text of the managed fields, and the metadata without them.

    The text is empty if there are none. What the metadata keeps as text is then no view of the old bytes any more.
    """
    text = metadata._managed_fields  # noqa: SLF001 - this module's own
    if type(text) is not msgspec.Raw:
        return b"", metadata
    made = copy.copy(metadata)
    _set(made, "_managed_fields", None)
    for name in _TEXTS:
        kept = getattr(made, name)
        if type(kept) is msgspec.Raw:
            _set(made, name, kept.copy())
    return bytes(text), made


def with_texts(metadata: Metadata, shared: Callable[[Json], Json]) -> Metadata:
    """Give a copy with *shared* texts for the namespace and the labels."""
    labels = metadata._labels  # noqa: SLF001 - this module's own
    if type(labels) is dict:
        labels = {shared(key): shared(value) for key, value in labels.items()}
    return changed(metadata, namespace=shared(metadata.namespace), _labels=labels)


def changed(metadata: Metadata, **attributes: object) -> Metadata:
    """Give a copy with other *attributes*."""
    made = copy.copy(metadata)
    for name, value in attributes.items():
        _set(made, name, value)
    return made


_set = msgspec.structs.force_setattr


def _decoded(text: JsonText) -> Json:
    """Decode a part of the metadata that was kept as text.

    Raises:
        DecodeError: it is wrong, which nobody has looked at yet.
    """
    try:
        return None if text is None else plain_json(text)
    except JSON_ERRORS as error:
        raise DecodeError("a part of the metadata", str(error)) from error


def _refuse(_self: object, name: str, *_value: object) -> NoReturn:
    raise ReadOnlyError(repr(name))


def refuse_edits(cls: type) -> None:
    """Make edits of a frozen Struct the error that says what to do; msgspec's is an AttributeError."""
    # Set on the finished class: in its body msgspec would override them.
    cls.__setattr__ = cls.__delattr__ = _refuse  # type: ignore[assignment, method-assign]


refuse_edits(Metadata)
refuse_edits(OwnerReference)

ALWAYS_KEPT: Final = tuple(
    name for name in Metadata.__struct_encode_fields__ if name not in {"annotations", "managedFields"}
)
"""The members of the metadata that no transform drops; in JSON's names."""

_ATTRIBUTES = dict(zip(Metadata.__struct_encode_fields__, Metadata.__struct_fields__, strict=True))
_TEXTS = ("_annotations", "_owner_references", "_finalizers", "_managed_fields")
