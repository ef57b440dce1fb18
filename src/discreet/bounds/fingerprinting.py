"""The fingerprinting bound: what d one-way marginals cost under every promise, biased mechanisms included.

Theorem.  Let M answer d counting queries of which every pattern of answers is that of some row (the one-way marginals
of d bits), with a root mean square error, over the queries and the draws of M, of at most E counts on every dataset
of n rows, and of n - 1 under AddRemove (with one row null under NullRow).  Let

    c^2 = 4 sinh^2(epsilon / 2)   (epsilon, delta)-DP          c^2 = e^(2 rho) - 1, delta = 0   rho-zCDP.

Then for every number k <= n of rows

    E >= (k / 2) (2/3 - c (sqrt(8 k / (15 d)) + g / sqrt(d)) - (14/3) k delta) / (2 / sqrt(3) + c k / sqrt(d)),

g = 0 where a row is replaced and sqrt(4/5) where one is added, removed or made null.  For large d and k between
sqrt(d) / c and d / c^2 this is about sqrt(d) / (3 c): Gaussian noise of rho-zCDP has sqrt(d / (2 rho)), and for small
rho no mechanism, however clever, has less than a third of it.  The ideas are those of Bun, Ullman, Vadhan 2014 and of
Steinke, Ullman 2015; the constants are proven in docs/theory/fingerprinting.md.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from discreet.bounds.table import representable
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.neighbours import Neighbours
from discreet.privacy.number import exact, up
from discreet.queries.marginals import Marginals
from discreet.queries.products import Products
from discreet.queries.workload import Workload, swaps

BELOW = 1 - 1e-9  # what rounding can take from the formula
ROUNDED = 1e-14  # and from a difference of numbers below 1
LARGEST = 30.0  # epsilon, and 2 rho, beyond which the bound is nothing


@dataclass(frozen=True, kw_only=True, slots=True)
class FingerprintBound:
    """The root mean square error of `queries` counts is at least `value`; `rows` of them tell, the others are fixed.

    >>> from discreet.privacy.neighbours import Replace
    >>> fingerprinting(10_000, budget=ZCDP(0.005), n=10_000, neighbours=Replace).queries
    10000
    """

    value: float
    queries: int
    rows: int


def fingerprinting(
    over: Workload | int, *, budget: Guarantee, n: int, neighbours: type[Neighbours]
) -> FingerprintBound:
    """The bound for d one-way marginals, or for as many inside a workload, at the best number of rows.

    >>> from discreet.privacy.neighbours import Replace
    >>> found = fingerprinting(10_000, budget=ZCDP(0.005), n=10_000, neighbours=Replace)  # Gaussian noise: sd 1000
    >>> round(found.value), found.rows
    (265, 10000)
    """
    queries = independent_queries(over) if isinstance(over, Workload) else over
    require(isinstance(queries, int) and not isinstance(queries, bool) and queries >= 1, "d >= 1", d=queries)
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    representable(d=queries, n=n)
    best = FingerprintBound(value=0.0, queries=queries, rows=0)
    for rows in _tried(n):
        value = _error(queries, rows, budget, swapped=swaps(neighbours))
        if value > best.value:
            best = FingerprintBound(value=value, queries=queries, rows=rows)
    return best


def rows_for_means(queries: int, *, alpha: float, budget: Guarantee, neighbours: type[Neighbours]) -> int:
    """Fewer rows than this cannot give all one-way marginals with a root mean square error of alpha, as a fraction.

    >>> from discreet.privacy.neighbours import Replace
    >>> rows_for_means(10**6, alpha=0.05, budget=ApproxDP(1.0, 1e-9), neighbours=Replace)
    4784
    """
    require(0 < exact(alpha) < 1, "0 < alpha < 1", alpha=alpha)
    require(isinstance(queries, int) and not isinstance(queries, bool) and queries >= 1, "d >= 1", d=queries)
    representable(d=queries, alpha=alpha)
    swapped, low, high = swaps(neighbours), 0, 1

    def refuted(rows: int) -> bool:
        return _error(queries, rows, budget, swapped=swapped) > alpha * rows

    while high <= 1 << 60 and refuted(high):
        low, high = high, 2 * high
    while high - low > 1:  # the bound over the rows falls as they grow
        middle = (low + high) // 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low + 1


def _tried(n: int) -> list[int]:
    """Numbers of rows up to n, a thirty-second apart in ratio."""
    found, rows = [], 1.0
    while rows < n:
        found.append(int(rows))
        rows *= 1 + 1 / 32
    return sorted({*found, n})


def _error(queries: int, rows: int, budget: Guarantee, *, swapped: bool) -> float:
    ratio, delta = _distance(budget)
    if not math.isfinite(ratio):
        return 0.0
    spread = math.sqrt(8 * rows / (15 * queries)) + (0 if swapped else math.sqrt(4 / (5 * queries)))
    left = 2 / 3 - ratio * spread - 14 / 3 * rows * delta - ROUNDED
    return max(0.0, BELOW * rows / 2 * left / (2 / math.sqrt(3) + ratio * rows / math.sqrt(queries)))


def _distance(budget: Guarantee) -> tuple[float, float]:
    """c and delta; infinity where c is beyond all use."""
    match budget:
        case PureDP() | ApproxDP():
            epsilon = exact(budget.epsilon)
            require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
            delta = up(budget.delta) if isinstance(budget, ApproxDP) else 0.0
            return (2 * math.sinh(float(epsilon) / 2) if epsilon <= LARGEST else math.inf), delta
        case ZCDP():
            rho = exact(budget.rho)
            require(rho > 0, "rho > 0", rho=budget.rho)
            return (math.sqrt(math.expm1(2 * float(rho))) if 2 * rho <= LARGEST else math.inf), 0.0
        case GaussianDP():
            return _distance(budget.to_zcdp())
    raise UnsupportedError(f"the bound is stated for PureDP, ApproxDP, ZCDP, GaussianDP, got {type(budget).__name__}")


def independent_queries(workload: Workload) -> int:
    """How many queries of a workload of marginals or conjunctions take all patterns of 0 and 1, found greedily.

    Other columns than those are fixed: a table that holds exactly one free column has its one-way marginal.  Where no
    query takes both 0 and 1, as in tables of no column or of columns of one value, it is refused: nothing is known.

    >>> from discreet.data import Boolean, Domain
    >>> from discreet.queries import marginals
    >>> domain = Domain({f"b{i}": Boolean() for i in range(10)})
    >>> [independent_queries(marginals(domain, t)) for t in (1, 2, 3)]
    [10, 9, 8]
    """
    match workload:
        case Marginals() if all(weight == 1 for weight in workload.weights):
            tables = [frozenset(names) for names in workload.sets]
            columns = [name for name in workload.domain if any(name in table for table in tables)]
            wide = [name for name in columns if workload.domain[name].size >= 2]
            found = _free(tables, wide)
            if not found:
                raise UnsupportedError("no query of these tables takes both 0 and 1: no column in them has two values")
            return found
        case Products(kind="conjunction" | "disjunction"):
            bits = len(list(workload.domain))
            if workload.k >= 1:  # k - 1 bits are fixed, unless a set may have one bit only
                return bits if workload.at_most else bits - workload.k + 1
    raise UnsupportedError(f"no one-way marginals are known inside {type(workload).__name__}")


def _free(tables: list[frozenset[str]], columns: list[str]) -> int:
    """A set of columns, grown one by one, such that each is the only one of them in some table."""
    where: dict[str, list[int]] = {name: [] for name in columns}
    for place, table in enumerate(tables):
        for name in table & where.keys():
            where[name].append(place)
    inside: list[set[str]] = [set() for _ in tables]  # the chosen columns of each table
    alone: dict[str, int] = {}  # in how many tables a chosen column is the only one
    for name in columns:
        lost = Counter(next(iter(inside[place])) for place in where[name] if len(inside[place]) == 1)
        own = sum(not inside[place] for place in where[name])
        if own and all(alone[kept] > count for kept, count in lost.items()):
            alone = {kept: count - lost[kept] for kept, count in alone.items()} if lost else alone
            alone[name] = own
            for place in where[name]:
                inside[place].add(name)
    return len(alone)
