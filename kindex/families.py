"""FamilyIndex: the indexes of every key of a map of labels."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, TypeAlias, cast

from kindex.column_index import ColumnIndex, filed
from kindex.map_index import MapIndex

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pyroaring import BitMap


class FamilyIndex:
    """The indexes of every key of a map of labels, opened and dropped as keys come and go.

    Invariants: ``members`` holds a column or a map for each key that some object has, and no other; ``counts[s]`` is
    the number of members that have slot s.
    """

    __slots__ = ("counts", "members")

    def __init__(self) -> None:
        self.members: dict[str, MapIndex | ColumnIndex] = {}
        self.counts = array("H")

    @classmethod
    def build(cls, filings: Sequence[Mapping[str, str]], slots: Sequence[int]) -> FamilyIndex:
        """Index the labels ``filings[i]`` for each of *slots*; O(slots x keys)."""
        index = cls()
        index.counts = array("H", map(len, filings))
        for key in dict.fromkeys(key for labels in filings for key in labels):
            index.members[key] = ColumnIndex.build([labels.get(key) for labels in filings], slots)
        return index

    def __len__(self) -> int:
        """Count the distinct pairs of key and value."""
        return sum(map(len, self.members.values()))

    def filing(self, slot: int) -> dict[str, str]:
        """Give the labels under which *slot* is filed. O(keys)."""
        if not self.counts[slot]:
            return {}
        filed = ((key, member.filing(slot)) for key, member in self.members.items())
        return {key: cast("str", value) for key, value in filed if value is not None}

    def reader(self) -> Callable[[int], dict[str, str]]:
        """Give ``filing`` as it is now, to be used without the lock. O(slots x keys), in C."""
        readers = [(key, member.reader()) for key, member in self.members.items()]

        def labels_of(slot: int) -> dict[str, str]:
            filed = ((key, read(slot)) for key, read in readers)
            return {key: cast("str", value) for key, value in filed if value is not None}

        return labels_of

    def holds(self, slot: int, labels: Mapping[str, str]) -> bool:
        """Tell whether *slot* is filed under just these labels. O(labels)."""
        members = self.members
        return self.counts[slot] == len(labels) and all(
            key in members and members[key].filing(slot) == value for key, value in labels.items()
        )

    def with_member(self, key: str, member: MapIndex | ColumnIndex | None) -> FamilyIndex:
        """Give the same family with *member* in place of what it has under *key*; None takes that away. O(slots)."""
        changed = FamilyIndex()
        changed.counts = self.counts[:]
        changed.members = {name: present for name, present in self.members.items() if name != key}
        for index, step in ((self.members.get(key), -1), (member, 1)):
            for slot in () if index is None else index.present:
                changed.counts[slot] += step
        if member is not None and member.present:
            changed.members[key] = member
        return changed

    def reserve(self, capacity: int) -> None:
        """Make room for slots below *capacity*."""
        missing = capacity - len(self.counts)
        if missing > 0:
            self.counts.frombytes(bytes(missing * self.counts.itemsize))
        for member in self.members.values():
            member.reserve(capacity)

    def file(self, slot: int, labels: Mapping[str, str]) -> None:
        """Move *slot* from where it is filed to *labels*. O(keys)."""
        for key, value in labels.items():
            member = self.members.get(key)
            if member is None:
                member = ColumnIndex()
                member.reserve(len(self.counts))
                self.members[key] = member
            self.members[key] = filed(member, slot, value)
        for key, member in tuple(self.members.items()):
            if key not in labels and slot in member.present:
                member.file(slot, None)
            if not member.present:
                self.members.pop(key, None)
        self.counts[slot] = len(labels)

    def _check(self, live: BitMap) -> None:
        """Assert the invariants; *live* are the slots that hold objects."""
        for member in self.members.values():
            assert member.present
            member._check(live)  # noqa: SLF001 - its own checker
        for slot, count in enumerate(self.counts):
            assert count == sum(slot in member.present for member in self.members.values())


Index: TypeAlias = MapIndex | ColumnIndex | FamilyIndex
"""What stands in one place of a schema; a SortedIndex is a MapIndex."""
