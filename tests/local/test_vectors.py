"""discreet.local: the claims of the protocols for mean vectors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.local import DuchiVector, PrivUnit, PrivUnitG, run
from discreet.local.duchi import DEPTH, half_sphere
from discreet.local.vectors import directions, normals
from discreet.privacy.enclosure import exp_down
from discreet.privacy.number import exact
from tests.local.protocols import VECTORS
from tests.scale import counts

DRAWS = counts(quick=40_000, full=200_000)
E = np.eye(8)


@pytest.mark.parametrize("epsilon", [0.5, 1, 4])
def test_given_the_pair_a_direction_is_one_of_two_with_a_ratio_of_at_most_e_to_the_epsilon(epsilon):
    """Whatever the user holds, the report is the free direction or its exact opposite: floats have no other say."""
    protocol = DuchiVector(epsilon=epsilon, dimension=5)
    seen = []
    for value in (E[0, :5], -E[0, :5], E[3, :5] / 3, np.zeros(5)):
        random = SeededRandom(9)
        free = protocol.pairs(500, random)
        reports = protocol.draw(np.tile(value, (500, 1)), SeededRandom(9))
        signs = np.where((reports == free).all(axis=1), 1, np.where((reports == -free).all(axis=1), -1, 0))
        seen.append(signs)

    assert all((signs != 0).all() for signs in seen)
    assert any((seen[0] != signs).any() for signs in seen[1:])
    assert protocol.truth <= exp_down(exact(epsilon)) * (1 - protocol.truth)


@pytest.mark.parametrize("dimension", [2, 3, 50])
def test_the_mean_height_of_a_half_sphere_is_the_stated_one(dimension):
    rows = normals((DRAWS, dimension), SeededRandom(1))
    heights = np.abs(rows[:, 0]) / np.linalg.norm(rows, axis=1)

    assert heights.mean() == pytest.approx(half_sphere(dimension), abs=6 * heights.std() / math.sqrt(DRAWS))


@pytest.mark.statistical
@pytest.mark.parametrize("epsilon", [1, 5])
@pytest.mark.parametrize("dimension", [2, 3, 20])
@pytest.mark.parametrize("kind", VECTORS)
def test_estimates_are_unbiased_and_vary_as_predicted(kind, dimension, epsilon):
    protocol = kind(epsilon=epsilon, dimension=dimension, radius=3)
    value = np.zeros(dimension)
    value[0], value[1] = 1.2, -0.9
    reports = protocol.client().report(np.tile(value, (DRAWS, 1)), rng=SeededRandom(6)) * protocol.unit
    mean, spread = reports.mean(axis=0), reports.std(axis=0)
    squares = (reports**2).sum(axis=1)

    assert (np.abs(mean - value) <= 6 * spread / math.sqrt(DRAWS) + 1e-5).all()
    assert squares.mean() == pytest.approx(
        protocol.variance(1), rel=6 * squares.std() / squares.mean() / math.sqrt(DRAWS) + 1e-5
    )
    assert ((reports**2).mean(axis=0) <= protocol.coordinate_variance() * 1.1).all()


@pytest.mark.statistical
@pytest.mark.parametrize("kind", [PrivUnit, PrivUnitG])
def test_heights_follow_the_law_of_the_cap(kind):
    """Above the cap's edge with probability p, and inside and outside with the law of the sphere or of the normal."""
    from scipy.stats import beta, norm

    protocol = kind(epsilon=2, dimension=6)
    cap = protocol.cap
    reports = protocol.client().report(np.tile(E[0, :6], (DRAWS, 1)), rng=SeededRandom(8)) / 2.0**20
    height = reports[:, 0]
    above = (lambda h: norm.sf(h * math.sqrt(6))) if kind is PrivUnitG else (lambda h: _sphere_tail(beta, h, 6))
    tails = above(height)
    inside = tails <= cap.q
    uniform = np.where(inside, tails / cap.q, (tails - cap.q) / (1 - cap.q))

    assert inside.mean() == pytest.approx(float(cap.p), abs=6 / math.sqrt(4 * DRAWS))
    assert kstest(uniform, "uniform").pvalue > 1e-6
    assert kstest(uniform**1.05, "uniform").pvalue < 1e-6  # a law five percent off is noticed


def _sphere_tail(beta, height, dimension):
    half = beta.sf(np.minimum(height**2, 1), 0.5, (dimension - 1) / 2) / 2
    return np.where(height >= 0, half, 1 - half)


SHORT = [1e-150, 1e-157, 1e-160, 1.7e-162, 1e-200, 1e-300, 1e-310, 1e-320, 0.0]


