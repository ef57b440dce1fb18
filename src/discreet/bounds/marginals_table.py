"""The table of t-way marginals of d bits under (epsilon, delta)-DP: eight bounds of the notes, and what is exact.

The bounds of the notes have unknown constants: they are evaluated with the constant 1 and are shapes only.  The
exact entries are standard deviations of the worst answer, as fractions of n, where one row is added or removed:

    best factorization   sigma1 / n 2^-t sum over j of sqrt(C(t, j) C(d, j))
    noise on each table  sigma1 / n sqrt(C(d, t)).

A lower bound is shown only where its constraint can hold: the one by fingerprints is for n <= d^O(1) / epsilon, and
with the constant 1 it would exceed the first upper bound from n = d^(t - 1/2) / t on; beyond that it is suppressed.
Theory: docs/guide/which_method.md.
"""

from __future__ import annotations

import math

from discreet.bounds.table import BoundsTable, Entry
from discreet.errors import require
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.number import Number, exact


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
    title = (
        f"All {t}-way marginals of {d} bits, n = {n}, epsilon {epsilon}, delta {delta}: largest error, fraction of n"
    )
    return BoundsTable(
        title, (*_exact(d, t, n, epsilon, delta), *_upper(d, t, n, epsilon, delta), *_lower(d, t, n, epsilon))
    )


def _exact(d: int, t: int, n: int, epsilon: Number, delta: Number) -> list[Entry]:
    sigma1 = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1)
    naive = sigma1 * math.sqrt(math.comb(d, t)) / n
    return [
        Entry(name="best factorization", claim="sd sigma1 gamma_2 / n", value=sigma1 * marginals_gamma2(d, t) / n,
              kind="exact", note="MarginalRelease; no factorization is better"),
        Entry(name="noise on each table", claim="sd sigma1 sqrt(C(d, t)) / n", value=naive, kind="exact",
              note="IndependentNoise"),
    ]  # fmt: skip


def _upper(d: int, t: int, n: int, epsilon: Number, delta: Number) -> list[Entry]:
    rate, log = float(exact(epsilon)) * n, -math.log(float(exact(delta)))
    even = t % 2 == 0
    fourth = math.sqrt(d ** (t / 4) * math.sqrt(log) / rate)
    return [
        _shape("1 independent noise", "d^(t/2) sqrt(log(1/delta) loglog d) / (epsilon n)",
               d ** (t / 2) * math.sqrt(log * max(0.0, math.log(math.log(d)))) / rate if d > 2 else None, "time d^t"),
        _shape("2 multiplicative weights", "(t log d sqrt(d log(1/delta)) / (epsilon n))^(1/2)",
               math.sqrt(t * math.log(d) * math.sqrt(d * log) / rate), "time 2^d; synthetic rows"),
        _shape("3 polynomials", "alpha for n >= d^(c sqrt(t) log(1/alpha)) / epsilon", None,
               "time n; ChebyshevConjunctions has the constants"),
        _shape("4 projection", "(d^(t/4) sqrt(log(1/delta)) / (epsilon n))^(1/2), on average", fourth if even else None,
               "time d^t; ParityProjection" if even else "for even t only"),
    ]  # fmt: skip


def _lower(d: int, t: int, n: int, epsilon: Number) -> list[Entry]:
    rate = float(exact(epsilon)) * n
    crossing = d ** (t - 0.5) / t
    prints = min(1.0, math.sqrt(t * math.sqrt(d) / rate))
    valid = n < crossing
    return [
        _shape("5 reconstruction", "at least min(d^(t/2) / n, 1 / sqrt(n))",
               min(d ** (t / 2) / n, 1 / math.sqrt(n)), "t = O(1)"),
        _shape("6 counting", "at least min(t log(d/t) / n, 1)", min(t * math.log(d / t) / n, 1.0), "any time"),
        Entry(name="7 fingerprints", claim="at least min((t sqrt(d) / (epsilon n))^(1/2), 1)", value=prints,
              kind="shape only" if valid else "suppressed",
              note="any time" if valid else f"n <= d^O(1) / epsilon: not beyond d^(t - 1/2) / t = {crossing:.4g}"),
        _shape("8 signatures", "at least a constant, for synthetic rows", 1.0 if t >= 2 else None,
               "time below 2^(d^(1 - o(1)))" if t >= 2 else "for t >= 2 only"),
    ]  # fmt: skip


def _shape(name: str, claim: str, value: float | None, note: str) -> Entry:
    return Entry(name=name, claim=claim, value=value, kind="no number" if value is None else "shape only", note=note)


def marginals_gamma2(d: int, t: int) -> float:
    """gamma_2 of all t-way marginals of d bits.

    >>> [round(marginals_gamma2(d, t), 4) for d, t in ((4, 2), (10, 2), (100, 2), (100, 3), (1000, 2))]
    [1.5695, 3.0451, 21.3746, 67.7876, 188.1186]
    """
    return sum(math.sqrt(math.comb(t, j) * math.comb(d, j)) for j in range(t + 1)) / 2**t
