"""discreet.bounds.packing and packing_search: the bound holds for the best mechanisms, and is not loose."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.bounds.packing import Packing, packing_bound, steps
from discreet.bounds.packing_search import greedy_packings, packing, packing_error, told_apart
from discreet.data import Boolean, Domain, Integer
from discreet.errors import ParameterError, UnsupportedError
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import Dense, marginals, ranges, thresholds


def copies(cells, epsilon, n, beta, delta=0):
    budget = ApproxDP(epsilon, delta) if delta else PureDP(epsilon)
    return packing_bound(Packing.points(cells, Replace), budget=budget, n=n, beta=beta).copies


def least_beta(cells, n, epsilon, k, delta=0.0):
    """The least beta of any (epsilon, delta)-DP mechanism on n rows (Replace) that errs by less than k / 2.

    The queries are the counts of all cells.  A linear programme over all mechanisms: as outputs the answers
    that are right (errors below k / 2) for different sets of datasets matter only.
    """
    data = [rows for rows in itertools.product(range(n + 1), repeat=cells) if sum(rows) == n]
    grid = [np.array(point) / 2 for point in itertools.product(range(2 * n + 1), repeat=cells)]
    right = np.array([[np.abs(point - np.array(rows)).max() < k / 2 for point in grid] for rows in data])
    patterns = np.unique(right, axis=1).astype(float)
    count, outputs = patterns.shape
    pairs = [
        (i, j)
        for i, j in itertools.permutations(range(count), 2)
        if sum(abs(a - b) for a, b in zip(data[i], data[j], strict=True)) == 2
    ]
    size = count * outputs + len(pairs) * outputs + 1  # Pr[output | dataset], what exceeds e^epsilon, and beta
    upper, bound = [], []
    for place, (i, j) in enumerate(pairs):
        excess = count * outputs + place * outputs
        for y in range(outputs):
            line = np.zeros(size)
            line[i * outputs + y], line[j * outputs + y], line[excess + y] = 1, -math.exp(epsilon), -1
            upper.append(line)
            bound.append(0.0)
        line = np.zeros(size)
        line[excess : excess + outputs] = 1
        upper.append(line)
        bound.append(delta)
    for i in range(count):
        line = np.zeros(size)
        line[i * outputs : (i + 1) * outputs] = -patterns[i]
        line[-1] = -1
        upper.append(line)
        bound.append(-1.0)
    equal = np.zeros((count, size))
    for i in range(count):
        equal[i, i * outputs : (i + 1) * outputs] = 1
    objective = np.zeros(size)
    objective[-1] = 1
    solved = linprog(objective, A_ub=np.array(upper), b_ub=bound, A_eq=equal, b_eq=np.ones(count))
    assert solved.success
    return solved.fun


@pytest.mark.parametrize(
    ("cells", "n", "epsilon", "k"), [(3, 2, 0.8, 2), (3, 1, 1.5, 1), (2, 2, 1.0, 2), (4, 1, 0.7, 1)]
)
def test_no_mechanism_of_the_linear_programme_beats_the_bound(cells, n, epsilon, k):
    """beta >= (K - 1) e^(-k epsilon) / (1 + (K - 1) e^(-k epsilon)), for all mechanisms; tight where n = k = 1."""
    best = least_beta(cells, n, epsilon, k)
    least = (cells - 1) * math.exp(-k * epsilon) / (1 + (cells - 1) * math.exp(-k * epsilon))

    assert best >= least - 1e-9
    assert copies(cells, epsilon, n, best * 1.001) < k
    if n == 1:
        assert best == pytest.approx(least, abs=1e-9)
        assert copies(cells, epsilon, n, best * 0.999) == k


@pytest.mark.parametrize(("cells", "n", "epsilon", "delta", "k"), [(3, 1, 1.0, 0.05, 1), (2, 2, 0.8, 0.02, 2)])
def test_no_approximate_mechanism_beats_the_bound_and_without_delta_it_would_be_false(cells, n, epsilon, delta, k):
    best = least_beta(cells, n, epsilon, k, delta)

    assert copies(cells, epsilon, n, best * 1.001, delta) < k
    if n == 1:
        assert copies(cells, epsilon, n, best * 1.001) == k  # the broken twin: the pure bound sold for (epsilon, delta)
        assert copies(cells, epsilon, n, best * 0.999, delta) == k


def test_the_largest_number_of_copies_is_the_last_that_violates_the_bound():
    for relation, ratio in ((Replace, 1023 * 0.95 / 0.05), (AddRemove, 1024 * 0.95 / 0.05)):
        k = packing(thresholds(1024), budget=PureDP(0.1), n=10**6, neighbours=relation).copies

        assert k * 0.1 < math.log(ratio) <= (k + 1) * 0.1
    assert packing(thresholds(1024), budget=PureDP(0.1), n=7, neighbours=Replace).copies == 7


@pytest.mark.parametrize(("k", "epsilon", "s"), [(4, "1/4", 4), (10, "1/4", 12), (100, 1, 34)])
def test_the_notes_have_this_bound_for_one_way_marginals(k, epsilon, s):
    """2^k > 2 e^(2 epsilon s); the way to the empty dataset is half as long, so that ours is twice as large."""
    found = packing_bound(Packing.of_the_notes(2**k), budget=PureDP(epsilon), n=10**6, beta=0.5)
    ours = packing_bound(Packing.one_way(k, AddRemove), budget=PureDP(epsilon), n=10**6, beta=0.5)

    assert found.copies == s
    assert found.value == s / 2
    assert 2**k > 2 * math.exp(2 * Fraction(epsilon) * s)
    assert 2**k <= 2 * math.exp(2 * Fraction(epsilon) * (s + 1))
    assert ours.copies >= 2 * s


def test_three_one_way_marginals_do_not_bear_the_constants_of_the_notes():
    """At epsilon = 1/4 the notes put s = k: with k = 3 the 8 datasets are too few, with 4 the 16 are enough."""
    copies_of = {
        k: packing_bound(Packing.of_the_notes(2**k), budget=PureDP("1/4"), n=100, beta=0.5).copies for k in (3, 4)
    }

    assert copies_of[3] < 3
    assert copies_of[4] >= 4
    hundred = packing_bound(Packing.of_the_notes(2**100), budget=PureDP(1), n=100, beta=0.5).value
    assert hundred == 17 != 50


def test_at_a_fixed_delta_the_bound_stops_growing():
    """ln((e^epsilon - 1) / (2 delta)) / (2 epsilon) copies at most, however many datasets: 6.83 at (1, 1e-6)."""
    budget = ApproxDP(1, 1e-6)
    cap = math.log((math.e - 1) / 2e-6) / 2
    bounds = [
        packing_bound(Packing.of_the_notes(2**k), budget=budget, n=1000, beta=0.5).copies for k in (4, 10, 30, 1000)
    ]
    both = [
        min(packing_bound(Packing.of_the_notes(2**k), budget=PureDP(1), n=1000, beta=0.5).copies, math.floor(cap))
        for k in (4, 10, 30, 1000)
    ]

    assert round(cap, 2) == 6.83
    assert bounds == both == [1, 3, 6, 6]
    assert float(steps(budget, others=2**1000, centred=False, beta="1/2")) / 2 == pytest.approx(cap, abs=1e-6)


def test_a_concentrated_budget_is_bound_below_gaussian_noise_and_not_far_below():
    """Point queries: Gaussian noise on N cells errs by about sigma sqrt(2 ln N), and packing has a constant of it."""
    for cells in (2, 64, 2**20):
        for rho in (0.5, 0.01, 1e-4):
            k = packing_bound(Packing.points(cells, AddRemove), budget=ZCDP(rho), n=10**9).copies
            largest = math.sqrt(1 / (2 * rho)) * math.sqrt(2 * math.log(2 * cells / 0.05))

            assert k / 2 <= largest
            assert (k + 1) / 2 > largest / 4
    assert (
        packing_bound(Packing.points(64, Replace), budget=GaussianDP("0.2"), n=10**6).copies
        == packing_bound(Packing.points(64, Replace), budget=ZCDP("0.02"), n=10**6).copies
    )


@pytest.mark.parametrize("rho", [0.02, 0.3])
def test_two_gaussians_are_told_apart_as_seldom_as_the_concentrated_bound_says(rho):
    """One count of k rows or none, sigma = 1 / sqrt(2 rho): off by k / 2 with probability Phi(-k / (2 sigma))."""
    from scipy.stats import norm

    sigma = 1 / math.sqrt(2 * rho)
    for beta in (0.3, 0.05, 1e-3):
        limit = float(steps(ZCDP(rho), others=1, centred=True, beta=beta))
        reached = -2 * sigma * norm.ppf(beta)  # steps at which this mechanism errs with probability beta

        assert limit <= reached
        assert limit > 0.4 * reached
        assert 2.6 * limit > reached  # a bound 2.6 times as large would be refuted by this mechanism


def test_a_workload_tells_apart_its_different_columns():
    domain = Domain({"a": Integer(0, 2), "b": Boolean(), "c": Boolean()})
    pairs = marginals(domain, [("a",), ("b",)])

    assert told_apart(pairs) == (np.unique(pairs.matrix(), axis=1).shape[1], False) == (6, False)
    assert told_apart(pairs[:3]) == (3, False)
    assert told_apart(pairs[:2]) == (3, True)  # the third value of a is in no query
    assert packing_error(pairs, budget=PureDP(Fraction(1, 2)), n=1000, neighbours=AddRemove) == 9 / 2


def test_ordered_workloads_tell_all_cells_apart():
    for workload in (thresholds(9), ranges(9)):
        columns = np.unique(workload.matrix(), axis=1)

        assert told_apart(workload) == (columns.shape[1], not np.any(columns, axis=0).all()) == (9, False)
    assert told_apart(thresholds(1 << 30)) == (1 << 30, False)


def test_the_empty_dataset_is_not_told_from_rows_that_are_in_no_query():
    """Where rows are added, a zero column is the centre and not one of the others: counting it twice is caught."""
    one = Dense(np.array([[1, 0]]), Domain({"a": Boolean()}))
    found = packing(one, budget=PureDP(1), n=100, neighbours=AddRemove)

    assert found.packing.others == 1
    assert found.copies == math.ceil(math.log(0.95 / 0.05)) - 1


def test_a_greedy_packing_is_a_packing():
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(6, 9))
    for relation in (AddRemove, Replace):
        for found in greedy_packings(matrix, neighbours=relation):
            kept = _kept(matrix, found, relation)

            assert len(kept) == found.others + 1
            apart = [abs(a - b).max() for a, b in itertools.combinations(kept, 2)]
            assert min(apart) >= float(found.gap) - 1e-6


def _kept(matrix, found, relation):
    """The naive search with the same radius."""
    rows = found.steps
    columns = np.unique(np.rint(matrix.T * 2**24 / abs(matrix).max()), axis=0) * abs(matrix).max() / 2**24
    points = [sum(some) for some in itertools.combinations_with_replacement(list(columns), rows)]
    if relation is AddRemove:
        points = [np.zeros(len(matrix)), *points]
    kept = []
    for point in points:
        if all(abs(point - other).max() >= float(found.gap) - 1e-9 for other in kept):
            kept.append(point)
    return kept


def test_a_wider_radius_can_be_worth_more_than_all_columns():
    """Weights of 1 and 10: ten cells that are 10 apart beat eleven of which two are 1 apart."""
    matrix = np.diag([10] * 10 + [1])
    found = packing(matrix, budget=PureDP(1), n=1000, neighbours=AddRemove)

    assert found.packing.gap == 10
    assert found.value == 10 * (math.ceil(math.log(10 * 19)) - 1) / 2


def test_no_gaussian_noise_is_better_than_the_bound_for_every_mechanism():
    """All thresholds under (epsilon, delta): the largest error of continuous noise at beta exceeds the bound."""
    for epsilon, delta in ((1.0, 1e-6), (0.1, 1e-9)):
        sigma = analytic_sigma(epsilon=epsilon, delta=delta, sensitivity=1)
        found = packing(thresholds(256), budget=ApproxDP(epsilon, delta), n=10**6, neighbours=AddRemove)

        assert 0 < found.value < 2 * sigma


def test_bad_numbers_are_refused():
    with pytest.raises(ParameterError, match="epsilon > 0"):
        packing(thresholds(4), budget=PureDP(0), n=5, neighbours=Replace)
    with pytest.raises(ParameterError, match="at least two cells"):
        Packing.points(1, Replace)
    for bad in ({"n": 0}, {"n": True}, {"beta": 0}, {"beta": 1}, {"beta": math.nan}):
        with pytest.raises(ParameterError):
            packing(thresholds(4), **({"budget": PureDP(1), "n": 5, "neighbours": Replace} | bad))
    for bad in ({"others": 0}, {"others": 2.0}, {"steps": 0}, {"gap": 0}, {"gap": -1}):
        with pytest.raises(ParameterError):
            Packing(**({"name": "mine", "others": 3} | bad))
    with pytest.raises(UnsupportedError, match="packings bind"):
        packing(thresholds(4), budget=RenyiDP(2, 1), n=5, neighbours=Replace)
