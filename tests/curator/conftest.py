"""A small hospital with known truth, and a curator on it whose ledger takes seeded noise."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator import Curator
from discreet.data import Boolean, Categorical, Domain, Identifier, Integer, Real, Table
from discreet.hazmat.entropy import SeededRandom
from discreet.ledger import Ledger
from discreet.privacy import ApproxDP
from tests.curator.commands import DECLARATION

DOMAIN = Domain({
    "patient": Identifier(),
    "ward": Categorical(["cardiology", "oncology", "surgery"]),
    "age": Integer(0, 119),
    "cost": Real(0, 5000, step="0.01"),
    "readmitted": Boolean(),
})  # fmt: skip


@pytest.fixture
def rows():
    """Ten thousand visits, one of each patient; nobody in surgery."""
    chance = np.random.default_rng(3)
    count = 10_000
    return pa.table({
        "patient": np.arange(count),
        "ward": chance.choice(["cardiology", "oncology"], count, p=[0.7, 0.3]),
        "age": chance.integers(0, 100, count),
        "cost": chance.gamma(2.0, 400.0, count).clip(0, 5000).round(2),
        "readmitted": chance.random(count) < 0.1,
    })  # fmt: skip


@pytest.fixture
def visits(rows):
    return Table(rows, domain=DOMAIN, unit="patient", rows_per_unit=2, groups_per_unit=2)


@pytest.fixture
def ledger():
    with Ledger.open(":memory:", testing=True) as found:
        yield found


@pytest.fixture
def curator(visits, ledger):
    return Curator({"visits": visits}, budget=ApproxDP(2.0, 1e-6), ledger=ledger, rng=SeededRandom(1))


@pytest.fixture
def home(tmp_path, rows, monkeypatch):
    """A folder with the rows and their declaration, in which commands are run."""
    for name in ("DISCREET_URL", "DISCREET_TOKEN", "DISCREET_CURATOR"):
        monkeypatch.delenv(name, raising=False)
    pq.write_table(rows, tmp_path / "visits.parquet")
    (tmp_path / "visits.toml").write_text(DECLARATION)
    monkeypatch.chdir(tmp_path)
    return tmp_path
