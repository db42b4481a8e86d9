"""The official client, configured for a server: the one place outside of sources that imports a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

import kubernetes.config

if TYPE_CHECKING:
    from collections.abc import Callable

    from kubernetes.client import ApiClient

    from kindex.testing.manifests import RawObject


def api_client_for(kubeconfig: RawObject) -> ApiClient:
    """Make an ApiClient from the content of a kubeconfig; it changes no default configuration."""
    # The types are ours: most releases of the client have none.
    new_client: Callable[[RawObject], ApiClient] = kubernetes.config.new_client_from_config_dict
    return new_client(kubeconfig)
