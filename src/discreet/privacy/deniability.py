"""Plausible deniability: what repeated Laplace answers let an adversary conclude.

`repeats` answers of an epsilon-DP mechanism to the same question are epsilon * repeats-DP,
so a person's record keeps odds of at most e^(epsilon repeats) against any other.  For the
Laplace mechanism with scale sensitivity / epsilon:

    Pr[|M - f| <= gap]                  = 1 - e^(-gap epsilon / sensitivity)
    standard deviation of the average   = (sensitivity / epsilon) sqrt(2 / repeats)
    error of the best test, at most     (1/2) ((1 + epsilon/2) e^(-epsilon/2))^repeats

the last for telling f from f - sensitivity with even odds (Bhattacharyya's bound).
These are statements about the continuous law, for explaining and not for promising.
Proofs: docs/theory/posterior.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from discreet.errors import require
from discreet.privacy.number import Number, exact
from discreet.privacy.posterior import posterior_bound

_CELLS = 2048  # cells of the grid on which log-likelihood ratios are added


@dataclass(frozen=True, kw_only=True, slots=True)
class Deniability:
    """The calculator for one question, answered once or many times at epsilon each.

    >>> deniability = Deniability(epsilon=0.1, sensitivity=1)
    >>> [round(deniability.posterior(repeats=k), 6) for k in (1, 10, 50, 100)]
    [0.524979, 0.731059, 0.993307, 0.999955]
    """

    epsilon: Number
    sensitivity: Number

    def __post_init__(self) -> None:
        require(exact(self.epsilon) > 0, "epsilon > 0", epsilon=self.epsilon)
        require(exact(self.sensitivity) > 0, "sensitivity > 0", sensitivity=self.sensitivity)

    def posterior(self, *, repeats: int, prior: Number = 0.5) -> float:
        """The most that an adversary who saw `repeats` answers can believe a fact about one person."""
        require(repeats >= 1, "repeats >= 1", repeats=repeats)
        return posterior_bound(prior, repeats * exact(self.epsilon))

    def within(self, gap: Number) -> float:
        """Pr[|M - f| <= gap] for one answer."""
        require(exact(gap) >= 0, "gap >= 0", gap=gap)
        return -math.expm1(-float(exact(gap) * exact(self.epsilon) / exact(self.sensitivity)))

    def averaged(self, *, repeats: int) -> float:
        """The standard deviation of the average of `repeats` answers."""
        require(repeats >= 1, "repeats >= 1", repeats=repeats)
        return float(exact(self.sensitivity) / exact(self.epsilon)) * math.sqrt(2 / repeats)

    def test_error(self, *, repeats: int) -> float:
        """The error of the likelihood-ratio test between f and f - sensitivity, even odds, to about 1e-3 relative.

        In units of the scale, one answer adds X = |z - r| - |z| with r = epsilon and z ~ Laplace(1):
        X = r with probability 1/2, X = -r with probability e^-r / 2, and density e^((x - r)/2) / 4 between.
        The test errs when the sum is negative, and half the time when it is 0.
        """
        import numpy as np

        require(repeats >= 1, "repeats >= 1", repeats=repeats)
        r = float(exact(self.epsilon))
        edges = np.linspace(-r, r, _CELLS + 1)
        law = np.zeros(_CELLS + 1)  # on the grid -r, -r + 2r/cells, ..., r
        inside = np.diff(np.exp((edges - r) / 2)) / 2  # mass of each cell
        law[:-1] += inside / 2
        law[1:] += inside / 2
        law[0] += math.exp(-r) / 2
        law[-1] += 0.5
        size = 1 << (_CELLS * repeats + 1).bit_length()
        total = np.fft.irfft(np.fft.rfft(law, size) ** repeats, size)
        middle = _CELLS * repeats // 2
        return float(total[:middle].sum() + total[middle] / 2)

    def test_error_bound(self, *, repeats: int) -> float:
        """Bhattacharyya's bound on `test_error`."""
        require(repeats >= 1, "repeats >= 1", repeats=repeats)
        r = float(exact(self.epsilon))
        return 0.5 * ((1 + r / 2) * math.exp(-r / 2)) ** repeats

    def repeats_to_tell(self, error: float) -> int:
        """The least number of answers after which the best test errs with at most this probability.

        >>> Deniability(epsilon=1, sensitivity=1).repeats_to_tell(0.01)
        29
        """
        require(0 < error < 0.5, "0 < error < 1/2", error=error)
        low, high = 0, 1
        while self.test_error_bound(repeats=high) > error:
            high *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.test_error(repeats=middle) <= error else (middle, high)
        return high
