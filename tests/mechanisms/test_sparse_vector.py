"""discreet.mechanisms.sparse_vector: each claim in the module docstring, in order; then sessions and refusals."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import cache
from itertools import product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import BudgetExhausted, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import sparse_vector
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_max import difference_tail
from discreet.mechanisms.sparse_vector import NumericSparse, SparseVector
from discreet.privacy.event import ComposedEvent, LaplaceEvent, PureEvent, RepeatedEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from tests.mechanisms.selection_laws import mass, tail
from tests.scale import counts

REACH = 70  # of the threshold's noise in the enumeration below; a = 1/2, so less than 2^-68 is left out
SLACK = 1 + Fraction(1, 2**30)
HALF = Fraction(1, 2)


@cache
def law(values, count, a, b, margins=False):
    """Every transcript with its probability: threshold 0, a = e^(-1/scale) of the threshold, b of the questions.

    A transcript is a tuple of -1 (below) and margins from 0 to 3 (or just 0 for above), shorter when it stopped.
    """
    chances = {}
    for r in range(-REACH, REACH + 1):
        open_runs = {(): mass(r, a)}
        for value in values:
            following = {}
            for run, chance in open_runs.items():
                if sum(step >= 0 for step in run) == count:
                    chances[run] = chances.get(run, 0) + chance
                    continue
                following[*run, -1] = chance * (1 - tail(r - value, b))
                for margin in range(4 if margins else 1):
                    step = mass(r - value + margin, b) if margins else tail(r - value, b)
                    following[*run, margin] = chance * step
            open_runs = following
        for run, chance in open_runs.items():
            chances[run] = chances.get(run, 0) + chance
    return chances


def worst(size, count, a, b, *, steps, margins=False, top=2):
    """The largest ratio of a transcript's probabilities over values in 0 .. top and the moves allowed."""
    ratio = Fraction(0)
    for values in product(range(top + 1), repeat=size):
        here = law(values, count, a, b, margins)
        for move in product(steps, repeat=size):
            there = law(tuple(v + m for v, m in zip(values, move, strict=True)), count, a, b, margins)
            ratio = max(ratio, *(p / there[run] for run, p in here.items()))
    return ratio


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("margins", [False, True], ids=["bools", "margins"])
def test_neighbours_differ_by_at_most_e1_plus_e2(size, count, margins):
    """The definition: e^e1 = 1 / a for the threshold, e^e2 = b^(-2 count) for the questions, margins free."""
    a, b = HALF, Fraction(2, 3)

    assert worst(size, count, a, b, steps=range(-1, 2), margins=margins) <= SLACK / a / b ** (2 * count)


