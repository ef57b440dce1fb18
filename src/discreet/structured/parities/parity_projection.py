"""All parities of t attributes at once: Gaussian noise, then the nearest values that some data could have.

Theorem (Dwork, Nikolov, Talwar 2015).  For rows v in {-1, 1}^d let y_U be the sum over rows of the product of the v_i
with i in U, for all k = C(d, t) sets U of t attributes.  Two neighbours have

    Replace     ||y - y'||^2 <= 4 max over a of N(a),   N(a) = sum over odd u of C(a, u) C(d - a, t - u),
    AddRemove   ||y - y'||^2  = C(d, t);                m n is measured beside y, which adds m^2,

and for t = 2 the first is 4 floor(d^2 / 4): d^2 for even d.  Noise is calibrated to this (`noise_for`), and the
projection on n times a convex body that contains v v^T for every row costs nothing more.  It never moves the answers
away from the truth, and for t = 2 its mean squared error is at most sigma n d^(3/2) / k in counts: as fractions, an
rms of sqrt(2 s sqrt d / n) for sigma = s d, against s d / n without it.  Proof: docs/theory/parity_projection.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.errors import DomainError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.queries.workload import swaps
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.structured.conjunctions.conjunction_rows import boolean_rows
from discreet.structured.parities.correlation import nearest_correlation
from discreet.structured.parities.grothendieck import nearest_inner_products
from discreet.structured.parities.parity_projection_answers import ParityAnswers
from discreet.structured.parities.parity_projection_bounds import Shape
from discreet.structured.parities.parity_projection_exact import LARGEST, nearest_in_polytope
from discreet.structured.parities.parity_projection_lift import LARGEST as LIFTED
from discreet.structured.parities.parity_projection_lift import (
    as_matrix,
    as_pairs,
    nearest_parities,
    true_parities,
)

if TYPE_CHECKING:
    from discreet.structured.parities.correlation import Vector

Body = Literal["elliptope", "grothendieck", "exact", "auto"]
EXACT = 12  # "auto" takes the polytope itself up to so many attributes: a moment's work


@dataclass(frozen=True, kw_only=True, slots=True)
class ParityProjection:
    """Release the parities of all sets of `t` attributes as fractions between -1 and 1.

    With a public `n` one row may be replaced.  Under a budget for AddRemove, or without `n`, the number of rows is
    private and is measured with a small share of the budget; a given `n` then serves forecasts only.

    >>> import numpy as np
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> rows = np.where(np.random.default_rng(0).random((1000, 40)) < 0.6, 1, -1)
    >>> projection = ParityProjection(d=40, n=1000, budget=ApproxDP(1.0, 1e-6))
    >>> release = projection(rows)
    >>> release.answers.shape, release.privacy().neighbours.__name__
    ((780,), 'Replace')
    >>> projection.helps, round(projection.rms(beta=0.05), 3)
    (True, 0.182)
    """

    d: int
    budget: Guarantee
    n: int | None = None
    t: int = 2
    body: Body = "auto"

    def __post_init__(self) -> None:
        _whole("d", self.d, least=2)
        _whole("t", self.t, least=2)
        require(self.t <= self.d, "t <= d", t=self.t, d=self.d)
        known = self.body in ("elliptope", "grothendieck", "exact", "auto")
        require(known, "a body elliptope, grothendieck, exact or auto", body=self.body)
        require(self.body != "exact" or self.d <= LARGEST, f"d <= {LARGEST} for the exact body", d=self.d)
        if self.t > 2:
            require(self.body in ("elliptope", "auto"), "body elliptope or auto for t > 2", body=self.body)
            half = (self.t + 1) // 2
            products = math.comb(self.d + self.t % 2, half)
            require(products <= LIFTED, f"at most {LIFTED} products of {half} attributes", d=self.d, t=self.t)
        if swaps(self.neighbours):
            require(self.n is not None, "a public n where rows are replaced", n=self.n)
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def chosen(self) -> str:
        """The body projected on."""
        if self.body != "auto":
            return self.body
        return "exact" if self.t == 2 and self.d <= EXACT else "elliptope"

    @property
    def multiplier(self) -> int:
        """m: the number of rows is measured as m n where it is private, and costs about a sixteenth of the variance."""
        return 0 if swaps(self.neighbours) else max(1, math.isqrt(math.comb(self.d, self.t)) // 4)

    @property
    def noise(self) -> Noise:
        """The noise of every parity, and of m n."""
        parities, m = math.comb(self.d, self.t), self.multiplier
        if m:
            return noise_for(self.budget, absolute=parities + m, square=parities + m * m, size=parities + 1)
        moved = max(_odd(self.d, self.t, a) for a in range(self.d + 1))
        return noise_for(self.budget, absolute=2 * moved, square=4 * moved, size=parities)

    @property
    def sd(self) -> float:
        """The standard deviation of the noise on each count, before the projection."""
        return math.sqrt(variance(self.noise))

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> ParityAnswers:
        """Noisy, projected parities of rows of signs or booleans, or of encoded two-valued columns."""
        import numpy as np

        rows = boolean_rows(data, d=self.d)
        if not self.multiplier and len(rows) != self.n:
            raise DomainError("the data does not have the n rows that were declared public")
        signs = rows.astype(np.int8) * np.int8(2) - np.int8(1)
        true = true_parities(signs, self.t)
        if not self.multiplier:
            assert self.n is not None
            noisy, size = np.asarray(self.noise(true, rng=rng), dtype=np.float64), self.n
        else:
            both = np.append(true, self.multiplier * len(rows))
            drawn = np.asarray(self.noise(both, rng=rng), dtype=np.float64)
            noisy, size = drawn[:-1], max(1, round(float(drawn[-1]) / self.multiplier))
        return ParityAnswers(mechanism=self, answers=self._projected(noisy / size), n=size)

    def _projected(self, noisy: Vector) -> Vector:
        """The nearest point of the body."""
        if self.t > 2:
            return nearest_parities(noisy, d=self.d, t=self.t)
        project = {
            "elliptope": nearest_correlation,
            "grothendieck": nearest_inner_products,
            "exact": nearest_in_polytope,
        }[self.chosen]
        return as_pairs(project(as_matrix(noisy, self.d)))

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha with Pr[some fraction is off by more than alpha] <= beta: the root of the sum of squares, no better."""
        return min(2.0, math.sqrt(math.comb(self.d, self.t)) * self.rms(beta))

    def rms(self, beta: float = 0.05) -> float:
        """A bound on the root mean squared error of the fractions, whatever the data, but with probability beta."""
        require(0 < beta < 1, "0 < beta < 1", beta=beta)
        n, k, slack = self._forecast(), math.comb(self.d, self.t), math.log(4 / beta)
        off = self.rounding(beta)
        if isinstance(self.noise, Laplace):
            squares = 2 * k * variance(self.noise) / beta  # Markov
        else:
            shape = self._shape()
            squares = min(shape.raw(slack), shape.squares(n, slack))
        least = n - off
        return 2.0 if least <= 0 else min(2.0, math.sqrt(squares / k) / least + (n - least) / least)

    def rounding(self, beta: float) -> float:
        """What the measured number of rows is off by, but with a part of beta: 0 where it is public."""
        if not self.multiplier:
            return 0.0
        if isinstance(self.noise, Laplace):
            return 1 + self.sd * math.sqrt(2 / beta) / self.multiplier  # Chebyshev
        return 1 + self.sd * math.sqrt(2 * math.log(8 / beta)) / self.multiplier

    @property
    def helps(self) -> bool:
        """Whether the projection can gain much: n within `useful`."""
        low, high = self.useful
        return low < self._forecast() < high

    @property
    def useful(self) -> tuple[float, float]:
        """The numbers of rows between which the projection is of use.

        Below the first nothing is left that the answer 0 would not say.  Above the second the noise is smaller than the
        spectrum of unrelated attributes, and is left as it is.  For t = 2 and replaced rows they are s sqrt d and
        2 s d^(3/2), where sigma = s d.
        """
        shape = self._shape()
        reach = self.sd * shape.width
        return reach / (2 * shape.parities), reach * shape.times / shape.products

    def explain(self) -> str:
        """What to expect, from public facts.

        >>> from discreet.privacy.guarantee import ApproxDP
        >>> print(ParityProjection(d=100, n=50_000, budget=ApproxDP(1.0, 1e-6)).explain())
        4950 parities of 2 attributes; noise of sd 422.5 on each count, projected on the elliptope.
        With n = 50000 rows the raw noise is about as good: projection gains for 43 < n < 8449.
        """
        low, high = self.useful
        body = {"exact": "polytope itself", "grothendieck": "Grothendieck body"}.get(self.chosen, "elliptope")
        k, spread = math.comb(self.d, self.t), f"noise of sd {self.sd:.1f} on each count"
        gains = f"projection gains for {low:.0f} < n < {high:.0f}."
        if self.n is None:
            verdict = gains.capitalize()
        elif self.n <= low:
            verdict = f"With n = {self.n} rows nothing is learnt that the answer 0 would not say: {gains}"
        elif self.n >= high:
            verdict = f"With n = {self.n} rows the raw noise is about as good: {gains}"
        else:
            verdict = f"With n = {self.n} rows it helps: {gains}"
        return f"{k} parities of {self.t} attributes; {spread}, projected on the {body}.\n{verdict}"

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()

    def _shape(self) -> Shape:
        return Shape(d=self.d, t=self.t, body=self.chosen, sigma=self.sd)

    def _forecast(self) -> int:
        if self.n is None:
            raise UnsupportedError("the error of a fraction depends on the number of rows; say about how many: n=")
        return self.n


def _odd(d: int, t: int, a: int) -> int:
    """How many sets of t attributes contain an odd number of the a that differ."""
    return sum(math.comb(a, u) * math.comb(d - a, t - u) for u in range(1, t + 1, 2))


def _whole(name: str, value: int, *, least: int) -> None:
    whole = isinstance(value, int) and not isinstance(value, bool)
    require(whole and value >= least, f"an integer {name} >= {least}", **{name: value})
