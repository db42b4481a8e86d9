"""One pod, and one network policy, as every client has them: the same members everywhere."""

from __future__ import annotations

import copy
import dataclasses
import gc
import warnings
import weakref
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import attrs
import msgspec
import pytest

from kindex.members import map_of, member_of
from kindex.objects import (
    annotations_of,
    api_version_of,
    key_of,
    kind_of,
    labels_of,
    owner_references_of,
    resource_version_of,
    text_of,
    uid_of,
)
from kindex.paths import JsonPath, field_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "web-1",
        "namespace": "prod",
        "uid": "u-1",
        "resourceVersion": "1234",
        "creationTimestamp": "2026-01-13T18:38:04Z",
        # The odd keys are names that an attribute of some client's object has too.
        "labels": {"app": "web", "a.b/c": "x", "items": "i", "to_dict": "d", "get": "g"},
        "annotations": {"team": "red"},
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-0", "controller": True}
        ],
    },
    "spec": {
        "nodeName": "n1",
        "hostNetwork": True,
        "terminationGracePeriodSeconds": 30,
        "containers": [
            {"name": "a", "image": "img-a", "ports": [{"containerPort": 80}]},
            {"name": "b", "image": "img-b"},
        ],
    },
    "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
}
POLICY: dict[str, Any] = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "deny", "namespace": "prod"},
    "spec": {
        "podSelector": {},
        "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
    },
}


class PlainModel:
    """Shaped like a model of the official client up to 36: a class with maps, properties and underscored state."""

    openapi_types: Mapping[str, str] = {}
    attribute_map: Mapping[str, str] = {}

    def to_dict(self) -> dict[str, Any]:
        """Exist, as on the real models; reading must not need it."""
        raise NotImplementedError


def plain_model(members: Mapping[str, object]) -> object:
    """Make a stand-in for an official model with these members, under its snake_case names."""
    snake = {"nodeName": "node_name", "from": "_from", "except": "_except", "podIP": "pod_ip", "podIPs": "pod_i_ps"}
    snake |= {"resourceVersion": "resource_version", "ownerReferences": "owner_references", "apiVersion": "api_version"}
    snake |= {"creationTimestamp": "creation_timestamp", "hostNetwork": "host_network", "ipBlock": "ip_block"}
    snake |= {"containerPort": "container_port", "podSelector": "pod_selector"}
    attribute_map = {snake.get(member, member): member for member in members}
    attributes: dict[str, object] = {
        attribute: property(lambda self, hidden=f"_hidden_{attribute}": getattr(self, hidden))
        for attribute in attribute_map
    }
    cls = type("V1Any", (PlainModel,), {"attribute_map": attribute_map, **attributes})
    model = cls()
    for attribute, member in attribute_map.items():
        value = members[member]
        setattr(model, f"_hidden_{attribute}", value if member in ("labels", "annotations") else as_plain_models(value))
    return model


def as_plain_models(value: object) -> object:
    """Turn dicts into stand-ins for official models, all the way down."""
    if isinstance(value, dict):
        return plain_model(value)
    return [as_plain_models(item) for item in value] if isinstance(value, list) else value


def as_official_model(obj: dict[str, Any]) -> object:
    """Give what the installed official client makes of the object."""
    from kubernetes import client

    response = SimpleNamespace(data=msgspec.json.encode(obj).decode())
    model = getattr(client, f"V1{obj['kind']}")
    return model.from_dict(obj) if hasattr(model, "from_dict") else client.ApiClient().deserialize(response, model)


def as_kopf_body(obj: dict[str, Any]) -> object:
    """Give the body that kopf hands to handlers."""
    import kopf

    return kopf.Body(obj)  # type: ignore[arg-type]  # a TypedDict of its own


def as_kr8s_object(obj: dict[str, Any]) -> object:
    """Give kr8s's object; the asyncio one, which needs no connection."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what kr8s warns of at import is not ours
        from kr8s.asyncio import objects
    return getattr(objects, obj["kind"])(obj)


def as_lightkube_object(obj: dict[str, Any]) -> object:
    """Give lightkube's typed object."""
    from lightkube import codecs

    return codecs.from_dict(obj)


def as_lightkube_generic(obj: dict[str, Any]) -> object:
    """Give lightkube's object of a kind it has no class for: a dict whose metadata is typed."""
    from lightkube.generic_resource import create_namespaced_resource
    from lightkube.models.meta_v1 import ObjectMeta

    generic = create_namespaced_resource("example.test", "v1", "Thing", "things")
    return generic(obj | {"metadata": ObjectMeta.from_dict(obj["metadata"])})


def as_resource_instance(obj: dict[str, Any]) -> object:
    """Give the dynamic client's object."""
    from kubernetes.dynamic.resource import ResourceInstance

    return ResourceInstance(None, obj)


def as_resource_field(obj: dict[str, Any]) -> object:
    """Give the dynamic client's object as an item of its list."""
    from kubernetes.dynamic.resource import ResourceInstance

    return ResourceInstance(None, {"kind": "PodList", "apiVersion": "v1", "items": [obj]}).items[0]


