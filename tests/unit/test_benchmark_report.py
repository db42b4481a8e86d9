"""The page of figures: it is what the results give, and says what they say; nothing is measured here."""

from __future__ import annotations

import doctest
import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks import condense, report, report_tables
from benchmarks.client_go import read
from benchmarks.plots import Bar, Curve, bars, curves

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"
with_results = pytest.mark.skipif(not RESULTS.exists(), reason="a source distribution has no results")
BROAD = "1 namespace, 10 values"
ONE_LABEL = "BenchmarkIdx/ns=1/dist=uniform/v=10/l=10/op=a_byindex1"


def figure(operation: str, median: float, *, subject: str = "kindex", workload: str = BROAD) -> dict[str, Any]:
    spread = {"q1_us": median * 0.9, "q3_us": median * 1.1}
    named = {"workload": workload, "size": 150_000, "subject": subject, "operation": operation, "rounds": 5}
    return {**named, "median_us": median, **spread}


def results_of(folder: Path, **rows: list[dict[str, Any]]) -> Path:
    for name, made in rows.items():
        (folder / f"{name}.json").write_text(json.dumps({"python": "3.11", "command": "make bench", "rows": made}))
    return folder


@with_results
def test_the_page_is_what_the_results_give() -> None:
    """Who changes results or the report runs `python -m benchmarks.report`."""
    for name, text in report.files(RESULTS).items():
        assert (ROOT / "docs" / name).read_text() == text, name


@with_results
def test_no_plot_is_left_over() -> None:
    """A plot that nothing makes any more is gone."""
    made = {Path(name).name for name in report.files(RESULTS) if name.endswith(".svg")}
    assert {path.name for path in (ROOT / "docs" / "plots").glob("*.svg")} == made


def test_losses_come_first_and_the_worst_of_them(tmp_path: Path) -> None:
    """What is slower than client-go or another subject is the first table, sorted; what is faster is not in it."""
    rows = [
        figure("select: 1 label", 2_000_000.0),
        figure("select: 2 labels", 1.0),
        figure("put: new", 30.0),
        figure("put: new", 10.0, subject="dict and scan"),
        figure("put: new", 20.0, subject="sqlite3"),
        figure("get", 1.0, workload="zipf, 10 values"),
        figure("get", 0.99, subject="dict and scan", workload="zipf, 10 values"),
    ]
    page = report.files(results_of(tmp_path, suite=rows))["benchmarks.md"]
    heads = [line for line in page.splitlines() if line.startswith("## ")]
    assert heads[:2] == ["## What these figures do not show", "## Where kindex loses"]
    losses = page.split("## Where kindex loses")[1].split("## ")[0]
    lines = [line for line in losses.splitlines() if line.startswith("| ")][2:]
    assert [line.split(" | ")[0] for line in lines] == ["| select: 1 label", "| put: new"]
    assert lines[1].split(" | ")[3:] == ["dict and scan", "10.0 (9.00-11.0)", "3.0", "1 |"]


def test_figures_of_another_machine_are_marked(tmp_path: Path) -> None:
    """The mark goes away when figures from a run beside are given."""
    results = results_of(tmp_path, suite=[figure("select: 1 label", 500.0)])
    page = report.files(results)["benchmarks.md"]
    assert "Two machines' figures" in page
    assert "| select: 1 label | 1 namespace, 10 values |  | 500.0 (450.0-550.0) | 1,054 (least " in page
    beside = {"source": "client-go, here", "machine": "this one", "bench": {ONE_LABEL: {"ns/op": {"median": 2e6}}}}
    (results / "client_go.json").write_text(json.dumps(beside))
    page = report.files(results)["benchmarks.md"]
    assert "Two machines' figures" not in page
    assert "Both ran on one machine (this one)." in page
    assert "| 2,000 (least 2,000) | 4.0 |" in page


def test_every_figure_of_client_go_that_is_kept_is_compared() -> None:
    """The file beside the benchmarks has no name that the comparison does not know."""
    path = ROOT / "benchmarks" / "client_go.json"
    kept = json.loads(path.read_text())["bench"]
    rows = read(path, beside=False).rows
    unasked = [name for name in kept if "/v=" not in name]
    ways = len([each for each in rows if each[1].startswith("select: 1 label,")])  # one figure, for several ways to ask
    assert len(rows) - ways == len(kept) + len(unasked)  # what does not depend on values is compared with both
    assert rows[BROAD, "select: 1 label"].us == pytest.approx(kept[ONE_LABEL]["ns/op"]["median"] / 1e3)


