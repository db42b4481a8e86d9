"""Programs: compiled queries, and how their operations narrow a store's slots.

``Program.narrowed`` runs the operations: the smallest posting first, an empty one ends it, and what is negative
(``notin``, ``!=``, ``!key``, ``~``) is subtracted from what is left. No object is looked at, so it may run under the
lock; the checks are user code and may not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from kindex.indexers.terms import Term, settled_among
from kindex.operations import NO_EFFORT, Effort, Filed, Operation
from kindex.postings import Posting, both, normal, size
from kindex.shapes import Condition, conditions_of

if TYPE_CHECKING:
    from kindex.budgets import Drop
    from kindex.generation import Generation
    from kindex.scans import Test


class Check(NamedTuple):
    """A part of a query that no index answers: a test on each object that is left.

    ``dropped`` are the drops that are why: with none, the part was never indexed. ``edge`` is the part itself where it
    asks for the smallest or largest value, so that ``test`` alone cannot tell.
    """

    what: str
    test: Test
    conditions: tuple[Condition, ...] = ()
    dropped: tuple[Drop, ...] = ()
    edge: Term[Any] | None = None


class Narrowing(NamedTuple):
    """One operation as it was run, for ``explain``."""

    operation: Operation
    estimate: int
    left: int
    effort: Effort = NO_EFFORT


class Program:
    """A compiled query: operations on postings, and checks on the objects that they leave.

    It belongs to the schema that it was compiled for. ``only`` is the operation of a program that has just one, and no
    more: the commonest query, with a way of its own. ``stored_at`` is the index whose posting is then the answer as it
    stands there, if no more is to be done for it.
    """

    __slots__ = (
        "_asked",
        "_looked_up",
        "asks_edge",
        "checks",
        "excluding",
        "only",
        "selecting",
        "stored_at",
        "test",
        "tests",
    )

    def __init__(self, operations: Iterable[Operation], checks: list[Check]) -> None:
        operations = list(operations)
        self.selecting = [operation for operation in operations if not operation.negative]
        self.excluding = [operation for operation in operations if operation.negative]
        self.checks = checks
        self.tests: list[Test] = [check.test for check in checks]
        self.test = _all_of(self.tests)
        self.asks_edge = any(check.edge is not None for check in checks)
        self.only = operations[0] if len(operations) == len(self.selecting) == 1 else None
        plain = isinstance(self.only, Filed) and len(self.only.keys) == 1
        self.stored_at = cast("Filed", self.only).spot if plain else None
        # Otherwise the smallest comes first, since it may make the others needless.
        self._looked_up = all(isinstance(each, Filed) and len(each.keys) == 1 for each in self.selecting)
        self._asked: tuple[tuple[Condition, ...], tuple[Condition, ...]] | None = None

    @property
    def asked(self) -> tuple[tuple[Condition, ...], tuple[Condition, ...]]:
        """The conditions that indexes answer, and those that are checked; each sorted. For those who watch."""
        if self._asked is None:
            operations = {each for part in (*self.selecting, *self.excluding) for each in _asked_by(part)}
            checks = {each for check in self.checks for each in check.conditions}
            self._asked = tuple(sorted(operations)), tuple(sorted(checks))
        return self._asked

    def tests_among(self, objects: Sequence[Any]) -> list[Test]:
        """Give ``tests`` for a store of these *objects*: what is smallest or largest depends on all of them."""
        if not self.asks_edge:
            return self.tests
        return [
            check.test if check.edge is None else settled_among(check.edge, objects).matches for check in self.checks
        ]

    def test_among(self, objects: Sequence[Any]) -> Test | None:
        """Give ``test`` in the same way."""
        return _all_of(self.tests_among(objects)) if self.asks_edge else self.test

    @property
    def takes_all(self) -> bool:
        """Whether no operation narrows it: every object is left."""
        return not (self.selecting or self.excluding)

    def narrowed(self, generation: Generation[Any], trace: list[Narrowing] | None = None) -> Posting | None:
        """Give the slots that the operations leave. The caller holds the lock."""
        if self.only is not None and trace is None:
            return self.only.slots(generation)
        current: Posting | None
        if self._looked_up and trace is None and len(self.selecting) > 1:
            return self._looked_up_in(generation)
        ordered = [(operation.estimate(generation), operation) for operation in self.selecting]
        if ordered:
            ordered.sort(key=_estimate_of)
            estimate, first = ordered[0]
            current = first.slots(generation)
            if trace is not None:
                trace.append(Narrowing(first, estimate, size(current), first.effort(generation)))
        else:
            current = normal(generation.slots.live())
        for estimate, operation in ordered[1:]:
            if current is None:
                return None
            current = operation.applied(generation, current)
            if trace is not None:
                trace.append(Narrowing(operation, estimate, size(current), operation.effort(generation)))
        for operation in self.excluding:
            if current is None:
                return None
            current = operation.applied(generation, current)
            if trace is not None:
                estimate, effort = operation.estimate(generation), operation.effort(generation)
                trace.append(Narrowing(operation, estimate, size(current), effort))
        return current

    def _looked_up_in(self, generation: Generation[Any]) -> Posting | None:
        """Do so where each posting is looked up: their sizes are no estimates then, and come with them."""
        postings = [operation.slots(generation) for operation in self.selecting]
        if len(postings) > 2:
            postings.sort(key=size)
        current = both(postings[0], postings[1])
        for posting in postings[2:]:
            current = both(current, posting)
        for operation in self.excluding:
            if current is None:
                return None
            current = operation.applied(generation, current)
        return current

    def counted(self, generation: Generation[Any]) -> int:
        """Count the slots that the operations leave, making no set for the last step. The caller holds the lock."""
        if self.takes_all:
            return len(generation.slots)
        if self._looked_up and len(self.selecting) == 2 and not self.excluding:
            first, second = self.selecting
            left, right = first.slots(generation), second.slots(generation)
            if left is None or right is None:
                return 0
            if isinstance(left, int) or isinstance(right, int):
                return size(both(left, right))
            return left.intersection_cardinality(right)
        return size(self.narrowed(generation))


def _asked_by(operation: Operation) -> tuple[Condition, ...]:
    return conditions_of(operation.what) if isinstance(operation.what, Term) else operation.conditions


def _all_of(tests: list[Test]) -> Test | None:
    if len(tests) <= 1:
        return tests[0] if tests else None
    return lambda obj: all(test(obj) for test in tests)


def _estimate_of(pair: tuple[int, Operation]) -> int:
    return pair[0]
