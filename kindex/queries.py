"""Queries: a program run on a store's state, its checks on what is left, and the verdict whether that was a scan.

The lock is held for the program and for copying references; checks, predicates and sorting run after it.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar

from kindex.errors import QueryError, ScanRefusedError, ScopeError
from kindex.explain import Plan, PlanStep
from kindex.indexers.sorted import Descending, SortedIndexer
from kindex.operations import FEW
from kindex.plans import program_of
from kindex.programs import Narrowing, Program
from kindex.scans import matching
from kindex.values import keys_in, ordering
from kindex.watching import Watch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from kindex.indexers.terms import Term
    from kindex.keys import ObjectKey
    from kindex.scans import Test
    from kindex.selectors import FieldSelector, LabelSelector
    from kindex.states import Readable, State
    from kindex.values import Filing

T = TypeVar("T")

Scan: TypeAlias = Literal["allow", "warn", "error"]
Names: TypeAlias = "str | Sequence[str] | None"
Labels: TypeAlias = "str | LabelSelector | Mapping[str, Any] | object | None"
Fields: TypeAlias = "str | FieldSelector | Mapping[str, str] | None"
Order: TypeAlias = "Literal['key'] | SortedIndexer[Any, Any] | Descending[Any] | None"
Where: TypeAlias = "Callable[[T], object] | None"
Pair: TypeAlias = "tuple[ObjectKey, T]"

TOO_MANY = 4
"""A query that looks at more than this many times what its selector lets through is a scan."""


class ScanWarning(UserWarning):
    """A query scanned, and the store or the call says ``scan="warn"``.

    >>> import warnings
    >>> warnings.simplefilter("error", ScanWarning)  # in a test: fail on the first scan
    """


class Query(Generic[T]):
    """What is asked of a store, but for how the answer is cut and ordered."""

    __slots__ = ("core", "fields", "labels", "namespace", "terms")

    def __init__(
        self, core: Readable[T], terms: tuple[Term[T], ...], namespace: Names, labels: Labels, fields: Fields
    ) -> None:
        self.core = core
        self.terms = terms if core.settles is None else core.settles(terms)
        self.namespace = namespace
        self.labels = labels
        self.fields = fields

    def objects(self, scan: Scan | None) -> list[T]:
        """Give all objects that answer, without their keys: the plainest case, and the fastest."""
        check_scan(scan)
        core = self.core
        watch = Watch(core) if core.watchers else None
        while True:
            schema = core.generation.schema
            program = program_of(schema, self.terms, self.namespace, self.labels, self.fields)
            core.check_may_read()
            if watch is not None:
                watch.asks()
            with core.lock:
                if watch is not None:
                    watch.got()
                core.settle()
                generation = core.generation
                if generation.schema is not schema:
                    continue
                candidates = generation.objects_of(program)
                if self.namespace is not None and not candidates:  # else they have one
                    check_namespaced(core, generation)
                everything = generation.held() if program.asks_edge else ()
                if watch is not None:
                    watch.look(program, generation.indexed)
            tests = program.tests_among(everything) if program.asks_edge else program.tests
            if not tests:
                if watch is not None:
                    watch.tell(program, returned=len(candidates))
                return candidates
            matched = matching(candidates, tests)
            if watch is not None:
                scans = _scans(len(candidates), len(matched))
                watch.tell(program, scanned=len(candidates), scans=scans, returned=len(matched))
            judge(core, program, len(candidates), len(matched), scan)
            return matched

    def count(self) -> int | None:
        """Count what answers without touching an object; None when objects must be looked at."""
        core = self.core
        watch = Watch(core) if core.watchers else None
        while True:
            schema = core.generation.schema
            program = program_of(schema, self.terms, self.namespace, self.labels, self.fields)
            if program.test is not None:
                return None
            core.check_may_read()
            if watch is not None:
                watch.asks()
            with core.lock:
                if watch is not None:
                    watch.got()
                core.settle()
                generation = core.generation
                if generation.schema is not schema:
                    continue
                counted = generation.counted(program)
                if self.namespace is not None and not counted:
                    check_namespaced(core, generation)
                if watch is not None:
                    watch.look(program, generation.indexed)
            if watch is not None:
                watch.tell(program, returned=counted)
            return counted

    def pairs(self, where: Where[T], order_by: Order, limit: int | None, scan: Scan | None) -> list[Pair[T]]:
        """Give what answers with its keys, ordered and cut."""
        _check_cut(where, limit)
        check_scan(scan)
        watch = Watch(self.core) if self.core.watchers else None
        early = limit if where is None and order_by is None else None
        program, test, candidates = self._candidates(order_by, early, None, watch)
        chosen, scanned, matched = _filtered(candidates, test, where, limit)
        if program.test is None:
            scanned = 0
        if watch is not None:
            scans = _scans(scanned, matched)
            watch.tell(
                program, scanned=scanned, scans=scans, returned=len(chosen), order_by=order_by, where=where is not None
            )
        judge(self.core, program, scanned, matched, scan)
        return chosen

    def keys(self, limit: int | None, scan: Scan | None) -> list[ObjectKey] | None:
        """Give the keys of what answers, in no order; None when objects must be looked at."""
        _check_cut(None, limit)
        check_scan(scan)
        schema = self.core.generation.schema
        if program_of(schema, self.terms, self.namespace, self.labels, self.fields).test is not None:
            return None
        watch = Watch(self.core) if self.core.watchers else None
        program, keys, _, _, _ = self._found(None, limit, None, watch)
        if program.test is not None:  # an index has gone at this moment
            return None
        if watch is not None:
            watch.tell(program, returned=len(keys))
        return keys

    def plan(self, where: Where[T], order_by: Order, limit: int | None) -> Plan:
        """Answer, and tell how."""
        _check_cut(where, limit)
        trace: list[Narrowing] = []
        program, test, candidates = self._candidates(order_by, None, trace)
        steps = [
            PlanStep(operation.kind, str(operation.what), operation.index, estimate, left, *effort)
            for operation, estimate, left, effort in trace
        ]
        chosen, scanned, matched = _filtered(candidates, test, where, limit)
        if test is None:
            scanned = 0
        else:
            what = ", ".join(check.what for check in program.checks)
            steps.append(PlanStep("check", what, "", scanned, matched))
        if where is not None:
            steps.append(PlanStep("where", getattr(where, "__name__", repr(where)), "", matched, len(chosen)))
        return Plan(
            store=self.core.name,
            objects=len(self.core.generation),
            steps=tuple(steps),
            scanned=scanned,
            returned=len(chosen),
            scans=_scans(scanned, matched),
            dropped=tuple(dict.fromkeys(drop for check in program.checks for drop in check.dropped)),
        )

    def _candidates(
        self, order_by: Order, limit: int | None, trace: list[Narrowing] | None, watch: Watch | None = None
    ) -> tuple[Program, Test | None, list[Pair[T]]]:
        """Give what the indexes leave, ordered, from one state; *limit* cuts it if no check is to follow.

        The check is given, too: what it asks may depend on that state.
        """
        ordered, descending = _order(order_by)
        program, keys, objects, filings, everything = self._found(ordered, limit, trace, watch)
        pairs = list(zip(keys, objects, strict=True))
        test = program.test_among(everything)
        if order_by is None:
            return program, test, pairs
        if ordered is None:
            return program, test, sorted(pairs, key=_key_of_pair)
        if filings is None:  # it broke its budget: the objects are asked
            filings = [ordered.filing_of(obj, key) for key, obj in pairs]
        return program, test, _by_filing(pairs, filings, descending=descending)

    def _found(
        self,
        ordered: SortedIndexer[Any, Any] | None,
        limit: int | None,
        trace: list[Narrowing] | None,
        watch: Watch | None,
    ) -> tuple[Program, list[ObjectKey], list[T], list[Filing] | None, Sequence[T]]:
        """Give what the indexes leave: keys, objects, filings in the index to order by, and all objects if need be."""
        core = self.core
        while True:
            schema = core.generation.schema
            program = program_of(schema, self.terms, self.namespace, self.labels, self.fields)
            spot = None if ordered is None or ordered in schema.dropped else schema.spot_of(ordered)
            if trace is not None:
                trace.clear()
            core.check_may_read()
            if watch is not None:
                watch.asks()
            with core.lock:
                if watch is not None:
                    watch.got()
                core.settle()
                generation = core.generation
                if generation.schema is not schema:
                    continue
                cut = limit if program.test is None else None
                keys, objects, filings = generation.found(program, cut, spot, trace)
                if self.namespace is not None and not keys:
                    check_namespaced(core, generation)
                everything = generation.held() if program.asks_edge else ()
                if watch is not None:
                    watch.look(program, generation.indexed)
            return program, keys, objects, None if spot is None else filings, everything


def judge(core: Readable[Any], program: Program, scanned: int, matched: int, scan: Scan | None) -> None:
    """Count a scan, and warn or refuse as the store or the call says.

    Raises:
        ScanRefusedError: it was one, and ``scan`` is ``"error"``.
        QueryError: *scan* is none of the three.
    """
    policy = core.scan if scan is None else checked_scan(scan)
    if not _scans(scanned, matched):
        return
    core.count_scan()
    if policy == "allow":
        return
    unanswered = ", ".join(check.what for check in program.checks if not check.dropped)
    if not unanswered:  # an index that broke its budget changes speed, never results
        return
    facts = core.name, unanswered, scanned, matched  # no error: one that is raised from a name of its own frame
    if policy == "error":  # makes a cycle with it, and keeps the state that was asked until the collector comes
        raise ScanRefusedError(*facts)
    warnings.warn(str(ScanRefusedError(*facts)), ScanWarning, stacklevel=_level_of_caller())


def check_namespaced(core: Readable[Any], generation: State[Any]) -> None:
    """Refuse a namespace where objects have none. The caller holds the lock.

    Raises:
        ScopeError: the store is of cluster scope, by declaration or by what it holds.
    """
    by_content = core.scope is None and len(generation) and not generation.namespaced
    if core.scope == "cluster" or by_content:
        raise ScopeError(f"the objects of store {core.name!r} have no namespace; leave namespace= out")


def checked_scan(scan: object) -> Scan:
    """Give *scan* if it is one of the three words.

    Raises:
        QueryError: it is not.
    """
    if scan not in ("allow", "warn", "error"):
        raise QueryError(f"scan is 'allow', 'warn' or 'error', not {scan!r}")
    return scan


def _filtered(
    pairs: list[Pair[T]], test: Callable[[T], bool] | None, where: Where[T], limit: int | None
) -> tuple[list[Pair[T]], int, int]:
    """Run the checks, then the predicate, until the limit; count what was looked at and what passed the checks."""
    if test is None and where is None:
        chosen = pairs if limit is None else pairs[:limit]
        return chosen, len(chosen), len(chosen)
    chosen, scanned, matched = [], 0, 0
    for pair in pairs:
        if limit is not None and len(chosen) >= limit:
            break
        scanned += 1
        if test is not None and not test(pair[1]):
            continue
        matched += 1
        if where is None or where(pair[1]):
            chosen.append(pair)
    return chosen, scanned, matched


def _scans(scanned: int, matched: int) -> bool:
    return scanned > max(FEW, TOO_MANY * matched)


def check_scan(scan: object) -> None:
    """Refuse a word that is none of the three, also where nothing scans; None is what the store says."""
    if scan is not None:
        checked_scan(scan)


def _check_cut(where: object, limit: object) -> None:
    if where is not None and not callable(where):
        raise QueryError(f"where is a predicate, a function of one object, not {where!r}")
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
        raise QueryError(f"limit is a number of objects, 0 or more, not {limit!r}")


def _order(order_by: object) -> tuple[SortedIndexer[Any, Any] | None, bool]:
    """Read what to order by: an indexer, None for the key or for no order; and whether the order is reversed."""
    match order_by:
        case None | "key":
            return None, False
        case Descending(indexer=indexer):
            return indexer, True
        case SortedIndexer():
            return order_by, False
        case _:
            raise QueryError(f"order_by is 'key', a SortedIndexer or its descending(), not {order_by!r}")


def _by_filing(pairs: list[Pair[T]], filings: list[Filing], *, descending: bool) -> list[Pair[T]]:
    """Order by value, then by key; of several values the first in this order counts; without one is last."""
    first = max if descending else min
    valued, rest = [], []
    for pair, filing in zip(pairs, filings, strict=True):
        keys = keys_in(filing)
        if keys:
            valued.append((first(map(ordering, keys)), pair))
        else:
            rest.append(pair)
    valued.sort(key=lambda ranked: ranked[1][0])
    valued.sort(key=lambda ranked: ranked[0], reverse=descending)
    return [pair for _, pair in valued] + sorted(rest, key=_key_of_pair)


def _key_of_pair(pair: Pair[Any]) -> ObjectKey:
    return pair[0]


def _level_of_caller() -> int:
    """Find the stack level of the code that called kindex, for a warning that names its line."""
    frame, level = sys._getframe(), 0  # noqa: SLF001 - as the warnings module does
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("kindex."):
        frame, level = frame.f_back, level + 1
    return level
