"""The example controllers: what they do with a change, with odd objects, on files and beside a server."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from examples.endpoint_slices import EndpointSlicesController
from examples.endpoints import EndpointsController, selecting
from examples.external_dns_gateway import GatewayDnsController
from examples.external_dns_virtualservice import VirtualServiceDnsController
from examples.network_policy import NetworkPolicyController
from examples.owner_gc import OwnerController
from examples.pod_disruption import PodDisruptionController
from examples.running import Controller, run_on_cluster
from kindex import ObjectKey, StoreView
from kindex.testing import ApiServer, generate_cluster
from tests.controllers import SCANS, Running, running, skipping

ROOT = Path(__file__).parents[2]
DNS = "external-dns.alpha.kubernetes.io"
MADE = sorted(SCANS, key=lambda make: make.__name__)
DEADLINE = 60.0


def obj(kind: str, name: str, spec: Any = None, *, labels: Any = None, namespace: str = "prod", **rest: Any) -> Any:
    versions = {"Gateway": "networking.istio.io/v1", "VirtualService": "networking.istio.io/v1"}
    versions |= {"NetworkPolicy": "networking.k8s.io/v1", "Ingress": "networking.k8s.io/v1"}
    versions |= {"PodDisruptionBudget": "policy/v1", "ReplicaSet": "apps/v1"}
    metadata = {"name": name, "namespace": namespace, "labels": labels or {}, **rest.pop("metadata", {})}
    return {"apiVersion": versions.get(kind, "v1"), "kind": kind, "metadata": metadata, "spec": spec or {}, **rest}


def pod(name: str, app: str = "web", ip: str = "10.0.0.1", *, ready: bool = True, **rest: Any) -> Any:
    conditions = [{"type": "Ready", "status": str(ready)}]
    status = {"phase": "Running", "podIP": ip, "conditions": conditions}
    return obj("Pod", name, labels={"app": app}, status=status, **rest)


def service(name: str, selector: Any, *, ip: str = "", **spec: Any) -> Any:
    status = {"loadBalancer": {"ingress": [{"ip": ip}] if ip else []}}
    return obj("Service", name, {"selector": selector, "ports": [{"port": 80}], **spec}, status=status)


def ips(run: Running, name: str = "web") -> tuple[list[str], list[str]]:
    found = run.of(name)
    return [each.ip for each in found.ready], [each.ip for each in found.not_ready]


# What a change asks for


def test_a_pod_that_turns_ready_keeps_its_labels() -> None:
    """Its service is looked at again, though it neither gains nor loses the pod: by the difference it stays stale."""
    unready, ready = pod("a", ready=False), pod("a")
    run = running(EndpointsController, [service("web", {"app": "web"}), unready])
    assert ips(run) == ([], ["10.0.0.1"])
    assert run.stores["Service"].count(selecting.matching_differs(unready, ready)) == 0
    run.put(ready)
    assert ips(run) == (["10.0.0.1"], [])


def through_three_labels() -> Running:
    """Have a pod read with a label that it no longer has when the controller is told of it."""
    db = service("db", {"app": "db"})
    run = running(EndpointsController, [service("web", {"app": "web"}), db, pod("a", "none")])
    run.settled()
    run.put(pod("a", "db"), {**db, "status": {}})
    run.loop.tell("Service")
    assert [each.pod for each in run.controller.results.get(ObjectKey("prod", "db")).ready] == ["a"]
    run.put(pod("a", "web"))
    run.loop.settle()
    return run


def test_every_state_of_a_pod_that_was_read_is_told() -> None:
    """A service that read a pod between two changes of it is looked at again."""
    run = through_three_labels()
    assert run.outcome() == run.scanned()


def test_the_test_above_finds_merged_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with changes merged the pod goes from one label to the third, and the second stays stale."""
    follow = StoreView.follow
    monkeypatch.setattr(StoreView, "follow", lambda self, **_: follow(self))
    run = through_three_labels()
    assert run.outcome() != run.scanned()


