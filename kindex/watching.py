"""Watching: what is told of each query to whoever watches a store.

A query looks at ``core.watchers`` once; when nobody watches, that is all. Watchers are held weakly, and are told when
the lock is free. What they are told is text and numbers: no object, no value, no term.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias
from weakref import ref

from kindex.indexers.labels import LabelKey
from kindex.indexers.sorted import Descending, SortedIndexer
from kindex.operations import Filed, Operation, Present
from kindex.schema import Family
from kindex.shapes import Shape

if TYPE_CHECKING:
    from kindex.generation import Generation
    from kindex.indexers.base import Indexer
    from kindex.programs import Program
    from kindex.schema import Identity
    from kindex.states import Readable

IndexId: TypeAlias = tuple[str, str]
"""What tells an index from the others of a store: the path and the key of a label, or ``""`` and the indexer's name."""


class Use(NamedTuple):
    """That a query used an index.

    Attributes:
        of: which.
        leaves: how many objects its answer alone would leave; None where that is not known without more work.
    """

    of: IndexId
    leaves: int | None


class Answered(NamedTuple):
    """A query that has been run.

    Attributes:
        shape: what was asked.
        objects: how many the store held.
        uses: of indexes.
        scanned: on how many objects a selector was evaluated.
        scans: whether that was a scan.
        returned: how many objects answered it.
    """

    shape: Shape
    objects: int
    uses: tuple[Use, ...]
    scanned: int
    scans: bool
    returned: int


class Watcher(Protocol):
    """Who watches a store."""

    def begin(self) -> Callable[[Answered], None]:
        """Take note that a query begins; give what to call when it has been run, without any lock."""
        ...

    def read(self, index: IndexId) -> None:
        """Take note that the values of an index were read as a whole. Called without any lock."""


class Watch:
    """One query, watched."""

    __slots__ = ("_asked", "_ends", "_got", "_objects", "_times", "_uses")

    def __init__(self, core: Readable[Any]) -> None:
        self._ends = [watcher.begin() for watcher in watchers_of(core)]
        self._times = core.lock_times
        self._asked = self._got = 0.0
        self._objects = 0
        self._uses: list[Use] = []

    def asks(self) -> None:
        """Note that the lock is asked for."""
        if self._times is not None:
            self._asked = self._times.clock()

    def got(self) -> None:
        """Note that the lock was got. The caller holds it."""
        if self._times is not None:
            self._got = self._times.clock()

    def look(self, program: Program, generation: Generation[Any]) -> None:
        """Note what indexes *program* uses, as the last thing under the lock. The caller holds it."""
        self._objects = len(generation.slots)
        order = generation.schema.order
        self._uses = [
            Use(index_id(order[place], member), _leaves(operation, generation))
            for operation in (*program.selecting, *program.excluding)
            for place, member in operation.spots
        ]
        if self._times is not None:
            self._times.note("query", self._asked, self._got)

    def tell(
        self,
        program: Program,
        *,
        scanned: int = 0,
        scans: bool = False,
        returned: int,
        order_by: object = None,
        where: bool = False,
    ) -> None:
        """Tell the watchers. The caller does not hold the lock."""
        order = ""
        if order_by == "key":
            order = "key"
        elif isinstance(order_by, (SortedIndexer, Descending)):
            indexer = order_by if isinstance(order_by, SortedIndexer) else order_by.indexer
            order = indexer.name if indexer is order_by else f"{indexer.name} descending"
            self._uses.append(Use(("", indexer.name), None))
        answered = Answered(
            Shape(*program.asked, order, where), self._objects, tuple(self._uses), scanned, scans, returned
        )
        for end in self._ends:
            end(answered)


def watch(core: Readable[Any], watcher: Watcher) -> None:
    """Let *watcher* be told of the queries of *core*, until ``unwatch`` or its end."""
    watchers = core.watchers
    # No lock in the callback: the collector calls it, maybe inside the lock of another store.
    watchers.append(ref(watcher, watchers.remove))


def unwatch(core: Readable[Any], watcher: Watcher) -> None:
    """Tell *watcher* no more."""
    for each in tuple(core.watchers):
        if each() is watcher:
            with suppress(ValueError):  # another thread was quicker
                core.watchers.remove(each)


def watchers_of(core: Readable[Any]) -> list[Watcher]:
    """Give those who watch now."""
    return [watcher for each in tuple(core.watchers) if (watcher := each()) is not None]


def index_id(identity: Identity | Indexer[Any, Any] | LabelKey, member: str | None = None) -> IndexId:
    """Give the id of an index, of the key *member* if it is a family.

    >>> from kindex import FieldIndexer, LabelIndexer
    >>> index_id(LabelIndexer("app").key("app")), index_id(FieldIndexer("spec.nodeName"))
    (('metadata.labels', 'app'), ('', 'spec.nodeName'))
    """
    match identity:
        case Family(path=path):
            return path, member or ""
        case LabelKey(path=path, key=key):
            return path, key
        case _:
            return "", identity.name


def _leaves(operation: Operation, generation: Generation[Any]) -> int | None:
    if not isinstance(operation, (Filed, Present)):
        return None
    size = operation.estimate(generation)
    return len(generation.slots) - size if operation.negative else size
