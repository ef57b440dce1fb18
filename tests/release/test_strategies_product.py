"""discreet.release.strategies_product: Kronecker products, one factor at a time."""

import math

import numpy as np
import pytest

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.histogram import Histogram
from discreet.errors import ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import AddRemove, Replace
from discreet.queries.combined import kron
from discreet.queries.marginals import marginals
from discreet.queries.ordered import counts, ranges, thresholds
from discreet.release.factorization import Factorization
from discreet.release.strategies_product import ProductStrategy

AGE, BOX = Domain({"age": Integer(0, 5)}), Domain({"box": Integer(0, 3)})
PAIR = Domain({"icu": Boolean(), "smokes": Boolean()})
SMALL = kron(thresholds(AGE), marginals(PAIR, 1), ranges(BOX))  # a factor that does not determine its cells


@pytest.fixture(autouse=True)
def _every_product_is_large(monkeypatch):
    monkeypatch.setattr("discreet.release.factorization.LARGEST", 7)


@pytest.mark.parametrize("budget", [PureDP(1.0), ZCDP(0.5), ApproxDP(1.0, 1e-6)], ids=repr)
@pytest.mark.parametrize("n", [None, 40])
def test_the_product_measures_what_it_says(budget, n):
    mechanism = Factorization(SMALL, budget=budget, n=n)
    strategy, relation = mechanism.measured, mechanism.neighbours
    data = Histogram.random(SMALL.domain, n=40, seed=1)
    cells = np.asarray(data.counts).reshape(-1)
    unit = np.eye(len(cells), dtype=np.int64)
    columns = np.stack([strategy.measured(Histogram(SMALL.domain, row)) for row in unit], axis=1).astype(object)
    steps = columns if n is None else np.stack([columns[:, i] - columns[:, j] for i in range(96) for j in range(i)], 1)

    assert isinstance(strategy, ProductStrategy)
    assert (strategy.measured(data) == columns @ cells.astype(object)).all()
    bounds = strategy.absolute(relation), strategy.squared(relation)
    moved = abs(steps).sum(axis=0).max(), (steps**2).sum(axis=0).max()
    assert bounds == moved if n is None else all(a <= b for a, b in zip(moved, bounds, strict=True))
    assert np.allclose(strategy.answered(strategy.measured(data)), SMALL.answer(data), atol=1e-6)
    left = SMALL.matrix() @ np.linalg.pinv(columns.astype(float))
    assert np.allclose(strategy.variances / strategy.unit**2, (left**2).sum(axis=1))
    assert np.allclose(strategy.peaks / strategy.unit, np.abs(left).max(axis=1))


def test_the_value_is_the_product_of_the_values():
    mechanism = Factorization(kron(thresholds(AGE), ranges(BOX)), budget=ZCDP(0.5))
    one, other = (Factorization(w, budget=ZCDP(0.5)) for w in (thresholds(AGE), ranges(BOX)))

    assert mechanism.gamma2 == pytest.approx(one.gamma2 * other.gamma2, rel=1e-3)
    assert mechanism.lower_bound == pytest.approx(one.lower_bound * other.lower_bound)
    assert mechanism.lower_bound <= mechanism.gamma2 <= 1.001 * mechanism.lower_bound


def test_products_of_products_are_flat():
    nested = kron(thresholds(AGE), kron(counts(PAIR), ranges(BOX)))
    flat = kron(thresholds(AGE), counts(PAIR), ranges(BOX))
    data = Histogram.random(flat.domain, n=30, seed=2)
    one, other = (Factorization(w, budget=ZCDP(0.5)) for w in (nested, flat))

    assert one.gamma2 == other.gamma2
    assert one(data, rng=SeededRandom(1)).answers.tolist() == other(data, rng=SeededRandom(1)).answers.tolist()


def test_huge_counts_are_measured_exactly():
    mechanism = Factorization(kron(thresholds(AGE), ranges(BOX)), budget=ZCDP(0.5))
    strategy = mechanism.measured
    cells = np.full(24, 2**58, dtype=np.int64)
    small = strategy.measured(Histogram(mechanism.workload.domain, np.ones(24, dtype=np.int64)))

    assert [int(v) for v in strategy.measured(Histogram(mechanism.workload.domain, cells))] == [
        int(v) * 2**58 for v in small
    ]


@pytest.mark.statistical
def test_the_variances_of_the_answers_are_as_stated():
    """Failure probability 10^-6 at this seed."""
    from scipy.stats import chi2

    mechanism = Factorization(kron(thresholds(AGE), ranges(BOX)), budget=ZCDP(0.5))
    data = Histogram.random(mechanism.workload.domain, n=30, seed=2)
    true, rng, runs = mechanism.workload.answer(data), SeededRandom(3), 300
    errors = np.stack([mechanism(data, rng=rng).answers - true for _ in range(runs)])
    sums = (errors**2).sum(axis=0) / mechanism.variances()
    tail = 1e-6 / (2 * len(sums))

    assert (sums < chi2.isf(tail, runs)).all()
    assert (sums > chi2.ppf(tail, runs)).all()
    assert (sums / 0.7**2 > chi2.isf(tail, runs)).any()  # the twin: noise of seven tenths


def test_what_no_theorem_covers_is_refused(monkeypatch):
    workload = kron(thresholds(AGE), ranges(BOX))
    with pytest.raises(ParameterError, match="named strategy"):
        Factorization(workload, budget=ZCDP(0.5), strategy=np.eye(24))
    with pytest.raises(UnsupportedError, match="no lower bound"):
        Factorization(workload, budget=ZCDP(0.5), n=9).lower_bound  # noqa: B018 - it raises
    monkeypatch.setattr("discreet.release.factorization.LISTED", 20)
    with pytest.raises(UnsupportedError, match="up to 20"):
        Factorization(workload, budget=ZCDP(0.5))


def test_the_relation_decides_the_sensitivity():
    add, swap = (Factorization(kron(thresholds(AGE), ranges(BOX)), budget=ZCDP(0.5), n=n) for n in (None, 9))

    assert add.measured.squared(AddRemove) < swap.measured.squared(Replace) <= 4 * add.measured.squared(AddRemove)
    assert math.sqrt(add.variances().max()) == pytest.approx(add.gamma2, rel=1e-9)
