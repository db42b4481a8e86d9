"""Cutting a stream of bytes into lines."""

from __future__ import annotations


class LineSplitter:
    r"""Cuts what comes in pieces into lines. A line of any length costs O(its length), however many pieces it has.

    >>> splitter = LineSplitter()
    >>> splitter.feed(b'{"a": 1}\n{"b"'), splitter.feed(b': 2}\n\n{'), splitter.rest
    ([b'{"a": 1}'], [b'{"b": 2}'], b'{')
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def feed(self, piece: bytes) -> list[bytes]:
        """Take a piece, and give the lines that it ends; not the blank ones, which say nothing."""
        first, newline, others = piece.partition(b"\n")
        self._pieces.append(first)
        if not newline:
            return []
        lines = [b"".join(self._pieces), *others.split(b"\n")]
        self._pieces = [lines.pop()]
        return [line for line in lines if line.strip()]

    @property
    def rest(self) -> bytes:
        """What came after the last end of a line."""
        return b"".join(self._pieces)
