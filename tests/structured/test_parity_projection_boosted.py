"""discreet.structured.parities.parity_projection_boosted: the base keeps its budget, boosting reaches every pair."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from discreet.composition.price import price
from discreet.data.histogram import Histogram
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries.products import monotone_conjunctions, parities
from discreet.queries.workload import Rows
from discreet.structured.parities.parity_projection_boosted import SampledParities, boosted_parities

PAIRS = parities(5, 2)


@pytest.mark.parametrize("places", [(0,), (0, 3), (1, 2, 5), (0, 4, 7, 9), tuple(range(10))])
def test_the_noise_covers_the_worst_pair_of_rows(places):
    """All pairs of rows of five attributes; never less than the truth, and exact for one pair and for all."""
    every = np.array(list(product([-1, 1], repeat=5)))
    chosen = [list(combinations(range(5), 2))[place] for place in places]
    values = np.stack([every[:, i] * every[:, j] for i, j in chosen], axis=1)
    worst = max(int(((values - one) ** 2).sum(axis=1).max()) for one in values)
    noise = SampledParities(sample=Rows(PAIRS, places), budget=ZCDP(1), n=9).noise

    assert noise.square >= worst
    if len(places) in (1, 10):
        assert noise.square == worst


def test_a_pair_named_twice_is_measured_once():
    twice = SampledParities(sample=Rows(PAIRS, (3, 3)), budget=ZCDP(1), n=9)

    assert twice.noise.square == 4


@pytest.mark.parametrize("budget", [ZCDP(0.5), PureDP(0.5)])
def test_the_base_and_the_whole_cost_the_budget(budget):
    base = SampledParities(sample=PAIRS, budget=budget, n=9)
    whole = boosted_parities(5, n=9, budget=budget, sample=10, error=5)
    for made in (base, whole):
        cost = price(made.event())

        assert (cost.epsilon if isinstance(budget, PureDP) else cost.rho) <= Fraction(1, 2)
        assert made.privacy() == type(budget)(0.5, neighbours=Replace)


def test_free_pairs_are_answered_from_the_measured_ones():
    """Three equal attributes, of which two pairs are measured: the third must be 1 too."""
    rows = np.repeat(np.array([[True] * 3, [False] * 3]), 50, axis=0)
    release = SampledParities(sample=Rows(parities(3, 2), (0, 1)), budget=ZCDP(10**9), n=100)(rows)

    assert release.answers.tolist() == pytest.approx([100, 100, 100], abs=0.5)
    with pytest.raises(UnsupportedError, match="sum of squares"):
        release.accuracy(0.05)


@pytest.mark.parametrize("seed", range(2))
def test_after_boosting_every_pair_is_within_error_and_slack(seed):
    boosted = boosted_parities(8, n=200_000, budget=ZCDP(1), sample=60, error=1_000)
    data = Histogram.random(boosted.workload.domain, n=200_000, seed=seed)
    release = boosted(data)

    assert np.abs(release.answers - boosted.workload.answer(data)).max() <= boosted.accuracy() < 4_000


def test_what_is_not_about_pairs_or_has_a_private_n_is_refused():
    with pytest.raises(ParameterError, match="pairs of parities"):
        SampledParities(sample=monotone_conjunctions(4, 2), budget=ZCDP(1), n=9)
    with pytest.raises(UnsupportedError, match="public n"):
        SampledParities(sample=PAIRS, budget=ZCDP(1, neighbours=AddRemove), n=9)
    with pytest.raises(DomainError, match="declared public"):
        SampledParities(sample=PAIRS, budget=ZCDP(1), n=9)(np.ones((8, 5)))
