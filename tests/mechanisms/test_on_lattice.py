"""discreet.mechanisms.on_lattice: each claim in the module docstring, in order."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.lattice import Lattice
from discreet.mechanisms.base import Mechanism
from discreet.mechanisms.bounded_laplace import BoundedLaplace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.on_lattice import OnLattice
from discreet.privacy.guarantee import PureDP
from discreet.privacy.number import exact
from tests.scale import counts

OUTPUTS = counts(quick=50_000, full=10_000_000)
CENTS = Lattice("0.01")
SPENDING = OnLattice(mechanism=Laplace(epsilon=1, sensitivity=CENTS.sensitivity(5)), lattice=CENTS)


def test_it_has_the_guarantee_and_the_event_of_its_mechanism():
    assert SPENDING.privacy() == PureDP(1)
    assert SPENDING.event() == Laplace(epsilon=1, sensitivity=500).event()
    assert isinstance(SPENDING, Mechanism)


def test_neighbouring_reals_become_neighbouring_integers():
    """Values at most 5 apart have indices at most 500 apart, wherever they lie between lattice points."""
    rng = np.random.default_rng(1)
    for x, move in zip(rng.uniform(-100, 100, 500), rng.uniform(-5, 5, 500), strict=True):
        assert abs(CENTS.index(exact(x) + exact(move)) - CENTS.index(x)) <= 500


def test_outputs_lie_on_the_lattice_whatever_the_input():
    """No value is possible for one input only; floating-point noise, the twin, is off the lattice at once."""
    values = np.full(OUTPUTS, 0.1234)
    released = SPENDING(values, rng=SeededRandom(1))
    distinct = np.unique(released)

    assert all((exact(float(y)) * 100).denominator == 1 for y in distinct)
    naive = 0.1234 + np.random.default_rng(1).laplace(scale=5, size=1000)
    assert sum((exact(float(y)) * 100).denominator == 1 for y in naive) == 0


def test_the_noise_passes_through_exactly():
    released = SPENDING(np.full(1000, 2.345), rng=SeededRandom(2))
    integers = SPENDING.mechanism(np.full(1000, 235), rng=SeededRandom(2))

    assert np.array_equal(CENTS.index(released), integers)
    assert SPENDING(2.345, rng=SeededRandom(3)) == CENTS.value(SPENDING.mechanism(235, rng=SeededRandom(3)))


@pytest.mark.statistical
def test_accuracy_covers_noise_and_rounding():
    value, beta = 0.125, 0.05
    errors = np.abs(SPENDING(np.full(100_000, value), rng=SeededRandom(4)) - value)

    assert SPENDING.accuracy(beta) == pytest.approx(0.01 * (SPENDING.mechanism.accuracy(beta) + 0.5))
    assert (errors > SPENDING.accuracy(beta)).mean() <= beta * 1.05
    assert SPENDING.accuracy(beta, size=10) > SPENDING.accuracy(beta)


def test_other_mechanisms_fit_too():
    half = Lattice(Fraction(1, 2))
    bounded = OnLattice(mechanism=BoundedLaplace(epsilon=1, sensitivity=2, lower=0, upper=20), lattice=half)
    l2 = half.sensitivity(1, size=3, norm="l2")
    gaussian = OnLattice(mechanism=Gaussian(epsilon=1, delta=1e-6, sensitivity=l2, dimension=3), lattice=half)

    assert 0 <= bounded(7.3) <= 10
    assert gaussian([0.5, 1.0, 2.25]).shape == (3,)


@pytest.mark.parametrize(
    "bad", [True, "x", np.array(["x"]), np.array([True]), object(), 1j], ids=lambda bad: type(bad).__name__
)
def test_refuses_what_is_no_number_by_its_type(bad):
    with pytest.raises(ParameterError, match="need"):
        SPENDING(bad)
