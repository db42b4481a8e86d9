"""Decoders: lists, events and objects as an API server sends them, right or broken."""

from __future__ import annotations

import dataclasses
import gc
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pydantic
import pytest

from kindex import DecodeError, FieldIndexer, InvalidObjectError, JsonPath, LazyObject, Store
from kindex.decoding import Decoder, DictDecoder, LazyDecoder, TypeDecoder
from kindex.transforms import keep_paths, strip_managed_fields

if TYPE_CHECKING:
    from collections.abc import Callable


class Pod(msgspec.Struct):
    kind: str
    metadata: dict[str, Any]
    apiVersion: str = ""  # noqa: N815 - JSON's name


class StrictMetadata(msgspec.Struct):
    name: str
    resourceVersion: str = ""  # noqa: N815 - JSON's name


class StrictPod(msgspec.Struct):
    metadata: StrictMetadata
    replicas: int


MAKERS: dict[str, Callable[[], Decoder[Any]]] = {
    "lazy": LazyDecoder,
    "paths": lambda: LazyDecoder(["spec.nodeName", "spec.containers[*].image"]),
    "dict": DictDecoder,
    "type": lambda: TypeDecoder(Pod),
}
every_decoder = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())


def name_of(obj: Any) -> str:
    return str(obj.metadata["name"] if isinstance(obj, Pod) else obj["metadata"]["name"])


def kind_of(obj: Any) -> tuple[str, str]:
    return (obj.apiVersion, obj.kind) if isinstance(obj, Pod) else (obj["apiVersion"], obj["kind"])


def item(name: str, **more: object) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "prod"}, **more}


def listed(*items: object, kind: str = "PodList", **metadata: object) -> bytes:
    return json.dumps({"kind": kind, "apiVersion": "v1", "metadata": metadata, "items": items}).encode()


# Lists


@every_decoder
def test_a_list_is_decoded_with_what_stands_around_it(make: Callable[[], Decoder[Any]]) -> None:
    """Items get the list's kind; version, continue token and count of the rest come along."""
    body = listed(item("a"), item("b"), resourceVersion="7", remainingItemCount=3, **{"continue": "next"})
    page = make().decode_list(body)

    assert [name_of(obj) for obj in page.objects] == ["a", "b"]
    assert {kind_of(obj) for obj in page.objects} == {("v1", "Pod")}
    assert (page.resource_version, page.continuation) == ("7", "next")


@every_decoder
@pytest.mark.parametrize(
    "body",
    [
        listed(),
        b'{"items": null, "kind": "PodList"}',  # as Go writes a list that was never made
        b'{"items": [], "kind": "PodList", "metadata": null}',
        b'{"items": [], "metadata": {"remainingItemCount": "many", "continue": null, "resourceVersion": null}}',
    ],
)
def test_an_empty_list_is_a_list(make: Callable[[], Decoder[Any]], body: bytes) -> None:
    """Nothing in it, null in it, odd metadata: no objects, no version, no more parts."""
    page = make().decode_list(body)
    assert (page.objects, page.resource_version, page.continuation) == ([], "", "")


@every_decoder
def test_items_that_have_a_kind_keep_it(make: Callable[[], Decoder[Any]]) -> None:
    """A List of kubectl's holds all kinds, and custom resources come with their own kind."""
    mixed = listed(item("a", kind="Job", apiVersion="batch/v1"), item("b", kind="Pod", apiVersion="v1"), kind="List")
    assert [kind_of(obj) for obj in make().decode_list(mixed).objects] == [("batch/v1", "Job"), ("v1", "Pod")]

    custom = json.loads(listed(item("a", kind="Gateway", apiVersion="x/v1"), kind="GatewayList"))
    page = make().decode_list(json.dumps({**custom, "apiVersion": "x/v1"}).encode())
    assert [kind_of(obj) for obj in page.objects] == [("x/v1", "Gateway")]


def test_a_list_of_metadata_is_accepted() -> None:
    """PartialObjectMetadataList is a list like any other."""
    page = LazyDecoder().decode_list(listed(item("a"), kind="PartialObjectMetadataList"))
    assert [(obj.kind, obj.name) for obj in page.objects] == [("PartialObjectMetadata", "a")]


STATUS = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "pods is forbidden"}


@every_decoder
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (json.dumps(STATUS).encode(), "a Status instead of a list: 403 Forbidden: pods is forbidden"),
        (json.dumps(item("a", kind="Pod")).encode(), "Pod instead of a list: it has no items"),
        (b"{}", "an object without kind instead of a list: it has no items"),
        (b'{"kind": "PodList", "items": {}}', "its items are no list"),
        (b'{"kind": "PodList", "items": 5}', "its items are no list"),
        (b'{"kind": "Table", "rows": []}', "a Table: its rows are for people"),
        (b'{"kind": "Table", "items": []}', "a Table: its rows are for people"),
        (b"[]", "a list .*: Expected `object`, got `array`"),
        (b"", "a list .*: Input data was truncated"),
        (b"<html>Bad gateway</html>", "a list .*<html>Bad gateway.*: JSON is malformed"),
        (b'{"kind": "PodList", "items": []} trailing', "trailing characters"),
    ],
)
def test_what_is_no_list_is_refused(make: Callable[[], Decoder[Any]], body: bytes, reason: str) -> None:
    """The error says what came instead."""
    with pytest.raises(DecodeError, match=reason):
        make().decode_list(body)


