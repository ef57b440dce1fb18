"""discreet.bounds.unbiased: the constant of each currency, and mechanisms that meet it."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.bounds.unbiased import distinguishability, unbiased_error
from discreet.errors import UnsupportedError
from discreet.privacy.enclosure import exp_down
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.number import exact


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_unbiased_randomized_response_meets_the_pure_bound_exactly(epsilon):
    """One query that a neighbour moves by 1, gamma_2 = 1: variance p q / (p - q)^2 = 1 / (4 sinh^2(epsilon / 2))."""
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    q = 1 - p

    assert math.sqrt(p * q) / (p - q) == pytest.approx(unbiased_error(1, budget=PureDP(epsilon)), rel=1e-12)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_no_pair_of_laws_within_epsilon_is_farther_in_chi_square(epsilon):
    rng = np.random.default_rng(3)
    most = distinguishability(PureDP(epsilon)) ** 2
    seen = 0.0
    for _ in range(2000):
        ratio = np.exp(rng.choice([-epsilon, epsilon, *rng.uniform(-epsilon, epsilon, 3)], size=6))
        if ratio.min() < 1 < ratio.max():  # weights that give the ratio mean 1
            low, high = ratio[ratio <= 1].mean(), ratio[ratio > 1].mean()
            share = (1 - low) / (high - low)
            weights = np.where(ratio > 1, share / (ratio > 1).sum(), (1 - share) / (ratio <= 1).sum())
            seen = max(seen, float(weights @ (ratio - 1) ** 2))

    assert seen <= most * (1 + 1e-12)
    assert seen > 0.98 * most


def test_gaussian_noise_nearly_meets_the_concentrated_bound():
    for rho in (0.001, 0.1, 1.0):
        gaussian = 1 / math.sqrt(2 * rho)
        bound = unbiased_error(1, budget=ZCDP(rho))

        assert bound < gaussian < bound * math.exp(rho)
        assert distinguishability(ZCDP(rho)) ** 2 == pytest.approx(math.exp(2 * rho) - 1, rel=1e-12)


def test_the_constant_is_rounded_up_and_the_bound_down():
    for epsilon in np.random.default_rng(2).uniform(0.001, 50, 100).tolist():
        e = exact(epsilon)
        least = exp_down(e) + exp_down(-e) - 2
        c = Fraction(distinguishability(PureDP(epsilon)))

        assert least < c**2 < least * (1 + Fraction(1, 10**11))
        assert Fraction(unbiased_error(1, budget=PureDP(epsilon))) * c <= 1
        assert Fraction(distinguishability(ZCDP(epsilon))) ** 2 > exp_down(2 * e) - 1


@pytest.mark.parametrize(
    "budget",
    [PureDP(2000), PureDP("1e400"), ZCDP(400), ZCDP("1e400")],
    ids=["pure", "pure, more", "zCDP", "zCDP, more"],
)
def test_a_budget_beyond_the_floats_allows_everything(budget):
    assert distinguishability(budget) == math.inf
    assert unbiased_error(3, budget=budget) == 0


def test_approximate_budgets_do_not_limit_chi_square():
    with pytest.raises(UnsupportedError, match="PureDP or ZCDP"):
        unbiased_error(1, budget=ApproxDP(1.0, 1e-6))
