"""One measurement of memory, in a process of its own: ``python -m benchmarks.memory_process WHAT ARGUMENTS-AS-JSON``.

RSS is read after a collection and ``malloc_trim``, so what was only needed to build has been given back. The pods are
made first, and what making them has left behind is trimmed; then the store is filled, and the process grows by it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import sys
import time
import tracemalloc
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import msgspec
from pyroaring import BitMap

import kindex.footprints
import kindex.measuring
from benchmarks.memory_shapes import SIZE, Shape
from benchmarks.workloads import pod_lists, pods
from kindex import FieldIndexer, LabelIndexer, ObjectKey, SortedIndexer, Store
from kindex.forecasts import forecast

if TYPE_CHECKING:
    from collections.abc import Iterator


def rss() -> int:
    """Give the resident bytes of this process, without what is free in it."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextmanager
def as_requested() -> Iterator[None]:
    """Count what Python's structures ask for: without rounding, without the C library. So tracemalloc counts."""

    def same(size: int) -> int:
        return size

    def of_python(_bitmap: BitMap, *, grown: bool = False) -> int:  # noqa: ARG001 - as the real one
        return BitMap.__basicsize__

    # CPython asks for an int with its padding where it comes from a range, without where it numbers values.
    slot, number, pair = 32, sys.getsizeof(1 << 16), sys.getsizeof(("", ""))
    with (
        patch.multiple(kindex.footprints, allocated=same, INT_BYTES=number),
        patch.multiple(kindex.measuring, allocated=same, bitmap_bytes=of_python, INT_BYTES=slot, PAIR_BYTES=pair),
    ):
        yield


def parsed(**arguments: Any) -> list[dict[str, Any]]:
    """Make pods, and nothing else: another process writes them down, so that no holes are left in this one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        texts = pool.submit(pod_lists, **arguments).result()
    made: list[dict[str, Any]] = []
    while texts:
        made += msgspec.json.decode(texts.pop(0))
    return made


def filled(shape: Shape, made: list[dict[str, Any]]) -> Store[dict[str, Any]]:
    """Make the store whose labels are indexed."""
    store: Store[dict[str, Any]] = Store(indexers=[LabelIndexer(*shape.keys)] if shape.keys else [])
    store.replace(made)
    return store


def warm(shape: Shape, made: list[dict[str, Any]]) -> None:
    """Do it once on a small scale: what Python loads and remembers then is no store's."""
    filled(shape, made[:100]).memory()


def truth(**arguments: Any) -> dict[str, Any]:
    """Compare the report with what the process grows by."""
    shape = Shape(**arguments)
    made = parsed(**shape.arguments)
    warm(shape, made)
    before = rss()
    store = filled(shape, made)
    grown = rss() - before
    began = time.thread_time()
    report = store.memory()
    seconds = time.thread_time() - began
    labels = [index for index in report.indexes if index.kind == "label"]
    return {
        "grown": grown,
        "counted": report.total_bytes,
        "slots": report.slot_bytes,
        "labels": sum(index.index_bytes + index.text_bytes for index in labels),
        "text": report.text_bytes,
        "postings": sum(index.postings for index in labels),
        "values": sum(index.values for index in labels),
        "cpu_seconds": round(seconds, 3),
    }


def added(**arguments: Any) -> dict[str, Any]:
    """Do the same where the index is built late: what the process grows by is the label index alone."""
    shape = Shape(**arguments)
    made = parsed(**shape.arguments)
    warm(shape, made)
    store = filled(Shape(n=shape.n, labels=0), made)
    before, counted = rss(), store.memory().total_bytes
    store.add_indexers(LabelIndexer(*shape.keys))
    return {"grown": rss() - before, "counted": store.memory().total_bytes - counted}


def put_one_by_one(**arguments: Any) -> dict[str, Any]:
    """Do the same where objects come one by one, so that lists and bitmaps have room to spare."""
    shape = Shape(**arguments)
    made = parsed(**shape.arguments)
    warm(shape, made)
    before = rss()
    store: Store[dict[str, Any]] = Store(indexers=[LabelIndexer(*shape.keys)])
    for each in made:
        store.put(each)
    return {"grown": rss() - before, "counted": store.memory().total_bytes}


def churn(n: int = 100_000) -> dict[str, Any]:
    """Add and delete *n* objects whose values are all fresh."""
    store: Store[dict[str, Any]] = Store(
        indexers=[LabelIndexer("app", "hash"), FieldIndexer("status.podIP"), SortedIndexer("age", created_of)]
    )

    def fresh(number: int) -> dict[str, Any]:
        return {
            "metadata": {
                "name": f"pod-{number}",
                "namespace": f"namespace-{number}",
                "creationTimestamp": f"2030-01-01T00:00:00.{number:06d}Z",
                "labels": {"app": f"app-{number % 1_000}", "hash": f"hash-{number}"},
            },
            "status": {"podIP": f"ip-{number}"},
        }

    def round_trip(first: int, count: int) -> int:
        for number in range(first, first + count):
            store.put(fresh(number))
        most = store.memory().total_bytes
        for number in range(first, first + count):
            store.delete(ObjectKey(f"namespace-{number}", f"pod-{number}"))
        return most

    round_trip(0, 1_000)
    before = rss()
    most = round_trip(1_000, n)
    after = rss()
    report = store.memory()
    return {"before": before, "after": after, "most": most, "postings": report.postings, "counted": report.total_bytes}


def shrink(n: int = SIZE) -> dict[str, Any]:
    """Replace *n* objects by ten of them."""
    shape = Shape(n=n, values=1_000, unique=1)
    kept = pods(**{**shape.arguments, "n": 10})
    store = filled(shape, kept)
    before = rss()
    store.replace(pods(**shape.arguments))
    most = store.memory().total_bytes
    store.replace(kept)
    after = rss()
    report = store.memory()
    return {"before": before, "after": after, "most": most, "postings": report.postings, "counted": report.total_bytes}


def foretold(sample: int = 5_000, **arguments: Any) -> dict[str, Any]:
    """Forecast the label index, from all pods and from some."""
    shape = Shape(**arguments)
    made = parsed(**shape.arguments)
    indexer = LabelIndexer(*shape.keys)
    sample = min(sample, shape.n)
    return {
        "sample": sample,
        "all": forecast(made, indexer).bytes,
        "sampled": forecast(made, indexer, sample=sample).bytes,
    }


def created_of(pod: dict[str, Any]) -> str:
    """Say when a pod was made."""
    created: str = pod["metadata"]["creationTimestamp"]
    return created


def requested(*, rounded: bool = False, **arguments: Any) -> dict[str, Any]:
    """Compare the report's part of Python's own allocations with what tracemalloc sees of them.

    With *rounded* the comparison is wrong on purpose: blocks are rounded up, as the allocator does after tracemalloc.
    """
    shape = Shape(**arguments)
    made = parsed(**shape.arguments)
    warm(shape, made)
    gc.collect()
    tracemalloc.start()
    store = filled(shape, made)
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    with as_requested():
        counted = store.memory().total_bytes
    return {"traced": traced, "requested": store.memory().total_bytes if rounded else counted}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](**json.loads(sys.argv[2]))))
