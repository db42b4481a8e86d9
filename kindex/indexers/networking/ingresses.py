"""Indexes over Ingresses: by host, class, backend Service and TLS Secret."""

from __future__ import annotations

from typing import Final

from kindex.budgets import Budget
from kindex.indexers.derived import DerivedIndexer, items, parts, texts
from kindex.indexers.networking.hosts import ANY_HOST, HostIndexer, host_text, one_label_wildcards
from kindex.indexers.networking.references import LocalReferenceIndexer, names
from kindex.indexers.terms import Absent, Term
from kindex.members import member_of

CLASS_ANNOTATION: Final = "kubernetes.io/ingress.class"

# Written by those who still read networking.k8s.io/v1beta1 or extensions/v1beta1.
_OLD_DEFAULT: Final = "spec.backend"
_RULES: Final = "spec.rules"
_DEFAULT: Final = "spec.defaultBackend"
_BACKENDS: Final = "spec.rules[*].http.paths[*].backend"


class IngressHostIndexer(HostIndexer):
    """An index by ``spec.rules[*].host`` of Ingress (networking.k8s.io/v1): which answer for this host?

    A ``*`` stands for exactly one label. A rule without host takes every host, and so does a default backend
    (``spec.defaultBackend``, in v1beta1 ``spec.backend``): these are filed under ``*``.

    >>> from kindex import Store
    >>> by_host = IngressHostIndexer()
    >>> ingresses = Store(indexers=[by_host])
    >>> for name, rule in ("exact", {"host": "A.example.com"}), ("wild", {"host": "*.example.com"}), ("all", {}):
    ...     _ = ingresses.put({"metadata": {"name": name, "namespace": "x"}, "spec": {"rules": [rule]}})
    >>> [key.name for key in ingresses.keys(by_host.for_host("a.example.com"), order_by="key")]
    ['all', 'exact', 'wild']
    >>> ingresses.keys(by_host.for_host("a.b.example.com", catch_all=False))
    []
    """

    _wildcards = one_label_wildcards

    def __init__(self, *, name: str = "ingress host", budget: Budget | None = None) -> None:
        super().__init__(name, [_RULES, _DEFAULT, _OLD_DEFAULT], _hosts, budget=budget)


class IngressClassIndexer(DerivedIndexer[str]):
    """An index by the class of Ingress (networking.k8s.io/v1): whose are they?

    That is the annotation ``kubernetes.io/ingress.class`` where it says something, since it is to be given precedence,
    and else ``spec.ingressClassName``.

    >>> by_class = IngressClassIndexer()
    >>> by_class.values_of({"spec": {"ingressClassName": "nginx"}})
    ('nginx',)
    >>> annotations = {"kubernetes.io/ingress.class": "traefik"}
    >>> by_class.values_of({"metadata": {"annotations": annotations}, "spec": {"ingressClassName": "nginx"}})
    ('traefik',)
    """

    def __init__(self, *, name: str = "ingress class", budget: Budget | None = None) -> None:
        paths = [f"metadata.annotations['{CLASS_ANNOTATION}']", "spec.ingressClassName"]
        super().__init__(name, paths, _class, budget=budget)

    def without(self) -> Term[object]:
        """Select the Ingresses that name no class: those of the default class."""
        return Absent(self)


class IngressBackendIndexer(LocalReferenceIndexer):
    """An index by the Services that an Ingress (networking.k8s.io/v1) leads to: which lead to this one?

    Reads ``spec.rules[*].http.paths[*].backend.service.name`` and ``spec.defaultBackend.service.name``, and what these
    are in v1beta1 (``backend.serviceName``, ``spec.backend.serviceName``).

    >>> from kindex import ObjectKey, Store
    >>> by_backend = IngressBackendIndexer()
    >>> ingresses = Store(indexers=[by_backend])
    >>> spec = {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}
    >>> _ = ingresses.put({"metadata": {"name": "a", "namespace": "prod"}, "spec": spec})
    >>> ingresses.count(by_backend.of(ObjectKey("prod", "web"))), ingresses.count(by_backend.of(ObjectKey("x", "web")))
    (1, 0)
    """

    _kind = "Service"

    def __init__(self, *, name: str = "ingress backend", budget: Budget | None = None) -> None:
        whole, old = ("service.name", "serviceName")
        paths = [f"{_BACKENDS}.{whole}", f"{_DEFAULT}.{whole}", f"{_BACKENDS}.{old}", f"{_OLD_DEFAULT}.{old}"]
        super().__init__(name, paths, names, budget=budget)


class IngressTlsSecretIndexer(LocalReferenceIndexer):
    """An index by ``spec.tls[*].secretName`` of Ingress (networking.k8s.io/v1): which use this Secret?

    >>> by_tls_secret = IngressTlsSecretIndexer()
    >>> by_tls_secret.values_of({"spec": {"tls": [{"hosts": ["a.example.com"], "secretName": "cert"}]}})
    ('cert',)
    >>> print(by_tls_secret.of({"kind": "Secret", "metadata": {"name": "cert", "namespace": "prod"}}))
    (namespace = 'prod' and ingress TLS secret = 'cert')
    """

    _kind = "Secret"

    def __init__(self, *, name: str = "ingress TLS secret", budget: Budget | None = None) -> None:
        super().__init__(name, ["spec.tls[*].secretName"], names, budget=budget)


def _hosts(
    _namespace: str, rules: tuple[object, ...], default: tuple[object, ...], old_default: tuple[object, ...]
) -> list[str]:
    hosts = [member_of(rule, "host") for rule in parts(items(rules))]
    found = [host_text(host or "") or ANY_HOST for host in hosts if host is None or isinstance(host, str)]
    return [*found, ANY_HOST] if parts((*default, *old_default)) else found


def _class(_namespace: str, annotated: tuple[object, ...], named: tuple[object, ...]) -> list[str]:
    return (texts(annotated) or texts(named))[:1]
