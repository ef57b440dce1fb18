"""discreet.service.log under the console: whose request a line is about, and which page made it."""

from __future__ import annotations

import logging

import pytest

from discreet.service import log
from tests.browser.test_pages import entered
from tests.service.conftest import hospital, opened
from tests.service.inline import COUNT, Inline

SLOT = 5.0


@pytest.fixture
def served(tmp_path):
    with opened(hospital(tmp_path, service=f"\n[service]\nslot = {SLOT}\nmargin = 1.0\n")) as found:
        found.app.state.runner = Inline(found.app)
        yield found


def _lines(caplog, work):
    """What is written down while something is done: of pages, and of the API."""
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="discreet.service"):
        reply = work()
    lines = [record.fields for record in caplog.records if hasattr(record, "fields")]
    return reply, [line for line in lines if "page" not in line], [line for line in lines if "page" in line]


def test_a_page_is_one_line_with_its_route_and_principal_and_the_id_that_its_visitor_was_told(served, caplog):
    door = entered(served, "analyst")
    reply, pages, calls = _lines(caplog, lambda: door("GET", "/datasets/visits"))

    (line,) = pages
    assert (line["route"], line["principal"], line["status"]) == ("/datasets/{name}", "the analyst", 200)
    assert line["request"] == reply.headers["Discreet-Request"]
    assert {call["route"] for call in calls} >= {"/v1/me", "/v1/datasets/{name}"}
    assert {call["page"] for call in calls} == {line["request"]}
    assert len({call["request"] for call in calls} | {line["request"]}) == len(calls) + 1


def test_signing_in_and_the_files_of_pages_have_their_routes_too(served, caplog):
    _, pages, calls = _lines(caplog, lambda: entered(served, "auditor"))
    _, files, none = _lines(caplog, lambda: entered(served)("GET", "/static/console.css"))

    assert {line["route"] for line in pages} == {"/signin"}
    assert pages[-1]["principal"] == "the auditor"
    assert {call["route"] for call in calls} == {"/v1/session"}
    assert files[-1]["route"] == "/static/{name}"
    assert none[-1]["page"] != files[-1]["request"]


def test_the_time_of_a_page_that_was_charged_is_that_of_its_slot(served, caplog):
    door = entered(served, "analyst")
    fields = {"csrf": door.csrf, "question": COUNT, "amount": "0.1", "currency": "epsilon", "key": "k1"}
    reply, pages, calls = _lines(caplog, lambda: door("POST", "/ask/answer", data=fields))
    _, free, _ = _lines(caplog, lambda: door("GET", "/budget"))

    assert reply.status_code == 200
    assert [line["milliseconds"] for line in pages] == [SLOT * 1000]
    assert [call["milliseconds"] for call in calls if call["route"] == "/v1/ask"] == [SLOT * 1000]
    assert free[0]["milliseconds"] != SLOT * 1000  # its own, however busy the machine is


def test_the_twin_that_does_not_give_the_id_back_is_caught(served, caplog, monkeypatch):
    door = entered(served, "analyst")
    monkeypatch.setattr(log, "end", lambda begun: None)
    reply, pages, calls = _lines(caplog, lambda: door("GET", "/datasets"))
    (line,) = [line for line in pages + calls if line["route"] == "/datasets"]

    assert line["request"] != reply.headers["Discreet-Request"]


def test_an_address_that_leads_nowhere_has_no_route(served, caplog):
    _, pages, _ = _lines(caplog, lambda: entered(served)("GET", "/nowhere/secret"))

    assert pages[-1]["route"] is None
    assert "secret" not in str(pages)
