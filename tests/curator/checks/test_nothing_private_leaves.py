"""What a curator hands out or raises holds public things only, wherever one looks."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.data.engines.duckdb import DuckDB
from discreet.data.graph import Graph
from discreet.learning import DecisionTreeClassifier, LogisticRegression, NaiveBayes
from discreet.queries.builder import count
from discreet.queries.marginals import marginals
from discreet.release import MWEM, IndependentNoise
from tests.curator.checks.reachable import holds_rows, secrets_in
from tests.data.postgres_tables import stored

NAME, NUMBER, PLACE = "Zebedee-Quux", 7_654_321_987, "secretly_placed"
PLANTED = [NAME, NUMBER, PLACE]
DOMAIN = dc.Domain({
    "patient": dc.Text(40), "code": dc.Integer(0, 10**10, nullable=True), "age": dc.Integer(0, 9), "ill": dc.Boolean(),
    "ward": dc.Categorical(["a", "b"]),
})  # fmt: skip
ROWS = pa.table({
    "patient": [NAME, *(f"p{i}" for i in range(60))], "code": [NUMBER, *range(60)], "age": [i % 10 for i in range(61)],
    "ill": [i % 3 == 0 for i in range(61)], "ward": ["ab"[i % 2] for i in range(61)],
})  # fmt: skip
PUBLIC = dc.Domain({name: DOMAIN[name] for name in ("age", "ill", "ward")})


def source(kind, tmp_path, postgres_url):
    match kind:
        case "arrow":
            return ROWS
        case "pandas":
            return ROWS.to_pandas()
        case "polars":
            import polars

            return polars.DataFrame(ROWS)
        case "parquet":
            pq.write_table(ROWS, tmp_path / f"{PLACE}.parquet")
            return str(tmp_path / f"{PLACE}.parquet")
        case "duckdb":
            with duckdb.connect(str(tmp_path / f"{PLACE}.duckdb")) as connection:
                connection.register("held", ROWS)
                connection.execute("CREATE TABLE visits AS SELECT * FROM held")
            return f"{tmp_path / PLACE}.duckdb::visits"
        case "postgres":
            return stored(postgres_url, ROWS)


KINDS = ["arrow", "pandas", "polars", "parquet", "duckdb", "postgres"]


@pytest.fixture(params=KINDS)
def curator(request, tmp_path):
    """The same rows in every kind of source."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else None
    held = source(request.param, tmp_path, url)
    engine = DuckDB(threads=1) if request.param != "postgres" else None
    table = dc.Table(held, domain=DOMAIN, unit="patient", rows_per_unit=2, groups_per_unit=2, engine=engine)
    people = dc.Table(held, domain=DOMAIN, unit="patient", engine=engine)
    with dc.Curator({"visits": table, "people": people}, budget=dc.ApproxDP(10**6, 0.01), ledger=":memory:") as made:
        yield made


PRICE = {"budget": dc.ApproxDP(1, 1e-6)}
SQL = {
    "count": "SELECT ward, COUNT(*) AS n, AVG(code) AS c FROM visits GROUP BY ward",
    "quantile": "SELECT MEDIAN(age) AS m FROM visits WHERE code > 5",
    "per unit": "SELECT SUM(c) AS s FROM (SELECT patient, COUNT(code) AS c FROM visits GROUP BY patient) AS t",
    "join": "SELECT COUNT(*) AS n FROM visits AS a LEFT JOIN visits AS b ON a.patient = b.patient",
    "stacked": "SELECT COUNT(*) AS n FROM (SELECT patient FROM visits UNION ALL SELECT patient FROM people) AS t",
}


def model(curator, made, **given):
    return curator.fit(made, table="visits", target="ill", columns=["age", "ward"], **PRICE, **given)


MADE = {
    **{f"ask, {name}": lambda c, sql=sql: c.ask(sql, **PRICE) for name, sql in SQL.items()},
    **{f"explain, {name}": lambda c, sql=sql: c.explain(sql, **PRICE) for name, sql in SQL.items()},
    "ask, again": lambda c: [c.ask(SQL["count"], **PRICE) for _ in range(2)][1],
    "query": lambda c: c.query(SQL["join"]),
    "builder": lambda c: c.table("visits").select(n=count()),
    "ask, built": lambda c: c.ask(c.table("visits").select(n=count()), **PRICE),
    "explain, workload": lambda c: c.explain(marginals(PUBLIC, 1), table="visits", **PRICE),
    "marginals": lambda c: c.marginals("visits", 1, columns=["age", "ill"]),
    "mock": lambda c: c.mock("visits", 3),
    "clipping": lambda c: c.clipping_bounds("visits", "code", **PRICE),
    "budget": lambda c: c.budget,
    "release": lambda c: c.release(marginals(PUBLIC, 1), table="visits", mechanism=IndependentNoise, **PRICE),
    "release, mwem": lambda c: c.release(marginals(PUBLIC, 1), table="visits", mechanism=MWEM, **PRICE),
    "explain, synthesis": lambda c: c.explain_synthesis(table="visits", columns=["age", "ill"], n=100, **PRICE),
    "synthesis": lambda c: c.synthesize(table="visits", columns=["age", "ill"], rows=3, **PRICE),
    "fit, linear": lambda c: model(c, LogisticRegression(budget=dc.ZCDP(1))),
    "fit, tree": lambda c: model(c, DecisionTreeClassifier(budget=dc.ZCDP(1))),
    "fit, bayes": lambda c: model(c, NaiveBayes(budget=dc.ZCDP(1))),
}
SLOW = {"fit, linear", "synthesis"}  # of rows in memory alone


