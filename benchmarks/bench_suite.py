"""The suite: every operation, on named workloads, by every subject; ``make bench`` publishes its figures.

The anchors are asked at all sizes by kindex and by a scan; the other subjects, two anchors at two sizes. The other
workloads are asked at one size, by kindex and a scan. ``benchmarks.named`` says why which workload is there, and
``benchmarks.subjects`` what is compared. The garbage collector is on, as it is in a controller.

A round of a write is many of them: ``per`` in a figure's notes says how many, and the published figure is for one.

Options: ``--quick`` takes the small sizes only; ``--huge`` adds 500,000 pods to the anchors.
"""

from __future__ import annotations

import copy
import gc
import random
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from benchmarks.bench_put import parsed_anew
from benchmarks.named import ANCHORS, HUGE, OTHERS, SIZES, Workload, indexed_labels, questions
from benchmarks.subjects import SUBJECTS, DictAndScan, Kindex, Sqlite, key_of
from kindex import FieldIndexer, LabelIndexer, SelectorIndexer, Store, forecast
from kindex.answers import REMEMBERED
from kindex.decoding import LazyDecoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_benchmark.fixture import BenchmarkFixture

    from benchmarks.subjects import Subject
    from benchmarks.workloads import RawObject

BOTH = (Kindex.name, DictAndScan.name)
SELECTORS = 10_000
IN_A_TRANSACTION = 1_000
QUESTIONS = (
    "1 label",
    "2 labels",
    "3 labels",
    "in",
    "notin",
    "exists",
    "namespace",
    "namespace and label",
    "namespace and 2 labels",
    "namespace and 3 labels",
    "field",
    "owner",
)
selecting = SelectorIndexer("spec.selector")


def cases(options: pytest.Config) -> Iterator[tuple[Workload, int, str]]:
    """Give what is asked: workload, size and subject; one store after the other, since all of them fill a memory."""
    quick, huge = options.getoption("--quick"), options.getoption("--huge")
    sizes = SIZES[:-1] if quick else (*SIZES, HUGE) if huge else SIZES
    for workload in ANCHORS:
        for size in sizes:
            rivals = workload in ANCHORS[:2] and size in SIZES[1:]
            yield from ((workload, size, name) for name in (SUBJECTS if rivals else BOTH))
    for workload in OTHERS:
        # The generator of clusters takes its time, and 20,000 pods are a cluster.
        size = sizes[-1] if quick else SIZES[-1] if workload.labels else 20_000
        yield from ((workload, size, name) for name in BOTH)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a benchmark for each case that it is for."""
    if "case" in metafunc.fixturenames:
        only = (Kindex.name,) if metafunc.function.__name__ in ONLY_KINDEX else tuple(SUBJECTS)
        chosen = [case for case in cases(metafunc.config) if case[2] in only]
        ids = [f"{workload}|{size}|{name}" for workload, size, name in chosen]
        metafunc.parametrize("case", chosen, ids=ids, scope="module")


@lru_cache(maxsize=1)
def pods_of(workload: Workload, size: int) -> list[RawObject]:
    """Make the pods of a workload."""
    gc.collect()
    return workload.pods(size)


class Filled:
    """A subject with the pods of a workload."""

    def __init__(self, case: tuple[Workload, int, str]) -> None:
        workload, size, name = case
        self.pods = pods_of(workload, size)
        self.labels = indexed_labels(self.pods)
        self.subject: Subject = SUBJECTS[name](self.labels)
        self.subject.replace(self.pods)
        self.questions = questions(self.pods)
        self.note = {"workload": str(workload), "size": size, "subject": name}
        gc.collect()

    @property
    def store(self) -> Store[RawObject]:
        """The store of kindex."""
        assert isinstance(self.subject, Kindex)
        return self.subject.store

    def some(self, most: int = 1_000) -> list[RawObject]:
        """Give pods at random keys, the same for each run."""
        return random.Random(7).sample(self.pods, min(most, len(self.pods) // 2))  # noqa: S311 - a shape, not a secret


@pytest.fixture(scope="module")
def filled(case: tuple[Workload, int, str]) -> Iterator[Filled]:
    """Fill the subject of each case in turn."""
    made = Filled(case)
    yield made
    made.subject.close()


def note(benchmark: BenchmarkFixture, filled: Filled, operation: str, **more: Any) -> None:
    """Say what a figure is of."""
    benchmark.extra_info.update(filled.note, operation=operation, **more)


def asked(filled: Filled, name: str) -> Any:
    """Give a question, or skip: pods with one label are not asked for two."""
    if name not in filled.questions:
        pytest.skip("not a question for this workload")
    return filled.questions[name]


def in_rounds(benchmark: BenchmarkFixture, each: Callable[[Any], object], made: Callable[[int], list[Any]]) -> None:
    """Do something with every one of what is made for a round, beforehand."""

    def ready() -> tuple[tuple[list[Any]], dict[str, Any]]:
        nonlocal number
        number += 1
        return (made(number),), {}

    def do(batch: list[Any]) -> None:
        for one in batch:
            each(one)

    number = 0
    benchmark.pedantic(do, setup=ready, rounds=5)


# Reads


def bench_get(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Keys at random, each cold."""
    keys = [key_of(pod) for pod in filled.some()]
    note(benchmark, filled, "get", per=len(keys), answer=1)
    in_rounds(benchmark, filled.subject.get, lambda _: keys)


