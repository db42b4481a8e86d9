"""Query counts: of the queries of a store, by the index that narrowed them most."""

from __future__ import annotations

import threading
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, NamedTuple

from kindex.forks import tell_when_forked
from kindex.indexers.labels import LabelKey
from kindex.watching import Use

if TYPE_CHECKING:
    from collections.abc import Callable

    from kindex.watching import Answered, IndexId

NO_INDEX: Final = "(none)"
OTHERS: Final = "(others)"

_BACKLOG: Final = 1_000
"""Up to so many queries wait to be counted by another thread before one waits for that thread."""

_PATIENCE_SECONDS: Final = 0.1
"""How long it then waits at most: a finalizer that queries may hold what that thread waits for."""


class Names:
    """Keeps the names of indexes to a number: those that come first have their own, all others share one.

    Names of keys come from objects where an indexer is for every label, and each would be a series for ever.

    >>> names = Names(1)
    >>> names.of("app"), names.of("tier"), names.of("app")
    ('app', '(others)', 'app')
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def of(self, name: str) -> str:
        """Give the name to count under."""
        if name in self._known:
            return name
        if len(self._known) >= self._most:
            return OTHERS
        self._known.add(name)
        return name


class Counts(NamedTuple):
    """What queries came to, by index."""

    queries: Counter[str]
    fetched: Counter[str]
    returned: Counter[str]
    uses: Counter[str]


class QueryCounts:
    """Watches the queries of a store, and counts them. It keeps no object and no value.

    What is told waits in a queue, and whoever gets the lock counts it: no query waits for another, but where too many
    wait, and a finalizer that queries amid all that hangs nobody.
    """

    def __init__(self, names: Names) -> None:
        self._names = names
        self._lock = threading.RLock()  # guards what follows
        self._told: deque[tuple[tuple[Use, ...], Answered | None]] = deque()  # appended to without it
        self._counting = False
        self._counts = Counts(Counter(), Counter(), Counter(), Counter())
        tell_when_forked(self)

    def begin(self) -> Callable[[Answered], None]:
        """Take note that a query begins; the store's queries call this."""
        return self._answered

    def read(self, index: IndexId) -> None:
        """Take note that an index was read as a whole; ``tally`` and ``index_values`` call this."""
        self._note((Use(index, None),), None)

    def counts(self) -> Counts:
        """Give a copy of what was counted so far."""
        with self._lock:
            self._count()
            return Counts(*(each.copy() for each in self._counts))

    def forked(self) -> None:
        """Go on in a child process; anew, if another thread was counting at that moment."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()
            self._counting = False

    def _answered(self, answered: Answered) -> None:
        self._note(answered.uses, answered)

    def _note(self, uses: tuple[Use, ...], answered: Answered | None) -> None:
        self._told.append((uses, answered))
        if self._lock.acquire(timeout=_PATIENCE_SECONDS if len(self._told) > _BACKLOG else 0):
            try:
                self._count()
            finally:
                self._lock.release()

    def _count(self) -> None:
        """Count what was told. The caller holds the lock."""
        if self._counting:  # a finalizer or signal handler, amid the same: what it told is counted there
            return
        self._counting = True
        try:
            while self._told:
                uses, answered = self._told.popleft()
                for name in {self._name(use) for use in uses}:
                    self._counts.uses[name] += 1
                if answered is not None:
                    index = self._narrowest(uses)
                    self._counts.queries[index] += 1
                    self._counts.fetched[index] += max(answered.scanned, answered.returned)
                    self._counts.returned[index] += answered.returned
        finally:
            self._counting = False

    def _narrowest(self, uses: tuple[Use, ...]) -> str:
        """Give the index whose answer alone leaves least; of those of which that is not known the first."""
        if not uses:
            return NO_INDEX
        return self._name(min(uses, key=lambda use: float("inf") if use.leaves is None else use.leaves))

    def _name(self, use: Use) -> str:
        path, key = use.of
        return self._names.of(LabelKey(path, key).name if path else key)