def test_a_controller_that_falls_too_far_behind_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its loop returns by itself when commits were lost, and another one has everything."""
    run = running(EndpointsController, [service("web", {"app": "web"})])
    busy, free, over = threading.Event(), threading.Event(), threading.Event()
    monkeypatch.setattr(run.controller, "handle", lambda *_: busy.set() or free.wait(DEADLINE))
    free.set()
    run.loop.settle()
    free.clear()
    busy.clear()
    thread = threading.Thread(target=run.loop.run, args=(over,))
    thread.start()
    run.put(pod("first"))
    assert busy.wait(DEADLINE)
    for number in range(1_100):
        run.put(pod("again", ip=f"10.0.{number // 250}.{number % 250}"))
    free.set()
    thread.join(DEADLINE)
    assert not thread.is_alive()
    assert ips(running(EndpointsController, [each for store in run.stores.values() for each in store.select()]))


def test_named_ports_and_families_are_those_of_each_pod() -> None:
    """A pod without the named port is in no Endpoints, and in a slice without ports; addresses are of the family."""
    ports = [{"name": "http", "containerPort": 8080}]
    named = pod("a", ip="10.0.0.1") | {"spec": {"initContainers": [{"restartPolicy": "Always", "ports": ports}]}}
    both = pod("b", ip="10.0.0.2")
    both["status"]["podIPs"] = [{"ip": "10.0.0.2"}, {"ip": "fd00::2"}]
    web = service("web", {"app": "web"})
    web["spec"] |= {"ports": [{"port": 80, "targetPort": "http"}], "ipFamilies": ["IPv4", "IPv6"]}
    assert ips(running(EndpointsController, [web, named, both])) == (["10.0.0.1"], [])
    found = running(EndpointSlicesController, [web, named, both]).of("web")
    assert [(each.family, [port.number for port in each.ports], len(each.endpoints)) for each in found] == [
        ("IPv4", [], 1),
        ("IPv4", [8080], 1),
        ("IPv6", [], 1),
    ]
    headless = service("web", {"app": "web"}, clusterIP="None")
    headless["spec"]["ports"] = []
    assert ips(running(EndpointsController, [headless, named])) == (["10.0.0.1"], [])


def test_slices_hold_a_hundred_endpoints() -> None:
    """What is more goes into the next slice."""
    found = running(
        EndpointSlicesController,
        [service("web", {"app": "web"}), *[pod(f"p{n}", ip=f"10.0.1.{n}") for n in range(201)]],
    ).of("web")
    assert [len(each.endpoints) for each in found] == [100, 100, 1]


# Odd objects


def test_bad_selectors_are_warned_of_once_and_the_rest_goes_on() -> None:
    """An unknown operator, matchLabels of the wrong type, a selector that is text: one warning with the key of each."""
    bad: list[tuple[type[Controller], Any, Any]] = [
        (EndpointsController, service("bad", "app=web"), service("web", {"app": "web"})),
        (
            PodDisruptionController,
            obj("PodDisruptionBudget", "bad", {"selector": {"matchLabels": ["app"]}}),
            obj("PodDisruptionBudget", "web", {"selector": {}}),
        ),
        (
            NetworkPolicyController,
            obj(
                "NetworkPolicy",
                "bad",
                {"podSelector": {"matchExpressions": [{"key": "app", "operator": "Is", "values": ["a"]}]}},
            ),
            obj("NetworkPolicy", "web", {"podSelector": {}}),
        ),
        (
            OwnerController,
            obj("ReplicaSet", "bad", {"selector": {"matchLabels": {"app": 3}}}),
            obj("ReplicaSet", "web", {"selector": {"matchLabels": {"app": "web"}}}),
        ),
    ]
    for make, wrong, right in bad:
        with skipping() as said:
            run = running(make, [wrong, right, pod("a")])
            assert run.of("bad") is None
            run.put(pod("b"), wrong)
            assert run.of("web") is not None
        assert len({each for each in said if "prod/bad" in each}) == 1, (make, said)


def test_a_null_selector_selects_nothing() -> None:
    """Such a service, an ExternalName and one with an empty selector have no endpoints of ours."""
    external = service("external", {"app": "web"}, type="ExternalName")
    run = running(EndpointsController, [service("null", None), service("empty", {}), external, pod("a")])
    assert run.settled() == {}


def gateway(name: str = "main", selector: Any = None, hosts: Any = ("a.example.com",), **annotations: str) -> Any:
    said = {f"{DNS}/{key}": value for key, value in annotations.items()}
    spec = {"selector": selector, "servers": [{"hosts": list(hosts)}]}
    return obj("Gateway", name, spec, metadata={"annotations": said})


def front(**balancer: str) -> Any:
    return obj("Ingress", "front", status={"loadBalancer": {"ingress": [balancer]}})


def test_a_gateway_that_names_a_missing_ingress_leads_nowhere_and_is_warned_of_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It does not lead to services in its place; when the ingress comes it leads there."""
    run = running(GatewayDnsController, [gateway(ingress="front"), gateway("other", target="9.9.9.9")])
    assert (run.of("main"), run.of("other")) == ((), (("a.example.com", ("9.9.9.9",)),))
    run.put(gateway(ingress="front", hostname="x.example.com"))
    run.settled()
    assert [each.getMessage() for each in caplog.records] == [
        "prod/main: ingress prod/front is not there, so it leads nowhere"
    ]
    run.put(front(hostname="LB.example.net"))
    assert run.of("main")[0] == ("a.example.com", ("lb.example.net",))


