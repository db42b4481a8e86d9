"""A soak: a cluster of three hundred pods changes two hundred times a second, and everything goes wrong now and then.

Two informers follow it, one by threads and one in an event loop. Two minutes of it in ``make stress``, and a few
seconds elsewhere; KINDEX_SOAK_SECONDS, where it is set, says how many. The faults are those of the fault matrix, at
random but from a seed, one after another: each when the one before has happened, or found no occasion for a while.
"""

from __future__ import annotations

import gc
import os
import random
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack
from time import monotonic
from typing import Any

import attrs
import pytest

from kindex import LabelIndexer
from kindex.informer.clocks import SystemClock
from kindex.informer.retries import RetryPolicy
from kindex.testing import ApiServer
from kindex.testing.api_server.faults import Fault
from tests.fault_matrix import CELLS
from tests.histories import Told, full, states_of
from tests.informers import until
from tests.sources import Loop
from tests.watched_sources import AnyOfBoth, Notebook, informing, start


def seconds() -> float:
    """Say how long it lasts."""
    if given := os.environ.get("KINDEX_SOAK_SECONDS"):
        return float(given)
    if given := os.environ.get("KINDEX_HUNT_SECONDS"):  # which ends all hunts together after that long
        return min(6.0, float(given) / 10)
    return 120.0 if os.environ.get("HYPOTHESIS_PROFILE") == "stress" else 3.0


PODS = 300
CHANGES_PER_SECOND = 200
TICK_SECONDS = 0.02
FAULT_TICKS = 25
"""The least time between two faults; one that found no occasion in it is taken back."""
COMPACT_TICKS = 100
"""The server forgets its history so often: it would grow."""
PATIENCE_SECONDS = 60.0
"""A deadline."""

MOST_REQUESTS_PER_SECOND = 3.2
ALLOWED_BYTES = 2 << 20
"""By which Python's memory may grow after the first quarter; a leak of the objects would be ten times that."""
ALLOWED_BYTES_PER_REQUEST = 6 << 10
"""The server keeps all requests, and so do we."""
ALLOWED_STORE_SHARE, ALLOWED_STORE_BYTES = 1.25, 128 << 10
"""The same for what a store says that it takes: some 400 kB, until all pods have changed a few times."""

by_labels = LabelIndexer("app", "revision")


