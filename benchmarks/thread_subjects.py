"""What ``bench_threads`` compares: caches that one thread writes and others read, and a control that shares nothing.

All hold the same pods as dicts, and answer three questions: the pods with one label of 1,000 values (150 of 150,000),
with one of ten (15,000), and with one of ten that no index knows. Answers are lists of pods.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from benchmarks.workloads import pods
from kindex import LabelIndexer, Store

if TYPE_CHECKING:
    from collections.abc import Iterable

Pod = dict[str, Any]

OF_THOUSAND, OF_TEN, UNINDEXED = "label-0", "of-ten", "not-indexed"
INDEXED = (OF_THOUSAND, "label-1", "label-2", "label-3", OF_TEN)


def pods_for_threads(size: int) -> list[Pod]:
    """Make pods of one namespace with five labels to index, and one more."""
    made = pods(size, labels=4, values=1_000)
    for number, pod in enumerate(made):
        pod["metadata"]["labels"] |= {OF_TEN: f"value-{number % 10}", UNINDEXED: f"value-{number // 10 % 10}"}
    return made


def with_label(made: Iterable[Pod], label: str, value: str) -> list[Pod]:
    """Scan, as a controller without an index does."""
    return [pod for pod in made if pod["metadata"]["labels"].get(label) == value]


class Subject(ABC):
    """A cache, filled with pods.

    Attributes:
        failures: one for each time that an answer failed since the writer came in between, and was asked for again.
    """

    name: ClassVar[str]

    def __init__(self, made: list[Pod]) -> None:
        self.failures: list[Exception] = []
        self.fill(made)

    @abstractmethod
    def fill(self, made: list[Pod]) -> None:
        """Take in the first list."""

    @abstractmethod
    def put(self, pod: Pod) -> None:
        """Take in an update; called by one thread."""

    @abstractmethod
    def select(self, label: str, value: str) -> list[Pod]:
        """Answer a question; called by several threads."""


class Kindex(Subject):
    name = "kindex"

    def fill(self, made: list[Pod]) -> None:
        self._store: Store[Pod] = Store(name="pods", indexers=[LabelIndexer(*INDEXED)])
        self._store.replace(made)

    def put(self, pod: Pod) -> None:
        self._store.put(pod)

    def select(self, label: str, value: str) -> list[Pod]:
        return self._store.select(label_selector=f"{label}={value}")


class ObjectCache(Subject):
    """The cache of the official client's informer, which calls ``_put``: it lists, and its users filter."""

    name = "kubernetes.informer"

    def fill(self, made: list[Pod]) -> None:
        import kubernetes.informer

        informer: Any = kubernetes.informer  # it has no types
        self._cache = informer.ObjectCache()
        self._cache._replace_all(made)

    def put(self, pod: Pod) -> None:
        self._cache._put(pod)

    def select(self, label: str, value: str) -> list[Pod]:
        return with_label(self._cache.list(), label, value)


class LockedDict(Subject):
    """What people write by hand: a dict that is scanned under its lock."""

    name = "dict, scan under lock"

    def fill(self, made: list[Pod]) -> None:
        self._lock = threading.Lock()
        self._pods = {_key(pod): pod for pod in made}

    def put(self, pod: Pod) -> None:
        key = _key(pod)
        with self._lock:
            self._pods[key] = pod

    def select(self, label: str, value: str) -> list[Pod]:
        with self._lock:
            return with_label(self._pods.values(), label, value)


class CopiedDict(LockedDict):
    """The same by somebody who has seen a writer starve: it is copied under the lock, and scanned after it."""

    name = "dict, copy under lock"

    def select(self, label: str, value: str) -> list[Pod]:
        with self._lock:
            copied = list(self._pods.values())
        return with_label(copied, label, value)


class KopfIndex(Subject):
    """The in-memory index of kopf, driven without its operator: no event loop, no calls of index functions.

    It has no lock: kopf writes it in one event loop, and whoever reads it in another thread, where kopf runs handlers
    that are no coroutines, does so at their own risk. Reading one value's objects, by a loop or by ``list()``, raises
    RuntimeError when one comes or goes meanwhile; here it is then read again, and counted. Nor is a write one step: an
    object may be found under its old and its new value.
    """

    name = "kopf's index"

    def fill(self, made: list[Pod]) -> None:
        from kopf._core.engines.indexing import OperatorIndexer

        self._by_label, self._all = OperatorIndexer(), OperatorIndexer()
        for pod in made:
            self.put(pod)

    def put(self, pod: Pod) -> None:
        metadata = pod["metadata"]
        labels, key = metadata["labels"], (metadata["namespace"], metadata["name"], metadata["uid"])
        self._by_label.replace(key, {(label, labels[label]): pod for label in INDEXED})
        self._all.replace(key, {None: pod})

    def select(self, label: str, value: str) -> list[Pod]:
        while True:
            try:
                if label != UNINDEXED:
                    return list(self._by_label.index[label, value])
                return with_label(list(self._all.index[None]), label, value)
            except RuntimeError as error:
                self.failures.append(error)


class NothingShared(Subject):
    """The control: no lock, and nothing to wait for but the interpreter itself.

    The writer has a dict of its own. A reader loops in Python over as many pods as the answer has, or over all of them
    for a scan. What it and the writer wait is what any two Python threads wait for each other.
    """

    name = "(nothing shared)"

    def fill(self, made: list[Pod]) -> None:
        self._pods = {_key(pod): pod for pod in made}
        self._read = {OF_THOUSAND: made[: len(made) // 1_000], OF_TEN: made[: len(made) // 10], UNINDEXED: made}

    def put(self, pod: Pod) -> None:
        self._pods[_key(pod)] = pod

    def select(self, label: str, value: str) -> list[Pod]:
        return with_label(self._read[label], label, value)


SUBJECTS: dict[str, type[Subject]] = {
    each.name: each for each in (NothingShared, Kindex, ObjectCache, LockedDict, CopiedDict, KopfIndex)
}


def _key(pod: Pod) -> tuple[str, str]:
    return pod["metadata"]["namespace"], pod["metadata"]["name"]
