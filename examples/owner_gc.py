"""What each ReplicaSet owns, what it may adopt, and which pods are left over since their owners are gone.

A ReplicaSet that changes asks one query for its pods and for those that nobody owns, ``at(owner) | orphans()``. A pod
that changes finds its owner by name, and the ReplicaSets that would adopt it by its labels.

What this cannot promise: it changes and deletes nothing. Of owners it knows ReplicaSets; others are taken to be there.
Where several ReplicaSets would adopt a pod, each is told so; in a cluster the first one gets it.

    python -m examples.owner_gc --file examples/manifests.yaml
    python -m examples.owner_gc --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from examples.endpoints import is_over, is_terminating
from examples.running import Kind, Results, Views, controller_main
from kindex import Delta, JsonPath, LabelSelector, ObjectKey, OwnerIndexer, SelectorIndexer
from kindex.errors import SelectorObjectError
from kindex.indexers.owners import group_of
from kindex.objects import key_of, labels_of, owner_references_of, text_of, uid_of

by_owner = OwnerIndexer()
by_controller = OwnerIndexer(controller_only=True)
selecting = SelectorIndexer("spec.selector", form="object", on_error="skip")


class Claim(NamedTuple):
    """The pods of a ReplicaSet that are not over, by name."""

    keeps: tuple[str, ...] = ()
    adopts: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "; ".join(f"{word} {' '.join(names)}" for word, names in self._asdict().items() if names) or "no pods"


class LeftOver(NamedTuple):
    """A pod of which no owner is there any more; their names."""

    owners: tuple[str, ...]

    def __str__(self) -> str:
        return f"left over by {' '.join(self.owners)}"


class OwnerController:
    """Tell what each ReplicaSet owns and may adopt, and which pods are left over."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("apps/v1", "ReplicaSet", (selecting,)),
        Kind("v1", "Pod", (by_owner, by_controller)),
    )

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.sets, self.pods = views["ReplicaSet"], views["Pod"]
        self.results = Results(lambda line: tell(f"ReplicaSet {line}"))
        self.left_over = Results(lambda line: tell(f"Pod {line}"))

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at the claims and the pods that a change concerns."""
        namespace = delta.key.namespace
        if kind == "ReplicaSet":
            self.settle(delta.key)
            owned = [by_owner.at(each) for each in (delta.old, delta.new) if each is not None]
            for key in {key for term in owned for key in self.pods.keys(term, namespace=namespace)}:
                self.look(key)
            return
        self.look(delta.key)
        touched = set(self.sets.keys(selecting.matching_either(delta.old, delta.new), namespace=namespace))
        for pod in (delta.old, delta.new):
            touched.update(set_of(pod, each) for each in controllers_of(pod) if is_set(each))
        for key in touched:
            self.settle(key)

    def settle(self, key: ObjectKey) -> None:
        """Claim pods for one ReplicaSet: owned ones and orphans, in one query."""
        owner = self.sets.get(key)
        if owner is None:
            self.results.drop(key)
            return
        pods = self.pods.select(by_controller.at(owner) | by_controller.orphans(), namespace=key.namespace)
        claim = claim_of(owner, pods)
        if claim is None:
            self.results.drop(key)
        else:
            self.results.put(key, claim, wrong=wrong_with(owner))

    def look(self, key: ObjectKey) -> None:
        """Find out whether a pod is left over."""
        pod = self.pods.get(key)
        found = None if pod is None else left_over(pod, self.sets.get)
        if found is None:
            self.left_over.drop(key)
        else:
            self.left_over.put(key, found)


def claim_of(owner: object, pods: Iterable[object]) -> Claim | None:
    """Claim pods for a ReplicaSet, out of those of its namespace that it controls or nobody does.

    None for a selector that cannot be read. One that asks for no label, which the API would refuse as well, claims what
    is owned and nothing else.
    """
    try:
        selector = LabelSelector.from_object(_selector.first(owner))
    except SelectorObjectError:  # the index has said so
        return None
    keeps, adopts, releases = [], [], []
    settled = is_terminating(owner) or bool(wrong_with(owner))
    for pod in pods:
        if is_over(pod) or is_terminating(pod):
            continue
        name, matches = key_of(pod).name, selector.matches(labels_of(pod))
        if controllers_of(pod):
            if matches or settled:
                keeps.append(name)
            else:
                releases.append(name)
        elif matches and not settled:
            adopts.append(name)
    return Claim(tuple(sorted(keeps)), tuple(sorted(adopts)), tuple(sorted(releases)))


def wrong_with(owner: object) -> str:
    """Say what is wrong with the selector of a ReplicaSet, or nothing."""
    selector = LabelSelector.from_object(_selector.first(owner))
    return "" if selector.requirements else "its selector asks for no label, so it adopts and releases no pod"


def left_over(pod: object, set_called: Callable[[ObjectKey], object]) -> LeftOver | None:
    """Tell whose a pod was, when all its owners are gone; None when one is there, or it never had one."""
    owners = owner_references_of(pod)
    if not owners or any(is_there(pod, owner, set_called) for owner in owners):
        return None
    return LeftOver(tuple(sorted(text_of(_name.first(owner)) for owner in owners)))


def is_there(pod: object, reference: object, set_called: Callable[[ObjectKey], object]) -> bool:
    """Tell whether an owner is there, and not just one of its name."""
    if not is_set(reference):
        return True
    found = set_called(set_of(pod, reference))
    return found is not None and is_meant(reference, found)


def is_meant(reference: object, owner: object) -> bool:
    """Tell whether a reference to a ReplicaSet of this name means this one; its UID decides, where it has one."""
    return uid_of(owner) in ("", text_of(_uid.first(reference)))


def is_set(reference: object) -> bool:
    """Tell whether an owner reference names a ReplicaSet."""
    return _kind.first(reference) == "ReplicaSet" and group_of(text_of(_api_version.first(reference))) == "apps"


def set_of(pod: object, reference: object) -> ObjectKey:
    """Give the key of what an owner reference names: it is in the pod's namespace."""
    return ObjectKey(key_of(pod).namespace, text_of(_name.first(reference)))


