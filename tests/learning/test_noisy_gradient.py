"""discreet.learning.linear.noisy_gradient and losses: exact sums, cut rows, the same residual for a row always."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.hazmat.entropy import SeededRandom
from discreet.learning.linear.logistic import LogisticRegression
from discreet.learning.linear.losses import REACH, RESIDUAL, STEPS, Margin, Softmax
from discreet.learning.linear.noisy_gradient import Descent, cut, sensitivities
from discreet.learning.linear.svc import LinearSVC
from discreet.learning.vectors.clipped_moments import SCALE
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.release.allowance import Allowance

LOGISTIC, HINGE = LogisticRegression.loss, LinearSVC.loss
places = st.integers(min_value=-(2**40), max_value=2**40)


def descent(*, bound=SCALE * RESIDUAL, steps=3, loss=LOGISTIC, shrink=0.0, length=4.0):
    return Descent(loss=loss, steps=steps, length=length, bound=bound, unit=1 / SCALE, shrink=shrink)


@given(st.lists(places, min_size=3, max_size=3), st.integers(0, 2), st.sampled_from([LOGISTIC, HINGE, Softmax()]))
def test_slopes_are_no_larger_than_claimed(scores, label, loss):
    found = loss.residuals(np.array([scores]), np.array([label]))

    assert (found * found).sum() <= loss.square(3) * RESIDUAL**2


@pytest.mark.parametrize("margin", [-40.0, -3.0, -0.5, 0.0, 0.7, 1.2, 5.0, 40.0])
@pytest.mark.parametrize("label", [0, 1])
def test_slopes_are_those_of_the_losses(margin, label):
    sign = 2 * label - 1
    place = np.array([[round(margin * STEPS)]])
    logistic = sign / (1 + math.exp(max(min(sign * margin, REACH), -REACH)))
    hinge = sign * min(max(1.5 - sign * margin, 0.0), 1.0)

    assert LOGISTIC.residuals(place, np.array([label]))[0, 0] / RESIDUAL == pytest.approx(logistic, abs=2e-3)
    assert HINGE.residuals(place, np.array([label]))[0, 0] / RESIDUAL == pytest.approx(hinge, abs=2e-3)


def test_softmax_slopes_are_the_class_less_the_probabilities():
    scores = np.array([[0.3, -1.0, 2.0], [30.0, 0.0, 0.0]])
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    wanted = np.eye(3)[[2, 1]] - odds / odds.sum(axis=1, keepdims=True)
    found = Softmax().residuals(np.rint(scores * STEPS).astype(np.int64), np.array([2, 1]))

    assert found / RESIDUAL == pytest.approx(wanted, abs=2e-3)


@given(
    st.lists(st.integers(-SCALE, SCALE), min_size=2, max_size=2),
    st.lists(st.integers(-RESIDUAL, RESIDUAL), min_size=3, max_size=3),
    st.integers(1, 2**21),
)
def test_a_cut_row_is_never_longer_than_the_bound(row, found, bound):
    squares = np.array([row[0] ** 2 + row[1] ** 2])
    made = cut(squares, np.array([found]), bound)

    assert squares[0] * int((made * made).sum()) <= bound * bound
    assert (np.abs(made) <= np.abs(found)).all()


def _sums(rows, classes, weights, *, loss, bound, columns):
    """The integer sums of one step at given weights, as `Descent` makes them, but row by row in Python integers."""
    total = [[0] * columns for _ in rows[0]]
    for row, label in zip(rows, classes, strict=True):
        scores = [[math.floor(sum(int(u) * int(w) for u, w in zip(row, column, strict=True)) / 2**16)]
                  for column in weights.T]  # fmt: skip
        found = loss.residuals(np.array(scores, dtype=np.int64).T, np.array([label]))
        found = cut(np.array([sum(int(u) ** 2 for u in row)]), found, bound)[0]
        for i, u in enumerate(row):
            for k in range(columns):
                total[i][k] += int(u) * int(found[k])
    return np.array(total)


@pytest.mark.parametrize(("loss", "columns"), [(LOGISTIC, 1), (HINGE, 1), (HINGE, 3), (Softmax(), 3)])
def test_a_row_moves_a_sum_by_at_most_what_is_claimed(loss, columns):
    """Brute force over extreme rows, classes and weights; and half of the claim would be caught."""
    bound = SCALE * RESIDUAL
    absolute, square = sensitivities(bound, 3, columns)
    moved = []
    for row in product([-SCALE, 0, SCALE], repeat=3):
        for label, heavy in product(range(max(columns, 2)), [-(2**30), 0, 2**30]):
            weights = np.full((3, columns), heavy)
            weights[0] = -heavy
            change = _sums([row], [label], weights, loss=loss, bound=bound, columns=columns)
            moved.append((int(np.abs(change).sum()), int((change * change).sum())))

    assert max(moved)[0] <= absolute
    assert max(change for _, change in moved) <= square
    assert max(change for _, change in moved) > square / 4


class _Silent:
    """An allowance whose noise is none, and which writes down the sums that were to get it."""

    def __init__(self):
        self.seen = []
        self.sigma = 1

    def noise(self, share, *, absolute, square):
        return self

    def __call__(self, value, *, rng=None):
        self.seen.append(np.array(value))
        return value

    def event(self):
        return Allowance(ZCDP(1), entries=1).noise(Fraction(1), absolute=1, square=1).event()


@pytest.mark.parametrize(("loss", "columns"), [(LOGISTIC, 1), (Softmax(), 4)])
def test_the_first_sums_of_neighbours_differ_by_one_row(loss, columns):
    """The same run with a row more: the first sums differ by that row's, exactly, in whichever order rows come."""
    rng = np.random.default_rng(5)
    rows = rng.integers(-500, 500, (200, 4))
    classes = rng.integers(0, max(columns, 2), 200)
    made = []
    for keep in (slice(0, 200), slice(1, 200), slice(None, None, -1)):
        silent = _Silent()
        descent(loss=loss, steps=2)(
            rows[keep], classes[keep], columns, 200.0, allowance=silent, amount=Fraction(1), rng=SeededRandom(1)
        )
        made.append(silent.seen)
    change = made[0][0] - made[1][0]
    own = _sums(rows[:1], classes[:1], np.zeros((4, columns)), loss=loss, bound=SCALE * RESIDUAL, columns=columns)

    assert np.array_equal(change, own)
    assert (change * change).sum() <= sensitivities(SCALE * RESIDUAL, 4, columns)[1]
    assert all(np.array_equal(a, b) for a, b in zip(made[0], made[2], strict=True))


