"""The factorization mechanism in the local model: any workload of statistical queries from one report a user.

Theorem (Edmonds, Nikolov, Ullman 2020; the constants and the centring ours).  Let the workload W have a column for
each value x, let v be any public vector, and let W - v 1^T = R A with all columns of A of norm at most L.  A user with
value x sends an epsilon-DP unbiased report of column x of A by an l2-ball randomizer, and the server answers
v + R (mean report).  The answers are unbiased for the means of the queries over the n users.  If a report for a unit
direction u has mean square `along` in the direction u and `across` in every other, answer i has the variance

    (1/n) mean over users of  across |R_i|^2 + (along - across) (R_i . u)^2 - (W_ix - v_i)^2,

so the largest standard deviation is about |R_i| L sqrt(pi / 2) / (tanh(epsilon / 2) sqrt(n)) for Duchi's directions and
less for PrivUnit; with the best factors |R_i| L is gamma_2(W - v 1^T).  Everybody reports, so there is no sampling
error among the users.  Repeating a query changes neither gamma_2 nor the error.  Proof:
docs/theory/local_factorization.md.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

from discreet.errors import UnsupportedError, require
from discreet.local.chernoff import bernstein
from discreet.local.coins import positive, whole
from discreet.local.duchi import DuchiVector
from discreet.local.factors import Factors, ThresholdFactors, factors_of
from discreet.local.one_bit import OneBitMean
from discreet.local.privunit import PrivUnit
from discreet.local.protocol import LocalProtocol, cells_of
from discreet.local.sampled_thresholds import SampledThresholds
from discreet.local.vectors import VectorProtocol
from discreet.privacy.number import Number, exact

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.hazmat.entropy import RandomSource
    from discreet.local.protocol import Array, Tally
    from discreet.local.wire import Form
    from discreet.queries.workload import Workload

    Floats = npt.NDArray[np.float64]

Randomizer = Literal["best", "duchi", "privunit", "sampled"]
BALLS = {"duchi": DuchiVector, "privunit": PrivUnit}
LONGEST = 1 << 16  # coordinates of a report
LENGTHENED = 1 + 2.0**-20  # rounding to the lattice may make a report this much longer


@dataclass(frozen=True, eq=False, repr=False)
class LocalFactorization(LocalProtocol):
    """Answers to a workload over the cells 0 .. N - 1; each user holds the number of a cell.

    `workload` is a workload or a matrix (queries, cells).  `strategy` is a matrix A to be used instead of the best one,
    as it must be where clients and servers are not sure to compute the same factors.  `randomizer` is "duchi", whose
    privacy is exact, "privunit", whose errors are smaller and whose privacy has the reservation of its module about
    floating point, or for thresholds "sampled", which is exact, sends a few bits and takes constant time; the one of
    least predicted variance unless said.

    >>> from discreet.hazmat.entropy import SeededRandom
    >>> from discreet.local.protocol import run
    >>> from discreet.queries.ordered import thresholds
    >>> protocol = LocalFactorization(thresholds(16), epsilon=1.0)
    >>> round(protocol.norm, 4), round(protocol.variance(1), 2)
    (1.3434, 9.92)
    >>> server = run(protocol, [3] * 1000 + [9] * 3000, rng=SeededRandom(1))
    >>> bool(abs(server.estimate()[8] - 0.25) < server.error(0.05)[8])
    True
    """

    workload: Workload | npt.ArrayLike
    epsilon: Number = field(kw_only=True)
    strategy: npt.ArrayLike | None = field(default=None, kw_only=True)
    randomizer: Randomizer = field(default="best", kw_only=True)

    def __post_init__(self) -> None:
        positive(self.epsilon)
        known = self.randomizer in ("best", "duchi", "privunit", "sampled")
        require(known, 'randomizer "best", "duchi", "privunit" or "sampled"', randomizer=self.randomizer)
        self.inner  # noqa: B018 - refuse what is too large, or has too little

    def __repr__(self) -> str:
        queries, cells = self.factors.queries, self.factors.cells
        return f"LocalFactorization({queries} queries over {cells} cells, epsilon={self.epsilon})"

    @cached_property
    def factors(self) -> Factors:
        """R, A and v."""
        return factors_of(self.workload, strategy=self.strategy)

    @property
    def norm(self) -> float:
        """The largest norm of a row of R times L: gamma_2 of the centred workload, if the factors are the best."""
        return float(self.factors.rows.max(initial=0.0)) * self.factors.radius

    @cached_property
    def inner(self) -> LocalProtocol:
        """The randomizer: of the columns of A, scaled to the unit ball, or of the values themselves."""
        made, epsilon = self.factors, self.epsilon
        candidates: list[LocalProtocol] = []
        if self.randomizer in ("best", "sampled") and isinstance(made, ThresholdFactors):
            candidates.append(SampledThresholds(epsilon=epsilon, size=made.cells))
        if self.randomizer != "sampled" and made.dimension == 1:
            candidates.append(OneBitMean(epsilon=epsilon))
        elif made.dimension <= LONGEST:
            kinds = [kind for name, kind in BALLS.items() if self.randomizer in ("best", name)]
            candidates += [kind(epsilon=epsilon, dimension=made.dimension) for kind in kinds]
        if not candidates:
            raise UnsupportedError("sampled frequencies are for thresholds, and other reports for few coordinates")
        return min(candidates, key=self._worst)

    def _worst(self, inner: LocalProtocol) -> float:
        if isinstance(inner, SampledThresholds):
            return inner.variance(1)
        return float(self._variances(inner).max(initial=0.0))

    def _variances(self, inner: LocalProtocol) -> Floats:
        """For each query, the variance of one report's answer for the worst cell."""
        along, across = _squares(inner)
        made = self.factors
        return made.worst(across * made.radius**2, (along - across) * made.radius**2)

    @property
    def form(self) -> Form:
        """That of the randomizer."""
        return self.inner.form

    @property
    def cells(self) -> int:
        """Those of the randomizer."""
        return self.inner.cells

    def checked(self, values: object) -> Array:
        """Cells."""
        return cells_of(values, self.factors.cells)

    def draw(self, values: Array, random: RandomSource) -> Array:
        """A randomised column of A for each user."""
        inner = self.inner
        if isinstance(inner, SampledThresholds):
            return inner.draw(values, random)
        rows = self.factors.encode(values) / self.factors.radius
        shaped = rows[:, 0].clip(-1, 1) if isinstance(inner, OneBitMean) else rows
        return inner.draw(inner.checked(shaped), random)

    def tally(self, reports: Array) -> Tally:
        """The sums of the coordinates."""
        return self.inner.tally(reports)

    def decode(self, tally: Tally, n: int) -> Floats:
        """v + R (mean report): one fraction or mean for each query, unbiased."""
        import numpy as np

        found = self.inner.decode(tally, n)
        if isinstance(self.inner, SampledThresholds):
            return found
        mean = np.atleast_1d(np.asarray(found, dtype=np.float64))
        return self.factors.decode(mean * self.factors.radius)

    def bound(self, tally: Tally, n: int, beta: float) -> Floats:
        """For each answer alone, by Bernstein: reports have bounded length."""
        import numpy as np

        inner, made = self.inner, self.factors
        if isinstance(inner, SampledThresholds):
            return inner.bound(tally, n, beta)
        longest = 1 / float(inner.slope) if isinstance(inner, OneBitMean) else cast("VectorProtocol", inner).length
        reach = made.rows * made.radius * (longest * LENGTHENED + 1)
        pairs = zip(self._variances(inner).tolist(), reach.tolist(), strict=True)
        return np.array([bernstein(v, reach=r, n=n, beta=beta) for v, r in pairs])

    def variance(self, n: int) -> float:
        """The largest variance of an answer, for the worst data."""
        whole("n", n, least=1)
        return self._worst(self.inner) / n

    def law(self, value: Any) -> Any:  # noqa: ANN401 - as in the base
        """Listed where a report is one bit or a point of a circle."""
        inner = self.inner
        if isinstance(inner, SampledThresholds):
            return inner.law(value)
        if not isinstance(inner, OneBitMean):
            raise UnsupportedError("reports in more than one dimension are too many to list")
        import numpy as np

        share = float(self.factors.encode(np.array([value]))[0, 0]) / self.factors.radius
        return inner.law(min(1.0, max(-1.0, share)))

    def inputs(self) -> list[int]:
        """All cells."""
        return list(range(self.factors.cells))

    def fingerprint(self) -> bytes:
        """Eight bytes that tell these factors and parameters from others; factors are compared to six decimals."""
        parts = ["LocalFactorization", str(exact(self.epsilon)), type(self.inner).__name__, self.factors.name]
        return hashlib.sha256("|".join(parts).encode()).digest()[:8]


def _squares(inner: LocalProtocol) -> tuple[float, float]:
    """The mean squares of a report for a unit direction, along it and across."""
    if isinstance(inner, OneBitMean):
        return float(1 / inner.slope**2), 0.0
    if isinstance(inner, DuchiVector):
        return inner.coordinate_variance(), inner.coordinate_variance()
    assert isinstance(inner, PrivUnit)
    along = inner.cap.square
    return inner.length**2 * along, inner.length**2 * (1 - along) / (inner.dimension - 1)


def repeated_error(queries: int, *, n: int, epsilon: Number) -> tuple[float, float]:
    """The standard deviation of m copies of one query in [-1, 1]: by factorization, and by splitting the users.

    >>> copies, split = repeated_error(100, n=10_000, epsilon=1.0)
    >>> round(copies, 4), round(split / copies, 2)
    (0.0216, 10.0)
    """
    whole("queries", queries, least=1)
    whole("n", n, least=queries)
    made = LocalFactorization([[1, 0, -1]] * queries, epsilon=epsilon)
    one = OneBitMean(epsilon=epsilon)
    return math.sqrt(made.variance(n)), math.sqrt(one.variance(1) * queries / n)
