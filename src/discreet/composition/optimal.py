"""Optimal composition of (epsilon, delta) guarantees.

Theorem (Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016).  Every
(epsilon, delta)-DP mechanism is a post-processing of the one that fails with
probability delta (and tells all) and otherwise answers by randomized response with
p = e^epsilon / (1 + e^epsilon).  So mechanisms with (epsilon_i, delta_i), chosen
adaptively, are (epsilon, delta)-DP if and in the worst case only if

    1 - prod (1 - delta_i) (1 - D) <= delta,    D = E[(1 - e^(epsilon - L))_+],

where L is a sum of independent losses, epsilon_i with probability p_i and else
-epsilon_i.  Equal epsilons: L is binomial and the sum is evaluated directly, up to
a million mechanisms.  Few distinct epsilons: the sum over all combinations.
Otherwise, as exact evaluation is #P-hard, epsilons are moved up to a lattice and L
is found by a transform with a proven error.  The answer is never below the least
epsilon.  Proof: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.composition.price import Item, gather
from discreet.composition.theorems import pure_parts
from discreet.composition.transform import LONGEST, UNIT, Law, least_epsilon, split
from discreet.errors import require
from discreet.privacy.guarantee import ApproxDP
from discreet.privacy.number import Number, down, exact, up

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

ENUMERATED = 1 << 19  # combinations of counts that are summed directly


def optimal(items: Iterable[Item], delta: Number) -> ApproxDP:
    """The least epsilon at this delta for any mechanisms with the given (epsilon_i, delta_i).

    >>> from discreet.privacy.guarantee import PureDP
    >>> round(optimal([PureDP(0.1)] * 100, delta=1e-6).epsilon, 6)
    4.774568
    """
    batch = gather(items)
    prices = batch.prices()
    epsilons = pure_parts(prices)
    wanted = exact(delta)
    require(0 <= wanted < 1, "0 <= delta < 1", delta=delta)
    own = {single.delta: 0 for single in prices}
    for single, count in prices.items():
        own[single.delta] += count
    left = _without_failures(wanted, own)
    require(left >= 0, "delta at least the probability that some mechanism fails", delta=delta)
    return ApproxDP(_least(epsilons, left), delta, neighbours=batch.relation)


def _without_failures(delta: Fraction, own: Mapping[Fraction, int]) -> Fraction:
    """1 - (1 - delta) / prod (1 - delta_i), rounded down: what delta leaves for randomized response."""
    failing = {single: count for single, count in own.items() if single > 0}
    if not failing:
        return delta
    if sum(failing.values()) <= 50:
        return 1 - (1 - delta) / math.prod((1 - single) ** count for single, count in failing.items())
    logarithm = math.fsum(-count * math.log1p(-float(single)) for single, count in failing.items())
    wide = math.log1p(-float(delta)) + logarithm
    error = 16 * UNIT * (logarithm - math.log1p(-float(delta)))
    left = exact(-math.expm1(wide + error))
    return left if left > 0 or sum(k * d for d, k in failing.items()) > delta else Fraction(0)


def _least(epsilons: Mapping[Fraction, int], delta: Fraction) -> Fraction:
    """The least epsilon of independent randomized responses at this delta, from above."""
    positive = {epsilon: count for epsilon, count in epsilons.items() if epsilon > 0}
    total = sum((epsilon * count for epsilon, count in positive.items()), Fraction(0))
    target = down(delta)
    if target <= 0 or not positive:
        return total
    combinations = math.prod(min(count, ENUMERATED) + 1 for count in positive.values())
    if combinations <= ENUMERATED or (len(positive) == 1 and max(positive.values()) <= LONGEST):
        found = _enumerated(positive, target)
    else:
        found = _transformed(positive, target)
    return min(total, exact(up(found)))


def _enumerated(epsilons: Mapping[Fraction, int], delta: float) -> float:
    """Sum over how many of each kind answered against the data.

    Logarithms of binomial masses carry an absolute error of a few units times the largest
    term, which is added to every mass; then delta is decreasing in epsilon and bisection
    ends where the bound on delta is met.
    """
    import numpy as np

    losses, logs, error = np.zeros(1), np.zeros(1), 0.0
    for epsilon, count in epsilons.items():
        loss, log, bound = _binomial(float(epsilon), count)
        losses = np.add.outer(losses, loss).ravel()
        logs = np.add.outer(logs, log).ravel()
        error += bound
    kept = losses > 0  # epsilon is never negative
    losses, masses = losses[kept] * (1 + 8 * UNIT), np.exp(logs[kept])
    factor = math.exp(error) * (1 + 2.0**-40)
    order = np.argsort(losses)
    losses, masses = losses[order], masses[order]

    def tail(epsilon: float) -> float:
        first = int(np.searchsorted(losses, epsilon, side="right"))
        return factor * float(np.dot(masses[first:], -np.expm1(epsilon - losses[first:])))

    if tail(0.0) <= delta:
        return 0.0
    low, high = 0.0, float(losses[-1])
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(middle) <= delta else (middle, high)
    return high * (1 + 2.0**-48)


def _binomial(epsilon: float, count: int) -> tuple[Floats, Floats, float]:
    """Losses (count - 2 j) epsilon, log-masses, and a bound on the error of the latter."""
    import numpy as np
    from scipy.special import gammaln

    j = np.arange(count + 1, dtype=np.float64)
    log_p = -math.log1p(math.exp(-epsilon))
    log_q = log_p - epsilon
    largest = float(gammaln(count + 1))
    logs = largest - gammaln(j + 1) - gammaln(count - j + 1) + (count - j) * log_p + j * log_q
    return (count - 2 * j) * epsilon, logs, 16 * UNIT * (3 * largest + count * (abs(log_p) + abs(log_q)) + 4)


def _transformed(epsilons: Mapping[Fraction, int], delta: float) -> float:
    """Randomized responses on a lattice so fine that splitting adds at most 1 part in 10^4 to the variance."""
    import numpy as np

    count = sum(epsilons.values())
    square = sum(float(epsilon) ** 2 * number for epsilon, number in epsilons.items())
    step = min(0.02 * math.sqrt(square / count), math.sqrt(square) / 4000)
    step = max(step, 48 * math.sqrt(square) / LONGEST)
    cells = 24 * math.sqrt(square) / step
    laws: list[tuple[Law, int]] = []
    for epsilon, number in _grouped(epsilons, max(64, min(512, int(2**26 / cells)))).items():
        p = 1 / (1 + math.exp(-epsilon))
        losses = np.array([epsilon, -epsilon]) * (1 + 4 * UNIT)
        laws.append((split(losses, np.array([p, math.exp(-epsilon) * p]), step), number))
    return least_epsilon(laws, step, delta)


def _grouped(epsilons: Mapping[Fraction, int], most: int) -> dict[float, int]:
    """At most `most` distinct epsilons, each moved up to the largest of its group."""
    ordered = sorted(((up(epsilon), count) for epsilon, count in epsilons.items()), reverse=True)
    ratio, groups = 1.0, dict(ordered)
    while len(groups) > most:
        ratio = 1 + 1e-4 if ratio == 1 else 1 + 1.5 * (ratio - 1)
        floor = ordered[0][0] * 1e-3 * (ratio - 1)  # epsilons this small cost nothing when moved up
        groups, top = {}, math.inf
        for epsilon, count in ordered:
            if top > max(epsilon * ratio, epsilon + floor):
                top = epsilon
            groups[top] = groups.get(top, 0) + count
    return groups
