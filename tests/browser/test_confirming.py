"""Nothing is spent, issued or taken away by accident: what a page asks to be confirmed is what will happen."""

from __future__ import annotations

import csv
import gzip
import io
import re
from html import unescape

import pytest

from discreet.service.console import download
from tests.browser.test_pages import Door, entered
from tests.service.conftest import hospital, opened
from tests.service.inline import Inline

ORDER = {"kind": "synthesis", "table": "visits", "columns": "ward", "currency": "rho", "amount": "0.05"}
THRESHOLD = '\n[service.approval]\nepsilon = "0.1"\ndelta = "1e-6"\n'
QUESTION = {"question": "SELECT COUNT(*) AS n FROM visits", "epsilon": 0.5, "beta": 0.01, "rows_per_unit": 2}


@pytest.fixture
def approving(tmp_path):
    with opened(hospital(tmp_path, service=THRESHOLD)) as served:
        served.app.state.runner = Inline(served.app)
        yield served


def fields(page: str, action: str) -> dict[str, str]:
    """The hidden fields of the form with this address."""
    (form,) = re.findall(rf'<form method="post" action="{action}".*?</form>', page, re.DOTALL)
    return {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}


def test_an_order_is_confirmed_with_its_price_and_what_it_leaves(served):
    door = entered(served, "analyst")
    page = door.form("/releases", step="confirm", **ORDER)
    (before, after) = re.search(r"([\d.]+)% left, then ([\d.]+)%", page.text).groups()

    assert page.status_code == 200
    assert "Spend and order?" in page.text
    assert float(after) < float(before) == 100

    dear = door.form("/models", step="confirm", kind="fit", table="visits", model="NaiveBayes", target="readmitted",
                     currency="epsilon", amount="5")  # fmt: skip
    assert "It does not fit in what is left" in dear.text


@pytest.mark.parametrize(
    ("change", "said"),
    [({"amount": "-5 bananas"}, "need a finite number"), ({"columns": "nonsense"}, "no column &#39;nonsense&#39;")],
)
def test_an_order_that_could_not_be_filled_is_not_asked_to_be_confirmed(served, change, said):
    """The twin that only shows what was written again gets as far as the button that spends."""
    served.app.state.runner = Inline(served.app)
    served.app.state.runner.jobs = type("Jobs", (), {"records": served.app.state.records})()
    reply = entered(served, "analyst").form("/releases", step="confirm", **{**ORDER, **change})

    assert reply.status_code == 400
    assert "Spend and order" not in reply.text
    assert said in reply.text


def test_an_order_above_the_threshold_says_that_it_will_wait(approving):
    page = entered(approving, "analyst").form("/releases", step="confirm", **ORDER).text

    assert "A steward must approve it first" in page
    assert "Ask the steward" in page


def test_a_steward_sees_all_that_was_ordered_and_what_it_would_leave(approving):
    assert approving("POST", "/v1/ask", as_="ada", json={**QUESTION, "fresh": True}).status_code == 202
    page = entered(approving)("GET", "/approvals").text
    told = dict(re.findall(r"<dt>([\w ]+)</dt><dd>\s*(\S+?)\s*</dd>", page))

    assert (told["chance that an interval misses"], told["drawn anew"], told["rows per unit"]) == ("0.01", "yes", "2")
    assert "counts as whole numbers" not in told  # what was not wanted is not said
    assert "100% left, then 75%" in page  # of a unit's epsilon of 2
    assert "allotment of the steward" not in page


def test_enter_in_the_reason_decides_nothing(approving):
    """In a form with a default button that is disabled, Enter sends nothing: this is what the browser test presses."""
    approving("POST", "/v1/ask", as_="ada", json=QUESTION)
    page = entered(approving)("GET", "/approvals").text
    (form,) = re.findall(r'<form method="post" action="/approvals/.*?</form>', page, re.DOTALL)

    assert re.findall(r"<button[^>]*>", form)[0] == "<button disabled hidden>"


