"""AsyncInformer: an Informer for an event loop."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any

import pytest

from kindex import (
    Added,
    AsyncInformer,
    Deleted,
    Indexer,
    IndexFunctionError,
    InformerError,
    LabelIndexer,
    LazyObject,
    NotReachedError,
    NotSyncedError,
    ObjectBudgetError,
    SyncTimeoutError,
    Updated,
)
from kindex.informer import blocking, tasks
from kindex.informer.retries import RetryPolicy
from kindex.sources.base import WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.testing import FakeSource, ManualClock
from tests.informers import PATIENCE, Blocking, Heard, InLoop, fails, listen, no_thread_left, until_async
from tests.pods import Pod, key, names_of, pod

by_app = LabelIndexer("app")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop, and assert that it leaves no task behind."""

    async def main(*args: Any, **kwargs: Any) -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await test(*args, **kwargs)
        left = [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("kindex-")]
        assert left == []

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(main(*args, **kwargs))

    return run


def source_of(*pods: Pod, **settings: Any) -> FakeSource:
    return FakeSource(pods, name="pods", **settings)


async def caught_up(view: Any, source: FakeSource) -> None:
    """Wait until the view has all that the source has said."""
    await asyncio.to_thread(view.wait_version, source.resource_version, PATIENCE)


@pytest.mark.parametrize("native", [True, False], ids=["AsyncSource", "Source"])
@in_loop
async def test_it_keeps_a_view_current(native: bool) -> None:
    """As an Informer, by a source for the loop or by one that blocks."""
    source = source_of(pod("a", app="web"), pod("b", app="db"))
    informer: AsyncInformer[Pod] = AsyncInformer(InLoop(source) if native else source, indexers=[by_app])
    async with informer as pods:
        assert names_of(pods.select(label_selector="app=web")) == ["a"]
        source.add(pod("c", app="web"))
        source.update(pod("b", app="web"))
        source.delete(key("a"))
        await caught_up(pods, source)
        assert names_of(pods.select(label_selector="app=web")) == ["b", "c"]
        assert informer.live
        assert informer.ready()
        await informer.wait_current(PATIENCE)
        assert informer.stats.lists == 1
    assert not informer.live
    assert len(pods) == 2


@in_loop
async def test_changes_come_by_iterating() -> None:
    """``async for delta in view.follow()``, until the informer ends."""
    source = source_of(pod("a"))
    informer = AsyncInformer(source)
    async with informer as pods:
        came = []
        async for delta in pods.follow():
            came.append(delta)
            match delta:
                case Added():
                    source.update(pod("a", app="web"))
                case Updated():
                    source.delete(key("a"))
                case Deleted():
                    await informer.stop()
        assert [type(delta) for delta in came] == [Added, Updated, Deleted]


@in_loop
async def test_a_handler_has_a_thread_and_may_stop_it() -> None:
    """Handlers are as those of any view; one that stops the informer lets its loop do it."""
    source = source_of(pod("a"))
    informer = AsyncInformer(source)
    loop = asyncio.get_running_loop()

    def stop(_delta: object) -> None:
        asyncio.run_coroutine_threadsafe(informer.stop(), loop)

    registration = informer.view.add_event_handler(stop)
    await informer.start()
    await until_async(informer, lambda: informer._stopped)
    await asyncio.to_thread(registration.join, PATIENCE)
    await informer.stop()
    assert not registration.active


@in_loop
async def test_a_relist_becomes_the_changes_since() -> None:
    """After an expired version only what has changed is told."""
    source = source_of(pod("same"), pod("goes"))
    informer = AsyncInformer(InLoop(source))
    async with informer as pods:
        await until_async(informer, lambda: source.watches)
        with pods.follow(replay=False) as follower:
            source.lose()
            source.delete(key("goes"))
            source.expire()
            source.end_watches()
            async for delta in follower:
                assert isinstance(delta, Deleted)
                assert (delta.key, delta.final_state_known) == (key("goes"), False)
                break
            assert follower.take() == []


