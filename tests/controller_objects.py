"""Objects for the example controllers: few names and labels, so that they meet, and now and then an odd one."""

from __future__ import annotations

from typing import Any, TypeAlias

from hypothesis import strategies as st

RawObject: TypeAlias = dict[str, Any]

DNS = "external-dns.alpha.kubernetes.io"
NAMESPACES = ("prod", "test")


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def odd(strategy: st.SearchStrategy[Any], *rest: Any) -> st.SearchStrategy[Any]:
    """Give one of *rest* in one of ten cases."""
    return st.integers(0, 9).flatmap(lambda number: st.sampled_from(rest) if number == 9 else strategy)


KEYS, VALUES = st.sampled_from(["app", "tier"]), st.sampled_from(["a", "b"])
labels = st.dictionaries(KEYS, VALUES, max_size=2)
plain_selector = odd(
    st.dictionaries(KEYS, VALUES, min_size=1, max_size=2), None, {}, "app=a", {"app": 3}, {"app": "not valid!"}
)
expression = odd(
    st.sampled_from(
        [
            {"key": "app", "operator": "In", "values": ["a", "b"]},
            {"key": "app", "operator": "NotIn", "values": ["a"]},
            {"key": "tier", "operator": "Exists"},
            {"key": "tier", "operator": "DoesNotExist"},
        ]
    ),
    {"key": "app", "operator": "Is", "values": ["a"]},
    "app",
)
selector = odd(
    st.fixed_dictionaries({}, optional={"matchLabels": labels, "matchExpressions": st.lists(expression, max_size=2)}),
    None,
    {"matchLabels": ["app"]},
    "app=a",
)


def made(api_version: str, kind: str, names: Any, **parts: Any) -> st.SearchStrategy[RawObject]:
    """Make objects with one of few names, and labels; *parts* are strategies of what else they have."""
    annotations = parts.pop("annotations", st.just({}))
    namespaced = parts.pop("namespaced", True)
    extra = parts.pop("metadata", st.just({}))

    def build(name: str, namespace: str, labels: Any, annotations: Any, extra: Any, members: Any) -> RawObject:
        metadata = {"name": name, "labels": labels, "annotations": annotations, **extra}
        if namespaced:
            metadata["namespace"] = namespace
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}

    return st.builds(
        build,
        st.sampled_from(names),
        st.sampled_from(NAMESPACES),
        labels,
        annotations,
        extra,
        st.fixed_dictionaries(parts),
    )


