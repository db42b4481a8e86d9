"""Shard selectors: the part of a resource that one of several clients takes, by a hash of uid or namespace.

Kubernetes has them since 1.36, as an alpha feature; a server without it ignores the parameter.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import attrs

from kindex.testing.api_server.statuses import ApiError

if TYPE_CHECKING:
    from kindex.testing.api_server.states import ObjectState

_RANGE: Final = re.compile(
    r"shardRange\(\s*object\.metadata\.(uid|namespace)\s*,\s*'0x([0-9a-fA-F]{1,17})'\s*,\s*'0x([0-9a-fA-F]{1,17})'\s*\)"
)
_HASHES: Final = 2**64


def fnv1a_64(text: str) -> int:
    """Give the 64-bit FNV-1a hash of *text* in UTF-8.

    >>> hex(fnv1a_64("")), hex(fnv1a_64("a"))
    ('0xcbf29ce484222325', '0xaf63dc4c8601ec8c')
    """
    made = 0xCBF29CE484222325
    for byte in text.encode():
        made = (made ^ byte) * 0x100000001B3 % _HASHES
    return made


@attrs.frozen
class ShardSelector:
    """Some ranges of hashes; an object is selected when one of them holds its own.

    Attributes:
        text: as the client wrote it; lists say it again.
        ranges: field, first hash, and the one behind the last.

    >>> half = ShardSelector.parse("shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')")
    >>> half.ranges
    (('uid', 0, 9223372036854775808),)
    """

    text: str
    ranges: tuple[tuple[str, int, int], ...]

    @classmethod
    def parse(cls, text: str) -> ShardSelector:
        """Read ranges that are joined by ``||``.

        Raises:
            ApiError: it is no shard selector (400).
        """
        ranges = []
        for part in text.split("||"):
            found = _RANGE.fullmatch(part.strip())
            start, end = (int(found[2], 16), int(found[3], 16)) if found is not None else (0, 0)
            if found is None or not start < end <= _HASHES:
                raise ApiError(400, f"shardSelector: {part.strip()!r} is no range of hashes")
            ranges.append((found[1], start, end))
        return cls(text, tuple(ranges))

    def matches(self, state: ObjectState) -> bool:
        """Tell whether the object is in one of the ranges."""
        texts = {"uid": state.uid, "namespace": state.key.namespace}
        return any(start <= fnv1a_64(texts[field]) < end for field, start, end in self.ranges)
