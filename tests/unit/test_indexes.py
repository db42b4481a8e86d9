"""Indexes: three layouts, each against a plain dict of slot -> values, and what they give back when values go."""

from __future__ import annotations

import sys
from array import array
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from kindex.column_index import ColumnFull, ColumnIndex
from kindex.families import FamilyIndex
from kindex.map_index import MapIndex
from kindex.postings import slots_in
from kindex.sorted_index import SortedIndex
from kindex.values import SKIPPED, Several, encoded, filing_of, keys_in

if TYPE_CHECKING:
    from collections.abc import Sequence

SLOTS = 6
LIVE = BitMap(range(SLOTS))

one_value = st.sampled_from([None, "", "a", "b", "c"])
some_values = st.one_of(
    one_value, st.just(SKIPPED), st.lists(st.sampled_from(["a", "b", 1, True, ("a",)]), max_size=3).map(filing_of)
)
labels = st.dictionaries(st.sampled_from(["app", "tier", "zone"]), st.sampled_from(["", "a", "b"]), max_size=3)


def filled(index: Any, filings: Sequence[Any]) -> Any:
    """File slot after slot."""
    index.reserve(len(filings))
    for slot, filing in enumerate(filings):
        index.file(slot, filing)
    return index


def postings_of(index: MapIndex | ColumnIndex) -> dict[Any, list[int]]:
    """Read the forward side."""
    return {key: list(slots_in(index.posting(key))) for key in index.keys()}  # noqa: SIM118 - no dict


def expected_postings(filings: Sequence[Any]) -> dict[Any, list[int]]:
    """Say what the forward side has to be."""
    expected = defaultdict(list)
    for slot, filing in enumerate(filings):
        for key in keys_in(filing):
            expected[key].append(slot)
    return dict(expected)


@pytest.mark.parametrize(
    ("layout", "values"), [(MapIndex, some_values), (SortedIndex, some_values), (ColumnIndex, one_value)]
)
@given(data=st.data())
def test_a_slot_is_found_where_it_was_filed_last(layout: type[MapIndex | ColumnIndex], values: Any, data: Any) -> None:
    """Whatever moves, both sides say the same as a dict of the last filings; moving twice is moving once."""
    index = filled(layout(), [None] * SLOTS)
    filings: list[Any] = [None] * SLOTS
    for slot, filing in data.draw(st.lists(st.tuples(st.integers(0, SLOTS - 1), values), max_size=25)):
        filings[slot] = filing
        index.file(slot, filing)
        index._check(LIVE)
        index.file(slot, filing)
        index._check(LIVE)
        assert index.holds(slot, filing)
    assert [index.filing(slot) for slot in range(SLOTS)] == filings
    assert postings_of(index) == expected_postings(filings)
    assert len(index) == len(expected_postings(filings))
    assert index.posting("never") is None


@pytest.mark.parametrize(
    ("layout", "values"), [(MapIndex, some_values), (SortedIndex, some_values), (ColumnIndex, one_value)]
)
@given(data=st.data())
def test_an_index_that_is_built_at_once_is_the_same(
    layout: type[MapIndex | ColumnIndex], values: Any, data: Any
) -> None:
    """Building over a list and filing one by one give the same index."""
    filings = data.draw(st.lists(values, max_size=SLOTS))
    built, one_by_one = layout.build(filings, range(len(filings))), filled(layout(), filings)
    assert postings_of(built) == postings_of(one_by_one)
    assert built.present == one_by_one.present
    for index in (built, one_by_one):
        index._check(LIVE)
        assert [index.filing(slot) for slot in range(len(filings))] == filings


@given(data=st.data())
def test_a_family_files_under_every_label(data: Any) -> None:
    """Labels come and go with their keys: a member for each key that some slot has, and for no other."""
    start = data.draw(st.lists(labels, min_size=SLOTS, max_size=SLOTS))
    index = FamilyIndex.build(start, range(SLOTS))
    filings = list(start)
    for slot, wanted in data.draw(st.lists(st.tuples(st.integers(0, SLOTS - 1), labels), max_size=15)):
        filings[slot] = wanted
        for _ in range(2):
            index.file(slot, wanted)
            index._check(LIVE)
        assert index.holds(slot, wanted)
    assert [index.filing(slot) for slot in range(SLOTS)] == filings
    assert set(index.members) == {key for wanted in filings for key in wanted}
    assert len(index) == len({pair for wanted in filings for pair in wanted.items()})
    for key, member in index.members.items():
        assert postings_of(member) == expected_postings([wanted.get(key) for wanted in filings])


def test_a_family_tells_labels_apart_that_differ_in_any_way() -> None:
    """An absent label is not an empty one, and one label more or less is another filing."""
    index = FamilyIndex.build([{"app": "", "tier": "a"}], [0])
    assert index.holds(0, {"tier": "a", "app": ""})
    for other in (
        {"tier": "a"},
        {"app": "", "tier": "b"},
        {"app": "", "zone": "a"},
        {},
        {"app": "", "tier": "a", "z": ""},
    ):
        assert not index.holds(0, other)


