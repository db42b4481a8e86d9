"""What one Kubernetes object looks like, as a raw dict: small, but with the members that people index and print."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import attrs

if TYPE_CHECKING:
    from collections.abc import Sequence

RawObject: TypeAlias = dict[str, Any]  # Any: JSON, as a client's raw list gives it


@attrs.frozen
class PodFacts:
    """What makes one pod differ from another, its metadata aside."""

    images: Sequence[tuple[str, str]]  # container and image
    phase: str
    ready: bool
    restarts: int
    restart_policy: str
    node_name: str
    address: str
    token: str


def namespace(metadata: RawObject) -> RawObject:
    """Make a Namespace."""
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": metadata,
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def node(metadata: RawObject, *, address: str, pod_range: str) -> RawObject:
    """Make a Node that is ready."""
    name, zone = metadata["name"], metadata["labels"]["topology.kubernetes.io/zone"]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": {"podCIDR": pod_range, "providerID": f"aws:///{zone}/{name}"},
        "status": {
            "addresses": [{"address": address, "type": "InternalIP"}, {"address": name, "type": "Hostname"}],
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [{"status": "True", "type": "Ready"}],
            "nodeInfo": {"kubeletVersion": "v1.34.2", "osImage": "Bottlerocket OS 1.49"},
        },
    }


def controller(
    kind: str, metadata: RawObject, *, selector: dict[str, str], labels: dict[str, str], image: str, **spec: object
) -> RawObject:
    """Make what owns pods: a Deployment, a ReplicaSet, a Job ...; *spec* is what is particular to the kind."""
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": metadata,
        "spec": {
            "selector": {"matchLabels": dict(selector)},
            **spec,
            "template": {
                "metadata": {"labels": dict(labels)},
                "spec": {"containers": [{"image": image, "name": metadata["name"]}]},
            },
        },
        "status": {"observedGeneration": 1},
    }


def service(metadata: RawObject, spec: RawObject) -> RawObject:
    """Make a Service."""
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec, "status": {"loadBalancer": {}}}


def pod(metadata: RawObject, facts: PodFacts) -> RawObject:
    """Make a Pod of about 2 kB of JSON."""
    token = {"name": facts.token, "projected": {"defaultMode": 420, "sources": [_token_source()]}}
    spec: RawObject = {
        "containers": [_container(name, image, facts.token) for name, image in facts.images],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
        "priority": 0,
        "restartPolicy": facts.restart_policy,
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "serviceAccountName": "default",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [_toleration()],
        "volumes": [token],
    }
    if facts.node_name:
        spec["nodeName"] = facts.node_name
    status = _pod_status(facts, since=metadata["creationTimestamp"])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _pod_status(facts: PodFacts, since: str) -> RawObject:
    conditions = [_condition("PodScheduled", since, holds=bool(facts.node_name))]
    status: RawObject = {"conditions": conditions, "phase": facts.phase, "qosClass": "Burstable"}
    if facts.node_name:
        conditions += [_condition("Initialized", since, holds=True), _condition("Ready", since, holds=facts.ready)]
        status["startTime"] = since
        status["containerStatuses"] = [_container_status(name, image, facts, since) for name, image in facts.images]
    if facts.address:
        status["podIP"] = facts.address
        status["podIPs"] = [{"ip": facts.address}]
    return status


def _container(name: str, image: str, token: str) -> RawObject:
    return {
        "env": [{"name": "LOG_LEVEL", "value": "info"}],
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "name": name,
        "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
        "resources": {"limits": {"memory": "256Mi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": True}
        ],
    }


def _container_status(name: str, image: str, facts: PodFacts, since: str) -> RawObject:
    running = facts.phase == "Running"
    state: RawObject
    match facts.phase:
        case "Running":
            state = {"running": {"startedAt": since}}
        case "Pending":
            state = {"waiting": {"reason": "ContainerCreating"}}
        case "Failed":
            state = {"terminated": {"exitCode": 1, "reason": "Error"}}
        case _:
            state = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    return {
        "image": image,
        "name": name,
        "ready": facts.ready,
        "restartCount": facts.restarts if running else 0,
        "started": running,
        "state": state,
    }


def _condition(kind: str, since: str, *, holds: bool) -> RawObject:
    return {"lastProbeTime": None, "lastTransitionTime": since, "status": str(holds), "type": kind}


def _toleration() -> RawObject:
    key = "node.kubernetes.io/not-ready"
    return {"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}


def _token_source() -> RawObject:
    return {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}
