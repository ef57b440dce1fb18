"""discreet.curator.clipping: post-processing of one ordinary answer, and how wrong it may be."""

import random
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.curator import Curator
from discreet.curator.clipping import _equal, _powers, clipping_bounds, inside, reach
from discreet.data import Boolean, Domain, Identifier, Integer, Real, Table
from discreet.errors import BudgetExhausted, DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.mechanisms import Gaussian, Laplace
from discreet.privacy import ZCDP, ApproxDP, PureDP
from discreet.queries import Builder, avg, col, count
from tests.scale import counts

ROWS, RUNS = 4_000, counts(quick=400, full=20_000)
COST = np.random.default_rng(5).gamma(2.0, 400.0, ROWS).round(2)
BMI = [None if i % 3 == 0 else 20 + i % 11 / 2 for i in range(ROWS)]
DOMAIN = Domain({
    "patient": Identifier(),
    "cost": Real(0, 1_000_000, step="0.01"),
    "bmi": Real(-100, 100, step="0.5", nullable=True),
    "far": Integer(-(2**61), 2**61),
    "icu": Boolean(),
})  # fmt: skip


@pytest.fixture
def visits():
    columns = {"patient": np.arange(ROWS) // 4, "cost": COST, "bmi": BMI, "far": np.arange(ROWS) % 100 - 10}
    rows = pa.table(columns | {"icu": [False] * ROWS})
    return Table(rows, domain=DOMAIN, unit="patient", rows_per_unit=4)


@pytest.fixture
def curator(visits, ledger):
    return Curator({"visits": visits}, budget=ApproxDP(9.0, 1e-6), ledger=ledger, rng=SeededRandom(1))


@pytest.mark.parametrize("pay", [{"epsilon": 2}, {"budget": ZCDP(1)}], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("bins", [None, 200])
def test_the_rows_outside_are_no_more_than_it_says(curator, pay, bins):
    bounds = curator.clipping_bounds("visits", "cost", beta=1e-6, bins=bins, quantiles=(0.05, 0.95), **pay)
    below, above = sum(cost < bounds.low for cost in COST), sum(cost > bounds.high for cost in COST)
    alpha = reach(bounds.answer.plan.releases[0].mechanism, bins=len(bounds.answer.noisy[0]), beta=1e-6)

    assert below <= bounds.below
    assert above <= bounds.above
    assert below <= max(0.05 * ROWS + 1.05 * alpha, 2 * alpha)
    assert above <= max(0.05 * ROWS + 1.05 * alpha, 2 * alpha)
    assert bounds.high < 10_000  # of a declared million


def test_bounds_are_a_factor_of_two_from_the_quantiles(curator):
    bounds = curator.clipping_bounds("visits", "cost", epsilon=8)
    low, high = np.quantile(COST, [0.01, 0.99])

    assert low / 2.5 <= bounds.low <= 1.1 * low
    assert 0.9 * high <= bounds.high <= 2.5 * high
    assert str(bounds).startswith(f"from {bounds.low} to {bounds.high}; at most ")


def test_all_rows_of_a_unit_are_counted_whatever_bins_they_are_in(curator):
    """groups_per_unit is 1 here; it would leave a quarter of the rows, and none of that lowers the noise."""
    bounds = curator.clipping_bounds("visits", "cost", epsilon=2, beta=1e-6)
    alpha = reach(bounds.answer.plan.releases[0].mechanism, bins=len(bounds.answer.noisy[0]), beta=1e-6)

    assert abs(bounds.answer.noisy[0].sum() - ROWS) <= alpha
    assert bounds.answer.plan.releases[0].mechanism.sensitivity == 4


@pytest.mark.parametrize("bins", [None, 40])
def test_null_is_in_no_bin(curator, bins):
    bounds = curator.clipping_bounds("visits", "bmi", epsilon=8, bins=bins)

    assert abs(bounds.answer.noisy[0].sum() - sum(value is not None for value in BMI)) < 100
    assert bounds.column.nullable
    assert bounds.low <= 20 < 25 <= bounds.high <= 32


def test_the_empty_key_of_null_enters_nothing(curator):
    """A nullable column has a key for NULL, last, that holds noise alone."""
    bounds = curator.clipping_bounds("visits", "bmi", epsilon=1, bins=40)
    starts, noisy = _equal(-200, 200, 40), bounds.answer.noisy[0]
    beyond = [i for i, start in enumerate(starts) if start >= bounds.high * 2]
    alpha = reach(bounds.answer.plan.releases[0].mechanism, bins=len(starts), beta=0.05)

    assert len(noisy) == len(starts) + 1
    assert noisy[-1] != 0
    assert bounds.above == sum(noisy[beyond]) + alpha


def test_the_widest_range_that_can_be_declared_is_cut_to_size(curator):
    bounds = curator.clipping_bounds("visits", "far", epsilon=8)

    assert -16 <= bounds.low < 0
    assert 64 <= bounds.high <= 128
    assert bounds.column == Integer(bounds.low, bounds.high)


def test_it_is_paid_for_like_any_question_and_once(curator, ledger):
    first = curator.clipping_bounds("visits", "cost", epsilon=0.5)
    again = curator.clipping_bounds("visits", "cost", epsilon=0.5, quantiles=(0.1, 0.9))
    spends = [entry for entry in ledger.entries() if entry.record["kind"] == "spend"]

    assert len(spends) == 1
    assert again.answer.receipt.replayed
    assert not first.answer.receipt.replayed
    assert first.answer.cost == PureDP(0.5)
    assert again.high <= first.high
    with pytest.raises(BudgetExhausted):
        curator.clipping_bounds("visits", "cost", epsilon=90)


def test_the_narrowed_column_makes_sums_less_noisy(curator, visits, ledger):
    bounds = curator.clipping_bounds("visits", "cost", epsilon=1)
    narrow = Table(visits.source, domain=Domain({**DOMAIN, "cost": bounds.column}), unit="patient", rows_per_unit=4)
    better = Curator({"visits": narrow}, budget=ApproxDP(9.0, 1e-6), ledger=ledger, rng=SeededRandom(2))
    question = "SELECT SUM(cost) AS total FROM visits"
    wide, tight = (
        who.explain(question, epsilon=1).plan.releases[0].mechanism.accuracy(0.05) for who in (curator, better)
    )

    assert tight < wide / 100


def test_without_more_rows_than_noise_the_declared_range_is_returned(ledger):
    rows = pa.table({"patient": [1, 2], "cost": [5.0, 6.0]})
    domain = DOMAIN.project(["patient", "cost"])
    curator = Curator({"few": Table(rows, domain=domain, unit="patient")}, budget=PureDP(1), ledger=ledger,
                      rng=SeededRandom(1))  # fmt: skip
    bounds = curator.clipping_bounds("few", "cost", epsilon=0.1)

    assert (bounds.low, bounds.high, bounds.below, bounds.above) == (0, 1_000_000, 0, 0)


@pytest.mark.parametrize("seed", range(200))
def test_the_theorem_holds_for_any_noise_within_its_reach(seed):
    """Deterministic: whatever the noise does while no prefix or suffix sum of it exceeds alpha."""
    chance = random.Random(seed)
    k, alpha = chance.randrange(2, 30), chance.randrange(1, 40)
    truth = [chance.choice([0, 0, chance.randrange(300)]) for _ in range(k)]
    noise, walk = [], 0
    for _ in range(k):  # a walk that stays within alpha / 2, so that suffix sums stay within alpha
        step = chance.randint(-alpha // 2 - walk, alpha // 2 - walk)
        noise.append(step)
        walk += step
    noisy = [a + b for a, b in zip(truth, noise, strict=True)]
    q, p = Fraction(chance.randrange(1, 40), 100), Fraction(chance.randrange(50, 99), 100)
    first, last = inside(noisy, quantiles=(q, p), alpha=alpha)
    n = sum(truth)

    assert 0 <= first <= last < k
    if (first, last) != (0, k - 1):
        assert sum(truth[:first]) <= max(q * n + (1 + q) * alpha, 2 * alpha)
        assert sum(truth[last + 1 :]) <= max((1 - p) * n + (2 - p) * alpha, 2 * alpha)
        assert sum(truth[: first + 1]) > 0
        assert sum(truth[last:]) > 0


def test_quantiles_are_exact_without_noise():
    counts_ = [1, 0, 48, 2, 48, 1]

    assert inside(counts_, quantiles=(Fraction(1, 100), Fraction(99, 100)), alpha=0) == (2, 4)
    assert inside(counts_, quantiles=(Fraction(1, 200), Fraction(199, 200)), alpha=0) == (0, 5)
    assert inside(counts_, quantiles=(Fraction(49, 100), Fraction(51, 100)), alpha=0) == (3, 3)


@pytest.mark.statistical
@pytest.mark.parametrize("bins", [12, 28, 125])
@pytest.mark.parametrize(
    "mechanism",
    [Laplace(epsilon=Fraction(1, 2), sensitivity=4), Laplace(epsilon=1, sensitivity=1),
     Gaussian.with_sigma(5, sensitivity=1)],
    ids=["wide", "narrow", "Gaussian"],
)  # fmt: skip
def test_no_sum_of_the_noise_goes_beyond_its_reach_more_often_than_stated(mechanism, bins):
    """At beta = 0.1, of RUNS walks at most a tenth escape, and 5 standard deviations (one-sided 3e-7)."""
    noise = np.asarray(mechanism(np.zeros(RUNS * bins, dtype=np.int64), rng=SeededRandom(7))).reshape(RUNS, bins)
    sums = np.concatenate([noise.cumsum(axis=1), noise[:, ::-1].cumsum(axis=1)], axis=1)
    farthest = abs(sums).max(axis=1)
    alpha = reach(mechanism, bins=bins, beta=0.1)
    allowed = 0.1 * RUNS + 5 * (0.09 * RUNS) ** 0.5

    assert (farthest > alpha).sum() <= allowed
    assert (farthest > alpha / 2).sum() > allowed  # the broken twin: half of it


@pytest.mark.parametrize(
    ("low", "high"),
    [(0, 1), (-5, 9), (3, 4), (-4, -3), (1000, 1100), (-(2**62) + 1, 2**62 - 1), (0, 2**62 - 1), (-9, 0)],
)
def test_bins_start_in_order_from_the_declared_end_and_double(low, high):
    starts = _powers(low, high)
    anchor = min(max(0, low), high)
    widths = [b - a for a, b in zip(starts, [*starts[1:], high + 1], strict=True)]

    assert starts[0] == low
    assert starts == sorted(set(starts))
    assert starts[-1] <= high
    assert len(starts) <= 125
    assert all(
        width <= max(1, abs(start - anchor), abs(start + width - anchor))
        for start, width in zip(starts, widths, strict=True)
    )
    for bins in (2, 7, 100):
        equal = _equal(low, high, bins)
        assert 2 <= len(equal) <= bins
        assert equal[0] == low
        assert equal[-1] <= high < equal[-1] + equal[1] - equal[0]


def test_the_bins_in_sql_are_the_bins_in_python(visits, ledger):
    """Every value of a small range falls where the starts say."""
    values = list(range(-20, 31))
    rows = pa.table({"x": values})
    table = Table(rows, domain=Domain({"x": Integer(-20, 30)}), unit=None)
    curator = Curator({"t": table}, budget=PureDP(5000), ledger=ledger, rng=SeededRandom(3))
    for bins, starts in ((None, _powers(-20, 30)), (9, _equal(-20, 30, 9))):
        bounds = curator.clipping_bounds("t", "x", epsilon=500, bins=bins)
        expected = [sum(a <= x < b for x in values) for a, b in zip(starts, [*starts[1:], 31], strict=True)]

        assert bounds.answer.noisy[0].tolist() == expected  # at epsilon 500 the noise is zero


@pytest.mark.parametrize(
    "wrong",
    [{"quantiles": (0.5, 0.5)}, {"quantiles": (0, 0.9)}, {"quantiles": (0.9, 0.1)}, {"quantiles": (0.1, 1)},
     {"quantiles": (0.1,)}, {"quantiles": (float("nan"), 0.9)}, {"bins": 1}, {"bins": True}, {"bins": 10**6},
     {"beta": 0}, {"epsilon": 0}, {"epsilon": None}, {"epsilon": float("inf")}],
    ids=str,
)  # fmt: skip
def test_what_is_wrong_is_refused_before_anything_is_charged(curator, ledger, wrong):
    with pytest.raises(ParameterError):
        curator.clipping_bounds("visits", "cost", **{"epsilon": 0.1} | wrong)

    assert not [entry for entry in ledger.entries() if entry.record["kind"] == "spend"]


def test_only_declared_numbers_have_bounds(curator):
    with pytest.raises(UnsupportedError, match="Integer and Real"):
        curator.clipping_bounds("visits", "icu", epsilon=1)
    with pytest.raises(UnsupportedError, match="Integer and Real"):
        curator.clipping_bounds("visits", "patient", epsilon=1)
    with pytest.raises(DomainError, match="no column 'costs'; did you mean 'cost'"):
        clipping_bounds(curator, "visits", "costs", epsilon=1)
    with pytest.raises(DomainError, match="no table 'visit'; did you mean 'visits'"):
        curator.clipping_bounds("visit", "cost", epsilon=1)


def test_a_builder_is_asked_like_sql(curator):
    question = curator.table("visits").where(col("cost") > 100).select(n=count(), cost=avg("cost"))
    answer = curator.ask(question, epsilon=1)
    same = curator.ask("SELECT COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE cost > 100", epsilon=1)

    assert same.receipt.replayed
    assert same.table == answer.table
    assert curator.explain(question, epsilon=1).plan.query == question.query()
    with pytest.raises(DomainError, match="did you mean 'visits'"):
        curator.table("visit")


def test_a_builder_on_another_declaration_is_not_believed(curator, visits):
    """Narrower bounds in the builder's own table would buy less noise than the data needs."""
    narrow = Table(visits.source, domain=Domain({**DOMAIN, "cost": Real(0, 1, step="0.01")}), unit="patient")

    with pytest.raises(DomainError, match="not about the declared columns"):
        curator.ask(Builder("visits", narrow).select(n=avg("cost")), epsilon=1)
