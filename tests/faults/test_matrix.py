"""Every fault at every stage, by the official clients, blocking and in an event loop: what was promised still holds.

Afterwards the store equals the server; a handler was told the net changes and nothing else; there were never five
requests in a second; and whenever the informer asked, it said truly whether it was live, and if not, why.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from itertools import pairwise
from typing import Any

import pytest

from kindex.informer.retries import Pace, RetryPolicy
from kindex.sources.base import ListRequest, WatchRequest
from kindex.sources.errors import ErrorKind
from kindex.testing import ApiServer
from kindex.testing.api_server.faults import Fault
from tests.fault_matrix import CELLS, Cell, Next
from tests.histories import Recorded, Told, full, states_of
from tests.informers import PATIENCE, no_thread_left, until
from tests.pods import key
from tests.sources import Loop
from tests.watched_sources import Notebook, SkippingClock, informing, start

PAGES = 3
RELIST_SECONDS = 600
SILENCE_SECONDS = 0.15


def four_pods() -> ApiServer:
    """Two pages of two pods."""
    return ApiServer([full(name) for name in "abcd"])


def change(pods: Recorded) -> None:
    """Change one, remove one, recreate one, leave one alone, and let two come."""
    pods.update(full("a", app="web"))
    pods.delete("b")
    pods.delete("c")
    pods.create(full("c"))
    pods.create(full("e"))
    pods.create(full("f"))


def order(server: ApiServer, cell: Cell) -> Fault:
    """Order the fault of a cell."""
    stage, ordered = cell.stage, cell.ordered
    after = stage.after_events if cell.place in ("initial", "busy") else 0
    return server.faults.add(
        ordered.kind, stage=cell.place, times=cell.hits, after_events=after, **stage.options, **ordered.options
    )


def provoke(cell: Cell, server: ApiServer, fault: Fault) -> None:
    """Let the fault happen as often as it is ordered, but for what changes of pods provoke."""
    if cell.stage.name.startswith("relist"):
        server.faults.add("error", verb="watch", stage="idle", code=410)
    if cell.place != "bookmark":
        return
    hit = -1  # the number of the watch that was hit
    for hits in range(1, cell.hits + 1):
        server.wait_for(lambda hit=hit: any(watch.number > hit for watch in server.watches))
        hit = server.watches[-1].number
        server.bookmark()
        fault.wait(hits=hits, timeout_seconds=PATIENCE)


@pytest.fixture(params=["threads", "loop"])
def loop(request: pytest.FixtureRequest) -> Iterator[Loop | None]:
    """An event loop in a thread of its own, or none."""
    if request.param == "threads":
        yield None
        return
    pytest.importorskip("kubernetes.aio", reason="clients before 36 have none for asyncio")
    loop = Loop()
    yield loop
    loop.stop()


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_an_informer_survives(cell: Cell, loop: Loop | None) -> None:
    """The store, the handler, the requests, and what the informer says of itself."""
    with four_pods() as server, no_thread_left():
        survives(cell, loop, server)


def survives(cell: Cell, loop: Loop | None, server: ApiServer) -> None:
    pods, told, clock = Recorded(server), Told(), SkippingClock()
    notebook = Notebook(server, clock)
    clock.on_wait = notebook.note_wait
    settings: dict[str, Any] = {
        "page_size": 2,
        "watch_list": cell.stage.watch_list,
        "relist_seconds": RELIST_SECONDS,
        "retry": RetryPolicy(),
    }
    silence = SILENCE_SECONDS if cell.silent else None
    with informing(notebook, loop, silence_seconds=silence, **settings) as informer:
        told.listen(informer.view)
        if cell.stage.early:
            fault = order(server, cell)
            notebook.hits = lambda: fault.hits
            start(informer, loop)
        else:
            start(informer, loop)
            until(informer, lambda: informer.live)
            server.wait_for(lambda: server.watches)
            clock.advance(60)
            fault = order(server, cell)
            notebook.hits = lambda: fault.hits
        provoke(cell, server, fault)
        if cell.place != "busy":
            fault.wait(hits=cell.hits, timeout_seconds=PATIENCE)
        change(pods)
        fault.wait(hits=cell.hits, timeout_seconds=PATIENCE)
        if cell.ordered.kind == "lose":
            until(informer, lambda: informer.live)
            server.wait_for(lambda: server.watches)
            clock.advance(RELIST_SECONDS)
            server.faults.add("end", verb="watch", stage="idle")
        told.wait_for(pods.now, PATIENCE)
        until(informer, lambda: informer.live and informer.last_error is None)
        server.wait_for(lambda: server.watches)
        assert states_of(informer.view) == pods.now
    told.check_net_changes(pods.had)
    assert told.now == pods.now
    check_requests(cell, notebook)
    check_words(cell, notebook)


def check_requests(cell: Cell, notebook: Notebook) -> None:
    """Assert that there were never many, not more than a list and a watch for each time, and none behind its back."""
    assert notebook.busiest_second() < 5
    lists = 1 + cell.stage.name.startswith("relist") + (cell.ordered.kind == "lose") + cell.hits
    ends = cell.ordered.kind == "lose"
    assert len(notebook.asked) <= (PAGES + 1) * lists + ends
    if cell.asks == "nothing" and cell.ordered.kind != "lose" and not (cell.stage.early or cell.stage.lists):
        assert [next_of(each.request) for each in notebook.asked] == ["list", "page", "watch"]
    broken = cell.place == "request" and cell.ordered.kind == "reset"  # of a kept connection, perhaps
    assert 0 <= notebook.repeated <= (cell.hits if broken else 0)
    for before, after in pairwise(notebook.asked):
        if after.hits > before.hits and "retry_after" in cell.ordered.options:
            assert after.at - before.at >= cell.ordered.options["retry_after"]


def next_of(request: ListRequest | WatchRequest) -> Next:
    """Say what is asked for."""
    match request:
        case ListRequest(continuation=token):
            return "page" if token else "list"
        case WatchRequest(initial_events=initial):
            return "list" if initial else "watch"


def check_words(cell: Cell, notebook: Notebook) -> None:
    """Assert that after each time it said what was wrong and that it was not live, or that it was and nothing was."""
    after_hits = [after for before, after in pairwise(notebook.asked) if after.hits > before.hits]
    relisting = cell.expected == {None} and cell.stage.name.startswith("relist")  # it says why it lists again
    for each in after_hits:
        assert each.word.error in (cell.expected | {ErrorKind.EXPIRED} if relisting else cell.expected), each
        assert each.word.live or each.word.error or cell.ordered.kind != "end", each
        wanted = {cell.asks, "list"} if cell.ordered.kind == "garbage" and each.hits > 1 else {cell.asks}
        assert notebook.repeated or wanted & {"nothing", next_of(each.request)}, each
    for word in (*notebook.waits, *(each.word for each in notebook.asked)):
        assert not (word.live and word.error), word
    if None not in cell.expected:
        # Fewer where one watch got several lines of garbage, or a request was sent again.
        assert 1 <= len(after_hits) <= cell.hits, notebook.asked


def test_the_matrix_finds_requests_without_a_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: an informer that asks again at once does not pass."""
    monkeypatch.setattr(RetryPolicy, "delay_seconds", lambda *_: 0.0)
    monkeypatch.setattr(Pace, "earliest", lambda _, at: at)
    cell = next(cell for cell in CELLS if str(cell) == "status 500 at opening, request")
    with four_pods() as server, pytest.raises(AssertionError, match="busiest_second"):
        survives(cell, None, server)


def test_the_matrix_finds_what_was_told_twice() -> None:
    """The control: neither a repeated state nor a spurious Deleted passes, but one left out does."""
    at = key("a")
    with ApiServer([full("a")]) as server:
        pods = Recorded(server)
        pods.update(full("a", app="web"))
        pods.update(full("a", app="db"))
    first, _, last = pods.had[at]
    for states, passes in [
        ([first, last], True),
        ([first, first, last], False),
        ([last, first], False),
        ([first, None, last], False),
    ]:
        told = Told()
        told.states[at] = states
        with nullcontext() if passes else pytest.raises(AssertionError, match="was told"):
            told.check_net_changes(pods.had)
