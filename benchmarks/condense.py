"""From what pytest-benchmark wrote to what is published: ``python -m benchmarks.condense FILE``.

Writes ``suite.json`` and ``growth.json`` in ``benchmarks/results``, each with the machine, the versions, the commit and
the command, and a row for each figure: microseconds of one operation, the median of the rounds and the quartiles beside
it. A file is written only if the run has rows for it.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.bench_memory import circumstances

RESULTS = Path(__file__).parent / "results"
BESIDE = ("kubernetes", "kopf", "msgspec", "sortedcontainers", "pytest-benchmark")


def main() -> None:
    """Read, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("raw", type=Path)
    parser.add_argument("--into", type=Path, default=RESULTS)
    options = parser.parse_args()
    raw = json.loads(options.raw.read_text())
    rows = [row_of(each) for each in raw["benchmarks"]]
    head = {**circumstances(), "versions": versions(), **run_of(raw)}
    options.into.mkdir(exist_ok=True)
    for name, key in (("suite", "workload"), ("growth", "grows")):
        if chosen := [row for row in rows if key in row]:
            text = ",\n".join(json.dumps(row) for row in chosen)
            opening = json.dumps({**head, "rows": []}, indent=1).removesuffix("[]\n}")
            (options.into / f"{name}.json").write_text(f"{opening}[\n{text}\n]}}\n")


def row_of(benchmark: dict[str, Any]) -> dict[str, Any]:
    """Give one figure: what it is of, and microseconds of one operation."""
    info = dict(benchmark["extra_info"])
    per = info.pop("per", 1)
    stats = benchmark["stats"]
    times = {f"{name}_us": round(stats[key] * 1e6 / per, 4) for name, key in TIMES.items()}
    return {**info, **times, "rounds": stats["rounds"]}


TIMES = {"median": "median", "q1": "q1", "q3": "q3"}


def run_of(raw: dict[str, Any]) -> dict[str, Any]:
    """Say which program ran, and how it was called."""
    commit = raw.get("commit_info", {})
    return {
        "cpu": raw["machine_info"].get("cpu", {}).get("brand_raw", "unknown"),
        "commit": f"{str(commit.get('id', 'unknown'))[:12]}{', changed' if commit.get('dirty') else ''}",
        "date": raw["datetime"][:10],
        "command": raw.get("command", "unknown"),
    }


def versions() -> dict[str, str]:
    """Give the versions of what is compared, as far as it is there."""
    found = {"sqlite3": sqlite3.sqlite_version}
    for name in BESIDE:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    main()
