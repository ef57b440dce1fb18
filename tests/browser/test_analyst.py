"""The console as an analyst uses it, in a real browser: look, price, confirm, read, keep."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet as pq
from playwright.sync_api import Page, expect

QUESTION = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
ATTEMPTS = 4  # a run that a busy machine cannot end within its slot is withheld, charged, and asked again


def confirmed(page: Page, question: str, amount: str) -> None:
    """Write a question and go on to its confirmation."""
    page.goto("/ask")
    page.get_by_label("Question, in SQL").fill(question)
    page.get_by_label("Amount").fill(amount)
    page.get_by_role("button", name="Continue to confirm").click()
    expect(page.get_by_role("heading", name="Spend and ask?")).to_be_visible()


def answered(page: Page, question: str = QUESTION, amount: str = "0.05") -> None:
    """Ask until there is an answer; each time is another question."""
    for attempt in range(ATTEMPTS):
        confirmed(page, question, f"{amount}{attempt + 1}")
        page.get_by_role("button", name="Spend and ask").click()
        expect(page.locator("h1")).to_have_text(re.compile("^(Answer|No answer)$"))
        if page.locator("h1").inner_text() == "Answer":
            return
    raise AssertionError("every answer was withheld")


def test_an_analyst_sees_the_price_while_writing_confirms_it_and_keeps_the_answer(site, visitors, name):
    page = visitors.signed_in(site.token(name))
    visitors.expected.append("424")

    # the datasets, and what is declared of one of them
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    page.get_by_role("link", name="visits", exact=True).click()
    expect(page.get_by_role("row", name=re.compile("age integer 0 to 119"))).to_be_visible()
    page.get_by_role("link", name="Ask about it").click()

    # the price and the error bar appear without a button, and change with what is written
    panel, said = page.locator("#price"), page.locator("#say")
    expect(panel).to_contain_text("0.1")
    expect(said).to_contain_text("Costs")
    page.get_by_label("Amount").fill("0.2")
    expect(panel.locator("#price-sum")).to_contain_text("0.2")
    expect(panel.locator(".error").first).to_be_visible()
    expect(panel.locator(".meter")).to_contain_text("left, then")
    page.get_by_label("Question, in SQL").fill("SELECT nothing FROM visits")
    expect(panel.locator(".note.bad")).to_be_visible()
    expect(page.locator(".editor .t-word").first).to_have_text("SELECT")
    before = page.request.get("/budget").text()

    assert "Nothing yet." in before  # whatever was written, nothing was spent

    answered(page)
    expect(page.get_by_role("table")).to_contain_text("cardiology")
    expect(page.get_by_role("row", name=re.compile(r"surgery .* to "))).to_be_visible()

    picture = page.locator("figure img")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 100
    assert page.locator("figure source").get_attribute("srcset").startswith("data:image/svg+xml")

    kept = {}
    for form in ("CSV", "Parquet", "JSON"):
        with page.expect_download() as waiting:
            page.get_by_role("button", name=form).click()
        kept[form] = Path(waiting.value.path()).read_bytes()
    rows = list(csv.DictReader(io.StringIO(kept["CSV"].decode())))

    assert [row["ward"] for row in rows] == ["cardiology", "oncology", "surgery"]
    assert pq.read_table(io.BytesIO(kept["Parquet"])).column("n").to_pylist() == [int(row["n"]) for row in rows]
    assert [row["n"] for row in json.loads(kept["JSON"])["rows"]] == [int(row["n"]) for row in rows]

    # sending the form again shows the same numbers, and costs nothing
    shown = page.get_by_role("table").inner_text()
    charged = page.request.get("/budget").text().count("<td>spend</td>")
    page.reload()
    expect(page.locator("h1")).to_have_text("Answer")

    assert page.get_by_role("table").inner_text() == shown
    assert page.request.get("/budget").text().count("<td>spend</td>") == charged

    page.get_by_role("link", name="See the budget").click()
    expect(page.get_by_role("heading", name="Your entries")).to_be_visible()
    expect(page.get_by_role("row", name=re.compile('SELECT ward AS "ward"')).first).to_be_visible()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    page.goto("/budget")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_the_main_path_needs_no_script(site, visitors, name):
    page = visitors.page(java_script_enabled=False)
    page.goto("/signin")
    page.get_by_label("Token").fill(site.token(name))
    page.get_by_role("button", name="Sign in").click()
    page.goto("/ask")
    page.get_by_label("Question, in SQL").fill("SELECT COUNT(*) AS n FROM visits")
    page.get_by_role("button", name="Show the price").click()
    expect(page.locator("#price-sum")).to_contain_text("0.1")
    answered(page, "SELECT COUNT(*) AS n FROM visits")

    expect(page.get_by_role("table")).to_contain_text(" to ")


CONTROLS = """() => [...document.querySelectorAll(
        "a[href], button, input:not([type=hidden]), select, textarea, summary")]
    .filter((one) => one.checkVisibility() && !one.disabled && !one.matches(".skip"))
    .map((one, place) => (one.dataset.place = place))"""
REACHED = """() => ({
    place: document.activeElement.dataset.place ?? null,
    ring: getComputedStyle(document.activeElement).outlineStyle !== "none",
})"""
PLACES = ["/datasets/visits", "/ask", "/budget", "/releases", "/models", "/caps", "/approvals", "/tokens", "/register"]


def test_everything_can_be_reached_and_sent_from_the_keyboard(site, visitors, name):
    page = visitors.page()
    page.goto("/signin")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.insert_text(site.token(name, role="steward"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Datasets")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Register a table").last).to_be_focused()  # the navigation is passed over

    for path in PLACES:  # every control of every page, in its turn and with a ring around it
        page.goto(path)
        wanted, reached = page.evaluate(CONTROLS), []
        for _ in range(2 * len(wanted) + 20):
            page.keyboard.press("Tab")
            found = page.evaluate(REACHED)
            if found["place"] is not None:
                assert found["ring"], (path, found)
                reached.append(int(found["place"]))
            if len(set(reached)) == len(wanted):
                break

        assert sorted(set(reached)) == wanted, path

    page.goto("/ask")
    page.get_by_label("Question, in SQL").focus()
    page.keyboard.insert_text("SELECT COUNT(*) AS n FROM visits")
    page.keyboard.press("Tab")  # the editor does not trap the key
    expect(page.get_by_label("Question, in SQL")).not_to_be_focused()
    page.get_by_label("Question, in SQL").focus()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Spend and ask?")).to_be_focused()


def test_enter_and_enter_again_in_the_amount_spends_nothing(site, visitors, name):
    """The twin that puts the focus on the button that spends has an answer after the second."""
    page = visitors.signed_in(site.token(name))
    page.goto("/ask")
    page.get_by_label("Question, in SQL").fill("SELECT COUNT(*) AS n FROM visits")
    page.get_by_label("Amount").press("Enter")
    expect(page.get_by_role("heading", name="Spend and ask?")).to_be_focused()
    spends = page.get_by_role("button", name="Spend and ask")
    expect(spends).to_have_accessible_description(re.compile("This charges .*0.1"))
    page.keyboard.press("Enter")
    page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
    expect(spends).to_be_visible()

    assert "Nothing yet." in page.request.get("/budget").text()
    page.keyboard.press("Tab")
    expect(spends).to_be_focused()
