"""How far long work is, for whoever sits at a terminal: on standard error, gone when it is done."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from kindex.cli.documents import size_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.progress import ProgressColumn

_LONG_LOAD: Final = 4_000_000  # bytes; less is read before a bar would be seen
_MANY: Final = 2_000  # objects; with fewer any work is done before a line would be seen
_ASKING: Final = "asking the cluster"
_EVERY: Final = 256  # objects; to tell of each would take longer than to read it


class Reading:
    """Takes the bytes and objects that are read, and shows nothing."""

    def bytes(self, count: int) -> None:
        """Take so many bytes more."""

    def object(self) -> None:
        """Take one object more."""


class _ShownReading(Reading):
    def __init__(self, progress: Progress, total: int | None) -> None:
        self._progress = progress
        self._task = progress.add_task("", total=total, objects=0)
        self._objects = 0

    def bytes(self, count: int) -> None:
        self._progress.advance(self._task, count)

    def object(self) -> None:
        self._objects += 1
        if not self._objects % _EVERY:
            self._progress.update(self._task, objects=self._objects)


@contextmanager
def reading(paths: Sequence[str]) -> Iterator[Reading]:
    """Show a bar of the bytes, and the number of objects, while a long load goes on."""
    total = size_of(paths)
    if not is_terminal(sys.stderr) or (total is not None and total < _LONG_LOAD):
        yield Reading()
        return
    # The bytes of a List are all there before its first object is, so what remains is not known.
    objects = TextColumn("{task.fields[objects]:,} objects")
    with _shown(TextColumn("reading"), BarColumn(20), DownloadColumn(), objects, TimeElapsedColumn()) as progress:
        yield _ShownReading(progress, total)


@contextmanager
def listing() -> Iterator[Callable[[str, int], None] | None]:
    """Show how many objects of a kind a cluster has listed so far."""
    if not is_terminal(sys.stderr):
        yield None
        return
    with _shown(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        task = progress.add_task(_ASKING, total=None)
        yield lambda plural, count: progress.update(task, description=f"listing {plural}: {count:,}")


@contextmanager
def asking_cluster() -> Iterator[None]:
    """Show that a cluster is asked, and for how long."""
    if not is_terminal(sys.stderr):
        yield
        return
    with _shown(SpinnerColumn(), TextColumn(_ASKING), TimeElapsedColumn()) as progress:
        progress.add_task("", total=None)
        yield


@contextmanager
def working(what: str, objects: int) -> Iterator[None]:
    """Show that *what* is done with so many objects, and for how long, where that takes a moment."""
    if objects < _MANY or not is_terminal(sys.stderr):
        yield
        return
    with _shown(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as progress:
        progress.add_task(f"{what} {objects:,} objects", total=None)
        yield


def _shown(*columns: ProgressColumn) -> Progress:
    # Standard output is the answer's, and no business of a console of standard error.
    return Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False)


def is_terminal(stream: TextIO) -> bool:
    """Tell whether somebody looks at it."""
    return stream.isatty()
