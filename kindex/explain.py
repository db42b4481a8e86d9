"""Plan: how a query was answered, to read and to assert on."""

from __future__ import annotations

from typing import Any

import attrs

from kindex.budgets import Drop


@attrs.frozen
class PlanStep:
    """One step of a plan.

    Attributes:
        kind: ``"index"`` narrows by an index, ``"subtract"`` takes away what an index gives, ``"add"`` gives a snapshot
            what has changed since, ``"check"`` tests each object that is left, ``"where"`` runs the caller's predicate
            on it.
        what: the requirement or term.
        index: the name of the index that answered it; empty for a check.
        estimate: how many objects it was expected to leave at most; for ``"subtract"``, to take away at most; for a
            check and ``where``, how many it looked at.
        left: how many objects were left after it.
        candidates: how many selectors were looked at, for a term of a SelectorIndexer.
        evaluated: in how many of these a requirement was left to evaluate.

    >>> from kindex import LabelIndexer, Store
    >>> pods = Store(name="pods", indexers=[LabelIndexer("app")])
    >>> _ = pods.put({"metadata": {"name": "a", "namespace": "x", "labels": {"app": "web"}}})
    >>> (step,) = pods.explain(label_selector="app=web").steps
    >>> step.kind, step.what, step.index, step.left
    ('index', 'app=web', 'app', 1)
    """

    kind: str
    what: str
    index: str
    estimate: int
    left: int
    candidates: int = 0
    evaluated: int = 0


@attrs.frozen
class Plan:
    """How a query was answered: ``print(plan)`` for a person, the attributes for asserts.

    Attributes:
        store: the name of the store.
        objects: how many objects it held.
        steps: what was done, in the order in which it was done; none when every object was asked for.
        scanned: on how many objects a selector was evaluated, since no index answered it.
        returned: how many objects answered the query.
        scans: whether that was a scan: more than 64 objects looked at, and more than four times those that the
            selector let through.
        dropped: the indexes that would have answered, had they not broken a budget: which, when and why.

    >>> from kindex import Store
    >>> plan = Store(name="pods").explain(label_selector="app=web")
    >>> plan.scans, plan.to_dict()["returned"]
    (False, 0)
    """

    store: str
    objects: int
    steps: tuple[PlanStep, ...]
    scanned: int
    returned: int
    scans: bool
    dropped: tuple[Drop, ...] = ()

    def to_dict(self) -> dict[str, Any]:  # Any: JSON
        """Give the plan as plain data, for JSON."""
        return attrs.asdict(self)

    def __str__(self) -> str:
        lines = [f"{self.returned:,} of {self.objects:,} objects in store {self.store!r}"]
        for number, step in enumerate(self.steps, 1):
            index = f"  [index {step.index}]" if step.index else ""
            lines.append(f"  {number}. {_VERBS[step.kind]} {step.what}{index}: {_estimated(step)}, {step.left:,} left")
        if not self.steps:
            lines.append("  every object, as asked")
        lines.append(f"  {self._verdict()}")
        lines += [f"  {drop}" for drop in self.dropped]
        return "\n".join(lines)

    def _verdict(self) -> str:
        if self.scans:
            unanswered = ", ".join(step.what for step in self.steps if step.kind == "check")
            return f"a scan: looked at {self.scanned:,} objects; no index answers {unanswered}"
        return f"no scan: a selector was evaluated on {self.scanned:,} objects"


_VERBS = {"index": "take", "subtract": "keep", "add": "add", "check": "check", "where": "where"}


def _estimated(step: PlanStep) -> str:
    if step.kind in ("check", "where"):
        return f"{step.estimate:,} looked at"
    looked_at = f"{step.candidates:,} candidates, {step.evaluated:,} evaluated, " if step.candidates else ""
    return f"{looked_at}at most {step.estimate:,}{' fewer' if step.kind == 'subtract' else ''}"
