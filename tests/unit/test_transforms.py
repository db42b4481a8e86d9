"""Transforms: what they drop is gone, the rest is untouched, and nobody mistakes dropped for absent."""

from __future__ import annotations

import gc
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from kindex import (
    AnnotationIndexer,
    DecodeError,
    FieldIndexer,
    FilterIndexer,
    Indexer,
    IndexFunctionError,
    InvalidObjectError,
    JsonPath,
    LabelIndexer,
    LazyObject,
    OwnerIndexer,
    PartialObjectError,
    PathSyntaxError,
    SortedIndexer,
    Store,
)
from kindex.decoding import LazyDecoder
from kindex.indexers.reading import paths_read
from kindex.json_text import without_member
from kindex.objects import annotations_of, key_of, labels_of, owner_references_of
from kindex.paths import map_at
from kindex.transforms import (
    LAST_APPLIED,
    drops,
    intern_strings,
    keep_paths,
    several,
    strip_last_applied,
    strip_managed_fields,
)
from tests.json_texts import object_text, path_of
from tests.strategies import seeded

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = 3 * settings().max_examples

MANAGED = [{"manager": "kubelet", "fieldsV1": {"f:status": {'k:{"type":"Ready"}': {}, "x]},": {}}}}]


def pod(**metadata: object) -> LazyObject:
    """Make a pod as a server writes it: compact, managedFields last."""
    obj = {
        "metadata": {"name": "a", "namespace": "prod", "labels": {"app": "web"}, **metadata},
        "spec": {"nodeName": "n1", "containers": [{"image": "a", "env": []}]},
        "status": {"phase": "Running"},
    }
    text = json.dumps(obj, separators=(",", ":")).encode()
    return LazyDecoder(["spec.nodeName"]).decode(text, api_version="v1", kind="Pod")


# managedFields


@pytest.mark.parametrize(
    "metadata",
    [
        {"managedFields": MANAGED},
        {"managedFields": MANAGED, "uid": "u"},
        {"managedFields": []},
        {"managedFields": None},
        {
            "annotations": {"team": "red"},
            "finalizers": ["x/y"],
            "ownerReferences": [{"uid": "u"}],
            "managedFields": MANAGED,
        },
        {},
    ],
)
def test_managed_fields_are_cut_out(metadata: dict[str, Any]) -> None:
    """Everything else stays, byte by byte, and the object can be written back."""
    obj = pod(**metadata)
    slim = strip_managed_fields(obj)
    expected = obj.to_dict()
    expected["metadata"].pop("managedFields", None)

    assert slim == expected
    assert not slim.partial
    assert slim.to_dict() == expected
    own = {name: value for name, value in expected.items() if name in json.loads(obj.raw)}
    assert strip_managed_fields(slim)._layout is slim._layout
    assert slim.raw == json.dumps(own, separators=(",", ":")).encode()
    assert slim.metadata.annotations == obj.metadata.annotations
    assert slim.metadata.finalizers == obj.metadata.finalizers
    assert slim.metadata.owner_references == obj.metadata.owner_references
    assert (slim.path("spec.nodeName"), slim._fields) == ("n1", ("n1",))
    assert "managedFields" not in slim["metadata"]
    with pytest.raises(PartialObjectError, match=r"a transform dropped metadata.managedFields;"):
        slim.path("metadata.managedFields[*].manager")
    assert obj["metadata"].get("managedFields") == metadata.get("managedFields")


def test_the_old_bytes_can_go() -> None:
    """What the metadata keeps as text refers to the new bytes, or to its own, not to those that were cut."""
    obj = pod(annotations={"team": "red"}, managedFields=MANAGED)
    raw = obj.raw
    slim = strip_managed_fields(obj)
    del obj
    gc.collect()
    assert gc.get_referrers(raw) == [] or slim.raw is not raw
    assert slim.metadata.annotations == {"team": "red"}


