"""Grouping: from the values of many slots to the slots of each value, where an index is built at once."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar, cast

from kindex.postings import Posting, from_slots

if TYPE_CHECKING:
    from collections.abc import Sequence

F = TypeVar("F")

_MANY_EACH = 8
"""Where values have so many slots each, on average, a list for each of them is the quickest way to group the slots."""


def grouped(filings: Sequence[F], slots: Sequence[int]) -> dict[F, int | list[int]]:
    """Group *slots* by where they are filed.

    A slot that is alone stays bare. A list for each of 150,000 values made the collector take most of the time of a
    build, and left holes in Python's memory as large as the index.
    """
    groups: dict[F, int | list[int]] = {}
    for slot, filing in zip(slots, filings, strict=True):
        group = groups.get(filing)
        if group is None:
            groups[filing] = slot
        elif isinstance(group, list):
            group.append(slot)
        else:
            groups[filing] = [group, slot]
    return groups


def postings_of(numbers: Sequence[int], top: int, slots: Sequence[int]) -> list[Posting]:
    """Make the postings of the ids from 1 to *top*, of which ``numbers[i]`` is that of ``slots[i]``, and 0 is none."""
    if top * _MANY_EACH > len(slots):
        groups = grouped(numbers, slots)
        return [posting_of(groups[number]) for number in range(1, top + 1)]
    lists: list[list[int]] = [[] for _ in range(top + 1)]
    appends = [each.append for each in lists]
    for slot, number in zip(slots, numbers, strict=True):
        appends[number](slot)
    return list(map(posting_of, islice(lists, 1, None)))


def listed(group: int | list[int]) -> list[int]:
    """Give a group as a list."""
    return group if isinstance(group, list) else [group]


def posting_of(group: int | list[int]) -> Posting:
    """Make the posting of a group."""
    return cast("Posting", from_slots(group)) if isinstance(group, list) else group
