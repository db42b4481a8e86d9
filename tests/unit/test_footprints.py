"""Footprints: what is predicted from numbers is what is measured on the structures."""

from __future__ import annotations

import random
import sys
from array import array
from typing import Any

import pytest
from pyroaring import BitMap

from kindex.footprints import (
    BITMAP_BYTES,
    CACHED_INTS,
    INT_BYTES,
    PAIR_BYTES,
    allocated,
    bitmap_bytes,
    column_bytes,
    containers_bytes,
    dict_bytes,
    ids_bytes,
    list_bytes,
    malloced,
    posting_bytes,
    shallow_bytes,
    spread_bitmap_bytes,
    text_bytes,
)
from kindex.keys import ObjectKey

SIZES = (0, 1, 5, 6, 10, 11, 170, 171, 21_845, 21_846, 43_690, 43_691, 100_000)
SLOTS = 150_000


def fresh(number: int) -> int:
    """Make an int that is no constant."""
    return int(str(number))


@pytest.mark.parametrize("entries", SIZES)
def test_a_dict_is_predicted_exactly(entries: int) -> None:
    """Text keys or not, the bytes of a dict that grew follow from the number of its entries."""
    texts = {str(number): number for number in range(entries)}
    numbers = {number: number for number in range(entries)}
    assert dict_bytes(entries, text=True) == shallow_bytes(texts)
    assert dict_bytes(entries) == shallow_bytes(numbers)


@pytest.mark.parametrize("entries", SIZES)
def test_a_list_is_predicted_exactly(entries: int) -> None:
    """A list that was made at once has room for its entries and no more."""
    assert list_bytes(entries) == shallow_bytes([None] * entries)


@pytest.mark.parametrize(("values", "code"), [(10, "B"), (255, "B"), (256, "H"), (65_535, "H")])
def test_a_column_is_predicted_exactly(values: int, code: str) -> None:
    """A column takes one byte a slot up to 255 values, then two."""
    assert column_bytes(SLOTS, values) == shallow_bytes(array(code, [0] * SLOTS))


def test_a_list_with_room_to_spare_is_measured_with_it() -> None:
    """What a list has reserved counts."""
    grown: list[int] = []
    for number in range(1_000):
        grown.append(number)  # noqa: PERF402 - it has to grow
    assert list_bytes(1_000) < shallow_bytes(grown) <= list_bytes(1_200)


@pytest.mark.parametrize("length", [2, 7, 63, 500])
def test_a_text_is_predicted_exactly(length: int) -> None:
    """The bytes of a text follow from its length."""
    assert text_bytes(length) == shallow_bytes("x" * length)


def test_ids_take_nothing_while_python_has_them() -> None:
    """Numbers up to 256 are Python's own; each one more takes an int."""
    assert ids_bytes(CACHED_INTS - 1) == 0
    assert ids_bytes(CACHED_INTS) == INT_BYTES
    assert fresh(CACHED_INTS - 1) is fresh(CACHED_INTS - 1)
    assert fresh(CACHED_INTS) is not fresh(CACHED_INTS)
    assert shallow_bytes(CACHED_INTS) == INT_BYTES


def test_a_key_is_a_pair_with_room_for_one_more() -> None:
    """Python allocates one element more for a subclass of tuple, which fits into the same block."""
    assert sys.getsizeof(ObjectKey("a", "b")) == sys.getsizeof(("a", "b"))
    assert shallow_bytes(ObjectKey("a", "b")) == allocated(sys.getsizeof(("a", "b")) + 8)
    assert shallow_bytes(("a", "b")) == PAIR_BYTES


def test_allocators_round_up() -> None:
    """No block is smaller than what was asked for, and none is more than 24 bytes larger."""
    for size in range(1, 5_000):
        assert size <= allocated(size) < size + 25
        assert size + 8 <= malloced(size) <= max(32, size + 23)
        assert allocated(size) % 16 == malloced(size) % 16 == 0


def test_a_bare_slot_takes_nothing() -> None:
    """The int of a bare slot is the slot table's; a bitmap takes what a bitmap takes."""
    assert posting_bytes(None) == posting_bytes(70_000) == 0
    assert posting_bytes(BitMap([1, 70_000])) == bitmap_bytes(BitMap([1, 70_000])) > BITMAP_BYTES


@pytest.mark.parametrize(
    ("slots", "counts"),
    [
        ([], {}),
        ([1, 5], {"arrays": 1, "array_slots": 2}),
        ([1, 70_000], {"arrays": 2, "array_slots": 2}),
        (range(0, 60_000, 2), {"bitsets": 1}),
        (range(60_000), {"run_containers": 1, "runs": 1}),
        ([*range(60_000), *range(65_536, 65_636, 2), *range(131_072, 196_608, 3)], None),
    ],
)
def test_containers_are_read_from_a_bitmap(slots: Any, counts: dict[str, int] | None) -> None:
    """A bitmap counts as its containers do."""
    expected = {"run_containers": 1, "runs": 1, "arrays": 1, "array_slots": 50, "bitsets": 1}
    assert bitmap_bytes(BitMap(slots)) == containers_bytes(**(expected if counts is None else counts))


def test_a_bitmap_that_grew_has_room_to_spare() -> None:
    """Arrays that slots were added to are counted with the mean of their spare room; bitsets have none."""
    array_like, bitset_like = BitMap(range(0, 200, 2)), BitMap(range(0, 60_000, 2))
    assert bitmap_bytes(array_like) < bitmap_bytes(array_like, grown=True) < 1.3 * bitmap_bytes(array_like)
    assert bitmap_bytes(bitset_like, grown=True) == bitmap_bytes(bitset_like)


@pytest.mark.parametrize("size", [1, 2, 5, 30, 150, 1_500, 15_000, 30_000, 75_000, 149_000, 150_000])
def test_a_bitmap_spread_by_chance_is_predicted(size: int) -> None:
    """For any number of slots drawn from 150,000, the prediction is within 5 % of the mean of what is measured."""
    draw = random.Random(size)  # noqa: S311 - a shape, not a secret
    count = 40 if size < 1_000 else 3
    bitmaps = [BitMap(draw.sample(range(SLOTS), size)) for _ in range(count)]
    measured = sum(map(bitmap_bytes, bitmaps)) / count
    assert spread_bitmap_bytes(size, SLOTS) == pytest.approx(measured, rel=0.05)


@pytest.mark.parametrize("size", [20, 100, 1_000, 10_000, 60_000])
def test_a_bitmap_of_neighbours_is_predicted(size: int) -> None:
    """Where slots stand in rows of ten, the number of rows tells the bytes, within 8 %."""
    draw = random.Random(size)  # noqa: S311 - a shape, not a secret
    count = 40 if size < 1_000 else 3
    bitmaps, runs = [], 0
    for _ in range(count):
        starts = sorted(draw.sample(range(SLOTS // 10), size // 10))
        runs += sum(start - 1 != before for before, start in zip([-2, *starts], starts, strict=False))
        bitmaps.append(BitMap([slot for start in starts for slot in range(start * 10, start * 10 + 10)]))
    measured = sum(map(bitmap_bytes, bitmaps)) / count
    assert spread_bitmap_bytes(size, SLOTS, runs=runs / count) == pytest.approx(measured, rel=0.08)
