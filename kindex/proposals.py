"""Proposals: from what queries came to, which indexes to add and which to drop."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from kindex.advice import Addition, Caution, Removal
from kindex.families import FamilyIndex
from kindex.forecasts import forecast
from kindex.indexers.base import Indexer
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.labels import ANNOTATIONS, LABELS, AnnotationIndexer, LabelIndexer, LabelKey
from kindex.measuring import measure
from kindex.near_unique import NEAR_UNIQUE
from kindex.operations import FEW
from kindex.paths import JsonPath
from kindex.queries import TOO_MANY
from kindex.schema import NAMESPACE
from kindex.watching import index_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kindex.core import Core
    from kindex.counts import Count, Seen
    from kindex.forecasts import Forecast
    from kindex.keys import ObjectKey
    from kindex.schema import Identity, Schema
    from kindex.shapes import Condition, Shape
    from kindex.watching import IndexId

SMALL = 100
"""Below this number of objects a store is as quick without any index."""

WORTHWHILE = 10_000
"""An index has to spare looking at this many objects in all: some milliseconds."""

_ENOUGH = 100
"""So many queries have to be seen before it counts that an index was not used."""

_ENOUGH_USES = 10
"""So often an index has to be used before it counts how."""

_FORECASTS = 20
"""For so many keys and paths, those that cost most, a forecast is made."""

_SAMPLE = 10_000
"""A forecast looks at this many objects at most."""

_NEARLY_ALL = 0.95
"""The share of the objects under one value with which an index narrows nothing."""

_UNIQUE = 0.5
"""A label with more values than this share of the objects that have it is near-unique."""


class Index(NamedTuple):
    """An index that queries may use."""

    id: IndexId
    name: str


class Wanted(NamedTuple):
    """What a condition needs to be answered: the index of a label key, or of a field."""

    on: str
    name: str
    key: str

    @property
    def title(self) -> str:
        """How the index would be called."""
        return LabelKey(self.name, self.key).name if self.on == "label" else self.name

    @property
    def indexer(self) -> LabelIndexer | FieldIndexer:
        """What to declare."""
        if self.on == "field":
            return FieldIndexer(self.name)
        if self.name == ANNOTATIONS:
            return AnnotationIndexer(self.key)
        return LabelIndexer(self.key, path=self.name)

    @property
    def declaration(self) -> str:
        """How to write it."""
        if self.on == "field":
            return f"FieldIndexer({self.name!r})"
        if self.name == ANNOTATIONS:
            return f"AnnotationIndexer({self.key!r})"
        path = "" if self.name == LABELS else f", path={self.name!r}"
        return f"LabelIndexer({self.key!r}{path})"


class _Work:
    """What is left to look at for the queries of one shape, while indexes are proposed."""

    def __init__(self, count: Count, conditions: Iterable[Condition]) -> None:
        self.count = count
        self.scanned = float(count.scanned)
        self.scans = count.scans
        self.unanswered = set(conditions)

    def copy(self) -> _Work:
        """Give the same, as it is before any index is proposed."""
        return _Work(self.count, self.unanswered)

    def wants(self, wanted: Wanted) -> bool:
        """Tell whether the index would help."""
        return any(_wanted(each) == wanted for each in self.unanswered)

    def left_by(self, wanted: Wanted, made: Forecast) -> float:
        """Estimate how many objects would be looked at with one more index; none when it answers the rest."""
        answered = {each for each in self.unanswered if _wanted(each) == wanted}
        if answered and answered == self.unanswered:
            return 0.0
        return self.scanned * prod(_share(condition.operator, made) for condition in answered)

    def answer(self, wanted: Wanted, made: Forecast) -> int:
        """Take it that there is this index, and give the number of scans that it spares."""
        self.scanned = self.left_by(wanted, made)
        self.unanswered = {each for each in self.unanswered if _wanted(each) != wanted}
        if self.unanswered and self.scanned > max(FEW * self.count.asked, TOO_MANY * self.count.returned):
            return 0
        spared, self.scans = self.scans, 0
        return spared


def additions(
    schema: Schema[Any], objects: Mapping[ObjectKey, Any], shapes: Mapping[Shape, Count]
) -> tuple[list[Addition], list[Caution]]:
    """Find the indexes that are worth their bytes, the best first, each taken to stand beside those before it."""
    works = [
        _Work(count, [each for each in shape.checked if not _there(schema, _wanted(each))])
        for shape, count in shapes.items()
        if count.scanned
    ]
    works = [work for work in works if work.unanswered]
    forecasts: dict[Wanted, Forecast] = {}
    refused: dict[tuple[str, str], set[Wanted]] = {}
    for wanted in _most_wanted(works):
        reason = _dropped(schema, wanted) or _why_not(wanted)
        if reason is None:
            made = _forecast(objects, wanted)
            reason = _why_not_made(wanted, made)
            if reason is None:
                forecasts[wanted] = made
                continue
        refused.setdefault((wanted.title, reason), set()).add(wanted)
    cautions = [_caution(title, reason, works, several) for (title, reason), several in refused.items()]
    return _chosen(works, forecasts), cautions


def _caution(title: str, reason: str, works: list[_Work], several: set[Wanted]) -> Caution:
    asking = [work.count for work in works if any(map(work.wants, several))]
    return Caution(title, reason, sum(count.asked for count in asking), sum(count.scanned for count in asking))


def _chosen(works: list[_Work], forecasts: dict[Wanted, Forecast]) -> list[Addition]:
    """Choose the best first, then leave out what the others make needless, and count anew."""
    chosen = {wanted for wanted, _ in _taken(works, forecasts)}
    for wanted in sorted(chosen, key=lambda each: forecasts[each].bytes):
        others = chosen - {wanted}
        if _left(works, forecasts, others) - _left(works, forecasts, chosen) < WORTHWHILE:
            chosen = others
    found = [addition for _, addition in _taken(works, {wanted: forecasts[wanted] for wanted in sorted(chosen)})]
    return sorted(found, key=lambda each: -each.scanned / max(1, each.bytes))


def _taken(works: list[_Work], forecasts: dict[Wanted, Forecast]) -> list[tuple[Wanted, Addition]]:
    """Take what spares most for its bytes, then what spares most beside that, and so on while it is worth it."""
    works, forecasts = [work.copy() for work in works], forecasts.copy()
    taken = []
    while forecasts:
        spared = {
            wanted: sum(work.scanned - work.left_by(wanted, made) for work in works)
            for wanted, made in forecasts.items()
        }
        best = max(forecasts, key=lambda wanted: spared[wanted] / max(1, forecasts[wanted].bytes))
        made = forecasts.pop(best)
        if spared[best] < WORTHWHILE:
            continue
        helped = [work for work in works if work.wants(best)]
        asked = sum(work.count.asked for work in helped)
        scans = sum([work.answer(best, made) for work in helped])
        spares = round(spared[best])
        taken.append((best, Addition(best.title, best.declaration, made.bytes, made.values, asked, scans, spares)))
    return taken


def _left(works: list[_Work], forecasts: dict[Wanted, Forecast], chosen: set[Wanted]) -> float:
    """Estimate how many objects would be looked at with the indexes of *chosen*."""
    works = [work.copy() for work in works]
    for work in works:
        for wanted in chosen:
            work.answer(wanted, forecasts[wanted])
    return sum(work.scanned for work in works)


def _most_wanted(works: list[_Work]) -> list[Wanted]:
    cost: dict[Wanted, int] = {}
    for work in works:
        for wanted in set(map(_wanted, work.unanswered)):
            cost[wanted] = cost.get(wanted, 0) + work.count.scanned
    worthwhile = [wanted for wanted in cost if cost[wanted] >= WORTHWHILE]
    return sorted(worthwhile, key=lambda wanted: (-cost[wanted], wanted))[:_FORECASTS]


def _wanted(condition: Condition) -> Wanted:
    return Wanted(condition.on, condition.name, condition.key)


def _there(schema: Schema[Any], wanted: Wanted) -> bool:
    """Tell whether queries can use the index by now."""
    return any(_serves(identity, wanted) for identity in schema.places) or (
        wanted.on == "label" and schema.find(LabelKey(wanted.name, wanted.key)) is not None
    )


def _serves(identity: Identity, wanted: Wanted) -> bool:
    """Tell whether the index of *identity* answers what is wanted; a label's is found by its key."""
    match wanted.on:
        case "field":
            path = JsonPath.parse(wanted.name)
            return isinstance(identity, FieldIndexer) and identity.paths == (path,)
        case "index":
            return isinstance(identity, Indexer) and identity.name == wanted.name
        case _:
            return isinstance(identity, LabelKey) and (identity.path, identity.key) == (wanted.name, wanted.key)


