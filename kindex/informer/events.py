"""Events: what a reflector is told. What comes from the source is told as the source gave it."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import msgspec

from kindex.sources.base import BookmarkEvent, ErrorEvent, ObjectEvent, Page, SkippedEvent

T = TypeVar("T")


class Opened(msgspec.Struct, frozen=True):
    """The server accepted the watch."""


class Ended(msgspec.Struct, frozen=True):
    """The server ended the watch in good order."""


class Silent(msgspec.Struct, frozen=True):
    """The watch gave nothing for the ``silence_seconds`` of its request."""


class Replaced(msgspec.Struct, frozen=True):
    """The store took the objects of a Replace."""


class Refused(msgspec.Struct, frozen=True):
    """The store raised, and changed nothing; of the commands that it was given with, the rest was not done."""

    error: Exception


class Woken(msgspec.Struct, frozen=True):
    """The time of a Wait has passed, or somebody cut it short."""


Event: TypeAlias = (
    Page[T]
    | Opened
    | ObjectEvent[T]
    | SkippedEvent
    | BookmarkEvent
    | ErrorEvent
    | Ended
    | Silent
    | Replaced
    | Refused
    | Woken
)
"""Take it apart with ``match``."""