def as_namespaces(obj: object) -> object:
    """Turn dicts into objects with snake_case attributes, as a hand-written class has them; maps stay."""
    if isinstance(obj, dict):
        snake = {"nodeName": "node_name", "podIPs": "pod_ips", "podIP": "pod_ip", "hostNetwork": "host_network"}
        return SimpleNamespace(
            **{
                snake.get(name, name): value if name in ("labels", "annotations") else as_namespaces(value)
                for name, value in obj.items()
            }
        )
    return [as_namespaces(item) for item in obj] if isinstance(obj, list) else obj


CLIENTS: dict[str, Callable[[dict[str, Any]], object]] = {
    "dict": lambda obj: obj,
    "official": as_official_model,
    "official to 36": as_plain_models,
    "kopf": as_kopf_body,
    "kr8s": as_kr8s_object,
    "lightkube": as_lightkube_object,
    "lightkube generic": as_lightkube_generic,
    "dynamic": as_resource_instance,
    "dynamic item": as_resource_field,
    "own class": as_namespaces,
}


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest) -> Callable[[dict[str, Any]], object]:
    """Give, for each client, what makes its object of a dict; the dict is not shared."""
    make = CLIENTS[request.param]
    return lambda obj: make(copy.deepcopy(obj))


def test_identity_is_the_same_in_every_client(client: Callable[[dict[str, Any]], object]) -> None:
    """Key, UID, resource version, API version and kind do not depend on the client."""
    pod = client(POD)
    assert key_of(pod) == ("prod", "web-1")
    assert uid_of(pod) == "u-1"
    assert resource_version_of(pod) == "1234"
    assert api_version_of(pod) == "v1"
    assert kind_of(pod) == "Pod"


def test_labels_are_the_same_in_every_client(client: Callable[[dict[str, Any]], object]) -> None:
    """Labels and annotations are maps with a get, also under names that the client's object has itself."""
    pod = client(POD)
    assert dict(labels_of(pod)) == POD["metadata"]["labels"]
    assert [labels_of(pod).get(key) for key in ("app", "a.b/c", "absent")] == ["web", "x", None]
    assert dict(annotations_of(pod)) == {"team": "red"}


def test_owner_references_are_the_same_in_every_client(client: Callable[[dict[str, Any]], object]) -> None:
    """Owners are a sequence whose items are read by JSON name."""
    (owner,) = owner_references_of(client(POD))
    assert [member_of(owner, name) for name in ("kind", "name", "uid", "controller")] == [
        "ReplicaSet",
        "web",
        "u-0",
        True,
    ]
    assert text_of(member_of(owner, "apiVersion")) == "apps/v1"


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("spec.nodeName", ["n1"]),
        ("spec.hostNetwork", ["true"]),
        ("status.podIP", ["10.0.0.1"]),
        ("status.podIPs[*].ip", ["10.0.0.1"]),
        ("spec.containers[*].image", ["img-a", "img-b"]),
        ("metadata.creationTimestamp", ["2026-01-13T18:38:04Z"]),
        ("metadata.labels['a.b/c']", ["x"]),
        ("metadata.labels.items", ["i"]),
        ("metadata.labels.get", ["g"]),
        ("metadata.labels.absent", []),
        ("metadata.labels.keys", []),
        ("spec.to_dict", []),
        ("spec.absent.more", []),
        ("metadata.annotations.team", ["red"]),
    ],
)
def test_paths_are_the_same_in_every_client(
    client: Callable[[dict[str, Any]], object], path: str, texts: list[str]
) -> None:
    """A JSON path finds one and the same value in every client's object."""
    pod = client(POD)
    assert [text_of(value) for value in JsonPath.parse(path).values(pod)] == texts


def test_json_names_that_are_python_keywords(client: Callable[[dict[str, Any]], object]) -> None:
    """``from`` and ``except`` are found where a client had to rename them."""
    policy = client(POLICY)
    blocks = "spec.ingress[*].from[*].ipBlock"
    assert JsonPath.parse(f"{blocks}.cidr").values(policy) == ("10.0.0.0/8",)
    assert JsonPath.parse(f"{blocks}.except[*]").values(policy) == ("10.1.0.0/16",)


