"""Frequency oracles: what fraction of the users holds each of `size` values.

Theorem.  Let a report support each value or not, so that it supports the user's own value with probability
`truth` and any other one with probability `noise`, whatever both are.  With S of n reports supporting value x,

    (S / n - noise) / (truth - noise)

estimates the fraction f of users who hold x without bias, and its variance over the reports is

    (f truth (1 - truth) + (1 - f) noise (1 - noise)) / (n (truth - noise)^2).

S is a sum of independent coins, so the interval of `chernoff` bounds the error of each estimate.
Estimates are not clipped: some are negative, and sums of them stay unbiased.  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.local.chernoff import bennett, share_error
from discreet.local.coins import positive, whole
from discreet.local.protocol import LocalProtocol, cells_of
from discreet.privacy.number import Number

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.local.protocol import Array, Tally

    Floats = npt.NDArray[np.float64]


SMALL = 0.5  # of what the bound by counts may be


class FrequencyOracle(LocalProtocol):
    """A protocol for frequencies; values are integers 0 .. size - 1."""

    __slots__ = ()
    epsilon: Number
    size: int

    def __post_init__(self) -> None:
        positive(self.epsilon)
        whole("size", self.size, least=2)

    @property
    @abstractmethod
    def truth(self) -> Fraction:
        """The probability that a report supports the user's own value."""

    @property
    @abstractmethod
    def noise(self) -> Fraction:
        """The probability that a report supports another given value."""

    def support(self, tally: Tally) -> Tally:
        """How many reports support each value."""
        return tally[: self.size]

    def inputs(self) -> list[int]:
        """All values."""
        return list(range(self.size))

    def checked(self, values: object) -> Array:
        """Integers (or booleans, of two) in the domain."""
        import numpy as np

        bits = self.size == 2 and isinstance(values, np.ndarray) and values.dtype == bool
        return cells_of(np.asarray(values, dtype=np.int64) if bits else values, self.size)

    def decode(self, tally: Tally, n: int) -> Floats:
        """Unbiased fractions of the users, one for each value."""
        return (self.support(tally) / n - float(self.noise)) / float(self.truth - self.noise)

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each fraction alone, whatever the users hold.

        By the variance of the reports where that is public and small, as at a large epsilon; else by their counts.
        """
        import numpy as np

        gap, own, other = float(self.truth - self.noise), self.truth * (1 - self.truth), self.noise * (1 - self.noise)
        fewer = bennett(float(max(own, other)), n=n, beta=beta)
        if fewer < SMALL * math.sqrt(math.log(2 / beta) / (2 * n)):  # public numbers: which bound it is, is no surprise
            return np.full(self.size, fewer / gap)
        return share_error(self.support(tally), n, beta) / gap

    def variance(self, n: int, *, fraction: float = 0.0) -> float:
        """The variance of the estimate for a value that `fraction` of n users hold."""
        whole("n", n, least=1)
        own, other = self.truth * (1 - self.truth), self.noise * (1 - self.noise)
        return (fraction * float(own) + (1 - fraction) * float(other)) / (n * float(self.truth - self.noise) ** 2)


def spread(epsilon: float, *, inside: float, both: float, outside: float) -> float:
    """The variance for one user and a rare value, where a report is uniform on favoured outputs with odds e^epsilon.

    A value favours `inside` outputs and leaves `outside`; two values favour `both` in common.
    """
    odds = math.exp(min(epsilon, 700.0))
    unit = 1 / (odds * inside + outside)
    truth, noise = odds * inside * unit, (odds * both + inside - both) * unit
    gap = truth - noise
    return noise * (1 - noise) / gap**2 if gap * gap > 0 else math.inf  # no coin shows so small an epsilon
