"""Deltas: what one commit did to one object.

The collector does not track them (``gc=False``): they refer to objects, never the other way round, and a first list of
150,000 pods would otherwise set off full collections over everything that the process holds.
"""

from __future__ import annotations

from typing import Generic, TypeAlias, TypeVar

import msgspec

from kindex.keys import ObjectKey

T = TypeVar("T")


class Added(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object that was not there before; *revision* is that of the commit.

    >>> Added(ObjectKey("prod", "web-1"), {"kind": "Pod"}, revision=1).new
    {'kind': 'Pod'}
    """

    key: ObjectKey
    new: T
    revision: int = 0

    @property
    def old(self) -> None:
        """Nothing: there was no object."""
        return


class Updated(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object in place of an earlier one of the same key and the same UID; *revision* is that of the commit.

    >>> Updated(ObjectKey("prod", "web-1"), old={"n": 1}, new={"n": 2}, revision=2).old
    {'n': 1}
    """

    key: ObjectKey
    old: T
    new: T
    revision: int = 0


class Deleted(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object that is gone; *old* is its last known state, *revision* that of the commit.

    ``final_state_known`` is False for a tombstone: a relist no longer had the object, so it may have changed
    unseen before it went.

    >>> Deleted(ObjectKey("prod", "web-1"), old={"n": 1}, revision=3).final_state_known
    True
    """

    key: ObjectKey
    old: T
    final_state_known: bool = True
    revision: int = 0

    @property
    def new(self) -> None:
        """Nothing: there is no object any more."""
        return


Delta: TypeAlias = Added[T] | Updated[T] | Deleted[T]
"""One of the three; take it apart with ``match``."""


def deltas_of(
    key: ObjectKey,
    old: T | None,
    new: T | None,
    revision: int,
    *,
    renewed: bool,
    final_state_known: bool = True,
) -> tuple[Delta[T], ...]:
    """Say what happened to one key; *renewed*: by its UID it is another object now.

    >>> [type(delta).__name__ for delta in deltas_of(ObjectKey("prod", "web-1"), {}, {}, 7, renewed=True)]
    ['Deleted', 'Added']
    """
    if new is None:
        return () if old is None else (Deleted(key, old, final_state_known, revision),)
    if old is None:
        return (Added(key, new, revision),)
    if renewed:
        return (Deleted(key, old, final_state_known, revision), Added(key, new, revision))
    return (Updated(key, old, new, revision),)
