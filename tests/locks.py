"""Locks for tests: one that is none, for controls; and whether a store's lock is held by this thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kindex import StoreView


class NoLock:
    """A lock that locks nothing, with which a race test has to fail."""

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_error: object) -> None:
        pass

    def acquire(self, **_options: object) -> bool:
        """Take nothing; forks of later tests ask every store that is still there."""
        return True

    def release(self) -> None:
        """Give nothing back."""

    def _is_owned(self) -> bool:
        return False


def owned(store: StoreView[Any]) -> bool:
    """Tell whether this very thread is inside the lock of *store*."""
    return bool(store._core.lock._is_owned())  # type: ignore[attr-defined]  # what threading.Condition uses
