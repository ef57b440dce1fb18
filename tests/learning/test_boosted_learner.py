"""discreet.learning.pac.boosted: each claim in the module docstring, in order."""

from fractions import Fraction
from itertools import product
from math import atanh, cosh, exp, sinh, tanh

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition.concentrated import concentrated
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import BoostedLearner, Thresholds
from discreet.learning.pac.boosted import UNIT
from discreet.learning.pac.hypotheses import Listed
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace

COLUMNS = [lambda x, j=j: x[:, j] for j in range(3)]


def _learner(**settings):
    return BoostedLearner(COLUMNS, **({"budget": PureDP(1), "rounds": 40, "advantage": "1/6"} | settings))


@given(
    st.lists(st.tuples(st.integers(0, 7), st.booleans()), min_size=1, max_size=8),
    st.lists(st.integers(0, 8), max_size=6),
)
def test_one_row_moves_weighted_errors_by_one_at_most_whatever_was_released(rows, released):
    """Add the last row to the others, after any hypotheses: every score rises by 0 .. UNIT."""
    table, made = _learner().weights(), Thresholds(8)
    x, y = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])

    def scores(x, y):
        margins = sum((np.where(made.hypothesis(t)(x) == y, 1, -1) for t in released), np.zeros(len(x), dtype=int))
        return made.errors(x, y, 0, 9, weights=table[np.maximum(margins, 0)])

    moved = scores(x, y) - scores(x[:-1], y[:-1])

    assert moved.min() >= 0
    assert moved.max() <= UNIT


def test_the_twin_that_normalises_weights_is_caught():
    """AdaBoost's distribution: one row replaced takes the weight of all others, and moves a score by many rows."""

    def score(margins):
        weights = np.exp(-np.array(margins, dtype=float))
        return (weights / weights.sum() * len(margins))[:-1].sum()  # of a hypothesis wrong on all rows but the last

    assert score([3] * 50 + [3]) - score([3] * 50 + [-6]) > 1


@pytest.mark.parametrize("advantage", [Fraction(1, 100), Fraction(1, 6), Fraction(49, 100)])
def test_weights_are_the_powers_rounded_down(advantage):
    table = _learner(advantage=advantage, rounds=60).weights()
    ratio = (1 - advantage) / (1 + advantage)

    assert table[0] == UNIT
    assert all(0 <= UNIT * ratio**k - int(weight) < 1 for k, weight in enumerate(table))


@pytest.mark.parametrize("g", [0.05, 0.2, 0.45])
def test_the_potential_falls_as_the_proof_says(g):
    """Phi(N + u) - Phi(N) <= phi(N) (e^(-rate u) - 1) / rate for u = 1, -1 and the constants of the theorem."""
    rate = 2 * atanh(g)

    def phi(margin):
        return min(1.0, exp(-rate * margin))

    def potential(margin):
        return exp(-rate * margin) / rate if margin >= 0 else 1 / rate - margin

    for margin, step in product(range(-5, 6), (-1, 1)):
        assert potential(margin + step) - potential(margin) <= phi(margin) * (exp(-rate * step) - 1) / rate + 1e-12
    assert (cosh(rate) - 1) / sinh(rate) == pytest.approx(tanh(rate / 2)) == pytest.approx(g)
    assert sinh(rate) == pytest.approx(2 * g / (1 - g * g))


@pytest.mark.parametrize(
    "budget", [PureDP(1), ZCDP(0.1), ApproxDP(1, 1e-6), ApproxDP(1, 0), ApproxDP(20, 1e-12)], ids=repr
)
def test_rounds_and_choice_spend_the_budget_and_no_more(budget):
    learner = _learner(budget=budget)
    one, last = learner.epsilons
    pure, rho = 40 * one + last, (40 * one**2 + last**2) / 8

    match budget:
        case PureDP() | ApproxDP(delta=0.0):
            assert pure == budget.epsilon
        case ZCDP():
            assert budget.rho * (1 - 1e-9) < rho <= Fraction(str(budget.rho))
        case ApproxDP(epsilon=1.0):
            spent = ZCDP(rho).to_approx(budget.delta)
            assert 0.999 < spent.epsilon <= 1
            assert one > Fraction(9, 400)  # more than pure composition gives
        case _:
            assert pure <= 20 or ZCDP(rho).to_approx(budget.delta).epsilon <= 20