def controllers_of(pod: object) -> list[object]:
    """Give the owner references of a pod, or of None, that are marked as controller and name somebody: one, or none."""
    return [each for each in owner_references_of(pod) if _controller.first(each) is True and _names_somebody(each)]


def _names_somebody(reference: object) -> bool:
    uid, kind, name = (text_of(path.first(reference)) for path in (_uid, _kind, _name))
    return bool(uid or (kind and name))


def scan(sets: Iterable[object], pods: Iterable[object]) -> tuple[dict[ObjectKey, Claim], dict[ObjectKey, LeftOver]]:
    """Claim for all ReplicaSets, and find what is left over, by walking: what the controller must agree with."""
    every, everything = list(sets), list(pods)
    claims: dict[ObjectKey, Claim] = {}
    there: Mapping[ObjectKey, object] = {key_of(each): each for each in every}
    for owner in every:
        key = key_of(owner)
        near = [pod for pod in everything if key_of(pod).namespace == key.namespace]
        mine = [
            pod
            for pod in near
            if not (found := controllers_of(pod))
            or any(is_set(each) and set_of(pod, each) == key and is_meant(each, owner) for each in found)
        ]
        if (claim := claim_of(owner, mine)) is not None:
            claims[key] = claim
    lost = {key_of(pod): left_over(pod, there.get) for pod in everything}
    return claims, {key: found for key, found in lost.items() if found is not None}


_path = JsonPath.parse
_selector, _controller, _uid = _path("spec.selector"), _path("controller"), _path("uid")
_kind, _name, _api_version = _path("kind"), _path("name"), _path("apiVersion")

if __name__ == "__main__":
    controller_main(OwnerController)
