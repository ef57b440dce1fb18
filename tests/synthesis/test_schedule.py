"""discreet.synthesis.schedule: the price of every step, and their sum."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtri

from discreet.composition import numerical
from discreet.errors import UnsupportedError
from discreet.mechanisms.gaussian import Gaussian
from discreet.privacy.event import GaussianEvent
from discreet.privacy.gaussian_profile import unit_mu
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.number import exact
from discreet.release.allowance import EIGHTH_OF_PI, TAIL, Allowance
from discreet.synthesis.schedule import schedule

SHAPES = [(1, 1), (2, 2), (9, 3), (18, 6)]  # reach and moved of 1 and 3 rows, added or replaced


def made(budget, *, reach=1, moved=1, rounds=10, weight=3):
    return schedule(budget, rounds=rounds, reach=reach, moved=moved, weight=weight, cells=10**6)


@pytest.mark.parametrize(("reach", "moved"), SHAPES)
def test_pure_steps_add_up_to_epsilon(reach, moved):
    plan = made(PureDP(1.0), reach=reach, moved=moved)
    each = exact(plan.choice.epsilon) + moved / plan.noise.scale

    assert exact(plan.singles.epsilon) + 10 * each == 1
    assert plan.choice.sensitivity == 3 * moved


@pytest.mark.parametrize(("reach", "moved"), SHAPES)
def test_concentrated_steps_add_up_to_rho_and_nearly_reach_it(reach, moved):
    plan = made(ZCDP(0.1), reach=reach, moved=moved)
    each = exact(plan.choice.epsilon) ** 2 / 8 + reach / (2 * exact(plan.noise.sigma) ** 2)
    total = exact(plan.singles.rho) + 10 * each

    assert total <= Fraction(1, 10)
    assert total > Fraction(1, 10) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize(("reach", "moved"), SHAPES)
def test_approximate_steps_add_up_to_the_gaussian_budget(reach, moved):
    budget = ApproxDP(1.0, 1e-9)
    plan = made(budget, reach=reach, moved=moved)
    table = reach * unit_mu(exact(plan.noise.sigma) ** 2, TAIL + math.sqrt(reach)) ** 2
    each = math.pi / 8 * exact(plan.choice.epsilon) ** 2 + table
    total = 2 * exact(plan.singles.rho) + 10 * each

    assert total <= Allowance(budget, 10**6).total
    assert total > Allowance(budget, 10**6).total * (1 - Fraction(1, 10**5))
    assert GaussianDP.from_square(total).to_approx(1e-9).epsilon <= 1


def test_the_numerical_accountant_agrees_that_the_budget_is_kept():
    """An independent account of the same steps; charging no choice, or every second table, would exceed it."""
    plan = made(ApproxDP(1.0, 1e-6), rounds=12)
    scale = 2**40
    singles = GaussianEvent(sigma=scale / math.sqrt(2 * float(plan.singles.rho)), sensitivity=scale)

    spent = numerical([plan.event(singles)], delta=1e-6).epsilon

    assert 0.95 < spent <= 1
    cheap = Gaussian.with_sigma(float(plan.noise.sigma) * 0.9, sensitivity=1)
    twin = numerical(
        [type(plan)(singles=plan.singles, noise=cheap, choice=plan.choice, rounds=12).event(singles)], 1e-6
    )
    assert twin.epsilon > 1


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 4.0, 10.0])
def test_a_choice_is_gaussian_dp_with_epsilon_times_the_root_of_pi_over_eight(epsilon):
    t = np.linspace(0.001, 0.999, 2001) * epsilon
    q = np.expm1(t) / np.expm1(epsilon)
    needed = ndtri(q * np.exp(epsilon - t)) - ndtri(q)

    assert needed.max() <= epsilon * math.sqrt(EIGHTH_OF_PI) * (1 + 1e-9)
    if epsilon < 0.5:
        assert needed.max() > 0.998 * epsilon * math.sqrt(math.pi / 8)  # the constant is best possible
    assert Fraction(math.pi / 8) < EIGHTH_OF_PI


def test_no_rounds_spend_everything_on_the_columns():
    for budget, share in ((PureDP(1.0), "epsilon"), (ZCDP(0.5), "rho")):
        plan = made(budget, rounds=0)

        assert getattr(plan.singles, share) == getattr(budget, share)
        assert plan.noise is plan.choice is None


def test_budgets_that_cannot_be_kept_are_refused():
    with pytest.raises(UnsupportedError, match="pure budget"):
        made(ApproxDP(1.0, 0))
    with pytest.raises(UnsupportedError, match="too small"):
        made(ApproxDP(1.0, 1e-60))
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        made(GaussianDP(0.1))
