"""Limits: what would break a budget, found out before the write, and what follows: the index is dropped.

The number of values after a write is known exactly: which values it opens, which it closes. Bytes are bounded: dicts,
lists and columns are measured as they are (their sizes are known without a walk), bitmaps by a bound that each write
raises and that is counted anew when it reaches the limit.

A drop is a change of schema: the index keeps its place and holds nothing, queries are compiled anew and scan. So it
happens between a write that was about to break the budget and the next try of that write, never within a query.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, TypeVar, cast

import attrs

from kindex.budgets import Drop
from kindex.column_index import ColumnIndex
from kindex.errors import BudgetExceededError
from kindex.families import FamilyIndex
from kindex.footprints import dict_bytes, ids_bytes, shallow_bytes
from kindex.indexers.base import Indexer
from kindex.indexers.labels import LabelIndexer, LabelKey
from kindex.map_index import NO_INDEX, MapIndex
from kindex.postings import size
from kindex.prices import key_bytes, measured, tuple_bytes
from kindex.schema import Family
from kindex.selector_index import SelectorIndex
from kindex.values import Several, keys_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kindex.core import Core
    from kindex.families import Index
    from kindex.generation import Entry
    from kindex.indexers.base import AnyIndexer
    from kindex.schema import Identity, Limit, Schema, Spot
    from kindex.values import Filing, ValueKey

T = TypeVar("T")

_log = logging.getLogger(__name__)

_NEW_BITMAP = 272
"""At most so many bytes when a posting gets its second slot: two containers, and what malloc adds."""

_NEW_SLOT = 6
"""On average at most so many bytes when a bitmap gets another slot: its arrays grow by a quarter and more."""

_MARGIN = 0.01
"""A recount that leaves less than this share of the budget counts as broken: else each next write would recount."""


@attrs.define
class _Growth:
    """What a write would add to one index."""

    values: int = 0
    size: int = 0


@attrs.frozen
class Breach:
    """An index that would break a budget."""

    identity: Identity
    limit: Limit
    reason: str


def breaches(schema: Schema[Any], indexes: Sequence[Index], entries: Iterable[Entry] = ()) -> list[Breach]:
    """List the indexes that would break a budget if *entries* were applied; none, at once, where there is no budget.

    Runs no user code, and changes nothing but the bounds. O(entries) without a recount.
    """
    if not schema.limits:
        return []
    watched = frozenset().union(*(limit.places for limit in schema.limits))
    growths = _growths(indexes, entries, watched)
    everything = not growths and not entries
    found: dict[Spot, Breach] = {}
    for limit in schema.limits:
        spots = [spot for spot in _spots(indexes, limit.places, growths) if spot not in found]
        if limit.each:
            for spot in spots:
                if spot in growths or everything:
                    reason = _broken(limit, indexes, [spot], growths)
                    if reason is not None:
                        found[spot] = Breach(schema.identity_at(spot), limit, reason)
            continue
        if not everything and growths.keys().isdisjoint(spots):
            continue
        while spots and (reason := _broken(limit, indexes, spots, growths)) is not None:
            # The index that takes most: to drop it gives most back, and it is hardly ever the one that is asked most.
            most = max(spots, key=lambda spot: _weight(limit, indexes, spot, growths))
            spots.remove(most)
            found[most] = Breach(schema.identity_at(most), limit, reason)
    return list(found.values())


def foreseen(schema: Schema[Any], columns: Sequence[Sequence[Any]]) -> list[Breach]:
    """List the indexes that would break a budget if they were built of *columns*, without building one.

    Values are counted; of bytes only the dict of the values is, so one that passes here may still be too large. It is
    here that a first list with a million values is stopped before an index of them is made. O(filings).
    """
    if not schema.limits:
        return []
    values: dict[Spot, int] = {}
    for place in sorted(frozenset().union(*(limit.places for limit in schema.limits))):
        if isinstance(schema.order[place], Family):
            seen: defaultdict[str, set[str]] = defaultdict(set)
            for labels in columns[place]:
                for key, value in labels.items():
                    seen[key].add(value)
            values.update({(place, key): len(several) for key, several in seen.items()})
        else:
            distinct = {key for filing in set(columns[place]) for key in keys_in(filing)}
            values[place, None] = len(distinct)
    found: dict[Spot, Breach] = {}
    for limit in schema.limits:
        spots = [spot for spot in values if spot[0] in limit.places and spot not in found]
        for group in [[spot] for spot in spots] if limit.each else [spots]:
            while group and (reason := _foreseen(limit, [values[spot] for spot in group])) is not None:
                most = max(group, key=values.__getitem__)
                group.remove(most)
                found[most] = Breach(schema.identity_at(most), limit, reason)
    return list(found.values())


def _foreseen(limit: Limit, values: Sequence[int]) -> str | None:
    return limit.budget.broken_by(sum(values), sum(dict_bytes(each, text=True) for each in values))


def drop(core: Core[Any], found: Sequence[Breach]) -> None:
    """Drop the indexes in *found*, unless the store says ``on_budget="raise"``. Called without the lock.

    Raises:
        BudgetExceededError: it says so; nothing was changed.
    """
    if core.on_budget == "raise":
        raise BudgetExceededError(found[0].identity.name, found[0].limit.scope, found[0].reason, core.name)
    while True:
        schema = core.generation.schema
        drops = {
            breach.identity: Drop(
                core.name,
                breach.identity.name,
                breach.limit.budget,
                breach.limit.scope,
                breach.reason,
                core.generation.revision + 1,
            )
            for breach in found
            if breach.identity not in schema.dropped
        }
        if not drops:
            return
        without = schema.dropping(drops)
        sources = without.sources(schema)
        members = [(place, key) for identity in drops for place, key in schema.spots(identity) if key is not None]
        with core.lock:
            core.settle()
            before = core.generation  # let go of after the lock: an index is much to free
            if before.schema is not schema:
                continue
            families: dict[int, Index] = {}
            for place, key in members:
                family = cast("FamilyIndex", families.get(place, before.indexes[place]))
                families[place] = family.with_member(key, None)
            core.generation = before.under(without, sources, families)
            core.drops += len(drops)
            core.writes_since_drop = 0
        for each in drops.values():
            _log.warning("%s", each)
            _tell(core, each)
        return


def too_much(
    schema: Schema[Any], indexes: Sequence[Index], spot: Spot, index: MapIndex | ColumnIndex, *, asked: bool
) -> str | None:
    """Say what keeps a dropped *index*, built anew, from coming back at *spot*; None if nothing does.

    Alone it must keep a budget's ``readmit_below`` (the budget itself, if somebody asked for it), and with the others
    of a common budget that budget.
    """
    values, size_bytes = len(index), sum(measured(index))
    for limit in schema.limits:
        if spot[0] not in limit.places:
            continue
        if not asked and not limit.budget.readmits(values, size_bytes):
            return f"{values:,} values and {size_bytes:,} bytes are not below readmit_below of {limit.scope}"
        others = [] if limit.each else [each for each in _spots(indexes, limit.places, {}) if each != spot]
        for other in others:
            values += len(_at(indexes, other))
            size_bytes += _bound(_at(indexes, other), _Growth())
        reason = limit.budget.broken_by(values, size_bytes)
        if reason is not None:
            return f"{reason} (budget of {limit.scope})"
        values, size_bytes = len(index), sum(measured(index))
    return None


def alone(identity: Identity) -> AnyIndexer[Any]:
    """Give an indexer that declares just this index."""
    if isinstance(identity, LabelKey):
        return LabelIndexer(identity.key, path=identity.path)
    assert isinstance(identity, Indexer)
    return identity


def _tell(core: Core[Any], dropped: Drop) -> None:
    """Call the application's function; what it raises is logged, since the writer has nothing to do with it."""
    if callable(core.on_budget):
        try:
            core.on_budget(dropped)
        except Exception:  # noqa: BLE001 - an application's function may raise anything
            _log.exception("on_budget of store %r failed on the drop of index %r", core.name, dropped.index)