def test_a_run_is_condensed(tmp_path: Path) -> None:
    """Figures are microseconds of one operation; each file gets the rows that are its own, and how they were made."""
    stats = {"median": 0.002, "q1": 0.001, "q3": 0.004, "rounds": 5}
    put = {"workload": BROAD, "size": 1, "subject": "kindex", "operation": "put: new", "per": 1_000}
    raw = {
        "machine_info": {"node": "a-host", "cpu": {"brand_raw": "a processor"}},
        "commit_info": {"id": "0123456789abcdef", "dirty": True},
        "datetime": "2026-01-02T03:04:05",
        "command": "pytest",
        "benchmarks": [{"stats": stats, "extra_info": put}],
    }
    (tmp_path / "raw.json").write_text(json.dumps(raw))
    command = [sys.executable, "-m", "benchmarks.condense", str(tmp_path / "raw.json"), "--into", str(tmp_path)]
    subprocess.run(command, check=True, cwd=ROOT)  # noqa: S603 - Python
    found = json.loads((tmp_path / "suite.json").read_text())
    (row,) = found["rows"]
    assert (row["median_us"], row["q1_us"], row["q3_us"]) == (2.0, 1.0, 4.0)
    assert "per" not in row
    assert (found["cpu"], found["commit"], found["date"]) == ("a processor", "0123456789ab, changed", "2026-01-02")
    assert "a-host" not in json.dumps(found)
    assert not (tmp_path / "growth.json").exists()


def test_numbers_are_written_and_fitted() -> None:
    """The examples of the tables run."""
    assert doctest.testmod(report_tables).failed == 0
    assert condense.TIMES == {"median": "median", "q1": "q1", "q3": "q3"}


def test_plots_stand_within_their_frame() -> None:
    """Every mark of a plot is inside of it, and a larger value is higher."""
    made = curves("A & B", "objects", "µs", [Curve("one", [(1, 2.0, 1.0, 3.0), (100, 200.0, 100.0, 900.0)])])
    root = ET.fromstring(made)  # noqa: S314 - made here
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    at = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in circles]
    assert all(0 < x < width and 0 < y < height for x, y in at)
    assert at[0][0] < at[1][0]
    assert at[0][1] > at[1][1]
    drawn = ET.fromstring(bars("bars", ("a", "b"), {"": [Bar("x", 10.0, 1_000.0)]}))  # noqa: S314 - as above
    first, second = [float(each.attrib["width"]) for each in drawn.iter() if each.tag.endswith("rect")][1:3]
    assert first < second


def test_one_value_on_both_ends_can_be_drawn() -> None:
    """A flat curve and equal bars have a frame too."""
    assert "nan" not in curves("flat", "x", "y", [Curve("one", [(1, 1.0, 1.0, 1.0), (10, 1.0, 1.0, 1.0)])])
    assert "nan" not in bars("flat", ("a", "b"), {"": [Bar("x", 1.0, 1.0)]})


def extents_of(plot: str) -> tuple[float, list[tuple[float, float, float, str]]]:
    """Give a plot's width, and of each text its line, from where to where it goes, and what it says."""
    root = ET.fromstring(plot)  # noqa: S314 - made here
    found = []
    for each in root.iter():
        if each.tag.endswith("text") and each.text:
            wide = 6.2 * len(each.text)  # Helvetica of 12 pixels, on average
            x = float(each.attrib["x"]) - {"start": 0.0, "middle": wide / 2, "end": wide}[each.attrib["text-anchor"]]
            found.append((float(each.attrib["y"]), x, x + wide, each.text))
    return float(root.attrib["width"]), found


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "plots").glob("*.svg")), ids=lambda path: path.stem)
def test_texts_of_plots_can_be_read(path: Path) -> None:
    """No text of a published plot leaves the frame, or stands on another one of its line."""
    width, texts = extents_of(path.read_text())
    assert [text for _, x, to_x, text in texts if x < 0 or to_x > width] == []
    ordered = sorted(texts)
    pairs = itertools.pairwise(ordered)
    assert [(one[3], other[3]) for one, other in pairs if one[0] == other[0] and one[2] > other[1]] == []


def test_figures_of_the_readme_stand_on_the_page() -> None:
    """Each row of the README's table of memory has a row on the page of benchmarks with the same figures."""
    readme = (ROOT / "README.md").read_text()
    table = re.search(r"^\| memory \|.*?\n\n", readme, re.MULTILINE | re.DOTALL)
    assert table is not None
    cells = [re.split(r" *\| *", row)[2:4] for row in table[0].splitlines()[2:] if row]
    figures = [re.findall(r"([\d.,]+) MB", " ".join(row)) for row in cells]
    page = [re.split(r" *\| *", row) for row in (ROOT / "docs" / "benchmarks.md").read_text().splitlines()]
    indexes, (kept,) = figures[:-1], figures[-1:]
    assert len(indexes) >= 3
    assert [pair for pair in indexes if not any(pair == row[2:4] for row in page)] == []
    for subject, megabytes in zip(("kindex lazy", "SharedInformer"), kept, strict=True):
        assert any([subject, "20,000"] == row[1:3] and megabytes == row[5] for row in page)
