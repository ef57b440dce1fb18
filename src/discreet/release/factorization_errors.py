"""How wrong combinations of many draws of noise may be.

Theorem.  Let the error of answer i be <r_i, Z>, with Z of r independent draws.

    Normal      Z_j discrete Gaussian of parameter sigma.  Each Z_j is a rounded normal draw but with probability
                1 / (8 sigma^2), and the normal vector obeys Sidak's inequality (1967), so that
                Pr[all |error_i| <= sd_i (t + sqrt(r) / (2 sigma))] >= product of (1 - 2 Phi(-t)) - r / (8 sigma^2).
    Laplace     Z_j discrete Laplace of scale b.  With sd_i = b sqrt(2) |r_i|_2, peak_i = b |r_i|_inf, 0 < u < 1/peak_i:
                ln Pr[|error_i| > alpha] <= ln 2 - u alpha - (sd_i^2 / (2 peak_i^2)) ln(1 - u^2 peak_i^2),
                and ln 2 - alpha / peak_i for an error that is a multiple of one draw.

Proof: docs/theory/factorization.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.errors import require
from discreet.release.errors import SubGaussianRuns

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.gamma2_sets import Reals


@dataclass(frozen=True, slots=True, eq=False)
class NormalSums:
    """Combinations of `draws` discrete Gaussian draws of parameter `sigma`, with these standard deviations.

    With `runs`, `runs[i]` answers in a row have the standard deviation `sd[i]`, as in tables.

    >>> import numpy as np
    >>> round(NormalSums(np.ones(1), sigma=1e6, draws=1).accuracy(0.05), 3)
    1.96
    """

    sd: Reals
    sigma: float
    draws: int
    runs: npt.NDArray[np.int64] | None = None

    def accuracy(self, beta: float) -> float:
        """The least alpha for which the product of the normal probabilities is large enough."""
        import numpy as np
        from scipy.special import ndtr

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        spread = self.sd[self.sd > 0]
        runs = np.ones(len(spread), dtype=np.int64) if self.runs is None else self.runs[self.sd > 0]
        plain = SubGaussianRuns(spread, runs).accuracy(beta)
        left = beta - self._coarse
        if not len(spread) or left <= 0:
            return plain
        shift, low, high = math.sqrt(self.draws) / (2 * self.sigma), 0.0, plain
        for _ in range(60):
            middle = (low + high) / 2
            tails = 2 * ndtr(-(middle / spread - shift))
            held = bool((tails < 1).all()) and -math.expm1(float(runs @ np.log1p(-np.minimum(tails, 0.5)))) <= left
            held = held and float(tails.max()) <= 0.5
            low, high = (low, middle) if held else (middle, high)
        return high

    def each(self, beta: float) -> Reals:
        """The normal quantile, and what rounding may add."""
        import numpy as np
        from scipy.special import ndtri

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        plain = math.sqrt(2 * math.log(2 / beta))
        left = beta - self._coarse
        each = self.sd if self.runs is None else np.repeat(self.sd, self.runs)
        if left <= 0:
            return each * plain
        return each * min(plain, -float(ndtri(left / 2)) * (1 + 1e-12) + math.sqrt(self.draws) / (2 * self.sigma))

    @property
    def _coarse(self) -> float:
        return self.draws / (8 * self.sigma**2)


@dataclass(frozen=True, slots=True, eq=False)
class LaplaceSums:
    """Combinations of discrete Laplace draws, with these standard deviations and largest terms.

    >>> import numpy as np
    >>> sums = LaplaceSums(np.full(10, 2.0), np.full(10, 0.1))
    >>> round(sums.accuracy(0.05), 2)
    6.97
    """

    sd: Reals
    peak: Reals

    def accuracy(self, beta: float) -> float:
        """The least alpha for which the bounds add up to beta."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        noisy = self.sd > 0
        if not noisy.any():
            return 0.0
        kinds, runs = np.unique(np.stack([self.sd[noisy], self.peak[noisy]]), axis=1, return_counts=True)
        low, high = 0.0, float(_alone(kinds[0], kinds[1], math.log(beta / float(runs.sum()))).max())
        for _ in range(50):
            middle = (low + high) / 2
            small = float((runs * np.exp(np.minimum(_log_tail(kinds[0], kinds[1], middle), 0.0))).sum()) <= beta
            low, high = (low, middle) if small else (middle, high)
        return high

    def each(self, beta: float) -> Reals:
        """For each alone."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        found = np.zeros_like(self.sd)
        noisy = self.sd > 0
        found[noisy] = _alone(self.sd[noisy], self.peak[noisy], math.log(beta))
        return found


def _log_tail(sd: Reals, peak: Reals, alpha: float | Reals) -> Reals:
    """The least of the bounds over u: its derivative vanishes at u = alpha / (shape + sqrt(shape^2 + ...))."""
    import numpy as np

    shape = sd**2 / (2 * peak**2)  # 1 for a single draw, whose tail is known, and more for others
    way = np.asarray(alpha) / peak
    u = way / (shape + np.sqrt(shape**2 + way**2))  # u peak, below 1
    return math.log(2) + np.where(shape <= 1 + 1e-13, -way, -u * way - shape * np.log1p(-(u**2)))


def _alone(sd: Reals, peak: Reals, target: float) -> Reals:
    """alpha with the logarithm of the tail at the target."""
    import numpy as np

    low, high = np.zeros_like(sd), sd * 2.0
    while (_log_tail(sd, peak, high) > target).any():
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        small = _log_tail(sd, peak, middle) <= target
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    return high
