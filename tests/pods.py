"""Small pods, for tests of the store that need no more than names, labels and a node."""

from __future__ import annotations

from typing import Any, TypeAlias

from kindex import ObjectKey

Pod: TypeAlias = dict[str, Any]  # Any: JSON


def pod(name: str, namespace: str | None = "prod", *, node: str | None = None, **labels: str) -> Pod:
    """Make a pod with these labels; *namespace* None makes an object of cluster scope."""
    metadata: Pod = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    if labels:
        metadata["labels"] = labels
    made: Pod = {"metadata": metadata}
    if node is not None:
        made["spec"] = {"nodeName": node}
    return made


def versioned(made: Pod, uid: str, version: str = "1") -> Pod:
    """Give the pod a UID and a resource version, as the server does."""
    made["metadata"] |= {"uid": uid, "resourceVersion": version}
    return made


def names_of(pods: list[Pod]) -> list[str]:
    """Give the names, sorted: the order of an answer is no claim."""
    return sorted(each["metadata"]["name"] for each in pods)


def key(name: str, namespace: str = "prod") -> ObjectKey:
    """Make the key of such a pod."""
    return ObjectKey(namespace, name)
