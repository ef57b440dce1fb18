"""discreet.Client and discreet.Curator: the same questions, the same assertions, one after the other.

The service draws the system's noise in processes of its own, so that nothing here depends on a draw but what fails with
probability below 1e-6: intervals are at beta = 1e-8.
"""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from discreet import Client, Curator
from discreet.cli import app
from discreet.curator.answer import Answer
from discreet.curator.batch import Batch
from discreet.curator.explain import Explanation
from discreet.errors import BudgetExhausted, DomainError, ParameterError, UnsupportedError
from discreet.learning import LogisticRegression
from discreet.privacy import ZCDP, AddRemove, ApproxDP, PureDP, Replace
from discreet.queries import col, count, thresholds
from discreet.release.release import Release
from discreet.synthesis.synthetic import Synthetic
from tests.service.conftest import hospital
from tests.service.serving import patiently, serving

SQL = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY ward"
SURE = 1e-8
SERVICE = "\n[service]\nchildren = 1\nslot = 3.0\nmargin = 1.5\nrate = 100000\n"


def _rich(folder, service=""):
    """A hospital whose cap is no hindrance."""
    file = hospital(folder, service=service)
    file.write_text(file.read_text().replace('epsilon = "2"', 'epsilon = "8"'))
    return file


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(_rich(tmp_path_factory.mktemp("served"), SERVICE)) as found:
        yield found


