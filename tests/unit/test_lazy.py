"""LazyObject: the object's JSON, whatever it is, read-only and decoded on demand."""

from __future__ import annotations

import copy
import dataclasses
import gc
import json
import pickle
import tracemalloc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings

from kindex import (
    DecodeError,
    InvalidObjectError,
    JsonPath,
    KindexError,
    LazyObject,
    ObjectKey,
    PartialObjectError,
    PathSyntaxError,
    ReadOnlyError,
)
from kindex.decoding import LazyDecoder
from kindex.footprints import object_bytes
from kindex.objects import (
    annotations_of,
    api_version_of,
    key_of,
    kind_of,
    labels_of,
    owner_references_of,
    resource_version_of,
    uid_of,
)
from kindex.paths import field_text, map_at
from kindex.transforms import keep_paths, strip_managed_fields
from tests.json_texts import object_text, path_of
from tests.strategies import randoms, seeded

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

EXAMPLES = 3 * settings().max_examples
"""For each test that draws its own."""

POD: dict[str, Any] = {
    "metadata": {
        "name": "web-1",
        "namespace": "prod",
        "uid": "u-1",
        "resourceVersion": "1234",
        "generation": 3,
        "creationTimestamp": "2026-01-13T18:38:04Z",
        "generateName": "web-",
        "labels": {"app": "web", "a.b/c": "x"},
        "annotations": {"team": "red"},
        "finalizers": ["example.com/guard"],
        "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u-0", "controller": True}
        ],
        "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:status": {}}}],
        "selfLink": "/api/v1/pods/web-1",
    },
    "spec": {"nodeName": "n1", "containers": [{"name": "a", "image": "img-a"}, {"name": "b", "image": "img-b"}]},
    "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}]},
}
TEXT = json.dumps(POD, separators=(",", ":")).encode()
WHOLE = {"apiVersion": "v1", "kind": "Pod", **POD}


def pod(text: bytes = TEXT) -> LazyObject:
    """Make the pod as a list gives it: without kind and apiVersion of its own."""
    return LazyObject.from_json(text, api_version="v1", kind="Pod")


def test_metadata_is_at_hand_under_the_official_names() -> None:
    """What controllers read all the time is an attribute; absent members are None or empty."""
    metadata = pod().metadata

    assert (metadata.name, metadata.namespace, metadata.uid) == ("web-1", "prod", "u-1")
    assert (metadata.resource_version, metadata.generation, metadata.generate_name) == ("1234", 3, "web-")
    assert (metadata.creation_timestamp, metadata.deletion_timestamp) == ("2026-01-13T18:38:04Z", None)
    assert (metadata.labels, metadata.annotations) == (POD["metadata"]["labels"], {"team": "red"})
    assert metadata.finalizers == ("example.com/guard",)
    (owner,) = metadata.owner_references
    assert (owner.api_version, owner.kind, owner.name, owner.uid) == ("apps/v1", "ReplicaSet", "web", "u-0")
    assert (owner.controller, owner.block_owner_deletion) == (True, None)
    assert repr(metadata) == "<Metadata prod/web-1>"
    bare = LazyObject.from_json(b"{}").metadata
    assert (bare.labels, bare.annotations, bare.owner_references, bare.finalizers) == ({}, {}, (), ())
    assert repr(LazyObject.from_dict({"metadata": {"name": "n"}}).metadata) == "<Metadata n>"


def test_identity_is_at_hand() -> None:
    """Key, name, UID, version, kind and API version are attributes of the object itself."""
    obj = pod()

    assert obj.key == ObjectKey("prod", "web-1")
    assert (obj.name, obj.namespace, obj.uid, obj.resource_version) == ("web-1", "prod", "u-1", "1234")
    assert (obj.kind, obj.api_version, obj.partial) == ("Pod", "v1", False)
    assert obj.raw == TEXT
    bare = LazyObject.from_json(b' {"metadata": {"name": "n"}}\n')
    assert (bare.key, bare.uid, bare.resource_version, bare.kind, bare.api_version) == (("", "n"), "", "", "", "")


@pytest.mark.parametrize(
    "text", [b"{}", b'{"metadata": {"name": ""}}', b'{"metadata": {"name": 5}}', b'{"metadata": 5}']
)
def test_an_object_without_a_name_has_no_key(text: bytes) -> None:
    """There is no key with an empty name; the error says which object it was."""
    with pytest.raises(InvalidObjectError, match=r"<LazyObject .*> has no metadata.name"):
        _ = LazyObject.from_json(text).key


