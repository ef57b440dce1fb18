"""discreet.structured.quantiles.quantile_bound: each claim in the module docstring, in order."""

from fractions import Fraction
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.event import ExponentialEvent, PureEvent
from discreet.privacy.guarantee import PureDP
from discreet.privacy.neighbours import AddRemove
from discreet.structured.quantiles.quantile_bound import QuantileBound
from discreet.structured.quantiles.rank_loss import row_sensitivity
from tests.mechanisms.selection_laws import exponential_law, flip_law
from tests.scale import counts as scale
from tests.structured.quantile_laws import datasets, grown, softmax, worst

HALF = Fraction(1, 2)
QUANTILES = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(1, 3), Fraction(0), Fraction(1)]
ENDS = ["low", "high"]


def outward(counts, quantile, shift):
    """The losses for the low end, from the definition: below the grid, then every cell."""
    a, b = quantile.numerator, quantile.denominator
    target, losses = a * sum(counts) - b * shift, []
    for j in range(len(counts)):
        before, upto = sum(counts[:j]), sum(counts[: j + 1])
        losses.append(max(0, b * before - target, target - b * upto))
    return [max(0, target), *losses]


def bound(quantile, end, **public):
    return QuantileBound(**{"quantile": quantile, "end": end, "epsilon": 1, "size": 4} | public)


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("quantile", QUANTILES)
def test_the_losses_are_those_of_the_theorem_and_of_its_mirror_image(quantile, end):
    mechanism = bound(quantile, end, epsilon=8)
    for counts in datasets(4, 5):
        mirrored = end == "high"
        given = (counts[::-1], 1 - quantile) if mirrored else (counts, quantile)

        assert mechanism.losses(counts).tolist() == outward(*given, mechanism.shift)


@pytest.mark.parametrize("shift", [0, 1, 3, 50])
@pytest.mark.parametrize("quantile", QUANTILES)
def test_one_row_moves_every_loss_by_at_most_its_sensitivity_and_some_candidate_has_none(quantile, shift):
    moves = {
        abs(x - y)
        for counts in datasets(4, 4)
        for more in grown(counts)
        for x, y in zip(outward(counts, quantile, shift), outward(more, quantile, shift), strict=True)
    }

    assert max(moves) <= row_sensitivity(quantile)
    assert shift > 3 or max(moves) == row_sensitivity(quantile)  # attained where the data is more than the shift
    assert all(min(outward(counts, quantile, shift)) == 0 for counts in datasets(4, 4))


@pytest.mark.parametrize("law", [exponential_law, flip_law])
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(1, 4), Fraction(0), Fraction(1)])
def test_every_pair_of_small_neighbours_differs_by_at_most_epsilon(law, quantile):
    """Exhaustive and in rationals: with t = e^-rate, e^epsilon is t^(-2 sensitivity)."""
    pairs = [(x, y) for x in datasets(3, 4) for y in grown(x)]
    for shift in (0, 1, 2):
        ratio = worst(lambda x, s=shift: law(tuple(-u for u in outward(x, quantile, s)), HALF), pairs)

        assert ratio <= HALF ** (-2 * row_sensitivity(quantile))


def test_half_the_sensitivity_is_caught():
    pairs = [(x, y) for x in datasets(3, 4) for y in grown(x)]
    ratio = worst(lambda x: softmax(outward(x, HALF, 1), HALF), pairs)

    assert HALF**-1 < ratio <= HALF**-2  # sold at epsilon = rate, half of what it costs


@pytest.mark.parametrize("rows", [1, 2])
def test_all_groups_together_cost_epsilon_however_a_unit_spreads_its_rows(rows):
    def law(x):
        first, second = (softmax(outward(group, HALF, 1), HALF) for group in (x[:2], x[2:]))
        return [p * q for p, q in product(first, second)]

    ratio = worst(law, [(x, y) for x in datasets(4, 3) for y in grown(x, rows)])

    assert ratio <= HALF ** (-2 * rows)
    assert rows == 1 or ratio > HALF**-2  # rows_per_unit ignored


def cells_of_quantiles(counts, quantile):
    """The cells of the lower and of the upper quantile: x_(ceil(q n)) and x_(floor(q n) + 1), within the rows."""
    rows, n = [cell for cell, count in enumerate(counts) for _ in range(count)], sum(counts)
    target = quantile * n
    ranks = -((-target.numerator) // target.denominator), target.numerator // target.denominator + 1
    return [rows[min(max(rank, 1), n) - 1] for rank in ranks]


def missed(counts, quantile, end, mechanism, *, shift=None, outside=True):
    """The exact probability of an end on the wrong side of some quantile."""
    mirrored = end == "high"
    data, share = (counts[::-1], 1 - quantile) if mirrored else (counts, quantile)
    losses = outward(data, share, mechanism.shift if shift is None else shift)
    law = softmax(losses if outside else losses[1:], exp(-float(mechanism.rate)))
    inside = law[1:] if outside else law
    first = min(cells_of_quantiles(data, share))
    return sum(inside[first + 1 :])


WIDE = [(n, 0, 0, m) for n in (1, 2, 5, 20, 60, 61) for m in (1, 2, 5, 20, 60, 61)] + [(0, 40, 0, 1), (1, 1, 40, 40)]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("quantile", QUANTILES)
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), 1, 5])
def test_an_end_lies_on_its_side_of_every_quantile_with_the_stated_probability(quantile, end, epsilon):
    """Exactly, on every data set of up to five rows and on larger ones with a gap in the middle."""
    mechanism = bound(quantile, end, epsilon=epsilon, beta=0.05, method="exponential")
    for counts in [*datasets(4, 5), *WIDE]:
        if sum(counts):
            assert missed(counts, quantile, end, mechanism) <= 0.05 * (1 + 1e-9), counts


