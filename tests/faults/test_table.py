"""The table of docs/faults.md says what the fault matrix tests."""

from __future__ import annotations

from pathlib import Path

from tests.fault_matrix import CELLS, FAULTS, STAGES

DOCUMENT = Path(__file__).parents[2] / "docs" / "faults.md"


def rows() -> list[list[str]]:
    """Read the table."""
    lines = [line for line in DOCUMENT.read_text().splitlines() if line.startswith("|")]
    return [[part.strip() for part in line.strip("|").split("|")] for line in lines[2:]]


def test_each_fault_has_a_row() -> None:
    """One, and in the order of the matrix."""
    assert [row[0] for row in rows()] == [fault.name for fault in FAULTS]


def test_a_row_names_the_stages_that_are_tested() -> None:
    """All of them, and no other."""
    for name, stages, *_ in rows():
        tested = dict.fromkeys(cell.stage.name for cell in CELLS if cell.ordered.name == name)
        assert stages.split(", ") == list(tested), name


def test_a_row_says_what_is_asked_next() -> None:
    """In all of its stages."""
    for name, _, _, asks, *_ in rows():
        assert set(asks.split(", ")) == {cell.asks for cell in CELLS if cell.ordered.name == name}, name


def test_a_row_names_the_errors_that_are_seen() -> None:
    """All that ``last_error`` may name, and no other; and where there is one the informer is not live."""
    for name, *_, live, errors in rows():
        kinds = {kind for cell in CELLS if cell.ordered.name == name for kind in cell.expected}
        assert set(errors.split(", ")) == {"none" if kind is None else kind.value for kind in kinds}, name
        assert set(live.split(", ")) == {"yes" if kind is None else "no" for kind in kinds}, name


def test_the_stages_are_explained() -> None:
    """Each that the table names."""
    text = DOCUMENT.read_text()
    assert all(f"`{stage.name}`" in text for stage in STAGES)