container_ports = st.lists(
    st.sampled_from([{"name": "http", "containerPort": 8080}, {"name": "x", "containerPort": 1}])
)
owner_named = st.builds(
    lambda name, uid, kind, controller: {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": controller,
    },
    st.sampled_from(["web", "db"]),
    st.sampled_from(["u1", "u2"]),
    odd(st.just("ReplicaSet"), "StatefulSet"),
    st.booleans(),
)
owner = odd(owner_named, {"controller": True}, {"controller": True, "kind": "ReplicaSet"})
pods = made(
    "v1",
    "Pod",
    ["a", "b", "c"],
    metadata=st.fixed_dictionaries(
        {"ownerReferences": st.lists(owner, max_size=1) | st.lists(owner, max_size=2)},
        optional={"deletionTimestamp": odd(st.none(), "2026-01-01T00:00:00Z")},
    ),
    spec=st.fixed_dictionaries({"containers": st.lists(st.fixed_dictionaries({"ports": container_ports}), max_size=1)}),
    status=st.fixed_dictionaries(
        {
            "phase": odd(st.just("Running"), "Pending", "Succeeded", "Failed", None),
            "podIP": odd(st.sampled_from(["10.0.0.1", "10.0.0.2"]), None, ""),
            "conditions": st.sampled_from(["True", "False"]).map(lambda ready: [{"type": "Ready", "status": ready}]),
        },
        optional={"podIPs": st.just([{"ip": "10.0.0.3"}, {"ip": "fd00::3"}])},
    ),
)
balancer = st.fixed_dictionaries(
    {
        "loadBalancer": st.fixed_dictionaries(
            {"ingress": st.lists(st.sampled_from([{"ip": "1.2.3.4"}, {"hostname": "LB.example.net"}, {}]), max_size=2)}
        )
    }
)
port = st.sampled_from(
    [{"port": 80}, {"name": "web", "port": 80, "targetPort": "http"}, {"port": 53, "protocol": "UDP"}]
)
services = made(
    "v1",
    "Service",
    ["web", "db"],
    spec=st.fixed_dictionaries(
        {"selector": plain_selector, "ports": st.lists(port, max_size=2)},
        optional={
            "type": odd(st.just("ClusterIP"), "ExternalName"),
            "clusterIP": st.sampled_from(["None", "10.9.0.1"]),
            "ipFamilies": st.sampled_from([["IPv4"], ["IPv6"], ["IPv6", "IPv4"]]),
            "publishNotReadyAddresses": st.booleans(),
            "externalIPs": odd(st.just([]), ["5.6.7.8"]),
        },
    ),
    status=balancer,
)
namespaces = made("v1", "Namespace", NAMESPACES, namespaced=False)
peer = odd(
    st.fixed_dictionaries(
        {},
        optional={"podSelector": selector, "namespaceSelector": selector, "ipBlock": st.just({"cidr": "10.0.0.0/8"})},
    ),
    "everyone",
    {},
)
peers = odd(st.lists(peer, max_size=2), None, "everyone")
policies = made(
    "networking.k8s.io/v1",
    "NetworkPolicy",
    ["deny", "allow"],
    spec=st.fixed_dictionaries(
        {"podSelector": selector},
        optional={
            "ingress": st.lists(st.fixed_dictionaries({}, optional={"from": peers}), max_size=2),
            "egress": st.lists(st.fixed_dictionaries({}, optional={"to": peers}), max_size=2),
            "policyTypes": st.sampled_from([["Ingress"], ["Egress"], ["Ingress", "Egress"], []]),
        },
    ),
)
amount = odd(st.integers(0, 3) | st.sampled_from(["0%", "30%", "100%"]), "2", "half", True, -1)
budgets = made(
    "policy/v1",
    "PodDisruptionBudget",
    ["web", "all"],
    spec=st.fixed_dictionaries({"selector": selector}, optional={"minAvailable": amount, "maxUnavailable": amount}),
)
sets = made(
    "apps/v1",
    "ReplicaSet",
    ["web", "db"],
    metadata=st.fixed_dictionaries(
        {"uid": st.sampled_from(["u1", "u2"])}, optional={"deletionTimestamp": odd(st.none(), "2026-01-01T00:00:00Z")}
    ),
    spec=st.fixed_dictionaries({"selector": selector}),
)
targets = {
    f"{DNS}/target": odd(st.just(""), "9.9.9.9", " a.example.net. ,b.example.net"),
    f"{DNS}/hostname": odd(st.just(""), "Extra.example.com"),
    f"{DNS}/controller": odd(st.just("dns-controller"), "somebody-else"),
}
hosts = st.sampled_from(
    ["a.example.com", "*.example.com", "prod/a.example.com", "./A.example.COM", "*/b.example.com", "test/*", "*", ""]
)
gateways = made(
    "networking.istio.io/v1",
    "Gateway",
    ["main", "inner"],
    annotations=st.fixed_dictionaries(
        {},
        optional={
            **targets,
            f"{DNS}/ingress": st.sampled_from(["front", "prod/front", "test/front", "a/b/c", ""]),
        },
    ),
    spec=st.fixed_dictionaries(
        {"selector": plain_selector, "servers": st.lists(st.builds(lambda each: {"hosts": each}, st.lists(hosts)))}
    ),
)
ingresses = made("networking.k8s.io/v1", "Ingress", ["front"], status=balancer)
routes = made(
    "networking.istio.io/v1",
    "VirtualService",
    ["shop", "site"],
    annotations=st.fixed_dictionaries({}, optional=targets),
    spec=st.fixed_dictionaries(
        {
            "hosts": st.lists(
                st.sampled_from(["a.example.com", "B.example.com", "*.example.com", "x.y.example.com", "*"])
            )
        },
        optional={
            "gateways": st.lists(
                st.sampled_from(
                    ["main", "mesh", "prod/main", "./inner", "test/inner", "main.prod.svc.cluster.local", "/"]
                )
            ),
            "exportTo": st.lists(st.sampled_from([".", "*", "prod", "test"]), max_size=2),
        },
    ),
)

OBJECTS = {
    "Gateway": gateways,
    "Ingress": ingresses,
    "Namespace": namespaces,
    "NetworkPolicy": policies,
    "Pod": pods,
    "PodDisruptionBudget": budgets,
    "ReplicaSet": sets,
    "Service": services,
    "VirtualService": routes,
}
"""A strategy for each kind."""
