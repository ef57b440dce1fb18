"""Randomized response: tell the truth with a known probability.

Theorem (Warner 1965).  Report the true one of k categories with probability
p = e^epsilon / (e^epsilon + k - 1), and each other one with probability q = (1 - p) / (k - 1).
The report is epsilon-DP in the local model, and no smaller epsilon will do; with a given p between
1 / k and 1 its loss is ln(p / q), and a claim below it is refused.  From n reports,

    (share of reports of category c - q) / (p - q)

estimates the true share without bias; for bits it is off by more than
sqrt(ln(2 / beta) / (2 n)) / (2 p - 1) with probability at most beta (Hoeffding), and its
variance is p (1 - p) / (n (2 p - 1)^2) whatever the bits.  A coin with p = (1 + epsilon) / 2,
as some notes have it, is ln((1 + epsilon) / (1 - epsilon))-DP, which is above 2 epsilon.
Proof: docs/theory/randomized_response.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.hazmat.bad_values import listed, nearest_of
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import Bounds, exp_bounds
from discreet.hazmat.integers import integers, shape_of
from discreet.hazmat.samplers import bernoulli, coin, uniform_below
from discreet.privacy.enclosure import log_up
from discreet.privacy.event import Event, PureEvent, RandomizedResponseEvent
from discreet.privacy.exact_sums import whole
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Local
from discreet.privacy.number import Number, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.integers import Integers, Shape

    Floats = npt.NDArray[np.float64]

ENUMERATE = 400  # users; up to here the exact error bound tries every number of ones


@dataclass(frozen=True, kw_only=True, slots=True)
class RandomizedResponse:
    """Report bits (or categories 0 .. categories - 1), each its owner's only record.

    >>> response = RandomizedResponse(epsilon=1)
    >>> response(1) in (0, 1)
    True
    >>> response.privacy()
    PureDP(epsilon=1.0)
    >>> float(round(response.estimate([1] * 70 + [0] * 30), 3))
    0.933
    >>> round(response.error(10_000), 4)
    0.0294
    """

    epsilon: Number
    categories: int = 2
    given_truth: Number | None = None

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        whole = isinstance(self.categories, int) and not isinstance(self.categories, bool)
        require(whole and self.categories >= 2, "an integer categories >= 2", categories=self.categories)
        if self.given_truth is not None:
            least = _epsilon(_truth(self.given_truth, self.categories), self.categories)
            enough = exact(self.epsilon) >= least
            require(enough, "epsilon of the truth probability", epsilon=self.epsilon, truth=self.given_truth)

    @classmethod
    def with_truth_probability(cls, p: Number, *, categories: int = 2) -> RandomizedResponse:
        """The coin that tells the truth with probability p; epsilon = ln(p (k - 1) / (1 - p)), rounded up.

        >>> RandomizedResponse.with_truth_probability(0.75).epsilon  # ln 3
        1.0986122886681098
        """
        whole = isinstance(categories, int) and not isinstance(categories, bool)
        require(whole and categories >= 2, "an integer categories >= 2", categories=categories)
        return cls(epsilon=up(_epsilon(_truth(p, categories), categories)), categories=categories, given_truth=p)

    @property
    def truth(self) -> float:
        """p, the probability of a true report, as a float."""
        if self.given_truth is not None:
            return float(exact(self.given_truth))
        return 1 / (1 + (self.categories - 1) * math.exp(-float(min(exact(self.epsilon), Fraction(800)))))

    @property
    def gap(self) -> float:
        """p - q, without cancellation: how much of the signal is left."""
        if self.given_truth is not None:
            p = exact(self.given_truth)
            return float(p - (1 - p) / (self.categories - 1))
        small = -math.expm1(-float(min(exact(self.epsilon), Fraction(800))))  # 1 - e^-epsilon
        return small / (self.categories - (self.categories - 1) * small)

    def __call__(self, value: Integers, *, rng: RandomSource | None = None) -> Integers:
        """The reports: an int for an int or bool, an array for an array; of a category that is not there, the nearest.

        A call that failed would tell that somebody holds such a one.
        """
        import numpy as np

        if isinstance(value, bool | np.bool_):
            value = int(value)
        if isinstance(value, np.ndarray) and value.dtype == bool:
            value = value.astype(np.int64)
        if isinstance(value, list | tuple):  # each by itself: a NULL among truth values makes no failure of the others
            value = listed(value)
            truths = [i for i, one in enumerate(value.flat) if isinstance(one, bool | np.bool_)]
            value.flat[truths] = [int(value.flat[i]) for i in truths]
        whole = integers(value)
        inside = nearest_of(whole if not isinstance(whole, int) else [whole], size=self.categories)
        return self._report(int(inside[0]) if isinstance(whole, int) else inside, source(rng))

    def _report(self, whole: Integers, random: RandomSource) -> Integers:
        shape = shape_of(whole)
        lie = self._lies(shape, random)
        other = uniform_below(self.categories - 1, shape=shape, rng=random) + 1 if self.categories > 2 else 1
        if isinstance(whole, int):
            return (whole + other) % self.categories if lie else whole
        return (whole + lie * other) % self.categories  # a lie is uniform on the other categories

    def _lies(self, shape: Shape, random: RandomSource) -> bool | npt.NDArray[np.bool_]:
        """True with probability 1 - p, exactly."""
        if self.given_truth is not None:
            return bernoulli(1 - exact(self.given_truth), shape=shape, rng=random)
        rate, others = exact(self.epsilon), self.categories - 1

        def bounds(bits: int) -> Bounds:  # (k - 1) a / (1 + (k - 1) a) increases with a = e^-epsilon
            low, high = exp_bounds(rate, bits + 2)
            one = 1 << (bits + 2)
            return (others * low << bits) // (one + others * low), -((-others * high << bits) // (one + others * high))

        return coin(bounds, shape, random)

    def estimate(self, reports: npt.ArrayLike) -> float | Floats:
        """The unbiased estimate: of the mean for bits, of the share of each category otherwise."""
        import numpy as np

        given = np.asarray(reports).ravel()
        require(given.size >= 1, "at least one report", reports=given.size)
        seen = whole(given.astype(np.int64) if given.dtype == bool else given)
        inside = int(seen.min()) >= 0 and int(seen.max()) < self.categories
        require(inside, f"reports from 0 to {self.categories - 1}", least=int(seen.min()), most=int(seen.max()))
        lie = (1 - self.truth) / (self.categories - 1)
        shares = (np.bincount(seen, minlength=self.categories) / seen.size - lie) / self.gap
        return float(shares[1]) if self.categories == 2 else shares

    def error(self, n: int, beta: float = 0.05) -> float:
        """alpha with Pr[|estimate - truth| > alpha] <= beta for n users, whatever they hold; per category.

        Hoeffding's bound, and for bits and n <= 400 the exact quantile for the worst data if that is less.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(isinstance(n, int) and n >= 1, "an integer n >= 1", n=n)
        hoeffding = math.sqrt(math.log(2 / beta) / (2 * n)) / self.gap
        if self.categories > 2 or n > ENUMERATE:
            return hoeffding
        return min(hoeffding, max(self._quantile(ones, n - ones, beta) for ones in range(n + 1)))

    def yes_count(self, ones: int, zeros: int) -> Floats:
        """The law of the number of reported ones, given the true bits: Bin(ones, p) + Bin(zeros, 1 - p)."""
        import numpy as np
        from scipy.stats import binom

        require(self.categories == 2, "categories = 2", categories=self.categories)
        yes = binom.pmf(np.arange(ones + 1), ones, self.truth)
        return np.convolve(yes, binom.pmf(np.arange(zeros + 1), zeros, 1 - self.truth))

    def _quantile(self, ones: int, zeros: int, beta: float) -> float:
        """The least alpha with Pr[|estimate - mean| > alpha] <= beta for these bits."""
        import numpy as np

        law, n = self.yes_count(ones, zeros), ones + zeros
        off = np.abs((np.arange(n + 1) / n - (1 - self.truth)) / self.gap - ones / n)
        order = np.argsort(off)
        above = np.append(np.cumsum(law[order][::-1])[::-1][1:], 0.0)  # the mass farther out
        return float(off[order][np.argmax(above <= beta)]) * (1 + 1e-12)

    def privacy(self) -> PureDP:
        """epsilon, for one user's record."""
        return PureDP(self.epsilon, neighbours=Local)

    def accuracy(self, beta: float = 0.05, *, size: int = 1) -> int:
        """0 if all of `size` reports are true with probability 1 - beta, else 1: a report is right or wrong.

        For the estimate see `error`.
        """
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        require(size >= 1, "size >= 1", size=size)
        return 0 if -math.expm1(size * math.log(self.truth)) <= beta else 1

    def event(self) -> Event:
        """What ran, for the accountant."""
        pure = self.categories > 2 or self.given_truth is not None
        return PureEvent(epsilon=self.epsilon) if pure else RandomizedResponseEvent(epsilon=self.epsilon)


def _truth(p: Number, categories: int) -> Fraction:
    """The truth probability of a coin that favours the truth: one that favours lies has another loss and no use."""
    value = exact(p)
    require(Fraction(1, categories) < value < 1, "1 / categories < p < 1", p=p, categories=categories)
    return value


def _epsilon(p: Fraction, categories: int) -> Fraction:
    """|ln(p (k - 1) / (1 - p))|, from above: the loss whichever report the coin favours."""
    ratio = p * (categories - 1) / (1 - p)
    return log_up(max(ratio, 1 / ratio))
