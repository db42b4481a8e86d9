"""What type checkers must say of the public interface: checked by mypy and pyright, never run.

Lines that must be refused carry an ignore; both checkers complain of an ignore that is not needed
(``warn_unused_ignores``, ``reportUnnecessaryTypeIgnoreComment``), so a call that is no longer refused fails the check.
"""
# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_type

from kindex import (
    Added,
    AnnotationIndexer,
    Budget,
    Deleted,
    Delta,
    FieldIndexer,
    FieldSelector,
    FilterIndexer,
    Indexer,
    LabelIndexer,
    LabelSelector,
    LazyObject,
    NamespaceIndexer,
    ObjectKey,
    OwnerIndexer,
    Plan,
    SelectorIndexer,
    SortedIndexer,
    Store,
    StoreView,
    Term,
    Transaction,
    Updated,
)
from kindex.decoding import DictDecoder, LazyDecoder, TypeDecoder
from kindex.indexers.networking import (
    ClusterIPIndexer,
    ConfigMapRefIndexer,
    DomainIndexer,
    IngressAnnotationIndexer,
    IngressHostIndexer,
    ListenerPortIndexer,
    RouteParentIndexer,
    ServiceSelectorIndexer,
    ingress_of,
)
from kindex.lazy_metadata import OwnerReference
from kindex.sources import BookmarkEvent, ErrorEvent, ObjectEvent, Reading, SkippedEvent
from kindex.transforms import keep_paths, strip_managed_fields


class Pod:
    """Stands for an official model: its attributes are known to type checkers, and it is no other kind."""

    name: str
    node: str | None
    ports: list[int]
    ready: bool


class StaticPod(Pod):
    """A more special kind of pod."""


class Node:
    """Another kind."""

    zone: str
    cpus: int


def node_of(pod: Pod) -> str | None:
    return pod.node


def ports_of(pod: Pod) -> list[int]:
    return pod.ports


def first_port_of(pod: Pod) -> int:
    return pod.ports[0]


def ready_of(pod: Pod) -> bool:
    return pod.ready


def pair_of(pod: Pod) -> list[tuple[str, int]]:
    return [(pod.name, 1)]


def share_of(_pod: Pod) -> float:
    return 1.5


def zone_of(node: Node) -> str:
    return node.zone


def cpus_of(node: Node) -> int:
    return node.cpus


# Indexers know what they file, and under what.

by_node = Indexer("node", node_of)
by_port = Indexer("port", ports_of)
by_ready = Indexer("ready", ready_of, on_error="skip")
by_pair = Indexer("pair", pair_of)
by_zone = Indexer("zone", zone_of)
by_name = SortedIndexer("name", "metadata.name")
by_cpus = SortedIndexer("cpus", cpus_of)
by_first_port = SortedIndexer("first", first_port_of)
by_field = FieldIndexer("spec.nodeName")
by_labels = LabelIndexer("app", "tier")
by_note = AnnotationIndexer("team")
by_owner = OwnerIndexer()
selecting = SelectorIndexer("spec.selector")
watched = FilterIndexer[Pod]("watched", predicate=ready_of)


assert_type(by_node, Indexer[Pod, str])
assert_type(by_port, Indexer[Pod, int])
assert_type(by_ready, Indexer[Pod, bool])
assert_type(by_pair, Indexer[Pod, tuple[str, int]])
assert_type(by_zone, Indexer[Node, str])
assert_type(by_name, SortedIndexer[object, str])
assert_type(by_cpus, SortedIndexer[Node, int])
assert_type(by_first_port, SortedIndexer[Pod, int])
assert_type(Indexer[Pod, str]("node", node_of), Indexer[Pod, str])

