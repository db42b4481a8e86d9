"""Indexes over Pods: by IP, node, phase and ServiceAccount."""

from __future__ import annotations

from typing import Final

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.derived import texts
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.networking.addresses import IPIndexer, addresses
from kindex.indexers.networking.references import LocalReferenceIndexer
from kindex.indexers.terms import Term
from kindex.objects import key_of, kind_of

_DEFAULT_ACCOUNT: Final = "default"


class PodIPIndexer(IPIndexer):
    """An index by ``status.podIP`` and ``status.podIPs[*].ip`` of Pod (v1): whose address is this?

    IPv6 addresses are found in every spelling. Pods on the network of their host share its address, and a pod that has
    ended may keep one that another has by now.

    >>> by_ip = PodIPIndexer()
    >>> by_ip.values_of({"status": {"podIP": "10.1.0.7", "podIPs": [{"ip": "10.1.0.7"}, {"ip": "fd00:0::7"}]}})
    ('10.1.0.7', 'fd00::7')
    """

    def __init__(self, *, name: str = "pod IP", budget: Budget | None = None) -> None:
        super().__init__(name, ["status.podIP", "status.podIPs[*].ip"], addresses, budget=budget)


class PodNodeIndexer(FieldIndexer):
    """An index by ``spec.nodeName`` of Pod (v1): which run on this node?

    >>> by_node = PodNodeIndexer()
    >>> print(by_node.of({"kind": "Node", "metadata": {"name": "n1"}}))
    spec.nodeName = 'n1'
    """

    def __init__(self, *, name: str | None = None, budget: Budget | None = None) -> None:
        super().__init__("spec.nodeName", name=name, budget=budget)

    def __repr__(self) -> str:
        return f"PodNodeIndexer(name={self.name!r})"

    def of(self, node: object) -> Term[object]:
        """Select the pods of *node*, a stored object; ``at(name)`` those of a node by its name.

        Raises:
            IndexerError: it is no Node.
        """
        if isinstance(node, str) or kind_of(node) not in ("", "Node"):
            raise IndexerError(f"of() of {self.name!r} takes a Node, not {node!r}; for a name, use at()")
        return self.at(key_of(node).name)


class PodPhaseIndexer(FieldIndexer):
    """An index by ``status.phase`` of Pod (v1).

    >>> PodPhaseIndexer().values_of({"status": {"phase": "Running"}})
    ('Running',)
    """

    def __init__(self, *, name: str | None = None, budget: Budget | None = None) -> None:
        super().__init__("status.phase", name=name, budget=budget)

    def __repr__(self) -> str:
        return f"PodPhaseIndexer(name={self.name!r})"


class ServiceAccountRefIndexer(LocalReferenceIndexer):
    """An index by ``spec.serviceAccountName`` of Pod (v1): which run as this account?

    Where it is missing, the old ``spec.serviceAccount`` counts, and then ``default``, as the server fills in.

    Args:
        pod_spec: where the pod's spec is: ``spec.template.spec`` in a Deployment.

    >>> by_account = ServiceAccountRefIndexer()
    >>> by_account.values_of({"spec": {"serviceAccountName": "robot"}}), by_account.values_of({"spec": {}})
    (('robot',), ('default',))
    """

    _kind = "ServiceAccount"

    def __init__(self, *, pod_spec: str = "spec", name: str = "service account", budget: Budget | None = None) -> None:
        paths = [f"{pod_spec}.serviceAccountName", f"{pod_spec}.serviceAccount"]
        super().__init__(name, paths, _accounts, budget=budget)


def _accounts(_namespace: str, named: tuple[object, ...], old: tuple[object, ...]) -> list[str]:
    return texts(named) or texts(old) or [_DEFAULT_ACCOUNT]
