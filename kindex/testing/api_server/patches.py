"""The two patches that are standards: JSON Merge Patch (RFC 7386) and JSON Patch (RFC 6902).

What is patched is never edited: the result shares no mutable part with it, nor with the patch.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from kindex.errors import KindexError

Json: TypeAlias = Any  # Any: JSON of every shape

_INDEX: Final = re.compile(r"0|[1-9][0-9]*", re.ASCII)
_ESCAPE: Final = re.compile(r"~(.?)", re.DOTALL)


class PatchError(KindexError, ValueError):
    """A JSON patch that is malformed, or that does not fit what it should change."""

    def __init__(self, number: int, reason: str, *, malformed: bool = False) -> None:
        """Say what is wrong with operation *number*, from 0."""
        self.number = number
        self.reason = reason
        self.malformed = malformed
        super().__init__(f"JSON patch, operation {number}: {reason}")


class _PointerError(Exception):
    """There is nothing at the pointer, or it is no pointer; becomes a PatchError that knows the operation."""


def merge_patch(document: Json, patch: Json) -> Json:
    """Give *document* changed as *patch* says; null removes a member, a list replaces a list. O(both).

    >>> merge_patch({"a": 1, "b": {"c": 2, "d": 3}}, {"a": None, "b": {"c": 4}})
    {'b': {'c': 4, 'd': 3}}
    """
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    made = copy.deepcopy(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            made.pop(name, None)
        else:
            made[name] = merge_patch(made.get(name), value)
    return made


def json_patch(document: Json, operations: Json) -> Json:
    """Give *document* with *operations* applied in order, all or none. O(document and operations).

    Raises:
        PatchError: an operation is malformed, finds nothing where it should, or tests what is not so.

    >>> json_patch({"a": [1]}, [{"op": "test", "path": "/a/0", "value": 1}, {"op": "add", "path": "/a/-", "value": 2}])
    {'a': [1, 2]}
    """
    if not isinstance(operations, Sequence) or isinstance(operations, str):
        raise PatchError(0, "a patch is a list of operations", malformed=True)
    made = copy.deepcopy(document)
    for number, operation in enumerate(operations):
        _check(number, operation)
        try:
            made = _applied(made, operation)
        except _PointerError as cause:
            raise PatchError(number, str(cause)) from cause
    return made


def _check(number: int, operation: Json) -> None:
    if not isinstance(operation, dict):
        raise PatchError(number, "an operation is an object", malformed=True)
    kind = operation.get("op")
    if kind not in ("add", "remove", "replace", "move", "copy", "test"):
        raise PatchError(number, f"there is no operation {kind!r}", malformed=True)
    pointers = ("path", "from") if kind in ("move", "copy") else ("path",)
    for member in pointers:
        if not isinstance(operation.get(member), str):
            raise PatchError(number, f"{kind} needs {member!r}, as text", malformed=True)
    if kind in ("add", "replace", "test") and "value" not in operation:
        raise PatchError(number, f"{kind} needs a value", malformed=True)


def _applied(document: Json, operation: dict[str, Json]) -> Json:
    """Give the document after one operation; the document itself may be edited."""
    steps = _steps_of(operation["path"])
    match operation["op"]:
        case "add":
            return _with(document, steps, copy.deepcopy(operation["value"]))
        case "remove":
            return _without(document, steps)
        case "replace":
            _at(document, steps)
            return _with(_without(document, steps) if steps else None, steps, copy.deepcopy(operation["value"]))
        case "copy":
            return _with(document, steps, copy.deepcopy(_at(document, _steps_of(operation["from"]))))
        case "move":
            source = _steps_of(operation["from"])
            if steps[: len(source)] == source and len(steps) > len(source):
                raise _PointerError(f"{operation['from']} cannot be moved into itself")
            value = _at(document, source)
            return _with(_without(document, source) if source else None, steps, value)
        case _:
            if not _equal(_at(document, steps), operation["value"]):
                raise _PointerError(f"what stands at {operation['path']!r} is not what the test wants")
            return document


def _steps_of(pointer: str) -> list[str]:
    """Read a JSON pointer (RFC 6901)."""
    if not pointer:
        return []
    if not pointer.startswith("/"):
        raise _PointerError(f"the pointer {pointer!r} does not start with '/'")
    return [_ESCAPE.sub(lambda found: _unescaped(pointer, found[1]), step) for step in pointer[1:].split("/")]


def _unescaped(pointer: str, digit: str) -> str:
    if digit not in ("0", "1"):
        raise _PointerError(f"in the pointer {pointer!r} a '~' stands before '0' or '1' only")
    return "~" if digit == "0" else "/"


def _at(document: Json, steps: list[str]) -> Json:
    for step in steps:
        match document:
            case dict() if step in document:
                document = document[step]
            case list():
                document = document[_index(document, step, end=len(document) - 1)]
            case _:
                raise _PointerError(f"there is no {step!r}")
    return document


def _with(document: Json, steps: list[str], value: Json) -> Json:
    """Give *document* with *value* at *steps*: a member is set, an item of a list inserted."""
    if not steps:
        return value
    parent, last = _at(document, steps[:-1]), steps[-1]
    match parent:
        case dict():
            parent[last] = value
        case list():
            parent.insert(len(parent) if last == "-" else _index(parent, last, end=len(parent)), value)
        case _:
            raise _PointerError(f"there is nothing that could have {last!r}")
    return document


def _without(document: Json, steps: list[str]) -> Json:
    """Give *document* without what stands at *steps*; of the whole of it, null remains."""
    if not steps:
        return None
    _at(document, steps)
    parent, last = _at(document, steps[:-1]), steps[-1]
    del parent[last if isinstance(parent, dict) else int(last)]
    return document


def _index(items: list[Json], step: str, *, end: int) -> int:
    if not _INDEX.fullmatch(step):
        raise _PointerError(f"{step!r} is no index of a list")
    if int(step) > end:
        raise _PointerError(f"the list of {len(items)} has no place {step}")
    return int(step)


def _equal(one: Json, other: Json) -> bool:
    """Compare as JSON does: 1 equals 1.0, but true is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
        case list(), list():
            return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)
