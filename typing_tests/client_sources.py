"""What type checkers must say of the sources for clients: checked by mypy and pyright, never run."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from typing import Any, assert_type

from kindex import LazyObject
from kindex.decoding import LazyDecoder, TypeDecoder
from kindex.sources import AsyncSource, ObjectEvent, Source, WatchRequest, async_source_of, source_of
from kindex.sources.async_client import AsyncClientSource
from kindex.sources.client import ClientSource
from kindex.sources.resources import Resource


class Pod:
    """Stands for any class of objects."""


def makes(client: Any) -> None:
    assert_type(source_of("/api/v1/pods", decoder=LazyDecoder(), gzip=True), ClientSource[LazyObject])
    assert_type(
        async_source_of(Resource("v1", "pods"), client=client, decoder=TypeDecoder(Pod)), AsyncClientSource[Pod]
    )
    source: Source[LazyObject] = source_of(client.list_node, decoder=LazyDecoder())
    async_source: AsyncSource[Pod] = async_source_of(client.list_node, decoder=TypeDecoder(Pod))
    of_others: Source[Pod] = source_of(client.list_node, decoder=LazyDecoder())  # type: ignore[arg-type]
    del source, async_source, of_others
    source_of("/api/v1/pods", decoder=LazyDecoder(), zip=True)  # type: ignore[call-arg]
    source_of(7, decoder=LazyDecoder())  # type: ignore[arg-type]


def reads(source: ClientSource[LazyObject]) -> None:
    for event in source.watch(WatchRequest()):
        if isinstance(event, ObjectEvent):
            assert_type(event.obj, LazyObject)
