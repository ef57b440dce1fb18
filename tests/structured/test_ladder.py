"""discreet.structured.graphs.ladder: each claim, on every graph with four vertices; then the draw."""

import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from itertools import accumulate

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ExponentialEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.structured.graphs.ladder import Ladder, _Rungs
from tests.scale import counts
from tests.structured.small_graphs import SmallGraphs

FOUR = SmallGraphs(4)
MOST, FAR = 2, 60
OUTPUTS = range(-100, 105)


@cache
def within() -> list[list[int]]:
    return FOUR.within(FOUR.local(FOUR.triangles), FAR)


def log_law(value, widths, rate):
    """ln Pr[y] for the outputs, from the definition: rungs of the given widths, for ever of the last one."""
    reached = [0, *accumulate(widths)]
    weights = [1.0, *(2 * w * math.exp(-rate * (t + 1)) for t, w in enumerate(widths))]
    rest = 2 * widths[-1] * math.exp(-rate * (len(widths) + 1)) / -math.expm1(-rate)
    total = math.log(sum(weights) + rest)
    return np.array([-rate * bisect_left(reached, abs(y - value)) - total for y in OUTPUTS])


def worst(rate, ladder):
    laws = [log_law(FOUR.triangles(mask), ladder(mask), rate) for mask in FOUR.all]
    return max(np.abs(laws[a] - laws[b]).max() for a, b in FOUR.edge_pairs())


def honest(mask):
    return [within()[t][mask] for t in range(FAR)]


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 4.0])
def test_neighbours_differ_by_at_most_epsilon(epsilon):
    assert worst(epsilon / 2, honest) <= epsilon + 1e-9


def test_the_claim_uses_most_of_its_budget():
    assert worst(0.5, honest) > 0.65


def test_twice_the_rate_would_be_caught():
    assert worst(1.0, honest) > 1.1


def test_a_ladder_that_does_not_grow_would_be_caught():
    """Rungs as wide as the local sensitivity for ever: the noise itself tells it."""
    assert worst(0.5, lambda mask: [max(1, within()[0][mask])] * FAR) > 2


def test_a_ladder_that_grows_from_too_low_would_be_caught():
    assert worst(0.5, lambda mask: [0, 0, *honest(mask)[:-2]]) > 1.1


def test_rungs_move_by_at_most_one():
    for here, there in FOUR.edge_pairs():
        rungs = [
            [bisect_left([0, *accumulate(honest(mask))], abs(y - FOUR.triangles(mask))) for y in OUTPUTS]
            for mask in (here, there)
        ]

        assert max(abs(a - b) for a, b in zip(*rungs, strict=True)) <= 1


STEPS = {"steep": lambda t: min(2 + t, 6), "flat": lambda t: 3, "late": lambda t: min(t // 2, 4)}


@pytest.mark.parametrize("name", STEPS)
def test_sums_of_weights_are_bracketed_and_narrow(name):
    rungs = _Rungs(Fraction(1, 2), STEPS[name], 6)
    low, high = rungs._table(1)
    sizes = [1, *(2 * STEPS[name](t) for t in range(len(low) - 1))]
    sums = list(accumulate(size * math.exp(-t / 2) for t, size in enumerate(sizes)))

    assert all(a <= b for a, b in zip(low, high, strict=False))
    assert all(a / 2**96 == pytest.approx(s, rel=1e-12) for a, s in zip(low, sums, strict=True))
    assert (high[-1] - low[-1]) / low[-1] < 2**-60


class Bits:
    """A source that plays back given bits first, and then from a seed."""

    def __init__(self, first):
        self.first, self.rest = first, SeededRandom(1)

    def bits(self, count):
        first, self.first = self.first, None
        return self.rest.bits(count) if first is None else first

    def words(self, count):
        return self.rest.words(count)


@pytest.mark.parametrize("name", STEPS)
def test_a_draw_is_right_however_close_a_uniform_is_to_a_boundary(name):
    """First words next to every boundary: well inside they decide alone, on it more bits are drawn."""
    rungs = _Rungs(Fraction(1, 2), STEPS[name], 6)
    low, high = rungs._table(1)
    total = (low[-1] + high[-1]) / 2
    for t in range(6):
        boundary = math.floor(low[t] / total * 2**64)
        below = rungs.draw(Bits(boundary - 2**20))
        above = rungs.draw(Bits(boundary + 2**20))

        assert below <= t < above
        assert rungs.draw(Bits(boundary)) in (t, t + 1, above)


def test_the_first_and_the_last_word_are_drawn_too():
    rungs = _Rungs(Fraction(1, 2), STEPS["steep"], 6)

    assert rungs.draw(Bits(0)) == 0
    assert rungs.draw(Bits(2**64 - 1)) > 60


@pytest.mark.statistical
@pytest.mark.parametrize("name", STEPS)
def test_releases_follow_the_stated_law(name):
    runs = counts(quick=40_000, full=2_000_000)
    drawn = Ladder(epsilon=1).releases(2, STEPS[name], runs, most=6, rng=SeededRandom(5))
    law = np.exp(log_law(2, [STEPS[name](t) for t in range(FAR)], 0.5))
    bins = [y for y, p in zip(OUTPUTS, law, strict=True) if p * runs > 20]
    seen = np.array([(drawn == y).sum() for y in bins])
    expected = runs * law[[y - OUTPUTS[0] for y in bins]]
    others = np.append(seen, runs - seen.sum()), np.append(expected, runs - expected.sum())
    wrong = np.exp(log_law(2, [STEPS[name](t) + 1 for t in range(FAR)], 0.5))[[y - OUTPUTS[0] for y in bins]] * runs

    assert chisquare(*others).pvalue > 1e-6
    assert ((seen - wrong) ** 2 / wrong).sum() > 10 * len(bins)  # rungs one wider would be seen


def test_accuracy_is_the_rung_that_holds():
    ladder = Ladder(epsilon=1)
    for beta in (0.5, 0.05, 0.001):
        alpha = ladder.accuracy(beta, steps=STEPS["steep"], most=6)
        law = np.exp(log_law(0, [STEPS["steep"](t) for t in range(FAR)], 0.5))
        sizes = np.abs(np.array(OUTPUTS))

        assert 1 - law[sizes <= alpha].sum() <= beta + 1e-4
        assert alpha == 0 or 1 - law[sizes < alpha].sum() > beta - 0.2


def test_without_sensitivity_the_value_itself_is_released():
    assert set(Ladder(epsilon=1).releases(7, lambda t: 0, 50, most=0)) == {7}


def test_the_event_and_the_guarantee_say_what_ran():
    ladder = Ladder(epsilon=0.5, neighbours=EdgeNeighbours)

    assert ladder.event() == ExponentialEvent(epsilon=0.5)
    assert ladder.privacy() == PureDP(0.5, neighbours=EdgeNeighbours)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "x"])
def test_rejects_a_bad_epsilon(epsilon):
    with pytest.raises(ParameterError):
        Ladder(epsilon=epsilon)
