"""Prices: what an index would take, against one that is built."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from kindex.column_index import ColumnIndex
from kindex.footprints import posting_bytes
from kindex.map_index import MapIndex
from kindex.postings import from_slots
from kindex.prices import Postings, built_bytes, key_bytes, measured
from kindex.sorted_index import SortedIndex
from kindex.values import SKIPPED, Several, encoded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kindex.values import Filing


def _texts(count: int, values: int, seed: int = 1) -> list[Filing]:
    draw = Random(seed).random  # noqa: S311 - a shape, not a secret
    return [f"value-{int(draw() * values)}" for _ in range(count)]


COLUMNS: dict[str, list[Filing]] = {
    "few values": _texts(20_000, 10),
    "many values": _texts(20_000, 1_000),
    "two containers": _texts(90_000, 40),
    "unique": [f"pod-{number}" for number in range(20_000)],
    "more than a column holds": [f"pod-{number}" for number in range(70_000)],
    "sparse": [f"v{number % 7}" if number % 100 == 0 else None for number in range(20_000)],
    "small": ["a", "b", "a", None],
    "nobody": [None] * 500,
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_price_of_a_column_is_an_upper_estimate(name: str) -> None:
    """``built_bytes`` is not below what the index of a label takes, and not far above it; values are exact."""
    column = COLUMNS[name]
    index = ColumnIndex.build(column, range(len(column)))
    values, price = built_bytes(column, columnar=True)
    taken = sum(measured(index))
    assert values == len(index)
    assert taken <= price <= 1.2 * taken + 500


@pytest.mark.parametrize(
    "column",
    [
        _texts(20_000, 1_000),
        [Several((f"a{number % 50}", f"b{number % 900}")) for number in range(20_000)],
        [encoded(number % 3_000) for number in range(20_000)],
        [SKIPPED if number % 3 else "a" for number in range(3_000)],
    ],
    ids=["text", "several", "numbers", "skipped"],
)
def test_a_price_of_a_map_is_an_upper_estimate(column: list[Filing]) -> None:
    """The same for the other layout: values that are several, and values that are no text."""
    index = MapIndex.build(column, range(len(column)))
    values, price = built_bytes(column, columnar=False)
    taken = sum(measured(index))
    assert values == len(index)
    assert taken <= price <= 1.2 * taken + 500


def test_runs_make_an_index_cheaper_than_its_upper_estimate() -> None:
    """Where slots are neighbours the bitmaps are runs, which the upper estimate does not count on."""
    column: Sequence[Filing] = [f"v{number // 1_000}" for number in range(20_000)]
    taken = sum(measured(ColumnIndex.build(column, range(len(column)))))
    assert built_bytes(column, columnar=True)[1] > 2 * taken


def test_values_in_order_cost_more() -> None:
    """A sorted index takes more than the map that it is, for each of its values."""
    column = [encoded(number) for number in range(5_000)]
    slots = range(len(column))
    forward, reverse = measured(SortedIndex.build(column, slots))
    plain, the_same = measured(MapIndex.build(column, slots))
    assert reverse == the_same
    assert forward - plain > 64 * 5_000


@pytest.mark.parametrize(
    ("slots", "containers", "runs"),
    [
        (range(2), 1, None),
        (range(0, 3_000, 3), 1, None),
        (range(0, 60_000, 3), 1, None),
        (range(0, 150_000, 10), 150_000 / 65_536, None),
        (range(10_000), 1, 1),
        ([slot for start in range(0, 60_000, 1_000) for slot in range(start, start + 100)], 1, 60),
    ],
    ids=["two", "array", "bitset", "three containers", "one run", "many runs"],
)
def test_postings_are_priced_as_they_are_built(slots: Sequence[int], containers: float, runs: float | None) -> None:
    """The bytes of a posting follow from its slots, containers and runs, within a tenth."""
    built = posting_bytes(from_slots(list(slots)))
    assert Postings(1, len(slots), containers, runs).bytes == pytest.approx(built, rel=0.1)
    assert Postings(7, len(slots), containers, runs).bytes == pytest.approx(7 * built, rel=0.1)


def test_a_single_costs_no_posting() -> None:
    """A posting of one slot is the slot's own number."""
    assert Postings(1_000, 1).bytes == 0
    assert Postings(0, 50).bytes == 0


def test_text_costs_no_key() -> None:
    """A text is the object's own; a number or a tuple is filed under a tuple that the index makes."""
    assert key_bytes("web") == 0
    assert key_bytes(encoded(7)) == key_bytes(("a", "b"))
    assert key_bytes(encoded(("a", 7))) > 2 * key_bytes(("a", "b"))
