"""AsyncClientSource: lists and watches by ``kubernetes.aio`` or ``kubernetes_asyncio``, as bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from aiohttp import ClientError, ClientResponse, ClientTimeout

from kindex.decoding import Decoder
from kindex.sources.api_clients import AnyApiClient, async_headers_of, async_response_of, check_client
from kindex.sources.base import ListRequest, Page, WatchEvent, WatchRequest
from kindex.sources.errors import ErrorKind, SourceError
from kindex.sources.failures import connection_error
from kindex.sources.lines import LineSplitter
from kindex.sources.questions import Question, Questions
from kindex.sources.readings import Reading
from kindex.sources.resources import Listed, Resource

T = TypeVar("T")


class AsyncClientSource(Generic[T]):
    """Lists and watches a resource with an ApiClient for asyncio; the connections are the client's own.

    As ClientSource. Retries are made where the client's configuration asks for them.

    Args:
        listed: what to list. Where it is a Kind, the first request is preceded by discovery.
        client: an ApiClient of ``kubernetes.aio``, or of ``kubernetes_asyncio`` from 28 on. Whoever made it closes it.
        decoder: makes the objects.
        metadata_only: ask for the objects' metadata alone (PartialObjectMetadata).
        gzip: let lists come compressed. It pays where the network gives less than some 500 Mbit/s.
        watch_list: whether to say that watches with initial events are to be tried. Servers before 1.27 do not refuse
            them, but never say when these events are at their end.
        connect_seconds: how long connecting may take.
        answer_seconds: how long the server may be silent before and in an answer; it gives up by itself after 60.

    Raises:
        ResourceError: *client* is none, or is not for asyncio.

    >>> from kindex.decoding import DictDecoder
    >>> from kindex.testing import ApiServer
    >>> from kubernetes.aio import config
    >>> async def names(kubeconfig):
    ...     async with await config.new_client_from_config_dict(kubeconfig) as client:
    ...         source = AsyncClientSource(Resource("v1", "pods"), client, decoder=DictDecoder())
    ...         page = await source.list_page(ListRequest())
    ...     return [pod["metadata"]["name"] for pod in page.objects]
    >>> with ApiServer([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}}]) as server:
    ...     asyncio.run(names(server.config()))
    ['web-1']
    """

    def __init__(
        self,
        listed: Listed,
        client: AnyApiClient,
        *,
        decoder: Decoder[T],
        metadata_only: bool = False,
        gzip: bool = False,
        watch_list: bool = False,
        connect_seconds: float = 10.0,
        answer_seconds: float = 75.0,
    ) -> None:
        check_client(client, asynchronous=True)
        self.offers_watch_list = watch_list
        self._client = client
        self._questions = Questions(listed, metadata_only=metadata_only, gzip=gzip)
        self._reading = Reading(decoder)
        self._connect_seconds = connect_seconds
        self._answer_seconds = answer_seconds

    @property
    def name(self) -> str:
        """What it lists: the plural, or the kind while that is not known."""
        return self._questions.name

    @property
    def namespaced(self) -> bool | None:
        """Whether the objects have namespaces; None where that is not known before discovery, or not at all."""
        return self._questions.namespaced

    async def resource(self) -> Resource:
        """Give what is listed, looked up by discovery if need be.

        Raises:
            SourceError: the server does not tell; of kind MISSING where it has no such kind.
        """
        if (question := self._questions.discovery) is not None:
            self._questions.learn(await _body(await self._answer(question, self._answer_seconds)))
        return self._questions.resource

    async def list_page(self, request: ListRequest) -> Page[T]:
        """Get one page; raises as ``Source.list_page`` says."""
        await self.resource()
        response = await self._answer(self._questions.about(request), self._answer_seconds)
        return self._reading.page(await _body(response))

    async def watch(self, request: WatchRequest) -> AsyncClientStream[T]:
        """Open a watch; raises as ``Source.watch`` says."""
        await self.resource()
        response = await self._answer(self._questions.about(request), request.silence_seconds)
        return AsyncClientStream(response, self._reading, request.silence_seconds)

    async def _answer(self, question: Question, silence_seconds: float) -> ClientResponse:
        """Give a response that is no error; its body is still to be read."""
        headers = await async_headers_of(self._client, question.target)
        limits = ClientTimeout(
            total=None,  # a watch lasts
            sock_connect=self._connect_seconds,
            sock_read=silence_seconds,
        )
        response: ClientResponse
        try:
            async with asyncio.timeout(self._connect_seconds + self._answer_seconds):
                response = await async_response_of(self._client, question.target, headers | question.headers, limits)
        except (ClientError, OSError) as error:  # a TimeoutError is one of these
            failure = connection_error(error)
            raise failure from failure.__cause__
        if response.status == 200:
            return response
        raise SourceError.of_response(response.status, await _body(response), response.headers.get("Retry-After"))


class AsyncClientStream(Generic[T]):
    """The events of one watch, to be iterated over once; it ends with silence, as ``Stream`` does."""

    def __init__(self, response: ClientResponse, reading: Reading[T], silence_seconds: float) -> None:
        self._response = response
        self._reading = reading
        self._silence_seconds = silence_seconds
        self._splitter = LineSplitter()
        self._lines: deque[bytes] = deque()
        self._closed = False

    # Not a generator, which the event loop would have to bring to its end if it is dropped.
    def __aiter__(self) -> AsyncIterator[WatchEvent[T]]:
        """Give the events as they come; raises as ``Stream.__iter__`` says."""
        return self

    async def __anext__(self) -> WatchEvent[T]:
        try:
            while not (self._closed or self._lines):
                await self._receive()
            event = None if self._closed else self._reading.event(self._lines.popleft())
        except Exception:  # not where the task is cancelled: it may ask again
            await self.aclose()
            raise
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        """Let go of the connection. Called once or more; ends an iteration that waits in another task."""
        self._closed = True
        self._response.close()

    async def _receive(self) -> None:
        """Wait for what comes next, and cut it into lines; at the end, close."""
        try:
            piece = await self._response.content.readany()
        except TimeoutError as error:
            raise TimeoutError(f"the watch gave nothing for {self._silence_seconds:g} s") from error
        except (ClientError, OSError) as error:
            if self._closed:
                return
            failure = connection_error(error)
            raise failure from failure.__cause__
        self._lines.extend(self._splitter.feed(piece))
        if piece or self._closed:
            return
        if self._splitter.rest:
            raise SourceError("the watch broke off within a line", kind=ErrorKind.NETWORK)
        await self.aclose()


async def _body(response: ClientResponse) -> bytes:
    """Read all of a response, and let its connection be used again."""
    try:
        return await response.read()
    except (ClientError, OSError) as error:
        failure = connection_error(error)
        raise failure from failure.__cause__
