"""kr8s as the source of an informer: its connection and credentials, kindex's rules for lists and watches.

``api.watch`` of kr8s gives nothing to build on: after a 410 it asks for the same version again, for ever, and it tells
of no end. ``api.call_api`` does: it sends one request, and gives the answer as it comes. A source needs no more, so
that what kindex promises of an informer holds here as well: pages, bookmarks, both forms of 410, backoff, ``live``.

What this cannot promise:

* a 401 or 403 costs four requests instead of one, since kr8s asks again three times, at once; and each time it closes
  the session, which cuts the other watches of the same ``api``, so that they resume;
* the objects are no ``kr8s.objects.Pod``, of which each takes 180 kB. Make one where you need it:
  ``Pod(obj.to_dict(), api=api)``.

    python examples/kr8s_feed.py --kubeconfig ~/.kube/config --api-version apps/v1 --plural deployments
"""

from __future__ import annotations

import argparse
import asyncio
from contextlib import suppress
from typing import Any

import httpx
import kr8s.asyncio

from kindex import AsyncInformer, LabelIndexer, LazyObject
from kindex.decoding import LazyDecoder
from kindex.sources import ListRequest, Page, Reading, SourceError, WatchRequest
from kindex.sources.lines import LineSplitter

ANSWER_SECONDS = 30.0  # kr8s has no deadline of its own


def failure(error: Exception) -> SourceError:
    """Say what can be done about what kr8s raised."""
    response = getattr(error, "response", None)
    if isinstance(error, kr8s.ServerError) and response is not None:
        return SourceError.of_response(response.status_code, response.content, response.headers.get("Retry-After"))
    if isinstance(error, (httpx.TransportError, kr8s.APITimeoutError)):
        return SourceError(f"{type(error).__name__}: {error}".rstrip(": "))  # of kind NETWORK
    return SourceError.of(error)


class Kr8sSource:
    """Lists and watches a resource by a kr8s ``api`` for asyncio."""

    offers_watch_list = False  # servers before 1.27 would not say that they have none

    def __init__(self, api: Any, version: str, plural: str) -> None:
        self.name = plural
        self._api, self._version = api, version
        self._reading = Reading(LazyDecoder())

    async def list_page(self, request: ListRequest) -> Page[LazyObject]:
        """Get one page."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._call(request) as response:
                return self._reading.page(response.content)
        except Exception as error:
            raise failure(error) from error

    async def watch(self, request: WatchRequest) -> Kr8sStream:
        """Open a watch."""
        call = self._call(request, stream=True)
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return Kr8sStream(call, await call.__aenter__(), self._reading)
        except Exception as error:
            raise failure(error) from error

    def _call(self, request: ListRequest | WatchRequest, **how: Any) -> Any:
        namespace, query = request.namespace, request.query()
        return self._api.call_api(version=self._version, url=self.name, namespace=namespace, params=query, **how)


class Kr8sStream:
    """The events of one watch."""

    def __init__(self, call: Any, response: httpx.Response, reading: Reading[LazyObject]) -> None:
        self._call = call
        self._events = self._read(response, reading)

    def __aiter__(self) -> Any:
        return self._events

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._events.aclose()
        await self._call.__aexit__(None, None, None)

    async def _read(self, response: httpx.Response, reading: Reading[LazyObject]) -> Any:
        lines = LineSplitter()  # httpx would end a line where a text has, say, U+0085
        try:
            async for piece in response.aiter_bytes():
                for line in lines.feed(piece):
                    yield reading.event(line)
        except httpx.HTTPError as error:
            raise failure(error) from error


async def follow(kubeconfig: str | None, version: str, plural: str) -> None:
    """Print each change, and how many objects have which label ``app``."""
    by_labels = LabelIndexer("app")
    source = Kr8sSource(await kr8s.asyncio.api(kubeconfig=kubeconfig), version, plural)
    async with AsyncInformer(source, indexers=[by_labels]) as view:
        async for delta in view.follow():
            print(f"{type(delta).__name__} {delta.key} {view.tally(by_labels.key('app'))}", flush=True)


def main() -> None:
    """Follow a resource, until interrupted."""
    parser = argparse.ArgumentParser(description="follow a resource by kr8s")
    parser.add_argument("--kubeconfig", metavar="FILE", help="how to reach the cluster; default: as kr8s finds it")
    parser.add_argument("--api-version", default="v1", help="group and version; default: v1")
    parser.add_argument("--plural", default="pods", help="the resource; default: pods")
    arguments = parser.parse_args()
    with suppress(KeyboardInterrupt):
        asyncio.run(follow(arguments.kubeconfig, arguments.api_version, arguments.plural))


if __name__ == "__main__":
    main()
