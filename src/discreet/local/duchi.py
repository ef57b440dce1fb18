"""A mean vector from directions that agree with the user's a little more often than not.

Theorem (Duchi, Jordan, Wainwright 2018).  Draw a uniform direction V without looking at the user's u, and turn
it so that V . u >= 0 with probability p <= e^epsilon / (e^epsilon + 1), else so that V . u < 0.  The report is
epsilon-DP.  It has mean (2 p - 1) c u with c = Gamma(d / 2) / (sqrt(pi) Gamma((d + 1) / 2)), so that B V with
B = radius / ((2 p - 1) c) is unbiased; its squared norm is B^2.

The claim does not rest on floating point: given the pair {V, -V} of rounded vectors, which was drawn without u,
the report is one of the two with probabilities p and 1 - p in some order, whatever rounding did to V and to its
product with u.  Floats can only bias the estimate, by about 2^-30.  Proof: docs/theory/local_means.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.local.coins import favoured, toss
from discreet.local.vectors import VectorProtocol, directions, normals
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array

DEPTH = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class DuchiVector(VectorProtocol):
    """A direction for each user.

    >>> round(DuchiVector(epsilon=1, dimension=10).variance(1), 2)
    69.97
    """

    epsilon: Number
    dimension: int
    radius: Number = 1

    @property
    def truth(self) -> Fraction:
        """p."""
        return _truth(exact(self.epsilon))

    @property
    def depth(self) -> int:
        """The bits after the point of a coordinate."""
        return DEPTH

    @property
    def length(self) -> float:
        """B."""
        return float(exact(self.radius)) / (float(2 * self.truth - 1) * half_sphere(self.dimension))

    def coordinate_variance(self) -> float:
        """B^2 / d: a turn changes no square."""
        return self.length**2 / self.dimension

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A rounded direction, turned."""
        import numpy as np

        free = self.pairs(len(values), random)
        with_user = np.einsum("ij,ij->i", free, directions(values, random)) >= 0
        turned = with_user == toss(self.truth, len(values), random)
        return free * np.where(turned, 1, -1).astype(np.int32)[:, None]

    def pairs(self, count: int, random: RandomSource) -> npt.NDArray[np.int32]:
        """Rounded directions that have not seen any user; minus one of them is rounded alike."""
        import numpy as np

        free = normals((count, self.dimension), random)
        free /= np.linalg.norm(free, axis=1, keepdims=True)
        return np.rint(free * 2**DEPTH).astype(np.int32)


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction) -> Fraction:
    return favoured(epsilon, inside=1, outside=1)


def half_sphere(dimension: int) -> float:
    """E |V . u| for a uniform direction V: Gamma(d / 2) / (sqrt(pi) Gamma((d + 1) / 2)).

    >>> round(half_sphere(3), 6)
    0.5
    """
    return math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension + 1) / 2)) / math.sqrt(math.pi)
