"""What type checkers must say of sources and of the reflector: checked by mypy and pyright, never run."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, assert_never, assert_type

from kindex.informer.commands import Apply, Bookmark, Command, Forget, Hangup, Replace, Report, Wait
from kindex.informer.events import Opened
from kindex.informer.reflector import Reflector
from kindex.sources import (
    AsyncSource,
    AsyncStream,
    BookmarkEvent,
    ErrorEvent,
    ListRequest,
    ObjectEvent,
    Page,
    SkippedEvent,
    Source,
    Stream,
    WatchEvent,
    WatchRequest,
)
from kindex.testing import FakeSource


class Pod:
    """Stands for any class of objects."""

    name: str


class Pods:
    """A source as a person writes it: plain attributes, no base class."""

    name = "pods"
    offers_watch_list = False

    def list_page(self, request: ListRequest) -> Page[Pod]:
        return Page([Pod()], resource_version=request.resource_version)

    def watch(self, request: WatchRequest) -> PodStream:
        del request
        return PodStream()


class PodStream:
    """Its watches."""

    def __iter__(self) -> Iterator[WatchEvent[Pod]]:
        yield ObjectEvent("ADDED", Pod(), "7")
        yield BookmarkEvent("8")

    def close(self) -> None:
        """Do nothing."""


class AsyncPods:
    """The same, asynchronous."""

    name = "pods"
    offers_watch_list = True

    async def list_page(self, request: ListRequest) -> Page[Pod]:
        return Page([Pod()], resource_version=request.resource_version)

    async def watch(self, request: WatchRequest) -> AsyncPodStream:
        del request
        return AsyncPodStream()


class AsyncPodStream:
    """Its watches."""

    async def __aiter__(self) -> AsyncIterator[WatchEvent[Pod]]:
        yield ObjectEvent("ADDED", Pod(), "7")

    async def aclose(self) -> None:
        """Do nothing."""


source: Source[Pod] = Pods()
async_source: AsyncSource[Pod] = AsyncPods()
fake: Source[dict[str, Any]] = FakeSource()
not_asynchronous: AsyncSource[Pod] = Pods()  # type: ignore[assignment]
not_of_pods: Source[Pod] = FakeSource()  # type: ignore[assignment]

ObjectEvent("added", Pod(), "7")  # type: ignore[arg-type]


def reads(stream: Stream[Pod], async_stream: AsyncStream[Pod]) -> None:
    del async_stream
    for event in stream:
        match event:
            case ObjectEvent(obj=obj, resource_version=version):
                assert_type(obj, Pod)
                assert_type(version, str | None)
            case SkippedEvent() | BookmarkEvent() | ErrorEvent():
                pass
            case _:
                assert_never(event)


def drives(reflector: Reflector[Pod], command: Command[Pod]) -> None:
    state, commands = reflector.begin(0.0, seed=1)
    state, commands = reflector.step(state, Opened(), 0.1)
    reflector.step(state, ObjectEvent("ADDED", "text", "7"), 0.1)  # type: ignore[arg-type]
    assert_type(commands, tuple[Command[Pod], ...])
    assert_type(state.live(0.2), bool)
    match command:
        case ListRequest() | WatchRequest() | Hangup() | Report() | Wait() | Bookmark() | Forget():
            pass
        case Apply(obj=obj):
            assert_type(obj, Pod)
        case Replace(objects=objects):
            assert_type(list(objects), list[Pod])
        case _:
            assert_never(command)
