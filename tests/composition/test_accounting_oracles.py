"""Random lists of mechanisms against independent oracles.

Each list is composed by every method that applies and by an oracle that shares no code
with the library: the closed form of Kairouz, Oh and Viswanath, Balle and Wang's formula,
or a direct enumeration of all outputs.  Ours may never be below the oracle, and where
we call ourselves tight not more than 2 percent above it.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from discreet.composition import best, numerical, optimal
from discreet.composition.choose import every
from discreet.privacy import ApproxDP, GaussianDP, PureDP
from discreet.privacy.event import (
    ExponentialEvent,
    GaussianEvent,
    LaplaceEvent,
    PoissonSampledEvent,
    RandomizedResponseEvent,
    RepeatedEvent,
)
from tests.composition.oracle import (
    binomial_delta,
    discrete_gaussian,
    discrete_laplace,
    gaussian_delta,
    losses_delta,
    product_delta,
    response,
    responses_delta,
)
from tests.scale import counts

LISTS = counts(quick=60, full=1000)  # of each of the five kinds
DELTAS = [1e-2, 1e-4, 1e-6, 1e-9]
Case = tuple[list, float, Callable[[float], float], bool]  # items, delta, oracle, tight


def equal_responses(rng: random.Random) -> Case:
    epsilon, k = Fraction(rng.randint(1, 200), 200), rng.randint(1, 80)
    kind = rng.choice([PureDP, lambda e: RandomizedResponseEvent(epsilon=e)])
    items = [RepeatedEvent(event=RandomizedResponseEvent(epsilon=epsilon), count=k)] if k > 40 else [kind(epsilon)] * k
    return items, rng.choice(DELTAS), lambda e: float(binomial_delta(epsilon, k, e)), True


def different_responses(rng: random.Random) -> Case:
    epsilons = [Fraction(rng.randint(1, 40), 20) for _ in range(rng.randint(2, 8))]
    own = [Fraction(rng.choice([0, 0, 1]), 10**6) for _ in epsilons]
    survive = math.prod(1 - float(d) for d in own)
    items = [ApproxDP(e, d) if d else PureDP(e) for e, d in zip(epsilons, own, strict=True)]

    def oracle(e: float) -> float:
        return 1 - survive * (1 - float(responses_delta(epsilons, e)))

    return items, rng.choice([1e-2, 1e-3, 1e-4]), oracle, True


def normals(rng: random.Random) -> Case:
    mus = [Fraction(rng.randint(1, 50), 100) for _ in range(rng.randint(1, 6))]
    times = rng.randint(1, 30)
    mu = math.sqrt(times * sum(float(m) ** 2 for m in mus))
    return [GaussianDP(m) for m in mus] * times, rng.choice(DELTAS), lambda e: float(gaussian_delta(mu, e)), True


def discrete_gaussians(rng: random.Random) -> Case:
    sigma, k = rng.choice([0.8, 1.3, 2.5, 5.0]), rng.randint(1, 5)
    table = discrete_gaussian(sigma, 1, k)
    return [GaussianEvent(sigma=sigma, sensitivity=1)] * k, rng.choice(DELTAS), lambda e: losses_delta(table, e), True


def sampled_and_mixed(rng: random.Random) -> Case:
    """Two Laplace mechanisms, a Poisson sample and a bounded-range selection, output by output."""
    scale, shift, rate = rng.choice([1.0, 2.5]), rng.randint(1, 3), rng.choice([0.05, 0.3])
    e = rng.choice([0.3, 1.0])
    t = rng.random()
    top = (math.exp(e) - math.exp(e * t)) / math.expm1(e)  # a pair with losses e t and e t - e
    selection = [(top, top * math.exp(-e * t)), (1 - top, (1 - top) * math.exp(e - e * t))]
    base = discrete_laplace(scale, shift, 25)
    sampled = [((1 - rate) * q + rate * p, q) for p, q in response(e)]
    events = [
        LaplaceEvent(scale=scale, sensitivity=shift),
        PoissonSampledEvent(rate=rate, event=LaplaceEvent(scale=1 / e, sensitivity=1)),
        ExponentialEvent(epsilon=e),
    ]
    pairs = [base, sampled, selection]
    return events, rng.choice([1e-2, 1e-4]), lambda x: product_delta(pairs, x), False


KINDS = [equal_responses, different_responses, normals, discrete_gaussians, sampled_and_mixed]


def safe(case: Case, epsilon: float) -> bool:
    """Whether epsilon is at least the oracle's."""
    _, delta, oracle, _ = case
    return oracle(epsilon) <= delta * (1 + 1e-9)


