"""Origin: what an informer was given to list, and how sources are made of it."""

from __future__ import annotations

import inspect
from collections.abc import Hashable
from typing import Any

from kindex.decoding import Decoder
from kindex.informer.settings import SettingError
from kindex.selectors import FieldSelector, LabelSelector
from kindex.sources import async_source_of, source_of


class Origin:
    """What to list: a Source object, which is asked as it is, or what ``kindex.sources`` makes sources of.

    Attributes:
        given: whether it is a Source object.
        blocking: whether it is a Source object that is not for an event loop.
        identity: equal for two origins that list the same.
    """

    def __init__(
        self,
        what: object,
        *,
        client: object = None,
        each_namespace: bool,
        metadata_only: bool,
        asynchronous: bool,
        **narrowing: object,
    ) -> None:
        """Take what is to be listed.

        Args:
            what: see ``Informer``.
            client: to ask the server with, where *what* brings none.
            each_namespace: whether each request names a namespace.
            metadata_only: whether the server is to send no more.
            asynchronous: whether it is asked in an event loop.
            narrowing: which part of it: ``namespace``, ``label_selector``, ``field_selector``.

        Raises:
            SettingError: a Source object says itself what it lists; or it is for an event loop, and there is none.
        """
        narrowing = {name: _text_of(name, given) for name, given in narrowing.items() if given is not None}
        list_page = getattr(what, "list_page", None)
        self.given = callable(list_page) and callable(getattr(what, "watch", None))
        self.blocking = self.given and not inspect.iscoroutinefunction(list_page)
        if self.given:
            _check_given(what, {"client": client, **narrowing}, blocking=self.blocking, asynchronous=asynchronous)
        self.identity: Hashable = (_identity_of(what), id(client), tuple(sorted(narrowing.items())))
        self._what = what
        self._make: Any = async_source_of if asynchronous else source_of  # Any: it checks what it is given
        self._arguments = {
            **narrowing,
            "client": client,
            "each_namespace": each_namespace,
            "metadata_only": metadata_only,
        }

    def source(self, decoder: Decoder[Any]) -> Any:  # noqa: ANN401 - a Source or an AsyncSource of whatever objects
        """Give a source: a new one whose objects *decoder* makes, or the one that was given."""
        if self.given:
            return self._what
        return self._make(self._what, decoder=decoder, **self._arguments)


def _check_given(what: object, others: dict[str, object], *, blocking: bool, asynchronous: bool) -> None:
    """Refuse to tell a Source object what it says itself, or to ask one without an event loop that needs it."""
    for name, given in others.items():
        if given is not None:
            wanted = "left to a Source object; of several namespaces name some by namespaces=[...]"
            raise SettingError(name, given, wanted)
    if not (asynchronous or blocking):
        raise SettingError("source", what, "for threads; one for an event loop is for AsyncInformer")


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
