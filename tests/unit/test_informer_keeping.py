"""In what form an informer keeps objects: lazy, dicts, metadata, types; transforms, and indexers that come late."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from kindex import (
    AnnotationIndexer,
    FieldIndexer,
    FilterIndexer,
    IndexConflictError,
    Indexer,
    IndexerError,
    IndexFunctionError,
    Informer,
    LabelIndexer,
    LazyObject,
    OwnerIndexer,
    PartialObjectError,
    SyncTimeoutError,
)
from kindex.indexers.networking import IngressTlsSecretIndexer
from kindex.indexers.reading import paths_read
from kindex.informer.settings import SettingError
from kindex.objects import key_of
from kindex.sources import SkippedEvent
from kindex.sources.errors import ErrorKind
from kindex.testing import ApiServer, FakeSource, ManualClock
from kindex.transforms import intern_strings, keep_paths, strip_last_applied
from tests.informers import caught_up, no_thread_left
from tests.pods import Pod, names_of, pod

by_node = FieldIndexer("spec.nodeName")
MANAGED = [{"manager": "kubectl"}]


@pytest.fixture(autouse=True)
def _no_leak() -> Iterator[None]:
    """No test leaves a thread behind."""
    with no_thread_left():
        yield


def source_of(*pods: Pod) -> FakeSource:
    return FakeSource(pods, name="pods")


def full(name: str, node: str = "n1", **labels: str) -> Pod:
    """A pod with what transforms drop."""
    made = pod(name, node=node, **labels)
    made["metadata"] |= {"managedFields": MANAGED, "annotations": {"team": "red"}}
    made["spec"]["containers"] = [{"image": "nginx"}]
    return made


def test_objects_of_a_source_are_kept_as_it_gives_them() -> None:
    """A Source object decides, unless the informer is told otherwise; managedFields go all the same."""
    with Informer(source_of(full("a"))) as pods:
        (kept,) = pods.select()
        assert type(kept) is dict
        assert "managedFields" not in kept["metadata"]


def test_strip_none_keeps_all() -> None:
    """Nothing is dropped then."""
    with Informer(source_of(full("a")), strip=None) as pods:
        assert pods.select()[0]["metadata"]["managedFields"] == MANAGED


def test_lazy_objects_are_decoded_once_for_all_indexers() -> None:
    """The values that indexers read are taken in the same pass, by list and by watch."""
    source = source_of(full("a", app="web"))
    with Informer(source, objects="lazy", indexers=[by_node, LabelIndexer("app")]) as pods:
        source.add(full("b", "n2", app="web"))
        caught_up(pods, source)
        (kept,) = pods.select(by_node.at("n2"))
        assert type(kept) is LazyObject
        assert "spec.nodeName" in kept._layout.places
        assert pods.count(label_selector="app=web") == 2
        assert not kept.partial


def test_dicts_are_fresh() -> None:
    """objects="dict" gives plain dicts."""
    with Informer(source_of(full("a")), objects="dict") as pods:
        assert type(pods.select()[0]) is dict


def test_metadata_alone_says_that_the_rest_is_not_here() -> None:
    """What the server did not send is not absent: reading it is an error, and so is an indexer that reads it."""
    source = source_of(full("a", app="web"))
    informer = Informer(source, objects="metadata", indexers=[LabelIndexer("app")])
    with informer as pods:
        (kept,) = pods.select(label_selector="app=web")
        assert kept.metadata.annotations == {"team": "red"}
        with pytest.raises(PartialObjectError):
            kept.path("spec.nodeName")
        with pytest.raises(PartialObjectError):
            pods.select(field_selector="spec.nodeName=n1")
        informer.add_indexers(OwnerIndexer(), AnnotationIndexer("team"))
        assert pods.count(AnnotationIndexer("team").key("team").at("red")) == 1
        with pytest.raises(IndexerError, match='objects="metadata" keeps no such thing'):
            informer.add_indexers(by_node)
    with pytest.raises(IndexerError, match='objects="metadata"'):
        Informer(source, objects="metadata", indexers=[by_node])


class Meta(msgspec.Struct, rename="camel"):
    name: str
    namespace: str


class Pods(msgspec.Struct):
    metadata: Meta
    spec: dict[str, Any]


def test_a_type_may_be_kept() -> None:
    """decode= gives instances of a type; their version is the watch's, though they have none."""
    source = source_of(full("a"))
    with Informer(source, decode=Pods, indexers=[by_node]) as pods:
        source.add(full("b"))
        source.bookmark()
        caught_up(pods, source)
        assert {kept.metadata.name for kept in pods.select(by_node.at("n1"))} == {"a", "b"}
        assert all(type(kept) is Pods for kept in pods)


class Unresolved(msgspec.Struct):
    spec: NotImported  # type: ignore[name-defined]  # noqa: F821 - as of a name that only type checkers import