@pytest.mark.parametrize(
    ("text", "steps", "value", "expected"),
    [
        (b'{"a":1}', ("a",), b"1", b"{}"),
        (b'{"a":1,"b":2}', ("a",), b"1", b'{"b":2}'),
        (b'{"b":2,"a":1}', ("a",), b"1", b'{"b":2}'),
        (b'{"b":2,"a":1,"c":3}', ("a",), b"1", b'{"b":2,"c":3}'),
        (b'{ "b": 2, "a":1 }', ("a",), b"1", b'{"b":2}'),  # not compact
        (b'{"x":{"a":1},"a":1}', ("a",), b"1", b'{"x":{"a":1}}'),  # the name stands elsewhere first
        (b'{"x\\"a":1,"a":1}', ("a",), b"1", b'{"x\\"a":1}'),  # ... at the end of another name
        (b'{"x":"\\"a\\":1","a":1}', ("a",), b"1", b'{"x":"\\"a\\":1"}'),  # ... inside a text
        (b'{"\\u0061":1,"b":2}', ("a",), b"1", b'{"b":2}'),  # the name is escaped
        (b'{"a":1,"a":2,"b":3}', ("a",), b"2", b'{"b":3}'),  # the name stands twice
        (b'{"m":{"a":[1,2]},"b":2}', ("m", "a"), b"[1,2]", b'{"m":{},"b":2}'),
        (b'{"n":{"a":[1]},"m":{"a":[1]}}', ("m", "a"), b"[1]", b'{"n":{"a":[1]},"m":{}}'),
        (b'{"m":{"n":{"a":"x\\""}}}', ("m", "n", "a"), b'"x\\""', b'{"m":{"n":{}}}'),
        (b'{"b":2}', ("m", "a"), b"1", b'{"b":2}'),  # there is none
    ],
)
def test_a_member_is_cut_out_of_text(text: bytes, steps: tuple[str, ...], value: bytes, expected: bytes) -> None:
    """Found where it stands, and nowhere else, whatever else has its name."""
    assert without_member(text, steps, value) == expected


def test_any_object_is_stripped_right() -> None:
    """Any JSON in which managedFields stands once: the result is the same object without them."""
    stripped = 0
    for number in range(EXAMPLES):
        text = object_text(seeded(number)).encode()
        if text.count(b"anagedFields") > 1:
            continue
        expected = json.loads(text)
        if isinstance(expected.get("metadata"), dict):
            stripped += expected["metadata"].pop("managedFields", None) is not None
        assert strip_managed_fields(LazyObject.from_json(text)) == expected, number
    assert stripped > EXAMPLES / 100


def test_a_dict_is_stripped_into_another_one() -> None:
    """A dict is not edited; one without managedFields, or without metadata, is given as it is."""
    obj = {"metadata": {"name": "a", "managedFields": MANAGED}}
    assert strip_managed_fields(obj) == {"metadata": {"name": "a"}}
    assert "managedFields" in obj["metadata"]
    for plain in ({"metadata": {"name": "a"}}, {"metadata": None}, {}):
        assert strip_managed_fields(plain) is plain


# last-applied-configuration


@pytest.mark.parametrize("others", [{}, {"team": "red"}, {"a": "x", "z": "y"}])
def test_the_last_applied_annotation_is_dropped(others: dict[str, str]) -> None:
    """The other annotations stay, and only an object that had it is partial."""
    obj = pod(annotations={**others, LAST_APPLIED[-1]: '{"a":{"b":"c"}}\n'}, managedFields=MANAGED)
    slim = strip_last_applied(obj)

    assert slim.metadata.annotations == others
    assert slim.partial
    with pytest.raises(PartialObjectError, match="last-applied"):
        slim.to_dict()
    assert slim.to_dict(partial=True)["metadata"]["managedFields"] == MANAGED
    assert (slim.path("metadata.annotations.team"), slim._fields) == (others.get("team"), ("n1",))
    with pytest.raises(PartialObjectError):
        slim.path("metadata.annotations['kubectl.kubernetes.io/last-applied-configuration']")


@pytest.mark.parametrize("annotations", [{}, {"team": "red"}, {"note": LAST_APPLIED[-1]}, None, [], "text"])
def test_an_object_without_it_is_given_as_it_is(annotations: object) -> None:
    """Nothing was dropped, so nothing is partial."""
    obj = pod(annotations=annotations)
    assert strip_last_applied(obj) is obj


# keep_paths


