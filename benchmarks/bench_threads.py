"""One writer beside readers: how long they make each other wait. ``python -m benchmarks.bench_threads``.

One thread puts pods, as fast as it may or 1,000 a second; others ask the same question over and over, as fast as they
may: pods with a label, 150 or 15,000 of 150,000, or with a label that no index knows. Each line is its own process.

How to read it:

* Python runs one thread at a time. A thread that can run and may not waits until another one blocks, or has run for the
  switch interval, 5 ms: with four busy readers up to four times that. So a paced writer, which sleeps between two puts,
  starts late beside any busy thread, whatever they share; "late" is how long after its time a put began, "put" how
  long it took. The control, which shares nothing and has no lock, shows how much of each is Python's.
* A reader's time includes the waiting for the others. Beside 7 others it runs an eighth of the time.
* ``kubernetes.informer`` and the dicts have no index: they answer each question by a scan.
* kopf's index has no lock. A read that fails, since the writer came in between, is done again and counted.
* client-go's figures are another machine's, and Go's: its threads run at the same time on two cores.
* The longest collection of Python's cyclic collector is printed, since it stops all threads.
* Other processes spoil it. A line is measured up to three times until they are quiet, and says so if they never were.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs

from benchmarks.bench_memory import circumstances
from benchmarks.thread_process import QUESTIONS
from benchmarks.thread_subjects import SUBJECTS

SIZE = 150_000
READERS = (0, 1, 4, 8)
PACES_US = (1_000, 0)
SWITCH_MS = 5.0
TRIES = 3
LOUD = 0.25
LINE = "{:>7} {:<24} {:>9} {:>24} {:>24} {:>10} {:>28} {:>8}  {}"

CLIENT_GO_SOURCE = "Kubernetes 1.36.2's client-go, Go 1.27.3, another machine of 2 cores, 150,000 v1.Pods of 5 labels"
CLIENT_GO: dict[tuple[str | None, int, int], tuple[float, list[float], float, list[float] | None]] = {
    (None, 0, 0): (134_932, [6, 16, 2_844], 0, None),
    (None, 0, 1_000): (988, [12, 216, 331], 0, None),
    ("150", 1, 0): (22_363, [43, 97, 3_685], 22_745, [43, 95, 3_488]),
    ("150", 4, 0): (15_056, [57, 158, 4_307], 64_676, [21, 342, 26_938]),
    ("150", 1, 1_000): (928, [58, 202, 1_997], 71_631, [12, 65, 1_629]),
    ("150", 4, 1_000): (94, [88, 672, 800], 123_592, [11, 101, 112_943]),
    ("15,000", 1, 0): (713, [1_368, 1_988, 5_562], 712, [1_370, 2_044, 5_526]),
    ("15,000", 4, 0): (315, [2_177, 26_366, 43_111], 1_263, [1_091, 28_058, 188_217]),
    ("15,000", 1, 1_000): (711, [1_352, 2_174, 5_689], 712, [1_355, 2_256, 5_670]),
    ("15,000", 4, 1_000): (310, [2_238, 26_224, 38_416], 1_253, [1_121, 27_925, 163_499]),
    ("scan", 1, 0): (103_341, [6, 14, 37_343], 10, [94_260, 104_448, 111_403]),
    ("scan", 4, 0): (12_891, [6, 14, 85_891], 22, [168_194, 238_963, 239_852]),
    ("scan", 1, 1_000): (718, [12, 22_522, 26_547], 11, [92_720, 98_612, 100_462]),
    ("scan", 4, 1_000): (27, [32_975, 60_798, 63_055], 24, [158_644, 221_470, 227_617]),
}
"""By question, readers and the writer's pace: writes a second and their times, reads a second and theirs."""


