"""The distribution of most entropy that agrees with noisy measurements, to within their noise.

Let statistics s_1, ..., s_m of a row be measured as y_j, with errors of variance v_j, on n rows.  Among the
distributions p on the universe take the one with the least

    KL(p || uniform) + sum over j of (n E_p[s_j] - y_j)^2 / (2 n c_j),   c_j = max(16 v_j / n, sqrt(v_j) / 16).

It is p = e^(theta . s) / Z, and theta minimises the convex function

    F(theta) = n ln Z(theta) - theta . y + sum over j of c_j theta_j^2 / 2,

whose derivative is n E_p[s_j] - y_j + c_j theta_j.  So measurements far above their noise are met, and those below it
are not believed.  Where v_j is far below n the second part of c_j counts: a theta of 10 then misses a measurement by
less than its noise, and noise that no data could have made does not drive theta to thousands.  A step of
multiplicative weights is a step down this slope; here the steps are those of L-BFGS, and each costs one evaluation of
ln Z and of all E_p[s_j].  Proof: docs/theory/mwem.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float64]

MEMORY = 8  # earlier steps that shape the next one
PRIOR = 16.0  # a statistic is thought to have a standard deviation of n / 4
SOFTEST = 1 / 16  # of its standard deviation, for each unit of theta, is what a measurement may be missed by
FLATTEST = 1e-6  # no statistic is thought to be more nearly constant than this
CLOSE = 0.1  # of the noise: how far a finished fit may be from where it leads to
SETTLED = 1e-3  # the decrease of F, in units of the noise, that is not worth another evaluation


class Universe(Protocol):
    """Where expectations are taken: all cells, one way or another."""

    def expectations(self, theta: Vector) -> tuple[float, Vector]:
        """ln Z, and the expectation of every statistic."""
        ...

    def spreads(self, means: Vector) -> Vector:
        """A guess of each statistic's variance over rows of the distribution."""
        ...


@dataclass(eq=False)
class Fit:
    """The state of the estimate: parameters, expectations, and what was measured of each statistic so far."""

    universe: Universe
    n: float
    theta: Vector
    log_z: float = 0.0
    means: Vector = field(init=False)

    def __post_init__(self) -> None:
        import numpy as np

        self.log_z, self.means = self.universe.expectations(self.theta)
        self._precision = np.zeros_like(self.theta)  # the sum of 1 / v
        self._weighted = np.zeros_like(self.theta)  # the sum of y / v
        self._steps: list[tuple[Vector, Vector]] = []  # moves of theta and of the means, of earlier rounds too

    def measured(self, places: npt.NDArray[np.int64], values: Vector, *, variance: float | Vector) -> None:
        """Take in noisy values of some statistics."""
        self._precision[places] += 1 / variance
        self._weighted[places] += values / variance

    def improve(self, evaluations: int, *, close: float = math.inf) -> None:
        """Step down from where it stands, at most this many evaluations, until steps are not worth one.

        With `close`, and until the slope is no larger than that part of the noise.
        """
        import numpy as np

        active = np.flatnonzero(self._precision)
        aim = self._weighted[active] / self._precision[active]
        soft = np.maximum(PRIOR / (self.n * self._precision[active]), SOFTEST / np.sqrt(self._precision[active]))
        slope, height = self._slope(active, aim, soft), self._height(active, aim, soft)
        while evaluations > 0:
            curvature = self.n * np.maximum(self.universe.spreads(self.means)[active], FLATTEST) + soft
            steps = [(moved[active], self.n * change[active] + soft * moved[active]) for moved, change in self._steps]
            direction = _direction(slope, steps, curvature)
            descent = float(slope @ direction)
            left = float((slope * slope) @ self._precision[active])  # squared distances from the end, by their noise
            if -descent < SETTLED * len(active) and left <= close**2 * len(active):
                return
            before, kept, size = self.theta.copy(), (self.log_z, self.means), 1.0 if steps else 0.5
            while True:
                evaluations -= 1
                self.theta[active] = before[active] + size * direction
                self.log_z, self.means = self.universe.expectations(self.theta)
                ahead, below = self._slope(active, aim, soft), self._height(active, aim, soft)
                along = float(ahead @ direction)
                if along <= -0.5 * descent or evaluations <= 0:  # not so far that the way back is half as steep
                    break
                size *= max(0.1, descent / (descent - along)) if math.isfinite(along) else 0.1
            if below <= height:
                if along > descent:  # it is convex there, beyond rounding
                    self._steps = [*self._steps[1 - MEMORY :], (self.theta - before, self.means - kept[1])]
                slope, height = ahead, below
                continue
            self.theta, (self.log_z, self.means) = before, kept
            if not self._steps:
                return
            self._steps = []  # they mislead here

    def _height(self, active: npt.NDArray[np.int64], aim: Vector, soft: Vector) -> float:
        theta = self.theta[active]
        return self.n * self.log_z - float(theta @ aim) + float(soft @ (theta * theta)) / 2

    def _slope(self, active: npt.NDArray[np.int64], aim: Vector, soft: Vector) -> Vector:
        return self.n * self.means[active] - aim + soft * self.theta[active]


def _direction(slope: Vector, steps: list[tuple[Vector, Vector]], curvature: Vector) -> Vector:
    """The two-loop recursion of L-BFGS, starting from a diagonal guess of the second derivative."""
    found = slope.copy()
    shares = []
    for moved, change in reversed(steps):
        share = float(moved @ found) / float(moved @ change)
        found -= share * change
        shares.append(share)
    found /= curvature
    if steps:  # the guess, scaled to agree with the last step
        moved, change = steps[-1]
        found *= float(moved @ change) / float(change @ (change / curvature))
    for (moved, change), share in zip(steps, reversed(shares), strict=True):
        found += (share - float(change @ found) / float(moved @ change)) * moved
    return -found
