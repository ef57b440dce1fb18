"""discreet.service.routes: questions, datasets, budget and ledger, and what each does with the curator."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.curator import Curator
from discreet.service import desk
from discreet.service.running.outcome import Refused, Withheld
from discreet.service.wire import ARROW, CSV, PARQUET
from tests.service.conftest import TOML
from tests.service.inline import COUNT, ask

APPROVAL = '\n[service.approval]\nepsilon = "0.5"\n'
ONE_UNIT = TOML[: TOML.index("[tables.payroll]")]


def test_an_explanation_is_the_curators_and_spends_nothing(asking):
    reply = asking("POST", "/v1/explain", as_="ada", json={"question": COUNT, "epsilon": "0.1"}).json()
    with Curator.open(asking.app.state.path) as curator:
        known = curator.explain(COUNT, epsilon="0.1")
    before, after = (reply[when]["units"]["patient"] for when in ("before", "after"))

    assert {key: reply[key] for key in known.to_dict()} == json.loads(json.dumps(known.to_dict()))
    assert reply["text"] == str(known)
    assert [one["scope"] for one in before] == ["unit", "table", "analyst"]
    for old, new in zip(before, after, strict=True):
        assert Fraction(new["exact"]["epsilon"]) - Fraction(old["exact"]["epsilon"]) == Fraction(1, 10)
        assert Fraction(new["exact"]["rho"]) - Fraction(old["exact"]["rho"]) == Fraction(1, 200)
    assert (reply["fits"], reply["needs_approval"]) == (True, False)
    assert asking("GET", "/v1/ledger/anchor").json()["id"] == 2  # the first entry, and the caps of two units


def test_an_error_finds_its_epsilon(asking):
    reply = asking("POST", "/v1/explain", as_="ada", json={"question": COUNT, "error": 30}).json()

    assert reply["outputs"][0]["error"] <= 30
    assert reply["price"]["epsilon"] < 1


@pytest.mark.parametrize(("epsilon", "fits"), [("2", True), ("2.000001", False)])
def test_whether_a_question_fits_is_what_the_ledger_would_decide(asking, epsilon, fits):
    explained = asking("POST", "/v1/explain", as_="ada", json={"question": COUNT, "epsilon": epsilon}).json()

    assert explained["fits"] == fits
    assert ask(asking, epsilon=epsilon).status_code == (200 if fits else 409)


def test_an_answer_is_paid_for_by_the_tokens_principal(asking):
    reply = ask(asking)
    told = reply.json()
    entries = asking("GET", "/v1/ledger", as_="ada").json()["entries"]

    assert set(told) == {"rows", "columns", "beta", "cost", "price", "receipt", "statement", "released", "version"}
    assert [row["ward"] for row in told["rows"]] == ["cardiology", "oncology", "surgery"]
    assert reply.headers["Discreet-Receipt"] == str(told["receipt"]["id"])
    assert [(one["body"]["id"], one["body"]["analyst"]) for one in entries] == [(told["receipt"]["id"], "ada")]
    assert len(reply.content) % 1024 == 0


def test_the_same_question_is_the_same_answer_free_and_in_every_form(asking):
    first = ask(asking).json()
    again = ask(asking).json()
    arrow = ask(asking, headers={"Accept": ARROW})
    parquet = ask(asking, headers={"Accept": PARQUET})
    tables = [pa.ipc.open_stream(arrow.content).read_all(), pq.read_table(pa.BufferReader(parquet.content))]
    spends = asking("GET", "/v1/ledger", as_="ada").json()["entries"]

    assert again["rows"] == first["rows"]
    assert (first["receipt"]["replayed"], again["receipt"]["replayed"]) == (False, True)
    for reply, table in zip((arrow, parquet), tables, strict=True):
        assert table.to_pylist() == first["rows"]
        assert (len(reply.content) + len(reply.headers["Discreet-Padding"])) % 1024 == 0
        assert reply.headers["Discreet-Cost"] == first["cost"]
    assert len(spends) == 1


def test_what_is_asked_is_what_was_read_under_the_principals_tables(asking):
    ask(asking, question="select ward, count(*) as n from VISITS group by ward")

    (order,) = asking.app.state.runner.orders
    assert order.body["question"] == 'SELECT ward AS "ward", COUNT(*) AS "n" FROM "visits" GROUP BY ward'
    assert (order.principal, order.tables, order.key) == ("ada", ("visits",), None)


def test_a_refused_question_reaches_no_child_and_costs_nothing(asking):
    wrong = [{"question": "SELECT AVG(agee) AS a FROM visits"}, {"epsilon": -1}, {"beta": 2.0}, {"rows_per_unit": 0}]
    codes = {ask(asking, **more).status_code for more in wrong}
    codes.add(ask(asking, headers={"Accept": "text/html"}).status_code)

    assert codes == {400, 406}
    assert asking.app.state.runner.orders == []


def test_after_the_read_there_are_two_replies_and_both_have_public_lengths(asking):
    answered = ask(asking)
    asking.app.state.runner.outcome = Withheld(receipt={"id": 7})
    first = ask(asking, fresh=True)
    asking.app.state.runner.outcome = Withheld()
    second = ask(asking, fresh=True)
    told = [re.sub(r'"instance": "\w{16}"', "", reply.text) for reply in (first, second)]

    assert answered.status_code == 200
    assert (first.status_code, first.json()["type"]) == (424, "urn:discreet:problem:withheld")
    assert told[0] == told[1]
    assert len(first.content) == 1024


@pytest.mark.parametrize("there", [False, True], ids=["a file that is gone", "a column that is gone"])
def test_what_only_the_source_tells_is_for_the_operator(asking, there, caplog):
    source = asking.app.state.path.parent / "visits.parquet"
    held = pq.read_table(source)
    source.unlink()
    if there:
        pq.write_table(held.rename_columns(["patient", "wards", "age", "hidden", "readmitted"]), source)
    anchor = asking("GET", "/v1/ledger/anchor").json()
    with caplog.at_level("ERROR", logger="discreet.operator"):
        reply = ask(asking)

    assert (reply.status_code, reply.json()["type"]) == (400, "urn:discreet:problem:domain")
    assert not any(word in reply.text for word in (str(source.parent), "parquet", "wards", "hidden"))
    assert ("declared: ward" if there else "visits.parquet") in caplog.text
    assert reply.json()["detail"][-8:] in caplog.text  # by which the operator finds it
    assert not any(word in caplog.text for word in ("wards", "hidden"))
    assert asking("GET", "/v1/ledger/anchor").json() == anchor


def test_an_overfull_line_says_when_to_come_again(asking):
    problem = {"type": "urn:discreet:problem:too-many-requests", "title": "Too many requests", "status": 429}
    asking.app.state.runner.outcome = Refused(problem=problem | {"detail": "wait", "retry_after": 3})
    reply = ask(asking)

    assert (reply.status_code, reply.headers["Retry-After"]) == (429, "3")
    assert "retry_after" not in reply.json()


def test_an_explanation_is_made_for_each_principal_and_kept_for_them_alone(asking, monkeypatch):
    made, explained = [], desk.explained
    monkeypatch.setattr(desk, "explained", lambda *given, **more: made.append(1) or explained(*given, **more))
    body = {"question": COUNT, "epsilon": "0.1"}
    counts = []
    for who in ("ada", "ada", "analyst", "steward", "ada"):  # the last two see the same tables
        asking("POST", "/v1/explain", as_=who, json=body).raise_for_status()
        counts.append(len(made))

    assert counts == [1, 1, 2, 3, 3]


def test_explanations_are_kept_within_so_many_bytes_and_those_of_long_questions_not_at_all(asking, monkeypatch):
    found = asking.app.state.desk
    asking("POST", "/v1/explain", json={"question": COUNT, "epsilon": "0.1"}).raise_for_status()
    one = found._size
    monkeypatch.setattr(desk, "KEPT_BYTES", 3 * one + one // 2)
    for tenths in range(2, 8):
        asking("POST", "/v1/explain", json={"question": COUNT, "epsilon": f"0.{tenths}"}).raise_for_status()
    before = list(found._explanations)
    long = COUNT + " " * desk.KEPT_QUESTION
    asking("POST", "/v1/explain", json={"question": long, "epsilon": "0.1"}).raise_for_status()

    assert 1 <= len(before) <= 4
    assert found._size == sum(found._sizes.values()) <= desk.KEPT_BYTES
    assert list(found._explanations) == before == list(found._sizes)


def test_a_new_version_of_a_table_is_explained_anew(asking):
    file = asking.app.state.path
    body = {"question": COUNT, "epsilon": "0.1"}
    first = asking("POST", "/v1/explain", json=body).json()
    file.write_text(file.read_text().replace("rows_per_unit = 2", "rows_per_unit = 4"))
    asking.app.state.desk.look()
    second = asking("POST", "/v1/explain", json=body).json()

    assert second["outputs"][0]["error"] > 1.5 * first["outputs"][0]["error"]


@pytest.mark.parametrize("form", [None, ARROW, PARQUET, CSV])
def test_made_up_rows_come_in_four_forms_and_are_the_same_again(asking, form):
    headers = {} if form is None else {"Accept": form}
    one, other = (asking("GET", "/v1/datasets/visits/mock?rows=5&seed=3", as_="ada", headers=headers) for _ in range(2))

    assert one.content == other.content
    assert one.headers["content-type"].startswith(form or "application/json")


def test_an_analyst_sees_their_own_accounts_and_entries_and_no_others(asking):
    ask(asking)
    ask(asking, as_="analyst", question="SELECT AVG(salary) AS s FROM payroll")
    ask(asking, as_="analyst", epsilon="0.2")

    def accounts(as_):
        units = asking("GET", "/v1/budget", as_=as_).json()["units"]
        return {(unit, one["scope"], one["name"]) for unit, found in units.items() for one in found}

    def analysts(as_):
        return {one["body"].get("analyst") for one in asking("GET", "/v1/ledger", as_=as_).json()["entries"]}

    assert accounts("ada") == {
        ("patient", "unit", "patient"),
        ("patient", "table", "visits"),
        ("patient", "analyst", "ada"),
    }
    assert ("employee", "analyst", "the analyst") in accounts("analyst")
    assert not any(name == "ada" for *_, name in accounts("analyst"))
    assert (
        {("patient", "analyst", "ada"), ("patient", "analyst", "the analyst")}
        <= accounts("auditor")
        == accounts("steward")
    )
    assert analysts("ada") == {"ada"}
    assert analysts("analyst") == {"the analyst"}
    assert analysts("auditor") == analysts("steward") == {None, "ada", "the analyst"}


def test_the_ledger_is_read_a_page_at_a_time_in_both_directions(asking):
    for i in range(1, 4):
        ask(asking, epsilon=f"0.0{i}")
        ask(asking, as_="analyst", epsilon=f"0.0{i}")
    last = asking("GET", "/v1/ledger/anchor").json()["id"]
    numbers, start = [], 0
    while start is not None:
        page = asking("GET", f"/v1/ledger?start={start}&limit=4").json()
        numbers += [one["body"]["id"] for one in page["entries"]]
        start = page["next"]
    latest = asking("GET", "/v1/ledger?limit=4").json()
    own = asking("GET", "/v1/ledger?limit=2", as_="ada").json()

    assert numbers == list(range(last + 1))
    assert [one["body"]["id"] for one in latest["entries"]] == numbers[-4:]
    assert latest["earlier"] == last - 7
    assert [one["body"]["price"]["epsilon"] for one in own["entries"]] == ["1/50", "3/100"]
    assert asking("GET", f"/v1/ledger?start={last + 1}").json() == {
        "entries": [],
        "earlier": last - 99 if last > 99 else 0,
        "next": None,
    }


def test_the_ledger_is_verified_anchored_and_reported(asking):
    ask(asking)
    anchor = asking("GET", "/v1/ledger/anchor", as_="auditor").json()
    verified = asking("GET", "/v1/ledger/verify", as_="auditor").json()
    page = asking("GET", "/v1/ledger/report", as_="auditor", headers={"Accept": "text/html"})
    report = asking("GET", "/v1/ledger/report", as_="auditor").json()

    assert verified == {"verified": True, "entries": anchor["id"] + 1, "anchor": anchor}
    assert report["anchor"] == anchor
    assert page.headers["content-type"].startswith("text/html")
    assert "COUNT(*)" in page.text


def test_health_is_open_and_says_nothing_more(asking):
    assert asking("GET", "/v1/health", as_=None).json()["status"] == "ok"
    assert asking("GET", "/v1/ready", as_=None).json() == {"status": "ready"}


def test_a_service_without_children_is_not_ready(asking):
    """It lives, and cannot answer: whoever spreads the load is told."""
    asking.app.state.runner.ready = False
    without = asking("GET", "/v1/ready", as_=None)
    asking.app.state.runner = None
    before = asking("GET", "/v1/ready", as_=None)

    assert (without.status_code, before.status_code) == (503, 503)
    assert without.json()["detail"] == "the service is not ready"
    assert asking("GET", "/v1/health", as_=None).status_code == 200


def test_a_ledger_that_was_altered_is_not_called_whole(asking):
    ask(asking)
    with closing(sqlite3.connect(asking.app.state.path.parent / "ledger.db")) as raw, raw:
        raw.execute("DROP TRIGGER entries_update")
        raw.execute("UPDATE entries SET body = replace(body, '1/10', '1/20') WHERE id = 3")
    reply = asking("GET", "/v1/ledger/verify", as_="auditor")

    assert reply.status_code == 503
    assert "entry 3 was altered" in reply.json()["detail"]
    assert not asking("GET", "/v1/ledger/report", as_="auditor").json()["verified"]
