"""Advice: what an advisor saw, and what it would do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator

_SHOWN = 10


@attrs.frozen
class Asked:
    """What the queries of one shape came to.

    Attributes:
        shape: what was asked, without the values; in brackets what no index answered.
        asked: how many queries.
        scans: how many of them were scans.
        scanned: on how many objects a selector was evaluated, in all.
        returned: how many objects they gave, in all.
        seconds: how long they took, in all.
    """

    shape: str
    asked: int = 0
    scans: int = 0
    scanned: int = 0
    returned: int = 0
    seconds: float = 0.0


@attrs.frozen
class Addition:
    """An index that is worth its memory.

    Attributes:
        index: what it would be called.
        declaration: how to write it.
        bytes: its forecast bytes.
        values: how many values it would have.
        asked: how many queries it would have helped.
        scans: how many scans it would have spared.
        scanned: how many objects need not have been looked at, some of the other additions taken for given.
    """

    index: str
    declaration: str
    bytes: int
    values: int
    asked: int
    scans: int
    scanned: int

    def __str__(self) -> str:
        return (
            f"{self.declaration}: {_size(self.bytes)} for {self.values:,} values;"
            f" would have spared {self.scans:,} scans and looking at {self.scanned:,} objects"
        )


@attrs.frozen
class Removal:
    """An index that is not worth its memory.

    Attributes:
        index: its name.
        reason: why.
        bytes: what it takes; None where that is not known.
    """

    index: str
    reason: str
    bytes: int | None

    def __str__(self) -> str:
        back = "" if self.bytes is None else f" ({_size(self.bytes)} back)"
        return f"{self.index}{back}: {self.reason}"


@attrs.frozen
class Caution:
    """What was scanned for, and should not simply be indexed.

    Attributes:
        index: what it would be called.
        reason: why not.
        asked: how many queries looked at objects for it.
        scanned: how many objects they looked at.
    """

    index: str
    reason: str
    asked: int
    scanned: int

    def __str__(self) -> str:
        return f"{self.index}: {self.reason} ({self.asked:,} queries looked at {self.scanned:,} objects for it)"


@attrs.frozen
class Advice:
    """What an advisor saw, and what it would do: ``print(advice)`` for a person, the attributes for a program.

    Attributes:
        store: the name of the store.
        objects: how many it holds.
        total: what all queries came to.
        shapes: what they came to by shape, most objects looked at first.
        others: what the shapes came to that were asked least, and are no longer told apart.
        add: indexes to add, the best ratio of objects spared to bytes first.
        drop: indexes to drop, most bytes first.
        cautions: what is no good index although it was scanned for.
        verdict: the whole in a sentence; says so when no index is worth it.

    >>> from kindex import Advisor, Store
    >>> pods = Store(name="pods")
    >>> with Advisor(pods) as advisor:
    ...     _ = pods.count(label_selector="app=web")
    >>> advice = advisor.report()
    >>> advice.total.asked, advice.total.scans, advice.add
    (1, 0, ())
    """

    store: str
    objects: int
    total: Asked
    shapes: tuple[Asked, ...]
    others: Asked
    add: tuple[Addition, ...]
    drop: tuple[Removal, ...]
    cautions: tuple[Caution, ...]
    verdict: str

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Give the advice as plain data, for JSON."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        total = self.total
        yield f"store {self.store!r}, {self.objects:,} objects: {self.verdict}"
        yield (
            f"{total.asked:,} queries in {total.seconds:.3f} s; {total.scans:,} were scans;"
            f" {total.scanned:,} objects looked at, {total.returned:,} returned"
        )
        groups: tuple[tuple[str, tuple[object, ...]], ...] = (
            ("add", self.add),
            ("drop", self.drop),
            ("beware", self.cautions),
        )
        for title, lines in groups:
            if lines:
                yield f"{title}:"
                yield from (f"  {line}" for line in lines)
        if self.shapes:
            yield f"{'asked':>10} {'scans':>8} {'looked at':>12} {'returned':>12} {'seconds':>9}  shape ([no index])"
            yield from map(_row, self.shapes[:_SHOWN])
            if len(self.shapes) > _SHOWN:
                yield f"{'':>55}  and {len(self.shapes) - _SHOWN:,} more shapes"
            if self.others.asked:
                yield _row(self.others)


def _row(asked: Asked) -> str:
    numbers = f"{asked.asked:>10,} {asked.scans:>8,} {asked.scanned:>12,} {asked.returned:>12,}"
    return f"{numbers} {asked.seconds:>9.3f}  {asked.shape}"


def _size(count: int) -> str:
    """Write a number of bytes for a person.

    >>> _size(900), _size(25_300), _size(3_100_000)
    ('900 B', '25.3 kB', '3.1 MB')
    """
    if count < 1_000:
        return f"{count} B"
    return f"{count / 1_000:.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:.1f} MB"
