"""AnyGroup: what groups of informers have in common, whether threads or tasks drive them."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from kindex.errors import InformerConflictError, InformerError, NotReachedError, NotSyncedError, SyncTimeoutError
from kindex.informer.informing import AnyInformer
from kindex.informer.readiness import Readiness
from kindex.informer.wishes import Wish

I = TypeVar("I", bound=AnyInformer[Any, Any])  # noqa: E741 - an informer; Any: of whatever objects


class AnyGroup(Generic[I]):
    """What ``InformerGroup`` and ``AsyncInformerGroup`` have in common: the informers, each resource once."""

    def __init__(self, defaults: dict[str, Any]) -> None:  # Any: see Settings
        """Begin with no informer; *defaults* are settings of each."""
        self._defaults = defaults
        self._sync_timeout: float | None = defaults.get("sync_timeout", 60.0)
        self._lock = threading.RLock()
        self._kept: dict[Hashable, tuple[Wish[Any], I]] = {}  # guarded by _lock, and replaced as a whole
        self._started = self._stopped = False

    def __repr__(self) -> str:
        names = ", ".join(informer.name for informer in self.informers)
        state = "stopped" if self._stopped else "started" if self._started else "not started"
        return f"{type(self).__name__}({names or 'no informers'}, {state})"

    @property
    def informers(self) -> tuple[I, ...]:
        """The informers, in the order in which they were first asked for."""
        return tuple(informer for _, informer in self._kept.values())

    @property
    def synced(self) -> bool:
        """Whether all have synced."""
        return all(informer.synced for informer in self.informers)

    @property
    def live(self) -> bool:
        """Whether all follow their sources now."""
        return all(informer.live for informer in self.informers)

    def ready(self) -> Readiness:
        """Tell whether all that is kept can be relied on, and if not, why: what a readiness probe asks.

        >>> from kindex import InformerGroup
        >>> from kindex.testing import FakeSource
        >>> group = InformerGroup()
        >>> pods, nodes = group.informer(FakeSource(name="pods")), group.informer(FakeSource(name="nodes"))
        >>> bool(group.ready()), group.ready().reasons
        (False, ('pods: not started', 'nodes: not started'))
        """
        return Readiness.of_all(informer.ready() for informer in self.informers)

    # For the subclasses

    def _make(self, what: Any, settings: dict[str, Any]) -> I:  # noqa: ANN401 - see below
        """Make an informer. Any: the overloads of its class say what it takes."""
        raise NotImplementedError

    def _shared(self, what: object, explicit: dict[str, Any], *, asynchronous: bool) -> tuple[I, bool]:
        """Give the informer for a wish, and whether it is to be started. Any: see Settings.

        Raises:
            InformerConflictError: there is one, which keeps the same in another way.
            IndexConflictError, IndexerError: its indexers do not go together with those that are wished for.
            InformerError: the group was stopped.
        """
        settings = {**self._defaults, **explicit}
        wish: Wish[Any] = Wish.read(what, settings, asynchronous=asynchronous)
        with self._lock:
            self._check_usable()
            present = self._kept.get(wish.identity)
            if present is None:
                informer = self._make(what, settings)
                self._kept = {**self._kept, wish.identity: (wish, informer)}
                return informer, self._started
        first, informer = present
        for setting, here, there in first.differences(wish, explicit):
            raise InformerConflictError(informer.name, setting, here, there)
        informer.add_indexers(*wish.conduct.indexers)
        return informer, False

    def _begin(self) -> tuple[I, ...]:
        """Give the informers, to be started.

        Raises:
            InformerError: the group was stopped.
        """
        with self._lock:
            self._check_usable()
            self._started = True
            return self.informers

    def _end(self) -> tuple[I, ...]:
        """Give the informers, to be stopped."""
        with self._lock:
            self._stopped = True
            return self.informers

    def _check_usable(self) -> None:
        if self._stopped:
            raise InformerError("this group was stopped; a group runs once, so make another one")


def raise_together(failed: Mapping[str, Exception]) -> None:
    """Raise what happened to several informers as one exception, if anything did.

    Args:
        failed: the exception of each, by its name.

    Raises:
        SyncTimeoutError, NotSyncedError, NotReachedError, or anything else: the only one there is; of several one that
            says all of it, with the first as its cause.

    >>> raise_together({"pods": NotReachedError("pods are late"), "nodes": NotReachedError("nodes are late")})
    Traceback (most recent call last):
    ...
    kindex.errors.NotReachedError: pods are late; nodes are late
    """
    errors: Sequence[Exception] = tuple(failed.values())
    if not errors:
        return
    if len(errors) == 1:
        raise errors[0]
    unsynced = {name: error for name, error in failed.items() if isinstance(error, NotSyncedError)}
    if len(unsynced) == len(errors):
        kind = SyncTimeoutError if any(isinstance(error, SyncTimeoutError) for error in errors) else NotSyncedError
        reasons = "; ".join(f"{name} {error.reason}" for name, error in unsynced.items())
        raise kind(", ".join(unsynced), f"have not synced: {reasons}") from errors[0].__cause__
    raise NotReachedError("; ".join(map(str, errors))) from errors[0].__cause__
