"""Indexes over Pods, and what has a pod template: by the ConfigMaps and Secrets that they refer to."""

from __future__ import annotations

from typing import Final

from kindex.budgets import Budget
from kindex.indexers.networking.references import LocalReferenceIndexer, names

_CONTAINERS: Final = ("containers[*]", "initContainers[*]", "ephemeralContainers[*]")

_CONFIG_MAPS: Final = (
    *(f"{each}.envFrom[*].configMapRef.name" for each in _CONTAINERS),
    *(f"{each}.env[*].valueFrom.configMapKeyRef.name" for each in _CONTAINERS),
    "volumes[*].configMap.name",
    "volumes[*].projected.sources[*].configMap.name",
)
# All that the kubelet resolves to a Secret of the pod's namespace; drivers with a secretRef among them.
_SECRETS: Final = (
    *(f"{each}.envFrom[*].secretRef.name" for each in _CONTAINERS),
    *(f"{each}.env[*].valueFrom.secretKeyRef.name" for each in _CONTAINERS),
    "volumes[*].secret.secretName",
    "volumes[*].projected.sources[*].secret.name",
    "volumes[*].csi.nodePublishSecretRef.name",
    "volumes[*].azureFile.secretName",
    *(
        f"volumes[*].{driver}.secretRef.name"
        for driver in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos")
    ),
    "imagePullSecrets[*].name",
)


class ConfigMapRefIndexer(LocalReferenceIndexer):
    """An index by the ConfigMaps that a Pod (v1) refers to: which are touched when this one changes?

    Reads ``envFrom[*].configMapRef`` and ``env[*].valueFrom.configMapKeyRef`` of containers, init and ephemeral
    containers, ``volumes[*].configMap`` and ``volumes[*].projected.sources[*].configMap``, optional ones too.

    Args:
        pod_spec: where the pod's spec is: ``spec.template.spec`` in a Deployment.

    >>> from kindex import Store
    >>> by_config_map = ConfigMapRefIndexer()
    >>> pods = Store(indexers=[by_config_map])
    >>> spec = {"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "settings"}}]}}]}
    >>> _ = pods.put({"metadata": {"name": "web-1", "namespace": "prod"}, "spec": spec})
    >>> pods.keys(by_config_map.of({"kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "prod"}}))
    [ObjectKey(namespace='prod', name='web-1')]
    """

    _kind = "ConfigMap"

    def __init__(
        self, *, pod_spec: str = "spec", name: str = "config map reference", budget: Budget | None = None
    ) -> None:
        super().__init__(name, [f"{pod_spec}.{path}" for path in _CONFIG_MAPS], names, budget=budget)


class SecretRefIndexer(LocalReferenceIndexer):
    """An index by the Secrets that a Pod (v1) refers to: which are touched when this one changes?

    Reads ``envFrom[*].secretRef`` and ``env[*].valueFrom.secretKeyRef`` of containers, init and ephemeral containers,
    ``volumes[*].secret``, ``volumes[*].projected.sources[*].secret``, ``imagePullSecrets``, and what volume drivers
    take their credentials from: ``csi.nodePublishSecretRef``, ``azureFile.secretName``, and ``secretRef`` of cephfs,
    cinder, flexVolume, iscsi, rbd, scaleIO and storageos. Secrets that a ServiceAccount brings are named in the pod.

    Args:
        pod_spec: where the pod's spec is: ``spec.template.spec`` in a Deployment.

    >>> by_secret = SecretRefIndexer(pod_spec="spec.template.spec")
    >>> container = {"name": "a", "env": [{"name": "P", "valueFrom": {"secretKeyRef": {"name": "db", "key": "p"}}}]}
    >>> spec = {"initContainers": [container], "imagePullSecrets": [{"name": "registry"}]}
    >>> by_secret.values_of({"metadata": {"name": "web", "namespace": "prod"}, "spec": {"template": {"spec": spec}}})
    ('db', 'registry')
    """

    _kind = "Secret"

    def __init__(self, *, pod_spec: str = "spec", name: str = "secret reference", budget: Budget | None = None) -> None:
        super().__init__(name, [f"{pod_spec}.{path}" for path in _SECRETS], names, budget=budget)
