"""LazyObjects beside dicts: to take in a pod of 5.4 kB, to read it, to scan 20,000 of them."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from benchmarks.pod_texts import list_bodies, pod_texts
from kindex import FieldIndexer, LabelIndexer, LazyObject, Store
from kindex.decoding import Decoder, DictDecoder, LazyDecoder
from kindex.indexers.reading import paths_read
from kindex.transforms import keep_paths, strip_managed_fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_benchmark.fixture import BenchmarkFixture

PODS = 1_000
SCANNED = 20_000
ROUNDS = 9

INDEXERS = [LabelIndexer("app", "tier"), FieldIndexer("spec.nodeName"), FieldIndexer("status.phase")]
IMAGES = FieldIndexer("spec.containers[*].image")
PATHS = paths_read(*INDEXERS)

DECODERS: dict[str, Callable[[], Callable[[bytes], object]]] = {
    "msgspec, skipping all": lambda: msgspec.json.Decoder(msgspec.Raw).decode,
    "lazy": lambda: LazyDecoder().decode,
    "lazy, 2 paths": lambda: LazyDecoder(PATHS).decode,
    "lazy, 2 paths and images": lambda: LazyDecoder([*PATHS, *paths_read(IMAGES)]).decode,
    "lazy, without managedFields": lambda: LazyDecoder(PATHS, transform=strip_managed_fields).decode,
    "lazy, one path kept": lambda: LazyDecoder(PATHS, transform=keep_paths("spec.nodeName")).decode,
    "dict": lambda: DictDecoder().decode,
    "dict, without managedFields": lambda: DictDecoder(transform=strip_managed_fields).decode,
    "dict by msgspec": lambda: msgspec.json.Decoder().decode,
    "dict by json": lambda: json.loads,
}


@lru_cache(maxsize=1)
def texts() -> list[bytes]:
    """Give the pods."""
    return pod_texts(SCANNED)


def each(benchmark: BenchmarkFixture, work: Callable[[Any], object], subjects: list[Any]) -> None:
    """Do the work on each subject; the figure is for all of them, so in thousandths it is that of one."""

    def run() -> None:
        for subject in subjects:
            work(subject)

    benchmark.extra_info["subjects"] = len(subjects)
    benchmark.pedantic(run, rounds=ROUNDS, warmup_rounds=1)


@pytest.mark.parametrize("name", DECODERS)
def bench_take_in(benchmark: BenchmarkFixture, name: str) -> None:
    """Decode 1,000 pods, one by one."""
    each(benchmark, DECODERS[name](), texts()[:PODS])


@pytest.mark.parametrize("make", [LazyDecoder, DictDecoder])
def bench_list(benchmark: BenchmarkFixture, make: Callable[[], Decoder[Any]]) -> None:
    """Decode a list of 1,000 pods in pages of 500, and keep them."""
    bodies = list(list_bodies(texts()[:PODS]))

    def run() -> list[Any]:
        decoder = make()
        return [obj for body in bodies for obj in decoder.decode_list(body).objects]

    assert len(benchmark.pedantic(run, rounds=ROUNDS, warmup_rounds=1)) == PODS


READS: dict[str, Callable[[LazyObject], object]] = {
    "key": lambda pod: pod.key,
    "metadata.labels[...]": lambda pod: pod.metadata.labels["app"],
    "metadata.annotations": lambda pod: pod.metadata.annotations,
    "metadata.owner_references": lambda pod: pod.metadata.owner_references,
    "[spec][nodeName]": lambda pod: pod["spec"].get("nodeName"),
    "path, indexed": lambda pod: pod.path("status.phase"),
    "path, not indexed": lambda pod: pod.path("status.podIP"),
    "to_dict": LazyObject.to_dict,
}


@pytest.mark.parametrize("name", READS)
def bench_read(benchmark: BenchmarkFixture, name: str) -> None:
    """Read one thing of 1,000 LazyObjects."""
    decoder = LazyDecoder(PATHS, transform=strip_managed_fields)
    pods = [decoder.decode(text) for text in texts()[:PODS]]
    each(benchmark, READS[name], [pod for pod in pods if pod.metadata.labels.get("app")])


@lru_cache(maxsize=2)
def objects(form: str) -> list[Any]:
    """Decode all pods to one form."""
    decoder: Decoder[Any] = LazyDecoder(PATHS, transform=strip_managed_fields) if form == "lazy" else DictDecoder()
    return [obj for body in list_bodies(texts()) for obj in decoder.decode_list(body).objects]


QUERIES: dict[str, dict[str, Any]] = {
    "labels": {"label_selector": "app in (basket-api,cart),!nothing"},
    "field": {"field_selector": "spec.nodeName=node-0019"},
    "where": {"where": lambda pod: "nothing" in labels_of(pod)},
}


def labels_of(pod: Any) -> Any:
    return pod.metadata.labels if isinstance(pod, LazyObject) else pod["metadata"].get("labels", {})


@pytest.mark.parametrize("form", ["lazy", "dict"])
@pytest.mark.parametrize("query", QUERIES)
def bench_scan(benchmark: BenchmarkFixture, form: str, query: str) -> None:
    """Scan 20,000 pods that nobody has indexed."""
    store: Store[Any] = Store()
    store.replace(objects(form))
    found = benchmark.pedantic(store.select, kwargs=QUERIES[query], rounds=ROUNDS, warmup_rounds=1)
    benchmark.extra_info["answer"] = len(found)


@pytest.mark.parametrize("form", ["lazy", "dict"])
def bench_replace(benchmark: BenchmarkFixture, form: str) -> None:
    """Build a store of 20,000 pods with four indexes."""

    def build() -> Store[Any]:
        store: Store[Any] = Store(indexers=INDEXERS)
        store.replace(objects(form))
        return store

    assert len(benchmark.pedantic(build, rounds=5, warmup_rounds=1)) == SCANNED


@pytest.mark.parametrize("form", ["lazy", "dict"])
def bench_put(benchmark: BenchmarkFixture, form: str) -> None:
    """Put 1,000 objects again, of which nothing has changed."""
    store: Store[Any] = Store(indexers=INDEXERS)
    store.replace(objects(form))
    each(benchmark, store.put, objects(form)[:PODS])
