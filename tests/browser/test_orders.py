"""Synthetic data and models, ordered and fetched in a real browser."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from playwright.sync_api import Page, expect

from discreet.learning.stored import load


def done(page: Page) -> None:
    """Wait for the end of an order, which its page tells by itself."""
    expect(page.locator("#job .state")).to_have_text("done")


def test_synthetic_data_is_ordered_followed_and_drawn_and_has_a_report(site, visitors, name):
    page = visitors.signed_in(site.token(name))
    page.get_by_role("link", name="Synthetic data").click()
    form = page.get_by_role("region", name="Order synthetic data")
    form.get_by_label("Columns").fill("ward, readmitted")
    form.get_by_label("Amount").fill("0.001")
    form.get_by_role("button", name="Continue to confirm").click()
    expect(page.locator(".sum")).to_contain_text("0.001")
    page.get_by_role("button", name="Spend and order").click()
    expect(page.locator("#job")).to_be_visible()
    done(page)
    page.get_by_label("Rows", exact=True).fill("50")
    page.get_by_label("Seed").fill("7")
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download").click()
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text())))

    assert len(rows) == 50
    assert set(rows[0]) == {"ward", "readmitted"}

    page.get_by_role("link", name="Quality report").click()
    expect(page.locator("h1")).to_be_visible()


def test_a_model_is_fitted_and_downloaded(site, visitors, name):
    page = visitors.signed_in(site.token(name))
    page.get_by_role("link", name="Models").click()
    page.get_by_label("Model", exact=True).select_option("NaiveBayes")
    page.get_by_label("Column to predict").fill("readmitted")
    page.get_by_label("From columns").fill("ward age")
    page.get_by_label("Amount").fill("0.001")
    page.get_by_role("button", name="Continue to confirm").click()
    page.get_by_role("button", name="Spend and order").click()
    done(page)
    with page.expect_download() as waiting:
        page.get_by_role("link", name="fitted.model").click()

    assert type(load(waiting.value.path())).__name__ == "NaiveBayes"
    page.get_by_role("link", name="Models").first.click()
    expect(page.get_by_role("table")).to_contain_text("done")