BROKEN_ITEMS = [
    (b"5", r"item 1 of PodList: Expected `object`, got `int`"),
    (b"null", r"item 1 of PodList: Expected `object`, got `null`"),
    (b"[]", r"item 1 of PodList: Expected `object`, got `array`"),
    (b'{"metadata": {"name": "bad", "labels": {"a": "\xff"}}}', r"item 1 of PodList \(bad\): .*UTF-8|utf-8"),
    (b'{"metadata": {"name": "bad"}, "spec": {"a" 5}}', r"item 1 of PodList \(bad\): JSON is malformed"),
    (b'{"metadata": {"name": "bad"', r"item 1 of PodList \(bad\): "),
    (b'{"metadata": {"name": "bad", "uid": "\\ud800"}}', r"item 1 of PodList \(bad\): "),
    (b"{,}", r"item 1 of PodList: JSON is malformed"),
]


@every_decoder
@pytest.mark.parametrize(("broken", "reason"), BROKEN_ITEMS)
def test_a_broken_item_fails_the_list(make: Callable[[], Decoder[Any]], broken: bytes, reason: str) -> None:
    """The error tells its position, and its name where it can be read; never is half a list given."""
    good = json.dumps(item("good")).encode()
    body = b'{"kind": "PodList", "apiVersion": "v1", "items": [%b , %b, %b]}' % (good, broken, good)

    with pytest.raises(DecodeError, match=reason) as caught:
        make().decode_list(body)
    assert caught.value.position == 1


def test_a_body_that_ends_early_names_the_item() -> None:
    """A connection that broke in the middle of an item is told apart from a wrong list."""
    body = listed(item("a"), item("b"))
    with pytest.raises(DecodeError, match="item 1 of PodList") as caught:
        LazyDecoder().decode_list(body[:-40])
    assert caught.value.position == 1
    with pytest.raises(DecodeError, match="a list") as caught:
        LazyDecoder().decode_list(body[:-1])
    assert caught.value.position is None


def test_an_item_does_not_keep_the_body() -> None:
    """Each object has bytes of its own, so the body can go."""
    body = listed(*(item(f"p{number}", spec={"x": "y" * 1_000}) for number in range(50)))
    (obj, *_) = LazyDecoder().decode_list(body).objects

    assert obj.raw in body
    assert len(obj.raw) < 1_200
    assert gc.get_referrers(body) == [] or all(body is not each for each in gc.get_referents(obj.raw))


@pytest.mark.parametrize("was_enabled", [True, False])
def test_the_collector_is_paused_and_comes_back(was_enabled: bool) -> None:
    """Lists of dicts are decoded with the collector off, also if one fails; where it was off it stays off."""
    seen = []

    def look(obj: dict[str, Any]) -> dict[str, Any]:
        seen.append(gc.isenabled())
        return obj

    decoder = DictDecoder(transform=look)
    before = gc.isenabled()
    (gc.enable if was_enabled else gc.disable)()
    try:
        decoder.decode_list(listed(item("a")))
        assert gc.isenabled() is was_enabled
        with pytest.raises(DecodeError):
            decoder.decode_list(listed(5))
        assert gc.isenabled() is was_enabled
    finally:
        (gc.enable if before else gc.disable)()
    assert seen == [False]


# Objects


def test_values_that_indexers_read_are_decoded_in_the_same_pass() -> None:
    """A store files a LazyObject under what its decoder has read, without decoding it again."""
    by_node, by_image = FieldIndexer("spec.nodeName"), FieldIndexer("spec.containers[*].image")
    decoder = LazyDecoder([*by_node.paths, "spec.containers[*].image"])
    spec = {"nodeName": "n1", "containers": [{"image": "a"}, {}, {"image": "b"}]}
    page = decoder.decode_list(listed(item("a", spec=spec), item("b", spec=None), item("c")))
    store: Store[LazyObject] = Store(indexers=[by_node, by_image])
    store.replace(page.objects)

    assert [obj.name for obj in store.select(by_node.at("n1"))] == ["a"]
    assert store.tally(by_image) == {"a": 1, "b": 1}
    assert decoder.misfits == 1
    assert page.objects[0]._fields == ("n1", ("a", "b"))


