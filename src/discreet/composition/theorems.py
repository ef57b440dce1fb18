"""Basic and advanced composition, with exact constants.

Theorem (basic; Dwork, McSherry, Nissim, Smith 2006).  Mechanisms that are
(epsilon_i, delta_i)-DP, each chosen after seeing the answers of those before it,
are together (sum epsilon_i, sum delta_i)-DP.

Theorem (advanced; Dwork, Rothblum, Vadhan 2010; drift of Kairouz, Oh, Viswanath 2015).
For every slack in (0, 1) they are (epsilon, sum delta_i + slack)-DP with

    epsilon = sqrt(2 ln(1 / slack) sum epsilon_i^2) + sum epsilon_i tanh(epsilon_i / 2),

and never need more than the sum.  Parameters are fixed in advance; for parameters
chosen on the way use `PrivacyFilter`.  Proofs: docs/theory/composition.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import reduce
from operator import add

from discreet.composition.price import Item, Price, gather, rest
from discreet.errors import UnsupportedError, require
from discreet.privacy.enclosure import LARGEST, exp_up, expm1_bounds, log_down, log_up, root_bounds
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP
from discreet.privacy.number import Number, down, exact, up


def basic(items: Iterable[Item]) -> Guarantee:
    """The sum, in the common currency of the items.

    >>> basic([PureDP(0.3), PureDP(0.7)])
    PureDP(epsilon=1.0)
    >>> basic([PureDP(0.3), ApproxDP(0.7, 1e-6)])
    ApproxDP(epsilon=1.0, delta=1e-06)
    """
    batch = gather(items)
    kinds = {type(leaf) for leaf in batch.counts}
    if kinds == {ZCDP} or kinds == {GaussianDP}:
        return reduce(add, (leaf.repeat(count) for leaf, count in batch.counts.items()))  # type: ignore[union-attr]
    total = batch.total()
    if total.epsilon is None:
        raise UnsupportedError("some mechanism has no finite epsilon of its own; use concentrated or numerical")
    if total.delta == 0:
        return PureDP(total.epsilon, neighbours=batch.relation)
    return ApproxDP(total.epsilon, total.delta, neighbours=batch.relation)


def advanced(items: Iterable[Item], delta: Number) -> ApproxDP:
    """The least of the two advanced bounds and the sum.

    >>> round(advanced([PureDP(0.1)] * 100, delta=1e-6).epsilon, 6)
    5.756106
    """
    batch = gather(items)
    slack = rest(batch, delta)
    epsilons = pure_parts(batch.prices())
    plain = sum((epsilon * count for epsilon, count in epsilons.items()), Fraction(0))
    bounds = (drv_epsilon(epsilons, slack), drift_epsilon(epsilons, slack)) if slack else ()
    found = min([plain, *(exact(bound) for bound in bounds if math.isfinite(bound))])
    return ApproxDP(found, delta, neighbours=batch.relation)


def pure_parts(prices: Mapping[Price, int]) -> dict[Fraction, int]:
    """How many mechanisms have each epsilon; refused where one has none."""
    counts: dict[Fraction, int] = {}
    for single, count in prices.items():
        if single.epsilon is None:
            raise UnsupportedError("some mechanism has no finite epsilon of its own; use concentrated or numerical")
        counts[single.epsilon] = counts.get(single.epsilon, 0) + count
    return counts


def drv_epsilon(epsilons: Mapping[Fraction, int], slack: Number) -> float:
    """sqrt(2 ln(1/slack) sum epsilon^2) + sum epsilon (e^epsilon - 1), rounded up (Dwork, Rothblum, Vadhan 2010)."""
    return _with_drift(epsilons, slack, lambda epsilon: expm1_bounds(epsilon)[1])


def drift_epsilon(epsilons: Mapping[Fraction, int], slack: Number) -> float:
    """sqrt(2 ln(1/slack) sum epsilon^2) + sum epsilon tanh(epsilon/2), rounded up: the exact expected loss."""
    return _with_drift(epsilons, slack, lambda epsilon: 1 - 2 / (exp_up(epsilon) + 1))


def _with_drift(epsilons: Mapping[Fraction, int], slack: Number, factor: Callable[[Fraction], Fraction]) -> float:
    small = exact(slack)
    require(0 < small < 1, "0 < slack < 1", slack=slack)
    if any(epsilon > LARGEST for epsilon in epsilons):
        return math.inf
    square = sum((count * epsilon**2 for epsilon, count in epsilons.items()), Fraction(0))
    drift = sum((count * epsilon * factor(epsilon) for epsilon, count in epsilons.items()), Fraction(0))
    return up(root_bounds(2 * log_up(1 / small) * square)[1] + drift)


def closed_form_share(target: ApproxDP, *, count: int) -> PureDP:
    """epsilon' = epsilon / sqrt(8 k ln(1/delta)): what each of k mechanisms may spend, by a formula of the notes.

    Valid for (epsilon, delta), not for pure epsilon as printed there, and only if
    epsilon <= 2 ln(1/delta) and epsilon' <= 1: then half of epsilon pays for the
    deviation and half for the drift.  It is about twice as strict as it need be;
    `calibrate` with `optimal` finds the largest share.

    >>> closed_form_share(ApproxDP(1.0, 1e-6), count=100)
    PureDP(epsilon=0.009511993327540628)
    """
    require(isinstance(count, int) and not isinstance(count, bool) and count >= 1, "count >= 1", count=count)
    epsilon, delta = exact(target.epsilon), exact(target.delta)
    require(delta > 0, "delta > 0", delta=target.delta)
    log = log_up(1 / delta)
    require(epsilon <= 2 * log_down(1 / delta), "epsilon <= 2 ln(1/delta)", epsilon=target.epsilon, delta=target.delta)
    share = epsilon / root_bounds(8 * count * log)[1]
    require(share <= 1, "epsilon / sqrt(8 k ln(1/delta)) <= 1", share=float(share))
    return PureDP(down(share), neighbours=target.neighbours)