assert_type(by_node.at("n1"), Term[Pod])
assert_type(by_node.among(["n1", "n2"]), Term[Pod])
assert_type(by_port.at(80), Term[Pod])
assert_type(by_ready.at(True), Term[Pod])
assert_type(by_pair.at(("a", 1)), Term[Pod])
assert_type(by_field.at("n1"), Term[object])
assert_type(by_labels.key("app").at("web"), Term[object])
assert_type(by_labels.satisfying("app=web"), Term[object])
assert_type(by_note.key("team").exists(), Term[object])
assert_type(by_owner.at(Pod()), Term[object])
assert_type(by_owner.orphans(), Term[object])
assert_type(selecting.at("app=web"), Term[object])
assert_type(selecting.matching({"app": "web"}), Term[object])
assert_type(selecting.matching(Pod()), Term[object])
assert_type(selecting.matching_either(None, Pod()), Term[object])
assert_type(selecting.matching_differs({"app": "web"}, None) & ~selecting.matching({}), Term[object])
assert_type(watched.passing(), Term[Pod])
assert_type(by_name.between("a", None), Term[object])
assert_type(by_name.starting_with("web-"), Term[object])
assert_type(by_cpus.between(1, 2), Term[Node])
assert_type(by_cpus.largest(), Term[Node])

assert_type(by_node.values_of(Pod()), tuple[str, ...])
assert_type(by_port.values_of(Pod()), tuple[int, ...])
assert_type(by_field.values_of(Pod()), tuple[str, ...])
assert_type(by_labels.values_of(Pod()), tuple[tuple[str, str], ...])

by_node.at(3)  # type: ignore[arg-type]
by_node.at(None)  # type: ignore[arg-type]
by_port.at("80")  # type: ignore[arg-type]
by_pair.at("a")  # type: ignore[arg-type]
by_pair.at(("a", "b"))  # type: ignore[arg-type]
by_node.among([1, 2])  # type: ignore[list-item]
by_labels.key("app").at(3)  # type: ignore[arg-type]
SelectorIndexer("spec.selector", form="text")  # type: ignore[arg-type]
SelectorIndexer("spec.podSelector", null="all")  # type: ignore[arg-type]
SelectorIndexer("spec.selector", "map")  # type: ignore[call-arg]
by_labels.at("web")  # type: ignore[attr-defined]
by_cpus.between("a", None)  # type: ignore[arg-type]
by_cpus.starting_with("a")  # type: ignore[misc]
by_node.values_of(Node())  # type: ignore[arg-type]
Indexer("float", share_of)  # type: ignore[arg-type]
Indexer("node", node_of, on_error="ignore")  # type: ignore[call-overload]
Indexer("node")  # type: ignore[call-overload]
LabelIndexer.all()  # type: ignore[call-arg]
LabelIndexer(3)  # type: ignore[arg-type]

# A subclass of bool is int for Python, so a function to bool has an overload of its own, before that to int.
assert_type(Indexer("ready", ready_of).among([True, False]), Term[Pod])

# Terms combine: general ones with special ones, and those of two kinds never.

assert_type(by_node.at("n1") & by_port.at(80), Term[Pod])
assert_type(by_field.at("n1") & by_owner.orphans(), Term[object])
assert_type(by_node.at("n1") & by_field.at("n1"), Term[Pod])
assert_type(by_field.at("n1") & by_node.at("n1"), Term[Pod])
assert_type(by_field.at("n1") | by_node.at("n1"), Term[Pod])
assert_type(by_node.at("n1") | by_labels.key("app").absent(), Term[Pod])
assert_type(~by_node.at("n1"), Term[Pod])
assert_type(~by_field.at("n1") & ~watched.passing(), Term[Pod])

by_node.at("n1") & "app=web"  # type: ignore[operator]
by_node.at("n1") | None  # type: ignore[operator]

# A store takes what fits its objects.

pods: Store[Pod] = Store(
    name="pods", indexers=[by_node, by_port, by_ready, by_pair, by_field, by_labels, by_owner, watched]
)
nodes: Store[Node] = Store(name="nodes", indexers=[by_zone, by_cpus, by_name, by_note], scope="cluster", scan="error")
raw: Store[dict[str, Any]] = Store(indexers=[by_field, LabelIndexer.all(budget=Budget("64MiB"))])

Store[Pod](indexers=[by_zone])  # type: ignore[list-item]
Store[Pod](indexers=["node"])  # type: ignore[list-item]
Store[Pod](scope="Cluster")  # type: ignore[arg-type]
Store[Pod](scan="never")  # type: ignore[arg-type]
Store[Pod]("pods")  # type: ignore[call-arg]
Store[str](key=lambda text: ("", text))  # type: ignore[arg-type, return-value]
Store[str](key=lambda text: ObjectKey("", text))
pods.add_indexers(by_node, FieldIndexer("a.b"))
pods.add_indexers(by_zone)  # type: ignore[arg-type]