@pytest.mark.parametrize("name", [name for name in MADE if name not in SLOW])
def test_nothing_private_is_in_what_is_handed_out(curator, name):
    assert secrets_in(MADE[name](curator), PLANTED) == []


@pytest.mark.parametrize("name", sorted(SLOW))
def test_nothing_private_is_in_what_is_learned(in_memory, name):
    assert secrets_in(MADE[name](in_memory), PLANTED) == []


def _bad(where):
    """A curator whose runs fail with rows in hand."""

    def failing(*_, **__):
        rows = ROWS.to_pylist()  # noqa: F841 - what the frame of an engine holds
        try:
            raise ValueError(f"cannot convert {NAME} of {NUMBER}")
        except ValueError as error:
            raise where from error

    return failing


RAISED = {
    "no such column": lambda c: c.ask("SELECT COUNT(nothing) FROM visits", **PRICE),
    "no such table": lambda c: c.ask("SELECT COUNT(*) FROM nothing", **PRICE),
    "no budget": lambda c: c.ask(SQL["count"], budget=dc.ApproxDP(10**7, 1e-6)),
    "no mechanism": lambda c: c.release(marginals(PUBLIC, 1), table="visits", mechanism="none", **PRICE),
    "no pure session": lambda c: c.session(table="visits", columns=["age"], budget=dc.ZCDP(1), queries=3),
    "no target": lambda c: c.fit(NaiveBayes(budget=dc.ZCDP(1)), table="visits", target="nothing", **PRICE),
    "no columns": lambda c: c.synthesize(table="visits", columns=["patient"], **PRICE),
}


@pytest.mark.parametrize("name", RAISED)
def test_nothing_private_is_in_what_is_refused(curator, name):
    with pytest.raises(dc.errors.DiscreetError) as caught:
        RAISED[name](curator)

    assert secrets_in(caught.value, PLANTED) == []


RUN = {
    "ask": lambda c: c.ask(SQL["count"], epsilon=1),
    "release": lambda c: c.release(marginals(PUBLIC, 1), table="visits", mechanism=IndependentNoise, epsilon=1),
    "synthesize": lambda c: c.synthesize(table="visits", columns=["age", "ill"], epsilon=1),
    "fit": lambda c: c.fit(NaiveBayes(budget=dc.PureDP(1)), table="visits", target="ill", columns=["age"], epsilon=1),
    "session": lambda c: c.session(table="visits", columns=["age"], budget=dc.PureDP(1), queries=3),
}


@pytest.fixture
def in_memory():
    given = {"domain": DOMAIN, "unit": "patient", "engine": DuckDB(threads=1)}
    held = dc.Table(ROWS, rows_per_unit=2, groups_per_unit=2, **given)
    with dc.Curator(
        {"visits": held, "people": dc.Table(ROWS, **given)}, budget=dc.ApproxDP(10**6, 0.01), ledger=":memory:"
    ) as made:
        yield made


