"""discreet.bounds: the two tables, against the numbers they were first computed by, and their guards."""

from __future__ import annotations

import math

import numpy as np
import pytest

from discreet.bounds import lower_bounds
from discreet.bounds.interval_table import GAMMA2, gamma2_prefix, interval_table, root_squares
from discreet.bounds.marginals_table import marginals_gamma2, marginals_table
from discreet.bounds.open_questions import open_questions
from discreet.data import Boolean, Domain
from discreet.errors import ParameterError
from discreet.mechanisms.gaussian_sigma import analytic_sigma
from discreet.privacy.guarantee import ApproxDP
from discreet.queries import marginals
from discreet.queries.ordered import thresholds
from discreet.release.gamma2 import gamma2
from discreet.structured import GridQuantile
from discreet.structured.prefixes.prefix_levels import Levels, best_levels
from tests.house.repository import ROOT
from tests.scale import counts

SIZES = [size for size in GAMMA2 if 1 < size <= counts(quick=32, full=1024)]


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
    tolerance = 1e-6 if size <= 16 else 1e-5 if size <= 256 else 1e-4
    found, (low, high) = gamma2(thresholds(size), tolerance=tolerance), GAMMA2[size]

    assert low <= found.lower_bound
    assert found.value <= high


@pytest.mark.parametrize("root", ["measured", "known", "left out"])
def test_the_largest_variance_of_a_tree_is_that_of_all_its_prefixes(root):
    rng = np.random.default_rng(3)
    for _ in range(40):
        tree = Levels(radices=tuple(rng.integers(2, 7, rng.integers(1, 6)).tolist()), root=root)
        for count in (tree.cells, int(rng.integers(1, tree.cells + 1))):
            assert tree.largest(count) == pytest.approx(tree.variances(count).max(), rel=1e-9, abs=1e-12)
    with pytest.raises(ParameterError, match="a count from 1"):
        tree.largest(tree.cells + 1)


