"""The table of t-way marginals of d bits under (epsilon, delta)-DP: eight bounds of the notes, and what is exact.

The bounds of the notes have unknown constants: they are evaluated with the constant 1 and are shapes only.  The
exact entries are standard deviations of the worst answer, as fractions of n, where one row is added or removed:

    best factorization   sigma1 / n 2^-t sum over j of sqrt(C(t, j) C(d, j))
    noise on each table  sigma1 / n sqrt(C(d, t));

and, with a row replaced, two lower bounds with their constants for every mechanism: that of `packing` on the rows of d
bits, and that of `fingerprinting` on d - t + 1 free columns.

A lower bound is shown only where its constraint can hold: the one by fingerprints is for n <= d^O(1) / epsilon, and
with the constant 1 it would exceed the first upper bound, without its logarithms, from epsilon n = d^(t - 1/2) / t on;
beyond that it is suppressed.  Numbers beyond the floats are left out.  Theory: docs/guide/which_method.md.
"""

from __future__ import annotations

import math

from discreet.bounds.fingerprinting import fingerprinting
from discreet.bounds.packing import Packing, packing_bound
from discreet.bounds.table import BoundsTable, Entry, representable
from discreet.errors import require
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.neighbours import Replace
from discreet.privacy.number import Number, down, exact

LARGEST = 700.0  # of the logarithms whose number is a float
BITS = 200  # of which a packing is made: with a delta more say no more
MOST = 10**18  # rows that are moved in a lower bound


def marginals_table(d: int, t: int, n: int, epsilon: Number, delta: Number) -> BoundsTable:
    """Largest errors of all t-way marginals, as fractions of n.

    >>> table = marginals_table(100, 2, 100_000, 1.0, 1e-6)
    >>> round(table["best factorization"].value, 6), round(table["1 independent noise"].value, 6)
    (0.000903, 0.004593)
    >>> table["7 fingerprints"].shown
    '-'
    """
    for name, value in {"d": d, "t": t, "n": n}.items():
        whole = isinstance(value, int) and not isinstance(value, bool)
        require(whole and value >= 1, f"an integer {name} >= 1", **{name: value})
    require(2 <= d <= 10**6, "2 <= d <= 10^6", d=d)
    require(t <= d, "t <= d", t=t, d=d)
    require(exact(epsilon) > 0, "epsilon > 0", epsilon=epsilon)
    require(0 < exact(delta) < 1, "0 < delta < 1", delta=delta)
    representable(epsilon=epsilon)
    title = (
        f"All {t}-way marginals of {d} bits, n = {n}, epsilon {epsilon}, delta {delta}: largest error, fraction of n"
    )
    return BoundsTable(
        title,
        (
            *_exact(d, t, n, epsilon, delta),
            *_upper(d, t, n, epsilon, delta),
            *_lower(d, t, n, epsilon),
            *_proven(d, t, n, epsilon, delta),
        ),
    )


def _exact(d: int, t: int, n: int, epsilon: Number, delta: Number) -> list[Entry]:
    noise = math.log(analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1)) - math.log(n)
    best, naive = _number(noise + _log_gamma2(d, t)), _number(noise + _log_choose(d, t) / 2)
    return [
        Entry(name="best factorization", claim="sd sigma1 gamma_2 / n", value=best,
              kind="no number" if best is None else "exact",
              note="MarginalRelease; no factorization with continuous Gaussian noise is better"),
        Entry(name="noise on each table", claim="sd sigma1 sqrt(C(d, t)) / n", value=naive,
              kind="no number" if naive is None else "exact", note="IndependentNoise"),
    ]  # fmt: skip


def _upper(d: int, t: int, n: int, epsilon: Number, delta: Number) -> list[Entry]:
    rate, log = _log(epsilon) + math.log(n), -_log(delta)  # of epsilon n, and log(1/delta)
    even = t % 2 == 0
    fourth = _number((t / 4 * math.log(d) + math.log(log) / 2 - rate) / 2)
    first = t / 2 * math.log(d) + math.log(log * math.log(math.log(d))) / 2 - rate if d > 2 else math.inf
    return [
        _shape("1 independent noise", "d^(t/2) sqrt(log(1/delta) loglog d) / (epsilon n)", _number(first), "time d^t"),
        _shape("2 multiplicative weights", "(t log d sqrt(d log(1/delta)) / (epsilon n))^(1/2)",
               _number((math.log(t * math.log(d)) + math.log(d * log) / 2 - rate) / 2), "time 2^d; synthetic rows"),
        _shape("3 polynomials", "alpha for n >= d^(c sqrt(t) log(1/alpha)) / epsilon", None,
               "time n; ChebyshevConjunctions has the constants"),
        _shape("4 projection", "(d^(t/4) sqrt(log(1/delta)) / (epsilon n))^(1/2), on average", fourth if even else None,
               "time d^t; ParityProjection" if even else "for even t only"),
        _shape("subexponential time", "o(1) for n >= t d^0.51", None,
               "time poly(n, 2^o(d)); Chandrasekaran, Thaler, Ullman, Wan 2014, named in the notes without proof"),
    ]  # fmt: skip


