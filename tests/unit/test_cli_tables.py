"""Tables, ages and sort order: what kubectl shows, and nothing that breaks on odd files."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kindex.cli.ages import UNKNOWN, age_between, age_of
from kindex.cli.kinds import Kind
from kindex.cli.sorting import SortPath
from kindex.cli.tables import _COLUMNS, table_of
from kindex.errors import PathSyntaxError
from kindex.testing import generate_cluster

RawObject = dict[str, Any]
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def _obj(kind: str, version: str = "v1", **parts: Any) -> RawObject:
    metadata = {"name": "a", "creationTimestamp": "2026-05-30T00:00:00Z", **parts.pop("metadata", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **parts}


def _cells(obj: RawObject, *, wide: bool = False) -> dict[str, str]:
    """Read one row back by the places of its headings, as a person does."""
    heading, row = table_of([obj], Kind.of(obj), now=NOW, wide=wide)
    starts = [0, *(n for n in range(3, len(heading)) if heading[n - 3 : n] == "   " and heading[n] != " ")]
    ends = [*starts[1:], max(len(heading), len(row))]
    return {heading[a:b].strip(): row[a:b].strip() for a, b in zip(starts, ends, strict=True)}


def _pod(status: RawObject, **parts: Any) -> RawObject:
    return _obj("Pod", spec={"containers": [{"name": "c"}, {"name": "d"}]}, status=status, **parts)


def _container(state: str, *, ready: bool = False, restarts: int = 0, **facts: object) -> RawObject:
    return {"state": {state: facts}, "ready": ready, "restartCount": restarts}


@pytest.mark.parametrize(
    ("pod", "ready", "status", "restarts"),
    [
        (_pod({"phase": "Pending"}), "0/2", "Pending", "0"),
        (
            _pod({"phase": "Running", "containerStatuses": [_container("running", ready=True, restarts=3)] * 2}),
            "2/2",
            "Running",
            "6",
        ),
        (
            _pod(
                {
                    "phase": "Running",
                    "containerStatuses": [_container("waiting", reason="CrashLoopBackOff"), _container("running")],
                }
            ),
            "0/2",
            "CrashLoopBackOff",
            "0",
        ),
        (
            _pod({"phase": "Succeeded", "containerStatuses": [_container("terminated", reason="Completed")]}),
            "0/2",
            "Completed",
            "0",
        ),
        (
            _pod(
                {
                    "phase": "Running",
                    "containerStatuses": [
                        _container("terminated", reason="Completed"),
                        _container("running", ready=True),
                    ],
                }
            ),
            "1/2",
            "Running",
            "0",
        ),
        (
            _pod({"phase": "Failed", "containerStatuses": [_container("terminated", exitCode=3)]}),
            "0/2",
            "ExitCode:3",
            "0",
        ),
        (
            _pod({"phase": "Failed", "containerStatuses": [_container("terminated", signal=9, exitCode=1)]}),
            "0/2",
            "Signal:9",
            "0",
        ),
        (_pod({"phase": "Failed", "reason": "Evicted"}), "0/2", "Evicted", "0"),
        (
            _pod(
                {
                    "phase": "Pending",
                    "initContainerStatuses": [_container("terminated", exitCode=0), _container("running")],
                }
            ),
            "0/2",
            "Init:1/2",
            "0",
        ),
        (
            _pod({"phase": "Pending", "initContainerStatuses": [_container("waiting", reason="ImagePullBackOff")]}),
            "0/2",
            "Init:ImagePullBackOff",
            "0",
        ),
        (
            _pod({"phase": "Pending", "initContainerStatuses": [_container("terminated", exitCode=1)]}),
            "0/2",
            "Init:ExitCode:1",
            "0",
        ),
        (_pod({"phase": "Running"}, metadata={"deletionTimestamp": "2026-05-31T00:00:00Z"}), "0/2", "Terminating", "0"),
        (_obj("Pod"), "0/0", "", "0"),
    ],
)
def test_a_pod_says_how_it_is(pod: RawObject, ready: str, status: str, restarts: str) -> None:
    """READY, STATUS and RESTARTS are those of kubectl get pods: what a container says goes before the phase."""
    cells = _cells(pod)
    assert (cells["READY"], cells["STATUS"], cells["RESTARTS"], cells["AGE"]) == (ready, status, restarts, "2d")


@pytest.mark.parametrize(
    ("obj", "cells"),
    [
        (
            _obj(
                "Pod", spec={"nodeName": "n1", "readinessGates": [{"conditionType": "x"}]}, status={"podIP": "10.0.0.1"}
            ),
            {"IP": "10.0.0.1", "NODE": "n1", "NOMINATED NODE": "<none>", "READINESS GATES": "0/1"},
        ),
        (
            _obj(
                "Service",
                spec={
                    "type": "LoadBalancer",
                    "clusterIP": "10.0.0.1",
                    "ports": [{"port": 80, "nodePort": 30080}],
                    "selector": {"app": "a", "b": "c"},
                },
                status={"loadBalancer": {"ingress": [{"hostname": "lb.example.com"}]}},
            ),
            {
                "TYPE": "LoadBalancer",
                "CLUSTER-IP": "10.0.0.1",
                "EXTERNAL-IP": "lb.example.com",
                "PORT(S)": "80:30080/TCP",
                "SELECTOR": "app=a,b=c",
            },
        ),
        (
            _obj("Service", spec={"type": "LoadBalancer"}),
            {"EXTERNAL-IP": "<pending>", "PORT(S)": "<none>", "SELECTOR": "<none>"},
        ),
        (
            _obj("Service", spec={"type": "ExternalName", "externalName": "x.org"}),
            {"CLUSTER-IP": "<none>", "EXTERNAL-IP": "x.org"},
        ),
        (
            _obj(
                "Deployment",
                "apps/v1",
                spec={
                    "replicas": 3,
                    "selector": {
                        "matchLabels": {"a": "b"},
                        "matchExpressions": [
                            {"key": "t", "operator": "In", "values": ["x", "y"]},
                            {"key": "e", "operator": "Exists"},
                            {"key": "d", "operator": "DoesNotExist"},
                        ],
                    },
                    "template": {
                        "spec": {"containers": [{"name": "c", "image": "i:1"}, {"name": "d", "image": "j:2"}]}
                    },
                },
                status={"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1},
            ),
            {
                "READY": "2/3",
                "UP-TO-DATE": "3",
                "AVAILABLE": "1",
                "CONTAINERS": "c,d",
                "IMAGES": "i:1,j:2",
                "SELECTOR": "a=b,t in (x,y),e,!d",
            },
        ),
        (_obj("StatefulSet", "apps/v1", spec={}), {"READY": "0/1", "IMAGES": "<none>"}),
        (
            _obj("ReplicaSet", "apps/v1", spec={"replicas": 0}, status={"replicas": 2}),
            {"DESIRED": "0", "CURRENT": "2", "READY": "0"},
        ),
        (
            _obj("DaemonSet", "apps/v1", spec={"template": {"spec": {"nodeSelector": {"os": "linux"}}}}),
            {"NODE SELECTOR": "os=linux"},
        ),
        (
            _obj(
                "Job",
                "batch/v1",
                spec={"completions": 2},
                status={
                    "succeeded": 2,
                    "startTime": "2026-05-30T00:00:00Z",
                    "completionTime": "2026-05-30T00:01:05Z",
                    "conditions": [{"type": "Complete", "status": "True"}],
                },
            ),
            {"STATUS": "Complete", "COMPLETIONS": "2/2", "DURATION": "65s"},
        ),
        (
            _obj("Job", "batch/v1", spec={"parallelism": 3}),
            {"STATUS": "Running", "COMPLETIONS": "0/1 of 3", "DURATION": ""},
        ),
        (
            _obj("CronJob", "batch/v1", spec={"schedule": "* * * * *"}, status={"active": [{}]}),
            {"SUSPEND": "False", "ACTIVE": "1", "LAST SCHEDULE": "<none>"},
        ),
        (
            _obj(
                "Node",
                metadata={"labels": {"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""}},
                spec={"unschedulable": True},
                status={
                    "conditions": [{"type": "Ready", "status": "False"}],
                    "addresses": [{"type": "InternalIP", "address": "10.1.1.1"}],
                },
            ),
            {
                "STATUS": "NotReady,SchedulingDisabled",
                "ROLES": "infra,worker",
                "INTERNAL-IP": "10.1.1.1",
                "EXTERNAL-IP": "<none>",
            },
        ),
        (_obj("ConfigMap", data={"a": "b"}, binaryData={"c": "d"}), {"DATA": "2"}),
        (
            _obj(
                "Ingress",
                "networking.k8s.io/v1",
                spec={"ingressClassName": "nginx", "tls": [{}], "rules": [{"host": h} for h in "abcd"]},
            ),
            {"CLASS": "nginx", "HOSTS": "a,b,c + 1 more...", "PORTS": "80, 443"},
        ),
        (_obj("NetworkPolicy", "networking.k8s.io/v1", spec={"podSelector": {}}), {"POD-SELECTOR": "<none>"}),
        (
            _obj("PersistentVolumeClaim", status={"phase": "Bound", "accessModes": ["ReadWriteOnce"]}),
            {"STATUS": "Bound", "ACCESS MODES": "RWO"},
        ),
        (
            _obj("Event", lastTimestamp="2026-05-31T23:59:00Z", involvedObject={"kind": "Pod", "name": "p"}),
            {"LAST SEEN": "60s", "OBJECT": "pod/p"},
        ),
        (_obj("Thing", "example.com/v1"), {"NAME": "a", "AGE": "2d"}),
    ],
)
def test_each_kind_has_its_columns(obj: RawObject, cells: dict[str, str]) -> None:
    """The columns are those of kubectl -o wide, and a kind without columns of its own has name and age."""
    assert _cells(obj, wide=True).items() >= cells.items()


def test_a_kind_of_another_group_has_no_columns_of_ours() -> None:
    """A custom resource that is called Pod is shown by name and age."""
    assert set(_cells(_obj("Pod", "example.com/v1"))) == {"NAME", "AGE"}


def test_columns_are_as_wide_as_their_cells() -> None:
    """Cells stand under their headings, three blanks apart, and no line ends with blanks."""
    pods = generate_cluster(pods=40, namespaces=3).pods
    lines = list(table_of(pods, Kind("Pod", ""), now=NOW, namespaces=True))
    assert len(lines) == 41
    assert lines == [line.rstrip() for line in lines]
    ready = lines[0].index("READY")
    assert {line[ready - 3 : ready] for line in lines} == {"   "}
    assert all(line[ready:].split()[0] in {"0/1", "1/1", "0/2", "1/2", "2/2", "READY"} for line in lines)
    assert list(table_of([], Kind("Pod", ""), now=NOW, headers=False)) == []


def test_what_would_play_with_a_terminal_is_not_printed() -> None:
    """Control characters in values are replaced, so a file cannot colour, move or hide what is shown."""
    obj = _obj("Namespace", status={"phase": "\x1b[2JActive\nnext\u202e"})
    assert _cells(obj)["STATUS"] == "?[2JActive?next?"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                [
                    "status",
                    "spec",
                    "phase",
                    "containers",
                    "containerStatuses",
                    "initContainerStatuses",
                    "state",
                    "waiting",
                    "terminated",
                    "reason",
                    "labels",
                    "conditions",
                    "type",
                    "ports",
                    "selector",
                    "matchLabels",
                    "matchExpressions",
                    "template",
                    "rules",
                    "loadBalancer",
                    "ingress",
                    "addresses",
                    "readinessGates",
                    "conditionType",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    st.sampled_from(sorted(_COLUMNS)), st.dictionaries(st.sampled_from(["spec", "status", "data", "type"]), json_values)
)
def test_no_shape_breaks_a_table(kind: tuple[str, str], parts: dict[str, Any]) -> None:
    """Whatever stands where a status should stand, there is a row of text for it."""
    name, group = kind
    obj = {"kind": name, "metadata": {"name": "a", "creationTimestamp": 5}, **parts}
    assert len(list(table_of([obj], Kind(name, group), now=NOW, wide=True))) == 2


def test_ages_of_odd_timestamps() -> None:
    """A timestamp that is missing or no timestamp has no age; one without a zone is taken as UTC."""
    odd: object
    for odd in (None, 5, "", "yesterday", [], "2026-13-01T00:00:00Z"):
        assert age_of(odd, NOW) == UNKNOWN
    assert age_of("2026-05-31T00:00:00", NOW) == "24h"
    assert age_of((NOW + timedelta(days=1)).isoformat(), NOW) == "<invalid>"
    assert age_between("2026-05-31T00:00:00Z", None, NOW) == "24h"
    assert age_between("2026-05-31T00:00:00Z", "never", NOW) == UNKNOWN


@pytest.mark.parametrize(
    ("values", "ordered"),
    [
        (["web-10", "web-9", "api"], ["api", "web-9", "web-10"]),
        (["10Gi", "2Gi", "512Mi", "1Ti", "500"], ["500", "512Mi", "2Gi", "10Gi", "1Ti"]),
        (["100m", "2", "0.5", "1e3"], ["100m", "0.5", "2", "1e3"]),
        ([10, 9, 2.5, True, None, "a", False], [None, False, True, 2.5, 9, 10, "a"]),
        (["1a", "a1", "a", "1"], ["1", "1a", "a", "a1"]),
        ([[1], {"a": 1}, "x"], [[1], {"a": 1}, "x"]),
    ],
)
def test_values_are_ordered_as_kubectl_orders_them(values: list[Any], ordered: list[Any]) -> None:
    """Missing values come first, then booleans, numbers and quantities by size, then text, numbers in it as numbers."""
    objects = [{"metadata": {"name": f"{n}"}, "v": value} for n, value in enumerate(values)]
    assert [obj["v"] for obj in SortPath.parse("{.v}").sorted(objects)] == ordered


def test_a_sort_path_can_pick_from_lists() -> None:
    """A number in brackets picks from a list, and leads nowhere where there is no such place."""
    obj = {"a": [{"b": 1}, {"b": 2}], "c": [[5]]}
    found = {
        text: SortPath.parse(text).value_of(obj)
        for text in (".a[1].b", "a[0]", "{.a[7].b}", "c[0][0]", "a[*].b", "$.a[0].b")
    }
    assert found == {".a[1].b": 2, "a[0]": {"b": 1}, "{.a[7].b}": None, "c[0][0]": 5, "a[*].b": 1, "$.a[0].b": 1}
    assert json.dumps(obj)
    for text in ("", "{}", "a..b", "a[x]", "[0]"):
        with pytest.raises(PathSyntaxError):
            SortPath.parse(text)
