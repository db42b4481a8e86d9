"""What type checkers must say of informers: checked by mypy and pyright, never run; see ``api.py``."""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_type

import msgspec

from kindex import (
    AsyncInformer,
    AsyncInformerGroup,
    FieldIndexer,
    Indexer,
    Informer,
    InformerGroup,
    InformerView,
    LazyObject,
)
from kindex.sources.base import AsyncSource, Source


class Gateway(msgspec.Struct):
    """Stands for a type of the user's."""

    name: str


def objects_are_of_the_type_that_the_settings_say(
    list_pods: Callable[..., object], source: Source[Gateway], async_source: AsyncSource[Gateway], client: object
) -> None:
    """Lazy, unless something else is said; those of a Source object as it gives them."""
    assert_type(Informer(list_pods), Informer[LazyObject])
    assert_type(Informer("/api/v1/pods", indexers=[FieldIndexer("spec.nodeName")]), Informer[LazyObject])
    assert_type(Informer(list_pods, objects="metadata"), Informer[LazyObject])
    assert_type(Informer(list_pods, objects="dict"), Informer[dict[str, Any]])
    assert_type(Informer(list_pods, decode=Gateway), Informer[Gateway])
    assert_type(Informer(source), Informer[Gateway])
    assert_type(Informer(source, objects="lazy"), Informer[LazyObject])
    assert_type(Informer.of("v1", "Pod", client=client), Informer[LazyObject])
    assert_type(Informer.of("v1", "Pod", client=client, decode=Gateway), Informer[Gateway])
    assert_type(AsyncInformer(async_source), AsyncInformer[Gateway])
    assert_type(AsyncInformer(source, objects="dict"), AsyncInformer[dict[str, Any]])
    assert_type(AsyncInformer.of("v1", "Pod", client=client, objects="dict"), AsyncInformer[dict[str, Any]])
    group = InformerGroup(page_size=100)
    assert_type(group.informer(list_pods, decode=Gateway), Informer[Gateway])
    assert_type(group.informer(source), Informer[Gateway])


async def the_same_holds_for_a_loop(source: AsyncSource[Gateway]) -> None:
    """A group's informers are typed, too."""
    group = AsyncInformerGroup()
    assert_type(await group.informer(source), AsyncInformer[Gateway])
    async with AsyncInformer(source) as gateways:
        assert_type(gateways, InformerView[Gateway])


def a_view_is_typed(source: Source[Gateway], by_name: Indexer[Gateway, str], by_size: Indexer[int, str]) -> None:
    """Its methods are those of a StoreView, with the type of the objects."""
    with Informer(source) as gateways:
        assert_type(gateways, InformerView[Gateway])
        assert_type(gateways.select(by_name.at("a")), list[Gateway])
        assert_type(gateways.get("a", namespace="x"), Gateway | None)
        gateways.add_event_handler(lambda delta: delta.new.name)
        gateways.select(by_size.at("a"))  # type: ignore[arg-type]
        gateways.put(Gateway("a"))  # type: ignore[attr-defined]


def slips_are_refused(source: Source[Gateway]) -> None:
    """Names and values of settings are known."""
    Informer(source, object_budget=1.5)  # type: ignore[call-overload]
    Informer(source, indexer=[])  # type: ignore[call-overload]
    Informer(source, objects="json")  # type: ignore[call-overload]
    Informer(7)  # type: ignore[call-overload]
