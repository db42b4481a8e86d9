"""Clocks: the machine's, and one that a test moves."""

from __future__ import annotations

import threading
from math import inf
from typing import Any

import pytest

from kindex.informer.clocks import SystemClock
from kindex.testing import ManualClock
from kindex.testing.clocks import ClockError


def waiting_thread(clock: ManualClock, interrupt: Any, seconds: float | None) -> tuple[threading.Thread, list[Any]]:
    """Start a thread that waits by the clock, and return when it does; what it got is in the list."""
    got: list[Any] = []
    thread = threading.Thread(target=lambda: got.append((interrupt.wait(seconds), clock.now())))
    thread.start()
    clock.until_waiting(1)
    return thread, got


def test_time_stands_still_until_it_is_moved() -> None:
    """It begins where it is told, and goes on by what it is told, never back."""
    clock = ManualClock(100.0)
    assert (clock.now(), clock.now()) == (100.0, 100.0)
    clock.advance(2.5)
    clock.advance(0)
    assert clock.now() == 102.5
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ClockError, match="a clock goes forward"):
            clock.advance(wrong)
    assert repr(clock) == "ManualClock(now=102.5, waiting=0)"


def test_whoever_waits_is_woken_when_the_time_has_come() -> None:
    """Not before its time is over; then it is told that nothing interrupted it."""
    clock = ManualClock()
    thread, got = waiting_thread(clock, clock.interrupt(), 30.0)
    assert clock.next_deadline == 30.0
    clock.advance(29.0)
    clock.until_waiting(1)
    assert got == []
    clock.advance(1.0)
    thread.join()
    assert got == [(False, 30.0)]
    assert (clock.waiting, clock.next_deadline) == (0, inf)


@pytest.mark.parametrize("seconds", [30.0, None])
def test_an_interrupt_ends_a_wait_without_time(seconds: float | None) -> None:
    """From another thread, at the very time; it stays set until it is cleared."""
    clock = ManualClock()
    interrupt = clock.interrupt()
    thread, got = waiting_thread(clock, interrupt, seconds)
    interrupt.set()
    thread.join()
    assert got == [(True, 0.0)]
    assert interrupt.is_set()
    assert interrupt.wait(3600)
    interrupt.clear()
    assert not interrupt.is_set()
    assert not interrupt.wait(0)


def test_waits_are_of_one_clock_and_of_their_own_interrupt() -> None:
    """Another interrupt of the same clock does not end a wait."""
    clock = ManualClock()
    mine, other = clock.interrupt(), clock.interrupt()
    thread, got = waiting_thread(clock, mine, None)
    other.set()
    clock.advance(1_000_000)
    clock.until_waiting(1)
    assert got == []
    mine.set()
    thread.join()
    assert got == [(True, 1_000_000.0)]


def test_a_thread_that_is_about_to_wake_does_not_wait() -> None:
    """Who counts those who wait is not misled: what was set or has come ends a wait at once."""
    clock = ManualClock()
    interrupt = clock.interrupt()
    thread, _ = waiting_thread(clock, interrupt, None)
    interrupt.set()
    assert clock.waiting == 0
    thread.join()
    thread, _ = waiting_thread(clock, clock.interrupt(), 5.0)
    clock.advance(5.0)
    assert clock.waiting == 0
    thread.join()


def test_waiting_in_vain_for_threads_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that expects a thread which never waits is told, and does not hang."""
    monkeypatch.setattr("kindex.testing.clocks._PATIENCE_SECONDS", 0)
    with pytest.raises(ClockError, match="0 threads wait by this clock, not 1"):
        ManualClock().until_waiting()


def test_the_clock_of_the_machine_goes_forward() -> None:
    """It never goes back, and its interrupts end waits."""
    clock = SystemClock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)
    interrupt = clock.interrupt()
    assert not interrupt.wait(0)
    interrupt.set()
    assert interrupt.wait(3600)
