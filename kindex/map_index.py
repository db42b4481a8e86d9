"""MapIndex: where each slot is filed is kept as it is, 8 bytes a slot; an object may have several values.

Forward, every index maps an index value's key to its posting. Reverse, it remembers where each slot was filed, so that
removal never asks an object again: a reader who edits a stored object cannot corrupt an index.

``file`` says what shall be: doing it again after an interruption (KeyboardInterrupt, MemoryError) completes it. Hence
its order, in every layout: the new posting first, the old one next, the reverse side last.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, cast

from pyroaring import BitMap

from kindex.grouping import grouped, listed, posting_of
from kindex.postings import Posting, adding, removing, slots_in
from kindex.values import SKIPPED, Several, keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kindex.answers import Answers
    from kindex.values import Filing, ValueKey

_SPARSE = 4
"""A table is rebuilt when it has room for more than this many times what it holds."""

_SMALL = 64
"""Tables of up to this many values are never rebuilt."""


class MapIndex:
    """An index that keeps each slot's filing as it is.

    Invariants: slot s is in the posting of k exactly when k is among the keys of ``filed[s]``; ``present`` holds
    the slots with a filing; no posting is empty.

    Attributes:
        moves: how often an object moved from one value to another.
        bitmap_bound: at most so many bytes are in bitmaps; None is not known. Kept for budgets.
        answers: who is to be told of postings that change; None until one of them was a large answer.
    """

    __slots__ = ("_peak", "answers", "bitmap_bound", "filed", "forward", "moves", "present")

    def __init__(self) -> None:
        self.answers: Answers | None = None
        self.moves = 0
        self.bitmap_bound: int | None = None
        self.forward: dict[ValueKey, Posting] = {}
        self.filed: list[Filing] = []
        self.present = BitMap()
        self._peak = _SMALL

    @classmethod
    def build(cls, filings: Sequence[Filing], slots: Sequence[int]) -> MapIndex:
        """Index ``filings[i]`` for each of *slots*, which are 0, 1, 2 ...; O(values)."""
        index = cls()
        groups = grouped(filings, slots)
        absent = [slot for none in (None, SKIPPED) for slot in listed(groups.pop(none, []))]
        index.present = BitMap(range(len(slots))) - BitMap(absent)
        several = [filing for filing in groups if type(filing) is Several]
        if several:
            spread: defaultdict[ValueKey, list[int]] = defaultdict(list)
            for filing in several:
                group = listed(groups.pop(filing))
                for key in filing:
                    spread[key] += group
            for key, group in spread.items():
                groups[key] = listed(groups.get(key, [])) + group
        index.forward = {cast("ValueKey", key): posting_of(group) for key, group in groups.items()}
        own: dict[Filing, Filing] = {key: key for key in index.forward}
        # Of those that have the same several values, all share one tuple of them.
        own |= {filing: Several(cast("ValueKey", own[key]) for key in filing) for filing in several}
        own |= {None: None, SKIPPED: SKIPPED}
        index.filed = list(map(own.__getitem__, filings)).copy()  # which has no room to spare
        index._peak = max(_SMALL, len(index.forward))
        return index

    def __len__(self) -> int:
        """Count the distinct values."""
        return len(self.forward)

    def keys(self) -> Iterable[ValueKey]:
        """Iterate over the keys of all values, in no order."""
        return self.forward

    def posting(self, key: ValueKey) -> Posting | None:
        """Give the slots filed under *key*."""
        return self.forward.get(key)

    def sizes(self) -> list[tuple[ValueKey, int]]:
        """Give the keys of all values, with the sizes of their postings. O(values)."""
        postings = self.forward.values()
        sizes = [1 if type(posting) is int else len(cast("BitMap", posting)) for posting in postings]
        return list(zip(self.forward, sizes, strict=True))

    def filing(self, slot: int) -> Filing:
        """Tell where *slot* is filed."""
        return self.filed[slot]

    def filings(self, slots: Iterable[int]) -> list[Filing]:
        """Tell where each of *slots* is filed. In C."""
        return list(map(self.filed.__getitem__, slots))

    def holds(self, slot: int, filing: Filing) -> bool:
        """Tell whether *slot* is filed just so; values have no order."""
        filed = self.filed[slot]
        if filed == filing:
            return True
        return type(filed) is Several and type(filing) is Several and frozenset(filed) == frozenset(filing)

    def reader(self) -> Callable[[int], Filing]:
        """Give ``filing`` as it is now, to be used without the lock. A copy of the reverse side: O(slots), in C."""
        return self.filed.copy().__getitem__

    def reserve(self, capacity: int) -> None:
        """Make room for slots below *capacity*."""
        missing = capacity - len(self.filed)
        if missing > 0:
            self.filed.extend([None] * missing)

    def file(self, slot: int, filing: Filing) -> None:
        """Move *slot* from where it is filed to *filing*. O(values of both)."""
        filing = self._own(filing)
        old, new = keys_in(self.filed[slot]), keys_in(filing)
        forward, answers = self.forward, self.answers
        if new and old and new != old:
            self.moves += 1
        closed = False
        for key in new:
            posting = forward.get(key)
            forward[key] = adding(posting, slot)
            if answers is not None:
                answers.forget(posting)
            self._opened(key)
        for key in old:
            if key in new:
                continue
            posting = forward.get(key)
            remaining = removing(posting, slot)
            if answers is not None:
                answers.forget(posting)
            if remaining is None:
                # Dropped when empty: an index over short-lived values (pod IPs) would grow for ever.
                self._closed(key)
                forward.pop(key, None)
                closed = True
            else:
                forward[key] = remaining
        if new:
            self.present.add(slot)
        self.filed[slot] = filing
        if not new:
            self.present.discard(slot)  # last, as in a column
        if closed:
            self._shrink()
        elif len(forward) > self._peak:
            self._peak = len(forward)

    def _own(self, filing: Filing) -> Filing:
        """Give *filing* made of the keys that are filed already.

        Index functions make most values anew for each object; kept as they come, these would take 64 bytes a slot.
        """
        if type(filing) is Several:
            if not filing:
                return filing
            present = self._filed_under(filing[0])
            return present if present == filing else Several(map(self._own_key, filing))
        return None if filing is None else self._own_key(filing)

    def _own_key(self, key: ValueKey) -> ValueKey:
        filed = self._filed_under(key)
        if type(filed) is Several:
            return next((known for known in filed if known == key), key)
        return key if filed is None or filed != key else filed

    def _filed_under(self, key: ValueKey) -> Filing:
        """Tell where one of those that are filed under *key* is filed."""
        posting = self.forward.get(key)
        if posting is None:
            return None
        return self.filed[posting if isinstance(posting, int) else posting.min()]

    def _shrink(self) -> None:
        """Give memory back when most values have gone: a dict does not shrink by itself."""
        if self._peak > _SMALL and len(self.forward) * _SPARSE < self._peak:
            self.forward = dict(self.forward)
            self._peak = max(_SMALL, len(self.forward))

    def _opened(self, key: ValueKey) -> None:
        """Note that *key* has a posting now, perhaps its first."""

    def _closed(self, key: ValueKey) -> None:
        """Note that *key* is about to lose its posting."""

    def _check(self, live: BitMap) -> None:
        """Assert the invariants; *live* are the slots that hold objects."""
        expected: defaultdict[ValueKey, list[int]] = defaultdict(list)
        for slot, filing in enumerate(self.filed):
            for key in keys_in(filing):
                expected[key].append(slot)
        assert {key: list(slots_in(posting)) for key, posting in self.forward.items()} == expected
        assert all(isinstance(posting, int) or len(posting) > 1 for posting in self.forward.values())
        assert self.present == BitMap(slot for slot, filing in enumerate(self.filed) if keys_in(filing))
        assert self.present <= live


class NoIndex(MapIndex):
    """What stands in the place of an index that broke its budget: it holds nothing, whatever is filed."""

    __slots__ = ()

    def filing(self, slot: int) -> Filing:  # noqa: ARG002 - an index
        """Say that nothing is filed."""
        return None

    def filings(self, slots: Iterable[int]) -> list[Filing]:
        """Say that nothing is filed."""
        return [None for _ in slots]

    def holds(self, slot: int, filing: Filing) -> bool:  # noqa: ARG002 - an index
        """Say that nothing is filed."""
        return filing is None

    def reader(self) -> Callable[[int], Filing]:
        """Give ``filing``."""
        return self.filing

    def reserve(self, capacity: int) -> None:
        """Make no room."""

    def file(self, slot: int, filing: Filing) -> None:
        """File nothing."""


NO_INDEX = NoIndex()
