"""What users of kindex need in their own tests: an API server, a source that fails on order, a clock, clusters."""

from kindex.testing.api_server import ApiError, ApiServer, Fault, Faults, Request, Resource, TlsFiles
from kindex.testing.clocks import ManualClock
from kindex.testing.clusters import Cluster, generate_cluster
from kindex.testing.fake_source import FakeSource

__all__ = [
    "ApiError",
    "ApiServer",
    "Cluster",
    "FakeSource",
    "Fault",
    "Faults",
    "ManualClock",
    "Request",
    "Resource",
    "TlsFiles",
    "generate_cluster",
]
