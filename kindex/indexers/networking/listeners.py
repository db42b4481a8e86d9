"""Indexes over Gateways of the Gateway API: by host and port of their listeners, and by class."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kindex.budgets import Budget
from kindex.indexers.derived import items, parts
from kindex.indexers.fields import FieldIndexer
from kindex.indexers.networking.hosts import ANY_HOST, HostIndexer, host_text, label_wildcards
from kindex.indexers.networking.ports import PortIndexer, ports
from kindex.members import member_of

_LISTENERS: Final = "spec.listeners"


class ListenerHostIndexer(HostIndexer):
    """An index by ``spec.listeners[*].hostname`` of Gateway (gateway.networking.k8s.io/v1): which listen for this host?

    A ``*`` stands for one label or more. A listener without hostname takes every host, and is filed under ``*``.

    >>> by_host = ListenerHostIndexer()
    >>> by_host.values_of({"spec": {"listeners": [{"name": "a", "hostname": "*.Example.com"}, {"name": "b"}]}})
    ('*.example.com', '*')
    """

    _wildcards = label_wildcards

    def __init__(self, *, name: str = "listener host", budget: Budget | None = None) -> None:
        super().__init__(name, [_LISTENERS], _hosts, budget=budget)


class ListenerPortIndexer(PortIndexer):
    """An index by ``spec.listeners[*].port`` of Gateway (gateway.networking.k8s.io/v1).

    >>> by_port = ListenerPortIndexer()
    >>> by_port.values_of({"spec": {"listeners": [{"name": "a", "port": 443}, {"name": "b", "port": 80}]}})
    (443, 80)
    """

    def __init__(self, *, name: str = "listener port", budget: Budget | None = None) -> None:
        super().__init__(name, [f"{_LISTENERS}[*].port"], ports, budget=budget)


class GatewayClassIndexer(FieldIndexer):
    """An index by ``spec.gatewayClassName`` of Gateway (gateway.networking.k8s.io/v1).

    >>> GatewayClassIndexer().values_of({"spec": {"gatewayClassName": "istio"}})
    ('istio',)
    """

    def __init__(self, *, name: str | None = None, budget: Budget | None = None) -> None:
        super().__init__("spec.gatewayClassName", name=name, budget=budget)

    def __repr__(self) -> str:
        return f"GatewayClassIndexer(name={self.name!r})"


def _hosts(_namespace: str, listeners: tuple[object, ...]) -> Iterator[str]:
    for host in (member_of(listener, "hostname") for listener in parts(items(listeners))):
        if host is None or isinstance(host, str):
            yield host_text(host or "") or ANY_HOST
