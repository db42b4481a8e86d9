"""A Kubernetes API server for tests, on the standard library: lists, watches, some writes, and faults on order."""

from kindex.testing.api_server.faults import Fault, Faults
from kindex.testing.api_server.kubeconfigs import TlsFiles
from kindex.testing.api_server.requests import Request
from kindex.testing.api_server.resources import Resource
from kindex.testing.api_server.server import ApiServer
from kindex.testing.api_server.statuses import ApiError

__all__ = ["ApiError", "ApiServer", "Fault", "Faults", "Request", "Resource", "TlsFiles"]
