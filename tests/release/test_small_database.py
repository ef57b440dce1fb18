"""discreet.release.small_database: privacy and accuracy by enumeration of the exact law."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.composition.price import price
from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms.exponential import Exponential
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import ZCDP, ApproxDP, GaussianDP, PureDP
from discreet.privacy.neighbours import AddRemove, EdgeNeighbours, Local, Replace
from discreet.queries.local import Junta
from discreet.queries.marginals import marginals
from discreet.queries.ordered import thresholds
from discreet.release.small_database import SmallDatabase, best_rows

BIT = Domain({"bit": Boolean()})


def counted(rows, cells):
    return np.bincount(np.array(rows, dtype=np.int64), minlength=cells)


def tabulated(small, *, cells, n, relation, mechanism=None):
    """The law of the choice for every dataset, from the scores and the mechanism themselves."""
    listed = small.listed()

    def law(rows):
        true = np.asarray(small.workload.apply(counted(rows, cells)))
        chances = (mechanism or small.mechanism).probabilities(small.scores(true, listed))
        return dict(enumerate(chances.tolist()))

    return FiniteMechanism.from_function(law, universe=range(cells), n=n, relation=relation)


@pytest.mark.parametrize(("cells", "n", "rows"), [(2, 4, 2), (2, 3, 3), (3, 3, 2)])
@pytest.mark.parametrize("epsilon", [0.5, 2])
def test_neighbours_differ_by_at_most_epsilon(cells, n, rows, epsilon):
    small = SmallDatabase(thresholds(cells), n=n, budget=PureDP(epsilon), rows=rows)

    assert tabulated(small, cells=cells, n=n, relation=Replace).epsilon() <= epsilon * (1 + 1e-12)


def test_the_factor_two_is_needed():
    """The weight exp(-epsilon n max|.|) of some notes is 2 epsilon-DP, and more than epsilon."""
    small = SmallDatabase(marginals(BIT, 1), n=6, budget=PureDP(1), rows=6)
    twice = Exponential(epsilon=2, sensitivity=small.mechanism.sensitivity)
    exact = tabulated(small, cells=2, n=6, relation=Replace)
    broken = tabulated(small, cells=2, n=6, relation=Replace, mechanism=twice)

    assert 0.5 < exact.epsilon() <= 1
    assert 1 < broken.epsilon() <= 2


def test_a_public_guess_of_n_is_private_when_rows_come_and_go():
    budget = PureDP(1, neighbours=AddRemove)
    small = SmallDatabase(marginals(BIT, 1), n=3, budget=budget, rows=2)

    assert tabulated(small, cells=2, n=5, relation=AddRemove).epsilon() <= 1
    assert small.privacy().neighbours is AddRemove
    with pytest.raises(UnsupportedError, match="number of rows, which is private"):
        small.accuracy()


@pytest.mark.parametrize("relation", [Replace, Local])
def test_queries_with_negative_values_are_private_where_rows_are_changed(relation):
    """The twin has the sensitivity max |q| = 1 in place of max q - min q = 2."""
    signs = Junta(BIT, ("bit",), np.array([-1, 1]))
    small = SmallDatabase(signs, n=6, budget=PureDP(1, neighbours=relation), rows=6)
    halved = Exponential(epsilon=1, sensitivity=small.mechanism.sensitivity // 2)

    assert tabulated(small, cells=2, n=6, relation=Replace).epsilon() <= 1
    assert tabulated(small, cells=2, n=6, relation=Replace, mechanism=halved).epsilon() > 1.2
    with pytest.raises(UnsupportedError, match="about graphs"):
        SmallDatabase(signs, n=6, budget=PureDP(1, neighbours=EdgeNeighbours), rows=6)


def test_given_candidates_of_different_sizes_are_private():
    small = SmallDatabase(thresholds(3), n=4, budget=PureDP(1), candidates=[[1, 0, 0], [1, 2, 0], [0, 1, 1]])

    assert small.size == 6
    assert tabulated(small, cells=3, n=4, relation=Replace).epsilon() <= 1
    with pytest.raises(UnsupportedError, match="how near a candidate"):
        small.accuracy()


def test_candidates_read_from_the_data_would_not_be_private():
    """The twin: the data itself among the candidates makes other data impossible."""

    def law(rows):
        return {tuple(sorted(rows)): Fraction(1, 2), "another": Fraction(1, 2)}

    assert FiniteMechanism.from_function(law, universe=(0, 1), n=2, relation=Replace).epsilon() == math.inf


@pytest.mark.parametrize(("n", "rows", "epsilon", "beta"), [(20, 4, 2, 0.05), (50, 7, 1, 0.2), (30, 30, 3, 0.01)])
def test_the_bound_on_the_error_holds_with_exact_probability(n, rows, epsilon, beta):
    small = SmallDatabase(thresholds(3), n=n, budget=PureDP(epsilon), rows=rows)
    listed, alpha = small.listed(), small.accuracy(beta)
    for x in product(range(n + 1), repeat=2):
        if sum(x) > n:
            continue
        true = np.asarray(small.workload.apply(np.array([*x, n - sum(x)])))
        scores = small.scores(true, listed)

        assert small.mechanism.probabilities(scores)[-scores > alpha * rows].sum() <= beta


@pytest.mark.statistical
def test_choices_follow_the_exact_law():
    small, runs, rng = SmallDatabase(thresholds(3), n=6, budget=PureDP(1), rows=2), 4000, SeededRandom(1)
    data = Histogram(small.workload.domain, [3, 1, 2])
    listed = small.listed()
    expected = small.mechanism.probabilities(small.scores(np.asarray(small.workload.answer(data)), listed))
    seen = [tuple(np.rint(small(data, rng=rng).histogram.counts.reshape(-1) / 3).astype(int)) for _ in range(runs)]

    assert chisquare([seen.count(tuple(row)) for row in listed.tolist()], runs * expected).pvalue > 1e-6


def test_scores_are_the_exact_distance():
    domain = Domain({"row": Integer(0, 4)})
    small = SmallDatabase(marginals(domain, 1), n=7, budget=PureDP(1), rows=3)
    x = np.array([3, 0, 2, 1, 1])
    naive = [-max(abs(3 * x[i] - 7 * y[i]) for i in range(5)) for y in small.listed().tolist()]

    assert small.scores(x, small.listed()).tolist() == naive


def test_no_refusal_depends_on_the_true_answers():
    """More rows than the guess are cut to what fits; the twin, without the cut, wraps or has to refuse."""
    small = SmallDatabase(marginals(BIT, 1), n=10**6, budget=PureDP(1, neighbours=AddRemove), rows=1000)
    listed = small.listed()
    for rows in (10**6, 10**15, 2**62, 2**63 - 1):
        scores = small.scores(np.array([rows, rows - 1]), listed)
        uncut = [
            -max(abs(1000 * v - 10**6 * y) for v, y in zip((rows, rows - 1), row, strict=True))
            for row in listed.tolist()
        ]

        assert scores.max() <= 0
        assert scores.min() >= -(2**62)
        assert (scores.tolist() == uncut) == (rows <= 10**15)
    with pytest.raises(ParameterError, match="fit in 64 bits"):
        SmallDatabase(marginals(BIT, 1), n=2**55, budget=PureDP(1), rows=1000).scores(np.array([0, 0]), listed)


def test_the_cut_moves_no_further_than_the_answers():
    small = SmallDatabase(marginals(BIT, 1), n=10**6, budget=PureDP(1, neighbours=AddRemove), rows=1000)
    listed, limit = small.listed(), 2**62 // 1000 - 10**6
    for rows in (limit - 1, limit, limit + 1):
        moved = abs(small.scores(np.array([rows, 0]), listed) - small.scores(np.array([rows + 1, 0]), listed))

        assert moved.max() <= small.mechanism.sensitivity


def test_the_default_number_of_rows_has_the_least_bound():
    for n, epsilon in ((200, 1), (1000, Fraction(1, 2)), (5000, 4)):
        chosen = best_rows(3, 3, n, Fraction(epsilon))
        bounds = [
            SmallDatabase(thresholds(3), n=n, budget=PureDP(epsilon), rows=rows).accuracy()
            for rows in range(1, n + 1, max(1, n // 200))
        ]

        assert SmallDatabase(thresholds(3), n=n, budget=PureDP(epsilon), rows=chosen).accuracy() <= 1.02 * min(bounds)


def test_the_bound_beats_the_closed_form_of_ordered_tuples():
    """1.89 (ln(2k) ln|X| / (epsilon n))^(1/3), which counts every order of the rows as another candidate."""
    domain = Domain({f"b{i}": Boolean() for i in range(20)})
    for n in (10**6, 10**7):
        small = SmallDatabase(marginals(domain, 2), n=n, budget=PureDP(1))
        closed = 3 * 2 ** (-2 / 3) * (math.log(2 * 760) * 20 * math.log(2) / n) ** (1 / 3) * n

        assert small.accuracy() <= closed + 2 * math.log(20)


def test_too_many_candidates_are_refused_with_their_number():
    domain = Domain({f"b{i}": Boolean() for i in range(10)})
    small = SmallDatabase(marginals(domain, 2), n=10**6, budget=PureDP(1))

    assert small.accuracy() < 0.02 * 10**6
    with pytest.raises(UnsupportedError, match=r"10\^2587 candidates of 127277 rows cannot be listed"):
        small(Histogram.random(domain, n=10**6, seed=1))


@pytest.mark.parametrize("budget", [PureDP(1), ApproxDP(1.0, 1e-6), ZCDP(0.125)])
def test_every_budget_pays_for_one_exponential_mechanism(budget):
    small = SmallDatabase(thresholds(3), n=10, budget=budget, rows=3)
    spent = price(small.event())

    assert small.privacy() <= budget
    assert spent.rho <= Fraction(1, 8)
    assert spent.epsilon == 1


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 0}, {"n": 1.0}, {"n": None}, {"rows": 0}, {"rows": True}, {"budget": PureDP(0)}, {"budget": ZCDP(0)},
        {"candidates": []}, {"candidates": [[1, 2]]}, {"candidates": [[0, 0, 0]]}, {"candidates": [[1, -1, 3]]},
        {"candidates": [[0.5, 0.5, 1]]}, {"candidates": [[1, 0, 0]], "rows": 2},
    ],
)  # fmt: skip
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        SmallDatabase(thresholds(3), **{"n": 10, "budget": PureDP(1)} | parameters)


def test_refuses_other_currencies():
    with pytest.raises(UnsupportedError, match="PureDP, ApproxDP or ZCDP"):
        SmallDatabase(thresholds(3), n=10, budget=GaussianDP(1))
