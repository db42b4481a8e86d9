"""Footprints: what the structures of an index take in memory, measured on what is there and predicted from numbers.

"Bytes" are what the allocators set aside, not what was asked for. CPython's own allocator gives blocks of up to 512
bytes in steps of 16; all else, and all that pyroaring's C library holds, comes from malloc, which adds 8 bytes, gives
steps of 16, and never less than 32. ``sys.getsizeof`` knows the requests of Python's objects, headers of the collector
included, and how far their lists and dicts are over-allocated. Of a bitmap it knows a size that depends on pyroaring's
version, and not what was allocated; its containers are counted here, as ``get_statistics`` lists them.

How the formula for bitmaps was found: ``benchmarks/memory_calibration.py`` makes thousands of bitmaps of each kind,
divides the growth of mallinfo2 (bytes in use: ``uordblks + hblkhd``) by their number, and prints that beside
``bitmap_bytes``. Run it to repeat this, with another pyroaring or another C library. On glibc 2.36 and pyroaring 1.2
the two are within 10 % of each other for bitmaps that were built at once, and within 15 % for those that grew.
"""

from __future__ import annotations

import sys
from array import array
from math import ceil
from sys import getrefcount
from typing import TYPE_CHECKING

import msgspec
from pyroaring import BitMap

from kindex.lazy import LazyObject

if TYPE_CHECKING:
    from kindex.lazy import LazyObject
    from kindex.postings import Posting

_CONTAINER = 1 << 16
"""How many slots a container of a bitmap spans."""

_ARRAY_SLOTS = 4_096
"""With more slots than this, a container that is no list of runs is a bitset."""

_BITSET = 8_192 + 40
"""A bitset's words, which are aligned, as the allocator gives them."""

_WORD = 8

_PYTHON_BLOCKS = 512
"""Larger blocks come from malloc."""


def allocated(size: int) -> int:
    """Give the bytes that Python's allocator sets aside for a block of *size*.

    >>> allocated(0), allocated(28), allocated(512), allocated(513)
    (0, 32, 512, 528)
    """
    return (size + 15) // 16 * 16 if size <= _PYTHON_BLOCKS else malloced(size)


