"""The demo's living part: a server, an informer over HTTP, changes, two controllers, and a table of how they do."""

from __future__ import annotations

import threading
from contextlib import ExitStack, contextmanager
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rich.live import Live
from rich.table import Table

from kindex.cli.demo_churn import Churn
from kindex.cli.demo_controllers import IndexController, ScanController
from kindex.cli.demo_questions import by_labels, by_node, by_owner, duration
from kindex.informer.informer import Informer
from kindex.testing import ApiServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from kindex.cli.demo_controllers import Controller

RawObject: TypeAlias = dict[str, Any]  # Any: JSON

_CHANGES_A_SECOND: Final = 100.0
_REDRAW_SECONDS: Final = 0.25
_GRACE_SECONDS: Final = 60.0  # on a machine so busy that neither has answered yet
_NOTES: Final = (
    "Server, changes, informer and both controllers share one process, where Python runs one thread at a time.",
    "So each slows the others down, which the lag shows.",
    "A time is CPU time of the thread that answers, so waiting is not in it; the scan looks at plain dicts.",
    "Of a pod that changes again before its turn only the last change is answered. Each scan was checked by index.",
)


def run_live(pods: Sequence[RawObject], *, seconds: float, seed: int, console: Console) -> None:
    """Let it live for some seconds; each controller answers once at least.

    Raises:
        AssertionError: index and scan gave different answers.
    """
    with ExitStack() as stack:
        server = stack.enter_context(ApiServer(pods))
        client = stack.enter_context(server.api_client())
        informer: Informer[RawObject] = Informer(
            "/api/v1/pods", client=client, indexers=[by_labels, by_node, by_owner], objects="dict"
        )
        started = perf_counter()
        view = stack.enter_context(informer)
        console.print(
            f"An informer listed {len(view):,} pods over HTTP from {server.url}, and indexed them, in"
            f" {perf_counter() - started:.2f} s.\n",
            soft_wrap=not console.is_terminal,
        )
        churn = Churn(server, pods, a_second=_CHANGES_A_SECOND, seed=seed)
        by_index = IndexController("by-index", view, churn.seconds_since)
        by_scan = ScanController("by-scan", view, churn.seconds_since)
        for each in (by_index, by_scan, churn):
            stack.callback(each.stop)
            each.start()
        table = _watched(churn, by_index, by_scan, seconds, console)
        churn.stop()
        for each in (by_index, by_scan):
            each.stop()
        _check(churn, by_index, by_scan)
        view.wait_version(server.resource_version, timeout_seconds=_GRACE_SECONDS)
        assert len(view) == len(server.objects("pods"))
        stats = informer.stats
    console.print(table)
    for note in _NOTES:
        console.print(note, style="dim", soft_wrap=not console.is_terminal)
    console.print(
        f"\nThe server made {churn.changes:,} changes, the informer applied {stats.events:,} events of its watch,"
        f" and has every pod that the server has.\n",
        soft_wrap=not console.is_terminal,
    )


def _watched(churn: Churn, by_index: Controller, by_scan: Controller, seconds: float, console: Console) -> Table:
    """Wait, on a terminal with a table that is drawn anew; give the last one."""
    began = monotonic()
    pause = threading.Event()
    with _drawing(console) as live:
        while True:
            passed = monotonic() - began
            table = _table(churn, by_index, by_scan, passed)
            if live is not None:
                live.update(table, refresh=True)
            answered = by_index.answers and by_scan.answers
            if passed >= seconds and (answered or passed >= seconds + _GRACE_SECONDS):
                return table
            _check(churn, by_index, by_scan)
            pause.wait(_REDRAW_SECONDS if live is not None else min(_REDRAW_SECONDS, max(0.01, seconds - passed)))


@contextmanager
def _drawing(console: Console) -> Iterator[Live | None]:
    if not console.is_terminal:
        yield None
        return
    with Live(console=console, auto_refresh=False, transient=True) as live:
        yield live


def _table(churn: Churn, by_index: Controller, by_scan: Controller, passed: float) -> Table:
    """Give the figures of the moment."""
    title = f"Two controllers, {passed:.0f} s and {churn.changes:,} changes later"
    table = Table("the same peers of each changed pod", title=title, title_justify="left")
    for heading in ("answers", "waiting", "time an answer", "lag of the last"):
        table.add_column(heading, justify="right")
    for name, each in (("by index", by_index), ("by scan", by_scan)):
        mean = each.seconds_an_answer
        shown = ("-", "-") if mean is None else (duration(mean), duration(each.lag_seconds))
        table.add_row(name, f"{each.answers:,}", f"{each.waiting:,}", *shown)
    quick, slow = by_index.seconds_an_answer, by_scan.seconds_an_answer
    times = f"{slow / quick:,.0f} times" if quick and slow else "-"
    table.add_section()
    table.add_row("faster by index", "", "", times, "")
    return table


def _check(churn: Churn, *controllers: Controller) -> None:
    """Raise what ended one of them."""
    for failure in (churn.failure, *(each.failure for each in controllers)):
        if failure is not None:
            raise failure
