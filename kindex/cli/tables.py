"""Tables as kubectl prints them: the same columns for the kinds that people list, NAME and AGE for the rest.

Files hold anything, so nothing here trusts a shape: what is missing or odd is an empty cell, never an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from kindex.cli.ages import age_between, age_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from kindex.cli.kinds import Kind

RawObject: TypeAlias = dict[str, Any]  # Any: JSON
Cell: TypeAlias = "Callable[[RawObject, datetime], str]"

_NONE: Final = "<none>"


@attrs.frozen
class Column:
    """A heading and what stands under it; a wide one only shows in wide tables."""

    heading: str
    cell: Cell
    wide: bool = False


def table_of(
    objects: Iterable[RawObject],
    kind: Kind,
    *,
    now: datetime,
    wide: bool = False,
    namespaces: bool = False,
    resources: bool = False,
    headers: bool = True,
) -> Iterator[str]:
    """Give the lines of a table of *objects*, all of one kind, in their order.

    *namespaces* puts a NAMESPACE column in front, *resources* the kind before each name. Ages are those at *now*.
    O(objects): columns are as wide as their widest cell.

    >>> from datetime import UTC, datetime
    >>> from kindex.cli.kinds import Kind
    >>> meta = {"name": "kube-system", "creationTimestamp": "2026-01-01T00:00:00Z"}
    >>> space = {"apiVersion": "v1", "kind": "Namespace", "metadata": meta, "status": {"phase": "Active"}}
    >>> for line in table_of([space], Kind("Namespace", ""), now=datetime(2026, 1, 4, tzinfo=UTC)):
    ...     print(line)
    NAME          STATUS   AGE
    kube-system   Active   3d
    """
    rows = rows_of(objects, kind, now=now, wide=wide, namespaces=namespaces, resources=resources, headers=headers)
    yield from lines_of(rows, widths_of(rows))


def rows_of(
    objects: Iterable[RawObject],
    kind: Kind,
    *,
    now: datetime,
    wide: bool = False,
    namespaces: bool = False,
    resources: bool = False,
    headers: bool = True,
) -> list[list[str]]:
    """Give the cells of a table, as ``table_of`` takes its arguments; the first row is the headings."""
    columns = [column for column in _COLUMNS.get((kind.name, kind.group), _GENERIC) if wide or not column.wide]
    if namespaces:
        columns.insert(0, Column("NAMESPACE", _path("metadata", "namespace")))
    if resources:
        prefix = f"{kind.resource}/"
        named = Column("NAME", lambda obj, _: prefix + _text(at(obj, "metadata", "name")))
        columns = [named if column is _NAME else column for column in columns]
    rows = [[_shown(column.cell(obj, now)) for column in columns] for obj in objects]
    if headers:
        rows.insert(0, [column.heading for column in columns])
    return rows


def widths_of(rows: Sequence[Sequence[str]], least: Sequence[int] = ()) -> list[int]:
    """Give how wide each column has to be, and is at *least*.

    >>> widths_of([["a", "bb"], ["ccc", "d"]], least=[1, 5])
    [3, 5]
    """
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return [max(pair) for pair in zip(widths, least, strict=True)] if least else widths


def lines_of(rows: Iterable[Sequence[str]], widths: Sequence[int]) -> Iterator[str]:
    """Give each row as a line, its cells as wide as *widths* say."""
    for row in rows:
        yield "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _shown(text: str) -> str:
    """Keep what would break a table, or a terminal, from doing so."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


# --- reading ----------------------------------------------------------------------------------------------------------


def at(obj: object, *names: str) -> Any:  # noqa: ANN401 - JSON
    """Give what stands at a path of members, None where there is nothing."""
    for name in names:
        if not isinstance(obj, dict):
            return None
        obj = obj.get(name)
    return obj


def _text(value: object, default: str = "") -> str:
    match value:
        case None | "" | [] | {}:
            return default
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            return default


def _list(value: object) -> list[Any]:  # Any: JSON
    return value if isinstance(value, list) else []


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _path(*names: str, default: str = "") -> Cell:
    return lambda obj, _: _text(at(obj, *names), default)


def _count(*names: str) -> Cell:
    return lambda obj, _: str(_number(at(obj, *names)))


def _pairs(value: object) -> str:
    pairs = value.items() if isinstance(value, dict) else ()
    return ",".join(f"{key}={_text(part)}" for key, part in pairs) or _NONE


def _joined(parts: Iterable[object], default: str = _NONE) -> str:
    return ",".join(text for part in parts if (text := _text(part))) or default