@pytest.mark.parametrize("order", RUN)
@pytest.mark.parametrize(
    "error", [ValueError(NAME), KeyboardInterrupt(), MemoryError(), dc.errors.SourceError("no")], ids=repr
)
def test_an_error_leaves_without_the_frames_that_held_rows(in_memory, order, error, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", _bad(error))
    with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever it is
        RUN[order](in_memory)

    assert [way for secret, way in secrets_in(caught.value, [NUMBER])] == []
    if isinstance(error, KeyboardInterrupt):
        assert type(caught.value) is KeyboardInterrupt


@pytest.mark.parametrize("order", RUN)
def test_who_stops_an_order_is_told_what_was_charged(in_memory, order, monkeypatch):
    monkeypatch.setattr(DuckDB, "run", _bad(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        RUN[order](in_memory)
    last = list(in_memory.ledger.entries())[-1]

    (note,) = caught.value.__notes__
    assert f"was charged for this order, as entry {last.id} of the ledger" in note
    assert "no answer was kept" in note


def test_an_engine_that_is_stopped_says_that_it_was_stopped(in_memory, monkeypatch):
    """DuckDB makes an error of its own of Ctrl-C: it was told as a failed run."""
    monkeypatch.setattr(DuckDB, "_compute", _bad(RuntimeError("Query interrupted")))
    with pytest.raises(KeyboardInterrupt) as caught:
        RUN["ask"](in_memory)

    assert "was charged for this order" in caught.value.__notes__[0]


def test_who_stops_an_order_before_the_charge_is_told_nothing(in_memory, monkeypatch):
    monkeypatch.setattr(DuckDB, "ready", _bad(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        RUN["ask"](in_memory)

    assert not hasattr(caught.value, "__notes__")


def test_a_refusal_says_nothing_of_a_charge(in_memory):
    with pytest.raises(dc.errors.BudgetExhausted) as caught:
        in_memory.ask(SQL["count"], epsilon=10**7)

    assert not hasattr(caught.value, "__notes__")


def test_who_stops_the_charge_itself_is_sent_to_the_ledger(in_memory, monkeypatch):
    monkeypatch.setattr(type(in_memory.ledger), "spend", _bad(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt) as caught:
        RUN["ask"](in_memory)

    assert "may have been charged" in caught.value.__notes__[0]


def test_the_oracle_reaches_rows_through_its_curator_alone(in_memory):
    oracle = in_memory.oracle(table="visits", queries=2, columns=["age"], epsilon=1)

    assert secrets_in(oracle, PLANTED) == []
    with pytest.raises(dc.errors.UnsupportedError, match="cannot be copied"):
        pickle.dumps(oracle)


def test_what_must_hold_rows_cannot_be_copied_or_stored(in_memory):
    session = in_memory.session(table="visits", columns=["age"], budget=dc.PureDP(1), queries=3)
    held = [in_memory, in_memory.tables["visits"], session, Graph.from_edges([(0, 1)], vertices=2)]
    for thing in held:
        for stored_by in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be copied or stored"):
                stored_by(thing)


def test_a_declaration_can_be_stored_and_read_back():
    table = dc.Table(ROWS, domain=DOMAIN, unit="patient", rows_per_unit=3, version=2)
    again = pickle.loads(pickle.dumps(table.declaration))

    assert (again.domain, again.unit, again.rows_per_unit, again.version) == (DOMAIN, "patient", 3, 2)
    assert again.bare
    assert again.declaration is again
    assert not replace(again, source=ROWS).bare
    assert replace(table, rows_per_unit=5).declaration.rows_per_unit == 5


def test_an_answer_can_be_stored_and_read_back(in_memory):
    for sql in SQL.values():
        answer = in_memory.ask(sql, epsilon=1)
        again = pickle.loads(pickle.dumps(answer))

        assert again.table.equals(answer.table)
        assert json.dumps(again.to_dict(), default=str) == json.dumps(answer.to_dict(), default=str)


def test_a_twin_that_keeps_its_table_is_caught(in_memory):
    """The flaw that was there: the plan of an answer held the table it was asked of."""
    answer = in_memory.ask(SQL["count"], epsilon=1)
    twin = replace(answer, plan=replace(answer.plan, table=in_memory.tables["visits"]))

    assert holds_rows(twin.plan.table)
    with pytest.raises(TypeError, match="cannot be copied or stored"):
        pickle.dumps(twin)


def _hiding(how):
    """A planted value, hidden in one of the ways in which it could get out."""
    rows = ROWS.to_pylist()
    match how:
        case "closure":
            return lambda: rows
        case "frame":
            return _raised()
        case "array":
            return {"x": [np.array(ROWS["code"])]}
        case "text":
            return dc.errors.DiscreetError(f"no {NAME}")


def _raised():
    """An error from a frame of the library that held rows."""
    space = {"__name__": "discreet.twin", "rows": ROWS.to_pylist()}
    exec("def run():\n    held = rows\n    raise ValueError('no')", space)
    try:
        space["run"]()
    except ValueError as error:
        return error


@pytest.mark.parametrize("how", ["closure", "frame", "array", "text"])
def test_whoever_looks_everywhere_finds_what_is_hidden(how):
    assert secrets_in(_hiding(how), PLANTED) != []


@pytest.mark.parametrize("kind", ["person[]", f'STRUCT("{NAME}" INTEGER)', "MAP(person, INTEGER)"])
def test_a_type_of_a_database_shows_none_of_its_labels(tmp_path, kind):
    """An error said: column 'who' is of type ENUM('...', ...)."""
    path = tmp_path / "held.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TYPE person AS ENUM ('{NAME}', 'b')")
        connection.execute(f"CREATE TABLE t (who {kind}, x INTEGER)")
    domain = dc.Domain({"who": dc.Identifier(), "x": dc.Integer(0, 9)})
    made = dc.Curator({"t": dc.Table(f"{path}::t", domain=domain, unit="who")}, budget=dc.PureDP(9), ledger=":memory:")
    with made, pytest.raises(dc.errors.DiscreetError, match="column 'who' is of type") as caught:
        made.ask("SELECT COUNT(x) AS n FROM t", epsilon=1)

    assert secrets_in(caught.value, [NAME]) == []
