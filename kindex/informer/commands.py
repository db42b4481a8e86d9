"""Commands: what a reflector wants to be done. Each names the namespace whose reflector it comes from.

A step gives several, to be done in their order. The last one may be answered by an event; the others are not:

==================  ===========================================================================
command             is answered by
==================  ===========================================================================
ListRequest         Page or ErrorEvent
WatchRequest        Opened, then what the stream gives, and Ended, Silent or ErrorEvent at last;
                    or ErrorEvent at once
Replace             Replaced or Refused
Apply, Forget       nothing, or Refused
Bookmark            nothing
Wait                Woken
Hangup, Report      nothing
==================  ===========================================================================

A command to the source is the request as the source takes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Literal, TypeAlias, TypeVar

import msgspec

from kindex.keys import ObjectKey
from kindex.sources.base import ListRequest, ObjectEventType, WatchRequest

T = TypeVar("T")


class Replace(msgspec.Struct, Generic[T], frozen=True):
    """Make the store, or its part in the namespace, equal to *objects*; of two with one key the last one counts."""

    namespace: str | None
    objects: Sequence[T]
    resource_version: str


class Apply(msgspec.Struct, Generic[T], frozen=True):
    """Tell the store what happened to one object.

    Repeats, older versions and late deletes come through: the store knows what it has.
    """

    namespace: str | None
    type: ObjectEventType
    obj: T
    resource_version: str
    """From which a watch would be resumed afterwards; no older than it was before."""


class Forget(msgspec.Struct, frozen=True):
    """Remove one object from the store, if what is there is no newer than *seen*."""

    namespace: str | None
    key: ObjectKey
    seen: str | None
    """The version in which it ceased to be one of those that are kept."""
    resource_version: str
    """As that of an Apply."""


class Bookmark(msgspec.Struct, frozen=True):
    """Note in the store that it is equal to the source up to a resource version."""

    namespace: str | None
    resource_version: str


class Wait(msgspec.Struct, frozen=True):
    """Let so much time pass."""

    namespace: str | None
    seconds: float


class Hangup(msgspec.Struct, frozen=True):
    """Close the stream, if it is still open."""

    namespace: str | None


class Report(msgspec.Struct, frozen=True):
    """Say to people what happened."""

    namespace: str | None
    severity: Literal["info", "warning"]
    text: str
    error: Exception | None = None


Command: TypeAlias = ListRequest | WatchRequest | Replace[T] | Apply[T] | Forget | Bookmark | Wait | Hangup | Report
"""Take it apart with ``match``."""
