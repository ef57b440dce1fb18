"""Permute-and-flip: a selection that is never worse than the exponential mechanism.

Theorem (McKenna, Sheldon 2020; Ding et al. 2021).  Visit the candidates in random order,
accept o with probability w_o = exp(-rate (best - u_o)), and choose the first one accepted.
With rate = epsilon / (2 sensitivity), or epsilon / sensitivity for monotone scores, this is
epsilon-DP.  The same law: flip all coins at once and choose uniformly among the successes;
or choose the largest u_o + E_o with independent exponential noise E_o of mean 1 / rate.
Among k candidates, whatever their scores, with alpha' = floor(alpha) + 1,

    Pr[best - chosen > alpha] <= 1 - (1 - (1 - w)^k) / (k w) <= (k - 1) w / 2,   w = exp(-rate alpha'),

with equality on the left when one candidate leads all others by alpha'.  The zCDP cost is
that of any epsilon-DP mechanism, epsilon^2 / 2: log-ratios range over more than epsilon, and
epsilon^2 / 8 is false here.  Proof: docs/theory/permute_and_flip.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.selection import gaps, permute_and_flip
from discreet.mechanisms.exponential import candidates, check_selection, rate, scaled
from discreet.privacy.event import PureEvent
from discreet.privacy.guarantee import PureDP, Relation
from discreet.privacy.number import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.mechanisms.exponential import Probabilities, Scores


@dataclass(frozen=True, kw_only=True, slots=True)
class PermuteAndFlip:
    """Choose the index of a high score; scores are integers, `sensitivity` is the most that one of them moves.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> votes = [540, 501, 12]
    >>> select = PermuteAndFlip(epsilon=0.5, sensitivity=1)
    >>> select(votes, rng=SeededRandom(7))
    0
    >>> select.privacy()
    PureDP(epsilon=0.5)
    >>> select.accuracy(beta=0.05, size=3)
    11
    """

    epsilon: Number
    sensitivity: int
    monotone: bool = False
    neighbours: Relation = None

    def __post_init__(self) -> None:
        check_selection(self.epsilon, self.sensitivity, monotone=self.monotone, neighbours=self.neighbours)

    @property
    def rate(self) -> Fraction:
        """What a point of score is worth: epsilon / (2 sensitivity), or twice that for monotone scores."""
        return rate(self.epsilon, self.sensitivity, monotone=self.monotone)

    def __call__(self, scores: Scores, *, rng: RandomSource | None = None) -> int:
        """The index of the chosen candidate."""
        return int(permute_and_flip(gaps(scores), self.rate, rng=rng))

    def releases(self, scores: Scores, count: int, *, rng: RandomSource | None = None) -> npt.NDArray[np.int64]:
        """`count` independent choices, for audits and pictures; as a release they would cost `count` times."""
        return permute_and_flip(gaps(scores), self.rate, shape=(count,), rng=rng)

    def probabilities(self, scores: Scores) -> Probabilities:
        """The law of the choice: w_o times the integral over y in [0, 1] of prod over j != o of (1 - w_j y).

        >>> PermuteAndFlip(epsilon=1, sensitivity=1).probabilities([10, 0]).round(8)
        array([0.99663103, 0.00336897])
        """
        import numpy as np

        distinct, kind, often = np.unique(scaled(self.rate, scores), return_inverse=True, return_counts=True)
        weights = np.exp(-distinct)
        nodes, mass = _dyadic_panels()
        factors = np.log1p(-np.outer(nodes, weights))  # (nodes, distinct)
        product = factors @ often
        law = np.array([mass @ np.exp(product - factors[:, i]) for i in range(len(weights))])
        return (weights * law)[kind]

    def privacy(self) -> PureDP:
        """epsilon, under the relation for which the sensitivity holds."""
        return PureDP(self.epsilon, neighbours=self.neighbours)

    def accuracy(self, beta: float = 0.05, *, size: int | None = None) -> int:
        """The least alpha with Pr[best - chosen > alpha] <= beta whatever the `size` scores are."""
        k = candidates(beta, size)
        low, high = 0.0, math.log(max(2.0, k / beta))  # x = rate (alpha + 1); at the upper end (k - 1) w / 2 < beta
        if _worst(low, k) <= beta:
            return 0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (low, middle) if _worst(middle, k) <= beta else (middle, high)
        return max(0, math.ceil(Fraction(high) / self.rate) - 1)

    def event(self) -> PureEvent:
        """What ran: some epsilon-DP mechanism, and no more than that."""
        return PureEvent(epsilon=self.epsilon)


def _worst(x: float, k: int) -> float:
    """1 - (1 - (1 - w)^k) / (k w) for w = exp(-x): the chance that one of k - 1 candidates x behind wins."""
    w = math.exp(-x)
    if k * w < 1e-4:  # the first terms of the series in w; the next is (k w)^3 / 24
        return (k - 1) * w / 2 * (1 - (k - 2) * w / 3)
    return 1 + math.expm1(k * math.log1p(-w)) / (k * w) if w < 1 else 1 - 1 / k


def _dyadic_panels() -> tuple[Probabilities, Probabilities]:
    """Gauss points and weights on [0, 1], as fine near 0 as any product of up to 2^40 factors needs."""
    import numpy as np

    points, mass = np.polynomial.legendre.leggauss(32)
    edges = np.concatenate([[0.0], 2.0 ** np.arange(-48, 1)])
    widths = np.diff(edges)
    nodes = edges[:-1, None] + widths[:, None] * (points + 1) / 2
    return nodes.ravel(), (widths[:, None] * mass / 2).ravel()