def test_a_shift_without_the_candidate_outside_the_grid_is_caught_on_few_rows():
    mechanism = bound(HALF, "low", beta=0.05, method="exponential")

    assert missed((2, 0, 0, 0), HALF, "low", mechanism) <= 0.05
    assert missed((2, 0, 0, 0), HALF, "low", mechanism, outside=False) > 0.05


def test_a_quantile_that_is_not_aimed_outward_is_caught():
    mechanism = bound(HALF, "low", beta=0.05, method="exponential")

    assert missed((60, 0, 0, 60), HALF, "low", mechanism, shift=0) > 0.3


def test_a_shift_that_lets_ties_pass_is_caught():
    """b s = A allows L_j = q n: between two halves of the rows an end may lie above the lower median."""
    mechanism = bound(HALF, "low", beta=0.05, method="exponential")
    reach = int(mechanism._selection.accuracy(0.05, size=5))

    assert reach == 2 * (mechanism.shift - 1)
    assert missed((20, 0, 0, 20), HALF, "low", mechanism) <= 0.05
    assert missed((20, 0, 0, 20), HALF, "low", mechanism, shift=mechanism.shift - 1) > 0.05


def test_the_outermost_quantiles_lose_no_row_to_ties():
    """Below the least row there is none: a cell with no row before it is right."""
    for quantile, end, other in ((0, "low", "high"), (1, "high", "low")):
        wide, narrow = bound(quantile, other), bound(quantile, end)
        reach = int(narrow._selection.accuracy(narrow.beta, size=5))

        assert narrow.shift == reach
        assert wide.shift == reach + 1


@pytest.mark.statistical
@pytest.mark.parametrize("method", ["permute_and_flip", "exponential"])
@pytest.mark.parametrize("end", ENDS)
def test_choices_follow_the_stated_law_in_every_group(method, end):
    runs = scale(quick=40_000, full=1_000_000)
    mechanism = bound(HALF, end, epsilon=2, method=method)
    table = np.array([[3, 0, 9, 4], [0, 1, 0, 0]])
    seen = mechanism(np.repeat(table[None], runs, axis=0), rng=SeededRandom(5))
    law, t = {"exponential": exponential_law, "permute_and_flip": flip_law}[method], exp(-float(mechanism.rate))

    for group in range(2):
        data = tuple(table[group].tolist())
        losses = outward(data if end == "low" else data[::-1], HALF, mechanism.shift)
        wanted = np.array([float(p) for p in law(tuple(-u for u in losses), Fraction(t))])
        wrong = np.array([float(p) for p in law(tuple(-u for u in losses), Fraction(t * t))])
        index = seen[:, group] + 1 if end == "low" else 4 - seen[:, group]
        found = np.bincount(index, minlength=5)
        assert chisquare(found, runs * wanted / wanted.sum()).pvalue > 1e-6
        assert group or chisquare(found, runs * wrong / wrong.sum()).pvalue < 1e-6


def test_an_empty_group_says_nothing():
    """Nobody is there, so the end is almost surely outside the grid; and it is drawn all the same."""
    for end, outside in (("low", -1), ("high", 4)):
        found = bound(HALF, end, epsilon=3)(np.zeros((200, 4), dtype=int), rng=SeededRandom(1))

        assert (found == outside).mean() > 0.9


def test_the_error_is_the_shift_and_that_of_the_choice():
    """With probability 1 - beta no more than that many rows lie between the end and the quantile."""
    mechanism = bound(HALF, "low", beta=0.05, method="exponential")
    alpha = mechanism.accuracy(0.05)
    counts = (40, 40, 40, 40)
    law = softmax(outward(counts, HALF, mechanism.shift), exp(-float(mechanism.rate)))
    far = [80 - sum(counts[:j]) for j in range(1, 5)]  # rows between the upper edge of a cell and the median

    assert sum(p for p, rows in zip(law[1:], far, strict=True) if rows > alpha) + law[0] * (alpha < 80) <= 0.05


def test_its_price_is_its_epsilon_and_its_event_is_what_ran():
    for method, event in (("exponential", ExponentialEvent), ("permute_and_flip", PureEvent)):
        mechanism = bound(HALF, "low", epsilon=Fraction(1, 3), method=method)

        assert mechanism.privacy() == PureDP(Fraction(1, 3), neighbours=AddRemove)
        assert mechanism.event() == event(epsilon=Fraction(1, 3))


@pytest.mark.parametrize(
    "public",
    [{"epsilon": 0}, {"epsilon": float("nan")}, {"epsilon": -1}, {"size": 0}, {"size": True}, {"size": 2.0},
     {"rows_per_unit": 0}, {"beta": 0}, {"beta": 1}, {"beta": float("nan")}, {"quantile": 1.5}, {"quantile": -0.1},
     {"end": "middle"}, {"method": "laplace"}],
)  # fmt: skip
def test_bad_parameters_are_refused(public):
    with pytest.raises(ParameterError):
        bound(**{"quantile": HALF, "end": "low"} | public)


@pytest.mark.parametrize("counts", [[1, 2, 3], [[1, 2, 3, 4, 5]], [0.5, 1, 1, 1], "abcd"])
def test_counts_that_are_not_counts_on_the_grid_are_refused(counts):
    with pytest.raises(ParameterError):
        bound(HALF, "low")(counts)