@pytest.mark.parametrize(("d", "once"), [(32, 63.99), (40, 86.83), (60, 149.0)])
def test_no_prefix_of_many_values_is_worse_than_the_table_says(d, once):
    """Random places, and one found digit by digit from there; the table once had the worst of 65,536 even places."""
    value = interval_table(d, 1.0, 1e-6)["pure: best tree"].value
    tree = best_levels(1 << d, pure=True, known=False, consistent=True)
    rng = np.random.default_rng(1)
    places = rng.integers(1, 1 << d, 1 << 16, endpoint=True)
    found = tree.variances(1 << d, places=places)
    place = int(places[found.argmax()])
    for _ in range(3):
        for level, radix in enumerate(tree.radices):
            size = tree.sizes[level]
            others = place + (np.arange(radix) - place // size % radix) * size
            others = others[(others >= 1) & (others <= 1 << d)]
            place = int(others[tree.variances(1 << d, places=others).argmax()])
    worst = float(tree.variances(1 << d, places=np.array([place])).max())

    assert once < math.sqrt(2 * found.max()) * tree.measured <= value * (1 + 1e-12)
    assert 0.999 * value <= math.sqrt(2 * worst) * tree.measured <= value * (1 + 1e-12)


def test_with_n_every_shape_has_its_number_and_claims_say_what_is_shown():
    for d, n in ((10, 10**5), (20, 10)):
        table = interval_table(d, 0.5, 1e-6, n=n)

        assert {entry.kind for entry in table} == {"exact", "shape only"}
        assert table["pure: state of the art"].value == pytest.approx((d + math.log(n) ** 2) / 0.5)
    notes = interval_table(10, 1.0, 1e-6)["pure: packing of the notes"]
    assert notes.claim == "error >= (ceil((d - 1) ln 2 / (2 epsilon)) - 1) / 2"
    assert notes.value == (math.ceil(9 * math.log(2) / 2) - 1) / 2 == 1.5  # not (d - 1) ln 2 / 4 = 1.56


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
    shown = [entry.shown for entry in table if entry.name[0].isdigit() and "proven" not in entry.name]

    assert shown == ["0.004593", "0.05851", "-", "0.01928", "0.001", "7.824e-05", "-", "1"]
    assert table["best factorization"].value == pytest.approx(0.000903, abs=5e-7)
    assert table["noise on each table"].value == pytest.approx(0.002972, abs=5e-7)
    assert table["7 fingerprints"].value == pytest.approx(0.01414, abs=5e-6)  # there, but not shown
    shapes = {entry.kind for entry in table if entry.name[0].isdigit() and "proven" not in entry.name}
    assert shapes == {"shape only", "no number", "suppressed"}


def test_the_lower_bounds_of_marginals_have_their_constants_too():
    """Below what the best factorization reaches, and those of `best` for a workload that is small enough."""
    for d, t, n, epsilon in ((10, 2, 1000, 1.0), (100, 2, 10**5, 1.0), (1000, 1, 100, 0.1), (50, 3, 10**400, 1.0)):
        table = marginals_table(d, t, n, epsilon, 1e-6)
        packed, traced = (table[f"{name}, proven"].value for name in ("6 counting", "7 fingerprints"))
        reached = (
            analytic_sigma(epsilon=epsilon, delta=1e-6, sensitivity=1) * marginals_gamma2(d, t) / n if n < 1e9 else 1
        )

        assert 0 <= traced <= math.sqrt(2) * reached  # noise for replaced rows is at most so much more
        assert 0 <= packed <= 6 * reached
        assert packed > 0 or n > 1e9
    workload = marginals(Domain({f"b{i}": Boolean() for i in range(10)}), 2)
    known = {bound.name: bound.value for bound in lower_bounds(workload, n=1000, guarantee=ApproxDP(1, 1e-6))}
    table = marginals_table(10, 2, 1000, 1, 1e-6)
    assert table["6 counting, proven"].value == pytest.approx(known["packing"] / 1000)
    assert table["7 fingerprints, proven"].value == pytest.approx(known.get("fingerprints", 0) / 1000)


def test_a_lower_bound_is_shown_only_where_it_is_below_what_is_reached():
    """Row 7 with the constant 1 would exceed what the best factorization reaches: beyond the guard it is hidden."""
    for d, t in [(20, 1), (100, 2), (50, 3)]:
        for power in range(1, 13):
            n = 10**power
            table = marginals_table(d, t, n, 1.0, 1e-6)
            row = table["7 fingerprints"]

            assert (row.kind == "suppressed") == (n >= d ** (t - 0.5) / t)
            assert row.kind != "suppressed" or row.shown == "-"
    for epsilon in (0.1, 1, 4):  # it crosses the first bound, without logarithms, at epsilon n = d^(t - 1/2) / t = 500
        for n in (100, 124, 126, 400, 499, 501, 4999, 5001):
            row = marginals_table(100, 2, n, epsilon, 1e-6)["7 fingerprints"]

            assert (row.kind == "suppressed") == (epsilon * n > 500)
            assert row.kind == "suppressed" or row.value < 100 / (epsilon * n)
    unguarded = marginals_table(100, 2, 10**5, 1.0, 1e-6)
    assert unguarded["7 fingerprints"].value > unguarded["best factorization"].value  # what the guard prevents


@pytest.mark.parametrize(("d", "t", "n"), [(1000, 500, 100), (10**6, 5 * 10**5, 10), (2000, 2000, 1), (3, 3, 10**400)])
def test_numbers_beyond_the_floats_are_left_out(d, t, n):
    table = marginals_table(d, t, n, 1, 1e-6)

    assert all(entry.value is None or math.isfinite(entry.value) for entry in table)
    assert (table["1 independent noise"].value is None) == (t > 100)


def test_logarithms_lose_nothing():
    for d, t in ((5, 1), (30, 7), (100, 50), (1000, 3)):
        plain = math.fsum(math.sqrt(math.comb(t, j) * math.comb(d, j)) for j in range(t + 1)) / 2**t
        table = marginals_table(d, t, 10**4, 1, 1e-6)
        sigma = analytic_sigma(epsilon=1, delta=1e-6, sensitivity=1)

        assert marginals_gamma2(d, t) == pytest.approx(plain, rel=1e-12)
        assert table["noise on each table"].value == pytest.approx(sigma * math.sqrt(math.comb(d, t)) / 1e4, rel=1e-12)


def test_a_result_that_is_named_without_a_number_has_its_row():
    """That of the register of open questions."""
    row = marginals_table(100, 2, 10**5, 1.0, 1e-6)["subexponential time"]

    assert (row.kind, row.value, row.shown) == ("no number", None, "-")
    assert row.claim == "o(1) for n >= t d^0.51"
    assert "poly(n, 2^o(d))" in row.note
    named = next(one for one in open_questions() if "d^0.51" in one.question)
    assert f'"{row.name}" of marginals_table' in named.here


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
