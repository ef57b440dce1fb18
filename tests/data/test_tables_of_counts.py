"""discreet.data.engines.tables_of_counts: each claim in the module docstring, in order."""

import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from discreet.data.columns import Boolean, Categorical, Identifier, Integer
from discreet.data.domain import Domain
from discreet.data.engines import tables_of_counts
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.tables_of_counts import TablesOfCounts, covers
from discreet.data.records import Records
from discreet.data.table import Table
from discreet.errors import DomainError, ParameterError, UnsupportedError
from discreet.hazmat.entropy import SeededRandom
from discreet.privacy.guarantee import ZCDP
from discreet.queries.marginals import marginals
from discreet.structured.marginals.marginal_release import MarginalRelease

DOMAIN = Domain(
    {
        "ward": Categorical(["a", "b", "c"]),
        "age": Integer(0, 9),
        "icu": Boolean(),
        'a "b"': Integer(1, 4, nullable=True),
    }
)
DECLARED = Domain({"patient": Identifier(), **DOMAIN})


class Passes:
    """An engine that counts how often it runs, and hides that it is DuckDB."""

    def __init__(self):
        self.inner, self.runs = DuckDB(threads=1), 0

    def check(self):
        self.inner.check()

    def ready(self, table, aggregation):
        self.inner.ready(table, aggregation)

    def run(self, table, aggregation):
        self.runs += 1
        return self.inner.run(table, aggregation)

    def sql(self, table, aggregation):
        return self.inner.sql(table, aggregation)


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    n = 400
    made = pd.DataFrame(
        {
            "patient": np.arange(n).astype(str),
            "ward": rng.choice(["a", "b", "c", "elsewhere", None], n),
            "age": rng.integers(0, 10, n),
            "icu": rng.random(n) < 0.3,
            'a "b"': pd.array(rng.integers(1, 5, n), dtype="Int64"),
        }
    )
    made.loc[rng.random(n) < 0.2, 'a "b"'] = pd.NA
    return made


@pytest.mark.parametrize("most", [1, 40, 1 << 20])
def test_tables_are_those_of_the_rows(frame, most, monkeypatch):
    """However few passes: rows with a NULL where none is declared are dropped from all tables alike."""
    monkeypatch.setattr(tables_of_counts, "MOST", most)
    sets = [s for t in range(4) for s in itertools.combinations(DOMAIN, t)]
    engine = Passes()
    counts = TablesOfCounts(Table(frame, domain=DECLARED, unit=None, engine=engine), sets, domain=DOMAIN)
    rows = Records.from_frame(frame, DOMAIN)

    counts.ready()
    assert engine.runs == 0
    for names, table in zip(sets, counts.marginals(sets), strict=True):
        assert table.tolist() == rows.marginal(names).tolist(), names
    assert engine.runs == counts.passes == {1: 4, 40: 4, 1 << 20: 1}[most]


def test_at_most_so_many_rows_of_a_unit_enter_each_pass(frame):
    crowd = pd.concat([frame.assign(patient="same"), frame], ignore_index=True)
    sets = [("age",), ("icu",)]
    table = Table(crowd, domain=DECLARED, unit="patient", rows_per_unit=3, groups_per_unit=1, engine=DuckDB(threads=1))
    alone = Table(frame, domain=DECLARED, unit="patient", rows_per_unit=3, groups_per_unit=1, engine=DuckDB(threads=1))
    with_unit, without = (TablesOfCounts(t, sets, domain=DOMAIN).marginals(sets) for t in (table, alone))

    assert [int((a - b).sum()) for a, b in zip(with_unit, without, strict=True)] == [3, 3]
    assert all((a - b).min() >= 0 for a, b in zip(with_unit, without, strict=True))


def test_sets_are_joined_while_they_are_small():
    domain = Domain({f"c{i}": Integer(0, 9) for i in range(12)})
    sets = [frozenset(pair) for pair in itertools.combinations(domain, 2)]
    joined = covers(sets, domain)

    assert all(any(names <= one for one in joined) for names in sets)
    assert all(10 ** len(one) <= 1 << 20 for one in joined)
    assert len(joined) <= 12  # of 66 tables


