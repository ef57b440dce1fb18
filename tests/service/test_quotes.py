"""discreet.service.quotes: an order explained for nothing, as its run would judge it, from declarations alone."""

from __future__ import annotations

import pytest

from discreet.service import quotes

ORDERS = {
    "release": {"kind": "release", "table": "visits", "workload": {"marginals": 2}, "epsilon": "0.5"},
    "thresholds": {"kind": "release", "table": "visits", "workload": {"thresholds": "age"}, "epsilon": "0.5"},
    "synthesis": {"kind": "synthesis", "table": "visits", "columns": ["ward", "age"], "epsilon": "0.5"},
    "fit": {"kind": "fit", "table": "visits", "model": "NaiveBayes", "target": "readmitted", "epsilon": "0.5"},
}


@pytest.mark.parametrize("kind", ORDERS)
def test_an_order_is_explained_for_what_it_would_cost_and_nothing_is_spent(served, kind):
    before = served("GET", "/v1/budget", as_="ada").json()
    told = served("POST", "/v1/jobs/explain", as_="ada", json=ORDERS[kind]).json()
    (unit,) = (one for one in told["after"]["units"]["patient"] if one["scope"] == "unit")

    assert told["price"] == {"epsilon": 0.5, "rho": 0.125, "delta": 0.0}
    assert (told["fits"], told["needs_approval"], unit["spent_epsilon"]) == (True, False, 0.5)
    assert served("GET", "/v1/budget", as_="ada").json() == before


def test_an_order_that_does_not_fit_says_so(served):
    told = served("POST", "/v1/jobs/explain", as_="ada", json={**ORDERS["release"], "epsilon": "5"}).json()

    assert told["fits"] is False


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("release", {"epsilon": "-5 bananas"}),
        ("release", {"workload": {"marginals": 9}}),
        ("release", {"workload": {"counts": ["nonsense"]}}),
        ("thresholds", {"workload": {"thresholds": "nonsense"}}),
        ("synthesis", {"columns": ["nonsense"]}),
        ("synthesis", {"method": "magic"}),
        ("synthesis", {"settings": {"table": "payroll"}}),
        ("fit", {"model": "Nothing"}),
        ("fit", {"target": "nonsense"}),
        ("fit", {"target": None}),
        ("fit", {"parameters": {"bins": 4, "nonsense": 1}}),
        ("fit", {"parameters": {"checkpoint": "/etc/passwd"}}),
    ],
)
def test_an_order_that_could_not_be_filled_is_not_explained(served, kind, change):
    body = {name: value for name, value in {**ORDERS[kind], **change}.items() if value is not None}
    reply = served("POST", "/v1/jobs/explain", as_="ada", json=body)

    assert (reply.status_code, reply.headers["content-type"]) == (400, "application/problem+json")


def test_an_audit_has_no_price_and_another_table_is_not_there(served):
    assert served("POST", "/v1/jobs/explain", json={"kind": "audit"}).status_code == 400
    other = {**ORDERS["release"], "table": "payroll"}
    assert served("POST", "/v1/jobs/explain", as_="ada", json=other).status_code == 404


def test_tables_are_counted_before_they_are_listed(served, monkeypatch):
    """The twin that lists them first fills the memory of the process that serves everybody."""
    monkeypatch.setattr(quotes, "workload_of", lambda *given: pytest.fail("they are listed"))
    monkeypatch.setattr(quotes, "TABLES", 2)
    reply = served("POST", "/v1/jobs/explain", as_="ada", json={**ORDERS["release"], "workload": {"marginals": 2}})

    assert reply.status_code == 400
    assert "at most 2 tables" in reply.json()["detail"]
