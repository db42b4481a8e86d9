"""What users of kindex need in their own tests: a source that fails on order, a clock, generated clusters."""

from kindex.testing.clocks import ManualClock
from kindex.testing.clusters import Cluster, generate_cluster
from kindex.testing.fake_source import FakeSource

__all__ = ["Cluster", "FakeSource", "ManualClock", "generate_cluster"]
