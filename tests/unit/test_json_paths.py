"""JsonPath: the grammar, the canonical text, and reading values."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.errors import KindexError, PathSyntaxError
from kindex.objects import annotations_of, labels_of
from kindex.paths import JsonPath, field_text, map_at


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("kind", ("kind",)),
        ("spec.nodeName", ("spec", "nodeName")),
        ("a.b.c.d", ("a", "b", "c", "d")),
        ("metadata.labels['a.b/c']", ("metadata", "labels", "a.b/c")),
        ('metadata.labels["a.b/c"]', ("metadata", "labels", "a.b/c")),
        ("metadata['labels'].app", ("metadata", "labels", "app")),
        ("['a']['b']", ("a", "b")),
        ("a[*]", ("a", None)),
        ("a[*][*].b", ("a", None, None, "b")),
        ("spec.volumes[*].configMap.name", ("spec", "volumes", None, "configMap", "name")),
        (r"a['it\'s']", ("a", "it's")),
        (r'a["say \"x\""]', ("a", 'say "x"')),
        (r"a['back\\slash']", ("a", "back\\slash")),
        ("""a['"']""", ("a", '"')),
        ("a['']", ("a", "")),
        ("a['[*]']", ("a", "[*]")),
        ("a['\n.']", ("a", "\n.")),
        ("$ref.x-kubernetes_y.é", ("$ref", "x-kubernetes_y", "é")),
        ("v1.1st", ("v1", "1st")),
    ],
)
def test_a_path_is_names_quoted_names_and_each_item(text: str, steps: tuple[str | None, ...]) -> None:
    """The grammar is dots, quoted names in brackets, and [*]; nothing else."""
    path = JsonPath.parse(text)
    assert path.steps == steps
    assert path.plural == (None in steps)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "the path is empty"),
        (".", 0, "a name is missing here"),
        (".a", 0, "a name is missing here"),
        ("..a", 0, "no recursion"),
        ("a.", 2, "a name is missing here"),
        ("a..b", 1, "no recursion"),
        ("a.['b']", 2, "a name is missing here"),
        ("[*]", 0, "starts with a name"),
        ("a[0]", 2, "no indexes"),
        ("a[-1]", 2, "no indexes"),
        ("a[1:2]", 2, "no slices"),
        ("a[:]", 2, "no slices"),
        ("a[?(@.b=='c')].d", 2, "no filters"),
        ("a[(1)]", 2, "no filters"),
        ("a[]", 2, "is meant to stand here"),
        ("a[b]", 2, "is meant to stand here"),
        ("a[", 2, "is meant to stand here"),
        ("a['b", 2, "the quote is not closed"),
        ("a['b\\", 2, "the quote is not closed"),
        ("a['b'", 5, "']' is missing here"),
        ("a['b'x]", 5, "']' is missing here"),
        (r"a['b\n']", 4, "a backslash stands only"),
        ("a.0.b", 2, "no indexes"),
        ("a['b']c", 6, "'c' cannot stand"),
        ("a b", 1, "' ' cannot stand"),
        ("metadata.labels.x.io/y", 20, "quote the name"),
        ("a*", 1, "'*' cannot stand"),
        ("a.*", 2, "'*' cannot stand"),
        ("{.a}", 0, "'{' cannot stand"),
        ("a]", 1, "']' cannot stand"),
    ],
)
def test_what_is_no_path_is_refused_at_its_place(text: str, position: int, reason: str) -> None:
    """A slip is an error that shows where and why, never another path."""
    with pytest.raises(PathSyntaxError) as refused:
        JsonPath.parse(text)
    assert refused.value.position == position
    assert reason in refused.value.reason
    assert refused.value.text == text
    assert isinstance(refused.value, (KindexError, ValueError))


@pytest.mark.parametrize("odd", [None, 7, b"spec.nodeName", ("spec", "nodeName")])
def test_what_is_not_text_is_refused(odd: Any) -> None:
    """What is not text is a clear error, not an AttributeError."""
    with pytest.raises(PathSyntaxError, match="not text"):
        JsonPath.parse(odd)


@pytest.mark.parametrize("steps", [(), (None, "a")])
def test_a_path_made_of_steps_starts_with_a_name(steps: tuple[str | None, ...]) -> None:
    """No steps, or [*] first, is the same error as in text."""
    with pytest.raises(PathSyntaxError, match="starts with a name"):
        JsonPath(*steps)


@given(st.lists(st.text() | st.none(), min_size=1, max_size=6).filter(lambda steps: steps[0] is not None))
def test_the_canonical_text_reads_back(steps: list[str | None]) -> None:
    """Whatever the names are, the text of a path parses to the same steps."""
    path = JsonPath(*steps)
    assert JsonPath.parse(path.text).steps == tuple(steps)
    assert JsonPath.parse(path.text).text == path.text


@given(st.text(alphabet="ab.[]'\"\\*0 /", max_size=12))
def test_any_text_is_a_path_or_an_error_with_a_place(text: str) -> None:
    """Parsing gives a path or a PathSyntaxError inside the text, and nothing else."""
    try:
        path = JsonPath.parse(text)
    except PathSyntaxError as error:
        place = error.position
    else:
        place = 0
        assert JsonPath.parse(path.text) == path
    assert 0 <= place <= len(text)


def test_spellings_of_one_path_are_equal() -> None:
    """Paths compare and hash by their canonical text."""
    plain, quoted = JsonPath.parse("metadata.labels.app"), JsonPath.parse("""metadata['labels']["app"]""")
    assert plain == quoted
    assert len({plain, quoted, JsonPath("metadata", "labels", "app")}) == 1
    assert str(quoted) == "metadata.labels.app"
    assert repr(quoted) == "JsonPath.parse('metadata.labels.app')"
    assert plain != JsonPath.parse("metadata.labels")
    assert plain != "metadata.labels.app"


def test_a_path_of_50_000_names_is_read_without_recursion() -> None:
    """Long input costs its length and no stack."""
    text = ".".join(["a"] * 50_000)
    path = JsonPath.parse(text)
    assert len(path.steps) == 50_000
    assert path.text == text
    assert path.first({"a": {"a": None}}) is None


def test_the_same_text_gives_the_same_path() -> None:
    """Parsed paths are cached."""
    assert JsonPath.parse("spec.nodeName") is JsonPath.parse("spec.nodeName")


def test_paths_can_be_copied_and_pickled() -> None:
    """A path goes wherever an indexer goes."""
    path = JsonPath.parse("spec.volumes[*].name")
    assert copy.deepcopy(path) == path
    assert pickle.loads(pickle.dumps(path)) == path  # noqa: S301 - our own bytes


POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"labels": {"a.b/c": "x"}, "annotations": None},
    "spec": {
        "nodeName": "n1",
        "replicas": 0,
        "paused": False,
        "containers": [
            {"name": "a", "ports": [{"containerPort": 1}, {"containerPort": 2}]},
            {"name": None},
            None,
            {"name": "b", "ports": ({"containerPort": 3},)},
            "odd",
        ],
    },
}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("kind", ("Pod",)),
        ("spec.nodeName", ("n1",)),
        ("metadata.labels['a.b/c']", ("x",)),
        ("spec.replicas", (0,)),
        ("spec.paused", (False,)),
        ("spec.absent", ()),
        ("absent.nodeName", ()),
        ("absent.a.b.c", ()),
        ("metadata.annotations", ()),
        ("metadata.annotations.x", ()),
        ("metadata.annotations.x.y", ()),
        ("kind.upper", ()),
        ("spec.replicas.real", ()),
        ("spec.containers.name", ()),
        ("spec.containers.append", ()),
        ("spec.containers[*].name", ("a", "b")),
        ("spec.containers[*].ports[*].containerPort", (1, 2, 3)),
        ("spec.containers[*].ports.containerPort", ()),
        ("spec[*].nodeName", ()),
        ("kind[*]", ()),
        ("absent[*]", ()),
    ],
)
def test_values_are_all_that_stand_at_the_path(text: str, values: tuple[object, ...]) -> None:
    """Missing and null steps give no value, [*] goes over lists and tuples only, scalars have no members."""
    path = JsonPath.parse(text)
    assert path.values(POD) == values
    assert path.first(POD) == (values[0] if values else None)


def test_a_path_to_a_list_gives_the_list() -> None:
    """Without [*] a list is one value."""
    assert JsonPath.parse("spec.containers").values(POD) == (POD["spec"]["containers"],)


@pytest.mark.parametrize("obj", [None, "text", 7, [], {}, {"spec": None}, {"spec": []}, {"spec": {"nodeName": None}}])
@pytest.mark.parametrize("text", ["spec.nodeName", "spec.nodeName.x", "spec[*].nodeName", "spec.nodeName[*]"])
def test_nothing_is_found_in_what_has_nothing(obj: object, text: str) -> None:
    """Reading a path never fails on an odd object."""
    assert JsonPath.parse(text).values(obj) == ()
    assert JsonPath.parse(text).first(obj) is None


def test_maps_that_are_not_dicts_are_read_alike() -> None:
    """A subclass of dict at any level gives what a dict gives."""
    obj = OrderedDict(spec=OrderedDict(nodeName="n1", a=OrderedDict(b="x")))
    assert JsonPath.parse("spec.nodeName").first(obj) == "n1"
    assert JsonPath.parse("spec.nodeName").first({"spec": obj["spec"]}) == "n1"
    assert JsonPath.parse("spec.a.b").values(obj) == ("x",)


def test_field_text_is_what_a_field_selector_compares() -> None:
    """A scalar gives its text; absence, a list and a map give the empty text."""
    texts = [field_text(POD, JsonPath.parse(f"spec.{name}")) for name in ("nodeName", "replicas", "paused", "x")]
    assert texts == ["n1", "0", "false", ""]
    assert field_text(POD, JsonPath.parse("spec")) == field_text(POD, JsonPath.parse("spec.containers")) == ""


def test_the_maps_of_metadata_are_read_by_their_own_readers() -> None:
    """Labels and annotations go the fast way."""
    assert map_at(JsonPath.parse("metadata.labels")) is labels_of
    assert map_at(JsonPath.parse("metadata['annotations']")) is annotations_of


@pytest.mark.parametrize(
    "missing", [{}, {"spec": None}, {"spec": {"selector": None}}, {"spec": {"selector": "x"}}, None]
)
def test_a_map_that_is_missing_is_empty(missing: object) -> None:
    """Any string map can be read, and what is no map is an empty one."""
    selector_of = map_at(JsonPath.parse("spec.selector"))
    assert selector_of({"spec": {"selector": {"app": "web"}}}) == {"app": "web"}
    assert dict(selector_of(missing)) == {}


@pytest.mark.parametrize(("text", "position"), [("a[*].b", 1), ("a['[*]'].b[*]", 10)])
def test_a_plural_path_has_no_one_map(text: str, position: int) -> None:
    """A map behind [*] is refused, at the place of the [*]."""
    with pytest.raises(PathSyntaxError, match="many maps") as refused:
        map_at(JsonPath.parse(text))
    assert refused.value.position == position
