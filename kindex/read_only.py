"""Read-only JSON: what a LazyObject lends, so that an edit is an error instead of being lost.

The classes are a dict and a list, so whatever writes JSON or asks for a dict takes them. Copies (``copy``, ``dict()``,
``|``, ``copy.deepcopy``, pickles) are plain and can be edited.
"""

from __future__ import annotations

import copy
from collections.abc import ItemsView, Iterator, Mapping, ValuesView
from typing import Any, NoReturn, SupportsIndex, TypeAlias

from kindex.errors import ReadOnlyError

Json: TypeAlias = Any
"""JSON, whose shape only its user knows."""


def _refusing_edits(self: object, *_arguments: object, **_named: object) -> NoReturn:
    raise ReadOnlyError("a list" if isinstance(self, list) else "a map")


class ReadOnlyMap(dict[str, Json]):
    """A map of scalars, such as labels, that cannot be edited; it is read as fast as any dict.

    >>> labels = ReadOnlyMap(app="web")
    >>> labels["app"], labels == {"app": "web"}
    ('web', True)
    >>> labels["app"] = "db"
    Traceback (most recent call last):
    ...
    kindex.errors.ReadOnlyError: a map of a LazyObject is read-only; edit a copy: obj.to_dict() gives a fresh dict
    """

    __slots__ = ()

    __setitem__ = __delitem__ = __ior__ = _refusing_edits
    clear = pop = popitem = setdefault = update = _refusing_edits

    def __copy__(self) -> dict[str, Json]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, object]) -> dict[str, Json]:
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


class ReadOnlySection(ReadOnlyMap):
    """A part of an object's JSON that cannot be edited, at any depth.

    >>> spec = ReadOnlySection(containers=[{"name": "a"}])
    >>> spec["containers"][0]["name"]
    'a'
    >>> spec["containers"].append({"name": "b"})
    Traceback (most recent call last):
    ...
    kindex.errors.ReadOnlyError: a list of a LazyObject is read-only; edit a copy: obj.to_dict() gives a fresh dict
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Json:
        value = dict.__getitem__(self, key)
        return read_only(value) if type(value) in _CONTAINERS else value

    def get(self, key: str, default: Json = None) -> Json:
        """Give the member called *key*, or *default*."""
        return read_only(dict.get(self, key, default))

    def items(self) -> ItemsView[str, Json]:  # type: ignore[override]  # a view all the same, of read-only values
        """Give the members with their names."""
        return ItemsView(self)

    def values(self) -> ValuesView[Json]:  # type: ignore[override]  # as above
        """Give the members."""
        return ValuesView(self)


class ReadOnlyList(list[Json]):
    """A list in an object's JSON that cannot be edited, at any depth."""

    __slots__ = ()

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refusing_edits
    append = clear = extend = insert = pop = remove = reverse = sort = _refusing_edits

    def __getitem__(self, index: SupportsIndex | slice) -> Json:
        return read_only(list.__getitem__(self, index))

    def __iter__(self) -> Iterator[Json]:
        return map(read_only, list.__iter__(self))

    def __reversed__(self) -> Iterator[Json]:
        return map(read_only, list.__reversed__(self))

    def __copy__(self) -> list[Json]:
        return self.copy()

    def copy(self) -> list[Json]:
        """Give a plain list, whose items are still read-only."""
        return list(self)

    def __deepcopy__(self, memo: dict[int, object]) -> list[Json]:
        return copy.deepcopy(list(list.__iter__(self)), memo)

    def __reduce__(self) -> tuple[object, ...]:
        return list, (list(list.__iter__(self)),)


_CONTAINERS = frozenset({dict, list})


def read_only(value: Json) -> Json:
    """Give *value* so that it cannot be edited: maps and lists as copies of one level, scalars as they are.

    >>> read_only([1]), read_only("web")
    ([1], 'web')
    """
    if type(value) is dict:
        return ReadOnlySection(value)
    return ReadOnlyList(value) if type(value) is list else value


def text_map(value: object) -> Mapping[str, Json]:
    """Give *value* as a read-only map; what is no map is an empty one."""
    return ReadOnlyMap(value) if type(value) is dict and value else _NO_TEXTS


_NO_TEXTS = ReadOnlyMap()
