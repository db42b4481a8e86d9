"""Slots: which object lives where, and what happens to the places of those that went."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from kindex.slots import SlotTable
from tests.pods import key

NAMES = "abcde"


def test_a_table_gives_slots_in_order() -> None:
    """Objects that are there from the start live in slots 0, 1, 2 ..., and none is free."""
    table = SlotTable([key("a"), key("b")], ["A", "B"])
    table._check()
    assert (table.slot_of[key("b")], table.get(key("b")), table.get(key("c"))) == (1, "B", None)
    assert (len(table), table.capacity, list(table.live()), list(table.unused(2))) == (2, 2, [0, 1], [2, 3])


def test_freed_slots_are_used_again_lowest_first() -> None:
    """New objects take the lowest free slots before the table grows."""
    table = SlotTable([key(name) for name in NAMES], list(NAMES))
    for name in "db":
        table.release(table.slot_of[key(name)], key(name))
    table._check()
    assert table.unused(3) == [1, 3, 5]
    assert list(table.live()) == [0, 2, 4]


def test_naming_unused_slots_takes_none() -> None:
    """``unused`` only names: a write that is refused afterwards has used nothing."""
    table: SlotTable[str] = SlotTable()
    assert table.unused(2) == table.unused(2) == [0, 1]
    assert table.capacity == 0
    assert table.unused(0) == []


def test_the_free_slots_are_a_bitmap() -> None:
    """A list of ints would keep memory for every object that ever was."""
    table = SlotTable([key(name) for name in NAMES], list(NAMES))
    for name in NAMES:
        table.release(table.slot_of[key(name)], key(name))
    assert type(table.free) is BitMap
    assert (len(table), list(table.live()), list(table.free)) == (0, [], [0, 1, 2, 3, 4])


def test_assigning_beyond_the_end_leaves_free_slots_between() -> None:
    """A slot may be taken before lower ones are: those in between are free."""
    table: SlotTable[str] = SlotTable()
    table.assign(2, key("a"), "A")
    table._check()
    assert (table.capacity, list(table.free), table.unused(3)) == (3, [0, 1], [0, 1, 3])


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.booleans()), max_size=30))
def test_a_table_is_a_dict(steps: list[tuple[str, bool]]) -> None:
    """Whatever comes and goes, the table holds what a dict would; each step done twice is done once."""
    table: SlotTable[str] = SlotTable()
    expected: dict[str, str] = {}
    for number, (name, stays) in enumerate(steps):
        slot = table.slot_of.get(key(name))
        if stays:
            slot = table.unused(1)[0] if slot is None else slot
            expected[name] = f"{name}{number}"
            for _ in range(2):
                table.assign(slot, key(name), expected[name])
        elif slot is not None:
            expected.pop(name)
            for _ in range(2):
                table.release(slot, key(name))
        table._check()
    assert {found.name: table.get(found) for found in table.slot_of} == expected
    assert len(table) == len(expected) == len(table.live())
    assert table.capacity <= len(NAMES)
