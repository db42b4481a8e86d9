"""Numbers and tables of the page."""

from __future__ import annotations

from math import log
from statistics import fmean
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


def us(value: float) -> str:
    """Write microseconds with three digits or so.

    >>> us(0.0549), us(1.372), us(34.14), us(1_054_103.2)
    ('0.055', '1.37', '34.1', '1,054,103')
    """
    if value < 1:
        return f"{value:.3f}"
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}" if value < 1_000 else f"{value:,.0f}"


def spread(row: dict[str, Any]) -> str:
    """Write a median and the quartiles."""
    return f"{us(row['median_us'])} ({us(row['q1_us'])}-{us(row['q3_us'])})"


def times(ratio: float) -> str:
    """Write a ratio.

    >>> times(0.0312), times(3.14), times(314.15)
    ('0.031', '3.1', '314')
    """
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2g}"


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """Give the power of the curve ``y = a * x ** power`` that fits best, by least squares of the logarithms.

    >>> round(exponent([(1, 3), (10, 300), (100, 30_000)]), 3)
    2.0
    """
    xs, ys = [log(x) for x, _ in points], [log(y) for _, y in points]
    middle_x, middle_y = fmean(xs), fmean(ys)
    above = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return above / sum((x - middle_x) ** 2 for x in xs)


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, right: bool = True) -> str:
    """Write a table; all columns but the first stand right."""
    marks = ["---", *(["---:" if right else "---"] * (len(head) - 1))]
    lines = [head, marks, *rows] if rows else [head, marks, ["none", *[""] * (len(head) - 1)]]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
