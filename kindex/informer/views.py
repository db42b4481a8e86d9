"""InformerView: what an informer hands out; it refuses to say "not there" of what was never listed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast
from weakref import WeakSet

import attrs

from kindex.errors import NotSyncedError
from kindex.following import Follower
from kindex.handlers import Registration
from kindex.keys import ObjectKey
from kindex.memory import MemoryReport
from kindex.store_views import StoreView

if TYPE_CHECKING:
    from kindex.core import Core

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])  # Any: a method of whatever signature

Guard: TypeAlias = Callable[[Iterable[str]], None]
"""Told the namespaces that a read names; raises NotSyncedError unless they may be read."""


class Door(Generic[T]):
    """The informer's side of its view: what may be read, and who follows.

    Attributes:
        guard: what each read of a GuardedView must pass.
        saved_bytes: tells how much JSON transforms have dropped.
    """

    __slots__ = ("_followers", "_lock", "_registrations", "guard", "saved_bytes")

    def __init__(self, guard: Guard, saved_bytes: Callable[[], int]) -> None:
        self.guard = guard
        self.saved_bytes = saved_bytes
        self._lock = threading.RLock()  # a signal handler may close it, wherever its thread is
        self._registrations: list[Registration[T]] = []
        self._followers: WeakSet[Follower[T]] = WeakSet()

    def keep(self, following: Follower[T] | Registration[T]) -> None:
        """Know who follows the view."""
        with self._lock:
            if isinstance(following, Follower):
                self._followers.add(following)
            else:
                self._registrations = [*self._active(), following]

    def following(self) -> list[Follower[T] | Registration[T]]:
        """Give all who follow."""
        with self._lock:
            return [*self._active(), *self._followers]

    def close(self) -> list[Registration[T]]:
        """End all that follows; give the registrations, whose last calls may be under way."""
        with self._lock:
            registrations, followers = self._active(), list(self._followers)
        for registration in registrations:
            registration.remove()
        for follower in followers:
            follower.close()
        return registrations

    def forked(self) -> None:
        """Go on in a child process: the lock may have been another thread's."""
        self._lock = threading.RLock()

    def _active(self) -> list[Registration[T]]:
        return [each for each in self._registrations if each.active]


def _guarded(read: F) -> F:
    """Let a method that reads pass the guard first."""

    @wraps(read)
    def guarded(self: GuardedView[Any], *args: Any, **kwargs: Any) -> object:  # noqa: ANN401 - as *read* takes them
        self._door.guard(_namespaces_in(args, kwargs))
        return read(self, *args, **kwargs)

    return cast("F", guarded)


def _kept(follow: F) -> F:
    """Let the view know who follows it, to end that with the informer."""

    @wraps(follow)
    def kept(self: InformerView[Any], *args: Any, **kwargs: Any) -> object:  # noqa: ANN401 - as *follow* takes them
        following = follow(self, *args, **kwargs)
        self._door.keep(following)
        return following

    return cast("F", kept)


class InformerView(StoreView[T]):
    """Reads what an informer keeps, as the view of a store does, from the first list on.

    Before that, each read raises NotSyncedError: in a controller "not there" means "delete" or "create another one".
    So does a read that names a namespace which the informer does not watch, or has no right to. Handlers and followers
    may be added at any time; they end with the informer, and what it kept can still be read then.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource([{"metadata": {"name": "a", "namespace": "x"}}], name="pods")
    >>> with Informer(source) as pods:
    ...     pods
    InformerView('pods', 1 objects)
    """

    __slots__ = ("_door",)

    def __init__(self, core: Core[T], door: Door[T]) -> None:
        """Read *core* where *door* allows it; ``Informer.view`` is one."""
        super().__init__(core)
        self._door = door

    def __repr__(self) -> str:
        try:
            objects = f"{len(self)} objects"
        except NotSyncedError:
            objects = "not synced"
        return f"InformerView({self.name!r}, {objects})"

    def memory(self) -> MemoryReport:
        """Count what all of it takes, as ``StoreView.memory`` does, and what transforms have saved."""
        return attrs.evolve(super().memory(), saved_bytes=self._door.saved_bytes())

    if not TYPE_CHECKING:  # type checkers see what is inherited
        follow = _kept(StoreView.follow)
        add_event_handler = _kept(StoreView.add_event_handler)


class GuardedView(InformerView[T]):
    """An InformerView of which not all may be read, or not yet.

    When all may be, the informer makes it a plain one by its class: from then on a read costs no more than a store's.
    """

    __slots__ = ()

    def get_many(self, keys: Iterable[ObjectKey]) -> dict[ObjectKey, T]:
        """Give those of *keys* that are there, with their objects, from one state. O(keys)."""
        return self._get_many(*keys)

    if not TYPE_CHECKING:  # type checkers see what is inherited
        get = _guarded(StoreView.get)
        require = _guarded(StoreView.require)
        select = _guarded(StoreView.select)
        keys = _guarded(StoreView.keys)
        first = _guarded(StoreView.first)
        any = _guarded(StoreView.any)
        count = _guarded(StoreView.count)
        explain = _guarded(StoreView.explain)
        index_values = _guarded(StoreView.index_values)
        tally = _guarded(StoreView.tally)
        skipped = _guarded(StoreView.skipped)
        snapshot = _guarded(StoreView.snapshot)
        __contains__ = _guarded(StoreView.__contains__)
        __len__ = _guarded(StoreView.__len__)
        __iter__ = _guarded(StoreView.__iter__)

    @_guarded
    def _get_many(self, *keys: ObjectKey) -> dict[ObjectKey, T]:
        return super().get_many(keys)


def _namespaces_in(args: tuple[object, ...], kwargs: dict[str, object]) -> list[str]:
    """Find the namespaces that the arguments of a read name; whether they make sense is for the read to say."""
    names = kwargs.get("namespace")
    if isinstance(names, str):
        found = [names]
    else:
        found = [name for name in names if isinstance(name, str)] if isinstance(names, Collection) else []
    return [*found, *(arg.namespace for arg in args if isinstance(arg, ObjectKey))]
