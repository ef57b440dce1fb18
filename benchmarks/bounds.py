"""Lower bounds: time of exact hereditary discrepancy, vector colourings beside cvxpy, certificates of gamma_2.

The peer of the vector bound is the same semidefinite program given to cvxpy's interior-point solver in the same run;
it has no certificate against rounding.  Nobody else computes hereditary discrepancy exactly, as far as we know.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import Row, absent, publish, size
from discreet.bounds import best, determinant_bound, discrepancy, gamma2
from discreet.bounds.discrepancy_vector import vector_bound
from discreet.data import Boolean, Domain
from discreet.privacy.guarantee import ZCDP
from discreet.queries import marginals, thresholds

SIZES = size(((14, 14), (14, 100), (16, 64)), quick=((6, 6), (6, 20)))
BITS = size(10, quick=4)


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    made = work()
    return made, time.process_time() - start


def _hereditary() -> list[Row]:
    """Exact, over all sets of columns."""
    rows = []
    for columns, queries in SIZES:
        matrix = np.random.default_rng(columns).integers(0, 2, (queries, columns))
        found, seconds = _timed(lambda matrix=matrix: discrepancy(matrix, hereditary=True))
        assert found.exact
        rows.append(
            Row(
                what=f"hereditary discrepancy, {queries} queries, {columns} cells: time",
                value=seconds,
                unit="cpu s",
                promise="<= 10",
                holds=seconds <= 10,
            )
        )
        rows.append(Row(what=f"hereditary discrepancy, {queries} queries, {columns} cells", value=found.upper, unit=""))
    return rows


def _vector() -> list[Row]:
    """The certified bound against the value of the relaxation by an independent solver."""
    rows = []
    for columns in size((16, 40), quick=(8,)):
        matrix = np.random.default_rng(columns).integers(0, 2, (columns, columns))
        found, seconds = _timed(lambda matrix=matrix, columns=columns: vector_bound(matrix, columns))
        rows.append(Row(what=f"vector colouring, {columns} cells: time", value=seconds, unit="cpu s"))
        if importlib.util.find_spec("cvxpy") is None:
            rows.append(absent("cvxpy"))
            continue
        value, spent = _timed(lambda matrix=matrix: _relaxation(matrix))
        ratio = math.sqrt(found.squared / value)
        holds = 0.99 <= ratio <= 1 + 1e-6
        rows.append(
            Row(
                what=f"vector colouring, {columns} cells: ours / cvxpy's value",
                value=ratio,
                unit="",
                promise="0.99 .. 1",
                holds=holds,
            )
        )
        rows.append(
            Row(what=f"vector colouring, {columns} cells: cvxpy's time / ours", value=spent / seconds, unit="x")
        )
    return rows


def _relaxation(matrix: np.ndarray) -> float:
    import cvxpy as cp

    columns = matrix.shape[1]
    gram, top = cp.Variable((columns, columns), PSD=True), cp.Variable()
    limits = [row @ gram @ row <= top for row in matrix.astype(float)]
    problem = cp.Problem(cp.Minimize(top), [*limits, cp.diag(gram) == 1])
    problem.solve(solver=cp.CLARABEL)
    return float(np.asarray(top.value).item())


def _gamma2() -> list[Row]:
    """Certificates to a thousandth."""
    rows, sets = [], size(128, quick=12)
    for name, workload in (
        ("thresholds(256)", thresholds(size(256, quick=16))),
        ("thresholds(512)", thresholds(size(512, quick=32))),
        ("2-way marginals of 10 bits", marginals(Domain({f"b{i}": Boolean() for i in range(BITS)}), 2)),
        ("128 random sets of 128 cells", np.random.default_rng(1).integers(0, 2, (sets, sets))),
    ):
        found, seconds = _timed(lambda workload=workload: gamma2(workload))
        rows.append(
            Row(
                what=f"gamma_2, {name}: upper / lower - 1",
                value=found.gap,
                unit="",
                promise="<= 1e-3",
                holds=found.gap <= 1e-3,
            )
        )
        rows.append(Row(what=f"gamma_2, {name}: time", value=seconds, unit="cpu s"))
    return rows


def _others() -> list[Row]:
    sets = size(100, quick=12)
    matrix = np.random.default_rng(3).integers(0, 2, (sets, sets))
    found, seconds = _timed(lambda: determinant_bound(matrix))
    workload = marginals(Domain({f"b{i}": Boolean() for i in range(BITS)}), 2)
    bound, spent = _timed(lambda: best(workload, n=10_000, guarantee=ZCDP(0.1)))
    return [
        Row(what="determinant bound, 100 random sets of 100 cells", value=found.value, unit=""),
        Row(what="determinant bound, 100 random sets of 100 cells: time", value=seconds, unit="cpu s"),
        Row(what=f"best bound ({bound.name}), 2-way marginals of 10 bits: time", value=spent, unit="cpu s"),
    ]


def measure() -> list[Row]:
    """All rows."""
    return [*_hereditary(), *_vector(), *_gamma2(), *_others()]


if __name__ == "__main__":
    sys.exit(0 if publish("bounds", measure()) else 1)
