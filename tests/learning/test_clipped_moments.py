"""discreet.learning.vectors.clipped_moments: each claim in the module docstring, in order."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.hazmat.entropy import SeededRandom
from discreet.learning.vectors import clipped_moments as cm
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.release.allowance import Allowance

NO_ROWS = np.zeros(0, dtype=np.int64)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=6), st.floats(1e-3, 1e3))
def test_a_clipped_vector_is_never_longer_than_the_scale(entries, radius):
    made = cm.within(np.array([entries]), radius)

    assert (made.astype(object) ** 2).sum() <= cm.SCALE**2


@pytest.mark.parametrize("odd", [[np.nan, 1.0], [np.inf, 0.0], [-np.inf, np.inf], [1e308, -1e308], [np.nan, np.nan]])
@pytest.mark.parametrize("radius", [1.0, np.inf, np.nan, 1e-320])
def test_a_vector_that_is_no_number_becomes_nothing_or_stays_inside(odd, radius):
    """As an integer NaN is -2^63, whose square wraps to 0: the twin without the first guard passes the second."""
    with np.errstate(all="ignore"):
        made = cm.within(np.array([odd, [0.5, 0.25]]), radius).astype(object)
        twin = np.array([[np.nan, 1.0]]).astype(np.int64)

    assert max((row**2).sum() for row in made) <= cm.SCALE**2
    assert not made[0].any()
    assert (twin * twin).sum() <= cm.SCALE**2 < (twin.astype(object) ** 2).sum()


def test_a_short_vector_is_only_rounded():
    made = cm.within(np.array([[0.25, -0.5]]), 1.0)

    assert made.tolist() == [[256, -512]]


def _longest(width: int) -> list[np.ndarray]:
    """Integer vectors near the ends of the ball: axes, diagonals, and corners between."""
    found = []
    for signs in product((-1, 0, 1), repeat=width):
        vector = np.array(signs, dtype=float)
        if vector.any():
            found.append(cm.within(vector[None] * 10, 1.0)[0])
    rng = np.random.default_rng(0)
    found += list(cm.within(rng.normal(size=(50, width)) * 9, 1.0))
    return found


def _largest_moves(width: int, constant: int) -> tuple[int, int]:
    changes = [
        cm.weighted(v[None], np.zeros(1, dtype=np.int64), 1, constant)[0].astype(object) for v in _longest(width)
    ]
    return max(int(abs(c).sum()) for c in changes), max(int((c * c).sum()) for c in changes)


@pytest.mark.parametrize(("width", "constant"), [(1, 512), (2, 512), (4, 512), (3, 256)])
def test_no_vector_moves_the_moments_by_more_than_declared_and_some_nearly_do(width, constant):
    absolute, square = cm.sensitivities(width, constant)
    seen_absolute, seen_square = _largest_moves(width, constant)

    assert seen_absolute <= absolute
    assert seen_square <= square
    assert seen_square > 0.99 * square  # an axis and the constant: 41^2 is nearly 2 29^2
    assert 2 * cm.ON**2 - cm.OFF**2 == 1
    if width > 1:
        assert seen_absolute > absolute / 2  # halved it would be broken


def test_the_twin_with_larger_weights_beside_the_diagonal_is_broken(monkeypatch):
    monkeypatch.setattr(cm, "OFF", 42)
    _, square = cm.sensitivities(4, 512)

    assert _largest_moves(4, 512)[1] > square


@pytest.mark.parametrize("width", [1, 2, 5])
def test_no_vector_moves_count_and_sums_by_more_than_declared_and_some_nearly_do(width):
    absolute, square = cm.mean_sensitivities(width)
    moves = [np.concatenate([[cm.SCALE // 2], v]).astype(object) for v in _longest(width)]

    assert max(abs(m).sum() for m in moves) <= absolute
    assert 0.99 * square < max((m * m).sum() for m in moves) <= square
    assert max(abs(m).sum() for m in moves) > 0.9 * absolute


def test_no_vector_moves_the_squares_by_more_than_declared():
    assert max((v * v).sum() for v in _longest(4)) <= cm.square_sensitivity()
    assert max((v * v).sum() for v in _longest(4)) > 0.99 * cm.square_sensitivity()


def test_sums_are_the_same_in_floats_and_in_integers(monkeypatch):
    rng = np.random.default_rng(1)
    units = cm.within(rng.normal(size=(500, 6)), 1.0)
    groups = rng.integers(0, 3, 500)
    fast = cm.weighted(units, groups, 3, 512)
    monkeypatch.setattr(cm, "EXACT", 0)

    assert (fast == cm.weighted(units, groups, 3, 512)).all()


def test_without_noise_the_moments_are_those_of_the_rows():
    rng = np.random.default_rng(2)
    vectors = rng.uniform(-0.5, 0.5, (400, 3))
    groups = rng.integers(0, 2, 400)
    allowance = Allowance(ZCDP(1e12), entries=100)
    found = cm.noisy_moments(vectors, groups, 2, radius=2.0, allowance=allowance, share=allowance.total, rng=None)
    for group in range(2):
        part = vectors[groups == group]
        np.testing.assert_allclose(found.counts[group], len(part), rtol=1e-3)
        np.testing.assert_allclose(found.means[group], part.mean(axis=0), atol=5e-3)
        np.testing.assert_allclose(found.seconds[group] / len(part), part.T @ part / len(part), atol=5e-3)


@pytest.mark.statistical
def test_the_stated_noise_is_the_noise():
    allowance, runs = Allowance(PureDP(1), entries=100), 400
    rng, sds = SeededRandom(3), []
    seconds = []
    for _ in range(runs):
        made = cm.noisy_moments(
            np.zeros((0, 2)), NO_ROWS, 1, radius=1.0, allowance=allowance, share=allowance.total, rng=rng
        )
        seconds.append(made.seconds[0][0, 1])
        sds.append(made.sd)
    ratio = np.std(seconds) / sds[0]

    assert 0.75 < ratio < 1.3  # 5 standard deviations of the estimate for Laplace noise


def test_the_radius_leaves_about_as_many_rows_outside_as_the_noise_is_worth():
    lengths = np.random.default_rng(4).uniform(0, 1, 100_000)
    for budget in (ZCDP(1e6), ZCDP(1.0), ZCDP(1e-3)):
        found = [radius_of(lengths, budget, rows=100_000.0, seed=seed) for seed in range(9)]

        assert 0.9 <= np.median(found) <= 1.5


def radius_of(lengths, budget, *, rows, seed=5):
    allowance = Allowance(budget, entries=10)
    how = {"share": allowance.total / 20, "later": allowance.total / 2, "rng": SeededRandom(seed)}
    return cm.noisy_radius(lengths, 8.0, 4, rows=rows, allowance=allowance, **how)[0]


def test_of_few_rows_the_best_radius_does_not_leave_all_of_them_outside(monkeypatch):
    """The score itself, without its noise; the twin that does not know how many rows there are prefers the smallest."""
    monkeypatch.setattr(Exponential, "__call__", lambda self, scores, rng=None: int(np.argmax(scores)))
    lengths = np.random.default_rng(4).uniform(0.5, 1, 600)
    for budget in (ZCDP(0.1), ZCDP(0.02), ZCDP(1e-3), ZCDP(1e-6), PureDP(0.1)):
        assert 0.7 <= radius_of(lengths, budget, rows=600.0) <= 1.5
    for nothing in (0.0, -50.0):
        assert radius_of(lengths, ZCDP(0.1), rows=nothing) > 0
    assert radius_of(lengths, ZCDP(1e-3), rows=1e9) < 0.1


def test_a_row_moves_every_score_of_a_radius_by_at_most_one(monkeypatch):
    from tests.learning.replay import moved

    allowance = Allowance(ZCDP(1), entries=10)

    def run(lengths):
        return cm.noisy_radius(
            lengths,
            8.0,
            3,
            rows=40.0,
            allowance=allowance,
            share=Fraction(1, 10),
            later=Fraction(1, 2),
            rng=SeededRandom(6),
        )

    lengths = np.linspace(0, 3, 40)
    parts = [moved(monkeypatch, run, lengths, np.append(lengths, extra))[0] for extra in (0.0, 0.7, 100.0)]

    assert max(parts) == 1


def test_the_weights_are_those_of_a_frobenius_norm():
    assert math.isclose(cm.OFF / cm.ON, math.sqrt(2), rel_tol=1e-3)
