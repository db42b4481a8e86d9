"""What holds for the models: their stores are small, and remember small answers all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

SMALLEST = 3
"""Slots: a posting that loses one of them is a bitmap still."""


@pytest.fixture(autouse=True, scope="session")
def _small_answers_are_remembered() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kindex.generation.LARGE", SMALLEST)
        yield
