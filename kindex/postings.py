"""Postings: sets of slots, and their algebra.

Most postings of a real cluster hold one slot, and a bitmap of one takes 180 bytes. So a posting has two forms: the
bare slot number, or a ``BitMap`` of two slots and more. The empty posting is ``None`` and is never stored.

A stored bitmap is changed in place by its index; what the algebra returns may be such a bitmap itself. The caller
therefore uses it under the lock, and does not change it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyroaring import BitMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Posting: TypeAlias = int | BitMap
"""A set of slots that is not empty."""


def adding(posting: Posting | None, slot: int) -> Posting:
    """Give *posting* with *slot* in it; a bitmap is changed in place."""
    if posting is None:
        return slot
    if isinstance(posting, int):
        return posting if posting == slot else BitMap((posting, slot))
    posting.add(slot)
    return posting


def removing(posting: Posting | None, slot: int) -> Posting | None:
    """Give *posting* without *slot*, None when that was the last; a bitmap is changed in place."""
    if posting is None or isinstance(posting, int):
        return None if posting == slot else posting
    posting.discard(slot)
    return posting if len(posting) > 1 else normal(posting)


def normal(slots: BitMap) -> Posting | None:
    """Give the form that fits the number of *slots*."""
    size = len(slots)
    if size > 1:
        return slots
    return slots[0] if size else None


def from_slots(slots: Sequence[int]) -> Posting | None:
    """Make a posting of *slots*, which are ascending or not, each once."""
    if len(slots) > 1:
        return BitMap(slots)
    return slots[0] if slots else None


def size(posting: Posting | None) -> int:
    """Count the slots, in constant time."""
    if posting is None:
        return 0
    return 1 if isinstance(posting, int) else len(posting)


def slots_in(posting: Posting | None) -> Iterable[int]:
    """Iterate over the slots, ascending."""
    if posting is None:
        return ()
    return (posting,) if isinstance(posting, int) else posting


def both(left: Posting | None, right: Posting | None) -> Posting | None:
    """Intersect.

    >>> both(BitMap([1, 2, 3]), BitMap([2, 3, 4])), both(2, BitMap([2, 3])), both(1, 2)
    (BitMap([2, 3]), 2, None)
    """
    if left is None or right is None:
        return None
    if isinstance(left, int):
        return left if contains(right, left) else None
    if isinstance(right, int):
        return right if right in left else None
    return normal(left & right)


def either(postings: Iterable[Posting | None]) -> Posting | None:
    """Unite any number of postings; linear in their containers, without intermediate unions.

    >>> either([1, None, BitMap([2, 3])]), either([5]), either([])
    (BitMap([1, 2, 3]), 5, None)
    """
    singles: list[int] = []
    bitmaps: list[BitMap] = []
    for posting in postings:
        if isinstance(posting, int):
            singles.append(posting)
        elif posting is not None:
            bitmaps.append(posting)
    if singles:
        if not bitmaps and len(singles) == 1:
            return singles[0]
        bitmaps.append(BitMap(singles))
    if not bitmaps:
        return None
    return normal(bitmaps[0] if len(bitmaps) == 1 else BitMap.union(*bitmaps))


def without(left: Posting | None, right: Posting | None) -> Posting | None:
    """Subtract *right* from *left*.

    >>> without(BitMap([1, 2, 3]), BitMap([2])), without(1, BitMap([1, 5])), without(1, 2)
    (BitMap([1, 3]), None, 1)
    """
    if left is None or right is None:
        return left
    if isinstance(left, int):
        return None if contains(right, left) else left
    return normal(left - (BitMap((right,)) if isinstance(right, int) else right))


def contains(posting: Posting | None, slot: int) -> bool:
    """Tell whether *slot* is in it."""
    if posting is None:
        return False
    return posting == slot if isinstance(posting, int) else slot in posting