@pytest.mark.parametrize("layout", [MapIndex, SortedIndex])
def test_the_same_values_in_another_order_are_the_same(layout: type[MapIndex]) -> None:
    """A set of values has no order, so an update that gives them in another one has nothing to move."""
    index = layout.build([filing_of(["a", "b", "c"])], [0])
    assert index.holds(0, filing_of(["c", "a", "b"]))
    assert not index.holds(0, filing_of(["c", "a"]))
    assert not index.holds(0, filing_of(["c", "a", "d"]))
    assert not index.holds(0, filing_of([("a", "b", "c")]))


@pytest.mark.parametrize("layout", [MapIndex, SortedIndex, ColumnIndex, FamilyIndex])
def test_a_reader_keeps_what_it_saw(layout: type[Any]) -> None:
    """The reverse side as it was can be read without the lock while the index moves on."""
    was, will = ({"app": "a"}, {"tier": "b"}) if layout is FamilyIndex else ("a", "b")
    index = layout.build([was, was], [0, 1])
    read = index.reader()
    index.reserve(400)
    for slot in range(400):
        index.file(slot, {"app": f"v{slot}"} if layout is FamilyIndex else f"v{slot}")
    index.file(0, will)
    assert [read(0), read(1)] == [was, was]


def test_a_column_widens_with_the_number_of_values() -> None:
    """255 values fit one byte a slot; the next value makes it two, and nothing is lost."""
    index = ColumnIndex()
    index.reserve(300)
    for slot in range(255):
        index.file(slot, f"v{slot}")
    assert (index.column.typecode, index.column.itemsize) == ("B", 1)
    index.file(255, "v255")
    assert (index.column.typecode, index.column.itemsize) == ("H", 2)
    index._check(BitMap(range(300)))
    assert [index.filing(slot) for slot in (0, 254, 255, 256)] == ["v0", "v254", "v255", None]
    built = ColumnIndex.build([f"v{slot}" for slot in range(256)], range(256))
    assert isinstance(built, ColumnIndex)
    assert built.column.typecode == "H"
    assert ColumnIndex.build([f"v{slot}" for slot in range(255)], range(255)).column.typecode == "B"  # type: ignore[union-attr]  # a column


def test_a_column_of_too_many_values_is_a_map() -> None:
    """65,535 values are the most a column numbers; with one more the index is a map with the same content."""
    most = 0xFFFF
    filings = [f"v{slot}" for slot in range(most)]
    index = ColumnIndex.build([*filings, None], range(most + 1))
    assert isinstance(index, ColumnIndex)
    for filing in ("v7", None):  # no value more
        index.file(most, filing)
    with pytest.raises(ColumnFull):
        index.file(most, "new")
    index._check(BitMap(range(most + 1)))
    as_map = index.as_map()
    as_map.file(most, "new")
    built = ColumnIndex.build([*filings, "new"], range(most + 1))
    assert type(built) is type(as_map) is MapIndex
    for each in (as_map, built):
        assert len(each) == most + 1
        assert (each.posting("new"), each.posting("v7"), each.filing(most), each.filing(7)) == (most, 7, "new", "v7")
        assert len(each.present) == most + 1


def test_ids_of_values_that_went_are_used_again() -> None:
    """One slot that moves through 10,000 values leaves one value behind, and needs two ids."""
    index = filled(ColumnIndex(), ["v", None])
    for number in range(10_000):
        index.file(0, f"v{number}")
    index._check(BitMap([0, 1]))
    assert postings_of(index) == {"v9999": [0]}
    assert len(index.values) <= 3
    assert index.column.typecode == "B"


@pytest.mark.parametrize("layout", [MapIndex, SortedIndex, ColumnIndex])
def test_an_index_gives_memory_back_when_its_values_go(layout: type[Any]) -> None:
    """20,000 values that went leave tables no larger than those of an index that never had them."""
    count = 20_000
    index = layout.build([f"v{slot}" for slot in range(count)], range(count))
    for slot in range(count):
        index.file(slot, None)
    index._check(BitMap(range(count)))
    assert len(index) == 0
    assert list(index.keys()) == []
    tables = [index.ids, index.values, index.postings] if layout is ColumnIndex else [index.forward]
    assert sum(map(sys.getsizeof, tables)) < 20_000
    assert len(index.present) == 0
    if layout is ColumnIndex:
        assert index.column.typecode == "B"


@pytest.mark.parametrize("layout", [MapIndex, SortedIndex, ColumnIndex])
def test_an_index_that_shrank_answers_as_before(layout: type[Any]) -> None:
    """Giving memory back renumbers values; every slot is still found, and new values still fit."""
    count, kept = 1_000, range(0, 1_000, 10)
    index = layout.build([f"v{slot}" for slot in range(count)], range(count))
    for slot in range(count):
        if slot not in kept:
            index.file(slot, None)
        if slot % 100 == 99:
            index._check(BitMap(range(count)))
    index.file(1, "new")
    index.file(0, "v10")
    expected = {f"v{slot}": [slot] for slot in kept if slot} | {"new": [1], "v10": [0, 10]}
    assert postings_of(index) == expected
    index._check(BitMap(range(count)))


