"""A query's work does not grow with the store, only with its answer and its smallest posting: counted, not timed.

Work is bytecodes and calls of C functions, which no machine or moment changes. A call counts as one, whatever it does,
so what could hide in one is counted apart: how many objects a query touches, and how many the plan looks at.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from kindex import FieldIndexer, LabelIndexer, OwnerIndexer, SelectorIndexer, Store

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

ANSWER = 20
SMALL, LARGE = 400, 4_000
by_labels, by_node, by_owner = LabelIndexer("app", "tier", "all"), FieldIndexer("spec.nodeName"), OwnerIndexer()
selecting = SelectorIndexer("spec.selector")


class Touched(dict[str, Any]):
    """An object that knows how often any was read."""

    reads = 0

    def __getitem__(self, name: str) -> Any:
        Touched.reads += 1
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        Touched.reads += 1
        return super().get(name, default)


def pods(n: int, *, answer: int = ANSWER, namespaces: int = 4) -> list[Touched]:
    """Make pods: so many with each value of ``app``, half of all with each tier, all with ``all``."""
    return [
        Touched(
            metadata={
                "name": f"pod-{number:05d}",
                "namespace": f"namespace-{number % namespaces}",
                "labels": {"app": f"app-{number // answer}", "tier": f"tier-{number % 2}", "all": "yes"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": f"uid-{number // answer}"}],
            },
            spec={"nodeName": f"node-{number // answer}"},
        )
        for number in range(n)
    ]


def filled(n: int, *, indexed: bool = True, **shape: int) -> Store[Any]:
    store: Store[Any] = Store(name="pods", indexers=[by_labels, by_node, by_owner] if indexed else [])
    store.replace(pods(n, **shape))
    return store


def work(do: Callable[[], object]) -> int:
    """Count bytecodes and calls of C functions; first done twice, so that what is remembered is."""
    counted = 0

    def traced(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        counted += event == "opcode"
        return traced

    def profiled(_frame: FrameType, event: str, _: Any) -> None:
        nonlocal counted
        counted += event == "c_call"

    do()
    do()
    tracing, profiling = sys.gettrace(), sys.getprofile()
    sys.setprofile(profiled)
    sys.settrace(traced)
    try:
        do()
    finally:
        sys.settrace(tracing)
        sys.setprofile(profiling)
    return counted


def touched(do: Callable[[], object]) -> int:
    """Count reads of objects."""
    do()
    Touched.reads = 0
    do()
    return Touched.reads


QUERIES: dict[str, Callable[[Store[Any]], object]] = {
    "get": lambda store: store.get("pod-00005", namespace="namespace-1"),
    "one label": lambda store: store.select(label_selector="app=app-3"),
    "two labels, the other on all": lambda store: store.select(label_selector="app=app-3,all=yes"),
    "three labels": lambda store: store.select(label_selector="app=app-3,tier=tier-0,all=yes"),
    "in": lambda store: store.select(label_selector="app in (app-3, app-5)"),
    "notin": lambda store: store.select(label_selector="app=app-3,tier notin (tier-0)"),
    "exists": lambda store: store.select(label_selector="app=app-3,all"),
    "namespace and label": lambda store: store.select(namespace="namespace-1", label_selector="app=app-3"),
    "node": lambda store: store.select(by_node.at("node-3")),
    "field": lambda store: store.select(field_selector="spec.nodeName=node-3"),
    "owner": lambda store: store.select(by_owner.at("uid-3")),
    "count of half of all": lambda store: store.count(label_selector="tier=tier-0"),
    "count": lambda store: store.count(label_selector="app=app-3,tier=tier-0"),
    "snapshot": lambda store: store.snapshot().close(),
}


@pytest.fixture(scope="module")
def stores() -> tuple[Store[Any], Store[Any]]:
    return filled(SMALL), filled(LARGE)


@pytest.mark.parametrize("name", QUERIES)
def test_work_does_not_grow_with_the_store(stores: tuple[Store[Any], Store[Any]], name: str) -> None:
    """Ten times the objects, the same answer: as much work, but for a branch, and no object is touched."""
    small, large = (work(lambda store=store: QUERIES[name](store)) for store in stores)
    assert large <= 1.1 * small + 20
    assert [touched(lambda store=store: QUERIES[name](store)) for store in stores] == [0, 0]


def test_the_count_finds_a_scan() -> None:
    """The control: without an index the work is in proportion to the store, and objects are touched."""
    query = QUERIES["one label"]
    small, large = (filled(n, indexed=False) for n in (SMALL, LARGE))
    assert work(lambda: query(large)) > 5 * work(lambda: query(small))
    assert touched(lambda: query(large)) >= LARGE


def test_the_plan_looks_at_the_smallest_posting(stores: tuple[Store[Any], Store[Any]]) -> None:
    """A label that all objects have is asked last, and nothing is scanned."""
    for store in stores:
        plan = store.explain(label_selector="all=yes,app=app-3,tier=tier-0")
        assert plan.steps[0].estimate == ANSWER
        assert all(step.left <= ANSWER for step in plan.steps)
        assert plan.scanned == 0


def test_a_check_is_done_on_what_indexes_left() -> None:
    """A label without an index is read on the smallest posting only, however large the store."""
    only_app: dict[int, Store[Any]] = {}
    for n in (SMALL, LARGE):
        store: Store[Any] = Store(name="pods", indexers=[LabelIndexer("app")])
        store.replace(pods(n))
        only_app[n] = store
        assert store.explain(label_selector="app=app-3,tier=tier-0").scanned == ANSWER
    reads = [
        touched(lambda store=store: store.select(label_selector="app=app-3,tier=tier-0")) for store in only_app.values()
    ]
    assert reads[0] == reads[1]
    assert ANSWER <= reads[0] <= 4 * ANSWER


def test_work_grows_at_most_as_the_answer() -> None:
    """An answer of ten times the objects is at most ten times the work."""
    small, large = filled(LARGE, answer=40), filled(LARGE, answer=400)
    query = QUERIES["one label"]
    assert work(lambda: query(large)) <= 10 * work(lambda: query(small))


@pytest.mark.parametrize("grown", [{"answer": 2}, {"namespaces": 400}], ids=["values", "namespaces"])
def test_work_does_not_grow_with_values_or_namespaces(grown: dict[str, int]) -> None:
    """Ten or a hundred times the values or namespaces: an answer is no more work."""
    usual, more = filled(LARGE), filled(LARGE, **grown)
    for name in ("one label", "namespace and label", "count"):
        assert work(lambda name=name: QUERIES[name](more)) <= 1.1 * work(lambda name=name: QUERIES[name](usual)) + 20


@pytest.mark.parametrize("what", ["put: unchanged", "put: one label", "delete and put"])
def test_work_of_a_write_does_not_grow_with_the_store(
    monkeypatch: pytest.MonkeyPatch, stores: tuple[Store[Any], Store[Any]], what: str
) -> None:
    """A write is as much work in a store of ten times the objects."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)

    def write(store: Store[Any]) -> None:
        pod = store.require("pod-00005", namespace="namespace-1")
        if what == "delete and put":
            store.delete(pod)
        labels = dict(pod["metadata"]["labels"])
        if what == "put: one label":
            labels["app"] = "app-7" if labels["app"] == "app-0" else "app-0"
        store.put(Touched(pod, metadata={**pod["metadata"], "labels": labels}))

    small, large = (work(lambda store=store: write(store)) for store in stores)
    assert large <= 1.1 * small + 20


