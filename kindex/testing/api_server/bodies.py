"""WatchBody: the lines of a watch, in the chunks of one HTTP answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

_FLUSHED_AT: Final = 64 * 1024


class WatchBody:
    r"""What a watch sends; lines gather until there are enough, or nothing more to say.

    >>> sent = []
    >>> body = WatchBody(sent.append)
    >>> body.write(b"a\n"), body.write(b"b\n"), body.end()
    (None, None, None)
    >>> sent
    [b'4\r\na\nb\n\r\n', b'0\r\n\r\n']
    """

    def __init__(self, send: Callable[[bytes], object]) -> None:
        self._send = send
        self._lines: list[bytes] = []
        self._size = 0

    def write(self, line: bytes) -> None:
        """Add one line, its newline included."""
        self._lines.append(line)
        self._size += len(line)
        if self._size >= _FLUSHED_AT:
            self.flush()

    def flush(self) -> None:
        """Send what has gathered, as one chunk."""
        if self._lines:
            content = b"".join(self._lines)
            self._lines.clear()
            self._size = 0
            self._send(b"%x\r\n%s\r\n" % (len(content), content))

    def end(self) -> None:
        """Send what has gathered, and that there is no more."""
        self.flush()
        self._send(b"0\r\n\r\n")

    def truncate(self) -> None:
        """Send the beginning of a chunk that will not come to its end."""
        self.flush()
        content = b'{"type":"MODIFIED","object":{"kind":'
        self._send(b"%x\r\n%s" % (2 * len(content), content))
