"""Report noisy max: add noise to every score, release the index of the largest and nothing else.

Theorem.  Let every integer score move by at most `sensitivity` between neighbours, and let
the noise have scale b = 2 sensitivity / epsilon, or b = sensitivity / epsilon when scores
are monotone (all rise or all fall together, as counts do when one row is added).  Then the
index of the largest noisy score is epsilon-DP, for each of these noises:

    exponential   Pr[E > t] = exp(-t / b); the same law as permute-and-flip (Ding et al. 2021)
    gumbel        Pr[G <= t] = exp(-exp(-t / b)); the same law as the exponential mechanism
    laplace       Pr[Z = z] ~ exp(-|z| / b) on the integers; ties are broken by lot

Only gumbel noise is epsilon^2 / 8 - zCDP; the others are epsilon^2 / 2.  Erratum to the
notes, Theorem 2.3: with Laplace noise of scale 1 / epsilon, counts are epsilon-DP under
AddRemove, but only 2 epsilon-DP under Replace.  Proof: docs/theory/noisy_max.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from discreet.errors import require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.selection import gaps, laplace_max, permute_and_flip, softmax
from discreet.mechanisms.exponential import Exponential, candidates, check_selection, rate
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.number import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.mechanisms.exponential import Scores

Noise = Literal["exponential", "gumbel", "laplace"]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisyMax:
    """Choose the index of a high score; exponential noise is the best of the three and the default.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.privacy.neighbours import AddRemove
    >>> conditions = [120, 95, 31]  # how many patients have each; a patient may have several
    >>> noisy = NoisyMax(epsilon=0.5, sensitivity=1, monotone=True, neighbours=AddRemove, noise="laplace")
    >>> noisy(conditions, rng=SeededRandom(7))
    0
    >>> noisy.scale, noisy.privacy()
    (Fraction(2, 1), PureDP(epsilon=0.5))
    >>> noisy.accuracy(beta=0.05, size=3)
    8
    """

    epsilon: Number
    sensitivity: int
    noise: Noise = "exponential"
    monotone: bool = False
    neighbours: Relation = None

    def __post_init__(self) -> None:
        check_selection(self.epsilon, self.sensitivity, monotone=self.monotone, neighbours=self.neighbours)
        known = self.noise in ("exponential", "gumbel", "laplace")
        require(known, "noise 'exponential', 'gumbel' or 'laplace'", noise=self.noise)

    @property
    def scale(self) -> Fraction:
        """2 sensitivity / epsilon, or half of it for monotone scores."""
        return 1 / rate(self.epsilon, self.sensitivity, monotone=self.monotone)

    def __call__(self, scores: Scores, *, rng: RandomSource | None = None) -> int:
        """The index of the largest noisy score; the score itself stays private."""
        return int(self._draw(scores, None, rng))

    def releases(self, scores: Scores, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """`count` independent choices, for audits and pictures; as a release they would cost `count` times."""
        return self._draw(scores, (count,), rng)

    def _draw(self, scores: Scores, shape: tuple[int] | None, rng: RandomSource | None) -> npt.NDArray[np.int64]:
        match self.noise:
            case "exponential":
                return permute_and_flip(gaps(scores), 1 / self.scale, shape=shape, rng=rng)
            case "gumbel":
                return softmax(gaps(scores), 1 / self.scale, shape=shape, rng=rng)
            case _:
                return laplace_max(gaps(scores), self.scale, shape=shape, rng=rng)

    def privacy(self) -> PureDP:
        """epsilon, under the relation for which the sensitivity holds."""
        return PureDP(self.epsilon, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, size: int | None = None) -> int:
        """An alpha with Pr[best - chosen > alpha] <= beta whatever the `size` scores are.

        The least one for exponential and gumbel noise, and for laplace noise on two candidates;
        for laplace noise on more, the union bound over the candidates that might win.
        """
        k = candidates(beta, size)
        if self.noise != "laplace":
            same = PermuteAndFlip if self.noise == "exponential" else Exponential
            twin = same(
                epsilon=self.epsilon,
                sensitivity=self.sensitivity,
                monotone=self.monotone,
                neighbours=self.neighbours,
            )
            return twin.accuracy(beta, size=k)

        def fails(alpha: int) -> bool:  # a candidate alpha + 1 behind overtakes the best, or ties and wins the lot
            reached = difference_tail(alpha + 1, self.scale, self.scale)
            overtaken = difference_tail(alpha + 2, self.scale, self.scale)
            return (k - 1) * (reached + overtaken) / 2 > beta

        return least(fails)

    def event(self) -> ExponentialEvent | PureEvent:
        """What ran; only gumbel noise has the smaller zCDP cost."""
        if self.noise == "gumbel":
            return ExponentialEvent(epsilon=self.epsilon)
        return PureEvent(epsilon=self.epsilon)


def difference_tail(m: int, first: Fraction, second: Fraction) -> float:
    """Pr[Y - Z >= m] for m >= 1 and independent discrete Laplace Y, Z of these scales, either way round."""
    u, v = (float(min(1 / scale, Fraction(700))) for scale in (first, second))
    a, b = math.exp(-u), math.exp(-v)
    slow, apart = min(u, v), abs(u - v)
    between = m if apart == 0 else math.expm1(-m * apart) / math.expm1(-apart)  # sum of exp(-apart s), s < m
    mixed = a * math.exp(-slow * (m - 1)) * between  # sum of a^s b^(m - s), 1 <= s <= m
    both = -math.expm1(-u - v)  # 1 - a b
    near = (math.exp(-m * v) / both + mixed) / (1 + b)
    far = math.exp(-(m + 1) * u) * (1 / -math.expm1(-u) - b * b / (both * (1 + b)))
    return -math.expm1(-u) / (1 + a) * (near + far)


def least(fails: Callable[[int], bool]) -> int:
    """The least alpha >= 0 that does not fail, where no larger one fails."""
    low, high = -1, 0
    while fails(high):
        low, high = high, 2 * high + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fails(middle) else (low, middle)
    return high
