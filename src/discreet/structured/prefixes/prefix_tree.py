"""All prefixes of an ordered column in one release: the distribution function, every range, every quantile.

Theorem.  Let r = rows_per_unit rows of a unit be added or removed.  Measure a tree of counts (`prefix_levels`), which
moves by r L in l1 and r^2 L in squared l2 where L levels are measured, or the square root of the triangle of ones
(`prefix_root`); where rows are replaced, n is public, the root of the tree is known and not measured, and both
are twice that.  Noise by `noise_for` keeps the budget, whatever is computed from the noisy measurements: prefixes,
ranges and quantiles of all kinds are one release.  The variance of every prefix is known in advance.

Laplace noise goes with trees of high branching, Gaussian noise with the square root (docs/guide/which_method.md).
Proof: docs/theory/prefix.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import discreet.release.errors as error_forms
from discreet.data.columns import Categorical, Column
from discreet.data.domain import Domain
from discreet.data.table import Table
from discreet.errors import ParameterError, UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.mechanisms.laplace import Laplace
from discreet.privacy.event import Event
from discreet.privacy.guarantee import Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.queries.ordered import Thresholds, thresholds
from discreet.queries.workload import Workload, same_domain, swaps
from discreet.release.counted import counted
from discreet.release.noise import Noise, noise_for, relation_for, variance
from discreet.release.release import Release
from discreet.structured.prefixes.prefix_levels import Levels, best_levels
from discreet.structured.prefixes.prefix_release import PrefixRelease
from discreet.structured.prefixes.prefix_root import SteppedRoot
from discreet.structured.prefixes.prefix_table import column_counts
from discreet.structured.streams.laplace_sums import LaplaceSums

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    IntArray = npt.NDArray[np.int64]
    Floats = npt.NDArray[np.float64]

Strategy = Literal["auto", "tree", "toeplitz"]
LARGEST = 1 << 28  # cells
SMALL = 64  # cells, beyond which no tree with Gaussian noise beats the square root


@dataclass(frozen=True, slots=True, repr=False)
class PrefixTree:
    """Release how many rows are at most each value of a column.

    The column is a number of cells, a column type, a domain of one column or the workload `thresholds`.  Without `n` a
    unit of `rows_per_unit` rows may be added or removed; with a public `n` a unit may be replaced.

    >>> from discreet.data.columns import Integer
    >>> from discreet.privacy.guarantee import ZCDP
    >>> import pandas as pd
    >>> ages = Domain({"age": Integer(0, 119)})
    >>> release = PrefixTree(ages, budget=ZCDP(0.5))(pd.DataFrame({"age": [30] * 5000 + [60] * 5000}))
    >>> median = release.quantile(0.25)
    >>> median.low <= 30 <= median.high
    True
    >>> found = release.range(50, 70)
    >>> abs(found.value - 5000) <= found.value - found.low
    True
    """

    over: int | Column | Domain | Workload
    budget: Guarantee = field(kw_only=True)
    n: int | None = field(default=None, kw_only=True)
    branching: int | Literal["auto"] = field(default="auto", kw_only=True)
    consistency: bool = field(default=True, kw_only=True)
    strategy: Strategy = field(default="auto", kw_only=True)
    rows_per_unit: int = field(default=1, kw_only=True)

    def __post_init__(self) -> None:
        require(
            self.strategy in ("auto", "tree", "toeplitz"), "strategy auto, tree or toeplitz", strategy=self.strategy
        )
        require(isinstance(self.consistency, bool), "consistency True or False", consistency=self.consistency)
        rows = isinstance(self.rows_per_unit, int) and not isinstance(self.rows_per_unit, bool)
        require(rows and 1 <= self.rows_per_unit < 1 << 20, "an integer rows_per_unit >= 1", rows=self.rows_per_unit)
        if self.branching != "auto":
            whole = isinstance(self.branching, int) and not isinstance(self.branching, bool)
            require(whole and self.branching >= 2, "an integer branching >= 2, or auto", branching=self.branching)
            require(self.strategy != "toeplitz", "branching for a tree only", strategy=self.strategy)
        size = self.workload.domain.size
        require(size <= LARGEST, f"at most {LARGEST} cells; declare coarser steps", cells=size)
        self.noise  # noqa: B018 - refuse a bad budget now

    @property
    def workload(self) -> Thresholds:
        """One threshold for every value of the column."""
        match self.over:
            case Thresholds():
                return self.over
            case Workload():
                raise UnsupportedError("PrefixTree answers the workload thresholds(...), and from it every range")
            case Column():
                made = thresholds(Domain({"x": self.over}))
            case _:
                made = thresholds(self.over)
        if isinstance(next(iter(made.domain.values())), Categorical):
            raise UnsupportedError("a Categorical column has no order; declare an Integer, Real, Date or Timestamp")
        return made

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def plan(self) -> Levels | SteppedRoot:
        """What is measured: public, from the size of the column and the kind of noise alone."""
        known = swaps(self.neighbours)
        if known and self.n is None:
            raise ParameterError("need the public number n of rows where rows are replaced, got n=None")
        kind = "tree" if self.branching != "auto" or not self.consistency else self.strategy
        pure = isinstance(self.budget, PureDP)
        return _plan(self.workload.domain.size, kind, self.branching, pure=pure, known=known, ols=self.consistency)

    @property
    def noise(self) -> Noise:
        """The noise of every measurement."""
        absolute, square, size = _moved(self.plan)
        rows, factor = self.rows_per_unit, 2 if swaps(self.neighbours) else 1
        return noise_for(self.budget, absolute=factor * rows * absolute, square=factor * rows**2 * square, size=size)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> PrefixRelease:
        """Noisy prefixes of a histogram, encoded rows, a frame, or a `Table` on any engine."""
        answers = self._answers(self._counts(data), rng)
        release = Release(workload=self.workload, answers=answers, guarantee=self.privacy(), errors=self.errors())
        return PrefixRelease(release=release, mechanism=self)

    def _counts(self, data: object) -> IntArray:
        domain = self.workload.domain
        (name,) = domain
        if isinstance(data, Table):
            if isinstance(self.over, Column | int):
                raise ParameterError("need a domain that names the column of the table, got its type alone")
            rows = data.rows_per_unit
            require(
                rows <= self.rows_per_unit, "rows_per_unit of the table or more", table=rows, here=self.rows_per_unit
            )
            return column_counts(data, name, domain[name])
        found = counted(data, domain, neighbours=self.neighbours)
        same_domain(domain, found.domain)
        whole = integers(found.marginal([name]))
        assert not isinstance(whole, int)
        return whole.reshape(-1).astype("int64", copy=False)

    def _answers(self, counts: IntArray, rng: RandomSource | None) -> Floats:
        import numpy as np

        plan, size = self.plan, len(counts)
        if isinstance(plan, SteppedRoot):
            noisy = self.noise(plan.measure(counts), rng=rng)
            answers = plan.prefixes(np.asarray(noisy, dtype=np.float64))
        else:
            levels = plan.counts(counts)
            noisy = np.asarray(self.noise(np.concatenate(levels), rng=rng), dtype=np.float64)
            parts = np.split(noisy, np.cumsum([len(level) for level in levels])[:-1])
            total = float(self.n) if plan.root == "known" and self.n is not None else None
            if self.consistency:
                answers = np.cumsum(plan.consistent(parts, total))[:size]
            else:
                answers = plan.plainly(parts, size, total)
        if swaps(self.neighbours):
            answers[-1] = self.n
        return answers

    def spread(self) -> Floats:
        """The variance of each prefix in units of that of the noise."""
        plan, size = self.plan, self.workload.domain.size
        tree = isinstance(plan, Levels)
        found = plan.variances(size, consistent=self.consistency) if tree else plan.variances()
        if swaps(self.neighbours):
            found[-1] = 0.0  # n is public
        return found

    def variances(self) -> Floats:
        """The variance of each prefix, in counts squared."""
        return self.spread() * variance(self.noise)

    def errors(self) -> error_forms.Errors:
        """The law of the errors."""
        import numpy as np

        if isinstance(self.noise, Laplace):
            return LaplaceSums(self.spread(), self._heaviest, float(self.noise.scale))
        return error_forms.SubGaussian(np.sqrt(self.variances()))

    @property
    def _heaviest(self) -> float:
        return 1 / (self.plan.unit * int(self.plan.gains[0])) if isinstance(self.plan, SteppedRoot) else 1.0

    def range_error(self, low: int, high: int, beta: float) -> float:
        """alpha such that the count of the cells low .. high - 1 is off by more with probability at most beta."""
        import numpy as np

        parts = 2
        if swaps(self.neighbours) and high == self.workload.domain.size:  # n, which is public, less the prefix before
            low, high, parts = 0, low, 1
        if low == high:
            return 0.0
        if self.consistency:
            square = self.plan.range_variance(low, high)
        else:
            ends = self.spread()[[low - 1, high - 1]] if low else self.spread()[[high - 1]]
            square = float(np.sum(ends))  # the nodes of two prefixes, with opposite signs: some cancel, none more
        if isinstance(self.noise, Laplace):
            return float(LaplaceSums(np.array([square]), parts * self._heaviest, float(self.noise.scale)).each(beta)[0])
        return math.sqrt(2 * square * variance(self.noise) * math.log(2 / beta))

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha such that, with probability 1 - beta, no prefix is off by more than alpha."""
        return self.errors().accuracy(beta)

    def event(self) -> Event:
        """What ran, for the accountant."""
        return self.noise.event()

    def __repr__(self) -> str:
        return f"PrefixTree({self.workload.domain.size} cells, {self.budget!r})"


def _moved(plan: Levels | SteppedRoot) -> tuple[int, int, int]:
    """How far one row moves the measurements, in l1 and squared l2; and how many there are at most."""
    if isinstance(plan, SteppedRoot):
        return plan.absolute, plan.square, max(2, plan.size)
    return plan.measured, plan.measured, 2 * plan.cells


@lru_cache(maxsize=64)
def _plan(size: int, kind: str, branching: int | str, *, pure: bool, known: bool, ols: bool) -> Levels | SteppedRoot:
    if size == 1:
        return SteppedRoot(1)
    if kind == "toeplitz" or (kind == "auto" and not pure and not known and size > SMALL):
        return SteppedRoot(size)
    if isinstance(branching, int):
        height = 1
        while branching**height < size:
            height += 1
        return Levels(radices=(branching,) * height, root="known" if known else "measured")
    tree = best_levels(size, pure=pure, known=known, consistent=ols)
    if kind == "tree" or pure:
        return tree
    root = SteppedRoot(size)
    spread = float(tree.variances(size).max()) * tree.measured
    return tree if spread <= root.multiplier**2 else root
