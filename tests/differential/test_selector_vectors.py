"""Selectors and label validation against the answers of the Go libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kindex.errors import SelectorError, SelectorObjectError, SelectorSyntaxError
from kindex.selectors import (
    FieldSelector,
    LabelSelector,
    Requirement,
    escape,
    unescape,
    validate_label_key,
    validate_label_value,
)
from tests.vectors_reader import Case, Vectors, read_vectors

if TYPE_CHECKING:
    from collections.abc import Callable

LABEL_SELECTORS = read_vectors("label-selectors")
SELECTOR_OBJECTS = read_vectors("label-selector-objects")
FIELD_SELECTORS = read_vectors("field-selectors")
LABEL_VALIDATION = read_vectors("label-validation")

REFUSED: Case = {"ok": False}


@pytest.mark.parametrize("vectors", [LABEL_SELECTORS, SELECTOR_OBJECTS, FIELD_SELECTORS, LABEL_VALIDATION])
def test_every_case_that_the_header_counts_is_read(vectors: Vectors) -> None:
    """A cut file, or one that is cut at other line ends, would be noticed."""
    counts = {tag: len(vectors.of_tag(tag)) for tag in vectors.tags()}

    assert counts == vectors.header["tags"]
    assert len(vectors.cases) == vectors.header["cases"]


@pytest.mark.parametrize("tag", LABEL_SELECTORS.tags())
def test_label_selectors_are_what_go_makes_of_their_text(tag: str) -> None:
    """Verdict, text, requirements, exact values and matches are Go's; only a NUL is refused where Go drops it."""

    def expected(case: Case) -> Case:
        if tag == "nul" or not case["ok"]:
            return REFUSED
        answer = _shared(case, "ok", "str", "reqs", "empty", "exact", "hit", "miss")
        return _without_order(answer) if case.get("order") == "unstable" else answer

    def given(case: Case) -> Case:
        try:
            selector = LabelSelector.parse(case["in"])
        except SelectorSyntaxError:
            return REFUSED
        answer = {
            "ok": True,
            "str": str(selector),
            "reqs": _requirements(selector),
            **_questions(selector, case, LABEL_SELECTORS.header["maps"]),
        }
        return _without_order(answer) if case.get("order") == "unstable" else answer

    assert _differences(LABEL_SELECTORS.of_tag(tag), expected, given) == {}


@pytest.mark.parametrize("tag", SELECTOR_OBJECTS.tags())
def test_selector_objects_are_what_go_makes_of_them(tag: str) -> None:
    """The same for LabelSelector objects, null among them, and the values as they were given."""

    def expected(case: Case) -> Case:
        if not case["ok"]:
            return REFUSED
        answer = _shared(case, "ok", "str", "selectable", "empty", "reqs", "exact", "hit", "miss")
        return answer | {"values_as_given": _with_sorted_values(case.get("values_as_given") or case["reqs"])}

    def given(case: Case) -> Case:
        try:
            selector = LabelSelector.from_object(case["selector"])
        except SelectorObjectError:
            return REFUSED
        return {
            "ok": True,
            "str": str(selector),
            "selectable": not selector.selects_nothing,
            "reqs": _requirements(selector),
            "values_as_given": [_as_json(requirement) for requirement in selector.requirements],
            **_questions(selector, case, SELECTOR_OBJECTS.header["maps"]),
        }

    assert _differences(SELECTOR_OBJECTS.of_tag(tag), expected, given) == {}


