"""The keys whose values hardly repeat, among those that Kubernetes itself writes."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROLLOUT = "a new value for each rollout, so values come and go and few objects share one"
_JOB = "one value for each Job, and most Jobs have one pod"

NEAR_UNIQUE: Final[Mapping[str, str]] = MappingProxyType(
    {
        # labels
        "batch.kubernetes.io/controller-uid": _JOB,
        "batch.kubernetes.io/job-name": _JOB,
        "controller-revision-hash": _ROLLOUT,
        "controller-uid": _JOB,
        "controller.kubernetes.io/hash": "one value for each ControllerRevision",
        "job-name": _JOB,
        "pod-template-hash": _ROLLOUT,
        "statefulset.kubernetes.io/pod-name": "the pod's own name: get() finds it by key",
        # annotations
        "batch.kubernetes.io/cronjob-scheduled-timestamp": "one value for each run of a CronJob",
        "endpoints.kubernetes.io/last-change-trigger-time": "a new value for each change of a service's pods",
        "kubectl.kubernetes.io/last-applied-configuration": "a whole manifest as text, different for each object",
        "kubectl.kubernetes.io/restartedAt": "a new value for each restart",
        "kubernetes.io/config.hash": "one value for each static pod",
        "kubernetes.io/config.mirror": "one value for each static pod",
        "kubernetes.io/config.seen": "the time at which a kubelet read a static pod",
    }
)
"""Keys of labels and annotations that make no good index, with the reason: an index of such a key costs the most, and
narrows hardly more than the object's owner or name would.

``LabelIndexer.all`` and ``AnnotationIndexer.all`` leave them out unless told otherwise. Not among them are
``apps.kubernetes.io/pod-index`` and ``job.kubernetes.io/pod-index``, whose small numbers repeat from set to set, and
what is unique but asked for, of kinds with few objects: ``kubernetes.io/hostname`` of nodes,
``kubernetes.io/metadata.name`` of namespaces, ``kubernetes.io/service-name`` of EndpointSlices.

>>> NEAR_UNIQUE["pod-template-hash"]
'a new value for each rollout, so values come and go and few objects share one'
"""