def test_too_many_passes_are_refused(monkeypatch):
    monkeypatch.setattr(tables_of_counts, "PASSES", 3)
    domain = Domain({f"c{i}": Integer(0, 999) for i in range(5)})

    with pytest.raises(UnsupportedError, match="more than 3 passes"):
        covers([frozenset(pair) for pair in itertools.combinations(domain, 2)], domain)


def test_tables_nobody_declared_are_refused(frame):
    counts = TablesOfCounts(Table(frame, domain=DECLARED, unit=None), [("age",)], domain=DOMAIN)

    with pytest.raises(ParameterError, match="within one of the declared sets"):
        counts.marginal(("icu",))
    with pytest.raises(ParameterError, match="in the order of the domain"):
        counts.marginal(("icu", "age"))


def test_counts_are_not_shown_copied_or_stored(frame):
    counts = TablesOfCounts(Table(frame, domain=DECLARED, unit=None), [("age",)], domain=DOMAIN)

    assert repr(counts) == "TablesOfCounts(passes=1)"
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(counts)


def test_a_release_is_the_same_from_rows_and_from_any_engine(frame):
    release = MarginalRelease(marginals(DOMAIN, 2), budget=ZCDP(0.1))
    engine = Passes()
    sources = [
        frame,
        Table(frame, domain=DECLARED, unit="patient"),
        Table(frame, domain=DECLARED, unit="patient", engine=engine),
        Table(frame, domain=DECLARED, unit=None, engine=DuckDB(plain=True)),
    ]
    made = [release(data, rng=SeededRandom(1)).unbiased.tolist() for data in sources]

    assert made[0] == made[1] == made[2] == made[3]
    assert engine.runs == 1


def test_the_curator_counts_the_tables_of_a_large_universe_where_they_are(monkeypatch, tmp_path):
    """On an engine that gives no rows: units are bounded in each pass, and other mechanisms are refused unpaid."""
    from discreet.curator.curator import Curator
    from discreet.privacy.guarantee import ApproxDP
    from discreet.release.mwem import MWEM

    monkeypatch.setattr(tables_of_counts, "MOST", 1000)
    columns = {f"c{i}": Integer(0, 9) for i in range(8)}
    rng, engine = np.random.default_rng(2), Passes()
    frame = pd.DataFrame(
        {"patient": rng.integers(0, 200, 600).astype(str)} | {c: rng.integers(0, 10, 600) for c in columns}
    )
    table = Table(
        frame, domain=Domain({"patient": Identifier(), **columns}), unit="patient", rows_per_unit=2, engine=engine
    )
    workload = marginals(Domain(columns), [("c0", "c1"), ("c2", "c3"), ("c4", "c5"), ("c6", "c7")])
    with Curator({"visits": table}, budget=ApproxDP(2.0, 1e-6), ledger=tmp_path / "ledger.db") as curator:
        release = curator.release(workload, table="visits", budget=ZCDP(0.05), mechanism=MarginalRelease)
        spent = curator.budget

        assert release.answers.shape == (400,)
        assert engine.runs == 4
        with pytest.raises(UnsupportedError, match="pass mechanism=MarginalRelease"):
            curator.release(workload, table="visits", budget=ZCDP(0.05), mechanism=lambda w, **k: MWEM(w, **k))
        assert curator.budget == spent


def test_units_with_several_rows_are_left_to_the_curator(frame):
    release = MarginalRelease(marginals(DOMAIN, 1), budget=ZCDP(0.1))

    with pytest.raises(UnsupportedError, match="paid for by Curator"):
        release(Table(frame, domain=DECLARED, unit="patient", rows_per_unit=2))


def test_a_table_of_another_declaration_is_refused(frame):
    other = Domain({**DECLARED, "age": Integer(0, 5)})

    with pytest.raises(DomainError, match="declares column 'age' otherwise"):
        MarginalRelease(marginals(DOMAIN, 1), budget=ZCDP(0.1))(Table(frame, domain=other, unit="patient"))