def run(**arguments: Any) -> dict[str, Any]:
    """Measure one configuration in a process of its own."""
    command = [sys.executable, "-P", "-m", "benchmarks.thread_process", json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - Python
    if done.returncode:
        raise SystemExit(f"{arguments} failed:\n{done.stderr}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def client_go(question: str | None, readers: int, pace_us: int) -> dict[str, Any] | None:
    """Give client-go's row, where it was measured."""
    known = CLIENT_GO.get((question, readers, pace_us))
    if known is None:
        return None
    writes, put_us, reads, read_us = known
    return {
        "subject": "client-go, elsewhere",
        "readers": readers,
        "question": question,
        "pace_us": pace_us,
        "writes_per_second": writes,
        "put_us": put_us,
        "late_us": None,
        "reads_per_second": reads,
        "read_us": read_us,
        "failures": 0,
        "collection_us": 0.0,
        "others_cpu": 0.0,
    }


def shown(row: dict[str, Any]) -> str:
    """Write one line of the table."""
    remarks = [f"{row['failures']:,} reads failed"] if row["failures"] else []
    if row["others_cpu"] > LOUD:
        remarks.append(f"other processes used {row['others_cpu']:.1f} CPUs")
    return LINE.format(
        row["readers"],
        row["subject"],
        f"{row['writes_per_second']:,.0f}",
        *(_times(row[name]) for name in ("put_us", "late_us")),
        f"{row['reads_per_second']:,.0f}" if row["readers"] else "",
        _times(row["read_us"]),
        f"{row['collection_us'] / 1e3:.1f}" if row["collection_us"] else "",
        "; ".join(remarks),
    ).rstrip()


def _times(us: list[float] | None) -> str:
    return "" if us is None else " / ".join(f"{each:,.0f}" for each in us)


@attrs.frozen
class Part:
    """One table: a question and a pace."""

    question: str
    pace_us: int
    readers: tuple[int, ...]

    def __str__(self) -> str:
        writer = f"a writer of {1_000_000 // self.pace_us:,} puts a second" if self.pace_us else "a writer without rest"
        return f"{writer}; no reader" if self.readers == (0,) else f"{writer}; readers ask for {self.question}"


def parts(readers: list[int]) -> list[Part]:
    """List the tables."""
    some = tuple(each for each in readers if each)
    found = [Part("150", pace, (0,)) for pace in PACES_US if 0 in readers]
    return found + [Part(question, pace, some) for question in QUESTIONS for pace in PACES_US if some]


def main() -> None:
    """Measure all, print, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=SIZE, help="client-go was measured at 150,000 only")
    parser.add_argument("--seconds", type=float, default=3.0, help="how long each line is measured")
    parser.add_argument("--readers", type=int, nargs="*", default=READERS)
    parser.add_argument("--subjects", nargs="*", default=list(SUBJECTS), choices=list(SUBJECTS))
    parser.add_argument("--switch-ms", type=float, default=SWITCH_MS, help="Python's switch interval; 5 ms by default")
    parser.add_argument("--tries", type=int, default=TRIES, help="how often a line is measured until others are quiet")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    chosen = parser.parse_args()
    rows = []
    for part in parts(chosen.readers):
        print(f"\n{chosen.pods:,} pods; {part}; microseconds: median / 99 % / longest; the collector's longest in ms")
        print(LINE.format("readers", "", "puts/s", "put", "late", "reads/s", "read", "collect", "").rstrip())
        for readers in part.readers:
            for subject in chosen.subjects:
                row = run(
                    subject=subject,
                    readers=readers,
                    question=part.question,
                    pace_us=part.pace_us,
                    pods=chosen.pods,
                    seconds=chosen.seconds,
                    switch_ms=chosen.switch_ms,
                    tries=chosen.tries,
                )
                rows.append(row)
                print(shown(row), flush=True)
            theirs = client_go(part.question if readers else None, readers, part.pace_us)
            if theirs is not None:
                print(shown(theirs), flush=True)
    if chosen.json is not None:
        facts = {"pods": chosen.pods, "seconds": chosen.seconds, "switch_ms": chosen.switch_ms}
        elsewhere = {"client_go": CLIENT_GO_SOURCE}
        chosen.json.write_text(json.dumps({**circumstances(), **facts, **elsewhere, "rows": rows}, indent=1) + "\n")
        print(f"wrote {chosen.json}")


if __name__ == "__main__":
    main()