class Cluster:
    """Changes pods, at random; about as many come as go."""

    def __init__(self, server: ApiServer, draw: random.Random) -> None:
        self.changes = 0
        self._server = server
        self._draw = draw
        self._names = [f"p{number}" for number in range(PODS)]

    def change(self) -> None:
        """Change one pod: its labels, whether it is there, or which one it is."""
        self.changes += 1
        place = self._draw.randrange(len(self._names))
        name = self._names[place]
        revision = str(self.changes // 50)  # as of a rollout: values that come, and go for ever
        new = full(name, app=self._draw.choice(["web", "db"]), revision=revision)
        what = self._draw.random()
        if what < 0.8:
            self._server.update(new)
            return
        self._server.delete("pods", name, namespace="prod")
        if what < 0.9:
            self._names[place] = f"p{self.changes + PODS}"
            new = full(self._names[place], app="web", revision=revision)
        self._server.create(new)


class Trouble:
    """Lets things go wrong, one after another."""

    def __init__(self, server: ApiServer, draw: random.Random) -> None:
        self.hits = 0
        self._server = server
        self._draw = draw
        self._fault: Fault | None = None
        self._ticks = self._next_tick = 0

    def tick(self, *, quiet: bool) -> None:
        """Order another fault, when it is time, and all is *quiet*; or when this one finds no occasion."""
        self._ticks += 1
        if self._ticks % COMPACT_TICKS == 0:
            self._server.compact()
        hit = self._fault is None or self._fault.hits
        if self._ticks < self._next_tick or not (quiet if hit else True):
            return
        self._next_tick = self._ticks + FAULT_TICKS
        self._count()
        cell = self._draw.choice(CELLS)
        options = {name: option for name, option in cell.ordered.options.items() if name != "retry_after"}
        self._fault = self._server.faults.add(
            cell.ordered.kind, stage=cell.place, seconds=3.0, retry_after=1, **cell.stage.options, **options
        )
        if cell.place == "bookmark":
            self._server.bookmark()
        elif cell.place not in ("idle", "busy"):  # it takes a list, or a watch that is opened
            self._server.faults.add(
                "error", verb="watch", stage="idle", code=500 if cell.stage.name == "opening" else 410
            )

    def end(self) -> None:
        """Let nothing go wrong any more."""
        self._count()
        self._server.faults.clear()

    def _count(self) -> None:
        if self._fault is not None:
            self._fault.cancel()
            self.hits += self._fault.hits


@attrs.define
class Followed:
    """An informer, what its handler was told, and what it asked."""

    informer: AnyOfBoth
    loop: Loop | None
    told: Told
    notebook: Notebook

    def store_bytes(self) -> int:
        return self.informer._store.memory().total_bytes


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the stores at the end, not after each commit."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)


@pytest.fixture
def traced() -> Iterator[None]:
    """Let Python count its memory."""
    tracemalloc.start()
    yield
    tracemalloc.stop()


def followed(server: ApiServer, loop: Loop | None, closing: ExitStack) -> Followed:
    """Begin to follow."""
    notebook, told = Notebook(server, SystemClock()), Told(whole=False)
    settings: dict[str, Any] = {
        "indexers": [by_labels],
        "page_size": 100,
        "watch_list": loop is not None,  # until it is given up
        "relist_seconds": 5.0,
        "retry": RetryPolicy(first_seconds=0.05, cap_seconds=0.5),
    }
    informer = closing.enter_context(informing(notebook, loop, silence_seconds=1.0, **settings))
    told.listen(informer.view)
    start(informer, loop)
    until(informer, lambda: informer.synced)
    return Followed(informer, loop, told, notebook)


@pytest.mark.usefixtures("traced")
def test_informers_last() -> None:
    """The stores equal the server, the handlers were told so, and neither memory nor threads are more than before."""
    pytest.importorskip("kubernetes.aio", reason="clients before 36 have none for asyncio")
    threads = set(threading.enumerate())
    draw = random.Random(5)  # noqa: S311 - no secret
    pods = [full(f"p{number}", app="web", revision="0") for number in range(PODS)]
    with ExitStack() as closing:
        server = closing.enter_context(ApiServer(pods, bookmark_seconds=0.5))
        loop = Loop()
        closing.callback(loop.stop)
        both = [followed(server, each, closing) for each in (None, loop)]
        soak(server, both, draw)
    for thread in set(threading.enumerate()) - threads:
        thread.join(PATIENCE_SECONDS)
    assert set(threading.enumerate()) <= threads


def soak(server: ApiServer, both: list[Followed], draw: random.Random) -> None:
    """Change, break, and compare."""
    cluster, trouble, never = Cluster(server, draw), Trouble(server, draw), threading.Event()
    began = monotonic()
    ends = began + seconds()
    warm: tuple[int, int, list[int]] | None = None
    while (now := monotonic()) < ends:
        while cluster.changes < (now - began) * CHANGES_PER_SECOND:
            cluster.change()
        trouble.tick(quiet=all(each.informer.live for each in both))
        if warm is None and now > began + seconds() / 4:
            warm = measured(server, both)
        never.wait(TICK_SECONDS)  # a rate is what is wanted: there is nothing to wait for
    trouble.end()
    settle(server, both)
    assert warm is not None
    assert cluster.changes > (ends - began) * CHANGES_PER_SECOND / 2
    assert trouble.hits > seconds() / 4
    now_there = states_of(server.objects("pods"))
    for each in both:
        assert states_of(each.informer.view) == now_there
        assert each.told.wrong == []
        each.informer._store._check()
        assert each.informer.stats.events > cluster.changes / 10  # it was not all lists
        times = each.notebook.times  # noted a moment after the informer looked at its clock: so one more
        assert len(times) <= 5 + MOST_REQUESTS_PER_SECOND * (times[-1] - times[0])
    traced, requests, stores = measured(server, both)
    requests_bytes = (requests - warm[1]) * ALLOWED_BYTES_PER_REQUEST
    assert traced - warm[0] <= ALLOWED_BYTES + requests_bytes
    for before, after in zip(warm[2], stores, strict=True):
        assert after <= before * ALLOWED_STORE_SHARE + ALLOWED_STORE_BYTES


def settle(server: ApiServer, both: list[Followed]) -> None:
    """Let both list once more, since events were lost, and come to rest."""
    for each in both:
        until(each.informer, lambda informer=each.informer: informer.live)
    lists = [each.informer.stats.lists for each in both]
    again = server.faults.add("error", verb="watch", code=410, times=None)
    for each, before in zip(both, lists, strict=True):
        until(each.informer, lambda informer=each.informer, before=before: informer.stats.lists > before)
    again.cancel()
    now_there = states_of(server.objects("pods"))
    for each in both:
        each.told.wait_for(now_there, PATIENCE_SECONDS)
        until(each.informer, lambda informer=each.informer: informer.live and informer.last_error is None)


def measured(server: ApiServer, both: list[Followed]) -> tuple[int, int, list[int]]:
    """Give what Python's memory has, how many requests were made, and what the stores say that they take."""
    gc.collect()
    return tracemalloc.get_traced_memory()[0], len(server.requests), [each.store_bytes() for each in both]
