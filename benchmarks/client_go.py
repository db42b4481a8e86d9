"""client-go's figures beside the suite's: which of its benchmarks asks what, and how a file of them is read.

``benchmarks/client_go.json`` has figures of another machine. A run on the same machine takes their place with
``python -m benchmarks.report --client-go RESULT.json``; the file is kept as ``benchmarks/results/client_go.json``. Its
format::

    {
      "source": "client-go of Kubernetes 1.36.2, Go 1.27.3, medians of 5",
      "machine": "x86_64, 2 CPUs",
      "params": {"pods": 150000, ...},
      "bench": {
        "BenchmarkIdx/ns=1/dist=uniform/v=10/l=10/op=a_byindex1": {
          "ns/op": {"median": 1054103.0, "min": 1046000.0, "n": 5},
          "matched/op": 14995.0
        },
        ...
      }
    }

A name says namespaces, distribution, values of each label, labels of each pod, and what was measured; what it cannot
find is not compared. The index under measurement has one value for each label, ``ns:<namespace>/label:<key>=<value>``,
so that with a hundred namespaces its questions name one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import attrs

from benchmarks.named import ANCHORS

if TYPE_CHECKING:
    from pathlib import Path

IN_ALL = {
    "a_byindex1": (
        "select: 1 label",
        "select: 1 label, asked once",
        "select: 1 label, LazyObjects",
        "select: 1 label, LazyObjects, asked once",
    ),
    "c_and2_byindex": ("select: 2 labels",),
    "c_and3_byindex": ("select: 3 labels",),
}
IN_A_NAMESPACE = {
    "a_byindex1": ("select: namespace and label",),
    "c_and2_byindex": ("select: namespace and 2 labels",),
    "c_and3_byindex": ("select: namespace and 3 labels",),
}
WHEREVER = {
    "b_listall1": ("scan: 1 label",),
    "d_replace": ("first list",),
    "e_update_same": ("put: unchanged",),
    "e_update_1label": ("put: one label",),
    "e_add_delete": ("put and delete",),
}
POINTS = {"h_getbykey": ("get",), "h_byindex_node": ("select: field",), "h_byindex_ns": ("select: namespace",)}


@attrs.frozen
class Figure:
    """What client-go takes for an operation on a workload of 150,000 pods."""

    workload: str
    operation: str
    us: float
    least_us: float
    answer: float | None


@attrs.frozen
class Figures:
    """A file of them. *beside* says that they are of the machine on which the suite ran."""

    source: str
    machine: str
    beside: bool
    rows: dict[tuple[str, str], Figure]


def read(path: Path, *, beside: bool) -> Figures:
    """Read a file."""
    found: dict[str, Any] = json.loads(path.read_text())
    figures = [figure for workload in ANCHORS for figure in _of(workload, found["bench"])]
    rows = {(figure.workload, figure.operation): figure for figure in figures}
    return Figures(found.get("source", "client-go"), found.get("machine", "not said"), beside, rows)


def _of(workload: Any, bench: dict[str, Any]) -> list[Figure]:
    index = f"BenchmarkIdx/ns={workload.namespaces}/dist=uniform/v={workload.values}/l=10"
    labelled = IN_ALL if workload.namespaces == 1 else IN_A_NAMESPACE
    names = {f"{index}/op={name}": operations for name, operations in {**labelled, **WHEREVER}.items()}
    point = f"BenchmarkPoint/ns={workload.namespaces}"
    names |= {f"{point}/op={name}": operations for name, operations in POINTS.items()}
    figures = []
    for name, operations in names.items():
        if name in bench:
            time = bench[name]["ns/op"]
            least = time.get("min", time["median"]) / 1e3
            answer = bench[name].get("matched/op")
            figures += [Figure(str(workload), each, time["median"] / 1e3, least, answer) for each in operations]
    return figures
