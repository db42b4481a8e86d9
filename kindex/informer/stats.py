"""InformerStats: what an informer counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import msgspec

from kindex.decoding import Decoder
from kindex.informer.states import Stats


class InformerStats(Stats, frozen=True):
    """What happened since an informer was started, in all its namespaces; the attributes of ``Stats``, and these.

    Attributes:
        saved_bytes: of JSON that transforms dropped.
        skipped: how often an object was left out since it could not be decoded.
        misfits: how often one was not of the expected shape, and decoded slowly.
        object_bytes: what the objects take; counted where there is an ``object_budget``, else 0.

    >>> from kindex import Informer
    >>> from kindex.testing import FakeSource
    >>> informer = Informer(FakeSource([{"metadata": {"name": "a", "namespace": "x"}}], name="pods"))
    >>> with informer:
    ...     pass
    >>> informer.stats.lists, informer.stats.relists, informer.stats.errors
    (1, 0, {})
    """

    saved_bytes: int = 0
    skipped: int = 0
    misfits: int = 0
    object_bytes: int = 0


def counted(stats: Stats, decoder: Decoder[Any]) -> InformerStats:  # Any: of whatever objects
    """Put together what a reflector and the decoder of its source counted.

    >>> from kindex.decoding import DictDecoder
    >>> counted(Stats(lists=1), DictDecoder()).lists
    1
    """
    return InformerStats(
        **msgspec.structs.asdict(stats),
        saved_bytes=decoder.saved_bytes,
        skipped=decoder.skipped,
        misfits=decoder.misfits,
    )


def summed(parts: Iterable[InformerStats]) -> InformerStats:
    """Sum up.

    >>> summed([InformerStats(lists=1), InformerStats(lists=2, watches=1)]).lists
    3
    """
    sums: Counter[str] = Counter()
    errors: Counter[Any] = Counter()  # Any: kinds of errors, and text above
    for part in parts:
        counts = msgspec.structs.asdict(part)
        errors.update(counts.pop("errors"))
        sums.update(counts)
    return InformerStats(**sums, errors=dict(errors))
