"""What holds for all tests: invariants are checked after each commit, and examples have no deadline."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Before kindex is imported, for runs that do not come from the Makefile.
os.environ.setdefault("KINDEX_VALIDATE", "1")

# No deadline: the time of an example is no claim of any test, and machines are shared.
settings.register_profile("ci", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("stress", settings.get_profile("ci"), max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