@pytest.mark.parametrize(("size", "count"), [(1, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("margins", [False, True], ids=["bools", "margins"])
def test_monotone_answers_need_half_the_noise(size, count, margins):
    a, b = HALF, Fraction(2, 3)
    up, down = (worst(size, count, a, b, steps=steps, margins=margins) for steps in (range(2), range(-1, 1)))

    assert max(up, down) <= SLACK / a / b**count


def loss(*, e1, of_one, above, rise, fall, below=100_000):
    """The loss of "below" `below` times and then "above" `above` times, with noise e^-e1 and e^-of_one.

    The first questions are at 0 and rise by `rise`; the others, far below, fall by `fall`: the worst case.
    """
    r = np.arange(-400, 4001)

    def log_tail(z):
        b = np.exp(-of_one)
        return np.where(z >= 0, -of_one * z, np.log1p(b - b ** (1.0 - np.minimum(z, 0)))) - np.log1p(b)

    def log_chance(first, last):
        terms = -e1 * np.abs(r) + below * log_tail(1 - (r - first)) + above * log_tail(r - last)
        return np.logaddexp.reduce(terms)  # Pr[Z < z] = Pr[Z >= 1 - z]

    return log_chance(0, -400) - log_chance(rise, -400 - fall)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("monotone", [False, True])
def test_the_claim_is_tight(count, monotone):
    sparse = SparseVector(epsilon=2, sensitivity=1, threshold=0, count=count, monotone=monotone, neighbours=AddRemove)
    e1, of_one = float(1 / sparse.threshold_scale), float(1 / sparse.query_scale)
    worst_case = loss(e1=e1, of_one=of_one, above=count, rise=1, fall=0 if monotone else 1)

    assert 0.98 * 2 < worst_case <= 2 + 1e-9


def test_broken_twins_are_caught():
    """The monotone noise for any answers; the count forgotten; one positive more than paid for; noise x 0.9."""
    monotone = SparseVector(epsilon=2, sensitivity=1, threshold=0, count=2, monotone=True, neighbours=AddRemove)
    general = SparseVector(epsilon=2, sensitivity=1, threshold=0, count=2)
    e1, of_one = float(1 / general.threshold_scale), float(1 / general.query_scale)
    half = float(1 / monotone.threshold_scale), float(1 / monotone.query_scale)

    assert loss(e1=half[0], of_one=half[1], above=2, rise=1, fall=1) > 2.5
    assert loss(e1=e1, of_one=2 * of_one, above=2, rise=1, fall=1) > 3
    assert loss(e1=e1, of_one=of_one, above=3, rise=1, fall=1) > 2.5
    assert loss(e1=e1 / 0.9, of_one=of_one / 0.9, above=2, rise=1, fall=1) > 2.1


def test_equal_scales_cost_three_and_no_more():
    """One epoch with scale 1 / e0 for both noises is 3 e0-DP, and many questions below attain it."""
    assert 2.999 * 0.5 < loss(e1=0.5, of_one=0.5, above=1, rise=1, fall=1) <= 3 * 0.5 + 1e-9


@given(
    st.fractions(min_value=Fraction(1, 1000), max_value=10, max_denominator=1000),
    st.integers(1, 5),
    st.integers(1, 100_000),
    st.booleans(),
)
def test_the_scales_spend_epsilon_exactly(epsilon, sensitivity, count, monotone):
    sparse = SparseVector(
        epsilon=epsilon, sensitivity=sensitivity, threshold=0, count=count, monotone=monotone, neighbours=AddRemove
    )
    e1, e2 = sparse.split

    assert e1 > 0
    assert e2 > 0
    assert e1 + e2 == epsilon
    assert sparse.privacy() == PureDP(epsilon, neighbours=AddRemove)
    assert sensitivity / sparse.threshold_scale == e1
    assert (1 if monotone else 2) * count * sensitivity / sparse.query_scale == e2


@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("count", [1, 10, 1000])
def test_the_split_is_the_best_one(count, monotone):
    """No other split gives N - R a variance smaller by more than a thousandth."""
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=count, monotone=monotone, neighbours=AddRemove)
    factor = count if monotone else 2 * count

    def variance(e1):
        return 1 / e1**2 + (factor / (1 - e1)) ** 2

    shares = np.linspace(1e-4, 1 - 1e-4, 100_001)

    assert variance(float(sparse.split[0])) <= 1.001 * variance(shares).min()


@given(st.integers(1, 20), st.integers(1, 1000), st.floats(min_value=1e-4, max_value=0.3), st.booleans())
def test_accuracy_is_least_for_the_bound_of_the_theorem(count, queries, beta, monotone):
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=count, monotone=monotone, neighbours=AddRemove)
    alpha = sparse.accuracy(beta, queries=queries)

    def failure(alpha):
        return queries * sum(difference_tail(alpha + j, sparse.query_scale, sparse.threshold_scale) for j in (1, 2))

    assert failure(alpha) <= beta
    assert alpha == 0 or failure(alpha - 1) > beta
    scales = float(sparse.query_scale), float(sparse.threshold_scale)
    assert alpha <= sum(scale * log(2 * (queries + 1) / beta) for scale in scales) + 1  # the textbook bound


@pytest.mark.statistical
def test_decisions_are_right_to_within_alpha():
    runs, queries, beta = counts(quick=4_000, full=400_000), 50, 0.2
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=3)
    alpha = sparse.accuracy(beta, queries=queries)
    far = np.where(np.arange(queries) % 2, alpha + 1, -alpha - 1)
    seen = sparse.releases(far, runs, rng=SeededRandom(1))
    wrong = (((seen == 1) & (far < 0)) | ((seen == 0) & (far > 0))).any(axis=1).mean()

    assert wrong <= beta + 4.9 * (beta / runs) ** 0.5
    assert wrong > beta / 100


