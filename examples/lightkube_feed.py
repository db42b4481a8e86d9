"""lightkube as the source of an informer, which keeps lightkube's own objects: ``pod.metadata.labels``, typed.

It needs nothing but ``client.list`` and ``client.watch`` of an AsyncClient (lightkube 1.0 or newer), and keeps most of
what kindex promises of an informer: it resumes after the end of a watch, lists anew after a 410 and makes that a diff,
backs off after errors, tells rights, credentials and network apart.

What this cannot promise:

* there are no bookmarks: on quiet objects the version that is known grows old, and the end of a watch may lead to a
  list, each five minutes at worst;
* lightkube opens a watch that its server ended by itself, at once: against a server that ends each at once it asks as
  fast as it can. Here each stream ends before the server would end it, so that only a sick server does that;
* lightkube opens a watch when the first event is asked for: after a refusal ``live`` is true for a moment;
* pages are read to the end before anything is given, and ``Retry-After`` is not seen;
* a text with U+0085 or the like in it ends a line too early: such an object breaks each watch that tells of it, and
  comes by the list that follows;
* an object takes 23 kB, where a LazyObject takes 7; and fields that lightkube does not know are not there.

    python examples/lightkube_feed.py --kubeconfig ~/.kube/config
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from typing import Any

import httpx2
import msgspec
from lightkube import ApiError, AsyncClient, KubeConfig
from lightkube.core.resource import NamespacedResource, api_info
from lightkube.resources.core_v1 import Pod

from kindex import AsyncInformer, LabelIndexer
from kindex.sources import ErrorKind, ListRequest, ObjectEvent, Page, SourceError, WatchRequest

LIST_SECONDS = 120.0


def failure(error: Exception) -> SourceError:
    """Say what can be done about what lightkube raised."""
    match error:
        case ApiError(status=status) if status is not None:
            return SourceError.of_status(status.to_dict())
        case httpx2.HTTPStatusError(response=response):
            return SourceError(str(error), status=response.status_code)
        case httpx2.TransportError():
            return SourceError(f"{type(error).__name__}: {error}".rstrip(": "))  # of kind NETWORK
        case _:
            return SourceError.of(error)


class LightkubeSource:
    """Lists and watches a resource by an AsyncClient of lightkube."""

    offers_watch_list = False  # lightkube cannot ask for it

    def __init__(self, client: AsyncClient, resource: Any, labels: dict[str, Any] | None = None) -> None:
        self.name = api_info(resource).plural
        self.namespaced = issubclass(resource, NamespacedResource)
        self._client, self._resource, self._labels = client, resource, labels

    async def list_page(self, request: ListRequest) -> Page[Any]:
        """Get all pages as one: lightkube does not give the token. The version is never older than was asked for."""
        found = self._client.list(self._resource, chunk_size=request.limit or None, **self._of(request.namespace))
        try:
            async with asyncio.timeout(LIST_SECONDS):
                objects = [obj async for obj in found]
        except Exception as error:
            raise failure(error) from error
        return Page(objects, found.resourceVersion)

    async def watch(self, request: WatchRequest) -> LightkubeStream:
        """Prepare a watch; lightkube opens it when the first event is asked for."""
        how = {"server_timeout": request.timeout_seconds + 60, "resource_version": request.resource_version}
        events = self._client.watch(self._resource, **how, **self._of(request.namespace))
        return LightkubeStream(events, request.timeout_seconds)

    def _of(self, namespace: str | None) -> dict[str, Any]:
        where = {"namespace": namespace or "*"} if self.namespaced else {}
        return {"labels": self._labels, **where}


class LightkubeStream:
    """The events of one watch; it ends by itself after some time, as if the server had ended it."""

    def __init__(self, events: Any, seconds: float) -> None:
        self._events = events
        self._until = asyncio.get_running_loop().time() + seconds

    def __aiter__(self) -> LightkubeStream:
        return self

    async def __anext__(self) -> ObjectEvent[Any]:
        try:
            async with asyncio.timeout_at(self._until) as time:
                event_type, obj = await anext(self._events)
        except StopAsyncIteration:
            raise
        except msgspec.MsgspecError as error:  # the same watch would break at the same place; a list does not
            raise SourceError(str(error), kind=ErrorKind.EXPIRED) from error
        except Exception as error:
            if time.expired():
                raise StopAsyncIteration from None
            raise failure(error) from error
        return ObjectEvent(event_type, obj, obj.metadata.resourceVersion)

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._events.aclose()


async def follow(kubeconfig: str | None) -> None:
    """Print each change of a pod, and how many pods have which label ``app``."""
    by_labels = LabelIndexer("app")
    config = KubeConfig.from_file(kubeconfig) if kubeconfig else None
    async with (
        AsyncClient(config) as client,
        AsyncInformer(LightkubeSource(client, Pod), indexers=[by_labels]) as pods,
    ):
        async for delta in pods.follow():
            print(f"{type(delta).__name__} {delta.key} {pods.tally(by_labels.key('app'))}", flush=True)


def main() -> None:
    """Follow pods, until interrupted."""
    parser = argparse.ArgumentParser(description="follow pods by lightkube")
    parser.add_argument("--kubeconfig", metavar="FILE", help="how to reach the cluster; default: as lightkube finds it")
    with suppress(KeyboardInterrupt):
        asyncio.run(follow(parser.parse_args().kubeconfig))


if __name__ == "__main__":
    main()
