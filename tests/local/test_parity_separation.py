"""discreet.local.parity_separation: each claim, and what learners make of both sides of it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.errors import BudgetExhausted, ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import ParityLearner
from discreet.learning.statistical.conjunctions import learn_conjunction
from discreet.learning.statistical.halfspace import learn_halfspace
from discreet.local import ParityAdversary, parity_users
from discreet.local.parity_separation import spectrum, success_at_most
from discreet.queries.statistical import RowFunction
from discreet.queries.statistical_pieces import Affine


def _table(d: int) -> np.ndarray:
    return (np.arange(1 << d)[:, None] >> np.arange(d) & 1).astype(float)


def _labels(d: int, parity: int) -> np.ndarray:
    return _table(d) @ (parity >> np.arange(d) & 1) % 2


def test_the_spectrum_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, 16)
    by_hand = [(values * (-1.0) ** _labels(4, s)).mean() for s in range(16)]

    assert spectrum(values) == pytest.approx(by_hand)


@pytest.mark.parametrize("tau", [0.02, 0.05, 0.2])
def test_a_query_has_at_most_one_over_tau_squared_large_coefficients(tau):
    """Parseval, for random functions, for a parity and for functions with many equal coefficients."""
    rng = np.random.default_rng(2)
    bent = (-1.0) ** (_table(8)[:, :4] * _table(8)[:, 4:]).sum(axis=1)  # all 256 coefficients are 1/16
    for h in (rng.uniform(-1, 1, 256), np.sign(rng.normal(size=256)), (-1.0) ** _labels(8, 77), bent):
        found = spectrum(h)

        assert (found**2).sum() <= 1 + 1e-12
        assert (np.abs(found) > tau).sum() <= 1 / tau**2
    assert (np.abs(spectrum(bent)) > 0.06).sum() == 256  # nearly 1 / tau^2 = 278


def test_every_answer_is_within_tau_for_every_parity_that_is_left_and_for_no_other():
    d, tau = 6, 0.15
    rng = np.random.default_rng(3)
    adversary = ParityAdversary(d=d, tau=tau, queries=20)
    tables = [rng.uniform(-1, 1, (2, 1 << d)) for _ in range(19)]
    tables.append(np.stack([(-1.0) ** _labels(d, 33), -((-1.0) ** _labels(d, 33))]))

    def query(table):
        def function(rows):
            x = (rows[:, :d] @ (1 << np.arange(d))).astype(int)
            return table[rows[:, d].astype(int), x]

        return RowFunction(function)

    answers = adversary.answer([query(table) for table in tables])
    right = np.ones(1 << d, dtype=bool)
    for parity in range(1 << d):
        label = _labels(d, parity).astype(int)
        means = [table[label, np.arange(1 << d)].mean() for table in tables]
        right[parity] = np.abs(answers - means).max() <= tau + 1e-12

    assert (right == adversary.possible).all()
    assert not adversary.possible[33]
    assert (1 << d) - adversary.left <= adversary.excluded_at_most == math.floor(20 / tau**2)


def test_the_twin_that_answers_for_one_parity_tells_it():
    """An honest oracle excludes all other parities with the queries that the adversary answers by nothing."""
    d, target = 4, 5
    asked = [
        RowFunction(lambda rows, s=s: (-1) ** (rows[:, :d] @ (s >> np.arange(d) & 1) + rows[:, d])) for s in range(16)
    ]
    rows = np.column_stack([_table(d), _labels(d, target)])
    honest = [query.values(rows).mean() for query in asked]
    adversary = ParityAdversary(d=d, tau=0.3, queries=16)

    assert np.argmax(honest) == target
    assert np.abs(adversary.answer(asked)).max() == 0


def test_learners_from_statistical_queries_learn_nothing_of_30_bits_where_the_central_learner_learns_all():
    """Their answers are the same for every parity but 4 m / tau^2, so their hypothesis does not know the secret."""
    d, tau = 30, 0.1
    rng = np.random.default_rng(4)
    secret = rng.integers(0, 2, d)
    adversary = ParityAdversary(d=d, tau=tau, queries=400, rng=SeededRandom(1))
    conjunction = learn_conjunction(adversary, d=d, alpha=0.4)
    bits = rng.integers(0, 2, (20_000, d)).astype(float)
    labels = bits @ secret % 2
    features = [Affine.of({j: 0.36}, offset=-0.18) for j in range(d)]  # in the unit ball
    halfspace = learn_halfspace(adversary, features=features, label=d, alpha=0.4, margin=0.2, rounds=5)
    learner = ParityLearner(epsilon=1.0).fit(bits[:5000].astype(int), labels[:5000].astype(int), rng=SeededRandom(2))

    assert adversary.left >= (1 << d) - 4 * 400 / tau**2 > 0.99 * (1 << d)
    assert abs((conjunction.predict(bits) != labels.astype(bool)).mean() - 0.5) < 0.02
    assert abs((halfspace.predict(bits) != labels.astype(bool)).mean() - 0.5) < 0.02
    assert (learner.parity_ == secret).all()


def test_the_bound_is_what_the_theorem_says_and_grows_like_the_cube_root():
    for d, n, epsilon in ((30, 20, 1.0), (24, 5, 0.5)):
        odds = math.exp(epsilon)
        tried = [
            b + (n * odds / (1 - b / n) * (n * odds / b) ** 2 + 1) / 2**d
            for b in np.linspace(0, 1, 20_001)[1:-1].tolist()
        ]
        assert min(1, min(tried)) <= success_at_most(d, n=n, epsilon=epsilon) <= min(tried) * 1.02
    few, many = parity_users(60, epsilon=1.0), parity_users(90, epsilon=1.0)

    assert many / few == pytest.approx(2**10, rel=0.01)
    assert success_at_most(60, n=few, epsilon=1.0) >= 0.5 > success_at_most(60, n=few - 1, epsilon=1.0)
    assert parity_users(60, epsilon=2.0) == pytest.approx(few / math.e, rel=0.01)


def test_the_notes_boundary_excludes_everything():
    """2^(d/3) queries of tolerance 2^(-d/3) may exclude all 2^d parities; half as many queries leave half of them."""
    d = 30
    m, tau = 2 ** (d // 3), 2.0 ** (-d // 3)

    assert m / tau**2 == 2**d
    assert (m / 2) / tau**2 == 2**d / 2


def test_bad_parameters_are_refused():
    for bad in ({"d": 0}, {"d": 63}, {"tau": 0}, {"tau": 1}, {"tau": math.nan}, {"queries": 0}, {"queries": True}):
        with pytest.raises(ParameterError):
            ParityAdversary(**{"d": 4, "tau": 0.1, "queries": 2, **bad})
    with pytest.raises(ParameterError):
        parity_users(10, epsilon=0)
    with pytest.raises(BudgetExhausted):
        ParityAdversary(d=4, tau=0.1, queries=1).answer([RowFunction(lambda rows: rows[:, 0])] * 2)
