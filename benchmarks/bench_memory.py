"""Whether ``Store.memory()`` tells the truth, and what the label index takes beside client-go's: ``make bench-memory``.

Each line is a process of its own, which makes the pods, fills a store, and reads what it has grown by. Prints a table,
writes ``benchmarks/results/memory.json``, and fails if a figure is not within what was promised:

* accounted bytes within 10 % or 1 MB of what RSS grew by, whichever is more;
* the label index so many times smaller than client-go's: 10 labels that go together 10 times, independent ones 5,
  10 unique and 10 shared ones 7;
* after 100,000 objects with fresh values have come and gone, and after a replace from 150,000 to 10: no postings but of
  what is left, at most 64 kB accounted, RSS within 10 % of where it was.

Python's small blocks stand in arenas of a megabyte, and one block that lives keeps its arena. So a process may grow by
some megabytes more than is in use; a shape that is off is measured up to three times, and the least growth counts. For
the same reason what came and went is measured under ``PYTHONMALLOC=malloc`` too, where RSS shows what is still in use,
and that is what is judged.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import attrs

from benchmarks.memory_shapes import CLIENT_GO_SOURCE, SIZE, Shape, shapes

RESULTS = Path(__file__).parent / "results" / "memory.json"
TRUE_TO = 0.10
OR_BYTES = 1_000_000
LEFT_BYTES = 64_000
TRIES = 3
LINE = "{:<36} {:>9} {:>9} {:>7} {:>9} {:>9} {:>7} {:>8}  {}"


def run(what: str, *, environment: dict[str, str] | None = None, **arguments: Any) -> dict[str, Any]:
    """Measure one thing in a process of its own."""
    command = [sys.executable, "-P", "-m", "benchmarks.memory_process", what, json.dumps(arguments)]
    variables = {**os.environ, **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)  # noqa: S603 - Python
    if done.returncode:
        raise SystemExit(f"{what} {arguments} failed:\n{done.stderr}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def true(counted: int, grown: int) -> bool:
    """Tell whether the report is true enough."""
    return abs(counted - grown) <= max(TRUE_TO * grown, OR_BYTES)


def measured_of(shape: Shape, what: str = "truth") -> dict[str, Any]:
    """Measure a shape, and compare."""
    tries: list[dict[str, Any]] = []
    while len(tries) < TRIES and not any(true(each["counted"], each["grown"]) for each in tries):
        tries.append(run(what, **attrs.asdict(shape)))
    least = min(tries, key=lambda each: int(each["grown"]))
    row: dict[str, Any] = {"shape": attrs.asdict(shape), "what": what, "tries": len(tries), **least}
    row["off"] = round(row["counted"] / row["grown"] - 1, 4)
    row["true"] = true(row["counted"], row["grown"]) or what == "added"  # shown only: holes in the heap weigh most here
    if what == "truth" and shape.client_go_mb is not None:
        row["client_go"] = round(shape.client_go_mb * 1_000_000)
        row["times_less"] = round(row["client_go"] / row["labels"], 1)
        row["bound"] = shape.bound
        row["reached"] = shape.bound is None or row["times_less"] >= shape.bound
    return row


def shown(shape: Shape, row: dict[str, Any]) -> str:
    """Write one line of the table."""
    cells = [f"{row[name] / 1e6:.2f}" if name in row else "" for name in ("grown", "counted")]
    cells += [
        f"{row['off']:+.1%}",
        *(f"{row[name] / 1e6:.2f}" if name in row else "" for name in ("labels", "client_go")),
    ]
    cells += [f"{row['times_less']:.1f}" if "times_less" in row else "", f"{row.get('cpu_seconds', '')}"]
    word = "" if row["true"] and row.get("reached", True) else "MISSED"
    name = f"{shape}{'' if row['what'] == 'truth' else ' ' + row['what'].replace('_', ' ')}"
    return LINE.format(name, *cells, word).rstrip()


def left_by(what: str, **arguments: Any) -> dict[str, Any]:
    """Measure what is left when most has gone: as Python is, and without its arenas."""
    usual = run(what, **arguments)
    row = {"what": what, **usual, "off": round(usual["after"] / usual["before"] - 1, 4)}
    without = run(what, environment={"PYTHONMALLOC": "malloc"}, **arguments)
    row["without_arenas"] = {name: without[name] for name in ("before", "after")}
    row["off_without_arenas"] = round(without["after"] / without["before"] - 1, 4)
    gone = what != "churn" or not row["postings"]
    row["reached"] = gone and row["counted"] <= LEFT_BYTES and abs(row["off_without_arenas"]) <= TRUE_TO
    return row


def main() -> None:
    """Measure all, print, write and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pods", type=int, default=SIZE, help="client-go is compared at 150,000 only")
    parser.add_argument("--only", default="", help="only shapes whose name has this in it")
    chosen = parser.parse_args()
    print("MB; shapes: namespaces / distribution / values / labels (u: unique to each pod)")
    print(LINE.format("shape", "RSS grew", "counted", "off", "labels", "client-go", "times", "cpu s", "").rstrip())
    rows = []
    every = [(shape, "truth") for shape in shapes(chosen.pods)]
    every += [
        (shape, what)
        for shape in (Shape(n=chosen.pods), Shape(values=1_000, n=chosen.pods))
        for what in ("added", "put_one_by_one")
    ]
    every += [(Shape(unique=10, n=chosen.pods), "added")]
    for shape, what in every:
        if chosen.only in str(shape):
            rows.append(measured_of(shape, what))
            print(shown(shape, rows[-1]), flush=True)
    left = [] if chosen.only else [left_by("churn"), left_by("shrink", n=chosen.pods)]
    for row in left:
        print(
            f"{row['what']}: at most {row['most'] / 1e6:.1f} MB accounted; left: {row['postings']} postings,"
            f" {row['counted'] / 1e3:.1f} kB accounted, RSS {row['before'] / 1e6:.1f} -> {row['after'] / 1e6:.1f} MB,"
            f" without arenas {row['off_without_arenas']:+.1%}"
            f" {'' if row['reached'] else ' MISSED'}"
        )
    if chosen.pods == SIZE and not chosen.only:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(
            json.dumps({**circumstances(), "client_go": CLIENT_GO_SOURCE, "rows": rows, "left": left}, indent=1) + "\n"
        )
        print(f"wrote {RESULTS}")
    if not all(row.get("true", True) and row.get("reached", True) for row in [*rows, *left]):
        raise SystemExit("some figures are not within what was promised")


def circumstances() -> dict[str, Any]:
    """Say where it was measured."""
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} CPUs",
        "system": f"{platform.system()}, {' '.join(platform.libc_ver())}",
        "python": platform.python_version(),
        "pyroaring": version("pyroaring"),
        "kindex": version("kube-kindex"),
    }


if __name__ == "__main__":
    main()