def test_a_gateway_without_selector_leads_to_every_balancer() -> None:
    """As external-dns has it, and when a service comes later, too; hosts in capital letters are the same names."""
    run = running(GatewayDnsController, [gateway(hosts=["test/A.Example.COM", "a.example.com", "*"])])
    assert run.of("main") == ()
    run.put(service("lb", {"istio": "edge"}, ip="1.2.3.4"))
    assert run.of("main") == (("a.example.com", ("1.2.3.4",)),)


def test_a_gateway_leads_to_services_whose_selector_holds_more() -> None:
    """A service that comes to have the pairs, or loses its balancer, changes the gateway."""
    run = running(
        GatewayDnsController, [gateway(selector={"istio": "edge"}), service("lb", {"istio": "x"}, ip="1.1.1.1")]
    )
    assert run.of("main") == ()
    run.put(service("lb", {"istio": "edge", "app": "gw"}, ip="1.1.1.1"))
    assert run.of("main") == (("a.example.com", ("1.1.1.1",)),)
    run.put(service("lb", {"istio": "edge", "app": "gw"}))
    assert run.of("main") == ()


def test_a_virtual_service_leads_where_its_gateways_take_its_hosts(caplog: pytest.LogCaptureFixture) -> None:
    """By wildcards and namespaces; without gateways it holds in the mesh, and has no record; a missing one is said."""

    def route(name: str, *gateways: str, **spec: Any) -> Any:
        return obj("VirtualService", name, {"hosts": ["A.example.com", "b.test"], "gateways": [*gateways], **spec})

    run = running(
        VirtualServiceDnsController,
        [
            gateway(hosts=["prod/*.Example.com"], target="9.9.9.9"),
            gateway("closed", hosts=["test/*"], target="8.8.8.8"),
            route("mesh"),
            route("shop", "mesh", "main", "closed"),
            route("kept", "main", exportTo=["test"]),
            route("lost", "gone", "prod/main"),
        ],
    )
    led = (("a.example.com", ("9.9.9.9",)),)
    assert [run.of(name) for name in ("mesh", "shop", "kept", "lost")] == [(), led, (), led]
    assert [each.getMessage() for each in caplog.records] == ["prod/lost: gateway prod/gone is not there"]