def _lower(d: int, t: int, n: int, epsilon: Number) -> list[Entry]:
    rate = _log(epsilon) + math.log(n)
    crossing = (t - 0.5) * math.log(d) - math.log(t)
    prints = math.exp(min(0.0, (math.log(t * math.sqrt(d)) - rate) / 2))
    valid = rate < crossing
    until = f"{math.exp(crossing):.4g}" if crossing < LARGEST else f"10^{crossing / math.log(10):.0f}"
    return [
        _shape("5 reconstruction", "at least min(d^(t/2) / n, 1 / sqrt(n))",
               math.exp(min(t / 2 * math.log(d) - math.log(n), -math.log(n) / 2)), "t = O(1)"),
        _shape("6 counting", "at least min(t log(d/t) / n, 1)",
               min(t * math.log(d / t) * math.exp(-math.log(n)), 1.0), "any time"),
        Entry(name="7 fingerprints", claim="at least min((t sqrt(d) / (epsilon n))^(1/2), 1)", value=prints,
              kind="shape only" if valid else "suppressed",
              note="any time" if valid else f"n <= d^O(1) / epsilon: not beyond epsilon n = d^(t - 1/2) / t = {until}"),
        _shape("8 signatures", "at least a constant, for synthetic rows", 1.0 if t >= 2 else None,
               "time below 2^(d^(1 - o(1)))" if t >= 2 else "for t >= 2 only"),
    ]  # fmt: skip


def _proven(d: int, t: int, n: int, epsilon: Number, delta: Number) -> list[Entry]:
    """With constants, for every mechanism, where a row is replaced: the rows 6 and 7 as they are proven here."""
    budget, rows = ApproxDP(epsilon, delta), min(n, MOST)
    packed = packing_bound(Packing.points(1 << min(d, BITS), Replace), budget=budget, n=rows)
    traced = fingerprinting(d - t + 1, budget=budget, n=rows, neighbours=Replace)
    claims = {
        "6 counting, proven": (
            "some error is at least this, with probability 0.05",
            packed.value,
            f"packing: {packed.copies} equal rows",
        ),
        "7 fingerprints, proven": (
            "some query has at least this root mean square error",
            traced.value,
            f"{traced.queries} free columns",
        ),
    }
    return [
        Entry(name=name, claim=claim, value=down(exact(value) / n), kind="exact", note=note)
        for name, (claim, value, note) in claims.items()
    ]


def _shape(name: str, claim: str, value: float | None, note: str) -> Entry:
    return Entry(name=name, claim=claim, value=value, kind="no number" if value is None else "shape only", note=note)


def marginals_gamma2(d: int, t: int) -> float:
    """gamma_2 of all t-way marginals of d bits.

    >>> [round(marginals_gamma2(d, t), 4) for d, t in ((4, 2), (10, 2), (100, 2), (100, 3), (1000, 2))]
    [1.5695, 3.0451, 21.3746, 67.7876, 188.1186]
    """
    log = _log_gamma2(d, t)
    return math.exp(log) if log < LARGEST else math.inf


def _log_gamma2(d: int, t: int) -> float:
    import numpy as np

    j = np.arange(1, t + 1)
    steps = np.log((t - j + 1) / j) + np.log((d - j + 1) / j)  # of C(t, j) C(d, j)
    logs = np.append(0.0, np.cumsum(steps)) / 2
    top = float(logs.max())
    return top + math.log(math.fsum(np.exp(logs - top).tolist())) - t * math.log(2)


def _log_choose(d: int, t: int) -> float:
    return math.fsum(math.log((d - j) / (j + 1)) for j in range(min(t, d - t)))


def _log(value: Number) -> float:
    """The logarithm of a rational of any size."""
    number = exact(value)
    return math.log(number.numerator) - math.log(number.denominator)


def _number(log: float) -> float | None:
    """The number with this logarithm, where a float is as large."""
    return math.exp(log) if log < LARGEST else None
