"""Feed: whom a commit tells, and what a follower has not taken yet.

Each follower has an inbox. A commit puts what it changed into the inboxes that it concerns, under the lock and as a
part of the commit; it calls nobody's code and waits for nobody. A slow follower's changes are merged by key: the first
old object, the last new one. So nothing is lost, and an inbox holds at most one change for each key that was touched.

Of a thousand followers with selectors a commit must not look at each. So those whose selector asks for a value that is
indexed stand in a table under this value, and a commit looks up the values that an object had and has.

A swap of the whole state (a relist of most objects) is not spelled out: the follower keeps the old table of objects,
and compares it with the new one in its own time. Replaying the present state to a new follower is the same with
nothing to compare to.
"""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from itertools import chain, repeat, starmap
from queue import Empty, SimpleQueue
from threading import RLock
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeAlias, TypeVar

from kindex.errors import UnknownIndexError
from kindex.generation import Generation
from kindex.slots import SlotTable
from kindex.values import keys_in

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from kindex.core import Core
    from kindex.filters import Filter, Route
    from kindex.generation import Entry
    from kindex.keys import ObjectKey
    from kindex.schema import Schema, Spot
    from kindex.values import ValueKey

T = TypeVar("T")


class Change(NamedTuple, Generic[T]):
    """What commits did to one key since a follower last looked.

    Attributes:
        key: the key.
        old: what was there before the first of them, or None.
        new: what is there after the last, or None.
        revision: of the last.
        gone: *old* was deleted, or replaced by an object of another UID.
        final_state_known: if it is gone, whether its last state was seen: a relist does not see it.
    """

    key: ObjectKey
    old: T | None
    new: T | None
    revision: int
    gone: bool
    final_state_known: bool


class Relist(NamedTuple, Generic[T]):
    """Two states between which nothing was spelled out, by a swap or before a replay; whoever reads it compares them.

    Attributes:
        before: the objects that the follower has seen, but for what is pending; nobody changes it any more.
        pending: changes of before the swap that the follower has not seen.
        keys: the keys that there are now; None is none.
        objects: theirs.
        revision: of what there is now.
    """

    before: SlotTable[T]
    pending: Mapping[ObjectKey, Change[T]]
    keys: Sequence[ObjectKey | None]
    objects: Sequence[T | None]
    revision: int

    def changes(self) -> Iterator[Change[T]]:
        """Compare them: O(objects), without the lock. No generator: an interrupt would end it, and lose the rest."""
        now = {key: obj for key, obj in zip(self.keys, self.objects, strict=True) if key is not None}
        gone = [key for key in dict.fromkeys((*self.pending, *self.before.slot_of)) if key not in now]
        return filter(None, starmap(self._change, chain(now.items(), zip(gone, repeat(None)))))

    def _change(self, key: ObjectKey, new: T | None) -> Change[T] | None:
        seen = self.pending.get(key)
        old = self.before.get(key) if seen is None else seen.old
        if old is new:
            return None
        gone = seen is not None and seen.gone
        known = seen is not None and seen.gone and seen.final_state_known
        return Change(key, old, new, self.revision, gone or new is None, known)


class Resync(NamedTuple, Generic[T]):
    """What there is, to be given again to a follower that has seen it.

    Attributes:
        keys: the keys that there are; None is none.
        objects: theirs.
        revision: of what there is.
    """

    keys: Sequence[ObjectKey | None]
    objects: Sequence[T | None]
    revision: int

    def changes(self) -> Iterator[Change[T]]:
        """Give each object as a change that changed nothing. O(objects), without the lock. No generator, as above."""
        return filter(None, map(self._change, self.keys, self.objects))

    def _change(self, key: ObjectKey | None, obj: T | None) -> Change[T] | None:
        return None if key is None else Change(key, obj, obj, self.revision, gone=False, final_state_known=True)


Part: TypeAlias = "Iterable[Change[T]] | Relist[T] | Resync[T]"
"""What one commit did, or several, or a relist; or all that there is, again."""

Told: TypeAlias = "tuple[Inbox[T], Sequence[Change[T]]]"

NOTHING: SlotTable[object] = SlotTable()
"""What a follower that starts with a replay has seen so far."""


