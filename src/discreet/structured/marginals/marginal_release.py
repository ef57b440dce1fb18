"""The optimal Gaussian release of marginal tables, on any mixed domain, without listing the universe.

The residuals of the tables (`residual.py`) are measured, each once, in integer coordinates h_c x.
Let sigma_A^2 be the noise of the plan for a sensitivity of 1, T an integer, and m_c = floor(T / (sigma_A sqrt(N_c))).

Theorem.  The integers m_c h_c x, over all residuals and coordinates, move by at most T in l2 when a row is added or
removed, and by at most T times the root of `replaced` when a row changes.  So independent discrete Gaussian noise
Z_c of one variance, calibrated to that, keeps the budget at the price of the continuous optimum.  What is released,
h_c x + Z_c / m_c, has the variance of the plan up to the rounding of m_c, and the tables rebuilt from it
agree wherever they share columns.  Proof: docs/theory/marginal_release.md.

The answers are then made non-negative (`consistency.py`), which costs nothing; the release keeps
the others as `unbiased`, and `variances`, `errors` and `accuracy` of the mechanism are about these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.enclosure import root_up
from discreet.privacy.event import Event, PureEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import exact
from discreet.queries.marginals import Marginals
from discreet.queries.workload import swaps
from discreet.release.errors import Adjusted
from discreet.release.factorization_errors import NormalSums
from discreet.release.noise import relation_for
from discreet.release.release import Release
from discreet.structured.marginals.consistency import non_negative
from discreet.structured.marginals.residual import Residuals, inverse_norms, residuals_of
from discreet.structured.marginals.residual_plan import EXCESS, Objective, Plan, checked, plan, replaced
from discreet.structured.marginals.residual_tables import answers, measured, source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from discreet.structured.marginals.residual import Floats

FINEST = 51  # sigma of the integer noise is at most 2^FINEST: the sampler's 64-bit range
LEAST = 1 << 16  # multipliers below this would be rounded too coarsely
ROUNDING = Fraction(EXCESS)  # relative, well above the error of the floats that the multipliers come from
UNLIKE = 1 << 64  # the largest weight over the least: squares of their ratios stay far from underflow
EXTREME = 1 << 256  # no weight is larger, or smaller than 1 over this: nor do squares of weights overflow or vanish


@dataclass(frozen=True, repr=False, eq=False)
class MarginalRelease:
    """Release marginal tables with the least total (or the least largest) variance that Gaussian noise can have.

    Without `n` one row may be added or removed; with a public `n` one row may be replaced.  Weights of the workload
    multiply its answers, so a table of weight 2 gets less noise.

    >>> from discreet.data.columns import Boolean, Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.records import Records
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({"age": Integer(0, 9), "icu": Boolean(), "smokes": Boolean()})
    >>> release = MarginalRelease(marginals(domain, 2), budget=ZCDP(0.5))
    >>> tables = release(Records.random(domain, 500, seed=1))
    >>> tables.answers.shape, release.variances()[:1].round(3).tolist(), release.privacy().rho
    ((44,), [1.636], 0.5)
    """

    workload: Marginals
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    objective: Objective = field(default="total", kw_only=True)

    def __post_init__(self) -> None:
        require(isinstance(self.workload, Marginals), "a workload of marginals", workload=type(self.workload).__name__)
        require(self.objective in ("total", "max"), "objective 'total' or 'max'", objective=self.objective)
        least, largest = min(self.workload.weights), max(self.workload.weights)
        if largest > UNLIKE * least or largest > EXTREME or least * EXTREME < 1:
            raise UnsupportedError(
                "weights within a factor of 2^64 of one another, and within 2^256 of 1, are planned for;"
                " leave out a table that hardly counts, or release it on its own"
            )
        if swaps(self.neighbours) and self.n is None:
            raise UnsupportedError("where a row is replaced the number of rows is public: pass n=")
        match self.budget:
            case ZCDP():
                require(exact(self.budget.rho) > 0, "rho > 0", rho=self.budget.rho)
            case ApproxDP():
                require(exact(self.budget.epsilon) > 0, "epsilon > 0", epsilon=self.budget.epsilon)
                require(exact(self.budget.delta) > 0, "delta > 0 (IndependentNoise has none)", delta=self.budget.delta)
            case _:
                raise UnsupportedError(
                    f"marginals with Gaussian noise are paid in ApproxDP or ZCDP, got {type(self.budget).__name__};"
                    " IndependentNoise and Factorization take PureDP"
                )

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @cached_property
    def residuals(self) -> Residuals:
        """What the tables are made of."""
        return residuals_of(self.workload)

    @cached_property
    def plan(self) -> Plan:
        """The noise of each residual for a sensitivity of 1, with weights in units of the largest."""
        import numpy as np

        largest, known = max(self.workload.weights), swaps(self.neighbours)
        weights = np.array([float(weight / largest) ** 2 for weight in self.workload.weights])
        found = plan(self.residuals, weights, objective=self.objective, n_public=known)
        return checked(self.residuals, found, n_public=known)

    @cached_property
    def _unit(self) -> tuple[int, Gaussian | None]:
        """T, and the noise of the integers; None where nothing is measured."""
        square = Fraction(replaced(self.residuals, self.plan)) if swaps(self.neighbours) else Fraction(1)
        if not (self.plan.noise > 0).any():
            return 1, None
        wanted = math.sqrt(square) * _sigma(self.budget)
        scale = 1 << max(0, FINEST - max(0, math.ceil(math.log2(wanted))))
        if self._least(scale) < LEAST:
            most = 2.0 ** (FINEST - math.ceil(math.log2(LEAST / self._least(1))))
            raise UnsupportedError(
                f"the budget {self.budget} is too small to measure so many tables: at most a noise of {most:.3g} counts"
                f" is served, this one has {wanted:.3g}; IndependentNoise serves it, or a larger budget"
            )
        sensitivity = root_up(square * scale**2)
        if isinstance(self.budget, ZCDP):
            largest = Gaussian.with_sigma(1, sensitivity=sensitivity).square
            sigma = root_up(largest * (1 + ROUNDING) / (2 * exact(self.budget.rho)))
            return scale, Gaussian.with_sigma(sigma, sensitivity=sensitivity)
        assert isinstance(self.budget, ApproxDP)
        size = self.residuals.coordinates
        epsilon, delta = self.budget.epsilon, self.budget.delta
        return scale, Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity, dimension=size)

    def multipliers(self, numbers: npt.NDArray[np.int64], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """m_c for some residuals of one shape: a row for each residual, rounded down."""
        import numpy as np

        scale, _ = self._unit
        precise = (1 - float(ROUNDING)) * scale / np.sqrt(self.plan.noise[numbers])
        found = np.floor(np.multiply.outer(precise, inverse_norms(shape).ravel()))
        if not ((found >= 1) & (found < 1 << 62)).all():  # a multiplier of 0, or beyond 64 bits, would undo the noise
            raise UnsupportedError("these tables cannot be measured on the lattice of integers")
        return found.astype(np.int64)

    def _least(self, scale: int) -> float:
        """The least multiplier, which is the most coarsely rounded one: at the last coordinate of a residual."""
        largest = [math.sqrt(math.prod(k * (k - 1) for k in block.shape)) for block in self.residuals.blocks]
        noise = [float(self.plan.noise[b.first : b.first + b.count].max()) for b in self.residuals.blocks]
        return min(scale / (math.sqrt(s) * norm) for s, norm in zip(noise, largest, strict=True) if s > 0)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """The tables of a histogram, of encoded rows, of a frame or file, or of a `Table` on any engine."""

        def drawn(
            values: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64], shape: tuple[int, ...]
        ) -> npt.NDArray[np.float64]:
            return self.noisy(values, numbers, shape, rng=rng)

        values = measured(self.residuals, source(data, self.workload, self.neighbours), drawn)
        unbiased = answers(self.residuals, values, self.workload)
        made = non_negative(self.residuals, values, self.workload)
        errors = Adjusted(self.errors(), unbiased=unbiased, answers=made)
        return Release(workload=self.workload, answers=made, guarantee=self.privacy(), errors=errors)

    def noisy(
        self,
        values: npt.NDArray[np.int64],
        numbers: npt.NDArray[np.int64],
        shape: tuple[int, ...],
        *,
        rng: RandomSource | None = None,
    ) -> npt.NDArray[np.float64]:
        """h_c x + Z_c / m_c, from quotient and remainder of m_c h_c x + Z_c by m_c: a function of that integer.

        Of some residuals of one shape; the noise is for all residuals together, once each.
        """
        import numpy as np

        if not shape and swaps(self.neighbours):
            return np.full(values.shape, float(self.n or 0))
        _, mechanism = self._unit
        assert mechanism is not None
        m = self.multipliers(numbers, shape)
        noise = np.asarray(mechanism(np.zeros(values.shape, dtype=np.int64), rng=rng))
        quotient, remainder = np.divmod(noise, m)
        return (values + quotient) + remainder / m

    def table_variances(self) -> Floats:
        """The variance of a cell of each table, before the weights."""
        import numpy as np

        scale, mechanism = self._unit
        if mechanism is None:
            return np.zeros(len(self.workload.sets))
        return self.residuals.variances(self.plan.noise) * (float(exact(mechanism.sigma)) / scale) ** 2

    def variances(self) -> npt.NDArray[np.float64]:
        """The variance of each unbiased answer."""
        import numpy as np

        weights = np.array([float(weight) ** 2 for weight in self.workload.weights])
        return np.repeat(weights * self.table_variances(), self.workload.sizes)

    def variance_kinds(self) -> tuple[Floats, npt.NDArray[np.int64]]:
        """The variance of each table, and how many answers it has."""
        import numpy as np

        weights = np.array([float(weight) ** 2 for weight in self.workload.weights])
        return weights * self.table_variances(), np.array(self.workload.sizes)

    def errors(self) -> NormalSums:
        """Those of the unbiased answers: sums of independent discrete Gaussians, with the rounding of multipliers."""
        import numpy as np

        scale, mechanism = self._unit
        rounding, sigma = (1.0, 1.0) if mechanism is None else (1 + 2 / self._least(scale), float(mechanism.sigma))
        weights = np.array([float(weight) for weight in self.workload.weights])
        spread, runs = rounding * weights * np.sqrt(self.table_variances()), np.array(self.workload.sizes)
        return NormalSums(spread, sigma=sigma, draws=self.residuals.coordinates, runs=runs)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no unbiased answer is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What ran, for the accountant."""
        _, mechanism = self._unit
        return PureEvent(epsilon=0) if mechanism is None else mechanism.event()

    def __repr__(self) -> str:
        return f"MarginalRelease({len(self.workload.sets)} tables, {self.budget!r})"


def _sigma(budget: Guarantee) -> float:
    """About the noise for a sensitivity of 1."""
    if isinstance(budget, ZCDP):
        return math.sqrt(1 / (2 * float(exact(budget.rho))))
    assert isinstance(budget, ApproxDP)
    return analytic_sigma(epsilon=budget.epsilon, delta=budget.delta, sensitivity=1)