@in_loop
async def test_a_block_that_does_not_sync_raises_and_leaves_nothing() -> None:
    """The error names the cause."""
    source = source_of()
    fails(source, "list", status=401)
    informer = AsyncInformer(InLoop(source), clock=ManualClock(), sync_timeout=0.05)
    with pytest.raises(SyncTimeoutError, match="401: as the test said") as raised:
        async with informer:
            raise AssertionError("not reached")
    assert isinstance(raised.value.__cause__, SourceError)
    assert raised.value.__cause__.kind is ErrorKind.CREDENTIALS
    with pytest.raises(NotSyncedError):
        informer.view.select()
    with pytest.raises(InformerError, match="runs once"):
        await informer.start()
    with pytest.raises(NotSyncedError, match="was stopped"):
        await informer.wait_synced()


@in_loop
async def test_nobody_waits_for_what_was_not_started() -> None:
    """It would never come."""
    with pytest.raises(InformerError, match="was not started"):
        await AsyncInformer(source_of()).wait_synced()


@pytest.mark.parametrize("hangs", ["list", "watch", "close", "", "stall"])
@in_loop
async def test_it_stops_at_once(hangs: str) -> None:
    """Whatever the source is busy with."""
    source = source_of(pod("a"))
    asked = InLoop(source, hangs=frozenset({hangs}))
    informer = await AsyncInformer(asked).start()
    if hangs not in ("list", "watch"):
        await until_async(informer, lambda: informer.live)
    if hangs == "stall":
        source.stall_watches()
    async with asyncio.timeout(PATIENCE):
        await informer.stop()
        await informer.stop()
    assert source.watches == 0


@pytest.mark.parametrize("blocked", ["lists", "watches"])
@in_loop
async def test_it_does_not_wait_for_a_blocked_source(blocked: str) -> None:
    """A thread that waits for a Source goes on by itself; a watch that it opens too late is closed."""
    source = Blocking([pod("a")], **{blocked: True})
    informer = await AsyncInformer(source).start()
    await asyncio.to_thread(source.asked.wait, PATIENCE)
    async with asyncio.timeout(PATIENCE):
        await informer.stop()
    source.answer.set()
    while source.watches:  # noqa: ASYNC110 - a thread closes it, and tells nobody
        await asyncio.sleep(0)


@in_loop
async def test_a_loop_that_ends_takes_it_along() -> None:
    """A task that is cancelled from outside, as by asyncio.run, closes its stream."""
    source = source_of(pod("a"))
    informer = await AsyncInformer(InLoop(source)).start()
    await until_async(informer, lambda: informer.live)
    (task,) = [task for task in asyncio.all_tasks() if task.get_name() == "kindex-pods"]
    task.cancel()
    await asyncio.wait([task])
    assert not informer.live
    assert source.watches == 0
    await informer.stop()


@in_loop
async def test_silence_has_a_deadline_where_the_stream_has_none() -> None:
    """Whoever iterates keeps the deadline; a stream may also keep it itself."""

    class Silent(InLoop):
        async def watch(self, request: WatchRequest) -> Any:
            stream = await super().watch(request)
            self.source.stall_watches()
            return stream

    source = source_of(pod("a"))
    informer = AsyncInformer(Silent(source))
    real = tasks.TaskDriver._ask

    async def hasty(self: Any, request: Any) -> Any:
        event = await real(self, request)
        self._silence_seconds = 0.01
        return event

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.TaskDriver, "_ask", hasty)
        async with informer:
            await until_async(informer, lambda: informer.stats.errors.get(ErrorKind.SILENCE))


