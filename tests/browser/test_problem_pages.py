"""What goes wrong is told in a page, or in a piece of one, and never as the raw text of a program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from discreet.service.console import ask, datasets
from discreet.service.console.page import PART, templates
from discreet.service.settings import Settings
from tests.browser.test_pages import ABROAD, Door, entered
from tests.service.conftest import opened

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
QUESTION = {"question": "SELECT COUNT(*) AS n FROM visits", "amount": "0.1"}


def test_addresses_that_are_none_are_told_in_a_page_to_a_browser_and_in_json_to_a_program(served):
    door = entered(served)
    for path, status in (("/nowhere", 404), ("/ask/answer", 405), ("/jobs", 404)):
        shown, told = door("GET", path, headers=BROWSER), door("GET", path)

        assert (shown.status_code, told.status_code) == (status, status), path
        assert "<h1" in shown.text, path
        assert shown.headers.get("allow") == told.headers.get("allow"), path
        assert told.headers["content-type"] == "application/problem+json", path
    assert door("GET", "/v1/nowhere", headers=BROWSER).headers["content-type"] == "application/problem+json"


def test_a_form_that_is_too_large_is_told_in_a_page(served):
    door = entered(served)
    most = served.app.state.settings.body
    reply = door("POST", "/ask", data={"csrf": door.csrf, "question": "x" * most}, headers=BROWSER)

    assert reply.status_code == 413
    assert "<h1" in reply.text


def test_a_session_that_is_no_text_leads_to_the_door(served):
    for odd in (b"\xe9", b"a b", b"a\x7fb"):
        reply = Door(served)("GET", "/datasets", headers={b"cookie": b"discreet=" + odd})

        assert (reply.status_code, reply.headers["location"]) == (303, "/signin?next=/datasets"), odd


def test_an_error_that_nobody_foresaw_is_a_page_without_its_words(served, monkeypatch):
    door = entered(served)

    def broken(*given):
        raise RuntimeError("a private value")

    monkeypatch.setattr(datasets, "first_question", broken)
    reply = door("GET", "/datasets/visits")

    assert (reply.status_code, "<h1" in reply.text) == (503, True)
    assert "a private value" not in reply.text
    assert reply.headers["discreet-request"] in reply.text  # as in the operator's log
    assert door("GET", "/datasets").status_code == 200


def test_a_script_gets_pieces_of_pages_and_knows_them_from_everything_else(served, monkeypatch):
    door = entered(served, "analyst")
    csrf, part = door.csrf, {PART: "yes"}
    priced = door("POST", "/ask/price", data={"csrf": csrf, **QUESTION}, headers=part)
    wrong = door("POST", "/ask/price", data={"csrf": csrf, **QUESTION, "question": "SELECT"}, headers=part)
    old = door("POST", "/ask/price", data={"csrf": "0" * 64, **QUESTION}, headers=part)
    gone = Door(served)("POST", "/ask/price", data=QUESTION, headers={**part, "referer": "http://127.0.0.1/ask"})
    monkeypatch.setattr(served.app.state.limits, "_rate", 0.5)
    busy = door("POST", "/ask/price", data={"csrf": csrf, **QUESTION}, headers=part)

    assert [reply.status_code for reply in (priced, wrong, old, gone, busy)] == [200, 200, 403, 401, 429]
    for reply in (priced, wrong, old, gone, busy):
        assert PART in reply.headers
        assert "<html" not in reply.text
    assert 'id="price-sum"' in priced.text
    assert 'href="/signin?next=/ask"' in gone.text
    assert PART not in door("GET", "/ask").headers


def test_a_question_that_is_refused_for_who_asks_is_no_price(served):
    assert 403 not in ask.REFUSED
    assert entered(served, "auditor").form("/ask/price", **QUESTION).status_code == 403


@pytest.mark.parametrize("template", ["problem.html", "_trouble.html"])
def test_a_remedy_that_is_in_the_detail_is_not_said_twice(template):
    shown = {"me": None, "csrf": "", "here": "", "done": None, "back": "/"}
    problem = {"title": "No theorem", "status": 400, "detail": "too many rows; ask for less", "remedy": "ask for less"}
    page = templates().get_template(template).render(problem=problem, **shown)
    other = templates().get_template(template).render(problem={**problem, "remedy": "wait"}, **shown)

    assert page.lower().count("ask for less") == 1
    assert "Wait." in other


def test_who_came_over_tls_is_to_come_back_over_it(file, served):
    assert "strict-transport-security" not in Door(served)("GET", "/signin").headers
    assert "max-age" in Door(served, ABROAD)("GET", "/signin").headers["strict-transport-security"]
    assert "strict-transport-security" not in Door(served, "https://localhost")("GET", "/signin").headers
    with opened(file, replace(Settings.read(file), behind_proxy=True)) as behind:
        assert "strict-transport-security" in Door(behind)("GET", "/signin").headers
