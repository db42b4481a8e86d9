"""What users of kindex need in their own tests: generated clusters, and an API server."""

from kindex.testing.api_server import ApiError, ApiServer, Fault, Faults, Request, Resource, TlsFiles
from kindex.testing.clusters import Cluster, generate_cluster

__all__ = [
    "ApiError",
    "ApiServer",
    "Cluster",
    "Fault",
    "Faults",
    "Request",
    "Resource",
    "TlsFiles",
    "generate_cluster",
]
