"""discreet.service.quotes: an order explained for nothing, as its run would judge it, from declarations alone."""

from __future__ import annotations

import tracemalloc

import pytest

from discreet.curator.synthesis_run import SETTINGS
from discreet.service import quotes
from discreet.service.running.work import BINS
from tests.service.conftest import opened

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


WRONG = (-1, 10**9, 10**400, 1e300, True, "x", [1] * 100, [[1]], {"age": "x"}, {"age": 10**9}, {"age": [[True], []]})


@pytest.mark.parametrize("wrong", WRONG, ids=lambda value: str(value)[:20])
@pytest.mark.parametrize("setting", SETTINGS)
def test_a_setting_of_the_wrong_kind_is_no_failure_and_fills_no_memory(served, setting, wrong):
    """A list of rounds was once multiplied by the cells of a model: four gigabytes for a request of two kilobytes."""
    order = {**ORDERS["synthesis"], "settings": {setting: wrong}}
    tracemalloc.start()
    try:
        reply = served("POST", "/v1/jobs/explain", as_="ada", json=order)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert reply.status_code in (200, 400), reply.text
    assert most < 100_000_000


def test_a_column_is_cut_into_no_more_intervals_than_a_process_can_plan(served):
    for settings in ({"most": BINS + 1}, {"bins": {"age": BINS + 1}}):
        reply = served("POST", "/v1/jobs/explain", as_="ada", json={**ORDERS["synthesis"], "settings": settings})

        assert (reply.status_code, "at most 100,000 intervals" in reply.text) == (400, True)


def test_a_release_of_more_answers_than_python_counts_is_refused_like_any_that_is_too_large(file):
    wide = "".join(f'\nn{place} = {{ type = "integer", low = 0, high = 1000000000 }}' for place in range(3))
    file.write_text(file.read_text().replace('\nreadmitted = { type = "boolean" }', wide))
    with opened(file) as served:
        for ways in (2, 3):
            order = {**ORDERS["release"], "workload": {"marginals": ways, "columns": ["n0", "n1", "n2"]}}
            reply = served("POST", "/v1/jobs/explain", as_="ada", json=order)

            assert (reply.status_code, "answers is too large" in reply.text) == (400, True), reply.text
