"""Ordered: what a follower is told has the order of the commits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kindex import Added, Deleted
from tests.promises.histories import SEEDS, recorded, tampered

if TYPE_CHECKING:
    from kindex import Delta
    from tests.pods import Pod
    from tests.promises.histories import History


def out_of_order(history: History) -> list[str]:
    """Find deltas that come after a later one: of the same key, or of any key where each commit is wanted.

    Two of one commit are in order only as a Deleted and an Added of one key.
    """
    problems = []
    for witness in history.witnesses:
        last: dict[object, Delta[Pod]] = {}
        newest = 0
        for delta in witness.deltas:
            before = last.get(delta.key)
            pair = isinstance(before, Deleted) and isinstance(delta, Added)
            if before is not None and (
                delta.revision < before.revision or (delta.revision == before.revision and not pair)
            ):
                problems.append(f"{witness.name}: {delta.key} at {before.revision}, then at {delta.revision}")
            if witness.each and delta.revision < newest:
                problems.append(f"{witness.name}: {delta.revision} after {newest}")
            last[delta.key] = delta
            newest = max(newest, delta.revision)
    return problems


@pytest.mark.parametrize("seed", SEEDS)
def test_deltas_are_ordered(seed: int) -> None:
    """Revisions of one key always grow; with overflow="close" those of all deltas never fall."""
    history = recorded(seed)
    assert out_of_order(history) == []
    assert all(witness.deltas for witness in history.witnesses)


def test_the_replay_comes_first() -> None:
    """What there was at the beginning is told before anything that happened since."""
    for witness in recorded(len(SEEDS)).witnesses:
        first = witness.deltas[0]
        replayed = [delta for delta in witness.deltas if delta.revision == first.revision]
        assert witness.deltas[: len(replayed)] == replayed
        assert {type(delta) for delta in replayed} == {Added}


def test_the_check_finds_what_is_out_of_order() -> None:
    """The control: two deltas of one key that change places are found, with every witness."""

    def swap(takes: list[list[Delta[Pod]]]) -> None:
        deltas = [delta for taken in takes for delta in taken]
        later = next(at for at, delta in enumerate(deltas) if delta.key == deltas[0].key and delta is not deltas[0])
        deltas[0], deltas[later] = deltas[later], deltas[0]
        takes[:] = [deltas]

    history = tampered(recorded(0), swap)
    assert {problem.partition(":")[0] for problem in out_of_order(history)} == {
        witness.name for witness in history.witnesses
    }
