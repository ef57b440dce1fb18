"""A real browser before a real server: Debian's Chromium, driven by Playwright.

A browser is started for each test and ended with it: while Playwright's synchronous interface is open no other test
of the process can run an event loop.  What a page logs as a warning or an error fails the test, and so does every
violation of the content security policy.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.service.conftest import hospital

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

PATIENCE_MS = 120_000  # for anything a page does, on a machine that is busy with other tests
SERVICE = """
[service]
slot = 8.0
margin = 3.0
children = 1
rate = 100000

[service.approval]
epsilon = "0.3"
delta = "1e-6"
"""
WATCH = """document.addEventListener("securitypolicyviolation",
    (event) => console.error("policy: " + event.violatedDirective + " " + event.blockedURI));"""


def chromium() -> str:
    """Where the browser is; a test that needs one fails without it."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("need a browser for this test; call scripts/services.sh, or apt-get install chromium")
    return found


@contextmanager
def browser(*, scrollbars: bool = False) -> Iterator[Browser]:
    """A running browser; one that nobody looks at has no scrollbars, unless they are wanted."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE_MS)
    options = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
    with sync_playwright() as playwright:
        without = ["--hide-scrollbars"] if scrollbars else []
        found = {"executable_path": chromium(), "args": options, "ignore_default_args": without}
        started = playwright.chromium.launch(timeout=PATIENCE_MS, **found)
        try:
            yield started
        finally:
            started.close()


class Visitors:
    """People before one site, each with a browser profile of their own; what their pages complain of is kept."""

    def __init__(self, started: Browser, url: str) -> None:
        self._browser, self.url = started, url
        self.complaints: list[str] = []
        self.expected: list[str] = []  # patterns of what a test provokes on purpose

    def page(self, **profile: object) -> Page:
        """A new visitor's page."""
        given = {"viewport": {"width": 1280, "height": 860}, "base_url": self.url, "locale": "en-GB", **profile}
        context: BrowserContext = self._browser.new_context(**given)
        context.set_default_timeout(PATIENCE_MS)
        if given.get("java_script_enabled", True):
            context.add_init_script(WATCH)
        page = context.new_page()
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("pageerror", lambda error: self._heard("error", str(error)))
        return page

    def signed_in(self, token: str, **profile: object) -> Page:
        """A page of somebody who has come in by the door."""
        page = self.page(**profile)
        page.goto("/signin")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Sign in").click()
        page.wait_for_url(lambda url: "/signin" not in url)
        return page

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("warning", "error"):
            self.complaints.append(f"{kind}: {text}")

    def settled(self) -> list[str]:
        """Complaints that no test provoked."""
        return [said for said in self.complaints if not any(re.search(known, said) for known in self.expected)]


def site_file(folder: Path) -> Path:
    """The curator's file of a small hospital, with a service that is in no hurry."""
    return hospital(folder, rows=2000, service=SERVICE)
