"""discreet.ledger.report: one page and one JSON for an auditor, whole, true and safe to open."""

from __future__ import annotations

import json
import math
import sqlite3
from fractions import Fraction
from html.parser import HTMLParser

import pytest
from typer.testing import CliRunner

from discreet.cli import app
from discreet.errors import LedgerError
from discreet.ledger import Account, Anchor, Budget, Ledger
from discreet.ledger.account import Balance, capped
from discreet.ledger.amount import read, read_cap
from discreet.ledger.chain import canonical, digest
from discreet.ledger.report import POINTS, promise, used
from discreet.privacy.event import ApproxEvent, GaussianEvent, LaplaceEvent
from discreet.privacy.guarantee import ZCDP, ApproxDP, PureDP
from discreet.privacy.neighbours import Replace

LAPLACE = LaplaceEvent(scale=10, sensitivity=1)
HOSTILE = "<script>alert('x')</script>&\"'"


def _filled(ledger: Ledger) -> Ledger:
    ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
    ledger.register(unit="device", cap=ZCDP(1))
    ledger.allot("ada", PureDP(0.5), unit="patient")
    for i in range(3):
        receipt = ledger.spend(LAPLACE, unit="patient", tables=["visits"], analyst="ada", query=f"{HOSTILE} {i}")
        ledger.store(receipt, b"a stored answer")
    ledger.spend(ApproxEvent(epsilon="1/10", delta="1/10000000"), unit="patient", tables=["bills", HOSTILE])
    ledger.spend(GaussianEvent(sigma=30, sensitivity=1), unit="device", tables=["signals"])
    ledger.top_up("patient", ApproxDP(2, 1e-6), reason=HOSTILE)
    ledger.renew("patient", period="2027", cap=ApproxDP(1, 1e-6), reason="a new year")
    ledger.spend(LAPLACE, unit="patient", tables=["visits"], analyst=HOSTILE)
    ledger.retire("bills", reason="sold")
    ledger.erase("visits", version="2", requests=4)
    return ledger


@pytest.fixture
def ledger(place):
    with Ledger.open(place) as opened:
        yield _filled(opened)


def test_the_report_and_the_ledger_say_the_same(ledger):
    found = json.loads(ledger.report().to_json())
    units = {unit["unit"]: unit for unit in found["units"]}
    accounts = {(one["scope"], one["name"]): one for one in units["patient"]["accounts"]}
    budget = ledger.budget("patient")

    assert found["verified"] is True
    assert found["anchor"] == {"id": ledger.anchor().id, "hash": ledger.anchor().hash}
    assert set(units) == {"patient", "device"}
    assert read_cap(accounts["unit", "patient"]["cap"]) == budget.balance.cap == ApproxDP(3, 2e-6)
    assert read(accounts["unit", "patient"]["spent"]) == budget.balance.spent
    assert read(accounts["analyst", "ada"]["spent"]).epsilon == Fraction(3, 10)
    assert {name: one["spends"] for name, one in accounts.items()} == {
        ("unit", "patient"): 5, ("period", "2027"): 1, ("period", "first"): 4, ("table", "visits"): 4,
        ("table", "bills"): 1, ("table", HOSTILE): 1, ("analyst", "ada"): 3, ("analyst", HOSTILE): 1,
    }  # fmt: skip
    assert accounts["table", "bills"]["state"] == "retired"
    assert accounts["period", "first"]["state"] == "closed"


def test_every_entry_is_there_with_a_hash_that_fits(ledger):
    """Whoever has the report can check the chain without the ledger."""
    entries = json.loads(ledger.report().to_json())["entries"]
    before = "0" * 64
    for entry in entries:
        assert entry["body"]["previous"] == before
        assert digest(canonical(entry["body"]).encode()) == entry["hash"]
        before = entry["hash"]
    assert before == ledger.anchor().hash


