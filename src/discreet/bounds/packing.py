"""The packing bound: what every pure mechanism must pay, whatever it does.

Theorem (Hardt, Talwar 2010, here for finite n and with constants).  Let W have integer entries and K different columns.
An epsilon-DP mechanism whose errors, on every dataset of n rows, are all below k / 2 with probability 1 - beta, for a
whole number k <= n, has

    k epsilon >= ln((K - 1) (1 - beta) / beta)   under Replace
    k epsilon >= ln(K (1 - beta))                under AddRemove and NullRow, on every dataset of n - k to n rows.

So for the largest k <= n that violates this, some error is at least k / 2 with probability
above beta on some dataset.  Proof: docs/theory/lower_bounds.md.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import log_down
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import Number, exact
from discreet.queries.marginals import Marginals
from discreet.queries.workload import Workload, swaps


def packing(*, cells: int, budget: PureDP, n: int, neighbours: type[Neighbours], beta: float = 0.05) -> int:
    """The largest k for which the bound forbids errors below k / 2; 0 where it says nothing.

    >>> from discreet.privacy.neighbours import Replace
    >>> packing(cells=1024, budget=PureDP(1.0), n=10_000, neighbours=Replace)
    9
    """
    require(isinstance(cells, int) and cells >= 2, "at least two cells", cells=cells)
    require(isinstance(n, int) and n >= 1, "an integer n >= 1", n=n)
    require(0 < beta < 1, "0 < beta < 1", beta=beta)
    require(exact(budget.epsilon) > 0, "epsilon > 0", epsilon=budget.epsilon)
    miss = exact(beta)
    ratio = Fraction(cells - 1) * (1 - miss) / miss if swaps(neighbours) else cells * (1 - miss)
    if ratio <= 1:
        return 0
    steps = log_down(ratio) / exact(budget.epsilon)
    return min(n, math.ceil(steps) - 1)  # k epsilon < ln(...), strictly


def packing_error(
    workload: Workload, *, budget: PureDP, n: int, neighbours: type[Neighbours], beta: Number = 0.05
) -> float:
    """The least largest error, in counts, that an epsilon-DP mechanism can promise with probability 1 - beta.

    The packing has one dataset for each different column of the workload, whose entries must be integers.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.privacy.neighbours import AddRemove
    >>> from discreet.queries import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(10)})
    >>> packing_error(marginals(domain, 2), budget=PureDP(0.1), n=10_000, neighbours=AddRemove)
    34.0
    """
    cells = told_apart(workload)
    if cells < 2:
        return 0.0
    return packing(cells=cells, budget=budget, n=n, neighbours=neighbours, beta=float(beta)) / 2


def told_apart(workload: Workload) -> int:
    """How many different columns a workload of integer entries has: any two differ by at least 1 in some query.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.queries import marginals
    >>> told_apart(marginals(Domain({"a": Boolean(), "b": Boolean(), "c": Boolean()}), [("a", "b")]))
    4
    """
    if not workload.integral:
        raise UnsupportedError("the packing bound is stated for queries with integer entries")
    if isinstance(workload, Marginals):
        names = {name for names in workload.sets for name in names}
        return math.prod(workload.domain[name].size for name in names)
    import numpy as np

    return np.unique(workload.matrix(), axis=1).shape[1]
