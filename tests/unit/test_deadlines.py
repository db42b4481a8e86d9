"""Deadlines: no time is too long to be waited for, wherever one may be given."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from kindex import Informer, InformerGroup, Store
from kindex.deadlines import Deadline
from kindex.informer.clocks import SystemClock
from kindex.testing import FakeSource
from tests.pods import Pod, pod
from tests.running import Beside

LONG = [float("inf"), 1e15, None]


def test_what_is_left() -> None:
    """Never less than nothing, and never more than a lock can count."""
    assert Deadline(None).left is None
    assert Deadline(-1).left == 0.0
    assert Deadline(float("inf")).left == threading.TIMEOUT_MAX
    assert 0 < (Deadline(100).left or 0) <= 100


WAITS: dict[str, Callable[[Store[Pod], float | None], object]] = {
    "wait_until": lambda store, seconds: store.wait_until(lambda view: len(view) == 1, seconds),
    "wait_version": lambda store, seconds: store.wait_version("7", seconds),
    "next": lambda store, seconds: store.follow().next(seconds),
    "take": lambda store, seconds: store.follow().take(seconds),
}


@pytest.mark.parametrize("seconds", LONG)
@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_a_store_is_waited_for(wait: Callable[[Store[Pod], float | None], object], seconds: float | None) -> None:
    """However long the wait may last, it ends when there is something."""
    store: Store[Pod] = Store()
    waiting = Beside(lambda: wait(store, seconds))
    store.put(pod("a"))
    store.bookmark("7")
    waiting.result()


@pytest.mark.parametrize("seconds", LONG)
def test_informers_are_waited_for(seconds: float | None) -> None:
    """Until they have synced, have caught up, and have ended; and so are the handlers on their views."""
    setting = None if seconds == float("inf") else seconds  # of settings a number is wanted, or None
    informer = Informer(FakeSource([pod("a")], name="pods"), sync_timeout=setting, resync_seconds=setting)
    with informer as pods:
        informer.wait_synced(seconds)
        informer.wait_current(seconds)
        registration = pods.add_event_handler(on_add=lambda _delta: None)
        assert registration.wait_synced(seconds)
        registration.remove()
        registration.join(seconds)
        informer.stop(seconds)
    group = InformerGroup(sync_timeout=setting)
    group.informer(FakeSource([pod("a")], name="pods"))
    with group:
        group.wait_synced(seconds)
        group.stop(seconds)


@pytest.mark.parametrize("seconds", LONG)
def test_a_server_may_ask_to_be_left_alone_for_ages(seconds: Any) -> None:
    """Whoever waits for that long can still be interrupted."""
    interrupt = SystemClock().interrupt()
    waiting = Beside(lambda: interrupt.wait(seconds))
    interrupt.set()
    assert waiting.result()
