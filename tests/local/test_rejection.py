"""discreet.local.rejection: each claim in the module docstring, in order."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import HadamardResponse, OptimalUnaryEncoding, RandomizedResponse, SimulatedUsers
from discreet.local.rejection import simulated_law, simulation_tolerance
from discreet.privacy.enclosure import exp_down, exp_up
from discreet.privacy.number import exact
from discreet.queries.statistical import Tolerance, normalised
from tests.scale import counts

RANDOMIZERS = [
    RandomizedResponse(epsilon=1, size=2),
    RandomizedResponse(epsilon=1, size=4),
    RandomizedResponse(epsilon=2, size=3),
    HadamardResponse(epsilon=1, size=3),
    OptimalUnaryEncoding(epsilon=1, size=3),
]
DRAWS = counts(quick=3000, full=40_000)


def _population(size: int) -> list[Fraction]:
    """Unequal shares that add up to 1."""
    return [Fraction(2 * (x + 1), size * (size + 1)) for x in range(size)]


def _mixture(protocol) -> dict:
    shares = _population(protocol.size)
    laws = [protocol.law(x) for x in range(protocol.size)]
    return {z: sum((s * law[z] for s, law in zip(shares, laws, strict=True)), Fraction(0)) for z in laws[0]}


def _exact_answers(protocol) -> dict:
    scale, base = exp_up(exact(protocol.epsilon)), protocol.law(0)
    return {z: chance / (scale * base[z]) for z, chance in _mixture(protocol).items()}


def _distance(one: dict, other: dict) -> Fraction:
    return sum((abs(one[z] - other[z]) for z in one), Fraction(0)) / 2


class Exact:
    """An oracle for a population with the given shares of values 0, 1, ..; it may err by tau upwards."""

    def __init__(self, shares, tau=0.0):
        self.shares, self.tau, self.remaining = [float(s) for s in shares], tau, 10**9

    def answer(self, queries):
        rows = np.arange(len(self.shares), dtype=float)[:, None]
        return np.array([0.5 + 0.5 * float(normalised(q, rows) @ self.shares) + self.tau for q in queries])

    def tolerance(self, beta):
        return Tolerance(noise=self.tau, population=self.tau, adaptive=self.tau)


@pytest.mark.parametrize("protocol", RANDOMIZERS, ids=repr)
def test_the_queries_lie_in_their_range_and_exact_answers_give_the_exact_law(protocol):
    scale, base = exp_up(exact(protocol.epsilon)), protocol.law(0)
    values = [chance / (scale * base[z]) for x in range(protocol.size) for z, chance in protocol.law(x).items()]
    answers = _exact_answers(protocol)
    accepted = sum((base[z] * answers[z] for z in base), Fraction(0))

    assert exp_down(-2 * exact(protocol.epsilon)) * (1 - Fraction(1, 10**12)) <= min(values)
    assert max(values) <= 1
    assert simulated_law(base, answers) == _mixture(protocol)
    assert accepted == 1 / scale  # e^epsilon draws on average


@pytest.mark.parametrize("tau", [Fraction(1, 1000), Fraction(1, 20), Fraction(1, 8)])
@pytest.mark.parametrize("protocol", RANDOMIZERS, ids=repr)
def test_answers_within_tau_give_a_law_within_e_to_the_epsilon_tau(protocol, tau):
    """All signs of the errors where there are few reports, and the worst kinds of them where there are more."""
    base, answers, truth = protocol.law(0), _exact_answers(protocol), _mixture(protocol)
    reports = list(base)
    patterns = product((-1, 0, 1), repeat=len(reports)) if len(reports) <= 4 else _some_patterns(len(reports))
    bound, worst = exp_up(exact(protocol.epsilon)) * tau, Fraction(0)
    for signs in patterns:
        noisy = {z: answers[z] + sign * tau for z, sign in zip(reports, signs, strict=True)}
        made = simulated_law(base, noisy)
        accepted = sum((base[z] * min(Fraction(1), max(Fraction(0), noisy[z])) for z in base), Fraction(0))
        worst = max(worst, _distance(made, truth))
        assert 1 / accepted <= exp_up(exact(protocol.epsilon)) / (1 - bound)  # draws on average

    assert worst <= bound
    assert worst >= bound / 12  # and the bound is not idle


def _some_patterns(count: int) -> list[list[int]]:
    rng = np.random.default_rng(1)
    return [[1] * count, [-1] * count, *(rng.integers(-1, 2, count).tolist() for _ in range(60))]


def test_the_twin_that_asks_for_the_chance_itself_is_caught():
    """Without the division by the chance of the draw, the accepted law is another one."""
    protocol = RandomizedResponse(epsilon=1, size=4)
    base, truth = protocol.law(0), _mixture(protocol)

    assert _distance(simulated_law(base, truth), truth) > Fraction(1, 20)


@pytest.mark.statistical
def test_simulated_messages_have_the_law_of_messages_and_need_few_queries():
    """A chi-squared statistic at a fixed seed, beyond its quantile of 1 - 1e-6 with that probability."""
    from scipy.stats import chisquare

    protocol = RandomizedResponse(epsilon=1, size=4)
    users = SimulatedUsers(protocol, Exact(_population(4)))
    messages = users.messages(DRAWS, rng=SeededRandom(2))
    expected = [DRAWS * float(_mixture(protocol)[z]) for z in range(4)]

    assert chisquare(np.bincount(messages, minlength=4), expected).pvalue > 1e-6
    assert users.asked <= 4
    assert users.draws / DRAWS == pytest.approx(math.e, rel=6 / math.sqrt(DRAWS))


def test_all_users_together_are_within_beta():
    tau = simulation_tolerance(1000, epsilon=1, beta=0.05)

    assert 1000 * math.e * tau <= 0.05
    assert tau == pytest.approx(0.05 / (1000 * math.e))
    assert tau > 0.05 / (1000 * math.e**2)  # the notes ask for more than is needed


def test_what_cannot_be_simulated_is_refused():
    class Nothing(Exact):
        def answer(self, queries):
            return np.zeros(len(queries))

    users = SimulatedUsers(RandomizedResponse(epsilon=1, size=2), Nothing([1, 0]))
    with pytest.raises(UnsupportedError, match="accept nothing"):
        users.messages(1, rng=SeededRandom(1))
    with pytest.raises(ParameterError):
        users.messages(0)
    for beta in (0, 1, math.nan):
        with pytest.raises(ParameterError):
            simulation_tolerance(10, epsilon=1, beta=beta)
