"""discreet.mechanisms.propose_test_release: the test, its delta on the integers, and refusals."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from discreet.attacks import audit_exact
from discreet.attacks.broken import ThresholdWithoutLogarithm
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import ProposeTestRelease, Refused
from discreet.privacy.enclosure import exp_down, exp_up
from discreet.privacy.guarantee import ApproxDP, PureDP
from discreet.privacy.neighbours import Replace, neighbouring_pairs
from discreet.privacy.number import exact

BUDGETS = [(1, 1e-6), (0.1, 1e-6), (0.5, 0.01), (4, 1e-3), (1, 0.9), (0.01, 0.2)]


def first(pair):
    return pair[0]


def second(pair):
    return pair[1]


def proposal(epsilon=1, delta=1e-6, bound=1):
    return ProposeTestRelease(query=first, distance=second, bound=bound, epsilon=epsilon, delta=delta)


def law(mechanism, answer, distance, *, threshold=None, reach=60):
    """Output probabilities by summing the discrete laws, noise beyond `reach` in two outcomes."""
    a = math.exp(-float(mechanism.test_epsilon))
    gap = (mechanism.threshold if threshold is None else threshold) - distance
    passed = math.fsum((1 - a) / (1 + a) * a ** abs(z) for z in range(gap, gap + 2000))
    if mechanism.bound == 0:
        return {None: 1 - passed, answer: passed}
    c = math.exp(-float(exact(mechanism.epsilon)) / 2 / mechanism.bound)
    noise = {z: passed * (1 - c) / (1 + c) * c ** abs(z - answer) for z in range(-reach, reach + 1)}
    below = passed * c ** (answer + reach + 1) / (1 + c)
    above = passed * c ** (reach + 1 - answer) / (1 + c)
    return {None: 1 - passed, "below": below, "above": above, **noise}


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
@pytest.mark.parametrize("bound", [0, 2])
def test_the_threshold_is_the_least_with_this_delta(epsilon, delta, bound):
    mechanism = proposal(epsilon, delta, bound)
    e, k = mechanism.test_epsilon, mechanism.threshold

    def passes(threshold):
        return exp_up(-e * threshold) / (1 + exp_down(-e))

    assert k >= 1
    assert passes(k) <= exact(mechanism.privacy().delta) <= exact(delta)
    assert k == 1 or passes(k - 1) > exact(delta) * (1 - Fraction(1, 10**15))


def test_the_continuous_threshold_lets_too_much_through_on_the_integers():
    """ln(1 / (2 delta)) 2 / epsilon, rounded up and passed when reached or exceeded."""
    over = []
    for delta in np.geomspace(1e-8, 1e-2, 200):
        k = math.ceil(2 * math.log(1 / (2 * delta)))
        over.append(math.exp(-k / 2) / (1 + math.exp(-0.5)) / delta)

    assert 1.2 < max(over) <= 2 / (1 + math.exp(-0.5)) == pytest.approx(1.2449, abs=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.5, 0.01), (4, 1e-3)])
@pytest.mark.parametrize("bound", [0, 1, 3])
def test_a_pair_within_the_bound_is_epsilon_close(epsilon, delta, bound):
    mechanism = proposal(epsilon, delta, bound)
    for distance in range(mechanism.threshold + 5):
        here, there = law(mechanism, 0, distance), law(mechanism, bound, distance + 1)
        worst = max(abs(math.log(here[z] / there[z])) for z in here if here[z] > 1e-200)

        assert worst <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1e-6), (0.5, 0.01), (4, 1e-3)])
@pytest.mark.parametrize("bound", [0, 1, 3])
def test_a_pair_beyond_the_bound_differs_by_delta_and_no_less(epsilon, delta, bound):
    mechanism = proposal(epsilon, delta, bound)
    own = float(exact(mechanism.privacy().delta))
    here, there = (
        law(mechanism, 0, 0),
        law(mechanism, 10**9, 0, reach=60) if bound == 0 else {None: 1 - own, "far": own},
    )
    found = math.fsum(max(0.0, p - math.exp(epsilon) * there.get(z, 0.0)) for z, p in here.items())

    assert found <= own * (1 + 1e-9)
    assert found == pytest.approx(own, rel=1e-6)


def test_a_threshold_one_lower_would_exceed_delta():
    mechanism = proposal(1, 1e-6)
    passed = 1 - law(mechanism, 0, 0, threshold=mechanism.threshold - 1)[None]

    assert passed > 1e-6
    assert audit_exact(ThresholdWithoutLogarithm(epsilon=1, delta=1e-6), ((0, 0), (10**6, 0))).found > 0.1


# Exhaustively: the median of five rows out of four values, every pair of neighbours.


def median(rows):
    return sorted(rows)[2]


UNIVERSE = range(4)
DATASETS = list(product(UNIVERSE, repeat=5))


def sensitivity(rows):
    return max(abs(median(rows) - median(other)) for other in Replace.of(rows, UNIVERSE))


LOCAL = {rows: sensitivity(rows) for rows in DATASETS}


@pytest.mark.parametrize("bound", [0, 1, 2])
def test_every_pair_of_neighbouring_medians(bound):
    """(epsilon, delta) with no slack, and (0, delta) or (epsilon, 0) pair by pair."""
    array = np.array(DATASETS)
    broken = np.array([rows for rows in DATASETS if LOCAL[rows] > bound])
    distances = (array[:, None, :] != broken[None, :, :]).sum(axis=2).min(axis=1)
    distance = dict(zip(DATASETS, distances.tolist(), strict=True))
    mechanism = ProposeTestRelease(query=median, distance=distance.get, bound=bound, epsilon=1, delta=0.05)
    own = float(exact(mechanism.privacy().delta))
    laws = {(q, d): law(mechanism, q, d) for q, d in product(UNIVERSE, range(6))}
    pairs = {
        ((median(x), distance[x]), (median(y), distance[y]))
        for x, y in neighbouring_pairs(UNIVERSE, n=5, relation=Replace)
    }
    seen = set()
    for p, q in pairs:
        for one, other in ((laws[p], laws[q]), (laws[q], laws[p])):
            excess = math.fsum(max(0.0, m - math.e * other.get(z, 0.0)) for z, m in one.items())
            spread = math.fsum(max(0.0, m - other.get(z, 0.0)) for z, m in one.items())
            if abs(p[0] - q[0]) <= bound:
                assert excess <= 1e-15
            else:
                assert spread <= own * (1 + 1e-9)
                seen.add("beyond")
            assert excess <= own * (1 + 1e-9)

    assert seen == {"beyond"}


def test_the_case_split_of_the_notes_is_wrong():
    """A neighbour at distance 1 passes with probability e^epsilon delta / 2, above delta from ln 2 on."""
    epsilon, delta = 1.0, 1e-3
    passed = math.exp(-(math.log(1 / delta) - epsilon)) / 2

    assert passed == pytest.approx(math.exp(epsilon) * delta / 2)
    assert passed > delta


# Running it.


@pytest.mark.statistical
@pytest.mark.parametrize("distance", [0, 8, 9, 10, 20])
def test_refusals_come_as_often_as_stated(distance):
    mechanism = proposal(1, 0.01)
    runs = mechanism.releases((7, distance), 100_000, rng=SeededRandom(1))
    refused = np.array([answer == Refused() for answer in runs])
    band = math.sqrt(math.log(2 / 1e-6) / (2 * 100_000))

    assert abs(refused.mean() - mechanism.refusal(distance)) <= band
    assert mechanism.threshold == 9
    kept = runs[~refused].astype(int)
    assert kept.size < 1000 or (np.abs(kept - 7) > mechanism.accuracy(0.05)).mean() <= 0.05 + 4 * band


def test_an_infinite_distance_always_passes():
    mechanism = proposal()

    assert not any(isinstance(mechanism((3, math.inf)), Refused) for _ in range(50))
    assert isinstance(mechanism((3, 0)), Refused)


def test_a_bound_of_zero_needs_no_noise_and_tests_with_all_of_epsilon():
    mechanism = proposal(bound=0)

    assert mechanism((3, 100)) == 3
    assert mechanism.test_epsilon == 1
    assert proposal(bound=1).test_epsilon == Fraction(1, 2)
    assert mechanism.accuracy(0.01) == 0


def test_the_noise_is_drawn_whether_or_not_it_is_released():
    class Counting:
        secure, drawn = False, 0

        def __init__(self):
            self.inner = SeededRandom(1)

        def bits(self, count):
            self.drawn += count
            return self.inner.bits(count)

        def words(self, count):
            self.drawn += 64 * count
            return self.inner.words(count)

    near, far = Counting(), Counting()
    answers = [proposal()((3, distance), rng=rng) for distance, rng in ((0, near), (1000, far))]

    assert [isinstance(answer, Refused) for answer in answers] == [True, False]
    assert near.drawn == far.drawn


def test_refusing_is_an_output_and_not_an_error():
    assert Refused() == Refused()
    assert len({Refused(), Refused()}) == 1
    assert proposal().privacy() == ApproxDP(1, proposal().privacy().delta)
    assert not proposal().privacy() <= PureDP(1)


@pytest.mark.parametrize(
    "more", [{"query": 1}, {"distance": 1}, {"bound": -1}, {"bound": 1.0}, {"bound": True}, {"delta": 0}]
)
def test_bad_parameters_are_refused(more):
    with pytest.raises(ParameterError):
        ProposeTestRelease(**({"query": first, "distance": second, "bound": 1, "epsilon": 1, "delta": 1e-6} | more))


def test_messages_carry_no_private_number():
    for value in ((123456.5, 1), (1, -123456), (1, 123456.5)):
        with pytest.raises(ParameterError) as caught:
            proposal()(value)

        assert "123456" not in str(caught.value)