def test_it_is_a_mapping_of_the_whole_json() -> None:
    """Kind and apiVersion are filled in everywhere, and sections are decoded where they are asked for."""
    obj = pod()

    assert isinstance(obj, Mapping)
    assert list(obj) == ["apiVersion", "kind", "metadata", "spec", "status"]
    assert len(obj) == 5
    assert (obj["kind"], obj["apiVersion"], obj["spec"]["nodeName"]) == ("Pod", "v1", "n1")
    assert dict(obj) == dict(obj.items()) == WHOLE
    assert list(obj.keys()) == list(WHOLE)
    assert list(obj.values()) == list(WHOLE.values())
    assert [name in obj for name in ("spec", "nothing", cast("str", 5))] == [True, False, False]
    assert (obj.get("nothing"), obj.get("nothing", 7)) == (None, 7)
    with pytest.raises(KeyError, match="nothing"):
        _ = obj["nothing"]
    with pytest.raises(KeyError, match="kind"):
        _ = LazyObject.from_json(b"{}")["kind"]
    assert obj["metadata"]["selfLink"] == "/api/v1/pods/web-1"
    match obj:
        case {"spec": {"nodeName": node}}:
            assert node == "n1"
        case _:
            pytest.fail("no mapping pattern matches it")


def test_paths_are_read_from_what_is_there() -> None:
    """A path gives a value, all values if it is plural, or None, and no path is an error."""
    obj = pod()

    assert obj.path("status.phase") == "Running"
    assert obj.path("spec.containers[*].image") == ("img-a", "img-b")
    assert (obj.path("status.nothing.more"), obj.path("spec.nothing[*]")) == (None, ())
    assert (obj.path("kind"), obj.path("apiVersion"), obj.path("kind.x")) == ("Pod", "v1", None)
    assert (obj.path("metadata.name"), obj.path("metadata['annotations'].team")) == ("web-1", "red")
    assert obj.path("metadata.finalizers[*]") == ("example.com/guard",)
    assert obj.path(JsonPath.parse("spec.nodeName")) == "n1"
    with pytest.raises(PathSyntaxError):
        obj.path("spec.containers[0]")


def test_many_different_paths_leave_no_trace() -> None:
    """Paths with a varying name in them do not pile up readers for ever."""
    obj = pod()
    for number in range(3_000):
        assert obj.path(f"metadata.labels.x{number}") is None
    assert len(obj._layout._readers) <= 1024


def test_many_different_kinds_leave_no_trace() -> None:
    """A decoder forgets what it knows of kinds when somebody sends thousands."""
    decoder = LazyDecoder()
    for number in range(3_000):
        assert decoder.decode(b'{"kind":"K%d"}' % number).kind == f"K{number}"
    assert len(decoder._intake._layouts) <= 1024


EDITS: list[Callable[[Any], object]] = [
    lambda obj: obj.__setitem__("spec", {}),
    lambda obj: setattr(obj, "raw", b""),
    lambda obj: setattr(obj, "nothing", b""),
    lambda obj: delattr(obj, "metadata"),
    lambda obj: setattr(obj.metadata, "name", "x"),
    lambda obj: setattr(obj.metadata, "labels", {}),
    lambda obj: delattr(obj.metadata, "uid"),
    lambda obj: setattr(obj.metadata.owner_references[0], "kind", "x"),
    lambda obj: obj.metadata.labels.__setitem__("app", "x"),
    lambda obj: obj.metadata.annotations.update(app="x"),
    lambda obj: obj["spec"].__setitem__("nodeName", "x"),
    lambda obj: obj["spec"]["containers"].append({}),
    lambda obj: obj["spec"]["containers"][0].pop("name"),
    lambda obj: obj.path("status.podIPs[*]")[0].clear(),
    lambda obj: obj.path("spec").setdefault("x", 1),
]


@pytest.mark.parametrize("number", range(len(EDITS)))
def test_an_edit_is_an_error_that_says_what_to_do(number: int) -> None:
    """Whatever part is edited, it is a TypeError, and nothing has changed."""
    obj = pod()
    with pytest.raises(TypeError) as caught:
        EDITS[number](obj)

    if isinstance(caught.value, KindexError):
        assert isinstance(caught.value, ReadOnlyError)
        assert "to_dict()" in str(caught.value)
    assert obj == WHOLE
    assert obj.metadata.labels == POD["metadata"]["labels"]


