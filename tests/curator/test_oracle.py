"""discreet.curator.oracle_run: statistical queries on a table, paid for when the oracle is opened."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from discreet.curator import Curator
from discreet.data.columns import Boolean, Identifier, Real
from discreet.data.domain import Domain
from discreet.data.engines.duckdb import DuckDB
from discreet.data.table import Table
from discreet.errors import BudgetExhausted, DiscreetError, ParameterError
from discreet.learning import learn_linear
from discreet.privacy.guarantee import ZCDP, ApproxDP
from discreet.privacy.neighbours import AddRemove
from discreet.queries.statistical_pieces import Affine, Piece

DOMAIN = Domain(
    {"patient": Identifier(), "x": Real(0, 1, step="0.001"), "y": Real(0, 1, step="0.001"), "icu": Boolean()}
)
HALF = Piece(factors=(Affine.of({0: 1}),), low=0, high=1)  # the mean of x


def curator(tmp_path, *, rows_per_unit=1, n=4000):
    rng = np.random.default_rng(0)
    x = rng.random(n)
    frame = pd.DataFrame({"patient": np.arange(n), "x": x, "y": 0.5 * x + 0.2, "icu": x > 0.7})
    table = Table(frame, domain=DOMAIN, unit="patient", rows_per_unit=rows_per_unit)
    return Curator({"t": table}, budget=ApproxDP(100.0, 1e-6), ledger=tmp_path / "l.db")


def test_the_whole_price_is_due_when_it_is_opened(tmp_path):
    held = curator(tmp_path)
    oracle = held.oracle(table="t", queries=2, columns=["x", "y"], budget=ZCDP(0.5))

    assert held.budget.balance.spent.rho == 0.5
    assert oracle.answer(HALF)[0] == pytest.approx(0.5, abs=0.03)
    oracle.answer(HALF)
    with pytest.raises(BudgetExhausted):
        oracle.answer(HALF)
    assert held.budget.balance.spent.rho == 0.5
    assert oracle.privacy() == ZCDP(0.5, neighbours=AddRemove)


def test_a_learner_runs_on_the_table(tmp_path):
    oracle = curator(tmp_path).oracle(table="t", queries=60, columns=["x", "y"], budget=ZCDP(20))
    found = learn_linear(
        oracle,
        features=[Affine.scaled(0, 0, 1, reach=0.7), Affine.of({}, offset=0.7)],
        target=Affine.scaled(1, 0, 1),
        radius=2.0,
        rounds=30,
    )
    rows = np.array([[0.0, 0.0], [1.0, 0.0]])

    assert found.predict(rows) == pytest.approx([-0.6, 0.4], abs=0.15)  # 2 y - 1 at y = 0.2 and 0.7


def test_more_rows_of_a_unit_mean_more_noise(tmp_path):
    (tmp_path / "two").mkdir()
    one = curator(tmp_path).oracle(table="t", queries=1, columns=["x"], budget=ZCDP(0.5))
    two = curator(tmp_path / "two", rows_per_unit=2).oracle(table="t", queries=1, columns=["x"], budget=ZCDP(0.5))

    assert float(two.noise.mechanism.sigma) == pytest.approx(2 * float(one.noise.mechanism.sigma), rel=1e-6)


class Recording:
    """An engine that counts its passes."""

    def __init__(self):
        self.inner, self.asked, self.runs = DuckDB(), 0, 0

    def check(self):
        self.inner.check()

    def ready(self, table, aggregation):
        self.asked += 1
        self.inner.ready(table, aggregation)

    def run(self, table, aggregation):
        self.runs += 1
        return self.inner.run(table, aggregation)

    def sql(self, table, aggregation):
        return self.inner.sql(table, aggregation)


@pytest.mark.parametrize("of_table", [False, True])
def test_the_engine_of_the_table_reads_it_and_else_that_of_the_curator(tmp_path, of_table):
    mine, its = Recording(), Recording()
    frame = pd.DataFrame({"patient": np.arange(500), "x": 0.25, "y": 0.5, "icu": True})
    table = Table(frame, domain=DOMAIN, unit="patient", engine=its if of_table else None)
    held = Curator({"t": table}, budget=ApproxDP(100.0, 1e-6), ledger=tmp_path / "l.db", engine=mine)
    oracle = held.oracle(table="t", queries=2, columns=["x", "y"], budget=ZCDP(40))
    used, idle = (its, mine) if of_table else (mine, its)

    assert (used.asked, used.runs) == (1, 0)  # looked at before the charge, not read
    assert oracle.answer([HALF, HALF]) == pytest.approx([0.25, 0.25], abs=0.02)
    assert (used.asked, used.runs) == (1, 2)  # the number of rows, then the round
    assert (idle.asked, idle.runs) == (0, 0)


@pytest.mark.parametrize(
    "asked", [{"queries": 0}, {"columns": ["nothing"]}, {"table": "nowhere"}, {"columns": ["patient"]}, {"epsilon": 1}]
)
def test_what_is_refused_is_free(tmp_path, asked):
    held = curator(tmp_path)
    with pytest.raises((ParameterError, DiscreetError)):
        held.oracle(**{"table": "t", "queries": 2, "budget": ZCDP(0.5), **asked})

    assert held.budget.balance.spent.rho == 0
