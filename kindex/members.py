"""Reading one member of any client's object, by its JSON name.

An object may be a plain dict, an official model (plain class or pydantic), a kopf
``Body``, a kr8s or dynamic-client object, a lightkube struct, a dataclass, an attrs
class, or any class with attributes. No client is imported: a type is known by its shape,
once. Names are JSON names everywhere (``nodeName``, also where the attribute is called
``node_name``). A null member equals a missing one.

Reading calls nothing but what the object's own type offers for reading; what that raises
comes through.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping
from datetime import date, time, timedelta
from enum import Enum
from functools import lru_cache
from types import MappingProxyType, NoneType
from typing import Any, TypeAlias

import msgspec

EMPTY_MAP: Mapping[str, object] = MappingProxyType({})

# Any: a reader is only ever called with objects of the type it was chosen for.
_Reader: TypeAlias = Callable[[Any, str], object]

# Scalars and sequences have attributes too (``int.real``), but no members.
_SCALARS = (NoneType, str, bytes, bytearray, int, float, complex, date, time, timedelta, Enum, type)
_WITHOUT_MEMBERS = (*_SCALARS, tuple, list, set, frozenset)


def member_of(obj: object, name: str) -> object:
    """Give the member of *obj* that JSON calls *name*, or None.

    None for a missing member, for a method, and for every member of a scalar or a list.
    O(1): how a type is read is found out once.

    >>> member_of({"nodeName": "n1"}, "nodeName")
    'n1'
    >>> from types import SimpleNamespace
    >>> member_of(SimpleNamespace(node_name="n1"), "nodeName")
    'n1'
    """
    if type(obj) is dict:
        return obj.get(name)
    return _reader_of(type(obj))(obj, name)


def map_of(value: object) -> Mapping[str, object]:
    """Give *value* as a map: itself if it is one, a dynamic-client field as its dict, else an empty map.

    >>> dict(map_of(None)), map_of({"app": "web"})
    ({}, {'app': 'web'})
    """
    if isinstance(value, Mapping):
        return value
    if _reader_of(type(value)) is _item_of:
        return _dict_of_items(value)
    return EMPTY_MAP


def _find_reader(cls: type) -> _Reader:
    """Find out how members of *cls* are read: what declares its JSON names comes before what merely has attributes."""
    if issubclass(cls, Mapping):
        return _entry_of
    if issubclass(cls, _WITHOUT_MEMBERS):
        return _nothing_of
    attributes = _attributes_by_json_name(cls)
    if attributes is not None:
        return _declared_reader(attributes)
    if hasattr(cls, "to_dict") and hasattr(cls, "__getitem__"):
        return _item_of
    if isinstance(inspect.getattr_static(cls, "raw", None), property):
        return _raw_entry_of
    return _attribute_of


# Bounded, so that types made at run time (kr8s and lightkube make some) can go again.
_reader_of: Callable[[type], _Reader] = lru_cache(maxsize=512)(_find_reader)


def _attributes_by_json_name(cls: type) -> dict[str, str] | None:
    """Give the attribute behind each JSON name, where *cls* declares its fields; else None."""
    # pydantic first: client 37 keeps an attribute_map too, but its "from" is wrong there (_from is var_from).
    fields = getattr(cls, "model_fields", None)
    if isinstance(fields, dict):
        return {_pydantic_name(field) or attribute: attribute for attribute, field in fields.items()}
    if issubclass(cls, msgspec.Struct):
        return dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))
    declared = getattr(cls, "attribute_map", None)  # official models up to 36, and kubernetes_asyncio's
    if isinstance(declared, dict):
        return {json_name: attribute for attribute, json_name in declared.items()}
    if dataclasses.is_dataclass(cls):
        # The "json" entry is how older lightkube models escape keywords: from_, continue_.
        return {field.metadata.get("json", field.name): field.name for field in dataclasses.fields(cls)}
    attrs_fields = getattr(cls, "__attrs_attrs__", None)
    if isinstance(attrs_fields, tuple):
        return {field.metadata.get("json", field.name): field.name for field in attrs_fields}
    return None


def _pydantic_name(field: object) -> str | None:
    for alias in ("serialization_alias", "alias", "validation_alias"):
        name = getattr(field, alias, None)
        if isinstance(name, str):
            return name
    return None


def _declared_reader(attributes: dict[str, str]) -> _Reader:
    declared = frozenset(attributes.values())

    def read(obj: object, name: str) -> object:
        attribute = attributes.get(name)
        if attribute is None:
            attribute = _snake_case(name)
            if attribute not in declared:
                # What a pydantic model admits beyond its fields (extra="allow"), under its JSON name.
                extra = getattr(obj, "__pydantic_extra__", None)
                return extra.get(name) if isinstance(extra, dict) else None
        value = getattr(obj, attribute, None)
        return None if value is msgspec.UNSET else value

    return read


def _entry_of(obj: Mapping[str, object], name: str) -> object:
    return obj.get(name)


def _nothing_of(_obj: object, _name: str) -> object:
    return None


# Any: whatever type has __getitem__ and to_dict, as the dynamic client's two have.
def _item_of(obj: Any, name: str) -> object:  # noqa: ANN401
    try:
        return obj[name]
    except KeyError:
        return None


# Any: as above. Called on the type, since a label named to_dict would hide the method of the object.
def _dict_of_items(value: Any) -> Mapping[str, object]:  # noqa: ANN401
    as_dict = type(value).to_dict(value)
    return as_dict if isinstance(as_dict, Mapping) else EMPTY_MAP


# Any: whatever type has a property raw, as kr8s objects have.
def _raw_entry_of(obj: Any, name: str) -> object:  # noqa: ANN401
    raw = obj.raw
    return raw.get(name) if isinstance(raw, Mapping) else _attribute_of(obj, name)


def _attribute_of(obj: object, name: str) -> object:
    if name.startswith("__"):
        return None
    value = getattr(obj, name, None)
    if value is None:
        value = getattr(obj, _snake_case(name), None)
    # A method that happens to have the name of a member says nothing about the member.
    return None if callable(value) else value


@lru_cache(maxsize=1024)
def _snake_case(name: str) -> str:
    """Give the Python spelling: nodeName -> node_name, podIPs -> pod_ips."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})", "_", name).lower()
