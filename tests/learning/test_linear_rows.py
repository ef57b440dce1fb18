"""discreet.learning.linear.rows: each release moves by no more than it is paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.data.columns import Boolean, Categorical, Integer, Real
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.hazmat.entropy import SeededRandom
from discreet.learning.design import Design
from discreet.learning.linear import rows as linear_rows
from discreet.learning.linear.rows import (
    COUNT,
    LEFT,
    MEAN,
    RADIUS,
    ball,
    designs_for,
    noisy_count,
    noisy_sums,
    outside,
)
from discreet.learning.vectors.clipped_moments import SCALE, shrunk
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.release.allowance import Allowance

DOMAIN = Domain({"age": Integer(0, 100, nullable=True), "ward": Categorical(["a", "b", "c"]), "icu": Boolean()})
QUIET = Allowance(ZCDP(1e12), entries=100)  # so little noise that sums come out exactly


def extremes(domain=DOMAIN):
    """Every combination of least, middle and greatest positions."""
    ends = [sorted({0, column.size // 2, column.size - 1}) for column in domain.values()]
    return [np.array(found) for found in np.array(np.meshgrid(*ends)).reshape(len(ends), -1)]


def rows(n, *, seed=0, domain=DOMAIN):
    rng = np.random.default_rng(seed)
    return Records(domain, [rng.integers(0, column.size, n) for column in domain.values()])


def with_row(records, place):
    """The same rows and one more, an extreme one."""
    more = [values[place : place + 1] for values in extremes(records.domain)]
    held = [records.column(name) for name in records.domain]
    return Records(records.domain, [np.concatenate(pair) for pair in zip(held, more, strict=True)])


def test_the_shares_add_up_to_the_budget():
    assert COUNT + MEAN + RADIUS + LEFT == 1
    assert isinstance(LEFT, Fraction)


@pytest.mark.parametrize("bins", [0, 4])
def test_a_row_moves_the_sums_by_at_most_what_is_claimed(bins):
    """All extreme rows: the l2 and the l1 change, against the sensitivities that the noise is told."""
    design = Design(DOMAIN, bins)
    told = []

    class Told(Allowance):
        def noise(self, share, *, absolute, square):
            told.append((absolute, square))
            return super().noise(share, absolute=absolute, square=square)

    noisy_sums(rows(5), design, allowance=Told(ZCDP(1), entries=9), rng=SeededRandom(1))
    (absolute, square), moved = told[0], []
    base = design.integers(rows(5), scale=SCALE).sum(axis=0)
    for place in range(len(extremes()[0])):
        change = design.integers(with_row(rows(5), place), scale=SCALE).sum(axis=0) - base
        moved.append((np.abs(change).sum(), (change * change).sum()))

    assert max(moved)[0] <= absolute
    assert max(square_ for _, square_ in moved) == square  # tight: half of it would be caught
    assert max(moved)[0] > absolute // 2


def test_a_row_moves_the_scores_of_all_radii_by_at_most_one():
    design, centre, radii = Design(DOMAIN), np.full(6, 0.2), 3.0 * 2.0 ** (-np.arange(17) / 4)
    base = outside(design.floats(rows(20)) - centre, radii)
    changes = [
        outside(design.floats(with_row(rows(20), place)) - centre, radii) - base for place in range(len(extremes()[0]))
    ]

    assert np.min(changes) == 0
    assert np.max(changes) == 1


def test_the_count_is_paid_for_as_one_row():
    assert noisy_count(rows(20), allowance=QUIET, rng=SeededRandom(1)).rows == 20
    loud = noisy_count(rows(20), allowance=Allowance(ZCDP(0.5), entries=9), rng=SeededRandom(1))

    assert loud.sd == pytest.approx(1 / np.sqrt(2 * 0.5 * float(COUNT)), rel=1e-6)
    assert loud.least >= loud.sd


def test_integers_of_a_row_depend_on_no_other_row():
    found = ball(
        rows(50), Design(DOMAIN), noisy_count(rows(50), allowance=QUIET, rng=SeededRandom(1)),
        noise=1.0, allowance=QUIET, rng=SeededRandom(2),
    )  # fmt: skip
    together = found.integers(rows(50))
    alone = [
        found.integers(Records(DOMAIN, [rows(50).column(name)[i : i + 1] for name in DOMAIN]))[0] for i in range(50)
    ]

    assert np.array_equal(together, np.array(alone))


@pytest.mark.parametrize("radius", [0.05, 0.9, 1.7, 4.0])
def test_integers_are_never_longer_than_claimed(radius):
    found = linear_rows.Ball(Design(DOMAIN), np.full(6, 0.3), radius, 10.0, ())
    made = found.integers(Records(DOMAIN, extremes()))

    assert (made[:, 1:] ** 2).sum(axis=1).max() <= SCALE**2
    assert (made[:, 1:] ** 2).sum(axis=1).max() > 0.9 * SCALE**2 or radius > 2
    assert 1 <= found.constant <= SCALE


def test_the_rule_for_intervals_sees_the_noisy_count_only():
    wide = Domain({f"c{i}": Real(0, 1) for i in range(5)})
    few, many = (
        noisy_count(rows(n, domain=wide), allowance=QUIET, rng=SeededRandom(1)) for n in (100, 10_000)
    )  # fmt: skip

    assert [design.bins for design in designs_for(wide, None, few, allowance=QUIET, columns=1)] == [0]
    assert [design.bins for design in designs_for(wide, None, many, allowance=QUIET, columns=1)] == [0, 16]
    assert len(designs_for(wide, None, many, allowance=Allowance(ZCDP(1e-4), entries=9), columns=1)) == 1
    assert [design.bins for design in designs_for(wide, 3, few, allowance=QUIET, columns=1)] == [3]


def test_a_pure_budget_gets_laplace_noise_of_the_l1_change():
    noise = Allowance(PureDP(2), entries=9).noise(Fraction(1), absolute=3 * SCALE, square=3 * SCALE**2)

    assert noise.scale == 3 * SCALE


def test_shrinking_never_turns_a_vector_round():
    vector = np.array([1.0, -2.0])

    assert np.array_equal(shrunk(vector, 0.0), vector)
    assert np.array_equal(shrunk(vector, 10.0), np.zeros(2))
    assert np.array_equal(shrunk(np.zeros(2), 1.0), np.zeros(2))


@pytest.mark.parametrize("bins", [2, 3, 16, 1000])
@pytest.mark.parametrize("ends", [(0, 9), (0, 2**53 + 1), (-(2**62) + 1, 2**62 - 1)])
def test_intervals_and_numbers_are_exact_on_the_widest_ranges(bins, ends):
    """positions * bins and 2 * positions do not fit into 64 bits there."""
    domain, values = Domain({"a": Integer(*ends)}), ends[1] - ends[0] + 1
    cells = min(bins, values)
    places = sorted(
        {0, 1, values // 3, values // 2, values - 2, values - 1, -(-values // cells), -(-values // cells) - 1}
    )
    rows = Records(domain, [np.array(places, dtype=np.int64)])
    design = Design(domain, bins)

    assert design.floats(rows).argmax(axis=1).tolist() == [place * cells // values for place in places]
    assert (design.floats(rows).sum(axis=1) == 1).all()
    assert design.names[1] == f"a>={ends[0] - (-values // cells)}"
    assert Design(domain).floats(rows)[:, 0].tolist() == pytest.approx(
        [float(Fraction(2 * place - (values - 1), values - 1)) for place in places], abs=1e-15
    )
