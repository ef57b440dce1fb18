"""discreet.structured.quantiles.rank_loss and quantile_grid: each claim in their docstrings, in order."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.attacks import audit
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.structured import GridQuantile
from discreet.structured.quantiles.rank_loss import quantile_fraction, rank_loss, row_sensitivity
from tests.mechanisms.selection_laws import exponential_law, flip_law
from tests.scale import counts as scale
from tests.structured.quantile_laws import datasets, grown, loss, softmax, worst

HALF = Fraction(1, 2)
QUANTILES = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1, 3), Fraction(0), Fraction(1)]
small = st.lists(st.integers(0, 6), min_size=1, max_size=6).map(tuple)


@given(small, st.sampled_from(QUANTILES), st.integers(0, 4))
def test_the_loss_is_the_distance_in_rows_times_the_denominator(counts, quantile, margin):
    found = rank_loss(np.array(counts), quantile, margin=margin)

    assert found.tolist() == loss(counts, quantile, margin)
    assert found.min() == 0  # some cell holds the quantile


@pytest.mark.parametrize("quantile", QUANTILES)
def test_one_row_moves_a_loss_by_at_most_its_sensitivity_and_that_is_attained(quantile):
    moves = {
        abs(x - y)
        for counts in datasets(4, 4)
        for more in grown(counts)
        for x, y in zip(loss(counts, quantile, 2), loss(more, quantile, 2), strict=True)
    }

    assert max(moves) == row_sensitivity(quantile)


def test_losses_beyond_64_bits_are_exact():
    counts = np.array([2**60, 2**60, 2**60])

    assert rank_loss(counts, Fraction(999_999, 10**6)).tolist() == [
        999_999 * 3 * 2**60 - 10**6 * 2**60,
        999_999 * 3 * 2**60 - 2 * 10**6 * 2**60,
        0,
    ]


@pytest.mark.parametrize("law", [exponential_law, flip_law])
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 4), Fraction(0)])
def test_every_pair_of_small_neighbours_differs_by_at_most_epsilon(law, quantile):
    """Exhaustive and in rationals: with t = e^-rate, e^epsilon is t^(-2 sensitivity)."""
    pairs = [(x, y) for x in datasets(4, 4) for y in grown(x)]
    ratio = worst(lambda x: law(tuple(-u for u in loss(x, quantile, 1)), HALF), pairs)

    assert ratio <= HALF ** (-2 * row_sensitivity(quantile))


def test_half_the_sensitivity_is_caught():
    pairs = [(x, y) for x in datasets(4, 4) for y in grown(x)]
    ratio = worst(lambda x: softmax(loss(x, HALF), HALF), pairs)

    assert HALF**-1 < ratio <= HALF**-2  # sold at epsilon = rate, half of what it costs


def test_a_promise_for_replaced_rows_is_caught():
    """Adding or removing is what is promised; moving a row costs up to twice as much."""
    here = [x for x in datasets(4, 4) if sum(x) == 4]
    pairs = [(x, y) for x in here for y in here if sum(abs(a - b) for a, b in zip(x, y, strict=True)) == 2]
    ratio = worst(lambda x: softmax(loss(x, HALF), HALF), pairs)

    assert HALF**-2 < ratio <= HALF**-4


@pytest.mark.parametrize("rows", [1, 2])
def test_all_groups_together_cost_epsilon_however_a_unit_spreads_its_rows(rows):
    """Two groups; the rate is for two rows a unit, and sold for one it is caught."""

    def law(x):
        first, second = (softmax(loss(group, HALF), HALF) for group in (x[:3], x[3:]))
        return [p * q for p, q in product(first, second)]

    ratio = worst(law, [(x, y) for x in datasets(6, 3) for y in grown(x, rows)])

    assert ratio <= HALF ** (-2 * rows)
    assert rows == 1 or ratio > HALF**-2  # rows_per_unit ignored


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["permute_and_flip", "exponential"])
@pytest.mark.parametrize("quantile", [0.5, 0.25, 1])
def test_choices_follow_the_stated_law_in_every_group(method, quantile):
    runs = scale(quick=40_000, full=2_000_000)
    mechanism = GridQuantile(quantile=quantile, epsilon=1, size=5, method=method)
    table = np.array([[1, 0, 3, 2, 0], [0, 0, 0, 7, 1]])
    seen = mechanism(np.repeat(table[None], runs, axis=0), rng=SeededRandom(3))

    for group in range(2):
        law = mechanism.probabilities(table[group])
        assert chisquare(np.bincount(seen[:, group], minlength=5), runs * law).pvalue > 1e-6
    wrong = GridQuantile(quantile=quantile, epsilon=1.2, size=5, method=method).probabilities(table[0])
    assert chisquare(np.bincount(seen[:, 0], minlength=5), runs * wrong).pvalue < 1e-6


@pytest.mark.parametrize("quantile", QUANTILES)
@pytest.mark.parametrize(("method", "law"), [("exponential", exponential_law), ("permute_and_flip", flip_law)])
def test_the_probabilities_are_the_law_of_the_selection(quantile, method, law):
    mechanism = GridQuantile(quantile=quantile, epsilon=1, size=4, method=method)
    counts = (2, 0, 3, 1)
    t = Fraction(float(np.exp(-float(mechanism.rate))))
    wanted = law(tuple(-u for u in loss(counts, quantile, mechanism.margin)), t)

    assert np.allclose(mechanism.probabilities(counts), [float(p) for p in wanted])


@pytest.mark.statistical
def test_a_cell_of_many_points_weighs_as_many_points():
    runs = scale(quick=40_000, full=2_000_000)
    widths = (1, 40, 1, 7)
    mechanism = GridQuantile(quantile=0.5, epsilon=1, size=4, method="exponential", widths=widths)
    counts = (3, 0, 2, 0)
    points = [cell for cell, width in enumerate(widths) for _ in range(width)]
    fine = softmax([loss(counts, HALF)[cell] for cell in points], np.exp(-float(mechanism.rate)))
    law = np.bincount(points, weights=fine)
    seen = np.bincount(mechanism(np.tile(counts, (runs, 1)), rng=SeededRandom(4)), minlength=4)

    assert np.allclose(mechanism.probabilities(counts), law)
    assert chisquare(seen, runs * law).pvalue > 1e-6


@given(st.sampled_from(QUANTILES), st.sampled_from([1, 3]), st.sampled_from(["permute_and_flip", "exponential"]))
def test_the_rank_error_is_within_the_stated_bound(quantile, rows, method):
    mechanism = GridQuantile(quantile=quantile, epsilon=2, size=30, rows_per_unit=rows, method=method)
    counts = np.random.default_rng(5).integers(0, 9, 30)
    alpha = mechanism.accuracy(0.05)
    errors = np.array(loss(tuple(counts), quantile)) / quantile.denominator

    assert mechanism.probabilities(counts)[errors > alpha].sum() <= 0.05


def test_the_bound_is_not_loose():
    """One cell holds the median and all others are equally far: the bound is attained within a row."""
    mechanism = GridQuantile(quantile=0.5, epsilon=0.1, size=100)
    alpha = mechanism.accuracy(0.05)
    table = np.zeros(100, dtype=int)
    table[50] = 2 * int(alpha) - 2

    assert 1 - mechanism.probabilities(table)[50] > 0.05


def test_the_minimum_is_rarely_below_all_rows_and_the_maximum_rarely_above():
    table = np.zeros(1000, dtype=int)
    table[400:600] = 5
    least, most = (GridQuantile(quantile=q, epsilon=1, size=1000) for q in (0, 1))

    assert least.probabilities(table)[:400].sum() < 0.05
    assert most.probabilities(table)[600:].sum() < 0.05
    assert least.accuracy() < 60  # rows left out, of a thousand
    assert least.probabilities(table)[450:].sum() < 1e-6


def test_many_groups_take_one_call():
    table = np.random.default_rng(0).poisson(3, (20_000, 100))
    found = GridQuantile(quantile=0.5, epsilon=1, size=100)(table, rng=SeededRandom(1))

    assert found.shape == (20_000,)
    assert np.abs(found - 49.5).mean() < 4


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["permute_and_flip", "exponential"])
def test_an_audit_finds_most_of_the_claim_and_its_twin_more_than_it_claims(method):
    """The twin forgets half of the sensitivity: it runs at twice the epsilon it is sold for."""
    samples, neighbours = scale(quick=100_000, full=2_000_000), ([2, 0, 0, 0, 2, 1], [3, 0, 0, 0, 2, 1])
    honest = GridQuantile(quantile=0.5, epsilon=1, size=6, method=method)
    twin = GridQuantile(quantile=0.5, epsilon=2, size=6, method=method)

    assert 0.6 < audit(honest, inputs=neighbours, samples=samples, rng=SeededRandom(2)).epsilon <= 1
    assert audit(twin, inputs=neighbours, samples=samples, rng=SeededRandom(2)).epsilon > 1


@pytest.mark.statistical
def test_an_audit_catches_a_unit_with_more_rows_than_were_declared():
    samples, units = (
        scale(quick=100_000, full=2_000_000),
        ([2, 0, 0, 0, 2, 1], [6, 0, 0, 0, 2, 1]),
    )  # a unit of four rows
    honest = GridQuantile(quantile=0.5, epsilon=1, size=6, rows_per_unit=4)
    twin = GridQuantile(quantile=0.5, epsilon=1, size=6, rows_per_unit=1)

    assert audit(honest, inputs=units, samples=samples, rng=SeededRandom(3)).epsilon <= 1
    assert audit(twin, inputs=units, samples=samples, rng=SeededRandom(3)).epsilon > 1


def test_the_event_and_the_guarantee_say_what_ran():
    mechanism = GridQuantile(quantile=0.5, epsilon=0.5, size=3)

    assert mechanism.privacy() == PureDP(0.5, neighbours=AddRemove)
    assert mechanism.event() == PureEvent(epsilon=0.5)
    assert GridQuantile(quantile=0.5, epsilon=0.5, size=3, method="exponential").event() == ExponentialEvent(
        epsilon=0.5
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"quantile": -0.1}, {"quantile": 1.5}, {"quantile": float("nan")}, {"quantile": True}, {"epsilon": 0},
        {"epsilon": -1}, {"epsilon": float("inf")}, {"epsilon": float("nan")}, {"epsilon": True}, {"size": 0},
        {"size": 2.0}, {"size": True}, {"rows_per_unit": 0}, {"rows_per_unit": 1.5}, {"method": "laplace"},
        {"widths": (1, 1), "method": "exponential"}, {"widths": (1, 0, 1), "method": "exponential"},
        {"widths": (1, 1.0, 1), "method": "exponential"},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(wrong):
    with pytest.raises(ParameterError):
        GridQuantile(**{"quantile": 0.5, "epsilon": 1, "size": 3} | wrong)


def test_rejects_what_it_cannot_read():
    mechanism = GridQuantile(quantile=0.5, epsilon=1, size=3)
    for counts in ([1.5, 2, 3], np.ones(3), [[1, 2]], 5, "abc", np.array([True, False, True])):
        with pytest.raises(ParameterError):
            mechanism(counts, rng=SeededRandom(1))
    with pytest.raises(UnsupportedError, match="method='exponential'"):
        GridQuantile(quantile=0.5, epsilon=1, size=2, widths=(1, 2))
    for beta in (0, 1, float("nan")):
        with pytest.raises(ParameterError):
            mechanism.accuracy(beta)
    with pytest.raises(ParameterError):
        mechanism.accuracy(0.1, size=0)


def test_a_float_quantile_means_the_fraction_next_to_it():
    assert quantile_fraction(0.1 + 0.2) == Fraction(3, 10)
    assert quantile_fraction("1/3") == quantile_fraction(1 / 3) == Fraction(1, 3)
