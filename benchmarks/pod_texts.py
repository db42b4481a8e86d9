"""Pods as an API server writes them: 5.4 kB of JSON each, a quarter of it managedFields, no two alike.

They are the pods of a generated cluster, with what a live pod has beyond what people index: environment, probes, image
digests, container ids, annotations, conditions, and who has written which field. 620 live pods in public dumps have a
median of 4.0 kB and a 90th percentile of 5.9 kB, mostly without managedFields, which are 37 % of the bytes where there
are any.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kindex.testing.clusters import generate_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RawObject: TypeAlias = dict[str, Any]  # Any: JSON


def pod_texts(n: int = 5_000, *, seed: int = 1) -> list[bytes]:
    """Give the JSON of *n* pods as the items of a list, so without kind and apiVersion.

    The same for the same arguments.

    >>> texts = pod_texts(200)
    >>> sum(map(len, texts)) // len(texts) in range(5_200, 5_700)
    True
    >>> b'"managedFields":[' in texts[0], b'"kind":"Pod"' in texts[0]
    (True, False)
    """
    draw = random.Random(seed)  # noqa: S311 - a shape, not a secret
    return [msgspec.json.encode(_lived_in(pod, draw)) for pod in generate_cluster(pods=n, seed=seed).pods]


def list_bodies(texts: Sequence[bytes], page: int = 500) -> Iterator[bytes]:
    """Give the bodies of a list in pages."""
    for start in range(0, len(texts), page):
        items = b",".join(texts[start : start + page])
        yield b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[%b]}' % items


def _lived_in(pod: RawObject, draw: random.Random) -> RawObject:
    metadata, spec, status = pod["metadata"], pod["spec"], pod["status"]
    digest = f"sha256:{draw.getrandbits(256):064x}"
    address = ".".join(str(draw.randrange(256)) for _ in range(3))
    for container in spec["containers"]:
        container["env"] += [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "status.podIP"}}},
            {
                "name": "DATABASE_URL",
                "value": f"postgres://{metadata['namespace']}.db.svc:5432/{draw.getrandbits(32):x}",
            },
            {"name": "FEATURES", "value": ",".join(f"feature-{draw.randrange(90)}" for _ in range(6))},
        ]
        container["args"] = ["serve", "--port=8080", f"--workers={draw.randrange(16)}", "--config=/etc/app/config.yaml"]
        container["livenessProbe"] = container["readinessProbe"] = {
            "failureThreshold": 3,
            "httpGet": {"path": "/healthz", "port": "http", "scheme": "HTTP"},
            "periodSeconds": 10,
            "successThreshold": 1,
            "timeoutSeconds": 1,
        }
    config = f"{spec['containers'][0]['name']}-config-{draw.getrandbits(24):x}"
    spec["volumes"].append({"configMap": {"defaultMode": 420, "name": config}, "name": "config"})
    spec["initContainers"] = [
        {
            "command": ["/bin/migrate", "--wait=60s", f"--revision={draw.getrandbits(48):x}"],
            "image": f"registry.example.com/migrations:{draw.randrange(40)}.{draw.randrange(20)}",
            "imagePullPolicy": "IfNotPresent",
            "name": "migrate",
            "resources": {"limits": {"memory": "64Mi"}, "requests": {"cpu": "50m", "memory": "64Mi"}},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": [{"mountPath": "/etc/app", "name": "config", "readOnly": True}],
        }
    ]
    for each in status.get("containerStatuses", []):
        each |= {"imageID": f"{each['image']}@{digest}", "containerID": f"containerd://{digest[7:]}", "lastState": {}}
    status |= {"hostIP": f"10.{address}", "hostIPs": [{"ip": f"10.{address}"}]}
    metadata |= {
        "generateName": metadata["name"].rpartition("-")[0] + "-",
        "annotations": {
            "checksum/config": f"{draw.getrandbits(256):064x}",
            "kubectl.kubernetes.io/restartedAt": metadata["creationTimestamp"],
        },
        "managedFields": [_written_by("kube-controller-manager", _SPEC, draw), _written_by("kubelet", _STATUS, draw)],
    }
    return {"metadata": metadata, "spec": spec, "status": status}


def _written_by(manager: str, fields: RawObject, draw: random.Random) -> RawObject:
    return {
        "manager": manager,
        "operation": "Update",
        "apiVersion": "v1",
        "time": f"2026-01-13T18:{draw.randrange(60):02}:{draw.randrange(60):02}Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    }


def _fields(*names: str) -> RawObject:
    return {".": {}, **{f"f:{name}": {} for name in names}}


_SPEC: RawObject = {
    "f:metadata": {
        "f:generateName": {},
        "f:labels": _fields("app", "pod-template-hash"),
        "f:ownerReferences": {".": {}, 'k:{"uid":"794592d2-539c-4cca-a036-678bd2357c78"}': {}},
    },
    "f:spec": {
        "f:containers": {
            'k:{"name":"app"}': {
                **_fields("args", "image", "imagePullPolicy", "name", "resources", "terminationMessagePath"),
                "f:env": {".": {}, 'k:{"name":"LOG_LEVEL"}': _fields("name", "value")},
                "f:ports": {".": {}, 'k:{"containerPort":8080,"protocol":"TCP"}': _fields("containerPort", "name")},
            }
        },
        "f:dnsPolicy": {},
        "f:restartPolicy": {},
        "f:schedulerName": {},
    },
}
_STATUS: RawObject = {
    "f:status": {
        "f:conditions": {
            f'k:{{"type":"{kind}"}}': _fields("lastProbeTime", "lastTransitionTime", "status", "type")
            for kind in ("ContainersReady", "Initialized", "Ready")
        },
        "f:containerStatuses": {},
        "f:hostIP": {},
        "f:phase": {},
        "f:podIP": {},
        "f:podIPs": {".": {}, 'k:{"ip":"10.244.0.5"}': _fields("ip")},
        "f:startTime": {},
    }
}
