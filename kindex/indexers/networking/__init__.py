"""Networking indexers: what Ingresses, Services, gateways, routes and Pods refer to, asked from the other end.

Each names the API field that it reads; ``docs/networking.md`` has them in one table. None fails a write on odd data:
what cannot be read is filed under no value.
"""

from kindex.indexers.networking.endpoint_slices import EndpointSliceServiceIndexer
from kindex.indexers.networking.hosts import DomainIndexer, HostIndexer, host_text
from kindex.indexers.networking.ingresses import (
    IngressBackendIndexer,
    IngressClassIndexer,
    IngressHostIndexer,
    IngressTlsSecretIndexer,
)
from kindex.indexers.networking.istio_gateways import (
    INGRESS_ANNOTATION,
    IngressAnnotationIndexer,
    IstioGatewayHostIndexer,
    IstioGatewayPortIndexer,
    IstioGatewaySelectorIndexer,
    ingress_of,
)
from kindex.indexers.networking.listeners import GatewayClassIndexer, ListenerHostIndexer, ListenerPortIndexer
from kindex.indexers.networking.names import NameIndexer
from kindex.indexers.networking.pod_references import ConfigMapRefIndexer, SecretRefIndexer
from kindex.indexers.networking.pods import PodIPIndexer, PodNodeIndexer, PodPhaseIndexer, ServiceAccountRefIndexer
from kindex.indexers.networking.routes import RouteHostIndexer, RouteParentIndexer
from kindex.indexers.networking.services import (
    ClusterIPIndexer,
    ExternalNameIndexer,
    ServiceSelectorIndexer,
    ServiceTypeIndexer,
)
from kindex.indexers.networking.virtual_services import VirtualServiceGatewayIndexer, VirtualServiceHostIndexer

__all__ = [  # noqa: RUF022 - sorted as Python sorts, which tests/api asserts
    "ClusterIPIndexer",
    "ConfigMapRefIndexer",
    "DomainIndexer",
    "EndpointSliceServiceIndexer",
    "ExternalNameIndexer",
    "GatewayClassIndexer",
    "HostIndexer",
    "INGRESS_ANNOTATION",
    "IngressAnnotationIndexer",
    "IngressBackendIndexer",
    "IngressClassIndexer",
    "IngressHostIndexer",
    "IngressTlsSecretIndexer",
    "IstioGatewayHostIndexer",
    "IstioGatewayPortIndexer",
    "IstioGatewaySelectorIndexer",
    "ListenerHostIndexer",
    "ListenerPortIndexer",
    "NameIndexer",
    "PodIPIndexer",
    "PodNodeIndexer",
    "PodPhaseIndexer",
    "RouteHostIndexer",
    "RouteParentIndexer",
    "SecretRefIndexer",
    "ServiceAccountRefIndexer",
    "ServiceSelectorIndexer",
    "ServiceTypeIndexer",
    "VirtualServiceGatewayIndexer",
    "VirtualServiceHostIndexer",
    "host_text",
    "ingress_of",
]
