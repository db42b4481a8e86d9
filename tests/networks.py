"""Random networking objects, and random questions about them, each with its meaning in plain Python.

As in ``tests.strategies``, nothing of kindex decides an answer: every predicate reads plain JSON and spells the rule of
the API out once more. Odd objects have values of the wrong type anywhere, as a broken tool might write them.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from kindex import ObjectKey, OwnerIndexer, Term
from kindex.indexers import networking as net

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from kindex.indexers.base import AnyIndexer

Plain: TypeAlias = dict[str, Any]
Predicate: TypeAlias = "Callable[[Plain], bool]"

NAMESPACES: Final = ["prod", "edge", "dev"]
NAMES: Final = ["main", "web", "db"]
HOSTS: Final = [
    "a.example.com", "A.Example.COM", "b.example.com.", "*.example.com", "*.B.example.com", "x.b.example.com",
    "example.com", "*.com", "*", "", "localhost", "web", "*-shop.example.com", "x-shop.example.com", "10.0.0.9",
    "web.prod.svc.cluster.local", "*.prod.svc.cluster.local",
]  # fmt: skip
ASKED_HOSTS: Final = [
    "a.example.com", "A.EXAMPLE.com.", "b.example.com", "x.b.example.com", "example.com", "*.example.com", "com", "*",
    "*.b.example.com", "x-shop.example.com", "web.prod.svc.cluster.local", "nowhere.org", "10.0.0.9", "localhost.",
]  # fmt: skip
IPS: Final = ["10.0.0.1", "10.0.0.2", "fd00::7", "FD00:0:0::7", "fd00::8", "None", ""]
ODD: Final[list[Any]] = [None, 5, True, 0, "", "x", [], {}, ["x"], {"a": 1}, [None, 7, {"name": 3}], {"name": ["x"]}]
PORTS: Final[list[Any]] = [80, 443, "443", 8443, "https", None]
PAIRS: Final = [("app", "web"), ("app", "db"), ("tier", "gold"), ("istio", "ingressgateway"), ("empty", "")]
EXTERNAL_DNS: Final = "external-dns.alpha.kubernetes.io/ingress"
OWN_ANNOTATION: Final = "acme.io/in-front"


class Question(NamedTuple):
    """A term, and which objects it means."""

    term: Term[object]
    means: Predicate


class Case(NamedTuple):
    """An indexer with its kind of object and its questions."""

    kind: str
    indexer: AnyIndexer[object]
    ask: Callable[[Random], Question]


def dig(value: Any, *steps: str) -> list[Any]:
    """Give what is at some steps of plain JSON, without nulls; ``*`` is each item of a list."""
    if not steps:
        return [] if value is None else [value]
    if steps[0] == "*":
        return [found for item in value for found in dig(item, *steps[1:])] if isinstance(value, list) else []
    return dig(value.get(steps[0]), *steps[1:]) if isinstance(value, dict) else []


def texts(values: list[Any]) -> list[str]:
    return [value for value in values if isinstance(value, str) and value]


def namespace_of(obj: Plain) -> str:
    return str(obj["metadata"].get("namespace", ""))


# Hosts


def plain_host(host: str) -> str:
    lowered = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in host)
    return lowered.removesuffix(".")


def covers(pattern: str, host: str, star: str) -> bool:
    """Tell whether a host of an object covers a host; *star* is the regular expression that ``*`` stands for."""
    pattern, host = plain_host(pattern), plain_host(host)
    if pattern in (host, "*"):
        return True
    if not pattern.startswith("*" if star == TEXT else "*."):
        return False
    return re.fullmatch(star + re.escape(pattern[1:]), host) is not None


ONE_LABEL: Final = r"[^.]+"
LABELS: Final = r"[^.]+(\.[^.]+)*"
TEXT: Final = r".*"


def ask_host(
    indexer: net.HostIndexer, hosts_of: Callable[[Plain], list[str]], star: str
) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        host, catch_all = random.choice(ASKED_HOSTS), random.random() < 0.7
        if random.random() < 0.3:
            host = random.choice([*filter(None, HOSTS), host])
            host = f"{host}.org" if host in ("web", "localhost") else host

        def means(obj: Plain) -> bool:
            hosts = [each for each in hosts_of(obj) if catch_all or each != "*"]
            return any(covers(each, host, star) for each in hosts)

        if isinstance(indexer, net.VirtualServiceHostIndexer) and "." not in plain_host(host) and host != "*":
            host += ".org"
        return Question(indexer.for_host(host, catch_all=catch_all), means)

    return ask


def ask_domain(indexer: net.DomainIndexer, hosts_of: Callable[[Plain], list[str]]) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        domain = random.choice(["example.com", "Example.COM.", "com", "b.example.com", "cluster.local", "org"])
        return Question(
            indexer.below(domain),
            lambda obj: any(plain_host(host).endswith("." + plain_host(domain)) for host in hosts_of(obj)),
        )

    return ask


def ingress_hosts(obj: Plain) -> list[str]:
    rules = [rule for rule in dig(obj, "spec", "rules", "*") if isinstance(rule, dict)]
    hosts = [rule.get("host") for rule in rules]
    defaults = [*dig(obj, "spec", "defaultBackend"), *dig(obj, "spec", "backend")]
    named = ["*" if host in (None, "") else host for host in hosts if host is None or isinstance(host, str)]
    return named + (["*"] if any(isinstance(each, dict) for each in defaults) else [])


def listener_hosts(obj: Plain) -> list[str]:
    listeners = [each for each in dig(obj, "spec", "listeners", "*") if isinstance(each, dict)]
    hosts = [each.get("hostname") for each in listeners]
    return ["*" if host in (None, "") else host for host in hosts if host is None or isinstance(host, str)]


def route_hosts(obj: Plain) -> list[str]:
    hostnames = dig(obj, "spec", "hostnames")
    return ["*"] if hostnames in ([], [[]]) else texts(dig(obj, "spec", "hostnames", "*"))


def istio_hosts(obj: Plain, namespace: str | None = None) -> list[str]:
    hosts = []
    for text in texts(dig(obj, "spec", "servers", "*", "hosts", "*")):
        admitted, host = text.split("/", 1) if "/" in text else ("*", text)
        if admitted and host and "/" not in host:
            admitted = namespace_of(obj) if admitted == "." else admitted
            hosts += [host] if namespace is None or admitted in ("*", namespace) else []
    return hosts


def virtual_service_hosts(obj: Plain) -> list[str]:
    hosts = texts(dig(obj, "spec", "hosts", "*"))
    return [
        host if host == "*" or "." in plain_host(host) else f"{plain_host(host)}.{namespace_of(obj)}.svc.cluster.local"
        for host in hosts
    ]


# Texts, references, ports, addresses


def ask_text(
    term_of: Callable[[str], Term[object]], asked: list[str], texts_of: Callable[[Plain], list[str]]
) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        text = random.choice(asked)
        return Question(term_of(text), lambda obj: text in texts_of(obj))

    return ask


def ask_of(indexer: Any, references_of: Callable[[Plain], set[Any]]) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        key = ObjectKey(random.choice(NAMESPACES), random.choice(NAMES))
        return Question(indexer.of(key), lambda obj: (key.namespace, key.name) in references_of(obj))

    return ask


def here(names_of: Callable[[Plain], list[str]]) -> Callable[[Plain], set[tuple[str, str]]]:
    return lambda obj: {(namespace_of(obj), name) for name in names_of(obj)}


def backends(obj: Plain) -> list[str]:
    places = [*dig(obj, "spec", "rules", "*", "http", "paths", "*", "backend"), *dig(obj, "spec", "defaultBackend")]
    old = [*dig(obj, "spec", "rules", "*", "http", "paths", "*", "backend"), *dig(obj, "spec", "backend")]
    found = [name for place in places for name in dig(place, "service", "name")]
    return texts([*found, *(name for place in old for name in dig(place, "serviceName"))])


def class_of(obj: Plain) -> list[str]:
    annotated = texts(dig(obj, "metadata", "annotations", "kubernetes.io/ingress.class"))
    return annotated or texts(dig(obj, "spec", "ingressClassName"))


def is_external(obj: Plain) -> bool:
    return dig(obj, "spec", "type") == ["ExternalName"]


def cluster_ips(obj: Plain) -> list[str]:
    found = texts([*dig(obj, "spec", "clusterIP"), *dig(obj, "spec", "clusterIPs", "*")])
    return [] if is_external(obj) else found


def pod_ips(obj: Plain) -> list[str]:
    return texts([*dig(obj, "status", "podIP"), *dig(obj, "status", "podIPs", "*", "ip")])


def ask_ip(indexer: Any, ips_of: Callable[[Plain], list[str]]) -> Callable[[Random], Question]:
    def same(one: str, other: str) -> bool:
        try:
            return ipaddress.ip_address(one) == ipaddress.ip_address(other)
        except ValueError:
            return one == other

    def ask(random: Random) -> Question:
        ip = random.choice(IPS)
        return Question(indexer.at(ip), lambda obj: any(same(ip, each) for each in ips_of(obj)))

    return ask


def ask_port(indexer: Any, ports_of: Callable[[Plain], list[Any]]) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        port = random.choice([80, 443, 8443, 5])
        wanted = {f"int {port}", f"str {port}"}
        return Question(
            indexer.at(random.choice([port, str(port)])),
            lambda obj: any(f"{type(each).__name__} {each}" in wanted for each in ports_of(obj)),
        )

    return ask


def pairs_of(obj: Plain) -> dict[str, str]:
    maps = [each for each in dig(obj, "spec", "selector") if isinstance(each, dict)]
    pairs = {key: "" if value is None else value for each in maps for key, value in each.items()}
    return {key: value for key, value in pairs.items() if isinstance(value, str)}


def service_pairs(obj: Plain) -> dict[str, str]:
    return {} if is_external(obj) else pairs_of(obj)


def ask_pairs(
    indexer: net.ServiceSelectorIndexer | net.IstioGatewaySelectorIndexer, of: Callable[[Plain], dict[str, str]]
) -> Callable[[Random], Question]:
    def ask(random: Random) -> Question:
        if random.random() < 0.1:
            return Question(indexer.without(), lambda obj: not of(obj))
        wanted = dict(random.sample(PAIRS, random.choice([0, 1, 1, 2])))
        return Question(indexer.holding(wanted), lambda obj: wanted.items() <= of(obj).items())

    return ask


def annotated_ingress(annotation: str) -> Callable[[Plain], set[tuple[str, str]]]:
    def references_of(obj: Plain) -> set[tuple[str, str]]:
        (text,) = texts(dig(obj, "metadata", "annotations", annotation)) or [""]
        if re.fullmatch("[^/]+", text):
            return {(namespace_of(obj), text)}
        return {(text.split("/")[0], text.split("/")[1])} if re.fullmatch("[^/]+/[^/]+", text) else set()

    return references_of


def gateways_of(obj: Plain) -> set[Any]:
    said = dig(obj, "spec", "gateways")
    if said in ([], [[]]):
        return {"mesh"}
    found: set[Any] = set()
    for text in texts(dig(obj, "spec", "gateways", "*")):
        if text == "mesh":
            found.add("mesh")
        elif re.fullmatch(r"[^/.]+", text):
            found.add((namespace_of(obj), text))
        elif (old := re.fullmatch(r"([^/.]+)\.([^/.]+)(\.[^/]*)?", text)) is not None:
            found.add((old[2], old[1]))
        elif (full := re.fullmatch(r"([^/]+)/([^/]+)", text)) is not None:
            found.add((namespace_of(obj) if full[1] == "." else full[1], full[2]))
    return found


def ask_gateway(random: Random) -> Question:
    if random.random() < 0.3:
        return Question(by_virtual_gateway.mesh(), lambda obj: "mesh" in gateways_of(obj))
    return ask_of(by_virtual_gateway, gateways_of)(random)


def ask_parent(random: Random) -> Question:
    name, namespace = random.choice(NAMES), random.choice(NAMESPACES)
    section = random.choice([None, None, "http", "https"])
    kind, group = random.choice([("Gateway", "gateway.networking.k8s.io")] * 3 + [("Service", "")])

    def means(obj: Plain) -> bool:
        for ref in dig(obj, "spec", "parentRefs", "*"):
            if not isinstance(ref, dict):
                continue
            empty = {"kind": "", "namespace": ""}  # as if not said, where "" is no such thing
            said = {key: value for key, value in ref.items() if value is not None and value != empty.get(key)}
            full = {"group": "gateway.networking.k8s.io", "kind": "Gateway", "namespace": namespace_of(obj)} | said
            wanted = {"group": group, "kind": kind, "namespace": namespace, "name": name}
            at = full.get("sectionName", "")
            asked = isinstance(at, str) and (section is None or at in ("", section))
            if asked and all(full.get(key) == value for key, value in wanted.items()):
                return True
        return False

    if kind == "Gateway" and random.random() < 0.5:
        return Question(by_parent.of(ObjectKey(namespace, name), section=section), means)
    version = f"{group}/v1" if group else "v1"
    parent = {"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    return Question(by_parent.of(parent, section=section), means)


def config_maps(obj: Plain, *at: str) -> list[str]:
    found = []
    for spec in dig(obj, *(at or ("spec",))):
        for kind in ("containers", "initContainers", "ephemeralContainers"):
            found += dig(spec, kind, "*", "envFrom", "*", "configMapRef", "name")
            found += dig(spec, kind, "*", "env", "*", "valueFrom", "configMapKeyRef", "name")
        found += dig(spec, "volumes", "*", "configMap", "name")
        found += dig(spec, "volumes", "*", "projected", "sources", "*", "configMap", "name")
    return texts(found)


def secrets(obj: Plain) -> list[str]:
    found = dig(obj, "spec", "imagePullSecrets", "*", "name")
    for kind in ("containers", "initContainers", "ephemeralContainers"):
        found += dig(obj, "spec", kind, "*", "envFrom", "*", "secretRef", "name")
        found += dig(obj, "spec", kind, "*", "env", "*", "valueFrom", "secretKeyRef", "name")
    for volume in dig(obj, "spec", "volumes", "*"):
        found += dig(volume, "secret", "secretName") + dig(volume, "projected", "sources", "*", "secret", "name")
        found += dig(volume, "azureFile", "secretName") + dig(volume, "csi", "nodePublishSecretRef", "name")
        for driver in ("cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"):
            found += dig(volume, driver, "secretRef", "name")
    return texts(found)


def account_of(obj: Plain) -> list[str]:
    named = texts(dig(obj, "spec", "serviceAccountName")) or texts(dig(obj, "spec", "serviceAccount"))
    return named or ["default"]


def owners_of(obj: Plain) -> list[str]:
    return texts(dig(obj, "metadata", "ownerReferences", "*", "uid"))


# Indexers, each with its questions

by_ingress_host = net.IngressHostIndexer()
by_backend = net.IngressBackendIndexer()
by_class = net.IngressClassIndexer()
by_tls = net.IngressTlsSecretIndexer()
by_name = net.NameIndexer()
by_pair = net.ServiceSelectorIndexer()
by_cluster_ip = net.ClusterIPIndexer()
by_external = net.ExternalNameIndexer()
by_type = net.ServiceTypeIndexer()
by_slice = net.EndpointSliceServiceIndexer()
by_gateway_pair = net.IstioGatewaySelectorIndexer()
by_istio_host = net.IstioGatewayHostIndexer()
by_istio_port = net.IstioGatewayPortIndexer()
by_annotation = net.IngressAnnotationIndexer()
by_own_annotation = net.IngressAnnotationIndexer(OWN_ANNOTATION)
by_virtual_gateway = net.VirtualServiceGatewayIndexer()
by_virtual_host = net.VirtualServiceHostIndexer()
by_listener_host = net.ListenerHostIndexer()
by_listener_port = net.ListenerPortIndexer()
by_gateway_class = net.GatewayClassIndexer()
by_parent = net.RouteParentIndexer()
by_route_host = net.RouteHostIndexer()
by_pod_ip = net.PodIPIndexer()
by_node = net.PodNodeIndexer()
by_phase = net.PodPhaseIndexer()
by_account = net.ServiceAccountRefIndexer()
by_config_map = net.ConfigMapRefIndexer()
by_secret = net.SecretRefIndexer()
by_owner = OwnerIndexer()
by_ingress_domain = net.DomainIndexer(by_ingress_host)
by_istio_domain = net.DomainIndexer(by_istio_host)
by_virtual_domain = net.DomainIndexer(by_virtual_host)


def ask_istio_host(random: Random) -> Question:
    host, namespace = random.choice(ASKED_HOSTS), random.choice(NAMESPACES)
    return Question(
        by_istio_host.for_host(host, namespace=namespace),
        lambda obj: any(covers(each, host, TEXT) for each in istio_hosts(obj, namespace)),
    )


def ask_service_host(random: Random) -> Question:
    key = ObjectKey(random.choice(NAMESPACES), random.choice(NAMES))
    full = f"{key.name}.{key.namespace}.svc.cluster.local"
    return Question(
        by_virtual_host.for_service(key),
        lambda obj: any(covers(each, full, TEXT) for each in virtual_service_hosts(obj)),
    )


def fields(*steps: str) -> Callable[[Plain], list[str]]:
    return lambda obj: texts(dig(obj, *steps))


CASES: Final = [
    Case("Ingress", by_ingress_host, ask_host(by_ingress_host, ingress_hosts, ONE_LABEL)),
    Case("Ingress", by_ingress_domain, ask_domain(by_ingress_domain, ingress_hosts)),
    Case("Ingress", by_backend, ask_of(by_backend, here(backends))),
    Case("Ingress", by_tls, ask_of(by_tls, here(fields("spec", "tls", "*", "secretName")))),
    Case("Ingress", by_class, ask_text(by_class.at, ["nginx", "traefik"], class_of)),
    Case("Ingress", by_class, lambda _: Question(by_class.without(), lambda obj: not class_of(obj))),
    Case("Ingress", by_name, ask_text(by_name.at, [f"o{i}" for i in range(9)], fields("metadata", "name"))),
    Case("Service", by_pair, ask_pairs(by_pair, service_pairs)),
    Case("Service", by_cluster_ip, ask_ip(by_cluster_ip, cluster_ips)),
    Case(
        "Service", by_cluster_ip, lambda _: Question(by_cluster_ip.headless(), lambda obj: "None" in cluster_ips(obj))
    ),
    Case(
        "Service",
        by_external,
        ask_text(
            by_external.at,
            ["a.example.com", "example.com", "web"],
            lambda obj: [plain_host(host) for host in texts(dig(obj, "spec", "externalName")) if is_external(obj)],
        ),
    ),
    Case(
        "Service",
        by_type,
        ask_text(
            by_type.at, ["ClusterIP", "ExternalName", "x"], lambda o: texts(dig(o, "spec", "type")) or ["ClusterIP"]
        ),
    ),
    Case("EndpointSlice", by_slice, ask_of(by_slice, here(fields("metadata", "labels", "kubernetes.io/service-name")))),
    Case("IstioGateway", by_gateway_pair, ask_pairs(by_gateway_pair, pairs_of)),
    Case("IstioGateway", by_istio_host, ask_host(by_istio_host, istio_hosts, TEXT)),
    Case("IstioGateway", by_istio_host, ask_istio_host),
    Case("IstioGateway", by_istio_domain, ask_domain(by_istio_domain, istio_hosts)),
    Case(
        "IstioGateway",
        by_istio_port,
        ask_port(by_istio_port, lambda obj: dig(obj, "spec", "servers", "*", "port", "number")),
    ),
    Case("IstioGateway", by_annotation, ask_of(by_annotation, annotated_ingress(EXTERNAL_DNS))),
    Case("IstioGateway", by_own_annotation, ask_of(by_own_annotation, annotated_ingress(OWN_ANNOTATION))),
    Case("VirtualService", by_virtual_gateway, ask_gateway),
    Case("VirtualService", by_virtual_host, ask_host(by_virtual_host, virtual_service_hosts, TEXT)),
    Case("VirtualService", by_virtual_host, ask_service_host),
    Case("VirtualService", by_virtual_domain, ask_domain(by_virtual_domain, virtual_service_hosts)),
    Case("Gateway", by_listener_host, ask_host(by_listener_host, listener_hosts, LABELS)),
    Case(
        "Gateway", by_listener_port, ask_port(by_listener_port, lambda obj: dig(obj, "spec", "listeners", "*", "port"))
    ),
    Case(
        "Gateway",
        by_gateway_class,
        ask_text(by_gateway_class.at, ["istio", "nginx"], fields("spec", "gatewayClassName")),
    ),
    Case("HTTPRoute", by_parent, ask_parent),
    Case("HTTPRoute", by_route_host, ask_host(by_route_host, route_hosts, LABELS)),
    Case("Pod", by_pod_ip, ask_ip(by_pod_ip, pod_ips)),
    Case("Pod", by_node, ask_text(by_node.at, ["n1", "n2"], fields("spec", "nodeName"))),
    Case("Pod", by_phase, ask_text(by_phase.at, ["Running", "Failed"], fields("status", "phase"))),
    Case("Pod", by_account, ask_of(by_account, here(account_of))),
    Case("Pod", by_account, ask_text(by_account.at, ["default", "web"], account_of)),
    Case("Pod", by_config_map, ask_of(by_config_map, here(config_maps))),
    Case("Pod", by_secret, ask_of(by_secret, here(secrets))),
    Case("Pod", by_owner, ask_text(by_owner.at, ["u-web", "u-db"], owners_of)),
]


# Objects


class Maker:
    """Makes objects of one kind; an odd one has something of a wrong type in every sixth place."""

    def __init__(self, random: Random, *, odd: bool) -> None:
        self.random = random
        self.odd = odd

    def make(self, kind: str, name: str) -> Plain:
        makers: dict[str, Callable[[], Plain]] = {
            "Ingress": self.ingress, "Service": self.service, "EndpointSlice": self.endpoint_slice,
            "IstioGateway": self.istio_gateway, "VirtualService": self.virtual_service, "Gateway": self.gateway,
            "HTTPRoute": self.route, "Pod": self.pod,
        }  # fmt: skip
        made: Plain = {"metadata": {"name": name, "namespace": self.random.choice(NAMESPACES)}}
        for part, value in makers[kind]().items():
            made[part] = {**made.get(part, {}), **value} if part == "metadata" else value
        return made

    def maybe(self, value: Any) -> Any:
        return self.random.choice(ODD) if self.odd and self.random.random() < 1 / 6 else value

    def some(self, **members: Any) -> Plain:
        """Make a map of some of the members."""
        return {name: self.maybe(value) for name, value in members.items() if self.random.random() < 0.7}

    def all(self, **members: Any) -> Plain:
        return {name: self.maybe(value) for name, value in members.items()}

    def several(self, make: Callable[[], Any], most: int = 3) -> Any:
        return self.maybe([self.maybe(make()) for _ in range(self.random.randrange(most + 1))])

    def host(self) -> str:
        return self.random.choice(HOSTS)

    def name(self) -> str:
        return self.random.choice(NAMES)

    def pick(self, *values: Any) -> Any:
        return self.random.choice(values)

    def ingress(self) -> Plain:
        def backend() -> Plain:
            old = self.odd and self.random.random() < 0.3
            return self.all(serviceName=self.name()) if old else self.all(service=self.service_backend())

        def path() -> Plain:
            return self.all(path="/", pathType="Prefix", backend=backend())

        spec = self.some(
            ingressClassName=self.pick("nginx", "traefik"),
            rules=self.several(lambda: self.some(host=self.host(), http=self.all(paths=self.several(path)))),
            tls=self.several(lambda: self.some(hosts=[self.host()], secretName=self.name())),
        )
        if self.random.random() < 0.2:
            spec["defaultBackend"] = self.maybe(self.all(service=self.service_backend()))
        if self.odd and self.random.random() < 0.2:
            spec["backend"] = self.maybe(self.all(serviceName=self.name()))
        annotations = self.some(**{"kubernetes.io/ingress.class": self.pick("nginx", "traefik", "")})
        return {"metadata": {"annotations": self.maybe(annotations)}, "spec": self.maybe(spec)}

    def service_backend(self) -> Plain:
        return self.all(name=self.name(), port={"number": 80})

    def selector(self) -> Plain | None:
        pairs = dict(self.random.sample(PAIRS, self.random.randrange(4)))
        return self.pick(None, *[self.all(**pairs)] * 4)

    def service(self) -> Plain:
        ips = self.random.sample(IPS, 2)
        spec = self.some(
            type=self.pick("ClusterIP", "NodePort", "ExternalName", "ExternalName"),
            selector=self.selector(),
            clusterIP=ips[0],
            clusterIPs=self.maybe(ips),
            externalName=self.host(),
        )
        return {"spec": self.maybe(spec)}

    def endpoint_slice(self) -> Plain:
        labels = self.some(**{"kubernetes.io/service-name": self.name()})
        return {"metadata": {"labels": self.maybe(labels)}, "addressType": "IPv4", "endpoints": []}

    def annotations(self) -> Any:
        named = [self.pick("main", "edge/main", "prod/web", "a/b/c", "", "/main", "main/", "gone/gone") for _ in "12"]
        return self.maybe(self.some(**{EXTERNAL_DNS: named[0], OWN_ANNOTATION: named[1]}))

    def istio_gateway(self) -> Plain:
        def host() -> str:
            return str(self.pick("", "", "./", "*/", "prod/", "edge/", "a/b/", "/")) + self.host()

        def server() -> Plain:
            return self.some(port=self.all(number=self.pick(*PORTS)), hosts=self.several(host))

        spec = self.some(selector=self.selector(), servers=self.several(server))
        return {"metadata": {"annotations": self.annotations()}, "spec": self.maybe(spec)}

    def virtual_service(self) -> Plain:
        def gateway() -> str:
            return str(
                self.pick(
                    "mesh", "main", "web", "prod/main", "edge/main", "./main", "main.edge.svc.cluster.local",
                    "web.prod", "a/b/c", "/main", "main/", "", "prod/web.x", ".prod",
                )
            )  # fmt: skip

        return {"spec": self.maybe(self.some(gateways=self.several(gateway, 2), hosts=self.several(self.host)))}

    def gateway(self) -> Plain:
        def listener() -> Plain:
            return self.some(name="a", hostname=self.host(), port=self.pick(*PORTS))

        spec = self.some(gatewayClassName=self.pick("istio", "nginx"), listeners=self.several(listener))
        return {"spec": self.maybe(spec)}

    def route(self) -> Plain:
        def parent() -> Plain:
            reference = self.all(name=self.name())
            if self.random.random() < 0.5:
                reference |= self.some(
                    namespace=self.pick(*NAMESPACES, "", None), sectionName=self.pick("http", "", None)
                )
            if self.random.random() < 0.3:
                kind, group = self.pick(("Service", ""), ("Gateway", "gateway.networking.k8s.io"), ("Gateway", None))
                reference |= self.all(kind=kind, group=group)
            return reference

        return {"spec": self.maybe(self.some(parentRefs=self.several(parent), hostnames=self.several(self.host)))}

    def pod(self) -> Plain:
        def named() -> Plain:
            return self.all(name=self.name())

        def container() -> Plain:
            env_from = self.several(lambda: self.some(configMapRef=named(), secretRef=named()), 2)
            key_refs = {
                kind: self.maybe({"name": self.name(), "key": "k"}) for kind in ("configMapKeyRef", "secretKeyRef")
            }
            env = self.several(lambda: {"name": "E", "valueFrom": self.some(**key_refs)}, 2)
            return {"name": "c", "image": "i", **self.some(envFrom=env_from, env=env)}

        return {
            "metadata": {"ownerReferences": self.several(self.owner, 2)},
            "spec": {
                "containers": self.several(container, 2),
                **self.some(
                    nodeName=self.pick("n1", "n2"),
                    serviceAccountName=self.pick(*NAMES, ""),
                    serviceAccount=self.name(),
                    initContainers=self.several(container, 1),
                    ephemeralContainers=self.several(container, 1),
                    volumes=self.several(self.volume),
                    imagePullSecrets=self.several(named, 1),
                ),
            },
            "status": self.some(
                phase=self.pick("Running", "Failed"),
                podIP=self.pick(*IPS[:-2]),
                podIPs=self.several(lambda: self.all(ip=self.pick(*IPS[:-2])), 2),
            ),
        }

    def owner(self) -> Plain:
        name = self.name()
        return {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name, "uid": f"u-{name}"}

    def volume(self) -> Plain:
        name = {"name": self.maybe(self.name())}
        source = self.pick(
            {"configMap": name},
            {"secret": {"secretName": self.maybe(self.name())}},
            {"projected": {"sources": self.several(lambda: self.some(configMap=name, secret=name))}},
            {"azureFile": {"secretName": self.maybe(self.name()), "shareName": "s"}},
            {"csi": {"driver": "d", "nodePublishSecretRef": name}},
            {"cephfs": {"monitors": ["m"], "secretRef": name}},
            {"cinder": {"volumeID": "v", "secretRef": name}},
            {"flexVolume": {"driver": "d", "secretRef": name}},
            {"iscsi": {"iqn": "i", "lun": 1, "targetPortal": "t", "secretRef": name}},
            {"rbd": {"image": "i", "monitors": ["m"], "secretRef": name}},
            {"scaleIO": {"gateway": "g", "system": "s", "secretRef": name}},
            {"storageos": {"secretRef": name}},
        )
        return {"name": "v", **{kind: self.maybe(value) for kind, value in source.items()}}
