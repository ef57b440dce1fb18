"""discreet.release.models.fitted: each claim in the module docstring, in order."""

import itertools

import numpy as np
import pytest

from discreet.data.columns import Boolean, Integer
from discreet.data.domain import Domain
from discreet.data.records import Records
from discreet.errors import UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP, PureDP
from discreet.queries.marginals import marginals
from discreet.queries.products import parities
from discreet.release.independent import IndependentNoise
from discreet.release.models import fitted as module
from discreet.release.models.fitted import fitted

DOMAIN = Domain({"a": Integer(0, 3), "b": Integer(0, 2), "c": Boolean(), "d": Integer(0, 4)})


def released(rows, *, rho=1.0, weights=None, sets=2):
    workload = marginals(rows.domain, sets, weights=weights)
    return IndependentNoise(workload, budget=ZCDP(rho))(rows, rng=SeededRandom(1))


def chained(n=20_000):
    """b follows a, c follows b, d is alone."""
    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, n)
    b = np.where(rng.random(n) < 0.8, a % 3, rng.integers(0, 3, n))
    c = (b == 1) ^ (rng.random(n) < 0.1)
    return Records(DOMAIN, [a, b, c.astype(np.int64), rng.integers(0, 5, n)])


def test_the_model_has_the_tables_that_were_released():
    rows = chained()
    model = fitted(released(rows))

    for pair in itertools.combinations(DOMAIN, 2):
        assert np.abs(model.marginal(pair) - rows.marginal(pair)).sum() / (2 * len(rows)) < 0.02, pair


def test_tables_that_show_noise_alone_are_left_out():
    rng = np.random.default_rng(3)
    rows = Records(DOMAIN, [rng.integers(0, declared.size, 3000) for declared in DOMAIN.values()])
    model = fitted(released(rows, rho=0.001))
    table, first, second = model.marginal(["a", "d"]), model.marginal(["a"]), model.marginal(["d"])

    assert table == pytest.approx(np.outer(first, second) / model.total, rel=1e-6)


def test_a_small_model_keeps_every_column(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 0)
    rows = chained()
    model = fitted(released(rows))

    for name in DOMAIN:
        assert np.abs(model.marginal([name]) - rows.marginal([name])).sum() / len(rows) < 0.02


def test_weights_are_taken_out():
    rows = chained()
    model = fitted(released(rows, weights=[1, 2, 3, 1, 2, 3]))

    assert model.total == pytest.approx(len(rows), rel=0.01)


def test_rows_can_be_drawn_from_any_release_of_tables():
    made = released(chained()).synthetic(500, rng=SeededRandom(4))

    assert list(made) == list(DOMAIN)
    assert len(made) == 500


def test_other_releases_have_no_rows_to_draw():
    with pytest.raises(UnsupportedError, match="no model to draw rows from"):
        IndependentNoise(parities(3, 1), budget=PureDP(1))(Records.random(parities(3, 1).domain, 50, seed=1)).synthetic(
            5
        )
    with pytest.raises(UnsupportedError, match="a table with every column"):
        fitted(released(chained(), sets=[("a", "b")]))