def _selector(value: object) -> str:
    """Print a label selector object the way kubectl prints it."""
    labels = _pairs(at(value, "matchLabels"))
    parts = [] if labels == _NONE else [labels]
    for expression in _list(at(value, "matchExpressions")):
        key, operator, values = (at(expression, name) for name in ("key", "operator", "values"))
        match operator:
            case "Exists":
                parts.append(_text(key))
            case "DoesNotExist":
                parts.append(f"!{_text(key)}")
            case _:
                parts.append(f"{_text(key)} {_text(operator).lower()} ({_joined(_list(values), '')})")
    return ",".join(parts) or _NONE


# --- cells ------------------------------------------------------------------------------------------------------------


def _age(obj: RawObject, now: datetime) -> str:
    return age_of(at(obj, "metadata", "creationTimestamp"), now)


def _pod_ready(obj: RawObject, _: datetime) -> str:
    ready = sum(at(status, "ready") is True for status in _list(at(obj, "status", "containerStatuses")))
    return f"{ready}/{len(_list(at(obj, 'spec', 'containers')))}"


def _pod_status(obj: RawObject, _: datetime) -> str:
    """Give the most telling word, as ``kubectl get pods`` does: what a container says goes before the phase."""
    status = _text(at(obj, "status", "reason")) or _text(at(obj, "status", "phase"))
    initial = _initial_status(obj)
    if initial:
        status = initial
    else:
        running = False
        for container in reversed(_list(at(obj, "status", "containerStatuses"))):
            waits, ended = at(container, "state", "waiting"), at(container, "state", "terminated")
            if _text(at(waits, "reason")):
                status = _text(at(waits, "reason"))
            elif ended is not None:
                status = _ended(ended)
            running = running or (at(container, "ready") is True and at(container, "state", "running") is not None)
        if status == "Completed" and running:
            status = "Running"
    if at(obj, "metadata", "deletionTimestamp"):
        return "Unknown" if at(obj, "status", "reason") == "NodeLost" else "Terminating"
    return status


def _ended(ended: object) -> str:
    if reason := _text(at(ended, "reason")):
        return reason
    if signal := _number(at(ended, "signal")):
        return f"Signal:{signal}"
    return f"ExitCode:{_number(at(ended, 'exitCode'))}"


def _initial_status(obj: RawObject) -> str:
    containers = _list(at(obj, "status", "initContainerStatuses"))
    for number, container in enumerate(containers):
        ended, waits = at(container, "state", "terminated"), at(container, "state", "waiting")
        if (ended is not None and _number(at(ended, "exitCode")) == 0) or at(container, "started") is True:
            continue
        if ended is not None:
            return f"Init:{_ended(ended)}"
        reason = _text(at(waits, "reason"))
        return f"Init:{reason}" if reason and reason != "PodInitializing" else f"Init:{number}/{len(containers)}"
    return ""


def _pod_restarts(obj: RawObject, _: datetime) -> str:
    return str(sum(_number(at(status, "restartCount")) for status in _list(at(obj, "status", "containerStatuses"))))


def _gates(obj: RawObject, _: datetime) -> str:
    gates = _list(at(obj, "spec", "readinessGates"))
    if not gates:
        return _NONE
    wanted = {_text(at(gate, "conditionType")) for gate in gates}
    conditions = _list(at(obj, "status", "conditions"))
    holding = [c for c in conditions if _text(at(c, "type")) in wanted and at(c, "status") == "True"]
    return f"{len(holding)}/{len(gates)}"


def _external_address(obj: RawObject, _: datetime) -> str:
    spec = at(obj, "spec")
    addresses = _joined(_list(at(spec, "externalIPs")), "")
    match at(spec, "type"):
        case "ExternalName":
            return _text(at(spec, "externalName"), _NONE)
        case "LoadBalancer":
            points = _list(at(obj, "status", "loadBalancer", "ingress"))
            given = _joined((at(point, "ip") or at(point, "hostname") for point in points), "")
            return ",".join(filter(None, (given, addresses))) or "<pending>"
        case _:
            return addresses or _NONE


def _ports(obj: RawObject, _: datetime) -> str:
    shown = []
    for port in _list(at(obj, "spec", "ports")):
        node_port = _number(at(port, "nodePort"))
        number = _text(at(port, "port")) + (f":{node_port}" if node_port else "")
        shown.append(f"{number}/{_text(at(port, 'protocol'), 'TCP')}")
    return ",".join(shown) or _NONE


def _ready_of(*, ready: str = "readyReplicas") -> Cell:
    def cell(obj: RawObject, _: datetime) -> str:
        wanted = at(obj, "spec", "replicas")
        return f"{_number(at(obj, 'status', ready))}/{1 if wanted is None else _number(wanted)}"

    return cell


def _containers(part: str) -> Cell:
    return lambda obj, _: _joined(at(c, part) for c in _list(at(obj, "spec", "template", "spec", "containers")))


