"""Object budgets: what the objects of an informer take, counted while they come in, and what to do when it is much.

What is being listed counts from its first page on, beside what is in the store already: while a list comes in again,
there are two of each object.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from sys import getsizeof
from typing import Any, Final, Literal, TypeAlias

import msgspec

from kindex.deltas import Delta
from kindex.errors import ObjectBudgetError
from kindex.footprints import object_bytes
from kindex.lazy import LazyObject

OnObjectBudget: TypeAlias = Literal["warn", "stop"]

_log = logging.getLogger(__name__)

_QUIET: Final = 0.9
"""A budget that was broken is warned of again after the objects took less than this share of it."""

_SAMPLED: Final = 32
"""Of objects that are not lazy one in so many is measured, after as many at the beginning."""


class ObjectGauge:
    """What all objects of an informer take, and may take.

    >>> gauge = ObjectGauge("pods", 1_000_000, "stop")
    >>> tally = gauge.tally()
    >>> tally.came([LazyObject.from_dict({"metadata": {"name": "a"}, "data": "x" * 600_000})])
    >>> tally.came([LazyObject.from_dict({"metadata": {"name": "b"}, "data": "x" * 600_000})])
    Traceback (most recent call last):
    ...
    kindex.errors.ObjectBudgetError: the objects of informer 'pods' take 1,200,... bytes, of which some are still ...
    """

    def __init__(self, informer: str, budget: int, on_broken: OnObjectBudget) -> None:
        """Keep *informer* to so many bytes."""
        self._informer = informer
        self._budget = budget
        self._on_broken = on_broken
        self._tallies: tuple[ObjectTally, ...] = ()
        self._broken = False

    @property
    def bytes(self) -> int:
        """What the objects take now."""
        return sum(tally.stored + tally.coming for tally in self._tallies)

    def tally(self) -> ObjectTally:
        """Make the tally of one part of the objects."""
        tally = ObjectTally(self)
        self._tallies = (*self._tallies, tally)
        return tally

    def check(self) -> None:
        """Warn, or refuse to go on, if the objects take more than they may.

        Raises:
            ObjectBudgetError: they do, and the informer is to be stopped then.
        """
        size = self.bytes
        if size <= self._budget:
            self._broken = self._broken and size > _QUIET * self._budget
            return
        if self._on_broken == "stop":
            raise ObjectBudgetError(self._informer, size, self._budget)
        if not self._broken:
            self._broken = True
            _log.warning("%s: the objects take %s bytes; object_budget is %s", self._informer, size, self._budget)


class ObjectTally:
    """What the objects of one namespace, or of all, take. One thread at a time counts.

    Attributes:
        stored: bytes of those in the store.
        coming: bytes of those that are being listed.
    """

    def __init__(self, gauge: ObjectGauge) -> None:
        """Count for *gauge*."""
        self._gauge = gauge
        self._seen = self._measured = self._measured_bytes = 0
        self.stored = 0
        self.coming = 0

    def came(self, objects: Iterable[object]) -> None:
        """Count objects of a list that is not complete yet."""
        self.coming += sum(map(self._bytes_of, objects))
        self._gauge.check()

    def begin(self) -> None:
        """Forget what came of a list: another one begins."""
        self.coming = 0

    def replaced(self) -> None:
        """Take note that the list is in the store now, and nothing else."""
        self.stored, self.coming = self.coming, 0
        self._gauge.check()

    def changed(self, deltas: Sequence[Delta[Any]]) -> None:  # Any: of whatever objects
        """Count what a commit did."""
        for delta in deltas:
            old, new = delta.old, delta.new
            if type(old) is LazyObject and type(new) is LazyObject:
                self.stored += len(new.raw) - len(old.raw)  # what else differs is little, and measuring it takes 8 us
            else:
                self.stored += self._bytes_of(new) - self._bytes_of(old)
        self._gauge.check()

    def clear(self) -> None:
        """Take note that there are no objects any more."""
        self.stored = self.coming = 0

    def _bytes_of(self, obj: object) -> int:
        """Give what an object takes: a LazyObject as it is, another as others like it, of which some are measured."""
        if obj is None:
            return 0
        if type(obj) is LazyObject:
            return object_bytes(obj) or 0
        self._seen += 1
        if self._seen <= _SAMPLED or self._seen % _SAMPLED == 0:
            self._measured += 1
            self._measured_bytes += object_bytes(obj) or deep_bytes(obj)
        return self._measured_bytes // self._measured


def deep_bytes(obj: object) -> int:
    """Count what an object of any type takes with all that is in it, each part once; of a Struct or the like.

    >>> deep_bytes({"a": ["x" * 1_000] * 2}) < 1_500
    True
    """
    seen: set[int] = set()
    total = 0
    parts: list[Any] = [obj]  # Any: whatever is in an object
    while parts:
        part = parts.pop()
        if id(part) in seen or part is None or isinstance(part, type):
            continue
        seen.add(id(part))
        total += getsizeof(part)
        if isinstance(part, Mapping):
            parts += part.keys()
            parts += part.values()
        elif isinstance(part, (list, tuple, set, frozenset)):
            parts += part
        elif isinstance(part, msgspec.Struct):
            parts += msgspec.structs.astuple(part)
        elif not isinstance(part, (str, bytes, int, float)):
            parts += vars(part).values() if hasattr(part, "__dict__") else ()
    return total
