"""What kindex reads in any client's object: key, labels, annotations, owners, versions; scalars as text.

Objects may be of every kind that ``kindex.members`` reads. Nothing is written to them, and
what reading raises comes through.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from enum import Enum
from math import isfinite
from typing import TYPE_CHECKING

from kindex.errors import InvalidObjectError
from kindex.keys import ObjectKey
from kindex.lazy import LazyObject, labels_in, name_in
from kindex.members import map_of, member_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def key_of(obj: object) -> ObjectKey:
    """Give the key of *obj*: its ``metadata.namespace`` (or ``""``) and ``metadata.name``.

    0.3 us for a dict.

    Raises:
        InvalidObjectError: there is no metadata or no name, or one of the two is not text.

    >>> key_of({"metadata": {"namespace": "prod", "name": "web-1"}})
    ObjectKey(namespace='prod', name='web-1')
    >>> key_of({"kind": "Pod", "metadata": {}})
    Traceback (most recent call last):
    ...
    kindex.errors.InvalidObjectError: an object of type dict and kind Pod has no metadata.name, and so no key
    """
    if type(obj) is dict:
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            name = metadata.get("name")
            namespace = metadata.get("namespace")
            if type(name) is str and name:
                if type(namespace) is str:
                    return tuple.__new__(ObjectKey, (namespace, name))  # half the cost of ObjectKey(...)
                if namespace is None:
                    return tuple.__new__(ObjectKey, ("", name))
    elif type(obj) is LazyObject:
        name, namespace = name_in(obj)
        if type(name) is str and name:
            if type(namespace) is str:
                return tuple.__new__(ObjectKey, (namespace, name))
            if namespace is None:
                return tuple.__new__(ObjectKey, ("", name))
    return _unusual_key_of(obj)


def labels_of(obj: object) -> Mapping[str, object]:
    """Give the labels of *obj* as they are: values are neither checked nor changed.

    Borrowed from the object, not to be edited; empty when there are none. O(1), except for
    dynamic-client objects, whose labels are copied.

    >>> labels_of({"metadata": {"labels": {"app": "web"}}})
    {'app': 'web'}
    >>> dict(labels_of({"metadata": {"labels": None}}))
    {}
    """
    if type(obj) is dict:
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            labels = metadata.get("labels")
            return labels if type(labels) is dict else map_of(labels)
    elif type(obj) is LazyObject:
        labels = labels_in(obj)
        return labels if type(labels) is dict else map_of(labels)
    return map_of(member_of(member_of(obj, "metadata"), "labels"))


def annotations_of(obj: object) -> Mapping[str, object]:
    """Give the annotations of *obj* as they are, as ``labels_of`` gives its labels.

    >>> annotations_of({"metadata": {"annotations": {"team": "red"}}})
    {'team': 'red'}
    """
    if type(obj) is dict:
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            annotations = metadata.get("annotations")
            return annotations if type(annotations) is dict else map_of(annotations)
    elif type(obj) is LazyObject:
        return map_of(obj.read("metadata.annotations", ("metadata", "annotations")))
    return map_of(member_of(member_of(obj, "metadata"), "annotations"))


def owner_references_of(obj: object) -> Sequence[object]:
    """Give the owner references of *obj*, in their order; ``member_of`` reads each.

    Borrowed from the object, not to be edited; empty when there are none. O(1).

    >>> owner_references_of({"metadata": {"ownerReferences": [{"uid": "u1"}]}})
    [{'uid': 'u1'}]
    """
    if type(obj) is LazyObject:
        references = obj.read("metadata.ownerReferences", ("metadata", "ownerReferences"))
    else:
        references = member_of(member_of(obj, "metadata"), "ownerReferences")
    return references if isinstance(references, (list, tuple)) else ()


def uid_of(obj: object) -> str:
    """Give ``metadata.uid`` of *obj*, or ``""``. O(1).

    >>> uid_of({"metadata": {"uid": "u1"}})
    'u1'
    """
    if type(obj) is dict:
        metadata = obj.get("metadata")
        if type(metadata) is dict:
            uid = metadata.get("uid")
            return uid if type(uid) is str else text_of(uid)
    elif type(obj) is LazyObject:
        return text_of(obj.metadata.uid)
    return text_of(member_of(member_of(obj, "metadata"), "uid"))


def uid_changed(old: object, new: object) -> bool:
    """Tell whether two objects of one key are not the same one; objects without a UID are taken for it. O(1).

    >>> uid_changed({"metadata": {"uid": "u1"}}, {"metadata": {"uid": "u2"}})
    True
    """
    if old is None or old is new:
        return False
    before, after = uid_of(old), uid_of(new)
    return bool(before and after and before != after)


def resource_version_of(obj: object) -> str:
    """Give ``metadata.resourceVersion`` of *obj*, or ``""``. O(1).

    >>> resource_version_of({"metadata": {"resourceVersion": "1234"}})
    '1234'
    """
    if type(obj) is LazyObject:
        return text_of(obj.metadata.resource_version)
    return text_of(member_of(member_of(obj, "metadata"), "resourceVersion"))


def api_version_of(obj: object) -> str:
    """Give ``apiVersion`` of *obj*, or ``""``: typed list items often lack it. O(1).

    >>> api_version_of({"apiVersion": "apps/v1"})
    'apps/v1'
    """
    return text_of(member_of(obj, "apiVersion"))


def kind_of(obj: object) -> str:
    """Give ``kind`` of *obj*, or ``""``: typed list items often lack it. O(1).

    >>> kind_of({"kind": "Pod"})
    'Pod'
    """
    return text_of(member_of(obj, "kind"))


def text_of(value: object) -> str:
    """Give the text of a scalar as field selectors compare it; never raises.

    Text is itself, None is ``""``, booleans are ``true`` and ``false``, numbers are as in
    JSON, datetimes RFC 3339 in UTC (a naive one is taken as UTC), an enum is its value.
    Maps, lists and other objects are no scalars: ``""``, as if absent.

    >>> text_of("web"), text_of(True), text_of(8080), text_of(None), text_of(["web"])
    ('web', 'true', '8080', '', '')
    >>> text_of(datetime(2026, 1, 13, 18, 38, 4, tzinfo=UTC))
    '2026-01-13T18:38:04Z'
    """
    if type(value) is str:
        return value
    text = ""
    match value:
        case Enum():
            text = text_of(value.value)
        case str():
            text = str.__str__(value)
        case bool():
            text = "true" if value else "false"
        case int():
            text = _decimal(value)
        case float() if isfinite(value):
            text = float.__repr__(value)
        case datetime():
            text = _rfc3339(value)
        case date():
            text = value.isoformat()
    return text


def label_text(value: object) -> str | None:
    """Give the text of a label's value: ``""`` for null, None for what is no label.

    Such values occur in real files; a number or a boolean there is not indexed and not
    matched. A subclass of ``str`` becomes plain.

    >>> label_text("web"), label_text(None), label_text(8080)
    ('web', '', None)
    """
    if type(value) is str:
        return value
    if value is None:
        return ""
    return str.__str__(value) if isinstance(value, str) else None


def _unusual_key_of(obj: object) -> ObjectKey:
    """Give the key of what is not a well-formed dict, or say what is wrong with it."""
    if obj is None:
        reason = "None is no Kubernetes object, and has no key"
        raise InvalidObjectError(reason)
    metadata = obj.metadata if type(obj) is LazyObject else member_of(obj, "metadata")
    name = member_of(metadata, "name")
    namespace = member_of(metadata, "namespace")
    if isinstance(name, str) and name and (namespace is None or isinstance(namespace, str)):
        return ObjectKey("" if namespace is None else str.__str__(namespace), str.__str__(name))
    raise InvalidObjectError(_why_no_key(obj, metadata, name, namespace))


def _why_no_key(obj: object, metadata: object, name: object, namespace: object) -> str:
    kind = kind_of(obj)
    what = f"an object of type {type(obj).__name__}" + (f" and kind {kind}" if kind else "")
    whole = type(obj) is not LazyObject or not obj.partial
    if kind.endswith("List") and whole and isinstance(member_of(obj, "items"), (list, tuple)):
        return f"{what} is a list and has no key; hand over its items"
    if metadata is None:
        return f"{what} has no metadata, and so no key"
    if name is None or name == "":
        made_later = "; the server makes it from generateName" if member_of(metadata, "generateName") else ""
        return f"{what} has no metadata.name, and so no key{made_later}"
    member, value = ("name", name) if not isinstance(name, str) else ("namespace", namespace)
    return f"{what} has no key: its metadata.{member} is of type {type(value).__name__}, not text"


def _decimal(number: int) -> str:
    try:
        return int.__repr__(number)
    except ValueError:  # longer than sys.set_int_max_str_digits admits; no field holds that
        return ""


def _rfc3339(moment: datetime) -> str:
    try:
        in_utc = moment if moment.tzinfo is None else moment.astimezone(UTC)
    except (OverflowError, ValueError):  # at the ends of the calendar: out of range once in UTC
        return ""
    return in_utc.replace(tzinfo=None).isoformat() + "Z"
