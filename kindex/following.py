"""Follower: the changes of a store, one after the other, for whoever iterates."""

from __future__ import annotations

import sys
from collections import deque
from contextlib import suppress
from functools import partial
from queue import Empty
from typing import TYPE_CHECKING, Generic, Literal, TypeAlias, TypeVar
from weakref import ref

from kindex.deadlines import Deadline
from kindex.deltas import deltas_of
from kindex.errors import FollowerTooSlow, InCommitError, QueryError
from kindex.feed import Inbox, feed_of
from kindex.objects import uid_changed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from kindex.core import Core
    from kindex.deltas import Delta
    from kindex.feed import Change, Feed
    from kindex.filters import Filter
    from kindex.keys import ObjectKey

T = TypeVar("T")

Overflow: TypeAlias = Literal["merge", "close"]

LIMIT = 1_024
"""So many commits may wait for a follower with ``overflow="close"``."""

_A_WHILE = 64
"""After so many deltas at once an asynchronous follower lets the others of its loop run."""


class Follower(Generic[T]):
    """The changes of a store, as deltas, after their commits: ``for delta in follower``, or ``async for``.

    * With ``replay=True`` an Added for each object that there is comes first.
    * Changes of one key come in the order of their commits. Those of several keys come in the order in which the first
      of each was committed since it was last taken.
    * Changes of a key that was not taken meanwhile are one delta: the first old object and the last new one. An object
      that came and went gives none; one that came back with another UID gives two. With ``overflow="close"`` each
      commit gives its own deltas, in the order of commits, and who falls 1,024 commits behind gets FollowerTooSlow.
    * With a filter, an object that enters it is Added, one that leaves it is Deleted, with the last object that
      fulfilled it.
    * ``revision`` is that of the commit, the last one where several were merged.

    Iterating waits for the next delta, and ends when the follower is closed or its store is gone. Close it, or use it
    in a ``with`` block; one that nobody refers to closes itself. Several threads or tasks may read one follower: each
    delta goes to one of them. Filters run in the thread that iterates, without any lock of the store, so they may do
    with it what they like; a predicate that raises costs the delta that it was asked about, and no other. A forked
    child's copy goes on by itself, unless another thread was reading: then it is closed there. Made by
    ``StoreView.follow()``.

    >>> from kindex import Store
    >>> pods = Store(name="pods")
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
    >>> with pods.follow() as follower:
    ...     _ = pods.put({"metadata": {"name": "b", "namespace": "x"}})
    ...     [str(delta.key) for delta in follower.take()]
    ['x/a', 'x/b']
    """

    def __init__(
        self, core: Core[T], wanted: Filter[T], *, replay: bool, overflow: Overflow, threaded: bool = False
    ) -> None:
        """Follow *core*; ``StoreView.follow()`` makes one."""
        if overflow not in ("merge", "close"):
            raise QueryError(f"overflow is 'merge' or 'close', not {overflow!r}")
        core.check_may_write()
        self._inbox: Inbox[T] = Inbox(wanted, limit=None if overflow == "merge" else LIMIT, threaded=threaded)
        self._filter = None if wanted.everything else wanted
        self._inside: set[ObjectKey] = set()
        self._name = core.name
        self._changes: Iterator[Change[T]] = iter(())
        self._ready: deque[Delta[T]] = deque()
        self._given = 0
        self.passed = 0
        """How many changes it has gone over."""
        self._looked = False
        self._in_hand = False  # whether there may be something
        self.synced = False
        """Whether all that there was at the beginning has been given, and the next delta was asked for."""
        inbox = self._inbox
        self._core = ref(core, lambda _: inbox.wake())
        while True:
            schema = core.generation.schema
            route = wanted.route(schema)
            with core.lock:
                core.settle()
                if core.generation.schema is schema:
                    feed_of(core).join(inbox, route)
                    break
        if not replay:
            self._learn()

    @property
    def closed(self) -> bool:
        """Whether it was closed, or its store is gone: it gives nothing more."""
        return self._inbox.closed or self._core() is None

    @property
    def lag(self) -> int:
        """How many keys have changes that were not taken yet; with ``overflow="close"``, how many commits."""
        return len(self._inbox)

    def next(self, timeout_seconds: float | None = None) -> Delta[T] | None:
        """Give the next delta; wait for it at most this long, None for ever. None when there is none, or it is closed.

        Raises:
            FollowerTooSlow: with ``overflow="close"``.
            InCommitError: this is a finalizer or signal handler that runs inside the store.
        """
        delta = self._next()
        deadline = Deadline(timeout_seconds)
        while delta is None and not self.closed:
            left = deadline.left
            if left == 0:
                break
            bell = self._inbox.bell
            with suppress(Empty):
                bell.get(timeout=left)
                bell.put(None)  # for other threads that wait; who finds nothing takes it out
            delta = self._next()
        return delta

    def take(self, timeout_seconds: float | None = 0.0) -> list[Delta[T]]:
        """Give all deltas that there are; wait for the first at most this long, None for ever.

        Raises:
            FollowerTooSlow, InCommitError: as ``next``. Where it raises, what it had is for the next call.
        """
        first = self.next(timeout_seconds)
        if first is None:
            return []
        deltas = [first]
        try:
            for look in (False, True):  # once: with a busy writer there would be no end to it
                delta = self._next(look=look)
                while delta is not None:
                    deltas.append(delta)
                    delta = self._next(look=False)
        except BaseException:  # of a predicate, or an interrupt: what was taken before it is for the next call
            self._ready.extendleft(reversed(deltas))
            raise
        return deltas

    def resync(self) -> None:
        """Give each object again, after what waits, as an Updated whose old and new are the same; from any thread.

        >>> from kindex import Store
        >>> pods = Store(name="pods")
        >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x"}})
        >>> with pods.follow(replay=False) as follower:
        ...     follower.resync()
        ...     [(type(delta).__name__, delta.old is delta.new) for delta in follower.take()]
        [('Updated', True)]
        """
        core = self._core()
        if core is None:
            return
        core.check_may_write()
        with core.lock:
            self._inbox.again = True
        self._inbox.wake()

    def close(self) -> None:
        """Follow no more; what waits is dropped. May be done again, anywhere, also while another thread waits."""
        feed = self._leave()
        self._inbox.wake()
        core = self._core()
        if core is not None and feed is not None:
            with suppress(InCommitError):  # inside the lock: the next commit clears up
                core.check_may_write()
                feed.clear(core)

    def __enter__(self) -> Follower[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        # No lock here: this may run anywhere, also inside the store's. The next commit clears up.
        if hasattr(self, "_core"):
            self._leave()

    def __iter__(self) -> Follower[T]:
        return self

    def __next__(self) -> Delta[T]:
        delta = self.next(None)
        if delta is None:
            raise StopIteration
        return delta

    def __aiter__(self) -> Follower[T]:
        return self

    async def __anext__(self) -> Delta[T]:
        import asyncio  # noqa: PLC0415 - whoever gets here has it already, the others need not load it

        self._given += 1
        if self._given % _A_WHILE == 0:
            await asyncio.sleep(0)
        while (delta := self._next(most=_A_WHILE)) is None:
            if self.closed:
                raise StopAsyncIteration
            if self._in_hand:
                await asyncio.sleep(0)
                continue
            arrived = asyncio.Event()
            waker = partial(asyncio.get_running_loop().call_soon_threadsafe, arrived.set)
            self._inbox.wakers[waker] = None
            try:
                delta = self._next(most=_A_WHILE)  # again: what came before the waker was there rang the bell only
                if delta is not None:
                    break
                if not (self._in_hand or self.closed):
                    await arrived.wait()
            finally:
                self._inbox.wakers.pop(waker, None)
        return delta

    def _leave(self) -> Feed[T] | None:
        """Let the feed, if there is one, know that nobody reads this any more; the lock is not needed."""
        self._inbox.closed = True
        core = self._core()
        feed = None if core is None else core.feed
        if feed is not None:
            feed.leaving.append(self._inbox)
        return feed

    def _next(self, *, look: bool = True, most: int = sys.maxsize) -> Delta[T] | None:
        """Give the next delta, or None if there is none now.

        Args:
            look: whether to look, once, for what has come in, when nothing is in hand any more.
            most: look at so many changes only; then ``_in_hand`` says whether these were not all.

        Raises:
            InCommitError: this thread is inside the store's lock, for which another one that reads may be waiting.
        """
        core, inbox = self._core(), self._inbox
        if core is not None:
            core.check_may_write()
        if inbox.closed:
            return None
        with inbox.turn:
            while not inbox.closed:
                if self._ready:
                    return self._ready.popleft()
                if not most:
                    break
                change = next(self._changes, None)
                if change is not None:
                    most -= 1
                    self.passed += 1  # also one whose filter raises
                    self._ready.extend(self._deltas_of(change))
                elif inbox.hand:
                    self._changes, inbox.hand = inbox.opened(), ()  # in one step, as far as interrupts go
                else:
                    self._changes, self._in_hand = iter(()), False  # an iterator keeps what it went over
                    self.synced = self._looked
                    if not (look and self._look()):
                        break
                    look = False
        return None

    def _look(self) -> bool:
        """Take what waits in the inbox; False if there was nothing."""
        core, inbox = self._core(), self._inbox
        if core is None:
            return False
        with core.lock:
            core.settle()
            self._in_hand = inbox.take(core.generation)
        if inbox.too_slow:
            self.close()
            raise FollowerTooSlow(self._name, LIMIT)
        self._looked = True
        return self._in_hand

    def _learn(self) -> None:
        """Take what there is for known, and say nothing of it."""
        self._look()
        if self._filter is not None:
            matches = self._filter.matches
            there = self._inbox.opened()
            self._inside.update(key for key, _, new, *_ in there if new is not None and matches(key, new))
        self._inbox.hand, self._in_hand = (), False
        self.synced = True

    def _deltas_of(self, change: Change[T]) -> Sequence[Delta[T]]:
        """Say what a change is to this follower; an object that its filter does not let through is none."""
        key, old, new, revision, gone, known = change
        if self._filter is not None:
            was = key in self._inside
            now = new is not None and self._filter.matches(key, new)
            if now:
                self._inside.add(key)
            else:
                self._inside.discard(key)
                known = known or not (gone or uid_changed(old, new))  # it has left, and is still there
            old, new = old if was else None, new if now else None
        if old is None and new is None:
            return ()
        return deltas_of(key, old, new, revision, renewed=uid_changed(old, new), final_state_known=known)