def test_only_what_is_named_is_kept() -> None:
    """Beside kind and the metadata that is at hand; what indexers read was taken before."""
    decoder = LazyDecoder(
        ["spec.containers[*].image", "metadata.annotations"],
        transform=[strip_managed_fields, keep_paths("spec.nodeName")],
    )
    obj = pod(annotations={"team": "red"}, managedFields=MANAGED, finalizers=["x/y"], selfLink="/x")
    slim = decoder.decode(obj.raw, api_version="v1", kind="Pod")

    assert slim.to_dict(partial=True) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": "prod", "labels": {"app": "web"}, "finalizers": ["x/y"]},
        "spec": {"nodeName": "n1"},
    }
    assert JsonPath.parse("spec.containers[*].image").values(slim) == ("a",)
    assert annotations_of(slim) == {"team": "red"}
    with pytest.raises(PartialObjectError):
        _ = slim.metadata.annotations
    assert decoder.saved_bytes == len(obj.raw) - len(slim.raw)
    decoder.decode(obj.raw)
    assert decoder.saved_bytes == 2 * (len(obj.raw) - len(slim.raw))


def test_an_index_on_what_was_dropped_is_an_error() -> None:
    """Declared from the start it is right; added later it is refused, and does not come out empty."""
    early, late = AnnotationIndexer("team"), FieldIndexer("status.phase")
    decoder = LazyDecoder(paths_read(early), transform=keep_paths("spec.nodeName"))
    store: Store[LazyObject] = Store(indexers=[early])
    store.put(decoder.decode(pod(annotations={"team": "red"}).raw))

    assert store.tally(early.key("team")) == {"red": 1}
    with pytest.raises(IndexFunctionError, match=r"status.phase: a transform dropped all but spec.nodeName"):
        store.add_indexers(late)
    assert late.name not in store.index_names
    with pytest.raises(PartialObjectError):
        store.select(field_selector="status.phase=Running")


def test_any_object_is_reduced_right() -> None:
    """Any paths of any object: what is kept reads the same, and what is not is an error or was taken before."""
    refused = 0
    for number in range(EXAMPLES):
        random = seeded(number)
        text = object_text(random).encode()
        kept, taken, other = ([JsonPath(*path_of(random, unfit=False)) for _ in range(2)] for _ in range(3))
        slim = LazyDecoder(taken, transform=keep_paths(*map(str, kept))).decode(text)
        expected = json.loads(text)
        for path in (*kept, *taken):
            assert repr(path.values(slim)) == repr(path.values(expected)), (number, path)
        for path in other:
            try:
                found = path.values(slim)
            except PartialObjectError:
                refused += 1
            else:
                assert repr(found) == repr(path.values(expected)), (number, path)
        for read in (labels_of, owner_references_of):
            assert read(slim) == read(expected), number
    assert refused > EXAMPLES


@pytest.mark.parametrize("path", ["a['q\"']", "a[*]['x\\\\y']", "a['\n']"])
def test_a_path_that_cannot_be_kept_is_said_at_once(path: str) -> None:
    """Quotes and control characters in a name are refused when the transform is made, as is what is no path."""
    with pytest.raises(PathSyntaxError):
        keep_paths(path)
    with pytest.raises(PathSyntaxError):
        keep_paths("a..b")
    assert repr(keep_paths("a.b", "c")) == "keep_paths(a.b, c)"


def test_an_odd_value_where_a_path_goes_on_is_kept() -> None:
    """A number of any size is; wrong text that was skipped so far is a DecodeError."""
    slim = keep_paths("spec.nodeName")
    assert slim(LazyObject.from_json(b'{"spec":%d,"x":1}' % 10**30)).to_dict(partial=True) == {"spec": 10**30}
    with pytest.raises(DecodeError, match="<LazyObject "):
        slim(LazyObject.from_json(b'{"spec":"\xff"}'))


@pytest.mark.parametrize("transform", [strip_last_applied, keep_paths("spec")])
def test_what_makes_partial_takes_lazy_objects_only(transform: Callable[[Any], Any]) -> None:
    """A dict could not say that it is partial."""
    with pytest.raises(InvalidObjectError, match="takes LazyObjects, not dict"):
        transform({"metadata": {"name": "a"}})


# intern_strings


