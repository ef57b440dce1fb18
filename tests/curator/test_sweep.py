"""discreet.curator.sweep: error against budget on mock rows, with nothing read and nothing spent."""

import json

import pytest

from discreet.curator import Curator
from discreet.curator.sweep import sweep, sweepable
from discreet.data import Categorical, Domain, Integer, Table
from discreet.data.columns import Identifier
from discreet.errors import DomainError, ParameterError
from discreet.privacy.guarantee import PureDP
from tests.curator.commands import run

DOMAIN = Domain({"id": Identifier(), "age": Integer(0, 19), "ward": Categorical(list("abc"))})
NOWHERE = Table("nowhere.csv", domain=DOMAIN, unit="id")
FEW = {"budgets": (0.1, 10, 1e4), "rows": 300, "runs": 2}


@pytest.mark.parametrize("name", [name for name in sweepable() if not name.endswith(("Classifier", "Trees"))])
def test_more_budget_is_less_error_on_mock_rows_of_a_table_that_is_not_there(name):
    column = (
        "age" if name in ("Ridge", "LinearRegression", "PrivateQuantile", "SmoothMedian") or "Reg" in name else "ward"
    )
    found = sweep(NOWHERE, name, column="ward" if name == "LogisticRegression" else column, **FEW)

    assert found.points[-1].mean <= found.points[0].mean
    assert found.without == found.points[-1].mean
    assert "nothing was read, nothing was spent" in str(found)


def test_a_curator_sweeps_free_and_draws_stated_beside_observed(tmp_path):
    with Curator({"visits": NOWHERE}, budget=PureDP(1), ledger=":memory:") as curator:
        found = curator.sweep("IndependentNoise", table="visits", **FEW)
        entries = list(curator.ledger.entries())
        with pytest.raises(DomainError):
            curator.sweep("IndependentNoise", table="visit")

    assert not [entry for entry in entries if entry.record["kind"] == "spend"]
    assert found.points[0].stated > found.points[1].stated
    found.save(tmp_path / "sweep.json")
    drawn = json.loads((tmp_path / "sweep.json").read_text())
    kinds = {value["kind"] for layer in drawn["layer"] for value in layer["data"].get("values", []) if "kind" in value}
    assert kinds == {"observed, 95 %", "stated, 95 %"}


def test_a_budget_that_is_not_served_is_told_and_drawn_around():
    found = sweep(NOWHERE, "SmoothMedian", column="age", budgets=(1e-6, 1), rows=50, runs=1)

    assert "need epsilon >= 10^-5" in found.points[0].refused
    assert found.points[1].mean is not None


@pytest.mark.parametrize(
    ("name", "column"), [("Laplacian", None), ("Ridge", None), ("Ridge", "ward"), ("SmoothMedian", "nowhere")]
)
def test_what_cannot_be_swept_is_refused(name, column):
    with pytest.raises((ParameterError, DomainError)):
        sweep(NOWHERE, name, column=column, **FEW)


def test_the_command_prints_and_draws_without_a_ledger_or_a_row(tmp_path):
    file = tmp_path / "curator.toml"
    file.write_text(
        'ledger = "ledger.db"\n[budget]\nepsilon = 1\n[tables.visits]\nsource = "nowhere.csv"\nunit = "id"\n'
        '[tables.visits.columns]\nid = { type = "identifier" }\nage = { type = "integer", low = 0, high = 19 }\n'
        'ward = { type = "categorical", values = ["a", "b", "c"] }\n'
    )
    made = run(
        "bench", "--sweep", "IndependentNoise", "-c", str(file), "--rows", "50", "--plot", str(tmp_path / "s.svg")
    )

    assert made.exit_code == 0, made.output
    assert "IndependentNoise on 50 mock rows" in made.stdout
    assert (tmp_path / "s.svg").exists()
    assert not (tmp_path / "ledger.db").exists()
