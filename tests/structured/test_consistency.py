"""discreet.structured.marginals.consistency: each claim in the module docstring, in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data.records import Records
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP
from discreet.queries.marginals import marginals
from discreet.structured.marginals.consistency import non_negative
from discreet.structured.marginals.marginal_release import MarginalRelease
from discreet.structured.marginals.residual import residuals_of
from discreet.structured.marginals.residual_kernels import in_threads, project
from discreet.structured.marginals.residual_tables import answers, measured
from tests.structured.test_residual import mixed


def sorted_projection(table, total):
    """The nearest point of the simplex by sorting (Held, Wolfe, Crowder 1974)."""
    ordered = np.sort(table)[::-1]
    cuts = (np.cumsum(ordered) - total) / np.arange(1, len(table) + 1)
    last = np.flatnonzero(ordered > cuts)[-1]
    return np.maximum(table - cuts[last], 0)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=20), st.floats(0.5, 200))
def test_a_table_moves_to_the_nearest_one_without_negative_cells(table, total):
    made = np.array([table])
    project(made, total)

    assert made[0] == pytest.approx(sorted_projection(np.array(table), total), abs=1e-9)
    assert made.sum() == pytest.approx(total)


def test_a_total_of_zero_leaves_nothing():
    made = np.array([[3.0, -1.0, 2.0]])
    project(made, 0.0)

    assert made.tolist() == [[0, 0, 0]]


def test_threads_change_nothing():
    tables = np.random.default_rng(1).normal(size=(600, 500))
    alone, shared = tables.copy(), tables.copy()
    project(alone, 7.0)
    in_threads(project, shared, 7.0)

    assert shared.tolist() == alone.tolist()


@pytest.fixture(scope="module")
def noisy():
    """A workload with little data in many cells: residuals with noise, the true answers, and n."""
    workload = marginals(mixed(6, 5, 4, 7), 3)
    rows = Records.random(workload.domain, 400, seed=2)
    release = MarginalRelease(workload, budget=ZCDP(0.02), n=400)
    residuals = residuals_of(workload)
    found = release(rows, rng=SeededRandom(2)).unbiased
    values = np.zeros(residuals.coordinates)
    for group in residuals.tables:  # the coordinates of the noisy tables, each from any table that shows it
        from discreet.structured.marginals.residual_kernels import analyse
        from discreet.structured.marginals.residual_tables import corner, spread

        for row, start in enumerate(group.starts):
            table = found[start : start + int(np.prod(group.shape))].reshape(1, -1).copy()
            analyse(table, np.array(group.shape))
            for pattern, numbers in enumerate(group.parts):
                part = table.reshape(group.shape)[corner(pattern, len(group.shape))].reshape(1, -1)
                spread(values, residuals.starts[numbers[row : row + 1]], part)
    return workload, residuals, values, workload.answer(rows), found


def test_every_sweep_brings_the_tables_closer_to_the_truth(noisy):
    workload, residuals, values, truth, raw = noisy
    errors = [((raw - truth) ** 2).sum()]
    errors += [((non_negative(residuals, values, workload, sweeps=s) - truth) ** 2).sum() for s in (1, 2, 4, 8, 16)]

    assert (np.diff(errors) < 0).all()
    assert errors[-1] < errors[0] / 4


def test_cells_are_not_negative_and_totals_are_equal(noisy):
    workload, residuals, values, _, raw = noisy
    made = non_negative(residuals, values, workload)

    assert raw.min() < 0 <= made.min()
    assert [table.sum() for table in workload.tables(made).values()] == pytest.approx([400] * 4)


def test_the_sweeps_converge_to_tables_that_agree(noisy):
    workload, residuals, values, _, _ = noisy

    def disagreement(sweeps):
        made = workload.tables(non_negative(residuals, values, workload, sweeps=sweeps))
        first = [table.sum(axis=(1, 2)) for names, table in made.items() if names[0] == "c0"]
        return np.ptp(np.array(first), axis=0).max()

    few, many, most = disagreement(1), disagreement(8), disagreement(256)

    assert most < many < few
    assert most < 0.5 < few


def test_true_tables_stay_as_they_are():
    workload = marginals(mixed(3, 4, 2), 2)
    rows = Records.random(workload.domain, 100, seed=3)
    residuals = residuals_of(workload)
    values = measured(residuals, rows, lambda values, numbers, shape: values.astype(float))

    assert non_negative(residuals, values, workload) == pytest.approx(workload.answer(rows), abs=1e-9)
    assert answers(residuals, values, workload) == pytest.approx(workload.answer(rows), abs=1e-9)


def test_the_bound_on_non_negative_answers_holds():
    workload = marginals(mixed(6, 5, 4), 2)
    rows = Records.random(workload.domain, 300, seed=4)
    truth = workload.answer(rows)
    release = MarginalRelease(workload, budget=ZCDP(0.05))
    for seed in range(10):
        made = release(rows, rng=SeededRandom(seed))
        assert np.abs(made.answers - truth).max() <= made.accuracy(0.001)
        assert (np.abs(made.answers - truth) <= made.errors.each(1e-6)).all()
        assert ((made.answers - truth) ** 2).sum() < ((made.unbiased - truth) ** 2).sum()


def test_a_bound_that_forgot_the_move_would_be_caught():
    """An answer moved by 50 from a nearly exact one is off by 50: the noise alone does not say so."""
    from discreet.release.errors import Adjusted, SubGaussian

    near = SubGaussian(np.array([0.1]))
    moved = Adjusted(near, unbiased=np.array([100.0]), answers=np.array([50.0]))

    assert near.accuracy(0.05) < 50 <= moved.accuracy(0.05)


def test_a_release_of_tables_is_stored_with_both_kinds_of_answers(tmp_path):
    workload = marginals(mixed(4, 3), 1, weights=[1, 2])
    made = MarginalRelease(workload, budget=ZCDP(0.05))(Records.random(workload.domain, 50, seed=5))
    read = type(made).load(made.save(tmp_path / "tables.zip"))

    assert read.answers.tolist() == made.answers.tolist()
    assert read.unbiased.tolist() == made.unbiased.tolist()
    assert read.accuracy(0.05) == pytest.approx(made.accuracy(0.05))
    assert read.errors.each(0.1).tolist() == made.errors.each(0.1).tolist()
