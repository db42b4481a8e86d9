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


def _positive(value: int | str | None) -> int | None:
    return None if value is None else bytes_of(value)


@attrs.frozen
class Budget:
    """What the indexes of one declaration may take, in bytes, and how many values.

    >>> Budget(max_bytes="64MiB").max_bytes
    67108864
    """

    max_bytes: int | None = attrs.field(default=None, converter=_positive)
    max_values: int | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        for name, value in (("max_bytes", self.max_bytes), ("max_values", self.max_values)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value <= 0):
                raise IndexerError(f"{name} of a budget is a positive number, not {value!r}")
        if self.max_bytes is None and self.max_values is None:
            raise IndexerError("a budget needs max_bytes, max_values or both, such as Budget(max_bytes='64MiB')")