def _spots(indexes: Sequence[Index], places: Iterable[int], growths: Mapping[Spot, _Growth]) -> Iterator[Spot]:
    """Give where the indexes of *places* are, those of a family one by one, new ones included."""
    for place in sorted(places):
        index = indexes[place]
        if isinstance(index, FamilyIndex):
            new = (member for at, member in growths if at == place and member is not None)
            yield from ((place, key) for key in dict.fromkeys((*index.members, *new)))
        elif index is not NO_INDEX:
            yield place, None


def _at(indexes: Sequence[Index], spot: Spot) -> MapIndex | ColumnIndex:
    place, member = spot
    index = indexes[place]
    if isinstance(index, FamilyIndex):
        return index.members.get(cast("str", member), NO_INDEX)
    return index


def _growths(indexes: Sequence[Index], entries: Iterable[Entry], watched: frozenset[int]) -> dict[Spot, _Growth]:
    """Sum up what *entries* would add to each of the *watched* indexes."""
    added: defaultdict[Spot, Counter[ValueKey]] = defaultdict(Counter)
    removed: defaultdict[Spot, Counter[ValueKey]] = defaultdict(Counter)
    sizes: Counter[Spot] = Counter()
    for entry in entries:
        for place, filing in entry.changes:
            if place not in watched:
                continue
            for spot, old, new in _moves(indexes[place], place, entry.slot, filing):
                before, after = keys_in(old), keys_in(new)
                added[spot].update(key for key in after if key not in before)
                removed[spot].update(key for key in before if key not in after)
                if type(new) is Several:
                    sizes[spot] += tuple_bytes(len(new))
    growths: dict[Spot, _Growth] = {}
    for spot, keys in added.items():
        index, growth = _at(indexes, spot), _Growth(size=sizes[spot])
        for key, times in keys.items():
            held = size(index.posting(key))
            growth.values += not held
            growth.size += 0 if held else key_bytes(key)
            if isinstance(index, SelectorIndex) and not held:
                growth.size += index.new_bytes(key)
            growth.size += (_NEW_BITMAP if held < 2 and held + times > 1 else 0) + _NEW_SLOT * times
        growths[spot] = growth
    for spot, keys in removed.items():
        index, growth = _at(indexes, spot), growths.setdefault(spot, _Growth())
        growth.values -= sum(size(index.posting(key)) == times and not added[spot][key] for key, times in keys.items())
    return growths


