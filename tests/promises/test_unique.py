"""Unique: nothing is told twice."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.promises.histories import SEEDS, recorded, tampered

if TYPE_CHECKING:
    from kindex import Delta
    from tests.pods import Pod
    from tests.promises.histories import History


def told_twice(history: History) -> list[str]:
    """Find deltas that a follower got more than once: those of one kind, key and revision."""
    problems = []
    for witness in history.witnesses:
        times = Counter((type(delta).__name__, delta.key, delta.revision) for delta in witness.deltas)
        problems += [f"{witness.name}: {delta}" for delta, count in times.items() if count > 1]
    return problems


@pytest.mark.parametrize("seed", SEEDS)
def test_deltas_are_unique(seed: int) -> None:
    """No follower gets a delta twice, whoever wakes it and however often."""
    assert told_twice(recorded(seed)) == []


def test_each_commit_is_told_once_to_those_who_want_each() -> None:
    """With overflow="close" there are as many deltas as objects changed, commit by commit."""
    history = recorded(len(SEEDS))
    for witness in history.witnesses:
        if not witness.each:
            continue
        told: Counter[int] = Counter()
        for delta in witness.deltas:
            told[delta.revision] += 1
        first = witness.deltas[0].revision
        for revision in range(first + 1, max(history.states) + 1):
            before, after = history.wanted(witness, revision - 1), history.wanted(witness, revision)
            changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
            assert len(changed) <= told[revision] <= 2 * len(changed), (witness.name, revision)


def test_the_check_finds_what_is_told_twice() -> None:
    """The control: a delta that is told again much later is found, with every witness."""

    def repeat(takes: list[list[Delta[Pod]]]) -> None:
        takes.append([takes[0][0]])

    history = tampered(recorded(0), repeat)
    assert len(told_twice(history)) == len(history.witnesses)
