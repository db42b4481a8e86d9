"""Indexes over routes of the Gateway API: by what they are attached to, and by host."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.derived import DerivedIndexer, items, texts, unsaid
from kindex.indexers.networking.hosts import ANY_HOST, HostIndexer, host_text, label_wildcards
from kindex.indexers.owners import group_of
from kindex.indexers.terms import Term
from kindex.keys import ObjectKey
from kindex.members import member_of
from kindex.objects import api_version_of, key_of, kind_of

Parent: TypeAlias = tuple[str, ...]
"""API group, kind, namespace and name of a parent, alone and once more with the section, ``""`` for all of them."""

GATEWAY_GROUP: Final = "gateway.networking.k8s.io"
_GATEWAY: Final = "Gateway"


class RouteParentIndexer(DerivedIndexer[Parent]):
    """An index by ``spec.parentRefs`` of HTTPRoute (gateway.networking.k8s.io/v1): which are attached to this Gateway?

    GRPCRoute, TLSRoute, TCPRoute and UDPRoute have the same field. A reference means a Gateway of that API group in the
    route's own namespace, unless it says otherwise (``group``, ``kind``, ``namespace``), and all of its listeners,
    unless it has a ``sectionName``. The ``port`` of a reference is not looked at.

    >>> from kindex import ObjectKey, Store
    >>> by_parent = RouteParentIndexer()
    >>> routes = Store(indexers=[by_parent])
    >>> for name, ref in ("a", {"name": "main"}), ("b", {"name": "main", "sectionName": "http"}), ("c", {"name": "x"}):
    ...     _ = routes.put({"metadata": {"name": name, "namespace": "prod"}, "spec": {"parentRefs": [ref]}})
    >>> main = ObjectKey("prod", "main")
    >>> [key.name for key in routes.keys(by_parent.of(main), order_by="key")]
    ['a', 'b']
    >>> [key.name for key in routes.keys(by_parent.of(main, section="https"), order_by="key")]
    ['a']
    """

    def __init__(self, *, name: str = "route parent", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.parentRefs"], _parents, budget=budget)

    def of(self, parent: object, *, section: str | None = None) -> Term[object]:
        """Select the routes that name *parent*: a stored object, or the ObjectKey of a Gateway.

        An object of another kind, such as a Service, must say its kind and API version; one without is a Gateway.

        Args:
            parent: what they are attached to.
            section: count only references to this section, such as a listener's name, and to the whole parent.

        Raises:
            IndexerError: *parent* has no namespace.
        """
        if isinstance(parent, ObjectKey):
            return self.named(parent.name, namespace=parent.namespace, section=section)
        if isinstance(parent, (str, tuple)):
            raise IndexerError(f"{parent!r} is no Gateway; give the object, or ObjectKey(namespace, name)")
        key, kind = key_of(parent), kind_of(parent)
        group = group_of(api_version_of(parent)) if kind else GATEWAY_GROUP
        return self.named(key.name, namespace=key.namespace, kind=kind or _GATEWAY, group=group, section=section)

    def named(
        self, name: str, *, namespace: str, kind: str = _GATEWAY, group: str = GATEWAY_GROUP, section: str | None = None
    ) -> Term[object]:
        """Select the routes that name the parent of this kind and name; *group* is ``""`` for a Service."""
        if not namespace:
            raise IndexerError(f"{kind} {name!r} has no namespace, and a parent of a route always has one")
        parent = (group, kind, namespace, name)
        return self.at(parent) if section is None else self.among([(*parent, section), (*parent, "")])


class RouteHostIndexer(HostIndexer):
    """An index by ``spec.hostnames`` of HTTPRoute (gateway.networking.k8s.io/v1): which answer for this host?

    GRPCRoute and TLSRoute have the same field. A ``*`` stands for one label or more. A route without hostnames takes
    every host of its listeners, and is filed under ``*``.

    >>> from kindex import Store
    >>> by_host = RouteHostIndexer()
    >>> routes = Store(indexers=[by_host])
    >>> for name, hosts in ("a", ["A.Example.com"]), ("b", ["*.example.com"]), ("c", None), ("d", ["b.example.com"]):
    ...     _ = routes.put({"metadata": {"name": name, "namespace": "prod"}, "spec": {"hostnames": hosts}})
    >>> [key.name for key in routes.keys(by_host.for_host("a.example.com"), order_by="key")]
    ['a', 'b', 'c']
    >>> [key.name for key in routes.keys(by_host.for_host("example.com"), order_by="key")]
    ['c']
    """

    _wildcards = label_wildcards

    def __init__(self, *, name: str = "route host", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.hostnames"], _hosts, budget=budget)


def _parents(own: str, references: tuple[object, ...]) -> Iterator[Parent]:
    defaults = (("group", GATEWAY_GROUP), ("kind", _GATEWAY), ("namespace", own), ("name", ""), ("sectionName", ""))
    for reference in items(references):
        said = [(member_of(reference, member), default) for member, default in defaults]
        found = [default if value is None else value for value, default in said]
        named = [value for value in found if isinstance(value, str)]
        if len(named) < len(defaults):
            continue
        group, kind, namespace, name, section = named
        if name:
            parent = (group, kind or _GATEWAY, namespace or own, name)
            yield parent
            yield (*parent, section)


def _hosts(_namespace: str, hostnames: tuple[object, ...]) -> list[str]:
    if unsaid(hostnames):
        return [ANY_HOST]
    return [host for text in texts(items(hostnames)) if (host := host_text(text))]
