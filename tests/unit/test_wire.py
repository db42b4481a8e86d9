"""Lists and lines of watches, as decoded JSON: what is read, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.sources import (
    BookmarkEvent,
    ErrorEvent,
    ErrorKind,
    ListRequest,
    ObjectEvent,
    Page,
    SourceError,
    WatchRequest,
    event_of,
    page_of,
)

json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
odd_metadata = st.fixed_dictionaries(
    {}, optional={"resourceVersion": json, "annotations": json, "continue": json, "name": json}
)
lines = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR", "added"]) | json,
        "object": st.fixed_dictionaries({}, optional={"kind": json, "metadata": json | odd_metadata}) | json,
        "kind": st.just("Status"),
    },
)


def test_items_get_the_kind_of_the_list() -> None:
    """Servers leave it out in the items; what an item says itself counts."""
    envelope = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "7", "continue": "t", "remainingItemCount": 3},
        "items": [{"metadata": {"name": "a"}}, {"kind": "Other", "apiVersion": "v2"}],
    }
    assert page_of(envelope) == Page(
        [
            {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}},
            {"kind": "Other", "apiVersion": "v2"},
        ],
        "7",
        "t",
    )


def test_a_list_may_say_little() -> None:
    """No items are an empty list; a bare List tells nothing of its items; a missing version is empty."""
    assert page_of({"kind": "PodList", "items": None}) == Page([], "")
    assert page_of({"kind": "List", "apiVersion": "v1", "items": [{"kind": "Pod"}]}) == Page([{"kind": "Pod"}], "")
    assert page_of({"items": [{"a": 1}]}) == Page([{"a": 1}], "")


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        "text",
        {},
        {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "7"}},
        {"kind": "Table", "rows": []},
        {"kind": "Table", "items": []},
        {"items": "a"},
        {"items": ["a"]},
    ],
)
def test_what_is_no_list_is_refused(odd: Any) -> None:
    """It is never taken for an empty one, which would empty the store."""
    with pytest.raises(SourceError) as refused:
        page_of(odd)
    assert refused.value.kind is ErrorKind.PROTOCOL


def test_a_status_in_place_of_a_list_is_its_error() -> None:
    """As some gateways answer, with 200."""
    with pytest.raises(SourceError) as refused:
        page_of({"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no"})
    assert refused.value.kind is ErrorKind.RIGHTS


@pytest.mark.parametrize("event_type", ["ADDED", "MODIFIED", "DELETED"])
def test_an_object_is_handed_on_as_it_is(event_type: Any) -> None:
    """With its version beside it, or None where it has none."""
    obj = {"kind": "Pod", "metadata": {"name": "a", "resourceVersion": "7"}}
    assert event_of({"type": event_type, "object": obj}) == ObjectEvent(event_type, obj, "7")
    bare: dict[str, Any] = {"metadata": None}
    assert event_of({"type": event_type, "object": bare}) == ObjectEvent(event_type, bare, None)


@pytest.mark.parametrize(
    ("annotations", "end"),
    [
        ({"k8s.io/initial-events-end": "true"}, True),
        ({"k8s.io/initial-events-end": "false"}, False),
        ({}, False),
        (None, False),
        ("odd", False),
    ],
)
def test_a_bookmark_says_whether_it_ends_the_initial_events(annotations: Any, end: bool) -> None:
    """By its annotation."""
    line = {"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "7", "annotations": annotations}}}
    assert event_of(line) == BookmarkEvent("7", end)


@pytest.mark.parametrize(
    "odd",
    [
        None,
        "garbage",
        [],
        {},
        {"type": "ADDED"},
        {"type": "ADDED", "object": None},
        {"type": "added", "object": {}},
        {"type": ["ADDED"], "object": {}},
        {"object": {}},
        {"type": "ADDED", "object": {"kind": "Table"}},
        {"type": "ERROR", "object": {"kind": "Pod"}},
    ],
)
def test_a_line_that_is_none_is_an_error_event(odd: Any) -> None:
    """Never an object, never an exception."""
    event = event_of(odd)
    assert isinstance(event, ErrorEvent)
    assert event.error.kind is ErrorKind.PROTOCOL


@given(lines | json)
def test_no_line_raises(line: Any) -> None:
    """Whatever JSON comes, it is one of the three events."""
    assert isinstance(event_of(line), (ObjectEvent, BookmarkEvent, ErrorEvent))


@given(st.fixed_dictionaries({}, optional={"kind": json, "items": json, "metadata": json | odd_metadata}) | json)
def test_no_list_raises_anything_else(envelope: Any) -> None:
    """Whatever JSON comes, it is a page with text for its version and its token, or a SourceError."""
    try:
        page = page_of(envelope)
    except SourceError:
        return
    assert isinstance(page.resource_version, str)
    assert isinstance(page.continuation, str)
    assert all(isinstance(item, dict) for item in page.objects)


def test_requests_are_asked_as_kubernetes_wants_them() -> None:
    """The version comes with how it is meant, never beside a token; a WatchList needs both of its parameters."""
    assert ListRequest().query() == {}
    assert ListRequest(resource_version="0", limit=5).query() == {
        "limit": "5",
        "resourceVersion": "0",
        "resourceVersionMatch": "NotOlderThan",
    }
    assert ListRequest(resource_version="7", continuation="t", limit=5).query() == {"limit": "5", "continue": "t"}
    common = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": "60"}
    assert WatchRequest(resource_version="7", timeout_seconds=60).query() == {**common, "resourceVersion": "7"}
    assert WatchRequest(timeout_seconds=60, initial_events=True).query() == {
        **common,
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
    }
