"""Advisor: watches the queries of a store, and says what to index and what not.

It counts by shape, keeps text and numbers only, and works out its advice when it is asked for it.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Self

from kindex.advice import Advice
from kindex.counts import Count, Seen, UseCount
from kindex.errors import QueryError
from kindex.forks import tell_when_forked
from kindex.proposals import SMALL, additions, indexes_of, objects_of, removals, verdict
from kindex.store_views import StoreView
from kindex.watching import Answered, IndexId, Use, unwatch, watch

if TYPE_CHECKING:
    from types import TracebackType

    from kindex.advice import Addition, Caution, Removal
    from kindex.core import Core
    from kindex.proposals import Index
    from kindex.shapes import Shape

_BACKLOG = 1_000
"""Up to so many queries wait to be counted by another thread before one waits for that thread."""

_PATIENCE_SECONDS = 0.1
"""How long it then waits at most: a finalizer that queries may hold what that thread waits for."""

_LONGEST = 1_000
"""The longest text of a shape that is kept; one query can name any number of keys, of any length."""

_MOST_INDEXES = 10_000
"""Of so many indexes the uses are counted."""


class Advisor:
    """Watches the queries of a store, and says what to index and what not.

    It counts what ``select``, ``keys``, ``first``, ``any`` and ``count`` ask, by shape: the same conditions with other
    values are one shape. It begins at once, and ends with ``stop()``, as a context manager, or when nobody refers to it
    any more. Several may watch one store. A store that nobody watches pays nothing for the possibility, one that is
    watched a few microseconds a query.

    It keeps no object, value or predicate; its memory is bounded by *max_shapes*.

    Args:
        store: a store or a view of it.
        clock: gives seconds; queries are timed by it, each time without any lock.
        max_shapes: beyond this number the shapes that were asked least are counted together.

    Raises:
        QueryError: *store* is neither, or *max_shapes* is no number of shapes.

    >>> from kindex import Store
    >>> pods = Store(name="pods")
    >>> for i in range(1_000):
    ...     labels = {"app": f"app-{i % 50}"}
    ...     _ = pods.put({"metadata": {"name": f"pod-{i}", "namespace": "prod", "labels": labels}})
    >>> with Advisor(pods) as advisor:
    ...     for i in range(50):
    ...         _ = pods.select(namespace="prod", label_selector=f"app=app-{i}")
    >>> advice = advisor.report()
    >>> [(each.declaration, each.values, each.scans) for each in advice.add]
    [("LabelIndexer('app')", 50, 50)]
    >>> print(advice.verdict)
    add LabelIndexer('app')
    """

    def __init__(
        self,
        store: StoreView[Any],  # Any: whatever it keeps; the advisor reads labels and fields alone
        *,
        clock: Callable[[], float] = time.perf_counter,
        max_shapes: int = 1_000,
    ) -> None:
        if not isinstance(store, StoreView):
            raise QueryError(f"an advisor watches a store or a view of one, not {store!r}")
        if isinstance(max_shapes, bool) or not isinstance(max_shapes, int) or max_shapes < 1:
            raise QueryError(f"max_shapes is a number of shapes, 1 or more, not {max_shapes!r}")
        self._core: Core[Any] = store._core  # noqa: SLF001 - the one thing that a view is made of
        self._clock = clock
        self._max_shapes = max_shapes
        # Guards what follows. Never taken under a store's lock, but by a finalizer that Python runs there: so nobody
        # waits for it who need not.
        self._lock = threading.RLock()
        tell_when_forked(self)
        self._told: deque[tuple[tuple[Use, ...], Answered | None, float]] = deque()
        self._counting = False
        self._total, self._others = Count(), Count()
        self._shapes: dict[Shape, Count] = {}
        self._uses: dict[IndexId, UseCount] = {}
        # Since how many queries each index has been there, as far as the advisor knows.
        self._since: dict[IndexId, int] = {each.id: 0 for each in indexes_of(self._core)}
        watch(self._core, self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"Advisor({self._core.name!r}, {self._total.asked} queries seen)"

    def stop(self) -> None:
        """Watch no more; what was counted stays. May be called again."""
        unwatch(self._core, self)

    def report(self) -> Advice:
        """Say what was asked, what to index, what not to, and why.

        Reads the store for it, without counting that: O(shapes + values of the indexes), and for up to twenty keys or
        paths that were scanned for a forecast over a sample. Calls index functions of labels and fields only.

        Raises:
            InCommitError: this is a finalizer or signal handler that runs in the middle of a commit.
        """
        self._core.check_may_read()
        indexes = indexes_of(self._core)
        seen = self._seen(indexes)
        objects = objects_of(self._core)
        asked = [count.as_asked(str(shape)) for shape, count in seen.shapes.items()]
        asked.sort(key=lambda each: (-each.scanned, -each.seconds, each.shape))
        add: list[Addition] = []
        cautions: list[Caution] = []
        drop: list[Removal] = []
        if len(objects) >= SMALL:
            add, cautions = additions(self._core.generation.schema, objects, seen.shapes)
            drop = removals(self._core, indexes, seen, len(objects))
        return Advice(
            store=self._core.name,
            objects=len(objects),
            total=seen.total.as_asked("all"),
            shapes=tuple(asked),
            others=seen.others.as_asked("other shapes"),
            add=tuple(add),
            drop=tuple(drop),
            cautions=tuple(cautions),
            verdict=verdict(len(objects), seen.total, add, drop, cautions),
        )

    # What queries call, without any lock

    def begin(self) -> Callable[[Answered], None]:
        """Take note that a query begins; the store's queries call this."""
        clock = self._clock
        started = clock()
        return lambda answered: self._note(answered.uses, answered, clock() - started)

    def read(self, index: IndexId) -> None:
        """Take note that an index was read as a whole; ``tally`` and ``index_values`` call this."""
        self._note((Use(index, None),), None, 0.0)

    def forked(self) -> None:
        """Go on in a child process; anew, if another thread was counting at that moment."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
            self._counting = False

    def _note(self, uses: tuple[Use, ...], answered: Answered | None, seconds: float) -> None:
        self._told.append((uses, answered, seconds))
        if self._lock.acquire(timeout=_PATIENCE_SECONDS if len(self._told) > _BACKLOG else 0):
            try:
                self._count()
            finally:
                self._lock.release()

    def _count(self) -> None:
        """Count what was told. The caller holds the lock."""
        if self._counting:  # a finalizer or signal handler, amid the same: what it told is counted there
            return
        self._counting = True
        try:
            while self._told:
                uses, answered, seconds = self._told.popleft()
                for use in uses:
                    self._count_use(use, 0 if answered is None else answered.objects)
                if answered is not None:
                    self._count_query(answered, seconds)
        finally:
            self._counting = False

    def _count_use(self, use: Use, objects: int) -> None:
        count = self._uses.get(use.of)
        if count is None:
            if len(self._uses) >= _MOST_INDEXES:
                return
            count = self._uses[use.of] = UseCount()
        count.uses += 1
        if use.leaves is not None and objects >= SMALL and use.leaves > objects / 2:
            count.wide += 1

    def _count_query(self, answered: Answered, seconds: float) -> None:
        self._total.add(answered, seconds)
        count = self._shapes.get(answered.shape)
        if count is None:
            if answered.shape.length > _LONGEST:
                count = self._others
            else:
                self._make_room()
                count = self._shapes[answered.shape] = Count()
        count.add(answered, seconds)

    def _make_room(self) -> None:
        """Fold some shapes rather than one: finding those that were asked least is O(shapes)."""
        if len(self._shapes) >= self._max_shapes:
            for shape in nsmallest(1 + self._max_shapes // 16, self._shapes, key=lambda each: self._shapes[each].asked):
                self._others.merge(self._shapes.pop(shape))

    def _seen(self, indexes: list[Index]) -> Seen:
        with self._lock:
            self._count()
            # An index that was added meanwhile is judged by the queries from now on.
            self._since = {each.id: self._since.get(each.id, self._total.asked) for each in indexes}
            return Seen(
                self._total.copy(),
                self._others.copy(),
                {shape: count.copy() for shape, count in self._shapes.items()},
                {index: (count.uses, count.wide) for index, count in self._uses.items()},
                dict(self._since),
                all_uses=len(self._uses) < _MOST_INDEXES,
            )