@pytest.mark.parametrize("tag", FIELD_SELECTORS.tags())
def test_field_selectors_and_escapes_are_gos(tag: str) -> None:
    """Verdict, text, requirements, exact values and matches are Go's, and so is what is escaped."""

    def expected(case: Case) -> Case:
        if not case["ok"]:
            return REFUSED
        parsed = ("reqs", "empty", "exact", "hit", "miss") if case["kind"] == "parse" else ()
        return _shared(case, "ok", "str", *parsed)

    def given(case: Case) -> Case:
        try:
            if case["kind"] == "escape":
                return {"ok": True, "str": escape(case["in"])}
            if case["kind"] == "unescape":
                return {"ok": True, "str": unescape(case["in"])}
            selector = FieldSelector.parse(case["in"])
        except SelectorSyntaxError:
            return REFUSED
        maps = FIELD_SELECTORS.header["maps"]
        return {
            "ok": True,
            "str": str(selector),
            "reqs": [[each.field, each.operator, each.value] for each in selector.requirements],
            "empty": selector.empty,
            "exact": {field: selector.exact_value(field) for field in case["exact"]},
            "hit": [number for number in case["hit"] if selector.matches(maps[str(number)])],
            "miss": [number for number in case["miss"] if not selector.matches(maps[str(number)])],
        }

    assert _differences(FIELD_SELECTORS.of_tag(tag), expected, given) == {}


@pytest.mark.parametrize("tag", LABEL_VALIDATION.tags())
def test_label_validation_finds_as_many_problems_as_go(tag: str) -> None:
    """Each key and value has exactly as many problems as Go finds."""
    validate = {"key": validate_label_key, "value": validate_label_value}

    def expected(case: Case) -> int:
        return int(case["n"])

    def given(case: Case) -> int:
        return len(validate[case["kind"]](case["in"]))

    assert _differences(LABEL_VALIDATION.of_tag(tag), expected, given) == {}


def test_a_refused_text_is_refused_at_a_place_in_it() -> None:
    """Every syntax error's position is a place in the text or its end, and the caret can be shown."""
    refused: list[tuple[Callable[[str], object], str]]
    refused = [(LabelSelector.parse, case["in"]) for case in LABEL_SELECTORS.cases if not case["ok"]]
    refused += [
        (FieldSelector.parse, case["in"])
        for case in FIELD_SELECTORS.cases
        if not case["ok"] and case["kind"] == "parse"
    ]
    astray = []
    for parse, text in refused:
        with pytest.raises(SelectorError) as caught:
            parse(text)
        error = caught.value
        if not isinstance(error, SelectorSyntaxError) or not 0 <= error.position <= len(text) or not error.caret():
            astray.append(text)

    assert astray == []


# Any: what is compared is JSON of any shape.
def _differences(cases: list[Case], expected: Callable[[Case], Any], given: Callable[[Case], Any]) -> dict[str, Any]:
    return {case["id"]: (expected(case), given(case)) for case in cases if expected(case) != given(case)}


def _shared(case: Case, *names: str) -> Case:
    return {name: case[name] for name in names}


def _without_order(answer: Case) -> Case:
    ordered = {"str", "exact"}
    return {name: value for name, value in answer.items() if name not in ordered} | {"reqs": sorted(answer["reqs"])}


def _questions(selector: LabelSelector, case: Case, maps: dict[str, dict[str, str]]) -> Case:
    def matches(number: int) -> bool:
        labels = maps[str(number)]
        answer = selector.matches(labels)
        assert selector.matcher()(labels) == answer
        return answer

    return {
        "empty": selector.empty,
        "exact": {key: selector.exact_value(key) for key in case["exact"]},
        "hit": [number for number in case["hit"] if matches(number)],
        "miss": [number for number in case["miss"] if not matches(number)],
    }


def _requirements(selector: LabelSelector) -> list[list[Any]]:
    """Give the requirements with their values as a set, as Go's ``Values()`` does."""
    return [[each.key, each.operator, sorted(set(each.values))] for each in selector.requirements]


def _as_json(requirement: Requirement) -> list[Any]:
    return [requirement.key, requirement.operator, list(requirement.values)]


def _with_sorted_values(requirements: list[list[Any]]) -> list[list[Any]]:
    return [[key, operator, sorted(values)] for key, operator, values in requirements]
