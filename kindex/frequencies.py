"""Frequencies: how many values there are, told from how often those of a sample occur in it."""

from __future__ import annotations

from math import pow, sqrt  # noqa: A004 - of two floats this one is a float
from typing import TYPE_CHECKING, Self

import attrs

if TYPE_CHECKING:
    from collections.abc import Iterable


@attrs.frozen
class Frequencies:
    """How often the values of a sample occur in it.

    The sample is random, of the *share* q of a population, without replacement. No sample tells how many values are so
    rare that none of them was seen, so something must be taken for granted. By default that values differ in how
    frequent they are, by a law that fits those seen once, twice and thrice: near the truth for the labels of clusters,
    where a few workloads are large and most are small. With *even* that rare values are all as frequent as each other,
    which gives Chao and Lin's estimator for sampling without replacement: in expectation never too many.

    >>> each_its_own = Frequencies.of([1] * 50, share=0.1)
    >>> round(each_its_own.values()), round(each_its_own.singles())
    (500, 500)
    >>> Frequencies.of([25, 25], share=0.1).values()
    2.0
    """

    share: float
    seen: float
    draws: float
    once: float
    twice: float
    thrice: float

    @classmethod
    def of(cls, counts: Iterable[int], share: float) -> Self:
        """Count them."""
        seen = draws = 0
        few = [0, 0, 0, 0]
        for count in counts:
            seen += 1
            draws += count
            if count < len(few):
                few[count] += 1
        return cls(share, seen, draws, *few[1:])

    def values(self, *, even: bool = False) -> float:
        """Estimate the values of the population; never more than if each that was not seen had one object."""
        q, once = self.share, self.once
        if q >= 1 or not once:
            return float(self.seen)
        weight = self.draws / (self.draws - 1) if self.draws > 1 else 1.0
        fewest = once**2 / (2 * weight * self.twice + q / (1 - q) * once)
        if even:
            return self.seen + fewest
        law = self._law()
        return self.seen + max(fewest, min(law.unseen(q) - law.unseen(1.0), once * (1 / q - 1)))

    def singles(self, *, even: bool = False) -> float:
        """Estimate the values with a single object in the population, by a thinning argument.

        A sample is the population thinned out, and the law is one that stays what it is when thinned. So the law that
        fits the sample says how many values have one object in all.
        """
        q = self.share
        if q >= 1 or not self.once:
            return float(self.once)
        if not even:
            return min(self._law().singles(1.0), self.once / q)
        # With so many objects each, on average: if that is less than two, some have one and some have two.
        size = 1 + 2 * self.twice / self.once * (1 - q) / q
        return self.values(even=True) * max(0.0, 2 - size)

    def shaken(self) -> list[tuple[Self, Self]]:
        """Give pairs of what chance may have made of them: in each a count is one standard deviation off."""
        pairs = []
        for name in ("once", "twice", "thrice"):
            count = getattr(self, name)
            spread = sqrt(count + 1)
            low, high = (
                attrs.evolve(self, **{name: other}, seen=self.seen + other - count)
                for other in (max(0.0, count - spread), count + spread)
            )
            pairs.append((low, high))
        return pairs if self.share < 1 else []

    def _law(self) -> _Law:
        """Fit the law: how often values were seen twice against once, and thrice against twice, says all of it."""
        second = max(2 * self.twice / self.once, _ALMOST_NEVER)
        third = 3 * self.thrice / self.twice if self.twice else 0.0
        chance = min(max(third - second, second / _EVEN), _LARGEST_CHANCE)
        return _Law(self.share, self.once, chance, second / chance - 1)


_ALMOST_NEVER = 1e-9
_EVEN = 1e6  # the form of a law that is as good as a Poisson law: values of one frequency
_LARGEST_CHANCE = 0.98
_FLAT = 1e-6  # a form so small is that of the logarithmic law, to which the others tend


@attrs.frozen
class _Law:
    """A negative binomial law of how often a value occurs, where *once* values occur once in the *share* of all.

    In another share the chance is another, and the form is the same.
    """

    share: float
    once: float
    chance: float
    form: float

    def singles(self, share: float) -> float:
        """Give how many values are expected to occur once in another *share*."""
        odds, others = self._odds_in(self.share), self._odds_in(share)
        return self.once * others / odds * pow((1 + odds) / (1 + others), self.form + 1)

    def unseen(self, share: float) -> float:
        """Give how many values are expected not to occur in another *share*, up to a constant."""
        odds, others = self._odds_in(self.share), self._odds_in(share)
        form = self.form if abs(self.form) > _FLAT else _FLAT
        return self.once * (1 + odds) / (form * odds) * pow((1 + odds) / (1 + others), form)

    def _odds_in(self, share: float) -> float:
        return self.chance / (1 - self.chance) / self.share * share