@pytest.mark.parametrize("name", QUESTIONS)
def bench_select(benchmark: BenchmarkFixture, filled: Filled, name: str) -> None:
    """The objects of an answer, asked over and over."""
    answer = filled.subject.query(asked(filled, name))
    note(benchmark, filled, f"select: {name}")
    benchmark.extra_info["answer"] = len(benchmark(answer))


@pytest.mark.parametrize(("kept", "remembered"), [("dicts", False), ("LazyObjects", True), ("LazyObjects", False)])
def bench_select_otherwise(benchmark: BenchmarkFixture, filled: Filled, kept: str, *, remembered: bool) -> None:
    """One label, where nothing is known of the time before, or the objects are LazyObjects."""
    if filled.note["workload"] not in map(str, ANCHORS):
        pytest.skip("the anchors tell it")
    room = REMEMBERED if remembered else 0
    store: Store[Any] = Store(indexers=[LabelIndexer(filled.labels[0])], remember_bytes=room)
    decode = LazyDecoder().decode
    store.replace(filled.pods if kept == "dicts" else [decode(msgspec.json.encode(pod)) for pod in filled.pods])
    gc.collect()
    parts = ["select: 1 label", *(["LazyObjects"] if kept != "dicts" else []), *([] if remembered else ["asked once"])]
    note(benchmark, filled, ", ".join(parts))
    selector = asked(filled, "1 label").selector
    benchmark.extra_info["answer"] = len(benchmark(store.select, label_selector=selector))


@pytest.mark.parametrize("name", QUESTIONS[:3])
def bench_count(benchmark: BenchmarkFixture, filled: Filled, name: str) -> None:
    """How many they are."""
    note(benchmark, filled, f"count: {name}")
    benchmark.extra_info["answer"] = benchmark(filled.subject.counter(asked(filled, name)))


