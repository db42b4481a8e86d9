"""Index values: what may be one, and that no two of different types ever meet."""

from __future__ import annotations

from collections import namedtuple
from datetime import UTC, date, datetime
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.values import SKIPPED, Several, decoded, encoded, filing_of, keys_in, ordering

if TYPE_CHECKING:
    from collections.abc import Iterator

scalars = st.one_of(
    st.booleans(),
    st.integers(),
    st.text(),
    # Tags that the encoding itself uses.
    st.sampled_from(["int", "bool", "tuple", "str", "", 0, 1, True, False]),
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


class Phase(StrEnum):
    RUNNING = "Running"


class Level(IntEnum):
    ONE = 1


class Ratio(Enum):
    HALF = 0.5
    PAIR = ("a", 1)


class Text(str):
    __slots__ = ()

    def __hash__(self) -> int:
        raise AssertionError("a stored value is plain: hashing it runs no code of the user's")

    def __eq__(self, other: object) -> bool:
        raise AssertionError("the same")


class Number(int):
    pass


Pair = namedtuple("Pair", "a b")  # noqa: PYI024 - any will do


def same(left: object, right: object) -> bool:
    """Compare with the types: 1 and True are not the same, nor are they inside tuples."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return left == right


@given(values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    """Decoding the key of a value gives the value, with its types."""
    assert same(decoded(encoded(value)), value)


@given(values, values)
def test_two_values_have_one_key_only_if_they_are_the_same(left: Any, right: Any) -> None:
    """Keys are equal exactly when values and types are: 1, True and "1" are three values, also inside tuples."""
    assert (encoded(left) == encoded(right)) is same(left, right)


def test_python_would_merge_what_stays_apart() -> None:
    """The control: as dict keys, without the encoding, 1 and True are one."""
    assert len(dict.fromkeys([1, True, "1"])) == 2
    assert len(dict.fromkeys(map(encoded, [1, True, "1"]))) == 3
    assert len({encoded((1,)), encoded((True,)), encoded(("1",)), encoded("1"), encoded(((1,),))}) == 5


@given(st.lists(values))
def test_values_of_any_types_sort(several: list[Any]) -> None:
    """In the order bool < int < str < tuple, and within a type as Python orders."""
    ordered = [decoded(each) for each in sorted(map(encoded, several), key=ordering)]
    kinds = [[bool, int, str, tuple].index(type(value)) for value in ordered]
    assert kinds == sorted(kinds)
    for kind in (bool, int, str):
        of_kind = [value for value in ordered if type(value) is kind]
        assert of_kind == sorted(of_kind)  # type: ignore[type-var]  # all of one kind


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Phase.RUNNING, "Running"),
        (Level.ONE, 1),
        (Ratio.PAIR, ("a", 1)),
        (Text("x"), "x"),
        (Number(7), 7),
        ((Text("x"), Number(1)), ("x", 1)),
        (datetime(2026, 1, 13, 18, 38, 4, tzinfo=UTC), "2026-01-13T18:38:04Z"),
        (date(2026, 1, 13), "2026-01-13"),
        (Pair("a", "b"), ("a", "b")),
    ],
)
def test_enums_subclasses_and_dates_become_plain(value: object, plain: object) -> None:
    """What is filed is a builtin value, so that hashing and comparing it runs no user code."""
    assert same(decoded(encoded(value)), plain)
    assert hash(encoded(value)) == hash(encoded(plain))


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (1.0, "float 1.0"),
        (None, "NoneType None"),
        (b"x", "bytes b'x'"),
        ([1], "list [1]"),
        ({"a": 1}, "dict {'a': 1}"),
        ({"a"}, "set {'a'}"),
        (("a", None), "NoneType None"),
        (("a", 1.5), "float 1.5"),
        ((("a", b"x"),), "bytes b'x'"),
        ((["a"],), "list ['a']"),
        (Ratio.HALF, "float 0.5"),
        (object, "type <class 'object'>"),
    ],
)
def test_what_cannot_be_a_value_is_named(value: object, named: str) -> None:
    """The error says type and value, and what to use, however deep in a tuple it stands."""
    with pytest.raises(TypeError) as refused:
        encoded(value)
    assert str(refused.value) == f"{named} cannot be an index value; use str, int, bool or a tuple of them"


def test_a_long_value_is_cut_in_the_message() -> None:
    """A value of a megabyte does not make a message of a megabyte."""
    with pytest.raises(TypeError) as refused:
        encoded(["x" * 1_000_000])
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (None, []),
        ("", [""]),
        ("web", ["web"]),
        (True, [True]),
        (0, [0]),
        (Phase.RUNNING, ["Running"]),
        ([], []),
        ((), []),
        (["a", "a", "b"], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        ({"a"}, ["a"]),
        (iter(["a"]), ["a"]),
        ([("a", "b")], [("a", "b")]),
        ([1, True, "1", (1,)], [1, True, "1", (1,)]),
        ({"a": 1}.keys(), ["a"]),
    ],
)
def test_what_an_index_function_may_give(result: object, expected: list[object]) -> None:
    """None is none, a bare value is one, any other iterable gives its values; text is never taken apart."""
    found = [decoded(each) for each in keys_in(filing_of(result))]
    assert all(map(same, found, expected))
    assert len(found) == len(expected)


@pytest.mark.parametrize("result", [1.5, b"x", {"a": 1}, object(), {}])
def test_what_an_index_function_may_not_give(result: object) -> None:
    """A map, bytes or anything that is no value and no iterable is refused, with its type."""
    with pytest.raises(TypeError, match=f"^an index function gives values, not {type(result).__name__} "):
        filing_of(result)


@pytest.mark.parametrize("odd", [{"a": 1}, ["x"], None, 1.5, b"x"])
def test_one_bad_value_among_good_ones_refuses_all(odd: object) -> None:
    """[1, True, "1", odd] is an error, not three values."""
    with pytest.raises(TypeError, match="cannot be an index value"):
        filing_of([1, True, "1", odd])


def test_a_generator_is_read_once() -> None:
    """An index function may be a generator; its values are taken in one pass."""
    rounds = []

    def values_of() -> Iterator[str]:
        rounds.append(1)
        yield "a"
        yield "b"

    assert list(keys_in(filing_of(values_of()))) == ["a", "b"]
    assert rounds == [1]


def test_several_values_are_not_a_tuple_value() -> None:
    """An object under "a" and "b" and one under ("a", "b") are filed differently."""
    assert filing_of(["a", "b"]) != filing_of([("a", "b")])
    assert filing_of([("a", "b")]) != filing_of(["a", "b"])
    assert filing_of(["a", "b"]) == Several(("a", "b"))
    assert SKIPPED != ()
    assert [*keys_in(SKIPPED), *keys_in(None)] == []