@in_loop
async def test_time_may_be_the_tests() -> None:
    """With a ManualClock waits last as that goes, and a watch is silent by it."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer = AsyncInformer(source, clock=clock, retry=RetryPolicy(jitter=0))
    async with informer as pods:
        await asyncio.to_thread(clock.until_waiting)
        source.stall_watches()
        clock.advance(400)
        await until_async(informer, lambda: informer.last_error)
        assert not informer.live
        await asyncio.to_thread(clock.until_waiting)
        clock.advance(1)
        source.add(pod("b"))
        await caught_up(pods, source)
        assert informer.live


@in_loop
async def test_long_lists_do_not_stop_the_loop() -> None:
    """They are put into the store by a thread; short ones are not."""
    used: set[threading.Thread] = set()

    def noting(obj: Pod) -> str:
        used.add(threading.current_thread())
        return str(obj["metadata"]["name"])

    by_name = Indexer("name", noting)
    async with AsyncInformer(InLoop(source_of(pod("a"))), indexers=[by_name]):
        assert used == {threading.current_thread()}
    used.clear()
    many = source_of(*[pod(f"p{number}") for number in range(1_001)])
    async with AsyncInformer(InLoop(many), indexers=[by_name]) as pods:
        assert threading.current_thread() not in used
        assert len(pods) == 1_001


@in_loop
async def test_errors_of_the_store_are_tried_again() -> None:
    """An index function that fails is no end."""
    clock, broken = ManualClock(), [True]

    def fails_at_first(_obj: Pod) -> str:
        if broken:
            raise ValueError("broken")
        return "fine"

    informer = AsyncInformer(InLoop(source_of(pod("a"))), indexers=[Indexer("x", fails_at_first)], clock=clock)
    await informer.start()
    await asyncio.to_thread(clock.until_waiting)
    assert isinstance(informer.last_error, IndexFunctionError)
    broken.clear()
    clock.advance(1)
    await informer.wait_synced(PATIENCE)
    await informer.stop()


@in_loop
async def test_a_driver_that_fails_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """What nobody expected ends it, and not the loop."""

    def exits(_obj: Pod) -> str:
        raise SystemExit(3)

    caplog.set_level(logging.ERROR, logger="kindex")
    informer = await AsyncInformer(InLoop(source_of(pod("a"))), indexers=[Indexer("x", exits)]).start()
    with pytest.raises(NotSyncedError, match="was stopped before it synced: 3"):
        await informer.wait_synced(PATIENCE)
    assert "pods: stopped by an error" in caplog.text
    await informer.stop()


@in_loop
async def test_namespaces_come_and_go() -> None:
    """Each by itself; a refusal of one does not stop the others."""
    source = FakeSource([pod("a", "red"), pod("b", "blue"), pod("c", "green")], name="pods")
    fails(source, "list", namespace="green")
    informer = AsyncInformer(InLoop(source), namespaces=["red", "green"], clock=ManualClock())
    async with informer as pods:
        assert names_of(pods.select()) == ["a"]
        assert informer.refused == ("green",)
        await informer.add_namespace("blue")
        await informer.add_namespace("blue")
        await informer.wait_synced(PATIENCE, namespace="blue")
        assert names_of(pods.select()) == ["a", "b"]
        await informer.remove_namespace("red")
        await informer.remove_namespace("red")
        assert names_of(pods.select()) == ["b"]
        assert informer.namespaces == ("green", "blue")


@in_loop
async def test_a_budget_stops_all_of_it() -> None:
    """As for an Informer."""
    huge = {"metadata": {"name": "b", "namespace": "huge"}, "data": "x" * 300_000}
    source = FakeSource([pod("a"), huge], name="pods")
    settings: dict[str, Any] = {"object_budget": "200kB", "on_object_budget": "stop"}
    informer = AsyncInformer(InLoop(source), namespaces=["prod", "huge"], objects="lazy", **settings)
    await informer.start()
    await until_async(informer, informer._over)
    assert isinstance(informer.errors["huge"], ObjectBudgetError)
    await informer.stop()


@in_loop
async def test_objects_may_be_lazy() -> None:
    """What decides the form of the objects is the same as for an Informer."""
    async with AsyncInformer(source_of(pod("a", app="web")), objects="lazy", indexers=[by_app]) as pods:
        (kept,) = pods.select(label_selector="app=web")
        assert type(kept) is LazyObject


@in_loop
async def test_what_was_lost_is_not_current() -> None:
    """wait_current says how much is missing, and what the server said instead."""
    source = source_of(pod("a"))
    informer = AsyncInformer(InLoop(source))
    async with informer:
        await until_async(informer, lambda: source.watches)
        source.lose()
        source.add(pod("b"))
        with pytest.raises(NotReachedError, match="1 objects are not as they were"):
            await informer.wait_current(0.05)
        fails(source, "list", status=500)
        with pytest.raises(NotReachedError, match="500: as the test said"):
            await informer.wait_current(0.05)


@in_loop
async def test_a_resync_reaches_who_iterates() -> None:
    """Each object comes again, by the clock too."""
    clock = ManualClock()
    source = source_of(pod("a"), clock=clock)
    informer, heard = AsyncInformer(InLoop(source), resync_seconds=30, clock=clock), Heard()
    listen(informer.view, heard)
    async with informer as pods:
        assert isinstance(await asyncio.to_thread(heard.next), Added)
        with pods.follow(replay=False) as follower:
            await asyncio.to_thread(clock.until_waiting)
            clock.advance(30)
            async for delta in follower:
                assert isinstance(delta, Updated)
                assert delta.old is delta.new
                break
        assert isinstance(await asyncio.to_thread(heard.next), Updated)


@pytest.mark.parametrize("native", [True, False], ids=["AsyncSource", "Source"])
@in_loop
async def test_a_watch_that_breaks_is_an_error_of_the_source(native: bool) -> None:
    """Whoever reads it for the loop; then another one is opened."""
    source = source_of(pod("a"))
    informer = AsyncInformer(InLoop(source) if native else source, retry=RetryPolicy(first_seconds=0.01))
    async with informer as pods:
        await until_async(informer, lambda: informer.live)
        source.cut_watches()
        await until_async(informer, lambda: informer.stats.errors.get(ErrorKind.NETWORK) and informer.live)
        source.add(pod("b"))
        await caught_up(pods, source)


@in_loop
async def test_a_source_that_blocks_is_read_so_far_ahead_and_no_further() -> None:
    """Events wait in the source when the loop does not come to them; none is lost."""
    source = source_of(pod("a"))
    async with AsyncInformer(source) as pods:
        while not source.watches:  # noqa: ASYNC110 - a thread opens it, and tells nobody
            await asyncio.sleep(0)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(blocking, "_AHEAD", 2)
            source.end_watches()  # the next one has the short queue
            for number in range(50):
                source.add(pod(f"p{number}"))
            await caught_up(pods, source)
        assert len(pods) == 51


# What tasks wait by


@in_loop
async def test_a_call_in_a_thread_gives_what_it_gives() -> None:
    """Results and exceptions come through; StopIteration as what a coroutine can raise."""
    assert await blocking.in_thread(sum, [1, 2]) == 3
    with pytest.raises(ZeroDivisionError):
        await blocking.in_thread(divmod, 1, 0)
    with pytest.raises(StopAsyncIteration):
        await blocking.in_thread(next, iter(()))


@in_loop
async def test_what_comes_too_late_is_not_wanted() -> None:
    """The result of a call whose caller was cancelled is handed to who cleans it up."""
    go_on, unwanted = threading.Event(), asyncio.Queue[str]()

    def slow() -> str:
        assert go_on.wait(PATIENCE)
        return "late"

    call = asyncio.create_task(blocking.in_thread(slow, unwanted=unwanted.put_nowait))
    await asyncio.sleep(0)
    call.cancel()
    await asyncio.wait([call])
    go_on.set()
    assert await unwanted.get() == "late"


def test_a_stream_whose_loop_is_gone_is_closed() -> None:
    """Its thread does not read on for nobody."""
    source = source_of()

    async def main() -> None:
        stream = await blocking.ThreadedSource(source).watch(WatchRequest(resource_version="1000"))
        assert aiter(stream) is stream

    asyncio.run(main())
    source.add(pod("a"))
    while source.watches:
        pass


def test_a_loop_that_is_gone_does_not_trouble_the_thread() -> None:
    """A thread that ends after its loop has nobody to tell, and cleans up by itself."""
    go_on, unwanted = threading.Event(), threading.Event()

    def slow() -> str:
        assert go_on.wait(PATIENCE)
        return "late"

    async def main() -> None:
        call = asyncio.create_task(blocking.in_thread(slow, unwanted=lambda _: unwanted.set()))
        await asyncio.sleep(0)
        call.cancel()

    asyncio.run(main())
    go_on.set()
    assert unwanted.wait(PATIENCE)
