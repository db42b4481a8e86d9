"""InformerGroup: one start, one wait, one stop; and each resource once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import MethodType, SimpleNamespace
from typing import Any

import pytest

from kindex import (
    FieldIndexer,
    IndexConflictError,
    IndexerError,
    InformerConflictError,
    InformerError,
    InformerGroup,
    LabelIndexer,
    NotReachedError,
    NotSyncedError,
    SyncTimeoutError,
)
from kindex.informer import origins
from kindex.informer.grouping import raise_together
from kindex.testing import FakeSource, ManualClock
from kindex.transforms import keep_paths
from tests.informers import PATIENCE, fails, no_thread_left, of_kindex, until
from tests.pods import pod

by_app, by_node = LabelIndexer("app"), FieldIndexer("spec.nodeName")


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(name: str = "pods", **settings: Any) -> FakeSource:
    return FakeSource([pod("a", node="n1", app="web")], name=name, **settings)


# Sharing


def test_a_resource_that_is_asked_for_twice_is_watched_once() -> None:
    """The second request gets the same informer, and its indexers are added."""
    source, group = source_of(), InformerGroup()
    first = group.informer(source, indexers=[by_app])
    second = group.informer(source, indexers=[by_app, by_node])
    assert first is second
    assert group.informers == (first,)
    with group:
        assert first.view.count(by_node.at("n1"), label_selector="app=web") == 1
        until(first, lambda: source.watches)
        assert source.watches == 1


def test_it_may_be_asked_for_while_the_group_runs() -> None:
    """Indexers are added to what is there; a new informer is started at once."""
    source, group = source_of(), InformerGroup()
    pods = group.informer(source, objects="lazy")
    with group:
        assert group.informer(source, objects="lazy", indexers=[by_node]) is pods
        assert pods.view.count(by_node.at("n1")) == 1
        nodes = group.informer(source_of("nodes"))
        nodes.wait_synced(PATIENCE)
        assert len(nodes.view) == 1


def test_an_indexer_that_comes_too_late_is_an_error() -> None:
    """What a transform has dropped from objects that are there makes no empty index."""
    source, group = source_of(), InformerGroup()
    slim = keep_paths("status.phase")
    group.informer(source, objects="lazy", transform=slim)
    with group, pytest.raises(IndexerError, match="declare it where the informer is made"):
        group.informer(source, objects="lazy", transform=slim, indexers=[by_node])


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ({}, {"objects": "dict"}, "objects=None, and another request wants objects='dict'"),
        ({"objects": "dict"}, {"objects": "lazy"}, "objects='dict', and another request wants objects='lazy'"),
        ({"objects": "dict"}, {}, "objects='dict', and another request wants objects=None"),
        ({}, {"strip": None}, "strip="),
        ({}, {"transform": keep_paths("spec")}, r"transform=\(\), and another .* transform=\(keep_paths\(spec\),\)"),
        ({}, {"name": "others"}, "name=None, and another request wants name='others'"),
        ({"page_size": 5}, {"page_size": 6}, "page_size=5, and another request wants page_size=6"),
    ],
)
def test_a_contradiction_is_an_error_that_names_both(first: Any, second: Any, message: str) -> None:
    """Two requests that no informer can fulfil both."""
    source, group = source_of(), InformerGroup()
    group.informer(source, **first)
    with pytest.raises(InformerConflictError, match=f"informer 'pods' of this group has {message}"):
        group.informer(source, **second)


def test_what_a_request_does_not_say_it_takes_as_it_is() -> None:
    """How an informer behaves is decided by who says something about it."""
    source, group = source_of(), InformerGroup()
    first = group.informer(source, page_size=5, sync_timeout=3)
    assert group.informer(source, sync_timeout=4) is first


def test_two_indexers_of_one_name_are_a_conflict() -> None:
    """As for a store."""
    source, group = source_of(), InformerGroup()
    group.informer(source, indexers=[FieldIndexer("spec.nodeName", name="node")])
    with pytest.raises(IndexConflictError, match="'node'"):
        group.informer(source, indexers=[FieldIndexer("spec.a", name="node")])


def test_other_selectors_or_namespaces_are_another_informer() -> None:
    """What is shared is a watch, so it must be the same watch."""
    source, group = source_of(), InformerGroup()
    everywhere = group.informer(source)
    prod = group.informer(source, namespaces=["prod"])
    assert everywhere is not prod
    assert group.informer(source, namespaces=["prod"]) is prod


def test_a_bound_method_is_the_same_however_often_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two API objects of one client too; with other selectors it is another."""

    def source_made(_what: object, **_arguments: object) -> FakeSource:
        return source_of()

    monkeypatch.setattr(origins, "source_of", source_made)

    def list_pods(_self: object) -> None:
        raise AssertionError("not called")

    client = object()
    apis = [
        SimpleNamespace(api_client=client),
        SimpleNamespace(api_client=client),
        SimpleNamespace(api_client=object()),
    ]
    methods = [MethodType(list_pods, api) for api in apis]
    group = InformerGroup()
    first = group.informer(methods[0], label_selector="app=web")
    assert group.informer(methods[1], label_selector={"app": "web"}) is first
    assert group.informer(methods[2], label_selector="app=web") is not first
    assert group.informer(methods[0]) is not first
    assert group.informer("/api/v1/pods") is group.informer("/api/v1/pods")
    assert group.informer(partial(list_pods, None)) is not first
    gateways = group.of("networking.istio.io/v1", "Gateway", client=client)
    assert group.of("networking.istio.io/v1", "Gateway", client=client) is gateways