def test_an_object_with_nothing_but_a_name(client: Callable[[dict[str, Any]], object]) -> None:
    """What is missing is empty in every client: no labels, no namespace, no field."""
    bare = client({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1"}})
    assert key_of(bare) == ("", "web-1")
    assert dict(labels_of(bare)) == dict(annotations_of(bare)) == {}
    assert tuple(owner_references_of(bare)) == ()
    assert uid_of(bare) == resource_version_of(bare) == ""
    assert field_text(bare, JsonPath.parse("spec.nodeName")) == ""


def test_reading_changes_nothing(client: Callable[[dict[str, Any]], object]) -> None:
    """Reading twice gives the same, and the labels handed out are not copies that differ."""
    pod = client(POD)
    before = [dict(labels_of(pod)), key_of(pod), kind_of(pod)]
    JsonPath.parse("status.absent.more").first(pod)
    assert [dict(labels_of(pod)), key_of(pod), kind_of(pod)] == before


def test_a_dataclass_is_read_by_json_name() -> None:
    """Attributes with JSON names, with a "json" entry, and in snake_case are all found."""

    @dataclasses.dataclass
    class Part:
        nodeName: str  # noqa: N815 - as JSON spells it
        from_: str = dataclasses.field(metadata={"json": "from"})
        host_ip: str = "h"

    part = Part("n1", "f")
    assert [member_of(part, name) for name in ("nodeName", "from", "hostIP", "absent")] == ["n1", "f", "h", None]


def test_an_attrs_class_is_read_by_json_name() -> None:
    """Classes made by attrs are read as dataclasses are, with or without slots."""

    @attrs.define
    class Part:
        node_name: str
        continue_: str = attrs.field(metadata={"json": "continue"})

    part = Part("n1", "c")
    assert [member_of(part, name) for name in ("nodeName", "continue", "absent")] == ["n1", "c", None]


def test_a_msgspec_struct_is_read_by_its_encoded_names() -> None:
    """Renamed fields are found by their JSON name, and an unset one is missing."""

    class Part(msgspec.Struct, rename="camel"):
        node_name: str
        from_: str = msgspec.field(name="from")
        phase: str | msgspec.UnsetType = msgspec.UNSET

    part = Part("n1", "f")
    assert [member_of(part, name) for name in ("nodeName", "from", "phase", "absent")] == ["n1", "f", None, None]


def test_a_pydantic_model_is_read_by_its_aliases() -> None:
    """Every kind of alias counts, snake_case does without, and extra members are found."""
    pydantic = pytest.importorskip("pydantic")

    class Part(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        model_config = pydantic.ConfigDict(extra="allow")
        node: str = pydantic.Field(alias="nodeName")
        ip: str = pydantic.Field(serialization_alias="podIP")
        read: str = pydantic.Field(validation_alias="readFrom")
        host_ip: str

    part = Part(nodeName="n1", ip="i", readFrom="r", host_ip="h", newField="x")
    names = ("nodeName", "podIP", "readFrom", "hostIP", "newField", "absent", "model_dump")
    assert [member_of(part, name) for name in names] == ["n1", "i", "r", "h", "x", None, None]


class Own:
    """A hand-written object: attributes, a constant, a method and properties."""

    kind = "Pod"

    def __init__(self) -> None:
        self.spec = {"nodeName": "n1"}
        self.status = None

    def labels(self) -> str:
        """Be a method with the name of a member."""
        raise AssertionError

    @property
    def broken(self) -> str:
        """Fail, as a property may."""
        message = "from the object"
        raise RuntimeError(message)


@pytest.mark.parametrize("name", ["labels", "status", "absent", "__class__", "__dict__", "__doc__", "__module__"])
def test_methods_and_python_s_own_attributes_are_no_members(name: str) -> None:
    """A method is not called and is no value; what every Python object has is none either."""
    assert member_of(Own(), name) is None


def test_attributes_and_constants_are_members() -> None:
    """An attribute is a member, and so is a constant of the class."""
    assert member_of(Own(), "spec") == {"nodeName": "n1"}
    assert member_of(Own(), "kind") == "Pod"


def test_what_an_object_raises_comes_through() -> None:
    """An object that fails when read is not mistaken for one without the member."""
    with pytest.raises(RuntimeError, match="from the object"):
        member_of(Own(), "broken")


def test_a_raw_property_that_is_no_map_is_passed_over() -> None:
    """Only a raw map stands for the object; other objects with a raw are read by attribute."""

    class Message:
        spec = "s"

        @property
        def raw(self) -> bytes:
            return b"{}"

    assert member_of(Message(), "spec") == "s"


def test_a_subscriptable_object_without_the_member() -> None:
    """A KeyError is a missing member, and a to_dict that gives no map an empty map."""

    class Field:
        def __getitem__(self, name: str) -> object:
            return {"spec": "s"}[name]

        def to_dict(self) -> object:
            return None

    assert [member_of(Field(), name) for name in ("spec", "absent")] == ["s", None]
    assert dict(map_of(Field())) == {}


@pytest.mark.parametrize("value", [None, "text", 7, ["a"], ("a", "b"), {"a"}, Own()])
def test_what_is_no_map_is_an_empty_map(value: object) -> None:
    """Labels that are no map are no labels, and the empty map cannot be written to."""
    empty = map_of(value)
    assert dict(empty) == {}
    assert not hasattr(empty, "__setitem__")


def test_types_made_at_run_time_can_go_again() -> None:
    """What is remembered of a type is bounded, so types that come and go do not pile up."""
    first = type("Made", (SimpleNamespace,), {})
    assert member_of(first(spec="s"), "spec") == "s"
    gone = weakref.ref(first)
    del first
    for _ in range(600):
        member_of(type("Made", (SimpleNamespace,), {})(), "spec")
    gc.collect()
    assert gone() is None
