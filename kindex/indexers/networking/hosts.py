"""HostIndexer: by DNS names, with the wildcards that cover a name; DomainIndexer: by the domains above them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import attrs

from kindex.budgets import Budget
from kindex.errors import IndexerError
from kindex.indexers.derived import DerivedIndexer
from kindex.indexers.terms import At, Term

if TYPE_CHECKING:
    from kindex.values import ValueKey

ANY_HOST: Final = "*"

# Of DNS names only the letters of ASCII have two cases; str.lower would make a k of the Kelvin sign.
_LOWER: Final = {capital: capital + 32 for capital in range(ord("A"), ord("Z") + 1)}


def host_text(host: str) -> str:
    """Give a host as it is compared: in lower case, and without the dot that marks a name as complete.

    DNS names are the same in both cases, and in an object every name that has a dot is complete anyway.

    >>> host_text("Shop.Example.COM.")
    'shop.example.com'
    """
    lowered = host.lower() if host.isascii() else host.translate(_LOWER)
    return lowered.removesuffix(".")


def one_label_wildcards(host: str) -> list[str]:
    """Give the wildcard that covers *host* where ``*`` stands for exactly one label, as for an Ingress.

    >>> one_label_wildcards("a.b.example.com"), one_label_wildcards("localhost")
    (['*.b.example.com'], [])
    """
    _, dot, rest = host.partition(".")
    return [f"*.{rest}"] if dot else []


def label_wildcards(host: str) -> list[str]:
    """Give the wildcards that cover *host* where ``*`` stands for one label or more, as in the Gateway API.

    >>> label_wildcards("a.b.example.com")
    ['*.b.example.com', '*.example.com', '*.com']
    """
    return [f"*{host[place:]}" for place, letter in enumerate(host) if letter == "." and place]


def text_wildcards(host: str) -> list[str]:
    """Give the wildcards that cover *host* where ``*`` stands for any text, as in Istio: ``*-shop.example.com``.

    >>> text_wildcards("a.io")
    ['*a.io', '*.io', '*io', '*o']
    """
    return [f"*{host[place:]}" for place in range(len(host))]


class HostIndexer(DerivedIndexer[Any]):  # Any: hosts, and for Istio's gateways also pairs of namespace and host
    """What the indexes by host have in common.

    Hosts are compared in lower case and without a dot at the end, in objects and in questions. Objects that take
    every host are filed under ``*``.

    >>> from kindex import Store
    >>> from kindex.indexers.networking import IngressHostIndexer
    >>> by_host = IngressHostIndexer()
    >>> ingresses = Store(indexers=[by_host])
    >>> rule = {"host": "*.example.com"}
    >>> _ = ingresses.put({"metadata": {"name": "a", "namespace": "x"}, "spec": {"rules": [rule]}})
    >>> ingresses.count(by_host.for_host("www.example.com")), ingresses.count(by_host.for_host("example.com"))
    (1, 0)
    """

    _wildcards: ClassVar[Callable[[str], list[str]]]

    def for_host(self, host: str, *, catch_all: bool = True) -> Term[object]:
        """Select the objects that answer for *host*: by name, by a wildcard that covers it, or for every host.

        Of a wildcard it selects what covers all of it: the same one, and wider ones. What lies below it, a
        DomainIndexer finds.

        Args:
            host: a name or a wildcard, without scheme, port and path.
            catch_all: whether objects count that take every host.

        Raises:
            IndexerError: *host* is not one.
        """
        return At(self, tuple(self._covering(host, catch_all=catch_all)))

    def _covering(self, host: str, *, catch_all: bool) -> list[str]:
        asked = self._host(host)
        found = dict.fromkeys([asked, *type(self)._wildcards(asked), ANY_HOST])  # noqa: SLF001 - a function, not a method
        return [name for name in found if catch_all or name != ANY_HOST]

    def _host(self, host: object) -> str:
        name = host_text(host) if isinstance(host, str) else ""
        if not name or "/" in name or name.count(":") == 1:
            raise IndexerError(
                f"indexer {self.name!r} is asked for a host such as 'a.example.com', without scheme and port,"
                f" not {host!r}"
            )
        return name

    def _key(self, value: object) -> ValueKey:
        return super()._key(self._host(value) if isinstance(value, str) else value)


@attrs.frozen
class _Above:
    """Gives the domains above the hosts that another function gives."""

    hosts: Callable[..., Iterable[object]]

    def __call__(self, namespace: str, *found: tuple[object, ...]) -> list[str]:
        hosts = [host for host in self.hosts(namespace, *found) if isinstance(host, str)]
        return [host[place + 1 :] for host in hosts for place, letter in enumerate(host) if letter == "."]


class DomainIndexer(DerivedIndexer[str]):
    """An index by the domains above hosts: what is there below ``example.com``?

    Takes the indexer whose hosts are meant, and reads what that reads. A host, or wildcard, lies below every domain
    that is left when labels are taken off its front; it does not lie below itself.

    >>> from kindex import Store
    >>> from kindex.indexers.networking import RouteHostIndexer
    >>> by_domain = DomainIndexer(RouteHostIndexer())
    >>> routes = Store(indexers=[by_domain])
    >>> for name, host in ("a", "a.example.com"), ("b", "*.b.example.com"), ("c", "example.com"):
    ...     _ = routes.put({"metadata": {"name": name, "namespace": "x"}, "spec": {"hostnames": [host]}})
    >>> [key.name for key in routes.keys(by_domain.below("Example.com"), order_by="key")]
    ['a', 'b']
    """

    def __init__(self, hosts: HostIndexer, *, name: str | None = None, budget: Budget | None = None) -> None:
        if not isinstance(hosts, HostIndexer):
            raise IndexerError(f"DomainIndexer takes an indexer of hosts, such as RouteHostIndexer(), not {hosts!r}")
        paths = [path.text for path in hosts.values.paths]
        name = name if name is not None else f"domain of {hosts.name}"
        super().__init__(name, paths, _Above(hosts.values.derive), budget=budget)

    def below(self, domain: str) -> Term[object]:
        """Select the objects with a host, or a wildcard, that ends in a dot and *domain*.

        Raises:
            IndexerError: *domain* is not text, or a wildcard.
        """
        if not isinstance(domain, str) or not domain.strip("*.") or "*" in domain:
            raise IndexerError(f"below() of {self.name!r} takes a domain, such as 'example.com', not {domain!r}")
        return self.at(domain)

    def _key(self, value: object) -> ValueKey:
        return super()._key(host_text(value) if isinstance(value, str) else value)
