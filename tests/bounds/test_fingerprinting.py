"""discreet.bounds.fingerprinting: each step of the proof, and mechanisms that are bound."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.bounds.fingerprinting import fingerprinting, independent_queries, rows_for_means
from discreet.data import Boolean, Domain, Integer
from discreet.errors import ParameterError, UnsupportedError
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from discreet.privacy.neighbours import AddRemove, NullRow, Replace
from discreet.queries import marginals, monotone_conjunctions, monotone_disjunctions, thresholds
from tests.scale import counts

TRIES = counts(quick=20, full=200)


def integral(polynomial):
    """The mean over p uniform in [-1, 1], exactly."""
    return sum(c / Fraction(power + 1) for power, c in enumerate(polynomial) if power % 2 == 0)


def times(a, b):
    out = [Fraction(0)] * (len(a) + len(b) - 1)
    for (i, x), (j, y) in itertools.product(enumerate(a), enumerate(b)):
        out[i + j] += x * y
    return out


def law(signs):
    """Pr[x | p] as a polynomial in p."""
    out = [Fraction(1)]
    for sign in signs:
        out = times(out, [Fraction(1, 2), Fraction(sign, 2)])
    return out


def test_step_one_holds_exactly_for_every_function_of_the_rows():
    """E[f sum(x_i - p)] = 2 E[p h(p)] >= 2/3 - 2 r / sqrt(3), in rationals, for random answers in [-1, 1]."""
    rng = np.random.default_rng(1)
    tight = 0.0
    for _ in range(TRIES):
        rows = int(rng.integers(1, 5))
        left = right = error = Fraction(0)
        bias = float(rng.uniform(0, 1))
        for signs in itertools.product((-1, 1), repeat=rows):
            mean = Fraction(sum(signs), rows)
            noise = Fraction(int(rng.integers(-100, 101)), 100)
            f = min(Fraction(1), max(Fraction(-1), mean * Fraction(1 - bias) + noise / 5))
            chance = law(signs)
            left += f * integral(times(chance, [Fraction(sum(signs)), Fraction(-rows)]))
            right += 2 * f * integral(times(chance, [Fraction(0), Fraction(1)]))
            error += (f - mean) ** 2 * integral(chance)
        claim = 2 / 3 - 2 * math.sqrt(error) / math.sqrt(3)

        assert left == right
        assert float(left) >= claim - 1e-12
        tight = max(tight, claim / float(left) if left > 0 else 0)
    assert tight > 0.8  # a constant of 2/3 times 1.3 would be refuted


def test_the_moments_of_the_proof():
    square = [Fraction(1), Fraction(0), Fraction(-1)]

    assert integral(times(square, square)) == Fraction(8, 15)
    assert integral(times(times([Fraction(1), Fraction(1)], [Fraction(1), Fraction(1)]), square)) == Fraction(4, 5)
    assert 1 + 2 * Fraction(1, 2) + Fraction(1, 3) == Fraction(7, 3)  # E (1 + |p|)^2


@pytest.mark.parametrize("relation", [Replace, AddRemove, NullRow])
def test_no_gaussian_noise_has_less_error_and_a_third_is_reached(relation):
    """Noise of sqrt(d) / sqrt(2 rho) on each of d counts; four times the bound would be refuted by it."""
    closest = math.inf
    for d, rho, n in itertools.product((1, 100, 10**4, 10**8), (1e-4, 0.01, 0.5, 3.0), (10, 10**4, 10**7)):
        reached = math.sqrt(d / (2 * rho))
        value = fingerprinting(d, budget=ZCDP(rho), n=n, neighbours=relation).value

        assert value <= reached
        assert value <= n / math.sqrt(12)  # of who says n/2 for everything, on the data of the proof
        closest = min(closest, reached / value) if value else closest
    assert 3 <= closest < 3.3


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-9), (0.1, 1e-9), (3.0, 1e-12)])
def test_no_approximate_gaussian_noise_has_less_error(epsilon, delta):
    for d, n in itertools.product((10, 10**4, 10**6), (100, 10**5)):
        reached = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1) * math.sqrt(d)

        assert fingerprinting(d, budget=ApproxDP(epsilon, delta), n=n, neighbours=Replace).value <= reached
    small = fingerprinting(10**4, budget=ApproxDP(1, 1e-9), n=10**4, neighbours=Replace).value
    assert small > fingerprinting(10**4, budget=ApproxDP(1, 1e-3), n=10**4, neighbours=Replace).value


def test_a_delta_of_one_row_leaves_nothing():
    """Who publishes each row with probability delta = 1/2 and else nothing is not bound: without delta it would be."""
    assert fingerprinting(10**6, budget=ApproxDP(1, "0.5"), n=10**4, neighbours=Replace).value < 1
    assert fingerprinting(10**6, budget=PureDP(1), n=10**4, neighbours=Replace).value > 100


def test_the_best_number_of_rows_is_no_worse_than_all():
    for n in (50, 5000, 10**6):
        found = fingerprinting(400, budget=PureDP(0.5), n=n, neighbours=AddRemove)

        assert found.rows <= n
        assert found.value >= fingerprinting(400, budget=PureDP(0.5), n=max(1, n // 7), neighbours=AddRemove).value


def test_rows_that_are_needed_for_an_error_are_the_most_that_contradict_it():
    for alpha in (0.2, 0.01):
        needed = rows_for_means(10**6, alpha=alpha, budget=ZCDP(0.01), neighbours=Replace)
        c = math.sqrt(math.expm1(0.02))

        def slack(k, c=c, alpha=alpha):
            return 2 / 3 - c * math.sqrt(8 * k / (15 * 10**6)) - 2 * alpha * (2 / math.sqrt(3) + c * k / 1000)

        assert slack(needed - 1) > 0
        assert slack(needed + 1) <= 1e-6
    assert rows_for_means(4, alpha=0.4, budget=PureDP(5), neighbours=AddRemove) == 1


def test_a_workload_holds_as_many_one_way_marginals_as_are_found():
    bits = Domain({f"b{i}": Boolean() for i in range(7)})

    assert [independent_queries(marginals(bits, t)) for t in (1, 2, 3, 7)] == [7, 6, 5, 1]
    assert independent_queries(marginals(bits, [("b0", "b1"), ("b2", "b3")])) == 2
    assert independent_queries(marginals(bits, [("b0",), ("b0", "b1")])) == 1  # two cells of b0, b1 exclude a pattern
    assert independent_queries(monotone_conjunctions(7, 3)) == independent_queries(monotone_disjunctions(7, 3)) == 5
    assert independent_queries(monotone_conjunctions(7, 3, at_most=True)) == 7
    mixed = Domain({"a": Integer(0, 4), "b": Integer(3, 3), "c": Boolean()})
    assert independent_queries(marginals(mixed, 1)) == 2  # a column of one value says nothing


def test_tables_in_which_no_query_takes_two_values_hold_no_one_way_marginal():
    bits = Domain({f"b{i}": Boolean() for i in range(3)})
    for still in (marginals(bits, 0), marginals(Domain({"a": Integer(3, 3), "b": Boolean()}), [("a",)])):
        with pytest.raises(UnsupportedError, match="takes both 0 and 1"):
            independent_queries(still)
        with pytest.raises(UnsupportedError):
            fingerprinting(still, budget=PureDP(0.01), n=1000, neighbours=Replace)


@pytest.mark.parametrize("t", [1, 2, 3])
def test_the_queries_found_take_all_patterns(t):
    """By search: as many queries of the tables of five bits as are claimed are shattered by the rows."""
    workload = marginals(Domain({f"b{i}": Boolean() for i in range(5)}), t)
    claimed, matrix = independent_queries(workload), workload.matrix()
    found = any(
        len({tuple(column) for column in matrix[list(some)].T}) == 2**claimed
        for some in itertools.islice(itertools.combinations(range(len(matrix)), claimed), 400_000)
    )

    assert found


def test_bad_questions_are_refused():
    good = {"budget": PureDP(1), "n": 10, "neighbours": Replace}
    for over, bad in ((0, {}), (2.0, {}), (True, {}), (5, {"n": 0}), (5, {"n": True}), (5, {"budget": PureDP(0)})):
        with pytest.raises(ParameterError):
            fingerprinting(over, **(good | bad))
    with pytest.raises(UnsupportedError):
        fingerprinting(5, **(good | {"budget": RenyiDP(2, 1)}))
    with pytest.raises(UnsupportedError, match="no one-way marginals"):
        fingerprinting(thresholds(8), **good)
    with pytest.raises(ParameterError):
        rows_for_means(5, alpha=0, budget=GaussianDP(1), neighbours=Replace)
