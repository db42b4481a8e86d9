"""The page of figures, from results: ``python -m benchmarks.report``.

Writes ``docs/benchmarks.md`` and the plots beside it from ``benchmarks/results/*.json``; nothing is measured. A test
compares the page with what the results give. ``--client-go RESULT.json`` puts figures of client-go from a run on the
same machine in the place of those of another one; ``benchmarks.client_go`` has the format.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import report_others
from benchmarks.client_go import Figures, read
from benchmarks.named import ANCHORS, OTHERS, SIZES
from benchmarks.plots import Bar, Curve, bars, curves
from benchmarks.report_tables import exponent, spread, table, times, us

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
OTHER_MACHINE = ROOT / "benchmarks" / "client_go.json"
PAGE, PLOTS = "benchmarks.md", "plots"
FULL = SIZES[-1]
KINDEX = "kindex"
_SLOWER = 1.05
"""Less than that is no loss that medians can show."""

Row = dict[str, Any]

HEAD = """\
# Benchmarks

*Made by `python -m benchmarks.report` from `benchmarks/results/`; change those, not this page.*

## What these figures do not show

* **Your cluster.** The pods are generated, small and mostly uniform. `kindex analyze` and `forecast` look at yours.
* **Your machine.** Medians of one machine, which others used as well; compare within one table, and not two runs.
* **Threads.** One thread asks and writes here. What threads make each other wait is in [threads.md](threads.md): a
  program that computes all the time waits for Python's lock, however fast the store is.
* **A cold start of every question.** A question is asked over and over: how it is understood is kept, how a large
  answer is copied out too ("asked once" is without that), and what it touches is in the processor's caches. "after a
  change" under [growth](#growth) is a little colder. Keys of `get` and
  of writes are drawn at random.
