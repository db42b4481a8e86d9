"""Draws architecture.svg from the import layers in pyproject.toml: ``python docs/architecture.py``.

Each row is a layer; what stands in it imports only from rows below. The bands at the left name what a run of rows is
for; each begins at the layer that has the module named here.
"""

from __future__ import annotations

import tomllib
from html import escape
from pathlib import Path

HERE = Path(__file__).parent

BANDS = (
    ("cli", "what people run", "#e8eaf6"),
    ("informer", "from a cluster to a view", "#e0f2f1"),
    ("advisor", "what an index is worth", "#fff8e1"),
    ("store", "the store, its followers, its lock", "#fce4ec"),
    ("core", "from a question to an answer", "#e3f2fd"),
    ("families", "indexes", "#f1f8e9"),
    ("indexers", "what is indexed, and by what", "#f3e5f5"),
    ("decoding", "objects of any client", "#efebe9"),
)

ROW, GAP, LEFT, CHARACTER, PADDING, EDGE = 26, 4, 250, 6.9, 8, 12


def layers() -> list[list[str]]:
    """Give the modules of each layer, the highest first."""
    settings = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["tool"]["importlinter"]
    (contract,) = [each for each in settings["contracts"] if each["id"] == "layers"]
    return [[name.strip(" ()") for name in layer.split("|")] for layer in contract["layers"]]


def picture(rows: list[list[str]]) -> str:
    """Draw layers as rows of boxes, with the bands that they belong to."""
    begins = {name: number for number, row in enumerate(rows) for name in row}
    starts = [begins[name] for name, _, _ in BANDS]
    assert starts[0] == 0, "the first band begins at the highest layer"
    assert starts == sorted(set(starts)), "bands stand in the order of the layers"
    width = LEFT + max(sum(_width(name) + GAP for name in row) for row in rows) + EDGE
    height = len(rows) * (ROW + GAP) + 2 * EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        "<title>The layers of kindex: each imports only from those below it</title>",
        _box(0, 0, width, height, "#ffffff"),
    ]
    for (_, label, colour), start, end in zip(BANDS, starts, [*starts[1:], len(rows)], strict=True):
        top, tall = EDGE + start * (ROW + GAP), (end - start) * (ROW + GAP) - GAP
        parts.append(_box(EDGE, top, width - 2 * EDGE, tall, colour))
        parts.append(_text(EDGE + PADDING, top + tall / 2 + 4, label, "sans-serif"))
    for number, row in enumerate(rows):
        left, top = LEFT, EDGE + number * (ROW + GAP) + 2
        for name in row:
            parts.append(_box(left, top, _width(name), ROW - 4, "#ffffff", ' stroke="#777777"'))
            parts.append(_text(left + PADDING, top + 15, name, "monospace"))
            left += _width(name) + GAP
    return "\n".join([*parts, "</svg>", ""])


def _box(left: float, top: float, width: float, height: float, colour: str, more: str = "") -> str:
    return f'<rect x="{left:g}" y="{top:g}" width="{width:g}" height="{height:g}" rx="3" fill="{colour}"{more}/>'


def _text(left: float, base: float, text: str, font: str) -> str:
    place = f'x="{left:g}" y="{base:g}"'
    return f'<text {place} fill="#222222" font-family="{font}" font-size="11.5">{escape(text)}</text>'


def _width(name: str) -> int:
    return round(len(name) * CHARACTER) + 2 * PADDING


if __name__ == "__main__":
    (HERE / "architecture.svg").write_text(picture(layers()))