def test_equal_texts_are_shared() -> None:
    """Namespace, label keys and values, and what indexers read, are one string for all objects."""
    one, other = (intern_strings(pod(labels={"a" * 50: "web" * 20, "odd": 5, "none": None})) for _ in range(2))

    assert one == other
    assert one.metadata.namespace is other.metadata.namespace
    for (key, value), (other_key, other_value) in zip(labels_of(one).items(), labels_of(other).items(), strict=True):
        assert key is other_key
        assert value is other_value
    assert one._fields[0] is other._fields[0]
    assert not one.partial
    bare = LazyObject.from_json(b'{"metadata":{"labels":[1]}}')
    assert intern_strings(bare) == bare


def test_equal_texts_of_dicts_are_shared() -> None:
    """In copies: what was given is not edited, and odd objects are given as they are."""
    text = json.dumps({"metadata": {"name": "a", "namespace": "prod", "labels": {"app": "web" * 20}}, "spec": {}})
    given = [json.loads(text) for _ in range(2)]
    one, other = map(intern_strings, given)

    assert one == other == given[0]
    assert one["metadata"]["labels"]["app"] is other["metadata"]["labels"]["app"]
    assert one["metadata"]["namespace"] is other["metadata"]["namespace"]
    for odd in ({}, {"metadata": None}, {"metadata": {"labels": "x", "name": "a"}}):
        assert intern_strings(odd) == odd


def test_texts_that_never_come_again_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of shared texts is bounded."""
    table: dict[str, str] = {}
    monkeypatch.setattr("kindex.transforms._TEXTS", table)
    monkeypatch.setattr("kindex.transforms._MOST_TEXTS", 10)
    for number in range(100):
        assert labels_of(intern_strings(pod(labels={"app": f"web-{number}"}))) == {"app": f"web-{number}"}
    assert 0 < len(table) <= 10


# Composition


def test_transforms_are_applied_in_order() -> None:
    """Several are given as a sequence, one alone or none at all; anybody's function will do."""

    def renamed(obj: LazyObject) -> LazyObject:
        plain = obj.to_dict()
        plain["metadata"]["name"] += "-renamed"
        return LazyObject.from_dict(plain)

    obj = pod(managedFields=MANAGED)
    made = LazyDecoder(transform=[renamed, strip_managed_fields, renamed]).decode(obj.raw)
    assert key_of(made).name == "a-renamed-renamed"
    assert "managedFields" not in made["metadata"]
    assert several(None) == ()
    assert several(renamed) == several([renamed]) == (renamed,)


def test_what_a_transform_may_drop_is_known() -> None:
    """Of kindex's own exactly; anybody else's may drop anything, so what is indexed is taken before it."""

    def slimmer(obj: LazyObject) -> LazyObject:
        return keep_paths()(obj)

    annotations = ("metadata", "annotations")
    assert drops(strip_managed_fields, ("metadata", "managedFields", None, "manager"))
    assert not drops(strip_managed_fields, annotations)
    assert drops(strip_last_applied, LAST_APPLIED)
    assert not drops(intern_strings, ("metadata", "labels"))
    assert drops(keep_paths("spec.a"), ("spec", "b"))
    assert not drops(keep_paths("spec.a"), ("spec", "a", "b"))
    assert drops(slimmer, annotations)
    made = LazyDecoder(["metadata.annotations"], transform=slimmer).decode(pod(annotations={"team": "red"}).raw)
    assert map_at(JsonPath.parse("metadata.annotations"))(made) == {"team": "red"}


def test_what_indexers_read_is_known() -> None:
    """Fields, label maps, annotations and owners; a plain function or predicate tells nothing."""
    read = paths_read(
        FieldIndexer("spec.a", "spec.b[*].c"),
        SortedIndexer("created", "metadata.creationTimestamp"),
        LabelIndexer("app"),
        LabelIndexer("app", path="spec.selector"),
        AnnotationIndexer("team"),
        OwnerIndexer(),
        FilterIndexer("watched", label_selector="a", annotation_filter="b"),
        FilterIndexer("odd", predicate=bool),
        Indexer("plain", lambda _: None),
    )
    assert sorted(read) == [
        "metadata.annotations",
        "metadata.creationTimestamp",
        "metadata.labels",
        "metadata.ownerReferences",
        "spec.a",
        "spec.b[*].c",
        "spec.selector",
    ]