def _own_selector(obj: RawObject, _: datetime) -> str:
    return _selector(at(obj, "spec", "selector"))


def _job_status(obj: RawObject, _: datetime) -> str:
    conditions = [at(c, "type") for c in _list(at(obj, "status", "conditions")) if at(c, "status") == "True"]
    for word in ("Complete", "Failed", "Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if word in conditions:
            return word
    return "Terminating" if at(obj, "metadata", "deletionTimestamp") else "Running"


def _completions(obj: RawObject, _: datetime) -> str:
    done, wanted = _number(at(obj, "status", "succeeded")), at(obj, "spec", "completions")
    if wanted is not None:
        return f"{done}/{_number(wanted)}"
    parallel = _number(at(obj, "spec", "parallelism"))
    return f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"


def _job_duration(obj: RawObject, now: datetime) -> str:
    start = at(obj, "status", "startTime")
    return age_between(start, at(obj, "status", "completionTime"), now) if start else ""


def _last_schedule(obj: RawObject, now: datetime) -> str:
    last = at(obj, "status", "lastScheduleTime")
    return age_of(last, now) if last else _NONE


def _node_status(obj: RawObject, _: datetime) -> str:
    ready = [at(c, "status") for c in _list(at(obj, "status", "conditions")) if at(c, "type") == "Ready"]
    status = ("Ready" if "True" in ready else "NotReady") if ready else "Unknown"
    return status + (",SchedulingDisabled" if at(obj, "spec", "unschedulable") is True else "")


def _node_roles(obj: RawObject, _: datetime) -> str:
    labels = at(obj, "metadata", "labels")
    roles = set()
    for key, value in labels.items() if isinstance(labels, dict) else ():
        if str(key).startswith("node-role.kubernetes.io/"):
            roles.add(str(key).partition("/")[2])
        elif key == "kubernetes.io/role":
            roles.add(_text(value))
    return ",".join(sorted(filter(None, roles))) or _NONE


def _node_address(kind: str) -> Cell:
    def cell(obj: RawObject, _: datetime) -> str:
        addresses = _list(at(obj, "status", "addresses"))
        return next((_text(at(a, "address")) for a in addresses if at(a, "type") == kind), _NONE)

    return cell


def _hosts(obj: RawObject, _: datetime) -> str:
    hosts = [text for rule in _list(at(obj, "spec", "rules")) if (text := _text(at(rule, "host")))]
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return ",".join(hosts[:3]) + more or "*"


def _balancers(obj: RawObject, _: datetime) -> str:
    points = _list(at(obj, "status", "loadBalancer", "ingress"))
    return _joined((at(point, "ip") or at(point, "hostname") for point in points), "")


def _ingress_ports(obj: RawObject, _: datetime) -> str:
    return "80, 443" if at(obj, "spec", "tls") else "80"


def _data_count(obj: RawObject, _: datetime) -> str:
    return str(sum(len(part) for name in ("data", "binaryData") if isinstance(part := at(obj, name), dict)))


def _last_seen(obj: RawObject, now: datetime) -> str:
    metadata = at(obj, "metadata")
    seen = at(obj, "series", "lastObservedTime") or at(obj, "lastTimestamp") or at(obj, "eventTime")
    return age_of(seen or at(metadata, "creationTimestamp"), now)


def _event_object(obj: RawObject, _: datetime) -> str:
    about = at(obj, "involvedObject") or at(obj, "regarding")
    return f"{_text(at(about, 'kind')).lower()}/{_text(at(about, 'name'))}"


def _modes(obj: RawObject, _: datetime) -> str:
    short = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
    modes = _list(at(obj, "status", "accessModes") or at(obj, "spec", "accessModes"))
    return ",".join(short.get(_text(mode), _text(mode)) for mode in modes)


_NAME: Final = Column("NAME", _path("metadata", "name"))
_AGE: Final = Column("AGE", _age)
_GENERIC: Final[Sequence[Column]] = (_NAME, _AGE)
_TEMPLATE: Final = (
    Column("CONTAINERS", _containers("name"), wide=True),
    Column("IMAGES", _containers("image"), wide=True),
)
_SELECTOR: Final = Column("SELECTOR", _own_selector, wide=True)
_COLUMNS: Final[dict[tuple[str, str], Sequence[Column]]] = {
    ("Pod", ""): (
        _NAME,
        Column("READY", _pod_ready),
        Column("STATUS", _pod_status),
        Column("RESTARTS", _pod_restarts),
        _AGE,
        Column("IP", _path("status", "podIP", default=_NONE), wide=True),
        Column("NODE", _path("spec", "nodeName", default=_NONE), wide=True),
        Column("NOMINATED NODE", _path("status", "nominatedNodeName", default=_NONE), wide=True),
        Column("READINESS GATES", _gates, wide=True),
    ),
    ("Service", ""): (
        _NAME,
        Column("TYPE", _path("spec", "type")),
        Column("CLUSTER-IP", _path("spec", "clusterIP", default=_NONE)),
        Column("EXTERNAL-IP", _external_address),
        Column("PORT(S)", _ports),
        _AGE,
        Column("SELECTOR", lambda obj, _: _pairs(at(obj, "spec", "selector")), wide=True),
    ),
    ("Deployment", "apps"): (
        _NAME,
        Column("READY", _ready_of()),
        Column("UP-TO-DATE", _count("status", "updatedReplicas")),
        Column("AVAILABLE", _count("status", "availableReplicas")),
        _AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("ReplicaSet", "apps"): (
        _NAME,
        Column("DESIRED", _count("spec", "replicas")),
        Column("CURRENT", _count("status", "replicas")),
        Column("READY", _count("status", "readyReplicas")),
        _AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("StatefulSet", "apps"): (_NAME, Column("READY", _ready_of()), _AGE, *_TEMPLATE),
    ("DaemonSet", "apps"): (
        _NAME,
        Column("DESIRED", _count("status", "desiredNumberScheduled")),
        Column("CURRENT", _count("status", "currentNumberScheduled")),
        Column("READY", _count("status", "numberReady")),
        Column("UP-TO-DATE", _count("status", "updatedNumberScheduled")),
        Column("AVAILABLE", _count("status", "numberAvailable")),
        Column("NODE SELECTOR", lambda obj, _: _pairs(at(obj, "spec", "template", "spec", "nodeSelector"))),
        _AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("Job", "batch"): (
        _NAME,
        Column("STATUS", _job_status),
        Column("COMPLETIONS", _completions),
        Column("DURATION", _job_duration),
        _AGE,
        *_TEMPLATE,
        _SELECTOR,
    ),
    ("CronJob", "batch"): (
        _NAME,
        Column("SCHEDULE", _path("spec", "schedule")),
        Column("TIMEZONE", _path("spec", "timeZone", default=_NONE)),
        Column("SUSPEND", lambda obj, _: "True" if at(obj, "spec", "suspend") is True else "False"),
        Column("ACTIVE", lambda obj, _: str(len(_list(at(obj, "status", "active"))))),
        Column("LAST SCHEDULE", _last_schedule),
        _AGE,
    ),
    ("Node", ""): (
        _NAME,
        Column("STATUS", _node_status),
        Column("ROLES", _node_roles),
        _AGE,
        Column("VERSION", _path("status", "nodeInfo", "kubeletVersion")),
        Column("INTERNAL-IP", _node_address("InternalIP"), wide=True),
        Column("EXTERNAL-IP", _node_address("ExternalIP"), wide=True),
        Column("OS-IMAGE", _path("status", "nodeInfo", "osImage", default="<unknown>"), wide=True),
        Column("KERNEL-VERSION", _path("status", "nodeInfo", "kernelVersion", default="<unknown>"), wide=True),
        Column(
            "CONTAINER-RUNTIME", _path("status", "nodeInfo", "containerRuntimeVersion", default="<unknown>"), wide=True
        ),
    ),
    ("Namespace", ""): (_NAME, Column("STATUS", _path("status", "phase")), _AGE),
    ("ConfigMap", ""): (_NAME, Column("DATA", _data_count), _AGE),
    ("Secret", ""): (_NAME, Column("TYPE", _path("type")), Column("DATA", _data_count), _AGE),
    ("Ingress", "networking.k8s.io"): (
        _NAME,
        Column("CLASS", _path("spec", "ingressClassName", default=_NONE)),
        Column("HOSTS", _hosts),
        Column("ADDRESS", _balancers),
        Column("PORTS", _ingress_ports),
        _AGE,
    ),
    ("NetworkPolicy", "networking.k8s.io"): (
        _NAME,
        Column("POD-SELECTOR", lambda obj, _: _selector(at(obj, "spec", "podSelector"))),
        _AGE,
    ),
    ("PersistentVolumeClaim", ""): (
        _NAME,
        Column("STATUS", _path("status", "phase")),
        Column("VOLUME", _path("spec", "volumeName")),
        Column("CAPACITY", _path("status", "capacity", "storage")),
        Column("ACCESS MODES", _modes),
        Column("STORAGECLASS", _path("spec", "storageClassName")),
        _AGE,
    ),
    ("Event", ""): (
        Column("LAST SEEN", _last_seen),
        Column("TYPE", _path("type")),
        Column("REASON", _path("reason")),
        Column("OBJECT", _event_object),
        Column("MESSAGE", _path("message")),
    ),
}
