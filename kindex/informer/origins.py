"""Origin: what an informer was given to list, and how sources are made of it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, TypeAlias

import attrs

from kindex.decoding import Decoder
from kindex.informer.settings import SettingError
from kindex.selectors import FieldSelector, LabelSelector


@attrs.frozen
class Named:
    """What to list, by its kind; *plural* None is for discovery to find."""

    api_version: str
    kind: str
    plural: str | None
    client: object = attrs.field(eq=id)


Listable: TypeAlias = Callable[..., Any] | str | Named
"""A list function of a client, bound; a path; or a kind. Any: what a list function returns is never looked at."""


class Origin:
    """What to list: a Source object, which is asked as it is, or what ``kindex.sources`` makes sources of.

    Attributes:
        given: whether it is a Source object.
        blocking: whether it is a Source object that is not for an event loop.
        identity: equal for two origins that list the same.
    """

    def __init__(self, what: object, *, metadata_only: bool, asynchronous: bool, **arguments: object) -> None:
        """Take *what* with the arguments that narrow it: ``namespace``, ``label_selector``, ``field_selector``.

        Raises:
            SettingError: a Source object says itself what it lists; or it is for an event loop, and there is none.
        """
        arguments = {name: _text_of(name, given) for name, given in arguments.items() if given is not None}
        list_page = getattr(what, "list_page", None)
        self.given = callable(list_page) and callable(getattr(what, "watch", None))
        self.blocking = self.given and not inspect.iscoroutinefunction(list_page)
        self._what = what
        self._arguments = arguments
        self._metadata_only = metadata_only
        self._asynchronous = asynchronous
        if not self.given:
            self.identity: Hashable = (_identity_of(what), tuple(sorted(arguments.items())))
            return
        self.identity = id(what)
        if arguments:
            wanted = "left to a Source object; of several namespaces name some by namespaces=[...]"
            raise SettingError(next(iter(arguments)), next(iter(arguments.values())), wanted)
        if not (asynchronous or self.blocking):
            raise SettingError("source", what, "for threads; one for an event loop is for AsyncInformer")

    def source(self, decoder: Decoder[Any]) -> Any:  # noqa: ANN401 - a Source or an AsyncSource of whatever objects
        """Give a source: a new one whose objects *decoder* makes, or the one that was given."""
        if self.given:
            return self._what
        # Only here: no client is loaded where none is used.
        sources = import_module("kindex.sources")
        make = sources.async_source_of if self._asynchronous else sources.source_of
        arguments = {"metadata_only": True, **self._arguments} if self._metadata_only else self._arguments
        return make(self._what, decoder=decoder, **arguments)


def _identity_of(what: object) -> Hashable:
    """Say what two bound methods have in common that list the same with the same client; anything else is a value."""
    owner = getattr(what, "__self__", None)
    if owner is None:
        return what if isinstance(what, Hashable) else id(what)
    return getattr(what, "__func__", None), id(getattr(owner, "api_client", owner))


def _text_of(name: str, given: object) -> str:
    if isinstance(given, str):
        return given
    if name == "label_selector":
        return str(LabelSelector.of(given))
    if name == "field_selector":
        return str(FieldSelector.of(given))  # type: ignore[arg-type]  # it checks
    raise SettingError(name, given, "the name of one, or None for all")