def test_a_table_of_few_values_is_not_rebuilt() -> None:
    """Tables of up to 64 values stay as they are: rebuilding them at each write would be work for nothing."""
    index = filled(MapIndex(), ["a", "b", "c"])
    table = index.forward
    for number in range(20):
        index.file(0, f"v{number}")
        index.file(0, None)
        index.file(0, "a")
    assert index.forward is table


@pytest.mark.parametrize("layout", [MapIndex, SortedIndex, ColumnIndex])
def test_reserving_makes_room_and_never_takes_any(layout: type[Any]) -> None:
    """New slots are filed under no value; a smaller capacity changes nothing."""
    index = filled(layout(), ["a"])
    index.reserve(3)
    index.reserve(1)
    assert [index.filing(slot) for slot in range(3)] == ["a", None, None]
    index._check(BitMap([0]))


def sorted_index(*values: object) -> SortedIndex:
    """Make an index with one slot for each value."""
    index = SortedIndex.build([filing_of(value) for value in values], range(len(values)))
    index._check(BitMap(range(len(values))))
    return index


def between(index: SortedIndex, low: object, high: object) -> list[object]:
    """Ask for the keys of a range."""
    ends = [None if end is None else encoded(end) for end in (low, high)]
    return list(index.keys_between(*ends))


def test_a_range_includes_both_ends_and_none_is_open() -> None:
    """From "b" to "d" are b, c and d."""
    index = sorted_index("d", "a", "c", "b", "e")
    assert between(index, "b", "d") == ["b", "c", "d"]
    assert between(index, None, "b") == ["a", "b"]
    assert between(index, "d", None) == ["d", "e"]
    assert between(index, None, None) == ["a", "b", "c", "d", "e"]
    assert between(index, "bb", "cc") == ["c"]
    assert between(index, "d", "b") == between(index, "f", None) == []


def test_numbers_are_in_the_order_of_numbers() -> None:
    """9 comes before 10, and a range of numbers does not go by their text."""
    index = sorted_index(10, 9, -1, 100)
    assert between(index, 9, 10) == [encoded(9), encoded(10)]
    assert between(index, None, 9) == [encoded(-1), encoded(9)]


@pytest.mark.parametrize(
    ("values", "low", "high"), [((1, 2), "a", None), (("a",), 1, None), ((True,), None, 1), ((), "a", 1)]
)
def test_a_range_of_another_type_holds_nothing(values: tuple[object, ...], low: object, high: object) -> None:
    """No value compares with an end of another type, so none is in between."""
    assert between(sorted_index(*values), low, high) == []


def test_a_prefix_is_a_run_of_the_order() -> None:
    """Text that starts with the prefix is found, at the ends too; numbers and tuples never start with one."""
    index = sorted_index("web-1", "web", "wea", "web-2", "we", "x", "")
    assert list(index.keys_starting_with("web")) == ["web", "web-1", "web-2"]
    assert list(index.keys_starting_with("")) == ["", "we", "wea", "web", "web-1", "web-2", "x"]
    assert list(index.keys_starting_with("web-3")) == []
    assert list(sorted_index(1, 2).keys_starting_with("")) == []
    assert list(sorted_index([("web",)]).keys_starting_with("web")) == []


def test_an_object_with_several_values_counts_once_for_each() -> None:
    """A slot under two values is in both postings, and leaves each on its own."""
    index = sorted_index(["a", "b"], "b")
    index.file(0, Several(("b", "c")))
    assert postings_of(index) == {"b": [0, 1], "c": [0]}
    index.file(0, None)
    assert postings_of(index) == {"b": [1]}


def test_a_skipped_object_has_no_value_but_is_known() -> None:
    """Where a function failed the slot is in no posting and not present, and not filed as one without values."""
    index = filled(MapIndex(), [SKIPPED, "a", None])
    assert (list(index.present), postings_of(index)) == ([1], {"a": [1]})
    assert not index.holds(0, None)
    assert not index.holds(2, SKIPPED)


def test_a_column_is_one_array() -> None:
    """The reverse side of a label key is a byte a slot, not an object a slot."""
    index = ColumnIndex.build(["a", "b", None] * 1000, range(3000))
    assert isinstance(index, ColumnIndex)
    assert type(index.column) is array
    assert sys.getsizeof(index.column) < 3000 + 200


def test_objects_with_the_same_several_values_share_one_tuple() -> None:
    """30 pods of an owner keep its UID and name once, built at once or written one by one."""
    made = [Several(("uid-1", ("x", "apps", "ReplicaSet", "web"))) for _ in range(3)]
    built = MapIndex.build(made, range(3))
    assert len({id(filing) for filing in built.filed}) == 1
    built.reserve(4)
    built.file(3, Several(("uid-1", ("x", "apps", "ReplicaSet", "web"))))
    assert built.filed[3] is built.filed[0]
    built.file(1, Several(("uid-1", "other")))
    assert keys_in(built.filed[1]) == Several(("uid-1", "other"))
    assert keys_in(built.filed[1])[0] is keys_in(built.filed[0])[0]
    built._check(BitMap(range(4)))
