"""Indexes over Services: by selector pair, cluster IP, external name and type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kindex.budgets import Budget
from kindex.indexers.derived import DerivedIndexer, texts
from kindex.indexers.networking.addresses import IPIndexer, addresses
from kindex.indexers.networking.hosts import host_text
from kindex.indexers.networking.selector_pairs import Pair, SelectorPairIndexer, pairs
from kindex.indexers.terms import Term

if TYPE_CHECKING:
    from kindex.values import ValueKey

EXTERNAL_NAME: Final = "ExternalName"
_TYPE: Final = "spec.type"
_DEFAULT_TYPE: Final = "ClusterIP"
_HEADLESS: Final = "None"


class ServiceSelectorIndexer(SelectorPairIndexer):
    """An index by the pairs of ``spec.selector`` of Service (v1): which ask for ``app=web``?

    A null selector and an empty one have no pair. Services of type ExternalName are left out, as their selector is
    ignored.

    >>> from kindex import Store
    >>> by_pair = ServiceSelectorIndexer()
    >>> services = Store(indexers=[by_pair])
    >>> for name, selector in ("a", {"app": "web", "tier": "gold"}), ("b", {"app": "web"}), ("c", None):
    ...     _ = services.put({"metadata": {"name": name, "namespace": "x"}, "spec": {"selector": selector}})
    >>> services.count(by_pair.pair("app", "web")), services.count(by_pair.holding({"app": "web", "tier": "gold"}))
    (2, 1)
    >>> services.keys(by_pair.without())
    [ObjectKey(namespace='x', name='c')]
    """

    def __init__(self, *, name: str = "service selector", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.selector", _TYPE], _pairs, budget=budget)


class ClusterIPIndexer(IPIndexer):
    """An index by ``spec.clusterIP`` and ``spec.clusterIPs`` of Service (v1): whose address is this?

    IPv6 addresses are found in every spelling. Services of type ExternalName have no cluster IP, whatever they say.

    >>> by_ip = ClusterIPIndexer()
    >>> by_ip.values_of({"spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "2001:DB8::0:1"]}})
    ('10.0.0.1', '2001:db8::1')
    """

    def __init__(self, *, name: str = "cluster IP", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.clusterIP", "spec.clusterIPs[*]", _TYPE], _cluster_ips, budget=budget)

    def headless(self) -> Term[object]:
        """Select the headless Services, whose cluster IP is ``None``."""
        return self.at(_HEADLESS)


class ExternalNameIndexer(DerivedIndexer[str]):
    """An index by ``spec.externalName`` of Service (v1), where ``spec.type`` is ExternalName: which lead to this host?

    Compared in lower case and without a dot at the end.

    >>> by_external_name = ExternalNameIndexer()
    >>> by_external_name.values_of({"spec": {"type": "ExternalName", "externalName": "DB.example.com."}})
    ('db.example.com',)
    >>> by_external_name.values_of({"spec": {"type": "ClusterIP", "externalName": "db.example.com"}})
    ()
    """

    def __init__(self, *, name: str = "external name", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.externalName", _TYPE], _external_names, budget=budget)

    def _key(self, value: object) -> ValueKey:
        return super()._key(host_text(value) if isinstance(value, str) else value)


class ServiceTypeIndexer(DerivedIndexer[str]):
    """An index by ``spec.type`` of Service (v1), which is ClusterIP where it is not said.

    >>> by_type = ServiceTypeIndexer()
    >>> by_type.values_of({"spec": {}}), by_type.values_of({"spec": {"type": "ExternalName"}})
    (('ClusterIP',), ('ExternalName',))
    """

    def __init__(self, *, name: str = "service type", budget: Budget | None = None) -> None:
        super().__init__(name, [_TYPE], _types, budget=budget)


def _is_external(types: tuple[object, ...]) -> bool:
    return EXTERNAL_NAME in texts(types)  # of text: comparing a map of the dynamic client with a text raises


def _pairs(namespace: str, selectors: tuple[object, ...], types: tuple[object, ...]) -> list[Pair]:
    return [] if _is_external(types) else pairs(namespace, selectors)


def _cluster_ips(
    namespace: str, first: tuple[object, ...], rest: tuple[object, ...], types: tuple[object, ...]
) -> list[str]:
    return [] if _is_external(types) else addresses(namespace, first, rest)


def _external_names(_namespace: str, external: tuple[object, ...], types: tuple[object, ...]) -> list[str]:
    return [host for text in texts(external) if (host := host_text(text))] if _is_external(types) else []


def _types(_namespace: str, types: tuple[object, ...]) -> list[str]:
    return texts(types) or [_DEFAULT_TYPE]