def test_setting_an_item_points_at_to_dict() -> None:
    """Also the plainest edit says what to do."""
    obj: Any = pod()
    with pytest.raises(ReadOnlyError, match=r"to_dict\(\)"):
        obj["spec"] = {}
    with pytest.raises(ReadOnlyError, match=r"to_dict\(\)"):
        del obj["spec"]


def test_a_dict_of_it_is_fresh() -> None:
    """Each dict can be edited without another one, or the object, noticing."""
    obj = pod()
    first = obj.to_dict()
    first["spec"]["nodeName"] = "n2"
    first["metadata"]["labels"]["app"] = "db"

    assert obj.to_dict() == WHOLE
    assert type(first["spec"]["containers"]) is list
    assert json.loads(obj.to_json()) == WHOLE


@pytest.mark.parametrize(
    "text", [b"{}", b"{ }", b'{\n"a":1}', b'  {"a" : 1 } ', b'{"kind":"Job"}', b'{"apiVersion":""}']
)
def test_kind_is_filled_in_whatever_the_text_looks_like(text: bytes) -> None:
    """An empty object, spaces, a kind of its own: the whole JSON is right, and its own kind stays."""
    obj = LazyObject.from_json(text, api_version="v1", kind="Pod")

    assert (
        json.loads(obj.to_json())
        == obj.to_dict()
        == {"apiVersion": "v1", "kind": "Pod"} | json.loads(text) | {"apiVersion": "v1"}
    )
    assert obj.kind == obj["kind"] == obj.path("kind") == json.loads(text).get("kind", "Pod")


@pytest.mark.parametrize("odd", [None, 5, "", [], {"a": 1}, True])
def test_a_kind_that_says_nothing_is_replaced(odd: object) -> None:
    """Null, a number or a map is no kind; without another one it is left as it is."""
    text = json.dumps({"kind": odd, "apiVersion": odd, "a": 10**30}).encode()

    assert LazyObject.from_json(text, api_version="v1", kind="Pod") == {"apiVersion": "v1", "kind": "Pod", "a": 10**30}
    assert LazyObject.from_json(text, kind="Pod") == {"apiVersion": odd, "kind": "Pod", "a": 10**30}
    alone = LazyObject.from_json(text)
    assert alone == json.loads(text)
    assert (alone.kind, alone.api_version, alone["kind"], alone.path("kind")) == ("", "", odd, odd)


def test_equality_is_that_of_the_json() -> None:
    """Equal to the same value, however it was written and wherever kind came from; not hashable."""
    other = LazyObject.from_json(json.dumps(WHOLE, indent=2))

    assert pod() == other == WHOLE == pod()
    assert pod() == pod()
    assert pod() != LazyObject.from_json(TEXT)
    assert LazyObject.from_json(TEXT) == POD
    assert pod() != LazyObject.from_json(TEXT, api_version="v1", kind="Job")
    assert pod() != "pod"
    assert pod() != {"kind": "Pod"}
    with pytest.raises(TypeError, match="unhashable"):
        hash(pod())


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"null", b"5", b'"pod"', b'{"a":', b'{"a":1}{', b"\xef\xbb\xbf{}", b"{'a':1}"]
)
def test_what_is_no_object_is_refused(text: bytes) -> None:
    """Anything but the JSON of an object is a DecodeError, which is a ValueError."""
    with pytest.raises(DecodeError, match="an object: "):
        LazyObject.from_json(text)
    with pytest.raises(DecodeError, match="an object: "):
        LazyObject.from_json(text.decode("utf-8", "surrogateescape") + "\ud800")
    assert issubclass(DecodeError, ValueError)


def test_text_nested_too_deep_is_refused() -> None:
    """A recursion limit is a DecodeError, too."""
    with pytest.raises(DecodeError, match="recursion"):
        LazyObject.from_json(b'{"a":' * 100_000)


def test_wrong_text_that_is_met_late_is_a_decode_error() -> None:
    """What is skipped at first is looked at when it is asked for."""
    obj = LazyObject.from_json(b'{"metadata": {"name": "a"}, "spec": {"x": "\xff"}}')
    assert obj.name == "a"
    with pytest.raises(DecodeError, match="spec of <LazyObject a"):
        _ = obj["spec"]
    with pytest.raises(DecodeError):
        obj.path("spec.x")
    with pytest.raises(DecodeError):
        obj.to_dict()
    notes = LazyObject.from_json(b'{"metadata": {"annotations": {"x": "\xff"}, "finalizers": ["\xff"]}}')
    for read in (lambda: notes.metadata.annotations, lambda: notes.metadata.finalizers, lambda: annotations_of(notes)):
        with pytest.raises(DecodeError, match="a part of the metadata"):
            read()


