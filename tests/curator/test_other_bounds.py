"""A stored answer is found under its own bounds and declaration alone: for every kind of order, whatever differs."""

from __future__ import annotations

import pyarrow as pa
import pytest

import discreet as dc
from discreet.curator import fit_run, synthesis_run
from discreet.curator.batch import batch
from discreet.curator.question import key_of
from discreet.learning import NaiveBayes, Ridge
from discreet.ledger import Ledger
from discreet.release.reading import sets_of

ROWS = pa.table({
    "patient": [1, 1, 2, 3], "person": [4, 4, 5, 6], "age": [3, 4, 5, 6], "ward": ["er", "icu", "er", "er"],
    "cost": [1.0, 2.0, 3.0, 4.0],
})  # fmt: skip
COLUMNS = {
    "patient": dc.Identifier(),
    "person": dc.Identifier(),
    "age": dc.Integer(0, 9),
    "ward": dc.Categorical(["er", "icu"]),
    "cost": dc.Real(0, 100),
}
DECLARED = {"unit": "patient", "rows_per_unit": 2, "groups_per_unit": 1, "version": 1}


def _table(**other: object) -> dc.Table:
    """The declaration, with something else in it: a column by its name, or a setting."""
    columns = {name: other.pop(name, column) for name, column in COLUMNS.items()}
    return dc.Table(ROWS, domain=dc.Domain(columns), **{**DECLARED, **other})


OTHERS = {
    "the least of an integer": {"age": dc.Integer(-1, 9)},
    "the largest of an integer": {"age": dc.Integer(0, 10)},
    "the values of a category": {"ward": dc.Categorical(["er", "icu", "or"])},
    "the order of the values": {"ward": dc.Categorical(["icu", "er"])},
    "the least of a real": {"cost": dc.Real(-1, 100)},
    "the largest of a real": {"cost": dc.Real(0, 101)},
    "how many rows a unit has": {"rows_per_unit": 3},
    "who the unit is": {"unit": "person"},
    "which rows these are": {"version": 2},
}


def _asked(curator, sql: str, **bounds: object) -> str:
    from discreet.curator.plan import plan

    query = curator.query(sql)
    return key_of(plan(query, query.source.table(), epsilon=1, **bounds))


def _released(curator, mechanism: str = "IndependentNoise") -> str | None:
    workload = curator.marginals("visits", 2)
    reading = curator._reading(workload.domain, "visits", sets=sets_of(workload))
    return batch(workload, "visits", reading, epsilon=1, mechanism=mechanism).key(None)


def _fitted(curator, model, target: str | None) -> str | None:
    columns = [name for name in ("age", "ward", "cost") if name != target]
    asked = {"table": "visits", "target": target, "columns": [*columns, target], "epsilon": 1, "budget": None}
    return fit_run.settle(curator, model, **asked).key()


def _synthetic(curator, method: str) -> str:
    return synthesis_run.ordered(curator, table="visits", epsilon=1, method=method).key()


KINDS = {
    "a count": lambda curator: _asked(curator, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    "a sum": lambda curator: _asked(curator, "SELECT SUM(age) AS a, AVG(cost) AS c FROM visits WHERE ward = 'er'"),
    "a quantile": lambda curator: _asked(curator, "SELECT MEDIAN(age) AS a FROM visits WHERE cost < 50"),
    "a release": _released,
    "a model": lambda curator: _fitted(curator, NaiveBayes(), "ward"),
    "another model": lambda curator: _fitted(curator, Ridge(), "cost"),
    "synthetic data": lambda curator: _synthetic(curator, "adaptive"),
    "synthetic data by independent columns": lambda curator: _synthetic(curator, "independent"),
}


def _key(kind: str, table: dc.Table) -> str:
    with dc.Curator({"visits": table}, budget=dc.PureDP(9), ledger=":memory:") as curator:
        return KINDS[kind](curator)


@pytest.mark.parametrize("kind", KINDS)
def test_no_two_declarations_share_an_answer(kind):
    keys = {name: _key(kind, _table(**other)) for name, other in OTHERS.items()} | {"as declared": _key(kind, _table())}

    assert None not in keys.values()
    assert len(set(keys.values())) == len(keys), keys
    assert _key(kind, _table()) == keys["as declared"]  # and it is found again


@pytest.mark.parametrize("bound", ["rows_per_unit", "groups_per_unit"])
def test_no_two_bounds_of_a_question_share_an_answer(bound):
    sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    with dc.Curator({"visits": _table(groups_per_unit=2)}, budget=dc.PureDP(9), ledger=":memory:") as curator:
        keys = [_asked(curator, sql), _asked(curator, sql, **{bound: 1}), _asked(curator, sql, **{bound: 2})]

        assert len(set(keys)) >= 2
        assert keys[1] != keys[2]


def test_what_is_found_under_other_bounds_is_paid_for(tmp_path):
    """From end to end: the second curator, with another bound, draws anew and is charged."""
    sql = "SELECT SUM(age) AS a FROM visits"
    with Ledger.open(tmp_path / "ledger.db") as ledger:
        for number, table in enumerate([_table(), _table(age=dc.Integer(0, 10)), _table(rows_per_unit=1)], start=1):
            curator = dc.Curator({"visits": table}, budget=dc.PureDP(9), ledger=ledger)
            curator.ask(sql, epsilon=1)
            curator.ask(sql, epsilon=1)

            assert sum(entry.record["kind"] == "spend" for entry in ledger.entries()) == number


def test_the_twin_that_leaves_bounds_out_of_a_key_is_caught(monkeypatch):
    """As in the slip: the key of a question without what its table declares."""
    monkeypatch.setattr(
        "tests.curator.test_other_bounds.key_of", lambda step: f"{step.query} {step.price}", raising=True
    )

    keys = {name: _key("a sum", _table(**other)) for name, other in OTHERS.items()}
    assert len(set(keys.values())) < len(keys)