class _Page(HTMLParser):
    """The tags of a page, each closed, and its text."""

    VOID = ("meta", "line", "path", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_is_well_formed_and_runs_and_loads_nothing(ledger):
    html = ledger.report().to_html()
    page = _Page(html)

    assert "script" not in page.tags
    assert not {"img", "link", "iframe", "object", "form", "a"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on") or name in ("src", "href")]
    assert "url(" not in html
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in page.attributes
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


def test_the_page_shows_every_hash_the_anchor_and_the_promise(ledger):
    found = ledger.report()
    text = "".join(_Page(found.to_html()).text)

    assert all(entry.hash in text for entry in ledger.entries())
    assert str(ledger.anchor()) in text
    assert found.promises["patient"] in text
    assert f"{HOSTILE} 2" in text  # as text, not as a tag
    assert "people erased: 4; their rows are gone from version 2 on" in text
    assert "a stored answer" not in text


def test_the_twin_that_does_not_escape_is_caught(ledger, monkeypatch):
    from discreet.ledger import page

    monkeypatch.setattr(page, "escape", lambda text: text)

    assert "script" in _Page(ledger.report().to_html()).tags


def test_a_ledger_that_was_altered_is_reported_as_such(tmp_path):
    path = tmp_path / "ledger.db"
    with Ledger.open(path) as ledger:
        _filled(ledger)
        last = ledger.anchor()
    raw = sqlite3.connect(path)
    raw.execute("UPDATE balances SET epsilon = '0' WHERE scope = 'unit' AND unit = 'patient'")
    raw.commit()
    raw.close()
    with Ledger.open(path, verify=False) as ledger:
        found = ledger.report()

        assert not found.verified
        assert found.finding == "the balances are not the sums of the entries"
        assert found.anchor == last
        assert "NOT verified, and nothing below can be relied on" in found.to_html()
        assert "<strong>Verified." not in found.to_html()


def test_an_anchor_is_checked_and_named(ledger):
    kept = ledger.anchor()

    assert f"it contains entry {kept.id}, the anchor" in ledger.report(anchor=kept).finding
    assert "a rollback to an old copy could not be seen" in ledger.report().finding
    rolled = ledger.report(anchor=Anchor(kept.id + 5, kept.hash))
    assert (rolled.verified, "rolled back" in rolled.finding) == (False, True)


def test_a_testing_ledger_says_so(tmp_path):
    with Ledger.open(tmp_path / "ledger.db", testing=True) as ledger:
        assert "A ledger for testing" in ledger.report().to_html()


def test_an_empty_ledger_has_a_report(place):
    with Ledger.open(place) as ledger:
        found = ledger.report()

        assert (found.verified, list(found.budgets), len(found.entries)) == (True, [], 1)
        _Page(found.to_html())


@pytest.mark.parametrize(
    ("cap", "says"),
    [
        (PureDP(1), "whether one patient is in the data or not changes .* by a factor of at most 2.719."),
        (ApproxDP(1, 1e-6), "by a factor of at most 2.719, plus at most 1e-06."),
        (ApproxDP(20, 1e-6), r"by a factor of at most e\^20, plus"),
        (ZCDP(0.5), r"plus at most 1e-06 \(in full: 0.5-zCDP\)"),
        (PureDP(0.5, neighbours=Replace), "to exchange the data of one patient for other data changes"),
    ],
    ids=repr,
)
def test_the_promise_is_a_sentence(cap, says):
    import re

    assert re.search(says, promise(Budget(unit="patient", balance=capped(cap))))


def test_the_factor_in_the_promise_is_never_too_small():
    for i in range(1, 500):
        sentence = promise(Budget(unit="patient", balance=Balance(PureDP(Fraction(i, 100)))))
        factor = float(sentence.rpartition("at most ")[2].rstrip("."))

        assert math.exp(i / 100) <= factor <= math.exp(i / 100) * 1.002


def test_the_promise_of_a_renewed_budget_names_both_figures(ledger):
    sentence = ledger.report().promises["patient"]

    assert "by a factor of at most 20.086, plus at most 2e-06." in sentence  # e^3, over all periods
    assert "In the present period, 2027, by a factor of at most 2.719, plus at most 1e-06." in sentence


def test_the_timeline_is_the_share_of_the_cap_that_is_spent():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        for _ in range(4):
            ledger.spend(LAPLACE, unit="patient", tables=["visits"])
        ledger.top_up("patient", PureDP(2), reason="more")
        points = ledger.report().timelines["patient"]

        assert points == [(1, 0.0), (2, 0.1), (3, 0.2), (4, 0.3), (5, 0.4), (6, 0.2)]


def test_a_long_timeline_is_thinned_and_keeps_its_end():
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=PureDP(1000))
        for _ in range(2 * POINTS + 7):
            ledger.spend(LAPLACE, unit="patient", tables=["visits"])
        found = ledger.report()

        assert len(found.timelines["patient"]) <= POINTS + 1
        assert found.timelines["patient"][-1][0] == found.anchor.id
        assert found.spends[Account("patient", "table", "visits")] == 2 * POINTS + 7


def test_the_share_is_that_of_the_lane_with_room():
    """458 counts of 1/100 fill the zCDP lane of (1, 1e-6); the pure lane is four times over."""
    with Ledger.open(":memory:") as ledger:
        ledger.register(unit="patient", cap=ApproxDP(1, 1e-6))
        for _ in range(150):
            ledger.spend(LaplaceEvent(scale=100, sensitivity=1), unit="patient", tables=["visits"])

        assert used(ledger.budget("patient").balance) == pytest.approx(150 / 458, rel=0.01)


# The command line.


@pytest.fixture
def home(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("patient,age\na,1\n")
    columns = (
        "[tables.visits.columns]\npatient = { type = 'identifier' }\nage = { type = 'integer', low = 0, high = 9 }\n"
    )
    (tmp_path / "curator.toml").write_text(
        "ledger = 'l.db'\n[budget]\nepsilon = 1\n[tables.visits]\nsource = 'visits.csv'\nunit = 'patient'\n" + columns
    )
    monkeypatch.chdir(tmp_path)
    with Ledger.open("l.db") as ledger:
        ledger.register(unit="patient", cap=PureDP(1))
        ledger.spend(LAPLACE, unit="patient", tables=["visits"])
    return tmp_path


def _run(*words, answer=None):
    return CliRunner().invoke(app, ["ledger", *words], input=answer)


def _kinds() -> list[str]:
    with Ledger.open("l.db", create=False) as ledger:
        return [str(entry.record["kind"]) for entry in ledger.entries()][3:]


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (["top-up", "patient", "--epsilon", "2", "--reason", "more"], "top_up", "promised PureDP(epsilon=1.0). From"),
        (["renew", "patient", "--period", "2027", "--epsilon", "1", "--reason", "new"], "renewal", "epsilon=2.0"),
        (["retire", "visits", "--reason", "over"], "retirement", "Nobody will be able to ask"),
        (["erase", "visits", "--version", "2", "--requests", "1"], "erasure", "What was spent stays spent"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_steward_is_told_what_follows_and_asked_once(home, words, kind, says):
    declined = _run(*words, answer="n\n")
    silent = _run(*words, answer="")
    assert (declined.exit_code, silent.exit_code, _kinds()) == (1, 1, [])
    done = _run(*words, answer="y\n")

    assert done.exit_code == 0
    assert says in done.stdout
    assert _kinds() == [kind]


def test_a_table_is_retired_and_reopened_from_the_command_line(home):
    assert _run("retire", "visits", "--reason", "over", "--yes").exit_code == 0
    assert _run("reopen", "visits", "--reason", "not yet", "--yes").exit_code == 0
    assert isinstance(_run("reopen", "visits", "--reason", "again", "--yes").exception, LedgerError)

    assert _kinds() == ["retirement", "reopening"]


@pytest.mark.parametrize("form", ["html", "json"])
def test_a_report_is_written_from_the_command_line(home, form):
    (home / "anchor.json").write_text(_run("anchor").stdout)
    done = _run("report", "--format", form, "-o", "out", "--anchor", "anchor.json")
    text = (home / "out").read_text(encoding="utf-8")

    assert (done.exit_code, done.stdout) == (0, "wrote out\n")
    assert "the anchor that was kept elsewhere" in text
    assert text.startswith("<!doctype html>" if form == "html" else "{")


def test_a_report_of_an_altered_ledger_is_written_and_fails(home):
    raw = sqlite3.connect("l.db")
    raw.execute("UPDATE balances SET epsilon = '0'")
    raw.commit()
    raw.close()
    done = _run("report", "-o", "out.html")

    assert isinstance(done.exception, LedgerError)
    assert "NOT verified" in (home / "out.html").read_text(encoding="utf-8")


def test_a_command_on_a_ledger_that_is_missing_makes_none(home):
    (home / "l.db").unlink()

    assert isinstance(_run("anchor").exception, LedgerError)
    assert not (home / "l.db").exists()
