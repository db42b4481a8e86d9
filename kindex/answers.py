"""Answers: how large answers that are asked again are copied out.

To copy the objects of a posting, its slots are made numbers one by one, which takes most of the time. An ``itemgetter``
of these numbers does it in one C call, so it is kept for a posting that is asked for twice, until the posting changes.
Objects are not kept: one that is replaced in its slot is given in the next answer, and nothing holds the old one.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from pyroaring import BitMap

REMEMBERED: Final = 8 << 20
"""So many bytes a store's answers may take, where nothing else is said."""

LARGE: Final = 64
"""From so many slots on; below, looking it up takes as long as it spares."""

_OF_ONE: Final = 320
"""Bytes of an answer beside its slots: the getter, its tuple, its place here."""

_OF_A_SLOT: Final = 40
"""Bytes: a number and a reference to it."""

_MOST_ASKED: Final = 4_096

_Getter: TypeAlias = "itemgetter[Any]"


class Answers:
    """The answers that a store remembers, in at most so many bytes; the oldest goes first.

    All of it is guarded by the lock of the store. An index whose posting is here tells of each change of it.

    Invariants: a posting in ``_kept`` has just the slots of its getter; ``_bytes`` is no less than what these take.
    """

    __slots__ = ("_asked", "_bytes", "_kept", "max_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        # By identity: a bitmap has no hash. It is kept here too, so that no other gets its number.
        self._asked: dict[int, BitMap] = {}
        self._kept: dict[int, tuple[BitMap, _Getter, int]] = {}
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """What is remembered takes so many bytes. O(answers)."""
        return sum(size for _, _, size in self._kept.values())

    def getter(self, posting: BitMap) -> _Getter | None:
        """Give what copies from a list the items at the slots of *posting*; None for one that is asked for first.

        *posting* is stored in an index, which from now on tells of its changes.
        """
        number = id(posting)
        kept = self._kept.get(number)
        if kept is not None:
            return kept[1]
        if number in self._asked:
            return self._made(posting)
        if len(self._asked) >= _MOST_ASKED:
            self._asked.clear()
        self._asked[number] = posting
        return None

    def forget(self, posting: object) -> None:
        """Take *posting* out: it is another set by now. The index calls it after the change."""
        number = id(posting)
        self._asked.pop(number, None)
        if number in self._kept:
            self._drop(number)

    def clear(self) -> None:
        """Forget all."""
        self._asked.clear()
        self._kept.clear()
        self._bytes = 0

    def _made(self, posting: BitMap) -> _Getter | None:
        size = _OF_ONE + _OF_A_SLOT * len(posting)
        if size > self.max_bytes:
            return None
        if self._bytes + size > self.max_bytes:
            self._bytes = self.size_bytes  # an interruption may have left it too large
        while self._bytes + size > self.max_bytes:
            self._drop(next(iter(self._kept)))
        getter = itemgetter(*posting)
        self._bytes += size
        self._kept[id(posting)] = posting, getter, size
        self._asked.pop(id(posting), None)
        return getter

    def _drop(self, number: int) -> None:
        kept = self._kept.pop(number, None)
        if kept is not None:  # a signal handler may read, and drop it, at any time
            self._bytes -= kept[2]

    def _check(self) -> None:
        """Assert the invariants."""
        assert self.size_bytes <= self._bytes <= self.max_bytes
        for number, (posting, getter, _) in self._kept.items():
            assert number == id(posting)
            assert getter.__reduce__()[1] == tuple(posting)  # of a class and its arguments
        assert all(number == id(posting) for number, posting in self._asked.items())
