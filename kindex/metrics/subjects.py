"""Subjects: a store, or an informer with its store, read for a scrape.

A subject refers weakly to what it reads, so metrics keep nobody alive.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import ref

from kindex.errors import KindexError
from kindex.forks import tell_when_forked
from kindex.lock_times import LockTimes
from kindex.measuring import measure, sizes
from kindex.metrics.queries import Names, QueryCounts
from kindex.watching import unwatch, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kindex.core import Core
    from kindex.informer.informing import AnyInformer
    from kindex.lock_times import By
    from kindex.memory import MemoryReport

# Any, below: of whatever objects; none is looked at.


class MetricsError(KindexError, ValueError):
    """Metrics that cannot be told apart, or are not kindex's to give; the sentence says what to do.

    >>> from prometheus_client import CollectorRegistry
    >>> from kindex import Store
    >>> from kindex.metrics import Metrics
    >>> Metrics(Store(name="pods"), Store(name="pods"), registry=CollectorRegistry())
    Traceback (most recent call last):
    ...
    kindex.metrics.subjects.MetricsError: there is a store 'pods' here already, and two of one name cannot be told ...
    """


class Sample(NamedTuple):
    """One value of a metric, with its labels in the order of the table."""

    metric: str
    labels: tuple[str, ...]
    value: float


class Subject:
    """A store, or an informer with its store, under a name.

    Args:
        name: the value of the label ``store``.
        core: of the store.
        informer: that fills it; None where somebody else does.
        memory_seconds: how old a count of bytes may be; None: bytes are never counted.
        max_indexes: of so many indexes each has a name of its own.
        queries: whether to count them.
        clock: the time.
    """

    def __init__(
        self,
        name: str,
        core: Core[Any],
        informer: AnyInformer[Any, Any] | None,
        *,
        memory_seconds: float | None,
        max_indexes: int,
        queries: bool,
        clock: Callable[[], float],
    ) -> None:
        self.name = name
        self._core = ref(core)
        self._informer = None if informer is None else ref(informer)
        self._memory_seconds = memory_seconds
        self._clock = clock
        self._names = Names(max_indexes)
        self._counts = QueryCounts(self._names)
        self._by: tuple[By, ...] = ("query", "write") if queries else ("write",)
        if queries:
            watch(core, self._counts)
        self._measures = self._closed = False  # guarded by the lock of the store
        self._lock = threading.Lock()  # guards what follows: two scrapes measure once
        self._measured: tuple[float, MemoryReport] | None = None
        tell_when_forked(self)

    @property
    def gone(self) -> bool:
        """Whether there is nothing to read any more: the store is no longer used, or the informer was stopped."""
        if self._core() is None:
            return True
        informer = None if self._informer is None else self._informer()
        return self._informer is not None and (informer is None or informer.stopped)

    def begin(self) -> None:
        """Let the times of the lock be measured, unless this was closed meanwhile."""
        core = self._core()
        if core is None:
            return
        with core.lock:
            if self._measures or self._closed:
                return
            self._measures = True
            if core.lock_times is None:
                core.lock_times = LockTimes(self._clock)
            core.lock_times.measurers += 1

    def close(self) -> None:
        """Count and measure nothing more; the last who measured the lock ends that."""
        core = self._core()
        if core is None:
            return
        unwatch(core, self._counts)
        with core.lock:
            self._closed = True
            if self._measures and core.lock_times is not None:
                self._measures = False
                core.lock_times.measurers -= 1
                if not core.lock_times.measurers:
                    core.lock_times = None

    def reads(self, core: Core[Any]) -> bool:
        """Tell whether this is about the store of *core*."""
        return self._core() is core

    def forked(self) -> None:
        """Go on in a child process, where no other thread measures."""
        self._lock = threading.Lock()

    def samples(self) -> Iterator[Sample]:
        """Read it. The lock of the store is taken for moments, so that writers pass in between."""
        core = self._core()
        if core is None:
            return
        yield from self._of_store(core)
        yield from self._of_indexes(core)
        yield from self._of_budgets(core)
        yield from self._of_queries()
        informer = None if self._informer is None else self._informer()
        if informer is not None:
            yield from self._of_informer(informer, core)

    def _one(self, metric: str, value: float) -> Sample:
        return Sample(metric, (self.name,), value)

    def _several(self, metric: str, values: Counter[str]) -> Iterator[Sample]:
        return (Sample(metric, (self.name, index), value) for index, value in values.items())

    def _of_store(self, core: Core[Any]) -> Iterator[Sample]:
        with core.lock:
            core.settle()
            objects, revision = len(core.generation), core.generation.revision
            inboxes = [] if core.feed is None else core.feed.inboxes()
            queued = [len(inbox) for inbox in inboxes]
            ignored = dict(core.ignored)
            times = core.lock_times
            spans = [] if times is None else [(by, times.of[by].sums) for by in self._by]
        yield self._one("kindex_store_objects", objects)
        yield self._one("kindex_store_revision", revision)
        yield self._one("kindex_store_followers", len(queued))
        yield self._one("kindex_store_queued_items", sum(queued))
        yield self._one("kindex_store_queued_items_max", max(queued, default=0))
        for by, (takes, waited, held) in spans:
            yield Sample("kindex_store_lock_takes_total", (self.name, by), takes)
            yield Sample("kindex_store_lock_wait_seconds_total", (self.name, by), waited)
            yield Sample("kindex_store_lock_hold_seconds_total", (self.name, by), held)
        for reason, count in ignored.items():
            yield Sample("kindex_store_ignored_events_total", (self.name, reason), count)

    def _of_indexes(self, core: Core[Any]) -> Iterator[Sample]:
        values: Counter[str] = Counter()
        postings: Counter[str] = Counter()
        for size in sizes(core):
            name = self._names.of(size.name)
            values[name] += size.values
            postings[name] += size.postings
        yield from self._several("kindex_index_values", values)
        yield from self._several("kindex_index_postings", postings)
        report = self._report(core)
        if report is None:
            return
        taken: Counter[str] = Counter()
        for index in report.indexes:
            taken[self._names.of(index.name)] += index.index_bytes + index.text_bytes
        yield from self._several("kindex_index_bytes", taken)
        yield self._one("kindex_store_bytes", report.total_bytes)

    def _report(self, core: Core[Any]) -> MemoryReport | None:
        """Give a count of bytes that is not too old. O(values), where a new one is due."""
        if self._memory_seconds is None:
            return None
        with self._lock:
            now = self._clock()
            if self._measured is None or now - self._measured[0] >= self._memory_seconds:
                self._measured = now, measure(core)
            return self._measured[1]

    def _of_budgets(self, core: Core[Any]) -> Iterator[Sample]:
        schema = core.generation.schema
        dropped = Counter(self._names.of(drop.index) for drop in schema.dropped.values())
        yield from self._several("kindex_index_dropped", dropped)
        yield self._one("kindex_index_drops_total", core.drops)
        for limit in schema.limits:
            labels = self.name, limit.scope
            if limit.budget.max_bytes is not None:
                yield Sample("kindex_budget_bytes", labels, limit.budget.max_bytes)
            if limit.budget.max_values is not None:
                yield Sample("kindex_budget_values", labels, limit.budget.max_values)
        yield self._one("kindex_scans_total", core.scans)

    def _of_queries(self) -> Iterator[Sample]:
        counts = self._counts.counts()
        yield from self._several("kindex_queries_total", counts.queries)
        yield from self._several("kindex_query_fetched_objects_total", counts.fetched)
        yield from self._several("kindex_query_returned_objects_total", counts.returned)
        yield from self._several("kindex_index_uses_total", counts.uses)

    def _of_informer(self, informer: AnyInformer[Any, Any], core: Core[Any]) -> Iterator[Sample]:
        stats = informer.stats
        for counted in ("lists", "relists", "pages", "watches", "short_watches", "events", "bookmarks", "expired"):
            yield self._one(f"kindex_reflector_{counted}_total", getattr(stats, counted))
        for kind, count in stats.errors.items():
            yield Sample("kindex_reflector_errors_total", (self.name, kind.value), count)
        yield self._one("kindex_informer_synced", informer.synced)
        yield self._one("kindex_informer_live", informer.live)
        yield self._one("kindex_informer_age_seconds", informer.age_seconds)
        yield self._one("kindex_informer_refused_namespaces", len(informer.refused))
        yield self._one("kindex_informer_object_bytes", stats.object_bytes)
        yield self._one("kindex_informer_skipped_objects_total", stats.skipped)
        yield self._one("kindex_informer_misfit_objects_total", stats.misfits)
        with core.lock:
            core.settle()
            version = core.generation.resource_versions.get(None)
        if version is not None and version.isascii() and version.isdigit():  # another form is no number
            yield self._one("kindex_informer_store_resource_version", int(version))
