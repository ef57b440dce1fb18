"""discreet.learning.pac.exponential: each claim in the module docstring, in order."""

from fractions import Fraction
from math import ceil, log

import numpy as np
import pytest
from scipy.stats import binom, chisquare

from discreet.bounds import samples
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import Conjunctions, ExponentialLearner, Parities, Thresholds
from discreet.learning.pac.hypotheses import Listed
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.finite import FiniteMechanism
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from tests.scale import counts

HALF = Fraction(1, 2)
RUNS = counts(quick=200, full=2_000)
CLASSES = {"thresholds": Thresholds(4), "parities": Parities(2), "conjunctions": Conjunctions(2)}


def _law(made, weight):
    """Rows (x, y) to the law of the learner with e^-rate = weight, in rationals."""

    def law(rows):
        x = np.array([row[0] for row in rows], dtype=int).reshape(len(rows), *np.shape(np.zeros(_width(made))))
        y = np.array([row[1] for row in rows], dtype=int)
        weights = [weight ** int(errors) for errors in made.errors(x, y, 0, made.size)]
        return {index: w / sum(weights) for index, w in enumerate(weights)}

    return law


def _width(made):
    return () if isinstance(made, Thresholds) else (made.d,)


def _universe(made):
    cells = range(made.points) if isinstance(made, Thresholds) else [tuple(bits) for bits in np.ndindex((2,) * made.d)]
    return [(x, y) for x in cells for y in (0, 1)]


@pytest.mark.parametrize("made", CLASSES.values(), ids=CLASSES)
@pytest.mark.parametrize(("relation", "factor"), [(AddRemove, 1), (Replace, 2)])
def test_neighbours_differ_by_at_most_epsilon(made, relation, factor):
    """Over every pair of neighbouring labelled datasets of 3 rows: e^epsilon is 2^factor when e^-rate = 1/2."""
    table = FiniteMechanism.from_function(_law(made, HALF), universe=_universe(made), n=3, relation=relation)

    assert 1 < table.ratio() <= 2**factor


def test_the_rate_of_added_rows_sold_for_replaced_ones_is_caught():
    """The weight e^(-epsilon errors) is 2 epsilon-DP where rows are replaced: 2 sold, nearly 4 found."""
    table = FiniteMechanism.from_function(
        _law(Thresholds(4), HALF), universe=_universe(Thresholds(4)), n=3, relation=Replace
    )

    assert table.ratio() > 2


def test_the_rate_is_epsilon_or_half_of_it():
    made = Thresholds(4)

    assert ExponentialLearner(made, epsilon=0.5).rate == Fraction(1, 2)
    assert ExponentialLearner(made, epsilon=0.5, n=10).rate == Fraction(1, 4)
    assert ExponentialLearner(made, epsilon=0.5).privacy() == PureDP(0.5, neighbours=AddRemove)
    assert ExponentialLearner(made, epsilon=0.5, n=10).privacy() == PureDP(0.5, neighbours=Replace)
    assert ExponentialLearner(made, epsilon=0.5).event() == ExponentialEvent(epsilon=Fraction(1, 2))


@pytest.mark.statistical
@pytest.mark.parametrize("n", [None, 6])
def test_what_is_drawn_follows_the_law_of_its_relation(n):
    x, y = np.array([0, 1, 1, 2, 3, 3]), np.array([0, 0, 1, 0, 1, 1])
    learner, rng, draws = ExponentialLearner(Thresholds(4), epsilon=2, n=n), SeededRandom(3), 4000
    drawn = np.bincount([learner.fit(x, y, rng=rng).index_ for _ in range(draws)], minlength=5)

    def pvalue(rate):
        weights = np.exp(-rate * Thresholds(4).errors(x, y, 0, 5))
        return chisquare(drawn, draws * weights / weights.sum()).pvalue

    assert pvalue(2 if n is None else 1) > 1e-6
    assert pvalue(1 if n is None else 2) < 1e-6  # the other relation's rate


