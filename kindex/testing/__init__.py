"""What users of kindex need in their own tests: generated clusters, and more to come."""

from kindex.testing.clusters import Cluster, generate_cluster

__all__ = ["Cluster", "generate_cluster"]
