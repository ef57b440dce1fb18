"""From discrepancy to error: who answers too well gives the rows away.

Theorem (Dinur, Nissim 2003; Muthukrishnan, Nikolov 2012; with constants).  Let S be a set of s cells of W and PDisc the
least |W_S z| over z in {-1, 0, 1}^S with at least k entries not 0.  If a mechanism has all errors below c PDisc / 2
with probability 1 - beta on every dataset of at most n >= c s rows, then

    (1 - beta) (1 - (k - 1) / s) <= a(c),

where a(c) is the largest expected agreement of any guess with uniform bits, of which each is told by c rows:

    (e^(c epsilon) + delta_c) / (1 + e^(c epsilon))     (epsilon, delta)-DP
    (1 + sqrt(min(1 - e^(-c^2 rho), c^2 rho / 2))) / 2  rho-zCDP,

with delta_c = delta (e^(c epsilon) - 1) / (e^epsilon - 1).

So for the largest c that violates this, some error is at least c PDisc / 2 with probability above beta on some dataset.
The half must not be dropped, and at (1, 0.1) with k - 1 = s / 100 nothing follows from errors that are small with
probability 2/3: it must exceed 0.757953 / 0.99 = 0.76561.  Relation AddRemove or NullRow; where rows are replaced, the
columns are differences to one that is not in S.  Proof: docs/theory/discrepancy.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.bounds.discrepancy import promising
from discreet.bounds.discrepancy_exact import NONE, every_set, members, partial, sizes
from discreet.bounds.discrepancy_matrix import Colourable, colourable
from discreet.bounds.discrepancy_vector import certified
from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import exp_down, exp_up, root_bounds
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.number import Number, down, exact, up
from discreet.threads import threads_by

if TYPE_CHECKING:
    import numpy.typing as npt

    from discreet.privacy.neighbours import Neighbours
    from discreet.queries.workload import Workload

WORK = 5 * 10**7  # entries of all colourings that are enumerated here
SPECTRAL = 10**9  # entries times the lesser side, up to which eigenvalues are computed
MOST = 10**9  # copies
LARGEST = 1000  # epsilon and rho, beyond which every bit may be told


@dataclass(frozen=True, kw_only=True, slots=True)
class DiscrepancyError:
    """Some error is at least `value` with probability above beta: `copies` rows in each of `columns`, or none.

    `discrepancy` is the least value of a colouring of at least `least` of the columns, or a lower bound of it.

    >>> from discreet.privacy import AddRemove, PureDP
    >>> discrepancy_error([[1, 1], [1, -1]], budget=PureDP(0.1), n=1000, neighbours=AddRemove).copies >= 1
    True
    """

    value: float
    copies: int
    columns: tuple[int, ...]
    least: int
    discrepancy: float
    method: str


def agreement(budget: Guarantee) -> float:
    """The largest expected fraction of uniform bits that anybody can guess, one bit a neighbour, rounded up.

    >>> round(agreement(ApproxDP(1, "0.1")), 6), round(agreement(PureDP(1)), 6), round(agreement(ZCDP(0.5)), 6)
    (0.757953, 0.731059, 0.75)
    """
    return up(_agreement(budget))


def _agreement(budget: Guarantee) -> Fraction:
    match budget:
        case PureDP() | ApproxDP():
            if exact(budget.epsilon) > LARGEST:
                return Fraction(1)
            odds = exp_up(exact(budget.epsilon))
            delta = exact(budget.delta) if isinstance(budget, ApproxDP) else Fraction(0)
            return min(Fraction(1), (odds + delta) / (1 + odds))
        case ZCDP():
            rho = exact(budget.rho)
            if rho > LARGEST:
                return Fraction(1)
            distance = root_bounds(min(1 - exp_down(-rho), rho / 2))[1]
            return min(Fraction(1), (1 + distance) / 2)
        case GaussianDP():
            return _agreement(budget.to_zcdp())
    raise UnsupportedError(f"the agreement is stated for PureDP, ApproxDP and ZCDP, got {type(budget).__name__}")


def success_needed(budget: Guarantee, *, kappa: Number) -> float:
    """Errors below PDisc_kappa / 2 with a larger probability than this contradict the budget; rounded up.

    >>> round(success_needed(ApproxDP(1, "0.1"), kappa="0.01"), 5)
    0.76561
    """
    share = exact(kappa)
    require(0 <= share < 1, "0 <= kappa < 1", kappa=kappa)
    return up(_agreement(budget) / (1 - share))


@lru_cache(maxsize=4096)
def copies(budget: Guarantee, *, beta: Number, kappa: Number) -> int:
    """How many rows each bit may be told by so that the argument still holds; 0 where it does not for one.

    >>> copies(PureDP(0.1), beta=0.05, kappa=0.1), copies(ApproxDP(1, "0.1"), beta="1/3", kappa="0.01")
    (17, 0)
    """
    target = (1 - exact(beta)) * (1 - exact(kappa))
    if target <= Fraction(1, 2):
        return 0
    low, high = 0, 1
    _agreement(budget)  # refuses what has none
    while high < MOST and _grouped(budget, high) < target:
        low, high = high, 2 * high
    while high - low > 1:  # the agreement grows with the size of the group
        middle = (low + high) // 2
        low, high = (middle, high) if _grouped(budget, middle) < target else (low, middle)
    return low


def _grouped(budget: Guarantee, size: int) -> Fraction:
    """The agreement for groups of this size; 1 where no promise is left."""
    if isinstance(budget, PureDP | ApproxDP) and exact(budget.epsilon) * size > 60:
        return Fraction(1)
    try:
        return _agreement(budget.group(size))
    except UnsupportedError:  # the deltas have reached 1
        return Fraction(1)


def discrepancy_error(
    workload: Workload | npt.ArrayLike,
    *,
    budget: Guarantee,
    n: int,
    neighbours: type[Neighbours],
    beta: Number = 0.05,
) -> DiscrepancyError:
    """The best bound of the theorem over sets of cells, numbers of colours and copies.

    All sets where the colourings are few; otherwise the most independent columns, and eigenvalues in place of
    colourings.

    >>> from discreet.privacy.neighbours import AddRemove
    >>> from discreet.queries import thresholds
    >>> discrepancy_error(thresholds(8), budget=ApproxDP(0.1, 1e-6), n=1000, neighbours=AddRemove).value
    14.5
    """
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(0 < exact(beta) < 1, "0 < beta < 1", beta=beta)
    require(isinstance(budget, Guarantee), "a guarantee", budget=type(budget).__name__)
    read = colourable(workload, neighbours=neighbours)
    queries, columns = read.rows.shape
    if 3**columns * queries <= WORK:
        return _every(read, budget, n, beta)
    if queries * columns * min(queries, columns) > SPECTRAL:
        raise UnsupportedError(f"eigenvalues of a workload of {queries} queries over {columns} cells take too long")
    return _spectral(read, budget, n, beta)


def _every(read: Colourable, budget: Guarantee, n: int, beta: Number) -> DiscrepancyError:
    import numpy as np

    every = every_set(read.rows)
    kinds = sizes(every)
    best = _nothing("enumerate")
    for least in range(1, read.columns + 1):
        smallest = partial(every, least)
        for size in range(least, min(n, read.columns) + 1):
            allowed = min(n // size, copies(budget, beta=beta, kappa=Fraction(least - 1, size)))
            if not allowed:
                continue
            found = np.where(kinds == size, np.where(smallest == NONE, -1, smallest), -1)
            subset = int(np.argmax(found))
            least_value = max(Fraction(0), Fraction(int(found[subset])) / read.unit - read.slack)
            best = _better(best, least_value, allowed, tuple(members(subset)), least)
    return best


@threads_by(lambda read, *_: max(read.rows.size, read.rows.shape[1] ** 2))
def _spectral(read: Colourable, budget: Guarantee, n: int, beta: Number) -> DiscrepancyError:
    """PDisc^2 >= k lambda / m for the least eigenvalue of W_S^T W_S: the vector bound with equal weights."""
    import numpy as np

    best = _nothing("eigenvalues")
    queries = len(read.rows)
    even = np.full(queries, 1 / queries)
    for chosen in promising(read.rows):
        size = len(chosen)
        if size > n:
            continue
        squared = Fraction(certified(read.rows[:, chosen], 1, even, np.zeros(size)).squared)
        if not squared:
            continue
        for least in sorted({max(1, size * share // 20) for share in range(1, 11)}):
            allowed = min(n // size, copies(budget, beta=beta, kappa=Fraction(least - 1, size)))
            whole = math.isqrt(max(0, math.ceil(least * squared) - 1)) + 1  # integers are rounded up
            value = max(Fraction(0), Fraction(whole) / read.unit - read.slack)
            best = _better(best, value, allowed, tuple(chosen), least)
    return best


def _nothing(method: str) -> DiscrepancyError:
    return DiscrepancyError(value=0.0, copies=0, columns=(), least=0, discrepancy=0.0, method=method)


def _better(
    best: DiscrepancyError, value: Fraction, allowed: int, columns: tuple[int, ...], least: int
) -> DiscrepancyError:
    error = down(allowed * value / 2)
    if error <= best.value:
        return best
    return DiscrepancyError(
        value=error, copies=allowed, columns=columns, least=least, discrepancy=down(value), method=best.method
    )