def test_peers_that_name_nobody_let_nobody_through(caplog: pytest.LogCaptureFixture) -> None:
    """An empty peer, or peers that are no list, are warned of; a rule without peers is for everyone."""
    policies = [
        obj("NetworkPolicy", "empty", {"podSelector": {}, "ingress": [{"from": [{}]}]}),
        obj("NetworkPolicy", "text", {"podSelector": {}, "ingress": [{"from": "all"}]}),
        obj("NetworkPolicy", "open", {"podSelector": {}, "ingress": [{}], "policyTypes": ["Ingress", "Egress"]}),
    ]
    run = running(NetworkPolicyController, [*policies, pod("a")])
    assert [str(run.of(name)) for name in ("empty", "text", "open")] == [
        "prod/a; from nobody",
        "prod/a; from nobody",
        "prod/a; from everyone; to nobody",
    ]
    assert sorted(each.getMessage().split(":")[0] for each in caplog.records) == ["prod/empty", "prod/text"]


def test_a_policy_follows_the_labels_of_namespaces() -> None:
    """A namespace that gets a label, or comes later than its pods, lets them through."""
    peer = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    policy = obj(
        "NetworkPolicy", "web", {"podSelector": {"matchLabels": {"app": "none"}}, "ingress": [{"from": [peer]}]}
    )
    run = running(NetworkPolicyController, [policy, pod("a")])
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"team": "a"}}}
    assert run.of("web").peers == frozenset()
    run.put(space)
    assert run.of("web").peers == {ObjectKey("prod", "a")}
    run.delete(space)
    assert run.of("web").peers == frozenset()


@pytest.mark.parametrize(
    ("spec", "allowed"),
    [
        ({"minAvailable": 2}, 1),
        ({"minAvailable": "50%"}, 1),
        ({"maxUnavailable": "30%"}, 1),
        ({"maxUnavailable": 0}, 0),
        ({"maxUnavailable": 9}, 3),
        ({"minAvailable": "2"}, 0),
        ({"minAvailable": 1, "maxUnavailable": 1}, 0),
    ],
)
def test_budgets_let_go_what_is_left_over(spec: dict[str, Any], allowed: int) -> None:
    """Percentages are rounded up; what cannot be read lets none go; one without pods lets none go."""
    budget = obj("PodDisruptionBudget", "web", {"selector": {}, **spec})
    run = running(PodDisruptionController, [budget])
    assert run.of("web").disruptions_allowed == 0
    run.put(*[pod(name) for name in "abc"])
    assert run.of("web").disruptions_allowed == allowed


def test_owners_keep_adopt_release_and_leave() -> None:
    """One query gives owned pods and orphans; a namesake with another UID is no owner."""
    owner = obj("ReplicaSet", "web", {"selector": {"matchLabels": {"app": "web"}}}, metadata={"uid": "u1"})
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u1", "controller": True}
    owned = {"ownerReferences": [reference]}
    run = running(
        OwnerController,
        [owner, pod("a", metadata=owned), pod("b"), pod("c", "db", metadata=owned), pod("d", "db")],
    )
    assert run.of("web") == (("a",), ("b",), ("c",))
    run.put({**owner, "metadata": {**owner["metadata"], "uid": "u2"}})
    assert run.of("web") == ((), ("b",), ())
    assert sorted(key.name for key in run.controller.left_over.values()) == ["a", "c"]


def test_a_controller_that_nothing_names_is_none() -> None:
    """A pod whose only owner reference says neither UID nor kind and name is an orphan."""
    owner = obj("ReplicaSet", "web", {"selector": {"matchLabels": {"app": "web"}}}, metadata={"uid": "u1"})
    run = running(OwnerController, [owner, pod("a", metadata={"ownerReferences": [{"controller": True}]})])
    assert run.of("web") == ((), ("a",), ())


# The work


