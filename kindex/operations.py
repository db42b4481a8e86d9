"""Operations: the parts of a query that postings answer.

Each gives the slots that it selects, or excludes when it is negative, with an estimate before it does so. None looks at
an object or runs user code, so they may run under the lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from pyroaring import BitMap

from kindex.column_index import ColumnIndex
from kindex.keys import ObjectKey
from kindex.map_index import MapIndex
from kindex.postings import Posting, both, either, normal, size, slots_in, without
from kindex.schema import NAMESPACE
from kindex.values import keys_in

if TYPE_CHECKING:
    from kindex.generation import Generation
    from kindex.schema import Spot
    from kindex.selector_index import Labels, SelectorIndex
    from kindex.shapes import Condition
    from kindex.values import ValueKey

FEW = 64
"""Up to so many slots it is cheaper to ask the reverse side than to unite postings; and no query is called a scan."""


class Effort(NamedTuple):
    """How many selectors a step looked at, and of how many some requirement was left to evaluate."""

    candidates: int = 0
    evaluated: int = 0


NO_EFFORT = Effort()


class Operation:
    """A part of a query that postings answer: ``slots`` are those it selects, or excludes when it is ``negative``.

    ``what`` prints as the part, for plans: the term, where it answers one. Else ``conditions`` say what was asked.
    ``spots`` are the indexes that answer it, for those who watch.
    """

    __slots__ = ("conditions", "index", "negative", "what")

    def __init__(self, what: object, index: str, *, negative: bool = False) -> None:
        self.conditions: tuple[Condition, ...] = ()
        self.what = what
        self.index = index
        self.negative = negative

    @property
    def kind(self) -> str:
        """What step of a plan it is."""
        return "subtract" if self.negative else "index"

    @property
    def spots(self) -> tuple[Spot, ...]:
        return ()

    def estimate(self, generation: Generation[Any]) -> int:
        """Give an upper bound of the number of its slots, cheaply."""
        raise NotImplementedError

    def slots(self, generation: Generation[Any]) -> Posting | None:
        """Give its slots, to be read under the lock and not changed."""
        raise NotImplementedError

    def effort(self, generation: Generation[Any]) -> Effort:  # noqa: ARG002 - most need none
        """Tell what ``slots`` looks at besides postings; for ``explain``. The caller holds the lock."""
        return NO_EFFORT

    def applied(self, generation: Generation[Any], current: Posting | None) -> Posting | None:
        """Narrow *current*: to its slots, or to the others when it is negative."""
        combine = without if self.negative else both
        return combine(current, self.slots(generation))


class Indexed(Operation):
    """An operation on one index."""

    __slots__ = ("spot",)

    def __init__(self, what: object, index: str, spot: Spot, *, negative: bool = False) -> None:
        super().__init__(what, index, negative=negative)
        self.spot = spot

    @property
    def spots(self) -> tuple[Spot, ...]:
        return (self.spot,)

    def estimate(self, generation: Generation[Any]) -> int:
        return len(generation.index_at(self.spot).present)


class Filed(Indexed):
    """The slots filed under one of some keys."""

    __slots__ = ("keys",)

    def __init__(
        self,
        what: object,
        index: str,
        spot: Spot,
        keys: tuple[ValueKey, ...],
        *,
        negative: bool = False,
    ) -> None:
        super().__init__(what, index, spot, negative=negative)
        self.keys = keys

    def estimate(self, generation: Generation[Any]) -> int:
        posting = generation.index_at(self.spot).posting
        return sum(size(posting(key)) for key in self.keys)

    def slots(self, generation: Generation[Any]) -> Posting | None:
        posting = generation.index_at(self.spot).posting
        if len(self.keys) == 1:
            return posting(self.keys[0])
        return either(map(posting, self.keys))

    def applied(self, generation: Generation[Any], current: Posting | None) -> Posting | None:
        if len(self.keys) == 1 or size(current) > FEW:
            return super().applied(generation, current)
        # A union of 500 values to intersect with ten slots would be work for nothing.
        index, keys = generation.index_at(self.spot), frozenset(self.keys)
        return _kept(current, lambda slot: keys.isdisjoint(keys_in(index.filing(slot))) is self.negative)


class Present(Indexed):
    """The slots filed under any value."""

    __slots__ = ()

    def slots(self, generation: Generation[Any]) -> Posting | None:
        return normal(generation.index_at(self.spot).present)


class NotEmpty(Present):
    """The slots filed under any value but the empty text: an absent field equals an empty one."""

    __slots__ = ()

    def slots(self, generation: Generation[Any]) -> Posting | None:
        return without(super().slots(generation), generation.index_at(self.spot).posting(""))


class Passing(Indexed):
    """The slots filed under keys that have to be found first, by going over the keys of the index."""

    __slots__ = ("find",)

    def __init__(
        self,
        what: object,
        index: str,
        spot: Spot,
        find: Callable[[MapIndex | ColumnIndex], Iterable[ValueKey]],
    ) -> None:
        super().__init__(what, index, spot)
        self.find = find

    def slots(self, generation: Generation[Any]) -> Posting | None:
        index = generation.index_at(self.spot)
        return either(map(index.posting, self.find(index)))


class Selected(Indexed):
    """The slots of the objects whose selector matches one of some labels, or exactly one of two."""

    __slots__ = ("differs", "sides")

    def __init__(self, what: object, index: str, spot: Spot, sides: tuple[Labels, ...], *, differs: bool) -> None:
        super().__init__(what, index, spot)
        self.sides = sides
        self.differs = differs

    def slots(self, generation: Generation[Any]) -> Posting | None:
        index = self._index(generation)
        found = [either(map(index.posting, index.matching(labels))) for labels in self.sides]
        if not self.differs:
            return found[0] if len(found) == 1 else either(found)
        one, other = found
        return either((without(one, other), without(other, one)))

    def applied(self, generation: Generation[Any], current: Posting | None) -> Posting | None:
        if self.negative or self.sides[1:] or type(current) is not BitMap:
            return super().applied(generation, current)
        # Most selectors have one object each: those of other namespaces need not be united first.
        index = self._index(generation)
        postings = [index.forward[key] for key in index.matching(self.sides[0])]
        return both(current, either(each for each in postings if not isinstance(each, int) or each in current))

    def effort(self, generation: Generation[Any]) -> Effort:
        index = self._index(generation)
        looked_at = [(text, rest) for labels in self.sides for text, rest in index.candidates(labels)]
        return Effort(len(looked_at), sum(bool(rest) for _, rest in looked_at))

    def _index(self, generation: Generation[Any]) -> SelectorIndex:
        return cast("SelectorIndex", generation.index_at(self.spot))


class Named(Operation):
    """The slots of the objects with one name, in whatever namespace. O(namespaces)."""

    __slots__ = ("name",)

    def __init__(self, what: object, name: str, *, negative: bool) -> None:
        super().__init__(what, "key", negative=negative)
        self.name = name

    def estimate(self, generation: Generation[Any]) -> int:
        return len(generation.indexes[NAMESPACE]) + 1

    def slots(self, generation: Generation[Any]) -> Posting | None:
        slot_of = generation.slots.slot_of
        namespaces = generation.indexes[NAMESPACE].keys()  # type: ignore[union-attr]  # never a family
        return either(slot_of.get(ObjectKey(cast("str", namespace), self.name)) for namespace in ("", *namespaces))


class Nothing(Operation):
    """No slot at all."""

    __slots__ = ()

    def estimate(self, generation: Generation[Any]) -> int:  # noqa: ARG002 - an Operation
        return 0

    def slots(self, generation: Generation[Any]) -> Posting | None:  # noqa: ARG002 - an Operation
        return None


class Combined(Operation):
    """The slots of any, or of all, of some operations.

    Where the result is the complement of a set, it is negative and ``slots`` are that set (De Morgan), so nothing is
    ever complemented against the whole store.
    """

    __slots__ = ("_alike", "_opposite", "unite")

    def __init__(self, what: object, parts: list[Operation], *, unite: bool) -> None:
        negatives = [part.negative for part in parts]
        negative = any(negatives) if unite else all(negatives)
        super().__init__(what, ", ".join(dict.fromkeys(part.index for part in parts)), negative=negative)
        # A union with a complement in it is the complement of an intersection. Where sets are united, all are alike:
        # one of the other sign would have made an intersection of it.
        self.unite = unite is not negative
        self._alike = [part for part in parts if part.negative is negative]
        self._opposite = [part for part in parts if part.negative is not negative]

    @property
    def spots(self) -> tuple[Spot, ...]:
        return tuple(spot for part in (*self._alike, *self._opposite) for spot in part.spots)

    def estimate(self, generation: Generation[Any]) -> int:
        sizes = [part.estimate(generation) for part in self._alike]
        return sum(sizes) if self.unite else min(sizes)

    def effort(self, generation: Generation[Any]) -> Effort:
        parts = [part.effort(generation) for part in (*self._alike, *self._opposite)]
        return Effort(*map(sum, zip(*parts, strict=True)))

    def slots(self, generation: Generation[Any]) -> Posting | None:
        if self.unite:
            return either(part.slots(generation) for part in self._alike)
        current = self._alike[0].slots(generation)
        for part in self._alike[1:]:
            current = both(current, part.slots(generation))
        for part in self._opposite:
            current = without(current, part.slots(generation))
        return current


def _kept(posting: Posting | None, keeps: Callable[[int], bool]) -> Posting | None:
    return either(slot for slot in slots_in(posting) if keeps(slot))
