"""The pods of each NetworkPolicy: which it holds for, and which may connect to them, or be connected to.

A pod, a namespace or a policy changes: which policies does it concern? Each selector in a policy stands in an index, so
labels meet only those selectors that they may match; and the pods of a policy are found by their labels.

What this cannot promise: it tells who is meant and enforces nothing. Ports are not looked at, and blocks of addresses
are told as they stand.

    python -m examples.network_policy --file examples/manifests.yaml
    python -m examples.network_policy --kubeconfig ~/.kube/config
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeAlias

from examples.running import Kind, Results, Views, controller_main
from kindex import Added, Budget, Delta, JsonPath, LabelIndexer, LabelSelector, ObjectKey, SelectorIndexer
from kindex.errors import SelectorObjectError
from kindex.indexers.derived import items, parts, texts, unsaid
from kindex.objects import key_of, labels_of

PEERS = {"ingress": "spec.ingress[*].from[*]", "egress": "spec.egress[*].to[*]"}

applying = SelectorIndexer("spec.podSelector", on_error="skip")
by_peer_pods = tuple(SelectorIndexer(f"{peers}.podSelector", on_error="skip") for peers in PEERS.values())
by_peer_namespaces = tuple(SelectorIndexer(f"{peers}.namespaceSelector", on_error="skip") for peers in PEERS.values())
by_labels = LabelIndexer.all(budget=Budget("1GiB"))

PodsOf: TypeAlias = Callable[[Collection[str], LabelSelector], Collection[ObjectKey]]
"""Namespaces and a selector -> the pods there that it matches."""

NamespacesOf: TypeAlias = Callable[[LabelSelector], Collection[str]]
"""A selector -> the namespaces that it matches."""


class Rule(NamedTuple):
    """Whom one rule lets through: everyone, or these pods and blocks of addresses."""

    everyone: bool
    pods: frozenset[ObjectKey]
    blocks: tuple[str, ...]

    def __str__(self) -> str:
        return "everyone" if self.everyone else ", ".join([*map(str, sorted(self.pods)), *self.blocks]) or "nobody"


class Meaning(NamedTuple):
    """What a policy means now; a direction that it does not restrict is None."""

    pods: frozenset[ObjectKey]
    ingress: tuple[Rule, ...] | None
    egress: tuple[Rule, ...] | None

    @property
    def peers(self) -> frozenset[ObjectKey]:
        """All pods that a rule lets through by name."""
        return frozenset().union(*[rule.pods for rules in self[1:] for rule in rules or ()])

    def of_pod(self, key: ObjectKey) -> Meaning:
        """Give what it means for one pod."""
        only = frozenset([key])
        rules = [each and tuple(rule._replace(pods=rule.pods & only) for rule in each) for each in self[1:]]
        return Meaning(self.pods & only, *rules)

    def __str__(self) -> str:
        sides = (("from", self.ingress), ("to", self.egress))
        said = [f"{word} {' or '.join(map(str, rules)) or 'nobody'}" for word, rules in sides if rules is not None]
        return "; ".join([", ".join(map(str, sorted(self.pods))) or "no pods", *said])


class NetworkPolicyController:
    """Tell which pods each network policy holds for, and whom it lets through."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("v1", "Namespace", (by_labels,), namespaced=False),
        Kind("networking.k8s.io/v1", "NetworkPolicy", (applying, *by_peer_pods, *by_peer_namespaces)),
        Kind("v1", "Pod", (by_labels,)),
    )

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.namespaces, self.policies, self.pods = views["Namespace"], views["NetworkPolicy"], views["Pod"]
        self.results = Results(tell)

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at every policy that a change concerns."""
        match kind:
            case "NetworkPolicy":
                self.settle(delta.key)
            case "Namespace":
                touched = {key for by in by_peer_namespaces for key in self._selecting(by, delta.old, delta.new)}
                for key in touched:
                    self.settle(key)
            case _:
                for key in self.policies_touched(delta):
                    if not self.knows(key, delta):
                        self.settle(key)

    def policies_touched(self, delta: Delta[Any]) -> set[ObjectKey]:
        """Give the policies that may mean something else, now that a pod has changed."""
        namespace = delta.key.namespace
        touched = set(self.policies.keys(applying.matching_either(delta.old, delta.new), namespace=namespace))
        for by in by_peer_pods:
            touched.update(self._selecting(by, delta.old, delta.new))
        if (there := self.namespaces.get(namespace)) is not None:
            touched.update(*(self._selecting(by, there, there) for by in by_peer_namespaces))
        return touched

    def knows(self, key: ObjectKey, delta: Delta[Any]) -> bool:
        """Tell whether what is known of a policy is right for this pod, as when it turned ready and kept its labels."""
        policy, known = self.policies.get(key), self.results.get(key)
        if policy is None or known is None:
            return policy is None and known is None
        pod, namespace = self.pods.get(delta.key), self.namespaces.get(delta.key.namespace)
        only = walking([] if pod is None else [pod], [] if namespace is None else [namespace])
        try:
            return bool(meaning_of(policy, *only) == known.of_pod(delta.key))
        except SelectorObjectError:  # it has changed, and its own delta is still to come
            return False

    def settle(self, key: ObjectKey) -> None:
        """Find the pods of one policy."""
        policy = self.policies.get(key)
        if policy is None:
            self.results.drop(key)
            return
        try:
            meaning = meaning_of(policy, self._pods_of, self._namespaces_of)
        except SelectorObjectError:  # the API would refuse it; the index has said so
            self.results.drop(key)
            return
        self.results.put(key, meaning, wrong=wrong_with(policy))

    def policies_of(self, pod: object) -> tuple[set[ObjectKey], set[ObjectKey]]:
        """Give the policies that hold for a pod, and those of which a rule lets it through by name."""
        key = key_of(pod)
        holding = self.policies.keys(applying.matching(pod), namespace=key.namespace)
        known = {each: self.results.get(each) for each in self.policies_touched(Added(key, pod))}
        return set(holding), {each for each, meaning in known.items() if meaning is not None and key in meaning.peers}

    def _pods_of(self, namespaces: Collection[str], selector: LabelSelector) -> list[ObjectKey]:
        return self.pods.keys(namespace=list(namespaces), label_selector=selector) if namespaces else []

    def _namespaces_of(self, selector: LabelSelector) -> list[str]:
        return [key.name for key in self.namespaces.keys(label_selector=selector)]

    def _selecting(self, by: SelectorIndexer, old: object, new: object) -> list[ObjectKey]:
        return self.policies.keys(by.matching_either(old, new))


def meaning_of(policy: object, pods_of: PodsOf, namespaces_of: NamespacesOf) -> Meaning:
    """Find the pods of a policy.

    Raises:
        SelectorObjectError: one of its selectors is none that the API takes, so it means nothing at all.
    """
    namespace, chosen = key_of(policy).namespace, _applies_to.first(policy)
    selector = LabelSelector() if chosen is None else LabelSelector.from_object(chosen)

    def rule(peers: object) -> Rule:
        pods: set[ObjectKey] = set()
        for peer in parts(items([peers])):
            of_pods, of_namespaces = _of_pods.first(peer), _of_namespaces.first(peer)
            if of_pods is not None or of_namespaces is not None:
                where = LabelSelector.from_object(of_namespaces)
                which = LabelSelector() if of_pods is None else LabelSelector.from_object(of_pods)
                pods.update(pods_of([namespace] if of_namespaces is None else namespaces_of(where), which))
        blocks = texts(_cidr.first(peer) for peer in parts(items([peers])))
        return Rule(_is_for_everyone(peers), frozenset(pods), tuple(blocks))

    ingress = tuple(rule(_from.first(each)) for each in parts(_ingress.values(policy)))
    egress = tuple(rule(_to.first(each)) for each in parts(_egress.values(policy)))
    kinds = texts(_types.values(policy)) or ["Ingress", *(["Egress"] if egress else [])]
    pods = frozenset(pods_of([namespace], selector))
    return Meaning(pods, ingress if "Ingress" in kinds else None, egress if "Egress" in kinds else None)


def wrong_with(policy: object) -> str:
    """Say what is wrong with the peers of a policy, or nothing."""
    rules = [_from.first(each) for each in parts(_ingress.values(policy))]
    rules += [_to.first(each) for each in parts(_egress.values(policy))]
    if any(peers is not None and not isinstance(peers, (list, tuple)) for peers in rules):
        return "the peers of a rule are no list, so it lets nobody through"
    if any(not parts([peer]) or not any(_said(peer)) for peer in items(rules)):
        return "a peer says neither podSelector, namespaceSelector nor ipBlock, so it is nobody"
    return ""


def _said(peer: object) -> tuple[bool, ...]:
    return tuple(path.first(peer) is not None for path in (_of_pods, _of_namespaces, _cidr))


def _is_for_everyone(peers: object) -> bool:
    return peers is None or (isinstance(peers, (list, tuple)) and unsaid([peers]))


def walking(pods: Iterable[object], namespaces: Iterable[object]) -> tuple[PodsOf, NamespacesOf]:
    """Make the two questions that a policy asks answer by walking."""
    labels: Mapping[ObjectKey, Mapping[str, object]] = {key_of(pod): labels_of(pod) for pod in pods}
    there = {key_of(each).name: labels_of(each) for each in namespaces}

    def pods_of(names: Collection[str], selector: LabelSelector) -> list[ObjectKey]:
        return [key for key, each in labels.items() if key.namespace in names and selector.matches(each)]

    return pods_of, lambda selector: [name for name, each in there.items() if selector.matches(each)]


def scan(namespaces: Iterable[object], policies: Iterable[object], pods: Iterable[object]) -> dict[ObjectKey, Meaning]:
    """Find the pods of all policies by walking everything: what the controller must agree with."""
    found, ask = {}, walking(pods, namespaces)
    for policy in policies:
        try:
            found[key_of(policy)] = meaning_of(policy, *ask)
        except SelectorObjectError:
            continue
    return found


_path = JsonPath.parse
_applies_to, _types = _path("spec.podSelector"), _path("spec.policyTypes[*]")
_ingress, _egress, _from, _to = _path("spec.ingress[*]"), _path("spec.egress[*]"), _path("from"), _path("to")
_of_pods, _of_namespaces, _cidr = _path("podSelector"), _path("namespaceSelector"), _path("ipBlock.cidr")

if __name__ == "__main__":
    controller_main(NetworkPolicyController)