def test_a_dict_makes_one() -> None:
    """Numbers of any size come through; what is no JSON is refused."""
    obj: dict[str, Any] = {"a": 10**30, "b": [1.5, None, True], "é": "\u2028"}
    assert LazyObject.from_dict(obj) == obj
    assert LazyObject.from_dict(pod()) == WHOLE
    for wrong in ({"a": object()}, {"a": {1, 2}, "b": object()}):
        with pytest.raises(DecodeError, match="a dict: "):
            LazyObject.from_dict(wrong)
    loop: dict[str, Any] = {}
    loop["a"] = loop
    with pytest.raises(DecodeError, match="a dict: "):
        LazyObject.from_dict(loop)


def test_copies_and_pickles_are_equal() -> None:
    """A copy is the object itself; a pickle brings everything along, also what was read for indexers."""
    obj = LazyDecoder(["spec.nodeName"]).decode(TEXT, api_version="v1", kind="Pod")
    restored = pickle.loads(pickle.dumps(obj))  # noqa: S301 - our own

    assert copy.copy(obj) is obj
    assert copy.deepcopy(obj) is obj
    assert restored == obj
    assert (restored.key, restored.kind, restored.metadata.labels) == (obj.key, "Pod", obj.metadata.labels)
    assert restored._fields == obj._fields == ("n1",)


def test_a_pickle_of_a_partial_object_is_partial() -> None:
    """What a transform has dropped is still known to be dropped."""
    obj = keep_paths("spec.nodeName")(pod())
    restored = pickle.loads(pickle.dumps(obj))  # noqa: S301 - our own

    assert restored.partial
    assert restored == obj
    for read in (restored.to_dict, lambda: restored.metadata.annotations, lambda: restored.path("status.phase")):
        with pytest.raises(PartialObjectError):
            read()


def test_it_is_not_written_as_json_by_mistake() -> None:
    """Whoever hands it to a JSON writer gets an error, and neither half an object nor its inside."""
    for write in (json.dumps, msgspec.json.encode):
        with pytest.raises(TypeError):
            write(pod())


def test_the_repr_is_short() -> None:
    """A repr names the object and its size, and never fails."""
    assert repr(pod()) == f"<LazyObject v1 Pod prod/web-1, {len(TEXT):,} bytes>"
    assert repr(LazyObject.from_json(b'{"metadata": {"name": 5}}')) == "<LazyObject 5, 25 bytes>"
    assert repr(LazyObject.from_json(b"{}")) == "<LazyObject , 2 bytes>"
    assert repr(keep_paths()(pod())).endswith("bytes, partial>")


# Other representations


class NamedStruct(msgspec.Struct):
    kind: str
    metadata: dict[str, Any]


@dataclasses.dataclass
class NamedDataclass:
    kind: str
    metadata: dict[str, Any]


@attrs.define
class NamedAttrs:
    kind: str
    metadata: dict[str, Any]


class NamedModel(pydantic.BaseModel):
    kind: str
    metadata: dict[str, Any]


@pytest.mark.parametrize("cls", [NamedStruct, NamedDataclass, NamedAttrs, NamedModel])
def test_it_becomes_any_type(cls: type[Any]) -> None:
    """Structs, dataclasses, attrs classes and pydantic models are made of the whole JSON."""
    made = pod().to(cls)

    assert type(made) is cls
    assert (made.kind, made.metadata) == ("Pod", POD["metadata"])
    with pytest.raises(DecodeError, match=rf"<LazyObject a, .* as {cls.__name__}: "):
        LazyObject.from_dict({"metadata": {"name": "a"}}).to(cls)


def test_a_type_of_the_standard_library_will_do() -> None:
    """Generic aliases have no name, and work all the same."""
    assert LazyObject.from_dict({"a": 1}).to(dict[str, int]) == {"a": 1}
    with pytest.raises(DecodeError, match=r"as dict"):
        LazyObject.from_dict({"a": "x"}).to(dict[str, int])