def test_one_path_given_twice_is_one() -> None:
    """Paths may be text or parsed, and repeat."""
    obj = LazyDecoder(["spec.a", JsonPath.parse("spec['a']"), "metadata.name"]).decode(b'{"spec": {"a": 1}}')
    assert obj._fields == (1,)


def test_odd_metadata_is_counted() -> None:
    """An object whose metadata is no map is taken as it is."""
    decoder = LazyDecoder()
    assert decoder.decode(b'{"metadata": [1]}') == {"metadata": [1]}
    assert (decoder.misfits, DictDecoder().misfits) == (1, 0)


def test_what_is_taken_before_a_transform_is_looked_at() -> None:
    """Wrong text that would otherwise be skipped is a DecodeError where an index needs it."""
    decoder = LazyDecoder(["metadata.selfLink"], transform=keep_paths())
    assert decoder.decode(b'{"metadata": {"selfLink": "/x"}}')._fields == ("/x",)
    with pytest.raises(DecodeError, match="an object: "):
        decoder.decode(b'{"metadata": {"selfLink": "\xff"}}')


def test_a_transform_that_gives_no_object_is_an_error() -> None:
    """A forgotten return is said at once, with the name of the transform."""

    def forgetful(obj: LazyObject) -> LazyObject:
        del obj
        return None  # type: ignore[return-value]  # what is tested

    with pytest.raises(InvalidObjectError, match=r"forgetful.* gave None, not a LazyObject"):
        LazyDecoder(transform=forgetful).decode(b"{}")


@pytest.mark.parametrize("kind", [None, 5, "", {}])
def test_a_dict_gets_a_kind_where_it_has_none(kind: object) -> None:
    """As a LazyObject does; its own kind stays."""
    decoder = DictDecoder()
    text = json.dumps({"kind": kind, "metadata": {}}).encode()

    assert decoder.decode(text, api_version="v1", kind="Pod") == {"apiVersion": "v1", "kind": "Pod", "metadata": {}}
    assert decoder.decode(text) == {"kind": kind, "metadata": {}}
    own = b'{"kind": "Job", "apiVersion": "batch/v1"}'
    assert decoder.decode(own, api_version="v1", kind="Pod") == {"kind": "Job", "apiVersion": "batch/v1"}


@pytest.mark.parametrize("text", [b"", b"[]", b"5", b'{"a":', b'{"kind": "Table"}', b'{"a": "\xff"}'])
def test_a_dict_is_made_of_an_object_only(text: bytes) -> None:
    """Anything else is a DecodeError."""
    with pytest.raises(DecodeError):
        DictDecoder().decode(text)


def test_dicts_are_stripped_too() -> None:
    """The transform that an informer has by default takes dicts as well."""
    text = b'{"metadata": {"name": "a", "managedFields": []}}'
    assert DictDecoder(transform=[strip_managed_fields]).decode(text) == {"metadata": {"name": "a"}}


@dataclasses.dataclass
class DataPod:
    metadata: dict[str, Any]
    replicas: int


class PydanticPod(pydantic.BaseModel):
    metadata: dict[str, Any]
    replicas: int


@pytest.mark.parametrize("cls", [StrictPod, DataPod, PydanticPod])
def test_an_object_that_is_not_of_the_type_can_be_left_out(cls: type[Any]) -> None:
    """With "skip" it is counted and the others come; with "raise" the list fails, and says which item it was."""
    body = listed(item("a", replicas=1), item("b", replicas="many"), item("c", replicas=3))
    with pytest.raises(DecodeError, match=r"item 1 of PodList \(b\): ") as caught:
        TypeDecoder(cls).decode_list(body)
    assert caught.value.position == 1

    decoder = TypeDecoder(cls, on_decode_error="skip")
    page = decoder.decode_list(body)
    assert [obj.replicas for obj in page.objects] == [1, 3]
    assert decoder.skipped == 1
    decoder.decode_list(body)
    assert decoder.skipped == 2


@pytest.mark.parametrize("broken", [b"5", b'{"kind": "Table"}', b'{"metadata": {"name": "\xff"}}'])
def test_what_is_no_object_is_never_left_out(broken: bytes) -> None:
    """A wrong list is not hidden by skipping its items."""
    decoder = TypeDecoder(StrictPod, on_decode_error="skip")
    with pytest.raises(DecodeError):
        decoder.decode_list(b'{"kind": "PodList", "items": [%b]}' % broken)
    assert decoder.skipped == 0


def test_there_are_two_ways_to_treat_what_cannot_be_decoded() -> None:
    """Another word is refused when the decoder is made."""
    with pytest.raises(DecodeError, match="'raise' or 'skip', not 'ignore'"):
        TypeDecoder(Pod, on_decode_error="ignore")  # type: ignore[arg-type]


def test_a_decoder_without_a_form_is_abstract() -> None:
    """The base class decodes nothing."""
    with pytest.raises(NotImplementedError):
        Decoder().decode(b"{}")
