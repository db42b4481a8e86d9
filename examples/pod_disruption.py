"""How many pods each PodDisruptionBudget lets go now.

A pod changes: whose budget is it? ``SelectorIndexer`` over the budgets answers, for selector objects, where empty
selects every pod of the namespace and null none.

What this cannot promise: it counts the pods that there are, where Kubernetes' controller asks the owners of the pods
how many there should be, for a budget in percent or with ``maxUnavailable``. It does not know which evictions are
under way.

    python -m examples.pod_disruption --file examples/manifests.yaml
    python -m examples.pod_disruption --kubeconfig ~/.kube/config
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, NamedTuple

from examples.endpoints import is_ready, is_terminating, selected_by_scan
from examples.running import Kind, Results, Views, controller_main
from kindex import Budget, Delta, JsonPath, LabelIndexer, LabelSelector, ObjectKey, SelectorIndexer
from kindex.errors import SelectorObjectError
from kindex.objects import key_of

selecting = SelectorIndexer("spec.selector", form="object", on_error="skip")
by_labels = LabelIndexer.all(budget=Budget("1GiB"))


class Disruption(NamedTuple):
    """The status of a budget, in the words of the API."""

    expected_pods: int
    current_healthy: int
    desired_healthy: int
    disruptions_allowed: int

    def __str__(self) -> str:
        healthy = f"{self.current_healthy} of {self.expected_pods} are healthy, {self.desired_healthy} must be"
        return f"{self.disruptions_allowed} may go; {healthy}"


class PodDisruptionController:
    """Tell how many pods each disruption budget lets go, as budgets and pods change."""

    kinds: ClassVar[tuple[Kind, ...]] = (
        Kind("policy/v1", "PodDisruptionBudget", (selecting,)),
        Kind("v1", "Pod", (by_labels,)),
    )

    def __init__(self, views: Views, tell: Callable[[str], object]) -> None:
        self.budgets, self.pods = views["PodDisruptionBudget"], views["Pod"]
        self.results = Results(tell)

    def handle(self, kind: str, delta: Delta[Any]) -> None:
        """Look again at a budget that changed, and at all that a pod which changed counts or counted for."""
        if kind == "PodDisruptionBudget":
            self.settle(delta.key)
            return
        for key in self.budgets.keys(selecting.matching_either(delta.old, delta.new), namespace=delta.key.namespace):
            self.settle(key)

    def settle(self, key: ObjectKey) -> None:
        """Count for one budget."""
        budget = self.budgets.get(key)
        selector = None if budget is None else selector_of(budget)
        if selector is None:
            self.results.drop(key)
            return
        pods = self.pods.select(namespace=key.namespace, label_selector=selector)
        self.results.put(key, disruption_of(budget, pods), wrong=wrong_with(budget))


def selector_of(budget: object) -> LabelSelector | None:
    """Read the selector of a budget; None where the API would refuse it."""
    try:
        return LabelSelector.from_object(_selector.first(budget))
    except SelectorObjectError:  # the index has said so
        return None


def disruption_of(budget: object, pods: Iterable[object]) -> Disruption:
    """Count the pods that a budget selects. One that cannot be read, or has no pods yet, lets none go."""
    every = list(pods)
    expected, healthy = len(every), sum(is_ready(pod) and not is_terminating(pod) for pod in every)
    least, most = _least.first(budget), _most.first(budget)
    desired = 0
    if most is not None:
        missing = count_of(most, expected)
        desired = expected if missing is None else max(0, expected - missing)
    elif least is not None:
        wanted = count_of(least, expected)
        desired = expected if wanted is None else wanted
    allowed = max(0, healthy - desired) if expected and not wrong_with(budget) else 0
    return Disruption(expected, healthy, desired, allowed)


def count_of(value: object, of: int) -> int | None:
    """Read a number of pods, or a percentage of them, which is rounded up; None if it is neither.

    >>> count_of(2, 10), count_of("25%", 10), count_of("2", 10)
    (2, 3, None)
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    percent = re.fullmatch(r"([0-9]+)%", value) if isinstance(value, str) else None
    return None if percent is None else -(-int(percent[1]) * of // 100)


def wrong_with(budget: object) -> str:
    """Say what is wrong with the numbers of a budget, or nothing."""
    given = {"minAvailable": _least.first(budget), "maxUnavailable": _most.first(budget)}
    bad = [f"{name}: {value!r}" for name, value in given.items() if value is not None and count_of(value, 1) is None]
    if bad:
        return f"{bad[0]} is neither a number nor a percentage, so no pod may go"
    return "has both minAvailable and maxUnavailable, so no pod may go" if None not in given.values() else ""


def scan(budgets: Iterable[object], pods: Iterable[object]) -> dict[ObjectKey, Disruption]:
    """Count for all budgets by walking everything: what the controller must agree with."""
    found, everything = {}, list(pods)
    for budget in budgets:
        selector, key = selector_of(budget), key_of(budget)
        if selector is not None:
            found[key] = disruption_of(budget, selected_by_scan(selector, key.namespace, everything))
    return found


_path = JsonPath.parse
_selector, _least, _most = _path("spec.selector"), _path("spec.minAvailable"), _path("spec.maxUnavailable")

if __name__ == "__main__":
    controller_main(PodDisruptionController)
