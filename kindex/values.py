"""Index values: what may be one, and the dict key under which each is filed.

Python merges ``1``, ``True`` and ``1.0`` as dict keys; an index must not. An exact ``str`` is its own key, and so is
a tuple of exact ``str``; everything else is keyed by type and value, also inside tuples. A key that is a tuple with
anything but text in it is therefore always an encoding, and ``decoded`` can tell.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from enum import Enum
from typing import Any, TypeAlias, Union

from kindex.objects import text_of

IndexValue: TypeAlias = Union[str, int, bool, "tuple[IndexValue, ...]"]
"""What an index function may give: text, whole numbers, booleans, and tuples of them."""

ValueKey: TypeAlias = str | tuple[Any, ...]  # Any: keys nest as deep as the values do
"""The dict key of one index value."""


class Several(tuple[ValueKey, ...]):
    """The keys of an object that is filed under more than one value, each once.

    Not equal to a plain tuple, which is the key of one value that is a tuple.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return type(other) is Several and tuple.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__


SKIPPED = Several()
"""The filing of an object whose index function failed under ``on_error="skip"``: no values, but known as such."""

_ONLY_TEXT = {str}

Filing: TypeAlias = ValueKey | Several | None
"""Where one object is filed in one index: under no value, under one, or under several."""


def encoded(value: object) -> ValueKey:
    """Give the dict key of *value*.

    Enums and subclasses of the builtins become their plain value, dates their RFC 3339 text.

    Raises:
        TypeError: *value* cannot be an index value; the message says what it is.

    >>> encoded("web"), encoded(1), encoded(True), encoded(("a", 1))
    ('web', ('int', 1), ('bool', True), ('tuple', ('a', ('int', 1))))
    """
    if type(value) is str:
        return value
    if type(value) is tuple:
        if set(map(type, value)) == _ONLY_TEXT:
            return value
        parts = tuple(map(encoded, value))
        return parts if all(type(part) is str for part in parts) else ("tuple", parts)
    if isinstance(value, Enum):
        return encoded(value.value)
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return ("int", int(value))
    if isinstance(value, (datetime, date)):
        return text_of(value)
    if isinstance(value, tuple):
        return encoded(tuple(value))
    raise TypeError(f"{_described(value)} cannot be an index value; use str, int, bool or a tuple of them")


def decoded(key: ValueKey) -> IndexValue:
    """Give the index value that *key* stands for.

    >>> [decoded(encoded(value)) for value in ("web", 1, True, ("a", (1, "b")))]
    ['web', 1, True, ('a', (1, 'b'))]
    """
    if isinstance(key, str):
        return key
    if all(type(part) is str for part in key):
        return key
    kind, held = key
    if kind == "tuple":
        return tuple(map(decoded, held))
    value: IndexValue = held
    return value


def ordering(key: ValueKey) -> tuple[Any, ...]:  # Any: a sort key, as deep as the value
    """Give a sort key that orders any index values: bool < int < str < tuple.

    >>> sorted(map(encoded, ["b", 2, ("a",), True, "a"]), key=ordering)
    [('bool', True), ('int', 2), 'a', 'b', ('a',)]
    """
    if isinstance(key, str):
        return (2, key)
    if all(type(part) is str for part in key):
        return (3, tuple(map(ordering, key)))
    kind, held = key
    if kind == "tuple":
        return (3, tuple(map(ordering, held)))
    return (0, held) if kind == "bool" else (1, held)


def filing_of(result: object) -> Filing:
    """Read what an index function gave: None is no value, a bare value is one, any other iterable gives its values.

    Iterates once, so generators are fine; a value given twice counts once.

    Raises:
        TypeError: one of the values cannot be an index value.

    >>> filing_of("web"), filing_of(None), filing_of([]), filing_of(["a", "a"]), filing_of(x for x in "ab")
    ('web', None, None, 'a', ('a', 'b'))
    """
    if type(result) is str:
        return result
    if result is None:
        return None
    if type(result) is not list and type(result) is not tuple:  # as nearly always; to ask what else it is takes longer
        if isinstance(result, (str, int, Enum, date)):
            return encoded(result)
        if isinstance(result, (Mapping, bytes, bytearray)) or not isinstance(result, Iterable):
            raise TypeError(f"an index function gives values, not {_described(result)}")
    keys = tuple(dict.fromkeys(map(encoded, result)))
    if not keys:
        return None
    return keys[0] if len(keys) == 1 else Several(keys)


def keys_in(filing: Filing) -> tuple[ValueKey, ...]:
    """Give the keys that *filing* holds: none, one or many."""
    if filing is None:
        return ()
    return filing if type(filing) is Several else (filing,)


def _described(value: object) -> str:
    shown = repr(value)
    return f"{type(value).__name__} {shown if len(shown) <= 60 else shown[:57] + '...'}"
