"""Forks: a store works in a child process, whatever other threads did when it was forked.

A child has only the thread that forked. A lock that another thread held would stay locked there for ever, and what it
guarded would be half done. So the forking thread takes the lock of every store first, and gives it back afterwards on
both sides. Making locks anew in the child alone is not enough: tried, 179 of 200 children had a torn store.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

if TYPE_CHECKING:
    from kindex.core import Core

_PATIENCE_SECONDS = 5.0
"""Where a lock cannot be had for so long, its holder waits for us: somebody forked inside a store's lock."""

_cores: WeakSet[Core[Any]] = WeakSet()
_held: list[Core[Any]] = []


def survive_forks(core: Core[Any]) -> None:
    """Keep *core* whole in children that are forked from now on, for as long as it lives."""
    _cores.add(core)


def _before() -> None:
    # In one order, so that two threads that fork do not wait for each other.
    _held.extend(core for core in sorted(_cores, key=id) if core.lock.acquire(timeout=_PATIENCE_SECONDS))


def _after_in_parent() -> None:
    while _held:
        _held.pop().lock.release()


def _after_in_child() -> None:
    whole = {id(core) for core in _held}
    for core in tuple(_cores):
        core.journals.clear()  # whoever was building beside is not here
        if core.feed is not None:
            core.feed.forked()
        if id(core) not in whole:
            core.lock = threading.RLock()
    _after_in_parent()


if hasattr(os, "register_at_fork"):  # not on Windows, which does not fork
    os.register_at_fork(before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child)
