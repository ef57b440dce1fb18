"""discreet.hazmat.selection_rows and selection_runs: the laws, exactly, and however few bits a word has."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat import selection_runs
from discreet.hazmat.entropy import SeededRandom
from discreet.hazmat.selection_rows import gaps_of, permute_and_flip_rows, softmax_rows
from discreet.hazmat.selection_runs import Runs, choose_run
from tests.mechanisms.selection_laws import flip_law
from tests.scale import counts

LOSSES = np.array([[0, 3, 1, 9], [5, 5, 0, 2]])
RATE = Fraction(1, 3)


def _law(losses, widths):
    weights = np.asarray(widths, dtype=float) * np.exp(-float(RATE) * (losses - losses.min()))
    return weights / weights.sum()


@pytest.mark.statistical
@pytest.mark.parametrize("widths", [(1, 1, 1, 1), (5, 0, 2, 1000), (2**58, 2**57, 2**59, 0)])
def test_softmax_of_every_row_follows_its_law(widths):
    """The widest leave no room for 64-bit sums: all rows are settled with whole numbers."""
    runs = counts(quick=30_000, full=1_000_000) // (1 if max(widths) < 2**50 else 15)
    gaps = gaps_of(np.repeat(LOSSES, runs, axis=0))
    found = softmax_rows(gaps, RATE, widths=np.array(widths), rng=SeededRandom(1)).reshape(2, runs)

    for row in range(2):
        law = _law(LOSSES[row], widths)
        seen = np.bincount(found[row], minlength=4)
        assert (seen[law == 0] == 0).all()
        assert chisquare(seen[law > 0], runs * law[law > 0]).pvalue > 1e-6


@pytest.mark.statistical
def test_permute_and_flip_of_every_row_follows_its_law():
    runs = counts(quick=30_000, full=1_000_000)
    found = permute_and_flip_rows(gaps_of(np.repeat(LOSSES, runs, axis=0)), RATE, rng=SeededRandom(2)).reshape(2, runs)
    t = Fraction(float(np.exp(-1 / 3)))

    for row in range(2):
        law = np.array([float(p) for p in flip_law(tuple((-LOSSES[row]).tolist()), t)])
        assert chisquare(np.bincount(found[row], minlength=4), runs * law).pvalue > 1e-6


def test_columns_that_are_not_allowed_are_never_chosen():
    losses = np.repeat(np.array([[0, 7, 7]]), 2000, axis=0)
    allowed = np.repeat(np.array([[0, 1, 1]]), 2000, axis=0)
    gaps = gaps_of(losses, allowed)

    assert gaps[0].tolist() == [0, 0, 0]
    for found in (
        permute_and_flip_rows(gaps, RATE, allowed=allowed, rng=SeededRandom(1)),
        softmax_rows(gaps, RATE, widths=allowed, rng=SeededRandom(1)),
    ):
        assert set(found.tolist()) == {1, 2}


def test_losses_of_any_size_are_read():
    losses = np.array([[10**30, 0, 10**30 + 1]], dtype=object)

    assert softmax_rows(gaps_of(losses), RATE, rng=SeededRandom(1)).tolist() == [1]
    assert permute_and_flip_rows(gaps_of(losses), RATE, rng=SeededRandom(1)).tolist() == [1]


def test_widths_whose_sum_leaves_64_bits_are_chosen_among():
    widths = np.array([2**62, 2**62, 2**62, 2**61])

    assert softmax_rows(gaps_of(LOSSES * 10**6), RATE, widths=widths, rng=SeededRandom(1)).tolist() == [0, 2]


def test_rejects_widths_that_leave_nothing_to_choose():
    gaps = gaps_of(LOSSES)
    for widths in ([0, 0, 0, 0], [1, -1, 1, 1]):
        with pytest.raises(ParameterError):
            softmax_rows(gaps, RATE, widths=np.array(widths))
        with pytest.raises(ParameterError):
            permute_and_flip_rows(gaps, RATE, allowed=np.array(widths))
    with pytest.raises(ParameterError):
        softmax_rows(np.empty((2, 0), dtype=np.uint64), RATE)


@pytest.mark.statistical
@pytest.mark.parametrize("width", [2, 8, 64])
def test_a_run_is_chosen_by_its_law_however_little_is_seen_at_first(width, monkeypatch):
    """Runs are handed out only as far as asked for, the first look is far too short, and words have few bits."""
    monkeypatch.setattr(selection_runs, "MISSED", -6)
    gaps, widths = [0, 1, 2, 5, 9, 9, 30], [1, 2, 1, 50, 3, 4, 10_000]
    asked = set()

    def runs(reach):
        asked.add(reach)
        near = [i for i, gap in enumerate(gaps) if gap <= reach]
        return Runs([gaps[i] for i in near], [widths[i] for i in near], sum(widths) - sum(widths[i] for i in near))

    count, rng = counts(quick=4_000, full=40_000), SeededRandom(3)
    found = [choose_run(runs, RATE, candidates=sum(widths), rng=rng, width=width)[0] for _ in range(count)]
    law = np.array(widths) * np.exp(-float(RATE) * np.array(gaps))

    assert chisquare(np.bincount(found, minlength=7), count * law / law.sum()).pvalue > 1e-6
    assert len(asked) > 1
