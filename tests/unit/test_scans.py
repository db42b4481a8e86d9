"""Scans: many objects at once get the answer that each gets by itself."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import LabelSelector, LazyObject
from kindex.decoding import LazyDecoder
from kindex.objects import labels_of
from kindex.scans import LabelCheck, matching

SELECTORS = ["app=web", "app==web", "app=", "app!=web", "app in (web,db)", "!app", "app", "app=web,tier=gold", "tier>3"]

values = st.sampled_from(["web", "db", "", None, 5, True, ["web"]])
maps: st.SearchStrategy[Any] = st.dictionaries(st.sampled_from(["app", "tier"]), values, max_size=2)
odd: st.SearchStrategy[Any] = st.sampled_from([None, [], "web", 5])
metadata: st.SearchStrategy[Any] = st.one_of(
    st.fixed_dictionaries({"labels": maps}),
    st.fixed_dictionaries({"labels": odd}),
    st.just({}),
    odd,
)
dicts = st.fixed_dictionaries({"metadata": metadata}) | st.just({})
plain = st.fixed_dictionaries({"metadata": st.fixed_dictionaries({"labels": maps})})


@given(st.sampled_from(SELECTORS), st.lists(plain, max_size=5) | st.lists(dicts, max_size=5))
def test_many_at_once(text: str, objects: list[Any]) -> None:
    """Plain dicts with labels take a way of their own, which odd ones among them do not spoil."""
    check = LabelCheck(LabelSelector.parse(text), labels_of)
    found = check.among(objects)
    assert [id(obj) for obj in found] == [id(obj) for obj in objects if check(obj)]


@pytest.mark.parametrize("text", SELECTORS)
def test_lazy_objects(text: str) -> None:
    """Objects of other kinds are read as ever, also where several kinds are together."""
    decode = LazyDecoder().decode
    lazy = [decode(b'{"metadata": {"name": "a", "labels": {"app": "%s"}}}' % app) for app in (b"web", b"db", b"")]
    both: list[LazyObject | dict[str, Any]] = [*lazy, {"metadata": {"labels": {"app": "web"}}}, {"metadata": {}}]
    check = LabelCheck(LabelSelector.parse(text), labels_of)
    assert check.among(both) == [obj for obj in both if check(obj)]


def test_a_map_that_is_read_from_elsewhere() -> None:
    """The labels of objects are not looked at then."""
    services = [{"metadata": {"labels": {"app": "web"}}, "spec": {"selector": {"app": app}}} for app in ("web", "db")]
    check = LabelCheck(LabelSelector.parse("app=db"), lambda obj: obj["spec"]["selector"])
    assert check.among(services) == services[1:]


def test_later_tests_are_only_asked_of_what_is_left() -> None:
    """A predicate that costs more than the others comes last, and sees little."""
    asked = []

    def costly(obj: Any) -> bool:
        asked.append(obj["name"])
        return True

    objects = [{"name": app, "metadata": {"labels": {"app": app}}} for app in ("web", "db")]
    assert matching(objects, [LabelCheck(LabelSelector.parse("app=web"), labels_of), costly]) == objects[:1]
    assert asked == ["web"]
    assert matching(objects, []) == objects