# An index of a general kind serves a special one; a store of a general kind does not take the special kind's index.

special: Store[StaticPod] = Store(indexers=[by_node, by_field])
assert_type(special.select(by_node.at("n1")), list[StaticPod])

# Queries.

assert_type(pods.select(by_node.at("n1"), label_selector="app=web", limit=10), list[Pod])
assert_type(pods.select(by_field.at("n1") & by_node.at("n1"), namespace=["a", "b"]), list[Pod])
assert_type(pods.select(where=ready_of, order_by="key"), list[Pod])
assert_type(pods.select(by_field.at("n1"), by_node.at("n1"), ~by_owner.orphans()), list[Pod])
assert_type(pods.keys(by_labels.key("app").at("web")), list[ObjectKey])
assert_type(pods.first(by_owner.at(Pod())), Pod | None)
assert_type(pods.any(field_selector={"spec.nodeName": "n1"}), bool)
assert_type(pods.count(field_selector=FieldSelector.parse("spec.nodeName=")), int)
assert_type(pods.explain(label_selector=LabelSelector.parse("app")), Plan)
assert_type(nodes.select(by_cpus.between(1, None), order_by=by_cpus), list[Node])
assert_type(nodes.select(order_by=by_cpus.descending()), list[Node])
assert_type(raw.select(label_selector={"app": "web"}), list[dict[str, Any]])

pods.select(by_zone.at("z1"))  # type: ignore[arg-type]
pods.select(by_field.at("n1"), by_zone.at("z1"))  # type: ignore[arg-type]
pods.select(~by_zone.at("z1"))  # type: ignore[arg-type]
pods.count(by_cpus.largest())  # type: ignore[arg-type]
pods.select("app=web")  # type: ignore[arg-type]
pods.select(by_node)  # type: ignore[arg-type]
pods.select(where=zone_of)  # type: ignore[arg-type]
pods.select(order_by="name")  # type: ignore[arg-type]
pods.select(order_by=by_node)  # type: ignore[arg-type]
pods.select(namespace=3)  # type: ignore[arg-type]
pods.select(scan="never")  # type: ignore[arg-type]
pods.select(limit="10")  # type: ignore[arg-type]
pods.select(labels="app=web")  # type: ignore[call-arg]
nodes.select(by_node.at("n1"))  # type: ignore[arg-type]

# Look-ups.

assert_type(pods.get("web-1", namespace="prod"), Pod | None)
assert_type(pods.get(ObjectKey("prod", "web-1")), Pod | None)
assert_type(pods.require("web-1", namespace="prod"), Pod)
assert_type(pods.get_many([ObjectKey("prod", "web-1")]), dict[ObjectKey, Pod])
assert_type(list(pods), list[Pod])
assert_type(len(pods), int)
pods.get(("prod", "web-1"))  # type: ignore[arg-type]
pods.get("web-1", "prod")  # type: ignore[call-arg]
pods.get_many(["prod/web-1"])  # type: ignore[list-item]

# Values.

pods.index_values(by_node)
pods.tally(by_labels.key("app"))
pods.tally(NamespaceIndexer())
pods.tally("app")  # type: ignore[arg-type]

# Writes.

assert_type(pods.put(Pod()), tuple[Delta[Pod], ...])
assert_type(pods.delete(ObjectKey("prod", "web-1")), Deleted[Pod] | None)
assert_type(pods.delete(Pod()), Deleted[Pod] | None)
assert_type(pods.replace([Pod(), StaticPod()], "7", namespace="prod"), tuple[Delta[Pod], ...])
pods.put(Node())  # type: ignore[arg-type]
pods.delete(Node())  # type: ignore[arg-type]
pods.replace([Node()])  # type: ignore[list-item]
pods.replace(Pod())  # type: ignore[arg-type]
pods.bookmark(7)  # type: ignore[arg-type]

