"""Budgets: how much memory an index may take."""

from __future__ import annotations

import re

import attrs

from kindex.errors import IndexerError

_UNITS = {
    "": 1,
    **{unit: 1000**power for power, unit in enumerate(("k", "M", "G", "T"), 1)},
    **{f"{unit}i": 1024**power for power, unit in enumerate(("K", "M", "G", "T"), 1)},
}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*?)B?\Z", re.ASCII)


def bytes_of(size: int | str) -> int:
    """Read a number of bytes: an int, or text such as ``"64MiB"``, ``"64Mi"`` or ``"500k"``.

    Raises:
        IndexerError: it is no size; the message lists the units.

    >>> bytes_of("64MiB"), bytes_of("1.5k"), bytes_of(10)
    (67108864, 1500, 10)
    """
    if isinstance(size, bool) or not isinstance(size, (int, str)):
        raise IndexerError(f"a size is a whole number of bytes or text such as '64MiB', not {size!r}")
    if isinstance(size, int):
        return size
    found = _SIZE.match(size.strip())
    if found is None or found[2] not in _UNITS:
        units = ", ".join(unit for unit in _UNITS if unit)
        raise IndexerError(f"{size!r} is no size; write a number and a unit out of {units} (with or without a B)")
    return int(float(found[1]) * _UNITS[found[2]])


def _size(value: int | str | None) -> int | None:
    return None if value is None else bytes_of(value)


@attrs.frozen
class Budget:
    """What an index may take, in bytes, and how many values it may have.

    Give it to an indexer (for all that this declares), to a LabelIndexer as ``key_budget`` (for each of its keys), or
    to a store (for all its indexes). An index that breaks a budget is dropped, and its memory comes back; its queries
    scan, and stay right. A budget changes speed, never results.

    ``max_values`` holds exactly, before the write. ``max_bytes`` holds by an upper estimate, which is counted anew when
    it reaches the limit; it may be overshot by one container of a bitmap, 8 kB.

    Args:
        max_bytes: a number, or text such as ``"64MiB"``.
        max_values: how many distinct values.
        readmit_below: an index that was dropped is built again by itself when it would take no more than this share of
            the budget; 0 never does.

    Raises:
        IndexerError: neither limit is given, a size cannot be read, or a number is out of its range.

    >>> Budget(max_bytes="64MiB").max_bytes
    67108864
    """

    max_bytes: int | None = attrs.field(default=None, converter=_size)
    max_values: int | None = attrs.field(default=None, kw_only=True)
    readmit_below: float = attrs.field(default=0.7, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name, value in (("max_bytes", self.max_bytes), ("max_values", self.max_values)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
                raise IndexerError(f"{name} of a budget is a positive number, not {value!r}")
        if self.max_bytes is None and self.max_values is None:
            raise IndexerError("a budget needs max_bytes, max_values or both, such as Budget(max_bytes='64MiB')")
        if not 0 <= self.readmit_below <= 1:
            raise IndexerError(f"readmit_below is a share from 0 to 1, not {self.readmit_below!r}")

    def broken_by(self, values: int, size: int) -> str | None:
        """Say which limit so many values and bytes break; None when they keep both."""
        if self.max_values is not None and values > self.max_values:
            return f"{values:,} values, max_values={self.max_values:,}"
        if self.max_bytes is not None and size > self.max_bytes:
            return f"{size:,} bytes, max_bytes={self.max_bytes:,}"
        return None

    def readmits(self, values: int, size: int) -> bool:
        """Tell whether so many values and bytes are far enough below both limits to come back."""
        share = self.readmit_below
        return (self.max_values is None or values <= share * self.max_values) and (
            self.max_bytes is None or size <= share * self.max_bytes
        )


@attrs.frozen
class Drop:
    """That an index was dropped, and why: ``memory()``, ``explain()`` and ``on_budget`` give these.

    Attributes:
        store: the name of the store.
        index: the name of the index.
        budget: the budget that it broke.
        scope: whose budget that is.
        reason: which limit, and what there would have been.
        revision: of the store, when it happened.

    >>> from kindex import Budget, LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app", budget=Budget(max_values=1))])
    >>> for app in ("web", "db"):
    ...     _ = pods.put({"metadata": {"name": app, "namespace": "x", "labels": {"app": app}}})
    >>> (drop,) = pods.memory().dropped
    >>> drop.index, drop.scope, drop.reason
    ('app', "indexer 'app'", '2 values, max_values=1')
    """

    store: str
    index: str
    budget: Budget
    scope: str
    reason: str
    revision: int

    def __str__(self) -> str:
        return (
            f"store {self.store!r} dropped index {self.index!r} at revision {self.revision}: {self.reason}"
            f" (budget of {self.scope}); its queries scan"
        )