@pytest.mark.statistical
@pytest.mark.parametrize("count", [1, 2])
def test_transcripts_follow_the_stated_law(count):
    """Both through single questions, arrays and many runs at once, against the sum over all noise."""
    sparse, runs, values = SparseVector(epsilon=4, sensitivity=1, threshold=5, count=count), 10_000, [4, 6, 5]
    a, b = (Fraction(np.exp(-1 / float(scale))) for scale in (sparse.threshold_scale, sparse.query_scale))
    truth = law(tuple(value - 5 for value in values), count, a, b)
    rng = SeededRandom(3)

    def session():
        opened, answers = sparse.open(rng=rng), []
        for value in values:
            if opened.left:
                answers.append(opened.ask(value))
        return tuple(0 if above else -1 for above in answers)

    def array():
        return tuple(0 if above else -1 for above in sparse(values, rng=rng))

    many = sparse.releases(values, runs, rng=rng)
    samples = {
        "session": [session() for _ in range(runs)],
        "array": [array() for _ in range(runs)],
        "releases": [tuple(0 if step else -1 for step in run if step >= 0) for run in many.tolist()],
    }
    for sample in samples.values():
        seen = [sample.count(run) for run in truth]

        assert sum(seen) == runs
        assert chisquare(seen, [runs * float(p / sum(truth.values())) for p in truth.values()]).pvalue > 1e-6


def test_a_million_questions_below_are_one_call():
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=10_000, count=1)
    answers = sparse(np.zeros(10**6, dtype=np.int64), rng=SeededRandom(1))

    assert answers.shape == (10**6,)
    assert not answers.any()


def test_answers_end_with_the_last_positive():
    values = np.zeros(200_000, dtype=np.int64)
    values[[5, 70_000, 140_000, 150_000]] = 10**6
    answers = SparseVector(epsilon=1, sensitivity=1, threshold=10**5, count=3)(values, rng=SeededRandom(1))

    assert answers.shape == (140_001,)
    assert np.flatnonzero(answers).tolist() == [5, 70_000, 140_000]


def test_margins_are_noisy_distances_from_the_threshold():
    sparse = SparseVector(epsilon=10, sensitivity=1, threshold=1000, count=1)
    margins = [sparse.margins([0, 5000], rng=SeededRandom(seed)) for seed in range(50)]

    assert all(margin[0] == -1 for margin in margins)
    assert all(abs(margin[1] - 4000) < 30 for margin in margins)
    assert len({int(margin[1]) for margin in margins}) > 1


@pytest.mark.parametrize("extreme", [2**63 - 1, -(2**63), 2**80, -(2**80)])
@pytest.mark.parametrize("threshold", [0, 2**63 - 1, -(2**63), 2**90, -(2**90)])
def test_extreme_values_are_compared_exactly(extreme, threshold):
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=threshold, count=1)
    with np.errstate(all="raise"):
        if abs(extreme - threshold) < 10**6:
            assert len(sparse([extreme])) == 1
            return

        assert bool(sparse([extreme])[-1]) == (extreme > threshold)
        assert sparse.open().ask(extreme) == (extreme > threshold)
        assert sparse.releases([extreme], 2).ravel().tolist() == [int(extreme > threshold)] * 2