def test_the_error_is_the_least_that_holds():
    learner = ExponentialLearner(Thresholds(1024), epsilon=1.0)

    assert learner.accuracy(0.05) <= log(1024) + log(1 / 0.05)
    assert ExponentialLearner(Thresholds(1024), epsilon=1.0, n=9).accuracy(0.05) == pytest.approx(2 * 9.9, abs=1.5)


def enough(runs, good, wanted):
    """Whether `good` of `runs` is what a success probability of `wanted` gives, but for a chance of 10^-6."""
    return binom.cdf(good, runs, wanted) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("public", [False, True])
@pytest.mark.parametrize("formula", ["private, realizable", "private, realizable, by moments"])
def test_the_calculators_rows_are_enough(public, formula):
    """Thresholds on 2^10 points, alpha = .1, beta = .05, epsilon = 1: 850 rows, and by a finer argument 248."""
    alpha, beta, size, target = 0.1, 0.05, 1024, 300
    n = samples("thresholds", d=10, alpha=alpha, beta=beta, epsilon=1.0)[formula].n
    data, rng = np.random.default_rng(0), SeededRandom(0)
    learner = ExponentialLearner(Thresholds(size), epsilon=1, n=n if public else None)
    good = 0
    for _ in range(RUNS):
        x = data.integers(0, size, n)
        good += abs(learner.fit(x, x >= target, rng=rng).index_ - target) / size <= alpha

    assert n == ceil(max(8 / alpha, 4 / alpha) * (log(size + 1) + log(2 / beta))) == 850 or "moments" in formula
    assert enough(RUNS, good, 1 - beta)


@pytest.mark.statistical
def test_a_twentieth_of_the_rows_is_not_enough():
    """The twin that the check above would catch."""
    data, rng, learner = np.random.default_rng(0), SeededRandom(0), ExponentialLearner(Thresholds(1024), epsilon=0.2)
    good = 0
    for _ in range(200):
        x = data.integers(0, 1024, 42)
        good += abs(learner.fit(x, x >= 300, rng=rng).index_ - 300) / 1024 <= 0.1

    assert not enough(200, good, 0.95)


def test_functions_and_classes_are_the_same_class():
    x = np.arange(64)
    functions = [lambda x, t=t: x >= t for t in range(65)]
    one = ExponentialLearner(functions, epsilon=50).fit(x, x >= 20, rng=SeededRandom(1))
    other = ExponentialLearner(Thresholds(64), epsilon=50).fit(x, x >= 20, rng=SeededRandom(1))

    assert one.index_ == other.index_ == 20
    assert one.hypothesis_ is functions[20]
    assert one.predict([19, 20]).tolist() == other.predict([19, 20]).tolist() == [False, True]
    assert isinstance(one.candidates, Listed)


def test_conjunctions_are_learned():
    x = np.random.default_rng(0).integers(0, 2, (3000, 8))
    y = (x[:, 1] == 1) & (x[:, 6] == 0)

    assert ExponentialLearner(Conjunctions(8), epsilon=1.0).fit(x, y, rng=SeededRandom(1)).hypothesis_.literals == (
        0, 1, 0, 0, 0, 0, 2, 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: ExponentialLearner(Thresholds(4), epsilon=0),
        lambda: ExponentialLearner(Thresholds(4), epsilon=-1),
        lambda: ExponentialLearner(Thresholds(4), epsilon=float("nan")),
        lambda: ExponentialLearner(Thresholds(4), epsilon=True),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1, n=0),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1, n=True),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1, n=2.0),
        lambda: ExponentialLearner([], epsilon=1),
        lambda: ExponentialLearner(4, epsilon=1),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1).predict([1]),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1).accuracy(0),
        lambda: ExponentialLearner(Thresholds(4), epsilon=1, n=3).fit([1, 2], [0, 1]),
    ],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(ParameterError):
        wrong()


def test_the_check_of_success_rates_has_power():
    assert not enough(2000, 1800, 0.95)
    assert enough(2000, 1880, 0.95)