* **Large objects.** These have one kilobyte at most. An answer holds references, so its cost does not change; a list's
  does, and is under [informers](#informers) where it was measured.
* **client-go as a whole.** Its cache alone is compared, by one thread; Go runs threads at the same time on all cores.
"""

SUITE_HEAD = """\
Medians in microseconds, with the quartiles of the rounds in brackets; the figure of a write or of `get` is for one
object of the thousand of a round, that of a list for all of it. `benchmarks/named.py` argues the workloads,
`benchmarks/subjects.py` says what is compared.
"""

CLIENT_GO_HEAD = {
    False: """\
**Two machines' figures**: client-go ran on {machine}. A ratio below 1.5 either way says nothing.
`python -m benchmarks.report --client-go RESULT.json` takes figures from a run beside this one; the format stands in
`benchmarks/client_go.py`.
""",
    True: "Both ran on one machine ({machine}).\n",
}
CLIENT_GO_NOTES = """\
Microseconds. {source}; 150,000 pods, ten labels. Its index is of namespace and label together, so with a hundred
namespaces the question names one. Two and three labels are looked up by one and filtered by the others, as its users
have to. Its `get` asks one key over and over, kindex is asked for keys at random; its additions and deletions go round
20,000 pods. kindex keeps an index of nodes and one of owners up to date as well. client-go's pods are structs, which a
scan walks.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--client-go", type=Path, help="figures from a run on this machine")
    options = parser.parse_args()
    if options.client_go is not None:
        read(options.client_go, beside=True)
        shutil.copyfile(options.client_go, options.results / "client_go.json")
    (options.docs / PLOTS).mkdir(exist_ok=True)
    for name, text in files(options.results).items():
        (options.docs / name).write_text(text)


def files(results: Path) -> dict[str, str]:
    """Give the page and the plots by their path in ``docs``."""
    read_in = {path.stem: json.loads(path.read_text()) for path in sorted(results.glob("*.json"))}
    beside = results / "client_go.json"
    client_go = read(beside, beside=True) if beside.exists() else read(OTHER_MACHINE, beside=False)
    made: dict[str, str] = {}
    sections = [HEAD]
    rows: list[Row] = read_in.get("suite", {}).get("rows", [])
    if rows:
        sections += [losses(rows, client_go), beside_client_go(rows, client_go, made), beside_others(rows)]
        sections += [by_size(rows), by_workload(rows)]
    if "growth" in read_in:
        sections.append(growth(read_in["growth"]["rows"], made))
    sections += report_others.sections(read_in)
    sections.append(circumstances(read_in, client_go))
    made[PAGE] = "\n".join(sections)
    return made


def one(rows: Iterable[Row], **wanted: Any) -> Row | None:
    """Find a figure."""
    return next((row for row in rows if all(row.get(key) == value for key, value in wanted.items())), None)


def ratios(rows: list[Row], client_go: Figures) -> list[tuple[Row, Any, float]]:
    """Give what can be compared with client-go, and how many times faster kindex is."""
    found = []
    for (workload, operation), figure in client_go.rows.items():
        row = one(rows, workload=workload, size=FULL, subject=KINDEX, operation=operation)
        if row is not None:
            found.append((row, figure, figure.us / row["median_us"]))
    return found


def losses(rows: list[Row], client_go: Figures) -> str:
    """List where kindex is slower than something, the worst first."""
    lost: list[tuple[float, list[str]]] = []
    for row, figure, faster in ratios(rows, client_go):
        if faster < 1 / _SLOWER:
            cells = [row["operation"], f"{row['workload']}, {row['size']:,}", spread(row), "client-go", us(figure.us)]
            lost.append((1 / faster, cells))
    for row in rows:
        rivals = [
            other
            for other in rows
            if other["subject"] != KINDEX
            and (other["workload"], other["size"], other["operation"])
            == (row["workload"], row["size"], row["operation"])
        ]
        if row["subject"] == KINDEX and rivals:
            best = min(rivals, key=lambda other: float(other["median_us"]))
            if row["median_us"] > _SLOWER * best["median_us"]:
                where = f"{row['workload']}, {row['size']:,}"
                cells = [row["operation"], where, spread(row), best["subject"], spread(best)]
                lost.append((row["median_us"] / best["median_us"], cells))
    lost.sort(key=lambda each: -each[0])
    # Of each operation the workload where it loses most to that subject; all figures are in the tables below.
    worst: dict[tuple[str, str], tuple[float, int, list[str]]] = {}
    for slower, cells in lost:
        at = (cells[0], cells[3])
        most, times_lost, shown = worst.get(at, (slower, 0, cells))
        worst[at] = (most, times_lost + 1, shown)
    body = table(
        ["", "worst with", "kindex", "faster is", "its", "times slower", "workloads"],
        [[*cells, times(slower), str(count)] for slower, count, cells in worst.values()],
    )
    about = (
        "Microseconds. Every operation that is more than 5 % slower than client-go's, or than the best of the other"
        " subjects, in the workload where that is worst, and in how many it is so at all. All figures are further"
        " below."
        " A dict without an index is cheaper to write and to fill, and to ask for one key: that is what indexes cost."
    )
    return f"## Where kindex loses\n\n{about}\n\n{body}"


def beside_client_go(rows: list[Row], client_go: Figures, made: dict[str, str]) -> str:
    """Compare with client-go."""
    compared = ratios(rows, client_go)
    if not compared:
        return "## Beside client-go\n\nNo figure of 150,000 pods is among the results.\n"
    shown = [
        [
            row["operation"],
            row["workload"],
            f"{row['answer']:,}" if "answer" in row else "",
            spread(row),
            f"{us(figure.us)} (least {us(figure.least_us)})",
            times(faster),
        ]
        for row, figure, faster in compared
    ]
    groups: dict[str, list[Bar]] = {}
    for row, figure, _ in compared:
        if row["workload"] in (str(ANCHORS[0]), str(ANCHORS[3])):
            groups.setdefault(row["workload"], []).append(Bar(row["operation"], row["median_us"], figure.us))
    names = ("kindex", "client-go" if client_go.beside else "client-go, another machine")
    made[f"{PLOTS}/client-go.svg"] = bars("Time of one operation on 150,000 pods", names, groups)
    return "\n".join(
        [
            "## Beside client-go\n",
            CLIENT_GO_HEAD[client_go.beside].format(machine=client_go.machine),
            CLIENT_GO_NOTES.format(source=client_go.source),
            f"![kindex and client-go]({PLOTS}/client-go.svg)\n",
            table(["", "pods", "answer", "kindex", "client-go", "times faster"], shown),
        ]
    )


def beside_others(rows: list[Row]) -> str:
    """Compare with the other subjects, at the largest size at which they were asked."""
    parts = ["## Beside what else Python has\n", SUITE_HEAD]
    for workload in map(str, ANCHORS):
        sizes = {row["size"] for row in rows if row["workload"] == workload and row["subject"] not in FEW}
        if not sizes:
            continue
        chosen = [row for row in rows if row["workload"] == workload and row["size"] == max(sizes)]
        subjects = list(dict.fromkeys(row["subject"] for row in chosen))
        operations = dict.fromkeys(row["operation"] for row in chosen if row["subject"] != KINDEX)
        body = []
        for operation in operations:
            figures = [one(chosen, subject=subject, operation=operation) for subject in subjects]
            answer = next((f"{row['answer']:,}" for row in figures if row and "answer" in row), "")
            body.append([operation, answer, *(spread(row) if row else "" for row in figures)])
        parts += [f"### {max(sizes):,} pods: {workload}\n", table(["", "answer", *subjects], body)]
    return "\n".join(parts)


FEW = (KINDEX, "dict and scan")


def by_size(rows: list[Row]) -> str:
    """Show kindex by the number of objects."""
    parts = ["## By the number of objects\n", "kindex alone; ten labels, and indexes of nodes and owners.\n"]
    for workload in map(str, ANCHORS):
        own = [row for row in rows if row["workload"] == workload and row["subject"] == KINDEX]
        sizes = sorted({row["size"] for row in own})
        body = []
        for operation in dict.fromkeys(row["operation"] for row in own):
            figures = [one(own, size=size, operation=operation) for size in sizes]
            cells = [f"{spread(row)}{_answer(row)}" if row else "" for row in figures]
            body.append([operation, *cells])
        parts += [f"### {workload}\n", table(["", *(f"{size:,}: µs, answer" for size in sizes)], body)]
    return "\n".join(parts)


def by_workload(rows: list[Row]) -> str:
    """Show kindex on the other workloads."""
    names = [str(workload) for workload in OTHERS]
    own = [row for row in rows if row["workload"] in names and row["subject"] == KINDEX]
    columns = [name for name in names if any(row["workload"] == name for row in own)]
    sizes = {row["workload"]: row["size"] for row in own}
    body = []
    for operation in dict.fromkeys(row["operation"] for row in own):
        figures = [one(own, workload=name, operation=operation) for name in columns]
        body.append([operation, *(f"{us(row['median_us'])}{_answer(row)}" if row else "" for row in figures)])
    head = ["", *(f"{name} ({sizes[name]:,})" for name in columns)]
    return (
        f"## Other shapes\n\nkindex alone; medians in microseconds, and the size of the answer.\n\n{table(head, body)}"
    )


def _answer(row: Row) -> str:
    return f", {row['answer']:,}" if "answer" in row else ""


GROWTH_HEAD = """\
## Growth

One thing grows, all else stays: 20,000 objects with five labels, unless they are what grows. The power is that of the
curve which fits best, *cost ~ size ^ power*: at 0 the cost does not depend on what grows, at 1 it doubles with it. With
so few points, of a shared machine, it is worth one digit. Figures are microseconds.
"""


def growth(rows: list[Row], made: dict[str, str]) -> str:
    """Plot and fit what grows."""
    parts = [GROWTH_HEAD]
    for grows in dict.fromkeys(row["grows"] for row in rows):
        chosen = [row for row in rows if row["grows"] == grows]
        drawn = []
        for operation in dict.fromkeys(row["operation"] for row in chosen):
            points = sorted(
                (row["to"], row["median_us"], row["q1_us"], row["q3_us"])
                for row in chosen
                if row["operation"] == operation
            )
            drawn.append(Curve(operation, points))
        named = GREW[grows]
        across = f"{named[0].upper()}{named[1:]}"
        made[f"{PLOTS}/growth-{grows}.svg"] = curves(f"Cost by {named}", across, "µs", drawn)
        body = [
            [
                curve.name,
                *(us(point[1]) for point in curve.points),
                f"{exponent([point[:2] for point in curve.points]):.2f}",
            ]
            for curve in drawn
        ]
        head = ["", *(f"{point[0]:,}" for point in drawn[0].points), "power"]
        parts += [f"### By {named}\n", f"![Cost by {named}]({PLOTS}/growth-{grows}.svg)\n", table(head, body)]
    return "\n".join(parts)


GREW = {
    "objects": "number of objects",
    "labels": "labels of an object",
    "values": "values of a label",
    "namespaces": "number of namespaces",
    "answer": "size of the answer",
    "followers": "number of followers",
}


def circumstances(read_in: dict[str, Any], client_go: Figures) -> str:
    """Say how each file was made."""
    body = []
    for name, found in read_in.items():
        if name != "client_go":
            versions = {"Python": found.get("python"), "kindex": found.get("kindex"), **found.get("versions", {})}
            machine = ", ".join(filter(None, (found.get("machine"), found.get("cpu"), found.get("system"))))
            given = ", ".join(f"{package} {version}" for package, version in versions.items() if version)
            made_by = " ".join(filter(None, (found.get("date"), found.get("commit"))))
            body.append(
                [f"`{name}.json`", machine, given, made_by, f"`{found['command']}`" if "command" in found else ""]
            )
    heads = ["results", "machine", "versions", "commit", "command"]
    return "\n".join(
        [
            "## How they were made\n",
            f"`make bench` measures what is in `suite.json` and `growth.json`. Beside it: {client_go.source}.\n",
            table(heads, body, right=False),
            "`ducks` is not among the subjects: what it depends on could not be built.\n",
        ]
    )


if __name__ == "__main__":
    main()
