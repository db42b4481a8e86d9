"""``kindex bench``: its figures are of this machine, and both ways find the same."""

from __future__ import annotations

import itertools
import json
import math
import re

import pytest
from typer.testing import CliRunner

import kindex.cli.demo_questions as asked
from kindex.cli import bench
from kindex.cli.app import app


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measure as little as can be: what the figures are is no claim."""
    monkeypatch.setattr(bench, "_ASKED_SECONDS", 0.0)


def _bench(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["bench", *arguments], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def test_three_sizes_are_asked_and_writes_measured() -> None:
    """Each size has its questions with both times, and there is a row for writes with indexes and without."""
    code, out, err = _bench("--pods", "600", "--seed", "3")
    assert (code, err) == (0, "")
    assert "CPython" in out.splitlines()[0] or "PyPy" in out.splitlines()[0]
    rows = re.findall(
        r"│ ([\d,]+) +│ (.+?) +│ +([\d,]+) │ +[\d,.]+ (?:µs|ms|s) │ +[\d,.]+ (?:µs|ms|s) │ +[\d,]+ │", out
    )
    assert {size for size, _, _ in rows} == {"6", "60", "600"}
    assert len([each for each in rows if each[0] == "600"]) == 6
    assert re.search(r"│ namespace alone +│ +[\d,.]+ (?:µs|ms) │", out)
    assert re.search(r"│ app, tier, node, owner +│ +[\d,.]+ (?:µs|ms) │ +\d+ │", out)


def test_json_has_the_same_for_programs() -> None:
    """With -o json standard output is one document, of seconds and bytes."""
    code, out, err = _bench("--pods", "300", "-o", "json")
    assert (code, err) == (0, "")
    figures = json.loads(out)
    assert {each["pods"] for each in figures["questions"]} == {3, 30, 300}
    assert all(each["index_seconds"] > 0 < each["scan_seconds"] for each in figures["questions"])
    plain, indexed = figures["writes"]
    assert plain["bytes_per_pod"] < indexed["bytes_per_pod"]


def test_a_difference_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """If an index found something else than a scan, there would be no figures."""
    right = asked.questions

    def wrong(*arguments: object) -> object:
        for question in right(*arguments):  # type: ignore[arg-type]  # as they come
            yield asked.Asked(question.text, list, question.by_scan)

    monkeypatch.setattr(bench, "questions", wrong)
    code, out, err = _bench("--pods", "300")
    assert (code, out) == (70, "")
    assert "internal error: AssertionError" in err


def test_one_pod_is_enough() -> None:
    """The smallest cluster there is has figures, too."""
    assert _bench("--pods", "1")[0] == 0


def test_measuring_adds_each_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls of a microsecond come in thousands: to sum up all of them after each took a minute."""
    sums: list[int] = []
    clock = itertools.count()
    monkeypatch.setattr(asked, "sum", lambda times: sums.append(1) or math.fsum(times), raising=False)
    monkeypatch.setattr(asked.time, "perf_counter", lambda: next(clock) * 1e-6)
    assert asked.seconds_of(lambda: None, least=1e-3) == pytest.approx(1e-6)
    assert next(clock) >= 2_000
    assert len(sums) <= 1
