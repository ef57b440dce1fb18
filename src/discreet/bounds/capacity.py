"""Capacity: how many counting queries can be answered with all errors, as fractions of n, below alpha.

Theorem.  With probability 1 - beta no answer is off by more than alpha n for up to k queries over a universe X, where

    independent Gaussian noise   sqrt(k) sigma1(epsilon, delta) z(1 - beta / (2 k)) <= alpha n, z the normal quantile
    small databases              ln(2 k) = 4 alpha^3 epsilon n / (27 ln |X|), the term of beta dropped
    multiplicative weights       k + 2 T = beta exp(a e0 n / 4),  a = 2 alpha / 3,  T = ceil(2 ln |X| / a^2),
                                 T (4 e0, 0)-DP steps compose to (epsilon, delta).

Nothing reaches 2^n queries at a constant alpha.  Proof: docs/theory/capacity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from discreet.bounds.table import Cell, Tabular, altair, markdown, representable
from discreet.composition.budget import analytic_sigma
from discreet.errors import UnsupportedError, require
from discreet.privacy.guarantee import ApproxDP, Guarantee, PureDP
from discreet.privacy.number import exact

if TYPE_CHECKING:
    import altair as alt

DECADES = 3  # of n, on either side, in a picture


@dataclass(frozen=True, slots=True)
class Capacity:
    """One mechanism: its name and the logarithm of the number of queries it can answer (-inf: none).

    >>> from discreet.privacy import ApproxDP
    >>> capacity(n=1_000_000, universe=2**10, alpha=0.1, budget=ApproxDP(1, 1e-6)).rows[0].mechanism
    'small databases'
    """

    mechanism: str
    log_queries: float

    @property
    def queries(self) -> float:
        """The number itself; infinity where it exceeds the floats."""
        return math.exp(self.log_queries) if self.log_queries < 700 else math.inf


@dataclass(frozen=True, kw_only=True, slots=True)
class CapacityTable(Tabular):
    """Capacities, the largest first; `str` is a table in Markdown, `table[name]` one mechanism.

    >>> from discreet.privacy import ApproxDP
    >>> table = capacity(n=1_000_000, universe=2**10, alpha=0.1, budget=ApproxDP(1, 1e-6))
    >>> [(row.mechanism, f"{row.queries:.3g}") for row in table]
    [('small databases', '9.58e+08'), ('independent noise', '1.6e+07'), ('multiplicative weights', '5.06e+04')]
    """

    title: str
    rows: tuple[Capacity, ...]
    n: int
    universe: int
    alpha: float
    budget: Guarantee
    beta: float

    def __getitem__(self, name: str) -> Capacity:
        found = {row.mechanism: row for row in self.rows}
        require(name in found, f"a mechanism among {', '.join(found)}", name=name)
        return found[name]

    def __iter__(self) -> Iterator[Capacity]:
        return iter(self.rows)

    def records(self) -> list[dict[str, Cell]]:
        """Mechanism, number of queries (none: 0) and its decimal logarithm."""
        return [
            {
                "mechanism": row.mechanism,
                "queries": row.queries if math.isfinite(row.queries) else None,
                "decimal digits": row.log_queries / math.log(10) if math.isfinite(row.log_queries) else None,
            }
            for row in self.rows
        ]

    def __str__(self) -> str:
        return f"{self.title}\n\n{markdown(self.records())}"

    def plot(self) -> alt.Chart:
        """The number of queries against n, both on logarithmic axes."""
        pictures = altair()
        values = []
        for step in range(-2 * DECADES, 2 * DECADES + 1):
            n = max(1, round(self.n * 10 ** (step / 2)))
            table = capacity(n=n, universe=self.universe, alpha=self.alpha, budget=self.budget, beta=self.beta)
            values += [
                {"n": n, "mechanism": row.mechanism, "digits": row.log_queries / math.log(10)}
                for row in table
                if math.isfinite(row.log_queries)
            ]
        return (
            pictures.Chart(pictures.Data(values=values))
            .mark_line()
            .encode(
                x=pictures.X("n:Q", scale=pictures.Scale(type="log"), title="rows"),
                y=pictures.Y(
                    "digits:Q", title="decimal digits of the number of queries", scale=pictures.Scale(type="symlog")
                ),
                color=pictures.Color("mechanism:N", title=None),
            )
            .properties(width=420, height=320, title=self.title)
        )


def capacity(*, n: int, universe: int, alpha: float, budget: Guarantee, beta: float = 0.05) -> CapacityTable:
    """Every mechanism that applies, the largest capacity first.

    >>> rows = capacity(n=10**6, universe=2**10, alpha=0.1, budget=ApproxDP(1.0, 1e-6))
    >>> [(row.mechanism, float(f"{row.queries:.2e}")) for row in rows]
    [('small databases', 958000000.0), ('independent noise', 16000000.0), ('multiplicative weights', 50600.0)]
    """
    require(isinstance(n, int) and not isinstance(n, bool) and n >= 1, "an integer n >= 1", n=n)
    require(isinstance(universe, int) and universe >= 2, "a universe of at least 2 rows", universe=universe)
    require(0 < exact(alpha) < 1, "0 < alpha < 1", alpha=alpha)
    require(0 < exact(beta) < 1, "0 < beta < 1", beta=beta)
    representable(n=n, alpha=alpha, beta=beta)
    if not isinstance(budget, PureDP | ApproxDP):
        raise UnsupportedError(f"capacity is stated for PureDP and ApproxDP, got {type(budget).__name__}")
    epsilon = float(exact(budget.epsilon))
    delta = float(exact(budget.delta)) if isinstance(budget, ApproxDP) else 0.0
    require(epsilon > 0, "epsilon > 0", epsilon=budget.epsilon)
    representable(epsilon=budget.epsilon)
    rows = [
        Capacity("small databases", _small_databases(n, universe, alpha, epsilon)),
        Capacity("multiplicative weights", _multiplicative_weights(n, universe, alpha, epsilon, delta, beta)),
    ]
    noisy = _gaussian(n, alpha, ApproxDP(epsilon, delta), beta) if delta else _laplace(n, alpha, epsilon, beta)
    rows.append(Capacity("independent noise", noisy))
    return CapacityTable(
        title=f"Counting queries within {alpha:g} n, n = {n:,}, a universe of {universe:,} rows, {budget!r}",
        rows=tuple(sorted(rows, key=lambda row: -row.log_queries)),
        n=n,
        universe=universe,
        alpha=alpha,
        budget=budget,
        beta=beta,
    )


def _small_databases(n: int, universe: int, alpha: float, epsilon: float) -> float:
    log = 4 * alpha**3 * epsilon * n / (27 * math.log(universe)) - math.log(2)
    return log if log >= 0 else -math.inf


def _multiplicative_weights(n: int, universe: int, alpha: float, epsilon: float, delta: float, beta: float) -> float:
    a = 2 * alpha / 3
    updates = math.ceil(2 * math.log(universe) / a**2)
    step = _largest(lambda e: _composed(4 * e, updates, delta) <= epsilon, epsilon)
    log = a * step * n / 4 + math.log(beta)  # ln(k + 2 T)
    if log > 700:
        return log
    rest = math.exp(log) - 2 * updates
    return math.log(rest) if rest >= 1 else -math.inf


def _composed(epsilon: float, count: int, delta: float) -> float:
    """Basic or advanced composition (with the exact bound on the divergence), whichever is less."""
    if not delta:
        return count * epsilon
    drift = count * epsilon * math.tanh(epsilon / 2)
    return min(count * epsilon, math.sqrt(2 * count * math.log(1 / delta)) * epsilon + drift)


def _gaussian(n: int, alpha: float, budget: ApproxDP, beta: float) -> float:
    from scipy.special import log_ndtr

    sigma = analytic_sigma(budget)

    def fits(log: float) -> bool:  # Pr[N > alpha n / (sqrt(k) sigma)] <= beta / (2 k)
        return float(log_ndtr(-alpha * n / (math.exp(log / 2) * sigma))) <= math.log(beta / 2) - log

    return _largest_log(fits)


def _laplace(n: int, alpha: float, epsilon: float, beta: float) -> float:
    return _largest_log(lambda log: math.exp(log) / epsilon * (log - math.log(beta)) <= alpha * n)


def _largest_log(fits: Callable[[float], bool]) -> float:
    return _largest(fits, 100.0) if fits(0.0) else -math.inf


def _largest(fits: Callable[[float], bool], high: float) -> float:
    """The largest x in (0, high] with fits(x), which is monotone, by bisection; high where all fit."""
    if fits(high):
        return high
    low = 0.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