@pytest.mark.parametrize("cls", [Unresolved, "Pod", [Pods]])
def test_a_type_that_nothing_can_be_decoded_to_is_refused_at_once(cls: Any) -> None:
    """What no list could ever be decoded to is found when the informer is made."""
    with pytest.raises(SettingError, match="decode is a type that JSON can be decoded to"):
        Informer(source_of(), decode=cls)


@dataclasses.dataclass
class Strict:
    metadata: dict[str, Any]
    spec: dict[str, int]


def test_an_object_of_another_type_fails_the_list() -> None:
    """By default one odd object is an error, which is tried again."""
    clock = ManualClock()
    informer = Informer(source_of(full("a")), decode=Strict, clock=clock).start()
    clock.until_waiting()
    with pytest.raises(SyncTimeoutError, match="Strict"):
        informer.wait_synced(0)
    assert informer.stats.errors == {ErrorKind.PROTOCOL: 1}
    informer.stop()


def test_transforms_come_after_index_values() -> None:
    """Dropping a path does not empty its index, and what is left says that it is partial (B15)."""
    source = source_of(full("a"))
    slim = keep_paths("status.phase")
    informer = Informer(source, objects="lazy", transform=[slim, intern_strings], indexers=[by_node])
    with informer as pods:
        source.add(full("b"))
        caught_up(pods, source)
        assert sorted(kept.name for kept in pods.select(by_node.at("n1"))) == ["a", "b"]
        assert all(kept.partial for kept in pods)
        assert informer.stats.saved_bytes > 0


def test_a_transform_of_dicts_is_applied_to_all() -> None:
    """Also to what a watch brings, and to the last state of what is deleted."""
    source = source_of(full("a"))

    def without_spec(obj: Pod) -> Pod:
        return {name: value for name, value in obj.items() if name != "spec"}

    with Informer(source, transform=without_spec) as pods:
        source.add(full("b"))
        caught_up(pods, source)
        assert all("spec" not in kept for kept in pods)


def test_a_transform_that_fails_is_an_error_of_the_source() -> None:
    """It is tried again; nothing half done is stored."""
    clock = ManualClock()

    def broken(_obj: Pod) -> Pod:
        raise TimeoutError("odd")

    informer = Informer(source_of(full("a")), transform=broken, clock=clock).start()
    clock.until_waiting()
    assert "odd" in str(informer.last_error)
    informer.stop()


# Indexers that come late


@pytest.mark.parametrize(
    "indexer",
    [by_node, AnnotationIndexer("team"), FilterIndexer("red", annotation_filter="team=red")],
    ids=lambda indexer: indexer.name,
)
def test_an_indexer_on_what_was_dropped_is_an_error(indexer: Any) -> None:
    """Added late it would find nothing, so it is refused; declared early it finds all."""
    slim = keep_paths("status.phase")
    informer = Informer(source_of(full("a")), objects="lazy", transform=slim)
    with informer as pods:
        with pytest.raises(
            IndexerError, match=r"which transform keep_paths\(status.phase\) may have dropped.*declare it"
        ):
            informer.add_indexers(indexer)
        assert pods.index_names == ("namespace",)
    early = Informer(source_of(full("a")), objects="lazy", transform=slim, indexers=[indexer])
    with early as pods:
        early.add_indexers(indexer)
        assert sum(pods.memory().index(index.name).postings for index in pods.memory().indexes) == 2


def test_an_indexer_on_what_is_kept_may_come_late() -> None:
    """Its values are read from the objects that are there, and taken while decoding from then on."""
    source = source_of(full("a", app="web"))
    informer = Informer(source, objects="lazy", transform=strip_last_applied)
    with informer as pods:
        informer.add_indexers(by_node, LabelIndexer("app"), OwnerIndexer())
        source.add(full("b", app="web"))
        caught_up(pods, source)
        found = pods.select(by_node.at("n1"), label_selector="app=web")
        assert sorted(kept.name for kept in found) == ["a", "b"]
        assert sorted("spec.nodeName" in kept._layout.places for kept in found) == [False, True]
        assert pods.count(OwnerIndexer().orphans()) == 2


def test_a_transform_of_ones_own_may_have_dropped_anything() -> None:
    """So an indexer that comes late is refused, rather than found empty."""

    def mine(obj: LazyObject) -> LazyObject:
        return obj

    informer = Informer(source_of(full("a")), objects="lazy", transform=mine)
    with informer, pytest.raises(IndexerError, match="which transform mine may have dropped"):
        informer.add_indexers(by_node)


def test_a_namespace_that_comes_later_is_decoded_for_all_indexers() -> None:
    """Those that came late are among them."""
    informer = Informer(source_of(full("a")), namespaces=[], objects="lazy")
    with informer as pods:
        informer.add_indexers(by_node)
        informer.add_namespace("prod")
        informer.wait_synced(namespace="prod")
        (kept,) = pods.select(by_node.at("n1"))
        assert "spec.nodeName" in kept._layout.places


