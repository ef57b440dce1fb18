"""discreet.hazmat.selection: the lemma about weights, exactness at the boundaries, the laws, any input."""

import itertools
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat import selection
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.exponent import exp_bounds
from discreet.hazmat.selection import among, gaps, laplace_max, permute_and_flip, row, softmax, weights
from tests.mechanisms.selection_laws import exponential_law, flip_law, laplace_law
from tests.scale import counts

DRAWS = counts(quick=100_000, full=10_000_000)
LONG = 512  # bits of the scripted uniforms


class Scripted:
    """A source whose uniforms are chosen by the test: each word opens one of them, further bits follow."""

    secure = False

    def __init__(self, *uniforms: int) -> None:
        self._uniforms = list(uniforms)
        self._rest, self._left = 0, 0

    def words(self, count):
        assert count == 1
        u = self._uniforms.pop(0)
        self._rest, self._left = u % (1 << (LONG - 64)), LONG - 64
        return np.array([u >> (LONG - 64)], dtype=np.uint64)

    def bits(self, count):
        self._left -= count
        return self._rest >> self._left & ((1 << count) - 1)


rates = st.fractions(min_value=Fraction(1, 10**6), max_value=50, max_denominator=10**6)


@given(rates, st.lists(st.integers(0, 10**7), min_size=1, max_size=20), st.integers(20, 48))
def test_weights_are_within_the_bounds_of_the_lemma(rate, scores, places):
    short = gaps(scores)
    for gap, weight in zip(short.tolist(), weights(short, rate, places).tolist(), strict=True):
        low, high = (Fraction(bound, 2 ** (200 - places)) for bound in exp_bounds(rate * gap, 200))

        assert -Fraction(1, 2) < low - weight
        assert high - weight < Fraction(3, 2)


@pytest.mark.parametrize("rate", [Fraction(1, 10**30), Fraction(1, 10**18), Fraction(10**30)])
def test_weights_hold_for_extreme_rates_and_gaps(rate):
    scores = [2**63 - 1, 2**63 - 2, 0, -(2**63)]
    for short in (gaps(scores), gaps([*scores, -(2**80)])):
        for gap, weight in zip(short.tolist(), weights(short, rate).tolist(), strict=True):
            low, high = (Fraction(bound, 2**152) for bound in exp_bounds(rate * gap, 200))

            assert low - Fraction(3, 2) < weight < high + Fraction(1, 2)


def boundaries(scores, rate):
    """The cumulative probabilities of softmax, from 0 to 1, times 2^LONG, rounded down."""
    bounds = [exp_bounds(rate * int(gap), LONG + 64)[0] for gap in gaps(scores)]
    return [(sum(bounds[:i]) << LONG) // sum(bounds) for i in range(len(bounds) + 1)]


CASES = [
    ([0, 0], Fraction(1)),
    ([3, 5, 5, 1], Fraction(1, 3)),
    ([0, 40, 41], Fraction(7, 10)),
    (list(range(50)), Fraction(1, 100)),
    ([2**70, 2**70 - 3], Fraction(1, 7)),
]


@pytest.mark.parametrize(("scores", "rate"), CASES)
def test_softmax_decides_rightly_however_close_a_uniform_is_to_a_boundary(scores, rate):
    edges = boundaries(scores, rate)
    room = min(b - a for a, b in itertools.pairwise(edges))
    steps = [1 << (LONG - depth) for depth in (30, 45, 50, 60, 64, 65, 100, 200, 400)]
    for i, edge in enumerate(edges[1:-1]):
        for step in (step for step in steps if step < room):
            assert softmax(gaps(scores), rate, rng=Scripted(edge - step)) == i
            assert softmax(gaps(scores), rate, rng=Scripted(edge + step)) == i + 1


def test_a_sampler_that_never_settles_is_caught(monkeypatch):
    monkeypatch.setattr(selection, "_settle", lambda gaps, rate, u, first, last, rng: first)
    with pytest.raises(AssertionError):
        test_softmax_decides_rightly_however_close_a_uniform_is_to_a_boundary([3, 5, 5, 1], Fraction(1, 3))


@pytest.mark.parametrize(
    ("gap", "rate"), [(1, Fraction(1)), (5, Fraction(1, 3)), (90, Fraction(1, 2)), (1, Fraction(1, 10**9))]
)
def test_a_coin_of_permute_and_flip_is_right_however_close_a_uniform_is_to_its_probability(gap, rate):
    low = exp_bounds(rate * gap, LONG)[0]
    short = gaps([gap, 0])[1:]  # the loser alone
    for depth in (48, 50, 64, 65, 128, 300):
        step = 1 << (LONG - depth)
        for u, heads in ((low - step, True), (low + step, False)):
            if u >= 0:
                assert selection._flips(short, rate, weights(short, rate), 1, Scripted(u))[0, 0] == heads


def chi_square(draws, law):
    law = np.array([float(p) for p in law])
    return chisquare(np.bincount(draws, minlength=len(law)), len(draws) * law / law.sum()).pvalue


SCORES = (4, 6, 6, 1)
LOG_4_3 = Fraction(2876820724517809, 10**16)  # rate with t = 3/4 to sixteen digits, far below the resolution of a draw


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("sampler", "law"), [(softmax, exponential_law), (permute_and_flip, flip_law)], ids=["softmax", "flip"]
)
def test_samplers_follow_their_laws(sampler, law):
    t = Fraction(3, 4)
    draws = sampler(gaps(SCORES), LOG_4_3, shape=(DRAWS,), rng=SeededRandom(1))

    assert chi_square(draws, law(SCORES, t)) > 1e-6
    assert chi_square(draws, law(SCORES, t * Fraction(19, 20))) < 1e-6  # the twin with a rate 18 % too large


