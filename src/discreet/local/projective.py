"""Projective geometry response: a point, more likely on the hyperplane of the value.

Theorem (Feldman, Nelson, Nguyen, Talwar 2022).  Let F have q elements and let values and reports be points of
the projective space of F^t, of which there are K = (q^t - 1) / (q - 1) >= size.  Report a uniform point u with
u . x = 0 with probability truth <= s e^epsilon / (s e^epsilon + K - s), where s = (q^(t-1) - 1) / (q - 1)
points have that, else a uniform other point.  The report is epsilon-DP.  Two values share (q^(t-2) - 1) / (q
- 1) points, whichever they are, so that `frequency` applies; with q near e^epsilon + 1 the variance is that of
optimal unary encoding, and the report takes log2 K bits.  The server decodes all values at once by sums along
hyperplanes. Here q is the prime power of least variance.  Proof: docs/theory/frequency_oracles.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError
from discreet.local.coins import favoured, pick, toss
from discreet.local.fields import CELLS, WORK, affine_sums, field, orders
from discreet.local.frequency import FrequencyOracle, spread
from discreet.local.wire import Codes
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally


@dataclass(frozen=True, kw_only=True, slots=True)
class ProjectiveGeometryResponse(FrequencyOracle):
    """Report a point of a projective space.

    >>> response = ProjectiveGeometryResponse(epsilon=1, size=1024)
    >>> response.order, response.length, response.points, response.bits, round(response.variance(1), 3)
    (4, 6, 1365, 11, 3.685)
    """

    epsilon: Number
    size: int

    @property
    def order(self) -> int:
        """q, the size of the field."""
        return _shape(exact(self.epsilon), self.size)[0]

    @property
    def length(self) -> int:
        """t, how many coordinates a point has."""
        return _shape(exact(self.epsilon), self.size)[1]

    @property
    def points(self) -> int:
        """K, how many points there are."""
        return count(self.order, self.length)

    @property
    def truth(self) -> Fraction:
        """The chance of a point on the value's own hyperplane."""
        return _truth(exact(self.epsilon), self.order, self.length)

    @property
    def noise(self) -> Fraction:
        """The chance of a point on another value's hyperplane."""
        on, both = count(self.order, self.length - 1), count(self.order, self.length - 2)
        return self.truth * both / on + (1 - self.truth) * (on - both) / (self.points - on)

    @property
    def form(self) -> Codes:
        """The number of a point."""
        return Codes(self.points)

    @property
    def cells(self) -> int:
        """One for each point."""
        return self.points

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A uniform point on the hyperplane, or a uniform one off it."""
        import numpy as np

        from discreet.local.kernels import points

        found, n = field(self.order), len(values)
        inside = toss(self.truth, n, random)
        draws, reports = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        on = int(inside.sum())
        draws[inside] = pick(count(self.order, self.length - 1), on, random)
        draws[~inside] = pick(self.order ** (self.length - 1), n - on, random)
        points(
            values, inside, draws, self.order, self.length, found.plus, found.minus, found.times, found.inverse, reports
        )
        return reports

    def tally(self, reports: Array) -> Tally:
        """How often each point was reported."""
        import numpy as np

        return np.bincount(reports, minlength=self.points)

    def support(self, tally: Tally) -> Tally:
        """How many reported points lie on the hyperplane of each value.

        Points whose first coordinate that is not 0 has `tail` coordinates after it are an affine space: u . x = 0 there
        means that the tails' product is minus the coordinate of x in that place.
        """
        import numpy as np

        q, found = self.order, field(self.order)
        values = np.arange(self.size)
        tails = np.searchsorted([count(q, j + 1) for j in range(self.length)], values, side="right")
        vectors = values - np.array([count(q, j) for j in range(self.length)])[tails] + q**tails
        on = np.where(vectors % q == 0, tally[0], 0)
        for tail in range(1, self.length):
            sums = affine_sums(tally[count(q, tail) : count(q, tail + 1)], found)
            on += sums[vectors % q**tail, vectors // q**tail % q]
        return on

    def law(self, value: int) -> dict[int, Fraction]:
        """Uniform on the hyperplane, and uniform off it."""
        q = self.order
        on = count(q, self.length - 1)
        held, rest = self.truth / on, (1 - self.truth) / (self.points - on)
        own = self.vector(value)
        found = field(q)
        law: dict[int, Fraction] = {}
        for point in range(self.points):
            product = 0
            for a, b in zip(self.vector(point), own, strict=True):
                product = int(found.plus[product, found.times[a, b]])
            law[point] = held if product == 0 else rest
        return law

    def vector(self, point: int) -> tuple[int, ...]:
        """The coordinates of a point; the first that is not 0 is 1."""
        q, tail = self.order, 0
        while point >= count(q, tail + 1):
            tail += 1
        number = point - count(q, tail) + q**tail
        return tuple(number // q**j % q for j in range(self.length - 1, -1, -1))


def count(q: int, t: int) -> int:
    """How many points the projective space of F^t has.

    >>> count(4, 6)
    1365
    """
    return (q**t - 1) // (q - 1)


@lru_cache(maxsize=256)
def _shape(epsilon: Fraction, size: int) -> tuple[int, int]:
    """q and t: the field of least variance whose space a server can keep and decode."""
    best: tuple[float, int, int] | None = None
    for q in orders():
        t = 2
        while count(q, t) < size:
            t += 1
        if count(q, t) > CELLS or max(t - 2, 1) * q ** (t + (t > 2)) > WORK:
            continue
        on, both = count(q, t - 1), count(q, t - 2)
        predicted = spread(float(epsilon), inside=on, both=both, outside=count(q, t) - on)
        if best is None or predicted < best[0]:
            best = predicted, q, t
    if best is None:
        raise UnsupportedError(f"a space with a point for each of {size} values is too large: use HadamardResponse")
    return best[1:]


@lru_cache(maxsize=256)
def _truth(epsilon: Fraction, q: int, t: int) -> Fraction:
    on = count(q, t - 1)
    return favoured(epsilon, inside=on, outside=count(q, t) - on)