@pytest.mark.parametrize("size", SHORT)
def test_directions_are_unit_vectors_however_short_the_rows(size):
    """The twin that squares first has norms of 0 and 1.3 here, which reports would show."""
    rows = size * np.random.default_rng(4).uniform(-1, 1, (200, 5))
    reports = PrivUnit(epsilon=1, dimension=5).client().report(rows, rng=SeededRandom(2)) / 2.0**20

    assert np.abs(np.linalg.norm(directions(rows, SeededRandom(1)), axis=1) - 1).max() <= 2**-50
    assert np.abs(np.linalg.norm(reports, axis=1) - 1).max() <= 2**-18


@pytest.mark.parametrize("size", SHORT[:-1])
@pytest.mark.parametrize("kind", VECTORS)
def test_short_rows_are_reported_like_those_of_the_same_direction(kind, size):
    """The same coins, the same report up to a step of the lattice: the law is that of the direction."""
    protocol = kind(epsilon=2, dimension=4)
    axes = np.tile(np.eye(4), (500, 1))
    reports = [protocol.draw(axes * length, SeededRandom(7)).astype(np.int64) for length in (1e-30, size)]

    assert np.abs(reports[0] - reports[1]).max() <= 1


@pytest.mark.parametrize("epsilon", [0.5, 2, 6])
@pytest.mark.parametrize("kind", [PrivUnit, PrivUnitG])
def test_the_densities_of_cap_and_rest_keep_epsilon(kind, epsilon):
    cap = kind(epsilon=epsilon, dimension=12).cap
    p, q = float(cap.p), cap.q

    assert p / q / ((1 - p) / (1 - q)) <= math.exp(epsilon)
    assert p / q / ((1 - p) / (1 - q)) >= math.exp(epsilon) * (1 - 1e-8)


def test_the_best_protocol_depends_on_epsilon():
    assert PrivUnit(epsilon=1, dimension=100).variance(1) < DuchiVector(epsilon=1, dimension=100).variance(1)
    assert PrivUnit(epsilon=6, dimension=100).variance(1) < 0.2 * DuchiVector(epsilon=6, dimension=100).variance(1)
    assert PrivUnitG(epsilon=4, dimension=1000).variance(1) < 1.01 * PrivUnit(epsilon=4, dimension=1000).variance(1)


@pytest.mark.statistical
@pytest.mark.parametrize("kind", VECTORS)
def test_errors_hold_for_each_coordinate(kind):
    protocol = kind(epsilon=2, dimension=4)
    values = np.random.default_rng(2).uniform(-0.5, 0.5, (3_000, 4))
    servers = [run(protocol, values) for _ in range(30)]
    off = np.abs([server.estimate() - values.mean(axis=0) for server in servers])

    assert (off > servers[0].error(0.05)).mean() <= 0.05
    assert (servers[0].error(0.05) <= 8 * math.sqrt(protocol.variance(3_000) / 4)).all()


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize("bad", [[[0.0, 0.0]], [0.5], np.array([["a", "b", "c"]])])
def test_rows_of_another_shape_or_type_are_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(epsilon=1, dimension=3).client().report(bad)


@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_outside_the_ball_are_cut_to_it_and_what_is_no_number_is_zero(kind):
    protocol = kind(epsilon=1, dimension=3, radius=2)
    held = protocol.checked([[2.0, 2.0, 0.0], [math.nan, None, 1], [math.inf, 0, 0], [1e300, -1e300, 0], [0, 0, 0.5]])

    assert np.allclose(
        held, [[0.5**0.5, 0.5**0.5, 0], [0, 0, 0.5], [1, 0, 0], [0.5**0.5, -(0.5**0.5), 0], [0, 0, 0.25]]
    )
    assert (np.linalg.norm(held, axis=1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("kind", VECTORS)
@pytest.mark.parametrize(
    "bad",
    [
        {"epsilon": 0},
        {"dimension": 1},
        {"dimension": 2.5},
        {"radius": 0},
        {"radius": math.nan},
        {"radius": "1e-400"},
        {"radius": "1e400"},
    ],
)
def test_bad_parameters_are_refused(kind, bad):
    with pytest.raises(ParameterError):
        kind(**{"epsilon": 1, "dimension": 3} | bad)


def test_rounded_directions_have_exact_opposites():
    free = DuchiVector(epsilon=1, dimension=7).pairs(1000, SeededRandom(3))

    assert np.abs(free).max() <= 1 << DEPTH
    assert np.linalg.norm(free / 2.0**DEPTH, axis=1) == pytest.approx(np.ones(1000), abs=1e-8)
