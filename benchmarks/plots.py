"""Curves and bars as SVG, written by hand: the same text for the same figures, so that a test can compare it."""

from __future__ import annotations

from html import escape
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import attrs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLOURS = ("#0b62a4", "#d1495b", "#2e8b57", "#8d6a9f", "#c77d0a", "#555555")
WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 74, 30, 34, 48
LINE = 17
# What a character of the texts is wide, on average.
CHARACTER = 6.2
_TEXT = 'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="#222"'


@attrs.frozen
class Curve:
    """Points of one thing, with a spread: x, median, first and third quartile."""

    name: str
    points: Sequence[tuple[float, float, float, float]]


@attrs.frozen
class Bar:
    """Something that took so long, beside another that took *other*."""

    name: str
    value: float
    other: float


def curves(title: str, across: str, up: str, drawn: Sequence[Curve]) -> str:
    """Draw curves over logarithmic axes; a thin line at each point is the middle half of its rounds."""
    points = [point for curve in drawn for point in curve.points]
    xs = (min(point[0] for point in points), max(point[0] for point in points))
    low, high = min(point[2] for point in points), max(point[3] for point in points)
    bottom = floor(log10(low))
    top = max(bottom + 1, ceil(log10(high)))
    height = HEIGHT + LINE * len(drawn)
    plot_bottom = HEIGHT - BOTTOM

    def x_of(value: float) -> float:
        return LEFT + (log10(value) - log10(xs[0])) / (log10(xs[1]) - log10(xs[0])) * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return plot_bottom - (log10(value) - bottom) / (top - bottom) * (plot_bottom - TOP)

    parts = [_text(LEFT, 20, title, bold=True), _text(WIDTH / 2, plot_bottom + 36, across, anchor="middle")]
    parts.append(_text(10, TOP - 2, up))
    for power in range(bottom, top + 1):
        y = y_of(10.0**power)
        parts.append(_line(LEFT, y, WIDTH - RIGHT, y, "#ddd"))
        parts.append(_text(LEFT - 6, y + 4, _number(10.0**power), anchor="end"))
    for x in sorted({point[0] for point in points}):
        parts.append(_line(x_of(x), plot_bottom, x_of(x), plot_bottom + 4, "#222"))
        parts.append(_text(x_of(x), plot_bottom + 18, _number(x), anchor="middle"))
    for number, curve in enumerate(drawn):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y, _, _ in curve.points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for x, y, first, third in curve.points:
            parts.append(_line(x_of(x), y_of(first), x_of(x), y_of(third), colour))
            parts.append(f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>')
        y = HEIGHT + LINE * number
        parts += [_line(LEFT, y - 4, LEFT + 22, y - 4, colour, width=2), _text(LEFT + 30, y, curve.name)]
    return _drawing(title, height, parts)


def bars(title: str, names: tuple[str, str], groups: Mapping[str, Sequence[Bar]]) -> str:
    """Draw two bars for each thing, under the heading of its group, over a logarithmic axis of time."""
    drawn = [bar for group in groups.values() for bar in group]
    left = 24 + ceil(CHARACTER * max(len(bar.name) for bar in drawn))
    row, heading = 30, 24
    values = [value for bar in drawn for value in (bar.value, bar.other)]
    low = floor(log10(min(values)))
    high = max(low + 1, ceil(log10(max(values))))
    decade = (WIDTH - left - RIGHT) / (high - low)
    end = TOP + row * len(drawn) + heading * len(groups)

    def x_of(value: float) -> float:
        return left + (log10(value) - low) * decade

    parts = [_text(10, 20, title, bold=True)]
    labelled = range(low, high + 1, ceil(CHARACTER * len("100 µs ") / decade))
    for power in range(low, high + 1):
        x = x_of(10.0**power)
        parts.append(_line(x, TOP, x, end, "#ddd"))
        if power in labelled:
            parts.append(_text(x, end + 16, _time(power), anchor="middle"))
    y = TOP
    for group, inside in groups.items():
        parts.append(_text(10, y + 18, group, bold=True))
        y += heading
        for bar in inside:
            parts.append(_text(left - 8, y + 18, bar.name, anchor="end"))
            for offset, value, colour in ((3, bar.value, COLOURS[0]), (15, bar.other, COLOURS[1])):
                width = max(1.0, x_of(value) - left)
                parts.append(f'<rect x="{left}" y="{y + offset}" width="{width:.1f}" height="11" fill="{colour}"/>')
            y += row
    for number, name in enumerate(names):
        x = 10 + 220 * number
        parts.append(f'<rect x="{x}" y="{end + 34}" width="12" height="11" fill="{COLOURS[number]}"/>')
        parts.append(_text(x + 18, end + 44, name))
    return _drawing(title, end + 64, parts)


def _drawing(title: str, height: int, parts: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}">'
    white = f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", white, *parts, "</svg>", ""])


def _text(x: float, y: float, text: str, *, anchor: str = "start", bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_TEXT}{weight}>{escape(text)}</text>'


def _line(x: float, y: float, to_x: float, to_y: float, colour: str, *, width: int = 1) -> str:
    return f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def _time(power: int) -> str:
    """Write a power of ten of microseconds: ``10 ns``, ``1 s``."""
    for unit, exponent in (("s", 6), ("ms", 3), ("µs", 0)):
        if power >= exponent:
            return f"{10 ** (power - exponent):,} {unit}"
    return f"{10.0 ** (power + 3):g} ns"
