"""``kindex demo``: both ways find the same, tables say what that took, and it ends in good order."""

from __future__ import annotations

import contextlib
import io
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

from kindex.cli import demo_controllers, demo_live
from kindex.cli.app import app
from kindex.cli.demo import run_demo
from kindex.cli.demo_churn import Churn
from kindex.objects import key_of
from kindex.store import Store
from kindex.testing import ApiServer, generate_cluster


def _demo(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["demo", "--seconds", "0", *arguments], env={"COLUMNS": "120"})
    return result.exit_code, result.stdout, result.stderr


def _row(out: str, name: str) -> list[str]:
    """Give the cells of the row that begins so."""
    [line] = [line for line in out.splitlines() if line.startswith(f"│ {name}  ")]
    return [cell.strip() for cell in line.strip("│").split("│")][1:]


def test_the_demo_lives_asks_and_explains() -> None:
    """A small demo shows its cluster, both controllers, each question with both times, a plan and the memory."""
    code, out, err = _demo("--pods", "700", "--namespaces", "5", "--seed", "3")
    assert (code, err) == (0, "")
    assert out.startswith("A cluster of 700 pods, ")
    assert "in 5 namespaces" in out
    assert "An informer listed 700 pods over HTTP from http://127.0.0.1:" in out
    for name in ("by index", "by scan"):
        answers, waiting, mean, lag = _row(out, name)
        assert int(answers) >= 1
        assert int(waiting) >= 0
        assert re.fullmatch(r"[\d,.]+ (µs|ms|s)", mean)
        assert re.fullmatch(r"[\d,.]+ (µs|ms|s)", lag)
    assert "Python runs one thread at a time" in out
    assert "and has every pod that the server has" in out
    rows = re.findall(r"│ (.+?) +│ +([\d,]+) │ +[\d,.]+ (?:µs|ms) │ +[\d,.]+ (?:µs|ms) │ +[\d,]+ │", out)
    assert len(rows) == 6
    assert all(int(count.replace(",", "")) > 0 for _, count in rows)
    assert "[index namespace]" in out
    assert "no scan" in out
    assert "pods: 700 objects in 700 slots" in out


@pytest.mark.parametrize("pods", ["1", "3", "40"])
def test_the_smallest_demos_work_too(pods: str) -> None:
    """A cluster of a few pods, without services or ReplicaSets perhaps, is no reason to fail."""
    code, out, err = _demo("--pods", pods, "--namespaces", "1")
    assert (code, err) == (0, "")
    assert f"A cluster of {pods} pods" in out


def test_a_terminal_sees_the_table_drawn_anew() -> None:
    """On a terminal the table of the controllers is drawn while they run, and elsewhere once, at the end."""
    headings = []
    for terminal in (True, False):
        console = Console(file=(text := io.StringIO()), force_terminal=terminal, width=120)
        run_demo(pods=40, namespaces=1, seconds=0.5, seed=1, console=console)
        headings.append(text.getvalue().count("lag of the last"))
    assert headings[0] > headings[1] == 1


def test_a_wrong_answer_would_not_go_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were an index to find something else than the scan, the demo would fail."""
    monkeypatch.setattr(Store, "select", lambda *_, **__: [])
    assert _demo("--pods", "300", "--namespaces", "3")[0] == 70


def test_impossible_clusters_are_refused() -> None:
    """No pods, or no namespace, is a slip and ends with 2."""
    assert _demo("--pods", "0")[0] == _demo("--namespaces", "0")[0] == 2
    assert _demo("--seconds", "-1")[0] == 2


def test_the_churn_changes_what_it_says() -> None:
    """Each change is one write that gives a version of its own; pods come, go, and stay as many as are known."""
    pods = generate_cluster(pods=60, namespaces=2, seed=5).pods
    with ApiServer(pods) as server:
        first = int(server.resource_version)
        churn = Churn(server, pods, a_second=1e6, seed=5)
        churn.start()
        deadline = time.monotonic() + 60
        while churn.changes < 500 and churn.failure is None:
            assert time.monotonic() < deadline
            threading.Event().wait(0.01)
        churn.stop()
        churn.stop()  # may be done again
        assert churn.failure is None
        assert int(server.resource_version) - first == churn.changes
        assert churn.seconds_since(server.resource_version) is not None
        assert churn.seconds_since("1") is None
        after = {key_of(pod): pod for pod in server.objects("pods")}
    before = {key_of(pod): pod for pod in pods}
    assert set(before) - set(after)
    assert set(after) - set(before)
    kept = set(before) & set(after)
    assert any(before[key]["metadata"].get("labels") != after[key]["metadata"].get("labels") for key in kept)
    assert any(before[key]["status"] != after[key]["status"] for key in kept)


def test_a_controller_that_fails_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: were the scan to find other pods than the index, the demo would end, and leave no thread."""
    monkeypatch.setattr(demo_controllers, "peers_by_scan", lambda *_: [{"metadata": {}}])
    code, _, err = _demo("--pods", "50", "--namespaces", "1", "-v")
    assert code == 70
    assert "AssertionError" in err


def test_a_server_that_fails_ends_the_demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """So does a change that cannot be made."""

    def refuse(*_: object) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(ApiServer, "update", refuse)
    monkeypatch.setattr(ApiServer, "create", refuse)
    assert _demo("--pods", "50", "--namespaces", "1")[0] == 70


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_the_demo() -> None:
    """Ctrl-C while the cluster lives ends the process with 130, and without a traceback."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        command = [
            sys.executable,
            "-u",
            "-m",
            "kindex",
            "demo",
            "--pods",
            "50",
            "--namespaces",
            "1",
            "--seconds",
            "600",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:  # noqa: S603 - ours
            assert process.stdout
            assert process.stderr
            assert process.stdout.readline().startswith(b"A cluster of 50 pods")
            assert process.stdout.readline().startswith(b"An informer listed 50 pods")
            while process.poll() is None:
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=1)
            assert (process.returncode, process.stderr.read()) == (130, b"")
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupt_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt at any moment of the living part ends server, informer, changes and controllers."""

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo_live, "_watched", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert _demo("--pods", "50", "--namespaces", "1")[0] == 130
    signal.signal(signal.SIGINT, before)
