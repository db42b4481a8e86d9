"""PortIndexer: by port numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kindex.errors import IndexerError
from kindex.indexers.derived import DerivedIndexer

if TYPE_CHECKING:
    from kindex.values import ValueKey


class PortIndexer(DerivedIndexer[int]):
    """What the indexes by port have in common: values are numbers, also where JSON has ``"443"``."""

    def _key(self, value: object) -> ValueKey:
        port = _number(value)
        if port is None:
            raise IndexerError(f"indexer {self.name!r} is asked for a port number, not {value!r}")
        return super()._key(port)


def ports(_namespace: str, *found: tuple[object, ...]) -> list[int]:
    """Give all port numbers at some paths; what is no number is none.

    >>> ports("prod", (443, "8080", True, "https"))
    [443, 8080]
    """
    return [port for values in found for value in values if (port := _number(value)) is not None]


def _number(value: object) -> int | None:
    if isinstance(value, str) and len(value) <= len("65535") and value.isascii() and value.isdecimal():
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else None