def _moves(
    index: Index,
    place: int,
    slot: int,
    filing: Any,  # noqa: ANN401 - a Filing, or the labels of a family
) -> Iterator[tuple[Spot, Filing, Filing]]:
    """Give the indexes in which *slot* moves, with its old and new filing."""
    if isinstance(index, FamilyIndex):
        old = index.filing(slot) if slot < len(index.counts) else {}
        for key in dict.fromkeys((*old, *filing)):
            yield (place, key), old.get(key), filing.get(key)
    elif isinstance(index, ColumnIndex):
        yield (place, None), index.filing(slot) if slot < len(index.column) else None, filing
    else:
        yield (place, None), index.filing(slot) if slot < len(index.filed) else None, filing


def _broken(
    limit: Limit, indexes: Sequence[Index], spots: Sequence[Spot], growths: Mapping[Spot, _Growth]
) -> str | None:
    """Say how the indexes at *spots* together would break *limit*."""
    nothing = _Growth()
    values = sum(len(_at(indexes, spot)) + growths.get(spot, nothing).values for spot in spots)
    reason = limit.budget.broken_by(values, 0)
    if reason is not None or limit.budget.max_bytes is None:
        return reason
    bound = sum(_bound(_at(indexes, spot), growths.get(spot, nothing)) for spot in spots)
    if limit.budget.broken_by(values, bound) is None:
        for spot in spots:
            _raise_bound(_at(indexes, spot), growths.get(spot, nothing))
        return None
    for spot in spots:
        _recount(_at(indexes, spot))
    bound = sum(_bound(_at(indexes, spot), growths.get(spot, nothing)) for spot in spots)
    kept = limit.budget.broken_by(values, round(bound * (1 + _MARGIN)))
    if kept is None:
        for spot in spots:
            _raise_bound(_at(indexes, spot), growths.get(spot, nothing))
        return None
    return limit.budget.broken_by(values, max(bound, limit.budget.max_bytes + 1))


def _weight(limit: Limit, indexes: Sequence[Index], spot: Spot, growths: Mapping[Spot, _Growth]) -> int:
    index, growth = _at(indexes, spot), growths.get(spot, _Growth())
    return _bound(index, growth) if limit.budget.max_bytes is not None else len(index) + growth.values


def _bound(index: MapIndex | ColumnIndex, growth: _Growth) -> int:
    """Give an upper estimate of the bytes of *index* after *growth*. O(1), but for the first time."""
    if index.bitmap_bound is None:
        _recount(index)
    assert index.bitmap_bound is not None
    table = index.ids if isinstance(index, ColumnIndex) else index.forward
    after = len(table) + max(0, growth.values)
    room = max(0, dict_bytes(after, text=True) - shallow_bytes(table))  # a dict that must grow doubles
    return _plain_bytes(index) + index.bitmap_bound + growth.size + room + 16 * max(0, growth.values)


def _plain_bytes(index: MapIndex | ColumnIndex) -> int:
    """Measure what has a size of its own: dicts, lists, the column. O(1)."""
    if isinstance(index, ColumnIndex):
        tables = (index, index.ids, index.values, index.postings, index.column)
        return sum(map(shallow_bytes, tables)) + ids_bytes(len(index.ids))
    return sum(map(shallow_bytes, (index, index.forward, index.filed)))


def _recount(index: MapIndex | ColumnIndex) -> None:
    """Count what is not plain: bitmaps, keys of numbers, tuples. O(values), and O(slots) for a map."""
    index.bitmap_bound = max(0, sum(measured(index)) - _plain_bytes(index)) if index is not NO_INDEX else 0


def _raise_bound(index: MapIndex | ColumnIndex, growth: _Growth) -> None:
    if index is not NO_INDEX and index.bitmap_bound is not None:
        index.bitmap_bound += growth.size