def bench_scan(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """One label, of a store that has no index."""
    store: Store[RawObject] = Store(name="pods")
    store.replace(filled.pods)
    question = asked(filled, "1 label")
    note(benchmark, filled, "scan: 1 label")
    found = benchmark.pedantic(store.select, kwargs={"label_selector": question.selector}, rounds=5, warmup_rounds=1)
    benchmark.extra_info["answer"] = len(found)


def bench_explain(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """How it would be answered."""
    selector = asked(filled, "2 labels").selector
    note(benchmark, filled, "explain")
    plan = benchmark(filled.store.explain, label_selector=selector)
    benchmark.extra_info["answer"] = plan.returned


def bench_tally(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """How many objects each value of a label has."""
    assert isinstance(filled.subject, Kindex)
    key = filled.subject.by_labels.key(filled.labels[0])
    note(benchmark, filled, "tally")
    benchmark.extra_info["answer"] = len(benchmark(filled.store.tally, key))


def bench_snapshot(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Take one and close it."""
    note(benchmark, filled, "snapshot")
    benchmark(lambda: filled.store.snapshot().close())


def bench_memory(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Ask for the report."""
    report = benchmark.pedantic(filled.store.memory, rounds=5)
    note(benchmark, filled, "memory()", bytes=report.total_bytes)


def bench_forecast(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """What an index of one label would take, from a sample of 5,000."""
    sample = min(5_000, len(filled.pods))
    note(benchmark, filled, "forecast", sample=sample)
    benchmark.pedantic(
        forecast, args=(filled.pods, LabelIndexer(filled.labels[0])), kwargs={"sample": sample}, rounds=3
    )


def bench_reverse(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Which of 10,000 selectors, each of some pod's first two labels, match a pod."""
    draw = random.Random(3)  # noqa: S311 - a shape, not a secret
    services: list[Any] = []
    for number, pod in enumerate(draw.choices(filled.pods, k=SELECTORS)):
        selector = dict(sorted(pod["metadata"]["labels"].items())[:2]) or {"app": "none"}
        services.append({"metadata": {"name": f"service-{number}", "namespace": "x"}, "spec": {"selector": selector}})
    store: Store[Any] = Store(name="services", indexers=[selecting])
    store.replace(services)
    batch = filled.some(100)
    note(benchmark, filled, "selectors of a pod", per=len(batch))
    in_rounds(benchmark, lambda pod: store.select(selecting.matching(pod)), lambda _: batch)


# Writes; each leaves the subject as it was


def bench_put_unchanged(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """No indexed value changes."""
    some = filled.some()
    note(benchmark, filled, "put: unchanged", per=len(some))
    in_rounds(benchmark, filled.subject.put, lambda _: [parsed_anew(pod) for pod in some])
    restore(filled, some)


def bench_put_one_label(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """One label takes the value that it has on another pod."""
    key, some = filled.labels[0], [pod for pod in filled.some() if filled.labels[0] in pod["metadata"]["labels"]]
    values = [pod["metadata"]["labels"][key] for pod in some]

    def changed(number: int) -> list[RawObject]:
        pods = [parsed_anew(pod) for pod in some]
        for pod, value in zip(pods, values[number:] + values[:number], strict=True):
            pod["metadata"]["labels"][key] = value
        return pods

    note(benchmark, filled, "put: one label", per=len(some))
    in_rounds(benchmark, filled.subject.put, changed)
    restore(filled, some)


def bench_put_new_and_delete(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Keys that were not there; they are deleted after it. A figure is for both."""
    some = filled.some()

    def new(number: int) -> list[RawObject]:
        return [
            parsed_anew(pod, name=f"{key_of(pod)[1]}-{number}", uid=f"new-{number}-{at}") for at, pod in enumerate(some)
        ]

    def put_and_delete(pod: RawObject) -> None:
        filled.subject.put(pod)
        filled.subject.delete(key_of(pod))

    note(benchmark, filled, "put and delete", per=len(some))
    in_rounds(benchmark, put_and_delete, new)


def bench_put_new(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Keys that were not there."""
    some = filled.some()
    made: list[RawObject] = []

    def new(number: int) -> list[RawObject]:
        delete_all(filled, made)
        made[:] = [
            parsed_anew(pod, name=f"{key_of(pod)[1]}-{number}", uid=f"new-{number}-{at}") for at, pod in enumerate(some)
        ]
        return list(made)

    note(benchmark, filled, "put: new", per=len(some))
    in_rounds(benchmark, filled.subject.put, new)
    delete_all(filled, made)


def bench_delete(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Drop, at random keys; what is dropped is put back between rounds."""
    some = filled.some()
    keys = [key_of(pod) for pod in some]

    def back(_number: int) -> list[Any]:
        restore(filled, some)
        return keys

    note(benchmark, filled, "delete", per=len(keys))
    in_rounds(benchmark, filled.subject.delete, back)
    restore(filled, some)


def bench_transaction(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Put 1,000 objects, each with another label, as one commit; a figure is for one of them."""
    key, some = filled.labels[0], filled.some(IN_A_TRANSACTION)

    def changed() -> tuple[tuple[list[RawObject]], dict[str, Any]]:
        nonlocal number
        number += 1
        pods = [parsed_anew(pod) for pod in some]
        for pod in pods:
            pod["metadata"]["labels"][key] = f"value-{number}"
        return (pods,), {}

    def commit(pods: list[RawObject]) -> None:
        with filled.store.transaction() as transaction:
            for pod in pods:
                transaction.put(pod)

    number = 0
    note(benchmark, filled, "transaction", per=len(some))
    benchmark.pedantic(commit, setup=changed, rounds=5)
    restore(filled, some)


@pytest.mark.parametrize("late", ["label", "field"])
def bench_late_index(benchmark: BenchmarkFixture, filled: Filled, late: str) -> None:
    """Add an index to a store that is full; a figure is for all."""
    store: Store[RawObject] = Store(name="pods")
    store.replace(filled.pods)
    indexer = LabelIndexer(filled.labels[0]) if late == "label" else FieldIndexer("spec.nodeName")

    def without() -> None:
        if indexer.name in store.index_names:
            store.remove_indexer(indexer.name)

    note(benchmark, filled, f"late index: {late}")
    benchmark.pedantic(store.add_indexers, args=(indexer,), setup=without, rounds=5)


def bench_relist(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Another list, in which one of a hundred has a new resource version and another label; a figure is for all."""
    key = filled.labels[0]

    def relisted() -> tuple[tuple[list[RawObject]], dict[str, Any]]:
        nonlocal number
        number += 1
        made = list(filled.pods)
        for at in range(0, len(made), 100):
            made[at] = copy.deepcopy(made[at])
            made[at]["metadata"]["labels"][key] = f"relisted-{number}"
            made[at]["metadata"]["resourceVersion"] = f"9{number}"
        gc.collect()  # as in a first list
        return (made,), {}

    number = 0
    note(benchmark, filled, "relist")
    benchmark.pedantic(filled.store.replace, setup=relisted, rounds=3)
    filled.store.replace(filled.pods)


def bench_first_list(benchmark: BenchmarkFixture, filled: Filled) -> None:
    """Into an empty store; a figure is for all. kindex indexes labels only, as client-go does in its measurement.

    The last thing that is asked of a subject: what it has goes first, so that the collector finds one store, not two.
    """
    made: list[Subject] = []

    def first_list() -> None:
        subject.replace(filled.pods)

    def empty() -> None:
        nonlocal subject
        for each in made:
            each.close()
        subject = type(filled.subject)(filled.labels)
        if isinstance(subject, Kindex):
            subject.store = Store(name="pods", indexers=[subject.by_labels])
        made[:] = [subject]
        gc.collect()  # what the round before has left is not this one's; Go's benchmarks begin so too

    filled.subject.close()
    subject = filled.subject = type(filled.subject)(filled.labels)
    gc.collect()
    note(benchmark, filled, "first list")
    benchmark.pedantic(first_list, setup=empty, rounds=1 if isinstance(filled.subject, Sqlite) else 3)
    subject.close()


ONLY_KINDEX = {
    each.__name__
    for each in (
        bench_select_otherwise,
        bench_scan,
        bench_explain,
        bench_tally,
        bench_snapshot,
        bench_memory,
        bench_forecast,
        bench_reverse,
        bench_transaction,
        bench_late_index,
        bench_relist,
    )
}


def restore(filled: Filled, some: list[RawObject]) -> None:
    """Put pods back as they were."""
    for pod in some:
        filled.subject.put(pod)


def delete_all(filled: Filled, some: list[RawObject]) -> None:
    """Drop pods."""
    for pod in some:
        filled.subject.delete(key_of(pod))
