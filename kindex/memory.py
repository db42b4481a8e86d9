"""Memory reports: what a store and each of its indexes take, in bytes, as data and as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kindex.budgets import Drop


class IndexSize(NamedTuple):
    """How much an index holds: its distinct values, and its postings, which are the objects under each, summed.

    >>> from kindex import LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> for name in ("a", "b", "c"):
    ...     _ = pods.put({"metadata": {"name": name, "namespace": "x", "labels": {"app": "web"}}})
    >>> pods.index_sizes()
    (IndexSize(name='namespace', kind='namespace', values=1, postings=3), IndexSize(name='app', kind='label', ...
    """

    name: str
    kind: str
    values: int
    postings: int


@attrs.frozen
class IndexMemory:
    """What one index takes, in bytes; of an indexer over several labels each key is one.

    Attributes:
        name: as plans and errors call it.
        kind: ``namespace``, ``label``, ``labels`` (what all keys of a map share), or that of the indexer: ``field``,
            ``owner``, ``filter``, ``sorted``, ``function``.
        values: distinct values.
        postings: objects under each value, summed.
        single_values: values that one object has.
        largest_posting: objects under the most frequent value.
        forward_bytes: value -> posting: dicts, lists, bitmaps, numbers, and keys that are tuples.
        reverse_bytes: slot -> where it is filed: columns, lists, tuples of several values.
        text_bytes: values that nothing but the index keeps alive.
        moves: how often an object moved from one value to another.
        budget: what bounds it, and whose budget that is; None where nothing does.

    >>> from kindex import LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> for name in ("a", "b", "c"):
    ...     _ = pods.put({"metadata": {"name": name, "namespace": "x", "labels": {"app": "web"}}})
    >>> app = next(index for index in pods.memory().indexes if index.name == "app")
    >>> app.kind, app.values, app.postings, app.single_values, app.largest_posting
    ('label', 1, 3, 0, 3)
    """

    name: str
    kind: str
    values: int
    postings: int
    single_values: int
    largest_posting: int
    forward_bytes: int
    reverse_bytes: int
    text_bytes: int
    moves: int = 0
    budget: str | None = None

    @property
    def index_bytes(self) -> int:
        """Both sides, without text."""
        return self.forward_bytes + self.reverse_bytes

    @property
    def singles(self) -> float:
        """The share of values that one object has, from 0 to 1."""
        return self.single_values / self.values if self.values else 0.0


@attrs.frozen
class MemoryReport:
    """What a store takes, in bytes, but for the objects.

    Attributes:
        store: its name.
        objects: how many it holds.
        slots: for how many it has room.
        object_bytes: what the objects take, where that can be known: if all are LazyObjects; else None.
        slot_bytes: which object lives where: keys, numbers and the tables of them.
        slot_text_bytes: names and namespaces that nothing but their key keeps alive.
        indexes: each index.
        remembered_bytes: answers that are kept for the next who asks.
        snapshots: how many states open snapshots hold.
        snapshot_bytes: what is kept for them: what changed since, indexed; and all of a state that was swapped out.
        followers: how many there are.
        follower_bytes: the changes that they have not taken.
        dropped: indexes that a budget has stopped.
        saved_bytes: JSON that transforms have dropped, all in all, where an informer is at work; it is not here.

    >>> from kindex import LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> for name in ("a", "b", "c"):
    ...     _ = pods.put({"metadata": {"name": name, "namespace": "x", "labels": {"app": "web"}}})
    >>> report = pods.memory()
    >>> report.objects, [(index.name, index.values, index.postings) for index in report.indexes]
    (3, [('namespace', 1, 3), ('app', 1, 3)])
    >>> print(report)
    pods: 3 objects in 3 slots
    index      kind       values  postings  singles  largest  forward  reverse  text  moves
    namespace  namespace ...
    """

    store: str
    objects: int
    slots: int
    object_bytes: int | None
    slot_bytes: int
    slot_text_bytes: int
    indexes: tuple[IndexMemory, ...]
    remembered_bytes: int = 0
    snapshots: int = 0
    snapshot_bytes: int = 0
    followers: int = 0
    follower_bytes: int = 0
    dropped: tuple[Drop, ...] = ()
    saved_bytes: int = 0

    @property
    def postings(self) -> int:
        """The postings of all indexes."""
        return sum(index.postings for index in self.indexes)

    @property
    def index_bytes(self) -> int:
        """All indexes, without text."""
        return sum(index.index_bytes for index in self.indexes)

    @property
    def text_bytes(self) -> int:
        """Text that only the store keeps alive."""
        return self.slot_text_bytes + sum(index.text_bytes for index in self.indexes)

    @property
    def total_bytes(self) -> int:
        """All of it: slots, indexes, text, remembered answers, snapshots, followers; objects where they are known."""
        kept = self.remembered_bytes + self.snapshot_bytes + self.follower_bytes
        return self.slot_bytes + self.index_bytes + self.text_bytes + kept + (self.object_bytes or 0)

    @property
    def bytes_per_object(self) -> float:
        """What an object costs besides itself: slots, indexes and text."""
        return (self.slot_bytes + self.index_bytes + self.text_bytes) / self.objects if self.objects else 0.0

    @property
    def bytes_per_posting(self) -> float:
        """What a posting costs: the indexes and their text."""
        texts = sum(index.text_bytes for index in self.indexes)
        return (self.index_bytes + texts) / self.postings if self.postings else 0.0

    def index(self, name: str) -> IndexMemory | None:
        """Find an index by its name; None if there is none."""
        return next((index for index in self.indexes if index.name == name), None)

    def to_dict(self) -> dict[str, Any]:
        """Give all of it, totals too, as JSON has it."""
        return {
            **attrs.asdict(self),
            "indexes": [
                {**attrs.asdict(index), "index_bytes": index.index_bytes, "singles": round(index.singles, 4)}
                for index in self.indexes
            ],
            "postings": self.postings,
            "index_bytes": self.index_bytes,
            "text_bytes": self.text_bytes,
            "total_bytes": self.total_bytes,
            "bytes_per_object": round(self.bytes_per_object, 1),
            "bytes_per_posting": round(self.bytes_per_posting, 1),
        }

    def __str__(self) -> str:
        head = ["index", "kind", "values", "postings", "singles", "largest", "forward", "reverse", "text", "moves"]
        rows = [_row(index) for index in self.indexes]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        parts = {
            **({} if self.object_bytes is None else {"objects": self.object_bytes}),
            "indexes": self.index_bytes,
            "slots": self.slot_bytes,
            "text": self.text_bytes,
            "remembered": self.remembered_bytes,
            **({f"snapshots ({self.snapshots})": self.snapshot_bytes} if self.snapshots else {}),
            **({f"followers ({self.followers})": self.follower_bytes} if self.followers else {}),
            "in all": self.total_bytes,
        }
        lines = [
            f"{self.store}: {self.objects:,} objects in {self.slots:,} slots",
            *("  ".join(_aligned(row, widths)).rstrip() for row in (head, *rows)),
            "; ".join(f"{what} {_shown(count)}" for what, count in parts.items()),
            f"{self.bytes_per_object:,.1f} B an object, {self.bytes_per_posting:,.1f} B a posting",
            *([f"transforms dropped {_shown(self.saved_bytes)} of JSON"] if self.saved_bytes else []),
            *(f"dropped: {each}" for each in self.dropped),
        ]
        return "\n".join(lines)


# The table


def _row(index: IndexMemory) -> list[str]:
    return [
        index.name,
        index.kind,
        f"{index.values:,}",
        f"{index.postings:,}",
        f"{index.singles:.0%}",
        f"{index.largest_posting:,}",
        _shown(index.forward_bytes),
        _shown(index.reverse_bytes),
        _shown(index.text_bytes),
        f"{index.moves:,}",
    ]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Put text to the left and numbers to the right."""
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.ljust(width) if place < 2 else cell.rjust(width)


def _shown(count: int) -> str:
    """Write bytes as people read them.

    >>> _shown(512), _shown(2_048), _shown(5_000_000)
    ('512 B', '2.0 KiB', '4.8 MiB')
    """
    if count < 1 << 10:
        return f"{count} B"
    return f"{count / (1 << 10):.1f} KiB" if count < 1 << 20 else f"{count / (1 << 20):.1f} MiB"