def test_the_steps_cost_the_amount_and_no_more():
    noise = Allowance(ZCDP(1), entries=9)
    rows = np.zeros((0, 2), dtype=np.int64)
    _, event = descent(steps=7)(
        rows, np.zeros(0, dtype=np.int64), 1, 1.0, allowance=noise, amount=Fraction(1), rng=SeededRandom(1)
    )
    one = event.event.sensitivity**2 / (2 * event.event.sigma**2)

    assert event.count == 7
    assert 0.999 < 7 * one <= 1 + 1e-11  # an event rounds its sensitivity up


def test_pure_steps_are_paid_in_l1():
    absolute, square = sensitivities(100, 6, 4)
    noise = Allowance(PureDP(1), entries=9).noise(Fraction(1), absolute=absolute, square=square)

    assert absolute == math.isqrt(24 * 100**2)
    assert noise.scale == absolute


def test_without_noise_the_minimum_is_found():
    """The logistic loss with ridge, against its own equation: the gradient at the answer is 0."""
    rng = np.random.default_rng(1)
    rows = np.column_stack([np.full(400, SCALE // 2), rng.integers(-600, 600, (400, 2))])
    classes = (rows[:, 1] + rng.integers(-700, 700, 400) > 0).astype(np.int64)
    weights, _ = descent(bound=4 * SCALE * RESIDUAL, steps=600, shrink=1.0)(
        rows, classes, 1, 400.0, allowance=Allowance(ZCDP(1e14), entries=9), amount=Fraction(10**14),
        rng=SeededRandom(1),
    )  # fmt: skip
    values = rows / SCALE
    slope = values.T @ (classes - 1 / (1 + np.exp(-values @ weights[:, 0]))) - weights[:, 0]

    assert np.abs(slope).max() < 0.4  # of 400 rows


def test_a_step_too_long_for_the_rows_is_shortened():
    """Sixty copies of one column: the curvature is sixty times that of one, and fixed steps would diverge."""
    rng = np.random.default_rng(2)
    column = rng.integers(-SCALE, SCALE, 500)
    rows = np.column_stack([column] * 60)
    classes = (column > 0).astype(np.int64)
    weights, _ = Descent(loss=LOGISTIC, steps=60, length=4.0, bound=2**30, unit=1 / SCALE)(
        rows, classes, 1, 500.0, allowance=Allowance(ZCDP(1e9), entries=9), amount=Fraction(10**9),
        rng=SeededRandom(1),
    )  # fmt: skip

    assert np.mean((rows @ weights[:, 0] > 0) == classes) > 0.99
    assert np.abs(weights).max() < 50


def test_a_table_serves_every_margin():
    hinge = Margin(slope=lambda margins: margins * 0 + 1, curvature=1.0)

    assert hinge.residuals(np.array([[2**50], [-(2**50)]]), np.array([0, 1])).tolist() == [[-RESIDUAL], [RESIDUAL]]


def _minimum(rows, signs, strength):
    """The minimum of the average logistic loss plus strength / 2 |w|^2, by Newton's method."""
    weights = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(signs * (rows @ weights)))
        slope = strength * weights - (rows * (signs * chance)[:, None]).mean(axis=0)
        curve = strength * np.eye(len(weights)) + (rows * (chance * (1 - chance))[:, None]).T @ rows / len(rows)
        weights = weights - np.linalg.solve(curve, slope)
    return weights


def test_the_minimum_of_a_strongly_convex_loss_moves_by_two_over_n_times_its_strength():
    """Chaudhuri, Monteleoni, Sarwate 2011, by brute force: n = 20, rows in the unit ball, any one replaced."""
    rng = np.random.default_rng(3)
    rows, signs, strength = rng.normal(size=(20, 2)), rng.choice([-1, 1], 20), 0.2
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    base, moved = _minimum(rows, signs, strength), []
    for place in range(20):
        for angle, sign in product(np.linspace(0, 2 * np.pi, 16), [-1, 1]):
            others, marks = rows.copy(), signs.copy()
            others[place], marks[place] = (np.cos(angle), np.sin(angle)), sign
            moved.append(np.linalg.norm(_minimum(others, marks, strength) - base))

    assert max(moved) <= 2 / (20 * strength)
    assert max(moved) > 2 / (20 * strength) / 3
