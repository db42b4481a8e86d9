"""Postings: the algebra against Python's sets, in three forms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from kindex.postings import (
    adding,
    both,
    contains,
    either,
    from_slots,
    normal,
    removing,
    size,
    slots_in,
    without,
)

if TYPE_CHECKING:
    from kindex.postings import Posting

# Slot 0 is false in Python, and numbers beyond 65,535 are in another container of the bitmap.
slots = st.frozensets(st.sampled_from([0, 1, 2, 3, 7, 65_535, 65_536, 200_000]), max_size=6)


def posting_of(members: frozenset[int]) -> Posting | None:
    """Make the posting of these slots."""
    return from_slots(sorted(members))


def slots_of(posting: Posting | None) -> frozenset[int]:
    """Read a posting back; asserts that it has the one form that fits its size."""
    members = frozenset(slots_in(posting))
    expected = type(None) if not members else int if len(members) == 1 else BitMap
    assert type(posting) is expected
    return members


@given(slots)
def test_a_posting_has_the_form_that_fits_its_size(members: frozenset[int]) -> None:
    """None is empty, a number is one slot, a bitmap is two and more; reading gives the slots, ascending."""
    posting = posting_of(members)
    assert slots_of(posting) == members
    assert list(slots_in(posting)) == sorted(members)
    assert size(posting) == len(members)
    assert slots_of(normal(BitMap(members))) == members


@given(slots, slots)
def test_two_postings_combine_as_sets_do(left: frozenset[int], right: frozenset[int]) -> None:
    """Intersection and difference are those of Python's sets, in every pair of forms."""
    assert slots_of(both(posting_of(left), posting_of(right))) == left & right
    assert slots_of(without(posting_of(left), posting_of(right))) == left - right


@given(st.lists(slots, max_size=5))
def test_many_postings_unite_as_sets_do(parts: list[frozenset[int]]) -> None:
    """The union of any number of postings is that of Python's sets."""
    assert slots_of(either(map(posting_of, parts))) == frozenset().union(*parts)


@given(slots, slots)
def test_the_algebra_changes_no_operand(left: frozenset[int], right: frozenset[int]) -> None:
    """Stored postings are handed to the algebra as they are, so it must leave them alone."""
    ours, theirs = posting_of(left), posting_of(right)
    both(ours, theirs)
    without(ours, theirs)
    either([ours, theirs])
    assert (slots_of(ours), slots_of(theirs)) == (left, right)


@given(slots, st.sampled_from([0, 1, 7, 65_536]))
def test_adding_and_removing_one_slot(members: frozenset[int], slot: int) -> None:
    """A slot comes and goes in every form, and doing it twice is doing it once."""
    once = adding(posting_of(members), slot)
    assert slots_of(once) == members | {slot}
    assert slots_of(adding(once, slot)) == members | {slot}
    fewer = removing(posting_of(members), slot)
    assert slots_of(fewer) == members - {slot}
    assert slots_of(removing(fewer, slot)) == members - {slot}


@given(slots, st.sampled_from([0, 1, 7, 65_536]))
def test_contains_is_membership(members: frozenset[int], slot: int) -> None:
    """Asking for a slot gives what a set says, also for slot 0."""
    assert contains(posting_of(members), slot) is (slot in members)


def test_a_union_of_one_copies_nothing() -> None:
    """A query on one value reads the stored bitmap itself, whatever its size."""
    stored = BitMap(range(1000))
    assert either([None, stored, None]) is stored
