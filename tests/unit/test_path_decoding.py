"""Compiled decoding: the same values as through plain dicts, whatever the JSON is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given

from kindex.errors import PathSyntaxError
from kindex.path_decoding import PathDecoder, PathKeeper, member_at, members_of, reader_of, value_at
from kindex.paths import JsonPath
from tests.json_texts import object_text, path_of
from tests.strategies import randoms

if TYPE_CHECKING:
    from random import Random

POD = b"""{"spec": {"nodeName": "n1", "containers": [
    {"image": "a", "env": [{"name": "X"}, {"name": "Y"}]}, {"image": "b"}]}}"""


@given(randoms)
def test_values_are_those_of_plain_dicts(random: Random) -> None:
    """Any paths of any object: what is compiled gives what walking the decoded object gives."""
    text = object_text(random)
    asked = [path_of(random) for _ in range(random.randrange(5))]
    decoder = PathDecoder(asked)
    obj = json.loads(text)

    assert repr(decoder.read(text.encode())) == repr(tuple(value_at(obj, steps) for steps in decoder.paths))
    assert set(decoder.paths) == set(asked)


@given(randoms)
def test_plain_dicts_are_walked_as_a_path_reads_them(random: Random) -> None:
    """What a JsonPath reads from a dict is what the compiled decoder compares itself with."""
    steps = path_of(random)
    obj, path = json.loads(object_text(random)), JsonPath(*steps)

    assert value_at(obj, steps) == (path.values(obj) if path.plural else path.first(obj))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("spec.nodeName", "n1"),
        ("spec.containers[*].image", ("a", "b")),
        ("spec.containers[*].env[*].name", ("X", "Y")),
        ("spec.containers[*].nothing", ()),
        ("spec.nothing.more", None),
        ("status.phase", None),
        ("spec.nodeName.more", None),
        ("spec[*].nodeName", ()),
    ],
)
def test_one_path_is_read_by_itself(path: str, expected: object) -> None:
    """Absent members are None, and a plural path gives all its values."""
    assert reader_of(JsonPath.parse(path).steps)(POD) == expected


def test_paths_may_contain_each_other() -> None:
    """A path into what another path gives as a whole reads the same value."""
    beside = PathDecoder([("spec", "containers", None, "image"), ("spec", "containers", None, "env", None, "name")])
    assert beside.read(POD) == (("a", "b"), ("X", "Y"))

    decoder = PathDecoder([("spec", "containers", None, "image"), ("spec",), ("spec", "nodeName"), ("spec", None)])

    found = dict(zip(decoder.paths, decoder.read(POD), strict=True))
    assert found["spec", "containers", None, "image"] == ("a", "b")
    assert found["spec", "nodeName"] == "n1"
    assert found["spec",] == json.loads(POD)["spec"]
    assert found["spec", None] == ()


@pytest.mark.parametrize("text", [b'{"spec": null}', b'{"spec": "x"}', b'{"spec": []}', b'{"spec": 1.5}'])
def test_an_object_of_another_shape_is_read_slowly_and_counted(text: bytes) -> None:
    """Where a path goes on and there is no object, nothing is found, and the count grows."""
    decoder = PathDecoder([("spec", "nodeName")])

    assert decoder.read(text) == (None,)
    assert decoder.misfits == 1
    assert decoder.read(POD) == ("n1",)
    assert decoder.read(b"{}") == (None,)
    assert decoder.misfits == 1


@given(randoms)
def test_a_member_is_that_of_the_decoded_object(random: Random) -> None:
    """A member is decoded alone, and a missing one is a KeyError, unlike a null."""
    text, name = object_text(random), random.choice(["metadata", "spec", "a", "", 'q"', "absent"])
    obj = json.loads(text)

    if name in obj:
        assert member_at(text.encode(), name) == obj[name]
    else:
        with pytest.raises(KeyError):
            member_at(text.encode(), name)
    assert list(members_of(text.encode())) == list(obj)


def kept(value: Any, steps_left: list[Any]) -> Any:
    """Keep what is at some paths of plain JSON, in plain Python."""
    if () in steps_left or not isinstance(value, (dict, list)):
        return value
    if isinstance(value, list):
        inside = [steps[1:] for steps in steps_left if steps[0] is None]
        return [kept(item, inside) for item in value] if inside else value
    parts = {name: [steps[1:] for steps in steps_left if steps[0] == name] for name in value}
    return {name: kept(value[name], inside) for name, inside in parts.items() if inside}


@given(randoms)
def test_what_is_kept_is_what_stands_at_the_paths(random: Random) -> None:
    """A path's value is kept as it is; an odd value where a path goes on is kept, too."""
    text = object_text(random)
    asked = [path_of(random, unfit=False) for _ in range(random.randrange(5))]
    left = json.loads(PathKeeper(asked).keep(text.encode()))
    obj = json.loads(text)

    assert left == kept(obj, asked) or left == obj
    for steps in asked:
        assert value_at(left, steps) == value_at(obj, steps)


def test_a_name_that_cannot_be_compiled_cannot_be_kept() -> None:
    """A quote in a name is said at once, not when an object comes."""
    with pytest.raises(PathSyntaxError, match="cannot be kept"):
        PathKeeper([("a", 'q"')])