def test_an_approved_question_is_asked_from_the_list_by_whoever_asked_and_as_it_was(approving):
    """The fields of the console's own form have no place for its beta: without its body nobody has approved it."""
    assert approving("POST", "/v1/ask", as_="ada", json=QUESTION).status_code == 202
    ada, steward = Door(approving), entered(approving)
    ada.sign_in(approving.tokens["ada"])
    assert "it now" not in ada("GET", "/approvals").text
    number = approving("GET", "/v1/approvals").json()["approvals"][0]["id"]
    steward.form(f"/approvals/{number}", decision="approve", reason="within the protocol")
    seen = steward("GET", "/approvals")
    assert (seen.status_code, "it now" in seen.text) == (200, False)

    sent = fields(ada("GET", "/approvals").text, "/ask/answer")
    answer = ada("POST", "/ask/answer", data=sent)

    assert answer.status_code == 200
    assert "99%" in answer.text  # one minus its beta
    assert approving("GET", "/v1/approvals").json()["approvals"][0]["state"] == "used"

    kept = ada("POST", "/ask/file", data={**fields(answer.text, "/ask/file"), "format": "csv"})
    assert kept.text.startswith("n,n_low,n_high\r\n")


def _files(rows: list[list[object]]) -> tuple[bytes, bytes]:
    """A CSV file as it is sent, and as it is kept."""
    content, more = download.table([dict(zip(("ward", "n", "mean"), row, strict=True)) for row in rows])
    return download.wrapped(content, more), content


def test_the_digits_of_an_answer_do_not_show_in_the_length_of_its_file():
    """Without the comment the two have different lengths: the twin that sends the file as it is is caught."""
    few, many = [["a", 7, 0.5], ["b", -1, None]], [["a", -123456, 1 / 3], ["b", 10**12, 2.5e-300]]
    (short, kept), (long, other) = _files(few * 300), _files(many * 300)

    assert len(short) == len(long)
    assert len(kept) != len(other)
    assert (gzip.decompress(short), gzip.decompress(long)) == (kept, other)


def test_a_file_of_an_answer_has_nothing_in_it_but_rows_and_computes_nothing(approving):
    door = entered(approving, "analyst")
    form = {"question": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "amount": "0.05", "key": "k"}
    reply = door.form("/ask/file", format="csv", **form)
    parquet = door.form("/ask/file", format="parquet", **form)
    rows = list(csv.reader(io.StringIO(reply.text, newline="")))

    assert (reply.headers["content-encoding"], int(reply.headers["content-length"]) % 1024) == ("gzip", 0)
    assert [len(row) for row in rows] == [4] * 4
    assert "discreet-padding" in parquet.headers  # as the API sends it
    assert download.table([{"=cmd": "@SUM(A1)", "n": -3}])[0] == b"'=cmd,n\r\n'@SUM(A1),-3\r\n"


def test_a_token_is_issued_once_however_often_its_form_is_sent(served):
    door = entered(served)
    page = door("GET", "/tokens").text
    form = fields(page, "/tokens") | {"principal": "ada", "role": "analyst", "days": "1"}
    first, again = (door("POST", "/tokens", data=form) for _ in range(2))

    assert (first.status_code, again.status_code) == (200, 409)
    assert len(re.findall(r"dct_[0-9a-f]{8}_[\w-]{43}", first.text)) == 1
    assert re.findall(r"dct_[0-9a-f]{8}_[\w-]{43}", again.text) == []
    assert 'value="ada"' in again.text  # it may be sent again, on purpose
    form = fields(again.text, "/tokens") | {"principal": "ada", "role": "analyst", "days": "1"}
    assert door("POST", "/tokens", data=form).status_code == 200


