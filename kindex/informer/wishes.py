"""Wish: what is wanted of an informer, sorted out of the arguments that it is given."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator
from typing import Any, Final, Generic, TypeVar

import attrs

from kindex.informer.conduct import Conduct
from kindex.informer.keeping import Keeping
from kindex.informer.origins import Origin
from kindex.informer.settings import SettingError

T = TypeVar("T")

_OF_KEEPING: Final = ("objects", "decode", "on_decode_error", "strip", "transform")
_OF_ORIGIN: Final = ("client", "namespace", "label_selector", "field_selector")

_OF_CONDUCT: Final = tuple(field.name for field in attrs.fields(Conduct))

_NOT_SHARED: Final = ("indexers", "namespaces", "sync_timeout")
"""In what of its conduct two wishes may differ that share an informer; of other namespaces they would not."""


@attrs.frozen
class Wish(Generic[T]):
    """What to list, in what form to keep it, and how to behave."""

    origin: Origin
    keeping: Keeping[T]
    conduct: Conduct

    @classmethod
    def read(cls, what: object, settings: dict[str, Any], *, asynchronous: bool) -> Wish[T]:  # Any: see Settings
        """Sort out the arguments of an informer.

        Raises:
            SettingError, IndexerError: one makes no sense, alone or beside another.
            TypeError: there is none of this name.
        """
        keeping: Keeping[T] = Keeping(**{name: settings[name] for name in _OF_KEEPING if name in settings})
        asked = {name: settings[name] for name in _OF_ORIGIN if name in settings}
        rest = {name: given for name, given in settings.items() if name not in (*_OF_KEEPING, *_OF_ORIGIN)}
        for name in rest.keys() - _OF_CONDUCT:
            from difflib import get_close_matches  # noqa: PLC0415 - for slips alone

            near = get_close_matches(name, (*_OF_KEEPING, *_OF_ORIGIN, *_OF_CONDUCT), n=1)
            meant = f"; {near[0]!r} is meant, perhaps" if near else ""
            raise TypeError(f"an informer takes no argument {name!r}{meant}")
        conduct = Conduct(**rest)
        keeping.check(conduct.indexers)
        if conduct.namespaces is not None and asked.get("namespace") is not None:
            raise SettingError("namespace", asked["namespace"], "left out where there are namespaces")
        origin = Origin(
            what,
            each_namespace=conduct.namespaces is not None,
            metadata_only=keeping.objects == "metadata",
            asynchronous=asynchronous,
            **asked,
        )
        return cls(origin, keeping, conduct)

    @property
    def identity(self) -> Hashable:
        """Equal for two wishes that one informer can fulfil, if they agree about the rest."""
        return self.origin.identity, self.conduct.namespaces

    def differences(self, other: Wish[Any], explicit: Collection[str]) -> Iterator[tuple[str, object, object]]:
        """Give each setting in which *other* contradicts this wish, with the two values.

        The form of the objects must be the same; the rest where *other* says it, which *explicit* names.
        """
        for name in attrs.fields_dict(Keeping):
            here, there = getattr(self.keeping, name), getattr(other.keeping, name)
            if here != there:
                yield name, here, there
        for name in attrs.fields_dict(Conduct):
            here, there = getattr(self.conduct, name), getattr(other.conduct, name)
            if name in explicit and name not in _NOT_SHARED and here != there:
                yield name, here, there
