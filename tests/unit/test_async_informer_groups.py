"""AsyncInformerGroup: one start, one wait, one stop, in an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from kindex import (
    AsyncInformerGroup,
    FieldIndexer,
    InformerConflictError,
    InformerError,
    LabelIndexer,
    NotReachedError,
    SyncTimeoutError,
)
from kindex.informer.settings import SettingError
from kindex.testing import FakeSource
from tests.informers import PATIENCE, InLoop, fails, no_thread_left, until_async
from tests.pods import pod

by_app, by_node = LabelIndexer("app"), FieldIndexer("spec.nodeName")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(name: str = "pods") -> FakeSource:
    return FakeSource([pod("a", node="n1", app="web")], name=name)


def test_all_start_wait_and_stop_together() -> None:
    """A resource that is asked for twice is watched once; what is asked for later is started at once."""

    async def main() -> None:
        source = source_of()
        asked = InLoop(source)
        group = AsyncInformerGroup()
        pods = await group.informer(asked, indexers=[by_app])
        assert await group.informer(asked, indexers=[by_node]) is pods
        async with group as entered:
            assert entered is group
            assert pods.view.count(by_node.at("n1"), label_selector="app=web") == 1
            nodes = await group.informer(source_of("nodes"))
            await nodes.wait_synced(PATIENCE)
            for informer in group.informers:
                await until_async(informer, lambda informer=informer: informer.live)  # type: ignore[misc]  # as it is now
            assert group.live
            assert group.synced
            assert group.ready()
            await group.wait_current(PATIENCE)
            assert source.watches == 1
            with pytest.raises(InformerConflictError, match="objects="):
                await group.informer(asked, objects="dict")
        assert not group.live
        assert repr(group) == "AsyncInformerGroup(pods, nodes, stopped)"
        with pytest.raises(InformerError, match="a group runs once"):
            await group.start()

    asyncio.run(main())


def test_one_that_does_not_sync_fails_the_block() -> None:
    """With its own error; the others are stopped, too."""

    async def main() -> None:
        broken = source_of("nodes")
        fails(broken, "list")
        group = AsyncInformerGroup(sync_timeout=0.05)
        pods = await group.informer(InLoop(source_of()))
        await group.informer(InLoop(broken))
        with pytest.raises(SyncTimeoutError, match="informer 'nodes' has not synced in 0"):
            async with group:
                raise AssertionError("not reached")
        assert not pods.live

    asyncio.run(main())


def test_a_new_leader_waits_for_all_at_once() -> None:
    """wait_current names those that are behind."""

    async def main() -> None:
        source = source_of()
        async with AsyncInformerGroup() as group:
            pods = await group.informer(InLoop(source))
            await until_async(pods, lambda: source.watches)
            source.lose()
            source.add(pod("late"))
            with pytest.raises(NotReachedError, match="informer 'pods' has not caught up"):
                await group.wait_current(0.05)

    asyncio.run(main())


def test_a_source_for_a_loop_is_not_for_threads() -> None:
    """An Informer refuses it; the other way round threads wait."""
    from kindex import Informer

    with pytest.raises(SettingError, match="AsyncInformer"):
        Informer(InLoop(source_of()))  # type: ignore[arg-type]  # the mistake
