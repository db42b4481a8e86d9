"""One writer and some readers on a cache, in a process of its own; ``bench_threads`` runs it, and says what is what."""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import threading
from array import array
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any

from benchmarks.thread_subjects import OF_TEN, OF_THOUSAND, SUBJECTS, UNINDEXED, Pod, pods_for_threads, with_label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from benchmarks.thread_subjects import Subject

QUESTIONS = {"150": OF_THOUSAND, "15,000": OF_TEN, "scan": UNINDEXED}
WRITTEN = 20_000
"""So many keys are written, over and over."""

QUIET = 0.1
"""Other processes may use so much of one CPU."""


class Collector:
    """How long the cyclic collector took."""

    def __init__(self) -> None:
        self.longest, self._began = 0.0, 0.0
        gc.callbacks.append(self._called)

    def _called(self, phase: str, _info: dict[str, int]) -> None:
        if phase == "start":
            self._began = perf_counter()
        else:
            self.longest = max(self.longest, perf_counter() - self._began)


COLLECTOR = Collector()


def updates(made: list[Pod]) -> Iterator[Pod]:
    """Give updates at random keys for ever, each with another value of one label than the last; made beforehand."""
    draw = random.Random(7)  # noqa: S311 - a shape, not a secret
    some = draw.sample(made, min(WRITTEN, len(made)))
    batches = [
        {**pod, "metadata": {**pod["metadata"], "labels": {**pod["metadata"]["labels"], OF_THOUSAND: value}}}
        for _ in range(2)
        for pod, value in zip(some, (f"value-{int(draw.random() * 1_000)}" for _ in some), strict=True)
    ]
    return cycle(batches)


def written(put: Callable[[Pod], object], source: Iterator[Pod], pace_seconds: float, end: float) -> dict[str, Any]:
    """Write until *end*: as fast as may be, or once in *pace_seconds*, making good for nothing that was missed."""
    took, late = array("d"), array("d")
    due = perf_counter()
    while due < end:
        pod = next(source)
        if pace_seconds:
            due = max(due + pace_seconds, perf_counter())
            sleep(max(0.0, due - perf_counter()))
            began = perf_counter()
            late.append(began - due)
        else:
            due = began = perf_counter()
        put(pod)
        took.append(perf_counter() - began)
    return {"writes": len(took), "put_us": spread(took), "late_us": spread(late)}


def read(select: Callable[[str, str], list[Pod]], label: str, start: int, end: float) -> array[float]:
    """Ask for one value after the other until *end*, and give how long each answer took."""
    values = 1_000 if label == OF_THOUSAND else 10
    asked = cycle([f"value-{(start * 97 + number) % values}" for number in range(min(values, 100))])
    took = array("d")
    while (began := perf_counter()) < end:
        select(label, next(asked))
        took.append(perf_counter() - began)
    return took


def spread(took: array[float]) -> list[float] | None:
    """Give median, 99th percentile and maximum, in microseconds."""
    if not took:
        return None
    ordered = sorted(took)
    return [round(ordered[place] * 1e6, 1) for place in (len(ordered) // 2, len(ordered) * 99 // 100, -1)]


def checked(subject: Subject, made: list[Pod]) -> None:
    """Assert that *subject* answers as a scan does, before its speed counts."""
    for label in QUESTIONS.values():
        found, expected = subject.select(label, "value-1"), with_label(made, label, "value-1")
        names = [sorted(pod["metadata"]["name"] for pod in each) for each in (found, expected)]
        assert names[0] == names[1] or subject.name == "(nothing shared)", (subject.name, label)


def busy_seconds() -> float:
    """Give how long the machine's CPUs have worked so far; 0 where that is not known."""
    stat = Path("/proc/stat")
    if not stat.exists():
        return 0.0
    user, nice, system, _idle, _waiting, *interrupts = map(int, stat.read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def once(
    cache: Subject, source: Iterator[Pod], readers: int, label: str, pace_us: float, seconds: float
) -> dict[str, Any]:
    """Let them run for *seconds*."""
    gc.collect()
    ends: list[float] = []
    start = threading.Barrier(readers + 1, action=lambda: ends.append(perf_counter() + seconds))
    answers: list[array[float]] = []

    def reader(number: int) -> None:
        start.wait()
        answers.append(read(cache.select, label, number, ends[0]))

    threads = [threading.Thread(target=reader, args=(number,)) for number in range(readers)]
    for thread in threads:
        thread.start()
    cache.failures.clear()
    COLLECTOR.longest, busy, own = 0.0, busy_seconds(), process_time()
    start.wait()
    result = written(cache.put, source, pace_us / 1e6, ends[0])
    for thread in threads:
        thread.join()
    others = max(0.0, busy_seconds() - busy - (process_time() - own))
    assert len(answers) == readers, "a reader failed"
    took = array("d", (each for answer in answers for each in answer))
    return {
        "writes_per_second": result.pop("writes") / seconds,
        **result,
        "reads_per_second": len(took) / seconds,
        "read_us": spread(took),
        "failures": len(cache.failures),
        "collection_us": round(COLLECTOR.longest * 1e6, 1),
        "others_cpu": round(others / seconds, 2),
    }


def measure(
    *,
    subject: str,
    readers: int,
    question: str,
    pace_us: float,
    pods: int,
    seconds: float,
    switch_ms: float,
    tries: int,
) -> dict[str, Any]:
    """Measure until no other process worked meanwhile, at most so many times; the quietest time counts."""
    made = pods_for_threads(pods)
    source = updates(made)
    cache = SUBJECTS[subject](made)
    checked(cache, made)
    sys.setswitchinterval(switch_ms / 1e3)
    measured: list[dict[str, Any]] = []
    while len(measured) < tries and not any(each["others_cpu"] <= QUIET for each in measured):
        measured.append(once(cache, source, readers, QUESTIONS[question], pace_us, seconds))
    quietest = min(measured, key=lambda each: float(each["others_cpu"]))
    asked = question if readers else None
    return {"subject": subject, "readers": readers, "question": asked, "pace_us": pace_us, **quietest}


if __name__ == "__main__":
    print(json.dumps(measure(**json.loads(sys.argv[1]))))