with pods.transaction() as txn:
    assert_type(txn, Transaction[Pod])
    txn.put(Pod())
    txn.put(Node())  # type: ignore[arg-type]
    assert_type(txn.get("web-1", namespace="prod"), Pod | None)
    assert_type(txn.select(by_node.at("n1")), list[Pod])
    txn.select(by_zone.at("z1"))  # type: ignore[arg-type]
assert_type(txn.deltas, tuple[Delta[Pod], ...])

# A view reads; it has no writes.

view = pods.view()
assert_type(view, StoreView[Pod])
assert_type(view.select(by_node.at("n1")), list[Pod])
view.put(Pod())  # type: ignore[attr-defined]
view.replace([])  # type: ignore[attr-defined]
reads: StoreView[Pod] = pods


def names(delta: Delta[Pod]) -> str:
    """Take a delta apart by ``match``, without a case left over."""
    match delta:
        case Added(new=new):
            assert_type(new, Pod)
            return new.name
        case Updated(old=old, new=new):
            assert_type(old, Pod)
            return old.name + new.name
        case Deleted(old=old):
            return old.name


# LazyObjects are mappings that cannot be edited, and become whatever type is named.

lazy = LazyObject.from_json(b"{}")
as_mapping: Mapping[str, object] = lazy
assert_type(lazy.key, ObjectKey)
assert_type(lazy.metadata.labels, Mapping[str, str])
assert_type(lazy.metadata.owner_references, tuple[OwnerReference, ...])
assert_type(lazy.metadata.deletion_timestamp, str | None)
assert_type(lazy.to(Pod), Pod)
assert_type(lazy.to_dict(), dict[str, Any])
lazy["spec"] = {}  # type: ignore[index]
lazy.raw = b""  # type: ignore[misc]
lazy.metadata.labels["app"] = "web"  # type: ignore[index]
lazy.metadata.name = "x"  # type: ignore[misc]

lazies: Store[LazyObject] = Store(indexers=[by_labels])
lazies.put(lazy)
lazies.put({})  # type: ignore[arg-type]

# Decoders give what their name says, and take transforms of that.

assert_type(LazyDecoder(["spec.nodeName"]).decode_list(b"{}").objects, Sequence[LazyObject])
assert_type(DictDecoder().decode(b"{}"), dict[str, Any])
assert_type(TypeDecoder(Pod).decode(b"{}"), Pod)
LazyDecoder(transform=[strip_managed_fields, keep_paths("spec.nodeName")])
DictDecoder(transform=strip_managed_fields)
DictDecoder(transform=keep_paths("spec.nodeName"))  # type: ignore[arg-type]


def names_in(line: bytes) -> str:
    """Take an event apart by ``match``, without a case left over."""
    match Reading(LazyDecoder()).event(line):
        case ObjectEvent(obj=obj):
            assert_type(obj, LazyObject)
            return obj.name
        case BookmarkEvent(resource_version=version):
            return version or ""
        case ErrorEvent(error=error):
            return error.reason
        case SkippedEvent(key=key):
            return str(key)


# Networking indexers take any object, and say what their values are.

by_config_map = ConfigMapRefIndexer()
assert_type(by_config_map.of(lazy), Term[object])
assert_type(pods.select(by_config_map.of(ObjectKey("prod", "settings")) & by_node.at("n1")), list[Pod])
assert_type(ListenerPortIndexer().values_of(lazy), tuple[int, ...])
assert_type(IngressAnnotationIndexer().values_of(lazy), tuple[tuple[str, str], ...])
assert_type(ClusterIPIndexer().at("10.0.0.1"), Term[object])
assert_type(DomainIndexer(IngressHostIndexer()).below("example.com"), Term[object])
assert_type(RouteParentIndexer().of(lazy, section="https"), Term[object])
assert_type(ServiceSelectorIndexer().holding({"app": "web"}), Term[object])
assert_type(ingress_of(lazy), ObjectKey | None)
ListenerPortIndexer().at("443")  # type: ignore[arg-type]
DomainIndexer(by_config_map)  # type: ignore[arg-type]
IngressHostIndexer().for_host(3)  # type: ignore[arg-type]
