"""discreet.structured.graphs.degrees: every sensitivity by going through all graphs on five vertices."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.graph import Graph
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import LaplaceEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import EdgeNeighbours
from discreet.structured.graphs.degrees import DegreeHistogram, DegreeSequence, EdgeCount, non_increasing
from tests.structured.small_graphs import SmallGraphs

FIVE = SmallGraphs(5)
DEGREES = np.array([FIVE.degrees(mask) for mask in FIVE.all])  # (graphs, vertices)
RING = Graph.from_edges([(i, (i + 1) % 400) for i in range(400)], vertices=400)


def moves(values):
    """The largest l1 change over all pairs of neighbours."""
    return max(int(np.abs(values[here] - values[there]).sum()) for here, there in FIVE.edge_pairs())


@pytest.mark.parametrize(
    ("mechanism", "values"),
    [
        (EdgeCount(epsilon=1), DEGREES.sum(axis=1, keepdims=True) // 2),
        (DegreeSequence(epsilon=1), np.sort(DEGREES)[:, ::-1]),
        (DegreeHistogram(epsilon=1, largest=4), (DEGREES[:, :, None] == np.arange(5)).sum(axis=1)),
        (DegreeHistogram(epsilon=1, largest=2), (np.minimum(DEGREES, 2)[:, :, None] == np.arange(3)).sum(axis=1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_sensitivity_is_exactly_the_one_the_noise_is_made_for(mechanism, values):
    event = mechanism.event()

    assert event == LaplaceEvent(scale=event.sensitivity, sensitivity=event.sensitivity)
    assert moves(values) == event.sensitivity
    assert mechanism.privacy() == PureDP(1, neighbours=EdgeNeighbours)


def test_what_is_noised_is_what_was_counted():
    """At a large epsilon the noise is gone."""
    for mask in range(0, 1024, 41):
        graph, degrees = FIVE.graph(mask), FIVE.degrees(mask)

        assert EdgeCount(epsilon=100)(graph) == sum(degrees) // 2
        assert DegreeSequence(epsilon=200)(graph).tolist() == sorted(degrees, reverse=True)
        assert DegreeHistogram(epsilon=400, largest=3)(graph).tolist() == [
            sum(min(d, 3) == at for d in degrees) for at in range(4)
        ]


@given(st.lists(st.integers(-50, 50), max_size=30))
def test_pooling_gives_the_nearest_sequence_in_order(values):
    """The minimax formula of isotonic regression."""
    noisy = np.array(values, dtype=np.int64)
    naive = [
        max(min(noisy[a : b + 1].mean() for a in range(i + 1)) for b in range(i, len(values)))
        for i in range(len(values))
    ]

    assert non_increasing(noisy) == pytest.approx(naive)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=20), st.randoms(use_true_random=False))
def test_pooling_never_makes_the_largest_error_larger(values, random):
    truth = np.array(sorted(values, reverse=True))
    noisy = truth + np.array([random.randint(-9, 9) for _ in values])

    assert np.abs(non_increasing(noisy) - truth).max() <= np.abs(noisy - truth).max() + 1e-9


@pytest.mark.statistical
def test_no_degree_is_off_by_more_than_alpha():
    """100 releases, each bad with probability at most 0.001: five or more have one of less than 1e-7."""
    mechanism, rng = DegreeSequence(epsilon=1), SeededRandom(2)
    alpha = mechanism.accuracy(0.001, vertices=400)
    released = np.array([mechanism(RING, rng=rng) for _ in range(100)])

    assert (np.abs(released - 2).max(axis=1) > alpha).sum() < 5
    assert (released[:, :-1] >= released[:, 1:]).all()
    assert np.abs(released - 2).mean() < 1  # and most are far closer: noise alone is off by 2


@pytest.mark.statistical
def test_no_bin_is_off_by_more_than_alpha():
    mechanism, rng = DegreeHistogram(epsilon=1, largest=5), SeededRandom(3)
    alpha, truth = mechanism.accuracy(0.001), np.array([0, 0, 400, 0, 0, 0])
    released = np.array([mechanism(RING, rng=rng) for _ in range(200)])

    assert (np.abs(released - truth).max(axis=1) > alpha).sum() < 6
    assert (np.abs(released - truth).max(axis=1) > mechanism.accuracy(0.9)).sum() > 50


def test_the_largest_error_of_a_sequence_needs_its_length():
    with pytest.raises(UnsupportedError, match="pass vertices="):
        DegreeSequence(epsilon=1).accuracy(0.1)
    assert EdgeCount(epsilon=1).accuracy(0.05) == 3


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True])
def test_rejects_a_bad_epsilon(epsilon):
    for make in (EdgeCount, DegreeSequence, lambda epsilon: DegreeHistogram(epsilon=epsilon, largest=3)):
        with pytest.raises(ParameterError):
            make(epsilon=epsilon)


@pytest.mark.parametrize("largest", [0, 1.5, True])
def test_rejects_a_bad_largest_degree(largest):
    with pytest.raises(ParameterError):
        DegreeHistogram(epsilon=1, largest=largest)
