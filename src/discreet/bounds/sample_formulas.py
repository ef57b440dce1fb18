"""The formulas of `samples`: each a least n, proven unless it says otherwise.

Theorem.  Let the exponential mechanism choose among N hypotheses with weight e^(-epsilon err(h) / 2), err the number of
mistakes on n independent rows (epsilon-DP under Replace).  A hypothesis is bad if its error is more than alpha above
the least.  Then

    realizable   Pr[bad] <= N (1 - alpha (1 - e^(-epsilon/2)))^n
    agnostic     Pr[bad] <= N (cosh t - alpha sinh t)^n,   t = min{epsilon / 2, atanh alpha},

the second at most N exp(-n min{alpha^2 / 2, epsilon alpha / 4}): privacy is free when epsilon >= 2 atanh alpha.
Conversely, let T datasets of n rows be drawn by the same coins, such that no hypothesis is good for two of them and the
first differs from each other one in K ~ Bin(n, q) rows.  An epsilon-DP learner that fails with probability beta has

    (T - 1) E[e^(-epsilon K); K in the upper 1 - beta of its law] <= beta.

And if v points are shattered, or the class holds the thresholds on 2^v points, a protocol of one-way communication
needs v (1 - H(alpha + g)) bits to err by alpha but with probability g, H the entropy of a coin in bits: which makes
every epsilon-DP learner, proper or not, need as many rows as `communication.rows_needed` says.

Proof: docs/theory/sample_complexity.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from discreet.bounds.communication import rows_needed
from discreet.mechanisms.gaussian_sigma import analytic_sigma

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST = 1 << 60  # rows up to which a lower bound is looked for: it then says no more than that
ENDLESS = 1 << 1000  # and of an upper one, which would be false if it were cut off
LN2 = math.log(2)
ROUNDED = 1e-9  # rows: what is needed is rounded up from a little less
FAILURES = 64  # probabilities with which a protocol may fail: each proves a bound


@dataclass(frozen=True, slots=True)
class Question:
    """Error (alpha or tau), probability of failure, and the privacy to keep."""

    error: float
    beta: float
    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True)
class Packing:
    """ln T, q / alpha for datasets that differ in Bin(n, q) rows, and the alpha below which the masses fit."""

    log_count: float
    rate: float
    most: float


@dataclass(frozen=True, slots=True)
class FiniteClass:
    """What the formulas need of a class."""

    log_size: float
    vc: int
    packing: Packing | None = None
    learners: str = "learner"
    indices: int = 0  # bits of which each can be asked for: a shattered set, or the digits of a threshold
    pair: bool = True  # whether two of the concepts agree on a point and differ on another

    @classmethod
    def of_size(cls, size: int) -> FiniteClass:
        """Any class of so many hypotheses: its VC dimension is at most the logarithm.

        Of three concepts two are not each other's complement; of two they may be, and one row then tells them apart.
        """
        return cls(math.log(size), size.bit_length() - 1, pair=size >= 3)

    @classmethod
    def named(cls, problem: str, d: int) -> FiniteClass:
        """Thresholds, intervals, parities or monotone conjunctions."""
        points = d * LN2
        match problem:
            case "thresholds":  # 2^d + 1 of them, 2^d - 1 with a point on either side
                return cls(_log(2**d + 1), 1, Packing(_log(2**d - 1), 2.0, 1 / 2), "proper learner", d)
            case "intervals":  # thresholds are among them
                packing = Packing(_log(max(1, 2**d - 2)), 2.0, 1 / 3)
                return cls(_log(2**d * (2**d + 1) // 2 + 1), 2, packing, "proper learner", d)
            case "parities":
                return cls(points, d, Packing(points, 2.0, 1 / 4), indices=d)
            case _:
                return cls(points, d, _code(d), indices=d)


def _log(count: int) -> float:
    return math.log(count)


@lru_cache(maxsize=64)
def _code(d: int) -> Packing | None:
    """Patterns on a shattered set of d points, pairwise apart in at least c of them: Gilbert and Varshamov.

    A mass of 2 alpha d / c on the set makes them 2 alpha apart; the best c has the most ln T for its mass.
    """
    found, close = [], 0
    for apart in range(1, d // 2 + 1):
        close += math.comb(d, apart - 1)
        count = -(-(2**d) // close)
        if count >= 2:
            found.append(Packing(_log(count), 2.0 * d / apart, apart / (2 * d)))
    return max(found, key=lambda packing: packing.log_count / packing.rate, default=None)


def consistent(log: float, q: Question) -> int:
    """A bad hypothesis is consistent with n rows with probability (1 - alpha)^n."""
    return math.ceil((log - math.log(q.beta)) / -math.log1p(-q.error))


def empirical(log: float, q: Question) -> int:
    """The least empirical error: the agnostic formula without privacy."""
    return math.ceil(2 * (log - math.log(q.beta)) / -math.log1p(-(q.error**2)))


def uniform(log: float, q: Question) -> int:
    """All empirical errors within alpha (Hoeffding)."""
    return math.ceil((log + math.log(2 / q.beta)) / (2 * q.error**2))


def blumer(vc: int, q: Question) -> int:
    """Any consistent hypothesis, by the VC dimension (Blumer, Ehrenfeucht, Haussler, Warmuth 1989)."""
    return math.ceil(max(4 * math.log2(2 / q.beta), 8 * vc * math.log2(13 / q.error)) / q.error)


def vc_shape(vc: int, q: Question) -> int:
    """A shape: its constant is not 1."""
    return math.ceil((vc + math.log(1 / q.beta)) / q.error**2)


def two_concepts(q: Question) -> int:
    """Two concepts that differ on a mass of alpha look the same with probability (1 - alpha)^n."""
    return max(0, math.ceil(math.log(1 / (2 * q.beta)) / -math.log1p(-q.error) - ROUNDED))


def generic_realizable(log: float, q: Question) -> int:
    """By Chernoff's bound and a union, as in the notes."""
    return math.ceil(max(8 / q.error, 4 / (q.epsilon * q.error)) * (log + math.log(2 / q.beta)))


