"""Informer: from a source to a live, indexed view, by threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, Unpack, overload

from kindex.deadlines import Deadline
from kindex.informer.conduct import Settings, checked_namespace
from kindex.informer.currency import Comparison
from kindex.informer.informing import AnyInformer
from kindex.informer.threads import ThreadDriver
from kindex.informer.views import InformerView
from kindex.lazy import LazyObject
from kindex.sources.base import Source
from kindex.sources.making import Listable
from kindex.sources.resources import Resource

if TYPE_CHECKING:
    from types import TracebackType

T = TypeVar("T")
S = TypeVar("S")

_AGAIN_SECONDS = 1.0
"""After which the server is asked again what is there, if it did not say."""


class Informer(AnyInformer[T, ThreadDriver[T]], Generic[T]):
    """Lists and watches objects, and keeps them, indexed, in a view: ``with Informer(...) as pods``.

    The block begins when all is listed, or raises; the view then follows the cluster until its end. It survives what
    servers and networks do: expired versions, broken and silent connections, refused requests, restarts. What it has
    is never thrown away for that, and a new list becomes the changes since the last one. ``live`` says whether it
    follows at this moment, and ``last_error`` why not.

    It has a thread for each namespace that it watches by name, or one for all. They are daemons. A process that forks
    leaves its child the view as it was, which says that it is not live.

    Args:
        what: to list: a list function of the official client, bound (``v1.list_pod_for_all_namespaces``); a path
            (``"/apis/apps/v1/deployments"``); a Source object. ``Informer.of`` takes a kind.
        name: for the log, errors and threads; by default the plural of the resource.
        indexers: what to file objects under.
        client: an ApiClient to ask the server with, for a path; by default one that is configured as
            ``kubernetes.config`` says. A list function brings its own.
        namespace: which one a list function lists that takes one: ``Informer(v1.list_namespaced_pod,
            namespace="prod")``.
        namespaces: watch these, each by itself: it is enough to have rights in them. One that is refused does not stop
            the others, and is not waited for: see ``refused``. More may come and go, so it may be empty at first.
        label_selector: which objects; the server selects.
        field_selector: the same.
        objects: keep them as LazyObjects (``"lazy"``), as dicts, or have their ``"metadata"`` alone sent. Those of a
            Source object are kept as it gives them, unless this is given.
        decode: keep them as this type: a msgspec Struct, dataclass, attrs class or pydantic model.
        on_decode_error: what becomes of an object that is not of this type: ``"raise"`` fails the list or watch, which
            is tried again; ``"skip"`` leaves it out, also if it was of the type before, and counts it.
        strip: what is done to each object first: by default managedFields are dropped; None keeps them.
        transform: what is done then: a function of an object that gives one, or several. What indexers read of a
            LazyObject is taken before; of anything else after.
        key: object -> ObjectKey, where objects have no ``metadata``.
        scope: as for Store.
        scan: as for Store.
        budget: what the indexes may take, as for Store.
        on_budget: as for Store.
        remember_bytes: as for Store.
        object_budget: what the objects may take, in bytes or as ``"2GiB"``; they are counted while a list comes in.
        on_object_budget: ``"warn"`` in the log, or ``"stop"`` before it is too late; ``last_error`` says so then. While
            a list is read again, there are two of each object, and both count.
        sync_timeout: how many seconds a with block waits for the first list; None is for ever.
        resync_seconds: how often all who follow are given each object again; None: never. No I/O.
        relist_seconds: after which the end of a watch leads to a list, in case something was lost; None: never.
        page_size: how many objects to ask for at a time; 0 for all.
        watch_list: whether to have the first objects streamed by the watch; None: if the source offers it.
        retry: when to ask again after errors.
        clock: the time; tests have one that they advance.

    Raises:
        SettingError, IndexerError, IndexConflictError: an argument makes no sense, alone or beside another.

    >>> from kindex import Informer, LabelIndexer
    >>> from kindex.testing import FakeSource
    >>> def pod(name, app):
    ...     return {"metadata": {"name": name, "namespace": "prod", "labels": {"app": app}}}
    >>> source = FakeSource([pod("web-1", "web"), pod("db-1", "db")], name="pods")
    >>> informer = Informer(source, indexers=[LabelIndexer("app")])
    >>> with informer as pods:
    ...     before = pods.count(label_selector="app=web")
    ...     _ = source.add(pod("web-2", "web"))
    ...     after = pods.wait_until(lambda view: view.count(label_selector="app=web") == 2, 10)
    >>> before, after, informer.synced, informer.live
    (1, True, True, False)
    """

    @overload
    def __init__(self: Informer[S], what: Source[S], **settings: Unpack[Settings]) -> None: ...
    @overload
    def __init__(self: Informer[LazyObject], what: Listable, **settings: Unpack[Settings]) -> None: ...
    # Any, below: what the source would give does not matter.
    @overload
    def __init__(
        self: Informer[LazyObject],
        what: Listable | Source[Any],
        *,
        objects: Literal["lazy", "metadata"],
        **settings: Unpack[Settings],
    ) -> None: ...
    @overload
    def __init__(
        self: Informer[dict[str, Any]],
        what: Listable | Source[Any],
        *,
        objects: Literal["dict"],
        **settings: Unpack[Settings],
    ) -> None: ...
    @overload
    def __init__(
        self: Informer[S], what: Listable | Source[Any], *, decode: type[S], **settings: Unpack[Settings]
    ) -> None: ...
    def __init__(self, what: object, **settings: Any) -> None:  # Any: the overloads say it
        super().__init__(what, settings, asynchronous=False)

    @overload
    @classmethod
    def of(
        cls,
        api_version: str,
        kind: str,
        *,
        plural: str | None = None,
        objects: Literal["dict"],
        **settings: Unpack[Settings],
    ) -> Informer[dict[str, Any]]: ...  # Any: JSON
    @overload
    @classmethod
    def of(
        cls,
        api_version: str,
        kind: str,
        *,
        plural: str | None = None,
        objects: Literal["lazy", "metadata"] = "lazy",
        **settings: Unpack[Settings],
    ) -> Informer[LazyObject]: ...
    @overload
    @classmethod
    def of(
        cls,
        api_version: str,
        kind: str,
        *,
        plural: str | None = None,
        decode: type[S],
        **settings: Unpack[Settings],
    ) -> Informer[S]: ...
    @classmethod
    def of(
        cls, api_version: str, kind: str, *, plural: str | None = None, **settings: Any
    ) -> Informer[Any]:  # Any: the overloads say it
        """Make an informer of a kind, any kind: ``Informer.of("networking.istio.io/v1", "Gateway", client=api)``.

        Args:
            api_version: group and version, as in manifests.
            kind: as in manifests.
            plural: what the resource is called in paths; without it the server is asked, at the first list.
            settings: as for ``Informer``; ``client`` among them.
        """
        return cls(Resource.named(api_version, kind, plural=plural), **settings)

    def start(self) -> Self:
        """Begin to list and watch, and return at once; nothing happens where it was started before.

        Raises:
            InformerError: it was stopped, or this is a forked child.
        """
        for driver in self._begin():
            driver.thread.start()
        return self

    def stop(self, wait_seconds: float | None = 1.0) -> None:
        """End it, at whatever moment: nothing more is asked, stored or told. What it has can still be read.

        Waits for its threads, which end at once, but for a handler that is in the middle of a call: for at most
        *wait_seconds*, None for ever. A handler may call this, and then there is no waiting. May be done again.
        """
        self._end()
        self._join(wait_seconds)

    def wait_synced(self, timeout_seconds: float | None = None, *, namespace: str | None = None) -> None:
        """Wait until the first list has been applied, in each namespace that it has rights to, or in one.

        Args:
            timeout_seconds: for how long; None: as long as the ``sync_timeout`` says.
            namespace: one of ``namespaces``; for this one a refusal counts.

        Raises:
            SyncTimeoutError: it has not; the cause is what went wrong last.
            NotSyncedError: it was stopped.
            InformerError: it was not started.
        """
        self._wait_synced(self._conduct.sync_timeout if timeout_seconds is None else timeout_seconds, namespace)

    def wait_current(self, timeout_seconds: float | None = None) -> None:
        """Wait until it has all that the server says is there now: the first step of a new leader.

        Asks the server for a list, and compares it with what is kept; O(objects).

        Args:
            timeout_seconds: for how long; None is for ever.

        Raises:
            NotReachedError: it has not, in time; it says what is missing. The cause is what went wrong last.
            NotSyncedError: it has not even synced.
        """
        deadline = Deadline(timeout_seconds)
        self._wait_synced(timeout_seconds)
        for comparison in self._comparisons():
            left = deadline.left
            asking = threading.Thread(
                target=self._ask, args=(comparison,), name=f"kindex-{self._name}-current", daemon=True
            )
            asking.start()  # in a thread, since a source may take long to answer
            self._catch_up(comparison, left)

    def add_namespace(self, namespace: str) -> None:
        """Watch one more; ``wait_synced(namespace=...)`` waits for it. Nothing happens if it is watched already.

        Raises:
            InformerError: it was not given ``namespaces``, or was stopped.
        """
        driver = self._add(checked_namespace(namespace))
        if driver is not None:
            driver.thread.start()

    def remove_namespace(self, namespace: str) -> None:
        """Watch one less, and remove its objects: who follows gets a Deleted for each.

        Raises:
            InformerError: it was not given ``namespaces``.
        """
        driver = self._remove(namespace)
        if driver is not None:
            driver.stop()
            driver.forget()

    def _wait_synced(self, timeout_seconds: float | None, namespace: str | None = None) -> None:
        self._check_may_wait()
        self._bells.wait_until(lambda: self._settled(namespace), timeout_seconds)
        self._check_settled(timeout_seconds, namespace)

    def _driver(self, namespace: str | None) -> ThreadDriver[T]:
        settings = self._settings_of(namespace)
        close = None if self._origin.given else lambda: self._close(settings["source"])
        return ThreadDriver(close=close, **settings)

    def _stop_drivers(self) -> None:
        for driver in self._drivers.values():
            driver.stop()
        if self._stopped:
            self._close(self._asking)

    def _close(self, source: object) -> None:
        """Cut the connections of a source of our own, if it can."""
        close = getattr(source, "close", None)
        if not self._origin.given and close is not None:
            close()

    def _ask(self, comparison: Comparison[T]) -> None:
        """Ask the server what is there, until it has said so."""
        while comparison.request is not None and not (comparison.given_up or self._stopped):
            try:
                comparison.take(self._asking.list_page(comparison.request))
            except Exception as error:  # noqa: BLE001 - a source may raise anything; whoever waits is told
                comparison.restart(error)
                self._bells.wait_until(lambda: comparison.given_up or self._stopped, _AGAIN_SECONDS)
        self._bells.ring()

    def _threads(self) -> list[threading.Thread]:
        drivers = [driver.thread for driver in self._drivers.values()]
        return [*super()._threads(), *(thread for thread in drivers if thread.ident is not None)]

    def __enter__(self) -> InformerView[T]:
        try:
            self.start()
            self.wait_synced()
        except BaseException:
            self.stop()
            raise
        return self._view

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