@pytest.mark.parametrize("services", [10, 1_000])
def test_work_of_a_reverse_look_up_does_not_grow_with_the_selectors(services: int) -> None:
    """Which selectors match a pod: those that share nothing with it are not looked at."""
    store: Store[Any] = Store(name="services", indexers=[selecting])
    store.replace(
        {"metadata": {"name": f"service-{number}", "namespace": "x"}, "spec": {"selector": {"app": f"app-{number}"}}}
        for number in range(services)
    )
    step = store.explain(selecting.matching({"app": "app-3", "tier": "tier-0"})).steps[0]
    assert (step.candidates, step.left) == (1, 1)
    assert work(lambda: store.select(selecting.matching({"app": "app-3"}))) < 3_000


def test_work_of_a_write_does_not_grow_with_followers_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower whose selector neither state of an object matches is not looked at."""
    monkeypatch.setattr("kindex.core._VALIDATE", False)
    store = filled(SMALL)
    pod = store.require("pod-00005", namespace="namespace-1")
    counted = []
    for followers in (1, 100):
        follow = [store.follow(label_selector=f"app=none-{number}", replay=False) for number in range(followers)]
        counted.append(work(lambda: store.put(Touched(pod))))
        for each in follow:
            each.close()
    assert counted[1] <= 1.1 * counted[0] + 20
