"""Readiness: whether what informers keep can be relied on now, and if not, why."""

from __future__ import annotations

from collections.abc import Iterable

import attrs


@attrs.frozen
class Readiness:
    """What ``ready()`` of an informer or of a group says: true if it is ready, else with its reasons.

    Attributes:
        reasons: what is in the way, a sentence for each informer.

    >>> readiness = Readiness(("pods: not synced: 403 Forbidden: no rights to list",))
    >>> bool(readiness), str(readiness)
    (False, 'pods: not synced: 403 Forbidden: no rights to list')
    >>> print(Readiness())
    ready
    """

    reasons: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.reasons

    def __str__(self) -> str:
        return "; ".join(self.reasons) or "ready"

    @classmethod
    def of_all(cls, each: Iterable[Readiness]) -> Readiness:
        """Give that of several: ready if they all are."""
        return cls(tuple(reason for readiness in each for reason in readiness.reasons))
