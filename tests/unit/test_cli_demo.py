"""``kindex demo``: both ways find the same, and the table says what that took."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from kindex.cli.app import app
from kindex.store import Store


def _demo(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["demo", *arguments], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def test_the_demo_asks_and_explains() -> None:
    """A small demo shows its cluster, each question with both times and their ratio, and one plan."""
    code, out, err = _demo("--pods", "700", "--namespaces", "5", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.startswith("A cluster of 700 pods, ")
    assert "in 5 namespaces" in out
    rows = re.findall(r"│ (.+?) +│ +([\d,]+) │ +[\d,.]+ (?:µs|ms) │ +[\d,.]+ (?:µs|ms) │ +[\d,]+ │", out)
    assert len(rows) == 6
    assert all(int(count.replace(",", "")) > 0 for _, count in rows)
    assert "[index namespace]" in out
    assert "no scan" in out


@pytest.mark.parametrize("pods", ["1", "3", "40"])
def test_the_smallest_demos_work_too(pods: str) -> None:
    """A cluster of a few pods, without services or ReplicaSets perhaps, is no reason to fail."""
    code, out, err = _demo("--pods", pods, "--namespaces", "1")
    assert (code, err) == (0, "")
    assert f"A cluster of {pods} pods" in out


def test_a_wrong_answer_would_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were an index to find something else than the scan, the demo would fail."""
    monkeypatch.setattr(Store, "select", lambda *_, **__: [])
    assert _demo("--pods", "300", "--namespaces", "3")[0] == 70


def test_impossible_clusters_are_refused() -> None:
    """No pods, or no namespace, is a slip and ends with 2."""
    assert _demo("--pods", "0")[0] == _demo("--namespaces", "0")[0] == 2
