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
    """An object that was not there before.

    >>> Added(ObjectKey("prod", "web-1"), {"kind": "Pod"}).new
    {'kind': 'Pod'}
    """

    key: ObjectKey
    new: T


class Updated(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object in place of an earlier one of the same key and the same UID.

    >>> Updated(ObjectKey("prod", "web-1"), old={"n": 1}, new={"n": 2}).old
    {'n': 1}
    """

    key: ObjectKey
    old: T
    new: T


class Deleted(msgspec.Struct, Generic[T], frozen=True, gc=False):
    """An object that is gone; *old* is its last known state.

    ``final_state_known`` is False for a tombstone: a relist no longer had the object, so it may have changed
    unseen before it went.

    >>> Deleted(ObjectKey("prod", "web-1"), old={"n": 1}).final_state_known
    True
    """

    key: ObjectKey
    old: T
    final_state_known: bool = True


Delta: TypeAlias = Added[T] | Updated[T] | Deleted[T]
"""One of the three; take it apart with ``match``."""
