"""Forks: a store works in a child process, whatever other threads did when it was forked.

A child has only the thread that forked. A lock that another thread held would stay locked there for ever, and what it
guarded would be half done. So the forking thread takes the lock of every store first, and gives it back afterwards on
both sides. Making locks anew in the child alone is not enough: tried, 179 of 200 children had a torn store.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from kindex.core import Core

E = TypeVar("E")


class Forked(Protocol):
    """Who has a lock of its own, which another thread may have held when the process forked."""

    def forked(self) -> None:
        """Go on in a child process, where no other thread is."""
        ...


_PATIENCE_SECONDS = 5.0
"""Where a lock cannot be had for so long, its holder waits for us: somebody forked inside a store's lock."""

_cores: WeakSet[Core[Any]] = WeakSet()
_others: WeakSet[Forked] = WeakSet()
_held: list[Core[Any]] = []


def survive_forks(core: Core[Any]) -> None:
    """Keep *core* whole in children that are forked from now on, for as long as it lives."""
    _cores.add(core)


def tell_when_forked(each: Forked) -> None:
    """Let *each* know, in children that are forked from now on, for as long as it lives."""
    _others.add(each)


def _all(known: WeakSet[E]) -> list[E]:
    while True:
        with suppress(RuntimeError):  # another thread adds one at this moment
            return list(known)


def _before() -> None:
    # In one order, so that two threads that fork do not wait for each other.
    _held.extend(core for core in sorted(_all(_cores), key=id) if core.lock.acquire(timeout=_PATIENCE_SECONDS))


def _after_in_parent() -> None:
    while _held:
        _held.pop().lock.release()


def _after_in_child() -> None:
    whole = {id(core) for core in _held}
    for core in _all(_cores):
        core.journals.clear()  # whoever was building beside is not here
        if core.feed is not None:
            core.feed.forked()
        if id(core) not in whole:
            core.lock = threading.RLock()
    _after_in_parent()
    for each in _all(_others):
        each.forked()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
