"""Concentrated and Renyi composition.

Theorem (Bun, Steinke 2016; Mironov 2017).  Renyi divergences of mechanisms run one
after another, each chosen after seeing the answers before it, add at every order; so
rho-zCDP adds in rho.  A mechanism with D_order <= r is (epsilon, delta)-DP with

    epsilon = r + ln(1 / (order delta)) / (order - 1) + ln(1 - 1 / order)

(Canonne, Kamath, Steinke 2020).  A Poisson sample at rate q of a mechanism whose two
laws are swapped by an involution, as for the Gaussian, has at integer orders

    (order - 1) D_order <= ln sum_j C(order, j) (1 - q)^(order - j) q^j e^((j - 1) D_j)

(Mironov, Talwar, Zhang 2019).  Proof: docs/theory/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from discreet.composition.price import Batch, Item, gather, one, rest
from discreet.errors import UnsupportedError, require
from discreet.privacy.event import GaussianEvent, LaplaceEvent, PoissonSampledEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, RenyiDP
from discreet.privacy.number import Number, exact, up

ORDERS = (*range(2, 65), *(int(2 ** (6 + i / 8)) for i in range(1, 49)))
ERROR = 1e-11  # relative error of the sums below, with room to spare


def concentrated(items: Iterable[Item], delta: Number | None = None) -> ZCDP | ApproxDP:
    """The sum of rhos; with a delta, the least epsilon over the zCDP line and the Renyi curve.

    >>> concentrated([ZCDP(0.25), ZCDP(0.25)])
    ZCDP(rho=0.5)
    >>> round(concentrated([ZCDP(0.5)], delta=1e-6).epsilon, 5)
    5.22153
    """
    batch = gather(items)
    total = batch.total()
    if delta is None:
        if total.delta > 0:
            raise UnsupportedError("a mechanism with a delta has no rho alone; give concentrated the delta to reach")
        return ZCDP(total.rho, neighbours=batch.relation)
    left = rest(batch, delta)
    if left == 0:
        require(total.epsilon is not None, "delta above the sum of the mechanisms' own deltas", delta=delta)
        return ApproxDP(total.epsilon, delta, neighbours=batch.relation)  # type: ignore[arg-type]
    candidates = [exact(ZCDP(total.rho).to_approx(left).epsilon)]
    candidates += [
        exact(RenyiDP(order, up(bound)).to_approx(left).epsilon)
        for order, bound in _promising(ORDERS, _curve(batch, ORDERS), max(float(left), 5e-324))
    ]
    return ApproxDP(min(candidates), delta, neighbours=batch.relation)


def renyi_curve(items: Iterable[Item], orders: Sequence[int] = ORDERS) -> list[float]:
    """An upper bound on D_order of the composition, for each integer order; own deltas are not in it.

    >>> from discreet.privacy.event import GaussianEvent
    >>> renyi_curve([GaussianEvent(sigma=10, sensitivity=1)], [2, 4])
    [0.0100000000001, 0.0200000000002]
    """
    require(all(isinstance(order, int) and order >= 2 for order in orders), "integer orders >= 2", orders=orders)
    return _curve(gather(items), orders)


def _promising(orders: Sequence[int], curve: Sequence[float], delta: float) -> list[tuple[int, float]]:
    """The few orders with the least epsilon in floating point; any order is valid."""

    def rough(pair: tuple[int, float]) -> float:
        order, bound = pair
        return bound - math.log(order * delta) / (order - 1) + math.log1p(-1 / order)

    finite = [pair for pair in zip(orders, curve, strict=True) if math.isfinite(pair[1])]
    return sorted(finite, key=rough)[:3]


def _curve(batch: Batch, orders: Sequence[int]) -> list[float]:
    return [
        math.fsum(count * renyi(leaf, order) for leaf, count in batch.counts.items()) * (1 + ERROR) for order in orders
    ]


def renyi(leaf: Item, order: int) -> float:
    """An upper bound on the Renyi divergence of one mechanism, of its good part if it has a delta."""
    known = one(leaf)
    line = float(known.rho) * order
    if isinstance(leaf, PoissonSampledEvent) and isinstance(leaf.event, GaussianEvent):
        return min(line, _sampled_gaussian(float(known.rho), exact(leaf.rate), order))
    if isinstance(leaf, LaplaceEvent) and 1 < leaf.sensitivity <= 4096:
        return min(line, _laplace(float(exact(leaf.scale)), leaf.sensitivity, order))
    if known.epsilon is None:
        return line
    return min(line, _response(float(known.epsilon), order))


def _response(epsilon: float, order: int) -> float:
    """Randomized response: ln(p^a q^(1-a) + q^a p^(1-a)) / (a - 1), above every pure mechanism."""
    if epsilon == 0:
        return 0.0
    away = math.log1p(math.exp(-(2 * order - 1) * epsilon)) - math.log1p(math.exp(-epsilon))
    return max(0.0, epsilon + away / (order - 1)) + 1e-15 * (1 + epsilon)


def _laplace(scale: float, shift: int, order: int) -> float:
    """E[e^((order - 1) loss)] summed over the law of the noise."""
    import numpy as np
    from scipy.special import logsumexp

    from discreet.composition.losses import laplace_atoms

    atoms = laplace_atoms(scale, shift)
    log_moment = float(np.asarray(logsumexp((order - 1) * atoms.losses, b=atoms.masses)))
    return (max(0.0, log_moment) + 1e-13 * (1 + order * shift / scale)) / (order - 1)


def _sampled_gaussian(rho: float, rate: Fraction, order: int) -> float:
    """The binomial sum, with E_Q[(P/Q)^j] <= e^(j (j - 1) rho) for the discrete law as for the continuous one."""
    import numpy as np
    from scipy.special import gammaln, logsumexp

    q = float(rate)
    if q == 1:
        return rho * order
    j = np.arange(order + 1)
    ways = gammaln(order + 1) - gammaln(j + 1) - gammaln(order - j + 1)
    log_q = math.log(q) if q > 0 else -1e9
    logs = ways + (order - j) * math.log1p(-q) + j * log_q + j * (j - 1) * rho
    size = 3 * float(gammaln(order + 1)) + order * (1 - math.log1p(-q) + min(1e9, -log_q)) + order**2 * rho
    return (max(0.0, float(np.asarray(logsumexp(logs)))) + 2.0**-49 * size) / (order - 1)
