"""AnyInformer: what informers have in common, whether threads or tasks drive them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from math import inf
from random import randrange
from typing import Any, Generic, TypeVar

import msgspec

from kindex.deadlines import Deadline
from kindex.decoding import Decoder, LazyDecoder
from kindex.errors import InformerError, NotReachedError, NotSyncedError, ObjectBudgetError, SyncTimeoutError
from kindex.forks import tell_when_forked
from kindex.handlers import Registration
from kindex.indexers.base import AnyIndexer
from kindex.indexers.reading import paths_read
from kindex.informer.bells import Bells
from kindex.informer.currency import Comparison
from kindex.informer.driving import Driver
from kindex.informer.object_budgets import ObjectGauge
from kindex.informer.readiness import Readiness
from kindex.informer.resyncing import Resyncing
from kindex.informer.stats import InformerStats, counted, summed
from kindex.informer.views import Door, GuardedView, InformerView
from kindex.informer.wishes import Wish
from kindex.objects import key_of
from kindex.store import Store

T = TypeVar("T")
D = TypeVar("D", bound=Driver[Any])  # Any: of T, which a bound cannot say

_log = logging.getLogger(__name__)


class AnyInformer(Generic[T, D]):
    """What ``Informer`` and ``AsyncInformer`` have in common: a store, a driver for each namespace, and what they say.

    What is here may be called from any thread.
    """

    def __init__(self, what: object, settings: dict[str, Any], *, asynchronous: bool) -> None:  # Any: see Settings
        """Prepare; nothing is asked yet."""
        wish: Wish[T] = Wish.read(what, settings, asynchronous=asynchronous)
        self._origin, self._keeping, self._conduct = wish.origin, wish.keeping, wish.conduct
        conduct = wish.conduct
        self._asking = self._origin.source(LazyDecoder())  # for what is not kept
        self._name: str = conduct.name or self._asking.name
        self._store: Store[T] = conduct.store(self._name, self._asking)
        self._paths = dict.fromkeys(path for indexer in conduct.indexers for path in paths_read(indexer))
        self._at_hand = frozenset(self._paths)  # of every object, whatever transforms have dropped from it
        self._door: Door[T] = Door(self._check_may_read, lambda: self.stats.saved_bytes)
        self._core = self._store._core  # noqa: SLF001 - what a view of the store reads
        self._view: InformerView[T] = GuardedView(self._core, self._door)
        self._gauge = (
            None
            if conduct.object_budget is None
            else ObjectGauge(self._name, conduct.object_budget, conduct.on_object_budget)
        )
        self._bells = Bells()
        self._lock = threading.RLock()  # a signal handler may stop it, wherever its thread is
        self._drivers: dict[str | None, D] = {}  # guarded by _lock, and replaced as a whole
        self._decoders: dict[str | None, Decoder[T]] = {}  # the same
        self._past = InformerStats()  # of namespaces that were removed
        self._namespaces: tuple[str | None, ...] = (None,) if conduct.namespaces is None else conduct.namespaces
        self._started = self._stopped = self._synced = False
        self._resyncing: Resyncing | None = None
        self._ending: tuple[Registration[T], ...] = ()
        self._forked: InformerError | None = None
        tell_when_forked(self)

    def __repr__(self) -> str:
        state = "synced" if self._synced else "started" if self._started else "not started"
        return f"{type(self).__name__}({self._name!r}, {'stopped' if self._stopped else state})"

    # What it says of itself

    @property
    def name(self) -> str:
        """What it is called in the log, in errors and in the names of threads."""
        return self._name

    @property
    def view(self) -> InformerView[T]:
        """What it keeps, to be read; handlers and followers may be added before it is started."""
        return self._view

    @property
    def synced(self) -> bool:
        """Whether the first list has been applied, ever: in each namespace that it has rights to."""
        return self._synced

    @property
    def stopped(self) -> bool:
        """Whether it was stopped, for good."""
        return self._stopped

    @property
    def over(self) -> bool:
        """Whether nobody drives it any more: it was stopped, or could not go on, and ``last_error`` says why."""
        return self._over()

    @property
    def live(self) -> bool:
        """Whether it follows its source now: by the clock, and not by a thread that may be blocked."""
        drivers = self._concerned()
        return self._synced and not self._stopped and all(driver.live for driver in drivers)

    @property
    def age_seconds(self) -> float:
        """How long ago its source said something last; ``inf`` before it did. Of several namespaces the longest."""
        return max((driver.age_seconds for driver in self._concerned()), default=0.0 if self._synced else inf)

    @property
    def last_error(self) -> BaseException | None:
        """What is wrong; None while all is well. Of a SourceError ``kind`` tells rights, credentials and network apart.

        Of several namespaces that of the first; ``errors`` has all.
        """
        return next(iter(self.errors.values()), None)

    @property
    def errors(self) -> dict[str | None, BaseException]:
        """What is wrong, by namespace; the key is None where all are watched together."""
        if self._forked is not None:
            return {None: self._forked}
        found = ((namespace, driver.error) for namespace, driver in self._drivers.items())
        return {namespace: error for namespace, error in found if error is not None}

    @property
    def refused(self) -> tuple[str | None, ...]:
        """The namespaces of which nothing was ever listed, for want of rights. It asks again, now and then."""
        return tuple(namespace for namespace, driver in self._drivers.items() if driver.refused)

    @property
    def namespaces(self) -> tuple[str, ...] | None:
        """The namespaces that it watches; None where it watches all, or one that its source names."""
        return None if self._conduct.namespaces is None else tuple(name for name in self._namespaces if name)

    @property
    def stats(self) -> InformerStats:
        """What happened so far."""
        with self._lock:
            parts = [counted(self._drivers[name].stats, decoder) for name, decoder in self._decoders.items()]
            stats = summed([self._past, *parts])
        return stats if self._gauge is None else msgspec.structs.replace(stats, object_bytes=self._gauge.bytes)

    def ready(self) -> Readiness:
        """Tell whether what it keeps can be relied on: it is synced and live; if not, why.

        >>> from kindex import Informer
        >>> from kindex.testing import FakeSource
        >>> print(Informer(FakeSource(name="pods")).ready())
        pods: not started
        """
        return Readiness(tuple(self._reasons()))

    # What it does

    def add_indexers(self, *indexers: AnyIndexer[T]) -> None:
        """Add indexers, at any time, as ``Store.add_indexers`` does; what they read is decoded from now on.

        Raises:
            IndexerError: it reads what a transform may have dropped from objects that are there already.
            IndexConflictError: another indexer has the same name; the message names both.
            IndexFunctionError: an index function failed on a stored object.
        """
        paths = [path for indexer in indexers for path in paths_read(indexer)]
        with self._lock:
            self._keeping.check(indexers, self._at_hand if self._started else None)
            self._paths.update(dict.fromkeys(paths))
            for decoder in self._decoders.values():
                if isinstance(decoder, LazyDecoder):
                    decoder.add_paths(paths)
        self._store.add_indexers(*indexers)

    def resync(self) -> None:
        """Give all who follow the view each object again, as an Updated whose old and new are the same; no I/O.

        With ``resync_seconds`` this happens by itself.
        """
        for following in self._door.following():
            following.resync()

    def forked(self) -> None:
        """Go on in a child process, where nobody drives: what is kept can be read, and no longer changes."""
        self._lock = threading.RLock()
        self._bells.forked()
        self._door.forked()
        if not self._started or self._stopped:
            return
        self._forked = InformerError(
            f"informer {self._name!r} was started by the process that forked this one, and its threads are there;"
            " what it kept until then can be read, and to follow the cluster make an informer here"
        )
        for driver in self._drivers.values():
            driver.forked(self._forked)

    # For the subclasses

    def _driver(self, namespace: str | None) -> D:
        """Make the driver of a namespace. The caller holds the lock."""
        raise NotImplementedError

    def _stop_drivers(self) -> None:
        """Let all drivers come to their end, without waiting."""
        raise NotImplementedError

    def _settings_of(self, namespace: str | None) -> dict[str, Any]:  # Any: what a driver takes, by name
        """Make what the driver of a namespace needs. The caller holds the lock."""
        decoder = self._keeping.decoder(self._paths)
        source = self._origin.source(decoder)
        self._decoders = {**self._decoders, namespace: decoder}
        return {
            "name": self._name if namespace is None else f"{self._name} in {namespace}",
            "reflector": self._conduct.reflector(namespace, offers_watch_list=source.offers_watch_list),
            "store": self._store,
            "source": source,
            "clock": self._conduct.clock,
            "seed": randrange(2**32),  # noqa: S311 - it spreads delays, and hides nothing
            "take_in": self._keeping.take_in(decoder) if self._origin.given else None,
            "tally": None if self._gauge is None else self._gauge.tally(),
            "on_change": self._changed,
        }

    def _begin(self) -> list[D]:
        """Make the drivers, and give them to be started; none where that was done.

        Raises:
            InformerError: it was stopped, or forked.
        """
        with self._lock:
            self._check_usable()
            if self._started:
                return []
            self._at_hand = frozenset(self._paths)
            self._drivers = {namespace: self._driver(namespace) for namespace in self._namespaces}
            self._started = True
        _log.info("%s: started", self._name)
        if self._conduct.resync_seconds is not None:
            self._resyncing = Resyncing(
                self.resync,
                self._conduct.resync_seconds,
                name=f"kindex-{self._name}-resync",
                clock=self._conduct.clock,
            )
        if not self._drivers:
            self._changed()
        return list(self._drivers.values())

    def _end(self) -> None:
        """Let everything come to its end, without waiting. May be done again, from any thread."""
        with self._lock:
            first = self._started and not self._stopped
            self._stopped = True
        if self._forked is None:  # else connections and threads are the parent's
            self._stop_drivers()
            if self._resyncing is not None:
                self._resyncing.stop()
        self._ending += tuple(self._door.close())
        self._bells.ring()
        self._core.ring()  # for those who wait for the store to catch up
        if first:
            _log.info("%s: stopped", self._name)

    def _add(self, namespace: str) -> D | None:
        """Take a namespace in; give its driver to be started, if the others are.

        Raises:
            InformerError: it watches all namespaces, or was stopped.
        """
        with self._lock:
            self._check_usable()
            self._check_several()
            if namespace in self._namespaces:
                return None
            self._namespaces = (*self._namespaces, namespace)
            if not self._started:
                return None
            driver = self._driver(namespace)
            self._drivers = {**self._drivers, namespace: driver}
            return driver

    def _remove(self, namespace: str) -> D | None:
        """Take a namespace out; give its driver, which is to be stopped."""
        with self._lock:
            self._check_several()
            self._namespaces = tuple(name for name in self._namespaces if name != namespace)
            driver = self._drivers.get(namespace)
            if driver is None:
                return None
            self._past = summed([self._past, counted(driver.stats, self._decoders[namespace])])
            self._drivers = {name: each for name, each in self._drivers.items() if name != namespace}
            self._decoders = {name: each for name, each in self._decoders.items() if name != namespace}
        self._changed()  # it may have been the one that others wait for
        return driver

    def _changed(self) -> None:
        """Take note that something has changed about a driver; called by it, in its thread, without any lock."""
        if not self._synced and self._all_listed():
            self._synced = True
            if self._conduct.namespaces is None:
                self._view.__class__ = InformerView  # all may be read from now on
        if not self._stopped and any(isinstance(each.failure, ObjectBudgetError) for each in self._drivers.values()):
            self._stop_drivers()  # the others would only fill what memory there is
        self._bells.ring()

    def _settled(self, namespace: str | None = None) -> bool:
        """Tell whether waiting for the first list is over: it is there, or it will never be."""
        if self._over():
            return True
        if namespace is None:
            return self._synced
        driver = self._drivers.get(namespace)
        return driver is None or driver.synced

    def _check_settled(self, timeout_seconds: float | None, namespace: str | None = None) -> None:
        """Say why the first list is not there, if it is not.

        Raises:
            SyncTimeoutError: it did not come in time.
            NotSyncedError: it will not come.
        """
        drivers = self._drivers
        if namespace is not None and namespace not in drivers:
            raise self._unwatched(namespace)
        if self._synced if namespace is None else drivers[namespace].synced:
            return
        waited_for = self._concerned() if namespace is None else [drivers[namespace]]
        cause = next((driver.error for driver in waited_for if driver.error is not None), None)
        if self._over():
            raise NotSyncedError(self._name, f"was stopped before it synced{_because(cause)}") from cause
        what = "has not synced" if namespace is None else f"has not listed namespace {namespace!r}"
        raise SyncTimeoutError(self._name, f"{what} in {timeout_seconds:g} s: {_whats_missing(waited_for)}") from cause

    def _check_may_wait(self) -> None:
        """Refuse to wait for what nobody brings about.

        Raises:
            InformerError: it was not started.
        """
        if self._forked is not None:
            raise self._forked.with_traceback(None)
        if not self._started:
            raise InformerError(f"informer {self._name!r} was not started; call start(), or use it in a with block")

    def _comparisons(self) -> list[Comparison[T]]:
        """Make what compares the store with the server, for each namespace of which it keeps something."""
        as_given = self._origin.given and self._keeping.as_given
        key = self._conduct.key if as_given else key_of
        return [Comparison(driver.namespace, self._conduct.page_size, key) for driver in self._concerned()]

    def _catch_up(self, comparison: Comparison[T], timeout_seconds: float | None) -> None:
        """Wait until the store is as far as a list that others fill.

        Raises:
            NotReachedError: it is not.
        """
        deadline = Deadline(timeout_seconds)
        try:
            self._bells.wait_until(lambda: comparison.settled or self._stopped, timeout_seconds)
            if comparison.request is None:
                left = deadline.left
                with suppress(NotReachedError):
                    reached = self._store.wait_until(lambda _: self._caught_up_or_over(comparison), left)
                    if reached == "caught up":
                        return
        finally:
            self._give_up(comparison)
        cause = comparison.error or self.last_error
        there = "the server did not say what is there"
        if comparison.request is None:
            there = f"{comparison.behind} objects are not as they were at version {comparison.version}"
        raise NotReachedError(f"informer {self._name!r} has not caught up: {there}{_because(cause)}") from cause

    def _caught_up_or_over(self, comparison: Comparison[T]) -> str:
        if comparison.caught_up(self._store):
            return "caught up"
        return "over" if comparison.given_up or self._over() else ""

    def _give_up(self, comparison: Comparison[T]) -> None:
        """Let whoever asks or waits for *comparison* end."""
        comparison.given_up = True
        self._bells.ring()
        self._core.ring()

    def _threads(self) -> list[threading.Thread]:
        """Give the threads that end with it, but for those of handlers."""
        return [] if self._resyncing is None else [self._resyncing.thread]

    def _join(self, wait_seconds: float | None) -> None:
        """Wait for all threads, for so long at most; not where one of them asks."""
        threads = self._threads()
        if threading.current_thread() in threads or any(each.calling for each in self._ending):
            return
        deadline = Deadline(wait_seconds)
        for join in [each.join for each in threads] + [each.join for each in self._ending]:
            join(deadline.left)

    def _check_usable(self) -> None:
        if self._forked is not None:
            raise self._forked.with_traceback(None)
        if self._stopped:
            raise InformerError(f"informer {self._name!r} was stopped; an informer runs once, so make another one")

    def _check_several(self) -> None:
        if self._conduct.namespaces is None:
            raise InformerError(
                f"informer {self._name!r} has no list of namespaces; give it one: namespaces=[...], which may be empty"
            )

    def _over(self) -> bool:
        """Whether nobody drives any more."""
        drivers = self._drivers.values()
        return self._stopped or (bool(drivers) and all(driver.over for driver in drivers))

    def _concerned(self) -> list[D]:
        """Give the drivers that count for the whole: one that is refused counts if they all are."""
        drivers = list(self._drivers.values())
        return [driver for driver in drivers if not driver.refused] or drivers

    def _all_listed(self) -> bool:
        return self._started and all(driver.synced for driver in self._concerned())

    # Reads

    def _check_may_read(self, namespaces: Iterable[str]) -> None:
        """Refuse a read that would say "not there" of what was not listed.

        Raises:
            NotSyncedError: so it would.
        """
        if not self._synced:
            if not self._started:
                raise NotSyncedError(
                    self._name,
                    "has not synced: it was not started",
                    "use it in a with block, or call start() and wait_synced()",
                )
            raise NotSyncedError(
                self._name, f"has not synced: {_whats_missing(self._concerned())}", "wait_synced() waits for it"
            ) from self.last_error
        if self._conduct.namespaces is None:
            return
        for namespace in filter(None, namespaces):
            driver = self._drivers.get(namespace)
            if driver is None:
                raise self._unwatched(namespace)
            if not driver.synced:
                raise NotSyncedError(
                    self._name, f"has not listed namespace {namespace!r}{_because(driver.error)}"
                ) from driver.error

    def _unwatched(self, namespace: str) -> NotSyncedError:
        there = ", ".join(self.namespaces or ()) or "none"
        return NotSyncedError(
            self._name, f"does not watch namespace {namespace!r}, but {there}", f"add_namespace({namespace!r})"
        )

    def _reasons(self) -> Iterator[str]:
        if self._forked is not None:
            yield f"{self._name}: {self._forked}"
        elif not self._started:
            yield f"{self._name}: not started"
        elif self._stopped:
            yield f"{self._name}: stopped"
        else:
            for driver in self._concerned():
                if not driver.synced:
                    yield f"{driver.name}: not synced{_because(driver.error)}"
                elif not driver.live:
                    yield f"{driver.name}: not live, heard {driver.age_seconds:.0f} s ago{_because(driver.error)}"


def _because(error: BaseException | None) -> str:
    return "" if error is None else f": {error}"


def _whats_missing(drivers: Iterable[Driver[Any]]) -> str:  # Any: of whatever objects
    """Say which of *drivers* have not listed anything, and why."""
    missing = [driver for driver in drivers if not driver.synced]
    reasons = [str(driver.error or "the first list is not complete") for driver in missing]
    if len(missing) == 1:
        return reasons[0]
    return (
        "; ".join(f"namespace {driver.namespace!r}: {reason}" for driver, reason in zip(missing, reasons, strict=True))
        or "the first list is not complete"
    )
