"""The noise of many statistical queries, chosen one after another: on one sample, or on a fresh block for each.

Theorem.  Let every query be summed on the lattice of discreet.queries.statistical: one row moves a sum by at most

    s = R k   under AddRemove, where a unit has at most k rows,     s = 2 R   under Replace (n public, one row a unit).

Where n is private it is released too, as one more sum.  Answering m adaptive queries is

    shared   epsilon-DP with Laplace noise of scale (m + [n private]) s / epsilon on each sum,
             rho-zCDP with Gaussian noise of variance (m + [n private]) s^2 / (2 rho);
    split    the same with 1 + [n private] for m + [n private], when query j reads block j of the rows only: blocks by
             position under Replace, by independent uniform choices under AddRemove.

With probability 1 - beta every answer is within `tolerance` of the mean.  Queries in [-1, 1] chosen after earlier
answers generalise (Jung and others 2020): if the answers are (epsilon, delta)-DP under Replace and within a of the
means over n independent rows with probability 1 - b, then for all c, g > 0 they are within
a + 2 c + 2 (e^epsilon - 1) + 2 g of the means over the population with probability 1 - b / c - 2 delta / g.
Proof: docs/theory/statistical_queries.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.composition.filter import largest_rho
from discreet.errors import UnsupportedError, require
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event, RepeatedEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import AddRemove, Neighbours, Replace
from discreet.privacy.number import exact
from discreet.queries.statistical import RESOLUTION, Tolerance
from discreet.release.noise import Noise, noise_for, variance

Method = Literal["shared", "split"]


@dataclass(frozen=True, kw_only=True, slots=True)
class StatisticalNoise:
    """What is added to the sum of each query.

    >>> noise = StatisticalNoise(queries=10, budget=PureDP(1.0), method="shared", n=1000)
    >>> noise.mechanism.scale == 10 * 2 * RESOLUTION, noise.privacy()
    (True, PureDP(epsilon=1.0))
    >>> round(noise.tolerance(0.05, n=1000).noise, 4)
    0.1055
    """

    queries: int
    budget: Guarantee
    method: Method
    n: int | None
    rows_per_unit: int = 1

    def __post_init__(self) -> None:
        for name, least in (("queries", 1), ("rows_per_unit", 1), ("n", 1)):
            value = getattr(self, name)
            whole = isinstance(value, int) and not isinstance(value, bool) and value >= least
            require(whole or (name == "n" and value is None), f"an integer {name} >= {least}", **{name: value})
        require(self.method in ("shared", "split"), "method 'shared' or 'split'", method=self.method)
        if not isinstance(self.budget, PureDP | ApproxDP | ZCDP):
            raise UnsupportedError(f"the oracle is paid in PureDP, ApproxDP or ZCDP, got {type(self.budget).__name__}")
        amount = self.budget.rho if isinstance(self.budget, ZCDP) else self.budget.epsilon
        require(exact(amount) > 0, "a budget above 0", budget=self.budget)
        if self.budget.neighbours not in (None, self.neighbours):
            raise UnsupportedError(
                f"n {'omitted: AddRemove' if self.n is None else 'given: Replace'}, but the budget is under"
                f" {self.budget.neighbours.__name__}"
            )
        if self.n is not None and self.rows_per_unit > 1:
            raise UnsupportedError("with several rows a unit the number of rows is private: leave n out")
        require(self.n is None or self.block(self.n) >= 1, "at least one row a query", n=self.n, queries=self.queries)

    @property
    def neighbours(self) -> type[Neighbours]:
        """Replace where n is public, AddRemove where it is not."""
        return AddRemove if self.n is None else Replace

    @property
    def releases(self) -> int:
        """How many noisy sums share the budget."""
        return (self.queries if self.method == "shared" else 1) + (self.n is None)

    @property
    def sensitivity(self) -> int:
        """What a step changes in one sum."""
        return RESOLUTION * (self.rows_per_unit if self.n is None else 2)

    @property
    def mechanism(self) -> Noise:
        """The noise of one sum."""
        return _mechanism(self.budget, self.releases, self.sensitivity)

    def privacy(self) -> Guarantee:
        """What all answers together promise: the budget, under the relation that n decides."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What runs; blocks are disjoint, so one of them is the whole."""
        return RepeatedEvent(event=self.mechanism.event(), count=self.releases)

    def block(self, n: int) -> int:
        """The least number of rows that a query reads."""
        return n if self.method == "shared" else n // self.queries

    def accuracy(self, beta: float) -> float:
        """Bounds the noise of every sum that is drawn, in rows, with probability 1 - beta."""
        counts = (1 if self.method == "shared" else self.queries) if self.n is None else 0
        return self.mechanism.accuracy(beta, size=self.queries + counts) / RESOLUTION

    def tolerance(self, beta: float, *, n: float) -> Tolerance:
        """For n rows a query reads: their number if it is public, else the least noisy one."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        noise = self._noise(beta, n)
        if self.rows_per_unit > 1:  # the rows of a unit are not independent: nothing is said of the population
            return Tolerance(noise=noise, population=2.0, adaptive=2.0)
        population = min(2.0, self._noise(beta / 2, n) + self._sampling(beta / 2, n))
        adaptive = population if self.method == "split" else min(2.0, self._adaptive(beta, n))
        return Tolerance(noise=noise, population=population, adaptive=adaptive)

    def _noise(self, beta: float, n: float) -> float:
        alpha = self.accuracy(beta)
        noises = alpha if self.n is not None else 2 * alpha  # |z - mean w| / n, with noise w on the count
        return min(2.0, noises / n + 0.5 / RESOLUTION) if n > alpha else 2.0

    def _sampling(self, beta: float, n: float) -> float:
        least = n if self.n is not None else n - self.accuracy(beta)  # the event of `_noise`
        return math.sqrt(2 * math.log(2 * self.queries / beta) / least) if least >= 1 else 2.0

    def _adaptive(self, beta: float, n: float) -> float:
        """The least of the theorem over a grid of its free numbers."""
        share, apart = _generalisation(self.privacy(), beta)
        grid = (10 ** (-power / 4) for power in range(4, 49))
        return apart + min(self._noise(share * c, n) + 2 * c for c in grid)


@lru_cache(maxsize=256)
def _generalisation(promise: Guarantee, beta: float) -> tuple[float, float]:
    """What is left of beta for the noise, and the least 2 (e^epsilon - 1) + 2 g, 2 delta / g being the rest of it."""
    swapped = promise.to_replace()
    if isinstance(swapped, PureDP):
        return beta, 2 * math.expm1(min(700.0, float(exact(swapped.epsilon))))
    found = [math.inf]
    for delta in (beta * 10.0**-power for power in range(2, 16)):
        if not isinstance(swapped, ApproxDP) or exact(swapped.delta) <= exact(delta):
            epsilon = min(700.0, float(exact(swapped.to_approx(delta).epsilon)))
            found.append(2 * (math.expm1(epsilon) + 4 * delta / beta))
    return beta / 2, min(found)


@lru_cache(maxsize=256)
def _mechanism(budget: Guarantee, share: int, step: int) -> Noise:
    """The noise of one of `share` sums that a row moves by `step`."""
    if isinstance(budget, ZCDP):
        return _gaussian(exact(budget.rho), share, step)
    assert isinstance(budget, PureDP | ApproxDP)
    laplace = Laplace(epsilon=exact(budget.epsilon) / share, sensitivity=step)
    if isinstance(budget, PureDP) or exact(budget.delta) == 0:
        return laplace
    gaussian = _gaussian(largest_rho(exact(budget.epsilon), exact(budget.delta)), share, step)
    return laplace if variance(laplace) <= variance(gaussian) else gaussian


def _gaussian(rho: Fraction, share: int, step: int) -> Noise:
    return noise_for(ZCDP(rho / share), absolute=step, square=step**2, size=1)
