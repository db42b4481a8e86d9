"""Field selectors: text, maps, escapes; errors that say where."""

from __future__ import annotations

import copy
import sys
from enum import StrEnum
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.errors import SelectorObjectError, SelectorSyntaxError
from kindex.selectors import FieldRequirement, FieldSelector, escape, unescape

if TYPE_CHECKING:
    from collections.abc import Callable


class Phase(StrEnum):
    """Field values as a program may hold them."""

    RUNNING = "Running"


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("a=x", [False, False, True, False]),
        ("a==x", [False, False, True, False]),
        ("a!=x", [True, True, False, True]),
        ("a=", [True, True, False, False]),
        ("a!=", [False, False, True, True]),
        ("a==,a!=x", [True, True, False, False]),
    ],
)
def test_an_absent_field_equals_an_empty_one(text: str, answers: list[bool]) -> None:
    """Each operator, asked about an absent field, an empty one, the value itself and another one."""
    selector = FieldSelector.parse(text)

    assert [selector.matches(fields) for fields in ({}, {"a": ""}, {"a": "x"}, {"a": "y"})] == answers
    assert [all(each.matches_text(value) for each in selector.requirements) for value in ("", "x", "y")] == answers[1:]


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("spec.nodeName", 13, "expected '=', '==' or '!=' after the field 'spec.nodeName'"),
        ("a=b,status,c=d", 10, "after the field 'status'"),
        ("!a", 2, "after the field '!a'"),
        ("a=b=c", 3, r"a '=' in a value is written '\='"),
        ("x=y,a===b", 7, r"a '=' in a value is written '\='"),
        ("a=b\\c", 3, r"a '\' in a value stands before"),
        ("a=b\\", 3, r"a '\' in a value stands before"),
        ("b,a=\\x", 1, "after the field 'b'"),
    ],
)
def test_a_syntax_error_says_where_and_why(text: str, position: int, reason: str) -> None:
    """The position is the first place, as the text was written, at which something is missing or too much."""
    with pytest.raises(SelectorSyntaxError) as caught:
        FieldSelector.parse(text)

    assert (caught.value.text, caught.value.position) == (text, position)
    assert reason in caught.value.reason


def test_unescaping_refuses_what_escaping_never_writes() -> None:
    """The error has the position in the value."""
    for text, position in (("a,b", 1), ("ab=", 2), ("\\n", 0), ("a\\\\\\", 3)):
        with pytest.raises(SelectorSyntaxError) as caught:
            unescape(text)

        assert caught.value.position == position


def test_selectors_are_values() -> None:
    """Equal and hashed by their requirements, copied whole, and not to be changed."""
    selector = FieldSelector.parse("b=1,a==2")

    assert selector == FieldSelector.parse("a==2,,b=1")
    assert hash(selector) == hash(FieldSelector.parse("b=1,a=2"))
    assert copy.deepcopy(selector) == selector
    assert selector != FieldSelector.parse("b=1,a!=2")
    assert repr(selector) == "FieldSelector.parse('a=2,b=1')"
    with pytest.raises(AttributeError):
        selector.requirements = ()  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]


def test_a_query_takes_text_selectors_and_maps() -> None:
    """All three say the same; a map's values need no escapes."""
    selector = FieldSelector.parse("spec.host=a\\,b,status.phase=Running")

    assert FieldSelector.of("spec.host=a\\,b,status.phase=Running") is selector
    assert FieldSelector.of(selector) is selector
    assert FieldSelector.of({"status.phase": Phase.RUNNING, "spec.host": "a,b"}) == selector
    assert FieldSelector.of({}) == FieldSelector() == FieldSelector.parse("")
    assert FieldSelector().empty


@pytest.mark.parametrize("value", [None, 5, ["a=b"], {"a": 5}, {"a": None}, {"": "x"}, {5: "x"}])
def test_what_is_no_field_selector_is_refused(value: object) -> None:
    """A slip is one clear error, not a selector of everything."""
    with pytest.raises(SelectorObjectError):
        FieldSelector.of(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_what_is_no_text_is_not_parsed() -> None:
    """Handing over something else to ``parse`` is one clear error; a str class of one's own is text."""
    for value in (None, 5, b"a=b", {"a": "b"}):
        with pytest.raises(SelectorObjectError, match="reads text, not"):
            FieldSelector.parse(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(SelectorSyntaxError):
        FieldSelector.parse(Phase.RUNNING)


def test_a_text_seen_lately_is_parsed_once_unless_it_is_long() -> None:
    """Texts of up to 1,000 characters are remembered with their selector; longer ones are read anew, the same."""
    long = "a=" + "x" * 1000

    assert FieldSelector.parse("a=" + "x" * 998) is FieldSelector.parse("a=" + "x" * 998)
    assert FieldSelector.parse(long) is not FieldSelector.parse(long)
    assert FieldSelector.parse(long) == FieldSelector.parse(long)


def _terms(count: int) -> str:
    return ",".join(f"f{number}=v" for number in range(count))


def _escapes(count: int) -> str:
    return "a=" + "\\," * count


def _commas(count: int) -> str:
    return "," * count


@pytest.mark.parametrize("make", [_terms, _escapes, _commas])
def test_the_work_of_parsing_grows_with_the_text(make: Callable[[int], str]) -> None:
    """Ten times the text takes about ten times the calls."""

    def calls(text: str) -> int:
        count = 0

        def counted(_frame: object, event: str, _arg: object) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        before = sys.getprofile()
        sys.setprofile(counted)
        try:
            FieldSelector.parse(text)
        finally:
            sys.setprofile(before)
        return count

    assert calls(make(10_000)) <= 11 * calls(make(1_000))


@given(st.text(alphabet="ab\\,=!\n \N{SNOWMAN}"))
def test_what_is_escaped_is_read_back(value: str) -> None:
    """``unescape`` undoes ``escape``, also inside a selector, and an escaped value has no bare comma or equals sign."""
    assert unescape(escape(value)) == value
    assert FieldSelector.parse(f"a={escape(value)}").requirements == (FieldRequirement("a", "=", value),)


@given(st.text(alphabet="ab\\,=!"))
def test_any_text_is_a_selector_or_a_syntax_error(text: str) -> None:
    """Nothing else is ever raised; a selector's text asks the same, and prints the same from then on."""
    try:
        selector = FieldSelector.parse(text)
    except SelectorSyntaxError as error:
        position = error.position
    else:
        position = 0
        again = FieldSelector.parse(str(selector))
        assert set(again.requirements) == set(selector.requirements)
        assert str(FieldSelector.parse(str(again))) == str(again)

    assert 0 <= position <= len(text)


@given(
    st.lists(
        st.builds(FieldRequirement, st.sampled_from("ab"), st.sampled_from(["=", "!="]), st.sampled_from(["", "x"]))
    ),
    st.dictionaries(st.sampled_from("ab"), st.sampled_from(["", "x", "y"])),
)
def test_a_selector_is_all_of_its_requirements(each: list[FieldRequirement], fields: dict[str, str]) -> None:
    """Matching is the conjunction; an exact value is one that some requirement names and matching fields have."""
    selector = FieldSelector(tuple(each))
    answer = all((fields.get(one.field, "") == one.value) == (one.operator == "=") for one in each)

    assert selector.matches(fields) == answer
    for field in "ab":
        exact = selector.exact_value(field)
        assert (exact is None) == all(one.field != field or one.operator == "!=" for one in each)
        assert not answer or exact in (None, fields.get(field, ""))