def test_it_becomes_a_model_of_the_official_client() -> None:
    """By the model's name, with kind; a name that the client lacks and a wrong object are DecodeErrors."""
    made = pod().to_model("V1Pod")

    assert (made.kind, made.metadata.name, made.spec.node_name) == ("Pod", "web-1", "n1")
    assert made.spec.containers[1].image == "img-b"
    assert made.metadata.creation_timestamp.year == 2026
    for name in ("V1Nothing", "__name__"):
        with pytest.raises(DecodeError, match="the client has none of this name"):
            pod().to_model(name)
    with pytest.raises(DecodeError, match="as V1Pod"):
        LazyObject.from_dict({"spec": {"containers": "none"}}).to_model("V1Pod")


def test_the_older_clients_are_used_as_they_want_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to client 36 a model cannot be made of a dict; the client itself does it, of a response."""

    class OldModel:
        """Has no from_dict."""

    class OldClient:
        def deserialize(self, response: Any, name: str) -> Any:
            return name, json.loads(response.data)

    from kindex.sources import official_models

    monkeypatch.setattr(official_models.client, "V1Old", OldModel, raising=False)
    monkeypatch.setattr(official_models, "_api_client", OldClient)
    assert pod().to_model("V1Old") == ("V1Old", WHOLE)


def test_the_client_that_deserializes_is_made_once() -> None:
    """Whoever converts thousands of objects makes one client, and opens no connection."""
    from kindex.sources import official_models

    assert official_models._api_client() is official_models._api_client()


# Partial objects


@pytest.mark.parametrize(
    "whole",
    [
        LazyObject.to_dict,
        LazyObject.to_json,
        lambda obj, **given: obj.to(NamedStruct, **given),
        lambda obj, **given: obj.to_model("V1Pod", **given),
    ],
)
def test_a_partial_object_says_so_before_it_is_written_back(whole: Callable[..., Any]) -> None:
    """All that gives the whole object refuses, unless the caller says that parts are enough."""
    obj = keep_paths("spec.containers", "metadata.labels")(pod())

    with pytest.raises(PartialObjectError, match="written back, it would delete that; partial=True gives what is left"):
        whole(obj)
    assert whole(obj, partial=True)


def test_what_was_dropped_is_an_error_wherever_it_is_read() -> None:
    """A section, a path, a membership: nothing looks absent that is only dropped."""
    obj = keep_paths("spec.nodeName")(pod())

    assert (obj.path("spec.nodeName"), obj.metadata.labels["app"], obj.key.name) == ("n1", "web", "web-1")
    assert obj.metadata.owner_references
    assert obj.metadata.finalizers
    assert obj.to_dict(partial=True)["spec"] == {"nodeName": "n1"}
    reads: list[Callable[[], object]] = [
        lambda: obj["status"],
        lambda: obj["spec"],
        lambda: obj.get("status"),
        lambda: "status" in obj,
        lambda: obj.path("status.phase"),
        lambda: obj.path("spec"),
        lambda: obj.metadata.annotations,
        lambda: annotations_of(obj),
        lambda: JsonPath.parse("status.phase").first(obj),
    ]
    for read in reads:
        with pytest.raises(PartialObjectError, match="a transform dropped"):
            read()


def test_a_part_of_what_was_dropped_can_be_kept() -> None:
    """One annotation is kept and read by its path, though the annotations are not all there."""
    obj = keep_paths("metadata.annotations.team")(pod())

    assert obj.path("metadata.annotations.team") == "red"
    with pytest.raises(PartialObjectError):
        obj.path("metadata.annotations")
    with pytest.raises(PartialObjectError):
        _ = obj.metadata.annotations


# Reading, as a store reads


READS: list[Callable[[Any], Any]] = [
    key_of,
    labels_of,
    annotations_of,
    owner_references_of,
    uid_of,
    resource_version_of,
    api_version_of,
    kind_of,
]


def outcome(read: Callable[[Any], Any], obj: object) -> object:
    """Give what *read* gives, or the kind of its error."""
    try:
        found = read(obj)
    except KindexError as error:
        return type(error)
    return dict(found) if isinstance(found, Mapping) else list(found) if isinstance(found, (list, tuple)) else found


def compare(random: Random) -> None:
    text = object_text(random)
    given = {"api_version": random.choice(["", "v1"]), "kind": random.choice(["", "Pod", "PodList"])}
    expected = json.loads(text)
    for name, filled in (("apiVersion", given["api_version"]), ("kind", given["kind"])):
        if filled and (not isinstance(expected.get(name), str) or not expected[name]):
            expected[name] = filled
    asked = [JsonPath(*path_of(random)) for _ in range(3)]
    obj = LazyDecoder(asked[:2]).decode(text.encode(), **given)

    assert obj == expected
    assert {name: repr(value) for name, value in obj.to_dict().items()} == {n: repr(v) for n, v in expected.items()}
    assert sorted(obj) == sorted(expected)
    assert all(obj[name] == value for name, value in expected.items())
    assert json.loads(obj.to_json()) == expected
    for path in asked:
        assert repr((path.first(obj), path.values(obj))) == repr((path.first(expected), path.values(expected)))
        assert field_text(obj, path) == field_text(expected, path)
        assert obj.path(str(path)) == (path.values(expected) if path.plural else path.first(expected))
        assert path.plural or map_at(path)(obj) == map_at(path)(expected)
    for read in READS:
        assert outcome(read, obj) == outcome(read, expected)
    assert (object_bytes(obj) or 0) > len(obj.raw)


@given(randoms)
def test_it_is_read_as_the_dict_of_the_same_json_is(random: Random) -> None:
    """Any JSON, with unicode, escapes, names twice, huge numbers and nulls anywhere, gives what a dict of it gives."""
    compare(random)


def test_the_same_of_many_more_objects() -> None:
    """As above, without shrinking, so that there is time for more."""
    for number in range(EXAMPLES):
        compare(seeded(number))


def test_what_is_read_for_indexers_is_read_without_decoding() -> None:
    """A value at a path that the decoder knew is at hand: the same one each time."""
    obj = LazyDecoder(["spec.nodeName", "spec.containers[*].image"]).decode(TEXT)
    node, images = JsonPath.parse("spec.nodeName"), JsonPath.parse("spec.containers[*].image")

    assert node.first(obj) is node.first(obj)
    assert images.values(obj) is images.values(obj)
    assert images.first(obj) == "img-a"
    other = JsonPath.parse("status.phase")
    assert other.first(obj) is not other.first(obj)


# Memory


def test_the_collector_has_nothing_to_visit() -> None:
    """Neither the object nor its metadata is tracked, and its labels only if they hold more than text."""
    obj = pod()
    assert not any(map(gc.is_tracked, (obj, obj.metadata, labels_of(obj), obj.raw)))


def test_what_it_takes_is_counted() -> None:
    """JSON, metadata and values read for indexers are counted; a dict of the same takes several times as much."""
    obj, small = pod(), LazyObject.from_json(b'{"metadata":{"name":"a"}}')
    counted = object_bytes(obj)
    indexed = object_bytes(LazyDecoder(["spec.nodeName", "spec"]).decode(TEXT))
    stripped = object_bytes(strip_managed_fields(obj))
    as_dict = object_bytes(obj.to_dict())

    assert small is not None
    assert counted is not None
    assert indexed is not None
    assert stripped is not None
    assert as_dict is not None
    assert len(TEXT) < counted < indexed
    assert counted < as_dict
    assert object_bytes("text") is None
    numbers = object_bytes({"a": [1.5, 10**6, 7, None, True, ""], "b" * 40: ()})
    assert numbers is not None
    assert numbers > (object_bytes({"a": [0, 0, 0, None, True, ""], "b": ()}) or 0)
    assert object_bytes(small) == object_bytes(LazyObject.from_json(b'{"metadata":{"name":"b"}}'))


@pytest.mark.parametrize("stripped", [False, True])
def test_what_is_counted_is_what_is_allocated(stripped: bool) -> None:
    """The sum over many objects is within a tenth of what Python's allocators were asked for."""
    texts = []
    for number in range(300):
        obj = copy.deepcopy(POD)
        labels = {"app": f"a{number}", "tier": f"tier of {number}"}
        obj["metadata"] |= {"name": f"web-{number}", "uid": f"{number:036}", "labels": labels}
        texts.append(json.dumps(obj, separators=(",", ":")).encode())
    decoder = LazyDecoder(["spec.nodeName"], transform=strip_managed_fields if stripped else None)
    decoder.decode(texts[0])
    gc.collect()
    tracemalloc.start()
    objects = [decoder.decode(bytes(bytearray(text))) for text in texts]
    traced = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert sum(object_bytes(obj) or 0 for obj in objects) == pytest.approx(traced, rel=0.1)
