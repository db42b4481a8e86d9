"""Python's garbage collector, kept away from what is read and stays: it would take most of the time."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_collector() -> Iterator[None]:
    """Pause the collector, if it runs.

    >>> with without_collector():
    ...     gc.isenabled()
    False
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
