"""Merge patches and JSON patches: what RFC 7386 and RFC 6902 say, and what they refuse."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.testing.api_server.patches import PatchError, json_patch, merge_patch

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b"])
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc~/"), inner, max_size=3),
    max_leaves=12,
)


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    return value


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        ({"a": 1}, {"a": 2}, {"a": 2}),
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, {"a": None}, {"b": 2}),
        ({"a": 1}, {"b": None}, {"a": 1}),
        ({"a": [1]}, {"a": 2}, {"a": 2}),
        ({"a": 2}, {"a": [1]}, {"a": [1]}),
        ({"a": [{"b": 1}, {"c": 2}]}, {"a": [{"d": None}]}, {"a": [{"d": None}]}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": {"e": None}}}, {"a": {"c": 2, "d": {}}}),
        ({"a": None}, {"b": 1}, {"a": None, "b": 1}),
        ({"a": 1}, {}, {"a": 1}),
        ({"a": 1}, None, None),
        ({"a": 1}, "text", "text"),
        ([1], {"a": 1}, {"a": 1}),
        ("text", {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_a_merge_patch(document: Any, patch: Any, result: Any) -> None:
    """A merge patch sets, removes by null, goes into maps, and replaces lists and scalars whole."""
    assert merge_patch(document, patch) == result


@given(documents, documents)
def test_a_merge_patch_is_there_after_it(document: Any, patch: Any) -> None:
    """Once applied, a merge patch changes nothing more, and on nothing it is itself without its nulls."""
    once = merge_patch(document, patch)
    assert merge_patch(once, patch) == once
    if isinstance(patch, dict):
        assert merge_patch(None, patch) == without_nulls(patch)


@pytest.mark.parametrize(
    ("document", "operation", "result"),
    [
        ({}, {"op": "add", "path": "/a", "value": 1}, {"a": 1}),
        ({"a": 1}, {"op": "add", "path": "/a", "value": None}, {"a": None}),
        ({"a": [1, 3]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2, 3]}),
        ({"a": [1]}, {"op": "add", "path": "/a/1", "value": 2}, {"a": [1, 2]}),
        ({"a": [1]}, {"op": "add", "path": "/a/-", "value": [2]}, {"a": [1, [2]]}),
        ({"a": 1}, {"op": "add", "path": "", "value": [2]}, [2]),
        ({"": {"": 1}}, {"op": "add", "path": "//", "value": 2}, {"": {"": 2}}),
        ({"a": 1, "b": 2}, {"op": "remove", "path": "/a"}, {"b": 2}),
        ({"a": [1, 2]}, {"op": "remove", "path": "/a/0"}, {"a": [2]}),
        ({"a": 1}, {"op": "remove", "path": ""}, None),
        ({"a": {"b": 1}}, {"op": "replace", "path": "/a/b", "value": {}}, {"a": {"b": {}}}),
        ({"a": [1, 2]}, {"op": "replace", "path": "/a/1", "value": 3}, {"a": [1, 3]}),
        ({"a": 1}, {"op": "replace", "path": "", "value": 3}, 3),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/b"}, {"b": 1}),
        ({"a": [1, 2, 3]}, {"op": "move", "from": "/a/0", "path": "/a/2"}, {"a": [2, 3, 1]}),
        ({"a": {"b": 1}}, {"op": "move", "from": "/a/b", "path": "/a"}, {"a": 1}),
        ({"a": 1}, {"op": "move", "from": "/a", "path": "/a"}, {"a": 1}),
        ({"a": {"b": 1}}, {"op": "copy", "from": "/a", "path": "/c"}, {"a": {"b": 1}, "c": {"b": 1}}),
        ({"a/b": 1, "m~n": 2}, {"op": "remove", "path": "/a~1b"}, {"m~n": 2}),
        ({"~1": 1}, {"op": "remove", "path": "/~01"}, {}),
        ({"0": 1}, {"op": "remove", "path": "/0"}, {}),
        ({"a": 1.0}, {"op": "test", "path": "/a", "value": 1}, {"a": 1.0}),
        ({"a": {"b": [1], "c": 2}}, {"op": "test", "path": "/a", "value": {"c": 2, "b": [1]}}, None),
        ({"a": None}, {"op": "test", "path": "/a", "value": None}, None),
    ],
)
def test_an_operation(document: Any, operation: Any, result: Any) -> None:
    """Each operation does what RFC 6902 says; a test that holds changes nothing."""
    expected = document if operation["op"] == "test" else result
    assert json_patch(document, [operation]) == expected


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "add", "path": "/a/b", "value": 1},
        {"op": "add", "path": "/list/3", "value": 1},
        {"op": "add", "path": "/list/01", "value": 1},
        {"op": "add", "path": "/list/+1", "value": 1},
        {"op": "add", "path": "/list/\u0661", "value": 1},
        {"op": "add", "path": "no slash", "value": 1},
        {"op": "add", "path": "/~2", "value": 1},
        {"op": "add", "path": "/~", "value": 1},
        {"op": "add", "path": "/text/0", "value": 1},
        {"op": "remove", "path": "/none"},
        {"op": "remove", "path": "/list/-"},
        {"op": "remove", "path": "/list/2"},
        {"op": "replace", "path": "/none", "value": 1},
        {"op": "copy", "from": "/none", "path": "/b"},
        {"op": "move", "from": "/map", "path": "/map/inner"},
        {"op": "test", "path": "/none", "value": None},
        {"op": "test", "path": "/text", "value": 1},
        {"op": "test", "path": "/list", "value": [1]},
        {"op": "test", "path": "/list/0", "value": True},
        {"op": "test", "path": "/map", "value": {"a": 1, "b": 2}},
    ],
)
def test_an_operation_that_does_not_fit(operation: Any) -> None:
    """What finds nothing, or tests what is not so, is an error that names the operation; nothing was changed."""
    document = {"list": [1, 2], "map": {"a": 1}, "text": "x"}
    before = copy.deepcopy(document)
    with pytest.raises(PatchError, match="operation 1") as caught:
        json_patch(document, [{"op": "add", "path": "/new", "value": 1}, operation])
    assert not caught.value.malformed
    assert document == before


@pytest.mark.parametrize(
    "patch",
    [
        {"op": "remove", "path": "/a"},
        "remove",
        None,
        ["remove"],
        [{}],
        [{"op": "delete", "path": "/a"}],
        [{"op": "remove"}],
        [{"op": "remove", "path": 1}],
        [{"op": "add", "path": "/a"}],
        [{"op": "test", "path": "/a"}],
        [{"op": "move", "path": "/a"}],
    ],
)
def test_a_malformed_patch(patch: Any) -> None:
    """What is no list of operations is malformed."""
    with pytest.raises(PatchError) as caught:
        json_patch({"a": 1}, patch)
    assert caught.value.malformed


@given(documents, documents)
def test_nothing_is_shared(document: Any, value: Any) -> None:
    """The result shares no part with the document or the patch: editing it edits neither."""
    before = copy.deepcopy((document, value))
    holder = {"d": document}
    operations = [{"op": "add", "path": "/v", "value": value}, {"op": "copy", "from": "/d", "path": "/e"}]
    for made in (json_patch(holder, operations), merge_patch(holder, {"v": value})):
        for part in made.values():
            if isinstance(part, (dict, list)):
                part.clear()
    assert (document, value) == before
