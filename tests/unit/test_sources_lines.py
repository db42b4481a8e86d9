"""LineSplitter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kindex.sources.lines import LineSplitter


@given(st.lists(st.binary(max_size=30).map(lambda text: text.replace(b"x", b"\n"))))
def test_lines_do_not_depend_on_the_pieces(pieces: list[bytes]) -> None:
    """However a text is cut, its lines are those of the whole text, without the blank ones."""
    splitter = LineSplitter()
    lines = [line for piece in pieces for line in splitter.feed(piece)]
    *ended, rest = b"".join(pieces).split(b"\n")
    assert lines == [line for line in ended if line.strip()]
    assert splitter.rest == rest