def test_settings_for_all() -> None:
    """What a group is given holds for each of its informers, unless that says otherwise."""
    clock = ManualClock()
    group = InformerGroup(clock=clock, page_size=7)
    pods, nodes = group.informer(source_of()), group.informer(source_of("nodes"), page_size=8)
    assert (pods._conduct.page_size, nodes._conduct.page_size) == (7, 8)
    assert pods._conduct.clock is nodes._conduct.clock is clock


# One start, one wait, one stop


def test_all_start_and_stop_together() -> None:
    """In the block all have synced; after it nothing is left."""
    group = InformerGroup()
    pods, nodes = group.informer(source_of()), group.informer(source_of("nodes"))
    assert repr(group) == "InformerGroup(pods, nodes, not started)"
    with group as entered:
        assert entered is group
        assert (len(pods.view), len(nodes.view), group.synced) == (1, 1, True)
        for informer in group.informers:
            until(informer, lambda informer=informer: informer.live)  # type: ignore[misc]  # it is bound as it is now
        assert group.live
        assert group.ready()
        group.wait_synced(0)
        group.wait_current(PATIENCE)
    assert not group.live
    assert of_kindex() == set()
    group.stop()
    with pytest.raises(InformerError, match="a group runs once"):
        group.start()
    with pytest.raises(InformerError, match="a group runs once"):
        group.informer(source_of())


def test_one_that_does_not_sync_fails_the_block() -> None:
    """With its own error; the others are stopped, too."""
    broken = source_of("nodes")
    fails(broken, "list")
    group = InformerGroup(sync_timeout=0.05)
    group.informer(source_of())
    group.informer(broken)
    with pytest.raises(SyncTimeoutError, match="informer 'nodes' has not synced in 0"), group:
        raise AssertionError("not reached")
    assert of_kindex() == set()


def test_of_several_that_do_not_sync_each_is_named() -> None:
    """One error says all of it, and ready() a reason for each."""
    clock = ManualClock()
    group = InformerGroup(clock=clock)
    for name, status in (("pods", 403), ("nodes", 500), ("jobs", None)):
        source = source_of(name)
        if status is not None:
            fails(source, "list", status=status)
        group.informer(source)
    group.start()
    clock.until_waiting(2)
    group.informers[2].wait_synced(PATIENCE)
    with pytest.raises(SyncTimeoutError) as raised:
        group.wait_synced(0)
    assert raised.value.informer == "pods, nodes"
    assert "pods has not synced in 0 s: 403: as the test said; nodes has not synced in 0 s: 500" in str(raised.value)
    until(group.informers[2], lambda: group.informers[2].live)
    readiness = group.ready()
    assert not readiness
    assert readiness.reasons == ("pods: not synced: 403: as the test said", "nodes: not synced: 500: as the test said")
    assert str(readiness) == "; ".join(readiness.reasons)
    group.stop()


def test_a_new_leader_waits_for_all_at_once() -> None:
    """wait_current of a group names those that are behind."""
    sources = [source_of("pods"), source_of("nodes"), source_of("jobs")]
    group = InformerGroup()
    for source in sources:
        group.informer(source)
    with group:
        for source, informer in zip(sources, group.informers, strict=True):
            until(informer, lambda source=source: source.watches)  # type: ignore[misc]  # it is bound as it is now
        for source in sources[:2]:
            source.lose()
            source.add(pod("late"))
        with pytest.raises(NotReachedError, match=r"'pods' has not caught up: .*; informer 'nodes' has not"):
            group.wait_current(0.05)


def test_an_empty_group_is_ready() -> None:
    """There is nothing to wait for."""
    group = InformerGroup()
    with group:
        assert group.ready()
        assert repr(group) == "InformerGroup(no informers, started)"


def test_errors_of_one_kind_stay_that_kind() -> None:
    """What several raise is one error that a caller can catch as those."""
    first, second = NotSyncedError("pods", "was stopped"), NotSyncedError("nodes", "was stopped")
    with pytest.raises(NotSyncedError, match="informer 'pods, nodes' have not synced: pods was stopped; nodes was"):
        raise_together({"pods": first, "nodes": second})
    raise_together({})
    with pytest.raises(NotReachedError, match="informer 'pods' was stopped; late"):
        raise_together({"pods": first, "nodes": NotReachedError("late")})
