"""The ladder mechanism: an integer released by how many steps of the data would reach it.

Theorem (Zhang, Cormode, Procopiuc, Srivastava, Xiao 2015).  Let f be an integer with local
sensitivity LS, and I_0, I_1, ... a ladder: I_0(x) >= LS(x), I_t(x) <= I_(t+1)(x') for neighbours
x ~ x', and all I_t <= most.  Let u_t = I_0 + ... + I_(t-1).  The rung of an integer y is the
least t with |y - f(x)| <= u_t.  Releasing y with

    Pr[y] proportional to exp(-epsilon rung(y) / 2)

is epsilon-DP, and epsilon^2 / 8 - zCDP: rungs move by at most one between neighbours, and this is the
exponential mechanism.  Local sensitivities at distance t are the least ladder.
Proof, and the exact sampler: docs/theory/ladder.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING

from discreet.errors import ParameterError, require
from discreet.hazmat.entropy import RandomSource, source
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.samplers import uniform_below
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WORD = 64  # bits of a uniform drawn at a time
RUNGS = 1 << 17  # at most: they grow as 1 / epsilon, and each takes microseconds


@dataclass(frozen=True, kw_only=True, slots=True)
class Ladder:
    """Release an integer, given its ladder as a function of the distance.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> ladder = Ladder(epsilon=1)
    >>> ladder(1000, lambda t: min(3 + t, 50), most=50, rng=SeededRandom(3))
    1001
    >>> ladder.privacy()
    PureDP(epsilon=1.0)
    """

    epsilon: Number
    neighbours: Relation = None

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)

    @property
    def rate(self) -> Fraction:
        """What a rung is worth."""
        return exact(self.epsilon) / 2

    def serves(self, most: int) -> bool:
        """Whether the rungs of a ladder up to `most` can be listed: a public fact."""
        return _count(self.rate, most) <= RUNGS

    def __call__(self, value: int, steps: Callable[[int], int], *, most: int, rng: RandomSource | None = None) -> int:
        """The release; `steps(t)` is I_t, and `most`, which is public, bounds all of them."""
        return self._release(value, _Rungs(self.rate, steps, most), source(rng))

    def releases(
        self, value: int, steps: Callable[[int], int], count: int, *, most: int, rng: RandomSource | None = None
    ) -> npt.NDArray[np.int64]:
        """`count` independent releases, for audits."""
        import numpy as np

        rungs, random = _Rungs(self.rate, steps, most), source(rng)
        return np.array([self._release(value, rungs, random) for _ in range(count)], dtype=np.int64)

    @staticmethod
    def _release(value: int, rungs: _Rungs, random: RandomSource) -> int:
        rung = rungs.draw(random)
        if rung == 0:
            return value
        inside, width = sum(rungs.widths[: rung - 1]), rungs.widths[rung - 1]
        place = int(uniform_below(2 * width, rng=random))
        return value + inside + 1 + place if place < width else value - inside - 1 - (place - width)

    def privacy(self) -> PureDP:
        """epsilon, under the relation for which the ladder holds."""
        return PureDP(self.epsilon, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, steps: Callable[[int], int], most: int) -> int:
        """The least alpha with Pr[|error| > alpha] <= beta for a ladder made from public facts, to a whole rung."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        reached, weights = self.law(steps, most=most)
        total, mass = sum(weights), 0.0
        for u, weight in zip(reached, weights, strict=True):
            mass += weight
            if mass >= (1 - beta) * total * (1 + 1e-12):
                return u
        return reached[-1]

    def law(self, steps: Callable[[int], int], *, most: int) -> tuple[list[int], list[float]]:
        """u_t for t = 0, 1, ... and the weight of the rung, in floating point, until what is left is nothing."""
        check_rungs(self.rate, most)
        count, rate = _count(self.rate, most), float(self.rate)
        widths = [steps(t) for t in range(count - 1)]
        weights = [1.0, *(2 * width * math.exp(-rate * (t + 1)) for t, width in enumerate(widths))]
        return [0, *accumulate(widths)], weights

    def event(self) -> ExponentialEvent:
        """What ran: log-ratios in an interval of length epsilon."""
        return ExponentialEvent(epsilon=self.epsilon)


def _count(rate: Fraction, most: int) -> int:
    """How many rungs leave out less than a 2^-64 part of the weight: a public number."""
    return 2 + math.ceil((64 * math.log(2) + math.log(2 * most + 2) + max(0.0, -math.log(float(rate)))) / float(rate))


def check_rungs(rate: Fraction, most: int) -> None:
    """Refuse, before anything is drawn, a ladder with more rungs than can be listed."""
    require(isinstance(most, int) and not isinstance(most, bool) and most >= 0, "a whole most >= 0", most=most)
    if _count(rate, most) > RUNGS:
        low, high = rate, Fraction(200)
        while high > low * Fraction(1001, 1000):
            middle = (low + high) / 2
            low, high = (low, middle) if _count(middle, most) <= RUNGS else (middle, high)
        least = f"epsilon >= {2 * float(high):.3g} for a ladder up to {most}"
        raise ParameterError(f"need {least} (Laplace noise serves less), got epsilon={2 * float(rate):g}")


class _Rungs:
    """Draws t with Pr[t] ~ m_t exp(-rate t), m_0 = 1 and m_t = 2 I_(t-1): exactly, by bits until it is clear."""

    def __init__(self, rate: Fraction, steps: Callable[[int], int], most: int) -> None:
        check_rungs(rate, most)
        self.rate, self.steps, self.most = rate, steps, most
        self.widths: list[int] = []
        self._tables: dict[int, tuple[list[int], list[int]]] = {}

    def draw(self, random: RandomSource) -> int:
        u, words = random.bits(WORD), 1
        while True:
            low, high = self._table(words)  # sums of the weights up to t, times 2^bits, from below and from above
            bits = WORD * words
            # The rung is the least t whose sum exceeds U times the sum of all, which ends high.
            t = bisect_left(low, -(-(u + 1) * high[-1] >> bits))
            if t < len(low) and (t == 0 or u * low[-1] >> bits >= high[t - 1]):
                return t
            u, words = u << WORD | random.bits(WORD), words + 1

    def _table(self, words: int) -> tuple[list[int], list[int]]:
        if words not in self._tables:
            count, bits = words * _count(self.rate, self.most), WORD * words + 32
            self.widths += [min(self.steps(t), self.most) for t in range(len(self.widths), count)]
            bounds = [exp_bounds(self.rate * t, bits) for t in range(count + 1)]
            sizes = [1, *(2 * width for width in self.widths)]
            low = list(accumulate(size * bound[0] for size, bound in zip(sizes, bounds[:count], strict=False)))
            high = list(accumulate(size * bound[1] for size, bound in zip(sizes, bounds[:count], strict=False)))
            # The rungs from `count` on weigh at most 2 most exp(-rate count) / (1 - exp(-rate)).
            rest = 2 * self.most * -(-(bounds[count][1] << bits) // ((1 << bits) - bounds[1][1]))
            self._tables[words] = low, [*high, high[-1] + rest]
        return self._tables[words]