def test_the_event_is_what_ran():
    learner = _learner(budget=ZCDP(0.1))

    assert concentrated([learner.event()]).rho <= 0.1 + 1e-12
    assert learner.privacy() == ZCDP(0.1, neighbours=AddRemove)
    assert _learner(n=10).privacy() == PureDP(1, neighbours=Replace)


def test_the_twin_that_pays_for_one_round_is_caught():
    """Each round at the whole epsilon would spend forty budgets."""
    learner = _learner(budget=ZCDP(0.1))
    twin = ZCDP(0.1).repeat(learner.rounds)

    assert not twin <= learner.budget


@pytest.mark.statistical
@pytest.mark.parametrize("public", [False, True])
def test_the_vote_errs_within_its_bound(public):
    """The majority of three columns: every weighting has a column of error at most 1/3, so the advantage is 1/6."""
    n = 60_000
    x = np.random.default_rng(0).integers(0, 2, (n, 3))
    y = x.sum(axis=1) >= 2
    learner = _learner(budget=ZCDP(0.5), rounds=100, n=n if public else None)
    bound = learner.accuracy(0.05, n=n)
    errors = [(learner.fit(x, y, rng=SeededRandom(seed)).predict(x) != y).mean() for seed in range(3)]

    assert bound < 0.25  # where one column alone errs on a quarter of the rows
    assert max(errors) <= bound
    assert max(errors) == 0


def test_a_vote_says_what_its_hypotheses_say():
    x = np.random.default_rng(0).integers(0, 2, (2000, 3))
    learner = _learner(rounds=7, budget=PureDP(50)).fit(x, x.sum(axis=1) >= 2, rng=SeededRandom(1))
    said = np.array([COLUMNS[index](x) for index in learner.indices_])

    assert len(learner.hypotheses_) == len(learner.indices_) <= 7
    assert (learner.predict(x) == (2 * said.sum(axis=0) >= len(said))).all()
    assert {index % 3 for index in learner.indices_} == {0, 1, 2}


def test_classes_boost_as_functions_do():
    x = np.random.default_rng(0).integers(0, 16, 3000)
    y = (x >= 4) & (x < 11)
    both = [lambda x, t=t: x >= t for t in range(17)] + [lambda x, t=t: x < t for t in range(17)]
    learner = BoostedLearner(both, budget=PureDP(100), rounds=30, advantage=0.15).fit(x, y, rng=SeededRandom(1))

    assert (learner.predict(x) != y).mean() < 0.05  # one threshold errs on nearly a quarter
    assert Listed(both).errors(x, y, 0, 34).min() > 700


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (lambda: _learner(rounds=0), ParameterError),
        (lambda: _learner(rounds=True), ParameterError),
        (lambda: _learner(advantage=0), ParameterError),
        (lambda: _learner(advantage=0.5), ParameterError),
        (lambda: _learner(advantage=float("nan")), ParameterError),
        (lambda: _learner(budget=PureDP(0)), ParameterError),
        (lambda: _learner(n=0), ParameterError),
        (lambda: _learner(budget=PureDP(1, neighbours=Replace)), UnsupportedError),
        (lambda: _learner(budget=PureDP(1, neighbours=AddRemove), n=5), UnsupportedError),
        (lambda: BoostedLearner(Thresholds(2**25), budget=PureDP(1), rounds=2, advantage=0.1), ParameterError),
        (lambda: _learner().predict(np.zeros((2, 3))), ParameterError),
        (lambda: _learner().accuracy(0.05), ParameterError),
        (lambda: _learner(budget=1.0), ParameterError),
    ],
)
def test_bad_parameters_are_refused(wrong, error):
    with pytest.raises(error):
        wrong()
