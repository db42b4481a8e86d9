"""Budget: how sizes are written, and what makes no budget; test_limits.py has what a budget does to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex import Budget, FieldIndexer, Indexer, IndexerError, LabelIndexer, OwnerIndexer, SortedIndexer, Store
from kindex.budgets import bytes_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1", 1),
        ("10B", 10),
        ("1k", 1_000),
        ("1kB", 1_000),
        ("1Ki", 1_024),
        ("1KiB", 1_024),
        ("64MiB", 64 * 1024**2),
        ("64Mi", 64 * 1024**2),
        ("64M", 64_000_000),
        ("1.5GiB", 3 * 1024**3 // 2),
        ("0.5T", 500_000_000_000),
        ("2TiB", 2 * 1024**4),
        (" 7 MiB ", 7 * 1024**2),
        (123, 123),
    ],
)
def test_a_size_is_written_as_kubernetes_and_people_write_it(text: Any, size: int) -> None:
    """Units are decimal (k, M, G, T) or binary (Ki, Mi, Gi, Ti), with or without a B."""
    assert bytes_of(text) == size
    assert Budget(max_bytes=text).max_bytes == size


@pytest.mark.parametrize(
    "wrong",
    ["", "MiB", "64 mib", "64MIB", "1e6", "-1", "64MiBB", "64Mi B x", "1,000", "٣", "64m", "1K", None, 1.5, True, b"1"],
)
def test_what_is_no_size_is_refused(wrong: Any) -> None:
    """A unit that is spelled wrongly would be off by a million, so the error lists the units."""
    with pytest.raises(IndexerError) as refused:
        bytes_of(wrong)
    if isinstance(wrong, str):
        assert str(refused.value) == (
            f"{wrong!r} is no size; write a number and a unit out of k, M, G, T, Ki, Mi, Gi, Ti (with or without a B)"
        )
    else:
        assert str(refused.value) == f"a size is a whole number of bytes or text such as '64MiB', not {wrong!r}"


@given(st.integers(1, 10**6), st.sampled_from(["k", "Ki", "M", "Mi", "G", "Gi"]))
def test_a_whole_number_of_units_is_exact(number: int, unit: str) -> None:
    """No rounding: what is written is what holds."""
    factor = (1024 if unit.endswith("i") else 1000) ** ("kMG".index(unit[0].replace("K", "k")) + 1)
    assert bytes_of(f"{number}{unit}") == number * factor


@pytest.mark.parametrize(
    ("declare", "sentence"),
    [
        (Budget, "a budget needs max_bytes, max_values or both, such as Budget(max_bytes='64MiB')"),
        (lambda: Budget(0), "max_bytes of a budget is a positive number, not 0"),
        (lambda: Budget("0k"), "max_bytes of a budget is a positive number, not 0"),
        (lambda: Budget(-1), "max_bytes of a budget is a positive number, not -1"),
        (lambda: Budget(max_values=0), "max_values of a budget is a positive number, not 0"),
        (lambda: Budget(max_values="10"), "max_values of a budget is a positive number, not '10'"),  # type: ignore[arg-type]
        (lambda: Budget(max_values=True), "max_values of a budget is a positive number, not True"),
        (lambda: Budget(max_values=1.0), "max_values of a budget is a positive number, not 1.0"),  # type: ignore[arg-type]
        (lambda: Budget(1, readmit_below=2), "readmit_below is a share from 0 to 1, not 2"),
        (lambda: Budget(1, readmit_below=-0.1), "readmit_below is a share from 0 to 1, not -0.1"),
    ],
)
def test_what_makes_no_budget_is_refused(declare: Callable[[], object], sentence: str) -> None:
    """A budget that bounds nothing, or everything, is a slip."""
    with pytest.raises(IndexerError) as refused:
        declare()
    assert str(refused.value) == sentence


def test_a_budget_is_a_value() -> None:
    """Equal limits are equal budgets, however they were written; and a budget cannot be changed."""
    assert Budget("1Ki", max_values=3) == Budget(1024, max_values=3)
    assert hash(Budget("1Ki")) == hash(Budget(1024))
    assert Budget(1024) != Budget(1024, max_values=3)
    with pytest.raises(AttributeError):
        Budget(1).max_bytes = 2  # type: ignore[misc]


@pytest.mark.parametrize("wrong", ["64MiB", 64, {"max_bytes": 1}])
def test_a_budget_is_given_as_a_budget(wrong: Any) -> None:
    """A bare size where a budget is expected is refused when the indexer or the store is declared."""
    declarations: list[Callable[[], object]] = [
        lambda: LabelIndexer("app", budget=wrong),
        lambda: LabelIndexer("app", key_budget=wrong),
        lambda: LabelIndexer.all(budget=wrong),
        lambda: FieldIndexer("spec.nodeName", budget=wrong),
        lambda: OwnerIndexer(budget=wrong),
        lambda: SortedIndexer("size", "spec.size", budget=wrong),
        lambda: Indexer("size", len, budget=wrong),
        lambda: Store(budget=wrong),
    ]
    for number, declare in enumerate(declarations):
        with pytest.raises(IndexerError) as refused:
            declare()
        assert repr(wrong) in str(refused.value), number
