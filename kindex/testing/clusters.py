"""Generated clusters: seeded, and shaped like real ones.

The numbers beside the choices are those of 620 live pods and 251 live services that public repositories keep
(``kubectl get -o json`` of some sixty clusters), and of the largest single dump among them, 158 pods. What they
cannot tell, since no dump is that large, is said to be assumed.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import attrs

from kindex.testing import manifests
from kindex.testing.manifests import PodFacts, RawObject

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Labels: TypeAlias = dict[str, str]
Choice = TypeVar("Choice")


@attrs.frozen(repr=False)
class Cluster:
    """The objects of one generated cluster, a list of raw dicts for each kind, in the order a list call gives them.

    >>> cluster = generate_cluster(pods=200, namespaces=5)
    >>> cluster
    Cluster(5 namespaces, 5 nodes, 200 pods, ...)
    >>> sorted(cluster.pods[0]["metadata"])[:3]
    ['creationTimestamp', 'labels', 'name']
    """

    namespaces: list[RawObject]
    nodes: list[RawObject]
    deployments: list[RawObject]
    replica_sets: list[RawObject]
    stateful_sets: list[RawObject]
    daemon_sets: list[RawObject]
    jobs: list[RawObject]
    services: list[RawObject]
    pods: list[RawObject]

    def __repr__(self) -> str:
        """Give the sizes; the objects themselves would fill a book."""
        return f"Cluster({len(self.namespaces)} namespaces, {len(self.nodes)} nodes, {len(self.pods)} pods, ...)"

    def objects(self) -> Iterator[RawObject]:
        """Give every object of every kind.

        >>> cluster = generate_cluster(pods=50, namespaces=2)
        >>> sorted({obj["kind"] for obj in cluster.objects()})[:3]
        ['Deployment', 'Job', 'Namespace']
        """
        for objects in _lists_of(self):
            yield from objects


def generate_cluster(*, pods: int = 20_000, namespaces: int = 60, nodes: int | None = None, seed: int = 1) -> Cluster:
    """Make a cluster of exactly *pods* pods in *namespaces* namespaces.

    The same arguments give equal objects on every version of Python. No two objects share a mutable part, so one
    can be edited without another noticing. *nodes* defaults to one for forty pods. O(pods): 20,000 take two
    seconds, most of them the garbage collector's.

    Every owner that a pod names exists, every node that a scheduled pod names exists, and keys, UIDs and pod IPs
    are unique.

    Raises:
        ValueError: a number below one (*pods* may be zero).

    >>> cluster = generate_cluster(pods=1_000, namespaces=10, seed=7)
    >>> len(cluster.pods), len({pod["metadata"]["namespace"] for pod in cluster.pods})
    (1000, 10)
    >>> cluster == generate_cluster(pods=1_000, namespaces=10, seed=7)
    True
    """
    # 40 pods a node is assumed: clusters run well below the kubelet's limit of 110.
    nodes = max(3, pods // 40) if nodes is None else nodes
    if pods < 0 or namespaces < 1 or nodes < 1:
        message = (
            f"a cluster needs a namespace and a node, and no negative number of pods: {pods=} {namespaces=} {nodes=}"
        )
        raise ValueError(message)
    return _Builder(pods, namespaces, nodes, seed).build()


# --- names ------------------------------------------------------------------------------------------------------------

_DOMAINS: Final = (
    "account", "address", "auth", "basket", "billing", "catalog", "checkout", "content", "currency", "customer",
    "delivery", "discount", "email", "export", "fraud", "gateway", "identity", "image", "import", "inventory",
    "invoice", "ledger", "loyalty", "media", "notification", "order", "partner", "payment", "pricing", "product",
    "profile", "rating", "recommendation", "report", "return", "search", "session", "shipping", "store", "tax",
)  # fmt: skip
_ROLES: Final = ("api", "web", "worker", "consumer", "service", "ui", "proxy", "scheduler", "admin", "bff")
_STATEFUL: Final = ("postgres", "redis", "kafka", "rabbitmq", "elasticsearch", "mongodb", "zookeeper", "prometheus")
_AGENTS: Final = (
    "kube-proxy", "node-exporter", "fluent-bit", "cilium", "csi-node", "node-local-dns", "datadog-agent", "falco",
    "node-problem-detector", "nvidia-device-plugin",
)  # fmt: skip
_TASKS: Final = ("backup", "cleanup", "migrate", "report", "sync", "reindex", "rotate-keys", "import")
_TEAMS: Final = (
    "payments", "search", "shop", "logistics", "growth", "data", "identity", "media", "support", "platform",
    "partners", "finance", "mobile", "risk", "content", "crm", "ads", "iot", "ml", "sandbox",
)  # fmt: skip
_ENVIRONMENTS: Final = ("prod", "staging", "dev")
_STATIC: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
# What Kubernetes makes its random suffixes of: no vowels, so no words.
_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"
_SUFFIXES: Final = len(_SUFFIX_LETTERS) ** 5
# What a Service selects by, the most telling key first.
_SELECTED_BY: Final = (
    "app", "k8s-app", "name", "app.kubernetes.io/name", "app.kubernetes.io/instance", "app.kubernetes.io/component",
    "tier", "app.kubernetes.io/part-of",
)  # fmt: skip
_EPOCH: Final = datetime(2026, 1, 1, tzinfo=UTC)

# --- shares of the pods, by who owns them -----------------------------------------------------------------------------
# Of 398 live pods with known owners: ReplicaSet 138, Node 101, DaemonSet 53, none 45, Job 37, StatefulSet 22. The
# dumps come from small clusters, where the pods of the control plane (Node) weigh much; here they are a dozen, and the
# ReplicaSets have their share.
_DAEMON_SHARE: Final = 0.12
_STATEFUL_SHARE: Final = 0.08
_JOB_SHARE: Final = 0.08
_BARE_SHARE: Final = 0.09
_CONTROL_PLANE: Final = 3  # nodes
_SMALLEST_WITH_SYSTEM_PODS: Final = 500  # with fewer pods the system's would be most of them

# --- labels, by style: the share of workloads, and what they put on their pods ------------------------------------
# With the hash that each controller adds, labels per pod come to p50 2, p90 5, p99 8 and a mean of 2.7, as in the
# dumps: 52 % of live pods say `app`, 15 % `k8s-app`, 3 % `name`, 6 % the recommended app.kubernetes.io/* set.
_DEPLOYMENT_STYLES: Final = ("app", "k8s-app", "name", "tier", "recommended", "helm")
_DEPLOYMENT_WEIGHTS: Final = (0.65, 0.09, 0.04, 0.10, 0.08, 0.04)
_STATEFUL_STYLES: Final = ("app", "recommended", "helm")
_STATEFUL_WEIGHTS: Final = (0.80, 0.15, 0.05)
# Near-constant in every dump: 85 % of app.kubernetes.io/managed-by say the same.
_MANAGERS: Final = ("Helm",) * 6 + ("kustomize",)
_TIERS: Final = ("backend", "backend", "backend", "frontend", "cache")


def _zipf(count: int, *, start: int = 1) -> list[float]:
    """Give cumulative weights 1, 1/2, 1/3 ...; division rounds alike everywhere, which powers need not."""
    return list(accumulate(1 / rank for rank in range(start, start + count)))


def _namespace_names(count: int) -> list[str]:
    teams = [f"{team}-{environment}" for environment in _ENVIRONMENTS for team in _TEAMS]
    more = [f"team-{number}" for number in range(1, count + 1)]
    # The system's come last: where workloads crowd is decided by position, and it has the DaemonSets anyway.
    return [*[*teams, *more][: max(0, count - 2)], *("default", "kube-system")[:count]]


def _suffix(number: int) -> str:
    letters = []
    for _ in range(5):
        number, letter = divmod(number, len(_SUFFIX_LETTERS))
        letters.append(_SUFFIX_LETTERS[letter])
    return "".join(letters)


def _address(network: int, number: int) -> str:
    number += 1
    return f"{network}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _lists_of(cluster: Cluster) -> list[list[RawObject]]:
    return [getattr(cluster, field.name) for field in attrs.fields(Cluster)]


def _key_of(obj: RawObject) -> tuple[str, str]:
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


@attrs.frozen
class _Workload:
    """What the pods of one workload have in common."""

    name: str
    namespace: str
    labels: Labels
    version: str
    restart_policy: str = "Always"

    @property
    def image(self) -> str:
        return f"registry.example.com/{self.name}:{self.version}"


class _Builder:
    """One cluster in the making.

    Draws from ``Random.random`` alone: the one method whose numbers Python promises to keep.
    """

    def __init__(self, pods: int, namespaces: int, nodes: int, seed: int) -> None:
        self._random = random.Random(seed).random  # noqa: S311 - a shape, not a secret
        self._pod_count = pods
        self._namespace_names = _namespace_names(namespaces)
        self._node_names = [f"node-{number:04d}" for number in range(1, nodes + 1)]
        # Namespaces by size as 1, 1/2, 1/3 ... is assumed; with 60 of them the first has a fifth of all.
        self._crowding = _zipf(namespaces)
        # The top value of `app` has 4 % of the objects that say it, and half of the values occur once or twice.
        self._popularity = _zipf(len(_DOMAINS) * len(_ROLES), start=20)
        # The largest workload has 2 % of the pods; assumed, since the dumps know none above 48 replicas.
        self._largest = max(1, pods // 50)
        self._resource_version = 100_000
        self._names_given: dict[tuple[str, str, str], int] = {}
        self._made = Cluster([], [], [], [], [], [], [], [], [])

    def build(self) -> Cluster:
        count = self._pod_count
        for name in self._namespace_names:
            self._add_namespace(name)
        for position, name in enumerate(self._node_names):
            self._add_node(name, position)
        if count >= _SMALLEST_WITH_SYSTEM_PODS:
            self._add_static_pods()
            for number in range(round(count * _DAEMON_SHARE / len(self._node_names))):
                self._add_daemon_set(number)
        for number in range(int(count * _BARE_SHARE)):
            self._add_bare_pod(number)
        self._fill(int(count * _STATEFUL_SHARE), self._add_stateful_set)
        self._fill(int(count * _JOB_SHARE), self._add_job)
        self._fill(count - len(self._made.pods), self._add_deployment)
        self._add_services_without_selector()
        for objects in _lists_of(self._made):
            objects.sort(key=_key_of)
        return self._made

    # --- chance ---------------------------------------------------------------------------------------------------

    def _below(self, limit: int) -> int:
        return int(self._random() * limit)

    def _pick(self, choices: Sequence[Choice]) -> Choice:
        return choices[int(self._random() * len(choices))]

    def _chance(self, share: float) -> bool:
        return self._random() < share

    def _weighted(self, cumulative: Sequence[float]) -> int:
        return bisect_right(cumulative, self._random() * cumulative[-1], hi=len(cumulative) - 1)

    def _uid(self) -> str:
        text = f"{self._below(2**48):012x}{self._below(2**36):09x}{self._below(2**36):09x}"
        return f"{text[:8]}-{text[8:12]}-4{text[12:15]}-a{text[15:18]}-{text[18:]}"

    def _hash(self, length: int) -> str:
        return "".join([self._pick(_SUFFIX_LETTERS) for _ in range(length)])

    def _suffixes(self, count: int) -> list[str]:
        """Give *count* different suffixes of five letters, as controllers put them on their pods."""
        # A step that has no factor in common with the 27**5 suffixes meets each once.
        start, step = self._below(_SUFFIXES), 3 * self._below(_SUFFIXES // 3) + 1
        return [_suffix((start + number * step) % _SUFFIXES) for number in range(count)]

    def _timestamp(self) -> str:
        seconds = self._below(90 * 24 * 3600)
        return (_EPOCH + timedelta(seconds=seconds)).isoformat()[:19] + "Z"

    def _node_name(self) -> str:
        # The smaller of two draws: the first nodes have twice the mean, the last next to nothing.
        return self._node_names[int(len(self._node_names) * min(self._random(), self._random()))]

    def _namespace(self) -> str:
        return self._namespace_names[self._weighted(self._crowding)]

    def _free_name(self, kind: str, namespace: str, name: str) -> str:
        place = (kind, namespace, name)
        given = self._names_given[place] = self._names_given.get(place, 0) + 1
        return name if given == 1 else f"{name}-{given}"

    def _fill(self, pods: int, add: Callable[[int], None]) -> None:
        """Add workloads until they have *pods* pods: half of them with one, few with many."""
        while pods > 0:
            # At least k pods in every k-th workload: of 2,100 real Deployments four of five have one replica.
            size = min(pods, self._largest, int(1 / (1 - self._random())))
            add(size)
            pods -= size

    # --- objects --------------------------------------------------------------------------------------------------

    def _metadata(self, name: str, namespace: str, labels: Labels, owner: RawObject | None = None) -> RawObject:
        self._resource_version += 1 + self._below(9)
        metadata: RawObject = {"creationTimestamp": self._timestamp()}
        if labels:
            metadata["labels"] = labels
        metadata["name"] = name
        if namespace:
            metadata["namespace"] = namespace
        if owner is not None:
            metadata["ownerReferences"] = [
                {
                    "apiVersion": owner["apiVersion"],
                    "blockOwnerDeletion": True,
                    "controller": True,
                    "kind": owner["kind"],
                    "name": owner["metadata"]["name"],
                    "uid": owner["metadata"]["uid"],
                }
            ]
        metadata["resourceVersion"] = str(self._resource_version)
        metadata["uid"] = self._uid()
        return metadata

    def _add_namespace(self, name: str) -> None:
        labels = {"kubernetes.io/metadata.name": name}  # on 66 of 76 live namespaces, by every server since 1.21
        team, dash, environment = name.partition("-")
        if dash and team != "kube" and self._chance(0.5):
            labels |= {"environment": environment, "team": team}
        self._made.namespaces.append(manifests.namespace(self._metadata(name, "", labels)))

    def _add_node(self, name: str, position: int) -> None:
        labels = {
            "kubernetes.io/arch": self._pick(("amd64",) * 6 + ("arm64",)),  # 86 % say amd64
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": self._pick(("m6i.2xlarge", "m6i.4xlarge", "r6i.4xlarge")),
            "topology.kubernetes.io/region": "eu-west-1",
            "topology.kubernetes.io/zone": f"eu-west-1{'abc'[position % 3]}",
        }
        labels["node-role.kubernetes.io/" + ("control-plane" if position < _CONTROL_PLANE else "worker")] = ""
        metadata = self._metadata(name, "", labels)
        pod_range = f"10.{position >> 8 & 255}.{position & 255}.0/24"
        self._made.nodes.append(manifests.node(metadata, address=_address(172, position), pod_range=pod_range))

    def _workload(
        self, kind: str, styles: Sequence[str], weights: Sequence[float], names: Sequence[str] = ()
    ) -> _Workload:
        if names:
            base = self._pick(names)
        else:
            rank = self._weighted(self._popularity)
            base = f"{_DOMAINS[rank % len(_DOMAINS)]}-{_ROLES[rank // len(_DOMAINS)]}"
        namespace = self._namespace()
        name = self._free_name(kind, namespace, base)
        version = f"{1 + self._below(4)}.{self._below(20)}.{self._below(10)}"
        style = styles[self._weighted(list(accumulate(weights)))]
        labels = self._labels(style, name, namespace.partition("-")[0], version)
        return _Workload(name, namespace, labels, version, "Never" if kind == "Job" else "Always")

    def _labels(self, style: str, name: str, team: str, version: str) -> Labels:
        tier = self._pick(_TIERS)
        recommended = {
            "app.kubernetes.io/component": tier,
            "app.kubernetes.io/instance": f"{name}-{team}",
            "app.kubernetes.io/managed-by": self._pick(_MANAGERS),
            "app.kubernetes.io/name": name,
        }
        match style:
            case "tier":
                return {"app": name, "tier": tier}
            case "recommended":
                return recommended
            case "helm":
                return recommended | {
                    "app.kubernetes.io/managed-by": "Helm",
                    "app.kubernetes.io/part-of": team,
                    "app.kubernetes.io/version": version,
                    "helm.sh/chart": f"{name}-{version}",
                }
            case _:
                return {style: name}

    def _controller(self, kind: str, workload: _Workload, owner: RawObject | None = None, **spec: object) -> RawObject:
        labels = workload.labels
        metadata = self._metadata(workload.name, workload.namespace, dict(labels), owner)
        return manifests.controller(kind, metadata, selector=labels, labels=labels, image=workload.image, **spec)

    def _add_deployment(self, size: int) -> None:
        workload = self._workload("Deployment", _DEPLOYMENT_STYLES, _DEPLOYMENT_WEIGHTS)
        deployment = self._controller("Deployment", workload, replicas=size)
        self._made.deployments.append(deployment)
        # A rollout is under way in one of fifty: pods of two hashes. Otherwise a former ReplicaSet is empty.
        former = self._below(size) if self._chance(0.02) else 0
        if former or self._chance(0.5):
            self._add_replica_set(workload, deployment, former)
        self._add_replica_set(workload, deployment, size - former)
        if self._chance(0.5):
            self._add_service(workload, headless=False)

    def _add_replica_set(self, workload: _Workload, deployment: RawObject, size: int) -> None:
        template_hash = self._hash(10)
        labels = workload.labels | {"pod-template-hash": template_hash}
        named = attrs.evolve(workload, name=f"{workload.name}-{template_hash}", labels=labels)
        replica_set = self._controller("ReplicaSet", named, deployment, replicas=size)
        self._made.replica_sets.append(replica_set)
        for suffix in self._suffixes(size):
            self._add_pod(workload, f"{named.name}-{suffix}", dict(labels), replica_set)

    def _add_stateful_set(self, size: int) -> None:
        workload = self._workload("StatefulSet", _STATEFUL_STYLES, _STATEFUL_WEIGHTS, _STATEFUL)
        stateful_set = self._controller("StatefulSet", workload, replicas=size, serviceName=workload.name)
        self._made.stateful_sets.append(stateful_set)
        revision = f"{workload.name}-{self._hash(10)}"
        with_index = self._chance(0.5)  # 11 of 38 say it; the servers that do not are old
        for ordinal in range(size):
            name = f"{workload.name}-{ordinal}"
            labels = {"controller-revision-hash": revision, "statefulset.kubernetes.io/pod-name": name}
            if with_index:
                labels["apps.kubernetes.io/pod-index"] = str(ordinal)
            self._add_pod(workload, name, workload.labels | labels, stateful_set)
        self._add_service(workload, headless=True)

    def _add_daemon_set(self, number: int) -> None:
        namespace = self._namespace_names[-1]
        name = self._free_name("DaemonSet", namespace, _AGENTS[number % len(_AGENTS)])
        # Three to five labels on a DaemonSet's pod: 26, 20 and 7 of 53.
        labels = {"k8s-app": name} if number % 3 else {"app": name, "component": "agent"}
        workload = _Workload(name, namespace, labels, "1.9.0")
        daemon_set = self._controller("DaemonSet", workload)
        self._made.daemon_sets.append(daemon_set)
        revision, generation = self._hash(10), str(1 + self._below(6))
        pods = zip(self._node_names, self._suffixes(len(self._node_names)), strict=True)
        for node_name, suffix in pods:
            hashes = {"controller-revision-hash": revision, "pod-template-generation": generation}
            self._add_pod(workload, f"{name}-{suffix}", labels | hashes, daemon_set, node_name=node_name)

    def _add_job(self, size: int) -> None:
        workload = self._workload("Job", ("app",), (1.0,), _TASKS)
        job = self._controller("Job", attrs.evolve(workload, labels={}), completions=size, parallelism=size)
        self._made.jobs.append(job)
        uid = job["metadata"]["uid"]
        labels = {"controller-uid": uid, "job-name": workload.name}
        # Both spellings on 27 of 38 pods of Jobs, and on all since 1.27; 31 of 37 have five labels.
        labels |= workload.labels
        labels |= {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": workload.name}
        job["spec"]["selector"]["matchLabels"] = {"batch.kubernetes.io/controller-uid": uid}
        job["spec"]["template"]["metadata"]["labels"] = dict(labels)
        for suffix in self._suffixes(size):
            self._add_pod(workload, f"{workload.name}-{suffix}", dict(labels), job)

    def _add_bare_pod(self, number: int) -> None:
        # The first go around, so that no namespace is empty where there are pods enough.
        namespace = self._namespace_names[number] if number < len(self._namespace_names) else self._namespace()
        name = self._free_name(
            "Pod", namespace, self._pick(("debug", "toolbox", "runner", "shell", "load-test", "dns-check"))
        )
        # Of 45 live pods without owner 18 have no label, 2 one, 19 two; 4 % of all live pods have none.
        labels: Labels = ({}, {}, {}, {}, {"run": name}, {"run": name}, {"app": name, "env": "test"})[self._below(7)]
        self._add_pod(_Workload(name, namespace, labels, "1.0.0"), name, dict(labels), None)

    def _add_static_pods(self) -> None:
        for node in self._made.nodes[:_CONTROL_PLANE]:
            for component in _STATIC:
                labels = {"component": component, "tier": "control-plane"}
                workload = _Workload(component, self._namespace_names[-1], labels, "1.34.2")
                name = f"{component}-{node['metadata']['name']}"
                self._add_pod(workload, name, dict(labels), node, node_name=node["metadata"]["name"])

    def _add_pod(
        self, workload: _Workload, name: str, labels: Labels, owner: RawObject | None, *, node_name: str = ""
    ) -> None:
        # Of 331 live pods that tell their phase 83 % run, 8 % failed, 5 % are pending, 4 % succeeded (those of Jobs).
        # Failed ones are what people keep dumps of, so here they are fewer.
        if workload.restart_policy == "Never":
            phase = ("Succeeded", "Running", "Failed")[self._weighted((0.7, 0.9, 1.0))]
        elif node_name:
            phase = "Running"
        else:
            phase = ("Running", "Pending", "Failed")[self._weighted((0.93, 0.98, 1.0))]
        if not node_name and (phase != "Pending" or self._chance(0.5)):  # half of the pending ones have a node
            node_name = self._node_name()
        images = [(workload.name, workload.image)]
        if self._chance(0.04):  # one container in 96 % of live pods
            images.append(("istio-proxy", "docker.io/istio/proxyv2:1.28.1"))
        facts = PodFacts(
            images=images,
            phase=phase,
            ready=phase == "Running" and self._chance(0.94),  # 258 of 275 running pods
            restarts=self._below(4),
            restart_policy=workload.restart_policy,
            node_name=node_name,
            address="" if phase == "Pending" else _address(10, len(self._made.pods)),
            token=f"kube-api-access-{self._hash(5)}",
        )
        self._made.pods.append(manifests.pod(self._metadata(name, workload.namespace, labels, owner), facts))

    def _add_service(self, workload: _Workload, *, headless: bool) -> None:
        # Of 74 live services that select, 47 name one key, 16 two, 5 three, 6 four.
        wanted = 1 + self._weighted((47, 63, 68, 74))
        selector = {key: workload.labels[key] for key in _SELECTED_BY if key in workload.labels}
        selector = dict(list(selector.items())[:wanted])
        # Labels on 64 % of services, those of the workload.
        labels = dict(workload.labels) if self._chance(0.64) else {}
        kind = "ClusterIP" if headless else ("ClusterIP", "LoadBalancer", "NodePort")[self._weighted((66, 76, 85))]
        spec: RawObject = {
            "clusterIP": "None" if headless else self._service_address(),
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 8080}],
            "selector": selector,
            "sessionAffinity": "None",
            "type": kind,
        }
        self._append_service(
            self._free_name("Service", workload.namespace, workload.name), workload.namespace, labels, spec
        )

    def _add_services_without_selector(self) -> None:
        """Add what selects no pod: ``kubernetes`` itself, outer hosts, services with endpoints of their own."""
        ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]
        labels = {"component": "apiserver", "provider": "kubernetes"}
        address: RawObject = {"clusterIP": self._service_address(), "ports": ports, "type": "ClusterIP"}
        self._append_service("kubernetes", "default", labels, address)
        for _ in range(max(1, len(self._made.services) // 40)):
            namespace = self._namespace()
            name = self._free_name("Service", namespace, "external-db")
            host = f"{name}.example.com"
            self._append_service(name, namespace, {}, {"externalName": host, "type": "ExternalName"})
            name = self._free_name("Service", namespace, "legacy")
            address = {"clusterIP": self._service_address(), "ports": [dict(ports[0])], "type": "ClusterIP"}
            self._append_service(name, namespace, {}, address)

    def _append_service(self, name: str, namespace: str, labels: Labels, spec: RawObject) -> None:
        self._made.services.append(manifests.service(self._metadata(name, namespace, labels), spec))

    def _service_address(self) -> str:
        return _address(100, len(self._made.services))
