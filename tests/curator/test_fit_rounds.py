"""Models that a curator fits by rounds of sums, where rows cannot be read: charged first, and no row leaves."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import discreet as dc
from discreet.data.engines.duckdb import DuckDB
from discreet.errors import ParameterError
from discreet.hazmat.entropy import SeededRandom
from discreet.learning import PCA, LinearRegression, LogisticRegression
from discreet.ledger import Ledger
from discreet.privacy.neighbours import AddRemove
from tests.data.postgres_tables import stored

DOMAIN = dc.Domain(
    {
        "patient": dc.Identifier(),
        "age": dc.Integer(0, 119),
        "cost": dc.Integer(0, 99_999),
        "ward": dc.Categorical(["a", "b", "c"], nullable=True),
        "late": dc.Boolean(),
    }
)


def visits(size=3000):
    dice = np.random.default_rng(1)
    age = dice.integers(0, 120, size)
    return pa.table(
        {
            "patient": pa.array(dice.integers(0, size // 2, size), pa.int64()),
            "age": pa.array(age, pa.int64()),
            "cost": pa.array(500 * age + dice.integers(0, 9000, size), pa.int64()),
            "ward": pa.array(dice.choice(["a", "b", None], size).tolist(), pa.string()),
            "late": pa.array(dice.random(size) < 1 / (1 + np.exp(4 - age / 15)), pa.bool_()),
        }
    )


def opened(source, ledger, **how):
    table = dc.Table(source, domain=DOMAIN, unit="patient", rows_per_unit=2, **how)
    return dc.Curator({"visits": table}, budget=dc.ZCDP(100), ledger=ledger, rng=SeededRandom(1))


def test_a_model_of_a_wide_table_on_postgresql_is_charged_first_and_learns(postgres_url):
    """On PostgreSQL and on a DuckDB that lets no row out the model is the same, byte for byte."""
    rows, found = visits(), []
    for source, how in ((stored(postgres_url, rows), {}), (rows, {"engine": DuckDB(reads_rows=False)})):
        with Ledger.open(":memory:", testing=True) as ledger:
            curator = opened(source, ledger, **how)
            line = curator.fit(LinearRegression(), table="visits", target="cost", budget=dc.ZCDP(5))
            steps = curator.fit(LogisticRegression(bins=0), table="visits", target="late", budget=dc.ZCDP(1))
            parts = curator.fit(PCA(1), table="visits", budget=dc.ZCDP(5))

            assert [entry.record["kind"] for entry in ledger.entries()].count("spend") == 3
            assert line.privacy() == dc.ZCDP(5).under(AddRemove)
        found.append(np.concatenate([line.coef_.ravel(), steps.coef_.ravel(), parts.components_.ravel()]))
        frame = rows.to_pandas()

        assert line.score(frame, frame["cost"]) > 0.9
        assert steps.score(frame, frame["late"]) > 0.7

    assert found[0].tolist() == found[1].tolist()


def test_a_vector_that_no_round_holds_is_refused_free():
    many = dc.Domain(
        {"patient": dc.Identifier(), "late": dc.Boolean(), "code": dc.Categorical([str(k) for k in range(700)])}
        | {name: dc.Integer(0, 999) for name in ("x", "y")}
    )
    table = dc.Table("nowhere.parquet", domain=many, unit="patient", rows_per_unit=1, engine=DuckDB(reads_rows=False))
    with Ledger.open(":memory:", testing=True) as ledger:
        curator = dc.Curator({"visits": table}, budget=dc.ZCDP(100), ledger=ledger)
        for model, target in ((LogisticRegression(), "late"), (LinearRegression(), "x"), (PCA(), None)):
            with pytest.raises(ParameterError, match="where an engine adds"):
                curator.fit(model, table="visits", target=target, budget=dc.ZCDP(1))

        assert [entry.record["kind"] for entry in ledger.entries()].count("spend") == 0