def _dropped(schema: Schema[Any], wanted: Wanted) -> str | None:
    """Say which budget dropped the index, if one did."""
    return next((str(drop) for identity, drop in schema.dropped.items() if _serves(identity, wanted)), None)


def _why_not(wanted: Wanted) -> str | None:
    match wanted.on:
        case "label":
            return NEAR_UNIQUE.get(wanted.key)
        case "field":
            return None
        case _:
            return "the store has no such index any more"


def _why_not_made(wanted: Wanted, made: Forecast) -> str | None:
    """Say why a label should not be indexed, after all; an index of a field may well be there to find one object."""
    (only,) = made.indexes
    if wanted.on == "label" and only.values >= SMALL and only.values > _UNIQUE * only.objects:
        return f"{only.values:,} values on {only.objects:,} objects: hardly two objects share one"
    return None


def _forecast(objects: Mapping[ObjectKey, Any], wanted: Wanted) -> Forecast:
    keys = {id(obj): key for key, obj in objects.items()}
    # Not the store's key function, which is user code: the keys are known.
    return forecast(
        list(objects.values()),
        wanted.indexer,
        sample=_SAMPLE if len(objects) > _SAMPLE else None,
        key=lambda obj: keys[id(obj)],
    )


def _share(operator: str, made: Forecast) -> float:
    """Estimate which share of the objects a condition leaves, if all values are equally frequent."""
    (only,) = made.indexes
    present = only.objects / max(1, made.objects)
    one = present / max(1, only.values)
    match operator:
        case "=":
            return one
        case "in":
            return min(present, 2 * one)
        case "!=" | "notin":
            return 1 - one
        case "exists":
            return present
        case "!":
            return 1 - present
        case _:
            return present / 2


