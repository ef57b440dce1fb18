"""discreet.release.models.rows: each claim in the module docstring, in order."""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.hazmat.entropy import SeededRandom
from discreet.release.models.rows import draw_cells, group_of, split_cells


def together(rows):
    return np.zeros(rows, dtype=np.int64)


@pytest.mark.parametrize("rows", [1, 7, 1000])
def test_every_cell_gets_its_share_rounded_down_or_up(rows):
    weights = np.random.default_rng(rows).random((1, 40))
    share = rows * weights[0] / weights.sum()
    for seed in range(20):
        drawn = np.bincount(draw_cells(weights, together(rows), SeededRandom(seed)), minlength=40)

        assert np.all(np.floor(share) <= drawn)
        assert np.all(drawn <= np.ceil(share))


def test_a_cell_gets_its_share_in_expectation():
    """The mean of 3,000 roundings, five standard deviations of a fair rounding allowed for each cell."""
    weights, rows, runs, rng = np.array([[0.13, 0.4, 0.07, 0.25, 0.15]]), 3, 3000, SeededRandom(1)
    drawn = [np.bincount(draw_cells(weights, together(rows), rng), minlength=5) for _ in range(runs)]

    assert np.abs(np.mean(drawn, axis=0) - rows * weights[0]).max() < 5 * 0.5 / math.sqrt(runs)


def test_every_single_row_has_the_law_of_the_weights():
    weights, runs, rng = np.array([[1.0, 2.0, 3.0]]), 6000, SeededRandom(2)
    first = [draw_cells(weights, together(4), rng)[0] for _ in range(runs)]

    assert chisquare(np.bincount(first, minlength=3), runs * weights[0] / 6).pvalue > 1e-6


def test_the_order_within_a_group_is_uniform():
    """Two of four rows get the second cell: each of the six pairs equally often.  Sorted rows would always be one."""
    weights, runs, rng = np.array([[0.5, 0.5]]), 6000, SeededRandom(3)
    seen = Counter(tuple(draw_cells(weights, together(4), rng)) for _ in range(runs))

    assert len(seen) == 6
    assert chisquare(list(seen.values())).pvalue > 1e-6
    assert chisquare([runs, 0, 0, 0, 0, 0]).pvalue < 1e-6


def test_groups_are_rounded_each_by_its_own_weights():
    rng = np.random.default_rng(4)
    weights, groups = rng.random((30, 11)), rng.integers(0, 30, 5000)
    drawn = draw_cells(weights, groups, SeededRandom(4))
    for group in range(30):
        inside = np.bincount(drawn[groups == group], minlength=11)
        share = (groups == group).sum() * weights[group] / weights[group].sum()

        assert np.abs(inside - share).max() < 1


def test_a_cell_without_weight_is_never_drawn():
    weights = np.array([[0.0, 0.1, 0.0, 0.3, 0.0], [0.0, 0.0, 1e-300, 0.0, 0.0]])
    for seed in range(50):
        drawn = draw_cells(weights, np.repeat([0, 1], 33), SeededRandom(seed))

        assert set(drawn[:33]) <= {1, 3}
        assert set(drawn[33:]) == {2}


class OneBadWord:
    """Its first words are zeros, which would make the order uneven; the rest are fair."""

    secure = False

    def __init__(self):
        self.calls, self.fair = 0, SeededRandom(5)

    def bits(self, count):
        return self.fair.bits(count)

    def words(self, count):
        self.calls += 1
        return np.zeros(count, dtype=np.uint64) if self.calls <= 2 else self.fair.words(count)


def test_words_that_would_make_the_order_uneven_are_drawn_again():
    rng = OneBadWord()
    drawn = draw_cells(np.array([[1.0, 2.0]]), together(3), rng)

    assert rng.calls == 4
    assert sorted(drawn) == [0, 1, 1]


def test_groups_and_cells_are_places_in_row_major_order():
    columns = [np.array([0, 1, 1]), np.array([2, 0, 2])]

    assert group_of(columns, [2, 3], 3).tolist() == [2, 3, 5]
    assert [column.tolist() for column in split_cells(np.array([2, 3, 5]), [2, 3])] == [[0, 1, 1], [2, 0, 2]]
