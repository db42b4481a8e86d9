"""The longest time that each operation holds the store's lock, on 150,000 pods: ``python -m benchmarks.lock_holds``.

Writers and readers wait for each other so long, and no longer. The store's lock is wrapped in one that takes the time
from when it is taken to when it is free: CPU time of the thread, so that other processes do not count. One thread
works, so nobody waits. Each operation is done some times, and the median of its longest holds is printed, how often it
took the lock, how long it held it in all, and how long all of it took. A cyclic collection may come inside a hold as
anywhere else; its time is taken off, and the longest is in a column of its own.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from time import thread_time
from typing import TYPE_CHECKING, Any

import attrs

from benchmarks.bench_memory import circumstances
from benchmarks.workloads import pods
from kindex import FieldIndexer, LabelIndexer, ObjectKey, SortedIndexer, Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kindex.indexers.labels import LabelKey

SIZE = 150_000
ROUNDS = 5
MANY = 1_000
"""So many puts and deletes are one round: what holds the lock longest is rare among them."""

LABELS = [f"label-{number}" for number in range(8)]
UNINDEXED, OF_TEN, OF_ONE = "label-8", "of-ten", "of-one"
BY_VERSION: SortedIndexer[dict[str, Any], str] = SortedIndexer(
    "version", lambda pod: pod["metadata"]["resourceVersion"]
)
LINE = "{:<52} {:>10} {:>8} {:>10} {:>10} {:>10}"


class TimedLock:
    """The store's own lock, and how long it was held. Used by one thread."""

    def __init__(self, lock: Any) -> None:  # Any: what threading.RLock() makes has no public type
        self._lock = lock
        self._depth = 0
        self._began = self._collection_began = self._collecting = 0.0
        self.forget()
        gc.callbacks.append(self._collected)

    def forget(self) -> None:
        """Begin anew."""
        self.holds: list[float] = []
        self.longest_collection = 0.0

    def acquire(self) -> bool:
        taken: bool = self._lock.acquire()
        self._depth += 1
        if self._depth == 1:
            self._collecting = 0.0
            self._began = thread_time()
        return taken

    def release(self) -> None:
        if self._depth == 1:
            self.holds.append(thread_time() - self._began - self._collecting)
        self._depth -= 1
        self._lock.release()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_error: object) -> None:
        self.release()

    def _is_owned(self) -> bool:
        return bool(self._lock._is_owned())

    def _collected(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._collection_began = thread_time()
        elif self._depth:
            took = thread_time() - self._collection_began
            self._collecting += took
            self.longest_collection = max(self.longest_collection, took)


@attrs.frozen
class Bench:
    """A store whose lock is timed, and its pods under ten labels: eight of 1,000 values, one of ten, one unique."""

    pods: list[dict[str, Any]]
    store: Store[dict[str, Any]]
    lock: TimedLock
    numbers: Iterator[int] = attrs.field(factory=lambda: count(1))
    draw: random.Random = attrs.field(factory=lambda: random.Random(7))  # noqa: S311 - a shape, not a secret

    @classmethod
    def of(cls, size: int) -> Bench:
        """Make it."""
        made = pods(size, labels=len(LABELS) + 1, values=1_000, namespaces=100)
        for number, pod in enumerate(made):
            pod["metadata"]["labels"] |= {OF_TEN: f"value-{number % 10}", OF_ONE: f"name-{number}"}
        indexers = [LabelIndexer(*LABELS, OF_TEN, OF_ONE), FieldIndexer("spec.nodeName")]
        store: Store[dict[str, Any]] = Store(name="pods", indexers=indexers)
        lock = TimedLock(store._core.lock)
        store._core.lock = lock  # type: ignore[assignment]  # all that the store does with one
        store.replace(made)
        return cls(made, store, lock)

    def changed(self, pod: dict[str, Any]) -> dict[str, Any]:
        """Give *pod* as an update would bring it: with a new version, and another value of one label."""
        number = next(self.numbers)
        labels = {**pod["metadata"]["labels"], LABELS[0]: f"value-{number % 1_000}"}
        return {**pod, "metadata": {**pod["metadata"], "labels": labels, "resourceVersion": f"9{number}"}}

    def relisted(self, percent: int) -> list[dict[str, Any]]:
        """Give all pods, some of them changed."""
        return [self.changed(pod) if place % 100 < percent else pod for place, pod in enumerate(self.pods)]

    def some(self, size: int = MANY) -> list[dict[str, Any]]:
        """Give pods at random keys."""
        return self.draw.sample(self.pods, min(size, len(self.pods)))

    def some_changed(self, size: int = MANY) -> list[dict[str, Any]]:
        """Give pods at random keys, as updates would bring them."""
        return [self.changed(pod) for pod in self.some(size)]

    def some_new(self) -> list[dict[str, Any]]:
        """Give pods that were not there."""
        made = self.some_changed()
        for pod in made:
            name = pod["metadata"]["name"] = f"new-{next(self.numbers)}"
            pod["metadata"]["labels"][OF_ONE] = name
        return made

    def put(self, made: list[dict[str, Any]]) -> None:
        """Put each."""
        for pod in made:
            self.store.put(pod)

    def delete(self, made: list[dict[str, Any]]) -> None:
        """Delete each."""
        for pod in made:
            self.store.delete(ObjectKey(pod["metadata"]["namespace"], pod["metadata"]["name"]))

    def transact(self, made: list[dict[str, Any]]) -> None:
        """Put all in one transaction."""
        with self.store.transaction() as txn:
            for pod in made:
                txn.put(pod)


@attrs.frozen
class Operation:
    """What is measured: it is called with what was made ready for it, and then the store is brought back."""

    name: str
    act: Callable[[Any], object]
    ready: Callable[[], Any] = lambda: None
    after: Callable[[Any], object] = lambda _: None


def operations(bench: Bench) -> Iterator[Operation]:
    """List all of them."""
    store, made = bench.store, bench.pods
    yield from writes(bench)
    yield from queries(bench)

    def followed() -> Any:
        follower = store.follow(replay=False)
        store.replace([])
        store.replace(made)
        return follower

    def behind() -> Any:
        follower = store.follow(replay=False)
        bench.put(bench.some_changed(10_000))
        return follower

    def snapped() -> Any:
        snapshot = store.snapshot()
        bench.put(bench.some_changed(10_000))
        return snapshot

    def restored(opened: Any) -> None:
        opened.close()
        store.replace(made)

    yield Operation("follow(): join, with replay", lambda _: store.follow().close())
    yield Operation("a follower's take of 150,000 replayed", lambda f: f.take(), store.follow, lambda f: f.close())
    yield Operation("a follower's take after a relist of all", lambda f: f.take(), followed, restored)
    yield Operation("a follower's take after 10,000 puts", lambda f: f.take(), behind, restored)
    yield Operation("snapshot()", lambda _: store.snapshot().close())
    yield Operation(
        "1,000 puts, a snapshot open",
        lambda opened: bench.put(opened[1]),
        lambda: (store.snapshot(), bench.some_changed()),
        lambda opened: restored(opened[0]),
    )
    yield Operation("a snapshot's first count after 10,000 puts", lambda s: s.count(namespace="x"), snapped, restored)
    yield Operation("a snapshot's first tally after 10,000 puts", lambda s: s.tally(key(OF_ONE)), snapped, restored)


def key(label: str) -> LabelKey:
    """Give the index of one label."""
    return LabelIndexer(label).key(label)


def ignoring(act: Callable[[], object]) -> Callable[[Any], object]:
    """Make it take an argument."""
    return lambda _: act()


def writes(bench: Bench) -> Iterator[Operation]:
    """List what changes the store."""
    store, made = bench.store, bench.pods

    def restore(_: object) -> None:
        store.replace(made)

    late = LabelIndexer(UNINDEXED)
    yield Operation("put, one label changed (longest of 1,000)", bench.put, bench.some_changed, restore)
    yield Operation("put of a new pod (longest of 1,000)", bench.put, bench.some_new, restore)
    yield Operation("delete (longest of 1,000)", bench.delete, bench.some, restore)
    yield Operation("transaction of 1,000 changed pods", bench.transact, bench.some_changed, restore)
    yield Operation("transaction of 1,000 new pods", bench.transact, bench.some_new, restore)
    yield Operation("replace: the first list", lambda _: store.replace(made), lambda: store.replace([]), restore)
    yield Operation("replace: nothing changed", store.replace, lambda: list(made), restore)
    yield Operation("replace: 1 % changed", store.replace, lambda: bench.relisted(1), restore)
    yield Operation("replace: 40 % changed", store.replace, lambda: bench.relisted(40), restore)
    yield Operation("replace: all changed", store.replace, lambda: bench.relisted(100), restore)
    yield Operation("replace: by nothing", lambda _: store.replace([]), after=restore)
    yield Operation("bookmark", lambda _: store.bookmark("1"))
    for name, indexer in (("a label", late), ("a sorted index", BY_VERSION)):
        adding, removing = partial(store.add_indexers, indexer), partial(store.remove_indexer, indexer.name)
        yield Operation(f"add_indexers of {name}", ignoring(adding), after=ignoring(removing))
    yield Operation(
        "remove_indexer", lambda _: store.remove_indexer(late.name), lambda: store.add_indexers(late), restore
    )


def queries(bench: Bench) -> Iterator[Operation]:
    """List what reads."""
    store, made = bench.store, bench.pods
    few = f"{LABELS[1]}={made[0]['metadata']['labels'][LABELS[1]]}"
    many = f"{OF_TEN}=value-1"

    def asked(name: str, act: Callable[[], object]) -> Operation:
        return Operation(name, ignoring(act))

    keys = store.keys(limit=MANY)
    yield asked("get", lambda: store.get(keys[0]))
    yield asked("get_many of 1,000", lambda: store.get_many(keys))
    yield asked("select of 150", lambda: store.select(label_selector=few))
    yield asked("select of 15,000", lambda: store.select(label_selector=many))
    yield asked("select of 135,000 (!=)", lambda: store.select(label_selector=f"{OF_TEN}!=value-1"))
    yield asked("select of all", store.select)
    yield asked("keys of 15,000", lambda: store.keys(label_selector=many))
    yield asked("keys of all", store.keys)
    yield asked("first, any of all", lambda: (store.first(), store.any()))
    yield asked("count, two labels", lambda: store.count(label_selector=f"{many},{few}"))
    yield asked("a scan: a label that no index answers", lambda: store.select(label_selector=f"{UNINDEXED}=value-1"))
    yield asked("a scan within 15,000", lambda: store.select(label_selector=f"{UNINDEXED}=value-1,{many}"))
    yield asked("select of all with where=", lambda: store.select(where=bool))
    yield asked('order_by="key" over all', lambda: store.select(order_by="key"))
    yield Operation(
        "order_by a sorted index over all",
        lambda _: store.select(order_by=BY_VERSION),
        lambda: store.add_indexers(BY_VERSION),
        lambda _: store.remove_indexer(BY_VERSION.name),
    )
    yield asked("explain, two labels", lambda: store.explain(label_selector=f"{many},{few}"))
    yield asked("explain of all", store.explain)
    for label, values in ((OF_TEN, "10"), (LABELS[1], "1,000"), (OF_ONE, "150,000")):
        yield asked(f"tally of {values} values", partial(store.tally, key(label)))
        yield asked(f"index_values of {values} values", partial(store.index_values, key(label)))
    some = ",".join(f"name-{number}" for number in range(500))
    yield asked("select in (500 values)", lambda: store.select(label_selector=f"{OF_ONE} in ({some})"))
    yield asked("memory()", store.memory)
    yield asked("index_sizes()", store.index_sizes)
    yield asked("resource_version()", store.resource_version)


def measured(operation: Operation, lock: TimedLock, rounds: int) -> dict[str, Any]:
    """Do it *rounds* times, and give medians in milliseconds."""
    longest, held, holds, took, collections = [], [], [], [], []
    for _ in range(rounds):
        made = operation.ready()
        gc.collect()
        lock.forget()
        began = thread_time()
        result = operation.act(made)
        took.append(thread_time() - began)
        longest.append(max(lock.holds, default=0.0))
        held.append(sum(lock.holds))
        holds.append(len(lock.holds))
        collections.append(lock.longest_collection)
        del result
        operation.after(made)
    return {
        "operation": operation.name,
        "longest_ms": median(longest) * 1e3,
        "longest_of_all_ms": max(longest) * 1e3,
        "holds": median(holds),
        "held_ms": median(held) * 1e3,
        "took_ms": median(took) * 1e3,
        "collection_ms": max(collections) * 1e3,
    }


def main() -> None:
    """Measure all, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help="only operations whose name has this in it")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = parser.parse_args()
    bench = Bench.of(chosen.pods)
    print(f"{chosen.pods:,} pods, 10 labels and a node indexed; ms, medians of {chosen.rounds}")
    print(LINE.format("operation", "longest", "holds", "held", "took", "collection"))
    rows = []
    for operation in operations(bench):
        if chosen.only in operation.name:
            row = measured(operation, bench.lock, chosen.rounds)
            rows.append(row)
            cells = (f"{row[name]:,.3f}" for name in ("longest_ms", "held_ms", "took_ms"))
            longest, held, took = cells
            collection = f"{row['collection_ms']:,.1f}" if row["collection_ms"] else ""
            print(LINE.format(operation.name, longest, f"{row['holds']:,.0f}", held, took, collection), flush=True)
    if chosen.json is not None:
        facts = {**circumstances(), "pods": chosen.pods, "rounds": chosen.rounds, "rows": rows}
        chosen.json.write_text(json.dumps(facts, indent=1) + "\n")
        print(f"wrote {chosen.json}")


if __name__ == "__main__":
    main()
