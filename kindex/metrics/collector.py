"""Metrics: the collector that a registry of prometheus-client asks at each scrape."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from kindex.forks import tell_when_forked
from kindex.informer.grouping import AnyGroup
from kindex.informer.informing import AnyInformer
from kindex.metrics.subjects import MetricsError, Subject
from kindex.metrics.table import METRICS
from kindex.store_views import StoreView

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import TracebackType

    from prometheus_client import CollectorRegistry
    from prometheus_client.core import Metric

    from kindex.core import Core
    from kindex.metrics.table import Described

# Any, below: of whatever objects; none is looked at.
Measured: TypeAlias = StoreView[Any] | AnyInformer[Any, Any] | AnyGroup[Any]


class Metrics(Collector):
    """What stores, informers and groups of them do, as metrics of Prometheus: docs/metrics.md has the table.

    It is registered where it is told to, and nowhere else, until ``close()``. What it is about it keeps only as long as
    others do: an informer that was stopped, and a store that nobody uses, are no longer shown. Labels are names of
    stores, indexes, scopes of budgets and kinds of errors, and nothing of an object.

    A scrape reads counters, and the lock of a store is taken for moments. Only bytes are counted object by object; that
    is done again when it was last done *memory_seconds* ago.

    Args:
        what: stores or their views, informers, groups; the label ``store`` has their names.
        registry: of prometheus-client, such as its ``REGISTRY``.
        memory_seconds: how old a count of bytes may be; None: bytes are never counted.
        max_indexes: of so many indexes of a store each has a name of its own; the rest are ``(others)`` together.
        queries: whether to count them, at some microseconds each; scans are counted anyway.
        clock: gives seconds.

    Raises:
        MetricsError: two have one name, something has no metrics, or the registry has a ``Metrics`` already.

    >>> from prometheus_client import CollectorRegistry
    >>> from kindex import Store
    >>> pods, registry = Store(name="pods"), CollectorRegistry()
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
    >>> with Metrics(pods, registry=registry):
    ...     registry.get_sample_value("kindex_store_objects", {"store": "pods"})
    1.0
    """

    def __init__(
        self,
        *what: Measured,
        registry: CollectorRegistry,
        memory_seconds: float | None = 60.0,
        max_indexes: int = 1_000,
        queries: bool = True,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if isinstance(max_indexes, bool) or not isinstance(max_indexes, int) or max_indexes < 1:
            raise MetricsError(f"max_indexes is a number of indexes, 1 or more, not {max_indexes!r}")
        self._settings: dict[str, Any] = {
            "memory_seconds": memory_seconds,
            "max_indexes": max_indexes,
            "queries": queries,
            "clock": clock,
        }
        self._lock = threading.RLock()  # guards what follows; no lock of a store is taken under it
        self._subjects: list[Subject] = []
        self._groups: list[AnyGroup[Any]] = []
        self._due: list[Callable[[], None]] = []  # of subjects: to begin and to close
        self._registry: CollectorRegistry | None = None
        tell_when_forked(self)
        try:
            for each in what:
                self.add(each)
            registry.register(self)
        except MetricsError:
            self.close()
            raise
        except ValueError as error:
            self.close()
            raise MetricsError(
                "this registry has the metrics of kindex already; add() stores and informers to the Metrics that is"
                " there, or take another registry"
            ) from error
        self._registry = registry

    def add(self, what: Measured, *, name: str | None = None) -> None:
        """Show *what*, too. Its queries are counted from now on.

        Of a group informers of one name are told apart by numbers: ``pods``, ``pods-2``. Those that join it later are
        shown, too, and their queries counted, from the next scrape on.

        Args:
            what: a store or a view of one, an informer, a group.
            name: the label ``store``; by default its own name.

        Raises:
            MetricsError: another one has the name, *what* is there already, or it is none of these.
        """
        with self._lock:
            match what:
                case AnyGroup() if name is None:
                    self._groups.append(what)
                    self._take_in_groups()
                case AnyGroup():
                    raise MetricsError("a group has no name of its own; its informers have, by name=")
                case AnyInformer():
                    self._add(name or what.name, what.view._core, what)  # noqa: SLF001 - what it is made of
                case StoreView():
                    self._add(name or what.name, what._core, None)  # noqa: SLF001 - the same
                case _:
                    raise MetricsError(f"metrics are of a store, a view, an informer or a group, not of {what!r}")
        self._do_what_is_due()

    def close(self) -> None:
        """Show nothing more, and leave the registry. May be called again."""
        with self._lock:
            registry, self._registry = self._registry, None
            self._due += [subject.close for subject in self._subjects]
            self._subjects, self._groups = [], []
        self._do_what_is_due()
        if registry is not None:
            with suppress(KeyError):  # somebody else did it
                registry.unregister(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # What the registry calls

    def describe(self) -> Iterator[Metric]:
        """Give all metrics without values: the registry refuses others of the same names."""
        return map(_family, METRICS)

    def collect(self) -> Iterator[Metric]:
        """Read all there is."""
        families = {each.name: _family(each) for each in METRICS}
        for subject in self._present():
            for metric, labels, value in subject.samples():
                families[metric].add_metric(labels, float(value))
        return iter(families.values())

    def forked(self) -> None:
        """Go on in a child process, where no other thread is."""
        self._lock = threading.RLock()

    def _present(self) -> list[Subject]:
        with self._lock:
            self._take_in_groups()
            self._forget_the_gone()
            present = list(self._subjects)
        self._do_what_is_due()
        return present

    def _take_in_groups(self) -> None:
        """Take in the informers that groups have by now. The caller holds the lock."""
        for group in self._groups:
            for informer in group.informers:
                core = informer.view._core  # noqa: SLF001 - what it is made of
                if informer.stopped or any(subject.reads(core) for subject in self._subjects):
                    continue
                taken = {subject.name for subject in self._subjects}
                numbered = (informer.name if number == 1 else f"{informer.name}-{number}" for number in count(1))
                self._subjects.append(self._subject(next(n for n in numbered if n not in taken), core, informer))

    def _forget_the_gone(self) -> None:
        """Let go of what is not shown any more. The caller holds the lock."""
        gone = [subject for subject in self._subjects if subject.gone]
        self._due += [subject.close for subject in gone]
        self._subjects = [subject for subject in self._subjects if subject not in gone]

    def _do_what_is_due(self) -> None:
        """Let subjects begin and close. The caller does not hold the lock: that of a store is taken."""
        with self._lock:
            due, self._due = self._due, []
        for each in due:
            each()

    def _add(self, name: str, core: Core[Any], informer: AnyInformer[Any, Any] | None) -> None:
        """Take in one. The caller holds the lock."""
        for subject in self._subjects:
            if subject.gone:
                continue
            if subject.reads(core):
                raise MetricsError(f"{name!r} has its metrics here already, as {subject.name!r}")
            if subject.name == name:
                raise MetricsError(
                    f"there is a store {name!r} here already, and two of one name cannot be told apart; make one with"
                    " another name=, or call add(..., name=...)"
                )
        self._forget_the_gone()
        self._subjects.append(self._subject(name, core, informer))

    def _subject(self, name: str, core: Core[Any], informer: AnyInformer[Any, Any] | None) -> Subject:
        subject = Subject(name, core, informer, **self._settings)
        self._due.append(subject.begin)
        return subject


def _family(described: Described) -> GaugeMetricFamily | CounterMetricFamily:
    make = GaugeMetricFamily if described.type == "gauge" else CounterMetricFamily
    return make(described.name, described.says, labels=described.labels)
