"""AsyncInformer: an Informer for an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeAlias, TypeVar, Unpack, overload

from kindex.deadlines import Deadline
from kindex.informer.conduct import Settings, checked_namespace
from kindex.informer.currency import Comparison
from kindex.informer.informing import AnyInformer
from kindex.informer.views import InformerView
from kindex.lazy import LazyObject
from kindex.sources.base import AsyncSource, Source
from kindex.sources.making import Listable
from kindex.sources.resources import Resource

if TYPE_CHECKING:
    from types import TracebackType

    from kindex.informer.tasks import TaskDriver

T = TypeVar("T")
S = TypeVar("S")

Askable: TypeAlias = AsyncSource[S] | Source[S]
"""What can be asked in an event loop; a Source by threads."""

_AGAIN_SECONDS = 1.0
"""After which the server is asked again what is there, if it did not say."""


class AsyncInformer(AnyInformer[T, "TaskDriver[T]"], Generic[T]):
    """An Informer for an event loop: ``async with AsyncInformer(...) as pods``.

    It takes what ``Informer`` takes, and says of itself what that says; what waits is awaited. Each namespace has a
    task of the loop that was running at ``start``. The view is the same, and may be read from any thread; changes come
    by ``async for delta in pods.follow()``, or to handlers, which have threads.

    *what* is a list function of ``kubernetes.aio`` or ``kubernetes_asyncio``, or an AsyncSource. A Source that blocks
    is taken, too: threads wait for it.

    Long lists are put into the store by a thread, so that the loop goes on; their index functions run there. Anything
    else runs in the loop.

    >>> import asyncio
    >>> from kindex import AsyncInformer
    >>> from kindex.testing import FakeSource
    >>> source = FakeSource([{"metadata": {"name": "a", "namespace": "x"}}], name="pods")
    >>> async def main():
    ...     async with AsyncInformer(source) as pods:
    ...         async for delta in pods.follow():
    ...             return delta.key
    >>> asyncio.run(main())
    ObjectKey(namespace='x', name='a')
    """

    @overload
    def __init__(self: AsyncInformer[S], what: Askable[S], **settings: Unpack[Settings]) -> None: ...
    @overload
    def __init__(self: AsyncInformer[LazyObject], what: Listable, **settings: Unpack[Settings]) -> None: ...
    # Any, below: what the source would give does not matter.
    @overload
    def __init__(
        self: AsyncInformer[LazyObject],
        what: Listable | Askable[Any],
        *,
        objects: Literal["lazy", "metadata"],
        **settings: Unpack[Settings],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncInformer[dict[str, Any]],
        what: Listable | Askable[Any],
        *,
        objects: Literal["dict"],
        **settings: Unpack[Settings],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncInformer[S],
        what: Listable | Askable[Any],
        *,
        decode: type[S],
        **settings: Unpack[Settings],
    ) -> None: ...
    def __init__(self, what: object, **settings: Any) -> None:  # Any: the overloads say it
        super().__init__(what, settings, asynchronous=True)

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
    ) -> AsyncInformer[dict[str, Any]]: ...  # Any: JSON
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
    ) -> AsyncInformer[LazyObject]: ...
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
    ) -> AsyncInformer[S]: ...
    @classmethod
    def of(
        cls, api_version: str, kind: str, *, plural: str | None = None, **settings: Any
    ) -> AsyncInformer[Any]:  # Any: the overloads say it
        """Make an informer of a kind, as ``Informer.of`` does; its ``client`` is for an event loop."""
        return cls(Resource.named(api_version, kind, plural=plural), **settings)

    async def start(self) -> Self:
        """Begin to list and watch, in the running loop; nothing happens where it was started before.

        Raises:
            InformerError: it was stopped, or this is a forked child.
        """
        for driver in self._begin():
            driver.start()
        return self

    async def stop(self, wait_seconds: float | None = 1.0) -> None:
        """End it, at whatever moment, as ``Informer.stop`` does; in its own loop.

        A handler calls this by ``asyncio.run_coroutine_threadsafe``, and does not wait for the result.
        """
        self._end()
        for driver in self._drivers.values():
            await driver.stop()
        if self._ending or self._resyncing is not None:
            from kindex.informer.blocking import in_thread

            await in_thread(self._join, wait_seconds)

    async def wait_synced(self, timeout_seconds: float | None = None, *, namespace: str | None = None) -> None:
        """Wait until the first list has been applied, as ``Informer.wait_synced`` does.

        Raises:
            SyncTimeoutError: it has not; the cause is what went wrong last.
            NotSyncedError: it was stopped.
            InformerError: it was not started.
        """
        await self._wait_synced(self._conduct.sync_timeout if timeout_seconds is None else timeout_seconds, namespace)

    async def wait_current(self, timeout_seconds: float | None = None) -> None:
        """Wait until it has all that the server says is there now, as ``Informer.wait_current`` does.

        Raises:
            NotReachedError: it has not, in time; it says what is missing. The cause is what went wrong last.
            NotSyncedError: it has not even synced.
        """
        import asyncio

        from kindex.informer.blocking import in_thread

        deadline = Deadline(timeout_seconds)
        await self._wait_synced(timeout_seconds)
        for comparison in self._comparisons():
            left = deadline.left
            asking = asyncio.get_running_loop().create_task(self._ask(comparison))
            try:
                await in_thread(self._catch_up, comparison, left)
            finally:
                self._give_up(comparison)
                asking.cancel()

    async def add_namespace(self, namespace: str) -> None:
        """Watch one more; ``wait_synced(namespace=...)`` waits for it. Nothing happens if it is watched already.

        Raises:
            InformerError: it was not given ``namespaces``, or was stopped.
        """
        driver = self._add(checked_namespace(namespace))
        if driver is not None:
            driver.start()

    async def remove_namespace(self, namespace: str) -> None:
        """Watch one less, and remove its objects: who follows gets a Deleted for each.

        Raises:
            InformerError: it was not given ``namespaces``.
        """
        driver = self._remove(namespace)
        if driver is not None:
            from kindex.informer.blocking import in_thread

            await driver.stop()
            await in_thread(driver.forget)

    async def _wait_synced(self, timeout_seconds: float | None, namespace: str | None = None) -> None:
        from kindex.informer.tasks import wait_until

        self._check_may_wait()
        await wait_until(self._bells, lambda: self._settled(namespace), timeout_seconds)
        self._check_settled(timeout_seconds, namespace)

    def _driver(self, namespace: str | None) -> TaskDriver[T]:
        from kindex.informer.blocking import ThreadedSource
        from kindex.informer.tasks import TaskDriver

        settings = self._settings_of(namespace)
        if self._origin.blocking:
            settings["source"] = ThreadedSource(settings["source"])
        return TaskDriver(**settings)

    def _stop_drivers(self) -> None:
        for driver in self._drivers.values():
            driver.cancel()

    async def _ask(self, comparison: Comparison[T]) -> None:
        """Ask the server what is there, until it has said so."""
        from kindex.informer.blocking import ThreadedSource
        from kindex.informer.tasks import wait_until

        source: AsyncSource[Any] = ThreadedSource(self._asking) if self._origin.blocking else self._asking  # Any: below
        while comparison.request is not None and not self._stopped:
            try:
                comparison.take(await source.list_page(comparison.request))
            except Exception as error:  # noqa: BLE001 - a source may raise anything; whoever waits is told
                comparison.restart(error)
                await wait_until(self._bells, self._over, _AGAIN_SECONDS)
        self._bells.ring()

    async def __aenter__(self) -> InformerView[T]:
        try:
            await self.start()
            await self.wait_synced()
        except BaseException:
            await self.stop()
            raise
        return self._view

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