@pytest.mark.acceptance
@pytest.mark.parametrize("kind", KINDS)
def test_every_method_is_above_the_oracle_and_the_best_is_close(kind, record_property):
    rng = random.Random(kind.__name__)
    for _ in range(LISTS):
        case = kind(rng)
        items, delta, oracle, tight = case
        methods = every(items, delta)
        for name, found in methods.items():
            assert found.epsilon >= 0
            assert safe(case, float(found.epsilon)), (name, items, delta)
        least = (
            float(best(items, delta).epsilon) if rng.random() < 0.1 else min(float(f.epsilon) for f in methods.values())
        )
        assert not tight or least < 1e-3 or oracle(least / 1.02) > delta, (items, delta)
    record_property("lists", LISTS)


@pytest.mark.acceptance
def test_epsilon_is_monotone_in_every_argument():
    rng = random.Random(5)
    for _ in range(LISTS):
        epsilons = [Fraction(rng.randint(1, 30), 30) for _ in range(rng.randint(1, 8))]
        delta = rng.choice(DELTAS)
        for method in (optimal, numerical):
            base = float(method([PureDP(e) for e in epsilons], delta).epsilon)
            more = float(method([PureDP(e) for e in [*epsilons, Fraction(1, 7)]], delta).epsilon)
            larger = float(method([PureDP(e * Fraction(11, 10)) for e in epsilons], delta).epsilon)
            laxer = float(method([PureDP(e) for e in epsilons], delta * 10 if delta < 1e-2 else 0.5).epsilon)

            assert base <= more * (1 + 1e-3) + 1e-9
            assert base <= larger * (1 + 1e-3) + 1e-9
            assert laxer <= base * (1 + 1e-3) + 1e-9


def test_dropping_a_cross_term_is_caught():
    """The broken twin composes each kind alone and takes the larger epsilon."""
    rng = random.Random(7)
    caught = 0
    for _ in range(20):
        case = different_responses(rng)
        items, delta, *_ = case
        half = len(items) // 2
        twin = max(float(optimal(part, delta).epsilon) for part in (items[:half], items[half:]) if part)
        caught += not safe(case, twin)

    assert caught >= 19


def test_google_and_the_tilted_transform_agree():
    """Two engines that share only the lattice."""
    from discreet.composition.losses import losses
    from discreet.composition.numerical import _composed, _read
    from discreet.composition.transform import least_epsilon as tilted

    step = 1e-3
    law = losses(LaplaceEvent(scale=10, sensitivity=2), step).forward
    composed, error = _composed([(law, 50)], step, 1e-6)

    assert _read(composed, [(law, 50)], 1e-6 - error) == pytest.approx(tilted([(law, 50)], step, 1e-6), rel=1e-5)


@pytest.mark.acceptance
def test_prv_accountant_agrees_where_it_is_installed():
    prv = pytest.importorskip("prv_accountant")
    accountant = prv.PRVAccountant(
        prvs=[prv.GaussianMechanism(noise_multiplier=20.0)],
        max_self_compositions=[100],
        eps_error=0.01,
        delta_error=1e-10,
    )
    low, _, high = accountant.compute_epsilon(delta=1e-6, num_self_compositions=[100])
    found = float(numerical([GaussianDP("0.05")] * 100, 1e-6).epsilon)

    assert low <= found <= high * 1.02
    assert np.isfinite(found)
