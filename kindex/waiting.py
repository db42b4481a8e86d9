"""Waiting for a state of the store: until a predicate holds, or until it has seen a resource version."""

from __future__ import annotations

from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from kindex.deadlines import Deadline
from kindex.errors import NotReachedError, QueryError
from kindex.feed import feed_of
from kindex.resource_versions import compare, usable

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.core import Core

R = TypeVar("R")


def wait_until(
    core: Core[Any], ready: Callable[[], R], timeout_seconds: float | None, what: Callable[[], str] | None = None
) -> R:
    """Call *ready* until it gives something true, after each commit; *what* says what was there in the end.

    Raises:
        NotReachedError: *timeout_seconds* were over.
    """
    core.check_may_write()  # a thread that holds the lock would wait for itself
    deadline = Deadline(timeout_seconds)
    bell: SimpleQueue[None] = SimpleQueue()
    try:
        with core.lock:
            core.settle()
            feed_of(core).waiters.append(bell)
        while True:
            reached = ready()
            if reached:
                return reached
            left = deadline.left
            if left == 0:
                there = f"it is at revision {core.generation.revision}" if what is None else what()
                raise NotReachedError(
                    f"what was waited for in store {core.name!r} did not come in {timeout_seconds} s: {there}"
                )
            with suppress(Empty):
                bell.get(timeout=left)
    finally:
        with core.lock:
            if core.feed is not None:
                core.feed.waiters = [each for each in core.feed.waiters if each is not bell]
                if core.feed.idle:
                    core.feed = None


def wait_version(core: Core[Any], resource_version: str, timeout_seconds: float | None, namespace: str | None) -> None:
    """Wait until *core* has seen *resource_version*, of one namespace if it is named.

    Raises:
        NotReachedError: *timeout_seconds* were over.
        QueryError: it is no version.
    """
    if not isinstance(resource_version, str) or not usable(resource_version):
        raise QueryError(f"{resource_version!r} is no resource version; give the text that the server gave")

    def present() -> str | None:
        return core.generation.resource_versions.get(namespace)

    def reached() -> bool:
        return compare(present() or "", resource_version) in (0, 1)

    wait_until(
        core,
        reached,
        timeout_seconds,
        lambda: f"resource version {resource_version!r}; it has seen {_version(present())}",
    )


def _version(seen: str | None) -> str:
    return "none yet" if seen is None else repr(seen)