@pytest.mark.statistical
def test_laplace_max_follows_its_law():
    scale = Fraction(14426950408889634, 10**16)  # 1 / ln 2
    draws = laplace_max(gaps(SCORES), scale, shape=(DRAWS,), rng=SeededRandom(2))

    assert chi_square(draws, laplace_law(SCORES, Fraction(1, 2))) > 1e-6
    assert chi_square(draws, laplace_law(SCORES, Fraction(9, 20))) < 1e-6


@pytest.mark.statistical
def test_single_draws_follow_the_same_law_as_many():
    short, rng = gaps([0, 1, 3]), SeededRandom(3)
    t = exp(-0.5)
    for sampler in (softmax, permute_and_flip):
        singles = np.array([sampler(short, Fraction(1, 2), rng=rng) for _ in range(10_000)])
        law = (exponential_law if sampler is softmax else flip_law)((0, 1, 3), Fraction(t))

        assert chi_square(singles, law) > 1e-6


@pytest.mark.statistical
def test_among_is_uniform_over_the_true_entries():
    flags = np.array([[True, False, True, True], [False, False, True, False]] * 30_000)
    chosen = among(flags, rng=SeededRandom(4))

    assert (chosen[1::2] == 2).all()
    assert set(chosen[::2]) == {0, 2, 3}
    assert chisquare(np.bincount(chosen[::2])[[0, 2, 3]]).pvalue > 1e-6


@pytest.mark.parametrize("sampler", [softmax, permute_and_flip, laplace_max])
@pytest.mark.parametrize(
    "scores",
    [
        [7],
        [0, 0, 0],
        [-(2**63), 2**63 - 1],
        [10**400, 0, -(10**400)],
        [2**63, -1],
        np.array([5, 5], dtype=np.uint8),
        np.arange(3000),
    ],
    ids=["one", "ties", "ends", "giants", "unsigned", "bytes", "many"],
)
@pytest.mark.parametrize("rate", [Fraction(1, 10**12), Fraction(1, 3), Fraction(10**6)])
def test_no_score_makes_a_sampler_fail(sampler, scores, rate):
    with np.errstate(all="raise"):
        chosen = sampler(gaps(scores), rate, rng=SeededRandom(5))

        assert 0 <= chosen < len(scores)
        if len(scores) == 1:
            assert chosen == 0


@pytest.mark.parametrize("scores", [[-(2**63), 2**63 - 1, 0], [-(10**400), 10**400, 0]])
def test_a_giant_lead_always_wins(scores):
    for sampler, parameter in ((softmax, 1), (permute_and_flip, 1), (laplace_max, 10**9)):
        assert {int(sampler(gaps(scores), Fraction(parameter), rng=SeededRandom(seed))) for seed in range(50)} == {1}


@pytest.mark.parametrize("sampler", [softmax, permute_and_flip, laplace_max])
def test_no_draws_are_an_empty_array(sampler):
    assert sampler(gaps([1, 2]), Fraction(1), shape=(0,)).tolist() == []


def test_a_million_candidates_are_one_call():
    scores = np.arange(10**6) * 1000
    for sampler in (softmax, permute_and_flip):
        assert sampler(gaps(scores), Fraction(1), rng=SeededRandom(6)) == 10**6 - 1


@pytest.mark.parametrize(
    "scores",
    [[], [0.5, 1], [1.0, 2.0], np.zeros(3), [True, False], np.array([True]), [[1, 2], [3, 4]], 5, "12", None, [1, [2]],
     np.array([1, 2], dtype=np.uint64), np.array([float("nan")])],
)  # fmt: skip
def test_scores_that_are_not_a_row_of_integers_are_refused(scores):
    with pytest.raises(ParameterError):
        gaps(scores)


def test_float_scores_are_told_to_move_to_a_lattice():
    with pytest.raises(ParameterError, match="moved to a lattice first"):
        row(np.array([0.5]))