def test_before_the_start_nothing_is_late() -> None:
    """Indexers that are added before are as those that were declared."""
    informer = Informer(source_of(full("a")), objects="lazy", transform=keep_paths("status.phase"))
    informer.add_indexers(by_node)
    with informer as pods:
        assert pods.count(by_node.at("n1")) == 1


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_a_function_that_reads_what_was_dropped_is_an_error(on_error: Any) -> None:
    """Whatever it says about odd objects: this is not one of them."""
    informer = Informer(source_of(full("a")), objects="lazy", transform=keep_paths("status.phase"))
    by_image: Indexer[LazyObject, str] = Indexer("image", lambda obj: obj.path("spec.image"), on_error=on_error)
    with informer as pods:
        with pytest.raises(IndexFunctionError, match="a transform dropped"):
            informer.add_indexers(by_image)
        assert pods.index_names == ("namespace",)


def test_two_indexers_of_one_name_are_a_conflict() -> None:
    """As for a store, and nothing is added."""
    informer = Informer(source_of(full("a")), indexers=[FieldIndexer("spec.nodeName", name="node")])
    with informer as pods:
        with pytest.raises(IndexConflictError, match="'node'"):
            informer.add_indexers(FieldIndexer("spec.hostNetwork", name="node"))
        assert names_of(pods.select()) == ["a"]


@pytest.mark.parametrize(
    ("indexer", "paths"),
    [
        (LabelIndexer("app"), ("metadata.labels",)),
        (FieldIndexer("spec.a", "spec.b"), ("spec.a", "spec.b")),
        (FilterIndexer("x", label_selector="a", annotation_filter="b"), ("metadata.labels", "metadata.annotations")),
        (FilterIndexer("x", predicate=bool), ()),
        (IngressTlsSecretIndexer(), ("spec.tls[*].secretName",)),
        (Indexer("x", str), ()),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_what_an_indexer_reads_is_known(indexer: Any, paths: tuple[str, ...]) -> None:
    """By its kind; of a plain function nothing is."""
    assert paths_read(indexer) == paths


class Sized(msgspec.Struct):
    """A type that not every object is of."""

    metadata: dict[str, Any]
    size: int


def sized(name: str, size: object) -> Pod:
    return {"apiVersion": "v1", "kind": "Pod", **pod(name), "size": size}


def sizes_of(pods: Any) -> dict[str, int]:
    return {obj.metadata["name"]: obj.size for obj in pods.select()}


@contextmanager
def serving(objects: list[Pod], *, by_server: bool, **settings: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Give a view of Sized objects, its informer, and what changes them: a FakeSource or an ApiServer."""
    settings |= {"decode": Sized, "on_decode_error": "skip"}
    if not by_server:
        source = FakeSource(objects, name="pods")
        informer = Informer(source, **settings)
        with informer as pods:
            yield pods, informer, source
        return
    with ApiServer(objects) as server, server.api_client() as client:
        source_of_bytes = Informer("/api/v1/pods", client=client, **settings)
        with source_of_bytes as pods:
            yield pods, source_of_bytes, server


@pytest.mark.parametrize("watch_list", [False, True])
@pytest.mark.parametrize("by_server", [False, True])
def test_what_is_left_out_is_not_kept_as_it_was(by_server: bool, watch_list: bool) -> None:
    """By a watch as by a list: an object that is no longer of the type goes, and comes back when it is again."""
    objects = [sized("a", 1), sized("b", "many"), sized("c", 3)]
    with serving(objects, by_server=by_server, watch_list=watch_list) as (pods, informer, source):
        assert sizes_of(pods) == {"a": 1, "c": 3}
        lists = informer.stats.lists

        def caught_up() -> dict[str, int]:
            pods.wait_version(source.resource_version, 10)
            return sizes_of(pods)

        follower = pods.follow()
        source.update(sized("a", "many"))
        assert caught_up() == {"c": 3}
        source.update(sized("b", 2))
        source.update(sized("a", 10))
        assert caught_up() == {"a": 10, "b": 2, "c": 3}
        source.update(sized("c", "many"))
        source.delete(sized("c", 3))
        assert caught_up() == {"a": 10, "b": 2}
        seen = [(type(delta).__name__, delta.key.name) for delta in follower.take(100)]
        assert sorted(seen) == [("Added", "a"), ("Added", "b")]  # of all that came to pass, what is left
        assert (informer.live, informer.last_error, informer.stats.lists) == (True, None, lists)


def test_an_older_event_that_is_left_out_removes_nothing_newer() -> None:
    """A watch that repeats itself tells nothing of what is there."""
    source = FakeSource([sized("a", 1)], name="pods")
    with Informer(source, objects="dict") as pods:
        key = key_of(pods.select()[0])
        source.update(sized("a", 2))
        source.send(SkippedEvent("MODIFIED", key, "1", ValueError("odd")))
        source.send(SkippedEvent("MODIFIED", None, None, ValueError("odd")))
        source.add(pod("b"))
        caught_up(pods, source)
        assert names_of(pods.select()) == ["a", "b"]
        source.send(SkippedEvent("MODIFIED", key, source.resource_version, ValueError("odd")))
        pods.wait_until(lambda view: view.count() == 1, 10)
        assert names_of(pods.select()) == ["b"]