class Inbox(Generic[T]):
    """What one follower has not taken yet. Guarded by the lock of the store, but for what it says otherwise.

    Attributes:
        filter: which objects the follower wants.
        pending: changes by key, merged.
        queue: changes commit by commit, with the revision, where the follower wants each; else None.
        limit: so many commits may wait in the queue.
        behind: the objects that it has seen, when the state was swapped since; ``pending`` is then of before the swap.
        again: each object that there is shall be given again, after what waits.
        noted: the revision of the last commit that was merged, so that one that is applied again is not merged twice.
        too_slow: the queue went over its limit, and is lost.
        closed: nobody takes anything from it any more; set without the lock, also by a finalizer.
        turn: a lock for whoever reads; taken before the store's, never under it.
        hand: what was taken and is not being read yet; for whoever has the turn, without the lock of the store.
        bell: something is in it when there is something to look at, and then no thread waits for it. A SimpleQueue,
            since putting into it is safe wherever Python may run code.
        wakers: each wakes a task that waits, once.
        threaded: a thread of this process takes from it, which a forked child has not.
    """

    __slots__ = (
        "again",
        "behind",
        "bell",
        "closed",
        "filter",
        "hand",
        "limit",
        "noted",
        "pending",
        "queue",
        "route",
        "threaded",
        "too_slow",
        "turn",
        "wakers",
    )

    def __init__(self, wanted: Filter[T], *, limit: int | None, threaded: bool) -> None:
        self.filter = wanted
        self.limit = limit
        self.threaded = threaded
        self.behind: SlotTable[T] | None = NOTHING  # type: ignore[assignment]  # it holds no object
        self.pending: dict[ObjectKey, Change[T]] = {}
        self.queue: deque[tuple[int, Part[T]]] | None = None if limit is None else deque()
        self.route: Route | None = None
        self.again = False
        self.noted = -1
        self.too_slow = False
        self.closed = False
        self.turn = RLock()
        self.hand: Sequence[Part[T]] = ()
        self.bell: SimpleQueue[None] = SimpleQueue()
        self.wakers: dict[Callable[[], object], None] = {}

    def __len__(self) -> int:
        """Count what waits: keys, or commits."""
        return len(self.pending) if self.queue is None else len(self.queue)

    @property
    def waiting(self) -> bool:
        """Whether there is anything to take."""
        return self.again or self.behind is not None or len(self) > 0

    def note(self, changes: Sequence[Change[T]], revision: int) -> None:
        """Take up what a commit changed; may be done again. The caller holds the lock."""
        if self.behind is not None:
            return
        if self.queue is not None:
            self._enqueue(changes, revision)
            return
        pending = self.pending
        if self.noted != revision:
            for change in changes:
                first = pending.get(change.key)
                pending[change.key] = change if first is None else _merged(first, change)
            self.noted = revision
        for key, old, new, *_ in changes:
            # Added and deleted: for this follower nothing happened. Only now, since noting again would not know it.
            if new is None and (old is None or (key in pending and pending[key].old is None)):
                pending.pop(key, None)

    def fall_behind(
        self, before: SlotTable[T], after: tuple[Sequence[ObjectKey | None], Sequence[T | None]], revision: int
    ) -> None:
        """Take up that the whole state was swapped; may be done again. The caller holds the lock.

        Args:
            before: the objects of before; nobody changes it any more.
            after: keys and objects as they are now, and stay here, for a queue.
            revision: of the swap.
        """
        if self.behind is not None:
            return
        if self.queue is None:
            self.behind = before
        else:
            self._enqueue(Relist(before, {}, *after, revision), revision)

    def take(self, generation: Generation[T]) -> bool:
        """Take what waits in hand, which is empty; False if there was nothing. The caller has the turn and the lock."""
        self._silence()
        if not self.waiting:
            return False
        self.bell.put(None)  # for other threads that read: there is something in hand
        parts = [*self._waiting_at(generation), *self._repeated_at(generation)]
        queue: deque[tuple[int, Part[T]]] | None = None if self.queue is None else deque()
        # No interrupt comes between these: nothing is lost or taken twice.
        self.hand, self.behind, self.pending, self.queue, self.again = parts, None, {}, queue, False
        return True

    def opened(self) -> Iterator[Change[T]]:
        """Give the changes that are in hand. Not under the lock: relists are compared."""
        hand = self.hand
        return chain.from_iterable([each.changes() if isinstance(each, (Relist, Resync)) else each for each in hand])

    def _waiting_at(self, generation: Generation[T]) -> Sequence[Part[T]]:
        """Give what waits. The caller holds the lock."""
        behind, pending = self.behind, self.pending
        if behind is None:
            return [pending.values()] if self.queue is None else [part for _, part in self.queue]
        slots = generation.slots
        if behind is NOTHING and self.route is not None and self.route.program is not None:
            program = self.route.program
            if self.route.schema is generation.schema:
                keys, objects, _ = generation.found(program, None, None, None)
                return [Relist(behind, pending, keys, objects, generation.revision)]
        return [Relist(behind, pending, slots.keys.copy(), slots.objects.copy(), generation.revision)]

    def _repeated_at(self, generation: Generation[T]) -> Sequence[Part[T]]:
        """Give all that there is, if it shall be given again. The caller holds the lock."""
        slots = generation.slots
        return [Resync(slots.keys.copy(), slots.objects.copy(), generation.revision)] if self.again else []

    def wake(self) -> None:
        """Let the follower look. The caller does not hold the lock: an event loop is not ours."""
        self.bell.put(None)
        for waker in self.wakers.copy():
            with suppress(RuntimeError):  # its loop is closed: nobody waits there
                waker()
            self.wakers.pop(waker, None)

    def _has(self, revision: int) -> bool:
        """Tell whether the queue has what the commit of *revision* changed, or takes nothing more."""
        assert self.queue is not None
        return self.too_slow or bool(self.queue and self.queue[-1][0] == revision)

    def _enqueue(self, part: Part[T], revision: int) -> None:
        assert self.queue is not None
        assert self.limit is not None
        if self._has(revision):
            return
        if len(self.queue) >= self.limit:
            self.too_slow = True  # what is in the queue is let go of without the lock
        else:
            self.queue.append((revision, part))

    def _silence(self) -> None:
        """Forget that the bell was rung."""
        try:
            while True:
                self.bell.get_nowait()
        except Empty:
            return