def moments_realizable(log: float, q: Question) -> int:
    """By the moment of the number of mistakes."""
    return math.ceil((log - math.log(q.beta)) / -math.log1p(q.error * math.expm1(-q.epsilon / 2)))


def generic_agnostic(log: float, q: Question) -> int:
    """With the constant of Kasiviswanathan and others 2008."""
    return math.ceil(6 * (log - math.log(q.beta)) * max(1 / (q.epsilon * q.error), 1 / q.error**2))


def moments_agnostic(log: float, q: Question) -> int:
    """By the moment of the difference of mistakes."""
    t = min(q.epsilon / 2, math.atanh(q.error))
    half = t / 2  # cosh t - alpha sinh t is 1 less this: the difference from 1 is not taken, which would lose it
    rate = -math.log1p(-2 * math.sinh(half) * (q.error * math.cosh(half) - math.sinh(half)))
    return math.ceil((log - math.log(q.beta)) / rate)


def notes_packing(d: int, q: Question) -> int | None:
    """The packing of thresholds by Markov's inequality; nothing for alpha > 1/4 or beta >= 1/2."""
    if q.error > 0.25 or q.beta >= 0.5 or q.delta:
        return None
    return max(0, math.ceil((_log(2**d - 1) + math.log(0.5 - q.beta)) / (8 * q.epsilon * q.error) - ROUNDED))


def packing_rows(known: FiniteClass, q: Question) -> int | None:
    """The least n that the packing allows; None where its mass does not fit."""
    packing = known.packing
    assert packing is not None
    if q.error >= packing.most or packing.log_count <= 0 or q.delta:
        return None
    rate, others = packing.rate * q.error, packing.log_count + math.log1p(-math.exp(-packing.log_count))
    return least(lambda n: others + upper_moment(n, rate, q) <= math.log(q.beta) + 1e-9, most=LARGEST)


def communication_rows(known: FiniteClass, q: Question) -> int | None:
    """The rows of any pure learner by one-way communication, for the best probability of failure of the protocol."""
    if q.delta or q.error >= 0.5 or not known.indices:
        return None
    found = 0
    for place in range(1, FAILURES):
        failure = (0.5 - q.error) * place / FAILURES
        bits = math.ceil(known.indices * (1 - entropy(q.error + failure)) - ROUNDED)
        found = max(found, rows_needed(bits, epsilon=q.epsilon, failure=failure, beta=q.beta))
    return found


def entropy(p: float) -> float:
    """Of a coin, in bits.

    >>> entropy(0.5), round(entropy(0.11), 4)
    (1.0, 0.4999)
    """
    return -(p * math.log2(p) + (1 - p) * math.log2(1 - p)) if 0 < p < 1 else 0.0


def upper_moment(n: int, rate: float, q: Question) -> float:
    """ln E[e^(-epsilon K); K in the upper 1 - beta of Bin(n, rate)], from below.

    >>> round(upper_moment(1, 0.5, Question(0.1, 0.25, 1.0, 0.0)), 6) == round(math.log(0.25 + 0.5 / math.e), 6)
    True
    """
    import numpy as np
    from scipy.special import logsumexp
    from scipy.stats import binom

    low, high = (int(binom.ppf(tail, n, rate)) for tail in (q.beta, 1 - 1e-9))
    k = np.arange(low, max(low, high) + 1)
    masses = binom.pmf(k, n, rate)
    masses[0] = max(0.0, float(binom.cdf(low, n, rate)) - q.beta)  # what is left of the quantile itself
    with np.errstate(divide="ignore"):
        return float(logsumexp(np.log(masses) - q.epsilon * k))


def parity_block(d: int, q: Question, failure: float) -> int:
    """One block of the parity learner, which answers with probability 1/2 and is then bad at most so often."""
    return math.ceil((d * LN2 + math.log(1 / failure)) / (q.error * math.tanh(q.epsilon / 2)))


