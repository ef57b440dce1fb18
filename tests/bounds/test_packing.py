"""discreet.bounds.packing: the bound holds for the best mechanisms, and a weaker promise can be kept."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.bounds.packing import packing, packing_error, told_apart
from discreet.data import Boolean, Domain, Integer
from discreet.errors import ParameterError
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries import marginals


def least_beta(cells, n, epsilon, k):
    """The least beta of any epsilon-DP mechanism on n rows of `cells` cells (Replace) that errs by less than k / 2.

    The queries are the counts of all cells.  A linear programme over all mechanisms: as outputs the answers
    that are right (errors below k / 2) for different sets of datasets matter only.
    """
    data = [rows for rows in itertools.product(range(n + 1), repeat=cells) if sum(rows) == n]
    grid = [np.array(point) / 2 for point in itertools.product(range(2 * n + 1), repeat=cells)]
    right = np.array([[np.abs(point - np.array(rows)).max() < k / 2 for point in grid] for rows in data])
    patterns = np.unique(right, axis=1).astype(float)
    count, outputs = patterns.shape
    size = count * outputs + 1  # Pr[output | dataset], and beta
    upper, bound = [], []
    for i, j in itertools.permutations(range(count), 2):
        if sum(abs(a - b) for a, b in zip(data[i], data[j], strict=True)) == 2:
            for y in range(outputs):
                line = np.zeros(size)
                line[i * outputs + y], line[j * outputs + y] = 1, -math.exp(epsilon)
                upper.append(line)
                bound.append(0.0)
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
    assert packing(cells=cells, budget=PureDP(epsilon), n=n, neighbours=Replace, beta=best * 1.001) < k
    if n == 1:
        assert best == pytest.approx(least, abs=1e-9)
        assert packing(cells=cells, budget=PureDP(epsilon), n=n, neighbours=Replace, beta=best * 0.999) == k


def test_the_largest_k_is_the_last_that_violates_the_bound():
    for relation, ratio in ((Replace, 1023 * 0.95 / 0.05), (AddRemove, 1024 * 0.95)):
        k = packing(cells=1024, budget=PureDP(0.1), n=10**6, neighbours=relation)

        assert k * 0.1 < math.log(ratio) <= (k + 1) * 0.1
    assert packing(cells=1024, budget=PureDP(0.1), n=7, neighbours=Replace) == 7


def test_a_workload_tells_apart_its_different_columns():
    domain = Domain({"a": Integer(0, 2), "b": Boolean(), "c": Boolean()})
    pairs = marginals(domain, [("a",), ("b",)])

    assert told_apart(pairs) == np.unique(pairs.matrix(), axis=1).shape[1] == 6
    assert told_apart(pairs[:3]) == 3
    assert packing_error(pairs, budget=PureDP(Fraction(1, 2)), n=1000, neighbours=AddRemove) == 3 / 2


def test_bad_numbers_are_refused():
    with pytest.raises(ParameterError, match="epsilon > 0"):
        packing(cells=4, budget=PureDP(0), n=5, neighbours=Replace)
    with pytest.raises(ParameterError, match="at least two cells"):
        packing(cells=1, budget=PureDP(1), n=5, neighbours=Replace)
