"""From a server to a cache in this process, by kindex and by others: ``python -m benchmarks.bench_informers``.

A process for each subject, one after the other, against one server in another process: how long until all pods are
there, what that takes of CPU and memory, and what changes take after that. Two servers: one whose answers were rendered
beforehand, so that it costs next to nothing, and kindex's ApiServer, which takes time itself. Not for pytest: a subject
that has listed once is not what it was.

Options: ``--pods N``, ``--rounds N``, ``--only NAME``, ``--json FILE``.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.informer_process import BURST
from benchmarks.informer_subjects import SUBJECTS
from benchmarks.pod_texts import pod_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RESULTS = Path(__file__).parent / "results" / "informers.json"
COLUMNS: dict[str, tuple[str, str]] = {
    "synced_s": ("synced, s", "{:.2f}"),
    "cpu_s": ("CPU, s", "{:.2f}"),
    "kept_ratio": ("kept / JSON", "{:.2f}"),
    "peak_ratio": ("peak / kept", "{:.2f}"),
    "pause_ms": ("longest GC, ms", "{:.0f}"),
    "events_per_s": ("events/s", "{:,.0f}"),
    "cpu_us_per_event": ("CPU/event, us", "{:.0f}"),
    "delay_ms": ("delay, ms", "{:.1f}"),
    "delay_p99_ms": ("p99, ms", "{:.1f}"),
}


@contextmanager
def serving(pods: int, *options: str) -> Iterator[str]:
    """Run a server, and give its URL."""
    command = [sys.executable, "-m", "benchmarks.rendered_server", "--pods", str(pods), *options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:  # noqa: S603 - its own
        assert server.stdout
        assert server.stdin
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.stdin.close()


def measure(name: str, url: str, pods: int, burst: int) -> dict[str, Any]:
    """Measure one subject, once."""
    command = [sys.executable, "-m", "benchmarks.informer_process", name, url, str(pods), str(burst)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - as above
    if done.returncode:
        raise SystemExit(f"{name}: {done.stderr.strip() or 'no answer'}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def medians(runs: list[dict[str, Any]], json_bytes: int) -> dict[str, Any]:
    """Put runs of one subject together."""
    found = {name: median(run[name] for run in runs) for name in runs[0] if name != "subject"}
    found["kept_ratio"] = found["kept_bytes"] / json_bytes
    found["peak_ratio"] = found["peak_bytes"] / found["kept_bytes"]
    return {"subject": runs[0]["subject"], "synced_all_s": [run["synced_s"] for run in runs], **found}


def shown(title: str, rows: list[dict[str, Any]]) -> Table:
    """Make a table of rows."""
    table = Table("", title=title, title_justify="left")
    columns = [name for name in COLUMNS if name in rows[0]]
    for name in columns:
        table.add_column(COLUMNS[name][0], justify="right")
    for row in rows:
        table.add_row(row["subject"], *(COLUMNS[name][1].format(row[name]) for name in columns))
    return table


def all_measured(names: list[str], pods: int, rounds: int, burst: int, flags: Sequence[str]) -> list[dict[str, Any]]:
    """Measure subjects against one server, one after the other, so that a slow minute hits all of them."""
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    with serving(pods, *flags) as url:
        for _ in range(rounds):
            for name in names:
                runs[name].append(measure(name, url, pods, min(burst, pods)))
    json_bytes = sum(map(len, pod_texts(pods)))
    return [{"pods": pods, "json_bytes": json_bytes, **medians(each, json_bytes)} for each in runs.values()]


def main() -> None:
    """Measure all subjects against both servers, print tables, and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", choices=list(SUBJECTS))
    parser.add_argument("--json", type=Path, default=RESULTS)
    options = parser.parse_args()
    names = options.only or list(SUBJECTS)
    sizes = {name: min(options.pods, SUBJECTS[name].most) for name in names}
    console = Console(width=150)
    found: dict[str, Any] = {
        "rounds": options.rounds,
        "python": platform.python_version(),
        "client": version("kubernetes"),
        "kopf": version("kopf"),
    }
    for kind, flags, burst in (("rendered", (), BURST), ("costly", ("--costly",), 0)):
        found[kind] = []
        for pods in sorted(set(sizes.values()), reverse=True):
            of_size = [name for name, size in sizes.items() if size == pods]
            found[kind] += all_measured(of_size, pods, options.rounds, burst, flags)
        console.print(shown(f"{options.pods:,} pods, {kind} server", found[kind]))
    options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
