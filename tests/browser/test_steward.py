"""The console as a steward and an auditor use it, in a real browser."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.test_analyst import ATTEMPTS, confirmed

COLUMNS = """employee = { type = "identifier" }
salary = { type = "integer", low = 0, high = 200000 }"""


def test_a_steward_registers_a_table_and_sets_an_allotment(site, visitors, name):
    page = visitors.signed_in(site.token(name, role="steward"))
    visitors.expected.append("400")
    page.get_by_role("link", name="Register a table").first.click()
    page.get_by_label("Name", exact=True).fill("wages")
    page.get_by_label("Source").fill("payroll.parquet")
    page.get_by_label("Privacy unit (column)").fill("employee")
    page.get_by_label("Columns, one a line").fill("salary = { type = ")
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("alert")).to_contain_text("cannot be read")
    expect(page.get_by_label("Source")).to_have_value("payroll.parquet")  # what was written is still there
    page.get_by_label("Columns, one a line").fill(COLUMNS)
    page.get_by_role("button", name="Register").click()
    expect(page.get_by_role("status")).to_contain_text("registered")
    expect(page.get_by_role("heading", name="wages")).to_be_visible()

    page.get_by_role("link", name="Caps").click()
    page.get_by_label("Name", exact=True).fill("a colleague")
    page.get_by_label("Of which unit").select_option("patient")
    page.get_by_label("Amount").fill("0.004")
    page.get_by_label("Reason").fill("the pilot study")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("cap is set")
    expect(page.get_by_role("region", name="Accounts of patient")).to_contain_text("a colleague")


def test_a_dear_question_waits_for_a_steward_and_a_revoked_token_ends_its_sessions(site, visitors, name):
    steward = visitors.signed_in(site.token(f"steward of {name}", role="steward"))
    steward.get_by_role("link", name="Tokens").click()
    steward.get_by_label("For whom").fill(name)
    steward.get_by_role("button", name="Issue").click()
    secret = steward.get_by_label("Token", exact=True).input_value()

    assert re.fullmatch(r"dct_[0-9a-f]{8}_[\w-]{43}", secret)

    steward.goto("/tokens")
    assert secret not in steward.content()  # shown once

    analyst = visitors.signed_in(secret)
    visitors.expected += ["424", "40[139]"]
    for attempt in range(ATTEMPTS):
        confirmed(analyst, "SELECT COUNT(*) AS n FROM visits", f"0.3{attempt + 1}")
        expect(analyst.locator(".note.warn")).to_contain_text("approve")
        analyst.get_by_role("button", name="Ask the steward").click()
        expect(analyst.get_by_role("heading", name="Waiting for a steward")).to_be_visible()
        expect(analyst.locator("main")).to_contain_text("nothing was charged")

        steward.goto("/approvals")
        waiting = steward.locator("section", has_text=name).filter(has_text="waiting")
        waiting.get_by_label("Reason").fill("within the protocol")
        waiting.get_by_label("Reason").press("Enter")  # is no decision
        steward.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        expect(waiting.get_by_label("Reason")).to_have_value("within the protocol")
        waiting.get_by_role("button", name="Approve").click()
        expect(steward.get_by_role("status")).to_contain_text("Approved")
        if attempt:
            analyst.get_by_role("button", name="Ask again").click()
        else:  # the page that waited may have been closed
            analyst.get_by_role("link", name="Approvals").click()
            analyst.get_by_role("button", name="Spend and ask it now").click()
        expect(analyst.locator("h1")).to_have_text(re.compile("^(Answer|No answer)$"))
        if analyst.locator("h1").inner_text() == "Answer":
            break
    expect(analyst.get_by_role("heading", name="Answer", exact=True)).to_be_visible()

    steward.goto("/tokens")
    steward.get_by_role("link", name=f"Revoke {secret[4:12]}").click()
    steward.get_by_role("button", name="Revoke").click()
    expect(steward.get_by_role("status")).to_contain_text("revoked")
    analyst.goto("/datasets")
    expect(analyst.get_by_role("heading", name="Sign in")).to_be_visible()


def test_an_auditor_verifies_the_record_and_asks_nothing(site, visitors, name):
    page = visitors.signed_in(site.token(name, role="auditor"))
    visitors.expected.append("403")
    expect(page.get_by_role("heading", name="Budget")).to_be_visible()
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_role("status")).to_contain_text("The record is whole")

    expect(page.get_by_role("link", name="Ask", exact=True)).to_have_count(0)
    page.goto("/tokens")
    expect(page.get_by_role("alert")).to_contain_text("role")
    page.goto("/budget")
    page.get_by_role("link", name="Full report").click()
    expect(page.get_by_text("Verified.")).to_be_visible()
