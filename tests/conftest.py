"""What holds for all tests: invariants are checked after each commit, no deadlines, no thread that is left."""

from __future__ import annotations

import gc
import os
import signal
import threading
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

# Before kindex is imported, for runs that do not come from the Makefile.
os.environ.setdefault("KINDEX_VALIDATE", "1")

# Shells start what runs in the background with ^C ignored, and so would be all processes of tests that are sent one.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the time of an example is no claim of any test, and machines are shared.
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("stress", settings.get_profile("ci"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    """A test that leaves a thread running has failed: it would go on in the tests that follow."""
    before = set(threading.enumerate())
    yield
    if left := set(threading.enumerate()) - before:
        gc.collect()  # a registration ends with its store
        for thread in left:
            thread.join(20)  # a deadline, not a duration
        assert not [thread.name for thread in left if thread.is_alive()]
