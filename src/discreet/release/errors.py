"""How wrong released answers may be: the forms that theorems give, each serialisable.

    Independent   every answer has its own noise of a known law: exact quantiles
    SubGaussian   the error of answer i is sub-Gaussian with parameter sd_i (sums of discrete Gaussian noise):
                  Pr[some |error_i| > alpha_i] <= sum over i of 2 exp(-alpha_i^2 / (2 sd_i^2))
    Adjusted      non-negative answers near others whose errors are known: the truth is within both
    Bounded       all errors are at most alpha with probability 1 - beta, for one pair (alpha, beta)
    Unproven      no bound is known; the reason says why

Proof: docs/theory/release.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from discreet.errors import UnsupportedError, require

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.release.noise import Noise


class Errors(Protocol):
    """What is known of the errors of all answers of a release."""

    def accuracy(self, beta: float) -> float:
        """alpha with Pr[some error exceeds alpha] <= beta."""
        ...

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """For each answer alone, alpha with Pr[its error exceeds alpha] <= beta."""
        ...


@dataclass(frozen=True, slots=True)
class Independent:
    """`size` answers, each with its own draw of one noise, divided by `unit`."""

    noise: Noise
    size: int
    unit: int = 1

    def accuracy(self, beta: float) -> float:
        """The exact quantile of the largest of all draws."""
        return self.noise.accuracy(beta, size=self.size) / self.unit

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The exact quantile of one draw."""
        import numpy as np

        return np.full(self.size, self.noise.accuracy(beta) / self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class SubGaussian:
    """Errors that are sub-Gaussian with these parameters, which bound their standard deviations.

    >>> import numpy as np
    >>> round(SubGaussian(np.array([1.0, 2.0])).accuracy(0.05), 2)
    5.43
    """

    sd: npt.NDArray[np.float64]

    def accuracy(self, beta: float) -> float:
        """The least alpha with sum over i of 2 exp(-alpha^2 / (2 sd_i^2)) <= beta."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        spread = self.sd[self.sd > 0]
        if not len(spread):
            return 0.0
        high = float(spread.max()) * math.sqrt(2 * math.log(2 * len(spread) / beta))
        low = 0.0
        for _ in range(60):
            middle = (low + high) / 2
            small = 2 * float(np.exp(-((middle / spread) ** 2) / 2).sum()) <= beta
            low, high = (low, middle) if small else (middle, high)
        return high

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """sd sqrt(2 ln(2 / beta))."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return self.sd * math.sqrt(2 * math.log(2 / beta))


@dataclass(frozen=True, slots=True, eq=False)
class SubGaussianRuns:
    """Errors that are sub-Gaussian: `runs[i]` answers in a row with the parameter `sd[i]`, as in tables.

    >>> import numpy as np
    >>> round(SubGaussianRuns(np.array([1.0, 2.0]), np.array([3, 1])).accuracy(0.05), 2)
    5.43
    """

    sd: npt.NDArray[np.float64]
    runs: npt.NDArray[np.int64]

    def accuracy(self, beta: float) -> float:
        """The least alpha with sum over i of 2 runs_i exp(-alpha^2 / (2 sd_i^2)) <= beta."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        noisy = self.sd > 0
        if not noisy.any():
            return 0.0
        spread, runs = self.sd[noisy], self.runs[noisy]
        low, high = 0.0, float(spread.max()) * math.sqrt(2 * math.log(2 * float(runs.sum()) / beta))
        for _ in range(60):
            middle = (low + high) / 2
            small = 2 * float((runs * np.exp(-((middle / spread) ** 2) / 2)).sum()) <= beta
            low, high = (low, middle) if small else (middle, high)
        return high

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """sd sqrt(2 ln(2 / beta))."""
        import numpy as np

        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        return np.repeat(self.sd * math.sqrt(2 * math.log(2 / beta)), self.runs)


@dataclass(frozen=True, slots=True, eq=False)
class Adjusted:
    """Answers to counting queries, moved from unbiased ones by post-processing.

    Where the unbiased answer y is within a of the truth, the truth is in [max(0, y - a), y + a],
    so that an answer z >= 0 is off by at most max(z - max(0, y - a), y + a - z).

    >>> import numpy as np
    >>> near = SubGaussian(np.array([1.0, 1.0]))
    >>> moved = Adjusted(near, unbiased=np.array([-2.0, 9.0]), answers=np.array([0.0, 8.5]))
    >>> (moved.each(0.05) - near.each(0.05)).tolist()
    [-2.0, 0.5]
    """

    noise: Errors
    unbiased: npt.NDArray[np.float64]
    answers: npt.NDArray[np.float64]

    def accuracy(self, beta: float) -> float:
        """The largest of those bounds, for the a that holds for all answers at once."""
        return float(self._bounds(self.noise.accuracy(beta)).max())

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """That bound for each answer alone."""
        return self._bounds(self.noise.each(beta))

    def _bounds(self, alpha: float | npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        import numpy as np

        below = self.answers - np.maximum(self.unbiased - alpha, 0.0)
        return np.maximum(below, self.unbiased + alpha - self.answers)


@dataclass(frozen=True, slots=True)
class Bounded:
    """All `size` errors are at most alpha, but with probability `beta`."""

    alpha: float
    beta: float
    size: int

    def accuracy(self, beta: float) -> float:
        """alpha, for every beta that is not smaller than the one it was proven for."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        if beta < self.beta:
            raise UnsupportedError(f"this release states its error at beta={self.beta}; build it with a smaller one")
        return self.alpha

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each."""
        import numpy as np

        return np.full(self.size, self.accuracy(beta))


@dataclass(frozen=True, slots=True)
class Unproven:
    """Nothing is proven of the errors on the data at hand."""

    reason: str

    def accuracy(self, beta: float) -> float:
        """Refused, with the reason."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        raise UnsupportedError(self.reason)

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """Refused, with the reason."""
        raise UnsupportedError(f"{self.reason} (beta={beta})")
