"""InformerGroup: several informers with one start, one wait and one stop."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload

from kindex.deadlines import Deadline
from kindex.errors import KindexError
from kindex.informer.conduct import Settings
from kindex.informer.grouping import AnyGroup, raise_together
from kindex.informer.informer import Informer
from kindex.lazy import LazyObject
from kindex.sources.base import Source
from kindex.sources.making import Listable
from kindex.sources.resources import Resource

if TYPE_CHECKING:
    from types import TracebackType

S = TypeVar("S")


class InformerGroup(AnyGroup[Informer[Any]]):
    """Informers that start, wait and stop together, and share what they can: ``with InformerGroup() as group``.

    A resource that is asked for twice, with the same selectors and namespaces, is one informer with one watch; the
    indexers of both requests are added up. Where two requests contradict each other, an error names both.

    Args:
        defaults: settings for each informer, as ``Informer`` takes them: ``namespaces``, ``relist_seconds`` ...

    >>> from kindex import FieldIndexer, InformerGroup, LabelIndexer
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource([{"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web"}}}], name="pods")
    >>> group = InformerGroup()
    >>> pods = group.informer(source, indexers=[LabelIndexer("app")])
    >>> again = group.informer(source, indexers=[FieldIndexer("spec.nodeName")])
    >>> nodes = group.informer(FakeSource(name="nodes"))
    >>> with group:
    ...     pods is again, pods.view.index_names, len(nodes.view), group.synced
    (True, ('app', 'namespace', 'spec.nodeName'), 0, True)
    """

    def __init__(self, **defaults: Unpack[Settings]) -> None:
        super().__init__(dict(defaults))

    @overload
    def informer(self, what: Source[S], **settings: Unpack[Settings]) -> Informer[S]: ...
    @overload
    def informer(self, what: Listable, **settings: Unpack[Settings]) -> Informer[LazyObject]: ...
    # Any, below: what the source would give does not matter.
    @overload
    def informer(
        self, what: Listable | Source[Any], *, objects: Literal["lazy", "metadata"], **settings: Unpack[Settings]
    ) -> Informer[LazyObject]: ...
    @overload
    def informer(
        self, what: Listable | Source[Any], *, objects: Literal["dict"], **settings: Unpack[Settings]
    ) -> Informer[dict[str, Any]]: ...  # Any: JSON
    @overload
    def informer(
        self, what: Listable | Source[Any], *, decode: type[S], **settings: Unpack[Settings]
    ) -> Informer[S]: ...
    def informer(self, what: object, **settings: Any) -> Informer[Any]:  # Any: the overloads say it
        """Give the informer for *what*: the one that there is, or a new one, which is started if the group was.

        Args:
            what: to list, as for ``Informer``.
            settings: as for ``Informer``.

        Raises:
            InformerConflictError: there is one that keeps the same in another way; the sentence names both.
            IndexConflictError: the same for indexers.
            IndexerError: what an indexer reads may be gone from objects that are there; see ``Informer.add_indexers``.
            InformerError: the group was stopped.
        """
        informer, late = self._shared(what, settings, asynchronous=False)
        return informer.start() if late else informer

    def of(
        self, api_version: str, kind: str, *, plural: str | None = None, **settings: Unpack[Settings]
    ) -> Informer[LazyObject]:
        """Give the informer for a kind, as ``informer`` does; the arguments are those of ``Informer.of``."""
        return self.informer(Resource.named(api_version, kind, plural=plural), **settings)

    def start(self) -> Self:
        """Start all informers, and each that is asked for from now on.

        Raises:
            InformerError: the group was stopped.
        """
        for informer in self._begin():
            informer.start()
        return self

    def stop(self, wait_seconds: float | None = 1.0) -> None:
        """Stop all informers, as ``Informer.stop`` does; waits for all of them together. May be done again."""
        informers = self._end()
        deadline = Deadline(wait_seconds)
        for informer in informers:
            informer.stop(0.0)
        for informer in informers:
            informer.stop(deadline.left)

    def wait_synced(self, timeout_seconds: float | None = None) -> None:
        """Wait until all have synced; all of them at once.

        Args:
            timeout_seconds: for how long; None: as long as the ``sync_timeout`` of the group says.

        Raises:
            SyncTimeoutError: some have not; it names each and says why.
            NotSyncedError: some were stopped.
            InformerError: the group was not started.
        """
        timeout = self._sync_timeout if timeout_seconds is None else timeout_seconds
        deadline = Deadline(timeout)
        failed: dict[str, Exception] = {}
        for informer in self.informers:
            left = deadline.left
            try:
                informer.wait_synced(left)
            except KindexError as error:
                failed[informer.name] = error
        raise_together(failed)

    def wait_current(self, timeout_seconds: float | None = None) -> None:
        """Wait until all have what the server says is there now, all of them at once: a new leader's first step.

        Raises:
            NotReachedError: some have not; it names each and says why.
            NotSyncedError: some have not even synced.
        """
        failed = _at_once({each.name: partial(each.wait_current, timeout_seconds) for each in self.informers})
        raise_together(failed)

    def __enter__(self) -> Self:
        try:
            self.start()
            self.wait_synced()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _make(self, what: Any, settings: dict[str, Any]) -> Informer[Any]:  # noqa: ANN401 - see AnyGroup
        return Informer(what, **settings)


def _at_once(calls: dict[str, Callable[[], None]]) -> dict[str, Exception]:
    """Make several calls, each in a thread of its own; give what they raised, in their order."""
    failed: dict[str, Exception] = {}

    def run(name: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:  # noqa: BLE001 - it is raised by whoever made the call
            failed[name] = error

    threads = [
        threading.Thread(target=run, args=each, name=f"kindex-{each[0]}-wait", daemon=True) for each in calls.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {name: failed[name] for name in calls if name in failed}
