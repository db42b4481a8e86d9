"""Where a selector is filed, so that labels find it: under what they must have if it is to match them.

A *place* is a pair of key and value that labels must have, a key alone that they must have, or nothing, for selectors
that labels may match without having anything. Labels with n keys have 2n + 1 places, and only the selectors filed there
can match them.
"""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from kindex.label_requirements import EXACT, Requirement
from kindex.label_selectors import LabelSelector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Place: TypeAlias = tuple[str, ...]
"""A key and a value, a key alone, or nothing."""

THE_REST: Final[Place] = ()
"""The place of selectors that only say what labels must not have, or nothing at all."""


class Placed(NamedTuple):
    """Where a selector is filed, and the requirements that this does not answer already."""

    places: tuple[Place, ...]
    rest: tuple[Requirement, ...]


def plainest(selector: LabelSelector) -> LabelSelector | None:
    """Give the one form of all selectors that ask the same in other words; None if it can match no labels.

    >>> plainest(LabelSelector.parse("tier in (gold), app=web, app=web"))
    LabelSelector.parse('app=web,tier=gold')
    >>> plainest(LabelSelector.parse("app in (web,db), app notin (db,web)")) is None
    True
    """
    if selector.selects_nothing or any(_accepted(group) == () for group in _by_key(selector)):
        return None
    if any(_contradicts(group) for group in _by_key(selector)):
        return None
    return LabelSelector(tuple(sorted(set(map(_plainest, selector.requirements)), key=_order)))


def placed(selector: LabelSelector, crowd: Callable[[Place], int]) -> Placed:
    """Choose where to file a selector that can match: under its most restrictive requirement.

    That is an equality before ``in`` before ``exists``, since it leaves the fewest labels. Of several equalities the
    place with the smallest *crowd*, the number of selectors filed there, since these are evaluated together: where all
    selectors say ``part-of=shop``, they end up under what tells them apart. Then the order of the keys decides.
    """
    best: tuple[int, int, str] | None = None
    chosen = Placed((THE_REST,), selector.requirements)
    for group in _by_key(selector):
        key, values = group[0].key, _accepted(group)
        if values is not None:
            places: tuple[Place, ...] = tuple((key, value) for value in values)
            rank = (len(values), max(map(crowd, places)), key)
            rest = (each for each in selector.requirements if each.key != key)
        elif any(not each.matches_value(None) for each in group):
            places = ((key,),)
            rank = (_MANY, crowd((key,)), key)
            rest = (each for each in selector.requirements if each.key != key or each.operator != "exists")
        else:
            continue
        if best is None or rank < best:
            best, chosen = rank, Placed(places, tuple(rest))
    return chosen


def places_of(labels: Sequence[tuple[str, str]]) -> list[Place]:
    """Give the places of *labels*: all at which a selector that matches them can be.

    >>> places_of([("app", "web")])
    [(), ('app', 'web'), ('app',)]
    """
    return [THE_REST, *labels, *[(key,) for key, _ in labels]]


_MANY: Final = 1 << 62
"""More values than any requirement has: whoever only wants a key to be there takes all of them."""


def _by_key(selector: LabelSelector) -> Iterator[list[Requirement]]:
    """Give the requirements of each key together; a selector has them in the order of the keys."""
    return (list(group) for _, group in groupby(selector.requirements, _key_of))


def _accepted(group: list[Requirement]) -> tuple[str, ...] | None:
    """Give the values that all requirements of one key accept, or None where they do not name any."""
    named = [each.values for each in group if each.operator in (*EXACT, "in")]
    if not named:
        return None
    values = dict.fromkeys(named[0])
    return tuple(value for value in values if all(each.matches_value(value) for each in group))


def _contradicts(group: list[Requirement]) -> bool:
    """Tell whether one requirement wants the key and another does not."""
    return any(each.operator == "!" for each in group) and any(not each.matches_value(None) for each in group)


def _plainest(requirement: Requirement) -> Requirement:
    """Write equalities as such, and each value once."""
    values = tuple(dict.fromkeys(requirement.values))
    match requirement.operator:
        case "in" | "==" if len(values) == 1:
            return Requirement(requirement.key, "=", values)
        case "notin" if len(values) == 1:
            return Requirement(requirement.key, "!=", values)
        case operator:
            return Requirement(requirement.key, operator, values) if values != requirement.values else requirement


def _key_of(requirement: Requirement) -> str:
    return requirement.key


def _order(requirement: Requirement) -> tuple[str, str, tuple[str, ...]]:
    return requirement.key, requirement.operator, requirement.values