def test_an_event_is_answered_from_candidates() -> None:
    """Of 300 services and 3,000 pods an event looks at those that it concerns: no query scans."""
    cluster = generate_cluster(pods=3_000, namespaces=12)
    run = running(EndpointsController, [*cluster.services, *cluster.pods], scan="error")
    found = run.settled()
    assert len(found) > 100
    looked = []
    settle = run.controller.settle
    run.controller.settle = lambda key: (looked.append(key), settle(key))
    key, endpoints = max(found.items(), key=lambda each: len(each[1].ready))
    name = endpoints.ready[0].pod
    changed = run.stores["Pod"].require(name, namespace=key.namespace)
    run.put({**changed, "status": {**changed["status"], "conditions": []}})
    run.settled()
    assert key in looked
    assert 1 <= len(looked) <= 4
    term = selecting.matching(changed)
    plan = run.stores["Service"].explain(term, namespace=key.namespace)
    assert "no scan" in str(plan)
    evaluated = re.search(r"(\d+) evaluated", str(plan))
    assert evaluated is not None
    assert int(evaluated[1]) < 20
    assert all(store.scans == 0 for store in run.stores.values())


def test_unlabelled_changes_of_a_pod_cost_policies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod that turns ready is compared with what is known of its policies, and none is made anew."""
    policies = [obj("NetworkPolicy", f"p{n}", {"podSelector": {}}) for n in range(3)]
    run = running(NetworkPolicyController, [*policies, pod("a", ready=False)])
    run.settled()
    settled: list[ObjectKey] = []
    monkeypatch.setattr(run.controller, "settle", settled.append)
    run.put(pod("a"))
    run.loop.settle()
    assert settled == []


# As programs


@pytest.mark.parametrize("name", re.findall(r"python -m examples\.(\w+)", (ROOT / "examples/README.md").read_text()))
def test_each_runs_by_the_command_of_the_list(name: str) -> None:
    """On the manifests that are beside them each says something, in good order."""
    command = [sys.executable, "-P", "-m", f"examples.{name}", "--file", "examples/manifests.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=DEADLINE, cwd=ROOT)  # noqa: S603 - it is ours
    assert re.search(r"(prod|edge)/\w+: ", done.stdout)
    assert done.stderr == ""
    text = (ROOT / f"examples/{name}.py").read_text()
    assert "What this cannot promise" in text
    assert f"python -m examples.{name} --kubeconfig" in text


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    """One line, and an exit code."""
    command = [sys.executable, "-P", "-m", "examples.endpoints", "--file", tmp_path / "none.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=DEADLINE, cwd=ROOT)  # noqa: S603 - it is ours
    assert (done.returncode, done.stdout) == (1, "")
    assert "none.yaml: no such file" in done.stderr


CLUSTER = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}},
    service("web", {"app": "web"}, ip="1.2.3.4"),
    pod("a"),
    obj("PodDisruptionBudget", "web", {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}),
    obj("NetworkPolicy", "web", {"podSelector": {"matchLabels": {"app": "web"}}}),
    obj("ReplicaSet", "web", {"selector": {"matchLabels": {"app": "web"}}}),
    gateway("web", {"app": "web"}),
    obj("VirtualService", "web", {"hosts": ["a.example.com"], "gateways": ["web"]}),
    obj("Ingress", "web"),
]


@pytest.mark.parametrize("make", MADE)
def test_each_follows_a_cluster(make: type[Controller], tmp_path: Path) -> None:
    """Beside a server it tells what is there, and then what a change makes of it; at its end nothing is left open."""
    told: Queue[str] = Queue()
    over = threading.Event()
    with ApiServer(CLUSTER) as server:
        kubeconfig = str(server.kubeconfig(tmp_path / "config"))
        thread = threading.Thread(target=run_on_cluster, args=(make, kubeconfig, told.put, over))
        thread.start()
        try:
            before = told.get(timeout=DEADLINE)
            assert "prod/web: " in before
            server.update(service("web", {"app": "web"}, ip="5.6.7.8"))
            server.create(pod("b", ip="10.0.0.2"))
            after = told.get(timeout=DEADLINE)
            assert "prod/web: " in after
            assert after != before
        finally:
            over.set()
            thread.join(DEADLINE)
        assert not thread.is_alive()
