"""discreet.bounds.noise_table: the numbers of the exercise, and which law is the least."""

import math

import pytest

from discreet.bounds.noise_table import discrete_variance, noise_table
from discreet.errors import ParameterError
from discreet.mechanisms.staircase import Staircase


def test_the_classical_formula_has_the_numbers_of_the_exercise():
    """5.0514573 / epsilon^2 at delta = 0.1, and 200 ln(1.25 / delta) at epsilon = 0.1."""
    by_epsilon = noise_table(epsilon=[0.01, 0.1, 0.5, 1], delta=0.1)
    by_delta = noise_table(epsilon=0.1, delta=[1e-6, 1e-5, 0.001, 0.01, 0.1, 0.5])

    found = [by_epsilon.variance("classical", epsilon=e, delta=0.1) for e in (0.01, 0.1, 0.5)]
    assert found == pytest.approx([50514.57, 505.1457, 20.2058], rel=2e-6)
    assert by_epsilon.variance("classical", epsilon=1, delta=0.1) is None  # not proven from epsilon = 1 on
    found = [row.variance for row in by_delta if row.law == "classical"]
    assert found == pytest.approx([2807.73, 2347.21, 1426.18, 965.663, 505.146, 183.258], rel=2e-6)


def test_the_exercise_is_where_the_classical_formula_is_worst():
    table = noise_table(epsilon=0.1, delta=0.1)
    classical, analytic = (table.variance(law, epsilon=0.1, delta=0.1) for law in ("classical", "analytic"))

    assert analytic == pytest.approx(2.846924**2, rel=1e-6)
    assert round(classical / analytic) == 62


def test_integer_noise_for_delta_is_hardly_more_than_continuous_noise():
    for row in noise_table(epsilon=[0.1, 1, 3], delta=1e-6):
        if row.law == "discrete":
            analytic = noise_table(epsilon=row.epsilon, delta=1e-6).variance(
                "analytic", epsilon=row.epsilon, delta=1e-6
            )
            assert 0.999 * analytic < row.variance < 1.25 * analytic
    table = noise_table(epsilon=1, delta=1e-6)
    assert table.variance("discrete", epsilon=1, delta=1e-6) == pytest.approx(4.2308**2, rel=1e-4)
    assert table.variance("analytic", epsilon=1, delta=1e-6) == pytest.approx(4.224679**2, rel=1e-6)


@pytest.mark.parametrize("sensitivity", [1, 10])
@pytest.mark.parametrize("epsilon", [0.1, 1, 5])
def test_the_staircase_has_the_least_variance_of_pure_laws(epsilon, sensitivity):
    table = noise_table(epsilon=epsilon, sensitivity=sensitivity)
    found = {row.law: row.variance for row in table}

    assert found["staircase"] < found["Laplace"]
    assert found["discrete staircase"] <= found["discrete Laplace"] * (1 + 1e-12)
    assert found["discrete Laplace"] < found["Laplace"]
    if sensitivity == 1:
        assert found["discrete staircase"] == pytest.approx(found["discrete Laplace"], rel=1e-9)


def test_fine_integer_staircases_tend_to_the_continuous_one():
    """The closed form of the continuous law against the integer one of a large sensitivity, a different computation."""
    for epsilon in (0.5, 2.0):
        fine = Staircase(epsilon=epsilon, sensitivity=2000).variance() / 2000**2
        continuous = noise_table(epsilon=epsilon).variance("staircase", epsilon=epsilon)

        assert fine == pytest.approx(continuous, rel=1e-3)


def test_the_discrete_variance_is_that_of_the_law():
    for sigma in (0.3, 0.9, 2.9, 3.1):
        weights = {z: math.exp(-z * z / (2 * sigma**2)) for z in range(-80, 81)}
        exact = sum(z * z * w for z, w in weights.items()) / sum(weights.values())

        assert discrete_variance(sigma) == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [{"epsilon": 0}, {"epsilon": []}, {"epsilon": math.nan}, {"delta": 1}, {"delta": [0, 0.1]}, {"sensitivity": 0},
     {"sensitivity": True}, {"sensitivity": 1.5}],
)  # fmt: skip
def test_parameters_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError):
        noise_table(**({"epsilon": 1, "delta": 0} | wrong))
    with pytest.raises(ParameterError, match="no row"):
        noise_table(epsilon=1).variance("Laplace", epsilon=2)
