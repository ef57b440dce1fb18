"""The small database mechanism: choose, among all datasets of a few rows, one that answers like the data.

Theorem (Blum, Ligett, Roth 2008).  Let k integer queries move by at most `span` each between neighbours.  Among all
multisets y of m rows, or any public list, choose with the exponential mechanism and the integer score

    - max over q of |m q(x) - n q(y)|,     of sensitivity m span.

This is epsilon-DP for every pair of neighbours and every public n.  Where x has n rows, with probability 1 - beta

    |q(x) - n q(y) / m| <= n span a(m) + (2 span / epsilon) ln(C(N + m - 1, m) / beta)   for all queries,

with a(m) of `net_distance`.  The best m gives about 1.89 (ln(2 k) ln N / (epsilon n))^(1/3) of the rows.  There are
exponentially many candidates: it runs where they can be listed, and elsewhere says how many there are.
Proof: docs/theory/small_database.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import discreet.release.errors as error_forms
from discreet.errors import UnsupportedError, require
from discreet.hazmat.entropy import RandomSource
from discreet.hazmat.integers import integers
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.enclosure import root_bounds
from discreet.privacy.event import Event
from discreet.privacy.guarantee import ZCDP, ApproxDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import down, exact
from discreet.queries.workload import Workload, a_workload, swaps
from discreet.release.counted import counted
from discreet.release.models.dense import DenseModel
from discreet.release.net import LISTED, multisets, net_distance, widest
from discreet.release.noise import relation_for
from discreet.release.release import Release

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BLOCK = 1 << 24  # answers of candidates held at once
WIDEST = 1 << 62  # scores are not below - this


@dataclass(frozen=True, slots=True, repr=False)
class SmallDatabase:
    """Release a synthetic dataset of `rows` rows, by default the best number of them, or one of `candidates`.

    `n` is public.  A row may be replaced; with a budget under AddRemove a row may be added or removed, and n is a
    public guess: the promise holds as it is, the bound on the error does not.

    >>> from discreet.data.columns import Integer
    >>> from discreet.data.domain import Domain
    >>> from discreet.data.histogram import Histogram
    >>> from discreet.privacy.guarantee import PureDP
    >>> from discreet.queries.marginals import marginals
    >>> domain = Domain({"age": Integer(0, 3)})
    >>> small = SmallDatabase(marginals(domain, 1), n=1000, budget=PureDP(1.0), rows=20)
    >>> small.candidates_listed, small(Histogram(domain, [700, 300, 0, 0])).histogram.n
    (1771, 1000.0)
    """

    workload: Workload
    n: int = field(kw_only=True)
    budget: Guarantee = field(kw_only=True)
    rows: int | None = field(default=None, kw_only=True)
    candidates: Sequence[Sequence[int]] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not a_workload(self.workload).integral:
            raise UnsupportedError("the small database mechanism needs queries with integer values; scale them")
        self.epsilon  # noqa: B018 - refuse a bad budget now
        swaps(self.neighbours)  # and graphs
        whole = isinstance(self.n, int) and not isinstance(self.n, bool)
        require(whole and self.n >= 1, "an integer n >= 1", n=self.n)
        if self.candidates is not None:
            require(self.rows is None, "rows or candidates, not both", rows=self.rows)
            object.__setattr__(self, "candidates", _checked(self.candidates, self.workload.domain.size))
        elif self.rows is not None:
            whole = isinstance(self.rows, int) and not isinstance(self.rows, bool)
            require(whole and self.rows >= 1, "an integer rows >= 1", rows=self.rows)

    @property
    def neighbours(self) -> type[Neighbours]:
        """Whose presence or value is hidden."""
        return relation_for(self.budget, n=self.n)

    @property
    def epsilon(self) -> Fraction:
        """What the exponential mechanism may spend."""
        match self.budget:
            case PureDP() | ApproxDP():
                require(exact(self.budget.epsilon) > 0, "epsilon > 0", epsilon=self.budget.epsilon)
                return exact(self.budget.epsilon)
            case ZCDP():
                require(exact(self.budget.rho) > 0, "rho > 0", rho=self.budget.rho)
                return exact(down(root_bounds(8 * exact(self.budget.rho))[0]))
        raise UnsupportedError(f"a release is paid in PureDP, ApproxDP or ZCDP, got {type(self.budget).__name__}")

    @property
    def size(self) -> int:
        """The rows of a candidate: m, or the least common multiple of those of a given list."""
        if self.candidates is not None:
            return math.lcm(*(sum(candidate) for candidate in self.candidates))
        if self.rows is not None:
            return self.rows
        return best_rows(len(self.workload), self.workload.domain.size, self.n, self.epsilon)

    @property
    def candidates_listed(self) -> int:
        """How many candidates there are."""
        if self.candidates is not None:
            return len(self.candidates)
        return math.comb(self.workload.domain.size + self.size - 1, self.size)

    @property
    def mechanism(self) -> Exponential:
        """The choice among candidates, by score in units of 1 / m."""
        span = max(1, widest(self.workload, self.neighbours))
        return Exponential(epsilon=self.epsilon, sensitivity=self.size * span)

    def __call__(self, data: object, *, rng: RandomSource | None = None) -> Release:
        """Choose a dataset for a histogram, encoded rows or a frame; the answers are its own, times n / m."""
        import numpy as np

        listed = self.listed()
        true = integers(self.workload.answer(counted(data, self.workload.domain, neighbours=self.neighbours)))
        chosen = listed[self.mechanism(self.scores(np.asarray(true), listed), rng=rng)]
        counts = chosen * (self.n / int(chosen.sum()))
        return Release(
            workload=self.workload, answers=np.asarray(self.workload.apply(counts), dtype=np.float64),
            guarantee=self.privacy(), errors=self.errors(), model=DenseModel(self.workload.domain, counts),
        )  # fmt: skip

    def listed(self) -> npt.NDArray[Any]:
        """The candidates as counts, one row each; refused where there are too many."""
        import numpy as np

        if self.candidates is not None:
            return np.array(self.candidates, dtype=np.int64)
        self.fits()
        return multisets(self.workload.domain.size, self.size)

    def fits(self) -> None:
        """Refuse more candidates than can be listed, before anything is paid: its accuracy is known for any number."""
        if self.candidates is not None:
            return
        cells, size = self.workload.domain.size, self.size
        log = size * (math.log10(cells + size - 1) - math.log10(size))  # C(c + m - 1, m) >= ((c + m - 1) / m)^m
        if log > 5000 or self.candidates_listed * cells > LISTED:
            many = f"more than 10^{log:.0f}" if log > 5000 else _written(self.candidates_listed)
            raise UnsupportedError(
                f"{many} candidates of {size} rows cannot be listed; pass fewer rows=, or candidates="
            )

    def scores(self, true: npt.NDArray[Any], listed: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """- max |m q(x) - n q(y)| for every candidate y, exactly; q(x) is cut to what fits, by public numbers alone."""
        import numpy as np

        matrix = self.workload.matrix()
        most = self.n * max(1, int(abs(matrix).max()))  # n q(y) / m, and the answers of n rows
        limit = WIDEST // self.size - most
        require(limit >= most, "scores that fit in 64 bits; pass fewer rows", rows=self.size)
        target = self.size * np.clip(true, -limit, limit).astype(np.int64)
        out = np.empty(len(listed), dtype=np.int64)
        step = max(1, BLOCK // len(matrix))
        for start in range(0, len(listed), step):
            part = listed[start : start + step].astype(np.int64)
            weight = self.n * (self.size // part.sum(axis=1))
            out[start : start + step] = -abs((part @ matrix.T) * weight[:, None] - target).max(axis=1)
        return out

    def errors(self) -> error_forms.Errors:
        """The theorem's bound, where it holds."""
        if self.candidates is not None:
            return error_forms.Unproven("the error depends on how near a candidate is to the data")
        if not swaps(self.neighbours):
            return error_forms.Unproven("the error depends on how near n is to the number of rows, which is private")
        span = max(1, widest(self.workload, self.neighbours))
        near = (
            self.n
            * span
            * net_distance(queries=len(self.workload), cells=self.workload.domain.size, n=self.n, rows=self.size)
        )
        return Chosen(near, self.mechanism, self.candidates_listed, self.size, len(self.workload))

    def accuracy(self, beta: float = 0.05) -> float:
        """alpha: no answer is off by more, but with probability beta."""
        return self.errors().accuracy(beta)

    def privacy(self) -> Guarantee:
        """The budget, for the relation served."""
        return self.budget.under(self.neighbours)

    def event(self) -> Event:
        """What ran: one exponential mechanism."""
        return self.mechanism.event()

    def __repr__(self) -> str:
        return f"SmallDatabase({len(self.workload)} queries, {self.budget!r})"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The distance of the nearest candidate, and how much worse the chosen one may be."""

    near: float
    mechanism: Exponential
    candidates: int
    rows: int
    size: int

    def accuracy(self, beta: float) -> float:
        """alpha for all answers at once."""
        return self.near + self.mechanism.accuracy(beta, size=self.candidates) / self.rows

    def each(self, beta: float) -> npt.NDArray[np.float64]:
        """The same for each."""
        import numpy as np

        return np.full(self.size, self.accuracy(beta))


@lru_cache(maxsize=256)
def best_rows(queries: int, cells: int, n: int, epsilon: Fraction) -> int:
    """The number of rows with the least bound on the error, for counting queries at beta = 0.05.

    >>> best_rows(2**10, 2**10, 10**6, Fraction(1))
    127277
    """
    rate = 2 / float(epsilon)

    def bound(rows: int) -> float:
        many = math.lgamma(cells + rows) - math.lgamma(rows + 1) - math.lgamma(cells)
        return n * net_distance(queries=queries, cells=cells, n=n, rows=rows) + rate * (many + math.log(20))

    grid, rows = [n], 1
    while rows < n:
        grid.append(rows)
        rows = max(rows + 1, rows * 33 // 32)
    return min(sorted(grid), key=bound)


def _checked(candidates: Sequence[Sequence[int]], cells: int) -> tuple[tuple[int, ...], ...]:
    import numpy as np

    made = tuple(tuple(int(count) for count in np.asarray(row).reshape(-1).tolist()) for row in candidates)
    require(bool(made), "at least one candidate", candidates=len(made))
    for given, row in zip(candidates, made, strict=True):
        require(np.asarray(given).dtype.kind in "iu" and len(row) == cells, "integer counts of every cell", cells=cells)
        require(min(row) >= 0 and sum(row) >= 1, "counts >= 0 of at least one row", rows=sum(row))
    return made


def _written(many: int) -> str:
    return str(many) if many < 10**6 else f"10^{math.log10(many):.0f}"
