"""The factorization mechanism: measure a better set of queries, and combine the answers to the workload.

Theorem (Li, Hay, Rastogi, Miklau, McGregor 2010; Nikolov, Talwar, Zhang 2013; Edmonds, Nikolov, Ullman 2020).
Let W x = L y with y integer coordinates of the data, and A an integer matrix of full column rank.  Releasing A y + Z,
with discrete noise calibrated to the exact largest norm of A t over what neighbours move y by, keeps the budget, and

    L (A^T A)^-1 A^T (A y + Z)

are answers with mean W x, query i of standard deviation sigma |R_i| for R = L (A^T A)^-1 A^T.  With the best A the
largest is gamma_2(W) times that of one counting query, and no A has less than `lower_bound` times that.  Means are
exact but for floating-point error in the last step, of relative size 2^-52 times the condition number of A.
Proof: docs/theory/factorization.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event
from discreet.privacy.guarantee import ZCDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import exact
from discreet.queries.combined import Kronecker
from discreet.queries.ordered import Ranges, Thresholds
from discreet.queries.workload import Workload, a_matrix, a_workload, swaps
from discreet.release.counted import counted
from discreet.release.factorization_errors import LaplaceSums, NormalSums
from discreet.release.factorization_space import CellSpace, QuerySpace, Space, spaces_of
from discreet.release.gamma2 import FINE, LARGEST, Gamma2, factors, rounded_down
from discreet.release.gamma2_solver import Objective
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.release.release import Release
from discreet.release.strategies import Strategy, tree
from discreet.release.strategies_product import ProductStrategy
from discreet.release.strategies_pure import pure_strategies
from discreet.threads import threads_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from discreet.release.gamma2_sets import Reals


LISTED = 1 << 27  # queries, and cells, of a product of workloads


@dataclass(frozen=True, eq=False, repr=False)
class Factorization:
    """Answer a workload through the strategy with the least error: optimised, a tree, or the cells themselves.

    Without `n` one row may be added or removed; with a public `n` one row may be replaced, and n is not measured.
    `objective` is the largest error ("max") or the total squared error ("total"); `strategy` may be a matrix over the
    cells, "identity", "tree" or "optimal" instead of the best.  The optimisation runs when it is first needed.
    Workloads are written out up to 2048 cells or queries; larger Kronecker products are factored one by one.

    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import ApproxDP
    >>> from discreet.queries.ordered import thresholds
    >>> w = thresholds(16)
    >>> mechanism = Factorization(w, budget=ApproxDP(1.0, 1e-6))
    >>> round(mechanism.gamma2, 4), mechanism.lower_bound <= mechanism.gamma2  # independent noise would have 4
    (1.7045, True)
    >>> release = mechanism(Histogram.random(w.domain, n=500, seed=1))
    >>> release.answers.shape, release.privacy().epsilon
    ((16,), 1.0)
    """

    workload: Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    objective: Objective = field(default="max", kw_only=True)
    strategy: str | npt.ArrayLike | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        a_workload(self.workload)
        require(self.objective in ("max", "total"), 'objective "max" or "total"', objective=self.objective)
        if isinstance(self.strategy, str):
            known = self.strategy in ("identity", "tree", "optimal")
            require(known, 'strategy "identity", "tree" or "optimal", or a matrix', strategy=self.strategy)
            ordered = isinstance(self.workload, Thresholds | Ranges)
            require(self.strategy != "tree" or ordered, "thresholds or ranges for a tree", strategy=self.strategy)
        noise_for(self.budget, absolute=1, square=1, size=1)  # refuse a bad budget now
        given = self.strategy is not None and not isinstance(self.strategy, str)
        if self._large:
            require(not given, "a named strategy for a product of workloads", strategy="a matrix")
            if max(self.workload.shape) > LISTED:
                raise UnsupportedError(f"products are factored for up to {LISTED} queries and cells")
            self._parts  # noqa: B018 - refuse factors that are too large
        else:
            self._given if given else self._spaces  # noqa: B018 - refuse what is too large, or has too little

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @cached_property
    def _spaces(self) -> list[Space]:
        return spaces_of(self.workload, self.neighbours, n=self.n, both=self._laplace)

    @property
    def _laplace(self) -> bool:
        """Whether noise may be Laplace."""
        return not isinstance(self.budget, ZCDP)

    @property
    def _dense_noise(self) -> bool:
        """Whether the best strategy for Gaussian noise is worth its time: it has large columns in l1."""
        return not isinstance(self.budget, PureDP) or self._spaces[0].rows.dimension <= FINE

    @property
    def _large(self) -> bool:
        return isinstance(self.workload, Kronecker) and self.workload.domain.size > LARGEST

    @cached_property
    def _parts(self) -> tuple[Factorization, ...]:
        """The factors of a product that is too large to be written out, each by itself."""
        workload = self.workload
        if not self._large or not isinstance(workload, Kronecker):
            return ()
        budget, objective, strategy = ZCDP(Fraction(1, 2)), self.objective, self.strategy
        return tuple(
            Factorization(factor, budget=budget, objective=objective, strategy=strategy) for factor in _flat(workload)
        )

    @cached_property
    def _optimum(self) -> Gamma2:
        space = self._spaces[0]
        return factors(space.rows, space.columns, objective=self.objective)

    @cached_property
    def _given(self) -> Strategy:
        import numpy as np

        made = Strategy.over_cells("given", a_matrix(self.strategy), self._cells)
        rank, columns = int(np.linalg.matrix_rank(made.matrix)), made.entries.shape[1]
        require(rank == columns, "a strategy of full column rank", rank=rank, columns=columns)
        return made

    @property
    def _cells(self) -> CellSpace:
        return CellSpace(self.workload, self.neighbours, self.n if swaps(self.neighbours) else None)

    @cached_property
    def _optimal(self) -> Strategy | ProductStrategy:
        if self._parts:
            return self._product("optimal", self._parts)
        return Strategy.rounded("optimal", self._optimum.right, self._spaces[0])

    def _product(self, name: str, parts: tuple[Factorization, ...]) -> ProductStrategy:
        assert isinstance(self.workload, Kronecker)
        chosen = [part.measured for part in parts if isinstance(part.measured, Strategy)]
        assert len(chosen) == len(parts)
        return ProductStrategy(name, self.workload, tuple(chosen))

    @cached_property
    def measured(self) -> Strategy | ProductStrategy:
        """The strategy with the least error of the candidates."""
        queries, cells = self.workload.shape
        with threads_for(max(min(queries * cells, cells * cells), cells)):
            return min(self._candidates(), key=self._cost)

    def _candidates(self) -> Iterator[Strategy | ProductStrategy]:
        import numpy as np

        wanted, cells = self.strategy, self.workload.domain.size
        if self._parts:
            yield self._optimal
            if self._laplace and wanted is None:
                pure = [replace(part, budget=PureDP(1)) for part in self._parts]
                yield self._product("Laplace", tuple(pure))
            return
        if wanted is not None and not isinstance(wanted, str):
            yield self._given
            return
        if wanted == "optimal" or (wanted is None and self._dense_noise):
            yield self._optimal
        if wanted in (None, "identity") and cells - swaps(self.neighbours) <= LARGEST:
            yield Strategy.over_cells("identity", np.eye(cells), self._cells)
        if wanted is None and isinstance(self._spaces[0], QuerySpace):
            yield Strategy.rounded("queries", np.eye(self._spaces[0].rows.dimension), self._spaces[0])
        if wanted in (None, "tree") and isinstance(self.workload, Thresholds | Ranges):
            yield Strategy.over_cells("tree", tree(cells), self._cells)
        if wanted is None and self._laplace:
            for space in self._spaces:
                yield from pure_strategies(space, self.workload, objective=self.objective)

    def _noise(self, strategy: Strategy | ProductStrategy) -> Noise:
        neighbours = self.neighbours
        return noise_for(
            self.budget,
            absolute=strategy.absolute(neighbours),
            square=strategy.squared(neighbours),
            size=strategy.size,
        )

    def _cost(self, strategy: Strategy | ProductStrategy) -> float:
        spread = strategy.variances
        cost = float(spread.max() if self.objective == "max" else spread.mean())
        return variance(self._noise(strategy)) / strategy.unit**2 * cost

    @cached_property
    def noise(self) -> Noise:
        """The noise of every measured integer."""
        return self._noise(self.measured)

    @property
    def gamma2(self) -> float:
        """The largest |R_i| times the l2 sensitivity of A, for the best strategy for Gaussian noise, as rounded.

        With objective="total" it is the root mean square of |R_i| instead.
        """
        spread = self._optimal.variances
        cost = float(spread.max() if self.objective == "max" else spread.mean())
        return math.sqrt(self._optimal.squared(self.neighbours) * cost) / self._optimal.unit

    @property
    def lower_bound(self) -> float:
        """No factorization at all has a smaller `gamma2`: certified, whatever the rounding of the solver."""
        if not self._parts:
            return min(self._optimum.lower_bound, self.gamma2)
        if swaps(self.neighbours):
            raise UnsupportedError("no lower bound is known for products where a row is replaced")
        return min(rounded_down(math.prod(part.lower_bound for part in self._parts)), self.gamma2)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Unbiased answers on a histogram, on encoded rows or on a frame."""
        import numpy as np

        strategy, noise = self.measured, self.noise
        held = counted(data, self.workload.domain, neighbours=self.neighbours)
        noisy = np.asarray(noise(strategy.measured(held), rng=rng))
        answers = strategy.answered(noisy)
        return Release(workload=self.workload, answers=answers, guarantee=self.privacy(), errors=self.errors())

    def variances(self) -> Reals:
        """The variance of each answer."""
        return self.measured.variances * (variance(self.noise) / self.measured.unit**2)

    def errors(self) -> NormalSums | LaplaceSums:
        """Combinations of the draws."""
        import numpy as np

        sd = np.sqrt(self.variances())
        if isinstance(self.noise, Laplace):
            scale = float(self.noise.scale) / self.measured.unit
            return LaplaceSums(np.sqrt(2 * self.measured.variances) * scale, self.measured.peaks * scale)
        return NormalSums(sd, sigma=float(exact(self.noise.sigma)), draws=self.measured.size)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that no answer is off by more, but with probability beta: from `errors`."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()

    def __repr__(self) -> str:
        return f"Factorization({len(self.workload)} queries, {self.budget!r})"


def _flat(workload: Kronecker) -> Iterator[Workload]:
    """The factors, and those of factors that are products."""
    for factor in workload.factors:
        if isinstance(factor, Kronecker):
            yield from _flat(factor)
        else:
            yield factor