@pytest.fixture(scope="module", params=["curator", "client"])
def held(request, tmp_path_factory):
    """A curator of a file, or a client of a service of one like it."""
    if request.param == "curator":
        found = Curator.open(_rich(tmp_path_factory.mktemp("opened")))
    else:
        running = request.getfixturevalue("service")
        found = Client(running.url, token=running.token("ada"))
    with found:
        yield found


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A curator to compare plans with."""
    with Curator.open(_rich(tmp_path_factory.mktemp("alone"))) as found:
        yield found


def test_tables_are_as_declared(held, alone):
    assert list(held.tables) == ["visits", "payroll"]
    for name, table in held.tables.items():
        one, other = (
            (t.domain, t.unit, t.rows_per_unit, t.groups_per_unit, t.n, t.version, t.public)
            for t in (table, alone.tables[name])
        )
        assert one == other


@pytest.mark.parametrize(
    "asked",
    [
        {"epsilon": 0.1},
        {"epsilon": "1/3", "beta": 0.01},
        {"budget": ApproxDP(0.5, 1e-7)},
        {"budget": ZCDP(0.001), "rows_per_unit": 1},
    ],
)
def test_an_explanation_is_word_for_word_the_curators(held, alone, asked):
    found = held.explain(SQL, **asked)

    assert isinstance(found, Explanation)
    assert str(found) == str(alone.explain(SQL, **asked))


def test_an_error_is_turned_into_an_epsilon(held, alone):
    sql = "SELECT COUNT(*) AS n FROM visits"

    assert held.explain(sql, error=50).epsilon == alone.explain(sql, error=50).epsilon


def test_workloads_are_explained(held, alone):
    found = held.explain(held.marginals("visits", 1, columns=["ward"]), table="visits", budget=ZCDP(0.001))

    other = alone.explain(alone.marginals("visits", 1, columns=["ward"]), table="visits", budget=ZCDP(0.001))

    assert isinstance(found, Batch)
    assert (found.text(), found.row, found.cost) == (other.text(), other.row, other.cost)


def test_a_question_is_answered_once_and_looked_at_in_many_ways(held):
    answer, _ = patiently(lambda: held.ask(SQL, epsilon=0.2, beta=SURE))
    again = held.ask(SQL, epsilon=0.2, beta=SURE)
    rows = answer.errors().to_pylist()

    assert isinstance(answer, Answer)
    assert answer.table.column_names == ["ward", "n", "cost"]
    assert [row["ward"] for row in rows] == ["cardiology", "oncology", "surgery"]
    assert rows[0]["n_low"] <= 1406 <= rows[0]["n_high"]
    assert rows[2]["n_low"] <= 0 <= rows[2]["n_high"]
    assert answer.cost == PureDP(0.2)
    assert answer.statement.startswith("Differentially private for one patient (at most 2 rows each) of 'visits'")
    assert answer.to_dict()["receipt"]["replayed"] is False
    assert again.receipt.replayed
    assert again.receipt.id == answer.receipt.id
    assert [part.tolist() for part in again.noisy] == [part.tolist() for part in answer.noisy]
    assert answer.errors(0.5).to_pylist()[0]["n_low"] > rows[0]["n_low"]  # other intervals, free
    assert answer.difference("n", 0, 1)[0] == rows[0]["n"] - rows[1]["n"]
    assert answer.plot().to_dict()["$schema"]
    assert "paid PureDP(epsilon=0.2)" in str(answer)


def test_what_was_spent_is_told_exactly(held):
    before = held.budget["patient"].balance.spent
    question = held.table("visits").where(col("age") >= 65).select(old=count())
    _, times = patiently(lambda: held.ask(question, epsilon="1/7", whole_counts=True))
    after = held.budget["patient"].balance.spent

    assert after.epsilon - before.epsilon == times * Fraction(1, 7)
    assert held.budget["patient"].balance.cap == ApproxDP(8, 1e-6)


@pytest.mark.parametrize(
    ("error", "match", "question", "asked"),
    [
        (DomainError, "no table 'visit'", "SELECT COUNT(*) AS n FROM visit", {"epsilon": 0.1}),
        (DomainError, "no column 'agee'", "SELECT AVG(agee) AS n FROM visits", {"epsilon": 0.1}),
        (ParameterError, "need epsilon > 0", "SELECT COUNT(*) AS n FROM visits", {"epsilon": 0}),
        (ParameterError, "0 < beta < 1", "SELECT COUNT(*) AS n FROM visits", {"epsilon": 0.1, "beta": 2.0}),
        (ParameterError, "only one of them", "SELECT COUNT(*) AS n FROM visits", {}),
        (UnsupportedError, "AddRemove", "SELECT COUNT(*) AS n FROM visits", {"budget": PureDP(1).under(Replace)}),
        (
            BudgetExhausted,
            "asks for epsilon 50.*, and .* is left of unit",
            "SELECT COUNT(*) AS n FROM visits",
            {"epsilon": 50},
        ),
    ],
)
def test_a_refusal_is_the_curators_own_and_free(held, error, match, question, asked):
    before = held.budget

    with pytest.raises(error, match=match):
        held.ask(question, **asked)
    assert held.budget == before


def test_made_up_rows_are_the_same(held, alone):
    assert held.mock("visits", 20, seed=3).equals(alone.mock("visits", 20, seed=3))


def test_clipping_bounds_are_one_question(held):
    found, _ = patiently(lambda: held.clipping_bounds("payroll", "salary", epsilon="0.3", beta=0.01))

    assert found.column.name == "integer"
    assert found.answer.cost == PureDP(0.3)
    assert 0 <= found.low < found.high <= 100_000


def test_a_workload_is_released(held):
    tables = held.marginals("visits", 1, columns=["ward", "readmitted"])
    asked = {"table": "visits", "budget": ZCDP(0.002), "mechanism": "IndependentNoise"}
    release, again = held.release(tables, **asked), held.release(tables, **asked)

    assert isinstance(release, Release)
    assert len(release.answers) == 5
    assert release.privacy() == ZCDP(0.002).under(AddRemove)
    assert release.to_pandas(["ward"]).columns.tolist() == ["ward", "answer", "low", "high"]
    assert again.receipt.replayed
    assert again.answers.tolist() == release.answers.tolist()


def test_thresholds_are_released(held):
    ages = thresholds(held.tables["visits"].domain.project(["age"]))

    assert len(held.release(ages, table="visits", epsilon=0.1, mechanism="IndependentNoise").answers) == 120


def test_the_ledger_can_be_read(held):
    patiently(lambda: held.ask(SQL, epsilon="1/9"))
    spends = [entry for entry in held.ledger.entries() if entry.record["kind"] == "spend"]

    assert any(entry.record["price"]["epsilon"] == "1/9" for entry in spends)


def test_rows_are_synthesized(held):
    told = []
    made = held.synthesize(
        table="visits",
        columns=["ward", "readmitted"],
        budget=ZCDP(0.002),
        rows=7,
        progress=lambda *now: told.append(now),
    )

    assert isinstance(made, Synthetic)
    assert made.sample().num_rows == 7
    assert made.privacy() == ZCDP(0.002).under(AddRemove)
    assert made.receipt.id > 0
    assert held.explain_synthesis(table="visits", columns=["ward"], epsilon=0.1)


def test_a_model_is_fitted(held):
    model = LogisticRegression()
    fitted = held.fit(model, table="visits", target="readmitted", columns=["age", "readmitted"], budget=ZCDP(0.002))

    assert fitted.privacy() == ZCDP(0.002).under(AddRemove)
    assert len(fitted.predict(held.mock("visits", 5))) == 5
    assert not hasattr(model, "guarantee_")


def _run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_commands_ask_a_service_too(service, monkeypatch, tmp_path):
    monkeypatch.setenv("DISCREET_URL", service.url)
    monkeypatch.setenv("DISCREET_TOKEN", service.token("grace"))
    monkeypatch.chdir(tmp_path)
    sql = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    explained = _run("explain", sql, "--epsilon", "0.01")
    asked, _ = patiently(lambda: _answered(_run("ask", sql, "--epsilon", "0.01", "--json")))
    shown = _run("ledger", "show", "--json")

    assert "nothing was spent" in explained.stdout
    assert [row["ward"] for row in json.loads(asked.stdout)["rows"]] == ["cardiology", "oncology", "surgery"]
    accounts = {(record["scope"], record["name"]) for record in json.loads(shown.stdout)}
    assert ("analyst", "grace") in accounts
    assert ("analyst", "ada") not in accounts  # who else asks how much is not told
    assert isinstance(_run("ask", sql, "--epsilon", "99").exception, BudgetExhausted)
    assert isinstance(_run("ask", sql, "--epsilon", "1", "--analyst", "ada").exception, UnsupportedError)
    assert isinstance(_run("ask", sql, "--epsilon", "1", "--curator", "other.toml").exception, ParameterError)


def _answered(result):
    if result.exception is not None:
        raise result.exception
    return result
