"""A mean vector from points in a cap around the user's direction, and from Gaussian points likewise.

Theorem (Bhowmick, Duchi, Freudiger, Kapoor, Rogers 2018; optimal by Asi, Feldman, Talwar 2022).  Let V be
uniform on the sphere and let q be the probability that V . u >= gamma.  Report a point of that cap with
probability p, else one outside of it, each with the law of V there.  The densities are p / q and (1 - p) / (1
- q) times that of V, so the report is epsilon-DP if

    p (1 - q) <= e^epsilon q (1 - p).

It has mean m u, m = E[V . u; cap] (p / q - (1 - p) / (1 - q)), and the best gamma maximises m.  PrivUnitG
takes V normal with variance 1 / d in each coordinate instead, which is simpler and as good for large d.

Here the reservation that Duchi's directions do not need: the law of a report is computed in floating point and
then rounded to a lattice of 2^-20, so that the claim holds up to the rounding of those formulas;
docs/limitations.md states the slack. Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.local.coins import ONE, toss
from discreet.local.vectors import VectorProtocol, directions, normals, uniforms
from discreet.privacy.enclosure import exp_down
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array

    Floats = npt.NDArray[np.float64]

DEPTH = 20
MARGIN = Fraction(1, 1 << 30)  # of e^epsilon, given up for the rounding of q
GRID = 400  # sizes of the cap that are tried


@dataclass(frozen=True, slots=True)
class Cap:
    """The probability q of the cap, that p of reporting from it, and the moments of V . u in the report."""

    q: float
    p: Fraction
    mean: float
    square: float


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivUnit(VectorProtocol):
    """A point of the sphere for each user.

    >>> round(PrivUnit(epsilon=4, dimension=100).variance(1), 1)
    43.8
    """

    epsilon: Number
    dimension: int
    radius: Number = 1

    @property
    def cap(self) -> Cap:
        """The cap that maximises m."""
        return _cap(exact(self.epsilon), self.dimension, gaussian=False)

    @property
    def depth(self) -> int:
        """The bits after the point of a coordinate."""
        return DEPTH

    @property
    def length(self) -> float:
        """radius / m."""
        return float(exact(self.radius)) / self.cap.mean

    def coordinate_variance(self) -> float:
        """That along u or across it, whichever is larger."""
        along = self.cap.square
        return self.length**2 * max(along, (1 - along) / (self.dimension - 1))

    def draw(self, values: Array, random: RandomSource) -> Array:
        """The height above the equator of u by its inverse distribution, the rest uniform around it."""
        import numpy as np
        from scipy.special import betaincinv

        n = len(values)
        inside = toss(self.cap.p, n, random)
        tail = _tails(inside, self.cap.q, random)
        share = betaincinv((self.dimension - 1) / 2, 0.5, 2 * np.minimum(tail, 1 - tail))  # 1 - height^2
        height = np.sqrt(1 - share) * np.where(tail <= 0.5, 1, -1)
        along = directions(values, random)
        across = _across(along, normals((n, self.dimension), random))
        across = _across(along, across)  # once more: the first remainder may be short, and is made long below
        across *= np.sqrt(share)[:, None] / np.linalg.norm(across, axis=1, keepdims=True)
        return _on_lattice(along * height[:, None] + across)


@dataclass(frozen=True, kw_only=True, slots=True)
class PrivUnitG(VectorProtocol):
    """A normal point for each user.

    >>> round(PrivUnitG(epsilon=4, dimension=100).variance(1), 1)
    44.5
    """

    epsilon: Number
    dimension: int
    radius: Number = 1

    @property
    def cap(self) -> Cap:
        """The half-space that minimises the mean squared norm."""
        return _cap(exact(self.epsilon), self.dimension, gaussian=True)

    @property
    def depth(self) -> int:
        """The bits after the point of a coordinate."""
        return DEPTH

    @property
    def most(self) -> int:
        """Longer normal points are scaled down to this norm, which fewer than one in e^100 are."""
        root = math.sqrt(self.dimension)
        height = (math.sqrt(2 * min(float(exact(self.epsilon)), 700.0) + 4) + 16) / root  # of the cap, and beyond
        return math.ceil((1 << DEPTH) * (height + 1 + 16 / root))

    @property
    def length(self) -> float:
        """The root of the mean squared norm."""
        squares = self.cap.square + (self.dimension - 1) / self.dimension
        return float(exact(self.radius)) * math.sqrt(squares) / self.cap.mean

    @property
    def unit(self) -> float:
        """radius / m in units of the lattice."""
        return float(exact(self.radius)) / self.cap.mean / 2**DEPTH

    def coordinate_variance(self) -> float:
        """That along u or across it, whichever is larger."""
        return (self.unit * 2**DEPTH) ** 2 * max(self.cap.square, 1 / self.dimension)

    def bound(self, tally: npt.NDArray[np.int64], n: int, beta: float) -> Floats:
        """For each coordinate alone, by Chebyshev: normal reports have no bound."""
        import numpy as np

        return np.full(self.dimension, math.sqrt(self.coordinate_variance() / (n * beta)))

    def draw(self, values: Array, random: RandomSource) -> Array:
        """The height by its inverse distribution, the rest normal across it."""
        import numpy as np
        from scipy.special import ndtri

        n, root = len(values), math.sqrt(self.dimension)
        inside = toss(self.cap.p, n, random)
        height = -ndtri(_tails(inside, self.cap.q, random)) / root
        along = directions(values, random)
        across = _across(along, normals((n, self.dimension), random)) / root
        rows = along * height[:, None] + across
        longest = self.most / 2**DEPTH
        return _on_lattice(rows * np.minimum(1, longest / np.linalg.norm(rows, axis=1))[:, None])


def _tails(inside: npt.NDArray[np.bool_], q: float, random: RandomSource) -> Floats:
    """The probability above a height: uniform below q in the cap, above q outside."""
    import numpy as np

    uniform = uniforms((len(inside),), random)
    return np.where(inside, uniform * q, q + uniform * (1 - q))


def _across(along: Floats, free: Floats) -> Floats:
    """The part of each free vector that is orthogonal to its direction."""
    import numpy as np

    return free - np.einsum("ij,ij->i", along, free)[:, None] * along


def _on_lattice(rows: Floats) -> npt.NDArray[np.int32]:
    import numpy as np

    return np.rint(rows * 2**DEPTH).astype(np.int32)


@lru_cache(maxsize=256)
def _cap(epsilon: Fraction, dimension: int, *, gaussian: bool) -> Cap:
    """The best cap of those tried; any cap is private and unbiased."""
    import numpy as np
    from scipy.special import betainc, betaln, ndtr

    root, odds = math.sqrt(dimension), math.exp(min(float(epsilon), 700.0))
    highest = math.sqrt(2 * float(min(epsilon, Fraction(700))) + 4) / root
    heights = np.linspace(0, min(highest, 0.999999), GRID)
    if gaussian:
        q = ndtr(-heights * root)
        above = np.exp(-((heights * root) ** 2) / 2) / math.sqrt(2 * math.pi) / root  # E[height; cap]
        square = q / dimension + heights * above  # E[height^2; cap]
        whole_square = 1 / dimension
    else:
        half = (dimension - 1) / 2
        q = betainc(half, 0.5, 1 - heights**2) / 2
        above = (1 - heights**2) ** half / (dimension - 1) / math.exp(betaln(half, 0.5))
        square = q / dimension + heights * above * (dimension - 1) / dimension
        whole_square = 1 / dimension
    p = odds * q / (odds * q + 1 - q)
    mean = above * (p / q - (1 - p) / (1 - q))
    along = square * p / q + (whole_square - square) * (1 - p) / (1 - q)
    cost = (along + (dimension - 1) / dimension if gaussian else np.ones_like(mean)) / mean**2
    i = int(np.argmin(cost))
    chance = _chance(epsilon, Fraction(float(q[i])))
    exactly = float(chance)
    mean_i = float(above[i]) * (exactly / float(q[i]) - (1 - exactly) / (1 - float(q[i])))
    return Cap(float(q[i]), chance, mean_i, float(along[i]))


def _chance(epsilon: Fraction, q: Fraction) -> Fraction:
    """The largest p on the grid of 2^-64 with p (1 - q) <= e^epsilon (1 - MARGIN) q (1 - p)."""
    weight = exp_down(epsilon) * (1 - MARGIN) * q
    return Fraction(int(ONE * weight / (weight + 1 - q)), ONE)
