"""Atomic: what one commit did is told as a whole; after taking all, a follower knows one state of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.promises.histories import LEFT, RIGHT, SEEDS, State, known, learn, recorded, tampered

if TYPE_CHECKING:
    from kindex import Delta
    from tests.pods import Pod
    from tests.promises.histories import History


def torn(history: History) -> list[str]:
    """Find takes after which a follower knows no state that the store ever had, or one from before the last take's.

    A pair that is only ever written together is looked at by itself, so that it is plain what was seen apart.
    """
    problems = []
    for witness in history.witnesses:
        if witness.name.endswith("one"):
            continue  # it takes halves on purpose
        seen: State = {}
        at = 0
        last = max(history.states)
        for number, taken in enumerate(witness.takes):
            for delta in taken:
                learn(seen, delta)
            numbers = {seen[key]["metadata"]["labels"]["number"] for key in (LEFT, RIGHT) if key in seen}
            if len(numbers) > 1 or (LEFT in seen) is not (RIGHT in seen):
                problems.append(f"{witness.name}: the pair apart after take {number}")
            now = known(seen)
            reached = next((r for r in range(at, last + 1) if r and now == history.wanted(witness, r)), None)
            if reached is None:
                problems.append(f"{witness.name}: no state after take {number}")
            else:
                at = reached
    return problems


def split_commits(history: History) -> list[str]:
    """Find commits of which a follower who wants each got a part in one take and the rest in another."""
    problems = []
    for witness in history.witnesses:
        if witness.each and not witness.name.endswith("one"):
            for before, after in zip(witness.takes, witness.takes[1:], strict=False):
                if before and after and before[-1].revision >= after[0].revision:
                    problems.append(f"{witness.name}: {after[0].revision} in two takes")
    return problems


@pytest.mark.parametrize("seed", SEEDS)
def test_commits_are_told_whole(seed: int) -> None:
    """After each take() the follower knows a state that the store had, and never an older one than before."""
    history = recorded(seed)
    assert torn(history) == []
    assert split_commits(history) == []


def test_the_check_finds_what_is_torn() -> None:
    """The control: a commit that is told in two halves is found."""

    def tear(takes: list[list[Delta[Pod]]]) -> None:
        for number, taken in enumerate(takes):
            both = {delta.key: place for place, delta in enumerate(taken) if delta.key in (LEFT, RIGHT)}
            if len(both) == 2:
                half = max(both.values())
                takes[number : number + 1] = [taken[:half], taken[half:]]
                return

    history = tampered(recorded(0), tear)
    found = torn(history)
    assert {problem.partition(":")[0] for problem in found} >= {"all", "web", "each", "each web"}
    assert any("the pair apart" in problem for problem in found)
    assert split_commits(history) != []
