"""docs/guide/postgres.md: the statement it shows is the statement that is run."""

from __future__ import annotations

import re

import psycopg
import pytest

import discreet as dc
from discreet.data.engines import postgres
from tests.house.repository import ROOT


@pytest.fixture
def visits(fresh_postgres_url):
    with psycopg.connect(fresh_postgres_url, autocommit=True) as connection:
        connection.execute(
            "CREATE TABLE visits (patient bigint, name text, age integer, cost numeric(10, 2), day date)"
        )
        connection.execute(
            "INSERT INTO visits SELECT i % 400, 'N. N.', i % 100, i % 5000, DATE '2026-01-01' + i % 365 "
            "FROM generate_series(1, 4000) AS i"
        )
    domain = {"patient": dc.Identifier(), "age": dc.Integer(0, 119), "cost": dc.Real(0, 5000, step="0.01"),
              "day": dc.Date("2026-01-01", "2026-12-31")}  # fmt: skip
    return dc.Table(f"{fresh_postgres_url}#visits", unit="patient", rows_per_unit=3, domain=dc.Domain(domain))


def spaced(text):
    """The words, without how they are laid out and bracketed."""
    return " ".join(re.sub(r"[()]", " ", text).split())


def test_the_guide_shows_the_statement_that_is_run(visits, monkeypatch):
    page = (ROOT / "docs/guide/postgres.md").read_text()
    (shown,) = re.findall(r"^```text\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exact, seen = postgres._statement, []
    monkeypatch.setattr(postgres, "_statement", lambda *a: seen.append(exact(*a)) or seen[-1])
    curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger=":memory:")
    curator.ask("SELECT COUNT(*) AS n FROM visits WHERE day >= '2026-10-01'", epsilon=0.1)
    statement, at = spaced(seen[-1]), 0

    for part in shown.split("..."):
        found = statement.find(spaced(part).strip(), at)
        assert found >= 0, part
        at = found + 1
    assert statement.startswith(spaced(shown.split("...")[0]).strip())
    assert statement.endswith(spaced(shown.split("...")[-1]).strip())
    assert "name" not in statement


def test_a_curator_answers_from_postgresql(visits):
    """The questions of the README, of a table on a server: filters, groups, sub-queries and medians."""
    curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(100.0, 1e-6), ledger=":memory:")
    total = curator.ask("SELECT COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE age >= 50", epsilon=10).to_pandas()
    per_patient = (
        "WITH t AS (SELECT patient, SUM(cost) AS total FROM visits GROUP BY patient) "
        "SELECT AVG(LEAST(total, 10000)) AS m, COUNT(*) AS n FROM t"
    )

    assert abs(total["n"][0] - 3 * 200) < 30  # of 400 patients those of odd hundreds' second half; three rows of each
    assert abs(curator.ask(per_patient, epsilon=10).to_pandas()["n"][0] - 400) < 10
    assert 0 <= curator.ask("SELECT MEDIAN(cost) AS m FROM visits", epsilon=10).to_pandas()["m"][0] <= 5000
