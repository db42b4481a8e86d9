"""Reliable: nothing is lost; what was told makes the state that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.promises.histories import SEEDS, State, known, learn, recorded, tampered

if TYPE_CHECKING:
    from kindex import Delta
    from tests.pods import Pod
    from tests.promises.histories import History, Witness


def lost(history: History) -> list[str]:
    """Find what a follower was not told: an old object that it had not seen, a state that it did not go through."""
    problems = []
    for witness in history.witnesses:
        problems += [f"{witness.name}: {problem}" for problem in _lost_by(history, witness)]
    return problems


def _lost_by(history: History, witness: Witness) -> list[str]:
    seen: State = {}
    problems = []
    at = witness.deltas[0].revision
    for delta in witness.deltas:
        if witness.each:
            problems += [f"at {r}" for r in range(at, delta.revision) if known(seen) != history.wanted(witness, r)]
        if delta.old is not seen.get(delta.key):
            problems.append(f"{delta.key} at {delta.revision} was another")
        there = history.states[delta.revision].get(delta.key)
        if delta.new is not None and delta.new is not there:
            problems.append(f"{delta.key} was not so at {delta.revision}")
        learn(seen, delta)
        at = delta.revision
    if known(seen) != history.wanted(witness, max(history.states)):
        problems.append("in the end")
    return problems


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_is_lost(seed: int) -> None:
    """Each old object is the one last seen, each new one was there, and in the end all is known.

    With overflow="close" so is each state in between.
    """
    assert lost(recorded(seed)) == []


@pytest.mark.parametrize("at", [1, -2])
def test_the_check_finds_what_was_lost(at: int) -> None:
    """The control: a testimony without one of its deltas is found, with every witness."""

    def forget(takes: list[list[Delta[Pod]]]) -> None:
        deltas = [delta for taken in takes for delta in taken]
        del deltas[at]
        takes[:] = [deltas]

    history = tampered(recorded(0), forget)
    assert {problem.partition(":")[0] for problem in lost(history)} == {witness.name for witness in history.witnesses}
