"""Frequencies: how many values a population has, told from a sample."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from kindex.frequencies import Frequencies


def _told(population: list[int], share: float, seed: int) -> Frequencies:
    sample = Random(seed).sample(population, round(share * len(population)))  # noqa: S311 - no secret
    return Frequencies.of(Counter(sample).values(), share)


def _population(sizes: list[int]) -> list[int]:
    return [value for value, size in enumerate(sizes) for _ in range(size)]


def test_all_objects_tell_all() -> None:
    """Nothing is estimated when everything was seen."""
    counts = [1, 1, 2, 3, 3, 9]
    for even in (False, True):
        told = Frequencies.of(counts, 1.0)
        assert (told.values(even=even), told.singles(even=even)) == (6, 2)
        assert (told.seen, told.draws) == (6, 19)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("even", [False, True])
def test_values_of_their_own_are_told_exactly(share: float, even: bool) -> None:
    """Where each object has its own value, there are as many values as objects, all of them singles."""
    told = _told(list(range(10_000)), share, seed=1)
    assert told.values(even=even) == pytest.approx(10_000, rel=1e-3)
    assert told.singles(even=even) == pytest.approx(10_000, rel=1e-3)


def test_nothing_is_told_of_nothing() -> None:
    """A sample without values tells of no values."""
    for even in (False, True):
        nothing = Frequencies.of([], 0.1)
        assert (nothing.values(even=even), nothing.singles(even=even)) == (0, 0)


def test_values_that_were_all_seen_often_are_all() -> None:
    """When nothing was seen once, nothing was missed."""
    told = Frequencies.of([40, 25, 31], 0.1)
    assert (told.values(), told.values(even=True), told.singles()) == (3, 3, 0)


def test_chao_and_lin_never_tell_of_too_many_on_average() -> None:
    """The estimate from below is not above the truth, on average, however uneven the values are."""
    sizes = [1] * 400 + [2] * 200 + [10] * 50 + [300] * 3
    population = _population(sizes)
    found = [_told(population, 0.1, seed).values(even=True) for seed in range(40)]
    assert 0.5 * len(sizes) < sum(found) / len(found) < len(sizes)


def test_the_law_tells_of_uneven_values_what_even_ones_hide() -> None:
    """For workloads of all sizes the law is nearer to the truth than the estimate from below, and within a quarter."""
    sizes = [max(1, int(400 / rank)) for rank in range(1, 1200)]
    population = _population(sizes)
    told = [_told(population, 0.2, seed) for seed in range(20)]
    by_law = sum(each.values() for each in told) / 20
    from_below = sum(each.values(even=True) for each in told) / 20
    assert abs(by_law - len(sizes)) < 0.25 * len(sizes)
    assert abs(by_law - len(sizes)) < abs(from_below - len(sizes))
    singles = sizes.count(1)
    assert abs(sum(each.singles() for each in told) / 20 - singles) < 0.35 * singles


@pytest.mark.parametrize("seed", range(5))
def test_even_values_have_no_singles(seed: int) -> None:
    """A thousand values of 150 objects each are not taken for singles because most were seen a few times only."""
    told = _told(_population([150] * 1_000), 3_333 / 150_000, seed)
    assert told.values(even=True) == pytest.approx(1_000, rel=0.05)
    assert told.values() == pytest.approx(1_000, rel=0.1)
    assert told.singles() < 20


def test_there_are_never_more_than_chance_may_hide() -> None:
    """However few were seen twice, unseen values are bounded as if each had one object."""
    for counts in ([1] * 30 + [2] + [3] * 9, [1] * 5 + [3] * 50, [1], [1, 2], [1, 1, 2, 3, 3, 3]):
        told = Frequencies.of(counts, 0.05)
        assert told.seen <= told.values(even=True) <= told.values() <= told.seen + told.once * 19 + 1e-9
        assert 0 <= told.singles() <= told.once * 20


def test_chance_is_shaken_one_count_at_a_time() -> None:
    """What chance may have made of a sample differs in one count, and in how many were seen."""
    told = Frequencies.of([1] * 15 + [2] * 8 + [3, 7], 0.1)
    for low, high in told.shaken():
        assert low.seen - told.seen == low.once + low.twice + low.thrice - 24
        assert low.seen < told.seen < high.seen
    assert Frequencies.of([1, 2], 1.0).shaken() == []