def parity_amplified(d: int, q: Question) -> tuple[int, int]:
    """Blocks and rows: the first answer of t blocks fails with probability 2^-t + (1 - 2^-t) b."""
    found = []
    for times in range(1, 200):
        silent = 2.0**-times
        if silent < q.beta:
            failure = (q.beta - silent) / (1 - silent)
            found.append((times * parity_block(d, q, failure), times))
    total, times = min(found)
    return times, total


def parity_local(d: int, q: Question) -> int:
    """A shape: any protocol of the local model, by the hardness of parities for statistical queries."""
    log = (2 * math.log(q.beta) + d * LN2 - 3 * q.epsilon) / 3
    return math.floor(math.exp(log)) if log < 40 else LARGEST


def sampling(m: int, q: Question) -> int:
    """Hoeffding, for all m queries in [-1, 1]."""
    return math.ceil(2 * math.log(2 * m / q.beta) / q.error**2)


def shared_laplace(m: int, q: Question) -> int:
    """All queries on one sample, the budget split."""
    noise = 2 * m / q.epsilon * math.log(2 * m / q.beta)
    return least(lambda n: noise / n + math.sqrt(2 * math.log(4 * m / q.beta) / n) <= q.error)


def shared_gaussian(m: int, q: Question) -> int:
    """The same with Gaussian noise for (epsilon, delta)."""
    from scipy.special import ndtri

    sigma = analytic_sigma(epsilon=q.epsilon, delta=q.delta, sensitivity=1)
    noise = -2 * math.sqrt(m) * sigma * float(ndtri(q.beta / (4 * m)))
    return least(lambda n: noise / n + math.sqrt(2 * math.log(4 * m / q.beta) / n) <= q.error)


def split(m: int, q: Question) -> int:
    """A fresh block for each query, with the whole budget: half of tau and of beta for noise and for sampling."""
    noise = 4 / (q.epsilon * q.error) * math.log(2 * m / q.beta)
    return m * math.ceil(max(noise, 8 / q.error**2 * math.log(4 * m / q.beta)))


def local(m: int, q: Question) -> int:
    """One bit a user, m groups of users as even as can be; the formula, and no less than whole users need.

    A group fails with probability p = 2 e^(-users c^2 tau^2 / 2); groups are independent: all hold with prod (1 - p).
    """
    rate = (math.tanh(q.epsilon / 2) * q.error) ** 2 / 2

    def holds(n: int) -> bool:
        users, more = divmod(n, m)
        fails = [min(1.0, 2 * math.exp(-rate * group)) for group in (users, users + 1)]
        return max(fails) < 1 and (m - more) * math.log1p(-fails[0]) + more * math.log1p(-fails[1]) >= math.log1p(
            -q.beta
        )

    return max(math.ceil(m / rate * math.log(2 * m / q.beta)), least(holds))


def local_chebyshev(m: int, q: Question) -> int:
    """Laplace noise of scale 2 / epsilon by each user, m groups; by the variance alone, as in the notes."""
    return m * math.ceil(m * (8 / q.epsilon**2 + 1) / (q.beta * q.error**2))


def local_laplace(m: int, q: Question) -> int:
    """The same by Chernoff: ln E e^(t (report - mean)) <= t^2 / 2 - ln(1 - (2 t / epsilon)^2)."""
    square = (2 / q.epsilon) ** 2
    low, high = 0.0, q.epsilon / 2
    for _ in range(200):  # the slope of t tau - t^2 / 2 + ln(1 - square t^2) falls
        t = (low + high) / 2
        low, high = (t, high) if q.error - t - 2 * square * t / (1 - square * t * t) > 0 else (low, t)
    rate = low * q.error - low * low / 2 + math.log1p(-square * low * low)
    return m * math.ceil(math.log(2 * m / q.beta) / rate)


def local_factorization(m: int, gamma: float, q: Question) -> int:
    """Everybody answers all m queries through factors of norm gamma, by Duchi's directions in at most m dimensions.

    The second moment of an answer is at most gamma^2 / (m c_m^2 tanh^2(epsilon / 2)) <= pi gamma^2 / (2 tanh^2), its
    size gamma / (c_m tanh(epsilon / 2)), c_m = Gamma(m / 2) / (sqrt(pi) Gamma((m + 1) / 2)); then Bernstein.
    """
    mean = math.exp(math.lgamma(m / 2) - math.lgamma((m + 1) / 2)) / math.sqrt(math.pi) * (1 - 1e-9)
    length = gamma / (mean * math.tanh(q.epsilon / 2))
    level = math.log(2 * m / q.beta)
    square, reach = length**2 / m, length + gamma
    return least(lambda n: math.sqrt(2 * square * level / n) + 2 * reach * level / (3 * n) <= q.error)


def least(holds: Callable[[int], bool], *, most: int = ENDLESS) -> int:
    """The least n >= 1 for which a monotone condition holds, by doubling and bisection; `most` if none up to it.

    >>> least(lambda n: n >= 10**20), least(lambda n: n >= 10**20, most=1 << 60) == 1 << 60
    (100000000000000000000, True)
    """
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
        if high > most:
            return most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
