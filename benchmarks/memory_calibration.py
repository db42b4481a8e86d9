"""What bitmaps really take from the allocator, beside ``bitmap_bytes``: ``python -m benchmarks.memory_calibration``.

Makes many bitmaps of a kind, and divides the growth of glibc's mallinfo2 (``uordblks + hblkhd``: bytes in use, those of
mapped blocks too) by their number. Python's own object comes from Python's allocator, which mallinfo2 does not see, and
is taken off the formula here.
"""

from __future__ import annotations

import ctypes
import gc
import random
from typing import TYPE_CHECKING

from pyroaring import BitMap

from kindex.footprints import allocated, bitmap_bytes

if TYPE_CHECKING:
    from collections.abc import Callable

SLOTS = 150_000
SIZES = (2, 3, 5, 10, 30, 64, 150, 300, 1_000, 1_500, 5_000, 15_000, 75_000, 150_000)
FIELDS = ["arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"]
PYTHON_BYTES = allocated(BitMap.__basicsize__)


class MallInfo2(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_size_t) for name in FIELDS)


def in_use() -> int:
    """Give the bytes that malloc has handed out."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = MallInfo2
    info = mallinfo2()
    return int(info.uordblks + info.hblkhd)


def spread(size: int, seed: int) -> list[int]:
    """Draw slots at random."""
    return random.Random(seed).sample(range(SLOTS), size)  # noqa: S311 - a shape, not a secret


def built(size: int, seed: int) -> BitMap:
    """Build at once, as a first list does."""
    return BitMap(sorted(spread(size, seed)))


def grown(size: int, seed: int) -> BitMap:
    """Add slot by slot, as events do."""
    bitmap = BitMap()
    for slot in spread(size, seed):
        bitmap.add(slot)
    return bitmap


def neighbours(size: int, seed: int) -> BitMap:
    """Build from rows of ten, as the pods of workloads that go together are."""
    starts = random.Random(seed).sample(range(SLOTS // 10), max(1, size // 10))  # noqa: S311 - a shape, not a secret
    return BitMap(sorted(slot for start in starts for slot in range(10 * start, 10 * start + min(10, size))))


KINDS: dict[str, Callable[[int, int], BitMap]] = {"built": built, "grown": grown, "neighbours": neighbours}


def taken(make: Callable[[int, int], BitMap], size: int, count: int) -> tuple[float, float]:
    """Give the mean bytes of one bitmap: as malloc has it, and by the formula."""
    kept: list[BitMap | None] = [None] * count
    make(size, 0)
    gc.collect()
    before = in_use()
    for number in range(count):
        kept[number] = make(size, number)
    used = (in_use() - before) / count
    counted = sum(bitmap_bytes(each, grown=make is grown) for each in kept if each is not None) / count
    return used, counted - PYTHON_BYTES


def main() -> None:
    """Print both for each size and kind."""
    print(f"{'slots of 150,000':>16} {'kind':<10} {'malloc':>8} {'formula':>8} {'off':>7}")
    for size in SIZES:
        for name, make in KINDS.items():
            used, counted = taken(make, size, max(100, min(2_000, 300_000 // size)))
            print(f"{size:>16,} {name:<10} {used:>8,.0f} {counted:>8,.0f} {counted / used - 1:>+7.1%}")


if __name__ == "__main__":
    main()
