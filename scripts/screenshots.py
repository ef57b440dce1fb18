"""Write docs/images/console-*.png: the console of a made-up hospital, as people see it.

    python -m scripts.screenshots

It needs the system's Chromium and takes a minute.  Noise and tokens are new each time.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.curator.config import write
from discreet.curator.sample import hospital
from tests.browser.browsing import Visitors, browser
from tests.service.serving import serving

if TYPE_CHECKING:
    from playwright.sync_api import Page

OUT = Path(__file__).resolve().parent.parent / "docs/images"
LARGEST = 150_000  # bytes of one picture
SERVICE = '\n[service]\nslot = 6.0\nmargin = 2.0\n\n[service.approval]\nepsilon = "0.5"\ndelta = "1e-6"\n'
WARDS = "SELECT ward, COUNT(*) AS visits, AVG(cost) AS cost\nFROM visits\nGROUP BY ward"
SEASON = "SELECT EXTRACT(month FROM day) AS month, COUNT(*) AS visits\nFROM visits\nGROUP BY month"
DEAR = "SELECT FLOOR(age / 10) AS decade, AVG(readmitted) AS readmitted\nFROM visits\nGROUP BY decade"
SCREENS = ("answer", "budget", "phone")  # long pages: their beginning is enough
PHONE = {"viewport": {"width": 390, "height": 780}, "color_scheme": "dark"}


def main() -> None:
    """Serve, visit, and keep what is seen."""
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, serving(_curator(Path(folder))) as service, browser() as started:
        visitors = Visitors(started, service.url)
        ada, grace = visitors.signed_in(service.token("ada")), visitors.signed_in(service.token("grace", "steward"))
        _kept(visitors.page(), "/signin", "sign-in")
        _kept(ada, "/datasets/visits", "dataset")
        _written(ada, WARDS, "0.2")
        _kept(ada, None, "ask")
        _asked(ada, WARDS, "0.2", "confirm")
        _kept(ada, None, "answer")
        _asked(ada, SEASON, "0.1")
        _asked(grace, "SELECT COUNT(*) AS visits FROM visits WHERE age >= 65", "0.05")
        _asked(ada, DEAR, "0.6")
        _kept(grace, "/approvals", "approvals")
        _kept(grace, "/budget", "budget")
        _kept(grace, "/register", "register")
        _synthetic(ada)
        phone = visitors.signed_in(service.token("ada"), **PHONE)
        _written(phone, WARDS, "0.2")
        phone.get_by_label("Amount").scroll_into_view_if_needed()
        phone.evaluate("document.querySelector('.pay').scrollIntoView()")  # what is paid, and the price below it
        _kept(phone, None, "phone")


def _curator(folder: Path) -> Path:
    table = hospital(folder / "visits.parquet", visits=200_000, patients=20_000)
    entry = {
        "source": "visits.parquet",
        "unit": "patient",
        "rows_per_unit": table.rows_per_unit,
        "groups_per_unit": table.groups_per_unit,
        "columns": table.domain.to_dict(),
    }
    file = folder / "curator.toml"
    budget = {"epsilon": "3", "delta": "1e-6"}
    file.write_text(write({"ledger": "ledger.db", "budget": budget, "tables": {"visits": entry}}) + SERVICE)
    return file


def _written(page: Page, question: str, amount: str) -> None:
    page.goto("/ask")
    page.get_by_label("Question, in SQL").fill(question)
    page.get_by_label("Amount").fill(amount)
    page.locator("#price-sum", has_text=amount).wait_for()
    page.wait_for_load_state("networkidle")


def _asked(page: Page, question: str, amount: str, name: str | None = None) -> None:
    _written(page, question, amount)
    page.get_by_role("button", name="Continue to confirm").click()
    page.get_by_role("heading", name="Spend and ask?").wait_for()
    if name is not None:
        _kept(page, None, name)
    page.locator("main button.main").click()
    page.locator("h1", has_not_text="Spend and ask?").wait_for()


def _synthetic(page: Page) -> None:
    page.goto("/releases")
    form = page.get_by_role("region", name="Order synthetic data")
    form.get_by_label("Columns").fill("ward, age, readmitted")
    form.get_by_label("Amount").fill("0.004")
    form.get_by_role("button", name="Continue to confirm").click()
    page.get_by_role("button", name="Spend and order").click()
    page.locator("#job .state", has_text="done").wait_for()
    _kept(page, None, "synthetic")


def _kept(page: Page, path: str | None, name: str) -> None:
    if path is not None:
        page.goto(path)
        page.wait_for_load_state("networkidle")
    file = OUT / f"console-{name}.png"
    page.screenshot(path=file, full_page=name not in SCREENS)
    if file.stat().st_size > LARGEST:
        raise SystemExit(f"{file.name} has {file.stat().st_size:,} bytes, more than {LARGEST:,}")


if __name__ == "__main__":
    main()