def test_a_token_is_revoked_after_a_page_that_says_whose_it_is(served):
    door = entered(served)
    mine = next(one for one in served("GET", "/v1/tokens").json()["tokens"] if one["principal"] == "ada")
    page = door("GET", f"/tokens/{mine['id']}/revoke")

    assert "Revoke this token?" in page.text
    assert "ada, analyst" in page.text
    assert served("GET", "/v1/me", as_="ada").status_code == 200
    door.form(f"/tokens/{mine['id']}/revoke")
    assert served("GET", "/v1/me", as_="ada").status_code == 401
    assert door("GET", "/tokens/00000000/revoke").status_code == 404


def test_a_cap_that_is_a_fraction_is_shown_on_every_page(tmp_path):
    """The twin that reads a cap off its Python spelling fails on Fraction(1, 3), and every page of budgets with it."""
    file = hospital(tmp_path)
    file.write_text(file.read_text().replace('epsilon = "2"\ndelta = "1e-6"', 'epsilon = "1/3"'))
    with opened(file) as served:
        door = entered(served)
        served("POST", "/v1/caps", json={"scope": "analyst", "name": "carl", "unit": "patient",
                                         "budget": {"epsilon": "1/7"}, "reason": "the pilot"})  # fmt: skip
        pages = {path: door("GET", path) for path in ("/budget", "/caps")}
        priced = door.form("/ask/price", question="SELECT COUNT(*) AS n FROM visits", amount="0.1")

    assert [reply.status_code for reply in pages.values()] == [200, 200]
    assert "0.333333" in pages["/budget"].text
    assert "0.142857" in pages["/caps"].text
    assert "cap of the analyst carl: epsilon 0.142857; the pilot" in pages["/budget"].text
    assert "100% left, then 70%" in priced.text


def test_after_a_renewal_the_budget_of_the_present_period_is_shown(tmp_path):
    with opened(hospital(tmp_path)) as served:
        served.app.state.runner = Inline(served.app)
        assert served("POST", "/v1/ask", as_="ada", json={**QUESTION, "epsilon": 1}).status_code == 200
        ledger = served.app.state.desk.curator.ledger
        ledger.renew("patient", period="2027", cap=ledger.budget("patient").balance.cap, reason="a new year")
        door = entered(served)
        page, caps = door("GET", "/budget").text, door("GET", "/caps").text
        priced = door.form("/ask/price", question="SELECT COUNT(*) AS n FROM visits", amount="0.5").text
    card = page[page.index('aria-label="Budget of one patient"') :]
    rows = re.sub(r"<[^>]+>|\s+", " ", card[: card.index("</section>")])

    assert "One patient, period 2027" in card
    assert re.search(r'class="big"><strong>100%', card)  # and not what is left of both years together
    assert re.search(r"one patient, over all periods .* period first .* closed ", rows)
    assert "% left" not in caps[caps.index("period first") : caps.index("period first") + 200]
    assert "period 2027" in priced
    assert "over all periods" not in priced


def test_numbers_of_a_finished_release_do_not_show_in_the_length_of_its_page(served, monkeypatch):
    door, lengths = entered(served), []
    job = {"id": "1", "kind": "release", "state": "done", "order": {}, "files": [], "created": 0.0, "updated": 0.0,
           "cost": None, "receipt": None, "problem": None, "progress": None}  # fmt: skip
    for number in (7, 123456):
        told = {
            "beta": 0.05,
            "rows": [{"table": "ward", "cell": "ward = a", "answer": number}] * 3000,
        }  # more digits than a block

        async def get(self, path, told=told, **query):
            return {"principal": "a", "role": "analyst"} if path == "/v1/me" else told if "result" in path else job

        monkeypatch.setattr("discreet.service.console.api.Api.get", get)
        replies = [door("GET", "/jobs/1"), door("GET", "/jobs/1", params={"fragment": ""})]
        assert all(f"{number:,}</td>" in reply.text for reply in replies)
        lengths.append([len(reply.content) for reply in replies])

    assert lengths[0] == lengths[1]
