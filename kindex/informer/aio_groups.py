"""AsyncInformerGroup: an InformerGroup for an event loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload

from kindex.deadlines import Deadline
from kindex.errors import KindexError
from kindex.informer.aio import Askable, AsyncInformer
from kindex.informer.conduct import Settings
from kindex.informer.grouping import AnyGroup, raise_together
from kindex.lazy import LazyObject
from kindex.sources.making import Listable
from kindex.sources.resources import Resource

if TYPE_CHECKING:
    from types import TracebackType

S = TypeVar("S")


class AsyncInformerGroup(AnyGroup[AsyncInformer[Any]]):
    """AsyncInformers that start, wait and stop together, and share what they can, as ``InformerGroup`` has it.

    Args:
        defaults: settings for each informer.

    >>> import asyncio
    >>> from kindex import AsyncInformerGroup
    >>> from kindex.testing import FakeSource
    >>> async def main():
    ...     async with AsyncInformerGroup(sync_timeout=10) as group:
    ...         pods = await group.informer(FakeSource(name="pods"))
    ...         await group.wait_synced()
    ...         return len(pods.view), group.synced
    >>> asyncio.run(main())
    (0, True)
    """

    def __init__(self, **defaults: Unpack[Settings]) -> None:
        super().__init__(dict(defaults))

    @overload
    async def informer(self, what: Askable[S], **settings: Unpack[Settings]) -> AsyncInformer[S]: ...
    @overload
    async def informer(self, what: Listable, **settings: Unpack[Settings]) -> AsyncInformer[LazyObject]: ...
    # Any, below: what the source would give does not matter.
    @overload
    async def informer(
        self,
        what: Listable | Askable[Any],
        *,
        objects: Literal["lazy", "metadata"],
        **settings: Unpack[Settings],
    ) -> AsyncInformer[LazyObject]: ...
    @overload
    async def informer(
        self, what: Listable | Askable[Any], *, objects: Literal["dict"], **settings: Unpack[Settings]
    ) -> AsyncInformer[dict[str, Any]]: ...  # Any: JSON
    @overload
    async def informer(
        self, what: Listable | Askable[Any], *, decode: type[S], **settings: Unpack[Settings]
    ) -> AsyncInformer[S]: ...
    async def informer(self, what: object, **settings: Any) -> AsyncInformer[Any]:  # Any: the overloads say it
        """Give the informer for *what*, as ``InformerGroup.informer`` does.

        Raises:
            InformerConflictError, IndexConflictError, IndexerError, InformerError: as that.
        """
        informer, late = self._shared(what, settings, asynchronous=True)
        return await informer.start() if late else informer

    async def of(
        self, api_version: str, kind: str, *, plural: str | None = None, **settings: Unpack[Settings]
    ) -> AsyncInformer[LazyObject]:
        """Give the informer for a kind, as ``informer`` does; the arguments are those of ``Informer.of``."""
        return await self.informer(Resource.named(api_version, kind, plural=plural), **settings)

    async def start(self) -> Self:
        """Start all informers, and each that is asked for from now on.

        Raises:
            InformerError: the group was stopped.
        """
        for informer in self._begin():
            await informer.start()
        return self

    async def stop(self, wait_seconds: float | None = 1.0) -> None:
        """Stop all informers, as ``AsyncInformer.stop`` does. May be done again."""
        deadline = Deadline(wait_seconds)
        for informer in self._end():
            await informer.stop(deadline.left)

    async def wait_synced(self, timeout_seconds: float | None = None) -> None:
        """Wait until all have synced, as ``InformerGroup.wait_synced`` does.

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
                await informer.wait_synced(left)
            except KindexError as error:
                failed[informer.name] = error
        raise_together(failed)

    async def wait_current(self, timeout_seconds: float | None = None) -> None:
        """Wait until all have what the server says is there now, all of them at once: a new leader's first step.

        Raises:
            NotReachedError: some have not; it names each and says why.
            NotSyncedError: some have not even synced.
        """
        import asyncio

        waits = [informer.wait_current(timeout_seconds) for informer in self.informers]
        results = await asyncio.gather(*waits, return_exceptions=True)
        ended = zip(self.informers, results, strict=True)
        raise_together({informer.name: error for informer, error in ended if isinstance(error, Exception)})

    async def __aenter__(self) -> Self:
        try:
            await self.start()
            await self.wait_synced()
        except BaseException:
            await self.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    def _make(self, what: Any, settings: dict[str, Any]) -> AsyncInformer[Any]:  # noqa: ANN401 - see AnyGroup
        return AsyncInformer(what, **settings)
