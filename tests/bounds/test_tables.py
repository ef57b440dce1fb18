"""discreet.bounds: the two tables, against the numbers they were first computed by, and their guards."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.bounds.interval_table import GAMMA2, gamma2_prefix, interval_table, root_squares
from discreet.bounds.marginals_table import marginals_table
from discreet.errors import ParameterError
from discreet.queries.ordered import thresholds
from discreet.release.gamma2 import gamma2
from discreet.structured import GridQuantile
from tests.house.repository import ROOT
from tests.scale import counts

SIZES = [size for size in GAMMA2 if 1 < size <= counts(quick=32, full=256)]


@pytest.mark.parametrize(
    ("d", "pure", "gaussian", "packed"), [(10, 49.19, 44.31, 1.5), (20, 132.8, 86.58, 3.0), (32, 264.0, 137.3, 5.0)]
)
def test_intervals_have_the_known_errors(d, pure, gaussian, packed):
    table = interval_table(d, 1.0, 1e-6)

    assert table["pure: binary tree"].value == pytest.approx(pure, rel=1e-3)
    assert table["Gaussian: binary tree"].value == pytest.approx(gaussian, rel=1e-3)
    assert table["pure: packing of the notes"].value == packed
    assert table["pure: packing"].value >= packed


def test_the_square_root_and_gamma_2_at_a_thousand_values():
    table = interval_table(10, 1.0, 1e-6)

    assert table["Gaussian: square root"].value == pytest.approx(13.83, rel=1e-3)
    assert table["Gaussian: square root with gains"].value < 1.05 * table["Gaussian: gamma_2, at most"].value
    assert table["Gaussian: gamma_2, at least"].value <= 12.53 <= table["Gaussian: gamma_2, at most"].value + 0.05


@pytest.mark.parametrize("d", [1, 3, 10, 20, 32, 60])
def test_no_upper_bound_is_below_a_lower_one(d):
    table = interval_table(d, 0.5, 1e-8, n=10**6)
    values = {entry.name: entry.value for entry in table}

    assert values["Gaussian: gamma_2, at least"] <= values["Gaussian: gamma_2, at most"]
    assert values["Gaussian: gamma_2, at least"] <= values["Gaussian: square root"] * (1 + 1e-9)
    assert values["Gaussian: square root"] <= values["Gaussian: binary tree"] * (1 + 1e-9) or d == 1
    assert values["pure: best tree"] <= values["pure: binary tree"]
    assert values["approximate: log* of the notes"] > values["Gaussian: binary tree"]


@pytest.mark.parametrize("size", SIZES)
def test_the_stored_values_of_gamma_2_are_those_of_the_solver(size):
    found, (low, high) = gamma2(thresholds(size), tolerance=1e-6 if size <= 16 else 1e-5), GAMMA2[size]

    assert low <= found.lower_bound
    assert found.value <= high


def test_the_sum_of_squares_goes_over_into_its_expansion():
    exact_sum = root_squares(1 << 20)

    assert [root_squares(size) for size in (8, 16, 256, 1024)] == pytest.approx(
        [1.71838, 1.94388, 2.83105, 3.27255], abs=6e-6
    )
    assert (math.log(1 << 20) + 0.5772156649 + math.log(16)) / math.pi == pytest.approx(exact_sum, abs=1e-6)
    low, high = gamma2_prefix(1 << 30)
    assert gamma2_prefix(1 << 22)[0] < low < high


def test_marginals_have_the_known_shapes():
    table = marginals_table(100, 2, 10**5, 1.0, 1e-6)
    shown = [entry.shown for entry in table if entry.name[0].isdigit()]

    assert shown == ["0.004593", "0.05851", "-", "0.01928", "0.001", "7.824e-05", "-", "1"]
    assert table["best factorization"].value == pytest.approx(0.000903, abs=5e-7)
    assert table["noise on each table"].value == pytest.approx(0.002972, abs=5e-7)
    assert table["7 fingerprints"].value == pytest.approx(0.01414, abs=5e-6)  # there, but not shown
    assert {entry.kind for entry in table if entry.name[0].isdigit()} == {"shape only", "no number", "suppressed"}


def test_a_lower_bound_is_shown_only_where_it_is_below_what_is_reached():
    """Row 7 with the constant 1 would exceed what the best factorization reaches: beyond the guard it is hidden."""
    for d, t in [(20, 1), (100, 2), (50, 3)]:
        for power in range(1, 13):
            n = 10**power
            table = marginals_table(d, t, n, 1.0, 1e-6)
            row = table["7 fingerprints"]

            assert (row.kind == "suppressed") == (n >= d ** (t - 0.5) / t)
            assert row.kind != "suppressed" or row.shown == "-"
    unguarded = marginals_table(100, 2, 10**5, 1.0, 1e-6)
    assert unguarded["7 fingerprints"].value > unguarded["best factorization"].value  # what the guard prevents


def test_bounds_outside_their_hypotheses_have_no_number():
    assert marginals_table(10, 3, 1000, 1.0, 1e-6)["4 projection"].value is None
    assert marginals_table(10, 1, 1000, 1.0, 1e-6)["8 signatures"].value is None
    assert marginals_table(2, 1, 1000, 1.0, 1e-6)["1 independent noise"].value is None


def test_one_median_is_within_the_bound_of_the_notes():
    """Data of 101 rows all over 2^10 values: the rank error exceeds the bound in at most 0.05 of the draws."""
    table, rng = interval_table(10, 1.0, 1e-6), np.random.default_rng(1)
    cells = np.bincount(rng.integers(0, 1024, 101), minlength=1024)
    law = GridQuantile(quantile=0.5, epsilon=1.0, size=1024, method="exponential").probabilities(cells)
    before, upto = np.cumsum(cells) - cells, np.cumsum(cells)
    error = np.maximum(0, np.maximum(before - 50.5, 50.5 - upto))

    assert table["pure: one median, the notes"].value == pytest.approx(2 * math.log(1024 / 0.05))
    assert table["pure: one median, here"].value <= table["pure: one median, the notes"].value
    assert law[error > table["pure: one median, here"].value].sum() <= 0.05
    assert law[error > 0.05 * table["pure: one median, here"].value].sum() > 0.05  # a bound of nothing would be caught


def test_tables_print_as_markdown():
    text = str(interval_table(10, 1.0, 1e-6))
    lines = text.splitlines()[2:]

    assert all(line.count("|") == 6 for line in lines)
    assert "shape only" in text
    assert "exact" in text


@pytest.mark.parametrize(
    "wrong", [{"d": 0}, {"d": 2.0}, {"d": True}, {"epsilon": 0}, {"delta": 1}, {"delta": math.nan}]
)
def test_parameters_outside_their_domain_are_refused(wrong):
    with pytest.raises(ParameterError):
        interval_table(**({"d": 10, "epsilon": 1, "delta": 1e-6} | wrong))
    with pytest.raises(ParameterError):
        marginals_table(**({"d": 10, "t": 2, "n": 100, "epsilon": 1, "delta": 1e-6} | wrong))
    with pytest.raises(ParameterError):
        marginals_table(3, 4, 10, 1, 1e-6)


@pytest.mark.parametrize(
    "table",
    [interval_table(20, 1.0, 1e-6, n=1_000_000), marginals_table(100, 2, 100_000, 1.0, 1e-6)],
    ids=["intervals", "marginals"],
)
def test_the_guide_shows_the_tables_as_they_are_computed(table):
    assert str(table) in (ROOT / "docs/guide/which_method.md").read_text()
