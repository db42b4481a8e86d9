"""SortedIndex: a map whose values are kept in order too, for ranges and prefixes."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from sortedcontainers import SortedKeyList

from kindex.map_index import MapIndex
from kindex.values import ordering

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyroaring import BitMap

    from kindex.values import Filing, ValueKey


class SortedIndex(MapIndex):
    """A MapIndex that also keeps its values in order.

    Invariant: ``ordered`` holds the keys of ``forward``, in the order of ``values.ordering``.
    """

    __slots__ = ("_torn", "ordered")

    def __init__(self) -> None:
        super().__init__()
        self._torn = False  # whether an edit of ``ordered``, which is not idempotent, was cut short
        self.ordered: SortedKeyList[ValueKey, tuple[object, ...]] = SortedKeyList(key=ordering)

    @classmethod
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> SortedIndex:
        """Index ``filings[i]`` for each of *slots*; O(values log values)."""
        index = super().build(filings, slots)
        assert isinstance(index, cls)
        index.ordered.update(index.forward)
        return index

    def keys_between(self, low: ValueKey | None, high: ValueKey | None) -> Iterator[ValueKey]:
        """Iterate over the keys from *low* to *high*, both included; None is open. O(log values + keys)."""
        if self.ordered:
            kind = ordering(self.ordered[0])[0]
            if any(bound is not None and ordering(bound)[0] != kind for bound in (low, high)):
                return iter(())  # an end of another type: no value compares with it
        return self.ordered.irange(low, high)

    def keys_starting_with(self, prefix: str) -> Iterator[ValueKey]:
        """Iterate over the text keys that start with *prefix*. O(log values + keys)."""
        return takewhile(lambda key: type(key) is str and key.startswith(prefix), self.ordered.irange(prefix))

    def file(self, slot: int, filing: Filing) -> None:
        """Move *slot* from where it is filed to *filing*. O(values of both x log values)."""
        if self._torn:
            self.ordered = SortedKeyList(self.forward, key=ordering)
            self._torn = False
        super().file(slot, filing)

    def _opened(self, key: ValueKey) -> None:
        if key not in self.ordered:
            self._torn = True
            self.ordered.add(key)
            self._torn = False

    def _closed(self, key: ValueKey) -> None:
        self._torn = True
        self.ordered.discard(key)
        self._torn = False

    def _check(self, live: BitMap) -> None:
        super()._check(live)
        self.ordered._check()  # type: ignore[attr-defined]  # noqa: SLF001 - its own checker
        assert list(self.ordered) == sorted(self.forward, key=ordering)