def _merged(first: Change[T], last: Change[T]) -> Change[T]:
    """Merge two changes of a key; *last* may be part of *first* already."""
    known = first.final_state_known if first.gone else last.final_state_known
    return Change(last.key, first.old, last.new, last.revision, first.gone or last.gone, known)


class Feed(Generic[T]):
    """The inboxes of a store, and who waits for its commits. Guarded by the lock, but for what it says otherwise.

    Attributes:
        waiters: each is rung after every commit and every bookmark; a list that is copied to be gone over.
        leaving: those who are closed, to be taken out; a list that is added to without the lock, also by finalizers.
    """

    __slots__ = ("_inboxes", "_rest", "_schema", "_stale", "_table", "_unrung", "leaving", "waiters")

    def __init__(self, schema: Schema[T]) -> None:
        self._schema = schema  # for which the table was made
        self._inboxes: dict[Inbox[T], None] = {}
        self._table: dict[Spot, dict[ValueKey, dict[Inbox[T], None]]] = {}
        self._rest: dict[Inbox[T], None] = {}  # those whom every commit may concern
        self._stale = False
        self._unrung: list[Inbox[T]] = []
        self.waiters: list[SimpleQueue[None]] = []
        self.leaving: list[Inbox[T]] = []

    @property
    def idle(self) -> bool:
        """Whether there is nobody to tell."""
        return not (self._inboxes or self.waiters)

    def inboxes(self) -> list[Inbox[T]]:
        """Give all inboxes. The caller holds the lock."""
        return list(self._inboxes)

    def all(self) -> list[Inbox[T]]:
        """Give all inboxes, to tell them something and to ring them. The caller holds the lock."""
        self._unrung += self._inboxes
        return list(self._inboxes)

    def join(self, inbox: Inbox[T], route: Route) -> None:
        """Tell *inbox* of each commit from now on. The caller holds the lock."""
        self._inboxes[inbox] = None
        self._place(inbox, route)

    def _leave(self, inbox: Inbox[T]) -> None:
        """Tell *inbox* nothing more. The caller holds the lock, and keeps the inbox until the lock is free."""
        inbox.closed = True
        self._inboxes.pop(inbox, None)
        self._rest.pop(inbox, None)
        route = inbox.route
        if route is not None and route.spot is not None:
            by_value = self._table.get(route.spot, {})
            for key in route.keys:
                inboxes = by_value.get(key, {})
                inboxes.pop(inbox, None)
                if not inboxes:
                    by_value.pop(key, None)
            if not by_value:
                self._table.pop(route.spot, None)

    def told(
        self,
        generation: Generation[T],
        entries: Sequence[Entry],
        revision: int,
        renewed: Collection[ObjectKey],
        final_states_known: bool,  # noqa: FBT001 - passed on
    ) -> list[Told[T]]:
        """Say what *entries*, which are about to be applied, change for whom. The caller holds the lock.

        O(entries x (spots in the table + followers that they concern)).
        """
        objects, capacity = generation.slots.objects, generation.slots.capacity
        changes = [
            Change(
                entry.key,
                objects[entry.slot] if entry.slot < capacity else None,
                entry.obj,
                revision,
                entry.obj is None or entry.key in renewed,
                final_states_known,
            )
            for entry in entries
        ]
        if generation.schema is not self._schema:
            self._stale = True
        told: list[Told[T]] = [(inbox, changes) for inbox in (self._inboxes if self._stale else self._rest)]
        if self._table and not self._stale:
            concerned: dict[Inbox[T], list[Change[T]]] = {}
            for entry, change in zip(entries, changes, strict=True):
                for inbox in self._concerned(generation, entry):
                    concerned.setdefault(inbox, []).append(change)
            told += concerned.items()
        # Where the bell has something in it, whoever reads will see this, too; but a task waits for its waker.
        self._unrung += [inbox for inbox, _ in told if inbox.wakers or inbox.bell.empty()]
        return told

    def ring(self, core: Core[T]) -> None:
        """Wake those who were told something. The caller does not hold the lock."""
        while self._unrung:
            try:
                inbox = self._unrung.pop()
            except IndexError:  # another thread was quicker
                break
            inbox.wake()
        for bell in self.waiters.copy():
            if bell.empty():
                bell.put(None)
        if self._stale:
            self._sort(core)
        if self.leaving:
            self.clear(core)

    def clear(self, core: Core[T]) -> None:
        """Take out those who are leaving. The caller does not hold the lock: what waits for them is users' objects."""
        gone: list[Inbox[T]] = []
        with core.lock:
            while self.leaving:
                gone.append(self.leaving.pop())
                self._leave(gone[-1])
            if self.idle and core.feed is self:
                core.feed = None

    def forked(self) -> None:
        """Go on in a child process, where no other thread is."""
        for inbox in list(self._inboxes):
            if inbox.threaded or not inbox.turn.acquire(blocking=False):
                self._leave(inbox)  # whoever reads it is not here, and may have been in the middle of it
                continue
            inbox.turn.release()
            inbox.bell = SimpleQueue()
            inbox.bell.put(None)
            inbox.wakers.clear()
        self.waiters.clear()

    def _concerned(self, generation: Generation[T], entry: Entry) -> dict[Inbox[T], None]:
        """Find those whose value *entry* takes away or gives."""
        found: dict[Inbox[T], None] = {}
        changes = dict(entry.changes)
        for spot, by_value in self._table.items():
            place, member = spot
            filed = entry.slot < generation.slots.capacity
            old = generation.index_at(spot).filing(entry.slot) if filed else None
            new = changes.get(place, old) if member is None or place not in changes else changes[place].get(member)
            for key in {*keys_in(old), *keys_in(new)}:
                found.update(by_value.get(key, ()))
        return found

    def _sort(self, core: Core[T]) -> None:
        """Make the table anew, for another schema. Runs without the lock."""
        routes: dict[Inbox[T], Route] = {}
        with core.lock:
            schema, inboxes = core.generation.schema, tuple(self._inboxes)
        for inbox in inboxes:
            try:
                routes[inbox] = inbox.filter.route(schema)
            except UnknownIndexError:  # its indexer was removed: its objects are asked
                routes[inbox] = inbox.filter.unindexed(schema)
        with core.lock:
            if core.generation.schema is not schema:
                return  # the next commit finds it stale again
            self._schema, self._stale = schema, False
            self._table, self._rest = {}, {}
            for inbox in self._inboxes:
                self._place(inbox, routes.get(inbox) or inbox.route)

    def _place(self, inbox: Inbox[T], route: Route | None) -> None:
        inbox.route = route
        if route is None or route.spot is None or route.schema is not self._schema:
            self._rest[inbox] = None
            return
        by_value = self._table.setdefault(route.spot, {})
        for key in route.keys:
            by_value.setdefault(key, {})[inbox] = None


def feed_of(core: Core[T]) -> Feed[T]:
    """Give the feed of *core*, which has one from now on. The caller holds the lock."""
    if core.feed is None:
        core.feed = Feed(core.generation.schema)
    return core.feed
