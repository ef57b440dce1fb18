"""discreet.composition.budget: noise for k queries, splits, joint failure, and why repeated questions are dangerous."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.composition import joint_failure, noise_forecasts, split
from discreet.composition.budget import analytic_sigma
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.samplers import discrete_laplace
from discreet.privacy import ApproxDP


def test_a_hundred_queries_have_the_published_errors():
    rows = {row.name: row for row in noise_forecasts(100, sensitivity=1, target=ApproxDP(1.0, 1e-6), beta=0.05)}

    assert rows["Laplace, basic"].alpha == pytest.approx(760.090, abs=1e-3)
    assert rows["Laplace, closed form"].alpha == pytest.approx(799.086, abs=1e-3)
    assert rows["Laplace, optimal"].alpha == pytest.approx(316.558, abs=1e-3)
    assert rows["Gaussian, analytic"].alpha == pytest.approx(146.764, abs=1e-3)
    assert max(rows.values(), key=lambda row: row.alpha).name == "Laplace, closed form"


def test_the_union_bound_for_gaussians_is_slightly_larger():
    from scipy.stats import norm

    sigma = 10 * analytic_sigma(ApproxDP(1.0, 1e-6))

    assert sigma * norm.isf(0.05 / 200) == pytest.approx(147.051, abs=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "sigma"),
    [
        (1, "1e-6", 4.224679),
        (1, "1e-5", 3.730632),
        ("0.5", "1e-5", 7.031827),
        ("0.1", "0.1", 2.846924),
        (1, "0.1", 1.085878),
    ],
)
def test_the_analytic_sigma_has_its_published_values(epsilon, delta, sigma):
    assert analytic_sigma(ApproxDP(epsilon, delta)) == pytest.approx(sigma, abs=2e-6)


def test_the_closed_form_is_left_out_where_it_is_false():
    names = [row.name for row in noise_forecasts(1, sensitivity=2, target=ApproxDP(20, 1e-3))]

    assert "Laplace, closed form" not in names
    assert [row.name for row in noise_forecasts(5, sensitivity=1, target=ApproxDP(1, 0))] == ["Laplace, basic"]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=6))
def test_the_split_spends_no_more_than_epsilon_and_beats_small_changes(sensitivities):
    shares = split(1.0, sensitivities)

    def variance(parts: list[float]) -> float:
        return sum(2 * (s / e) ** 2 for s, e in zip(sensitivities, parts, strict=True))

    assert sum(Fraction(repr(share)) for share in shares) <= 1
    for i in range(1, len(shares)):
        for move in (1e-3, -1e-3):
            moved = list(shares)
            moved[0], moved[i] = moved[0] + move * shares[0], moved[i] - move * shares[0]
            if moved[i] > 0:
                assert variance(moved) >= variance(shares) * (1 - 1e-12)


def test_two_counts_share_equally():
    assert split(1.0, [1, 1]) == [0.5, 0.5]


def test_failures_of_parts_add_up_or_multiply():
    tail = math.exp(-3)

    assert joint_failure([tail, tail], independent=True) == pytest.approx(0.0970953, abs=1e-7)
    assert joint_failure([tail, tail], independent=False) == pytest.approx(2 * tail)


@pytest.mark.statistical
def test_averaging_ten_thousand_fresh_answers_finds_the_count_and_averaging_one_stored_answer_never_does():
    """Each mean has standard deviation 0.1414; of 200, at most 6 are off by 1/2 but for 1e-10."""
    truth, asked = 1000, 10_000
    rng = SeededRandom(12)
    answers = truth + discrete_laplace(10, shape=(200, asked), rng=rng)
    means = answers.mean(axis=1)
    stored = np.repeat(answers[:, :1], 50, axis=1).mean(axis=1)

    assert math.sqrt(200) / math.sqrt(asked) == pytest.approx(0.1414, abs=1e-4)
    assert np.mean(np.abs(means - truth) < 0.5) >= 0.97
    assert np.mean(np.abs(stored - truth) < 0.5) < 0.2


@pytest.mark.parametrize("bad", [{"count": 0}, {"sensitivity": 0}, {"beta": 0.0}, {"target": ApproxDP(0, 1e-6)}])
def test_rejects_parameters_outside_their_range(bad):
    given_ = {"count": 10, "sensitivity": 1, "target": ApproxDP(1, 1e-6), "beta": 0.05} | bad
    count = given_.pop("count")

    with pytest.raises(ParameterError):
        noise_forecasts(count, **given_)
    with pytest.raises(ParameterError):
        split(0, [1])
    with pytest.raises(ParameterError):
        split(1, [0])
