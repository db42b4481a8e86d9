"""The order that ``--sort-by`` asks for: kubectl's way of comparing, over one JSONPath."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from kindex.objects import key_of
from kindex.paths import JsonPath

if TYPE_CHECKING:
    from collections.abc import Iterable

RawObject: TypeAlias = dict[str, Any]  # Any: JSON

_POSITION: Final = re.compile(r"\[(\d+)\]")
_DIGITS: Final = re.compile(r"(\d+)")
_QUANTITY: Final = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?|[+-]?\.[0-9]+)([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
_FACTORS: Final = {
    "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18,
    "Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50, "Ei": 2.0**60,
}  # fmt: skip


@attrs.frozen
class SortPath:
    """A path to sort by: ``{.metadata.name}``, ``.metadata.name`` or ``metadata.name``; ``[0]`` picks from a list.

    >>> SortPath.parse("{.status.containerStatuses[0].restartCount}").value_of(
    ...     {"status": {"containerStatuses": [{"restartCount": 5}]}}
    ... )
    5
    """

    text: str
    _parts: tuple[JsonPath | int, ...]

    @classmethod
    def parse(cls, text: str) -> SortPath:
        """Read a path.

        Raises:
            PathSyntaxError: it cannot be read.
        """
        bare = bare_path(text)
        parts: list[JsonPath | int] = []
        for number, piece in enumerate(_POSITION.split(bare)):
            if number % 2:
                parts.append(int(piece))
            elif piece or not number:
                parts.append(JsonPath.parse(piece.removeprefix(".") if number else piece))
        return cls(bare, tuple(parts))

    def value_of(self, obj: object) -> object:
        """Give the value there, or None; the first of several."""
        for part in self._parts:
            if isinstance(part, JsonPath):
                obj = part.first(obj)
            else:
                obj = obj[part] if isinstance(obj, list) and part < len(obj) else None
        return obj

    def sorted(self, objects: Iterable[RawObject]) -> list[RawObject]:
        """Give *objects* in the order of their values, and of their keys where those are equal.

        What has no value comes first, then booleans, numbers, and text, as kubectl has it: quantities by what they
        amount to, other text with the numbers in it as numbers.

        >>> names = [{"metadata": {"name": name}} for name in ("web-10", "web-9", "api")]
        >>> [obj["metadata"]["name"] for obj in SortPath.parse("metadata.name").sorted(names)]
        ['api', 'web-9', 'web-10']
        """
        return sorted(objects, key=lambda obj: (_rank(self.value_of(obj)), key_of(obj)))


def bare_path(text: str) -> str:
    """Take kubectl's braces and leading dot from a path.

    >>> bare_path("{.metadata.name}"), bare_path(".spec.nodeName"), bare_path("spec.nodeName")
    ('metadata.name', 'spec.nodeName', 'spec.nodeName')
    """
    if text.startswith("{") and text.endswith("}"):
        text = text[1:-1]
    return text.removeprefix("$").removeprefix(".")


def _rank(value: object) -> tuple[int, Any]:  # Any: comparable within one first number
    match value:
        case bool():
            return 1, value
        case int() | float():
            return 2, value
        case str() if found := _QUANTITY.fullmatch(value):
            number, suffix = found.groups(default="")
            exact = float(number + suffix) if suffix[:1] in ("e", "E") and suffix[1:] not in ("", "i") else None
            return 2, exact if exact is not None else float(number) * _FACTORS.get(suffix, 1.0)
        case str():
            # Odd pieces are digits: positions of one kind meet, so text is never compared with a number.
            pieces = _DIGITS.split(value)
            return 3, [int(piece) if number % 2 else piece for number, piece in enumerate(pieces)]
        case _:
            return 0, 0