def test_arithmetic_that_wraps_is_caught():
    """What the exact comparison guards against: a naive sum puts the largest value below."""
    value, noise = np.array([2**63 - 1]), np.array([5])

    assert (value + noise < 0).all()
    assert sparse_vector._margins(value, noise, 0).tolist() == [2**63 - 1]
    assert sparse_vector._margins(-value, noise, 2**63 - 1).tolist() == [-1]


def test_a_session_refuses_after_its_last_positive():
    session = SparseVector(epsilon=5, sensitivity=1, threshold=0, count=1).open(rng=SeededRandom(1))

    assert session.ask(1000)
    for again in (lambda: session.ask(0), lambda: session.margin(0), lambda: session.margins([0])):
        with pytest.raises(BudgetExhausted, match="remaining 0 of 1 above"):
            again()


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_cannot_be_duplicated(duplicate):
    session = SparseVector(epsilon=5, sensitivity=1, threshold=0, count=1).open()
    with pytest.raises(UnsupportedError, match="cannot be copied or pickled"):
        duplicate(session)


def test_a_session_refuses_to_answer_in_a_forked_process(monkeypatch):
    session = SparseVector(epsilon=5, sensitivity=1, threshold=0, count=1).open()
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(UnsupportedError, match="forked"):
        session.ask(0)


def test_threads_cannot_find_more_positives_than_were_paid_for():
    session = SparseVector(epsilon=5, sensitivity=1, threshold=0, count=20).open()

    def greedy(_):
        found = 0
        for _ in range(50):
            try:
                found += session.ask(10**6)
            except BudgetExhausted:
                break
        return found

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(greedy, range(8))) == 20


def test_fresh_answers_are_composed():
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=500, count=3)
    numeric = NumericSparse(above=sparse, answers=Laplace(epsilon=0.2, sensitivity=1))
    where, answers = numeric([0, 1000, 0, 2000], rng=SeededRandom(1))

    assert where.tolist() == [1, 3]
    assert np.abs(answers - [1000, 2000]).max() <= 150
    assert numeric.privacy() == PureDP(Fraction(8, 5))
    assert numeric.event() == ComposedEvent(
        events=(PureEvent(epsilon=1), RepeatedEvent(event=LaplaceEvent(scale=5, sensitivity=1), count=3))
    )
    assert numeric.accuracy(0.1, queries=4) >= sparse.accuracy(0.05, queries=4)
    with pytest.raises(ParameterError):
        NumericSparse(above=SparseVector(epsilon=1, sensitivity=2, threshold=0, count=1), answers=numeric.answers)


@pytest.mark.parametrize(
    "parameters",
    [
        {"epsilon": 0},
        {"epsilon": float("nan")},
        {"sensitivity": 0},
        {"sensitivity": 0.5},
        {"threshold": 0.5},
        {"threshold": True},
        {"threshold": float("inf")},
        {"count": 0},
        {"count": True},
        {"count": 1.0},
    ],
)
def test_rejects_bad_parameters(parameters):
    with pytest.raises(ParameterError):
        SparseVector(**{"epsilon": 1, "sensitivity": 1, "threshold": 0, "count": 1} | parameters)


def test_rejects_values_that_are_not_integers_before_anything_is_drawn():
    session = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1).open(rng=SeededRandom(1))
    for value in (0.5, True, None, [1]):
        with pytest.raises(ParameterError):
            session.ask(value)
    with pytest.raises(ParameterError):
        session.margins([0.5])
    assert session.left == 1


def test_refuses_what_no_theorem_covers():
    with pytest.raises(UnsupportedError):
        SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1, monotone=True, neighbours=Replace)
    sparse = SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1, monotone=True, neighbours=AddRemove)
    with pytest.raises(UnsupportedError, match="pass queries="):
        sparse.accuracy(0.05)
    with pytest.raises(ParameterError):
        sparse.accuracy(0.05, queries=0)


def test_an_empty_array_has_no_answers():
    assert SparseVector(epsilon=1, sensitivity=1, threshold=0, count=1)([]).shape == (0,)