def malloced(size: int) -> int:
    """Give the bytes that malloc sets aside for a block of *size*.

    >>> malloced(0), malloced(2), malloced(24), malloced(25)
    (0, 32, 32, 48)
    """
    return max(32, (size + 8 + 15) // 16 * 16) if size else 0


_HEADS: dict[type, int] = {list: sys.getsizeof([]), dict: sys.getsizeof({}), array: sys.getsizeof(array("B"))}
"""The objects themselves, where what they hold is a block of its own."""

INT_BYTES = allocated(sys.getsizeof(_CONTAINER))
"""What an int of its own takes; those up to 256 are Python's, and take nothing."""

_CACHED_NAME = 32
"""Longer names of members msgspec makes anew for each object."""

_RAW_BYTES = allocated(msgspec.Raw.__basicsize__)
_BYTES_HEAD = sys.getsizeof(b"")

CACHED_INTS = 257
"""How many ints from 0 on are Python's."""

BITMAP_BYTES = allocated(BitMap.__basicsize__) + malloced(40)
"""An empty bitmap: Python's object, and the C library's."""

PAIR_BYTES = allocated(sys.getsizeof(("", "")))
"""A tuple of two, such as the key of a number."""


# Measured


def shallow_bytes(obj: object) -> int:
    """Measure one object of Python's, without what it refers to.

    A list, a dict and an array are two blocks: the object, and what it has room for.

    >>> shallow_bytes("15 letters long"), shallow_bytes(("a", "b")), shallow_bytes([])
    (64, 64, 64)
    """
    size = sys.getsizeof(obj)
    if isinstance(obj, tuple) and type(obj) is not tuple:
        size += _WORD  # Python allocates one element more for a subclass of tuple
    head = _HEADS.get(type(obj), size)
    return allocated(head) + allocated(size - head)


def object_bytes(obj: object) -> int | None:
    """Measure a LazyObject, or a plain dict as JSON is decoded to, with all that only it holds; None for anything else.

    Names of up to 32 bytes count nothing, since the decoder has one of each for all objects. Text that another object
    holds, too, or that an index has taken, is counted as if it were the object's own. About 4 us for a LazyObject, and
    150 us for the dict of a pod.

    Calibrated by ``benchmarks/memory_objects.py``: within 5 % of what the process grows by for LazyObjects, and within
    10 % for dicts.

    >>> from kindex import LazyObject
    >>> pod = LazyObject.from_json(b'{"metadata":{"name":"a"}}')
    >>> object_bytes(pod) > len(pod.raw), object_bytes({"a": 1}) > object_bytes({}), object_bytes("text")
    (True, True, None)
    """
    if type(obj) is LazyObject:
        return _lazy_bytes(obj)
    return _json_bytes(obj) if type(obj) is dict else None


def _lazy_bytes(obj: LazyObject) -> int:
    metadata = obj.metadata
    held = [getattr(metadata, name) for name in metadata.__struct_fields__]
    texts = [value for value in held if type(value) is msgspec.Raw]
    size = shallow_bytes(obj) + shallow_bytes(obj.raw) + shallow_bytes(metadata) + len(texts) * _RAW_BYTES
    # A view refers to the object's bytes, a copy to bytes of its own; getrefcount counts its own argument, too.
    if getrefcount(obj.raw) - 2 < len(texts):
        size += sum(allocated(_BYTES_HEAD + len(bytes(text))) for text in texts)
    size += sum(_json_bytes(value) for value in held if type(value) is not msgspec.Raw)
    return size + (_json_bytes(obj._fields) if obj._fields else 0)


def _json_bytes(value: object) -> int:
    """Measure decoded JSON."""
    match value:
        case None | True | False | "":
            return 0
        case str() | float():
            return shallow_bytes(value)
        case int():
            return shallow_bytes(value) if not -5 <= value < CACHED_INTS else 0
        case list() | tuple():
            return shallow_bytes(value) + sum(map(_json_bytes, value))
        case dict():
            long_names = (shallow_bytes(name) for name in value if len(name) > _CACHED_NAME)
            return shallow_bytes(value) + sum(long_names) + sum(map(_json_bytes, value.values()))
    return 0


def posting_bytes(posting: Posting | None, *, grown: bool = False) -> int:
    """Measure a posting. A bare slot counts nothing: its int is the slot table's. About a microsecond.

    >>> posting_bytes(7), posting_bytes(BitMap([1, 2]))
    (0, 192)
    """
    return bitmap_bytes(posting, grown=grown) if isinstance(posting, BitMap) else 0


def bitmap_bytes(bitmap: BitMap, *, grown: bool = False) -> int:
    """Measure a bitmap: Python's object and the C library's. About a microsecond, whatever its size.

    Args:
        bitmap: any.
        grown: whether slots were added one by one since it was built, so that its arrays have room to spare. How
            much cannot be seen from here; the mean is counted.
    """
    counts = bitmap.get_statistics()
    return containers_bytes(
        arrays=counts["n_array_containers"],
        array_slots=counts["n_values_array_containers"],
        bitsets=counts["n_bitset_containers"],
        run_containers=counts["n_run_containers"],
        runs=(counts["n_bytes_run_containers"] - 2 * counts["n_run_containers"]) // 4,
        grown=grown,
    )


# Predicted


def containers_bytes(
    *,
    arrays: float = 0,
    array_slots: float = 0,
    bitsets: float = 0,
    run_containers: float = 0,
    runs: float = 0,
    grown: bool = False,
) -> int:
    """Predict a bitmap of these containers; a mean of many may have a part of one.

    >>> containers_bytes(arrays=1, array_slots=2), containers_bytes(bitsets=3)
    (192, 24936)
    """
    containers = arrays + bitsets + run_containers
    size = BITMAP_BYTES + malloced(ceil(11 * containers)) + containers * malloced(16) + bitsets * _BITSET
    if arrays:
        mean = array_slots / arrays
        size += arrays * max(32, 2 * mean * (_spare(mean) if grown else 1) + 24)
    if run_containers:
        size += run_containers * max(32, 4 * runs / run_containers + 24)
    return round(size)


def _spare(slots: float) -> float:
    """Give the mean room of an array that grows, against what it holds: it grows by 2, by 1.5, by 1.25."""
    if slots < 64:
        return 1.44
    return 1.23 if slots < 1_024 else 1.12


def spread_bitmap_bytes(slots: float, capacity: int, *, runs: float | None = None, grown: bool = False) -> int:
    """Predict a bitmap of *slots* out of *capacity*, spread evenly.

    Args:
        slots: how many there are.
        capacity: how many there could be.
        runs: how many rows of neighbours they form; as many as chance makes, if not given.
        grown: as for ``bitmap_bytes``.

    >>> spread_bitmap_bytes(15_000, 150_000) // 1000, spread_bitmap_bytes(15_000, 150_000, runs=1_500) // 1000
    (20, 6)
    """
    slots, capacity = min(slots, capacity), max(capacity, 1)
    if slots <= 0:
        return BITMAP_BYTES
    if runs is None:
        runs = max(1.0, slots * (1 - slots / capacity))
    counts = dict.fromkeys(("arrays", "array_slots", "bitsets", "run_containers", "runs"), 0.0)
    for start in range(0, capacity, _CONTAINER):
        share = min(_CONTAINER, capacity - start) / capacity
        there = max(1 - (1 - share) ** runs, slots / capacity)  # how likely the container is there at all
        held, rows = slots * share / there, max(1.0, runs * share / there)
        plain = 2 * held if held <= _ARRAY_SLOTS else 8_192
        if not grown and 4 * rows + 2 < plain:
            counts["run_containers"] += there
            counts["runs"] += rows * there
        elif held <= _ARRAY_SLOTS:
            counts["arrays"] += there
            counts["array_slots"] += held * there
        else:
            counts["bitsets"] += there
    return containers_bytes(**counts, grown=grown)


def dict_bytes(entries: int, *, text: bool = False) -> int:
    """Predict a dict that grew to *entries*.

    Args:
        entries: how many.
        text: whether all keys are plain text, which makes an entry 16 bytes, not 24.

    >>> dict_bytes(150_000), dict_bytes(150_000, text=True)
    (5242976, 3844880)
    """
    if not entries:
        return allocated(_HEADS[dict])
    size = 8
    while 2 * size // 3 < entries:
        size *= 2
    width = 1 if size < 1 << 8 else 2 if size < 1 << 16 else 4
    return allocated(_HEADS[dict]) + allocated(32 + size * width + 2 * size // 3 * (16 if text else 24))


def list_bytes(entries: int) -> int:
    """Predict a list that was made of *entries* at once.

    >>> list_bytes(0), list_bytes(150_000)
    (64, 1200080)
    """
    return allocated(_HEADS[list]) + allocated(8 * entries)


def text_bytes(length: int) -> int:
    """Predict an ASCII text.

    >>> text_bytes(15), text_bytes(63)
    (64, 112)
    """
    return allocated(sys.getsizeof("") + length)


def column_bytes(slots: int, values: int) -> int:
    """Predict the reverse side of a column: a byte a slot up to 255 values, then two.

    >>> column_bytes(150_000, 10), column_bytes(150_000, 1_000)
    (150096, 300096)
    """
    return allocated(_HEADS[array]) + allocated(slots * (1 if values <= 0xFF else 2))


def ids_bytes(values: int) -> int:
    """Predict the ints that number *values*, from 1 on."""
    return INT_BYTES * max(0, values + 1 - CACHED_INTS)