def removals(core: Core[Any], indexes: list[Index], seen: Seen, objects: int) -> list[Removal]:
    """Find the indexes that are not worth their bytes, those that take most first."""
    suspects = {index: bad for index in indexes if (bad := _bad_uses(index, seen)) is not None}
    if not suspects:
        return []
    measured = {(each.name, each.kind == "label"): each for each in measure(core).indexes if each.kind != "labels"}
    found = []
    for index, (asked, uses, wide) in suspects.items():
        memory = measured.get((index.name, bool(index.id[0])))
        largest = 0 if memory is None else memory.largest_posting
        if not uses:
            reason = f"none of {asked:,} queries used it"
        elif largest >= _NEARLY_ALL * objects:
            reason = f"{largest:,} of {objects:,} objects have one value, so it narrows nothing"
        else:
            reason = f"in {wide:,} of {uses:,} uses it left more than half of the store: a scan does as well"
        found.append(Removal(index.name, reason, None if memory is None else memory.index_bytes + memory.text_bytes))
    return sorted(found, key=lambda removal: (-(removal.bytes or 0), removal.index))


def _bad_uses(index: Index, seen: Seen) -> tuple[int, int, int] | None:
    """Give queries, uses and wide uses of an index that is not used, or mostly for nothing; None of any other."""
    uses, wide = seen.uses.get(index.id, (0, 0))
    asked = seen.total.asked - seen.since[index.id]
    unused = not uses and asked >= _ENOUGH and seen.all_uses
    useless = uses >= _ENOUGH_USES and wide > uses / 2
    return (asked, uses, wide) if unused or useless else None


def verdict(objects: int, total: Count, add: list[Addition], drop: list[Removal], cautions: list[Caution]) -> str:
    """Say it in a sentence."""
    if not total.asked:
        return "no query was seen"
    if objects < SMALL:
        return f"no index is worth it: with fewer than {SMALL} objects a scan costs next to nothing"
    todo = [f"add {each.declaration}" for each in add] + [f"drop {each.index}" for each in drop]
    if todo:
        return ", ".join(todo)
    if not total.scanned:
        return "nothing to do: indexes answer every query"
    if total.scanned < WORTHWHILE:
        return f"no index is worth it: all queries together looked at {total.scanned:,} objects"
    if cautions:
        return "no index is worth it: what was scanned for makes no good index"
    return "no index is worth it: none would spare much"


def objects_of(core: Core[Any]) -> dict[ObjectKey, Any]:
    """Copy references to all objects, without counting that as a query."""
    with core.lock:
        core.settle()
        slots = core.generation.slots
        return {key: slots.objects[slot] for key, slot in slots.slot_of.items()}


def indexes_of(core: Core[Any]) -> list[Index]:
    """List the indexes that queries may use, but for the namespace's, which every store has."""
    with core.lock:
        core.settle()
        generation = core.generation
        schema = generation.schema
        families = {
            place: list(index.members)
            for place, index in enumerate(generation.indexes)
            if isinstance(index, FamilyIndex)
        }
    return [
        _index(identity, member)
        for identity, place in schema.places.items()
        if place != NAMESPACE
        for member in families.get(place, (None,))
    ]


def _index(identity: Identity, member: str | None) -> Index:
    index = index_id(identity, member)
    path, key = index
    return Index(index, LabelKey(path, key).name if path else key)
