"""Settings: numbers that a person may choose, checked where they are given."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import Any

import attrs

from kindex.errors import KindexError


class SettingError(KindexError, ValueError):
    """A setting that cannot be: a negative delay, a factor below one."""

    def __init__(self, name: str, value: object, wanted: str) -> None:
        """Name the setting, what it was given, and what it takes."""
        self.name = name
        self.value = value
        self.wanted = wanted
        super().__init__(f"{name} is {wanted}, not {value!r}")


def number(
    *, least: float = 0.0, most: float | None = None, whole: bool = False, optional: bool = False
) -> Callable[[object, attrs.Attribute[Any], object], None]:  # Any: of whatever type
    """Make a validator of attrs: a finite number from *least* to *most*.

    >>> number(least=1)(None, attrs.fields(attrs.make_class("C", ["seconds"])).seconds, 0)
    Traceback (most recent call last):
    ...
    kindex.informer.settings.SettingError: seconds is a number from 1, not 0
    """
    wanted = f"a {'whole ' if whole else ''}number from {least:g}{'' if most is None else f' to {most:g}'}"
    wanted += " or None" if optional else ""

    def check(_instance: object, attribute: attrs.Attribute[Any], value: object) -> None:  # Any: of whatever type
        if optional and value is None:
            return
        kinds = int if whole else (int, float)
        if (
            isinstance(value, bool)
            or not isinstance(value, kinds)
            or not isfinite(value)
            or value < least
            or (most is not None and value > most)
        ):
            raise SettingError(attribute.name, value, wanted)

    return check
