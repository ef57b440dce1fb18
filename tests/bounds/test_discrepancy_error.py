"""discreet.bounds.discrepancy_error: the agreement, the erratum of the notes, and mechanisms that are bound."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.bounds.discrepancy_error import agreement, copies, discrepancy_error, success_needed
from discreet.errors import ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import thresholds


def test_the_agreement_is_that_of_randomized_response():
    """p = (e^epsilon + delta) / (1 + e^epsilon): who answers with the bit, with probability p, attains it."""
    assert agreement(ApproxDP(1, "0.1")) == pytest.approx(0.757953, abs=5e-7)
    assert agreement(PureDP(1)) == pytest.approx(0.731059, abs=5e-7)
    assert Fraction(agreement(ApproxDP(1, "0.1"))) >= Fraction(math.e + 0.1) / Fraction(math.e + 1) - Fraction(
        1, 10**15
    )


@pytest.mark.parametrize("rho", [0.01, 0.3, 2.0, 10.0])
def test_no_gaussian_noise_agrees_more_than_a_concentrated_budget_allows(rho):
    """One bit with noise of sigma = 1 / sqrt(2 rho) is guessed with probability Phi(1 / (2 sigma))."""
    reached = norm.cdf(math.sqrt(2 * rho) / 2)

    assert reached <= agreement(ZCDP(rho)) <= 1
    assert agreement(ZCDP(rho)) - 0.5 < 1.4 * (reached - 0.5)
    assert agreement(GaussianDP.from_square(2 * Fraction(str(rho)))) == agreement(ZCDP(rho))


@pytest.mark.parametrize("kind", ["uint8", "int8", "int64", "float16", "float64"])
def test_the_bound_is_the_same_whatever_type_holds_the_matrix(kind):
    """Differences taken in bytes without a sign would wrap, and bind mechanisms to 3,697.5 counts."""
    matrix = np.array([[0, 0, 1], [0, 1, 1]], dtype=kind)

    assert discrepancy_error(matrix, budget=PureDP(0.1), n=1000, neighbours=Replace).value == 14.5


def test_two_thirds_are_not_enough_for_the_constants_of_the_notes():
    needed = success_needed(ApproxDP(1, "0.1"), kappa="0.01")

    assert needed == pytest.approx(0.76561, abs=5e-6)
    assert copies(ApproxDP(1, "0.1"), beta="1/3", kappa="0.01") == 0
    assert copies(ApproxDP(1, "0.1"), beta="0.1", kappa="0.01") == 1
    assert (
        success_needed(ApproxDP("0.498", "0.1"), kappa="0.01")
        < 2 / 3
        < success_needed(ApproxDP("0.5", "0.1"), kappa="0.01")
    )


@pytest.mark.parametrize(
    "budget", [PureDP(0.1), PureDP(3), ApproxDP(0.1, 1e-6), ApproxDP(0.01, 1e-3), ZCDP(0.001), GaussianDP(0.05)]
)
def test_copies_are_the_most_for_which_the_argument_holds(budget):
    for beta, kappa in itertools.product((0.05, 0.2), (0, "0.1", "0.4")):
        target = (1 - beta) * (1 - float(Fraction(kappa)))
        found = copies(budget, beta=beta, kappa=kappa)

        assert not found or agreement(budget.group(found)) < target
        assert agreement(budget.group(found + 1)) >= target - 1e-12


def least_miss(size, epsilon, radius):
    """The least beta of any epsilon-DP mechanism for the counts of `size` cells of 0 or 1 row, errors below the radius.

    A linear programme over all mechanisms on {0, 1}^size; outputs matter by the datasets that they are right for.
    """
    from scipy.optimize import linprog

    data = list(itertools.product((0, 1), repeat=size))
    prefixes = np.cumsum(np.array(data), axis=1)
    grid = [np.array(point) / 2 for point in itertools.product(range(2 * size + 1), repeat=size)]
    right = np.array([[abs(point - answers).max() < radius for point in grid] for answers in prefixes])
    patterns = np.unique(right, axis=1).astype(float)
    count, outputs = patterns.shape
    width = count * outputs + 1
    upper, bound = [], []
    for i, j in itertools.permutations(range(count), 2):
        if sum(a != b for a, b in zip(data[i], data[j], strict=True)) == 1:
            for y in range(outputs):
                line = np.zeros(width)
                line[i * outputs + y], line[j * outputs + y] = 1, -math.exp(epsilon)
                upper.append(line)
                bound.append(0.0)
    for i in range(count):
        line = np.zeros(width)
        line[i * outputs : (i + 1) * outputs], line[-1] = -patterns[i], -1
        upper.append(line)
        bound.append(-1.0)
    equal = np.zeros((count, width))
    for i in range(count):
        equal[i, i * outputs : (i + 1) * outputs] = 1
    solved = linprog(np.eye(width)[-1], A_ub=np.array(upper), b_ub=bound, A_eq=equal, b_eq=np.ones(count))
    assert solved.success
    return solved.fun


@pytest.mark.parametrize("epsilon", [0.5, 1.5])
def test_no_mechanism_of_the_linear_programme_beats_the_theorem(epsilon):
    """Prefixes of three cells: discrepancy 1 with all k, so errors below 1/2 at k = 1; without the half it is false."""
    best = least_miss(3, epsilon, 0.5)
    limit = 1 - agreement(PureDP(epsilon))

    assert best >= limit - 1e-9
    twin = least_miss(3, epsilon, 1.0)  # errors below PDisc itself are no contradiction
    assert twin < limit


def test_the_error_of_a_workload_grows_as_epsilon_falls():
    values = [
        discrepancy_error(thresholds(8), budget=PureDP(epsilon), n=10**6, neighbours=AddRemove).value
        for epsilon in ("1", "0.1", "0.01")
    ]

    assert values == [1.0, 14.5, 147.0]  # ln(0.95 / 0.05) / epsilon copies, half of each
    assert discrepancy_error(thresholds(8), budget=PureDP("0.01"), n=10, neighbours=AddRemove).value == 5
    assert discrepancy_error(thresholds(8), budget=PureDP(20), n=10, neighbours=AddRemove).value == 0


def test_the_best_set_number_of_colours_and_copies_are_found():
    """Against the definition: all sets S, all k, all z; the least over sets, as the notes print, would say less."""
    rows = np.random.default_rng(3).integers(-3, 4, (4, 5))
    budget, n = ApproxDP(0.01, 1e-9), 10**6
    values = {}
    for size in range(1, 6):
        for some in itertools.combinations(range(5), size):
            for least in range(1, size + 1):
                colourings = [z for z in itertools.product((-1, 0, 1), repeat=size) if sum(map(abs, z)) >= least]
                value = min(abs(rows[:, some] @ np.array(z)).max() for z in colourings)
                allowed = copies(budget, beta=0.05, kappa=Fraction(least - 1, size))
                values[some, least] = min(allowed, n // size) * value / 2
    found = discrepancy_error(rows, budget=budget, n=n, neighbours=AddRemove)

    assert found.value == max(values.values()) == values[found.columns, found.least]
    assert found.value == found.copies * found.discrepancy / 2
    assert found.value > min(values[some, 1] for some, least in values if least == 1)


def test_eigenvalues_take_the_place_of_colourings_on_larger_workloads():
    from scipy.linalg import hadamard

    budget = ApproxDP(0.01, 1e-9)
    matrix = hadamard(64)
    found = discrepancy_error(matrix, budget=budget, n=10**6, neighbours=AddRemove)

    assert found.method == "eigenvalues"
    assert found.discrepancy == math.ceil(math.sqrt(found.least))  # sigma_min = sqrt(64), 64 queries
    assert found.value > discrepancy_error(matrix[:, :1], budget=budget, n=10**6, neighbours=AddRemove).value
    assert discrepancy_error(matrix, budget=budget, n=1, neighbours=Replace).copies <= 1


def test_bad_questions_are_refused():
    for bad in ({"n": 0}, {"n": 1.0}, {"beta": 0}, {"beta": 1}, {"beta": math.nan}):
        with pytest.raises(ParameterError):
            discrepancy_error(thresholds(4), **({"budget": PureDP(1), "n": 5, "neighbours": AddRemove} | bad))
    with pytest.raises(ParameterError):
        success_needed(PureDP(1), kappa=1)
    with pytest.raises(UnsupportedError):
        agreement(RenyiDP(2, 1))
